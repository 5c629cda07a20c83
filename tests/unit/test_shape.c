#include "tests/unit/unit.h"

#include "core/model/shape.h"

typedef struct {
    const char *name;
    Shape shape;
    const char *want; /* the text, or the error */
} Row;

#define LARGE (INT64_C(1) << 59)

static Row rows[] = {
    {"matrix", {2, {8, 1024}}, "8,1024"},
    {"scalar", {0, {0}}, "scalar"},
    {"empty", {3, {4, 0, 2}}, "4,0,2"},
    {"largest", {1, {2 * LARGE - 1}}, "1152921504606846975"},
    {"negative", {2, {4, -1}}, "out_of_range: dim 1 has the size -1"},
    {"too large", {2, {LARGE, 2}}, "out_of_range: the shape has 2^60 elements or more"},
    {"too large beside nothing",
     {3, {LARGE, 0, 4}},
     "out_of_range: the shape has 2^60 elements or more"},
    {"overflow",
     {4, {LARGE, LARGE, LARGE, LARGE}},
     "out_of_range: the shape has 2^60 elements or more"},
    {"too many dims", {DIMS_MAX + 1, {0}}, "rank: a tensor has at most 10 dims, this one has 11"},
};

static void shape_is_checked_and_printed(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Buf out = buf_new(arena);
    if (shape_check(&row->shape, &err))
        shape_format(&row->shape, &out);
    else
        buf_printf(&out, "%s: %s", error_kind_name(err.kind), err.text);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void equal_shapes_are_one(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Shapes *shapes = shapes_new(arena);
    Shape scalar = {0}, vector = {1, {3}}, also_vector = {1, {3}}, matrix = {2, {3, 1}};
    int32_t id = shapes_put(shapes, &vector);
    assert_int_equal(shapes_put(shapes, &also_vector), id);
    assert_int_not_equal(shapes_put(shapes, &scalar), id);
    assert_int_not_equal(shapes_put(shapes, &matrix), id);
    assert_true(shape_equal(shapes_at(shapes, id), &vector));
    assert_false(shape_equal(shapes_at(shapes, id), &matrix));
    arena_free(arena);
}

static void elements_are_the_product(void **state)
{
    (void)state;
    assert_int_equal(shape_elements(&(Shape){0}), 1);
    assert_int_equal(shape_elements(&(Shape){3, {2, 3, 4}}), 24);
    assert_int_equal(shape_elements(&(Shape){2, {5, 0}}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_shapes_are_one),
        cmocka_unit_test(elements_are_the_product),
    };
    return run_rows("shape: rows", rows, shape_is_checked_and_printed) +
           cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
