/* fuzz_reshard.c - what `dimscope reshard` is asked: "MESH\nTO_MESH\nSHAPE\nFROM\nTO", TO_MESH may
 * be empty. A path ends where it should, is not dearer than what is right of others, and not
 * cheaper than its bound.
 */
#include "core/reshard/cross_mesh.h"
#include "core/reshard/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The planners in their order: ours, then those of core/peers/torch/planners.c. */
typedef enum {
    PLANNED_TORCH_GREEDY = PLANNED_OURS + 1,
    PLANNED_TORCH_GRAPH,
    PLANNED_VESCALE,
    PLANNED_BY_COUNT
} PlannedBy;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TIMES_SLACK = 1 }; /* of a millionth: sums in another order */

static Str take_line(Str *text)
{
    const char *end = text->n > 0 ? memchr(text->s, '\n', text->n) : NULL;
    Str line = {text->s, end ? (size_t)(end - text->s) : text->n};
    size_t taken = line.n + (end != NULL);
    *text = (Str){text->s + taken, text->n - taken};
    return line;
}

static const Mesh *read_mesh(Arena *arena, Str text)
{
    Source source = {.name = "mesh", .text = text};
    return mesh_parse(arena, &source, NULL);
}

static bool read_shape(Str text, Shape *out)
{
    Source source = {.name = "shape", .text = text};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    *out = (Shape){0};
    while (scan_peek(&scan) != '\0') {
        if (out->n_dims == DIMS_MAX || !scan_int(&scan, &out->dim[out->n_dims]))
            return false;
        out->n_dims++;
        scan_accept(&scan, 'x');
    }
    return shape_check(out, &err);
}

static Machine round_machine(void)
{
    Machine machine = {.name = "round", .devices_per_node = 4, .memory_bytes_per_s = 1e12};
    machine.inside = (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    machine.between = (Link){.name = "net", .latency_us = 5, .bytes_per_s = 1e10};
    return machine;
}

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "WRONG %s\n", what);
    abort();
}

static bool at_most(double a, double b)
{
    return a <= b * (1 + TIMES_SLACK * 1e-6) + 1e-9;
}

static void compare(Arena *arena, const Mesh *mesh, const Shape *shape, const Sharding *from,
                    const Sharding *to)
{
    Machine machine = round_machine();
    ReshardQuestion question = {.mesh = mesh, .machine = &machine, .shape = shape, .dtype = DT_F32};
    PlannedReshard planned[PLANNED_MAX];
    Error err = {0};
    question.shardings = shardings_new(arena);
    question.resharder = resharder_new(arena, mesh, &machine, question.shardings);
    question.from = shardings_put(question.shardings, from);
    question.to = shardings_put(question.shardings, to);
    bool ok = reshard_compare(arena, &question, planned, &err) > 0;
    check(ok != error_is_set(&err), "error of a comparison");
    if (!ok)
        return;
    const ReshardPath *path = reshard(question.resharder, DT_F32, question.from, question.to);
    const ReshardPath *next =
        reshard_runner_up(question.resharder, DT_F32, question.from, question.to, 1);
    int32_t at = question.from;
    for (int i = 0; i < path->n_steps; i++) {
        check(path->step[i].from == at, "from of a step");
        at = path->step[i].to;
    }
    check(at == question.to, "end of a path");
    check(at_most(path->bound_us, path->us), "bound of a path");
    check(!next || !path->proven || at_most(path->us, next->us), "runner-up");
    check(planned[PLANNED_OURS].outcome != MOVES_WRONG, "data of a path");
    for (int i = PLANNED_TORCH_GREEDY; i < PLANNED_BY_COUNT; i++)
        check(planned[i].why_not || planned[i].outcome != MOVES_RIGHT ||
                  planned[i].peak_bytes > path->peak_bytes || at_most(path->us, planned[i].us),
              "price of a path beside another's");
}

static void cross(Arena *arena, const Mesh *mesh, const Mesh *to_mesh, const Sharding *from,
                  const Sharding *to)
{
    Machine machine = round_machine();
    CrossMeshSide here = {mesh, from}, there = {to_mesh, to};
    CrossMeshPath path;
    Error err = {0};
    bool ok = cross_mesh_reshard(arena, &machine, DT_F32, &here, &there, &path, &err);
    check(ok != error_is_set(&err), "error of a crossing");
    check(!ok || (isfinite(path.us) && at_most(path.bound_us, path.us)), "bound of a crossing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    Str text = {(const char *)data, size}, line = take_line(&text), to_line = take_line(&text);
    const Mesh *mesh = read_mesh(arena, line);
    const Mesh *to_mesh = to_line.n > 0 ? read_mesh(arena, to_line) : mesh;
    Shape shape;
    Sharding from, to;
    if (mesh && to_mesh && read_shape(take_line(&text), &shape)) {
        Source source = {.name = "from", .text = take_line(&text)};
        Source target = {.name = "to", .text = take_line(&text)};
        if (sharding_parse(&source, &shape, mesh, VIEW_OURS, &from, NULL) &&
            sharding_parse(&target, &shape, to_mesh, VIEW_OURS, &to, NULL)) {
            if (to_line.n > 0)
                cross(arena, mesh, to_mesh, &from, &to);
            else
                compare(arena, mesh, &shape, &from, &to);
        }
    }
    arena_free(arena);
    return 0;
}
