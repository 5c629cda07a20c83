#include "core/run/estimate.h"

#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/cost/memory.h"
#include "core/cost/step_comm.h"
#include "core/run/kernel.h"

#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* How often the work of an op and of an element is done, found by runs of the samples. */
enum {
    ELEMENTS_OP = 1,       /* reads of an element by a kernel, in those of measure_element_us() */
    ELEMENTS_DRAWN = 1,    /* the same for a number that is drawn */
    WHOLE_RUNS = 3,        /* verify: by the reference, on the joined inputs, for the bounds */
    ELEMENTS_CHANGED = 1,  /* verify: of an operand, for bounds */
    ELEMENTS_VERIFIED = 6, /* verify: of a result, for bounds and comparisons */
    WHOLE_COPIES = 5       /* verify: of the results of the largest op, with bounds in f64 */
};

/* ---- this machine ---- */

typedef struct {
    double blas_flops_per_us, plain_flops_per_us;
    double element_us;
    double n_cores;
} Speed;

/* Slower than any machine in use: a run that is short by these numbers is short. */
static const Speed slowest = {1e3, 0.2e3, 0.02, 1};

/* Of this thread, so that other programs do not count. */
static double cpu_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The rate of a product of n x n matrices, the best of three. */
static double measure_product(KernelCall *call, int64_t n)
{
    enum { TIMES = 3 };
    Product product = {.m = n, .n = n, .k = n, .scale = 1};
    float *a = arena_array(call->scratch, float, n *n);
    float *b = arena_array(call->scratch, float, n *n);
    float *out = arena_array(call->scratch, float, n *n);
    double least_us = INFINITY;
    for (int64_t i = 0; i < n * n; i++)
        a[i] = b[i] = (float)(i % 7);
    for (int i = 0; i < TIMES; i++) {
        double begin_us = cpu_now_us();
        kernel_multiply(call, &product, DT_F32, a, b, out);
        least_us = fmin(least_us, cpu_now_us() - begin_us);
    }
    return 2 * (double)n * (double)n * (double)n / fmax(least_us, 1);
}

static double measure_element_us(void)
{
    enum { N = 1 << 18 };
    Shape shape = {.n_dims = 1, .dim = {N}};
    Local *local = local_new_whole(DT_F32, &shape);
    double sum = 0, x, begin_us = cpu_now_us();
    for (int64_t i = 0; local && i < N; i++) {
        local_load(local, i, 1, 1, NUMBER_F64, &x);
        sum += fabs(x);
    }
    double us = (cpu_now_us() - begin_us) / N;
    local_free(local);
    return isfinite(sum) ? us : 0;
}

static Speed measure(void)
{
    enum { BLAS_SIDE = 384, PLAIN_SIDE = 160 };
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    KernelCall call = {.scratch = arena_new()};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    Speed speed = {.n_cores = cores > 1 ? (double)cores : 1};
    speed.plain_flops_per_us = measure_product(&call, PLAIN_SIDE);
    call.blas = &lock;
    speed.blas_flops_per_us = measure_product(&call, BLAS_SIDE);
    speed.element_us = measure_element_us();
    arena_free(call.scratch);
    return speed;
}

/* ---- the work of a run ---- */

typedef struct {
    double blas_flops, plain_flops, elements;
} WorkDone;

static double work_us(const WorkDone *work, const Speed *speed)
{
    return work->blas_flops / speed->blas_flops_per_us +
           work->plain_flops / speed->plain_flops_per_us + work->elements * speed->element_us;
}

/* Elements of the operands, and of the results alone, whole. */
static double elements_of(const Plan *plan, int32_t op, bool results)
{
    const GraphOp *at = &plan->inferred->graph->ops[op];
    double n = 0;
    for (int32_t i = results ? op_output_place(at) : at->input;
         i < op_output_place(at) + at->n_outputs; i++) {
        int32_t tensor = plan->inferred->graph->operands[i];
        const Shape *shape = tensor < 0 ? NULL : inferred_shape(plan->inferred, tensor);
        n += shape ? (double)shape_elements(shape) : 0;
    }
    return n;
}

/* Products go over their elements inside BLAS. */
static void add_work(const RunOptions *options, const OpCost *cost, double flops, double elements,
                     WorkDone *out)
{
    bool blas = (cost->dtype == DT_F32 || cost->dtype == DT_F64) && !options->deterministic;
    if (cost->work == WORK_MATMUL)
        *(blas ? &out->blas_flops : &out->plain_flops) += flops;
    else
        out->elements += ELEMENTS_OP * elements;
}

/* How often a pass runs an op: in a training step once a micro-batch, but for the update. */
static double passes_of(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    bool repeats = graph->phase && graph->phase[op] != PHASE_UPDATE;
    return repeats ? plan_micro_batches(plan) : 1;
}

/* The work of a pass on rank 0, and what verifying it adds. A rank has one part of as many as there
 * are devices, or more of an op; ops that cost no FLOPs on it do not say how much. */
static void add_ops(const Plan *plan, const RunOptions *options, WorkDone *pass, WorkDone *verify)
{
    const double least_share = 1.0 / (double)plan->mesh->n_devices;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        if (inferred_is_host(plan->inferred, op))
            continue;
        OpCost cost = op_cost(plan, op);
        const OpSpace *space = inferred_space(plan->inferred, op);
        double times = fmax(inferred_repeat(plan->inferred, op), 1) * passes_of(plan, op);
        double whole = space ? space->flops : 0;
        double share = fmax(whole > 0 ? cost.flops / whole : 1, least_share);
        double elements = (double)cost.bytes / fmax((double)element_bytes(cost.dtype), 1);
        add_work(options, &cost, times * cost.flops, times * elements, pass);
        add_work(options, &cost, times * WHOLE_RUNS * whole, times * WHOLE_RUNS * elements / share,
                 verify);
        verify->elements += times * (ELEMENTS_CHANGED * elements_of(plan, op, false) +
                                     ELEMENTS_VERIFIED * elements_of(plan, op, true));
    }
}

static double parameter_elements(const Plan *plan)
{
    const Graph *graph = plan->inferred->graph;
    double n = 0;
    for (int t = 0; t < graph->n_tensors; t++) {
        const Shape *shape =
            tensor_is_parameter(plan->inferred, t) ? inferred_shape(plan->inferred, t) : NULL;
        n += shape ? (double)shape_elements(shape) : 0;
    }
    return n;
}

static void estimate_us(const Plan *plan, const RunOptions *options, const Speed *speed,
                        RunEstimate *out)
{
    WorkDone pass = {0}, verify = {0};
    add_ops(plan, options, &pass, &verify);
    double n_ranks = (double)plan->mesh->n_devices, at_once = fmin(n_ranks, speed->n_cores);
    double parameters = parameter_elements(plan) * speed->element_us;
    InitMemory memory;
    memory_init(plan, 0, &memory);
    double parts = memory.whole_bytes > 0
                       ? (double)memory.parts_bytes / (double)memory.whole_bytes * n_ranks / at_once
                       : 0;
    out->fixed_us = ELEMENTS_DRAWN * parameters * parts;
    if (options->verify)
        out->fixed_us += parameters * ELEMENTS_DRAWN;
    out->us = out->fixed_us + work_us(&pass, speed) * run_passes(options) * n_ranks / at_once;
    if (options->verify)
        out->us += work_us(&verify, speed);
}

/* Of the largest op: the copies of its results, and bounds, that a verifying pass makes. */
static double largest_check_bytes(const Plan *plan)
{
    double most = 0;
    for (int i = 0; i < plan->inferred->n_program; i++)
        most = fmax(most, elements_of(plan, plan->inferred->program[i], true));
    return most * (double)sizeof(float) * WHOLE_COPIES;
}

void run_estimate_memory(const Plan *plan, const RunOptions *options, RunEstimate *out)
{
    *out = (RunEstimate){0};
    Arena *scratch = arena_new();
    InitMemory memory;
    memory_init(plan, 0, &memory);
    double n_ranks = (double)plan->mesh->n_devices;
    out->fixed_bytes = (double)memory.parts_bytes * n_ranks;
    out->bytes = (double)memory_use_in_run(scratch, plan).peak_bytes * n_ranks;
    arena_free(scratch);
    if (options->verify) {
        out->fixed_bytes += (double)memory.whole_bytes;
        out->bytes += (double)memory.whole_bytes + largest_check_bytes(plan);
    }
    double has = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    out->machine_bytes = has > 0 ? has : 0;
}

void run_estimate(const Plan *plan, const RunOptions *options, RunEstimate *out)
{
    run_estimate_memory(plan, options, out);
    estimate_us(plan, options, &slowest, out);
    if (out->us < RUN_LONG_US)
        return;
    Speed speed = measure();
    estimate_us(plan, options, &speed, out);
}

/* ---- in words ---- */

static void put_about(double us, Buf *out)
{
    double s = us / 1e6;
    if (s >= 2 * 3600)
        buf_printf(out, "about %.*f h", s < 36000, s / 3600);
    else if (s >= 120)
        buf_printf(out, "about %.0f min", s / 60);
    else
        buf_printf(out, "about %.0f s", fmax(s, 1));
}

void run_estimate_put(const RunEstimate *estimate, Buf *out)
{
    put_about(estimate->us, out);
    buf_puts(out, " on this machine, ");
    units_format_bytes((int64_t)estimate->bytes, out);
}

/* The free dims with the sizes they have: of several bindings the last one holds. */
static void bound_dims(Arena *arena, const Session *session, DimBindings *out)
{
    const DimBindings *all = &session->options.dims;
    *out = (DimBindings){0};
    for (int i = 0; i < all->n; i++) {
        bool again = false;
        for (int k = i + 1; k < all->n; k++)
            again |= str_eq(all->at[k].name, all->at[i].name);
        if (!again && all->at[i].size > 1)
            vec_push(arena, out, all->at[i]);
    }
}

const char *run_estimate_smaller(Arena *arena, const Session *session, const RunEstimate *estimate,
                                 RunEstimate *smaller)
{
    DimBindings dims;
    double share = 1;
    Buf text = buf_new(arena);
    bound_dims(arena, session, &dims);
    for (;;) {
        *smaller = *estimate;
        smaller->us = estimate->fixed_us + share * (estimate->us - estimate->fixed_us);
        smaller->bytes = estimate->fixed_bytes + share * (estimate->bytes - estimate->fixed_bytes);
        if (smaller->us < RUN_LONG_US / 2 && smaller->bytes < smaller->machine_bytes)
            break;
        int largest = 0;
        for (int i = 1; i < dims.n; i++)
            if (dims.at[i].size > dims.at[largest].size)
                largest = i;
        if (dims.n == 0 || dims.at[largest].size <= 1)
            return NULL;
        int64_t *size = &dims.at[largest].size, half = (*size + 1) / 2;
        share *= (double)half / (double)*size;
        *size = half;
    }
    for (int i = 0; i < dims.n; i++)
        buf_printf(&text, "%s%.*s=%lld", i > 0 ? "," : "", STR_ARG(dims.at[i].name),
                   (long long)dims.at[i].size);
    return text.s;
}

/* ---- memory ---- */

static void hint_smaller(const Session *session, const RunEstimate *estimate, Error *err)
{
    Arena *scratch = arena_new();
    RunEstimate smaller;
    const char *dims = session ? run_estimate_smaller(scratch, session, estimate, &smaller) : NULL;
    if (estimate->fixed_bytes >= estimate->machine_bytes)
        error_hint(
            err,
            "parameters alone are %.1f GiB: shard them by more axes, or choose a smaller model",
            estimate->fixed_bytes / 0x1p30);
    else if (dims)
        error_hint(err, "--dim %s needs %.1f GiB", dims, smaller.bytes / 0x1p30);
    else
        error_hint(err, "bind smaller dims: --dim batch=1,seq=16");
    arena_free(scratch);
}

bool run_estimate_fits(const Session *session, const RunEstimate *estimate, Error *err)
{
    if (estimate->machine_bytes <= 0 || estimate->bytes < estimate->machine_bytes)
        return true;
    error_kind(err, ERROR_USAGE, "the ranks need %.1f GiB, this machine has %.1f",
               estimate->bytes / 0x1p30, estimate->machine_bytes / 0x1p30);
    hint_smaller(session, estimate, err);
    return false;
}
