/* Finds rules by name, checks a call, runs the rule and traces it. */
#include "core/peers/paddle/spmd.h"

static const SpmdRule *const tables[] = {
    spmd_rules_basic,     spmd_rules_matmul, spmd_rules_reduce,  spmd_rules_views,
    spmd_rules_expand,    spmd_rules_parts,  spmd_rules_norm,    spmd_rules_embedding,
    spmd_rules_index,     spmd_rules_axis,   spmd_rules_conv,    spmd_rules_loss,
    spmd_rules_attention, spmd_rules_layers, spmd_rules_default,
};

struct SpmdRules {
    Arena *arena;
    Vec(SpmdRule) rules;
};

/* ---- finding ---- */

SpmdRules *spmd_rules_new(Arena *arena)
{
    SpmdRules *rules = arena_make(arena, SpmdRules);
    rules->arena = arena;
    return rules;
}

void spmd_rules_add(SpmdRules *rules, const SpmdRule *rule)
{
    SpmdRule copy = *rule;
    copy.names = arena_str(rules->arena, str_from(rule->names));
    vec_push(rules->arena, &rules->rules, copy);
}

const SpmdRule *spmd_rules_find(const SpmdRules *rules, Str name)
{
    for (int i = rules ? rules->rules.n - 1 : -1; i >= 0; i--)
        if (str_has_word(str_from(rules->rules.at[i].names), name))
            return &rules->rules.at[i];
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const SpmdRule *rule = tables[t]; rule->names; rule++)
            if (str_has_word(str_from(rule->names), name))
                return rule;
    return NULL;
}

int spmd_rules_n_users(const SpmdRules *rules)
{
    return rules->rules.n;
}

const SpmdRule *spmd_rules_user(const SpmdRules *rules, int i)
{
    return &rules->rules.at[i];
}

const SpmdRule *spmd_rules_next(const SpmdRule *after)
{
    size_t n = sizeof tables / sizeof *tables;
    for (size_t t = 0; t < n; t++)
        for (const SpmdRule *rule = tables[t]; rule->names; rule++) {
            if (!after)
                return rule;
            after = rule == after ? NULL : after;
        }
    return NULL;
}

/* ---- checking ---- */

static bool check_count(const char *what, int n, SpmdCount count, Error *err)
{
    if (n >= count.min && (n <= count.max || count.max == SPMD_ANY))
        return true;
    if (count.min != count.max && count.max != SPMD_ANY)
        return error_kind(err, ERROR_RANK, "the rule needs %d to %d %ss, not %d", count.min,
                          count.max, what, n);
    return error_kind(err, ERROR_RANK, "the rule needs %s%d %s%s, not %d",
                      count.max == SPMD_ANY ? "at least " : "", count.min, what,
                      count.min == 1 ? "" : "s", n);
}

static bool check_mapping(const SpmdCall *call, const char *what, int index,
                          const SpmdTensor *tensor, Error *err)
{
    unsigned used = 0;
    if (tensor->absent)
        return true;
    if (tensor->n_dims != tensor->shape.n_dims)
        return error_kind(err, ERROR_RANK, "%s %d has %d dims but a mapping of %d", what, index,
                          (int)tensor->shape.n_dims, tensor->n_dims);
    for (int d = 0; d < tensor->n_dims; d++) {
        for (int i = 0; i < tensor->dim[d].n; i++) {
            int axis = tensor->dim[d].axis[i];
            if (axis >= call->mesh->n_axes)
                return error_kind(err, ERROR_OUT_OF_RANGE, "%s %d: the mesh has no axis %d", what,
                                  index, axis);
            if (used & 1U << axis)
                return error_set(err, "%s %d: axis %s splits it twice", what, index,
                                 call->mesh->axes[axis].name);
            used |= 1U << axis;
        }
    }
    for (int axis = 0; axis < MESH_AXES_MAX; axis++)
        if (tensor->partial[axis] != REDUCE_NONE && axis >= call->mesh->n_axes)
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s %d: the mesh has no axis %d", what,
                              index, axis);
    return true;
}

static bool check_mappings(const SpmdCall *call, const char *what, const SpmdTensor *tensor, int n,
                           Error *err)
{
    for (int i = 0; i < n; i++)
        if (!check_mapping(call, what, i, &tensor[i], err))
            return false;
    return true;
}

/* ---- operands as the rule sees them ---- */

static SpmdTensor *show_operands(const SpmdCall *call, const SpmdTensor *tensor, int n, bool blank)
{
    SpmdTensor *shown = arena_array(call->arena, SpmdTensor, n);
    for (int i = 0; i < n; i++) {
        shown[i] = tensor[i];
        if (blank) {
            spmd_replicate(&shown[i]);
            shown[i].n_dims = (int)shown[i].shape.n_dims;
        }
        if (!(call->rule->flags & SPMD_LISTS))
            spmd_keep_largest_axes(call, &shown[i]);
    }
    return shown;
}

/* One list of the inputs and the given outputs. */
static const SpmdTensor *join(const SpmdCall *call, const SpmdTensor *inputs,
                              const SpmdTensor *outputs)
{
    SpmdTensor *all = arena_array(call->arena, SpmdTensor, call->n_inputs + call->n_outputs);
    memcpy(all, inputs, sizeof *all * (size_t)call->n_inputs);
    memcpy(all + call->n_inputs, outputs, sizeof *all * (size_t)call->n_outputs);
    return all;
}

/* Prepares the operands for the rule; `blank`: inputs without their mappings. */
static void show_all(SpmdCall *call, bool blank)
{
    if (call->backward && !blank) {
        call->input = join(call, call->input, call->output);
        call->n_inputs += call->n_outputs;
        call->n_outputs = 0;
    }
    call->given_input = call->input;
    call->given_output = call->output;
    call->input = show_operands(call, call->input, call->n_inputs, blank);
    call->output = show_operands(call, call->output, call->n_outputs, false);
}

/* ---- running ---- */

static void trace_operands(const SpmdCall *call, const char *what, const SpmdTensor *tensor, int n)
{
    for (int i = 0; i < n; i++)
        spmd_trace(call, "given %s %d: %s", what, i, spmd_show(call, &tensor[i]));
}

static void trace_answers(const SpmdCall *call, bool blank)
{
    for (int i = 0; i < call->need.n && i < call->n_inputs; i++) {
        const char *needed = spmd_show(call, call->need.at[i]);
        const char *was = blank ? needed : spmd_show(call, &call->given_input[i]);
        if (strcmp(was, needed) == 0)
            spmd_trace(call, "input %d: %s", i, needed);
        else
            spmd_trace(call, "input %d: %s, given %s", i, needed, was);
    }
    for (int o = 0; o < call->out.n; o++)
        spmd_trace(call, "output %d: %s", o, spmd_show(call, call->out.at[o]));
}

static bool run(SpmdCall *call, SpmdFn *function, bool blank, Error *err)
{
    if (!blank && !check_mappings(call, "input", call->input, call->n_inputs, err))
        return false;
    show_all(call, blank);
    if (call->trace)
        trace_operands(call, blank ? "output" : "input", blank ? call->output : call->input,
                       blank ? call->n_outputs : call->n_inputs);
    if (!function(call, err))
        return false;
    if (call->trace)
        trace_answers(call, blank);
    return true;
}

static bool run_backward(SpmdCall *call, Error *err)
{
    const SpmdRule *rule = call->rule;
    if (!rule->backward)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' has no backward rule", call->name);
    return check_count("output", call->n_outputs, rule->outputs, err) &&
           check_mappings(call, "output", call->output, call->n_outputs, err) &&
           run(call, rule->backward, !(rule->flags & SPMD_GRADIENT), err);
}

static bool run_forward(SpmdCall *call, Error *err)
{
    const SpmdRule *rule = call->rule;
    SpmdFn *function = call->mode == SPMD_EAGER && rule->eager ? rule->eager : rule->forward;
    if (!function)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' has no forward rule", call->name);
    return run(call, function, false, err);
}

bool spmd_apply(const SpmdRule *rule, SpmdCall *call, Error *err)
{
    if (!rule)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' has no rule", call->name);
    call->rule = rule;
    if (!check_count("input", call->n_inputs, rule->inputs, err))
        return false;
    for (int i = 0; i < rule->inputs.min; i++)
        if (call->input[i].absent)
            return error_kind(err, ERROR_RANK, "input %d of '%s' is missing", i, call->name);
    return call->backward ? run_backward(call, err) : run_forward(call, err);
}
