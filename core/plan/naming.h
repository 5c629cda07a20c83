/* naming.h - how people name tensors: by name, or by the module that reads them.
 *
 * Exporters rename, transpose and tie weights (`onnx::MatMul_2861`, `val_76`), so a tensor is also
 * known as PATH.weight, .bias, .in, .out: the operand as an op on that path reads or makes it.
 *   weight  the first parameter (or view of parameters) of two dims or more that an op on the path
 *           reads; where there is none, the first of any rank
 *   bias    the first one-dim parameter that is not the weight
 *   in      the first operand, no parameter or constant, of the first op on the path or beneath it
 *   out     the first output of the last op on the path or beneath it
 * Names are found by hash; the index is made once per inference.
 */
#ifndef CORE_PLAN_NAMING_H
#define CORE_PLAN_NAMING_H

#include "core/rules/infer.h"

typedef struct Naming Naming;

Naming *naming_new(Arena *arena, const Inferred *inferred);

typedef enum { PART_WEIGHT, PART_BIAS, PART_IN, PART_OUT, PART_COUNT } Part;

const char *part_name(Part part); /* "weight" */

/* The tensor that PATH.part is, and the op on that path that reads it (makes it, for PART_OUT); op
 * may be NULL. -1: no such path, or it has no such part. */
int32_t naming_part(const Naming *naming, Str path, Part part, int32_t *op);

/* Paths with at least one op of the program on them or beneath, in program order. */
int naming_n_paths(const Naming *naming);
const char *naming_path(const Naming *naming, int i);
int32_t naming_part_at(const Naming *naming, int i, Part part); /* of that path; the tensor or -1 */

/* A tensor by its name or as PATH.part. -1 with the nearest name as a hint. */
int32_t naming_find(const Naming *naming, Str name, Error *err);

/* As naming_find, after which a last ".N" is a dim: *dim, or -2 when none was given. */
int32_t naming_find_dim(const Naming *naming, Str name, int *dim, Error *err);

/* Which way a matrix lies, as the first op that multiplies by it has it. */
typedef enum { MATRIX_UNKNOWN, MATRIX_IN_OUT, MATRIX_OUT_IN } MatrixOrder;

MatrixOrder naming_matrix(const Inferred *inferred, int32_t tensor);

/* PATH.weight or PATH.bias for a parameter, or a view of one, that is such; else the tensor's name.
 */
const char *naming_label(const Naming *naming, int32_t tensor);

#endif
