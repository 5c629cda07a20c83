#include "core/plan/op_cut.h"

#include "core/space/dim_part.h"

OpCut op_cut_whole(const OpSpace *space)
{
    OpCut cut = {.n = space->n_index};
    for (int i = 0; i < space->n_index; i++)
        cut.index[i] = cut_whole(space->index[i].size);
    return cut;
}

bool op_cut_project(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                    Cut *out)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    const Cut *parts[FACTORS_MAX];
    DimPart part;
    if (dim_part(space, operand, dim, &part))
        return part.of_index &&
               cut_part(&cut->index[part.index], part.start, part.end, mesh, out) &&
               !cut_is_whole(out);
    for (int f = 0; f < factors->n; f++)
        parts[f] = &cut->index[factors->index[f]];
    return factors->n > 0 && factors->exact && cut_concat(parts, factors->n, mesh, out);
}

AtomSet op_cut_reduced(const OpSpace *space, const OpCut *cut)
{
    AtomSet atoms = 0;
    for (int i = 0; i < space->n_index; i++)
        if (space->index[i].role == ROLE_REDUCE)
            atoms |= cut_atoms(&cut->index[i]);
    return atoms;
}

/* Outputs are partial over the axes that shard reduce dims which they lack. */
static void add_partials(const OpSpace *space, const OpCut *cut, const Operand *output,
                         Sharding *sharding)
{
    for (int i = 0; i < space->n_index; i++) {
        bool sums = space->index[i].role == ROLE_REDUCE && !operand_has_index(output, i);
        AtomSet atoms = sums ? cut_atoms(&cut->index[i]) : 0;
        for (int a = 0; a < ATOMS_MAX; a++)
            if (atoms >> a & 1)
                sharding->partial[a] = (uint8_t)space->index[i].reduce;
    }
}

Sharding op_cut_sharding(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh)
{
    const Operand *o = &space->operand[operand];
    Sharding sharding = sharding_whole(&o->shape);
    for (int d = 0; d < o->shape.n_dims; d++) {
        Cut part;
        if (op_cut_project(space, cut, operand, d, mesh, &part))
            sharding.dim[d] = part;
    }
    if (operand >= space->n_inputs)
        add_partials(space, cut, o, &sharding);
    return sharding;
}

bool op_cut_read_parts(const OpSpace *space, const OpCut *cut, int operand, const Sharding *have,
                       const Mesh *mesh, Sharding *need)
{
    bool changed = false;
    for (int d = 0; d < have->n_dims; d++) {
        DimPart part;
        Cut read;
        if (!dim_part(space, operand, d, &part) || part.of_index || cut_is_whole(&have->dim[d]) ||
            !cut_part(&have->dim[d], part.start, part.end, mesh, &read) ||
            !cut_equal(&read, &cut->index[part.index]))
            continue;
        need->dim[d] = have->dim[d];
        changed = true;
    }
    return changed;
}

bool op_cut_keeps_parts(const OpSpace *space, int index, const Cut *cut, const Mesh *mesh)
{
    int64_t sizes[DIGITS_MAX], at = 0;
    int n = dim_parts(space, index, sizes, DIGITS_MAX);
    Cut part;
    for (int i = 0; i < n; at += sizes[i++])
        if (!cut_part(cut, at, at + sizes[i], mesh, &part))
            return false;
    return n > 0;
}
