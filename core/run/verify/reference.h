/* reference.h - the unsharded graph, run on one device beside the ranks.
 *
 * Each op runs just before the ranks run it, on the values that one device has, and each value is
 * kept as long as the program keeps it. At the end its outputs show how far the sharded run has
 * drifted from it, by rounding.
 */
#ifndef CORE_RUN_VERIFY_REFERENCE_H
#define CORE_RUN_VERIFY_REFERENCE_H

#include "core/run/feed.h"
#include "core/run/program.h"
#include "core/run/world.h"

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    const Program *program;
    const Feeds *feeds;
    pthread_mutex_t *blas; /* as KernelCall's */
    World *world;          /* process 0 runs the ops and shares the results */
    Local **value;         /* per tensor, in the current view: the whole, or NULL */
    Local **views;         /* those of all views of the program, one after the other */
    bool *shared;          /* per tensor: a slot of it is */
    Local **list;          /* per tensor: list that loops collect, or NULL */
    bool *filled;          /* per view and slot of the program */
    int32_t *n_filled;     /* per view and tensor: slots */
    Vec(int64_t) dead;     /* places in n_filled that became 0, kept until no rank reads them */
} Reference;

/* Runs nothing yet. End with reference_close(). */
void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out);
void reference_close(Reference *reference);

/* Executes instruction `at` on whole tensors; batch: as of rank_batch(); iteration: per body of the
 * graph, as on the ranks. An
 * op, a step or the end of an iteration frees values that no slot holds; no rank may be reading
 * them. */
bool reference_step(Reference *reference, int at, int64_t batch, const int64_t *iteration,
                    Error *err);

/* Like rank_carry(). */
bool reference_carry(Reference *reference, Error *err);

#endif
