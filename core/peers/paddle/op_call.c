#include "core/peers/paddle/op_call.h"

#include "core/peers/paddle/space_rule.h"
#include "core/rules/args.h"
#include "core/rules/one_op.h"

#include <assert.h>
#include <inttypes.h>

/* A call being built. */
typedef struct {
    Arena *arena;
    const Inferred *inferred;
    int32_t op;
    const char *op_type; /* operator of the graph */
    RuleCall ours;       /* operands in the order of the operator's schema */
    int *place;          /* per operand of `ours`: its number in the op */
    OneOpBuilder *attrs; /* of Paddle's operator */
    SpmdOpCall *call;
} Draft;

typedef bool DraftFn(Draft *draft, Error *err);

/* ---- for the rows ---- */

/* Sets Paddle's name; attributes can be added afterwards. */
static void set_name(Draft *draft, const char *name)
{
    OneOp op = {.op_type = str_from(name)};
    draft->call->name = name;
    draft->attrs = one_op_new(draft->arena, &op);
}

static void set_ints(Draft *draft, const char *attr, const int64_t *at, int n)
{
    Buf text = buf_new(draft->arena);
    buf_printf(&text, "%s=[", attr);
    for (int i = 0; i < n; i++)
        buf_printf(&text, "%s%" PRId64, i ? "," : "", at[i]);
    buf_puts(&text, "]");
    one_op_attr_text(draft->attrs, text.s, NULL);
}

static void set_int(Draft *draft, const char *attr, int64_t value)
{
    one_op_attr_text(draft->attrs, arena_printf(draft->arena, "%s=%" PRId64, attr, value), NULL);
}

/* The operands of ours that Paddle's inputs are, in Paddle's order. */
static void set_inputs(Draft *draft, int n, const int *operand)
{
    int *input = arena_array(draft->arena, int, n);
    for (int i = 0; i < n; i++)
        input[i] = draft->place[operand[i]];
    draft->call->input = input;
    draft->call->n_inputs = n;
}

static void set_first_inputs(Draft *draft, int n)
{
    int *operand = arena_array(draft->arena, int, n);
    for (int i = 0; i < n; i++)
        operand[i] = i;
    set_inputs(draft, n, operand);
}

static const Shape *shape_in(const Draft *draft, int input)
{
    return draft->ours.shape[input];
}

static const Shape *shape_out(const Draft *draft)
{
    const OpSpace *space = program_space(draft->inferred, draft->op);
    return &space->operand[space->n_inputs].shape;
}

/* ---- rows: views ---- */

static bool as_reshape(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "reshape2");
    set_ints(draft, "shape", shape_out(draft)->dim, (int)shape_out(draft)->n_dims);
    set_first_inputs(draft, 1);
    return true;
}

/* Axes from an attribute or an input; without them every dim of size 1. */
static bool as_squeeze(Draft *draft, Error *err)
{
    Ints axes;
    if (!args_ints(&draft->ours, 1, "axes", &axes, err))
        return false;
    set_name(draft, "squeeze");
    set_ints(draft, "axis", axes.at, axes.n);
    set_first_inputs(draft, 1);
    return true;
}

static bool as_unsqueeze(Draft *draft, Error *err)
{
    Ints axes;
    if (!args_ints(&draft->ours, 1, "axes", &axes, err))
        return false;
    set_name(draft, "unsqueeze2");
    set_ints(draft, "axis", axes.at, axes.n);
    set_first_inputs(draft, 1);
    return true;
}

static bool as_transpose(Draft *draft, Error *err)
{
    int perm[DIMS_MAX];
    int64_t list[DIMS_MAX];
    int n = (int)shape_in(draft, 0)->n_dims;
    if (!args_permutation(&draft->ours, perm, err))
        return false;
    for (int d = 0; d < n; d++)
        list[d] = perm[d];
    set_name(draft, "transpose2");
    set_ints(draft, "perm", list, n);
    set_first_inputs(draft, 1);
    return true;
}

static bool as_expand(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "expand");
    set_ints(draft, "shape", shape_out(draft)->dim, (int)shape_out(draft)->n_dims);
    set_first_inputs(draft, 1);
    return true;
}

static bool as_tile(Draft *draft, Error *err)
{
    Ints repeats;
    if (!args_ints(&draft->ours, 1, "repeats", &repeats, err))
        return false;
    set_name(draft, "tile");
    set_ints(draft, "repeat_times", repeats.at, repeats.n);
    set_first_inputs(draft, 1);
    return true;
}

/* ---- rows: parts ---- */

static bool as_concat(Draft *draft, Error *err)
{
    int axis;
    Shape out;
    if (!args_concat(&draft->ours, &axis, &out, err))
        return false;
    set_name(draft, "concat");
    set_int(draft, "axis", axis);
    set_first_inputs(draft, draft->ours.n_inputs);
    return true;
}

static bool as_split(Draft *draft, Error *err)
{
    int axis, n = draft->ours.n_outputs;
    int64_t *sizes = arena_array(draft->arena, int64_t, n);
    if (!args_split(&draft->ours, &axis, sizes, err))
        return false;
    set_name(draft, "split");
    set_int(draft, "axis", axis);
    set_ints(draft, "sections", sizes, n);
    set_first_inputs(draft, 1);
    return true;
}

/* A slice if all steps are 1, else a strided_slice. */
static bool as_slice(Draft *draft, Error *err)
{
    Span span[DIMS_MAX];
    int64_t axes[DIMS_MAX], starts[DIMS_MAX], ends[DIMS_MAX], strides[DIMS_MAX];
    int n = 0;
    bool strided = false;
    const Shape *from = shape_in(draft, 0);
    if (!args_slice(&draft->ours, span, err))
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        if (span[d].start == 0 && span[d].step == 1 && span[d].n == from->dim[d])
            continue;
        axes[n] = d;
        starts[n] = span[d].start;
        ends[n] = span[d].start + span[d].step * span[d].n;
        strides[n++] = span[d].step;
        strided |= span[d].step != 1;
    }
    set_name(draft, strided ? "strided_slice" : "slice");
    set_ints(draft, "axes", axes, n);
    set_ints(draft, "starts", starts, n);
    set_ints(draft, "ends", ends, n);
    if (strided)
        set_ints(draft, "strides", strides, n);
    set_first_inputs(draft, 1);
    return true;
}

/* ---- rows: by position ---- */

/* Selects one index of a dim and drops the dim: a slice with decrease_axis, which Paddle's forward
 * rule ignores. */
static bool as_select(Draft *draft, int axis)
{
    set_name(draft, "slice");
    set_ints(draft, "axes", (int64_t[]){axis}, 1);
    set_ints(draft, "decrease_axis", (int64_t[]){axis}, 1);
    set_first_inputs(draft, 1);
    draft->call->corrected = true;
    return true;
}

/* Gathering rows of a matrix is an embedding if the matrix is a parameter or the indices have
 * several dims; for the latter the eager rule keeps the table whole. */
static bool as_gather(Draft *draft, Error *err)
{
    int axis;
    Shape out;
    int32_t table = op_inputs(draft->inferred->graph, draft->op)[draft->place[0]];
    const Shape *index = shape_in(draft, 1);
    if (!args_gather(&draft->ours, &axis, &out, err))
        return false;
    if (index->n_dims == 0)
        return as_select(draft, axis);
    bool rows = axis == 0 && shape_in(draft, 0)->n_dims == 2;
    if (rows && (index->n_dims > 1 || tensor_is_parameter(draft->inferred, table))) {
        set_name(draft, "embedding");
        set_inputs(draft, 2, (int[]){1, 0});
        draft->call->mode = tensor_is_parameter(draft->inferred, table) ? SPMD_STATIC : SPMD_EAGER;
        return true;
    }
    set_name(draft, "gather");
    set_int(draft, "axis", axis);
    set_first_inputs(draft, 2);
    return true;
}

/* ---- rows: norms and reductions ---- */

static bool set_axis(Draft *draft, const char *attr, int64_t fallback, Error *err)
{
    int axis;
    if (!args_axis(args_int(&draft->ours, "axis", fallback), shape_in(draft, 0)->n_dims, &axis,
                   err))
        return false;
    set_int(draft, attr, axis);
    return true;
}

static bool as_softmax(Draft *draft, Error *err)
{
    bool logs = strcmp(draft->op_type, "LogSoftmax") == 0;
    set_name(draft, logs ? "log_softmax" : "softmax");
    set_first_inputs(draft, 1);
    return set_axis(draft, "axis", draft->ours.opset < 13 ? 1 : -1, err);
}

/* Inputs and outputs that only Paddle's operator has get shapes: vectors like scale, statistics of
 * the dims that are not normalised.
 */
static void fill_norm(Draft *draft, int n_inputs, int n_outputs, int begin)
{
    SpmdOpCall *call = draft->call;
    int *input = arena_array(draft->arena, int, n_inputs);
    Shape *shape = arena_array(draft->arena, Shape, n_inputs + n_outputs);
    for (int i = 0; i < n_inputs; i++) {
        bool there = i < draft->ours.n_inputs && draft->ours.shape[i];
        input[i] = there ? draft->place[i] : -1;
        shape[i] = *shape_in(draft, i < 1 ? 0 : 1);
    }
    for (int o = 0; o < n_outputs; o++) {
        shape[n_inputs + o] = *shape_in(draft, 0);
        shape[n_inputs + o].n_dims = begin;
    }
    int *output =
        arena_array(draft->arena, int, n_outputs); /* 0; statistics are not operands of ours */
    for (int o = 1; o < n_outputs; o++)
        output[o] = -1;
    call->input = input;
    call->output = output;
    call->shape = shape;
    call->n_inputs = n_inputs;
    call->n_outputs = n_outputs;
}

static bool as_layer_norm(Draft *draft, Error *err)
{
    int begin;
    if (!args_axis(args_int(&draft->ours, "axis", -1), shape_in(draft, 0)->n_dims, &begin, err))
        return false;
    set_name(draft, "layer_norm");
    set_int(draft, "begin_norm_axis", begin);
    fill_norm(draft, 3, 3, begin);
    return true;
}

static bool as_rms_norm(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "fused_rms_norm");
    fill_norm(draft, 2, 2, (int)shape_in(draft, 0)->n_dims - 1);
    return true;
}

static bool as_batch_norm(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "batch_norm");
    set_inputs(draft, 5, (int[]){0, 3, 4, 1, 2});
    return true;
}

static bool as_reduction(Draft *draft, Error *err)
{
    static const struct {
        const char *ours, *theirs;
        int type;
    } names[] = {{"ReduceSum", "reduce_sum", -1},   {"ReduceMean", "reduce_base", 4},
                 {"ReduceMax", "reduce_max", -1},   {"ReduceMin", "amin", -1},
                 {"ReduceProd", "prod", -1},        {"ReduceLogSumExp", "logsumexp", -1},
                 {"ReduceL2", "frobenius_norm", -1}};
    bool reduced[DIMS_MAX];
    int64_t axes[DIMS_MAX];
    int n = 0;
    Shape out;
    if (!args_reduce(&draft->ours, reduced, &out, err))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].ours, draft->op_type) != 0)
            continue;
        set_name(draft, names[i].theirs);
        if (names[i].type >= 0)
            set_int(draft, "reduce_type", names[i].type);
    }
    for (int d = 0; d < shape_in(draft, 0)->n_dims; d++)
        if (reduced[d])
            axes[n++] = d;
    if (n == 0 && shape_in(draft, 0)->n_dims > 0)
        return error_set(err, "it reduces no dim");
    set_ints(draft, "axis", axes, n);
    set_int(draft, "keepdim", out.n_dims == shape_in(draft, 0)->n_dims);
    set_first_inputs(draft, 1);
    return true;
}

static bool as_arg(Draft *draft, Error *err)
{
    bool most = strcmp(draft->op_type, "ArgMax") == 0;
    set_name(draft, most ? "argmax" : "argmin");
    set_int(draft, "keepdims", args_int(&draft->ours, "keepdims", 1));
    set_first_inputs(draft, 1);
    if (args_all_as_one_row(&draft->ours)) {
        set_int(draft, "flatten", 1);
        return true;
    }
    return set_axis(draft, "axis", 0, err);
}

/* ---- rows: products ---- */

static bool as_matmul(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "matmul_v2");
    set_first_inputs(draft, 2);
    return true;
}

static bool as_gemm(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "matmul_v2");
    set_int(draft, "trans_x", args_int(&draft->ours, "transA", 0));
    set_int(draft, "trans_y", args_int(&draft->ours, "transB", 0));
    set_first_inputs(draft, 2);
    if (args_has(&draft->ours, 2))
        draft->call->addend = draft->place[2];
    return true;
}

/* The operator depends on the number of dims; one group per channel is a depthwise convolution. */
static bool as_conv(Draft *draft, Error *err)
{
    const Shape *x = shape_in(draft, 0), *filter = shape_in(draft, 1);
    int64_t groups = args_int(&draft->ours, "group", 1);
    if (x->n_dims != 4 && x->n_dims != 5)
        return error_set(err, "a convolution of %d spatial dims has no rule", (int)x->n_dims - 2);
    bool each = groups == x->dim[1] && filter->dim[1] == 1 && groups > 1;
    if (groups > 1 && !each)
        return error_set(err, "a grouped convolution has no rule");
    set_name(draft, each ? "depthwise_conv2d" : x->n_dims == 4 ? "conv2d" : "conv3d");
    set_int(draft, "groups", groups);
    set_first_inputs(draft, 2);
    return true;
}

/* ---- rows: element by element ---- */

static bool as_unary(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "elementwise_unary");
    set_first_inputs(draft, 1);
    return true;
}

static bool as_neg(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "scale"); /* by -1 */
    set_first_inputs(draft, 1);
    return true;
}

static bool as_carry(Draft *draft, Error *err)
{
    (void)err;
    set_name(draft, "assign");
    set_first_inputs(draft, 1);
    return true;
}

/* A value that can come from two operands. */
static bool as_tie(Draft *draft, Error *err)
{
    int first = strcmp(draft->op_type, "If") == 0;
    if (draft->ours.n_inputs - first > 2)
        return error_set(err, "it joins more than two values");
    set_name(draft, draft->ours.n_inputs - first == 2 ? "elementwise_binary" : "assign");
    set_inputs(draft, draft->ours.n_inputs - first, (int[]){first, first + 1});
    return true;
}

/* Rows by the column `paddle` of an operator's row. */
static const struct {
    const char *name;
    DraftFn *make;
} forms[] = {
    {"reshape", as_reshape},
    {"squeeze", as_squeeze},
    {"unsqueeze", as_unsqueeze},
    {"transpose", as_transpose},
    {"expand", as_expand},
    {"tile", as_tile},
    {"concat", as_concat},
    {"split", as_split},
    {"slice", as_slice},
    {"gather", as_gather},
    {"softmax", as_softmax},
    {"layer_norm", as_layer_norm},
    {"rms_norm", as_rms_norm},
    {"batch_norm", as_batch_norm},
    {"reduction", as_reduction},
    {"arg", as_arg},
    {"matmul", as_matmul},
    {"gemm", as_gemm},
    {"conv", as_conv},
    {"unary", as_unary},
    {"neg", as_neg},
    {"carry", as_carry},
    {"tie", as_tie},
};

/* ---- by the names of alias.h ---- */

static bool accepts(const SpmdRule *rule, int n)
{
    return n >= rule->inputs.min && (n <= rule->inputs.max || rule->inputs.max == SPMD_ANY);
}

/* Sets the rule's inputs in listed order; inputs beyond what the rule accepts must have one
 * element. */
static bool set_listed_inputs(Draft *draft, const SpmdRule *rule, const Alias *alias)
{
    int n = draft->ours.n_inputs, n_theirs = 0;
    int *input = arena_array(draft->arena, int, n + 1);
    for (int i = 0; i < n; i++) {
        int at = alias ? alias_operand(alias, i) : draft->place[i];
        bool fits = at >= 0 && at < n && (at < rule->inputs.max || rule->inputs.max == SPMD_ANY);
        if (!fits && draft->ours.shape[i] && shape_elements(draft->ours.shape[i]) > 1)
            return false;
        if (!fits)
            continue;
        for (; n_theirs <= at; n_theirs++)
            input[n_theirs] = -1;
        input[at] = draft->place[i];
    }
    draft->call->input = input;
    draft->call->n_inputs = n_theirs;
    return accepts(rule, n_theirs);
}

static const char *name_of_theirs(const Alias *alias, const char *ours)
{
    for (int i = 0; i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].ours, ours) == 0)
            return alias->attr[i].theirs;
    return ours;
}

/* Copies attributes that are ints or strings; rules read no others. */
static void copy_attrs(Draft *draft, const Alias *alias)
{
    const Graph *graph = draft->inferred->graph;
    const AttrList *list = &graph->attr_lists[graph->ops[draft->op].attrs];
    for (int i = 0; i < list->n; i++) {
        const Attr *attr = &list->at[i];
        const char *name = names_text(graph->names, attr->name);
        if (draft->ours.alias)
            name = alias_ours(draft->ours.alias, name);
        name = name_of_theirs(alias, name);
        if (attr->type == ATTR_INT)
            set_int(draft, name, attr->i);
        else if (attr->type == ATTR_INTS)
            set_ints(draft, name, attr->ints, attr->n);
        else if (attr->type == ATTR_STRING)
            one_op_attr_text(draft->attrs,
                             arena_printf(draft->arena, "%s=%.*s", name, STR_ARG(attr->s)), NULL);
    }
}

/* Uses the first of the operator's names in Paddle that has a rule with these operands. */
static bool by_alias(Draft *draft, const SpmdRules *rules, const char *op_type)
{
    Aliases aliases = alias_names(draft->arena, op_type);
    for (int i = 0; i < aliases.n; i++) {
        const Alias *alias = &aliases.at[i];
        const SpmdRule *rule = spmd_rules_find(rules, str_from(alias->name));
        if (alias->system != SYSTEM_PADDLE || !rule || alias->n_constants > 0)
            continue;
        set_name(draft, alias->name);
        if (!set_listed_inputs(draft, rule, alias))
            continue;
        copy_attrs(draft, alias);
        return true;
    }
    return false;
}

/* ---- choosing the rule ---- */

static const SpmdRule *user_rule(const SpmdRules *rules, Str name)
{
    for (int i = rules ? spmd_rules_n_users(rules) - 1 : -1; i >= 0; i--)
        if (str_has_word(str_from(spmd_rules_user(rules, i)->names), name))
            return spmd_rules_user(rules, i);
    return NULL;
}

/* Uses the op unchanged if its own name has a rule. */
static bool by_own_name(Draft *draft, const SpmdRules *rules)
{
    const char *name = op_operator(draft->inferred->graph, draft->op);
    const SpmdRule *rule = user_rule(rules, str_from(name));
    if (!rule && draft->ours.alias && draft->ours.alias->system == SYSTEM_PADDLE) {
        name = draft->ours.alias->name;
        rule = spmd_rules_find(rules, str_from(name));
    }
    if (!rule)
        return false;
    SpmdOpCall *call = draft->call;
    if (!set_listed_inputs(draft, rule, NULL))
        return false;
    call->graph = draft->inferred->graph;
    call->op = draft->op;
    call->name = name;
    return true;
}

static bool by_form(Draft *draft, const char *form, Error *err)
{
    size_t f = 0;
    if (!form)
        return false;
    while (strcmp(forms[f].name, form) != 0) {
        f++;
        assert(f < sizeof forms / sizeof *forms);
    }
    return forms[f].make(draft, err);
}

/* True if dim 0 may be the batch. */
static bool has_batch(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(inferred, tensor);
    return shape && shape->n_dims > 0 && !tensor_is_known(inferred, tensor) &&
           !tensor_is_parameter(inferred, tensor);
}

/* default_data_parallel: dim 0 of all computed tensors. */
static void by_default(Draft *draft)
{
    const Graph *graph = draft->inferred->graph;
    const GraphOp *op = &graph->ops[draft->op];
    SpmdOpCall *call = draft->call;
    int *input = arena_array(draft->arena, int, op->n_inputs);
    int *output = arena_array(draft->arena, int, op->n_outputs);
    set_name(draft, "default_data_parallel");
    call->n_inputs = call->n_outputs = 0;
    for (int i = 0; i < op->n_inputs; i++)
        if (has_batch(draft->inferred, op_inputs(graph, draft->op)[i]))
            input[call->n_inputs++] = i;
    for (int o = 0; o < op->n_outputs; o++)
        if (has_batch(draft->inferred, op_outputs(graph, draft->op)[o]))
            output[call->n_outputs++] = o;
    call->input = input;
    call->output = output;
    call->addend = -1;
}

/* Reads the op's operands in the order of its schema. */
static void read_operands(Draft *draft)
{
    const Inferred *inferred = draft->inferred;
    const Graph *graph = inferred->graph;
    const GraphOp *node = &graph->ops[draft->op];
    const int32_t *inputs = op_inputs(graph, draft->op);
    const Alias *alias =
        registry_alias(inferred->registry, str_from(op_operator(graph, draft->op)));
    int n = alias && alias->n_operands > 0 ? alias->n_operands : node->n_inputs;
    const Shape **shape = arena_array(draft->arena, const Shape *, n);
    Dtype *dtype = arena_array(draft->arena, Dtype, n);
    const Value **value = arena_array(draft->arena, const Value *, n);
    draft->place = arena_array(draft->arena, int, n);
    for (int i = 0; i < n; i++) {
        int at = alias ? alias_operand(alias, i) : i;
        int32_t t = at < 0 || at >= node->n_inputs ? -1 : inputs[at];
        draft->place[i] = at < node->n_inputs ? at : -1;
        shape[i] = t < 0 ? NULL : inferred_shape(inferred, t);
        dtype[i] = t < 0 ? DT_NONE : (Dtype)inferred->dtype[t];
        value[i] = t < 0 ? NULL : inferred_value(inferred, t);
    }
    int64_t opset = op_opset(graph, draft->op);
    draft->ours = (RuleCall){.arena = draft->arena,
                             .graph = graph,
                             .op = draft->op,
                             .alias = alias,
                             .n_inputs = n,
                             .n_outputs = node->n_outputs,
                             .shape = shape,
                             .dtype = dtype,
                             .value = value,
                             .opset = opset > 0 ? opset : INT32_MAX};
}

/* Sets outputs in order if the row did not; as many as a backward rule accepts. */
static void set_outputs(Draft *draft)
{
    SpmdOpCall *call = draft->call;
    int n = draft->ours.n_outputs;
    if (call->output)
        return;
    if (call->rule->outputs.max > 0 && n > call->rule->outputs.max &&
        call->rule->outputs.max != SPMD_ANY)
        n = call->rule->outputs.max;
    int *output = arena_array(draft->arena, int, n);
    for (int o = 0; o < n; o++)
        output[o] = o;
    call->output = output;
    call->n_outputs = n;
}

const SpmdOpCall *spmd_op_call(Arena *arena, const SpmdRules *rules, const Inferred *inferred,
                               int32_t op)
{
    const Operator *row = inferred_operator(inferred, op);
    Draft draft = {.arena = arena, .inferred = inferred, .op = op};
    Error err = {0};
    draft.call = arena_make(arena, SpmdOpCall);
    draft.call->addend = -1;
    draft.op_type = row ? row->name : "";
    read_operands(&draft);
    if (!by_own_name(&draft, rules) &&
        (!row || (!by_form(&draft, row->paddle, &err) && !by_alias(&draft, rules, row->name))) &&
        !spmd_call_of_space(arena, inferred, op, draft.call)) {
        by_default(&draft);
        if (draft.call->n_inputs + draft.call->n_outputs > 0)
            draft.call->why = error_is_set(&err) ? arena_str(arena, str_from(err.text))
                                                 : "no rule for this operator";
    }
    SpmdOpCall *call = draft.call;
    if (!call->rule)
        call->rule = spmd_rules_find(rules, str_from(call->name));
    if (!call->graph)
        call->graph = one_op_graph(draft.attrs, NULL);
    call->forward_only = !call->rule->backward || call->rule->flags & SPMD_GRADIENT;
    set_outputs(&draft);
    return call;
}
