/* jax_trees.h - what an exported module for JAX does with trees of parameters and of an optimizer's
 * state, and which weights these hold the other way round. */
#ifndef CORE_CODE_JAX_TREES_H
#define CORE_CODE_JAX_TREES_H

#include "core/rules/roles.h"
#include "core/session/session.h"

/* parameter_shardings() and state_shardings(), as text of Python. */
extern const char jax_trees_text[];

/* The parameter that a matmul reads as [out, in], itself or by a transposition; -1 if it is [in,
 * out], or none. */
int32_t jax_turned(const Session *session, const MatmulRole *role);

#endif
