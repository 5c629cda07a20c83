#include "core/peers/nnscaler/anno_named_call.h"

static int rank_of(const NamedCall *call)
{
    return (int)named_shape(call, 0)->n_dims;
}

static int64_t size_of(const NamedCall *call, int d)
{
    return named_shape(call, 0)->dim[d];
}

/* ---- copies along dims ---- */

/* A dim of size 1 that may grow cannot be sharded, new dims are sizes; the others stay. A second
 * input only gives the sizes. */
static const char *expand(NamedCall *call, const Shape *size)
{
    const int n = rank_of(call), lead = (int)size->n_dims - n;
    if (lead < 0)
        return named_fail(call, ERROR_RANK, "the result has fewer dims than the tensor");
    NamedDims out = named_letters(call, (int)size->n_dims), in = {.n = n};
    for (int d = 0; d < lead; d++)
        out.dim[d] = named_number(call, size->dim[d]);
    for (int d = 0; d < n; d++) {
        int64_t want = size->dim[lead + d];
        if (want != -1 && want != size_of(call, d) && size_of(call, d) != 1)
            return named_fail(call, ERROR_INVALID, "only dims of size 1 expand");
        in.dim[d] = out.dim[lead + d];
        if (want != -1 && size_of(call, d) == 1) {
            in.dim[d] = named_mark(call, in.dim[d], '^');
            out.dim[lead + d] = named_number(call, want);
        }
    }
    return named_text(call, (NamedDims[]){in, named_ignored()}, call->n_inputs > 1 ? 2 : 1, &out,
                      1);
}

const char *named_expand(NamedCall *call)
{
    Shape size;
    return named_list(call, "size", &size) ? expand(call, &size) : NULL;
}

const char *named_expand_as(NamedCall *call)
{
    return expand(call, named_shape(call, 1));
}

const char *named_repeat(NamedCall *call)
{
    Shape repeats;
    if (!named_list(call, "repeats", &repeats))
        return NULL;
    const int n = rank_of(call), lead = (int)repeats.n_dims - n;
    if (lead < 0)
        return named_fail(call, ERROR_RANK, "`repeats` has fewer dims than the tensor");
    NamedDims out = named_letters(call, (int)repeats.n_dims), in = {.n = n};
    for (int d = 0; d < lead; d++)
        out.dim[d] = named_number(call, repeats.dim[d]);
    for (int d = 0; d < n; d++) {
        int64_t times = repeats.dim[lead + d];
        in.dim[d] = out.dim[lead + d];
        if (times == 1)
            continue;
        in.dim[d] = named_mark(call, in.dim[d], '^');
        out.dim[lead + d] =
            arena_printf(call->arena, "(%s %s)", named_number(call, times), in.dim[d]);
    }
    return named_one(call, &in, &out);
}

const char *named_pad(NamedCall *call)
{
    Shape pad = {0};
    if (!json_is_array(named_attr(call, "pad")) || json_size(named_attr(call, "pad")) % 2 != 0 ||
        json_size(named_attr(call, "pad")) > 2 * rank_of(call))
        return named_fail(call, ERROR_INVALID, "`pad` must be a list of two numbers a dim");
    if (!str_eq(json_str(named_attr(call, "mode"), "constant"), STR("constant")))
        return named_fail(call, ERROR_UNSUPPORTED, "only the mode `constant` has an annotation");
    const Json *list = named_attr(call, "pad");
    for (int i = 0; i < json_size(list); i++)
        pad.dim[i / 2] += named_int_of(call, json_at(list, i)); /* the last dim first */
    pad.n_dims = json_size(list) / 2;

    NamedDims in = named_letters(call, rank_of(call)), out = in;
    for (int i = 0; i < pad.n_dims; i++) {
        int d = in.n - 1 - i;
        in.dim[d] = named_number(call, size_of(call, d));
        out.dim[d] = named_number(call, size_of(call, d) + pad.dim[i]);
    }
    return named_one(call, &in, &out);
}

/* ---- other dims, same elements ---- */

/* Removes dims of size 1. Other listed dims may not be sharded: a part of size 1 would be
 * removed. */
const char *named_squeeze(NamedCall *call)
{
    bool marked[DIMS_MAX] = {false}, all = !named_attr(call, "dim");
    if (!all)
        named_dims(call, "dim", rank_of(call), marked);
    NamedDims in = named_letters(call, rank_of(call)), out = {0};
    for (int d = 0; d < in.n; d++) {
        bool asked = all || marked[d];
        if (asked && size_of(call, d) == 1)
            continue;
        in.dim[d] = asked ? named_mark(call, in.dim[d], '^') : in.dim[d];
        out.dim[out.n++] = in.dim[d];
    }
    if (out.n == 0)
        out.dim[out.n++] = "1";
    return named_one(call, &in, &out);
}

const char *named_unsqueeze(NamedCall *call)
{
    NamedDims in = named_letters(call, rank_of(call)), out = in;
    if (!named_attr(call, "dim"))
        return named_fail(call, ERROR_INVALID, "the attribute `dim` is missing");
    named_insert(call, &out, named_dim(call, "dim", in.n + 1, 0), "1");
    return named_one(call, &in, &out);
}

const char *named_transpose(NamedCall *call)
{
    NamedDims in = named_letters(call, rank_of(call)), out = in;
    int a = named_dim(call, "dim0", in.n, 0), b = named_dim(call, "dim1", in.n, 0);
    out.dim[a] = in.dim[b];
    out.dim[b] = in.dim[a];
    return named_one(call, &in, &out);
}

const char *named_permute(NamedCall *call)
{
    bool marked[DIMS_MAX] = {false};
    const Json *dims = named_attr(call, "dims");
    NamedDims in = named_letters(call, rank_of(call)), out = {.n = in.n};
    if (named_dims(call, "dims", in.n, marked) != in.n)
        return named_fail(call, ERROR_RANK, "`dims` must name every dim once");
    for (int d = 0; d < out.n; d++)
        out.dim[d] =
            in.dim[named_dim_of(call, json_is_array(dims) ? json_at(dims, d) : dims, in.n)];
    return named_one(call, &in, &out);
}

const char *named_flatten(NamedCall *call)
{
    NamedDims in = named_letters(call, rank_of(call)), out = {0};
    int first = named_dim(call, "start_dim", in.n, 0);
    int last = named_dim(call, "end_dim", in.n, in.n - 1);
    if (last < first)
        return named_fail(call, ERROR_INVALID, "`end_dim` is before `start_dim`");
    Buf run = buf_new(call->arena);
    for (int d = 0; d < in.n; d++) {
        bool inside = d >= first && d <= last;
        in.dim[d] = inside ? named_mark(call, in.dim[d], '^') : in.dim[d];
        if (inside)
            buf_printf(&run, "%s%s", run.n > 0 ? " " : "(", in.dim[d]);
        else
            out.dim[out.n++] = in.dim[d];
        if (d == last)
            out.dim[out.n++] = arena_printf(call->arena, "%s)", run.s);
    }
    return named_one(call, &in, &out);
}

/* ---- one tensor to several ---- */

/* The dim is a size in the input and in each output. */
static const char *cut_into(NamedCall *call, int dim, const int64_t *section, int n)
{
    NamedDims in = named_letters(call, rank_of(call));
    NamedDims *out = arena_array(call->arena, NamedDims, n);
    int64_t left = size_of(call, dim);
    for (int i = 0; i < n; i++) {
        out[i] = in;
        out[i].dim[dim] = named_number(call, section[i]);
        if (section[i] > left)
            return named_fail(call, ERROR_INVALID, "the sections are longer than the dim");
        left -= section[i];
    }
    if (left != 0)
        return named_fail(call, ERROR_INVALID, "the sections are shorter than the dim");
    in.dim[dim] = named_number(call, size_of(call, dim));
    return named_text(call, &in, 1, out, n);
}

/* Sections of `each`, the last may be shorter. */
static const char *cut_evenly(NamedCall *call, int dim, int64_t each)
{
    int64_t size = size_of(call, dim), n = each > 0 ? size / each + (size % each != 0) : 0;
    if (n < 1 || n > OPERANDS_MAX)
        return named_fail(call, ERROR_OUT_OF_RANGE, "the number of sections is out of range");
    int64_t *section = arena_array(call->arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        section[i] = (i + 1) * each <= size ? each : size % each;
    return cut_into(call, dim, section, (int)n);
}

const char *named_split(NamedCall *call)
{
    const Json *sections = named_attr(call, "split_size_or_sections");
    int dim = named_dim(call, "dim", rank_of(call), 0), n = json_size(sections);
    if (!json_is_array(sections))
        return cut_evenly(call, dim, named_int(call, "split_size_or_sections", 0));
    if (n > OPERANDS_MAX)
        return named_fail(call, ERROR_OUT_OF_RANGE, "the number of sections is out of range");
    int64_t *section = arena_array(call->arena, int64_t, n);
    for (int i = 0; i < n; i++)
        section[i] = json_int(json_at(sections, i), -1);
    return cut_into(call, dim, section, n);
}

const char *named_chunk(NamedCall *call)
{
    int dim = named_dim(call, "dim", rank_of(call), 0);
    int64_t chunks = named_int(call, "chunks", 0);
    if (chunks < 1)
        return named_fail(call, ERROR_OUT_OF_RANGE, "the number of chunks is out of range");
    if (size_of(call, dim) % chunks != 0)
        return named_fail(call, ERROR_NOT_DIVISIBLE,
                          "the number of chunks does not divide the dim");
    return cut_evenly(call, dim, size_of(call, dim) / chunks);
}

/* ---- several tensors to one ---- */

const char *named_cat(NamedCall *call)
{
    int dim = named_dim(call, "dim", rank_of(call), 0);
    NamedDims *in = arena_array(call->arena, NamedDims, call->n_inputs);
    int64_t sum = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const Shape *shape = named_shape(call, i);
        if (!named_has(call, i) || shape->n_dims != rank_of(call))
            return named_fail(call, ERROR_RANK,
                              "all inputs must be tensors with the same number of dims");
        in[i] = named_first(call, (int)shape->n_dims);
        in[i].dim[dim] = named_number(call, shape->dim[dim]);
        if (__builtin_add_overflow(sum, shape->dim[dim], &sum))
            return named_fail(call, ERROR_INVALID, "a size does not fit 64 bits");
    }
    NamedDims out = in[call->n_inputs - 1];
    out.dim[dim] = named_number(call, sum);
    return named_text(call, in, call->n_inputs, &out, 1);
}

const char *named_stack(NamedCall *call)
{
    NamedDims *in = arena_array(call->arena, NamedDims, call->n_inputs);
    const char *n = named_number(call, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!named_has(call, i))
            return named_fail(call, ERROR_UNSUPPORTED, "all inputs must be tensors");
        in[i] = call->scalar ? (NamedDims){1, {"1"}}
                             : named_first(call, (int)named_shape(call, i)->n_dims);
    }
    NamedDims out = call->scalar ? (NamedDims){0} : in[call->n_inputs - 1];
    named_insert(call, &out, named_dim(call, "dim", out.n + 1, 0), n);
    return named_text(call, in, call->n_inputs, &out, 1);
}

/* ---- views of numbers, diagonals ---- */

const char *named_view_as_complex(NamedCall *call)
{
    NamedDims in = named_letters(call, rank_of(call)), out = in;
    if (size_of(call, in.n - 1) != 2)
        return named_fail(call, ERROR_INVALID,
                          "the last dim must have size 2: the real and imaginary part");
    in.dim[in.n - 1] = "2";
    out.n--;
    if (out.n == 0)
        out = (NamedDims){1, {"1"}};
    return named_one(call, &in, &out);
}

const char *named_view_as_real(NamedCall *call)
{
    if (call->scalar)
        return "1 -> 2";
    NamedDims in = named_letters(call, rank_of(call)), out = in;
    named_insert(call, &out, out.n, "2");
    return named_one(call, &in, &out);
}

/* A vector becomes the diagonal of a matrix, a matrix gives its diagonal. */
const char *named_diag(NamedCall *call)
{
    if (!named_rank(call, 0, 1, 2))
        return NULL;
    int64_t at = named_int(call, "diagonal", 0), rows = size_of(call, 0);
    NamedDims in = {rank_of(call), {named_number(call, rows)}};
    if (in.n == 1) {
        const char *size = named_number(call, rows + (at < 0 ? -at : at));
        return named_one(call, &in, &(NamedDims){2, {size, size}});
    }
    int64_t columns = size_of(call, 1);
    int64_t down = at < 0 ? rows + at : rows, across = at < 0 ? columns : columns - at;
    int64_t least = down < across ? down : across;
    in.dim[1] = named_number(call, columns);
    return named_one(call, &in, &(NamedDims){1, {named_number(call, least < 0 ? 0 : least)}});
}
