/* facts.h - what boxes and lines stand for, as data: the DiagramFacts of ops, values and reshards.
 */
#ifndef VIZ_DRAW_FACTS_H
#define VIZ_DRAW_FACTS_H

#include "viz/draw/draw.h"

/* For n > 0 ops in program order. Time is the sum over all; bytes are those of a single op's
 * result; the path is the common prefix of their paths. */
const DiagramFacts *facts_of_ops(const Draw *draw, const int32_t *op, int n);
const DiagramFacts *facts_of_tensor(const Draw *draw, int32_t tensor, int32_t sharding);
const DiagramFacts *facts_of_reshard(const Draw *draw, const Reshard *reshard);
/* Sums over n > 0 reshards of the plan. */
const DiagramFacts *facts_of_reshards(const Draw *draw, const int32_t *reshard, int n);

/* Sets the facts of all boxes of ops that have none yet. */
void draw_facts(Draw *draw);

#endif
