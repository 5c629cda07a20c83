/* routed.h - values that contain only the rows a router sent, and how many rows these are expected
 * to be.
 *
 * ExpertDispatch makes [b, e, s, h]: row s of expert e exists if token s chose expert e. All other
 * rows are zeros, which a grouped matmul does not compute, a rank does not keep and a ragged
 * all-to-all does not send. What is computed from such a value along the same index dims has the
 * same rows. Their number is known only after the router has run, so plans use the expected number
 * under a load, an attribute of the op:
 *
 *     balanced    each of e experts is chosen by k/e of the tokens; a token chooses k
 *     shares      expert i is chosen by k * share[i] of the tokens, as was measured
 *     worst       all tokens choose experts of one rank: min(k, its experts) rows a token
 *
 * The fill of a value is the share of its rows that exist on the fullest rank: the other ranks wait
 * for that one. FLOPs, bytes read and written, memory and the bytes of reshards are multiplied by
 * it. Shapes include all rows, since a router can send no more.
 */
#ifndef CORE_PLAN_ROUTED_H
#define CORE_PLAN_ROUTED_H

#include "core/plan/op_cut.h"
#include "core/rules/infer.h"

typedef struct Routed Routed;

/* NULL if the graph routes nothing. */
Routed *routed_of(Arena *arena, const Inferred *inferred);

/* In all of these `routed` may be NULL: the result is then 1, and 0 for codes. */

/* The bytes that a rank holds of a value, given the bytes that it would hold if all rows existed.
 */
int64_t routed_bytes(const Routed *routed, int32_t tensor, const Sharding *sharding,
                     const Mesh *mesh, int64_t bytes);
/* The larger fill of the two shardings: a reshard takes as long as the fullest rank sends or
 * receives. */
double routed_move_fill(const Routed *routed, int32_t tensor, const Sharding *from,
                        const Sharding *to, const Mesh *mesh);
/* The share of an op's index points that the fullest rank computes under a cut; cut NULL: that all
 * ranks together compute. */
double routed_op_fill(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh);

/* Two tensors or ops with equal codes have equal fills under equal shardings or cuts; 0: not
 * routed. */
int32_t routed_tensor_code(const Routed *routed, int32_t tensor);
int32_t routed_op_code(const Routed *routed, int32_t op);

/* For the run: the dim of tokens of a routed value, whose existing rows a message contains; -1 for
 * other values. The dims after it are one row. */
int routed_row_dim(const Routed *routed, int32_t tensor);

/* The index dim of experts, of an op on routed rows; -1: none. */
int routed_expert_index(const Routed *routed, int32_t op);

/* How full the fullest rank is, relative to equally many rows on all ranks; 1 if the op has no
 * routed rows. */
double routed_imbalance(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh);

#endif
