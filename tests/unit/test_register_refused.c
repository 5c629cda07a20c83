/* What register_op and template refuse, with the place; what they find; the op spaces they make. */
#include "tests/unit/opened_op.h"

#include "core/run/draw.h"

/* ---- what is refused, and where ---- */

typedef struct {
    const char *name, *script;
    const char *want; /* "LINE:COLUMN text [hint]" */
} RefusalRow;

#define MY_OP(options) "register_op('a b -> a b', {name = 'my::op', " options "})"

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
     "1:1 an annotation must be a string, a list of strings or a function, not a number"},
    {"no candidates", "register_op({}, {name = 'x'})", "1:1 a list of annotations must have 1 to 64 entries"},
    {"a candidate of a table", "register_op({{}}, {name = 'x'})",
     "1:1 an annotation must be a string, a list of strings or a function, not a table"},
    {"no options", "register_op('a -> a')", "1:1 register_op needs a name: register_op(ANNOTATION, {name = \"..\"})"},
    {"an unknown option", MY_OP("emit = 1"), "1:1 register_op has no option 'emit' [options: name, kernel, "
     "example, flops_per_point, rules, cost, comm, input_gen, inplace, dtype, gradient, kwargs, "
     "python, code_impl_pattern, emit_fn, independent]"},
    {"a number as an option", "register_op('a -> a', {'x'})", "1:1 register_op has no option '1' [options: "
     "name, kernel, example, flops_per_point, rules, cost, comm, input_gen, inplace, dtype, gradient, kwargs, "
     "python, code_impl_pattern, emit_fn, independent]"},
    {"an empty name", "register_op('a -> a', {name = ''})", "1:1 'name' must be a string of at most 4096 characters"},
    {"a name of a number", "register_op('a -> a', {name = 1})", "1:1 'name' must be a string of at most 4096 characters"},
    {"twice", MY_OP("flops_per_point = 1") "\n" MY_OP("flops_per_point = 1"), "2:1 operator 'my::op' is already registered in line 1"},
    {"rules of a function", MY_OP("rules = print"), "1:1 'rules' must be a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"no rules", MY_OP("rules = {}"), "1:1 'rules' must be a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"a rule of a text", MY_OP("rules = {'D0 -> D0'}"), "1:1 rule 1 is a string, not a table {ins = .., outs = ..}"},
    {"a rule without outs", MY_OP("rules = {{ins = {'R'}}}"), "1:1 rule 1 needs 'outs', a list of splits: {\"D(0)\", \"R\"}"},
    {"a rule with more", MY_OP("rules = {{ins = {'D0'}, outs = {'V'}, kw = 1}}"), "1:1 a rule has no field 'kw'"},
    {"no split", MY_OP("rules = {{ins = {'D0'}, outs = {'W'}}}"),
     "1:1 rule 1, 'outs', entry 1 is not a split: 'W' [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", with dims in rising order]"},
    {"a dim that does not rise", MY_OP("rules = {{ins = {'D(1,1)'}, outs = {'V'}}}"),
     "1:1 rule 1, 'ins', entry 1 is not a split: 'D(1,1)' [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", with dims in rising order]"},
    {"a dim below 0", MY_OP("rules = {{ins = {{-1}}, outs = {'V'}}}"),
     "1:1 rule 1, 'ins', entry 1 is not a split [a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", with dims in rising order]"},
    {"a rule that cuts nothing", MY_OP("rules = {{ins = {'R'}, outs = {'V'}}}"),
     "1:1 rule 1: a rule must shard a tensor: there is no D, and no input that is V"},
    {"a rule without consequence", MY_OP("rules = {{ins = {'D0'}, outs = {'R'}}}"),
     "1:1 rule 1: a rule must tell how outputs are sharded: none is D or V"},
    {"V beside D", MY_OP("rules = {{ins = {'D0'}, outs = {'D0', 'V'}}}"),
     "1:1 rule 1: one output is V and another is not: all must be, or none"},
    {"arguments of a number", MY_OP("rules = {{ins = {'D0'}, outs = {'V'}, kwargs = 3}}"),
     "1:1 rule 1, 'kwargs' must be a function, not a number"},
    {"a cost of a table", MY_OP("cost = {us = 1}"), "1:1 'cost' must be a function of a node, not a table"},
    {"comm of a number", MY_OP("comm = 1"), "1:1 'comm' must be a function of a node, or a list, not a number"},
    {"input_gen of a list", MY_OP("input_gen = {1}"), "1:1 'input_gen' must be a function of a node, not a table"},
    {"flops below 0", MY_OP("flops_per_point = -1"), "1:1 'flops_per_point' must be a number from 0 to 1e18"},
    {"flops without end", MY_OP("flops_per_point = 1/0"), "1:1 'flops_per_point' must be a number from 0 to 1e18"},
    {"an example of a table", MY_OP("example = {}"), "1:1 'example' must be a string of operands: \"4x6,6x5\""},
    {"a kernel nobody has", MY_OP("kernel = 'Nope'"), "1:1 'kernel' must be a function, the name of an operator that has a kernel, or {plugin = .., symbol = ..}: there is no kernel of 'Nope'"},
    {"a kernel of a number", MY_OP("kernel = 3"), "1:1 'kernel' must be a function, the name of an operator that has a kernel, or {plugin = .., symbol = ..}"},
    {"a plugin without symbol", MY_OP("kernel = {plugin = './x.so'}"),
     "1:1 a native kernel must be {plugin = \"./libmy.so\", symbol = \"name\"}"},
    {"a plugin with more", MY_OP("kernel = {plugin = './x.so', symbol = 'f', args = 1}"), "1:1 'kernel' has no field 'args'"},
    {"a Python function without a module", MY_OP("python = 'mm'"),
     "1:1 'python' must name a function of a Python module: \"custom_ops.mm\""},
    {"a call that is no path", MY_OP("emit_fn = 'ops.emit(1)'"),
     "1:1 'emit_fn' must name a function of a Python module: \"custom_ops.mm\""},
    {"another pattern", MY_OP("code_impl_pattern = 'copy'"), "1:1 'code_impl_pattern' must be \"import\" or \"source\""},
    {"an output below 0", MY_OP("independent = {-1}"), "1:1 'independent' must be a list of outputs, from 0: {1}"},
    {"in place of a list of texts", MY_OP("inplace = {'a'}"), "1:1 'inplace' must be a table {[output] = input} of numbers from 0"},
    {"in place below 0", MY_OP("inplace = {[0] = -1}"), "1:1 'inplace' must be a table {[output] = input} of numbers from 0"},
    {"in place twice", MY_OP("inplace = {[0] = 0, [1] = 0}"), "1:1 'inplace' makes input 0 both output 0 and output 1"},
    {"a type nobody has", MY_OP("dtype = 'f31'"), "1:1 'dtype' must be an element type, \"f32\", the number of an input, from 0, or a list of these by output"},
    {"a gradient of a number", MY_OP("gradient = 1"), "1:1 'gradient' must be clauses, a function that builds it, or a table of clauses and their kernel, not a number"},
    {"a clause without input", MY_OP("gradient = 'contract'"), "1:1 'gradient': 'contract' in a column `gradient` is no list of inputs [clauses by input, from 0: \"0: contract(x1); 1: contract(x0)\"]"},
    {"a gradient kernel nobody has", MY_OP("gradient = '0: nope'"), "1:1 'gradient': there is no kernel 'nope'"},
    {"the derivative of no operator", MY_OP("gradient = '0: local(x0)'"), "1:1 'gradient': 'local' is the derivative of a built-in operator, so 'kernel' has to name one"},
    {"a gradient kernel that is not given", MY_OP("gradient = {'0: kernel(x0)'}"), "1:1 'gradient' calls \"kernel\", which is not given: {\"0: kernel(x0)\", kernel = function(inputs, kwargs) .. end}"},
    {"a gradient without clauses", MY_OP("gradient = {kernel = print}"), "1:1 'gradient' needs its clauses first: {\"0: kernel(x0)\", kernel = function(inputs, kwargs) .. end}"},
    {"a gradient kernel of a text", MY_OP("gradient = {'0: kernel', kernel = 'Mul'}"), "1:1 the kernel of 'gradient' must be a function or {plugin = .., symbol = ..}, not a string"},
    {"a template's rule", "template 't' {inputs = {{'X', shape = '[$a]', ipf = '[@a]'}}, index = '[$a]', "
     "outputs = {{'y', shape = '[$a]', ipf = '[@a]'}}, rules = 1}",
     "1:1 'rules' must be a list of 1 to 64 rules {ins = .., outs = ..}"},
    {"a template's cost", "template 't' {inputs = {{'X', shape = '[$a]', ipf = '[@a]'}}, index = '[$a]', "
     "outputs = {{'y', shape = '[$a]', ipf = '[@a]'}}, cost = 1}",
     "1:1 'cost' must be a function of a node, not a number"},
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

/* ---- new values of inputs, tensors that are left out, gradients ---- */

typedef struct {
    const char *name, *operands, *script;
    const char *want; /* the op space, or the refusal */
} SpaceRow;

/* clang-format off */
static SpaceRow space_rows[] = {
    {"in place", "8x4,8x4", "register_op('a b, a b -> a b', {name = 'my::op', inplace = {[0] = 0}})",
     "a b, a b -> a b"},
    {"in place of another shape", "8x4,4x8", "register_op('a b, b a -> b a', {name = 'my::op', inplace = {[0] = 0}})",
     "output 0 is the new value of input 0, but has another shape"},
    {"in place, turned", "8x8,8x8", "register_op('a b, b a -> b a', {name = 'my::op', inplace = {[0] = 0}})",
     "output 0 is the new value of input 0, but its dim 0 is sharded differently"},
    {"in place of what is not there", "8x4", "register_op('a b -> a b', {name = 'my::op', inplace = {[0] = 3}})",
     "'inplace' names output 0 and input 3, but the op has 1 and 1"},
    {"a gradient left whole", "8x4,2x4", "register_op('b h^ : /m, m h^ : /b -> b m h^', {name = 'my::op'})",
     "b h^ : /m, m h^ : /b -> b m h^"},
    {"all gradients", "8x4,8x4", "register_op('b h : /, b h -> b h', {name = 'my::op'})", "b h : /, b h -> b h"},
    {"a rule keeps gradients in order", "6x8x4,6x4", "register_op('6 b h : /h, 6 h -> 6 b h', {name = 'my::op', "
     "rules = {{ins = {'D0', 'D0'}, outs = {'D0'}}}})", "block b h : /h, block h -> block b h"},
    {"a tensor that is left out", "8x4,-", "register_op('a b, ? -> a b', {name = 'my::op'})", "a b, ? -> a b"},
    {"a function sees what is left out as nil", "8x4,-,8x4", "register_op(function(inputs, kwargs)\n"
     "  assert(inputs[2] == nil and inputs[3].is_tensor and inputs[3].shape[2] == 4)\n"
     "  return inputs[2] and 'a b, a b, a b -> a b' or 'a b, ?, a b -> a b'\n"
     "end, {name = 'my::op'})", "a b, ?, a b -> a b"},
    {"a function that does not read", "8x4", "register_op(function() return 'a b -> (a b' end, {name = 'my::op'})",
     "the annotation 'a b -> (a b', made by the function of FILE:1, does not parse: a bracket that is "
     "not closed: '(', at character 8"},
    {"linear in an input", "8x4,8x4", "register_op('a b, a b -> a b', {name = 'my::op', "
     "rules = {{ins = {'V', 'R'}, outs = {'V'}}}})", "a b, a b -> a b"},
    {"a rule for another number of inputs", "8x4", "register_op('a^ b -> a^ b', {name = 'my::op', "
     "rules = {{ins = {'D0', 'R'}, outs = {'D0'}}}})",
     "rule 1 has 2 inputs and 1 outputs, but the op has 1 and 1"},
    {"a rule for a dim that is not there", "8x4", "register_op('a^ b -> a^ b', {name = 'my::op', "
     "rules = {{ins = {'D5'}, outs = {'D0'}}}})", "a rule shards dim 5 of input 0, which has 2"},
    {"a rule for a tensor left out", "8x4,-", "register_op('a^ b, ? -> a^ b', {name = 'my::op', "
     "rules = {{ins = {'D0', 'D0'}, outs = {'D0'}}}})", "a rule shards input 1, which is absent"},
    {"the first rule counts", "8x4", "register_op('a^ b -> a^ b', {name = 'my::op', "
     "rules = {{ins = {'D0'}, outs = {'D0'}}, {ins = {'D0'}, outs = {'V'}}}})", "a b -> a b"},
    {"sizes without a common divisor", "9x4", "register_op('9 b -> 4 b', {name = 'my::op', "
     "rules = {{ins = {'D0'}, outs = {'D0'}}}})", "9 b -> 4 b"},
    {"a template", "8x4,4x6", "template 'my::op' {\n"
     "  index = '[$m, $n]', reduce = {sum = '[$k]'},\n"
     "  inputs = {{'X', shape = '[$m, $k]', ipf = '[@m, @k]'}, {'W', shape = '[$k, $n]', ipf = '[@k, @n]'}},\n"
     "  outputs = {{'Y', shape = '[$m, $n]', ipf = '[@m, @n]'}},\n"
     "  rules = {{ins = {'D0', 'R'}, outs = {'D0'}, kwargs = function(k) return k end}},\n"
     "  cost = function(node) return {us = 3} end, kernel = function() return {} end}", "m k+, k+ n -> m n"},
};
/* clang-format on */

static void has_this_space(void **state)
{
    const SpaceRow *row = *state;
    Opened opened = open_op(row->operands, NULL, "tp=2", row->script);
    must_open(&opened);
    const OpSpace *space = program_space(opened.session->inferred, 0);
    if (!space->no_rule) {
        assert_string_equal(space_text(&opened), row->want);
        close_op(&opened);
        return;
    }
    const char *text = opened.session->inferred->findings.at[0].text;
    const char *at = strstr(text, opened.path);
    Buf got = buf_new(opened.arena);
    if (at)
        buf_printf(&got, "%.*sFILE%s", (int)(at - text), text, at + strlen(opened.path));
    else
        buf_puts(&got, text);
    if (!strstr(got.s, row->want))
        fail_msg("'%s', want '%s'", got.s, row->want);
    close_op(&opened);
}

/* ---- inputs ---- */

typedef struct {
    const char *name, *answer, *want;
} GenRow;

static GenRow gen_rows[] = {
    {"no table", "3", "it must return a table by input, {[1] = {lo = 0, hi = 8}}, not a number"},
    {"an input that is not there", "{[3] = 1}", "it must return a table by input, 1 to 1"},
    {"a text", "{'x'}",
     "input 0 needs a number, a list of numbers or {lo = .., hi = ..}, not a string"},
    {"an empty range", "{{lo = 2, hi = 2}}",
     "input 0: a range must be {lo = .., hi = ..} with lo < hi"},
    {"a range with more", "{{lo = 2, hi = 3, step = 1}}", "a range has no field 'step'"},
    {"too few values", "{{1, 2, 3}}", "input 0 is given 3 values, but has 8 elements"},
};

static void wrong_inputs_are_refused(void **state)
{
    const GenRow *row = *state;
    Arena *arena = arena_new();
    Opened opened = open_op("8", NULL, "tp=2",
                            arena_printf(arena,
                                         "register_op('a -> a', {name = 'my::op', kernel = "
                                         "'Identity', input_gen = function() return %s end})",
                                         row->answer));
    must_open(&opened);
    assert_null(generate_of_all(opened.arena, opened.session->inferred, &opened.err));
    if (!strstr(opened.err.text, row->want))
        fail_msg("'%s', want '%s'", opened.err.text, row->want);
    close_op(&opened);
    arena_free(arena);
}

int main(void)
{
    int failed = run_rows("refused", refusals, is_refused);
    failed += run_rows("lint", lints, is_found);
    failed += run_rows("space", space_rows, has_this_space);
    failed += run_rows("input", gen_rows, wrong_inputs_are_refused);
    return failed;
}
