/* lua_op_plans.c - POLICY, nnScaler's functional policies: one plan per op.
 *
 * Stage s of n runs on part s % pipeline_size of the devices. The plans are turned into decisions
 * in nnScaler's order: multirefs, recompute groups, stages, partitions and devices, the schedule.
 */
#include "scripts/lua_place.h"

#include <inttypes.h>

typedef enum { SPLIT_NOT, SPLIT_AUTO, SPLIT_DIM } Split;

/* What an op leaves of a tensor, or reads: a dim of it, or one of these. */
enum { WHOLE = -1, WHOLE_WITH_SUM = -2, PARTIAL = -3 };

typedef struct {
    bool given;
    Split split;
    lua_Integer idx, dim;  /* of SPLIT_DIM */
    lua_Integer stage;     /* -1 for that of the previous op */
    lua_Integer recompute; /* -1 for none */
    int line;
} OpPlan;

typedef struct {
    Policy *policy;
    OpPlan *plan; /* per place of the program */
    int n, n_stages;
    int64_t pipeline_size, n_parts; /* stages beside each other; devices of one */
    int64_t n_micro_batches;        /* 0 if not given */
    const char *schedule;
    int32_t *left; /* per tensor: how its maker leaves it */
    int32_t *read; /* per tensor: how it is read, in stage read_in */
    int32_t *read_in;
    bool *several; /* per tensor: it is read in several ways */
    int line;      /* of POLICY */
} OpPlans;

static const Inferred *inferred_of(const OpPlans *plans)
{
    return plans->policy->session->inferred;
}

static const char *name_at(const OpPlans *plans, int place)
{
    const Inferred *inferred = inferred_of(plans);
    return op_name(inferred->graph, inferred->program[place]);
}

/* ---- reading plans ---- */

/* {0, 1}, {idx = 0, dim = 1} or {input = 0, dim = 1} at the top of the stack. */
static bool read_split(lua_State *L, OpPlan *out, Error *err)
{
    static const char *const keys[] = {"idx", "dim", "input"};
    int at = lua_gettop(L), whole[2] = {0, 0};
    if (lua_type(L, at) == LUA_TSTRING && strcmp(lua_tostring(L, at), "auto") == 0) {
        out->split = SPLIT_AUTO;
        return true;
    }
    if (!lua_istable(L, at))
        return error_set(err, "'partition' must be \"auto\" or {idx, dim}");
    for (int i = 0; i < 2; i++) {
        lua_Integer *to = i == 0 ? &out->idx : &out->dim;
        if (lua_rawgeti(L, at, i + 1) == LUA_TNIL)
            lua_getfield(L, at, keys[i]);
        if (i == 0 && lua_isnil(L, -1))
            lua_getfield(L, at, keys[2]);
        *to = lua_tointegerx(L, -1, &whole[i]);
    }
    lua_settop(L, at);
    out->split = SPLIT_DIM;
    return (whole[0] && whole[1]) || error_set(err, "'partition' must be \"auto\" or {idx, dim}");
}

static bool read_number(lua_State *L, const char *key, lua_Integer *out, Error *err)
{
    int whole;
    *out = lua_tointegerx(L, -1, &whole);
    return (whole && *out >= -1) || error_set(err, "'%s' must be an integer, 0 or more", key);
}

static bool read_plan_field(lua_State *L, const char *key, OpPlan *out, Error *err)
{
    if (strcmp(key, "op") == 0)
        return true;
    if (strcmp(key, "partition") == 0)
        return (lua_isboolean(L, -1) && !lua_toboolean(L, -1)) || read_split(L, out, err);
    if (strcmp(key, "stage_id") == 0)
        return read_number(L, key, &out->stage, err);
    if (strcmp(key, "recompute_id") == 0)
        return read_number(L, key, &out->recompute, err);
    error_set(err, "a plan for an op has no field '%s'", key);
    return error_hint(err, "fields: op, partition, stage_id, recompute_id");
}

/* The value at the top of the stack, which it takes off. */
static bool read_plan(lua_State *L, OpPlans *plans, int line, Error *err)
{
    int at = lua_gettop(L);
    OpPlan plan = {.given = true, .stage = -1, .recompute = -1, .line = line};
    if (!lua_istable(L, at))
        return error_set(err, "POLICY must return plans for ops, not a %s", type_shown(L, at));
    lua_getfield(L, at, "op");
    NodeRef node;
    if (!node_read(L, -1, &node) || node.n_levels > 0)
        return error_set(err, "a plan for an op needs a node as 'op'");
    int place = policy_program_place(plans->policy, node.op);
    lua_pop(L, 1);
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (!read_plan_field(L, key, &plan, err))
            return false;
    }
    plans->plan[place] = plan;
    lua_settop(L, at - 1);
    return true;
}

static void must_read(lua_State *L, OpPlans *plans, int line)
{
    Error err = {0};
    if (read_plan(L, plans, line, &err))
        return;
    sandbox_of(L)->acting_line = line;
    sandbox_raise(L, &err);
}

/* ---- calling POLICY ---- */

static int line_of(lua_State *L)
{
    lua_Debug at;
    for (int level = 0; lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "l", &at);
        if (at.currentline > 0)
            return at.currentline;
    }
    return 0;
}

/* What POLICY returned, at the top of the stack: true when it was the graph. */
static bool read_returned(lua_State *L, OpPlans *plans, int line)
{
    if (luaL_testudata(L, -1, graph_type))
        return true;
    if (lua_isnil(L, -1))
        return false;
    int at = lua_gettop(L);
    if (lua_isfunction(L, at)) {
        for (;;) {
            lua_pushvalue(L, at);
            lua_call(L, 0, 1);
            if (lua_isnil(L, -1))
                return false;
            must_read(L, plans, line);
        }
    }
    luaL_checktype(L, at, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, at);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, at, i);
        must_read(L, plans, line);
    }
    return false;
}

/* The function is on top of the stack. True when it made its decisions itself. */
static bool collect(lua_State *L, OpPlans *plans)
{
    lua_Debug defined;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &defined);
    plans->line = defined.linedefined;
    lua_State *routine = lua_newthread(L);
    lua_insert(L, -2);
    lua_xmove(L, routine, 1);
    push_graph(L);
    push_resource(L, plans->policy->session->mesh);
    lua_xmove(L, routine, 2);
    int n_results = 0, n_args = 2, status;
    while ((status = lua_resume(routine, L, n_args, &n_results)) == LUA_YIELD) {
        lua_settop(routine, lua_gettop(routine) - n_results + (n_results > 0));
        if (n_results == 0)
            lua_pushnil(routine);
        lua_xmove(routine, L, 1);
        must_read(L, plans, line_of(routine));
        n_args = 0;
    }
    if (status != LUA_OK) {
        lua_xmove(routine, L, 1);
        lua_error(L);
    }
    lua_settop(routine, lua_gettop(routine) - n_results + (n_results > 0));
    if (n_results == 0)
        lua_pushnil(routine);
    lua_xmove(routine, L, 1);
    return read_returned(L, plans, plans->line);
}

/* ---- pas_config ---- */

static int64_t config_number(lua_State *L, const char *key, int64_t fallback)
{
    int whole;
    lua_getfield(L, -1, key);
    int64_t number = lua_tointegerx(L, -1, &whole);
    if (lua_isnil(L, -1))
        number = fallback;
    else if (!whole || number < 1)
        luaL_error(L, "pas_config.%s must be an integer, 1 or more", key);
    lua_pop(L, 1);
    return number;
}

static void read_config(lua_State *L, OpPlans *plans)
{
    plans->pipeline_size = plans->n_stages;
    plans->schedule = "1f1b";
    int type = lua_getglobal(L, "pas_config");
    if (type != LUA_TTABLE && type != LUA_TNIL)
        luaL_error(L, "pas_config must be a table {pipeline_nmicros = 4}, not a %s",
                   type_shown(L, -1));
    if (type == LUA_TTABLE) {
        plans->pipeline_size = config_number(L, "pipeline_size", plans->n_stages);
        plans->n_micro_batches = config_number(L, "pipeline_nmicros", 0);
        if (lua_getfield(L, -1, "pipeline_scheduler") == LUA_TSTRING)
            plans->schedule = lua_tostring(L, -1);
        else if (!lua_isnil(L, -1))
            luaL_error(L, "pas_config.pipeline_scheduler must be a name, such as \"1f1b\"");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static bool check_config(OpPlans *plans, Error *err)
{
    int64_t n = plans->policy->session->mesh->n_devices;
    if (n % plans->pipeline_size != 0 || plans->n_stages % plans->pipeline_size != 0) {
        error_kind(err, ERROR_OUT_OF_RANGE,
                   "pipeline_size = %" PRId64 " for %d stages and %" PRId64 " devices",
                   plans->pipeline_size, plans->n_stages, n);
        return error_hint(
            err, "pas_config.pipeline_size must divide both; its default is the number of stages");
    }
    if (plans->n_stages > 1 && plans->n_micro_batches == 0) {
        error_set(err, "%d stages need a number of micro-batches", plans->n_stages);
        return error_hint(err, "pas_config = {pipeline_nmicros = 4}");
    }
    plans->n_parts = n / plans->pipeline_size;
    return true;
}

/* ---- stages and recompute groups ---- */

static bool fill_stages(OpPlans *plans, int *line, Error *err)
{
    lua_Integer stage = 0;
    for (int i = 0; i < plans->n; i++) {
        OpPlan *plan = &plans->plan[i];
        if (!plan->given)
            *plan = (OpPlan){.stage = -1, .recompute = -1, .line = plans->line};
        *line = plan->line;
        if (plan->stage >= 0 && plan->stage != stage && plan->stage != stage + 1) {
            error_kind(err, ERROR_OUT_OF_RANGE, "stage %lld of '%s' follows stage %lld",
                       (long long)plan->stage, name_at(plans, i), (long long)stage);
            return error_hint(err, "in program order the next op may be in stage %lld or %lld",
                              (long long)stage, (long long)stage + 1);
        }
        if (i == 0 && plan->stage > 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "stages count from 0, '%s' has stage %lld",
                              name_at(plans, i), (long long)plan->stage);
        stage = plan->stage = plan->stage < 0 ? stage : plan->stage;
    }
    plans->n_stages = (int)stage + 1;
    return true;
}

static bool check_groups(const OpPlans *plans, int *line, Error *err)
{
    for (int i = 1; i < plans->n; i++) {
        const OpPlan *plan = &plans->plan[i], *before = &plans->plan[i - 1];
        *line = plan->line;
        if (plan->recompute < 0)
            continue;
        if (plan->recompute == before->recompute && plan->stage != before->stage)
            return error_kind(err, ERROR_CONFLICT, "recompute group %lld is in two stages: '%s'",
                              (long long)plan->recompute, name_at(plans, i));
        for (int k = i - 2; k >= 0 && plan->recompute != before->recompute; k--)
            if (plans->plan[k].recompute == plan->recompute) {
                error_kind(err, ERROR_CONFLICT, "recompute group %lld is not consecutive: '%s'",
                           (long long)plan->recompute, name_at(plans, i));
                return error_hint(err, "'%s' is between its ops", name_at(plans, i - 1));
            }
    }
    return true;
}

/* ---- partitions ---- */

/* The dim of the operand that the index dim is the major part of; WHOLE: none. */
static int dim_of_index(const Operand *operand, int index)
{
    for (int d = 0; !operand->absent && !operand->ignored && d < operand->projection.n_dims; d++)
        if (operand->factors[d].n > 0 && operand->factors[d].index[0] == index)
            return d;
    return WHOLE;
}

/* Of an input that the op reads so, in its stage. */
static void note_read(OpPlans *plans, int32_t tensor, int32_t how, int32_t stage)
{
    if (tensor < 0 || !tensor_can_be_sharded(inferred_of(plans), tensor))
        return;
    bool first = plans->read_in[tensor] < 0 ||
                 (plans->read_in[tensor] != stage && !tensor_is_weight(inferred_of(plans), tensor));
    if (!first && plans->read[tensor] != how)
        plans->several[tensor] = true;
    plans->read[tensor] = how;
    plans->read_in[tensor] = stage;
}

/* What auto follows: the first input that is cut, and whether another disagrees with it. */
static void follow_inputs(const OpPlans *plans, int32_t op, OpPlan *plan)
{
    const Graph *graph = plans->policy->session->graph;
    plan->split = SPLIT_NOT;
    for (int i = graph->ops[op].n_inputs - 1; i >= 0; i--) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && plans->left[t] == PARTIAL) {
            plan->split = SPLIT_NOT;
            return;
        }
        if (t < 0 || plans->left[t] < 0)
            continue;
        plan->split = SPLIT_DIM;
        plan->idx = i;
        plan->dim = plans->left[t];
    }
}

static bool inputs_agree(const OpPlans *plans, int32_t op, const OpSpace *space, int index)
{
    const Graph *graph = plans->policy->session->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && plans->left[t] >= 0 &&
            dim_of_index(&space->operand[i], index) != plans->left[t])
            return false;
    }
    return true;
}

static int index_of_split(const OpSpace *space, const OpPlan *plan)
{
    const Operand *operand = &space->operand[plan->idx];
    lua_Integer dim = plan->dim < 0 ? plan->dim + operand->projection.n_dims : plan->dim;
    return operand->factors[dim].index[0];
}

static void leave_outputs(OpPlans *plans, int32_t op, const OpSpace *space, int index)
{
    const Graph *graph = plans->policy->session->graph;
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        int dim = dim_of_index(opspace_output(space, o), index);
        if (t >= 0 && dim >= 0)
            plans->left[t] = dim;
        else if (t >= 0 && space->index[index].role == ROLE_REDUCE)
            plans->left[t] = PARTIAL;
    }
}

static void note_disagree(lua_State *L, const OpPlans *plans, int place)
{
    const char *text = arena_printf(plans->policy->arena,
                                    "'%s' cannot be sharded like its inputs: it is replicated",
                                    name_at(plans, place));
    policy_note(L, plans->policy, LEVEL_WARNING, "auto-partition", text,
                "give it a partition {idx, dim}");
}

/* What the op's partition does to its tensors; auto becomes a dim, or none. */
static bool work_out(lua_State *L, OpPlans *plans, int place, Error *err)
{
    OpPlan *plan = &plans->plan[place];
    int32_t op = inferred_of(plans)->program[place];
    const Graph *graph = plans->policy->session->graph;
    const OpSpace *space = inferred_space(inferred_of(plans), op);
    NodeRef node = {.op = op};
    bool automatic = plan->split == SPLIT_AUTO;
    if (automatic && (!space || space->no_rule))
        plan->split = SPLIT_NOT;
    else if (automatic)
        follow_inputs(plans, op, plan);
    if (plan->split != SPLIT_NOT &&
        !partition_allowed(plans->policy, &node, plan->idx, plan->dim, plans->n_parts, err))
        return false;
    int index = plan->split == SPLIT_NOT ? -1 : index_of_split(space, plan);
    if (automatic && index >= 0 && !inputs_agree(plans, op, space, index)) {
        note_disagree(L, plans, place);
        plan->split = SPLIT_NOT;
        index = -1;
    }
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int dim = index < 0 ? WHOLE : dim_of_index(&space->operand[i], index);
        note_read(plans, op_inputs(graph, op)[i], index >= 0 && dim < 0 ? WHOLE_WITH_SUM : dim,
                  (int32_t)plan->stage);
    }
    if (index >= 0)
        leave_outputs(plans, op, space, index);
    return true;
}

/* ---- decisions ---- */

static void decide_multirefs(lua_State *L, const OpPlans *plans)
{
    for (int32_t t = 0; t < plans->policy->session->graph->n_tensors; t++)
        if (plans->several[t])
            multiref_tensor(L, plans->policy, t);
}

static void decide_stages(lua_State *L, const OpPlans *plans, int *line)
{
    for (int i = 0; i < plans->n && plans->n_stages > 1; i++)
        if (i == 0 || plans->plan[i].stage != plans->plan[i - 1].stage) {
            *line = sandbox_of(L)->acting_line = plans->plan[i].line;
            stage_begin(L, plans->policy, i, true);
        }
}

/* A group of one is none. */
static bool decide_groups(lua_State *L, const OpPlans *plans, int *line, Error *err)
{
    const int32_t *program = inferred_of(plans)->program;
    for (int i = 0, last; i < plans->n; i = last + 1) {
        last = i;
        while (last + 1 < plans->n && plans->plan[i].recompute >= 0 &&
               plans->plan[last + 1].recompute == plans->plan[i].recompute)
            last++;
        *line = sandbox_of(L)->acting_line = plans->plan[i].line;
        if (last > i && !recompute_ops(L, plans->policy, program + i, last - i + 1, false, err))
            return false;
    }
    return true;
}

/* Part `number` of the devices: by the axis pp where it has that size, else in mesh order. */
static bool part_of_mesh(const OpPlans *plans, int64_t number, SubMesh *out, Error *err)
{
    const Mesh *mesh = plans->policy->session->mesh;
    int pp = mesh_find_axis(mesh, STR("pp"));
    *out = (SubMesh){0};
    if (plans->pipeline_size == 1)
        return true;
    if (pp >= 0 && mesh->axes[pp].size == plans->pipeline_size)
        return submesh_fix(mesh, STR("pp"), number, out, err);
    int64_t *position = arena_array(plans->policy->arena, int64_t, plans->n_parts);
    for (int64_t i = 0; i < plans->n_parts; i++)
        position[i] = number * plans->n_parts + i;
    return place_of_positions(plans->policy, "a stage", position, plans->n_parts, out, err);
}

static bool decide_partitions(lua_State *L, const OpPlans *plans, int *line, Error *err)
{
    SubMesh *sub = arena_array(plans->policy->arena, SubMesh, plans->pipeline_size);
    for (int64_t s = 0; s < plans->pipeline_size; s++)
        if (!part_of_mesh(plans, s, &sub[s], err))
            return false;
    for (int i = 0; i < plans->n; i++) {
        const OpPlan *plan = &plans->plan[i];
        NodeRef node = {.op = inferred_of(plans)->program[i]};
        *line = sandbox_of(L)->acting_line = plan->line;
        bool ok = plan->split == SPLIT_NOT
                      ? replicate_node(L, plans->policy, &node, plans->n_parts, err)
                      : partition_node(L, plans->policy, &node, plan->idx, plan->dim,
                                       plans->n_parts, err);
        if (!ok)
            return false;
        if (plans->n_stages > 1)
            place_op(plans->policy, node.op, sub[plan->stage % plans->pipeline_size], plan->line);
    }
    return true;
}

static bool decide_all(lua_State *L, OpPlans *plans, int *line, Error *err)
{
    *line = plans->line;
    if (!fill_stages(plans, line, err) || !check_groups(plans, line, err))
        return false;
    *line = plans->line;
    read_config(L, plans);
    if (!check_config(plans, err))
        return false;
    for (int i = 0; i < plans->n; i++) {
        *line = sandbox_of(L)->acting_line = plans->plan[i].line;
        if (!work_out(L, plans, i, err))
            return false;
    }
    decide_multirefs(L, plans);
    decide_stages(L, plans, line);
    if (!decide_groups(L, plans, line, err) || !decide_partitions(L, plans, line, err))
        return false;
    if (plans->n_stages > 1)
        schedule_set(L, plans->policy, plans->schedule, (int)plans->n_micro_batches, PASS_NONE);
    return true;
}

static int32_t *filled(Arena *arena, int n, int32_t value)
{
    int32_t *at = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++)
        at[i] = value;
    return at;
}

void op_plans_run(lua_State *L, Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    int n_tensors = inferred->graph->n_tensors, line = 0;
    OpPlans plans = {.policy = policy, .n = inferred->n_program};
    Error err = {0};
    plans.plan = arena_array(policy->arena, OpPlan, plans.n);
    plans.left = filled(policy->arena, n_tensors, WHOLE);
    plans.read = filled(policy->arena, n_tensors, WHOLE);
    plans.read_in = filled(policy->arena, n_tensors, -1);
    plans.several = arena_array(policy->arena, bool, n_tensors);
    if (collect(L, &plans) || decide_all(L, &plans, &line, &err))
        return;
    sandbox_of(L)->acting_line = line;
    sandbox_raise(L, &err);
}

const LuaEntry op_plan_fields[] = {
    {"op", NULL, "node", "The node that the plan is for."},
    {"partition", NULL,
     "(\"auto\"|false|integer[]|{idx: integer, dim: integer}|{input: integer, dim: integer})?",
     "{idx, dim}: all devices of the stage partition that dim; \"auto\": as its inputs, if they "
     "agree and none is partial; without it the op is replicated."},
    {"stage_id", NULL, "integer?",
     "The stage, from 0: that of the op before, which is the default, or the next one."},
    {"recompute_id", NULL, "integer?",
     "Consecutive ops with the same number are recomputed together; a single op is not "
     "recomputed."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry pas_config_fields[] = {
    {"pipeline_size", NULL, "integer?",
     "The number of device groups on which the stages run in turn. It must divide the number of "
     "stages and of devices. Default: the number of stages."},
    {"pipeline_nmicros", NULL, "integer?",
     "The number of micro-batches, required if there are several stages."},
    {"pipeline_scheduler", NULL, "string?", "A schedule as in graph:schedule; default \"1f1b\"."},
    {NULL, NULL, NULL, NULL},
};
