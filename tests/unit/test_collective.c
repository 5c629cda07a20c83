/* Steps done by all ranks on tagged elements: element g of rank r's addend is (g + 1) * (c + 1), c
 * the rank's place among those it is partial with. Every path between random shardings is followed
 * and every element on every rank compared; a step whose group is too small must say so. */
#include "tests/unit/unit.h"

#include "core/run/collective.h"

enum { RANKS_MAX = 16 };

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Shape shape;
    Shardings *shardings;
    Resharder *resharder;
} Fixture;

static Fixture fixture(const char *mesh, const Shape *shape)
{
    Fixture f = {.arena = arena_new(), .shape = *shape};
    Source source = {"mesh", str_from(mesh)};
    f.mesh = mesh_parse(f.arena, &source, NULL);
    assert_non_null(f.mesh);
    Machine *machine = arena_make(f.arena, Machine);
    *machine = (Machine){.name = "test", .devices_per_node = 16};
    machine->inside = machine->between =
        (Link){.name = "link", .latency_us = 2, .bytes_per_s = 400e9};
    f.shardings = shardings_new(f.arena);
    f.resharder = resharder_new(f.arena, f.mesh, machine, f.shardings);
    return f;
}

static Shape shape_of(const char *text)
{
    Shape shape = {0};
    for (Str rest = str_from(text); rest.n > 0; shape.n_dims++) {
        int64_t comma = str_find(rest, STR(","));
        size_t n = comma < 0 ? rest.n : (size_t)comma;
        assert_true(str_to_int((Str){rest.s, n}, &shape.dim[shape.n_dims]));
        n += comma >= 0;
        rest = (Str){rest.s + n, rest.n - n};
    }
    return shape;
}

static Sharding sharding_of(const Fixture *f, const char *text)
{
    Sharding sharding;
    Error err = {0};
    Source source = {"sharding", str_from(text)};
    if (!sharding_parse(&source, &f->shape, f->mesh, VIEW_OURS, &sharding, &err))
        fail_msg("%s: %s", text, err.text);
    return sharding;
}

/* ---- tagged elements ---- */

static int64_t place_among(const Mesh *mesh, AtomSet atoms, int64_t position)
{
    int64_t place = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            place = place * mesh->atoms[a].size + mesh_atom_coord(mesh, a, position);
    return place;
}

/* What the rank's element g is, once the atoms of `summed` are combined. */
static int64_t want(const Fixture *f, const Sharding *from, AtomSet summed, ReduceOp reduce,
                    int64_t position, int64_t g)
{
    int64_t n = mesh_atoms_size(f->mesh, summed), value = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t member = mesh_group_member(f->mesh, summed, position, i);
        int64_t one = (g + 1) * (place_among(f->mesh, sharding_partials(from), member) + 1);
        value = reduce == REDUCE_MAX ? (one > value ? one : value) : value + one;
    }
    return reduce == REDUCE_AVG ? value / n : value;
}

/* Fills, or compares, every element of a part; its global place from the runs alone. */
static void each_element(const Fixture *f, Local *part, const Sharding *from, AtomSet summed,
                         ReduceOp reduce, int64_t position, bool compare)
{
    int64_t n = shape_elements(&part->shape), *data = part->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = 0, stride = 1, rest = i;
        for (int64_t d = f->shape.n_dims - 1; d >= 0; d--) {
            int64_t place = rest % part->shape.dim[d], run = 0;
            rest /= part->shape.dim[d];
            while (place >= part->runs[d].at[run].length)
                place -= part->runs[d].at[run++].length;
            g += (part->runs[d].at[run].start + place) * stride;
            stride *= f->shape.dim[d];
        }
        int64_t value = want(f, from, summed, reduce, position, g);
        if (compare)
            assert_int_equal(data[i], value);
        data[i] = value;
    }
}

typedef struct {
    Local *at[RANKS_MAX];
} Parts;

static Parts parts_of(const Fixture *f, const Sharding *sharding)
{
    Parts parts = {{NULL}};
    for (int64_t r = 0; r < f->mesh->n_devices; r++)
        parts.at[r] = local_new(DT_I64, &f->shape, sharding, f->mesh, r);
    return parts;
}

static void parts_free(Parts *parts)
{
    for (int r = 0; r < RANKS_MAX; r++)
        local_free(parts->at[r]);
}

static bool rank_does(const Fixture *f, const Collective *collective, const Parts *from, Parts *to,
                      int64_t rank, Error *err)
{
    const Local *held[RANKS_MAX];
    int64_t n = mesh_atoms_size(f->mesh, collective->atoms);
    for (int64_t i = 0; i < n; i++)
        held[i] = from->at[mesh_group_member(f->mesh, collective->atoms, rank, i)];
    return collective_run(collective, rank, held, to->at[rank], f->arena, err);
}

/* Does the step on all ranks; *parts becomes what they hold after it. */
static bool all_do(const Fixture *f, const Sharding *from, const Sharding *to, AtomSet atoms,
                   Parts *parts, Error *err)
{
    Collective collective = {f->mesh, from, to, atoms};
    Parts next = parts_of(f, to);
    bool ok = true;
    for (int64_t r = 0; ok && r < f->mesh->n_devices; r++)
        ok = rank_does(f, &collective, parts, &next, r, err);
    parts_free(parts);
    *parts = next;
    return ok;
}

static void do_path(Fixture *f, const Sharding *from, const Sharding *to, Parts *parts)
{
    const ReshardPath *path = reshard(f->resharder, DT_I64, shardings_put(f->shardings, from),
                                      shardings_put(f->shardings, to));
    for (int i = 0; i < path->n_steps; i++) {
        const Step *step = &path->step[i];
        Error err = {0};
        if (!all_do(f, shardings_at(f->shardings, step->from), shardings_at(f->shardings, step->to),
                    step->atoms, parts, &err))
            fail_msg("%s: %s", step_kind_name(step->kind), err.text);
    }
}

static void follow_path(Fixture *f, const Sharding *from, const Sharding *to, ReduceOp reduce)
{
    AtomSet summed = sharding_partials(from) & ~sharding_partials(to);
    Parts parts = parts_of(f, from);
    for (int64_t r = 0; r < f->mesh->n_devices; r++)
        each_element(f, parts.at[r], from, 0, reduce, r, false);
    do_path(f, from, to, &parts);
    for (int64_t r = 0; r < f->mesh->n_devices; r++)
        each_element(f, parts.at[r], from, summed, reduce, r, true);
    parts_free(&parts);
}

/* ---- paths of named pairs ---- */

typedef struct {
    const char *name, *mesh, *shape, *from, *to;
    ReduceOp reduce;
} PathRow;

static PathRow path_rows[] = {
    {"nothing to do", "tp=2", "4,6", "4/tp,6", "4/tp,6", REDUCE_SUM},
    {"slice", "tp=4", "8,6", "8,6", "8/tp,6", REDUCE_SUM},
    {"slice, uneven", "tp=4", "8,6", "8,6", "8,6/tp", REDUCE_SUM},
    {"slice to nothing", "tp=4", "2,3", "2,3", "2/tp,3", REDUCE_SUM},
    {"all-gather", "dp=2,tp=2", "8,6", "8/dp.tp,6", "8/dp,6", REDUCE_SUM},
    {"all-gather of uneven parts", "tp=4", "10", "10/tp", "10", REDUCE_SUM},
    {"all-gather of digits", "dp=2,tp=2", "12,5", "(3)(4/tp),5", "12,5", REDUCE_SUM},
    {"all-reduce", "tp=4", "4,6", "4,6 +tp", "4,6", REDUCE_SUM},
    {"all-reduce on a cut", "dp=2,tp=4", "4,6", "4/dp,6 +tp", "4/dp,6", REDUCE_SUM},
    {"all-reduce over two axes", "dp=2,tp=4", "4,6", "4,6 +dp +tp", "4,6", REDUCE_SUM},
    {"one of two stays partial", "dp=2,tp=4", "4,6", "4,6 +dp +tp", "4,6 +dp", REDUCE_SUM},
    {"maximum", "tp=4", "4,6", "4,6 max(tp)", "4,6", REDUCE_MAX},
    {"mean", "tp=3", "4,6", "4,6 avg(tp)", "4,6", REDUCE_AVG},
    {"reduce-scatter", "tp=4", "8,6", "8,6 +tp", "8/tp,6", REDUCE_SUM},
    {"reduce-scatter, uneven", "tp=4", "7,6", "7,6 +tp", "7/tp,6", REDUCE_SUM},
    {"all-to-all", "tp=4", "8,12", "8/tp,12", "8,12/tp", REDUCE_SUM},
    {"all-to-all of uneven parts", "tp=4", "7,10", "7/tp,10", "7,10/tp", REDUCE_SUM},
    {"axes change places", "dp=2,tp=4", "8,8", "8/dp,8/tp", "8/tp,8/dp", REDUCE_SUM},
    {"another order of axes", "dp=2,tp=4", "16", "16/dp.tp", "16/tp.dp", REDUCE_SUM},
    {"to digits", "tp=4", "48", "48/tp", "(3)(16/tp)", REDUCE_SUM},
    {"batch and heads in one dim", "dp=2,tp=3", "48", "(8/dp)(6/tp)", "48/dp.tp", REDUCE_SUM},
    {"a sub-axis", "tp=8", "16,8", "16/tp:(1)2,8", "16/tp,8", REDUCE_SUM},
    {"cut and partial to another cut", "dp=2,tp=2", "4,6", "4/dp,6 +tp", "4,6/dp", REDUCE_SUM},
    {"a scalar", "tp=4", "", "scalar +tp", "scalar", REDUCE_SUM},
    {"no elements", "tp=2", "4,0", "4/tp,0", "4,0", REDUCE_SUM},
    {"more ranks than elements", "dp=4,tp=4", "3,2", "3/dp,2/tp", "3,2", REDUCE_SUM},
};

static void path_is_right(void **state)
{
    const PathRow *row = *state;
    Shape shape = shape_of(row->shape);
    Fixture f = fixture(row->mesh, &shape);
    Sharding from = sharding_of(&f, row->from), to = sharding_of(&f, row->to);
    follow_path(&f, &from, &to, row->reduce);
    arena_free(f.arena);
}

/* ---- made partial ---- */

typedef struct {
    const char *name, *from, *by;
} AddendsRow;

static AddendsRow addends_rows[] = {
    {"of a sum", "8,6", "8,6 +tp"},
    {"of a sum over two axes", "8,6", "8,6 +dp +tp"},
    {"beside a sum that is there", "8,6", "8/dp,6 +tp"},
    {"of what is cut by the axis", "8/tp,6", "8,6 +tp"},
    {"of what is cut otherwise", "8/tp,6/dp", "8/dp,6 +tp"},
    {"of a largest", "8,6", "8,6 max(tp)"},
    {"of a least", "8,6", "8,6/dp min(tp)"},
    {"of a mean", "8,6", "8,6 avg(tp)"},
};

/* Reduced again, the value is back. */
static void made_partial_and_reduced_is_the_value(void **state)
{
    const AddendsRow *row = *state;
    Shape shape = shape_of("8,6");
    Fixture f = fixture("dp=2,tp=4", &shape);
    Sharding from = sharding_of(&f, row->from), by = sharding_of(&f, row->by);
    Sharding whole = sharding_whole(&shape);
    Parts parts = parts_of(&f, &from);
    for (int64_t r = 0; r < 8; r++)
        each_element(&f, parts.at[r], &from, 0, REDUCE_SUM, r, false);
    do_path(&f, &from, &by, &parts);
    do_path(&f, &by, &whole, &parts);
    for (int64_t r = 0; r < 8; r++)
        each_element(&f, parts.at[r], &whole, 0, REDUCE_SUM, r, true);
    parts_free(&parts);
    arena_free(f.arena);
}

/* ---- paths of random pairs ---- */

typedef struct {
    uint32_t seed;
} Random;

static int pick(Random *random, int n)
{
    random->seed = random->seed * 1664525u + 1013904223u;
    return (int)((random->seed >> 8) % (uint32_t)n);
}

/* The dim cut by the atoms, sometimes on a minor digit. */
static Cut random_cut(Random *random, const Mesh *mesh, int64_t size, const uint8_t *atom, int n)
{
    Cut plain = cut_by(size, atom, n, mesh);
    int64_t outer = 2 + pick(random, 3);
    if (n == 0 || pick(random, 3) > 0 || size % outer != 0)
        return plain;
    Cut major = cut_whole(outer), minor = cut_by(size / outer, atom, n, mesh), out;
    const Cut *parts[] = {&major, &minor};
    return cut_concat(parts, 2, mesh, &out) ? out : plain;
}

/* Each atom cuts a dim, makes the value partial, or neither. */
static Sharding random_sharding(Random *random, const Fixture *f, bool partial)
{
    uint8_t atom[DIMS_MAX][ATOMS_MAX];
    int n[DIMS_MAX] = {0};
    Sharding sharding = sharding_whole(&f->shape);
    for (int a = 0; a < f->mesh->n_atoms; a++) {
        int d = pick(random, (int)f->shape.n_dims + 2);
        if (d < f->shape.n_dims)
            atom[d][n[d]++] = (uint8_t)a;
        else if (partial && d == f->shape.n_dims)
            sharding.partial[a] = REDUCE_SUM;
    }
    for (int d = 0; d < f->shape.n_dims; d++)
        sharding.dim[d] = random_cut(random, f->mesh, f->shape.dim[d], atom[d], n[d]);
    return sharding;
}

static void random_paths_are_right(void **state)
{
    static const char *const meshes[] = {"tp=4", "dp=2,tp=3", "a=2,b=2,c=3", "dp=4,tp=4", "x=5"};
    static const char *const shapes[] = {"12", "6,8", "7,5,4", "24,3"};
    Random random = {7};
    (void)state;
    for (int i = 0; i < 400; i++) {
        Shape shape = shape_of(shapes[pick(&random, 4)]);
        Fixture f = fixture(meshes[pick(&random, 5)], &shape);
        Sharding from = random_sharding(&random, &f, true);
        Sharding to = random_sharding(&random, &f, false);
        follow_path(&f, &from, &to, REDUCE_SUM);
        arena_free(f.arena);
    }
}

/* ---- steps that cannot be right ---- */

typedef struct {
    const char *name, *from, *to, *axes, *want;
} WrongRow;

static WrongRow wrong_rows[] = {
    {"gathers from too few", "8/dp.tp,6", "8,6", "tp", "24 elements are not in the group"},
    {"a slice of another's part", "8/tp,6", "8,6/tp", "", "12 elements are not in the group"},
    {"sums too few addends", "8,6 +dp +tp", "8,6", "tp", "addends are outside the group"},
    {"drops a partial", "8,6 +tp", "8,6", "", "addends are outside the group"},
    {"makes partial", "8,6", "8,6 prod(tp)", "tp", "a value cannot be made partial by prod"},
    {"another reduction", "8,6 max(tp)", "8,6 +tp", "tp",
     "a partial value cannot become partial by another reduction"},
    {"two reductions", "8,6 +dp max(tp)", "8,6", "dp,tp", "two kinds of reduction in one step"},
};

static void wrong_step_is_named(void **state)
{
    const WrongRow *row = *state;
    Shape shape = shape_of("8,6");
    Fixture f = fixture("dp=2,tp=4", &shape);
    Sharding from = sharding_of(&f, row->from), to = sharding_of(&f, row->to);
    AtomSet atoms = 0;
    for (int a = 0; a < f.mesh->n_axes; a++)
        if (strstr(row->axes, f.mesh->axes[a].name))
            atoms |= mesh_axis_atoms(f.mesh, a);
    Parts parts = parts_of(&f, &from);
    Error err = {0};
    assert_false(all_do(&f, &from, &to, atoms, &parts, &err));
    assert_int_equal(err.kind, ERROR_RUN);
    assert_string_equal(err.text, row->want);
    parts_free(&parts);
    arena_free(f.arena);
}

static void larger_group_than_needed_is_right(void **state)
{
    (void)state;
    Shape shape = shape_of("8,6");
    Fixture f = fixture("dp=2,tp=4", &shape);
    Sharding from = sharding_of(&f, "8/tp,6"), to = sharding_of(&f, "8,6");
    Parts parts = parts_of(&f, &from);
    for (int64_t r = 0; r < 8; r++)
        each_element(&f, parts.at[r], &from, 0, REDUCE_SUM, r, false);
    AtomSet all = mesh_axis_atoms(f.mesh, 0) | mesh_axis_atoms(f.mesh, 1);
    assert_true(all_do(&f, &from, &to, all, &parts, NULL));
    for (int64_t r = 0; r < 8; r++)
        each_element(&f, parts.at[r], &from, 0, REDUCE_SUM, r, true);
    parts_free(&parts);
    arena_free(f.arena);
}

/* ---- order ---- */

static void addends_are_summed_in_rank_order(void **state)
{
    static const float addends[] = {1e8f, 1, -1e8f, 1}; /* 1 in this order, 2 or 0 in others */
    (void)state;
    Shape shape = shape_of("1");
    Fixture f = fixture("tp=4", &shape);
    Sharding from = sharding_of(&f, "1 +tp"), to = sharding_of(&f, "1");
    Parts parts = {{NULL}}, sums = {{NULL}};
    for (int r = 0; r < 4; r++) {
        parts.at[r] = local_new(DT_F32, &shape, &from, f.mesh, r);
        sums.at[r] = local_new(DT_F32, &shape, &to, f.mesh, r);
        *(float *)parts.at[r]->data = addends[r];
    }
    Collective collective = {f.mesh, &from, &to, mesh_axis_atoms(f.mesh, 0)};
    for (int r = 0; r < 4; r++) {
        assert_true(rank_does(&f, &collective, &parts, &sums, r, NULL));
        assert_true(*(float *)sums.at[r]->data == 1.0f);
    }
    parts_free(&parts);
    parts_free(&sums);
    arena_free(f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_paths_are_right),
        cmocka_unit_test(larger_group_than_needed_is_right),
        cmocka_unit_test(addends_are_summed_in_rank_order),
    };
    return run_rows("path", path_rows, path_is_right) +
           run_rows("addends", addends_rows, made_partial_and_reduced_is_the_value) +
           run_rows("wrong step", wrong_rows, wrong_step_is_named) +
           cmocka_run_group_tests_name("collective", tests, NULL, NULL);
}
