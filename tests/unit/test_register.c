/* register_op and template whole: what a file says of an operator reaches plan, run and proof. */
#include "tests/unit/unit.h"

#include "core/plan/cost.h"
#include "core/plan/op_said.h"
#include "core/rules/one_op.h"
#include "core/run/run.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* A session on one op 'my::op' with these operands and attributes, and a file of that text. */
typedef struct {
    Arena *arena;
    Graph *graph;
    Scripts *scripts;
    Session *session;
    char path[80];
    Error err;
} Opened;

static Graph *graph_of(Arena *arena, const char *operands, const char *attrs)
{
    Error err = {0};
    OneOp op = {.operator= STR("my::op"), .n_outputs = 1};
    if (!one_op_operands(arena, str_from(operands), &op, &err))
        fail_msg("%s", err.text);
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (Str rest = str_from(attrs ? attrs : ""); rest.n > 0;)
        assert_true(one_op_attr_text(builder, arena_str(arena, str_take(&rest, ' ')), &err));
    Graph *graph = one_op_graph(builder, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

static void write_file(const char *path, const char *text)
{
    Error err = {0};
    assert_true(file_write(path, str_from(text), &err));
}

static Opened open_op(const char *operands, const char *attrs, const char *mesh, const char *script)
{
    static int n_opened;
    Opened opened = {.arena = arena_new()};
    snprintf(opened.path, sizeof opened.path, "/tmp/test_register_%d_%d.lua", (int)getpid(),
             n_opened++);
    write_file(opened.path, script);
    opened.graph = graph_of(opened.arena, operands, attrs);
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = opened.path, .machine = "h100x8"};
    opened.session = session_open_graph(opened.graph, &options, &hooks, &opened.err);
    return opened;
}

static void close_op(Opened *opened)
{
    if (opened->session)
        session_close(opened->session);
    scripts_free(opened->scripts);
    unlink(opened->path);
    arena_free(opened->arena);
}

static void must_open(const Opened *opened)
{
    if (!opened->session)
        fail_msg("%s:%d: %s (%s)", opened->err.file ? opened->err.file : "", opened->err.line,
                 opened->err.text, opened->err.hint);
}

static const char *space_text(const Opened *opened)
{
    Buf text = buf_new(opened->arena);
    const OpSpace *space = program_space(opened->session->inferred, 0);
    if (space->no_rule)
        fail_msg("no rule: %s", opened->session->inferred->findings.at[0].text);
    opspace_format(space, &text);
    return text.s;
}

/* ---- rules: the space they make, and ranks against one device ---- */

#define PINS(pins) "function PAS(graph) " pins " return graph end\n"
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
     "FILE:1: 'cost' of my::op: 'us' is a number, 0 or more"},
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
     "'kind' is all_gather, all_reduce, reduce_scatter, all_to_all, permute or send, not 'gather'"},
    {"a collective over nothing", "comm = {{kind = 'all_gather', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "a collective names an index dim, 'dim', or a mesh axis, 'axis'"},
    {"a collective of no such dim", "comm = {{kind = 'all_gather', dim = 'z', bytes = 8}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "the op has no index dim 'z'"},
    {"a collective without bytes", "comm = {{kind = 'all_gather', dim = 'b'}}",
     "2.00 us, 128 flops, 1536 B | comm-function warning: op 'op' (my::op): FILE:1: 'comm' of my::op: "
     "a collective says 'bytes', the payload of one rank"},
};
/* clang-format on */

static void put_said(const Opened *opened, Buf *text)
{
    const Plan *plan = opened->session->plan;
    OpCost cost = op_cost(plan, 0);
    const OpSaid *said = op_said(plan, 0);
    buf_printf(text, "%.2f us, %.3g flops, %lld B", cost.us, cost.flops, (long long)cost.bytes);
    for (int i = 0; said && i < said->n_comms; i++) {
        Buf comm = buf_new(opened->arena);
        op_comm_format(plan, &said->comm[i], &comm);
        buf_printf(text, " | %.*s", (int)(strrchr(comm.s, ',') - comm.s), comm.s);
        assert_true(said->comm[i].price.us > 0);
    }
    assert_true(fabs(plan->totals.comm_us - (said ? said->comm_us : 0)) < 1e-9);
    assert_true(fabs(plan->totals.overlap_us - plan->totals.step_us) < 1e-9);
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
    assert_string_equal(opened.err.text,
                        "op 'op' cannot be run: what my::op sends inside is not run here");
    close_op(&opened);
}

/* ---- what is refused, and where ---- */

typedef struct {
    const char *name, *script;
    const char *want; /* "LINE:COLUMN text [hint]" */
} RefusalRow;

#define OP(options) "register_op('a b -> a b', {name = 'my::op', " options "})"

/* clang-format off */
static RefusalRow refusals[] = {
    {"a bracket that does not end", "register_op('a (b -> a', {name = 'x'})",
     "1:16 a bracket that is not closed: '(', at character 3 of 'a (b -> a'"},
    {"in a later line", "register_op(\n  {'a -> a',\n   'a+ b -> a'}, {name = 'x'})",
     "3:13 'a' has two suffixes in one annotation, at character 9 of 'a+ b -> a'"},
    {"in a long text", "register_op([[\na b,\n  c-d -> a]], {name = 'x'})",
     "3:3 expected an identifier, a number, '*' or '?': 'c-d', at character 3 of 'a b,\\x0A  c-d -> a'"},
    {"put together", "register_op('a b' .. ' c', {name = 'x'})",
     "1:1 an annotation has inputs '->' outputs: 'a b c', at character 1 of 'a b c'"},
    {"an annotation of a number", "register_op(1, {name = 'x'})",
     "1:1 an annotation is a text, a list of texts or a function, not a number"},
    {"no candidates", "register_op({}, {name = 'x'})", "1:1 a list of annotations has 1 to 64 of them"},
    {"a candidate of a table", "register_op({{}}, {name = 'x'})",
     "1:1 an annotation is a text, a list of texts or a function, not a table"},
    {"no options", "register_op('a -> a')", "1:1 register_op needs a name: register_op(ANNOTATION, {name = \"..\"})"},
    {"an unknown option", OP("emit = 1"), "1:1 register_op has no option 'emit' [options: name, kernel, "
     "example, flops_per_point, rules, cost, comm, input_gen, inplace]"},
    {"a number as an option", "register_op('a -> a', {'x'})", "1:1 register_op has no option '1' [options: "
     "name, kernel, example, flops_per_point, rules, cost, comm, input_gen, inplace]"},
    {"an empty name", "register_op('a -> a', {name = ''})", "1:1 'name' is a text of at most 4096 characters"},
    {"a name of a number", "register_op('a -> a', {name = 1})", "1:1 'name' is a text of at most 4096 characters"},
    {"twice", OP("flops_per_point = 1") "\n" OP("flops_per_point = 1"), "2:1 operator 'my::op' is registered in line 1 already"},
    {"rules of a function", OP("rules = print"), "1:1 'rules' is a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"no rules", OP("rules = {}"), "1:1 'rules' is a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"a rule of a text", OP("rules = {'D0 -> D0'}"), "1:1 rule 1 is a string, not a table {ins = .., outs = ..}"},
    {"a rule without outs", OP("rules = {{ins = {'R'}}}"), "1:1 rule 1 needs 'outs', a list of splits: {\"D(0)\", \"R\"}"},
    {"a rule with more", OP("rules = {{ins = {'D0'}, outs = {'V'}, kw = 1}}"), "1:1 a rule has no field 'kw'"},
    {"no split", OP("rules = {{ins = {'D0'}, outs = {'W'}}}"),
     "1:1 rule 1, 'outs', place 1: no split: 'W' [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", dims rising]"},
    {"a dim that does not rise", OP("rules = {{ins = {'D(1,1)'}, outs = {'V'}}}"),
     "1:1 rule 1, 'ins', place 1: no split: 'D(1,1)' [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", dims rising]"},
    {"a dim below 0", OP("rules = {{ins = {{-1}}, outs = {'V'}}}"),
     "1:1 rule 1, 'ins', place 1: no split [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", dims rising]"},
    {"a rule that cuts nothing", OP("rules = {{ins = {'R'}, outs = {'V'}}}"),
     "1:1 rule 1: a rule cuts some tensor: there is no D, and no input that is V"},
    {"a rule without consequence", OP("rules = {{ins = {'D0'}, outs = {'R'}}}"),
     "1:1 rule 1: a rule says what becomes of the outputs: none is D or V"},
    {"V beside D", OP("rules = {{ins = {'D0'}, outs = {'D0', 'V'}}}"),
     "1:1 rule 1: an output that is V stands beside one that is not: either all are"},
    {"arguments of a number", OP("rules = {{ins = {'D0'}, outs = {'V'}, kwargs = 3}}"),
     "1:1 rule 1, 'kwargs' is a function, not a number"},
    {"a cost of a table", OP("cost = {us = 1}"), "1:1 'cost' is a function of a node, not a table"},
    {"comm of a number", OP("comm = 1"), "1:1 'comm' is a function of a node, or a list, not a number"},
    {"input_gen of a list", OP("input_gen = {1}"), "1:1 'input_gen' is a function of a node, not a table"},
    {"flops below 0", OP("flops_per_point = -1"), "1:1 'flops_per_point' is a number, 0 or more"},
    {"flops without end", OP("flops_per_point = 1/0"), "1:1 'flops_per_point' is a number, 0 or more"},
    {"an example of a table", OP("example = {}"), "1:1 'example' is a text of operands: \"4x6,6x5\""},
    {"a kernel nobody has", OP("kernel = 'Nope'"), "1:1 'kernel' is a function, the name of an operator "
     "that has a kernel, or {plugin = .., symbol = ..}: there is no kernel of 'Nope'"},
    {"a kernel of a number", OP("kernel = 3"), "1:1 'kernel' is a function, the name of an operator "
     "that has a kernel, or {plugin = .., symbol = ..}"},
    {"a plugin without symbol", OP("kernel = {plugin = './x.so'}"),
     "1:1 a native kernel is {plugin = \"./libmy.so\", symbol = \"name\"}"},
    {"a plugin with more", OP("kernel = {plugin = './x.so', symbol = 'f', args = 1}"), "1:1 'kernel' has no field 'args'"},
    {"in place of a list of texts", OP("inplace = {'a'}"), "1:1 'inplace' is a table {[output] = input} of numbers from 0"},
    {"in place below 0", OP("inplace = {[0] = -1}"), "1:1 'inplace' is a table {[output] = input} of numbers from 0"},
    {"in place twice", OP("inplace = {[0] = 0, [1] = 0}"), "1:1 'inplace' makes input 0 the outputs 0 and 1"},
    {"a template's rule", "template 't' {inputs = {{'X', shape = '[$a]', ipf = '[@a]'}}, index = '[$a]', "
     "outputs = {{'y', shape = '[$a]', ipf = '[@a]'}}, rules = 1}",
     "1:1 'rules' is a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"a template's cost", "template 't' {inputs = {{'X', shape = '[$a]', ipf = '[@a]'}}, index = '[$a]', "
     "outputs = {{'y', shape = '[$a]', ipf = '[@a]'}}, cost = 1}",
     "1:1 'cost' is a function of a node, not a number"},
};
/* clang-format on */

static void is_refused(void **state)
{
    const RefusalRow *row = *state;
    Opened opened = open_op("8x4", NULL, "tp=4", row->script);
    if (opened.session)
        fail_msg("'%s' is not refused", row->script);
    Buf got = buf_new(opened.arena);
    buf_printf(&got, "%d:%d %s", opened.err.line, opened.err.column, opened.err.text);
    if (opened.err.hint[0])
        buf_printf(&got, " [%s]", opened.err.hint);
    assert_string_equal(opened.err.file, opened.path);
    assert_int_equal(opened.err.kind, ERROR_SCRIPT);
    assert_string_equal(got.s, row->want);
    close_op(&opened);
}

/* ---- findings of annotations ---- */

typedef struct {
    const char *name, *script;
    const char *want; /* "LINE:COLUMN code level", the finding of that code */
} LintRow;

static LintRow lints[] = {
    {"a lost dim", "\nregister_op('a b -> a', {name = 'my::op'})", "2:16 lossy-annotation warning"},
    {"in the second candidate", "register_op({'a -> a',\n 'a+ b -> a+ b'}, {name = 'my::op'})",
     "2:11 lossy-annotation warning"},
    {"an unknown meta", "register_op('a b : /z -> a b', {name = 'my::op'})",
     "1:21 unknown-meta warning"},
    {"one on two dims", "register_op('a a -> a^', {name = 'my::op'})", NULL},
    {"two dims of one", "register_op('a^ a^ -> a^', {name = 'my::op'})",
     "1:17 identifier-twice warning"},
    {"not defined", "register_op('a b -> a b n', {name = 'my::op'})",
     "1:25 undefined-identifier note"},
    {"frozen by a bracket", "register_op([[a b ->\n  (a b)]], {name = 'my::op'})",
     "2:6 forced-freeze note"},
    {"put together", "register_op('a b' .. ' -> a', {name = 'my::op'})",
     "1:0 lossy-annotation warning"},
};

static void is_found(void **state)
{
    const LintRow *row = *state;
    Opened opened = open_op("8x8", NULL, "tp=4", row->script);
    if (!row->want) {
        assert_null(opened.session);
        close_op(&opened);
        return;
    }
    must_open(&opened);
    Buf got = buf_new(opened.arena);
    const Findings *findings = &opened.session->inferred->findings;
    for (int i = 0; i < findings->n; i++) {
        const Finding *it = &findings->at[i];
        if (strstr(row->want, it->code) && it->file && strcmp(it->file, opened.path) == 0)
            buf_printf(&got, "%s%d:%d %s %s", got.n > 0 ? "; " : "", it->line, it->column, it->code,
                       level_name(it->level));
    }
    assert_string_equal(got.n > 0 ? got.s : "", row->want);
    close_op(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_sends_inside_is_not_run),
    };
    int failed = run_rows("rule", rule_rows, a_rule_is_obeyed);
    failed += run_rows("said", said_rows, an_operator_says_its_cost);
    failed += run_rows("refused", refusals, is_refused);
    failed += run_rows("lint", lints, is_found);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}
