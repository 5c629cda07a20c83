#include "core/peers/nnscaler/anno_named_call.h"

#include <inttypes.h>

static int rank_of(const NamedCall *call)
{
    return (int)named_shape(call, 0)->n_dims;
}

/* ---- operators with dims that may not be sharded ---- */

/* Freezes the marked dims on both sides. */
static const char *keep_whole(NamedCall *call, const bool *marked)
{
    NamedDims dims = named_letters(call, rank_of(call));
    for (int d = 0; d < dims.n; d++)
        if (marked[d])
            dims.dim[d] = named_mark(call, dims.dim[d], '^');
    return named_one(call, &dims, &dims);
}

const char *named_softmax(NamedCall *call)
{
    bool marked[DIMS_MAX] = {false};
    if (named_attr(call, "dim"))
        marked[named_dim(call, "dim", rank_of(call), 0)] = true;
    return keep_whole(call, marked);
}

const char *named_triangle(NamedCall *call)
{
    bool marked[DIMS_MAX] = {false};
    if (!named_rank(call, 0, 2, DIMS_MAX))
        return NULL;
    marked[rank_of(call) - 1] = marked[rank_of(call) - 2] = true;
    return keep_whole(call, marked);
}

static void mark_all(bool *marked)
{
    for (int d = 0; d < DIMS_MAX; d++)
        marked[d] = true;
}

const char *named_roll(NamedCall *call)
{
    bool marked[DIMS_MAX] = {false};
    if (named_attr(call, "dims"))
        named_dims(call, "dims", rank_of(call), marked);
    else
        mark_all(marked);
    return keep_whole(call, marked);
}

const char *named_inverse(NamedCall *call)
{
    bool marked[DIMS_MAX];
    mark_all(marked);
    return keep_whole(call, marked);
}

/* ---- reductions ---- */

/* The dims in `dim` (all if absent) get the suffix and are removed, or stay as 1; `rest` is the
 * suffix of the others, or 0. A scalar result has one dim, as in nnScaler. */
static const char *reduce(NamedCall *call, char suffix, char rest, int n_outputs)
{
    bool marked[DIMS_MAX] = {false}, whole = !named_attr(call, "dim");
    if (whole)
        mark_all(marked);
    else
        named_dims(call, "dim", rank_of(call), marked);
    NamedDims in = named_letters(call, rank_of(call)), out = {0};
    for (int d = 0; d < in.n; d++) {
        char mark = marked[d] ? suffix : rest;
        in.dim[d] = mark ? named_mark(call, in.dim[d], mark) : in.dim[d];
        if (!marked[d])
            out.dim[out.n++] = in.dim[d];
        else if (!whole && named_true(call, "keepdim", false))
            out.dim[out.n++] = "1";
    }
    if (out.n == 0)
        out.dim[out.n++] = "1";
    return named_text(call, &in, 1, (NamedDims[]){out, out}, whole ? 1 : n_outputs);
}

const char *named_sum(NamedCall *call)
{
    return reduce(call, '+', 0, 1);
}

const char *named_mean(NamedCall *call)
{
    return reduce(call, '^', 0, 1);
}

const char *named_any(NamedCall *call)
{
    return reduce(call, '^', '^', 1);
}

/* max and min: of two tensors, of all elements, or along a dim with the indices */
const char *named_extreme(NamedCall *call)
{
    return call->n_inputs > 1 ? named_broadcast(call) : reduce(call, '^', 0, 2);
}

const char *named_topk(NamedCall *call)
{
    int at = named_dim(call, "dim", rank_of(call), rank_of(call) - 1);
    NamedDims in = named_letters(call, rank_of(call)), out = in;
    in.dim[at] = named_mark(call, in.dim[at], '^');
    out.dim[at] = named_number(call, named_int(call, "k", -1));
    return named_text(call, &in, 1, (NamedDims[]){out, out}, 2);
}

/* The number of results is known only at run time. `where` with only a condition gives a tuple
 * too. */
const char *named_nonzero(NamedCall *call)
{
    NamedDims in = named_frozen(call, rank_of(call)), out[DIMS_MAX];
    bool tuple = named_true(call, "as_tuple", strcmp(call->op, "where") == 0);
    for (int d = 0; d < in.n; d++)
        out[d] = named_ignored();
    return named_text(call, &in, 1, out, tuple ? in.n : 1);
}

const char *named_layer_norm(NamedCall *call)
{
    enum { INPUTS = 3 };
    Shape normalized;
    if (!named_list(call, "normalized_shape", &normalized))
        return NULL;
    if (!named_rank(call, 0, (int)normalized.n_dims, DIMS_MAX))
        return NULL;
    NamedDims in[INPUTS] = {named_letters(call, rank_of(call))};
    for (int64_t d = in[0].n - normalized.n_dims; d < in[0].n; d++)
        in[0].dim[d] = named_mark(call, in[0].dim[d], '^');
    int n = call->n_inputs < INPUTS ? call->n_inputs : INPUTS;
    for (int i = 1; i < n; i++)
        in[i] = named_has(call, i) ? named_frozen(call, (int)named_shape(call, i)->n_dims)
                                   : named_ignored();
    return named_text(call, in, n, in, 1);
}

/* ---- losses: by reduction ---- */

typedef struct {
    const char *none, *sum, *mean;
} LossAnnos;

static const char *by_reduction(NamedCall *call, const LossAnnos *annos)
{
    Str reduction = json_str(named_attr(call, "reduction"), "mean");
    if (str_eq(reduction, STR("none")))
        return annos->none;
    if (str_eq(reduction, STR("sum")))
        return annos->sum;
    if (str_eq(reduction, STR("mean")))
        return annos->mean;
    return named_fail(call, ERROR_INVALID, "`reduction` must be none, sum or mean");
}

const char *named_cross_entropy(NamedCall *call)
{
    static const LossAnnos annos = {"C^, N -> N | N C^, N -> N | N C^ *, N * -> N",
                                    "C^, N -> 1 | N+ C^, N+ -> 1 | N+ C^ *, N+ * -> 1",
                                    "C^, N -> 1 | N^ C^, N^ -> 1 | N^ C^ *, N^ * -> 1"};
    return by_reduction(call, &annos);
}

const char *named_nll_loss(NamedCall *call)
{
    static const LossAnnos annos = {"C^, N -> N | N C^, N -> N | N C^ *, N * -> N *",
                                    "C^, N -> 1 | N+ C^, N+ -> 1 | N+ C^ *, N+ * -> 1",
                                    "C^, N^ -> 1 | N^ C^, N^ -> 1 | N^ C^ *, N^ * -> 1"};
    return by_reduction(call, &annos);
}

const char *named_l1_loss(NamedCall *call)
{
    static const LossAnnos annos = {"*, * -> *", "*+, *+ -> 1", "*^, *^ -> 1"};
    return by_reduction(call, &annos);
}

/* ---- linear algebra ---- */

/* [.., m, n] -> [.., m, k], [k], [.., n, k] with k the smaller; the full bases are m m and n n */
const char *named_svd(NamedCall *call)
{
    if (!named_rank(call, 0, 2, DIMS_MAX))
        return NULL;
    const int n = rank_of(call);
    const int64_t *size = named_shape(call, 0)->dim;
    bool small = named_true(call, "some", true) && named_true(call, "compute_uv", true);
    NamedDims in = named_frozen(call, n), left = in, right = in;
    const char *least = size[n - 2] < size[n - 1] ? in.dim[n - 2] : in.dim[n - 1];
    left.dim[n - 1] = small ? least : in.dim[n - 2];
    right.dim[n - 2] = in.dim[n - 1];
    right.dim[n - 1] = small ? least : in.dim[n - 1];
    NamedDims values = {1, {size[n - 2] > size[n - 1] ? in.dim[n - 1] : in.dim[n - 2]}};
    return named_text(call, &in, 1, (NamedDims[]){left, values, right}, 3);
}

/* A mask has the letters of the scores [.., queries, keys]; dims that differ are sizes. */
static NamedDims mask_dims(NamedCall *call, const NamedDims *query, const NamedDims *key)
{
    const Shape *mask = named_shape(call, 3), *queries = named_shape(call, 0);
    NamedDims dims = {.n = (int)mask->n_dims};
    int lead = (int)queries->n_dims - dims.n;
    for (int d = 0; d < dims.n - 1; d++)
        dims.dim[d] = mask->dim[d] == queries->dim[lead + d] ? query->dim[lead + d]
                                                             : named_number(call, mask->dim[d]);
    int64_t keys = named_shape(call, 1)->dim[key->n - 2];
    dims.dim[dims.n - 1] = mask->dim[dims.n - 1] == keys
                               ? key->dim[key->n - 2]
                               : named_number(call, mask->dim[dims.n - 1]);
    return dims;
}

/* "a b f e^, a b c^ e^, a b c^ d -> a b f d": batch dims and, without a mask, queries may be
 * sharded */
const char *named_attention(NamedCall *call)
{
    const int n = (int)named_shape(call, 2)->n_dims;
    bool masked = named_has(call, 3);
    if (!named_rank(call, 0, n, n) || !named_rank(call, 1, n, n) ||
        !named_rank(call, 2, 2, DIMS_MAX) || (masked && !named_rank(call, 3, 2, n)))
        return NULL;
    NamedDims value = named_letters(call, n);
    value.dim[n - 2] = named_mark(call, value.dim[n - 2], '^');
    NamedDims key = value;
    key.dim[n - 1] = named_frozen(call, 1).dim[0];
    NamedDims query = key;
    query.dim[n - 2] = named_letters(call, 1).dim[0];
    if (masked || named_true(call, "is_causal", false))
        query.dim[n - 2] = named_mark(call, query.dim[n - 2], '^');
    NamedDims out = query;
    out.dim[n - 1] = value.dim[n - 1];
    NamedDims in[] = {query, key, value, masked ? mask_dims(call, &query, &key) : named_ignored()};
    return named_text(call, in, call->n_inputs > 3 ? 4 : 3, &out, 1);
}
