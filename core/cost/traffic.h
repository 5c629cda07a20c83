/* traffic.h - how much each device sends to each other device, and over which links.
 *
 * A transfer is bytes from one mesh position to another in one run of a step, as the algorithm
 * that price.h chose moves them. In a group of n ranks, ordered by device number, with `bytes` of
 * payload each:
 *
 *     ring       each to the next one: the wire bytes of the step
 *     tree       on a node a chain: bytes to each neighbour; between nodes, from their first
 *     ranks,
 *                two binary trees, one the mirror of the other: bytes / 2 both ways along each
 *                edge
 *     NVLS       to the switch, which reduces and multicasts: an all-reduce bytes, a gather
 *                bytes / n, a scatter bytes * (n-1) / n
 *     NVLS tree  the same on each node, and between nodes the two trees
 *     PAT        in round k rank i sends to i + 2^k what that rank lacks: bytes / n a part
 *     pairwise   bytes / n to every other rank (all-to-all)
 *     direct     bytes to the rank whose target is exactly this shard (permute)
 *     borders    to each rank whose halo reaches into the part, what it reads of it (halo exchange)
 *     send       from the device of the other part of the mesh with the same other coordinates; if
 *                an axis that shards the value there is gathered, equal shares from the devices
 *                along that axis
 *
 * NCCL's own trees have another shape; the sums over links are the same. A link is inside if both
 * devices are on one node of the machine, else between.
 */
#ifndef CORE_COST_TRAFFIC_H
#define CORE_COST_TRAFFIC_H

#include "core/plan/plan.h"

enum { TRAFFIC_SWITCH = -1 }; /* in place of a mesh position */

typedef void TrafficVisit(void *context, int64_t from, int64_t to, double bytes);

/* The bytes that one of n ranks sends to a switch that reduces and multicasts. */
double traffic_switch_bytes(const Step *step, int64_t n);

/* Visits every transfer in one run of step s of a reshard, over all of its groups. Slices have
 * none. */
void traffic_transfers(const Plan *plan, const Reshard *reshard, int s, TrafficVisit *visit,
                       void *context);

/* Bytes summed over all devices. */
typedef struct {
    double inside, between, to_switch;
} LinkBytes;

typedef struct {
    AtomSet atoms;  /* the groups of these steps */
    LinkBytes sent; /* in a step of the model */
    double us;      /* of these steps */
    double n;       /* how many of them run in a step */
} AxisTraffic;

typedef struct {
    LinkBytes sent; /* of all steps */
    int n_axes;
    AxisTraffic *axis; /* sorted, the most bytes first */
    int n_buckets;     /* of neighbouring positions: n_devices, or fewer */
    double *pair;      /* [n_buckets][n_buckets], row: the sender; without bytes to the switch */
} Traffic;

/* The traffic of all reshards, each counted as often as it moves its value. In the arena. */
Traffic traffic_of_plan(Arena *arena, const Plan *plan, int n_buckets);

#endif
