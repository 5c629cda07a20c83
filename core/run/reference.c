#include "core/run/reference.h"

void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out)
{
    int n = inferred->graph->n_tensors;
    *out = (Reference){.inferred = inferred, .program = program, .feeds = feeds};
    out->blas = blas;
    out->world = world;
    out->arena = arena;
    out->value = arena_array(arena, Local *, n);
    out->list = arena_array(arena, Local *, n);
    out->filled = arena_array(arena, bool, program->n_slots);
    out->n_filled = arena_array(arena, int32_t, n);
}

static void drop(Local **value)
{
    local_free(*value);
    *value = NULL;
}

void reference_close(Reference *reference)
{
    for (int32_t t = 0; t < reference->inferred->graph->n_tensors; t++) {
        drop(&reference->value[t]);
        drop(&reference->list[t]);
    }
}

static void fill(Reference *reference, int32_t slot)
{
    if (slot < 0 || reference->filled[slot])
        return;
    reference->filled[slot] = true;
    reference->n_filled[reference->program->slots[slot].tensor]++;
}

static void empty(Reference *reference, int32_t slot)
{
    int32_t tensor = reference->program->slots[slot].tensor;
    if (!reference->filled[slot])
        return;
    reference->filled[slot] = false;
    if (--reference->n_filled[tensor] == 0)
        vec_push(reference->arena, &reference->dead, tensor);
}

static void free_dead(Reference *reference)
{
    for (int i = 0; i < reference->dead.n; i++)
        if (reference->n_filled[reference->dead.at[i]] == 0)
            drop(&reference->value[reference->dead.at[i]]);
    reference->dead.n = 0;
}

static void load(Reference *reference, int32_t tensor)
{
    if (reference->value[tensor])
        return;
    const Inferred *inferred = reference->inferred;
    const Local *listed = feed_listed(reference->feeds, tensor);
    Arena *scratch = arena_new();
    if (listed) {
        reference->value[tensor] = local_copy(listed);
    } else {
        reference->value[tensor] =
            local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        feed_fill(reference->feeds, tensor, reference->value[tensor], scratch);
    }
    arena_free(scratch);
}

/* Broadcasts what process 0 computed. */
static bool share(Reference *reference, int32_t op, bool ok, Error *err)
{
    World *world = reference->world;
    const Inferred *inferred = reference->inferred;
    if (world->n == 1)
        return ok;
    if (!world->share(world, &ok, sizeof ok, 0, err))
        return false;
    for (int i = 0; ok && i < inferred->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, op)[i];
        if (tensor < 0 || !inferred_shape(inferred, tensor))
            continue;
        if (!reference->value[tensor])
            reference->value[tensor] =
                local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        Local *value = reference->value[tensor];
        ok = world->share(world, value->data, local_bytes(value), 0, err);
    }
    return ok || error_kind(err, ERROR_RUN, "the first process could not run the op");
}

/* Values of unknown shape are not broadcast: every process computes them. */
static bool has_late_output(const Inferred *inferred, int32_t op)
{
    for (int i = 0; i < inferred->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, op)[i];
        if (tensor >= 0 && !inferred_shape(inferred, tensor))
            return true;
    }
    return false;
}

/* Runs an op. LoopStack and SequenceMap read the list that was collected in place of the value of
 * the last iteration. */
static bool run_op(Reference *reference, int32_t op, int64_t iteration, Error *err)
{
    const Inferred *inferred = reference->inferred;
    const GraphOp *at = &inferred->graph->ops[op];
    int32_t list = at->n_inputs > 0 ? reference->program->operand[at->input] : -1;
    int32_t yields = at->n_inputs > 0 ? op_inputs(inferred->graph, op)[0] : -1;
    int32_t made = at->n_outputs > 0 ? op_outputs(inferred->graph, op)[0] : -1;
    bool collected = list >= 0 && made >= 0 && yields >= 0 && yields != made &&
                     reference->program->slots[list].tensor == made;
    bool late = has_late_output(inferred, op);
    for (int i = 0; i < at->n_outputs; i++)
        if (op_outputs(inferred->graph, op)[i] >= 0)
            drop(&reference->value[op_outputs(inferred->graph, op)[i]]);
    Local *last = collected ? reference->value[yields] : NULL;
    if (collected)
        reference->value[yields] = reference->list[made];
    bool ok = (reference->world->me > 0 && !late) ||
              kernel_run_whole(inferred, op, reference->program->kernel[op], reference->blas,
                               reference->feeds->seed, iteration, reference->value, err);
    if (collected) {
        reference->value[yields] = last;
        drop(&reference->list[made]);
    }
    return late ? ok : share(reference, op, ok, err);
}

static bool do_op(Reference *reference, int32_t op, const int64_t *iteration, Error *err)
{
    const Program *program = reference->program;
    const Graph *graph = reference->inferred->graph;
    int32_t loop = program->loop_of[op];
    bool ok = run_op(reference, op, loop < 0 ? 0 : iteration[loop], err);
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor < 0 || !reference->value[tensor])
            continue;
        fill(reference, program->operand[op_output_place(&graph->ops[op]) + i]);
    }
    return ok;
}

static bool out_of_memory(Error *err)
{
    return error_kind(err, ERROR_RUN, "out of memory on one device");
}

static bool collect(Reference *reference, const Instr *instr, Error *err)
{
    const Slot *slots = reference->program->slots;
    const Local *from = reference->value[slots[instr->from].tensor];
    Local **list = &reference->list[slots[instr->slot].tensor], *item = local_copy(from);
    if (!item)
        return out_of_memory(err);
    if (!*list)
        *list = local_new_sequence(item->dtype);
    local_append(*list, item);
    return true;
}

/* Moves are parallel: sources are copied before targets are replaced. */
static bool move_all(Reference *reference, const ProgramLoop *loop, Error *err)
{
    const Program *program = reference->program;
    Arena *scratch = arena_new();
    Local **taken = arena_array(scratch, Local *, loop->n_moves);
    bool ok = true;
    for (int i = 0; i < loop->n_moves && ok; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        taken[i] = local_copy(reference->value[program->slots[move->from].tensor]);
        ok = taken[i] != NULL;
    }
    for (int i = 0; i < loop->n_moves && ok; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        int32_t to = program->slots[move->to].tensor;
        if (!move->keeps)
            empty(reference, move->from);
        drop(&reference->value[to]);
        reference->value[to] = taken[i];
        fill(reference, move->to);
    }
    arena_free(scratch);
    return ok || out_of_memory(err);
}

bool reference_step(Reference *reference, int at, const int64_t *iteration, Error *err)
{
    const Program *program = reference->program;
    const Instr *instr = &program->instrs[at];
    switch (instr->kind) {
    case INSTR_LOAD:
        load(reference, program->slots[instr->slot].tensor);
        fill(reference, instr->slot);
        return true;
    case INSTR_OP:
        free_dead(reference);
        return do_op(reference, instr->op, iteration, err);
    case INSTR_STEP:
        free_dead(reference);
        fill(reference, instr->slot);
        return true;
    case INSTR_FREE:
        empty(reference, instr->slot);
        return true;
    case INSTR_COLLECT:
        return collect(reference, instr, err);
    case INSTR_BACK:
        free_dead(reference);
        return move_all(reference, &program->loops[instr->body], err);
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_NEXT:
        break;
    }
    return true;
}
