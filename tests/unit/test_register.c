/* register_op and template whole: what a file says of an operator reaches plan, run and proof. */
#include "tests/unit/opened_op.h"

#include "core/cost/cost.h"
#include "core/cost/op_declared.h"
#include "core/plan/stage.h"
#include "core/run/draw.h"
#include "core/run/run.h"
#include "core/cost/pipeline.h"

#include <math.h>
#include <stdlib.h>

/* ---- rules: the space they make, and ranks against one device ---- */

#define CUT(config)                                                                                \
    "function PAS(graph)\n"                                                                        \
    "  for _, node in ipairs(graph:nodes()) do\n"                                                  \
    "    graph:partition(node, node:algorithm('dim'), " config ")\n"                               \
    "  end\n"                                                                                      \
    "  return graph\n"                                                                             \
    "end\n"

/* Rows of a table by numbers; of a part of the vocabulary, start <= id < stop, zeros elsewhere. */
#define EMBEDDING                                                                                  \
    "register_op('b s, n^ e -> b s e', {name = 'my::op',\n"                                        \
    "  rules = {{ins = {'R', 'D(0)'}, outs = {'V'}, kwargs = function(kwargs, idx, dim, num, i)\n" \
    "    assert(idx == 1 and dim == 0)\n"                                                          \
    "    local size = (kwargs.stop - kwargs.start) // num\n"                                       \
    "    return {start = kwargs.start + i * size, stop = kwargs.start + (i + 1) * size}\n"         \
    "  end}},\n"                                                                                   \
    "  input_gen = function(node) return {{lo = 0, hi = node.size.n}} end,\n"                      \
    "  kernel = function(inputs, kwargs)\n"                                                        \
    "    local ids, table, out = inputs[1], inputs[2], {}\n"                                       \
    "    for b = 0, ids.shape[1] - 1 do for s = 0, ids.shape[2] - 1 do\n"                          \
    "      local id = ids:get(b, s)\n"                                                             \
    "      for e = 0, table.shape[2] - 1 do\n"                                                     \
    "        local here = id >= kwargs.start and id < kwargs.stop\n"                               \
    "        out[#out + 1] = here and table:get(id - kwargs.start, e) or 0.0\n"                    \
    "      end\n"                                                                                  \
    "    end end\n"                                                                                \
    "    return out\n"                                                                             \
    "  end})\n"

/* Experts each add what they make of all rows; a rank has those of [first, last). */
#define EXPERTS                                                                                    \
    "register_op('n h^, E^ h^ -> n h^', {name = 'my::op',\n"                                       \
    "  rules = {{ins = {'R', 'D0'}, outs = {'V'}, kwargs = function(kwargs, idx, dim, num, i)\n"   \
    "    local each = (kwargs.last - kwargs.first) // num\n"                                       \
    "    kwargs.first, kwargs.last = kwargs.first + i * each, kwargs.first + (i + 1) * each\n"     \
    "    return kwargs\n"                                                                          \
    "  end}},\n"                                                                                   \
    "  kernel = function(inputs, kwargs)\n"                                                        \
    "    local x, w, out = inputs[1], inputs[2], {}\n"                                             \
    "    assert(w.shape[1] == kwargs.last - kwargs.first)\n"                                       \
    "    for n = 0, x.shape[1] - 1 do for h = 0, x.shape[2] - 1 do\n"                              \
    "      local sum = 0.0\n"                                                                      \
    "      for e = 0, w.shape[1] - 1 do\n"                                                         \
    "        sum = sum + (kwargs.first + e) * w:get(e, h) * x:get(n, h)\n"                         \
    "      end\n"                                                                                  \
    "      out[#out + 1] = sum\n"                                                                  \
    "    end end\n"                                                                                \
    "    return out\n"                                                                             \
    "  end})\n"

/* A convolution of one place per channel, in groups: numbers are frozen but for the rule. */
#define GROUPED                                                                                    \
    "register_op(function(inputs, kwargs)\n"                                                       \
    "  return ('n %d l, %d %d -> n %d l'):format(inputs[1].shape[2], inputs[2].shape[1],\n"        \
    "    inputs[2].shape[2], inputs[2].shape[1])\n"                                                \
    "end, {name = 'my::op',\n"                                                                     \
    "  rules = {{ins = {'D(1)', 'D(0)'}, outs = {'D(1)'},\n"                                       \
    "    kwargs = function(kwargs, idx, dim, num, i)\n"                                            \
    "      kwargs.groups = kwargs.groups // num\n"                                                 \
    "      return kwargs\n"                                                                        \
    "    end}},\n"                                                                                 \
    "  kernel = function(inputs, kwargs)\n"                                                        \
    "    local x, w, out, groups = inputs[1], inputs[2], {}, kwargs.groups\n"                      \
    "    local ins, outs = x.shape[2] // groups, w.shape[1] // groups\n"                           \
    "    assert(ins == w.shape[2])\n"                                                              \
    "    for n = 0, x.shape[1] - 1 do for o = 0, w.shape[1] - 1 do\n"                              \
    "      for l = 0, x.shape[3] - 1 do\n"                                                         \
    "        local sum = 0.0\n"                                                                    \
    "        for c = 0, ins - 1 do\n"                                                              \
    "          sum = sum + w:get(o, c) * x:get(n, o // outs * ins + c, l)\n"                       \
    "        end\n"                                                                                \
    "        out[#out + 1] = sum\n"                                                                \
    "      end\n"                                                                                  \
    "    end end\n"                                                                                \
    "    return out\n"                                                                             \
    "  end})\n"

/* Splits a dim into rows of h; the argument is the number of rows of the part. */
#define UNFLATTEN                                                                                  \
    "register_op('(h m) -> h m', {name = 'my::op', kernel = function(inputs, kwargs)\n"            \
    "  local x, out = inputs[1], {}\n"                                                             \
    "  assert(x.shape[1] % kwargs.h == 0 and x.shape[1] // kwargs.h == 3)\n"                       \
    "  for i = 0, x.shape[1] - 1 do out[#out + 1] = x:get(i) * kwargs.h / kwargs.h end\n"          \
    "  return out\n"                                                                               \
    "end})\n"

typedef struct {
    const char *name, *operands, *attrs, *mesh, *script;
    const char *space; /* the op space */
    const char *cut;   /* index dims that are cut: "n 16/tp" */
} RuleRow;

/* clang-format off */
static RuleRow rule_rows[] = {
    {"an embedding by vocabulary", "4x6:i64,16x5", "start=0 stop=16", "tp=4",
     EMBEDDING CUT("{idx = 1, dim = 0, num = 4}"), "b s, n+ e -> b s e", "n 16/tp"},
    {"an embedding by vocabulary and batch", "4x6:i64,16x5", "start=0 stop=16", "dp=2,tp=4",
     EMBEDDING PINS("graph:pin('input 0', {[0] = 'dp'}) graph:pin('input 1', {[0] = 'tp'})"),
     "b s, n+ e -> b s e", "b 4/dp n 16/tp"},
    {"experts", "6x3,8x3", "first=0 last=8", "ep=4", EXPERTS CUT("{idx = 1, dim = 0, num = 4}"),
     "n h^, E+ h^ -> n h^", "E 8/ep"},
    {"grouped convolution", "2x8x5,12x2", "groups=4", "tp=4",
     GROUPED CUT("{idx = 1, dim = 0, num = 4}"), "n (block 2) l, (block 3) 2 -> n (block 3) l",
     "block 4/tp"},
    {"grouped convolution by its output", "2x8x5,12x2", "groups=4", "tp=2",
     GROUPED PINS("graph:pin('output 0', {[1] = 'tp'})"), "n (block 2) l, (block 3) 2 -> n (block 3) l", "block 4/tp"},
    {"an argument named as the index dim", "12", "h=4", "tp=2",
     UNFLATTEN CUT("{idx = 0, dim = 0, num = 2}"), "(h m) -> h m", "h 4/tp"},
};
/* clang-format on */

static void check_cut(const Opened *opened, const char *want)
{
    const Plan *plan = opened->session->plan;
    const OpSpace *space = program_space(plan->inferred, 0);
    Buf text = buf_new(opened->arena);
    for (int j = 0; j < space->n_index; j++)
        if (!cut_is_whole(&program_cut(plan, 0)->index[j])) {
            buf_printf(&text, "%s%s ", text.n > 0 ? " " : "", space->index[j].name);
            cut_format(&program_cut(plan, 0)->index[j], plan->mesh, &text);
        }
    assert_string_equal(text.n > 0 ? text.s : "", want);
}

static void must_verify(const Opened *opened)
{
    RunReport report;
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1};
    Error err = {0};
    if (!run_plan(opened->arena, opened->session->plan, &options, &report, &err))
        fail_msg("%s", err.text);
    assert_true(report.ok);
    assert_true(report.n_values_checked > 0);
}

static void a_rule_is_obeyed(void **state)
{
    const RuleRow *row = *state;
    Opened opened = open_op(row->operands, row->attrs, row->mesh, row->script);
    must_open(&opened);
    assert_string_equal(space_text(&opened), row->space);
    check_cut(&opened, row->cut);
    assert_true(plan_is_legal(opened.session->plan));
    must_verify(&opened);
    close_op(&opened);
}

/* ---- cost and comm ---- */

typedef struct {
    const char *name, *options; /* of register_op('b s^ h^, b s^ h^ -> b s^ h^') */
    const char *want; /* compute_us, flops and bytes of the op; its comm; findings of functions */
} SaidRow;

#define RING "comm = {{kind = 'all_gather', dim = 'b', bytes = 4096}}"

/* clang-format off */
static SaidRow said_rows[] = {
    {"nothing said", "flops_per_point = 2", "2.00 us, 256 flops, 1536 B"},
    {"flops and bytes", "cost = function(node) return {flops = 8e6, bytes = 4000} end",
     "2.12 us, 8e+06 flops, 4000 B"},
    {"flops alone", "cost = function(node) return {flops = 0} end", "2.00 us, 0 flops, 1536 B"},
    {"a time", "cost = function(node) return {us = 7.5} end", "7.50 us, 128 flops, 1536 B"},
    {"a part's shapes and arguments",
     "cost = function(node)\n"
     "  assert(node.name == 'my::op' and node.inputs[1].shape[1] == 2 and node.inputs[1].whole[1] == 8)\n"
     "  assert(node.cut.b == 4 and node.cut.h == 1 and node.axes.b == 'tp' and node.size.h == 16)\n"
     "  assert(node.outputs[1].dtype == 'f32' and node.kwargs.k == 3 and node.inputs[3] == nil)\n"
     "  return {us = 1}\n"
     "end", "1.00 us, 128 flops, 1536 B"},
    {"a failing cost", "cost = function(node) return node.x.y end",
     "2.00 us, 128 flops, 1536 B | cost-function warning: op 'op' (my::op): "
     "FILE:1: 'cost' of my::op: attempt to index a nil value (field 'x')"},
    {"a cost that is none", "cost = function(node) return {flop = 1} end",
     "2.00 us, 128 flops, 1536 B | cost-function warning: op 'op' (my::op): "
     "FILE:1: 'cost' of my::op: a cost has no field 'flop'"},
    {"a cost below 0", "cost = function(node) return {us = -1} end",
     "2.00 us, 128 flops, 1536 B | cost-function warning: op 'op' (my::op): "
     "FILE:1: 'cost' of my::op: 'us' must be a number from 0 to 1e18"},
    {"a cost too large to add up", "cost = function(node) return {us = 1e308} end",
     "2.00 us, 128 flops, 1536 B | cost-function warning: op 'op' (my::op): "
     "FILE:1: 'cost' of my::op: 'us' must be a number from 0 to 1e18"},
    {"a cost without an end", "cost = function(node) while true do end end",
     "2.00 us, 128 flops, 1536 B | cost-function warning: op 'op' (my::op): "
     "FILE:1: 'cost' of my::op: stopped after 50 million instructions"},
    {"a collective by index dim", RING, "2.00 us, 128 flops, 1536 B | all_gather b over tp: 4,096 B"},
    {"a collective by axis", "comm = function(node) return {{kind = 'all_reduce', axis = 'tp', bytes = node.inputs[1].shape[1]}} end",
     "2.00 us, 128 flops, 1536 B | all_reduce over tp: 2 B"},
    {"over a dim that is whole", "comm = {{kind = 'all_reduce', dim = 'h', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B"},
    {"over an axis that cuts nothing", "comm = {{kind = 'all_reduce', axis = 'dp', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B"},
    {"a collective of no kind", "comm = {{kind = 'gather', dim = 'b', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "'kind' must be all_gather, all_reduce, reduce_scatter, all_to_all, permute or send, not 'gather'"},
    {"a collective over nothing", "comm = {{kind = 'all_gather', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "a collective needs either 'dim', an index dim, or 'axis', a mesh axis"},
    {"a collective of no such dim", "comm = {{kind = 'all_gather', dim = 'z', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "the op has no index dim 'z'"},
    {"a collective without bytes", "comm = {{kind = 'all_gather', dim = 'b'}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "a collective needs 'bytes', the payload of one rank"},
};
/* clang-format on */

static void put_said(const Opened *opened, Buf *text)
{
    const Plan *plan = opened->session->plan;
    OpCost cost = op_cost(plan, 0);
    const OpDeclared *said = op_declared(plan, 0);
    buf_printf(text, "%.2f us, %.3g flops, %lld B", cost.us, cost.flops, (long long)cost.bytes);
    for (int i = 0; said && i < said->n_comms; i++) {
        Buf comm = buf_new(opened->arena);
        op_comm_format(plan, &said->comm[i], &comm);
        buf_printf(text, " | %.*s", (int)(strrchr(comm.s, ',') - comm.s), comm.s);
        assert_true(said->comm[i].price.us > 0);
    }
    assert_true(fabs(plan->priced->totals.comm_us - (said ? said->comm_us : 0)) < 1e-9);
    assert_true(fabs(plan->priced->totals.overlap_us - plan->priced->totals.step_us) < 1e-9);
    for (int i = 0; i < plan->findings.n; i++) {
        const Finding *finding = &plan->findings.at[i];
        if (!strstr(finding->code, "-function"))
            continue;
        const char *at = strstr(finding->text, opened->path);
        buf_printf(text, " | %s %s: ", finding->code, level_name(finding->level));
        if (at)
            buf_printf(text, "%.*sFILE%s", (int)(at - finding->text), finding->text,
                       at + strlen(opened->path));
        else
            buf_puts(text, finding->text);
    }
}

/* One stage takes what the plan without stages does, collectives inside ops included. */
static void check_stage(const Opened *opened)
{
    double step_us = opened->session->plan->priced->totals.step_us;
    Decision decision = {.kind = PIN_SCHEDULE, .schedule = "infer_pipe", .number = 1};
    decision.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    assert_true(session_apply(opened->session, &decision, 1, NULL));
    const Plan *plan = opened->session->plan;
    assert_int_equal(plan->decided->stages->n, 1);
    assert_true(fabs(stage_forward_us(&plan->priced->pipeline->stage[0]) - step_us) < 1e-9);
}

static void an_operator_says_its_cost(void **state)
{
    const SaidRow *row = *state;
    Arena *arena = arena_new();
    const char *script =
        arena_printf(arena,
                     "register_op('b s^ h^, b s^ h^ -> b s^ h^', {name = 'my::op', %s})\n" PINS(
                         "graph:pin('input 0', {[0] = 'tp'})"),
                     row->options);
    Opened opened = open_op("8x4x16,8x4x16", "k=3", "dp=1,tp=4", script);
    Buf text = buf_new(opened.arena);
    must_open(&opened);
    put_said(&opened, &text);
    assert_string_equal(text.s, row->want);
    check_stage(&opened);
    close_op(&opened);
    arena_free(arena);
}

static void an_op_that_sends_inside_is_not_run(void **state)
{
    (void)state;
    Opened opened = open_op("8x4x16,8x4x16", NULL, "tp=4",
                            "register_op('b s^ h^, b s^ h^ -> b s^ h^', {name = 'my::op', " RING
                            ", kernel = 'Add'})\n" PINS("graph:pin('input 0', {[0] = 'tp'})"));
    RunReport report;
    RunOptions options = {.repeat = 1};
    must_open(&opened);
    assert_false(run_plan(opened.arena, opened.session->plan, &options, &report, &opened.err));
    assert_string_equal(
        opened.err.text,
        "op 'op' cannot be run: my::op communicates inside the op, which runs do not do");
    close_op(&opened);
}

/* ---- new values of inputs ---- */

static const Finding *find_code(const Findings *findings, const char *code)
{
    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->at[i].code, code) == 0)
            return &findings->at[i];
    return NULL;
}

static void an_old_value_is_found(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Registry *registry = registry_new(arena);
    const char *const annos[] = {"a -> a", NULL};
    static const int pairs[][2] = {{0, 0}};
    AnnoSource source = {.annos = annos};
    UserOp user = {.n_inplace = 1, .inplace = pairs};
    registry_add(registry, &(Operator){.name = "my::fill", .anno = &source, .user = &user});
    GraphBuilder *builder = graph_builder_new(arena, "old.onnx");
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    int32_t z = graph_tensor(builder, STR("z"));
    DeclaredDim dims[] = {{8, 0}};
    Error err = {0};
    graph_add_input(builder, x, DT_F32, dims, 1);
    graph_add_op(builder, STR("my::fill"), STR("fill"), STR(""), &x, 1, &y, 1, 0);
    graph_add_op(builder, STR("Add"), STR("late"), STR(""), (int32_t[]){x, y}, 2, &z, 1, 0);
    graph_add_output(builder, z);
    Graph *graph = graph_seal(builder, &err);
    DimBindings none = {0};
    Inferred *inferred = infer(arena, graph, registry, &none, false, &err);
    Findings found = {0};
    user_op_find_old_values(inferred, &found);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.at[0].text,
                        "op 'late' reads 'x' after op 'fill' (my::fill) has updated it");
    arena_free(arena);
}

/* ---- a file that is written again ---- */

static const char *note_after(Opened *opened, const char *script)
{
    write_file(opened->path, script);
    if (!session_rerun_policy(opened->session, &opened->err))
        fail_msg("%s", opened->err.text);
    const Finding *note = find_code(&opened->session->notes, "register-op");
    return note ? note->text : NULL;
}

#define MY_OP(options) "register_op('a b -> a b', {name = 'my::op', " options "})"

static void a_written_file_says_what_changed(void **state)
{
    (void)state;
    Opened opened =
        open_op("8x4", NULL, "tp=2", MY_OP("cost = function() return {us = 1} end") "\n");
    must_open(&opened);
    assert_null(note_after(&opened, MY_OP("cost = function() return {us = 1} end") "\n" PINS("")));
    assert_string_equal(
        note_after(&opened, MY_OP("cost = function() return {us = 2} end") "\n" PINS("")),
        "registered operators take effect when the model is opened: 'my::op' has changed; open it "
        "again");
    assert_string_equal(note_after(&opened, "register_op('a -> a', {name = 'my::new'})\n" PINS("")),
                        "registered operators take effect when the model is opened: 'my::new' is "
                        "new, 'my::op' is gone; open it again");
    assert_null(note_after(&opened, PINS("") MY_OP("cost = function() return {us = 1} end") "\n"));
    close_op(&opened);
}

/* ---- inputs that nobody gave ---- */

static void inputs_are_drawn_as_an_operator_says(void **state)
{
    (void)state;
    Opened opened = open_op("64:i64,8,3:f32", NULL, "tp=2",
                            "register_op('a, b^, ? -> a', {name = 'my::op', kernel = 'Identity',\n"
                            "input_gen = function(node)\n"
                            "  return {{lo = 2, hi = 5}, {1, 2, 3, 4, 5, 6, 7, 8}, 0.5}\n"
                            "end})");
    must_open(&opened);
    const Generated *said = generate_of_all(opened.arena, opened.session->inferred, &opened.err);
    assert_non_null(said);
    const int32_t *tensor = op_inputs(opened.graph, 0);
    bool seen[8] = {false};
    for (int i = 0; i < 64; i++) {
        double number = generated_number(&said[tensor[0]], DT_I64, 7, i);
        assert_true(number == 2 || number == 3 || number == 4);
        seen[(int)number] = true;
    }
    assert_true(seen[2] && seen[3] && seen[4]);
    assert_true(generated_number(&said[tensor[1]], DT_F32, 7, 6) == 7);
    assert_true(generated_number(&said[tensor[2]], DT_F32, 7, 2) == 0.5);
    close_op(&opened);
}

/* ---- native kernels ---- */

static const char *library_path(Arena *arena)
{
    const char *path = arena_printf(arena, "/tmp/test_register_%d.so", (int)getpid());
    const char *command =
        arena_printf(arena, "cc -shared -fPIC -I core/run -o %s samples/native/embedding.c", path);
    assert_int_equal(system(command), 0);
    return path;
}

/* The sample's policy with another name of the operator, and the library at that path. */
static Opened open_native(const char *library, const char *symbol, bool allowed)
{
    Source file;
    Error err = {0};
    Arena *arena = arena_new();
    assert_true(file_read(arena, "samples/native/embedding.lua", 1 << 16, &file, &err));
    const char *text = arena_str(arena, file.text);
    const char *from = strstr(text, "{plugin ="), *to = strchr(from, '}') + 1;
    const char *script = arena_printf(arena, "%.*s{plugin = '%s', symbol = '%s'}%s",
                                      (int)(from - text), text, library, symbol, to);
    Buf renamed = buf_new(arena);
    for (const char *at; (at = strstr(script, "my::embedding"));
         script = at + strlen("my::embedding"))
        buf_printf(&renamed, "%.*smy::op", (int)(at - script), script);
    buf_puts(&renamed, script);
    Opened opened = open_allowing("4x6:i64,16x5", "start=0 stop=16", "tp=4", renamed.s, allowed);
    arena_free(arena);
    return opened;
}

static void a_plugin_runs_where_it_is_allowed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *library = library_path(arena);
    Opened opened = open_native(library, "embedding", true);
    must_open(&opened);
    check_cut(&opened, "n 16/tp");
    must_verify(&opened);
    close_op(&opened);

    opened = open_native(library, "embedding", false);
    RunReport report;
    RunOptions options = {.repeat = 1};
    must_open(&opened);
    assert_false(run_plan(opened.arena, opened.session->plan, &options, &report, &opened.err));
    assert_int_equal(opened.err.kind, ERROR_USAGE);
    assert_non_null(strstr(opened.err.text, "its kernel is native code in '"));
    assert_string_equal(opened.err.hint, "--allow-native loads it: it runs with all your rights");
    close_op(&opened);
    unlink(library);
    arena_free(arena);
}

static void a_plugin_that_is_none_is_refused(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *library = library_path(arena);
    const char *const refused[][3] = {
        {library, "nothing", "has no function 'nothing'"},
        {"/nowhere/lib.so", "embedding", "the plugin cannot be loaded: /nowhere/lib.so"},
        {"libm.so.6", "cos", "the plugin cannot be loaded"},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        Opened opened = open_native(refused[i][0], refused[i][1], true);
        assert_null(opened.session);
        assert_non_null(strstr(opened.err.text, refused[i][2]));
        close_op(&opened);
    }
    unlink(library);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_sends_inside_is_not_run),
        cmocka_unit_test(a_plugin_runs_where_it_is_allowed),
        cmocka_unit_test(a_plugin_that_is_none_is_refused),
        cmocka_unit_test(an_old_value_is_found),
        cmocka_unit_test(a_written_file_says_what_changed),
        cmocka_unit_test(inputs_are_drawn_as_an_operator_says),
    };
    int failed = run_rows("rule", rule_rows, a_rule_is_obeyed);
    failed += run_rows("said", said_rows, an_operator_says_its_cost);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}
