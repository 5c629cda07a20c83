#include "core/plan/window_cut.h"

#include <inttypes.h>

static int64_t least_part(const Cut *read, const Mesh *mesh)
{
    return cut_has_sizes(read) ? cut_least_size(read, mesh)
                               : cut_size(read) / mesh_atoms_size(mesh, cut_atoms(read));
}

bool window_is_narrow(const Cut *read, const Mesh *mesh)
{
    int64_t part = least_part(read, mesh);
    return read->before < part && read->after < part;
}

int window_cut(const OpSpace *space, int operand, int dim, const Cut *from, const Mesh *mesh,
               Cut *places, Cut *read)
{
    Row folded;
    if (operand >= space->n_inputs || from->n != 1 || cut_is_blocks(from))
        return -1;
    int index = row_main_index(space, &space->operand[operand].projection.row[dim], &folded);
    if (index >= 0 && space->index[index].follows > 0)
        index = space->index[index].follows - 1;
    if (index < 0 || (space->index[index].role != ROLE_MAP && !space->index[index].carries))
        return -1;
    OpCut cut = op_cut_whole(space);
    cut.index[index] = *places = cut_resized(from, space->index[index].size, mesh);
    if (!op_cut_halo(space, &cut, operand, dim, mesh, read))
        return -1;
    Cut without = *read;
    without.before = without.after = without.around = 0;
    return cut_equal(&without, from) ? index : -1;
}

bool window_is_wide(const OpSpace *space, int operand, int dim, const Cut *from, const Mesh *mesh,
                    Cut *read)
{
    Cut places;
    return window_cut(space, operand, dim, from, mesh, &places, read) >= 0 &&
           !window_is_narrow(read, mesh);
}

void window_format_wide(const Cut *read, const Mesh *mesh, Buf *out)
{
    buf_printf(out, "a halo of %d before and %d after, wider than a part of %" PRId64, read->before,
               read->after, least_part(read, mesh));
}
