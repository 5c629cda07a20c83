/* Explicit reshards as Shardy inserts them: what one op computes with, the steps around it, and
 * that afterwards every op's tensors agree, on random ops. */
#include "tests/unit/unit.h"

#include "core/peers/shardy/choose.h"
#include "core/peers/shardy/insert.h"

#include <string.h>

/* ---- an op and its shardings from text ---- */

enum { TENSORS_MAX = 6 };

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const FactorRule *rule;
    int n;
    Shape shape[TENSORS_MAX];
    TensorSharding sharding[TENSORS_MAX];
    double size[TENSORS_MAX];
} OneRule;

static void read_axes(const Mesh *mesh, Str text, char separator, AxisList *out)
{
    while (text.n > 0) {
        AxisRef ref;
        Error err = {0};
        Str axis = str_take(&text, separator);
        if (str_eq(axis, STR("-")))
            continue;
        assert_true(axis_ref_parse(mesh, axis, &ref, &err));
        axis_list_add(out, ref);
    }
}

/* "x.y,- +z": per dim its axes, then those it is partial over; "none": no sharding. */
static TensorSharding sharding_of(const Mesh *mesh, int n_dims, Str text)
{
    TensorSharding sharding = tensor_sharding_open(n_dims);
    if (str_eq(text, STR("none")))
        return sharding;
    sharding.mesh = 0;
    Str dims = str_take(&text, '+');
    read_axes(mesh, text, ',', &sharding.unreduced);
    dims = str_trim(dims);
    for (int d = 0; d < n_dims; d++) {
        sharding.dim[d].open = false;
        read_axes(mesh, str_take(&dims, ','), '.', &sharding.dim[d].axes);
    }
    assert_int_equal(dims.n, 0);
    return sharding;
}

static void set_shapes(OneRule *one)
{
    one->n = one->rule->n_operands + one->rule->n_results;
    for (int t = 0; t < one->n; t++) {
        const FactorTensor *tensor = &one->rule->tensor[t];
        one->shape[t] = (Shape){.n_dims = tensor->n_dims};
        for (int d = 0; d < tensor->n_dims; d++) {
            one->shape[t].dim[d] = 1;
            for (int i = 0; i < tensor->dim[d].n; i++)
                one->shape[t].dim[d] *= one->rule->factor[tensor->dim[d].at[i]].size;
        }
        one->size[t] = (double)shape_elements(&one->shape[t]);
    }
}

static OneRule one_rule(const char *mesh, const char *rule, const char *shardings)
{
    Error err = {0};
    OneRule one = {.arena = arena_new()};
    Source mesh_source = {"mesh", str_from(mesh)}, rule_source = {"rule", str_from(rule)};
    one.mesh = mesh_parse(one.arena, &mesh_source, &err);
    assert_non_null(one.mesh);
    one.rule = factor_rule_read(one.arena, &rule_source, &err);
    assert_non_null(one.rule);
    set_shapes(&one);
    Str rest = str_from(shardings ? shardings : "");
    for (int t = 0; t < one.n && shardings; t++)
        one.sharding[t] =
            sharding_of(one.mesh, (int)one.shape[t].n_dims, str_trim(str_take(&rest, '|')));
    return one;
}

static void put_axes(const Mesh *mesh, const AxisList *list, const char *between, Buf *out)
{
    for (int i = 0; i < list->n; i++) {
        buf_puts(out, i ? between : "");
        axis_ref_format(mesh, &list->at[i], out);
    }
    if (list->n == 0)
        buf_puts(out, "-");
}

/* ---- what one op computes with ---- */

#define DOT "([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}"

typedef struct {
    const char *name, *mesh, *rule, *shardings, *expect; /* axes of i, j, k, .. */
} ChooseRow;

static ChooseRow choose_rows[] = {
    {"compatible: as it is", "x=4,y=2", DOT, "x,y | y,- | x,-", "x - y"},
    {"an overlap of factors is none", "x=4,y=2", DOT, "x,- | -,x | x,x:(1)2", "- x -"},
    {"the larger tensors in sum", "x=4,y=2", DOT, "-,x | -,y | -,y", "- y x"},
    {"an axis that two factors want goes to the larger", "x=4,y=2", DOT, "x,- | -,x | -,-",
     "- x -"},
    {"equal sizes: pass through before reduction", "x=4",
     "([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}", "x,- | x,- | -,-", "x - -"},
    {"equal sizes and types: more shards", "x=2,y=4",
     "([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}", "x,- | -,y | -,-", "x y -"},
    {"one overlap cuts the rest short", "x=2,y=4,z=2",
     "([i, k], [k, j])->([i, j]) {i=16, j=16, k=16} reduction={k}", "x.y,- | -,z.y | -,-",
     "x z.y -"},
    {"a sub-axis is left of an axis", "x=8",
     "([i, k], [k, j])->([i, j]) {i=16, j=32, k=16} reduction={k}", "x,- | -,x:(2)4 | -,-",
     "x:(1)2 x:(2)4 -"},
    {"two tensors: the larger keeps", "x=4,y=2", "([i, j])->([i]) {i=8, j=4} reduction={j}",
     "-,x | x", "- x"},
    {"two tensors alike: the operand keeps", "x=2,y=2", "([i, j])->([i, j]) {i=8, j=4}",
     "x,- | y,-", "x -"},
    {"two tensors: more shards keep", "x=4,y=2", "([i, j])->([i, j]) {i=8, j=4}", "y,- | x,-",
     "x -"},
    {"two tensors: no exchange of neighbours", "x=4,y=2",
     "([i, j])->([i, j]) {i=8, j=4} permutation={j}", "-,x | y,-", "y -"},
    {"the other's own factor keeps what is free", "x=4,y=2,z=2",
     "([i, j])->([i, k]) {i=8, j=4, k=2}", "x,- | -,z.x", "x - z"},
    {"what is replicated moves to a batching factor", "x=4,y=2",
     "([i, j])->([i, j]) {i=8, j=8} need_replication={j}", "-,x | -,y", "x -"},
    {"it goes where it divides", "x=4,y=3",
     "([i, j, k])->([i, j, k]) {i=2, j=8, k=8} need_replication={k}", "-,-,x | -,-,x", "- x -"},
    {"it is dropped where a tensor lacks the factor", "x=4",
     "([i, j])->([i, k]) {i=8, j=8, k=8} need_replication={j, k}", "-,x | -,-", "- - -"},
    {"a minor factor waits for the major one", "x=2,y=2", "([ij], [j])->([i, j]) {i=4, j=4}",
     "x | y | -,y", "x -"},
    {"and follows when that is full", "x=4,y=2", "([ij], [j])->([i, j]) {i=4, j=4}", "x | y | -,y",
     "x y"},
};

static void chooses(void **state)
{
    const ChooseRow *row = *state;
    OneRule one = one_rule(row->mesh, row->rule, row->shardings);
    const TensorSharding *sharding[TENSORS_MAX];
    for (int t = 0; t < one.n; t++)
        sharding[t] = &one.sharding[t];
    AxisList *by_factor = arena_array(one.arena, AxisList, one.rule->n_factors);
    shardy_choose(one.arena, one.rule, one.mesh, sharding, one.size, by_factor);
    Buf text = buf_new(one.arena);
    for (int f = 0; f < one.rule->n_factors; f++) {
        buf_puts(&text, f ? " " : "");
        put_axes(one.mesh, &by_factor[f], ".", &text);
    }
    assert_string_equal(text.s, row->expect);
    arena_free(one.arena);
}

/* ---- the steps around it ---- */

static InsertProgram program_of(OneRule *one, const InsertOp *op, const InsertOutput *output)
{
    return (InsertProgram){.mesh = &one->mesh,
                           .n_values = one->n,
                           .n_ops = 1,
                           .n_outputs = output->sharding.mesh == MESH_NONE ? 0 : 1,
                           .sharding = one->sharding,
                           .op = op,
                           .output = output};
}

static InsertOp op_of(OneRule *one, const char *name)
{
    static const int values[TENSORS_MAX] = {0, 1, 2, 3, 4, 5};
    InsertOp op = {.rule = one->rule, .value = values};
    op.call.op = name;
    op.call.n_operands = one->rule->n_operands;
    op.call.n_results = one->rule->n_results;
    op.call.shape = one->shape;
    return op;
}

static void put_sharding(const Mesh *mesh, const TensorSharding *sharding, Buf *out)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        buf_puts(out, d ? "," : "");
        put_axes(mesh, &sharding->dim[d].axes, ".", out);
    }
    if (sharding->unreduced.n > 0) {
        buf_puts(out, " +");
        put_axes(mesh, &sharding->unreduced, ",", out);
    }
}

static void put_steps(const OneRule *one, const Inserted *inserted, Buf *out)
{
    for (int i = 0; i < inserted->n_steps; i++) {
        const InsertStep *step = &inserted->step[i];
        buf_printf(out, "%s%s %d ", i ? "; " : "", insert_kind_name(step->kind), step->value);
        put_sharding(one->mesh, &step->to, out);
        if (step->axes.n > 0) {
            buf_puts(out, " over ");
            put_axes(one->mesh, &step->axes, ",", out);
        }
    }
}

#define SAME "([i, j])->([i, j]) {i=8, j=16}"

typedef struct {
    const char *name, *op, *mesh, *rule, *shardings, *returned, *expect; /* returned: or "none" */
} InsertRow;

static InsertRow insert_rows[] = {
    {"compatible: none", "f", "x=4,y=2", DOT, "x,- | -,y | x,y", "none", ""},
    {"an operand comes, a result goes", "f", "x=4,y=2", DOT, "-,- | -,x | x,-", "none",
     "reshard 2 x,-"},
    {"a sharded reduction is summed", "f", "x=4,y=2", DOT, "-,x | x,- | -,-", "none",
     "all_reduce 2 -,- over x"},
    {"over what the result stays partial", "f", "x=4,y=2", DOT, "-,x.y | x.y,- | -,- +y", "none",
     "all_reduce 2 -,- +y over x"},
    {"summed, then moved", "f", "x=4,y=2", DOT, "-,y | y,x | x,-", "none",
     "all_reduce 2 -,x over y; reshard 2 x,-"},
    {"a partial operand is reduced first", "f", "x=4,y=2", SAME, "x,- +y | x,-", "none",
     "all_reduce 0 x,- over y"},
    {"not where the result is partial too", "f", "x=4,y=2", SAME, "x,- +y | x,- +y", "none", ""},
    {"of an axis in part", "f", "x=8", SAME, "-,- +x | -,- +x:(2)2", "none",
     "all_reduce 0 -,- +x:(2)2 over x:(1)2,x:(4)2"},
    {"a value without a sharding is not cut", "f", "x=4", SAME, "none | x,-", "none",
     "reshard 0 x,-"},
    {"a user's rule is left alone", "f", "x=4", "([i, j])->([i, j]) {i=8, j=16}, custom",
     "x,- | -,x", "none", ""},
    {"what is returned", "f", "x=4,y=2", SAME, "x,- | x,-", "-,x", "reshard 1 -,x"},
    {"what is returned reduced", "f", "x=4,y=2", SAME, "-,- +x | -,- +x", "y,-",
     "all_reduce 1 -,- over x; reshard 1 y,-"},
    {"a barrier of the optimizer", "stablehlo.optimization_barrier", "x=4,y=2", SAME, "x,- | -,x",
     "none", "reshard 0 -,x"},
    {"a reshard stays", "sdy.reshard", "x=4,y=2", SAME, "x,- | -,x", "none", "reshard 0 -,x"},
    {"sharded to unreduced", "sdy.reshard", "x=4,y=2", SAME, "y,x | y,- +x", "none",
     "sharded_to_unreduced 0 y,- +x over x"},
    {"free to unreduced", "sdy.reshard", "x=4,y=2", SAME, "y,- | y,- +x", "none",
     "replicated_to_unreduced 0 y,- +x over x"},
    {"both, behind a reshard", "sdy.reshard", "x=4,y=2,z=2", SAME, "x,z | y,- +x,z", "none",
     "reshard 0 y,z; replicated_to_unreduced 0 y,z +x over x; "
     "sharded_to_unreduced 0 y,- +x,z over z"},
    {"a part of an axis becomes unreduced", "sdy.reshard", "x=8", SAME, "x,- | x:(1)2,- +x:(2)4",
     "none", "sharded_to_unreduced 0 x:(1)2,- +x:(2)4 over x:(2)4"},
};

static void inserts(void **state)
{
    const InsertRow *row = *state;
    OneRule one = one_rule(row->mesh, row->rule, row->shardings);
    InsertOp op = op_of(&one, row->op);
    int last = one.n - 1;
    InsertOutput output = {
        last, sharding_of(one.mesh, (int)one.shape[last].n_dims, str_from(row->returned))};
    InsertProgram program = program_of(&one, &op, &output);
    Inserted inserted;
    Error err = {0};
    Buf text = buf_new(one.arena);
    assert_true(insert_reshards(one.arena, &program, &inserted, &err));
    put_steps(&one, &inserted, &text);
    assert_string_equal(text.n ? text.s : "", row->expect);
    arena_free(one.arena);
}

/* ---- refusals ---- */

typedef struct {
    const char *name, *mesh, *rule, *shardings, *expect; /* part of the text */
} RefuseRow;

static RefuseRow refuse_rows[] = {
    {"results partial over different axes", "x=4,y=2", "([i])->([i], [i]) {i=8}", "- | - +x | - +y",
     "partial over different axes"},
    {"cut by what the result is partial over", "x=4,y=2", SAME, "x,- | -,y +x",
     "over which its result is partial"},
};

static void refuses(void **state)
{
    const RefuseRow *row = *state;
    OneRule one = one_rule(row->mesh, row->rule, row->shardings);
    InsertOp op = op_of(&one, "f");
    InsertOutput output = {0, tensor_sharding_open(1)};
    InsertProgram program = program_of(&one, &op, &output);
    Inserted inserted;
    Error err = {0};
    assert_false(insert_reshards(one.arena, &program, &inserted, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, row->expect));
    arena_free(one.arena);
}

/* ---- afterwards all agree ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Each axis, or one half of it and then the other, goes to some dim or to none. */
static TensorSharding random_sharding(const Mesh *mesh, int n_dims, uint64_t *random)
{
    TensorSharding sharding = tensor_sharding_open(n_dims);
    sharding.mesh = 0;
    for (int d = 0; d < n_dims; d++)
        sharding.dim[d].open = false;
    for (int a = 0; a < mesh->n_axes; a++) {
        AxisRef ref = axis_ref_whole(mesh, a);
        if (next_random(random) % 3 == 0 && ref.size % 4 == 0)
            ref.size = 2;
        for (; ref.pre < mesh->axes[a].size; ref.pre *= ref.size) {
            int d = (int)(next_random(random) % (uint64_t)(n_dims + 1));
            if (d < n_dims)
                axis_list_push(&sharding.dim[d].axes, mesh, ref);
            if (ref.size == mesh->axes[a].size)
                break;
        }
    }
    return sharding;
}

static const char *const rules[] = {
    DOT,
    SAME,
    "([i, j], [i, j])->([i, j]) {i=8, j=16}",
    "([i, k, j], [i, j, l])->([i, k, l]) {i=4, j=16, k=8, l=8} reduction={j}",
    "([i, j])->([i]) {i=8, j=32} reduction={j}",
    "([i, j], [i, j])->([i, j]) {i=8, j=16} need_replication={j}",
    "([i, j])->([i, j]) {i=8, j=16} permutation={j}",
    "([i, k], [j, k])->([i, k]) {i=8, j=4, k=16} need_replication={i, j}",
};

/* What the op is fed: as it lies, unless a step was put in front. */
static const TensorSharding *fed(const OneRule *one, const Inserted *inserted, int tensor)
{
    const TensorSharding *sharding =
        tensor < one->rule->n_operands ? &one->sharding[tensor] : &inserted->made[tensor];
    for (int i = 0; i < inserted->n_steps && tensor < one->rule->n_operands; i++)
        if (inserted->step[i].value == tensor)
            sharding = &inserted->step[i].to;
    return sharding;
}

static void check_agreement(const OneRule *one, const Inserted *inserted)
{
    const TensorSharding *sharding[TENSORS_MAX];
    for (int t = 0; t < one->n; t++)
        sharding[t] = fed(one, inserted, t);
    const FactorProjection *projection = factor_project(one->arena, one->rule, one->mesh, sharding);
    for (int f = 0; f < one->rule->n_factors; f++) {
        const FactorAxes *first = NULL;
        for (int t = 0; t < one->n; t++) {
            const FactorAxes *own = &projection->tensor[t].factor[f];
            if (!own->here)
                continue;
            assert_true(!first || axis_list_equal(&first->axes, &own->axes));
            assert_true(one->rule->factor[f].type != FACTOR_NEED_REPLICATION || own->axes.n == 0);
            first = own;
        }
    }
}

/* A value that is wanted elsewhere than it is made is what was asked for in the end. */
static void check_results(const OneRule *one, const Inserted *inserted)
{
    for (int t = one->rule->n_operands; t < one->n; t++) {
        const TensorSharding *now = &inserted->made[t];
        for (int i = 0; i < inserted->n_steps; i++)
            if (inserted->step[i].value == t)
                now = &inserted->step[i].to;
        for (int d = 0; d < now->n_dims; d++)
            assert_true(axis_list_equal(&now->dim[d].axes, &one->sharding[t].dim[d].axes));
    }
}

static void agrees(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 4000; round++) {
        OneRule one = one_rule(round % 2 ? "x=4,y=2" : "x=4,y=2,z=4",
                               rules[(size_t)round % COUNT_OF(rules)], NULL);
        for (int t = 0; t < one.n; t++)
            one.sharding[t] = random_sharding(one.mesh, (int)one.shape[t].n_dims, &random);
        InsertOp op = op_of(&one, "f");
        InsertOutput output = {0, tensor_sharding_open(1)};
        InsertProgram program = program_of(&one, &op, &output);
        Inserted inserted;
        Error err = {0};
        assert_true(insert_reshards(one.arena, &program, &inserted, &err));
        check_agreement(&one, &inserted);
        check_results(&one, &inserted);
        arena_free(one.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees)};
    return run_rows("what an op computes with", choose_rows, chooses) +
           run_rows("steps around an op", insert_rows, inserts) +
           run_rows("refused", refuse_rows, refuses) +
           cmocka_run_group_tests_name("afterwards all agree", tests, NULL, NULL);
}
