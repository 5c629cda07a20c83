#include "core/plan/op_cut.h"

#include "core/space/contraction.h"
#include "core/space/dim_part.h"
#include "core/space/gradient.h"

OpCut op_cut_whole(const OpSpace *space)
{
    OpCut cut = {.n = space->n_index};
    for (int i = 0; i < space->n_index; i++)
        cut.index[i] = cut_whole(space->index[i].size);
    return cut;
}

bool op_cut_equal(const OpCut *a, const OpCut *b)
{
    for (int64_t j = 0; j < a->n; j++)
        if (!cut_equal(&a->index[j], &b->index[j]))
            return false;
    return true;
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
    if (factors->n == 0 || !factors->exact || !cut_concat(parts, factors->n, mesh, out))
        return false;
    out->before = out->after = out->around = 0;
    return true;
}

AtomSet op_cut_reduced(const OpSpace *space, const OpCut *cut)
{
    AtomSet atoms = 0;
    for (int i = 0; i < space->n_index; i++)
        if (space->index[i].role == ROLE_REDUCE && !cut_is_ring(&cut->index[i]))
            atoms |= cut_atoms(&cut->index[i]);
    return atoms;
}

/* Outputs are partial over the axes that shard reduce dims which they lack. */
static void add_partials(const OpSpace *space, const OpCut *cut, const Operand *output,
                         Sharding *sharding)
{
    for (int i = 0; i < space->n_index; i++) {
        bool sums = space->index[i].role == ROLE_REDUCE && !operand_has_index(output, i) &&
                    !cut_is_ring(&cut->index[i]);
        AtomSet atoms = sums ? cut_atoms(&cut->index[i]) : 0;
        for (int a = 0; a < ATOMS_MAX; a++)
            if (atoms >> a & 1)
                sharding->partial[a] = (uint8_t)space->index[i].reduce;
    }
}

/* The one index dim with a cut that the dim's row depends on; -1: none, several, or a cut that is
 * not plain. */
static int moving_index(const OpSpace *space, const OpCut *cut, const Row *row)
{
    int moving = -1;
    for (int j = 0; j < space->n_index; j++) {
        if (row->coef[j] == 0 || cut_is_whole(&cut->index[j]))
            continue;
        if (moving >= 0 || cut->index[j].n != 1 || cut_is_blocks(&cut->index[j]))
            return -1;
        moving = j;
    }
    return moving;
}

/* A dim that is read in windows, which index dim `moving` moves. */
typedef struct {
    const OpSpace *space;
    Row row;
    int64_t size;
    int moving;
} Windows;

/* The row of a dim of an input; of a frozen dim that follows another one, the window around the
 * places of that one. False if the dim is an index dim, which is cut as that is. */
static bool windows_row(const OpSpace *space, const OpCut *cut, int operand, int dim, Row *out)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    *out = space->operand[operand].projection.row[dim];
    if (!factors->exact)
        return true;
    const IndexDim *index = factors->n == 1 ? &space->index[factors->index[0]] : NULL;
    if (!index || index->follows == 0 || !cut_is_whole(&cut->index[factors->index[0]]))
        return false;
    *out = (Row){.offset = -index->before, .window = index->before + 1 + index->after};
    out->coef[index->follows - 1] = 1;
    return true;
}

/* What the rank at `position` reads of the dim: [lo, hi), beyond its ends where these are one.
 * False if it has no part of the index dim. */
static bool reads(const Windows *windows, const Cut *places, const Mesh *mesh, int64_t position,
                  int64_t *lo, int64_t *hi)
{
    bool around = windows->row.ends == ENDS_WRAP;
    Projection projection = {.n_dims = 1, .clip = !around, .row = {windows->row}};
    Shape shape = {.n_dims = 1, .dim = {windows->size}};
    Box index = {.n = windows->space->n_index}, box;
    for (int j = 0; j < index.n; j++)
        index.hi[j] = windows->space->index[j].size;
    digit_interval(&places->digit[0], mesh, position, &index.lo[windows->moving],
                   &index.hi[windows->moving]);
    projection_range(&projection, &shape, &index, &box);
    *lo = box.lo[0];
    *hi = box.hi[0];
    return index.lo[windows->moving] < index.hi[windows->moving] && *lo < *hi;
}

/* The dim sharded as its index dim is, with the widest halo of any rank. False if a rank that
 * computes has no part of its own to put the halo around, or would hold an element twice. */
static bool halo_cut(const Windows *windows, const Cut *places, const Mesh *mesh, Cut *out)
{
    int n = places->digit[0].n;
    AtomSet atoms = cut_atoms(places);
    int64_t n_parts = mesh_atoms_size(mesh, atoms), before = 0, after = 0, most = 0;
    *out = cut_resized(places, windows->size, mesh);
    if (out->n != 1 || out->digit[0].n != n)
        return false;
    for (int64_t i = 0; i < n_parts; i++) {
        int64_t position = mesh_group_member(mesh, atoms, 0, i), lo, hi, start, end;
        if (!reads(windows, places, mesh, position, &lo, &hi))
            continue;
        digit_interval(&out->digit[0], mesh, position, &start, &end);
        if (start == end)
            return false;
        before = start - lo > before ? start - lo : before;
        after = hi - end > after ? hi - end : after;
        most = end - start > most ? end - start : most;
    }
    out->around = windows->row.ends == ENDS_WRAP && (before > 0 || after > 0);
    if (before > INT32_MAX || after > INT32_MAX ||
        (out->around && before + most + after > windows->size))
        return false;
    out->before = (int32_t)before;
    out->after = (int32_t)after;
    return true;
}

/* Whether a halo is a border of the neighbours' parts, at most an eighth of them: more is not a
 * shift or a crop but a piece, as q of a weight that holds q, k and v, which a sharding that flows
 * through would move at each step. */
static bool is_narrow(const Cut *cut, const Mesh *mesh)
{
    int64_t border = cut_size(cut) / mesh_atoms_size(mesh, cut_atoms(cut)) / 8;
    return cut->before <= border && cut->after <= border;
}

bool op_cut_halo(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                 Cut *out)
{
    Windows windows = {.space = space, .size = space->operand[operand].shape.dim[dim]};
    DimPart part;
    if (operand >= space->n_inputs || !windows_row(space, cut, operand, dim, &windows.row))
        return false;
    windows.moving = moving_index(space, cut, &windows.row);
    if (windows.moving < 0 || !halo_cut(&windows, &cut->index[windows.moving], mesh, out))
        return false;
    return !dim_part(space, operand, dim, &part) || is_narrow(out, mesh);
}

OpCut op_cut_of_forward(const OpSpace *space, const OpCut *cut)
{
    OpCut out = op_cut_whole(space->gradient->forward);
    for (int j = 0; j < out.n; j++) {
        int own = opspace_find_index(space, str_from(space->gradient->forward->index[j].name));
        if (own >= 0)
            out.index[j] = cut->index[own];
    }
    return out;
}

int op_cut_rounds(const OpSpace *space, int index)
{
    if (space->index[index].role == ROLE_FROZEN)
        return space->index[index].rounds;
    return op_space_in_parts(space, index) ? 1 : 0;
}

/* The axes that shard dims of the operand by index dims that do not go around. */
static AtomSet shards(const OpCut *cut, const Operand *operand)
{
    AtomSet atoms = 0;
    for (int d = 0; d < operand->shape.n_dims; d++)
        for (int f = 0; f < operand->factors[d].n; f++) {
            const Cut *other = &cut->index[operand->factors[d].index[f]];
            atoms |= cut_is_ring(other) ? 0 : cut_atoms(other);
        }
    return atoms;
}

/* Whether an operand can lie as the ring of a product has it: shards of it go around, or a rank has
 * all of them. Counts those that go around. */
static bool product_goes_around(const OpSpace *space, const OpCut *cut, int operand, AtomSet atoms,
                                int *n_around)
{
    AtomSet there = shards(cut, &space->operand[operand]) & atoms;
    *n_around += there == 0;
    return there == atoms || (there == 0 && (operand < space->n_inputs ||
                                             (op_cut_reduced(space, cut) & atoms) == atoms));
}

int op_cut_ring(const OpSpace *space, const OpCut *cut)
{
    int ring = -1, n_in = 0, n_out = 0;
    for (int j = 0; j < space->n_index && ring < 0; j++)
        if (cut_is_ring(&cut->index[j]))
            ring = j;
    AtomSet atoms = ring < 0 ? 0 : cut_atoms(&cut->index[ring]);
    if (ring < 0 || (atoms & ~cuts_used(cut->index, cut->n, -1)))
        return -1;
    bool product = space->index[ring].role != ROLE_FROZEN;
    for (int i = 0; i < space->n_inputs + (product ? space->n_outputs : 0); i++) {
        const Operand *operand = &space->operand[i];
        if (operand->absent || !operand_has_index(operand, ring))
            continue;
        if (product
                ? !product_goes_around(space, cut, i, atoms, i < space->n_inputs ? &n_in : &n_out)
                : (shards(cut, operand) & atoms) != 0)
            return -1;
    }
    return product && (n_in > 0) == (n_out > 0) ? -1 : ring;
}

/* Parts of an input go around; those of an output do while the ranks add to them, if each rank has
 * addends of all. Where every rank has or makes all of them, they are whole. */
static void go_around(const OpSpace *space, const OpCut *cut, int operand, Sharding *sharding)
{
    const Operand *o = &space->operand[operand];
    int ring = op_cut_ring(space, cut);
    for (int d = 0; d < sharding->n_dims; d++) {
        const DimFactors *factors = &o->factors[d];
        int index = factors->n == 1 && factors->exact ? factors->index[0] : -1;
        Cut *made = &sharding->dim[d];
        if (index < 0 || !cut_is_ring(&cut->index[index]) || cut_is_whole(made))
            continue;
        bool input = operand < space->n_inputs;
        if (ring < 0 || (input ? shards(cut, o) & cut_atoms(made)
                               : cut_atoms(made) & ~sharding_partials(sharding))) {
            *made = cut_whole(o->shape.dim[d]);
            continue;
        }
        made->before = CUT_RING;
        made->after = input ? op_cut_rounds(space, index) : 1;
        made->around = !input && space->index[index].role == ROLE_FROZEN;
    }
}

/* What windows add to overlaps at the borders only: a rank holds addends of what its forward op
 * read, not of the whole dim. Without borders nothing overlaps, and the rank has the sums. */
static void add_overlaps(const OpSpace *space, const OpCut *cut, int output, const Mesh *mesh,
                         Sharding *sharding)
{
    OpCut of = op_cut_of_forward(space, cut);
    for (int d = 0; d < sharding->n_dims; d++) {
        Cut read;
        if (cut_is_whole(&sharding->dim[d]) &&
            op_cut_halo(space->gradient->forward, &of, space->gradient->written[output], d, mesh,
                        &read) &&
            !(cut_atoms(&read) & ~sharding_partials(sharding)) &&
            !(cut_atoms(&read) & sharding_atoms(sharding))) {
            sharding->dim[d] = read;
            for (int a = 0; a < ATOMS_MAX && !cut_has_halo(&read); a++)
                if (cut_atoms(&read) >> a & 1)
                    sharding->partial[a] = REDUCE_NONE;
        }
    }
}

/* Where a dim that carries is cut, each part lacks what the others before it add up to. */
static void add_carries(const OpSpace *space, const OpCut *cut, const Operand *output,
                        Sharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const DimFactors *factors = &output->factors[d];
        const IndexDim *index = factors->n == 1 ? &space->index[factors->index[0]] : NULL;
        if (!index || !index->carries || !factors->exact || cut_is_whole(&sharding->dim[d]))
            continue;
        Cut *made = &sharding->dim[d];
        *(index->carries > 0 ? &made->after : &made->before) = CUT_CARRY;
        for (int a = 0; a < ATOMS_MAX; a++)
            if (cut_atoms(&cut->index[factors->index[0]]) >> a & 1)
                sharding->partial[a] =
                    (uint8_t)(index->reduce == REDUCE_NONE ? REDUCE_SUM : index->reduce);
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
    if (operand >= space->n_inputs) {
        add_partials(space, cut, o, &sharding);
        add_carries(space, cut, o, &sharding);
    }
    go_around(space, cut, operand, &sharding);
    if (operand >= space->n_inputs && space->gradient && sharding_partials(&sharding))
        add_overlaps(space, cut, operand - space->n_inputs, mesh, &sharding);
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

bool op_cut_read_halos(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh,
                       Sharding *need)
{
    bool changed = false;
    for (int d = 0; d < need->n_dims; d++) {
        Cut read;
        if (!cut_is_whole(&need->dim[d]) || !op_cut_halo(space, cut, operand, d, mesh, &read) ||
            (cut_atoms(&read) & sharding_atoms(need)))
            continue;
        need->dim[d] = read;
        changed = true;
    }
    return changed;
}

bool op_cut_of_frozen(const OpSpace *space, int index, const Cut *cut, const Mesh *mesh)
{
    int64_t sizes[DIGITS_MAX], at = 0;
    int n = dim_parts(space, index, sizes, DIGITS_MAX);
    Cut part;
    if (cut_is_ring(cut))
        return op_cut_rounds(space, index) > 0;
    if (space->index[index].carries)
        return cut->n == 1 && !cut_is_blocks(cut);
    for (int i = 0; i < n; at += sizes[i++])
        if (!cut_part(cut, at, at + sizes[i], mesh, &part))
            return false;
    return n > 0;
}
