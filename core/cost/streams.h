/* streams.h - what the traffic of parameters costs a stage that runs it concurrently with its ops.
 *
 * Two kinds of collectives of a training step need not delay ops for their whole time: parameters
 * that are stored sharded are gathered before a layer runs, and gradients of parameters are reduced
 * after the op that makes them. Systems combine them into buckets: one collective for each kind,
 * axes and unit. A unit is a run of ops whose path is equal up to its first number
 * ("model.layers.3"), like FSDP's wrapped modules and the buckets of DDP and Megatron. A bucket
 * costs as much as one collective of all its bytes.
 *
 * A stage then has two queues, both in program order: its ops with the collectives between them,
 * and the buckets. In a pass with overlap (Stages.overlap) a gathering bucket begins when the unit
 * before begins (FSDP prefetches one), a reducing bucket when its unit has ended. In another pass
 * both begin when the ops before them have ended. Collectives that run once a step, reductions of
 * summed gradients and gathers of updated parameters, overlap with the last backward pass and with
 * the first forward pass:
 *
 *     exposed = end of both queues - time of the ops + busy_share * (time of buckets - exposed)
 *
 * busy_share is a property of the link: the share of processors that a collective takes from
 * concurrent ops.
 *
 * Only for training steps with stages; without stages cost.h has the best case. */
#ifndef CORE_COST_STREAMS_H
#define CORE_COST_STREAMS_H

#include "core/base/intern.h"
#include "core/cost/layers.h"
#include "core/cost/pipeline.h"

/* The buckets of a stage with one kind, axes and time. */
typedef struct {
    int stage;
    When when; /* WHEN_FORWARD, WHEN_BACKWARD: for one micro-batch; or WHEN_ONCE */
    StepKind kind;
    AtomSet atoms;
    int n;                       /* buckets */
    double bytes;                /* the sum of a rank's payloads (reshard.h) */
    double alone_us, exposed_us; /* their time, and how long ops wait for them */
} StreamTraffic;

typedef struct Streams {
    int n;
    const StreamTraffic *at;
} Streams;

/* Whether the step is traffic of parameters. */
bool streams_have(const Plan *plan, const Reshard *reshard, const PricedStep *step);

/* The unit whose bucket moves a value: that of the op that waits for it, else that of the
 * parameter. */
int streams_unit(const LayerParts *layers, const Graph *step, const Reshard *reshard, int32_t op);

/* The collectives that one bucket combines. Without padding, since it is a key. */
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
/* Adds a step's bytes, as often as it runs, to the bucket of its time, kind and axes. */
void buckets_add(Buckets *buckets, int stage, int unit, const PricedStep *step);

/* The time of a bucket alone, in microseconds; 0 for no bytes. */
double streams_bucket_us(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                         double bytes);

/* In the plan's arena; needs op_us and reshards. */
const Streams *streams_make(Plan *plan);

#endif
