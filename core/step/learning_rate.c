#include "core/step/learning_rate.h"

#include "core/base/nearest.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* From a, at fraction 0, to b, at 1. */
static double line(double a, double b, double fraction)
{
    return a + (b - a) * fraction;
}

static double cosine(double a, double b, double fraction)
{
    return b + (a - b) * (1 + cos(pi * fraction)) / 2;
}

static double fraction_of(double step, double total)
{
    return step < total ? step / total : 1;
}

static double rate_constant(const RateParams *p, double step)
{
    return step < p->param[1] ? p->lr * p->param[0] : p->lr;
}

static double rate_step(const RateParams *p, double step)
{
    return p->lr * pow(p->param[1], floor(step / p->param[0]));
}

static double rate_multistep(const RateParams *p, double step)
{
    double rate = p->lr;
    for (int i = 0; i < p->n_milestones; i++)
        if (step >= (double)p->milestone[i])
            rate *= p->param[0];
    return rate;
}

static double rate_exponential(const RateParams *p, double step)
{
    return p->lr * pow(p->param[0], step);
}

/* Rises again after t_max steps, as in torch. */
static double rate_cosine(const RateParams *p, double step)
{
    return cosine(p->lr, p->param[1], step / p->param[0]);
}

/* Cycles of t_0, t_0 t_mult, .. steps. */
static double rate_cosine_restarts(const RateParams *p, double step)
{
    double length = p->param[0];
    if (p->param[1] <= 1)
        return cosine(p->lr, p->param[2], fmod(step, length) / length);
    while (step >= length) {
        step -= length;
        length *= p->param[1];
    }
    return cosine(p->lr, p->param[2], step / length);
}

static double rate_linear(const RateParams *p, double step)
{
    return p->lr * line(p->param[0], p->param[1], fraction_of(step, p->param[2]));
}

static double rate_polynomial(const RateParams *p, double step)
{
    return p->lr * pow(1 - fraction_of(step, p->param[0]), p->param[1]);
}

/* Up to the largest rate by step pct_start total - 1, then down by the last step. */
static double rate_onecycle(const RateParams *p, double step)
{
    double most = p->param[0], first = most / p->param[3], last = first / p->param[4];
    double top = p->param[2] * p->param[1] - 1, end = p->param[1] - 1;
    double (*anneal)(double, double, double) = p->linear ? line : cosine;
    if (step <= top && top > 0)
        return anneal(first, most, step / top);
    return anneal(most, last, step < end ? (step - top) / (end - top) : 1);
}

/* Parameters of the warm-up are 0, steps, and 1, what it begins with. */
static bool warms_up(const RateParams *p, double step, double *rate)
{
    *rate = p->lr * line(p->param[1], 1, fraction_of(step, p->param[0]));
    return step < p->param[0];
}

static double rate_warmup(const RateParams *p, double step)
{
    double rate;
    warms_up(p, step, &rate);
    return rate;
}

/* How much of the steps after the warm-up is over. */
static double after_warmup(const RateParams *p, double step)
{
    double steps = p->param[2] - p->param[0];
    return steps > 0 ? fraction_of(step - p->param[0], steps) : 1;
}

static double rate_warmup_cosine(const RateParams *p, double step)
{
    double rate;
    return warms_up(p, step, &rate) ? rate : cosine(p->lr, p->param[3], after_warmup(p, step));
}

static double rate_warmup_linear(const RateParams *p, double step)
{
    double rate;
    return warms_up(p, step, &rate) ? rate : line(p->lr, p->param[3], after_warmup(p, step));
}

static double rate_inverse_sqrt(const RateParams *p, double step)
{
    double rate;
    return warms_up(p, step, &rate) ? rate : p->lr * sqrt(fmax(p->param[0], 1) / fmax(step, 1));
}

#define WARMUP                                                                                     \
    {"warmup warmup_steps", 0, false},                                                             \
    {                                                                                              \
        "start_factor", 0, false                                                                   \
    }
#define TOTAL                                                                                      \
    {                                                                                              \
        "total total_iters total_steps", 5, true                                                   \
    }
#define LEAST                                                                                      \
    {                                                                                              \
        "min_lr eta_min", 0, false                                                                 \
    }

static const RateKind kinds[] = {
    {"constant", rate_constant, {{"factor", 1, false}, {"total total_iters", 5, false}}},
    {"step", rate_step, {{"step_size", 30, true}, {"gamma", 0.1, false}}},
    {"multistep", rate_multistep, {{"gamma", 0.1, false}}},
    {"exponential", rate_exponential, {{"gamma", 0.1, false}}},
    {"cosine", rate_cosine, {{"t_max total", 10, true}, LEAST}},
    {"cosine_restarts", rate_cosine_restarts, {{"t_0", 10, true}, {"t_mult", 1, false}, LEAST}},
    {"linear", rate_linear, {{"start_factor", 1.0 / 3, false}, {"end_factor", 1, false}, TOTAL}},
    {"polynomial", rate_polynomial, {TOTAL, {"power", 1, false}}},
    {"onecycle",
     rate_onecycle,
     {{"max_lr", 0, false},
      TOTAL,
      {"pct_start", 0.3, false},
      {"div_factor", 25, true},
      {"final_div_factor", 1e4, true}}},
    {"warmup", rate_warmup, {WARMUP}},
    {"warmup_cosine", rate_warmup_cosine, {WARMUP, TOTAL, LEAST}},
    {"warmup_linear", rate_warmup_linear, {WARMUP, TOTAL, LEAST}},
    {"inverse_sqrt", rate_inverse_sqrt, {WARMUP}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const RateKind *rate_kind(Str name, Error *err)
{
    Nearest nearest = nearest_to(name, 4);
    for (int i = 0; i < N_KINDS; i++) {
        if (str_eq(str_from(kinds[i].name), name))
            return &kinds[i];
        nearest_try(&nearest, kinds[i].name);
    }
    error_kind(err, ERROR_OUT_OF_RANGE, "there is no schedule of learning rates '%.*s'",
               STR_ARG(name));
    if (nearest.name)
        error_hint(err, "did you mean %s?", nearest.name);
    return NULL;
}

double rate_at(const RateKind *kind, const RateParams *params, int64_t step)
{
    return kind->rate(params, (double)step);
}
