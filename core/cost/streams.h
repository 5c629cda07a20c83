/* streams.h - what traffic of parameters costs a stage that runs it beside its ops.
 *
 * Two things of a training step need no op to wait as long as they take: parameters that are
 * stored in parts are gathered before a layer runs, and gradients of parameters are reduced behind
 * the op that makes them. Systems join them: one collective for each kind, axes and unit, a unit
 * being the ops in a row whose path agrees up to its first number ("model.layers.3"), as FSDP's
 * wrapped modules and the buckets of DDP and Megatron do. A bucket costs what one collective of
 * all its bytes does.
 *
 * A stage then has two queues: its ops with the collectives between them, and the buckets, in the
 * order of the program. In a pass under which they run (Stages.overlap) a bucket that gathers
 * begins when the unit before begins (FSDP prefetches one), a bucket that reduces when its unit
 * has ended; in another pass both begin when the ops have ended that they stand behind. What is
 * once a step, reductions of gradients that were added up and gathers of updated parameters, runs
 * under the last backward pass and under the first forward pass:
 *
 *     exposed = end of both queues - time of the ops + busy_share * (time of buckets - exposed)
 *
 * busy_share, of the link: the processors that a collective takes away from the ops beside it.
 *
 * Of plans of training steps with stages; without stages cost.h has the best case. */
#ifndef CORE_COST_STREAMS_H
#define CORE_COST_STREAMS_H

#include "core/base/intern.h"
#include "core/cost/layers.h"
#include "core/cost/pipeline.h"

/* The buckets of a stage with one kind, axes and time of running. */
typedef struct {
    int stage;
    When when; /* WHEN_FORWARD, WHEN_BACKWARD: of one micro-batch; WHEN_ONCE */
    StepKind kind;
    AtomSet atoms;
    int n;                       /* buckets */
    double bytes;                /* of all of them: a rank's payload (reshard.h) */
    double alone_us, exposed_us; /* their time, and how long ops wait for them */
} StreamTraffic;

typedef struct Streams {
    int n;
    const StreamTraffic *at;
} Streams;

/* Whether the step is one of these. */
bool streams_have(const Plan *plan, const Reshard *reshard, const PricedStep *step);

/* The unit whose bucket moves a value: that of the op that waits for it, else of the parameter. */
int streams_unit(const LayerParts *layers, const Graph *step, const Reshard *reshard, int32_t op);

/* What one bucket joins. Without padding: it is a key. */
typedef struct {
    int32_t stage, unit, when, kind;
    AtomSet atoms;
} BucketKey;

typedef struct {
    BucketKey key;
    double bytes;
} Bucket;

typedef struct {
    Arena *arena;
    Intern *keys;
    Vec(Bucket) all;
} Buckets;

Buckets buckets_new(Arena *arena);
/* Adds a step's bytes, as often as it is taken, to the bucket of its time, kind and axes. */
void buckets_add(Buckets *buckets, int stage, int unit, const PricedStep *step);

/* A bucket alone, in microseconds; 0 of no bytes. */
double streams_bucket_us(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                         double bytes);

/* In the plan's arena; needs op_us and reshards. */
const Streams *streams_make(Plan *plan);

#endif
