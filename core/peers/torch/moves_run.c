#include "core/peers/torch/moves_run.h"

#include "core/peers/torch/redistribute_graph.h"

#include <string.h>

/* Limit of the indices that all ranks hold together. */
enum { INDICES_MAX = 1 << 21 };

static const int mesh_order[MESH_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};

/* The indices of one dim that a rank holds, in memory order. */
typedef struct {
    int64_t n, *at;
} RankIndices;

typedef struct {
    Arena *arena;
    const Redistribution *asked;
    Shape shape;                      /* reduced size */
    Placement current[MESH_AXES_MAX]; /* current placement of each axis */
    RankIndices *list[DIMS_MAX];      /* by rank */
} MovesTrial;

/* ---- sizes ---- */

/* Multiplies *unit by the number of blocks into which a placement divides dim d; sets *touches if
 * it shards d. */
static bool add_placement(const Placement *placement, int d, bool *touches, int64_t *unit)
{
    if (!placement_is_shard(placement) || placement->dim != d)
        return true;
    *touches = true;
    if (placement->kind == PLACE_SHARD || placement->factor > INDICES_MAX)
        return placement->kind == PLACE_SHARD;
    *unit *= placement->factor;
    return *unit <= INDICES_MAX;
}

/* The same for all placements that an axis ever has on dim d, and for the axis itself. */
static bool add_axis(const MovesTrial *run, const TorchMoves *moves, int axis, int d, int64_t *unit)
{
    bool touches = false;
    if (!add_placement(&run->asked->from[axis], d, &touches, unit) ||
        !add_placement(&run->asked->to[axis], d, &touches, unit))
        return false;
    for (int i = 0; i < moves->n; i++)
        if (moves->at[i].axis == axis && !add_placement(&moves->at[i].to, d, &touches, unit))
            return false;
    *unit *= touches ? run->asked->mesh->axes[axis].size : 1;
    return *unit <= INDICES_MAX;
}

/* The smallest size of dim d that all its axes and blocks divide; the real size if they do not
 * divide that. */
static int64_t size_to_run(const MovesTrial *run, const TorchMoves *moves, int d)
{
    int64_t size = run->asked->shape->dim[d], unit = 1;
    for (int i = 0; i < run->asked->mesh->n_axes; i++)
        if (!add_axis(run, moves, i, d, &unit))
            return size;
    return unit <= size && size % unit == 0 ? unit : size;
}

static bool fits(MovesTrial *run, const TorchMoves *moves)
{
    int64_t n_ranks = run->asked->mesh->n_devices, n = 0;
    run->shape = *run->asked->shape;
    for (int d = 0; d < run->shape.n_dims; d++) {
        run->shape.dim[d] = size_to_run(run, moves, d);
        if (run->shape.dim[d] > INDICES_MAX / n_ranks - n)
            return false;
        n += run->shape.dim[d];
    }
    return n_ranks <= INDICES_MAX;
}

/* ---- lists ---- */

static RankIndices list_of(Arena *arena, const Runs *runs, const RankIndices *from)
{
    RankIndices list = {0, arena_array(arena, int64_t, runs->local_size)};
    for (int i = 0; i < runs->n; i++)
        for (int64_t k = 0; k < runs->at[i].length; k++) {
            int64_t at = runs->at[i].start + k;
            list.at[list.n++] = from ? from->at[at] : at;
        }
    return list;
}

static bool same_list(const RankIndices *a, const RankIndices *b)
{
    return a->n == b->n && memcmp(a->at, b->at, (size_t)a->n * sizeof *a->at) == 0;
}

/* The positions among n elements that belong to part `part` of n_parts. */
static bool part_of(Arena *arena, const Placement *placement, int64_t n, int64_t n_parts,
                    int64_t part, Runs *out)
{
    Runs whole = runs_whole(arena, n);
    int64_t blocks = placement->kind == PLACE_SHARD ? 1 : placement->factor;
    return runs_strided(arena, &whole, blocks, n_parts, part, out);
}

/* The indices of dim d that each rank holds by the placements, applied in this order. */
static bool lists_of(MovesTrial *run, const Placement *placements, const int *order, int d,
                     RankIndices *out)
{
    const Mesh *mesh = run->asked->mesh;
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        Runs runs;
        if (!placements_runs(run->arena, placements, order, mesh, d, run->shape.dim[d], rank, &runs,
                             NULL))
            return false;
        out[rank] = list_of(run->arena, &runs, NULL);
    }
    return true;
}

static RankIndices *new_lists(const MovesTrial *run)
{
    return arena_array(run->arena, RankIndices, run->asked->mesh->n_devices);
}

/* ---- orders of axes ---- */

bool moves_are_ordered(const Redistribution *redistribution, const TorchMoves *moves)
{
    for (int i = 0; i < moves->n; i++) {
        const TorchMove *move = &moves->at[i];
        bool strided = redistribution->from[move->axis].kind == PLACE_STRIDED;
        for (int k = 0; k < i; k++)
            strided &= moves->at[k].axis != move->axis;
        if (strided && move->from.kind == PLACE_SHARD)
            return true;
    }
    return false;
}

/* Interprets the source's strided shards as plain ones in another order of axes; false if that is
 * not equal. */
static bool read_as_order(MovesTrial *run)
{
    const Redistribution *asked = run->asked;
    int n_axes = asked->mesh->n_axes, order[MESH_AXES_MAX], n = 0;
    int8_t rank[MESH_AXES_MAX];
    redistribute_ranks(asked->from, asked->mesh, asked->from_view, rank);
    for (int place = -1; place < n_axes; place++)
        for (int i = 0; i < n_axes; i++)
            if (rank[i] == place)
                order[n++] = i;
    for (int i = 0; i < n_axes; i++)
        if (run->current[i].kind == PLACE_STRIDED)
            run->current[i] =
                (Placement){.kind = PLACE_SHARD, .dim = run->current[i].dim, .factor = 1};
    for (int d = 0; d < run->shape.n_dims; d++) {
        RankIndices *lists = new_lists(run);
        if (!lists_of(run, run->current, order, d, lists))
            return false;
        for (int64_t at = 0; at < asked->mesh->n_devices; at++)
            if (!same_list(&lists[at], &run->list[d][at]))
                return false;
    }
    return true;
}

/* ---- steps ---- */

/* Joins the members' lists as the placement divides the whole; false if they are not such parts. */
static bool gather(MovesTrial *run, int axis, const Placement *placement, int64_t rank,
                   RankIndices *out)
{
    const Mesh *mesh = run->asked->mesh;
    const RankIndices *lists = run->list[placement->dim];
    AtomSet atoms = mesh_axis_atoms(mesh, axis);
    int64_t n_parts = mesh->axes[axis].size, n = 0;
    for (int64_t i = 0; i < n_parts; i++)
        n += lists[atoms ? mesh_group_member(mesh, atoms, rank, i) : rank].n;
    *out = (RankIndices){n, arena_array(run->arena, int64_t, n)};
    for (int64_t i = 0; i < n_parts; i++) {
        const RankIndices *part = &lists[atoms ? mesh_group_member(mesh, atoms, rank, i) : rank];
        Runs places;
        if (!part_of(run->arena, placement, n, n_parts, i, &places) || places.local_size != part->n)
            return false;
        int64_t next = 0;
        for (int k = 0; k < places.n; k++)
            for (int64_t j = 0; j < places.at[k].length; j++)
                out->at[places.at[k].start + j] = part->at[next++];
    }
    return true;
}

/* Gathers once for each group, whose members then have equal lists. */
static bool gather_all(MovesTrial *run, int axis, const Placement *placement)
{
    const Mesh *mesh = run->asked->mesh;
    RankIndices *lists = new_lists(run);
    for (int64_t rank = 0; rank < mesh->n_devices; rank++)
        if (mesh_coord(mesh, axis, rank) > 0)
            lists[rank] = lists[mesh_group_member(mesh, mesh_axis_atoms(mesh, axis), rank, 0)];
        else if (!gather(run, axis, placement, rank, &lists[rank]))
            return false;
    run->list[placement->dim] = lists;
    return true;
}

static bool slice_all(MovesTrial *run, int axis, const Placement *placement)
{
    const Mesh *mesh = run->asked->mesh;
    RankIndices *lists = run->list[placement->dim];
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        Runs places;
        if (!part_of(run->arena, placement, lists[rank].n, mesh->axes[axis].size,
                     mesh_coord(mesh, axis, rank), &places))
            return false;
        lists[rank] = list_of(run->arena, &places, &lists[rank]);
    }
    return true;
}

static bool is_reduce(const Placement *placement, ReduceOp a, ReduceOp b)
{
    return placement->kind == PLACE_PARTIAL && (placement->reduce == a || placement->reduce == b);
}

/* Handles a whole value that becomes partial. torch gives each rank its share. veScale gives it
 * to the first rank and zeros to the others, or to all if it was reduced from another partial
 * value. */
static bool becomes_partial(const MovesTrial *run, const TorchMove *move)
{
    if (!placement_is_partial(&move->to) || run->asked->planner != PLANNER_VESCALE)
        return true;
    if (placement_is_partial(&run->asked->from[move->axis]))
        return !is_reduce(&move->to, REDUCE_SUM, REDUCE_PROD);
    return is_reduce(&move->to, REDUCE_SUM, REDUCE_ANY);
}

static bool run_move(MovesTrial *run, const TorchMove *move)
{
    Placement *current = &run->current[move->axis];
    bool right = current->kind == move->from.kind && becomes_partial(run, move);
    if (right && placement_is_shard(&move->from))
        right = gather_all(run, move->axis, &move->from);
    if (right && placement_is_shard(&move->to))
        right = slice_all(run, move->axis, &move->to);
    *current = move->to;
    return right;
}

/* Checks that the final partial axes and the lists of each dim are those of the target. */
static bool ends_right(MovesTrial *run)
{
    const Redistribution *asked = run->asked;
    for (int i = 0; i < asked->mesh->n_axes; i++)
        if (placement_is_partial(&asked->to[i]) != placement_is_partial(&run->current[i]) ||
            (asked->to[i].kind == PLACE_PARTIAL && asked->to[i].reduce != run->current[i].reduce))
            return false;
    for (int d = 0; d < run->shape.n_dims; d++) {
        RankIndices *want = new_lists(run);
        if (!lists_of(run, asked->to, mesh_order, d, want))
            return false;
        for (int64_t rank = 0; rank < asked->mesh->n_devices; rank++)
            if (!same_list(&want[rank], &run->list[d][rank]))
                return false;
    }
    return true;
}

static MovesOutcome run_all(MovesTrial *run, const TorchMoves *moves)
{
    if (!fits(run, moves))
        return MOVES_NOT_RUN;
    for (int i = 0; i < run->asked->mesh->n_axes; i++)
        run->current[i] = run->asked->from[i];
    for (int d = 0; d < run->shape.n_dims; d++) {
        run->list[d] = new_lists(run);
        if (!lists_of(run, run->asked->from, mesh_order, d, run->list[d]))
            return MOVES_NOT_RUN;
    }
    if (moves_are_ordered(run->asked, moves) && !read_as_order(run))
        return MOVES_WRONG;
    for (int i = 0; i < moves->n; i++)
        if (!run_move(run, &moves->at[i]))
            return MOVES_WRONG;
    return ends_right(run) ? MOVES_RIGHT : MOVES_WRONG;
}

MovesOutcome moves_run(const Redistribution *redistribution, const TorchMoves *moves)
{
    MovesTrial run = {.arena = arena_new(), .asked = redistribution};
    MovesOutcome outcome = run_all(&run, moves);
    arena_free(run.arena);
    return outcome;
}
