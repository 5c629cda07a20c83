/* anno_partition.h - one cut of an annotated op: nnScaler's `dim` algorithm.
 *
 * `m k+, k+ n -> m n` cut into 2 along dim 1 of input 0: k is cut on both inputs (D(1), D(0)), and
 * each piece has the whole output as one of 2 addends (V). Inputs without k would be replicated
 * (R); so would outputs that lack the spatial identifier along which the op is cut, since the
 * author is trusted, unless `strict`.
 *
 * A dim may be cut along the first member of its bracket whose length is not 1, if that member is
 * not frozen and its length is divisible by the number of pieces. Outputs may be named: their index
 * continues after the inputs'.
 */
#ifndef CORE_SPACE_ANNO_PARTITION_H
#define CORE_SPACE_ANNO_PARTITION_H

#include "core/space/anno.h"

enum { ANNO_PIECES_MAX = 1 << 16 };

typedef enum { SPLIT_REPLICATE, SPLIT_VALUE, SPLIT_DIMS } SplitKind;

typedef struct {
    SplitKind kind;
    int n;
    uint8_t dim[DIMS_MAX]; /* of SPLIT_DIMS, rising; 255: the last dim, 254: the one before */
} AnnoSplit;

typedef struct {
    const AnnoMatch *match;
    Str identifier;   /* that is cut */
    int64_t num;      /* pieces */
    AnnoSplit *split; /* inputs, then outputs */
} AnnoPartition;

/* What piece i holds of a tensor: a range of its elements, and which of n_parts addends of their
 * values (0 of 1: the value itself). */
typedef struct {
    Box range;
    int64_t part, n_parts;
} AnnoPiece;

/* dim may be negative, from the end. Kinds of failure: ERROR_OUT_OF_RANGE (operand, dim or number
 * of pieces), ERROR_INVALID (that operand is no tensor), ERROR_FROZEN, ERROR_NOT_DIVISIBLE. strict:
 * a spatial identifier that is in no output is frozen, since no piece would have the result. The
 * match must outlive the partition. */
bool anno_partition(Arena *arena, const AnnoMatch *match, int operand, int dim, int64_t num,
                    bool strict, AnnoPartition *out, Error *err);

/* The piece of an operand that is a tensor. */
AnnoPiece anno_piece(const AnnoPartition *partition, int operand, int64_t piece);

/* An argument named as the cut identifier is its length, so a piece gets value / num. Copies args
 * with that change. ERROR_NOT_DIVISIBLE. */
bool anno_piece_args(const AnnoPartition *partition, const AnnoArg *args, int n_args, AnnoArg *out,
                     Error *err);

/* Derives the op again from what one piece holds, as if it were a model of its own, and compares
 * shapes: ERROR_CONFLICT if the pieces would not make the parts of the outputs. */
bool anno_piece_check(Arena *arena, const AnnoPartition *partition, const Anno *const *candidates,
                      int n_candidates, const AnnoArg *args, int n_args, Error *err);

void anno_split_format(const AnnoSplit *split, Buf *out); /* "R", "V", "D(0,2)" */

#endif
