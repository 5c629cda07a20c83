/* lua_assume.c - the method of the graph that plans what a framework believes of values. */
#include "core/plan/assume.h"
#include "scripts/lua_cut.h"
#include "scripts/lua_objects.h"

/* The pattern is matched when the plan is made, with the names of that plan's training step. */
static int graph_assume(lua_State *L)
{
    Policy *policy = graph_check(L);
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    Error err = {0};
    Str pattern = {0};
    lua_settop(L, 4);
    pattern.s = luaL_checklstring(L, 2, &pattern.n);
    luaL_argcheck(L, pattern.n > 0 && strlen(pattern.s) == pattern.n, 2, "a pattern is needed");
    const char *as = luaL_checkstring(L, 3);
    Decision decision = {.kind = PIN_ASSUMED, .dim = -1};
    if (!assumed_parse(str_from(as), &decision.assumed))
        sandbox_refuse(
            L, ERROR_INVALID,
            "a value is \"reduced\", \"partial\" or \"mean\"; what an op draws is \"drawn by "
            "rank\" or \"drawn alike\"",
            "no value can be assumed to be '%.40s'", as);
    if (!cut_axes_read(L, 4, policy->session->mesh, atom, &n, &err) ||
        (n == 0 && !error_set(&err, "no axis is given: write for example {\"dp\"}")))
        sandbox_raise(L, &err);
    for (int i = 0; i < n; i++)
        decision.axes |= (AtomSet)1 << atom[i];
    decision.pattern = arena_str(policy->session->journal_arena, pattern);
    policy_add(L, policy, &decision);
    return 0;
}

const LuaEntry assume_methods[] = {
    {"assume", graph_assume,
     "(pattern: string, as: \"reduced\"|\"partial\"|\"mean\"|\"drawn by rank\"|\"drawn alike\", "
     "axes: "
     "axes)",
     "The plan takes the values that match to be reduced, partial or partial with a mean over the "
     "axes, whatever their ops make: a convention of a framework, which may be wrong. What ops "
     "such "
     "as Dropout draw is drawn by rank if ranks along the axes draw other numbers, drawn alike if "
     "each draws the same numbers for its shard; otherwise by the place in the whole. check "
     "rejects "
     "an assumption that contradicts the ops. With --train, T~grad is the gradient of T. A pattern "
     "that matches no value of an op is a warning."},
    {NULL, NULL, NULL, NULL},
};
