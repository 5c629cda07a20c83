/* schedule.h - in which order stages work through micro-batches, and when.
 *
 * A block is one stage's forward or backward of one micro-batch. A table of blocks has steps, as
 * nnScaler's SchedulePlan has: a block takes `span` steps from `step` on. Devices that always do
 * the same are a *lane*; a stage runs on one lane or more, and a lane does one block at a time.
 * A forward needs that of the stage before; a backward needs the stage's own forward and the
 * backward of the stage behind.
 *
 * schedule_time() gives times: on their lanes blocks begin in the order of their steps, each as
 * soon as its lanes are free and what it needs is done and sent. Sending keeps no lane busy.
 *
 * Names, with m micro-batches and n stages from 0, all spans 1 unless said. The interleaved order
 * is Megatron's (Narayanan et al. 2021), the others are nnScaler's:
 *
 *     1f1b              forward k of stage s at step s + 2k, its backward at s + 2(k+n-1-s) + 1
 *     1f1b_interleaved  stages take turns on g lanes, stage s on lane s % g; v = n/g chunks each.
 *                       Lane i does min(g(v-1) + 2(g-1-i), mv) forwards, then a forward and a
 *                       backward in turn, then the backwards that are left; g micro-batches of a
 *                       chunk, then of the next. g divides m
 *     1f1b_plus         1f1b of the stages with lanes of their own; those on all lanes have steps
 *                       between, before the stage behind them and after its backward
 *     gpipe             forward k of s at s + k; backward at m+n-1 + n-1-s + k
 *     chimera_direct    four stages, two micro-batches in 16 steps; a backward spans 2
 *     infer_pipe        forwards alone, k of s at s + k
 *
 * or steps written out: a step is blocks joined by '+', steps have blanks between, '-' is one where
 * nothing begins. A block is STAGE, f or b, MICRO-BATCH, and *SPAN: "0f0 0f1+1f0 1b0*2 - 0b0*2".
 */
#ifndef CORE_PLAN_SCHEDULE_H
#define CORE_PLAN_SCHEDULE_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { MICRO_BATCHES_MAX = 4096, STAGES_MAX = 1024, BLOCKS_MAX = 1 << 21, SPAN_MAX = 1 << 16 };

/* Which lanes stages run on: stage s on lane[first[s]] up to before lane[first[s + 1]]. */
typedef struct {
    int n;
    const int32_t *n_devices; /* per lane */
    const int32_t *first;     /* per stage, and one more */
    const int32_t *lane;
} Lanes;

typedef struct {
    int16_t stage;
    bool backward;
    int micro_batch;
    int step, span;
    double start_us, end_us; /* of schedule_time() */
    int32_t after;           /* the same: the block that it begins after, -1: it begins at once */
} Block;

typedef struct {
    const char *name; /* "steps" where they are written out */
    const Lanes *lanes;
    int n_stages, n_micro_batches, n_steps;
    bool trains; /* has backward blocks */
    int n_blocks;
    Block *block;      /* by step, then stage */
    const int32_t *of; /* see schedule_block() */
    /* ---- of schedule_time() ---- */
    double us;      /* from the first start to the last end */
    double idle;    /* of the devices' time, the part they wait: the bubble; 0 to 1 */
    int *in_flight; /* per stage: the most micro-batches begun forward there and not yet done
                       backward (of an inference schedule: forward) */
} Schedule;

/* name: one of schedule_kinds(), or steps. `lanes` must live as long as the schedule. NULL with
 * an error that names what does not fit and, as hint, what would: ERROR_OUT_OF_RANGE (counts that
 * the schedule cannot have, an unknown name, a block that is missing or of no stage or
 * micro-batch), ERROR_CONFLICT (two blocks on one lane in one step, a block before one it needs),
 * ERROR_DUPLICATE (a block twice), ERROR_SYNTAX (steps). */
Schedule *schedule_make(Arena *arena, Str name, int n_stages, const Lanes *lanes,
                        int n_micro_batches, Error *err);

/* What a stage takes, in microseconds; receive_us: of what is sent to it before its forward and,
 * the other way, before the backward of the stage before. */
typedef struct {
    double forward_us, backward_us, receive_us;
} StageTime;

void schedule_time(Arena *arena, Schedule *schedule, const StageTime *stage);

/* Place of the block, -1: of an inference schedule's backward. */
static inline int32_t schedule_block(const Schedule *schedule, int stage, bool backward,
                                     int micro_batch)
{
    return schedule
        ->of[((int64_t)backward * schedule->n_stages + stage) * schedule->n_micro_batches +
             micro_batch];
}

/* Steps written out, as schedule_make() reads them. */
void schedule_format(const Schedule *schedule, Buf *out);

typedef struct {
    const char *name;
    const char *says;   /* in half a line */
    const char *bubble; /* the devices' share of waiting where stages take equally long; "": none */
} ScheduleKind;

const ScheduleKind *schedule_kinds(int *n);
const ScheduleKind *schedule_kind(Str name); /* NULL: there is none */
const char *schedule_names(void);            /* with blanks between */
bool schedule_is_steps(Str text); /* it is written as steps; schedule_make() tells if they fit */

#endif
