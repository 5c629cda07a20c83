/* eval_forms.h - ranges and index projections as the eval protocol writes them. */
#ifndef CORE_PEERS_TAPESTRY_EVAL_FORMS_H
#define CORE_PEERS_TAPESTRY_EVAL_FORMS_H

#include "core/base/json.h"
#include "core/space/opspace.h"
#include "core/peers/tapestry/scope.h"

/* Reads a list of at most `most` integers; `what` names the list in errors. */
bool form_ints(const Json *list, const char *what, int most, int64_t *out, int *n, Error *err);
bool form_shape(const Json *list, Shape *out, Error *err);

/* {"start": [..], "end": [..]} */
bool form_range(const Json *value, Box *out, Error *err);
Json *json_range(const Box *range);

/* {"projection": [[..]], "offset": [..], "window": [..]}, or as Tapestry writes it {"affineMap":
 * {"projection", "offset"}, "shape": [..]}; offsets default to 0, windows to 1.
 * *n_index is -1 for an ipf without rows, whose number of index dims is unknown. */
bool form_ipf(const Json *value, Projection *out, int *n_index, Error *err);
/* {"affineMap": {"projection", "offset"}, "shape"}: the same in Tapestry's form. */
Json *json_affine_map(const Projection *projection, int n_index);
Json *json_ipf(const Projection *projection, int n_index);

/* Reads an integer, a string or a list of values; a bool becomes 0 or 1. */
bool form_datum(Arena *arena, const Json *value, Datum *out, Error *err);
Json *json_datum(const Datum *datum);

#endif
