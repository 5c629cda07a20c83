/* fuzz_policy.c - any policy of a grammar on a small model that is open; on one in some that is
 * opened, forward or as a training step: a plan with its decisions, or an error with its place in
 * the policy.
 *
 * Bytes of the input, in order: which model, how it trains, then how the grammar goes on. Of most
 * policies a statement that fails is left out.
 */
#include "core/session/planfile.h"
#include "tests/fuzz/grammar.h"
#include "tests/fuzz/quick_hooks.h"
#include "tests/fuzz/sandbox.h"
#include "tests/unit/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* Loops in loops end together, when more() is false.
 *
 * S is a statement, N a node, T a tensor, L several of either, X axes, I an integer, C cuts, D a
 * direction, P how to train, O an optional part of a call. */
static const char *const statements[] = {
    "",
    "graph:shard($T, $C)",
    "graph:pin($T, $C)",
    "graph:shard($N, $C)",
    "graph:unpin($T, $I)",
    "graph:replicated($T, $X)",
    "graph:unreduced($T, $X)",
    "graph:tie('g', {$T, $T})",
    "graph:barrier($T, $D)",
    "graph:unmark($T)",
    "n = $N",
    "t = $T",
    "graph:partition($N, $N:algorithm('dim'), {idx = $I, dim = $I, num = $I})",
    "for _, part in ipairs(graph:partition($N, $N:algorithm('dim'), {idx = 0, dim = $I, num = 2})) "
    "do if not more() then break end n = part; $S end",
    "graph:replicate($N, $I)",
    "graph:assign($N, $I)",
    "graph:assign($L, {a = $I})",
    "graph:staging({$N, $N})",
    "graph:blocking({$N, $N})",
    "n = graph:group({$N, $N})",
    "graph:recompute($L, {layers = $I})",
    "graph:recompute('*', {whole = true})",
    "graph:schedule('1f1b', {micro_batches = $I})",
    "graph:schedule('gpipe', {micro_batches = $I, overlap = 'forward'})",
    "graph:schedule({'0f0 1f0', '0f0'}, {micro_batches = $I})",
    "graph:train($P)",
    "graph:freeze($T)",
    "graph:zero($I, $X)",
    "graph:zero($I, $X, {keep = true})",
    "graph:search({limit = '1KiB', seconds = 0.001})",
    "graph:search({unfold = true, seconds = 0.001, holes = $L})",
    "print(graph:propose().step_us)",
    "graph:assume('*', 'mean', $X)",
    "graph:fuse('attention')",
    "graph:multiref($T)",
    "graph:auto_multiref()",
    "graph:single_consume()",
    "for _, r in ipairs(graph:roles()) do if not more() then break end t = r.weight or t; "
    "$S end",
    "for _, m in ipairs(graph:nodes()) do if not more() then break end n = m; $S end",
    "for _, u in ipairs(graph:tensors('*')) do if not more() then break end t = u; $S end",
    "for r in graph:reshards() do if not more() then break end print(r.kind); $S end",
    "for _, m in ipairs(graph:select({op = 'MatMul'})) do if not more() then break end n = m; "
    "$S end",
    "if #t.shape > $I then $S else $S end",
    "print(pcall(function() $S $S end))",
    "do $S $S end",
    "print(t.sharding, n.us, n.flops, t.bytes)",
    "return graph",
    "include('lib/zero').store(graph, resource)",
    "include('lib/common').cut_batch(graph, $X)",
    "include('lib/roles').find(graph, 'x')",
};
static const char *const nodes[] = {"n",
                                    "graph:node($I)",
                                    "(graph:nodes()[$I] or n)",
                                    "graph:producers($T)[1]",
                                    "graph:consumers($T)[1]",
                                    "$T:producer()",
                                    "(graph:segments()[$I] or n)",
                                    "graph:op('MatMul_0')"};
static const char *const tensors[] = {"t",
                                      "(graph:params()[$I] or t)",
                                      "(graph:inputs()[$I] or t)",
                                      "graph:outputs()[1]",
                                      "$N:input($I)",
                                      "$N:output(0)",
                                      "$N.out[$I]",
                                      "graph:tensors('*')[$I]"};
static const char *const lists[] = {"{$N}",
                                    "{$N, $N, $N}",
                                    "graph:nodes()",
                                    "graph:between($N, $N)",
                                    "graph:where({index = '0:2'})",
                                    "{}",
                                    "graph:params()"};
static const char *const axes[] = {"'a'", "'b'",        "{'a', 'b'}",       "{}",
                                   "'c'", "{'b', 'a'}", "resource.mesh[$I]"};
static const char *const integers[] = {"1", "0", "2", "3", "4", "-1", "#$L", "7", "1 << 40", "0.5"};
static const char *const cuts[] = {
    "{[0] = $X}",
    "{[1] = $X}",
    "{m = $X, n = $X}",
    "{k = $X}",
    "{[$I] = $X, [0] = $X}",
    "'4/a,*'",
    "'*,6/b'",
    "{[0] = {axes = $X, parts = $I}}",
    "{[1] = {'a', open = true}}",
};
static const char *const directions[] = {"'none'", "'forward'", "'backward'", "'x'"};
static const char *const trainings[] = {"'adamw'",           "'sgd,clip=1'",
                                        "{loss = 'auto'}",   "{optimizer = 'adagrad', lr = $I}",
                                        "'adam,freeze=*w*'", "''"};

static const GrammarRule rules[] = {
    GRAMMAR_RULE('S', statements), GRAMMAR_RULE('N', nodes),      GRAMMAR_RULE('T', tensors),
    GRAMMAR_RULE('L', lists),      GRAMMAR_RULE('X', axes),       GRAMMAR_RULE('I', integers),
    GRAMMAR_RULE('C', cuts),       GRAMMAR_RULE('D', directions), GRAMMAR_RULE('P', trainings)};

static const char *const models[] = {
    "h <- MatMul f32[8,4] f32[4,12]!; r <- Relu h; y <- MatMul r f32[12,6]!; z <- Add y f32[6]!",
    "h <- MatMul f32[4,6,24] f32[24,72]!; q k v <- Split h axis=2; "
    "s <- MatMul q f32[24,6]!; p <- Softmax s axis=2; o <- MatMul p v; y <- Mul o f32[24]!"};
static const char *const trains[] = {NULL, "adamw", "sgd,clip=1.0,loss=auto", "auto"};
enum { MODELS = sizeof models / sizeof *models, TRAINS = sizeof trains / sizeof *trains };

static Graph *graph_of(int model)
{
    static Graph *graphs[MODELS];
    if (!graphs[model])
        graphs[model] = graph_from_text(arena_new(), models[model], 13);
    return graphs[model];
}

static void check_plan(const Session *session, const Error *err)
{
    if ((session == NULL) != error_is_set(err))
        fail_msg("WRONG neither a plan nor an error\n");
    if (!session && err->kind == ERROR_SCRIPT && !err->file[0])
        fail_msg("WRONG no place: %s\n", err->text);
    if (session)
        json_free(plan_json(session));
}

/* The model is opened under the policy. */
static void open_with_policy(Arena *arena, int model, int train)
{
    Scripts *scripts = scripts_new(arena, root);
    SessionHooks hooks = quick_hooks(scripts);
    SessionOptions options = {.mesh = "a=2,b=2", .policy = "./policy.lua", .train = trains[train]};
    Error err = {0};
    Session *session = session_open_graph(graph_of(model), &options, &hooks, &err);
    check_plan(session, &err);
    session_close(session);
    scripts_free(scripts);
}

/* The model is open, once for all inputs, and the policy takes the place of none. */
static void change_to_policy(Arena *arena, int model)
{
    static Session *opened[MODELS];
    SessionOptions options = {.mesh = "a=2,b=2"};
    Change change = {.kind = CHANGE_POLICY, .text = "./policy.lua"};
    Error err = {0};
    Scripts *scripts = scripts_new(arena, root);
    SessionHooks hooks = quick_hooks(scripts);
    if (!opened[model])
        opened[model] = session_open_graph(graph_of(model), &options, &hooks, &err);
    if (!opened[model])
        fail_msg("%s\n", err.text);
    opened[model]->hooks = hooks;
    Session *session = session_fork(opened[model], &change, &err);
    check_plan(session, &err);
    session_close(session);
    scripts_free(scripts);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    enum { INPUT_MAX = 40, LONG_INPUT_MAX = 96, FAILS_OF = 4, OPENED_OF = 8 };
    if (n_bytes < 3)
        return 0;
    size_t n = size_used(bytes, n_bytes, INPUT_MAX, LONG_INPUT_MAX);
    Arena *arena = arena_new();
    Grammar g = {.rules = rules, .at = bytes + 2, .n = n - 2, .text = buf_new(arena)};
    buf_puts(&g.text, "local left = 16\n"
                      "local function more() left = left - 1 return left > 0 end\n"
                      "function PAS(graph, resource)\n"
                      "local n, t = graph:nodes()[1], graph:params()[1]\n");
    while (g.n > 0 && g.text.n < GRAMMAR_TEXT_MAX)
        grammar_put(&g, bytes[0] / MODELS % FAILS_OF == 0 ? "do $S end\n"
                                                          : "pcall(function() $S end)\n");
    buf_puts(&g.text, "return graph\nend\n");
    write_in_memory("policy.lua", buf_str(&g.text));
    if (is_chosen(bytes, n_bytes, OPENED_OF))
        open_with_policy(arena, bytes[0] % MODELS, bytes[1] % TRAINS);
    else
        change_to_policy(arena, bytes[0] % MODELS);
    arena_free(arena);
    return 0;
}
