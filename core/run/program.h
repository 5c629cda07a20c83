/* program.h - a plan as one list of instructions for every rank.
 *
 * A slot is a value as laid out on the mesh: a tensor and a sharding. Values known or given before
 * the run are loaded, each rank its part. An op reads slots in the layouts the plan needs and fills
 * slots as it makes them. A step of a reshard fills one slot from another, across the ranks of a
 * group. A slot is freed after its last reader.
 *
 *     LOAD input_ids 2/dp,16      | once, before the timed passes: parameters and graph inputs
 *     LOAD c_fc.weight 64,256/tp  |
 *     OP c_fc  ..  -> h 4,256/tp
 *     STEP all_reduce tp  y 4,64 partial -> y 4,64
 *     FREE h
 *
 * A branch of an If and the body of a loop are in the list once. With stages, all their ops are on
 * one part of the mesh (core/plan/control.h). Conditions are replicated there and their outcome is
 * sent to the other ranks, so that all ranks follow the same path:
 *
 *     BRANCH chosen .. -> A         on at A unless `chosen` is `when`
 *       OP ..                       the branch taken
 *     A: OP If ..                   reads the condition and what the branches gave
 *
 *     OP LoopCarry ..               what the first iteration finds
 *     LOOP body -> B                on at B when there is no iteration
 *     A: OP ..                      one iteration
 *       COLLECT row -> rows         a copy to the end of a list, for LoopStack and SequenceMap
 *       NEXT body -> C              on at C after the last
 *       STEP ..                     what is carried, as it is found
 *       BACK body -> A              all that is carried at once: slot `to` has what `from` had
 *     C: STEP ..                    what comes out of the last
 *     B: OP LoopResult, LoopStack ..
 *
 * What is made outside a loop and read in it is loaded and resharded before the loop; what a branch
 * reads from other devices is sent before the branch. A slot is freed where all paths after its
 * filling join, so FREE may find it empty.
 *
 * A slot with sharding -1 is replicated: a sequence, an optional, a tensor whose shape is known
 * only at run time.
 *
 * A training step of several micro-batches has the instructions of each (lowering_steps.c), in the
 * order of the schedule, each in a view of the slots; the update has the last view:
 *
 *     OP .. in view 0
 *       ADD c_fc.weight~grad        of view 0 to that of the update: added up, at last divided
 *     OP .. in view 1
 *       ADD c_fc.weight~grad
 *     OP update .. in view 2
 *
 * Between two steps, which are two passes over the list, the results of the update replace what it
 * read (Program.carried).
 *
 * All ranks and runners execute the same list. With stages, an instruction is executed by the
 * devices of the slot it fills or frees, an op by its own; a STEP_SEND takes from the devices of
 * the slot it reads. Constants known at load are loaded before the op that reads them first. Ids
 * are places in Program.slots; -1: no slot.
 */
#ifndef CORE_RUN_PROGRAM_H
#define CORE_RUN_PROGRAM_H

#include "core/plan/plan.h"
#include "core/run/blocks.h"
#include "core/run/kernel.h"

#include <limits.h>

typedef struct {
    int32_t tensor;
    int32_t sharding; /* id in plan->shardings; -1: replicated, shape known only at run time */
    int devices;      /* its sub-mesh: place in plan->submeshes */
    int phase;        /* Reshard.phase of the reshard that fills it; for a slot that is looked up,
                         plan_phase() of its reader */
} ProgramSlot;

/* ORDER INSTR_KIND */
typedef enum {
    INSTR_LOAD,
    INSTR_OP,
    INSTR_STEP,
    INSTR_FREE,
    INSTR_BRANCH,
    INSTR_LOOP,
    INSTR_COLLECT,
    INSTR_NEXT,
    INSTR_BACK,
    INSTR_ADD
} InstrKind;

typedef struct {
    InstrKind kind;
    int32_t slot;     /* LOAD, FREE, ADD; STEP: target; COLLECT: the list */
    int32_t from;     /* STEP; COLLECT; BRANCH: the condition */
    int32_t op;       /* OP; COLLECT: the reader of the list */
    int32_t reshard;  /* STEP: place in plan->reshards */
    const Step *step; /* STEP */
    int32_t target;   /* BRANCH, LOOP, NEXT, BACK: instruction */
    int32_t body;     /* of those: place in graph->bodies */
    bool when;        /* BRANCH */
    bool first;       /* ADD: this is the first addend */
    int mean;         /* ADD: the number by which the sum is divided; 0: not yet, more addends
                         follow */
    int view;         /* the view of its slots: a micro-batch, or the update; ADD: the source */
} Instr;

typedef struct {
    int32_t from, to; /* slots */
    bool keeps;       /* `from` is read again: copy it */
} ProgramMove;

typedef struct {
    int64_t most;            /* iterations at most; -1: see `counted` */
    int32_t counted;         /* slot with the trip count, or that is scanned; -1 */
    bool scans;              /* the trip count is the length of its dim `dim`, or of the sequence */
    int dim;                 /* below 0: from the end */
    int32_t begins, goes_on; /* slots of conditions of LOOP and NEXT; -1: true */
    int32_t first_move, n_moves;
} ProgramLoop;

typedef struct Program {
    int n_slots, n_instrs;
    int n_once; /* leading instructions executed once; their slots are kept */
    ProgramSlot *slots;
    Instr *instrs;
    ProgramLoop *loops; /* per body of the graph; unset for branches */
    ProgramMove *moves;
    int32_t *operand;      /* slot per place in graph->operands */
    int32_t *output;       /* slot of each graph output, not freed by the program */
    const Kernel **kernel; /* per op of the graph; NULL when not in the program */
    int32_t *loop_of;      /* per op: the body whose iteration it sees; -1 */
    int n_kept;            /* forward ops whose kernels keep something for their gradient's */
    int32_t *kept_of;      /* per op: the place of what it keeps or reads; -1 */
    int n_views;           /* micro-batches and, if they are several, the update; else 1 */
    bool *shared;          /* per slot: loaded once, with the same value in all views */
    int n_carried;         /* of a training step: */
    ProgramMove *carried;  /* from the last view to all */
    int32_t loss, scale;   /* the places of the loss and of the next loss scale in graph->outputs;
                              -1: there is none */
    int n_blocks;          /* of a training step: blocks.h */
    ProgramBlock *blocks;
    int32_t *block_of;  /* per instruction; -1: in none */
    int32_t copying_op; /* first op that needs slots to be copied (a replicated slot or a list, a
                         * value read again after a move); -1 */
} Program;

/* ERROR_USAGE names the op that has no kernel, or an unsupported shape or type. Allocated in the
 * arena; points into the plan. */
bool program_lower(Arena *arena, const Plan *plan, Program *out, Error *err);

/* The most bytes that a rank's slots have in a pass, for any choice of branches. core/cost/memory.h
 * computes this for a plan without branches and loops, for one micro-batch. */
typedef struct {
    int64_t bytes;
    bool at_least; /* plus a value whose size only the run knows */
} ProgramPeak;
ProgramPeak program_peak(const Plan *plan, const Program *program);

/* The number of instructions that a rank executes in n passes, counting loops once; at most
 * INT_MAX. */
static inline int program_length(const Program *program, int n_passes)
{
    int64_t n = program->n_once + (int64_t)n_passes * (program->n_instrs - program->n_once);
    return n < INT_MAX ? (int)n : INT_MAX;
}

/* The view that contains the outputs at the end of a pass. */
static inline int program_last_view(const Program *program)
{
    return program->n_views - 1;
}

const char *instr_kind_name(InstrKind kind); /* "load", "op", "step", "free", "branch" .. */

#endif
