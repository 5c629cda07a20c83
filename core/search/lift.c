#include "core/search/lift.h"

#include "core/propagate/propagate.h"
#include "core/session/make.h"
#include "core/summary/decision_lua.h"

static bool is_lifted(const Journal *journal, const bool *lifted, int i)
{
    return journal->decisions.at[i].origin.kind == ORIGIN_SEARCH || (lifted && lifted[i]);
}

bool lift_decisions(Arena *arena, const Session *session, const bool *lifted, Session *out,
                    Error *err)
{
    const Journal *journal = &session->journal;
    *out = *session;
    out->propagation =
        session->propagation ? propagation_new(arena, session->inferred, session->mesh) : NULL;
    out->progress = NULL;
    int n_left = 0;
    for (int i = 0; i < journal->n_done; i++)
        n_left += !is_lifted(journal, lifted, i);
    if (n_left == journal->n_done)
        return true;
    Journal left = {0};
    for (int i = 0; i < journal->n_done; i++)
        if (!is_lifted(journal, lifted, i))
            journal_add(&left, arena, &journal->decisions.at[i]);
    PlanRequest request = session_request(out, &left);
    out->plan = plan_make(&request, err);
    out->journal = left;
    return out->plan != NULL;
}

void lift_end(const Session *session, Session *lifted)
{
    if (lifted->plan != session->plan)
        plan_free(lifted->plan);
}

void lift_searched(Arena *arena, const Session *session, LiftedDecisions *out)
{
    const Journal *journal = &session->journal;
    for (int i = 0; i < journal->n_done; i++) {
        Decision decision = journal->decisions.at[i];
        if (decision.origin.kind != ORIGIN_SEARCH || !decision_pins_dim(decision.kind))
            continue;
        const Decision *holds =
            decision.store
                ? plan_store_pin_of(session->plan, decision.place, decision.dim)
                : plan_pin_of(session->plan, decision.kind, decision.place, decision.dim);
        if (!holds || holds->origin.kind != ORIGIN_SEARCH)
            continue;
        Buf text = buf_new(arena);
        decision.kind = decision.kind == PIN_TENSOR_DIM ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM;
        decision.cut = NULL;
        decision.store = 0;
        decision_lua(session, &decision, &text);
        decision.origin.text = text.s;
        vec_push(arena, out, decision);
    }
}
