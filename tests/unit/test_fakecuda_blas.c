/* Products of the GPUs that are none against sums written down plainly, and what is refused. */
#include "core/run/cuda/cuda_api.h"
#include "tests/fakecuda/fakecuda.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ok(call) assert_int_equal((call), 0)

enum { M = 5, K = 19, N_COLS = 3, BATCH = 2, ROOM = 512 };

/* A product of small whole numbers: exact in every type. */
typedef struct {
    cudaDataType type;
    bool turn_a, turn_b, by_rows;
    uint32_t epilogue;
    double alpha, beta;
} Case;

typedef struct {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    char *A, *B, *D, *bias, *workspace;
} Product;

static size_t bytes_of(cudaDataType type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

/* Of numbers below 256: they fit both kinds of 16 bits. */
static uint64_t bits_of(cudaDataType type, double x)
{
    float f = (float)x;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &f, 4);
    memcpy(&wide, &x, 8);
    int exponent = (int)(bits >> 23 & 255) - 127;
    uint32_t half =
        x == 0 ? 0 : (bits >> 16 & 0x8000) | (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 1023);
    return type == CUDA_R_64F    ? wide
           : type == CUDA_R_32F  ? bits
           : type == CUDA_R_16BF ? bits >> 16
                                 : half;
}

static double number(int which, int64_t i)
{
    return (double)((i * 7 + which * 3) % 5 - 2);
}

static char *upload(cudaDataType type, int which)
{
    static char host[ROOM * 8];
    void *memory;
    for (int64_t i = 0; i < ROOM; i++) {
        uint64_t bits = bits_of(type, number(which, i));
        memcpy(host + (size_t)i * bytes_of(type), &bits, bytes_of(type));
    }
    ok(cudaMalloc(&memory, ROOM * bytes_of(type)));
    ok(cudaMemcpy(memory, host, ROOM * bytes_of(type), cudaMemcpyHostToDevice));
    return memory;
}

static void set_i32(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr, int32_t value)
{
    ok(cublasLtMatmulDescSetAttribute(desc, attr, &value, sizeof value));
}

static cublasLtMatrixLayout_t layout(cudaDataType type, bool by_rows, int rows, int cols, int ld)
{
    cublasLtMatrixLayout_t made;
    int32_t order = by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL, count = BATCH;
    int64_t stride = ROOM / 4;
    ok(cublasLtMatrixLayoutCreate(&made, type, (uint64_t)rows, (uint64_t)cols, ld));
    ok(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    ok(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                        sizeof count));
    ok(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                        sizeof stride));
    return made;
}

enum { LD = 20 };

static Product product_open(const Case *c)
{
    Product p = {0};
    cublasComputeType_t compute = c->type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    assert_true(fakecuda_start(1, 1 << 20, 1, NULL));
    ok(cublasLtCreate(&p.handle));
    ok(cublasLtMatmulDescCreate(&p.desc, compute, c->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F));
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, c->turn_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_TRANSB, c->turn_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, (int32_t)c->epilogue);
    p.A = upload(c->type, 0);
    p.B = upload(c->type, 1);
    p.D = upload(c->type, 2);
    p.bias = upload(c->type, 3);
    p.workspace = upload(CUDA_R_64F, 4);
    const void *bias = p.bias;
    ok(cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                      sizeof bias));
    p.a = layout(c->type, c->by_rows, c->turn_a ? K : M, c->turn_a ? M : K, LD);
    p.b = layout(c->type, c->by_rows, c->turn_b ? N_COLS : K, c->turn_b ? K : N_COLS, LD);
    p.d = layout(c->type, c->by_rows, M, N_COLS, LD);
    ok(cublasLtMatmulPreferenceCreate(&p.preference));
    uint64_t room = ROOM * 8;
    ok(cublasLtMatmulPreferenceSetAttribute(p.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &room, sizeof room));
    return p;
}

static cublasStatus_t find(Product *p)
{
    int n;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(p->handle, p->desc, p->a, p->b, p->d,
                                                           p->d, p->preference, 1, &p->found, &n);
    assert_true(status || n == 1);
    return status;
}

static cublasStatus_t multiply(const Product *p, const Case *c, size_t room)
{
    float alpha = (float)c->alpha, beta = (float)c->beta;
    bool wide = c->type == CUDA_R_64F;
    return cublasLtMatmul(p->handle, p->desc, wide ? (const void *)&c->alpha : &alpha, p->A, p->a,
                          p->B, p->b, wide ? (const void *)&c->beta : &beta, p->D, p->d, p->D, p->d,
                          &p->found.algo, p->workspace, room, NULL);
}

static void product_close(Product *p)
{
    char *memory[] = {p->A, p->B, p->D, p->bias, p->workspace};
    for (int i = 0; i < 5; i++)
        ok(cudaFree(memory[i]));
    ok(cublasLtMatmulPreferenceDestroy(p->preference));
    ok(cublasLtMatrixLayoutDestroy(p->a));
    ok(cublasLtMatrixLayoutDestroy(p->b));
    ok(cublasLtMatrixLayoutDestroy(p->d));
    ok(cublasLtMatmulDescDestroy(p->desc));
    ok(cublasLtDestroy(p->handle));
    assert_int_equal(fakecuda_leaks(NULL), 0);
}

static int64_t place(const Case *c, int batch, int row, int col)
{
    return batch * (ROOM / 4) + (c->by_rows ? row * LD + col : row + col * LD);
}

static double wanted(const Case *c, int batch, int row, int col)
{
    double x = c->beta * number(2, place(c, batch, row, col));
    for (int k = 0; k < K; k++)
        x += c->alpha * number(0, c->turn_a ? place(c, batch, k, row) : place(c, batch, row, k)) *
             number(1, c->turn_b ? place(c, batch, col, k) : place(c, batch, k, col));
    x += c->epilogue & CUBLASLT_EPILOGUE_BIAS ? number(3, row) : 0;
    if (c->epilogue & CUBLASLT_EPILOGUE_RELU)
        return x < 0 ? 0 : x;
    if (c->epilogue & CUBLASLT_EPILOGUE_GELU)
        return x / (1 + exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static double value_of(cudaDataType type, uint64_t bits)
{
    double wide;
    float x;
    uint32_t narrow = type == CUDA_R_16BF ? (uint32_t)bits << 16 : (uint32_t)bits;
    memcpy(&wide, &bits, 8);
    memcpy(&x, &narrow, 4);
    if (type != CUDA_R_16F)
        return type == CUDA_R_64F ? wide : (double)x;
    int exponent = (int)(bits >> 10 & 31), digits = (int)(bits & 1023);
    double size = exponent ? ldexp(1024 + digits, exponent - 25) : ldexp(digits, -24);
    return bits & 0x8000 ? -size : size;
}

static double got(const Product *p, const Case *c, int64_t at)
{
    uint64_t bits = 0;
    size_t n = bytes_of(c->type);
    ok(cudaMemcpy(&bits, p->D + (size_t)at * n, n, cudaMemcpyDeviceToHost));
    return value_of(c->type, bits);
}

static void check(const Case *c)
{
    Product p = product_open(c);
    ok(find(&p));
    assert_int_equal(p.found.workspaceSize, 4096);
    ok(multiply(&p, c, 4096));
    ok(cudaDeviceSynchronize());
    bool rounds = c->epilogue & CUBLASLT_EPILOGUE_GELU;
    double scale = !rounds                  ? 0
                   : c->type == CUDA_R_16BF ? 4e-3
                   : c->type == CUDA_R_16F  ? 5e-4
                                            : 1e-6;
    for (int batch = 0; batch < BATCH; batch++) {
        for (int i = 0; i < M * N_COLS; i++) {
            double want = wanted(c, batch, i % M, i / M);
            double have = got(&p, c, place(c, batch, i % M, i / M));
            if (!(fabs(have - want) <= scale * (fabs(want) + 0.01)))
                fail_msg("row %d col %d of %d: %g, not %g", i % M, i / M, batch, have, want);
        }
    }
    product_close(&p);
}

static void test_products(void **state)
{
    (void)state;
    const cudaDataType type[] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16BF, CUDA_R_16F};
    const uint32_t epilogue[] = {CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,
                                 CUBLASLT_EPILOGUE_BIAS,      CUBLASLT_EPILOGUE_RELU_BIAS,
                                 CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU};
    for (int i = 0; i < 4 * 8 * 6; i++) {
        Case c = {.type = type[i % 4], .turn_a = i & 4, .turn_b = i & 8, .by_rows = i & 16};
        c.epilogue = epilogue[i / 32];
        c.alpha = i & 1 ? 1 : 2;
        c.beta = i & 2 ? 0 : -1;
        if (!c.by_rows || !(c.epilogue & CUBLASLT_EPILOGUE_BIAS))
            check(&c);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    Case c = {.type = CUDA_R_16BF, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .alpha = 1};
    Product p = product_open(&c);
    ok(find(&p));
    assert_int_equal(multiply(&p, &c, 4095), CUBLAS_STATUS_INVALID_VALUE); /* too little room */
    p.A += 2;
    assert_int_equal(multiply(&p, &c, 4096), CUBLAS_STATUS_NOT_SUPPORTED); /* less aligned */
    p.A -= 1;
    assert_int_equal(multiply(&p, &c, 4096), CUBLAS_STATUS_INVALID_VALUE);
    p.A -= 1;
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    assert_int_equal(find(&p), CUBLAS_STATUS_INVALID_VALUE); /* sizes do not meet */
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_64F);
    assert_int_equal(find(&p), CUBLAS_STATUS_NOT_SUPPORTED); /* no such combination */
    set_i32(p.desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F);
    int64_t ld = M - 1;
    ok(cublasLtMatrixLayoutSetAttribute(p.a, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld));
    assert_int_equal(find(&p), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        cublasLtMatrixLayoutSetAttribute(p.a, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof(int)),
        CUBLAS_STATUS_INVALID_VALUE);
    product_close(&p);
}

/* An operand that ends too early is found when the product is done. */
static void test_short_operand(void **state)
{
    (void)state;
    Case c = {.type = CUDA_R_32F, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .alpha = 1};
    Product p = product_open(&c);
    int64_t stride = ROOM;
    ok(cublasLtMatrixLayoutSetAttribute(p.b, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                        sizeof stride));
    ok(find(&p));
    ok(multiply(&p, &c, 4096));
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    assert_non_null(strstr(fakecuda_message(), "a product's B"));
    fakecuda_start(1, 1, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_short_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
