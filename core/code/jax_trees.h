/* jax_trees.h - the functions of an exported JAX module that work on trees of parameters and of an
 * optimizer's state, and which weights these trees hold transposed. */
#ifndef CORE_CODE_JAX_TREES_H
#define CORE_CODE_JAX_TREES_H

#include "core/rules/roles.h"
#include "core/session/session.h"

/* parameter_shardings() and state_shardings(), as Python text. */
extern const char jax_trees_text[];

/* The parameter that a matmul reads as [out, in], directly or through a transposition; -1 if it is
 * [in, out], or if there is none. */
int32_t jax_turned(const Session *session, const MatmulRole *role);

#endif
