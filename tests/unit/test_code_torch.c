/* Plans as Python for torch and nnScaler: Python itself reads the text and says what it holds. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/layout/placement.h"
#include "scripts/hooks.h"
#include "tests/unit/random.h"
#include "core/code/modules.h"
#include "core/code/python_fold.h"
#include "viz/export.h"

#include <inttypes.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs a text in python3 and gives what it prints; fails the test where it fails. */
static Str python(Arena *arena, const Buf *text)
{
    char path[] = "/tmp/dimscope-test-XXXXXX";
    int fd = mkstemp(path);
    Error err = {0};
    assert_true(fd >= 0);
    close(fd);
    assert_true(file_write(path, buf_str(text), &err));
    FILE *program = popen(arena_printf(arena, "python3 -I %s 2>&1", path), "r");
    Buf said = buf_new(arena);
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, program)) > 0;)
        buf_add(&said, (Str){piece, n});
    int status = pclose(program);
    unlink(path);
    if (status != 0)
        fail_msg("python3 says %.*s", (int)said.n, said.s);
    return str_trim(buf_str(&said));
}

static bool python_is_there(void)
{
    return system("python3 -c 0 >/dev/null 2>&1") == 0;
}

/* ---- python.h ---- */

typedef struct {
    const char *name;
    Str text;
    const char *read; /* UTF-8 of what Python reads, in hex */
} TextRow;

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static TextRow text_rows[] = {
    {"plain", TEXT("transformer.h.0.mlp"), "7472616e73666f726d65722e682e302e6d6c70"},
    {"empty", TEXT(""), ""},
    {"quotes", TEXT("a\"b'c\"\"\""), "6122622763222222"},
    {"backslashes", TEXT("\\n\\"), "5c6e5c"},
    {"controls", TEXT("\n\r\t\x1b\x7f\0x"), "0a0d091b7f0078"},
    {"formats", TEXT("%s{0}{{#"), "25737b307d7b7b23"},
    {"beyond_ascii", TEXT("\xc3\xa4\xe2\x80\xae\xf0\x9f\x98\x80"), "c3a4e280aef09f9880"},
    {"separators", TEXT("\xe2\x80\xa8\xc2\x85"), "e280a8c285"},
    {"broken", TEXT("a\xff\xc3"), "615c7866665c786333"},
};

static bool is_printable_ascii(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] < 0x20 || text.s[i] > 0x7e)
            return false;
    return true;
}

static void python_reads_the_text(void **state)
{
    const TextRow *row = *state;
    Arena *arena = arena_new();
    Buf text = buf_new(arena), comment = buf_new(arena);
    buf_puts(&text, "print(");
    python_string(row->text, &text);
    buf_puts(&text, ".encode().hex())");
    python_comment(row->text, &comment);
    assert_true(is_printable_ascii(buf_str(&text)) && is_printable_ascii(buf_str(&comment)));
    buf_printf(&text, " # %s\n", comment.s);
    if (!python_is_there())
        skip();
    Str said = python(arena, &text);
    assert_string_equal(arena_str(arena, said), row->read);
    arena_free(arena);
}

static void a_name_of_python_is_one(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"h.0", "h_0"}, {"0", "_0"},
                                          {"", "_"},      {"class", "class_"},
                                          {"dp", "dp"},   {"a\n\xc3\xa4", "a___"}};
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Buf name = buf_new(arena);
        python_identifier(str_from(rows[i][0]), &name);
        assert_string_equal(name.s, rows[i][1]);
    }
    arena_free(arena);
}

/* ---- python_fold.h ---- */

static void put_check(const PythonEntries *entries, Buf *text)
{
    python_dict("FOUND", entries, 0, text);
    buf_puts(text, "WANTED = {\n");
    for (int i = 0; i < entries->n; i++) {
        python_string(entries->at[i].key, text);
        buf_printf(text, ": %s,\n", entries->at[i].value);
    }
    buf_puts(text, "}\nassert FOUND == WANTED, (FOUND, WANTED)\nprint(len(WANTED), end=' ')\n");
}

static bool chance(int percent)
{
    return pick(100) < percent;
}

/* Layers in layers, most of them alike, some with other values, without an entry or with one more;
 * names have what an f-string gives a meaning. */
static PythonEntries random_layers(Arena *arena)
{
    static const char *const ends[] = {".w", "{0}", "{i}\"\\", ".1.b\n", ".01"};
    PythonEntries entries = {0};
    int odd = pick(4);
    for (int layer = pick(3), last = layer + pick(8); layer <= last; layer++)
        for (int part = 0, parts = 1 + pick(2); part < parts; part++)
            for (int end = 0; end < (int)COUNT_OF(ends); end++)
                if (!chance(odd))
                    vec_push(arena, &entries,
                             (PythonEntry){str_from(arena_printf(arena, "%c.%d.{%d%s", 'a' + odd,
                                                                 layer, part, ends[end])),
                                           chance(odd) ? "(1,\n)" : "2", NULL});
    return entries;
}

static void a_folded_dict_is_the_dict(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    seed = 9;
    Buf text = buf_new(arena);
    int n_loops = 0;
    if (!python_is_there())
        skip();
    for (int round = 0; round < 400; round++) {
        PythonEntries entries = random_layers(arena);
        put_check(&entries, &text);
    }
    for (Str rest = buf_str(&text); rest.n > 0;)
        n_loops += str_starts(str_trim(str_take(&rest, '\n')), STR("for "));
    assert_true(n_loops > 400);
    python(arena, &text);
    arena_free(arena);
}

static void layers_of_layers_are_loops_of_loops(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    PythonEntries entries = {0};
    Buf text = buf_new(arena);
    for (int layer = 0; layer < 40; layer++)
        for (int expert = 0; expert < 8; expert++) {
            const char *key = arena_printf(arena, "l.%d.e.%d.w{0}", layer, expert);
            vec_push(arena, &entries,
                     (PythonEntry){str_from(key), layer == 7 ? "1" : "0", "as it"});
        }
    python_dict("D", &entries, 0, &text);
    assert_string_equal(text.s, "D = {}\n"
                                "for i in range(7):\n"
                                "    for j in range(8):\n"
                                "        D |= {\n"
                                "            f\"l.{i}.e.{j}.w{{0}}\": 0,  # as it\n"
                                "        }\n"
                                "for i in range(8):\n"
                                "    D |= {\n"
                                "        f\"l.7.e.{i}.w{{0}}\": 1,  # as it\n"
                                "    }\n"
                                "for i in range(8, 40):\n"
                                "    for j in range(8):\n"
                                "        D |= {\n"
                                "            f\"l.{i}.e.{j}.w{{0}}\": 0,  # as it\n"
                                "        }\n");
    arena_free(arena);
}

/* ---- whole modules ---- */

typedef struct {
    const char *name, *model, *mesh, *policy;
} PlanRow;

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static Fixture open_plan(const PlanRow *row)
{
    Fixture f = {.arena = arena_new()};
    Error err = {0};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = arena_printf(f.arena, "samples/models/%s", row->model),
                              .mesh = row->mesh,
                              .policy = row->policy};
    f.session = session_open(&options, &hooks, &err);
    if (!f.session)
        fail_msg("%s", err.text);
    return f;
}

static void close_plan(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static Buf export(const Fixture *f, const char *system)
{
    ExportRequest request = {.drawing = {.session = f->session}};
    ExportNotes notes = {.arena = f->arena};
    Buf out = buf_new(f->arena);
    Error err = {0};
    if (!export_write(export_format_find(str_from(system), true), &request, &out, &notes, &err))
        fail_msg("%s", err.text);
    return out;
}

/* Enough of torch and nnScaler for the modules to be read, whose placements print as ours do. */
static const char stubs[] =
    "import sys, types\n"
    "class Stub(types.ModuleType):\n"
    "    def __getattr__(self, name):\n"
    "        if name.startswith('__'): raise AttributeError(name)\n"
    "        return type(name, (), {})\n"
    "class Said:\n"
    "    def __init__(self, *args, **kwargs): self.args = (*args, *kwargs.values())\n"
    "    def __repr__(self):\n"
    "        return self.mark + (f\"({','.join(map(str, self.args))})\" if self.args else '')\n"
    "Shard = type('Shard', (Said,), {'mark': 'S'})\n"
    "Replicate = type('Replicate', (Said,), {'mark': 'R'})\n"
    "_StridedShard = type('_StridedShard', (Said,), {'mark': '_S'})\n"
    "class Partial(Said):\n"
    "    mark = 'P'\n"
    "    def __init__(self, op='sum'): self.args = (op,)\n"
    "def stub(name):\n"
    "    for i in range(1, name.count('.') + 2):\n"
    "        path = '.'.join(name.split('.')[:i])\n"
    "        sys.modules.setdefault(path, Stub(path))\n"
    "    return sys.modules[name]\n"
    "tensor = stub('torch.distributed.tensor')\n"
    "tensor.Shard, tensor.Replicate, tensor.Partial = Shard, Replicate, Partial\n"
    "stub('torch.distributed.tensor.placement_types')._StridedShard = _StridedShard\n"
    "for name in ('torch.distributed.device_mesh', 'torch.distributed.tensor.parallel',\n"
    "             'torch.distributed.tensor.experimental', 'torch.distributed.fsdp',\n"
    "             'torch.distributed._composable.replicate_with_fsdp',\n"
    "             'torch.distributed._functional_collectives',\n"
    "             'nnscaler.graph.function.anchor',\n"
    "             'nnscaler.graph.function.dimops', 'nnscaler.graph.segment',\n"
    "             'nnscaler.ir.operator', 'nnscaler.ir.tensor', 'nnscaler.policies'):\n"
    "    stub(name)\n"
    "class Style:\n"
    "    def __init__(self, **layouts): self.layouts = layouts\n"
    "for name in ('ColwiseParallel', 'RowwiseParallel', 'SequenceParallel',\n"
    "             'PrepareModuleInput', 'PrepareModuleInputOutput', 'PrepareModuleOutput',\n"
    "             'ParallelStyle'):\n"
    "    setattr(stub('torch.distributed.tensor.parallel'), name, type(name, (Style,), {}))\n"
    "def hexed(text): return text.encode().hex()\n"
    "def said(lies):\n"
    "    shape, placements = lies\n"
    "    return f\"{list(shape)} {list(placements) if placements else None}\".replace(' ', '')\n";

static const char print_dtensor[] =
    "\nfor table in PARAMETERS, INPUTS, OUTPUTS:\n"
    "    for name, lies in table.items():\n"
    "        print('T', hexed(COPIED.get(name, name)), said(lies))\n"
    "for path, style in parallelize_plan().items():\n"
    "    if style.reads: print('I', hexed(path), said(style.reads))\n"
    "    if style.makes: print('O', hexed(path), said(style.makes))\n";

static void put_hex(Str text, Buf *out)
{
    for (size_t i = 0; i < text.n; i++)
        buf_printf(out, "%02x", (unsigned)(unsigned char)text.s[i]);
}

/* "T 6c6d [64,256] [R,S(1)]": what the module must say of a tensor that lies so. */
static void put_wanted(const Session *session, char mark, Str name, int32_t tensor, int32_t id,
                       Buf *out)
{
    const Shape *shape = inferred_shape(session->inferred, tensor);
    Placement placements[MESH_AXES_MAX];
    Error err = {0};
    buf_printf(out, "%c ", mark);
    put_hex(name, out);
    buf_puts(out, " [");
    for (int64_t d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%s%" PRId64, d ? "," : "", shape->dim[d]);
    bool can =
        placements_of(shardings_at(session->plan->shardings, id), session->mesh, placements, &err);
    buf_puts(out, can ? "][" : "]None");
    for (int a = 0; can && a < session->mesh->n_axes; a++) {
        buf_puts(out, a ? "," : "");
        if (placements[a].kind == PLACE_INTERLEAVED)
            placements[a].kind = PLACE_STRIDED;
        placement_format(&placements[a], false, out);
    }
    buf_puts(out, can ? "]\n" : "\n");
}

static Buf wanted_of(const Session *session, Arena *arena)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    Buf out = buf_new(arena);
    CodeModule module;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (tensor_is_parameter(session->inferred, t))
            put_wanted(session, 'T', str_from(tensor_name(graph, t)), t, plan->moved->made[t],
                       &out);
    for (int i = 0; i < graph->n_inputs; i++)
        put_wanted(session, 'T', str_from(tensor_name(graph, graph->inputs[i])), graph->inputs[i],
                   plan->moved->made[graph->inputs[i]], &out);
    for (int i = 0; i < graph->n_outputs; i++)
        put_wanted(session, 'T', str_from(tensor_name(graph, graph->outputs[i])), graph->outputs[i],
                   plan->moved->made[graph->outputs[i]], &out);
    for (int i = 0; i < naming_n_paths(session->naming); i++) {
        if (!code_module(session, i, &module))
            continue;
        if (module.reads >= 0)
            put_wanted(session, 'I', module.path, module.in, module.reads, &out);
        if (module.out >= 0)
            put_wanted(session, 'O', module.path, module.out, plan->moved->made[module.out], &out);
    }
    return out;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines in order; a text of many lines differs in a few, which the failure names. */
static void assert_same_lines(Arena *arena, Str a, Str b)
{
    Vec(const char *) lines[2] = {{0}, {0}};
    Str rest[2] = {a, b};
    for (int side = 0; side < 2; side++) {
        while (rest[side].n > 0)
            vec_push(arena, &lines[side], arena_str(arena, str_take(&rest[side], '\n')));
        qsort(lines[side].at, (size_t)lines[side].n, sizeof *lines[side].at, compare_lines);
    }
    for (int i = 0; i < lines[0].n && i < lines[1].n; i++)
        assert_string_equal(lines[0].at[i], lines[1].at[i]);
    assert_int_equal(lines[0].n, lines[1].n);
}

static PlanRow plan_rows[] = {
    {"tiny_gpt_megatron", "tiny-gpt.onnx", "dp=2,tp=2", "tests/policies/megatron.lua"},
    {"tiny_gpt_fsdp", "tiny-gpt.onnx", "dp=4", "fsdp"},
    {"gpt2_megatron", "gpt2.onnx", "dp=2,tp=8", "tests/policies/megatron.lua"},
    {"gpt2_dynamo_uneven", "gpt2-dynamo.onnx", "dp=3,tp=5", "tp"},
    {"llama_sp", "llama-tiny.onnx", "dp=2,tp=2", "megatron_sp"},
    {"llama_70b", "llama-3-70b.json", "a=2,b=2,tp=2", "tests/policies/megatron.lua"},
    {"mixtral", "mixtral-8x7b.json", "dp=2,ep=2,tp=2", "expert"},
    {"vit", "vit_b_16.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"resnet", "resnet50.onnx", "dp=3", "fsdp"},
    {"no_policy", "tiny-conv.onnx", "x=2", NULL},
};

/* Python's own reading of the module, loops and all, has each sharding of the plan and no other. */
static void the_module_says_the_plan(void **state)
{
    Fixture f = open_plan(*state);
    Buf text = buf_new(f.arena), module = export(&f, "dtensor-exact"),
        again = export(&f, "dtensor-exact");
    assert_true(str_eq(buf_str(&module), buf_str(&again)));
    if (!python_is_there())
        skip();
    buf_puts(&text, stubs);
    buf_add(&text, buf_str(&module));
    buf_puts(&text, print_dtensor);
    Str said = python(f.arena, &text);
    Buf wanted = wanted_of(f.session, f.arena);
    assert_same_lines(f.arena, said, str_trim(buf_str(&wanted)));
    close_plan(&f);
}

typedef struct {
    PlanRow plan;
    const char *styles; /* of torch: how many of which; "": the module is the exact
                           one, "= REASON": and says this */
} StyleRow;

/* Equal layers are one entry: Llama has q, k, v, gate, up and the head by columns, o, down and the
 * embedding by rows. GPT's Conv1D are Placed. Stacked experts, the one key of all heads and their
 * bias have styles of the file's own. What is moved within an attention, torch has no style for. */
static StyleRow style_rows[] = {
    {{"llama", "llama-tiny.onnx", "dp=2,tp=2", "tests/policies/megatron.lua"},
     "ColwiseParallel=5 PrepareModuleInput=2 RowwiseParallel=2"},
    {{"transposed_in_the_graph", "llama-3-tiny.json", "tp=2", "tests/policies/megatron.lua"},
     "ColwiseParallel=5 PrepareModuleInput=2 RowwiseParallel=2"},
    {{"cut_vocabulary", "llama-tiny.onnx", "dp=2,tp=2", "megatron"},
     "ColwiseParallel=6 PrepareModuleInput=2 RowwiseParallel=3"},
    {{"sequence", "llama-tiny.onnx", "tp=2", "megatron_sp"},
     "ColwiseParallel=6 PrepareModuleInput=2 RowwiseParallel=3 SequenceParallel=3"},
    {{"sequence_of_gpt", "gpt2.onnx", "tp=2", "megatron_sp"},
     "ColwiseParallel=1 Placed=4 PrepareModuleOutput=1 RowwiseParallel=1 SequenceParallel=3"},
    {{"tied", "gpt2-dynamo.onnx", "dp=2,tp=2", "megatron"},
     "ColwiseParallel=1 Placed=4 RowwiseParallel=1"},
    {{"interleaved", "tiny-gpt.onnx", "tp=2", "tests/policies/megatron.lua"}, "Placed=4"},
    {{"stored_in_parts", "llama-tiny.onnx", "dp=2", "fsdp"}, "none"},
    {{"experts", "mixtral-8x7b.json", "dp=2,ep=2", "expert"}, "DispatchedExperts=1"},
    {{"inside_of_experts", "mixtral-8x7b.json", "tp=2", "megatron"},
     "ColwiseParallel=4 PartsOfExperts=1 PrepareModuleInput=1 RowwiseParallel=2"},
    {{"experts_of_a_sequence", "mixtral-8x7b.json", "tp=2", "megatron_sp"},
     "ColwiseParallel=4 PartsOfExperts=1 PrepareModuleInput=1 PrepareModuleInputOutput=1 "
     "RowwiseParallel=2 SequenceParallel=3"},
    {{"one_key_of_all_heads", "../../tests/differential/configs/deepseek_v3.json", "tp=2",
      "megatron"},
     "ColwiseParallel=7 PartsOfExperts=1 PrepareModuleInput=2 RowwiseParallel=4 "
     "SharedColumns=1"},
    {{"one_key_of_queries", "../../tests/differential/configs/falcon_mqa.json", "tp=2", "megatron"},
     "ColwiseParallel=2 RowwiseParallel=3 SharedColumns=1"},
    {{"a_key_that_is_moved", "../../tests/differential/configs/falcon_mqa.json", "tp=2",
      "megatron_sp"},
     "= tp moves transformer.rotary_emb/Concat between modules"},
    {{"positions_that_are_moved", "../../tests/differential/configs/deepseek_v3.json", "tp=2",
      "megatron_sp"},
     "= tp moves model.rotary_emb/Concat between modules"},
    {{"norms_that_are_moved", "../../tests/differential/configs/olmo2.json", "tp=2", "megatron_sp"},
     "= tp moves model.rotary_emb/Concat between modules"},
    {{"fused_parts_of_different_widths", "../../tests/differential/configs/phi3.json", "tp=2",
      "megatron"},
     "= no placement says how model.layers.0.self_attn.qkv_proj.weight is sharded"},
    {{"experts_with_biases", "../../tests/differential/configs/gpt_oss.json", "tp=2", "megatron"},
     "= no style shards the experts model.layers.0.mlp.experts by tp as the plan does"},
    {{"a_table_of_heads", "../../tests/differential/configs/swin.json", "tp=2", "megatron"},
     "= no style shards swin.encoder.layers.0.blocks.0.attention.self.relative_position_bias_table "
     "by tp"},
    {{"convolved_rows", "../../tests/differential/configs/whisper.json", "tp=2", "megatron_sp"},
     "= no style runs model.encoder.conv1 on a value that tp shards"},
    {{"the_bias_of_all_heads", "../../tests/differential/configs/bloom.json", "tp=2", "megatron"},
     "ColwiseParallel=3 PartOfHeads=1 RowwiseParallel=3"},
    {{"the_bias_by_name", "../../tests/differential/configs/mpt.json", "tp=2", "megatron"},
     "ColwiseParallel=2 Placed=1 PrepareModuleInput=1 RowwiseParallel=3"},
    {{"a_norm_of_all_heads", "../../tests/differential/configs/olmo2.json", "tp=2", "megatron"},
     "ColwiseParallel=4 PrepareModuleInput=1 PrepareModuleOutput=2 RowwiseParallel=3"},
    {{"sums_side_by_side", "../../tests/differential/configs/cohere.json", "tp=2", "megatron"},
     "ColwiseParallel=6 RowwiseParallel=3"},
    {{"a_table_of_two_stacks", "../../tests/differential/configs/t5.json", "tp=2", "megatron_sp"},
     "ColwiseParallel=14 PrepareModuleInput=2 RowwiseParallel=8 SequenceParallel=4"},
    {{"what_comes_before_layers", "vit_b_16.onnx", "dp=2,tp=2", "megatron_sp"},
     "ColwiseParallel=1 Placed=1 PrepareModuleInput=1 RowwiseParallel=1 "
     "SequenceParallel=2 SplitAttention=1"},
    {{"images", "../../tests/differential/configs/vit.json", "dp=2,tp=2", "megatron"},
     "ColwiseParallel=4 PrepareModuleInput=1 RowwiseParallel=2"},
    {{"embeddings_of_images_run_in_full", "../../tests/differential/configs/vit.json", "dp=2,tp=2",
      "megatron_sp"},
     "ColwiseParallel=4 Placed=1 PrepareModuleInput=1 PrepareModuleOutput=1 RowwiseParallel=2 "
     "SequenceParallel=2"},
    {{"first_tokens_are_gathered", "../../tests/differential/configs/bert.json", "dp=2,tp=2",
      "megatron_sp"},
     "ColwiseParallel=4 Placed=1 PrepareModuleInput=1 PrepareModuleOutput=2 RowwiseParallel=3 "
     "SequenceParallel=3"},
    {{"numbers_of_heads", "../../tests/differential/configs/opt.json", "tp=2", "megatron_sp"},
     "ColwiseParallel=5 PrepareModuleInput=1 PrepareModuleOutput=1 RowwiseParallel=3 "
     "SequenceParallel=3"},
    {{"stages_share_the_embedding", "../../tests/differential/configs/gemma.json", "pp=2,tp=2",
      "hybrid3d"},
     ""},
    {{"names_that_are_no_arguments", "../../tests/differential/odd_names.lua", "dp=2,tp=2",
      "tests/differential/odd_names.lua"},
     ""},
    {{"a_parameter_of_no_module", "../../tests/differential/bare.lua", "tp=2",
      "tests/differential/bare.lua"},
     ""},
    {{"keys_are_gathered", "llama-3-tiny.json", "dp=2,cp=2", "context"}, ""},
};

static void styles_of_torch_are_there_where_exact(void **state)
{
    const StyleRow *row = *state;
    Fixture f = open_plan(&row->plan);
    Buf text = buf_new(f.arena), module = export(&f, "dtensor");
    bool exact = str_find(buf_str(&module), STR("\nPARAMETERS = ")) >= 0;
    bool reason = row->styles[0] == '=';
    assert_int_equal(exact, reason || row->styles[0] == '\0');
    const char *why =
        arena_printf(f.arena, " styles do not express:\n#     %s\n", reason ? row->styles + 2 : "");
    assert_true(!reason || str_find(buf_str(&module), str_from(why)) >= 0);
    if (exact || !python_is_there()) {
        close_plan(&f);
        return;
    }
    buf_puts(&text, stubs);
    buf_add(&text, buf_str(&module));
    buf_puts(&text, "\nimport collections\n"
                    "found = collections.Counter(type(it).__name__ for name in ('TP', 'EP')"
                    " for it in globals().get(name, {}).values())\n"
                    "print(*(f'{k}={n}' for k, n in sorted(found.items()))) if found else "
                    "print('none')\n");
    assert_string_equal(arena_str(f.arena, python(f.arena, &text)), row->styles);
    close_plan(&f);
}

/* ---- policies for nnScaler ---- */

static const char print_nnscaler[] =
    "\nfor name, cuts in INPUTS.items():\n"
    "    for axis, dim in cuts.items(): print('T', hexed(name), axis, 'in', dim)\n"
    "for path, cuts in CUTS.items():\n"
    "    for axis, (role, dim, _) in cuts.items(): print('M', hexed(path), axis, role, dim)\n"
    "for path, devices in STAGES: print('S', hexed(path), *devices)\n"
    "for axis in UNIT_AXES: print('U', axis)\n";

static int32_t sharding_of_role(const Session *session, const CodeModule *module, Str role)
{
    if (str_eq(role, STR("in")))
        return module->reads;
    if (str_eq(role, STR("out")))
        return module->out < 0 ? -1 : session->plan->moved->made[module->out];
    return module->weight_reads;
}

static bool find_module(const Session *session, Str hex, CodeModule *out)
{
    Arena *arena = arena_new();
    bool found = false;
    for (int i = 0; i < naming_n_paths(session->naming) && !found; i++) {
        Buf text = buf_new(arena);
        if (!code_module(session, i, out))
            continue;
        put_hex(out->path, &text);
        found = str_eq(buf_str(&text), hex);
    }
    arena_free(arena);
    return found;
}

/* A line of CUTS: the axis does cut that dim of the module's tensor. */
static void check_cut(const Session *session, Str line)
{
    CodeModule module;
    Str hex = str_take(&line, ' '), axis = str_take(&line, ' '), role = str_take(&line, ' ');
    int64_t dim;
    assert_true(find_module(session, hex, &module));
    assert_true(str_to_int(line, &dim));
    int a = mesh_find_axis(session->mesh, axis);
    int32_t id = sharding_of_role(session, &module, role);
    assert_true(a >= 0 && id >= 0);
    const Sharding *sharding = shardings_at(session->plan->shardings, id);
    assert_true(cut_atoms(&sharding->dim[dim]) & mesh_axis_atoms(session->mesh, a));
}

typedef struct {
    PlanRow plan;
    int n_cuts, n_stages, n_units;
} PolicyRow;

/* Megatron's: 4 modules a layer of 2 with c_attn left out of GPT's, and 7 of Llama's. */
static PolicyRow policy_rows[] = {
    {{"gpt", "tiny-gpt.onnx", "tp=2", "tests/policies/megatron.lua"}, 6, 0, 0},
    {{"llama", "llama-tiny.onnx", "tp=2", "tests/policies/megatron.lua"}, 14, 0, 0},
    {{"data_is_units", "llama-tiny.onnx", "dp=2,tp=2", "tests/policies/megatron.lua"}, 14, 0, 1},
    {{"stages", "tiny-gpt.onnx", "pp=2,dp=2,tp=2", "hybrid3d"}, 8, 2, 1},
    {{"a_dp_alone", "tiny-gpt.onnx", "dp=2", "dp"}, 0, 0, 1},
};

static void the_policy_says_the_plan(void **state)
{
    const PolicyRow *row = *state;
    Fixture f = open_plan(&row->plan);
    Buf text = buf_new(f.arena), policy = export(&f, "nnscaler"), again = export(&f, "nnscaler");
    int n_cuts = 0, n_stages = 0, n_units = 0;
    assert_true(str_eq(buf_str(&policy), buf_str(&again)));
    if (!python_is_there())
        skip();
    buf_puts(&text, stubs);
    buf_add(&text, buf_str(&policy));
    buf_puts(&text, print_nnscaler);
    for (Str said = python(f.arena, &text); said.n > 0;) {
        Str line = str_take(&said, '\n'), mark = str_take(&line, ' ');
        n_stages += mark.s[0] == 'S';
        n_units += mark.s[0] == 'U';
        if (mark.s[0] == 'M') {
            check_cut(f.session, line);
            n_cuts++;
        }
    }
    assert_int_equal(n_cuts, row->n_cuts);
    assert_int_equal(n_stages, row->n_stages);
    assert_int_equal(n_units, row->n_units);
    close_plan(&f);
}

/* ---- names ---- */

/* h.N: y = x * w, whose names and paths end in `tail`. */
static int32_t add_layer(Arena *arena, GraphBuilder *builder, int layer, const char *tail,
                         int32_t x)
{
    const char *path = arena_printf(arena, "h.%d.%s", layer, tail);
    int32_t w = graph_tensor(builder, str_from(arena_printf(arena, "%s.weight", path)));
    int32_t y = graph_tensor(builder, str_from(arena_printf(arena, "%s out", path)));
    int32_t none = graph_add_attrs(builder, NULL, 0), in[2] = {x, w};
    Shape shape = {.n_dims = 2, .dim = {64, 64}};
    graph_add_initializer(builder, w, DT_F32, &shape, (TensorData){0});
    graph_add_op(builder, STR("MatMul"), str_from(arena_printf(arena, "%s op", path)),
                 str_from(path), in, 2, &y, 1, none);
    return y;
}

static Graph *hostile_graph(Arena *arena, const char *tail)
{
    GraphBuilder *builder = graph_builder_new(arena, arena_printf(arena, "dir/%s.onnx", tail));
    int32_t x = graph_tensor(builder, str_from(tail));
    Error err = {0};
    graph_add_input(builder, x, DT_F32, (DeclaredDim[]){{64, 0}, {64, 0}}, 2);
    for (int layer = 0; layer < 5; layer++)
        x = add_layer(arena, builder, layer, tail, x);
    graph_add_output(builder, x);
    Graph *graph = graph_seal(builder, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

static const char *hostile_names[][2] = {
    {"quotes", "a\"b'c\"\"\"\\"},
    {"formats", "{i}%s{0}{{}"},
    {"controls", "a\n# b\r\t\x1b[31m\x7f"},
    {"beyond_ascii", "\xe2\x80\xae\xe2\x80\xa8\xf0\x9f\x98\x80"},
    {"markup", "<b>&amp;]]>"},
    {"keywords", "class.import"},
    {"numbers", "007.1"},
    {"long", NULL},
};

static void names_are_texts_of_python(void **state)
{
    const char *const *row = *state;
    Fixture f = {.arena = arena_new()};
    Error err = {0};
    char *longest = arena_array(f.arena, char, 10001);
    memset(longest, 'a', 10000);
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = "hostile", .mesh = "tp=2"};
    Graph *graph = hostile_graph(f.arena, row[1] ? row[1] : longest);
    f.session = session_open_graph(graph, &options, &hooks, &err);
    if (!f.session)
        fail_msg("%s", err.text);
    Buf text = buf_new(f.arena), module = export(&f, "dtensor-exact"),
        policy = export(&f, "nnscaler");
    assert_true(row[1] == NULL || str_find(buf_str(&module), STR("for i in range(5)")) > 0);
    if (!python_is_there())
        skip();
    buf_puts(&text, stubs);
    buf_add(&text, buf_str(&policy));
    buf_add(&text, buf_str(&module));
    buf_puts(&text, print_dtensor);
    Buf wanted = wanted_of(f.session, f.arena);
    assert_same_lines(f.arena, python(f.arena, &text), str_trim(buf_str(&wanted)));
    close_plan(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_python_is_one),
        cmocka_unit_test(a_folded_dict_is_the_dict),
        cmocka_unit_test(layers_of_layers_are_loops_of_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("python reads", text_rows, python_reads_the_text) +
           run_rows("dtensor", plan_rows, the_module_says_the_plan) +
           run_rows("styles", style_rows, styles_of_torch_are_there_where_exact) +
           run_rows("nnscaler", policy_rows, the_policy_says_the_plan) +
           run_rows("names", hostile_names, names_are_texts_of_python);
}
