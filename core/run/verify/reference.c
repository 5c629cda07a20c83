#include "core/run/verify/reference.h"

#include "core/run/verify/compare.h"

void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out)
{
    int n = inferred->graph->n_tensors;
    *out = (Reference){.inferred = inferred, .program = program, .feeds = feeds};
    out->blas = blas;
    out->world = world;
    out->arena = arena;
    out->value = out->views = arena_array(arena, Local *, (int64_t)program->n_views * n);
    out->shared = arena_array(arena, bool, n);
    out->list = arena_array(arena, Local *, n);
    out->filled = arena_array(arena, bool, (int64_t)program->n_views * program->n_slots);
    out->n_filled = arena_array(arena, int32_t, (int64_t)program->n_views * n);
    for (int s = 0; s < program->n_slots; s++)
        out->shared[program->slots[s].tensor] |= program->shared[s];
}

static int64_t n_tensors(const Reference *reference)
{
    return reference->inferred->graph->n_tensors;
}

static int64_t view_of(const Reference *reference)
{
    return (reference->value - reference->views) / n_tensors(reference);
}

/* What is shared is in all views. */
static void set_value(Reference *reference, int32_t tensor, Local *value)
{
    reference->value[tensor] = value;
    for (int v = 0; reference->shared[tensor] && v < reference->program->n_views; v++)
        reference->views[v * n_tensors(reference) + tensor] = value;
}

static void drop(Local **value)
{
    local_free(*value);
    *value = NULL;
}

void reference_close(Reference *reference)
{
    for (int32_t t = 0; t < n_tensors(reference); t++) {
        for (int v = 0; v < reference->program->n_views; v++)
            if (v == 0 || !reference->shared[t])
                drop(&reference->views[v * n_tensors(reference) + t]);
        drop(&reference->list[t]);
    }
}

static void fill(Reference *reference, int32_t slot)
{
    int64_t view = view_of(reference), place = view * reference->program->n_slots + slot;
    if (slot < 0 || reference->filled[place])
        return;
    reference->filled[place] = true;
    reference->n_filled[view * n_tensors(reference) + reference->program->slots[slot].tensor]++;
}

static void empty(Reference *reference, int32_t slot)
{
    int32_t tensor = reference->program->slots[slot].tensor;
    int64_t view = view_of(reference), place = view * reference->program->n_slots + slot;
    int64_t held = view * n_tensors(reference) + tensor;
    if (!reference->filled[place])
        return;
    reference->filled[place] = false;
    if (--reference->n_filled[held] == 0 && !reference->shared[tensor])
        vec_push(reference->arena, &reference->dead, held);
}

static void free_dead(Reference *reference)
{
    for (int i = 0; i < reference->dead.n; i++)
        if (reference->n_filled[reference->dead.at[i]] == 0)
            drop(&reference->views[reference->dead.at[i]]);
    reference->dead.n = 0;
}

static void load(Reference *reference, int32_t tensor, int64_t batch)
{
    bool held = reference->shared[tensor] ||
                reference->n_filled[view_of(reference) * n_tensors(reference) + tensor] > 0;
    if (reference->value[tensor] && held)
        return;
    drop(&reference->value[tensor]); /* of the last step */
    const Inferred *inferred = reference->inferred;
    const Local *listed = feed_listed(reference->feeds, tensor);
    Arena *scratch = arena_new();
    if (listed) {
        set_value(reference, tensor, local_copy(listed));
    } else {
        set_value(
            reference, tensor,
            local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor)));
        feed_fill(reference->feeds, tensor, batch, reference->value[tensor], scratch);
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
    if (!world_share_bool(world, &ok, 0, err))
        return false;
    for (int i = 0; ok && i < inferred->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, op)[i];
        if (tensor < 0 || !inferred_tensor_shape(inferred, tensor))
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
        if (tensor >= 0 && !inferred_tensor_shape(inferred, tensor))
            return true;
    }
    return false;
}

/* Runs an op. LoopStack and SequenceMap read the list that was collected in place of the value of
 * the last iteration. */
static bool run_op(Reference *reference, int32_t op, int64_t batch, int64_t iteration, Error *err)
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
                               batch_seed(reference->feeds->seed, batch), iteration,
                               reference->value, err);
    if (collected) {
        reference->value[yields] = last;
        drop(&reference->list[made]);
    }
    return late ? ok : share(reference, op, ok, err);
}

static bool do_op(Reference *reference, int32_t op, int64_t batch, const int64_t *iteration,
                  Error *err)
{
    const Program *program = reference->program;
    const Graph *graph = reference->inferred->graph;
    int32_t loop = program->loop_of[op];
    bool ok = run_op(reference, op, batch, loop < 0 ? 0 : iteration[loop], err);
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
    const ProgramSlot *slots = reference->program->slots;
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

/* Adds the value of a micro-batch to that of the update. */
static bool add_up(Reference *reference, const Instr *instr, Error *err)
{
    const Program *program = reference->program;
    int32_t tensor = program->slots[instr->slot].tensor;
    Local **of = &reference->value[tensor];
    Local **sum = &reference->views[program_last_view(program) * n_tensors(reference) + tensor];
    empty(reference, instr->slot);
    Local *addend = local_copy(*of);
    if (!addend)
        return out_of_memory(err);
    reference->value = reference->views + program_last_view(program) * n_tensors(reference);
    fill(reference, instr->slot);
    if (instr->first) {
        drop(sum);
        *sum = addend;
    } else {
        kernel_combine(REDUCE_SUM, addend->dtype, (*sum)->data, addend->data, 1,
                       local_count(addend));
        local_free(addend);
    }
    return instr->mean == 0 || kernel_scale(*sum, 1.0 / instr->mean, err);
}

bool reference_carry(Reference *reference, Error *err)
{
    const Program *program = reference->program;
    reference->value = reference->views + program_last_view(program) * n_tensors(reference);
    for (int i = 0; i < program->n_carried; i++) {
        const ProgramMove *move = &program->carried[i];
        int32_t from = program->slots[move->from].tensor, to = program->slots[move->to].tensor;
        if (i > 0 && program->slots[program->carried[i - 1].to].tensor == to)
            continue; /* on another part of the mesh */
        Local *made = local_copy(reference->value[from]);
        if (!made)
            return out_of_memory(err);
        drop(&reference->value[to]);
        set_value(reference, to, made);
        if (!move->keeps)
            empty(reference, move->from);
    }
    return true;
}

bool reference_step(Reference *reference, int at, int64_t batch, const int64_t *iteration,
                    Error *err)
{
    const Program *program = reference->program;
    const Instr *instr = &program->instrs[at];
    reference->value = reference->views + instr->view * n_tensors(reference);
    switch (instr->kind) {
    case INSTR_LOAD:
        load(reference, program->slots[instr->slot].tensor, batch);
        fill(reference, instr->slot);
        return true;
    case INSTR_OP:
        free_dead(reference);
        return do_op(reference, instr->op, batch, iteration, err);
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
    case INSTR_ADD:
        return add_up(reference, instr, err);
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_NEXT:
        break;
    }
    return true;
}
