/* orbax.h - reads shardings from the metadata of a checkpoint that a JAX user saved with Orbax, as
 * pins.
 *
 * Its file _sharding has a NamedSharding for each array: a mesh and a PartitionSpec. The shapes of
 * parts in _METADATA and array_metadatas do not determine a sharding, since replicas share the
 * writing. Optimizer states are skipped.
 */
#ifndef CORE_PEERS_STABLEHLO_ORBAX_H
#define CORE_PEERS_STABLEHLO_ORBAX_H

#include "core/session/pins_read.h"

extern const PinsForm orbax_pins[];

#endif
