/* bench_gpu.c - figures of the CUDA runner, as lines "NAME VALUE UNIT", on the first device.
 *
 *     product.SHAPE.run, .cublaslt, .share   a pass of a plan that is one product, the fastest
 *                                            algorithm of cuBLASLt itself, called in a row on the
 *                                            same buffers, and how much of the first that is
 *     block.pass, block.begin, block.hidden  a transformer block: the device's time of a pass, the
 *                                            host's to begin it, and how much less that is
 *
 * Times are medians of passes that are captured and done again. The block is the one that
 * torch_block.py times in PyTorch.
 */
#include "tests/unit/planning.h"

#include "tests/unit/graph_text.h"

#include "core/run/cuda/blas.h"
#include "core/run/cuda/device.h"
#include "core/run/run.h"

#include <stdio.h>

enum { REPEAT = 30, IN_A_ROW = 20 };

static void must(bool ok, const Error *err)
{
    if (ok)
        return;
    fprintf(stderr, "error: %s\n", err->text);
    exit(1);
}

static void figure(const char *name, const char *part, double value, const char *unit)
{
    printf("%s.%s %.4g %s\n", name, part, value, unit);
    fflush(stdout);
}

static RunReport timed(Arena *arena, const char *text)
{
    Planning *p = arena_make(arena, Planning);
    RunOptions options = {.warmup = 2, .repeat = REPEAT, .backend = "cuda"};
    RunReport report;
    Error err = {0};
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 23);
    planning_infer(p, "", "x=1");
    planning_make(p);
    must(run_plan(arena, p->plan, &options, &report, &err), &err);
    plan_free(p->plan);
    return report;
}

/* ---- products ---- */

typedef struct {
    const char *name;
    Dtype dtype;
    int64_t m, n, k;
} ProductRow;

/* Those of the samples: tokens by width by width. */
static const ProductRow gpu_rows[] = {
    {"gpt2.c_fc.f32", DT_F32, 1024, 3072, 768},
    {"gpt2.c_proj.bf16", DT_BF16, 1024, 768, 3072},
    {"gpt2.lm_head.bf16", DT_BF16, 1024, 50257, 768},
    {"llama-8b.qkv.bf16", DT_BF16, 4096, 6144, 4096},
    {"llama-8b.down.bf16", DT_BF16, 4096, 4096, 14336},
    {"llama-70b.up_tp8.bf16", DT_BF16, 4096, 3584, 8192},
    {"vit.mlp.f16", DT_F16, 1576, 3072, 768},
    {0},
};
static const ProductRow dry_rows[] = {
    {"small.f32", DT_F32, 16, 32, 24}, {"small.bf16", DT_BF16, 16, 24, 32}, {0}};

static void *on_device(int64_t n_bytes)
{
    void *at = NULL;
    Error err = {0};
    must(cuda_ok(cudaMalloc(&at, (size_t)n_bytes), "cudaMalloc", &err) &&
             cuda_ok(cudaMemsetAsync(at, 0, (size_t)n_bytes, NULL), "cudaMemsetAsync", &err),
         &err);
    return at;
}

/* Of one product, when several are done in a row. */
static double cublaslt_us(const ProductRow *row)
{
    Error err = {0};
    int64_t bytes = element_bytes(row->dtype);
    void *a = on_device(row->m * row->k * bytes), *b = on_device(row->k * row->n * bytes);
    void *out = on_device(row->m * row->n * bytes), *room = on_device(BLAS_WORKSPACE_BYTES);
    DeviceMatmul matmul = {.dtype = row->dtype,
                           .m = row->m,
                           .n = row->n,
                           .k = row->k,
                           .n_batch = 1,
                           .a_row = row->k,
                           .b_row = row->n,
                           .out_row = row->n,
                           .alpha = 1};
    Blas blas = {.products = products_new()};
    BlasProduct product;
    ProductUse use = {.a = a, .b = b, .out = out, .workspace = room, .by_time = true};
    cudaEvent_t begin, end;
    float ms = 0, least = 0;
    must(blas_ok(cublasLtCreate(&blas.handle), "cublasLtCreate", &err) &&
             cuda_ok(cudaEventCreateWithFlags(&begin, 0), "cudaEventCreate", &err) &&
             cuda_ok(cudaEventCreateWithFlags(&end, 0), "cudaEventCreate", &err) &&
             cuda_ok(cudaStreamCreateWithFlags(&use.stream, cudaStreamNonBlocking),
                     "cudaStreamCreate", &err) &&
             cuda_ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize", &err) &&
             product_open(&blas, &matmul, &use, &product, &err),
         &err);
    for (int round = 0; round < 5; round++) {
        cuda_give_up(cudaEventRecord(begin, use.stream));
        for (int i = 0; i < IN_A_ROW; i++)
            must(product_run(&blas, &product, room, use.stream, &err), &err);
        cuda_give_up(cudaEventRecord(end, use.stream));
        must(cuda_ok(cudaEventSynchronize(end), "cudaEventSynchronize", &err) &&
                 cuda_ok(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime", &err),
             &err);
        least = round == 0 || ms < least ? ms : least;
    }
    product_close(&product);
    products_free(blas.products);
    cublasLtDestroy(blas.handle);
    cuda_give_up(cudaEventDestroy(begin));
    cuda_give_up(cudaEventDestroy(end));
    cuda_give_up(cudaStreamDestroy(use.stream));
    void *const held[] = {a, b, out, room};
    for (int i = 0; i < 4; i++)
        cuda_give_up(cudaFree(held[i]));
    return (double)least * 1e3 / IN_A_ROW;
}

static void bench_product(const ProductRow *row)
{
    Arena *arena = arena_new();
    const char *type = dtype_name(row->dtype);
    RunReport report =
        timed(arena, arena_printf(arena, "y <- MatMul %s[%d,%d] %s[%d,%d]!", type, (int)row->m,
                                  (int)row->k, type, (int)row->k, (int)row->n));
    const char *name = arena_printf(arena, "product.%s", row->name);
    double own_us = cublaslt_us(row);
    figure(name, "run", report.median_us, "us");
    figure(name, "cublaslt", own_us, "us");
    figure(name, "share", report.median_us > 0 ? own_us / report.median_us * 100 : 0, "%");
    arena_free(arena);
}

/* ---- a transformer block ---- */

typedef struct {
    int batch, tokens, width, heads, inner;
} Block;

static const char *block_text(Arena *arena, const Block *b)
{
    int w = b->width;
    return arena_printf(
        arena,
        "x <- Identity bf16[%d,%d,%d]; n <- LayerNormalization x bf16[%d]! bf16[%d]!;"
        "q <- MatMul n bf16[%d,%d]!; k <- MatMul n bf16[%d,%d]!; v <- MatMul n bf16[%d,%d]!;"
        "a <- Attention q k v is_causal=1 q_num_heads=%d kv_num_heads=%d;"
        "o <- MatMul a bf16[%d,%d]!; r <- Add x o;"
        "m <- LayerNormalization r bf16[%d]! bf16[%d]!; u <- MatMul m bf16[%d,%d]!;"
        "g <- Gelu u approximate=\"tanh\"; d <- MatMul g bf16[%d,%d]!; y <- Add r d",
        b->batch, b->tokens, w, w, w, w, w, w, w, w, w, b->heads, b->heads, w, w, w, w, w, b->inner,
        b->inner, w);
}

static void bench_block(const Block *block)
{
    Arena *arena = arena_new();
    RunReport report = timed(arena, block_text(arena, block));
    figure("block", "pass", report.median_us, "us");
    figure("block", "begin", report.begin_us, "us");
    figure("block", "hidden",
           report.median_us > 0 ? (1 - report.begin_us / report.median_us) * 100 : 0, "%");
    figure("block", "copied_ops", report.n_copied_ops, "ops");
    arena_free(arena);
}

int main(int argc, char **argv)
{
    static const Block block = {8, 1024, 1024, 16, 4096}, dry_block = {1, 8, 32, 2, 64};
    bool dry = argc > 1 && strcmp(argv[1], "--dry") == 0; /* small, where there is no GPU */
    for (const ProductRow *row = dry ? dry_rows : gpu_rows; row->name; row++)
        bench_product(row);
    bench_block(dry ? &dry_block : &block);
    return 0;
}
