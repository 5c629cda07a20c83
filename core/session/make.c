#include "core/session/make.h"

#include "core/cost/cost.h"
#include "core/cost/memory.h"
#include "core/cost/mesh_order.h"
#include "core/cost/pipeline.h"
#include "core/explain/load_findings.h"
#include "core/explain/mismatch.h"
#include "core/explain/reason.h"
#include "core/explain/configuration_check.h"
#include "core/explain/step_check.h"
#include "core/explain/store_findings.h"
#include "core/plan/decide.h"
#include "core/plan/edges.h"
#include "core/plan/routed.h"
#include "core/plan/plan_machine.h"
#include "core/plan/value_split.h"
#include "core/plan/stage.h"
#include "core/propagate/propagators.h"
#include "core/propagate/rings.h"
#include "core/propagate/step_cuts.h"
#include "core/reshard/lend.h"

static Plan *plan_new(const PlanRequest *request)
{
    Arena *arena = arena_new();
    Plan *plan = arena_make(arena, Plan);
    const Inferred *inferred = request->inferred;
    *plan = (Plan){.arena = arena, .inferred = inferred, .mesh = request->mesh};
    plan->naming = request->naming;
    plan->machine = request->machine;
    plan->propagator = propagator_or_default(request->propagator);
    plan->shardings = shardings_new(arena);
    plan->resharder = resharder_new(arena, plan->mesh, plan->machine, plan->shardings);
    plan->reasons = reasons_new(arena);
    plan->routed = routed_of(arena, inferred);
    for (int i = 0; i < inferred->findings.n; i++)
        vec_push(arena, &plan->findings, inferred->findings.at[i]);
    return plan;
}

static void propagate_forward(Plan *plan, const PlanRequest *request)
{
    const Graph *graph = plan->inferred->graph;
    Propagated *out = arena_make(plan->arena, Propagated);
    plan->propagated = out;
    if (!plan->propagator->by_states) {
        out->reached = arena_array(plan->arena, int32_t, graph->n_tensors);
        out->pinned = arena_array(plan->arena, uint16_t, graph->n_tensors);
    }
    out->cut = arena_array(plan->arena, int32_t, graph->n_ops);
    for (int i = 0; i < graph->n_ops; i++)
        out->cut[i] = -1;
    plan->propagator->run(plan, out, request);
    rings_put(plan, out, 0, graph->n_ops);
}

/* Of a training step's decisions those about its forward pass, which come first. */
static Decided forward_decisions(const Plan *plan)
{
    Decided decided = *plan->decided;
    while (decided.n_pins > 0 &&
           decision_is_behind_forward(plan->inferred, decided.pins[decided.n_pins - 1]))
        decided.n_pins--;
    while (decided.n_marks > 0 &&
           decision_is_behind_forward(plan->inferred, decided.marks[decided.n_marks - 1]))
        decided.n_marks--;
    return decided;
}

/* Of a training step the forward part: *forward is the plan as the propagator sees it. */
static void propagate_step_forward(const Plan *plan, const PlanRequest *request, Decided *decided,
                                   Plan *forward)
{
    PlanRequest asked = *request;
    *forward = *plan;
    *decided = forward_decisions(plan);
    forward->decided = decided;
    forward->inferred = asked.inferred =
        plan->inferred->forward; /* shorter columns of it are read */
    propagate_forward(forward, &asked);
}

/* Of a training step the propagator sees the forward part alone. */
void plan_propagate(Plan *plan, const PlanRequest *request)
{
    if (!plan->inferred->forward) {
        propagate_forward(plan, request);
        return;
    }
    Plan forward;
    Decided decided;
    propagate_step_forward(plan, request, &decided, &forward);
    plan->findings = forward.findings;
    Propagated *out = arena_make(plan->arena, Propagated);
    plan->propagated = out;
    step_cuts(plan, &forward, out);
    rings_put(plan, out, forward.inferred->graph->n_ops, plan->inferred->graph->n_ops);
}

/* Every stage checks first whether the work was cancelled, except the first one. */
static bool fill_plan(Plan *plan, const PlanRequest *request, Error *err)
{
    Progress *progress = plan->progress = request->progress;
    int n = plan->inferred->n_program;
    progress_stage(progress, "propagating", 0);
    plan_propagate(plan, request);
    if (!progress_goes_on(progress, err))
        return false;
    stages_check(plan);
    progress_stage(progress, "finding reshards", n);
    plan_resharders(plan);
    value_split_find(plan);
    edges_fill(plan);
    if (!progress_goes_on(progress, err))
        return false;
    progress_stage(progress, "looking for findings", 0);
    if (!request->figures_only)
        mismatch_find(plan);
    step_check(plan);
    if (!request->figures_only) {
        store_find(plan);
        load_find(plan);
    }
    progress_findings(progress, plan->findings.n);
    if (!progress_goes_on(progress, err))
        return false;
    progress_stage(progress, "pricing", 0);
    Priced *priced = arena_make(plan->arena, Priced);
    plan->priced = priced;
    cost_fill(plan, priced);
    priced->pipeline = pipeline_price(plan);
    configuration_check(plan);
    if (!request->figures_only)
        mesh_order_find(plan);
    if (!progress_goes_on(progress, err))
        return false;
    progress_stage(progress, "counting memory", 0);
    Arena *scratch = arena_new();
    MemoryUse use = memory_use(scratch, plan);
    priced->totals.peak_bytes = use.peak_bytes;
    priced->peak_rank = use.rank;
    arena_free(scratch);
    plan->progress = NULL;
    return progress_goes_on(progress, err);
}

/* A plan with its decisions. */
static Plan *plan_begin(const PlanRequest *request, Error *err)
{
    const Journal *journal = request->journal;
    for (int i = 0; i < journal->n_done; i++)
        if (!decision_check(request->inferred, request->mesh, &journal->decisions.at[i], err))
            return NULL;
    Plan *plan = plan_new(request);
    plan_decide(plan, journal);
    return plan;
}

Plan *plan_make_cuts(const PlanRequest *request, Error *err)
{
    Plan *plan = plan_begin(request, err);
    if (plan)
        plan_propagate(plan, request);
    return plan;
}

Plan *plan_make_forward_cuts(const PlanRequest *request, Error *err)
{
    Plan *plan = plan_begin(request, err), forward;
    Decided decided;
    if (!plan || !plan->inferred->forward) {
        if (plan)
            plan_propagate(plan, request);
        return plan;
    }
    propagate_step_forward(plan, request, &decided, &forward);
    plan->propagated = forward.propagated;
    plan->findings = forward.findings;
    return plan;
}

Plan *plan_make(const PlanRequest *request, Error *err)
{
    Plan *plan = plan_begin(request, err);
    if (!plan)
        return NULL;
    resharder_borrow(plan->resharder, request->lender);
    bool filled = fill_plan(plan, request, err);
    resharder_borrow(plan->resharder, NULL);
    if (filled)
        return plan;
    plan_free(plan);
    return NULL;
}

void plan_free(Plan *plan)
{
    if (!plan)
        return;
    reasons_forget(plan->reasons);
    arena_free(plan->arena);
}
