/* config_bound.h - lower bounds of a configuration's time and memory, from the costs of its layers.
 *
 * With f and b the forward and backward time of a stage, m micro-batches, and lanes of stages that
 * share devices, no order of blocks takes less than
 *
 *     lane l     the forwards of the stages before its first one, its own work m times, the
 *                backwards of the stages before its first one: a step begins and ends there. Of a
 *                backward that is split the part for weights may fill that time
 *     all        one micro-batch through all stages
 *
 * with the sends on the way, and the update of the stage with most of it comes on top, as in
 * core/cost/pipeline.h. config_bound() lays the blocks out in the order of the schedule
 * instead, which takes only longer when a block does.
 *
 * Memory is what a lane has at the end of the last forward in flight, or of the backward behind it:
 * what is stored, gradients, and for each stage what is saved times the micro-batches that its
 * schedule holds.
 */
#ifndef CORE_SEARCH_CONFIG_BOUND_H
#define CORE_SEARCH_CONFIG_BOUND_H

#include "core/search/config_parts.h"

typedef struct {
    bool legal; /* the schedule takes so many micro-batches and stages */
    double us;
    int64_t bytes;
} ConfigBound;

typedef struct ConfigBounds ConfigBounds; /* schedules, each made once */

ConfigBounds *config_bounds_new(Arena *arena, const Machine *machine);
void config_bounds_free(ConfigBounds *bounds);

/* Layers of each stage: [config_n_stages()]. By time, no other split makes the longest stage
 * shorter, and stages on faster devices have more. Parts of the axes of a micro-batch decide
 * (config_layers_group()), whatever the layers are counted for. */
void config_split(const ConfigBounds *bounds, const Configuration *config, const KindParts *parts,
                  int *layers);

/* Costs of the stages of a configuration: [config_n_stages()], in the arena. */
PartCost *config_stages(Arena *arena, const ConfigBounds *bounds, const Configuration *config,
                        const KindParts *parts, const int *layers);

/* Of parts that were planned on the mesh, laid out. shards: how many times as many devices dp has.
 */
ConfigBound config_bound(ConfigBounds *bounds, const Configuration *config, const KindParts *parts,
                         const int *layers, int64_t shards);

/* Of stages whose parts were planned without dp, and so for all orders and levels of ZeRO. */
double config_lanes_us(const Configuration *config, const PartCost *stage);
int64_t config_lanes_bytes(ConfigBounds *bounds, const Configuration *config, const PartCost *stage,
                           int64_t shards);

#endif
