/* Steps to and from shardings with halos, and the scan that completes running sums. */
#include "core/reshard/resharder.h"

static AtomSet halo_atoms(const Sharding *sharding)
{
    AtomSet atoms = 0;
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_has_halo(&sharding->dim[d]))
            atoms |= cut_atoms(&sharding->dim[d]);
    return atoms;
}

/* How often parts are sent on while an op computes on each: they come to all ranks, or they come
 * home after all have added to them. */
static int ring_turns(const Resharder *resharder, const Sharding *before, const Sharding *after)
{
    for (int64_t d = 0; d < before->n_dims; d++) {
        const Cut *there = &after->dim[d], *here = &before->dim[d];
        if (cut_is_ring(there))
            return there->after * (int)mesh_atoms_size(resharder->mesh, cut_atoms(there)) - 1;
        if (cut_is_ring(here))
            return (int)mesh_atoms_size(resharder->mesh, cut_atoms(here)) - 1 + here->around;
    }
    return 0;
}

/* What the running sums of all ranks of a group are at the ends of their parts. */
static int64_t totals_bytes(const Resharder *resharder, Dtype dtype, const Sharding *sharding,
                            int dim, AtomSet atoms)
{
    int64_t n = cut_most_size(&sharding->dim[dim], resharder->mesh);
    int64_t elements = sharding_most_elements(sharding, resharder->mesh) / (n > 0 ? n : 1);
    return dtype_bytes(dtype, elements * mesh_atoms_size(resharder->mesh, atoms));
}

/* The most that one rank holds of one of two shardings beyond what it holds of the other. */
static int64_t border_bytes(const Resharder *resharder, Dtype dtype, const Sharding *plain,
                            const Sharding *wide, AtomSet atoms)
{
    int64_t most = resharder_local_bytes(resharder, dtype, wide) -
                   resharder_local_bytes(resharder, dtype, plain);
    int64_t n = sharding_has_sizes(wide) ? mesh_atoms_size(resharder->mesh, atoms) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t position = mesh_group_member(resharder->mesh, atoms, 0, i);
        int64_t elements = sharding_local_elements(wide, resharder->mesh, position) -
                           sharding_local_elements(plain, resharder->mesh, position);
        int64_t bytes = dtype_bytes(dtype, elements);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The borders of the neighbours' parts, got or given back: of the largest part, what it holds
 * beyond its own; or the turns of a ring. One of both ends has halos. */
static Step halo_step(const Resharder *resharder, Dtype dtype, int32_t from, int32_t to)
{
    const Sharding *before = shardings_at(resharder->shardings, from);
    const Sharding *after = shardings_at(resharder->shardings, to);
    int carried = sharding_carried_dim(before);
    Step step = {.kind = carried < 0 ? STEP_HALO : STEP_SCAN, .from = from, .to = to};
    step.atoms = halo_atoms(before) | halo_atoms(after);
    bool gives_back = sharding_has_halo(before);
    step.bytes = border_bytes(resharder, dtype, gives_back ? after : before,
                              gives_back ? before : after, step.atoms);
    step.turns = ring_turns(resharder, before, after);
    if (step.turns > 0) {
        step.kind = STEP_RING;
        step.bytes = resharder_local_bytes(resharder, dtype, after);
    } else if (carried >= 0)
        step.bytes = totals_bytes(resharder, dtype, after, carried, step.atoms);
    Price price = pricer_step(resharder->pricer, step.kind, step.atoms, step.bytes);
    int64_t times = step.turns > 0 ? step.turns : 1;
    step.wire_bytes = times * price.wire_bytes;
    step.us = (double)times * price.us;
    return step;
}

/* A path to a target with halos: to the same without them, then one exchange with the neighbours.
 */
const ReshardPath *resharder_path_to_halo(Resharder *resharder, const ReshardKey *asked)
{
    Sharding target = sharding_without_halo(shardings_at(resharder->shardings, asked->to));
    int32_t plain = shardings_put(resharder->shardings, &target);
    const ReshardPath *there =
        reshard_inside(resharder, (Dtype)asked->dtype, asked->from, plain, asked->fixed);
    Step *steps;
    ReshardPath *path = resharder_path_begun(resharder, there, &steps);
    path->proven = false;
    resharder_add_step(resharder, path, steps, (Dtype)asked->dtype,
                       halo_step(resharder, (Dtype)asked->dtype, plain, asked->to));
    return path;
}

/* A path from addends that overlap at the borders, which go back to the neighbours and are added,
 * or from running sums that lack those of the ranks before; then on from the parts. */
const ReshardPath *resharder_path_from_overlaps(Resharder *resharder, const ReshardKey *asked)
{
    Dtype dtype = (Dtype)asked->dtype;
    const Sharding *from = shardings_at(resharder->shardings, asked->from);
    Sharding summed = sharding_settled(from);
    int32_t plain = shardings_put(resharder->shardings, &summed);
    const ReshardPath *rest = reshard_inside(resharder, dtype, plain, asked->to, asked->fixed);
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *steps = arena_array(resharder->arena, Step, rest->n_steps + 1);
    *path = (ReshardPath){.step = steps, .bound_us = rest->bound_us};
    path->peak_bytes =
        resharder_local_bytes(resharder, dtype, shardings_at(resharder->shardings, asked->from));
    resharder_add_step(resharder, path, steps, dtype,
                       halo_step(resharder, dtype, asked->from, plain));
    for (int i = 0; i < rest->n_steps; i++)
        resharder_add_step(resharder, path, steps, dtype, rest->step[i]);
    return path;
}
