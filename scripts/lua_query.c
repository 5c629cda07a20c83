/* lua_query.c - reads of the current plan: ops by name, times, shardings, reshards.
 *
 * A policy runs before its own plan exists. It sees the trial plan of graph:propose(), else the
 * plan that is shown, else nil.
 */
#include "core/base/nearest.h"
#include "core/cost/cost.h"
#include "core/session/make.h"
#include "core/reshard/price.h"
#include "scripts/lua_objects.h"
#include "scripts/lua_push.h"

static const Plan *plan_of(lua_State *L)
{
    const Policy *policy = policy_of(L);
    return policy->trial ? policy->trial : policy->session->plan;
}

/* ---- a trial ---- */

Journal policy_decided_so_far(const Policy *policy)
{
    Journal journal = {0};
    for (int i = 0; i < policy->before->n_done; i++)
        journal_add(&journal, policy->arena, &policy->before->decisions.at[i]);
    for (int i = 0; i < policy->pending.n; i++)
        if (!pending_is_forgotten(&policy->pending.at[i]))
            journal_add(&journal, policy->arena, &policy->pending.at[i].decision);
    return journal;
}

void policy_end_trial(Policy *policy)
{
    plan_free(policy->trial);
    policy->trial = NULL;
}

static int push_totals(lua_State *L, const Plan *plan)
{
    const Totals *totals = &plan->priced->totals;
    lua_createtable(L, 0, 6);
    set_number(L, "step_ms", totals->step_us / 1000);
    set_number(L, "compute_ms", totals->compute_us / 1000);
    set_number(L, "comm_ms", totals->comm_us / 1000);
    set_integer(L, "comm_bytes", totals->comm_bytes);
    set_integer(L, "peak_bytes", totals->peak_bytes);
    lua_pushboolean(L, plan_is_legal(plan));
    lua_setfield(L, -2, "legal");
    return 1;
}

int graph_propose(lua_State *L)
{
    enum { OP_INSTRUCTIONS = 100 };
    Policy *policy = graph_check(L);
    const Session *session = policy->session;
    Journal journal = policy_decided_so_far(policy);
    PlanRequest request = session_request(session, &journal);
    Error err = {0};
    sandbox_spend(L, (int64_t)session->inferred->n_program * OP_INSTRUCTIONS);
    request.propagation = NULL; /* what plans share is in use by the one that is shown */
    request.before = NULL;
    policy_end_trial(policy);
    policy->trial = plan_make(&request, &err);
    return policy->trial ? push_totals(L, policy->trial) : sandbox_raise(L, &err);
}

const LuaEntry plan_totals_fields[] = {
    {"step_ms", NULL, "number", "Milliseconds of a step."},
    {"compute_ms", NULL, "number", "Milliseconds of its ops."},
    {"comm_ms", NULL, "number", "Milliseconds of its collectives."},
    {"comm_bytes", NULL, "integer", "Bytes that one device sends."},
    {"peak_bytes", NULL, "integer", "Memory of the device that needs most."},
    {"legal", NULL, "boolean", "Whether no finding is an error."},
    {NULL, NULL, NULL, NULL},
};

/* ---- ops ---- */

static int32_t op_of_path(const Session *session, Str path)
{
    const Inferred *inferred = session->inferred;
    int32_t op = -1;
    if (naming_part(session->naming, path, PART_WEIGHT, &op) >= 0)
        return op;
    for (int i = inferred->n_program - 1; i >= 0 && op < 0; i--)
        if (str_eq(str_from(op_path(inferred->graph, inferred->program[i])), path))
            op = inferred->program[i];
    return op;
}

static const char *nearest_path(const Naming *naming, Str name)
{
    Nearest nearest = {name, INT32_MAX, NULL};
    for (int i = 0; i < naming_n_paths(naming) && i < NEAREST_LOOK_AT; i++)
        if (naming_path(naming, i)[0]) /* the model's own is empty */
            nearest_try(&nearest, naming_path(naming, i));
    return nearest.name;
}

int graph_op(lua_State *L)
{
    enum { NAMES_PER_INSTRUCTION = 2 };
    const Session *session = policy_of(L)->session;
    Str name = {0};
    name.s = luaL_checklstring(L, 2, &name.n);
    sandbox_spend(L, session->inferred->n_program / NAMES_PER_INSTRUCTION);
    int32_t op = graph_find_op(session->graph, name);
    if (op < 0 || inferred_is_host(session->inferred, op))
        op = op_of_path(session, name);
    if (op < 0) {
        Error err = {0};
        sandbox_spend(L, NEAREST_INSTRUCTIONS);
        const char *nearest = nearest_path(session->naming, name);
        error_kind(&err, ERROR_NO_MATCH, "there is no op '%.*s'", STR_ARG(name));
        if (nearest)
            error_hint(&err, "did you mean '%s'?", nearest);
        return sandbox_raise(L, &err);
    }
    push_op(L, op);
    return 1;
}

int node_us(lua_State *L)
{
    const Plan *plan = plan_of(L);
    int32_t op = node_check(L, 1).op;
    if (!plan)
        return 0;
    lua_pushnumber(L, plan->priced->op_us[op]);
    return 1;
}

int tensor_sharding(lua_State *L)
{
    const Plan *plan = plan_of(L);
    int32_t tensor = ((const NamedTensor *)luaL_checkudata(L, 1, tensor_type))->tensor;
    if (!plan || plan->moved->sharding[tensor] < 0)
        return 0;
    Buf text = buf_new(policy_of(L)->arena);
    sharding_format(plan_sharding(plan, tensor), plan->mesh, VIEW_OURS, &text, NULL);
    lua_pushlstring(L, text.s, text.n);
    return 1;
}

/* ---- reshards ---- */

typedef struct {
    AtomSet axis;     /* 0: any */
    const char *kind; /* NULL: any */
} Wanted;

/* Reads the filter at 2: nil, or a table with axis and kind ("AR", "all_reduce"). */
static Wanted read_wanted(lua_State *L, const Mesh *mesh)
{
    Wanted wanted = {0, NULL};
    Error err = {0};
    if (lua_isnoneornil(L, 2))
        return wanted;
    luaL_checktype(L, 2, LUA_TTABLE);
    if (lua_getfield(L, 2, "axis") != LUA_TNIL) {
        const char *name = luaL_checkstring(L, -1);
        int axis = mesh_find_axis(mesh, str_from(name));
        if (axis < 0 && !error_set(&err, "no axis '%s' in the mesh", name))
            sandbox_raise(L, &err);
        wanted.axis = mesh_axis_atoms(mesh, axis);
    }
    if (lua_getfield(L, 2, "kind") != LUA_TNIL)
        wanted.kind = luaL_checkstring(L, -1);
    return wanted;
}

static bool is_wanted(const Reshard *reshard, const Wanted *wanted)
{
    bool axis = wanted->axis == 0, kind = !wanted->kind;
    for (int s = 0; s < reshard->path->n_steps; s++) {
        const Step *step = &reshard->path->step[s];
        axis |= (step->atoms & wanted->axis) != 0;
        kind |= wanted->kind && (strcmp(step_kind_mark(step->kind), wanted->kind) == 0 ||
                                 strcmp(step_kind_name(step->kind), wanted->kind) == 0);
    }
    return axis && kind;
}

static void push_reshard(lua_State *L, const Policy *policy, const Reshard *reshard)
{
    const Plan *plan = plan_of(L);
    double times = reshard_repeat(plan, reshard);
    Buf kind = buf_new(policy->arena);
    int64_t bytes = 0;
    reshard_format_steps(reshard->path, plan->mesh, &kind);
    for (int s = 0; s < reshard->path->n_steps; s++)
        bytes += reshard->path->step[s].bytes;
    lua_createtable(L, 0, 5);
    push_own_tensor(L, reshard->tensor);
    lua_setfield(L, -2, "tensor");
    lua_pushlstring(L, kind.s, kind.n);
    lua_setfield(L, -2, "kind");
    set_number(L, "ms", times * reshard->path->us / 1000);
    set_integer(L, "bytes", bytes);
    set_number(L, "times", times);
}

/* Upvalues: the list, how many were returned. */
static int next_reshard(lua_State *L)
{
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2)) + 1;
    lua_pushinteger(L, at);
    lua_replace(L, lua_upvalueindex(2));
    lua_rawgeti(L, lua_upvalueindex(1), at);
    return 1;
}

int graph_reshards(lua_State *L)
{
    enum { RESHARD_INSTRUCTIONS = 20 };
    const Policy *policy = policy_of(L);
    const Plan *plan = plan_of(L);
    Error err = {0};
    if (!plan &&
        !error_set(
            &err,
            "there is no plan yet: graph:propose() makes a trial plan of what is decided so far"))
        return sandbox_raise(L, &err);
    Wanted wanted = read_wanted(L, plan->mesh);
    lua_settop(L, 2);
    lua_newtable(L);
    lua_Integer n = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        sandbox_spend(L, RESHARD_INSTRUCTIONS);
        if (!is_wanted(&plan->moved->reshards[r], &wanted))
            continue;
        push_reshard(L, policy, &plan->moved->reshards[r]);
        lua_rawseti(L, -2, ++n);
    }
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_reshard, 2);
    return 1;
}
