/* blas.h - matrix products by cuBLASLt.
 *
 * A product is prepared once: layouts and algorithm. The first few algorithms that cuBLASLt
 * proposes are timed on the device with the real buffers, and the fastest is kept for all products
 * of that form on that kind of device; deterministic runs use the first one instead. cuBLASLt is
 * column-major, so a row-major product is computed transposed, n by m.
 */
#ifndef CORE_RUN_CUDA_BLAS_H
#define CORE_RUN_CUDA_BLAS_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"
#include "core/run/cuda/device_work.h"

enum { BLAS_WORKSPACE_BYTES = 32 << 20 };

typedef struct Products Products; /* chosen algorithms, shared by all ranks of a process */

Products *products_new(void);
void products_free(Products *products); /* NULL is allowed */

/* A product to prepare. */
typedef struct {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, out; /* a and b as cuBLASLt sees them: swapped */
    cublasLtMatmulAlgo_t algo;
    bool f64;
    double alpha, beta;
    const void *at_a, *at_b; /* as cuBLASLt sees them */
    void *at_out;
} BlasProduct;

/* Addresses of a, b, out and bias (NULL: none), and the stream for timing. */
typedef struct {
    const void *a, *b, *bias;
    void *out, *workspace; /* BLAS_WORKSPACE_BYTES */
    int arch;
    bool by_time; /* time algorithms and keep the fastest */
    cudaStream_t stream;
} ProductUse;

typedef struct {
    cublasLtHandle_t handle;
    Products *products;
} Blas; /* of a rank */

bool product_open(const Blas *blas, const DeviceMatmul *matmul, const ProductUse *use,
                  BlasProduct *out, Error *err);
void product_close(BlasProduct *product);

bool product_run(const Blas *blas, const BlasProduct *product, void *workspace, cudaStream_t stream,
                 Error *err);

#endif
