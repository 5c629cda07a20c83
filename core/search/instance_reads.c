/* How an op reads a value that it needs a part of, or windows of: as the value lies, where that
 * serves (core/plan/edges.c). */
#include "core/search/instance_parts.h"
#include "core/space/dim_part.h"

/* A dim of windows or of parts, which index dims move, or one that follows such a dim. */
static bool moves(const OpSpace *space, const Operand *o, int dim)
{
    const DimFactors *factors = &o->factors[dim];
    if (factors->exact)
        return factors->n == 1 && space->index[factors->index[0]].follows != 0;
    for (int j = 0; j < space->n_index; j++)
        if (o->projection.row[dim].coef[j] != 0)
            return true;
    return false;
}

bool making_reads_as_it_lies(const OpSpace *space, int operand)
{
    const Operand *o = &space->operand[operand];
    if (operand >= space->n_inputs || space->no_rule || o->ignored || o->absent)
        return false;
    for (int d = 0; d < o->projection.n_dims; d++)
        if (moves(space, o, d))
            return true;
    return false;
}

/* Dims of which an op needs a part. */
static bool is_part(const OpSpace *space, int operand, int dim, DimPart *out)
{
    return dim_part(space, operand, dim, out) && !out->of_index;
}

bool making_reads_parts(const OpSpace *space, int operand)
{
    DimPart part;
    for (int d = 0; d < space->operand[operand].projection.n_dims; d++)
        if (is_part(space, operand, d, &part))
            return true;
    return false;
}

/* A dim of which a sharded part is needed, as if all of it were sharded so. */
static void shard_parts(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh,
                        Sharding *as)
{
    for (int d = 0; d < as->n_dims; d++) {
        DimPart part;
        uint8_t atom[ATOMS_MAX];
        if (!cut_is_whole(&as->dim[d]) || !is_part(space, operand, d, &part) ||
            cut_is_whole(&cut->index[part.index]))
            continue;
        int n = cut_list_atoms(&cut->index[part.index], atom);
        as->dim[d] = cut_by(space->operand[operand].shape.dim[d], atom, n, mesh);
    }
}

void making_read_less(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh,
                      int how, Sharding *as)
{
    if (how == LEAST_READ)
        shard_parts(space, cut, operand, mesh, as);
    op_cut_read_halos(space, cut, operand, mesh, as);
}

int32_t making_read_as(Making *m, const InstanceRead *read, int32_t has, int32_t choice,
                       int32_t *other)
{
    Shardings *shardings = m->to->as->shardings;
    const OpSpace *space = m->to->inferred->spaces[read->space];
    int32_t need = instance_layouts(m->to, read->node, read->space, read->operand)[choice];
    *other = -1;
    if (has == need || !making_reads_as_it_lies(space, read->operand))
        return need;
    if (making_reads_parts(space, read->operand)) {
        OpCut cut = instance_cut(m->to, read->node, choice, read->space);
        Sharding as = *shardings_at(shardings, need);
        if (op_cut_read_parts(space, &cut, read->operand, shardings_at(shardings, has),
                              m->to->as->mesh, &as))
            return shardings_put(shardings, &as);
    }
    int32_t with =
        instance_layouts(m->to, read->node, read->space, WITH_HALOS + read->operand)[choice];
    *other = with != need ? need : -1;
    return with;
}
