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

typedef struct {
    int32_t tensor;
    int32_t sharding; /* Shardings id */
    int devices;      /* the part of the mesh that has it: place in plan->submeshes */
} Slot;

/* ORDER INSTR_KIND */
typedef enum { INSTR_LOAD, INSTR_OP, INSTR_STEP, INSTR_FREE } InstrKind;

typedef struct {
    InstrKind kind;
    int32_t slot;     /* LOAD, FREE: it; STEP: what it fills */
    int32_t from;     /* STEP */
    int32_t op;       /* OP */
    int32_t reshard;  /* STEP: place in plan->reshards */
    const Step *step; /* STEP */
} Instr;

typedef struct {
    int n_slots, n_instrs;
    int n_once; /* the first instructions, done once: the slots they load stay */
    Slot *slots;
    Instr *instrs;
    int32_t *operand;      /* slot by place in graph->operands, of inputs and of outputs */
    int32_t *output;       /* slot of each graph output; never freed by the program */
    const Kernel **kernel; /* per op of the graph; NULL for those not in the program */
} Program;

/* ERROR_USAGE: an op has no kernel, or a shape or type that cannot be run; the error names it. The
 * program lives in the arena and points into the plan. */
bool program_lower(Arena *arena, const Plan *plan, Program *out, Error *err);

/* Instructions that a rank does in so many passes. */
static inline int program_length(const Program *program, int n_passes)
{
    return program->n_once + n_passes * (program->n_instrs - program->n_once);
}

const char *instr_kind_name(InstrKind kind); /* "load", "op", "step", "free" */

#endif
