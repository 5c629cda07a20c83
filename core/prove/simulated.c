#include "core/prove/simulated.h"

#include "core/rules/written/written.h"
#include "core/run/collective.h"
#include "core/run/draw.h"
#include "core/run/feed.h"
#include "core/run/native.h"
#include "core/run/verify/compare.h"
#include "core/space/dim_part.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

int32_t simulated_tensor(const Simulated *ranks, int operand)
{
    int n_inputs = ranks->at->n_inputs;
    return operand < n_inputs ? op_inputs(ranks->inferred->graph, ranks->op)[operand]
                              : op_outputs(ranks->inferred->graph, ranks->op)[operand - n_inputs];
}

static const Local *value_of(const Simulated *ranks, int operand)
{
    return ranks->value[simulated_tensor(ranks, operand)];
}

/* ---- operands on one device ---- */

static double drawn_number(Dtype dtype, uint64_t key, int64_t i)
{
    double u = draw_uniform(key, i);
    if (dtype == DT_BOOL)
        return u > 0;
    return dtype_is_float(dtype) ? 2 * u : (double)(int64_t)((u + 1) * 1.5);
}

static void draw_whole(Local *local, const Generated *generated, uint64_t key)
{
    int64_t n = shape_elements(&local->shape);
    for (int64_t i = 0; dtype_is_computed(local->dtype) && i < n; i++) {
        double number = generated->kind == GENERATED_NOTHING
                            ? drawn_number(local->dtype, key, i)
                            : generated_number(generated, local->dtype, key, i);
        local_store(local, i, 1, NUMBER_F64, &number);
    }
}

bool simulated_fill(Arena *arena, const Inferred *inferred, const bool *known, uint64_t seed,
                    Local *const *value, Error *err)
{
    Feeds feeds;
    bool ok = feeds_open(arena, inferred, known, &(Given){.seed = seed}, &feeds, err);
    for (int t = 0; ok && t < inferred->graph->n_tensors; t++)
        if (known[t])
            feed_fill(&feeds, t, 0, value[t], arena);
    feeds_close(&feeds);
    return ok;
}

static bool give_inputs(Simulated *ranks, uint64_t seed, Error *err)
{
    const Inferred *inferred = ranks->inferred;
    bool *known = arena_array(ranks->arena, bool, inferred->graph->n_tensors);
    Generated *generated = arena_array(ranks->arena, Generated, inferred->graph->n_tensors);
    if (!generate_of_op(ranks->arena, inferred, ranks->op, generated, err))
        return false;
    for (int i = 0; i < ranks->at->n_inputs; i++) {
        int32_t t = simulated_tensor(ranks, i);
        if (t < 0 || ranks->value[t])
            continue;
        if (!inferred_shape(inferred, t))
            return error_kind(err, ERROR_RUN, "the shape of input %d is not known", i);
        known[t] = inferred_value(inferred, t) && !value_is_deferred(inferred_value(inferred, t));
        ranks->value[t] = local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
        if (!known[t])
            draw_whole(ranks->value[t], &generated[t],
                       draw_key(seed, str_from(tensor_name(inferred->graph, t))));
    }
    return simulated_fill(ranks->arena, inferred, known, seed, ranks->value, err);
}

bool simulated_open(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                    uint64_t seed, Local *const *given, Simulated *out, Error *err)
{
    const Graph *graph = inferred->graph;
    *out = (Simulated){.arena = arena, .inferred = inferred, .op = op, .at = &graph->ops[op]};
    out->seed = seed;
    out->value = arena_array(arena, Local *, graph->n_tensors);
    for (int i = 0; given && i < out->at->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && given[t] && !out->value[t])
            out->value[t] = local_copy(given[t]);
    }
    out->kernel = kernel_find(space, op_operator(graph, op));
    pthread_mutex_init(&out->blas, NULL);
    if (!out->kernel)
        return error_kind(err, ERROR_UNSUPPORTED,
                          written_text(op_operator(graph, op))
                              ? "%s is written out as other operators, whose rules are proven"
                              : "%s has no kernel to prove its rule with",
                          op_operator(graph, op));
    if (!native_allowed(out->kernel, err))
        return false;
    return give_inputs(out, seed, err) &&
           kernel_run_whole(inferred, op, out->kernel, &out->blas, seed, 0, out->value, err);
}

void simulated_close(Simulated *ranks)
{
    for (int t = 0; t < ranks->inferred->graph->n_tensors; t++)
        local_free(ranks->value[t]);
    pthread_mutex_destroy(&ranks->blas);
}

/* ---- addends ---- */

typedef struct {
    int input, n; /* addends of it */
    ReduceOp reduce;
    Dtype dtype;
} Addends;

/* Addend k of one element; *rest is the rest of a sum or product. Integers and their addends are
 * not negative. Other inputs get other addends. */
static double addend_of(const Addends *of, int k, int64_t i, double value, double *rest)
{
    bool real = dtype_is_float(of->dtype), last = k == of->n - 1;
    bool holds = (i + (int64_t)of->input * (i / of->n + 1)) % of->n == k;
    uint64_t key = (uint64_t)of->input * SIMULATED_RANKS_MAX + (uint64_t)k + 1;
    double drawn = drawn_number(DT_I64, key, i), taken = real ? drawn : fmin(drawn, *rest);
    double factor = !real ? 1 : drawn == 0 ? -1 : drawn == 1 ? 0.5 : 2;
    switch (of->reduce) {
    case REDUCE_NONE:
    case REDUCE_SUM:
    case REDUCE_AVG:
        taken = last ? *rest : taken;
        *rest -= taken;
        return taken;
    case REDUCE_MAX:
        return holds ? value : real ? value - drawn : fmin(value, drawn);
    case REDUCE_MIN:
        return holds ? value : value + drawn;
    case REDUCE_PROD:
        taken = last ? *rest : factor;
        *rest /= taken;
        return taken;
    case REDUCE_ANY:
        return value != 0 && (holds || drawn != 0);
    case REDUCE_ALL:
        return value != 0 || (!holds && drawn != 0);
    }
    return value;
}

static Local **make_addends(const Simulated *ranks, int input, ReduceOp reduce, int n)
{
    const Local *whole = value_of(ranks, input);
    int64_t n_elements = shape_elements(&whole->shape);
    const Addends of = {input, n, reduce, whole->dtype};
    Local **addend = arena_array(ranks->arena, Local *, n);
    for (int k = 0; k < n; k++)
        addend[k] = local_new_whole(whole->dtype, &whole->shape);
    for (int64_t i = 0; i < n_elements; i++) {
        double value;
        local_load(whole, i, 1, 1, NUMBER_F64, &value);
        double rest = reduce == REDUCE_AVG ? value * n : value;
        for (int k = 0; k < n; k++) {
            double part = addend_of(&of, k, i, value, &rest);
            elements_store(whole->dtype, local_at(addend[k], i), 1, NUMBER_F64, &part);
        }
    }
    return addend;
}

/* ---- one layout ---- */

typedef struct {
    Simulated *ranks;
    const OpLayout *layout;
    AtomSet made;       /* outputs are partial over these, inputs are not */
    bool by_themselves; /* parts are treated as whole tensors */
    Local ***addend;    /* per input: one per coordinate, or NULL */
    int n_addends[ATOMS_MAX];
    Local **part; /* [rank][output] */
    Arena *scratch;
    Error err;
} SimulatedTrial;

static bool is_absent(const Simulated *ranks, int operand)
{
    return simulated_tensor(ranks, operand) < 0;
}

/* The reduction of a partial operand. Returns false when it is partial in more than one way. */
static bool reduce_of(const Sharding *sharding, ReduceOp *out)
{
    *out = REDUCE_NONE;
    for (int a = 0; a < ATOMS_MAX; a++) {
        ReduceOp reduce = sharding->partial[a];
        if (reduce == REDUCE_NONE)
            continue;
        if (*out != REDUCE_NONE && *out != reduce)
            return false;
        *out = reduce;
    }
    return true;
}

static bool averages(const Sharding *sharding, AtomSet among)
{
    for (int a = 0; a < ATOMS_MAX; a++)
        if (among >> a & 1 && sharding->partial[a] == REDUCE_AVG)
            return true;
    return false;
}

static bool is_part(const Simulated *ranks, int operand, int dim)
{
    const OpSpace *space = inferred_space(ranks->inferred, ranks->op);
    DimPart part;
    return space && operand < space->n_inputs + space->n_outputs &&
           dim_part(space, operand, dim, &part) && part.of_index;
}

/* A dim of size 1 is never sharded, since a rank that repeats it would need another rank's element;
 * but a part of an index dim, as of Concat, is not repeated. */
static bool check_ones(SimulatedTrial *trial, int operand)
{
    const Sharding *sharding = &trial->layout->operand[operand];
    const Local *whole = value_of(trial->ranks, operand);
    for (int d = 0; d < whole->shape.n_dims; d++)
        if (whole->shape.dim[d] == 1 && !cut_is_whole(&sharding->dim[d]) &&
            !is_part(trial->ranks, operand, d))
            return error_kind(&trial->err, ERROR_RUN, "a dim of one element is sharded");
    return true;
}

/* Makes the addends of partial inputs; finds what the ranks make partial themselves. */
static bool prepare(SimulatedTrial *trial)
{
    const Simulated *ranks = trial->ranks;
    const OpLayout *layout = trial->layout;
    int n_inputs = ranks->at->n_inputs, n = n_inputs + ranks->at->n_outputs;
    AtomSet given = 0, claimed = 0;
    for (int i = 0; i < n; i++)
        if (!is_absent(ranks, i) && !check_ones(trial, i))
            return false;
    for (int i = 0; i < n_inputs; i++) {
        ReduceOp reduce;
        AtomSet atoms = is_absent(ranks, i) ? 0 : sharding_partials(&layout->operand[i]);
        if (atoms == 0)
            continue;
        if (!reduce_of(&layout->operand[i], &reduce))
            return error_kind(&trial->err, ERROR_RUN, "input %d is partial in two ways", i);
        if (!dtype_is_computed(value_of(ranks, i)->dtype))
            return error_kind(&trial->err, ERROR_RUN, "input %d has no addends", i);
        trial->addend[i] =
            make_addends(ranks, i, reduce, (int)mesh_atoms_size(layout->mesh, atoms));
        given |= atoms;
    }
    for (int o = n_inputs; o < n; o++)
        claimed |= is_absent(ranks, o) ? 0 : sharding_partials(&layout->operand[o]);
    trial->made = claimed & ~given;
    for (int o = n_inputs; o < n; o++)
        trial->by_themselves |= !is_absent(ranks, o) && averages(&layout->operand[o], trial->made);
    return true;
}

static void clean_up(SimulatedTrial *trial)
{
    const Simulated *ranks = trial->ranks;
    const OpLayout *layout = trial->layout;
    for (int i = 0; i < ranks->at->n_inputs; i++) {
        if (!trial->addend[i])
            continue;
        AtomSet atoms = sharding_partials(&layout->operand[i]);
        for (int64_t k = 0; k < mesh_atoms_size(layout->mesh, atoms); k++)
            local_free(trial->addend[i][k]);
    }
    for (int64_t i = 0; i < layout->mesh->n_devices * ranks->at->n_outputs; i++)
        local_free(trial->part[i]);
    arena_free(trial->scratch);
}

/* ---- one rank ---- */

static Local *part_of(const Local *whole, const Sharding *sharding, const Mesh *mesh,
                      int64_t position)
{
    Local *part = local_new(whole->dtype, &whole->shape, sharding, mesh, position);
    int64_t stride[DIMS_MAX];
    row_major_strides(&whole->shape, stride);
    Picks picks = picks_new(part->arena, &part->shape);
    for (int d = 0; d < picks.n_dims; d++)
        picks_global(&picks, d, &part->runs[d], stride[d]);
    local_pick(part, whole, &picks);
    return part;
}

static Local *input_part(const SimulatedTrial *trial, int i, int64_t position)
{
    const Simulated *ranks = trial->ranks;
    const Mesh *mesh = trial->layout->mesh;
    const Sharding *sharding = &trial->layout->operand[i];
    if (is_absent(ranks, i) || kernel_reads_value(ranks->kernel, i))
        return NULL;
    const Local *whole = value_of(ranks, i);
    if (trial->addend[i])
        whole = trial->addend[i][mesh_atoms_coord(mesh, sharding_partials(sharding), position)];
    return part_of(whole, sharding, mesh, position);
}

/* The part as a whole tensor that shares its elements. */
static Local *by_itself(Arena *scratch, const Local *part)
{
    if (!part)
        return NULL;
    Local *own = arena_make(scratch, Local);
    *own = *part;
    own->whole = part->shape;
    for (int64_t d = 0; d < part->shape.n_dims; d++)
        own->runs[d] = runs_whole(scratch, part->shape.dim[d]);
    return own;
}

/* Runs the kernel as the rank at `position`; out: its outputs. */
static bool run_rank(SimulatedTrial *trial, int64_t position, Local **out)
{
    Simulated *ranks = trial->ranks;
    const Mesh *mesh = trial->layout->mesh;
    int n_inputs = ranks->at->n_inputs, n_outputs = ranks->at->n_outputs;
    Local **input = arena_array(trial->scratch, Local *, n_inputs);
    const Local **read = arena_array(trial->scratch, const Local *, n_inputs);
    Local **written = arena_array(trial->scratch, Local *, n_outputs);
    for (int i = 0; i < n_inputs; i++) {
        input[i] = input_part(trial, i, position);
        read[i] = trial->by_themselves ? by_itself(trial->scratch, input[i]) : input[i];
    }
    for (int o = 0; o < n_outputs; o++) {
        if (is_absent(ranks, n_inputs + o))
            continue;
        const Local *whole = value_of(ranks, n_inputs + o);
        out[o] = local_new(whole->dtype, &whole->shape, &trial->layout->operand[n_inputs + o], mesh,
                           position);
        written[o] = trial->by_themselves ? by_itself(trial->scratch, out[o]) : out[o];
    }
    KernelCall call = {.kernel = ranks->kernel, .inferred = ranks->inferred, .op = ranks->op};
    call.n_inputs = n_inputs;
    call.n_outputs = n_outputs;
    call.input = read;
    call.output = written;
    call.first = mesh_stands_first(mesh, trial->made, position);
    call.reduce_cut = trial->made != 0;
    call.cut = trial->layout->cut;
    call.mesh = mesh;
    call.position = position;
    call.blas = &ranks->blas;
    call.seed = ranks->seed;
    call.scratch = trial->scratch;
    bool ok = kernel_run_part(&call, &trial->err);
    for (int i = 0; i < n_inputs; i++)
        local_free(input[i]);
    return ok;
}

/* ---- the outputs ---- */

/* The atoms of an output's first partial reduction. */
static AtomSet first_way(const Sharding *sharding)
{
    AtomSet atoms = 0;
    ReduceOp reduce = REDUCE_NONE;
    for (int a = 0; a < ATOMS_MAX; a++) {
        if (reduce == REDUCE_NONE)
            reduce = sharding->partial[a];
        if (reduce != REDUCE_NONE && sharding->partial[a] == reduce)
            atoms |= (AtomSet)1 << a;
    }
    return atoms;
}

/* Reduces output o over these atoms, on every rank. */
static bool combine(SimulatedTrial *trial, int o, const Sharding *from, const Sharding *to,
                    AtomSet atoms)
{
    const Mesh *mesh = trial->layout->mesh;
    const Local *whole = value_of(trial->ranks, trial->ranks->at->n_inputs + o);
    int n_outputs = trial->ranks->at->n_outputs;
    int64_t n = mesh_atoms_size(mesh, atoms);
    Collective collective = {mesh, from, to, atoms};
    Local *made[SIMULATED_RANKS_MAX] = {NULL};
    bool ok = true;
    for (int64_t r = 0; ok && r < mesh->n_devices; r++) {
        const Local *held[SIMULATED_RANKS_MAX] = {NULL};
        for (int64_t i = 0; i < n; i++)
            held[i] = trial->part[mesh_group_member(mesh, atoms, r, i) * n_outputs + o];
        made[r] = local_new(whole->dtype, &whole->shape, to, mesh, r);
        ok = collective_run(&collective, r, held, made[r], made[r]->arena, &trial->err);
    }
    for (int64_t r = 0; r < mesh->n_devices; r++) {
        local_free(trial->part[r * n_outputs + o]);
        trial->part[r * n_outputs + o] = made[r];
    }
    return ok;
}

static bool join(SimulatedTrial *trial, int o)
{
    Sharding from = trial->layout->operand[trial->ranks->at->n_inputs + o];
    while (sharding_partials(&from) != 0) {
        AtomSet atoms = first_way(&from);
        Sharding to = from;
        for (int a = 0; a < ATOMS_MAX; a++)
            if (atoms >> a & 1)
                to.partial[a] = REDUCE_NONE;
        if (!combine(trial, o, &from, &to, atoms))
            return false;
        from = to;
    }
    return true;
}

static double number_at(const Local *local, int64_t i)
{
    double number = 0;
    if (dtype_is_computed(local->dtype))
        local_load(local, i, 1, 1, NUMBER_F64, &number);
    return isnan(number) ? fabs(number) : number; /* the sign of a NaN is arbitrary */
}

/* The place of a global coordinate in a part. */
static int64_t place_of(const Local *part, const Shape *at)
{
    int64_t stride[DIMS_MAX], place = 0;
    row_major_strides(&part->shape, stride);
    for (int64_t d = 0; d < at->n_dims; d++)
        place += runs_find(&part->runs[d], at->dim[d]) * stride[d];
    return place;
}

static void say_wrong(const Local *want, int o, const Local *part, const Shape *at,
                      int64_t position, Buf *text)
{
    int64_t stride[DIMS_MAX], place = 0;
    row_major_strides(&want->shape, stride);
    buf_printf(text, "output %d at [", o);
    for (int64_t d = 0; d < at->n_dims; d++) {
        place += at->dim[d] * stride[d];
        buf_printf(text, "%s%" PRId64, d ? "," : "", at->dim[d]);
    }
    buf_printf(text, "] is %g on rank %" PRId64 ", %g on one device",
               number_at(part, place_of(part, at)), position, number_at(want, place));
}

static bool compare(const SimulatedTrial *trial, int o, Buf *wrong)
{
    const Simulated *ranks = trial->ranks;
    const Local *want = value_of(ranks, ranks->at->n_inputs + o);
    Tolerance tolerance = tolerance_for(want->dtype, local_range(want));
    for (int64_t r = 0; r < trial->layout->mesh->n_devices; r++) {
        const Local *part = trial->part[r * ranks->at->n_outputs + o];
        Shape at;
        if (local_first_wrong(part, want, tolerance, &at, NULL, NULL)) {
            say_wrong(want, o, part, &at, r, wrong);
            return false;
        }
    }
    return true;
}

static bool run(SimulatedTrial *trial, Buf *wrong)
{
    int n_outputs = trial->ranks->at->n_outputs;
    bool ok = prepare(trial);
    for (int64_t r = 0; ok && r < trial->layout->mesh->n_devices; r++)
        ok = run_rank(trial, r, trial->part + r * n_outputs);
    for (int o = 0; ok && o < n_outputs; o++)
        if (!is_absent(trial->ranks, trial->ranks->at->n_inputs + o) && (ok = join(trial, o)) &&
            !compare(trial, o, wrong))
            return false;
    if (!ok)
        buf_puts(wrong, trial->err.text);
    return ok;
}

bool simulated_holds(Simulated *ranks, const OpLayout *layout, Buf *wrong)
{
    assert(layout->mesh->n_devices <= SIMULATED_RANKS_MAX);
    SimulatedTrial trial = {.ranks = ranks, .layout = layout, .err = {.kind = ERROR_RUN}};
    trial.scratch = arena_new();
    trial.addend = arena_array(trial.scratch, Local **, ranks->at->n_inputs);
    trial.part =
        arena_array(trial.scratch, Local *, (int)layout->mesh->n_devices * ranks->at->n_outputs);
    bool ok = run(&trial, wrong);
    clean_up(&trial);
    return ok;
}
