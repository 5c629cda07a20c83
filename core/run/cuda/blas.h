/* blas.h - matrix products by cuBLASLt.
 *
 * A product is made ready once: its layouts, and the algorithm. Of those that cuBLASLt names for it
 * the first few are timed once on the device, with the buffers it will use, and the fastest is kept
 * for all products of that form on that kind of device; runs that are to be bitwise equal take the
 * first instead, which does not depend on times. Row-major operands are cuBLASLt's column-major
 * ones turned: it is asked for n by m.
 */
#ifndef CORE_RUN_CUDA_BLAS_H
#define CORE_RUN_CUDA_BLAS_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"
#include "core/run/cuda/device_work.h"

enum { BLAS_WORKSPACE_BYTES = 32 << 20 };

typedef struct Products Products; /* what is known of forms: one for all ranks of a process */

Products *products_new(void);
void products_free(Products *products); /* NULL is allowed */

/* A product as it is asked for. */
typedef struct {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, out; /* a and b as cuBLASLt has them: ours are swapped */
    cublasLtMatmulAlgo_t algo;
    bool f64;
    double alpha, beta;
    const void *at_a, *at_b; /* as cuBLASLt has them */
    void *at_out;
} BlasProduct;

/* The addresses of a, b, out, bias (NULL: none) of a product, and where it may be tried out. */
typedef struct {
    const void *a, *b, *bias;
    void *out, *workspace; /* BLAS_WORKSPACE_BYTES */
    int arch;
    bool by_time; /* pick the fastest */
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
