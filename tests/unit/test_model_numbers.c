/* The numbers that small models compute, against those of transformers: tests/models/transformers.
 */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/base/json.h"
#include "core/run/run.h"

#include <string.h>

/* Element i of a tensor of that name: FNV-1a of the name, plus i, through the finalizer of
 * MurmurHash3. make.py says the same. */
static uint32_t hash_of(const char *name, int64_t i)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    hash += (uint32_t)i;
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
}

static Str floats_of(Arena *arena, const char *name, int64_t n)
{
    float *to = arena_array(arena, float, n);
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)(hash_of(name, i) * 0x1p-32 - 0.5);
    return (Str){(const char *)to, (size_t)n * sizeof *to};
}

static Str ids_of(Arena *arena, const char *name, int64_t n, int64_t limit)
{
    int64_t *to = arena_array(arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        to[i] = hash_of(name, i) % limit;
    return (Str){(const char *)to, (size_t)n * sizeof *to};
}

static void fill_parameters(Arena *arena, const Session *session)
{
    Graph *graph = session->graph;
    TensorData *data = arena_array(arena, TensorData, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        if (graph->tensors[t].kind != TENSOR_INITIALIZER)
            continue;
        int64_t n = shape_elements(inferred_shape(session->inferred, t));
        data[t] =
            (TensorData){.form = DATA_RAW, .bytes = floats_of(arena, tensor_name(graph, t), n)};
        graph->tensors[t].data = t;
    }
    graph->data = data;
}

static const char *write_vectors(Arena *arena, const Session *session, const Json *row)
{
    const Graph *graph = session->graph;
    const char *folder = vectors_folder(arena);
    const Json *config = json_get(row, "config"), *text = json_get(config, "text_config");
    int64_t vocabulary = json_int(json_get(text ? text : config, "vocab_size"), 0);
    for (int i = 0; i < graph->n_inputs; i++) {
        const Shape *shape = inferred_shape(session->inferred, graph->inputs[i]);
        const char *name = tensor_name(graph, graph->inputs[i]);
        int64_t n = shape_elements(shape);
        bool is_type = strcmp(name, "token_type_ids") == 0;
        bool floats = session->inferred->dtype[graph->inputs[i]] == DT_F32;
        vectors_write(arena, folder, "input", i, floats ? DT_F32 : DT_I64, shape,
                      floats ? floats_of(arena, name, n)
                             : ids_of(arena, name, n, is_type ? 2 : vocabulary));
    }
    const Json *outputs = json_get(row, "outputs");
    assert_int_equal(json_size(outputs), graph->n_outputs);
    for (int i = 0; i < graph->n_outputs; i++) {
        const Shape *shape = inferred_shape(session->inferred, graph->outputs[i]);
        const Json *output = json_at(outputs, i);
        int64_t n = shape_elements(shape);
        assert_int_equal(json_size(output), n);
        float *want = arena_array(arena, float, n);
        for (int k = 0; k < n; k++)
            want[k] = (float)json_real(json_at(output, k), 0);
        vectors_write(arena, folder, "output", i, DT_F32, shape,
                      (Str){(const char *)want, (size_t)n * sizeof *want});
    }
    return folder;
}

/* On ranks: whatever the plan, the numbers are the same. */
static void compute(const char *name, const Json *row, const char *mesh, const char *policy)
{
    Buf config = {0};
    Arena *arena = arena_new();
    config = buf_new(arena);
    json_write(json_get(row, "config"), &config);
    const char *kind = json_str(json_get(json_get(row, "config"), "model_type"), "").s;
    bool image = strcmp(kind, "vit") == 0 || strcmp(kind, "swin") == 0;
    const char *dims = image                     ? "batch=2"
                       : strcmp(kind, "t5") == 0 ? "batch=2,seq=6,target_seq=5"
                                                 : "batch=2,seq=6";
    dims = json_str(json_get(row, "dims"), dims).s;
    OpenedText o = model_text_open(config.s, dims, mesh, policy);
    if (!o.session)
        fail_msg("%s: %s", name, o.err.text);
    fill_parameters(o.arena, o.session);
    const char *folder = write_vectors(o.arena, o.session, row);
    RunOptions options = {.repeat = 1};
    RunReport report;
    bool ran = run_onnx_test(o.arena, o.session->plan, folder, &options, &report, &o.err);
    vectors_remove(o.arena, folder);
    if (!ran)
        fail_msg("%s: %s", name, o.err.text);
    assert_int_equal(report.n_drawn, 0);
    for (int i = 0; i < report.n_outputs; i++)
        if (!report.outputs[i].ok)
            fail_msg("%s on %s: output %d is off by %g", name, mesh, i, report.outputs[i].max_abs);
    assert_true(report.n_outputs > 0);
    model_text_close(&o);
    arena_free(arena);
}

typedef struct {
    const char *name, *policy;
} NumbersRow;

static NumbersRow rows[] = {
    {"mixtral", "megatron"},
    {"deepseek v2", "megatron"},
    {"deepseek v3", "megatron"},
    {"t5", "megatron"},
    {"t5, gated", "megatron"},
    {"bert", "megatron"},
    {"vit", "megatron"},
    {"swin", "megatron"},
    {"gemma", "megatron"},
    {"gemma2", "megatron"},
    {"gemma3_text", "megatron"},
    {"gemma3", "megatron"},
    {"phi", "megatron"},
    {"phi, norms of heads", "megatron"},
    {"phi3", "megatron"},
    {"falcon", "megatron"},
    {"falcon, groups", "megatron"},
    {"falcon, alibi", "megatron"},
    {"opt", "megatron"},
    {"opt, narrow", "megatron"},
    {"gpt_neox", "megatron"},
    {"mpt", "megatron"},
    {"qwen2_moe", "megatron"},
    {"qwen3_moe", "megatron"},
    {"gpt_oss", "megatron"},
    {"olmo2", "megatron"},
    {"glm4_moe", "megatron"},
    {"kimi_k2", "megatron"},
    {"minimax_m2", "megatron"},
    {"granite", "megatron"},
    {"starcoder2", "megatron"},
    {"stablelm", "megatron"},
    {"stablelm, norms of heads", "megatron"},
    {"cohere", "megatron"},
    {"cohere, norms of heads", "megatron"},
    {"cohere2", "megatron"},
    {"olmo", "megatron"},
    {"olmoe", "megatron"},
    {"gptj", "megatron"},
    {"bloom", "megatron"},
    {"smollm3", "megatron"},
    {"glm4", "megatron"},
    {"nemotron", "megatron"},
    {"whisper", "megatron"},
    {"clip", "megatron"},
    {"mamba", "tp"},
    {"mamba2", "dp"},
    {"megatron_gpt", "megatron"},
    {"olmo3", "megatron"},
    {"exaone4", "megatron"},
    {"seed_oss", "megatron"},
    {"arcee", "megatron"},
    {"helium", "megatron"},
    {"ernie4_5", "megatron"},
    {"ernie4_5_moe", "megatron"},
    {"dots1", "megatron"},
    {"granitemoe", "megatron"},
    {"qwen2, windows", "megatron"},
    {"gpt2, scales", "megatron"},
    {"mamba2, limits", "megatron"},
    {"nemotron, as saved", "megatron"},
    {"deepseek v3, as saved", "megatron"},
    {"roberta", "megatron"},
    {"distilbert", "megatron"},
    {"llama4", "megatron"},
    {"llama4_text, uneven chunks", "megatron"},
    {"mistral3", "megatron"},
    {"qwen2_5_vl, flat", "megatron"},
    {"qwen3_vl_moe", "megatron"},
    {"qwen3_next", "megatron"},
    {"qwen3_5_moe", "megatron"},
    {"granitemoehybrid", "megatron"},
    {"nemotron_h", "megatron"},
    {"lfm2", "megatron"},
    {"glm", "megatron"},
    {"hunyuan_v1_dense", "megatron"},
    {"apertus", "megatron"},
    {"lfm2_moe", "megatron"},
    {"hunyuan_v1_moe", "megatron"},
    {"ministral3", "megatron"},
    {"glm4_moe_lite", "megatron"},
    {"vaultgemma", "megatron"},
    {"jais2", "megatron"},
};

static void numbers_are_those_of_transformers(void **state)
{
    const NumbersRow *row = *state;
    Arena *arena = arena_new();
    Source source;
    assert_true(
        file_read(arena, "tests/models/transformers/numbers.jsonl", 1 << 20, &source, NULL));
    Str rest = source.text;
    Json *found = NULL;
    while (!found && rest.n > 0) {
        Source line = {source.name, str_take(&rest, '\n')};
        found = json_parse(&line, NULL);
        if (found && !str_eq(json_str(json_get(found, "name"), ""), str_from(row->name))) {
            json_free(found);
            found = NULL;
        }
    }
    assert_non_null(found);
    compute(row->name, found, "x=1", NULL);
    compute(row->name, found, "dp=2,tp=2", row->policy);
    json_free(found);
    arena_free(arena);
}

int main(void)
{
    return run_rows("numbers", rows, numbers_are_those_of_transformers);
}
