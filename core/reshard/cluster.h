/* cluster.h - a host whose devices are of several kinds, such as H100s for some stages and A100s
 * for others.
 *
 * The devices of a cluster are numbered kind by kind: the first `devices` are of the first kind,
 * and so on; devices beyond the last kind count as of the last. What a part of the mesh does takes
 * as long as on its slowest kind: an op is priced on each kind and the longest time counts
 * (op_cost_on()), collectives have the links of the kind with the slowest ones.
 */
#ifndef CORE_RESHARD_CLUSTER_H
#define CORE_RESHARD_CLUSTER_H

#include "core/reshard/machine.h"

enum { CLUSTER_KINDS_MAX = 6 };

typedef struct {
    int64_t devices;
    const Machine *machine;
} ClusterKind;

typedef struct Cluster {
    int n;
    ClusterKind kind[CLUSTER_KINDS_MAX];
    /* By set of kinds, bit i for kind i: a machine whose cluster has these kinds; the machine of
     * the kind itself where there is one. NULL for the empty set. */
    const Machine *of[1 << CLUSTER_KINDS_MAX];
} Cluster;

/* Fills in the machine of a cluster, but for its name and source. Its memory is that of the
 * smallest device, its peaks are means over the devices, its links those of the slowest kind. Fails
 * with ERROR_OUT_OF_RANGE: no kind, too many, no device of a kind, a node with devices of two
 * kinds, nodes of different sizes. The machines of the kinds must outlive it; the rest is in the
 * arena. */
bool cluster_make(Arena *arena, const ClusterKind *kind, int n, Machine *out, Error *err);

/* The kind of a set whose links are the slowest; the set is not empty. */
int cluster_slowest(const Cluster *cluster, unsigned set);

/* Replaces the machine of a cluster by that of its first kind of this name, or of this number, from
 * 1. Fails with ERROR_USAGE if there is none; the hint lists them. */
bool cluster_choose(Machine *machine, Str kind, Error *err);

/* Fails with ERROR_UNSUPPORTED if the devices are unlike: `what` prices one kind of device. */
bool cluster_refuse(const Machine *machine, const char *what, Error *err);

int64_t cluster_devices(const Cluster *cluster); /* of all kinds together */

/* What a part of the mesh runs on: the machine itself if all its devices are alike. */
const Machine *machine_of_part(const Machine *machine, const Mesh *mesh, SubMesh part);

#endif
