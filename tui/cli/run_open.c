#include "tui/cli/run.h"

/* The files that a run is given. */
typedef struct {
    Vectors inputs;
    SafeTensors weights;
    Given given;
} Files;

/* Free dims of a declared shape get the sizes that the input has. False: it says otherwise. */
static bool bind_dims(Arena *arena, const Graph *graph, const GraphTensor *input,
                      const Shape *given, DimBindings *dims)
{
    if (input->declared < 0)
        return true;
    bool fits = given->n_dims == input->n_declared;
    for (int d = 0; fits && d < input->n_declared; d++) {
        DeclaredDim dim = graph->declared[input->declared + d];
        const char *name = arena_str(arena, names_str(graph->names, dim.name));
        if (dim.size < 0 && dim.name > 0)
            vec_push(arena, dims, (DimBinding){str_from(name), given->dim[d]});
        fits = dim.size < 0 || dim.size == given->dim[d];
    }
    return fits;
}

/* What the inputs say of the model: its free dims, and shapes where it declares others. */
static void bind_inputs(Arena *arena, const Graph *graph, const Vectors *inputs, DataShapes *out)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        Str name = str_from(tensor_name(graph, graph->inputs[i]));
        const OnnxTensor *vector = vectors_find(inputs, name, i);
        const GraphTensor *input = &graph->tensors[graph->inputs[i]];
        if (!vector || input->sequence || input->optional ||
            bind_dims(arena, graph, input, &vector->shape, &out->dims))
            continue;
        GivenValue shape = {str_from(arena_str(arena, name)),
                            {.dtype = vector->dtype, .shape = vector->shape}};
        vec_push(arena, &out->values, shape);
    }
}

static bool open_files(Cli *cli, Arena *arena, const SessionOptions *options, const RunOptions *run,
                       Files *out, DataShapes *data_shapes, Error *err)
{
    *out = (Files){.given = {.seed = run->seed,
                             .deterministic = run->deterministic,
                             .draw_missing = run->draw_missing}};
    if (run->weights && !safetensors_open(arena, run->weights, &out->weights, err))
        return false;
    out->given.weights = run->weights ? &out->weights : NULL;
    if (!run->inputs)
        return true;
    Session *shapes = session_open_model(options, cli->hooks, err);
    bool ok = shapes && inputs_open(arena, shapes->inferred, run->inputs, &out->inputs, err);
    if (ok)
        bind_inputs(arena, shapes->graph, &out->inputs, data_shapes);
    out->given.inputs = &out->inputs;
    session_close(shapes);
    return ok;
}

static void close_files(Files *files)
{
    vectors_close(&files->inputs);
    safetensors_close(&files->weights);
}

Session *cli_open_resolved(Cli *cli, Arena *arena, SessionOptions options, const RunOptions *run,
                           DataShapes *data_shapes, Error *err)
{
    Files files;
    Session *session;
    *data_shapes = (DataShapes){.dims = options.dims};
    bool ok = open_files(cli, arena, &options, run, &files, data_shapes, err);
    options.dims = data_shapes->dims;
    options.given = &data_shapes->values;
    const char *train = options.train;
    if (run->inputs) /* a step is derived from shapes that are known */
        options.train = NULL;
    session = ok ? session_open(&options, cli->hooks, err) : NULL;
    ok = session && data_shapes_resolve(arena, session->inferred, &files.given, data_shapes, err);
    close_files(&files);
    if (ok && data_shapes->n_sizes + data_shapes->n_values == 0 && options.train == train)
        return cli_checked(cli, session, err);
    session_close(session);
    options.train = train;
    options.dims = data_shapes->dims;
    return ok ? cli_checked(cli, session_open(&options, cli->hooks, err), err) : NULL;
}
