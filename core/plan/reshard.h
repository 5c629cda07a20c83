/* reshard.h - from the sharding a value is made with to the one a reader needs.
 *
 * A path is a list of steps, each one collective on groups of ranks that differ in `atoms` only:
 *
 *     kind            legal when                                        bytes (payload of one rank)
 *     slice           the target refines the source                     0
 *     all-gather      the source refines the target; groups: the atoms  local size after
 *                     taken away, at the minor end of digits
 *     all-reduce      partial atoms vanish                              local size before
 *     reduce-scatter  partial atoms vanish and cut a dim further        local size before
 *     all-to-all      the same atoms cut other dims, or other digits    local size before
 *
 * wire_bytes is what a rank sends in a ring of n: (n-1)/n of the bytes (all-reduce 2(n-1)/n);
 * uneven dims are padded to rank 0's part, which is the largest. Time is as price.h says.
 * The cheapest path is found by search over shardings between source and target (Dijkstra); equal
 * costs are settled by fewer steps, then by the order of the kinds above. Any pair of shardings of
 * one tensor on one mesh has a path: gathering everything and slicing is always there. To partial
 * is never asked (a replicated value is not made partial).
 *
 * A step is right when every rank's target elements are held in its group: the host runner executes
 * it that way, and the truth tests compare every element.
 */
#ifndef CORE_PLAN_RESHARD_H
#define CORE_PLAN_RESHARD_H

#include "core/plan/price.h"
#include "core/plan/sharding.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;    /* the groups; 0 for a slice */
    int32_t from, to; /* Shardings ids */
    int64_t bytes, wire_bytes;
    double us;
} Step;

typedef struct {
    int n_steps;
    const Step *step;
    int64_t wire_bytes;
    double us;
} ReshardPath;

/* Paths by (element type, from, to), each searched once; cuts hold the sizes. */
typedef struct Resharder Resharder;

Resharder *resharder_new(Arena *arena, const Mesh *mesh, const Machine *machine,
                         Shardings *shardings);
const ReshardPath *reshard(Resharder *resharder, Dtype dtype, int32_t from, int32_t to);

#endif
