#include "core/step/update.h"

#include "core/rules/one_op.h"
#include "core/step/extension.h"

#include <assert.h>

/* The operator set by which the ops are read: ReduceSumSquare has `axes` as an attribute. */
enum { UPDATE_OPSET = 13, OP_ATTRS = HYPER_COUNT + 2 };

typedef struct {
    const char *name;
    bool whole;
    double value;
} UpdateAttr;

typedef struct {
    const char *op_type;
    int32_t name; /* Names id */
    int32_t input[UPDATE_STATES + OPTIMIZER_STATES_MAX];
    int n_inputs;
    const int32_t *inputs; /* instead of `input`; NULL */
    int32_t output[UPDATE_VALUES_MAX];
    int n_outputs;
    int n_attrs;
    UpdateAttr attr[OP_ATTRS];
} UpdateOp;

/* What ops of one kind share. */
typedef struct {
    const char *op_type;
    int n_attrs;
    UpdateAttr attr[OP_ATTRS];
    int32_t op_type_name, attrs; /* ids */
} UpdateKind;

typedef struct {
    Arena *arena, *scratch;
    const UpdateSpec *spec;
    int32_t rate, step;   /* tensors with one element */
    int32_t seed, scale;  /* as in Loss */
    const Inferred *base; /* of the extension: the model */
    Extension *more;
    int32_t scalar;      /* Shapes id */
    int32_t reader;      /* an op of the model beside which ops are added; -1 */
    int32_t gradient_of; /* of new tensors: Graph.gradient_of */
    int32_t factor;      /* what gradients are multiplied by; -1 */
    UpdateKind kind;     /* of the last op: most are like the one before */
    int32_t *path_of[2]; /* backward, update: per path of the model, 0 if not asked yet */
    Vec32 key;           /* of the space that is looked for */
    Error *err;
} Updating;

/* ---- tensors ---- */

static int32_t word(const Updating *u, const char *text)
{
    return extension_word(u->more, text);
}

/* stem: a Names id. */
static int32_t new_tensor(Updating *u, int32_t stem, const char *end, int32_t shape, Dtype dtype,
                          int32_t next_of)
{
    int32_t name = extension_name(u->more, stem, end);
    int32_t t = extension_tensor(u->more, name, shape, dtype, u->gradient_of);
    if (next_of >= 0)
        extension_set_next(u->more, t, next_of);
    return t;
}

/* A parameter as one part of the mesh updates it. */
typedef struct {
    int32_t parameter, gradient;
    int32_t reader; /* the first op that reads it there; -1 */
    int32_t stem;   /* of the names of what is added: the parameter's, or "T~copy1" */
    int number, n;  /* of the parts, where there are several */
} Updated;
typedef Vec(Updated) UpdatedList;

/* "~m" */
static const char *state_end(Updating *u, const UpdateValue *value)
{
    static const char *const known[] = {"~m", "~v", "~master"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i] + 1, value->name) == 0)
            return known[i];
    return arena_join(u->scratch, "~", value->name);
}

/* "T~m": an initializer that the file does not have. */
static int32_t add_state(Updating *u, const Updated *of, const UpdateValue *value)
{
    int32_t parameter = of->parameter;
    const char *end = state_end(u, value);
    int32_t t = new_tensor(u, of->stem, end, u->base->shape[parameter], value->dtype, -1);
    TensorData data = {.form = value->state == VALUE_MASTER ? DATA_ABSENT : DATA_FILL,
                       .fill = value->start};
    graph_add_initializer(u->more->builder, t, value->dtype, inferred_shape(u->base, parameter),
                          data);
    return t;
}

/* ---- ops ---- */

static void add_attr(UpdateOp *op, const char *name, bool whole, double value)
{
    op->attr[op->n_attrs].name = name;
    op->attr[op->n_attrs].whole = whole;
    op->attr[op->n_attrs++].value = value;
}

static const int32_t *inputs_of(const UpdateOp *op)
{
    return op->inputs ? op->inputs : op->input;
}

/* The space that the operator's rule gives for such operands. */
static OpSpace *rule_space_of(Updating *u, const UpdateOp *op)
{
    Shape *shape = arena_array(u->scratch, Shape, op->n_inputs);
    Dtype *dtype = arena_array(u->scratch, Dtype, op->n_inputs);
    for (int i = 0; i < op->n_inputs; i++) {
        int32_t t = inputs_of(op)[i];
        shape[i] = t < 0 ? (Shape){.n_dims = -1}
                         : *shapes_at(u->base->shapes, extension_shape_of(u->more, t));
        dtype[i] = t < 0 ? DT_F32 : extension_dtype_of(u->more, t);
    }
    OneOp one = {.op_type = str_from(op->op_type),
                 .n_inputs = op->n_inputs,
                 .n_outputs = op->n_outputs,
                 .shape = shape,
                 .dtype = dtype,
                 .opset = UPDATE_OPSET};
    OneOpBuilder *builder = one_op_new(u->arena, &one);
    for (int i = 0; i < op->n_attrs; i++)
        if (!one_op_attr_text(builder,
                              arena_printf(u->scratch, op->attr[i].whole ? "%s=%.0f" : "%s=%.17g",
                                           op->attr[i].name, op->attr[i].value),
                              u->err))
            return NULL;
    DimBindings none = {0};
    Graph *graph = one_op_graph(builder, u->err);
    Inferred *inferred =
        graph ? infer(u->arena, graph, u->base->registry, &none, false, u->err) : NULL;
    if (!inferred)
        return NULL;
    OpSpace *space = arena_make(u->arena, OpSpace);
    *space = *program_space(inferred, 0);
    return space;
}

static int32_t attrs_of(Updating *u, const UpdateOp *op)
{
    Attr attr[OP_ATTRS];
    for (int i = 0; i < op->n_attrs; i++) {
        attr[i] = (Attr){.name = word(u, op->attr[i].name),
                         .type = op->attr[i].whole ? ATTR_INT : ATTR_FLOAT};
        if (op->attr[i].whole)
            attr[i].i = (int64_t)op->attr[i].value;
        else
            attr[i].f = op->attr[i].value;
    }
    return graph_add_attrs_of_opset(u->more->builder, attr, op->n_attrs, UPDATE_OPSET);
}

static bool is_of_kind(const UpdateOp *op, const UpdateKind *kind)
{
    bool same =
        kind->op_type && strcmp(op->op_type, kind->op_type) == 0 && op->n_attrs == kind->n_attrs;
    for (int i = 0; same && i < op->n_attrs; i++) {
        const UpdateAttr *a = &op->attr[i], *b = &kind->attr[i];
        same = strcmp(a->name, b->name) == 0 && a->whole == b->whole && a->value == b->value;
    }
    return same;
}

static const UpdateKind *kind_of(Updating *u, const UpdateOp *op)
{
    UpdateKind *kind = &u->kind;
    if (is_of_kind(op, kind))
        return kind;
    *kind = (UpdateKind){.op_type = op->op_type, .n_attrs = op->n_attrs};
    memcpy(kind->attr, op->attr, sizeof kind->attr);
    kind->op_type_name = word(u, op->op_type);
    kind->attrs = attrs_of(u, op);
    return kind;
}

/* An op stands in the module that reads the parameter first, of the backward pass or the update. */
static int32_t path_of(Updating *u)
{
    static const char *const part[] = {"backward.", "update."};
    bool update = u->gradient_of < 0;
    int32_t path = u->reader < 0 ? 0 : u->base->graph->ops[u->reader].path;
    int32_t *known = &u->path_of[update][path];
    if (*known == 0)
        *known = extension_path(u->more, part[update], path);
    return *known;
}

static bool add_op(Updating *u, const UpdateOp *op)
{
    const UpdateKind *kind = kind_of(u, op);
    Vec32 *key = &u->key;
    key->n = 0;
    vec_push_own(u->scratch, key, kind->op_type_name);
    vec_push_own(u->scratch, key, kind->attrs);
    vec_push_own(u->scratch, key, op->n_outputs);
    for (int i = 0; i < op->n_inputs; i++) {
        int32_t t = inputs_of(op)[i];
        vec_push_own(u->scratch, key, t < 0 ? -1 : extension_shape_of(u->more, t));
        vec_push_own(u->scratch, key, t < 0 ? -1 : (int32_t)extension_dtype_of(u->more, t));
    }
    int32_t space = extension_space(u->more, key);
    if (space < 0) {
        OpSpace *made = rule_space_of(u, op);
        if (!made)
            return false;
        if (u->gradient_of >= 0 && op->n_inputs == 1)
            made->operand[0].linear = LINEAR_ALONE;
        space = extension_add_space(u->more, made);
    }
    NewStepOp new = {.op_type = kind->op_type_name, .path = path_of(u)};
    new.name = op->name;
    new.of = u->reader;
    new.inputs = inputs_of(op);
    new.n_inputs = op->n_inputs;
    new.outputs = op->output;
    new.n_outputs = op->n_outputs;
    new.attrs = kind->attrs;
    new.space = space;
    new.phase = u->gradient_of >= 0 ? PHASE_BACKWARD : PHASE_UPDATE;
    extension_op(u->more, &new);
    return true;
}

/* An op with one input and one output, typed so; returns the output, -1 with *err. */
static int32_t add_unary(Updating *u, const char *op_type, int32_t from, int32_t stem,
                         const char *end, int32_t shape, Dtype dtype, const char *attr,
                         double value, int32_t next_of)
{
    int32_t made = new_tensor(u, stem, end, shape, dtype, next_of);
    UpdateOp op = {
        .op_type = op_type, .input = {from}, .n_inputs = 1, .output = {made}, .n_outputs = 1};
    op.name = extension_name_of(u->more, made);
    add_attr(&op, attr, true, value);
    return add_op(u, &op) ? made : -1;
}

/* ---- what gradients are multiplied by ---- */

static int32_t add_scalar_state(Updating *u, const char *name)
{
    static const Shape one = {.n_dims = 1, .dim = {1}};
    int32_t t = new_tensor(u, word(u, name), "", shapes_put(u->base->shapes, &one), DT_F32, -1);
    graph_add_initializer(u->more->builder, t, DT_F32, &one, (TensorData){.form = DATA_FILL});
    return t;
}

/* The loss scale of the next step, by whether the gradients of this one are finite. */
static bool add_scale_update(Updating *u, int32_t squares)
{
    int32_t scale = u->scale, growth = add_scalar_state(u, "loss~growth");
    int32_t shape = extension_shape_of(u->more, scale);
    UpdateOp op = {.op_type = "LossScaleUpdate",
                   .name = word(u, "loss~scale~update"),
                   .input = {squares, scale, growth},
                   .n_inputs = 3,
                   .n_outputs = 2};
    op.output[0] = new_tensor(u, word(u, "loss~scale"), "~next", shape, DT_F32, scale);
    op.output[1] = new_tensor(u, word(u, "loss~growth"), "~next", shape, DT_F32, growth);
    for (int o = 0; o < 2; o++)
        graph_add_output(u->more->builder, op.output[o]);
    return add_op(u, &op);
}

/* One by a scale that is constant. */
static void add_unscaling(Updating *u)
{
    static const Shape scalar = {0};
    float *factor = arena_make(u->arena, float);
    *factor = (float)(1 / u->spec->scale);
    u->factor = new_tensor(u, word(u, "update~factor"), "", u->scalar, DT_F32, -1);
    graph_add_initializer(
        u->more->builder, u->factor, DT_F32, &scalar,
        (TensorData){.form = DATA_RAW, .bytes = {(const char *)factor, sizeof *factor}});
}

/* By the norm of all gradients and the loss scale. */
static bool add_factor(Updating *u, const UpdatedList *updated)
{
    Vec32 squares = {0};
    for (int i = 0; i < updated->n; i++) {
        int32_t gradient = updated->at[i].gradient;
        int32_t name = extension_name_of(u->more, gradient);
        if (updated->at[i].number > 0)
            continue; /* the same gradient on another part of the mesh */
        u->reader = updated->at[i].reader;
        int32_t square = add_unary(u, "ReduceSumSquare", gradient, name, "~square", u->scalar,
                                   extension_dtype_of(u->more, gradient), "keepdims", 0, -1);
        if (square < 0)
            return false;
        vec_push(u->scratch, &squares, square);
    }
    u->reader = -1;
    assert(squares.at);
    int32_t sum = squares.at[0];
    if (squares.n > 1) {
        sum = new_tensor(u, word(u, "update~squares"), "", u->scalar,
                         extension_dtype_of(u->more, sum), -1);
        UpdateOp op = {.op_type = "Sum",
                       .name = word(u, "update~squares"),
                       .inputs = squares.at,
                       .n_inputs = squares.n,
                       .output = {sum},
                       .n_outputs = 1};
        if (!add_op(u, &op))
            return false;
    }
    u->factor = new_tensor(u, word(u, "update~factor"), "", u->scalar,
                           extension_dtype_of(u->more, sum), -1);
    UpdateOp op = {.op_type = "ClipFactor",
                   .name = word(u, "update~factor"),
                   .input = {sum},
                   .n_inputs = 1,
                   .output = {u->factor},
                   .n_outputs = 1};
    add_attr(&op, "clip", false, u->spec->clip);
    if (u->spec->dynamic) {
        op.input[op.n_inputs++] = u->seed;
        add_attr(&op, "checked", true, 1);
    } else {
        add_attr(&op, "scale", false, u->spec->scale);
    }
    return add_op(u, &op) && (!u->spec->dynamic || add_scale_update(u, sum));
}

/* ---- one parameter ---- */

static void add_hypers(const Updating *u, UpdateOp *op)
{
    for (int h = HYPER_BETA1; h < HYPER_COUNT; h++)
        if (u->spec->optimizer->takes >> h & 1 &&
            u->spec->hyper[h] != u->spec->optimizer->fallback[h])
            add_attr(op, hyper_name((Hyper)h), h >= HYPER_AMSGRAD, u->spec->hyper[h]);
}

static bool add_update(Updating *u, const Updated *of)
{
    int32_t parameter = of->parameter, gradient = of->gradient;
    int32_t name = of->stem;
    UpdateValue value[UPDATE_VALUES_MAX];
    Dtype dtype = (Dtype)u->base->dtype[parameter];
    int32_t shape = u->base->shape[parameter];
    int n = update_values(u->spec, dtype, value);
    bool master = n > 0 && value[0].state == VALUE_MASTER;
    int32_t updated = master ? add_state(u, of, &value[0]) : parameter;
    UpdateOp op = {.op_type = u->spec->optimizer->op};
    op.name = extension_joined(u->more, name, "~update");
    const int32_t first[UPDATE_STATES] = {[UPDATE_PARAMETER] = updated,
                                          [UPDATE_GRADIENT] = gradient,
                                          [UPDATE_RATE] = u->rate,
                                          [UPDATE_STEP] = u->step,
                                          [UPDATE_FACTOR] = u->factor};
    memcpy(op.input, first, sizeof first);
    op.n_inputs = UPDATE_STATES;
    int32_t stem = extension_name_of(u->more, updated);
    op.output[op.n_outputs++] =
        new_tensor(u, stem, "~next", shape, extension_dtype_of(u->more, updated), updated);
    for (int i = master; i < n; i++) {
        int32_t state = add_state(u, of, &value[i]);
        op.input[op.n_inputs++] = state;
        stem = extension_name_of(u->more, state);
        op.output[op.n_outputs++] = new_tensor(u, stem, "~next", shape, value[i].dtype, state);
    }
    add_hypers(u, &op);
    if (u->factor < 0 && n == master) /* trailing operands that are not there */
        op.n_inputs--;
    if (!add_op(u, &op))
        return false;
    for (int i = 0; i < op.n_outputs; i++)
        graph_add_output(u->more->builder, op.output[i]);
    if (!master)
        return true;
    int32_t next = add_unary(u, "Cast", op.output[0], name, "~next", shape, dtype, "to",
                             dtype_to_onnx(dtype), parameter);
    if (next >= 0)
        graph_add_output(u->more->builder, next);
    return next >= 0;
}

/* ---- all of it ---- */

static int parts_of(const TrainingStep *step, int32_t parameter, int *first)
{
    int n = 0;
    for (int i = step->n_parts - 1; i >= 0; i--)
        if (step->part[i].parameter == parameter) {
            *first = i;
            n++;
        }
    return n;
}

/* Parameters that have a gradient, once for each part of the mesh that updates them. */
static void find_updated(const Updating *u, const TrainingStep *step, UpdatedList *out)
{
    const Graph *graph = u->base->graph;
    for (int i = 0; i < step->n_parameters; i++) {
        int32_t t = step->parameter[i];
        int first = 0, n = parts_of(step, t, &first);
        Updated own = {.parameter = t, .gradient = step->gradient[t], .reader = -1};
        own.stem = graph->tensors[t].name;
        if (tensor_n_uses(graph, t) > 0)
            own.reader = graph->uses[graph->tensors[t].use];
        if (n == 0 && own.gradient >= 0)
            vec_push(u->scratch, out, own);
        for (int k = 0; k < n; k++) {
            const GradientPart *part = &step->part[first + k];
            own = (Updated){t, part->gradient, part->reader, graph->tensors[t].name, k, n};
            if (k > 0)
                own.stem =
                    extension_joined(u->more, own.stem, arena_printf(u->scratch, "~copy%d", k));
            vec_push(u->scratch, out, own);
        }
    }
}

/* Puts gradients into the type in which they are added up: cast where the backward pass makes them,
 * so that they are still partial and are reduced in that type. */
static bool cast_gradients(Updating *u, UpdatedList *updated)
{
    for (int i = 0; i < updated->n; i++) {
        Updated *own = &updated->at[i];
        Dtype want = update_gradient_dtype(u->spec, (Dtype)u->base->dtype[own->parameter]);
        if (want == extension_dtype_of(u->more, own->gradient))
            continue;
        u->reader = own->reader;
        u->gradient_of = own->parameter;
        own->gradient =
            add_unary(u, "Cast", own->gradient, extension_name_of(u->more, own->gradient), "~cast",
                      u->base->shape[own->parameter], want, "to", dtype_to_onnx(want), -1);
        if (own->gradient < 0)
            return false;
    }
    u->gradient_of = -1;
    return true;
}

/* The sum of the first of two gradients and the second, -1 if there is none, on the part of the
 * mesh that `on` is of; -1 with *err. last: nothing is added to it any more. */
static int32_t add_join(Updating *u, const Updated *on, int32_t first, int32_t second, bool last)
{
    UpdateOp op = {.op_type = "Sum", .input = {first, second}, .n_outputs = 1};
    op.n_inputs = second >= 0 ? 2 : 1;
    u->reader = on->reader;
    u->gradient_of = on->parameter;
    op.output[0] =
        new_tensor(u, on->stem, last ? "~grad" : "~joined", u->base->shape[on->parameter],
                   extension_dtype_of(u->more, on->gradient), -1);
    op.name = extension_name_of(u->more, op.output[0]);
    return add_op(u, &op) ? op.output[0] : -1;
}

/* What one part has after a round: its sum and that of another part, added in the order of the
 * parts, so that both get the same. */
static bool join_two(Updating *u, const Updated *on, const int32_t *sum, int i, int j, bool last,
                     int32_t *out)
{
    *out = add_join(u, on, sum[i < j ? i : j], sum[i < j ? j : i], last);
    return *out >= 0;
}

/* The sum over the parts that hold a parameter, on each of them: an all-reduce by recursive
 * doubling (Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in
 * MPICH, section 4.5). Of n parts the first 2^k exchange their sums with that at distance 1, 2, 4,
 * ..; those behind them give theirs to one of them before, and get the whole one after. */
static bool join_parts_of(Updating *u, Updated *own)
{
    int n = own->n, n_pairs = 1;
    int32_t *sum = arena_array(u->scratch, int32_t, 2 * n), *next = sum + n;
    while (2 * n_pairs <= n)
        n_pairs *= 2;
    for (int i = 0; i < n; i++)
        sum[i] = own[i].gradient;
    for (int i = 0; i < n - n_pairs; i++)
        if (!join_two(u, &own[i], sum, i, i + n_pairs, false, &sum[i]))
            return false;
    for (int distance = 1; distance < n_pairs; distance *= 2) {
        for (int i = 0; i < n_pairs; i++)
            if (!join_two(u, &own[i], sum, i, i ^ distance, 2 * distance == n_pairs, &next[i]))
                return false;
        memcpy(sum, next, (size_t)n_pairs * sizeof *sum);
    }
    for (int i = 0; i < n; i++) {
        own[i].gradient = i < n_pairs ? sum[i] : add_join(u, &own[i], sum[i - n_pairs], -1, true);
        if (own[i].gradient < 0)
            return false;
    }
    return true;
}

static bool join_parts(Updating *u, UpdatedList *updated)
{
    for (int i = 0; i < updated->n; i++)
        if (updated->at[i].n > 0 && updated->at[i].number == 0 &&
            !join_parts_of(u, &updated->at[i]))
            return false;
    u->reader = -1;
    u->gradient_of = -1;
    return true;
}

static bool check_precision(const Updating *u, const TrainingStep *step)
{
    for (int i = 0; i < step->n_parameters; i++) {
        Dtype has = (Dtype)u->base->dtype[step->parameter[i]];
        if (u->spec->precision == DT_NONE || u->spec->precision == has)
            continue;
        error_kind(u->err, ERROR_UNSUPPORTED, "--train: precision=%s, and parameter '%s' is %s",
                   dtype_name(u->spec->precision), tensor_name(u->base->graph, step->parameter[i]),
                   dtype_name(has));
        return error_hint(u->err,
                          "a model built from a config takes --dtype %s; of a file the "
                          "parameters keep their type",
                          dtype_name(u->spec->precision));
    }
    return true;
}

static int32_t add_number(Updating *u, const char *name, Dtype dtype, double value)
{
    static const Shape scalar = {0};
    int32_t t = new_tensor(u, word(u, name), "", u->scalar, dtype, -1);
    graph_add_initializer(u->more->builder, t, dtype, &scalar,
                          (TensorData){.form = DATA_FILL, .fill = value});
    return t;
}

/* An op on numbers; returns its output, -1 with *err. */
static int32_t add_scalar_op(Updating *u, const char *op_type, const char *name, Dtype dtype,
                             const int32_t *inputs, int n, int32_t next_of)
{
    int32_t id = word(u, name), made = new_tensor(u, id, "", u->scalar, dtype, next_of);
    UpdateOp op = {.op_type = op_type,
                   .name = id,
                   .inputs = inputs,
                   .n_inputs = n,
                   .output = {made},
                   .n_outputs = 1};
    return add_op(u, &op) ? made : -1;
}

/* 1 for a step that updates, 0 for one that is skipped, as torch's GradScaler does not call the
 * optimizer; -1 with *err. */
static int32_t add_counted(Updating *u)
{
    int32_t one = add_number(u, "train~one", DT_I64, 1);
    if (!u->spec->dynamic)
        return one;
    int32_t zero = add_number(u, "train~zero", DT_I64, 0);
    int32_t skipped = add_scalar_op(u, "IsNaN", "train~skipped", DT_BOOL, &u->factor, 1, -1);
    return skipped < 0 ? -1
                       : add_scalar_op(u, "Where", "train~counted", DT_I64,
                                       (int32_t[]){skipped, zero, one}, 3, -1);
}

/* The number of the step grows by one, unless the step is skipped. */
static bool add_count(Updating *u)
{
    u->reader = -1;
    int32_t counted = add_counted(u);
    if (counted < 0)
        return false;
    int32_t next = add_scalar_op(u, "Add", "train~step~next", DT_I64, (int32_t[]){u->step, counted},
                                 2, u->step);
    if (next >= 0)
        graph_add_output(u->more->builder, next);
    return next >= 0;
}

static bool add_all(Updating *u, const TrainingStep *step)
{
    if (!check_precision(u, step))
        return false;
    UpdatedList updated = {0};
    find_updated(u, step, &updated);
    bool ready = cast_gradients(u, &updated) && join_parts(u, &updated);
    bool norm = u->spec->clip > 0 || u->spec->dynamic;
    u->rate = add_number(u, "train~rate", DT_F32, u->spec->hyper[HYPER_LR]);
    u->step = add_number(u, "train~step", DT_I64, 1);
    if (!ready || (norm && !add_factor(u, &updated)) || !add_count(u))
        return false;
    if (!norm && u->spec->scale != 1)
        add_unscaling(u);
    for (int i = 0; i < updated.n; i++) {
        u->reader = updated.at[i].reader;
        if (!add_update(u, &updated.at[i]))
            return false;
    }
    return true;
}

void update_expect(Extension *more, const UpdateSpec *spec, int n_parameters)
{
    enum { OTHERS = 16 };
    UpdateValue value[UPDATE_VALUES_MAX];
    Dtype dtype = spec->precision == DT_NONE ? DT_F32 : spec->precision;
    int64_t n_values = update_values(spec, dtype, value);
    bool master = n_values > 0 && value[0].state == VALUE_MASTER;
    int64_t unary = master + (update_gradient_dtype(spec, dtype) != dtype) +
                    (spec->clip > 0 || spec->dynamic),
            n = n_parameters;
    extension_expect(more, n * (1 + unary) + OTHERS, n * (2 * n_values + 1 + unary) + OTHERS,
                     n * (UPDATE_STATES + 2 * n_values + 1 + 2 * unary) + OTHERS);
}

bool update_add(Extension *more, const UpdateSpec *spec, const TrainingStep *step, Error *err)
{
    static const Shape scalar = {0};
    Updating u = {.arena = more->arena,
                  .scratch = more->scratch,
                  .spec = spec,
                  .base = more->base,
                  .more = more,
                  .seed = step->seed,
                  .scale = step->scale,
                  .factor = -1,
                  .reader = -1,
                  .gradient_of = -1,
                  .err = err};
    u.scalar = shapes_put(u.base->shapes, &scalar);
    for (int i = 0; i < 2; i++)
        u.path_of[i] = arena_array(u.scratch, int32_t, names_count(u.base->graph->names));
    return add_all(&u, step);
}
