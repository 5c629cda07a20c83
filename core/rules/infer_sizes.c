#include "core/rules/infer_state.h"

#include <assert.h>
#include <inttypes.h>

enum {
    UNKNOWNS_MAX = 48,
    CANDIDATES_MAX = 12,
    ALIGNED_MAX = 64, /* operands whose dims are assumed to be equal */
    PARTLY_ELEMENTS_MAX = 64,
    TRIAL_ELEMENTS = 4096
};
/* A size that no dim has, and that can be split into many parts. */
enum { MANY_PARTS = 240, NO_SIZE = 21 * MANY_PARTS };

/* The unknown sizes of one op's operands, and the numbers tried for them. */
typedef struct {
    int n;
    int64_t dim[UNKNOWNS_MAX];
    SizeSamples samples[UNKNOWNS_MAX];
    bool late;
} Unknowns;

/* An op that is evaluated with each of the numbers tried for its unknown sizes. */
typedef struct {
    InferState *state;
    int32_t op;
    const InferKind *kind;
    CaseKind wanted;
    Arena *arena;
    Values *values;
    RuleCall call; /* the op's operands, as far as they are known */
    Unknowns unknowns;
    Shape *out_shape[SAMPLES];
    Dtype *out_dtype[SAMPLES];
    const Value **out_value[SAMPLES];
    int n; /* number of answers: for all numbers tried, or at least for those needed */
} SizesTrial;

int32_t infer_code(InferState *state, const Shape *shape)
{
    if (shape->n_dims < 0)
        return -1;
    int32_t id = shapes_put(state->result->shapes, shape);
    return shape_is_known(shape) ? id : -2 - id;
}

bool infer_shape_is_late(const InferState *state, int32_t code)
{
    const Shape *shape = code_shape(state, code);
    if (!shape)
        return !state->allow_free;
    for (int64_t d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] < SIZE_UNNAMED && sizes_at(state->sizes, shape->dim[d])->late)
            return true;
    return false;
}

/* ---- what is not known ---- */

static bool add_unknown(SizesTrial *trial, int64_t dim)
{
    Unknowns *unknowns = &trial->unknowns;
    for (int k = 0; k < unknowns->n; k++)
        if (unknowns->dim[k] == dim)
            return true;
    if (unknowns->n == UNKNOWNS_MAX)
        return false;
    unknowns->late |= sizes_at(trial->state->sizes, dim)->late;
    unknowns->dim[unknowns->n++] = dim;
    return true;
}

static bool collect(SizesTrial *trial)
{
    const RuleCall *call = &trial->call;
    for (int i = 0; i < call->n_inputs; i++) {
        const Shape *shape = call->shape[i];
        const Value *value = call->value[i];
        for (int64_t d = 0; shape && d < shape->n_dims; d++)
            if (shape->dim[d] < 0 && !add_unknown(trial, shape->dim[d]))
                return false;
        int64_t n = value && value->partly ? shape_elements(&value->shape) : 0, dim;
        for (int64_t e = 0; e < n; e++)
            if (element_size(value->ints[e], &dim) && !add_unknown(trial, dim))
                return false;
    }
    return true;
}

static int64_t sample_of(const Unknowns *unknowns, int64_t dim, int r)
{
    for (int k = 0; k < unknowns->n; k++)
        if (unknowns->dim[k] == dim)
            return unknowns->samples[k].at[r];
    return dim;
}

static const Shape *stand_in_shape(const SizesTrial *trial, const Shape *shape, int r)
{
    if (!shape)
        return NULL;
    Shape *stand = arena_make(trial->arena, Shape);
    *stand = *shape;
    for (int64_t d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] < 0)
            stand->dim[d] = sample_of(&trial->unknowns, shape->dim[d], r);
    return stand;
}

static const Value *stand_in_value(const SizesTrial *trial, const Value *value, int r)
{
    if (!value || !value->partly)
        return value;
    int64_t n = shape_elements(&value->shape), dim;
    int64_t *ints = arena_array(trial->arena, int64_t, n);
    for (int64_t e = 0; e < n; e++)
        ints[e] = element_size(value->ints[e], &dim) ? sample_of(&trial->unknowns, dim, r)
                                                     : value->ints[e];
    Value stand = {.dtype = value->dtype, .shape = value->shape, .ints = ints};
    return values_put(trial->values, &stand);
}

/* ---- one choice ---- */

static bool evaluate(SizesTrial *trial, int r)
{
    RuleCall call = trial->call;
    int n_out = call.n_outputs;
    const Shape **shape = arena_array(trial->arena, const Shape *, call.n_inputs);
    const Value **value = arena_array(trial->arena, const Value *, call.n_inputs);
    for (int i = 0; i < call.n_inputs; i++) {
        shape[i] = stand_in_shape(trial, call.shape[i], r);
        value[i] = stand_in_value(trial, call.value[i], r);
        if (shape[i] && !shape_check(shape[i], NULL))
            return false;
    }
    memset(trial->out_shape[r], 0, (size_t)n_out * sizeof(Shape));
    memset(trial->out_dtype[r], 0, (size_t)n_out * sizeof(Dtype));
    memset(trial->out_value[r], 0, (size_t)n_out * sizeof(const Value *));
    call.arena = trial->arena;
    call.shape = shape;
    call.value = value;
    call.alias = trial->kind->alias;
    call.out_shape = trial->out_shape[r];
    call.out_dtype = trial->out_dtype[r];
    if (trial->wanted == CASE_RULE)
        return registry_apply(trial->kind->row, &call, NULL);
    if (!host_evaluate(trial->values, &call, trial->out_value[r], NULL))
        return false;
    for (int o = 0; o < n_out; o++)
        if (trial->out_value[r][o]) {
            trial->out_shape[r][o] = trial->out_value[r][o]->shape;
            trial->out_dtype[r][o] = trial->out_value[r][o]->dtype;
        }
    return true;
}

/* Whether number r gives the same ranks as the first one. A dim that comes out as 1 may be dropped,
 * so small numbers must not decide the rank. */
static bool same_ranks(const SizesTrial *trial, int r)
{
    for (int o = 0; o < trial->call.n_outputs; o++)
        if (trial->out_shape[r][o].n_dims != trial->out_shape[0][o].n_dims)
            return false;
    return true;
}

/* Evaluates with each of the numbers that all unknown sizes have, up to the first that is refused.
 * Returns false if fewer than n_needed succeed. */
static bool evaluate_all(SizesTrial *trial, int n_needed)
{
    const Unknowns *unknowns = &trial->unknowns;
    int64_t n = SAMPLES;
    for (int k = 0; k < unknowns->n; k++)
        n = unknowns->samples[k].n < n ? unknowns->samples[k].n : n;
    for (trial->n = 0; n >= n_needed && trial->n < n; trial->n++)
        if (!evaluate(trial, trial->n) ||
            (trial->n >= SAMPLES_NEEDED && !same_ranks(trial, trial->n)))
            break;
    return trial->n >= n_needed;
}

/* ---- choices: the fewest sizes that are assumed ---- */

static void choose_apart(SizesTrial *trial)
{
    Unknowns *unknowns = &trial->unknowns;
    for (int k = 0; k < unknowns->n; k++)
        unknowns->samples[k] = sizes_at(trial->state->sizes, unknowns->dim[k])->samples;
}

/* Assumes that a dim equals the other one, which may be known or unknown. */
static void assume(Unknowns *unknowns, int64_t dim, int64_t other)
{
    SizeSamples same = samples_of_number(other);
    for (int k = 0; k < unknowns->n; k++)
        if (unknowns->dim[k] == other)
            same = unknowns->samples[k];
    for (int k = 0; k < unknowns->n; k++)
        if (unknowns->dim[k] == dim)
            unknowns->samples[k] = same;
}

/* Assumes that dims that meet when operands are right-aligned are equal, unless one is 1. */
static bool choose_aligned(SizesTrial *trial, int n_needed)
{
    const RuleCall *call = &trial->call;
    Unknowns *unknowns = &trial->unknowns;
    int n = call->n_inputs < ALIGNED_MAX ? call->n_inputs : ALIGNED_MAX;
    choose_apart(trial);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const Shape *a = call->shape[i], *b = call->shape[j];
            for (int64_t d = 1; a && b && i != j && d <= a->n_dims && d <= b->n_dims; d++) {
                int64_t x = a->dim[a->n_dims - d], y = b->dim[b->n_dims - d];
                if ((x < 0 && y > 1) || (x < y && y < 0)) /* y was created first */
                    assume(unknowns, x, y);
            }
        }
    return evaluate_all(trial, n_needed);
}

static int add_candidate(int64_t *out, int n, int64_t size)
{
    for (int k = 0; k < n; k++)
        if (out[k] == size)
            return n;
    if (n < CANDIDATES_MAX)
        out[n++] = size;
    return n;
}

/* Lists sizes that some dim has, or that an attribute asks for. */
static int candidates(const SizesTrial *trial, int64_t *out)
{
    int n = 0;
    for (int i = 0; i < trial->call.n_inputs; i++) {
        const Shape *shape = trial->call.shape[i];
        const Value *value = trial->call.value[i];
        for (int64_t d = 0; shape && d < shape->n_dims; d++)
            if (shape->dim[d] >= 0)
                n = add_candidate(out, n, shape->dim[d]);
        int64_t length = value && value->ints ? shape_elements(&value->shape) : 0;
        for (int64_t e = 0; e < length && length <= DIMS_MAX; e++)
            if (value->ints[e] > 0)
                n = add_candidate(out, n, value->ints[e]);
    }
    return add_candidate(out, n, 1);
}

static bool works(SizesTrial *trial, int k, int64_t size, int n_needed)
{
    choose_apart(trial);
    assume(&trial->unknowns, trial->unknowns.dim[k], size);
    return evaluate_all(trial, n_needed);
}

/* Tries to give one of the sizes a value that another dim has: u in [4,u] x [64,8]. one: tries 1,
 * which is done last, since a dim of size 1 fits most operands. */
static bool choose_one(SizesTrial *trial, int n_needed, bool one)
{
    int64_t known[CANDIDATES_MAX];
    int n = candidates(trial, known);
    for (int k = 0; k < trial->unknowns.n && k < CANDIDATES_MAX; k++)
        for (int c = 0; c < n; c++)
            if ((known[c] == 1) == one && works(trial, k, known[c], n_needed) &&
                !works(trial, k, NO_SIZE, SAMPLES_NEEDED))
                return works(trial, k, known[c], n_needed);
    return false;
}

/* Tries larger numbers for older sizes, since a size that is found later is often a part of an
 * earlier one. */
static bool choose_falling(SizesTrial *trial, int n_needed)
{
    Unknowns *unknowns = &trial->unknowns;
    choose_apart(trial);
    for (int r = 0; r < SAMPLES; r++)
        for (int k = 0; k < unknowns->n; k++)
            for (int j = 0; j < unknowns->n; j++)
                if (unknowns->dim[j] < unknowns->dim[k] &&
                    unknowns->samples[j].at[r] > unknowns->samples[k].at[r]) {
                    int64_t larger = unknowns->samples[j].at[r];
                    unknowns->samples[j].at[r] = unknowns->samples[k].at[r];
                    unknowns->samples[k].at[r] = larger;
                }
    return evaluate_all(trial, n_needed);
}

static void drop_largest(SizeSamples *samples)
{
    memmove(samples->at, samples->at + 1, (SAMPLES - 1) * sizeof *samples->at);
    samples->at[SAMPLES - 1] = 0;
    samples->n--;
}

/* Tries numbers that can be divided into equal parts. */
static bool choose_round(SizesTrial *trial)
{
    choose_apart(trial);
    for (int k = 0; k < trial->unknowns.n; k++) {
        drop_largest(&trial->unknowns.samples[k]);
        for (int r = 0; r < SAMPLES; r++)
            trial->unknowns.samples[k].at[r] *= MANY_PARTS;
    }
    return evaluate_all(trial, SAMPLES_NEEDED);
}

static bool choose_equal(SizesTrial *trial, int n_needed)
{
    choose_apart(trial);
    for (int k = 1; k < trial->unknowns.n; k++)
        trial->unknowns.samples[k] = trial->unknowns.samples[0];
    return evaluate_all(trial, n_needed);
}

/* Tries smaller numbers, since many large sizes make a tensor that is too large. */
static bool choose_smaller(SizesTrial *trial)
{
    choose_apart(trial);
    for (int k = 0; k < trial->unknowns.n; k++)
        drop_largest(&trial->unknowns.samples[k]);
    return evaluate_all(trial, SAMPLES_NEEDED);
}

static bool choose(SizesTrial *trial, int n_needed)
{
    return choose_falling(trial, n_needed) || choose_round(trial) ||
           choose_one(trial, n_needed, false) || choose_aligned(trial, n_needed) ||
           choose_one(trial, n_needed, true) || choose_equal(trial, n_needed);
}

/* ---- what holds for all ---- */

Str infer_made_name(const InferState *state, int32_t op, int output, int64_t d)
{
    const char *name = op_name(state->graph, op);
    return str_from(output == 0 ? arena_printf(state->scratch, "%s.%" PRId64, name, d)
                                : arena_printf(state->scratch, "%s:%d.%" PRId64, name, output, d));
}

/* The size that the user gives for the name, as an assumption; -1 if there is none. */
int64_t infer_bound_size(InferState *state, int32_t op, Str name)
{
    for (int b = state->bindings->n - 1; b >= 0; b--)
        if (str_eq(state->bindings->at[b].name, name)) {
            infer_find_assumed(state, op, name, state->bindings->at[b].size);
            return state->bindings->at[b].size;
        }
    return -1;
}

static int64_t note_late(InferState *state, int n_before, int64_t dim)
{
    if (sizes_count(state->sizes) > n_before && sizes_at(state->sizes, dim)->late)
        vec_push(state->scratch, &state->late_sizes, dim);
    return dim;
}

static bool are_equal(const SizeSamples *samples)
{
    SizeSamples same = samples_of_number(samples->at[0]);
    return samples_equal(samples, &same);
}

/* The oldest size that has these numbers in the trial; own: only sizes of this op's operands are
 * searched. */
static bool find_unknown(const SizesTrial *trial, const SizeSamples *samples, bool own,
                         int64_t *dim)
{
    const Unknowns *unknowns = &trial->unknowns;
    bool found = false;
    for (int k = 0; k < unknowns->n; k++) {
        const Size *size = sizes_at(trial->state->sizes, unknowns->dim[k]);
        bool same = samples_equal(samples, own ? &size->samples : &unknowns->samples[k]);
        if (same && (!found || unknowns->dim[k] > *dim))
            *dim = unknowns->dim[k];
        found |= same;
    }
    return found;
}

/* The dim from its numbers. consistent: the sizes had their own numbers. */
static int64_t dim_of_all(SizesTrial *trial, int output, int64_t d, bool consistent)
{
    InferState *state = trial->state;
    SizeSamples samples = {.n = trial->n};
    int64_t dim = SIZE_UNNAMED;
    for (int r = 0; r < trial->n; r++) {
        samples.at[r] = trial->out_shape[r][output].dim[d];
        if (samples.at[r] < 0)
            return SIZE_UNNAMED;
    }
    if (are_equal(&samples)) /* a size that was clipped, of which small numbers were refused */
        return find_unknown(trial, &samples, true, &dim) ? dim : samples.at[0];
    if (!consistent)
        return find_unknown(trial, &samples, false, &dim) ? dim : SIZE_UNNAMED;
    dim = sizes_computed(state->sizes, &samples, trial->unknowns.late);
    if (dim != SIZE_UNNAMED)
        return dim;
    Str name = infer_made_name(state, trial->op, output, d);
    int64_t bound = infer_bound_size(state, trial->op, name);
    int n = sizes_count(state->sizes);
    return bound >= 0
               ? bound
               : note_late(state, n, sizes_add(state->sizes, name, &samples, trial->unknowns.late));
}

static Shape shape_of_all(SizesTrial *trial, int output, bool consistent)
{
    Shape shape = {.n_dims = trial->out_shape[0][output].n_dims};
    for (int r = 1; r < trial->n; r++)
        if (trial->out_shape[r][output].n_dims != shape.n_dims)
            shape.n_dims = -1;
    for (int64_t d = 0; d < shape.n_dims; d++)
        shape.dim[d] = dim_of_all(trial, output, d, consistent);
    return shape;
}

static const Value *ints_of_all(SizesTrial *trial, int output)
{
    InferState *state = trial->state;
    const Value *first = trial->out_value[0][output];
    int64_t n = shape_elements(&first->shape);
    Value value = {.dtype = first->dtype, .shape = first->shape};
    int64_t *ints = arena_array(trial->arena, int64_t, n), dim;
    bool ambiguous = false; /* an element has a value that stands for an unknown size */
    for (int64_t e = 0; e < n; e++) {
        SizeSamples samples = {.n = trial->n};
        for (int r = 0; r < trial->n; r++)
            samples.at[r] = trial->out_value[r][output]->ints[e];
        ints[e] = samples.at[0];
        ambiguous |= element_size(samples.at[0], &dim);
        if (are_equal(&samples))
            continue;
        if (n > PARTLY_ELEMENTS_MAX)
            return NULL;
        value.partly = true;
        Str name = infer_made_name(state, trial->op, output, e);
        ints[e] = size_element(sizes_add(state->sizes, name, &samples, trial->unknowns.late));
    }
    if (value.partly && ambiguous)
        return NULL;
    value.ints = ints;
    state->has_inner |= value.partly;
    return values_put(state->values, &value);
}

static bool values_agree(const Value *a, const Value *b)
{
    size_t n_bytes = (size_t)shape_elements(&a->shape) * sizeof(double);
    if (a->floats || b->floats)
        return a->floats && b->floats && memcmp(a->floats, b->floats, n_bytes) == 0;
    return a->affine && b->affine && memcmp(&a->row, &b->row, sizeof a->row) == 0;
}

/* The value if its shape is known; NULL if no more is known than its shape. */
static const Value *value_of_all(SizesTrial *trial, int output)
{
    const Value *first = trial->out_value[0][output];
    bool ints = true, agree = true;
    for (int r = 0; r < trial->n; r++) {
        const Value *value = trial->out_value[r][output];
        if (!first || !value || !shape_equal(&first->shape, &value->shape))
            return NULL;
        ints &= value->ints != NULL;
        agree &= values_agree(first, value);
    }
    if (ints)
        return ints_of_all(trial, output);
    if (agree)
        return values_put(trial->state->values, first);
    Value shape = {.dtype = first->dtype, .shape = first->shape};
    return first->floats ? NULL : values_put(trial->state->values, &shape);
}

static void answer(SizesTrial *trial, bool consistent, InferAnswer *answers)
{
    for (int o = 0; o < trial->call.n_outputs; o++) {
        Shape shape = shape_of_all(trial, o, consistent);
        answers[o] = (InferAnswer){.shape = infer_code(trial->state, &shape),
                                   .dtype = trial->out_dtype[0][o],
                                   .value = value_of_all(trial, o)};
    }
}

static bool try_choices(SizesTrial *trial, InferAnswer *answers)
{
    choose_apart(trial);
    bool consistent = evaluate_all(trial, SAMPLES_NEEDED);
    if (!consistent && trial->wanted == CASE_HOST)
        return false;
    bool chosen = consistent;
    for (int n_needed = SAMPLES; !chosen && n_needed >= SAMPLES_NEEDED; n_needed--)
        chosen = choose(trial, n_needed);
    if (!chosen && !choose_smaller(trial))
        return false;
    answer(trial, consistent, answers);
    return true;
}

bool infer_twice(InferState *state, int32_t op, const InferKind *kind, CaseKind wanted,
                 InferAnswer *answers)
{
    Arena *arena = arena_new();
    SizesTrial trial = {.state = state,
                        .op = op,
                        .kind = kind,
                        .wanted = wanted,
                        .arena = arena,
                        .values = values_new(arena),
                        .call = infer_call(state, op, kind)};
    values_set_limit(trial.values, TRIAL_ELEMENTS);
    for (int i = 0; i < trial.call.n_inputs; i++) {
        int32_t t = op_inputs(state->graph, op)[i];
        state->shape[i] = t < 0 ? NULL : code_shape(state, state->result->shape[t]);
    }
    for (int r = 0; r < SAMPLES; r++) {
        trial.out_shape[r] = arena_array(arena, Shape, trial.call.n_outputs);
        trial.out_dtype[r] = arena_array(arena, Dtype, trial.call.n_outputs);
        trial.out_value[r] = arena_array(arena, const Value *, trial.call.n_outputs);
    }
    bool done = collect(&trial) && try_choices(&trial, answers);
    arena_free(arena);
    return done;
}

/* ---- names ---- */

/* The declared size of dim d of the tensor; ignored if the size is computed from sizes of the
 * inputs. */
static int64_t declared_dim(InferState *state, int32_t tensor, const Shape *shape, int64_t d)
{
    const GraphTensor *declared = &state->graph->tensors[tensor];
    if (declared->declared < 0 || declared->n_declared != shape->n_dims)
        return SIZE_UNNAMED;
    if (shape->dim[d] != SIZE_UNNAMED && !sizes_at(state->sizes, shape->dim[d])->late)
        return SIZE_UNNAMED;
    DeclaredDim dim = state->graph->declared[declared->declared + d];
    int64_t size = dim_size(state->graph, dim, state->bindings);
    if (size >= 0 || dim.name == 0 || shape->dim[d] != SIZE_UNNAMED)
        return size >= 0 ? size : SIZE_UNNAMED;
    int n = sizes_count(state->sizes);
    return note_late(state, n,
                     sizes_named(state->sizes, names_str(state->graph->names, dim.name), true));
}

int64_t infer_fresh_size(InferState *state, int32_t op, int output, int64_t d)
{
    Str name = infer_made_name(state, op, output, d);
    int64_t bound = infer_bound_size(state, op, name);
    int n = sizes_count(state->sizes);
    return bound >= 0 ? bound : note_late(state, n, sizes_named(state->sizes, name, true));
}

int32_t infer_name_sizes(InferState *state, int32_t op, int output, int32_t code)
{
    assert(code_is_partly(code));
    Shape shape = *code_shape(state, code);
    for (int64_t d = 0; d < shape.n_dims; d++) {
        if (shape.dim[d] >= 0)
            continue;
        int64_t declared = declared_dim(state, op_outputs(state->graph, op)[output], &shape, d);
        if (declared != SIZE_UNNAMED)
            shape.dim[d] = declared;
        if (shape.dim[d] == SIZE_UNNAMED)
            shape.dim[d] = infer_fresh_size(state, op, output, d);
    }
    return infer_code(state, &shape);
}
