/* dim_expr.h - names of free dims that are expressions of other free dims: "2*batch+1".
 *
 * Exporters name a dim this way if its size follows from dims of the inputs: "past + sequence",
 * "floor(s0/2)", "(x.1+3)//4". The expression has a size if all dims in it have one.
 *
 *     expr = product { ("+" | "-") product }     product = power { ("*" | "//" | "/" | "%") power }
 *     power = [ "-" ] atom [ "**" power ]        atom = number | "(" expr ")" | name [ "(" expr {
 *                                                       "," expr } ")" ]
 *
 * Functions: Max, Min, floor, ceiling, abs, and torch's names for them (CeilToInt, Mod, ..).
 */
#ifndef CORE_MODEL_DIM_EXPR_H
#define CORE_MODEL_DIM_EXPR_H

#include "core/model/graph.h"

/* Returns whether the name may be an expression: it contains an operator or a bracket. */
bool dim_expr_is(Str name);

/* Its value; -1 if it cannot be parsed, if a dim in it has no size, or if the value is negative or
 * no whole number. */
int64_t dim_expr_size(Str name, const DimBindings *bindings);

#endif
