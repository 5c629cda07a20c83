/* eval_forms.h - ranges and index projections as the eval protocol writes them. */
#ifndef CORE_PEERS_TAPESTRY_EVAL_FORMS_H
#define CORE_PEERS_TAPESTRY_EVAL_FORMS_H

#include "core/base/json.h"
#include "core/space/opspace.h"
#include "core/peers/tapestry/scope.h"

/* A list of whole numbers, at most `most` of them; `what` names it. */
bool form_ints(const Json *list, const char *what, int most, int64_t *out, int *n, Error *err);
bool form_shape(const Json *list, Shape *out, Error *err);

/* {"start": [..], "end": [..]} */
bool form_range(const Json *value, Box *out, Error *err);
Json *json_range(const Box *range);

/* {"projection": [[..]], "offset": [..], "window": [..]}; absent offsets are 0, windows 1. How many
 * index dims an ipf without rows has is not known: n_index is then -1. */
bool form_ipf(const Json *value, Projection *out, int *n_index, Error *err);
Json *json_ipf(const Projection *projection, int n_index);

/* Numbers, lists of what is a value, texts; bools are 0 and 1. */
bool form_datum(Arena *arena, const Json *value, Datum *out, Error *err);
Json *json_datum(const Datum *datum);

#endif
