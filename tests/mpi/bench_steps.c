/* bench_steps.c - steps of a reshard beside MPI's own call for as many bytes: `mpirun -n 4 ..`.
 *
 * One line a figure, NAME VALUE UNIT, of process 0: the time of MPI's call, and ours over it. Both
 * are taken in turns in the same run, behind a barrier, and the least that the slowest rank takes
 * counts; the shorter a step, the more turns, as what else runs disturbs it more. Bytes are those
 * of one rank before the step, of an all-gather after it. Where a dim that is not the first is cut,
 * what MPI moves must be packed or unpacked too, which is part of our time. */
#include "tests/mpi/halo_by_hand.h"
#include "tests/mpi/steps_made.h"

#include <math.h>

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
    {"halo_rows", STEP_HALO, "R/x,C", "R/x,C"}, /* of a quarter of a part on each side */
    {"halo_columns", STEP_HALO, "R,C/x", "R,C/x"},
    {"halo_corners", STEP_HALO, "R/x,C/y", "R/x,C/y"},
};

enum { HALO_SHARE = 4 };

static const struct {
    const char *name;
    int64_t n_bytes, rows, columns;
    int turns;
} sizes[] = {{"64KB", 64 << 10, 64, 256, 2000},
             {"4MB", 4 << 20, 512, 2048, 100},
             {"16MB", 16 << 20, 1024, 4096, 25}};

enum { TURNS_MOST = 2000 };

typedef struct {
    MpiSteps *steps;
    const MpiStep *step;
    Local *source, *target;
    float *from, *to; /* MPI's own */
    int n, n_ranks;   /* elements of one rank as bytes are counted */
    HaloByHand halo;
} Call;

static double now_us(void)
{
    return MPI_Wtime() * 1e6;
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
        halo_by_hand(&c->halo);
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

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of all turns, which is what a loaded machine disturbs least; and the median of how much
 * longer than by MPI it took in one turn, in which both are disturbed alike. */
static double measure(const Call *c, int turns, double least[2])
{
    double ratio[TURNS_MOST];
    least[0] = least[1] = INFINITY;
    for (int i = 0; i < turns; i++) {
        double mpi = once(c, by_mpi), us = once(c, by_us);
        least[0] = fmin(least[0], mpi);
        least[1] = fmin(least[1], us);
        ratio[i] = us / mpi;
    }
    qsort(ratio, (size_t)turns, sizeof *ratio, by_size);
    return ratio[turns / 2];
}

/* Gives the target a border where it is sharded, and the same to the exchange by hand. */
static void give_halo(const Sharding *from, Sharding *to, Call *c)
{
    const MpiSteps *steps = c->steps;
    HaloByHand *h = &c->halo;
    *h = (HaloByHand){.comm = steps->world, .me = (int)steps->position};
    for (int d = 0; d < 2; d++) {
        h->grid[d] = (int)mesh_atoms_size(steps->mesh, cut_atoms(&from->dim[d]));
        h->part[d] = (int)c->source->shape.dim[d];
        h->halo[d] = h->grid[d] > 1 ? h->part[d] / HALO_SHARE : 0;
        to->dim[d].before = to->dim[d].after = h->halo[d];
    }
    h->from = c->from;
    h->to = c->to;
    h->packed = c->to + 2 * (size_t)c->n;
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
    Call c = {.steps = steps, .n_ranks = (int)steps->mesh->n_devices};
    c.n = (int)(sizes[size].n_bytes / (int64_t)sizeof(float));
    c.from = calloc((size_t)c.n, sizeof(float));
    c.to = calloc(4 * (size_t)c.n, sizeof(float)); /* the second half: what is packed */
    c.source = local_new(DT_F32, &shape, &from, steps->mesh, steps->position);
    if (row->kind == STEP_HALO)
        give_halo(&from, &to, &c);
    c.target = local_new(DT_F32, &shape, &to, steps->mesh, steps->position);
    MpiStepCall asked = {.kind = row->kind, .dtype = DT_F32, .number = number};
    asked.collective =
        (Collective){steps->mesh, &from, &to, submesh_free(steps->mesh, (SubMesh){0})};
    c.step = mpi_step_prepare(steps, &asked, &err);
    must(c.step != NULL, &err);
    double least[2];
    double median = measure(&c, sizes[size].turns, least);
    if (steps->position == 0) {
        const char *order = steps->in_order ? "_in_order" : "";
        printf("mpi_%s%s_%s_n%d %.1f us\n", row->name, order, sizes[size].name, c.n_ranks,
               least[1]);
        printf("mpi_%s%s_%s_n%d_over_mpi %.2f x\n", row->name, order, sizes[size].name, c.n_ranks,
               least[1] / least[0]);
        printf("mpi_%s%s_%s_n%d_over_mpi_median %.2f x\n", row->name, order, sizes[size].name,
               c.n_ranks, median);
        fflush(stdout);
    }
    free(c.from);
    free(c.to);
    local_free(c.source);
    local_free(c.target);
}

/* The steps of a row of processes, or of a grid of two rows. */
static void bench_all(bool grid, bool in_order)
{
    int n = 0, number = 0;
    Arena *arena = arena_new();
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    Mesh *mesh =
        made_mesh(arena, arena_printf(arena, grid ? "x=2,y=%d" : "x=%d", grid ? n / 2 : n));
    MpiSteps steps;
    Error err = {0};
    must(mpi_steps_open(arena, mesh, MPI_COMM_WORLD, in_order, &steps, &err), &err);
    for (size_t r = 0; r < sizeof cases / sizeof *cases; r++)
        for (int size = 0; size < (int)(sizeof sizes / sizeof *sizes); size++)
            if ((strchr(cases[r].from, 'y') != NULL) == grid &&
                (!in_order || cases[r].kind == STEP_ALL_REDUCE ||
                 cases[r].kind == STEP_REDUCE_SCATTER))
                bench(&steps, &cases[r], size, number++);
    mpi_steps_close(&steps);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    int n = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    bench_all(false, false);
    if (n % 2 == 0 && n > 2)
        bench_all(true, false);
    bench_all(false, true);
    MPI_Finalize();
    return 0;
}
