#include "core/search/config_plan.h"

#include "core/cost/step_parts.h"

void config_plan_make(Arena *arena, const SessionOptions *options, const SessionHooks *hooks,
                      ConfigPlan *out)
{
    Error err = {0};
    Session *session = session_open(options, hooks, &err);
    if (!session) {
        out->failed = arena_str(arena, str_from(err.text));
        return;
    }
    StepParts parts = step_parts(arena, session->plan);
    ConfigPart *named = arena_array(arena, ConfigPart, parts.n);
    for (int i = 0; i < parts.n; i++)
        named[i] =
            (ConfigPart){step_part_name(arena, session->mesh, &parts.part[i]), parts.part[i].us};
    out->legal = plan_is_legal(session->plan);
    out->step_us = plan_step_us(session->plan);
    out->peak_bytes = session->plan->priced->totals.peak_bytes;
    out->n_parts = parts.n;
    out->part = named;
    session_close(session);
}
