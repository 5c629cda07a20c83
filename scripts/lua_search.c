/* lua_search.c - graph:search: the rest of a plan is searched, under what is decided so far. */
#include "core/base/units.h"
#include "core/search/search.h"
#include "core/session/make.h"
#include "scripts/lua_objects.h"
#include "scripts/lua_push.h"
#include "scripts/lua_targets.h"

enum { SECONDS = 60, OP_INSTRUCTIONS = 1000 };

/* The session as a plan under these decisions would be made: of a training step if there is one. */
static bool session_to_search(const Policy *policy, const Journal *journal, Session *out,
                              Error *err)
{
    *out = *policy->session;
    if (out->step.graph) {
        out->graph = out->step.graph;
        out->inferred = out->step.inferred;
    }
    out->plan = NULL;
    out->propagation = NULL; /* what plans share is in use by the one that is shown */
    out->journal = *journal;
    PlanRequest request = session_request(out, journal);
    out->plan = plan_make(&request, err);
    return out->plan != NULL;
}

/* ---- options ---- */

typedef struct {
    SearchRequest request;
    bool *holes; /* per op of the graph that is searched; NULL: all */
} AskedSearch;

static void open_hole(lua_State *L, Policy *policy, const Target *target, void *context)
{
    AskedSearch *asked = context;
    const Graph *graph = policy->session->graph;
    (void)L;
    if (!target->named) {
        asked->holes[target->op] = true;
        return;
    }
    int32_t t = target->named->tensor;
    if (graph->tensors[t].maker >= 0)
        asked->holes[graph->tensors[t].maker] = true;
    for (int u = 0; u < tensor_n_uses(graph, t); u++)
        asked->holes[graph->uses[graph->tensors[t].use + u]] = true;
}

static void open_value(lua_State *L, Policy *policy, int at, void *context)
{
    Target target;
    if (target_read(L, at, &target))
        open_hole(L, policy, &target, context);
    else
        targets_named(L, policy, at, false, open_hole, context);
}

static int64_t read_limit(lua_State *L, const Machine *machine)
{
    int64_t bytes = machine->memory_bytes;
    if (lua_getfield(L, 2, "limit") != LUA_TNIL) {
        size_t n;
        const char *text = luaL_tolstring(L, -1, &n);
        if (!units_parse_bytes((Str){text, n}, &bytes) || bytes <= 0)
            sandbox_refuse(L, ERROR_INVALID, "write it as limit = \"75GiB\", or in bytes",
                           "a limit of memory cannot be '%.40s'", text);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return bytes;
}

/* Reads {limit = .., seconds = .., unfold = .., holes = ..} at 2. */
static void read_options(lua_State *L, Policy *policy, AskedSearch *out)
{
    const Session *session = policy->session;
    const Graph *graph = session->step.graph ? session->step.graph : session->graph;
    out->request.max_peak_bytes = session->machine->memory_bytes;
    out->request.seconds = SECONDS;
    if (lua_isnoneornil(L, 2))
        return;
    luaL_checktype(L, 2, LUA_TTABLE);
    out->request.max_peak_bytes = read_limit(L, session->machine);
    if (lua_getfield(L, 2, "seconds") != LUA_TNIL)
        out->request.seconds = luaL_checknumber(L, -1);
    luaL_argcheck(L, out->request.seconds > 0, 2, "seconds must be positive");
    lua_getfield(L, 2, "unfold");
    out->request.unfold = lua_toboolean(L, -1);
    lua_pop(L, 2);
    if (lua_getfield(L, 2, "holes") != LUA_TNIL) {
        out->holes = arena_array(policy->arena, bool, graph->n_ops);
        policy_each_value(L, policy, lua_gettop(L), open_value, out);
    }
    lua_pop(L, 1);
    out->request.holes = out->holes;
}

/* ---- the search ---- */

/* What was decided, which are pins of dims; their cuts outlive the arena of the search. */
static Decision *keep_decisions(Arena *arena, const SearchResult *result)
{
    Decision *out = arena_array(arena, Decision, result->n_decisions);
    for (int i = 0; i < result->n_decisions; i++) {
        out[i] = result->decisions[i];
        if (!out[i].cut)
            continue;
        Cut *cut = arena_make(arena, Cut);
        *cut = *out[i].cut;
        out[i].cut = cut;
    }
    return out;
}

static int push_answer(lua_State *L, const SearchResult *result)
{
    lua_createtable(L, 0, 6);
    set_number(L, "step_ms", result->cost_us / 1000);
    set_number(L, "bound_ms", result->bound_us / 1000);
    set_integer(L, "peak_bytes", result->peak_bytes);
    set_integer(L, "decisions", result->n_decisions);
    lua_pushboolean(L, result->proven);
    lua_setfield(L, -2, "proven");
    return 1;
}

static int graph_search(lua_State *L)
{
    Policy *policy = graph_check(L);
    Session session;
    SearchResult result = {.outcome = SEARCH_UNKNOWN};
    AskedSearch asked = {.holes = NULL};
    Error err = {0};
    lua_settop(L, 2);
    read_options(L, policy, &asked);
    sandbox_spend(L, (int64_t)policy->session->inferred->n_program * OP_INSTRUCTIONS);
    Journal journal = policy_decided_so_far(policy);
    asked.request.session = &session;
    asked.request.progress = policy->session->progress;
    Arena *scratch = arena_new(); /* a search takes megabytes, a policy may search often */
    bool ok = session_to_search(policy, &journal, &session, &err);
    ok = ok && search_plan(scratch, &asked.request, &result, &err);
    plan_free(session.plan);
    if (ok && result.outcome != SEARCH_PLAN)
        ok = error_kind(&err, ERROR_CONFLICT, "%s",
                        result.conflict ? result.conflict : "the search found no plan in its time");
    Decision *decided = ok ? keep_decisions(policy->arena, &result) : NULL;
    arena_free(scratch);
    if (!ok)
        return sandbox_raise(L, &err);
    for (int i = 0; i < result.n_decisions; i++)
        policy_add(L, policy, &decided[i]);
    return push_answer(L, &result);
}

const LuaEntry search_methods[] = {
    {"search", graph_search,
     "(options?: {limit?: string|integer, seconds?: number, unfold?: boolean, holes?: "
     "what|what[]}): search_answer",
     "Searches the fastest plan under what is decided so far, and decides it. limit: memory of a "
     "device, \"75GiB\" or bytes (the machine's); seconds: ends it with the best so far (60); "
     "unfold: equal layers may be sharded differently; holes: only these ops, and the parameters "
     "they read, are searched, the others stay as they are. A limit that no plan keeps is an "
     "error. "
     "Where --train is given it is the training step that is searched. dimscope search does the "
     "same from the command line."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry search_answer_fields[] = {
    {"step_ms", NULL, "number", "Milliseconds of a step of the plan that was found."},
    {"bound_ms", NULL, "number", "No plan that was searched takes less."},
    {"peak_bytes", NULL, "integer", "Memory of the device that needs most."},
    {"decisions", NULL, "integer", "How many decisions were made."},
    {"proven", NULL, "boolean", "Whether the plan meets the bound."},
    {NULL, NULL, NULL, NULL},
};
