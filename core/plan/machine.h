/* machine.h - what a host is made of: numbers of a machine file, and the formulas they feed.
 *
 * A machine file is data (scripts/machines/NAME.lua); the scripts layer fills this struct. Sources
 * of the numbers stand in the file. Two levels of links: inside a node and between nodes; a group
 * of devices uses the slower one when its members are on different nodes (node = device /
 * devices_per_node).
 */
#ifndef CORE_PLAN_MACHINE_H
#define CORE_PLAN_MACHINE_H

#include "core/model/dtype.h"
#include "core/plan/mesh.h"

typedef struct {
    const char *name;   /* "nvlink" */
    double latency_us;  /* alpha: per step of a collective */
    double bytes_per_s; /* one way, per device */
} Link;

typedef struct {
    const char *name, *source;
    int64_t devices_per_node;
    int64_t memory_bytes; /* of a device */
    double memory_bytes_per_s;
    double flops_per_s[DT_COUNT]; /* by element type of the matmul; 0: as f32 */
    double launch_us;             /* per op */
    Link inside, between;
} Machine;

/* The default when nobody named one: H100 x8, as scripts/machines/h100x8.lua says it. */
bool machine_check(const Machine *machine, Error *err);

/* The link that groups of these atoms use on this mesh: `between` when any group spans nodes. */
const Link *machine_link(const Machine *machine, const Mesh *mesh, AtomSet atoms);

#endif
