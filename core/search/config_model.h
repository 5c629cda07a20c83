/* config_model.h - what a model allows: its layers, its heads and other units, its sequence. */
#ifndef CORE_SEARCH_CONFIG_MODEL_H
#define CORE_SEARCH_CONFIG_MODEL_H

#include "core/search/config_space.h"

/* Opens the model of these options without policy and training, and writes into the space what it
 * says. alike: some layers tell what all cost. Returns false with *err if it cannot be opened. */
bool config_model_read(Arena *arena, const SessionOptions *of, const SessionHooks *hooks,
                       ConfigSpace *space, bool *alike, Error *err);

#endif
