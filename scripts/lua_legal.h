/* lua_legal.h - hints that list what would have been legal.
 *
 * Functions that return false add the hint to an error without one.
 */
#ifndef SCRIPTS_LUA_LEGAL_H
#define SCRIPTS_LUA_LEGAL_H

#include "scripts/lua_policy.h"

/* Appends "dp=2, tp=4", or "none", after the text `before`: the axes that have no part in `used`.
 */
void legal_put_axes(const Mesh *mesh, AtomSet used, const char *before, Buf *out);

/* Puts what the error is about before its text: "dim 1 of 'w': .."; false. */
bool legal_about(Error *err, const char *what);

/* "index dims to cut: b 8, n 2304": those of an op that are not frozen. */
bool legal_index_dims(const Policy *policy, int32_t op, Error *err);

/* "its dims: 0 of 50257, 1 of 768": a tensor's. */
bool legal_dims(const Policy *policy, int32_t tensor, Error *err);

/* "did you mean 'tp'? the mesh has dp=2, tp=4": adds the axes after an existing hint. */
bool legal_axes(const Mesh *mesh, Error *err);

#endif
