/* range.h - half-open boxes of integer points, `[2:4, -3:5]`; a point is a list of coordinates.
 *
 * start <= end on every axis. A range with an empty axis is empty but keeps its coordinates; one
 * without axes has one point. Coordinates stay within 2^60. Functions return false with *err set.
 */
#ifndef CORE_PEERS_TAPESTRY_RANGE_H
#define CORE_PEERS_TAPESTRY_RANGE_H

#include "core/space/opspace.h"

enum { RANGE_PIECES_MAX = 1 << 16 };

bool range_check(const Box *range, Error *err); /* ERROR_INVALID: an end before its start */
bool range_parse(Str text, Box *out, Error *err);
bool range_is_empty(const Box *range);
bool range_size(const Box *range, int64_t *out,
                Error *err); /* number of points; ERROR_OUT_OF_RANGE if above 2^63 */

bool range_bound(const Box *ranges, int n, Box *out, Error *err); /* smallest box around all */
/* *any: whether they intersect. Ranges that touch have an empty intersection. */
bool range_intersect(const Box *ranges, int n, Box *out, bool *any, Error *err);
bool range_product(const Box *ranges, int n, Box *out, Error *err); /* concatenates the axes */
bool range_permute(const Box *range, const int64_t *perm, int n, Box *out, Error *err);
bool range_contains_point(const Box *range, const int64_t *point, int n, bool *out, Error *err);
bool range_contains(const Box *range, const Box *other, bool *out, Error *err);

/* Splits an axis into pieces of `chunk`, the last of which may be smaller; range_split_sizes()
 * into pieces of the given sizes, which must add up. */
bool range_split(Arena *arena, const Box *range, int64_t axis, int64_t chunk, Box **out, int *n,
                 Error *err);
bool range_split_sizes(Arena *arena, const Box *range, int64_t axis, const int64_t *sizes,
                       int n_sizes, Box **out, Error *err);

/* Checks that the ranges are disjoint and inside `range` and cover it. ERROR_INVALID if not. */
bool range_cover(const Box *range, const Box *ranges, int n, Error *err);

#endif
