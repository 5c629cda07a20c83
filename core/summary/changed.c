#include "core/summary/changed.h"

/* Ids of shardings and cuts of one plan, mapped to numbers that both plans share. */
typedef struct {
    const Plan *plan;
    int32_t *sharding, *cut;
} ChangedSide;

static ChangedSide side_new(Arena *arena, const Plan *plan, Intern *layouts, Intern *cuts)
{
    int n_shardings = shardings_count(plan->shardings);
    ChangedSide side = {plan, arena_array(arena, int32_t, n_shardings),
                        arena_array(arena, int32_t, plan->propagated->n_cuts)};
    for (int i = 0; i < n_shardings; i++)
        side.sharding[i] = intern_put(layouts, shardings_at(plan->shardings, i), sizeof(Sharding));
    for (int i = 0; i < plan->propagated->n_cuts; i++)
        side.cut[i] = intern_put(cuts, plan->propagated->cuts[i]->index,
                                 sizeof(Cut) * (size_t)plan->propagated->cuts[i]->n);
    return side;
}

static int32_t number_of(const int32_t *numbers, int32_t id)
{
    return id < 0 ? -1 : numbers[id];
}

static bool lies_alike(const ChangedSide *a, const ChangedSide *b, int32_t tensor)
{
    return number_of(a->sharding, a->plan->moved->sharding[tensor]) ==
           number_of(b->sharding, b->plan->moved->sharding[tensor]);
}

/* A tensor that no op makes belongs to the ops that read it. */
static bool read_alike(const ChangedSide *a, const ChangedSide *b, int32_t place)
{
    const Graph *graph = a->plan->inferred->graph;
    int32_t tensor = graph->operands[place];
    bool given = tensor >= 0 && graph->tensors[tensor].maker < 0;
    return number_of(a->sharding, a->plan->moved->need[place]) ==
               number_of(b->sharding, b->plan->moved->need[place]) &&
           (!given || lies_alike(a, b, tensor));
}

static bool alike(const ChangedSide *a, const ChangedSide *b, int32_t op)
{
    const Graph *graph = a->plan->inferred->graph;
    const GraphOp *node = &graph->ops[op];
    if (number_of(a->cut, a->plan->propagated->cut[op]) !=
        number_of(b->cut, b->plan->propagated->cut[op]))
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (!read_alike(a, b, node->input + i))
            return false;
    for (int i = 0; i < node->n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor >= 0 && (number_of(a->sharding, a->plan->moved->made[tensor]) !=
                                number_of(b->sharding, b->plan->moved->made[tensor]) ||
                            !lies_alike(a, b, tensor)))
            return false;
    }
    return true;
}

ChangedOps plan_changed_ops(Arena *arena, const Plan *old, const Plan *new)
{
    if (old->inferred != new->inferred || old->mesh != new->mesh)
        return (ChangedOps){0};
    const Inferred *inferred = new->inferred;
    Arena *scratch = arena_new();
    Intern *layouts = intern_new(scratch), *cuts = intern_new(scratch);
    ChangedSide a = side_new(scratch, old, layouts, cuts),
                b = side_new(scratch, new, layouts, cuts);
    ChangedOps changed = {0, arena_array(arena, uint64_t, inferred->graph->n_ops / 64 + 1)};
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (alike(&a, &b, op))
            continue;
        changed.n++;
        changed.bits[op / 64] |= (uint64_t)1 << (op % 64);
    }
    arena_free(scratch);
    return changed;
}
