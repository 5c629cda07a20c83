#include "core/peers/torch/whole_cut.h"

typedef struct {
    const Mesh *mesh;
    const OpSpace *space;
    const WholeRowChosen *chosen;
    WholeCut *out;
} Cutter;

/* ---- index dims from dims ---- */

/* Adds a cut to an index dim, without the axes that shard another one. */
static void cut_index(Cutter *cutter, int index, const Cut *offered, AtomSet among)
{
    OpCut *cut = &cutter->out->cut;
    Cut part = cut_without(offered, cuts_used(cut->index, cut->n, index) | ~among, cutter->mesh),
        joined;
    if (!cut_is_whole(&part) && cut_join(&cut->index[index], &part, cutter->mesh, &joined))
        cut->index[index] = joined;
}

/* Index dims of that role get the axes in `among` that shard the operand's dims. */
static void cut_by_operand(Cutter *cutter, int operand, const Placement *placements, IndexRole role,
                           AtomSet among)
{
    const OpSpace *space = cutter->space;
    const Operand *o = &space->operand[operand];
    Placement shards[MESH_AXES_MAX];
    Sharding sharding;
    for (int axis = 0; axis < cutter->mesh->n_axes; axis++)
        shards[axis] = placement_is_shard(&placements[axis])
                           ? placements[axis]
                           : (Placement){.kind = PLACE_REPLICATE, .factor = 1};
    if (o->absent || o->ignored ||
        !placements_sharding(shards, &o->shape, cutter->mesh, &sharding, NULL))
        return;
    for (int d = 0; d < sharding.n_dims; d++) {
        const DimFactors *factors = &o->factors[d];
        if (factors->n == 0 || !factors->exact || cut_is_whole(&sharding.dim[d]))
            continue;
        int64_t sizes[FACTORS_MAX];
        Cut part[FACTORS_MAX];
        AtomSet lost;
        for (int f = 0; f < factors->n; f++)
            sizes[f] = space->index[factors->index[f]].size;
        cut_split(&sharding.dim[d], sizes, factors->n, cutter->mesh, part, &lost);
        for (int f = 0; f < factors->n; f++)
            if (space->index[factors->index[f]].role == role)
                cut_index(cutter, factors->index[f], &part[f], among);
    }
}

/* ---- partial outputs, axis by axis ---- */

/* The reduction of a partial placement; MaskP is a sum. NONE if not partial, or NormP. */
static ReduceOp reduce_of(const Placement *placement)
{
    if (placement->kind == PLACE_PARTIAL)
        return placement->reduce;
    bool masked = placement->kind == PLACE_NORM_PARTIAL && placement->factor == MASK_FACTOR;
    return masked ? REDUCE_SUM : REDUCE_NONE;
}

/* The number of partial inputs that are factors of a product. */
static int n_factors_partial(const Cutter *cutter, int axis)
{
    int n = 0;
    for (int i = 0; i < cutter->space->n_inputs; i++) {
        const Placement *fed = cutter->chosen->input[i];
        const Operand *o = &cutter->space->operand[i];
        bool addend = o->linear == LINEAR_TOGETHER || o->once;
        n += fed && reduce_of(&fed[axis]) != REDUCE_NONE && !addend;
    }
    return n;
}

/* True if every output is partial by this reduction: a cut cannot distinguish outputs. */
static bool all_outputs_are(const Cutter *cutter, int axis, ReduceOp reduce)
{
    for (int o = 0; o < cutter->space->n_outputs; o++) {
        const Placement *made = cutter->chosen->output[o];
        if (opspace_output(cutter->space, o)->absent)
            continue;
        if (!made || reduce_of(&made[axis]) != reduce)
            return false;
    }
    return true;
}

/* Inputs that are partial like the output stay so if the axis shards nothing. For composed
 * operators it is unknown which of two factors was reduced. */
static void pass_axis(Cutter *cutter, int axis, ReduceOp reduce)
{
    WholeCut *out = cutter->out;
    AtomSet atoms = mesh_axis_atoms(cutter->mesh, axis);
    int n = 0;
    for (int i = 0; i < cutter->space->n_inputs; i++) {
        const Placement *fed = cutter->chosen->input[i];
        n += fed && reduce_of(&fed[axis]) == reduce;
    }
    if (n == 0 || !all_outputs_are(cutter, axis, reduce) ||
        (cutter->chosen->composed && n_factors_partial(cutter, axis) > 1))
        return;
    out->passes |= atoms;
    for (int a = 0; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            out->kind[a] = (uint8_t)reduce;
    for (int i = 0; i < cutter->space->n_inputs; i++) {
        const Placement *fed = cutter->chosen->input[i];
        if (fed && placement_is_partial(&fed[axis]))
            out->reads[i] |= atoms;
    }
}

static bool dim_is_reduced(const OpSpace *space, const DimFactors *factors)
{
    for (int f = 0; f < factors->n; f++)
        if (space->index[factors->index[f]].role == ROLE_REDUCE)
            return true;
    return false;
}

/* True if the axis shards a summed dim of an input. */
static bool reduces_input(const Cutter *cutter, int axis)
{
    for (int i = 0; i < cutter->space->n_inputs; i++) {
        const Placement *fed = cutter->chosen->input[i];
        if (fed && placement_is_shard(&fed[axis]) &&
            dim_is_reduced(cutter->space, &cutter->space->operand[i].factors[fed[axis].dim]))
            return true;
    }
    return false;
}

/* The reduction by which the row leaves the first output partial on an axis, or NONE; *expressible
 * is false if no cut produces it. */
static ReduceOp partial_on(const Cutter *cutter, int axis, bool *expressible)
{
    const Placement *made = cutter->space->n_outputs > 0 ? cutter->chosen->output[0] : NULL;
    if (!made || !placement_is_partial(&made[axis]))
        return REDUCE_NONE;
    ReduceOp reduce = reduce_of(&made[axis]);
    *expressible &= reduce != REDUCE_NONE;
    return reduce;
}

/* Makes outputs partial by sharding reduce dims if an input is sharded there, else by passing
 * partial inputs. */
static void make_partials(Cutter *cutter)
{
    WholeCut *out = cutter->out;
    AtomSet partial = 0, reduces = 0;
    bool expressible = true;
    for (int axis = 0; axis < cutter->mesh->n_axes; axis++) {
        ReduceOp reduce = partial_on(cutter, axis, &expressible);
        if (reduce == REDUCE_NONE)
            continue;
        partial |= mesh_axis_atoms(cutter->mesh, axis);
        if (reduces_input(cutter, axis))
            reduces |= mesh_axis_atoms(cutter->mesh, axis);
        else
            pass_axis(cutter, axis, reduce);
    }
    for (int i = 0; reduces && i < cutter->space->n_inputs; i++)
        if (cutter->chosen->input[i])
            cut_by_operand(cutter, i, cutter->chosen->input[i], ROLE_REDUCE, reduces);
    out->reduced = op_cut_reduced(cutter->space, &out->cut);
    out->lost |= !expressible || (partial & ~(out->reduced | out->passes)) != 0;
}

/* ---- all of it ---- */

/* True if an output's sharding differs from the row's, ignoring partial axes. */
static bool differs(const Cutter *cutter, int output)
{
    const Placement *expressible = cutter->chosen->output[output];
    int operand = cutter->space->n_inputs + output;
    Placement shards[MESH_AXES_MAX];
    Sharding want, is = op_cut_sharding(cutter->space, &cutter->out->cut, operand, cutter->mesh);
    for (int axis = 0; axis < cutter->mesh->n_axes; axis++)
        shards[axis] = placement_is_partial(&expressible[axis])
                           ? (Placement){.kind = PLACE_REPLICATE, .factor = 1}
                           : expressible[axis];
    is = sharding_without_partial(&is);
    return !placements_sharding(shards, &cutter->space->operand[operand].shape, cutter->mesh, &want,
                                NULL) ||
           !sharding_equal(&want, &is);
}

WholeCut whole_cut(Arena *arena, const Mesh *mesh, const OpSpace *space,
                   const WholeRowChosen *chosen)
{
    WholeCut out = {.cut.n = space->n_index};
    Cutter cutter = {mesh, space, chosen, &out};
    out.reads = arena_array(arena, AtomSet, space->n_inputs);
    for (int i = 0; i < space->n_index; i++)
        out.cut.index[i] = cut_whole(space->index[i].size);
    for (int o = 0; o < space->n_outputs; o++)
        if (chosen->output[o])
            cut_by_operand(&cutter, space->n_inputs + o, chosen->output[o], ROLE_MAP, ~(AtomSet)0);
    make_partials(&cutter);
    for (int o = 0; o < space->n_outputs; o++) {
        const Operand *made = &space->operand[space->n_inputs + o];
        out.lost |= chosen->output[o] && !made->absent && !made->ignored && differs(&cutter, o);
    }
    return out;
}
