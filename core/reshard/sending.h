/* sending.h - a value that is made on one part of the mesh and read on another.
 *
 * Both parts are of one mesh and both shardings are in its axes, so a path is steps of a reshard on
 * the makers' devices, one step of kind STEP_SEND, and steps on the readers'. The send happens
 * where it is cheapest among: before all steps, after any of them, and each of these with the value
 * sharded further by the axes that neither side uses, which the readers gather again (nnScaler's
 * chunk, move, all-gather; Megatron's scatter-gather). If the parts of the mesh have different
 * axes, the send also gathers the axes on which the readers' devices have only one coordinate.
 *
 *     STEP_SEND   `atoms`: those by which the devices of the two sides differ; `bytes`: what one
 *                 device receives, from the devices at its other coordinates
 *
 * bound_us is a lower bound: each reader device receives its share of the elements over the link.
 */
#ifndef CORE_RESHARD_SENDING_H
#define CORE_RESHARD_SENDING_H

#include "core/reshard/reshard.h"

/* Paths by (element type, shardings, parts), each found once. */
typedef struct Sender Sender;

/* The paths live as long as the resharder, whose mesh, machine and shardings these are. */
Sender *sender_new(Arena *arena, Resharder *resharder, const Mesh *mesh, const Machine *machine,
                   Shardings *shardings);

/* `from` must not be sharded by axes that distinguish the makers' devices, `to` not by those of
 * the readers. */
const ReshardPath *sender_path(Sender *sender, Dtype dtype, int32_t from, int32_t to,
                               SubMesh makers, SubMesh readers);

#endif
