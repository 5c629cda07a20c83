#include "core/peers/torch/lay.h"

static const Placement replicated = {.kind = PLACE_REPLICATE, .factor = 1};

Lays lays_new(Arena *arena, const Mesh *mesh, bool blocks)
{
    Lays lays = {intern_new(arena), mesh, blocks};
    Placement whole[MESH_AXES_MAX] = {0};
    lays_put(&lays, whole, false); /* LAY_WHOLE */
    return lays;
}

bool placements_are_strided(const Placement *placements, int n_axes)
{
    for (int axis = 0; axis < n_axes; axis++)
        if (placements[axis].kind == PLACE_STRIDED)
            return true;
    return false;
}

int32_t lays_put(Lays *lays, const Placement *placements, bool view_made)
{
    Lay lay;
    memset(&lay, 0, sizeof lay); /* padding too: the struct is hashed */
    for (int axis = 0; axis < MESH_AXES_MAX; axis++) {
        Placement *to = &lay.at[axis];
        to->factor = 1;
        if (axis >= lays->mesh->n_axes || placements[axis].kind == PLACE_REPLICATE)
            continue;
        const Placement *from = &placements[axis];
        to->kind = from->kind;
        to->dim = placement_is_shard(from) ? from->dim : 0;
        to->factor = from->kind == PLACE_SHARD || from->kind == PLACE_PARTIAL ? 1 : from->factor;
        to->reduce = from->kind == PLACE_PARTIAL ? from->reduce : REDUCE_NONE;
    }
    lay.view_made = view_made && placements_are_strided(lay.at, lays->mesh->n_axes);
    return intern_put(lays->ids, &lay, sizeof lay);
}

const Lay *lays_at(const Lays *lays, int32_t id)
{
    return intern_key(lays->ids, id, NULL);
}

/* Unshards the dims that placements cannot express. */
static void drop_inexpressible(const Mesh *mesh, Sharding *sharding)
{
    Placement placements[MESH_AXES_MAX];
    for (int d = 0; d < sharding->n_dims; d++) {
        Sharding one = *sharding;
        for (int k = 0; k < one.n_dims; k++)
            if (k != d)
                one.dim[k] = cut_whole(cut_size(&one.dim[k]));
        if (!placements_of(&one, mesh, placements, NULL))
            sharding->dim[d] = cut_whole(cut_size(&sharding->dim[d]));
    }
}

bool lays_of_sharding(Lays *lays, const Sharding *sharding, int32_t *out)
{
    Placement placements[MESH_AXES_MAX] = {0};
    bool all = placements_of(sharding, lays->mesh, placements, NULL);
    if (!all) {
        Sharding said = *sharding;
        drop_inexpressible(lays->mesh, &said);
        placements_of(&said, lays->mesh, placements, NULL);
    }
    for (int axis = 0; !lays->blocks && axis < lays->mesh->n_axes; axis++)
        if (placements[axis].kind == PLACE_INTERLEAVED)
            placements[axis].kind = PLACE_STRIDED;
    *out = lays_put(lays, placements, false);
    return all;
}

Sharding lays_sharding(const Lays *lays, int32_t id, const Shape *shape)
{
    Placement placements[MESH_AXES_MAX];
    Sharding sharding;
    for (int axis = 0; axis < lays->mesh->n_axes; axis++) {
        placements[axis] = lays_at(lays, id)->at[axis];
        if (placement_is_partial(&placements[axis]))
            placements[axis] = replicated;
    }
    if (!placements_sharding(placements, shape, lays->mesh, &sharding, NULL))
        return sharding_whole(shape);
    return sharding;
}
