/* naming.h - how users name tensors: by the tensor's name, or by the module that reads it.
 *
 * Exporters rename, transpose and tie weights (`onnx::MatMul_2861`, `val_76`), so a tensor is also
 * known as PATH.weight, .bias, .in, .out: the operand as an op on that path reads or makes it.
 *   weight  the first parameter (or view of parameters) of two dims or more that an op on the path
 *   reads; if there is none, the first of any rank
 *   bias    the first one-dim parameter that is not the weight
 *   in      the first operand that is no parameter or constant, of the first op on the path or
 *   below it
 *   out     the first output of the last op on the path or below it
 * Names are found by hash; the index is made once per inference.
 */
#ifndef CORE_PLAN_NAMING_H
#define CORE_PLAN_NAMING_H

#include "core/rules/infer.h"

typedef struct Naming Naming;

Naming *naming_new(Arena *arena, const Inferred *inferred);

typedef enum { PART_WEIGHT, PART_BIAS, PART_IN, PART_OUT, PART_COUNT } Part;

const char *part_name(Part part); /* "weight" */

/* The tensor PATH.part, and the op on that path that reads it (or makes it, for PART_OUT). `op`
 * may be NULL. Returns -1 if there is no such path, or if it has no such part. */
int32_t naming_part(const Naming *naming, Str path, Part part, int32_t *op);

/* The number of paths that have at least one op of the program on or below them; in program order.
 */
int naming_n_paths(const Naming *naming);
const char *naming_path(const Naming *naming, int i);
int32_t naming_part_at(const Naming *naming, int i, Part part); /* a part of the i-th path: the
                                                                   tensor, or -1 */

/* Finds a tensor by name, as PATH.part, or as one of the tensors that are stacked in it
 * ("experts.3.w1.weight" of checkpoints: TensorData.parts). Returns -1 with the nearest name as a
 * hint. */
int32_t naming_find(const Naming *naming, Str name, Error *err);

/* Like naming_find(), but a last ".N" is a dim, returned in *dim; -2 if the text has none. */
int32_t naming_find_dim(const Naming *naming, Str name, int *dim, Error *err);

/* How a matrix is stored, judged by the first op that multiplies by it. */
typedef enum { MATRIX_UNKNOWN, MATRIX_IN_OUT, MATRIX_OUT_IN } MatrixOrder;

MatrixOrder naming_matrix(const Inferred *inferred, int32_t tensor);

/* The initializer that the tensor is, or is a view of by ops that compute nothing; -1 if an op
 * computes the tensor. */
int32_t naming_viewed_parameter(const Inferred *inferred, int32_t tensor);

/* The name of a tensor on screens. A parameter and its views use the parameter's name in the file,
 * if it contains a module; else PATH.weight or PATH.bias, if no module is inside PATH. A tensor
 * that an op computes has its own name. */
const char *naming_label(const Naming *naming, int32_t tensor);

/* The name of any value on screens: naming_label() for what depends on parameters alone, PATH.out
 * for the output of a module, "PATH/Split out 1" for values inside it. A value that a training step
 * derives from another has that one's name in front: "PATH.weight~grad". It may live in the arena.
 */
const char *naming_value(const Naming *naming, Arena *arena, int32_t tensor);

#endif
