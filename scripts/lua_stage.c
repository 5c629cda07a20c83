/* lua_stage.c - schedules, and nnScaler's multiref. */
#include "scripts/lua_place.h"

#include "core/plan/schedule.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- schedule ---- */

static void put_block(lua_State *L, int at, Buf *out)
{
    if (lua_type(L, at) == LUA_TSTRING) {
        buf_puts(out, lua_tostring(L, at));
        return;
    }
    luaL_checktype(L, at, LUA_TTABLE);
    lua_getfield(L, at, "stage");
    lua_getfield(L, at, "micro_batch");
    lua_getfield(L, at, "backward");
    lua_getfield(L, at, "span");
    int top = lua_gettop(L);
    if (!lua_isinteger(L, top - 3) || !lua_isinteger(L, top - 2))
        luaL_error(
            L,
            "a block must be \"0f0\", or {stage = 0, micro_batch = 0, backward = true, span = 1}");
    buf_printf(out, "%lld%s%lld", (long long)lua_tointeger(L, top - 3),
               lua_toboolean(L, top - 1) ? "b" : "f", (long long)lua_tointeger(L, top - 2));
    if (!lua_isnil(L, top))
        buf_printf(out, "*%lld", (long long)luaL_checkinteger(L, top));
    lua_pop(L, 4);
}

/* A step: a text, or a list of blocks. */
static void put_step(lua_State *L, int at, Buf *out)
{
    if (!lua_istable(L, at)) {
        buf_puts(out, luaL_checkstring(L, at));
        return;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, at);
    buf_puts(out, n == 0 ? "-" : "");
    for (lua_Integer i = 1; i <= n; i++) {
        buf_puts(out, i > 1 ? "+" : "");
        lua_rawgeti(L, at, i);
        put_block(L, lua_gettop(L), out);
        lua_pop(L, 1);
    }
}

/* The text of schedule.h: a name, or steps. */
static const char *check_schedule(lua_State *L, Policy *policy, int at)
{
    Buf text = buf_new(policy->arena);
    if (!lua_istable(L, at))
        return luaL_checkstring(L, at);
    lua_Integer n = (lua_Integer)lua_rawlen(L, at);
    sandbox_spend(L, n);
    for (lua_Integer i = 1; i <= n; i++) {
        buf_puts(&text, i > 1 ? " " : "");
        lua_rawgeti(L, at, i);
        put_step(L, lua_gettop(L), &text);
        lua_pop(L, 1);
    }
    return text.n > 0 ? text.s : "-";
}

/* Of steps: one more than the last they name. */
static int64_t count_micro_batches(const char *steps)
{
    int64_t most = -1, number = 0;
    for (const char *s = steps; *s; s++)
        if (strchr("fbiw", *s)) {
            for (number = 0, s++; *s >= '0' && *s <= '9' && number < MICRO_BATCHES_MAX; s++)
                number = number * 10 + (*s - '0');
            most = number > most ? number : most;
            s--;
        }
    return most + 1;
}

static bool check_name(const char *name, Error *err)
{
    if (schedule_kind(str_from(name)) || schedule_is_steps(str_from(name)))
        return true;
    return schedule_refuse(str_from(name), err);
}

static bool read_micro_batches(lua_State *L, const char *name, int64_t *out, Error *err)
{
    bool steps = !schedule_kind(str_from(name));
    int whole = 0;
    if (lua_istable(L, 3))
        lua_getfield(L, 3, "micro_batches");
    else
        lua_pushnil(L);
    *out = lua_tointegerx(L, -1, &whole);
    if (!whole && steps && lua_isnil(L, -1)) {
        *out = count_micro_batches(name);
        whole = 1;
    }
    lua_pop(L, 1);
    if (whole && *out >= 1 && *out <= MICRO_BATCHES_MAX)
        return true;
    error_kind(err, ERROR_OUT_OF_RANGE, "a schedule must have 1 to %d micro-batches",
               MICRO_BATCHES_MAX);
    return error_hint(err, "graph:schedule(\"1f1b\", {micro_batches = 4}); there are %s",
                      schedule_names());
}

/* options.overlap of graph:schedule. */
static bool read_overlap(lua_State *L, Pass *out, Error *err)
{
    *out = PASS_NONE;
    if (!lua_istable(L, 3) || lua_getfield(L, 3, "overlap") == LUA_TNIL)
        return true;
    const char *name = lua_tostring(L, -1);
    for (*out = PASS_NONE; *out <= PASS_BOTH; ++*out)
        if (name && strcmp(name, pass_name(*out)) == 0)
            return true;
    error_kind(err, ERROR_OUT_OF_RANGE, "overlap cannot be '%s'", name ? name : type_shown(L, -1));
    return error_hint(err, "none, forward, backward or both");
}

void schedule_set(lua_State *L, Policy *policy, const char *name, int n_micro_batches, Pass overlap)
{
    Placing *placing = placing_of(policy);
    placing->schedule = arena_str(policy->session->journal_arena, str_from(name));
    placing->n_micro_batches = n_micro_batches;
    placing->schedule_line = sandbox_line(L);
    Decision decision = {.kind = PIN_SCHEDULE, .dim = -1, .number = n_micro_batches};
    decision.schedule = placing->schedule;
    decision.pass = overlap;
    policy_add(L, policy, &decision);
}

static int graph_schedule(lua_State *L)
{
    Policy *policy = graph_check(L);
    int64_t n = 0;
    Pass overlap;
    Error err = {0};
    lua_settop(L, 3);
    const char *name = check_schedule(L, policy, 2);
    if (!check_name(name, &err) || !read_micro_batches(L, name, &n, &err) ||
        !read_overlap(L, &overlap, &err))
        return sandbox_raise(L, &err);
    schedule_set(L, policy, name, (int)n, overlap);
    return 0;
}

/* The devices of the stage's first op that has some; the whole mesh where none has. */
static SubMesh sub_of_stage(Policy *policy, Segment segment)
{
    const int32_t *program = policy->session->inferred->program;
    for (int i = segment.first; i <= segment.last; i++) {
        const OpPlace *place = policy->placing->op[program[i]];
        if (place)
            return place->sub;
    }
    return (SubMesh){0};
}

/* A lane for each part of the mesh; false: parts overlap, and planning must tell. */
static bool lanes_of(Policy *policy, Arena *arena, Lanes *lanes)
{
    const Mesh *mesh = policy->session->mesh;
    int n_stages = segments_count(policy), n = 0;
    SubMesh *sub = arena_array(arena, SubMesh, n_stages);
    int32_t *n_devices = arena_array(arena, int32_t, n_stages);
    int32_t *first = arena_array(arena, int32_t, n_stages + 1);
    int32_t *lane = arena_array(arena, int32_t, n_stages);
    for (int s = 0, place = 0; s < n_stages; s++) {
        Segment segment = segment_at(policy, place);
        SubMesh of = sub_of_stage(policy, segment);
        int i = 0;
        for (; i < n && !submesh_equal(sub[i], of); i++)
            if (submesh_overlaps(mesh, sub[i], of))
                return false;
        n = i == n ? n + 1 : n;
        sub[i] = of;
        n_devices[i] = (int32_t)submesh_size(mesh, of);
        first[s] = s;
        lane[s] = i;
        place = segment.last + 1;
    }
    first[n_stages] = n_stages;
    *lanes = (Lanes){n, n_devices, first, lane};
    return true;
}

bool schedule_check(lua_State *L, Policy *policy, Error *err)
{
    const Placing *placing = policy->placing;
    Lanes lanes;
    if (!policy->whole || !placing->staged)
        return true; /* planning says what does not fit */
    sandbox_spend(L, placing->n_micro_batches);
    Arena *scratch = arena_new();
    bool ok = !lanes_of(policy, scratch, &lanes) ||
              schedule_make(scratch, str_from(placing->schedule), segments_count(policy), &lanes,
                            placing->n_micro_batches, err);
    arena_free(scratch);
    return ok;
}

/* ---- multiref ---- */

void multiref_tensor(lua_State *L, Policy *policy, int32_t tensor)
{
    Decision decision = {.kind = PIN_BARRIER, .place = tensor, .dim = -1, .pass = PASS_FORWARD};
    policy_decide(L, policy, &decision);
}

static int graph_multiref(lua_State *L)
{
    Policy *policy = graph_check(L);
    const NamedTensor *named = luaL_checkudata(L, 2, tensor_type);
    multiref_tensor(L, policy, named->tensor);
    return 0;
}

/* Ops that read it, each once, and whether it is an output. */
static int count_readers(const Session *session, int32_t tensor)
{
    const Graph *graph = session->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    int n_uses = tensor_n_uses(graph, tensor), n = 0;
    for (int i = 0; i < n_uses; i++)
        n += !inferred_is_host(session->inferred, use[i]) && (i == 0 || use[i] != use[i - 1]);
    return n;
}

static void multiref_all(lua_State *L, Policy *policy, bool outputs, bool attributes)
{
    const Session *session = policy->session;
    sandbox_spend(L, session->graph->n_tensors);
    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        int n = count_readers(session, t) + (outputs && session->graph->tensors[t].output);
        if (n > 1 && tensor_can_be_sharded(session->inferred, t) &&
            (attributes || !tensor_is_weight(session->inferred, t)))
            multiref_tensor(L, policy, t);
    }
}

static int graph_auto_multiref(lua_State *L)
{
    multiref_all(L, graph_check(L), true, true);
    return 0;
}

static int graph_single_consume(lua_State *L)
{
    multiref_all(L, graph_check(L), false, false);
    return 0;
}

const LuaEntry stage_methods[] = {
    {"schedule", graph_schedule,
     "(name: string|(string|(string|schedule_block)[])[], options?: {micro_batches: integer, "
     "overlap?: "
     "string})",
     "The order in which stages run micro-batches: 1f1b, 1f1b_interleaved, 1f1b_plus, eager_1f1b, "
     "gpipe, looped_bfs, zb1p, zb2p, interleaved_zero_bubble, zbv, dualpipev, dualpipe, "
     "chimera_direct, infer_pipe, or steps such as \"0f0 0f1+1f0 1f1\" with stage, f or b, "
     "micro-batch; also as a list of strings or of lists of blocks. With steps the number of "
     "micro-batches may be left out. overlap: none, forward, backward or both, the passes under "
     "whose ops gathers of parameters and reductions of their gradients run. Refused, with a hint "
     "what is legal: counts that the schedule "
     "cannot have, steps that run two blocks at once on a device or before their inputs exist."},
    {"multiref", graph_multiref, "(tensor: tensor)",
     "Each consumer of the tensor may have its own sharding, as with nnScaler's aliases: axes "
     "propagate from the producer to the consumers, but not back and not between consumers. It "
     "adds no node, and may follow partitions."},
    {"auto_multiref", graph_auto_multiref, "()",
     "Calls graph:multiref for each tensor with several consumers, where an output of the model "
     "counts as one."},
    {"single_consume", graph_single_consume, "()",
     "Calls graph:multiref for each value with several consumers, but not for parameters."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry schedule_block_fields[] = {
    {"stage", NULL, "integer", "The stage, from 0."},
    {"micro_batch", NULL, "integer", "The micro-batch, from 0."},
    {"backward", NULL, "boolean?", "True for the backward, else the forward."},
    {"span", NULL, "integer?", "How many steps it takes; default 1."},
    {NULL, NULL, NULL, NULL},
};
