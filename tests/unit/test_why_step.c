/* Reasons behind the forward pass of a training step: each axis of each gradient, state and updated
 * value leads back to a pin, through the op that its own op copies or through what is stored; what
 * keeps an axis away is said of the op that makes the value. */
#include "core/explain/why_not.h"
#include "tests/unit/opened.h"

#define SAMPLES "samples/models/"
#define H0 "transformer.h.0."

typedef struct {
    const char *name, *model, *dims, *mesh, *policy, *set, *train;
} StepRow;

static Opened open_row(const StepRow *row)
{
    Arena *arena = arena_new();
    Source dims = {"dims", str_from(row->dims)};
    Error err = {0};
    SessionOptions options = {
        .model = row->model, .mesh = row->mesh, .policy = row->policy, .train = row->train};
    if ((row->dims[0] && !dims_parse(arena, &dims, &options.dims, &err)) ||
        (row->set[0] && !policy_settings_with(arena, &options.settings, str_from(row->set),
                                              &options.settings, &err)))
        fail_msg("%s", err.text);
    return open_in(arena, &options);
}

/* ---- every axis has a reason ---- */

#define GPT SAMPLES "tiny-gpt.onnx", "batch=4,seq=16"
#define LLAMA SAMPLES "llama-tiny.onnx", "batch=4,seq=16"

static StepRow steps[] = {
    {"megatron", GPT, "dp=2,tp=2", "megatron", "", "adamw,clip=1"},
    {"sequence parallel, zero 1", GPT, "dp=2,tp=2", "megatron_sp", "zero=1", "adamw"},
    {"recomputed", GPT, "tp=4", "megatron_sp", "recompute=full", "adamw"},
    {"zero 2", GPT, "dp=4", "dp", "zero=2", "momentum"},
    {"fsdp", GPT, "dp=4", "fsdp", "keep=true", "adamw"},
    {"context", GPT, "dp=2,cp=2", "context", "zero=1", "adamw"},
    {"stages", LLAMA, "pp=2,dp=2,tp=2", "hybrid3d", "zero=1", "adamw"},
    {"zero 3", SAMPLES "llama-3-tiny.json", "", "dp=2,tp=2", "megatron", "zero=3", "adamw"},
    {"a convolution", SAMPLES "tiny-conv.onnx", "", "dp=2", "dp", "zero=1", "adamw,clip=1"},
    {"windows", SAMPLES "tiny-conv.onnx", "", "sp=2", "tests/training/halo.lua", "", "sgd"},
};

/* Returns false if a step behind the model goes against the way in which cuts are taken there: out
 * of a gradient op into what it reads, or into one from what it reads. */
static bool goes_forward(const Plan *plan, const ReasonChain *chain)
{
    for (int i = 0; i < chain->n_steps; i++) {
        const ReasonStep *step = &chain->step[i];
        bool copies = step->op >= 0 && op_copies_partition(plan, step->op);
        if (copies && (step->kind == REASON_BACKWARD || step->kind == REASON_USE))
            return false;
    }
    return true;
}

/* dim -1: partial axes. Returns how many axes it has. */
static int expect_reasons(Arena *arena, const Plan *plan, int32_t tensor, int dim)
{
    const Sharding *lies = plan_sharding(plan, tensor);
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
    AtomSet atoms =
        dim < 0 ? sharding_partials(made) : cut_atoms(&lies->dim[dim]) | cut_atoms(&made->dim[dim]);
    ReasonChain *chains;
    int n = why_tensor_dim(arena, plan, tensor, dim, &chains), n_axes = 0;
    for (int axis = 0; axis < plan->mesh->n_axes; axis++)
        n_axes += (mesh_axis_atoms(plan->mesh, axis) & atoms) != 0;
    if (n != n_axes)
        fail_msg("%s dim %d has %d axes and %d reasons", tensor_name(plan->inferred->graph, tensor),
                 dim, n_axes, n);
    for (int i = 0; i < n; i++)
        if (!goes_forward(plan, &chains[i]) || chains[i].step[0].kind != REASON_PIN)
            fail_msg("the reason of %s dim %d is none: the op copies its partition",
                     tensor_name(plan->inferred->graph, tensor), dim);
    return n;
}

static void every_axis_of_a_step_leads_back_to_a_pin(void **state)
{
    Opened o = open_row(*state);
    const Plan *plan = o.session->plan;
    int n_axes = 0;
    for (int32_t t = 0; t < plan->inferred->graph->n_tensors; t++) {
        Arena *scratch = arena_new();
        if (plan->moved->sharding[t] >= 0)
            for (int d = -1; d < plan_sharding(plan, t)->n_dims; d++)
                n_axes += expect_reasons(scratch, plan, t, d);
        arena_free(scratch);
    }
    assert_true(n_axes > 50);
    close_opened(&o);
}

/* ---- what is said ---- */

typedef struct {
    const char *title, *tensor, *axis; /* axis NULL: why, not why-not */
    StepRow step;
    const char *want, *never; /* in the text; "": nothing */
} AskedRow;

#define STEP(mesh, policy, set)                                                                    \
    {                                                                                              \
        "", GPT, mesh, policy, set, "adamw"                                                        \
    }

static const AskedRow asked[] = {
    {"a gradient op has the partition of its op", H0 "attn.c_attn.weight~grad", NULL,
     STEP("dp=2,tp=2", "megatron", ""),
     "   2 of   Gemm~d1 backward.transformer.h.0.attn.c_attn  m+ sharded by dp as in Gemm "
     "transformer.h.0.attn.c_attn\n",
     " bwd "},
    {"an all-reduce is where the update needs the gradient", H0 "attn.c_attn.weight~grad", NULL,
     STEP("dp=2,tp=2", "megatron", ""), ": AR dp ", ""},
    {"an updated value lies as its states are stored", "transformer.wte.weight~next", NULL,
     STEP("dp=4", "fsdp", ""), "   2 pin  transformer.wte.weight dim 0, stored  fsdp.lua:", ""},
    {"and is gathered if the parameter is whole", "transformer.wte.weight~next", NULL,
     STEP("dp=4", "dp", "zero=1"), "dim 0  256/dp  as its op produces it, sharded by dp, back to",
     "readers need"},
    {"a bias that takes what its op needs", H0 "attn.c_attn.bias~next", NULL,
     STEP("dp=2,tp=2", "megatron", ""),
     "   3 use  Gemm transformer.h.0.attn.c_attn  n sharded by tp", "itself"},
    {"the axis sums the gradient", H0 "attn.c_attn.weight~grad", "dp",
     STEP("dp=2,tp=2", "megatron", ""),
     "which makes it along k: the axis shards m there as in Gemm transformer.h.0.attn.c_attn, and "
     "can shard only one index dim of an op\n",
     "update."},
    {"stored by it, it has it", H0 "attn.c_attn.weight~grad", "dp", STEP("dp=4", "fsdp", ""),
     "dim 0  64\n  dp shards it: see `why`\n", "dim 0  64\n  dp is"},
    {"storage of states is no reason against a gradient", "transformer.wte.weight~grad", "dp",
     STEP("dp=4", "dp", "zero=1"), "dp is at Gather~d0 backward.transformer.wte", "borders"},
    {"nor against a parameter", "transformer.wte.weight", "dp", STEP("dp=4", "dp", "zero=1"),
     "dp is at Gather transformer.wte", "borders"},
};

static void the_step_is_explained_by_what_it_copies(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        Opened o = open_row(&asked[i].step);
        const Plan *plan = o.session->plan;
        int32_t tensor = naming_find(o.session->naming, str_from(asked[i].tensor), NULL);
        Buf text = buf_new(o.arena);
        if (asked[i].axis)
            why_not_format(plan, tensor, -1, mesh_find_axis(plan->mesh, str_from(asked[i].axis)),
                           &text);
        else
            why_format(plan, tensor, -2, &text);
        if (!strstr(text.s, asked[i].want))
            fail_msg("%s: no '%s' in\n%s", asked[i].title, asked[i].want, text.s);
        if (asked[i].never[0] && strstr(text.s, asked[i].never))
            fail_msg("%s: '%s' in\n%s", asked[i].title, asked[i].never, text.s);
        close_opened(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_step_is_explained_by_what_it_copies),
    };
    return run_rows("reasons", steps, every_axis_of_a_step_leads_back_to_a_pin) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
