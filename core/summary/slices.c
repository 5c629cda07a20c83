#include "core/summary/slices.h"

#include "core/plan/stage.h"

#include <inttypes.h>
#include <stdlib.h>

static const char sum_mark[] = "Σ", empty_mark[] = "·";

/* Some rank's part of a dim is more than one run: digits before the last sharded one, or blocks. */
static bool is_strided(const Sharding *sharding, const Mesh *mesh)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (sharding->dim[d].n > 1 && cut_n_runs(&sharding->dim[d], mesh, 0) > 1)
            return true;
    return false;
}

Slices slices_of(const Sharding *sharding, const Mesh *mesh, SubMesh part)
{
    Slices slices = {.mesh = mesh,
                     .sharding = sharding,
                     .part = part,
                     .cuts = sharding_atoms(sharding),
                     .partials = sharding_partials(sharding),
                     .most = sharding_most_elements(sharding, mesh),
                     .uneven = sharding_is_uneven(sharding, mesh),
                     .strided = is_strided(sharding, mesh)};

    slices.n_slices = mesh_atoms_size(mesh, slices.cuts);
    slices.n_addends = mesh_atoms_size(mesh, slices.partials);
    slices.n_copies = submesh_size(mesh, part) / (slices.n_slices * slices.n_addends);
    return slices;
}

Slices slices_of_tensor(const Plan *plan, int32_t tensor, int64_t rank)
{
    return slices_of(shardings_at(plan->shardings, plan->moved->made[tensor]), plan->mesh,
                     stage_part_of(plan, tensor, rank));
}

int64_t slices_twin(const Slices *slices, int64_t rank)
{
    return submesh_twin(slices->mesh, slices->part, rank);
}

int64_t slice_elements(const Slices *slices, int64_t position)
{
    if (!submesh_has(slices->mesh, slices->part, position))
        return 0;
    return slices->uneven ? sharding_local_elements(slices->sharding, slices->mesh, position)
                          : slices->most;
}

int64_t slice_parts(const Slices *slices, int d)
{
    return mesh_atoms_size(slices->mesh, cut_atoms(&slices->sharding->dim[d]));
}

/* Mixed radix of the coordinates along the dim's atoms, in the order they shard it. */
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

int slice_marks(const Slices *slices, int64_t position)
{
    int64_t elements = slice_elements(slices, position);
    int marks = 0;

    if (elements == 0)
        return MARK_EMPTY;
    if (slices->n_addends > 1)
        marks |= MARK_ADDEND;
    if (slices->n_copies > 1)
        marks |= MARK_COPY;
    if (slices->strided)
        marks |= MARK_STRIDED;
    if (elements < slices->most)
        marks |= MARK_SHORT;
    return marks & (MARK_ADDEND | MARK_COPY) ? marks : marks | MARK_ALONE;
}

static void brief_mark(int marks, Buf *out)
{
    if (marks & MARK_ADDEND)
        buf_puts(out, sum_mark);
    else if (marks & (MARK_SHORT | MARK_STRIDED))
        buf_putc(out, marks & MARK_SHORT ? '~' : '\'');
    else if (marks & MARK_COPY)
        buf_putc(out, '=');
}

void slice_mark(const Slices *slices, int64_t position, SliceForm form, Buf *out)
{
    int marks = slice_marks(slices, position);

    if (marks & MARK_EMPTY) {
        buf_puts(out, empty_mark);
        return;
    }
    slice_letter(slice_number(slices, position), out);
    if (form == SLICE_AS_LETTER)
        return;
    if (form == SLICE_AS_MARK) {
        brief_mark(marks, out);
        return;
    }
    buf_puts(out, marks & MARK_STRIDED ? "'" : "");
    buf_puts(out, marks & MARK_SHORT ? "~" : "");
    if (marks & MARK_ADDEND) {
        buf_printf(out, "%s%s%" PRId64, form == SLICE_AS_NUMBER ? "" : " ", sum_mark,
                   slice_addend(slices, position) + 1);
        if (form != SLICE_AS_NUMBER)
            buf_printf(out, "/%" PRId64, slices->n_addends);
    }
    buf_puts(out, marks & MARK_COPY ? "=" : "");
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

int64_t slice_at(const Slices *slices, int d, int64_t part, int e, int64_t other, int64_t position)
{
    if (d >= 0)
        position = move_to_part(slices, d, part, position);
    return e >= 0 ? move_to_part(slices, e, other, position) : position;
}

void slice_range(Arena *arena, const Slices *slices, int d, int64_t position, int most, Buf *out)
{
    const Cut *cut = &slices->sharding->dim[d];

    if (cut_n_runs(cut, slices->mesh, position) > RUNS_MAX) {
        buf_printf(out, "%" PRId64 " pieces", cut_n_runs(cut, slices->mesh, position));
        return;
    }
    Runs runs = cut_runs(arena, cut, slices->mesh, position);
    for (int i = 0; i < runs.n && i < most; i++)
        buf_printf(out, "%s%" PRId64 ":%" PRId64, i ? "+" : "", runs.at[i].start,
                   runs.at[i].start + runs.at[i].length);
    if (runs.n > most)
        buf_printf(out, "+%d more", runs.n - most);
    if (runs.n == 0)
        buf_puts(out, "none");
}

bool slice_start(Arena *arena, const Slices *slices, int d, int64_t position, int64_t *start)
{
    const Cut *cut = &slices->sharding->dim[d];

    if (cut_n_runs(cut, slices->mesh, position) > RUNS_MAX)
        return false;
    Runs runs = cut_runs(arena, cut, slices->mesh, position);
    *start = runs.n > 0 ? runs.at[0].start : 0;
    return runs.n > 0;
}

void slice_ranges(Arena *arena, const Slices *slices, int64_t position, Buf *out)
{
    for (int d = 0; d < slices->sharding->n_dims; d++) {
        buf_puts(out, d ? "," : "");
        if (slice_parts(slices, d) > 1)
            slice_range(arena, slices, d, position, 2, out);
        else
            buf_putc(out, ':');
    }
}

typedef struct {
    int64_t start, part;
} SlicePiece;

static int by_start(const void *a, const void *b)
{
    const SlicePiece *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void slice_pieces(Arena *arena, const Slices *slices, int d, int64_t position, int most, Buf *out)
{
    const Cut *cut = &slices->sharding->dim[d];
    int64_t parts = slice_parts(slices, d), n = 0;

    for (int64_t p = 0; p < parts && n <= most; p++)
        n += cut_n_runs(cut, slices->mesh, slice_at(slices, d, p, -1, 0, position));
    if (n > most)
        return;
    SlicePiece *piece = arena_array(arena, SlicePiece, n);
    n = 0;
    for (int64_t p = 0; p < parts; p++) {
        Runs runs = cut_runs(arena, cut, slices->mesh, slice_at(slices, d, p, -1, 0, position));
        for (int i = 0; i < runs.n; i++)
            piece[n++] = (SlicePiece){runs.at[i].start, p};
    }
    qsort(piece, (size_t)n, sizeof piece[0], by_start);
    for (int64_t i = 0; i < n; i++)
        slice_letter(slice_number(slices, slice_at(slices, d, piece[i].part, -1, 0, position)),
                     out);
}

void slice_peers(const Slices *slices, int64_t position, int most, Buf *out)
{
    AtomSet same = submesh_free(slices->mesh, slices->part) & ~slices->cuts;
    int64_t n = slices->n_addends * slices->n_copies, shown = 0;

    position = slices_twin(slices, position);
    for (int64_t i = 0; i < n && shown < most; i++) {
        int64_t peer = mesh_group_member(slices->mesh, same, position, i);
        if (peer != position)
            buf_printf(out, "%sd%" PRId64, shown++ ? " " : "", mesh_device(slices->mesh, peer));
    }
    if (n == 1)
        buf_puts(out, "none");
    else if (n - 1 > shown)
        buf_printf(out, " +%" PRId64, n - 1 - shown);
}
