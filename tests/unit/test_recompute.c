/* Recomputation: which ops run again and from what; which layers and attentions are found; plans
 * with it need less memory; undo takes it back; a run that draws other numbers again is caught. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/run/run.h"
#include "core/session/session.h"
#include "core/step/recompute.h"
#include "scripts/hooks.h"
#include "viz/export.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session; /* NULL: err */
    Error err;
} Opened;

static const char *write_script(Arena *arena, const char *text)
{
    char name[] = "/tmp/dimscope_recompute_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    const char *path = arena_printf(arena, "%s.lua", name);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

/* model: a file, or the body of MODEL(model). policy: the body of PAS(graph), or NULL. */
static Opened open_model(const char *model, const char *train, const char *mesh, const char *policy)
{
    Opened o = {.arena = arena_new()};
    SessionOptions options = {.train = train, .mesh = mesh, .model = model};
    bool written = strchr(model, '(') != NULL;
    if (written)
        options.model =
            write_script(o.arena, arena_printf(o.arena, "function MODEL(model)\n%s\nend\n", model));
    if (policy)
        options.policy = write_script(
            o.arena, arena_printf(o.arena, "function PAS(graph)\n%s\nreturn graph\nend\n", policy));
    o.scripts = scripts_new(o.arena, ".");
    SessionHooks hooks = scripts_hooks(o.scripts);
    o.session = session_open(&options, &hooks, &o.err);
    if (written)
        unlink(options.model);
    if (policy)
        unlink(options.policy);
    return o;
}

static void close_model(Opened *o)
{
    session_close(o->session);
    scripts_free(o->scripts);
    arena_free(o->arena);
}

/* ---- which ops run again ---- */

#define X "local x = model:input('x', 'f32', {8, 16})\n"
#define W(name) "local " name " = model:param('" name "', {16, 16}, 'f32')\n"
#define MEAN(value) "model:output(model:op('ReduceMean', {" value "}, {keepdims = 0}), 'loss')\n"

/* Two blocks: a product, Tanh, a product; what leaves a block is `MatMul_1`, `MatMul_3`. The first
 * product reads no value with a gradient, so it is left out of its group. */
#define BLOCKS                                                                                     \
    X W("w") W("v") W("u") W(                                                                      \
        "s") "local h = model:op('MatMul', {model:op('Tanh', {model:op('MatMul', {x, w})}), v})\n" \
             "local g = model:op('MatMul', {model:op('Tanh', {model:op('MatMul', {h, u})}), "      \
             "s})\n" MEAN("g")

typedef struct {
    const char *title, *model, *policy;
    const char *want; /* a line an op that runs again, and each gradient op that reads a copy */
} AgainRow;

static AgainRow agains[] = {
    {"nothing runs again without groups", BLOCKS, "", ""},
    {"a group runs again from what comes into it, but for its last product", BLOCKS,
     "graph:recompute(graph:between(graph:node(3), graph:node(5)))",
     "MatMul_2~again: MatMul_1 u\n"
     "Tanh_1~again: MatMul_2~again\n"
     "  MatMul_3~d1: MatMul_3~grad Tanh_1~again\n"
     "  Tanh_1~d0: Tanh_1~grad Tanh_1~again\n"},
    {"a whole group runs again with its last product", BLOCKS,
     "graph:recompute(graph:between(graph:node(3), graph:node(5)), {whole = true})",
     "MatMul_2~again: MatMul_1 u\n"
     "Tanh_1~again: MatMul_2~again\n"
     "MatMul_3~again: Tanh_1~again s\n"
     "  MatMul_3~d1: MatMul_3~grad Tanh_1~again\n"
     "  Tanh_1~d0: Tanh_1~grad Tanh_1~again\n"},
    {"each group starts from a value that is kept", BLOCKS,
     "graph:recompute(graph:between(graph:node(0), graph:node(2)))\n"
     "graph:recompute(graph:between(graph:node(3), graph:node(5)))",
     "MatMul_2~again: MatMul_1 u\n"
     "Tanh_1~again: MatMul_2~again\n"
     "  MatMul_3~d1: MatMul_3~grad Tanh_1~again\n"
     "  Tanh_1~d0: Tanh_1~grad Tanh_1~again\n"
     "Tanh~again: MatMul\n"
     "  MatMul_1~d1: MatMul_1~grad Tanh~again\n"
     "  Tanh~d0: Tanh~grad Tanh~again\n"},
    {"one group of both makes all of both again", BLOCKS,
     "graph:recompute(graph:between(graph:node(1), graph:node(5)))",
     "Tanh~again: MatMul\n"
     "MatMul_1~again: Tanh~again v\n"
     "MatMul_2~again: MatMul_1~again u\n"
     "Tanh_1~again: MatMul_2~again\n"
     "  MatMul_3~d1: MatMul_3~grad Tanh_1~again\n"
     "  Tanh_1~d0: Tanh_1~grad Tanh_1~again\n"
     "  MatMul_2~d1: MatMul_2~grad MatMul_1~again\n"
     "  MatMul_1~d1: MatMul_1~grad Tanh~again\n"
     "  Tanh~d0: Tanh~grad Tanh~again\n"},
    {"a value that is an output is kept", BLOCKS "model:output(h, 'h')\n",
     "graph:recompute(graph:between(graph:node(1), graph:node(5)))",
     "MatMul_2~again: h u\n"
     "Tanh_1~again: MatMul_2~again\n"
     "  MatMul_3~d1: MatMul_3~grad Tanh_1~again\n"
     "  Tanh_1~d0: Tanh_1~grad Tanh_1~again\n"
     "Tanh~again: MatMul\n"
     "  MatMul_1~d1: h~grad Tanh~again\n"
     "  Tanh~d0: Tanh~grad Tanh~again\n"},
    {"a group of one op keeps its result", BLOCKS, "graph:recompute{graph:node(4)}", ""},
};

static bool is_copy(const Graph *graph, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
    return maker >= 0 && graph->phase[maker] == PHASE_AGAIN;
}

static void put_agains(const Graph *graph, Buf *out)
{
    for (int32_t op = 0; op < graph->n_ops; op++) {
        bool again = graph->phase[op] == PHASE_AGAIN, reads = again;
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            reads |= is_copy(graph, op_inputs(graph, op)[i]);
        if (!reads)
            continue;
        buf_printf(out, "%s%s:", again ? "" : "  ", op_name(graph, op));
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            buf_printf(out, " %s", tensor_name(graph, op_inputs(graph, op)[i]));
        buf_puts(out, "\n");
    }
}

static void groups_run_again(void **state)
{
    const AgainRow *row = *state;
    Opened o = open_model(row->model, "sgd", "dp=1", row->policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    Buf text = buf_new(o.arena);
    put_agains(o.session->graph, &text);
    assert_string_equal(text.n > 0 ? text.s : "", row->want);
    close_model(&o);
}

/* ---- layers, attentions ---- */

static const struct {
    const char *model;
    int n_layers, n_attentions;
} models[] = {
    {"samples/models/gpt2.onnx", 12, 12},
    {"samples/models/gpt2-dynamo.onnx", 12, 12},
    {"samples/models/llama-tiny.onnx", 2, 2},
    {"samples/models/vit_b_16.onnx", 12, 12},
    {"samples/models/resnet50.onnx", 16, 0},
    {"samples/models/mixtral-8x7b.json", 32, 0}, /* its attention is one op */
    {"samples/models/deepseek-v3.json", 61, 0},
};

static int count_groups(const Graph *graph, const int32_t *group)
{
    int n = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n = group[op] >= n ? group[op] + 1 : n;
    return n;
}

static void layers_and_attentions_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Opened o = open_model(models[i].model, NULL, NULL, NULL);
        if (!o.session)
            fail_msg("%s: %s", models[i].model, o.err.text);
        const Inferred *model = o.session->inferred;
        int n_layers = count_groups(model->graph, recompute_layers(o.arena, model));
        int n_attentions = count_groups(model->graph, recompute_attention(o.arena, model));
        if (n_layers != models[i].n_layers || n_attentions != models[i].n_attentions)
            fail_msg("%s: %d layers, %d attentions", models[i].model, n_layers, n_attentions);
        close_model(&o);
    }
}

/* ---- plans ---- */

static int64_t peak_of(const char *policy)
{
    Opened o = open_model("samples/models/gpt2.onnx", "adamw", "tp=4", policy);
    assert_non_null(o.session);
    int64_t peak = o.session->plan->priced->totals.peak_bytes;
    close_model(&o);
    return peak;
}

/* Korthikanti et al. 2022, arXiv 2205.05198, section 5: a layer keeps sbh(34 + 5as/h), with
 * selective recomputation 34 sbh, with full 2 sbh. gpt2 with a = 12, s = 1024, h = 768: 5as/h is
 * 80, so that selective frees more than half, and full nearly all. */
static void recomputing_frees_memory(void **state)
{
    (void)state;
    int64_t all = peak_of("graph:recompute('none of them')");
    int64_t selective = peak_of("graph:recompute('selective')");
    int64_t full = peak_of("graph:recompute('full')");
    assert_true(selective < all * 3 / 4);
    assert_true(full < selective / 2);
}

static void backward_takes_the_forward_longer(void **state)
{
    (void)state;
    Opened o = open_model("samples/models/gpt2.onnx", "adamw", "tp=4",
                          "graph:recompute('full')\ngraph:schedule('1f1b', {micro_batches = 2})");
    assert_non_null(o.session);
    const StagePrice *stage = o.session->plan->priced->pipeline->stage;
    assert_true(stage->again_us > 0.5 * stage_forward_us(stage));
    assert_true(stage->again_us < stage_forward_us(stage));
    assert_true(stage->backward_us > stage->again_us);
    close_model(&o);
}

static int count_again(const Session *session)
{
    int n = 0;
    for (int32_t op = 0; op < session->graph->n_ops; op++)
        n += session->graph->phase[op] == PHASE_AGAIN;
    return n;
}

static void undo_takes_it_back(void **state)
{
    (void)state;
    Opened o = open_model(BLOCKS, "sgd", "dp=1", NULL);
    const Graph *before = o.session->graph;
    Decision decision = {.kind = PIN_RECOMPUTE, .place = 3, .last = 5, .dim = -1};
    decision.origin.kind = ORIGIN_USER;
    assert_true(session_apply(o.session, &decision, 1, &o.err));
    assert_int_equal(count_again(o.session), 2);
    for (int32_t t = 0; t < o.session->derived.model.graph->n_tensors; t++)
        assert_string_equal(tensor_name(o.session->graph, t), tensor_name(before, t));
    assert_true(session_undo(o.session, &o.err));
    assert_int_equal(count_again(o.session), 0);
    assert_ptr_equal(o.session->graph, before);
    assert_true(session_redo(o.session, &o.err));
    assert_int_equal(count_again(o.session), 2);
    close_model(&o);
}

/* ---- scripts ---- */

typedef struct {
    const char *title, *policy, *want; /* the error; or "groups: .." of the journal */
} ScriptRow;

static ScriptRow scripts[] = {
    {"full is each layer", "graph:recompute('full')", "2 groups, no findings"},
    {"some layers of each stage", "graph:recompute('full', {layers = 1})", "1 groups, no findings"},
    {"patterns are of modules", "graph:recompute{'*.mlp', '*.h.0.attn'}", "3 groups, no findings"},
    {"a pattern that matches nothing is a warning", "graph:recompute('nothing')",
     "0 groups, no module or op is called 'nothing'"},
    {"layers are a number", "graph:recompute('full', {layers = 0})",
     "layers must be a number of layers in each stage, 1 or more"},
    {"patterns are texts", "graph:recompute{'a', 2}",
     "expected a pattern of modules, not a number"},
    {"an op is in one group", "graph:recompute('full')\ngraph:recompute('*.mlp')",
     "'/transformer/h.0/mlp/c_fc/Reshape' is already in recompute group 0"},
};

static void scripts_say_what_runs_again(void **state)
{
    const ScriptRow *row = *state;
    Opened o = open_model("samples/models/tiny-gpt.onnx", NULL, NULL, row->policy);
    Buf text = buf_new(o.arena);
    if (!o.session) {
        buf_puts(&text, o.err.text);
    } else {
        int n = 0;
        for (int i = 0; i < o.session->journal.n_done; i++)
            if (o.session->journal.decisions.at[i].number >= n)
                n = o.session->journal.decisions.at[i].number + 1;
        buf_printf(&text, "%d groups, %s", n,
                   o.session->notes.n > 0 ? o.session->notes.at[0].text : "no findings");
    }
    assert_string_equal(text.s, row->want);
    close_model(&o);
}

/* ---- draws ---- */

#define LAYERS                                                                                     \
    "local h = model:input('x', 'f32', {8, 16})\n"                                                 \
    "local training = model:op('Cast', {1}, {to = 9})\n"                                           \
    "for layer = 0, 1 do\n"                                                                        \
    "  local w = model:param('h.' .. layer .. '.w', {16, 16}, 'f32')\n"                            \
    "  local t = model:op('Gelu', {model:op('MatMul', {h, w})})\n"                                 \
    "  h = model:op('Gelu', {model:op('Dropout', {t, 0.25, training})})\n"                         \
    "end\n"                                                                                        \
    "model:output(model:op('ReduceMean', {h}, {keepdims = 0}), 'loss')\n"
#define AGAIN                                                                                      \
    "graph:shard('x', {[0] = 'dp'})\n"                                                             \
    "graph:recompute(graph:between(graph:node(1), graph:node(3)))\n"

/* A generator whose state is not that of the forward pass: other elements are dropped. */
static void other_numbers_again_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *wrong; /* NULL: nothing is */
    } drawn[] = {
        {AGAIN, NULL},
        {AGAIN "graph:assume('Dropout*~again', 'drawn by rank', 'tp')\n", "Dropout~again"}};
    for (size_t i = 0; i < COUNT_OF(drawn); i++) {
        Opened o = open_model(LAYERS, "sgd", "dp=2,tp=2", drawn[i].policy);
        RunReport report;
        RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
        if (!o.session || !run_plan(o.arena, o.session->plan, &options, &report, &o.err))
            fail_msg("%s", o.err.text);
        bool found = false;
        for (int k = 0; k < o.session->plan->findings.n; k++)
            found |= strcmp(o.session->plan->findings.at[k].code, "drawn-apart") == 0;
        assert_int_equal(found, drawn[i].wrong != NULL);
        assert_int_equal(report.verdict, drawn[i].wrong ? RUN_FAIL : RUN_PASS);
        if (drawn[i].wrong)
            assert_string_equal(tensor_name(o.session->graph, report.first_bad), drawn[i].wrong);
        close_model(&o);
    }
}

/* Groups have numbers from 0, also those that run again as a whole, and each system is told. */
static void every_system_is_told_what_runs_again(void **state)
{
    (void)state;
    static const char *const policies[] = {"graph:recompute('full')", "graph:recompute('*.mlp')"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        Opened o =
            open_model("samples/models/llama-3-tiny.json", "adamw", "dp=2,tp=2", policies[i]);
        if (!o.session)
            fail_msg("%s", o.err.text);
        for (int32_t op = 0; op < o.session->graph->n_ops; op++)
            assert_true(recompute_group(o.session->plan, op) < o.session->graph->n_ops);
        const ExportFormat *format;
        for (int k = 0; (format = code_format_at(k)); k++) {
            Buf out = buf_new(o.arena);
            ExportNotes notes = {.arena = o.arena};
            ExportRequest request = {.drawing = {.session = o.session}};
            if (!export_write(format, &request, &out, &notes, &o.err))
                fail_msg("%s: %s", format->name, o.err.text);
            assert_true(out.n > 0);
        }
        close_model(&o);
    }
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(layers_and_attentions_are_found),
        cmocka_unit_test(recomputing_frees_memory),
        cmocka_unit_test(backward_takes_the_forward_longer),
        cmocka_unit_test(undo_takes_it_back),
        cmocka_unit_test(other_numbers_again_are_found),
        cmocka_unit_test(every_system_is_told_what_runs_again),
    };
    int failed = run_rows("again", agains, groups_run_again);
    failed += run_rows("scripts", scripts, scripts_say_what_runs_again);
    return failed + cmocka_run_group_tests(others, NULL, NULL);
}
