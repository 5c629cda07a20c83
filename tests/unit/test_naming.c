/* PATH.weight, .bias, .in and .out in models of three exporters: what flows in and out of a module
 * is so whether ops are on its path or only beneath it. */
#include "tests/unit/opened.h"
#include "tests/unit/planning.h"

#include "core/propagate/propagators.h"
#include "core/summary/label.h"

typedef struct {
    const char *name, *model, *dims, *want; /* want: a tensor */
} Asked;

#define GPT "gpt2", "batch=8,seq=1024"
#define DYNAMO "gpt2-dynamo", "batch=8,seq=1024"
#define VIT "vit_b_16", "batch=8"
#define LAYER "encoder.layers.encoder_layer_1"

static Asked rows[] = {
    {"transformer.h.1.attn.in", GPT, "/transformer/h.1/ln_1/LayerNormalization_output_0"},
    {"transformer.h.1.attn.out", GPT, "/transformer/h.1/attn/c_proj/Reshape_1_output_0"},
    {"transformer.h.1.attn.c_proj.in", GPT, "/transformer/h.1/attn/Reshape_3_output_0"},
    {"transformer.h.1.mlp.in", GPT, "/transformer/h.1/ln_2/LayerNormalization_output_0"},
    {"transformer.h.1.mlp.out", GPT, "/transformer/h.1/mlp/c_proj/Reshape_1_output_0"},
    {"transformer.h.1.in", GPT, "/transformer/h.0/Add_1_output_0"},
    {"transformer.h.1.out", GPT, "/transformer/h.1/Add_1_output_0"},
    {"transformer.h.1.mlp.c_fc.weight", GPT, "transformer.h.1.mlp.c_fc.weight"},
    {"transformer.h.1.mlp.weight", GPT, NULL},
    {"lm_head.weight", GPT, "onnx::MatMul_2861"},
    {"transformer.h.1.attn.in", DYNAMO, "layer_norm_2"},
    {"transformer.h.1.mlp.out", DYNAMO, "view_27"},
    {LAYER ".in", VIT, "add_2"},
    {LAYER ".self_attention.in", VIT, "layer_norm_2"},
    {LAYER ".mlp.out", VIT, "linear_7"},
    {LAYER ".nothing.out", VIT, NULL},
};

static void a_part_of_a_module_is(void **state)
{
    const Asked *row = *state;
    Planning *p = planning_open(row->model, row->dims, "tp=2");
    int32_t tensor = naming_find(p->naming, str_from(row->name), NULL);
    if (row->want)
        assert_string_equal(tensor < 0 ? "nothing" : tensor_name(p->graph, tensor), row->want);
    else
        assert_int_equal(tensor, -1);
    planning_close(p);
}

/* ---- the name that is shown ---- */

typedef struct {
    const char *name, *model, *tensor, *want;
} Shown;

static Shown shown[] = {
    {"a weight that the exporter renamed", "falcon-ts", "onnx::MatMul_553",
     "m.transformer.h.0.self_attention.query_key_value.weight"},
    {"the same of another exporter", "mamba-dyn", "val_6",
     "m.backbone.layers.0.mixer.in_proj.weight"},
    {"the file's name is kept", "mamba-dyn", "m.backbone.layers.0.norm.weight",
     "m.backbone.layers.0.norm.weight"},
    {"a module with modules inside names nothing: this is conv1d's", "mamba-dyn", "unsqueeze",
     "unsqueeze"},
    {"neither does one around an embedding", "clip-dyn", "expand", "expand"},
    {"a rotary table", "gemma2-dyn", "unsqueeze_26", "unsqueeze_26"},
    {"a mask", "gemma2-dyn", "where", "where"},
};

static void name_is_shown(void **state)
{
    const Shown *row = *state;
    Arena *arena = arena_new();
    const char *model = arena_printf(arena, "tests/families/%s.onnx", row->model);
    Opened o = open_in(arena, &(SessionOptions){.model = model, .mesh = "tp=2"});
    int32_t tensor = graph_find_tensor(o.session->graph, str_from(row->tensor));
    assert_true(tensor >= 0);
    assert_string_equal(naming_label(o.session->naming, tensor), row->want);
    close_opened(&o);
}

/* What findings call a tensor is what screens and tables call it. */
static void findings_name_tensors_as_screens_do(void **state)
{
    static const char *const profiles[] = {"factor", "spmd", "strategy"};
    (void)state;
    int n_values = 0;
    for (size_t p = 0; p < COUNT_OF(profiles); p++) {
        Arena *arena = arena_new();
        SessionOptions options = {.model = "tests/families/phi3-dyn.onnx", .mesh = "dp=2,tp=3"};
        options.policy = "scripts/policies/megatron.lua";
        assert_true(propagator_find(str_from(profiles[p]), STR(""), &options.propagator, NULL));
        Opened o = open_in(arena, &options);
        const Findings *findings = &o.session->plan->findings;
        for (int i = 0; i < findings->n; i++) {
            const Finding *found = &findings->at[i];
            if (found->tensor < 0)
                continue;
            const char *name = arena_str(arena, label_tensor(o.session, arena, found->tensor));
            if (!strstr(found->text, name))
                fail_msg("%s: '%s' does not name %s", profiles[p], found->text, name);
            n_values += o.session->graph->tensors[found->tensor].maker >= 0;
        }
        close_opened(&o);
    }
    assert_true(n_values > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(findings_name_tensors_as_screens_do)};

    return run_rows("naming", rows, a_part_of_a_module_is) +
           run_rows("names shown", shown, name_is_shown) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
