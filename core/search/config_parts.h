/* config_parts.h - what each layer of a model costs, read from the plan of one stage.
 *
 * A stage of a pipeline is layers in a row, and its time is the sum of its ops and collectives
 * (core/cost/pipeline.h). So the plan of a model in one stage, under the same axes but pp, tells
 * what any stage takes, if equal layers cost the same; and of a model whose layers are all alike a
 * few of them tell it (the setting `layers`). What only a plan with stages has (sends, values that
 * two stages need) comes on top, so the sums are lower bounds of that plan's.
 *
 * From the plan for one sample those for more follow: FLOPs, bytes of activations and payloads of
 * collectives grow with the samples, those of parameters do not, and the formulas are those of
 * core/cost/cost.h and core/reshard/price.h. Likewise, as a bound, from a plan with two devices on
 * an axis those with more, whose collectives take what any steps take at least (least_price.h).
 */
#ifndef CORE_SEARCH_CONFIG_PARTS_H
#define CORE_SEARCH_CONFIG_PARTS_H

#include "core/reshard/cluster.h"
#include "core/search/config_space.h"
#include "core/search/least_price.h"

/* Of one micro-batch; bytes on rank 0. */
typedef struct {
    double forward_us, backward_us;
    double weight_us;  /* of backward_us: what makes gradients of parameters alone */
    double once_us;    /* a step: collectives of the update */
    double update_us;  /* likewise: its ops */
    double product_us; /* of both: matmuls at the full rate, without launch and memory */
    int64_t parameter, optimizer, gradient; /* as they are stored */
    int64_t saved;                          /* for the backward pass */
    int64_t kept;   /* behind it until the update: gradients that are not reduced yet */
    double sent_us; /* of a stage: from the one before, and likewise back to it */
} PartCost;

typedef struct {
    int n_layers;
    PartCost *part; /* [n_layers + 2]: what is before the first layer, each layer, what is behind */
    int64_t passed_bytes; /* that a layer hands to the next, the least of all ranks */
} ConfigParts;

/* What the layers cost on each kind of the machine's devices: one, or those of its cluster. */
typedef struct {
    int n;
    const ConfigParts *of[CLUSTER_KINDS_MAX];
} KindParts;

/* Whether all layers have the same ops on the same shapes; part: of layers_of_ops(). */
bool layers_are_alike(const Inferred *model, const int32_t *part, int n_layers);

/* The costs of a plan in one stage, for n_layers layers. `samples`: for so many times as many
 * samples as it has. whole: a mesh with the same axes but more devices on dp, among which what is
 * reduced or gathered over dp takes its least price; NULL. */
ConfigParts config_parts_of(Arena *arena, const Session *session, int n_layers, int64_t samples,
                            const Mesh *whole, LeastPrices *least);

/* The same as a bound for larger axes: of each op its FLOPs, bytes and launch, and of each value
 * that one step over one axis reduces or gathers that step. */
typedef struct {
    int32_t part;
    bool backward, weight;
    double flops_us, fixed_us, each_us, launch_us; /* for a sample; fixed: bytes of parameters */
    double times;                                  /* a micro-batch */
} OpWork;

typedef struct {
    int32_t part;
    bool backward;
    StepKind kind;
    ConfigAxis axis;
    double bytes, times;
    bool of_samples; /* its bytes grow with them */
} StepWork;

typedef struct {
    Vec(OpWork) ops;
    Vec(StepWork) steps;
    ConfigParts own;           /* of the plan's layers: their bytes, for a sample */
    int64_t size[CONFIG_AXES]; /* of the axes in the plan */
} ConfigWork;

ConfigWork config_work_of(Arena *arena, const Session *session);

/* Costs of n_layers layers with so many samples on each rank, on a mesh whose axes are at least as
 * large as those of the work; others of it shard nothing. */
ConfigParts config_work_parts(Arena *arena, const ConfigWork *work, LeastPrices *least,
                              const Mesh *mesh, int n_layers, int64_t samples);

#endif
