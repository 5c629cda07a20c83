/* Gradients of a user's operator that a function of the user builds of ops. The ops are inferred as
 * a small graph whose inputs are the op's inputs, outputs and gradients; then they are added to the
 * step. Equal ops are built once. */
#include "core/step/deriving.h"

/* The operator set by which the ops are read, as those of model files are. */
enum { BUILT_OPSET = 23 };

typedef struct {
    Deriving *d;
    int32_t op;
    const int32_t *gradient;             /* of each output, in the step; -1: none */
    int32_t *input, *output, *dy, *made; /* in the small graph */
    GraphBuilder *builder;
} Building;

/* ---- the small graph ---- */

static int32_t add_input(const Building *b, char letter, const char *stem, int i, int32_t like)
{
    DeclaredDim dims[DIMS_MAX];
    const Deriving *d = b->d;
    const Shape *shape = inferred_shape(d->model, like);
    if (!shape)
        return -1;
    for (int64_t k = 0; k < shape->n_dims; k++)
        dims[k] = (DeclaredDim){.size = shape->dim[k]};
    const char *name = arena_printf(d->scratch, "%s%c%d", stem, letter, i);
    int32_t t = graph_tensor(b->builder, str_from(name));
    graph_add_input(b->builder, t, (Dtype)d->model->dtype[like], dims, (int)shape->n_dims);
    return t;
}

static void add_inputs(const Building *b)
{
    const Graph *graph = b->d->graph;
    for (int i = 0; i < graph->ops[b->op].n_inputs; i++) {
        int32_t t = op_inputs(graph, b->op)[i];
        b->input[i] = t < 0 ? -1 : add_input(b, 'x', "", i, t);
        b->made[i] = -1;
    }
    for (int o = 0; o < graph->ops[b->op].n_outputs; o++) {
        int32_t t = op_outputs(graph, b->op)[o];
        b->output[o] = t < 0 ? -1 : add_input(b, 'y', "", o, t);
        b->dy[o] = b->gradient[o] < 0 ? -1 : add_input(b, 'y', "d", o, t);
    }
}

/* Each gradient is the output of an op of its own. */
static void name_results(const Building *b)
{
    const GraphOp *node = &b->d->graph->ops[b->op];
    for (int i = 0; i < node->n_inputs; i++) {
        if (b->made[i] < 0)
            continue;
        Str name = str_from(arena_printf(b->d->scratch, "dx%d", i));
        int32_t t = graph_tensor(b->builder, name);
        graph_add_op(b->builder, STR("Identity"), name, STR(""), &b->made[i], 1, &t, 1, 0);
        graph_add_output(b->builder, t);
        b->made[i] = t;
    }
}

static bool check_results(const Building *b, const Inferred *built, Error *err)
{
    const Deriving *d = b->d;
    for (int i = 0; i < d->graph->ops[b->op].n_inputs; i++) {
        int32_t made = b->made[i], x = op_inputs(d->graph, b->op)[i];
        if (made < 0)
            continue;
        if (built->shape[made] == d->model->shape[x] && built->dtype[made] == d->model->dtype[x])
            continue;
        Buf text = buf_new(d->scratch);
        inferred_put_shape(built, made, &text);
        buf_printf(&text, " %s, and the input is ", dtype_name((Dtype)built->dtype[made]));
        inferred_put_shape(d->model, x, &text);
        buf_printf(&text, " %s", dtype_name((Dtype)d->model->dtype[x]));
        return error_kind(err, ERROR_SCRIPT, "what it returns for input %d is %s", i, text.s);
    }
    return true;
}

static const Inferred *infer_built(const Building *b, Error *err)
{
    const DimBindings none = {0};
    name_results(b);
    Graph *graph = graph_seal(b->builder, err);
    const Inferred *built =
        graph ? infer(b->d->arena, graph, b->d->model->registry, &none, false, err) : NULL;
    return built && check_results(b, built, err) ? built : NULL;
}

/* Ops of one space, with the same gradients given, have the same. */
static BuiltGradient *built_of(Deriving *d, int32_t op, const int32_t *gradient)
{
    const GraphOp *node = &d->graph->ops[op];
    Vec32 key = {0};
    vec_push(d->scratch, &key, node->op_type);
    vec_push(d->scratch, &key, node->attrs);
    vec_push(d->scratch, &key, d->model->space[op]);
    for (int o = 0; o < node->n_outputs; o++)
        vec_push(d->scratch, &key, gradient[o] >= 0);
    if (!d->built_keys)
        d->built_keys = intern_new(d->scratch);
    int32_t id = intern_put(d->built_keys, key.at, (size_t)key.n * sizeof *key.at);
    if (id == d->built.n)
        vec_push(d->scratch, &d->built, ((BuiltGradient){0}));
    return &d->built.at[id];
}

static bool build(Deriving *d, int32_t op, const UserOp *user, const int32_t *gradient,
                  BuiltGradient *out)
{
    const GraphOp *node = &d->graph->ops[op];
    Building b = {.d = d, .op = op, .gradient = gradient};
    b.builder = graph_builder_like(d->arena, d->graph);
    graph_builder_graph(b.builder)->opset = BUILT_OPSET;
    b.input = arena_array(d->scratch, int32_t, node->n_inputs);
    b.made = arena_array(d->scratch, int32_t, node->n_inputs);
    b.output = arena_array(d->scratch, int32_t, node->n_outputs);
    b.dy = arena_array(d->scratch, int32_t, node->n_outputs);
    add_inputs(&b);
    GradientBuild asked = {d->arena, d->model, op, b.builder, b.input, b.output, b.dy, b.made};
    Error inner = {0};
    if (user->gradient(user->context, &asked, &inner))
        out->inferred = infer_built(&b, &inner);
    out->input = b.input;
    out->output = b.output;
    out->dy = b.dy;
    out->made = b.made;
    if (out->inferred)
        return true;
    error_kind(d->err, inner.kind, "the gradient of op '%s' (%s): %s", op_name(d->graph, op),
               op_operator(d->graph, op), inner.text);
    return error_hint(d->err, "%s", inner.hint);
}

/* ---- into the step ---- */

/* Tensors of the small graph that are there: to[] by tensor. */
static int32_t *map_inputs(Deriving *d, int32_t op, const BuiltGradient *built,
                           const int32_t *gradient)
{
    const Graph *graph = d->graph;
    int n = built->inferred->graph->n_tensors;
    int32_t *to = arena_array(d->scratch, int32_t, n);
    memset(to, -1, (size_t)n * sizeof *to);
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (built->input[i] >= 0 && tensor_n_uses(built->inferred->graph, built->input[i]) > 0)
            to[built->input[i]] = derive_read_again(d, op_inputs(graph, op)[i]);
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        if (built->output[o] >= 0)
            to[built->output[o]] = op_outputs(graph, op)[o];
        if (built->dy[o] >= 0)
            to[built->dy[o]] = gradient[o];
    }
    return to;
}

static int32_t add_space(Deriving *d, const BuiltGradient *built, int32_t op)
{
    const Inferred *from = built->inferred;
    if (inferred_is_host(from, op))
        return -1;
    Vec32 key = {0};
    vec_push(d->scratch, &key, -2);
    vec_push(d->scratch, &key, (int32_t)(built - d->built.at));
    vec_push(d->scratch, &key, from->space[op]);
    int32_t known = extension_space(d->more, &key);
    if (known >= 0)
        return known;
    OpSpace *copy = arena_make(d->arena, OpSpace);
    *copy = *program_space(from, op);
    return extension_add_space(d->more, copy);
}

static void add_op(Deriving *d, int32_t of, const BuiltGradient *built, int32_t op, int32_t *to)
{
    const Inferred *from = built->inferred;
    const GraphOp *node = &from->graph->ops[op];
    const AttrList *attrs = &from->graph->attr_lists[node->attrs];
    int32_t *inputs = arena_array(d->scratch, int32_t, node->n_inputs);
    int32_t name = extension_word(d->more, arena_printf(d->scratch, "%s~%s", op_name(d->graph, of),
                                                        op_name(from->graph, op)));
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(from->graph, op)[i];
        inputs[i] = t < 0 ? -1 : to[t];
    }
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t t = op_outputs(from->graph, op)[o];
        if (t < 0 || to[t] >= 0)
            continue;
        const char *end = o == 0 ? "" : arena_printf(d->scratch, "#%d", o);
        to[t] = extension_tensor(d->more, extension_name(d->more, name, end), from->shape[t],
                                 (Dtype)from->dtype[t], -1);
        extension_set_value(d->more, to[t], inferred_value(from, t));
    }
    int32_t *outputs = arena_array(d->scratch, int32_t, node->n_outputs);
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t t = op_outputs(from->graph, op)[o];
        outputs[o] = t < 0 ? -1 : to[t];
    }
    derive_op_of(d, of,
                 (NewStepOp){.op_type = extension_word(d->more, op_operator(from->graph, op)),
                             .name = name,
                             .inputs = inputs,
                             .n_inputs = node->n_inputs,
                             .outputs = outputs,
                             .n_outputs = node->n_outputs,
                             .attrs = graph_add_attrs_of_opset(d->more->builder, attrs->at,
                                                               attrs->n, BUILT_OPSET),
                             .space = add_space(d, built, op),
                             .phase = PHASE_BACKWARD});
}

/* Gives the gradients that are wanted their tensors; marks the ops that make them. */
static bool *find_needed(Deriving *d, int32_t op, const BuiltGradient *built, int32_t *to)
{
    const Graph *graph = built->inferred->graph;
    bool *tensor = arena_array(d->scratch, bool, graph->n_tensors);
    bool *needed = arena_array(d->scratch, bool, graph->n_ops);
    for (int i = 0; i < d->graph->ops[op].n_inputs; i++) {
        if (built->made[i] < 0 || !derive_wants(d, op, i))
            continue;
        int32_t name = derive_addend_name(d, op, i);
        to[built->made[i]] = derive_tensor(d, name, op_inputs(d->graph, op)[i], true);
        tensor[built->made[i]] = true;
    }
    for (int32_t k = graph->n_ops; k-- > 0;) {
        for (int o = 0; o < graph->ops[k].n_outputs; o++)
            needed[k] |= op_outputs(graph, k)[o] >= 0 && tensor[op_outputs(graph, k)[o]];
        for (int i = 0; needed[k] && i < graph->ops[k].n_inputs; i++)
            if (op_inputs(graph, k)[i] >= 0)
                tensor[op_inputs(graph, k)[i]] = true;
    }
    return needed;
}

bool derive_built(Deriving *d, int32_t op, const UserOp *user, const int32_t *gradient)
{
    BuiltGradient *built = built_of(d, op, gradient);
    if (!built->inferred && !build(d, op, user, gradient, built))
        return false;
    int32_t *to = map_inputs(d, op, built, gradient);
    const bool *needed = find_needed(d, op, built, to);
    for (int32_t k = 0; k < built->inferred->graph->n_ops; k++)
        if (needed[k])
            add_op(d, op, built, k, to);
    for (int i = 0; i < d->graph->ops[op].n_inputs; i++)
        if (built->made[i] >= 0 && to[built->made[i]] >= 0)
            derive_addend(d, op_inputs(d->graph, op)[i], to[built->made[i]], op);
    return true;
}
