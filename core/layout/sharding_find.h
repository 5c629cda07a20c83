/* sharding_find.h - looks up a sharding's id without adding it. */
#ifndef CORE_LAYOUT_SHARDING_FIND_H
#define CORE_LAYOUT_SHARDING_FIND_H

#include "core/layout/sharding.h"

int32_t shardings_find(const Shardings *shardings, const Sharding *sharding); /* its id, or -1 */

#endif
