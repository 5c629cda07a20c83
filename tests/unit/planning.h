/* planning.h - what tests of plans share: a model or a made graph, a mesh, pins by name, a plan. */
#ifndef TESTS_UNIT_PLANNING_H
#define TESTS_UNIT_PLANNING_H

#include "core/rules/registry.h"
#include "tests/unit/unit.h"

#include "core/model/onnx.h"
#include "core/cost/memory.h"
#include "core/plan/naming.h"
#include "core/plan/plan.h"
#include "core/session/make.h"
#include "core/step/update.h"

typedef struct {
    Arena *arena;
    FileMap map;
    Graph *graph;
    Inferred *inferred;
    Naming *naming;
    Mesh *mesh;
    Machine machine;
    Journal journal;
    const Propagator *propagator;
    Plan *plan;
} Planning;

static inline void planning_fail(const Error *err)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    error_format(err, &text);
    print_error("%s", text.s);
    fail();
}

static inline void planning_infer(Planning *p, const char *dims, const char *mesh)
{
    Error err = {0};
    DimBindings bindings = {0};
    Source source = {.name = "--dim", .text = str_from(dims)};
    if (dims[0] && !dims_parse(p->arena, &source, &bindings, &err))
        planning_fail(&err);
    p->inferred = infer(p->arena, p->graph, registry_new(p->arena), &bindings, false, &err);
    if (!p->inferred)
        planning_fail(&err);
    p->naming = naming_new(p->arena, p->inferred);
    source = (Source){.name = "-m", .text = str_from(mesh)};
    p->mesh = mesh_parse(p->arena, &source, &err);
    if (!p->mesh)
        planning_fail(&err);
    p->machine = (Machine){.name = "test", .devices_per_node = 8, .memory_bytes_per_s = 3e12};
    p->machine.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    p->machine.between = (Link){.name = "out", .latency_us = 5, .bytes_per_s = 50e9};
    for (int i = 0; i < DT_COUNT; i++)
        p->machine.flops_per_s[i] = 400e12;
}

static inline Planning *planning_open(const char *model, const char *dims, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    Error err = {0};
    p->arena = arena;
    p->graph =
        onnx_open(arena, arena_printf(arena, "samples/models/%s.onnx", model), &p->map, &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, dims, mesh);
    return p;
}

static inline void planning_close(Planning *p)
{
    plan_free(p->plan);
    file_unmap(&p->map);
    arena_free(p->arena);
}

/* The cut of `size` by a list of axes "tp" or "dp,tp", in `interleave` parts; "" is whole. */
static inline Cut planning_cut(const Planning *p, int64_t size, const char *axes,
                               int64_t interleave)
{
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    Source source = {.name = "axes", .text = str_from(axes)};
    Scan scan = scan_begin(&source, NULL);
    while (axes[0] && mesh_parse_atoms(p->mesh, &scan, atom, &n) && scan_accept(&scan, ','))
        ;
    Cut parts = cut_whole(interleave), cut = cut_by(size / interleave, atom, n, p->mesh), out;
    const Cut *both[2] = {&parts, &cut};
    assert_true(cut_concat(both, 2, p->mesh, &out));
    return out;
}

/* The model becomes its training step, as `--train SPEC` makes it. */
static inline void planning_train(Planning *p, const char *dims, const char *spec_text)
{
    Error err = {0};
    DimBindings bindings = {0};
    Source source = {.name = "--dim", .text = str_from(dims)};
    UpdateSpec spec;
    Loss loss;
    TrainingStep step;
    if (!dims_parse(p->arena, &source, &bindings, &err) ||
        !update_spec_read(p->arena, spec_text, &spec, &err) ||
        !loss_add(p->arena, p->inferred, &spec, &loss, &err))
        planning_fail(&err);
    const Inferred *model =
        infer(p->arena, loss.graph, registry_new(p->arena), &bindings, false, &err);
    if (!model || !step_make(p->arena, model, &loss, NULL, 0, (StepShape){0}, &spec, &step, &err))
        planning_fail(&err);
    p->graph = step.graph;
    p->inferred = step.inferred;
    p->naming = naming_new(p->arena, p->inferred);
}

/* Pins a dim of a tensor, named as users name it. */
static inline void planning_pin(Planning *p, const char *name, int dim, const char *axes,
                                int64_t interleave, bool store)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    if (tensor < 0)
        fail_msg("no tensor %s", name);
    Decision pin = {.kind = PIN_TENSOR_DIM,
                    .place = tensor,
                    .dim = dim,
                    .store = store ? STORED_ALL : STORED_NONE};
    const Shape *shape = inferred_shape(p->inferred, tensor);
    Cut cut = planning_cut(p, shape ? shape->dim[dim] : 0, axes, interleave);
    pin.cut = &cut;
    pin.origin = (Origin){
        .kind = ORIGIN_POLICY, .file = "test.lua", .line = p->journal.n_done + 1, .text = name};
    journal_add(&p->journal, p->arena, &pin);
}

static inline PlanRequest planning_request(const Planning *p)
{
    return (PlanRequest){.inferred = p->inferred,
                         .mesh = p->mesh,
                         .machine = &p->machine,
                         .journal = &p->journal,
                         .propagator = p->propagator};
}

static inline Plan *planning_make(Planning *p)
{
    Error err = {0};
    plan_free(p->plan);
    PlanRequest request = planning_request(p);
    p->plan = plan_make(&request, &err);
    if (!p->plan)
        planning_fail(&err);
    return p->plan;
}

/* "8/dp,1024,768/tp" of a tensor as it is made (`made`) or lies. */
static inline const char *planning_sharding(const Planning *p, const char *name, bool made)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    assert_true(tensor >= 0);
    Buf text = buf_new(p->arena);
    int32_t id = made ? p->plan->moved->made[tensor] : p->plan->moved->sharding[tensor];
    sharding_format(shardings_at(p->plan->shardings, id), p->mesh, VIEW_OURS_ASCII, &text, NULL);
    return text.s;
}

/* "all_reduce tp 24 x 12582912; .." of all steps that move data, in order of first sight. */
static inline const char *planning_collectives(const Planning *p)
{
    const Plan *plan = p->plan;
    Intern *seen = intern_new(p->arena);
    int count[64] = {0};
    for (int i = 0; i < plan->moved->n_reshards; i++)
        for (int s = 0; s < plan->moved->reshards[i].path->n_steps; s++) {
            const Step *step = &plan->moved->reshards[i].path->step[s];
            int64_t key[3] = {step->kind, step->atoms, step->bytes};
            if (step->kind != STEP_SLICE)
                count[intern_put(seen, key, sizeof key)]++;
        }
    Buf text = buf_new(p->arena);
    for (int32_t id = 0; id < intern_count(seen); id++) {
        const int64_t *key = intern_key(seen, id, NULL);
        uint8_t atom[ATOMS_MAX];
        int n = 0;
        for (int a = 0; a < p->mesh->n_atoms; a++)
            if (key[1] >> a & 1)
                atom[n++] = (uint8_t)a;
        buf_printf(&text, "%s%s ", id ? "; " : "", step_kind_name((StepKind)key[0]));
        mesh_format_atoms(p->mesh, atom, n, ".", &text);
        buf_printf(&text, " %d x %lld", count[id], (long long)key[2]);
    }
    return text.s;
}

#endif
