/* generate.h - what inputs get that nobody gave, as an operator that reads them says.
 *
 * The first op in program order whose input_gen says something of a tensor counts. It is asked of
 * the whole op, so every rank and every plan has the same numbers.
 */
#ifndef CORE_RUN_GENERATE_H
#define CORE_RUN_GENERATE_H

#include "core/cost/op_part.h"

/* Adds what one op says of its inputs to `out`, per tensor, where nothing is said yet. ERROR_RUN
 * names the op whose function fails. */
bool generate_of_op(Arena *arena, const Inferred *inferred, int32_t op, Generated *out, Error *err);
/* What all ops of the program say: one for each tensor. NULL on error. */
const Generated *generate_of_all(Arena *arena, const Inferred *inferred, Error *err);

/* Element i of a tensor of that type; key: of draws. */
double generated_number(const Generated *of, Dtype dtype, uint64_t key, int64_t i);

#endif
