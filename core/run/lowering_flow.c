/* lowering_flow.c - lowers branches and loops; program.h shows the order of their instructions. */
#include "core/plan/control.h"
#include "core/run/lowering.h"

static int32_t open_region(Lowering *l)
{
    vec_push(l->arena, &l->regions, ((Region){l->region, l->instrs.n, 0, -1, -1}));
    l->region = l->regions.n - 1;
    return l->region;
}

static void close_region(Lowering *l)
{
    Region *region = &l->regions.at[l->region];
    region->end = l->instrs.n;
    l->region = region->parent;
}

static Instr flow_instr(InstrKind kind, int32_t body)
{
    return (Instr){.kind = kind, .slot = -1, .from = -1, .op = -1, .reshard = -1, .body = body};
}

static bool computes(const Lowering *l, int32_t op)
{
    return !inferred_is_host(l->plan->inferred, op);
}

/* The part of the mesh that runs a body: of its first op (core/plan/control.h). */
static int devices_of(const Lowering *l, const GraphBody *body)
{
    return body->first < body->end ? plan_devices(l->plan, body->first) : 0;
}

/* The slot of a value that decides on the devices of the body, so that all of them take the same
 * path. */
static int32_t read_deciding(Lowering *l, const GraphBody *body, int32_t tensor, Error *err)
{
    int devices = devices_of(l, body);
    ProgramSlot wanted = {tensor, control_sharding(l->plan, tensor, devices), devices, 0};
    return lower_read(l, wanted, err);
}

static bool is_inside(const Lowering *l, const GraphBody *body, int32_t tensor)
{
    int32_t maker = l->graph->tensors[tensor].maker;
    return maker >= body->first && maker < body->end;
}

/* Whether the value comes from other devices, which do not know whether the body runs. */
static bool is_sent(const Lowering *l, const GraphBody *body, int32_t tensor)
{
    int32_t maker = l->graph->tensors[tensor].maker;
    return maker >= 0 && !tensor_is_known(l->plan->inferred, tensor) &&
           plan_devices(l->plan, maker) != devices_of(l, body);
}

/* Moves reshards of values that are made before a body and read in it to before the body: for a
 * loop all that it reads, for a branch what other devices send to it. */
static bool hoist(Lowering *l, const GraphBody *body, Error *err)
{
    bool loops = body->kind == BODY_LOOP || body->kind == BODY_SCAN;
    for (int32_t op = body->first; op < body->end; op++) {
        if (!computes(l, op))
            continue;
        if (!lower_find_kernel(l, op, err))
            return false;
        for (int i = 0; i < l->graph->ops[op].n_inputs; i++) {
            int32_t place = l->graph->ops[op].input + i, tensor = l->graph->operands[place];
            bool inside = tensor >= 0 && is_inside(l, body, tensor);
            bool known = tensor >= 0 && tensor_is_known(l->plan->inferred, tensor);
            if (tensor < 0 || (inside && !known) || !lower_reads(l, op, i) ||
                !(loops || is_sent(l, body, tensor)))
                continue;
            if (!lower_input(l, op, i, err))
                return false;
        }
    }
    return true;
}

/* ---- branches ---- */

/* Reshards the results of a branch that an If reads inside the branch. */
static bool reshard_branch_results(Lowering *l, const GraphBody *body, int32_t tensor, Error *err)
{
    const GraphTensor *at = &l->graph->tensors[tensor];
    if (tensor_is_known(l->plan->inferred, tensor))
        return true;
    for (int use = 0; use < tensor_n_uses(l->graph, tensor); use++) {
        int32_t reader = l->graph->uses[at->use + use];
        if (reader < body->end || !computes(l, reader) || !lower_find_kernel(l, reader, err))
            continue;
        for (int i = 0; i < l->graph->ops[reader].n_inputs; i++)
            if (op_inputs(l->graph, reader)[i] == tensor && lower_reads(l, reader, i) &&
                !lower_input(l, reader, i, err))
                return false;
    }
    return !error_is_set(err);
}

static bool lower_branch(Lowering *l, int b, Error *err)
{
    const GraphBody *body = &l->graph->bodies[b];
    if (body->of < 0 || tensor_is_known(l->plan->inferred, body->of))
        return lower_range(l, body->first, body->end, b + 1, err);
    Instr branch = flow_instr(INSTR_BRANCH, b);
    branch.when = body->kind == BODY_THEN;
    branch.from = read_deciding(l, body, body->of, err);
    if (branch.from < 0 || !hoist(l, body, err))
        return false;
    open_region(l);
    int32_t at = lower_instr(l, branch);
    if (!lower_range(l, body->first, body->end, b + 1, err))
        return false;
    for (int32_t op = body->first; op < body->end; op++)
        for (int i = 0; computes(l, op) && i < l->graph->ops[op].n_outputs; i++)
            if (op_outputs(l->graph, op)[i] >= 0 &&
                !reshard_branch_results(l, body, op_outputs(l->graph, op)[i], err))
                return false;
    close_region(l);
    l->instrs.at[at].target = l->instrs.n;
    return true;
}

/* ---- loops ---- */

static bool is_result(const Lowering *l, int32_t op)
{
    return lower_is(l, op, "LoopResult") || lower_is(l, op, "LoopStack") ||
           lower_is(l, op, "SequenceMap");
}

static int32_t carrier(const Lowering *l, const GraphCarry *carry)
{
    int32_t op = carry->in < 0 ? -1 : l->graph->tensors[carry->in].maker;
    return op >= 0 && computes(l, op) ? op : -1;
}

static const GraphCarry *carry_at(const Lowering *l, const GraphBody *body, int i)
{
    return &l->graph->carries[body->carry + i];
}

/* The slot of a carried value at the start of the next iteration. */
static int32_t read_next(Lowering *l, const GraphBody *body, const GraphCarry *carry, Error *err)
{
    const Plan *plan = l->plan;
    int32_t made = plan->moved->made[carry->in];
    const char *name = carry->next < 0 ? "" : tensor_name(l->graph, carry->next);
    if (carry->next < 0) {
        error_kind(err, ERROR_USAGE, "a loop has no value for '%s'",
                   tensor_name(l->graph, carry->in));
        return -1;
    }
    bool empty = inferred_is_list(plan->inferred, carry->next);
    if (made < 0 || !inferred_shape(plan->inferred, carry->next)) {
        const Shape *shape = made < 0 || empty ? NULL : inferred_shape(plan->inferred, carry->in);
        Sharding whole = shape ? sharding_whole(shape) : (Sharding){0};
        if (!shape || shardings_put(plan->shardings, &whole) == made)
            return read_deciding(l, body, carry->next, err);
        error_kind(err, ERROR_USAGE,
                   "'%s' cannot be run: its shape is not known, and '%s' is sharded", name,
                   tensor_name(l->graph, carry->in));
        return -1;
    }
    return lower_read(l, (ProgramSlot){carry->next, made, devices_of(l, body), 0}, err);
}

/* A loop may carry a value from outside of it: its devices get the value before the loop starts. */
static bool hoist_carried(Lowering *l, const GraphBody *body, Error *err)
{
    for (int i = 0; i < body->n_carries; i++) {
        const GraphCarry *carry = carry_at(l, body, i);
        bool sent = carrier(l, carry) >= 0 && carry->next >= 0 &&
                    !is_inside(l, body, carry->next) && is_sent(l, body, carry->next);
        if (sent && read_next(l, body, carry, err) < 0)
            return false;
    }
    return true;
}

static bool begin_carries(Lowering *l, const GraphBody *body, Error *err)
{
    for (int i = 0; i < body->n_carries; i++) {
        int32_t op = carrier(l, carry_at(l, body, i));
        if (op >= 0 && !lower_op_alone(l, op, err))
            return false;
    }
    return true;
}

/* Sets the trip count if it is known. */
static bool count_trips(Lowering *l, int b, ProgramLoop *loop, Error *err)
{
    const GraphBody *body = &l->graph->bodies[b];
    double trips = inferred_known_trips(l->plan->inferred, b);
    int64_t most;
    *loop = (ProgramLoop){.most = INT64_MAX, .counted = -1, .begins = -1};
    loop->goes_on = -1;
    if (trips >= 0)
        loop->most = trips < 0x1p62 ? (int64_t)trips : INT64_MAX;
    if (trips >= 0 || body->of < 0)
        return true;
    if (value_one_int(inferred_value(l->plan->inferred, body->of), &most)) {
        loop->most = most;
        return true;
    }
    loop->most = -1;
    loop->scans = body->kind == BODY_SCAN;
    loop->dim = (int)body->dim;
    loop->counted = read_deciding(l, body, body->of, err);
    return loop->counted >= 0;
}

/* The slot of the condition after an iteration. */
static bool read_condition(Lowering *l, int b, ProgramLoop *loop, Error *err)
{
    const GraphBody *body = &l->graph->bodies[b];
    if (!control_reads_condition(l->plan->inferred, b))
        return true;
    loop->goes_on = read_deciding(l, body, carry_at(l, body, 0)->next, err);
    return loop->goes_on >= 0;
}

static bool lower_collects(Lowering *l, int32_t first, int32_t end, Error *err)
{
    int32_t outside = l->regions.at[l->region].parent;
    for (int32_t op = first; op < end; op++) {
        if (!computes(l, op) || lower_is(l, op, "LoopResult"))
            continue;
        const GraphOp *at = &l->graph->ops[op];
        int32_t tensor = at->n_inputs > 0 ? op_inputs(l->graph, op)[0] : -1;
        if (tensor < 0 || at->n_outputs < 1 || op_outputs(l->graph, op)[0] < 0)
            continue;
        Instr collect = flow_instr(INSTR_COLLECT, -1);
        collect.op = op;
        if (!lower_input(l, op, 0, err))
            return false;
        collect.from = l->out->operand[at->input];
        collect.slot = lower_slot(
            l, (ProgramSlot){op_outputs(l->graph, op)[0], -1, plan_devices(l->plan, op), 0},
            outside);
        l->out->operand[at->input] = collect.slot;
        if (l->out->copying_op < 0)
            l->out->copying_op = op;
        lower_instr(l, collect);
    }
    return true;
}

static bool lower_moves(Lowering *l, const GraphBody *body, ProgramLoop *loop, Error *err)
{
    int32_t of_loop = l->regions.at[l->region].parent;
    int first = l->moves.n;
    for (int i = 0; i < body->n_carries; i++) {
        int32_t op = carrier(l, carry_at(l, body, i));
        if (op < 0)
            continue;
        ProgramMove move = {.to = l->out->operand[op_output_place(&l->graph->ops[op])]};
        move.from = read_next(l, body, carry_at(l, body, i), err);
        if (move.from < 0)
            return false;
        move.keeps = !lower_is_inside(l, l->slot_region.at[move.from], of_loop);
        vec_push(l->arena, &l->moves, move);
    }
    for (int i = first; i < l->moves.n; i++)
        for (int k = i + 1; k < l->moves.n; k++)
            l->moves.at[i].keeps |= l->moves.at[i].from == l->moves.at[k].from;
    for (int i = first; i < l->moves.n && l->out->copying_op < 0; i++)
        if (l->moves.at[i].keeps)
            l->out->copying_op = l->graph->tensors[l->slots.at[l->moves.at[i].to].tensor].maker;
    loop->first_move = first;
    loop->n_moves = l->moves.n - first;
    return true;
}

static bool lower_results(Lowering *l, int32_t first, int32_t end, Error *err)
{
    for (int32_t op = first; op < end; op++)
        if (computes(l, op) && lower_is(l, op, "LoopResult") && l->graph->ops[op].n_inputs == 2 &&
            op_inputs(l->graph, op)[1] >= 0 && !lower_input(l, op, 1, err))
            return false;
    return true;
}

/* Appends NEXT, the reshards of carried values, BACK, and the results of the loop. */
static bool end_iteration(Lowering *l, int b, int32_t again, int32_t results_end, Error *err)
{
    const GraphBody *body = &l->graph->bodies[b];
    ProgramLoop *loop = &l->out->loops[b];
    int32_t region = l->region;
    Instr back = flow_instr(INSTR_BACK, b);
    back.target = again;
    if (!lower_collects(l, body->end, results_end, err) || !read_condition(l, b, loop, err))
        return false;
    int32_t next = lower_instr(l, flow_instr(INSTR_NEXT, b));
    open_region(l);
    if (!lower_moves(l, body, loop, err))
        return false;
    l->regions.at[region].next = next;
    l->regions.at[region].back = lower_instr(l, back);
    close_region(l);
    l->instrs.at[next].target = l->instrs.n;
    open_region(l);
    if (!lower_results(l, body->end, results_end, err))
        return false;
    close_region(l);
    return true;
}

static bool lower_pins_of_carries(Lowering *l, const GraphBody *body, Error *err)
{
    for (int i = 0; i < body->n_carries; i++) {
        int32_t op = carrier(l, carry_at(l, body, i));
        if (op >= 0 && !lower_pins(l, op, err))
            return false;
    }
    return true;
}

static bool lower_loop(Lowering *l, int b, int32_t limit, Error *err)
{
    const GraphBody *body = &l->graph->bodies[b];
    ProgramLoop *loop = &l->out->loops[b];
    int32_t around = l->body, results_end = body->end;
    while (results_end < limit && is_result(l, results_end))
        l->goes_with[results_end++] = b;
    for (int32_t op = body->end; op < results_end; op++)
        if (computes(l, op) && !lower_find_kernel(l, op, err))
            return false;
    l->body = b;
    if (!hoist(l, body, err) || !hoist_carried(l, body, err) || !begin_carries(l, body, err) ||
        !count_trips(l, b, loop, err))
        return false;
    int32_t condition = body->kind == BODY_LOOP ? carrier(l, carry_at(l, body, 0)) : -1;
    if (condition >= 0 && loop->most != 0)
        loop->begins = l->out->operand[op_output_place(&l->graph->ops[condition])];
    open_region(l);
    int32_t at = lower_instr(l, flow_instr(INSTR_LOOP, b)), again = l->instrs.n;
    if (!lower_pins_of_carries(l, body, err) ||
        !lower_range(l, body->first, body->end, b + 1, err) ||
        !end_iteration(l, b, again, results_end, err))
        return false;
    close_region(l);
    l->instrs.at[at].target = l->instrs.n;
    l->body = around;
    return true;
}

/* ---- all of it ---- */

static bool is_lowered(const Lowering *l, int32_t op)
{
    const GraphOp *at = &l->graph->ops[op];
    return at->n_outputs > 0 && l->out->operand[op_output_place(at)] >= 0;
}

bool lower_range(Lowering *l, int32_t first, int32_t end, int b, Error *err)
{
    const GraphBody *bodies = l->graph->bodies;
    int n = l->graph->n_bodies;
    for (int32_t op = first; op < end;) {
        while (b < n && (bodies[b].first < op || bodies[b].first == bodies[b].end))
            b++;
        const GraphBody *body = b < n && bodies[b].end <= end ? &bodies[b] : NULL;
        for (int32_t until = body ? body->first : end; op < until; op++)
            if (computes(l, op) && !is_lowered(l, op) && !lower_op(l, op, err))
                return false;
        if (!body)
            return true;
        bool loops = body->kind == BODY_LOOP || body->kind == BODY_SCAN;
        if (!(loops ? lower_loop(l, b, end, err) : lower_branch(l, b, err)))
            return false;
        op = body->end;
    }
    return true;
}
