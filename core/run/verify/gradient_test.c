#include "core/run/verify/gradient_test.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/run/verify/compare.h"
#include "core/run/feed.h"

#include <math.h>

enum { INDEX_BYTES_MAX = 1 << 24 };

/* relative_stored: of f64 gradients whose files hold f32, which are off by 2^-24 of each element.
 */
static const double relative = 1e-4, relative_f64 = 1e-9, relative_stored = 1e-7,
                    least_share = 1e-3;

/* ---- the folder ---- */

/* NULL with *err. */
static Json *read_index(Arena *arena, const char *data_set, Error *err)
{
    Source source;
    const char *path = path_join(arena, data_set, "index.json");
    if (!file_read(arena, path, INDEX_BYTES_MAX, &source, err))
        return NULL;
    Json *index = json_parse(&source, err);
    if (!index || json_is_array(json_get(index, "grads")))
        return index;
    json_free(index);
    error_kind(err, ERROR_UNREADABLE, "'%s' has no list \"grads\"", path);
    return NULL;
}

/* The path of a file that the index names; NULL with *err: none, or one outside of the folder. */
static const char *path_of(Arena *arena, const char *data_set, const Json *row, const char *key,
                           Error *err)
{
    const char *file = arena_str(arena, json_str(json_get(row, key), ""));
    if (*file != '\0' && !strchr(file, '/'))
        return path_join(arena, data_set, file);
    error_kind(err, ERROR_UNREADABLE, "'%s/index.json' names no file of the folder for '%s'",
               data_set, arena_str(arena, json_str(json_get(row, "name"), "")));
    return NULL;
}

static const Json *find_row(const Json *rows, const char *name)
{
    for (int i = 0; i < json_size(rows); i++)
        if (str_eq(json_str(json_get(json_at(rows, i), "name"), ""), str_from(name)))
            return json_at(rows, i);
    return NULL;
}

static bool add_cotangent(Arena *arena, const Graph *graph, int32_t input, const Json *index,
                          const char *data_set, Vectors *out, Error *err)
{
    const char *output = tensor_name(graph, graph->gradient_of[input]);
    const Json *row = find_row(json_get(index, "outputs"), output);
    if (!row)
        return error_kind(err, ERROR_UNREADABLE, "'%s' has no cotangent of output '%s'", data_set,
                          output);
    const char *path = path_of(arena, data_set, row, "cotangent", err);
    return path && vectors_add(arena, path, str_from(tensor_name(graph, input)), out, err);
}

bool cotangents_add(Arena *arena, const Graph *graph, const char *data_set, Vectors *out,
                    Error *err)
{
    Json *index = NULL;
    bool ok = true;
    for (int i = 0; ok && graph->gradient_of && i < graph->n_inputs; i++) {
        if (graph->gradient_of[graph->inputs[i]] < 0)
            continue;
        index = index ? index : read_index(arena, data_set, err);
        ok = index && add_cotangent(arena, graph, graph->inputs[i], index, data_set, out, err);
    }
    json_free(index);
    return ok;
}

/* ---- what is expected ---- */

typedef struct {
    Arena *arena, *scratch;
    const Inferred *inferred;
    const char *data_set;
    GradientReport *out;
    Local **expected;   /* per tensor */
    double *largest;    /* per row */
    double *relative;   /* per row: what is allowed, by the largest element */
    int32_t *output_of; /* per tensor: the output that is its gradient, or -1 */
    Error *err;
} Expecting;

static void find_outputs(Expecting *e)
{
    const Graph *graph = e->inferred->graph;
    e->output_of = arena_array(e->scratch, int32_t, graph->n_tensors);
    memset(e->output_of, -1, (size_t)graph->n_tensors * sizeof *e->output_of);
    for (int i = 0; graph->gradient_of && i < graph->n_outputs; i++) {
        int32_t of = graph->gradient_of[graph->outputs[i]];
        if (of >= 0)
            e->output_of[of] = graph->outputs[i];
    }
}

static const char *reason_of(const Expecting *e, int32_t tensor)
{
    if (tensor < 0)
        return "the model has no such tensor";
    const Graph *graph = e->inferred->graph;
    if (graph->tensors[tensor].maker >= 0)
        return "an op makes it: it is no input and no initializer";
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (inferred_is_host(e->inferred, graph->uses[graph->tensors[tensor].use + u]))
            return "what is made of it is computed at load";
    return "no gradient reaches it";
}

/* Sets *vector to the file's tensor, with the type that the gradient has. NULL with *err. */
static Local *read_gradient(Expecting *e, int32_t gradient, const char *path, Str bytes,
                            OnnxTensor *vector)
{
    if (!vector_read(e->scratch, path, bytes, vector, e->err))
        return NULL;
    if (gradient < 0)
        return vector_value(e->scratch, vector, vector->dtype, e->err);
    Dtype dtype = (Dtype)e->inferred->dtype[gradient];
    vector_shorten(e->scratch, dtype, vector);
    return vector_fits(e->inferred, gradient, vector, e->err)
               ? vector_value(e->scratch, vector, dtype, e->err)
               : NULL;
}

static bool expect_row(Expecting *e, const Json *from, int i)
{
    GradientRow *row = &e->out->rows[i];
    OnnxTensor vector;
    FileMap map;
    *row = (GradientRow){.gradient = -1};
    row->name = arena_str(e->arena, json_str(json_get(from, "name"), ""));
    int32_t tensor = graph_find_tensor(e->inferred->graph, str_from(row->name));
    int32_t gradient = tensor < 0 ? -1 : e->output_of[tensor];
    const char *path = path_of(e->scratch, e->data_set, from, "file", e->err);
    if (!path || !file_map(path, &map, e->err))
        return false;
    Local *value = read_gradient(e, gradient, path, map.text, &vector);
    file_unmap(&map);
    if (!value)
        return false;
    e->largest[i] = local_range(value);
    bool doubles = value->dtype == DT_F64;
    e->relative[i] = !doubles ? relative : vector.dtype == DT_F64 ? relative_f64 : relative_stored;
    if (gradient < 0 || e->expected[gradient]) {
        row->reason = gradient < 0 ? reason_of(e, tensor) : "it is listed twice";
        local_free(value);
        return true;
    }
    e->expected[gradient] = value;
    row->gradient = gradient;
    e->out->n_compared++;
    return true;
}

static bool expect(Expecting *e)
{
    Json *index = read_index(e->scratch, e->data_set, e->err);
    const Json *rows = json_get(index, "grads");
    bool ok = index != NULL;
    double most = 0;
    e->out->n_rows = json_size(rows);
    e->out->rows = arena_array(e->arena, GradientRow, json_size(rows));
    e->largest = arena_array(e->scratch, double, json_size(rows));
    e->relative = arena_array(e->scratch, double, json_size(rows));
    for (int i = 0; ok && i < e->out->n_rows; i++)
        ok = expect_row(e, json_at(rows, i), i);
    json_free(index);
    for (int i = 0; ok && i < e->out->n_rows; i++)
        most = fmax(most, e->largest[i]);
    for (int i = 0; ok && i < e->out->n_rows; i++)
        e->out->rows[i].allowed = e->relative[i] * fmax(e->largest[i], least_share * most);
    return ok;
}

/* ---- what came out ---- */

static void judge_row(GradientReport *out, int i, const RunOutput *output, const Graph *graph)
{
    GradientRow *row = &out->rows[i];
    row->error = output->max_abs;
    row->ok = row->error <= row->allowed;
    out->n_wrong += !row->ok;
    const GradientRow *worst = out->worst < 0 ? NULL : &out->rows[out->worst];
    if (!worst || row->error * worst->allowed > worst->error * row->allowed)
        out->worst = i;
    int32_t first = out->first_wrong < 0 ? -1 : out->rows[out->first_wrong].gradient;
    if (!row->ok &&
        (first < 0 || graph->tensors[row->gradient].maker < graph->tensors[first].maker))
        out->first_wrong = i;
}

static const RunOutput *find_output(const RunReport *run, int32_t tensor)
{
    for (int k = 0; k < run->n_outputs; k++)
        if (run->outputs[k].tensor == tensor)
            return &run->outputs[k];
    return NULL;
}

/* The outputs that were not compared are left out. */
static void judge(Arena *arena, const Graph *graph, GradientReport *out)
{
    RunOutput *compared = arena_array(arena, RunOutput, out->n_compared);
    int n = 0;
    for (int i = 0; i < out->n_rows; i++) {
        const RunOutput *output = find_output(&out->run, out->rows[i].gradient);
        if (!output)
            continue;
        judge_row(out, i, output, graph);
        compared[n] = *output;
        compared[n++].ok = out->rows[i].ok;
    }
    out->run.outputs = compared;
    out->run.n_outputs = n;
    out->run.ok = out->n_wrong == 0 && n > 0 && out->run.first_bad < 0;
    out->run.verdict = out->run.ok ? RUN_PASS : RUN_FAIL;
}

bool run_gradients(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   GradientReport *out, Error *err)
{
    const Graph *graph = plan->inferred->graph;
    RunOptions with_inputs = *options;
    with_inputs.inputs = data_set;
    *out = (GradientReport){.worst = -1, .first_wrong = -1};
    Expecting e = {
        .arena = arena, .inferred = plan->inferred, .data_set = data_set, .out = out, .err = err};
    e.scratch = arena_new();
    e.expected = arena_array(e.scratch, Local *, graph->n_tensors);
    find_outputs(&e);
    bool ok = expect(&e) && run_expecting(arena, plan, &with_inputs, e.expected, &out->run, err);
    if (ok)
        judge(arena, graph, out);
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(e.expected[t]);
    arena_free(e.scratch);
    return ok;
}

bool run_gradient_test(Arena *arena, const Plan *plan, const char *data_set,
                       const RunOptions *options, RunReport *out, Error *err)
{
    GradientReport report;
    bool ran = run_gradients(arena, plan, data_set, options, &report, err);
    if (ran)
        *out = report.run;
    return ran;
}
