/* code_plans.h - plans that are exported as code, and read back. */
#ifndef TESTS_UNIT_CODE_PLANS_H
#define TESTS_UNIT_CODE_PLANS_H

#include "core/propagate/propagators.h"
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "scripts/hooks.h"
#include "core/plan/stage.h"
#include "viz/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session; /* NULL: it was refused */
} PlanFixture;

typedef struct {
    const char *model, *mesh, *policy;
} PlanCase;

static const PlanCase plan_cases[] = {
    {"tiny-gpt.onnx", "dp=2,tp=4", "megatron"},
    {"tiny-gpt.onnx", "dp=2,tp=2", "megatron_sp"},
    {"tiny-gpt.onnx", "dp=4", "fsdp"},
    {"tiny-gpt.onnx", "dp=8", "fsdp"},
    {"tiny-gpt.onnx", "dp=4", "dp"},
    {"tiny-gpt.onnx", "tp=3", "megatron"},
    {"tiny-gpt.onnx", "dp,tp=[[3,1],[0,2]]", "megatron"},
    {"tiny-gpt.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"gpt2.onnx", "dp=2,tp=4", "megatron"},
    {"gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"gpt2.onnx", "dp=8", "fsdp"},
    {"gpt2.onnx", "tp=8", "tp"},
    {"gpt2.onnx", "cp=4", "context"},
    {"gpt2.onnx", "pp=4", "pipeline"},
    {"gpt2-dynamo.onnx", "dp=2,tp=4", "megatron_sp"},
    {"llama-tiny.onnx", "dp=2,tp=8", "megatron"},
    {"llama-tiny.onnx", "dp=2,tp=4", "megatron_sp"},
    {"tiny-conv.onnx", "dp=4", "dp"},
    {"resnet50.onnx", "dp=4", "fsdp"},
    {"vit_b_16.onnx", "dp=2,tp=4", "megatron"},
    {"mixtral-8x7b.json", "ep=8,tp=2", "expert"},
    {"llama-3-8b.json", "dp=2,tp=8", "megatron"},
};

static inline PlanFixture plan_open_graph(Graph *graph, const PlanCase *it,
                                          const Propagator *propagator, Error *err)
{
    PlanFixture f = {.arena = arena_new()};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.mesh = it->mesh, .policy = it->policy, .propagator = propagator};
    options.propagator_given = true;
    if (it->model)
        options.model = arena_printf(f.arena, "samples/models/%s", it->model);
    f.session = graph ? session_open_graph(graph, &options, &hooks, err)
                      : session_open(&options, &hooks, err);
    return f;
}

static inline PlanFixture plan_open(const PlanCase *it, const Propagator *propagator, Error *err)
{
    return plan_open_graph(NULL, it, propagator, err);
}

static inline PlanFixture plan_need(const PlanCase *it)
{
    Error err = {0};
    PlanFixture f = plan_open(it, &propagator_explain, &err);
    if (!f.session)
        fail_msg("%s: %s", it->model, err.text);
    return f;
}

static inline void plan_close(PlanFixture *f)
{
    if (f->session)
        session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static inline Str plan_export(PlanFixture *f, const char *system, ExportNotes *notes)
{
    ExportRequest request = {.drawing = {.session = f->session}};
    Buf out = buf_new(f->arena);
    Error err = {0};
    *notes = (ExportNotes){.arena = f->arena};
    if (!export_write(export_format_find(str_from(system), true), &request, &out, notes, &err))
        fail_msg("%s: %s", system, err.text);
    return buf_str(&out);
}

static inline bool notes_have(const ExportNotes *notes, const char *text)
{
    for (int i = 0; i < notes->at.n; i++)
        if (strstr(notes->at.at[i], text))
            return true;
    return false;
}

/* Names that end a text, a comment or a line, stand for others, or look like code; one is of 10,000
 * characters. */
static const char *const hostile_names[] = {
    "h.0.\"w\"",
    "h.1.\"w\"",
    "h.2.\"w\"",
    "back\\slash",
    "line\nend",
    "cr\rtab\t",
    "{i}{{0}}",
    "%d%s%%",
    "'''\"\"\"",
    "]]--]=]",
    "*/ // --",
    "a*b?{c,d}",
    "\xE2\x80\xAE"
    "rtl",
    "caf\xC3\xA9",
    "\x7F"
    "5 del",
    "\x01\x02 3",
    "<b>&amp;</b>",
    "a\\1275",
    "$(x) `y`",
    "end) os.exit()",
    "h.01",
    "h.02",
    " lead trail ",
};

/* y <- MatMul x w, as often as there are names: weights, paths and ops have them. */
static inline Graph *hostile_graph(Arena *arena)
{
    GraphBuilder *builder = graph_builder_new(arena, "we\nird \"file\".onnx");
    Shape shape = {2, {8, 8}};
    DeclaredDim dims[2] = {{8, 0}, {8, 0}};
    char *large = arena_array(arena, char, 10001);
    memset(large, 'x', 10000);
    large[10000] = '\0';
    int n = (int)COUNT_OF(hostile_names);
    int32_t at = graph_tensor(builder, STR("input\"\\\n0"));
    graph_add_input(builder, at, DT_F32, dims, 2);
    for (int i = 0; i <= n; i++) {
        const char *name = i < n ? hostile_names[i] : large;
        int32_t w = graph_tensor(builder, str_from(name));
        int32_t out = graph_tensor(builder, str_from(arena_printf(arena, "%s out", name)));
        graph_add_initializer(builder, w, DT_F32, &shape, (TensorData){.form = DATA_ABSENT});
        int32_t in[2] = {at, w};
        graph_add_op(builder, STR("MatMul"), str_from(arena_printf(arena, "op %s", name)),
                     i % 2 ? str_from(name) : STR(""), in, 2, &out, 1, 0);
        at = out;
    }
    graph_add_output(builder, at);
    Error err = {0};
    Graph *graph = graph_seal(builder, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

/* Every other weight is cut, and every third op. */
static inline void hostile_decide(PlanFixture *f)
{
    const Graph *graph = f->session->graph;
    const Mesh *mesh = f->session->mesh;
    Decision decisions[64];
    int n = 0;
    for (int op = 0; op < graph->n_ops; op++) {
        Decision *d = &decisions[n];
        const uint8_t *atom = &(const uint8_t){0};
        Cut cut = cut_by(8, atom, 1, mesh);
        *d = (Decision){.kind = op % 3 ? PIN_TENSOR_DIM : PIN_INDEX_DIM};
        d->place = op % 3 ? op_inputs(graph, op)[1] : op;
        d->dim = op % 2;
        d->cut = cut_keep(intern_new(f->session->journal_arena), &cut);
        d->origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = "a\n--]] \"b\" \\"};
        n += op % 4 != 3;
    }
    Error err = {0};
    if (!session_apply(f->session, decisions, n, &err))
        fail_msg("%s", err.text);
}

#endif
