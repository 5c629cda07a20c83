/* alias.h - what other systems call our operators, and how they spell the arguments.
 *
 * One table, a row per operator of ours:
 *
 *     {"Softmax", {[SYSTEM_TORCH] = "softmax(dim=axis) _softmax(dim=axis)",
 *                  [SYSTEM_PADDLE] = "softmax", [SYSTEM_NNSCALER] = "softmax(dim=axis)"}},
 *     {"Gather",  {[SYSTEM_PADDLE] = "embedding(; 1,0; axis:=0)"}},
 *
 * A cell lists names with blanks between. In the brackets, each part may be absent: their attribute
 * = ours, ..; then per operand of ours the number of theirs, `-` for one they have not; then
 * attributes of ours that have one value under that name. An attribute that is not listed keeps its
 * name; one that is in the first part and in the last has that value where they do not give it:
 *
 *     {"ReduceSum", {[SYSTEM_TORCH] = "sum(dim=axes, keepdim=keepdims;; keepdims:=0)"}},
 *
 * A name with its system, "torch::softmax", "paddle::softmax", "nnscaler::softmax",
 * "stablehlo::dot" (or with a dot, "stablehlo.dot"), is found in any graph; a bare name is an
 * operator of ours first, then the first system's in the order of SystemId that has it. Also found:
 * "aten::softmax" and "vescale::softmax" (torch's), "torch.nn.functional.softmax" and the like, an
 * overload without a row of its own ("aten::softmax.int"), an in-place form ("torch::relu_").
 */
#ifndef CORE_RULES_ALIAS_H
#define CORE_RULES_ALIAS_H

#include "core/model/graph.h"

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

/* One name of a cell, read. */
typedef struct {
    const char *name, *operator; /* theirs, ours */
    SystemId system;
    int n_attrs, n_constants;
    int n_operands; /* 0: the operands are in our order; else all others of theirs are not looked
                       at */
    const struct AliasAttr {
        const char *theirs, *ours;
    } * attr;
    const struct AliasConstant {
        const char *ours;
        Attr value; /* without a name */
    } * constant;
    const int *operand; /* per operand of ours: theirs; -1: none */
} Alias;
typedef Vec(Alias) Aliases;

const char *system_name(SystemId system); /* "torch": as in front of "::" */

/* Appends what the row's cell for that system lists. *err: the place in the cell, which is wrong.
 */
bool alias_read(Arena *arena, const AliasRow *row, SystemId system, Aliases *out, Error *err);

/* "aten::softmax": the system and the name in it; false when no system stands before the name. */
bool alias_split(Str name, SystemId *system, Str *rest);
/* The name as above; NULL: nobody's. Cells are searched as text and only the one that has the name
 * is read, so that a registry costs nothing for names that no graph has. */
const Alias *alias_find(Arena *arena, Str name);

/* What other systems call the operator, NULL: any operator, by row and system. */
Aliases alias_names(Arena *arena, const char *operator);

/* The attribute that our operator calls `ours`; NULL: not given. An operand of ours in theirs: -1,
 * none. */
const Attr *alias_attr(const Alias *alias, const Graph *graph, int32_t op, const char *ours);
const char *alias_ours(const Alias *alias, const char *theirs); /* what ours is called */
int alias_operand(const Alias *alias, int ours);

#endif
