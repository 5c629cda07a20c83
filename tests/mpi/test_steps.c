/* test_steps.c - steps between processes leave what collective_run() leaves: `mpirun -n 6 ..`.
 *
 * Every rank draws the parts of all ranks by itself, so that it knows what it must get. Paths
 * between random shardings, of every reduction and type, are followed four times: in rank order,
 * bit for bit; by MPI's own reductions, but for rounding; and both in pieces of a few elements, as
 * what is larger than MPI can count goes. In some paths rows are missing, and need not be sent. */
#include "core/run/mpi/world.h"
#include "tests/mpi/steps_made.h"
#include "tests/unit/random.h"

#include <math.h>

enum { RANKS_MAX = 8, PATHS = 60 };

typedef struct {
    const char *name;
    Dtype dtype;
    ReduceOp kinds[4];
    double rounding; /* of a sum in another order */
} Type;

static const Type types[] = {
    {"f32", DT_F32, {REDUCE_SUM, REDUCE_MAX, REDUCE_AVG, REDUCE_PROD}, 1e-5},
    {"f64", DT_F64, {REDUCE_SUM, REDUCE_MIN, REDUCE_AVG, REDUCE_PROD}, 1e-13},
    {"bf16", DT_BF16, {REDUCE_SUM, REDUCE_SUM, REDUCE_MAX, REDUCE_AVG}, 5e-2},
    {"f16", DT_F16, {REDUCE_SUM, REDUCE_SUM, REDUCE_MIN, REDUCE_AVG}, 5e-3},
    {"i64", DT_I64, {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD}, 0},
    {"i32", DT_I32, {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD}, 0},
    {"u64", DT_U64, {REDUCE_SUM, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN}, 0},
    {"u8", DT_U8, {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD}, 0},
    {"bool", DT_BOOL, {REDUCE_ANY, REDUCE_ALL, REDUCE_ANY, REDUCE_ALL}, 0},
};

static const Shape shapes[] = {{.n_dims = 2, .dim = {12, 24}},
                               {.n_dims = 3, .dim = {6, 5, 8}},
                               {.n_dims = 1, .dim = {18}},
                               {.n_dims = 2, .dim = {2, 7}},
                               {.n_dims = 0}};

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Shape shape;
    const Type *type;
    Shardings *shardings;
    MpiSteps *steps;
    Local *all[RANKS_MAX]; /* what every rank has, as this rank knows it */
    Local *mine;           /* what it got */
    int n_steps[STEP_KIND_COUNT];
    int ragged; /* so many dims number rows, of which about half are 0 */
} Fixture;

/* What ragged steps sent to other ranks, and what whole messages would have been. */
static int n_ragged;
static int64_t ragged_bytes, whole_bytes;

static int n_failed;

static void failed(const Fixture *f, const Step *step, const char *what)
{
    Buf text = buf_new(f->arena);
    buf_printf(&text, "rank %d, %s: %s of ", (int)f->steps->position, f->type->name,
               step_kind_name(step->kind));
    sharding_format(shardings_at(f->shardings, step->from), f->mesh, VIEW_OURS_ASCII, &text, NULL);
    buf_puts(&text, " to ");
    sharding_format(shardings_at(f->shardings, step->to), f->mesh, VIEW_OURS_ASCII, &text, NULL);
    printf("%.*s: %s\n", STR_ARG(buf_str(&text)), what);
    n_failed++;
}

static void draw(Local *part)
{
    Number number = dtype_number(part->dtype);
    for (int64_t i = 0; i < shape_elements(&part->shape); i++) {
        double real = (double)(pick(2001) - 1000) / 77;
        float single = (float)real;
        int64_t whole = pick(20);
        const void *from = number == NUMBER_F32   ? (const void *)&single
                           : number == NUMBER_F64 ? (const void *)&real
                                                  : (const void *)&whole;
        elements_store(part->dtype, local_at(part, i), 1, number, from);
    }
}

/* Some rows are not there. */
static void blank_rows(const Fixture *f, Local *part)
{
    int64_t row = 1;
    for (int64_t d = f->ragged; d < part->shape.n_dims; d++)
        row *= part->shape.dim[d];
    for (int64_t at = 0; f->ragged > 0 && row > 0 && at < shape_elements(&part->shape); at += row)
        if (pick(2) == 0)
            memset(local_at(part, at), 0, (size_t)(row * element_bytes(part->dtype)));
}

static void count_ragged(const Fixture *f, const MpiStep *step, int64_t sent)
{
    if (step->row == 0)
        return;
    n_ragged++;
    ragged_bytes += sent;
    for (int i = 0; i < step->exchange.n_sends; i++)
        if (step->exchange.send[i].position != f->steps->position)
            whole_bytes += step->exchange.send[i].piece.n_elements * element_bytes(step->dtype);
}

static Sharding random_sharding(const Fixture *f, const ReduceOp *kinds)
{
    uint8_t atom[DIMS_MAX][ATOMS_MAX];
    int n[DIMS_MAX] = {0};
    Sharding sharding = sharding_whole(&f->shape);
    for (int a = 0; a < f->mesh->n_atoms; a++) {
        int where = pick((int)f->shape.n_dims + (kinds ? 2 : 1));
        if (where > f->shape.n_dims)
            sharding.partial[a] = (uint8_t)kinds[pick(4)];
        else if (where < f->shape.n_dims)
            atom[where][n[where]++] = (uint8_t)a;
    }
    for (int d = 0; d < f->shape.n_dims; d++) {
        int64_t size = f->shape.dim[d];
        Cut major = cut_whole(3), minor = cut_by(size / 3, atom[d], n[d], f->mesh), digits;
        const Cut *both[] = {&major, &minor};
        sharding.dim[d] = cut_by(size, atom[d], n[d], f->mesh);
        if (size % 3 == 0 && pick(3) == 0 && cut_concat(both, 2, f->mesh, &digits))
            sharding.dim[d] = digits;
    }
    return sharding;
}

/* Elements that may differ by the rounding of a sum. */
static bool is_near(const Fixture *f, const Local *got, const Local *want)
{
    if (f->steps->in_order || f->type->rounding == 0)
        return memcmp(got->data, want->data, (size_t)local_bytes(want)) == 0;
    for (int64_t i = 0; i < shape_elements(&want->shape); i++) {
        double x, y;
        elements_load(got->dtype, local_at(got, i), 1, 1, NUMBER_F64, &x);
        elements_load(want->dtype, local_at(want, i), 1, 1, NUMBER_F64, &y);
        if (fabs(x - y) > f->type->rounding * (100 + fabs(y)))
            return false;
    }
    return true;
}

static Local *part_of(const Fixture *f, int32_t sharding, int64_t rank)
{
    return local_new(f->type->dtype, &f->shape, shardings_at(f->shardings, sharding), f->mesh,
                     rank);
}

static void do_step(Fixture *f, const Step *step, int64_t number)
{
    Error err = {0};
    int me = (int)f->steps->position;
    MpiStepCall call = {.kind = step->kind, .dtype = f->type->dtype, .number = number};
    int64_t before = f->steps->ragged_bytes;
    call.ragged = f->ragged;
    call.collective = (Collective){f->mesh, shardings_at(f->shardings, step->from),
                                   shardings_at(f->shardings, step->to), step->atoms};
    Local *next[RANKS_MAX] = {NULL}, *got = part_of(f, step->to, me);
    MpiStep *prepared = mpi_step_prepare(f->steps, &call, &err);
    must(prepared && mpi_step_do(f->steps, prepared, f->mine, got, &err), &err);
    count_ragged(f, prepared, f->steps->ragged_bytes - before);
    for (int64_t r = 0; r < f->mesh->n_devices; r++) {
        const Local *held[RANKS_MAX];
        int64_t n = mesh_atoms_size(f->mesh, step->atoms);
        for (int64_t i = 0; i < n; i++)
            held[i] = f->all[mesh_group_member(f->mesh, step->atoms, r, i)];
        next[r] = part_of(f, step->to, r);
        must(collective_run(&call.collective, r, held, next[r], f->arena, &err), &err);
    }
    if (!is_near(f, got, next[me]))
        failed(f, step, "other elements than those of collective_run()");
    local_free(f->mine);
    f->mine = got;
    for (int64_t r = 0; r < f->mesh->n_devices; r++) {
        local_free(f->all[r]);
        f->all[r] = next[r];
    }
    f->n_steps[step->kind]++;
}

static void follow(Fixture *f, const ReshardPath *path, int32_t from)
{
    for (int64_t r = 0; r < f->mesh->n_devices; r++) {
        f->all[r] = part_of(f, from, r);
        draw(f->all[r]);
        blank_rows(f, f->all[r]);
    }
    f->mine = part_of(f, from, f->steps->position);
    memcpy(f->mine->data, f->all[f->steps->position]->data, (size_t)local_bytes(f->mine));
    for (int i = 0; i < path->n_steps; i++)
        do_step(f, &path->step[i], i);
    for (int64_t r = 0; r < f->mesh->n_devices; r++)
        local_free(f->all[r]);
    local_free(f->mine);
}

static void follow_many(const char *mesh, const Type *type, bool in_order, int64_t n_most,
                        int *n_steps)
{
    Machine machine = {.name = "test", .devices_per_node = 16};
    machine.inside = machine.between = (Link){.name = "in", .latency_us = 2, .bytes_per_s = 400e9};
    Arena *lasts = arena_new();
    Mesh *grid = made_mesh(lasts, mesh);
    MpiSteps steps;
    Error err = {0};
    must(mpi_steps_open(lasts, grid, MPI_COMM_WORLD, in_order, &steps, &err), &err);
    steps.n_most = n_most;
    for (int i = 0; i < PATHS; i++) {
        Fixture f = {.arena = arena_new(), .mesh = grid, .type = type, .steps = &steps};
        f.shape = shapes[pick(sizeof shapes / sizeof *shapes)];
        f.ragged = pick((int)f.shape.n_dims + 1);
        f.shardings = shardings_new(f.arena);
        Resharder *resharder = resharder_new(f.arena, grid, &machine, f.shardings);
        Sharding from = random_sharding(&f, type->kinds), to = random_sharding(&f, NULL);
        int32_t a = shardings_put(f.shardings, &from), b = shardings_put(f.shardings, &to);
        follow(&f, reshard(resharder, type->dtype, a, b), a);
        for (int k = 0; k < STEP_KIND_COUNT; k++)
            n_steps[k] += f.n_steps[k];
        arena_free(f.arena);
    }
    mpi_steps_close(&steps);
    arena_free(lasts);
}

/* All are on this host, so on one clock. */
static void clocks_agree(void)
{
    double ahead_us = 0;
    Error err = {0};
    must(mpi_clock_ahead(MPI_COMM_WORLD, &ahead_us, &err), &err);
    if (fabs(ahead_us) > 1e5) {
        printf("the clock of process 0 is %.0f us ahead\n", ahead_us);
        n_failed++;
    }
}

int main(int argc, char **argv)
{
    int me = 0, n_steps[STEP_KIND_COUNT] = {0}, all_failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const char *mesh = argc > 1 ? argv[1] : "a=3,b=2";
    clocks_agree();
    seed = 17;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const Type *type = &types[t];
        follow_many(mesh, type, true, INT32_MAX, n_steps);
        follow_many(mesh, type, false, INT32_MAX, n_steps);
        follow_many(mesh, type, true, 11, n_steps);
        follow_many(mesh, type, false, 11, n_steps);
    }
    for (StepKind kind = STEP_SLICE; kind <= STEP_ALL_TO_ALL; kind++)
        if (n_steps[kind] < 20) {
            printf("only %d steps of kind %s\n", n_steps[kind], step_kind_name(kind));
            n_failed++;
        }
    if (n_ragged < 5 || ragged_bytes * 10 > whole_bytes * 9) {
        printf("%d ragged steps sent %d bytes of %d\n", n_ragged, (int)ragged_bytes,
               (int)whole_bytes);
        n_failed++;
    }
    MPI_Allreduce(&n_failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d failed\n", all_failed);
    MPI_Finalize();
    return all_failed > 0;
}
