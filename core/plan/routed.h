/* routed.h - values that have rows only where a router sent them, and how many these are expected
 * to be.
 *
 * ExpertDispatch makes [b, e, s, h]: row s of expert e is there if token s chose expert e. All
 * other rows are zeros, which a grouped matmul does not compute, a rank does not keep and a ragged
 * all-to-all does not send. What is computed from such a value along the same index dims has the
 * same rows. How many there are is known only when the router has run, so plans take what is
 * expected under a load, an attribute of the op:
 *
 *     balanced    each of e experts is chosen by k/e of the tokens; a token chooses k
 *     shares      expert i is chosen by k * share[i] of the tokens, as was measured
 *     worst       all tokens choose experts of one rank: min(k, its experts) rows a token
 *
 * The fill of a value is the share of its rows that are there on the fullest rank: the others wait
 * for that one. Flops, bytes read and written, memory and what reshards send are multiplied by it.
 * Shapes stay those of all rows, since no router can send more.
 */
#ifndef CORE_PLAN_ROUTED_H
#define CORE_PLAN_ROUTED_H

#include "core/plan/op_cut.h"
#include "core/rules/infer.h"

typedef struct Routed Routed;

/* NULL if the graph routes nothing. */
Routed *routed_of(Arena *arena, const Inferred *inferred);

/* In all of these `routed` may be NULL: 1, and 0 for codes. */

/* Of as many bytes as a rank would hold if all rows were there, the share that is its fill. */
int64_t routed_bytes(const Routed *routed, int32_t tensor, const Sharding *sharding,
                     const Mesh *mesh, int64_t bytes);
/* The larger fill of both ends: a rank takes as long as the fullest sends or receives. */
double routed_move_fill(const Routed *routed, int32_t tensor, const Sharding *from,
                        const Sharding *to, const Mesh *mesh);
/* The share of an op's index points that the fullest rank computes under a cut; NULL: of all ranks
 * together. */
double routed_op_fill(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh);

/* Equal codes mean equal fills under equal shardings or cuts; 0: not routed. */
int32_t routed_tensor_code(const Routed *routed, int32_t tensor);
int32_t routed_op_code(const Routed *routed, int32_t op);

/* The rows of a message that are there, for the run: the dim of tokens of a routed value, -1 of
 * others. What is behind it is one row. */
int routed_row_dim(const Routed *routed, int32_t tensor);

/* The index dim of experts, of an op that has rows of a router; -1: none. */
int routed_expert_index(const Routed *routed, int32_t op);

/* How full the fullest rank is, in units of what it would have if all ranks had
 * equally many rows; 1 if the op has none of a router. */
double routed_imbalance(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh);

#endif
