/* why_reshard.h - why a value is moved: what it comes to, and why its reader wants it otherwise.
 *
 * How the value came to be as it is made, `why` of its dims says (reason.h). The other side is the
 * first op that reads it so: of the axes it has and the value has not, the chain each came along;
 * of those the value has and it has not, what kept them from the op (stop.h).
 */
#ifndef CORE_EXPLAIN_WHY_RESHARD_H
#define CORE_EXPLAIN_WHY_RESHARD_H

#include "core/explain/why_not.h"

typedef struct {
    int dim; /* of the tensor */
    ReasonChain chain;
} WantedAxis;

typedef struct {
    int dim;
    AtomSet atoms;
    bool told;
    WhyNotStop stop; /* where told */
} DroppedAxes;

typedef struct {
    const Reshard *reshard;
    const ReshardPath *runner_up; /* NULL: there is no other way */
    int32_t op;                   /* the first that reads it so; -1: a pin, or nobody */
    int n_wanted, n_dropped;
    WantedAxis *wanted;
    DroppedAxes *dropped;
    AtomSet summed; /* the value is partial over these, and the reader needs the sum */
} WhyReshard;

/* The next best path; NULL: there is none, or the value is sent to another stage. */
const ReshardPath *why_reshard_other(const Plan *plan, const Reshard *reshard);

/* In the arena. */
WhyReshard why_reshard(Arena *arena, const Plan *plan, const Reshard *reshard);

/* The op that makes a value partial over any of the axes: it sums an index dim that they cut. Ops
 * that hand partial values on are gone through. -1: there is none; index may be NULL. */
int32_t why_summed_by(const Plan *plan, int32_t tensor, AtomSet atoms, int *index);

/* Lines of text, indented but for the first. */
void why_reshard_format(const Plan *plan, const Reshard *reshard, Buf *out);

#endif
