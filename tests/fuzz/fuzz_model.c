/* fuzz_model.c - any model file of a grammar in Lua: a graph, or an error with its place in the
 * file. One in some is planned forward or as a training step, and a small plan is run on ranks and
 * verified: no rank has other elements than one device, nor more memory than was predicted.
 *
 * Bytes of the input, in order: what is done, then how the grammar goes on. Of most models a
 * statement that fails is left out.
 */
#include "tests/fuzz/grammar.h"
#include "tests/fuzz/quick_hooks.h"
#include "tests/fuzz/sandbox.h"
#include "tests/fuzz/use_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* S is a statement, V a value, U an operator of one operand, B of two, L sizes or places, I an
 * integer, X an expression of sizes, T a type, A attributes. */
static const char *const statements[] = {
    "v = $V",
    "v, x = x, $V",
    "w = $V",
    "v, w = model:op('Split', {$V}, {axis = $I}, 2)",
    "v, w = model:op('TopK', {$V, {$I}}, {axis = $I}, 2)",
    "x = model:input(name(), $T, {$X, $X})",
    "x = model:input(name(), $T, {$I, 's', $X})",
    "w = model:param(name(), {$X, $X}, $T)",
    "w = model:param(name(), $L)",
    "model:output($V, name())",
    "model:output($V)",
    "model:module(name(), function() $S $S end)",
    "model:module('layers.' .. $I, function() $S return v end, 'Layer')",
    "for i = 1, 2 do if not more() then break end $S end",
    "if model:dim('s') == $I then $S else $S end",
    "model:dims{s = $I}",
    "print(model:size('width', $I), model:flag('bias', false), model:sizes('sizes', $L))",
    "v = model:op($U, {$V}, $A)",
    "v = model:op($B, {$V, $V}, $A)",
    "v = model:op($U, {$V, $V, $V}, $A, $I)",
    "model:refuse('width', 'a multiple of 8')",
    "v = include('lib/layers').linear(model, name(), $V, $I, $I)",
    "v = include('lib/layers').rms_norm(model, name(), $V, $I)",
    "moe = include('lib/moe')",
    "v = moe.exchange(model, $V, $V, $V, {experts = $I, top_k = $I, width = 8}, id)",
    "v = moe.exchange(model, $V, $V, $V, {experts = 4, top_k = $I, dropless = true}, id)",
    "if more() then MODEL(model, config) end",
};
static const char *const values[] = {
    "v",
    "x",
    "w",
    "model:op($U, {$V})",
    "model:op($B, {$V, $V})",
    "model:op('MatMul', {$V, $V})",
    "model:op('MatMul', {$V, model:param(name(), {8, $X})})",
    "model:op('Add', {$V, $I})",
    "model:op('Mul', {$V, 0.5})",
    "model:op('Reshape', {$V, $L})",
    "model:op('Transpose', {$V}, {perm = $L})",
    "model:op('Concat', {$V, $V}, {axis = $I})",
    "model:op('Softmax', {$V}, {axis = $I})",
    "model:op('ReduceMean', {$V, {$I}}, {keepdims = $I})",
    "model:op('ReduceSum', {$V, {$I}})",
    "model:op('ReduceMax', {$V})",
    "model:op('Slice', {$V, {$I}, {$I}, {$I}, {$I}})",
    "model:op('Gather', {$V, $L}, {axis = $I})",
    "model:op('Gather', {$V, model:op('Cast', {$V}, {to = 7})}, {axis = $I})",
    "model:op('Expand', {$V, $L})",
    "model:op('Einsum', {$V, $V}, {equation = 'bsk,kn->bsn'})",
    "model:op('Einsum', {$V, $V}, {equation = 'bsk,btk->bst'})",
    "model:op('LayerNormalization', {$V, model:param(name(), {8}), model:param(name(), {8})})",
    "model:op('Conv', {$V, model:param(name(), {4, 4, 3})}, {pads = {1, 1}})",
    "model:op('CumSum', {$V, $I}, {reverse = $I})",
    "model:op('Where', {model:op('Greater', {$V, 0}), $V, $V})",
    "model:op('Attention', {$V, $V, $V}, {q_num_heads = $I, kv_num_heads = $I, is_causal = 1})",
    "model:op('Cast', {$V}, {to = $I})",
    "model:op('Pad', {$V, $L})",
    "model:op('Unsqueeze', {$V, {$I}})",
    "model:op('Squeeze', {$V})",
    "model:op('Identity', {$V})",
    "model:op('Clip', {$V, 0, $I})",
    "model:op('ScatterElements', {$V, model:op('Cast', {$V}, {to = 7}), $V}, {axis = $I})",
    "model:op('OneHot', {model:op('Cast', {$V}, {to = 7}), $I, {0, 1}})",
    "model:constant(name(), $T, {2}, {$I, $I})",
    "model:param(name(), {4, 8, 8}, $T)",
    "(model:op('Split', {$V}, {axis = $I}, 2))",
    "nil",
    "'v'",
};
static const char *const unary[] = {"'Relu'",     "'Exp'", "'Tanh'",  "'Sigmoid'",
                                    "'Gelu'",     "'Neg'", "'Sqrt'",  "'Flatten'",
                                    "'Softplus'", "'Erf'", "'Shape'", "'Size'",
                                    "'NonZero'",  "'Max'", "'Floor'", "'DynamicQuantizeLinear'",
                                    "'Nope'"};
static const char *const binary[] = {"'Add'",  "'Mul'",   "'Sub'",   "'Div'", "'Pow'",
                                     "'Max'",  "'Min'",   "'Equal'", "'And'", "'Mod'",
                                     "'Gemm'", "'PRelu'", "'Sum'"};
static const char *const lists[] = {
    "{4, 8}", "{0, 2, 1}", "{4, 6, 8}",    "{-1, 8}",    "{$I, $I}", "{$X, $X, 8}", "{8}",
    "{}",     "{1, 0}",    "{4, 6, 2, 4}", "{0, 0, -1}", "{$I}",     "{0, 2, 1, 3}"};
static const char *const integers[] = {"1",  "0", "2",       "3", "-1", "4",
                                       "-2", "8", "1 << 40", "6", "-9", "0.5"};
static const char *const sizes[] = {"8", "4", "6", "$I", "'s'", "'t'", "$X * 2", "12"};
static const char *const types[] = {"'f32'", "'bf16'", "'f16'", "'i64'", "'bool'",
                                    "'i8'",  "'f64'",  "'i32'", "nil",   "'x'"};
static const char *const attrs[] = {
    "{}",        "{axis = $I}",  "{keepdims = $I}",        "{alpha = 0.5, transB = $I}",
    "{to = $I}", "{axis = 'x'}", "{perm = $L, axes = $L}", "nil"};

static const GrammarRule rules[] = {
    GRAMMAR_RULE('S', statements), GRAMMAR_RULE('V', values), GRAMMAR_RULE('U', unary),
    GRAMMAR_RULE('B', binary),     GRAMMAR_RULE('L', lists),  GRAMMAR_RULE('I', integers),
    GRAMMAR_RULE('X', sizes),      GRAMMAR_RULE('T', types),  GRAMMAR_RULE('A', attrs)};

static const char *const trains[] = {NULL, NULL, "sgd", "adamw,clip=1.0", "auto"};
static const char *const policies[] = {NULL, "dp", "tp", "fsdp"};
enum {
    TRAINS = sizeof trains / sizeof *trains,
    POLICIES = sizeof policies / sizeof *policies,
    RUNS_OF = 4
};

static void check_run(Arena *arena, const Session *session)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    bool ran = run_plan(arena, session->plan, &options, &report, &err);
    if (ran == error_is_set(&err))
        wrong("run");
    if (ran && report.verdict == RUN_FAIL)
        fail_msg("WRONG at %s: %g, should be %g +- %g\n",
                 report.first_bad < 0
                     ? "an output"
                     : tensor_name(session->plan->inferred->graph, report.first_bad),
                 report.wrong.got, report.wrong.want, report.wrong.bound);
    if (ran && !report.predicted_peak_at_least && report.predicted_peak_bytes < report.peak_bytes)
        fail_msg("WRONG peak: %lld said, %lld measured\n", (long long)report.predicted_peak_bytes,
                 (long long)report.peak_bytes);
}

static void check_error(const Error *err, bool made)
{
    if (made == error_is_set(err))
        fail_msg("WRONG neither a model nor an error\n");
    if (!made && err->kind == ERROR_SCRIPT && !err->file[0])
        fail_msg("WRONG no place: %s\n", err->text);
}

static void plan(Arena *arena, const SessionHooks *hooks, uint8_t how)
{
    SessionOptions options = {.model = "./model.lua", .mesh = "dp=2,tp=2"};
    options.train = trains[how % TRAINS];
    options.policy = policies[how / TRAINS % POLICIES];
    Error err = {0};
    Session *session = session_open(&options, hooks, &err);
    check_error(&err, session != NULL);
    bool runs = how / TRAINS / POLICIES % RUNS_OF == 0; /* ranks that wait take the most time */
    if (runs && session && plan_is_legal(session->plan) && is_small(session->inferred))
        check_run(arena, session);
    session_close(session);
}

/* Planned if it is whole, else its graph is built. */
static void try_model(Arena *arena, uint8_t how, bool whole, Str model)
{
    static Scripts *scripts; /* as long as the program: shipped files are compiled once */
    if (!scripts)
        scripts = scripts_new(arena_new(), root);
    SessionHooks hooks = quick_hooks(scripts);
    Error err = {0};
    write_in_memory("model.lua", model);
    if (whole)
        plan(arena, &hooks, how);
    else
        check_error(&err, quick_graph(arena, &hooks, "./model.lua", &err) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    enum { INPUT_MAX = 48, LONG_INPUT_MAX = 96, FAILS_OF = 4, WHOLE_OF = 8 };
    if (n_bytes < 3)
        return 0;
    size_t n = size_used(bytes, n_bytes, INPUT_MAX, LONG_INPUT_MAX);
    Arena *arena = arena_new();
    Grammar g = {.rules = rules, .at = bytes + 2, .n = n - 2, .text = buf_new(arena)};
    buf_puts(&g.text, "local n, left = 0, 16\n"
                      "local function more() left = left - 1 return left > 0 end\n"
                      "local function name() n = n + 1 return 'n' .. n end\n"
                      "local function id(x) return x end\n"
                      "function MODEL(model, config)\n"
                      "local moe = include('lib/moe')\n"
                      "local x = model:input('x', 'f32', {4, 6, 8})\n"
                      "local w = model:param('w', {8, 8})\n"
                      "local v = model:op('MatMul', {x, w})\n");
    while (g.n > 0 && g.text.n < GRAMMAR_TEXT_MAX)
        grammar_put(&g, bytes[0] % FAILS_OF == 0 ? "do $S end\n" : "pcall(function() $S end)\n");
    buf_puts(&g.text, "model:output(v, 'last')\nend\n");
    try_model(arena, bytes[1], is_chosen(bytes, n_bytes, WHOLE_OF), buf_str(&g.text));
    arena_free(arena);
    return 0;
}
