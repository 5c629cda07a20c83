/* anno_named.h - the annotations that nnScaler gives its operators, by name.
 *
 * Those that are one text, or follow from the shapes alone: element-wise ops broadcast, reshape and
 * view by their target. Operators whose annotation depends on further arguments (a dim, a stride)
 * are not here. Source: nnScaler 0.9 (research: nnscaler.md sections 3.6 and 8).
 */
#ifndef CORE_RULES_ANNO_NAMED_H
#define CORE_RULES_ANNO_NAMED_H

#include "core/rules/anno.h"

/* The candidates of the operator for these inputs, and how many. `target` has the sizes asked of a
 * reshape, one may be -1; NULL else. -1: ERROR_UNKNOWN_OP; ERROR_INVALID when the sizes do not fit.
 */
int anno_named(Arena *arena, Str op, const AnnoInput *inputs, int n_inputs, const Shape *target,
               const char *const **out, Error *err);

bool anno_named_is_reshape(Str op); /* whose target a cut divides: "reshape", "view" */

#endif
