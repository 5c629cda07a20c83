/* alias.h - what other systems call our operators, and how they name the arguments.
 *
 * Read from the rows of the operators (registry.h), which have one text a system:
 *
 *     {OP("Softmax", ..), TORCH("softmax(dim=axis) _softmax(dim=axis)"), PADDLE("softmax"), ..},
 *     {OP("Gather", ..), PADDLE("embedding(; 1,0; axis:=0)"), ..},
 *
 * Such a text lists names with blanks between. Parentheses after a name hold three parts, each of
 * which may be empty: attributes, theirs = ours; then, for each of our operands, the number of
 * theirs, or `-` if they do not have it; then our attributes that have a fixed value under that
 * name. An attribute that is not listed keeps its name. If an attribute is in the first part and in
 * the last, the value in the last is its default:
 *
 *     {OP("ReduceSum", ..), TORCH("sum(dim=axes, keepdim=keepdims;; keepdims:=0)"), ..},
 *
 * A name with its system, "torch::softmax", "paddle::softmax", "nnscaler::softmax",
 * "stablehlo::dot" (or with a dot, "stablehlo.dot"), is found in any graph; a bare name is looked
 * up among our operators first, then in the systems in the order of SystemId. Also found:
 * "aten::softmax" and "vescale::softmax" (torch's), "torch.nn.functional.softmax" and the like, an
 * overload that is not listed ("aten::softmax.int"), an in-place form ("torch::relu_").
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

/* One name from such a text. */
typedef struct {
    const char *name, *op_type; /* theirs, ours */
    SystemId system;
    int n_attrs, n_constants;
    int n_operands; /* 0: the operands are in our order; else those of theirs that are not in
                       `operand` are ignored */
    const struct AliasAttr {
        const char *theirs, *ours;
    } * attr;
    const struct AliasConstant {
        const char *ours;
        Attr value; /* without a name */
    } * constant;
    const int *operand; /* per operand of ours: theirs; -1 if they do not have it */
} Alias;
typedef Vec(Alias) Aliases;

const char *system_name(SystemId system); /* "torch": as in front of "::" */

/* Appends the names in a text, which are the names of our operator `op_type` in that system.
 * Returns false with *err, which has the place in the text. */
bool alias_read(Arena *arena, const char *op_type, SystemId system, const char *text, Aliases *out,
                Error *err);

/* Splits "aten::softmax" into the system and the name in it; returns false if the name has no
 * prefix of a system. */
bool alias_split(Str name, SystemId *system, Str *rest);
/* The alias for a name, written as above; NULL if there is none. */
const Alias *alias_find(Arena *arena, Str name);

/* The names of the operator in other systems; NULL lists those of every operator, in the order of
 * the rows. */
Aliases alias_names(Arena *arena, const char *op_type);

/* The attribute that our operator calls `ours`; NULL if the op does not give it. */
const Attr *alias_attr(const Alias *alias, const Graph *graph, int32_t op, const char *ours);
const char *alias_ours(const Alias *alias, const char *theirs); /* our name of an attribute */
int alias_operand(const Alias *alias, int ours); /* the number of theirs; -1: they have none */

#endif
