#include "core/peers/torch/whole.h"

#include "core/peers/torch/family.h"
#include "core/rules/args.h"
#include "core/rules/one_op.h"

#include <assert.h>
#include <inttypes.h>

/* The call of an op being translated. */
typedef struct {
    Arena *arena;
    RuleCall rule;
    Vec(WholeStep) steps;
} WholeWriter;

/* Writes the steps; returns false if torch has no operator for it. theirs: torch's operators, which
 * follow the form in the column `dtensor` (registry.h). */
typedef bool WriteFn(WholeWriter *writer, const char *theirs);

/* ---- steps ---- */

/* attrs: "dim=1 keepdim=0", or "". Returns the number of the step, as input of later ones. */
static int add_step(WholeWriter *writer, const char *name, const char *attrs, const int *input,
                    int n)
{
    OneOpBuilder *builder = one_op_new(writer->arena, &(OneOp){.op_type = str_from(name)});
    for (Str rest = str_from(attrs); rest.n > 0;)
        one_op_attr_text(builder, arena_str(writer->arena, str_take(&rest, ' ')), NULL);
    int *kept = arena_array(writer->arena, int, n);
    for (int i = 0; i < n; i++)
        kept[i] = input[i];
    WholeStep step = {.name = name, .n_inputs = n, .input = kept};
    step.graph = one_op_graph(builder, NULL);
    vec_push(writer->arena, &writer->steps, step);
    return ~(writer->steps.n - 1);
}

static int add_unary(WholeWriter *writer, const char *name, const char *attrs, int input,
                     const Shape *made)
{
    int step = add_step(writer, name, attrs, &input, 1);
    if (made)
        writer->steps.at[~step].made = *made;
    return step;
}

static const char *list_attr(Arena *arena, const char *name, const int64_t *at, int64_t n)
{
    Buf text = buf_new(arena);
    buf_printf(&text, "%s=[", name);
    for (int64_t i = 0; i < n; i++)
        buf_printf(&text, "%s%" PRId64, i ? "," : "", at[i]);
    buf_putc(&text, ']');
    return text.s;
}

static const char *size_attr(const WholeWriter *writer, const char *name, const Shape *shape)
{
    return list_attr(writer->arena, name, shape->dim, shape->n_dims);
}

static bool has_shape(const WholeWriter *writer, int input)
{
    return input < writer->rule.n_inputs && writer->rule.shape[input];
}

static const Shape *shape_of(const WholeWriter *writer, int input)
{
    return writer->rule.shape[input];
}

/* ---- element by element ---- */

/* Known numbers are not tensors in torch. */
static bool is_number(const WholeWriter *writer, int input)
{
    return has_shape(writer, input) && writer->rule.value[input] &&
           shape_elements(shape_of(writer, input)) == 1;
}

/* One step with all inputs that are tensors, in our order. */
static bool on_tensors(WholeWriter *writer, const char *theirs, const char *attrs)
{
    int n = 0, *input = arena_array(writer->arena, int, writer->rule.n_inputs);
    for (int i = 0; i < writer->rule.n_inputs; i++)
        if (has_shape(writer, i) && !is_number(writer, i))
            input[n++] = i;
    add_step(writer, theirs, attrs, input, n);
    return true;
}

static bool plain(WholeWriter *writer, const char *theirs)
{
    return on_tensors(writer, theirs, "");
}

/* theirs: the name if the first input is a tensor, and the name if it is a number. */
static bool ordered(WholeWriter *writer, const char *theirs)
{
    Str rest = str_from(theirs), first = str_take(&rest, ' ');
    bool turned = is_number(writer, 0) && !is_number(writer, 1);
    return plain(writer, arena_str(writer->arena, turned ? rest : first));
}

static bool cast(WholeWriter *writer, const char *theirs)
{
    const char *name = dtype_name(writer->rule.out_dtype[0]);
    add_unary(writer, theirs, arena_printf(writer->arena, "dtype=%s", name), 0, NULL);
    return true;
}

/* Uses the name from alias.h if that operator is elementwise. */
static bool pointwise(WholeWriter *writer, const char *op_type)
{
    Aliases names = alias_names(writer->arena, op_type);
    for (int i = 0; i < names.n; i++) {
        const StrategyOp *found = names.at[i].system == SYSTEM_TORCH
                                      ? strategy_find(str_from(names.at[i].name), STRATEGY_TORCH)
                                      : NULL;
        for (const StrategyOp *row = ops_pointwise; found && row->names; row++)
            if (row == found)
                return plain(writer, names.at[i].name);
    }
    return false;
}

/* ---- along a dim ---- */

static const char *dim_attr(const WholeWriter *writer, int64_t fallback)
{
    return arena_printf(writer->arena, "dim=%" PRId64 " keepdim=%" PRId64,
                        args_int(&writer->rule, "axis", fallback),
                        args_int(&writer->rule, "keepdims", 1));
}

static bool along_first(WholeWriter *writer, const char *theirs)
{
    return on_tensors(writer, theirs, dim_attr(writer, 0));
}

static bool along_last(WholeWriter *writer, const char *theirs)
{
    return on_tensors(writer, theirs, dim_attr(writer, -1));
}

static bool softmax(WholeWriter *writer, const char *theirs)
{
    return on_tensors(writer, theirs, dim_attr(writer, writer->rule.opset < 13 ? 1 : -1));
}

static bool scan(WholeWriter *writer, const char *theirs)
{
    Ints axis;
    if (!args_ints(&writer->rule, 1, "axis", &axis, NULL) || axis.n != 1)
        return false;
    add_unary(writer, theirs, arena_printf(writer->arena, "dim=%" PRId64, axis.at[0]), 0, NULL);
    return true;
}

static bool split(WholeWriter *writer, const char *theirs)
{
    int axis;
    int64_t *sizes = arena_array(writer->arena, int64_t, writer->rule.n_outputs);
    if (!args_split(&writer->rule, &axis, sizes, NULL))
        return false;
    const char *list = list_attr(writer->arena, "split_sizes", sizes, writer->rule.n_outputs);
    add_unary(writer, theirs, arena_printf(writer->arena, "dim=%d %s", axis, list), 0, NULL);
    return true;
}

/* One of torch's slices for each sliced dim; a negative step is a flip. */
static bool slice(WholeWriter *writer, const char *theirs)
{
    Span span[DIMS_MAX];
    if (!args_slice(&writer->rule, span, NULL))
        return false;
    Shape made = *shape_of(writer, 0);
    int input = 0;
    for (int d = 0; d < made.n_dims; d++) {
        if (span[d].start == 0 && span[d].step == 1 && span[d].n == made.dim[d])
            continue;
        made.dim[d] = span[d].n;
        const char *attrs =
            arena_printf(writer->arena, "dim=%d start=%" PRId64 " end=%" PRId64 " step=%" PRId64, d,
                         span[d].start, span[d].start + span[d].n * span[d].step, span[d].step);
        if (span[d].step < 0)
            attrs = arena_printf(writer->arena, "dims=[%d]", d);
        input = add_unary(writer, span[d].step < 0 ? "flip" : theirs, attrs, input, &made);
    }
    if (writer->steps.n == 0)
        add_unary(writer, "alias", "", 0, NULL);
    return true;
}

static bool reduce(WholeWriter *writer, const char *theirs)
{
    bool reduced[DIMS_MAX];
    Shape out;
    int64_t dims[DIMS_MAX] = {0}, n = 0;
    if (!args_reduce(&writer->rule, reduced, &out, NULL))
        return false;
    for (int64_t d = 0; d < shape_of(writer, 0)->n_dims; d++)
        if (reduced[d])
            dims[n++] = d;
    bool keeps = out.n_dims == shape_of(writer, 0)->n_dims;
    add_unary(writer, n == 0 ? "alias" : theirs,
              arena_printf(writer->arena, "%s keepdim=%d", list_attr(writer->arena, "dim", dims, n),
                           keeps),
              0, NULL);
    return true;
}

/* All dims after batch and channels. */
static bool pool_all(WholeWriter *writer, const char *theirs)
{
    int64_t dims[DIMS_MAX] = {0}, n = 0;
    for (int64_t d = 2; d < shape_of(writer, 0)->n_dims; d++)
        dims[n++] = d;
    add_unary(writer, theirs,
              arena_printf(writer->arena, "%s keepdim=1", list_attr(writer->arena, "dim", dims, n)),
              0, NULL);
    return true;
}

/* ---- views ---- */

static bool of_size(WholeWriter *writer, const char *theirs)
{
    const Shape *made = &writer->rule.out_shape[0];
    bool scalar = made->n_dims == 0; /* an empty list cannot be written */
    add_unary(writer, scalar ? "squeeze" : theirs, scalar ? "" : size_attr(writer, "size", made), 0,
              NULL);
    return true;
}

static bool permute(WholeWriter *writer, const char *theirs)
{
    int perm[DIMS_MAX];
    int64_t dims[DIMS_MAX] = {0}, n = shape_of(writer, 0)->n_dims;
    if (!args_permutation(&writer->rule, perm, NULL))
        return false;
    for (int64_t d = 0; d < n; d++)
        dims[d] = perm[d];
    add_unary(writer, n == 0 ? "alias" : theirs, list_attr(writer->arena, "dims", dims, n), 0,
              NULL);
    return true;
}

static bool tile(WholeWriter *writer, const char *theirs)
{
    Ints times;
    if (!args_ints(&writer->rule, 1, "repeats", &times, NULL) || !times.given)
        return false;
    add_unary(writer, theirs, list_attr(writer->arena, "repeats", times.at, times.n), 0, NULL);
    return true;
}

/* ONNX lists the padding before all dims, then after; torch lists both by dim from the last one. */
static bool pad(WholeWriter *writer, const char *theirs)
{
    Ints pads, axes;
    int64_t list[2 * DIMS_MAX], n = shape_of(writer, 0)->n_dims;
    if (!args_ints(&writer->rule, 1, "pads", &pads, NULL) ||
        !args_ints(&writer->rule, 3, "axes", &axes, NULL) || axes.given || pads.n != 2 * n ||
        !str_eq(args_text(&writer->rule, "mode", "constant"), STR("constant")))
        return false;
    for (int64_t d = 0; d < n; d++) {
        list[2 * d] = pads.at[n - 1 - d];
        list[2 * d + 1] = pads.at[2 * n - 1 - d];
    }
    bool zero = !has_shape(writer, 2) && args_float(&writer->rule, "value", 0) == 0;
    add_unary(writer, theirs,
              arena_printf(writer->arena, "%s value=%d",
                           list_attr(writer->arena, "pad", list, 2 * n), !zero),
              0, NULL);
    return true;
}

/* ---- products ---- */

static Shape turned(const Shape *shape)
{
    return (Shape){.n_dims = 2, .dim = {shape->dim[1], shape->dim[0]}};
}

/* With a weight of (N, K) it is `linear`. */
static bool gemm(WholeWriter *writer, const char *theirs)
{
    bool bias = has_shape(writer, 2), turn_b = args_int(&writer->rule, "transB", 0) != 0;
    int input[3] = {0, 1, 2};
    if (args_int(&writer->rule, "transA", 0)) {
        Shape made = turned(shape_of(writer, 0));
        input[0] = add_unary(writer, "t", "", 0, &made);
    }
    bool short_bias = bias && shape_of(writer, 2)->n_dims == 1;
    if (turn_b && (!bias || short_bias)) {
        add_step(writer, theirs, "", input, 2 + bias);
        return true;
    }
    if (turn_b) {
        Shape made = turned(shape_of(writer, 1));
        input[1] = add_unary(writer, "t", "", 1, &made);
    }
    int with_bias[3] = {2, input[0], input[1]};
    add_step(writer, bias ? "addmm" : "mm", "", bias ? with_bias : input, 2 + bias);
    return true;
}

/* Expands an operand to the shape of the batch of matrices. */
static int of_list(WholeWriter *writer, int input, const Shape *list)
{
    Shape full = *shape_of(writer, input);
    int64_t rows = full.dim[full.n_dims - 2], columns = full.dim[full.n_dims - 1];
    full = *list;
    full.dim[full.n_dims++] = rows;
    full.dim[full.n_dims++] = columns;
    if (shape_equal(&full, shape_of(writer, input)))
        return input;
    return add_unary(writer, "expand", size_attr(writer, "size", &full), input, &full);
}

/* A vector is a matrix with one row, or one column. */
static int as_matrix(WholeWriter *writer, int input)
{
    int64_t size = shape_of(writer, input)->dim[0];
    Shape made = {.n_dims = 2, .dim = {input == 0 ? 1 : size, input == 0 ? size : 1}};
    return add_unary(writer, "view", size_attr(writer, "size", &made), input, &made);
}

static bool matmul(WholeWriter *writer, const char *theirs)
{
    const Shape *a = shape_of(writer, 0), *b = shape_of(writer, 1);
    int input[2] = {0, 1};
    bool vector = a->n_dims == 1 || b->n_dims == 1;
    if (vector && (a->n_dims > 2 || b->n_dims > 2))
        return false;
    for (int i = 0; vector && a->n_dims + b->n_dims > 2 && i < 2; i++)
        if (shape_of(writer, i)->n_dims == 1)
            input[i] = as_matrix(writer, i);
    if (b->n_dims > 2) {
        Shape list = writer->rule.out_shape[0];
        list.n_dims -= 2;
        input[0] = of_list(writer, 0, &list);
        input[1] = of_list(writer, 1, &list);
    }
    int made = add_step(writer, theirs, "", input, 2);
    if (!vector || a->n_dims + b->n_dims == 2)
        return true;
    Shape matrix = {.n_dims = 2};
    matrix.dim[0] = a->n_dims == 1 ? 1 : a->dim[0];
    matrix.dim[1] = b->n_dims == 1 ? 1 : b->dim[1];
    writer->steps.at[~made].made = matrix;
    add_unary(writer, "view", size_attr(writer, "size", &writer->rule.out_shape[0]), made, NULL);
    return true;
}

static bool einsum(WholeWriter *writer, const char *theirs)
{
    Str equation = args_text(&writer->rule, "equation", "");
    Buf attr = buf_new(writer->arena);
    buf_puts(&attr, "equation=");
    for (size_t i = 0; i < equation.n; i++)
        if (equation.s[i] != ' ')
            buf_putc(&attr, equation.s[i]);
    return on_tensors(writer, theirs, attr.s);
}

/* ---- layers ---- */

static bool norm(WholeWriter *writer, const char *theirs)
{
    const Shape *shape = shape_of(writer, 0);
    int axis;
    if (!args_axis(args_int(&writer->rule, "axis", -1), shape->n_dims, &axis, NULL))
        return false;
    return on_tensors(
        writer, theirs,
        list_attr(writer->arena, "normalized_shape", shape->dim + axis, shape->n_dims - axis));
}

/* Attributes as lists with one number a window dim; pads at both ends must agree. */
static bool windows(WholeWriter *writer, const char *theirs)
{
    static const char *const ours[] = {"strides", "dilations"}, *const named[] = {"stride",
                                                                                  "dilation"};
    Buf attrs = buf_new(writer->arena);
    const char *blank = "";
    for (int i = 0; i < 2; i++) {
        Ints list;
        if (!args_ints(&writer->rule, -1, ours[i], &list, NULL))
            return false;
        if (list.given)
            buf_printf(&attrs, "%s%s", blank, list_attr(writer->arena, named[i], list.at, list.n));
        blank = attrs.n > 0 ? " " : "";
    }
    Ints pads;
    if (!args_ints(&writer->rule, -1, "pads", &pads, NULL))
        return false;
    if (pads.given)
        buf_printf(&attrs, "%s%s", blank, list_attr(writer->arena, "padding", pads.at, pads.n / 2));
    return on_tensors(writer, theirs, attrs.s ? attrs.s : "");
}

/* theirs: by the number of dims of the window. */
static bool pool(WholeWriter *writer, const char *theirs)
{
    Str rest = str_from(theirs), name = {0};
    for (int64_t d = 2; d < shape_of(writer, 0)->n_dims; d++)
        name = str_take(&rest, ' ');
    return name.n > 0 && windows(writer, arena_str(writer->arena, name));
}

/* ---- by position ---- */

/* By a scalar: select. Rows of a parameter: embedding. By a list: index_select. Else x[:, i]. */
static bool gather(WholeWriter *writer, const char *theirs)
{
    const Shape *data = shape_of(writer, 0), *indices = shape_of(writer, 1);
    int axis;
    if (!args_axis(args_int(&writer->rule, "axis", 0), data->n_dims, &axis, NULL))
        return false;
    const char *dim = arena_printf(writer->arena, "dim=%d", axis);
    if (indices->n_dims == 0) {
        add_unary(writer, "select", dim, 0, NULL);
        return true;
    }
    int input[DIMS_MAX + 1] = {0, 1};
    const int32_t *tensor = op_inputs(writer->rule.graph, writer->rule.op);
    bool parameter = writer->rule.graph->tensors[tensor[0]].kind == TENSOR_INITIALIZER;
    if (axis == 0 && data->n_dims == 2 && parameter) {
        add_step(writer, "embedding", "", input, 2);
        return true;
    }
    if (indices->n_dims == 1) {
        add_step(writer, "index_select", dim, input, 2);
        return true;
    }
    for (int d = 0; d < axis; d++)
        input[1 + d] = WHOLE_NO_INPUT;
    input[1 + axis] = 1;
    int step = add_step(writer, theirs, "", input, axis + 2);
    writer->steps.at[~step].n_indices = axis + 1;
    return true;
}

/* x[i, j]: each coordinate has the shape of the indices without their last dim. */
static bool gather_nd(WholeWriter *writer, const char *theirs)
{
    Shape one = *shape_of(writer, 1);
    int64_t n = one.n_dims > 0 ? one.dim[one.n_dims - 1] : 0;
    if (args_int(&writer->rule, "batch_dims", 0) != 0 || n < 1 || n > DIMS_MAX)
        return false;
    one.n_dims--;
    const char *last = arena_printf(writer->arena, "dim=%" PRId64, one.n_dims);
    int input[DIMS_MAX + 1] = {0}, coordinate = add_unary(writer, "select", last, 1, &one);
    for (int64_t i = 0; i < n; i++)
        input[1 + i] = coordinate;
    int step = add_step(writer, theirs, "", input, (int)n + 1);
    writer->steps.at[~step].n_indices = (int)n;
    return true;
}

static bool unary(WholeWriter *writer, const char *theirs)
{
    add_unary(writer, theirs, "", 0, NULL);
    return true;
}

/* ---- the table ---- */

/* Forms by the first word of the column `dtensor`. */
static const struct {
    const char *name;
    WriteFn *write;
} forms[] = {
    {"ordered", ordered},
    {"cast", cast},
    {"unary", unary},
    {"softmax", softmax},
    {"along_first", along_first},
    {"split", split},
    {"slice", slice},
    {"along_last", along_last},
    {"scan", scan},
    {"reduce", reduce},
    {"pool_all", pool_all},
    {"of_size", of_size},
    {"permute", permute},
    {"tile", tile},
    {"pad", pad},
    {"matmul", matmul},
    {"gemm", gemm},
    {"einsum", einsum},
    {"norm", norm},
    {"plain", plain},
    {"windows", windows},
    {"pool", pool},
    {"gather", gather},
    {"gather_nd", gather_nd},
};

/* dtensor: "reduce sum", a form and torch's operators. */
static bool write_form(WholeWriter *writer, const char *dtensor)
{
    size_t n = strcspn(dtensor, " "), f = 0;
    while (strncmp(forms[f].name, dtensor, n) != 0 || forms[f].name[n] != '\0') {
        f++;
        assert(f < sizeof forms / sizeof *forms);
    }
    return forms[f].write(writer, dtensor + n + 1);
}

/* The column `dtensor` of an operator of ours; NULL if it has none. */
static const char *dtensor_of(const char *op_type)
{
    const Operator *row = operator_find(op_type);
    return row ? row->dtensor : NULL;
}

/* ---- an op ---- */

OperandKind whole_operand(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    if (inferred_value(inferred, tensor) && shape && shape_elements(shape) == 1)
        return OPERAND_NUMBER;
    return inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER ? OPERAND_PARAMETER
                                                                       : OPERAND_TENSOR;
}

static void read_operands(WholeWriter *writer, const Inferred *inferred, int32_t op)
{
    RuleCall *rule = &writer->rule;
    const Shape **shape = arena_array(writer->arena, const Shape *, rule->n_inputs);
    Dtype *dtype = arena_array(writer->arena, Dtype, rule->n_inputs);
    const Value **value = arena_array(writer->arena, const Value *, rule->n_inputs);
    for (int i = 0; i < rule->n_inputs; i++) {
        int32_t t = op_inputs(rule->graph, op)[i];
        shape[i] = t < 0 ? NULL : inferred_shape(inferred, t);
        dtype[i] = t < 0 ? DT_NONE : (Dtype)inferred->dtype[t];
        value[i] = t < 0 ? NULL : inferred_value(inferred, t);
    }
    rule->shape = shape;
    rule->dtype = dtype;
    rule->value = value;
    rule->out_shape = arena_array(writer->arena, Shape, rule->n_outputs);
    rule->out_dtype = arena_array(writer->arena, Dtype, rule->n_outputs);
    for (int o = 0; o < rule->n_outputs; o++) {
        int32_t t = op_outputs(rule->graph, op)[o];
        const Shape *made = t < 0 ? NULL : inferred_shape(inferred, t);
        if (made)
            rule->out_shape[o] = *made;
        rule->out_dtype[o] = t < 0 ? DT_NONE : (Dtype)inferred->dtype[t];
    }
}

/* The op under its own name: torch's, or one that a user has a strategy for or, with its space,
 * registered. */
static void add_itself(WholeWriter *writer, const char *name, const OpSpace *space)
{
    WholeStep step = {
        .name = name, .graph = writer->rule.graph, .graph_op = writer->rule.op, .space = space};
    int *input = arena_array(writer->arena, int, writer->rule.n_inputs);
    for (int i = 0; i < writer->rule.n_inputs; i++)
        input[i] = has_shape(writer, i) ? i : WHOLE_NO_INPUT;
    step.n_inputs = writer->rule.n_inputs;
    step.input = input;
    vec_push(writer->arena, &writer->steps, step);
}

static bool is_users(const Strategies *strategies, const char *name)
{
    for (int i = 0; i < strategies_n_users(strategies); i++)
        if (strcmp(strategies_user(strategies, i), name) == 0)
            return true;
    return false;
}

static void write_steps(WholeWriter *writer, const Strategies *strategies, const char *name,
                        const OpSpace *space)
{
    const Alias *alias = is_users(strategies, name) || dtensor_of(name)
                             ? NULL
                             : alias_find(writer->arena, str_from(name));
    if (is_users(strategies, name) || (alias && alias->system == SYSTEM_TORCH)) {
        add_itself(writer, alias ? alias->name : name, NULL);
        return;
    }
    if (!alias && !operator_find(name)) {
        add_itself(writer, name, space);
        return;
    }
    writer->rule.alias = alias;
    const char *op_type = alias ? alias->op_type : name;
    const char *dtensor = dtensor_of(op_type);
    if (dtensor ? !write_form(writer, dtensor) : !pointwise(writer, op_type))
        writer->steps.n = 0;
}

static bool reads_tensors(const Inferred *inferred, int32_t op)
{
    for (int i = 0; i < inferred->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(inferred->graph, op)[i];
        if (t >= 0 && !tensor_is_known(inferred, t))
            return true;
    }
    return false;
}

WholeCall whole_call(Arena *arena, const Inferred *inferred, const Strategies *strategies,
                     int32_t op)
{
    const Graph *graph = inferred->graph;
    WholeWriter writer = {.arena = arena};
    int64_t opset = op_opset(graph, op);
    writer.rule = (RuleCall){.arena = arena,
                             .graph = graph,
                             .op = op,
                             .n_inputs = graph->ops[op].n_inputs,
                             .n_outputs = graph->ops[op].n_outputs,
                             .opset = opset > 0 ? opset : INT64_MAX};
    if (!reads_tensors(inferred, op))
        return (WholeCall){.makes = true};
    read_operands(&writer, inferred, op);
    const OpSpace *space = program_space(inferred, op);
    if (!space->no_rule)
        write_steps(&writer, strategies, op_operator(graph, op), space);
    return (WholeCall){.n_steps = writer.steps.n, .step = writer.steps.at};
}
