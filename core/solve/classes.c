#include "core/solve/classes.h"

#include "core/base/intern.h"

#include <math.h>

/* The class of each row of costs [n][width]; *n_classes: their number. The costs of class i are
 * the key i of the intern. */
static const int32_t *classes_of_rows(Arena *arena, Intern *rows, const double *cost, int32_t n,
                                      int32_t width)
{
    int32_t *of = arena_array(arena, int32_t, n);
    for (int32_t x = 0; x < n; x++)
        of[x] = intern_put(rows, cost + (int64_t)x * width, sizeof *cost * (size_t)width);
    return of;
}

EdgeClasses edge_classes(Arena *arena, const double *cost, int32_t values_a, int32_t values_b)
{
    EdgeClasses out;
    Arena *scratch = arena_new();
    Intern *rows = intern_new(scratch), *columns = intern_new(scratch);
    out.of_a = classes_of_rows(arena, rows, cost, values_a, values_b);
    out.n_a = intern_count(rows);
    double *turned = arena_array(scratch, double, (int64_t)values_b *out.n_a);
    for (int32_t i = 0; i < out.n_a; i++) {
        const double *row = intern_key(rows, i, NULL);
        for (int32_t y = 0; y < values_b; y++)
            turned[(int64_t)y * out.n_a + i] = row[y];
    }
    out.of_b = classes_of_rows(arena, columns, turned, values_b, out.n_a);
    out.n_b = intern_count(columns);
    double *by_a = arena_array(arena, double, (int64_t)out.n_a *out.n_b);
    double *by_b = arena_array(arena, double, (int64_t)out.n_a *out.n_b);
    for (int32_t j = 0; j < out.n_b; j++) {
        const double *column = intern_key(columns, j, NULL);
        for (int32_t i = 0; i < out.n_a; i++)
            by_a[(int64_t)i * out.n_b + j] = by_b[(int64_t)j * out.n_a + i] = column[i];
    }
    out.by_a = by_a;
    out.by_b = by_b;
    arena_free(scratch);
    return out;
}

void edge_classes_least(const EdgeClasses *classes, bool of_a, int32_t n_x, int32_t n_y,
                        const double *less, double *room, double *least)
{
    int32_t n = of_a ? classes->n_a : classes->n_b, m = of_a ? classes->n_b : classes->n_a;
    const int32_t *of_x = of_a ? classes->of_a : classes->of_b;
    const int32_t *of_y = of_a ? classes->of_b : classes->of_a;
    const double *cost = of_a ? classes->by_b : classes->by_a;
    double *most = room, *out = room + m;
    for (int32_t j = 0; j < m; j++)
        most[j] = -INFINITY;
    for (int32_t y = 0; y < n_y; y++)
        most[of_y[y]] = less[y] > most[of_y[y]] ? less[y] : most[of_y[y]];
    for (int32_t i = 0; i < n; i++)
        out[i] = INFINITY;
    for (int32_t j = 0; j < m; j++, cost += n)
        for (int32_t i = 0; i < n; i++)
            out[i] = cost[i] - most[j] < out[i] ? cost[i] - most[j] : out[i];
    for (int32_t x = 0; x < n_x; x++)
        least[x] = out[of_x[x]];
}
