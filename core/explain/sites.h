/* sites.h - the places where an axis can be: numbered dims of tensors and index dims of ops, and
 * the links between them.
 *
 * A tensor dim is linked with the index dims that it is the mixed radix of, in the op that makes
 * the tensor and in those that read it; a value that a loop carries is linked with what the
 * iteration leaves for the next. Propagation moves axes along these links, so reasons are found
 * along them. In a training step an index dim is linked with that of the gradient ops of its op.
 *
 * After the forward part of a step nothing propagates (core/propagate/step_cuts.h): there a link
 * has a direction, given by site_takes_from().
 */
#ifndef CORE_EXPLAIN_SITES_H
#define CORE_EXPLAIN_SITES_H

#include "core/plan/plan.h"

typedef struct {
    int32_t n;
    int32_t *tensor, *op; /* first site, by tensor and by op; with one more at the end */
    int32_t n_tensors;
    int32_t *gradient_op;      /* of a training step, per op: its first gradient op, else -1; and */
    int32_t *next_gradient_op; /* per op: the next of the same op. NULL without a step */
    int32_t *owner;            /* of every SITES_STEP-th site: its tensor, or ~op */
} Sites;

enum { SITES_STEP = 16 };

Sites *sites_new(Arena *arena, const Plan *plan);

static inline int32_t site_of_tensor(const Sites *sites, int32_t tensor, int dim)
{
    return sites->tensor[tensor] + dim;
}

static inline int32_t site_of_op(const Sites *sites, int32_t op, int index)
{
    return sites->op[op] + index;
}

/* The tensor that a site is a dim of; ~op (negative) for an index dim. */
static inline int32_t site_owner(const Sites *sites, int32_t site)
{
    int32_t owner = sites->owner[site / SITES_STEP];
    if (owner >= 0) {
        while (owner < sites->n_tensors && sites->tensor[owner + 1] <= site)
            owner++;
        if (owner < sites->n_tensors)
            return owner;
        owner = ~0;
    }
    int32_t op = ~owner;
    while (sites->op[op + 1] <= site)
        op++;
    return ~op;
}

static inline int site_dim(const Sites *sites, int32_t site)
{
    int32_t owner = site_owner(sites, site);
    return site - (owner >= 0 ? sites->tensor[owner] : sites->op[~owner]);
}

/* Returns whether the axis, or a part of it, shards the site in the finished plan (for tensors: as
 * propagated). */
bool site_has(const Plan *plan, const Sites *sites, int32_t site, AtomSet atoms);

/* Calls found() for every site linked with this one, in a fixed order; op: the op that links them,
 * -1 for a loop's tie. */
typedef void SiteFound(void *context, int32_t site, int32_t op);
void sites_joined(const Plan *plan, const Sites *sites, int32_t site, SiteFound *found,
                  void *context);

/* Whether a site can have received an axis from another one that op links it with. In a training
 * step, a site of the model receives none from outside the model; a value outside it receives its
 * maker's; an op there that copies its partition receives that of the op it was derived from; and
 * the update of a parameter receives nothing from its gradient. */
bool site_takes_from(const Plan *plan, const Sites *sites, int32_t site, int32_t from, int32_t op);

/* In a training step: whether the op has, except for pins, the partition of the op it was derived
 * from, as gradient ops and ops that run again have. */
bool op_copies_partition(const Plan *plan, int32_t op);

#endif
