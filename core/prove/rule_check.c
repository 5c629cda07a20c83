#include "core/prove/rule_check.h"

#include "core/run/data_shapes.h"
#include "core/space/dim_part.h"

/* One sharding of the op on a mesh. */
typedef struct {
    const Mesh *mesh;
    OpCut cut;
    const Sharding
        *lies;       /* how the first input lies, of which the op reads a part; NULL: as needed */
    AtomSet partial; /* operands `summed` are partial over these */
    bool summed[OPERANDS_MAX];
} Case;

typedef struct {
    Arena *arena;
    const OpSpace *space;
    Simulated ranks;
    const Mesh *small, *odd, *both; /* a=2; a=3; a=2,b=3 */
    RuleProof *proof;
} ShardingCheck;

/* ---- one case ---- */

static void add_partial(Sharding *sharding, AtomSet atoms)
{
    for (int a = 0; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            sharding->partial[a] = REDUCE_SUM;
}

/* Absent operands stay zero. */
static Sharding laid_out(const ShardingCheck *check, const Case *tried, int operand)
{
    const Operand *o = &check->space->operand[operand];
    int32_t tensor = simulated_tensor(&check->ranks, operand);
    Sharding sharding = {0};
    if (!o->absent && !o->ignored)
        sharding = op_cut_sharding(check->space, &tried->cut, operand, tried->mesh);
    else if (tensor >= 0)
        sharding = sharding_whole(inferred_shape(check->ranks.inferred, tensor));
    if (operand == 0 && tried->lies)
        op_cut_read_parts(check->space, &tried->cut, 0, tried->lies, tried->mesh, &sharding);
    if (operand < check->space->n_inputs && sharding.n_dims > 0)
        op_cut_read_halos(check->space, &tried->cut, operand, tried->mesh, &sharding);
    if (operand >= check->space->n_inputs || tried->summed[operand])
        add_partial(&sharding, tried->partial);
    return sharding;
}

static void say_case(const ShardingCheck *check, const Case *tried, Buf *text)
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

/* Keyword arguments exist only for even parts and may not divide by their number. */
static bool has_arguments(const ShardingCheck *check, const Case *tried)
{
    IndexPiece piece[X_MAX];
    Kwargs kwargs = kwargs_of_op(check->arena, check->ranks.inferred, check->ranks.op);
    Error err = {0};
    if (!check->space->own)
        return true;
    if (!op_pieces(check->space, &tried->cut, tried->mesh, &kwargs, 0, piece, NULL))
        return false;
    return kwargs_of_piece(check->arena, check->space, piece, &kwargs, &err) ||
           err.kind != ERROR_NOT_DIVISIBLE;
}

/* False: the rule is wrong; the proof says where. */
static bool try_case(ShardingCheck *check, const Case *tried)
{
    int n = check->space->n_inputs + check->space->n_outputs;
    if (!has_arguments(check, tried))
        return true;
    Buf wrong = buf_new(check->arena);
    Sharding *operand = arena_array(check->arena, Sharding, n);
    for (int i = 0; i < n; i++)
        operand[i] = laid_out(check, tried, i);
    check->proof->n_cuts++;
    check->proof->ok =
        simulated_holds(&check->ranks, &(OpLayout){tried->mesh, operand, &tried->cut}, &wrong);
    if (check->proof->ok)
        return true;
    buf_puts(&wrong, ", with ");
    say_case(check, tried, &wrong);
    check->proof->text = wrong.s;
    return false;
}

/* ---- all cases ---- */

static Case whole_case(const ShardingCheck *check, const Mesh *mesh)
{
    Case tried = {.mesh = mesh, .cut = {.n = check->space->n_index}};
    for (int i = 0; i < check->space->n_index; i++)
        tried.cut.index[i] = cut_whole(check->space->index[i].size);
    return tried;
}

static bool may_cut(const ShardingCheck *check, int index)
{
    return check->space->index[index].role != ROLE_FROZEN || check->space->index[index].carries;
}

static void cut_index(const ShardingCheck *check, Case *tried, int index, const uint8_t *atom,
                      int n)
{
    tried->cut.index[index] = cut_by(check->space->index[index].size, atom, n, tried->mesh);
}

/* (2)(size/2 / a): interleaved halves. */
static bool try_interleaved(ShardingCheck *check, int index)
{
    int64_t size = check->space->index[index].size;
    if (size % 2 != 0 || size < 4 || check->space->index[index].carries)
        return true;
    Case tried = whole_case(check, check->small);
    Cut *cut = &tried.cut.index[index];
    *cut = (Cut){.n = 2, .digit = {{.size = 2}, {.size = size / 2, .n = 1}}};
    cut_canonical(cut, tried.mesh);
    return try_case(check, &tried);
}

/* Each index dim alone. */
static bool try_index(ShardingCheck *check, int index)
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

static bool try_pair(ShardingCheck *check, int first, int second)
{
    static const uint8_t a = 0, b = 1;
    Case tried = whole_case(check, check->both);
    cut_index(check, &tried, first, &a, 1);
    cut_index(check, &tried, second, &b, 1);
    return try_case(check, &tried);
}

/* An index dim of which operands hold the parts: as a list of blocks. */
static bool try_joined_parts(ShardingCheck *check, int index)
{
    static const uint8_t both[2] = {0, 1};
    const Mesh *meshes[] = {check->small, check->odd, check->both};
    int64_t sizes[DIGITS_MAX];
    int n = dim_parts(check->space, index, sizes, DIGITS_MAX);
    for (int m = 0; n > 0 && m < 3; m++) {
        Case tried = whole_case(check, meshes[m]);
        cut_blocks(sizes, n, both, meshes[m]->n_axes, tried.mesh, &tried.cut.index[index]);
        if (!try_case(check, &tried))
            return false;
    }
    return true;
}

/* A dim of the first input of which the op reads a part: what is before it, the part, and what is
 * behind it, as blocks. */
static bool try_read_part(ShardingCheck *check, int dim)
{
    static const uint8_t a = 0;
    const Shape *shape = &check->space->operand[0].shape;
    DimPart part;
    if (!dim_part(check->space, 0, dim, &part) || part.of_index || part.start == part.end)
        return true;
    int64_t sizes[3];
    int n = 0;
    if (part.start > 0)
        sizes[n++] = part.start;
    sizes[n++] = part.end - part.start;
    if (part.end < shape->dim[dim])
        sizes[n++] = shape->dim[dim] - part.end;
    const Mesh *meshes[] = {check->small, check->odd};
    for (int m = 0; m < 2; m++) {
        Case tried = whole_case(check, meshes[m]);
        Sharding lies = sharding_whole(shape);
        cut_blocks(sizes, n, &a, 1, tried.mesh, &lies.dim[dim]);
        tried.lies = &lies;
        if (!cut_part(&lies.dim[dim], part.start, part.end, tried.mesh,
                      &tried.cut.index[part.index]) ||
            !try_case(check, &tried))
            return false;
    }
    return true;
}

static bool try_parts(ShardingCheck *check)
{
    for (int i = 0; i < check->space->n_index; i++)
        if (!try_joined_parts(check, i))
            return false;
    for (int d = 0; check->space->n_inputs > 0 && d < check->space->operand[0].shape.n_dims; d++)
        if (!try_read_part(check, d))
            return false;
    return true;
}

static bool try_cuts(ShardingCheck *check)
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

/* The planner passes a partial value only where no output has more elements. */
static bool lets_pass(const ShardingCheck *check, int input, Linear linear)
{
    const Operand *operand = &check->space->operand[input];
    if (operand->linear != linear || operand->absent || operand->ignored ||
        simulated_tensor(&check->ranks, input) < 0 ||
        kernel_reads_value(check->ranks.kernel, input))
        return false;
    for (int o = 0; o < check->space->n_outputs; o++)
        if (shape_elements(&opspace_output(check->space, o)->shape) >
            shape_elements(&operand->shape))
            return false;
    return true;
}

/* The operands as addends over axis a: alone, and with each index dim sharded by axis b. */
static bool try_addends(ShardingCheck *check, Case *tried)
{
    static const uint8_t b = 1;
    tried->partial = 1;
    bool ok = try_case(check, tried);
    for (int i = 0; ok && i < check->space->n_index; i++) {
        if (!may_cut(check, i))
            continue;
        cut_index(check, tried, i, &b, 1);
        ok = try_case(check, tried);
        tried->cut.index[i] = cut_whole(check->space->index[i].size);
    }
    return ok;
}

static bool try_partials(ShardingCheck *check)
{
    Case together = whole_case(check, check->both);
    bool any = false, all = true;
    for (int i = 0; i < check->space->n_inputs; i++) {
        Case alone = whole_case(check, check->both);
        alone.summed[i] = lets_pass(check, i, LINEAR_ALONE);
        together.summed[i] = lets_pass(check, i, LINEAR_TOGETHER);
        any |= together.summed[i];
        all &= together.summed[i] || check->space->operand[i].linear != LINEAR_TOGETHER;
        if (alone.summed[i] && !try_addends(check, &alone))
            return false;
    }
    return !any || !all || try_addends(check, &together);
}

/* ---- the op ---- */

/* A loop makes what is stacked; of the functions that are called, those with a sharding rule are
 * not run. */
bool rule_check_runs_alone(const char *op_type)
{
    const Kernel *kernel = kernel_find(NULL, op_type);
    return kernel && !str_has_word(STR("LoopStack stablehlo.custom_call"), str_from(kernel->name));
}

/* Adds the sizes of outputs that depend on the data. False with *err: the op cannot be run. */
static bool bind_outputs(Arena *arena, const Inferred *inferred, uint64_t seed, DimBindings *dims,
                         Error *err)
{
    Simulated ranks;
    const GraphOp *at = &inferred->graph->ops[0];
    bool ok =
        simulated_open(arena, inferred, 0, inferred_space(inferred, 0), seed, NULL, &ranks, err);
    for (int i = 0; ok && i < at->n_outputs; i++) {
        int32_t t = op_outputs(inferred->graph, 0)[i];
        if (t >= 0 && !inferred_shape(inferred, t))
            data_shapes_bind(arena, inferred, t, &ranks.value[t]->whole, dims);
    }
    simulated_close(&ranks);
    return ok;
}

const Inferred *rule_check_infer(Arena *arena, const Graph *graph, const Registry *registry,
                                 uint64_t seed, Error *err)
{
    DimBindings dims = {0};
    const Inferred *inferred = infer(arena, graph, registry, &dims, false, err);
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    const Kernel *kernel = space ? kernel_find(space, op_operator(graph, 0)) : NULL;
    if (!kernel || kernel->first_value != KERNEL_DECIDES)
        return inferred;
    if (!bind_outputs(arena, inferred, seed, &dims, err))
        return NULL;
    return dims.n > 0 ? infer(arena, graph, registry, &dims, false, err) : inferred;
}

/* ---- all of it ---- */

static const Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {"mesh", str_from(text)};
    return mesh_parse(arena, &source, NULL);
}

bool rule_check(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                uint64_t seed, RuleProof *out, Error *err)
{
    return rule_check_values(arena, inferred, op, space, seed, NULL, out, err);
}

bool rule_check_values(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                       uint64_t seed, Local *const *given, RuleProof *out, Error *err)
{
    ShardingCheck check = {.arena = arena, .space = space, .proof = out};
    *out = (RuleProof){.ok = true, .text = ""};
    check.small = mesh_of(arena, "a=2");
    check.odd = mesh_of(arena, "a=3");
    check.both = mesh_of(arena, "a=2,b=3");
    bool ok = simulated_open(arena, inferred, op, space, seed, given, &check.ranks, err);
    if (ok && !space->no_rule)
        (void)(try_cuts(&check) && try_parts(&check) && try_partials(&check));
    simulated_close(&check.ranks);
    return ok;
}
