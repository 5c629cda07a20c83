/* What a half typed line of Lua can become: rows of what is typed and all that is offered then. */
#include "tests/unit/screen.h"

#include "tui/app/console_complete.h"
#include "tui/state/lua_typed.h"

/* ---- the end of a line ---- */

typedef struct {
    const char *name, *typed, *want;
} TypeRow;

static TypeRow type_rows[] = {
    {"the_graph", "g", "graph"},
    {"by_its_name", "graph", "graph"},
    {"what_a_method_gives", "g:op('a.b')", "node"},
    {"one_of_a_list", "g:nodes()[1]", "node"},
    {"a_list", "g:nodes()", "node[]"},
    {"a_field", "g:op('a(').out", "tensor[]"},
    {"one_of_a_field", "g:op('a').out[1]", "tensor"},
    {"a_long_way", "g:op('a').out[1]:producer():input(0)", "tensor"},
    {"the_mesh", "resource.mesh", "mesh"},
    {"a_type_s_name", "node", "node"},
    {"behind_something_else", "x = 1 + g:op('a')", "node"},
    {"a_name_of_somebody", "x", ""},
    {"a_method_that_is_none", "g:nodez()", ""},
};

static void types(void **state)
{
    const TypeRow *row = *state;
    Arena *arena = arena_new();
    Str type =
        lua_typed_type(hooks.rows(hooks.context, arena), lua_typed_value(str_from(row->typed)));
    if (!str_eq(type, str_from(row->want)))
        fail_msg("'%.*s', not '%s'", STR_ARG(type), row->want);
    arena_free(arena);
}

/* ---- lines that run elsewhere ---- */

typedef struct {
    const char *name, *line;
    bool want;
} AloneRow;

static AloneRow alone_rows[] = {
    {"a_call", "g:shard('lm_head.weight', {[1] = 'tp', n = {axis = 'dp', unit = 2}})", true},
    {"two_calls", "g:pin('a', {}) graph:unpin(\"b\")", true},
    {"a_loop", "for i, n in ipairs(g:select{name = 'MatMul'}) do g:replicate(n, 2 * i) end", true},
    {"a_local", "local t = 'tp' g:pin('a', {[0] = t})", true},
    {"a_function_of_its_own", "g:where(function(n) return n.us > 1e3 end)", false},
    {"a_remark", "g:pin('a', {}) -- return x", true},
    {"a_text_with_marks", "g:pin('a\\'b', {[0] = \"x, y\"})", true},
    {"what_another_line_set", "g:pin('a', {[0] = t})", false},
    {"a_function_of_another_line", "cut(g, 'a')", false},
    {"it_sets_a_global", "t = 'tp' g:pin('a', {})", false},
    {"an_answer", "=g:pin('a', {})", false},
    {"an_answer_in_words", "return g:pin('a', {})", false},
    {"two_answers", "g:pin('a', {}), 1", false},
    {"nothing", " ", false},
};

static void stands_alone(void **state)
{
    const AloneRow *row = *state;
    assert_int_equal(lua_typed_stands_alone(str_from(row->line)), row->want);
}

/* ---- what is offered ---- */

typedef struct {
    const char *name, *typed, *want; /* all of them, with blanks between; "~": these among others */
} OfferRow;

static OfferRow rows[] = {
    {"methods_of_the_graph", "g:un", "unpin unreduced unmark"},
    {"by_its_other_name", "graph:un", "unpin unreduced unmark"},
    {"methods_of_a_node", "g:op('lm_head'):alg", "algorithm algorithms"},
    {"no_method_of_the_graph_for_a_node", "g:op('lm_head'):sha", ""},
    {"methods_of_a_segment", "segment:n", "nodes"},
    {"methods_of_a_tensor", "g:op('lm_head').out[1]:", "~consumers producer"},
    {"fields_of_a_tensor", "g:op('lm_head').out[1].sh", "shape sharding"},
    {"of_a_node_s_name", "for i, node in ipairs(g:nodes()) do node:inp", "inputs input"},
    {"of_nobody_knows_what", "x:cons", "consumers"},
    {"of_the_devices", "resource.", "ngpus mesh options trains notes"},
    {"axes_of_the_mesh", "resource.mesh.", "dp tp"},
    {"a_global", "gra", "graph"},
    {"nothing_at_all", "", ""},
    {"in_a_remark", "1 -- g:sh", ""},
    {"a_bracket_too_many", "g:sh)", ""},

    {"names_by_level", "g:shard(\"", "input_ids attention_mask transformer lm_head"},
    {"of_a_module", "g:shard(\"transformer.h.",
     "transformer.h.in transformer.h.out transformer.h.0 transformer.h.1"},
    {"a_module_that_is_typed", "g:op('transformer.h.0.mlp",
     "transformer.h.0.mlp.in transformer.h.0.mlp.out transformer.h.0.mlp.c_fc "
     "transformer.h.0.mlp.act transformer.h.0.mlp.c_proj"},
    {"its_parts", "g:shard(\"lm_head.", "lm_head.weight lm_head.in lm_head.out"},
    {"the_graph_s_own_name", "g:op(\"/lm_h", "/lm_head"},
    {"and_what_is_beneath", "g:op(\"/lm_head/", "/lm_head/MatMul"},
    {"a_pattern", "g:shard(\"transformer.h.*.ml", "names in patterns are not completed"},
    {"a_choice", "g:shard(\"transformer.h.{0,", "names in patterns are not completed"},
    {"no_such_name", "g:shard(\"transformer.x", ""},

    {"dims_of_a_tensor", "g:shard(\"lm_head.weight\", {", "b s k n [0] [1]"},
    {"of_a_pattern_s_first", "g:shard('transformer.h.*.mlp.c_fc.weight', {", "m k n [0] [1]"},
    {"of_an_input", "g:pin('input_ids', {", "~[0] [1]"},
    {"of_the_second_cut", "g:pin('lm_head.weight', {n = 'tp', ", "b s k n [0] [1]"},
    {"that_begin_so", "g:pin('lm_head.weight', {[1", "[1]"},
    {"of_no_tensor", "g:shard('no.such', {", "no tensor has that name"},
    {"an_axis", "g:shard(\"lm_head.weight\", {n = \"", "dp tp"},
    {"an_axis_with_its_marks", "g:shard(\"lm_head.weight\", {n = ", "\"dp\" \"tp\""},
    {"of_a_list", "g:shard(\"lm_head.weight\", {[0] = {\"dp\", \"", "dp tp"},
    {"an_option_of_a_cut", "g:shard(\"lm_head.weight\", {[0] = {in", "interleave"},
    {"the_axis_of_a_cut", "g:shard(\"lm_head.weight\", {[0] = {axis = \"t", "tp"},
    {"no_part_of_a_prime", "g:shard(\"lm_head.weight\", {n = \"tp:", ""},
    {"an_axis_of_a_call", "g:replicated(\"lm_head.weight\", \"", "dp tp"},
    {"an_axis_that_is_asked_for", "g:reshards{axis = \"", "dp tp"},
    {"where_ops_run", "g:assign(g:op('lm_head'), {", "dp tp"},
    {"of_a_partition", "g:partition(g:op('lm_head'), g:op('lm_head'):algorithm('dim'), {axis = '",
     "dp tp"},
    {"fields_of_a_partition", "g:partition(node, node:algorithm('dim'), {", "~idx dim num axis"},
    {"the_one_algorithm", "node:algorithm('", "dim"},
    {"the_texts_of_a_type", "g:barrier('lm_head.out', '", "none forward backward"},
    {"schedules", "g:schedule(\"1f", "1f1b 1f1b_interleaved 1f1b_plus"},
    {"schedules_with_their_marks", "g:schedule(", "~\"1f1b\" \"gpipe\""},
};

static void put_offered(App *app, const char *typed, Buf *out)
{
    Completions all = console_complete_find(&app->ui, str_from(typed));
    for (int i = 0; i < all.words.n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? " " : "", STR_ARG(all.words.at[i].text));
    buf_puts(out, all.none ? all.none : "");
}

static void offers(void **state)
{
    const OfferRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_tiny();
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    Buf got = buf_new(arena);
    put_offered(app, row->typed, &got);
    Str want = str_from(row->want);
    bool some = str_starts(want, STR("~"));
    if (!some && !str_eq(buf_str(&got), want))
        fail_msg("'%s' offers '%s'", row->typed, got.n ? got.s : "");
    for (Str rest = {want.s + 1, want.n - 1}; some && rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        if (!str_has_word(buf_str(&got), word))
            fail_msg("'%s' offers '%s'", row->typed, got.n ? got.s : "");
    }
    app_free(app);
    session_close(session);
    arena_free(arena);
}

static void parts_of_an_axis(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=8"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    Buf got = buf_new(arena);
    put_offered(app, "g:shard('lm_head.weight', {n = 'tp:", &got);
    assert_string_equal(got.s, "tp:(1)2 tp:(1)4 tp:(2)2 tp:(2)4 tp:(4)2");
    app_free(app);
    session_close(session);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_of_an_axis)};
    open_scripts(NULL);
    int failed = run_rows("types", type_rows, types) + run_rows("offers", rows, offers) +
                 run_rows("alone", alone_rows, stands_alone) +
                 cmocka_run_group_tests_name("axes", tests, NULL, NULL);
    close_scripts(NULL);
    return failed;
}
