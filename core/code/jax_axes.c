#include "core/code/jax_axes.h"

/* Both ends of each run of atoms of one axis are borders. */
static AtomSet borders_of(const Mesh *mesh, const uint8_t *atom, int n)
{
    AtomSet borders = 0;
    for (int i = 0, run; i < n; i += run) {
        int64_t size;
        run = mesh_atoms_run(mesh, atom + i, n - i, &size);
        borders |= (AtomSet)1 << atom[i];
        if (atom[i] + run < mesh->n_atoms)
            borders |= (AtomSet)1 << (atom[i] + run);
    }
    return borders;
}

static AtomSet set_borders(const Mesh *mesh, AtomSet atoms)
{
    uint8_t atom[ATOMS_MAX];
    return borders_of(mesh, atom, mesh_list_set(mesh, atoms, atom));
}

/* The borders used by every sharding that a value has or is read in, and by the stages. */
static AtomSet all_borders(const Plan *plan, Arena *arena)
{
    const Mesh *mesh = plan->mesh;
    AtomSet borders = 0;
    const Graph *graph = plan->inferred->graph;
    bool *seen = arena_array(arena, bool, shardings_count(plan->shardings));
    for (int t = 0; t < graph->n_tensors; t++)
        if (plan->moved->sharding[t] >= 0)
            seen[plan->moved->sharding[t]] = true;
    for (int op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            if (plan->moved->need[graph->ops[op].input + i] >= 0)
                seen[plan->moved->need[graph->ops[op].input + i]] = true;
    for (int32_t s = 0; s < shardings_count(plan->shardings); s++) {
        const Sharding *sharding = shardings_at(plan->shardings, s);
        for (int64_t d = 0; seen[s] && d < sharding->n_dims; d++)
            for (int64_t k = 0; k < sharding->dim[d].n; k++)
                borders |=
                    borders_of(mesh, sharding->dim[d].digit[k].atom, sharding->dim[d].digit[k].n);
        if (seen[s])
            borders |= set_borders(mesh, sharding_partials(sharding));
    }
    for (int p = 0; p < plan->decided->n_submeshes; p++)
        borders |= set_borders(mesh, plan->decided->submeshes[p].fixed);
    return borders;
}

/* "tp_0", or with more underscores if the mesh has that name. */
static const char *part_name(const Mesh *mesh, Arena *arena, const char *axis, int part)
{
    const char *name = arena_printf(arena, "%s_%d", axis, part);
    while (mesh_find_axis(mesh, str_from(name)) >= 0)
        name = arena_printf(arena, "%s_", name);
    return name;
}

static void add_part(JaxAxes *axes, const Mesh *mesh, const char *name, int atom, int n)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= mesh->atoms[atom + i].size;
    axes->axis[axes->n] = name;
    axes->size[axes->n] = size;
    axes->atom[axes->n] = atom;
    axes->n_atoms[axes->n++] = n;
    if (n > 0) {
        axes->name[atom] = name;
        axes->length[atom] = n;
    }
}

JaxAxes jax_axes_of(const Plan *plan, Arena *arena)
{
    const Mesh *mesh = plan->mesh;
    AtomSet borders = all_borders(plan, arena);
    JaxAxes axes = {0};

    mesh_each_axis (axis, mesh) {
        int first = axis->atom, end = axis->atom + axis->n_atoms, part = 0;
        bool split = false;
        for (int a = first + 1; a < end; a++)
            split |= borders >> a & 1;
        axes.split |= split;
        if (!split) {
            add_part(&axes, mesh, axis->name, first, axis->n_atoms);
            continue;
        }
        for (int a = first, b; a < end; a = b) {
            for (b = a + 1; b < end && !(borders >> b & 1);)
                b++;
            add_part(&axes, mesh, part_name(mesh, arena, axis->name, part++), a, b - a);
        }
    }
    return axes;
}
