/* program.h - a plan as one list of instructions for every rank.
 *
 * A slot is a value as it lies on the mesh: a tensor and a sharding. What is known or given before
 * the run is loaded, each rank its part; an op reads slots laid out as the plan says it needs them
 * and fills slots as it makes them; a step of a reshard fills one slot from another, across the
 * ranks of a group; a slot is freed after its last reader.
 *
 *     LOAD input_ids 2/dp,16      | once, before the timed passes: parameters and graph inputs
 *     LOAD c_fc.weight 64,256/tp  |
 *     OP c_fc  ..  -> h 4,256/tp
 *     STEP all_reduce tp  y 4,64 partial -> y 4,64
 *     FREE h
 *
 * A branch of an If and the body of a loop stand in the list once. Conditions are read whole, so
 * that all ranks go the same way:
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
 * What is made outside of a loop and read in it is loaded and resharded before the loop. A slot is
 * freed where all ways from its filling come together, so FREE may find it empty.
 *
 * A slot with sharding -1 is held whole by every rank: a sequence, an optional, a tensor whose
 * shape the run alone tells.
 *
 * Ranks differ in what they hold, not in what they do: the list is the same for all runners. Where
 * the plan has stages, an instruction is done by the devices of the slot it fills or frees, an op
 * by its own; a step of kind STEP_SEND takes from the devices of the slot it reads. Constants that
 * are known at load are loaded where an op first reads them. Ids are places in Program.slots; -1 is
 * none.
 */
#ifndef CORE_RUN_PROGRAM_H
#define CORE_RUN_PROGRAM_H

#include "core/plan/plan.h"
#include "core/run/kernel.h"

#include <limits.h>

typedef struct {
    int32_t tensor;
    int32_t sharding; /* Shardings id; -1: whole, of a shape not known before */
    int devices;      /* the part of the mesh that has it: place in plan->submeshes */
} Slot;

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
    INSTR_BACK
} InstrKind;

typedef struct {
    InstrKind kind;
    int32_t slot;     /* LOAD, FREE: it; STEP: what it fills; COLLECT: the list */
    int32_t from;     /* STEP; COLLECT; BRANCH: the condition */
    int32_t op;       /* OP; COLLECT: that which reads the list */
    int32_t reshard;  /* STEP: place in plan->reshards */
    const Step *step; /* STEP */
    int32_t target;   /* BRANCH, LOOP, NEXT, BACK: instruction */
    int32_t body;     /* of those: place in graph->bodies */
    bool when;        /* BRANCH */
} Instr;

typedef struct {
    int32_t from, to; /* slots */
    bool keeps;       /* `from` is read again: it is copied */
} ProgramMove;

typedef struct {
    int64_t most;            /* iterations; -1: `counted` tells */
    int32_t counted;         /* slot that tells: a number, or what is scanned; -1 */
    bool scans;              /* as often as that has elements, or steps along its dim `dim` */
    int dim;                 /* below 0: from the end */
    int32_t begins, goes_on; /* slots of conditions, read by LOOP and NEXT; -1: true */
    int32_t first_move, n_moves;
} ProgramLoop;

typedef struct {
    int n_slots, n_instrs;
    int n_once; /* the first instructions, done once: the slots they load stay */
    Slot *slots;
    Instr *instrs;
    ProgramLoop *loops; /* per body of the graph; nothing is said of branches */
    ProgramMove *moves;
    int32_t *operand;      /* slot by place in graph->operands, of inputs and of outputs */
    int32_t *output;       /* slot of each graph output; never freed by the program */
    const Kernel **kernel; /* per op of the graph; NULL for those not in the program */
    int32_t *loop_of;      /* per op: the body whose iterations it is told; -1 */
    int32_t copying_op;    /* the first op with an operand of sharding -1 or a list, or that gets a
                              value which is read again: a runner must copy for it; -1: none */
} Program;

/* ERROR_USAGE: an op has no kernel, or a shape or type that cannot be run; the error names it. The
 * program lives in the arena and points into the plan. */
bool program_lower(Arena *arena, const Plan *plan, Program *out, Error *err);

/* Instructions that a rank does in so many passes, were there no loops; INT_MAX: or more. */
static inline int program_length(const Program *program, int n_passes)
{
    int64_t n = program->n_once + (int64_t)n_passes * (program->n_instrs - program->n_once);
    return n < INT_MAX ? (int)n : INT_MAX;
}

const char *instr_kind_name(InstrKind kind); /* "load", "op", "step", "free", "branch" .. */

#endif
