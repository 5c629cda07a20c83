/* config_pins.h - what is given of a configuration: settings that the search then leaves as they
 * are.
 *
 *     global_batch=2048             samples of a step; needed
 *     seq=8192                      the free dim of that name
 *     pp= dp= cp= ep= tp=           sizes of axes
 *     micro_batch= schedule= virtual= recompute= zero= sequence_parallel=    as hybrid3d has them
 */
#ifndef CORE_SEARCH_CONFIG_PINS_H
#define CORE_SEARCH_CONFIG_PINS_H

#include "core/search/config_space.h"

/* Takes them off options->settings and writes them into the space; the rest stays with the options.
 * ERROR_USAGE for a value that one of them cannot have, and without a global_batch. */
bool config_pins_take(Arena *arena, SessionOptions *options, ConfigSpace *space, Error *err);

#endif
