/* schedule.h - in which order stages work through micro-batches, and when.
 *
 * A block is one stage's forward or backward of one micro-batch. A table of blocks has steps, as
 * nnScaler's SchedulePlan has: a block takes `span` steps from `step` on, and devices do one block
 * at a time. schedule_time() then gives times: blocks begin in the order of their steps on their
 * devices, each as soon as its devices are free and what it depends on is done and sent.
 *
 * Names, with m micro-batches and n stages, all spans 1 (nnScaler's schedules; Megatron's order for
 * the interleaved one):
 *
 *     1f1b              forward k of s at step s + 2k, its backward at s + 2(k + n-1-s) + 1
 *     1f1b_interleaved  stages that share devices are chunks of these; Narayanan et al. 2021
 *     gpipe             all forwards, k of s at s + k, then all backwards
 *     infer_pipe        forwards alone
 *     "0f0 1f0 0f1 .."  steps: by blanks, each a list of blocks by '+': STAGE, f or b, MICRO-BATCH,
 *                       and *SPAN for more than one step
 */
#ifndef CORE_PLAN_SCHEDULE_H
#define CORE_PLAN_SCHEDULE_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { MICRO_BATCHES_MAX = 4096, STAGES_MAX = 1024 };

typedef struct {
    int16_t stage;
    bool backward;
    int micro_batch;
    int step, span;
    double start_us, end_us; /* of schedule_time() */
} Block;

typedef struct {
    const char *name;
    int n_stages, n_micro_batches, n_steps;
    bool trains; /* has backward blocks */
    int n_blocks;
    Block *block; /* by step, then stage */
    /* ---- of schedule_time() ---- */
    double us;      /* from the first start to the last end */
    double idle;    /* of the devices' time, the part they wait: the bubble; 0 to 1 */
    int *in_flight; /* per stage: the most micro-batches begun forward there and not yet done
                       backward (of an inference schedule: forward) */
} Schedule;

/* devices: per stage, which group of devices it runs on; equal numbers share. Errors name what does
 * not fit and, as hint, what would: ERROR_OUT_OF_RANGE (micro-batches below 1, counts the schedule
 * cannot have), ERROR_CONFLICT (two blocks on one device in one step, a block before one it depends
 * on), ERROR_SYNTAX (steps). */
Schedule *schedule_make(Arena *arena, Str name, int n_stages, const int16_t *devices,
                        int n_micro_batches, Error *err);

/* What a stage takes, in microseconds: sent to it before its forward and, the other way, before the
 * backward of the stage before. */
typedef struct {
    double forward_us, backward_us, receive_us;
} StageTime;

void schedule_time(Arena *arena, Schedule *schedule, const StageTime *stage,
                   const int16_t *devices);

/* Names, with blanks between. */
const char *schedule_names(void);

#endif
