/* stablehlo.h - the operators of StableHLO that are read through Shardy's rules. */
#ifndef CORE_PEERS_SHARDY_STABLEHLO_H
#define CORE_PEERS_SHARDY_STABLEHLO_H

#include "core/rules/registry.h"

extern const Operator operators_stablehlo[];

#endif
