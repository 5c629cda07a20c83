/* schema.h - checks an op against the row of its operator: attributes, types of operands.
 *
 * Rules read the attributes that decide shapes and shardings; other attributes, and element types,
 * only affect the numbers. With the columns `attrs` and `types` of an operator's row, such an
 * attribute can be told from a misspelt one, and graphs that no runtime accepts are found.
 */
#ifndef CORE_RULES_SCHEMA_H
#define CORE_RULES_SCHEMA_H

#include "core/rules/registry.h"

/* Call it after the operator's rule ran with call->reads: checks that attributes have the types
 * that the rule expects, and that the element types of the inputs fit the operator. Unknown types
 * fit. Not checked: operators whose row has no types, and ops under another system's name.
 * ERROR_DTYPE names the attribute or the inputs. */
bool schema_check_types(const RuleCall *call, const Operator *row, Error *err);

/* Call it after the operator's rule ran with call->reads: finds the first attribute of the op that
 * neither the rule read nor the operator's row lists, and the name that was probably meant ("" if
 * no known name is near). If the row lists none, or the op uses another system's name, only
 * attributes similar to a known one are reported. */
bool schema_find_unknown(const RuleCall *call, const Operator *row, Str *given, Str *meant);

#endif
