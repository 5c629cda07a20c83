/* program_peak.c - the most bytes that the slots of a rank have, by following the instructions.
 *
 * Every branch is followed, and every loop twice: slots that one iteration leaves to the next are
 * there then. So it is a bound: a run follows one branch, and may end a loop sooner.
 */
#include "core/run/program.h"

typedef struct {
    const Plan *plan;
    const Program *program;
    int64_t position, bytes, peak;
    int64_t *held; /* per view and slot */
    bool *again;   /* per body: its second iteration is followed */
    int view;
    bool at_least; /* some slot has a size that only the run knows */
} Filling;

static int64_t *held_by(Filling *f, int32_t slot)
{
    int view = f->program->shared[slot] ? 0 : f->view;
    return &f->held[(int64_t)view * f->program->n_slots + slot];
}

static void hold(Filling *f, int32_t slot, int64_t bytes)
{
    int64_t *held = held_by(f, slot);
    f->bytes += bytes - *held;
    *held = bytes;
    f->peak = f->bytes > f->peak ? f->bytes : f->peak;
}

static void fill(Filling *f, int32_t slot)
{
    const ProgramSlot *at = &f->program->slots[slot];
    const Plan *plan = f->plan;
    const Shape *shape = inferred_shape(plan->inferred, at->tensor);
    int64_t n = 0;
    if (!submesh_has(plan->mesh, plan->decided->submeshes[at->devices], f->position))
        n = 0;
    else if (at->sharding >= 0)
        n = sharding_local_elements(shardings_at(plan->shardings, at->sharding), plan->mesh,
                                    f->position);
    else if (shape)
        n = shape_elements(shape);
    else
        f->at_least = true;
    n *= inferred_items(plan->inferred, at->tensor);
    hold(f, slot, n * element_bytes((Dtype)plan->inferred->dtype[at->tensor]));
}

/* All that is carried, at once: a value that is read again is copied, others go. */
static void carry(Filling *f, const ProgramLoop *loop)
{
    if (loop->n_moves == 0)
        return;
    const ProgramMove *moves = f->program->moves + loop->first_move;
    for (int i = 0; i < loop->n_moves; i++)
        if (!moves[i].keeps)
            hold(f, moves[i].from, 0);
    for (int i = 0; i < loop->n_moves; i++)
        fill(f, moves[i].to);
}

static void add_up(Filling *f, const Instr *instr)
{
    hold(f, instr->slot, 0);
    f->view = program_last_view(f->program);
    if (instr->first)
        fill(f, instr->slot);
}

static void fill_outputs(Filling *f, int32_t op)
{
    const GraphOp *at = &f->plan->inferred->graph->ops[op];
    for (int i = 0; i < at->n_outputs; i++)
        if (f->program->operand[op_output_place(at) + i] >= 0)
            fill(f, f->program->operand[op_output_place(at) + i]);
}

/* The instruction that comes after the one at that place. */
static int follow(Filling *f, int at)
{
    const Instr *instr = &f->program->instrs[at];
    f->view = instr->view;
    switch (instr->kind) {
    case INSTR_OP:
        fill_outputs(f, instr->op);
        break;
    case INSTR_LOAD:
    case INSTR_STEP:
    case INSTR_COLLECT:
        fill(f, instr->slot);
        break;
    case INSTR_FREE:
        hold(f, instr->slot, 0);
        break;
    case INSTR_ADD:
        add_up(f, instr);
        break;
    case INSTR_LOOP:
        f->again[instr->body] = false;
        break;
    case INSTR_NEXT:
        return f->again[instr->body] ? instr->target : at + 1;
    case INSTR_BACK:
        f->again[instr->body] = true;
        carry(f, &f->program->loops[instr->body]);
        return instr->target;
    case INSTR_BRANCH:
        break;
    }
    return at + 1;
}

ProgramPeak program_peak(const Plan *plan, const Program *program)
{
    Arena *scratch = arena_new();
    ProgramPeak peak = {0};
    for (int64_t r = 0; r < plan->mesh->n_devices; r++) {
        Filling f = {.plan = plan, .program = program, .position = r};
        f.held = arena_array(scratch, int64_t, (int64_t)program->n_views * program->n_slots);
        f.again = arena_array(scratch, bool, plan->inferred->graph->n_bodies);
        for (int at = 0; at < program->n_instrs;)
            at = follow(&f, at);
        peak.bytes = f.peak > peak.bytes ? f.peak : peak.bytes;
        peak.at_least = peak.at_least || f.at_least;
    }
    arena_free(scratch);
    return peak;
}
