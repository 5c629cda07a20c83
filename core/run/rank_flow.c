#include "core/run/runner.h"

/* rank_flow.c - executes branches and loops on a rank. Conditions are replicated on the devices
 * that run the branch or the loop. Other ranks get the number of iterations or the condition from
 * the first of these, outside of the plan, so that all ranks of a simulated mesh go through the
 * same instructions. */

/* The process of the rank at a position (world.h). */
static int process_of(const Team *team, int64_t position)
{
    int64_t n_ranks = team->plan->mesh->n_devices;
    int p = 0;
    while (p + 1 < team->world->n && position >= (p + 1) * n_ranks / team->world->n)
        p++;
    return p;
}

/* Sends the number that the ranks on the slot's devices have to all ranks. */
static bool share_number(Rank *rank, int32_t slot, int64_t *number)
{
    Team *team = rank->team;
    SubMesh devices = team->plan->decided->submeshes[team->program->slots[slot].devices];
    Error err = {0};
    if (devices.fixed == 0)
        return true;
    if (rank->position == devices.first)
        team->shared_number = *number;
    if (!rank_meet(rank))
        return false;
    bool sends = team->world->n > 1 && rank->position == team->first_rank;
    if (sends && !team->world->share(team->world, &team->shared_number, sizeof team->shared_number,
                                     process_of(team, devices.first), &err))
        return rank_failed(rank, &err);
    if (!rank_meet(rank))
        return false;
    *number = team->shared_number;
    return rank_meet(rank);
}

static bool read_number(Rank *rank, int32_t slot, int64_t *out)
{
    const Plan *plan = rank->team->plan;
    *out = 0;
    if (!rank_has(rank, slot))
        return share_number(rank, slot, out);
    const Local *local = rank->team->runner->fetch(rank, slot);
    Error inner = {0}, err = {0};
    if (!local)
        return false;
    if (kernel_scalar(local, out, &inner))
        return share_number(rank, slot, out);
    error_kind(&err, ERROR_RUN, "condition or count '%s': %s",
               tensor_name(plan->inferred->graph, rank->team->program->slots[slot].tensor),
               inner.text);
    return rank_failed(rank, &err);
}

/* ---- loops ---- */

/* The length of the sequence or dim that is scanned. */
static int64_t count_steps(const ProgramLoop *loop, const Local *scanned)
{
    int64_t n_dims = scanned->whole.n_dims, dim = loop->dim < 0 ? loop->dim + n_dims : loop->dim;
    if (scanned->sequence)
        return scanned->items.n;
    return dim >= 0 && dim < n_dims ? scanned->whole.dim[dim] : 0;
}

static bool begin_loop(Rank *rank, int32_t body)
{
    const ProgramLoop *loop = &rank->team->program->loops[body];
    rank->iteration[body] = 0;
    rank->most[body] = loop->most;
    if (loop->most >= 0)
        return true;
    if (!loop->scans)
        return read_number(rank, loop->counted, &rank->most[body]);
    if (rank_has(rank, loop->counted))
        rank->most[body] = count_steps(loop, rank->slot[loop->counted]);
    return share_number(rank, loop->counted, &rank->most[body]);
}

static bool goes_on(Rank *rank, int32_t body, int32_t condition, bool *out)
{
    int64_t holds = 1;
    if (condition >= 0 && !read_number(rank, condition, &holds))
        return false;
    *out = holds && rank->iteration[body] < rank->most[body];
    return true;
}

/* ---- carried and collected values ---- */

static Local *copy(Rank *rank, int32_t slot)
{
    Error err = {0};
    const Team *team = rank->team;
    const char *name = tensor_name(team->plan->inferred->graph, team->program->slots[slot].tensor);
    Local *local = rank->slot[slot] ? local_copy(rank->slot[slot]) : NULL;
    if (!local)
        error_kind(&err, ERROR_RUN,
                   rank->slot[slot] ? "out of memory for '%s'" : "'%s' is not there", name);
    return local || rank_failed(rank, &err) ? local : NULL;
}

static bool collect(Rank *rank, const Instr *instr)
{
    Local *item = copy(rank, instr->from);
    if (!item)
        return false;
    Local *list = rank_remove(rank, instr->slot);
    if (!list)
        list = local_new_sequence(item->dtype);
    local_append(list, item);
    rank_put(rank, instr->slot, list);
    return true;
}

/* Checks a carried value: a slot with a sharding keeps the shape that was known before the run. */
static bool check_carried(Rank *rank, const ProgramMove *move, const Local *local)
{
    const Inferred *inferred = rank->team->plan->inferred;
    int32_t to = rank->team->program->slots[move->to].tensor;
    const Shape *known = inferred_tensor_shape(inferred, to);
    Error err = {0};
    if (!known || (!local->sequence && !local->nothing && shape_equal(known, &local->whole)))
        return true;
    error_kind(&err, ERROR_RUN, "an iteration changes the shape of '%s'",
               tensor_name(inferred->graph, to));
    return rank_failed(rank, &err);
}

static bool move_all(Rank *rank, const ProgramLoop *loop)
{
    if (loop->n_moves == 0)
        return true;
    const ProgramMove *moves = rank->team->program->moves + loop->first_move;
    if (!rank_has(rank, moves[0].to))
        return true; /* other devices run the loop */
    Arena *scratch = arena_new();
    Local **taken = arena_array(scratch, Local *, loop->n_moves);
    bool ok = true;
    for (int i = 0; i < loop->n_moves && ok; i++) {
        taken[i] = moves[i].keeps ? copy(rank, moves[i].from) : rank_remove(rank, moves[i].from);
        ok = taken[i] && check_carried(rank, &moves[i], taken[i]);
    }
    for (int i = 0; i < loop->n_moves && ok; i++) {
        rank->team->runner->drop(rank, moves[i].to);
        rank_put(rank, moves[i].to, taken[i]);
    }
    for (int i = 0; i < loop->n_moves && !ok; i++)
        local_free(taken[i]);
    arena_free(scratch);
    return ok;
}

/* ---- micro-batches and steps ---- */

static bool add_up(Rank *rank, const Instr *instr)
{
    const Program *program = rank->team->program;
    Local *addend = rank_remove(rank, instr->slot);
    Error err = {.kind = ERROR_RUN};
    bool ok = true;
    rank_view(rank, program_last_view(program));
    Local *sum = rank->slot[instr->slot];
    if (!sum) {
        rank_put(rank, instr->slot, addend);
        sum = addend;
    } else {
        ok = kernel_combine(REDUCE_SUM, sum->dtype, sum->data, addend->data, 1, local_count(sum)) ||
             error_kind(&err, ERROR_RUN, "%s cannot be added up", dtype_name(sum->dtype));
        local_free(addend);
    }
    ok = ok && (instr->mean == 0 || kernel_scale(sum, 1.0 / instr->mean, &err));
    rank_view(rank, instr->view);
    return ok || rank_failed(rank, &err);
}

bool rank_carry(Rank *rank)
{
    const Program *program = rank->team->program;
    rank_view(rank, program_last_view(program));
    for (int i = 0; i < program->n_carried; i++) {
        const ProgramMove *move = &program->carried[i];
        if (!rank_has(rank, move->to))
            continue;
        Local *made = move->keeps ? copy(rank, move->from) : rank_remove(rank, move->from);
        if (!made)
            return false;
        rank->team->runner->drop(rank, move->to);
        rank_put(rank, move->to, made);
    }
    return true;
}

/* ---- all of it ---- */

bool rank_flow(Rank *rank, int at, int *next)
{
    const Program *program = rank->team->program;
    const Instr *instr = &program->instrs[at];
    const ProgramLoop *loops = program->loops;
    int64_t number;
    bool on;
    switch (instr->kind) {
    case INSTR_BRANCH:
        if (!read_number(rank, instr->from, &number))
            return false;
        *next = (number != 0) == instr->when ? at + 1 : instr->target;
        return true;
    case INSTR_LOOP:
        if (!begin_loop(rank, instr->body) ||
            !goes_on(rank, instr->body, loops[instr->body].begins, &on))
            return false;
        *next = on ? at + 1 : instr->target;
        return true;
    case INSTR_NEXT:
        rank->iteration[instr->body]++;
        if (!goes_on(rank, instr->body, loops[instr->body].goes_on, &on))
            return false;
        *next = on ? at + 1 : instr->target;
        return true;
    case INSTR_BACK:
        *next = instr->target;
        return move_all(rank, &loops[instr->body]);
    case INSTR_COLLECT:
        return !rank_has(rank, instr->slot) || collect(rank, instr);
    case INSTR_ADD:
        return !rank_has(rank, instr->slot) || add_up(rank, instr);
    case INSTR_LOAD:
    case INSTR_OP:
    case INSTR_STEP:
    case INSTR_FREE:
        break;
    }
    return true;
}
