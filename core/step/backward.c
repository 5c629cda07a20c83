#include "core/step/deriving.h"

#include "core/space/gradient.h"

#include <assert.h>

static bool builds_gradient(const GradientKind *kind)
{
    return kind->row && kind->row->user && kind->row->user->gradient;
}

static int input_of(const GradientKind *kind, int operand)
{
    if (!kind->alias || kind->alias->n_operands == 0)
        return operand;
    for (int i = 0; i < kind->alias->n_operands; i++)
        if (kind->alias->operand[i] == operand)
            return i;
    return -1;
}

static GradientKind *new_kind(Deriving *d, Str name)
{
    GradientKind *kind = arena_make(d->scratch, GradientKind);
    kind->row = registry_find(d->model->registry, name);
    kind->alias = registry_alias(d->model->registry, name);
    kind->derivative = derivative_find(d->model->registry, kind->row, NULL);
    for (int i = 0; kind->derivative && i < KIND_OPERANDS; i++) {
        kind->clause[i] = derivative_clause(kind->derivative, input_of(kind, i));
        kind->passes[i] = clause_passes(kind->clause[i]);
    }
    return kind;
}

static GradientKind *kind_of(Deriving *d, int32_t op)
{
    GradientKind **kind = &d->kinds[d->graph->ops[op].op_type];
    if (!*kind)
        *kind = new_kind(d, str_from(op_operator(d->graph, op)));
    return *kind;
}

/* NULL: it is not known, or a function of the user builds it. */
static const Derivative *derivative_of(Deriving *d, int32_t op)
{
    const GradientKind *kind = kind_of(d, op);
    if (kind->derivative || builds_gradient(kind))
        return kind->derivative;
    return derivative_find(d->model->registry, kind->row, inferred_space(d->model, op));
}

/* The op's operand that is the operator's input i. */
static int operand_of(const GradientKind *kind, int input)
{
    return kind->alias && kind->alias->n_operands > 0 ? alias_operand(kind->alias, input) : input;
}

static const DerivativeClause *clause_of(Deriving *d, int32_t op, int operand)
{
    const GradientKind *kind = kind_of(d, op);
    if (kind->derivative && operand < KIND_OPERANDS)
        return kind->clause[operand];
    const Derivative *derivative = derivative_of(d, op);
    return derivative ? derivative_clause(derivative, input_of(kind, operand)) : NULL;
}

bool derive_is_float(const Deriving *d, int32_t tensor)
{
    return dtype_is_float((Dtype)d->model->dtype[tensor]);
}

/* Whether a gradient of the op's outputs reaches its operand. An operator whose derivative is not
 * known is on the way, and refused when it is reached. */
static bool passes(Deriving *d, int32_t op, int operand)
{
    const GradientKind *kind = kind_of(d, op);
    if (kind->derivative && operand < KIND_OPERANDS)
        return kind->passes[operand];
    return !derivative_of(d, op) || clause_passes(clause_of(d, op, operand));
}

/* ---- which tensors vary, which are reached ---- */

static bool has_varying_input(Deriving *d, int32_t op)
{
    for (int i = 0; i < d->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(d->graph, op)[i];
        if (t >= 0 && d->varies[t] && derive_is_float(d, t) && passes(d, op, i))
            return true;
    }
    return false;
}

static void find_varying(Deriving *d)
{
    for (int i = 0; i < d->request->n_wanted; i++)
        d->varies[d->request->wanted[i]] = true;
    for (int p = 0; p < d->model->n_program; p++) {
        int32_t op = d->model->program[p];
        if (!has_varying_input(d, op))
            continue;
        for (int o = 0; o < d->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(d->graph, op)[o];
            if (t >= 0 && derive_is_float(d, t))
                d->varies[t] = true;
        }
    }
}

static bool is_reached(const Deriving *d, int32_t op)
{
    for (int o = 0; o < d->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(d->graph, op)[o];
        if (t >= 0 && d->reached[t] && d->varies[t])
            return true;
    }
    return false;
}

static void find_reached(Deriving *d)
{
    for (int i = 0; i < d->request->n_given; i++) {
        d->reached[d->request->given[i]] = true;
        d->n_addends[d->request->given[i]]++;
    }
    for (int p = d->model->n_program - 1; p >= 0; p--) {
        int32_t op = d->model->program[p];
        if (!is_reached(d, op))
            continue;
        for (int i = 0; i < d->graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(d->graph, op)[i];
            if (t < 0 || !d->varies[t] || !derive_is_float(d, t) || !passes(d, op, i))
                continue;
            d->reached[t] = true;
            d->n_addends[t]++;
        }
    }
}

/* ---- making ops ---- */

int32_t derive_tensor(Deriving *d, int32_t name, int32_t like, bool gradient)
{
    return extension_tensor(d->more, name, d->model->shape[like], (Dtype)d->model->dtype[like],
                            gradient ? like : -1);
}

void derive_addend(Deriving *d, int32_t tensor, int32_t gradient, int32_t of)
{
    BranchScope *branch = d->branch;
    if (branch && !branch_has(branch->body, d->graph, tensor)) {
        vec_push(d->scratch, &branch->outside, tensor);
        vec_push(d->scratch, &branch->addends, ((Addend){gradient, -1, of}));
        return;
    }
    vec_push(d->scratch, &d->addends, ((Addend){gradient, d->addend[tensor], of}));
    d->addend[tensor] = d->addends.n - 1;
}

void derive_op_of(Deriving *d, int32_t of, NewStepOp op)
{
    int32_t path = of < 0 ? 0 : d->graph->ops[of].path, *known = &d->path_of[path];
    if (*known == 0)
        *known = extension_path(d->more, "backward.", path);
    op.of = of;
    op.path = *known;
    extension_op(d->more, &op);
}

/* ---- sums ---- */

OpSpace *derive_pointwise(Deriving *d, const Shape *shape, int n_before, int n)
{
    OpSpace *space = opspace_new(d->arena, n_before + n, 1);
    for (int i = n_before; i <= n_before + n; i++) {
        space->operand[i].shape = *shape;
        space->operand[i].projection.n_dims = (uint8_t)shape->n_dims;
    }
    for (int64_t k = 0; k < shape->n_dims; k++) {
        int index = shape->dim[k] == 1
                        ? -1
                        : opspace_add_index(space, arena_printf(d->arena, "d%d", (int)k),
                                            shape->dim[k], ROLE_MAP, REDUCE_NONE);
        for (int i = n_before; i <= n_before + n; i++) {
            Row *row = &space->operand[i].projection.row[k];
            if (index < 0)
                row_one(row);
            else
                row_unit(row, index);
        }
    }
    space->early = true;
    return space;
}

static OpSpace *sum_space(Deriving *d, const Shape *shape, int n)
{
    OpSpace *space = derive_pointwise(d, shape, 0, n);
    Error err = {0};
    for (int i = 0; i < n; i++)
        space->operand[i].linear = LINEAR_TOGETHER;
    space->kernel = "Sum";
    space->flops = (double)shape_elements(shape) * (n - 1);
    bool fits = opspace_finish(space, &err);
    assert(fits);
    (void)fits;
    return space;
}

int32_t derive_sum(Deriving *d, int32_t tensor, const char *end, const Vec32 *parts, int32_t of)
{
    if (!derive_knows_shape(d, tensor))
        return -1;
    d->key.n = 0;
    vec_push(d->scratch, &d->key, -1);
    vec_push(d->scratch, &d->key, d->model->shape[tensor]);
    vec_push(d->scratch, &d->key, parts->n);
    int32_t space = extension_space(d->more, &d->key);
    if (space < 0)
        space =
            extension_add_space(d->more, sum_space(d, inferred_shape(d->model, tensor), parts->n));
    int32_t name = extension_name(d->more, d->graph->tensors[tensor].name, end);
    int32_t sum = derive_tensor(d, name, tensor, true);
    derive_op_of(d, of,
                 (NewStepOp){.op_type = d->sum_type,
                             .name = name,
                             .inputs = parts->at,
                             .n_inputs = parts->n,
                             .outputs = &sum,
                             .n_outputs = 1,
                             .space = space,
                             .phase = PHASE_BACKWARD});
    return sum;
}

/* The gradient of a tensor whose readers have all been visited: its one addend, or their sum; -1:
 * nothing reaches it. */
static int32_t sum_addends(Deriving *d, int32_t tensor)
{
    Vec32 *parts = &d->parts;
    parts->n = 0;
    if (derive_is_held_twice(d, tensor))
        return derive_sum_parts(d, tensor);
    for (int32_t a = d->addend[tensor]; a >= 0; a = d->addends.at[a].next)
        vec_push(d->scratch, parts, d->addends.at[a].tensor);
    if (parts->n <= 1)
        return parts->n == 0 ? -1 : parts->at[0];
    for (int i = 0; i < parts->n / 2; i++) { /* in the order in which they are made */
        int32_t last = parts->at[parts->n - 1 - i];
        parts->at[parts->n - 1 - i] = parts->at[i];
        parts->at[i] = last;
    }
    int32_t maker = d->graph->tensors[tensor].maker;
    return derive_sum(d, tensor, "~grad", parts,
                      maker >= 0 ? maker : d->addends.at[d->addend[tensor]].of);
}

/* ---- gradient ops ---- */

static void read_value(Deriving *d, int32_t op, int place, ReadList *out)
{
    const GraphOp *node = &d->graph->ops[op];
    bool absent = place < 0 || place >= node->n_inputs + node->n_outputs;
    vec_push(d->scratch, &out->reads,
             ((GradientRead){.place = (uint16_t)(absent ? 0 : place), .absent = absent}));
    vec_push(d->scratch, &out->tensors,
             absent ? -1 : derive_read_again(d, d->graph->operands[node->input + place]));
}

static bool is_written(const Vec32 *written, int operand)
{
    for (int i = 0; i < written->n; i++)
        if (written->at[i] == operand)
            return true;
    return false;
}

static void find_reads(Deriving *d, int32_t op, const DerivativeClause *clause,
                       const Vec32 *written)
{
    const GraphOp *node = &d->graph->ops[op];
    ReadList *out = &d->reads;
    out->reads.n = out->tensors.n = 0;
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t t = op_outputs(d->graph, op)[o];
        vec_push(d->scratch, &out->reads,
                 ((GradientRead){.place = (uint16_t)(node->n_inputs + o), .gradient = true}));
        vec_push(d->scratch, &out->tensors, t < 0 ? -1 : d->gradient[t]);
    }
    for (int i = 0; i < clause->n_reads; i++) {
        int at = clause->read[i].operand;
        int place = clause->read[i].output ? node->n_inputs + at : operand_of(kind_of(d, op), at);
        read_value(d, op, clause->read[i].output || place < node->n_inputs ? place : -1, out);
    }
    for (int i = 0; (clause->others || clause->inputs) && i < node->n_inputs; i++)
        if (clause->inputs || !is_written(written, i))
            read_value(d, op, i, out);
}

/* One by the number of elements of which the op takes the mean. */
static double mean_factor(const Deriving *d, int32_t op, const DerivativeClause *clause)
{
    const OpSpace *space = inferred_space(d->model, op);
    double points = clause->all ? (double)d->graph->ops[op].n_inputs : 1;
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE)
            points *= (double)space->index[j].size;
    return points > 0 ? 1 / points : 1;
}

static double factor_of(const Deriving *d, int32_t op, const DerivativeClause *clause)
{
    switch (clause->factor) {
    case FACTOR_ATTR:
        return clause->number * op_attr_float(d->graph, op, clause->attr, 1);
    case FACTOR_MEAN:
        return mean_factor(d, op, clause);
    case FACTOR_NUMBER:
        break;
    }
    return clause->number;
}

/* All rows whole: of an op that has no rule, or whose gradient has other rows than a space can
 * have. */
static OpSpace *whole_space(Deriving *d, const Gradient *gradient)
{
    OpSpace *space = opspace_new(d->arena, gradient->n_reads, gradient->n_written);
    for (int i = 0; i < gradient->n_reads + gradient->n_written; i++) {
        int place = i < gradient->n_reads ? gradient->reads[i].place
                                          : gradient->written[i - gradient->n_reads];
        const Operand *from = &gradient->forward->operand[place];
        Operand *to = &space->operand[i];
        to->shape = from->shape;
        to->absent = from->absent;
        to->ignored = from->ignored;
        to->projection.n_dims = (uint8_t)from->shape.n_dims;
        for (int64_t k = 0; k < from->shape.n_dims; k++)
            row_whole(&to->projection.row[k], from->shape.dim[k]);
    }
    Error err = {0};
    space->gradient = gradient;
    space->kernel = gradient->kernel;
    space->no_rule = true;
    opspace_finish(space, &err);
    return space;
}

/* The operator whose derivatives are meant: a user's may run the kernel of a built-in one. */
static const char *built_in_name(const Operator *row)
{
    return row->rule || !row->kernel ? row->name : row->kernel;
}

static const Gradient *new_gradient(Deriving *d, int32_t op, const DerivativeClause *clause,
                                    const Vec32 *written, const ReadList *reads)
{
    Gradient *gradient = arena_make(d->arena, Gradient);
    uint16_t *places = arena_array(d->arena, uint16_t, written->n);
    for (int i = 0; i < written->n; i++)
        places[i] = (uint16_t)written->at[i];
    GradientRead *kept = arena_array(d->arena, GradientRead, reads->reads.n);
    for (int i = 0; i < reads->reads.n; i++)
        kept[i] = reads->reads.at[i];
    *gradient = (Gradient){.forward = inferred_space(d->model, op),
                           .of = built_in_name(kind_of(d, op)->row),
                           .input = input_of(kind_of(d, op), written->at[0]),
                           .n_reads = reads->reads.n,
                           .reads = kept,
                           .n_written = written->n,
                           .written = places,
                           .kernel = arena_str(d->arena, str_from(clause->kernel)),
                           .scale = factor_of(d, op, clause)};
    return gradient;
}

/* Of a gradient that goes back to where its parts came from only one part is read. */
static void read_part(OpSpace *space)
{
    Operand *from = &space->operand[0];
    double read = (double)shape_elements(&from->shape);
    double written = (double)shape_elements(&opspace_output(space, 0)->shape);
    if (strcmp(space->kernel, "move") == 0 && space->flops == 0 && written < read)
        from->untouched = (float)(1 - written / read);
}

/* It makes the gradients of all its inputs, wanted or not: so its outputs are always the same. */
static bool is_users_kernel(const DerivativeClause *clause)
{
    return strcmp(clause->kernel, "kernel") == 0;
}

/* Equal forward spaces, clauses and absences have one space. */
static int32_t space_of(Deriving *d, int32_t op, const DerivativeClause *clause,
                        const Vec32 *written, const ReadList *reads)
{
    Vec32 *key = &d->key;
    double factor = factor_of(d, op, clause);
    key->n = 0;
    vec_push(d->scratch, key, d->model->space[op]);
    vec_push(d->scratch, key, d->graph->ops[op].op_type);
    vec_push(d->scratch, key, (int32_t)(clause - derivative_of(d, op)->clause));
    int32_t factor_bits[sizeof factor / sizeof(int32_t)];
    memcpy(factor_bits, &factor, sizeof factor_bits);
    for (size_t i = 0; i < sizeof factor_bits / sizeof *factor_bits; i++)
        vec_push(d->scratch, key, factor_bits[i]);
    for (int i = 0; i < written->n; i++)
        vec_push(d->scratch, key, written->at[i]);
    for (int i = 0; i < reads->tensors.n; i++)
        vec_push(d->scratch, key, reads->tensors.at[i] < 0 ? -1 : 0);
    int32_t known = extension_space(d->more, key);
    if (known >= 0)
        return known;
    const Gradient *gradient = new_gradient(d, op, clause, written, reads);
    Error err = {0};
    OpSpace *space = gradient_space(d->arena, gradient, &err);
    if (!space)
        space = whole_space(d, gradient);
    int n_gradients = 0;
    for (int i = 0; i < reads->tensors.n; i++) {
        space->operand[i].absent |= reads->tensors.at[i] < 0;
        n_gradients += reads->reads.at[i].gradient && reads->tensors.at[i] >= 0;
    }
    for (int i = 0; i < reads->tensors.n && n_gradients > 1; i++)
        if (space->operand[i].linear == LINEAR_ALONE)
            space->operand[i].linear = space->operand[i].absent ? LINEAR_NO : LINEAR_TOGETHER;
    const UserOp *user = kind_of(d, op)->row->user;
    if (user && is_users_kernel(clause))
        space->own = user->gradient_kernel;
    space->flops = derivative_flops(space);
    read_part(space);
    return extension_add_space(d->more, space);
}

/* "~d1": what the name of a gradient by an operand ends in. */
static const char *end_of(Deriving *d, int operand)
{
    static const char *const ends[] = {"~d0", "~d1", "~d2", "~d3"};
    return operand < (int)(sizeof ends / sizeof *ends) ? ends[operand]
                                                       : arena_printf(d->scratch, "~d%d", operand);
}

/* "MatMul~d1" */
static int32_t gradient_type(Deriving *d, int32_t op, int operand)
{
    int32_t op_type = d->graph->ops[op].op_type, made = 0;
    int32_t *known = operand < KIND_OPERANDS ? &kind_of(d, op)->gradient_type[operand] : &made;
    if (*known == 0)
        *known = extension_joined(d->more, op_type, end_of(d, operand));
    return *known;
}

int32_t derive_addend_name(Deriving *d, int32_t op, int operand)
{
    int32_t t = op_inputs(d->graph, op)[operand];
    if (d->n_addends[t] == 1)
        return extension_name(d->more, d->graph->tensors[t].name, "~grad");
    return extension_name(d->more, d->graph->ops[op].name, end_of(d, operand));
}

/* The op that makes the gradients of these operands. */
static void add_gradient_op(Deriving *d, int32_t op, const DerivativeClause *clause,
                            const Vec32 *written)
{
    Vec32 *outputs = &d->outputs;
    find_reads(d, op, clause, written);
    const ReadList *reads = &d->reads;
    outputs->n = 0;
    int32_t at = written->at[0];
    int32_t own = extension_joined(d->more, d->graph->ops[op].name, end_of(d, at));
    for (int i = 0; i < written->n; i++) {
        int32_t t = op_inputs(d->graph, op)[written->at[i]];
        int32_t name = i == 0 && d->n_addends[t] != 1 ? extension_free_name(d->more, own)
                                                      : derive_addend_name(d, op, written->at[i]);
        vec_push(d->scratch, outputs, derive_tensor(d, name, t, true));
    }
    int32_t space = space_of(d, op, clause, written, reads);
    NewStepOp new = {.op_type = gradient_type(d, op, at), .name = own};
    new.inputs = reads->tensors.at;
    new.n_inputs = reads->tensors.n;
    new.outputs = outputs->at;
    new.n_outputs = outputs->n;
    new.attrs = d->graph->ops[op].attrs;
    new.space = space;
    new.phase = PHASE_BACKWARD;
    derive_op_of(d, op, new);
    for (int i = 0; i < written->n; i++)
        if (derive_wants(d, op, written->at[i]))
            derive_addend(d, op_inputs(d->graph, op)[written->at[i]], outputs->at[i], op);
}

bool derive_wants(Deriving *d, int32_t op, int operand)
{
    int32_t t = op_inputs(d->graph, op)[operand];
    return t >= 0 && d->varies[t] && derive_is_float(d, t) && passes(d, op, operand);
}

/* Operands of one clause get their gradients together. */
static bool add_clause(Deriving *d, int32_t op, int first)
{
    const DerivativeClause *clause = clause_of(d, op, first);
    const GradientKind *kind = kind_of(d, op);
    Vec32 *written = &d->written;
    written->n = 0;
    if (!clause || !clause->kernel)
        return derive_refuse(d, op, first, clause, kind->row);
    if (strcmp(clause->kernel, "branch") == 0) {
        branch_addend(d, op, first);
        return true;
    }
    if (clause->n_inputs <= 1) {
        vec_push(d->scratch, written, first);
        add_gradient_op(d, op, clause, written);
        return true;
    }
    bool all = is_users_kernel(clause);
    for (int i = 0; i < clause->n_inputs; i++) {
        int operand = operand_of(kind, clause->input[i]);
        if (operand < 0 || operand >= d->graph->ops[op].n_inputs)
            continue;
        bool wanted = derive_wants(d, op, operand);
        if (wanted && operand < first) /* it was made with that one */
            return true;
        int32_t t = op_inputs(d->graph, op)[operand];
        if (wanted || (all && t >= 0 && derive_is_float(d, t)))
            vec_push(d->scratch, written, operand);
    }
    add_gradient_op(d, op, clause, written);
    return true;
}

static bool derive_inputs(Deriving *d, int32_t op)
{
    for (int i = 0; i < d->graph->ops[op].n_inputs; i++)
        if (derive_wants(d, op, i) && !add_clause(d, op, i))
            return false;
    return true;
}

static bool derive_op(Deriving *d, int32_t op)
{
    const GraphOp *node = &d->graph->ops[op];
    int32_t *gradient = arena_array(d->scratch, int32_t, node->n_outputs);
    bool any = false;
    if (!is_reached(d, op))
        return true;
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t t = op_outputs(d->graph, op)[o];
        if (t >= 0 && d->varies[t])
            d->gradient[t] = sum_addends(d, t);
        gradient[o] = t < 0 ? -1 : d->gradient[t];
        any |= gradient[o] >= 0;
    }
    if (d->failed)
        return false;
    if (!any) /* what reads them does not vary with them after all */
        return true;
    derive_group_again(d, op);
    const GradientKind *kind = kind_of(d, op);
    return builds_gradient(kind) ? derive_built(d, op, kind->row->user, gradient)
                                 : derive_inputs(d, op);
}

bool derive_range(Deriving *d, int32_t first, int32_t end, int body)
{
    for (int32_t op = end; op > first;) {
        int branch = branch_ending(d, first, op, body);
        if (branch < 0) {
            op--;
            if (d->model->space[op] >= 0 && !derive_op(d, op))
                return false;
            continue;
        }
        if (!branch_derive(d, branch) || d->failed)
            return false;
        op = d->graph->bodies[branch].first;
    }
    return true;
}

/* ---- all of it ---- */

static bool add_given(Deriving *d)
{
    for (int i = 0; i < d->request->n_given; i++) {
        int32_t t = d->request->given[i];
        if (d->request->given_gradient) {
            derive_addend(d, t, d->request->given_gradient[i], -1);
            continue;
        }
        const Shape *shape = inferred_shape(d->model, t);
        if (!shape)
            return error_kind(d->err, ERROR_UNSUPPORTED,
                              "the shape of '%s' is known only at run time",
                              tensor_name(d->graph, t));
        DeclaredDim dims[DIMS_MAX];
        for (int64_t k = 0; k < shape->n_dims; k++)
            dims[k] = (DeclaredDim){.size = shape->dim[k]};
        int32_t given =
            derive_tensor(d, extension_name(d->more, d->graph->tensors[t].name, "~given"), t, true);
        graph_add_input(d->more->builder, given, (Dtype)d->model->dtype[t], dims,
                        (int)shape->n_dims);
        derive_addend(d, t, given, -1);
    }
    return true;
}

/* Each path of the model gets one of its backward pass. */
static int count_paths(const Deriving *d)
{
    int n = 0;
    for (int32_t op = 0; op < d->graph->n_ops; op++) {
        n += d->path_of[d->graph->ops[op].path] == 0;
        d->path_of[d->graph->ops[op].path] = -1;
    }
    for (int32_t op = 0; op < d->graph->n_ops; op++)
        d->path_of[d->graph->ops[op].path] = 0;
    return n;
}

/* Each addend is made by an op, each sum of several by another; such ops read three tensors or
 * so. */
static void reserve(Deriving *d)
{
    enum { OPERANDS = 4 };
    int64_t n = 0, n_addends = 0;
    for (int32_t t = 0; t < d->graph->n_tensors; t++) {
        n += d->n_addends[t] + (d->n_addends[t] > 1);
        n_addends += d->n_addends[t];
    }
    extension_reserve(d->more, n, n, n * OPERANDS, count_paths(d));
    d->addends.room = (int)n_addends;
    d->addends.at = arena_array(d->scratch, Addend, n_addends);
}

static bool derive(Deriving *d)
{
    find_varying(d);
    derive_find_remade(d);
    find_reached(d);
    reserve(d);
    if (!add_given(d) || !derive_range(d, 0, d->graph->n_ops, -1))
        return false;
    for (int i = 0; i < d->request->n_wanted; i++) {
        int32_t t = d->request->wanted[i];
        if (d->gradient[t] < 0)
            d->gradient[t] = sum_addends(d, t);
        if (d->gradient[t] >= 0 && d->request->outputs)
            graph_add_output(d->more->builder, d->gradient[t]);
    }
    return !d->failed;
}

static void start(Deriving *d)
{
    int n = d->graph->n_tensors;
    d->kinds = arena_array(d->scratch, GradientKind *, names_count(d->graph->names));
    d->path_of = arena_array(d->scratch, int32_t, names_count(d->graph->names));
    d->sum_type = extension_word(d->more, "Sum");
    d->varies = arena_array(d->scratch, bool, n);
    d->reached = arena_array(d->scratch, bool, n);
    d->addend = arena_array(d->scratch, int32_t, n);
    d->gradient = arena_array(d->arena, int32_t, n);
    d->n_addends = arena_array(d->scratch, int32_t, n);
    d->again = arena_array(d->scratch, int32_t, n);
    d->remade = arena_array(d->scratch, bool, n);
    memset(d->addend, -1, (size_t)n * sizeof *d->addend);
    memset(d->again, -1, (size_t)n * sizeof *d->again);
    memset(d->gradient, -1, (size_t)n * sizeof *d->gradient);
}

bool backward_add(Extension *more, const BackwardRequest *request, Backward *out, Error *err)
{
    const Inferred *model = more->base;
    Deriving d = {.arena = more->arena,
                  .scratch = more->scratch,
                  .more = more,
                  .model = model,
                  .graph = model->graph,
                  .request = request,
                  .err = err};
    start(&d);
    bool ok = derive(&d);
    out->gradient = d.gradient;
    out->part = d.parts_of.at;
    out->n_parts = d.parts_of.n;
    return ok;
}

bool backward_derive(Arena *arena, const Inferred *model, const BackwardRequest *request,
                     Backward *out, Error *err)
{
    Arena *scratch = arena_new();
    Extension more;
    extension_open(arena, scratch, model, &more);
    bool ok = backward_add(&more, request, out, err) &&
              extension_close(&more, &out->graph, &out->inferred, err);
    arena_free(scratch);
    return ok;
}
