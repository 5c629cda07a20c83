/* mapping.h - interns dims_mappings: one list of axes a dim; equal mappings have equal ids.
 *
 * A mapping that has an axis twice is invalid. Combining two mappings may give one: callers check
 * with mapping_is_valid() before they keep it.
 */
#ifndef CORE_PEERS_PADDLE_MAPPING_H
#define CORE_PEERS_PADDLE_MAPPING_H

#include "core/base/intern.h"
#include "core/peers/paddle/spmd.h"

enum { MAPPING_NONE = -1 };

typedef struct {
    int n_dims;
    const SpmdAxes *dim;
} SpmdMapping;

int32_t mapping_put(Intern *mappings, const SpmdAxes *dim, int n_dims);
int32_t mapping_whole(Intern *mappings, int n_dims);
SpmdMapping mapping_at(const Intern *mappings, int32_t id);

/* False if an axis is used twice. */
bool mapping_is_valid(const SpmdAxes *dim, int n_dims);

/* Combines two mappings dim by dim: a dim without axes gets those of the other. MAPPING_NONE as
 * argument gives the other mapping, as result says that two dims differ. The result may be
 * invalid. */
int32_t mapping_compatible(Intern *mappings, int32_t a, int32_t b);

/* Keeps only the first use of each axis. */
void mapping_drop_second_uses(SpmdAxes *dim, int n_dims);
int32_t mapping_cleaned(Intern *mappings, int32_t id);

#endif
