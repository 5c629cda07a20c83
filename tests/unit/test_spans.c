/* Colours say what the plan says: axes may be called by any word of the screen, and no other word
 * takes their colour. */
#include "tests/unit/screen.h"

#include "core/base/file.h"
#include "core/base/span.h"
#include "viz/dot.h"
#include "viz/export.h"

/* ---- marks in a text ---- */

static const char *runs_of(Arena *arena, Text text)
{
    Buf out = buf_new(arena);
    TextRun run;
    while (text_take_run(&text, &run)) {
        if (run.axis >= 0)
            buf_printf(&out, "%s%d", run.sum ? "+" : "a", run.axis);
        if (run.dim >= 0)
            buf_printf(&out, "d%d", run.dim);
        buf_printf(&out, "<%.*s>", STR_ARG(run.str));
    }
    return out.s;
}

static void a_sharding_marks_its_axes_and_dims(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Source source = {"-m", STR("x=2,to=4")};
    Mesh *mesh = mesh_parse(arena, &source, NULL);
    Shape shape = {.n_dims = 3, .dim = {8, 16, 768}};
    Sharding sharding;
    Error err = {0};
    source = (Source){"", STR("8,16/x,(3)(256/to:(2)2)")};
    if (!sharding_parse(&source, &shape, mesh, VIEW_OURS, &sharding, &err))
        fail_msg("%s", err.text);
    Buf out = buf_marked(arena);
    sharding_format(&sharding, mesh, VIEW_OURS, &out, NULL);
    assert_string_equal(runs_of(arena, buf_text(&out)),
                        "d0<8><,>d1<16/>a0d1<x><,>d2<(3)(256/>a1d2<to>d2<:(2)2)>");
    arena_free(arena);
}

static void parts_and_copies_keep_their_marks(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf out = buf_marked(arena), copy = buf_marked(arena), plain = buf_new(arena);
    buf_puts(&out, "over ");
    size_t from = out.n;
    buf_puts(&out, "all");
    buf_mark(&out, from, SPAN_AXIS, 1);
    buf_puts(&out, " of all\nrest");
    Text rest = buf_text(&out), line = text_take(&rest, '\n');
    assert_string_equal(runs_of(arena, line), "<over >a1<all>< of all>");
    assert_string_equal(runs_of(arena, rest), "<rest>");
    assert_string_equal(runs_of(arena, text_part(line, 6, 4)), "a1<ll>< o>");
    buf_puts(&copy, "all: ");
    buf_add_text(&copy, text_part(line, 6, 4));
    buf_add_text(&plain, line);
    assert_string_equal(runs_of(arena, buf_text(&copy)), "<all: >a1<ll>< o>");
    assert_string_equal(runs_of(arena, buf_text(&plain)), "<over all of all>");
    buf_cut(&out, 6);
    assert_string_equal(runs_of(arena, buf_text(&out)), "<over a>");
    arena_free(arena);
}

/* ---- one plan under two names for its axes ---- */

/* Pairs of axes by words that screens and drawings use, and by words that nothing uses. */
static const struct {
    const char *name, *odd[2], *rare[2];
} names[] = {
    {"us and to", {"us", "to"}, {"qq", "zz"}},
    {"all and MiB", {"all", "MiB"}, {"qqq", "zzz"}},
    {"per and dim", {"per", "dim"}, {"qqq", "zzz"}},
    {"d0 and AR", {"d0", "AR"}, {"qq", "zz"}},
    {"x and h", {"x", "h"}, {"q", "z"}},
    {"mlp and Add", {"mlp", "Add"}, {"qqq", "zzz"}},
};

static Session *open_with(Arena *arena, const char *const axis[2])
{
    char dir[] = "/tmp/dimscope-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const char *path = arena_printf(arena, "%s/policy.lua", dir);
    Buf text = buf_new(arena);
    buf_printf(
        &text,
        "function PAS(graph)\n"
        "    graph:shard(\"input_ids\", {[0] = \"%s\"})\n"
        "    graph:shard(\"*.attn.c_attn.{weight,bias}\", {n = {axis = \"%s\", interleave = 3}})\n"
        "    graph:shard(\"*.attn.c_proj.weight\", {k = \"%s\"})\n"
        "    graph:shard(\"*.mlp.c_fc.{weight,bias}\", {n = \"%s\"})\n"
        "    graph:shard(\"*.mlp.c_proj.weight\", {k = \"%s\"})\n"
        "    return graph\nend\n",
        axis[0], axis[1], axis[1], axis[1], axis[1]);
    Error err = {0};
    assert_true(file_write(path, buf_str(&text), &err));
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = arena_printf(arena, "%s=2,%s=4", axis[0], axis[1]),
                              .policy = path};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    unlink(path);
    rmdir(dir);
    return session;
}

static const char *const screens[] = {
    "1zM", "1jjjjjjjjjj", "2", "2jj", "3", "4", "5",  "5j", "6",  "7d",
    "8",   "8jjj",        "9", "w",   "F", "?", "3w", "2p", "3x",
};

/* Every cell looks as it does with names that nothing else has. */
static void screens_colour_axes_alone(void **state)
{
    const size_t at = (uintptr_t)*state;
    Arena *arena = arena_new();
    Session *session[2];
    session[0] = open_with(arena, names[at].odd);
    session[1] = open_with(arena, names[at].rare);
    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
        AppOptions options = {.width = 120};
        App *app[2];
        const Grid *grid[2];
        for (int s = 0; s < 2; s++) {
            app[s] = app_new(session[s], &options, NULL, 120, 40);
            app_type(app[s], str_from(screens[i]));
            grid[s] = app_draw(app[s]);
        }
        for (int c = 0; c < 120 * 40; c++) {
            const Cell *odd = &grid[0]->cells[c], *rare = &grid[1]->cells[c];
            if (odd->style == rare->style)
                continue;
            Buf text = buf_new(arena);
            grid_format_rows(grid[0], c / 120, 1, &text);
            fail_msg("keys %s, row %d, column %d: style %d, not %d, in %s", screens[i], c / 120,
                     c % 120, odd->style, rare->style, text.s);
        }
        app_free(app[0]);
        app_free(app[1]);
    }
    session_close(session[0]);
    session_close(session[1]);
    arena_free(arena);
}

/* Where coloured texts begin, as numbers in a line each: `before` opens one. Texts of both names
 * are equally long. */
static const char *places_of(Arena *arena, Str text, const char *before)
{
    Buf out = buf_new(arena);
    for (size_t at = 0;;) {
        int64_t found = str_find((Str){text.s + at, text.n - at}, str_from(before));
        if (found < 0)
            return out.s;
        at += (size_t)found + strlen(before);
        buf_printf(&out, "%zu %.8s\n", at, text.s + at);
    }
}

/* Those of stages and of a training step, which this plan has none of; charts; and no differences.
 */
static bool names_no_axis(int kind)
{
    return kind == DIAGRAM_STAGE || kind == DIAGRAM_SCHEDULE || kind == DIAGRAM_MEMORY ||
           kind == DIAGRAM_STEP || kind == DIAGRAM_DIFF || kind == DIAGRAM_FRONTIER;
}

static void drawings_colour_axes_alone(void **state)
{
    const size_t at = (uintptr_t)*state;
    static const char *const of[DIAGRAM_KIND_COUNT] = {
        [DIAGRAM_NEIGHBOURHOOD] = "transformer.h.0.mlp.c_fc",
        [DIAGRAM_OP] = "transformer.h.0.attn.c_attn",
        [DIAGRAM_SLICES] = "transformer.h.0.attn.c_attn.weight",
        [DIAGRAM_WHY] = "transformer.h.0.mlp.c_proj.weight.0",
    };
    Arena *arena = arena_new();
    Session *session[2];
    session[0] = open_with(arena, names[at].odd);
    session[1] = open_with(arena, names[at].rare);
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        const char *coloured[2] = {"", ""};
        for (int s = 0; s < 2; s++) {
            DiagramRequest request = {
                .session = session[s], .kind = (DiagramKind)kind, .of = of[kind]};
            request.other = kind == DIAGRAM_DIFF ? session[s] : NULL;
            Error err = {0};
            Buf dot = buf_new(arena);
            Diagram *diagram = diagram_make(arena, &request, &err);
            if (diagram && dot_write(diagram, session[s]->mesh, &dot, &err))
                coloured[s] = places_of(arena, buf_str(&dot), "<FONT COLOR=\"#");
        }
        if (!names_no_axis(kind))
            assert_true(*coloured[0]);
        if (strcmp(coloured[0], coloured[1]) != 0)
            fail_msg("%s:\n%s\nnot\n%s", diagram_kind((DiagramKind)kind)->name, coloured[0],
                     coloured[1]);
    }
    session_close(session[0]);
    session_close(session[1]);
    arena_free(arena);
}

/* Runs of text in axis colours, in the order of the page: the bytes between <b class="aN"> and </b>
 * are the name of axis N, and there are as many as with other names. */
static void pages_colour_axes_alone(void **state)
{
    const size_t at = (uintptr_t)*state;
    Arena *arena = arena_new();
    int n[2] = {0, 0};
    for (int s = 0; s < 2; s++) {
        const char *const *axis = s ? names[at].rare : names[at].odd;
        Session *session = open_with(arena, axis);
        ExportRequest request = {.drawing = {.session = session}};
        ExportNotes notes = {.arena = arena};
        Buf page = buf_new(arena);
        Error err = {0};
        if (!export_format_find(STR("html"), false)->write(&request, &page, &notes, &err))
            fail_msg("%s", err.text);
        static const char open[] = "<b class=\"a";
        for (const char *found = strstr(page.s, open); found; found = strstr(found + 1, open)) {
            const char *number = found + strlen(open);
            const char *name = axis[*number - '0'];
            assert_int_equal(strncmp(number + 3, name, strlen(name)), 0);
            assert_int_equal(number[3 + strlen(name)], '<');
            n[s]++;
        }
        session_close(session);
    }
    assert_true(n[0] > 20);
    assert_int_equal(n[0], n[1]);
    arena_free(arena);
}

int main(void)
{
    enum { N = sizeof names / sizeof *names };
    static const struct CMUnitTest marks[] = {
        cmocka_unit_test(a_sharding_marks_its_axes_and_dims),
        cmocka_unit_test(parts_and_copies_keep_their_marks),
    };
    static void (*const looks[])(void **) = {screens_colour_axes_alone, drawings_colour_axes_alone,
                                             pages_colour_axes_alone};
    struct CMUnitTest tests[N];
    int failed = cmocka_run_group_tests_name("marks", marks, NULL, NULL);
    open_scripts(NULL);
    for (size_t look = 0; look < sizeof looks / sizeof *looks; look++) {
        for (int i = 0; i < N; i++)
            tests[i] =
                (struct CMUnitTest){names[i].name, looks[look], NULL, NULL, (void *)(uintptr_t)i};
        failed += cmocka_run_group_tests_name("looks", tests, NULL, NULL);
    }
    close_scripts(NULL);
    return failed;
}
