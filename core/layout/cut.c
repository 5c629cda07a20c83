#include "core/layout/cut.h"

#include "core/layout/weights.h"

#include <assert.h>

/* Digits while they are joined: more than a Cut can hold. */
enum { DIGITS_WORK = DIGITS_MAX * 8 };

typedef struct {
    int n;
    Digit digit[DIGITS_WORK];
} DigitList;

static Digit digit_of(int64_t size)
{
    return (Digit){.size = size};
}

static int64_t atoms_product(const Digit *digit, int first, int end, const Mesh *mesh)
{
    int64_t product = 1;
    for (int i = first; i < end; i++)
        product *= mesh->atoms[digit->atom[i]].size;
    return product;
}

/* What must divide a digit, so that a part of it is whole: the number of its parts, or the sum of
 * its weights. */
static int64_t digit_grain(const Digit *digit, const Mesh *mesh)
{
    return digit->weights ? weights_list(mesh, digit->weights).sum
                          : atoms_product(digit, 0, digit->n, mesh);
}

/* Atom i continues the run of one axis that atom i-1 is in. */
static bool continues_run(const uint8_t *atom, int i, const Mesh *mesh)
{
    return atom[i] == atom[i - 1] + 1 && mesh->atoms[atom[i]].axis == mesh->atoms[atom[i - 1]].axis;
}

static int run_end(const Digit *digit, int first, const Mesh *mesh)
{
    int end = first + 1;
    while (end < digit->n && continues_run(digit->atom, end, mesh))
        end++;
    return end;
}

/* The most atoms, at most k, that make a coarser layout if the rest is dropped: a run of one axis
 * is chunked at once, so an uneven one cannot be split; nor can atoms with weights. */
static int prefix_length(const Digit *digit, int k, const Mesh *mesh)
{
    if (digit->weights)
        return k < digit->n ? 0 : k;
    for (int first = 0; first < k;) {
        int end = run_end(digit, first, mesh);
        if (end > k && digit->size % atoms_product(digit, 0, end, mesh) != 0)
            return first;
        first = end;
    }
    return k;
}

static void digit_truncate(Digit *digit, int n)
{
    for (int i = n; i < digit->n; i++)
        digit->atom[i] = 0;
    digit->weights = n < digit->n ? 0 : digit->weights;
    digit->n = (uint8_t)n;
}

static AtomSet digit_atoms(const Digit *digit)
{
    AtomSet set = 0;
    for (int i = 0; i < digit->n; i++)
        set |= (AtomSet)1 << digit->atom[i];
    return set;
}

/* Returns true, with the merged digit in *major, if (major)(minor) is one digit's layout. */
static bool merge(Digit *major, const Digit *minor, const Mesh *mesh)
{
    int64_t grain = digit_grain(major, mesh);
    bool both_uncut = major->n == 0 && minor->n == 0;
    bool even_major = major->n > 0 && minor->n == 0 && major->size % grain == 0;
    bool complete =
        major->n > 0 && minor->n > 0 && major->size == grain && !major->weights && !minor->weights;
    if (!both_uncut && !even_major && !complete)
        return false;

    Digit joined = *major;
    joined.size *= minor->size;
    for (int i = 0; i < minor->n; i++)
        joined.atom[joined.n++] = minor->atom[i];
    if (complete && continues_run(joined.atom, major->n, mesh)) {
        int end = run_end(&joined, major->n, mesh); /* one run now: chunked at once */
        if (joined.size % atoms_product(&joined, 0, end, mesh) != 0)
            return false;
    }
    *major = joined;
    return true;
}

/* Puts the digits in canonical form. Returns false if that needs more than DIGITS_MAX digits. */
static bool canonical(const DigitList *work, const Mesh *mesh, Cut *out)
{
    DigitList merged = {0};
    for (int i = 0; i < work->n; i++) {
        Digit digit = work->digit[i];
        if (digit.size == 1 && digit.n == 0)
            continue;
        while (merged.n > 0 && merge(&merged.digit[merged.n - 1], &digit, mesh))
            digit = merged.digit[--merged.n];
        merged.digit[merged.n++] = digit;
    }
    *out = (Cut){.n = merged.n};
    if (merged.n > DIGITS_MAX)
        return false;
    for (int i = 0; i < merged.n; i++)
        out->digit[i] = merged.digit[i];
    return true;
}

static void work_add(DigitList *work, const Cut *cut)
{
    for (int i = 0; i < cut->n; i++) {
        assert(work->n < DIGITS_WORK);
        work->digit[work->n++] = cut->digit[i];
    }
}

Cut cut_whole(int64_t size)
{
    Cut cut = {0};
    if (size != 1)
        cut.digit[cut.n++] = digit_of(size);
    return cut;
}

bool cut_is_whole(const Cut *cut)
{
    return cut_atoms(cut) == 0;
}

AtomSet cut_atoms(const Cut *cut)
{
    AtomSet set = 0;
    for (int i = 0; i < cut->n; i++)
        set |= digit_atoms(&cut->digit[i]);
    return set;
}

AtomSet cuts_used(const Cut *cuts, int64_t n, int self)
{
    AtomSet used = 0;
    for (int i = 0; i < n; i++)
        if (i != self && !cut_is_ring(&cuts[i]))
            used |= cut_atoms(&cuts[i]);
    return used;
}

int cut_list_atoms(const Cut *cut, uint8_t *atom)
{
    int64_t n_digits = cut_is_blocks(cut) ? 1 : cut->n;
    int n = 0;
    for (int d = 0; d < n_digits; d++)
        for (int i = 0; i < cut->digit[d].n; i++)
            atom[n++] = cut->digit[d].atom[i];
    return n;
}

static int64_t blocks_size(const Cut *cut)
{
    int64_t size = 0;
    for (int i = 0; i < cut->n; i++)
        size += cut->digit[i].size;
    return size;
}

int64_t cut_size(const Cut *cut)
{
    int64_t size = 1;
    if (cut_is_blocks(cut))
        return blocks_size(cut);
    for (int i = 0; i < cut->n; i++)
        size *= cut->digit[i].size;
    return size;
}

bool cut_equal(const Cut *a, const Cut *b)
{
    if (a->n != b->n || a->around != b->around || a->before != b->before || a->after != b->after)
        return false;
    for (int i = 0; i < a->n; i++)
        if (memcmp(&a->digit[i], &b->digit[i], sizeof a->digit[i]) != 0)
            return false;
    return true;
}

/* Blocks first .. end-1 of a list, cut by the first n of their atoms. */
static bool blocks_by(const Cut *cut, int first, int end, int n, const Mesh *mesh, Cut *out)
{
    int64_t sizes[DIGITS_MAX];
    bool mirrored[DIGITS_MAX];
    for (int i = first; i < end; i++) {
        sizes[i - first] = cut->digit[i].size;
        mirrored[i - first] = cut->digit[i].mirrored;
    }
    return cut_blocks_dealt(sizes, mirrored, end - first, cut->digit[0].atom, n, mesh, out);
}

void cut_canonical(Cut *cut, const Mesh *mesh)
{
    DigitList work = {0};
    if (cut_is_blocks(cut)) {
        Cut blocks = *cut;
        blocks_by(&blocks, 0, (int)blocks.n, blocks.digit[0].n, mesh, cut);
        return;
    }
    work_add(&work, cut);
    canonical(&work, mesh, cut);
}

Cut cut_by(int64_t size, const uint8_t *atom, int n, const Mesh *mesh)
{
    Cut cut = {.n = 1, .digit = {digit_of(size)}};
    for (int i = 0; i < n; i++)
        cut.digit[0].atom[cut.digit[0].n++] = atom[i];
    cut_canonical(&cut, mesh);
    return cut;
}

Cut cut_resized(const Cut *like, int64_t size, const Mesh *mesh)
{
    Cut out = {.n = 1, .digit = {like->digit[0]}};
    assert(like->n == 1);
    out.digit[0].size = size;
    if (out.digit[0].weights && size % digit_grain(&out.digit[0], mesh) != 0)
        return cut_whole(size);
    cut_canonical(&out, mesh);
    return out;
}

bool cut_is_plain(const Cut *cut)
{
    for (int i = 0; i < cut->n; i++)
        if (cut->digit[i].block || cut->digit[i].weights)
            return false;
    return true;
}

Cut cut_plain(const Cut *cut, const Mesh *mesh)
{
    Cut out = *cut;
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(cut, atom);
    if (cut_is_blocks(cut))
        return cut_by(cut_size(cut), atom, n, mesh);
    for (int i = 0; i < out.n; i++)
        out.digit[i].weights = 0;
    cut_canonical(&out, mesh);
    return out;
}

bool cut_blocks(const int64_t *sizes, int n, const uint8_t *atom, int n_atoms, const Mesh *mesh,
                Cut *out)
{
    return cut_blocks_dealt(sizes, (const bool[DIGITS_MAX]){false}, n, atom, n_atoms, mesh, out);
}

bool cut_blocks_dealt(const int64_t *sizes, const bool *mirrored, int n, const uint8_t *atom,
                      int n_atoms, const Mesh *mesh, Cut *out)
{
    int64_t total = 0;
    bool equal = true, any = false;
    if (n > DIGITS_MAX)
        return false;
    for (int i = 0; i < n; i++) {
        total += sizes[i];
        any = any || mirrored[i];
        equal = equal && sizes[i] == sizes[0] && !mirrored[i];
    }
    if (n_atoms == 0 || (n == 1 && !any)) {
        *out = n_atoms == 0 ? cut_whole(total) : cut_by(total, atom, n_atoms, mesh);
        return true;
    }
    if (equal) {
        Cut blocks = cut_whole(n), each = cut_by(sizes[0], atom, n_atoms, mesh);
        return cut_concat((const Cut *[]){&blocks, &each}, 2, mesh, out);
    }
    *out = (Cut){.n = n};
    for (int i = 0; i < n; i++) {
        out->digit[i] = (Digit){.size = sizes[i], .n = (uint8_t)n_atoms, .block = true};
        out->digit[i].mirrored = mirrored[i];
        memcpy(out->digit[i].atom, atom, (size_t)n_atoms);
    }
    return true;
}

/* The same part of the list remains in every block. */
static Cut blocks_without(const Cut *cut, AtomSet drop, const Mesh *mesh)
{
    const Digit *first = &cut->digit[0];
    int k = 0;
    while (k < first->n && !(drop >> first->atom[k] & 1))
        k++;
    for (int i = 0; i < cut->n && k < first->n; i++) {
        int kept = prefix_length(&cut->digit[i], k, mesh);
        k = kept < k ? kept : k;
    }
    Cut out;
    blocks_by(cut, 0, (int)cut->n, k, mesh, &out);
    return out;
}

Cut cut_without(const Cut *cut, AtomSet drop, const Mesh *mesh)
{
    Cut out = *cut;
    if (!(cut_atoms(cut) & drop))
        return out;
    if (cut_is_blocks(cut))
        return blocks_without(cut, drop, mesh);
    for (int d = 0; d < out.n; d++) {
        Digit *digit = &out.digit[d];
        int k = 0;
        while (k < digit->n && !(drop >> digit->atom[k] & 1))
            k++;
        if (k < digit->n)
            digit_truncate(digit, prefix_length(digit, k, mesh));
    }
    cut_canonical(&out, mesh);
    return out;
}

/* Splits digit at a border: `need` of it is the major part. Atoms that fit neither part are
 * dropped and returned. */
static AtomSet digit_split(const Digit *digit, int64_t need, const Mesh *mesh, Digit *major,
                           Digit *minor)
{
    AtomSet all = digit_atoms(digit);
    int64_t product = 1;
    int k = 0;
    if (digit->weights && need % digit_grain(digit, mesh) == 0)
        k = digit->n;
    while (!digit->weights && k < digit->n &&
           need % (product * mesh->atoms[digit->atom[k]].size) == 0)
        product *= mesh->atoms[digit->atom[k++]].size;

    *major = *digit;
    *minor = digit_of(digit->size / need);
    int kept = prefix_length(digit, k, mesh);
    if (kept == k && product == need && !digit->weights)
        for (int i = k; i < digit->n; i++)
            minor->atom[minor->n++] = digit->atom[i];
    digit_truncate(major, kept);
    major->size = need;
    return all & ~digit_atoms(major) & ~digit_atoms(minor);
}

/* Pairs up the digits of two cuts of one size from the major end: the larger digit is split at the
 * smaller's border, so that both have the same size. */
typedef struct {
    Cut left, right;
    int i, j; /* the next digits; at both ends when done */
} DigitPairs;

/* Returns false at the end, and if digits do not nest. */
static bool walk_next(DigitPairs *walk, const Mesh *mesh, Digit *x, Digit *y)
{
    if (walk->i == walk->left.n || walk->j == walk->right.n)
        return false;
    Digit *left = &walk->left.digit[walk->i], *right = &walk->right.digit[walk->j], rest;
    *x = *left;
    *y = *right;
    if (left->size == right->size) {
        walk->i++, walk->j++;
        return true;
    }
    bool split_left = left->size > right->size;
    Digit *big = split_left ? left : right;
    int64_t border = split_left ? right->size : left->size;
    if (border == 0 || big->size % border != 0 ||
        digit_split(big, border, mesh, split_left ? x : y, &rest) != 0)
        return false;
    *big = rest;
    if (split_left)
        walk->j++;
    else
        walk->i++;
    return true;
}

static bool walk_ended(const DigitPairs *walk)
{
    return walk->i == walk->left.n && walk->j == walk->right.n;
}

/* Returns true if dropping atoms of `fine` gives `coarse`, which has the same size. */
static bool digit_refines(const Digit *fine, const Digit *coarse, const Mesh *mesh)
{
    return fine->n >= coarse->n && memcmp(fine->atom, coarse->atom, coarse->n) == 0 &&
           (coarse->n == 0 || fine->weights == coarse->weights) &&
           prefix_length(fine, coarse->n, mesh) == coarse->n;
}

static bool digits_refine(const Cut *fine, const Cut *coarse, const Mesh *mesh)
{
    DigitPairs walk = {.left = *fine, .right = *coarse};
    Digit x, y;
    while (walk_next(&walk, mesh, &x, &y))
        if (!digit_refines(&x, &y, mesh))
            return false;
    return walk_ended(&walk);
}

bool cut_refines(const Cut *fine, const Cut *coarse, const Mesh *mesh)
{
    if (cut_is_whole(coarse))
        return true;
    if (!cut_is_blocks(fine) && !cut_is_blocks(coarse))
        return digits_refine(fine, coarse, mesh);
    Cut kept = cut_without(fine, cut_atoms(fine) & ~cut_atoms(coarse), mesh);
    return cut_equal(&kept, coarse);
}

/* One list of atoms from two, one of which must be a prefix of the other. */
static bool join_digit(const Digit *a, const Digit *b, Digit *out)
{
    const Digit *longer = a->n >= b->n ? a : b, *shorter = a->n >= b->n ? b : a;
    if (shorter->n > 0 && shorter->weights != longer->weights)
        return false;
    for (int i = 0; i < shorter->n; i++)
        if (shorter->atom[i] != longer->atom[i])
            return false;
    *out = *longer;
    return true;
}

static bool join_digits(const Cut *a, const Cut *b, const Mesh *mesh, DigitList *work)
{
    DigitPairs walk = {.left = *a, .right = *b};
    Digit x, y;
    while (walk_next(&walk, mesh, &x, &y))
        if (!join_digit(&x, &y, &work->digit[work->n++]))
            return false;
    return walk_ended(&walk);
}

/* Some atom is in it twice, in one digit or in two. */
static bool cuts_twice(const Cut *cut)
{
    AtomSet seen = 0;
    for (int d = 0; d < cut->n; d++)
        for (int i = 0; i < cut->digit[d].n; i++) {
            AtomSet atom = (AtomSet)1 << cut->digit[d].atom[i];
            if (seen & atom)
                return true;
            seen |= atom;
        }
    return false;
}

bool cut_join(const Cut *a, const Cut *b, const Mesh *mesh, Cut *out)
{
    if (cut_is_whole(a) || cut_is_whole(b) || cut_equal(a, b)) {
        *out = cut_is_whole(a) ? *b : *a;
        return true;
    }
    if (cut_refines(a, b, mesh) || cut_refines(b, a, mesh)) {
        *out = cut_refines(a, b, mesh) ? *a : *b;
        return true;
    }
    DigitList work = {0};
    Cut joined;
    if (cut_is_blocks(a) || cut_is_blocks(b))
        return false;
    if (!join_digits(a, b, mesh, &work) || !canonical(&work, mesh, &joined))
        return false;
    if (cuts_twice(&joined) || !cut_refines(&joined, a, mesh) || !cut_refines(&joined, b, mesh))
        return false;
    *out = joined;
    return true;
}

bool cut_concat(const Cut *const *parts, int n, const Mesh *mesh, Cut *out)
{
    DigitList work = {0};
    const Cut *blocks = NULL;
    int n_parts = 0;
    for (int i = 0; i < n; i++) {
        n_parts += cut_size(parts[i]) != 1;
        blocks = cut_is_blocks(parts[i]) ? parts[i] : blocks;
    }
    if (blocks) {
        *out = *blocks;
        return n_parts == 1;
    }
    for (int i = 0; i < n; i++)
        work_add(&work, parts[i]);
    return canonical(&work, mesh, out);
}

void cut_split(const Cut *cut, const int64_t *sizes, int n, const Mesh *mesh, Cut *out,
               AtomSet *lost)
{
    AtomSet kept = 0;
    int at = 0;
    if (cut_is_blocks(cut)) {
        bool one = n == 1 && sizes[0] == cut_size(cut);
        for (int j = 0; j < n; j++)
            out[j] = one ? *cut : cut_whole(sizes[j]);
        *lost = one ? 0 : cut_atoms(cut);
        return;
    }
    Digit digit = cut->n > 0 ? cut->digit[0] : digit_of(1);
    bool nests = true;

    for (int j = 0; j < n; j++) {
        DigitList work = {0};
        int64_t need = sizes[j];
        while (need != 1 && nests) {
            Digit part = digit, rest = digit_of(1);
            if (digit.size == 0 || need == 0 ||
                (need % digit.size != 0 && digit.size % need != 0)) {
                nests = false;
                break;
            }
            if (digit.size > need)
                digit_split(&digit, need, mesh, &part, &rest);
            work.digit[work.n++] = part;
            need /= part.size;
            digit = rest;
            if (digit.size == 1 && digit.n == 0 && ++at < cut->n)
                digit = cut->digit[at];
            else if (digit.size == 1 && need != 1)
                nests = false;
        }
        if (need != 1)
            work.digit[work.n++] = digit_of(need);
        if (!canonical(&work, mesh, &out[j]))
            out[j] = cut_whole(sizes[j]);
        kept |= cut_atoms(&out[j]);
    }
    *lost = cut_atoms(cut) & ~kept;
}

/* Index of the block that starts at `at`, the number of blocks for the end; -1 if none does. */
static int block_at(const Cut *cut, int64_t at)
{
    int i = 0;
    for (; i < cut->n && at > 0; i++)
        at -= cut->digit[i].size;
    return at == 0 ? i : -1;
}

bool cut_part(const Cut *cut, int64_t lo, int64_t hi, const Mesh *mesh, Cut *out)
{
    int64_t size = cut_size(cut);
    *out = cut_whole(hi - lo);
    if (cut_is_whole(cut))
        return true;
    if (lo == 0 && hi == size) {
        *out = *cut;
        return true;
    }
    if (cut_is_blocks(cut)) {
        int first = block_at(cut, lo), end = block_at(cut, hi);
        return 0 <= first && first < end && blocks_by(cut, first, end, cut->digit[0].n, mesh, out);
    }
    Cut part = *cut;
    int64_t block = cut->digit[0].size > 0 ? size / cut->digit[0].size : 0;
    if (cut->digit[0].n > 0 || block == 0 || lo % block != 0 || hi % block != 0 || lo == hi)
        return false;
    part.digit[0].size = (hi - lo) / block;
    cut_canonical(&part, mesh);
    *out = part;
    return true;
}

/* The interval of a digit with weights. */
static void weighted_interval(const Digit *digit, const Mesh *mesh, int64_t position, int64_t *lo,
                              int64_t *hi)
{
    WeightList weights = weights_list(mesh, digit->weights);
    int64_t unit = digit->size / weights.sum, coord = 0;
    for (int i = 0; i < digit->n; i++)
        coord = coord * mesh->atoms[digit->atom[i]].size +
                mesh_atom_coord(mesh, digit->atom[i], position);
    *lo = 0;
    for (int64_t i = 0; i < coord; i++)
        *lo += unit * weights.at[i];
    *hi = *lo + unit * weights.at[coord];
}

void digit_interval(const Digit *digit, const Mesh *mesh, int64_t position, int64_t *lo,
                    int64_t *hi)
{
    if (digit->weights) {
        weighted_interval(digit, mesh, position, lo, hi);
        return;
    }
    int64_t start = 0, length = digit->size;
    for (int first = 0; first < digit->n;) {
        int end = run_end(digit, first, mesh);
        int64_t parts = atoms_product(digit, first, end, mesh), coord = 0;
        for (int i = first; i < end; i++)
            coord = coord * mesh->atoms[digit->atom[i]].size +
                    mesh_atom_coord(mesh, digit->atom[i], position);
        coord = digit->mirrored ? parts - 1 - coord : coord;
        int64_t chunk = (length + parts - 1) / parts;
        int64_t skip = coord * chunk < length ? coord * chunk : length;
        start += skip;
        length = length - skip < chunk ? length - skip : chunk;
        first = end;
    }
    *lo = start;
    *hi = start + length;
}

void cut_interval(const Cut *cut, const Mesh *mesh, int64_t position, int64_t *lo, int64_t *hi)
{
    assert(cut->n == 1);
    digit_interval(&cut->digit[0], mesh, position, lo, hi);
    if (*lo == *hi || cut_carries(cut) || cut_is_ring(cut))
        return; /* a rank without a part needs no borders */
    bool inside = !cut->around;
    *lo = inside && *lo <= cut->before ? 0 : *lo - cut->before;
    *hi = inside && cut->digit[0].size - *hi <= cut->after ? cut->digit[0].size : *hi + cut->after;
}

int64_t cut_local_size(const Cut *cut, const Mesh *mesh, int64_t position)
{
    int64_t product = 1, sum = 0, lo, hi;
    if (cut_has_halo(cut) && !cut_is_ring(cut)) {
        cut_interval(cut, mesh, position, &lo, &hi);
        return hi - lo;
    }
    for (int i = 0; i < cut->n; i++) {
        digit_interval(&cut->digit[i], mesh, position, &lo, &hi);
        product *= hi - lo;
        sum += hi - lo;
    }
    return cut_is_blocks(cut) ? sum : product;
}

/* Of chunks without halos rank 0 has the largest; with one it has a neighbour on one side only. */
int64_t cut_most_size(const Cut *cut, const Mesh *mesh)
{
    int64_t most = cut_local_size(cut, mesh, 0);
    AtomSet atoms = cut_has_halo(cut) || cut_has_sizes(cut) ? cut_atoms(cut) : 0;
    for (int64_t i = 1, n = mesh_atoms_size(mesh, atoms); i < n; i++) {
        int64_t size = cut_local_size(cut, mesh, mesh_group_member(mesh, atoms, 0, i));
        most = size > most ? size : most;
    }
    return most;
}

int64_t cut_least_size(const Cut *cut, const Mesh *mesh)
{
    Cut plain = *cut;
    plain.before = plain.after = 0;
    AtomSet atoms = cut_atoms(cut);
    int64_t n = mesh_atoms_size(mesh, atoms), least = INT64_MAX; /* of chunks it is the last */
    for (int64_t i = cut_has_sizes(cut) ? 0 : n - 1; i < n; i++) {
        int64_t size = cut_local_size(&plain, mesh, mesh_group_member(mesh, atoms, 0, i));
        least = size < least ? size : least;
    }
    return least;
}

bool cut_is_uneven(const Cut *cut, const Mesh *mesh)
{
    if (cut_has_sizes(cut) || (cut_has_halo(cut) && !cut_is_ring(cut)))
        return true;
    for (int i = 0; i < cut->n; i++)
        if (cut->digit[i].size % atoms_product(&cut->digit[i], 0, cut->digit[i].n, mesh) != 0)
            return true;
    return false;
}
