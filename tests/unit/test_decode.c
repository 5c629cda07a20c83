/* A step of inference with a cache computes what a pass over all tokens does: for each family of
 * decoders, the logits of tests/models/transformers, on one device and on several. */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/base/json.h"
#include "core/run/verify/reference.h"
#include "core/run/run.h"

#include <string.h>

enum { BATCH = 2, TOKENS = 6 };

/* As in test_model_numbers.c: element i of a tensor of that name. */
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

static void fill_parameters(Arena *arena, const Session *session)
{
    Graph *graph = session->graph;
    TensorData *data = arena_array(arena, TensorData, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        if (graph->tensors[t].kind != TENSOR_INITIALIZER)
            continue;
        int64_t n = shape_elements(inferred_shape(session->inferred, t));
        float *to = arena_array(arena, float, n);
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)(hash_of(tensor_name(graph, t), i) * 0x1p-32 - 0.5);
        data[t] =
            (TensorData){.form = DATA_RAW, .bytes = {(const char *)to, (size_t)n * sizeof *to}};
        graph->tensors[t].data = t;
    }
    graph->data = data;
}

/* ---- what one device computes ---- */

/* Tensors by name, whole. */
typedef struct {
    const char *name;
    Shape shape;
    const float *at;
} Held;

typedef Vec(Held) HeldList;

static const Held *held(const HeldList *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return &list->at[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void outputs_of(Arena *arena, const Session *session, const char *folder, HeldList *out)
{
    Error err = {0};
    Program program;
    Vectors inputs;
    Feeds feeds;
    Reference one;
    World world = world_alone();
    const Graph *graph = session->graph;
    assert_true(program_lower(arena, session->plan, &program, &err));
    assert_true(inputs_open(arena, session->inferred, folder, &inputs, &err));
    bool *wanted = arena_array(arena, bool, graph->n_tensors);
    for (int i = 0; i < program.n_instrs; i++)
        if (program.instrs[i].kind == INSTR_LOAD)
            wanted[program.slots[program.instrs[i].slot].tensor] = true;
    if (!feeds_open(arena, session->inferred, wanted, &(Given){.inputs = &inputs}, &feeds, &err))
        fail_msg("%s", err.text);
    reference_open(arena, session->inferred, &program, &feeds, NULL, &world, &one);
    int64_t iteration[1] = {0};
    for (int i = 0; i < program.n_instrs; i++)
        if (!reference_step(&one, i, 0, iteration, &err))
            fail_msg("%s", err.text);
    for (int i = 0; i < graph->n_outputs; i++) {
        const Local *value = one.value[graph->outputs[i]];
        assert_non_null(value);
        int64_t n = shape_elements(&value->shape);
        float *at = arena_array(arena, float, n);
        for (int64_t k = 0; k < n; k++)
            at[k] = (float)local_number(value, k);
        vec_push(arena, out,
                 ((Held){arena_str(arena, str_from(tensor_name(graph, graph->outputs[i]))),
                         value->shape, at}));
    }
    reference_close(&one);
    feeds_close(&feeds);
    vectors_close(&inputs);
}

/* Tokens `first` to `end` along the dim before the last, [b, heads, s, d]. */
static Held part_of(Arena *arena, const Held *from, const char *name, int64_t first, int64_t end)
{
    Shape shape = from->shape;
    int64_t s = shape.dim[2], d = shape.dim[3], n = end - first;
    shape.dim[2] = n;
    float *to = arena_array(arena, float, shape_elements(&shape));
    for (int64_t i = 0; i < shape.dim[0] * shape.dim[1]; i++)
        memcpy(to + i * n * d, from->at + (i * s + first) * d, (size_t)(n * d) * sizeof *to);
    return (Held){name, shape, to};
}

/* ---- the inputs and outputs of a step ---- */

static void write_held(Arena *arena, const char *folder, const char *stem, int i, const Held *held)
{
    vectors_write(
        arena, folder, stem, i, DT_F32, &held->shape,
        (Str){(const char *)held->at, (size_t)shape_elements(&held->shape) * sizeof *held->at});
}

/* Tokens first .. first + s of each sequence of TOKENS. */
static void write_ids(Arena *arena, const char *folder, int i, int64_t first, int64_t s,
                      int64_t vocabulary)
{
    int64_t *ids = arena_array(arena, int64_t, BATCH * s);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t k = 0; k < s; k++)
            ids[b * s + k] = hash_of("input_ids", b * TOKENS + first + k) % vocabulary;
    vectors_write(arena, folder, "input", i, DT_I64, &(Shape){.n_dims = 2, .dim = {BATCH, s}},
                  (Str){(const char *)ids, (size_t)(BATCH * s) * sizeof *ids});
}

/* Of a state that is carried along the sequence there is one, behind the last token that was read;
 * keys and values are those of each token. */
static bool is_state(const char *name)
{
    return str_ends(str_from(name), STR("_state"));
}

/* "past_key_values.3.key" is made of "present.3.key": its last t tokens before the new ones.
 * all: what a prefill of so many tokens gives. */
static void write_inputs(Arena *arena, const Session *session, const char *folder, int64_t context,
                         int64_t s, int64_t vocabulary, const HeldList *all)
{
    const Graph *graph = session->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *name = tensor_name(graph, graph->inputs[i]), *dot = strchr(name, '.');
        if (strcmp(name, "input_ids") == 0) {
            write_ids(arena, folder, i, context, s, vocabulary);
            continue;
        }
        assert_non_null(dot);
        int64_t t = inferred_shape(session->inferred, graph->inputs[i])->dim[2];
        const char *present = arena_printf(arena, "present%s", dot);
        Held past = is_state(name)
                        ? *held(&all[context], present)
                        : part_of(arena, held(&all[TOKENS], present), name, context - t, context);
        write_held(arena, folder, "input", i, &past);
    }
}

/* Logits of the last token, from the file; what is new of keys and values, from the whole pass. */
static void write_outputs(Arena *arena, const Session *session, const char *folder, const Json *row,
                          int64_t context, int64_t s, int64_t vocabulary, const HeldList *all)
{
    const Graph *graph = session->graph;
    const Json *given = json_at(json_get(row, "outputs"), 0);
    for (int i = 0; i < graph->n_outputs; i++) {
        const char *name = tensor_name(graph, graph->outputs[i]);
        if (strcmp(name, "logits") != 0) {
            Held new = is_state(name)
                           ? *held(&all[context + s], name)
                           : part_of(arena, held(&all[TOKENS], name), name, context, context + s);
            write_held(arena, folder, "output", i, &new);
            continue;
        }
        float *want = arena_array(arena, float, BATCH *vocabulary);
        for (int64_t b = 0; b < BATCH; b++)
            for (int64_t v = 0; v < vocabulary; v++) {
                int64_t at = (b * TOKENS + context + s - 1) * vocabulary + v;
                want[b * vocabulary + v] = (float)json_real(json_at(given, (int)at), 0);
            }
        write_held(arena, folder, "output", i,
                   &(Held){name, {.n_dims = 3, .dim = {BATCH, 1, vocabulary}}, want});
    }
}

static OpenedText open_step(const Json *row, int64_t context, int64_t s, bool plain,
                            const char *mesh, const char *policy)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    Json *config = json_copy(json_get(row, "config"));
    if (plain)
        json_set_str(config, "attn_implementation", "eager");
    json_write(config, &text);
    json_free(config);
    const char *dims =
        arena_printf(arena, "batch=%d,seq=%d,context=%d", BATCH, (int)s, (int)context);
    OpenedText o = model_text_open(text.s, dims, mesh, policy);
    if (!o.session)
        fail_msg("%s: %s", dims, o.err.text);
    fill_parameters(o.arena, o.session);
    arena_free(arena);
    return o;
}

static int64_t vocabulary_of(const Json *row)
{
    const Json *config = json_get(row, "config"), *text = json_get(config, "text_config");
    return json_int(json_get(text ? text : config, "vocab_size"), 0);
}

/* Keys, values and states of the first tokens, from one prefill. */
static void prefill(Arena *arena, const Json *row, int64_t n_tokens, HeldList *out)
{
    OpenedText o = open_step(row, 0, n_tokens, false, "x=1", NULL);
    const char *folder = vectors_folder(o.arena);
    write_inputs(o.arena, o.session, folder, 0, n_tokens, vocabulary_of(row), out);
    outputs_of(arena, o.session, folder, out);
    vectors_remove(o.arena, folder);
    model_text_close(&o);
}

typedef struct {
    int64_t context, s;
    bool plain;
    const char *mesh, *policy;
} StepRow;

static void compute(const char *name, const Json *row, const StepRow *step, const HeldList *all)
{
    OpenedText o = open_step(row, step->context, step->s, step->plain, step->mesh, step->policy);
    const char *folder = vectors_folder(o.arena);
    write_inputs(o.arena, o.session, folder, step->context, step->s, vocabulary_of(row), all);
    write_outputs(o.arena, o.session, folder, row, step->context, step->s, vocabulary_of(row), all);
    RunReport report;
    bool ran = run_onnx_test(o.arena, o.session->plan, folder, &(RunOptions){.repeat = 1}, &report,
                             &o.err);
    vectors_remove(o.arena, folder);
    if (!ran)
        fail_msg("%s, %d after %d: %s", name, (int)step->s, (int)step->context, o.err.text);
    assert_true(report.n_outputs > 2);
    for (int i = 0; i < report.n_outputs; i++)
        if (!report.outputs[i].ok)
            fail_msg("%s%s on %s, %d after %d: %s is off by %g", name,
                     step->plain ? " (plain)" : "", step->mesh, (int)step->s, (int)step->context,
                     tensor_name(o.session->graph, report.outputs[i].tensor),
                     report.outputs[i].max_abs);
    model_text_close(&o);
}

typedef struct {
    const char *name, *policy;
} FamilyRow;

static FamilyRow rows[] = {
    {"mixtral", "megatron"},
    {"deepseek v2", "megatron"},
    {"deepseek v3", "megatron"},
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
    {"seed_oss", "megatron"},
    {"arcee", "megatron"},
    {"helium", "megatron"},
    {"olmo3", "megatron"},
    {"exaone4", "megatron"},
    {"ernie4_5", "megatron"},
    {"ernie4_5_moe", "megatron"},
    {"dots1", "megatron"},
    {"granitemoe", "megatron"},
    {"llama4", "megatron"},
    {"llama4_text, uneven chunks", "megatron"},
    {"mistral3", "megatron"},
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

static void steps_compute_what_a_pass_does(void **state)
{
    const FamilyRow *row = *state;
    const StepRow steps[] = {
        {5, 1, false, "x=1", NULL},
        {5, 1, true, "x=1", NULL},
        {0, TOKENS, false, "x=1", NULL},
        {4, 2, false, "x=1", NULL},
        {4, 2, true, "x=1", NULL},
        {5, 1, false, "dp=2,tp=2", row->policy},
        {4, 2, true, "dp=2,tp=2", row->policy},
        {4, 1, true, "cp=2,tp=2", "hybrid3d"},
        {4, 1, false, "pp=2,dp=2", "hybrid3d"},
        {4, 1, true, "ep=2", "expert"},
    };
    Arena *arena = arena_new();
    Source source;
    HeldList all[TOKENS + 1] = {{0}};
    assert_true(
        file_read(arena, "tests/models/transformers/numbers.jsonl", 1 << 20, &source, NULL));
    Json *found = NULL;
    for (Str rest = source.text; !found && rest.n > 0;) {
        Source line = {source.name, str_take(&rest, '\n')};
        found = json_parse(&line, NULL);
        if (found && !str_eq(json_str(json_get(found, "name"), ""), str_from(row->name))) {
            json_free(found);
            found = NULL;
        }
    }
    assert_non_null(found);
    for (int64_t n = 4; n <= TOKENS; n++)
        prefill(arena, found, n, &all[n]);
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        compute(row->name, found, &steps[i], all);
    json_free(found);
    arena_free(arena);
}

int main(void)
{
    return run_rows("steps", rows, steps_compute_what_a_pass_does);
}
