/* rvd.h - nnScaler's resharding: layouts [R,V,D1..Dn] and the steps between them.
 *
 * A layout has R replicas, V addends of a sum, and Di equal parts of dim i. The product is the
 * number of devices; cell (r,v,d1..dn) is on device number i, counted row-major with R outermost.
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
 * asynchronous). The path is the cheapest (Dijkstra); of equal ones the one through the first
 * layout in order of components. Source: nnScaler, rvd.
 *
 * A path has only layouts. The device groups of its steps follow from the devices of the cells.
 * Where R or V shrinks its parts may be reordered; orders are tried until the last step ends on the
 * target's devices. If none does, the steps go through full replication and cost more than the
 * path: `direct` is then false.
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
    RVD_NONE /* no single step between the layouts */
} RvdKind;

/* One primitive on every group. Within a set a group is n_sources devices, which are its targets
 * too; the i-th has the i-th part before and after. A crossing group is its sources, then its
 * targets. */
typedef struct {
    RvdKind kind;
    Rvd from, to;
    int shrinks, grows; /* components, or -1 */
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
    int64_t steps_cost; /* of the steps; that of the path if they are direct */
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

/* The cost of that step; crossing_factor: 0 within a set, else 24 or 1. */
int64_t rvd_step_cost(const Shape *shape, const Rvd *from, const Rvd *to, int64_t crossing_factor);

/* The cheapest path alone: fills cost, path, n_path and n_from. ERROR_OUT_OF_RANGE if there are
 * more than RVD_LAYOUTS_MAX layouts. */
bool rvd_search(Arena *arena, const Shape *shape, const Rvd *from, const Rvd *to,
                int64_t crossing_factor, RvdPlan *out, Error *err);

/* Path and steps. ERROR_RANK if a layout does not fit the tensor's dims; ERROR_OUT_OF_RANGE if the
 * number of devices is wrong or one is repeated; ERROR_NOT_DIVISIBLE; ERROR_UNSUPPORTED if device
 * sets overlap only partly. */
bool rvd_reshard(Arena *arena, const RvdRequest *request, RvdPlan *out, Error *err);

#endif
