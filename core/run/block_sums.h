/* block_sums.h - the measured blocks of a training step by stage and pass, with the predicted ones
 * (blocks.h).
 */
#ifndef CORE_RUN_BLOCK_SUMS_H
#define CORE_RUN_BLOCK_SUMS_H

#include "core/run/run.h"

/* The blocks of a stage and pass: the mean over its micro-batches. */
typedef struct {
    RunPass pass;
    int stage, n; /* n: their number, one per micro-batch */
    double us, wait_us, predicted_us;
} RunBlockSum;

typedef struct {
    int n, n_stages;
    RunBlockSum *at; /* by stage, then pass; stages and passes without blocks are left out */
} RunBlockSums;

/* n is 0 for a forward pass. */
RunBlockSums run_block_sums(Arena *arena, const RunReport *report);

#endif
