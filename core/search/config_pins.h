/* config_pins.h - what is given of a configuration: settings that the search then leaves as they
 * are.
 *
 *     global_batch=2048             samples of a step; needed, unless a mesh, micro_batch and
 *                                   micro_batches tell them
 *     seq=8192                      the free dim of that name
 *     pp= dp= cp= ep= tp=           sizes of axes
 *     micro_batch= micro_batches= schedule= virtual= recompute= zero= sequence_parallel=
 *                                   as hybrid3d has them
 *
 * A mesh that is given has the sizes of all axes, and their order.
 */
#ifndef CORE_SEARCH_CONFIG_PINS_H
#define CORE_SEARCH_CONFIG_PINS_H

#include "core/search/config_space.h"

/* Takes them off options->settings, and the mesh, and writes them into the space; the rest stays
 * with the options. ERROR_USAGE for a value that one of them cannot have, for axes that hybrid3d
 * does not know, and without a global_batch. */
bool config_pins_take(Arena *arena, SessionOptions *options, ConfigSpace *space, Error *err);

/* Whether a setting of that name, which may be any, pins what is searched: not global_batch and
 * seq, which say what a step is. */
bool config_pin_is(Str name);
/* Whether it is one of those above. */
bool config_setting_is(Str name);

/* "1%", a share below all of it. */
bool config_gap_read(const char *text, double *out);

#endif
