#include "core/run/cuda/blas.h"

#include "core/base/vec.h"
#include "core/run/cuda/device.h"

#include <pthread.h>

enum { TRIED_MAX = 6, TIMED_RUNS = 3, NO_INPLACE_SUMS = 6 };

/* Key of the algorithm cache: everything the choice depends on. Compared as bytes, without padding.
 */
typedef struct {
    int64_t m, n, k, a_row, b_row, out_row, n_batch, a_batch, b_batch, out_batch, arch;
    uint32_t a_align, b_align, out_align;
    int32_t dtype, epilogue, a_turned, b_turned, has_bias, by_time, adds;
} BlasForm;

typedef struct {
    BlasForm form;
    cublasLtMatmulAlgo_t algo;
} AlgorithmChoice;

struct Products {
    Arena *arena;
    pthread_mutex_t lock; /* also held while algorithms are timed, so that others do not disturb the
                           * times */
    Vec(AlgorithmChoice) choices;
};

Products *products_new(void)
{
    Arena *arena = arena_new();
    Products *products = arena_make(arena, Products);
    products->arena = arena;
    pthread_mutex_init(&products->lock, NULL);
    return products;
}

void products_free(Products *products)
{
    if (!products)
        return;
    pthread_mutex_destroy(&products->lock);
    arena_free(products->arena);
}

/* ---- descriptors ---- */

typedef struct {
    Dtype dtype;
    cudaDataType element, scale;
    cublasComputeType_t compute;
} BlasType;

static const BlasType *blas_type(Dtype dtype)
{
    static const BlasType types[] = {
        {DT_F32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
        {DT_F64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
        {DT_BF16, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
        {DT_F16, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return &types[i];
    return NULL;
}

static uint32_t epilogue_of(const DeviceMatmul *matmul)
{
    static const uint32_t names[][2] = {/* ORDER EPILOGUE; without and with a bias */
                                        {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS},
                                        {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
                                        {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}};
    return names[matmul->epilogue][matmul->has_bias];
}

static bool set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr, const void *value,
                size_t n_bytes, Error *err)
{
    return BLAS_CALL(err, cublasLtMatmulDescSetAttribute, desc, attr, value, n_bytes);
}

static bool make_desc(const DeviceMatmul *matmul, const ProductUse *use, BlasProduct *out,
                      Error *err)
{
    const BlasType *type = blas_type(matmul->dtype);
    if (!type)
        return error_kind(err, ERROR_RUN, "cuBLASLt has no products of type %s",
                          dtype_name(matmul->dtype));
    int32_t turn_a = matmul->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t turn_b = matmul->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint32_t epilogue = epilogue_of(matmul);
    return BLAS_CALL(err, cublasLtMatmulDescCreate, &out->desc, type->compute, type->scale) &&
           set(out->desc, CUBLASLT_MATMUL_DESC_TRANSA, &turn_a, sizeof turn_a, err) &&
           set(out->desc, CUBLASLT_MATMUL_DESC_TRANSB, &turn_b, sizeof turn_b, err) &&
           set(out->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, err) &&
           (!matmul->has_bias ||
            set(out->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &use->bias, sizeof use->bias, err));
}

/* A row-major matrix with rows of `n_row` elements, as a column-major one. */
static bool make_layout(const DeviceMatmul *matmul, int64_t n_row, int64_t n_rows, int64_t row,
                        int64_t batch, cublasLtMatrixLayout_t *out, Error *err)
{
    const BlasType *type = blas_type(matmul->dtype);
    int32_t n_batch = (int32_t)matmul->n_batch;
    if (row < n_row) /* for a single row, where the stride is irrelevant */
        row = n_row;
    return type &&
           BLAS_CALL(err, cublasLtMatrixLayoutCreate, out, type->element, (uint64_t)n_row,
                     (uint64_t)n_rows, row) &&
           (n_batch <= 1 ||
            (BLAS_CALL(err, cublasLtMatrixLayoutSetAttribute, *out,
                       CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n_batch, sizeof n_batch) &&
             BLAS_CALL(err, cublasLtMatrixLayoutSetAttribute, *out,
                       CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch, sizeof batch)));
}

static bool make_layouts(const DeviceMatmul *p, BlasProduct *out, Error *err)
{
    return make_layout(p, p->b_turned ? p->k : p->n, p->b_turned ? p->n : p->k, p->b_row,
                       p->b_batch, &out->a, err) &&
           make_layout(p, p->a_turned ? p->m : p->k, p->a_turned ? p->k : p->m, p->a_row,
                       p->a_batch, &out->b, err) &&
           make_layout(p, p->n, p->m, p->out_row, p->out_batch, &out->out, err);
}

/* ---- the algorithm ---- */

static uint32_t alignment(const void *address)
{
    uintptr_t low = (uintptr_t)address & -(uintptr_t)address;
    return low == 0 || low > 256 ? 256 : (uint32_t)low;
}

static BlasForm form_of(const DeviceMatmul *p, const ProductUse *use)
{
    BlasForm form;
    memset(&form, 0, sizeof form);
    form.m = p->m, form.n = p->n, form.k = p->k;
    form.a_row = p->a_row, form.b_row = p->b_row, form.out_row = p->out_row;
    form.n_batch = p->n_batch;
    form.a_batch = p->a_batch, form.b_batch = p->b_batch, form.out_batch = p->out_batch;
    form.a_align = alignment(use->b);
    form.b_align = alignment(use->a);
    form.out_align = alignment(use->out);
    form.dtype = (int32_t)p->dtype;
    form.epilogue = (int32_t)p->epilogue;
    form.arch = use->arch;
    form.a_turned = p->a_turned, form.b_turned = p->b_turned;
    form.has_bias = p->has_bias;
    form.by_time = use->by_time;
    form.adds = p->beta != 0;
    return form;
}

static bool prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attr,
                   const void *value, size_t n_bytes, Error *err)
{
    return BLAS_CALL(err, cublasLtMatmulPreferenceSetAttribute, preference, attr, value, n_bytes);
}

static bool set_preference(cublasLtMatmulPreference_t preference, const BlasForm *form, Error *err)
{
    uint64_t room = BLAS_WORKSPACE_BYTES;
    uint32_t sums = NO_INPLACE_SUMS, align[] = {form->a_align, form->b_align, form->out_align};
    return prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room, err) &&
           (form->by_time || prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums,
                                    sizeof sums, err)) &&
           prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align[0], sizeof *align,
                  err) &&
           prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align[1], sizeof *align,
                  err) &&
           prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align[2], sizeof *align,
                  err) &&
           prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align[2], sizeof *align,
                  err);
}

typedef struct {
    int n;
    cublasLtMatmulHeuristicResult_t at[TRIED_MAX];
} Candidates;

static bool find_candidates(const Blas *blas, const BlasProduct *p, const BlasForm *form,
                            Candidates *out, Error *err)
{
    cublasLtMatmulPreference_t preference = NULL;
    if (!BLAS_CALL(err, cublasLtMatmulPreferenceCreate, &preference))
        return false;
    out->n = 0;
    bool ok = set_preference(preference, form, err) &&
              BLAS_CALL(err, cublasLtMatmulAlgoGetHeuristic, blas->handle, p->desc, p->a, p->b,
                        p->out, p->out, preference, TRIED_MAX, out->at, &out->n);
    cublasLtMatmulPreferenceDestroy(preference);
    if (ok && out->n == 0)
        return error_kind(err, ERROR_RUN,
                          "cuBLASLt has no algorithm for a product of %lld by %lld by %lld",
                          (long long)form->m, (long long)form->n, (long long)form->k);
    return ok;
}

/* Milliseconds of TIMED_RUNS runs; negative when it fails. */
static float time_algo(const Blas *blas, BlasProduct *product, const ProductUse *use,
                       cudaEvent_t events[2])
{
    float ms = -1;
    bool ok = product_run(blas, product, use->workspace, use->stream, NULL) &&
              cudaEventRecord(events[0], use->stream) == cudaSuccess;
    for (int i = 0; ok && i < TIMED_RUNS; i++)
        ok = product_run(blas, product, use->workspace, use->stream, NULL);
    ok = ok && cudaEventRecord(events[1], use->stream) == cudaSuccess &&
         cudaEventSynchronize(events[1]) == cudaSuccess &&
         cudaEventElapsedTime(&ms, events[0], events[1]) == cudaSuccess;
    return ok ? ms : -1;
}

static bool pick_fastest(const Blas *blas, BlasProduct *product, const ProductUse *use,
                         const Candidates *candidates, Error *err)
{
    cudaEvent_t events[2] = {NULL, NULL};
    bool ok = CUDA_CALL(err, cudaEventCreateWithFlags, &events[0], 0) &&
              CUDA_CALL(err, cudaEventCreateWithFlags, &events[1], 0);
    int best = 0;
    float best_ms = -1;
    for (int i = 0; ok && i < candidates->n; i++) {
        product->algo = candidates->at[i].algo;
        float ms = time_algo(blas, product, use, events);
        if (ms >= 0 && (best_ms < 0 || ms < best_ms)) {
            best = i;
            best_ms = ms;
        }
    }
    product->algo = candidates->at[best].algo;
    for (int i = 0; i < 2; i++)
        if (events[i])
            cuda_give_up(cudaEventDestroy(events[i]));
    return ok;
}

static bool choose(const Blas *blas, BlasProduct *product, const ProductUse *use,
                   const BlasForm *form, Error *err)
{
    Products *products = blas->products;
    for (int i = 0; i < products->choices.n; i++)
        if (memcmp(&products->choices.at[i].form, form, sizeof *form) == 0) {
            product->algo = products->choices.at[i].algo;
            return true;
        }
    Candidates candidates;
    if (!find_candidates(blas, product, form, &candidates, err))
        return false;
    product->algo = candidates.at[0].algo;
    if (use->by_time && candidates.n > 1 && !pick_fastest(blas, product, use, &candidates, err))
        return false;
    vec_push(products->arena, &products->choices, (AlgorithmChoice){*form, product->algo});
    return true;
}

/* ---- products ---- */

bool product_open(const Blas *blas, const DeviceMatmul *matmul, const ProductUse *use,
                  BlasProduct *out, Error *err)
{
    *out = (BlasProduct){.alpha = matmul->alpha,
                         .beta = matmul->beta,
                         .at_a = use->b,
                         .at_b = use->a,
                         .at_out = use->out,
                         .f64 = matmul->dtype == DT_F64};
    bool ok = make_desc(matmul, use, out, err) && make_layouts(matmul, out, err);
    if (ok) {
        BlasForm form = form_of(matmul, use);
        pthread_mutex_lock(&blas->products->lock);
        ok = choose(blas, out, use, &form, err);
        pthread_mutex_unlock(&blas->products->lock);
    }
    if (!ok)
        product_close(out);
    return ok;
}

void product_close(BlasProduct *product)
{
    if (product->desc)
        cublasLtMatmulDescDestroy(product->desc);
    cublasLtMatrixLayout_t layouts[] = {product->a, product->b, product->out};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            cublasLtMatrixLayoutDestroy(layouts[i]);
    *product = (BlasProduct){0};
}

bool product_run(const Blas *blas, const BlasProduct *p, void *workspace, cudaStream_t stream,
                 Error *err)
{
    float alpha = (float)p->alpha, beta = (float)p->beta;
    const void *scale = p->f64 ? (const void *)&p->alpha : &alpha;
    const void *keep = p->f64 ? (const void *)&p->beta : &beta;
    return BLAS_CALL(err, cublasLtMatmul, blas->handle, p->desc, scale, p->at_a, p->a, p->at_b,
                     p->b, keep, p->at_out, p->out, p->at_out, p->out, &p->algo, workspace,
                     BLAS_WORKSPACE_BYTES, stream);
}
