#include "tui/cli/run.h"

#include "core/run/vectors.h"

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
    error_hint(err, "a folder NAME.io goes with NAME.onnx beside it");
    return NULL;
}

/* Free dims get the sizes that the input vectors have. */
static void bind_dims(Arena *arena, const Graph *graph, const Vectors *inputs, DimBindings *dims)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const GraphTensor *t = &graph->tensors[graph->inputs[i]];
        Str name = str_from(tensor_name(graph, graph->inputs[i]));
        const OnnxTensor *vector = vectors_find(inputs, name, i);
        for (int d = 0; vector && t->declared >= 0 && d < t->n_declared; d++) {
            DeclaredDim dim = graph->declared[t->declared + d];
            if (dim.size < 0 && dim.name > 0 && d < vector->shape.n_dims)
                vec_push(arena, dims,
                         (DimBinding){str_from(arena_str(arena, names_str(graph->names, dim.name))),
                                      vector->shape.dim[d]});
        }
    }
}

/* The session of a model whose free dims are as the vectors of a data set. */
static Session *open_for(Cli *cli, Arena *arena, const char *model, const char *data_set,
                         Error *err)
{
    SessionOptions options = {.model = model, .mesh = cli->options.mesh};
    options.policy = cli->options.policy;
    options.machine = cli->options.machine;
    Vectors inputs = {0};
    Session *shapes = session_open_model(&options, cli->hooks, err), *session = NULL;
    if (shapes && vectors_open(arena, data_set, "input", &inputs, err)) {
        bind_dims(arena, shapes->graph, &inputs, &options.dims);
        session = session_open(&options, cli->hooks, err);
    }
    vectors_close(&inputs);
    session_close(shapes);
    return session;
}

typedef struct {
    Cli *cli;
    Json *list; /* with --json */
    int passed, failed, code;
} Tests;

static void count(Tests *tests, const char *data_set, const RunReport *report, const Error *err)
{
    Buf *out = &tests->cli->out;
    bool ok = !error_is_set(err) && report->ok;
    double worst = 0;
    for (int i = 0; !error_is_set(err) && i < report->n_outputs; i++)
        if (report->outputs[i].max_abs > worst)
            worst = report->outputs[i].max_abs;
    tests->passed += ok;
    tests->failed += !ok;
    if (error_is_set(err)) {
        tests->code = tests->code ? tests->code : cli_exit_code(err->kind);
        if (!tests->list)
            buf_printf(out, "ERROR    %s: %s\n", data_set, err->text);
        return;
    }
    tests->code = ok ? tests->code : CLI_ILLEGAL;
    if (!tests->list)
        buf_printf(out, "%s  %s  max error %.3g\n", ok ? "ok     " : "DIFFERS", data_set, worst);
}

static void add_json(Tests *tests, const char *data_set, const Session *session,
                     const RunReport *report, const Error *err)
{
    Json *row = error_is_set(err) ? json_object() : run_report_json(session, report);
    json_set_str(row, "data_set", data_set);
    json_set_bool(row, "ok", !error_is_set(err) && report->ok);
    if (error_is_set(err))
        json_set_str(row, "error", err->text);
    json_add(tests->list, row);
}

static void run_data_set(Tests *tests, const RunOptions *options, const char *model,
                         const char *data_set)
{
    Arena *arena = arena_new();
    Error err = {0};
    RunReport report = {0};
    Session *session = open_for(tests->cli, arena, model, data_set, &err);
    if (session)
        run_onnx_test(arena, session->plan, data_set, options, &report, &err);
    count(tests, data_set, &report, &err);
    if (tests->list)
        add_json(tests, data_set, session, &report, &err);
    session_close(session);
    arena_free(arena);
}

/* False with cli->err when the folder has no model or no vectors. */
static bool run_folder(Tests *tests, const RunOptions *options, const char *dir)
{
    Arena *arena = tests->cli->arena;
    const char *model = model_of(arena, dir, &tests->cli->err);
    int n = 0;
    for (; model; n++) {
        const char *data_set = path_join(arena, dir, arena_printf(arena, "test_data_set_%d", n));
        if (!file_exists(data_set))
            break;
        run_data_set(tests, options, model, data_set);
    }
    if (model && n == 0)
        error_kind(&tests->cli->err, ERROR_UNREADABLE, "there is no test_data_set_0 in '%s'", dir);
    return n > 0;
}

int cli_run_tests(Cli *cli)
{
    RunOptions options;
    Tests tests = {.cli = cli};
    if (!cli_run_options(cli, &options))
        return cli_fail(cli);
    tests.list = cli->options.json ? json_array() : NULL;
    for (int i = 0; i < cli->n_operands; i++)
        if (!run_folder(&tests, &options, cli->operand[i])) {
            json_free(tests.list);
            return cli_fail(cli);
        }
    if (tests.list)
        cli_write_json(cli, tests.list);
    else
        buf_printf(&cli->out, "%d passed, %d failed\n", tests.passed, tests.failed);
    return tests.code;
}
