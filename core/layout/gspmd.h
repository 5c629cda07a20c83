/* gspmd.h - a sharding as XLA's HLO prints it: tiles of the list of devices.
 *
 *     {devices=[2,1,4]<=[8]}                              dims cut in 2, 1 and 4 parts
 *     {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}   the devices as a 2 x 4 grid, turned;
 *                                                         the last tile dim holds replicas
 *     {devices=[2,1,4]<=[8] last_tile_dims={unreduced}}   the sum over those is still due
 *     {replicated}  {unreduced}
 *
 * Devices are numbered by their position in the mesh, as JAX numbers them for a program. The device
 * grid is the shortest one that describes the sharding: neighbouring mesh dims that stay neighbours
 * are merged (XLA's IotaTileAssignment). Printed only: HLO does not name axes.
 */
#ifndef CORE_LAYOUT_GSPMD_H
#define CORE_LAYOUT_GSPMD_H

#include "core/layout/sharding.h"

/* Returns false, with the reason in *err, if tiles cannot express the sharding: blocks of a dim,
 * uneven sharding by several axes, partial with a reduction other than sum. Nothing is appended
 * then. */
bool gspmd_format(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err);

#endif
