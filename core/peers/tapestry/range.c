#include "core/peers/tapestry/range.h"

#include "core/base/scan.h"

#include <inttypes.h>

static const int64_t coordinate_max = INT64_C(1) << 60;

bool range_check(const Box *range, Error *err)
{
    for (int d = 0; d < range->n; d++) {
        if (range->lo[d] < -coordinate_max || range->hi[d] > coordinate_max)
            return error_kind(err, ERROR_OUT_OF_RANGE, "axis %d extends beyond 2^60", d);
        if (range->lo[d] > range->hi[d])
            return error_kind(err, ERROR_INVALID,
                              "axis %d ends at %" PRId64 ", which is less than its start %" PRId64,
                              d, range->hi[d], range->lo[d]);
    }
    return true;
}

/* range = "[" [ INT ":" INT { "," INT ":" INT } ] "]" */
bool range_parse(Str text, Box *out, Error *err)
{
    Source source = {"range", text};
    Scan scan = scan_begin(&source, err);
    *out = (Box){0};
    if (!scan_char(&scan, '['))
        return false;
    if (scan_accept(&scan, ']'))
        return scan_end(&scan);
    do {
        if (out->n == X_MAX)
            return error_kind(err, ERROR_RANK, "a range has at most %d axes", X_MAX);
        if (!scan_int(&scan, &out->lo[out->n]) || !scan_char(&scan, ':') ||
            !scan_int(&scan, &out->hi[out->n]))
            return false;
        out->n++;
    } while (scan_accept(&scan, ','));
    return scan_char(&scan, ']') && scan_end(&scan) && range_check(out, err);
}

bool range_is_empty(const Box *range)
{
    for (int d = 0; d < range->n; d++)
        if (range->lo[d] >= range->hi[d])
            return true;
    return false;
}

bool range_size(const Box *range, int64_t *out, Error *err)
{
    *out = range_is_empty(range) ? 0 : 1;
    for (int d = 0; *out > 0 && d < range->n; d++)
        if (__builtin_mul_overflow(*out, range->hi[d] - range->lo[d], out))
            return error_kind(err, ERROR_OUT_OF_RANGE, "the range has more than 2^63 points");
    return true;
}

static bool same_rank(const Box *a, const Box *b, Error *err)
{
    return a->n == b->n ||
           error_kind(err, ERROR_RANK, "one range has %d axes, another %d", a->n, b->n);
}

static bool some_ranges(const Box *ranges, int n, Error *err)
{
    if (n == 0)
        return error_kind(err, ERROR_INVALID, "the list of ranges is empty");
    for (int i = 1; i < n; i++)
        if (!same_rank(&ranges[0], &ranges[i], err))
            return false;
    return true;
}

bool range_bound(const Box *ranges, int n, Box *out, Error *err)
{
    if (!some_ranges(ranges, n, err))
        return false;
    *out = ranges[0];
    for (int i = 1; i < n; i++)
        for (int d = 0; d < out->n; d++) {
            out->lo[d] = ranges[i].lo[d] < out->lo[d] ? ranges[i].lo[d] : out->lo[d];
            out->hi[d] = ranges[i].hi[d] > out->hi[d] ? ranges[i].hi[d] : out->hi[d];
        }
    return true;
}

static bool meet(const Box *a, const Box *b, Box *out)
{
    *out = *a;
    for (int d = 0; d < a->n; d++) {
        out->lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        out->hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
        if (out->hi[d] < out->lo[d])
            return false;
    }
    return true;
}

bool range_intersect(const Box *ranges, int n, Box *out, bool *any, Error *err)
{
    if (!some_ranges(ranges, n, err))
        return false;
    *out = ranges[0];
    *any = true;
    for (int i = 1; i < n && *any; i++) {
        Box so_far = *out;
        *any = meet(&so_far, &ranges[i], out);
    }
    return true;
}

bool range_product(const Box *ranges, int n, Box *out, Error *err)
{
    *out = (Box){0};
    for (int i = 0; i < n; i++)
        for (int d = 0; d < ranges[i].n; d++, out->n++) {
            if (out->n == X_MAX)
                return error_kind(err, ERROR_RANK, "a range has at most %d axes", X_MAX);
            out->lo[out->n] = ranges[i].lo[d];
            out->hi[out->n] = ranges[i].hi[d];
        }
    return true;
}

bool range_permute(const Box *range, const int64_t *perm, int n, Box *out, Error *err)
{
    bool seen[X_MAX] = {false};
    if (n != range->n)
        return error_kind(err, ERROR_RANK, "a permutation of %d of %d axes", n, range->n);
    *out = (Box){.n = n};
    for (int d = 0; d < n; d++) {
        if (perm[d] < 0 || perm[d] >= n || seen[perm[d]])
            return error_kind(err, ERROR_INVALID,
                              "%" PRId64 " at position %d does not belong to a permutation",
                              perm[d], d);
        seen[perm[d]] = true;
        out->lo[d] = range->lo[perm[d]];
        out->hi[d] = range->hi[perm[d]];
    }
    return true;
}

bool range_contains_point(const Box *range, const int64_t *point, int n, bool *out, Error *err)
{
    if (n != range->n)
        return error_kind(err, ERROR_RANK, "the point has %d coordinates, the range %d axes", n,
                          range->n);
    *out = true;
    for (int d = 0; d < n; d++)
        *out = *out && range->lo[d] <= point[d] && point[d] < range->hi[d];
    return true;
}

static bool is_inside(const Box *range, const Box *other)
{
    for (int d = 0; d < range->n; d++)
        if (other->lo[d] < range->lo[d] || other->hi[d] > range->hi[d])
            return false;
    return true;
}

bool range_contains(const Box *range, const Box *other, bool *out, Error *err)
{
    if (!same_rank(range, other, err))
        return false;
    *out = is_inside(range, other);
    return true;
}

/* ---- pieces ---- */

static bool check_axis(const Box *range, int64_t *axis, Error *err)
{
    int64_t at = *axis < 0 ? *axis + range->n : *axis;
    if (at < 0 || at >= range->n)
        return error_kind(err, ERROR_OUT_OF_RANGE, "there is no axis %" PRId64 " of %d", *axis,
                          range->n);
    *axis = at;
    return true;
}

bool range_split_sizes(Arena *arena, const Box *range, int64_t axis, const int64_t *sizes,
                       int n_sizes, Box **out, Error *err)
{
    if (!check_axis(range, &axis, err))
        return false;
    int64_t at = range->lo[axis];
    *out = arena_array(arena, Box, n_sizes);
    for (int i = 0; i < n_sizes; i++) {
        if (sizes[i] <= 0 || sizes[i] > range->hi[axis] - at)
            return error_kind(err, ERROR_INVALID,
                              "piece %d has size %" PRId64 " where %" PRId64 " are left", i,
                              sizes[i], range->hi[axis] - at);
        (*out)[i] = *range;
        (*out)[i].lo[axis] = at;
        (*out)[i].hi[axis] = at += sizes[i];
    }
    return at == range->hi[axis] ||
           error_kind(err, ERROR_INVALID, "the pieces do not cover %" PRId64, range->hi[axis] - at);
}

bool range_split(Arena *arena, const Box *range, int64_t axis, int64_t chunk, Box **out, int *n,
                 Error *err)
{
    if (!check_axis(range, &axis, err))
        return false;
    if (chunk <= 0)
        return error_kind(err, ERROR_INVALID, "pieces of size %" PRId64, chunk);
    int64_t size = range->hi[axis] - range->lo[axis];
    int64_t pieces = size == 0 ? 1 : size / chunk + (size % chunk > 0);
    if (pieces > RANGE_PIECES_MAX)
        return error_kind(err, ERROR_UNSUPPORTED, "%" PRId64 " pieces, more than %d", pieces,
                          RANGE_PIECES_MAX);
    *n = (int)pieces;
    *out = arena_array(arena, Box, pieces);
    for (int i = 0; i < *n; i++) {
        (*out)[i] = *range;
        (*out)[i].lo[axis] = range->lo[axis] + i * chunk;
        if (i + 1 < *n)
            (*out)[i].hi[axis] = (*out)[i].lo[axis] + chunk;
    }
    return true;
}

/* ---- covering ---- */

static bool overlap(const Box *a, const Box *b)
{
    Box both;
    return meet(a, b, &both) && !range_is_empty(&both);
}

bool range_cover(const Box *range, const Box *ranges, int n, Error *err)
{
    int64_t whole, sum = 0;
    if (n == 0)
        return error_kind(err, ERROR_INVALID, "the list of ranges is empty");
    if (!range_size(range, &whole, err))
        return false;
    for (int i = 0; i < n; i++) {
        int64_t size;
        if (!same_rank(range, &ranges[i], err))
            return false;
        if (!is_inside(range, &ranges[i]))
            return error_kind(err, ERROR_INVALID, "range %d extends beyond the whole", i);
        for (int k = 0; k < i; k++)
            if (overlap(&ranges[i], &ranges[k]))
                return error_kind(err, ERROR_INVALID, "ranges %d and %d overlap", k, i);
        if (!range_size(&ranges[i], &size, err))
            return false;
        sum += size; /* cannot overflow: the ranges are disjoint and inside the whole */
    }
    return sum == whole ||
           error_kind(err, ERROR_INVALID, "%" PRId64 " of %" PRId64 " points are not covered",
                      whole - sum, whole);
}
