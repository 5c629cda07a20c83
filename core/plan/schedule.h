/* schedule.h - the order in which pipeline stages work through micro-batches, and the times this
 * gives.
 *
 * A block is one stage's forward or backward of one micro-batch. A backward may be split in two
 * blocks: the gradient of the input, on which the stage before waits, and that of the weights, on
 * which nobody waits. A table of blocks consists of steps, like nnScaler's SchedulePlan: a block
 * takes `span` steps from `step` on. Devices that always do the same work form a *lane*. A stage
 * runs on one or more lanes, and a lane runs one block at a time, or a forward and a backward as a
 * pair. A forward depends on that of the stage before; a backward (of the input) depends on the
 * stage's own forward and the backward of the next stage; a backward of the weights on that of the
 * input.
 *
 * schedule_time() computes times: each lane runs its blocks in the order of their steps, each as
 * soon as all its lanes are free and what it depends on is done and sent. Sending occupies no
 * lane.
 *
 * Names, with m micro-batches and n stages from 0; spans are 1 unless stated. Where torch's
 * distributed.pipelining has the schedule, each lane has the order of torch's class; 1f1b_plus,
 * chimera_direct and infer_pipe are nnScaler's:
 *
 *     1f1b              forward k of stage s at step s + 2k, its backward at s + 2(k+n-1-s) + 1
 *     1f1b_interleaved  stages take turns on g lanes, stage s on lane s % g; v = n/g chunks each.
 *                       Lane i does min(q(v-1) + 2(g-1-i), mv) forwards, then a forward and a
 *                       backward in turn, then the rest; q micro-batches of a chunk, then of the
 *                       next: m in max(1, m/g) equal rounds of q (arXiv 2104.04473, if g divides m)
 *     eager_1f1b        the same with v = 1: more forwards ahead than 1f1b, to hide sends
 *     interleaved_zero_bubble  the same with half as many forwards ahead (g-1-i), backwards split;
 *                       lane i begins with those of weights i backwards later
 *     zb1p, zb2p        that with v = 1 (arXiv 2401.10241); zb2p 2(g-1-i) ahead, weights 2i later
 *     looped_bfs        in turns; all forwards by chunk, all backwards descending (2211.05953)
 *     zbv               stages lie in a V, s and n-1-s on one lane; the V of zero bubble
 *     dualpipev         in a V too, m >= n; forwards and backwards of the two in pairs (DeepSeek)
 *     dualpipe          the same; a lane is two halves of devices, each with a copy of both stages
 *     1f1b_plus         1f1b of stages with lanes of their own; those on all lanes run between,
 *                       before the next stage and after its backward
 *     gpipe             forward k of s at s + k; backward at m+n-1 + n-1-s + k
 *     chimera_direct    four stages, two micro-batches in 16 steps; a backward spans 2
 *     infer_pipe        forwards alone, k of s at s + k
 *
 * A schedule may also be written out as steps, separated by blanks: a step is blocks joined by
 * '+', or '-' if nothing begins. A block is STAGE, a letter, MICRO-BATCH, and *SPAN: "0f0 0f1+1f0
 * 1b0*2 - 0b0*2". The letter is f, b, or of a split backward i (input) or w (weights). '&' joins a
 * pair: "0f7&3b3".
 */
#ifndef CORE_PLAN_SCHEDULE_H
#define CORE_PLAN_SCHEDULE_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { MICRO_BATCHES_MAX = 4096, STAGES_MAX = 1024, BLOCKS_MAX = 1 << 21, SPAN_MAX = 1 << 16 };

/* The lanes of each stage: stage s runs on lane[first[s]] up to but not including lane[first[s +
 * 1]]. */
typedef struct {
    int n;
    const int32_t *n_devices; /* per lane */
    const int32_t *first;     /* per stage, and one more */
    const int32_t *lane;
} Lanes;

typedef enum { BLOCK_FORWARD, BLOCK_BACKWARD, BLOCK_INPUT, BLOCK_WEIGHT, N_BLOCK_PASSES } BlockPass;

typedef struct {
    int16_t stage;
    bool backward; /* its pass is not BLOCK_FORWARD */
    int8_t pass;   /* BlockPass */
    int micro_batch;
    int step, span;
    double start_us, end_us; /* set by schedule_time() */
    int32_t after;           /* likewise: the block for whose end it waited; -1 if it did not
                                wait */
    int32_t pair;            /* the block that runs with it; -1 if none does */
} Block;

typedef struct {
    const char *name; /* "steps" if the schedule was written out as steps */
    const Lanes *lanes;
    int n_stages, n_micro_batches, n_steps;
    bool trains; /* there are backward blocks */
    int n_blocks;
    Block *block;      /* by step, then stage */
    const int32_t *of; /* see schedule_block() */
    /* ---- set by schedule_time() ---- */
    double us;      /* from the first start to the last end */
    double idle;    /* the fraction of the devices' time that they wait (the bubble), 0 to 1 */
    int *in_flight; /* per stage: the most micro-batches in flight: their forward has begun there
                       and their backward, including that of the weights, has not ended (in an
                       inference schedule: their forward has not ended) */
    int *together;  /* per stage: its share of these at the moment when the stages of its device
                       have the most in total */
} Schedule;

/* Makes a schedule from `name`: one of schedule_kinds(), or steps. `lanes` must live as long as
 * the schedule. Returns NULL with an error that names what does not fit and, as its hint, what
 * would: ERROR_OUT_OF_RANGE (counts that the schedule cannot have, an unknown name, a block that
 * is missing or has no such stage or micro-batch), ERROR_CONFLICT (two blocks on one lane in one
 * step, a block before one it depends on), ERROR_DUPLICATE (a block twice), ERROR_SYNTAX (steps).
 */
Schedule *schedule_make(Arena *arena, Str name, int n_stages, const Lanes *lanes,
                        int n_micro_batches, Error *err);

/* The time of a stage in microseconds. receive_us: sending to it what its forward needs.
 * return_us: in the other direction, from it what the backward of the stage before needs.
 * weight_us: the part of backward_us that a split backward leaves for later. pair_us: of its
 * forward with a backward as a pair; 0: the sum of the two. */
typedef struct {
    double forward_us, backward_us, receive_us, return_us, weight_us, pair_us;
} StageTime;

void schedule_time(Arena *arena, Schedule *schedule, const StageTime *stage);

/* The index of a block, or -1 for the backward of an inference schedule; of a split backward, that
 * of the input. */
static inline int32_t schedule_block(const Schedule *schedule, int stage, bool backward,
                                     int micro_batch)
{
    return schedule
        ->of[((int64_t)backward * schedule->n_stages + stage) * schedule->n_micro_batches +
             micro_batch];
}

/* The block that ends last, of a schedule that was timed: the end of a longest path, which goes on
 * over `after`. -1 if there are no blocks. */
int32_t schedule_last(const Schedule *schedule);

/* "forward", "backward", "input gradient", "weight gradient"; and its letter: f, b, i, w. */
const char *schedule_pass_name(BlockPass pass);
char schedule_pass_letter(BlockPass pass);

/* Appends the schedule as steps, in the form that schedule_make() reads. */
void schedule_format(const Schedule *schedule, Buf *out);

typedef struct {
    const char *name;
    const char *says;   /* in half a line */
    const char *bubble; /* formula of the bubble if all stages take equally long; "" if there is
                           none */
    bool in_a_v;        /* stages s and n-1-s lie on one lane */
    bool two_copies;    /* of each stage, on two halves of the devices of its lane */
} ScheduleKind;

const ScheduleKind *schedule_kinds(int *n);
const ScheduleKind *schedule_kind(Str name); /* NULL if there is no such schedule */
const char *schedule_names(void);            /* separated by blanks */
/* Returns false, with *err: there is no such schedule; the hint is the nearest name. */
bool schedule_refuse(Str name, Error *err);
bool schedule_is_steps(Str text); /* the text looks like steps; schedule_make() checks that they fit
                                   */

#endif
