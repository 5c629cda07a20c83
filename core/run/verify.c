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
    double most = 0;
    for (int i = 0; i < whole->items.n; i++)
        most = fmax(most, local_range(whole->items.at[i]));
    if (whole->sequence || whole->nothing)
        return most;
    double range = 0;
    int64_t n = shape_elements(&whole->shape);
    for (int64_t i = 0; dtype_is_computed(whole->dtype) && i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(whole, i, 1, n_block, NUMBER_F64, &block);
        for (int64_t k = 0; k < n_block; k++)
            if (isfinite(block.f64[k]))
                range = fmax(range, fabs(block.f64[k]));
    }
    return range;
}

int64_t local_count_strange(const Local *part)
{
    int64_t n = shape_elements(&part->shape), n_strange = 0;
    for (int i = 0; i < part->items.n; i++)
        n_strange += local_count_strange(part->items.at[i]);
    if (part->sequence || part->nothing)
        return n_strange;
    if (!dtype_is_float(part->dtype) || !dtype_is_computed(part->dtype))
        return 0;
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(part, i, 1, n_block, NUMBER_F64, &block);
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

/* A float element with other bits. */
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

void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out)
{
    if (!local_same_type(part, whole)) {
        *out = (Difference){.max_abs = INFINITY, .ok = false};
        return;
    }
    for (int i = 0; i < part->items.n; i++)
        local_compare(part->items.at[i], whole->items.at[i], tolerance, out);
    if (part->sequence || part->nothing)
        return;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
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
        local_load(local, i, 1, 1, NUMBER_F64, out);
}

bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want)
{
    if (!local_same_type(part, whole)) {
        *at = (Shape){0};
        return true;
    }
    for (int i = 0; i < part->items.n; i++)
        if (local_first_wrong(part->items.at[i], whole->items.at[i], tolerance, at, got, want))
            return true;
    if (part->sequence || part->nothing)
        return false;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
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

void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out)
{
    int n = inferred->graph->n_tensors;
    *out = (Reference){.inferred = inferred, .program = program, .feeds = feeds};
    out->blas = blas;
    out->world = world;
    out->arena = arena;
    out->value = arena_array(arena, Local *, n);
    out->list = arena_array(arena, Local *, n);
    out->tolerance = arena_array(arena, Tolerance, n);
    out->filled = arena_array(arena, bool, program->n_slots);
    out->n_filled = arena_array(arena, int32_t, n);
}

static void drop(Local **value)
{
    local_free(*value);
    *value = NULL;
}

void reference_close(Reference *reference)
{
    for (int32_t t = 0; t < reference->inferred->graph->n_tensors; t++) {
        drop(&reference->value[t]);
        drop(&reference->list[t]);
    }
}

static void keep(Reference *reference, int32_t tensor)
{
    const Local *value = reference->value[tensor];
    reference->tolerance[tensor] = tolerance_for(value->dtype, local_range(value));
}

static void fill(Reference *reference, int32_t slot)
{
    if (slot < 0 || reference->filled[slot])
        return;
    reference->filled[slot] = true;
    reference->n_filled[reference->program->slots[slot].tensor]++;
}

static void empty(Reference *reference, int32_t slot)
{
    int32_t tensor = reference->program->slots[slot].tensor;
    if (!reference->filled[slot])
        return;
    reference->filled[slot] = false;
    if (--reference->n_filled[tensor] == 0)
        vec_push(reference->arena, &reference->dead, tensor);
}

static void free_dead(Reference *reference)
{
    for (int i = 0; i < reference->dead.n; i++)
        if (reference->n_filled[reference->dead.at[i]] == 0)
            drop(&reference->value[reference->dead.at[i]]);
    reference->dead.n = 0;
}

static void load(Reference *reference, int32_t tensor)
{
    if (reference->value[tensor])
        return;
    const Inferred *inferred = reference->inferred;
    const Local *listed = feed_listed(reference->feeds, tensor);
    Arena *scratch = arena_new();
    if (listed) {
        reference->value[tensor] = local_copy(listed);
    } else {
        reference->value[tensor] =
            local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        feed_fill(reference->feeds, tensor, reference->value[tensor], scratch);
    }
    arena_free(scratch);
    keep(reference, tensor);
}

/* Broadcasts what process 0 computed. */
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

/* Values of unknown shape are not broadcast: every process computes them. */
static bool is_told_late(const Inferred *inferred, int32_t op)
{
    for (int i = 0; i < inferred->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, op)[i];
        if (tensor >= 0 && !inferred_shape(inferred, tensor))
            return true;
    }
    return false;
}

/* The reader of a list has it instead of the value of one iteration. */
static bool run_op(Reference *reference, int32_t op, int64_t iteration, Error *err)
{
    const Inferred *inferred = reference->inferred;
    const GraphOp *at = &inferred->graph->ops[op];
    int32_t list = at->n_inputs > 0 ? reference->program->operand[at->input] : -1;
    int32_t yields = at->n_inputs > 0 ? op_inputs(inferred->graph, op)[0] : -1;
    int32_t made = at->n_outputs > 0 ? op_outputs(inferred->graph, op)[0] : -1;
    bool collected = list >= 0 && made >= 0 && yields >= 0 && yields != made &&
                     reference->program->slots[list].tensor == made;
    bool late = is_told_late(inferred, op);
    for (int i = 0; i < at->n_outputs; i++)
        if (op_outputs(inferred->graph, op)[i] >= 0)
            drop(&reference->value[op_outputs(inferred->graph, op)[i]]);
    Local *last = collected ? reference->value[yields] : NULL;
    if (collected)
        reference->value[yields] = reference->list[made];
    bool ok = (reference->world->me > 0 && !late) ||
              kernel_run_whole(inferred, op, reference->program->kernel[op], reference->blas,
                               reference->feeds->seed, iteration, reference->value, err);
    if (collected) {
        reference->value[yields] = last;
        drop(&reference->list[made]);
    }
    return late ? ok : share(reference, op, ok, err);
}

static bool do_op(Reference *reference, int32_t op, const int64_t *iteration, Error *err)
{
    const Program *program = reference->program;
    const Graph *graph = reference->inferred->graph;
    int32_t loop = program->loop_of[op];
    bool ok = run_op(reference, op, loop < 0 ? 0 : iteration[loop], err);
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor < 0 || !reference->value[tensor])
            continue;
        keep(reference, tensor);
        fill(reference, program->operand[op_output_place(&graph->ops[op]) + i]);
    }
    return ok;
}

static bool out_of_memory(Error *err)
{
    return error_kind(err, ERROR_RUN, "out of memory on one device");
}

static bool collect(Reference *reference, const Instr *instr, Error *err)
{
    const Slot *slots = reference->program->slots;
    const Local *from = reference->value[slots[instr->from].tensor];
    Local **list = &reference->list[slots[instr->slot].tensor], *item = local_copy(from);
    if (!item)
        return out_of_memory(err);
    if (!*list)
        *list = local_new_sequence(item->dtype);
    local_append(*list, item);
    return true;
}

/* Moves are parallel: sources are copied before targets are replaced. */
static bool move_all(Reference *reference, const ProgramLoop *loop, Error *err)
{
    const Program *program = reference->program;
    Arena *scratch = arena_new();
    Local **taken = arena_array(scratch, Local *, loop->n_moves);
    bool ok = true;
    for (int i = 0; i < loop->n_moves && ok; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        taken[i] = local_copy(reference->value[program->slots[move->from].tensor]);
        ok = taken[i] != NULL;
    }
    for (int i = 0; i < loop->n_moves && ok; i++) {
        const ProgramMove *move = &program->moves[loop->first_move + i];
        int32_t to = program->slots[move->to].tensor;
        if (!move->keeps)
            empty(reference, move->from);
        drop(&reference->value[to]);
        reference->value[to] = taken[i];
        keep(reference, to);
        fill(reference, move->to);
    }
    arena_free(scratch);
    return ok || out_of_memory(err);
}

bool reference_step(Reference *reference, int at, const int64_t *iteration, Error *err)
{
    const Program *program = reference->program;
    const Instr *instr = &program->instrs[at];
    switch (instr->kind) {
    case INSTR_LOAD:
        load(reference, program->slots[instr->slot].tensor);
        fill(reference, instr->slot);
        return true;
    case INSTR_OP:
        free_dead(reference);
        return do_op(reference, instr->op, iteration, err);
    case INSTR_STEP:
        free_dead(reference);
        fill(reference, instr->slot);
        return true;
    case INSTR_FREE:
        empty(reference, instr->slot);
        return true;
    case INSTR_COLLECT:
        return collect(reference, instr, err);
    case INSTR_BACK:
        free_dead(reference);
        return move_all(reference, &program->loops[instr->body], err);
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_NEXT:
        break;
    }
    return true;
}
