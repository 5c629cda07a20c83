/* config_layers.h - costs of layers by the axes and settings that they depend on, each planned
 * once.
 *
 * What a layer costs does not depend on how many stages there are, nor on micro-batches behind the
 * second. So the plans of few meshes tell it for all configurations: of the axes that shard a
 * micro-batch (`group`); as a bound, of two devices on each of these (`wide`); of a whole mesh with
 * two devices on dp (`whole`), among which what the update moves is priced as among all.
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

typedef struct ConfigLayers ConfigLayers;

/* In the arena; what it points to must outlive it. */
ConfigLayers *config_layers_new(Arena *arena, const ConfigLayersOf *of);
void config_layers_free(ConfigLayers *all); /* closes its sessions; NULL is allowed */

int64_t config_layers_planned(const ConfigLayers *all); /* sessions that were opened */

/* Each returns NULL if the layers cannot be planned, with *err the first time that it is tried. */
const ConfigParts *config_layers_group(ConfigLayers *all, const Configuration *config, Error *err);
const ConfigParts *config_layers_wide(ConfigLayers *all, const Configuration *config, Error *err);
/* shards: how many times as many devices dp has as they are planned on. */
const ConfigParts *config_layers_whole(ConfigLayers *all, const Configuration *config,
                                       int64_t *shards, Error *err);

#endif
