/* stream_schedule.h - the CUDA stream of each instruction of a rank, its waits, and the rank's
 * memory.
 *
 * A rank has two streams, one for ops and one for steps that communicate, which overlap. Each
 * executes its instructions in program order; an instruction waits for one of the other stream when
 * it reads what that one writes, or overwrites what that one uses. All of this follows from the
 * program, so it is computed once: the rank's memory is one block of `bytes` with fixed places, so
 * that a captured graph finds its buffers in every pass.
 *
 *     all-gather w1      comm      its target shares no memory with what the AHEAD_MAX instructions
 *     op a               compute   before it use, so it may start that early
 *     op b  reads w1     compute   waits for the all-gather
 *
 * Loaded values stay allocated; program outputs stay until the end of a pass, where the streams
 * join. So an instruction waits only for instructions of the same pass.
 */
#ifndef CORE_RUN_CUDA_STREAM_SCHEDULE_H
#define CORE_RUN_CUDA_STREAM_SCHEDULE_H

#include "core/run/program.h"

typedef enum { LANE_COMPUTE, LANE_COMM, LANES } Lane;

enum { AHEAD_MAX = 6, PLACE_ALIGN = 256 };

/* How an instruction uses the rank's memory. Instructions that read and write nothing are skipped.
 */
typedef struct {
    Lane lane;
    int n_reads, n_writes;
    const int32_t *read, *write; /* slots */
    int64_t scratch_bytes;       /* while it is executed */
} InstrUse;

typedef struct {
    int wait;        /* instruction of the other lane to wait for, or -1 */
    bool awaited;    /* an instruction of the other lane waits for it */
    int64_t scratch; /* offset in the rank's memory */
} StreamInstr;

typedef struct {
    int64_t *place;     /* per slot: offset in the rank's memory, or -1 */
    StreamInstr *instr; /* per instruction */
    int64_t bytes;      /* of the rank's memory */
    int64_t peak_bytes; /* most bytes in use at once; fragmentation may need more */
    int peak_at;        /* at this instruction */
    int32_t peak_slot;  /* the largest slot in use there, or -1 */
} StreamSchedule;

/* use: one per instruction. slot_bytes: one per slot, negative for slots that are not stored.
 * n_outputs: outputs of the graph. */
void stream_schedule_make(Arena *arena, const Program *program, const InstrUse *use,
                          const int64_t *slot_bytes, int n_outputs, StreamSchedule *out);

#endif
