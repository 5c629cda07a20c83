#include "core/explain/events.h"

#include "core/propagate/engine.h"

int plan_n_events(const Plan *plan)
{
    return plan->propagated->log.flow ? plan->propagated->log.flow->events.n : 0;
}

static AtomSet sharding_cuts(const Plan *plan, int32_t sharding)
{
    return sharding < 0 ? 0 : sharding_atoms(shardings_at(plan->shardings, sharding));
}

/* States of tensors and of ops at one moment of the log. */
typedef struct {
    const Plan *plan;
    int32_t *tensor, *op; /* op: 1 + state, 0 before its first event */
} Moment;

static int32_t op_of_log(const Plan *plan, int32_t op)
{
    if (plan->propagated->log.op)
        return op < 0 ? -1 : plan->propagated->log.op[op];
    return op < plan->inferred->graph->n_ops ? op : -1;
}

static PlanEvent step(Moment *moment, const FlowEvent *at, int turn)
{
    const Plan *plan = moment->plan;
    const PlanLog *log = &plan->propagated->log;
    bool set = log->flow->turns.at[turn].pass == PASS_SET;
    PlanEvent event = {.op = op_of_log(plan, at->op), .tensor = at->tensor};
    event.turn = turn;
    if (at->tensor >= 0) {
        int32_t *state = &moment->tensor[at->tensor];
        event.from = log->sharding_of(log->context, plan->shardings, *state);
        event.to = log->sharding_of(log->context, plan->shardings, at->after);
        event.added = sharding_cuts(plan, event.to) & ~sharding_cuts(plan, event.from);
        event.op = set ? -1 : event.op;
        *state = at->after;
        return event;
    }
    int32_t *state = &moment->op[at->op];
    event.cut[0] = *state ? log->cut_of(log->context, *state - 1) : NULL;
    event.cut[1] = log->cut_of(log->context, at->after);
    event.added = cuts_used(event.cut[1]->index, event.cut[1]->n, -1);
    if (event.cut[0])
        event.added &= ~cuts_used(event.cut[0]->index, event.cut[0]->n, -1);
    event.from = event.to = -1;
    *state = at->after + 1;
    return event;
}

static int turn_of(const FlowLog *log, int turn, int event)
{
    while (turn + 1 < log->turns.n && log->turns.at[turn + 1].first <= event)
        turn++;
    return turn;
}

static Moment begin(Arena *arena, const Plan *plan)
{
    int n_tensors = plan->inferred->graph->n_tensors, n_ops = 0;
    const FlowLog *log = plan->propagated->log.flow;
    for (int i = 0; i < log->events.n; i++)
        n_ops = log->events.at[i].op >= n_ops ? log->events.at[i].op + 1 : n_ops;
    Moment moment = {.plan = plan};
    moment.tensor = arena_array(arena, int32_t, n_tensors);
    moment.op = arena_array(arena, int32_t, n_ops);
    /* of a training step the forward part was propagated alone */
    const Inferred *forward = plan->inferred->forward;
    for (int t = 0; t < (forward ? forward->graph->n_tensors : n_tensors); t++)
        moment.tensor[t] = log->start[t];
    return moment;
}

const PlanEvent *plan_events(Arena *arena, const Plan *plan)
{
    int n = plan_n_events(plan), turn = 0;
    PlanEvent *events = arena_array(arena, PlanEvent, n);
    if (n == 0)
        return events;
    Moment moment = begin(arena, plan);
    for (int i = 0; i < n; i++) {
        turn = turn_of(plan->propagated->log.flow, turn, i);
        events[i] = step(&moment, &plan->propagated->log.flow->events.at[i], turn);
    }
    return events;
}

void plan_turn_format(const Plan *plan, int turn, Buf *out)
{
    const FlowTurn *at = &plan->propagated->log.flow->turns.at[turn];
    if (at->pass == PASS_SET) {
        buf_puts(out, "pins");
        return;
    }
    buf_puts(out, plan->propagated->log.pass_name[at->pass]);
    if (at->direction != FLOW_BOTH)
        buf_puts(out, at->direction == FLOW_FORWARD ? ", forward" : ", backward");
}

static void put_sharding(const Plan *plan, int32_t sharding, Buf *out)
{
    if (sharding < 0 ||
        !sharding_format(shardings_at(plan->shardings, sharding), plan->mesh, VIEW_OURS, out, NULL))
        buf_puts(out, "?");
}

/* "n: 768 -> 768/tp" for each index dim that changed. */
static void put_cuts(const Plan *plan, const PlanEvent *event, Buf *out)
{
    if (event->op < 0) {
        buf_puts(out, "the values that a loop carries");
        return;
    }
    const OpSpace *space = program_space(plan->inferred, event->op);
    const char *comma = "";
    for (int i = 0; i < event->cut[1]->n; i++) {
        Cut whole = cut_whole(space->index[i].size);
        const Cut *before = event->cut[0] ? &event->cut[0]->index[i] : &whole;
        if (cut_equal(before, &event->cut[1]->index[i]))
            continue;
        buf_printf(out, "%s%s ", comma, space->index[i].name);
        cut_format(&event->cut[1]->index[i], plan->mesh, out);
        comma = ", ";
    }
}

void plan_event_format(const Plan *plan, const PlanEvent *event, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    if (event->op >= 0)
        buf_printf(out, "%s %s  ", op_operator(graph, event->op),
                   op_path_or_name(graph, event->op));
    if (event->tensor < 0) {
        put_cuts(plan, event, out);
        return;
    }
    buf_printf(out, "%s  ", tensor_name(graph, event->tensor));
    put_sharding(plan, event->from, out);
    buf_puts(out, " -> ");
    put_sharding(plan, event->to, out);
}
