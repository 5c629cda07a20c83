/* What fused element-wise kernels need not keep, in the account of a training step (memory.h). */
#include "core/cost/memory_account.h"

/* Per operator name of the graph: whether it computes each element from the same elements of its
 * inputs, by the file that has its row. */
typedef struct {
    const Account *a;
    int8_t *of_name; /* 1: yes, -1: no, 0: not known yet */
} Pointwise;

static bool is_pointwise(Pointwise *p, int32_t op)
{
    static const char *const families[] = {"pointwise", "elementwise"};
    const Graph *graph = p->a->graph;
    int32_t of = graph->phase[op] == PHASE_BACKWARD && graph->of[op] >= 0 ? graph->of[op] : op;
    int8_t *known = &p->of_name[graph->ops[of].op_type];
    if (*known == 0) {
        const Registry *registry = p->a->plan->inferred->registry;
        const Operator *row =
            registry ? registry_find(registry, str_from(op_operator(graph, of))) : NULL;
        *known = -1;
        for (size_t i = 0; row && row->family && i < sizeof families / sizeof *families; i++)
            if (strcmp(row->family, families[i]) == 0)
                *known = 1;
    }
    return *known > 0;
}

static bool is_saved(const Account *a, int32_t tensor)
{
    for (int32_t at = a->of_tensor[tensor]; at >= 0; at = span_at(a, at)->next)
        if (span_at(a, at)->saved)
            return true;
    return false;
}

/* A kernel has it again from values that are there anyway. */
static bool inputs_are_there(const Account *a, int32_t op)
{
    const Inferred *inferred = a->plan->inferred;
    for (int i = 0; i < a->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(a->graph, op)[i];
        if (t >= 0 && !tensor_is_parameter(inferred, t) && !tensor_is_known(inferred, t) &&
            !is_saved(a, t))
            return false;
    }
    return true;
}

/* Whether gradient ops that read the value are element-wise; *last: the last op of the forward pass
 * that reads it, or -1. */
static bool readers_are_pointwise(Pointwise *p, int32_t tensor, int32_t *last)
{
    const Graph *graph = p->a->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    *last = -1;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        if (graph->phase[use[u]] == PHASE_FORWARD)
            *last = use[u] > *last ? use[u] : *last;
        else if (graph->phase[use[u]] != PHASE_BACKWARD || !is_pointwise(p, use[u]))
            return false;
    }
    return true;
}

void account_drop_fused(Account *a)
{
    const Inferred *inferred = a->plan->inferred;
    Pointwise p = {a, arena_array(a->arena, int8_t, names_count(a->graph->names))};
    int *end = arena_array(a->arena, int, a->graph->n_ops);
    for (int i = 0; i < inferred->n_program; i++)
        end[inferred->program[i]] = a->end[i];
    for (int i = 0; i < a->spans.n; i++) {
        LiveSpan *span = span_at(a, i);
        int32_t maker = a->graph->tensors[span->tensor].maker, last;
        if (!span->saved || span->filled || span->kernel || span->whose >= 0 || maker != span->op ||
            !is_pointwise(&p, maker) || !inputs_are_there(a, maker) ||
            !readers_are_pointwise(&p, span->tensor, &last))
            continue;
        span->saved = false;
        span->last = last >= 0 && end[last] < span->last ? end[last] : span->last;
    }
}
