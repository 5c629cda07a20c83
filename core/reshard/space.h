/* space.h - the layouts that a search for a reshard goes through, and their costs.
 *
 * A *slot* is a digit of a dim: source and target are split at each other's borders, so that a
 * layout is one ordered list of atoms per slot, major first, and a set of partial atoms. A dim
 * whose two ends share no digits, 2304/tp and (3)(768/tp), has slots of both forms, and a layout
 * uses the slots of one form. In dims that neither end shards atoms may be parked. If all atoms
 * divide such a dim, it is *spare*: which one of the empty ones takes an atom makes no difference.
 * Most reshards need no more than one of them: a narrow space has a slot for that one alone, a wide
 * one for all. Without a spare dim, both have slots for all dims.
 *
 * Steps between layouts (n: ranks of a group; a list's tail is its minor end):
 *     slice           unused atoms are added to tails                        free
 *     all-gather      tails become unused, of any slots at once
 *     all-to-all      tails of some slots become tails of others, in any order; a dim that
 *                     gives all it has may take it back in its other form
 *     permute         every slot keeps its number of parts; which atoms shard it, and in which
 *                     order, is free: a rank's whole shard goes to another rank
 *     all-reduce      partial atoms of one reduction become unused
 *     reduce-scatter  partial atoms of one reduction are added to tails
 * An axis that neither end splits is gathered and reduced as a whole, as far as it shards or is
 * partial: splitting it would save a ring a hop or two, but make the steps harder to read. It may
 * be split if it moves from dim to dim. Chunks of uneven digits are torch's, run by run of one
 * axis; a tail is then only what can be removed (boundary rule of cut.h).
 *
 * This file knows no machine: prices come from a Pricing, so that the same search works for a
 * machine file and for a cost model of one line.
 */
#ifndef CORE_RESHARD_SPACE_H
#define CORE_RESHARD_SPACE_H

#include "core/reshard/price.h"
#include "core/layout/sharding.h"

/* A dim has at most DIGITS_MAX digits in each of two forms. */
enum {
    SLOTS_MAX = 2 * DIGITS_MAX * DIMS_MAX,
    ATOM_UNUSED = 0,
    ATOM_HELD = 0x8000,
    ATOM_PARTIAL = 0xffff
};

/* Where each atom is: ATOM_UNUSED, ATOM_PARTIAL, or place_in(slot, i). Compared as bytes.
 *
 * In the middle of a step, an atom without a new position has ATOM_HELD + 1 + the slot that may not
 * take it, because the slot gave some away. The slots that gave are listed at the held atoms in
 * ascending order, whichever atom came from which; ATOM_HELD if none gave. */
typedef struct {
    uint16_t moved;    /* devices are still in the order of the source's mesh, not the target's */
    uint16_t progress; /* steps in common with a path to be avoided (search.h) */
    uint16_t place[ATOMS_MAX];
    uint16_t unused[2]; /* 0: layouts are compared and hashed in words of 8 bytes */
} Layout;

static inline uint16_t place_in(int slot, int i)
{
    return (uint16_t)((slot + 1) << 5 | i);
}
static inline int place_slot(uint16_t place) /* of an atom that shards */
{
    return (place >> 5) - 1;
}
static inline int place_at(uint16_t place)
{
    return place & 31;
}
static inline bool place_cuts(uint16_t place)
{
    return place != ATOM_UNUSED && place < ATOM_HELD;
}

static inline bool place_held(uint16_t place)
{
    return place >= ATOM_HELD && place != ATOM_PARTIAL;
}

typedef struct {
    int64_t size, goal_parts;
    uint8_t dim, form, n_goal, goal[ATOMS_MAX]; /* goal: the target's list */
    bool spare;
} Slot;

typedef struct {
    double us, byte_us;
} Least;

/* The least cost of gathering far atoms of a product again, or of reducing over them, per byte that
 * each rank holds before, whatever other atoms are in the same groups. */
enum { FAR_SIZES = 16 };

typedef struct {
    int n;
    int64_t size[FAR_SIZES]; /* ascending */
    double vanish_us[FAR_SIZES], reduce_us[FAR_SIZES], grow_us[FAR_SIZES];
    double move_us; /* likewise for an all-to-all */
} FarCosts;

/* What steps cost, and lower bounds of it (bound.h). Times in us; byte_us: the cost of one more
 * byte, per (n-1)/n of the larger local size for a step that divides the number of parts by n, of
 * the payload for one that reduces over n, and per byte that a permute carries. */
typedef struct {
    void *context;
    double (*step_us)(void *context, StepKind kind, AtomSet atoms, double bytes);
    /* A number that sets share over which such a step costs the same, whatever its payload. NULL:
     * none do. */
    int32_t (*alike)(void *context, StepKind kind, AtomSet atoms);
    /* For steps that together drop n, or reduce over n, however few bytes they carry. */
    double (*least_drop_us)(void *context, int64_t n);
    double (*least_reduce_us)(void *context, int64_t n);
    double drop_byte_us, reduce_byte_us;
    Least permute;
    bool permutes_alike; /* a permute costs the same for any set of atoms */
    Least grow;          /* extra cost of an all-reduce over a reduce-scatter, or of any gather */
    AtomSet far;         /* of the mesh: a step whose groups include one of these costs at least
                            this */
    Least far_drop, far_reduce, far_permute, far_grow;
    FarCosts far_costs;
} Pricing;

typedef struct {
    int n_atoms, n_slots, n_dims;
    int64_t size[ATOMS_MAX];
    AtomSet of_mesh[ATOMS_MAX]; /* the atoms of the mesh that this atom represents: one, or those
                                   of an axis */
    bool runs_on[ATOMS_MAX];    /* continues the axis of the atom before */
    bool joined[ATOMS_MAX];     /* and neither end splits the two */
    AtomSet whole[ATOMS_MAX];   /* all atoms joined with it */
    uint8_t reduce[ATOMS_MAX];
    Slot slot[SLOTS_MAX];
    AtomSet kept;                   /* partial at both ends */
    AtomSet far;                    /* in the units of the pricing */
    int64_t goal_before[ATOMS_MAX]; /* for atoms that shard the target: product of the parts
                                       before it in its list */
    bool padded;                    /* chunks are ceil(size / parts), whatever the order of atoms */
    bool two_forms;
    bool narrow;     /* a wide space has more layouts */
    bool even;       /* no slot has chunks of two sizes, however it is sharded */
    double unit;     /* bytes of one element of all slots, that is of all dims without a slot */
    double limit;    /* limit of what a rank may hold, in bytes */
    int most_offers; /* layouts that a search may look at */
    bool greedy;     /* the search only tries to find a better path: it proves none */
    double goal_bytes, floor_bytes; /* bytes of the target on a rank, without padding; and if all
                                       atoms sharded it */
    Layout from, to;
    Pricing pricing;
} Space;

/* limit, most_offers, greedy and pricing are left to the caller. Leaves out the atoms of `without`
 * that neither end uses. */
void space_of(const Sharding *from, const Sharding *to, const Mesh *mesh, AtomSet without,
              double element_bytes, bool wide, Space *out);

/* The same space with fewer layouts: joined atoms become one. As many as `most` allows stay apart,
 * first where far atoms begin, then in the middle of the longest row. Returns false if no atoms are
 * joined. */
bool space_join(const Space *space, int most, Space *out);

/* The atoms of the mesh that these atoms of the space represent. */
AtomSet space_of_mesh(const Space *space, AtomSet atoms);

/* The sharding of a layout; dims without a slot are as in `like`. */
Sharding space_sharding(const Space *space, const Layout *layout, const Sharding *like,
                        const Mesh *mesh);

/* Computes from `to` what slots and bounds need to know about the target. */
void space_set_goal(Space *space);

/* The end of the run of one axis that begins at `first`, which is chunked at once. */
int space_run(const Space *space, const uint8_t *atom, int n, int first);

/* Returns whether a list of n atoms without those from k on is a coarser layout. */
bool space_boundary(const Space *space, int slot, const uint8_t *atom, int n, int k);

/* Rank 0's chunk of a slot sharded by this list. */
int64_t space_chunk(const Space *space, int slot, const uint8_t *atom, int n);

/* Lists of a layout, per slot. */
typedef struct {
    uint8_t n[SLOTS_MAX], atom[SLOTS_MAX][ATOMS_MAX];
} Lists;
void space_lists(const Space *space, const Layout *layout, Lists *out);
bool layout_holds(const Space *space, const Layout *layout);

/* Sets the pricing, and what the bounds derive from it. */
void space_price(Space *space, const Pricing *pricing);

#endif
