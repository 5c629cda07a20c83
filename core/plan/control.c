#include "core/plan/control.h"

/* A branch that is known at load is taken or left out while shapes are inferred. */
static bool is_decided(const Inferred *inferred, const GraphBody *body)
{
    bool branch = body->kind == BODY_THEN || body->kind == BODY_ELSE;
    return branch && (body->of < 0 || tensor_is_known(inferred, body->of));
}

static bool returns_results(const Graph *graph, int32_t op, const GraphBody *body)
{
    static const char *const of_loops[] = {"LoopResult", "LoopStack", "SequenceMap"};
    const char *name = op_operator(graph, op);
    if (body->kind == BODY_THEN || body->kind == BODY_ELSE)
        return strcmp(name, "If") == 0 && op_inputs(graph, op)[0] == body->of;
    for (size_t i = 0; i < sizeof of_loops / sizeof *of_loops; i++)
        if (strcmp(name, of_loops[i]) == 0)
            return true;
    return false;
}

int control_ranges(Arena *arena, const Inferred *inferred, const ControlRange **out)
{
    const Graph *graph = inferred->graph;
    Vec(ControlRange) ranges = {0};
    int32_t end = 0;
    for (int b = 0; b < graph->n_bodies; b++) {
        const GraphBody *body = &graph->bodies[b];
        if (body->first == body->end || body->end <= end || is_decided(inferred, body))
            continue;
        bool continues = ranges.n > 0 && body->kind == BODY_ELSE && body->first == end;
        for (end = body->end; end < graph->n_ops && returns_results(graph, end, body);)
            end++;
        if (!continues)
            vec_push(arena, &ranges, ((ControlRange){.first = body->first}));
        ranges.at[ranges.n - 1].end = end;
    }
    *out = ranges.at;
    return ranges.n;
}

int32_t control_read(const Inferred *inferred, int b)
{
    const GraphBody *body = &inferred->graph->bodies[b];
    if (body->of < 0 || is_decided(inferred, body))
        return -1;
    bool branch = body->kind == BODY_THEN || body->kind == BODY_ELSE;
    int64_t most;
    bool counted = inferred_known_trips(inferred, b) >= 0 ||
                   value_one_int(inferred_value(inferred, body->of), &most);
    return branch || !counted ? body->of : -1;
}

int32_t control_sharding(const Plan *plan, int32_t tensor, int devices)
{
    const Shape *shape = inferred_shape(plan->inferred, tensor);
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    bool there = maker < 0 || plan_devices(plan, maker) == devices;
    if (!shape)
        return -1;
    if (there && inferred_is_list(plan->inferred, tensor))
        return plan->moved->sharding[tensor];
    Sharding whole = sharding_whole(shape);
    return shardings_put(plan->shardings, &whole);
}

bool control_reads_condition(const Inferred *inferred, int b)
{
    const GraphBody *body = &inferred->graph->bodies[b];
    if (body->kind != BODY_LOOP || inferred_known_trips(inferred, b) >= 0)
        return false;
    const GraphCarry *condition = &inferred->graph->carries[body->carry];
    int32_t op = condition->in < 0 ? -1 : inferred->graph->tensors[condition->in].maker;
    return op >= 0 && !inferred_is_host(inferred, op);
}
