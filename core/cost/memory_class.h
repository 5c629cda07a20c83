/* memory_class.h - what a value is kept for.
 *
 *     parameter         an initializer that is not a constant, and what an optimizer updates
 *     gradient          what an optimizer reads as the gradient of a parameter, and the values from
 *                       which that is made (Graph.gradient_of)
 *     optimizer_state   a moment, an accumulator or a master copy, before and after its update
 *     input             any other graph input
 *     constant          known before the run (tensor_is_known)
 *     activation        any other value that the run makes
 *     collective_buffer a copy that the steps of a reshard are still filling (memory.h)
 *
 * Optimizers are the operators of the table: those of ai.onnx.preview.training, and the optimizers
 * of other systems under our names. The class is the role in which an op reads a value, whichever
 * op made it; if two ops read it in different roles, the first one decides. A constant stays a
 * constant.
 */
#ifndef CORE_COST_MEMORY_CLASS_H
#define CORE_COST_MEMORY_CLASS_H

#include "core/rules/infer.h"

/* ORDER MEMORY_CLASS */
typedef enum {
    MEMORY_PARAMETER,
    MEMORY_GRADIENT,
    MEMORY_OPTIMIZER,
    MEMORY_INPUT,
    MEMORY_ACTIVATION,
    MEMORY_CONSTANT,
    MEMORY_BUFFER,
    MEMORY_CLASS_COUNT
} MemoryClass;

const char *memory_class_name(MemoryClass class); /* "optimizer_state" */

/* Per tensor; never MEMORY_BUFFER. */
const MemoryClass *memory_classes(Arena *arena, const Inferred *inferred);

#endif
