/* lua_recompute.c - graph:recompute, ops that run again in the backward pass: as nodes, as a level,
 * as patterns of modules. */
#include "scripts/lua_place.h"

#include "core/step/recompute.h"

#include <stdlib.h>

/* ---- a group ---- */

/* Reads a value that has a gradient: no attributes alone. */
static bool reads_gradient(Policy *policy, int32_t op)
{
    const Inferred *inferred = policy->session->inferred;
    const Graph *graph = inferred->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && !tensor_is_weight(inferred, t) && tensor_needs_gradient(policy, t))
            return true;
    }
    return false;
}

static bool check_recompute(Policy *policy, const int32_t *ops, int n, Error *err)
{
    const Graph *graph = policy->session->graph;
    Placing *placing = placing_of(policy);
    Segment segment = segment_at(policy, policy_program_place(policy, ops[0]));
    for (int i = 0; i < n; i++) {
        int place = policy_program_place(policy, ops[i]);
        if (place < segment.first || place > segment.last) {
            error_kind(err, ERROR_CONFLICT, "'%s' and '%s' are in two segments",
                       op_name(graph, ops[0]), op_name(graph, ops[i]));
            return error_hint(err, "a recompute group must be within one stage");
        }
        if (placing->recompute && placing->recompute[ops[i]] >= 0) {
            error_kind(err, ERROR_CONFLICT, "'%s' is already in recompute group %d",
                       op_name(graph, ops[i]), placing->recompute[ops[i]]);
            return error_hint(err, "a node can be in only one group");
        }
    }
    return true;
}

/* Groups of decisions that stand before count on. */
static int next_group(Policy *policy)
{
    Placing *placing = placing_of(policy);
    const Journal *before = policy->before;
    for (int i = 0; placing->n_groups == 0 && before && i < before->n_done; i++)
        if (before->decisions.at[i].kind == PIN_RECOMPUTE &&
            before->decisions.at[i].number >= placing->n_groups)
            placing->n_groups = before->decisions.at[i].number + 1;
    return placing->n_groups++;
}

static void mark_group(Policy *policy, const int32_t *ops, int n, int group)
{
    Placing *placing = placing_of(policy);
    int n_ops = policy->session->graph->n_ops;
    if (!placing->recompute) {
        placing->recompute = arena_array(policy->arena, int32_t, n_ops);
        memset(placing->recompute, -1, (size_t)n_ops * sizeof *placing->recompute);
    }
    for (int i = 0; i < n; i++)
        placing->recompute[ops[i]] = group;
}

/* Ops in a row are one decision. */
static void decide_group(lua_State *L, Policy *policy, const int32_t *ops, int n, int group,
                         bool whole)
{
    for (int i = 0, last; i < n; i = last + 1) {
        last = i;
        while (last + 1 < n && policy_program_place(policy, ops[last + 1]) ==
                                   policy_program_place(policy, ops[last]) + 1)
            last++;
        Decision decision = {.kind = PIN_RECOMPUTE, .place = ops[i], .dim = -1, .number = group};
        decision.last = ops[last];
        decision.whole = whole;
        policy_add(L, policy, &decision);
    }
}

bool recompute_ops(lua_State *L, Policy *policy, const int32_t *ops, int n, bool whole, Error *err)
{
    int first = 0;
    if (n == 0)
        return true;
    if (!check_recompute(policy, ops, n, err))
        return false;
    while (first < n && !reads_gradient(policy, ops[first]))
        first++;
    while (n > first && !reads_gradient(policy, ops[n - 1]))
        n--;
    int group = next_group(policy);
    mark_group(policy, ops + first, n - first, group);
    decide_group(L, policy, ops + first, n - first, group, whole);
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

void ops_sort(Ops *ops)
{
    qsort(ops->at, (size_t)ops->n, sizeof *ops->at, compare_numbers);
}

/* What the table at 3 says. */
typedef struct {
    int64_t layers; /* the first in each stage */
    bool whole;
} RecomputeOptions;

static int recompute_nodes(lua_State *L, Policy *policy, const RecomputeOptions *options)
{
    Ops ops;
    Error err = {0};
    check_ops(L, policy, 2, &ops);
    if (ops.n > 0)
        ops_sort(&ops);
    if (!recompute_ops(L, policy, ops.at, ops.n, options->whole, &err))
        return sandbox_raise(L, &err);
    lua_pushboolean(L, ops.n > 0);
    return 1;
}

/* ---- many groups ---- */

/* A group of each op, by a level or by patterns. */
typedef struct {
    Arena *scratch;
    Intern *keys; /* of modules and of runs of ops */
    int32_t *group;
} Grouping;

static const struct {
    const char *name;
    int32_t *(*groups)(Arena *arena, const Inferred *model);
    const char *none;
} levels[] = {
    {"full", recompute_layers, "the model has no layers that are alike: nothing is recomputed"},
    {"selective", recompute_attention,
     "no softmax between two products was found: nothing is recomputed (a fused attention keeps no "
     "scores)"},
};

/* The shortest part of the path, up to a dot, that the pattern matches; empty if none does. */
static Str module_of(Str pattern, Str path)
{
    for (size_t n = 1; n <= path.n; n++) {
        Str module = {path.s, n};
        if ((n == path.n || path.s[n] == '.') && str_glob(pattern, module))
            return module;
    }
    return (Str){path.s, 0};
}

/* Ops of one module are a group; so are ops in a row whose own names match. */
static void group_by_pattern(lua_State *L, Policy *policy, int at, void *context)
{
    Grouping *grouping = context;
    const Inferred *model = policy->session->inferred;
    const char *text = lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : NULL;
    if (!text)
        luaL_error(L, "expected a pattern of modules, not a %s", luaL_typename(L, at));
    Str pattern = str_from(text);
    bool in_row = false, found = false;
    int32_t run = -1;
    sandbox_spend(L, model->n_program);
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        Str module = module_of(pattern, str_from(op_path(model->graph, op)));
        bool named = module.n == 0 && str_glob(pattern, str_from(op_name(model->graph, op)));
        if (module.n > 0)
            grouping->group[op] = intern_put(grouping->keys, module.s, module.n);
        int32_t key = -1 - p; /* bytes that no path has */
        if (named && !in_row)
            run = intern_put(grouping->keys, &key, sizeof key);
        if (named)
            grouping->group[op] = run;
        in_row = named;
        found |= named || module.n > 0;
    }
    if (!found)
        policy_note(
            L, policy, LEVEL_WARNING, "pattern-matched-nothing",
            arena_printf(policy->arena, "no module or op is called '%.*s'", STR_ARG(pattern)),
            "graph:recompute takes \"full\", \"selective\", or patterns such as "
            "\"*.h.*.mlp\"");
}

/* Groups by number. */
static bool recompute_all(lua_State *L, Policy *policy, const Grouping *grouping,
                          const RecomputeOptions *options)
{
    const Inferred *model = policy->session->inferred;
    Arena *scratch = grouping->scratch;
    Vec(Ops) groups = {0};
    Error err = {0};
    for (int p = 0; p < model->n_program; p++) {
        int32_t group = grouping->group[model->program[p]];
        while (group >= groups.n)
            vec_push(scratch, &groups, (Ops){0});
        if (group >= 0)
            vec_push(scratch, &groups.at[group], model->program[p]);
    }
    int64_t *n_in_stage = arena_array(scratch, int64_t, model->n_program + 1);
    for (int g = 0; g < groups.n; g++) {
        const Ops *ops = &groups.at[g];
        for (int i = 0, end; i < ops->n; i = end) { /* what two stages share is a group in each */
            Segment stage = segment_at(policy, policy_program_place(policy, ops->at[i]));
            for (end = i + 1; end < ops->n && segment_has(policy, stage, ops->at[end]);)
                end++;
            if (n_in_stage[stage.first]++ < options->layers &&
                !recompute_ops(L, policy, ops->at + i, end - i, options->whole, &err))
                return sandbox_raise(L, &err) != 0;
        }
    }
    return groups.n > 0;
}

static RecomputeOptions read_options(lua_State *L)
{
    RecomputeOptions out = {.layers = INT64_MAX};
    int is_whole_number = 0;
    lua_settop(L, 3);
    if (!lua_istable(L, 3))
        return out;
    lua_getfield(L, 3, "whole");
    out.whole = lua_toboolean(L, -1);
    lua_getfield(L, 3, "layers");
    lua_Integer n = lua_tointegerx(L, -1, &is_whole_number);
    bool none = lua_isnil(L, -1);
    lua_settop(L, 3);
    if (!none && (!is_whole_number || n < 1))
        luaL_error(L, "layers must be a number of layers in each stage, 1 or more");
    out.layers = none ? INT64_MAX : n;
    return out;
}

static bool is_text(lua_State *L, int at)
{
    if (!lua_istable(L, at))
        return lua_type(L, at) == LUA_TSTRING;
    bool text = lua_rawgeti(L, at, 1) == LUA_TSTRING;
    lua_pop(L, 1);
    return text;
}

static int graph_recompute(lua_State *L)
{
    Policy *policy = graph_check(L);
    const Inferred *model = policy->session->inferred;
    RecomputeOptions options = read_options(L);
    if (!is_text(L, 2))
        return recompute_nodes(L, policy, &options);
    Grouping grouping = {.scratch = policy->arena, .keys = intern_new(policy->arena)};
    const char *none = NULL;
    sandbox_spend(L, model->n_program);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), levels[i].name) == 0) {
            grouping.group = levels[i].groups(policy->arena, model);
            none = levels[i].none;
        }
    if (!grouping.group) {
        grouping.group = arena_array(policy->arena, int32_t, model->graph->n_ops);
        memset(grouping.group, -1, (size_t)model->graph->n_ops * sizeof *grouping.group);
        policy_each_value(L, policy, 2, group_by_pattern, &grouping);
    }
    bool found = recompute_all(L, policy, &grouping, &options);
    if (!found && none)
        policy_note(L, policy, LEVEL_WARNING, "nothing-recomputed", none,
                    "graph:recompute also takes nodes, and patterns of modules");
    lua_pushboolean(L, found);
    return 1;
}

const LuaEntry recompute_methods[] = {
    {"recompute", graph_recompute,
     "(what: ops|string|string[], options?: {layers: integer?, whole: boolean?}): boolean",
     "These nodes run again in the backward pass: values that only they read are not kept, but "
     "made "
     "again from what comes into the group. Instead of nodes, \"full\" makes each layer a group, "
     "\"selective\" the core of each attention (scores, softmax, dropout), and patterns of modules "
     "(\"*.h.*.mlp\") each module that they match. layers: only the first ones in each stage. "
     "What no gradient needs, as the last matmul of a layer, does not run again, unless whole is "
     "true, as in Megatron-LM. Nodes "
     "at either end that read no value with a gradient are left out, as in nnScaler. Refused: "
     "nodes "
     "of two segments, a node in another group. Returns whether a group was found. With --train "
     "the "
     "step has these ops twice; without it they add to the estimated backward time."},
    {NULL, NULL, NULL, NULL},
};
