/* cross_entropy.c - SumExp, TokenLoss and its gradient: a rank has some classes of each row.
 *
 * A label is found by its global class; a row whose label is on another rank has no addend of the
 * score here. Labels equal to `ignore_index` have loss and gradient 0. With label_smoothing e the
 * score of the label counts 1 - e, the mean of all scores e.
 */
#include "core/run/kernel.h"

#include <inttypes.h>
#include <math.h>

typedef struct {
    const Local *scores, *most, *sum, *labels;
    int64_t rows, classes, ignored;
    bool ignores;
    double smoothing; /* label_smoothing: the share of the label that all classes have alike */
    double *row;
} ScoreRows;

/* first: input of the scores. */
static bool read_rows(const KernelCall *call, int first, int n, ScoreRows *out, Error *err)
{
    *out = (ScoreRows){.scores = call->input[first], .most = call->input[first + 1]};
    for (int i = 0; i < n; i++)
        if (!kernel_computes(call->input[first + i], err))
            return false;
    const Shape *shape = &out->scores->shape;
    out->classes = shape->dim[shape->n_dims - 1];
    out->rows = 1;
    for (int64_t d = 0; d + 1 < shape->n_dims; d++)
        out->rows *= shape->dim[d];
    out->sum = n > 2 ? call->input[first + 2] : NULL;
    out->labels = n > 3 ? call->input[first + 3] : NULL;
    out->row = arena_array(call->scratch, double, out->classes);
    const Attr *ignored = op_attr(kernel_graph(call), call->op, "ignore_index");
    out->ignores = ignored && ignored->type == ATTR_INT;
    out->ignored = out->ignores ? ignored->i : 0;
    out->smoothing = op_attr_float(kernel_graph(call), call->op, "label_smoothing", 0);
    for (int i = 1; i < n; i++)
        if (shape_elements(&call->input[first + i]->shape) != out->rows)
            return error_kind(err, ERROR_RUN, "scores and what is known of their rows differ");
    return true;
}

static void load_row(const ScoreRows *rows, int64_t r)
{
    for (int64_t i = 0; i < rows->classes; i += ELEMENT_BLOCK)
        local_load(rows->scores, r * rows->classes + i, 1,
                   rows->classes - i < ELEMENT_BLOCK ? rows->classes - i : ELEMENT_BLOCK,
                   NUMBER_F64, rows->row + i);
}

static void store_row(Local *out, const ScoreRows *rows, int64_t r)
{
    for (int64_t i = 0; i < rows->classes; i += ELEMENT_BLOCK)
        local_store(out, r * rows->classes + i,
                    rows->classes - i < ELEMENT_BLOCK ? rows->classes - i : ELEMENT_BLOCK,
                    NUMBER_F64, rows->row + i);
}

/* Where the row's label lies here; -1: on another rank, -2: it is ignored. */
static bool find_label(const ScoreRows *rows, int64_t r, int64_t *at, Error *err)
{
    int64_t label, last = rows->scores->shape.n_dims - 1;
    local_load(rows->labels, r, 1, 1, NUMBER_I64, &label);
    int64_t n = rows->scores->whole.dim[last];
    *at = -2;
    if (rows->ignores && label == rows->ignored)
        return true;
    if (label < 0 || label >= n)
        return error_kind(err, ERROR_RUN, "label %" PRId64 " is not one of the %" PRId64 " classes",
                          label, n);
    *at = runs_find(&rows->scores->runs[last], label);
    return true;
}

static bool sum_exp(const KernelCall *call, Error *err)
{
    ScoreRows rows;
    if (!kernel_needs(call, 2, err) || !read_rows(call, 0, 2, &rows, err))
        return false;
    for (int64_t r = 0; r < rows.rows; r++) {
        double most = local_number(rows.most, r), sum = 0;
        load_row(&rows, r);
        for (int64_t i = 0; i < rows.classes; i++)
            sum += exp(rows.row[i] - most);
        local_store(call->output[0], r, 1, NUMBER_F64, &sum);
    }
    return true;
}

/* Of all ranks. */
static double n_classes(const ScoreRows *rows)
{
    return (double)rows->scores->whole.dim[rows->scores->shape.n_dims - 1];
}

/* What the classes of this rank add to the mean of a row's scores. */
static double mean_score(const ScoreRows *rows, int64_t r)
{
    double sum = 0;
    load_row(rows, r);
    for (int64_t i = 0; i < rows->classes; i++)
        sum += rows->row[i];
    return sum / n_classes(rows);
}

static bool token_loss(const KernelCall *call, Error *err)
{
    ScoreRows rows;
    if (!kernel_needs(call, 4, err) || !read_rows(call, 0, 4, &rows, err))
        return false;
    for (int64_t r = 0; r < rows.rows; r++) {
        int64_t at;
        if (!find_label(&rows, r, &at, err))
            return false;
        double loss = at == -2 || !call->first ? 0 : log(local_number(rows.sum, r));
        loss += at == -2 || !call->first ? 0 : local_number(rows.most, r);
        loss -=
            at < 0 ? 0 : (1 - rows.smoothing) * local_number(rows.scores, r * rows.classes + at);
        if (at != -2 && rows.smoothing > 0)
            loss -= rows.smoothing * mean_score(&rows, r);
        local_store(call->output[0], r, 1, NUMBER_F64, &loss);
    }
    return true;
}

/* dloss, scores, maximum, sum, labels */
static bool token_loss_grad(const KernelCall *call, Error *err)
{
    ScoreRows rows;
    if (!kernel_needs(call, 5, err) || !read_rows(call, 1, 4, &rows, err))
        return false;
    for (int64_t r = 0; r < rows.rows; r++) {
        double grad = local_number(call->input[0], r), most = local_number(rows.most, r);
        double sum = local_number(rows.sum, r);
        int64_t at;
        if (!find_label(&rows, r, &at, err))
            return false;
        load_row(&rows, r);
        double alike = rows.smoothing / n_classes(&rows);
        for (int64_t i = 0; i < rows.classes; i++)
            rows.row[i] = at == -2 ? 0 : grad * (exp(rows.row[i] - most) / sum - alike);
        if (at >= 0)
            rows.row[at] -= grad * (1 - rows.smoothing);
        store_row(call->output[0], &rows, r);
    }
    return true;
}

const Kernel kernels_cross_entropy[] = {
    {"SumExp", sum_exp, NULL, 0, ROUNDING_SENSITIVE},
    {"TokenLoss", token_loss, NULL, 0, ROUNDING_SENSITIVE},
    {"TokenLossGrad", token_loss_grad, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
