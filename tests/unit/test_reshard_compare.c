/* Four planners of one reshard: the steps of each, in our form, executed on tagged elements. A rank
 * holds for each element the set of addends it has summed, and a step may only take what its group
 * holds. Steps of plain shards are called right if and only if they do that, but for what veScale
 * breaks and mends by chance. None that delivers is cheaper than ours. */
#include "tests/unit/addends.h"

#include "core/reshard/compare.h"

#include <math.h>

/* The planners in their order: ours, then those of core/peers/torch/planners.c. */
typedef enum {
    PLANNED_TORCH_GREEDY = PLANNED_OURS + 1,
    PLANNED_TORCH_GRAPH,
    PLANNED_VESCALE,
    PLANNED_BY_COUNT
} PlannedBy;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Machine machine;
    Shardings *shardings;
    ReshardQuestion question;
    Shape shape;
} Fixture;

static Fixture *fixture(const char *mesh, const Shape *shape)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    Source source = {.name = "mesh", .text = str_from(mesh)};
    f->arena = arena;
    f->shape = *shape;
    f->mesh = mesh_parse(arena, &source, NULL);
    f->shardings = shardings_new(arena);
    f->machine = (Machine){.name = "test", .devices_per_node = 16};
    f->machine.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    f->machine.between = f->machine.inside;
    f->question = (ReshardQuestion){.mesh = f->mesh,
                                    .machine = &f->machine,
                                    .shardings = f->shardings,
                                    .shape = &f->shape,
                                    .dtype = DT_F32};
    f->question.resharder = resharder_new(arena, f->mesh, &f->machine, f->shardings);
    return f;
}

/* Each rank ends with the addends of the axes reduced, and those of the others that are its own. */
static bool ends_right(const Fixture *f, const Addends *held)
{
    const Sharding *from = shardings_at(f->shardings, f->question.from);
    const Sharding *to = shardings_at(f->shardings, f->question.to);
    AtomSet was = sharding_partials(from), still = sharding_partials(to);
    for (int64_t p = 0; p < f->mesh->n_devices; p++)
        for (int64_t e = 0; e < shape_elements(&f->shape); e++) {
            uint32_t want = 0;
            for (int64_t q = 0; q < f->mesh->n_devices; q++)
                if (coordinate(f->mesh, still, q) == coordinate(f->mesh, still, p))
                    want |= 1u << coordinate(f->mesh, was, q);
            if (holds(&f->shape, f->mesh, to, p, e) && held->of[p][e] != want)
                return false;
        }
    return true;
}

static bool delivers(const Fixture *f, const PlannedReshard *planned)
{
    static Addends held;
    int32_t at = f->question.from;
    start(&f->shape, f->mesh, shardings_at(f->shardings, at), &held);
    for (int i = 0; i < planned->n_steps; i++) {
        assert_int_equal(planned->step[i].from, at);
        at = planned->step[i].to;
        if (!execute(&f->shape, f->mesh, f->shardings, &planned->step[i], &held))
            return false;
    }
    return at == f->question.to && ends_right(f, &held);
}

static void check_prices(const Fixture *f, const PlannedReshard *planned)
{
    double us = 0;
    int64_t wire_bytes = 0;
    for (int i = 0; i < planned->n_steps; i++) {
        const Step *step = &planned->step[i];
        Price price = price_step(&f->machine, f->mesh, step->kind, step->atoms, step->bytes);
        us += price.us;
        wire_bytes += price.wire_bytes;
    }
    assert_true(fabs(us - planned->us) <= 1e-9 * us);
    assert_int_equal(wire_bytes, planned->wire_bytes);
    assert_true(planned->peak_bytes > 0 || shape_elements(&f->shape) == 0);
}

static Sharding random_placements(const Fixture *f, const Sharding *partial_as)
{
    Sharding sharding = sharding_whole(&f->shape);
    for (int i = 0; i < f->mesh->n_axes; i++) {
        const MeshAxis *axis = &f->mesh->axes[i];
        int where = pick((int)f->shape.n_dims + 2);
        bool may = !partial_as || partial_as->partial[axis->atom] != REDUCE_NONE;
        for (int k = 0; k < axis->n_atoms; k++) {
            uint8_t atom = (uint8_t)(axis->atom + k);
            if (where > f->shape.n_dims && may)
                sharding.partial[atom] = REDUCE_SUM;
            if (where >= f->shape.n_dims)
                continue;
            Cut *cut = &sharding.dim[where];
            if (cut->n == 1 && cut->digit[0].n == 0 && cut->digit[0].size % 3 == 0 && pick(4) == 0)
                *cut = (Cut){.n = 2, .digit = {{.size = 3}, {.size = cut->digit[0].size / 3}}};
            Digit *digit = &cut->digit[cut->n - 1];
            digit->atom[digit->n++] = atom;
        }
    }
    for (int d = 0; d < sharding.n_dims; d++)
        cut_canonical(&sharding.dim[d], f->mesh);
    return sharding;
}

/* Gathered in another order than they are cut, blocks come to lie elsewhere: groups may hold what
 * is needed, but torch puts it together as the factor says; and now and then that mends itself. */
static bool has_blocks(const Fixture *f)
{
    const Sharding *from = shardings_at(f->shardings, f->question.from);
    const Sharding *to = shardings_at(f->shardings, f->question.to);
    for (int d = 0; d < f->shape.n_dims; d++)
        if (from->dim[d].n > 1 || to->dim[d].n > 1)
            return true;
    return false;
}

static int n_planned[PLANNED_BY_COUNT], n_wrong[PLANNED_BY_COUNT], n_by_chance;

static void check_one(Fixture *f, const PlannedReshard *planned, int by)
{
    if (planned->why_not)
        return;
    bool right = planned->outcome == MOVES_RIGHT, delivered = delivers(f, planned);
    check_prices(f, planned);
    n_planned[by]++;
    n_wrong[by] += !right;
    n_by_chance += right && !delivered;
    if (by == PLANNED_OURS)
        assert_true(right && delivered);
    if (delivered && !has_blocks(f))
        assert_true(right);
    if (right && by != PLANNED_VESCALE && !has_blocks(f))
        assert_true(delivered);
    if (right && delivered)
        assert_true(planned->ratio >= 1 - 1e-9);
}

static const char *const meshes[] = {"dp=2,tp=4", "a=2,b=2,c=2", "a=3,b=2", "tp=8", "a=3,b=4"};
static const Shape shapes[] = {{.n_dims = 2, .dim = {12, 24}},
                               {.n_dims = 3, .dim = {6, 5, 8}},
                               {.n_dims = 2, .dim = {7, 9}},
                               {.n_dims = 2, .dim = {16, 8}}};

static void every_planner_is_judged_as_it_delivers(void **state)
{
    (void)state;
    seed = 31;
    for (size_t m = 0; m < COUNT_OF(meshes); m++)
        for (size_t s = 0; s < COUNT_OF(shapes); s++) {
            Fixture *f = fixture(meshes[m], &shapes[s]);
            for (int i = 0; i < 100; i++) {
                PlannedReshard planned[PLANNED_MAX];
                Sharding from = random_placements(f, NULL), to = random_placements(f, &from);
                f->question.from = shardings_put(f->shardings, &from);
                f->question.to = shardings_put(f->shardings, &to);
                assert_true(reshard_compare(f->arena, &f->question, planned, NULL));
                for (int by = 0; by < PLANNED_BY_COUNT; by++)
                    check_one(f, &planned[by], by);
            }
            arena_free(f->arena);
        }
    assert_true(n_planned[PLANNED_OURS] == 2000 && n_wrong[PLANNED_OURS] == 0);
    assert_true(n_planned[PLANNED_TORCH_GREEDY] > 1500);
    assert_true(n_planned[PLANNED_TORCH_GRAPH] > 1500);
    assert_true(n_planned[PLANNED_VESCALE] > 1500 && n_wrong[PLANNED_VESCALE] > 100);
    assert_true(n_by_chance < 50);
}

/* ---- what each of them does ---- */

/* "us ratio outcome: steps" of one planner */
typedef struct {
    const char *name, *mesh, *from, *to;
    PlannedBy by;
    const char *want;
    Shape shape;
} Case;

#define MATRIX                                                                                     \
    {                                                                                              \
        .n_dims = 2, .dim = { 1024, 768 }                                                          \
    }

static Case cases[] = {
    {"veScale gathers what is cut within", "x=2,y=2", "1024/x.y,768", "1024/y,768", PLANNED_VESCALE,
     "wrong: all_gather x 1024/y,768", MATRIX},
    {"torch gathers both", "x=2,y=2", "1024/x.y,768", "1024/y,768", PLANNED_TORCH_GREEDY,
     "right: all_gather y 1024/x,768; all_gather x 1024,768; slice  1024/y,768", MATRIX},
    {"an order of axes is torch's other planner", "x=2,y=2", "1024/y.x,768", "1024/y,768",
     PLANNED_TORCH_GREEDY, "right: all_gather x 1024/y,768", MATRIX},
    {"three nested, graph",
     "x=2,y=2,z=2",
     "64/x.y.z,64",
     "64,64/x.y.z",
     PLANNED_TORCH_GRAPH,
     "right: all_gather z 64/x.y,64; all_gather y 64/x,64; all_gather x 64,64; slice  64,64/x; "
     "slice  64,64/x.y; slice  64,64/x.y.z",
     {.n_dims = 2, .dim = {64, 64}}},
    {"blocks by veScale", "x=4", "1024,(3)(256/x)", "1024,768/x", PLANNED_VESCALE,
     "right: all_gather x 1024,768; slice  1024,768/x", MATRIX},
    {"a part of an axis", "x=4", "1024/x:(1)2,768", "1024,768", PLANNED_VESCALE,
     "axis 'x' shards into parts that are not contiguous: no placement", MATRIX},
    {"nothing to do", "x=4", "1024/x,768", "1024/x,768", PLANNED_TORCH_GRAPH, "right:", MATRIX},
};

static void read_sharding(const Fixture *f, const char *text, int32_t *out)
{
    Sharding sharding;
    Source source = {.name = "sharding", .text = str_from(text)};
    assert_true(sharding_parse(&source, &f->shape, f->mesh, VIEW_OURS, &sharding, NULL));
    *out = shardings_put(f->shardings, &sharding);
}

static const char *planned_text(const Fixture *f, const PlannedReshard *planned)
{
    if (planned->why_not)
        return planned->why_not;
    Buf text = buf_new(f->arena);
    buf_puts(&text, planned->outcome == MOVES_RIGHT ? "right:" : "wrong:");
    for (int i = 0; i < planned->n_steps; i++) {
        const Step *step = &planned->step[i];
        buf_printf(&text, "%s %s ", i ? ";" : "", step_kind_name(step->kind));
        mesh_format_set(f->mesh, step->atoms, ".", &text);
        buf_putc(&text, ' ');
        sharding_format(shardings_at(f->shardings, step->to), f->mesh, VIEW_OURS_ASCII, &text,
                        NULL);
    }
    return text.s;
}

static void plans(void **state)
{
    const Case *row = *state;
    Fixture *f = fixture(row->mesh, &row->shape);
    PlannedReshard planned[PLANNED_MAX];
    read_sharding(f, row->from, &f->question.from);
    read_sharding(f, row->to, &f->question.to);
    assert_true(reshard_compare(f->arena, &f->question, planned, NULL));
    assert_string_equal(planned_text(f, &planned[row->by]), row->want);
    arena_free(f->arena);
}

static void a_value_is_not_made_partial(void **state)
{
    (void)state;
    Fixture *f = fixture("x=4", &shapes[0]);
    PlannedReshard planned[PLANNED_MAX];
    Error err = {0};
    read_sharding(f, "12,24", &f->question.from);
    read_sharding(f, "12,24 +x", &f->question.to);
    assert_false(reshard_compare(f->arena, &f->question, planned, &err));
    assert_int_equal(err.kind, ERROR_PARTIAL);
    arena_free(f->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_planner_is_judged_as_it_delivers),
        cmocka_unit_test(a_value_is_not_made_partial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_rows("plans", cases, plans);
}
