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
 * A kernel computes what one rank has: inputs and outputs are this rank's parts, row-major, and
 * `global` says where each place of a dim stands in the whole tensor. Where a summed dim is cut it
 * leaves this rank's addend; what is added once (a bias) is added where `first` is 1. Keyword
 * arguments are those of the part. Ranks are threads: it is called by several at a time, and keeps
 * nothing of a call. A plugin runs with all rights of the program that loads it.
 */
#ifndef CORE_RUN_DIMSCOPE_KERNEL_H
#define CORE_RUN_DIMSCOPE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { DIMSCOPE_KERNEL_VERSION = 1 };

/* Once in a plugin: by what version of this header it was built. */
#define DIMSCOPE_PLUGIN const int dimscope_plugin_version = DIMSCOPE_KERNEL_VERSION;

typedef struct {
    const char *dtype; /* "f32", "i64", .. */
    int n_dims;
    const int64_t *shape, *whole; /* of the part, of the tensor */
    const int64_t *const *global; /* per dim, per place of the part: its place in the tensor */
    void *data;                   /* an output's is zero, or the input it is the new value of */
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
    int64_t n; /* of ints, floats; 1 else */
    int64_t i;
    double f;
    const char *text; /* ends with a NUL */
    const int64_t *ints;
    const double *floats;
} DimscopeArg;

typedef struct {
    int n_inputs, n_outputs, n_args;
    const DimscopeTensor *const *input;  /* NULL: absent */
    const DimscopeTensor *const *output; /* NULL: nobody wants it */
    const DimscopeArg *arg;
    int first, reduce_cut;
    char *error; /* room for a text of what went wrong */
    size_t error_size;
} DimscopeCall;

/* 0: done. Anything else: it failed, for the reason in call->error. */
typedef int DimscopeKernel(const DimscopeCall *call);

#endif
