/* device_work.h - ops as work for a GPU: launches of generated kernels, products, copies.
 *
 * Consecutive ops become a list of items: kernels to launch, matrix products for cuBLASLt, bytes to
 * copy or zero. It is made once per instruction and rank from shapes, runs and attributes;
 * Local.data are device addresses and are not read.
 *
 *     Add, Mul, Tanh on f32[4,64]   one launch of a text that computes all three
 *     MatMul, Add of a bias, Gelu   one product with an epilogue
 *     Gather of cut rows            a launch, and a table "global row -> local row, or none"
 *
 * Texts are CUDA C in the subset that C11 shares; their head defines the differences
 * (tests/fakecuda/device_prelude.h does for C). Types and numbers of dims are in the text, sizes
 * are arguments, so that few texts are compiled; equal texts have equal ids.
 *
 * Every kernel has one parameter, a struct of 8-byte words: DeviceLaunch.word in order, with places
 * replaced by their addresses. A launch is therefore
 *
 *     void *args[] = {words};   cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream)
 *
 * and in C the text defines `void NAME_entry(void **args)`, which does the same.
 *
 * Deterministic: no atomics on floats; sums over long rows are made in two launches of fixed shape.
 * Tuned for: pointwise chains, row-wise norms and softmaxes, copies and transposes move 16 bytes a
 * thread and stay near the memory's speed; products are cuBLASLt's. Not tuned: convolutions, pools,
 * scatters, cumulative sums; attention multiplies in registers without tensor cores.
 */
#ifndef CORE_RUN_CUDA_DEVICE_WORK_H
#define CORE_RUN_CUDA_DEVICE_WORK_H

#include "core/run/exchange.h"
#include "core/run/kernel.h"

/* ---- places ---- */

typedef enum {
    AT_INPUT,     /* input `index` of op `op` of the run */
    AT_OUTPUT,    /* output `index` of op `op` */
    AT_WORKSPACE, /* workspace `index`, uninitialised */
    AT_TABLE,     /* table `index` */
    AT_FAULT      /* one int32: 0, or a DeviceFault that a kernel sets */
} PlaceKind;

typedef struct {
    PlaceKind kind;
    int op, index;
    int64_t offset_bytes;
} DevicePlace;

/* An error in the data that a kernel finds; the host runner reports the same. */
typedef enum {
    FAULT_NONE,
    FAULT_INDEX
} DeviceFault; /* an index outside its dim, or of a row that another rank holds */

/* ---- items ---- */

typedef enum { WORD_PLACE, WORD_I64, WORD_F64 } WordKind;

typedef struct {
    WordKind kind;
    DevicePlace place;
    int64_t i64;
    double f64;
} DeviceWord;

enum { DEVICE_WORDS_MAX = 512 }; /* 4 KiB: what every CUDA takes as parameters */

typedef struct {
    int32_t text;     /* id in DeviceTexts */
    const char *name; /* of the kernel in it */
    int64_t grid[3];  /* each 1 or more, y and z at most 65535 */
    int block[3];     /* threads; a multiple of 32 in all */
    int64_t shared_bytes;
    int n_words;
    const DeviceWord *word;
} DeviceLaunch;

/* ORDER EPILOGUE */
typedef enum { EPILOGUE_NONE, EPILOGUE_RELU, EPILOGUE_GELU } Epilogue; /* gelu: by tanh */

/* out[m][n] = epilogue(alpha * sum over k of a(m,k) b(k,n) + beta * out[m][n] + bias[n]),
 * row-major, for each of n_batch. a is stored as [m][k], or [k][m] when turned; b as [k][n] or
 * [n][k]. Rows lie `row` elements apart, matrices of a batch `batch` elements (0: the same one).
 *
 * cuBLASLt is column-major: there this is n by m, with b as its A (transposed when b_turned) and a
 * as its B. All operands have one type; sums are in f32, in f64 for f64.
 */
typedef struct {
    Dtype dtype; /* DT_F32, DT_F64, DT_BF16, DT_F16 */
    int64_t m, n, k;
    bool a_turned, b_turned;
    int64_t a_row, b_row, out_row;
    int64_t n_batch, a_batch, b_batch, out_batch;
    double alpha, beta;
    Epilogue epilogue;
    bool has_bias;
    DevicePlace a, b, out, bias;
} DeviceMatmul;

typedef enum { ITEM_LAUNCH, ITEM_MATMUL, ITEM_COPY, ITEM_ZERO } ItemKind;

typedef struct {
    ItemKind kind;
    DeviceLaunch launch;
    DeviceMatmul matmul;
    DevicePlace to, from; /* COPY, ZERO (to) */
    int64_t n_bytes;
} DeviceItem;

typedef struct {
    const void *bytes; /* on the host, uploaded once */
    int64_t n_bytes;
} DeviceTable;

/* Items are executed in order. An op with an empty part may have none. */
typedef struct {
    int n_ops; /* ops of the run that it covers */
    int n_items, n_tables, n_workspaces;
    DeviceItem *item;
    DeviceTable *table;
    int64_t *workspace_bytes;
} DeviceWork;

/* ---- texts ---- */

typedef struct DeviceTexts DeviceTexts; /* in an arena; not thread-safe */

DeviceTexts *device_texts_new(Arena *arena);
int32_t device_texts_count(const DeviceTexts *texts);
/* The whole text of an id, NUL-terminated. */
Str device_text(const DeviceTexts *texts, int32_t id);

/* ---- the work ---- */

/* run: consecutive ops of the program; op i + 1 reads the output of op i as the same Local.
 * kept[i]: other ops also read the output of op i, so it must be written; an output that is not
 * kept is written only when ops of the run after the work read it.
 *
 * Makes the work of the first n_ops of them, fused. False: the first op is not supported and its
 * host kernel must run, which also reports errors. Allocated in the arena.
 */
bool device_work(Arena *arena, DeviceTexts *texts, const KernelCall *const *run, int n,
                 const bool *kept, DeviceWork *out);

/* ---- for collectives ---- */

/* As piece_pack(), piece_unpack() (REDUCE_NONE) and piece_combine(); places are of op 0. False:
 * that type cannot be combined on the device. */
bool device_pack(Arena *arena, DeviceTexts *texts, Dtype dtype, const Piece *piece,
                 DevicePlace part, DevicePlace message, DeviceWork *out);
bool device_unpack(Arena *arena, DeviceTexts *texts, Dtype dtype, const Piece *piece,
                   ReduceOp reduce, DevicePlace message, DevicePlace part, DeviceWork *out);
/* Multiplies n elements by factor. */
bool device_scale(Arena *arena, DeviceTexts *texts, Dtype dtype, int64_t n, double factor,
                  DevicePlace at, DeviceWork *out);
/* Fills a part with scale * draw_uniform(key, global index), rounded to its type (f32, f64, bf16,
 * f16). Only the runs of `part` are read. */
bool device_draw(Arena *arena, DeviceTexts *texts, const Local *part, uint64_t key, double scale,
                 DevicePlace to, DeviceWork *out);

#endif
