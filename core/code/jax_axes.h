/* jax_axes.h - mesh axes that are each used whole: if a plan shards by a part of tp, tp_0 and tp_1
 * replace it. */
#ifndef CORE_CODE_JAX_AXES_H
#define CORE_CODE_JAX_AXES_H

#include "core/plan/plan.h"

typedef struct {
    int n;
    const char *axis[MESH_AXES_MAX + ATOMS_MAX];
    int64_t size[MESH_AXES_MAX + ATOMS_MAX];
    int atom[MESH_AXES_MAX + ATOMS_MAX]; /* its first */
    int n_atoms[MESH_AXES_MAX + ATOMS_MAX];
    bool split; /* some axis is split */
    /* per atom that an axis begins with: its name, and its number of atoms */
    const char *name[ATOMS_MAX];
    int length[ATOMS_MAX];
} JaxAxes;

JaxAxes jax_axes_of(const Plan *plan, Arena *arena);

#endif
