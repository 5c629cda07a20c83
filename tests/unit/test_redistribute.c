/* Steps of torch's and veScale's redistributions, run on indices (moves_run.h): torch's are right;
 * veScale's are wrong where an axis is moved that another cuts within, and right where no dim is
 * cut twice. */
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/peers/torch/moves_run.h"

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "mesh", .text = str_from(text)};
    return mesh_parse(arena, &source, NULL);
}

static void random_placements(const Mesh *mesh, const Shape *shape, int kinds, Placement *out)
{
    for (int i = 0; i < mesh->n_axes; i++) {
        int kind = pick(kinds), dim = pick((int)shape->n_dims);
        out[i] = (Placement){.kind = PLACE_REPLICATE};
        if (kind == 1 || kind == 2)
            out[i] = (Placement){.kind = PLACE_SHARD, .dim = dim, .factor = 1};
        if (kind == 3)
            out[i] = (Placement){.kind = PLACE_PARTIAL, .factor = 1, .reduce = REDUCE_SUM};
    }
}

static MovesOutcome outcome(const Redistribution *move, int *n_moves)
{
    Arena *arena = arena_new();
    TorchMoves moves = {0};
    assert_true(redistribute_plan(arena, move, &moves, NULL));
    MovesOutcome out = moves_run(move, &moves);
    *n_moves += moves.n;
    arena_free(arena);
    return out;
}

static const char *const meshes[] = {"x=4", "x=2,y=2", "x=2,y=3", "x=2,y=2,z=2", "x=3,y=2,z=4"};
static const Shape shapes[] = {{.n_dims = 1, .dim = {48}},
                               {.n_dims = 2, .dim = {96, 24}},
                               {.n_dims = 2, .dim = {5, 9}},
                               {.n_dims = 3, .dim = {7, 24, 13}}};

static void torch_delivers(void **state)
{
    (void)state;
    seed = 5;
    int n_moves = 0;
    Arena *arena = arena_new();
    for (int i = 0; i < 4000; i++) {
        const Mesh *mesh = mesh_of(arena, meshes[i % (int)COUNT_OF(meshes)]);
        const Shape *shape = &shapes[pick(COUNT_OF(shapes))];
        Placement from[MESH_AXES_MAX], to[MESH_AXES_MAX];
        random_placements(mesh, shape, 4, from);
        random_placements(mesh, shape, 3, to);
        Redistribution move = {.mesh = mesh, .shape = shape, .from = from, .to = to};
        move.dtype = DT_F32;
        move.planner = i % 2 ? PLANNER_GREEDY : PLANNER_GRAPH;
        assert_int_equal(outcome(&move, &n_moves), MOVES_RIGHT);
    }
    assert_true(n_moves > 4000);
    arena_free(arena);
}

/* On a mesh of two axes: one that cuts the dim from without comes or goes, the one within stays. */
static bool breaks_a_nest(const Mesh *mesh, const Placement *from, const Placement *to)
{
    if (mesh->n_axes != 2 || from[1].kind != PLACE_SHARD || !placement_equal(&from[1], &to[1]))
        return false;
    return placement_equal(&from[0], &from[1]) != placement_equal(&to[0], &to[1]);
}

/* No dim is ever cut twice. */
static bool has_no_nest(const Mesh *mesh, const Placement *from, const Placement *to)
{
    int n_cuts[DIMS_MAX] = {0};
    for (int i = 0; i < mesh->n_axes; i++) {
        if (from[i].kind == PLACE_SHARD)
            n_cuts[from[i].dim]++;
        if (to[i].kind == PLACE_SHARD && !placement_equal(&from[i], &to[i]))
            n_cuts[to[i].dim]++;
    }
    for (int d = 0; d < DIMS_MAX; d++)
        if (n_cuts[d] > 1)
            return false;
    return true;
}

/* On dims that divide, so that only the order of steps matters. */
static void vescale_is_wrong_where_a_nest_is_broken(void **state)
{
    (void)state;
    seed = 6;
    int n_moves = 0, n_wrong = 0, n_right = 0;
    Arena *arena = arena_new();
    const Shape shape = {.n_dims = 3, .dim = {96, 48, 24}};
    for (int i = 0; i < 4000; i++) {
        const Mesh *mesh = mesh_of(arena, meshes[i % (int)COUNT_OF(meshes)]);
        Placement from[MESH_AXES_MAX], to[MESH_AXES_MAX];
        random_placements(mesh, &shape, 4, from);
        random_placements(mesh, &shape, 3, to);
        Redistribution move = {.mesh = mesh, .shape = &shape, .from = from, .to = to};
        move.planner = PLANNER_VESCALE;
        bool right = outcome(&move, &n_moves) == MOVES_RIGHT;
        if (breaks_a_nest(mesh, from, to))
            assert_false(right);
        if (has_no_nest(mesh, from, to))
            assert_true(right);
        n_right += right;
        n_wrong += !right;
    }
    assert_true(n_right > 2000 && n_wrong > 200);
    arena_free(arena);
}

/* ---- single cases ---- */

typedef struct {
    const char *name, *mesh, *from, *to; /* placements with '/' between */
    RedistributePlanner planner;
    MovesOutcome want;
    Shape shape;
} Case;

#define EVEN                                                                                       \
    {                                                                                              \
        .n_dims = 2, .dim = { 4096, 768 }                                                          \
    }

static Case cases[] = {
    {"outer shard given up", "x=2,y=2", "S(0)/S(0)", "R/S(0)", PLANNER_VESCALE, MOVES_WRONG, EVEN},
    {"the same by torch", "x=2,y=2", "S(0)/S(0)", "R/S(0)", PLANNER_GREEDY, MOVES_RIGHT, EVEN},
    {"outer shard taken up", "x=2,y=2", "R/S(0)", "S(0)/S(0)", PLANNER_VESCALE, MOVES_WRONG, EVEN},
    {"inner shard given up", "x=2,y=2", "S(0)/S(0)", "S(0)/R", PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"both given up", "x=2,y=2", "S(0)/S(0)", "R/R", PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"other dims", "x=2,y=2", "S(0)/S(1)", "S(1)/S(0)", PLANNER_VESCALE, MOVES_WRONG, EVEN},
    {"blocks to a shard", "x=4", "IS(0,4)", "S(0)", PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"a sum to blocks", "x=4", "P(sum)", "IS(1,3)", PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"mean called sum", "x=4", "P(avg)", "P(sum)", PLANNER_VESCALE, MOVES_WRONG, EVEN},
    {"sum called mean", "x=4", "P(sum)", "P(avg)", PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"a nest broken, and mended by chance", "x=2,y=2,z=2", "S(0)/R/S(0)", "R/S(0)/S(0)",
     PLANNER_VESCALE, MOVES_RIGHT, EVEN},
    {"an order of axes", "x=2,y=2", "_S(0,2)/S(0)", "R/S(0)", PLANNER_DEFAULT, MOVES_RIGHT, EVEN},
    {"strided pieces", "x=4", "_S(0,3)", "S(1)", PLANNER_DEFAULT, MOVES_RIGHT, EVEN},
    {"strided pieces sliced before they are gathered", "x=2,y=2", "_S(0,2)/R", "R/S(0)",
     PLANNER_DEFAULT, MOVES_WRONG, EVEN},
    {"order and strides differ",
     "x=3,y=2",
     "_S(0,2)/S(0)",
     "S(0)/R",
     PLANNER_DEFAULT,
     MOVES_WRONG,
     {.n_dims = 1, .dim = {7}}},
    {"a large uneven dim",
     "x=4",
     "S(0)",
     "R",
     PLANNER_GREEDY,
     MOVES_RIGHT,
     {.n_dims = 1, .dim = {50257}}},
    {"too large",
     "x=4",
     "S(0)",
     "R",
     PLANNER_GREEDY,
     MOVES_NOT_RUN,
     {.n_dims = 1, .dim = {1000003}}},
    {"large and even",
     "x=4",
     "S(0)",
     "R",
     PLANNER_GREEDY,
     MOVES_RIGHT,
     {.n_dims = 1, .dim = {(int64_t)1 << 40}}},
};

static const Placement *read(Arena *arena, const Mesh *mesh, const Shape *shape, const char *text)
{
    Placement *out = arena_array(arena, Placement, mesh->n_axes);
    Source source = {"placements", str_from(text)};
    Scan scan = scan_begin(&source, NULL);
    for (int i = 0; i < mesh->n_axes; i++) {
        assert_true(placement_scan(&scan, shape->n_dims, &out[i]));
        scan_accept(&scan, '/');
    }
    return out;
}

static void comes_out(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    int n_moves = 0;
    Redistribution move = {.mesh = mesh_of(arena, row->mesh), .shape = &row->shape};
    move.dtype = DT_F32;
    move.planner = row->planner;
    move.from = read(arena, move.mesh, &row->shape, row->from);
    move.to = read(arena, move.mesh, &row->shape, row->to);
    assert_int_equal(outcome(&move, &n_moves), row->want);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_delivers),
        cmocka_unit_test(vescale_is_wrong_where_a_nest_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_rows("comes out", cases, comes_out);
}
