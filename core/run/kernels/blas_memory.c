#include "core/run/kernels/blas_memory.h"

#include <cblas.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

/* OpenBLAS needs 32 to 128 MiB depending on the processor, and touches only what a product uses. */
#define SPACE_BYTES ((size_t)256 << 20)

enum { SPACES_MAX = 512, PROBE_SIZE = 256 };

typedef struct {
    atomic_bool used;
    _Atomic(void *) at; /* mapped on first use */
} BlasMemory;

static BlasMemory spaces[SPACES_MAX];
static atomic_int n_served;

void *blas_memory_alloc(int place);
void blas_memory_free(void *space);

/* Aborts when memory is out, since the library does not check for NULL. */
void *blas_memory_alloc(int place)
{
    (void)place;
    atomic_fetch_add(&n_served, 1);
    for (int i = 0; i < SPACES_MAX; i++) {
        bool used = false;
        if (!atomic_compare_exchange_strong(&spaces[i].used, &used, true))
            continue;
        void *at = atomic_load(&spaces[i].at);
        if (at)
            return at;
        at = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            break;
        atomic_store(&spaces[i].at, at);
        return at;
    }
    abort();
}

void blas_memory_free(void *space)
{
    for (int i = 0; i < SPACES_MAX; i++)
        if (atomic_load(&spaces[i].at) == space) {
            atomic_store(&spaces[i].used, false);
            return;
        }
}

/* Whether a product got its workspace here; small ones need none. */
bool blas_memory_is_safe(void)
{
    if (atomic_load(&n_served) > 0)
        return true;
    static const float zeros[PROBE_SIZE * PROBE_SIZE];
    float *out = calloc((size_t)PROBE_SIZE * PROBE_SIZE, sizeof *out);
    if (!out)
        return false;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, PROBE_SIZE, PROBE_SIZE, PROBE_SIZE, 1,
                zeros, PROBE_SIZE, zeros, PROBE_SIZE, 0, out, PROBE_SIZE);
    free(out);
    return atomic_load(&n_served) > 0;
}
