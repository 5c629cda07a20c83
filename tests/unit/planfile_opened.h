/* planfile_opened.h - a session on tiny-gpt with one decision of every form, and plan files beside
 * it. */
#ifndef TESTS_UNIT_PLANFILE_OPENED_H
#define TESTS_UNIT_PLANFILE_OPENED_H

#include "tests/unit/unit.h"

#include "core/session/planfile.h"

#include <stdlib.h>
#include <unistd.h>

#define MODEL "samples/models/tiny-gpt.onnx"
enum { N_DECISIONS = 14 };                       /* of pins_of_all_kinds() */
#define WEIGHT "transformer.h.0.mlp.c_fc.weight" /* [64, 256] */

/* ---- hooks in the place of scripts: a machine of round numbers, and a policy of pins ---- */

static inline bool round_machine(void *context, Arena *arena, const char *name, Machine *out,
                                 Error *err)
{
    (void)context, (void)arena, (void)name, (void)err;
    *out = (Machine){.name = "round", .source = "made up", .devices_per_node = 8};
    out->memory_bytes = (int64_t)1 << 34;
    out->memory_bytes_per_s = 1e12;
    out->flops_per_s[DT_F32] = 1e13;
    out->launch_us = 1;
    out->inside = out->between = (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    return true;
}

static inline Decision pin(Session *session, const char *tensor, int dim, const char *cut)
{
    Error err = {0};
    Decision decision = {.kind = PIN_TENSOR_DIM, .dim = dim};
    decision.place = naming_find(session->naming, str_from(tensor), &err);
    assert_true(decision.place >= 0);
    Shape shape = {.n_dims = 1,
                   .dim = {inferred_shape(session->inferred, decision.place)->dim[dim]}};
    Source source = {"cut", str_from(cut)};
    Sharding sharding;
    assert_true(sharding_parse(&source, &shape, session->mesh, VIEW_OURS, &sharding, &err));
    decision.cut = cut_keep(intern_new(session->journal_arena), &sharding.dim[0]);
    decision.origin = (Origin){ORIGIN_POLICY, "policy.lua", 7, "graph:shard(..)"};
    return decision;
}

/* Adds a decision about a tensor as a whole. */
static inline void mark(Session *session, Journal *journal, const char *tensor, Decision decision)
{
    Error err = {0};
    decision.place = naming_find(session->naming, str_from(tensor), &err);
    assert_true(decision.place >= 0);
    decision.dim = -1;
    decision.origin = (Origin){ORIGIN_POLICY, "policy.lua", 9, "graph:replicated(..)"};
    journal_add(journal, session->journal_arena, &decision);
}

/* One decision of every form. */
static inline bool pins_of_all_kinds(void *context, Session *session, const char *policy,
                                     Journal *journal, Error *err)
{
    (void)context, (void)policy, (void)err;
    Arena *arena = session->journal_arena;
    Decision decisions[] = {
        pin(session, "input_ids", 0, "2/dp"),
        pin(session, WEIGHT, 1, "256/tp"),
        pin(session, "transformer.h.0.attn.c_attn.weight", 1, "(3)(64/tp)"),
        pin(session, "transformer.wpe.weight", 0, "64/tp:(1)2"),
        pin(session, "transformer.h.1.mlp.c_fc.weight", 0, "64/tp"),
    };
    decisions[3].store = STORED_ALL;
    decisions[4].open = true;
    decisions[4].priority = 3;
    for (size_t i = 0; i < COUNT_OF(decisions); i++)
        journal_add(journal, arena, &decisions[i]);
    Decision index = {.kind = PIN_INDEX_DIM, .origin = {ORIGIN_USER, "", 0, "p k tp"}};
    index.place = graph_find_op(session->graph, STR("/transformer/h.1/mlp/c_proj/Gemm"));
    index.dim = opspace_find_index(inferred_space(session->inferred, index.place), STR("k"));
    index.cut = decisions[1].cut;
    journal_add(journal, arena, &index);
    Decision unpin = {.kind = UNPIN_TENSOR_DIM, .place = decisions[1].place, .dim = 1};
    unpin.origin = (Origin){ORIGIN_SEARCH, "", 0, "tried"};
    journal_add(journal, arena, &unpin);
    mark(session, journal, WEIGHT, (Decision){.kind = PIN_REPLICATED, .axes = 3});
    mark(session, journal, "transformer.h.0.mlp.c_proj.out",
         (Decision){.kind = PIN_UNREDUCED, .axes = 2});
    mark(session, journal, WEIGHT, (Decision){.kind = PIN_GROUP, .group = "fc"});
    mark(session, journal, "transformer.h.1.mlp.c_fc.weight",
         (Decision){.kind = PIN_GROUP, .group = "fc"});
    mark(session, journal, "input_ids", (Decision){.kind = PIN_BARRIER, .pass = PASS_FORWARD});
    mark(session, journal, WEIGHT, (Decision){.kind = UNPIN_TENSOR});
    Decision assumed = {.kind = PIN_ASSUMED, .pattern = "*.c_proj.out", .axes = 1};
    assumed.assumed = ASSUMED_DRAWN_ALIKE;
    assumed.origin = (Origin){ORIGIN_USER, "", 0, "assumed"};
    journal_add(journal, arena, &assumed);
    return true;
}

typedef struct {
    Arena *arena;
    char folder[40];
    Session *session;
    Error err;
} Fixture;

static const SessionHooks hooks = {.machine = round_machine, .policy = pins_of_all_kinds};

static inline SessionOptions options_for(Arena *arena, const char *model, const char *policy)
{
    SessionOptions options = {.model = model, .mesh = "dp=2,tp=4", .policy = policy};
    vec_push(arena, &options.dims, (DimBinding){STR("batch"), 2});
    vec_push(arena, &options.dims, (DimBinding){STR("seq"), 16});
    return options;
}

static inline int set_up(void **state)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    *f = (Fixture){.arena = arena, .folder = "/tmp/dimscope_planfile_XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    SessionOptions options = options_for(arena, MODEL, "megatron");
    f->session = session_open(&options, &hooks, &f->err);
    if (!f->session)
        fail_msg("%s", f->err.text);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    session_close(f->session);
    rmdir(f->folder);
    arena_free(f->arena);
    return 0;
}

static inline const char *in_folder(Fixture *f, const char *name)
{
    return path_join(f->arena, f->folder, name);
}

static inline const char *contents(Arena *arena, const char *path)
{
    Source source;
    assert_true(file_read(arena, path, 1 << 24, &source, NULL));
    return source.text.s;
}

/* A file of that text, opened as a plan; NULL with f->err. */
static inline Session *open_text(Fixture *f, const char *text, SessionOptions options)
{
    options.model = in_folder(f, "text.json");
    assert_true(file_write(options.model, str_from(text), NULL));
    f->err = (Error){0};
    Session *session = session_open(&options, &hooks, &f->err);
    unlink(options.model);
    return session;
}

static inline const char *decisions_text(Arena *arena, const char *decisions)
{
    char model[4096];
    assert_non_null(realpath(MODEL, model));
    return arena_printf(arena,
                        "{\"dimscope_plan\":2,\"model\":\"%s\",\"dims\":{\"batch\":2,\"seq\":16},"
                        "\"mesh\":\"dp=2,tp=4\",\n\"decisions\":[%s]}",
                        model, decisions);
}

static inline const Finding *find_code(const Session *session, const char *code)
{
    for (int i = 0; session && i < session->plan->findings.n; i++)
        if (strcmp(session->plan->findings.at[i].code, code) == 0)
            return &session->plan->findings.at[i];
    return NULL;
}

static inline const char *cut_of(Arena *arena, const Session *session, const char *tensor, int dim)
{
    Error err = {0};
    int32_t t = naming_find(session->naming, str_from(tensor), &err);
    assert_true(t >= 0);
    Buf out = buf_new(arena);
    cut_format(&plan_sharding(session->plan, t)->dim[dim], session->mesh, &out);
    return out.s;
}

#endif
