/* mapping.h - dims_mappings as numbers: one list of axes a dim, interned. Equal ids are equal
 * mappings.
 *
 * An axis that is in a mapping twice makes it none. Such a thing may come out when two mappings are
 * put together; whoever keeps it asks first.
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

/* No axis is there twice. */
bool mapping_is_valid(const SpmdAxes *dim, int n_dims);

/* Dim by dim: no axes yield to axes, equal ones stay. MAPPING_NONE: two differ; and it yields to
 * the other. The result may be none. */
int32_t mapping_compatible(Intern *mappings, int32_t a, int32_t b);

/* Of axes that are there twice the first use. */
void mapping_drop_second_uses(SpmdAxes *dim, int n_dims);
int32_t mapping_cleaned(Intern *mappings, int32_t id);

#endif
