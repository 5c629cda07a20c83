#include "core/rules/user_op.h"

#include "core/rules/registry.h"

#include <inttypes.h>

/* ---- keyword arguments ---- */

/* Returns NULL if there is none of that name. */
static const Kwarg *kwargs_find(const Kwargs *kwargs, const char *name)
{
    for (int i = 0; i < kwargs->n; i++)
        if (strcmp(kwargs->at[i].name, name) == 0)
            return &kwargs->at[i];
    return NULL;
}

Kwargs kwargs_of_op(Arena *arena, const Inferred *inferred, int32_t op)
{
    const Graph *graph = inferred->graph;
    const AttrList *attrs = &graph->attr_lists[graph->ops[op].attrs];
    const Operator *row = inferred_operator(inferred, op);
    Kwargs defaults = row && row->user ? row->user->defaults : (Kwargs){0};
    Kwarg *at = arena_array(arena, Kwarg, attrs->n + defaults.n);
    Kwargs out = {attrs->n, at};
    for (int i = 0; i < attrs->n; i++)
        at[i] = (Kwarg){names_text(graph->names, attrs->at[i].name), attrs->at[i]};
    for (int i = 0; i < defaults.n; i++)
        if (!kwargs_find(&out, defaults.at[i].name))
            at[out.n++] = defaults.at[i];
    return out;
}

static const Kwarg *length_of(const Kwargs *kwargs, const IndexDim *dim)
{
    const Kwarg *found = dim->rule ? NULL : kwargs_find(kwargs, dim->name);
    return found && found->value.type == ATTR_INT ? found : NULL;
}

bool kwargs_change(const OpSpace *space, const Kwargs *kwargs, int index)
{
    const IndexDim *dim = &space->index[index];
    return dim->rule ? dim->rule->kwargs != NULL : length_of(kwargs, dim) != NULL;
}

static RulePiece rule_piece(const CutRule *rule, const IndexPiece *piece)
{
    for (int t = 0; t < rule->n_inputs + rule->n_outputs; t++)
        if (rule->split[t].kind == SPLIT_DIMS)
            return (RulePiece){t, rule->split[t].dim[0], piece->num, piece->at};
    return (RulePiece){-1, -1, piece->num, piece->at};
}

/* Divides the argument that is named as the index dim, since it is the length of a shard's part. */
static bool divide(Arena *arena, Kwargs *kwargs, const Kwarg *length, int64_t num, Error *err)
{
    if (length->value.i % num != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the argument '%s' is %" PRId64 ", which %" PRId64 " does not divide",
                          length->name, length->value.i, num);
    Kwarg *at = arena_array(arena, Kwarg, kwargs->n);
    for (int i = 0; i < kwargs->n; i++) {
        at[i] = kwargs->at[i];
        if (&kwargs->at[i] == length)
            at[i].value.i /= num;
    }
    kwargs->at = at;
    return true;
}

bool kwargs_of_piece(Arena *arena, const OpSpace *space, const IndexPiece *piece, Kwargs *kwargs,
                     Error *err)
{
    for (int j = 0; piece && j < space->n_index; j++) {
        if (piece[j].num == 1 || !kwargs_change(space, kwargs, j))
            continue;
        const CutRule *rule = space->index[j].rule;
        if (!rule) {
            const Kwarg *length = length_of(kwargs, &space->index[j]);
            if (length && !divide(arena, kwargs, length, piece[j].num, err))
                return false;
            continue;
        }
        RulePiece shard = rule_piece(rule, &piece[j]);
        if (!rule->kwargs(rule->context, arena, &shard, kwargs, err))
            return false;
    }
    return true;
}

/* ---- rules as written ---- */

static int count_kind(const CutRule *rule, int from, int to, SplitKind kind)
{
    int n = 0;
    for (int t = from; t < to; t++)
        n += rule->split[t].kind == kind;
    return n;
}

bool cut_rule_check(const CutRule *rule, Error *err)
{
    int n = rule->n_inputs + rule->n_outputs;
    int dims = count_kind(rule, 0, n, SPLIT_DIMS);
    int out_dims = count_kind(rule, rule->n_inputs, n, SPLIT_DIMS);
    int out_values = count_kind(rule, rule->n_inputs, n, SPLIT_VALUE);
    int in_values = count_kind(rule, 0, rule->n_inputs, SPLIT_VALUE);
    if (out_dims + out_values == 0)
        return error_set(err, "a rule must tell how outputs are sharded: none is D or V");
    if (out_values > 0 && out_values < rule->n_outputs)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "one output is V and another is not: all must be, or none");
    if (dims == 0 && in_values == 0)
        return error_set(err, "a rule must shard a tensor: there is no D, and no input that is V");
    if (dims > 0 && in_values > 0 && out_values == 0)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "an input that is V beside dims that are D needs outputs that are V");
    return true;
}

void cut_rule_format(const CutRule *rule, Buf *out)
{
    for (int t = 0; t < rule->n_inputs + rule->n_outputs; t++) {
        if (t == rule->n_inputs)
            buf_puts(out, " -> ");
        else if (t > 0)
            buf_puts(out, ", ");
        anno_split_format(&rule->split[t], out);
    }
}

/* ---- rules in an op space ---- */

typedef struct {
    Arena *arena;
    const CutRule *rule;
    OpSpace *space;
    int64_t length;   /* of the dim that the rule cuts */
    int joined;       /* its index dim */
    uint32_t leading; /* index dims that are the major factor of a sharded dim */
    Error *err;
} Joining;

static bool is_cut(const CutRule *rule, int t, int d)
{
    const AnnoSplit *split = &rule->split[t];
    for (int i = 0; split->kind == SPLIT_DIMS && i < split->n; i++)
        if (split->dim[i] == d)
            return true;
    return false;
}

/* The index dim that is the dim's major factor; -1 if the dim is read whole. */
static int leading_of(const Operand *operand, int d)
{
    return operand->factors[d].n > 0 ? operand->factors[d].index[0] : -1;
}

static bool check_position(const Joining *j, int t, int d)
{
    const Operand *operand = &j->space->operand[t];
    bool output = t >= j->space->n_inputs;
    const char *what = output ? "output" : "input";
    int nth = output ? t - j->space->n_inputs : t;
    if (operand->absent || operand->ignored)
        return error_set(j->err, "a rule shards %s %d, which is %s", what, nth,
                         operand->absent ? "absent" : "'?'");
    if (d >= operand->shape.n_dims)
        return error_kind(j->err, ERROR_OUT_OF_RANGE, "a rule shards dim %d of %s %d, which has %d",
                          d, what, nth, (int)operand->shape.n_dims);
    if (!operand->factors[d].exact)
        return error_kind(j->err, ERROR_UNSUPPORTED,
                          "a rule shards dim %d of %s %d, which is not one plain index dim", d,
                          what, nth);
    return true;
}

/* Finds the length that all dims of the rule have in common, and their major factors. */
static bool measure(Joining *j)
{
    for (int t = 0; t < j->rule->n_inputs + j->rule->n_outputs; t++)
        for (int i = 0; j->rule->split[t].kind == SPLIT_DIMS && i < j->rule->split[t].n; i++) {
            int d = j->rule->split[t].dim[i];
            if (!check_position(j, t, d))
                return false;
            int lead = leading_of(&j->space->operand[t], d);
            int64_t length =
                lead >= 0 ? j->space->index[lead].size : j->space->operand[t].shape.dim[d];
            j->length = j->length == 0 ? length : common_divisor(j->length, length);
            j->joined = lead >= 0 && j->joined < 0 ? lead : j->joined;
            if (lead >= 0)
                j->leading |= (uint32_t)1 << lead;
        }
    return true;
}

/* Adds a frozen index dim for the rest of a dim; no other dim of the tensor has it. */
static int rest_index(const Joining *j, const Operand *operand, int64_t size)
{
    for (int nth = 0; nth <= X_MAX; nth++) {
        int index = opspace_add_number(j->arena, j->space, size, nth);
        bool used = false;
        for (int d = 0; index >= 0 && d < operand->projection.n_dims; d++)
            used |= operand->projection.row[d].coef[index] != 0;
        if (!used)
            return index;
    }
    return -1;
}

/* Makes the dim (joined rest ..). */
static bool join_dim(const Joining *j, Operand *operand, int d)
{
    Row *row = &operand->projection.row[d];
    int lead = leading_of(operand, d);
    int64_t length = lead >= 0 ? j->space->index[lead].size : operand->shape.dim[d];
    int64_t step = lead >= 0 ? row->coef[lead] : 1, rest = length / j->length;
    if (lead >= 0)
        row->coef[lead] = 0;
    else
        row_one(row);
    row->coef[j->joined] = step * rest;
    if (rest == 1)
        return true;
    int index = rest_index(j, operand, rest);
    if (index < 0)
        return error_kind(j->err, ERROR_UNSUPPORTED, "an op has at most %d index dims", X_MAX);
    row->coef[index] = step;
    return true;
}

static bool row_has(const Row *row, uint32_t set)
{
    for (int j = 0; j < X_MAX; j++)
        if (set >> j & 1 && row->coef[j] != 0)
            return true;
    return false;
}

/* Makes the joined index dim the major factor of every dim of the rule; operands that had the old
 * one elsewhere are read whole. */
static bool join_rows(const Joining *j)
{
    for (int t = 0; t < j->space->n_inputs + j->space->n_outputs; t++) {
        Operand *operand = &j->space->operand[t];
        for (int d = 0; d < operand->projection.n_dims; d++) {
            if (!is_cut(j->rule, t, d)) {
                if (row_has(&operand->projection.row[d], j->leading))
                    row_whole(&operand->projection.row[d], operand->shape.dim[d]);
            } else if (!join_dim(j, operand, d)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_used(const OpSpace *space, int index)
{
    for (int t = 0; t < space->n_inputs + space->n_outputs; t++)
        for (int d = 0; d < space->operand[t].projection.n_dims; d++)
            if (space->operand[t].projection.row[d].coef[index] != 0)
                return true;
    return false;
}

static void drop_index(OpSpace *space, int index)
{
    space->n_index--;
    memmove(&space->index[index], &space->index[index + 1],
            (size_t)(space->n_index - index) * sizeof *space->index);
    for (int t = 0; t < space->n_inputs + space->n_outputs; t++) {
        unsigned set = space->operand[t].no_grad_reduce, below = set & ((1u << index) - 1);
        if (set != UINT16_MAX)
            space->operand[t].no_grad_reduce = (uint16_t)(below | (set >> 1 & ~0u << index));
        for (int d = 0; d < space->operand[t].projection.n_dims; d++) {
            int64_t *coef = space->operand[t].projection.row[d].coef;
            memmove(&coef[index], &coef[index + 1], (size_t)(X_MAX - 1 - index) * sizeof *coef);
            coef[X_MAX - 1] = 0;
        }
    }
}

/* Joins the dims. The index dim keeps its place and name if it keeps its length. */
static bool join(Joining *j)
{
    if (j->joined < 0)
        j->joined = opspace_add_index(j->space, "block", j->length, ROLE_FROZEN, REDUCE_NONE);
    if (j->joined < 0)
        return error_kind(j->err, ERROR_UNSUPPORTED, "an op has at most %d index dims", X_MAX);
    if (!join_rows(j))
        return false;
    IndexDim *dim = &j->space->index[j->joined];
    int n = j->rule->n_inputs + j->rule->n_outputs;
    bool map = count_kind(j->rule, j->rule->n_inputs, n, SPLIT_DIMS) > 0;
    dim->size = j->length;
    dim->role = map ? ROLE_MAP : ROLE_REDUCE;
    dim->reduce = map ? REDUCE_NONE : REDUCE_SUM;
    dim->rule = j->rule;
    for (int i = j->space->n_index - 1; i >= 0; i--)
        if (j->leading >> i & 1 && !is_used(j->space, i))
            drop_index(j->space, i);
    return true;
}

/* Beside dims that are D, inputs that are V are added once. */
static void mark_once(const CutRule *rule, OpSpace *space)
{
    for (int t = 0; t < rule->n_inputs; t++)
        if (rule->split[t].kind == SPLIT_VALUE)
            space->operand[t].once = true;
}

/* The rule with dims that count from 0, of tensors of this space. */
static const CutRule *counted_from_start(Arena *arena, const CutRule *rule, const OpSpace *space)
{
    CutRule *own = arena_make(arena, CutRule);
    int n = rule->n_inputs + rule->n_outputs;
    AnnoSplit *split = arena_array(arena, AnnoSplit, n);
    for (int t = 0; t < n; t++) {
        split[t] = rule->split[t];
        for (int i = 0; i < split[t].n; i++)
            if (split[t].dim[i] >= DIMS_MAX)
                split[t].dim[i] = (uint8_t)(split[t].dim[i] + space->operand[t].shape.n_dims);
    }
    *own = *rule;
    own->split = split;
    return own;
}

/* Marks the op as linear in inputs that are V, if outputs are V. */
static void mark_linear(const CutRule *rule, OpSpace *space)
{
    int n = count_kind(rule, 0, rule->n_inputs, SPLIT_VALUE);
    for (int t = 0; t < rule->n_inputs; t++)
        if (rule->split[t].kind == SPLIT_VALUE)
            space->operand[t].linear = n == 1 ? LINEAR_ALONE : LINEAR_TOGETHER;
}

static bool is_claimed(const OpSpace *space, uint32_t set)
{
    for (int i = 0; i < space->n_index; i++)
        if (set >> i & 1 && space->index[i].rule)
            return true;
    return false;
}

bool cut_rules_apply(Arena *arena, const CutRule *rules, int n, OpSpace *space, Error *err)
{
    for (int i = 0; i < n; i++) {
        Joining j = {.arena = arena, .space = space, .joined = -1, .err = err};
        if (rules[i].n_inputs != space->n_inputs || rules[i].n_outputs != space->n_outputs)
            return error_set(err, "rule %d has %d inputs and %d outputs, but the op has %d and %d",
                             i + 1, rules[i].n_inputs, rules[i].n_outputs, space->n_inputs,
                             space->n_outputs);
        j.rule = counted_from_start(arena, &rules[i], space);
        if (!measure(&j))
            return false;
        if (j.length == 0)
            mark_linear(&rules[i], space);
        if (j.length <= 1 || is_claimed(space, j.leading))
            continue;
        if (!join(&j) || !opspace_finish(space, err))
            return false;
        mark_once(j.rule, space);
    }
    return true;
}

/* ---- new values of inputs ---- */

bool user_op_updates(const UserOp *user, OpSpace *space, Error *err)
{
    for (int i = 0; i < user->n_inplace; i++) {
        int o = user->inplace[i][0], t = user->inplace[i][1];
        if (o >= space->n_outputs || t >= space->n_inputs)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "'inplace' names output %d and input %d, but the op has %d and %d", o,
                              t, space->n_outputs, space->n_inputs);
        const Operand *from = &space->operand[t];
        Operand *to = &space->operand[space->n_inputs + o];
        if (from->absent || from->ignored || to->ignored)
            continue;
        if (!shape_equal(&from->shape, &to->shape))
            return error_kind(err, ERROR_RANK,
                              "output %d is the new value of input %d, but has another shape", o,
                              t);
        for (int d = 0; d < from->projection.n_dims; d++)
            if (memcmp(&from->projection.row[d], &to->projection.row[d], sizeof(Row)) != 0)
                return error_kind(
                    err, ERROR_CONFLICT,
                    "output %d is the new value of input %d, but its dim %d is sharded differently",
                    o, t, d);
        to->updates = (uint16_t)(t + 1);
    }
    return true;
}

/* The last op of the program that reads each tensor; -1 if no op does. */
static int32_t *last_readers(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    int32_t *last = arena_array(arena, int32_t, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        last[t] = -1;
    for (int i = 0; i < inferred->n_program; i++)
        for (int k = 0; k < graph->ops[inferred->program[i]].n_inputs; k++) {
            int32_t t = op_inputs(graph, inferred->program[i])[k];
            if (t >= 0)
                last[t] = i;
        }
    return last;
}

static Finding old_value(const Inferred *inferred, int32_t op, int32_t tensor, int32_t reader)
{
    const Graph *graph = inferred->graph;
    Finding finding = {.level = LEVEL_WARNING, .code = "old-value", .op = reader, .tensor = tensor};
    finding.text =
        arena_printf(inferred->arena, "op '%s' reads '%s' after op '%s' (%s) has updated it",
                     op_name(graph, reader), tensor_name(graph, tensor), op_name(graph, op),
                     op_operator(graph, op));
    finding.hint = "read the op's output, or let it read first: the old value is meant here";
    return finding;
}

void user_op_find_old_values(const Inferred *inferred, Findings *out)
{
    const Graph *graph = inferred->graph;
    int32_t *last = NULL;
    Arena *scratch = arena_new();
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const OpSpace *space = inferred_space(inferred, op);
        for (int o = 0; space && o < space->n_outputs; o++) {
            int input = opspace_output(space, o)->updates - 1;
            int32_t tensor = input < 0 ? -1 : op_inputs(graph, op)[input];
            if (tensor >= 0 && !last)
                last = last_readers(scratch, inferred);
            if (tensor >= 0 && last[tensor] > i)
                vec_push(inferred->arena, out,
                         old_value(inferred, op, tensor, inferred->program[last[tensor]]));
        }
    }
    arena_free(scratch);
}
