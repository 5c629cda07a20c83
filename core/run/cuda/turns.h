/* turns.h - on which stream each instruction of a rank is done, what it waits for, and where its
 * buffers lie.
 *
 * A rank has two streams: ops are on one, steps that send on the other, so that both go on side by
 * side. Each does its instructions in program order; an instruction waits for one of the other
 * stream where it reads what that one writes, or writes where that one reads or wrote. All this
 * follows from the program alone, so it is worked out once, before anything is asked of a device:
 * the rank's memory is one piece of `bytes`, every buffer has its place in it, and a pass that is
 * done again finds all at the same addresses, as a captured graph must.
 *
 *     all-gather w1      comm      its target is kept free of what is used within AHEAD_MAX
 *     op a               compute   instructions before it, so that it may begin that early
 *     op b  reads w1     compute   waits for the all-gather
 *
 * What is loaded stays all the time, and program outputs to the end of a pass. Streams meet at the
 * end of a pass; so only what happens within one is waited for.
 */
#ifndef CORE_RUN_CUDA_TURNS_H
#define CORE_RUN_CUDA_TURNS_H

#include "core/run/program.h"

typedef enum { LANE_COMPUTE, LANE_COMM, LANES } Lane;

enum { AHEAD_MAX = 6, PLACE_ALIGN = 256 };

/* What an instruction does to the rank's memory. An instruction that reads and writes nothing takes
 * no turn. */
typedef struct {
    Lane lane;
    int n_reads, n_writes;
    const int32_t *read, *write; /* slots */
    int64_t scratch_bytes;       /* that it needs while it is done */
} Touch;

typedef struct {
    int wait;        /* the instruction of the other lane that must be done before it; -1 */
    bool awaited;    /* some instruction of the other lane waits for this one */
    int64_t scratch; /* place of it, from the start of the rank's memory */
} Turn;

typedef struct {
    int64_t *place;     /* per slot; -1: it has none */
    Turn *turn;         /* per instruction */
    int64_t bytes;      /* of the rank's memory */
    int64_t peak_bytes; /* the most that buffers hold at once; the places may take more */
    int peak_at;        /* the instruction at which they do */
    int32_t peak_slot;  /* the largest of them that is a slot; -1 */
} Turns;

/* touch: per instruction of the program. slot_bytes: per slot; below 0 where the rank keeps none.
 * n_outputs: of the graph. */
void turns_make(Arena *arena, const Program *program, const Touch *touch, const int64_t *slot_bytes,
                int n_outputs, Turns *out);

#endif
