/* What a rank touches of an operand, against all points of its part of the index space. */
#include "tests/unit/planning_text.h"

#include "core/summary/ranges.h"
#include "tests/unit/random.h"

/* Marks what one point of the index space reads of a dim. */
static void touch(const Operand *operand, int d, const int64_t *point, int n, bool *touched)
{
    const Row *row = &operand->projection.row[d];
    int64_t at = row->offset, divisor = row->divisor > 1 ? row->divisor : 1;
    for (int j = 0; j < n; j++)
        at += row->coef[j] * point[j];
    at = at >= 0 ? at / divisor : -((-at + divisor - 1) / divisor);
    for (int64_t k = at; k < at + row->window; k++)
        if (k >= 0 && k < operand->shape.dim[d])
            touched[k] = true;
}

/* All points of the index dims that dim d depends on, within the rank's part. */
static void touch_all(const Plan *plan, int32_t op, int operand, int d, int64_t position,
                      bool *touched)
{
    const OpSpace *space = program_space(plan->inferred, op);
    const Row *row = &space->operand[operand].projection.row[d];
    int64_t lo[X_MAX] = {0}, n[X_MAX], point[X_MAX] = {0}, count = 1;
    for (int j = 0; j < space->n_index; j++) {
        int64_t hi = 1;
        if (row->coef[j] != 0)
            cut_interval(&plan_cut(plan, op)->index[j], plan->mesh, position, &lo[j], &hi);
        n[j] = hi - lo[j];
        count *= n[j];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int j = 0; j < space->n_index; j++) {
            point[j] = lo[j] + rest % n[j];
            rest /= n[j];
        }
        touch(&space->operand[operand], d, point, space->n_index, touched);
    }
}

static void check_op(const Plan *plan, int32_t op, const char *net)
{
    const OpSpace *space = program_space(plan->inferred, op);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
        for (int64_t position = 0; position < plan->mesh->n_devices; position++) {
            OperandRange range;
            if (!operand_range(plan, op, o, position, &range))
                continue;
            for (int d = 0; d < range.n_dims; d++) {
                bool touched[256] = {false};
                int64_t n = 0, lo = -1, hi = 0;
                touch_all(plan, op, o, d, position, touched);
                for (int64_t k = 0; k < 256; k++)
                    if (touched[k]) {
                        lo = lo < 0 ? k : lo;
                        hi = k + 1;
                        n++;
                    }
                if (n > 0 &&
                    (range.dim[d].touched != n || range.dim[d].lo != lo || range.dim[d].hi != hi))
                    fail_msg("%s: operand %d dim %d of rank %d: %d in %d:%d, not %d in %d:%d", net,
                             o, d, (int)position, (int)range.dim[d].touched, (int)range.dim[d].lo,
                             (int)range.dim[d].hi, (int)n, (int)lo, (int)hi);
                assert_true(n == 0 || range.dim[d].held >= range.dim[d].touched);
            }
        }
}

static void ranges_are_what_the_points_touch(void **state)
{
    (void)state;
    seed = 5;
    for (int i = 0; i < 60; i++) {
        Arena *arena = arena_new();
        int size = 12 + pick(40), kernel = 1 + pick(4), step = 1 + pick(3);
        const char *conv = arena_printf(
            arena,
            "x <- Neg f32[2,3,%d,4]; y <- Conv x f32[4,3,%d,1]! strides=[%d,1] pads=[%d,0,%d,0]",
            size, kernel, step, pick(kernel), pick(kernel));
        const char *slice = arena_printf(
            arena,
            "x <- Neg f32[2,3,%d,4]; y <- Slice x i64[1]{%d} i64[1]{%d} i64[1]{2} i64[1]{%d}", size,
            pick(4), size - pick(4), step);
        const char *net = pick(3) ? conv : slice;
        Planning *p = planning_text(net, arena_printf(arena, "a=%d", 2 + pick(4)));
        planning_pin(p, pick(2) ? "x" : "y", 2, "a", 1, false);
        planning_make(p);
        int32_t y = naming_find(p->naming, STR("y"), NULL);
        check_op(p->plan, p->plan->inferred->graph->tensors[y].maker, net);
        planning_close(p);
        arena_free(arena);
    }
}

/* A dim that is gathered for a part of it is waste; a halo that is read is none. */
static void what_is_held_beyond_is_waste(void **state)
{
    (void)state;
    Planning *p =
        planning_text("x <- Neg f32[2,8,64,64]; y <- Conv x f32[8,8,3,3]! pads=[1,1,1,1]; "
                      "z <- Slice x i64[1]{0} i64[1]{32} i64[1]{2}",
                      "a=4");
    planning_pin(p, "x", 2, "a", 1, false);
    planning_make(p);
    OperandRange range;
    int32_t y = naming_find(p->naming, STR("y"), NULL), z = naming_find(p->naming, STR("z"), NULL);
    const GraphTensor *tensors = p->plan->inferred->graph->tensors;
    assert_true(operand_range(p->plan, tensors[y].maker, 0, 1, &range));
    assert_int_equal(range.dim[2].lo, 15);
    assert_int_equal(range.dim[2].hi, 33);
    assert_int_equal(range.held, range.touched);
    assert_true(operand_range(p->plan, tensors[z].maker, 0, 1, &range));
    assert_int_equal(range.dim[2].touched, 32);
    assert_int_equal(range.dim[2].held, 64);
    assert_false(operand_range(p->plan, tensors[z].maker, 1, 1, &range) && range.n_dims > 1);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_what_the_points_touch),
        cmocka_unit_test(what_is_held_beyond_is_waste),
    };
    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
