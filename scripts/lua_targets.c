/* lua_targets.c - tensors and ops that an argument names. */
#include "scripts/lua_targets.h"

#include "scripts/lua_objects.h"

/* The text after the last special character of a glob; names that do not end so are skipped. */
static Str literal_tail(Str pattern)
{
    size_t at = pattern.n;
    while (at > 0 && !strchr("*?{},", pattern.s[at - 1]))
        at--;
    return (Str){pattern.s + at, pattern.n - at};
}

/* What a training step makes of "PATH.weight" has that name with "~grad" or so behind it. */
static Str derived_tail(const Session *session, Str pattern)
{
    size_t tilde = pattern.n;
    while (tilde > 0 && pattern.s[tilde - 1] != '~')
        tilde--;
    return tilde == 0 || !session->inferred->forward
               ? STR("")
               : (Str){pattern.s + tilde - 1, pattern.n - tilde + 1};
}

int targets_match(lua_State *L, Policy *policy, Str pattern, TargetVisit *visit, void *context)
{
    enum { NAMES_PER_INSTRUCTION = 2, GLOB_INSTRUCTIONS = 50, GLOB_STEPS = 32 };
    const Session *session = policy->session;
    Str tail = literal_tail(pattern);
    NameWalk walk = names_walk(policy->arena, session->inferred, session->naming);
    walk.derived = derived_tail(session, pattern);
    int n = 0;
    sandbox_spend(L, names_count_all(session->inferred, session->naming) / NAMES_PER_INSTRUCTION);
    while (names_next(&walk, tail)) {
        NamedTensor named;
        sandbox_spend(L, GLOB_INSTRUCTIONS + (int64_t)(pattern.n * walk.name.n / GLOB_STEPS));
        if (!str_glob(pattern, walk.name) || !names_take(&walk, policy->sandbox->names, &named))
            continue;
        visit(L, policy, &(Target){&named, -1}, context);
        n++;
    }
    return n;
}

/* Visits the ops of a training step, behind its forward pass, that match; returns their number. */
static int each_matching_op(lua_State *L, Policy *policy, Str pattern, TargetVisit *visit,
                            void *context)
{
    const Inferred *inferred = policy->session->inferred;
    int n = 0;
    int p = inferred->forward ? inferred->forward->n_program : inferred->n_program;
    sandbox_spend(L, inferred->n_program - p);
    for (; p < inferred->n_program; p++) {
        int32_t op = inferred->program[p];
        if (!str_glob(pattern, str_from(op_name(inferred->graph, op))))
            continue;
        visit(L, policy, &(Target){NULL, op}, context);
        n++;
    }
    return n;
}

Str target_pattern(lua_State *L, int at)
{
    enum { NAME_BYTES_MAX = 1 << 14 };
    Str pattern = {0};
    pattern.s = luaL_checklstring(L, at, &pattern.n);
    if (pattern.n > NAME_BYTES_MAX)
        luaL_error(L, "a name or pattern can have at most %d characters", NAME_BYTES_MAX);
    return pattern;
}

/* The name nearest to the pattern; of a pattern that is like none, the names that the model is fed
 * by, as in a policy for another model. */
static const char *names_hint(Policy *policy, Str pattern)
{
    enum { SHOWN = 4 };
    const Session *session = policy->session;
    const Graph *graph = session->graph;
    const char *nearest = names_nearest(policy->arena, session->inferred, session->naming, pattern);
    if (nearest)
        return arena_printf(policy->arena, "nearest: '%s'", nearest);
    Buf hint = buf_new(policy->arena);
    buf_puts(&hint, graph->n_inputs > 0 ? "the model's inputs are " : "");
    for (int i = 0; i < graph->n_inputs && i < SHOWN; i++)
        buf_printf(&hint, "%s'%s'", i > 0 ? ", " : "", tensor_name(graph, graph->inputs[i]));
    buf_puts(&hint, graph->n_inputs > SHOWN ? ", .." : "");
    return hint.s;
}

static void note_no_match(lua_State *L, Policy *policy, Str pattern)
{
    enum { SHOWN_BYTES_MAX = 200 };
    Buf text = buf_new(policy->arena);
    buf_puts(&text, "pattern '");
    text_printable((Str){pattern.s, pattern.n < SHOWN_BYTES_MAX ? pattern.n : SHOWN_BYTES_MAX},
                   &text);
    buf_puts(&text, pattern.n > SHOWN_BYTES_MAX ? "..' matches no tensor" : "' matches no tensor");
    policy_note(L, policy, LEVEL_WARNING, "pattern-matched-nothing", text.s,
                names_hint(policy, pattern));
}

bool target_read(lua_State *L, int at, Target *target)
{
    NodeRef node;
    bool is_node = node_read(L, at, &node);
    target->named = luaL_testudata(L, at, tensor_type);
    target->op = is_node ? node.op : -1;
    return is_node || target->named;
}

/* Patterns leave out constants: one is meant only by its own name. */
static bool visit_constant(lua_State *L, Policy *policy, Str name, TargetVisit *visit,
                           void *context)
{
    const Inferred *inferred = policy->session->inferred;
    int32_t tensor = graph_find_tensor(inferred->graph, name);
    if (tensor < 0 || !inferred_shape(inferred, tensor))
        return false;
    visit(L, policy,
          &(Target){&(NamedTensor){tensor_name(inferred->graph, tensor), tensor, -1}, -1}, context);
    return true;
}

/* Names in the model that the session shows now. */
typedef struct {
    Policy *policy;
    Str name;
    bool exact;
    TargetVisit *visit;
    void *context;
} NameVisit;

static void visit_names(lua_State *L, const NameVisit *n)
{
    Policy *policy = n->policy;
    const Session *session = policy->session;
    NamedTensor named;
    Error err = {0};
    int32_t op = session->inferred->forward ? graph_find_op(session->graph, n->name) : -1;
    if (n->exact && op >= 0 && graph_find_tensor(session->graph, n->name) < 0)
        n->visit(L, policy, &(Target){NULL, op}, n->context);
    else if (n->exact && !tensor_by_name(policy->arena, session->inferred, session->naming, n->name,
                                         &named, &err))
        sandbox_raise(L, &err);
    else if (n->exact)
        n->visit(L, policy, &(Target){&named, -1}, n->context);
    else if (targets_match(L, policy, n->name, n->visit, n->context) == 0 &&
             each_matching_op(L, policy, n->name, n->visit, n->context) == 0 &&
             !visit_constant(L, policy, n->name, n->visit, n->context))
        note_no_match(L, policy, n->name);
}

static int visit_step(lua_State *L)
{
    const NameVisit *visit = lua_touserdata(L, 4);
    lua_settop(L, 3);
    visit_names(L, visit);
    return 0;
}

/* "x~grad", or "loss" where only the training step has it. */
static bool is_of_step(const Session *session, Str name)
{
    const Graph *model = session->graph, *step = session->step.graph;
    if (!step || str_find(name, STR("~")) >= 0)
        return step != NULL;
    return (graph_find_tensor(step, name) >= 0 || graph_find_op(step, name) >= 0) &&
           graph_find_tensor(model, name) < 0 && graph_find_op(model, name) < 0;
}

/* Visits the tensor of that exact name, or those that match; no match is a note then. A policy sees
 * the model; names of its training step are visited while that is shown. */
void targets_named(lua_State *L, Policy *policy, int at, bool exact, TargetVisit *visit,
                   void *context)
{
    Session *session = policy->session;
    NameVisit names = {policy, target_pattern(L, at), exact, visit, context};
    if (!is_of_step(session, names.name)) {
        visit_names(L, &names);
        return;
    }
    enum { VALUES_PUSHED = 5 };
    luaL_checkstack(L, VALUES_PUSHED, NULL);
    int top = lua_gettop(L);
    lua_pushcfunction(L, visit_step);
    for (int i = 1; i <= 3; i++) /* the arguments, which visitors read */
        lua_pushvalue(L, i <= top ? i : top);
    lua_pushlightuserdata(L, &names);
    SessionModel model = session_show(session, session->step);
    int status = lua_pcall(L, 4, 0, 0);
    session_show(session, model);
    if (status != LUA_OK)
        lua_error(L);
}
