/* rules.c - the profile `rules`: outputs follow from the inputs' placements, or other inputs are
 * suggested.
 *
 * An op is an equation of letters ("mk,kn->mn"; elementwise: "ij,1j->ij"); a letter is sharded over
 * at most one mesh axis. If inputs differ on a letter, use one axis for two letters, or are partial
 * in a nonlinear op, the answer is a suggestion: the letter with the most elements to gather keeps
 * the axis (the older rule layer of torch and veScale).
 */
#include "core/peers/torch/family.h"

#include <inttypes.h>

enum { NO_AXIS = -1, NOT_SEEN = -2 };

typedef struct {
    const StrategyCall *call;
    int n_inputs;
    Str *input;
    Str output;
    bool linear;
    const int *enforced; /* axis by letter for an in-place op, or NULL */
    int axis[256];       /* by letter: mesh axis, NO_AXIS, NOT_SEEN */
    int n_sums[MESH_AXES_MAX];
    char on[MESH_AXES_MAX][DIMS_MAX * 4]; /* the letters that claim an axis; '+': a pending sum */
    bool reshards;
} Rule;

/* The axis that shards dim d of an input; an error if there are several. */
static bool axis_of_dim(const Rule *rule, int input, int64_t d, int *out, Error *err)
{
    *out = NO_AXIS;
    for (int axis = 0; axis < rule->call->mesh->n_axes; axis++) {
        const Placement *placement = &rule->call->input[input].placements[axis];
        if (!placement_is_shard(placement) || placement->dim != d)
            continue;
        if (*out >= 0)
            return error_kind(err, ERROR_CONFLICT,
                              "dim %" PRId64 " of input %d is sharded by two axes", d, input);
        *out = axis;
    }
    return true;
}

static bool merge(Rule *rule, unsigned char letter, int axis, Error *err)
{
    int *have = &rule->axis[letter];
    if (rule->enforced && rule->enforced[letter] != NOT_SEEN) {
        rule->reshards |= rule->enforced[letter] != axis;
        *have = rule->enforced[letter];
    } else if (*have == NOT_SEEN) {
        *have = axis;
    } else if (*have != axis) {
        if (*have >= 0 && axis >= 0)
            return error_kind(err, ERROR_CONFLICT, "'%c' is sharded by both '%s' and '%s'", letter,
                              rule->call->mesh->axes[*have].name,
                              rule->call->mesh->axes[axis].name);
        rule->reshards = true;
        *have = *have >= 0 ? *have : axis;
    }
    return true;
}

static void claim_axis(Rule *rule, int axis, char letter)
{
    char *on = rule->on[axis];
    size_t n = strlen(on);
    if (n == 0 || (n == 1 && on[0] == letter)) {
        on[0] = letter;
        return;
    }
    rule->reshards = true;
    if (n + 1 < sizeof rule->on[axis])
        on[n] = letter;
}

static bool read_input(Rule *rule, int input, Error *err)
{
    const StrategyTensor *tensor = &rule->call->input[input];
    if (tensor->shape.n_dims != (int64_t)rule->input[input].n)
        return error_kind(err, ERROR_RANK, "input %d has %d dims but the equation names %d", input,
                          (int)tensor->shape.n_dims, (int)rule->input[input].n);
    for (int axis = 0; axis < rule->call->mesh->n_axes; axis++) {
        if (!placement_is_partial(&tensor->placements[axis]))
            continue;
        if (rule->n_sums[axis]++ == 0)
            rule->on[axis][0] = '+';
    }
    for (size_t d = 0; d < rule->input[input].n; d++) {
        unsigned char letter = (unsigned char)rule->input[input].s[d];
        int axis;
        if (!axis_of_dim(rule, input, (int64_t)d, &axis, err) || !merge(rule, letter, axis, err))
            return false;
        if (rule->axis[letter] >= 0)
            claim_axis(rule, rule->axis[letter], (char)letter);
    }
    return true;
}

/* Elements that a rank must gather if the letter loses the axis. */
static int64_t gathered(const Rule *rule, char letter, int axis)
{
    int64_t cost = 0;
    for (int i = 0; i < rule->n_inputs; i++) {
        const StrategyTensor *tensor = &rule->call->input[i];
        const Placement *placement = &tensor->placements[axis];
        if (!placement_is_shard(placement) || rule->input[i].s[placement->dim] != letter)
            continue;
        int64_t local = 1;
        for (int64_t d = 0; d < tensor->shape.n_dims; d++) {
            int64_t size = tensor->shape.dim[d];
            for (int m = 0; m < rule->call->mesh->n_axes; m++) {
                int64_t n = rule->call->mesh->axes[m].size;
                if (placement_is_shard(&tensor->placements[m]) && tensor->placements[m].dim == d)
                    size = size / n + (size % n != 0);
            }
            local *= size;
        }
        cost += local * rule->call->mesh->axes[axis].size;
    }
    return cost;
}

/* Of the letters that claim an axis, the one with the most to gather keeps it. */
static void settle(Rule *rule, int axis)
{
    const char *on = rule->on[axis];
    int64_t most = -1;
    char keeps = '\0';
    for (const char *letter = on; *letter; letter++)
        if (gathered(rule, *letter, axis) > most) {
            most = gathered(rule, *letter, axis);
            keeps = *letter;
        }
    for (const char *letter = on; *letter; letter++)
        if (*letter != keeps)
            rule->axis[(unsigned char)*letter] = NO_AXIS;
}

/* Placements of a tensor with these letters, partial on the axes in `sums`. */
static bool place(const Rule *rule, Str letters, const bool *sums, Placement **out, Error *err)
{
    int n_axes = rule->call->mesh->n_axes;
    *out = arena_array(rule->call->arena, Placement, n_axes);
    for (size_t d = 0; d < letters.n; d++) {
        int axis = rule->axis[(unsigned char)letters.s[d]];
        if (axis < 0)
            continue;
        if ((*out)[axis].kind != PLACE_REPLICATE)
            return error_kind(err, ERROR_CONFLICT, "axis '%s' would shard two dims",
                              rule->call->mesh->axes[axis].name);
        (*out)[axis] = (Placement){.kind = PLACE_SHARD, .dim = (int)d, .factor = 1};
    }
    for (int axis = 0; axis < n_axes; axis++) {
        if (!sums[axis])
            continue;
        if ((*out)[axis].kind != PLACE_REPLICATE)
            return error_kind(err, ERROR_CONFLICT, "axis '%s' would both shard a dim and be summed",
                              rule->call->mesh->axes[axis].name);
        (*out)[axis] = (Placement){.kind = PLACE_PARTIAL, .factor = 1, .reduce = REDUCE_SUM};
    }
    return true;
}

static bool suggest(const Rule *rule, const bool *sums, StrategyAnswer *out, Error *err)
{
    const StrategyCall *call = rule->call;
    const Placement **tensor = arena_array(call->arena, const Placement *, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        Placement *placed;
        if (!place(rule, rule->input[i], sums, &placed, err))
            return false;
        tensor[i] = placed;
    }
    out->n_inputs = call->n_inputs;
    out->suggestion = tensor;
    return true;
}

/* Axes of summed letters leave a partial sum, as do pending sums. */
static bool conclude(const Rule *rule, bool *sums, StrategyAnswer *out, Error *err)
{
    const StrategyCall *call = rule->call;
    for (int letter = 0; letter < 256; letter++)
        if (rule->axis[letter] >= 0 && !memchr(rule->output.s, letter, rule->output.n))
            sums[rule->axis[letter]] = true;
    Placement *placed;
    if (!place(rule, rule->output, sums, &placed, err))
        return false;
    const Placement **output = arena_array(call->arena, const Placement *, 1);
    const Placement **input = arena_array(call->arena, const Placement *, call->n_inputs);
    output[0] = placed;
    for (int i = 0; i < call->n_inputs; i++)
        input[i] = call->input[i].placements;
    return strategy_answer_as(call, 1, output, input, out, err);
}

static bool apply(Rule *rule, StrategyAnswer *out, Error *err)
{
    bool sums[MESH_AXES_MAX] = {false}, none[MESH_AXES_MAX] = {false}, pending = false;
    for (int letter = 0; letter < 256; letter++)
        rule->axis[letter] = NOT_SEEN;
    for (int i = 0; i < rule->n_inputs; i++)
        if (!read_input(rule, i, err))
            return false;
    int n_axes = rule->call->mesh->n_axes;
    for (int axis = 0; axis < n_axes; axis++) {
        sums[axis] = rule->n_sums[axis] > 0;
        pending |= sums[axis];
        rule->reshards |= sums[axis] && rule->n_sums[axis] != rule->n_inputs;
    }
    if (pending && !rule->linear)
        return suggest(rule, none, out, err);
    for (int axis = 0; axis < n_axes; axis++)
        if (strlen(rule->on[axis]) > 1)
            settle(rule, axis);
    return rule->reshards ? suggest(rule, sums, out, err) : conclude(rule, sums, out, err);
}

/* ---- equations ---- */

static bool read_equation(const StrategyCall *call, Rule *rule, Error *err)
{
    const Attr *attr = op_attr(call->graph, call->graph_op, "equation");
    int64_t arrow = attr && attr->type == ATTR_STRING ? str_find(attr->s, STR("->")) : -1;
    if (arrow < 0)
        return error_kind(err, ERROR_SYNTAX, "einsum needs an equation 'mk,kn->mn'");
    rule->output = (Str){attr->s.s + arrow + 2, attr->s.n - (size_t)arrow - 2};
    Str rest = {attr->s.s, (size_t)arrow};
    for (int i = 0; i < rule->n_inputs; i++) {
        const char *comma = rest.n > 0 ? memchr(rest.s, ',', rest.n) : NULL;
        size_t n = comma ? (size_t)(comma - rest.s) : rest.n;
        if ((comma != NULL) != (i + 1 < rule->n_inputs))
            return error_kind(err, ERROR_RANK, "the equation does not have %d inputs",
                              rule->n_inputs);
        rule->input[i] = (Str){rest.s, n};
        rest = comma ? (Str){comma + 1, rest.n - n - 1} : rest;
    }
    return true;
}

/* A letter for each dim of the broadcast shape; '1' for a broadcast dim of size 1. */
static void make_pointwise(const StrategyCall *call, Rule *rule)
{
    static const char letters[] = "abcdefghijklmnop";
    int64_t n_dims = 0;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].shape.n_dims > n_dims)
            n_dims = call->input[i].shape.n_dims;
    char *output = arena_array(call->arena, char, n_dims + 1);
    int n_ones[DIMS_MAX] = {0};
    for (int i = 0; i < call->n_inputs; i++) {
        const Shape *shape = &call->input[i].shape;
        int64_t shift = n_dims - shape->n_dims;
        char *input = arena_array(call->arena, char, n_dims + 1);
        for (int64_t d = 0; d < n_dims; d++) {
            bool one = call->n_inputs > 1 && (d < shift || shape->dim[d - shift] == 1);
            n_ones[d] += one;
            if (d >= shift)
                input[d - shift] = one ? '1' : letters[d];
        }
        rule->input[i] = (Str){input, (size_t)shape->n_dims};
    }
    for (int64_t d = 0; d < n_dims; d++)
        output[d] = n_ones[d] == call->n_inputs ? '1' : letters[d];
    rule->output = (Str){output, (size_t)n_dims};
}

/* The written tensor keeps its placements. */
static bool enforce(const StrategyCall *call, Rule *rule, int *enforced, Error *err)
{
    for (int letter = 0; letter < 256; letter++)
        enforced[letter] = NOT_SEEN;
    const Shape *shape = strategy_shape_of(call, 0);
    for (int64_t d = 0; d < shape->n_dims && d < (int64_t)rule->output.n; d++)
        if (!axis_of_dim(rule, 0, d, &enforced[(unsigned char)rule->output.s[d]], err))
            return false;
    rule->enforced = enforced;
    return true;
}

bool strategy_rule(const StrategyCall *call, StrategyAnswer *out, Error *err)
{
    Rule rule = {.call = call,
                 .n_inputs = call->n_inputs,
                 .input = arena_array(call->arena, Str, call->n_inputs),
                 .linear = strategy_int(call, "linearity", 0) != 0};
    int enforced[256];
    if (!strategy_need(call, call->n_inputs > 0 ? call->n_inputs : 1, err))
        return false;
    *out = (StrategyAnswer){.op = call->op, .runner_up = -1};
    if (str_eq(str_from(call->op), STR("einsum")))
        return read_equation(call, &rule, err) && apply(&rule, out, err);
    const StrategyOp *op = strategy_find(str_from(call->op), STRATEGY_TORCH);
    if (!op || op->rows != ops_pointwise->rows)
        return error_kind(err, ERROR_UNSUPPORTED, "%s has no rule", call->op);
    make_pointwise(call, &rule);
    if (strategy_is_in_place(call->op) && !enforce(call, &rule, enforced, err))
        return false;
    return apply(&rule, out, err);
}
