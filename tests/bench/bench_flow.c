/* bench_flow.c - the default propagator on a GPT as fine as StableHLO has it (117 ops a layer), cut
 * as Megatron does: a whole propagation with its log, an edit of one pin, instructions per op.
 *
 * Shardy's own pass takes 2,200 to 2,900 us a layer and 126,000 instructions an op on such a graph.
 */
#include "core/propagate/engine.h"
#include "core/propagate/propagate.h"
#include "core/rules/registry.h"
#include "core/session/make.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 7, BATCH = 8, SEQ = 1024 };

typedef struct {
    Arena *arena;
    Inferred *inferred;
    Mesh *mesh;
    Machine machine;
    Journal journal;
    int n_layers, input_pin, middle_pin; /* places in the journal */
} Case;

static void pin_weights(Case *c)
{
    const Graph *graph = c->inferred->graph;
    static const struct {
        int64_t rows, columns;
        int dim;
        int64_t interleave;
    } rows[] = {{768, 2304, 1, 3}, {768, 768, 0, 1}, {768, 3072, 1, 1}, {3072, 768, 0, 1}};
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(c->inferred, t);
        if (!shape || shape->n_dims != 2 || graph->tensors[t].kind != TENSOR_INITIALIZER)
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            if (shape->dim[0] == rows[r].rows && shape->dim[1] == rows[r].columns)
                pin(c->inferred, c->mesh, c->arena, &c->journal, t, rows[r].dim, 1,
                    rows[r].interleave);
    }
}

static Case *open_case(int n_layers)
{
    Arena *arena = arena_new();
    Case *c = arena_make(arena, Case);
    DimBindings none = {0};
    Error err = {0};
    c->arena = arena;
    c->n_layers = n_layers;
    Graph *graph = synthetic_fine_transformer(arena, n_layers, BATCH, SEQ);
    c->inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    must(c->inferred != NULL, &err);
    c->mesh = mesh_of(arena, "dp=2,tp=4");
    c->machine = machine();
    pin(c->inferred, c->mesh, arena, &c->journal, graph->inputs[0], 0, 0, 1);
    pin_weights(c);
    c->middle_pin = c->journal.n_done / 2;
    return c;
}

static Plan *plan_of(const Case *c, Propagation *propagation, const Plan *before)
{
    PlanRequest request = {.inferred = c->inferred,
                           .mesh = c->mesh,
                           .machine = &c->machine,
                           .journal = &c->journal,
                           .propagation = propagation,
                           .before = before};
    Error err = {0};
    Plan *plan = plan_make(&request, &err);
    must(plan != NULL, &err);
    return plan;
}

/* From nothing: what is kept for later runs is made too. */
static double whole_us(const Case *c, const Plan *plan)
{
    double us = 0;
    for (int i = 0; i < REPEATS; i++) {
        Arena *arena = arena_new();
        Plan copy = *plan;
        copy.arena = arena;
        double start = now_ns();
        Propagation *propagation = propagation_new(arena, c->inferred, c->mesh);
        plan_propagate(&copy, &(PlanRequest){.propagation = propagation});
        us = least(us, (now_ns() - start) / 1e3);
        arena_free(arena);
    }
    return us;
}

/* The propagation of a plan in which one decision is changed, from the plan before. */
static double edit_us(Case *c, int at, int64_t *visits)
{
    Arena *arena = arena_new();
    Propagation *propagation = propagation_new(arena, c->inferred, c->mesh);
    Plan *before = plan_of(c, propagation, NULL);
    Decision *edited = &c->journal.decisions.at[at], kept = *edited;
    Cut whole = cut_whole(cut_size(decision_cut(&kept)));
    edited->cut = &whole;
    Plan *plan = plan_of(c, propagation, before);
    double us = 0;
    for (int i = 0; i < REPEATS; i++) {
        Arena *scratch = arena_new();
        Plan copy = *plan;
        copy.arena = scratch;
        double start = now_ns();
        plan_propagate(&copy, &(PlanRequest){.propagation = propagation, .before = before});
        us = least(us, (now_ns() - start) / 1e3);
        *visits = propagation_n_visits(propagation);
        arena_free(scratch);
    }
    *edited = kept;
    plan_free(plan);
    plan_free(before);
    arena_free(arena);
    return us;
}

static void figures_of(int n_layers, bool edits)
{
    Case *c = open_case(n_layers);
    Plan *plan = plan_of(c, NULL, NULL);
    char name[64];
    snprintf(name, sizeof name, "flow.layers%d", n_layers);
    figure(name, whole_us(c, plan) / n_layers, "us/layer");
    if (edits) {
        int64_t visits;
        figure("flow.log", (double)plan->propagated->log.flow->events.n / c->inferred->n_program,
               "events/op");
        figure("flow.edit.weight", edit_us(c, c->middle_pin, &visits), "us");
        figure("flow.edit.weight.visits", (double)visits, "ops");
        figure("flow.edit.batch", edit_us(c, 0, &visits), "us");
        figure("flow.edit.batch.visits", (double)visits, "ops");
    }
    plan_free(plan);
    arena_free(c->arena);
}

void bench_flow_counted(int n_layers)
{
    Case *c = open_case(n_layers);
    plan_free(plan_of(c, NULL, NULL));
    arena_free(c->arena);
}

/* Instructions an op inside a function for so many layers; 0: there is no callgrind here. */
static double instructions(const char *program, const char *function, int n_layers)
{
    char command[512], line[256];
    snprintf(command, sizeof command,
             "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
             "--toggle-collect=%s %s --count %d 2>&1",
             function, program, n_layers);
    FILE *pipe = popen(command, "r");
    double count = 0;
    while (pipe && fgets(line, sizeof line, pipe)) {
        const char *at = strstr(line, "Collected : ");
        if (at)
            count = strtod(at + strlen("Collected : "), NULL);
    }
    if (pipe)
        pclose(pipe);
    return count / (n_layers * SYNTHETIC_FINE_LAYER_OPS);
}

void bench_flow(const char *program)
{
    figures_of(12, false);
    figures_of(100, true);
    figures_of(1000, false);
    figure("flow.instructions", instructions(program, "run_factor", 100), "instructions/op");
    figure("flow.setup.instructions", instructions(program, "propagation_new", 100),
           "instructions/op");
}
