/* diff_sessions.h - sessions on tiny-gpt with pins that a text or a number says, to be compared. */
#ifndef TESTS_UNIT_DIFF_SESSIONS_H
#define TESTS_UNIT_DIFF_SESSIONS_H

#include "tests/unit/unit.h"

#include "core/peers/propagators.h"
#include "core/summary/diff_outline.h"

#include <stdio.h>

#define MODEL "samples/models/tiny-gpt.onnx"

/* ---- sessions with pins that a text or a number says ---- */

typedef struct {
    const char *pins; /* "NAME DIM CUT; ..", or CUT later: of priority 1 */
    uint32_t seed;    /* of further pins; 0: none */
} Wanted;

static inline bool round_machine(void *context, Arena *arena, const char *name, Machine *out,
                                 Error *err)
{
    (void)context, (void)arena, (void)err;
    *out = (Machine){.name = name, .source = "made up", .devices_per_node = 8};
    out->memory_bytes = (int64_t)1 << 34;
    out->memory_bytes_per_s = 1e12;
    out->flops_per_s[DT_F32] = 1e13;
    out->launch_us = 1;
    out->inside = out->between =
        (Link){.name = "wire", .latency_us = 1, .bytes_per_s = strcmp(name, "slow") ? 1e11 : 1e9};
    return true;
}

static inline void add_pin(Session *session, Journal *journal, int32_t tensor, int dim,
                           const char *cut)
{
    const Shape *whole = inferred_shape(session->inferred, tensor);
    assert_non_null(whole);
    Shape shape = {.n_dims = 1, .dim = {whole ? whole->dim[dim] : 0}};
    Arena *arena = session->journal_arena;
    Str text = str_from(arena_str(arena, str_from(cut)));
    bool later = str_ends(text, STR(" later"));
    Source source = {"cut", later ? (Str){text.s, text.n - strlen(" later")} : text};
    Sharding sharding;
    Error err = {0};
    if (!sharding_parse(&source, &shape, session->mesh, VIEW_OURS, &sharding, &err))
        fail_msg("%s: %s", cut, err.text);
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim, .cut = &sharding.dim[0]};
    pin.priority = later ? 1 : 0;
    pin.origin = (Origin){ORIGIN_POLICY, "policy.lua", journal->n_done + 1, "graph:shard(..)"};
    journal_add(journal, arena, &pin);
}

static inline void pins_of_text(Session *session, Journal *journal, const char *text)
{
    for (Str rest = str_from(text); rest.n > 0;) {
        Str one = str_trim(str_take(&rest, ';'));
        Str name = str_take(&one, ' '), dim = str_take(&one, ' ');
        int64_t number;
        assert_true(str_to_int(dim, &number));
        int32_t tensor = naming_find(session->naming, name, NULL);
        assert_true(tensor >= 0);
        add_pin(session, journal, tensor, (int)number,
                arena_str(session->journal_arena, str_trim(one)));
    }
}

static inline uint32_t next_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static inline void pins_of_seed(Session *session, Journal *journal, uint32_t seed)
{
    static const char *const axes[] = {"/dp", "/tp", "/dp.tp", "", "/tp:(1)2"};
    enum { PINS = 6 };
    for (int tries = 0; journal->n_done < PINS && tries < 1000; tries++) {
        int32_t tensor = (int32_t)(next_number(&seed) % (uint32_t)session->graph->n_tensors);
        const Shape *shape = inferred_shape(session->inferred, tensor);
        if (!shape || shape->n_dims == 0 || tensor_is_known(session->inferred, tensor))
            continue;
        int dim = (int)(next_number(&seed) % (uint32_t)shape->n_dims);
        char cut[64];
        snprintf(cut, sizeof cut, "%d%s", (int)shape->dim[dim],
                 shape->dim[dim] > 1 ? axes[next_number(&seed) % COUNT_OF(axes)] : "");
        add_pin(session, journal, tensor, dim, cut);
    }
}

static inline bool wanted_pins(void *context, Session *session, const char *policy,
                               Journal *journal, Error *err)
{
    (void)policy, (void)err;
    const Wanted *wanted = context;
    pins_of_text(session, journal, wanted->pins);
    if (wanted->seed)
        pins_of_seed(session, journal, wanted->seed);
    return true;
}

static inline Session *open_with(const Wanted *wanted, SessionOptions options)
{
    Wanted copy = *wanted;
    SessionHooks hooks = {.context = &copy, .machine = round_machine, .policy = wanted_pins};
    Error err = {0};
    options.model = options.model ? options.model : MODEL;
    options.mesh = options.mesh ? options.mesh : "dp=2,tp=4";
    options.policy = "pins";
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static inline Session *open_pins(const char *pins)
{
    Wanted wanted = {pins, 0};
    return open_with(&wanted, (SessionOptions){0});
}

static inline Session *open_seed(uint32_t seed)
{
    Wanted wanted = {"", seed};
    return open_with(&wanted, (SessionOptions){0});
}

static inline bool is_listed(const DiffList *list, int side, int32_t id)
{
    bool found = false;
    for (int i = 0; i < list->n_entries; i++)
        found |= list->entries[i].id[side] == id;
    return found;
}

#define FC(layer) "transformer.h." layer ".mlp.c_fc.weight 1 256/tp"

#endif
