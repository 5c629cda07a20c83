/* Steps as messages: packed by givers, unpacked and combined by takers, they leave on every rank
 * the bits that collective_run() leaves there. Along every path between random shardings, of every
 * reduction and type; and along paths from stage to stage. */
#include "tests/unit/addends.h"
#include "tests/unit/sizes.h"

#include "core/reshard/sending.h"
#include "core/run/exchange.h"

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Shape shape;
    Dtype dtype;
    Machine machine;
    Shardings *shardings;
    Resharder *resharder;
    int n_steps[STEP_KIND_COUNT], n_contiguous, n_packed, n_combined;
} Fixture;

static Fixture fixture(const char *mesh, Shape shape, Dtype dtype)
{
    Fixture f = {.arena = arena_new(), .shape = shape, .dtype = dtype};
    Source source = {.name = "mesh", .text = str_from(mesh)};
    f.mesh = mesh_parse(f.arena, &source, NULL);
    f.machine = (Machine){.name = "test", .devices_per_node = 32};
    f.machine.inside = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    f.machine.between = f.machine.inside;
    f.shardings = shardings_new(f.arena);
    return f;
}

/* ---- one step, done both ways ---- */

typedef struct {
    Local *at[DEVICES_MAX]; /* by position; NULL: not of this part of the mesh */
} Parts;

static Parts parts_of(const Fixture *f, int32_t sharding, SubMesh on)
{
    Parts parts = {{NULL}};
    for (int64_t r = 0; r < f->mesh->n_devices; r++)
        if (submesh_has(f->mesh, on, r))
            parts.at[r] =
                local_new(f->dtype, &f->shape, shardings_at(f->shardings, sharding), f->mesh, r);
    return parts;
}

static void parts_free(Parts *parts)
{
    for (int r = 0; r < DEVICES_MAX; r++)
        local_free(parts->at[r]);
}

/* Numbers whose sums depend on their order, where the type is a float. */
static void draw(Local *part)
{
    for (int64_t i = 0; i < shape_elements(&part->shape); i++) {
        double number = (double)(pick(2001) - 1000) / 77;
        int64_t whole = pick(200);
        if (dtype_number(part->dtype) == NUMBER_F32)
            elements_store(part->dtype, local_at(part, i), 1, NUMBER_F32, &(float){(float)number});
        else if (dtype_number(part->dtype) == NUMBER_F64)
            elements_store(part->dtype, local_at(part, i), 1, NUMBER_F64, &number);
        else
            elements_store(part->dtype, local_at(part, i), 1, NUMBER_I64, &whole);
    }
}

typedef struct {
    const Collective *collective;
    SubMesh makers, readers;
    Exchange by[DEVICES_MAX];
} Sides;

static const Message *given_to(const Exchange *giver, int64_t reader)
{
    for (int i = 0; i < giver->n_sends; i++)
        if (giver->send[i].position == reader)
            return &giver->send[i];
    fail_msg("rank %d gives nothing to %d", (int)giver->position, (int)reader);
    return NULL;
}

/* What a rank does with all that it is given; the number of messages. */
static int receive_all(Fixture *f, Sides *sides, const Parts *from, int64_t rank, Local *target)
{
    const Exchange *x = &sides->by[rank];
    for (int i = 0; i < x->n_receives; i++) {
        const Message *receive = &x->receive[i];
        const Message *send = given_to(&sides->by[receive->position], rank);
        assert_int_equal(send->use, receive->use);
        assert_int_equal(send->piece.n_elements, receive->piece.n_elements);
        char *message = arena_alloc(f->arena, (size_t)(receive->piece.n_elements * 16));
        piece_pack(&send->piece, f->dtype, from->at[receive->position]->data, message);
        assert_true(exchange_receive(x, receive, message, target, NULL));
        f->n_contiguous += piece_is_contiguous(&send->piece);
        f->n_packed += !piece_is_contiguous(&send->piece);
        f->n_combined += receive->use == PART_ADDED;
    }
    assert_true(exchange_finish(x, target, NULL));
    return x->n_receives;
}

/* The oracle: the parts of the group's twins among the makers. */
static void run_directly(const Fixture *f, const Sides *sides, const Parts *from, int64_t rank,
                         Local *target)
{
    const Local *held[DEVICES_MAX];
    int64_t n = mesh_atoms_size(f->mesh, sides->collective->atoms);
    for (int64_t i = 0; i < n; i++) {
        int64_t member = mesh_group_member(f->mesh, sides->collective->atoms, rank, i);
        held[i] = from->at[submesh_twin(f->mesh, sides->makers, member)];
    }
    assert_true(collective_run(sides->collective, rank, held, target, f->arena, NULL));
}

/* *parts becomes what the readers hold after the step. */
static void do_step(Fixture *f, const Step *step, SubMesh makers, SubMesh readers, Parts *parts)
{
    static Sides sides;
    Collective collective = {f->mesh, shardings_at(f->shardings, step->from),
                             shardings_at(f->shardings, step->to), step->atoms};
    sides = (Sides){&collective, makers, readers, {{.position = 0}}};
    int n_given = 0, n_taken = 0;
    for (int64_t r = 0; r < f->mesh->n_devices; r++) {
        assert_true(exchange_make(f->arena, &collective, makers, readers, r, &sides.by[r], NULL));
        n_given += sides.by[r].n_sends;
    }
    Parts next = parts_of(f, step->to, readers), want = parts_of(f, step->to, readers);
    for (int64_t r = 0; r < f->mesh->n_devices; r++) {
        if (!next.at[r])
            continue;
        run_directly(f, &sides, parts, r, want.at[r]);
        n_taken += receive_all(f, &sides, parts, r, next.at[r]);
        assert_memory_equal(next.at[r]->data, want.at[r]->data, (size_t)local_bytes(want.at[r]));
    }
    assert_int_equal(n_given, n_taken);
    f->n_steps[step->kind]++;
    parts_free(&want);
    parts_free(parts);
    *parts = next;
}

static void follow(Fixture *f, const ReshardPath *path, int32_t from, SubMesh makers,
                   SubMesh readers)
{
    Parts parts = parts_of(f, from, makers);
    for (int r = 0; r < DEVICES_MAX; r++)
        if (parts.at[r])
            draw(parts.at[r]);
    SubMesh at = makers;
    for (int i = 0; i < path->n_steps; i++) {
        bool sends = path->step[i].kind == STEP_SEND;
        do_step(f, &path->step[i], at, sends ? readers : at, &parts);
        at = sends ? readers : at;
    }
    parts_free(&parts);
}

/* ---- paths on one mesh ---- */

static const char *const meshes[] = {"dp=2,tp=4", "a=2,b=2,c=3", "a=3,b=2", "tp=8", "x=5"};
static const Shape shapes[] = {{.n_dims = 2, .dim = {12, 24}},
                               {.n_dims = 3, .dim = {6, 5, 8}},
                               {.n_dims = 1, .dim = {18}},
                               {.n_dims = 2, .dim = {2, 7}},
                               {.n_dims = 0}};

typedef struct {
    const char *name;
    Dtype dtype;
    ReduceOp kinds[4];
} Types;

static Types types[] = {
    {"sums of f32", DT_F32, {REDUCE_SUM, REDUCE_SUM, REDUCE_SUM, REDUCE_SUM}},
    {"f32 of several kinds", DT_F32, {REDUCE_SUM, REDUCE_MAX, REDUCE_AVG, REDUCE_PROD}},
    {"f64", DT_F64, {REDUCE_SUM, REDUCE_SUM, REDUCE_AVG, REDUCE_MIN}},
    {"bf16", DT_BF16, {REDUCE_SUM, REDUCE_SUM, REDUCE_MAX, REDUCE_AVG}},
    {"f16", DT_F16, {REDUCE_SUM, REDUCE_SUM, REDUCE_MIN, REDUCE_PROD}},
    {"i64", DT_I64, {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD}},
    {"u8", DT_U8, {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM}},
    {"bool", DT_BOOL, {REDUCE_ANY, REDUCE_ALL, REDUCE_ANY, REDUCE_ALL}},
};

/* Block lists too, a third of a dim and the rest; and parts of random sizes. */
static void some_blocks(const Fixture *f, Sharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        uint8_t atom[ATOMS_MAX];
        int n = cut_list_atoms(&sharding->dim[d], atom);
        int64_t size = cut_size(&sharding->dim[d]), blocks[2] = {size / 3, size - size / 3};
        if (size >= 3 && pick(8) == 0)
            cut_blocks(blocks, 2, atom, n, f->mesh, &sharding->dim[d]);
        some_sizes(&sharding->dim[d], f->mesh, 6);
    }
}

static void messages_leave_what_collectives_do(void **state)
{
    const Types *type = *state;
    int n_steps[STEP_KIND_COUNT] = {0}, n_contiguous = 0, n_packed = 0, n_combined = 0;
    seed = 5;
    for (int i = 0; i < 250; i++) {
        Fixture f =
            fixture(meshes[pick(COUNT_OF(meshes))], shapes[pick(COUNT_OF(shapes))], type->dtype);
        f.resharder = resharder_new(f.arena, f.mesh, &f.machine, f.shardings);
        Sharding from = random_sharding(&f.shape, f.mesh, type->kinds);
        Sharding to = random_sharding(&f.shape, f.mesh, NULL);
        some_blocks(&f, &from);
        some_blocks(&f, &to);
        int32_t a = shardings_put(f.shardings, &from), b = shardings_put(f.shardings, &to);
        SubMesh all = {.fixed = 0};
        follow(&f, reshard(f.resharder, f.dtype, a, b), a, all, all);
        for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
            n_steps[kind] += f.n_steps[kind];
        n_contiguous += f.n_contiguous;
        n_packed += f.n_packed;
        n_combined += f.n_combined;
        arena_free(f.arena);
    }
    for (StepKind kind = STEP_SLICE; kind <= STEP_PERMUTE; kind++)
        assert_true(n_steps[kind] > 5);
    assert_true(n_contiguous > 100 && n_packed > 100 && n_combined > 100);
}

/* A sum made of a value: all but the first of its ranks hold 0. */
static void made_partial_is_blank_where_it_was(void **state)
{
    static const char *const by[] = {"8,6 +tp", "8,6 +dp +tp", "8/dp,6 max(tp)", "8,6 avg(tp)"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(by); i++) {
        Fixture f = fixture("dp=2,tp=4", (Shape){.n_dims = 2, .dim = {8, 6}}, DT_F32);
        f.resharder = resharder_new(f.arena, f.mesh, &f.machine, f.shardings);
        Sharding from = sharding_whole(&f.shape), to;
        Source source = {.name = "to", .text = str_from(by[i])};
        assert_true(sharding_parse(&source, &f.shape, f.mesh, VIEW_OURS, &to, NULL));
        int32_t a = shardings_put(f.shardings, &from), b = shardings_put(f.shardings, &to);
        SubMesh all = {.fixed = 0};
        follow(&f, reshard(f.resharder, f.dtype, a, b), a, all, all);
        arena_free(f.arena);
    }
}

/* ---- from stage to stage ---- */

typedef struct {
    const char *name, *mesh, *makers, *readers;
} Stages;

static Stages stages[] = {
    {"halves", "pp=2,tp=4", "pp=0", "pp=1"},
    {"the minor axis", "dp=2,tp=2,pp=2", "pp=1", "pp=0"},
    {"one of four", "pp=4,tp=3", "pp=3", "pp=1"},
    {"to fewer", "pp=2,dp=2,tp=2", "pp=0", "pp=1,dp=1"},
    {"to more", "pp=2,dp=2,tp=2", "pp=0,tp=1", "pp=1"},
    {"to others of another axis", "pp=2,dp=2,tp=2", "pp=0,tp=1", "pp=1,dp=0"},
};

/* Random, but by no axis that tells the devices of the part from others. */
static Sharding random_on(const Fixture *f, SubMesh on, const ReduceOp *of_kinds)
{
    Sharding sharding = random_sharding(&f->shape, f->mesh, of_kinds);
    for (int a = 0; a < f->mesh->n_atoms; a++)
        if (on.fixed >> a & 1)
            sharding.partial[a] = REDUCE_NONE;
    for (int d = 0; d < sharding.n_dims; d++)
        sharding.dim[d] = cut_without(&sharding.dim[d], on.fixed, f->mesh);
    return sharding;
}

static AtomSet used_by(const Fixture *f, int32_t sharding)
{
    const Sharding *at = shardings_at(f->shardings, sharding);
    return sharding_atoms(at) | sharding_partials(at);
}

/* Whether all of it is done by devices of the two parts alone. */
static bool stays_there(const Fixture *f, const ReshardPath *path, SubMesh makers, SubMesh readers)
{
    AtomSet fixed = makers.fixed;
    for (int i = 0; i < path->n_steps; i++) {
        if (used_by(f, path->step[i].from) & fixed)
            return false;
        fixed = path->step[i].kind == STEP_SEND ? readers.fixed : fixed;
        if (used_by(f, path->step[i].to) & fixed)
            return false;
    }
    return true;
}

static SubMesh part_named(const Fixture *f, const char *text)
{
    SubMesh sub;
    Source source = {.name = "part", .text = str_from(text)};
    assert_true(submesh_parse(f->mesh, &source, &sub, NULL));
    return sub;
}

static void sends_arrive(void **state)
{
    const Stages *row = *state;
    static const ReduceOp kinds[4] = {REDUCE_SUM, REDUCE_SUM, REDUCE_SUM, REDUCE_SUM};
    int n_followed = 0;
    seed = 9;
    for (int i = 0; i < 80; i++) {
        Fixture f = fixture(row->mesh, shapes[pick(COUNT_OF(shapes))], DT_F32);
        f.resharder = resharder_new(f.arena, f.mesh, &f.machine, f.shardings);
        Sender *sender = sender_new(f.arena, f.resharder, f.mesh, &f.machine, f.shardings);
        SubMesh makers = part_named(&f, row->makers), readers = part_named(&f, row->readers);
        Sharding from = random_on(&f, makers, kinds), to = random_on(&f, readers, NULL);
        int32_t a = shardings_put(f.shardings, &from), b = shardings_put(f.shardings, &to);
        const ReshardPath *path = sender_path(sender, f.dtype, a, b, makers, readers);
        assert_true(stays_there(&f, path, makers, readers));
        follow(&f, path, a, makers, readers);
        n_followed += f.n_steps[STEP_SEND];
        arena_free(f.arena);
    }
    assert_true(n_followed > 40);
}

/* ---- pieces ---- */

typedef struct {
    const char *name, *from, *to;
    int64_t reader;
    const char *want; /* what rank 0 gives to it: first, rows by row */
} PieceRow;

static PieceRow pieces[] = {
    {"all of it", "8/tp,12", "8,12", 1, "0, 1 row of 24"},
    {"the first rows", "8,12 +tp", "8/tp,12", 0, "0, 1 row of 24"},
    {"rows further down", "8,12 +tp", "8/tp,12", 3, "72, 1 row of 24"},
    {"columns", "8/tp,12", "8,12/tp", 1, "3, 2 rows of 3"},
    {"one column each", "8/tp,12", "8,(3)(4/tp)", 2, "2, 6 rows of 1"},
    {"pairs of columns", "8,12 +tp", "8,(6/tp)(2)", 2, "8, 8 rows of 4"},
};

static void piece_is(void **state)
{
    const PieceRow *row = *state;
    Fixture f = fixture("tp=4", (Shape){.n_dims = 2, .dim = {8, 12}}, DT_F32);
    Sharding from, to;
    Source source = {.name = "from", .text = str_from(row->from)};
    assert_true(sharding_parse(&source, &f.shape, f.mesh, VIEW_OURS, &from, NULL));
    source.text = str_from(row->to);
    assert_true(sharding_parse(&source, &f.shape, f.mesh, VIEW_OURS, &to, NULL));
    Collective collective = {f.mesh, &from, &to, mesh_axis_atoms(f.mesh, 0)};
    SubMesh all = {.fixed = 0};
    Exchange x;
    assert_true(exchange_make(f.arena, &collective, all, all, 0, &x, NULL));
    const Piece *piece = &given_to(&x, row->reader)->piece;
    int64_t n_rows = piece->n_elements / piece->row, first = piece->first;
    for (int d = 0; d < piece->n_dims; d++)
        first += piece->place[d][0];
    assert_string_equal(arena_printf(f.arena, "%d, %d row%s of %d", (int)first, (int)n_rows,
                                     n_rows == 1 ? "" : "s", (int)piece->row),
                        row->want);
    arena_free(f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_partial_is_blank_where_it_was)};
    return run_rows("paths", types, messages_leave_what_collectives_do) +
           run_rows("stages", stages, sends_arrive) + run_rows("pieces", pieces, piece_is) +
           cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
