/* schema.h - checks an op against the row of its operator: attributes, types of operands.
 *
 * Rules read the attributes that decide shapes and shardings; others, and element types, change
 * numbers alone. The columns `attrs` and `types` of an operator's row tell such an attribute from a
 * misspelt one, and find a graph that no runtime accepts.
 */
#ifndef CORE_RULES_SCHEMA_H
#define CORE_RULES_SCHEMA_H

#include "core/rules/registry.h"

/* After the operator's rule ran with call->reads: the attributes have the types that it asked for,
 * and the element types of the inputs fit the operator. Types that are not known fit; inputs of
 * operators whose row has no types, and of ops under another system's name, are not checked.
 * ERROR_DTYPE names the attribute or the inputs. */
bool schema_check_types(const RuleCall *call, const Operator *row, Error *err);

/* After the operator's rule ran with call->reads: the first attribute of the op that neither the
 * rule asked for nor the operator's row lists, and the one that was meant ("" if no known name is
 * near). Where the row lists none, and of ops under another system's name, only attributes that are
 * near a known one are reported. */
bool schema_find_unknown(const RuleCall *call, const Operator *row, Str *given, Str *meant);

#endif
