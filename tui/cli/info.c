#include "tui/cli/cli.h"

#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/base/table.h"
#include "core/model/stated.h"

#include <inttypes.h>

/* ---- values: of a shape, what is known ---- */

/* A dim that is free and was not bound goes by its name. */
static const char *free_name(const Session *session, int32_t tensor, int dim)
{
    const GraphTensor *t = &session->graph->tensors[tensor];
    if (t->declared < 0 || dim >= t->n_declared)
        return NULL;
    DeclaredDim declared = session->graph->declared[t->declared + dim];
    return dim_size(session->graph, declared, &session->options.dims) >= 0
               ? NULL
               : names_text(session->graph->names, declared.name);
}

/* A size that is not known goes by its name. */
static Json *sizes_json(const Sizes *sizes, const Shape *shape)
{
    Json *out = json_array();
    for (int64_t d = 0; d < shape->n_dims; d++)
        json_add(out, shape->dim[d] >= 0
                          ? json_from_int(shape->dim[d])
                          : json_from_str(str_from(sizes_at(sizes, shape->dim[d])->name)));
    return out;
}

/* Its inferred shape; of a value whose shape waits for free dims, the declared one. */
static Json *shape_json(const Session *session, int32_t tensor)
{
    const GraphTensor *t = &session->graph->tensors[tensor];
    const Shape *shape = inferred_sizes(session->inferred, tensor);
    if (shape)
        return sizes_json(session->inferred->sizes, shape);
    if (t->declared < 0)
        return json_null();
    Json *out = json_array();
    for (int d = 0; d < t->n_declared; d++) {
        const char *name = free_name(session, tensor, d);
        if (name)
            json_add(out, *name ? json_from_str(str_from(name)) : json_null());
        else
            json_add(out, json_from_int(dim_size(session->graph,
                                                 session->graph->declared[t->declared + d],
                                                 &session->options.dims)));
    }
    return out;
}

/* The shape as the file declares it, where it does so by free dims: their names. NULL otherwise. */
static Json *declared_json(const Session *session, int32_t tensor)
{
    const Graph *graph = session->graph;
    const GraphTensor *t = &graph->tensors[tensor];
    bool symbolic = false;
    for (int d = 0; t->declared >= 0 && d < t->n_declared; d++)
        symbolic |= graph->declared[t->declared + d].name > 0;
    if (!symbolic)
        return NULL;
    Json *out = json_array();
    for (int d = 0; d < t->n_declared; d++) {
        DeclaredDim dim = graph->declared[t->declared + d];
        json_add(out, dim.name > 0 ? json_from_str(names_str(graph->names, dim.name))
                                   : json_from_int(dim.size));
    }
    return out;
}

/* {"name","dtype","shape"}: in "shape" a size that is not known is its name, null where it has
 * none; of a sequence or an optional it is that of each element, null if they have none in common,
 * and "listed" says what that holds. */
static Json *value_json(const Session *session, int32_t tensor)
{
    Json *out = json_object();
    json_set_str(out, "name", tensor_name(session->graph, tensor));
    Dtype dtype = (Dtype)session->inferred->dtype[tensor];
    json_set(out, "dtype",
             dtype == DT_NONE ? json_null() : json_from_str(str_from(dtype_name(dtype))));
    json_set(out, "shape", shape_json(session, tensor));
    if (session->inferred->listed && session->inferred->listed[tensor])
        json_set_str(out, "listed", session->inferred->listed[tensor]);
    return out;
}

static Json *values_json(const Session *session, const int32_t *tensors, int n)
{
    Json *out = json_array();
    for (int i = 0; i < n; i++)
        json_add(out, value_json(session, tensors[i]));
    return out;
}

/* With what the file says of each: "declared", and "module", the path of the op that makes it. Then
 * its other names of values, "same_as" which it is. */
static Json *all_values_json(const Session *session, const int32_t *tensors, int n)
{
    const Graph *graph = session->graph;
    Json *out = json_array();
    for (int i = 0; i < n; i++) {
        Json *row = value_json(session, tensors[i]), *declared = declared_json(session, tensors[i]);
        int32_t maker = graph->tensors[tensors[i]].maker;
        if (declared)
            json_set(row, "declared", declared);
        Str module = maker < 0 ? STR("") : op_stated_path(graph, maker);
        if (module.n > 0)
            json_set(row, "module", json_from_str(module));
        json_add(out, row);
    }
    for (int i = 0; i < graph->n_also; i++) {
        Json *row = value_json(session, graph->also[i].tensor);
        Json *declared = declared_json(session, graph->also[i].tensor);
        json_set_str(row, "name", names_text(graph->names, graph->also[i].name));
        if (declared)
            json_set(row, "declared", declared);
        json_set_str(row, "same_as", tensor_name(graph, graph->also[i].tensor));
        json_add(out, row);
    }
    return out;
}

/* {"name","size","least","most"} of the free dims whose limits the file gives; null for no limit,
 * and for the size of one that is not bound. */
static Json *dims_json(const Session *session)
{
    const Graph *graph = session->graph;
    Json *out = json_array();
    for (int i = 0; i < graph->n_ranges; i++) {
        const DimRange *range = &graph->ranges[i];
        Json *row = json_object();
        int64_t size =
            dim_size(graph, (DeclaredDim){.size = -1, .name = range->name}, &session->options.dims);
        json_set_str(row, "name", names_text(graph->names, range->name));
        json_set(row, "size", size < 0 ? json_null() : json_from_int(size));
        json_set(row, "least", range->least < 0 ? json_null() : json_from_int(range->least));
        json_set(row, "most", range->most < 0 ? json_null() : json_from_int(range->most));
        json_add(out, row);
    }
    return out;
}

/* All values in program order: inputs, initializers, then what each op makes. */
static int all_values(const Session *session, Arena *arena, int32_t **out)
{
    const Graph *graph = session->graph;
    int n = 0;
    *out = arena_array(arena, int32_t, graph->n_tensors);
    for (int i = 0; i < graph->n_inputs; i++)
        (*out)[n++] = graph->inputs[i];
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_INITIALIZER)
            (*out)[n++] = t;
    for (int op = 0; op < graph->n_ops; op++)
        for (int o = 0; o < graph->ops[op].n_outputs; o++)
            if (op_outputs(graph, op)[o] >= 0)
                (*out)[n++] = op_outputs(graph, op)[o];
    return n;
}

/* ---- parameters ---- */

static void shape_text(const Json *shape, Buf *out)
{
    if (json_is_null(shape))
        buf_putc(out, '?');
    if (json_is_array(shape) && json_size(shape) == 0)
        buf_puts(out, "scalar");
    for (int d = 0; d < json_size(shape); d++) {
        const Json *dim = json_at(shape, d);
        buf_puts(out, d > 0 ? "," : "");
        if (json_is_int(dim))
            buf_printf(out, "%" PRId64, json_int(dim, 0));
        else
            buf_add(out, json_str(dim, "?"));
    }
}

/* {"name","dtype","shape"} of each; of a stack also "parts": the names that checkpoints have; where
 * the file says so, "buffer" or "frozen": true. */
static Json *parameters_json(const Session *session)
{
    const Graph *graph = session->graph;
    Json *out = json_array();
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const GraphTensor *tensor = &graph->tensors[t];
        if (tensor->kind != TENSOR_INITIALIZER || !tensor_is_parameter(session->inferred, t))
            continue;
        Json *row = value_json(session, t);
        json_set_str(row, "name", naming_label(session->naming, t));
        const char *parts = tensor->data >= 0 ? graph->data[tensor->data].parts : NULL;
        if (parts)
            json_set_str(row, "parts", parts);
        if (tensor->buffer || tensor->frozen)
            json_set_bool(row, tensor->buffer ? "buffer" : "frozen", true);
        json_add(out, row);
    }
    return out;
}

/* "h.*.attn.weight" of "h.3.attn.weight": numbers between dots become stars. */
static void put_pattern(Str name, Buf *out)
{
    for (bool first = true; name.n > 0; first = false) {
        Str part = str_take(&name, '.');
        int64_t number;
        buf_puts(out, first ? "" : ".");
        buf_add(out, str_to_int(part, &number) ? STR("*") : part);
    }
}

typedef struct {
    Str name, pattern, dtype, shape, parts;
    int n;
} InfoRow;

static InfoRow parameter_row(Arena *arena, const Json *value)
{
    Buf name = buf_new(arena), parts = buf_new(arena), shape = buf_new(arena);
    put_pattern(json_str(json_get(value, "name"), ""), &name);
    put_pattern(json_str(json_get(value, "parts"), ""), &parts);
    shape_text(json_get(value, "shape"), &shape);
    return (InfoRow){.name = json_str(json_get(value, "name"), ""),
                     .pattern = buf_str(&name),
                     .dtype = json_str(json_get(value, "dtype"), "?"),
                     .shape = buf_str(&shape),
                     .parts = buf_str(&parts)};
}

/* Those that are buffers, or those that are not: a row for those of one type and shape whose names
 * differ in numbers alone. */
static void parameters_table(const Json *values, bool buffers, Buf *out)
{
    Arena *arena = out->arena;
    InfoRow *rows = arena_array(arena, InfoRow, json_size(values));
    Intern *keys = intern_new(arena);
    int n_rows = 0;
    bool stacked = false;
    for (int i = 0; i < json_size(values); i++) {
        if (json_bool(json_get(json_at(values, i), "buffer"), false) != buffers)
            continue;
        InfoRow row = parameter_row(arena, json_at(values, i));
        const char *key = arena_printf(arena, "%.*s %.*s %.*s", STR_ARG(row.pattern),
                                       STR_ARG(row.dtype), STR_ARG(row.shape));
        int at = intern_put(keys, key, strlen(key));
        if (at == n_rows)
            rows[n_rows++] = row;
        rows[at].n++;
        stacked |= row.parts.n > 0;
    }
    TableColumn columns[] = {{buffers ? "BUFFERS" : "PARAMETERS", 0},
                             {"TYPE", 0},
                             {"SHAPE", 0},
                             {"TENSORS", -9},
                             {"IN CHECKPOINTS", 0}};
    Table *table = table_new(arena, columns, stacked ? 5 : 4);
    for (int i = 0; i < n_rows; i++) {
        table_cell(table, rows[i].n > 1 ? rows[i].pattern : rows[i].name);
        table_cell(table, rows[i].dtype);
        table_cell(table, rows[i].shape);
        table_cell(table, str_from(arena_printf(arena, "%d", rows[i].n)));
        if (stacked)
            table_cell(table, rows[i].parts);
    }
    if (n_rows > 0) {
        buf_putc(out, '\n');
        table_format(table, "", out);
    }
}

/* ---- the two forms ---- */

static Json *info_json(const Cli *cli, const Session *session)
{
    const Graph *graph = session->graph;
    Json *out = json_object();
    json_set_int(out, "ops", session->inferred->n_program);
    json_set_int(out, "host_ops", graph->n_ops - session->inferred->n_program);
    json_set_int(out, "nodes", graph->n_nodes);
    json_set_int(out, "tensors", graph->n_tensors);
    json_set_int(out, "params", inferred_params(session->inferred));
    json_set_int(out, "opset", graph->opset);
    json_set(out, "parameters", parameters_json(session));
    json_set(out, "inputs", values_json(session, graph->inputs, graph->n_inputs));
    json_set(out, "outputs", values_json(session, graph->outputs, graph->n_outputs));
    if (cli->options.values) {
        int32_t *values;
        int n = all_values(session, cli->arena, &values);
        json_set(out, "values", all_values_json(session, values, n));
    }
    if (graph->n_ranges > 0)
        json_set(out, "dims", dims_json(session));
    return out;
}

/* Columns that only some files have something for. */
static const struct {
    const char *key, *title;
} more_columns[] = {{"declared", "DECLARED"}, {"module", "MODULE"}, {"same_as", "SAME AS"}};
enum { N_MORE = sizeof more_columns / sizeof *more_columns };

static void put_shape_cell(Table *table, Arena *arena, const Json *shape)
{
    Buf text = buf_new(arena);
    if (shape)
        shape_text(shape, &text);
    table_cell(table, buf_str(&text));
}

static void values_table(const Json *values, const char *what, Buf *out)
{
    TableColumn columns[3 + N_MORE] = {{what, 0}, {"TYPE", 0}, {"SHAPE", 0}};
    bool has[N_MORE] = {false};
    int n_columns = 3;
    for (int k = 0; k < N_MORE; k++) {
        for (int i = 0; i < json_size(values) && !has[k]; i++)
            has[k] = json_get(json_at(values, i), more_columns[k].key);
        if (has[k])
            columns[n_columns++] = (TableColumn){more_columns[k].title, 0};
    }
    Table *table = table_new(out->arena, columns, n_columns);
    for (int i = 0; i < json_size(values); i++) {
        const Json *value = json_at(values, i);
        table_cell(table, json_str(json_get(value, "name"), ""));
        table_cell(table, json_str(json_get(value, "dtype"), "?"));
        if (json_get(value, "listed"))
            table_cell(table, json_str(json_get(value, "listed"), ""));
        else
            put_shape_cell(table, out->arena, json_get(value, "shape"));
        for (int k = 0; k < N_MORE; k++) {
            const Json *more = json_get(value, more_columns[k].key);
            if (has[k] && json_is_string(more))
                table_cell(table, json_str(more, ""));
            else if (has[k])
                put_shape_cell(table, out->arena, more);
        }
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static Str number_text(Arena *arena, const Json *number)
{
    return json_is_null(number) ? STR("-")
                                : str_from(arena_printf(arena, "%" PRId64, json_int(number, 0)));
}

static void dims_table(const Json *dims, Buf *out)
{
    TableColumn columns[] = {{"DIMS", 0}, {"SIZE", -6}, {"LEAST", -6}, {"MOST", -6}};
    Table *table = table_new(out->arena, columns, 4);
    for (int i = 0; i < json_size(dims); i++) {
        const Json *dim = json_at(dims, i);
        table_cell(table, json_str(json_get(dim, "name"), ""));
        table_cell(table, number_text(out->arena, json_get(dim, "size")));
        table_cell(table, number_text(out->arena, json_get(dim, "least")));
        table_cell(table, number_text(out->arena, json_get(dim, "most")));
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static void info_text(const Session *session, const Json *info, Buf *out)
{
    static const char *const counts[] = {"ops", "host_ops", "nodes", "tensors", "params", "opset"};
    buf_printf(out, "%-9s %s\n", "model", session->graph->file);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        buf_printf(out, "%-9s ", counts[i]);
        units_format_count(json_int(json_get(info, counts[i]), 0), out);
        buf_putc(out, '\n');
    }
    values_table(json_get(info, "inputs"), "INPUTS", out);
    values_table(json_get(info, "outputs"), "OUTPUTS", out);
    if (json_get(info, "dims"))
        dims_table(json_get(info, "dims"), out);
    parameters_table(json_get(info, "parameters"), false, out);
    parameters_table(json_get(info, "parameters"), true, out);
    if (json_get(info, "values"))
        values_table(json_get(info, "values"), "VALUES", out);
}

int cli_info(Cli *cli)
{
    Session *session = cli_open_model(cli);
    if (!session)
        return cli_fail(cli);
    Json *info = info_json(cli, session);
    if (cli->options.json) {
        cli_write_json(cli, info);
    } else {
        info_text(session, info, &cli->out);
        json_free(info);
    }
    session_close(session);
    return CLI_FINE;
}
