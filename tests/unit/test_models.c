/* The builders of config.json: sizes as published, plans as of the exported models, numbers as
 * transformers computes them, and tiny ones sharded as on one device. */
#include "tests/unit/collectives_text.h"
#include "tests/unit/model_text.h"
#include "tests/unit/proto.h"

#include "core/model/onnx.h"
#include "core/plan/naming.h"
#include "core/run/run.h"
#include "core/run/verify/vectors.h"

/* ---- sizes ---- */

/* A config, and what is published of its checkpoint: parameters (a shared embedding counts once),
 * and shapes of some. */
typedef struct {
    const char *name, *config;
    int64_t params;
    const char *shapes; /* "NAME 4096,4096; NAME 1024,4096" */
} SizeRow;

#define LLAMA(hidden, middle, layers, heads, kv, vocab)                                            \
    "{\"model_type\": \"llama\", \"hidden_size\": " #hidden ", \"intermediate_size\": " #middle    \
    ", \"num_hidden_layers\": " #layers ", \"num_attention_heads\": " #heads                       \
    ", \"num_key_value_heads\": " #kv ", \"vocab_size\": " #vocab
#define QWEN(version, hidden, middle, layers, heads, kv, vocab)                                    \
    "{\"model_type\": \"qwen" #version "\", \"hidden_size\": " #hidden                             \
    ", \"intermediate_size\": " #middle ", \"num_hidden_layers\": " #layers                        \
    ", \"num_attention_heads\": " #heads ", \"num_key_value_heads\": " #kv                         \
    ", \"vocab_size\": " #vocab
#define MISTRAL(hidden, middle, layers, heads, kv, vocab)                                          \
    "{\"model_type\": \"mistral\", \"hidden_size\": " #hidden ", \"intermediate_size\": " #middle  \
    ", \"num_hidden_layers\": " #layers ", \"num_attention_heads\": " #heads                       \
    ", \"num_key_value_heads\": " #kv ", \"vocab_size\": " #vocab
#define GPT2(width, layers, heads)                                                                 \
    "{\"model_type\": \"gpt2\", \"n_embd\": " #width ", \"n_layer\": " #layers                     \
    ", \"n_head\": " #heads ", \"n_positions\": 1024, \"vocab_size\": 50257"
#define BF16 ", \"torch_dtype\": \"bfloat16\""
#define TIED ", \"tie_word_embeddings\": true"
#define HEAD(size) ", \"head_dim\": " #size
#define END "}"

#define LAYER0 "model.layers.0."

static SizeRow sizes[] = {
    {"gpt2", GPT2(768, 12, 12) END, 124439808,
     "transformer.wte.weight 50257,768; transformer.wpe.weight 1024,768; "
     "transformer.h.0.attn.c_attn.weight 768,2304; transformer.h.0.attn.c_attn.bias 2304; "
     "transformer.h.11.mlp.c_fc.weight 768,3072; transformer.h.11.mlp.c_proj.weight 3072,768; "
     "transformer.ln_f.bias 768; logits 1,64,50257"},
    {"gpt2-medium", GPT2(1024, 24, 16) END, 354823168, "transformer.h.23.ln_2.weight 1024"},
    {"gpt2-large", GPT2(1280, 36, 20) END, 774030080, "transformer.h.35.ln_1.bias 1280"},
    {"gpt2-xl", GPT2(1600, 48, 25) END, 1557611200,
     "transformer.h.47.attn.c_proj.weight 1600,1600"},
    {"llama-7b", LLAMA(4096, 11008, 32, 32, 32, 32000) END, 6738415616,
     LAYER0 "self_attn.k_proj.weight 4096,4096; model.layers.31.mlp.down_proj.weight 4096,11008"},
    {"llama-13b", LLAMA(5120, 13824, 40, 40, 40, 32000) END, 13015864320,
     "model.layers.39.mlp.up_proj.weight 13824,5120"},
    {"llama-1-33b", LLAMA(6656, 17920, 60, 52, 52, 32000) END, 32528943616, ""},
    {"llama-1-65b", LLAMA(8192, 22016, 80, 64, 64, 32000) END, 65285660672, ""},
    {"llama-2-70b", LLAMA(8192, 28672, 80, 64, 8, 32000) BF16 END, 68976648192,
     LAYER0 "self_attn.q_proj.weight 8192,8192; " LAYER0 "self_attn.v_proj.weight 1024,8192"},
    {"llama-3-8b", LLAMA(4096, 14336, 32, 32, 8, 128256) BF16 END, 8030261248,
     "model.embed_tokens.weight 128256,4096; lm_head.weight 128256,4096; " LAYER0
     "self_attn.k_proj.weight 1024,4096; " LAYER0 "self_attn.o_proj.weight 4096,4096; " LAYER0
     "mlp.gate_proj.weight 14336,4096; " LAYER0 "input_layernorm.weight 4096; " LAYER0
     "post_attention_layernorm.weight 4096; model.norm.weight 4096; logits 1,64,128256"},
    {"llama-3-70b", LLAMA(8192, 28672, 80, 64, 8, 128256) BF16 END, 70553706496,
     "model.layers.79.mlp.down_proj.weight 8192,28672"},
    {"llama-3.1-405b", LLAMA(16384, 53248, 126, 128, 8, 128256) BF16 END, 405853388800,
     "model.layers.125.self_attn.k_proj.weight 1024,16384"},
    {"llama-3.2-1b", LLAMA(2048, 8192, 16, 32, 8, 128256) HEAD(64) TIED END, 1235814400,
     LAYER0 "self_attn.k_proj.weight 512,2048"},
    {"llama-3.2-3b", LLAMA(3072, 8192, 28, 24, 8, 128256) HEAD(128) TIED END, 3212749824, ""},
    {"qwen2-0.5b", QWEN(2, 896, 4864, 24, 14, 2, 151936) TIED END, 494032768,
     LAYER0 "self_attn.k_proj.weight 128,896; " LAYER0 "self_attn.k_proj.bias 128"},
    {"qwen2-1.5b", QWEN(2, 1536, 8960, 28, 12, 2, 151936) TIED END, 1543714304, ""},
    {"qwen2-7b", QWEN(2, 3584, 18944, 28, 28, 4, 152064) END, 7615616512,
     LAYER0 "self_attn.q_proj.bias 3584"},
    {"qwen2-72b", QWEN(2, 8192, 29568, 80, 64, 8, 152064) END, 72706203648, ""},
    {"qwen2.5-3b", QWEN(2, 2048, 11008, 36, 16, 2, 151936) TIED END, 3085938688, ""},
    {"qwen2.5-14b", QWEN(2, 5120, 13824, 48, 40, 8, 152064) END, 14770033664, ""},
    {"qwen2.5-32b", QWEN(2, 5120, 27648, 64, 40, 8, 152064) END, 32763876352, ""},
    {"qwen3-0.6b", QWEN(3, 1024, 3072, 28, 16, 8, 151936) HEAD(128) TIED END, 596049920,
     LAYER0 "self_attn.q_proj.weight 2048,1024; " LAYER0 "self_attn.o_proj.weight 1024,2048"},
    {"qwen3-1.7b", QWEN(3, 2048, 6144, 28, 16, 8, 151936) HEAD(128) TIED END, 1720574976, ""},
    {"qwen3-4b", QWEN(3, 2560, 9728, 36, 32, 8, 151936) HEAD(128) TIED END, 4022468096, ""},
    {"qwen3-8b", QWEN(3, 4096, 12288, 36, 32, 8, 151936) HEAD(128) END, 8190735360,
     LAYER0 "self_attn.q_norm.weight 128; " LAYER0 "self_attn.k_norm.weight 128"},
    {"qwen3-14b", QWEN(3, 5120, 17408, 40, 40, 8, 151936) HEAD(128) END, 14768307200, ""},
    {"qwen3-32b", QWEN(3, 5120, 25600, 64, 64, 8, 151936) HEAD(128) END, 32762123264, ""},
    {"mistral-7b-v0.1", MISTRAL(4096, 14336, 32, 32, 8, 32000) ", \"sliding_window\": 4096" END,
     7241732096, LAYER0 "self_attn.k_proj.weight 1024,4096"},
    {"mistral-7b-v0.3", MISTRAL(4096, 14336, 32, 32, 8, 32768) END, 7248023552, ""},
    {"mistral-nemo", MISTRAL(5120, 14336, 40, 32, 8, 131072) HEAD(128) END, 12247782400,
     LAYER0 "self_attn.q_proj.weight 4096,5120"},
};

/* "NAME 4,8": the tensor is there, and has that shape. */
static void check_shape(const Session *session, Str want)
{
    Str name = str_take(&want, ' ');
    int32_t tensor = graph_find_tensor(session->graph, name);
    if (tensor < 0)
        fail_msg("there is no '%.*s'", STR_ARG(name));
    Arena *arena = arena_new();
    Buf shape = buf_new(arena);
    shape_format(inferred_shape(session->inferred, tensor), &shape);
    if (!str_eq(buf_str(&shape), want))
        fail_msg("%.*s is %s, not %.*s", STR_ARG(name), shape.s, STR_ARG(want));
    arena_free(arena);
}

static OpenedText open_config(const char *config, const char *dims, const char *mesh,
                              const char *policy)
{
    OpenedText o = model_text_open(config, dims, mesh, policy);
    if (!o.session)
        fail_msg("%s:%d: %s", o.err.file, o.err.line, o.err.text);
    return o;
}

static void sizes_are_as_published(void **state)
{
    const SizeRow *row = *state;
    OpenedText o = open_config(row->config, "batch=1,seq=64", NULL, NULL);
    assert_int_equal(inferred_params(o.session->inferred), row->params);
    assert_int_equal(o.session->inferred->findings.n, 0);
    for (Str rest = str_from(row->shapes); rest.n > 0; rest = str_trim(rest))
        check_shape(o.session, str_take(&rest, ';'));
    model_text_close(&o);
}

/* ---- tiny ones, run ---- */

typedef struct {
    const char *name, *config;
} TinyRow;

#define TINY_GPT2                                                                                  \
    "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, "                   \
    "\"n_positions\": 64, \"vocab_size\": 256}"

static TinyRow tiny[] = {
    {"gpt2", TINY_GPT2},
    {"llama", LLAMA(64, 128, 2, 8, 8, 96) END},
    {"llama, grouped", LLAMA(64, 128, 2, 8, 2, 96) END},
    {"llama, tied, with biases",
     LLAMA(64, 128, 2, 4, 4, 96) TIED ", \"attention_bias\": true, \"mlp_bias\": true" END},
    {"llama, rotary positions stretched",
     LLAMA(64, 128, 2, 4, 4, 96) ", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0,"
                                 "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0,"
                                 "\"original_max_position_embeddings\": 32}" END},
    {"qwen2", QWEN(2, 64, 128, 2, 8, 4, 96) END},
    {"qwen3", QWEN(3, 64, 128, 2, 8, 4, 96) HEAD(16) END},
    {"mistral, a window of 3", MISTRAL(64, 128, 2, 4, 2, 96) ", \"sliding_window\": 3" END},
};

static void tiny_ones_run_as_on_one_device(void **state)
{
    static const struct {
        const char *mesh, *policy;
    } plans[] = {{"dp=2", "dp"}, {"tp=2", "tp"}, {"tp=2", "megatron"}, {"dp=2,tp=2", "megatron"}};
    const TinyRow *row = *state;
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        OpenedText o = open_config(row->config, "batch=2,seq=8", plans[i].mesh, plans[i].policy);
        RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
        RunReport report;
        Error err = {0};
        if (!run_plan(o.arena, o.session->plan, &options, &report, &err))
            fail_msg("%s %s: %s", plans[i].mesh, plans[i].policy, err.text);
        assert_true(report.ok);
        assert_true(report.n_values_checked > 50);
        const char *moved = collectives_text(o.arena, o.session->plan);
        if (strcmp(plans[i].policy, "megatron") == 0 &&
            !str_starts(str_from(moved), STR("all_reduce tp 5 ")))
            fail_msg("two layers have four all-reduces, the embedding one, not\n%s", moved);
        model_text_close(&o);
    }
}

/* ---- beside the exported models ---- */

typedef struct {
    const char *name, *config, *sample, *dims;
} SampleRow;

#define LLAMA_TINY LLAMA(128, 256, 2, 8, 4, 512) END

static SampleRow same_plans[] = {
    {"gpt2", GPT2(768, 12, 12) END, "gpt2", "batch=8,seq=1024"},
    {"llama-tiny", LLAMA_TINY, "llama-tiny", "batch=8,seq=1024"},
    {"tiny-gpt", TINY_GPT2, "tiny-gpt", "batch=2,seq=16"},
};

static Session *open_sample(const OpenedText *beside, const SampleRow *row, const char *mesh,
                            const char *policy)
{
    SessionHooks hooks = scripts_hooks(beside->scripts);
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model = arena_printf(beside->arena, "samples/models/%s.onnx", row->sample);
    Source source = {"--dim", str_from(row->dims)};
    assert_true(dims_parse(beside->arena, &source, &options.dims, NULL));
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void plans_move_what_those_of_exports_move(void **state)
{
    const SampleRow *row = *state;
    static const char *const policies[] = {"dp", "megatron"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        OpenedText o = open_config(row->config, row->dims, "dp=2,tp=4", policies[i]);
        Session *sample = open_sample(&o, row, "dp=2,tp=4", policies[i]);
        assert_string_equal(collectives_text(o.arena, o.session->plan),
                            collectives_text(o.arena, sample->plan));
        assert_true(plan_is_legal(o.session->plan));
        session_close(sample);
        model_text_close(&o);
    }
}

static SampleRow same_numbers[] = {
    {"llama-tiny", LLAMA_TINY, "llama-tiny", "batch=1,seq=16"},
    {"tiny-gpt", TINY_GPT2, "tiny-gpt", "batch=1,seq=16"},
};

static bool is_read_by(const Graph *graph, int32_t tensor, const char *op_type)
{
    return strcmp(op_operator(graph, graph->uses[graph->tensors[tensor].use]), op_type) == 0;
}

/* Elements of the sample's tensor for ours: exporters have turned the weights of linears. */
static TensorData elements_for(const OpenedText *o, const Session *sample, int32_t ours,
                               int32_t theirs)
{
    const Graph *graph = sample->graph;
    const Shape *shape = inferred_shape(sample->inferred, theirs);
    int64_t n = shape ? shape_elements(shape) : 0, rows = shape ? shape->dim[0] : 1;
    float *from = arena_array(o->arena, float, n), *to = arena_array(o->arena, float, n);
    Error err = {0};
    bool turned =
        is_read_by(graph, theirs, "MatMul") && is_read_by(o->session->graph, ours, "Transpose");
    assert_int_equal(n, shape_elements(inferred_shape(o->session->inferred, ours)));
    assert_true(data_read(&graph->data[graph->tensors[theirs].data], DT_F32, n, from, &err));
    for (int64_t i = 0; i < n; i++)
        to[turned ? i % (n / rows) * rows + i / (n / rows) : i] = from[i];
    return (TensorData){.form = DATA_RAW, .bytes = {(const char *)to, (size_t)n * sizeof *to}};
}

/* The parameter of an exported model that ours is: by its name, else by the module that reads it.
 */
static int32_t find_theirs(const Session *sample, const char *name)
{
    Error err = {0};
    int32_t tensor = naming_find(sample->naming, str_from(name), &err);
    if (tensor < 0)
        fail_msg("%s", err.text);
    while (sample->graph->tensors[tensor].kind == TENSOR_MADE)
        tensor = op_inputs(sample->graph, sample->graph->tensors[tensor].maker)[0];
    return tensor;
}

/* Gives our parameters the sample's elements. */
static void take_weights(OpenedText *o, const Session *sample)
{
    Graph *graph = o->session->graph;
    TensorData *data = arena_array(o->arena, TensorData, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        GraphTensor *tensor = &graph->tensors[t];
        if (tensor->kind != TENSOR_INITIALIZER)
            continue;
        data[t] = elements_for(o, sample, t, find_theirs(sample, tensor_name(graph, t)));
        tensor->data = t;
    }
    graph->data = data;
}

/* The first sequence of a file of vectors, in a file of its own: the second one is padded, which a
 * mask that we have not tells. */
static void write_first(Arena *arena, const OnnxTensor *from, const char *path)
{
    Buf tensor = buf_new(arena);
    int64_t n_all = shape_elements(&from->shape), n = n_all / from->shape.dim[0];
    Error err = {0};
    const void *elements = data_elements(arena, &from->data, from->dtype, n_all, &err);
    assert_non_null(elements);
    for (int64_t d = 0; d < from->shape.n_dims; d++)
        proto_int(&tensor, 1, d == 0 ? 1 : from->shape.dim[d]);
    proto_int(&tensor, 2, from->dtype == DT_I64 ? 7 : 1);
    proto_text(&tensor, 8, arena_str(arena, from->name));
    proto_bytes(&tensor, 9, (Str){elements, (size_t)dtype_bytes(from->dtype, n)});
    assert_true(file_write(path, buf_str(&tensor), NULL));
}

static const char *const vector_files[] = {"input", "output"};

static void write_first_sequence(const OpenedText *o, const char *sample, const char *folder)
{
    const char *set = arena_printf(o->arena, "samples/models/%s.io/test_data_set_0", sample);
    for (size_t i = 0; i < COUNT_OF(vector_files); i++) {
        Vectors vectors;
        Error err = {0};
        if (!vectors_open(o->arena, set, vector_files[i], NULL, &vectors, &err))
            fail_msg("%s", err.text);
        write_first(o->arena, &vectors.tensors.at[0],
                    arena_printf(o->arena, "%s/%s_0.pb", folder, vector_files[i]));
        vectors_close(&vectors);
    }
}

static void numbers_are_those_of_transformers(void **state)
{
    const SampleRow *row = *state;
    OpenedText o = open_config(row->config, row->dims, "tp=2", "megatron");
    Session *sample = open_sample(&o, row, "x=1", NULL);
    char folder[] = "/tmp/dimscope_vectors_XXXXXX";
    assert_non_null(mkdtemp(folder));
    write_first_sequence(&o, row->sample, folder);
    take_weights(&o, sample);
    RunOptions options = {.repeat = 1};
    RunReport report;
    Error err = {0};
    if (!run_onnx_test(o.arena, o.session->plan, folder, &options, &report, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(vector_files); i++)
        unlink(arena_printf(o.arena, "%s/%s_0.pb", folder, vector_files[i]));
    rmdir(folder);
    assert_int_equal(report.n_drawn, 0);
    assert_int_equal(report.n_outputs, 1);
    if (!report.outputs[0].ok)
        fail_msg("off by %g", report.outputs[0].max_abs);
    session_close(sample);
    model_text_close(&o);
}

/* ---- the samples ---- */

static void two_all_reduces_a_layer_and_one_of_the_vocabulary(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = "samples/models/llama-3-70b.json", .mesh = "dp=2,tp=8", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session) {
        fail_msg("%s", err.text);
        return;
    }
    assert_string_equal(collectives_text(arena, session->plan), "all_reduce tp 161 268435456\n");
    assert_true(plan_is_legal(session->plan));
    for (int i = 0; i < session->plan->findings.n; i++)
        assert_int_equal(session->plan->findings.at[i].level, LEVEL_NOTE);
    assert_non_null(strstr(session->graph->file, "llama-3-70b.json"));
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_all_reduces_a_layer_and_one_of_the_vocabulary)};
    return run_rows("sizes", sizes, sizes_are_as_published) +
           run_rows("tiny", tiny, tiny_ones_run_as_on_one_device) +
           run_rows("same plans", same_plans, plans_move_what_those_of_exports_move) +
           run_rows("same numbers", same_numbers, numbers_are_those_of_transformers) +
           cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
