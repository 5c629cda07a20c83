/* parse.h - shared by the two files that parse MLIR: parse_parts.c for names and the parts of an
 * op, parse.c for regions, ops, functions and the file.
 */
#ifndef CORE_PEERS_STABLEHLO_PARSE_H
#define CORE_PEERS_STABLEHLO_PARSE_H

#include "core/peers/stablehlo/scan.h"

#define PUSH(scan, stack, ...) vec_push_own((scan)->scratch, &(scan)->stacks.stack, __VA_ARGS__)

/* An op being read: where its own parts begin on the stacks. */
typedef struct {
    int32_t id;
    int attr, result, operand, initial, region, type, made;
    bool is_typed, has_arrow, is_initial, is_reducer;
} MlirReading;

/* ---- parse_parts.c ---- */

/* From here on the name stands for the value; mlir_forget() undoes this, down to the given number
 * of shadows. */
void mlir_define(MlirScan *scan, Str name, int32_t value);
void mlir_forget(MlirScan *scan, int n_shadows);
int32_t mlir_push_value(MlirScan *scan, MlirValue value);
/* "%0", without a following "#1" or ":2". */
Str mlir_read_name(MlirScan *scan);
int64_t mlir_read_number(MlirScan *scan);
/* "->" */
bool mlir_accept_arrow(MlirScan *scan);
/* ": type", of a block's argument of that name. */
void mlir_read_argument(MlirScan *scan, Str name);
/* mlir_read_pretty(): the rest of an op after its name, in its own syntax; mlir_read_generic(): in
 * the quoted form that all ops share. */
void mlir_read_pretty(MlirScan *scan, MlirReading *reading);
void mlir_read_generic(MlirScan *scan, MlirReading *reading);

/* ---- parse.c ---- */

void mlir_read_region(MlirScan *scan, const MlirReading *reading);

#endif
