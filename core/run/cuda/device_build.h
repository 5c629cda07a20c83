/* device_build.h - builders of device work, shared by device_work.c and the gen_*.c.
 *
 * A generator is a fixed kernel text; the #defines in front of it choose types, numbers of dims and
 * vector widths. An operator is a row {name, function}. The function returns false when it does not
 * support the call; items it has added by then are dropped.
 *
 * For each type D the head defines t_D, its stored form, and load_D_C() and store_D_C() to and from
 * the number classes C (element.h): c_f32, c_f64, c_i64.
 */
#ifndef CORE_RUN_CUDA_DEVICE_BUILD_H
#define CORE_RUN_CUDA_DEVICE_BUILD_H

#include "core/base/vec.h"
#include "core/rules/registry.h"
#include "core/run/cuda/device_work.h"

enum {
    DEVICE_THREADS = 256,    /* of a block by default */
    DEVICE_BLOCKS_MAX = 4096 /* of a loop over the grid: several per multiprocessor */
};

typedef struct {
    Arena *arena;
    DeviceTexts *texts;
    const KernelCall *const *run;
    const bool *kept;
    int n_run, n_done; /* ops given; ops covered by the work, 1 at first */
    Vec(DeviceItem) items;
    Vec(DeviceTable) tables;
    Vec(int64_t) workspaces;
} DeviceBuild;

typedef bool DeviceMaker(DeviceBuild *build, const KernelCall *call, const void *row);

typedef struct {
    const char *name; /* operator name of the host kernel */
    DeviceMaker *make;
    const void *row;
} DeviceOp;

/* By family, each ended by a row without a name. */
extern const DeviceOp device_ops_copy[], device_ops_matmul[], device_ops_rows[],
    device_ops_gather[], device_ops_reduce[], device_ops_along[], device_ops_window[],
    device_ops_resize[], device_ops_attention[], device_ops_contract[], device_ops_optimizer[],
    device_ops_loss[], device_ops_move[], device_ops_norm_gradient[], device_ops_window_gradient[];

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

/* Begins the text of a kernel; defines its name as NAME. */
KernelText kernel_text(DeviceBuild *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Defines T (stored element), C (number of the class), LOAD and STORE between them, and the
 * functions of the class SHUFFLE, EXP, LOG, LOG1P, SQRT, TANH and POW. */
void put_types(KernelText *kernel, Dtype dtype, Number class);

void put_class(KernelText *kernel, Number class); /* without T, LOAD and STORE */
/* Defines combine(T, T): an expression of them as numbers x and y. */
void put_combine(KernelText *kernel, const char *expression);

/* Arguments in the order of the fields of Args. */
void args_places(KernelText *kernel, size_t n, const DevicePlace *places);
void args_i64(KernelText *kernel, size_t n, const int64_t *numbers);
void arg_f64(KernelText *kernel, double number);
void arg_table(KernelText *kernel, const void *bytes, int64_t n_bytes);
/* From the global index of a dim to the local one, or to none; null if the dim is whole. */
void arg_row_table(KernelText *kernel, const Local *local, int64_t d);
void arg_place_if(KernelText *kernel, bool present, DevicePlace place); /* else a null pointer */

/* Adds a field "name<d>" of Args and its argument: a table of n, or a step where table is NULL. */
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

/* ---- parts of texts ---- */

/* Defines V_D, a vector of V elements loaded at once. */
void put_vector_type(Buf *text, Dtype dtype, int vector);
void device_head(Buf *out); /* the head of every text */

const char *number_name(Number number); /* "f32" */
const char *unit_type(int64_t bytes);   /* for moving elements of 1, 2, 4, 8 or 16 bytes */
/* Index type for n elements: "u32" where it fits. */
const char *index_type(int64_t n);
/* The head defines t_, load_ and store_ for it. */
bool dtype_on_device(Dtype dtype);

/* ---- reading calls ---- */

/* The call with inputs whose data the host can read: small constants keep their data, other inputs
 * have none. */
KernelCall device_readable(const KernelCall *call);
/* As kernel_rule_call(), without reading device memory. */
RuleCall device_rule_call(const KernelCall *call);
/* Reads one integer that is known at load; `fallback` when the input is absent. Returns false when
 * it is unknown. */
bool device_known_int(const KernelCall *call, int input, int64_t fallback, int64_t *out);
/* Returns whether the call has u64 operands. Kernel texts hold these as i64, so ops that compare,
 * divide or convert are left to the host. */
bool device_unsigned(const KernelCall *call);
/* Index of the call in the run. */
int device_op_at(const DeviceBuild *build, const KernelCall *call);

/* ---- folds ---- */

enum { FOLD_OPERANDS = 8 };

/* `to` and `step`: elements between neighbours, in the output and in each operand. */
typedef struct {
    int64_t size, to;
    bool folded;
    int64_t step[FOLD_OPERANDS];
} FoldDim;

/* out[places of the dims that are kept] = last of the fold over all others of a function of the
 * operands. Texts are expressions in the class C. */
typedef struct {
    const char *name; /* what the kernel is called */
    const char *start, *of, *merge,
        *last;             /* of x0, x1 .., p and q; of s and t; of s and a.factor */
    const char *functions; /* that these call; NULL: none */
    int n_operands, n_dims;
    DevicePlace operand[FOLD_OPERANDS], to;
    Dtype dtype[FOLD_OPERANDS], out;
    Number class;
    double factor, param[2];
    FoldDim dim[X_MAX + 1]; /* major first */
} DeviceFold;

/* There is at least one point. Elements that no kept dim reaches are not written. */
void build_fold(DeviceBuild *build, const DeviceFold *fold);

/* ---- generators that others use ---- */

/* Copies elements by picks into a row-major `to`; unpicked elements stay. */
bool build_move(DeviceBuild *build, Dtype dtype, const Picks *picks, DevicePlace to,
                DevicePlace from);
bool build_piece(DeviceBuild *build, Dtype dtype, const Piece *piece, bool pack, ReduceOp reduce,
                 DevicePlace to, DevicePlace from);
/* Adds the moves of a call's host kernel, which must move elements by kernel_pick() alone; returns
 * false when it does more. */
bool build_recorded(DeviceBuild *build, const KernelCall *call);
/* Copies row-major elements to the places that the picks take them from, or adds them there. */
bool build_back(DeviceBuild *build, Dtype dtype, const Picks *picks, bool adds, DevicePlace to,
                DevicePlace from);
bool picks_each_once(const Picks *picks); /* no place is picked twice, as far as dims show */
/* The gradient of MaxPool or AveragePool. */
bool build_pool_gradient(DeviceBuild *build, const KernelCall *call);
/* Copies a box of elements between any two layouts: per dim its size, and the elements between
 * neighbours in each. */
bool build_strided(DeviceBuild *build, Dtype dtype, const Shape *size, const int64_t *to_stride,
                   const int64_t *from_stride, DevicePlace to, DevicePlace from);
bool build_scale(DeviceBuild *build, Dtype dtype, int64_t n, double factor, DevicePlace at);
bool build_draw(DeviceBuild *build, const Local *part, uint64_t key, double scale, DevicePlace to);
/* A product by cuBLASLt if it supports the types, otherwise by a plain kernel without epilogue. */
void build_product(DeviceBuild *build, const DeviceMatmul *product);
/* Fills n elements of that size with the one at `from`. */
void build_fill(DeviceBuild *build, int64_t bytes, int64_t n, DevicePlace to, DevicePlace from);
/* Fuses elementwise ops from run[first] on into one launch. Returns how many; 0 when the first op
 * is not elementwise. */
int build_pointwise(DeviceBuild *build, int first);
bool is_pointwise(const KernelCall *call);
/* The expression of a gradient op `local`, of d, a, b, c, p and q; NULL if there is none. */
const char *derivative_text(const KernelCall *call);
extern const char derivative_functions[]; /* that these expressions call */
/* Those of special.h, if the expression (NULL: none) calls one, else "". */
const char *special_functions(const char *expression);

#endif
