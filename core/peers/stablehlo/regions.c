/* regions.c - functions where they are called, branches, loops. */
#include "core/peers/stablehlo/lower.h"

/* ---- regions ---- */

const MlirOp *lower_region(MlirLowering *lowering, const MlirRegion *region, const int32_t *args)
{
    const MlirOp *back = mlir_return(lowering->tree, region);
    for (int i = 0; args && i < region->n_args; i++)
        lowering->tensor[region->arg + i] = args[i];
    if (back)
        lower_ops(lowering, region->op, (int32_t)(back - lowering->tree->ops.at));
    return lowering->failed ? NULL : back;
}

/* The tensors that the op returns become the results of `of`, under whose name they are found. */
static void return_results(MlirLowering *lowering, const MlirOp *back, const MlirOp *of)
{
    if (!back || back->n_operands != of->n_results) {
        if (of->n_results > 0 || !back)
            lower_fail(lowering, of, "'%.*s' does not return its %d results", STR_ARG(of->name),
                       of->n_results);
        return;
    }
    for (int i = 0; i < of->n_results; i++) {
        const MlirValue *v = &lowering->tree->values.at[of->result + i];
        const char *part = v->pack < 0 ? "" : arena_printf(lowering->scratch, "#%d", v->pack);
        int32_t tensor = lower_use(lowering, back, i);
        Str name = lower_name(lowering, of, "");
        name = str_from(arena_printf(lowering->scratch, "%.*s%s", STR_ARG(name), part));
        lowering->tensor[of->result + i] = tensor;
        if (tensor >= 0 && !graph_has_tensor(lowering->builder, name) &&
            str_starts(str_from(graph_builder_name(lowering->builder, tensor)), name))
            graph_rename(lowering->builder, tensor, name);
    }
}

static int32_t *operand_tensors(MlirLowering *lowering, const MlirOp *op)
{
    int32_t *at = arena_array(lowering->scratch, int32_t, op->n_operands);
    for (int i = 0; i < op->n_operands; i++)
        at[i] = lower_use(lowering, op, i);
    return at;
}

/* ---- calls ---- */

static void call_function(MlirLowering *lowering, const MlirOp *op, Str name)
{
    const MlirFunction *function = mlir_function(lowering->tree, name);
    if (!function || function->region < 0) {
        lower_fail(lowering, op, "there is no function '@%.*s'", STR_ARG(name));
        return;
    }
    int id = (int)(function - lowering->tree->functions.at);
    const MlirRegion *region = &lowering->tree->regions.at[function->region];
    if (lowering->active[id] || lowering->n_active == CALLS_MAX) {
        lower_fail(lowering, op,
                   lowering->active[id] ? "function '@%.*s' calls itself"
                                        : "calls are nested too deep at '@%.*s'",
                   STR_ARG(name));
        return;
    }
    if (region->n_args != op->n_operands) {
        lower_fail(lowering, op, "'@%.*s' takes %d operands, this call has %d", STR_ARG(name),
                   region->n_args, op->n_operands);
        return;
    }
    MlirFrame frame;
    const int32_t *args = operand_tensors(lowering, op);
    lowering->active[id] = true;
    lowering->n_active++;
    lower_enter(lowering, op, "", &frame);
    const MlirOp *back = lower_region(lowering, region, args);
    lower_leave(lowering);
    lowering->active[id] = false;
    lowering->n_active--;
    if (!lowering->failed)
        return_results(lowering, back, op);
}

void lower_call(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *callee = mlir_attr(lowering->tree, op, "callee");
    Str name = callee ? callee->value : STR("");
    if (name.n > 0 && name.s[0] == '@')
        name = mlir_text(lowering->scratch, (Str){name.s + 1, name.n - 1});
    call_function(lowering, op, name);
}

void lower_composite(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *body = mlir_attr(lowering->tree, op, "decomposition");
    Str name = body ? body->value : STR("");
    call_function(lowering, op, name.n > 0 ? (Str){name.s + 1, name.n - 1} : name);
}

/* ---- branches ---- */

/* Ops of a branch, taken if the condition is true or if it is false; its results. */
static int32_t *lower_branch(MlirLowering *lowering, const MlirOp *op, int region,
                             int32_t condition, bool then)
{
    GraphBody body = {
        .first = lowering->builder->ops.n, .of = condition, .kind = then ? BODY_THEN : BODY_ELSE};
    MlirFrame frame;
    lower_enter(lowering, op, arena_printf(lowering->scratch, "%d", region), &frame);
    const MlirOp *back = lower_region(lowering, mlir_region(lowering->tree, op, region), NULL);
    lower_leave(lowering);
    if (!lowering->failed && (!back || back->n_operands != op->n_results))
        lower_fail(lowering, op, "branch %d does not return %d results", region, op->n_results);
    if (lowering->failed)
        return NULL;
    graph_add_body(lowering->builder, body, NULL);
    return operand_tensors(lowering, back);
}

/* Branches from `first` on, by what remains of the index. */
static int32_t *lower_choice(MlirLowering *lowering, const MlirOp *op, int first, bool by_index)
{
    Arena *arena = lowering->scratch;
    int n = op->n_results, left = op->n_regions - first;
    int32_t condition = lower_use(lowering, op, 0);
    if (by_index) {
        int64_t place = first;
        const char *part = arena_printf(arena, "is_%d", first);
        const int32_t operands[2] = {
            condition, lower_constant_ints(lowering, op, arena_printf(arena, "place_%d", first),
                                           lower_type(lowering, op, 0)->dtype, &place, 1, true)};
        condition = lower_step(lowering, op, "Equal", part, operands, 2);
    }
    int32_t *then = lower_branch(lowering, op, first, condition, true), *other;
    if (left > 2 && !lowering->failed) {
        GraphBody body = {.first = lowering->builder->ops.n, .of = condition, .kind = BODY_ELSE};
        other = lower_choice(lowering, op, first + 1, by_index);
        if (!lowering->failed)
            graph_add_body(lowering->builder, body, NULL);
    } else {
        other = lowering->failed ? NULL : lower_branch(lowering, op, first + 1, condition, false);
    }
    int32_t *made = arena_array(arena, int32_t, n);
    for (int o = 0; o < n && !lowering->failed; o++) {
        const int32_t inputs[3] = {condition, then[o], other[o]};
        const char *part = arena_printf(arena,
                                        first ? "else_%d_%d"
                                        : o   ? "#%d"
                                              : "",
                                        o ? o : first, o);
        if (first > 0) {
            made[o] = lower_step(lowering, op, "If", part, inputs, 3);
        } else {
            made[o] = lower_result(lowering, op, o);
            lower_add(lowering, op, "If", part, inputs, 3, &made[o], 1);
        }
    }
    return made;
}

void lower_if(MlirLowering *lowering, const MlirOp *op)
{
    if (op->n_regions != 2)
        lower_fail(lowering, op, "it has %d branches, not 2", op->n_regions);
    else
        lower_choice(lowering, op, 0, false);
}

/* One branch is the ops themselves. */
static void lower_only_branch(MlirLowering *lowering, const MlirOp *op)
{
    MlirFrame frame;
    lower_enter(lowering, op, "0", &frame);
    const MlirOp *back = lower_region(lowering, mlir_region(lowering->tree, op, 0), NULL);
    lower_leave(lowering);
    if (!lowering->failed)
        return_results(lowering, back, op);
}

void lower_case(MlirLowering *lowering, const MlirOp *op)
{
    enum { BRANCHES_MAX = 64 };
    if (op->n_regions < 1 || op->n_regions > BRANCHES_MAX)
        lower_fail(lowering, op, "it has %d branches: 1 to %d are read", op->n_regions,
                   BRANCHES_MAX);
    else if (op->n_regions == 1)
        lower_only_branch(lowering, op);
    else
        lower_choice(lowering, op, 0, true);
}

/* ---- loops ---- */

/* The op that makes the value, if it is one of that name; NULL. */
static const MlirOp *maker(const MlirTree *tree, int32_t value, const char *name)
{
    int32_t op = tree->values.at[value].op;
    return op >= 0 && mlir_is(&tree->ops.at[op], name) ? &tree->ops.at[op] : NULL;
}

static bool constant_int(const MlirTree *tree, int32_t value, int64_t *out)
{
    const MlirOp *op = maker(tree, value, "stablehlo.constant");
    return op && mlir_int(mlir_inside(mlir_elements(tree, op)), out);
}

/* The number of iterations of a loop that counts an integer from one constant to another by a
 * third, as scan and fori_loop do; -1 if it is another one. */
static int64_t count_trips(const MlirTree *tree, const MlirOp *op)
{
    const MlirRegion *cond = mlir_region(tree, op, 0), *body = mlir_region(tree, op, 1);
    const MlirOp *goes_on = mlir_return(tree, cond), *back = mlir_return(tree, body);
    if (!goes_on || !back || goes_on->n_operands != 1 || back->n_operands != body->n_args)
        return -1;
    const MlirOp *compare = maker(tree, mlir_operands(tree, goes_on)[0], "stablehlo.compare");
    const MlirAttr *way = compare ? mlir_attr(tree, compare, "comparison_direction") : NULL;
    Str direction = way ? way->value : compare ? mlir_word(tree, compare, 0) : STR("");
    if (!compare || compare->n_operands != 2 || str_find(direction, STR("LT")) < 0)
        return -1;
    int32_t counter = mlir_operands(tree, compare)[0] - cond->arg;
    int64_t from, to, by;
    if (counter < 0 || counter >= cond->n_args || counter >= body->n_args ||
        !constant_int(tree, mlir_operands(tree, compare)[1], &to) ||
        !constant_int(tree, mlir_operands(tree, op)[counter], &from))
        return -1;
    const MlirOp *add = maker(tree, mlir_operands(tree, back)[counter], "stablehlo.add");
    if (!add || add->n_operands != 2 || mlir_operands(tree, add)[0] != body->arg + counter ||
        !constant_int(tree, mlir_operands(tree, add)[1], &by) || by <= 0)
        return -1;
    return to <= from ? 0 : (to - from - 1) / by + 1;
}

/* Whether the loop goes on with these values of what it carries. */
static int32_t lower_condition(MlirLowering *lowering, const MlirOp *op, const char *part,
                               const int32_t *values)
{
    MlirFrame frame;
    lower_enter(lowering, op, part, &frame);
    const MlirOp *back = lower_region(lowering, mlir_region(lowering->tree, op, 0), values);
    lower_leave(lowering);
    if (!lowering->failed && (!back || back->n_operands != 1))
        lower_fail(lowering, op, "its condition does not return one value");
    return lowering->failed ? -1 : lower_use(lowering, back, 0);
}

typedef struct {
    int n; /* values that are carried, without the condition */
    int32_t *in, *next, *first;
    GraphCarry *carries;
    int32_t begins, goes_on; /* the condition */
} Loop;

static int32_t always(MlirLowering *lowering, const MlirOp *op, const char *part)
{
    const int64_t yes = 1;
    return lower_constant_ints(lowering, op, part, DT_BOOL, &yes, 1, true);
}

/* The values as an iteration finds them. */
static void enter_loop(MlirLowering *lowering, const MlirOp *op, const MlirRegion *body, Loop *loop)
{
    int32_t goes_on = lower_step(lowering, op, "LoopCarry", "goes_on", &loop->begins, 1);
    loop->carries[0] = (GraphCarry){goes_on, -1};
    MlirFrame frame;
    for (int i = 0; i < loop->n; i++) {
        lower_enter(lowering, op, "do", &frame);
        Str name = lowering->tree->values.at[body->arg + i].name;
        loop->in[i] = lower_new(lowering, name, body->arg + i);
        lower_leave(lowering);
        lower_add(lowering, op, "LoopCarry",
                  arena_printf(lowering->scratch, "do/%.*s", STR_ARG(name)), &loop->first[i], 1,
                  &loop->in[i], 1);
        loop->carries[i + 1] = (GraphCarry){loop->in[i], -1};
    }
}

static void leave_loop(MlirLowering *lowering, const MlirOp *op, const Loop *loop)
{
    for (int i = 0; i < loop->n && !lowering->failed; i++) {
        const int32_t inputs[2] = {loop->first[i], loop->next[i]};
        int32_t made = lower_result(lowering, op, i);
        lower_add(lowering, op, "LoopResult", i ? arena_printf(lowering->scratch, "#%d", i) : "",
                  inputs, 2, &made, 1);
    }
}

void lower_while(MlirLowering *lowering, const MlirOp *op)
{
    if (op->n_regions != 2 || op->n_results != op->n_operands) {
        lower_fail(lowering, op, "it has no condition and body of its %d values", op->n_operands);
        return;
    }
    const MlirTree *tree = lowering->tree;
    const MlirRegion *region = mlir_region(tree, op, 1);
    if (region->n_args != op->n_operands || mlir_region(tree, op, 0)->n_args != op->n_operands) {
        lower_fail(lowering, op, "its regions do not take its %d values", op->n_operands);
        return;
    }
    Arena *arena = lowering->scratch;
    int n = op->n_operands;
    int64_t trips = count_trips(tree, op);
    Loop loop = {.n = n, .first = operand_tensors(lowering, op)};
    loop.in = arena_array(arena, int32_t, n);
    loop.carries = arena_array(arena, GraphCarry, n + 1);
    loop.begins = trips >= 0 ? always(lowering, op, "begins")
                             : lower_condition(lowering, op, "begins", loop.first);
    int32_t most =
        trips < 0 ? -1 : lower_constant_ints(lowering, op, "trips", DT_I64, &trips, 1, true);
    if (lowering->failed)
        return;
    GraphBody body = {.first = lowering->builder->ops.n, .of = most, .kind = BODY_LOOP};
    enter_loop(lowering, op, region, &loop);
    MlirFrame frame;
    lower_enter(lowering, op, "do", &frame);
    const MlirOp *back = lower_region(lowering, region, loop.in);
    lower_leave(lowering);
    if (!lowering->failed && (!back || back->n_operands != n))
        lower_fail(lowering, op, "its body does not return its %d values", n);
    if (lowering->failed)
        return;
    loop.next = operand_tensors(lowering, back);
    loop.goes_on = trips >= 0 ? always(lowering, op, "goes on")
                              : lower_condition(lowering, op, "cond", loop.next);
    loop.carries[0].next = loop.goes_on;
    for (int i = 0; i < n; i++)
        loop.carries[i + 1].next = loop.next[i];
    body.n_carries = n + 1;
    graph_add_body(lowering->builder, body, loop.carries);
    leave_loop(lowering, op, &loop);
}
