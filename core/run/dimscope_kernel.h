/* dimscope_kernel.h - a kernel in C: all that a plugin includes.
 *
 *     #include "dimscope_kernel.h"
 *     DIMSCOPE_PLUGIN
 *     int my_kernel(const DimscopeCall *call) { ..; return 0; }
 *
 *     cc -shared -fPIC -I core/run -o libmy.so my.c
 *     register_op("a b -> a b", {name = "my::op",
 *                                kernel = {plugin = "./libmy.so", symbol = "my_kernel"}})
 *     dimscope run model.onnx -p policy.lua --allow-native --verify
 *
 * A kernel computes one rank's part: inputs and outputs are row-major local parts, and `global`
 * gives the index in the whole tensor of each local place of a dim. Where a summed dim is sharded
 * the output is this rank's addend; what must be added once (a bias) is added where `first` is 1.
 * Keyword arguments are those of the part. Ranks are threads: a kernel is called concurrently and
 * keeps no state. A plugin runs with all rights of the program that loads it.
 */
#ifndef CORE_RUN_DIMSCOPE_KERNEL_H
#define CORE_RUN_DIMSCOPE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { DIMSCOPE_KERNEL_VERSION = 1 };

/* Once in a plugin: the version of this header it was built with. */
#define DIMSCOPE_PLUGIN const int dimscope_plugin_version = DIMSCOPE_KERNEL_VERSION;

typedef struct {
    const char *dtype; /* "f32", "i64", .. */
    int n_dims;
    const int64_t *shape, *whole; /* of the part, of the tensor */
    const int64_t *const *global; /* per dim and local place: its index in the whole tensor */
    void *data;                   /* an output is zero-filled, or holds the input that it updates */
} DimscopeTensor;

typedef enum {
    DIMSCOPE_INT,
    DIMSCOPE_FLOAT,
    DIMSCOPE_TEXT,
    DIMSCOPE_INTS,
    DIMSCOPE_FLOATS
} DimscopeArgType;

typedef struct {
    const char *name;
    DimscopeArgType type;
    int64_t n; /* of ints, floats; otherwise 1 */
    int64_t i;
    double f;
    const char *text; /* ends with a NUL */
    const int64_t *ints;
    const double *floats;
} DimscopeArg;

typedef struct {
    int n_inputs, n_outputs, n_args;
    const DimscopeTensor *const *input;  /* NULL: absent */
    const DimscopeTensor *const *output; /* NULL: not used by the model */
    const DimscopeArg *arg;
    int first, reduce_cut;
    char *error; /* buffer for an error message */
    size_t error_size;
} DimscopeCall;

/* Returns 0, or another number after it wrote the reason to call->error. */
typedef int DimscopeKernel(const DimscopeCall *call);

#endif
