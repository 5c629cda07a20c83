/* traffic.h - which devices send how much to which, and over which links.
 *
 * A flow is bytes from one place of the mesh to another in one run of a step, as the algorithm that
 * price.h chose moves them. In a group of n ranks, by device number, with `bytes` of payload each:
 *
 *     ring       each to the next one: the wire bytes of the step
 *     tree       on a node a chain: bytes to each neighbour; between nodes, from their first ranks,
 *                two binary trees, one the mirror of the other: bytes / 2 both ways along each edge
 *     NVLS       to the switch, which adds and copies: an all-reduce bytes, a gather bytes / n, a
 *                scatter bytes * (n-1) / n
 *     NVLS tree  the same on each node, and between nodes the two trees
 *     PAT        in round k rank i sends to i + 2^k what of it that one lacks: bytes / n a part
 *     pairwise   bytes / n to each other one (all-to-all)
 *     direct     bytes to the one that wants exactly what it has (permute)
 *     send       from the device of the other part of the mesh that stands at the same other
 *                coordinates; where an axis that it is cut by there is gathered, equal shares from
 *                the devices along that axis
 *
 * NCCL's own trees have another shape; the sums over links are the same. A link is inside where
 * both devices are on a node of the machine, else between.
 */
#ifndef CORE_COST_TRAFFIC_H
#define CORE_COST_TRAFFIC_H

#include "core/plan/plan.h"

enum { TRAFFIC_SWITCH = -1 }; /* instead of a place */

typedef void TrafficVisit(void *context, int64_t from, int64_t to, double bytes);

/* What one of n ranks sends to a switch that adds and copies. */
double traffic_switch_bytes(const Step *step, int64_t n);

/* Every flow of one run of the s-th step of a reshard, over all of its groups. Slices have none. */
void traffic_transfers(const Plan *plan, const Reshard *reshard, int s, TrafficVisit *visit,
                       void *context);

/* Bytes of all devices together. */
typedef struct {
    double inside, between, to_switch;
} LinkBytes;

typedef struct {
    AtomSet atoms;  /* the groups of these steps */
    LinkBytes sent; /* in a step of the model */
    double us;      /* of these steps */
    double n;       /* how often one runs */
} AxisTraffic;

typedef struct {
    LinkBytes sent; /* of all */
    int n_axes;
    AxisTraffic *axis; /* the most bytes first */
    int n_buckets;     /* of places that are neighbours: n_devices, or fewer */
    double *pair;      /* [n_buckets][n_buckets], row: who sends; not what goes to the switch */
} Traffic;

/* Of all reshards, as often as each moves its value. In the arena. */
Traffic traffic_of_plan(Arena *arena, const Plan *plan, int n_buckets);

#endif
