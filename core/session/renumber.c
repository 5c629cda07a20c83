#include "core/session/renumber.h"

/* What a decision is about in another derivation of the same step; false: it is not there. */
static bool find_again(const Graph *from, const Graph *to, Decision *decision)
{
    decision->place = decision_is_on_tensor(decision->kind)
                          ? graph_find_tensor(to, str_from(tensor_name(from, decision->place)))
                          : graph_find_op(to, str_from(op_name(from, decision->place)));
    return decision->place >= 0;
}

Journal journal_renumbered(const Session *session, const Graph *from, const Journal *journal)
{
    bool behind = false;
    for (int i = 0; i < journal->decisions.n && from != session->graph; i++)
        behind |= decision_is_behind_forward(session->inferred, &journal->decisions.at[i]);
    if (!behind)
        return *journal;
    Journal out = {0};
    for (int i = 0; i < journal->decisions.n; i++) {
        Decision decision = journal->decisions.at[i];
        if (decision_is_behind_forward(session->inferred, &decision) &&
            !find_again(from, session->graph, &decision))
            continue;
        vec_push(session->journal_arena, &out.decisions, decision);
        out.n_done += i < journal->n_done;
    }
    return out;
}
