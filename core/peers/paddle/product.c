#include "core/peers/paddle/product.h"

/* An untransposed factor in parts: batch dims, then m k or k n, or k alone. */
typedef struct {
    SpmdTensor batch;
    const char *batch_letters;
    SpmdAxes own, k; /* own: m of x, n of y */
    int64_t own_size, k_size;
} FactorParts;

static int n_batch(const SpmdTensor *tensor)
{
    return tensor->n_dims > 2 ? tensor->n_dims - 2 : 0;
}

/* Batch letters, right-aligned against n_wide, then the letters of `matrix`. */
static const char *letters_of(SpmdCall *call, const SpmdTensor *tensor, int n_wide,
                              const char *matrix)
{
    int n = n_batch(tensor);
    const char *batch = spmd_letters(call, n, (char)('a' + n_wide - n));
    return arena_printf(call->arena, "%s%s", batch, matrix);
}

bool product_letters(SpmdCall *call, const Factors *factors, ProductLetters *out, Error *err)
{
    const SpmdTensor *x = factors->x, *y = factors->y;
    if (x->n_dims == 0 || y->n_dims == 0)
        return error_kind(err, ERROR_RANK, "a factor of a matrix product cannot be a scalar");
    if ((factors->trans_x && x->n_dims == 1) || (factors->trans_y && y->n_dims == 1))
        return error_set(err, "a factor of one dim cannot be transposed");
    int n = n_batch(x) > n_batch(y) ? n_batch(x) : n_batch(y);
    out->x = letters_of(call, x, n, x->n_dims == 1 ? "k" : factors->trans_x ? "km" : "mk");
    out->y = letters_of(call, y, n, y->n_dims == 1 ? "k" : factors->trans_y ? "nk" : "kn");
    out->out = arena_printf(call->arena, "%s%s%s", spmd_letters(call, n, 'a'),
                            x->n_dims == 1 ? "" : "m", y->n_dims == 1 ? "" : "n");
    return true;
}

static FactorParts split_parts(const SpmdTensor *tensor, const char *letters)
{
    FactorParts parts = {.batch_letters = letters, .own_size = 1, .k_size = 1};
    parts.batch.n_dims = n_batch(tensor);
    parts.batch.shape.n_dims = parts.batch.n_dims;
    for (int d = 0; d < tensor->n_dims; d++) {
        if (d < parts.batch.n_dims) {
            parts.batch.dim[d] = tensor->dim[d];
            parts.batch.shape.dim[d] = tensor->shape.dim[d];
        } else if (letters[d] == 'k') {
            parts.k = tensor->dim[d];
            parts.k_size = tensor->shape.dim[d];
        } else {
            parts.own = tensor->dim[d];
            parts.own_size = tensor->shape.dim[d];
        }
    }
    return parts;
}

static void remove_axes(SpmdCall *call, char loser, SpmdAxes *axes, const SpmdAxes *taken,
                        const char *taker)
{
    for (int i = 0; i < taken->n; i++) {
        if (spmd_axes_have(axes, taken->axis[i]))
            spmd_trace(call, "axis %s: %c loses it to %s", call->mesh->axes[taken->axis[i]].name,
                       loser, taker);
        spmd_axes_remove(axes, taken->axis[i]);
    }
}

static bool merge_batch(SpmdCall *call, const FactorParts *x, const FactorParts *y,
                        SpmdLetters *out, Error *err)
{
    Arena *arena = call->arena;
    SpmdOperand operand[] = {
        {arena_str(arena, (Str){x->batch_letters, (size_t)x->batch.n_dims}), &x->batch},
        {arena_str(arena, (Str){y->batch_letters, (size_t)y->batch.n_dims}), &y->batch}};
    return spmd_merge(call, SPMD_BY_FOLLOWED, operand, 2, out, err);
}

/* Merges k of both factors without the axes of m and n. */
static bool merge_k(SpmdCall *call, const FactorParts *x, const FactorParts *y, SpmdAxes *out,
                    Error *err)
{
    SpmdTensor of_x = {.n_dims = 1, .shape = {1, {x->k_size}}, .dim = {x->k}};
    SpmdTensor of_y = {.n_dims = 1, .shape = {1, {y->k_size}}, .dim = {y->k}};
    SpmdOperand operand[] = {{"k", &of_x}, {"k", &of_y}};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_BY_FOLLOWED, operand, 2, &merged, err))
        return false;
    *out = merged.axes['k'];
    return true;
}

/* An axis of both m and n goes to the larger dim. */
static void settle_own(SpmdCall *call, FactorParts *x, FactorParts *y)
{
    SpmdAxes both = {0};
    for (int i = 0; i < x->own.n; i++)
        if (spmd_axes_have(&y->own, x->own.axis[i]))
            spmd_axes_push(&both, x->own.axis[i]);
    if (both.n == 0)
        return;
    bool n_wins = y->own_size > x->own_size;
    spmd_trace(call, "axes %s: %c loses them to %c, which is %s", spmd_show_axes(call, &both),
               n_wins ? 'm' : 'n', n_wins ? 'n' : 'm', n_wins ? "larger" : "not smaller");
    for (int i = 0; i < both.n; i++)
        spmd_axes_remove(n_wins ? &x->own : &y->own, both.axis[i]);
}

SpmdTensor product_untransposed(const SpmdTensor *factor, bool transposed)
{
    SpmdTensor out = *factor;
    int n = out.n_dims;
    if (!transposed || n < 2)
        return out;
    out.dim[n - 1] = factor->dim[n - 2];
    out.dim[n - 2] = factor->dim[n - 1];
    out.shape.dim[n - 1] = factor->shape.dim[n - 2];
    out.shape.dim[n - 2] = factor->shape.dim[n - 1];
    return out;
}

SpmdTensor product_need(const SpmdTensor *given, const char *letters, const SpmdLetters *merged)
{
    SpmdTensor need = spmd_without_partial(given);
    spmd_set_letters(&need, letters, merged);
    for (int d = 0; d < need.n_dims; d++)
        if (given->shape.dim[d] == 1)
            spmd_unsplit(&need, d);
    return need;
}

bool product_of(SpmdCall *call, const Factors *factors, SpmdProduct *out, Error *err)
{
    SpmdLetters merged;
    *out = (SpmdProduct){0};
    if (!product_letters(call, factors, &out->letters, err))
        return false;
    spmd_trace(call, "letters: %s, %s -> %s", out->letters.x, out->letters.y, out->letters.out);
    FactorParts x = split_parts(factors->x, out->letters.x),
                y = split_parts(factors->y, out->letters.y);
    if (!merge_batch(call, &x, &y, &merged, err))
        return false;
    for (int letter = 0; letter < SPMD_LETTERS; letter++) {
        const SpmdAxes *taken = &merged.axes[letter];
        remove_axes(call, 'm', &x.own, taken, "the batch");
        remove_axes(call, 'n', &y.own, taken, "the batch");
        remove_axes(call, 'k', &x.k, taken, "the batch");
        remove_axes(call, 'k', &y.k, taken, "the batch");
    }
    settle_own(call, &x, &y);
    for (int i = 0; i < 4; i++)
        remove_axes(call, 'k', i % 2 ? &x.k : &y.k, i / 2 ? &x.own : &y.own, i / 2 ? "m" : "n");
    if (!merge_k(call, &x, &y, &out->k, err))
        return false;
    out->m = merged.axes['m'] = x.own;
    out->n = merged.axes['n'] = y.own;
    merged.axes['k'] = out->k;
    spmd_trace(call, "m: %s, n: %s", spmd_show_axes(call, &out->m), spmd_show_axes(call, &out->n));
    out->x = product_need(factors->x, out->letters.x, &merged);
    out->y = product_need(factors->y, out->letters.y, &merged);
    spmd_set_letters(&out->out, out->letters.out, &merged);
    merged.size['m'] = x.own_size;
    merged.size['n'] = y.own_size;
    out->out.shape.n_dims = out->out.n_dims;
    for (int d = 0; d < out->out.n_dims; d++)
        out->out.shape.dim[d] = merged.size[(unsigned char)out->letters.out[d]];
    return true;
}
