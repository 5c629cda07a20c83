/* fuzz_decisions.c - any journal of decisions on small models, by every propagator: a plan is made,
 * is the same whether made edit by edit or at once, answers every question, and, where it is legal,
 * computes on simulated ranks what one device does.
 *
 * Bytes of the input, in order: how large the model is, model, mesh, propagator, what is
 * checked, then decisions until they run out.
 */
#include "core/peers/propagators.h"
#include "core/model/onnx.h"
#include "core/summary/diff.h"
#include "core/explain/events.h"
#include "core/session/planfile.h"
#include "core/explain/why_not.h"
#include "core/run/run.h"
#include "core/session/make.h"
#include "tests/fuzz/pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), abort())
#include "tests/unit/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { DECISIONS_MAX = 8 };

/* A text of graph_text.h, or the path of a file. */
static const struct {
    const char *model, *dims;
} models[] = {
    {"y <- MatMul f32[8,4] f32[4,6]!; z <- Add y f32[6]!", ""},
    {"h <- MatMul f32[4,12] f32[12,12]!; r <- Reshape h i64[3]{4,3,4}; y <- Relu r", ""},
    {"a <- Transpose f32[6,4] perm=[1,0]; b <- ReduceSum a axes=[1]; c <- Softmax f32[6,4] axis=1",
     ""},
    {"e <- Gather f32[12,8]! i64[3,5] axis=0; q r <- Split e axis=2; y <- Mul q r", ""},
    {"c <- Conv f32[2,6,9,8] f32[12,3,3,3]! f32[12]! group=2 pads=[1,1,1,1]; f <- Flatten c axis=1",
     ""},
    {"m <- ReduceMax f32[6,12] axes=[1]; s <- Sub f32[6,12] m; e <- Exp s", ""},
    {"h <- MatMul f32[6,10,8] f32[8,12]!; m <- ReduceMax h axes=[1]; s <- Sub h m; e <- Exp s; "
     "a <- ReduceMean e axes=[0,2]; n <- ReduceMin h axes=[1,2]; p <- ReduceProd e axes=[0]; "
     "b <- Add a n; d <- Mul b m; u <- Sub s f32[]{5}; i <- Cast u to=6; "
     "j <- ReduceMax i axes=[1] keepdims=0; k <- Neg i; l <- ReduceMin k axes=[0,1]",
     ""},
    {"h <- MatMul f32[4,6,24] f32[24,72]!; q k v <- Split h axis=2; "
     "qh <- Reshape q i64[4]{4,6,4,6}; kh <- Reshape k i64[4]{4,6,4,6}; "
     "vh <- Reshape v i64[4]{4,6,4,6}; qt <- Transpose qh perm=[0,2,1,3]; "
     "kt <- Transpose kh perm=[0,2,3,1]; vt <- Transpose vh perm=[0,2,1,3]; "
     "s <- MatMul qt kt; p <- Softmax s axis=3; o <- MatMul p vt; "
     "ot <- Transpose o perm=[0,2,1,3]; om <- Reshape ot i64[3]{4,6,24}; "
     "y <- MatMul om f32[24,24]!; z <- Add y f32[24]!",
     ""},
    {"c <- Conv f32[2,6,9,8] f32[12,3,3,3]! f32[12]! group=2 pads=[1,1,1,1]; r <- Relu c; "
     "p <- MaxPool r kernel_shape=[2,2] strides=[2,2]; g <- GlobalAveragePool r; "
     "m <- Mul r g; f <- Flatten p axis=1; y <- Gemm f f32[10,192]! f32[10]! transB=1; "
     "a <- AveragePool r kernel_shape=[3,3] strides=[2,1] pads=[1,1,1,1]",
     ""},
    {"e <- Gather f32[12,8]! i64[3,5] axis=0; c <- Concat e e axis=1; "
     "s <- Slice c i64[2]{1,2} i64[2]{9,8} i64[2]{1,2}; "
     "t u <- TopK s i64[1]{3} axis=1; w <- Transpose t perm=[2,1,0]; x <- Neg w; "
     "k <- CumSum c i64[]{1}; p <- Pad e i64[6]{0,1,0,0,1,2}; "
     "v <- Expand x i64[4]{2,1,1,1}; q <- Squeeze v; l <- LayerNormalization c f32[8]! f32[8]!",
     ""},
    {"h <- MatMul f32[8,6] f32[6,12]!; i <- Identity h; n <- Mul h f32[]{3}; a <- Add i n; "
     "b <- Mul a f32[]{2}; r <- Reshape b i64[3]{8,3,4}; t <- Transpose r perm=[2,0,1]; "
     "g <- Reshape t i64[2]{4,24}; y <- MatMul g f32[24,5]!; s <- Sub h b; d <- Div s f32[]{4}; "
     "z <- ReduceSum d axes=[0]; o <- MatMul d f32[12,6]!; p <- Add o f32[6]!",
     ""},
    {"a <- Add f32[0,4] f32[4]; b <- MatMul a f32[4,6]!; c <- Reshape f32[1,1,7] i64[1]{7}; "
     "d <- Neg c; e <- ReduceSum b axes=[1]; f <- Mul f32[1] d; g <- Expand f i64[2]{3,7}",
     ""},
    {"i <- MatMul f32[8,4] f32[4,6]!; t <- Transpose f32[6,4]! perm=[1,0]; j <- MatMul f32[8,4] t; "
     "k <- Add i j; l <- Einsum k f32[6,3,2]! equation=\"ab,bcd->acd\"; m <- Where bool[8,3,2] l "
     "l; "
     "n <- Max m l; o <- Flatten n axis=1; p <- Concat o k axis=1; q r <- Split p axis=1; "
     "s <- Sum q r q",
     ""},
    {"tests/fuzz/corpus/infer/loop.onnx", ""},
    {"tests/fuzz/corpus/infer/scan.onnx", ""},
    {"tests/fuzz/corpus/infer/if.onnx", ""},
    {"samples/models/tiny-gpt.onnx", "batch=2,seq=6"},
    {"samples/models/llama-tiny.onnx", "batch=3,seq=4"},
    {"samples/models/tiny-conv.onnx", ""},
};
enum {
    MODEL_COUNT = sizeof models / sizeof *models,
    MODELS_TINY = 6,
    MODELS_SMALL = MODEL_COUNT - 3
};

static const Propagator *const propagators[] = {
    &propagator_explain,      &propagator_explain,     &propagator_explain, &propagator_shardy,
    &propagator_shardy_basic, &propagator_shardy_both, &propagator_spmd,    &propagator_spmd,
    &propagator_torch,        &propagator_vescale};
enum { PROPAGATOR_COUNT = sizeof propagators / sizeof *propagators };

static const char *const meshes[] = {"dp=2,tp=4", "dp=3,tp=2",   "x=1",           "dp=2,tp=2",
                                     "tp=6",      "a=2,b=2,c=2", "dp=5,tp=2,e=1", "x=4,y=3"};
enum { MESH_COUNT = sizeof meshes / sizeof *meshes };

typedef struct {
    const uint8_t *at;
    size_t n;
} Bytes;

static int pick(Bytes *from, int n)
{
    if (from->n == 0 || n <= 1)
        return 0;
    from->n--;
    return *from->at++ % n;
}

static bool round_machine(void *context, Arena *arena, const char *name, Machine *out, Error *err)
{
    (void)context, (void)arena, (void)name, (void)err;
    *out = (Machine){.name = "round", .devices_per_node = 4, .memory_bytes = 1 << 30};
    out->memory_bytes_per_s = 1e12;
    for (int i = 0; i < DT_COUNT; i++)
        out->flops_per_s[i] = 4e12;
    out->inside = (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    out->between = (Link){.name = "net", .latency_us = 5, .bytes_per_s = 1e10};
    return true;
}

static void die(const char *what, const Error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

/* Graphs are made once, and never freed. */
static Graph *model_graph(int i)
{
    static Graph *made[MODEL_COUNT];
    static FileMap map[MODEL_COUNT];
    Error err = {0};
    if (!made[i])
        made[i] = strstr(models[i].model, "<-")
                      ? graph_from_text(arena_new(), models[i].model, 13)
                      : onnx_open(arena_new(), models[i].model, &map[i], &err);
    if (!made[i])
        die(models[i].model, &err);
    return made[i];
}

/* Read once too: a session keeps what it is given. */
static DimBindings model_dims(int i)
{
    static DimBindings read[MODEL_COUNT];
    static Arena *arena;
    Source source = {.name = "dims", .text = str_from(models[i].dims)};
    Error err = {0};
    if (!arena)
        arena = arena_new();
    if (read[i].n == 0 && source.text.n > 0 && !dims_parse(arena, &source, &read[i], &err))
        die("dims", &err);
    return read[i];
}

static Session *open_session(int model, const char *mesh, const Propagator *propagator)
{
    static const SessionHooks hooks = {.machine = round_machine};
    SessionOptions options = {.mesh = mesh, .propagator = propagator, .propagator_given = true};
    Error err = {0};
    options.dims = model_dims(model);
    Session *session = session_open_graph(model_graph(model), &options, &hooks, &err);
    if (!session)
        die(models[model].model, &err);
    return session;
}

/* ---- decisions ---- */

/* Some atoms that are not used yet, in any order. */
static int some_atoms(Bytes *from, const Mesh *mesh, AtomSet *used, uint8_t *atom)
{
    int n = 0;
    for (int want = pick(from, 4); want > 0 && mesh->n_atoms > 0; want--) {
        int a = pick(from, mesh->n_atoms);
        if (!(*used >> a & 1))
            atom[n++] = (uint8_t)a;
        *used |= 1u << a;
    }
    return n;
}

static Cut some_cut(Bytes *from, const Mesh *mesh, int64_t size)
{
    static const int64_t some_parts[] = {1, 1, 1, 2, 3, 4, 6, 12};
    int64_t parts = some_parts[pick(from, 8)];
    AtomSet used = 0;
    uint8_t atom[ATOMS_MAX];
    if (size % parts != 0)
        parts = 1;
    Cut major = cut_whole(parts), minor, cut;
    if (parts > 1)
        major = cut_by(parts, atom, some_atoms(from, mesh, &used, atom), mesh);
    minor = cut_by(size / parts, atom, some_atoms(from, mesh, &used, atom), mesh);
    const Cut *both[2] = {&major, &minor};
    return cut_concat(both, 2, mesh, &cut) ? cut : cut_whole(size);
}

static int64_t choose_place(Bytes *from, const Session *session, Decision *decision)
{
    const Inferred *inferred = session->inferred;
    if (decision_is_on_tensor(decision->kind)) {
        decision->place = pick(from, session->graph->n_tensors);
        const Shape *shape = inferred_shape(inferred, decision->place);
        if (decision_marks_tensor(decision->kind) || decision->kind == UNPIN_TENSOR)
            return decision->dim = -1;
        decision->dim = pick(from, shape ? (int)shape->n_dims : 0);
        return shape && shape->n_dims ? shape->dim[decision->dim] : -1;
    }
    decision->place = inferred->n_program ? inferred->program[pick(from, inferred->n_program)] : 0;
    const OpSpace *space = inferred_space(inferred, decision->place);
    decision->dim = pick(from, space ? space->n_index : 0);
    return space && space->n_index ? space->index[decision->dim].size : -1;
}

/* Of ops in a row: on any part of the mesh, anywhere. */
static Decision some_stages(Bytes *from, const Session *session)
{
    static const DecisionKind kinds[] = {PIN_STAGE,     PIN_DEVICES,  PIN_DEVICES,
                                         PIN_RECOMPUTE, PIN_SCHEDULE, PIN_ASSUMED};
    static const char *const schedules[] = {"1f1b",    "gpipe",    "infer_pipe", "1f1b_interleaved",
                                            "0f0 1f0", "none such"};
    static const char *const patterns[] = {"*", "*.out", "none such"};
    const Inferred *inferred = session->inferred;
    const Mesh *mesh = session->mesh;
    Decision decision = {.kind = kinds[pick(from, 6)]};
    int first = pick(from, inferred->n_program), n = pick(from, inferred->n_program);
    int last = first + n < inferred->n_program ? first + n : inferred->n_program - 1;
    decision.place = inferred->program[first];
    decision.last = inferred->program[last];
    decision.relay = pick(from, 2);
    decision.number = 1 + pick(from, 6);
    decision.schedule = schedules[pick(from, 6)];
    decision.pattern = patterns[pick(from, 3)];
    decision.assumed = (Assumed)pick(from, ASSUMED_COUNT);
    decision.axes = ((AtomSet)1 << mesh->n_atoms) - 1;
    decision.devices.fixed = (AtomSet)pick(from, 256) & ((1u << mesh->n_atoms) - 1);
    for (int a = 0; a < mesh->n_atoms; a++)
        if (decision.devices.fixed >> a & 1)
            decision.devices.first +=
                (int32_t)(pick(from, (int)mesh->atoms[a].size) * mesh->atoms[a].stride);
    decision.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    return decision;
}

static Decision some_decision(Bytes *from, const Session *session)
{
    if (session->inferred->n_program > 0 && pick(from, 5) == 0)
        return some_stages(from, session);
    static const DecisionKind kinds[] = {
        PIN_TENSOR_DIM, PIN_TENSOR_DIM, PIN_TENSOR_DIM, PIN_TENSOR_DIM,   PIN_TENSOR_DIM,
        PIN_INDEX_DIM,  PIN_INDEX_DIM,  PIN_INDEX_DIM,  UNPIN_TENSOR_DIM, UNPIN_INDEX_DIM,
        PIN_REPLICATED, PIN_UNREDUCED,  PIN_GROUP,      PIN_BARRIER,      UNPIN_TENSOR};
    Decision decision = {.kind = kinds[pick(from, sizeof kinds / sizeof *kinds)]};
    int64_t size = choose_place(from, session, &decision);
    int flags = pick(from, 256);
    if (decision_pins_dim(decision.kind)) {
        decision.open = flags & 1;
        decision.store = (flags & 6) == 6 ? (uint8_t)(flags >> 5) : STORED_NONE;
        decision.priority = (flags & 24) == 24 ? flags >> 5 : 0;
        Cut cut = some_cut(from, session->mesh, size < 0 ? 1 : size);
        decision.cut = cut_keep(intern_new(session->journal_arena), &cut);
    }
    if (decision.kind == PIN_REPLICATED || decision.kind == PIN_UNREDUCED)
        decision.axes = (AtomSet)pick(from, 256) & ((1u << session->mesh->n_atoms) - 1);
    if (decision.kind == PIN_UNREDUCED && decision.axes == 0)
        decision.kind = PIN_BARRIER;
    if (decision.kind == PIN_REPLICATED && decision.axes == 0)
        decision.kind = UNPIN_TENSOR;
    decision.group = decision.kind == PIN_GROUP ? (flags & 128 ? "g" : "h") : "";
    if (decision.kind == PIN_BARRIER)
        decision.pass = (Pass)((flags >> 5) % PASS_BOTH);
    decision.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    return decision;
}

/* ---- what must hold ---- */

static void wrong(const char *what, const Plan *plan, int32_t tensor, int32_t op)
{
    fprintf(stderr, "WRONG %s: %s\n", what,
            tensor >= 0 ? tensor_name(plan->inferred->graph, tensor)
            : op >= 0   ? op_name(plan->inferred->graph, op)
                        : "");
    abort();
}

static bool same_sharding(const Plan *a, int32_t x, const Plan *b, int32_t y)
{
    if (x < 0 || y < 0)
        return x == y;
    return memcmp(shardings_at(a->shardings, x), shardings_at(b->shardings, y), sizeof(Sharding)) ==
           0;
}

static bool same_cuts(const OpCut *a, const OpCut *b)
{
    bool same = (a == NULL) == (b == NULL) && (!a || a->n == b->n);
    for (int i = 0; a && same && i < a->n; i++)
        same = cut_equal(&a->index[i], &b->index[i]);
    return same;
}

static void check_same(const Plan *a, const Plan *b, int n_notes)
{
    const Graph *graph = a->inferred->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (!same_sharding(a, a->moved->sharding[t], b, b->moved->sharding[t]) ||
            !same_sharding(a, a->moved->made[t], b, b->moved->made[t]))
            wrong("tensor of a plan made anew", a, t, -1);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (!same_cuts(plan_cut(a, op), plan_cut(b, op)))
            wrong("cut of a plan made anew", a, -1, op);
        for (int32_t i = 0; i < graph->ops[op].n_inputs; i++)
            if (!same_sharding(a, a->moved->need[graph->ops[op].input + i], b,
                               b->moved->need[graph->ops[op].input + i]))
                wrong("need of a plan made anew", a, -1, op);
    }
    if (a->findings.n != b->findings.n + n_notes)
        wrong("findings of a plan made anew", a, -1, -1);
    if (a->moved->n_reshards != b->moved->n_reshards ||
        a->priced->totals.step_us != b->priced->totals.step_us ||
        a->priced->totals.peak_bytes != b->priced->totals.peak_bytes)
        wrong("totals of a plan made anew", a, -1, -1);
}

static void check_from_nothing(const Session *session, const Journal *journal)
{
    PlanRequest request = session_request(session, journal);
    request.propagation = NULL;
    request.before = NULL;
    Error err = {0};
    Plan *plan = plan_make(&request, &err);
    if (!plan)
        die("from nothing", &err);
    check_same(session->plan, plan, session->notes.n);
    plan_free(plan);
}

static void check_undo(Session *session, Bytes *from)
{
    Error err = {0};
    int n = pick(from, 4), n_done = session->journal.n_done;
    n = n < n_done ? n : n_done;
    for (int i = 0; i < n; i++)
        if (!session_undo(session, &err))
            die("undo", &err);
    check_from_nothing(session, &session->journal);
    for (int i = 0; i < n; i++)
        if (!session_redo(session, &err))
            die("redo", &err);
    check_from_nothing(session, &session->journal);
}

/* A wrong assumption makes wrong values, and a run says so. */
static bool assumes(const Session *session)
{
    for (int i = 0; i < session->journal.n_done; i++)
        if (session->journal.decisions.at[i].kind == PIN_ASSUMED)
            return true;
    return false;
}

static void check_run(Session *session, Bytes *from)
{
    (void)from;
    if (!plan_is_legal(session->plan))
        return;
    const Plan *plan = session->plan;
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    Arena *arena = arena_new();
    if (!run_plan(arena, plan, &options, &report, &err)) {
        if (err.kind != ERROR_USAGE && err.kind != ERROR_UNSUPPORTED)
            die("run", &err);
    } else {
        if (!report.ok && !assumes(session))
            wrong("data", plan, report.first_bad, -1);
        if (!report.predicted_peak_at_least && report.predicted_peak_bytes < report.peak_bytes)
            wrong("peak", plan, -1, -1);
    }
    arena_free(arena);
}

static void check_file(Session *session, Bytes *from)
{
    (void)from;
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/fuzz_decisions.%d.json", (int)getpid());
    Error err = {0};
    Arena *arena = arena_new();
    if (!planfile_save(session, path, false, &err))
        die("save", &err);
    SessionOptions options = {.model = path};
    PlanFile file;
    if (!planfile_open(arena, path, &options, &file, &err))
        die("open", &err);
    Session read = *session;
    read.journal_arena = arena;
    read.notes = (Findings){0};
    Journal journal = {0};
    planfile_decisions(&read, &file, &journal);
    planfile_close(&file);
    if (journal.n_done != session->journal.n_done)
        wrong("number of decisions in a plan file", session->plan, -1, -1);
    check_from_nothing(session, &journal);
    unlink(path);
    arena_free(arena);
}

static void ask(const Session *session, Bytes *from)
{
    const Plan *plan = session->plan;
    Arena *arena = arena_new();
    Buf out = buf_new(arena);
    int32_t tensor = pick(from, session->graph->n_tensors);
    why_format(plan, tensor, -2, &out);
    why_not_format(plan, tensor, -1, pick(from, session->mesh->n_axes), &out);
    json_free(why_not_json(plan, tensor, -1, 0));
    const PlanEvent *events = plan_events(arena, plan);
    for (int i = 0; i < plan_n_events(plan); i++) {
        plan_event_format(plan, &events[i], &out);
        plan_turn_format(plan, events[i].turn, &out);
    }
    json_free(plan_json(session));
    arena_free(arena);
}

/* Beside the same decisions in another propagator, which computes the same. */
static void compare(Session *session, Bytes *from)
{
    enum { OTHERS = 28 };
    const Propagator *propagator = propagator_at(pick(from, OTHERS));
    int model = 0;
    while (model_graph(model) != session->graph)
        model++;
    if (!propagator)
        return;
    Error err = {0};
    Session *other = open_session(model, session->options.mesh, propagator);
    if (!session_apply(other, session->journal.decisions.at, session->journal.n_done, &err))
        die("other propagator", &err);
    const Session *sides[2] = {session, other};
    Arena *arena = arena_new();
    PlanDiff *diff = plan_diff_sides(arena, sides, 2);
    json_free(diff_json(diff, (const char *const[]){"a", "b"}));
    check_run(other, from);
    arena_free(arena);
    session_close(other);
}

/* However it is made, a plan is the same. */
static void check_edits(Session *session, Bytes *from)
{
    check_from_nothing(session, &session->journal);
    if (!session->options.propagator->by_op)
        check_undo(session, from);
}

/* One by one where a plan is made from the one before, else all at once: the end is the same. */
static void decide(Session *session, Bytes *from)
{
    Decision decisions[DECISIONS_MAX];
    int n = 0, at_once = session->options.propagator == &propagator_explain ? 1 : DECISIONS_MAX;
    for (int i = 0; i < DECISIONS_MAX && from->n > 0; i++) {
        decisions[n++] = some_decision(from, session);
        if (n < at_once && i + 1 < DECISIONS_MAX && from->n > 0)
            continue;
        Error err = {0};
        if (session_apply(session, decisions, n, &err) == error_is_set(&err))
            wrong("error of a decision", session->plan, -1, -1);
        n = 0;
    }
}

/* What is asked of a session with its decisions. */
static void (*const checks[])(Session *session, Bytes *from) = {check_edits, check_run, check_file,
                                                                compare};
enum { CHECK_COUNT = sizeof checks / sizeof *checks };

static void try_session(int model, const char *mesh, const Propagator *propagator, int check,
                        Bytes *from)
{
    Session *session = open_session(model, mesh, propagator);
    decide(session, from);
    checks[check](session, from);
    session_close(session);
}

/* A plan beside a session that is never changed, and is opened once. */
static void try_plan(int model, int mesh, int propagator, Bytes *from)
{
    static Session *opened[MODEL_COUNT][MESH_COUNT][PROPAGATOR_COUNT];
    Session **kept = &opened[model][mesh][propagator];
    if (!*kept)
        *kept = open_session(model, meshes[mesh], propagators[propagator]);
    Session session = **kept;
    session.journal_arena = arena_new();
    session.journal = (Journal){0};
    for (int i = 0; i < DECISIONS_MAX && from->n > 0; i++)
        vec_push(session.journal_arena, &session.journal.decisions, some_decision(from, &session));
    session.journal.n_done = session.journal.decisions.n;
    PlanRequest request = session_request(&session, &session.journal);
    Error err = {0};
    session.plan = plan_make(&request, &err);
    if ((session.plan == NULL) != error_is_set(&err))
        die("neither a plan nor an error", &err);
    if (session.plan)
        ask(&session, from);
    plan_free(session.plan);
    arena_free(session.journal_arena);
}

/* What takes long is tried on a part of the inputs that ask for it: a plan is made and asked by all
 * others. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    enum { LARGE_OF = 256, CHECKS_OF = 64, TRIED_OF = 16 };
    Bytes from = {bytes, n_bytes};
    bool tried = is_chosen(bytes, n_bytes, TRIED_OF), large = pick(&from, LARGE_OF) == 0 && tried;
    int model =
        large ? MODELS_SMALL + pick(&from, MODEL_COUNT - MODELS_SMALL) : pick(&from, MODELS_SMALL);
    int mesh = pick(&from, MESH_COUNT), propagator = pick(&from, PROPAGATOR_COUNT);
    int check = pick(&from, CHECKS_OF);
    if (check < CHECK_COUNT && tried)
        try_session(model, meshes[mesh], propagators[propagator], check, &from);
    else
        try_plan(model, mesh, propagator, &from);
    return 0;
}
