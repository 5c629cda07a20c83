/* The policies that are shipped, on the sample models: what moves, what is said, what defines each,
 * and that ranks compute what one device does. */
#include "tests/unit/model_text.h"

#include "core/base/units.h"
#include "core/plan/stage.h"
#include "core/run/run.h"
#include "core/cost/pipeline.h"
#include "scripts/hooks.h"
#include "tui/cli/plan_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
    Error err;
} Opened;

/* model: of samples/models, with its ending; dims "": those of the sample. */
static Opened open_policy(const char *model, const char *dims, const char *mesh, const char *policy)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model = arena_printf(opened.arena, "samples/models/%s", model);
    Source source = {"--dim", str_from(dims)};
    assert_true(!dims[0] || dims_parse(opened.arena, &source, &options.dims, &opened.err));
    opened.session = session_open(&options, &hooks, &opened.err);
    return opened;
}

static const Plan *plan_of(const Opened *opened)
{
    if (!opened->session)
        fail_msg("%s:%d: %s", opened->err.file, opened->err.line, opened->err.text);
    return opened->session->plan;
}

static void close_policy(Opened *opened)
{
    session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

/* A row of the table of roles: "column     12  transformer.h.*.mlp.c_fc.weight  n by tp". */
static bool is_role(const Finding *note)
{
    static const char *const roles[] = {"embedding ", "column ", "row ",
                                        "head ",      "router ", "latent "};
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (str_starts(str_from(note->text), str_from(roles[i])))
            return true;
    return false;
}

/* What the policy printed but for roles, and other findings of its run by their codes:
 * "no axis dp: ..\n". */
static const char *notes_text(const Opened *opened)
{
    const Findings *notes = &opened->session->notes;
    Buf out = buf_new(opened->arena);
    for (int i = 0; i < notes->n; i++)
        if (!is_role(&notes->at[i]))
            buf_printf(&out, "%s\n",
                       strcmp(notes->at[i].code, "printed") == 0 ? notes->at[i].text
                                                                 : notes->at[i].code);
    return out.n > 0 ? out.s : "";
}

/* Weights are one row a role, whatever the model calls them; modules that are numbered are not. */
static void layers_are_one_row_of_the_table_of_roles(void **state)
{
    (void)state;
    OpenedText o = model_text_open(
        "function MODEL(model, config)\n"
        "  local x = model:input('x', 'f32', {4, 16, 32})\n"
        "  for i = 0, 2 do model:module('trunk.' .. i, function()\n"
        "    local g = model:param('scale', {32}, 'f32')\n"
        "    local y = model:op('RMSNormalization', {x, g}, {axis = -1})\n"
        "    y = model:op('Relu', {model:op('MatMul', {y, model:param('up', {32, 64}, 'f32')})})\n"
        "    y = model:op('MatMul', {y, model:param('mlp.2.weight', {64, 32}, 'f32')})\n"
        "    x = model:op('Add', {x, y})\n"
        "  end) end\n"
        "  model:output(x, 'y')\n"
        "end\n",
        "", "dp=2,tp=4", "megatron");
    if (!o.session)
        fail_msg("%s", o.err.text);
    const Findings *notes = &o.session->notes;
    int n = 0;
    for (int i = 0; i < notes->n; i++)
        if (is_role(&notes->at[i]))
            assert_string_equal(notes->at[i].text,
                                n++ == 0 ? "column      3  trunk.*.up            n by tp"
                                         : "row         3  trunk.*.mlp.2.weight  k by tp");
    assert_int_equal(n, 2);
    model_text_close(&o);
}

/* ---- what moves ---- */

static int by_kind(const void *a, const void *b)
{
    const CollectiveRow *x = a, *y = b;
    int order = strcmp(step_kind_name(x->kind), step_kind_name(y->kind));
    return order ? order : (x->atoms > y->atoms) - (x->atoms < y->atoms);
}

static int collectives_of(const Opened *opened, CollectiveRow **out)
{
    int n = plan_collectives(opened->arena, plan_of(opened), out);
    if (n > 0)
        qsort(*out, (size_t)n, sizeof **out, by_kind);
    return n;
}

/* "25 all_gather tp, 25 reduce_scatter tp": by kind and axes, all sizes together. */
static const char *kinds_text(const Opened *opened)
{
    CollectiveRow *row;
    int n = collectives_of(opened, &row);
    Buf out = buf_new(opened->arena);
    for (int i = 0, next; i < n; i = next) {
        double count = 0;
        for (next = i; next < n && row[next].kind == row[i].kind && row[next].atoms == row[i].atoms;
             next++)
            count += row[next].count;
        buf_printf(&out, "%s%g %s ", i ? ", " : "", count, step_kind_name(row[i].kind));
        mesh_format_set(opened->session->mesh, row[i].atoms, ".", &out);
    }
    return out.n > 0 ? out.s : "";
}

typedef struct {
    const char *name, *model, *dims, *mesh, *policy;
    const char *kinds, *notes;
} MoveRow;

#define NO_TP "no axis tp: the weights stay whole\n"
#define NO_NORMS "no norm of [batch, sequence, width] was found: the sequence stays whole\n"

static MoveRow move_rows[] = {
    {"dp, gpt2", "gpt2.onnx", "", "dp=8", "dp", "", ""},
    {"dp, resnet", "resnet50.onnx", "", "dp=8", "dp", "", ""},
    {"dp, vit", "vit_b_16.onnx", "", "dp=3", "dp", "", ""},
    {"dp, llama-3", "llama-3-8b.json", "", "dp=8", "dp", "", ""},
    {"dp, an axis of 1", "gpt2.onnx", "", "dp=1", "dp", "", ""},
    {"dp, an axis that is not used", "tiny-gpt.onnx", "", "dp=2,pp=2", "dp", "",
     "dp.lua does not use the axis pp\n"},
    {"dp, an axis of 1 that is not used", "tiny-gpt.onnx", "", "dp=2,pp=1", "dp", "", ""},
    {"fsdp, gpt2", "gpt2.onnx", "", "dp=8", "fsdp", "149 all_gather dp", ""},
    {"fsdp, the tied head once", "gpt2-dynamo.onnx", "", "dp=8", "fsdp", "148 all_gather dp", ""},
    {"fsdp, resnet", "resnet50.onnx", "", "dp=4", "fsdp", "108 all_gather dp", ""},
    {"fsdp, llama-3", "llama-3-8b.json", "", "dp=8", "fsdp", "291 all_gather dp", ""},
    {"tp, gpt2", "gpt2.onnx", "", "tp=4", "tp", "24 all_reduce tp", ""},
    {"tp, llama-3", "llama-3-8b.json", "", "tp=8", "tp", "64 all_reduce tp", ""},
    {"megatron, gpt2", "gpt2.onnx", "", "dp=2,tp=4", "megatron", "25 all_reduce tp", ""},
    {"megatron, vit and its classes", "vit_b_16.onnx", "", "dp=2,tp=4", "megatron",
     "24 all_reduce tp", "policy-warns\n"},
    {"megatron, llama-3", "llama-3-8b.json", "", "dp=2,tp=4", "megatron", "65 all_reduce tp", ""},
    {"megatron, no tp", "gpt2.onnx", "", "dp=8", "megatron", "", NO_TP},
    {"megatron_sp, gpt2", "gpt2.onnx", "", "dp=2,tp=4", "megatron_sp",
     "25 all_gather tp, 25 reduce_scatter tp", ""},
    {"megatron_sp, gpt2-dynamo", "gpt2-dynamo.onnx", "", "dp=2,tp=4", "megatron_sp",
     "25 all_gather tp, 25 reduce_scatter tp", ""},
    {"megatron_sp, one sample a rank", "gpt2.onnx", "batch=2", "dp=2,tp=4", "megatron_sp",
     "25 all_gather tp, 25 reduce_scatter tp", ""},
    {"megatron_sp, tiny-gpt", "tiny-gpt.onnx", "", "dp=2,tp=4", "megatron_sp",
     "5 all_gather tp, 5 reduce_scatter tp", ""},
    {"megatron_sp, llama", "llama-tiny.onnx", "", "dp=2,tp=4", "megatron_sp",
     "5 all_gather tp, 5 reduce_scatter tp", ""},
    {"megatron_sp, llama-3", "llama-3-8b.json", "", "dp=2,tp=4", "megatron_sp",
     "65 all_gather tp, 65 reduce_scatter tp", ""},
    {"megatron_sp, vit and its class token", "vit_b_16.onnx", "", "dp=2,tp=4", "megatron_sp",
     "25 all_gather tp, 1 halo_exchange tp, 24 reduce_scatter tp", "policy-warns\n"},
    {"megatron_sp, a sequence of one", "gpt2.onnx", "seq=1", "dp=2,tp=4", "megatron_sp",
     "25 all_reduce tp", "a sequence of 1 stays whole\n"},
    {"context, gpt2", "gpt2.onnx", "", "dp=2,cp=4", "context", "24 all_gather cp", ""},
    {"context, gpt2-dynamo", "gpt2-dynamo.onnx", "", "cp=8", "context", "24 all_gather cp",
     "no axis dp: the batch stays whole\n"},
    {"context, llama", "llama-tiny.onnx", "", "dp=2,cp=4", "context", "4 all_gather cp", ""},
    {"context, llama-3", "llama-3-8b.json", "", "dp=2,cp=4", "context", "64 all_gather cp", ""},
    {"context, vit and its class token", "vit_b_16.onnx", "", "dp=2,cp=4", "context",
     "25 all_gather cp, 1 halo_exchange cp", ""},
    {"context, resnet", "resnet50.onnx", "", "dp=2,cp=2", "context", "", NO_NORMS},
    {"megatron_sp, axes of 1", "gpt2.onnx", "", "dp=1,tp=1", "megatron_sp", "", ""},
    {"context, axes of 1", "llama-tiny.onnx", "", "dp=1,cp=1", "context", "", ""},
    {"hybrid3d, axes of 1", "gpt2.onnx", "", "dp=1,tp=1,pp=1", "hybrid3d", "", ""},
    {"fsdp, sizes that dp does not divide", "tiny-gpt.onnx", "batch=5", "dp=3", "fsdp",
     "29 all_gather dp", ""},
    {"pipeline, vit: a send a boundary", "vit_b_16.onnx", "", "dp=2,pp=3", "pipeline", "2 send pp",
     ""},
    {"pipeline, gpt2 and its mask", "gpt2.onnx", "", "dp=2,pp=2", "pipeline", "2 send pp", ""},
    {"pipeline, resnet", "resnet50.onnx", "", "dp=2,pp=3", "pipeline", "2 send pp", ""},
    {"pipeline, conv", "tiny-conv.onnx", "", "dp=2,pp=2", "pipeline", "1 send pp", ""},
    {"pipeline, mixtral", "mixtral-8x7b.json", "", "dp=1,pp=2", "pipeline", "3 send pp", ""},
    {"pipeline, one stage", "gpt2.onnx", "", "dp=2,pp=1", "pipeline", "", ""},
    {"pipeline, no axis of stages", "gpt2.onnx", "", "dp=2", "pipeline", "",
     "no axis pp: there is one stage\n"},
    {"pipeline, more stages than layers", "tiny-gpt.onnx", "", "dp=1,pp=5", "pipeline",
     "10 send pp", "more-stages-than-layers\n"},
    {"hybrid3d, gpt2", "gpt2.onnx", "", "pp=2,dp=2,tp=2", "hybrid3d", "25 all_reduce tp, 2 send pp",
     ""},
    {"hybrid3d, llama-3", "llama-3-8b.json", "", "dp=2,tp=2,pp=2", "hybrid3d",
     "65 all_reduce tp, 3 send pp", ""},
    {"hybrid3d, without tp", "vit_b_16.onnx", "", "dp=2,pp=2", "hybrid3d", "1 send pp", NO_TP},
    {"hybrid3d, without pp", "gpt2.onnx", "", "dp=2,tp=4", "hybrid3d", "25 all_reduce tp",
     "no axis pp: there is one stage\n"},
};

static void what_moves(void **state)
{
    const MoveRow *row = *state;
    Opened opened = open_policy(row->model, row->dims, row->mesh, row->policy);
    assert_true(plan_is_legal(plan_of(&opened)));
    assert_string_equal(kinds_text(&opened), row->kinds);
    assert_string_equal(notes_text(&opened), row->notes);
    close_policy(&opened);
}

/* ---- what defines a policy: totals beside those of another ---- */

typedef struct {
    int64_t moved, peak, parameters; /* bytes: sent by a rank, on rank 0, stored on rank 0 */
} Sums;

static Sums sums_of(const char *model, const char *dims, const char *mesh, const char *policy)
{
    Opened opened = open_policy(model, dims, mesh, policy);
    const Plan *plan = plan_of(&opened);
    Sums sums = {plan->priced->totals.comm_bytes, plan->priced->totals.peak_bytes, 0};
    for (int t = 0; t < plan->inferred->graph->n_tensors; t++)
        if (tensor_is_parameter(plan->inferred, t) && plan->moved->sharding[t] >= 0)
            sums.parameters += plan_local_bytes(plan, t, plan->moved->sharding[t]);
    close_policy(&opened);
    return sums;
}

static void fsdp_gathers_every_parameter_once(void **state)
{
    (void)state;
    Sums whole = sums_of("llama-3-8b.json", "", "dp=8", "dp");
    Sums parts = sums_of("llama-3-8b.json", "", "dp=8", "fsdp");
    assert_int_equal(parts.parameters, whole.parameters / 8);
    assert_int_equal(parts.moved, whole.parameters / 8 * 7);
    assert_true(parts.peak < whole.peak);
}

static void sequence_parallelism_moves_the_bytes_of_megatron(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2.onnx", "gpt2-dynamo.onnx", "llama-tiny.onnx",
                                         "llama-3-8b.json"}; /* the last one peaks at its logits */
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        Sums whole = sums_of(models[i], "", "dp=2,tp=4", "megatron");
        Sums parts = sums_of(models[i], "", "dp=2,tp=4", "megatron_sp");
        assert_int_equal(parts.moved, whole.moved);
        assert_true(parts.parameters <= whole.parameters); /* of positions, those of the part */
        if (i + 1 < COUNT_OF(models))
            assert_true(parts.peak < whole.peak);
        else
            assert_int_equal(parts.peak, whole.peak);
    }
}

/* 8 key and value heads of 128, 4096 places, 4 samples a rank, 32 layers: those of a ring too. */
static void context_parallelism_moves_keys_and_values(void **state)
{
    (void)state;
    Sums sums = sums_of("llama-3-8b.json", "", "dp=2,cp=4", "context");
    int64_t keys = (int64_t)4 * 8 * 4096 * 128 * 2;
    assert_int_equal(sums.moved, 32 * 2 * (keys / 4 * 3));
}

/* Bytes of the parameters that ops of a stage read, on rank 0 of it. */
static int64_t parameters_of_stage(const Plan *plan, int stage)
{
    const Graph *graph = plan->inferred->graph;
    int64_t bytes = 0;
    for (int t = 0; t < graph->n_tensors; t++) {
        bool read = false;
        for (int u = 0; u < tensor_n_uses(graph, t); u++)
            read |= stage_of(plan, graph->uses[graph->tensors[t].use + u]) == stage;
        if (read && tensor_is_parameter(plan->inferred, t))
            bytes += plan_local_bytes(plan, t, plan->moved->sharding[t]);
    }
    return bytes;
}

static void stages_share_the_parameters(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2.onnx", "resnet50.onnx", "llama-3-8b.json"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        Sums whole = sums_of(models[i], "", "dp=2", "dp");
        Opened opened = open_policy(models[i], "", "dp=2,pp=4", "pipeline");
        const Plan *plan = plan_of(&opened);
        int64_t bytes = 0;
        assert_int_equal(plan->decided->stages->n, 4);
        for (int stage = 0; stage < plan->decided->stages->n; stage++)
            bytes += parameters_of_stage(plan, stage);
        assert_int_equal(bytes, whole.parameters);
        close_policy(&opened);
    }
}

/* Twelve layers alike on three stages, and 1F1B of 16: nobody waits but for the ramps. */
static void stages_take_alike(void **state)
{
    (void)state;
    Opened opened = open_policy("vit_b_16.onnx", "", "dp=2,pp=3", "pipeline");
    const Plan *plan = plan_of(&opened);
    const Stages *stages = plan->decided->stages;
    assert_non_null(plan_schedule(plan));
    assert_string_equal(stages->schedule, "1f1b");
    assert_int_equal(stages->n_micro_batches, 16);
    assert_true(plan_schedule(plan)->idle > 2.0 / 18 &&
                plan_schedule(plan)->idle < 2.0 / 18 + 0.03);
    close_policy(&opened);
}

/* ---- meshes that a policy cannot use ---- */

typedef struct {
    const char *name, *text;
} RefusedRow;

static RefusedRow refused_rows[] = {
    {"dp", "dp.lua cuts by an axis named dp, and the mesh has none"},
    {"fsdp", "fsdp.lua cuts by an axis named dp, and the mesh has none"},
    {"tp", "tp.lua cuts by an axis named tp, and the mesh has none"},
    {"megatron", "megatron.lua cuts by axes named dp and tp, and the mesh has none of them"},
    {"megatron_sp", "megatron_sp.lua cuts by axes named dp and tp, and the mesh has none of them"},
    {"context", "context.lua cuts by axes named dp and cp, and the mesh has none of them"},
    {"hybrid3d", "hybrid3d.lua cuts by axes named dp, tp and pp, and the mesh has none of them"},
    {"pipeline", "pipeline.lua cuts by axes named dp and pp, and the mesh has none of them"},
    {"expert", "expert.lua cuts by axes named dp and ep, and the mesh has none of them"},
};

static void a_mesh_without_its_axes_is_refused(void **state)
{
    const RefusedRow *row = *state;
    Opened opened = open_policy("tiny-gpt.onnx", "", "x=2", row->name);
    assert_null(opened.session);
    assert_int_equal(opened.err.kind, ERROR_SCRIPT);
    assert_true(str_starts(str_from(opened.err.text), str_from(row->text)));
    assert_true(opened.err.line > 0);
    close_policy(&opened);
}

/* ---- what is included ---- */

typedef struct {
    const char *name, *script;
    const char *want; /* the error, or what it prints */
} IncludeRow;

#define PAS_THAT "\nfunction PAS(graph)\n"

static IncludeRow include_rows[] = {
    {"what a file returns, once",
     "print(include 'lib/common' == include 'lib/common', type(include "
     "'lib/common'.cut_batch))" PAS_THAT "return graph end",
     "true    function\n"},
    {"another policy",
     "local megatron = include 'megatron'\nfunction PAS(graph, resource)\n"
     "megatron.cut_weights(graph, 'mine.lua', resource, 'tp')\nprint('cut')\nreturn graph end",
     "cut\n"},
    {"a policy that returns nothing, for its PAS",
     "local dp = include 'dp'\nfunction PAS(graph, resource)\n"
     "print(dp(graph, resource) == graph)\nreturn graph end",
     "dp.lua does not use the axis tp\ntrue\n"},
    {"no way out", "include '../policies/dp'",
     "1: include needs the name of a file below the folder of the policy, or of a shipped one, not "
     "'../policies/dp'"},
    {"no path", "include '/etc/passwd'",
     "1: include needs the name of a file below the folder of the policy, or of a shipped one, not "
     "'/etc/passwd'"},
    {"no name", "\ninclude(nil)",
     "2: include needs the name of a file below the folder of the policy, or of a shipped one, not "
     "'nil'"},
    {"no such file", "include 'lib/none'", "1: there is no 'lib/none' among the policies"},
    {"an error in it has the line that called",
     "local common = include 'lib/common'" PAS_THAT
     "common.use_axes('mine.lua', {mesh = {}}, {{'zz', ''}})\nreturn graph end",
     "3: mine.lua cuts by an axis named zz, and the mesh has none"},
};

static void what_is_included(void **state)
{
    const IncludeRow *row = *state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_policies_%d.lua", (int)getpid());
    assert_true(file_write(path, str_from(row->script), NULL));
    Opened opened = open_policy("tiny-gpt.onnx", "", "dp=2,tp=2", path);
    unlink(path);
    const char *got = opened.session
                          ? notes_text(&opened)
                          : arena_printf(opened.arena, "%d: %s", opened.err.line, opened.err.text);
    assert_true(str_starts(str_from(got), str_from(row->want)));
    close_policy(&opened);
}

/* Decisions of an included function are of the policy's line. */
static void a_decision_is_of_the_line_that_called(void **state)
{
    (void)state;
    Opened opened = open_policy("tiny-gpt.onnx", "", "dp=2", "dp");
    assert_non_null(plan_of(&opened));
    const Origin *origin = &opened.session->journal.decisions.at[0].origin;
    assert_string_equal(origin->text, "common.cut_batch(graph, batch)");
    assert_true(str_ends(str_from(origin->file), STR("scripts/policies/dp.lua")));
    close_policy(&opened);
}

/* ---- what a file says of itself ---- */

/* "24 all_reduce; step 15.8 ms, moved 432.0 MiB, peak 1.1 GiB" */
static const char *cost_text(const Opened *opened)
{
    CollectiveRow *row;
    int n = collectives_of(opened, &row);
    const Plan *plan = plan_of(opened);
    Buf out = buf_new(opened->arena);
    for (int i = 0, next; i < n; i = next) {
        double count = 0;
        for (next = i; next < n && row[next].kind == row[i].kind; next++)
            count += row[next].count;
        buf_printf(&out, "%s%g %s", i ? ", " : "", count, step_kind_name(row[i].kind));
    }
    buf_puts(&out, n ? "; step " : "nothing moves; step ");
    units_format_us(plan->priced->totals.step_us, &out);
    buf_puts(&out, ", moved ");
    units_format_bytes(plan->priced->totals.comm_bytes, &out);
    buf_puts(&out, ", peak ");
    units_format_bytes(plan->priced->totals.peak_bytes, &out);
    const Schedule *table = plan_schedule(plan);
    if (table) {
        buf_printf(&out, "\n--     %s of %d: ", table->name, table->n_micro_batches);
        units_format_us(table->us, &out);
        buf_printf(&out, ", bubble %.1f%%", 100 * table->idle);
    }
    return out.s;
}

/* The words after `before`, up to a blank or the line's end. */
static const char *word_after(Arena *arena, Str text, const char *before)
{
    int64_t at = str_find(text, str_from(before));
    if (at < 0)
        fail_msg("no '%s'", before);
    const char *from = text.s + at + strlen(before);
    return arena_printf(arena, "%.*s", (int)strcspn(from, " \n"), from);
}

static RefusedRow files[] = {{"context", ""},     {"expert", ""},   {"dp", ""},
                             {"fsdp", ""},        {"hybrid3d", ""}, {"megatron", ""},
                             {"megatron_sp", ""}, {"pipeline", ""}, {"tp", ""}};

/* The first comment names the file, says when, what, the cost on a sample, axes and a paper; the
 * cost is that of the command in it. */
static void a_file_says_what_it_costs(void **state)
{
    const char *name = ((const RefusedRow *)*state)->name;
    Arena *arena = arena_new();
    Source source;
    assert_true(file_read(arena, arena_printf(arena, "scripts/policies/%s.lua", name), 1 << 20,
                          &source, NULL));
    Str text = source.text;
    assert_true(str_starts(text, str_from(arena_printf(arena, "-- %s.lua: ", name))));
    static const char *const parts[] = {
        "\n-- When: ", "\n-- What: ", "\n-- Axes: ", "\n-- Paper: "};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_true(str_find(text, str_from(parts[i])) > 0);
    assert_string_equal(word_after(arena, text, " -p "), name);
    Opened opened =
        open_policy(word_after(arena, text, "\n-- Cost: ./dimscope plan samples/models/"), "",
                    word_after(arena, text, " -m "), name);
    const char *cost = arena_printf(arena, "-p %s\n--     %s\n", name, cost_text(&opened));
    if (str_find(text, str_from(cost)) < 0)
        fail_msg("the cost is: %s", cost);
    close_policy(&opened);
    arena_free(arena);
}

/* ---- ranks compute what one device does ---- */

typedef struct {
    const char *name, *model, *dims, *mesh, *policy;
} RunRow;

static RunRow run_rows_of[] = {
    {"dp, gpt, 2", "tiny-gpt.onnx", "", "dp=2", "dp"},
    {"dp, gpt, uneven", "tiny-gpt.onnx", "batch=3", "dp=2", "dp"},
    {"dp, conv, 2", "tiny-conv.onnx", "", "dp=2", "dp"},
    {"dp, llama, 4", "llama-tiny.onnx", "batch=4", "dp=4", "dp"},
    {"fsdp, gpt, 2", "tiny-gpt.onnx", "", "dp=2", "fsdp"},
    {"fsdp, conv, 2", "tiny-conv.onnx", "", "dp=2", "fsdp"},
    {"fsdp, llama, 3", "llama-tiny.onnx", "", "dp=3", "fsdp"},
    {"tp, gpt, 2", "tiny-gpt.onnx", "", "tp=2", "tp"},
    {"tp, conv, 2", "tiny-conv.onnx", "", "tp=2", "tp"},
    {"tp, llama, 4", "llama-tiny.onnx", "", "tp=4", "tp"},
    {"megatron, gpt, 2", "tiny-gpt.onnx", "", "tp=2", "megatron"},
    {"megatron, gpt, 2 x 2", "tiny-gpt.onnx", "", "dp=2,tp=2", "megatron"},
    {"megatron, llama, 2 x 4", "llama-tiny.onnx", "", "dp=2,tp=4", "megatron"},
    {"megatron_sp, gpt, 2", "tiny-gpt.onnx", "", "tp=2", "megatron_sp"},
    {"megatron_sp, gpt, 2 x 2", "tiny-gpt.onnx", "", "dp=2,tp=2", "megatron_sp"},
    {"megatron_sp, gpt, 2 x 4, uneven", "tiny-gpt.onnx", "batch=3,seq=13", "dp=2,tp=4",
     "megatron_sp"},
    {"megatron_sp, llama, 2 x 4", "llama-tiny.onnx", "", "dp=2,tp=4", "megatron_sp"},
    {"megatron_sp, llama-3, 2 x 2", "llama-3-tiny.json", "batch=2,seq=16", "dp=2,tp=2",
     "megatron_sp"},
    {"context, gpt, 2", "tiny-gpt.onnx", "", "cp=2", "context"},
    {"context, gpt, 2 x 2", "tiny-gpt.onnx", "", "dp=2,cp=2", "context"},
    {"context, llama, 2 x 3, uneven", "llama-tiny.onnx", "seq=10", "dp=2,cp=3", "context"},
    {"context, llama-3, 2 x 2", "llama-3-tiny.json", "batch=2,seq=16", "dp=2,cp=2", "context"},
    {"pipeline, gpt, 2", "tiny-gpt.onnx", "", "pp=2", "pipeline"},
    {"pipeline, gpt, 2 x 4", "tiny-gpt.onnx", "", "dp=2,pp=4", "pipeline"},
    {"pipeline, gpt, five stages", "tiny-gpt.onnx", "", "pp=5", "pipeline"},
    {"pipeline, conv, 2 x 2", "tiny-conv.onnx", "", "dp=2,pp=2", "pipeline"},
    {"pipeline, llama, 3", "llama-tiny.onnx", "", "pp=3", "pipeline"},
    {"hybrid3d, gpt, 2 x 2 x 2", "tiny-gpt.onnx", "", "dp=2,tp=2,pp=2", "hybrid3d"},
    {"hybrid3d, llama, 2 x 2 x 2", "llama-tiny.onnx", "", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"hybrid3d, llama-3, 2 x 2 x 2", "llama-3-tiny.json", "batch=2,seq=16", "dp=2,tp=2,pp=2",
     "hybrid3d"},
    {"hybrid3d, conv, 2 x 2", "tiny-conv.onnx", "", "dp=2,pp=2", "hybrid3d"},
};

static void ranks_compute_what_one_device_does(void **state)
{
    const RunRow *row = *state;
    Opened opened = open_policy(row->model, row->dims, row->mesh, row->policy);
    RunOptions options = {.verify = true, .seed = 11, .repeat = 1};
    RunReport report;
    const Plan *plan = plan_of(&opened);
    if (!run_plan(opened.arena, plan, &options, &report, &opened.err))
        fail_msg("%s", opened.err.text);
    if (!report.ok)
        fail_msg("%s differs",
                 report.first_bad < 0 ? "?" : tensor_name(opened.session->graph, report.first_bad));
    assert_true(report.n_values_checked > plan->inferred->n_program / 2);
    close_policy(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_one_row_of_the_table_of_roles),
        cmocka_unit_test(fsdp_gathers_every_parameter_once),
        cmocka_unit_test(sequence_parallelism_moves_the_bytes_of_megatron),
        cmocka_unit_test(context_parallelism_moves_keys_and_values),
        cmocka_unit_test(stages_share_the_parameters),
        cmocka_unit_test(stages_take_alike),
        cmocka_unit_test(a_decision_is_of_the_line_that_called),
    };
    return run_rows("what moves", move_rows, what_moves) +
           cmocka_run_group_tests_name("what defines them", tests, NULL, NULL) +
           run_rows("refused", refused_rows, a_mesh_without_its_axes_is_refused) +
           run_rows("included", include_rows, what_is_included) +
           run_rows("what it costs", files, a_file_says_what_it_costs) +
           run_rows("runs", run_rows_of, ranks_compute_what_one_device_does);
}
