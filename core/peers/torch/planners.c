/* planners.c - plans reshards as torch and veScale do.
 *
 *     torch greedy  what torch runs: axis by axis; if a strided shard is an order of axes torch
 *                   itself uses the graph planner
 *     torch graph   torch's search over placements and orders of axes
 *     veScale       each axis separately: wrong data if another axis shards the same dim inside
 *
 * A step changes one axis; its layouts are those the planner assumes. Running the steps
 * (moves_run.h) shows whether they give the target.
 */
#include "core/peers/torch/tables.h"

#include "core/peers/torch/moves_run.h"
#include "core/peers/torch/redistribute_graph.h"

/* ---- orders of axes as shardings ---- */

/* A layout between steps: the placement of each axis, and its rank among the axes of its dim. */
typedef struct {
    Placement place[MESH_AXES_MAX];
    int8_t rank[MESH_AXES_MAX]; /* -1: shards no dim */
} Ordered;

/* The axes that shard dim d, in order. */
static int axes_of_dim(const Ordered *layout, int n_axes, int d, int *axis)
{
    int n = 0;
    for (int place = 0; place < n_axes; place++)
        for (int i = 0; i < n_axes; i++)
            if (layout->rank[i] == place && layout->place[i].dim == d)
                axis[n++] = i;
    return n;
}

/* Renumbers the atoms of a mesh that has some axes of `mesh`. */
static void rename_atoms(Cut *cut, const Mesh *part, const int *axis, const Mesh *mesh)
{
    for (int d = 0; d < cut->n; d++)
        for (int i = 0; i < cut->digit[d].n; i++) {
            uint8_t *atom = &cut->digit[d].atom[i];
            int of = part->atoms[*atom].axis;
            *atom = (uint8_t)(mesh->axes[axis[of]].atom + *atom - part->axes[of].atom);
        }
}

/* The cut of one dim by its axes in order, from placements on a mesh with the axes in that
 * order. */
static bool ordered_cut(Arena *arena, const Ordered *layout, const Mesh *mesh, int d, int64_t size,
                        Cut *out, Error *err)
{
    int axis[MESH_AXES_MAX], n = axes_of_dim(layout, mesh->n_axes, d, axis);
    Mesh *part = mesh_new(arena);
    Placement placements[MESH_AXES_MAX];
    const Shape shape = {.n_dims = 1, .dim = {size}};
    Sharding sharding;
    for (int i = 0; i < n; i++) {
        const MeshAxis *from = &mesh->axes[axis[i]];
        if (!mesh_add_axis(part, arena, str_from(from->name), from->size, err))
            return false;
        placements[i] = layout->place[axis[i]];
        placements[i].dim = 0;
    }
    if (!placements_sharding(placements, &shape, part, &sharding, err))
        return false;
    *out = sharding.dim[0];
    rename_atoms(out, part, axis, mesh);
    cut_canonical(out, mesh);
    return true;
}

static bool ordered_sharding(Arena *arena, const Ordered *layout, const Mesh *mesh,
                             const Shape *shape, Sharding *out, Error *err)
{
    *out = sharding_whole(shape);
    for (int d = 0; d < shape->n_dims; d++)
        if (!ordered_cut(arena, layout, mesh, d, shape->dim[d], &out->dim[d], err))
            return false;
    for (int i = 0; i < mesh->n_axes; i++)
        for (int k = 0; k < mesh->axes[i].n_atoms; k++)
            if (layout->place[i].kind == PLACE_PARTIAL)
                out->partial[mesh->axes[i].atom + k] = (uint8_t)layout->place[i].reduce;
    return true;
}

/* ---- steps ---- */

typedef struct {
    Arena *arena;
    const ReshardQuestion *question;
    PlannedReshard *planned;
    Vec(Step) steps;
    Ordered layout;
    Sharding sharding; /* of the layout */
} Translation;

/* Moves to partial do not occur here. */
static StepKind step_kind(MoveKind kind)
{
    switch (kind) {
    case MOVE_ALL_GATHER:
        return STEP_ALL_GATHER;
    case MOVE_ALL_REDUCE:
        return STEP_ALL_REDUCE;
    case MOVE_REDUCE_SCATTER:
        return STEP_REDUCE_SCATTER;
    case MOVE_ALL_TO_ALL:
        return STEP_ALL_TO_ALL;
    case MOVE_SLICE:
    case MOVE_TO_PARTIAL:
        break;
    }
    return STEP_SLICE;
}

static int64_t rank_bytes(const ReshardQuestion *question, const Sharding *sharding)
{
    return dtype_bytes(question->dtype, sharding_local_elements(sharding, question->mesh, 0));
}

/* The number of axes that shard dim d. */
static int8_t n_cutting(const Ordered *layout, int n_axes, int d)
{
    int n = 0;
    for (int i = 0; i < n_axes; i++)
        n += layout->rank[i] >= 0 && layout->place[i].dim == d;
    return (int8_t)n;
}

/* Sets the source: shards in mesh order, or in the order that its strided shards stand for. */
static void start(Translation *translation, const Redistribution *asked, const TorchMoves *moves)
{
    Ordered *layout = &translation->layout;
    bool ordered = moves_are_ordered(asked, moves);
    int n_axes = asked->mesh->n_axes;
    int8_t rank[MESH_AXES_MAX];
    if (ordered)
        redistribute_ranks(asked->from, asked->mesh, asked->from_view, rank);
    for (int i = 0; i < n_axes; i++) {
        Placement *place = &layout->place[i];
        *place = asked->from[i];
        layout->rank[i] = -1;
        if (placement_is_shard(place))
            layout->rank[i] = n_cutting(layout, i, place->dim);
        if (ordered && placement_is_shard(place)) {
            *place = (Placement){.kind = PLACE_SHARD, .dim = place->dim, .factor = 1};
            layout->rank[i] = rank[i];
        }
    }
}

/* Removes the axis from its dim, even from the middle, and appends it to the other. */
static void change_axis(Ordered *layout, int n_axes, const TorchMove *move)
{
    int8_t left = layout->rank[move->axis];
    int d = layout->place[move->axis].dim;
    layout->rank[move->axis] = -1;
    layout->place[move->axis] = move->to;
    for (int i = 0; i < n_axes; i++)
        if (left >= 0 && layout->rank[i] > left && layout->place[i].dim == d)
            layout->rank[i]--;
    if (placement_is_shard(&move->to))
        layout->rank[move->axis] = n_cutting(layout, n_axes, move->to.dim);
}

static bool add_step(Translation *translation, const TorchMove *move, Error *err)
{
    const ReshardQuestion *question = translation->question;
    const Mesh *mesh = question->mesh;
    Sharding to;
    Step step = {.kind = step_kind(move->kind)};
    step.atoms = step.kind == STEP_SLICE ? 0 : mesh_axis_atoms(mesh, move->axis);
    change_axis(&translation->layout, mesh->n_axes, move);
    if (mesh->axes[move->axis].size == 1)
        return true;
    if (!ordered_sharding(translation->arena, &translation->layout, mesh, question->shape, &to,
                          err))
        return false;
    step.from = shardings_put(question->shardings, &translation->sharding);
    step.to = shardings_put(question->shardings, &to);
    if (step.kind != STEP_SLICE)
        step.bytes =
            rank_bytes(question, step.kind == STEP_ALL_GATHER ? &to : &translation->sharding);
    Price price = price_step(question->machine, mesh, step.kind, step.atoms, step.bytes);
    step.us = price.us;
    step.wire_bytes = price.wire_bytes;
    vec_push(translation->arena, &translation->steps, step);
    translation->sharding = to;
    return true;
}

/* ---- planners ---- */

/* Converts between torch's strided and veScale's interleaved shards. */
static void convert_shards(RedistributePlanner planner, const Mesh *mesh, Placement *placements)
{
    for (int i = 0; i < mesh->n_axes; i++)
        if (placements[i].kind == PLACE_STRIDED || placements[i].kind == PLACE_INTERLEAVED)
            placements[i].kind = planner == PLANNER_VESCALE ? PLACE_INTERLEAVED : PLACE_STRIDED;
}

static bool translate(Translation *translation, const Redistribution *asked, Error *err)
{
    TorchMoves moves = {0};
    const ReshardQuestion *question = translation->question;
    if (!redistribute_allowed(asked, err) ||
        !redistribute_plan(translation->arena, asked, &moves, err))
        return false;
    start(translation, asked, &moves);
    translation->sharding = *shardings_at(question->shardings, question->from);
    for (int i = 0; i < moves.n; i++)
        if (!add_step(translation, &moves.at[i], err))
            return false;
    planned_steps(question, translation->steps.at, translation->steps.n, translation->planned);
    translation->planned->outcome = moves_run(asked, &moves);
    return true;
}

static bool plan_as(Arena *arena, const ReshardQuestion *question, RedistributePlanner planner,
                    PlannedReshard *out, Error *err)
{
    Placement from[MESH_AXES_MAX], to[MESH_AXES_MAX];
    const Shardings *shardings = question->shardings;
    if (!placements_of(shardings_at(shardings, question->from), question->mesh, from, err) ||
        !placements_of(shardings_at(shardings, question->to), question->mesh, to, err))
        return false;
    convert_shards(planner, question->mesh, from);
    convert_shards(planner, question->mesh, to);
    Redistribution asked = {.mesh = question->mesh,
                            .shape = question->shape,
                            .dtype = question->dtype,
                            .from = from,
                            .to = to,
                            .planner = planner};
    Translation translation = {.arena = arena, .question = question, .planned = out};
    return translate(&translation, &asked, err);
}

static bool plan_greedy(Arena *arena, const ReshardQuestion *question, PlannedReshard *out,
                        Error *err)
{
    return plan_as(arena, question, PLANNER_DEFAULT, out, err);
}

static bool plan_graph(Arena *arena, const ReshardQuestion *question, PlannedReshard *out,
                       Error *err)
{
    return plan_as(arena, question, PLANNER_GRAPH, out, err);
}

static bool plan_vescale(Arena *arena, const ReshardQuestion *question, PlannedReshard *out,
                         Error *err)
{
    return plan_as(arena, question, PLANNER_VESCALE, out, err);
}

const Planner torch_planners[] = {
    {"torch greedy", plan_greedy},
    {"torch graph", plan_graph},
    {"veScale", plan_vescale},
    {0},
};
