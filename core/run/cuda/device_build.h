/* device_build.h - how work for a device is put together: for device_work.c and the gen_*.c.
 *
 * A generator is a fixed text with a few names left open; what it needs is defined before it, a
 * line each: types, numbers of dims, widths. An operator is a row {name, function}; the function
 * answers false when it cannot do this call, and may have added items by then, which are dropped.
 *
 * Of a type D the head has: t_D as it is stored, load_D_C() and store_D_C() to and from the classes
 * of numbers C (element.h): c_f32, c_f64, c_i64.
 */
#ifndef CORE_RUN_CUDA_DEVICE_BUILD_H
#define CORE_RUN_CUDA_DEVICE_BUILD_H

#include "core/base/vec.h"
#include "core/rules/registry.h"
#include "core/run/cuda/device_work.h"

enum {
    DEVICE_THREADS = 256,    /* of a block, where nothing asks for another number */
    DEVICE_BLOCKS_MAX = 4096 /* of a loop over the grid: some for each multiprocessor */
};

typedef struct {
    Arena *arena;
    DeviceTexts *texts;
    const KernelCall *const *run;
    const bool *kept;
    int n_run, n_done; /* ops given; those that the work is of, 1 at first */
    Vec(DeviceItem) items;
    Vec(DeviceTable) tables;
    Vec(int64_t) workspaces;
} DeviceBuild;

typedef bool DeviceMaker(DeviceBuild *build, const KernelCall *call, const void *row);

typedef struct {
    const char *name; /* of the operator's host kernel */
    DeviceMaker *make;
    const void *row;
} DeviceOp;

/* By families, each ended by a row without a name. */
extern const DeviceOp device_ops_copy[], device_ops_matmul[], device_ops_rows[],
    device_ops_gather[], device_ops_reduce[], device_ops_along[], device_ops_window[],
    device_ops_resize[], device_ops_attention[];

/* ---- places ---- */

DevicePlace place_input(int op, int index);
DevicePlace place_output(int op, int index);
DevicePlace place_fault(void);
DevicePlace place_workspace(DeviceBuild *build, int64_t n_bytes);
DevicePlace place_table(DeviceBuild *build, const void *bytes, int64_t n_bytes); /* copied */
DevicePlace place_plus(DevicePlace place, int64_t n_bytes);

/* ---- a kernel: its text and its arguments ---- */

typedef struct {
    DeviceBuild *build;
    const char *name;
    Buf text; /* defines, and a body with KERNEL(threads, NAME, Args) */
    Vec(DeviceWord) args;
} KernelText;

/* Begins the text of a kernel of that name, which it defines as NAME. */
KernelText kernel_text(DeviceBuild *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Defines T, a stored element, C, a number of the class, LOAD and STORE between them, and SHUFFLE,
 * EXP, LOG, LOG1P, SQRT, TANH and POW of the class. */
void put_types(KernelText *kernel, Dtype dtype, Number class);

void put_class(KernelText *kernel, Number class); /* without T, LOAD and STORE */
/* Defines combine(T, T): an expression of them as numbers x and y. */
void put_combine(KernelText *kernel, const char *expression);

/* Arguments in the order of the fields of Args. */
void args_places(KernelText *kernel, size_t n, const DevicePlace *places);
void args_i64(KernelText *kernel, size_t n, const int64_t *numbers);
void arg_f64(KernelText *kernel, double number);
void arg_table(KernelText *kernel, const void *bytes, int64_t n_bytes);
void arg_place_if(KernelText *kernel, bool present, DevicePlace place); /* else a null pointer */

/* A field of Args "name<d>" with its argument: a step, or where it is not NULL a table of n. */
void put_step(KernelText *kernel, const char *name, int d, int64_t step, const int64_t *table,
              int64_t n);

#define ARGS_PLACES(kernel, ...)                                                                   \
    args_places(kernel, sizeof((DevicePlace[]){__VA_ARGS__}) / sizeof(DevicePlace),                \
                (const DevicePlace[]){__VA_ARGS__})
#define ARGS_I64(kernel, ...)                                                                      \
    args_i64(kernel, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                           \
             (const int64_t[]){__VA_ARGS__})

/* ---- items ---- */

typedef struct {
    int64_t grid[3];
    int threads;
    int64_t shared_bytes;
} LaunchSize;

/* Blocks of DEVICE_THREADS for a loop over n things. */
LaunchSize launch_over(int64_t n);

void build_launch(const KernelText *kernel, LaunchSize size);
void build_copy(DeviceBuild *build, DevicePlace to, DevicePlace from, int64_t n_bytes);
void build_zero(DeviceBuild *build, DevicePlace to, int64_t n_bytes);
void build_matmul(DeviceBuild *build, const DeviceMatmul *matmul);

/* ---- words of texts ---- */

/* Defines V_D, V elements of a type that are loaded at once: small ones as words. */
void put_vector_type(Buf *text, Dtype dtype, int vector);
void device_head(Buf *out); /* appends what every text begins with */

const char *number_name(Number number); /* "f32" */
const char *unit_type(int64_t bytes);   /* of elements of 1, 2, 4, 8 or 16 bytes that are moved */
/* Of places in a tensor of n elements: "u32" where they fit. */
const char *index_type(int64_t n);
/* Has t_, load_ and store_ in the head. */
bool dtype_on_device(Dtype dtype);

/* ---- what calls say ---- */

/* The call with inputs that may be read: those whose elements are in the model have them, the
 * others have no data. */
KernelCall device_readable(const KernelCall *call);
/* As kernel_rule_call(), without a look at what lies on the device. */
RuleCall device_rule_call(const KernelCall *call);
/* One whole number known at load; `fallback` where the input is absent. False: not known. */
bool device_known_int(const KernelCall *call, int input, int64_t fallback, int64_t *out);
/* 64 bits without a sign are among its operands: texts hold them as i64, so what orders, divides or
 * converts them is left to the host. */
bool device_unsigned(const KernelCall *call);
const Local *device_input(const KernelCall *call, int input); /* NULL: absent */
/* The place of an input or output of this call in the run. */
int device_op_at(const DeviceBuild *build, const KernelCall *call);

/* ---- families that others use ---- */

/* Elements of `to` (of picks' sizes, row-major) from `from`; where picks say none, `to` stays. */
bool build_move(DeviceBuild *build, Dtype dtype, const Picks *picks, DevicePlace to,
                DevicePlace from);
bool build_piece(DeviceBuild *build, Dtype dtype, const Piece *piece, bool pack, ReduceOp reduce,
                 DevicePlace to, DevicePlace from);
/* The moves that a call's host kernel would do; false: it does more than move. The kernel must move
 * by kernel_pick() alone. */
bool build_recorded(DeviceBuild *build, const KernelCall *call);
bool build_scale(DeviceBuild *build, Dtype dtype, int64_t n, double factor, DevicePlace at);
bool build_draw(DeviceBuild *build, const Local *part, uint64_t key, double scale, DevicePlace to);
/* A product by cuBLASLt where it has the type, else by a plain kernel, without epilogue then. */
void build_product(DeviceBuild *build, const DeviceMatmul *product);
/* n elements of that many bytes, each as the one at `from`. */
void build_fill(DeviceBuild *build, int64_t bytes, int64_t n, DevicePlace to, DevicePlace from);
/* A kernel of the ops from run[first] on that compute element by element; how many became one
 * launch, 0: the first is none of those. */
int build_pointwise(DeviceBuild *build, int first);
bool is_pointwise(const KernelCall *call);

#endif
