/* rvd.h - resharding in nnScaler's words: layouts [R,V,D1..Dn] and the steps between them.
 *
 * A layout says into how many parts each of these is divided: R replicas, V addends of a sum, and
 * Di equal parts of dim i. The product is the number of devices; cell (r,v,d1..dn) stands on device
 * number i, counted row-major: R outermost, Dn varies fastest.
 *
 * On one set of devices a step divides one component by a whole factor n and multiplies another by
 * it; groups of n devices do that together (s, t: elements of a shard before and after):
 *
 *     D -> R  all_gather      (n-1) s              R -> D  slice       0
 *     V -> R  all_reduce      2(n-1) s / n         R -> V  to_partial  0 (one keeps it, others 0)
 *     V -> D  reduce_scatter  (n-1) s / n          D -> D  all_to_all  (n-1) s / n
 *
 * Between two sets that share no device one step crosses, and at most one component changes in it:
 *
 *     nothing, R down  move (of the first replica)  s     R up    broadcast  s per receiver
 *     D up             rdscatter                    s     D down  rdgather   t
 *     V up             rvscatter            s per output  V down  rvgather   t per input
 *
 * A step costs its volume + 1, the crossing 24 times that (once when communication is
 * asynchronous). The path is the cheapest (Dijkstra); of equal ones that which reaches the layout
 * that is first in order of components. (nnScaler, rvd.)
 *
 * A path says layouts only. Which devices form the groups of its steps follows from where the cells
 * stand; where R or V shrinks, its parts may be taken in another order, and those orders are tried
 * until the last step ends where the target's cells stand. Where none does, the steps go through
 * full replication instead, and cost more than the path: `direct` is then false.
 */
#ifndef CORE_PEERS_NNSCALER_RVD_H
#define CORE_PEERS_NNSCALER_RVD_H

#include "core/base/error.h"
#include "core/model/shape.h"

enum { RVD_PARTS_MAX = DIMS_MAX + 2, RVD_DEVICES_MAX = 4096, RVD_LAYOUTS_MAX = 1 << 14 };

typedef struct {
    int n;
    int64_t at[RVD_PARTS_MAX]; /* R, V, D1..Dn */
} Rvd;

/* ORDER RVD_KIND: rvd_kind_name() */
typedef enum {
    RVD_ALL_GATHER,
    RVD_ALL_REDUCE,
    RVD_REDUCE_SCATTER,
    RVD_ALL_TO_ALL,
    RVD_SLICE,
    RVD_TO_PARTIAL,
    RVD_MOVE,
    RVD_BROADCAST,
    RVD_RDSCATTER,
    RVD_RDGATHER,
    RVD_RVSCATTER,
    RVD_RVGATHER,
    RVD_NONE /* no one step leads from the one layout to the other */
} RvdKind;

/* One primitive on every group. Within a set a group is n_sources devices, which are its targets
 * too; the i-th has and takes the i-th part. A crossing group is its sources, then its targets. */
typedef struct {
    RvdKind kind;
    Rvd from, to;
    int shrinks, grows; /* components; -1: none */
    int n_groups, n_sources, n_targets;
    const int32_t *device; /* n_groups rows of n_sources (+ n_targets, of a crossing) */
} RvdStep;

typedef struct {
    int64_t cost; /* of the path */
    int n_path, n_from;
    const Rvd *path; /* the first n_from on the source's devices, the others on the target's */
    bool direct;
    int n_steps;
    const RvdStep *step;
    int64_t steps_cost; /* of the steps; that of the path where they are direct */
} RvdPlan;

typedef struct {
    Shape shape;
    Rvd from, to;
    const int32_t *from_devices, *to_devices; /* by number; NULL: 0, 1, ..; those of the source */
    int n_from_devices, n_to_devices;
    bool async_comm;
} RvdRequest;

const char *rvd_kind_name(RvdKind kind); /* "all_gather" */
bool rvd_kind_crosses(RvdKind kind);
int64_t rvd_devices(const Rvd *rvd);

/* The one step between two layouts. `crosses`: between sets of devices. shrinks and grows may be
 * NULL. */
RvdKind rvd_kind(const Rvd *from, const Rvd *to, bool crosses, int *shrinks, int *grows);

/* What that step costs; crossing_factor: 0 within a set, else 24 or 1. */
int64_t rvd_step_cost(const Shape *shape, const Rvd *from, const Rvd *to, int64_t crossing_factor);

/* The cheapest path alone: fills cost, path, n_path and n_from. ERROR_OUT_OF_RANGE: more than
 * RVD_LAYOUTS_MAX layouts. */
bool rvd_search(Arena *arena, const Shape *shape, const Rvd *from, const Rvd *to,
                int64_t crossing_factor, RvdPlan *out, Error *err);

/* Path and steps. ERROR_RANK: a layout not of the tensor's dims; ERROR_OUT_OF_RANGE: devices that
 * are not as many as a layout has, or named twice; ERROR_NOT_DIVISIBLE; ERROR_UNSUPPORTED: sets of
 * devices that overlap in part. */
bool rvd_reshard(Arena *arena, const RvdRequest *request, RvdPlan *out, Error *err);

#endif
