/* bench_steps.c - steps of a reshard beside MPI's own call for as many bytes: `mpirun -n 4 ..`.
 *
 * One line a figure, NAME VALUE UNIT, of process 0: the time of MPI's call, and ours over it. Both
 * are taken in turns in the same run, behind a barrier, and the least that the slowest rank takes
 * counts. Bytes are those of one rank before the step, of an all-gather after it. Where a dim that
 * is not the first is cut, what MPI moves must be packed or unpacked too, which is part of our
 * time. */
#include "tests/mpi/steps_made.h"

#include <math.h>

enum { TURNS = 25 };

typedef struct {
    const char *name;
    StepKind kind;
    const char *from, *to; /* of a tensor of two dims, R and C */
} Case;

static const Case cases[] = {
    {"all_reduce", STEP_ALL_REDUCE, "R,C +x", "R,C"},
    {"all_gather_rows", STEP_ALL_GATHER, "R/x,C", "R,C"},
    {"all_gather_columns", STEP_ALL_GATHER, "R,C/x", "R,C"},
    {"reduce_scatter_rows", STEP_REDUCE_SCATTER, "R,C +x", "R/x,C"},
    {"reduce_scatter_columns", STEP_REDUCE_SCATTER, "R,C +x", "R,C/x"},
    {"all_to_all", STEP_ALL_TO_ALL, "R/x,C", "R,C/x"},
    {"halo_rows", STEP_HALO, "R/x,C", "R/x,C"}, /* a quarter of a part on each side */
};

enum { HALO_SHARE = 4 };

static const struct {
    const char *name;
    int64_t n_bytes, rows, columns;
} sizes[] = {
    {"64KB", 64 << 10, 64, 256}, {"4MB", 4 << 20, 512, 2048}, {"16MB", 16 << 20, 1024, 4096}};

typedef struct {
    MpiSteps *steps;
    const MpiStep *step;
    Local *source, *target;
    float *from, *to; /* MPI's own */
    int n, n_ranks;   /* elements of one rank as bytes are counted */
} Call;

static double now_us(void)
{
    return MPI_Wtime() * 1e6;
}

/* Each rank's part, and borders of both neighbours around it. */
static void exchange_borders(const Call *c)
{
    int share = c->n / c->n_ranks, halo = share / HALO_SHARE, me = (int)c->steps->position, n = 0;
    MPI_Comm comm = c->step->comm;
    MPI_Request request[4];
    if (me > 0) {
        MPI_Irecv(c->to, halo, MPI_FLOAT, me - 1, 0, comm, &request[n++]);
        MPI_Isend(c->from, halo, MPI_FLOAT, me - 1, 0, comm, &request[n++]);
    }
    if (me < c->n_ranks - 1) {
        MPI_Irecv(c->to + halo + share, halo, MPI_FLOAT, me + 1, 0, comm, &request[n++]);
        MPI_Isend(c->from + share - halo, halo, MPI_FLOAT, me + 1, 0, comm, &request[n++]);
    }
    memcpy(c->to + halo, c->from, (size_t)share * sizeof *c->to);
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static void by_mpi(const Call *c)
{
    int share = c->n / c->n_ranks;
    MPI_Comm comm = c->step->comm;
    if (c->step->kind == STEP_ALL_REDUCE)
        MPI_Allreduce(c->from, c->to, c->n, MPI_FLOAT, MPI_SUM, comm);
    if (c->step->kind == STEP_ALL_GATHER)
        MPI_Allgather(c->from, share, MPI_FLOAT, c->to, share, MPI_FLOAT, comm);
    if (c->step->kind == STEP_REDUCE_SCATTER)
        MPI_Reduce_scatter_block(c->from, c->to, share, MPI_FLOAT, MPI_SUM, comm);
    if (c->step->kind == STEP_ALL_TO_ALL)
        MPI_Alltoall(c->from, share, MPI_FLOAT, c->to, share, MPI_FLOAT, comm);
    if (c->step->kind == STEP_HALO)
        exchange_borders(c);
}

static void by_us(const Call *c)
{
    Error err = {0};
    must(mpi_step_do(c->steps, c->step, c->source, c->target, &err), &err);
}

/* How long the slowest rank took. */
static double once(const Call *c, void (*way)(const Call *))
{
    MPI_Barrier(c->step->comm);
    double start = now_us(), us, slowest;
    way(c);
    us = now_us() - start;
    MPI_Allreduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, c->step->comm);
    return slowest;
}

/* The least of all turns, which is what a loaded machine disturbs least. */
static void measure(const Call *c, double least[2])
{
    least[0] = least[1] = INFINITY;
    for (int i = 0; i < TURNS; i++) {
        least[0] = fmin(least[0], once(c, by_mpi));
        least[1] = fmin(least[1], once(c, by_us));
    }
}

/* The sizes for R and C. */
static Sharding sharding_with(Arena *arena, const Mesh *mesh, const Shape *shape, const char *form)
{
    Buf text = buf_new(arena);
    for (; *form; form++)
        if (*form == 'R' || *form == 'C')
            buf_printf(&text, "%d", (int)shape->dim[*form == 'C']);
        else
            buf_putc(&text, *form);
    return made_sharding(mesh, shape, text.s);
}

static void bench(MpiSteps *steps, const Case *row, int size, int number)
{
    Arena *arena = steps->arena;
    Error err = {0};
    Shape shape = {.n_dims = 2, .dim = {sizes[size].rows, sizes[size].columns}};
    Sharding from = sharding_with(arena, steps->mesh, &shape, row->from);
    Sharding to = sharding_with(arena, steps->mesh, &shape, row->to);
    if (row->kind == STEP_ALL_TO_ALL) { /* a rank's bytes are a share of the whole */
        shape.dim[0] *= steps->mesh->n_devices;
        from = sharding_with(arena, steps->mesh, &shape, row->from);
        to = sharding_with(arena, steps->mesh, &shape, row->to);
    }
    if (row->kind == STEP_HALO)
        to.dim[0].before = to.dim[0].after =
            (int32_t)(shape.dim[0] / steps->mesh->n_devices / HALO_SHARE);
    MpiStepCall asked = {.kind = row->kind, .dtype = DT_F32, .number = number};
    asked.collective = (Collective){steps->mesh, &from, &to, mesh_axis_atoms(steps->mesh, 0)};
    Call c = {.steps = steps, .n_ranks = (int)steps->mesh->n_devices};
    c.step = mpi_step_prepare(steps, &asked, &err);
    must(c.step != NULL, &err);
    c.source = local_new(DT_F32, &shape, &from, steps->mesh, steps->position);
    c.target = local_new(DT_F32, &shape, &to, steps->mesh, steps->position);
    c.n = (int)(sizes[size].n_bytes / (int64_t)sizeof(float));
    c.from = calloc((size_t)c.n, sizeof(float));
    c.to = calloc(2 * (size_t)c.n, sizeof(float));
    double least[2];
    measure(&c, least);
    if (steps->position == 0) {
        const char *order = steps->in_order ? "_in_order" : "";
        printf("mpi_%s%s_%s_n%d %.1f us\n", row->name, order, sizes[size].name, c.n_ranks,
               least[1]);
        printf("mpi_%s%s_%s_n%d_over_mpi %.2f x\n", row->name, order, sizes[size].name, c.n_ranks,
               least[1] / least[0]);
        fflush(stdout);
    }
    free(c.from);
    free(c.to);
    local_free(c.source);
    local_free(c.target);
}

static void bench_all(bool in_order)
{
    int n = 0, number = 0;
    Arena *arena = arena_new();
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    Mesh *mesh = made_mesh(arena, arena_printf(arena, "x=%d", n));
    MpiSteps steps;
    Error err = {0};
    must(mpi_steps_open(arena, mesh, MPI_COMM_WORLD, in_order, &steps, &err), &err);
    for (size_t r = 0; r < sizeof cases / sizeof *cases; r++)
        for (int size = 0; size < (int)(sizeof sizes / sizeof *sizes); size++)
            if (!in_order || cases[r].kind == STEP_ALL_REDUCE ||
                cases[r].kind == STEP_REDUCE_SCATTER)
                bench(&steps, &cases[r], size, number++);
    mpi_steps_close(&steps);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bench_all(false);
    bench_all(true);
    MPI_Finalize();
    return 0;
}
