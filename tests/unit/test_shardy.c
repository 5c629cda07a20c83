/* Shardy's propagation at one op: parts of axes, dims as products of factors and back, one visit,
 * why an axis stopped. */
#include "tests/unit/shardy_text.h"

#include "core/plan/stop.h"
#include "tests/unit/random.h"

/* ---- axes ---- */

typedef struct {
    const char *name, *a, *b;
    bool overlap, prefix, contains, coexist;
    const char *without; /* of a, without b; NULL: nothing is left */
} AxisRow;

static AxisRow axis_rows[] = {
    {"two axes", "x", "y", false, false, false, true, "x"},
    {"one axis", "x", "x", true, true, true, true, NULL},
    {"an axis and its major part", "x", "x:(1)4", true, false, true, true, NULL},
    {"an axis and its minor part", "x", "x:(4)3", true, false, true, true, "x:(1)4"},
    {"a major part of the axis", "x:(1)4", "x", true, true, false, true, NULL},
    {"a minor part of the axis", "x:(4)3", "x", true, false, false, true, NULL},
    {"neighbours", "x:(1)2", "x:(2)3", false, false, false, true, "x:(1)2"},
    {"parts with a gap", "x:(1)2", "x:(6)2", false, false, false, true, "x:(1)2"},
    {"half over each other", "x:(1)6", "x:(2)6", true, false, false, true, "x:(1)2"},
    {"a part that starts inside", "x:(2)6", "x:(1)6", true, false, false, true, NULL},
    {"borders that do not divide", "x:(1)4", "x:(3)2", true, false, false, false, NULL},
    {"longer, from the same place", "x:(2)2", "x:(2)6", true, true, false, true, NULL},
};

static void axes_are_parts(void **state)
{
    const AxisRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "x=12,y=4");
    AxisRef a = ref_of(mesh, str_from(row->a)), b = ref_of(mesh, str_from(row->b)), rest;
    assert_int_equal(axis_refs_overlap(&a, &b), row->overlap);
    assert_int_equal(axis_refs_overlap(&b, &a), row->overlap);
    assert_int_equal(axis_ref_is_prefix(&a, &b), row->prefix);
    assert_int_equal(axis_ref_contains(&a, &b), row->contains);
    assert_int_equal(axis_refs_can_coexist(&a, &b), row->coexist);
    bool left = axis_ref_without(&a, &b, &rest);
    assert_int_equal(left, row->without != NULL);
    Buf text = buf_new(arena);
    if (left)
        axis_ref_format(mesh, &rest, &text);
    assert_string_equal(left ? text.s : "", row->without ? row->without : "");
    arena_free(arena);
}

typedef struct {
    const char *name, *text, *want; /* what it reads as, or the error */
} ReadRow;

static ReadRow read_rows[] = {
    {"a whole axis", "x", "x"},
    {"a part", "x:(2)3", "x:(2)3"},
    {"no such axis", "z", "this mesh has no axis 'z'"},
    {"a part that is all of it", "x:(1)12", "axis 'x' of size 12 has no part (1)12"},
    {"a part of one device", "x:(2)1", "axis 'x' of size 12 has no part (2)1"},
    {"a border that does not divide", "x:(5)2", "axis 'x' of size 12 has no part (5)2"},
    {"past the end", "x:(6)4", "axis 'x' of size 12 has no part (6)4"},
    {"a product that overflows", "x:(4611686018427387904)4",
     "axis 'x' of size 12 has no part (4611686018427387904)4"},
    {"no number", "x:(a)2", "'(a)2' is not a part of an axis; write it as (2)4"},
    {"no bracket", "x:2", "'2' is not a part of an axis; write it as (2)4"},
};

static void axes_are_read(void **state)
{
    const ReadRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, "x=12,y=4");
    AxisRef ref;
    Error err = {0};
    Buf text = buf_new(arena);
    if (axis_ref_parse(mesh, str_from(row->text), &ref, &err))
        axis_ref_format(mesh, &ref, &text);
    assert_string_equal(err.text[0] ? err.text : text.s, row->want);
    arena_free(arena);
}

/* ---- factors ---- */

/* A random sharding of one tensor, parts of axes too, handed out to the factors of random products
 * and put together again: it is the same. */
static void random_axes(const Mesh *mesh, TensorSharding *sharding)
{
    for (int a = 0; a < mesh->n_axes; a++) {
        int whole = (int)mesh->axes[a].size, pre = 1;
        while (pre < whole) {
            int size = 2;
            while (whole / pre % size != 0 || (pick(2) && size < whole / pre))
                size++;
            if (pick(3) > 0)
                axis_list_push(&sharding->dim[pick(sharding->n_dims)].axes, mesh,
                               (AxisRef){a, pre, size});
            pre *= size;
        }
    }
}

static void factors_come_back_together(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "([ij], [k])->([i, j, k]) {i=4, j=6, k=8}",
        "([ijk])->([i, j, k]) {i=2, j=3, k=8}",
        "([ij, kl])->([i, jk, l]) {i=12, j=2, k=3, l=4}",
        "([ijkl])->([ij, kl]) {i=6, j=2, k=2, l=5}",
    };
    seed = 5;
    for (int round = 0; round < 4000; round++) {
        Arena *arena = arena_new();
        const Mesh *mesh = mesh_of(arena, round % 2 ? "x=12,y=4,z=2" : "x=8,y=6");
        const FactorRule *rule = rule_of(arena, rules[pick(COUNT_OF(rules))]);
        int n = rule->n_operands + rule->n_results;
        TensorSharding sharding[TENSORS_MAX];
        const TensorSharding *at[TENSORS_MAX];
        for (int t = 0; t < n; t++) {
            sharding[t] = tensor_sharding_open(rule->tensor[t].n_dims);
            random_axes(mesh, &sharding[t]);
            at[t] = &sharding[t];
        }
        const FactorProjection *projection = factor_project(arena, rule, mesh, at);
        for (int t = 0; t < n; t++) {
            TensorSharding back = factor_unproject(projection, t, at[t]);
            assert_true(tensor_sharding_equal(&back, at[t]));
        }
        arena_free(arena);
    }
}

typedef struct {
    const char *name, *mesh, *rule, *sharding, *want; /* "i=x j=y:(1)2 overflow=.." */
} FactorRow;

static FactorRow factor_rows[] = {
    {"the minor factor takes the rest", "x=2,y=2", "([ij])->([i, j]) {i=2, j=4}", "x.y | -,-",
     "i=x j=y"},
    {"an axis is split between them", "x=8", "([ij])->([i, j]) {i=2, j=8}", "x | -,-",
     "i=x:(1)2 j=x:(2)4"},
    {"the size comes first, not the axis", "x=2,y=3", "([ij])->([i, j]) {i=6, j=8}", "x.y | -,-",
     "i=x.y j="},
    {"what does not divide overflows", "x=2,y=3", "([ij])->([i, j]) {i=4, j=9}", "x.y? | -,-",
     "i=x j= i overflows=y j closed"},
    {"a part of an axis overflows", "x=6", "([ij])->([i, j]) {i=4, j=9}", "x? | -,-",
     "i=x:(1)2 j= i overflows=x:(2)3 j closed"},
};

static void factors_take_axes(void **state)
{
    const FactorRow *row = *state;
    OneOpCase c = case_of(row->mesh, row->rule, row->sharding);
    const TensorSharding *at[TENSORS_MAX] = {&c.sharding[0], &c.sharding[1]};
    const FactorProjection *projection = factor_project(c.arena, c.rule, c.mesh, at);
    Buf text = buf_new(c.arena), more = buf_new(c.arena);
    for (int f = 0; f < c.rule->n_factors; f++) {
        const FactorAxes *own = &projection->tensor[0].factor[f];
        TensorSharding one = {.n_dims = 1, .dim[0].axes = own->axes, .dim[0].open = true};
        TensorSharding over = {.n_dims = 1, .dim[0].axes = own->overflow};
        Buf axes = buf_new(c.arena);
        put_sharding(c.mesh, &one, &axes);
        axes.s[axes.n - 1] = '\0'; /* the mark of open */
        buf_puts(&text, f > 0 ? " " : "");
        factor_name(f, &text);
        buf_printf(&text, "=%s", axes.s);
        if (own->overflow.n > 0) {
            buf_puts(&more, " ");
            factor_name(f, &more);
            buf_puts(&more, " overflows=");
            put_sharding(c.mesh, &over, &more);
        } else if (own->closed && c.sharding[0].dim[0].open) {
            buf_puts(&more, " ");
            factor_name(f, &more);
            buf_puts(&more, " closed");
        }
    }
    buf_puts(&text, more.n ? more.s : "");
    assert_string_equal(text.s, row->want);
    arena_free(c.arena);
}

/* ---- one visit ---- */

typedef struct {
    const char *name, *mesh, *rule, *before;
    const char *basic, *aggressive; /* after; NULL: nothing changes */
    Pass direction;
    bool elementwise, conservative;
} StepRow;

#define VIEW "([ij])->([i, j]) {i=2, j=8}"
#define BIG_ADD "([i, j], [i, j])->([i, j]) {i=4, j=16}"

static StepRow step_rows[] = {
    {"axes go everywhere", "x=2,y=2", DOT, "x?,? | ?,y? | ?,?", "x?,? | ?,y? | x?,y?",
     "x?,? | ?,y? | x?,y?", PASS_BOTH, false, false},
    {"a reduced factor too", "x=2,y=2", DOT, "?,x? | ?,? | ?,?", "?,x? | x?,? | ?,?",
     "?,x? | x?,? | ?,?", PASS_BOTH, false, false},
    {"forward only to results", "x=2,y=2", ADD, "x?,? | ?,? | ?,?", "x?,? | x?,? | x?,?",
     "x?,? | x?,? | x?,?", PASS_FORWARD, false, false},
    {"forward nothing from results", "x=2,y=2", ADD, "?,? | ?,? | x?,?", NULL, NULL, PASS_FORWARD,
     false, false},
    {"backward nothing from operands", "x=2,y=2", ADD, "x?,? | ?,? | ?,?", NULL, NULL,
     PASS_BACKWARD, false, false},
    {"backward to operands", "x=2,y=2", ADD, "?,? | ?,? | x?,?", "x?,? | x?,? | x?,?",
     "x?,? | x?,? | x?,?", PASS_BACKWARD, false, false},
    {"not at all", "x=2,y=2", ADD, "x?,? | ?,? | ?,?", NULL, NULL, PASS_NONE, false, false},
    {"a closed dim stops a factor in basic", "x=2,y=2", ADD, "x?,? | ?,? | -,?", NULL,
     "x?,? | x?,? | -,?", PASS_BOTH, false, false},
    {"an elementwise operand has what its result has", "x=2,y=2", ADD, "x?,? | ?,? | -,?", NULL,
     NULL, PASS_BOTH, true, false},
    {"replicated, in basic for all", "x=2,y=2", ADD, "x?,? | ?,? !x | ?,?", NULL,
     "x?,? | ?,? | x?,?", PASS_BOTH, false, false},
    {"unreduced the same", "x=2,y=2", ADD, "x?,? | ?,? +x | ?,?", NULL, "x?,? | ?,? | x?,?",
     PASS_BOTH, false, false},
    {"what two agree on", "x=2,y=2,z=2", ADD, "x.y?,? | x.z?,? | ?,?", "x.y?,? | x.z?,? | x?,?",
     "x.y?,? | x.z?,? | x?,?", PASS_BOTH, false, false},
    {"part of an axis goes on", "x=4", ADD, "x:(1)2?,? | x?,? | ?,?", "x?,? | x?,? | x?,?",
     "x?,? | x?,? | x?,?", PASS_BOTH, false, false},
    {"one axis on two factors: none in basic", "x=2", DOT, "x?,? | ?,x? | ?,?", NULL,
     "x?,? | ?,x? | x?,?", PASS_BOTH, false, false},
    {"the larger source goes first", "x=2", "([i], [i, j])->([i, j]) {i=8, j=8}", "x? | ?,x? | ?,?",
     NULL, "x? | ?,x? | ?,x?", PASS_BOTH, false, false},
    {"elementwise, the more sharded first", "x=2,y=2", BIG_ADD, "x?,? | ?,x.y? | ?,?", NULL,
     "x?,? | ?,x.y? | ?,x.y?", PASS_BOTH, true, false},
    {"else the first source", "x=2,y=2", BIG_ADD, "x?,? | ?,x.y? | ?,?", NULL,
     "x?,? | ?,x.y? | x?,?", PASS_BOTH, false, false},
    {"a view splits an axis", "x=8", VIEW, "x? | ?,?", "x? | x:(1)2?,x:(2)4?",
     "x? | x:(1)2?,x:(2)4?", PASS_BOTH, true, false},
    {"not when conservative", "x=8", VIEW, "x? | ?,?", NULL, NULL, PASS_BOTH, true, true},
    {"a view joins parts", "x=8", VIEW, "? | x:(1)2?,x:(2)4?", "x? | x:(1)2?,x:(2)4?",
     "x? | x:(1)2?,x:(2)4?", PASS_BOTH, true, false},
    {"a minor part waits for its major", "x=2", VIEW, "? | ?,x?", NULL, NULL, PASS_BOTH, true,
     false},
    {"a factor that is not minor must divide", "x=3", VIEW, "? | x?,?", NULL, NULL, PASS_BOTH, true,
     false},
    {"a priority goes with a change", "x=2", ADD, "x?,? | ?,? ^1,2 | ?,?", "x?,? | x?,? | x?,?",
     "x?,? | x?,? | x?,?", PASS_BOTH, false, false},
};

static void check_step(const StepRow *row, bool is_aggressive, const char *want)
{
    OneOpCase c = case_of(row->mesh, row->rule, row->before);
    Pass direction[8];
    bool changed[TENSORS_MAX];
    TensorSharding before[TENSORS_MAX];
    for (int f = 0; f < c.rule->n_factors; f++)
        direction[f] = row->direction;
    for (int t = 0; t < c.n; t++) {
        c.at[t] = &c.sharding[t];
        before[t] = c.sharding[t];
    }
    FactorStep step = {.rule = c.rule,
                       .mesh = c.mesh,
                       .direction = direction,
                       .aggressive = is_aggressive,
                       .elementwise = row->elementwise,
                       .conservative = row->conservative};
    bool any = factor_step(c.arena, &step, 0, c.at, changed);
    Buf text = buf_new(c.arena);
    for (int t = 0; t < c.n; t++) {
        buf_puts(&text, t > 0 ? " | " : "");
        put_sharding(c.mesh, &c.sharding[t], &text);
        assert_int_equal(changed[t], !tensor_sharding_equal(&before[t], &c.sharding[t]));
        for (int d = 0; changed[t] && d < c.sharding[t].n_dims; d++)
            assert_int_equal(c.sharding[t].dim[d].priority, PRIORITY_NONE);
    }
    assert_int_equal(any, want != NULL);
    if (want)
        assert_string_equal(text.s, want);
    arena_free(c.arena);
}

static void a_visit_hands_axes_on(void **state)
{
    const StepRow *row = *state;
    check_step(row, false, row->basic);
    check_step(row, true, row->aggressive);
}

/* ---- why not ---- */

typedef struct {
    const char *name, *mesh, *rule, *at;
    bool is_aggressive;
    const char *want; /* "x of 0 to 2 along i: closed; .." */
} WhyRow;

static WhyRow why_rows[] = {
    {"closed", "x=2", ADD, "x?,? | x?,? | -,?", true, "x of 0 to 2 along i: closed"},
    {"replicated", "x=2", ADD, "x?,? | ?,? !x | x?,?", true, "x of 0 to 1 along i: replicated"},
    {"taken by another factor", "x=2", ADD, "x?,? | x?,? | ?,x?", true,
     "x of 0 to 2 along i: taken j; x of 2 to 0 along j: taken i; x of 2 to 1 along j: taken i"},
    {"of another tensor, in basic", "x=2", DOT, "x?,? | ?,x? | ?,?", false,
     "x of 0 to 2 along i: taken j; x of 1 to 2 along j: taken i"},
    {"other axes are there", "x=2,y=2", ADD, "x?,? | y?,? | ?,?", true,
     "y of 1 to 0 along i: order 0; x of 0 to 1 along i: order 1; x of 0 to 2 along i: order 1; "
     "y of 1 to 2 along i: order 0"},
    {"it does not divide", "x=3", VIEW, "? | x?,?", true, "x of 1 to 0 along i: not-divisible"},
    {"its major is not full", "x=2", VIEW, "? | ?,x?", true, "x of 1 to 0 along j: not-divisible"},
    {"a factor that takes no part", "x=2", "([i])->([i]) {i=8} blocked_propagation={i}", "x? | ?",
     true, "x of 0 to 1 along i: blocked"},
};

static void an_axis_says_why_it_stopped(void **state)
{
    const WhyRow *row = *state;
    OneOpCase c = case_of(row->mesh, row->rule, row->at);
    const TensorSharding *at[TENSORS_MAX];
    Pass direction[8];
    for (int t = 0; t < c.n; t++)
        at[t] = &c.sharding[t];
    for (int f = 0; f < c.rule->n_factors; f++)
        direction[f] = PASS_BOTH;
    FactorStep step = {
        .rule = c.rule, .mesh = c.mesh, .direction = direction, .aggressive = row->is_aggressive};
    FactorStops stops = {0};
    factor_stops(c.arena, &step, at, &stops);
    Buf text = buf_new(c.arena);
    for (int i = 0; i < stops.n; i++) {
        const FactorStop *stop = &stops.at[i];
        buf_puts(&text, i > 0 ? "; " : "");
        axis_ref_format(c.mesh, &stop->axis, &text);
        buf_printf(&text, " of %d to %d along ", stop->source, stop->tensor);
        factor_name(stop->factor, &text);
        buf_printf(&text, ": %s", stop_name(stop->stop));
        if (stop->other >= 0) {
            buf_puts(&text, " ");
            if (stop->stop == STOP_TAKEN)
                factor_name(stop->other, &text);
            else
                buf_printf(&text, "%d", stop->other);
        }
    }
    assert_string_equal(text.s, row->want);
    arena_free(c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_come_back_together),
    };
    return run_rows("shardy: parts of axes", axis_rows, axes_are_parts) +
           run_rows("shardy: axes as text", read_rows, axes_are_read) +
           run_rows("shardy: factors", factor_rows, factors_take_axes) +
           cmocka_run_group_tests_name("shardy: round trips", tests, NULL, NULL) +
           run_rows("shardy: a visit", step_rows, a_visit_hands_axes_on) +
           run_rows("shardy: why not", why_rows, an_axis_says_why_it_stopped);
}
