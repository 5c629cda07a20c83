/* facts.h - what boxes and lines stand for, as data: DiagramFacts of ops, values and reshards. */
#ifndef VIZ_DRAW_FACTS_H
#define VIZ_DRAW_FACTS_H

#include "viz/draw/draw.h"

/* Of n > 0 ops in program order. Time is the sum of all, bytes are those of what a single op
 * makes; the path is what the paths of all have in common. */
const DiagramFacts *facts_of_ops(const Draw *draw, const int32_t *op, int n);
const DiagramFacts *facts_of_tensor(const Draw *draw, int32_t tensor, int32_t sharding);
const DiagramFacts *facts_of_reshard(const Draw *draw, const Reshard *reshard);
/* Sums over n > 0 reshards of the plan. */
const DiagramFacts *facts_of_reshards(const Draw *draw, const int32_t *reshard, int n);

/* Facts of all boxes that ops are drawn in and that have none yet. */
void draw_facts(Draw *draw);

#endif
