#include "core/cost/exposed.h"

#include "core/cost/cost.h"
#include "core/cost/streams.h"

typedef struct {
    const Plan *plan;
    const Streams *streams;
    double *bytes; /* per row of the streams: of all its steps */
    double *us;    /* per reshard; NULL: bytes are being summed */
    int32_t r;
} Exposing;

/* The row of the streams that a step belongs to. */
static int find_row(const Streams *streams, const PricedStep *step)
{
    for (int i = 0; i < streams->n; i++)
        if (streams->at[i].stage == step->stage && streams->at[i].when == step->when &&
            streams->at[i].kind == step->step->kind && streams->at[i].atoms == step->step->atoms)
            return i;
    return -1;
}

static void visit_step(void *context, const PricedStep *step)
{
    Exposing *e = context;
    double bytes = step->times * (double)step->step->bytes;
    bool sent = step->when == WHEN_RECEIVED || step->when == WHEN_RETURNED;
    if (!streams_have(e->plan, &e->plan->moved->reshards[e->r], step)) {
        if (e->us)
            e->us[e->r] += sent ? 0 : step->us;
        return;
    }
    int row = find_row(e->streams, step);
    if (row >= 0 && !e->us)
        e->bytes[row] += bytes;
    else if (row >= 0 && e->bytes[row] > 0)
        e->us[e->r] += e->streams->at[row].exposed_us * bytes / e->bytes[row];
}

static void visit_all(Exposing *e)
{
    for (e->r = 0; e->r < e->plan->moved->n_reshards; e->r++)
        pipeline_visit_steps(e->plan, &e->plan->moved->reshards[e->r], visit_step, e);
}

bool exposed_by_streams(const Plan *plan)
{
    return plan->inferred->forward && plan->priced->pipeline;
}

void reshards_exposed(const Plan *plan, double *us)
{
    if (!exposed_by_streams(plan)) {
        cost_exposed(plan, us);
        return;
    }
    Arena *scratch = arena_new();
    Exposing e = {.plan = plan, .streams = plan->priced->pipeline->streams};
    e.bytes = arena_array(scratch, double, e.streams->n);
    memset(us, 0, sizeof *us * (size_t)plan->moved->n_reshards);
    visit_all(&e);
    e.us = us;
    visit_all(&e);
    arena_free(scratch);
}
