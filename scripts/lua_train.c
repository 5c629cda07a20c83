/* lua_train.c - what a policy says about training: graph:train and graph:freeze. */
#include "core/step/optimizer.h"
#include "scripts/lua_objects.h"
#include "scripts/lua_place.h"

/* Appends ",KEY=VALUE" for the key below the value at the top of the stack; the optimizer alone. */
static void put_word(lua_State *L, const char *key, Buf *out)
{
    Str value = {0};
    if (lua_type(L, -1) != LUA_TSTRING && lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "'%s' of graph:train must be a text or a number, not a %s", key,
                   type_shown(L, -1));
    value.s = lua_tolstring(L, -1, &value.n);
    if (out->n > 0)
        buf_putc(out, ',');
    if (strcmp(key, "optimizer") != 0)
        buf_printf(out, "%s=", key);
    buf_add(out, value);
}

/* The argument as `--train` has it. */
static const char *read_spec(lua_State *L, Policy *policy)
{
    if (lua_isnoneornil(L, 2))
        return "auto";
    if (lua_type(L, 2) == LUA_TSTRING)
        return lua_tostring(L, 2);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    Buf out = buf_new(policy->arena);
    if (lua_getfield(L, 2, "optimizer") != LUA_TNIL)
        put_word(L, "optimizer", &out);
    lua_settop(L, 2);
    sandbox_push_keys(L, 2);
    for (lua_Integer i = 1; lua_rawgeti(L, 3, i) != LUA_TNIL; i++) {
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "graph:train{optimizer = \"adamw\", clip = 1}: its keys are texts");
        const char *key = lua_tostring(L, -1);
        lua_pushvalue(L, -1);
        lua_rawget(L, 2);
        if (strcmp(key, "optimizer") != 0)
            put_word(L, key, &out);
        lua_settop(L, 3);
    }
    return out.n > 0 ? out.s : "auto";
}

/* A step is part of the model, so that a line of Lua cannot change it. */
static void check_in_policy(lua_State *L, const Session *session, const char *command)
{
    Arena *scratch = arena_new();
    const char *wanted = session_training_wanted(session, scratch), *now = session->options.train;
    bool same = session->in_policy || !wanted || (now && strcmp(wanted, now) == 0);
    arena_free(scratch);
    if (!same)
        sandbox_refuse(L, ERROR_SCRIPT, command,
                       "a policy asks for the training step, a line of Lua cannot");
}

static int graph_train(lua_State *L)
{
    Policy *policy = graph_check(L);
    Session *session = policy->session;
    const char *text = read_spec(L, policy);
    UpdateSpec spec;
    Error err = {0};
    if (!update_spec_read(policy->arena, text, &spec, &err))
        return sandbox_raise(L, &err);
    if (session->training.spec && strcmp(session->training.spec, text) != 0)
        return sandbox_refuse(L, ERROR_CONFLICT, "leave one of the two out",
                              "graph:train asked for '%s' before, and asks for '%s' here",
                              session->training.spec, text);
    session->training.spec = arena_str(session->journal_arena, str_from(text));
    if (session->train_given && strcmp(session->train_given, text) != 0)
        policy_note(L, policy, LEVEL_NOTE, "train-given",
                    arena_printf(policy->arena,
                                 "graph:train asks for '%s', but '%s' of --train or of the plan "
                                 "file holds",
                                 text, session->train_given),
                    "leave --train out to train as the policy says");
    check_in_policy(
        L, session,
        arena_printf(policy->arena, ":train %s, or open it with --train %s", text, text));
    if (session->train_given || session->options.train)
        return 0;
    /* What follows may name gradients: the step is made first, and PAS begins again. */
    return sandbox_refuse(L, ERROR_SCRIPT, "", "PAS begins again on the training step");
}

static void freeze_value(lua_State *L, Policy *policy, int at, void *context)
{
    enum { PATTERN_BYTES_MAX = 1000 };
    Session *session = policy->session;
    const NamedTensor *named = luaL_testudata(L, at, tensor_type);
    const char *before = session->training.frozen ? session->training.frozen : "";
    const char *pattern =
        named ? tensor_name(session->graph, named->tensor) : luaL_checkstring(L, at);
    (void)context;
    if (!*pattern || strlen(pattern) > PATTERN_BYTES_MAX)
        luaL_error(L, "a pattern has 1 to %d characters", PATTERN_BYTES_MAX);
    Str rest = str_from(pattern);
    if (update_spec_word(&rest).n < strlen(pattern))
        luaL_error(L, "a comma in a pattern stands within {}: '%s' is two patterns", pattern);
    session->training.frozen =
        arena_printf(session->journal_arena, "%s,freeze=%s", before, pattern);
}

static int graph_freeze(lua_State *L)
{
    Policy *policy = graph_check(L);
    lua_settop(L, 2);
    policy_each_value(L, policy, 2, freeze_value, NULL);
    check_in_policy(L, policy->session,
                    ":freeze PATTERN, or open it with --train auto,freeze=PATTERN");
    return 0;
}

const LuaEntry train_methods[] = {
    {"train", graph_train, "(spec?: string|table<string, string|number>)",
     "Plans the whole training step, as --train does: graph:train{optimizer = \"adamw\", clip = 1, "
     "precision = \"bf16\", loss = \"auto\"}, or the text of --train. PAS begins again once the "
     "step "
     "is made. It still sees the model alone, but may pin gradients and ops of the step by their "
     "names: graph:shard(\"*.c_fc.weight~grad\", {[0] = \"dp\"}). Where --train is given too, that "
     "holds, with a note. Only in PAS."},
    {"freeze", graph_freeze, "(what: tensor|string|(tensor|string)[])",
     "The parameters that match the pattern do not train: they get no gradient and no update, and "
     "nothing is computed for them alone. A note counts them; a pattern that matches nothing is a "
     "warning with the nearest name. Without a training step it has no effect."},
    {NULL, NULL, NULL, NULL},
};
