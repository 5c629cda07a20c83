/* dim_part.h - dims that an op divides into parts or joins from parts: Split, Slice, Concat.
 *
 * A row that is one shifted index dim says that the tensor dim is a part of the index dim (an
 * output of Split, an input of Concat), or that the index dim is a part of the tensor dim (the
 * input of Slice). If a cut of the larger dim keeps the parts apart and shards all of them by the
 * same axes, it is also a cut of each part, and no element moves:
 *
 *     Split    x [.., n]   out [.., n], [.., n-64], [.., n-96]
 *              n (64|32|32)/tp:  x (64|32|32)/tp, outputs 64/tp, 32/tp, 32/tp
 *     Slice    x [.., s+64]   out [.., s]      x (64|32|32)/tp:  s 32/tp, output 32/tp
 *
 * Split's index dim is frozen but for such cuts.
 */
#ifndef CORE_SPACE_DIM_PART_H
#define CORE_SPACE_DIM_PART_H

#include "core/space/opspace.h"

typedef struct {
    int index;
    bool of_index;      /* the tensor dim is a part of the index dim; false: the other way round */
    int64_t start, end; /* of the part, in the larger of the two */
} DimPart;

/* Returns false if dim d of the operand is no part of an index dim or the reverse, or is the whole
 * index dim. */
bool dim_part(const OpSpace *space, int operand, int dim, DimPart *out);

/* The sizes of the parts that the operands hold of an index dim, in order, at most `most` of them.
 * Returns their number; 0 if there are none, or if the parts do not cover the index dim one after
 * another. */
int dim_parts(const OpSpace *space, int index, int64_t *sizes, int most);

/* "parts of 64, 32, 32"; "3 parts of 768" */
void dim_parts_format(const int64_t *sizes, int n, Buf *out);

#endif
