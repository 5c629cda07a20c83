/* price_ways.h - NCCL's choices for a collective on a group, and the time of each.
 *
 * A way is one algorithm with one protocol. NCCL's model of it (src/graph/tuning.cc) is
 *
 *     us(bytes) = base + n_inside * inside_us + n_between * between_us + n_spine * spine_us
 *               + share * bytes / bandwidth
 *
 * where spine_us, which NCCL does not know, is what a hop over the spine takes longer than another
 * one between nodes, `share` is what passes each wire per byte of payload, and bandwidth is that of
 * a rank on the bus: channels x what one carries, times the protocol's efficiency, and at most the
 * limit of the machine file. With n ranks on m nodes, p on each, in k blocks, q in each:
 *
 *     ring       share 2(n-1)/n of an all-reduce, (n-1)/n of gather and scatter, 1 of a broadcast;
 *                as many hops, of which 2(m-1) or m-1 go between nodes
 *     tree       all-reduce: share 2; 2(p-1) hops inside and 2 log2(m) between
 *     NVLS       one node: share 2(n-1)/n over twice the bandwidth; 1 of gather and scatter
 *     NVLS tree  all-reduce over nodes: as NVLS on each, 2 log2(m) hops between
 *     PAT        gather and scatter with one rank on each node: log2(m) hops between, share 1
 *     pairwise   all-to-all: (p-1)/n inside, (q-p)/n between nodes, (n-q)/n over the spine, a hop
 * for each other rank direct     permute and send: share 1, one hop
 *
 * Rings pass the spine in 2(k-1) or k-1 of their hops between nodes, trees in 2 log2(k) or log2(k).
 *
 * On several nodes a ring enters a node by as many parts of the network as the group has ranks
 * there, so its bandwidth is the lesser of the inner link and p x that of one device's part; and it
 * enters a block by q parts of the spine.
 */
#ifndef CORE_RESHARD_PRICE_WAYS_H
#define CORE_RESHARD_PRICE_WAYS_H

#include "core/reshard/price.h"

/* The transfer over one kind of wire: share * bytes / (left * bus), or / most if that is less. */
typedef struct {
    double share;
    double bus_bytes_per_s, left; /* left: the fraction that the protocol leaves for data */
    double most_bytes_per_s;      /* the machine file's limit; 0 if none */
} WirePass;

typedef struct {
    Algorithm algorithm; /* ALGORITHM_RING where NCCL has none for it */
    const char *name;    /* "ring LL128" */
    const char *formula; /* in the words above */
    Protocol protocol;
    bool by_size; /* a tree: bandwidth depends on the size of the message */
    double base_us, inside_us, between_us, spine_us, n_inside, n_between, n_spine;
    double plateau, plateau_bytes; /* latency is multiplied from this many bytes on; 0: never */
    int n_passes;                  /* 1; an all-to-all over nodes has 2, over blocks 3 */
    WirePass pass[3];
    double us_per_byte; /* of all passes */
} Way;

enum { WAYS_MAX = 10 };

/* At least one way for each kind except a slice. */
int price_ways(const Machine *machine, StepKind kind, const RankGroup *group, Way *ways);

double way_us(const Machine *machine, const Way *way, int64_t bytes);
double pass_bytes_per_s(const WirePass *pass);

/* The fraction of its bandwidth that a tree reaches with messages of that size; 1 for other ways.
 */
double way_size_share(const Machine *machine, const Way *way, int64_t bytes);

#endif
