/* machine.h - a host's hardware: the numbers of a machine file, and the formulas that use them.
 *
 * A machine file is data (scripts/machines/NAME.lua) that the scripts layer reads into this
 * struct; the file names its sources. There are three levels of links: inside a node (node = device
 * / devices_per_node), between nodes of a block, as of a rack or a pod (block = device /
 * devices_per_block), and the spine between blocks. A group of devices uses the links of every
 * level that it spans. Without devices_per_block all nodes are one block.
 *
 * With a Tuning the time of a collective is that of NCCL's own model (price.h); without one it is
 * a ring on the slowest of its links: rounds * latency_us + bytes / bytes_per_s.
 */
#ifndef CORE_RESHARD_MACHINE_H
#define CORE_RESHARD_MACHINE_H

#include "core/model/dtype.h"
#include "core/layout/mesh.h"

typedef struct {
    const char *name;          /* "nvlink" */
    double latency_us;         /* alpha: per step of a collective, without a Tuning */
    double bytes_per_s;        /* one direction, per device: the bandwidth of the wire */
    double shared_bytes_per_s; /* shared by all devices of a node; 0 if nothing is shared */
    /* With a Tuning: the channels of a device (between nodes: those of one device's part of the
     * network), and what each of them carries. */
    int64_t channels;
    double channel_bytes_per_s;
    double busy_share; /* of the device's processors, which a collective takes from ops beside it */
} Link;

/* ORDER ALGORITHM */
typedef enum {
    ALGORITHM_RING,
    ALGORITHM_TREE,
    ALGORITHM_NVLS,      /* the switch reduces and multicasts, on one node */
    ALGORITHM_NVLS_TREE, /* NVLS on each node, a tree between nodes */
    ALGORITHM_PAT,       /* doubling distances, one rank on each node */
    ALGORITHM_COUNT
} Algorithm;

/* ORDER PROTOCOL: LL flags 4 of 8 bytes, LL128 8 of 128; Simple none, but it needs a barrier */
typedef enum { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_COUNT } Protocol;

enum { SPREADS = 3, TREE_SIZES = 23 };

typedef double Latencies[ALGORITHM_COUNT][PROTOCOL_COUNT]; /* 0 if the algorithm does not support
                                                              the protocol */
typedef double BySpread[SPREADS]; /* of groups on one node, on two, on more */

/* Constants of NCCL's model for this host, besides its links: src/graph/tuning.cc. Shares are of
 * the sum over channels; *_channel_bytes_per_s are the most that a channel of that algorithm
 * carries. */
typedef struct {
    Latencies base_us;    /* once */
    Latencies inside_us;  /* per hop inside a node */
    Latencies between_us; /* per hop between nodes */
    double post_us;       /* minimum time of a ring's hop between nodes; Simple: 3 times that */
    double plateau;       /* latencies of a Simple ring all-reduce over nodes, in steady state */
    double ring_ll_share, ring_ll128_share;
    double tree_share, tree_ll_share, tree_ll128_share, tree_ll128_share_between;
    double nvls_share, pat_share;
    double nvls_channel_bytes_per_s; /* 0 if the switch cannot reduce */
    BySpread ll_bytes_per_s, ring_ll128_channel_bytes_per_s;
    BySpread tree_channel_bytes_per_s, tree_ll128_channel_bytes_per_s;
    BySpread nvls_tree_channel_bytes_per_s;
    double tree_size_share[PROTOCOL_COUNT][TREE_SIZES]; /* of messages of 64 B, 128 B, .. */
} Tuning;

typedef struct {
    const char *name, *source;
    int64_t devices_per_node;
    int64_t devices_per_block; /* a multiple of devices_per_node; 0: all nodes are one block */
    int64_t memory_bytes;      /* of a device */
    double memory_bytes_per_s;
    double flops_per_s[DT_COUNT];        /* per element type of the matmul; 0: as f32 */
    double vector_flops_per_s[DT_COUNT]; /* for work that is no matmul; 0: flops_per_s of f32 */
    /* Fractions of the peaks that are reached; 0 means 1. */
    double matmul_share, memory_share, gather_share;
    /* Of matmuls of types of two bytes, and of fused attention, forward and gradient; 0 means
     * matmul_share. */
    double matmul_share_16, attention_share, attention_gradient_share;
    /* Of the memory's rate, of norms and of element-wise functions (cost.h); 0 means memory_share.
     */
    double norm_share, function_share;
    double launch_us; /* per op */
    double
        matmul_us; /* per matmul, beside launch_us: until its pipeline is full, and to drain it */
    int64_t processors, matmul_tile; /* processors that work in parallel, each on tile x tile
                                        elements of a matmul's result; 0: waves are not counted */
    Link inside, between, spine;     /* spine: unset without devices_per_block */
    const Tuning *tuning;            /* NULL: collectives are rings */
    const struct Measured *measured; /* measured.h; NULL: formulas alone */
    const struct Cluster *cluster;   /* cluster.h; NULL: all devices are alike */
} Machine;

/* Fails with ERROR_OUT_OF_RANGE on numbers that are missing, negative or not finite; the hint
 * names the place. */
bool machine_check(const Machine *machine, Error *err);

/* The link of the outermost level in groups over these atoms on this mesh: `between` if any group
 * spans nodes, `spine` if any spans blocks. */
const Link *machine_link(const Machine *machine, const Mesh *mesh, AtomSet atoms);

/* The devices that share links, for the formulas. */
typedef struct {
    int64_t n;         /* ranks of a group */
    int64_t nodes;     /* the most nodes that any group is on */
    int64_t per_node;  /* the fewest ranks that a group has on one of its nodes */
    int64_t busy;      /* the most devices of the mesh on one node: all their groups transfer at
                          the same time */
    int64_t blocks;    /* the most blocks that any group is on; 0 or 1: one */
    int64_t per_block; /* the fewest ranks that a group has in one of its blocks */
} RankGroup;

RankGroup machine_group(const Machine *machine, const Mesh *mesh, AtomSet atoms);

/* The link of the outermost level that the group spans. */
const Link *group_link(const Machine *machine, const RankGroup *group);

/* The bandwidth that one of `busy` devices of a node gets of a link. */
double link_bytes_per_s(const Link *link, int64_t busy);

#endif
