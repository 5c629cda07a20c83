#include "core/plan/plan.h"

#include "core/plan/routed.h"

const Cut *decision_cut(const Decision *decision)
{
    static const Cut none;
    return decision->cut ? decision->cut : &none;
}

void decision_format_store(const Decision *decision, Buf *out)
{
    if (decision->store != STORED_NONE) {
        buf_puts(out, ", ");
        if (decision->store != STORED_ALL) {
            stored_format(decision->store, out);
            buf_putc(out, ' ');
        }
        buf_puts(out, "stored");
    }
    buf_puts(out, decision->keep ? ", kept gathered" : "");
}

const Cut *cut_keep(Intern *cuts, const Cut *cut)
{
    Cut own = {.n = cut->n, .around = cut->around, .before = cut->before, .after = cut->after};
    memcpy(own.digit, cut->digit, (size_t)cut->n * sizeof *own.digit);
    return intern_key(cuts, intern_put(cuts, &own, sizeof own), NULL);
}

void journal_add(Journal *journal, Arena *arena, const Decision *decision)
{
    Decision own = *decision;
    if (!journal->cuts)
        journal->cuts = intern_new(arena);
    if (own.cut)
        own.cut = cut_keep(journal->cuts, own.cut);
    journal->decisions.n = journal->n_done;
    vec_push_own(arena, &journal->decisions, own);
    journal->n_done = journal->decisions.n;
}

bool decision_pins_dim(DecisionKind kind)
{
    return kind == PIN_TENSOR_DIM || kind == PIN_INDEX_DIM;
}

int32_t plan_gradient(const Plan *plan, int32_t tensor)
{
    const Graph *graph = plan->inferred->graph;
    if (!graph->gradient_of)
        return -1;
    Arena *scratch = arena_new();
    const char *name = arena_printf(scratch, "%s~grad", tensor_name(graph, tensor));
    int32_t gradient = graph_find_tensor(graph, str_from(name));
    arena_free(scratch);
    return gradient >= 0 && graph->gradient_of[gradient] == tensor ? gradient : -1;
}

bool decision_is_behind_forward(const Inferred *inferred, const Decision *decision)
{
    const Graph *forward = inferred->forward ? inferred->forward->graph : NULL;
    return forward && !decision_is_on_ops(decision->kind) &&
           decision->place >=
               (decision_is_on_tensor(decision->kind) ? forward->n_tensors : forward->n_ops);
}

const char *decision_kind_name(DecisionKind kind)
{
    /* ORDER DECISION_KIND */
    static const char *const names[DECISION_KIND_COUNT] = {
        "pin",     "pin",    "unpin", "unpin",   "replicated", "unreduced", "tie",
        "barrier", "unmark", "stage", "devices", "recompute",  "schedule",  "assume"};
    return names[kind];
}

const char *pass_name(Pass pass)
{
    /* ORDER PASS */
    static const char *const names[] = {"none", "forward", "backward", "both"};
    return names[pass];
}

bool decision_is_on_tensor(DecisionKind kind)
{
    return kind != PIN_INDEX_DIM && kind != UNPIN_INDEX_DIM && !decision_is_on_ops(kind);
}

bool decision_is_on_ops(DecisionKind kind)
{
    return kind >= PIN_STAGE && kind <= PIN_ASSUMED;
}

bool decision_is_on_all(DecisionKind kind)
{
    return kind == PIN_SCHEDULE || kind == PIN_ASSUMED;
}

bool decision_marks_tensor(DecisionKind kind)
{
    return kind >= PIN_REPLICATED && kind <= PIN_BARRIER;
}

bool plan_is_legal(const Plan *plan)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (plan->findings.at[i].level == LEVEL_ERROR)
            return false;
    return true;
}

int64_t plan_local_bytes(const Plan *plan, int32_t tensor, int32_t sharding)
{
    if (sharding < 0)
        return 0;
    const Sharding *held = shardings_at(plan->shardings, sharding);
    int64_t n = sharding_most_elements(held, plan->mesh);
    return routed_bytes(plan->routed, tensor, held, plan->mesh,
                        inferred_part_bytes(plan->inferred, tensor, n));
}
