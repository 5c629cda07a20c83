/* Reshards between meshes, executed: a device holds, for each element, the set of addends it has
 * summed. Steps on a mesh take only what a group holds; a message only what its source holds; in
 * the end each device of the target holds its part, every addend of it once. */
#include "tests/unit/addends.h"

#include "core/reshard/cross_mesh.h"

#include <math.h>

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Error err = {0};
    Source source = {.name = "mesh", .text = str_from(text)};
    const Mesh *mesh = mesh_parse(arena, &source, &err);
    if (!mesh)
        fail_msg("%s", err.text);
    return mesh;
}

static Machine machine_of(void)
{
    Machine machine = {.name = "test", .devices_per_node = 8};
    machine.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    machine.between = (Link){.name = "out", .latency_us = 5, .bytes_per_s = 50e9};
    return machine;
}

static Addends now, next;

static void follow(const Shape *shape, const Mesh *mesh, const Shardings *shardings,
                   const ReshardPath *path, int32_t from, int32_t to)
{
    for (int s = 0; s < path->n_steps; s++) {
        const Step *step = &path->step[s];
        assert_int_equal(step->from, from);
        assert_true(execute(shape, mesh, shardings, step, &now));
        from = step->to;
    }
    assert_int_equal(from, to);
}

static bool in_runs(const Runs *runs, int64_t index)
{
    for (int i = 0; i < runs->n; i++)
        if (index >= runs->at[i].start && index < runs->at[i].start + runs->at[i].length)
            return true;
    return false;
}

static bool in_box(const Shape *shape, const Runs *box, int64_t element)
{
    for (int d = (int)shape->n_dims - 1; d >= 0; d--) {
        if (!in_runs(&box[d], element % shape->dim[d]))
            return false;
        element /= shape->dim[d];
    }
    return true;
}

/* What a device of the target has of its own stays, where it is part of what it is to receive. */
static void keep_own(const Shape *shape, const CrossMeshSide *received, AtomSet sent_partial,
                     const Mesh *sent_mesh)
{
    AtomSet still = sharding_partials(received->sharding);
    for (int64_t p = 0; p < received->mesh->n_devices; p++) {
        int64_t device = mesh_device(received->mesh, p);
        for (int64_t q = 0; q < sent_mesh->n_devices; q++)
            if (mesh_device(sent_mesh, q) == device && still &&
                coordinate(sent_mesh, sent_partial, q) != coordinate(received->mesh, still, p))
                device = -1;
        for (int64_t e = 0; device >= 0 && e < shape_elements(shape); e++)
            if (holds(shape, received->mesh, received->sharding, p, e))
                next.of[device][e] = now.of[device][e];
    }
}

static void cross(const Shape *shape, const Crossing *crossing)
{
    int64_t total_bytes = 0;
    for (int i = 0; i < crossing->n_transfers; i++) {
        const Transfer *transfer = &crossing->transfer[i];
        int64_t n = 0;
        for (int64_t e = 0; e < shape_elements(shape); e++) {
            if (!in_box(shape, transfer->box, e))
                continue;
            uint32_t have = now.of[transfer->source][e];
            assert_int_not_equal(have, 0);
            for (int k = 0; k < transfer->n_targets; k++) {
                assert_int_equal(next.of[transfer->target[k]][e] & have, 0);
                next.of[transfer->target[k]][e] |= have;
            }
            n++;
        }
        assert_true(crossing->kind == STEP_BROADCAST || transfer->n_targets == 1);
        assert_int_equal(transfer->bytes, 4 * n);
        total_bytes += transfer->bytes * transfer->n_targets;
    }
    assert_int_equal(total_bytes, crossing->total_bytes);
    now = next;
}

static int seen_ways, seen_reduced;

static void run(const Shape *shape, const CrossMeshSide *from, const CrossMeshSide *to)
{
    Arena *arena = arena_new();
    Machine machine = machine_of();
    CrossMeshPath path;
    Error err = {0};
    if (!cross_mesh_reshard(arena, &machine, DT_F32, from, to, &path, &err))
        fail_msg("%s", err.text);
    CrossMeshSide sent = {from->mesh, shardings_at(path.from_shardings, path.sent)};
    CrossMeshSide received = {to->mesh, shardings_at(path.to_shardings, path.received)};
    start(shape, from->mesh, from->sharding, &now);
    follow(shape, from->mesh, path.from_shardings, path.before, path.from, path.sent);
    memset(&next, 0, sizeof next);
    keep_own(shape, &received, sharding_partials(sent.sharding), sent.mesh);
    cross(shape, &path.crossing);
    follow(shape, to->mesh, path.to_shardings, path.after, path.received, path.to);
    uint32_t whole = all_addends(from->mesh, sharding_partials(from->sharding));
    for (int64_t p = 0; p < to->mesh->n_devices; p++)
        for (int64_t e = 0; e < shape_elements(shape); e++)
            if (holds(shape, to->mesh, to->sharding, p, e))
                assert_int_equal(now.of[mesh_device(to->mesh, p)][e], whole);
    assert_true(fabs(path.us - path.before->us - path.crossing.us - path.after->us) < 1e-9);
    if (!sharding_is_uneven(from->sharding, from->mesh)) /* whose gathers are priced by the mean */
        assert_true(path.bound_us <= path.us * (1 + 1e-9));
    assert_true(path.way_us[path.way] <= path.us);
    for (int way = 0; way < CROSS_WAY_COUNT; way++)
        assert_true(path.us <= path.way_us[way] * (1 + 1e-6));
    seen_ways |= 1 << path.way;
    seen_reduced += path.crossing.reduce != REDUCE_NONE;
    arena_free(arena);
}

static const struct {
    const char *from, *to;
} pairs[] = {
    {"tp=[0,1]", "tp=[2,3]"},
    {"tp=[0,1]", "tp=[8,9,10,11]"},
    {"tp=[0,1,2,3]", "tp=[8,9]"},
    {"dp,tp=[[0,1],[2,3]]", "dp,tp=[[8,9],[10,11]]"},
    {"dp,tp=[[0,1],[2,3]]", "a,b=[[9,8],[11,10]]"},
    {"dp,tp=[[0,1,2],[3,4,5]]", "tp=[6,7,8,9,10,11,12,13]"},
    {"tp=[0,1,2,3]", "tp=[2,3,4,5]"},
    {"tp=[0,1,2,3]", "tp=[3,2,1,0]"},
    {"tp=[0,1,2]", "dp,tp=[[0,1],[2,3]]"},
    {"tp=[0,1,2,3,4,5]", "x=[5]"},
    {"x=[7]", "dp,tp=[[8,9],[10,11]]"},
    {"a,b,c=[[[0,1],[2,3]],[[4,5],[6,7]]]", "a,b,c=[[[8,9],[10,11]],[[12,13],[14,15]]]"},
};

static const ReduceOp sums[] = {REDUCE_SUM, REDUCE_SUM, REDUCE_SUM, REDUCE_SUM};

static const Shape shapes[] = {{.n_dims = 2, .dim = {12, 24}},
                               {.n_dims = 3, .dim = {6, 5, 8}},
                               {.n_dims = 2, .dim = {7, 9}},
                               {.n_dims = 1, .dim = {3}},
                               {.n_dims = 0}};

static void every_path_delivers_what_is_asked(void **state)
{
    (void)state;
    seed = 17;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        for (int k = 0; k < 150; k++) {
            Arena *arena = arena_new();
            const Shape *shape = &shapes[pick(COUNT_OF(shapes))];
            CrossMeshSide from = {.mesh = mesh_of(arena, pairs[i].from)};
            CrossMeshSide to = {.mesh = mesh_of(arena, pairs[i].to)};
            Sharding made = random_sharding(shape, from.mesh, sums);
            Sharding need = random_sharding(shape, to.mesh, NULL);
            from.sharding = &made;
            to.sharding = &need;
            run(shape, &from, &to);
            arena_free(arena);
        }
    assert_int_equal(seen_ways & (1 << CROSS_PARTS | 1 << CROSS_BROADCAST), 3);
    assert_true(seen_reduced > 50);
}

/* ---- what is chosen ---- */

/* "before; kind n x bytes way; after" */
typedef struct {
    const char *name, *from_mesh, *to_mesh, *from, *to, *want;
    Shape shape;
} Case;

#define LARGE                                                                                      \
    {                                                                                              \
        .n_dims = 2, .dim = { 4096, 4096 }                                                         \
    }

static Case cases[] = {
    {"equal parts are sent as they lie", "tp=[0,1]", "tp=[8,9]", "4096/tp,4096", "4096/tp,4096",
     "send 2 x 33554432", LARGE},
    {"replicas get a piece each, and gather", "tp=[0,1,2,3]", "tp=[8,9,10,11]", "4096,4096",
     "4096,4096", "send 4 x 16777216; all_gather tp", LARGE},
    {"a small value is sent to each",
     "tp=[0,1]",
     "tp=[8,9]",
     "16",
     "16",
     "send 2 x 64",
     {.n_dims = 1, .dim = {16}}},
    {"what is there already is not sent", "tp=[0,1]", "tp=[0,1]", "4096/tp,4096", "4096/tp,4096",
     "", LARGE},
    {"half of the devices stay", "tp=[0,1]", "tp=[1,2]", "4096,4096", "4096,4096/tp",
     "send 1 x 33554432", LARGE},
    {"addends are scattered before a slow link", "tp=[0,1]", "tp=[8,9]", "4096,4096 +tp",
     "4096/tp,4096", "reduce_scatter tp; send 2 x 33554432", LARGE},
};

static void add_steps(const ReshardPath *path, const Mesh *mesh, Buf *out)
{
    for (int i = 0; i < path->n_steps; i++) {
        buf_printf(out, "%s%s ", out->n > 0 ? "; " : "", step_kind_name(path->step[i].kind));
        mesh_format_set(mesh, path->step[i].atoms, ".", out);
    }
}

static void read_side(const Mesh *mesh, const Shape *shape, const char *text, Sharding *out)
{
    Error err = {0};
    Source source = {.name = "sharding", .text = str_from(text)};
    if (!sharding_parse(&source, shape, mesh, VIEW_OURS, out, &err))
        fail_msg("%s", err.text);
}

static void goes(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Machine machine = machine_of();
    Sharding made, need;
    CrossMeshSide from = {mesh_of(arena, row->from_mesh), &made};
    CrossMeshSide to = {mesh_of(arena, row->to_mesh), &need};
    read_side(from.mesh, &row->shape, row->from, &made);
    read_side(to.mesh, &row->shape, row->to, &need);
    CrossMeshPath path;
    assert_true(cross_mesh_reshard(arena, &machine, DT_F32, &from, &to, &path, NULL));
    Buf text = buf_new(arena);
    add_steps(path.before, from.mesh, &text);
    if (path.crossing.n_transfers > 0)
        buf_printf(&text, "%s%s %d x %lld", text.n > 0 ? "; " : "",
                   step_kind_name(path.crossing.kind), path.crossing.n_transfers,
                   (long long)path.crossing.transfer[0].bytes);
    add_steps(path.after, to.mesh, &text);
    assert_string_equal(text.s ? text.s : "", row->want);
    arena_free(arena);
}

static void other_shapes_and_partial_targets_are_refused(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Machine machine = machine_of();
    CrossMeshPath path;
    Sharding made, need, partial;
    CrossMeshSide from = {mesh_of(arena, "tp=[0,1]"), &made};
    CrossMeshSide to = {mesh_of(arena, "tp=[2,3]"), &need};
    read_side(from.mesh, &shapes[0], "12,24", &made);
    read_side(to.mesh, &shapes[2], "7,9", &need);
    read_side(to.mesh, &shapes[0], "12,24 +tp", &partial);
    Error err = {0}, other = {0};
    assert_false(cross_mesh_reshard(arena, &machine, DT_F32, &from, &to, &path, &err));
    assert_int_equal(err.kind, ERROR_RANK);
    to.sharding = &partial;
    assert_false(cross_mesh_reshard(arena, &machine, DT_F32, &from, &to, &path, &other));
    assert_int_equal(other.kind, ERROR_PARTIAL);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_delivers_what_is_asked),
        cmocka_unit_test(other_shapes_and_partial_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_rows("goes", cases, goes);
}
