#include "tests/unit/unit.h"

#include "core/space/einsum.h"

#include <inttypes.h>
#include <string.h>

/* "8,1024,768"; "" is a scalar. */
static Shape shape_of(const char *text)
{
    Shape shape = {0};
    for (Str rest = str_from(text); rest.n > 0;) {
        int64_t comma = str_find(rest, STR(","));
        Str size = comma < 0 ? rest : (Str){rest.s, (size_t)comma};
        assert_true(str_to_int(size, &shape.dim[shape.n_dims++]));
        rest = comma < 0 ? (Str){0} : (Str){size.s + size.n + 1, rest.n - size.n - 1};
    }
    return shape;
}

/* ---- einsum ---- */

typedef struct {
    const char *name, *equation;
    const char *inputs[4];
    const char *want; /* the op space and the output's shape, or the error */
} EinsumRow;

static EinsumRow einsum_rows[] = {
    {"matmul", "ij,jk->ik", {"4,8", "8,6"}, "i j+, j+ k -> i k [4,6]"},
    {"blanks", " i j , j k -> i k ", {"4,8", "8,6"}, "i j+, j+ k -> i k [4,6]"},
    {"batches",
     "...ij,...jk->...ik",
     {"2,3,4,8", "2,3,8,6"},
     "b1 b0 i j+, b1 b0 j+ k -> b1 b0 i k [2,3,4,6]"},
    {"ragged batches",
     "...ij,...jk->...ik",
     {"2,3,4,8", "8,6"},
     "b1 b0 i j+, j+ k -> b1 b0 i k [2,3,4,6]"},
    {"broadcast batches", "...i,...i->...", {"2,1,4", "3,4"}, "b1 1 i+, b0 i+ -> b1 b0 [2,3]"},
    {"ellipsis inside", "i...j->j...i", {"2,3,4,5"}, "i b1 b0 j -> j b1 b0 i [5,3,4,2]"},
    {"empty ellipsis", "...i->i...", {"5"}, "i -> i [5]"},
    {"summed ellipsis", "...i->i", {"2,5"}, "b0+ i -> i [5]"},
    {"implied", "ij,jk", {"4,8", "8,6"}, "i j+, j+ k -> i k [4,6]"},
    {"implied, sorted", "ba", {"4,8"}, "b a -> a b [8,4]"},
    {"implied, upper first", "aZ", {"4,8"}, "a Z -> Z a [8,4]"},
    {"implied batches", "...ij,...jk", {"2,4,8", "2,8,6"}, "b0 i j+, b0 j+ k -> b0 i k [2,4,6]"},
    {"scalar", "i,i->", {"4", "4"}, "i+, i+ ->  []"},
    {"outer", "i,j->ij", {"4", "3"}, "i, j -> i j [4,3]"},
    {"three", "ij,jk,kl->il", {"2,3", "3,4", "4,5"}, "i j+, j+ k+, k+ l -> i l [2,5]"},
    {"trace", "ii->", {"4,4"}, "i^ i^ ->  []"},
    {"diagonal", "ii->i", {"4,4"}, "i^ i^ -> i^ [4]"},
    {"one broadcasts", "ij,jk->ik", {"1,8", "8,6"}, "i j+, j+ k -> i k [1,6]"},
    {"one against many", "ij,ij->ij", {"1,8", "4,8"}, "1 j, i j -> i j [4,8]"},
    {"attention",
     "bhqd,bhkd->bhqk",
     {"2,4,16,8", "2,4,16,8"},
     "b h q d+, b h k d+ -> b h q k [2,4,16,16]"},
    {"sizes differ",
     "ij,jk->ik",
     {"4,8", "7,6"},
     "conflict: input 1, dim 0 is 7 where another input has 8"},
    {"rank", "ij->i", {"4"}, "rank: input 0 has 1 dims, its term 2"},
    {"rank, ellipsis", "...ij->i", {"4"}, "rank: input 0 has 1 dims, its term 2"},
    {"too few terms",
     "ij->i",
     {"4,8", "8"},
     "1:3 syntax: the equation has fewer terms than there are inputs"},
    {"too many terms",
     "ij,j->i",
     {"4,8"},
     "1:3 syntax: the equation has more terms than there are inputs"},
    {"unknown letter", "ij->k", {"4,8"}, "syntax: a letter of the output is in no input"},
    {"letter twice", "ij->ii", {"4,8"}, "syntax: a letter of the output is there twice"},
    {"two ellipses", "...i...->i", {"4,8"}, "1:8 syntax: a term has one '...'"},
    {"two dots", "..i->i", {"4"}, "1:1 syntax: expected a letter, '...', ',' or '->'"},
    {"rest", "i->i;", {"4"}, "1:5 syntax: expected a letter, '...', ',' or '->'"},
    {"digits", "i1->i", {"4"}, "1:2 syntax: expected a letter, '...', ',' or '->'"},
};

static void reads_the_equation(void **state)
{
    const EinsumRow *row = *state;
    Arena *arena = arena_new();
    Source source = {"equation", str_from(row->equation)};
    Shape shape[4], output = {0};
    const Shape *inputs[4];
    int n = 0;
    for (; n < 4 && row->inputs[n]; n++) {
        shape[n] = shape_of(row->inputs[n]);
        inputs[n] = &shape[n];
    }
    Error err = {0};
    Buf out = buf_new(arena);
    OpSpace *space = einsum_opspace(arena, &source, inputs, n, &output, &err);
    if (space) {
        opspace_format(space, &out);
        buf_puts(&out, " [");
        for (int d = 0; d < output.n_dims; d++)
            buf_printf(&out, d > 0 ? ",%" PRId64 : "%" PRId64, output.dim[d]);
        buf_puts(&out, "]");
    } else {
        if (err.line > 0)
            buf_printf(&out, "%d:%d ", err.line, err.column);
        buf_printf(&out, "%s: %s", error_kind_name(err.kind), err.text);
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void only_a_permutation_hands_partial_values_on(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Shape shape = {.n_dims = 2, .dim = {4, 8}}, output;
    const Shape *inputs[] = {&shape};
    Error err = {0};
    OpSpace *turned =
        einsum_opspace(arena, &(Source){"e", STR("ij->ji")}, inputs, 1, &output, &err);
    OpSpace *summed = einsum_opspace(arena, &(Source){"e", STR("ij->i")}, inputs, 1, &output, &err);
    assert_int_equal(turned->operand[0].linear, LINEAR_ALONE);
    assert_int_equal(summed->operand[0].linear, LINEAR_NO);
    arena_free(arena);
}

static void too_many_letters_are_an_error(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Shape shape = {.n_dims = 9, .dim = {2, 2, 2, 2, 2, 2, 2, 2, 2}}, output;
    const Shape *inputs[] = {&shape, &shape};
    Error err = {0};
    Source source = {"e", STR("abcdefghi,jklmnopqr->a")};
    assert_null(einsum_opspace(arena, &source, inputs, 2, &output, &err));
    assert_int_equal(err.kind, ERROR_UNSUPPORTED);
    arena_free(arena);
}

/* ---- reshape ---- */

typedef struct {
    const char *name, *from, *to, *want;
} ReshapeRow;

static ReshapeRow reshape_rows[] = {
    {"flatten tokens", "8,1024,768", "8192,768", "a b c -> (a b) c"},
    {"and back", "8192,768", "8,1024,768", "(a b) c -> a b c"},
    {"heads", "8,1024,768", "8,1024,12,64", "a b (c d) -> a b c d"},
    {"join heads", "8,1024,12,64", "8,1024,768", "a b c d -> a b (c d)"},
    {"batch of heads", "96,1024,64", "8,12,1024,64", "(a b) c d -> a b c d"},
    {"same", "4,5,6", "4,5,6", "a b c -> a b c"},
    {"ones go", "1,4,1,6", "4,6,1", "1 a 1 b -> a b 1"},
    {"all ones", "1,1", "1", "1 1 -> 1"},
    {"scalar", "", "1,1", " -> 1 1"},
    {"to a vector", "2,3,4", "24", "a b c -> (a b c)"},
    {"common major", "6,4", "4,6", "(a 3) 4 -> (a 2) 6"},
    {"nothing common", "4,9", "9,4", "4 9 -> 9 4"},
    {"run ends", "4,9,5", "9,4,5", "4 9 a -> 9 4 a"},
    {"run inside a dim", "4,9,5", "9,20", "4 9 5 -> 9 20"},
    {"two runs", "6,4,10,9", "4,6,15,6", "(a 3) 4 (b 2) 9 -> (a 2) 6 (b 3) 6"},
    {"equal rests", "6,9,6,9", "9,6,9,6", "(a 2) 9 (b 2) 9 -> (a 3) 6 (b 3) 6"},
    {"borders interleave", "4,6", "2,12", "(a b) c -> a (b c)"},
    {"more than four parts", "2,3,5,7,11", "2310", "a b c 7 11 -> (a b c 77)"},
    {"and back to them", "2310", "2,3,5,7,11", "(a b c 77) -> a b c 7 11"},
    {"empty", "0,4", "4,0", "0 4 -> 4 0"},
    {"no such size", "4,6", "5,5", "conflict: a reshape of 24 elements to 25"},
};

static void shares_index_dims(void **state)
{
    const ReshapeRow *row = *state;
    Arena *arena = arena_new();
    Shape from = shape_of(row->from), to = shape_of(row->to);
    Error err = {0};
    Buf out = buf_new(arena);
    OpSpace *space = reshape_opspace(arena, &from, &to, &err);
    if (space)
        opspace_format(space, &out);
    else
        buf_printf(&out, "%s: %s", error_kind_name(err.kind), err.text);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

enum { ELEMENTS_MAX = 128 };

static uint64_t random_state = 88172645463325252u;

static int64_t any(int64_t lo, int64_t hi)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return lo + (int64_t)(random_state % (uint64_t)(hi - lo + 1));
}

/* Dims, some of them 1, whose product is `elements`. */
static Shape random_shape(int64_t elements)
{
    Shape shape = {0};
    while (shape.n_dims < 6 && (elements > 1 || any(0, 2) == 0)) {
        int64_t size = any(1, elements);
        while (elements % size != 0)
            size--;
        shape.dim[shape.n_dims++] = size;
        elements /= size;
    }
    if (elements > 1)
        shape.dim[shape.n_dims++] = elements;
    return shape;
}

/* Marks the row-major numbers of the elements in a box. */
static void mark(const Shape *shape, const Box *box, bool *held)
{
    for (int64_t element = 0; element < ELEMENTS_MAX; element++) {
        int64_t rest = element;
        bool inside = true;
        for (int d = (int)shape->n_dims - 1; d >= 0; d--) {
            int64_t at = rest % shape->dim[d];
            rest /= shape->dim[d];
            inside &= at >= box->lo[d] && at < box->hi[d];
        }
        held[element] |= inside && rest == 0;
    }
}

/* What the index points with x[index] == at touch of an operand. */
static void held_by(const OpSpace *space, int i, int index, int64_t at, bool *held)
{
    int64_t n_points = 1;
    for (int j = 0; j < space->n_index; j++)
        n_points *= j == index ? 1 : space->index[j].size;
    memset(held, 0, ELEMENTS_MAX * sizeof *held);
    for (int64_t point = 0; point < n_points; point++) {
        Box box = {.n = space->n_index}, range;
        int64_t rest = point;
        for (int j = 0; j < space->n_index; j++) {
            box.lo[j] = j == index ? at : rest % space->index[j].size;
            box.hi[j] = box.lo[j] + 1;
            rest /= j == index ? 1 : space->index[j].size;
        }
        const Operand *operand = &space->operand[i];
        projection_range(&operand->projection, &operand->shape, &box, &range);
        mark(&operand->shape, &range, held);
    }
}

static void every_cut_holds_the_same_elements_on_both_sides(void **state)
{
    (void)state;
    int n_cut = 0, n_shared = 0;
    for (int trial = 0; trial < 600; trial++) {
        Arena *arena = arena_new();
        int64_t elements = any(1, ELEMENTS_MAX);
        Shape from = random_shape(elements), to = random_shape(elements);
        Error err = {0};
        OpSpace *space = reshape_opspace(arena, &from, &to, &err);
        assert_non_null(space);
        int64_t shared = 1;
        for (int j = 0; j < space->n_index; j++) {
            int64_t size = space->index[j].size;
            if (space->index[j].role != ROLE_MAP)
                continue;
            shared *= size;
            for (int64_t at = 0; at < size; at++) {
                bool in[ELEMENTS_MAX], out[ELEMENTS_MAX];
                int64_t n_held = 0;
                held_by(space, 0, j, at, in);
                held_by(space, 1, j, at, out);
                assert_memory_equal(in, out, sizeof in);
                for (int e = 0; e < ELEMENTS_MAX; e++)
                    n_held += in[e];
                assert_int_equal(n_held * size, elements);
                n_cut++;
            }
        }
        n_shared += shared == elements;
        arena_free(arena);
    }
    assert_true(n_cut > 2000 && n_shared > 200);
}

static void every_row_of_a_reshape_is_exact(void **state)
{
    (void)state;
    for (int trial = 0; trial < 600; trial++) {
        Arena *arena = arena_new();
        int64_t elements = any(1, 4) * any(1, 6) * any(1, 8) * any(1, 9);
        Shape from = random_shape(elements), to = random_shape(elements);
        Error err = {0};
        OpSpace *space = reshape_opspace(arena, &from, &to, &err);
        assert_non_null(space);
        for (int i = 0; i < 2; i++)
            for (int d = 0; d < space->operand[i].projection.n_dims; d++) {
                const DimFactors *factors = &space->operand[i].factors[d];
                int64_t size = 1;
                for (int k = 0; k < factors->n; k++)
                    size *= space->index[factors->index[k]].size;
                assert_true(factors->exact);
                assert_true(factors->n == 0 || size == space->operand[i].shape.dim[d]);
            }
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_permutation_hands_partial_values_on),
        cmocka_unit_test(too_many_letters_are_an_error),
        cmocka_unit_test(every_cut_holds_the_same_elements_on_both_sides),
        cmocka_unit_test(every_row_of_a_reshape_is_exact),
    };
    return cmocka_run_group_tests_name("einsum", tests, NULL, NULL) +
           run_rows("equations", einsum_rows, reads_the_equation) +
           run_rows("reshapes", reshape_rows, shares_index_dims);
}
