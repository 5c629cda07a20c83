/* Which products are computed in parts: what is found is faster as a plan, and what is not faster
 * is left as it is. */
#include "tests/unit/unit.h"

#include "core/cost/pipeline.h"
#include "core/search/overlap.h"
#include "scripts/hooks.h"

#include <math.h>

typedef struct {
    const char *name, *model, *mesh, *policy, *train;
    int groups;      /* that are computed in parts */
    double at_least; /* the share of the step's time that this saves */
} OverlapRow;

/* Of a layer: what reads the one gathered value, q, k and v, or gate and up; what is reduced and
 * scattered, o, or down; in the step one of these is not
 * faster. Megatron without sequence parallelism has nothing to gather. */
static OverlapRow rows[] = {
    {"gathers and sums of an inference", "samples/models/llama-3-8b.json", "tp=8", "megatron_sp",
     NULL, 4, 0.1},
    {"a step of training", "samples/models/llama-3-8b.json", "tp=8", "megatron_sp", "auto", 3,
     0.05},
    {"nothing is gathered", "samples/models/llama-3-8b.json", "tp=8", "megatron", NULL, 0, 0},
};

static void what_is_found_is_faster(void **state)
{
    const OverlapRow *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = row->model, .mesh = row->mesh, .policy = row->policy, .train = row->train};
    Session *session = session_open(&options, &hooks, NULL);
    assert_non_null(session);
    double before = plan_step_us(session->plan);
    OverlapResult found;
    assert_true(overlap_find(arena, session, NULL, &found, NULL));
    assert_true(found.before_us == before);
    assert_int_equal(found.n_kept, row->groups);
    assert_int_equal(found.n > 0, row->groups > 0);
    assert_true(found.after_us <= before * (1 - row->at_least));
    assert_true(found.n == 0 || session_apply(session, found.decisions, found.n, NULL));
    assert_true(fabs(plan_step_us(session->plan) - found.after_us) <= 1e-9 * found.after_us);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    return run_rows("products in parts", rows, what_is_found_is_faster);
}
