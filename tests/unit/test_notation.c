#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "core/peers/shardy/factor_rule.h"
#include "core/rules/infer.h"
#include "core/rules/notation.h"

/* ---- the last op of a graph in every notation ---- */

typedef struct {
    const char *name, *text;
    const char *dimop, *einsum, *transforms, *shardy; /* "text", or "text | what is lost" */
} Row4;

static Row4 ops[] = {
    {"matmul", "y <- MatMul f32[2,4,8] f32[8,16]", "b s k+, k+ n -> b s n", "bsk,kn->bsn",
     " | k is reduced by sum; input 1 is cut too",
     "([i, j, l], [l, k])->([i, j, k]) {i=2, j=4, k=16, l=8} reduction={l}"},
    {"an addend that is added once", "y <- Gemm f32[4,8] f32[16,8] f32[16] transB=1",
     "m k+, n k+, n -> m n | input 2 is added once", "mk,nk,n->mn | input 2 is added once",
     " | k is reduced by sum; input 1 is cut too; input 2 is cut too",
     "([i, k], [j, k], [j])->([i, j]) {i=4, j=16, k=8} reduction={k} | input 2 is added once"},
    {"a dim taken apart", "y <- Reshape f32[96,64] i64[3]{8,12,64}",
     "(a b) c, 3 -> a b c | a cut of b, minor in (a b); linear in 0: partial inputs stay partial",
     "1c,1->11c | input 0 dim 0 is (a b); a cut of b, minor in (a b); linear in 0: partial inputs "
     "stay partial",
     "[Split(InputDim(0), (8, 12), 0), Split(InputDim(0), (8, 12), 1), InputDim(1)] | a cut of b, "
     "minor in (a b); linear in 0: partial inputs stay partial",
     "([ij, k], [l])->([i, j, k]) {i=8, j=12, k=64, l=3} need_replication={l} | linear in 0: "
     "partial inputs stay partial"},
    {"dims made one", "y <- Flatten f32[2,3,4]",
     "a b c -> a (b c) | a cut of c, minor in (b c); linear in 0: partial inputs stay partial",
     "a11->a1 | output 0 dim 1 is (b c); a cut of c, minor in (b c); linear in 0: partial inputs "
     "stay partial",
     "[InputDim(0), Flatten(InputDim(1), InputDim(2))] | a cut of c, minor in (b c); linear in 0: "
     "partial inputs stay partial",
     "([i, j, k])->([i, jk]) {i=2, j=3, k=4} | linear in 0: partial inputs stay partial"},
    {"a frozen dim", "y <- Softmax f32[4,8]", "d0 d^ -> d0 d^", "d1->d1",
     "[InputDim(0), InputDim(1)] | d is never cut",
     "([i, j])->([i, j]) {i=4, j=8} need_replication={j}"},
    {"a maximum", "y <- ReduceMax f32[4,8] i64[1]{1} keepdims=0",
     "d0 d+, 1 -> d0 | d is reduced by max, not summed",
     "da,1->d | d is reduced by max, not summed", " | d is reduced by max",
     "([i, j], [k])->([i]) {i=4, j=8, k=1} reduction={j} | d is reduced by max, not summed"},
    {"a dim that is repeated", "y <- Expand f32[4,1] i64[2]{4,8}", "d0 1, 2 -> d0 d1", "d1,1->da",
     "[InputDim(0), Broadcast(8)]",
     "([i, k], [l])->([i, j]) {i=4, j=8, k=1, l=2} need_replication={l}"},
    {"dims of one element", "y <- Sub f32[4,1] f32[4,1]",
     "d0 1, d0 1 -> d0 1 | linear in 0 1: "
     "partial inputs alike stay partial",
     "d1,d1->d1 | linear in 0 1: partial inputs alike stay "
     "partial",
     " | input 1 is cut too",
     "([i, j], [i, j])->([i, j]) {i=4, j=1} | linear in 0 1: partial inputs alike stay partial"},
    {"a dim that is shifted", "y <- Pad f32[4,5] i64[4]{0,1,0,1}",
     "d0 5, 4 -> d0 7 | input 0 dim 1: along j1, offset -1, clipped",
     "d1,1->d1 | input 0 dim 1: along j1, offset -1, clipped",
     "[InputDim(0), Singleton] | input 0 dim 1: along j1, offset -1, clipped",
     "([i, j], [k])->([i, j]) {i=4, j=7, k=4} need_replication={k} permutation={j} | input 0 dim "
     "1: "
     "along j1, offset -1, clipped"},
    {"a scalar", "y <- Tanh f32[]", "1 -> 1", "->", "[]", "([])->([])"},
};

static Arena *arena;

static const OpSpace *space_of(const char *text)
{
    DimBindings none = {0};
    Error err = {0};
    const Graph *graph = graph_from_text(arena, text, 18);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    assert_non_null(inferred);
    assert_int_equal(inferred->findings.n, 0);
    return inferred_space(inferred, graph->n_ops - 1);
}

static const char *printed(const OpSpace *space, const char *notation)
{
    Buf out = buf_new(arena), lost = buf_new(arena);
    notation_find(str_from(notation))->print(space, &out, &lost);
    for (size_t i = 0; i < lost.n; i++) {
        buf_puts(&out, i == 0 ? " | " : lost.s[i - 1] == '\n' ? "; " : "");
        if (lost.s[i] != '\n')
            buf_putc(&out, lost.s[i]);
    }
    return out.s;
}

static void prints(void **state)
{
    const Row4 *row = *state;
    arena = arena_new();
    const OpSpace *space = space_of(row->text);
    assert_string_equal(printed(space, "dimop"), row->dimop);
    assert_string_equal(printed(space, "einsum"), row->einsum);
    assert_string_equal(printed(space, "transforms"), row->transforms);
    assert_string_equal(printed(space, "shardy"), row->shardy);
    arena_free(arena);
}

/* ---- rows that are no mixed radix ---- */

/* A 1-D convolution, 16 places to 7 by windows of 3 and steps of 2: x[n, 2*o + r], w[r]. */
static OpSpace *windows(void)
{
    OpSpace *space = opspace_new(arena, 2, 1);
    int n = opspace_add_index(space, "n", 4, ROLE_MAP, REDUCE_NONE);
    int o = opspace_add_index(space, "o", 7, ROLE_MAP, REDUCE_NONE);
    int r = opspace_add_index(space, "r", 3, ROLE_REDUCE, REDUCE_SUM);
    const Shape shapes[] = {{2, {4, 15}}, {1, {3}}, {2, {4, 7}}};
    for (int i = 0; i < 3; i++) {
        space->operand[i].shape = shapes[i];
        space->operand[i].projection.n_dims = (uint8_t)shapes[i].n_dims;
    }
    Row *x = space->operand[0].projection.row;
    row_unit(&x[0], n);
    row_unit(&x[1], o);
    x[1].coef[o] = 2;
    x[1].coef[r] = 1;
    row_unit(&space->operand[1].projection.row[0], r);
    row_unit(&space->operand[2].projection.row[0], n);
    row_unit(&space->operand[2].projection.row[1], o);
    return space;
}

static void windows_are_a_halo_that_letters_cannot_say(void **state)
{
    (void)state;
    Error err = {0};
    arena = arena_new();
    OpSpace *space = windows();
    assert_true(opspace_finish(space, &err));
    assert_string_equal(printed(space, "dimop"), "n 15, 3 -> n 7 | input 0 dim 1: windows of 3 "
                                                 "along o, stride 2, halo 1");
    assert_string_equal(printed(space, "einsum"),
                        "n1,1->n1 | input 0 dim 1: windows of 3 along o, stride 2, halo 1");
    assert_string_equal(printed(space, "shardy"),
                        "([i, jk], [k])->([i, j]) {i=4, j=7, k=3} reduction={k} permutation={j} | "
                        "input 0 dim 1: windows of 3 along o, stride 2, halo 1");
    arena_free(arena);
}

static void a_part_is_clipped(void **state)
{
    (void)state;
    Error err = {0};
    Buf row = buf_new(arena = arena_new());
    OpSpace *space = windows();
    Operand *x = &space->operand[0];
    x->projection.clip = true;
    x->projection.row[1].offset = -1;
    assert_true(opspace_finish(space, &err));
    notation_row(space, x, 1, &row);
    assert_string_equal(row.s, "windows of 3 along o, stride 2, halo 1, offset -1, clipped");
    arena_free(arena);
}

static void factors_beyond_z_are_numbered(void **state)
{
    (void)state;
    Buf out = buf_new(arena = arena_new());
    for (int f = 16; f < 20; f++)
        factor_name(f, &out);
    assert_string_equal(out.s, "yzz_1z_2");
    arena_free(arena);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(windows_are_a_halo_that_letters_cannot_say),
    cmocka_unit_test(a_part_is_clipped),
    cmocka_unit_test(factors_beyond_z_are_numbered),
};

int main(void)
{
    return run_rows("notations", ops, prints) +
           cmocka_run_group_tests_name("windows", others, NULL, NULL);
}
