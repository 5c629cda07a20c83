#include "scripts/lua_policy.h"

#include "scripts/lua_objects.h"
#include "scripts/lua_options.h"
#include "scripts/lua_place.h"
#include "scripts/lua_push.h"

#include <inttypes.h>

/* ---- decisions ---- */

static int32_t *none_of(Arena *arena, int n)
{
    int32_t *places = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++)
        places[i] = -1;
    return places;
}

Policy *policy_of(lua_State *L)
{
    Policy *policy = sandbox_of(L)->host;
    if (!policy)
        luaL_error(L, "the graph can be used only while PAS runs");
    return policy;
}

static int32_t *last_of(const Policy *policy, const Decision *decision)
{
    return &(decision_is_on_tensor(decision->kind) ? policy->last_of_tensor
                                                   : policy->last_of_op)[decision->place];
}

static Origin origin_here(lua_State *L, Policy *policy)
{
    enum { DECISION_INSTRUCTIONS = 100 };
    sandbox_spend(L, DECISION_INSTRUCTIONS);
    int line = sandbox_line(L);
    if (!policy->text || line != policy->text_line) {
        policy->text_line = line;
        policy->text =
            arena_str(policy->session->journal_arena, sandbox_line_text(policy->sandbox, line));
    }
    return (Origin){ORIGIN_POLICY, policy->file, line, policy->text};
}

/* "dim 1 of 'wte.weight'" */
static const char *place_text(const Policy *policy, const Decision *decision)
{
    const Inferred *inferred = policy->session->inferred;
    if (decision->dim < 0)
        return arena_printf(policy->arena, "'%s'",
                            naming_label(policy->session->naming, decision->place));
    if (decision_is_on_tensor(decision->kind))
        return arena_printf(policy->arena, "dim %d of '%s'", decision->dim,
                            naming_label(policy->session->naming, decision->place));
    const OpSpace *space = inferred_space(inferred, decision->place);
    return arena_printf(policy->arena, "index dim %s of '%s'",
                        space ? space->index[decision->dim].name : "?",
                        op_name(inferred->graph, decision->place));
}

static const char *cut_text(const Policy *policy, const Decision *decision)
{
    Buf text = buf_new(policy->arena);
    cut_format(decision_cut(decision), policy->session->mesh, &text);
    if (decision->store)
        decision_format_store(decision, &text);
    else
        buf_puts(&text, decision->open ? ", open" : "");
    if (decision->priority > 0)
        buf_printf(&text, ", priority %d", decision->priority);
    return text.s;
}

static bool is_equal(const Decision *a, const Decision *b)
{
    return a->kind == b->kind && a->open == b->open && a->store == b->store && a->keep == b->keep &&
           a->priority == b->priority && cut_equal(decision_cut(a), decision_cut(b));
}

static void refuse_other_cut(lua_State *L, const Policy *policy, const Decision *old,
                             const Decision *decision)
{
    sandbox_refuse(L, ERROR_CONFLICT, "pin it once, or graph:unpin it in between",
                   "%s is pinned %s in line %d and %s here", place_text(policy, decision),
                   cut_text(policy, old), old->origin.line, cut_text(policy, decision));
}

static void refuse_axis_twice(lua_State *L, const Policy *policy, const Decision *old,
                              const Decision *decision)
{
    sandbox_refuse(L, ERROR_CONFLICT,
                   "an axis can shard only one dim of a tensor; graph:unpin the other dim first",
                   "%s is pinned %s, but one of its axes shards %s in line %d",
                   place_text(policy, decision), cut_text(policy, decision),
                   place_text(policy, old), old->origin.line);
}

/* ---- tensors as a whole ---- */

static const char *axes_text(const Policy *policy, AtomSet axes)
{
    Buf text = buf_new(policy->arena);
    mesh_format_set(policy->session->mesh, axes, ",", &text);
    return text.s;
}

/* "replicated over dp", "in group 'blocks'" */
static const char *mark_text(const Policy *policy, const Decision *mark)
{
    static const char *const directions[] = {"none", "forward", "backward",
                                             "both"}; /* ORDER PASS */
    if (mark->kind == PIN_GROUP)
        return arena_printf(policy->arena, "tied to group '%s'", mark->group);
    if (mark->kind == PIN_BARRIER)
        return arena_printf(policy->arena, "a barrier \"%s\"", directions[mark->pass]);
    return arena_printf(policy->arena, "%s over %s",
                        mark->kind == PIN_REPLICATED ? "replicated" : "unreduced",
                        axes_text(policy, mark->axes));
}

static bool same_mark(const Decision *a, const Decision *b)
{
    return a->axes == b->axes && a->pass == b->pass &&
           (!a->group || !b->group || strcmp(a->group, b->group) == 0);
}

static void refuse_other_mark(lua_State *L, const Policy *policy, const Decision *old,
                              const Decision *decision)
{
    sandbox_refuse(L, ERROR_CONFLICT, "decide it once, or remove the first with graph:unpin",
                   "%s is %s in line %d and %s here", place_text(policy, decision),
                   mark_text(policy, old), old->origin.line, mark_text(policy, decision));
}

/* One of the two is `old`, the other is decided here. */
static void refuse_barred(lua_State *L, const Policy *policy, const Decision *mark,
                          const Decision *pin, const Decision *old)
{
    Error err = {0};
    if (old == mark)
        error_kind(&err, ERROR_CONFLICT, "%s is pinned %s, but the tensor is %s in line %d",
                   place_text(policy, pin), cut_text(policy, pin), mark_text(policy, mark),
                   old->origin.line);
    else
        error_kind(&err, ERROR_CONFLICT, "%s is %s, but %s is pinned %s in line %d",
                   place_text(policy, mark), mark_text(policy, mark), place_text(policy, pin),
                   cut_text(policy, pin), old->origin.line);
    error_hint(&err,
               "an axis over which a tensor is replicated or unreduced cannot shard a dim of it");
    sandbox_raise(L, &err);
}

/* The axes that a decision keeps from cutting its tensor. */
static AtomSet barred_by(const Decision *decision)
{
    return decision->kind == PIN_REPLICATED || decision->kind == PIN_UNREDUCED ? decision->axes : 0;
}

/* Of two decisions on one tensor, refuses a pin by axes that the other keeps out. */
static void check_barred(lua_State *L, const Policy *policy, const Decision *old,
                         const Decision *decision)
{
    const Decision *pin = decision_pins_dim(old->kind) ? old : decision;
    const Decision *mark = pin == old ? decision : old;
    if (decision_pins_dim(pin->kind) && !pin->store &&
        barred_by(mark) & cut_atoms(decision_cut(pin)))
        refuse_barred(L, policy, mark, pin, old);
}

/* The decision of that kind on the tensor, or NULL; refuses what contradicts it. */
static Pending *find_same_mark(lua_State *L, const Policy *policy, const Decision *decision)
{
    uint64_t hidden = 0; /* dims */
    bool unmarked = false;
    Pending *same = NULL;
    for (int32_t i = *last_of(policy, decision); i >= 0; i = policy->pending.at[i].before) {
        sandbox_spend(L, 1);
        Pending *it = &policy->pending.at[i];
        uint64_t bit = it->decision.dim < 0 ? 0 : (uint64_t)1 << it->decision.dim;
        unmarked |= it->decision.kind == UNPIN_TENSOR;
        if (it->decision.kind == decision->kind && !unmarked && !same)
            same = it;
        else if (decision_pins_dim(it->decision.kind) && !(hidden & bit))
            check_barred(L, policy, &it->decision, decision);
        hidden |= bit;
    }
    return same;
}

/* ---- dims ---- */

/* The last decision on the same dim, or NULL; refuses an axis that another dim's pin uses. Unpins
 * hide what was decided before them. */
static Pending *find_same_dim(lua_State *L, const Policy *policy, const Decision *decision)
{
    AtomSet atoms = decision_pins_dim(decision->kind) ? cut_atoms(decision_cut(decision)) : 0;
    uint64_t hidden = 0; /* dims */
    bool unmarked = false;
    Pending *same = NULL;
    for (int32_t i = *last_of(policy, decision); i >= 0; i = policy->pending.at[i].before) {
        sandbox_spend(L, 1);
        Pending *it = &policy->pending.at[i];
        unmarked |= it->decision.kind == UNPIN_TENSOR;
        if (it->decision.dim < 0) {
            if (!unmarked)
                check_barred(L, policy, &it->decision, decision);
            continue;
        }
        if (decision_pins_dim(it->decision.kind) && decision_pins_dim(decision->kind) &&
            (it->decision.store || decision->store) && !(it->decision.store & decision->store))
            continue;
        uint64_t bit = (uint64_t)1 << it->decision.dim;
        if (it->decision.dim == decision->dim)
            same = same ? same : it;
        else if (decision_pins_dim(it->decision.kind) && !(hidden & bit) &&
                 atoms & cut_atoms(decision_cut(&it->decision)))
            refuse_axis_twice(L, policy, &it->decision, decision);
        hidden |= bit;
    }
    return same;
}

static const Cut *keep_cut(Policy *policy, const Decision *decision)
{
    if (!policy->cuts)
        policy->cuts = intern_new(policy->arena);
    return decision->cut ? cut_keep(policy->cuts, decision->cut) : NULL;
}

static void add(lua_State *L, Policy *policy, const Decision *decision, bool from_partition)
{
    int32_t *last = last_of(policy, decision);
    Pending pending = {*decision, *last, from_partition};
    pending.decision.cut = keep_cut(policy, decision);
    pending.decision.origin = origin_here(L, policy);
    *last = policy->pending.n;
    vec_push(policy->arena, &policy->pending, pending);
}

static void decide_mark(lua_State *L, Policy *policy, const Decision *mark)
{
    Pending *same = find_same_mark(L, policy, mark);
    if (same && !same_mark(&same->decision, mark))
        refuse_other_mark(L, policy, &same->decision, mark);
    if (!same)
        add(L, policy, mark, false);
}

void policy_decide(lua_State *L, Policy *policy, const Decision *decision)
{
    if (decision_marks_tensor(decision->kind)) {
        decide_mark(L, policy, decision);
        return;
    }
    Pending *same = find_same_dim(L, policy, decision);
    if (same && is_equal(&same->decision, decision))
        return;
    if (same && decision_pins_dim(decision->kind) && decision_pins_dim(same->decision.kind))
        refuse_other_cut(L, policy, &same->decision, decision);
    add(L, policy, decision, false);
}

void policy_unmark(lua_State *L, Policy *policy, int32_t tensor)
{
    Decision decision = {.kind = UNPIN_TENSOR, .place = tensor, .dim = -1};
    for (int32_t i = policy->last_of_tensor[tensor]; i >= 0; i = policy->pending.at[i].before) {
        if (policy->pending.at[i].decision.kind == UNPIN_TENSOR)
            return;
        if (!decision_marks_tensor(policy->pending.at[i].decision.kind))
            continue;
        add(L, policy, &decision, false);
        return;
    }
}

void policy_decide_part(lua_State *L, Policy *policy, const Decision *decision)
{
    Pending *same = find_same_dim(L, policy, decision);
    if (same && is_equal(&same->decision, decision))
        return;
    if (same && decision_pins_dim(same->decision.kind) && !same->from_partition)
        refuse_other_cut(L, policy, &same->decision, decision);
    if (!same || !decision_pins_dim(same->decision.kind)) {
        add(L, policy, decision, true);
        return;
    }
    same->decision.cut = keep_cut(policy, decision);
    same->decision.origin = origin_here(L, policy);
}

void policy_forget_parts(Policy *policy, int32_t op)
{
    for (int32_t i = policy->last_of_op[op]; i >= 0; i = policy->pending.at[i].before)
        if (policy->pending.at[i].from_partition)
            policy->pending.at[i].decision.cut = NULL;
}

void policy_add(lua_State *L, Policy *policy, const Decision *decision)
{
    Pending pending = {*decision, -1, false};
    pending.decision.origin = origin_here(L, policy);
    vec_push(policy->arena, &policy->pending, pending);
}

bool pending_is_forgotten(const Pending *pending)
{
    return pending->from_partition && !pending->decision.cut;
}

void policy_each_value(lua_State *L, Policy *policy, int at, ValueFn *visit, void *context)
{
    int top = lua_gettop(L);
    if (!lua_istable(L, at)) {
        visit(L, policy, at, context);
        return;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, at);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, at, i);
        visit(L, policy, top + 1, context);
        lua_settop(L, top);
    }
}

int policy_program_place(Policy *policy, int32_t op)
{
    const Inferred *inferred = policy->session->inferred;
    if (!policy->program_place) {
        policy->program_place = none_of(policy->arena, inferred->graph->n_ops);
        for (int i = 0; i < inferred->n_program; i++)
            policy->program_place[inferred->program[i]] = i;
    }
    return policy->program_place[op];
}

void policy_note(lua_State *L, Policy *policy, Level level, const char *code, const char *text,
                 const char *hint)
{
    Arena *arena = policy->session->journal_arena;
    if (policy->session->notes.n >= NOTES_MAX)
        return;
    Finding finding = {.level = level, .file = policy->file, .op = -1, .tensor = -1};
    finding.code = arena_str(arena, str_from(code));
    finding.text = arena_str(arena, str_from(text));
    finding.hint = arena_str(arena, str_from(hint));
    finding.line = sandbox_line(L);
    vec_push(arena, &policy->session->notes, finding);
}

/* ---- the run ---- */

/* resource.ngpus; its methods; resource.options; resource.mesh: a list of {name=, size=} and
 * mesh.tp = 4. */
void push_resource(lua_State *L, const Mesh *mesh)
{
    lua_newtable(L);
    lua_api_set(L, "resource", LUA_METHODS);
    set_integer(L, "ngpus", mesh->n_devices);
    lua_newtable(L);
    mesh_each_axis (axis, mesh) {
        lua_newtable(L);
        set_string(L, "name", axis->name);
        set_integer(L, "size", axis->size);
        lua_rawseti(L, -2, axis - mesh->axes + 1);
        set_integer(L, axis->name, axis->size);
    }
    lua_setfield(L, -2, "mesh");
    push_options(L);
    lua_setfield(L, -2, "options");
}

static int call_pas(lua_State *L)
{
    Policy *policy = policy_of(L);
    objects_open(L);
    policy->whole = true;
    int type = lua_getglobal(L, "PAS");
    if (type == LUA_TNIL && lua_getglobal(L, "POLICY") == LUA_TFUNCTION) {
        op_plans_run(L, policy);
        return 0;
    }
    if (type == LUA_TNIL && policy->sandbox->registered.n > 0)
        return 0; /* a file of operators */
    if (type != LUA_TFUNCTION)
        return luaL_error(L, "the policy defines no function PAS(graph, resource)");
    lua_Debug at;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &at);
    push_graph(L);
    push_resource(L, policy->session->mesh);
    lua_pushboolean(L, policy->session->train_given || policy->session->options.train);
    lua_setfield(L, -2, "trains");
    lua_pushboolean(L, !policy->session->options.figures_only);
    lua_setfield(L, -2, "notes");
    lua_call(L, 2, 1);
    if (!luaL_testudata(L, -1, graph_type))
        return luaL_error(L, "%s:%d: PAS must return the graph, but returned a %s",
                          policy->sandbox->chunk, at.linedefined, type_shown(L, -1));
    return 0;
}

bool policy_protect(Sandbox *sandbox, Session *session, lua_CFunction body, void *context,
                    Journal *journal, Error *err)
{
    Arena *arena = arena_new();
    const Graph *graph = session->step.graph ? session->step.graph : session->graph;
    Policy policy = {.sandbox = sandbox, .session = session, .arena = arena, .before = journal};
    policy.last_of_tensor = none_of(arena, graph->n_tensors);
    policy.last_of_op = none_of(arena, graph->n_ops);
    policy.parts = arena_array(arena, OpParts *, graph->n_ops);
    policy.file = arena_str(session->journal_arena, str_from(sandbox->source.name));

    if (!sandbox->names)
        sandbox->names = names_new(sandbox->arena);
    sandbox->host = &policy;
    sandbox->progress = session->progress;
    sandbox->grows[0] = arena;
    sandbox->grows[1] = session->journal_arena;
    bool ok = sandbox_protect(sandbox, body, context, err) &&
              sandbox_protect(sandbox, place_finish, NULL, err);
    sandbox->grows[0] = sandbox->grows[1] = NULL;
    sandbox->acting_line = 0;
    sandbox->progress = NULL;
    sandbox->host = NULL;
    for (int i = 0; ok && i < policy.pending.n; i++)
        if (!pending_is_forgotten(&policy.pending.at[i]))
            journal_add(journal, session->journal_arena, &policy.pending.at[i].decision);
    policy_end_trial(&policy);
    arena_free(arena);
    return ok;
}

bool policy_run(Sandbox *sandbox, Session *session, Journal *journal, Error *err)
{
    sandbox_scale(sandbox, session->graph->n_ops);
    sandbox_refill(sandbox);
    return policy_protect(sandbox, session, call_pas, NULL, journal, err);
}
