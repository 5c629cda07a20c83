#include "core/layout/gspmd.h"

#include <inttypes.h>

static bool check(const Sharding *sharding, const Mesh *mesh, Error *err)
{
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        int64_t size;
        if (cut->n > 1)
            return error_kind(err, ERROR_UNSUPPORTED, "cannot express blocks of a dim");
        if (!cut_is_plain(cut))
            return error_kind(err, ERROR_UNSUPPORTED, "cannot express parts of given sizes");
        if (cut->n == 1 && cut->digit[0].n > 0 && cut_is_uneven(cut, mesh) &&
            mesh_atoms_run(mesh, cut->digit[0].atom, cut->digit[0].n, &size) < cut->digit[0].n)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "cannot express uneven sharding by several axes");
    }
    for (int atom = 0; atom < mesh->n_atoms; atom++)
        if (sharding->partial[atom] != REDUCE_NONE && sharding->partial[atom] != REDUCE_SUM)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "cannot express partial by another reduction than sum");
    return true;
}

/* Atoms in the order of the tiles. Runs of neighbours are one dim of the grid of devices. */
static void format_devices(const Mesh *mesh, const uint8_t *atom, Buf *out)
{
    int first[ATOMS_MAX], n = 0; /* of each run, as the tiles have them */
    int64_t size[ATOMS_MAX];
    int order[ATOMS_MAX]; /* runs as the mesh has them */

    for (int i = 0; i < mesh->n_atoms; i++) {
        if (i == 0 || atom[i] != atom[i - 1] + 1) {
            first[n] = atom[i];
            size[n++] = 1;
        }
        size[n - 1] *= mesh->atoms[atom[i]].size;
    }
    for (int i = 0; i < n; i++) {
        int at = 0;
        for (int j = 0; j < n; j++)
            at += first[j] < first[i];
        order[at] = i;
    }
    buf_puts(out, "<=[");
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", size[order[i]]);
    buf_puts(out, n > 1 ? "]T(" : "]");
    for (int i = 0; n > 1 && i < n; i++) {
        int at = 0;
        while (order[at] != i)
            at++;
        buf_printf(out, "%s%d", i ? "," : "", at);
    }
    buf_puts(out, n > 1 ? ")" : "");
}

bool gspmd_format(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err)
{
    AtomSet all = (AtomSet)((1u << mesh->n_atoms) - 1), cuts = sharding_atoms(sharding),
            sums = sharding_partials(sharding), rest = all & ~cuts & ~sums;
    uint8_t atom[ATOMS_MAX];
    int n = 0;

    if (!check(sharding, mesh, err))
        return false;
    if (rest == all || sums == all) {
        buf_puts(out, rest == all ? "{replicated}" : "{unreduced}");
        return true;
    }
    buf_puts(out, "{devices=[");
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        n += cut_list_atoms(&sharding->dim[d], atom + n);
        buf_printf(out, "%s%" PRId64, d ? "," : "",
                   mesh_atoms_size(mesh, cut_atoms(&sharding->dim[d])));
    }
    const AtomSet last[] = {sums, rest};
    for (int i = 0; i < 2; i++) {
        if (last[i])
            buf_printf(out, "%s%" PRId64, sharding->n_dims || (i && sums) ? "," : "",
                       mesh_atoms_size(mesh, last[i]));
        n += mesh_list_set(mesh, last[i], atom + n);
    }
    buf_putc(out, ']');
    format_devices(mesh, atom, out);
    if (sums)
        buf_printf(out, " last_tile_dims={unreduced%s}", rest ? ", replicated" : "");
    else if (rest)
        buf_puts(out, " last_tile_dim_replicate");
    buf_putc(out, '}');
    return true;
}
