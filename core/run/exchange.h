/* exchange.h - one step of a reshard as messages: what a rank sends to and receives from others.
 *
 * The rule of collective.h for ranks without shared memory. A message is the intersection of a
 * sender's part and a receiver's part. On either side it is a piece of the part: the product of one
 * table of places per dim, with its elements in the receiver's order. Both sides derive the same
 * pieces from the shardings, so only elements are sent:
 *
 *     8,12/tp from 8/tp,12, tp=2: rank 0 gives rank 1 its columns 6..11 of 4 rows
 *     give    first 6, place {0, 12, 24, 36}, rows of 6
 *     take    first 0, rows of 24: what follows each other needs no packing
 *
 * A rank receives its messages in rank order and combines addends in that order into what was
 * copied before, so that all ranks and runners get the same bits. A rank also sends to itself.
 * Empty messages are left out. A step that sends between stages works in the same way, but its
 * senders and receivers differ.
 */
#ifndef CORE_RUN_EXCHANGE_H
#define CORE_RUN_EXCHANGE_H

#include "core/run/collective.h"

/* Elements of a part: contiguous rows of `row` elements that begin at first + one place of each
 * table. */
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
    PartUse use;      /* on the receiver */
    Piece piece;      /* in this rank's part */
} Message;

typedef struct {
    Collective collective;
    AtomRoles roles;
    int64_t position;
    int n_sends, n_receives;
    Message *send;    /* in the order of receivers */
    Message *receive; /* in the order of copying and combining */
} Exchange;

/* Computes the messages of the rank at `position` in a step from the parts of `makers` to those of
 * `readers`. These are the same ranks except for STEP_SEND, where the rank may be in only one of
 * them, or in neither. Allocated in the arena. Fails with ERROR_RUN, like collective_roles(). */
bool exchange_make(Arena *arena, const Collective *collective, SubMesh makers, SubMesh readers,
                   int64_t position, Exchange *out, Error *err);

/* Between a part and a message, whose elements are contiguous. */
void piece_pack(const Piece *piece, Dtype dtype, const void *part, void *message);
void piece_unpack(const Piece *piece, Dtype dtype, const void *message, void *part);
/* Returns false if elements of that type cannot be computed with. */
bool piece_combine(const Piece *piece, Dtype dtype, ReduceOp reduce, const void *message,
                   void *part);

/* A carried message is added n times to a target of this shape, `step` elements apart; any other is
 * used once. */
void exchange_repeats(const Exchange *exchange, const Message *receive, const Shape *target,
                      int64_t *n, int64_t *step);

/* Puts one received message into the target. */
bool exchange_receive(const Exchange *exchange, const Message *receive, const void *message,
                      Local *target, Error *err);
/* After the last message: finishes the target (collective_finish()). */
bool exchange_finish(const Exchange *exchange, Local *target, Error *err);

#endif
