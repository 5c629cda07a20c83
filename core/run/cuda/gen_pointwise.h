/* gen_pointwise.h - a chain of elementwise ops that become one kernel, and its CUDA text.
 */
#ifndef CORE_RUN_CUDA_GEN_POINTWISE_H
#define CORE_RUN_CUDA_GEN_POINTWISE_H

#include "core/run/cuda/device_build.h"
#include "core/run/kernels/contract.h"

enum { STEPS_MAX = 24, READS_MAX = 10, OPERANDS = 4 };

typedef struct {
    const char *id, *name;
    int n_inputs; /* 0: variadic, folded */
    const char *of_floats, *of_ints;
    int of_input; /* of a derivative: the input of the operator `name` */
} PointRow;

/* Operand of a step: an input, an earlier step, or a parameter (NO_VALUE). */
typedef struct {
    enum { NO_VALUE, OF_READ, OF_STEP } kind;
    int at;
} From;

typedef struct {
    const PointRow *row;
    Number class;
    Dtype dtype; /* type of the op's output */
    From from[OPERANDS];
    double param[2];
} PointStep;

typedef struct {
    const Local *local;
    DevicePlace place;
    int64_t stride[DIMS_MAX]; /* in the frame, then in the joined dims */
} PointRead;

typedef struct {
    const Local *local;
    int step;
    DevicePlace place;
} Made;

typedef struct {
    DeviceBuild *build;
    Shape frame;
    int n_steps, n_reads, n_made, n_written;
    PointStep step[STEPS_MAX];
    PointRead read[READS_MAX];
    Made made[STEPS_MAX];    /* outputs of ops */
    bool written[STEPS_MAX]; /* of them */
    int n_dims;              /* joined */
    int64_t size[DIMS_MAX];
    int vector; /* elements per thread */
} Chain;

/* Whether the row is an expression of `d` and the inputs of the differentiated op. */
bool is_derivative(const PointRow *row);

/* The kernel's name: its first steps and the element type of its last output. */
const char *chain_name(const Chain *chain);
/* Writes the kernel and its arguments; dims are joined and the vector is chosen by then. */
void put_chain(const Chain *chain, KernelText *k);

#endif
