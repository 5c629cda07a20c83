/* reshard.h - the path from the sharding a value is made with to the one a reader needs.
 *
 * A path is a list of steps, each one collective on groups of ranks that differ in `atoms` only:
 *
 *     kind            legal when                                        bytes of one rank
 *     slice           the target refines the source                     0
 *     all-gather      the source refines the target; groups: the atoms  local size after
 *                     taken away, at the minor end of digits
 *     all-reduce      partial atoms vanish                              local size before
 *     reduce-scatter  partial atoms vanish and shard dims further       local size before
 *     all-to-all      atoms leave minor ends and come to others, or     local size before
 *                     shard the same dim in other digits
 *     halo exchange   the target adds halos, or the source has halos    what the halos are
 *                     of addends, which go back and are added; groups:
 *                     the atoms of the dims that have one
 *     scan            a dim of the source carries: each rank gets       an element a rank of each
 *                     what the ranks before it add up to                row along it
 *     ring            the target is a ring, or the source is one of       a part
 *                     addends: each rank sends a part on, several
 *                     times, while an op computes on each (cut.h)
 *     permute         each rank's whole shard goes to another rank;     local size
 *                     groups: the atoms that change places
 *
 * Each may cover several axes and several dims at once. wire_bytes and us are the step's price on
 * the machine (price.h). Uneven dims are padded to rank 0's shard, which is the largest;
 * padding_bytes of a step are what that adds to the mean payload.
 *
 * A path is the cheapest of all through layouts whose dims are in the digits of either end
 * (space.h), found by A* (search.h); `proven` means that none is cheaper, bound_us is a lower bound
 * of any path, by a formula that does not depend on the search. Peak memory, the largest shard a
 * rank holds on the way, is capped: Rink et al. (2022, arXiv 2112.01075) show that resharding never
 * needs more than the larger of both ends. If uneven dims make that impossible the cap is exceeded;
 * peak_bytes says by how much. Any pair of shardings of one tensor on one mesh has a path:
 * gathering everything and slicing is always possible. Only propagators that decide themselves
 * which values are partial ask for a path to a partial target. Its last step is a slice: for a sum,
 * ranks at coordinate 0 keep what they hold and others hold 0; for a mean, maximum or minimum all
 * keep it. A shard becomes an addend of a sum over the axes that shard it, with zeros around it.
 *
 * A step is correct if every rank's target elements are held in its group: the host runner
 * executes it that way, and the truth tests compare every element.
 */
#ifndef CORE_RESHARD_RESHARD_H
#define CORE_RESHARD_RESHARD_H

#include "core/reshard/price.h"
#include "core/layout/sharding.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;    /* the groups; 0 for a slice */
    int32_t from, to; /* Shardings ids */
    int64_t bytes, wire_bytes, padding_bytes;
    double us;
    int turns; /* of a ring: `bytes` are sent this many times, one after another; else 0 */
} Step;

typedef struct {
    int n_steps;
    const Step *step;
    int64_t wire_bytes, padding_bytes, peak_bytes;
    double us, bound_us;
    bool proven;
} ReshardPath;

/* The memory limit on the way:
 *     PEAK_FREE   none
 *     PEAK_ENDS   (1 + slack) times the larger of both ends, or `bytes` if that is more
 *     PEAK_BYTES  `bytes`, or the larger end if that is more
 */
typedef enum { PEAK_FREE, PEAK_ENDS, PEAK_BYTES } PeakCap;

typedef struct {
    PeakCap cap;
    double slack;
    int64_t bytes;
    bool whole_axes;   /* groups are of whole axes, or of the parts of axes that one end
                          distinguishes, wherever such a path exists: found much sooner on large
                          meshes */
    bool exact_bounds; /* lower bounds hold on meshes of up to 16,384 devices, not only of 128, at
                          the cost of a larger table (floor.h) */
} ReshardOptions;

/* PEAK_ENDS without slack; tensors below 1 MiB are free: they cost latency, not memory. */
ReshardOptions reshard_defaults(void);

/* Paths by (element type, from, to), each searched once; cuts hold the sizes. */
typedef struct Resharder Resharder;

Resharder *resharder_new(Arena *arena, const Mesh *mesh, const Machine *machine,
                         Shardings *shardings);
/* Must be called before the first path is asked for. */
void resharder_options(Resharder *resharder, const ReshardOptions *options);

/* "AR tp", "AG tp+SL": the steps of a path. */
void reshard_format_steps(const ReshardPath *path, const Mesh *mesh, Buf *out);

const ReshardPath *reshard(Resharder *resharder, Dtype dtype, int32_t from, int32_t to);
/* The same if only the share `fill` of the value's elements exists and has to be moved, as with
 * tokens that a router sent to experts; each step is priced accordingly. */
const ReshardPath *reshard_filled(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                  AtomSet fixed, double fill);
/* The same for devices that share one coordinate of the `fixed` atoms: no step is over those,
 * unless one of the two shardings uses them. */
const ReshardPath *reshard_inside(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                  AtomSet fixed);

/* bound_us of the path of reshard_filled() without a search, under the same conditions as
 * reshard_least_us(). 0: nothing is known, or the path is free. */
double reshard_bound_us(Resharder *resharder, Dtype dtype, int32_t from, int32_t to, AtomSet fixed,
                        double fill);

/* A lower bound of the time of that path, much tighter than bound_us and found much sooner than the
 * path. Both ends have plain cuts without halos, and the target is not partial where the source is
 * not. 0: nothing is known. most: the time of a path that is known; if none takes less, that is
 * what is returned. */
double reshard_least_us(Resharder *resharder, Dtype dtype, int32_t from, int32_t to, AtomSet fixed,
                        double fill, double most);

/* The cheapest path whose kinds and groups, ignoring slices, differ from those of reshard();
 * searched on first use. NULL if nothing is communicated, if the target is partial where the
 * source is not, or if there is no other path within the cap. */
const ReshardPath *reshard_runner_up(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                     double fill);

/* The formula of bound_us in words. */
const char *reshard_bound_formula(void);

#endif
