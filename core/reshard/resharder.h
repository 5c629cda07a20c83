/* resharder.h - private to the files that find paths: reshard.c, halos.c, lend.c. */
#ifndef CORE_RESHARD_RESHARDER_H
#define CORE_RESHARD_RESHARDER_H

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/reshard/floor.h"
#include "core/reshard/reshard.h"
#include "core/reshard/search.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes; /* -1: empty */
    double us;
} StepPrice;

typedef struct {
    const ReshardPath *path, *runner_up;
    bool looked_for_other;
} ReshardAnswer;

struct Resharder {
    Arena *arena;
    const Mesh *mesh;
    const Machine *machine;
    Shardings *shardings;
    ReshardOptions options;
    Pricer *pricer;
    Floor *floor; /* NULL until the first search */
    Searcher *searcher;
    StepPrice *prices; /* a hash table of PRICES entries; new ones replace old ones */
    Intern *asked;
    Vec(ReshardAnswer) answers; /* by id in asked */
    const Resharder *lender;    /* NULL: none */
    double fill;                /* of the question being answered */
};

typedef struct {
    int32_t dtype, from, to;
    uint32_t fixed; /* atoms that no step may be over */
    float fill;     /* the share of the elements that exists */
} ReshardKey;

/* The most bytes that a rank holds. */
int64_t resharder_local_bytes(const Resharder *resharder, Dtype dtype, const Sharding *sharding);
/* A copy of a path with room for one more step. */
ReshardPath *resharder_path_begun(Resharder *resharder, const ReshardPath *there, Step **steps);
/* Appends a step to a path, with its bytes sent, its price and the memory it needs. */
void resharder_add_step(const Resharder *resharder, ReshardPath *path, Step *steps, Dtype dtype,
                        Step step);

/* ---- halos.c ---- */

/* A path to a target with halos: first to the same target without halos, then one exchange with the
 * neighbours. */
const ReshardPath *resharder_path_to_halo(Resharder *resharder, const ReshardKey *asked);
/* A path from addends that overlap at the borders, which go back to the neighbours and are added,
 * or from running sums that lack those of the ranks before; it continues from the parts. */
const ReshardPath *resharder_path_from_overlaps(Resharder *resharder, const ReshardKey *asked);

/* ---- lend.c ---- */

/* The path that a search would find, if the lender has already searched it; NULL if not, or without
 * a lender. */
const ReshardPath *resharder_borrowed_path(Resharder *resharder, const ReshardKey *asked);

#endif
