/* set_prices.h - what the steps of a space cost, by the sets of atoms that shard and that are in
 * their groups; and what steps cost at least that are still to come.
 *
 * A payload is that of a rank when just these atoms shard. Many groups lie alike on the machine, so
 * that few prices are computed. Of what is to come the bounds are sums over steps of different
 * kinds of tasks, each at the smallest payload that any layout has then:
 *
 *     atoms that are to be reduced      over each once, while they do not shard
 *     atoms in another place than in    each is taken away once, and gathered if it does not shard
 *     the target                        the target; or there is a permute, and if that has more
 *                                       parts than the target, a gather
 *
 * Sets are of at most RELAXED_ATOMS_MAX atoms, of those that are not partial at both ends.
 */
#ifndef CORE_RESHARD_SET_PRICES_H
#define CORE_RESHARD_SET_PRICES_H

#include "core/reshard/space.h"

enum { RELAXED_ATOMS_MIN = 4, RELAXED_ATOMS_MAX = 6 };
enum { SETS_MAX = 1 << RELAXED_ATOMS_MAX, PRICED_KINDS = STEP_PERMUTE + 1 };

/* What steps cost at least that are still to come, whatever they are; negative if not computed yet.
 */
typedef struct {
    double reducing[SETS_MAX];  /* over these atoms */
    double leaving[SETS_MAX];   /* until each of these was taken away from where it is */
    double gathering[SETS_MAX]; /* until none of these shards */
    double leave[SETS_MAX]; /* one step that takes at least these away; leave[0] negative if none
                               of them is computed yet */
    double permuting;       /* with a permute */
} Remaining;

typedef struct {
    const Space *space;
    AtomSet all, goal;      /* atoms that are not partial at both ends; that shard the target */
    double bytes[SETS_MAX]; /* of a rank, per set of atoms that shard */
    int64_t parts[SETS_MAX];
    uint8_t level[SETS_MAX]; /* sets of equal product */
    const void *priced;      /* the context of the prices that `alike` is about, and .. */
    AtomSet of_mesh[RELAXED_ATOMS_MAX]; /* .. what the atoms are in the mesh; 0: none */
    /* By kind and group: the first group over which such a step costs the same. */
    uint8_t alike[PRICED_KINDS][SETS_MAX];
    /* By kind, level and group, the first of those alike; negative if not computed yet. */
    double price[PRICED_KINDS][SETS_MAX][SETS_MAX];
    double permute_us[SETS_MAX][SETS_MAX]; /* by level: the least over groups that include these;
                                              negative for none if not computed yet */
    double gather_us[SETS_MAX][SETS_MAX];  /* likewise */
    Remaining least;
} SetPrices;

/* Begins a space, which must not change while prices are asked for. The prices are all 0 before the
 * first one. */
void set_prices_begin(SetPrices *prices, const Space *space);

/* payload: of a gather, after it. */
double set_price_us(SetPrices *prices, StepKind kind, AtomSet payload, AtomSet groups);

/* Whether a permute of these atoms changes anything: a single atom has no other position that keeps
 * the parts of all slots. */
bool set_can_permute(const SetPrices *prices, AtomSet groups);

/* The least of a permute of groups that include these. */
double set_permute_us(SetPrices *prices, AtomSet payload, AtomSet groups);

/* The least that steps cost from a layout in which `cuts` shard, of these `right` as in the target,
 * and `due` are to be reduced. */
double set_remaining_us(SetPrices *prices, AtomSet cuts, AtomSet right, AtomSet due);

#endif
