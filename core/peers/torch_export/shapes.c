#include "core/peers/torch_export/shapes.h"

uint8_t legal_rank(Call *c, int rank)
{
    if (rank >= 0 && rank <= DIMS_MAX)
        return (uint8_t)rank;
    call_fail(c, "a value would have %d dims, at most %d are read", rank, DIMS_MAX);
    return rank < 0 ? 0 : DIMS_MAX;
}

ExportTerm size_of(Call *c, ExportTerm x, int64_t dim)
{
    Export *e = c->e;
    int64_t known = x.meta < 0 ? -1 : meta_dim(e, x.meta, (int)dim);
    if (known >= 0)
        return term_int(known);
    Attr attrs[] = {attr_int(e, "start", dim), attr_int(e, "end", dim + 1)};
    ExportTerm out = emit(c, "Shape", &x, 1, attrs, 2);
    out.rank = 1;
    return out;
}

void add_size(Call *c, Terms *sizes, ExportTerm size)
{
    vec_push(c->e->scratch, sizes, size);
}

void add_sizes(Call *c, Terms *sizes, ExportTerm x, int first, int end)
{
    for (int d = first; d < end; d++)
        add_size(c, sizes, size_of(c, x, d));
}

ExportTerm reshape(Call *c, ExportTerm x, const Terms *sizes)
{
    Export *e = c->e;
    bool zero = false;
    if (term_is_complex(x)) {
        Terms all = {0};
        for (int i = 0; i < sizes->n; i++)
            add_size(c, &all, sizes->at[i]);
        add_size(c, &all, term_int(2));
        return complex_of_parts(reshape(c, complex_parts(x), &all));
    }
    for (int i = 0; i < sizes->n; i++)
        zero |= sizes->at[i].kind == TERM_NUMBER && sizes->at[i].i == 0;
    ExportTerm in[] = {x, emit_sizes(c, sizes)};
    Attr attr = attr_int(e, "allowzero", 1);
    ExportTerm out = emit(c, "Reshape", in, 2, &attr, zero);
    out.rank = legal_rank(c, sizes->n);
    return out;
}

ExportTerm transpose(Call *c, ExportTerm x, const int64_t *perm)
{
    Attr attr = attr_ints(c->e, "perm", perm, x.rank);
    return emit(c, "Transpose", &x, 1, &attr, 1);
}

ExportTerm swap_dims(Call *c, ExportTerm x, int64_t a, int64_t b)
{
    int64_t perm[DIMS_MAX];
    for (int d = 0; d < x.rank; d++)
        perm[d] = d == a ? b : d == b ? a : d;
    return x.rank == 0 ? x : transpose(c, x, perm);
}

ExportTerm unsqueeze(Call *c, ExportTerm x, int64_t dim)
{
    ExportTerm out = emit2(c, "Unsqueeze", x, emit_ints(c->e, &dim, 1));
    out.rank = legal_rank(c, x.rank + 1);
    return out;
}

ExportTerm squeeze(Call *c, ExportTerm x, int64_t dim)
{
    ExportTerm out = emit2(c, "Squeeze", x, emit_ints(c->e, &dim, 1));
    out.rank = (uint8_t)(x.rank > 0 ? x.rank - 1 : 0);
    return out;
}

ExportTerm expand(Call *c, ExportTerm x, ExportTerm shape, int rank)
{
    ExportTerm out = emit2(c, "Expand", x, shape);
    out.rank = legal_rank(c, rank);
    return out;
}

ExportTerm concat(Call *c, const ExportTerm *parts, int n, int64_t dim)
{
    Attr attr = attr_int(c->e, "axis", dim);
    return emit(c, "Concat", parts, n, &attr, 1);
}

ExportTerm fold_dims(Call *c, const char *op, ExportTerm x, const int64_t *dims, int n, bool keep)
{
    Attr attr = attr_int(c->e, "keepdims", keep);
    ExportTerm in[] = {x, emit_ints(c->e, dims, n)}, out = emit(c, op, in, 2, &attr, 1);
    out.rank = legal_rank(c, keep ? x.rank : x.rank - n);
    return out;
}

ExportTerm elements_at(Call *c, ExportTerm x, ExportTerm places, int64_t dim)
{
    Attr attr = attr_int(c->e, "axis", dim);
    ExportTerm in[] = {x, places};
    return emit(c, "GatherElements", in, 2, &attr, 1);
}

static ExportTerm as_size(Call *c, ExportTerm bound, int64_t fallback)
{
    if (!term_is(bound))
        return emit_ints(c->e, &fallback, 1);
    return bound.kind == TERM_NUMBER ? emit_ints(c->e, &bound.i, 1) : bound;
}

ExportTerm slice(Call *c, ExportTerm x, int64_t dim, ExportTerm start, ExportTerm end, int64_t step)
{
    Export *e = c->e;
    ExportTerm in[] = {x, as_size(c, start, 0), as_size(c, end, INT64_MAX), emit_ints(e, &dim, 1),
                       emit_ints(e, &step, 1)};
    ExportTerm out = emit(c, "Slice", in, step == 1 ? 4 : 5, NULL, 0);
    out.rank = x.rank;
    return out;
}

/* Whether a bound is behind the last element, as far as the file tells. */
static bool is_end(Call *c, ExportTerm x, int64_t dim, ExportTerm end)
{
    int64_t size = x.meta < 0 ? -1 : meta_dim(c->e, x.meta, (int)dim);
    return !term_is(end) ||
           (end.kind == TERM_NUMBER && (end.i > INT32_MAX || (size >= 0 && end.i >= size)));
}

static ExportTerm put_steps(Call *c, ExportTerm x, ExportTerm part, int64_t dim, ExportTerm start,
                            ExportTerm end, int64_t step)
{
    Export *e = c->e;
    ExportTerm first = term_is(start) ? start : term_int(0);
    ExportTerm last = is_end(c, x, dim, end) ? size_of(c, x, dim) : end;
    bool from_end =
        (first.kind == TERM_NUMBER && first.i < 0) || (last.kind == TERM_NUMBER && last.i < 0);
    if (from_end) {
        call_fail(c, "a slice with steps counts from the end");
        return x;
    }
    ExportTerm line = reshape_along(c, range(c, first, last, term_int(step), DT_I64), dim, x.rank);
    ExportTerm in[] = {x, expand(c, line, emit1(c, "Shape", part), x.rank), part};
    Attr attr = attr_int(e, "axis", dim);
    return emit(c, "ScatterElements", in, 3, &attr, 1);
}

ExportTerm put_slice(Call *c, ExportTerm x, ExportTerm part, int64_t dim, ExportTerm start,
                     ExportTerm end, int64_t step)
{
    ExportTerm parts[3];
    int n = 0;
    if (step != 1)
        return put_steps(c, x, part, dim, start, end, step);
    bool from_start = !term_is(start) || (start.kind == TERM_NUMBER && start.i == 0);
    if (!from_start)
        parts[n++] = slice(c, x, dim, no_term(), start, 1);
    parts[n++] = part;
    if (!is_end(c, x, dim, end))
        parts[n++] = slice(c, x, dim, end, no_term(), 1);
    return n == 1 ? part : concat(c, parts, n, dim);
}

ExportTerm zeros_like_shape(Call *c, ExportTerm shape, Dtype dtype, int rank)
{
    return emit_filled(c, shape, term_int(0), dtype, rank);
}

ExportTerm range(Call *c, ExportTerm start, ExportTerm end, ExportTerm step, Dtype dtype)
{
    ExportTerm in[] = {emit_as_scalar(c, start, dtype), emit_as_scalar(c, end, dtype),
                       emit_as_scalar(c, step, dtype)};
    ExportTerm out = emit(c, "Range", in, 3, NULL, 0);
    out.rank = 1;
    return out;
}

ExportTerm reshape_along(Call *c, ExportTerm line, int64_t dim, int rank)
{
    Terms sizes = {0};
    for (int d = 0; d < rank; d++)
        add_size(c, &sizes, term_int(d == dim ? -1 : 1));
    return reshape(c, line, &sizes);
}
