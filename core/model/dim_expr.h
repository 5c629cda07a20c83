/* dim_expr.h - names of free dims that are expressions of other free dims: "2*batch+1".
 *
 * Exporters name a dim so when it follows from those of the inputs: "past + sequence",
 * "floor(s0/2)", "(x.1+3)//4". When its parts have sizes, so has it.
 *
 *     expr = product { ("+" | "-") product }     product = power { ("*" | "//" | "/" | "%") power }
 *     power = [ "-" ] atom [ "**" power ]        atom = number | "(" expr ")" | name [ "(" expr {
 *                                                       "," expr } ")" ]
 *
 * Functions: Max, Min, floor, ceiling, abs, and what torch names otherwise (CeilToInt, Mod, ..).
 */
#ifndef CORE_MODEL_DIM_EXPR_H
#define CORE_MODEL_DIM_EXPR_H

#include "core/model/graph.h"

/* Whether the name may be an expression: it has an operator or a bracket in it. */
bool dim_expr_is(Str name);

/* Its value; -1 if it cannot be read, a part has no size, or the value is no whole number of 0 or
 * more. */
int64_t dim_expr_size(Str name, const DimBindings *bindings);

#endif
