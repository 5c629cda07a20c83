/* returns.h - what an analyzer of one file cannot see: error_set() and error_kind() return false.
 *
 * Read by `make lint` before each source but core/base/error.c, which defines them.
 */
#ifndef TESTS_LINT_RETURNS_H
#define TESTS_LINT_RETURNS_H

#include "core/base/error.h"

static inline bool error_false(bool set)
{
    (void)set;
    return false;
}

#define error_set(...) error_false(error_set(__VA_ARGS__))
#define error_kind(...) error_false(error_kind(__VA_ARGS__))

#endif
