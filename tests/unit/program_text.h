/* program_text.h - a program as text: instructions parted by "; ", those done once before "|".
 *
 *     load x; | branch c is false -> 3; op Relu; free t; back -> 4 (a -> b, c copied -> d)
 *
 * Places of jumps are counted from the first instruction of the text.
 */
#ifndef TESTS_UNIT_PROGRAM_TEXT_H
#define TESTS_UNIT_PROGRAM_TEXT_H

#include "core/run/program.h"

static inline const char *slot_text(const Plan *plan, const Program *program, int32_t slot)
{
    return tensor_name(plan->inferred->graph, program->slots[slot].tensor);
}

static inline void put_moves(const Plan *plan, const Program *program, const ProgramLoop *loop,
                             Buf *out)
{
    for (int i = 0; i < loop->n_moves; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        buf_printf(out, "%s%s%s to %s", i > 0 ? ", " : " (", slot_text(plan, program, move->from),
                   move->keeps ? " copied" : "", slot_text(plan, program, move->to));
    }
    buf_puts(out, loop->n_moves > 0 ? ")" : "");
}

static inline void put_instr(const Plan *plan, const Program *program, const Instr *instr, Buf *out)
{
    buf_puts(out, instr_kind_name(instr->kind));
    if (instr->kind == INSTR_OP)
        buf_printf(out, " %s", op_operator(plan->inferred->graph, instr->op));
    if (instr->from >= 0 && instr->kind != INSTR_STEP)
        buf_printf(out, " %s", slot_text(plan, program, instr->from));
    if (instr->kind == INSTR_BRANCH)
        buf_printf(out, " is %s", instr->when ? "true" : "false");
    if (instr->slot >= 0)
        buf_printf(out, "%s %s", instr->kind == INSTR_COLLECT ? " for" : "",
                   slot_text(plan, program, instr->slot));
    if (instr->kind == INSTR_BRANCH || instr->kind == INSTR_LOOP || instr->kind == INSTR_NEXT ||
        instr->kind == INSTR_BACK)
        buf_printf(out, " -> %d", (int)instr->target);
    if (instr->kind == INSTR_BACK)
        put_moves(plan, program, &program->loops[instr->body], out);
}

static inline const char *program_text(Arena *arena, const Plan *plan, const Program *program)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < program->n_instrs; i++) {
        buf_puts(&out, i == 0 ? "" : i == program->n_once ? "; | " : "; ");
        put_instr(plan, program, &program->instrs[i], &out);
    }
    return out.s;
}

#endif
