#include "core/run/rule_check.h"

#include "core/plan/edges.h"
#include "core/run/collective.h"
#include "core/run/draw.h"
#include "core/run/feed.h"
#include "core/run/verify.h"

#include <inttypes.h>

enum { RANKS_MAX = 6 };

/* One way to lay the op on a mesh. */
typedef struct {
    const Mesh *mesh;
    OpCut cut;
    AtomSet partial; /* the operands `summed` are addends over these */
    bool summed[OPERANDS_MAX];
} Case;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    int32_t op;
    const GraphOp *at;
    const OpSpace *space;
    const Kernel *kernel;
    pthread_mutex_t blas;
    const Mesh *small, *odd, *both; /* a=2; a=3; a=2,b=3 */
    Local **value;                  /* per tensor: the op's operands on one device */
    Local ***addend; /* per input: RANKS_MAX addends of it, or NULL; made when first asked for */
    RuleProof *proof;
} Check;

static int32_t input_tensor(const Check *check, int i)
{
    return op_inputs(check->inferred->graph, check->op)[i];
}

static int32_t output_tensor(const Check *check, int o)
{
    return op_outputs(check->inferred->graph, check->op)[o];
}

/* ---- operands on one device ---- */

static double drawn_number(Dtype dtype, uint64_t key, int64_t i)
{
    double u = draw_uniform(key, i);
    if (dtype == DT_BOOL)
        return u > 0;
    return dtype_is_float(dtype) ? 2 * u : (double)(int64_t)((u + 1) * 1.5);
}

static void draw_whole(Local *local, uint64_t key)
{
    int64_t n = shape_elements(&local->shape);
    for (int64_t i = 0; dtype_is_computed(local->dtype) && i < n; i++) {
        double number = drawn_number(local->dtype, key, i);
        elements_store(local->dtype, local_at(local, i), 1, NUMBER_F64, &number);
    }
}

static bool give_inputs(Check *check, uint64_t seed, Error *err)
{
    const Inferred *inferred = check->inferred;
    bool *known = arena_array(check->arena, bool, inferred->graph->n_tensors);
    for (int i = 0; i < check->at->n_inputs; i++) {
        int32_t t = input_tensor(check, i);
        if (t < 0 || check->value[t])
            continue;
        if (!inferred_shape(inferred, t))
            return error_kind(err, ERROR_RUN, "the shape of input %d is not known", i);
        known[t] = inferred->value[t] && !value_is_deferred(inferred->value[t]);
        check->value[t] = local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
        if (!known[t])
            draw_whole(check->value[t], draw_key(seed, str_from(tensor_name(inferred->graph, t))));
    }
    Feeds feeds;
    bool ok = feeds_open(check->arena, inferred, known, seed, NULL, &feeds, err);
    for (int t = 0; ok && t < inferred->graph->n_tensors; t++)
        if (known[t])
            feed_fill(&feeds, t, check->value[t], check->arena);
    feeds_close(&feeds);
    return ok;
}

/* All but the last are drawn; the last is what is left of the value. */
static void make_addends(Check *check, int input, int n)
{
    const Local *whole = check->value[input_tensor(check, input)];
    int64_t n_elements = shape_elements(&whole->shape);
    check->addend[input] = arena_array(check->arena, Local *, RANKS_MAX);
    for (int k = 0; k < n; k++)
        check->addend[input][k] = local_new_whole(whole->dtype, &whole->shape);
    for (int64_t i = 0; i < n_elements; i++) {
        double rest;
        elements_load(whole->dtype, local_at(whole, i), 1, 1, NUMBER_F64, &rest);
        for (int k = 0; k < n; k++) {
            double part = k == n - 1 ? rest : drawn_number(DT_I64, (uint64_t)k + 1, i);
            elements_store(whole->dtype, local_at(check->addend[input][k], i), 1, NUMBER_F64,
                           &part);
            rest -= part;
        }
    }
}

static void free_addends(Check *check)
{
    for (int i = 0; i < check->at->n_inputs; i++) {
        for (int k = 0; check->addend[i] && k < RANKS_MAX; k++)
            local_free(check->addend[i][k]);
        check->addend[i] = NULL;
    }
}

/* ---- one rank ---- */

static Sharding laid_out(const Check *check, const Case *tried, int operand)
{
    const Operand *o = &check->space->operand[operand];
    if (!o->absent && !o->ignored)
        return op_cut_sharding(check->space, &tried->cut, operand, tried->mesh);
    int32_t tensor = operand < check->at->n_inputs
                         ? input_tensor(check, operand)
                         : output_tensor(check, operand - check->at->n_inputs);
    return sharding_whole(inferred_shape(check->inferred, tensor));
}

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

static Local *input_part(Check *check, const Case *tried, int i, int64_t position)
{
    int32_t t = input_tensor(check, i);
    if (t < 0 || kernel_reads_value(check->kernel, i))
        return NULL;
    const Local *whole = check->value[t];
    if (tried->summed[i]) {
        int64_t coordinate = 0;
        for (int a = 0; a < tried->mesh->n_atoms; a++)
            if (tried->partial >> a & 1)
                coordinate = mesh_atom_coord(tried->mesh, a, position);
        whole = check->addend[i][coordinate];
    }
    Sharding sharding = laid_out(check, tried, i);
    return part_of(whole, &sharding, tried->mesh, position);
}

/* Runs the kernel as the rank at `position`; out: its outputs, to be freed by the caller. */
static bool run_rank(Check *check, const Case *tried, int64_t position, Local **out, Error *err)
{
    int n_inputs = check->at->n_inputs, n_outputs = check->at->n_outputs;
    Arena *scratch = arena_new();
    Local **input = arena_array(scratch, Local *, n_inputs);
    for (int i = 0; i < n_inputs; i++)
        input[i] = input_part(check, tried, i, position);
    for (int o = 0; o < n_outputs; o++) {
        int32_t t = output_tensor(check, o);
        if (t < 0)
            continue;
        Sharding sharding = laid_out(check, tried, n_inputs + o);
        out[o] = local_new((Dtype)check->inferred->dtype[t], inferred_shape(check->inferred, t),
                           &sharding, tried->mesh, position);
    }
    AtomSet reduced = op_cut_reduced(check->space, &tried->cut);
    KernelCall call = {.kernel = check->kernel, .inferred = check->inferred, .op = check->op};
    call.n_inputs = n_inputs;
    call.n_outputs = n_outputs;
    call.input = (const Local *const *)input;
    call.output = out;
    call.first = mesh_stands_first(tried->mesh, reduced, position);
    call.reduce_cut = reduced != 0;
    call.blas = &check->blas;
    call.scratch = scratch;
    bool ok = check->kernel->run(&call, err);
    for (int i = 0; i < n_inputs; i++)
        local_free(input[i]);
    arena_free(scratch);
    return ok;
}

/* ---- one case ---- */

static void say_case(const Check *check, const Case *tried, Buf *text)
{
    const char *comma = "";
    for (int i = 0; i < check->space->n_index; i++) {
        if (cut_is_whole(&tried->cut.index[i]))
            continue;
        buf_printf(text, "%s%s ", comma, check->space->index[i].name);
        cut_format(&tried->cut.index[i], tried->mesh, text);
        comma = ", ";
    }
    for (int i = 0; i < check->space->n_inputs; i++)
        if (tried->summed[i]) {
            buf_printf(text, "%sinput %d partial over ", comma, i);
            mesh_format_set(tried->mesh, tried->partial, ".", text);
            comma = ", ";
        }
    buf_puts(text, " on mesh ");
    mesh_format(tried->mesh, text);
}

static double number_at(const Local *local, int64_t i)
{
    double number = 0;
    if (dtype_is_computed(local->dtype))
        elements_load(local->dtype, local_at(local, i), 1, 1, NUMBER_F64, &number);
    return number;
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

static void say_wrong(Check *check, const Case *tried, int o, const Local *part, const Shape *at,
                      int64_t position)
{
    Buf text = buf_new(check->arena);
    const Local *want = check->value[output_tensor(check, o)];
    int64_t stride[DIMS_MAX], place = 0;
    row_major_strides(&want->shape, stride);
    buf_printf(&text, "output %d at [", o);
    for (int64_t d = 0; d < at->n_dims; d++) {
        place += at->dim[d] * stride[d];
        buf_printf(&text, "%s%" PRId64, d ? "," : "", at->dim[d]);
    }
    buf_printf(&text, "] is %g on rank %" PRId64 ", %g on one device, with ",
               number_at(part, place_of(part, at)), position, number_at(want, place));
    say_case(check, tried, &text);
    check->proof->ok = false;
    check->proof->text = text.s;
}

/* Joins addends and compares one output of one rank. */
static bool compare(Check *check, const Case *tried, int o, Local **made, int64_t position,
                    Error *err)
{
    const Local *want = check->value[output_tensor(check, o)];
    int n_outputs = check->at->n_outputs;
    Sharding from = laid_out(check, tried, check->at->n_inputs + o);
    for (int a = 0; a < ATOMS_MAX; a++)
        if (tried->partial >> a & 1)
            from.partial[a] = REDUCE_SUM;
    Sharding to = sharding_without_partial(&from);
    Collective collective = {tried->mesh, &from, &to, sharding_partials(&from)};
    int64_t n = mesh_atoms_size(tried->mesh, collective.atoms);
    const Local *held[RANKS_MAX];
    for (int64_t i = 0; i < n; i++)
        held[i] =
            made[mesh_group_member(tried->mesh, collective.atoms, position, i) * n_outputs + o];
    Local *part = local_new(want->dtype, &want->shape, &to, tried->mesh, position);
    Shape at;
    bool ok = collective_run(&collective, position, held, part, part->arena, err);
    if (ok && local_first_wrong(part, want, tolerance_for(want->dtype, local_range(want)), &at))
        say_wrong(check, tried, o, part, &at, position);
    local_free(part);
    return ok && check->proof->ok;
}

static bool run_ranks(Check *check, const Case *tried, Local **made, Error *err)
{
    int n_outputs = check->at->n_outputs;
    for (int64_t r = 0; r < tried->mesh->n_devices; r++)
        if (!run_rank(check, tried, r, made + r * n_outputs, err))
            return false;
    for (int o = 0; o < n_outputs; o++)
        for (int64_t r = 0; output_tensor(check, o) >= 0 && r < tried->mesh->n_devices; r++)
            if (!compare(check, tried, o, made, r, err))
                return false;
    return true;
}

/* False: the rule is wrong, and the proof says where. */
static bool try_case(Check *check, const Case *tried)
{
    int n = RANKS_MAX * check->at->n_outputs;
    Local **made = arena_array(check->arena, Local *, n);
    Error inner = {.kind = ERROR_RUN};
    check->proof->n_cuts++;
    if (!run_ranks(check, tried, made, &inner) && check->proof->ok) {
        Buf text = buf_new(check->arena);
        buf_printf(&text, "%s, with ", inner.text);
        say_case(check, tried, &text);
        check->proof->ok = false;
        check->proof->text = text.s;
    }
    for (int i = 0; i < n; i++)
        local_free(made[i]);
    return check->proof->ok;
}

/* ---- all cases ---- */

static Case whole_case(const Check *check, const Mesh *mesh)
{
    Case tried = {.mesh = mesh, .cut = {.n = check->space->n_index}};
    for (int i = 0; i < check->space->n_index; i++)
        tried.cut.index[i] = cut_whole(check->space->index[i].size);
    return tried;
}

static bool may_cut(const Check *check, int index)
{
    return check->space->index[index].role != ROLE_FROZEN;
}

static void cut_index(const Check *check, Case *tried, int index, const uint8_t *atom, int n)
{
    tried->cut.index[index] = cut_by(check->space->index[index].size, atom, n, tried->mesh);
}

/* (2)(size/2 / a): every other half. */
static bool try_interleaved(Check *check, int index)
{
    int64_t size = check->space->index[index].size;
    if (size % 2 != 0 || size < 4)
        return true;
    Case tried = whole_case(check, check->small);
    Cut *cut = &tried.cut.index[index];
    *cut = (Cut){.n = 2, .digit = {{.size = 2}, {.size = size / 2, .n = 1}}};
    cut_canonical(cut, tried.mesh);
    return try_case(check, &tried);
}

/* One index dim alone. */
static bool try_index(Check *check, int index)
{
    static const uint8_t a = 0, both[2] = {0, 1};
    const Mesh *meshes[] = {check->small, check->odd};
    for (int m = 0; m < 2; m++) {
        Case tried = whole_case(check, meshes[m]);
        cut_index(check, &tried, index, &a, 1);
        if (!try_case(check, &tried))
            return false;
    }
    Case tried = whole_case(check, check->both);
    cut_index(check, &tried, index, both, 2);
    return try_case(check, &tried) && try_interleaved(check, index);
}

static bool try_pair(Check *check, int first, int second)
{
    static const uint8_t a = 0, b = 1;
    Case tried = whole_case(check, check->both);
    cut_index(check, &tried, first, &a, 1);
    cut_index(check, &tried, second, &b, 1);
    return try_case(check, &tried);
}

static bool try_cuts(Check *check)
{
    for (int i = 0; i < check->space->n_index; i++) {
        if (!may_cut(check, i))
            continue;
        if (!try_index(check, i))
            return false;
        for (int j = 0; j < check->space->n_index; j++)
            if (j != i && may_cut(check, j) && !try_pair(check, i, j))
                return false;
    }
    return true;
}

/* The planner lets a partial value pass where no output has more elements. */
static bool lets_pass(const Check *check, int input, Linear linear)
{
    const Operand *operand = &check->space->operand[input];
    if (operand->linear != linear || operand->absent || operand->ignored ||
        input_tensor(check, input) < 0 || kernel_reads_value(check->kernel, input))
        return false;
    for (int o = 0; o < check->space->n_outputs; o++)
        if (shape_elements(&opspace_output(check->space, o)->shape) >
            shape_elements(&operand->shape))
            return false;
    return true;
}

/* The case's operands as addends over axis a: alone, and with each index dim cut by axis b. */
static bool try_addends(Check *check, Case *tried)
{
    static const uint8_t b = 1;
    tried->partial = 1;
    for (int i = 0; i < check->space->n_inputs; i++)
        if (tried->summed[i])
            make_addends(check, i, 2);
    bool ok = try_case(check, tried);
    for (int i = 0; ok && i < check->space->n_index; i++) {
        if (!may_cut(check, i))
            continue;
        cut_index(check, tried, i, &b, 1);
        ok = try_case(check, tried);
        tried->cut.index[i] = cut_whole(check->space->index[i].size);
    }
    free_addends(check);
    return ok;
}

static bool try_partials(Check *check)
{
    Case together = whole_case(check, check->both);
    bool any = false;
    for (int i = 0; i < check->space->n_inputs; i++) {
        Case alone = whole_case(check, check->both);
        alone.summed[i] = lets_pass(check, i, LINEAR_ALONE);
        together.summed[i] = lets_pass(check, i, LINEAR_TOGETHER);
        any |= together.summed[i];
        if (alone.summed[i] && !try_addends(check, &alone))
            return false;
    }
    return !any || try_addends(check, &together);
}

/* ---- all of it ---- */

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {"mesh", str_from(text)};
    return mesh_parse(arena, &source, NULL);
}

static bool run_whole(Check *check, uint64_t seed, Error *err)
{
    if (!give_inputs(check, seed, err))
        return false;
    return kernel_run_whole(check->inferred, check->op, check->kernel, &check->blas, check->value,
                            err);
}

bool rule_check(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                uint64_t seed, RuleProof *out, Error *err)
{
    const Graph *graph = inferred->graph;
    Check check = {.arena = arena, .inferred = inferred, .op = op, .space = space, .proof = out};
    *out = (RuleProof){.ok = true, .text = ""};
    check.at = &graph->ops[op];
    check.kernel = kernel_find(space, op_operator(graph, op));
    if (!check.kernel)
        return error_kind(err, ERROR_UNSUPPORTED, "%s has no kernel to prove its rule with",
                          op_operator(graph, op));
    check.small = mesh_of(arena, "a=2");
    check.odd = mesh_of(arena, "a=3");
    check.both = mesh_of(arena, "a=2,b=3");
    check.value = arena_array(arena, Local *, graph->n_tensors);
    check.addend = arena_array(arena, Local **, check.at->n_inputs);
    pthread_mutex_init(&check.blas, NULL);
    bool ok = run_whole(&check, seed, err);
    if (ok && !space->no_rule)
        (void)(try_cuts(&check) && try_partials(&check));
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(check.value[t]);
    pthread_mutex_destroy(&check.blas);
    return ok;
}
