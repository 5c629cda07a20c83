#include "core/peers/paddle/merge.h"

#include <inttypes.h>

/* A merge in progress. */
typedef struct {
    SpmdCall *call;
    const SpmdOperand *operand;
    int n;
    SpmdLetters *out;
    int n_order;
    char order[SPMD_LETTERS]; /* the letters in order of first appearance */
} Merge;

static bool has_letter(const char *letters, char letter)
{
    return strchr(letters, letter) != NULL;
}

/* ---- letters ---- */

/* Notes every letter and its size, the largest of its dims. With `check`, sizes other than 1 must
 * be equal. ERROR_RANK if a tensor has more or fewer dims than letters. */
static bool note_letters(Merge *merge, bool check, Error *err)
{
    for (int i = 0; i < merge->n; i++) {
        const SpmdTensor *tensor = merge->operand[i].tensor;
        if (!tensor->absent && strlen(merge->operand[i].letters) != (size_t)tensor->n_dims)
            return error_kind(err, ERROR_RANK, "an operand has %d dims but needs %s",
                              tensor->n_dims, merge->operand[i].letters);
        for (int d = 0; !tensor->absent && d < tensor->n_dims; d++) {
            unsigned char letter = (unsigned char)merge->operand[i].letters[d];
            int64_t size = d < tensor->shape.n_dims ? tensor->shape.dim[d] : 1;
            int64_t *known = &merge->out->size[letter];
            if (!merge->out->known[letter])
                merge->order[merge->n_order++] = (char)letter;
            else if (check && letter != '1' && *known != size && *known != 1 && size != 1)
                return error_kind(err, ERROR_CONFLICT, "dim %c has size %lld and size %lld", letter,
                                  (long long)*known, (long long)size);
            merge->out->known[letter] = true;
            *known = size > *known ? size : *known;
        }
    }
    return true;
}

/* Paddle keeps letters in a hash table and, among equals, takes the one it iterates last. Letters
 * of one bucket are adjacent; these share one. */
static const char *const buckets[] = {"ad", "1bhk", "co", "ein", "gjl"};

static bool share_bucket(char a, char b)
{
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++)
        if (has_letter(buckets[i], a) && has_letter(buckets[i], b))
            return true;
    return false;
}

/* Ranks equal letters by first appearance; for exact answers as Paddle's hash table does. */
static void rank_letters(const Merge *merge, char *ranked)
{
    memcpy(ranked, merge->order, (size_t)merge->n_order);
    for (int n = 1; merge->call->exact && n < merge->n_order; n++) {
        char letter = ranked[n];
        int after = n - 1;
        while (after >= 0 && !share_bucket(ranked[after], letter))
            after--;
        if (after < 0)
            continue;
        memmove(&ranked[after + 2], &ranked[after + 1], (size_t)(n - after - 1));
        ranked[after + 1] = letter;
    }
}

/* An axis of several letters stays with the largest of them. */
static void give_to_largest(Merge *merge)
{
    char ranked[SPMD_LETTERS];
    rank_letters(merge, ranked);
    for (int axis = 0; axis < merge->call->mesh->n_axes; axis++) {
        char keeper = 0;
        for (int i = 0; i < merge->n_order; i++) {
            unsigned char letter = (unsigned char)ranked[i];
            if (spmd_axes_have(&merge->out->axes[letter], axis) &&
                (!keeper || merge->out->size[letter] > merge->out->size[(unsigned char)keeper]))
                keeper = (char)letter;
        }
        for (int i = 0; i < merge->n_order; i++) {
            SpmdAxes *axes = &merge->out->axes[(unsigned char)merge->order[i]];
            if (merge->order[i] == keeper || !spmd_axes_have(axes, axis))
                continue;
            spmd_trace(merge->call, "axis %s: %c loses it to %c, which is not smaller",
                       merge->call->mesh->axes[axis].name, merge->order[i], keeper);
            spmd_axes_remove(axes, axis);
        }
    }
}

/* ---- classic and strict ---- */

typedef struct {
    char letter[SPMD_LETTERS];
    int n;
} Claims; /* the letters that claim an axis, in order */

static void claim(Claims *claims, const SpmdAxes *axes, char letter)
{
    for (int i = 0; i < axes->n; i++) {
        Claims *of_axis = &claims[axes->axis[i]];
        if (!memchr(of_axis->letter, letter, (size_t)of_axis->n))
            of_axis->letter[of_axis->n++] = letter;
    }
}

/* Collects the claims of one operand. */
static bool collect_classic(Merge *merge, const SpmdOperand *operand, Claims *claims, Error *err)
{
    for (int d = 0; d < operand->tensor->n_dims; d++) {
        char letter = operand->letters[d];
        SpmdAxes *axes = &merge->out->axes[(unsigned char)letter];
        const SpmdAxes *asked = &operand->tensor->dim[d];
        if (axes->n == 0)
            *axes = *asked;
        else if (asked->n > 0 && !spmd_axes_equal(axes, asked))
            return error_kind(err, ERROR_CONFLICT, "dim %c is split over %s and over %s", letter,
                              spmd_show_axes(merge->call, axes),
                              spmd_show_axes(merge->call, asked));
        claim(claims, axes, letter);
    }
    return true;
}

static bool settle_claims(Merge *merge, const Claims *claims, bool strict, Error *err)
{
    for (int axis = 0; axis < merge->call->mesh->n_axes; axis++) {
        const char *name = merge->call->mesh->axes[axis].name;
        for (int i = 1; i < claims[axis].n; i++) {
            char keeper = claims[axis].letter[0], loser = claims[axis].letter[i];
            if (strict)
                return error_kind(err, ERROR_CONFLICT, "axis %s would split dim %c and dim %c",
                                  name, keeper, loser);
            spmd_trace(merge->call, "axis %s: %c loses it to %c, which claimed it first", name,
                       loser, keeper);
            spmd_axes_remove(&merge->out->axes[(unsigned char)loser], axis);
        }
    }
    return true;
}

static bool merge_classic(Merge *merge, bool strict, Error *err)
{
    Claims claims[MESH_AXES_MAX] = {0};
    if (!note_letters(merge, false, err))
        return false;
    for (int i = 0; i < merge->n; i++)
        if (!merge->operand[i].tensor->absent &&
            !collect_classic(merge, &merge->operand[i], claims, err))
            return false;
    return settle_claims(merge, claims, strict, err);
}

/* ---- by lists ---- */

/* True when list a comes before list b: the longer, then the one with more parts, then by axes. */
static bool comes_before(const SpmdCall *call, const SpmdAxes *a, const SpmdAxes *b)
{
    if (a->n != b->n)
        return a->n > b->n;
    int64_t parts = spmd_axes_size(call, a), others = spmd_axes_size(call, b);
    if (parts != others)
        return parts > others;
    return memcmp(a->axis, b->axis, a->n) < 0;
}

/* All axes that operands claim for a letter, best list first. */
static SpmdAxes union_of(Merge *merge, char letter)
{
    Vec(SpmdAxes) asked = {0};
    for (int i = 0; i < merge->n; i++) {
        const SpmdTensor *tensor = merge->operand[i].tensor;
        for (int d = 0; !tensor->absent && d < tensor->n_dims; d++) {
            if (merge->operand[i].letters[d] != letter || tensor->dim[d].n == 0)
                continue;
            vec_push(merge->call->arena, &asked, tensor->dim[d]);
            for (int k = asked.n - 1;
                 k > 0 && comes_before(merge->call, &asked.at[k], &asked.at[k - 1]); k--) {
                SpmdAxes moved = asked.at[k];
                asked.at[k] = asked.at[k - 1];
                asked.at[k - 1] = moved;
            }
        }
    }
    SpmdAxes all = {0};
    for (int i = 0; i < asked.n; i++)
        for (int k = 0; k < asked.at[i].n; k++)
            spmd_axes_push(&all, asked.at[i].axis[k]);
    return all;
}

static void trim_letter(Merge *merge, unsigned char letter)
{
    SpmdAxes *axes = &merge->out->axes[letter];
    int before = axes->n;
    spmd_axes_trim(merge->call, axes, merge->out->size[letter]);
    if (axes->n < before && axes->n == 0)
        spmd_trace(merge->call,
                   "%c of size %" PRId64 " is not split: the axes do not divide it evenly", letter,
                   merge->out->size[letter]);
    else if (axes->n < before)
        spmd_trace(merge->call,
                   "%c of size %" PRId64 " is split over %s only: more axes do not divide it",
                   letter, merge->out->size[letter], spmd_show_axes(merge->call, axes));
}

static bool merge_by_lists(Merge *merge, Error *err)
{
    if (!note_letters(merge, true, err))
        return false;
    for (int i = 0; i < merge->n_order; i++) {
        unsigned char letter = (unsigned char)merge->order[i];
        merge->out->axes[letter] = union_of(merge, (char)letter);
        trim_letter(merge, letter);
    }
    give_to_largest(merge);
    return true;
}

/* ---- by the operand that is split more ---- */

typedef struct {
    int n_lists; /* dims split by several axes */
    int64_t parts;
} Weight;

static Weight weigh(const SpmdCall *call, const SpmdTensor *tensor)
{
    Weight weight = {.parts = 1};
    for (int d = 0; d < tensor->n_dims; d++) {
        weight.n_lists += tensor->dim[d].n > 1;
        weight.parts *= spmd_axes_size(call, &tensor->dim[d]);
    }
    return weight;
}

/* Returns 1 if the second operand is followed. */
static int choose_followed(const Merge *merge)
{
    if (merge->n < 2)
        return 0;
    const SpmdTensor *a = merge->operand[0].tensor, *b = merge->operand[1].tensor;
    Weight of_a = weigh(merge->call, a), of_b = weigh(merge->call, b);
    return of_b.n_lists > of_a.n_lists || of_b.parts > of_a.parts ||
           (of_b.parts == of_a.parts && b->n_dims > a->n_dims);
}

/* The axes that the operand claims for a letter, at its first occurrence. */
static SpmdAxes claimed_axes(const SpmdOperand *operand, char letter)
{
    for (int d = 0; d < operand->tensor->n_dims; d++)
        if (operand->letters[d] == letter)
            return operand->tensor->dim[d];
    return (SpmdAxes){0};
}

static bool used_by_a_letter(const Merge *merge, int axis)
{
    for (int i = 0; i < merge->n_order; i++)
        if (spmd_axes_have(&merge->out->axes[(unsigned char)merge->order[i]], axis))
            return true;
    return false;
}

static bool merge_by_followed(Merge *merge, Error *err)
{
    if (!note_letters(merge, true, err))
        return false;
    int followed = choose_followed(merge);
    const SpmdOperand *first = &merge->operand[followed];
    for (int d = 0; d < first->tensor->n_dims; d++)
        merge->out->axes[(unsigned char)first->letters[d]] = first->tensor->dim[d];
    if (merge->n == 2 && merge->n_order > 1)
        spmd_trace(merge->call, "the %s of these is split at least as much: it is followed",
                   followed ? "second" : "first");
    const SpmdOperand *longest = first;
    for (int i = 0; i < merge->n; i++)
        if (merge->operand[i].tensor->n_dims > longest->tensor->n_dims)
            longest = &merge->operand[i];
    if (merge->call->exact && longest != first)
        return error_set(err, "the operand split more has fewer dims: Paddle has no answer");
    for (int d = 0; d < longest->tensor->n_dims; d++) {
        unsigned char letter = (unsigned char)longest->letters[d];
        SpmdAxes asked = merge->n == 2 && merge->out->known[letter]
                             ? claimed_axes(&merge->operand[1 - followed], (char)letter)
                             : (SpmdAxes){0};
        for (int i = 0; i < asked.n; i++)
            if (!used_by_a_letter(merge, asked.axis[i]))
                spmd_axes_push(&merge->out->axes[letter], asked.axis[i]);
        trim_letter(merge, letter);
    }
    give_to_largest(merge);
    return true;
}

/* ---- all of them ---- */

/* Traces "letters: mk, kn" if any operand has more than one letter. */
static void trace_letters(const SpmdCall *call, const SpmdOperand *operand, int n)
{
    Buf letters = buf_new(call->arena);
    bool any = false;
    for (int i = 0; i < n; i++) {
        bool absent = operand[i].tensor->absent;
        any = any || (!absent && operand[i].letters[0] && operand[i].letters[1]);
        buf_printf(&letters, "%s%s", i ? ", " : "",
                   absent || !operand[i].letters[0] ? "-" : operand[i].letters);
    }
    if (any)
        spmd_trace(call, "letters: %s", letters.s);
}

/* Traces "a: -, b: y". */
static void trace_merged(const Merge *merge)
{
    Buf axes = buf_new(merge->call->arena);
    for (int i = 0; i < merge->n_order; i++) {
        unsigned char letter = (unsigned char)merge->order[i];
        buf_printf(&axes, "%s%c: %s", i ? ", " : "", letter,
                   spmd_show_axes(merge->call, &merge->out->axes[letter]));
    }
    if (merge->n_order > 0)
        spmd_trace(merge->call, "%s", axes.s);
}

bool spmd_merge(SpmdCall *call, SpmdMergeKind kind, const SpmdOperand *operand, int n,
                SpmdLetters *out, Error *err)
{
    Merge merge = {.call = call, .operand = operand, .n = n, .out = out};
    *out = (SpmdLetters){0};
    if (call->trace)
        trace_letters(call, operand, n);
    bool merged = kind == SPMD_BY_LISTS      ? merge_by_lists(&merge, err)
                  : kind == SPMD_BY_FOLLOWED ? merge_by_followed(&merge, err)
                                             : merge_classic(&merge, kind == SPMD_STRICT, err);
    if (merged && call->trace)
        trace_merged(&merge);
    return merged;
}

void spmd_set_letters(SpmdTensor *tensor, const char *letters, const SpmdLetters *merged)
{
    int n = (int)strlen(letters);
    tensor->n_dims = n < SPMD_DIMS_MAX ? n : SPMD_DIMS_MAX;
    for (int d = 0; d < tensor->n_dims; d++) {
        unsigned char letter = (unsigned char)letters[d];
        tensor->dim[d] = letter == '1' ? (SpmdAxes){0} : merged->axes[letter];
    }
}

void spmd_partial_of_letters(SpmdTensor *tensor, const char *out_letters, const SpmdLetters *merged,
                             ReduceOp reduce)
{
    for (int letter = 1; letter < SPMD_LETTERS; letter++)
        if (merged->known[letter] && !has_letter(out_letters, (char)letter))
            spmd_add_partial(tensor, &merged->axes[letter], reduce);
}

/* ---- making letters ---- */

const char *spmd_letters(const SpmdCall *call, int n, char first)
{
    char *letters = arena_array(call->arena, char, n + 1);
    for (int i = 0; i < n; i++)
        letters[i] = (char)(first + i);
    return letters;
}

const char *spmd_broadcast_letters(const SpmdCall *call, const SpmdTensor *tensor, int n_dims,
                                   bool keep_ones)
{
    int n = tensor->n_dims, shift = n_dims > n ? n_dims - n : 0;
    char *letters = arena_array(call->arena, char, n + 1);
    for (int d = 0; d < n; d++) {
        bool one = d < tensor->shape.n_dims && tensor->shape.dim[d] == 1;
        letters[d] = one && !keep_ones ? '1' : (char)('a' + d + shift);
    }
    return letters;
}
