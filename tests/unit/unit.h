/* unit.h - what every unit test includes: cmocka, and rows of a table as tests with names.
 *
 *     static Row rows[] = {{"spaces", " a", "a"}, ...};
 *     static void trims(void **state) { const Row *row = *state; ... }
 *     int main(void) { return run_rows("trim", rows, trims) + ...; }
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A group with one test per row; the row's first field is its name. Answers the failures. */
#define run_rows(group, rows, function)                                                            \
    run_named_rows((group), (rows), COUNT_OF(rows), sizeof *(rows), (function))

enum { ROWS_MAX = 2048 };

static inline int run_named_rows(const char *group, void *rows, size_t n_rows, size_t row_bytes,
                                 CMUnitTestFunction function)
{
    static struct CMUnitTest tests[ROWS_MAX];
    assert_true(n_rows <= ROWS_MAX);
    for (size_t i = 0; i < n_rows; i++) {
        char *row = (char *)rows + i * row_bytes;
        tests[i] = (struct CMUnitTest){
            .name = *(const char **)(void *)row, .test_func = function, .initial_state = row};
    }
    return _cmocka_run_group_tests(group, tests, n_rows, NULL, NULL);
}

#endif
