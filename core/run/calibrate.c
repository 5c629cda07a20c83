#include "core/run/calibrate.h"

#include "core/cost/cost.h"
#include "core/reshard/cluster.h"

#include <math.h>
#include <stdlib.h>

/* Ops with less work than this are timed for their launch; rates come from ops with several times
 * that. */
#define TINY_FLOPS 20e3
#define TINY_BYTES 16e3
#define NO_LIMIT 1e30
enum { LAUNCHES_LEAST = 4, CANDIDATES = 32 };

typedef struct {
    OpCost cost;
    double us; /* measured */
} TimedOp;

typedef struct {
    double hops, bytes; /* us = hops * latency_us + bytes / bytes_per_s on the wire */
    double us;
} TimedReshard;

typedef Vec(TimedReshard) TimedReshards;

typedef struct {
    const Plan *plan;
    Arena *arena;
    Vec(TimedOp) ops;
    TimedReshards reshards;
} Times;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef Vec(double) Numbers;

/* The quantile of the values (0.5: the median), which it sorts; 0 when there are none. */
static double quantile(Numbers *numbers, double share)
{
    if (numbers->n == 0)
        return 0;
    qsort(numbers->at, (size_t)numbers->n, sizeof *numbers->at, compare);
    return numbers->at[(int)((double)(numbers->n - 1) * share + 0.5)];
}

/* ---- measurements ---- */

/* The price of a step on a machine all of whose links have this latency and rate: 1 and infinite,
 * or 0 and 1, give the factors of each. */
static double price_by(const Plan *plan, const Step *step, double latency_us, double bytes_per_s)
{
    Machine machine = *plan->machine;
    machine.tuning = NULL;
    machine.inside = machine.between = machine.spine =
        (Link){.name = "", .latency_us = latency_us, .bytes_per_s = bytes_per_s};
    return price_step(&machine, plan->mesh, step->kind, step->atoms, step->bytes).us;
}

static void collect(Times *times, const RunReport *report)
{
    const Plan *plan = times->plan;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        double times_run = report->op_times[op] > 1 ? report->op_times[op] : 1;
        TimedOp timed = {op_cost(plan, op), report->op_us[op] / times_run};
        if (timed.us > 0 && timed.cost.work != WORK_VIEW && !timed.cost.declared)
            vec_push(times->arena, &times->ops, timed);
    }
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        TimedReshard timed = {.us = report->reshard_move_us[i]};
        timed.us /= reshard_repeat(plan, reshard) * fmax(report->reshard_times[i], 1);
        for (int s = 0; s < reshard->path->n_steps; s++) {
            timed.hops += price_by(plan, &reshard->path->step[s], 1, 1e300);
            timed.bytes += price_by(plan, &reshard->path->step[s], 0, 1e6);
        }
        if (timed.us > 0 && timed.bytes > 0)
            vec_push(times->arena, &times->reshards, timed);
    }
}

/* ---- the numbers ---- */

static double rate(double work, const TimedOp *op, const Machine *machine)
{
    return work / (op->us - machine->launch_us) * 1e6;
}

static bool is_timed(const TimedOp *op, const Machine *machine)
{
    return op->us > LAUNCHES_LEAST * machine->launch_us;
}

static bool fit_launch(const Times *times, Machine *machine)
{
    Numbers tiny = {0};
    for (int i = 0; i < times->ops.n; i++) {
        const TimedOp *op = &times->ops.at[i];
        if (op->cost.flops < TINY_FLOPS && (double)op->cost.bytes < TINY_BYTES)
            vec_push(times->arena, &tiny, op->us);
    }
    if (tiny.n > 0)
        machine->launch_us = quantile(&tiny, 0.5);
    return tiny.n > 0;
}

static double error_factor(double predicted, double measured)
{
    return predicted > measured ? predicted / measured : measured / predicted;
}

/* Median error over the ops of that kind; WORK_VIEW: all ops. */
static double median_error_of_ops(const Times *times, const Machine *machine, Work work)
{
    Numbers factors = {0};
    for (int i = 0; i < times->ops.n; i++) {
        const TimedOp *op = &times->ops.at[i];
        if (work == WORK_VIEW || op->cost.work == work)
            vec_push(times->arena, &factors,
                     error_factor(op_cost_on(&op->cost, machine).us, op->us));
    }
    return quantile(&factors, 0.5);
}

/* Sets a number of the machine to the candidate with the least median error. */
static void choose(const Times *times, Machine *machine, Work work, double *number,
                   Numbers *candidates)
{
    double best = *number, least = median_error_of_ops(times, machine, work);
    for (int i = 0; i <= CANDIDATES; i++) {
        *number = quantile(candidates, (double)i / CANDIDATES);
        double off = median_error_of_ops(times, machine, work);
        if (off < least) {
            least = off;
            best = *number;
        }
    }
    *number = best;
}

/* Rates of the timed ops of that kind relative to `peak`; in bytes when they have no flops. */
static Numbers rates_of(const Times *times, const Machine *machine, Work work, bool flops,
                        double peak)
{
    Numbers rates = {0};
    for (int i = 0; i < times->ops.n; i++) {
        const TimedOp *op = &times->ops.at[i];
        double done = flops ? op->cost.flops : (double)op->cost.bytes;
        if (op->cost.work == work && is_timed(op, machine) && done > 0)
            vec_push(times->arena, &rates, rate(done, op, machine) / peak);
    }
    return rates;
}

static bool fit_matmul(const Times *times, Machine *machine)
{
    double best[DT_COUNT] = {0};
    Numbers shares = {0};
    for (int i = 0; i < times->ops.n; i++) {
        const TimedOp *op = &times->ops.at[i];
        if (op->cost.work == WORK_MATMUL && is_timed(op, machine))
            best[op->cost.dtype] = fmax(best[op->cost.dtype], rate(op->cost.flops, op, machine));
    }
    for (int i = 0; i < times->ops.n; i++) {
        const TimedOp *op = &times->ops.at[i];
        if (op->cost.work == WORK_MATMUL && is_timed(op, machine))
            vec_push(times->arena, &shares,
                     rate(op->cost.flops, op, machine) / best[op->cost.dtype]);
    }
    if (shares.n == 0)
        return false;
    memcpy(machine->flops_per_s, best, sizeof best);
    for (int dtype = 0; best[DT_F32] <= 0 && dtype < DT_COUNT; dtype++) /* f32 always has a rate */
        machine->flops_per_s[DT_F32] = fmax(machine->flops_per_s[DT_F32], best[dtype]);
    machine->matmul_share = 1;
    choose(times, machine, WORK_MATMUL, &machine->matmul_share, &shares);
    return true;
}

/* The vector rate does not limit any op until fit_vector() finds that it does. */
static bool fit_memory(const Times *times, Machine *machine)
{
    Numbers rates = rates_of(times, machine, WORK_VECTOR, false, 1);
    if (rates.n == 0)
        return false;
    for (int dtype = 0; dtype < DT_COUNT; dtype++)
        machine->vector_flops_per_s[dtype] = 0;
    machine->vector_flops_per_s[DT_F32] = NO_LIMIT;
    machine->memory_bytes_per_s = quantile(&rates, 1);
    machine->memory_share = 1;
    rates = rates_of(times, machine, WORK_VECTOR, false, machine->memory_bytes_per_s);
    choose(times, machine, WORK_VECTOR, &machine->memory_share, &rates);
    return true;
}

static bool fit_vector(const Times *times, Machine *machine)
{
    Numbers rates = rates_of(times, machine, WORK_VECTOR, true, 1);
    double *number = &machine->vector_flops_per_s[DT_F32];
    if (rates.n > 0)
        choose(times, machine, WORK_VECTOR, number, &rates);
    bool holds_up = rates.n > 0 && *number < NO_LIMIT;
    if (rates.n > 0 && !holds_up)
        *number = 0;
    return holds_up;
}

static bool fit_gather(const Times *times, Machine *machine)
{
    Numbers rates = rates_of(times, machine, WORK_GATHER, false, machine->memory_bytes_per_s);
    if (rates.n > 0)
        choose(times, machine, WORK_GATHER, &machine->gather_share, &rates);
    machine->gather_share = fmin(machine->gather_share, 1); /* where other ops were memory-bound */
    return rates.n > 0;
}

/* Least squares of (hops * latency + bytes * per_byte - us) / us, both non-negative; false if
 * nothing moves bytes. */
static bool fit_line(const TimedReshards *timed, double *latency_us, double *us_per_byte)
{
    double hh = 0, hb = 0, bb = 0, h1 = 0, b1 = 0;
    for (int i = 0; i < timed->n; i++) {
        const TimedReshard *r = &timed->at[i];
        double h = r->hops / r->us, b = r->bytes / r->us;
        hh += h * h;
        hb += h * b;
        bb += b * b;
        h1 += h;
        b1 += b;
    }
    if (bb <= 0)
        return false;
    double det = hh * bb - hb * hb;
    double latency = det > 1e-9 * hh * bb ? (h1 * bb - b1 * hb) / det : 0;
    latency = latency > 0 ? latency : 0;
    double per_byte = (b1 - latency * hb) / bb;
    if (per_byte <= 0) {
        per_byte = b1 / bb;
        latency = 0;
    }
    *latency_us = latency;
    *us_per_byte = per_byte;
    return true;
}

static bool fit_link(const Times *times, Machine *machine)
{
    double latency, per_byte;
    if (!fit_line(&times->reshards, &latency, &per_byte))
        return false;
    Link link = {.name = "measured", .latency_us = latency, .bytes_per_s = 1e6 / per_byte};
    machine->inside = machine->between = link;
    machine->devices_per_block = 0;
    machine->spine = (Link){0};
    machine->tuning = NULL;
    return true;
}

/* ---- how well they fit ---- */

static double median_error_of_reshards(const Times *times, const Link *link)
{
    Numbers factors = {0};
    for (int i = 0; i < times->reshards.n; i++) {
        const TimedReshard *r = &times->reshards.at[i];
        double us = r->hops * link->latency_us + r->bytes * 1e6 / link->bytes_per_s;
        vec_push(times->arena, &factors, error_factor(us, r->us));
    }
    return quantile(&factors, 0.5);
}

static double predicted_error_of_reshards(const Times *times, const RunReport *report)
{
    Numbers factors = {0};
    const Plan *plan = times->plan;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        double us = report->reshard_move_us[i];
        if (us > 0 && plan->moved->reshards[i].path->us > 0)
            vec_push(times->arena, &factors,
                     error_factor(plan->moved->reshards[i].path->us *
                                      reshard_repeat(plan, &plan->moved->reshards[i]),
                                  us));
    }
    return quantile(&factors, 0.5);
}

/* What only another machine's tables tell. */
static void forget_kernels(Machine *machine)
{
    machine->matmul_us = 0;
    machine->processors = machine->matmul_tile = 0;
    machine->matmul_share_16 = 0;
    machine->attention_share = machine->attention_gradient_share = 0;
    machine->norm_share = machine->function_share = 0;
    machine->measured = NULL;
}

/* ---- tables ---- */

typedef struct {
    const char *op_type;
    Dtype dtype;
    int n_sizes;
    MeasuredPoint point;
} TimedPoint;

static int by_table(const void *a, const void *b)
{
    const TimedPoint *x = a, *y = b;
    int order = strcmp(x->op_type, y->op_type);
    if (order == 0)
        order = (x->dtype > y->dtype) - (x->dtype < y->dtype);
    if (order == 0)
        order = x->n_sizes - y->n_sizes;
    for (int i = 0; order == 0 && i < MEASURED_SIZES; i++)
        order = (x->point.size[i] > y->point.size[i]) - (x->point.size[i] < y->point.size[i]);
    return order;
}

typedef Vec(TimedPoint) TimedPoints;

static void collect_points(Arena *arena, const CalibratedRun *run, TimedPoints *out)
{
    const Inferred *inferred = run->plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        double times = run->report->op_times[op] * inferred_repeat(inferred, op);
        OpCost cost = op_cost_as_run(run->plan, op);
        TimedPoint timed = {.op_type = cost.op_type, .dtype = cost.dtype};
        timed.n_sizes = op_cost_sizes(&cost, timed.point.size);
        if (times <= 0 || run->report->op_us[op] <= 0 || cost.declared || !cost.op_type ||
            timed.point.size[0] <= 0)
            continue;
        timed.point.us = run->report->op_us[op] / times;
        vec_push(arena, out, timed);
    }
}

/* The point of the rows from `i` on that differ in their times alone: their median. *end: the row
 * behind them. */
static MeasuredPoint median_point(Arena *arena, const TimedPoints *rows, int i, int *end)
{
    Numbers us = {0};
    for (*end = i; *end < rows->n && by_table(&rows->at[i], &rows->at[*end]) == 0; ++*end)
        vec_push(arena, &us, rows->at[*end].point.us);
    MeasuredPoint point = rows->at[i].point;
    point.us = quantile(&us, 0.5);
    return point;
}

static bool same_table(const TimedPoint *a, const TimedPoint *b)
{
    return strcmp(a->op_type, b->op_type) == 0 && a->dtype == b->dtype && a->n_sizes == b->n_sizes;
}

static void make_ops(Arena *arena, const TimedPoints *rows, Measured *out)
{
    Vec(MeasuredOp) ops = {0};
    for (int i = 0; i < rows->n;) {
        const TimedPoint *first = &rows->at[i];
        Vec(MeasuredPoint) points = {0};
        while (i < rows->n && same_table(first, &rows->at[i]))
            vec_push(arena, &points, median_point(arena, rows, i, &i));
        MeasuredOp op = {first->op_type, first->dtype, first->n_sizes, points.n, points.at};
        vec_push(arena, &ops, op);
    }
    out->n_ops = ops.n;
    measured_sort(out, ops.at);
}

/* A collective alone between two shardings, with its ranks in `hops`. */
typedef struct {
    StepKind kind;
    TimedReshard timed;
} TimedStep;

typedef Vec(TimedStep) TimedSteps;

static void collect_steps(Arena *arena, const CalibratedRun *run, TimedSteps *out)
{
    const Plan *plan = run->plan;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        double times = run->report->reshard_times[i] * reshard_repeat(plan, reshard);
        double us = run->report->reshard_move_us[i];
        if (reshard->path->n_steps != 1 || us <= 0 || times <= 0)
            continue;
        const Step *step = &reshard->path->step[0];
        TimedStep timed = {
            step->kind,
            {(double)mesh_atoms_size(plan->mesh, step->atoms), (double)step->bytes, us / times}};
        if (timed.timed.hops > 1 && timed.timed.bytes > 0 && step->kind != STEP_SLICE)
            vec_push(arena, out, timed);
    }
}

/* One row for each kind and number of ranks. */
static void make_steps(Arena *arena, const TimedSteps *steps, Measured *out)
{
    Vec(MeasuredStep) rows = {0};
    bool *done = arena_array(arena, bool, steps->n);
    for (int i = 0; i < steps->n; i++) {
        TimedReshards alike = {0};
        const TimedStep *first = &steps->at[i];
        for (int k = i; k < steps->n && !done[i]; k++) {
            TimedStep step = steps->at[k];
            if (step.kind != first->kind || step.timed.hops != first->timed.hops)
                continue;
            done[k] = k > i;
            step.timed.hops = 1;
            vec_push(arena, &alike, step.timed);
        }
        double latency, per_byte;
        if (!fit_line(&alike, &latency, &per_byte))
            continue;
        MeasuredStep row = {first->kind, (int64_t)first->timed.hops, latency, 1e6 / per_byte};
        vec_push(arena, &rows, row);
    }
    out->step = rows.at;
    out->n_steps = rows.n;
}

const Measured *calibrate_tables(Arena *arena, const CalibratedRun *runs, int n)
{
    Measured *out = arena_make(arena, Measured);
    TimedPoints points = {0};
    TimedSteps steps = {0};
    for (int i = 0; i < n; i++) {
        collect_points(arena, &runs[i], &points);
        collect_steps(arena, &runs[i], &steps);
    }
    if (points.n > 0)
        qsort(points.at, (size_t)points.n, sizeof *points.at, by_table);
    make_ops(arena, &points, out);
    make_steps(arena, &steps, out);
    return out;
}

bool calibrate(const Plan *plan, const RunReport *report, Machine *out, Calibration *fitted,
               Error *err)
{
    if (!cluster_refuse(plan->machine, "calibrate", err))
        return false;
    Times times = {.plan = plan, .arena = arena_new()};
    *out = *plan->machine;
    forget_kernels(out);
    *fitted = (Calibration){.has_launch = false};
    collect(&times, report);
    bool any = times.ops.n > 0;
    if (any) {
        fitted->has_launch = fit_launch(&times, out);
        fitted->has_matmul = fit_matmul(&times, out);
        fitted->has_memory = fit_memory(&times, out);
        fitted->has_vector = fit_vector(&times, out);
        fitted->has_gather = fit_gather(&times, out);
        fitted->has_link = fit_link(&times, out);
        fitted->ops =
            (CalibrateFit){times.ops.n, median_error_of_ops(&times, plan->machine, WORK_VIEW),
                           median_error_of_ops(&times, out, WORK_VIEW)};
        fitted->reshards =
            (CalibrateFit){times.reshards.n, predicted_error_of_reshards(&times, report),
                           median_error_of_reshards(&times, &out->inside)};
    }
    arena_free(times.arena);
    return any || error_kind(err, ERROR_USAGE, "this model has no op to time");
}
