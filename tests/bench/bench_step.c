/* bench_step.c - training steps: derived for a transformer of a million ops, in nanoseconds and
 * bytes for each op of the forward pass, and for each op of the step; and for Llama-3-70B, derived
 * and planned with pipeline, data and tensor parallelism. */
#include "core/session/make.h"
#include "core/step/update.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"

#include <time.h>

/* Of Llama-3-70B; a step has the phases forward, backward and update. */
enum { OPS = 1000000, REPEATS = 3, LAYERS = 80, PHASES = 3 };

typedef struct {
    Arena *arena; /* of the step */
    Loss loss;
    TrainingStep step;
    double loss_ns, derive_ns;
    size_t model_bytes; /* with its loss */
} Made;

/* Time of the processor, which other work on the machine disturbs less. */
static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The model as it was opened: without the names of earlier steps. */
static const Inferred *with_own_names(Arena *arena, const Inferred *inferred)
{
    Graph *graph = arena_make(arena, Graph);
    Inferred *out = arena_make(arena, Inferred);
    *graph = *inferred->graph;
    graph->names = names_copy(arena, graph->names);
    *out = *inferred;
    out->graph = graph;
    return out;
}

static Made make_step(const Inferred *inferred, const DimBindings *dims)
{
    Made made = {.arena = arena_new()};
    inferred = with_own_names(made.arena, inferred);
    UpdateSpec spec;
    Error err = {0};
    must(update_spec_read(made.arena, "adamw", &spec, &err), &err);
    double start = cpu_ns();
    must(loss_add(made.arena, inferred, &spec, &made.loss, &err), &err);
    const Inferred *with =
        infer(made.arena, made.loss.graph, inferred->registry, dims, false, &err);
    must(with != NULL, &err);
    made.loss_ns = cpu_ns() - start;
    made.model_bytes = arena_bytes(made.arena);
    start = cpu_ns();
    must(step_make(made.arena, with, &made.loss, NULL, 0, (StepShape){0}, &spec, &made.step, &err),
         &err);
    made.derive_ns = cpu_ns() - start;
    return made;
}

static void bench_derive(const char *name, const Inferred *inferred, const DimBindings *dims)
{
    Arena *text = arena_new();
    double n = inferred->graph->n_ops, derive = 0, all = 0, n_bytes = 0, n_model = 0, n_step = 0;
    for (int i = 0; i < REPEATS; i++) {
        Made made = make_step(inferred, dims);
        derive = least(derive, made.derive_ns);
        all = least(all, made.derive_ns + made.loss_ns);
        n_bytes = (double)(arena_bytes(made.arena) - made.model_bytes);
        n_model = (double)made.model_bytes;
        n_step = made.step.graph->n_ops;
        arena_free(made.arena);
    }
    figure(arena_printf(text, "step.%s.ops", name), n_step, "ops");
    figure(arena_printf(text, "step.%s.derive", name), derive / n, "ns/op");
    figure(arena_printf(text, "step.%s.derive.step", name), derive / n_step, "ns/op of the step");
    figure(arena_printf(text, "step.%s.all", name), all / 1e6, "ms");
    figure(arena_printf(text, "step.%s.memory", name), n_bytes / n, "bytes/op");
    figure(arena_printf(text, "step.%s.memory.step", name), n_bytes / n_step,
           "bytes/op of the step");
    figure(arena_printf(text, "step.%s.loss.memory", name), n_model / n, "bytes/op");
    arena_free(text);
}

static void bench_plan(Scripts *scripts)
{
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/llama-3-70b.json",
                              .mesh = "pp=4,dp=2,tp=8",
                              .policy = "hybrid3d",
                              .train = ""};
    double ns = 0, plan_ns = 0, propagate_ns = 0;
    for (int i = 0; i < REPEATS; i++) {
        Error err = {0};
        double start = cpu_ns();
        Session *session = session_open(&options, &hooks, &err);
        must(session != NULL, &err);
        if (!session)
            return;
        ns = least(ns, cpu_ns() - start);
        start = cpu_ns();
        PlanRequest request = {.inferred = session->inferred,
                               .mesh = session->mesh,
                               .machine = session->machine,
                               .journal = &session->journal};
        Plan *plan = plan_make(&request, &err);
        plan_ns = least(plan_ns, cpu_ns() - start);
        must(plan != NULL, &err);
        start = cpu_ns();
        plan_propagate(plan, &request);
        propagate_ns = least(propagate_ns, cpu_ns() - start);
        if (i == 0)
            bench_derive("llama70b", session->bare.inferred, &session->options.dims);
        plan_free(plan);
        session_close(session);
    }
    figure("step.llama70b.open", ns / 1e6, "ms");
    figure("step.llama70b.plan", plan_ns / 1e6, "ms");
    figure("step.llama70b.propagate", propagate_ns / 1e3 / (LAYERS * PHASES), "us/layer/phase");
}

void bench_step(void)
{
    Arena *arena = arena_new();
    Error err = {0};
    DimBindings none = {0};
    const Graph *graph = synthetic_transformer(arena, synthetic_layers(OPS), 8, 1024);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    must(inferred != NULL, &err);
    bench_derive("million", inferred, &none);
    Scripts *scripts = scripts_new(arena, ".");
    bench_plan(scripts);
    scripts_free(scripts);
    arena_free(arena);
}
