/* control_text.h - models with branches, loops and sequences: what is inferred of them, and plans
 * of them. */
#ifndef TESTS_UNIT_CONTROL_TEXT_H
#define TESTS_UNIT_CONTROL_TEXT_H

#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/onnx_made.h"
#include "tests/unit/infer_text.h"

#include "core/model/onnx.h"
#include "core/propagate/propagate.h"
#include "core/session/make.h"

static inline const char *text_of(Body *body, const char *dims)
{
    DimBindings bindings = {0};
    Error err = {0};
    Source source = {"--dim", str_from(dims)};
    assert_true(dims_parse(body->arena, &source, &bindings, NULL));
    Graph *graph = onnx_read(body->arena, "made.onnx", model_bytes(body, 18, NULL, 0), &err);
    Inferred *inferred =
        graph ? infer(body->arena, graph, registry_new(body->arena), &bindings, false, &err) : NULL;
    return inferred ? inferred_text(inferred) : arena_str(body->arena, str_from(err.text));
}

static inline const Inferred *inferred_of(Body *body)
{
    const DimBindings none = {0};
    Error err = {0};
    Graph *graph = onnx_read(body->arena, "made.onnx", model_bytes(body, 18, NULL, 0), &err);
    const Inferred *inferred =
        graph ? infer(body->arena, graph, registry_new(body->arena), &none, false, &err) : NULL;
    if (!inferred)
        fail_msg("%s", err.text);
    return inferred;
}

/* The model on tp=4 with that dim of a tensor sharded by tp. */
static inline Plan *plan_sharded(Arena *arena, const Inferred *inferred, int32_t tensor, int dim)
{
    Error err = {0};
    Source source = {"-m", STR("tp=4")};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    Machine *machine = arena_make(arena, Machine);
    *machine = (Machine){.name = "test", .devices_per_node = 8, .memory_bytes_per_s = 1e12};
    machine->inside = machine->between =
        (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    machine->flops_per_s[DT_F32] = 1e12;
    const uint8_t atoms[] = {0, 1};
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim};
    Cut *cut = arena_make(arena, Cut);
    *cut = cut_by(program_shape(inferred, tensor)->dim[dim], atoms, 2, mesh);
    pin.cut = cut;
    pin.origin = (Origin){.file = "", .text = ""};
    Journal *journal = arena_make(arena, Journal);
    journal_add(journal, arena, &pin);
    PlanRequest request = {.inferred = inferred, .mesh = mesh};
    request.machine = machine;
    request.journal = journal;
    Plan *plan = plan_make(&request, &err);
    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

static inline int32_t tensor_of(const Graph *graph, const char *name)
{
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (strcmp(tensor_name(graph, t), name) == 0)
            return t;
    fail_msg("no tensor '%s'", name);
    return -1;
}

#endif
