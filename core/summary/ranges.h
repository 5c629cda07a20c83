/* ranges.h - what a rank touches of an op's operand, and what it holds of it for the op.
 *
 * A rank's part of the index space is projected onto the operand: the result is a range of each
 * dim, [lo, hi). Elements that it skips there are not counted: strided rows read one element in
 * several. Of an operand that goes around a ring it touches everything, and holds one part at a
 * time. What a rank holds beyond what it touches is waste: borders that only other ranks need, dims
 * that are gathered for only a part of them.
 *
 *     Conv 3x3, rows by a=4    rank 1 touches rows 15:33 of 64, holds 15:33: no waste; gathered: 46
 *
 * Source of the arithmetic: Tapestry's range projections, core/space/opspace.h.
 */
#ifndef CORE_SUMMARY_RANGES_H
#define CORE_SUMMARY_RANGES_H

#include "core/plan/plan.h"

typedef struct {
    int64_t lo, hi;        /* from the first to the last element that the op touches */
    int64_t touched, held; /* elements of the dim */
} TouchedDim;

typedef struct {
    int n_dims;
    TouchedDim dim[DIMS_MAX];
    int64_t touched, held; /* elements of the operand: products over the dims */
} OperandRange;

/* For the rank at `position`; operands are inputs, then outputs. Returns false if the operand is
 * absent or ignored, if no rule says what the op reads, or if its shape is unknown. */
bool operand_range(const Plan *plan, int32_t op, int operand, int64_t position, OperandRange *out);

/* "0:2,14:33 (10),0:64": the range of each dim, and the number of elements if some inside it are
 * skipped; "scalar". */
void operand_range_format(const OperandRange *range, Buf *out);

/* The share of what is held that is not touched: 0 to 1. */
double operand_range_waste(const OperandRange *range);

#endif
