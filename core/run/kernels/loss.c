/* loss.c - losses over classes: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
 *
 *     loss of a label = - weight[label] * log probability of the label    0 where it is ignored
 *
 * The class dim, the second of the scores, is unsharded. A mean divides by the weights of the
 * counted labels or by their number; without weights that is the global indices, so that ranks with
 * some labels have addends of the mean.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

#include <inttypes.h>
#include <math.h>

typedef struct {
    const Local *scores, *labels;
    double *weight;           /* of each class; NULL: 1 */
    int64_t classes, step, n; /* elements between the scores of a label, labels held here */
    bool takes_log, ignores, scalar, mean;
    int64_t ignored;
    double *row; /* the scores of one label */
} LossCall;

static bool read_form(const KernelCall *call, LossCall *loss, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    Str reduction = args_text(&rule, "reduction", "mean");
    loss->mean = str_eq(reduction, STR("mean"));
    loss->scalar = !str_eq(reduction, STR("none"));
    loss->ignores = args_attr(&rule, "ignore_index") != NULL;
    loss->ignored = args_int(&rule, "ignore_index", 0);
    return loss->mean || !loss->scalar || str_eq(reduction, STR("sum")) ||
           error_kind(err, ERROR_RUN, "unknown reduction '%.*s'", STR_ARG(reduction));
}

/* Checks that scores and labels have matching local shapes. */
static bool read_operands(const KernelCall *call, LossCall *loss, Error *err)
{
    loss->scores = call->input[0];
    loss->labels = call->input[1];
    const Shape *shape = &loss->scores->shape;
    if (!kernel_computes(loss->scores, err) || !kernel_computes(loss->labels, err) ||
        !kernel_computes(call->output[0], err))
        return false;
    int64_t at = shape->n_dims > 1 ? 1 : 0;
    if (shape->n_dims < 1 || loss->labels->shape.n_dims != shape->n_dims - 1)
        return error_kind(err, ERROR_RUN, "the labels do not fit the scores");
    if (shape->dim[at] != loss->scores->whole.dim[at])
        return error_kind(err, ERROR_RUN, "the classes are sharded");
    loss->classes = shape->dim[at];
    loss->step = 1;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        if (d != at && loss->labels->shape.dim[d - (d > at)] != shape->dim[d])
            return error_kind(err, ERROR_RUN, "scores and labels differ in shape");
        loss->step *= d > at ? shape->dim[d] : 1;
    }
    loss->n = shape_elements(&loss->labels->shape);
    loss->row = arena_array(call->scratch, double, loss->classes);
    return true;
}

static bool read_weights(const KernelCall *call, LossCall *loss, Error *err)
{
    const Local *weights = kernel_input(call, 2);
    if (!weights)
        return true;
    if (!kernel_computes(weights, err))
        return false;
    if (shape_elements(&weights->shape) != loss->classes)
        return error_kind(err, ERROR_RUN, "there is not one weight per class");
    loss->weight = arena_array(call->scratch, double, loss->classes);
    local_load(weights, 0, 1, loss->classes, NUMBER_F64, loss->weight);
    return true;
}

/* The log probability of class `at` for label i, 0 when ignored (negative). `log_probs` gets those
 * of all classes. */
static double log_probability(const LossCall *loss, int64_t i, int64_t at, Local *log_probs)
{
    int64_t first = i / loss->step * loss->step * loss->classes + i % loss->step;
    double most = -INFINITY, sum = 0, *row = loss->row;
    int64_t n = loss->takes_log ? loss->classes : at >= 0,
            from = loss->takes_log || at < 0 ? 0 : at;
    local_load(loss->scores, first + from * loss->step, loss->step, n, NUMBER_F64, row);
    if (!loss->takes_log)
        return n > 0 ? row[0] : 0;
    for (int64_t c = 0; c < n; c++)
        most = row[c] > most || isnan(row[c]) ? row[c] : most;
    for (int64_t c = 0; c < n; c++)
        sum += exp(row[c] - most);
    double log_sum = log(sum);
    for (int64_t c = 0; c < n; c++)
        row[c] = row[c] - most - log_sum;
    for (int64_t c = 0; log_probs && c < n; c++)
        local_store(log_probs, first + c * loss->step, 1, NUMBER_F64, &row[c]);
    return at < 0 ? 0 : row[at];
}

/* The weight of label i, 0 when ignored; *at is its class. */
static bool read_label(const LossCall *loss, int64_t i, int64_t *at, double *weight, Error *err)
{
    local_load(loss->labels, i, 1, 1, NUMBER_I64, at);
    *weight = 0;
    if (loss->ignores && *at == loss->ignored) {
        *at = -1;
        return true;
    }
    if (*at < 0 || *at >= loss->classes)
        return error_kind(err, ERROR_RUN, "label %" PRId64 " is outside of %" PRId64 " classes",
                          *at, loss->classes);
    *weight = loss->weight ? loss->weight[*at] : 1;
    return true;
}

static void finish(const KernelCall *call, const LossCall *loss, double sum, double weights)
{
    double divisor = weights;
    if (!loss->weight && !loss->ignores)
        divisor = (double)shape_elements(&loss->labels->whole);
    if (loss->mean)
        sum /= divisor;
    if (loss->scalar)
        local_store(call->output[0], 0, 1, NUMBER_F64, &sum);
    Local *total = loss->takes_log ? NULL : kernel_output(call, 1);
    if (total && loss->scalar) /* sum of the weights; unused without reduction */
        local_store(total, 0, 1, NUMBER_F64, &weights);
}

static bool loss_of_classes(const KernelCall *call, Error *err)
{
    LossCall loss = {.takes_log = call->kernel->row != NULL};
    if (!kernel_needs(call, 2, err) || !read_form(call, &loss, err) ||
        !read_operands(call, &loss, err) || !read_weights(call, &loss, err))
        return false;
    Local *out = call->output[0], *log_probs = loss.takes_log ? kernel_output(call, 1) : NULL;
    if (shape_elements(&out->shape) != (loss.scalar ? 1 : loss.n) ||
        (log_probs && !shape_equal(&log_probs->shape, &loss.scores->shape)))
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < loss.n; i++) {
        double weight;
        int64_t at;
        if (!read_label(&loss, i, &at, &weight, err))
            return false;
        double one = 0 - weight * log_probability(&loss, i, at, log_probs);
        if (!loss.scalar)
            local_store(out, i, 1, NUMBER_F64, &one);
        sum += one;
        weights += weight;
    }
    finish(call, &loss, sum, weights);
    return true;
}

/* ---- gradients ---- */

/* What the gradients of the outputs give to one label's loss and to its log probabilities. */
typedef struct {
    const double *d_loss, *d_log_probs; /* NULL: 0 */
    double mean;                        /* loss by the sum of the weights, subtracted from those */
    double divisor;
} LossGradient;

static const double *values(const KernelCall *call, int output)
{
    const Local *local = output < call->n_outputs ? call->output[output] : NULL;
    return local && local->data ? local_doubles(call->scratch, local) : NULL;
}

/* Adds the gradients of the scores of label i, or of its class's weight. */
static void add_label(const LossCall *loss, const LossGradient *of, int64_t i, int64_t at,
                      double weight, bool of_weights, double *to)
{
    double log_p = log_probability(loss, i, at, NULL), sum = 0;
    double d = of->d_loss ? of->d_loss[loss->scalar ? 0 : i] / of->divisor : 0;
    int64_t first = i / loss->step * loss->step * loss->classes + i % loss->step;
    if (of_weights) {
        if (at >= 0)
            to[at] += d * (-log_p - of->mean);
        return;
    }
    if (at >= 0)
        to[first + at * loss->step] -= d * weight;
    for (int64_t c = 0; loss->takes_log && of->d_log_probs && c < loss->classes; c++) {
        sum += of->d_log_probs[first + c * loss->step];
        to[first + c * loss->step] += of->d_log_probs[first + c * loss->step];
    }
    for (int64_t c = 0; loss->takes_log && c < loss->classes; c++)
        to[first + c * loss->step] += exp(loss->row[c]) * (d * weight - sum);
}

/* The divisor of a mean, and for gradients of weights the mean itself. */
static bool find_divisor(const LossCall *loss, LossGradient *of, Error *err)
{
    double weights = 0, sum = 0, weight;
    int64_t at;
    of->divisor = 1;
    if (!loss->mean)
        return true;
    for (int64_t i = 0; i < loss->n; i++) {
        if (!read_label(loss, i, &at, &weight, err))
            return false;
        weights += weight;
        sum -= weight * log_probability(loss, i, at, NULL);
    }
    bool counts = !loss->weight && !loss->ignores;
    of->divisor = counts ? (double)shape_elements(&loss->labels->whole) : weights;
    of->mean = sum / of->divisor;
    return true;
}

static bool loss_gradient(const KernelCall *call, Error *err)
{
    LossCall loss = {.takes_log = call->kernel->row != NULL};
    LossGradient of = {0};
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !read_form(&forward, &loss, err) ||
        !read_operands(&forward, &loss, err) || !read_weights(&forward, &loss, err) ||
        !find_divisor(&loss, &of, err))
        return false;
    bool of_weights = program_space(call->inferred, call->op)->gradient->written[0] == 2;
    Local *made = call->output[0];
    int64_t n = shape_elements(&made->shape);
    of.d_loss = values(&forward, 0);
    of.d_log_probs = loss.takes_log ? values(&forward, 1) : NULL;
    double *to = arena_array(call->scratch, double, n);
    for (int64_t i = 0; i < loss.n; i++) {
        double weight;
        int64_t at;
        if (!read_label(&loss, i, &at, &weight, err))
            return false;
        add_label(&loss, &of, i, at, weight, of_weights, to);
    }
    local_store(made, 0, n, NUMBER_F64, to);
    return true;
}

const Kernel kernels_loss[] = {
    {"NegativeLogLikelihoodLossBackward", loss_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {"SoftmaxCrossEntropyLossBackward", loss_gradient, "log", 0, ROUNDING_SENSITIVE},
    {"NegativeLogLikelihoodLoss", loss_of_classes, NULL, 0, ROUNDING_SENSITIVE},
    {"SoftmaxCrossEntropyLoss", loss_of_classes, "log", 0, ROUNDING_SENSITIVE},
    {0},
};
