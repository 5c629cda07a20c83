#include "core/peers/torch/family.h"
#include "core/peers/torch/redistribute.h"

#include <math.h>

bool strategy_profile_find(Str name, StrategyProfile *out, Error *err)
{
    static const char *const names[] = {"torch", "vescale", "rules"}; /* ORDER of the enum */
    for (int i = 0; i < 3; i++)
        if (str_eq(name, str_from(names[i]))) {
            *out = (StrategyProfile)i;
            return true;
        }
    error_kind(err, ERROR_USAGE, "there is no profile '%.*s'", STR_ARG(name));
    error_hint(err, "torch, vescale or rules");
    return false;
}

/* ---- users' strategies ---- */

typedef struct {
    Str name;
    StrategyFn *fn;
    StrategyRuleFn *rule;
    void *context;
} UserStrategy;

struct Strategies {
    Arena *arena;
    Vec(UserStrategy) users;
};

Strategies *strategies_new(Arena *arena)
{
    Strategies *strategies = arena_make(arena, Strategies);
    strategies->arena = arena;
    return strategies;
}

static const UserStrategy *find_user(const Strategies *strategies, Str name)
{
    for (int i = strategies->users.n - 1; i >= 0; i--)
        if (str_eq(strategies->users.at[i].name, name))
            return &strategies->users.at[i];
    return NULL;
}

static void add_user(Strategies *strategies, Str name, UserStrategy user)
{
    user.name = str_from(arena_str(strategies->arena, name));
    vec_push(strategies->arena, &strategies->users, user);
}

void strategies_add(Strategies *strategies, Str name, StrategyFn *fn, void *context)
{
    add_user(strategies, name, (UserStrategy){.fn = fn, .context = context});
}

void strategies_add_rule(Strategies *strategies, Str name, StrategyRuleFn *fn, void *context)
{
    add_user(strategies, name, (UserStrategy){.rule = fn, .context = context});
}

int strategies_n_users(const Strategies *strategies)
{
    return strategies->users.n;
}

const char *strategies_user(const Strategies *strategies, int i)
{
    return strategies->users.at[i].name.s;
}

bool strategies_has(const Strategies *strategies, Str name)
{
    return find_user(strategies, name) || strategy_find(name, STRATEGY_TORCH) ||
           strategy_find(name, STRATEGY_VESCALE);
}

/* ---- finding ---- */

static bool lists_name(const char *names, Str name)
{
    Str rest = str_from(names);
    while (rest.n > 0) {
        const char *blank = memchr(rest.s, ' ', rest.n);
        size_t n = blank ? (size_t)(blank - rest.s) : rest.n;
        if (str_eq((Str){rest.s, n}, name))
            return true;
        size_t taken = blank ? n + 1 : n;
        rest = (Str){rest.s + taken, rest.n - taken};
    }
    return false;
}

static const StrategyOp *find_in(const StrategyOp *table, Str name)
{
    for (; table->names; table++)
        if (lists_name(table->names, name))
            return table;
    return NULL;
}

static const StrategyOp *const tables[] = {ops_pointwise, ops_reduce, ops_shape, ops_index,
                                           ops_matmul,    ops_layer,  ops_view,  ops_composed};

static const StrategyOp *find_name(Str name, StrategyProfile profile)
{
    const StrategyOp *found = profile == STRATEGY_VESCALE ? find_in(ops_vescale, name) : NULL;
    for (size_t i = 0; !found && i < sizeof tables / sizeof *tables; i++)
        found = find_in(tables[i], name);
    return found;
}

static Str base_of(Str name)
{
    const char *dot = name.n > 0 ? memchr(name.s, '.', name.n) : NULL;
    return dot ? (Str){name.s, (size_t)(dot - name.s)} : name;
}

bool strategy_is_in_place(const char *op)
{
    Str base = base_of(str_from(op));
    return str_ends(base, STR("_")) && !str_ends(base, STR("__"));
}

const StrategyOp *strategy_find(Str name, StrategyProfile profile)
{
    const StrategyOp *found = find_name(name, profile);
    Str base = base_of(name);
    if (!found)
        found = find_name(base, profile);
    if (!found && str_starts(name, STR("_foreach_")))
        return find_name(STR("_foreach_"), profile);
    if (!found && base.n > 1 && base.s[base.n - 1] == '_')
        found = find_name((Str){base.s, base.n - 1}, profile);
    return found;
}

const char *strategy_names_at(StrategyProfile profile, int i)
{
    int t = profile == STRATEGY_VESCALE ? -1 : 0, n = sizeof tables / sizeof *tables;
    for (; t < n; t++)
        for (const StrategyOp *op = t < 0 ? ops_vescale : tables[t]; op->names; op++)
            if (i-- == 0)
                return op->names;
    return NULL;
}

/* ---- answering ---- */

bool strategy_rows_of(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    *rows = (StrategyRows){.arena = call->arena,
                           .n_outputs = 1,
                           .n_inputs = call->n_inputs,
                           .uneven = op->flags & OP_UNEVEN || call->profile == STRATEGY_VESCALE,
                           .in_place = strategy_is_in_place(call->op),
                           .out = -1};
    if (!op->rows(call, op, rows, err))
        return false;
    return !(rows->in_place || rows->out >= 0) ||
           strategy_has_input(call, rows->out >= 0 ? rows->out : 0) ||
           error_set(err, "%s: the tensor that is written is absent", call->op);
}

static void format_placements(const Placement *placements, int n_axes, Buf *out)
{
    buf_putc(out, '[');
    for (int i = 0; i < n_axes; i++) {
        buf_puts(out, i ? "," : "");
        placement_format(&placements[i], false, out);
    }
    buf_putc(out, ']');
}

/* True if the input must be moved; with no_redistribute only communication counts.
 */
static bool is_moved(const StrategyCall *call, const StrategyAnswer *answer, int input)
{
    const Placement *from = call->input[input].placements, *to = answer->input[input];
    if (!strategy_has_input(call, input) || !to)
        return false;
    for (int i = 0; i < call->mesh->n_axes; i++) {
        if (placement_equal(&from[i], &to[i]))
            continue;
        bool slices = from[i].kind == PLACE_REPLICATE && call->profile == STRATEGY_TORCH;
        if (!slices)
            return true;
    }
    return false;
}

/* Sets the hint: what to insert before the op, and how many further inputs move. */
static void hint_moves(const StrategyCall *call, const StrategyAnswer *answer, int first,
                       Error *err)
{
    int n_others = 0;
    for (int i = first + 1; i < call->n_inputs; i++)
        n_others += is_moved(call, answer, i);
    Buf hint = buf_new(call->arena);
    buf_printf(&hint, "insert redistribute of input %d from ", first);
    format_placements(call->input[first].placements, call->mesh->n_axes, &hint);
    buf_puts(&hint, " to ");
    format_placements(answer->input[first], call->mesh->n_axes, &hint);
    buf_puts(&hint, ", the nearest legal placement");
    if (!isinf(answer->us)) /* torch has no price for blocks */
        buf_printf(&hint, " (%.4g us)", answer->us);
    if (n_others > 0)
        buf_printf(&hint, "; %d more to move", n_others);
    error_hint(err, "%s", hint.s);
}

bool strategy_permit(const StrategyCall *call, const StrategyAnswer *answer, Error *err)
{
    if (call->profile != STRATEGY_VESCALE && !call->no_redistribute)
        return true;
    for (int i = 0; i < call->n_inputs; i++) {
        if (!is_moved(call, answer, i))
            continue;
        Buf lies = buf_new(call->arena);
        format_placements(call->input[i].placements, call->mesh->n_axes, &lies);
        error_kind(
            err, ERROR_NEEDS_RESHARD,
            "%s: no row fits the inputs, and inputs may not be redistributed: input %d has %s%s%s",
            call->op, i, lies.s, answer->why ? ": " : "", answer->why ? answer->why : "");
        hint_moves(call, answer, i, err);
        return false;
    }
    return true;
}

bool strategy_answer_op(const Strategies *strategies, const StrategyCall *call,
                        const StrategyOp *op, StrategyAnswer *out, Error *err)
{
    if (op->answer)
        return op->answer(strategies, call, op, out, err);
    StrategyRows rows;
    return strategy_rows_of(call, op, &rows, err) &&
           strategy_choose(call, &rows, false, out, err) && strategy_permit(call, out, err);
}

static bool answer_user_rows(const StrategyCall *call, const UserStrategy *user,
                             StrategyAnswer *out, Error *err)
{
    StrategyRows rows = {.arena = call->arena,
                         .n_outputs = 1,
                         .n_inputs = call->n_inputs,
                         .in_place = strategy_is_in_place(call->op),
                         .out = -1};
    return user->fn(call, user->context, &rows, err) &&
           strategy_choose(call, &rows, false, out, err) && strategy_permit(call, out, err);
}

/* Applies the suggestion and calls the rule again. */
static bool answer_user_rule(const StrategyCall *call, const UserStrategy *user,
                             StrategyAnswer *out, Error *err)
{
    StrategyCall again = *call;
    StrategyTensor *input = arena_array(call->arena, StrategyTensor, call->n_inputs);
    const Placement **fed = arena_array(call->arena, const Placement *, call->n_inputs);
    again.input = input;
    StrategyRuling ruling = {0};
    if (!user->rule(call, user->context, &ruling, err))
        return false;
    const Placement *const *suggestion = (const Placement *const *)ruling.suggestion;
    const char *why = ruling.why && *ruling.why ? ruling.why : NULL;
    if (!ruling.output && !suggestion)
        return error_set(err, "the rule of %s returns neither outputs nor a suggestion", call->op);
    for (int i = 0; i < call->n_inputs; i++) {
        input[i] = call->input[i];
        if (!ruling.output)
            input[i].placements = suggestion[i];
        fed[i] = input[i].placements;
    }
    bool asks = !ruling.output && call->profile != STRATEGY_RULES;
    if (asks && (!user->rule(&again, user->context, &ruling, err) || !ruling.output))
        return error_set(err, "the rule of %s refuses its own suggestion", call->op);
    if (!strategy_answer_as(call, ruling.n_outputs, (const Placement *const *)ruling.output, fed,
                            out, err))
        return false;
    out->runner_up = -1;
    out->why = why;
    if (!ruling.output) {
        out->suggestion = suggestion;
        out->input = NULL;
        return true;
    }
    return strategy_permit(call, out, err);
}

static bool answer_space(const StrategyCall *call, StrategyAnswer *out, Error *err)
{
    const OpSpace *space = call->space;
    StrategyRows rows = {.arena = call->arena,
                         .n_outputs = space->n_outputs,
                         .n_inputs = call->n_inputs,
                         .uneven = call->profile == STRATEGY_VESCALE,
                         .out = -1};
    if (space->n_inputs != call->n_inputs)
        return error_set(err, "%s needs %d inputs", call->op, space->n_inputs);
    strategy_rows_of_space(space, &rows);
    strategy_rows_linear(space, &rows);
    return strategy_choose(call, &rows, false, out, err) && strategy_permit(call, out, err);
}

/* Fails if a tensor's placements are not valid. */
static bool check_tensor(const StrategyCall *call, int i, Error *err)
{
    const StrategyTensor *tensor = &call->input[i];
    for (int axis = 0; tensor->shape.n_dims >= 0 && axis < call->mesh->n_axes; axis++) {
        const Placement *placement = &tensor->placements[axis];
        if (placement_is_shard(placement) && placement->dim >= tensor->shape.n_dims)
            return error_kind(err, ERROR_OUT_OF_RANGE, "input %d has no dim %d", i, placement->dim);
    }
    return true;
}

bool strategy_answer(const Strategies *strategies, const StrategyCall *call, StrategyAnswer *out,
                     Error *err)
{
    *out = (StrategyAnswer){.op = call->op, .runner_up = -1};
    if (call->n_inputs > OPERANDS_MAX / 2)
        return error_kind(err, ERROR_OUT_OF_RANGE, "%s: too many tensors", call->op);
    for (int i = 0; i < call->n_inputs; i++)
        if (!check_tensor(call, i, err))
            return false;
    const UserStrategy *user = find_user(strategies, str_from(call->op));
    if (user)
        return user->fn ? answer_user_rows(call, user, out, err)
                        : answer_user_rule(call, user, out, err);
    if (call->profile == STRATEGY_RULES)
        return strategy_rule(call, out, err);
    if (call->space && !call->space->no_rule) /* also of an operator that shares torch's name */
        return answer_space(call, out, err);
    Str name = str_from(call->op), list = STR("_foreach_");
    const StrategyOp *op = strategy_find(str_starts(name, list) ? list : name, call->profile);
    if (op)
        return strategy_answer_op(strategies, call, op, out, err);
    error_kind(err, ERROR_UNSUPPORTED, "%s has no strategy", call->op);
    error_hint(err, "register_strategy() in a policy file adds one");
    return false;
}
