/* Scripts that would take a machine, or make a run differ from the next: each is ended by an error
 * with its line, and what stood before stands after it. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "scripts/sandbox/lua_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *name, *script, *want; /* want: how the error begins */
} HostileRow;

static bool begins_with(const Error *err, const char *want)
{
    return str_starts(str_from(err->text), str_from(want));
}

/* ---- alone: from the second line on, what loops with a tenth of the budget ---- */

static HostileRow script_rows[] = {
    {"byte_big", "((\"x\"):rep(1 << 20)):byte(1, -1)", "stack overflow (string slice too long)"},
    {"bytecode", "string.dump(print)", "attempt to call a nil value (field 'dump')"},
    {"call_metamethod", "local t = setmetatable({}, {}) getmetatable(t).__call = t t()",
     "stopped after 50 million instructions"},
    {"close_in_pcall",
     "while true do pcall(function() local x <close> = setmetatable({}, {__close = function() "
     "while true do end end}) error(1) end) end",
     "stopped after 50 million instructions"},
    {"close_loops",
     "do local x <close> = setmetatable({}, {__close = function() while true do end end}) "
     "error(\"out\") end",
     "stopped after 50 million instructions"},
    {"close_raises",
     "local function f() local x <close> = setmetatable({}, {__close = function() f() end}) "
     "error(\"again\") end f()",
     "stack overflow"},
    {"closures", "local t = {} while true do local x = {} t[#t + 1] = function() return x end end",
     "not enough memory: a script may use 256 MiB"},
    {"compare_texts",
     "local a = (\"x\"):rep((1 << 20) - 1) local b = a .. \"y\" while true do local c = a < b end",
     "stopped after 50 million instructions"},
    {"concat_big", "local t = {} for i = 1, 11 do t[i] = (\"x\"):rep(1e5) end table.concat(t)",
     "a string of a script can have at most 1 MiB"},
    {"concat_counts",
     "table.concat(setmetatable({}, {__index = rawlen, __len = function() return 1 << 60 end}))",
     "a list with __len cannot be moved, joined or sorted"},
    {"concat_endless",
     "table.concat(setmetatable({}, {__index = getmetatable, __metatable = \"\"}), \"\", 1, 1 << "
     "60)",
     "too many elements to join"},
    {"concat_metamethod",
     "local m = {} m.__concat = function(a, b) return a .. b end local t = setmetatable({}, m) "
     "local _ = t .. t",
     "calls or brackets nest too deep"},
    {"coroutine_loop",
     "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do "
     "f() end",
     "stopped after 50 million instructions"},
    {"coroutine_makes", "while true do coroutine.create(function() end) end",
     "stopped after 50 million instructions"},
    {"coroutine_of_pcall", "local function f() pcall(f) while true do end end coroutine.wrap(f)()",
     "stopped after 50 million instructions"},
    {"coroutines_kept",
     "local t = {} while true do t[#t + 1] = coroutine.create(function() coroutine.yield() end) "
     "coroutine.resume(t[#t]) end",
     "not enough memory: a script may use 256 MiB"},
    {"coroutines_nested", "local function f() return coroutine.wrap(f)() end f()",
     "calls or brackets nest too deep"},
    {"debug", "debug.getregistry()", "attempt to index a nil value (global 'debug')"},
    {"eq_metamethod",
     "local m = {} m.__eq = function(a, b) return a == b end local _ = setmetatable({}, m) == "
     "setmetatable({}, m)",
     "calls or brackets nest too deep"},
    {"error_object_loops",
     "error(setmetatable({}, {__tostring = function() while true do end end}))",
     "the error is a table, not a string"},
    {"error_object_recurses",
     "local t t = setmetatable({}, {__tostring = function() error(t) end}) error(t)",
     "the error is a table, not a string"},
    {"format_address", "string.format(\"%p\", {})",
     "%p shows an address, which differs from run to run"},
    {"format_big",
     "string.format((\"%s\"):rep(200), table.unpack((function() local t = {} local s = "
     "(\"x\"):rep(1 << 20) for i = 1, 200 do t[i] = s end return t end)()))",
     "not enough memory: a script may use 256 MiB"},
    {"format_width", "string.format(\"%99999d\", 1)",
     "invalid conversion specification: '%99999d'"},
    {"gc_metatable", "setmetatable({}, {__gc = function() while true do end end})",
     "a metatable may not have __gc here"},
    {"goto_in_pcall", "while true do pcall(function() ::top:: goto top end) end",
     "stopped after 50 million instructions"},
    {"goto_loop", "::top:: goto top", "stopped after 50 million instructions"},
    {"gsub_calls", "while true do ((\"a\"):rep(1 << 18)):gsub(\"a\", rawlen) end",
     "stopped after 50 million instructions"},
    {"gsub_grows", "local s = \"x\" while true do s = s:gsub(\"x\", (\"x\"):rep(1000)) end",
     "not enough memory: a script may use 256 MiB"},
    {"gsub_of_pcall", "while true do ((\"a\"):rep(1 << 18)):gsub(\"a\", pcall) end",
     "stopped after 50 million instructions"},
    {"gsub_recursion", "local function f(s) return (s:gsub(\".\", f)) end f(\"x\")",
     "calls or brackets nest too deep"},
    {"index_chain", "local t = {} setmetatable(t, {__index = t}) local _ = t.x",
     "'__index' chain too long; possible loop"},
    {"index_recursion",
     "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) local _ = t[1]",
     "calls or brackets nest too deep"},
    {"io", "io.open(\"/etc/passwd\")", "attempt to index a nil value (global 'io')"},
    {"len_metamethod",
     "local t = setmetatable({}, {__len = function(t) return #t end}) local _ = #t",
     "calls or brackets nest too deep"},
    {"load", "load(\"return 1\")()", "attempt to call a nil value (global 'load')"},
    {"loop", "while true do end", "stopped after 50 million instructions"},
    {"math_random", "math.random(1, 0)", "bad argument #1 to 'random' (interval is empty)"},
    {"move_big", "table.move({}, 1, 1 << 50, 2)", "too many elements to move"},
    {"move_meta",
     "while true do table.move(setmetatable({}, {__index = rawlen}), 1, 1 << 22, 1, "
     "setmetatable({}, {__newindex = rawequal})) end",
     "stopped after 50 million instructions"},
    {"next_quadratic", "local t = {} for i = 1, 1e6 do t[i] = i end for k in next, t do end",
     "stopped after 50 million instructions"},
    {"numeric_for", "for i = 1, math.huge do end", "stopped after 50 million instructions"},
    {"os", "os.execute(\"true\")", "attempt to index a nil value (global 'os')"},
    {"pairs_big",
     "local t = {} for i = 1, 1e6 do t[i * 3] = i end while true do for k in pairs(t) do break end "
     "end",
     "stopped after 50 million instructions"},
    {"pairs_metamethod",
     "local t = setmetatable({}, {__pairs = function(t) return pairs(t) end}) pairs(t)",
     "calls or brackets nest too deep"},
    {"pattern_back_reference", "((\"a\"):rep(10000)):find(\"(.*)%1b\")",
     "this pattern could take too long on a text of 10000 characters"},
    {"pattern_backtrack", "((\"a\"):rep(30)):find((\"a?\"):rep(30) .. (\"a\"):rep(30))",
     "this pattern could take too long on a text of 30 characters"},
    {"pattern_balance", "((\"(\"):rep(1 << 20)):find(\"%b()x\")",
     "this pattern could take too long on a text of 1048576 characters"},
    {"pattern_captures", "(\"x\"):find((\"(\"):rep(40))", "too many captures"},
    {"pattern_frontier", "while true do ((\"a\"):rep(1 << 20)):find(\"%f[b]\") end",
     "stopped after 50 million instructions"},
    {"pattern_gmatch_anchor", "for _ in ((\"^\"):rep(1 << 20)):gmatch(\"^.*x\") do end",
     "this pattern could take too long on a text of 1048576 characters"},
    {"pattern_sets",
     "while true do ((\"a\"):rep(1 << 18)):find(\"[^\" .. (\"b\"):rep(120) .. \"]*$\") end",
     "this pattern could take too long on a text of 262144 characters"},
    {"pattern_stars", "((\"a\"):rep(1000)):find(\"a*a*a*a*b\")",
     "this pattern could take too long on a text of 1000 characters"},
    {"pcall_recursion", "local function f() return pcall(f), f() end f()",
     "stopped after 50 million instructions"},
    {"plain_search", "((\"a\"):rep(1 << 20)):find((\"a\"):rep(1 << 19) .. \"b\", 1, true)",
     "this search could take too long on a text of 1048576 characters"},
    {"print_flood", "while true do print((\"x\"):rep(1000)) end",
     "stopped after 50 million instructions"},
    {"recursion", "local function f() return f() + 1 end f()", "stack overflow"},
    {"rep", "string.rep(\"x\", 1 << 40)", "resulting string too large"},
    {"rep_doubling", "local s = \"x\" while true do s = s .. s end",
     "a string of a script can have at most 1 MiB"},
    {"rep_loop", "while true do pcall(string.rep, \"x\", 1 << 28) end",
     "stopped after 50 million instructions"},
    {"repeat_pcall_error", "while true do pcall(error, \"x\") end",
     "stopped after 50 million instructions"},
    {"require", "require(\"os\")", "attempt to call a nil value (global 'require')"},
    {"setmetatable_string", "setmetatable(\"\", {})",
     "bad argument #1 to 'setmetatable' (table expected, got string)"},
    {"sort_huge", "local t = {} for i = 1, 5e6 do t[i] = 0 end table.sort(t)",
     "stopped after 50 million instructions"},
    {"sort_inconsistent",
     "local t = {} for i = 1, 1e6 do t[i] = i % 7 end while true do table.sort(t, function() "
     "return true end) end",
     "stopped after 50 million instructions"},
    {"sort_of_c",
     "local t = {} for i = 1, 1 << 21 do t[i] = i end while true do table.sort(t, rawequal) end",
     "stopped after 50 million instructions"},
    {"sort_recursion",
     "local function f(a, b) table.sort({1, 2, 3}, f) return false end table.sort({1, 2, 3}, f)",
     "calls or brackets nest too deep"},
    {"string_metatable", "getmetatable(\"\").__index = nil", "attempt to index a boolean value"},
    {"table_growth", "local t = {} for i = 1, 1e12 do t[i] = i end",
     "not enough memory: a script may use 256 MiB"},
    {"tail_calls", "local function f() return f() end f()",
     "stopped after 50 million instructions"},
    {"tonumber_long", "while true do tonumber((\"1\"):rep(1 << 20), 36) end",
     "stopped after 50 million instructions"},
    {"tostring_loops", "print(setmetatable({}, {__tostring = function() while true do end end}))",
     "stopped after 50 million instructions"},
    {"tostring_recurses",
     "local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring print(t)",
     "calls or brackets nest too deep"},
    {"unpack_big", "table.unpack({}, 1, 1 << 30)", "too many results to unpack"},
    {"unpack_many",
     "local t = setmetatable({}, {__index = rawlen}) while true do pcall(table.unpack, t, 1, 9e5) "
     "end",
     "stopped after 50 million instructions"},
    {"utf8_char",
     "while true do utf8.char(table.unpack({}, 1, 0)) ; utf8.len((\"é\"):rep(1 << 19)) end",
     "stopped after 50 million instructions"},
    {"brackets_too_deep", "@(", "calls or brackets nest too deep"},
    {"tables_too_deep", "@{", "calls or brackets nest too deep"},
    {"signs_too_deep", "@- ", "calls or brackets nest too deep"},
    {"blocks_too_deep", "@do ", "calls or brackets nest too deep"},
};

/* "@(": that 5000 times. */
static const char *text_of(Arena *arena, const char *script)
{
    if (script[0] != '@')
        return arena_printf(arena, "\n%s\n", script);
    Buf text = buf_new(arena);
    buf_puts(&text, "\n");
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%s%s", i == 0 && script[1] != 'd' ? "return " : "", script + 1);
    return text.s;
}

static void run_script(void **state)
{
    const HostileRow *row = *state;
    Error err = {0}, none = {0};
    Sandbox *sandbox = sandbox_new("hostile.lua");
    sandbox->source.text = str_from(text_of(sandbox->arena, row->script));
    if (str_starts(str_from(row->want), STR("stopped")))
        sandbox->budget /= 10;
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    if (!begins_with(&err, row->want) || err.line != 2 || err.kind != ERROR_SCRIPT)
        fail_msg("line %d: %s, not '%s'", err.line, err.text, row->want);
    sandbox_restart(sandbox); /* what it left in its state does no harm */
    sandbox->source.text =
        STR("local t = {}\nfor i = 1, 1000 do t[i] = ('x'):rep(i) end\nprint(#t)");
    if (!sandbox_run(sandbox, NULL, NULL, &none))
        fail_msg("afterwards: %s", none.text);
    sandbox_free(sandbox);
}

/* ---- what a user who stops a script waits for ---- */

static HostileRow slow_rows[] = {
    {"add_to_text",
     "local s = \"0x\" .. (\"9\"):rep((1 << 20) - 2) while true do local z = s + 1 end", "stopped"},
    {"add_to_number", "local s = (\"9\"):rep(1 << 20) while true do local z = s + 1 end",
     "stopped"},
    {"compare_zeros",
     "local a = (\"\\0\"):rep((1 << 20) - 1) local b = a .. \"y\" "
     "while true do local z = a < b, a < b, a < b end",
     "stopped"},
    {"matches", "local s = (\"a\"):rep(4400) while true do s:find(\"[a-z]*[a-z]x\") end",
     "stopped"},
    {"replaces", "local s = (\"a\"):rep(4400) while true do s:gsub(\"[a-z]*b\", \"\") end",
     "stopped"},
    {"sorts",
     "local t = {} for i = 1, 1e5 do t[i] = i * 7919 % 1e5 end while true do table.sort(t) end",
     "stopped"},
};

/* Asks a script to stop after a while; in time of the processor, so that other programs do not
 * count. */
typedef struct {
    Progress *progress;
    clock_t asked;
} Asker;

static void *ask_to_stop(void *context)
{
    Asker *asker = context;
    struct timespec pause = {.tv_nsec = 100000000};
    nanosleep(&pause, NULL);
    asker->asked = clock();
    progress_stop(asker->progress);
    return NULL;
}

/* Within half a second; a sanitizer makes it slower. */
static void stops_a_script(void **state)
{
    const HostileRow *row = *state;
    Error err = {0};
    Sandbox *sandbox = sandbox_new("slow.lua");
    Asker asker = {.progress = arena_make(sandbox->arena, Progress)};
    pthread_t thread;
    double limit_s = 0.5;
#if defined(__SANITIZE_ADDRESS__)
    limit_s = 4;
#endif
    sandbox->source.text = str_from(text_of(sandbox->arena, row->script));
    sandbox->progress = asker.progress;
    assert_int_equal(pthread_create(&thread, NULL, ask_to_stop, &asker), 0);
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    clock_t ended = clock();
    pthread_join(thread, NULL);
    double took_s = (double)(ended - asker.asked) / CLOCKS_PER_SEC;
    if (err.kind != ERROR_CANCELLED || took_s > limit_s)
        fail_msg("%s, after %.2f s", err.text, took_s);
    sandbox_free(sandbox);
}

/* ---- as a policy, in place of another: its plan stays ---- */

static HostileRow policy_rows[] = {
    {"coroutine_escape",
     "coroutine.wrap(function() g:shard(\"lm_head.weight\", {[0] = \"dp\"}) while true do end "
     "end)()",
     ""},
    {"cut_axes_many",
     "local t = {} for i = 1, 1e6 do t[i] = \"dp\" end g:shard(\"lm_head.weight\", {[0] = t})",
     "dim 0 of 'lm_head.weight': axis 'dp' is used twice"},
    {"cut_self", "local t = {} t[1] = t g:shard(\"lm_head.weight\", {[0] = t})",
     "dim 0 of 'lm_head.weight': an axis must be a string, not a table"},
    {"endless_cuts",
     "g:shard(\"lm_head.weight\", setmetatable({}, {__index = function() while true do end end, "
     "__pairs = function() return function() return 1, 1 end end}))",
     "no dim is given: write for example {[0] = \"dp\"} or {n = \"tp\"}"},
    {"float_dim", "g:shard(\"lm_head.weight\", {[0.5] = \"dp\"})",
     "dim 0.5 of 'lm_head.weight': a dim must be a number or the name of an index dim"},
    {"graph_index", "g.nodes = nil", "a graph is read-only: 'nodes'"},
    {"graph_metatable", "getmetatable(g).__index = nil", "attempt to index a boolean value"},
    {"half_way", "g:shard(\"lm_head.weight\", {[0] = \"dp\"}) error(\"half way\")", "half way"},
    {"keep", "kept = g:nodes() error(\"kept\")", "kept"},
    {"long_glob", "while true do g:tensors((\"{*,a}\"):rep(200)) end",
     "stopped after 50 million instructions"},
    {"names_flood", "while true do g:tie((\"x\"):rep(1000), \"lm_head.weight\") end",
     "stopped after 50 million instructions"},
    {"segment_flood",
     "local t, s = {}, g:segments()[1] for i = 1, 1e6 do t[i] = s end "
     "while true do g:recompute(t) end",
     "stopped after 50 million instructions"},
    {"segment_number_flood",
     "g:staging{g:node(0), g:node(90)} local s = g:segments()[2] "
     "while true do local n = s.index + #s:inputs() + #g:segments() end",
     "stopped after 50 million instructions"},
    {"nearest_flood", "while true do pcall(g.op, g, \"no.such.op\") end",
     "stopped after 50 million instructions"},
    {"node_index", "g:nodes()[1].name = \"x\"", "a node is read-only: 'name'"},
    {"notes_flood",
     "while true do g:shard(\"no.\" .. math.random(1 << 40) .. \"*\", {[0] = \"dp\"}) end",
     "stopped after 50 million instructions"},
    {"partition_deep",
     "local function f(n) for _, s in ipairs(g:partition(n, n:algorithm(\"dim\"), {idx = 0, dim = "
     "0, num = 1})) do f(s) end end f(g:nodes()[30])",
     "'/transformer/h.0/attn/Softmax' is partitioned more than 8 times"},
    {"partition_num",
     "g:partition(g:nodes()[5], g:nodes()[5]:algorithm(\"dim\"), {idx = 0, dim = 0, num = 1 << "
     "62})",
     "'/transformer/Add': index dim d0 has 2 elements, which 4611686018427387904 does not "
     "divide"},
    {"pins_flood",
     "local t = g:params()[1] while true do g:unpin(t, 0) g:shard(t, {[0] = \"dp\"}) end",
     "stopped after 50 million instructions"},
    {"refused_flood", "while true do pcall(g.shard, g, \"lm_head.weight\", {[0] = \"nope\"}) end",
     "stopped after 50 million instructions"},
    {"returns_nothing", "return", "PAS must return the graph, but returned a nil"},
    {"returns_other", "return {}", "PAS must return the graph, but returned a table"},
    {"setmetatable_graph", "setmetatable(g, {})",
     "bad argument #1 to 'setmetatable' (table expected, got graph)"},
    {"shard_self", "local t = {} t[1] = t g:shard(t, {[0] = \"dp\"})",
     "expected a name, a tensor or a node, not a table"},
    {"shard_text", "g:shard(\"lm_head.weight\", \"dp\")", "expected a number, found 'd'"},
    {"sharding_flood", "while true do local s = g:nodes()[5]:output(0).shape end",
     "stopped after 50 million instructions"},
    {"yield_across", "coroutine.yield()", "attempt to yield from outside a coroutine"},
};

static SessionHooks hooks;

static Session *session_of_all;

static const char *write_policy(Arena *arena, const char *body)
{
    char *path = arena_alloc(arena, 64);
    snprintf(path, 64, "/tmp/hostileXXXXXX.lua");
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "\nfunction PAS(g, resource) %s\n end\n", body);
    fclose(file);
    return path;
}

static void run_policy(void **state)
{
    const HostileRow *row = *state;
    Arena *arena = arena_new();
    Session *session = session_of_all;
    const Plan *plan = session->plan;
    int n_done = session->journal.n_done;
    const char *path = write_policy(arena, row->script);
    Error err = {0};
    Change change = {.kind = CHANGE_POLICY, .text = path};
    bool ok = session_change(session, &change, &err);
    unlink(path);
    assert_false(ok);
    if (!begins_with(&err, row->want) || err.line != 2)
        fail_msg("line %d: %s, not '%s'", err.line, err.text, row->want);
    assert_ptr_equal(session->plan, plan);
    assert_int_equal(session->journal.n_done, n_done);
    assert_string_equal(session->options.policy, "megatron");
    arena_free(arena);
}

/* ---- the same in every run ---- */

typedef struct {
    const char *name, *script, *want; /* what it prints */
} SameRow;

static SameRow same_rows[] = {
    {"tables_have_numbers",
     "local a, b = {}, {} tostring(a) print(a, b, print, tostring(a) .. '!')",
     "table: 1\ttable: 2\tfunction: 3\ttable: 1!\n"},
    {"format_shows_no_address", "print(string.format('%5.1f|%-8s|%s|%%|%d', 1, {}, nil, 7))",
     "  1.0|table: 1|nil|%|7\n"},
    {"keys_of_every_kind",
     "local t = {[true] = 1, [false] = 2, b = 3, a = 4, [2] = 5, [-1] = 6, "
     "[0.5] = 7, [1 << 60] = 8} for k in pairs(t) do print(k) end",
     "false\ntrue\n-1\n0.5\n2\n1152921504606846976\na\nb\n"},
    {"next_is_in_order",
     "local t = {z = 1, y = 2, x = 3, 4} for k in next, t do print(k) end "
     "print(next({}), next({9}))",
     "1\nx\ny\nz\nnil\t1\t9\n"},
    {"next_after_a_key_that_is_gone", "print((next({a = 1, c = 2}, 'b')))", "c\n"},
    {"tables_as_keys_have_no_order", "print(pcall(pairs, {[{}] = 1, [{}] = 2}))",
     "false\ta table as a table key has no order: also keep a list of the keys\n"},
    {"sort_keeps_equals",
     "local t = {'b1', 'a1', 'b2', 'a2', 'b3'} "
     "table.sort(t, function(x, y) return x:sub(1, 1) < y:sub(1, 1) end) print(table.concat(t, ' "
     "'))",
     "a1 a2 b1 b2 b3\n"},
    {"sort_by_itself", "local t = {3, 1, 2, 10, -5} table.sort(t) print(table.concat(t, ' '))",
     "-5 1 2 3 10\n"},
    {"sort_of_mixed", "print(pcall(table.sort, {1, 'a'}))",
     "false\tattempt to compare string with number\n"},
    {"sort_that_contradicts_itself",
     "local t = {1, 2, 3, 4, 5} "
     "table.sort(t, function() return true end) print(table.concat(t, ' '))",
     "5 4 3 2 1\n"},
    {"a_seed_that_nobody_gave",
     "math.randomseed() local a = math.random(1 << 40) "
     "math.randomseed() print(a == math.random(1 << 40))",
     "true\n"},
};

static void print_text(void *listener, const char *file, int line, const char *text)
{
    (void)file, (void)line;
    buf_printf(listener, "%s\n", text);
}

static void run_same(void **state)
{
    const SameRow *row = *state;
    Error err = {0};
    Sandbox *sandbox = sandbox_new("same.lua");
    Buf said = buf_new(sandbox->arena);
    sandbox->source.text = str_from(row->script);
    sandbox->listener = &said;
    sandbox->print = print_text;
    if (!sandbox_run(sandbox, NULL, NULL, &err))
        fail_msg("%s", err.text);
    assert_string_equal(said.s, row->want);
    sandbox_free(sandbox);
}

/* ---- */

static void run_good(const char *body)
{
    Arena *arena = arena_new();
    Session *session = session_of_all;
    const char *path = write_policy(arena, body);
    Error err = {0};
    Change change = {.kind = CHANGE_POLICY, .text = path};
    bool ok = session_change(session, &change, &err);
    unlink(path);
    if (!ok)
        fail_msg("%s", err.text);
    Buf answer = buf_new(arena);
    change =
        (Change){.kind = CHANGE_CONSOLE, .text = "kept.label, kept == other", .answer = &answer};
    assert_true(session_change(session, &change, &err));
    assert_string_equal(answer.s, "lm_head.weight\ntrue\n");
    change = (Change){.kind = CHANGE_POLICY, .text = "megatron"};
    assert_true(session_change(session, &change, &err));
    arena_free(arena);
}

static void objects_are_keys_and_outlive_the_policy(void **state)
{
    (void)state;
    run_good("local seen, n = {}, 0 "
             "for _, node in ipairs(g:nodes()) do seen[node] = true end "
             "for _, node in ipairs(g:nodes()) do assert(seen[node]) end "
             "for node in pairs(seen) do n = n + 1 assert(node == g:nodes()[n]) end "
             "assert(n == #g:nodes()) "
             "kept = g:tensors('lm_head.weight')[1] "
             "for _, t in ipairs(g:params()) do if t == kept then other = t end end "
             "assert(other) return g");
}

static void bounds_grow_with_the_model(void **state)
{
    (void)state;
    Sandbox *sandbox = sandbox_new("p.lua");
    assert_int_equal(sandbox->instructions_max, 50000000);
    sandbox_scale(sandbox, 1000000);
    assert_int_equal(sandbox->instructions_max, 550000000);
    assert_int_equal(sandbox->bytes_max, (256 << 20) + 1024 * 1000000);
    sandbox_free(sandbox);
}

static const struct CMUnitTest other_tests[] = {
    cmocka_unit_test(objects_are_keys_and_outlive_the_policy),
    cmocka_unit_test(bounds_grow_with_the_model),
};

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Error err = {0};
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = "megatron"};
    hooks = scripts_hooks(scripts);
    session_of_all = session_open(&options, &hooks, &err);
    if (!session_of_all) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int failed = run_rows("script", script_rows, run_script);
    failed += run_rows("stop", slow_rows, stops_a_script);
    failed += run_rows("policy", policy_rows, run_policy);
    failed += run_rows("same", same_rows, run_same);
    failed += cmocka_run_group_tests(other_tests, NULL, NULL);
    session_close(session_of_all);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
