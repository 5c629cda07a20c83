/* schema.h - what ONNX says of its operators beside what rules ask: attributes, types of operands.
 *
 * Rules ask for what decides shapes and cuts; other attributes, and element types, change numbers
 * alone. The table tells such an attribute from a slip of the pen, and a graph that no runtime
 * takes from one that is fine.
 */
#ifndef CORE_RULES_SCHEMA_H
#define CORE_RULES_SCHEMA_H

#include "core/rules/registry.h"

/* Names with blanks between, "" for none; NULL: not an operator of ONNX. */
const char *schema_attrs(const char *operator);

/* After the operator's rule ran with call->reads: the attributes are of the types it asked for, and
 * the element types of the inputs fit the operator; those that are not known do. Inputs of
 * operators that are none of ONNX, and of ops with another system's name, are not looked at.
 * ERROR_DTYPE names the attribute or the inputs. */
bool schema_check_types(const RuleCall *call, const char *operator, Error * err);

/* After the operator's rule ran with call->reads: the first attribute of the op that the rule did
 * not ask for and the table does not have, and the one that was meant ("": none is near, and the
 * table has the operator). Where the table has no such operator, or the op has another system's
 * name, only those that have a near one. */
bool schema_find_unknown(const RuleCall *call, const char *operator, Str * given, Str *meant);

#endif
