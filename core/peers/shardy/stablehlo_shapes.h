/* stablehlo_shapes.h - shapes of results of StableHLO's operators, from operands and attributes.
 */
#ifndef CORE_PEERS_SHARDY_STABLEHLO_SHAPES_H
#define CORE_PEERS_SHARDY_STABLEHLO_SHAPES_H

#include "core/rules/registry.h"

/* Sets *out to the shape of result `o` as the specification of the operator gives it. Returns false
 * for operators without a formula here, and if an attribute is missing or does not fit the
 * operands: the stated shape is all there is. */
bool stablehlo_result_shape(RuleCall *call, int o, Shape *out);

#endif
