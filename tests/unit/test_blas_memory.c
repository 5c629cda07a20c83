/* Products made by several threads at a time are the products. */
#include "core/run/kernels/blas_memory.h"

#include "tests/unit/unit.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 160, THREADS = 8, PRODUCTS = 300, ELEMENTS = SIZE * SIZE };

typedef struct {
    float x[ELEMENTS], w[ELEMENTS], want[ELEMENTS];
} Given;

static void multiply(const Given *given, float *out)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SIZE, SIZE, SIZE, 1, given->x, SIZE,
                given->w, SIZE, 0, out, SIZE);
}

/* The number of products that were wrong. */
static void *work(void *given)
{
    float *out = calloc(ELEMENTS, sizeof *out);
    intptr_t n_wrong = out == NULL;
    for (int i = 0; out && i < PRODUCTS; i++) {
        multiply(given, out);
        n_wrong += memcmp(out, ((Given *)given)->want, sizeof((Given *)given)->want) != 0;
    }
    free(out);
    return (void *)n_wrong;
}

static void products_together_are_right(void **state)
{
    (void)state;
    Given *given = calloc(1, sizeof *given);
    assert_non_null(given);
    for (int i = 0; i < ELEMENTS; i++) {
        given->x[i] = (float)(i % 13) / 13;
        given->w[i] = (float)(i % 7) / 7 - 0.5f;
    }
    assert_true(blas_memory_is_safe());
    multiply(given, given->want);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, work, given), 0);
    for (int t = 0; t < THREADS; t++) {
        void *n_wrong;
        pthread_join(threads[t], &n_wrong);
        assert_int_equal((intptr_t)n_wrong, 0);
    }
    free(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_together_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
