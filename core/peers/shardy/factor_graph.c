#include "core/peers/shardy/factor_graph.h"

#include "core/base/names.h"
#include "core/rules/one_op.h"

typedef struct {
    Arena *arena;
    FactorGraph *graph;
    Names *names;        /* of values */
    int32_t *value_of;   /* by name: value + 1 */
    int n_named, n_body; /* inputs of regions so far */
    Error *err;
} GraphReader;

/* ---- meshes ---- */

static FactorMeshes *read_meshes(Arena *arena, const Json *request, Error *err)
{
    const Json *named = json_get(request, "meshes");
    FactorMeshes *meshes = arena_make(arena, FactorMeshes);
    meshes->n = named ? json_size(named) : 1;
    meshes->name = arena_array(arena, const char *, meshes->n);
    meshes->at = arena_array(arena, const Mesh *, meshes->n);
    if (named && (!json_is_object(named) || meshes->n == 0)) {
        error_set(err, "\"meshes\" must be an object of meshes by name");
        return NULL;
    }
    for (int m = 0; m < meshes->n; m++) {
        const char *name = named ? arena_str(arena, str_from(json_key_at(named, m))) : NULL;
        meshes->name[m] = name;
        meshes->at[m] =
            mesh_from_json(arena, json_get(named ? named : request, named ? name : "mesh"), err);
        if (!meshes->at[m])
            return NULL;
    }
    return meshes;
}

const Mesh *factor_graph_mesh(const FactorGraph *graph, const TensorSharding *sharding)
{
    return graph->meshes->at[sharding->mesh < 0 ? 0 : sharding->mesh];
}

Json *factor_graph_sharding_json(Arena *arena, const FactorGraph *graph,
                                 const TensorSharding *sharding)
{
    Json *out = tensor_sharding_to_json(arena, factor_graph_mesh(graph, sharding), sharding);
    if (sharding->mesh >= 0 && graph->meshes->name[sharding->mesh])
        json_set_str(out, "mesh", graph->meshes->name[sharding->mesh]);
    return out;
}

static bool read_sharding(GraphReader *reader, int n_dims, const Json *value, TensorSharding *out)
{
    const FactorMeshes *meshes = reader->graph->meshes;
    const Json *name = json_get(value, "mesh");
    int m = 0;
    while (name && m < meshes->n && meshes->name[m] &&
           !str_eq(str_from(meshes->name[m]), json_str(name, "")))
        m++;
    if (m == meshes->n)
        return error_kind(reader->err, ERROR_UNBOUND, "there is no mesh '%.*s'",
                          STR_ARG(json_str(name, "")));
    if (!tensor_sharding_from_json(meshes->at[m], n_dims, value, out, reader->err))
        return false;
    if (out->mesh >= 0)
        out->mesh = m;
    return true;
}

/* ---- values ---- */

static int add_value(GraphReader *reader, Str name, FactorValue value)
{
    int32_t id = names_intern(reader->names, name);
    value.name = names_text(reader->names, id);
    value.maker = -1;
    vec_push(reader->arena, &reader->graph->values, value);
    while (reader->n_named <= id) {
        reader->value_of = arena_array(reader->arena, int32_t, 2 * id + 64);
        reader->n_named = 2 * id + 64;
        for (int v = 0; v < reader->graph->values.n; v++)
            reader
                ->value_of[names_find(reader->names, str_from(reader->graph->values.at[v].name))] =
                v + 1;
    }
    reader->value_of[id] = reader->graph->values.n;
    return reader->graph->values.n - 1;
}

static int find_value(GraphReader *reader, Str name)
{
    int32_t id = names_find(reader->names, name);
    int value = id >= 0 && id < reader->n_named ? reader->value_of[id] - 1 : -1;
    if (value < 0)
        error_kind(reader->err, ERROR_UNBOUND, "there is no value '%.*s'", STR_ARG(name));
    return value;
}

/* A value with an unknown size is no tensor, like one whose shape is null. */
static bool read_shape(GraphReader *reader, const Json *json, FactorValue *value)
{
    const Json *shape = json_get(json, "shape");
    if (!shape || json_is_null(shape))
        return true;
    if (!one_op_shape_json(shape, -1, &value->shape, reader->err))
        return false;
    value->is_tensor = true;
    for (int64_t d = 0; d < value->shape.n_dims; d++)
        value->is_tensor &= value->shape.dim[d] >= 0;
    return !value->is_tensor || shape_check(&value->shape, reader->err);
}

static bool read_value(GraphReader *reader, const char *name, const Json *json)
{
    FactorValue value = {.dtype = dtype_from_name(json_str(json_get(json, "dtype"), "f32"))};
    if (!read_shape(reader, json, &value) ||
        !read_sharding(reader, (int)value.shape.n_dims, json_get(json, "sharding"),
                       &value.sharding))
        return false;
    add_value(reader, str_from(name), value);
    return true;
}

static bool read_list(GraphReader *reader, const Json *list, int *n, int **out)
{
    *n = json_size(list);
    *out = arena_array(reader->arena, int, *n);
    if (list && !json_is_array(list))
        return error_set(reader->err, "values must be a list of names");
    for (int i = 0; i < *n; i++) {
        (*out)[i] = find_value(reader, json_str(json_at(list, i), ""));
        if ((*out)[i] < 0)
            return false;
    }
    return true;
}

/* ---- ops ---- */

const FactorRule *factor_identity_rule(Arena *arena, const Shape *shape, int n_sources)
{
    int n = (int)shape->n_dims, *at = arena_array(arena, int, n);
    FactorRule *rule = arena_make(arena, FactorRule);
    *rule = (FactorRule){.n_factors = n, .n_operands = n_sources, .n_results = 1};
    rule->factor = arena_array(arena, Factor, n);
    rule->tensor = arena_array(arena, FactorTensor, n_sources + 1);
    for (int d = 0; d < n; d++) {
        rule->factor[d] = (Factor){.size = shape->dim[d], .type = FACTOR_PASS_THROUGH};
        at[d] = d;
        for (int t = 0; t <= n_sources; t++) {
            rule->tensor[t].n_dims = n;
            rule->tensor[t].dim[d] = (FactorDim){1, &at[d]};
        }
    }
    return rule;
}

static FactorOpKind kind_of(Str op)
{
    static const struct {
        const char *names;
        FactorOpKind kind;
    } kinds[] = {
        {"sdy.sharding_constraint", FACTOR_CONSTRAINT},
        {"sdy.reshard", FACTOR_RESHARD},
        {"sdy.sharding_group", FACTOR_GROUP},
        {"sdy.propagation_barrier", FACTOR_BARRIER},
        {"sdy.data_flow_edge", FACTOR_EDGE},
        {"sdy.manual_computation", FACTOR_MANUAL},
        {"sdy.return stablehlo.return", FACTOR_RETURN},
        {"stablehlo.case stablehlo.optimization_barrier", FACTOR_TIED},
        {"stablehlo.constant sdy.constant stablehlo.iota", FACTOR_CONSTANT},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_has_word(str_from(kinds[i].names), op))
            return kinds[i].kind;
    return FACTOR_PLAIN;
}

static bool check_rule(const GraphReader *reader, const FactorOp *op)
{
    const FactorRule *rule = op->rule;
    if (rule->n_operands != op->n_inputs || rule->n_results != op->n_outputs)
        return error_kind(reader->err, ERROR_INVALID,
                          "the rule of %s has %d operands and %d results", op->op, rule->n_operands,
                          rule->n_results);
    for (int t = 0; t < op->n_inputs + op->n_outputs; t++) {
        int v = t < op->n_inputs ? op->input[t] : op->output[t - op->n_inputs];
        const FactorValue *value = &reader->graph->values.at[v];
        if (rule->tensor[t].n_dims != value->shape.n_dims)
            return error_kind(reader->err, ERROR_RANK, "%s: the rule has %d dims for '%s'", op->op,
                              rule->tensor[t].n_dims, value->name);
    }
    return true;
}

static const FactorSource *sources_of(const GraphReader *reader, const FactorOp *op)
{
    const FactorGraph *graph = reader->graph;
    FactorSource *source = arena_array(reader->arena, FactorSource, op->n_inputs);
    for (int i = 0; i < op->n_inputs; i++) {
        const FactorValue *value = &graph->values.at[op->input[i]];
        const FactorOp *maker = value->maker >= 0 ? &graph->ops.at[value->maker] : NULL;
        source[i] = (FactorSource){STR("arg"), str_from(value->name)};
        if (maker && str_eq(str_from(maker->op), STR("stablehlo.slice")))
            source[i] = (FactorSource){str_from(maker->op),
                                       str_from(graph->values.at[maker->input[0]].name)};
        else if (maker && str_ends(str_from(maker->op), STR(".constant")))
            source[i].op = STR("constant");
    }
    return source;
}

static bool feeds_rng(const Json *ops, const Json *outputs)
{
    for (int i = 0; i < json_size(ops); i++) {
        const Json *op = json_at(ops, i), *inputs = json_get(op, "inputs");
        if (str_eq(json_str(json_get(op, "op"), ""), STR("stablehlo.rng_bit_generator")) &&
            str_eq(json_str(json_at(inputs, 0), ""), json_str(json_at(outputs, 0), "?")))
            return true;
    }
    return false;
}

/* Finds the rule of an operator. An operator without a rule is not an error. */
static bool find_rule(GraphReader *reader, FactorOp *op, const Json *ops, const Json *json)
{
    int n = op->n_inputs + op->n_outputs;
    Shape *shape = arena_array(reader->arena, Shape, n);
    Dtype *dtype = arena_array(reader->arena, Dtype, n);
    for (int t = 0; t < n; t++) {
        int v = t < op->n_inputs ? op->input[t] : op->output[t - op->n_inputs];
        const FactorValue *value = &reader->graph->values.at[v];
        if (!value->is_tensor)
            return true;
        shape[t] = value->shape;
        dtype[t] = value->dtype;
    }
    OneOp one = {.op_type = str_from(op->op)};
    OneOpBuilder *builder = one_op_new(reader->arena, &one);
    if (!one_op_attr_json(builder, json_get(json, "attrs"), reader->err))
        return false;
    FactorCall *call = arena_make(reader->arena, FactorCall);
    *call = (FactorCall){.op = op->op,
                         .graph = one_op_graph(builder, reader->err),
                         .n_operands = op->n_inputs,
                         .n_results = op->n_outputs,
                         .shape = shape,
                         .dtype = dtype,
                         .source = sources_of(reader, op),
                         .feeds_rng = feeds_rng(ops, json_get(json, "outputs")),
                         .conservative = reader->graph->conservative};
    Error refused = {0};
    op->call = call;
    op->rule = call->graph ? factor_rule_for(reader->arena, call, &refused) : NULL;
    if (op->rule || !call->graph || refused.kind == ERROR_UNSUPPORTED)
        return call->graph != NULL;
    return error_kind(reader->err, refused.kind, "%s: %s", op->op, refused.text);
}

static bool read_rule(GraphReader *reader, FactorOp *op, const Json *ops, const Json *json)
{
    const Json *text = json_get(json, "rule");
    if (json_is_string(text)) {
        Source source = {"rule", json_str(text, "")};
        op->rule = factor_rule_read(reader->arena, &source, reader->err);
        return op->rule && check_rule(reader, op);
    }
    if (op->kind == FACTOR_CONSTRAINT || op->kind == FACTOR_BARRIER || op->kind == FACTOR_EDGE) {
        const FactorValue *value = &reader->graph->values.at[op->output[0]];
        if (value->is_tensor)
            op->rule = factor_identity_rule(reader->arena, &value->shape, 1);
        return !op->rule || check_rule(reader, op);
    }
    if (op->kind != FACTOR_PLAIN)
        return true;
    const FactorValue *first = op->n_inputs > 0 ? &reader->graph->values.at[op->input[0]] : NULL;
    const FactorValue *result = op->n_outputs > 0 ? &reader->graph->values.at[op->output[0]] : NULL;
    op->elementwise = factor_op_is_elementwise(op->op) &&
                      (!first || !result || shape_equal(&first->shape, &result->shape));
    return find_rule(reader, op, ops, json);
}

static bool read_sdy(GraphReader *reader, FactorOp *op, const Json *attrs)
{
    bool one_to_one = op->kind == FACTOR_CONSTRAINT || op->kind == FACTOR_BARRIER ||
                      op->kind == FACTOR_EDGE || op->kind == FACTOR_RESHARD;
    if (one_to_one && (op->n_inputs != 1 || op->n_outputs != 1))
        return error_kind(reader->err, ERROR_INVALID, "%s needs one input and one output", op->op);
    if (op->kind == FACTOR_GROUP) {
        op->group = json_int(json_get(attrs, "group_id"), -1);
        if (op->n_inputs != 1 || op->group < 0)
            return error_kind(reader->err, ERROR_INVALID, "%s needs one input and a group_id",
                              op->op);
    }
    op->pass = PASS_BOTH;
    if (op->kind != FACTOR_BARRIER)
        return true;
    Str direction = json_str(json_get(attrs, "direction"), "");
    for (int p = PASS_NONE; p <= PASS_BOTH; p++)
        if (str_eq(direction, str_from(pass_name((Pass)p)))) {
            op->pass = (Pass)p;
            return true;
        }
    return error_kind(reader->err, ERROR_INVALID, "'%.*s' is not a direction of a barrier",
                      STR_ARG(direction));
}

/* ---- manual computations ---- */

static bool read_shardings(GraphReader *reader, const Json *list, const int *value, int n,
                           TensorSharding **out)
{
    *out = arena_array(reader->arena, TensorSharding, n);
    if (json_size(list) != n)
        return error_kind(reader->err, ERROR_INVALID,
                          "a manual computation needs one sharding per tensor");
    for (int i = 0; i < n; i++)
        if (!read_sharding(reader, (int)reader->graph->values.at[value[i]].shape.n_dims,
                           json_at(list, i), &(*out)[i]))
            return false;
    return true;
}

/* The shape of the part that one device of the manual axes holds. */
static Shape manual_part(const FactorOp *op, const Shape *shape, const TensorSharding *sharding)
{
    Shape part = *shape;
    for (int d = 0; d < sharding->n_dims; d++) {
        const AxisList *axes = &sharding->dim[d].axes;
        for (int i = 0; i < axes->n; i++)
            for (int m = 0; m < op->manual.n; m++)
                if (axis_ref_contains(&op->manual.at[m], &axes->at[i]))
                    part.dim[d] /= axes->at[i].size;
    }
    return part;
}

static bool read_manual(GraphReader *reader, FactorOp *op, const Json *json)
{
    const Json *manual = json_get(json, "manual_axes");
    for (int i = 0; i < json_size(manual); i++) {
        AxisRef ref;
        if (!axis_ref_parse(reader->graph->meshes->at[0], json_str(json_at(manual, i), ""), &ref,
                            reader->err))
            return false;
        for (int m = 0; m < op->manual.n; m++)
            if (axis_refs_overlap(&op->manual.at[m], &ref))
                return error_kind(reader->err, ERROR_DUPLICATE, "a manual axis is listed twice");
        axis_list_add(&op->manual, ref);
    }
    axis_list_sort(&op->manual);
    if (!read_shardings(reader, json_get(json, "in_shardings"), op->input, op->n_inputs, &op->in) ||
        !read_shardings(reader, json_get(json, "out_shardings"), op->output, op->n_outputs,
                        &op->out))
        return false;
    op->n_body = op->n_inputs;
    op->body = arena_array(reader->arena, int, op->n_body);
    for (int i = 0; i < op->n_body; i++) {
        const FactorValue *given = &reader->graph->values.at[op->input[i]];
        FactorValue value = {.is_tensor = given->is_tensor,
                             .dtype = given->dtype,
                             .shape = manual_part(op, &given->shape, &op->in[i]),
                             .sharding = tensor_sharding_open((int)given->shape.n_dims)};
        const char *name =
            arena_printf(reader->arena, "%%arg%d", reader->graph->n_inputs + reader->n_body++);
        op->body[i] = add_value(reader, str_from(name), value);
    }
    return true;
}

/* ---- all of it ---- */

static bool place_outputs(GraphReader *reader, const FactorOp *op, int place)
{
    for (int i = 0; i < op->n_outputs; i++) {
        FactorValue *value = &reader->graph->values.at[op->output[i]];
        if (value->maker >= 0)
            return error_kind(reader->err, ERROR_DUPLICATE, "value '%s' has two producers",
                              value->name);
        value->maker = place;
    }
    for (int i = 0; i < op->n_inputs; i++)
        if (reader->graph->values.at[op->input[i]].maker == place)
            return error_kind(reader->err, ERROR_INVALID, "%s reads '%s', its own result", op->op,
                              reader->graph->values.at[op->input[i]].name);
    return true;
}

static bool read_op(GraphReader *reader, const Json *ops, const Json *json)
{
    FactorGraph *graph = reader->graph;
    const Json *attrs = json_get(json, "attrs"), *region = json_get(json, "region_of");
    FactorOp op = {.op = arena_str(reader->arena, json_str(json_get(json, "op"), "")),
                   .callee = json_str(json_get(attrs, "callee"), ""),
                   .region_of = -1};
    op.kind = kind_of(str_from(op.op));
    if (region) {
        int value = find_value(reader, json_str(region, ""));
        if (value < 0)
            return false;
        op.region_of = graph->values.at[value].maker;
    }
    if (!read_list(reader, json_get(json, "inputs"), &op.n_inputs, &op.input) ||
        !read_list(reader, json_get(json, "outputs"), &op.n_outputs, &op.output) ||
        !place_outputs(reader, &op, graph->ops.n) || !read_sdy(reader, &op, attrs) ||
        (op.kind == FACTOR_MANUAL && !read_manual(reader, &op, json)) ||
        !read_rule(reader, &op, ops, json))
        return false;
    vec_push(reader->arena, &graph->ops, op);
    return true;
}

static bool read_outputs(GraphReader *reader, const Json *outputs)
{
    FactorGraph *graph = reader->graph;
    graph->n_outputs = json_size(outputs);
    graph->output = arena_array(reader->arena, FactorOutput, graph->n_outputs);
    for (int i = 0; i < graph->n_outputs; i++) {
        const Json *output = json_at(outputs, i);
        int value = find_value(reader, json_str(json_get(output, "value"), ""));
        graph->output[i].value = value;
        if (value < 0 || !read_sharding(reader, (int)graph->values.at[value].shape.n_dims,
                                        json_get(output, "sharding"), &graph->output[i].sharding))
            return false;
    }
    return true;
}

FactorGraph *factor_graph_read(Arena *arena, const Json *request, Error *err)
{
    const Json *json = json_get(request, "graph"), *values = json_get(json, "values");
    const Json *ops = json_get(json, "ops");
    FactorGraph *graph = arena_make(arena, FactorGraph);
    GraphReader reader = {.arena = arena, .graph = graph, .names = names_new(arena), .err = err};
    reader.n_named = 64;
    reader.value_of = arena_array(arena, int32_t, reader.n_named);
    if (!json_is_object(values) || !json_is_array(ops)) {
        error_set(err, "a graph needs \"values\" and \"ops\"");
        return NULL;
    }
    graph->conservative = json_bool(json_get(request, "conservative"), false) &&
                          !str_eq(json_str(json_get(request, "strategy"), ""), STR("pipeline"));
    graph->meshes = read_meshes(arena, request, err);
    if (!graph->meshes)
        return NULL;
    for (int v = 0; v < json_size(values); v++) {
        const char *name = json_key_at(values, v);
        if (!read_value(&reader, name, json_get(values, name)))
            return NULL;
    }
    if (!read_list(&reader, json_get(json, "inputs"), &graph->n_inputs, &graph->input))
        return NULL;
    for (int i = 0; i < json_size(ops); i++)
        if (!read_op(&reader, ops, json_at(ops, i)))
            return NULL;
    return read_outputs(&reader, json_get(json, "outputs")) ? graph : NULL;
}
