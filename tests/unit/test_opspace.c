#include "tests/unit/unit.h"

#include "core/space/opspace.h"

#include <stdio.h>
#include <string.h>

enum { CELLS = 64, HALF = 32, TRIALS = 20000 }; /* a row's cells lie in [-HALF, HALF) */

/* xorshift: the same numbers on every machine. */
static uint64_t random_state = 88172645463325252u;

static int64_t any(int64_t lo, int64_t hi)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return lo + (int64_t)(random_state % (uint64_t)(hi - lo + 1));
}

/* ---- arithmetic against enumeration ---- */

typedef struct {
    int n_index;
    int64_t extent[X_MAX];
    Projection projection;
    int hits[CELLS][CELLS]; /* how often each cell of a tensor of two dims is touched */
} Map;

static Map random_map(void)
{
    Map map = {.n_index = (int)any(0, 3), .projection = {.n_dims = 2}};
    for (int j = 0; j < map.n_index; j++)
        map.extent[j] = any(1, 3);
    for (int d = 0; d < 2; d++) {
        Row *row = &map.projection.row[d];
        row->offset = any(-2, 2);
        row->window = any(1, 3);
        for (int j = 0; j < map.n_index; j++)
            row->coef[j] = any(0, 2) ? any(-1, 4) * any(0, 1) : 0;
    }
    return map;
}

static int64_t start_of(const Row *row, const int64_t *x, int n)
{
    int64_t at = row->offset;
    for (int j = 0; j < n; j++)
        at += row->coef[j] * x[j];
    return at;
}

static bool next_point(int64_t *x, const Box *box)
{
    for (int j = box->n - 1; j >= 0; j--) {
        if (++x[j] < box->hi[j])
            return true;
        x[j] = box->lo[j];
    }
    return false;
}

static void touch_all(Map *map, const Box *box)
{
    int64_t x[X_MAX];
    memset(map->hits, 0, sizeof map->hits);
    memcpy(x, box->lo, sizeof x);
    do {
        int64_t r = start_of(&map->projection.row[0], x, map->n_index);
        int64_t c = start_of(&map->projection.row[1], x, map->n_index);
        for (int64_t i = 0; i < map->projection.row[0].window; i++)
            for (int64_t k = 0; k < map->projection.row[1].window; k++)
                map->hits[HALF + r + i][HALF + c + k]++;
    } while (next_point(x, box));
}

static Box whole_box(const Map *map)
{
    Box box = {.n = map->n_index};
    memcpy(box.hi, map->extent, sizeof box.hi);
    return box;
}

/* The least box around the cells touched; full, and once: what was found inside it. */
static Box bounding(Map *map, bool *full, bool *once)
{
    Box box = {.n = 2, .lo = {CELLS, CELLS}, .hi = {-CELLS, -CELLS}};
    int64_t n_cells = 0;
    *once = true;
    for (int r = 0; r < CELLS; r++)
        for (int c = 0; c < CELLS; c++) {
            if (map->hits[r][c] == 0)
                continue;
            int64_t at[] = {r - HALF, c - HALF};
            for (int d = 0; d < 2; d++) {
                box.lo[d] = at[d] < box.lo[d] ? at[d] : box.lo[d];
                box.hi[d] = at[d] + 1 > box.hi[d] ? at[d] + 1 : box.hi[d];
            }
            n_cells++;
            *once &= map->hits[r][c] == 1;
        }
    *full = n_cells == (box.hi[0] - box.lo[0]) * (box.hi[1] - box.lo[1]);
    return box;
}

/* `exact` is necessary and sufficient for a box without diagonals; with them, sufficient. */
static void ranges_and_exactness_are_those_of_enumeration(void **state)
{
    (void)state;
    int n_exact = 0, n_injective = 0, n_wrong = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        Map map = random_map();
        Box index = whole_box(&map), range;
        bool full, once;
        touch_all(&map, &index);
        Box truth = bounding(&map, &full, &once);
        projection_range(&map.projection, NULL, &index, &range);
        assert_memory_equal(range.lo, truth.lo, 2 * sizeof(int64_t));
        assert_memory_equal(range.hi, truth.hi, 2 * sizeof(int64_t));

        bool exact = projection_exact(&map.projection, map.extent, map.n_index);
        bool injective = projection_injective(&map.projection, map.extent, map.n_index);
        assert_true(!exact || full);
        assert_true(!injective || once);
        assert_int_equal(exact && injective, full && once);
        n_exact += exact;
        n_injective += injective;
        n_wrong += full && !exact;
    }
    assert_true(n_exact > TRIALS / 20 && n_injective > TRIALS / 20);
    assert_true(n_wrong < TRIALS / 20); /* only windows that fill the gaps of a diagonal */
}

static void a_part_of_the_index_box_has_its_own_range(void **state)
{
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        Map map = random_map();
        Box index = whole_box(&map), range;
        for (int j = 0; j < map.n_index; j++) {
            index.lo[j] = any(0, map.extent[j] - 1);
            index.hi[j] = any(index.lo[j] + 1, map.extent[j]);
        }
        bool full, once;
        touch_all(&map, &index);
        Box truth = bounding(&map, &full, &once);
        projection_range(&map.projection, NULL, &index, &range);
        assert_memory_equal(range.lo, truth.lo, 2 * sizeof(int64_t));
        assert_memory_equal(range.hi, truth.hi, 2 * sizeof(int64_t));
    }
}

static void clipping_intersects_with_the_tensor(void **state)
{
    (void)state;
    Shape shape = {.n_dims = 2, .dim = {4, 3}};
    for (int trial = 0; trial < TRIALS; trial++) {
        Map map = random_map();
        Box index = whole_box(&map), free_range, range;
        projection_range(&map.projection, &shape, &index, &free_range);
        map.projection.clip = true;
        projection_range(&map.projection, &shape, &index, &range);
        for (int d = 0; d < 2; d++)
            for (int64_t at = -8; at < 8; at++) {
                bool inside = at >= free_range.lo[d] && at < free_range.hi[d];
                bool in_tensor = at >= 0 && at < shape.dim[d];
                assert_int_equal(inside && in_tensor, at >= range.lo[d] && at < range.hi[d]);
            }
    }
}

static void an_empty_box_reads_nothing(void **state)
{
    (void)state;
    Projection projection = {.n_dims = 1, .row = {{.coef = {2, -1}, .offset = 3, .window = 5}}};
    Box index = {.n = 2, .lo = {1, 4}, .hi = {1, 9}}, range;
    projection_range(&projection, NULL, &index, &range);
    assert_int_equal(range.lo[0], 2 - 4 + 3);
    assert_int_equal(range.hi[0], range.lo[0]);
}

static void absorbing_an_index_dim_keeps_what_is_read(void **state)
{
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        Map map = random_map();
        if (map.n_index == 0)
            continue;
        Box index = whole_box(&map), before, after;
        int j = (int)any(0, map.n_index - 1);
        projection_range(&map.projection, NULL, &index, &before);
        projection_absorb(&map.projection, j, map.extent[j]);
        index.lo[j] = 0;
        index.hi[j] = 1;
        projection_range(&map.projection, NULL, &index, &after);
        assert_memory_equal(before.lo, after.lo, 2 * sizeof(int64_t));
        assert_memory_equal(before.hi, after.hi, 2 * sizeof(int64_t));
        assert_int_equal(map.projection.row[0].coef[j], 0);
    }
}

static void overlap_and_waste_are_between_neighbours(void **state)
{
    (void)state;
    for (int64_t coef = -5; coef <= 5; coef++)
        for (int64_t window = 1; window <= 5; window++) {
            Row row = {.coef = {coef}, .window = window};
            int64_t shared = 0, skipped = 0;
            for (int64_t at = -20; at < 20; at++) {
                bool here = at >= 0 && at < window, next = at >= coef && at < coef + window;
                bool between = coef > 0 ? at >= window && at < coef : at >= coef + window && at < 0;
                shared += here && next;
                skipped += between;
            }
            assert_int_equal(row_overlap(&row, 0), shared);
            assert_int_equal(row_waste(&row, 0), skipped);
        }
}

/* ---- whole op spaces, written by hand ---- */

static Shape shape_of(int n, int64_t a, int64_t b, int64_t c)
{
    return (Shape){.n_dims = n, .dim = {a, n > 1 ? b : 0, n > 2 ? c : 0}};
}

static Operand *set_shape(OpSpace *space, int i, Shape shape)
{
    Operand *operand = &space->operand[i];
    operand->shape = shape;
    operand->projection.n_dims = (uint8_t)shape.n_dims;
    for (int d = 0; d < shape.n_dims; d++)
        row_whole(&operand->projection.row[d], shape.dim[d]);
    return operand;
}

static OpSpace *matmul(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 2, 1);
    int m = opspace_add_index(space, "m", 4, ROLE_MAP, REDUCE_NONE);
    int n = opspace_add_index(space, "n", 6, ROLE_MAP, REDUCE_NONE);
    int k = opspace_add_index(space, "k", 8, ROLE_REDUCE, REDUCE_SUM);
    const int row[3] = {m, k, m}, column[3] = {k, n, n};
    static const int64_t size[] = {4, 6, 8};
    for (int i = 0; i < 3; i++) {
        Operand *operand = set_shape(space, i, shape_of(2, size[row[i]], size[column[i]], 0));
        row_unit(&operand->projection.row[0], row[i]);
        row_unit(&operand->projection.row[1], column[i]);
    }
    return space;
}

/* [2, 12] -> [2, 3, 4]: (h d) taken apart, and a frozen batch. */
static OpSpace *heads(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 1, 1);
    int b = opspace_add_index(space, "b", 2, ROLE_FROZEN, REDUCE_NONE);
    int h = opspace_add_index(space, "h", 3, ROLE_MAP, REDUCE_NONE);
    int d = opspace_add_index(space, "d", 4, ROLE_MAP, REDUCE_NONE);
    Operand *in = set_shape(space, 0, shape_of(2, 2, 12, 0));
    Operand *out = set_shape(space, 1, shape_of(3, 2, 3, 4));
    row_unit(&in->projection.row[0], b);
    row_radix(&in->projection.row[1], space, (int[]){h, d}, 2);
    row_unit(&out->projection.row[0], b);
    row_unit(&out->projection.row[1], h);
    row_unit(&out->projection.row[2], d);
    return space;
}

/* A dim of 12 into parts of 4: output q holds 4*p + j - 4*q, clipped. */
static OpSpace *split(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 1, 3);
    int p = opspace_add_index(space, "p", 3, ROLE_FROZEN, REDUCE_NONE);
    int j = opspace_add_index(space, "j", 4, ROLE_MAP, REDUCE_NONE);
    for (int i = 0; i < 4; i++) {
        Operand *operand = set_shape(space, i, shape_of(1, i == 0 ? 12 : 4, 0, 0));
        row_radix(&operand->projection.row[0], space, (int[]){p, j}, 2);
        operand->projection.clip = i > 0;
        operand->projection.row[0].offset = i > 0 ? -4 * (i - 1) : 0;
    }
    return space;
}

/* 5 and 7 elements into 12: input i is read at its own part of the result. */
static OpSpace *concat(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 2, 1);
    int i = opspace_add_index(space, "i", 12, ROLE_MAP, REDUCE_NONE);
    static const int64_t size[] = {5, 7, 12}, offset[] = {0, -5, 0};
    for (int t = 0; t < 3; t++) {
        Operand *operand = set_shape(space, t, shape_of(1, size[t], 0, 0));
        row_unit(&operand->projection.row[0], i);
        operand->projection.clip = t < 2;
        operand->projection.row[0].offset = offset[t];
    }
    return space;
}

/* Each element goes one place on; what leaves is lost. */
static OpSpace *shift(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 1, 1);
    int i = opspace_add_index(space, "i", 4, ROLE_MAP, REDUCE_NONE);
    for (int t = 0; t < 2; t++)
        row_unit(&set_shape(space, t, shape_of(1, 4, 0, 0))->projection.row[0], i);
    space->operand[0].projection.clip = true;
    space->operand[0].projection.row[0].offset = -1;
    return space;
}

/* 3-wide, stride 2, one element of padding: 8 -> 4. */
static OpSpace *conv(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 2, 1);
    int h = opspace_add_index(space, "h", 4, ROLE_MAP, REDUCE_NONE);
    int r = opspace_add_index(space, "r", 3, ROLE_REDUCE, REDUCE_SUM);
    Operand *x = set_shape(space, 0, shape_of(1, 8, 0, 0));
    Operand *w = set_shape(space, 1, shape_of(1, 3, 0, 0));
    Operand *y = set_shape(space, 2, shape_of(1, 4, 0, 0));
    x->projection.clip = true;
    x->projection.row[0] = (Row){.offset = -1, .window = 1};
    x->projection.row[0].coef[h] = 2;
    x->projection.row[0].coef[r] = 1;
    row_unit(&w->projection.row[0], r);
    row_unit(&y->projection.row[0], h);
    return space;
}

/* A window over neighbours, a reversed dim, a broadcast one and an operand not looked at. */
static OpSpace *odd_inputs(Arena *arena)
{
    OpSpace *space = opspace_new(arena, 3, 1);
    int b = opspace_add_index(space, "b", 4, ROLE_MAP, REDUCE_NONE);
    int k = opspace_add_index(space, "k", 5, ROLE_REDUCE, REDUCE_MAX);
    Operand *near = set_shape(space, 0, shape_of(2, 7, 5, 0));
    near->projection.row[0] = (Row){.coef = {1}, .window = 4};
    near->projection.row[1] = (Row){.offset = 4, .window = 1};
    near->projection.row[1].coef[k] = -1;
    Operand *one = set_shape(space, 1, shape_of(2, 1, 9, 0));
    row_one(&one->projection.row[0]);
    space->operand[2].ignored = true;
    Operand *out = set_shape(space, 3, shape_of(1, 4, 0, 0));
    row_unit(&out->projection.row[0], b);
    return space;
}

typedef struct {
    const char *name;
    OpSpace *(*make)(Arena *arena);
    const char *want;    /* as printed */
    const char *factors; /* per operand and dim: index dims, '!' where not exact */
} SpaceRow;

static SpaceRow space_rows[] = {
    {"matmul", matmul, "m k+, k+ n -> m n", "m k; k n; m n;"},
    {"heads", heads, "b^ (h d) -> b^ h d", "b hd; b h d;"},
    {"split", split, "(p^ j) -> j, j, j", "pj; j; j; j;"},
    {"concat", concat, "{i}, {i-5} -> i", "i!; i!; i;"},
    {"shift", shift, "{i-1} -> i", "i!; i;"},
    {"conv", conv, "{2*h+r-1}, r+ -> h", "h!; r; h;"},
    {"odd inputs", odd_inputs, "{b:+4} {-k+4}, 1 9, ? -> b  k:max", "b! !; - -; ; b;"},
};

static const char *factors_text(Arena *arena, const OpSpace *space)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        for (int d = 0; d < operand->projection.n_dims; d++) {
            const DimFactors *factors = &operand->factors[d];
            buf_puts(&out, d > 0 ? " " : "");
            for (int k = 0; k < factors->n; k++)
                buf_puts(&out, space->index[factors->index[k]].name);
            buf_puts(&out, !factors->exact ? "!" : factors->n == 0 ? "-" : "");
        }
        buf_puts(&out, "; ");
    }
    return arena_str(arena, str_trim(buf_str(&out)));
}

static void prints_and_has_factors(void **state)
{
    const SpaceRow *row = *state;
    Arena *arena = arena_new();
    OpSpace *space = row->make(arena);
    Error err = {0};
    assert_true(opspace_finish(space, &err));
    Buf out = buf_new(arena);
    opspace_format(space, &out);
    assert_string_equal(out.s, row->want);
    assert_string_equal(factors_text(arena, space), row->factors);
    arena_free(arena);
}

/* ---- what is refused ---- */

static void output_too_long(OpSpace *space)
{
    space->operand[2].shape.dim[1] = 7;
}
static void output_too_short(OpSpace *space)
{
    space->operand[2].shape.dim[0] = 3;
}
static void output_strided(OpSpace *space)
{
    space->operand[2].shape.dim[0] = 7;
    space->operand[2].projection.row[0].coef[0] = 2;
}
static void output_diagonal(OpSpace *space)
{
    space->index[1].size = 4;
    space->operand[2].shape.dim[1] = 4;
    row_unit(&space->operand[2].projection.row[1], 0);
}
static void output_reversed(OpSpace *space)
{
    Row *row = &space->operand[2].projection.row[0];
    row->coef[0] = -1;
    row->offset = 3;
}
static void input_too_short(OpSpace *space)
{
    space->operand[1].shape.dim[0] = 5;
}
static void input_below(OpSpace *space)
{
    space->operand[0].projection.row[1].offset = -1;
}
static void sum_in_output(OpSpace *space)
{
    space->index[1].role = ROLE_REDUCE;
    space->index[1].reduce = REDUCE_SUM;
}
static void not_said_how(OpSpace *space)
{
    space->index[2].reduce = REDUCE_NONE;
}
static void map_in_no_output(OpSpace *space)
{
    space->index[2].role = ROLE_MAP;
}
static void named_twice(OpSpace *space)
{
    space->index[2].name = "m";
}
static void negative_size(OpSpace *space)
{
    space->index[0].size = -1;
}
static void overflowing(OpSpace *space)
{
    space->operand[0].projection.row[0].coef[0] = INT64_MAX / 2;
}
static void rank_differs(OpSpace *space)
{
    space->operand[1].shape.n_dims = 1;
}

typedef struct {
    const char *name;
    void (*spoil)(OpSpace *space);
    const char *want;
} RefusedRow;

static RefusedRow refused_rows[] = {
    {"output too long", output_too_long, "output 0, dim 1: its index dims do not cover it exactly"},
    {"output too short", output_too_short,
     "output 0, dim 0: its index dims do not cover it exactly"},
    {"output strided", output_strided, "output 0 is not covered once by its index dims"},
    {"output diagonal", output_diagonal, "output 0 is not covered once by its index dims"},
    {"output reversed", output_reversed, "output 0 cannot be cut along index dim 'm': freeze it"},
    {"input too short", input_too_short, "input 1, dim 0: 0 to 8 is read, outside its size 5"},
    {"input below", input_below, "input 0, dim 1: -1 to 7 is read, outside its size 8"},
    {"sum in output", sum_in_output, "the reduced index dim 'n' is in every output"},
    {"not said how", not_said_how, "the reduced index dim 'k' does not say how"},
    {"map in no output", map_in_no_output, "index dim 'k' is in no output: reduce or freeze it"},
    {"named twice", named_twice, "two index dims are named 'm'"},
    {"negative size", negative_size, "index dim 'm' has size -1"},
    {"overflowing", overflowing, "input 0, dim 0: its row reaches too far"},
    {"rank differs", rank_differs, "input 1 has 2 rows for 1 dims"},
};

static void names_what_is_wrong(void **state)
{
    const RefusedRow *row = *state;
    Arena *arena = arena_new();
    OpSpace *space = matmul(arena);
    row->spoil(space);
    Error err = {0};
    assert_false(opspace_finish(space, &err));
    assert_string_equal(err.text, row->want);
    arena_free(arena);
}

static void a_split_part_is_refused_to_the_cut_of_its_parts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    OpSpace *space = split(arena);
    space->index[0].role = ROLE_MAP;
    Error err = {0};
    assert_false(opspace_finish(space, &err));
    assert_string_equal(err.text, "output 0 cannot be cut along index dim 'p': freeze it");
    arena_free(arena);
}

static void an_output_may_do_without_a_map_dim_that_another_has(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    OpSpace *space = opspace_new(arena, 1, 2);
    int b = opspace_add_index(space, "b", 4, ROLE_MAP, REDUCE_NONE);
    row_unit(&set_shape(space, 0, shape_of(1, 4, 0, 0))->projection.row[0], b);
    row_unit(&set_shape(space, 1, shape_of(1, 4, 0, 0))->projection.row[0], b);
    set_shape(space, 2, shape_of(1, 3, 0, 0));
    Error err = {0};
    assert_true(opspace_finish(space, &err));
    arena_free(arena);
}

static void empty_tensors_are_covered(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    OpSpace *space = matmul(arena);
    space->index[2].size = space->operand[0].shape.dim[1] = space->operand[1].shape.dim[0] = 0;
    Error err = {0};
    assert_true(opspace_finish(space, &err));
    space->index[0].size = space->operand[0].shape.dim[0] = space->operand[2].shape.dim[0] = 0;
    assert_true(opspace_finish(space, &err));
    arena_free(arena);
}

static void the_index_is_full_at_its_limit(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    OpSpace *space = opspace_new(arena, 0, 1);
    for (int j = 0; j < X_MAX; j++)
        assert_int_equal(opspace_add_number(arena, space, 3, j), j);
    assert_int_equal(opspace_add_number(arena, space, 3, 2), 2);
    assert_string_equal(space->index[2].name, "3''");
    assert_int_equal(opspace_add_index(space, "x", 2, ROLE_MAP, REDUCE_NONE), -1);
    assert_int_equal(opspace_add_number(arena, space, 4, 0), -1);
    arena_free(arena);
}

/* Exact factors: the mixed radix of their coordinates is the coordinate in the tensor. */
static void exact_factors_are_the_mixed_radix(void **state)
{
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        Arena *arena = arena_new();
        OpSpace *space = opspace_new(arena, 1, 1);
        int n = (int)any(1, FACTORS_MAX), order[FACTORS_MAX];
        int64_t size = 1;
        static const char *const names[] = {"a", "b", "c", "d"};
        for (int j = 0; j < n; j++) {
            opspace_add_index(space, names[j], any(1, 3), ROLE_MAP, REDUCE_NONE);
            size *= space->index[j].size;
            int at = (int)any(0, j);
            memmove(order + at + 1, order + at, sizeof *order * (size_t)(j - at));
            order[at] = j;
        }
        for (int i = 0; i < 2; i++)
            row_radix(&set_shape(space, i, shape_of(1, size, 0, 0))->projection.row[0], space,
                      order, n);
        Error err = {0};
        assert_true(opspace_finish(space, &err));
        const DimFactors *factors = &space->operand[0].factors[0];
        assert_true(factors->exact && factors->n == n);

        Box box = {.n = n};
        int64_t x[X_MAX] = {0};
        for (int j = 0; j < n; j++)
            box.hi[j] = space->index[j].size;
        do {
            int64_t radix = 0;
            for (int k = 0; k < n; k++)
                radix = radix * space->index[factors->index[k]].size + x[factors->index[k]];
            assert_int_equal(radix, start_of(&space->operand[0].projection.row[0], x, n));
        } while (next_point(x, &box));
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_exactness_are_those_of_enumeration),
        cmocka_unit_test(a_part_of_the_index_box_has_its_own_range),
        cmocka_unit_test(clipping_intersects_with_the_tensor),
        cmocka_unit_test(an_empty_box_reads_nothing),
        cmocka_unit_test(absorbing_an_index_dim_keeps_what_is_read),
        cmocka_unit_test(overlap_and_waste_are_between_neighbours),
        cmocka_unit_test(a_split_part_is_refused_to_the_cut_of_its_parts),
        cmocka_unit_test(an_output_may_do_without_a_map_dim_that_another_has),
        cmocka_unit_test(empty_tensors_are_covered),
        cmocka_unit_test(the_index_is_full_at_its_limit),
        cmocka_unit_test(exact_factors_are_the_mixed_radix),
    };
    return cmocka_run_group_tests_name("opspace", tests, NULL, NULL) +
           run_rows("spaces", space_rows, prints_and_has_factors) +
           run_rows("refused", refused_rows, names_what_is_wrong);
}
