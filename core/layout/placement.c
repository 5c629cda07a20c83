#include "core/layout/placement.h"

#include <inttypes.h>

/* ---- text ---- */

typedef struct {
    const char *name, *long_name;
    PlacementKind kind;
} PlacementWord;

static const PlacementWord words[] = {
    {"R", "Replicate", PLACE_REPLICATE},
    {"S", "Shard", PLACE_SHARD},
    {"_S", "_StridedShard", PLACE_STRIDED},
    {"IS", "InterleavedShard", PLACE_INTERLEAVED},
    {"P", "Partial", PLACE_PARTIAL},
    {"NormP", "NormPartial", PLACE_NORM_PARTIAL},
    {"MaskP", "MaskPartial", PLACE_NORM_PARTIAL},
};
enum { N_WORDS = sizeof words / sizeof words[0] };

static const PlacementWord *find_word(Str name)
{
    for (int i = 0; i < N_WORDS; i++)
        if (str_eq(name, str_from(words[i].name)) || str_eq(name, str_from(words[i].long_name)))
            return &words[i];
    return NULL;
}

static bool scan_reduce(Scan *scan, ReduceOp *out)
{
    Str name;
    if (!scan_name(scan, &name))
        return false;
    if (reduce_from_name(name, out))
        return true;
    error_kind(scan->err, ERROR_SYNTAX, "'%.*s' is not a reduction: sum avg max min prod any all",
               STR_ARG(name));
    scan_blame(scan, name);
    return false;
}

/* "dim=" before an argument, one of `names`, which have blanks between; none need be there. */
static bool scan_keyword(Scan *scan, Str names)
{
    Scan ahead = *scan;
    Str name;
    char next = scan_peek(&ahead);
    if (is_digit(next) || next == '-')
        return true;
    if (!scan_name(scan, &name))
        return false;
    if (str_has_word(names, name))
        return scan_char(scan, '=');
    error_kind(scan->err, ERROR_SYNTAX, "expected a number or %.*s=, found '%.*s'", STR_ARG(names),
               STR_ARG(name));
    scan_blame(scan, name);
    return false;
}

static bool scan_dim(Scan *scan, int64_t n_dims, int *out)
{
    if (!scan_keyword(scan, STR("dim")))
        return false;
    scan_peek(scan);
    size_t at = scan->at;
    int64_t dim;
    if (!scan_int(scan, &dim))
        return false;
    if (dim < -n_dims || dim >= n_dims) {
        error_kind(scan->err, ERROR_OUT_OF_RANGE, "no dim %" PRId64 " in a tensor of %" PRId64, dim,
                   n_dims);
        error_at(scan->err, scan->source, at);
        return false;
    }
    *out = (int)(dim < 0 ? dim + n_dims : dim);
    return true;
}

static bool scan_factor(Scan *scan, int64_t *out)
{
    scan_peek(scan);
    size_t at = scan->at;
    if (!scan_int(scan, out))
        return false;
    if (*out >= 1)
        return true;
    error_kind(scan->err, ERROR_OUT_OF_RANGE, "a split factor is 1 or more");
    error_at(scan->err, scan->source, at);
    return false;
}

/* sum, "sum", or nothing for a sum. */
static bool scan_reduction(Scan *scan, ReduceOp *out)
{
    char quote = scan_peek(scan);
    *out = REDUCE_SUM;
    if (quote == ')')
        return true;
    if (scan_accept_text(scan, STR("reduce_op")) && !scan_char(scan, '='))
        return false;
    quote = scan_peek(scan);
    bool quoted = quote == '"' || quote == '\'';
    return (!quoted || scan_char(scan, quote)) && scan_reduce(scan, out) &&
           (!quoted || scan_char(scan, quote));
}

static bool scan_split(Scan *scan, int64_t n_dims, Str names, Placement *out)
{
    return scan_dim(scan, n_dims, &out->dim) && scan_char(scan, ',') && scan_keyword(scan, names) &&
           scan_factor(scan, &out->factor);
}

/* What stands between the parentheses. */
static bool scan_arguments(Scan *scan, int64_t n_dims, Placement *out)
{
    switch (out->kind) {
    case PLACE_REPLICATE:
        return true;
    case PLACE_SHARD:
        return scan_dim(scan, n_dims, &out->dim);
    case PLACE_STRIDED:
        return scan_split(scan, n_dims, STR("split_factor sf"), out);
    case PLACE_INTERLEAVED:
        return scan_split(scan, n_dims, STR("interleaved_size"), out);
    case PLACE_PARTIAL:
        return scan_reduction(scan, &out->reduce);
    case PLACE_NORM_PARTIAL:
        return scan_peek(scan) == ')' || scan_factor(scan, &out->factor);
    }
    return false;
}

bool placement_scan(Scan *scan, int64_t n_dims, Placement *out)
{
    Str name;
    if (!scan_name(scan, &name))
        return false;
    const PlacementWord *word = find_word(name);
    if (!word) {
        error_kind(scan->err, ERROR_SYNTAX, "'%.*s' is not a placement", STR_ARG(name));
        scan_blame(scan, name);
        error_hint(scan->err, "R, S(dim), _S(dim,factor), IS(dim,blocks) or P(sum)");
        return false;
    }
    bool mask = word->kind == PLACE_NORM_PARTIAL && word->name[0] == 'M';
    *out = (Placement){.kind = word->kind, .factor = mask ? MASK_FACTOR : 1, .reduce = REDUCE_NONE};
    if (word->kind == PLACE_PARTIAL)
        out->reduce = REDUCE_SUM;
    bool bare = word->kind >= PLACE_PARTIAL || word->kind == PLACE_REPLICATE;
    if (bare && scan_peek(scan) != '(')
        return true;
    return scan_char(scan, '(') && scan_arguments(scan, n_dims, out) && scan_char(scan, ')');
}

void placement_format(const Placement *placement, bool long_form, Buf *out)
{
    const PlacementWord *word = words;
    while (word->kind != placement->kind)
        word++;
    if (placement->kind == PLACE_NORM_PARTIAL && placement->factor == MASK_FACTOR) {
        buf_puts(out, long_form ? "MaskPartial()" : "MaskP");
        return;
    }
    buf_puts(out, long_form ? word->long_name : word->name);
    switch (placement->kind) {
    case PLACE_REPLICATE:
        buf_puts(out, long_form ? "()" : "");
        return;
    case PLACE_SHARD:
        buf_printf(out, "(%d)", placement->dim);
        return;
    case PLACE_STRIDED:
    case PLACE_INTERLEAVED:
        buf_printf(out, "(%d,%" PRId64 ")", placement->dim, placement->factor);
        return;
    case PLACE_PARTIAL:
        buf_printf(out, "(%s)", reduce_name(placement->reduce));
        return;
    case PLACE_NORM_PARTIAL:
        buf_printf(out, "(%" PRId64 ")", placement->factor);
        return;
    }
}

/* ---- what a rank holds ---- */

static bool check_interleaved(const Placement *placement, int64_t size, int64_t n, Error *err)
{
    if (placement->kind != PLACE_INTERLEAVED)
        return true;
    if (size % placement->factor == 0 && size / placement->factor % n == 0)
        return true;
    return error_kind(err, ERROR_NOT_DIVISIBLE,
                      "IS(%d,%" PRId64 ") over %" PRId64 " does not divide a size of %" PRId64,
                      placement->dim, placement->factor, n, size);
}

bool placements_runs(Arena *arena, const Placement *placements, const int *order, const Mesh *mesh,
                     int dim, int64_t size, int64_t position, Runs *out, Error *err)
{
    *out = runs_whole(arena, size);
    for (int i = 0; i < mesh->n_axes; i++) {
        const Placement *placement = &placements[order[i]];
        if (!placement_is_shard(placement) || placement->dim != dim)
            continue;
        int64_t n = mesh->axes[order[i]].size;
        Runs in = *out;
        if (!check_interleaved(placement, in.local_size, n, err))
            return false;
        if (!runs_strided(arena, &in, placement->factor, n, mesh_coord(mesh, order[i], position),
                          out))
            return error_kind(err, ERROR_UNSUPPORTED, "dim %d would lie in more than %d pieces",
                              dim, RUNS_MAX);
    }
    return true;
}

/* ---- comparing uneven sharding with placements ---- */

enum { PIECES_COMPARED_MAX = 1 << 20 };

/* The one uneven case that needs no comparison: nothing but the minor digit is uneven, and the
 * axes shard it whole and in mesh order. Each placement then splits blocks of equal size at their
 * borders, and chunks within them as the digit does. */
static bool is_plain_uneven(const Cut *cut, const Mesh *mesh)
{
    Cut major = *cut;
    major.n--;
    const Digit *minor = &cut->digit[major.n];
    if (cut_is_uneven(&major, mesh))
        return false;
    int last = -1;
    for (int i = 0, length; i < minor->n; i += length) {
        int64_t size;
        length = mesh_atoms_run(mesh, minor->atom + i, minor->n - i, &size);
        int axis = mesh->atoms[minor->atom[i]].axis;
        if (axis <= last || size != mesh->axes[axis].size)
            return false;
        last = axis;
    }
    return true;
}

static bool runs_equal(const Runs *a, const Runs *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, (size_t)a->n * sizeof *a->at) == 0);
}

/* Pieces that the comparison makes for one rank, at most. */
static int64_t pieces_to_compare(const Cut *cut, const Placement *placements, const Mesh *mesh,
                                 int dim)
{
    int64_t n = 1 + cut_n_runs(cut, mesh, 0), size = cut_size(cut);
    for (int i = 0; i < mesh->n_axes; i++)
        if (placement_is_shard(&placements[i]) && placements[i].dim == dim)
            n += placements[i].factor < size ? placements[i].factor : size;
    return n;
}

/* Returns true if every rank holds the same elements, in the same order, by cut and by placements.
 */
static bool compare_runs(Arena *arena, const Cut *cut, const Placement *placements,
                         const Mesh *mesh, int dim, Error *err)
{
    static const int order[MESH_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    AtomSet atoms = cut_atoms(cut);
    int64_t n_ranks = mesh_atoms_size(mesh, atoms);
    if (pieces_to_compare(cut, placements, mesh, dim) > PIECES_COMPARED_MAX / n_ranks)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "dim %d is uneven and too large to compare its placements", dim);
    for (int64_t i = 0; i < n_ranks; i++) {
        int64_t position = mesh_group_member(mesh, atoms, 0, i);
        Runs ours = cut_runs(arena, cut, mesh, position), theirs;
        if (!placements_runs(arena, placements, order, mesh, dim, cut_size(cut), position, &theirs,
                             err))
            return false;
        if (!runs_equal(&ours, &theirs))
            return error_kind(err, ERROR_UNSUPPORTED,
                              "dim %d is uneven, and its chunks are not those of placements", dim);
    }
    return true;
}

static bool check_uneven(const Cut *cut, const Placement *placements, const Mesh *mesh, int dim,
                         Error *err)
{
    bool interleaved = false;
    for (int i = 0; i < mesh->n_axes; i++)
        interleaved |= placements[i].kind == PLACE_INTERLEAVED && placements[i].dim == dim;
    if (!cut_is_uneven(cut, mesh) || (!interleaved && is_plain_uneven(cut, mesh)))
        return true;
    Arena *scratch = arena_new();
    bool same = compare_runs(scratch, cut, placements, mesh, dim, err);
    arena_free(scratch);
    return same;
}

/* ---- the mixed radix that placements split ---- */

/* A dim, major first: the atoms of a digit, then the rest of it. `left` is what is still to be
 * split: of an atom its size until it is applied. A hole is a part that a later axis must shard. */
typedef struct {
    int64_t left;
    int64_t size; /* of the digit; rests only */
    int atom;     /* or: */
} RadixElement;

enum { ATOM_REST = -1, ATOM_HOLE = -2 };

/* Every atom once, every digit's rest, and a border or a hole that each axis may add. */
enum { ELEMENTS_MAX = ATOMS_MAX + DIGITS_MAX + MESH_AXES_MAX };

typedef struct {
    int n;
    RadixElement at[ELEMENTS_MAX];
} Radix;

static int64_t divide_up(int64_t size, int64_t n)
{
    return size / n + (size % n != 0);
}

/* ---- placements from digits ---- */

static Radix radix_of(const Cut *cut, const Mesh *mesh)
{
    Radix radix = {0};
    for (int d = 0; d < cut->n; d++) {
        const Digit *digit = &cut->digit[d];
        int64_t n = 1;
        for (int i = 0; i < digit->n; i++) {
            int64_t size = mesh->atoms[digit->atom[i]].size;
            radix.at[radix.n++] = (RadixElement){.left = size, .atom = digit->atom[i]};
            n *= size;
        }
        radix.at[radix.n++] = (RadixElement){divide_up(digit->size, n), digit->size, ATOM_REST};
    }
    return radix;
}

static bool split_axis(const Mesh *mesh, int axis, Error *err)
{
    return error_kind(err, ERROR_UNSUPPORTED,
                      "axis '%s' shards into parts that are not contiguous: no placement",
                      mesh->axes[axis].name);
}

/* Marks the atoms of axis, from element i on, as applied. Returns false if they are not next in
 * what is left. */
static bool apply_axis(Radix *radix, const MeshAxis *axis, int i)
{
    for (int k = 0; k < axis->n_atoms; i++) {
        if (i == radix->n)
            return false;
        RadixElement *element = &radix->at[i];
        if (element->atom == axis->atom + k) {
            element->left = 1;
            k++;
        } else if (element->left != 1) {
            return false;
        }
    }
    return true;
}

static bool axis_placement(Radix *radix, bool even, const Mesh *mesh, int axis, int dim,
                           Placement *out, Error *err)
{
    *out = (Placement){.kind = PLACE_SHARD, .dim = dim, .factor = 1};
    bool blocks = true; /* all that is left before the axis is unsharded digits */
    int i = 0;
    for (; i < radix->n && radix->at[i].atom != mesh->axes[axis].atom; i++) {
        const RadixElement *element = &radix->at[i];
        if (element->left == 1)
            continue;
        blocks &= element->atom == ATOM_REST && (i == 0 || radix->at[i - 1].atom == ATOM_REST);
        if (__builtin_mul_overflow(out->factor, element->left, &out->factor))
            return error_kind(err, ERROR_UNSUPPORTED, "dim %d has too many blocks", dim);
    }
    if (!apply_axis(radix, &mesh->axes[axis], i))
        return split_axis(mesh, axis, err);
    if (out->factor == 0)
        out->factor = 1;
    if (out->factor > 1)
        out->kind = blocks && even ? PLACE_INTERLEAVED : PLACE_STRIDED;
    return true;
}

/* ---- placements to digits ---- */

/* Inserts n new elements before element i. */
static void make_room(Radix *radix, int i, int n)
{
    memmove(&radix->at[i + n], &radix->at[i], (size_t)(radix->n - i) * sizeof radix->at[0]);
    radix->n += n;
}

/* The first element from i on that something is left of; the last one if there is none. */
static int skip_done(const Radix *radix, int i)
{
    while (i < radix->n - 1 && radix->at[i].left == 1)
        i++;
    return i;
}

/* Returns true if the digit that ends in rest i is sharded evenly, so that its rest may be split
 * off. */
static bool is_even_rest(const Radix *radix, int i, const Mesh *mesh)
{
    int64_t size = radix->at[i].left;
    for (int k = i - 1; k >= 0 && radix->at[k].atom != ATOM_REST; k--)
        size *= radix->at[k].atom == ATOM_HOLE ? radix->at[k].left
                                               : mesh->atoms[radix->at[k].atom].size;
    return size == radix->at[i].size;
}

/* Splits element i so that a part of `major` comes first, and returns the element after the
 * border; -1 if that is impossible. A rest that cannot be split keeps a hole for the axis that is
 * to shard it. */
static int split_element(Radix *radix, int i, int64_t major, const Mesh *mesh)
{
    RadixElement *element = &radix->at[i];
    bool divides = element->left % major == 0;
    if (element->atom == ATOM_HOLE && !divides)
        return -1;
    bool splits = divides && element->atom == ATOM_REST && is_even_rest(radix, i, mesh);
    int64_t minor = divide_up(element->left, major), size = element->size;

    make_room(radix, i, 1);
    radix->at[i] = (RadixElement){.left = major, .atom = ATOM_HOLE};
    radix->at[i + 1].left = minor;
    if (splits) {
        radix->at[i] = (RadixElement){major, size / minor, ATOM_REST};
        radix->at[i + 1].size = minor;
    }
    return i + 1;
}

/* The element before which what is left to be split multiplies to factor; -1 if there is no border
 * and none can be made. */
static int find_border(Radix *radix, int64_t factor, const Mesh *mesh)
{
    int i = skip_done(radix, 0);
    while (factor > 1 && radix->at[i].left > 0) {
        int64_t left = radix->at[i].left;
        if (factor < left || i == radix->n - 1)
            return split_element(radix, i, factor, mesh);
        if (factor % left != 0)
            return -1;
        factor /= left;
        i = skip_done(radix, i + 1);
    }
    return i;
}

/* How many of the atoms [atom, end) multiply to `product`; 0 if none do. */
static int atoms_of_product(const Mesh *mesh, int atom, int end, int64_t product)
{
    int64_t size = 1;
    for (int n = 0; atom + n < end; n++) {
        size *= mesh->atoms[atom + n].size;
        if (size == product)
            return n + 1;
    }
    return 0;
}

/* Shards from element i on by atoms [atom, end) of one axis. What they do not fit into evenly is
 * sharded unevenly by all that are left; holes must be filled. */
static bool cut_from(Radix *radix, int i, const Mesh *mesh, int atom, int end)
{
    while (atom < end) {
        i = skip_done(radix, i);
        int64_t n = mesh_atoms_size(mesh, ((AtomSet)1 << end) - ((AtomSet)1 << atom));
        RadixElement *element = &radix->at[i];
        int n_taken = end - atom;
        if (element->left % n != 0) {
            int fits = atoms_of_product(mesh, atom, end, element->left);
            if (fits == 0 && element->atom == ATOM_HOLE)
                return false;
            n_taken = fits > 0 && i < radix->n - 1 ? fits : n_taken;
        }
        int64_t taken =
            mesh_atoms_size(mesh, ((AtomSet)1 << (atom + n_taken)) - ((AtomSet)1 << atom));
        element->left = divide_up(element->left, taken);
        make_room(radix, i, n_taken);
        for (int k = 0; k < n_taken; k++)
            radix->at[i + k] = (RadixElement){.left = 1, .atom = atom + k};
        atom += n_taken;
        i += n_taken;
    }
    return true;
}

/* The digits of a radix that all axes were applied to. Returns false if a hole is left, or if
 * there are too many digits. */
static bool radix_cut(const Radix *radix, const Mesh *mesh, Cut *out)
{
    Cut parts[ELEMENTS_MAX];
    const Cut *list[ELEMENTS_MAX];
    Digit digit = {0};
    int n = 0;
    for (int i = 0; i < radix->n; i++) {
        const RadixElement *element = &radix->at[i];
        if (element->atom == ATOM_HOLE) {
            if (element->left != 1)
                return false;
        } else if (element->atom != ATOM_REST) {
            digit.atom[digit.n++] = (uint8_t)element->atom;
        } else {
            digit.size = element->size;
            parts[n] = (Cut){.n = 1, .digit = {digit}};
            list[n] = &parts[n];
            n++;
            digit = (Digit){0};
        }
    }
    return cut_concat(list, n, mesh, out);
}

static bool dim_cut(const Placement *placements, int64_t size, const Mesh *mesh, int dim, Cut *out,
                    Error *err)
{
    Radix radix = {.n = 1, .at = {{size, size, ATOM_REST}}};
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        const MeshAxis *at = &mesh->axes[axis];
        if (!placement_is_shard(&placements[axis]) || placements[axis].dim != dim)
            continue;
        int i = find_border(&radix, placements[axis].factor, mesh);
        if (i < 0 || !cut_from(&radix, i, mesh, at->atom, at->atom + at->n_atoms))
            return error_kind(err, ERROR_UNSUPPORTED,
                              "no digits of dim %d say _S(%d,%" PRId64 ") on axis '%s'", dim, dim,
                              placements[axis].factor, at->name);
    }
    if (!radix_cut(&radix, mesh, out))
        return error_kind(err, ERROR_UNSUPPORTED, "no digits say the placements of dim %d", dim);
    return check_uneven(out, placements, mesh, dim, err);
}

/* ---- whole shardings ---- */

static bool dim_placements(const Cut *cut, const Mesh *mesh, int dim, Placement *placements,
                           Error *err)
{
    if (cut_is_blocks(cut))
        return error_kind(err, ERROR_UNSUPPORTED, "no placements say the blocks of dim %d", dim);
    if (!cut_is_plain(cut))
        return error_kind(err, ERROR_UNSUPPORTED,
                          "no placement expresses the sizes of the parts of dim %d", dim);
    Radix radix = radix_of(cut, mesh);
    bool even = !cut_is_uneven(cut, mesh);
    for (int axis = 0; axis < mesh->n_axes; axis++)
        if ((cut_atoms(cut) & mesh_axis_atoms(mesh, axis)) &&
            !axis_placement(&radix, even, mesh, axis, dim, &placements[axis], err))
            return false;
    if (even || is_plain_uneven(cut, mesh))
        return true;
    Cut again;
    return dim_cut(placements, cut_size(cut), mesh, dim, &again, err) &&
           (cut_equal(cut, &again) ||
            error_kind(err, ERROR_UNSUPPORTED,
                       "no placement expresses the uneven sharding of dim %d", dim));
}

static bool partial_placement(const Sharding *sharding, const Mesh *mesh, int axis, Placement *out,
                              Error *err)
{
    const MeshAxis *at = &mesh->axes[axis];
    if (!(sharding_partials(sharding) & mesh_axis_atoms(mesh, axis)))
        return true;
    ReduceOp reduce = sharding->partial[at->atom];
    for (int i = at->atom; i < at->atom + at->n_atoms; i++)
        if (sharding->partial[i] != reduce)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "partial over a part of axis '%s': no placement", at->name);
    *out = (Placement){.kind = PLACE_PARTIAL, .factor = 1, .reduce = reduce};
    return true;
}

bool placements_of(const Sharding *sharding, const Mesh *mesh, Placement *placements, Error *err)
{
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        placements[axis] = (Placement){.kind = PLACE_REPLICATE, .factor = 1};
        if (!partial_placement(sharding, mesh, axis, &placements[axis], err))
            return false;
    }
    if (sharding_has_halo(sharding))
        return error_kind(err, ERROR_UNSUPPORTED, "no placement expresses a halo or a ring");
    for (int dim = 0; dim < sharding->n_dims; dim++)
        if (!dim_placements(&sharding->dim[dim], mesh, dim, placements, err))
            return false;
    return true;
}

bool placements_sharding(const Placement *placements, const Shape *shape, const Mesh *mesh,
                         Sharding *out, Error *err)
{
    *out = (Sharding){.n_dims = shape->n_dims};
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        const MeshAxis *at = &mesh->axes[axis];
        if (placements[axis].kind == PLACE_NORM_PARTIAL)
            return error_kind(err, ERROR_UNSUPPORTED, "a sharding does not hold NormP or MaskP");
        if (placements[axis].kind == PLACE_PARTIAL)
            memset(out->partial + at->atom, (int)placements[axis].reduce, (size_t)at->n_atoms);
    }
    for (int dim = 0; dim < shape->n_dims; dim++)
        if (!dim_cut(placements, shape->dim[dim], mesh, dim, &out->dim[dim], err))
            return false;
    return true;
}
