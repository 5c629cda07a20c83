#include "tui/views/slices.h"

#include "core/plan/layout.h"

#include <inttypes.h>

Slices slices_of(const Sharding *sharding, const Mesh *mesh)
{
    Slices slices = {.mesh = mesh,
                     .sharding = sharding,
                     .cuts = sharding_atoms(sharding),
                     .partials = sharding_partials(sharding),
                     .uneven = sharding_is_uneven(sharding, mesh)};

    slices.n_slices = mesh_atoms_size(mesh, slices.cuts);
    slices.n_addends = mesh_atoms_size(mesh, slices.partials);
    slices.n_copies = mesh->n_devices / (slices.n_slices * slices.n_addends);
    return slices;
}

int64_t slice_parts(const Slices *slices, int d)
{
    return mesh_atoms_size(slices->mesh, cut_atoms(&slices->sharding->dim[d]));
}

/* Mixed radix of the coordinates along the dim's atoms, in the order they cut it. */
int64_t slice_part(const Slices *slices, int d, int64_t position)
{
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(&slices->sharding->dim[d], atom);
    int64_t part = 0;

    for (int a = 0; a < n; a++)
        part = part * slices->mesh->atoms[atom[a]].size +
               mesh_atom_coord(slices->mesh, atom[a], position);
    return part;
}

int64_t slice_number(const Slices *slices, int64_t position)
{
    int64_t number = 0;

    for (int d = 0; d < slices->sharding->n_dims; d++)
        number = number * slice_parts(slices, d) + slice_part(slices, d, position);
    return number;
}

int64_t slice_addend(const Slices *slices, int64_t position)
{
    int64_t addend = 0;

    for (int atom = 0; atom < slices->mesh->n_atoms; atom++)
        if (slices->partials >> atom & 1)
            addend = addend * slices->mesh->atoms[atom].size +
                     mesh_atom_coord(slices->mesh, atom, position);
    return addend;
}

void slice_letter(int64_t number, Buf *out)
{
    int64_t round = number / 52, letter = number % 52;

    buf_putc(out, (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26));
    if (round > 0)
        buf_printf(out, "%" PRId64, round);
}

/* Moves a position to part `part` of dim d. */
static int64_t move_to_part(const Slices *slices, int d, int64_t part, int64_t position)
{
    uint8_t atoms[ATOMS_MAX];
    int n = cut_list_atoms(&slices->sharding->dim[d], atoms);

    for (int a = n; a-- > 0;) {
        const MeshAtom *atom = &slices->mesh->atoms[atoms[a]];
        int64_t here = mesh_atom_coord(slices->mesh, atoms[a], position);
        position += (part % atom->size - here) * atom->stride;
        part /= atom->size;
    }
    return position;
}

int64_t slice_holder(const Slices *slices, int d, int64_t part, int e, int64_t other,
                     int64_t position)
{
    for (int atom = 0; atom < slices->mesh->n_atoms; atom++)
        if (!(slices->cuts >> atom & 1))
            position -=
                mesh_atom_coord(slices->mesh, atom, position) * slices->mesh->atoms[atom].stride;
    if (d >= 0)
        position = move_to_part(slices, d, part, position);
    return e >= 0 ? move_to_part(slices, e, other, position) : position;
}

void slice_range(Arena *arena, const Slices *slices, int d, int64_t position, Buf *out)
{
    Runs runs = cut_runs(arena, &slices->sharding->dim[d], slices->mesh, position);

    for (int i = 0; i < runs.n && i < 2; i++)
        buf_printf(out, "%s%" PRId64 ":%" PRId64, i ? "+" : "", runs.at[i].start,
                   runs.at[i].start + runs.at[i].length);
    if (runs.n > 2)
        buf_printf(out, "+%d more", runs.n - 2);
    if (runs.n == 0)
        buf_puts(out, "none");
}

void slice_peers(const Slices *slices, int64_t position, int most, Buf *out)
{
    AtomSet all = (AtomSet)((1u << slices->mesh->n_atoms) - 1);
    int64_t n = slices->n_addends * slices->n_copies, shown = 0;

    for (int64_t i = 0; i < n && shown < most; i++) {
        int64_t peer = mesh_group_member(slices->mesh, all & ~slices->cuts, position, i);
        if (peer != position)
            buf_printf(out, "%sd%" PRId64, shown++ ? " " : "", mesh_device(slices->mesh, peer));
    }
    if (n == 1)
        buf_puts(out, "none");
    else if (n - 1 > shown)
        buf_printf(out, " +%" PRId64, n - 1 - shown);
}
