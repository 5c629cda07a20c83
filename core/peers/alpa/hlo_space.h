/* hlo_space.h - the index space of each HLO operator that Alpa's solver tests use.
 *
 * One table: a row per operator with the function that makes its op space from shapes and
 * attributes, and how partial operands pass through it. Attributes are named as in the eval
 * protocol: `batching_dims`, `contracting_dims` [[lhs], [rhs]], `dims`, `perm`.
 */
#ifndef CORE_PEERS_ALPA_HLO_SPACE_H
#define CORE_PEERS_ALPA_HLO_SPACE_H

#include "core/base/json.h"
#include "core/space/opspace.h"

typedef struct {
    const OpSpace *space;
    bool always_cut; /* every axis must cut an index dim: the op is too expensive to be
                        replicated */
} HloSpace;

/* Errors: ERROR_UNKNOWN_OP; ERROR_RANK, ERROR_INVALID if shapes and attributes do not fit. One
 * output. */
bool hlo_space(Arena *arena, Str op, int n_inputs, const Shape *inputs, const Shape *output,
               const Json *attrs, HloSpace *out, Error *err);

#endif
