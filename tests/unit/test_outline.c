#include "tests/unit/unit.h"
#include "tests/unit/graph_lines.h"

#include "tui/state/outline.h"
#include "tui/views/graph/rail.h"

#include <stdio.h>

/* Three layers of the same kind around a residual, a group of one op, a chain of groups, an input.
 */
static const char layers[] = "in x\n"
                             "@wte:emb Gather x -> r0\n"
                             "@h.0.ln:l0 LN r0 -> a0\n@h.0.mlp.fc:f0 MatMul a0 -> b0\n"
                             "@h.0.mlp.act:g0 Gelu b0 -> c0\n@h.0:s0 Add r0 c0 -> r1\n"
                             "@h.1.ln:l1 LN r1 -> a1\n@h.1.mlp.fc:f1 MatMul a1 -> b1\n"
                             "@h.1.mlp.act:g1 Gelu b1 -> c1\n@h.1:s1 Add r1 c1 -> r2\n"
                             "@h.2.ln:l2 LN r2 -> a2\n@h.2.mlp.fc:f2 MatMul a2 -> b2\n"
                             "@h.2.mlp.act:g2 Gelu b2 -> c2\n@h.2:s2 Add r2 c2 -> r3\n"
                             "@head:out MatMul r3 -> y\nout y";

typedef struct {
    Arena *arena;
    const Graph *graph;
    Groups *groups;
    Outline *outline;
    Inferred inferred;
} Case;

/* odd: an op of the same structure whose signature is its own: its layer is no member of the fold.
 */
static Groups *group_ops(Arena *arena, const Graph *graph, const char *odd)
{
    int32_t *shown = arena_array(arena, int32_t, graph->n_ops);
    int32_t *signature = arena_array(arena, int32_t, graph->n_ops);
    int32_t *structure = arena_array(arena, int32_t, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        shown[op] = op;
        structure[op] = signature[op] = graph->ops[op].op_type;
        if (odd && strcmp(op_name(graph, op), odd) == 0)
            signature[op] = -1;
    }
    return groups_build(arena, graph, shown, graph->n_ops, signature, odd ? structure : signature);
}

static Case case_open(const char *lines)
{
    Case c = {.arena = arena_new()};
    Buf text = buf_new(c.arena);
    Error err = {0};
    /* "@path:name" is short for "@path name:". */
    for (const char *s = lines; *s; s++) {
        bool at_name = *s == ':';
        buf_putc(&text, at_name ? ' ' : *s);
        while (at_name && s[1] != ' ')
            buf_putc(&text, *++s);
        if (at_name) {
            buf_putc(&text, ':');
            s++;
        }
    }
    c.graph = build_lines(c.arena, text.s, &err);
    assert_string_equal(err.text, "");
    c.groups = group_ops(c.arena, c.graph, NULL);
    c.outline = outline_new(c.arena);
    outline_set(c.outline, c.graph, c.groups);
    c.inferred = (Inferred){.graph = c.graph, .arena = c.arena};
    c.inferred.values = arena_array(c.arena, const Value **, c.graph->n_tensors / VALUE_PAGE + 1);
    c.inferred.space = arena_array(c.arena, int32_t, c.graph->n_ops);
    c.inferred.on_parameters = arena_array(c.arena, bool, c.graph->n_ops);
    return c;
}

static void case_close(Case *c)
{
    outline_free(c->outline);
    arena_free(c->arena);
}

static int32_t find_op(const Case *c, const char *name)
{
    int32_t op = graph_find_op(c->graph, str_from(name));
    assert_true(op >= 0);
    return op;
}

/* "h[0..2] x3 -" a line each: indent, label, xN, "-" open, "+" closed. */
static const char *listed(Case *c)
{
    Buf out = buf_new(c->arena);
    OutlineRow row;
    int64_t n = outline_n_rows(c->outline);
    for (int64_t i = 0; outline_at(c->outline, i, &row); i++) {
        assert_true(i < n);
        buf_printf(&out, "%*s", row.depth, "");
        outline_label(c->outline, &row, &out);
        if (row.fold_n > 1)
            buf_printf(&out, " x%d%s", row.fold_n, row.mixed ? "?" : "");
        if (row.kind == ROW_GROUP)
            buf_puts(&out, row.open ? " -" : " +");
        buf_putc(&out, '\n');
    }
    return out.s;
}

/* ---- rows by what is open ---- */

typedef struct {
    const char *name;
    int depth;          /* groups opened at first */
    const char *reveal; /* then this op; NULL: none */
    const char *want;
} OpenRow;

static OpenRow rows[] = {
    {"all closed", 0, NULL, "x\nwte\nh[0..2] x3 +\nhead\n"},
    {"layers open", 3, NULL, "x\nwte\nh[0..2] x3 -\n ln\n mlp +\n s0\nhead\n"},
    {"all open", 9, NULL, "x\nwte\nh[0..2] x3 -\n ln\n mlp -\n  fc\n  act\n s0\nhead\n"},
    {"the first member's op needs no list", 0, "f0",
     "x\nwte\nh[0..2] x3 -\n ln\n mlp -\n  fc\n  act\n s0\nhead\n"},
    {"another member's op lists them", 0, "f1",
     "x\nwte\nh.0 +\nh.1 -\n ln\n mlp -\n  fc\n  act\n s1\nh.2 +\nhead\n"},
    {"members that were open together are closed", 9, "s2",
     "x\nwte\nh.0 +\nh.1 +\nh.2 -\n ln\n mlp -\n  fc\n  act\n s2\nhead\n"},
};

static void rows_are(void **state)
{
    const OpenRow *row = *state;
    Case c = case_open(layers);
    outline_depth(c.outline, row->depth);
    if (row->reveal)
        outline_reveal(c.outline, find_op(&c, row->reveal));
    assert_string_equal(listed(&c), row->want);
    if (row->reveal) {
        OutlineRow found;
        bool exact;
        int32_t op = find_op(&c, row->reveal);
        assert_true(outline_at(c.outline, outline_find(c.outline, op, &exact), &found));
        assert_true(exact);
        assert_int_equal(found.id, op);
    }
    case_close(&c);
}

/* ---- layers that are alike but for a sharding; filters ---- */

typedef struct {
    const char *name;
    const char *odd;    /* an op whose structure is as the others', and whose sharding is not */
    int depth;          /* groups opened at first */
    const char *reveal; /* then this op; NULL: none */
    const char *filter; /* then only ops with this letter in their name; NULL: all */
    const char *want;
} ClassRow;

static ClassRow class_rows[] = {
    {"one row", "f1", 0, NULL, NULL, "x\nwte\nh[0..2] x3? +\nhead\n"},
    {"opened to its classes", "f1", 3, NULL, NULL,
     "x\nwte\nh.0 -\n ln\n mlp +\n s0\nh.1 -\n ln\n mlp +\n s1\nh.2 -\n ln\n mlp +\n s2\nhead\n"},
    {"classes with members", "f2", 3, NULL, NULL,
     "x\nwte\nh[0..1] x2 -\n ln\n mlp +\n s0\nh.2 -\n ln\n mlp +\n s2\nhead\n"},
    {"an op in one opens the row", "f2", 0, "f2", NULL,
     "x\nwte\nh[0..1] x2 +\nh.2 -\n ln\n mlp -\n  fc\n  act\n s2\nhead\n"},
    {"an op in the first of a class", "f2", 0, "f0", NULL,
     "x\nwte\nh[0..1] x2 -\n ln\n mlp -\n  fc\n  act\n s0\nh.2 +\nhead\n"},
    {"a filter opens what passes", NULL, 0, NULL, "f", "h[0..2] x3 -\n mlp -\n  fc\n"},
    {"groups without such an op are gone", NULL, 9, NULL, "out", "head\n"},
    {"members that differ are listed", NULL, 0, NULL, "1",
     "h.1 -\n ln\n mlp -\n  fc\n  act\n s1\n"},
    {"classes are listed", "f1", 0, NULL, "f",
     "h.0 -\n mlp -\n  fc\nh.1 -\n mlp -\n  fc\nh.2 -\n mlp -\n  fc\n"},
};

static void filter_by(Case *c, const char *letter)
{
    const Groups *groups = outline_groups(c->outline);
    int32_t *pass = arena_array(c->arena, int32_t, groups->n_order + 1);
    for (int32_t i = 0; i < groups->n_order; i++)
        pass[i + 1] = pass[i] + (strstr(op_name(c->graph, groups->order[i]), letter) != NULL);
    outline_filter(c->outline, pass, NULL, 0);
}

/* Every row is found at its place, from any start, by its op as well. */
static void check_rows(Case *c)
{
    OutlineRow row, again;
    for (int64_t i = 0; outline_at(c->outline, i, &row); i++) {
        assert_int_equal(outline_find_row(c->outline, &row), i);
        if (row.kind == ROW_OP)
            assert_int_equal(outline_find(c->outline, row.op, NULL), i);
        int64_t parent = outline_parent(c->outline, i);
        if (parent >= 0) {
            assert_true(outline_at(c->outline, parent, &again));
            assert_int_equal(again.depth, row.depth - 1);
        }
    }
}

static void classes_are(void **state)
{
    const ClassRow *row = *state;
    Case c = case_open(layers);
    outline_set(c.outline, c.graph, group_ops(c.arena, c.graph, row->odd));
    outline_depth(c.outline, row->depth);
    if (row->reveal)
        outline_reveal(c.outline, find_op(&c, row->reveal));
    const char *before = listed(&c);
    if (row->filter)
        filter_by(&c, row->filter);
    assert_string_equal(listed(&c), row->want);
    check_rows(&c);
    outline_filter(c.outline, NULL, NULL, 0);
    assert_string_equal(listed(&c), before);
    case_close(&c);
}

static void folds_can_be_off(void **state)
{
    (void)state;
    Case c = case_open(layers);
    outline_depth(c.outline, 0);
    outline_set_folds(c.outline, false);
    assert_string_equal(listed(&c), "x\nwte\nh.0 +\nh.1 +\nh.2 +\nhead\n");
    outline_set_folds(c.outline, true);
    assert_string_equal(listed(&c), "x\nwte\nh[0..2] x3 +\nhead\n");
    case_close(&c);
}

/* By the last letter of what a row hands on: s before h, f before a. */
static double name_key(const void *context, const OutlineRow *row)
{
    const Case *c = context;
    int32_t place = row->first + row->n / row->fold_n - 1;
    return op_name(c->graph, outline_groups(c->outline)->order[place])[0];
}

static void rows_are_sorted_in_their_groups(void **state)
{
    (void)state;
    Case c = case_open(layers);
    outline_sort(c.outline, name_key, &c);
    outline_depth(c.outline, 9);
    assert_string_equal(listed(&c), "x\nh[0..2] x3 -\n s0\n ln\n mlp -\n  act\n  fc\nhead\nwte\n");
    check_rows(&c);
    filter_by(&c, "1");
    assert_string_equal(listed(&c), "h.1 -\n s1\n ln\n mlp -\n  act\n  fc\n");
    check_rows(&c);
    outline_filter(c.outline, NULL, NULL, 0);
    outline_depth(c.outline, 0);
    assert_string_equal(listed(&c), "x\nh[0..2] x3 +\nhead\nwte\n");
    outline_reveal(c.outline, find_op(&c, "g2"));
    assert_string_equal(listed(&c),
                        "x\nh.0 +\nh.1 +\nh.2 -\n s2\n ln\n mlp -\n  act\n  fc\nhead\nwte\n");
    check_rows(&c);
    outline_sort(c.outline, NULL, NULL);
    assert_string_equal(listed(&c),
                        "x\nwte\nh.0 +\nh.1 +\nh.2 -\n ln\n mlp -\n  fc\n  act\n s2\nhead\n");
    case_close(&c);
}

static void the_largest_class_is_the_rule(void **state)
{
    (void)state;
    Case c = case_open(layers);
    OutlineRow row;
    int members[4];
    int32_t main;
    outline_set(c.outline, c.graph, group_ops(c.arena, c.graph, "f0"));
    outline_depth(c.outline, 0);
    assert_true(outline_at(c.outline, 2, &row));
    assert_true(row.mixed);
    assert_int_equal(outline_classes(c.outline, row.head, members, 4, &main), 2);
    assert_int_equal(members[0], 2);
    assert_int_equal(members[1], 1);
    const Groups *groups = outline_groups(c.outline);
    assert_string_equal(groups->groups[main].path, "h.1");
    assert_int_equal(groups_difference(groups, main, row.head), 1);
    case_close(&c);
}

/* ---- names of folds ---- */

typedef struct {
    const char *name, *lines, *want;
} NameRow;

static NameRow name_rows[] = {
    {"numbered", "in x\n@h.0 A x -> a\n@h.1 A a -> b", "x\nh[0..1] x2\n"},
    {"number inside", "in x\n@layer_8_ A x -> a\n@layer_9_ A a -> b\n@layer_10_ A b -> c",
     "x\nlayer_[8..10]_ x3\n"},
    {"blocks found by repetition",
     "in x\nG x -> a\nLN a -> b\nAdd b a -> c\nLN c -> d\nAdd d c -> e\nH e -> h\nout h",
     "x\nG_0\nblock[0..1] x2 +\nH_5\n"},
    {"a chain of groups is one row", "in x\n@a.b.c A x -> p\n@a.b.c B p -> q", "x\na.b.c +\n"},
    {"a list beside other ops", "in x\n@h A x -> p\n@h.0 B p -> q\n@h.1 B q -> r",
     "x\nh -\n A_0\n [0..1] x2\n"},
};

static void folds_are_named(void **state)
{
    const NameRow *row = *state;
    Case c = case_open(row->lines);
    outline_depth(c.outline, 2);
    OutlineRow first;
    if (strstr(row->want, " +"))
        outline_depth(c.outline, 0);
    assert_true(outline_at(c.outline, 0, &first));
    assert_string_equal(listed(&c), row->want);
    case_close(&c);
}

/* ---- the rail ---- */

static const char *rail_text(Case *c, bool ascii)
{
    enum { ROWS = 32 };
    OutlineRow at[ROWS];
    RailRow lanes[ROWS];
    Rail *rail = rail_new(c->arena);
    Buf out = buf_new(c->arena);
    int n = outline_rows(c->outline, 0, ROWS, at);
    rail_rows(rail, &c->inferred, c->outline, 0, n, lanes);
    Grid *grid = grid_new(c->arena, 24, n, ascii);
    for (int i = 0; i < n; i++) {
        Pen pen = pen_new(grid, (Rect){0, i, 24, 1});
        Buf label = buf_new(c->arena);
        rail_draw(&lanes[i], at[i].kind == ROW_GROUP ? 0x25b8 : 0x25cf, 10, &pen);
        outline_label(c->outline, &at[i], &label);
        pen_put(&pen, ROLE_TEXT, buf_str(&label));
    }
    grid_format(grid, &out);
    return out.s;
}

typedef struct {
    const char *name, *lines;
    int depth;
    const char *want, *want_ascii; /* NULL: not looked at */
} RailCase;

static RailCase rail_rows_of[] = {
    {"a residual keeps lane 0", layers, 9,
     "●         x\n"
     "●         wte\n"
     "▸         h[0..2]\n"
     "├─●       ln\n"
     "│ ▸       mlp\n"
     "│ ●       fc\n"
     "│ ●       act\n"
     "●─╯       s0\n"
     "●         head\n",
     "*         x\n"
     "*         wte\n"
     ">         h[0..2]\n"
     "+-*       ln\n"
     "| >       mlp\n"
     "| *       fc\n"
     "| *       act\n"
     "*-'       s0\n"
     "*         head\n"},
    {"a closed group hands on what leaves it", layers, 0,
     "●         x\n●         wte\n▸         h[0..2]\n●         head\n", NULL},
    {"three from one",
     "in x\n@n N x -> a\n@q Q a -> q\n@k K a -> k\n@v V a -> v\n@c C q k v -> o\n@s S x o -> y", 1,
     "●         x\n"
     "├─●       n\n"
     "│ ├─●     q\n"
     "│ ├─┼─●   k\n"
     "│ ● │ │   v\n"
     "│ ●─┴─╯   c\n"
     "●─╯       s\n",
     NULL},
    {"several outputs", "in x\n@s Split x -> a b c\n@j J a b c -> y", 1,
     "●         x\n●─┬─╮     s\n●─┴─╯     j\n", NULL},
    {"more than there is room for",
     "in x\n@s S x -> a b c d e f\n@t T f -> g\n@j J a b c d e g -> y", 1,
     "●         x\n●─┬─┬─┬─⋯2s\n│ │ │ │ ⋯2t\n●─┴─┴─┴─⋯2j\n", NULL},
    {"a value read by many has no lane",
     "in x\n@m M x -> m\n@a A m m -> a\n@b A m -> b\n@c A m -> c\n@d A m -> d\n@e A m -> e\n"
     "@f A m -> f\n@g A m -> g\n@h A m -> h",
     1,
     "●         x\n●         m\n●         a\n●         b\n●         c\n●         d\n●         e\n"
     "●         f\n●         g\n●         h\n",
     NULL},
};

static void rail_is(void **state)
{
    const RailCase *row = *state;
    Case c = case_open(row->lines);
    outline_depth(c.outline, row->depth);
    assert_string_equal(rail_text(&c, false), row->want);
    if (row->want_ascii)
        assert_string_equal(rail_text(&c, true), row->want_ascii);
    case_close(&c);
}

static void a_selected_value_is_followed(void **state)
{
    enum { ROWS = 9 };
    (void)state;
    Case c = case_open(layers);
    RailRow lanes[ROWS];
    Rail *rail = rail_new(c.arena);
    outline_depth(c.outline, 9);
    rail_select(rail, graph_find_tensor(c.graph, STR("r0")));
    rail_rows(rail, &c.inferred, c.outline, 0, ROWS, lanes);
    for (int i = 0; i < ROWS; i++) /* from its maker in row 1 to its last reader in row 7 */
        assert_int_equal(lanes[i].selected, i >= 1 && i <= 7 ? 1 : 0);
    rail_select(rail, -1);
    rail_rows(rail, &c.inferred, c.outline, 0, ROWS, lanes);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(lanes[i].selected, 0);
    case_close(&c);
}

/* ---- the rest ---- */

static void open_groups_survive_new_groups(void **state)
{
    (void)state;
    Case c = case_open(layers);
    outline_depth(c.outline, 3);
    outline_detach(c.outline);
    outline_set(c.outline, c.graph, group_ops(c.arena, c.graph, "g1"));
    assert_string_equal(listed(&c), "x\nwte\nh.0 -\n ln\n mlp +\n s0\nh.1 -\n ln\n mlp +\n s1\n"
                                    "h.2 -\n ln\n mlp +\n s2\nhead\n");
    case_close(&c);
}

static void a_folded_row_stands_for_all_its_members(void **state)
{
    (void)state;
    Case c = case_open(layers);
    int32_t *ops;
    int n = outline_equals(c.outline, c.arena, find_op(&c, "f0"), &ops);
    assert_int_equal(n, 3);
    assert_int_equal(ops[1], find_op(&c, "f1"));
    assert_int_equal(outline_shown_op(c.outline, find_op(&c, "f2")), find_op(&c, "f0"));
    assert_int_equal(outline_last_op(c.outline, find_op(&c, "f0")), find_op(&c, "f2"));
    outline_reveal(c.outline, find_op(&c, "f1"));
    assert_int_equal(outline_equals(c.outline, c.arena, find_op(&c, "f0"), &ops), 1);
    case_close(&c);
}

static void parents_lead_up(void **state)
{
    (void)state;
    Case c = case_open(layers);
    outline_depth(c.outline, 9);
    int64_t fc = outline_find(c.outline, find_op(&c, "f0"), NULL);
    int64_t mlp = outline_parent(c.outline, fc);
    assert_int_equal(mlp, fc - 1);
    assert_int_equal(outline_parent(c.outline, mlp), mlp - 2);
    assert_int_equal(outline_parent(c.outline, mlp - 2), -1);
    case_close(&c);
}

/* Whatever is open, a row is found at its own place again, from any start. */
static void every_row_is_found_where_it_is(void **state)
{
    (void)state;
    for (int depth = 0; depth < 6; depth++) {
        Case c = case_open(layers);
        outline_depth(c.outline, depth);
        OutlineRow row;
        for (int64_t i = 0; outline_at(c.outline, i, &row); i++)
            assert_int_equal(outline_find_row(c.outline, &row), i);
        case_close(&c);
    }
}

/* Rows after a page and checkpoints are drawn as when they are reached from above. */
static void a_jump_draws_what_a_walk_draws(void **state)
{
    enum { OPS = 9000, STEP = 37 };
    (void)state;
    Arena *arena = arena_new();
    Buf lines = buf_new(arena);
    buf_puts(&lines, "in t0\n");
    for (int i = 0; i < OPS; i++)
        buf_printf(&lines, "A t%d t%d -> t%d\n", i, i > 5 ? i - i % 5 : 0, i + 1);
    Case c = case_open(lines.s);
    outline_depth(c.outline, 9);
    Rail *walk = rail_new(arena), *jump = rail_new(arena);
    for (int64_t i = 0; i + STEP < outline_n_rows(c.outline); i += STEP) {
        RailRow a[STEP], b[STEP];
        rail_rows(walk, &c.inferred, c.outline, i, STEP, a);
        jump = rail_new(c.arena);
        rail_rows(jump, &c.inferred, c.outline, i, STEP, b);
        assert_memory_equal(a, b, sizeof a);
    }
    case_close(&c);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_groups_survive_new_groups),
        cmocka_unit_test(a_folded_row_stands_for_all_its_members),
        cmocka_unit_test(parents_lead_up),
        cmocka_unit_test(a_selected_value_is_followed),
        cmocka_unit_test(folds_can_be_off),
        cmocka_unit_test(rows_are_sorted_in_their_groups),
        cmocka_unit_test(the_largest_class_is_the_rule),
        cmocka_unit_test(every_row_is_found_where_it_is),
        cmocka_unit_test(a_jump_draws_what_a_walk_draws),
    };
    return run_rows("rows", rows, rows_are) + run_rows("classes", class_rows, classes_are) +
           run_rows("names", name_rows, folds_are_named) + run_rows("rail", rail_rows_of, rail_is) +
           cmocka_run_group_tests_name("outline", tests, NULL, NULL);
}
