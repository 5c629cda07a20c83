/* bench.c - `make bench`: one line a figure, NAME VALUE UNIT, floors measured in the same run.
 *
 * The graph is a made-up transformer of about a million ops (tests/bench/synthetic.h). A floor is
 * the least the same walk can cost on this machine: a plain C sweep over the same ops and operands,
 * each op reading its operands' numbers, mixing them and looking the result up in a small table.
 * Figures are the least of several runs, which is what a loaded machine disturbs least.
 */
#include "core/base/memory.h"
#include "core/peers/propagators.h"
#include "core/model/group.h"
#include "core/model/onnx.h"
#include "core/cost/memory.h"
#include "core/plan/naming.h"
#include "core/propagate/engine.h"
#include "core/propagate/propagate.h"
#include "core/peers/paddle/plan_spmd.h"
#include "core/peers/torch/plan_strategy.h"
#include "core/rules/example.h"
#include "core/session/make.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"
#include "tui/app/app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OPS = 1000000, REPEATS = 5 };

double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void figure(const char *name, double value, const char *unit)
{
    printf("%s %.1f %s\n", name, value, unit);
    fflush(stdout);
}

void must(bool ok, const Error *err)
{
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

/* ---- the floor: the same ops and operands, nothing but reads, a mix and a table ---- */

typedef struct {
    int32_t operand;
    uint8_t n_inputs, n_outputs;
} FloorOp;

typedef struct {
    int n;
    FloorOp *op;
    int32_t *operand, *value, table[1 << 12];
} Floor;

static Floor *floor_new(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    Floor *floor = arena_make(arena, Floor);
    floor->n = inferred->n_program;
    floor->op = arena_array(arena, FloorOp, floor->n);
    floor->operand = arena_array(arena, int32_t, (int64_t)floor->n * 6);
    floor->value = arena_array(arena, int32_t, graph->n_tensors);
    int32_t at = 0;
    for (int i = 0; i < floor->n; i++) {
        int32_t op = inferred->program[i];
        floor->op[i] = (FloorOp){.operand = at};
        for (int o = 0; o < graph->ops[op].n_inputs && o < 3; o++, floor->op[i].n_inputs++)
            floor->operand[at++] = op_inputs(graph, op)[o];
        for (int o = 0; o < graph->ops[op].n_outputs && o < 3; o++, floor->op[i].n_outputs++)
            floor->operand[at++] = op_outputs(graph, op)[o];
    }
    for (int i = 0; i < 1 << 12; i++)
        floor->table[i] = i * 7 % 64;
    return floor;
}

static inline void floor_visit(Floor *floor, const FloorOp *op, bool forward)
{
    const int32_t *operand = floor->operand + op->operand;
    uint32_t mixed = 0;
    int n = op->n_inputs + op->n_outputs;
    for (int o = 0; o < n; o++)
        mixed = mixed * 31 + (uint32_t)floor->value[operand[o]];
    int32_t result = floor->table[mixed & ((1 << 12) - 1)];
    for (int o = forward ? op->n_inputs : 0; o < (forward ? n : op->n_inputs); o++)
        if (floor->value[operand[o]] != result)
            floor->value[operand[o]] = result;
}

static double floor_sweep_ns(Floor *floor)
{
    double start = now_ns();
    for (int i = 0; i < floor->n; i++)
        floor_visit(floor, &floor->op[i], true);
    for (int i = floor->n - 1; i >= 0; i--)
        floor_visit(floor, &floor->op[i], false);
    return now_ns() - start;
}

/* ---- a megatron plan of the made-up transformer ---- */

void pin(const Inferred *inferred, const Mesh *mesh, Arena *arena, Journal *journal, int32_t tensor,
         int dim, int axis, int64_t interleave)
{
    const MeshAxis *a = &mesh->axes[axis];
    uint8_t atom[ATOMS_MAX];
    for (int i = 0; i < a->n_atoms; i++)
        atom[i] = (uint8_t)(a->atom + i);
    int64_t size = inferred_shape(inferred, tensor)->dim[dim];
    Cut parts = cut_whole(interleave), cut = cut_by(size / interleave, atom, a->n_atoms, mesh);
    const Cut *both[2] = {&parts, &cut};
    Decision decision = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim};
    Cut joined;
    cut_concat(both, 2, mesh, &joined);
    decision.cut = &joined;
    decision.origin = (Origin){.file = "bench", .text = ""};
    journal_add(journal, arena, &decision);
}

static void pin_megatron(Arena *arena, const Naming *naming, const Inferred *inferred,
                         const Mesh *mesh, Journal *journal)
{
    static const struct {
        const char *tail;
        int dim;
        int64_t interleave;
    } rows[] = {{"c_attn", 1, 3}, {"attn.c_proj", 0, 1}, {"c_fc", 1, 1}, {"mlp.c_proj", 0, 1}};
    pin(inferred, mesh, arena, journal, inferred->graph->inputs[0], 0, 0, 1);
    for (int i = 0; i < naming_n_paths(naming); i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            Str path = str_from(naming_path(naming, i));
            if (!str_ends(path, str_from(rows[r].tail)))
                continue;
            int32_t weight = naming_part(naming, path, PART_WEIGHT, NULL);
            if (weight >= 0)
                pin(inferred, mesh, arena, journal, weight, rows[r].dim, 1, rows[r].interleave);
        }
}

Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "mesh", .text = str_from(text)};
    Error err = {0};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    must(mesh != NULL, &err);
    return mesh;
}

Machine machine(void)
{
    Machine m = {.name = "bench", .devices_per_node = 8, .memory_bytes_per_s = 3e12};
    m.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    m.between = m.inside;
    for (int i = 0; i < DT_COUNT; i++)
        m.flops_per_s[i] = 400e12;
    return m;
}

double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

static Inferred *bench_infer(Arena *arena, const Graph *graph)
{
    Inferred *inferred = NULL;
    DimBindings none = {0};
    Error err = {0};
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns();
        inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
        ns = least(ns, now_ns() - start);
        must(inferred != NULL, &err);
    }
    figure("infer", ns / inferred->n_program, "ns/op");
    return inferred;
}

static void bench_sweeps(Arena *arena, const Inferred *inferred, Plan *plan, const Journal *journal)
{
    Propagation *propagation = propagation_new(plan->arena, inferred, plan->mesh);
    PlanRequest request = {.inferred = inferred,
                           .mesh = plan->mesh,
                           .machine = plan->machine,
                           .journal = journal,
                           .propagation = propagation};
    Error err = {0};
    Plan *again = plan_make(&request, &err);
    must(again != NULL, &err);
    Floor *floor = floor_new(arena, inferred);
    double sweep_ns = 0, floor_ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns();
        must(!propagation_sweep_all(propagation), &(Error){.text = "the fixed point moved"});
        sweep_ns = least(sweep_ns, now_ns() - start);
        floor_ns = least(floor_ns, floor_sweep_ns(floor));
    }
    figure("propagate", sweep_ns / inferred->n_program, "ns/op");
    figure("propagate.floor", floor_ns / inferred->n_program, "ns/op");
    plan_free(again);
}

static void bench_million(void)
{
    Arena *arena = arena_new();
    double start = now_ns();
    Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    double built = now_ns();
    figure("ops", graph->n_ops, "ops");
    figure("build", (built - start) / graph->n_ops, "ns/op");
    figure("graph", (double)arena_bytes(arena) / graph->n_ops, "bytes/op");

    Inferred *inferred = bench_infer(arena, graph);
    Arena *one = arena_new();
    DimBindings none = {0};
    Error err = {0};
    inferred = infer(one, graph, registry_new(one), &none, false, &err);
    figure("inferred", (double)arena_bytes(one) / graph->n_ops, "bytes/op");

    Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    Journal journal = {0};
    pin_megatron(arena, naming_new(arena, inferred), inferred, mesh, &journal);
    Machine m = machine();
    start = now_ns();
    PlanRequest request = {.inferred = inferred, .mesh = mesh, .machine = &m, .journal = &journal};
    Plan *plan = plan_make(&request, &err);
    must(plan != NULL, &err);
    figure("plan", (now_ns() - start) / inferred->n_program, "ns/op");
    figure("plan.events", plan->propagated->log.flow->events.n, "events");
    figure("plan.sweeps", plan->propagated->sweeps, "double sweeps");
    figure("plan.memory", (double)arena_bytes(plan->arena) / graph->n_ops, "bytes/op");
    bench_sweeps(arena, inferred, plan, &journal);

    start = now_ns();
    Groups *groups = groups_build(plan->arena, graph, inferred->program, inferred->n_program,
                                  plan->propagated->cut, inferred->space);
    figure("groups", (now_ns() - start) / inferred->n_program, "ns/op");
    figure("groups.count", groups->n_groups, "groups");
    plan_free(plan);
    arena_free(one);
    arena_free(arena);
}

/* ---- opening: from a file, or a graph in memory, to the first frame ---- */

static void first_frame(const char *name, Session *session, double start)
{
    AppOptions options = {.width = 160, .height = 50};
    App *app = app_new(session, &options, NULL, options.width, options.height);
    app_draw(app);
    figure(name, (now_ns() - start) / 1e6, "ms");

    double worst = 0, total = 0;
    enum { KEYS = 200 };
    for (int i = 0; i < KEYS; i++) {
        double key = now_ns();
        app_type(app, i % 20 == 19 ? STR("G") : i % 20 == 9 ? STR("gg") : STR("j"));
        app_draw(app);
        double ns = now_ns() - key;
        worst = ns > worst ? ns : worst;
        total += ns;
    }
    Arena *scratch = arena_new();
    figure(arena_printf(scratch, "%s.key_mean", name), total / KEYS / 1e6, "ms");
    figure(arena_printf(scratch, "%s.key_worst", name), worst / 1e6, "ms");
    arena_free(scratch);
    app_free(app);
}

static bool bench_machine(void *context, Arena *arena, const char *name, Machine *out, Error *err)
{
    (void)context, (void)arena, (void)name, (void)err;
    *out = machine();
    return true;
}

static bool bench_policy(void *context, Session *session, const char *policy, Journal *journal,
                         Error *err)
{
    (void)context, (void)policy, (void)err;
    pin_megatron(session->journal_arena, session->naming, session->inferred, session->mesh,
                 journal);
    return true;
}

Session *bench_session(Graph *graph, const char *model)
{
    SessionOptions options = {.model = model, .mesh = "dp=2,tp=4", .policy = "bench"};
    SessionHooks hooks = {.machine = bench_machine, .policy = bench_policy};
    Error err = {0};
    Session *session = graph ? session_open_graph(graph, &options, &hooks, &err)
                             : session_open(&options, &hooks, &err);
    must(session != NULL, &err);
    return session;
}

static void bench_open_million(void)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    double start = now_ns();
    Session *session = bench_session(graph, NULL);
    first_frame("first_frame.million", session, start);
    session_close(session);
    arena_free(arena);
}

/* Paddle's completion of that model; its own takes 2.8 to 5.8 ms an op. */
static void bench_completion(const Session *session)
{
    PlanRequest request = session_request(session, &session->journal);
    request.propagator = &propagator_spmd;
    Error err = {0};
    Plan *plan = plan_make(&request, &err);
    must(plan != NULL, &err);
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns();
        plan_propagate(plan, &request);
        ns = least(ns, now_ns() - start);
    }
    figure("completion", ns / 1e3 / session->inferred->n_program, "us/op");
    plan_free(plan);
}

/* DTensor's choice for each op of that model, from nothing: torch's own takes 6.7 ms an op. */
static void bench_strategy(const Session *session)
{
    PlanRequest request = session_request(session, &session->journal);
    request.propagator = &propagator_torch;
    Error err = {0};
    Plan *plan = plan_make(&request, &err);
    must(plan != NULL, &err);
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns();
        plan_propagate(plan, &request);
        ns = least(ns, now_ns() - start);
    }
    figure("strategy", ns / 1e3 / session->inferred->n_program, "us/op");
    plan_free(plan);
}

static void bench_open_gpt2(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4", .policy = "megatron"};
    Error err = {0};
    double start = now_ns();
    Session *session = session_open(&options, &hooks, &err);
    must(session != NULL, &err);
    first_frame("first_frame.gpt2", session, start);
    bench_completion(session);
    bench_strategy(session);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* ---- rules: an op whose signature was seen, and one that was not ---- */

/* A chain of equal ops: all but the first are looked up. The columns that inference fills are part
 * of the figure. */
static void bench_rule_lookup(void)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_chain(arena, OPS);
    Error err = {0};
    DimBindings none = {0};
    double ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Arena *one = arena_new();
        const Registry *registry = registry_new(one);
        double start = now_ns();
        must(infer(one, graph, registry, &none, false, &err) != NULL, &err);
        ns = least(ns, now_ns() - start);
        arena_free(one);
    }
    figure("rule.lookup", ns / OPS, "ns/op");
    arena_free(arena);
}

/* Inference of graphs of one op, one of every example: the mean and the slowest. */
static void bench_rule_build(void)
{
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    DimBindings none = {0};
    double sum = 0, worst = 0;
    int n = 0;
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const char *e = example_next(name, NULL); e; e = example_next(name, e)) {
            Error err = {0};
            const Graph *graph = example_graph(arena, name, e, &err);
            must(graph != NULL, &err);
            double ns = 0;
            for (int k = 0; k < REPEATS; k++) {
                Arena *one = arena_new();
                double start = now_ns();
                must(infer(one, graph, registry, &none, false, &err) != NULL, &err);
                ns = least(ns, now_ns() - start);
                arena_free(one);
            }
            sum += ns;
            worst = ns > worst ? ns : worst;
            n++;
        }
    }
    figure("rule.build", sum / n / 1e3, "us");
    figure("rule.build.worst", worst / 1e3, "us");
    arena_free(arena);
}

int main(int argc, char **argv)
{
    memory_give_back(); /* as the program does */
    if (argc == 3 && strcmp(argv[1], "--count") == 0) {
        bench_flow_counted(atoi(argv[2]));
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "--part") == 0) {
        bench_scale_part(argv[2], argv[3]);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--viz") == 0) {
        bench_viz();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--readers") == 0) {
        bench_readers();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--reshard") == 0) {
        bench_reshard();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--solve") == 0) {
        bench_solve();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--search") == 0) {
        bench_search();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--run") == 0) {
        bench_run();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--step") == 0) {
        bench_step();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--estimate") == 0) {
        bench_estimate();
        return 0;
    }
    if (argc > 3 && strcmp(argv[1], "--solve") == 0) {
        bench_solve_files(atof(argv[2]), argc - 3, argv + 3);
        return 0;
    }
    bench_flow(argv[0]);
    bench_reshard();
    bench_solve();
    bench_rule_lookup();
    bench_rule_build();
    bench_million();
    bench_open_million();
    bench_open_gpt2();
    bench_models();
    bench_search();
    bench_readers();
    bench_step();
    bench_estimate();
    bench_viz();
    bench_scale(argv[0]);
    return 0;
}
