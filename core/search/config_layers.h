/* config_layers.h - costs of layers by the axes and settings that they depend on, each planned
 * once.
 *
 * What a layer costs does not depend on how many stages there are, nor on micro-batches behind the
 * second. So the plans of few meshes tell it for all configurations: of the axes that shard a
 * micro-batch (`group`); as a bound, of two devices on each of these (`wide`); of a whole mesh with
 * two devices on dp (`whole`), among which what the update moves is priced as among all. Devices of
 * several kinds each have their own plans.
 */
#ifndef CORE_SEARCH_CONFIG_LAYERS_H
#define CORE_SEARCH_CONFIG_LAYERS_H

#include "core/search/config_parts.h"

typedef struct {
    const SessionOptions *options; /* of the model, without what is searched */
    const SessionHooks *hooks;
    Progress *progress; /* NULL if nobody watches */
    const ConfigSpace *space;
    const Machine *machine;
    bool alike; /* a few layers tell what all cost */
} ConfigLayersOf;

typedef struct ConfigLayers ConfigLayers; /* on one kind of devices */

/* Each returns NULL if the layers cannot be planned, with *err the first time that it is tried. */
const ConfigParts *config_layers_group(ConfigLayers *all, const Configuration *config, Error *err);
const ConfigParts *config_layers_wide(ConfigLayers *all, const Configuration *config, Error *err);

/* The same on each kind of a machine's devices, as on a host that has that kind alone. */
typedef struct ConfigKinds ConfigKinds;

/* In the arena; what `of` points to must outlive it. The kinds of a cluster are asked for as
 * machines "FILE:1", "FILE:2", .. */
ConfigKinds *config_kinds_new(Arena *arena, const ConfigLayersOf *of);
void config_kinds_free(ConfigKinds *kinds); /* closes its sessions; NULL is allowed */

int64_t config_kinds_planned(const ConfigKinds *kinds); /* sessions that were opened */

/* config_layers_group() or config_layers_wide(). */
typedef const ConfigParts *ConfigLayersFn(ConfigLayers *layers, const Configuration *config,
                                          Error *err);

/* Each returns false if the layers cannot be planned, with *err the first time that it is tried. */
bool config_kinds_layers(ConfigKinds *kinds, ConfigLayersFn *layers, const Configuration *config,
                         KindParts *out, Error *err);
/* shards: how many times as many devices dp has as they are planned on. */
bool config_kinds_whole(ConfigKinds *kinds, const Configuration *config, KindParts *out,
                        int64_t *shards, Error *err);

/* How many micro-batches of these parts so many devices compute in a microsecond, counting matmuls
 * at their full rate alone. */
double config_kinds_rate(const ConfigKinds *kinds, const KindParts *parts, int64_t n_devices);

#endif
