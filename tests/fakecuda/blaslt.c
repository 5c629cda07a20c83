/* A fake cuBLASLt: products in plain C, summed in the compute type, for the type combinations that
 * the library supports; others get the status it would return. */
#include "tests/fakecuda/fake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Object object;
    int device;
} Handle;

typedef struct {
    int32_t type, order, batch_count;
    int64_t rows, cols, ld, batch_stride;
} Layout;

typedef struct {
    int32_t compute, scale, pointer_mode, bias_type, turned[2];
    uint32_t epilogue;
    const void *bias;
    int64_t bias_stride;
} Desc;

typedef struct {
    uint64_t workspace;
    uint32_t reduction, alignment[4];
} Preference;

/* A descriptor: its data follows the list's header. */
typedef struct {
    Object object;
    union {
        Layout layout;
        Desc desc;
        Preference preference;
    };
} Described;

enum { WORKSPACE_BYTES = 4096, BIAS_NONE = -1, ALIGNMENT = 16 };

/* Supported combinations: compute type, scale type, A and B, C and D. */
static const struct {
    int32_t compute, scale, in, out;
} combinations[] = {
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
};

static size_t type_bytes(int32_t type)
{
    return type == CUDA_R_64F                          ? 8
           : type == CUDA_R_16BF || type == CUDA_R_16F ? 2
           : type == CUDA_R_8I                         ? 1
                                                       : 4;
}

/* ---- handles and descriptors */

static cublasStatus_t leave(cublasStatus_t status)
{
    fake_unlock();
    return status;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    if (fake_enter() || !out)
        return leave(out ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_INVALID_VALUE);
    Handle *handle = object_new(OBJECT_BLAS, sizeof *handle, NULL);
    handle->device = fake_current_device();
    *out = (cublasLtHandle_t)(void *)handle;
    return leave(CUBLAS_STATUS_SUCCESS);
}

static cublasStatus_t destroy(void *handle, ObjectKind kind)
{
    fake_lock();
    if (!handle || !object_is(handle, kind))
        return leave(CUBLAS_STATUS_NOT_INITIALIZED);
    object_free(handle);
    return leave(CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return destroy(handle, OBJECT_BLAS);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    static const char *const words[] = {
        [CUBLAS_STATUS_SUCCESS] = "CUBLAS_STATUS_SUCCESS",
        [CUBLAS_STATUS_NOT_INITIALIZED] = "CUBLAS_STATUS_NOT_INITIALIZED",
        [CUBLAS_STATUS_ALLOC_FAILED] = "CUBLAS_STATUS_ALLOC_FAILED",
        [CUBLAS_STATUS_INVALID_VALUE] = "CUBLAS_STATUS_INVALID_VALUE",
        [CUBLAS_STATUS_ARCH_MISMATCH] = "CUBLAS_STATUS_ARCH_MISMATCH",
        [CUBLAS_STATUS_EXECUTION_FAILED] = "CUBLAS_STATUS_EXECUTION_FAILED",
        [CUBLAS_STATUS_INTERNAL_ERROR] = "CUBLAS_STATUS_INTERNAL_ERROR",
        [CUBLAS_STATUS_NOT_SUPPORTED] = "CUBLAS_STATUS_NOT_SUPPORTED",
    };
    return status < sizeof words / sizeof *words && words[status] ? words[status] : "cuBLAS status";
}

static Described *described(ObjectKind kind)
{
    fake_lock();
    Described *d = object_new(kind, sizeof *d, NULL);
    fake_unlock();
    return d;
}

static Described *described_of(const void *handle, ObjectKind kind)
{
    fake_lock();
    bool is = handle && object_is(handle, kind);
    fake_unlock();
    return is ? (Described *)(uintptr_t)handle : NULL;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType scale)
{
    Described *d = described(OBJECT_MATMUL_DESC);
    d->desc = (Desc){.compute = (int32_t)compute, .scale = (int32_t)scale};
    d->desc.bias_type = BIAS_NONE;
    d->desc.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    *out = (cublasLtMatmulDesc_t)(void *)d;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(desc, OBJECT_MATMUL_DESC);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    Described *d = described(OBJECT_LAYOUT);
    d->layout = (Layout){.type = (int32_t)type, .rows = (int64_t)rows, .cols = (int64_t)cols};
    d->layout.ld = ld;
    d->layout.batch_count = 1;
    *out = (cublasLtMatrixLayout_t)(void *)d;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout, OBJECT_LAYOUT);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    Described *d = described(OBJECT_PREFERENCE);
    d->preference = (Preference){0, UINT32_MAX, {256, 256, 256, 256}};
    *out = (cublasLtMatmulPreference_t)(void *)d;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(preference, OBJECT_PREFERENCE);
}

/* ---- attributes: offsets of fields ---- */

typedef struct {
    int attr;
    size_t offset, n_bytes;
} Field;

#define FIELD(attr, Struct, field)                                                                 \
    {                                                                                              \
        attr, offsetof(Described, Struct.field), sizeof((Described *)0)->Struct.field              \
    }

static const Field desc_fields[] = {
    FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, desc, compute),
    FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, desc, scale),
    FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, desc, pointer_mode),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSA, desc, turned[0]),
    FIELD(CUBLASLT_MATMUL_DESC_TRANSB, desc, turned[1]),
    FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, desc, epilogue),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, desc, bias),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, desc, bias_stride),
    FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, desc, bias_type),
    {-1, 0, 0},
};

static const Field layout_fields[] = {
    FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, layout, type),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, layout, order),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, layout, rows),
    FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, layout, cols),
    FIELD(CUBLASLT_MATRIX_LAYOUT_LD, layout, ld),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout, batch_count),
    FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout, batch_stride),
    {-1, 0, 0},
};

static const Field preference_fields[] = {
    FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference, workspace),
    FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, preference, reduction),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference, alignment[0]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference, alignment[1]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference, alignment[2]),
    FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference, alignment[3]),
    {-1, 0, 0},
};

static cublasStatus_t set(Described *d, const Field *field, int attr, const void *value,
                          size_t n_bytes)
{
    while (field->attr >= 0 && field->attr != attr)
        field++;
    if (!d || !value || field->attr < 0 || field->n_bytes != n_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)d + field->offset, value, n_bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attr,
                                              const void *value, size_t n_bytes)
{
    return set(described_of(desc, OBJECT_MATMUL_DESC), desc_fields, (int)attr, value, n_bytes);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void *value, size_t n_bytes)
{
    return set(described_of(layout, OBJECT_LAYOUT), layout_fields, (int)attr, value, n_bytes);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void *value, size_t n_bytes)
{
    return set(described_of(preference, OBJECT_PREFERENCE), preference_fields, (int)attr, value,
               n_bytes);
}

/* ---- checks ---- */

typedef struct {
    Desc desc;
    Layout a, b, c, d;
    double alpha, beta;
    const char *A, *B, *C;
    char *D, *workspace;
    size_t n_workspace_bytes, n_used_bytes;
    bool fails;
} Product;

static int64_t inner(const Product *p)
{
    return p->desc.turned[0] ? p->a.rows : p->a.cols;
}

static bool sizes_fit(const Product *p)
{
    const Layout *all[] = {&p->a, &p->b, &p->c, &p->d};
    for (int i = 0; i < 4; i++) {
        const Layout *l = all[i];
        int64_t along = l->order == CUBLASLT_ORDER_ROW ? l->cols : l->rows;
        bool spaced = l->batch_count == 1 || i < 2 || l->batch_stride > 0;
        if (l->rows < 1 || l->cols < 1 || l->ld < along || l->batch_count < 1 || !spaced ||
            l->order > CUBLASLT_ORDER_ROW || l->batch_count != p->d.batch_count)
            return false;
    }
    int64_t m = p->desc.turned[0] ? p->a.cols : p->a.rows;
    int64_t n = p->desc.turned[1] ? p->b.rows : p->b.cols;
    int64_t k = p->desc.turned[1] ? p->b.cols : p->b.rows;
    return m == p->d.rows && n == p->d.cols && k == inner(p) && p->c.rows == p->d.rows &&
           p->c.cols == p->d.cols && p->c.order == p->d.order;
}

static bool types_fit(const Product *p)
{
    if (p->a.type != p->b.type || p->c.type != p->d.type || p->desc.pointer_mode)
        return false;
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        if (combinations[i].compute == p->desc.compute && combinations[i].scale == p->desc.scale &&
            combinations[i].in == p->a.type && combinations[i].out == p->d.type)
            return true;
    }
    return false;
}

static int32_t bias_type(const Product *p)
{
    return p->desc.bias_type == BIAS_NONE ? p->d.type : p->desc.bias_type;
}

static bool epilogue_fits(const Product *p)
{
    uint32_t e = p->desc.epilogue;
    bool known = e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
                 e == CUBLASLT_EPILOGUE_GELU || e == CUBLASLT_EPILOGUE_BIAS ||
                 e == CUBLASLT_EPILOGUE_RELU_BIAS || e == CUBLASLT_EPILOGUE_GELU_BIAS;
    if (!known || (p->d.order == CUBLASLT_ORDER_ROW && (e & CUBLASLT_EPILOGUE_BIAS)))
        return false;
    int32_t type = bias_type(p);
    return !(e & CUBLASLT_EPILOGUE_BIAS) || type == p->d.type ||
           (type == p->a.type && p->d.type == CUDA_R_32F);
}

static cublasStatus_t product_of(Product *p, const void *desc, const void *const layout[4])
{
    const Described *d = described_of(desc, OBJECT_MATMUL_DESC);
    Layout *out[] = {&p->a, &p->b, &p->c, &p->d};
    if (!d)
        return CUBLAS_STATUS_INVALID_VALUE;
    p->desc = d->desc;
    for (int i = 0; i < 4; i++) {
        const Described *l = described_of(layout[i], OBJECT_LAYOUT);
        if (!l)
            return CUBLAS_STATUS_INVALID_VALUE;
        *out[i] = l->layout;
    }
    if (!sizes_fit(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    return types_fit(p) && epilogue_fits(p) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* An algorithm stores the required alignments and workspace. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int n_wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *n_found)
{
    const Described *p = described_of(preference, OBJECT_PREFERENCE);
    if (!described_of(handle, OBJECT_BLAS))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!p || n_wanted < 1 || !results || !n_found)
        return CUBLAS_STATUS_INVALID_VALUE;
    *n_found = 0;
    Product product = {0};
    cublasStatus_t status = product_of(&product, desc, (const void *const[]){a, b, c, d});
    if (status)
        return status;
    size_t workspace = p->preference.workspace < WORKSPACE_BYTES ? 0 : WORKSPACE_BYTES;
    results[0] = (cublasLtMatmulHeuristicResult_t){.workspaceSize = workspace, .wavesCount = 1};
    results[0].algo.data[7] = 0xfa4e;
    results[0].algo.data[0] = workspace;
    for (int i = 0; i < 4; i++) {
        uint32_t aligned = p->preference.alignment[i];
        results[0].algo.data[1 + i] = aligned < ALIGNMENT ? aligned : ALIGNMENT;
    }
    *n_found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t operands_fit(const Product *p, const cublasLtMatmulAlgo_t *algo)
{
    const char *operand[] = {p->A, p->B, p->C, p->D};
    const Layout *layout[] = {&p->a, &p->b, &p->c, &p->d};
    if (algo && algo->data[7] != 0xfa4e)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (algo && (algo->data[0] > p->n_workspace_bytes || (algo->data[0] && !p->workspace)))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < 4; i++) {
        uintptr_t at = (uintptr_t)operand[i];
        if (i == 2 && p->beta == 0)
            continue;
        if (!at || at % type_bytes(layout[i]->type))
            return CUBLAS_STATUS_INVALID_VALUE;
        if (algo && at % algo->data[1 + i])
            return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    bool bias = p->desc.epilogue & CUBLASLT_EPILOGUE_BIAS;
    bool workspace_off = p->workspace && (uintptr_t)p->workspace % 16;
    return (bias && !p->desc.bias) || workspace_off ? CUBLAS_STATUS_INVALID_VALUE
                                                    : CUBLAS_STATUS_SUCCESS;
}

/* ---- numbers */

static double load(const char *at, int32_t type, int64_t index)
{
    switch (type) {
    case CUDA_R_64F:
        return ((const double *)(const void *)at)[index];
    case CUDA_R_16BF:
        return (double)bf16_value(((const uint16_t *)(const void *)at)[index]);
    case CUDA_R_16F:
        return (double)half_value(((const uint16_t *)(const void *)at)[index]);
    default:
        return (double)((const float *)(const void *)at)[index];
    }
}

static void store(char *at, int32_t type, int64_t index, double value)
{
    switch (type) {
    case CUDA_R_64F:
        ((double *)(void *)at)[index] = value;
        return;
    case CUDA_R_16BF:
        ((uint16_t *)(void *)at)[index] = bf16_of((float)value);
        return;
    case CUDA_R_16F:
        ((uint16_t *)(void *)at)[index] = half_of((float)value);
        return;
    default:
        ((float *)(void *)at)[index] = (float)value;
    }
}

static int64_t place(const Layout *l, int64_t batch, int64_t row, int64_t col)
{
    int64_t at = l->order == CUBLASLT_ORDER_ROW ? row * l->ld + col : row + col * l->ld;
    return batch * l->batch_stride + at;
}

/* ---- the product */

static size_t span_bytes(const Layout *l)
{
    int64_t last = place(l, l->batch_count - 1, l->rows - 1, l->cols - 1);
    return (size_t)(last + 1) * type_bytes(l->type);
}

static bool reach_all(const Product *p, int device)
{
    int64_t n_bias = p->d.rows + (p->d.batch_count - 1) * p->desc.bias_stride;
    bool bias = p->desc.epilogue & CUBLASLT_EPILOGUE_BIAS;
    return memory_reach(device, p->A, span_bytes(&p->a), "a product's A") &&
           memory_reach(device, p->B, span_bytes(&p->b), "a product's B") &&
           (p->beta == 0 || memory_reach(device, p->C, span_bytes(&p->c), "a product's C")) &&
           memory_reach(device, p->D, span_bytes(&p->d), "a product's D") &&
           (!bias || memory_reach(device, p->desc.bias, (size_t)n_bias * type_bytes(bias_type(p)),
                                  "a product's bias")) &&
           memory_reach(device, p->workspace, p->n_workspace_bytes, "a product's workspace");
}

static double finish(const Product *p, double sum, double was, int64_t batch, int64_t row)
{
    double x = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * was);
    if (p->desc.epilogue & CUBLASLT_EPILOGUE_BIAS)
        x += load(p->desc.bias, bias_type(p), row + batch * p->desc.bias_stride);
    if (p->desc.epilogue & CUBLASLT_EPILOGUE_RELU)
        x = x < 0 ? 0 : x;
    if (p->desc.epilogue & CUBLASLT_EPILOGUE_GELU)
        x = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

/* op(A) as rows of k, or op(B) as columns of k, widened to double. */
static double *gather(const Product *p, int which, int64_t batch)
{
    const Layout *l = which ? &p->b : &p->a;
    const char *from = which ? p->B : p->A;
    int64_t k = inner(p), n = which ? p->d.cols : p->d.rows;
    bool along_rows = which ? p->desc.turned[1] == 0 : p->desc.turned[0] != 0;
    double *out = malloc((size_t)(n * k) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < k; j++)
            out[i * k + j] =
                load(from, l->type, along_rows ? place(l, batch, j, i) : place(l, batch, i, j));
    }
    return out;
}

static double dot(const double *a, const double *b, int64_t k, bool wide)
{
    if (wide) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += a[i] * b[i];
        return sum;
    }
    float sum[8] = {0}; /* several partial sums, then their total, as on a device */
    for (int64_t i = 0; i < k; i++)
        sum[i % 8] += (float)a[i] * (float)b[i];
    return (double)(((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                    ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

static void multiply(const Product *p, int64_t batch)
{
    int64_t k = inner(p);
    double *a = gather(p, 0, batch), *b = gather(p, 1, batch);
    bool wide = p->desc.compute == CUBLAS_COMPUTE_64F;
    for (int64_t col = 0; col < p->d.cols; col++) {
        for (int64_t row = 0; row < p->d.rows; row++) {
            double was = p->beta == 0 ? 0 : load(p->C, p->c.type, place(&p->c, batch, row, col));
            double sum = dot(a + row * k, b + col * k, k, wide);
            store(p->D, p->d.type, place(&p->d, batch, row, col), finish(p, sum, was, batch, row));
        }
    }
    free(a);
    free(b);
}

static void run_product(Op *op)
{
    const Product *p = op->data;
    if (!reach_all(p, op->device))
        return;
    if (p->n_used_bytes) /* the workspace belongs to the product while it runs */
        memset(p->workspace, 0xff, p->n_used_bytes);
    for (int64_t batch = 0; batch < p->d.batch_count; batch++)
        multiply(p, batch);
}

static double scalar(const void *at, int32_t type)
{
    return load(at, type, 0);
}

static cublasStatus_t put_product(Product *p, const Handle *handle,
                                  const cublasLtMatmulAlgo_t *algo, cudaStream_t stream_handle)
{
    cublasStatus_t status = operands_fit(p, algo);
    Stream *stream = stream_of(stream_handle);
    if (status || !stream)
        return status ? status : CUBLAS_STATUS_INVALID_VALUE;
    if (stream->device != fake_current_device() || handle->device != stream->device ||
        ++fake.count.matmuls == fake.fault.matmul)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    stream_put(stream, run_product, NULL, p, sizeof *p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t n_workspace_bytes, cudaStream_t stream)
{
    const Described *h = described_of(handle, OBJECT_BLAS);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    Product p = {.A = A, .B = B, .C = C, .D = D, .workspace = workspace};
    p.n_workspace_bytes = n_workspace_bytes;
    p.n_used_bytes = algo ? algo->data[0] : 0;
    cublasStatus_t status = product_of(&p, desc, (const void *const[]){a, b, c, d});
    if (!status && (!alpha || !beta))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status)
        return status;
    p.alpha = scalar(alpha, p.desc.scale);
    p.beta = scalar(beta, p.desc.scale);
    if (fake_enter())
        return leave(CUBLAS_STATUS_EXECUTION_FAILED);
    return leave(put_product(&p, (const Handle *)(const void *)h, algo, stream));
}
