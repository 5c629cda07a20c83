/* Models built from configs: experts, latent attention, encoders and images. Their parameters are
 * counted against the published checkpoints, and small ones run on ranks as on one device. */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/run/run.h"

/* ---- what is published ---- */

typedef struct {
    const char *name, *config;
    int64_t params;
    int all_reduces; /* under megatron.lua, two a block, three where it has a third; 0: not asked */
    const char *shapes; /* "NAME 4096,4096; ..": tensors of the checkpoint */
} PublishedRow;

#define MIXTRAL(sizes)                                                                             \
    "{\"model_type\": \"mixtral\", \"num_local_experts\": 8, \"num_experts_per_tok\": 2, "         \
    "\"num_key_value_heads\": 8, \"vocab_size\": 32000, \"torch_dtype\": \"bfloat16\", " sizes "}"

#define DEEPSEEK(sizes)                                                                            \
    "{\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "                \
    "\"v_head_dim\": 128, \"torch_dtype\": \"bfloat16\", " sizes "}"

#define T5(sizes)                                                                                  \
    "{\"model_type\": \"t5\", \"vocab_size\": 32128, \"d_kv\": 64, "                               \
    "\"relative_attention_num_buckets\": 32, " sizes "}"

#define BERT(sizes)                                                                                \
    "{\"model_type\": \"bert\", \"vocab_size\": 30522, \"max_position_embeddings\": 512, " sizes "}"

#define BASE                                                                                       \
    "\"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12, "               \
    "\"intermediate_size\": 3072"
#define LARGE                                                                                      \
    "\"hidden_size\": 1024, \"num_hidden_layers\": 24, \"num_attention_heads\": 16, "              \
    "\"intermediate_size\": 4096"

static PublishedRow published[] = {
    {"Mixtral-8x7B",
     MIXTRAL("\"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
             "\"intermediate_size\": 14336"),
     46702792704, 64,
     "model.layers.31.self_attn.k_proj.weight 1024,4096; "
     "model.layers.0.block_sparse_moe.gate.weight 8,4096; "
     "model.layers.0.block_sparse_moe.experts.w1.weight 8,14336,4096; "
     "model.layers.0.block_sparse_moe.experts.w2.weight 8,4096,14336"},
    {"Mixtral-8x22B",
     MIXTRAL("\"hidden_size\": 6144, \"num_hidden_layers\": 56, \"num_attention_heads\": 48, "
             "\"intermediate_size\": 16384"),
     140620634112, 112,
     "model.layers.55.block_sparse_moe.experts.w3.weight 8,16384,6144; lm_head.weight 32000,6144"},
    {"DeepSeek-V2-Lite",
     DEEPSEEK("\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, \"num_hidden_layers\": 27, "
              "\"num_attention_heads\": 16, \"intermediate_size\": 10944, "
              "\"moe_intermediate_size\": 1408, \"n_routed_experts\": 64, \"n_shared_experts\": 2, "
              "\"num_experts_per_tok\": 6, \"topk_method\": \"greedy\", \"q_lora_rank\": null, "
              "\"first_k_dense_replace\": 1, \"vocab_size\": 102400"),
     15706484224, 80,
     "model.layers.0.self_attn.q_proj.weight 3072,2048; "
     "model.layers.0.mlp.up_proj.weight 10944,2048; "
     "model.layers.1.mlp.shared_experts.up_proj.weight 2816,2048"},
    {"DeepSeek-V2",
     DEEPSEEK("\"model_type\": \"deepseek_v2\", \"hidden_size\": 5120, \"num_hidden_layers\": 60, "
              "\"num_attention_heads\": 128, \"intermediate_size\": 12288, "
              "\"moe_intermediate_size\": 1536, \"n_routed_experts\": 160, "
              "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"n_group\": 8, "
              "\"topk_group\": 3, \"topk_method\": \"group_limited_greedy\", "
              "\"q_lora_rank\": 1536, \"first_k_dense_replace\": 1, \"vocab_size\": 102400"),
     235741434880, 179,
     "model.layers.59.self_attn.q_a_proj.weight 1536,5120; "
     "model.layers.59.self_attn.q_b_proj.weight 24576,1536; "
     "model.layers.59.self_attn.kv_a_proj_with_mqa.weight 576,5120; "
     "model.layers.59.mlp.experts.down_proj.weight 160,5120,1536"},
    {"DeepSeek-V3, without the second token's module",
     DEEPSEEK("\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168, \"num_hidden_layers\": 61, "
              "\"num_attention_heads\": 128, \"intermediate_size\": 18432, "
              "\"moe_intermediate_size\": 2048, \"n_routed_experts\": 256, "
              "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"n_group\": 8, "
              "\"topk_group\": 4, \"scoring_func\": \"sigmoid\", \"q_lora_rank\": 1536, "
              "\"first_k_dense_replace\": 3, \"vocab_size\": 129280"),
     671026419200, 180,
     "model.layers.60.self_attn.kv_b_proj.weight 32768,512; "
     "model.layers.60.self_attn.o_proj.weight 7168,16384; "
     "model.layers.2.mlp.gate_proj.weight 18432,7168; model.layers.3.mlp.gate.weight 256,7168; "
     "model.layers.3.mlp.gate.e_score_correction_bias 256; "
     "model.layers.3.mlp.experts.gate_proj.weight 256,2048,7168"},
    {"t5-small", T5("\"d_model\": 512, \"d_ff\": 2048, \"num_layers\": 6, \"num_heads\": 8"),
     60506624, 30,
     "shared.weight 32128,512; "
     "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight 32,8; "
     "decoder.block.5.layer.1.EncDecAttention.o.weight 512,512; "
     "decoder.block.5.layer.2.DenseReluDense.wi.weight 2048,512"},
    {"t5-base", T5("\"d_model\": 768, \"d_ff\": 3072, \"num_layers\": 12, \"num_heads\": 12"),
     222903552, 60, "decoder.final_layer_norm.weight 768"},
    {"t5-v1_1-small",
     T5("\"d_model\": 512, \"d_ff\": 1024, \"num_layers\": 8, \"num_heads\": 6, "
        "\"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false"),
     76961152, 40,
     "encoder.block.7.layer.1.DenseReluDense.wi_1.weight 1024,512; lm_head.weight 32128,512"},
    {"bert-base-uncased", BERT(BASE), 109482240, 24,
     "bert.embeddings.word_embeddings.weight 30522,768; "
     "bert.embeddings.token_type_embeddings.weight 2,768; "
     "bert.encoder.layer.11.attention.self.query.weight 768,768; "
     "bert.encoder.layer.11.attention.output.LayerNorm.bias 768; "
     "bert.encoder.layer.11.intermediate.dense.weight 3072,768; bert.pooler.dense.weight 768,768"},
    {"bert-large-uncased", BERT(LARGE), 335141888, 48,
     "bert.encoder.layer.23.output.dense.weight 1024,4096"},
    {"ViT-B/16", "{\"model_type\": \"vit\", " BASE "}", 86567656, 24,
     "vit.embeddings.cls_token 1,1,768; vit.embeddings.position_embeddings 1,197,768; "
     "vit.embeddings.patch_embeddings.projection.weight 768,3,16,16; "
     "vit.encoder.layer.11.attention.attention.value.bias 768; "
     "vit.encoder.layer.11.attention.output.dense.weight 768,768; classifier.weight 1000,768"},
    {"ViT-L/16", "{\"model_type\": \"vit\", " LARGE "}", 304326632, 48,
     "vit.encoder.layer.23.layernorm_after.weight 1024"},
    {"Swin-T",
     "{\"model_type\": \"swin\", \"embed_dim\": 96, \"depths\": [2, 2, 6, 2], "
     "\"num_heads\": [3, 6, 12, 24], \"window_size\": 7}",
     28288354, 0,
     "swin.encoder.layers.0.blocks.1.attention.self.relative_position_bias_table 169,3; "
     "swin.encoder.layers.2.downsample.reduction.weight 768,1536; "
     "swin.encoder.layers.3.blocks.1.intermediate.dense.weight 3072,768; swin.layernorm.bias 768"},
    {"Swin-B",
     "{\"model_type\": \"swin\", \"embed_dim\": 128, \"depths\": [2, 2, 18, 2], "
     "\"num_heads\": [4, 8, 16, 32], \"window_size\": 7}",
     87768224, 48, "classifier.weight 1000,1024"},
};

/* Fails at the first tensor that the list has otherwise. */
static void compare_shapes(const OpenedText *o, const char *shapes)
{
    const Graph *graph = o->session->graph;
    Buf have;
    for (Str rest = str_from(shapes); rest.n > 0;) {
        Str item = str_trim(str_take(&rest, ';'));
        Str name = str_take(&item, ' ');
        int32_t tensor = graph_find_tensor(graph, name);
        if (tensor < 0)
            fail_msg("there is no %.*s", STR_ARG(name));
        have = buf_new(o->arena);
        shape_format(inferred_shape(o->session->inferred, tensor), &have);
        if (!str_eq(buf_str(&have), item))
            fail_msg("%.*s is %s", STR_ARG(name), have.s);
    }
}

static void parameters_are_those_published(void **state)
{
    const PublishedRow *row = *state;
    OpenedText o = model_text_open(row->config, "", NULL, NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    assert_int_equal(inferred_params(o.session->inferred), row->params);
    assert_int_equal(o.session->inferred->findings.n, 0);
    compare_shapes(&o, row->shapes);
    model_text_close(&o);
}

static int count_all_reduces(const Plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->moved->n_reshards; i++)
        for (int s = 0; s < plan->moved->reshards[i].path->n_steps; s++, n++)
            assert_int_equal(plan->moved->reshards[i].path->step[s].kind, STEP_ALL_REDUCE);
    return n;
}

/* Lookups in the table of the vocabulary: T5 has one in the encoder and one in the decoder. */
static int n_lookups(const char *model)
{
    if (str_starts(str_from(model), STR("ViT")) || str_starts(str_from(model), STR("Swin")))
        return 0;
    return str_starts(str_from(model), STR("t5")) ? 2 : 1;
}

/* tp.lua leaves the vocabulary whole. What stays whole is a warning. */
static void megatron_sums_each_pair_once(void **state)
{
    const PublishedRow *row = *state;
    static const char *const policies[] = {"tp", "megatron"};
    for (int p = 0; row->all_reduces > 0 && p < 2; p++) {
        OpenedText o = model_text_open(row->config, "", "dp=1,tp=2", policies[p]);
        if (!o.session)
            fail_msg("%s", o.err.text);
        const Plan *plan = o.session->plan;
        assert_int_equal(count_all_reduces(plan),
                         row->all_reduces + (p == 1 ? n_lookups(row->name) : 0));
        for (int i = 0; i < plan->findings.n; i++)
            if (plan->findings.at[i].level != LEVEL_NOTE &&
                strcmp(plan->findings.at[i].code, "policy-warns") != 0)
                fail_msg("%s", plan->findings.at[i].text);
        model_text_close(&o);
    }
}

/* ---- configs that do not do ---- */

typedef struct {
    const char *name, *config, *want;
} RefusedRow;

#define ROUTED(fields)                                                                             \
    "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 8, \"num_hidden_layers\": 2, "             \
    "\"num_attention_heads\": 2, \"intermediate_size\": 8, \"vocab_size\": 8, "                    \
    "\"moe_intermediate_size\": 8, \"n_routed_experts\": 6, \"num_experts_per_tok\": 2, "          \
    "\"scoring_func\": \"sigmoid\", \"kv_lora_rank\": 8, \"qk_nope_head_dim\": 8, "                \
    "\"v_head_dim\": 8, " fields "}"

static RefusedRow refused[] = {
    {"groups that do not share evenly", ROUTED("\"qk_rope_head_dim\": 4, \"n_group\": 4"),
     "\"n_group\" is 4, which does not divide 6 experts"},
    {"groups with too few experts",
     ROUTED("\"qk_rope_head_dim\": 4, \"n_group\": 6, \"topk_group\": 1"),
     "\"topk_group\" is 1: so many of 6 groups of 1 experts have no 2 to choose"},
    {"half a pair", ROUTED("\"qk_rope_head_dim\": 3"),
     "\"qk_rope_head_dim\" is odd, and numbers are turned in pairs"},
    {"layers counted by a word",
     ROUTED("\"qk_rope_head_dim\": 4, \"first_k_dense_replace\": \"x\""),
     "\"first_k_dense_replace\" is"},
    {"a patch larger than the image",
     "{\"model_type\": \"vit\", \"image_size\": 8, \"hidden_size\": 8, "
     "\"num_attention_heads\": 2, \"intermediate_size\": 8, \"patch_size\": 16}",
     "\"patch_size\" is 16, and the image 8 on a side"},
};

static void is_refused(void **state)
{
    const RefusedRow *row = *state;
    OpenedText o = model_text_open(row->config, "", NULL, NULL);
    assert_null(o.session);
    if (!strstr(o.err.text, row->want) || o.err.line != 1)
        fail_msg("%d: %s", o.err.line, o.err.text);
    model_text_close(&o);
}

/* ---- small ones, on ranks ---- */

typedef struct {
    const char *name, *config, *dims;
    int limit[2]; /* of the numbers in each input of integers */
    const char *mesh, *policy;
} RanksRow;

#define SMALL                                                                                      \
    "\"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "                  \
    "\"intermediate_size\": 48, \"vocab_size\": 64, \"max_position_embeddings\": 16"
#define SMALL_LATENT                                                                               \
    SMALL ", \"moe_intermediate_size\": 16, \"first_k_dense_replace\": 1, "                        \
          "\"n_routed_experts\": 8, \"num_experts_per_tok\": 3, \"n_group\": 4, "                  \
          "\"topk_group\": 2, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8, "                     \
          "\"qk_rope_head_dim\": 4, \"v_head_dim\": 8, \"rope_scaling\": {\"type\": \"yarn\", "    \
          "\"factor\": 4, \"mscale\": 1, \"mscale_all_dim\": 0.7, "                                \
          "\"original_max_position_embeddings\": 16}"

static const char small_mixtral[] =
    "{\"model_type\": \"mixtral\", \"num_key_value_heads\": 2, "
    "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, " SMALL "}",
                  small_v2[] = "{\"model_type\": \"deepseek_v2\", \"n_shared_experts\": 2, "
                               "\"routed_scaling_factor\": 16, "
                               "\"topk_method\": \"group_limited_greedy\", " SMALL_LATENT "}",
                  small_v3[] =
                      "{\"model_type\": \"deepseek_v3\", \"n_shared_experts\": 1, "
                      "\"scoring_func\": \"sigmoid\", \"norm_topk_prob\": true, "
                      "\"routed_scaling_factor\": 2.5, \"q_lora_rank\": 24, " SMALL_LATENT "}",
                  small_t5[] = "{\"model_type\": \"t5\", \"d_model\": 32, \"d_kv\": 8, "
                               "\"d_ff\": 48, \"num_layers\": 2, \"num_heads\": 4, "
                               "\"vocab_size\": 64, \"relative_attention_num_buckets\": 8, "
                               "\"relative_attention_max_distance\": 8, "
                               "\"feed_forward_proj\": \"gated-gelu\"}",
                  small_bert[] = "{\"model_type\": \"bert\", " SMALL "}",
                  small_vit[] = "{\"model_type\": \"vit\", \"image_size\": 32, \"patch_size\": 8, "
                                "\"num_labels\": 10, " SMALL "}",
                  small_swin[] = "{\"model_type\": \"swin\", \"embed_dim\": 16, "
                                 "\"depths\": [2, 2], \"num_heads\": [2, 4], \"window_size\": 4, "
                                 "\"image_size\": 32, \"num_labels\": 10}";

#define ON_RANKS(name, config, dims, a, b)                                                         \
    {name ", dp", config, dims, {a, b}, "dp=2", "dp"},                                             \
        {name ", tp", config, dims, {a, b}, "tp=2", "tp"},                                         \
    {                                                                                              \
        name ", dp and tp", config, dims, {a, b}, "dp=2,tp=2", "megatron"                          \
    }

static RanksRow on_ranks[] = {
    ON_RANKS("mixtral", small_mixtral, "batch=4,seq=12", 64, 0),
    ON_RANKS("deepseek v2", small_v2, "batch=4,seq=12", 64, 0),
    ON_RANKS("deepseek v3", small_v3, "batch=4,seq=12", 64, 0),
    ON_RANKS("t5", small_t5, "batch=4,seq=12,target_seq=10", 64, 64),
    ON_RANKS("bert", small_bert, "batch=4,seq=12", 64, 2),
    ON_RANKS("vit", small_vit, "batch=4", 0, 0),
    ON_RANKS("swin", small_swin, "batch=4", 0, 0),
    {"mixtral, ep", small_mixtral, "batch=4,seq=12", {64, 0}, "ep=2", "expert"},
    {"mixtral, dp and ep", small_mixtral, "batch=4,seq=12", {64, 0}, "dp=2,ep=2", "expert"},
    {"deepseek v2, dp and ep", small_v2, "batch=4,seq=12", {64, 0}, "dp=2,ep=2", "expert"},
    {"deepseek v3, ep", small_v3, "batch=4,seq=12", {64, 0}, "ep=2", "expert"},
    {"deepseek v3, dp and ep", small_v3, "batch=4,seq=12", {64, 0}, "dp=2,ep=2", "expert"},
};

static void runs_as_on_one_device(void **state)
{
    const RanksRow *row = *state;
    OpenedText o = model_text_open(row->config, row->dims, row->mesh, row->policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
    options.inputs = vectors_made(o.arena, o.session->inferred, row->limit);
    RunReport report;
    bool ran = run_plan(o.arena, o.session->plan, &options, &report, &o.err);
    vectors_remove(o.arena, options.inputs);
    if (!ran)
        fail_msg("%s", o.err.text);
    assert_true(report.n_values_checked > 50);
    assert_true(report.ok && report.first_bad == -1);
    model_text_close(&o);
}

typedef struct {
    const char *name, *config;
    int n_attention, n_softmax; /* routers of experts have a softmax too */
} AttentionRow;

static const char eager_mixtral[] =
    "{\"model_type\": \"mixtral\", \"num_key_value_heads\": 2, "
    "\"attn_implementation\": \"eager\", "
    "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, " SMALL "}";

static AttentionRow attentions[] = {
    {"one op a layer", small_mixtral, 2, 2},
    {"plain ops where the config says eager", eager_mixtral, 0, 4},
};

static int count_ops(const Graph *graph, const char *op_type)
{
    int n = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n += strcmp(op_operator(graph, op), op_type) == 0;
    return n;
}

/* Both forms run, and give what one device gives. */
static void attention_is_one_op_or_many(void **state)
{
    const AttentionRow *row = *state;
    RanksRow ranks = {row->name, row->config, "batch=4,seq=12", {64, 0}, "dp=2,tp=2", "megatron"};
    OpenedText o = model_text_open(row->config, ranks.dims, ranks.mesh, ranks.policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    assert_int_equal(count_ops(o.session->graph, "Attention"), row->n_attention);
    assert_int_equal(count_ops(o.session->graph, "Softmax"), row->n_softmax);
    model_text_close(&o);
    void *as_state = &ranks;
    runs_as_on_one_device(&as_state);
}

int main(void)
{
    return run_rows("published", published, parameters_are_those_published) +
           run_rows("megatron", published, megatron_sums_each_pair_once) +
           run_rows("refused", refused, is_refused) +
           run_rows("attention", attentions, attention_is_one_op_or_many) +
           run_rows("ranks", on_ranks, runs_as_on_one_device);
}
