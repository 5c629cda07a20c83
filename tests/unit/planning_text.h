/* planning_text.h - a plan of a graph that is written as text (graph_text.h). */
#ifndef TESTS_UNIT_PLANNING_TEXT_H
#define TESTS_UNIT_PLANNING_TEXT_H

#include "tests/unit/planning.h"

#include "core/run/run.h"
#include "tests/unit/graph_text.h"

static inline Planning *planning_text(const char *text, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 18);
    planning_infer(p, "", mesh);
    return p;
}

/* A graph, pins, and what is wanted of the plan. */
typedef struct {
    const char *name, *net, *mesh;
    const char *pin, *want; /* "tensor sharding; ..", in our notation */
    const char *moved;      /* collectives; NULL: any */
} PlanRow;

/* Calls `each` with the tensor and the sharding of each item of the text. */
static inline void planning_each(Planning *p, const char *text,
                                 void (*each)(Planning *p, int32_t tensor, Str sharding))
{
    Str rest = str_from(text), item;
    while (rest.n > 0) {
        item = str_take(&rest, ';');
        Str name = str_take(&item, ' ');
        if (name.n == 0)
            name = str_take(&item, ' ');
        int32_t tensor = naming_find(p->naming, name, NULL);
        assert_true(tensor >= 0);
        each(p, tensor, item);
    }
}

static inline void planning_pin_text(Planning *p, int32_t tensor, Str text)
{
    Source source = {.name = "pin", .text = text};
    Sharding sharding;
    Error err = {0};
    if (!sharding_parse(&source, inferred_shape(p->inferred, tensor), p->mesh, VIEW_OURS, &sharding,
                        &err))
        planning_fail(&err);
    for (int d = 0; d < sharding.n_dims; d++) {
        Decision one = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = d, .cut = &sharding.dim[d]};
        one.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
        if (!cut_is_whole(&sharding.dim[d]))
            journal_add(&p->journal, p->arena, &one);
    }
}

static inline void planning_lies(Planning *p, int32_t tensor, Str text)
{
    Buf is = buf_new(p->arena);
    sharding_format(plan_sharding(p->plan, tensor), p->mesh, VIEW_OURS, &is, NULL);
    assert_string_equal(is.s, arena_str(p->arena, text));
}

static inline Planning *planning_row(const PlanRow *row)
{
    Planning *p = planning_text(row->net, row->mesh);
    planning_each(p, row->pin, planning_pin_text);
    planning_make(p);
    return p;
}

/* Pins, plans, and runs the plan: values lie as wanted, and ranks compute what one device does. */
static inline void planning_row_runs(void **state)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    const PlanRow *row = *state;
    Planning *p = planning_row(row);
    planning_each(p, row->want, planning_lies);
    if (row->moved)
        assert_string_equal(planning_collectives(p), row->moved);
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    planning_close(p);
}

#endif
