/* Cuts against brute force: what a rank owns of a dim is a set of indices, and every claim of cut.h
 * is a claim about those sets, checked on random cuts of small dims on small meshes. */
#include "tests/unit/owned.h"
#include "tests/unit/random.h"
#include "tests/unit/sizes.h"
#include "tests/unit/unit.h"

#include "core/layout/cut.h"
#include "core/layout/weights.h"

#include <stdlib.h>

enum { SIZE_MAX_HERE = 96 };

typedef struct {
    bool at[SIZE_MAX_HERE];
} Set;

static Mesh *mesh_of(Arena *arena, const char *text)
{
    Source source = {.name = "mesh", .text = str_from(text)};
    Error err = {0};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    assert_non_null(mesh);
    return mesh;
}

static Set owned(const Cut *cut, const Mesh *mesh, int64_t position)
{
    Set set = {0};
    for (int64_t g = 0; g < cut_size(cut); g++)
        set.at[g] = rank_owns(cut, mesh, position, g);
    return set;
}

static bool subset(const Set *a, const Set *b)
{
    for (int i = 0; i < SIZE_MAX_HERE; i++)
        if (a->at[i] && !b->at[i])
            return false;
    return true;
}

/* Two or three blocks, cut by random atoms. */
static Cut random_blocks(int64_t size, const Mesh *mesh)
{
    int64_t first = 1 + pick((int)size - 2), second = 1 + pick((int)(size - first) - 1 + 1);
    int64_t blocks[3] = {first, second, size - first - second};
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (pick(2) == 0)
            atom[n++] = (uint8_t)a;
    Cut cut;
    assert_true(cut_blocks(blocks, blocks[2] > 0 ? 3 : 2, atom, n, mesh, &cut));
    return cut;
}

/* A cut of `size` into random digits with random atoms, each atom at most once; or into blocks. */
static Cut random_cut(int64_t size, const Mesh *mesh)
{
    Cut cut = {0};
    if (size > 2 && pick(5) == 0)
        return random_blocks(size, mesh);
    AtomSet free = ((AtomSet)1 << mesh->n_atoms) - 1;
    while (size > 1 && cut.n < 3) {
        int64_t part = size;
        for (int64_t try = 2 + pick(4); try < size && cut.n < 2; try++)
            if (size % try == 0) {
                part = try;
                break;
            }
        Digit *digit = &cut.digit[cut.n++];
        *digit = (Digit){.size = part};
        for (int a = 0; a < mesh->n_atoms; a++)
            if (free >> a & 1 && pick(3) == 0) {
                digit->atom[digit->n++] = (uint8_t)a;
                free &= ~((AtomSet)1 << a);
            }
        if (pick(4) == 0)
            give_sizes(digit, mesh);
        size /= part;
    }
    if (size > 1)
        cut.digit[cut.n++] = (Digit){.size = size};
    return cut;
}

static const char *const meshes[] = {"dp=2,tp=4", "a=3,b=2", "a=2,b=2,c=2", "tp=8", "a=6"};
static const int64_t sizes[] = {1, 2, 5, 8, 12, 24, 36, 48, 50, 96};

static void each_case(void (*check)(Arena *arena, const Mesh *mesh, int64_t size))
{
    seed = 7;
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int repeat = 0; repeat < 200; repeat++) {
                Arena *arena = arena_new();
                check(arena, mesh_of(arena, meshes[m]), sizes[s]);
                arena_free(arena);
            }
}

static void check_canonical(Arena *arena, const Mesh *mesh, int64_t size)
{
    (void)arena;
    Cut cut = random_cut(size, mesh), canonical = cut;
    cut_canonical(&canonical, mesh);
    assert_int_equal(cut_size(&canonical), size);
    for (int64_t p = 0; p < mesh->n_devices; p++) {
        Set a = owned(&cut, mesh, p), b = owned(&canonical, mesh, p);
        assert_memory_equal(&a, &b, sizeof a);
        int64_t n = 0;
        for (int i = 0; i < SIZE_MAX_HERE; i++)
            n += a.at[i];
        assert_int_equal(n, cut_local_size(&canonical, mesh, p));
    }
}

static void canonical_form_keeps_what_ranks_own(void **state)
{
    (void)state;
    each_case(check_canonical);
}

/* Parts of given sizes, in a digit that stands before others and behind others. */
static void parts_have_the_sizes_that_are_given(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "a=3,b=2");
    const uint8_t atom[] = {1, 0}; /* b, then a */
    const int64_t size[] = {5, 1, 2, 7, 1, 4};
    Cut cut, two = cut_whole(2), both;
    assert_true(cut_sized(20, size, 6, atom, 2, mesh, &cut, NULL));
    assert_true(cut_is_uneven(&cut, mesh) && !cut_is_plain(&cut));
    assert_int_equal(cut_most_size(&cut, mesh), 7);
    assert_int_equal(cut_least_size(&cut, mesh), 1);
    assert_true(cut_concat((const Cut *[]){&cut, &two}, 2, mesh, &both));
    for (int64_t p = 0, lo, hi; p < 6; p++) {
        int64_t part = p % 2 * 3 + p / 2, before = 0;
        for (int64_t i = 0; i < part; i++)
            before += size[i];
        digit_interval(&cut.digit[0], mesh, p, &lo, &hi);
        assert_int_equal(lo, before);
        assert_int_equal(hi, before + size[part]);
        digit_interval(&both.digit[0], mesh, p, &lo, &hi);
        assert_int_equal(lo, 2 * before);
        assert_int_equal(hi, 2 * (before + size[part]));
    }
    assert_int_equal(both.digit[0].weights, cut.digit[0].weights);
    assert_true(
        cut_sized(6, (const int64_t[]){2, 2, 2}, 3, (const uint8_t[]){0}, 1, mesh, &cut, NULL));
    assert_true(cut_is_plain(&cut));
    arena_free(arena);
}

/* A mesh has room for so many lists; then an error says so. */
static void lists_of_sizes_have_a_limit(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "a=3");
    const uint8_t atom[] = {0};
    Error err = {0};
    Cut cut;
    for (int repeat = 0; repeat < 2; repeat++)
        for (int64_t i = 1; i <= WEIGHT_LISTS_MAX; i++)
            assert_true(
                cut_sized(3 * i + 1, (const int64_t[]){i + 1, i, i}, 3, atom, 1, mesh, &cut, &err));
    assert_false(cut_sized(1003, (const int64_t[]){1, 2, 1000}, 3, atom, 1, mesh, &cut, &err));
    assert_int_equal(err.kind, ERROR_OUT_OF_RANGE);
    err = (Error){0};
    assert_false(cut_sized(3, (const int64_t[]){0, 2, 1}, 3, atom, 1, mesh, &cut, &err));
    arena_free(arena);
}

static void check_without(Arena *arena, const Mesh *mesh, int64_t size)
{
    (void)arena;
    Cut cut = random_cut(size, mesh);
    cut_canonical(&cut, mesh);
    AtomSet drop = (AtomSet)pick(1 << mesh->n_atoms);
    Cut kept = cut_without(&cut, drop, mesh);
    assert_int_equal(cut_atoms(&kept) & drop, 0);
    for (int64_t p = 0; p < mesh->n_devices; p++) {
        Set fine = owned(&cut, mesh, p), coarse = owned(&kept, mesh, p);
        assert_true(subset(&fine, &coarse));
    }
}

static void dropping_axes_makes_it_coarser(void **state)
{
    (void)state;
    each_case(check_without);
}

static void check_join(Arena *arena, const Mesh *mesh, int64_t size)
{
    (void)arena;
    Cut a = random_cut(size, mesh), b = random_cut(size, mesh), joined;
    cut_canonical(&a, mesh);
    cut_canonical(&b, mesh);
    bool refines = cut_refines(&a, &b, mesh), joins = cut_join(&a, &b, mesh, &joined);
    assert_true(joins || !refines);
    uint8_t atoms[ATOMS_MAX];
    if (joins) /* none stands in it twice */
        assert_int_equal(cut_list_atoms(&joined, atoms), __builtin_popcount(cut_atoms(&joined)));
    Cut kept = cut_without(&a, cut_atoms(&a) & ~cut_atoms(&b), mesh);
    assert_true(refines || !cut_equal(&kept, &b));
    for (int64_t p = 0; p < mesh->n_devices; p++) {
        Set in_a = owned(&a, mesh, p), in_b = owned(&b, mesh, p);
        if (refines)
            assert_true(subset(&in_a, &in_b));
        if (!joins)
            continue;
        Set in_both = owned(&joined, mesh, p);
        for (int i = 0; i < SIZE_MAX_HERE; i++)
            assert_int_equal(in_both.at[i], in_a.at[i] && in_b.at[i]);
    }
}

static void a_join_owns_what_both_own(void **state)
{
    (void)state;
    each_case(check_join);
}

/* Splitting at borders and putting together again gives a coarser layout, and the same one when
 * nothing was lost. */
static void check_split(Arena *arena, const Mesh *mesh, int64_t size)
{
    (void)arena;
    Cut cut = random_cut(size, mesh), part[3], back;
    cut_canonical(&cut, mesh);
    int64_t border[3] = {1, 1, size};
    for (int i = 0; i < 2; i++)
        for (int64_t try = 2 + pick(6); try <= border[2]; try++)
            if (border[2] % try == 0) {
                border[i] = try;
                border[2] /= try;
                break;
            }
    AtomSet lost;
    cut_split(&cut, border, 3, mesh, part, &lost);
    const Cut *parts[3] = {&part[0], &part[1], &part[2]};
    for (int i = 0; i < 3; i++)
        assert_int_equal(cut_size(&part[i]), border[i]);
    if (!cut_concat(parts, 3, mesh, &back))
        return;
    assert_int_equal(cut_atoms(&back) | lost, cut_atoms(&cut));
    assert_int_equal(cut_atoms(&back) & lost, 0);
    for (int64_t p = 0; p < mesh->n_devices; p++) {
        Set fine = owned(&cut, mesh, p), coarse = owned(&back, mesh, p);
        assert_true(subset(&fine, &coarse));
        if (!lost)
            assert_memory_equal(&fine, &coarse, sizeof fine);
    }
}

static void splitting_at_borders_keeps_or_coarsens(void **state)
{
    (void)state;
    each_case(check_split);
}

static void digits_print_as_the_field_writes_them(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "dp=2,tp=4");
    uint8_t tp[2] = {1, 2}, dp[1] = {0};
    Cut three = cut_whole(3), columns = cut_by(768, tp, 2, mesh), batch = cut_by(8, dp, 1, mesh);
    Cut heads = cut_by(12, tp, 2, mesh), out;
    const Cut *qkv[2] = {&three, &columns}, *flat[2] = {&batch, &heads};
    Buf text = buf_new(arena);
    assert_true(cut_concat(qkv, 2, mesh, &out));
    cut_format(&out, mesh, &text);
    buf_putc(&text, ' ');
    assert_true(cut_concat(flat, 2, mesh, &out));
    cut_format(&out, mesh, &text);
    buf_putc(&text, ' ');
    const Cut *rows[2] = {&heads, &(Cut){.n = 1, .digit = {{.size = 64}}}};
    assert_true(cut_concat(rows, 2, mesh, &out));
    cut_format(&out, mesh, &text);
    const int64_t wide[] = {4096, 1024, 1024}, even[] = {768, 768, 768};
    buf_putc(&text, ' ');
    assert_true(cut_blocks(wide, 3, tp, 2, mesh, &out));
    cut_format(&out, mesh, &text);
    buf_putc(&text, ' ');
    assert_true(cut_blocks(even, 3, tp, 2, mesh, &out));
    cut_format(&out, mesh, &text);
    Cut list, one = cut_whole(1);
    assert_true(cut_blocks(wide, 3, tp, 2, mesh, &list));
    assert_true(cut_concat((const Cut *[]){&one, &list}, 2, mesh, &out));
    assert_true(cut_equal(&out, &list));
    assert_false(cut_concat((const Cut *[]){&three, &list}, 2, mesh, &out)); /* a list says no 3 */
    assert_string_equal(text.s, "(3)(768/tp) (8/dp)(12/tp) 768/tp (4096|1024|1024)/tp (3)(768/tp)");
    arena_free(arena);
}

static int n_parts_found;

/* The cut of an interval is what each rank owns of the interval. */
static void check_part(Arena *arena, const Mesh *mesh, int64_t size)
{
    (void)arena;
    Cut cut = random_cut(size, mesh), part;
    cut_canonical(&cut, mesh);
    int64_t lo = pick((int)size), hi = lo + 1 + pick((int)(size - lo));
    if (!cut_part(&cut, lo, hi, mesh, &part))
        return;
    assert_int_equal(cut_size(&part), hi - lo);
    n_parts_found += !cut_is_whole(&part) && hi - lo < size;
    for (int64_t p = 0; p < mesh->n_devices; p++)
        for (int64_t g = lo; g < hi; g++)
            assert_int_equal(rank_owns(&part, mesh, p, g - lo), rank_owns(&cut, mesh, p, g));
}

static void a_part_is_what_ranks_own_of_it(void **state)
{
    (void)state;
    n_parts_found = 0;
    each_case(check_part);
    assert_true(n_parts_found > 50);
}

static void heads_that_tp_does_not_divide_keep_the_sub_axis(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "tp=8");
    uint8_t tp[3] = {0, 1, 2};
    Cut columns = cut_by(768, tp, 3, mesh), part[2];
    int64_t borders[2] = {12, 64};
    AtomSet lost;
    cut_split(&columns, borders, 2, mesh, part, &lost);
    Buf text = buf_new(arena);
    cut_format(&part[0], mesh, &text);
    buf_putc(&text, ' ');
    cut_format(&part[1], mesh, &text);
    assert_string_equal(text.s, "12/tp:(1)4 64");
    assert_int_equal(lost, 1 << 2);
    arena_free(arena);
}

static void uneven_chunks_are_torch_chunks(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "tp=4");
    uint8_t tp[2] = {0, 1};
    Cut vocabulary = cut_by(50257, tp, 2, mesh), ten = cut_by(5, tp, 2, mesh);
    int64_t want[4] = {12565, 12565, 12565, 12562}, want_five[4] = {2, 2, 1, 0};
    for (int p = 0; p < 4; p++) {
        assert_int_equal(cut_local_size(&vocabulary, mesh, p), want[p]);
        assert_int_equal(cut_local_size(&ten, mesh, p), want_five[p]);
    }
    assert_true(cut_is_uneven(&vocabulary, mesh));
    arena_free(arena);
}

static void dims_of_no_elements_split(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Mesh *mesh = mesh_of(arena, "tp=4");
    uint8_t tp[2] = {0, 1};
    Cut rows = cut_by(3, tp, 2, mesh), none = cut_whole(0), flat;
    const Cut *parts[2] = {&rows, &none};
    assert_true(cut_concat(parts, 2, mesh, &flat));
    static const int64_t borders[][2] = {{3, 0}, {0, 3}, {0, 0}};
    for (size_t i = 0; i < COUNT_OF(borders); i++) {
        Cut part[2];
        AtomSet lost;
        cut_split(&flat, borders[i], 2, mesh, part, &lost);
        assert_int_equal(cut_size(&part[0]), borders[i][0]);
        assert_int_equal(cut_size(&part[1]), borders[i][1]);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_form_keeps_what_ranks_own),
        cmocka_unit_test(parts_have_the_sizes_that_are_given),
        cmocka_unit_test(lists_of_sizes_have_a_limit),
        cmocka_unit_test(dropping_axes_makes_it_coarser),
        cmocka_unit_test(a_join_owns_what_both_own),
        cmocka_unit_test(splitting_at_borders_keeps_or_coarsens),
        cmocka_unit_test(digits_print_as_the_field_writes_them),
        cmocka_unit_test(a_part_is_what_ranks_own_of_it),
        cmocka_unit_test(heads_that_tp_does_not_divide_keep_the_sub_axis),
        cmocka_unit_test(dims_of_no_elements_split),
        cmocka_unit_test(uneven_chunks_are_torch_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
