/* cut.h - how one dim is cut: a list of digits (size/axes), major first; or a list of blocks.
 *
 *     4096/tp            one digit cut by tp
 *     (3)(768/tp)        GPT-2's fused qkv weight: each rank has its heads of q, of k and of v
 *     (8/dp)(12/tp)      batch and heads flattened into one dim
 *     (12/tp)(64)        heads are never separated
 *     (4096|1024|1024)/tp  blocks of unequal width, each cut by tp: q, k and v of grouped queries
 *     8/tp{3,3,2}        parts of sizes that were asked for
 *
 * The sizes multiply to the dim's. A digit is cut by an ordered list of atoms (prime parts of mesh
 * axes, major first); its chunks are torch.chunk's, nested, after neighbouring atoms of one axis
 * are regrouped: 50257 over tp=4 is 12565 12565 12565 12562. A rank owns an interval of each digit.
 * A digit with weights (weights.h) has one part for each weight, of that share: its atoms are one,
 * none of them can be dropped alone, and none is added.
 *
 * Canonical form: neighbours merge when both are uncut, or the major is cut completely, or the
 * minor is uncut and the major's parts divide it evenly; equal canonical cuts are equal layouts.
 * Every function here takes and gives canonical cuts. The same form serves index dims.
 *
 * A block list is the other form: its digits are blocks that stand behind each other, so their
 * sizes add up; all are cut by the same atoms, and a rank owns its interval of each block, in
 * order. Equal blocks are digits, `(3)(768/tp)`. A block list does not split at borders of index
 * dims.
 *
 * A halo is what a rank holds of its neighbours' parts too, `before` and `after` its own:
 * 56/x[1,1]. Only a dim of one digit has one, and only in the sharding that an op reads: windows
 * that slide over a sharded dim need the borders of the neighbours. It ends where the tensor does,
 * or goes on at its other end, 56/x[3,0~], as where elements are rolled.
 * A value that an op makes with halos is partial over the axes of the dim: addends overlap there.
 * A halo of CUT_CARRY has no elements: what a running sum has at the end of a part is to be added
 * to all parts behind it, 64/x[,>], or at its start to all before it, 64/x[<,].
 *
 * A halo of CUT_RING goes all around: the parts come to each rank one after another, its own first,
 * then that of the rank before it, and an op computes on each while the next is on its way:
 * 1024/cp[ring]. `after` is the number of times around. A rank holds one part at a time, so the
 * elements are those of its own part. An index dim that is cut so is computed whole by every rank,
 * in turns: its axes shard other index dims of the op too. A value that an op makes so goes around
 * as it is added up, and ends where it belongs: all the way (`around`) where the ranks begin with
 * their own parts, one step less where they end with these.
 *
 * A block may be dealt to the ranks from the last to the first: (512|512~)/cp gives a rank a part
 * of the first half and the mirrored part of the second, which balances a causal mask.
 *
 * Digits are a mixed radix, so a flattened or split dim keeps its cut by splitting digits at the
 * borders of the index dims.
 */
#ifndef CORE_LAYOUT_CUT_H
#define CORE_LAYOUT_CUT_H

#include "core/layout/mesh.h"

enum { DIGITS_MAX = 6, CUT_CARRY = INT32_MAX, CUT_RING = INT32_MAX - 1 };

typedef struct {
    int64_t size;
    uint8_t n, atom[ATOMS_MAX]; /* unused entries are 0 */
    bool block;                 /* of a block list: then all digits of the cut are */
    bool mirrored;              /* a block: the last rank has its first part */
    uint8_t weights;            /* the number of a list of the mesh; 0: chunks */
} Digit;

typedef struct {
    int32_t n; /* number of digits; 0 only for a dim of size 1 or less: a whole dim of size s is one
                  uncut digit */
    int32_t around;        /* 1: the halo goes on at the other end of the dim, or the ring all the
                              way; else 0 */
    int32_t before, after; /* the halo, in elements; 0: none */
    Digit digit[DIGITS_MAX];
} Cut;

Cut cut_whole(int64_t size);
bool cut_is_whole(const Cut *cut);
AtomSet cut_atoms(const Cut *cut);
AtomSet cuts_used(const Cut *cuts, int64_t n,
                  int self);                       /* by all but `self` and rings; -1: by all */
int cut_list_atoms(const Cut *cut, uint8_t *atom); /* in the order they shard it, at most ATOMS_MAX
                                                    */
int64_t cut_size(const Cut *cut);
bool cut_equal(const Cut *a, const Cut *b);
void cut_canonical(Cut *cut, const Mesh *mesh);

/* Functions that make another cut of one drop its halo. */
static inline bool cut_has_halo(const Cut *cut)
{
    return cut->before > 0 || cut->after > 0;
}

static inline bool cut_carries(const Cut *cut)
{
    return cut->before == CUT_CARRY || cut->after == CUT_CARRY;
}

static inline bool cut_is_ring(const Cut *cut)
{
    return cut->before == CUT_RING;
}

/* Appends atoms to the minor end of a whole cut: the plain case `size/axes`. */
Cut cut_by(int64_t size, const uint8_t *atom, int n, const Mesh *mesh);

/* A dim of this size, sharded as the one digit of `like` is; whole if its weights do not divide the
 * size. */
Cut cut_resized(const Cut *like, int64_t size, const Mesh *mesh);

/* A list of n blocks, each sharded by the atoms; canonical, so equal blocks come back as digits
 * and unsharded blocks as a whole dim. Returns false if there are more blocks than DIGITS_MAX. */
bool cut_blocks(const int64_t *sizes, int n, const uint8_t *atom, int n_atoms, const Mesh *mesh,
                Cut *out);
/* The same, with some blocks dealt from the last rank to the first; these have parts of equal size.
 */
bool cut_blocks_dealt(const int64_t *sizes, const bool *mirrored, int n, const uint8_t *atom,
                      int n_atoms, const Mesh *mesh, Cut *out);
static inline bool cut_is_blocks(const Cut *cut)
{
    return cut->n > 0 && cut->digit[0].block;
}

/* Whether all its digits are chunked as torch.chunk does, none of them a block. Atoms may be added
 * to such a cut. */
bool cut_is_plain(const Cut *cut);
static inline bool cut_has_sizes(const Cut *cut) /* a digit has weights */
{
    return !cut_is_plain(cut) && !cut_is_blocks(cut);
}

/* By the same atoms, chunked: of blocks one digit, of weights the same digits without them. */
Cut cut_plain(const Cut *cut, const Mesh *mesh);

/* Without the atoms of `drop`: the result is coarser. An atom after a dropped one in the same
 * digit is dropped with it, since the rest would be another layout. */
Cut cut_without(const Cut *cut, AtomSet drop, const Mesh *mesh);

/* Returns true if `fine` is `coarse` sharded further: each rank's part of fine is within its part
 * of coarse. */
bool cut_refines(const Cut *fine, const Cut *coarse, const Mesh *mesh);

/* The coarsest cut that refines both, if there is one: digits are split at each other's borders,
 * and digit by digit one list of atoms must be a prefix of the other. */
bool cut_join(const Cut *a, const Cut *b, const Mesh *mesh, Cut *out);

/* One tensor dim from the index dims it is the mixed radix of, major first. Returns false if it
 * needs more than DIGITS_MAX digits. */
bool cut_concat(const Cut *const *parts, int n, const Mesh *mesh, Cut *out);

/* The inverse: splits a tensor dim's cut at the borders of index dims of these sizes. Atoms that
 * do not split are dropped and returned in *lost (the resulting cuts are then coarser). */
void cut_split(const Cut *cut, const int64_t *sizes, int n, const Mesh *mesh, Cut *out,
               AtomSet *lost);

/* The cut of the elements [lo, hi) of a dim, where they are whole blocks of its cut: (64|32|32)/tp
 * gives 64/tp for [0, 64), (3)(768/tp) gives (2)(768/tp) for [768, 2304). Returns false where a
 * block is divided. */
bool cut_part(const Cut *cut, int64_t lo, int64_t hi, const Mesh *mesh, Cut *out);

/* The interval of digit d that the rank at `position` holds: [lo, hi). */
void digit_interval(const Digit *digit, const Mesh *mesh, int64_t position, int64_t *lo,
                    int64_t *hi);
int64_t cut_local_size(const Cut *cut, const Mesh *mesh, int64_t position);
int64_t cut_most_size(const Cut *cut, const Mesh *mesh);  /* the largest of any rank */
int64_t cut_least_size(const Cut *cut, const Mesh *mesh); /* the smallest, without halos */
/* What the rank at `position` holds of a dim of one digit, [lo, hi), its halo included; with one
 * that goes around, lo may be below 0 and hi beyond the size. */
void cut_interval(const Cut *cut, const Mesh *mesh, int64_t position, int64_t *lo, int64_t *hi);
bool cut_is_uneven(const Cut *cut, const Mesh *mesh); /* ranks hold parts of unlike sizes */

/* "4096/tp", "(3)(768/tp)", "(4096|1024)/tp", "8/tp{3,3,2}", "56/x[1,1]", "56/x[1,1~]", "64/x[,>]",
 * "64/x[ring]"; a dim of size 1 is "1". */
void cut_format(const Cut *cut, const Mesh *mesh, Buf *out);

#endif
