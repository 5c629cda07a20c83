#include "core/run/verify/compare.h"

#include <math.h>

/*   type      rtol  atol, per largest element */
static const struct {
    Dtype dtype;
    Tolerance tolerance;
} tolerances[] = {
    {DT_F64, {1e-9, 1e-10}},
    {DT_F32, {1e-4, 1e-5}},
    {DT_F16, {1e-2, 1e-3}},
    {DT_BF16, {5e-2, 1e-2}},
};

static const double atol_floor = 1e-7;

Tolerance tolerance_for(Dtype dtype, double range)
{
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
        if (tolerances[i].dtype == dtype) {
            Tolerance found = tolerances[i].tolerance;
            found.atol = fmax(found.atol * range, dtype == DT_F64 ? 0 : atol_floor);
            return found;
        }
    return (Tolerance){0, 0};
}

double local_range(const Local *whole)
{
    double most = 0;
    for (int i = 0; i < whole->items.n; i++)
        most = fmax(most, local_range(whole->items.at[i]));
    if (whole->sequence || whole->nothing)
        return most;
    double range = 0;
    int64_t n = shape_elements(&whole->shape);
    for (int64_t i = 0; dtype_is_computed(whole->dtype) && i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(whole, i, 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            if (isfinite(block.f64[k]))
                range = fmax(range, fabs(block.f64[k]));
    }
    return range;
}

int64_t local_count(const Local *part)
{
    int64_t n = part->sequence || part->nothing ? 0 : shape_elements(&part->shape);
    for (int i = 0; i < part->items.n; i++)
        n += local_count(part->items.at[i]);
    return n;
}

int64_t local_count_strange(const Local *part)
{
    int64_t n = shape_elements(&part->shape), n_strange = 0;
    for (int i = 0; i < part->items.n; i++)
        n_strange += local_count_strange(part->items.at[i]);
    if (part->sequence || part->nothing)
        return n_strange;
    if (!dtype_is_float(part->dtype) || !dtype_is_computed(part->dtype))
        return 0;
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(part, i, 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            n_strange += !isfinite(block.f64[k]);
    }
    return n_strange;
}

void difference_join(Difference *into, const Difference *other)
{
    into->bits += other->bits;
    into->max_abs = fmax(into->max_abs, other->max_abs);
    into->max_rel = fmax(into->max_rel, other->max_rel);
    into->max_ulp = other->max_ulp > into->max_ulp ? other->max_ulp : into->max_ulp;
    into->ok = into->ok && other->ok;
}

/* The difference of two float elements whose bits differ. */
static Difference float_difference(Dtype dtype, const void *got, const void *want,
                                   Tolerance tolerance)
{
    double x, y;
    elements_load(dtype, got, 1, 1, NUMBER_F64, &x);
    elements_load(dtype, want, 1, 1, NUMBER_F64, &y);
    Difference out = {.ok = true};
    if (x == y || (isnan(x) && isnan(y)))
        return out;
    out.max_abs = isfinite(x - y) ? fabs(x - y) : INFINITY;
    out.max_rel = y != 0 && isfinite(y) ? out.max_abs / fabs(y) : 0;
    out.max_ulp = element_ulps(dtype, got, want);
    out.ok = isfinite(y) && out.max_abs <= tolerance.atol + tolerance.rtol * fabs(y);
    return out;
}

static Difference int_difference(Dtype dtype, const void *got, const void *want)
{
    int64_t x, y;
    Difference out = {.ok = false};
    if (!dtype_is_computed(dtype))
        return out;
    elements_load(dtype, got, 1, 1, NUMBER_I64, &x);
    elements_load(dtype, want, 1, 1, NUMBER_I64, &y);
    uint64_t apart = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    out.max_abs = (double)apart;
    out.max_rel = y != 0 ? out.max_abs / fabs((double)y) : 0;
    out.max_ulp = apart < INT64_MAX ? (int64_t)apart : INT64_MAX;
    return out;
}

static Difference element_difference(const Local *part, int64_t i, const Local *whole, int64_t k,
                                     Tolerance tolerance)
{
    const void *got = local_at(part, i), *want = local_at(whole, k);
    if (memcmp(got, want, (size_t)element_bytes(part->dtype)) == 0)
        return (Difference){.ok = true};
    return dtype_is_float(part->dtype) && dtype_is_computed(part->dtype)
               ? float_difference(part->dtype, got, want, tolerance)
               : int_difference(part->dtype, got, want);
}

void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out)
{
    if (!local_same_type(part, whole)) {
        *out = (Difference){.max_abs = INFINITY, .ok = false};
        return;
    }
    for (int i = 0; i < part->items.n; i++)
        local_compare(part->items.at[i], whole->items.at[i], tolerance, out);
    if (part->sequence || part->nothing)
        return;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++) {
            Difference one =
                element_difference(part, s.to + i, whole, s.from + i * s.step, tolerance);
            difference_join(out, &one);
        }
    arena_free(scratch);
}

static void read_number(const Local *local, int64_t i, double *out)
{
    if (out)
        *out = 0;
    if (out && dtype_is_computed(local->dtype))
        local_load(local, i, 1, 1, NUMBER_F64, out);
}

bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want)
{
    if (!local_same_type(part, whole)) {
        *at = (Shape){0};
        return true;
    }
    for (int i = 0; i < part->items.n; i++)
        if (local_first_wrong(part->items.at[i], whole->items.at[i], tolerance, at, got, want))
            return true;
    if (part->sequence || part->nothing)
        return false;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    int64_t found = -1;
    Stretch s;
    for (PickScan scan = picks_scan(&picks); found < 0 && picks_next(&scan, &s);)
        for (int64_t i = 0; found < 0 && i < s.n; i++)
            if (!element_difference(part, s.to + i, whole, s.from + i * s.step, tolerance).ok) {
                found = s.from + i * s.step;
                read_number(part, s.to + i, got);
                read_number(whole, found, want);
            }
    arena_free(scratch);
    *at = whole->shape;
    for (int64_t d = whole->shape.n_dims - 1, rest = found; found >= 0 && d >= 0; d--) {
        at->dim[d] = rest % whole->shape.dim[d];
        rest /= whole->shape.dim[d];
    }
    return found >= 0;
}
