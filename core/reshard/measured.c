#include "core/reshard/measured.h"

#include <math.h>
#include <stdlib.h>

static int compare_key(const MeasuredOp *op, const char *op_type, Dtype dtype, int n_sizes)
{
    int by_name = strcmp(op->op_type, op_type);
    int by_type = (op->dtype > dtype) - (op->dtype < dtype);
    return by_name ? by_name : by_type ? by_type : op->n_sizes - n_sizes;
}

const MeasuredOp *measured_op(const Measured *measured, const char *op_type, Dtype dtype,
                              int n_sizes)
{
    int low = 0, high = measured ? measured->n_ops : 0;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = compare_key(&measured->op[middle], op_type, dtype, n_sizes);
        if (order == 0)
            return &measured->op[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const MeasuredStep *measured_step(const Measured *measured, StepKind kind, int64_t ranks)
{
    for (int i = 0; measured && i < measured->n_steps; i++)
        if (measured->step[i].kind == kind && measured->step[i].ranks == ranks)
            return &measured->step[i];
    return NULL;
}

/* ---- times ---- */

static double us_by_size(const MeasuredOp *op, double size)
{
    const MeasuredPoint *first = op->point, *last = &op->point[op->n - 1];
    if (size <= first->size[0])
        return first->us * size / first->size[0];
    if (size >= last->size[0])
        return last->us * size / last->size[0];
    const MeasuredPoint *high = first + 1;
    while (high->size[0] < size)
        high++;
    const MeasuredPoint *low = high - 1;
    double way = log(size / low->size[0]) / log(high->size[0] / low->size[0]);
    return low->us * pow(high->us / low->us, way);
}

static double product_of(const double size[MEASURED_SIZES])
{
    double product = 1;
    for (int i = 0; i < MEASURED_SIZES; i++)
        product *= size[i];
    return product;
}

static double us_of_product(const MeasuredOp *op, const double size[MEASURED_SIZES])
{
    double sum = 0, weights = 0, product = product_of(size);
    for (int p = 0; p < op->n; p++) {
        const MeasuredPoint *point = &op->point[p];
        double distance = 0, rate = product_of(point->size) / point->us;
        for (int i = 0; i < MEASURED_SIZES; i++) {
            double by = log2(size[i] / point->size[i]);
            distance += by * by;
        }
        if (distance < 1e-12)
            return product / rate;
        double weight = 1 / (distance * distance);
        sum += weight * log(rate);
        weights += weight;
    }
    return product / exp(sum / weights);
}

double measured_us(const Measured *measured, const MeasuredOp *op,
                   const double size[MEASURED_SIZES])
{
    double us = op->n_sizes == 1 ? us_by_size(op, size[0]) : us_of_product(op, size);
    return us > measured->least_us ? us : measured->least_us;
}

/* ---- making them ---- */

static int by_key(const void *a, const void *b)
{
    const MeasuredOp *x = a, *y = b;
    return compare_key(x, y->op_type, y->dtype, y->n_sizes);
}

static int by_sizes(const void *a, const void *b)
{
    const MeasuredPoint *x = a, *y = b;
    for (int i = 0; i < MEASURED_SIZES; i++)
        if (x->size[i] != y->size[i])
            return x->size[i] < y->size[i] ? -1 : 1;
    return 0;
}

void measured_sort(Measured *measured, MeasuredOp *op)
{
    measured->op = op;
    measured->least_us = INFINITY;
    if (measured->n_ops > 0)
        qsort(op, (size_t)measured->n_ops, sizeof *op, by_key);
    for (int i = 0; i < measured->n_ops; i++) {
        qsort((void *)(uintptr_t)op[i].point, (size_t)op[i].n, sizeof *op[i].point, by_sizes);
        for (int p = 0; p < op[i].n; p++)
            measured->least_us = fmin(measured->least_us, op[i].point[p].us);
    }
    if (!isfinite(measured->least_us))
        measured->least_us = 0;
}

static bool is_positive(double number)
{
    return isfinite(number) && number > 0;
}

static bool check_op(const MeasuredOp *op, Error *err)
{
    bool ok = op->n > 0;
    for (int p = 0; p < op->n && ok; p++) {
        ok = is_positive(op->point[p].us);
        for (int i = 0; i < op->n_sizes; i++)
            ok = ok && is_positive(op->point[p].size[i]);
    }
    return ok || error_kind(err, ERROR_OUT_OF_RANGE, "points of %s must be above 0", op->op_type);
}

static bool check_step(const MeasuredStep *step, Error *err)
{
    if (step->ranks >= 2 && step->latency_us >= 0 && isfinite(step->latency_us) &&
        is_positive(step->bytes_per_s))
        return true;
    return error_kind(err, ERROR_OUT_OF_RANGE, "ranks of %s must be 2 or more, its rate above 0",
                      step_kind_name(step->kind));
}

bool measured_check(const Measured *measured, Error *err)
{
    bool ok = true;
    for (int i = 0; i < measured->n_ops && ok; i++) {
        const MeasuredOp *op = &measured->op[i];
        ok = check_op(op, err);
        if (ok && i > 0 && by_key(op - 1, op) == 0)
            ok = error_kind(err, ERROR_OUT_OF_RANGE, "operators has %s of %s twice", op->op_type,
                            dtype_name(op->dtype));
    }
    for (int i = 0; i < measured->n_steps && ok; i++)
        ok = check_step(&measured->step[i], err);
    return ok || error_hint(err, "in 'measured'");
}

const Measured *measured_copy(Arena *arena, const Measured *measured)
{
    Measured *out = arena_make(arena, Measured);
    MeasuredOp *ops = arena_array(arena, MeasuredOp, measured->n_ops);
    MeasuredStep *steps = arena_array(arena, MeasuredStep, measured->n_steps);
    *out = *measured;
    for (int i = 0; i < measured->n_ops; i++) {
        const MeasuredOp *from = &measured->op[i];
        MeasuredPoint *points = arena_array(arena, MeasuredPoint, from->n);
        memcpy(points, from->point, sizeof *points * (size_t)from->n);
        ops[i] = *from;
        ops[i].op_type = arena_str(arena, str_from(from->op_type));
        ops[i].point = points;
    }
    for (int i = 0; i < measured->n_steps; i++)
        steps[i] = measured->step[i];
    out->op = ops;
    out->step = steps;
    return out;
}
