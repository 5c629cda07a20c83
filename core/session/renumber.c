#include "core/session/renumber.h"

/* The op of that name, at its old place if it is there still; -1: it is gone. */
static int32_t op_again(const Graph *from, const Graph *to, int32_t op)
{
    const char *name = op_name(from, op);
    bool there = op < to->n_ops && strcmp(op_name(to, op), name) == 0;
    return there ? op : graph_find_op(to, str_from(name));
}

static int32_t tensor_again(const Graph *from, const Graph *to, int32_t tensor)
{
    const char *name = tensor_name(from, tensor);
    bool there = tensor < to->n_tensors && strcmp(tensor_name(to, tensor), name) == 0;
    return there ? tensor : graph_find_tensor(to, str_from(name));
}

static bool find_again(const Graph *from, const Graph *to, Decision *decision)
{
    if (decision_is_on_all(decision->kind))
        return true;
    if (decision_is_on_tensor(decision->kind)) {
        decision->place = tensor_again(from, to, decision->place);
        return decision->place >= 0;
    }
    decision->place = op_again(from, to, decision->place);
    if (decision->kind == PIN_DEVICES || decision->kind == PIN_RECOMPUTE)
        decision->last = op_again(from, to, decision->last);
    return decision->place >= 0 && decision->last >= 0;
}

Journal journal_renumbered(const Session *session, const Graph *from, const Journal *journal)
{
    Journal out = {0};
    if (from == session->graph)
        return *journal;
    for (int i = 0; i < journal->decisions.n; i++) {
        Decision decision = journal->decisions.at[i];
        if (!find_again(from, session->graph, &decision))
            continue;
        vec_push(session->journal_arena, &out.decisions, decision);
        out.n_done += i < journal->n_done;
    }
    return out;
}
