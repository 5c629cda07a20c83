/* Reports: pages that any browser reads, whose numbers are the plan's; texts of models are texts.
 */
#include "tests/unit/markup.h"
#include "tests/unit/model_text.h"

#include "core/base/file.h"
#include "core/base/units.h"
#include "core/summary/comm.h"
#include "core/summary/diff.h"
#include "core/summary/label.h"
#include "core/session/planfile.h"
#include "viz/export.h"
#include "viz/report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
} SampleRow;

static SampleRow samples[] = {
    {"gpt2, data and tensor", "gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua"},
    {"gpt2, sequence", "gpt2.onnx", "dp=2,tp=4", "megatron_sp"},
    {"gpt2, stages", "gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"gpt2-dynamo, stored", "gpt2-dynamo.onnx", "dp=8", "fsdp"},
    {"tiny-gpt, one device", "tiny-gpt.onnx", "dp=1", "dp"},
    {"llama-tiny, 1024 devices", "llama-tiny.onnx", "dp=16,tp=64", "tests/policies/megatron.lua"},
    {"tiny-conv, unevenly", "tiny-conv.onnx", "dp=5", "fsdp"},
    {"resnet50", "resnet50.onnx", "dp=4", "dp"},
    {"mixtral", "mixtral-8x7b.json", "ep=8", "expert"},
    {"deepseek", "deepseek-v3.json", "dp=2,tp=4", "tests/policies/megatron.lua"},
};

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static Session *open_session(const Fixture *f, const char *model, const char *mesh,
                             const char *policy)
{
    SessionHooks hooks = scripts_hooks(f->scripts);
    SessionOptions options = {.model = model, .mesh = mesh, .policy = policy};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session) {
        print_error("%s: %s\n", model, err.text);
        abort();
    }
    return session;
}

static Fixture open_with(const char *model, const char *mesh, const char *policy)
{
    Fixture f = {.arena = arena_new()};
    f.scripts = scripts_new(f.arena, ".");
    f.session = open_session(&f, arena_printf(f.arena, "samples/models/%s", model), mesh, policy);
    return f;
}

static void close_fixture(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static const char *report(Arena *arena, const Session *session, const Session *other,
                          const char *format, ExportNotes *notes)
{
    ExportRequest request = {.drawing = {.session = session, .other = other}};
    ExportNotes own = {.arena = arena};
    Buf out = buf_new(arena);
    Error err = {0};
    if (!export_write(export_format_find(str_from(format), false), &request, &out,
                      notes ? notes : &own, &err))
        fail_msg("%s", err.text);
    return out.s;
}

/* ---- numbers ---- */

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (fabs(a) + fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void assert_row(const Markup *m, const Comm *comm, int at)
{
    const CommRow *row = &comm->row[at];
    const Reshard *reshard = &comm->session->plan->moved->reshards[row->first];
    const char *table = "collectives-table";
    Buf steps = buf_new(m->arena);

    comm_format_steps(comm->session, reshard->path, &steps);
    assert_string_equal(markup_cell(m, table, at, 0).text, steps.s);
    assert_true(markup_number(m, table, at, 1) == row->times);
    assert_true(markup_number(m, table, at, 9) == (double)comm_payload(reshard));
    assert_true(markup_number(m, table, at, 10) == (double)reshard->path->wire_bytes);
    assert_true(markup_number(m, table, at, 11) == reshard->path->us);
    assert_true(markup_number(m, table, at, 4) == row->us);
    for (int32_t r = row->first; r >= 0; r = comm->next_alike[r]) {
        const char *id = arena_printf(m->arena, "reshard-%d", r);
        assert_true(intern_find(m->ids, id, strlen(id)) >= 0);
    }
}

static void collectives_are_the_plans(const Markup *m, const Session *session)
{
    Comm *comm = comm_new(session);
    comm_table(comm, NULL);
    assert_int_equal(markup_rows(m, "collectives-table"), comm->n_rows);
    for (int i = 0; i < comm->n_rows; i++)
        assert_row(m, comm, i);
    if (comm->n_rows > 0)
        assert_near(markup_sum(m, "collectives-table", 4), session->plan->priced->totals.comm_us);
    comm_free(comm);
}

static void memory_is_the_plans(const Markup *m, const Session *session)
{
    assert_near(markup_sum(m, "live", 4), (double)session->plan->priced->totals.peak_bytes);
    assert_near(markup_number(m, "devices", 0, 2),
                (double)session->plan->priced->totals.peak_bytes);
    assert_near(markup_sum(m, "devices", 1), (double)session->mesh->n_devices);
}

/* Of what ops of the model read. */
static double parameter_bytes(const Session *session)
{
    double sum = 0;
    for (int32_t t = 0; t < session->graph->n_tensors; t++)
        if (tensor_is_parameter(session->inferred, t) && tensor_n_uses(session->graph, t) > 0 &&
            session->plan->moved->sharding[t] >= 0)
            sum += (double)plan_local_bytes(session->plan, t, session->plan->moved->sharding[t]);
    return sum;
}

/* Times of op rows, which have no members below them. */
static double op_times(const Markup *m)
{
    double sum = 0;
    for (int row = 0; row < markup_rows(m, "ops-table"); row++)
        if (markup_cell(m, "ops-table", row, 3).text[0])
            sum += markup_number(m, "ops-table", row, 7);
    return sum;
}

static void rows_sum_up_to_the_totals(const Markup *m, const Session *session)
{
    const Totals *totals = &session->plan->priced->totals;
    assert_near(markup_sum(m, "layers-table", 5), totals->compute_us + totals->comm_us);
    assert_near(op_times(m), totals->compute_us);
    if (parameter_bytes(session) > 0)
        assert_near(markup_sum(m, "parameters-table", 9), parameter_bytes(session));
    if (plan_n_held(session->plan) > 0)
        assert_near(markup_sum(m, "decisions-table", 2), plan_n_held(session->plan));
}

static void says(const char *all, const char *what)
{
    if (!strstr(all, what))
        fail_msg("it does not say %s", what);
}

static void summary_says_the_totals(Arena *arena, const char *all, const Session *session)
{
    Buf text = buf_new(arena);
    units_format_us(session->plan->priced->totals.step_us, &text);
    says(all, text.s);
    text.n = 0;
    units_format_bytes(session->plan->priced->totals.peak_bytes, &text);
    says(all, text.s);
    text.n = 0;
    units_format_count(inferred_params(session->inferred), &text);
    says(all, text.s);
    says(all, arena_printf(arena, "%016llx", (unsigned long long)planfile_hash(session)));
}

/* Every op of the program has a row to link to. */
static void every_op_has_an_id(const Markup *m, const Session *session)
{
    for (int i = 0; i < session->inferred->n_program; i++) {
        const char *id = arena_printf(m->arena, "op-%d", session->inferred->program[i]);
        if (intern_find(m->ids, id, strlen(id)) < 0)
            fail_msg("%s has no row", id);
    }
}

static void a_page_says_what_the_plan_says(void **state)
{
    const SampleRow *row = *state;
    Fixture f = open_with(row->model, row->mesh, row->policy);
    const char *page = report(f.arena, f.session, NULL, "html", NULL);
    Markup m = markup_read(f.arena, page);

    assert_int_equal(m.n_scripts, 1);
    collectives_are_the_plans(&m, f.session);
    memory_is_the_plans(&m, f.session);
    rows_sum_up_to_the_totals(&m, f.session);
    summary_says_the_totals(f.arena, m.all.s, f.session);
    every_op_has_an_id(&m, f.session);
    assert_null(strstr(page, "http://localhost"));
    assert_string_equal(page, report(f.arena, f.session, NULL, "html", NULL));
    close_fixture(&f);
}

/* ---- Markdown ---- */

/* Bars that end a cell: those behind a backslash do not. */
static int count_bars(Str line)
{
    int n = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (line.s[i] == '\\')
            i++;
        else
            n += line.s[i] == '|';
    }
    return n;
}

/* Rows of a table have as many cells as its head; no line of it breaks. */
static int check_tables(Str rest)
{
    int n = 0, bars = 0, n_lines = 0;
    while (rest.n > 0) {
        Str line = str_take(&rest, '\n');
        bool inside = str_starts(line, STR("|"));
        n_lines++;
        if (inside && bars == 0) {
            bars = count_bars(line);
            n++;
        }
        if (inside && count_bars(line) != bars)
            fail_msg("a row of %d cells: %.*s", count_bars(line), STR_ARG(line));
        assert_true(!inside || str_ends(line, STR("|")));
        bars = inside ? bars : 0;
    }
    assert_true(n_lines > 0);
    return n;
}

static void a_review_is_short_and_whole(void **state)
{
    const SampleRow *row = *state;
    Fixture f = open_with(row->model, row->mesh, row->policy);
    const char *text = report(f.arena, f.session, NULL, "md", NULL);
    int n_lines = 0;

    for (const char *s = text; *s; s++)
        n_lines += *s == '\n';
    assert_true(n_lines < 200);
    assert_true(check_tables(str_from(text)) >= 4);
    summary_says_the_totals(f.arena, text, f.session);
    assert_string_equal(text, report(f.arena, f.session, NULL, "md", NULL));
    close_fixture(&f);
}

/* ---- two plans ---- */

static void two_plans_stand_side_by_side(void **state)
{
    (void)state;
    Fixture f = open_with("gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    Session *other = open_session(&f, "samples/models/gpt2.onnx", "dp=2,tp=4", "fsdp");
    const PlanDiff *diff = plan_diff(f.arena, f.session, other);
    Markup m = markup_read(f.arena, report(f.arena, f.session, other, "html", NULL));

    assert_true(markup_number(&m, "diff-totals", 0, 1) == f.session->plan->priced->totals.step_us);
    assert_true(markup_number(&m, "diff-totals", 0, 2) == other->plan->priced->totals.step_us);
    assert_int_equal(markup_rows(&m, "diff-ops"), diff->list[DIFF_OPS].n_rows);
    assert_int_equal(markup_rows(&m, "diff-tensors"), diff->list[DIFF_TENSORS].n_rows);
    assert_int_equal(markup_rows(&m, "diff-moves"), diff->list[DIFF_RESHARDS].n_rows);
    assert_near(markup_sum(&m, "diff-ops", 3), diff->list[DIFF_OPS].n_entries);
    const char *text = report(f.arena, f.session, other, "md", NULL);
    says(text, "## Differences");
    check_tables(str_from(text));
    session_close(other);
    close_fixture(&f);
}

static void equal_plans_are_said_to_be(void **state)
{
    (void)state;
    Fixture f = open_with("tiny-gpt.onnx", "dp=2,tp=2", "tests/policies/megatron.lua");
    Session *other = open_session(&f, "samples/models/tiny-gpt.onnx", "dp=2,tp=2",
                                  "tests/policies/megatron.lua");
    Markup m = markup_read(f.arena, report(f.arena, f.session, other, "html", NULL));

    says(m.all.s, "The plans are the same.");
    assert_int_equal(markup_rows(&m, "diff-ops"), 0);
    session_close(other);
    close_fixture(&f);
}

/* A saved plan is the plan: sizes that both say are said once. */
static void a_saved_plan_has_the_hash_of_its_plan(void **state)
{
    (void)state;
    Fixture f = open_with("gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    char name[] = "/tmp/dimscope-report-XXXXXX";
    int fd = mkstemp(name);
    Error err = {0};

    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    const char *path = arena_printf(f.arena, "%s.json", name);
    assert_true(planfile_save(f.session, path, false, &err));
    Session *other = open_session(&f, path, NULL, NULL);
    assert_true(planfile_hash(f.session) == planfile_hash(other));
    unlink(path);
    session_close(other);
    close_fixture(&f);
}

/* ---- odd models, odd names ---- */

#define MODEL(body) "function MODEL(model, config)\n" body "\nend\n"
#define HOSTILE "a\"b\\<i>&amp;]]></td>{|}%n`@x`$y$ --> <script>"

static SampleRow odd[] = {
    {"hostile names",
     MODEL("local x = model:input([==[" HOSTILE "]==], 'f32', {4, 8})\n"
           "local y = model:module([==[" HOSTILE "]==], function()\n"
           "  return model:op('MatMul', {x, model:param('\\u{202e}w | | \\n# x', {8, 6})}) end)\n"
           "model:output(model:op('Relu', {y}), string.rep('long', 99))"),
     "dp=2", "dp"},
    {"rank 0",
     MODEL("local x = model:input('x', 'f32', {})\n"
           "model:output(model:op('Add', {x, model:param('w', {})}), 'y')"),
     "dp=2,tp=2", "tests/policies/megatron.lua"},
    {"no elements",
     MODEL("local x = model:input('x', 'f32', {0, 4})\n"
           "model:output(model:op('Relu', {x}), 'y')"),
     "dp=4", "dp"},
    {"sizes known only at run time",
     MODEL("local x = model:input('x', 'f32', {4, 4})\n"
           "local n = model:op('NonZero', {x})\n"
           "model:output(model:op('Cast', {n}, {to = 1}), 'y')"),
     "dp=2", "dp"},
    {"sequences",
     MODEL("local x = model:input('x', 'f32', {4, 4})\n"
           "local s = model:op('SequenceConstruct', {x, x})\n"
           "model:output(model:op('SequenceAt', {s, model:constant('i', 'i64', {}, {0})}), 'y')"),
     "dp=2", "dp"},
};

static void odd_models_are_reported(void **state)
{
    const SampleRow *row = *state;
    OpenedText o = model_text_open(row->model, "", row->mesh, row->policy);
    if (!o.session) {
        print_error("%s\n", o.err.text);
        abort();
    }
    markup_read(o.arena, report(o.arena, o.session, NULL, "html", NULL));
    check_tables(str_from(report(o.arena, o.session, NULL, "md", NULL)));
    model_text_close(&o);
}

/* Names of 10,000 characters, of markup, of bytes that are no text. */
static Graph *hostile_graph(Arena *arena, const char *const *names)
{
    GraphBuilder *builder = graph_builder_new(arena, "a/<b>\"&|`\n.onnx");
    int32_t x = graph_tensor(builder, str_from(names[0])),
            w = graph_tensor(builder, str_from(names[1])),
            y = graph_tensor(builder, str_from(names[2])),
            z = graph_tensor(builder, str_from(names[3]));
    Shape shape = {.n_dims = 2, .dim = {64, 64}};
    int32_t none = graph_add_attrs(builder, NULL, 0), in[2] = {x, w};
    Error err = {0};

    graph_add_input(builder, x, DT_F32, (DeclaredDim[]){{64, 0}, {64, 0}}, 2);
    graph_add_initializer(builder, w, DT_F32, &shape, (TensorData){0});
    graph_add_op(builder, STR("MatMul"), str_from(names[4]), str_from(names[5]), in, 2, &y, 1,
                 none);
    graph_add_op(builder, STR("Relu"), str_from(names[3]), str_from(names[5]), &y, 1, &z, 1, none);
    graph_add_output(builder, z);
    Graph *graph = graph_seal(builder, &err);
    assert_non_null(graph);
    return graph;
}

static void names_stay_texts(void **state)
{
    (void)state;
    Fixture f = {.arena = arena_new()};
    char *longest = arena_array(f.arena, char, 10001);
    memset(longest, 'a', 10000);
    const char *const names[] = {"x</td></tr><script>",      longest,
                                 "y\n\r\t\x01\x7f | ` | \\", "\" onload=\"alert(1)&amp;</table>",
                                 "\xe2\x80\xae evil -->",    "\xff\xfe%s%n]]>"};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = "hostile", .mesh = "tp=2"};
    Error err = {0};
    f.session = session_open_graph(hostile_graph(f.arena, names), &options, &hooks, &err);
    if (!f.session)
        abort();
    uint8_t atom = 0;
    Cut cut = cut_by(64, &atom, 1, f.session->mesh);
    Decision pin = {.kind = PIN_TENSOR_DIM,
                    .place = graph_find_tensor(f.session->graph, str_from(names[1])),
                    .cut = &cut,
                    .origin = {.kind = ORIGIN_USER, .file = "", .text = names[2]}};
    assert_true(session_apply(f.session, &pin, 1, &err));
    assert_true(f.session->plan->moved->n_reshards > 0);
    const char *page = report(f.arena, f.session, NULL, "html", NULL);
    Markup m = markup_read(f.arena, page);
    assert_int_equal(m.n_scripts, 1);
    says(m.all.s, "x</td></tr><script>"); /* as text */
    says(m.all.s, "\\xE2\\x80\\xAE evil");
    assert_true(strlen(page) < 200000);
    check_tables(str_from(report(f.arena, f.session, NULL, "md", NULL)));
    close_fixture(&f);
}

/* A model of nothing: what it is given it hands out. */
static void a_model_without_ops_is_reported(void **state)
{
    (void)state;
    Fixture f = {.arena = arena_new()};
    GraphBuilder *builder = graph_builder_new(f.arena, "empty.onnx");
    int32_t x = graph_tensor(builder, STR("x"));
    Error err = {0};
    graph_add_input(builder, x, DT_F32, (DeclaredDim[]){{4, 0}}, 1);
    graph_add_output(builder, x);
    Graph *graph = graph_seal(builder, &err);
    assert_non_null(graph);
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = "empty", .mesh = "tp=2"};
    f.session = session_open_graph(graph, &options, &hooks, &err);
    if (!f.session)
        abort();
    markup_read(f.arena, report(f.arena, f.session, NULL, "html", NULL));
    check_tables(str_from(report(f.arena, f.session, NULL, "md", NULL)));
    close_fixture(&f);
}

/* ---- without dot; large models; the script ---- */

static void without_dot_the_graph_is_a_table(void **state)
{
    (void)state;
    Fixture f = open_with("gpt2.onnx", "dp=2,tp=4", "tests/policies/megatron.lua");
    ExportNotes notes = {.arena = f.arena};
    const char *path = arena_str(f.arena, str_from(getenv("PATH")));
    setenv("PATH", "/nowhere", 1);
    const char *page = report(f.arena, f.session, NULL, "html", &notes);
    setenv("PATH", path, 1);
    Markup m = markup_read(f.arena, page);

    assert_true(markup_rows(&m, "overview-boxes") > 4);
    assert_true(markup_rows(&m, "block-boxes") > 4);
    assert_true(notes.at.n >= 2);
    says(notes.at.at[0], "'dot' cannot be started");
    close_fixture(&f);
}

/* A hundred layers of Llama 3 are one row, and the page stays small. */
static void a_hundred_layers_fit_a_small_page(void **state)
{
    (void)state;
    enum { MOST = 2000000 };
    Arena *arena = arena_new();
    FileMap map;
    Error err = {0};
    assert_true(file_map("samples/models/llama-3-70b.json", &map, &err));
    Str text = map.text, layers = STR("\"num_hidden_layers\": 80");
    int64_t at = str_find(text, layers);
    assert_true(at > 0);
    Buf config = buf_new(arena);
    buf_add(&config, (Str){text.s, (size_t)at});
    buf_puts(&config, "\"num_hidden_layers\": 100");
    buf_add(&config, (Str){text.s + at + layers.n, text.n - (size_t)at - layers.n});
    file_unmap(&map);
    OpenedText o = model_text_open(config.s, "", "dp=2,tp=4", "tests/policies/megatron.lua");
    if (!o.session) {
        print_error("%s\n", o.err.text);
        abort();
    }
    const char *page = report(o.arena, o.session, NULL, "html", NULL);
    assert_true(strlen(page) < MOST);
    Markup m = markup_read(o.arena, page);
    rows_sum_up_to_the_totals(&m, o.session);
    every_op_has_an_id(&m, o.session);
    says(m.all.s, "[0..99]");
    model_text_close(&o);
    arena_free(arena);
}

/* Browsers run the script only if its hash is what the page says. */
static void the_script_has_the_hash_that_is_allowed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-report-XXXXXX", hash[80] = "";
    int fd = mkstemp(path);
    Buf script = buf_new(arena);

    assert_true(fd >= 0 && close(fd) == 0);
    for (const char *const *piece = html_script; *piece; piece++)
        buf_puts(&script, *piece);
    assert_true(file_write(path, buf_str(&script), NULL));
    FILE *sum = popen(arena_printf(arena,
                                   "sha256sum %s | cut -c1-64 | sed 's/../\\\\x&/g' | "
                                   "xargs -0 printf '%%b' | head -c32 | base64",
                                   path),
                      "r");
    assert_non_null(fgets(hash, sizeof hash, sum));
    assert_int_equal(pclose(sum), 0);
    hash[strcspn(hash, "\n")] = '\0';
    assert_string_equal(hash, html_script_hash);
    unlink(path);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_plans_stand_side_by_side),
        cmocka_unit_test(equal_plans_are_said_to_be),
        cmocka_unit_test(a_saved_plan_has_the_hash_of_its_plan),
        cmocka_unit_test(names_stay_texts),
        cmocka_unit_test(a_model_without_ops_is_reported),
        cmocka_unit_test(without_dot_the_graph_is_a_table),
        cmocka_unit_test(a_hundred_layers_fit_a_small_page),
        cmocka_unit_test(the_script_has_the_hash_that_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("pages", samples, a_page_says_what_the_plan_says) +
           run_rows("reviews", samples, a_review_is_short_and_whole) +
           run_rows("odd", odd, odd_models_are_reported);
}
