/* How a cut is written; sharding_read.c reads it. */
#include "core/layout/weights.h"

#include "core/layout/cut.h"

#include <inttypes.h>

static void digit_format(const Digit *digit, const Mesh *mesh, Buf *out)
{
    buf_printf(out, "%" PRId64, digit->size);
    if (digit->n > 0) {
        buf_putc(out, '/');
        mesh_format_atoms(mesh, digit->atom, digit->n, ".", out);
    }
    if (!digit->weights)
        return;
    WeightList weights = weights_list(mesh, digit->weights);
    for (int i = 0; i < weights.n; i++)
        buf_printf(out, "%c%" PRId64, i ? ',' : '{', digit->size / weights.sum * weights.at[i]);
    buf_putc(out, '}');
}

static void blocks_format(const Cut *cut, const Mesh *mesh, Buf *out)
{
    for (int i = 0; i < cut->n; i++)
        buf_printf(out, "%c%" PRId64 "%s", i ? '|' : '(', cut->digit[i].size,
                   cut->digit[i].mirrored ? "~" : "");
    buf_puts(out, ")/");
    mesh_format_atoms(mesh, cut->digit[0].atom, cut->digit[0].n, ".", out);
}

void cut_format(const Cut *cut, const Mesh *mesh, Buf *out)
{
    if (cut_is_blocks(cut))
        blocks_format(cut, mesh, out);
    else if (cut->n == 0)
        buf_putc(out, '1');
    else if (cut->n == 1)
        digit_format(&cut->digit[0], mesh, out);
    else
        for (int i = 0; i < cut->n; i++) {
            buf_putc(out, '(');
            digit_format(&cut->digit[i], mesh, out);
            buf_putc(out, ')');
        }
    if (cut_is_ring(cut))
        buf_puts(out, cut->after > 1 ? "[2 rings]" : "[ring]");
    else if (cut_carries(cut))
        buf_puts(out, cut->after == CUT_CARRY ? "[,>]" : "[<,]");
    else if (cut_has_halo(cut))
        buf_printf(out, "[%" PRId32 ",%" PRId32 "%s]", cut->before, cut->after,
                   cut->around ? "~" : "");
}
