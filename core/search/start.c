#include "core/search/start.h"

static MemoChoice *kept_at(const SearchMemo *memo, const SearchNode *node)
{
    switch (node->kind) {
    case NODE_OP:
    case NODE_SUM:
        return &memo->of_op[node->place];
    case NODE_INPUT:
    case NODE_PARAMETER:
        return &memo->of_tensor[node->place];
    case NODE_SHARED:
        return &memo->of_shared[node->place];
    case NODE_FIXED:
        break;
    }
    return NULL;
}

static int32_t cut_id(const SearchMemo *memo, const SearchNode *node, int32_t c)
{
    return node->cut ? intern_find(memo->pins, node->cut[c], sizeof(OpCut)) : -1;
}

static MemoChoice choice_at(Instance *instance, int32_t node, const int32_t *choice)
{
    const SearchNode *at = &instance->nodes.at[node];
    int32_t c = choice[node];
    return (MemoChoice){instance_set(instance, node), c, cut_id(instance->memo, at, c)};
}

/* Of every op and tensor, not of the leading ones alone: the next search may fold otherwise. */
void start_keep(Instance *instance, const int32_t *choice)
{
    SearchMemo *memo = instance->memo;
    const Graph *graph = instance->inferred->graph;
    if (!memo->of_op) {
        memo->of_op = arena_array(memo->arena, MemoChoice, graph->n_ops);
        memo->of_tensor = arena_array(memo->arena, MemoChoice, graph->n_tensors);
        memo->of_shared = arena_array(memo->arena, MemoChoice, graph->n_tensors);
    }
    memset(memo->of_op, -1, sizeof *memo->of_op * (size_t)graph->n_ops);
    memset(memo->of_tensor, -1, sizeof *memo->of_tensor * (size_t)graph->n_tensors);
    memset(memo->of_shared, -1, sizeof *memo->of_shared * (size_t)graph->n_tensors);
    for (int32_t op = 0; op < graph->n_ops; op++)
        if (instance->node_of_op[op] >= 0)
            memo->of_op[op] = choice_at(instance, instance->node_of_op[op], choice);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        if (instance->node_of_tensor[t] >= 0)
            memo->of_tensor[t] = choice_at(instance, instance->node_of_tensor[t], choice);
        if (instance->shared_of_tensor[t] >= 0)
            memo->of_shared[t] = choice_at(instance, instance->shared_of_tensor[t], choice);
    }
}

const int32_t *start_of(Arena *arena, Instance *instance)
{
    const SearchMemo *memo = instance->memo;
    if (!memo->of_op)
        return NULL;
    SolveProblem problem = instance_problem(arena, instance);
    int32_t *out = arena_array(arena, int32_t, instance->nodes.n);
    for (int32_t n = 0; n < instance->nodes.n; n++) {
        const SearchNode *node = &instance->nodes.at[n];
        const MemoChoice *kept = kept_at(memo, node);
        if (node->kind == NODE_SHARED && kept->set != instance_set(instance, n))
            out[n] = solve_best_beside(&problem, n, out);
        else if (kept && kept->set == instance_set(instance, n))
            out[n] = kept->choice;
        else if (kept && kept->cut >= 0)
            for (int32_t c = 0; node->cut && c < node->n; c++)
                if (cut_id(memo, node, c) == kept->cut) {
                    out[n] = c;
                    break;
                }
    }
    return out;
}
