/* json_read.h - values that several requests of the eval protocol contain, read and checked.
 *
 * Every reader returns false with *err: ERROR_INVALID for what is not well formed, ERROR_RANK or
 * ERROR_OUT_OF_RANGE for what does not fit. `what` names the value in the text.
 */
#ifndef CORE_LAYOUT_JSON_READ_H
#define CORE_LAYOUT_JSON_READ_H

#include "core/base/json.h"
#include "core/model/dtype.h"
#include "core/layout/placement.h"

/* A list of at most n_max whole numbers. */
bool json_read_ints(const Json *list, const char *what, int n_max, int64_t *out, int *n,
                    Error *err);

bool json_read_shape(const Json *list, Shape *out, Error *err);

/* One placement for each axis of the mesh, of a tensor of n_dims. */
bool json_read_placements(const Json *list, const Mesh *mesh, int64_t n_dims, Placement *out,
                          Error *err);

/* "f32" if absent. */
bool json_read_dtype(const Json *name, Dtype *out, Error *err);

#endif
