/* fuzz_hf.c - any fields as the config.json of a model, of all families that are built, or any
 * bytes: a graph whose ops are in order, or an error that says what is wrong. Of one in some its
 * sizes are inferred, and its plan or its training step is made, or refused by an error.
 *
 * Bytes of the input, in order: the family, what is done with the model, then a field and its value
 * again and again. Behind a first byte of 255 is the file itself.
 */
#include "tests/fuzz/quick_hooks.h"
#include "tests/fuzz/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const families[] = {"bert",
                                       "bloom",
                                       "clip",
                                       "cohere",
                                       "cohere2",
                                       "deepseek_v2",
                                       "deepseek_v3",
                                       "falcon",
                                       "gemma",
                                       "gemma2",
                                       "gemma3",
                                       "gemma3_text",
                                       "glm4",
                                       "glm4_moe",
                                       "gpt2",
                                       "gpt_neox",
                                       "gpt_oss",
                                       "gptj",
                                       "granite",
                                       "kimi_k2",
                                       "llama",
                                       "mamba",
                                       "mamba2",
                                       "megatron_gpt",
                                       "minimax_m2",
                                       "mistral",
                                       "mixtral",
                                       "mpt",
                                       "nemotron",
                                       "olmo",
                                       "olmo2",
                                       "olmoe",
                                       "opt",
                                       "phi",
                                       "phi3",
                                       "qwen2",
                                       "qwen2_moe",
                                       "qwen3",
                                       "qwen3_moe",
                                       "smollm3",
                                       "stablelm",
                                       "starcoder2",
                                       "swin",
                                       "t5",
                                       "vit",
                                       "whisper",
                                       "arcee",
                                       "distilbert",
                                       "dots1",
                                       "ernie4_5",
                                       "ernie4_5_moe",
                                       "exaone4",
                                       "granitemoe",
                                       "helium",
                                       "olmo3",
                                       "roberta",
                                       "seed_oss",
                                       "xlm-roberta",
                                       "llama4_text",
                                       "qwen3_next",
                                       "qwen3_5_text",
                                       "qwen3_vl_text",
                                       "granitemoehybrid",
                                       "nemotron_h",
                                       "lfm2",
                                       "glm",
                                       "hunyuan_v1_dense",
                                       "apertus",
                                       "ministral3",
                                       "internlm3",
                                       "solar_open",
                                       "vaultgemma",
                                       "jais2",
                                       "hunyuan_v1_moe",
                                       "lfm2_moe",
                                       "none such"};

/* Small models: fields of all families, each of which reads its own. */
static const struct {
    const char *name, *value;
} fields[] = {
    {"hidden_size", "16"},
    {"vocab_size", "24"},
    {"num_attention_heads", "4"},
    {"num_hidden_layers", "1"},
    {"intermediate_size", "32"},
    {"num_key_value_heads", "2"},
    {"head_dim", "4"},
    {"hidden_act", "\"silu\""},
    {"max_position_embeddings", "16"},
    {"torch_dtype", "\"float32\""},
    {"n_embd", "16"},
    {"n_head", "4"},
    {"n_layer", "1"},
    {"n_positions", "16"},
    {"n_inner", "32"},
    {"activation_function", "\"gelu\""},
    {"d_model", "16"},
    {"d_kv", "4"},
    {"d_ff", "32"},
    {"num_heads", "4"},
    {"num_layers", "1"},
    {"num_decoder_layers", "1"},
    {"encoder_layers", "1"},
    {"decoder_layers", "1"},
    {"encoder_attention_heads", "4"},
    {"decoder_attention_heads", "4"},
    {"encoder_ffn_dim", "32"},
    {"decoder_ffn_dim", "32"},
    {"num_mel_bins", "8"},
    {"max_source_positions", "8"},
    {"max_target_positions", "8"},
    {"n_heads", "4"},
    {"n_layers", "1"},
    {"max_seq_len", "16"},
    {"expansion_ratio", "2"},
    {"ffn_dim", "32"},
    {"word_embed_proj_dim", "16"},
    {"num_local_experts", "4"},
    {"num_experts", "4"},
    {"num_experts_per_tok", "2"},
    {"n_routed_experts", "4"},
    {"n_shared_experts", "1"},
    {"n_group", "2"},
    {"topk_group", "1"},
    {"topk_method", "\"group_limited_greedy\""},
    {"scoring_func", "\"softmax\""},
    {"moe_intermediate_size", "8"},
    {"moe_layer_freq", "1"},
    {"first_k_dense_replace", "0"},
    {"shared_expert_intermediate_size", "8"},
    {"decoder_sparse_step", "1"},
    {"q_lora_rank", "8"},
    {"kv_lora_rank", "8"},
    {"qk_rope_head_dim", "4"},
    {"qk_nope_head_dim", "4"},
    {"v_head_dim", "4"},
    {"state_size", "4"},
    {"conv_kernel", "4"},
    {"expand", "2"},
    {"n_groups", "2"},
    {"time_step_rank", "2"},
    {"chunk_size", "4"},
    {"sliding_window", "8"},
    {"use_sliding_window", "false"},
    {"rope_theta", "10000.0"},
    {"rope_scaling", "null"},
    {"partial_rotary_factor", "0.5"},
    {"rotary_pct", "0.25"},
    {"tie_word_embeddings", "false"},
    {"attention_bias", "false"},
    {"layer_types", "null"},
    {"ffn_hidden_size", "32"},
    {"num_query_groups", "2"},
    {"group_query_attention", "false"},
    {"swiglu", "false"},
    {"position_embedding_type", "null"},
    {"normalization", "\"LayerNorm\""},
    {"new_decoder_architecture", "false"},
    {"multi_query", "true"},
    {"alibi", "false"},
    {"attn_config", "null"},
    {"image_size", "16"},
    {"patch_size", "4"},
    {"num_channels", "3"},
    {"embed_dim", "8"},
    {"depths", "[1, 1]"},
    {"window_size", "2"},
    {"projection_dim", "8"},
    {"text_config", "{\"vocab_size\": 24, \"hidden_size\": 16, \"num_hidden_layers\": 1, "
                    "\"num_attention_heads\": 4, "
                    "\"intermediate_size\": 32, \"max_position_embeddings\": 8}"},
    {"vision_config", "{\"hidden_size\": 16, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
                      "\"intermediate_size\": 32, \"image_size\": 16, \"patch_size\": 4}"},
    {"type_vocab_size", "2"},
    {"feed_forward_proj", "\"gated-gelu\""},
    {"final_logit_softcapping", "30.0"},
    {"query_pre_attn_scalar", "4"},
    {"architectures", "[\"Model\"]"},
    {"auto_map", "null"},
    {"quantization_config", "null"},
    {"is_encoder_decoder", "false"},
    {"rotary_dim", "4"},
    {"norm_epsilon", "1e-5"},
    {"use_bias", "true"},
    {"use_parallel_residual", "false"},
    {"qk_layernorm", "false"},
    {"use_qk_norm", "false"},
    {"clip_qkv", "null"},
    {"no_rope_layer_interval", "4"},
    {"no_rope_layers", "null"},
    {"logits_scaling", "1.0"},
    {"residual_multiplier", "1.0"},
    {"mlp_bias", "false"},
    {"n_embed", "null"},
};

static const char *const values[] = {
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "16",
    "64",
    "-1",
    "1000",
    "1073741824",
    "2147483648",
    "1e308",
    "0.5",
    "1e-320",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[4, 8]",
    "[1, [2]]",
    "\"\"",
    "\"gelu_new\"",
    "\"relu\"",
    "\"none\"",
    "\"bfloat16\"",
    "\"\\u001b[2J\"",
    "{\"rope_type\": \"yarn\", \"factor\": 4.0}",
    "{\"type\": \"linear\", \"factor\": 0}",
    "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"original_max_position_embeddings\": 8}",
    "[\"sliding_attention\", \"full_attention\"]",
    "[\"full_attention\"]",
    "{\"alibi\": true, \"clip_qkv\": 8}",
    "{\"quant_method\": \"mxfp4\"}",
    "9223372036854775807"};

/* Many layers take long, and are no other than few. */
static bool counts_layers(int field)
{
    return strcmp(fields[field].value, "1") == 0 || fields[field].value[0] == '[';
}

/* The tables of a rotary embedding have the size of a head. */
static const char *value_for(int field, int value)
{
    const char *text = values[value];
    bool large = text[0] >= '0' && text[0] <= '9' && strlen(text) > 4;
    return large && strstr(fields[field].name, "head_dim") ? "64" : text;
}

static Str config_text(Arena *arena, const uint8_t *bytes, size_t n_bytes)
{
    enum { SMALL = 9 }; /* the first of `values` */
    const char *value[COUNT(fields)];
    Buf text = buf_new(arena);
    for (int i = 0; i < COUNT(fields); i++)
        value[i] = fields[i].value;
    for (size_t i = 2; i + 1 < n_bytes; i += 2) {
        int field = bytes[i] % COUNT(fields);
        value[field] =
            value_for(field, bytes[i + 1] % (counts_layers(field) ? SMALL : COUNT(values)));
    }
    buf_printf(&text, "{\"model_type\": \"%s\"", families[bytes[0] % COUNT(families)]);
    for (int i = 0; i < COUNT(fields); i++)
        buf_printf(&text, ",\n\"%s\": %s", fields[i].name, value[i]);
    buf_puts(&text, "}\n");
    return buf_str(&text);
}

static void check_graph(const Graph *graph)
{
    for (int32_t op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            if (tensor >= graph->n_tensors || (tensor >= 0 && graph->tensors[tensor].maker >= op))
                fail_msg("WRONG order of '%s'\n", op_name(graph, op));
        }
}

static void check_error(const Error *err, bool made)
{
    if (made == error_is_set(err))
        fail_msg("WRONG neither a model nor an error\n");
    for (const char *s = err->text; *s; s++)
        if ((unsigned char)*s < 0x20)
            fail_msg("WRONG byte %02x of an error\n", (unsigned char)*s);
}

static void build_graph(Arena *arena, const SessionHooks *hooks)
{
    Error err = {0};
    Graph *graph = quick_graph(arena, hooks, "config.json", &err);
    check_error(&err, graph != NULL);
    if (graph)
        check_graph(graph);
}

static void open_model(const SessionHooks *hooks, int what)
{
    static const char *const trains[] = {"adamw", "sgd,precision=bf16", "auto"};
    enum { PLANNED_OF = 4, TRAINED_OF = 8 };
    SessionOptions options = {.model = "config.json"};
    Error err = {0};
    bool planned = what % PLANNED_OF == 1;
    if (planned) {
        options.mesh = "dp=2,tp=2";
        options.policy = what & 64 ? "megatron" : NULL;
        options.train = what % TRAINED_OF == 1 ? trains[what / TRAINED_OF % COUNT(trains)] : NULL;
    }
    Session *session =
        planned ? session_open(&options, hooks, &err) : session_open_model(&options, hooks, &err);
    check_error(&err, session != NULL);
    if (session)
        check_graph(session->graph);
    session_close(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    enum { RAW = 255, OPENED_OF = 16 };
    static Arena *kept;
    static Scripts *scripts;
    if (n_bytes < 2)
        return 0;
    Arena *arena = arena_new();
    if (bytes[0] == RAW)
        write_in_memory("config.json", (Str){(const char *)bytes + 2, n_bytes - 2});
    else
        write_in_memory("config.json", config_text(arena, bytes, n_bytes));
    if (!scripts)
        scripts = scripts_new(kept = arena_new(), root);
    SessionHooks hooks = quick_hooks(scripts);
    if (is_chosen(bytes, n_bytes, OPENED_OF))
        open_model(&hooks, bytes[1]);
    else
        build_graph(arena, &hooks);
    arena_free(arena);
    return 0;
}
