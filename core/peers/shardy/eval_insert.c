/* eval_insert.c - the verb reshard.insert of the eval protocol.
 *
 * The request has `mesh` or `meshes`, and `graph` with all shardings (factor_graph.h). The answer
 * has `steps`, each with `kind`, the `value` it acts on, `to`, and the `axes` that are summed or
 * made partial; `shardings` that the ops then produce; `n_reshards`.
 */
#include "core/peers/shardy/tables.h"

#include "core/peers/shardy/factor_graph.h"
#include "core/peers/shardy/insert.h"

/* An op without a call to derive its rule from keeps the rule of the request, if any. */
static bool read_op(Arena *arena, const FactorGraph *graph, const FactorOp *op, InsertOp *out,
                    Error *err)
{
    int n = op->n_inputs + op->n_outputs, *value = arena_array(arena, int, n);
    Shape *shape = arena_array(arena, Shape, n);
    bool regions = op->region_of >= 0 || op->kind == FACTOR_MANUAL || op->kind == FACTOR_RETURN ||
                   strcmp(op->op, "stablehlo.case") == 0;
    if (regions)
        return error_kind(err, ERROR_UNSUPPORTED, "%s: reshards in regions are not inserted",
                          op->op);
    for (int t = 0; t < n; t++) {
        value[t] = t < op->n_inputs ? op->input[t] : op->output[t - op->n_inputs];
        shape[t] = graph->values.at[value[t]].shape;
    }
    *out = (InsertOp){.value = value};
    if (op->call)
        out->call = *op->call;
    else
        out->call = (FactorCall){
            .op = op->op, .n_operands = op->n_inputs, .n_results = op->n_outputs, .shape = shape};
    if (!op->call && (op->kind == FACTOR_PLAIN || op->kind == FACTOR_CONSTRAINT))
        out->rule = op->rule;
    return true;
}

static bool read_program(Arena *arena, const FactorGraph *graph, InsertProgram *out, Error *err)
{
    TensorSharding *sharding = arena_array(arena, TensorSharding, graph->values.n);
    InsertOp *op = arena_array(arena, InsertOp, graph->ops.n);
    InsertOutput *output = arena_array(arena, InsertOutput, graph->n_outputs);
    *out = (InsertProgram){
        graph->meshes->at, graph->values.n, graph->ops.n, graph->n_outputs, sharding, op, output};
    for (int v = 0; v < graph->values.n; v++)
        sharding[v] = graph->values.at[v].sharding;
    for (int i = 0; i < graph->n_outputs; i++)
        output[i] = (InsertOutput){graph->output[i].value, graph->output[i].sharding};
    for (int i = 0; i < graph->ops.n; i++)
        if (!read_op(arena, graph, &graph->ops.at[i], &op[i], err))
            return false;
    return true;
}

static Json *step_json(Arena *arena, const FactorGraph *graph, const InsertStep *step)
{
    Json *row = json_object();
    json_set_str(row, "kind", insert_kind_name(step->kind));
    json_set_str(row, "value", graph->values.at[step->value].name);
    json_set(row, "to", factor_graph_sharding_json(arena, graph, &step->to));
    if (step->axes.n > 0)
        json_set(row, "axes",
                 axis_list_to_json(arena, factor_graph_mesh(graph, &step->to), &step->axes));
    return row;
}

bool eval_insert(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    InsertProgram program;
    Inserted inserted;
    const FactorGraph *graph = factor_graph_read(arena, request, err);
    if (!graph || !read_program(arena, graph, &program, err) ||
        !insert_reshards(arena, &program, &inserted, err))
        return false;
    Json *steps = json_array(), *shardings = json_object();
    for (int i = 0; i < inserted.n_steps; i++)
        json_add(steps, step_json(arena, graph, &inserted.step[i]));
    for (int v = 0; v < graph->values.n; v++)
        if (graph->values.at[v].maker >= 0 && inserted.made[v].mesh != MESH_NONE)
            json_set(shardings, graph->values.at[v].name,
                     factor_graph_sharding_json(arena, graph, &inserted.made[v]));
    json_set(answer, "steps", steps);
    json_set(answer, "shardings", shardings);
    json_set_int(answer, "n_reshards", inserted.n_reshards);
    return true;
}
