#include "core/run/rounding.h"

#include "core/run/draw.h"

#include <float.h>
#include <math.h>

enum { ULPS = 4, MOVES = 2 };

/* ORDER ROUNDING */
static const char *const names[] = {"sensitive", "exact", "ulps", "operands", "sum", "step"};

const char *rounding_name(Rounding rounding)
{
    return names[rounding];
}

/*   type, bits of the significand with the leading one, exponent of the smallest normal number */
static const struct {
    Dtype dtype;
    int bits, least;
} formats[] = {
    {DT_F64, 53, -1022},  {DT_F32, 24, -126},     {DT_F16, 11, -14},   {DT_BF16, 8, -126},
    {DT_F8E4M3FN, 4, -6}, {DT_F8E4M3FNUZ, 4, -7}, {DT_F8E5M2, 3, -14}, {DT_F8E5M2FNUZ, 3, -15},
    {DT_F4E2M1, 2, 0},    {DT_F6E2M3, 4, 0},      {DT_F6E3M2, 3, -2},  {DT_F8E8M0, 1, -127},
};

double dtype_unit(Dtype dtype)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].dtype == dtype)
            return ldexp(1, -formats[i].bits);
    return 0;
}

/* Wide types may flush what is below the smallest normal number; narrow ones are computed in f32
 * and keep it. */
double dtype_tiny(Dtype dtype)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].dtype == dtype)
            return ldexp(1, formats[i].least - (formats[i].bits < 24 ? formats[i].bits - 1 : 0));
    return 0;
}

/* ---- what the bounds are made of ---- */

/* Narrow floats are computed in f32. */
static double computed_unit(Dtype dtype)
{
    return fmin(dtype_unit(dtype), dtype_unit(DT_F32));
}

static bool is_float_tensor(const Local *local)
{
    return local && !local->sequence && !local->nothing && dtype_is_float(local->dtype) &&
           dtype_is_computed(local->dtype);
}

/* How many numbers are added up (or scanned) for one element of a result: the product of the index
 * dims that outputs do not have; without these, one of each input (Sum), or all of an input. */
static double count_addends(const WholeOp *call)
{
    const OpSpace *space = program_space(call->inferred, call->op);
    double n = 1;
    for (int i = 0; space && i < space->n_index; i++)
        if (space->index[i].role != ROLE_MAP)
            n *= (double)space->index[i].size;
    if (space && !space->no_rule && n > 1)
        return n;
    const GraphOp *at = &call->inferred->graph->ops[call->op];
    n = fmax(n, at->n_inputs);
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t tensor = op_inputs(call->inferred->graph, call->op)[i];
        if (tensor >= 0 && is_float_tensor(call->value[tensor]))
            n = fmax(n, (double)shape_elements(&call->value[tensor]->shape));
    }
    return n;
}

static double growth(double n_addends)
{
    return fmin(n_addends, 8 * sqrt(n_addends));
}

/* ---- the op on other operands ---- */

static double magnitude(double x, Dtype dtype, uint64_t key, int64_t i)
{
    (void)dtype, (void)key, (void)i;
    return fabs(x);
}

/* The relative change: large enough that rounding does not hide its effect. */
static double move_of(Dtype dtype)
{
    double unit = dtype_unit(dtype);
    return unit < 0x1p-40 ? 0x1p-26 : unit < 0x1p-20 ? 0x1p-10 : unit < 0x1p-10 ? 0x1p-5 : 0x1p-3;
}

static double moved(double x, Dtype dtype, uint64_t key, int64_t i)
{
    return x * (1 + (draw_uniform(key, i) < 0 ? -1 : 1) * move_of(dtype));
}

static Local *changed(const Local *from, NumberChange *change, uint64_t key)
{
    Local *out = local_copy(from);
    int64_t n = out ? shape_elements(&out->shape) : 0;
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(out, i, 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            block.f64[k] = change(block.f64[k], out->dtype, key, i + k);
        local_store(out, i, n_block, NUMBER_F64, &block);
    }
    return out;
}

/* The magnitudes of what ranks compute on, where that is addends. */
static void use_addends(Local *to, const double *size)
{
    for (int64_t i = 0; size && i < shape_elements(&to->shape); i++)
        local_store(to, i, 1, NUMBER_F64, &size[i]);
}

/* Whether an earlier input of the op is the same tensor. */
static bool is_read_before(const int32_t *inputs, int input)
{
    for (int i = 0; i < input; i++)
        if (inputs[i] == inputs[input])
            return true;
    return false;
}

/* The outputs of the op on changed float operands, which the caller frees. Returns false if the
 * kernel refuses them. */
static bool run_changed(const WholeOp *call, NumberChange *change, uint64_t sample, Local **out)
{
    const Graph *graph = call->inferred->graph;
    const GraphOp *at = &graph->ops[call->op];
    const int32_t *inputs = op_inputs(graph, call->op), *outputs = op_outputs(graph, call->op);
    Arena *scratch = arena_new();
    Local **value = arena_array(scratch, Local *, graph->n_tensors);
    for (int i = 0; i < at->n_inputs; i++) {
        Local *given = inputs[i] < 0 ? NULL : call->value[inputs[i]];
        if (given && !is_read_before(inputs, i))
            value[inputs[i]] = is_float_tensor(given)
                                   ? changed(given, change, sample * OPERANDS_MAX + (uint64_t)i + 1)
                                   : given;
    }
    for (int i = 0; change == magnitude && call->addends && i < at->n_inputs; i++)
        if (inputs[i] >= 0 && value[inputs[i]] && is_float_tensor(value[inputs[i]]))
            use_addends(value[inputs[i]], call->addends[i]);
    bool ok = kernel_run_changed(call->inferred, call->op, call->kernel, call->blas, call->seed,
                                 call->iteration, change, sample * OPERANDS_MAX, value, NULL);
    for (int i = 0; i < at->n_outputs; i++) {
        out[i] = outputs[i] < 0 ? NULL : value[outputs[i]];
        if (!ok) {
            local_free(out[i]);
            out[i] = NULL;
        }
    }
    for (int i = 0; i < at->n_inputs; i++)
        if (inputs[i] >= 0 && !is_read_before(inputs, i) && is_float_tensor(call->value[inputs[i]]))
            local_free(value[inputs[i]]);
    arena_free(scratch);
    return ok;
}

static void free_all(Local **local, int n)
{
    for (int i = 0; i < n; i++)
        local_free(local[i]);
}

/* ---- bounds ---- */

typedef struct {
    Arena *arena;
    const WholeOp *call;
    const GraphOp *at;
    Local **want;   /* per output */
    double **bound; /* per output: what is being added up; NULL: equal or nothing */
    double growth;  /* min(K, 8 sqrt K) */
} Bounds;

static double number_at(const Local *local, int64_t i)
{
    double x = 0;
    local_load(local, i, 1, 1, NUMBER_F64, &x);
    return x;
}

/* Bounds each element by that many units of the result. Infinite and NaN results have no bound:
 * they must be equal. */
static void bound_by_result(const Bounds *b, int output, double units)
{
    const Local *want = b->want[output];
    double unit = computed_unit(want->dtype), stored = dtype_unit(want->dtype);
    stored = stored > unit ? stored : 0;
    for (int64_t i = 0, n = shape_elements(&want->shape); i < n; i++) {
        double size = fabs(number_at(want, i));
        if (isfinite(size))
            b->bound[output][i] += 2 * (units * unit + stored) * size + dtype_tiny(want->dtype);
    }
}

/* Whether the operand has one element for each element of the result. */
static bool is_parallel(const Local *operand, const Local *want)
{
    return shape_equal(&operand->shape, &want->shape);
}

static double largest(const Local *operand)
{
    double most = 0;
    for (int64_t i = 0, n = shape_elements(&operand->shape); i < n; i++) {
        double size = fabs(number_at(operand, i));
        most = isfinite(size) ? fmax(most, size) : most;
    }
    return most;
}

static void bound_by_operands(const Bounds *b, int output)
{
    const Local *want = b->want[output];
    const int32_t *inputs = op_inputs(b->call->inferred->graph, b->call->op);
    int64_t n = shape_elements(&want->shape);
    double units = 2 * ULPS * computed_unit(want->dtype);
    double *size = arena_array(b->arena, double, n), common = 1;
    for (int k = 0; k < b->at->n_inputs; k++) {
        const Local *operand = inputs[k] < 0 ? NULL : b->call->value[inputs[k]];
        if (!operand || !is_float_tensor(operand))
            continue;
        bool parallel = is_parallel(operand, want);
        if (!parallel)
            common = fmax(common, largest(operand));
        for (int64_t i = 0; parallel && i < n; i++)
            size[i] = fmax(size[i], fabs(number_at(operand, i)));
    }
    for (int64_t i = 0; i < n; i++)
        b->bound[output][i] += units * fmax(isfinite(size[i]) ? size[i] : 0, common);
    bound_by_result(b, output, ULPS);
}

/* An operand that is joined of addends is rounded once more, to the type in which it is stored. */
static double unit_of_joined(const Bounds *b)
{
    const int32_t *inputs = op_inputs(b->call->inferred->graph, b->call->op);
    double unit = 0;
    for (int i = 0; b->call->addends && i < b->at->n_inputs; i++)
        if (b->call->addends[i] && inputs[i] >= 0 && b->call->value[inputs[i]])
            unit = fmax(unit, dtype_unit(b->call->value[inputs[i]]->dtype));
    return unit;
}

/* Returns false when the op is not such a sum here (a negative factor, or magnitudes beyond the
 * type's range). */
static bool bound_by_sum(const Bounds *b)
{
    Local **sum = arena_array(b->arena, Local *, b->at->n_outputs);
    double joined = unit_of_joined(b);
    bool ok = run_changed(b->call, magnitude, 0, sum);
    for (int o = 0; ok && o < b->at->n_outputs; o++) {
        double unit = b->bound[o] ? computed_unit(b->want[o]->dtype) : 0;
        double stored = b->bound[o] ? (double)b->call->stored * dtype_unit(b->want[o]->dtype) : 0;
        ok = !b->bound[o] || (sum[o] && local_same_type(sum[o], b->want[o]));
        for (int64_t i = 0; ok && b->bound[o] && i < shape_elements(&b->want[o]->shape); i++) {
            double s = number_at(sum[o], i), size = fabs(number_at(b->want[o], i));
            ok = !isfinite(size) ||
                 (isfinite(s) && s >= size * (1 - 4 * dtype_unit(b->want[o]->dtype)));
            b->bound[o][i] = 2 * (unit * b->growth + joined + stored) * s;
        }
        if (ok && b->bound[o])
            bound_by_result(b, o, 1);
    }
    free_all(sum, b->at->n_outputs);
    return ok;
}

/* Raises bound[] to the difference that one sample makes, divided by the size of the change. */
static void note_moves(const Bounds *b, Local *const *sample)
{
    for (int o = 0; o < b->at->n_outputs; o++) {
        bool same = b->bound[o] && sample[o] && local_same_type(sample[o], b->want[o]);
        for (int64_t i = 0; same && i < shape_elements(&b->want[o]->shape); i++) {
            double apart = fabs(number_at(sample[o], i) - number_at(b->want[o], i));
            if (isfinite(apart))
                b->bound[o][i] = fmax(b->bound[o][i], apart / move_of(b->want[o]->dtype));
        }
    }
}

static void bound_by_moves(const Bounds *b)
{
    Local **sample = arena_array(b->arena, Local *, b->at->n_outputs);
    for (int o = 0; o < b->at->n_outputs; o++)
        for (int64_t i = 0; b->bound[o] && i < shape_elements(&b->want[o]->shape); i++)
            b->bound[o][i] = 0;
    for (uint64_t s = 1; s <= MOVES; s++)
        if (run_changed(b->call, moved, s, sample)) {
            note_moves(b, sample);
            free_all(sample, b->at->n_outputs);
        }
    for (int o = 0; o < b->at->n_outputs; o++) {
        if (!b->bound[o])
            continue;
        double unit = computed_unit(b->want[o]->dtype) * fmax(b->growth, ULPS);
        double factor = 2 * (unit + unit_of_joined(b));
        for (int64_t i = 0; i < shape_elements(&b->want[o]->shape); i++)
            b->bound[o][i] *= factor;
        bound_by_result(b, o, fmax(b->growth, ULPS));
    }
}

static bool is_counted(const Local *want, Rounding rounding)
{
    bool step = rounding == ROUNDING_STEP && want && !want->sequence && !want->nothing &&
                dtype_is_int(want->dtype);
    return is_float_tensor(want) || step;
}

/* Allows one step for a quantized integer, and units for other results. */
static void bound_by_step(const Bounds *b, int output)
{
    const Local *want = b->want[output];
    if (is_float_tensor(want))
        bound_by_result(b, output, ULPS);
    for (int64_t i = 0; !is_float_tensor(want) && i < shape_elements(&want->shape); i++)
        b->bound[output][i] = 1;
}

static void bound_each(const Bounds *b, Rounding rounding)
{
    for (int o = 0; o < b->at->n_outputs; o++) {
        if (!b->bound[o])
            continue;
        if (rounding == ROUNDING_ULPS)
            bound_by_result(b, o, ULPS);
        else if (rounding == ROUNDING_OPERANDS)
            bound_by_operands(b, o);
        else
            bound_by_step(b, o);
    }
}

void rounding_bounds(Arena *arena, const WholeOp *call, const double **bound, Rounding *used)
{
    const Graph *graph = call->inferred->graph;
    const GraphOp *at = &graph->ops[call->op];
    Rounding rounding = call->kernel->rounding;
    Bounds b = {.arena = arena, .call = call, .at = at, .growth = growth(count_addends(call))};
    if (call->addends)
        rounding = ROUNDING_SUM;
    b.want = arena_array(arena, Local *, at->n_outputs);
    b.bound = arena_array(arena, double *, at->n_outputs);
    bool any = false;
    for (int o = 0; o < at->n_outputs; o++) {
        int32_t tensor = op_outputs(graph, call->op)[o];
        b.want[o] = tensor < 0 ? NULL : call->value[tensor];
        if (rounding != ROUNDING_EXACT && is_counted(b.want[o], rounding))
            b.bound[o] = arena_array(arena, double, shape_elements(&b.want[o]->shape));
        any = any || b.bound[o];
        bound[o] = b.bound[o];
    }
    if (any && rounding == ROUNDING_SUM && !bound_by_sum(&b))
        rounding = ROUNDING_SENSITIVE;
    if (any && rounding == ROUNDING_SENSITIVE)
        bound_by_moves(&b);
    else if (any && rounding != ROUNDING_SUM)
        bound_each(&b, rounding);
    *used = any ? rounding : ROUNDING_EXACT;
}
