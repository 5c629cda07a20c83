#include "core/space/dim_part.h"

#include <inttypes.h>

/* The only index dim of a row that is that index dim, shifted; -1: it is not. A part of size 1 has
 * no factor, so the row is asked. */
static int shifted_index(const OpSpace *space, const Row *row)
{
    int index = -1;
    if (row->divisor > 1 || row->ends != ENDS_NONE)
        return -1;
    for (int j = 0; j < space->n_index; j++) {
        if (row->coef[j] == 0)
            continue;
        if (row->coef[j] != 1 || index >= 0)
            return -1;
        index = j;
    }
    return row->window == 1 ? index : -1;
}

bool dim_part(const OpSpace *space, int operand, int dim, DimPart *out)
{
    const Operand *o = &space->operand[operand];
    const Row *row = &o->projection.row[dim];
    int index = o->absent || o->ignored ? -1 : shifted_index(space, row);
    if (index < 0)
        return false;
    int64_t size = o->shape.dim[dim], extent = space->index[index].size;
    bool of_index = o->projection.clip;
    int64_t start = of_index ? -row->offset : row->offset;
    *out = (DimPart){index, of_index, start, start + (of_index ? size : extent)};
    return start >= 0 && out->end <= (of_index ? extent : size) && size != extent;
}

int dim_parts(const OpSpace *space, int index, int64_t *sizes, int most)
{
    int64_t end = 0;
    int n = 0;
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
        for (int d = 0; d < space->operand[o].shape.n_dims; d++) {
            DimPart part;
            if (!dim_part(space, o, d, &part) || !part.of_index || part.index != index)
                continue;
            if (part.start != end || n == most)
                return 0;
            sizes[n++] = part.end - part.start;
            end = part.end;
        }
    return end == space->index[index].size ? n : 0;
}

void dim_parts_format(const int64_t *sizes, int n, Buf *out)
{
    bool equal = true;
    for (int i = 1; i < n; i++)
        equal &= sizes[i] == sizes[0];
    if (equal) {
        buf_printf(out, "%d parts of %" PRId64, n, sizes[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? ", " : "parts of ", sizes[i]);
}
