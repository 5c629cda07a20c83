/* alias.h - what other systems call our operators, and how they spell the arguments.
 *
 * One table, a row per operator of ours:
 *
 *     {"Softmax", {[SYSTEM_TORCH] = "softmax(dim=axis) _softmax(dim=axis)",
 *                  [SYSTEM_PADDLE] = "softmax", [SYSTEM_NNSCALER] = "softmax(dim=axis)"}},
 *     {"Gather",  {[SYSTEM_PADDLE] = "embedding(; 1,0; axis:=0)"}},
 *
 * A cell lists names with blanks between. In the brackets, each part may be absent: their attribute
 * = ours, ..; then per operand of ours the number of theirs; then attributes of ours that have one
 * value under that name. An attribute that is not listed keeps its name.
 *
 * A name with its system, "torch::softmax", "paddle::softmax", "nnscaler::softmax",
 * "stablehlo::dot" (or with a dot, "stablehlo.dot"), is found in any graph; a bare name is an
 * operator of ours first, then the first system's in the order of SystemId that has it.
 */
#ifndef CORE_RULES_ALIAS_H
#define CORE_RULES_ALIAS_H

#include "core/base/str.h"

/* ORDER SYSTEM */
typedef enum {
    SYSTEM_NNSCALER,
    SYSTEM_TORCH, /* torch's and veScale's: aten names, "_softmax", "max.dim" */
    SYSTEM_PADDLE,
    SYSTEM_SHARDY, /* StableHLO's */
    SYSTEM_COUNT
} SystemId;

typedef struct {
    const char *operator;            /* as the registry has it */
    const char *names[SYSTEM_COUNT]; /* NULL: that system has no word for it */
} AliasRow;

extern const AliasRow alias_table[]; /* ended by a row without operator */

#endif
