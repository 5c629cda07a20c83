#include "core/run/verify.h"

#include <math.h>

/*   type      rtol  atol, per largest element */
static const struct {
    Dtype dtype;
    Tolerance tolerance;
} tolerances[] = {
    {DT_F64, {1e-9, 1e-10}},
    {DT_F32, {1e-4, 1e-5}},
    {DT_F16, {1e-2, 1e-3}},
    {DT_BF16, {5e-2, 1e-2}},
};

static const double atol_floor = 1e-7;

Tolerance tolerance_for(Dtype dtype, double range)
{
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
        if (tolerances[i].dtype == dtype) {
            Tolerance found = tolerances[i].tolerance;
            found.atol = fmax(found.atol * range, dtype == DT_F64 ? 0 : atol_floor);
            return found;
        }
    return (Tolerance){0, 0};
}

double local_range(const Local *whole)
{
    double range = 0;
    int64_t n = shape_elements(&whole->shape);
    for (int64_t i = 0; dtype_is_computed(whole->dtype) && i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        elements_load(whole->dtype, local_at(whole, i), 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            if (isfinite(block.f64[k]))
                range = fmax(range, fabs(block.f64[k]));
    }
    return range;
}

int64_t local_count_strange(const Local *part)
{
    int64_t n = shape_elements(&part->shape), n_strange = 0;
    if (!dtype_is_float(part->dtype) || !dtype_is_computed(part->dtype))
        return 0;
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        elements_load(part->dtype, local_at(part, i), 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            n_strange += !isfinite(block.f64[k]);
    }
    return n_strange;
}

void difference_join(Difference *into, const Difference *other)
{
    into->bits += other->bits;
    into->max_abs = fmax(into->max_abs, other->max_abs);
    into->max_rel = fmax(into->max_rel, other->max_rel);
    into->max_ulp = other->max_ulp > into->max_ulp ? other->max_ulp : into->max_ulp;
    into->ok = into->ok && other->ok;
}

/* An element of float type that is not the same bits. */
static Difference float_difference(Dtype dtype, const void *got, const void *want,
                                   Tolerance tolerance)
{
    double x, y;
    elements_load(dtype, got, 1, 1, NUMBER_F64, &x);
    elements_load(dtype, want, 1, 1, NUMBER_F64, &y);
    Difference out = {.ok = true};
    if (x == y || (isnan(x) && isnan(y)))
        return out;
    out.max_abs = isfinite(x - y) ? fabs(x - y) : INFINITY;
    out.max_rel = y != 0 && isfinite(y) ? out.max_abs / fabs(y) : 0;
    out.max_ulp = element_ulps(dtype, got, want);
    out.ok = isfinite(y) && out.max_abs <= tolerance.atol + tolerance.rtol * fabs(y);
    return out;
}

static Difference int_difference(Dtype dtype, const void *got, const void *want)
{
    int64_t x, y;
    Difference out = {.ok = false};
    if (!dtype_is_computed(dtype))
        return out;
    elements_load(dtype, got, 1, 1, NUMBER_I64, &x);
    elements_load(dtype, want, 1, 1, NUMBER_I64, &y);
    uint64_t apart = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    out.max_abs = (double)apart;
    out.max_rel = y != 0 ? out.max_abs / fabs((double)y) : 0;
    out.max_ulp = apart < INT64_MAX ? (int64_t)apart : INT64_MAX;
    return out;
}

static Difference element_difference(const Local *part, int64_t i, const Local *whole, int64_t k,
                                     Tolerance tolerance)
{
    const void *got = local_at(part, i), *want = local_at(whole, k);
    if (memcmp(got, want, (size_t)element_bytes(part->dtype)) == 0)
        return (Difference){.ok = true};
    return dtype_is_float(part->dtype) && dtype_is_computed(part->dtype)
               ? float_difference(part->dtype, got, want, tolerance)
               : int_difference(part->dtype, got, want);
}

/* Where each element of the part is in the whole. */
static Picks picks_in_whole(const Local *part, const Local *whole, Arena *scratch)
{
    Picks picks = picks_new(scratch, &part->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&whole->shape, stride);
    for (int d = 0; d < picks.n_dims; d++)
        picks_global(&picks, d, &part->runs[d], stride[d]);
    return picks;
}

void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out)
{
    Arena *scratch = arena_new();
    Picks picks = picks_in_whole(part, whole, scratch);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++) {
            Difference one =
                element_difference(part, s.to + i, whole, s.from + i * s.step, tolerance);
            difference_join(out, &one);
        }
    arena_free(scratch);
}

static void read_number(const Local *local, int64_t i, double *out)
{
    if (out)
        *out = 0;
    if (out && dtype_is_computed(local->dtype))
        elements_load(local->dtype, local_at(local, i), 1, 1, NUMBER_F64, out);
}

bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want)
{
    Arena *scratch = arena_new();
    Picks picks = picks_in_whole(part, whole, scratch);
    int64_t found = -1;
    Stretch s;
    for (PickScan scan = picks_scan(&picks); found < 0 && picks_next(&scan, &s);)
        for (int64_t i = 0; found < 0 && i < s.n; i++)
            if (!element_difference(part, s.to + i, whole, s.from + i * s.step, tolerance).ok) {
                found = s.from + i * s.step;
                read_number(part, s.to + i, got);
                read_number(whole, found, want);
            }
    arena_free(scratch);
    *at = whole->shape;
    for (int64_t d = whole->shape.n_dims - 1, rest = found; found >= 0 && d >= 0; d--) {
        at->dim[d] = rest % whole->shape.dim[d];
        rest /= whole->shape.dim[d];
    }
    return found >= 0;
}

/* ---- the reference ---- */

static void note_use(Reference *reference, int32_t slot, int at)
{
    if (slot >= 0)
        reference->last[reference->program->slots[slot].tensor] = at;
}

/* The tensors an instruction has to do with; those of outputs and of what is loaded once stay. */
static void find_last_uses(Reference *reference)
{
    const Program *program = reference->program;
    const Graph *graph = reference->inferred->graph;
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->kind == INSTR_FREE)
            continue;
        note_use(reference, instr->slot, i);
        note_use(reference, instr->from, i);
        if (instr->kind != INSTR_OP)
            continue;
        const GraphOp *op = &graph->ops[instr->op];
        for (int k = 0; k < op->n_inputs; k++)
            note_use(reference, program->operand[op->input + k], i);
        for (int k = 0; k < op->n_outputs; k++)
            note_use(reference, program->operand[op_output_place(op) + k], i);
    }
    for (int i = 0; i < graph->n_outputs; i++)
        note_use(reference, program->output[i], program->n_instrs);
}

void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out)
{
    int n = inferred->graph->n_tensors;
    *out = (Reference){.inferred = inferred, .program = program, .feeds = feeds};
    out->blas = blas;
    out->world = world;
    out->arena = arena;
    out->value = arena_array(arena, Local *, n);
    out->tolerance = arena_array(arena, Tolerance, n);
    out->last = arena_array(arena, int, n);
    find_last_uses(out);
}

void reference_close(Reference *reference)
{
    for (int i = 0; i < reference->live.n; i++)
        local_free(reference->value[reference->live.at[i]]);
    reference->live.n = 0;
}

static void keep(Reference *reference, int32_t tensor)
{
    const Local *value = reference->value[tensor];
    reference->tolerance[tensor] = tolerance_for(value->dtype, local_range(value));
    vec_push(reference->arena, &reference->live, tensor);
}

static void free_dead(Reference *reference, int at)
{
    int n = 0;
    for (int i = 0; i < reference->live.n; i++) {
        int32_t tensor = reference->live.at[i];
        if (reference->last[tensor] >= at) {
            reference->live.at[n++] = tensor;
            continue;
        }
        local_free(reference->value[tensor]);
        reference->value[tensor] = NULL;
    }
    reference->live.n = n;
}

static void load(Reference *reference, int32_t tensor)
{
    if (reference->value[tensor])
        return;
    const Inferred *inferred = reference->inferred;
    Arena *scratch = arena_new();
    reference->value[tensor] =
        local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
    feed_fill(reference->feeds, tensor, reference->value[tensor], scratch);
    arena_free(scratch);
    keep(reference, tensor);
}

/* What process 0 made comes to the others. */
static bool share(Reference *reference, int32_t op, bool ok, Error *err)
{
    World *world = reference->world;
    const Inferred *inferred = reference->inferred;
    if (world->n == 1)
        return ok;
    if (!world->share(world, &ok, sizeof ok, 0, err))
        return false;
    for (int i = 0; ok && i < inferred->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, op)[i];
        if (tensor < 0 || !inferred_shape(inferred, tensor))
            continue;
        if (!reference->value[tensor])
            reference->value[tensor] =
                local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        Local *value = reference->value[tensor];
        ok = world->share(world, value->data, local_bytes(value), 0, err);
    }
    return ok || error_kind(err, ERROR_RUN, "the first process could not run the op");
}

static bool run_reference_op(Reference *reference, int32_t op, Error *err)
{
    bool ok = reference->world->me > 0 ||
              kernel_run_whole(reference->inferred, op, reference->program->kernel[op],
                               reference->blas, reference->feeds->seed, reference->value, err);
    return share(reference, op, ok, err);
}

bool reference_step(Reference *reference, int at, Error *err)
{
    const Instr *instr = &reference->program->instrs[at];
    if (instr->kind == INSTR_LOAD)
        load(reference, reference->program->slots[instr->slot].tensor);
    if (instr->kind == INSTR_OP || instr->kind == INSTR_STEP)
        free_dead(reference, at);
    if (instr->kind != INSTR_OP)
        return true;
    const Graph *graph = reference->inferred->graph;
    bool ok = run_reference_op(reference, instr->op, err);
    for (int i = 0; i < graph->ops[instr->op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, instr->op)[i];
        if (tensor >= 0 && reference->value[tensor])
            keep(reference, tensor);
    }
    return ok;
}
