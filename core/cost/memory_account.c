#include "core/cost/memory_account.h"

#include "core/cost/absorbed.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"

enum { LOOK_EVERY = 4096 }; /* ops between two checks for cancellation */

/* A value in one sharding on one part of the mesh. */
typedef struct {
    int32_t tensor, sharding;
    int devices;
    int phase; /* plan_phase() of its reader */
} HeldValue;

static int32_t begin_span(Account *a, HeldValue value)
{
    LiveSpan span = {.tensor = value.tensor,
                     .sharding = value.sharding,
                     .devices = (int16_t)value.devices,
                     .first = a->now,
                     .last = a->now,
                     .next = a->of_tensor[value.tensor],
                     .as = value.tensor,
                     .op = a->op,
                     .whose = -1};
    vec_push_own(a->arena, &a->spans, span);
    a->of_tensor[value.tensor] = a->spans.n - 1;
    return a->spans.n - 1;
}

static bool is_forward(const Account *a, int32_t op)
{
    return op >= 0 && (!a->graph->phase || a->graph->phase[op] == PHASE_FORWARD);
}

/* It is alive now, and so is the span whose bytes it has. */
static void use_span(const Account *a, int32_t at)
{
    for (; at >= 0; at = span_at(a, at)->whose) {
        LiveSpan *span = span_at(a, at);
        span->last = a->now;
        span->saved |= is_forward(a, span->op) && a->op >= 0 && !is_forward(a, a->op) &&
                       !a->plan->inferred->on_parameters[span->op] &&
                       !tensor_is_known(a->plan->inferred, span->tensor);
    }
}

static int32_t find_span(const Account *a, HeldValue value)
{
    int32_t at = a->of_tensor[value.tensor];
    while (at >= 0 && (span_at(a, at)->sharding != value.sharding ||
                       span_at(a, at)->devices != value.devices || span_at(a, at)->in_between ||
                       (span_at(a, at)->phase != 0 && value.phase != 0 &&
                        span_at(a, at)->phase != value.phase)))
        at = span_at(a, at)->next;
    return at;
}

/* Adds a span for every step of the reshard that makes the value: each step fills one copy from
 * the one before. Returns -1 if the source does not exist yet. */
static int32_t move_span(Account *a, HeldValue value)
{
    int32_t r =
        reshard_filling(&a->reshards, value.tensor, value.sharding, value.devices, value.phase);
    if (r < 0)
        return -1;
    const Reshard *reshard = &a->plan->moved->reshards[r];
    const ReshardPath *path = reshard->path;
    HeldValue from = {value.tensor, reshard->from, reshard->from_devices, value.phase};
    int32_t at = find_span(a, from);
    if (at < 0 && reshard->from_devices != value.devices)
        at = move_span(a, from);
    for (int i = 0; at >= 0 && i < path->n_steps; i++) {
        a->now++;
        use_span(a, at);
        at = begin_span(
            a, (HeldValue){value.tensor, path->step[i].to, reshard_step_devices(reshard, i), 0});
        span_at(a, at)->phase = reshard->phase;
        span_at(a, at)->filled = true;
        span_at(a, at)->in_between = i + 1 < path->n_steps;
    }
    return at;
}

/* The span that an operand is read from; -1 if it has no sharding. */
static int32_t read_span(Account *a, HeldValue value)
{
    if (value.tensor < 0 || value.sharding < 0)
        return -1;
    int32_t at = find_span(a, value);
    if (at >= 0)
        return at;
    if (tensor_is_known(a->plan->inferred, value.tensor)) {
        a->now++;
        return begin_span(a, value);
    }
    return move_span(a, value);
}

/* A parameter or graph input on the parts of the mesh that store it; on none if nobody reads it. */
static void add_source(Account *a, int32_t tensor)
{
    HeldValue value = {tensor, a->plan->moved->sharding[tensor], 0, 0};
    for (int at = 0; (value.devices = stage_given_on(a->plan, tensor, &at)) >= 0;)
        if (find_span(a, value) < 0)
            begin_span(a, value);
}

/* Values that exist before the first op. */
static void add_sources(Account *a)
{
    for (int t = 0; t < a->graph->n_tensors; t++)
        if (a->graph->tensors[t].maker < 0 && !tensor_is_known(a->plan->inferred, t) &&
            a->plan->moved->sharding[t] >= 0)
            add_source(a, t);
}

/* The span of the value that output o is the new value of, where it is written in its place; -1. */
static int32_t updated_span(const Account *a, int32_t op, int o, const int32_t *read)
{
    const OpSpace *space = program_space(a->plan->inferred, op);
    int input = o < space->n_outputs ? opspace_output(space, o)->updates - 1 : -1;
    int32_t made = op_outputs(a->graph, op)[o];
    const int32_t *next_of = a->graph->next_of;
    bool own = !a->copies && input >= 0 && next_of &&
               next_of[made] == op_inputs(a->graph, op)[input] && read[input] >= 0;
    return own && span_at(a, read[input])->sharding == a->plan->moved->made[made] ? read[input]
                                                                                  : -1;
}

/* The operand of a gradient op in whose place it is written: nobody reads it later. -1. */
static int32_t overwritten(Account *a, int32_t op, const int32_t *read)
{
    int32_t of = a->kept_of && a->graph->phase[op] == PHASE_BACKWARD ? a->graph->of[op] : -1;
    if (of < 0 || !(operator_row_flags(&a->rows, of) & OPERATOR_GRADIENT_IN_PLACE))
        return -1;
    int32_t tensor = op_inputs(a->graph, of)[0];
    const int32_t *use = a->graph->uses + a->graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(a->graph, tensor); u++)
        if (use[u] > op)
            return -1;
    for (int i = 0; i < a->graph->ops[op].n_inputs; i++)
        if (op_inputs(a->graph, op)[i] == tensor)
            return read[i];
    return -1;
}

/* Moves a gradient of a parameter to where the update reads it. */
static void move_at_once(Account *a, int32_t tensor, int devices)
{
    const GraphTensor *at = &a->graph->tensors[tensor];
    for (int u = 0; u < tensor_n_uses(a->graph, tensor); u++) {
        int32_t reader = a->graph->uses[at->use + u];
        for (int i = 0; i < a->graph->ops[reader].n_inputs; i++)
            if (op_inputs(a->graph, reader)[i] == tensor)
                read_span(a,
                          (HeldValue){tensor, a->plan->moved->need[a->graph->ops[reader].input + i],
                                      devices, plan_phase(a->plan, reader)});
    }
}

/* A value of the next step that is gathered takes the place of the present one. */
static void take_place(Account *a, int32_t tensor, int32_t moved)
{
    int32_t old = a->graph->next_of ? a->graph->next_of[tensor] : -1;
    if (a->copies || moved < 0 || old < 0)
        return;
    span_at(a, moved)->whose = find_span(
        a, (HeldValue){old, a->plan->moved->sharding[old], span_at(a, moved)->devices, 0});
}

static void add_op(Account *a, int32_t op)
{
    const GraphOp *at = &a->graph->ops[op];
    int32_t *read = arena_array(a->arena, int32_t, at->n_inputs);
    int devices = plan_devices(a->plan, op);
    a->op = op;
    for (int i = 0; i < at->n_inputs; i++)
        read[i] = read_span(a, (HeldValue){op_inputs(a->graph, op)[i],
                                           a->plan->moved->need[at->input + i], devices,
                                           plan_phase(a->plan, op)});
    a->now++;
    for (int i = 0; i < at->n_inputs; i++)
        use_span(a, read[i]);
    bool absorbed = !a->copies && (op_absorbed_by(a->plan->inferred, op) >= 0 ||
                                   op_passes_on(a->plan->inferred, op));
    int32_t in_place = overwritten(a, op, read);
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i], span;
        if (tensor < 0 || a->plan->moved->made[tensor] < 0)
            continue;
        span = begin_span(a, (HeldValue){tensor, a->plan->moved->made[tensor], devices, 0});
        int32_t own = absorbed ? read[0] : updated_span(a, op, i, read);
        span_at(a, span)->whose = own < 0 && i == 0 ? in_place : own;
    }
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i];
        if (tensor >= 0 && a->plan->moved->made[tensor] != a->plan->moved->sharding[tensor])
            take_place(
                a, tensor,
                move_span(a, (HeldValue){tensor, a->plan->moved->sharding[tensor], devices, 0}));
        if (tensor >= 0 && reshards_at_once(a->plan, tensor))
            move_at_once(a, tensor, devices);
    }
}

/* It is alive from the op, or from where the op runs again, to its last gradient op. */
static void keep_for_gradient(Account *a, int32_t op)
{
    Phase phase = (Phase)a->graph->phase[op];
    int32_t of = phase == PHASE_FORWARD ? op : a->graph->of[op];
    if (of < 0 || phase == PHASE_UPDATE)
        return;
    if (phase == PHASE_BACKWARD) {
        use_span(a, a->kept_of[of]);
        return;
    }
    int32_t tensor = op_outputs(a->graph, op)[0];
    unsigned kept = tensor >= 0 && a->plan->moved->made[tensor] >= 0
                        ? operator_row_flags(&a->rows, op) & OPERATOR_KEEPS
                        : 0;
    if (!kept)
        return;
    int32_t chain = a->of_tensor[tensor];
    a->kept_of[of] = begin_span(
        a, (HeldValue){tensor, a->plan->moved->made[tensor], plan_devices(a->plan, op), 0});
    a->of_tensor[tensor] = chain; /* it is not the value */
    span_at(a, a->kept_of[of])->kernel = (uint16_t)kept;
}

/* The micro-batches that wait for their backward pass in the stage of an op, when those of all
 * stages of the device are most. */
static int in_flight_of(const Account *a, int32_t op)
{
    const Schedule *table = plan_schedule(a->plan);
    int stage = table ? a->plan->decided->stages->of_op[op] : -1;
    return stage >= 0 && table->trains && table->together && table->together[stage] > 1
               ? table->together[stage]
               : 1;
}

/* What the backward pass reads is there once for each micro-batch in flight. */
static void hold_others(Account *a)
{
    const Schedule *table = plan_schedule(a->plan);
    bool several = table && table->n_micro_batches > 1;
    if (!a->copies)
        account_drop_fused(a);
    for (int i = 0; several && i < a->spans.n; i++)
        if (span_at(a, i)->saved)
            span_at(a, i)->others = in_flight_of(a, span_at(a, i)->op) - 1;
    a->class = memory_classes(a->arena, a->plan->inferred);
    if (!a->copies)
        account_hold_gradients(a);
}

/* The inputs of all micro-batches of an inference schedule are there during the whole step, a cache
 * of keys and values among them. */
static void hold_inputs(Account *a)
{
    const Schedule *table = plan_schedule(a->plan);
    if (!table || table->trains || table->n_micro_batches < 2)
        return;
    a->last_backward = a->now;
    for (int i = 0; i < a->spans.n; i++) {
        LiveSpan *span = span_at(a, i);
        if (span->first == 0 && !tensor_is_parameter(a->plan->inferred, span->tensor))
            span->others = table->n_micro_batches - 1;
    }
}

/* Values that stay until the end: sources, which alone are alive at moment 0, and graph outputs. */
static void keep_to_end(Account *a)
{
    for (int i = 0; i < a->graph->n_outputs; i++) {
        int32_t tensor = a->graph->outputs[i], maker = a->graph->tensors[tensor].maker;
        bool made = maker >= 0 && !tensor_is_known(a->plan->inferred, tensor);
        int devices = made ? plan_devices(a->plan, maker) : 0;
        /* a training step has no use for what the model makes beside its loss */
        if (made && !a->copies && a->graph->phase && a->graph->phase[maker] == PHASE_FORWARD)
            continue;
        int32_t at =
            read_span(a, (HeldValue){tensor, a->plan->moved->sharding[tensor], devices, 0});
        if (at >= 0)
            span_at(a, at)->kept = true;
    }
    for (int i = 0; i < a->spans.n; i++) {
        span_at(a, i)->kept |= span_at(a, i)->first == 0;
        if (span_at(a, i)->kept)
            use_span(a, i);
    }
}

static void sort_by_part(Account *a)
{
    int n_parts = a->plan->decided->n_submeshes;
    int *end = arena_array(a->arena, int, n_parts + 2);
    for (int i = 0; i < a->spans.n; i++)
        end[span_at(a, i)->devices + 2]++;
    for (int part = 2; part <= n_parts; part++)
        end[part] += end[part - 1];
    a->by_part = arena_array(a->arena, int32_t, a->spans.n);
    for (int i = 0; i < a->spans.n; i++)
        a->by_part[end[span_at(a, i)->devices + 1]++] = i;
    a->part_begin = end;
}

Account *account_make(const Plan *plan, bool copies, Progress *progress)
{
    const Inferred *inferred = plan->inferred;
    Arena *arena = arena_new();
    Account *a = arena_make(arena, Account);
    *a = (Account){.arena = arena, .plan = plan, .graph = inferred->graph, .copies = copies};
    a->op = -1;
    a->of_tensor = arena_array(arena, int32_t, a->graph->n_tensors);
    for (int t = 0; t < a->graph->n_tensors; t++)
        a->of_tensor[t] = -1;
    a->spans.room = a->graph->n_tensors + plan->moved->n_reshards;
    a->spans.at = arena_array(arena, LiveSpan, a->spans.room);
    a->end = arena_array(arena, int, inferred->n_program);
    if (a->graph->phase && !copies) {
        a->rows = operator_rows_new(arena, inferred);
        a->kept_of = arena_array(arena, int32_t, a->graph->n_ops);
        memset(a->kept_of, -1, (size_t)a->graph->n_ops * sizeof *a->kept_of);
    }
    a->reshards = reshard_index(arena, plan);
    add_sources(a);
    for (int i = 0; i < inferred->n_program; i++) {
        if (i % LOOK_EVERY == 0 && progress_stopped(progress)) {
            arena_free(arena);
            return NULL;
        }
        add_op(a, inferred->program[i]);
        if (a->kept_of)
            keep_for_gradient(a, inferred->program[i]);
        a->end[i] = a->now;
        if (a->graph->phase && a->graph->phase[inferred->program[i]] != PHASE_UPDATE)
            a->last_backward = a->now;
    }
    a->op = -1;
    keep_to_end(a);
    if (a->graph->phase)
        hold_others(a);
    else
        hold_inputs(a);
    if (inferred->n_program > 0)
        a->end[inferred->n_program - 1] = a->now;
    sort_by_part(a);
    return a;
}

Account *memory_account_make(const Plan *plan, Progress *progress)
{
    return account_make(plan, false, progress);
}

Account *memory_account_new(const Plan *plan)
{
    return memory_account_make(plan, NULL);
}

void memory_account_free(Account *account)
{
    if (account)
        arena_free(account->arena);
}
