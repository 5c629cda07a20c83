#include "core/search/searchable.h"

#include "core/cost/pipeline.h"
#include "core/propagate/propagators.h"

/* Ops on parts of the mesh take a time that only a schedule tells. */
static bool has_parts_alone(const Plan *plan)
{
    return plan->decided->devices && !plan_schedule(plan);
}

bool search_takes(const Session *session, Error *err)
{
    if (has_parts_alone(session->plan))
        return error_kind(err, ERROR_UNSUPPORTED,
                          "a plan with ops on parts of the mesh, and no schedule that fits its "
                          "stages, is not searched") ||
               error_hint(err, "-m pp=4,tp=8 --train without a policy searches stages, schedule "
                               "and micro-batches; --devices N the mesh with them");
    const char *name = propagator_or_default(session->options.propagator)->name;
    if (strcmp(name, propagator_explain.name) != 0)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "the search decides pins for the propagator %s, not for %s",
                          propagator_explain.name, name);
    return true;
}
