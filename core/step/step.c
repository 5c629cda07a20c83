#include "core/step/step.h"

#include "core/rules/derivative.h"
#include "core/step/update.h"

/* Running statistics: read beside activations, and updated by the norm itself in training. */
static bool is_statistic(const Operator *row, int input)
{
    static const struct {
        const char *name;
        unsigned inputs; /* by bit */
    } norms[] = {{"BatchNormalization", 1U << 3 | 1U << 4}, {"BatchNormStats", 1U << 1 | 1U << 2}};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (row && strcmp(row->name, norms[i].name) == 0)
            return norms[i].inputs >> input & 1;
    return false;
}

/* A number of the model, as the temperature of CLIP's logits. */
static bool is_number(const Inferred *model, int32_t tensor)
{
    const Shape *shape = inferred_shape(model, tensor);
    return shape && shape->n_dims == 0;
}

/* Per tensor: a parameter that its file declares to train, or a value made of one. */
static bool *find_declared(Arena *scratch, const Inferred *model)
{
    const Graph *graph = model->graph;
    bool *declared = arena_array(scratch, bool, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        declared[t] = graph->tensors[t].trains;
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        bool found = false;
        for (int i = 0; model->on_parameters[op] && i < graph->ops[op].n_inputs; i++)
            found |= op_inputs(graph, op)[i] >= 0 && declared[op_inputs(graph, op)[i]];
        for (int o = 0; found && o < graph->ops[op].n_outputs; o++)
            if (op_outputs(graph, op)[o] >= 0)
                declared[op_outputs(graph, op)[o]] = true;
    }
    return declared;
}

/* Marks what trains, from the readers back: a value that an op reads beside activations, and what
 * is handed on to make it. Through arithmetic pass numbers and what is declared to train: an
 * initializer of another file may be a constant. */
static bool *find_trained(Arena *scratch, const Inferred *model, const OperatorRows *rows)
{
    const Graph *graph = model->graph;
    bool *trained = arena_array(scratch, bool, graph->n_tensors);
    const bool *declared = find_declared(scratch, model);
    for (int p = model->n_program - 1; p >= 0; p--) {
        int32_t op = model->program[p];
        bool reads = !model->on_parameters[op];
        for (int o = 0; o < graph->ops[op].n_outputs; o++)
            reads |= op_outputs(graph, op)[o] >= 0 && trained[op_outputs(graph, op)[o]];
        for (int i = 0; reads && i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            if (t >= 0 && !is_statistic(operator_row(rows, op), i) &&
                (!model->on_parameters[op] || operator_picks(operator_row(rows, op), i) ||
                 is_number(model, t) || declared[t]))
                trained[t] = true;
        }
    }
    return trained;
}

/* Whether an op casts or dequantizes it to a value that would train if it were not made of
 * integers. */
static bool becomes_float(const Inferred *model, int32_t tensor, const bool *trained)
{
    const Graph *graph = model->graph;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        for (int o = 0; model->on_parameters[op] && o < graph->ops[op].n_outputs; o++) {
            int32_t made = op_outputs(graph, op)[o];
            if (made >= 0 && trained[made] && dtype_is_float((Dtype)model->dtype[made]))
                return true;
        }
    }
    return false;
}

int step_integers(const Inferred *model, int32_t *first)
{
    Arena *scratch = arena_new();
    OperatorRows rows = operator_rows_new(scratch, model);
    const bool *trained = find_trained(scratch, model, &rows);
    int n = 0;
    for (int32_t t = model->graph->n_tensors - 1; t >= 0; t--)
        if (tensor_is_parameter(model, t) && !dtype_is_float((Dtype)model->dtype[t]) &&
            !model->graph->tensors[t].buffer && becomes_float(model, t, trained)) {
            *first = t;
            n++;
        }
    arena_free(scratch);
    return n;
}

/* Whether a gradient passes a reader's operand: running statistics are read, and do not train. */
static bool has_gradient(const OperatorRows *rows, int32_t tensor)
{
    const Inferred *model = rows->inferred;
    const Graph *graph = model->graph;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        const Derivative *derivative =
            derivative_find(model->registry, operator_row(rows, op), inferred_space(model, op));
        if (!derivative)
            return true; /* of a user's function, or unknown: refused, when it is reached */
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            if (op_inputs(graph, op)[i] == tensor &&
                clause_passes(derivative_clause(derivative, i)))
                return true;
    }
    return false;
}

/* Whether the op lets gradients of its outputs pass to an input that depends on the parameter;
 * *reads: whether there is such an input. */
static bool lets_pass(const Inferred *model, int32_t op, const bool *depends, bool *reads)
{
    const Graph *graph = model->graph;
    const Operator *row = inferred_operator(model, op);
    const Derivative *derivative = derivative_find(model->registry, row, inferred_space(model, op));
    bool passes = false;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || !depends[t] || !dtype_is_float((Dtype)model->dtype[t]))
            continue;
        *reads = true;
        passes |= !derivative || clause_passes(derivative_clause(derivative, i));
    }
    return passes;
}

int32_t step_stopped_by(const Inferred *model, int32_t parameter)
{
    Arena *scratch = arena_new();
    bool *depends = arena_array(scratch, bool, model->graph->n_tensors);
    int32_t by = -1;
    depends[parameter] = true;
    for (int p = 0; p < model->n_program && by < 0; p++) {
        int32_t op = model->program[p];
        bool reads = false, passes = lets_pass(model, op, depends, &reads);
        by = reads && !passes ? op : -1;
        for (int o = 0; passes && o < model->graph->ops[op].n_outputs; o++)
            if (op_outputs(model->graph, op)[o] >= 0)
                depends[op_outputs(model->graph, op)[o]] = true;
    }
    arena_free(scratch);
    return by;
}

/* The initializers that train, in the arena; returns how many. */
static int step_parameters(Arena *arena, const Inferred *model, int32_t **out)
{
    Arena *scratch = arena_new();
    OperatorRows rows = operator_rows_new(scratch, model);
    const bool *trained = find_trained(scratch, model, &rows);
    Vec(int32_t) found = {0};
    for (int32_t t = 0; t < model->graph->n_tensors; t++)
        if (tensor_is_parameter(model, t) && dtype_is_float((Dtype)model->dtype[t]) && trained[t] &&
            inferred_shape(model, t) && has_gradient(&rows, t))
            vec_push(arena, &found, t);
    arena_free(scratch);
    *out = found.at;
    return found.n;
}

/* Whether a gradient reaches what trains. */
static bool is_reached(const BackwardRequest *request, const int32_t *gradient)
{
    for (int i = 0; i < request->n_wanted; i++)
        if (gradient[request->wanted[i]] >= 0)
            return true;
    return false;
}

static bool refuse_unreached(const Inferred *model, int32_t loss, Error *err)
{
    error_kind(err, ERROR_USAGE, "nothing of the model trains");
    return error_hint(err, "the loss '%s' depends on no parameter that is not frozen",
                      tensor_name(model->graph, loss));
}

/* spec: of the update; NULL: there is none. */
static bool make(Arena *arena, const Inferred *model, const BackwardRequest *request,
                 const Loss *loss, const UpdateSpec *spec, TrainingStep *out, Error *err)
{
    Backward backward;
    Arena *scratch = arena_new();
    Extension more;
    extension_open(arena, scratch, model, &more);
    if (spec)
        update_expect(&more, spec, request->n_wanted);
    bool ok = backward_add(&more, request, &backward, err);
    if (ok && spec && !is_reached(request, backward.gradient))
        ok = refuse_unreached(model, loss->loss, err);
    *out = (TrainingStep){.seed = loss ? loss->seed : -1,
                          .scale = loss ? loss->scale : -1,
                          .loss = loss ? loss->loss : -1,
                          .n_parameters = request->n_wanted,
                          .parameter = request->wanted,
                          .gradient = backward.gradient,
                          .n_parts = backward.n_parts,
                          .part = backward.part};
    ok = ok && (!spec || update_add(&more, spec, out, err)) &&
         extension_close(&more, &out->graph, &out->inferred, err);
    arena_free(scratch);
    return ok;
}

bool step_make(Arena *arena, const Inferred *model, const Loss *loss, const int32_t *frozen,
               int n_frozen, StepShape shape, const UpdateSpec *spec, TrainingStep *out, Error *err)
{
    int32_t *parameters;
    int n = 0, n_all = step_parameters(arena, model, &parameters);
    for (int i = 0; i < n_all; i++) {
        const GraphTensor *at = &model->graph->tensors[parameters[i]];
        bool trains = !at->buffer && !at->frozen;
        for (int k = 0; k < n_frozen; k++)
            trains &= parameters[i] != frozen[k];
        if (trains)
            parameters[n++] = parameters[i];
    }
    if (n == 0) {
        error_kind(err, ERROR_USAGE, "nothing of the model trains");
        return error_hint(err, n_all > 0 ? "all its parameters are frozen"
                                         : "it has no float initializers that ops read beside "
                                           "activations: --set parameters=PATTERN makes inputs its "
                                           "parameters, --train loss=outputs has the gradients of "
                                           "all");
    }
    BackwardRequest request = {.given = &loss->loss, .given_gradient = &loss->seed, .n_given = 1};
    request.shape = shape;
    request.wanted = parameters;
    request.n_wanted = n;
    return make(arena, model, &request, loss, spec, out, err);
}

static bool has_floats(const Inferred *model, int32_t tensor)
{
    return dtype_is_float((Dtype)model->dtype[tensor]) && inferred_shape(model, tensor);
}

bool step_make_from_outputs(Arena *arena, const Inferred *model, StepShape shape, TrainingStep *out,
                            Error *err)
{
    const Graph *graph = model->graph;
    Vec(int32_t) given = {0}, wanted = {0};
    for (int i = 0; i < graph->n_outputs; i++)
        if (has_floats(model, graph->outputs[i]))
            vec_push(arena, &given, graph->outputs[i]);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        TensorKind kind = graph->tensors[t].kind;
        if ((kind == TENSOR_INPUT || kind == TENSOR_INITIALIZER) && has_floats(model, t))
            vec_push(arena, &wanted, t);
    }
    if (given.n == 0)
        return error_kind(err, ERROR_USAGE, "no output of the model has floats");
    BackwardRequest request = {
        .given = given.at, .n_given = given.n, .outputs = true, .shape = shape};
    request.wanted = wanted.at;
    request.n_wanted = wanted.n;
    return make(arena, model, &request, NULL, NULL, out, err);
}
