/* Lua: the sandbox, and operators of a script. */
#include "core/rules/registry.h"
#include "tests/unit/sandbox_text.h"

#include "core/session/session.h"
#include "scripts/register/lua_register.h"

static ScriptRow script_rows[] = {
    {"prints_become_notes", "print('a', 1)\nprint(nil)", "1: a\t1\n2: nil\n"},
    {"syntax_error", "local x = 1\nlocal = 2", "2: script: <name> expected near '='\n"},
    {"nil_index", "local t\nlocal function f() return t.x end\n\nf()",
     "2: script: attempt to index a nil value (upvalue 't'); called from line 4 in the file\n"},
    {"error_with_text", "error('no axis')", "1: script: no axis\n"},
    {"error_with_level", "local function f() error('bad', 2) end\n\nf()",
     "3: script: bad; called from line 3 in the file\n"},
    {"error_with_table", "error({})", "1: script: the error is a table, not a string\n"},
    {"argument_error_names_function", "\nstring.rep()",
     "2: script: bad argument #1 to 'string.rep' (string expected, got no value)\n"},
    {"endless_loop", "local i = 0\nwhile true do i = i + 1 end",
     "2: script: stopped after 50 million instructions [a loop that does not end?]\n"},
    {"endless_loop_of_pcall",
     "local function f() while true do end end\nwhile true do pcall(f) end",
     "2: script: stopped after 50 million instructions [a loop that does not end?]\n"},
    {"endless_loop_in_coroutine", "local f = coroutine.wrap(function() while true do end end)\nf()",
     "1: script: stopped after 50 million instructions [a loop that does not end?]\n"},
    {"endless_loop_of_long_calls",
     "local s = ('x'):rep(1000000)\nwhile true do local t = s:reverse() end",
     "2: script: stopped after 50 million instructions [a loop that does not end?]\n"},
    {"endless_handler",
     "while true do\n  xpcall(function() while true do end end, function() while true do end "
     "end)\nend",
     "2: script: stopped after 50 million instructions"},
    {"handler_after_the_error",
     "print(xpcall(function(a, b) return a + b, 7 end, print, 1, 2))\n"
     "print(xpcall(error, function(e) return 'H' .. e end, 'boom'))\n"
     "print(xpcall(error, function(e) error('again', 0) end, 'boom'))",
     "1: true\t3\t7\n2: false\tHboom\n3: false\tagain\n"},
    {"endless_close_of_a_coroutine",
     "local f = coroutine.wrap(function()\n"
     "  local x <close> = setmetatable({}, {__close = function() while true do end end})\n"
     "  while true do end\nend)\nf()",
     "3: script: stopped after 50 million instructions [a loop that does not end?]\n"},
    {"wrapped_coroutine",
     "local f = coroutine.wrap(function(a)\n  local b = coroutine.yield(a + 1)\n  error('bad ' .. "
     "b)\nend)\n"
     "print(f(1))\nprint(pcall(f, 5))\nprint(pcall(f))",
     "5: 2\n6: false\tp.lua:3: bad 5\n7: false\tcannot resume dead coroutine\n"},
    {"nothing_repeated", "print(#(''):rep(1 << 62), ('ab'):rep(3, '-'), (''):rep(3, 'x'))",
     "1: 0\tab-ab-ab\txx\n"},
    {"moves_of_nothing", "table.move({}, 1, 1 << 60, 2)", "1: script: too many elements to move\n"},
    {"lists_that_count_themselves",
     "local t = setmetatable({}, {__len = function() return 1 << 60 end})\n"
     "print(pcall(table.insert, t, 1, 0), pcall(table.remove, t, 1), pcall(table.sort, t, "
     "math.type))",
     "2: false\tfalse\tfalse\ta list with __len cannot be moved, joined or sorted\n"},
    {"long_plain_search", "(('a'):rep(1e6)):find(('a'):rep(5e5) .. 'b', 1, true)",
     "1: script: this search could take too long on a text of 1000000 characters\n"},
    {"first_line_for_a_shell", "#!/usr/bin/lua\nprint(2)", "2: 2\n"},
    {"ten_gigabyte_text", "\nlocal s = string.rep('x', 10000000000)",
     "2: script: resulting string too large\n"},
    {"one_gigabyte_text", "\nlocal s = string.rep('x', 1000000000)",
     "2: script: not enough memory: a script may use 256 MiB\n"},
    {"growing_text", "local s = 'x'\nwhile true do\n  s = s .. s\nend",
     "3: script: a string of a script can have at most 1 MiB\n"},
    {"growing_table", "local t = {}\nfor i = 1, 1e9 do\n  t[i] = {i}\nend",
     "3: script: not enough memory: a script may use 256 MiB\n"},
    {"endless_recursion", "local function f() return 1 + f() end\nf()",
     "1: script: stack overflow"},
    {"no_finalizers", "setmetatable({}, {__gc = function() end})",
     "1: script: a metatable may not have __gc here\n"},
    {"metatables", "print(setmetatable({}, {__index = {x = 7}}).x)", "1: 7\n"},
    {"slow_pattern", "print(('a?'):rep(25):len())\nlocal s = ('a'):rep(25):find(('a?'):rep(25))",
     "1: 50\n2: script: this pattern could take too long on a text of 25 characters\n"},
    {"long_pattern", "('x'):match(('y'):rep(129))",
     "1: script: a pattern can have at most 128 characters\n"},
    {"plain_find_has_no_pattern", "print(('a*+-b'):find('*+-', 1, true))", "1: 2\t4\n"},
    {"usual_patterns",
     "print(('transformer.h.11.mlp'):match('^transformer%.h%.(%d+)%.'))\n"
     "for word in ('a b c'):gmatch('%a+') do print(word) end\n"
     "print((('a.b.c'):gsub('%.', '/')))",
     "1: 11\n2: a\n2: b\n2: c\n3: a/b/c\n"},
    {"no_way_out",
     "print(io, os, debug, require, load, loadfile, dofile, collectgarbage, string.dump, warn)",
     "1: nil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\n"},
    {"pairs_in_order",
     "local t = {zeta = 1, alpha = 2, [2] = 3, [1] = 4, mid = 5, [1.5] = 6}\n"
     "for k, v in pairs(t) do print(k, v) end",
     "2: 1\t4\n2: 1.5\t6\n2: 2\t3\n2: alpha\t2\n2: mid\t5\n2: zeta\t1\n"},
    {"pairs_while_removing",
     "local t = {a = 1, b = 2, c = 3}\n"
     "for k in pairs(t) do t[k] = nil; t.b = nil; print(k) end",
     "2: a\n2: c\n"},
};

static void run_script(void **state)
{
    const ScriptRow *row = *state;
    Arena *arena = arena_new();
    Buf said = buf_new(arena);
    Error err = {0};
    Sandbox *sandbox = sandbox_with("dir/p.lua", row->script, &said);
    if (!sandbox_run(sandbox, NULL, NULL, &err))
        format_error(&err, &said);
    if (str_ends(str_from(row->want), STR("\n")))
        assert_string_equal(said.s, row->want);
    else
        assert_true(str_starts(buf_str(&said), str_from(row->want)));
    sandbox_free(sandbox);
    arena_free(arena);
}

static void bytecode_is_refused(void **state)
{
    (void)state;
    Error err = {0};
    Sandbox *sandbox = sandbox_with("p.lua", "\x1bLua", NULL);
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "binary"));
    assert_int_equal(err.kind, ERROR_SCRIPT);
    sandbox_free(sandbox);
}

static void a_place_has_line_and_caret(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    Sandbox *sandbox = sandbox_with("some/dir/p.lua", "local x\n    x()\n", NULL);
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    Buf text = buf_new(arena);
    error_format(&err, &text);
    assert_string_equal(text.s, "some/dir/p.lua:2:5: error: attempt to call a nil value (local "
                                "'x')\n      x()\n      ^\n");
    sandbox_free(sandbox);
    arena_free(arena);
}

static void random_numbers_are_those_of_every_run(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf said[2] = {buf_new(arena), buf_new(arena)};
    for (int i = 0; i < 2; i++) {
        const char *script = "for i = 1, 9 do print(math.random(1 << 30)) end";
        Sandbox *sandbox = sandbox_with("p.lua", script, &said[i]);
        assert_true(sandbox_run(sandbox, NULL, NULL, NULL));
        sandbox_free(sandbox);
    }
    assert_string_equal(said[0].s, said[1].s);
    arena_free(arena);
}

static void a_spent_sandbox_stays_spent(void **state)
{
    (void)state;
    Error err = {0}, again = {0};
    Sandbox *sandbox = sandbox_with("p.lua", "while true do end", NULL);
    assert_false(sandbox_run(sandbox, NULL, NULL, &err));
    sandbox_refill(sandbox);
    sandbox->source.text = STR("local x = 1");
    assert_false(sandbox_run(sandbox, NULL, NULL, &again));
    sandbox_free(sandbox);
}

/* ---- register_op ---- */

static Graph *custom_graph(Arena *arena, Registry *registry, Inferred **inferred)
{
    GraphBuilder *builder = graph_builder_new(arena, "custom.onnx");
    Graph *graph = graph_builder_graph(builder);
    graph->opset = 17;
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    DeclaredDim dims[] = {{24, 0}, {16, 0}};
    graph_add_input(builder, x, DT_F32, dims, 2);
    int32_t w = add_weight(builder, "w", 16, 48);
    int64_t sizes[] = {3, 4};
    Attr attrs[] = {{.name = names_intern(graph->names, STR("h")), .type = ATTR_INT, .i = 4},
                    {.name = names_intern(graph->names, STR("sizes")),
                     .type = ATTR_INTS,
                     .n = 2,
                     .ints = sizes}};
    graph_add_op(builder, STR("my::matmul_custom"), STR("op"), STR(""), (int32_t[]){x, w}, 2, &y, 1,
                 graph_add_attrs(builder, attrs, 2));
    graph_add_output(builder, y);
    Error err = {0};
    graph = graph_seal(builder, &err);
    assert_non_null(graph);
    DimBindings none = {0};
    *inferred = infer(arena, graph, registry, &none, true, &err);
    return graph;
}

/* The op space that the script's operator gives the node, or what the findings say. */
static ScriptRow operator_rows[] = {
    {"annotation", "register_op('(h m) kd+, kd+ n -> h m n', {name = 'my::matmul_custom'})",
     "(h m) kd+, kd+ n -> h m n | 4,6,48 | 36864"},
    {"first_candidate_that_fits",
     "register_op({'a -> a', 'a k^, k^ b -> a b'}, {name = 'my::matmul_custom'})",
     "a k^, k^ b -> a b | 24,48 | 18432"},
    {"flops_per_point",
     "register_op('a k+, k+ b -> a b', {name = 'my::matmul_custom', flops_per_point = 3})",
     "a k+, k+ b -> a b | 24,48 | 55296"},
    {"function",
     "register_op(function(inputs, kwargs)\n"
     "assert(#inputs == 2 and inputs[1].is_tensor and inputs[1].dtype == 'f32')\n"
     "assert(kwargs.h == 4 and kwargs.sizes[2] == 4)\n"
     "return ('a %d^, %d^ b -> a b'):format(inputs[1].shape[2], inputs[2].shape[1])\n"
     "end, {name = 'my::matmul_custom'})",
     "a 16, 16 b -> a b | 24,48 | 1152"},
    {"function_that_fails",
     "register_op(function(inputs)\nreturn inputs[3].shape end, {name = 'my::matmul_custom'})",
     "attempt to index a nil value (field 'integer index')"},
    {"function_without_an_answer", "register_op(function() end, {name = 'my::matmul_custom'})",
     "the annotation function returned a nil, not a string"},
    {"function_without_an_end",
     "register_op(function() while true do end end, {name = 'my::matmul_custom'})",
     "stopped after 50 million instructions"},
};

static void register_operator(void **state)
{
    const ScriptRow *row = *state;
    Arena *arena = arena_new();
    RuleBook rules = rule_book_new(arena);
    Buf out = buf_new(arena);
    Error err = {0};
    Sandbox *sandbox = sandbox_with("p.lua", row->script, &out);
    assert_true(register_run(sandbox, &rules, &err));
    Inferred *inferred;
    custom_graph(arena, rules.registry, &inferred);
    assert_non_null(inferred);
    const OpSpace *space = inferred_space(inferred, 0);
    assert_non_null(space);
    if (space->no_rule) {
        assert_true(inferred->findings.n > 0);
        const Finding *finding = &inferred->findings.at[0];
        if (!strstr(finding->text, row->want) && !strstr(finding->hint, row->want))
            fail_msg("%s [%s]", finding->text, finding->hint);
    } else {
        opspace_format(space, &out);
        buf_puts(&out, " | ");
        shape_format(&opspace_output(space, 0)->shape, &out);
        buf_printf(&out, " | %.0f", space->flops);
        assert_string_equal(out.s, row->want);
    }
    sandbox_free(sandbox);
    arena_free(arena);
}

static const struct CMUnitTest sandbox_tests[] = {
    cmocka_unit_test(bytecode_is_refused),
    cmocka_unit_test(a_place_has_line_and_caret),
    cmocka_unit_test(random_numbers_are_those_of_every_run),
    cmocka_unit_test(a_spent_sandbox_stays_spent),
};

int main(void)
{
    return run_rows("script", script_rows, run_script) +
           cmocka_run_group_tests(sandbox_tests, NULL, NULL) +
           run_rows("operator", operator_rows, register_operator);
}
