/* attr_table.h - the attributes that ONNX operators have, and those of an op that nobody reads.
 *
 * Rules ask for what decides shapes and cuts; other attributes change numbers alone. The table
 * tells one of these from a slip of the pen.
 */
#ifndef CORE_RULES_ATTR_TABLE_H
#define CORE_RULES_ATTR_TABLE_H

#include "core/rules/registry.h"

/* Names with blanks between, "" for none; NULL: not an operator of ONNX. */
const char *attr_table_find(const char *operator);

/* After the operator's rule ran with call->reads: the first attribute of the op that the rule did
 * not ask for and the table does not have, and the one that was meant ("": none is near, and the
 * table has the operator). Where the
 * table has no such operator, or the op has another system's name, only those that have a near one.
 */
bool attr_table_find_unknown(const RuleCall *call, const char *operator, Str * given, Str *meant);

#endif
