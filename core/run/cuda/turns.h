/* turns.h - the stream of each instruction of a rank, what it waits for, and the places of its
 * buffers.
 *
 * A rank has two streams, one for ops and one for steps that communicate, which overlap. Each
 * executes its instructions in program order; an instruction waits for one of the other stream when
 * it reads what that one writes, or overwrites what that one uses. All of this follows from the
 * program, so it is computed once: the rank's memory is one block of `bytes` with fixed places, so
 * that a captured graph finds its buffers in every pass.
 *
 *     all-gather w1      comm      its target is kept free of what is used within AHEAD_MAX
 *     op a               compute   instructions before it, so that it may begin that early
 *     op b  reads w1     compute   waits for the all-gather
 *
 * Loaded values stay allocated, and program outputs until the end of a pass. The streams join at
 * the end of a pass, so waits are only within one.
 */
#ifndef CORE_RUN_CUDA_TURNS_H
#define CORE_RUN_CUDA_TURNS_H

#include "core/run/program.h"

typedef enum { LANE_COMPUTE, LANE_COMM, LANES } Lane;

enum { AHEAD_MAX = 6, PLACE_ALIGN = 256 };

/* How an instruction uses the rank's memory. One that reads and writes nothing is skipped. */
typedef struct {
    Lane lane;
    int n_reads, n_writes;
    const int32_t *read, *write; /* slots */
    int64_t scratch_bytes;       /* while it is executed */
} Touch;

typedef struct {
    int wait;        /* instruction of the other lane to wait for; -1 */
    bool awaited;    /* an instruction of the other lane waits for it */
    int64_t scratch; /* offset in the rank's memory */
} Turn;

typedef struct {
    int64_t *place;     /* per slot; -1: none */
    Turn *turn;         /* per instruction */
    int64_t bytes;      /* of the rank's memory */
    int64_t peak_bytes; /* most bytes in use at once; fragmentation may need more */
    int peak_at;        /* at this instruction */
    int32_t peak_slot;  /* largest slot among them; -1 */
} Turns;

/* touch: per instruction. slot_bytes: per slot, negative for slots that are not stored. n_outputs:
 * of the graph. */
void turns_make(Arena *arena, const Program *program, const Touch *touch, const int64_t *slot_bytes,
                int n_outputs, Turns *out);

#endif
