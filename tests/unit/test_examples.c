/* Every operator has an example; its rule takes it; what the rule says of it holds cell by cell,
 * and reads back from each notation that claims to say it. */
#include "tests/unit/unit.h"

#include "core/space/anno.h"
#include "core/space/einsum.h"
#include "core/rules/example.h"
#include "core/peers/shardy/factor_rule.h"
#include "core/rules/infer.h"
#include "core/rules/notation.h"
#include "scripts/peers/tapestry.h"

#include <stdio.h>

/* Operators that no op of a graph with a rule of its own is. */
static const struct {
    const char *operators, *why;
} without[] = {
    {"Constant Shape Size Range ConstantOfShape", "evaluated before the run"},
    {"Loop Scan", "taken apart by the reader"},
    {"SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt SequenceLength "
     "SequenceElement SequenceMap SplitToSequence ConcatFromSequence Optional OptionalHasElement "
     "OptionalGetElement",
     "their operands are no tensors"},
};

/* How many elements they give is data, so that they are replicated. */
static const char counted_by_run[] =
    "Compress NonZero Unique NonMaxSuppression ImageDecoder StringSplit com.microsoft::Tokenizer "
    "ai.onnx.ml::ZipMap BinCount MaskedSelect NonZeroRows Unique2 com.microsoft::RemovePadding "
    "com.microsoft::Unique com.microsoft::DynamicTimeWarping com.microsoft::BifurcationDetector";

/* They pick one place, or some, of a dim; a sum without its own element leaves out the last. */
static const char picks[] = "Slice STFT CenterCropPad MaxPool AveragePool LpPool Conv ConvInteger "
                            "CumSum CumProd";

static bool is_named(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at++)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* ---- the op of an example ---- */

typedef struct {
    const char *op_type;
    const char *example;
} One;

typedef struct {
    Arena *arena;
    const Graph *graph;
    const Inferred *inferred;
    const OpSpace *space; /* NULL: counted by the run */
} Op;

static Op op_of(const One *one)
{
    Error err = {0};
    const DimBindings none = {0};
    Op op = {.arena = arena_new()};
    op.graph = example_graph(op.arena, one->op_type, one->example, &err);
    if (op.graph)
        op.inferred = infer(op.arena, op.graph, registry_new(op.arena), &none, false, &err);
    if (!op.inferred)
        fail_msg("%s", err.text);
    op.space = inferred_space(op.inferred, 0);
    if (!op.space)
        fail_msg("it is evaluated before the run");
    if (is_named(counted_by_run, one->op_type))
        op.space = NULL;
    return op;
}

static int n_operands(const OpSpace *space)
{
    return space->n_inputs + space->n_outputs;
}

static bool is_seen(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

/* ---- the rule ---- */

static void rule_takes_it(void **state)
{
    Op op = op_of(*state);
    for (int f = 0; op.space && f < op.inferred->findings.n; f++)
        fail_msg("%s", op.inferred->findings.at[f].text);
    for (int o = 0; op.space && o < op.graph->ops[0].n_outputs; o++) {
        int32_t t = op_outputs(op.graph, 0)[o];
        assert_non_null(inferred_shape(op.inferred, t));
        assert_int_not_equal(op.inferred->dtype[t], DT_NONE);
    }
    if (op.space) {
        Error err = {0};
        OpSpace again = *op.space;
        assert_false(op.space->no_rule);
        if (!opspace_finish(&again, &err))
            fail_msg("%s", err.text);
    }
    arena_free(op.arena);
}

/* ---- cells ---- */

enum { POINTS_MAX = 1 << 20, CELLS_MAX = 1 << 14 };

static Box whole_index(const OpSpace *space)
{
    Box box = {.n = space->n_index};
    for (int j = 0; j < box.n; j++)
        box.hi[j] = space->index[j].size;
    return box;
}

/* The next point of a box that is not empty, the last dim fastest; false after the last. */
static bool step(const Box *box, int64_t *at)
{
    for (int d = box->n - 1; d >= 0; d--) {
        if (++at[d] < box->hi[d])
            return true;
        at[d] = box->lo[d];
    }
    return false;
}

static bool box_is_empty(const Box *box)
{
    for (int d = 0; d < box->n; d++)
        if (box->lo[d] >= box->hi[d])
            return true;
    return false;
}

static bool is_used(const Operand *operand, int index)
{
    bool used = false;
    for (int d = 0; d < operand->projection.n_dims; d++)
        used |= operand->projection.row[d].coef[index] != 0;
    return used;
}

/* The place inside a dim of n that a row reads in place of one outside of it. */
static int64_t from_inside(const Row *row, int64_t at, int64_t n)
{
    if (row->ends == ENDS_NONE || n == 0 || (0 <= at && at < n))
        return at;
    if (row->ends == ENDS_EDGE)
        return clamp(at, 0, n - 1);
    while (at < 0 || at >= n)
        if (row->ends == ENDS_WRAP)
            at += at < 0 ? n : -n;
        else
            at = at < 0 ? -at : 2 * (n - 1) - at;
    return at;
}

/* The window of an index point, row by row; false where nothing of it is in the tensor. */
static bool window_at(const Operand *operand, const int64_t *point, int n_index, Box *out)
{
    out->n = operand->projection.n_dims;
    for (int d = 0; d < out->n; d++) {
        const Row *row = &operand->projection.row[d];
        int64_t lo = row->offset, size = operand->shape.dim[d];
        for (int j = 0; j < n_index; j++)
            lo += row->coef[j] * point[j];
        if (row->divisor > 1)
            lo = lo / row->divisor - (lo % row->divisor < 0);
        lo = from_inside(row, lo, size);
        out->lo[d] = lo;
        out->hi[d] = lo + row->window;
        if (!operand->projection.clip && (lo < 0 || out->hi[d] > size))
            fail_msg("dim %d: [%ld, %ld) of %ld", d, (long)lo, (long)out->hi[d], (long)size);
        out->lo[d] = clamp(out->lo[d], 0, size);
        out->hi[d] = clamp(out->hi[d], 0, size);
    }
    return !box_is_empty(out);
}

static void count_cells(const Operand *operand, const Box *window, int *count)
{
    int64_t at[X_MAX];
    memcpy(at, window->lo, sizeof at);
    do {
        int64_t cell = 0;
        for (int d = 0; d < operand->shape.n_dims; d++)
            cell = cell * operand->shape.dim[d] + at[d];
        count[cell]++;
    } while (step(window, at));
}

/* How often each cell of an operand is met in an index box, and *around what is met. */
static void meet(const OpSpace *space, const Operand *operand, const Box *box, int *count,
                 Box *around)
{
    int64_t point[X_MAX];
    Box used = *box, window;
    bool any = false;
    for (int j = 0; j < box->n; j++)
        if (!is_used(operand, j) && used.lo[j] < used.hi[j])
            used.hi[j] = used.lo[j] + 1;
    memset(count, 0, (size_t)shape_elements(&operand->shape) * sizeof *count);
    *around = (Box){.n = operand->projection.n_dims};
    if (box_is_empty(&used))
        return;
    memcpy(point, used.lo, sizeof point);
    do {
        if (!window_at(operand, point, space->n_index, &window))
            continue;
        count_cells(operand, &window, count);
        for (int d = 0; d < window.n; d++) {
            around->lo[d] = any && around->lo[d] < window.lo[d] ? around->lo[d] : window.lo[d];
            around->hi[d] = any && around->hi[d] > window.hi[d] ? around->hi[d] : window.hi[d];
        }
        any = true;
    } while (step(&used, point));
}

static void expect_counts(const Operand *operand, const int *count, bool once, const char *what)
{
    for (int64_t cell = 0; cell < shape_elements(&operand->shape); cell++)
        if (once ? count[cell] != 1 : count[cell] == 0)
            fail_msg("%s: cell %ld is met %d times", what, (long)cell, count[cell]);
}

/* Every cell of an output is made once, and every cell of an input is read. */
static void cells_are_met(const One *one, const OpSpace *space, int *count)
{
    Box all = whole_index(space), around;
    for (int i = 0; i < n_operands(space); i++) {
        const Operand *operand = &space->operand[i];
        bool output = i >= space->n_inputs;
        if (!is_seen(operand))
            continue;
        assert_true(shape_elements(&operand->shape) <= CELLS_MAX);
        meet(space, operand, &all, count, &around);
        if (output || !is_named(picks, one->op_type))
            expect_counts(operand, count, output, output ? "output" : "input");
    }
}

/* The parts of an index dim cut in two make different cells of each output that follows it, and
 * read what the arithmetic of ranges says. */
static void parts_meet(const OpSpace *space, int index, int *count, int *total)
{
    int64_t size = space->index[index].size, middle = (size + 1) / 2;
    for (int i = 0; i < n_operands(space); i++) {
        const Operand *operand = &space->operand[i];
        if (!is_seen(operand) || !is_used(operand, index))
            continue;
        int64_t n = shape_elements(&operand->shape);
        memset(total, 0, (size_t)n * sizeof *total);
        for (int part = 0; part < 2; part++) {
            Box box = whole_index(space), around, range;
            box.lo[index] = part == 0 ? 0 : middle;
            box.hi[index] = part == 0 ? middle : size;
            meet(space, operand, &box, count, &around);
            projection_range(&operand->projection, &operand->shape, &box, &range);
            for (int64_t cell = 0; cell < n; cell++)
                total[cell] += count[cell];
            for (int d = 0; d < range.n && !box_is_empty(&around); d++) {
                bool tight = !operand->projection.clip;
                assert_true(range.lo[d] <= around.lo[d] && around.hi[d] <= range.hi[d]);
                assert_true(!tight || range.lo[d] == around.lo[d]);
                assert_true(!tight || range.hi[d] == around.hi[d]);
            }
        }
        if (i >= space->n_inputs)
            expect_counts(operand, total, true, space->index[index].name);
    }
}

static void cells_agree(void **state)
{
    const One *one = *state;
    Op op = op_of(one);
    int *count = arena_array(op.arena, int, CELLS_MAX),
        *total = arena_array(op.arena, int, CELLS_MAX);
    if (op.space) {
        cells_are_met(one, op.space, count);
        for (int j = 0; j < op.space->n_index; j++)
            if (op.space->index[j].role != ROLE_FROZEN)
                parts_meet(op.space, j, count, total);
    }
    arena_free(op.arena);
}

/* ---- notations ---- */

/* Index dim `name` of the annotation: digits are named anew, by their size. */
static bool same_index(const IndexDim *a, const IndexDim *b)
{
    bool number = is_digit(a->name[0]);
    return a->size == b->size && a->role == b->role && (number || strcmp(a->name, b->name) == 0);
}

static bool same_factors(const OpSpace *a, const DimFactors *from, const OpSpace *b,
                         const DimFactors *to)
{
    bool same = from->n == to->n && from->exact == to->exact;
    for (int k = 0; same && k < from->n; k++)
        same = same_index(&a->index[from->index[k]], &b->index[to->index[k]]);
    return same;
}

/* A scalar is told as one dim of 1. */
static Shape told_shape(const Operand *operand)
{
    return operand->shape.n_dims > 0 ? operand->shape : (Shape){.n_dims = 1, .dim = {1}};
}

static OpSpace *space_of_anno(Op *op, const Anno *anno, const char *text)
{
    const OpSpace *space = op->space;
    Error err = {0};
    AnnoInput *inputs = arena_array(op->arena, AnnoInput, space->n_inputs);
    AnnoArg *args = arena_array(op->arena, AnnoArg, space->n_index);
    AnnoMatch match;
    for (int i = 0; i < space->n_inputs; i++)
        inputs[i] = (AnnoInput){!space->operand[i].absent, told_shape(&space->operand[i])};
    for (int j = 0; j < space->n_index; j++)
        args[j] = (AnnoArg){str_from(space->index[j].name), true, space->index[j].size};
    OpSpace *out = NULL;
    if (anno_match(op->arena, &anno, 1, inputs, space->n_inputs, args, space->n_index, &match,
                   &err))
        out = anno_opspace(op->arena, &match, &err);
    if (!out)
        fail_msg("%s: %s", text, err.text);
    return out;
}

/* Of an op with outputs of its own sizes the annotation has numbers: it always reads. */
static void dimop_reads_back(Op *op, const char *text, bool whole)
{
    const OpSpace *space = op->space;
    Error err = {0};
    Source source = {"annotation", str_from(text)};
    const Anno *anno = anno_parse(op->arena, &source, &err);
    if (!anno)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(anno->n_inputs, space->n_inputs);
    assert_int_equal(anno->n_outputs, space->n_outputs);
    for (int i = 0; i < n_operands(space); i++)
        if (is_seen(&space->operand[i]))
            assert_int_equal(anno->tensor[i].n_dims, told_shape(&space->operand[i]).n_dims);
    if (!whole)
        return;
    const OpSpace *read = space_of_anno(op, anno, text);
    for (int i = 0; i < n_operands(space); i++) {
        const Operand *operand = &space->operand[i];
        for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++)
            if (!same_factors(space, &operand->factors[d], read, &read->operand[i].factors[d]))
                fail_msg("%s: operand %d, dim %d reads back otherwise", text, i, d);
    }
}

/* A letter, or 1, for each dim. */
static void einsum_has_the_dims(Op *op, const char *text)
{
    const OpSpace *space = op->space;
    const char *at = text;
    for (int i = 0; i < n_operands(space); i++) {
        size_t n = space->operand[i].absent ? 0 : (size_t)space->operand[i].shape.n_dims;
        if (i == space->n_inputs)
            at += strspn(at, "->");
        else if (i > 0)
            at += strspn(at, ",") > 0;
        assert_int_equal(strcspn(at, ",-"), n);
        at += n;
    }
    assert_int_equal(*at, '\0');
}

static void shardy_reads_back(Op *op, const char *text)
{
    Error err = {0};
    Source source = {"rule", str_from(text)};
    const FactorRule *rule = factor_rule_read(op->arena, &source, &err);
    if (!rule)
        fail_msg("%s: %s", text, err.text);
    Buf again = buf_new(op->arena);
    factor_rule_format(rule, &again);
    assert_string_equal(again.s, text);
}

/* ---- templates ---- */

/* Applied to the operands that are there, one a slot. */
static OpSpace *space_of_template(Op *op, const char *text)
{
    const OpSpace *space = op->space;
    Error err = {0};
    int *n_tensors = arena_array(op->arena, int, space->n_inputs), n = 0;
    const TemplateTensor **tensor = arena_array(op->arena, const TemplateTensor *, space->n_inputs);
    for (int i = 0; i < space->n_inputs; i++) {
        if (!is_seen(&space->operand[i]))
            continue;
        TemplateTensor *one = arena_make(op->arena, TemplateTensor);
        *one = (TemplateTensor){.shape = space->operand[i].shape, .dtype = STR("f32")};
        tensor[n] = one;
        n_tensors[n++] = 1;
    }
    TemplateCall call = {.n_tensors = n_tensors, .tensor = tensor};
    TemplateResult result = {0};
    const Template *template = template_read(op->arena, "printed", str_from(text), &err);
    if (!template || !template_apply(op->arena, template, &call, &result, &err) ||
        !opspace_finish(result.space, &err))
        fail_msg("%s\n%s", err.text, text);
    return result.space;
}

/* A template has the index dims that may be cut, those that are reduced last; frozen ones are
 * folded into the windows. */
static void template_reads_back(Op *op, const char *text)
{
    const OpSpace *space = op->space, *read = space_of_template(op, text);
    int index[X_MAX], n = 0;
    for (int reduced = 0; reduced < 2; reduced++)
        for (int j = 0; j < space->n_index; j++)
            if (space->index[j].role == (reduced ? ROLE_REDUCE : ROLE_MAP))
                index[n++] = j;
    assert_int_equal(read->n_index, n);
    for (int i = 0, at = 0; i < n_operands(space); i++) {
        if (!is_seen(&space->operand[i]))
            continue;
        Projection folded = space->operand[i].projection;
        const Operand *other = &read->operand[at++];
        for (int j = 0; j < space->n_index; j++)
            if (space->index[j].role == ROLE_FROZEN)
                projection_absorb(&folded, j, space->index[j].size);
        assert_true(shape_equal(&space->operand[i].shape, &other->shape));
        assert_int_equal(folded.clip, other->projection.clip);
        for (int d = 0; d < folded.n_dims; d++) {
            assert_int_equal(folded.row[d].offset, other->projection.row[d].offset);
            assert_int_equal(folded.row[d].window, other->projection.row[d].window);
            for (int k = 0; k < n; k++)
                assert_int_equal(folded.row[d].coef[index[k]], other->projection.row[d].coef[k]);
        }
    }
}

static void notations_read_back(void **state)
{
    Op op = op_of(*state);
    for (int k = 0; op.space && k < notation_count(); k++) {
        const Notation *notation = notation_at(k);
        Buf out = buf_new(op.arena), lost = buf_new(op.arena);
        bool whole = notation->print(op.space, &out, &lost);
        if (notation->letter == 'd')
            dimop_reads_back(&op, out.s, whole);
        else if (notation->letter == 'e')
            einsum_has_the_dims(&op, out.s);
        else if (notation->letter == 's' && out.n > 0)
            shardy_reads_back(&op, out.s);
        else if (notation->letter == 'm' && whole)
            template_reads_back(&op, out.s);
        if (!whole && lost.n == 0)
            fail_msg("%s: %s: it does not say what is lost", notation->name, out.s);
    }
    arena_free(op.arena);
}

/* ---- all of them ---- */

static const char *why_without(const char *name)
{
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (is_named(without[i].operators, name))
            return without[i].why;
    return NULL;
}

static void every_operator_has_one(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    Buf wrong = buf_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        if ((example_next(name, NULL) != NULL) == (why_without(name) != NULL))
            buf_printf(&wrong, " %s", name);
    }
    if (wrong.n > 0)
        fail_msg("without an example, or with one and a reason for none:%s", wrong.s);
    arena_free(arena);
}

int main(void)
{
    enum { EXAMPLES_MAX = 1024 };
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } groups[] = {{"examples: rules", rule_takes_it},
                  {"examples: cells", cells_agree},
                  {"examples: notations", notations_read_back}};
    static struct CMUnitTest tests[EXAMPLES_MAX];
    static One ones[EXAMPLES_MAX];
    static char names[EXAMPLES_MAX][160];
    const struct CMUnitTest all[] = {cmocka_unit_test(every_operator_has_one)};
    int failed = cmocka_run_group_tests_name("examples", all, NULL, NULL), n = 0;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const char *e = example_next(name, NULL); e; e = example_next(name, e)) {
            assert_true(n < EXAMPLES_MAX);
            ones[n] = (One){name, e};
            snprintf(names[n], sizeof names[n], "%s %.*s", name, (int)strcspn(e, ";"), e);
            n++;
        }
    }
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int i = 0; i < n; i++)
            tests[i] = (struct CMUnitTest){names[i], groups[g].function, NULL, NULL, &ones[i]};
        failed += _cmocka_run_group_tests(groups[g].name, tests, (size_t)n, NULL, NULL);
    }
    arena_free(arena);
    return failed;
}
