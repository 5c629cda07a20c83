/* rows.h - operators of rows_views.c, which the table in rows.c names. */
#ifndef CORE_PEERS_STABLEHLO_ROWS_H
#define CORE_PEERS_STABLEHLO_ROWS_H

#include "core/peers/stablehlo/lower.h"

MlirLower lower_constant, lower_iota, lower_reshape, lower_broadcast, lower_dynamic_broadcast,
    lower_dimension_size, lower_slice;

#endif
