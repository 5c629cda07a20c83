/* alike.h - reshards that cost the same, told without a search for any of them.
 *
 * A search knows of a tensor how many bytes it has and which atoms shard it in which order before
 * and after, not which dim that is or how long the others are, as long as every dim can be sharded
 * evenly. So the moves from [64/dp,4096] to [64,4096] and from [4096,64/dp] to [4096,64] are
 * alike, and so are those of all tensors of as many bytes. Where some dim is uneven, dims of other
 * sizes are not alike.
 *
 * The cheapest paths of two such reshards cost the same. A search that ended before it proved its
 * path may have found one of them and not the other.
 */
#ifndef CORE_RESHARD_ALIKE_H
#define CORE_RESHARD_ALIKE_H

#include "core/reshard/space.h"

enum { ALIKE_WORDS = 3 * SLOTS_MAX + ATOMS_MAX + 4 };

/* Puts what the cost depends on into `key`, for one machine; `without` as in space_of(), bytes: of
 * an element. Returns the number of words that are used; 0: paths between these ends are not found
 * by one search. */
int reshard_alike(const Sharding *from, const Sharding *to, const Mesh *mesh, AtomSet without,
                  double element_bytes, uint64_t key[ALIKE_WORDS]);

#endif
