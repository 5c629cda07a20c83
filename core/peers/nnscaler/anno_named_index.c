#include "core/peers/nnscaler/anno_named_call.h"

/* ---- one index or a slice of a dim ---- */

const char *named_select(NamedCall *call)
{
    NamedDims in = named_letters(call, (int)named_shape(call, 0)->n_dims), out = in;
    int dim = named_dim(call, "dim", in.n, 0);
    in.dim[dim] = named_mark(call, in.dim[dim], '^');
    named_remove(&out, dim);
    if (out.n == 0)
        out = (NamedDims){1, {"1"}};
    return named_one(call, &in, &out);
}

/* The number of indices start, start + step, .. before stop; negative ones count from the end. */
static int64_t slice_size(NamedCall *call, int64_t size, int64_t start, int64_t stop, int64_t step)
{
    if (step < 1) {
        named_fail(call, ERROR_INVALID, "the step of a slice must be 1 or more");
        return 0;
    }
    start += start < 0 ? size : 0;
    stop += stop < 0 ? size : 0;
    start = start < 0 ? 0 : start;
    stop = stop > size ? size : stop;
    return stop > start ? (stop - start - 1) / step + 1 : 0;
}

const char *named_slice(NamedCall *call)
{
    NamedDims in = named_letters(call, (int)named_shape(call, 0)->n_dims), out = in;
    int dim = named_dim(call, "dim", in.n, 0);
    int64_t size = named_shape(call, 0)->dim[dim];
    in.dim[dim] = named_number(call, size);
    out.dim[dim] =
        named_number(call, slice_size(call, size, named_int(call, "start", 0),
                                      named_attr(call, "end") ? named_int(call, "end", 0) : size,
                                      named_int(call, "step", 1)));
    return named_one(call, &in, &out);
}

/* The second tensor replaces index `index` of a dim of the first. */
const char *named_select_scatter(NamedCall *call)
{
    NamedDims whole = named_letters(call, (int)named_shape(call, 0)->n_dims), part = whole;
    int dim = named_dim(call, "dim", whole.n, 0);
    named_remove(&part, dim);
    whole.dim[dim] = named_number(call, named_shape(call, 0)->dim[dim]);
    return named_text(call, (NamedDims[]){whole, part}, 2, &whole, 1);
}

/* ---- indices in a tensor ---- */

/* Inputs: tensor, dim, index. Other dims share a letter if their sizes are equal, else they are
 * frozen. */
const char *named_gather(NamedCall *call)
{
    enum { INPUTS = 3 };
    if (call->n_inputs < INPUTS || !named_has(call, 2))
        return named_fail(call, ERROR_UNSUPPORTED, "its inputs must be tensor, dim and index");
    const Shape *shape = named_shape(call, 0), *index = named_shape(call, 2);
    int n = (int)shape->n_dims;
    int dim = named_dim_of(call, json_get(json_at(call->values, 1), "value"), n);
    if (!named_rank(call, 2, n, n))
        return NULL;
    NamedDims in = named_letters(call, n), out = named_letters(call, n);
    for (int d = 0; d < n; d++) {
        bool equal = shape->dim[d] == index->dim[d];
        if (d != dim && index->dim[d] > shape->dim[d])
            return named_fail(call, ERROR_INVALID, "the index is longer than the tensor");
        out.dim[d] = equal ? in.dim[d] : out.dim[d];
        if (equal && d != dim)
            continue;
        in.dim[d] = named_mark(call, in.dim[d], '^');
        out.dim[d] = named_mark(call, out.dim[d], '^');
    }
    return named_text(call, (NamedDims[]){in, named_ignored(), out}, INPUTS, &out, 1);
}

/* Inputs: tensor, index of one dim. */
const char *named_index_select(NamedCall *call)
{
    if (!named_rank(call, 1, 1, 1))
        return NULL;
    NamedDims in = named_letters(call, (int)named_shape(call, 0)->n_dims), out = in;
    NamedDims index = named_letters(call, 1);
    int dim = named_dim(call, "dim", in.n, 0);
    in.dim[dim] = named_mark(call, in.dim[dim], '^');
    out.dim[dim] = index.dim[0];
    return named_text(call, (NamedDims[]){in, index}, 2, &out, 1);
}

/* ---- tensor[..] ---- Each further input is an index: a number, null for a new dim, a list of
 * indices, text like "1:3", ":" or "...", or an index tensor. Several lists or tensors broadcast:
 * the shape of the result is then unknown, and nothing may be sharded. */

typedef struct {
    NamedCall *call;
    NamedDims in, out;
    int at;       /* the next dim of the tensor */
    int n_lists;  /* number of lists and index tensors */
    bool unknown; /* the shape of the result */
} Indexing;

static const Json *index_value(const NamedCall *call, int input)
{
    return json_get(json_at(call->values, input), "value");
}

static bool is_text(const Json *value, const char *text)
{
    return json_is_string(value) && str_eq(json_str(value, ""), str_from(text));
}

static void freeze(Indexing *index)
{
    index->in.dim[index->at] = named_mark(index->call, index->in.dim[index->at], '^');
    index->at++;
}

static bool read_bound(Str text, int64_t fallback, int64_t *out)
{
    *out = fallback;
    text = str_trim(text);
    return text.n == 0 ||
           (str_to_int(text, out) && *out > -(INT64_C(1) << 62) && *out < (INT64_C(1) << 62));
}

/* Reads "start:stop:step", where each may be empty. */
static void add_slice(Indexing *index, Str text)
{
    const int64_t size = named_shape(index->call, 0)->dim[index->at];
    int64_t start, stop, step;
    bool whole = str_eq(text, STR(":"));
    if (!read_bound(str_take(&text, ':'), 0, &start) ||
        !read_bound(str_take(&text, ':'), size, &stop) || !read_bound(text, 1, &step)) {
        named_fail(index->call, ERROR_SYNTAX, "write a slice as start:stop:step");
        return;
    }
    int64_t n = slice_size(index->call, size, start, stop, step);
    int at = index->at;
    if (whole)
        index->at++;
    else
        freeze(index);
    index->out.dim[index->out.n++] = n == size ? index->in.dim[at] : named_number(index->call, n);
}

static NamedDims add_tensor(Indexing *index, int input)
{
    NamedDims dims = named_letters(index->call, (int)named_shape(index->call, input)->n_dims);
    freeze(index);
    index->unknown = index->unknown || index->n_lists > 1;
    for (int d = 0; d < dims.n; d++)
        named_insert(index->call, &index->out, index->out.n, dims.dim[d]);
    return dims;
}

static void add_list(Indexing *index, const Json *list)
{
    freeze(index);
    index->unknown = index->unknown || index->n_lists > 1 || json_is_bool(json_at(list, 0));
    for (; json_is_array(list); list = json_at(list, 0))
        named_insert(index->call, &index->out, index->out.n,
                     named_number(index->call, json_size(list)));
}

/* Applies one input; returns its dims in the annotation. */
static NamedDims add_index(Indexing *index, int input)
{
    const Json *value = index_value(index->call, input);
    bool tensor = named_has(index->call, input);
    if (!tensor && (!value || json_is_null(value))) {
        named_insert(index->call, &index->out, index->out.n, "1");
        return named_ignored();
    }
    if (index->at >= index->in.n || index->out.n > DIMS_MAX) {
        named_fail(index->call, ERROR_RANK, "there are more indices than dims");
        return named_ignored();
    }
    if (tensor)
        return add_tensor(index, input);
    if (json_is_string(value))
        add_slice(index, json_str(value, ""));
    else if (json_is_array(value) && json_size(value) > 0)
        add_list(index, value);
    else if (json_is_int(value))
        freeze(index);
    else
        named_fail(index->call, ERROR_UNSUPPORTED,
                   "an index must be a number, a slice or a list of indices");
    return named_ignored();
}

/* "...": as many whole dims as the other indices leave. */
static void skip_rest(Indexing *index, int input)
{
    int taken = 0;
    for (int i = input + 1; i < index->call->n_inputs; i++) {
        const Json *value = index_value(index->call, i);
        taken += named_has(index->call, i) || (value && !json_is_null(value));
    }
    while (index->at < index->in.n - taken && index->out.n <= DIMS_MAX)
        index->out.dim[index->out.n++] = index->in.dim[index->at++];
}

static void freeze_all(NamedCall *call, NamedDims *dims, int n)
{
    for (int i = 0; i < n; i++)
        for (int d = 0; d < dims[i].n; d++) {
            Str text = str_from(dims[i].dim[d]);
            if (!str_ends(text, STR("^")) && !str_eq(text, STR("?")))
                dims[i].dim[d] = named_mark(call, dims[i].dim[d], '^');
        }
}

const char *named_getitem(NamedCall *call)
{
    const int n = call->n_inputs;
    Indexing index = {.call = call, .in = named_letters(call, (int)named_shape(call, 0)->n_dims)};
    NamedDims *in = arena_array(call->arena, NamedDims, n);
    for (int i = 1; i < n; i++)
        index.n_lists += named_has(call, i) || json_is_array(index_value(call, i));
    for (int i = 1; i < n && !call->failed; i++) {
        in[i] = named_ignored();
        if (is_text(index_value(call, i), "..."))
            skip_rest(&index, i);
        else
            in[i] = add_index(&index, i);
    }
    while (index.at < index.in.n)
        named_insert(call, &index.out, index.out.n, index.in.dim[index.at++]);
    in[0] = index.in;
    if (index.unknown) {
        freeze_all(call, in, n);
        index.out = named_ignored();
    }
    if (index.out.n == 0)
        index.out = (NamedDims){1, {"1"}};
    return named_text(call, in, n, &index.out, 1);
}

/* Inputs: tensor, indices, value. Nothing may be sharded. */
const char *named_setitem(NamedCall *call)
{
    NamedDims *in = arena_array(call->arena, NamedDims, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        in[i] = named_has(call, i) ? named_frozen(call, (int)named_shape(call, i)->n_dims)
                                   : named_ignored();
    return named_text(call, in, call->n_inputs, in, 1);
}
