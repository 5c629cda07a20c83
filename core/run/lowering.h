/* lowering.h - private to the files that lower a plan: program.c, lowering_flow.c, lowering_free.c,
 * lowering_steps.c.
 *
 * A region is a range of instructions that may be skipped or repeated: a branch, a loop, the end of
 * a loop. A slot can be read in the region that fills it and in regions inside.
 */
#ifndef CORE_RUN_LOWERING_H
#define CORE_RUN_LOWERING_H

#include "core/plan/edges.h"
#include "core/run/program.h"

typedef struct {
    int32_t parent; /* region; -1: none */
    int begin, end; /* instructions */
    int next, back; /* of a loop: NEXT and BACK; -1 */
} Region;

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Graph *graph;
    Program *out;
    Vec(ProgramSlot) slots;
    Vec(Instr) instrs;
    Vec(ProgramMove) moves;
    Vec(Region) regions;
    Vec(int32_t) instr_region, slot_region;
    Vec(int32_t) instr_for;        /* per instruction: the op that it is for; -1: for the outputs */
    Vec(int32_t) next;             /* per slot: another slot of its tensor, or -1 */
    int32_t *first_slot;           /* per tensor */
    int32_t *goes_with;            /* per op: the body whose results it returns, -1 */
    const Kernel **kernel_of_type; /* per Names id of an operator: its kernel, once found */
    int32_t op;                    /* current op; -1 */
    int32_t region, body; /* current innermost region; current loop, a place in graph->bodies, -1 */
    ReshardIndex reshards;
} Lowering;

/* ---- program.c ---- */
int32_t lower_instr(Lowering *l, Instr instr); /* appends it; returns its place */
int32_t lower_slot(Lowering *l, ProgramSlot slot, int32_t region);
/* The slot to read a value from; adds the reshard to it if needed. -1 with *err on failure. */
int32_t lower_read(Lowering *l, ProgramSlot wanted, Error *err);
bool lower_find_kernel(Lowering *l, int32_t op, Error *err);
bool lower_reads(const Lowering *l, int32_t op, int input); /* reads a slot that no given value
                                                             * replaces */
bool lower_input(Lowering *l, int32_t op, int input, Error *err);
/* Appends an op with its inputs, then reshards its outputs to their pins. */
bool lower_op(Lowering *l, int32_t op, Error *err);
bool lower_op_alone(Lowering *l, int32_t op, Error *err);
bool lower_pins(Lowering *l, int32_t op, Error *err);

static inline bool lower_is(const Lowering *l, int32_t op, const char *op_type)
{
    return strcmp(op_operator(l->graph, op), op_type) == 0;
}

/* Whether a region is `of` or inside it. */
static inline bool lower_is_inside(const Lowering *l, int32_t region, int32_t of)
{
    while (region >= 0 && region != of)
        region = l->regions.at[region].parent;
    return region >= 0;
}

/* ---- lowering_flow.c: branches and loops ---- */
bool lower_range(Lowering *l, int32_t first, int32_t end, int body, Error *err);

/* ---- lowering_free.c: the list with FREE after the last use of each slot ---- */
void lower_frees(Lowering *l);
/* Calls it for all slots that an instruction uses, those that it reads first. */
typedef void LowerSeeSlot(void *context, int32_t slot, bool fills);
void lower_each_slot(const Lowering *l, const Instr *instr, LowerSeeSlot *fn, void *context);

/* ---- lowering_steps.c: the list of several micro-batches, with its FREEs ---- */
int lower_micro_batches(const Plan *plan); /* of a training step; else 1 */
bool lower_steps(Lowering *l, Error *err);

#endif
