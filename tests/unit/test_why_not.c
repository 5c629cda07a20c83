/* Why an axis is not on a dim: the op that stopped it is named, with its reason; every dim of the
 * samples' plans without an axis has an answer; and the log of events leads to the plan. */
#include "core/peers/propagators.h"
#include "tests/unit/planning.h"

#include "core/explain/events.h"
#include "core/propagate/propagate.h"
#include "core/explain/why_reshard.h"

typedef struct {
    const char *name, *model, *dims, *mesh, *pin;
    int dim;
    const char *axes;
    int64_t interleave;
    const char *tensor;
    int asked;
    const char *axis, *want; /* in the text */
    const Propagator *propagator;
} Question;

#define GPT "gpt2", "batch=8,seq=1024"
#define ATTN "transformer.h.0.attn."

static Question rows[] = {
    {"12 heads over 8", GPT, "tp=8", ATTN "c_attn.weight", 1, "tp", 3,
     "/transformer/h.0/attn/Reshape_output_0", 2, "tp", "does not accept it from dim 2",
     &propagator_explain},
    {"and so far it came", GPT, "tp=8", ATTN "c_attn.weight", 1, "tp", 3,
     "/transformer/h.0/attn/Reshape_output_0", 2, "tp", "tp:(1)4 shards it", &propagator_explain},
    {"parts cut across", GPT, "tp=4", ATTN "c_attn.weight", 1, "tp", 1,
     "/transformer/h.0/attn/Split_output_0", 2, "tp",
     "3 parts of 768, and sharding it by tp=4 splits across them", &propagator_explain},
    {"the sizes that do not divide", GPT, "tp=8", ATTN "c_attn.weight", 1, "tp", 3,
     "/transformer/h.0/attn/Reshape_output_0", 2, "tp", "because 12 x 64 does not divide by tp=8\n",
     &propagator_explain},
    {"softmax", GPT, "tp=2", "/transformer/h.0/attn/Softmax_output_0", 1, "tp", 1,
     "/transformer/h.0/attn/Softmax_output_0", 3, "tp", "tp already shards dim 1",
     &propagator_explain},
    {"a frozen dim", GPT, "tp=2", "/transformer/h.0/ln_1/LayerNormalization_output_0", 2, "tp", 1,
     "/transformer/Add_output_0", 2, "tp", "cannot run sharded", &propagator_explain},
    {"nowhere near", GPT, "dp=2,tp=4", "input_ids", 0, "dp", 1, "logits", 2, "tp",
     "no pin leads tp to any dim", &propagator_explain},
    {"a reader has it, the maker not", GPT, "tp=8", ATTN "c_proj.weight", 0, "tp", 1,
     "/transformer/h.0/attn/Reshape_3_output_0", 2, "tp",
     "does not accept it from dim 2 of /transformer/h.0/attn/Reshape_3_output_0\n",
     &propagator_explain},
    {"cut as it lies", GPT, "tp=4", "lm_head.weight", 0, "tp", 1, "lm_head.weight", 1, "tp",
     "tp already shards dim 0", &propagator_explain},
    {"an op without a rule", "../../tests/golden/errors/unknown-op", "batch=4", "dp=2,tp=2", "x", 0,
     "dp", 1, "y", 0, "tp", "the operator has no sharding rule", &propagator_explain},
    {"torch looks forward only", GPT, "tp=4", ATTN "c_proj.weight", 0, "tp", 1,
     "/transformer/h.0/attn/Reshape_3_output_0", 2, "tp", "propagates nothing back",
     &propagator_torch},
};

static void the_op_that_stopped_it_is_named(void **state)
{
    const Question *row = *state;
    Planning *p = planning_open(row->model, row->dims, row->mesh);
    planning_pin(p, row->pin, row->dim, row->axes, row->interleave, false);
    p->propagator = row->propagator;
    planning_make(p);
    Buf text = buf_new(p->arena);
    why_not_format(p->plan, naming_find(p->naming, str_from(row->tensor), NULL), row->asked,
                   mesh_find_axis(p->mesh, str_from(row->axis)), &text);
    if (!strstr(text.s, row->want))
        fail_msg("no '%s' in:\n%s", row->want, text.s);
    planning_close(p);
}

/* ---- both sides of a reshard ---- */

typedef struct {
    const char *name, *mesh;
    const char *pin[2];
    int dim[2];
    const char *axes[2];
    const char *tensor, *want; /* in what `why` says of the tensor */
} MovedRow;

static MovedRow moved[] = {
    {"what it must cost, the next best",
     "tp=4",
     {ATTN "c_proj.weight"},
     {0},
     {"tp"},
     "/transformer/h.0/attn/c_proj/Reshape_1_output_0",
     ", no path is cheaper; peak per rank 24.0 MiB; next best "},
    {"what the reader does not take, and why",
     "tp=2",
     {"/transformer/h.0/ln_1/LayerNormalization_output_0", "/transformer/Add_output_0"},
     {1, 2},
     {"tp", "tp"},
     "/transformer/Add_output_0",
     "  it does not accept tp from dim 2: the axis shards d1 there"},
    {"how the reader came by its axes",
     "tp=2",
     {"/transformer/h.0/ln_1/LayerNormalization_output_0", "/transformer/Add_output_0"},
     {1, 2},
     {"tp", "tp"},
     "/transformer/Add_output_0",
     "  it shards dim 1 by tp, back to its pin:\n"
     "   1 use  LayerNormalization transformer.h.0.ln_1  d1 sharded by tp\n"
     "   2 pin  /transformer/h.0/ln_1/LayerNormalization_output_0 dim 1  "},
};

static void both_sides_of_a_reshard_are_told(void **state)
{
    const MovedRow *row = *state;
    Planning *p = planning_open(GPT, row->mesh);
    for (int i = 0; i < 2 && row->pin[i]; i++)
        planning_pin(p, row->pin[i], row->dim[i], row->axes[i], 1, false);
    planning_make(p);
    Buf text = buf_new(p->arena);
    why_format(p->plan, naming_find(p->naming, str_from(row->tensor), NULL), -2, &text);
    if (!strstr(text.s, row->want))
        fail_msg("no '%s' in:\n%s", row->want, text.s);
    planning_close(p);
}

typedef struct {
    const char *name, *dims, *mesh;
} Sample;

static Sample samples[] = {{"tiny-gpt", "batch=4,seq=16", "dp=2,tp=2"},
                           {"llama-tiny", "batch=6,seq=15", "dp=3,tp=4"}};

static Planning *some_plan(const Sample *sample, const Propagator *propagator)
{
    Planning *p = planning_open(sample->name, sample->dims, sample->mesh);
    p->propagator = propagator;
    planning_pin(p, tensor_name(p->graph, p->graph->inputs[0]), 0, "dp", 1, false);
    for (int i = 0; i < naming_n_paths(p->naming); i++) {
        int32_t w = naming_part(p->naming, str_from(naming_path(p->naming, i)), PART_WEIGHT, NULL);
        if (w >= 0 && inferred_shape(p->inferred, w)->n_dims == 2 && i % 3 == 0)
            planning_pin(p, tensor_name(p->graph, w), 1, "tp", 1, false);
    }
    planning_make(p);
    return p;
}

static AtomSet flow_atoms(const Plan *plan, int32_t tensor, int dim)
{
    return cut_atoms(&shardings_at(plan->shardings, plan_reached(plan, tensor))->dim[dim]);
}

static void every_missing_axis_has_an_answer(void **state)
{
    Planning *p = some_plan(*state, &propagator_explain);
    int n_stops = 0, n_named = 0;
    for (int32_t t = 0; t < p->graph->n_tensors; t++)
        for (int axis = 0; axis < p->mesh->n_axes; axis++) {
            Arena *scratch = arena_new();
            WhyNot answer = why_not(scratch, p->plan, t, -1, axis);
            for (int d = 0; d < answer.n_dims; d++) {
                const WhyNotDim *dim = &answer.dim[d];
                AtomSet flowed = flow_atoms(p->plan, t, dim->dim);
                if (dim->n_stops == 0 && dim->other_dim < 0)
                    assert_int_equal(flowed & mesh_axis_atoms(p->mesh, axis) & ~dim->here, 0);
                for (int i = 0; i < answer.dim[d].n_stops; i++) {
                    const WhyNotStop *stop = &answer.dim[d].stop[i];
                    assert_true(stop->at.stop > STOP_NONE && stop->at.stop < STOP_COUNT);
                    assert_true(stop->beside || stop->has_chain || stop->at.stop == STOP_PARAMETER);
                    n_named += stop->at.stop != STOP_NESTING;
                    n_stops++;
                }
            }
            arena_free(scratch);
        }
    assert_true(n_stops > 50);
    assert_true(n_named > 10);
    planning_close(p);
}

static void check_chain(const Planning *p, const ReasonChain *chain)
{
    bool by_op = p->propagator == &propagator_torch || p->propagator == &propagator_vescale;
    ReasonKind root = chain->step[0].kind;
    assert_true(root == REASON_PIN || (by_op && root == REASON_CHOSEN));
    for (int i = 1; i < chain->n_steps && by_op; i++)
        assert_true(chain->step[i].kind != REASON_BACKWARD ||
                    tensor_is_parameter(p->inferred, chain->step[i].tensor) ||
                    p->inferred->on_parameters[chain->step[i].op]);
}

/* Of every axis on every dim, whoever put it there; under torch a chain leads forward only. */
static void check_chains(const Planning *p, int32_t tensor)
{
    for (int d = 0; d < plan_sharding(p->plan, tensor)->n_dims; d++) {
        Arena *scratch = arena_new();
        ReasonChain *chains;
        AtomSet atoms = cut_atoms(&plan_sharding(p->plan, tensor)->dim[d]);
        int want = 0, n = why_tensor_dim(scratch, p->plan, tensor, d, &chains);
        for (int axis = 0; axis < p->mesh->n_axes; axis++)
            want += (atoms & mesh_axis_atoms(p->mesh, axis)) != 0;
        if (n != want)
            fail_msg("%s dim %d under %s: %d chains of %d axes", tensor_name(p->graph, tensor), d,
                     p->propagator->profile, n, want);
        for (int i = 0; i < n; i++)
            check_chain(p, &chains[i]);
        arena_free(scratch);
    }
}

static void every_axis_has_an_origin(void **state)
{
    for (int i = 0; propagator_at(i); i++) {
        Planning *p = some_plan(*state, propagator_at(i));
        for (int32_t t = 0; t < p->graph->n_tensors; t++)
            if (p->plan->moved->sharding[t] >= 0)
                check_chains(p, t);
        planning_close(p);
    }
}

/* Replaying the events gives each tensor the cuts that the plan says flowed, each op its own. */
static void the_events_lead_to_the_plan(void **state)
{
    Planning *p = some_plan(*state, &propagator_explain);
    const Plan *plan = p->plan;
    const PlanEvent *events = plan_events(p->arena, plan);
    int32_t *last = arena_array(p->arena, int32_t, p->graph->n_tensors);
    const OpCut **cut = arena_array(p->arena, const OpCut *, p->graph->n_ops);
    memset(last, -1, (size_t)p->graph->n_tensors * sizeof *last);
    int turn = 0;
    assert_true(plan_n_events(plan) > 0);
    for (int i = 0; i < plan_n_events(plan); i++) {
        assert_true(events[i].turn >= turn);
        turn = events[i].turn;
        Buf said = buf_new(p->arena);
        plan_event_format(plan, &events[i], &said);
        assert_true(said.n > 0);
        if (events[i].tensor < 0) {
            if (events[i].op >= 0)
                cut[events[i].op] = events[i].cut[1];
            continue;
        }
        if (last[events[i].tensor] >= 0)
            assert_int_equal(last[events[i].tensor], events[i].from);
        last[events[i].tensor] = events[i].to;
    }
    for (int t = 0; t < p->graph->n_tensors; t++)
        if (last[t] >= 0)
            assert_int_equal(last[t], plan_reached(plan, t));
    for (int op = 0; op < p->graph->n_ops; op++)
        if (cut[op])
            assert_ptr_equal(cut[op], plan_cut(plan, op));
    int first = 0;
    while (events[first].tensor != p->graph->inputs[0])
        first++;
    assert_int_equal(events[first].op, -1); /* it is pinned */
    planning_close(p);
}

int main(void)
{
    return run_rows("why not", rows, the_op_that_stopped_it_is_named) +
           run_rows("reshards", moved, both_sides_of_a_reshard_are_told) +
           run_rows("answers", samples, every_missing_axis_has_an_answer) +
           run_rows("origins", samples, every_axis_has_an_origin) +
           run_rows("events", samples, the_events_lead_to_the_plan);
}
