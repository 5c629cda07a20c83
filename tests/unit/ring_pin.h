/* ring_pin.h - pins that send the parts of an op around a ring. */
#ifndef TESTS_UNIT_RING_PIN_H
#define TESTS_UNIT_RING_PIN_H

#include "tests/unit/planning_text.h"

/* The first op of the graph with that index dim whose parts can go around. */
static inline int32_t find_ring_op(const Planning *p, int *index)
{
    *index = 0;
    for (int i = 0; i < p->inferred->n_program; i++) {
        const OpSpace *space = program_space(p->inferred, p->inferred->program[i]);
        for (*index = 0; *index < space->n_index; ++*index)
            if (space->index[*index].rounds > 0)
                return p->inferred->program[i];
    }
    fail_msg("no op has parts that can go around a ring");
    return -1;
}

/* Its parts go around the ranks of the axes. */
static inline void pin_ring(Planning *p, int32_t op, int index, const char *axes, bool zigzag)
{
    int64_t size = program_space(p->inferred, op)->index[index].size,
            half[2] = {size / 2, size / 2};
    Cut cut = planning_cut(p, size, axes, 1);
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(&cut, atom);
    if (zigzag)
        cut_blocks_dealt(half, (const bool[]){false, true}, 2, atom, n, p->mesh, &cut);
    cut.before = CUT_RING;
    cut.after = 1;
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = index, .cut = &cut};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

#endif
