/* exchange.h - one step of a reshard as messages: what a rank gives to whom and takes from whom.
 *
 * collective.h's rule, for ranks that cannot read each other's memory. A message is what a giver's
 * part and a taker's part have in common; on either side it is a piece of the part, the product of
 * a table of places a dim, and its elements are in the order of the taker. Both sides find the same
 * pieces out of the shardings alone, so nothing but elements is sent:
 *
 *     8,12/tp from 8/tp,12, tp=2: rank 0 gives rank 1 its columns 6..11 of 4 rows
 *     give    first 6, place {0, 12, 24, 36}, rows of 6
 *     take    first 0, rows of 24: what follows each other needs no packing
 *
 * Messages to be taken are in rank order, and addends are combined in that order into what was
 * copied before, so that all ranks, and all runners, get the same bits. A rank takes from itself
 * too. Messages without elements are left out. A step that sends from stage to stage is the same:
 * makers are then other ranks than readers.
 */
#ifndef CORE_RUN_EXCHANGE_H
#define CORE_RUN_EXCHANGE_H

#include "core/run/collective.h"

/* Elements of a part: rows of `row` neighbours, which begin at first + a place of each table. */
typedef struct {
    int n_dims; /* 0: one row */
    int64_t n_elements, row, first;
    int64_t size[DIMS_MAX];
    int64_t *place[DIMS_MAX]; /* in elements of the part */
} Piece;

static inline bool piece_is_contiguous(const Piece *piece)
{
    return piece->n_dims == 0;
}

typedef struct {
    int64_t position; /* of the other rank, or the rank itself */
    PartUse use;      /* by the taker */
    Piece piece;      /* in this rank's part */
} Message;

typedef struct {
    Collective collective;
    Roles roles;
    int64_t position;
    int n_gives, n_takes;
    Message *give; /* in the order of takers' positions */
    Message *take; /* as they are to be copied or combined */
} Exchange;

/* The messages of the rank at `position` in a step from the parts of makers to those of readers,
 * which are the same ranks but for STEP_SEND; it may be of neither. They live in the arena.
 * ERROR_RUN as collective_roles(). */
bool exchange_make(Arena *arena, const Collective *collective, SubMesh makers, SubMesh readers,
                   int64_t position, Exchange *out, Error *err);

/* Between a part and a message, which holds its elements one behind the other. */
void piece_pack(const Piece *piece, Dtype dtype, const void *part, void *message);
void piece_unpack(const Piece *piece, Dtype dtype, const void *message, void *part);
/* False when elements of that type are not computed on. */
bool piece_combine(const Piece *piece, Dtype dtype, ReduceOp reduce, const void *message,
                   void *part);

/* One message of a rank's `take`, into its target. */
bool exchange_take(const Exchange *exchange, const Message *take, const void *message,
                   Local *target, Error *err);
/* After the last: what is left to do on the target alone. */
bool exchange_finish(const Exchange *exchange, Local *target, Error *err);

#endif
