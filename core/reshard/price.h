/* price.h - what a step of a reshard costs: its payload, its bytes on the wire, its time.
 *
 * n: ranks of a group; bytes: the payload of one rank, as reshard.h defines it for each kind.
 *
 * A machine file with NCCL's tuning numbers is priced with NCCL's own choice
 * (src/graph/tuning.cc): the least over algorithm x protocol of latency + bytes on the wire /
 * bandwidth, see price_ways.h; all-to-all, permute and send, which NCCL does not model, go
 * pairwise. Without tuning numbers every kind is a ring on the slowest link of the group.
 *
 * Two things differ from NCCL on purpose. Its table of tree efficiency by message size is
 * interpolated between powers of two, so that time is continuous and grows with bytes. A link that
 * several devices of a node share is divided among those of the mesh, since all groups transfer at
 * the same time.
 */
#ifndef CORE_RESHARD_PRICE_H
#define CORE_RESHARD_PRICE_H

#include "core/reshard/machine.h"

/* ORDER STEP_KIND */
typedef enum {
    STEP_SLICE,
    STEP_ALL_GATHER,
    STEP_ALL_REDUCE,
    STEP_REDUCE_SCATTER,
    STEP_ALL_TO_ALL,
    STEP_PERMUTE,   /* each rank sends its whole shard to one other: the order of devices changes */
    STEP_SEND,      /* the same, to a device of another mesh */
    STEP_BROADCAST, /* one device to several of another mesh */
    STEP_HALO,      /* neighbours along an axis send each other the borders of their parts */
    STEP_SCAN,      /* each rank gets the sum of the ranks before it along an axis */
    STEP_RING,      /* each rank passes what it received on to the next one: one turn */
    STEP_KIND_COUNT
} StepKind;

const char *step_kind_name(StepKind kind); /* "all_reduce" */
const char *step_kind_mark(StepKind kind); /* "AR" */

typedef struct {
    double us;
    int64_t wire_bytes;    /* what one rank sends: in a ring, and on average in a tree; with a
                              reducing switch it sends less */
    const char *algorithm; /* "ring LL128", "tree Simple"; "" for a slice */
} Price;

/* One collective on groups of ranks that differ in `atoms` only, `bytes` of payload each. Groups
 * of one rank move nothing and cost nothing. */
Price price_step(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes);

/* The same for any group of devices, which atoms of one mesh may not describe: a send between two
 * nodes has n 2, nodes 2, per_node 1. A group with busy 0 has its links for itself. */
Price price_group(const Machine *machine, StepKind kind, const RankGroup *group, int64_t bytes);

/* The formula of the chosen algorithm in words, and below it the same with numbers:
 *
 *     ring LL128: base + 14 hops + 2(n-1)/n * bytes / bandwidth
 *     14 us + 14 * 1.9 us + 1.75 * 1,048,576 B / (0.92 * 360 GB/s) = 46.1 us
 */
void price_explain(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                   int64_t bytes, Buf *out);

/* The sum alone, for any payload with the same algorithm: "14 us + 14 * 1.9 us + 1.75 * bytes /
 * (0.92 * 360 GB/s)". */
void price_terms(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                 int64_t bytes, Buf *out);

/* Prices of one mesh for searches: what depends on kind and atoms alone is computed once. */
/* For a large all-reduce over the atoms: the algorithm chosen and, for each of its steps, the
 * latency inside a node or between nodes. */
typedef struct {
    const char *algorithm; /* "ring Simple"; "" if nothing moves */
    double inside_us, between_us, bytes_per_s;
} LinkUse;

LinkUse price_link_use(const Machine *machine, const Mesh *mesh, AtomSet atoms);

typedef struct Pricer Pricer;

Pricer *pricer_new(Arena *arena, const Machine *machine, const Mesh *mesh);
Price pricer_step(Pricer *pricer, StepKind kind, AtomSet atoms, int64_t bytes);
/* A number that sets of atoms share whose groups lie alike on the machine: such a step costs the
 * same over each. */
int32_t pricer_alike(Pricer *pricer, StepKind kind, AtomSet atoms);

#endif
