#include "tui/cli/run.h"

#include "core/prove/cut_check.h"
#include "core/base/file.h"

#include <math.h>

enum { DATA_JSON_MAX = 1 << 16 };

/* The model of a folder of vectors: model.onnx in it, or NAME.onnx beside NAME.io. */
static const char *model_of(Arena *arena, const char *dir, Error *err)
{
    Str name = str_from(dir);
    while (name.n > 1 && name.s[name.n - 1] == '/')
        name.n--;
    dir = arena_str(arena, name);
    const char *inside = path_join(arena, dir, "model.onnx");
    if (file_exists(inside))
        return inside;
    if (str_ends(name, STR(".io"))) {
        const char *beside = arena_printf(arena, "%.*s.onnx", (int)name.n - 3, name.s);
        if (file_exists(beside))
            return beside;
    }
    error_kind(err, ERROR_UNREADABLE, "there is no model.onnx in '%s'", dir);
    error_hint(err, "a folder NAME.io needs NAME.onnx beside it");
    return NULL;
}

typedef struct {
    Cli *cli;
    RunOptions options;
    SessionOptions session; /* but for the model */
    Json *list;             /* with --json */
    int passed, failed, code;
} Tests;

/* Of one data set. */
typedef struct {
    const char *name;
    bool ran, ok;
    double max_abs;
    RunReport report; /* of the plan as it is */
    CutProof cuts;    /* with --cuts */
    Error err;
} Outcome;

/* Refused: reported before anything ran. */
static const char *failure_name(const Error *err)
{
    if (!error_is_set(err))
        return "DIFFERS";
    return err->kind == ERROR_USAGE || err->kind == ERROR_UNSUPPORTED ? "REFUSED" : "ERROR  ";
}

static void put_failure(const Outcome *outcome, Buf *out)
{
    bool error = error_is_set(&outcome->err);
    buf_printf(out, "%s  %s", failure_name(&outcome->err), outcome->name);
    if (outcome->cuts.line)
        buf_printf(out, "  cut %d: %s", outcome->cuts.n_cuts, outcome->cuts.line);
    if (error)
        buf_printf(out, ": %s%s%s\n", outcome->err.file, outcome->err.file[0] ? ": " : "",
                   outcome->err.text);
    else
        buf_printf(out, "  max error %.3g\n", outcome->max_abs);
}

static void put_outcome(const Tests *tests, const Outcome *outcome, Buf *out)
{
    if (!outcome->ok) {
        put_failure(outcome, out);
        return;
    }
    buf_printf(out, "ok       %s  ", outcome->name);
    if (tests->cli->options.cuts)
        buf_printf(out, "1 device + %d cut%s, ", outcome->cuts.n_cuts,
                   outcome->cuts.n_cuts == 1 ? "" : "s");
    buf_printf(out, "max error %.3g\n", outcome->max_abs);
}

static void add_json(Tests *tests, const Session *session, const Outcome *outcome)
{
    Json *row = outcome->ran ? run_report_json(session, &outcome->report) : json_object();
    json_set_str(row, "data_set", outcome->name);
    json_set_bool(row, "ok", outcome->ok);
    json_set_real(row, "max_abs", outcome->max_abs);
    if (tests->cli->options.cuts)
        json_set_int(row, "cuts", outcome->cuts.n_cuts);
    if (outcome->cuts.line)
        json_set_str(row, "failing_cut", outcome->cuts.line);
    if (error_is_set(&outcome->err))
        json_set_str(row, "error", outcome->err.text);
    if (outcome->err.file[0])
        json_set_str(row, "file", outcome->err.file);
    json_add(tests->list, row);
}

static void count(Tests *tests, const Outcome *outcome)
{
    tests->passed += outcome->ok;
    tests->failed += !outcome->ok;
    if (error_is_set(&outcome->err))
        tests->code = tests->code ? tests->code : cli_exit_code(outcome->err.kind);
    else if (!outcome->ok)
        tests->code = CLI_ILLEGAL;
}

/* The cuts, after one device. */
static void run_cuts(const Tests *tests, Arena *arena, Session *session, Outcome *outcome)
{
    if (!session_set_mesh(session, tests->cli->options.mesh, &outcome->err))
        return;
    outcome->cuts = cut_check(arena, session, run_onnx_test, outcome->name, &tests->options);
    outcome->ok = !outcome->cuts.line;
    outcome->max_abs = fmax(outcome->max_abs, outcome->cuts.max_abs);
    outcome->err = outcome->cuts.err;
}

static void run_data_set(Tests *tests, const char *model, const char *data_set)
{
    Arena *arena = arena_new();
    const CliOptions *given = &tests->cli->options;
    Outcome outcome = {.name = data_set};
    SessionOptions options = tests->session;
    options.model = model;
    options.mesh = given->cuts ? NULL : given->mesh;
    RunOptions run = tests->options;
    run.inputs = data_set;
    DataShapes data_shapes;
    Session *session =
        cli_open_resolved(tests->cli, arena, options, &run, &data_shapes, &outcome.err);
    outcome.ran = session && run_onnx_test(arena, session->plan, data_set, &tests->options,
                                           &outcome.report, &outcome.err);
    if (outcome.ran) {
        outcome.ok = outcome.report.ok;
        outcome.max_abs = run_largest_error(&outcome.report);
    }
    if (outcome.ok && given->cuts)
        run_cuts(tests, arena, session, &outcome);
    count(tests, &outcome);
    if (tests->list)
        add_json(tests, session, &outcome);
    else
        put_outcome(tests, &outcome, &tests->cli->out);
    session_close(session);
    arena_free(arena);
}

/* What ONNX compares its own tests with: data.json beside model.onnx may ask for something else. Of
 * outputs that others measured, NAME.io, sums are in another order: as run_onnx_test() says. */
static void set_tolerance(Tests *tests, const char *dir, const char *model)
{
    Arena *arena = arena_new();
    bool own = !str_ends(str_from(dir), STR(".io")) && !str_ends(str_from(dir), STR(".io/"));
    const char *path = path_join(arena, path_dir(arena, model), "data.json");
    tests->options.rtol = own ? 1e-3 : 0;
    tests->options.atol = own ? 1e-7 : 0;
    Source text;
    if (own && file_exists(path) && file_read(arena, path, DATA_JSON_MAX, &text, NULL)) {
        Json *data = json_parse(&text, NULL);
        tests->options.rtol = json_real(json_get(data, "rtol"), tests->options.rtol);
        tests->options.atol = json_real(json_get(data, "atol"), tests->options.atol);
        json_free(data);
    }
    arena_free(arena);
}

/* False with cli->err when the folder has no model or no vectors. */
static bool run_folder(Tests *tests, const char *dir)
{
    if (str_ends(str_from(dir), STR(".onnx"))) {
        set_tolerance(tests, dir, dir);
        run_data_set(tests, dir, dir);
        return true;
    }
    Arena *arena = tests->cli->arena;
    const char *model = model_of(arena, dir, &tests->cli->err);
    int n = 0;
    if (model)
        set_tolerance(tests, dir, model);
    for (; model; n++) {
        const char *data_set = path_join(arena, dir, arena_printf(arena, "test_data_set_%d", n));
        if (!file_exists(data_set))
            break;
        run_data_set(tests, model, data_set);
    }
    if (model && n == 0)
        error_kind(&tests->cli->err, ERROR_UNREADABLE, "there is no test_data_set_0 in '%s'", dir);
    return n > 0;
}

/* --vectors: one model, one folder. */
static bool run_vectors(Tests *tests)
{
    Cli *cli = tests->cli;
    if (cli->n_operands != 1)
        return error_kind(&cli->err, ERROR_USAGE, "--vectors needs one model");
    run_data_set(tests, cli->operand[0], cli->options.vectors);
    return true;
}

static bool run_folders(Tests *tests)
{
    bool ok = true;
    for (int i = 0; ok && i < tests->cli->n_operands; i++)
        ok = run_folder(tests, tests->cli->operand[i]);
    return ok;
}

bool cli_check_cuts(Cli *cli)
{
    const CliOptions *options = &cli->options;
    if (!options->cuts)
        return true;
    if (strcmp(options->cuts, "all") != 0)
        return error_kind(&cli->err, ERROR_USAGE, "--cuts cannot be '%s'", options->cuts);
    if (options->policy)
        return error_kind(&cli->err, ERROR_USAGE,
                          "--cuts makes the decisions itself: leave out -p");
    return options->mesh ||
           error_kind(&cli->err, ERROR_USAGE, "--cuts needs a mesh, for example -m x=2");
}

int cli_run_tests(Cli *cli)
{
    Tests tests = {.cli = cli};
    if (!cli_run_options(cli, &tests.options) || !cli_session_options(cli, &tests.session) ||
        !cli_check_cuts(cli))
        return cli_fail(cli);
    if (cli->options.cuts) /* a child for each of many short runs takes longer than they do */
        tests.options.isolated = false;
    tests.list = cli->options.json ? json_array() : NULL;
    if (!(cli->options.vectors ? run_vectors(&tests) : run_folders(&tests))) {
        json_free(tests.list);
        return cli_fail(cli);
    }
    if (tests.list)
        cli_write_json(cli, tests.list);
    else
        buf_printf(&cli->out, "%d passed, %d failed\n", tests.passed, tests.failed);
    return tests.code;
}
