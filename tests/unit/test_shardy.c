/* Shardy's propagation: parts of axes, dims as products of factors and back, one visit of an op,
 * passes and priorities, why an axis stopped, plans under the profile, and requests that are wrong.
 * What whole programs come to is in the facts (tests/conformance/factor.jsonl). */
#include "core/peers/propagators.h"
#include "tests/unit/planning.h"

#include "core/explain/events.h"
#include "core/propagate/propagate.h"
#include "core/peers/shardy/tables.h"
#include "core/peers/shardy/flow.h"
#include "core/peers/shardy/plan_shardy.h"
#include "core/plan/stop.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/random.h"

#include <string.h>

static Mesh *mesh_of(Arena *arena, const char *text)
{
    Error err = {0};
    Source source = {.name = "mesh", .text = str_from(text)};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    if (!mesh)
        planning_fail(&err);
    return mesh;
}

static AxisRef ref_of(const Mesh *mesh, Str text)
{
    AxisRef ref;
    Error err = {0};
    if (!axis_ref_parse(mesh, text, &ref, &err))
        planning_fail(&err);
    return ref;
}

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

/* ---- shardings and ops from text ---- */

/* "x.y?,-,z !a +b ^1,0": per dim its axes and `?` where it is open; replicated, unreduced,
 * priorities. */
static TensorSharding sharding_of(const Mesh *mesh, Str text)
{
    TensorSharding sharding = {.mesh = 0};
    Str rest = text, dims = str_take(&rest, ' ');
    while (dims.n > 0) {
        Str axes = str_take(&dims, ',');
        DimSharding *dim = &sharding.dim[sharding.n_dims++];
        *dim = (DimSharding){.priority = PRIORITY_NONE};
        if (str_ends(axes, STR("?"))) {
            dim->open = true;
            axes.n--;
        }
        while (axes.n > 0 && !str_eq(axes, STR("-")))
            axis_list_add(&dim->axes, ref_of(mesh, str_take(&axes, '.')));
    }
    while (rest.n > 0) {
        Str mark = str_take(&rest, ' ');
        Str list = {mark.s + 1, mark.n - 1};
        for (int d = 0; list.n > 0; d++) {
            Str item = str_take(&list, ',');
            if (mark.s[0] == '^')
                sharding.dim[d].priority = item.s[0] - '0';
            else
                axis_list_add(mark.s[0] == '!' ? &sharding.replicated : &sharding.unreduced,
                              ref_of(mesh, item));
        }
    }
    return sharding;
}

static void put_sharding(const Mesh *mesh, const TensorSharding *sharding, Buf *out)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const DimSharding *dim = &sharding->dim[d];
        buf_puts(out, d > 0 ? "," : "");
        for (int i = 0; i < dim->axes.n; i++) {
            buf_puts(out, i > 0 ? "." : "");
            axis_ref_format(mesh, &dim->axes.at[i], out);
        }
        buf_puts(out, dim->axes.n > 0 || dim->open ? "" : "-");
        buf_puts(out, dim->open ? "?" : "");
    }
}

enum { TENSORS_MAX = 6 };

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const FactorRule *rule;
    int n;
    TensorSharding sharding[TENSORS_MAX], *at[TENSORS_MAX];
} OneOpCase;

static const FactorRule *rule_of(Arena *arena, const char *text)
{
    Error err = {0};
    Source source = {.name = "rule", .text = str_from(text)};
    const FactorRule *rule = factor_rule_read(arena, &source, &err);
    if (!rule)
        planning_fail(&err);
    return rule;
}

static OneOpCase case_of(const char *mesh, const char *rule, const char *shardings)
{
    OneOpCase c = {.arena = arena_new()};
    c.mesh = mesh_of(c.arena, mesh);
    c.rule = rule_of(c.arena, rule);
    Str rest = str_from(shardings);
    while (rest.n > 0) {
        c.sharding[c.n] = sharding_of(c.mesh, str_trim(str_take(&rest, '|')));
        assert_int_equal(c.sharding[c.n].n_dims, c.rule->tensor[c.n].n_dims);
        c.n++;
    }
    assert_int_equal(c.n, c.rule->n_operands + c.rule->n_results);
    return c;
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

#define DOT "([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}"
#define ADD "([i, j], [i, j])->([i, j]) {i=8, j=8}"
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

/* ---- programs ---- */

enum { OPS_MAX = 4, T_MAX = 8 };

typedef struct {
    const char *rule;
    ShardyClass class;
    bool elementwise, multi_use;
    int32_t tensor[TENSORS_MAX];
} ProgramOp;

typedef struct {
    const char *name, *mesh;
    ShardyMethod method;
    ProgramOp op[OPS_MAX];
    const char *given[T_MAX], *want;
} ProgramRow;

#define AGGRESSIVE .aggressive = true
static ProgramRow program_rows[] = {
    {"without priorities the first op decides",
     "x=2",
     {AGGRESSIVE},
     {{DOT, SHARDY_PLAIN, false, false, {0, 1, 2}},
      {"([i, j])->([i, j]) {i=8, j=8}", SHARDY_VIEW, true, false, {3, 2}}},
     {"x?,?", "?,?", "?,?", "?,x?"},
     "x?,? | ?,? | x?,? | ?,x?"},
    {"a view goes before a dot",
     "x=2",
     {AGGRESSIVE, .op_priorities = true},
     {{DOT, SHARDY_PLAIN, false, false, {0, 1, 2}},
      {"([i, j])->([i, j]) {i=8, j=8}", SHARDY_VIEW, true, false, {3, 2}}},
     {"x?,?", "?,?", "?,?", "?,x?"},
     "x?,? | ?,x? | ?,x? | ?,x?"},
    {"a broadcast first goes backward",
     "x=2",
     {AGGRESSIVE, .op_priorities = true},
     {{"([i])->([i, j]) {i=8, j=8}", SHARDY_BROADCAST, false, false, {0, 1}},
      {"([j, i])->([i, j]) {i=8, j=8}", SHARDY_PLAIN, false, false, {2, 1}}},
     {"x?", "?,?", "x?,?"},
     "x? | ?,x? | x?,?"},
    {"a later priority comes later",
     "x=2",
     {AGGRESSIVE, .user_priorities = true},
     {{ADD, SHARDY_VIEW, true, false, {0, 1, 2}}},
     {"x?,? ^1,1", "?,x? ^0,0", "?,?"},
     "x?,? | ?,x? | ?,x?"},
    {"the axes of a later one are kept for it",
     "x=2,y=2",
     {AGGRESSIVE, .user_priorities = true},
     {{ADD, SHARDY_VIEW, true, false, {0, 1, 2}}},
     {"?,x? ^0,2", "x?,? ^0,0", "?,?"},
     "?,x? | x?,? | x?,?"},
    {"basic, then aggressive",
     "x=2",
     {.basic = true, AGGRESSIVE},
     {{ADD, SHARDY_VIEW, false, false, {0, 1, 2}}},
     {"x?,?", "?,?", "-,?"},
     "x?,? | x?,? | -,?"},
};

static void programs_come_to_rest(void **state)
{
    const ProgramRow *row = *state;
    Arena *arena = arena_new();
    const Mesh *mesh = mesh_of(arena, row->mesh);
    FactorMeshes meshes = {.n = 1, .at = &mesh};
    ShardyFlow *flow = shardy_flow_new(arena);
    ShardyOp op[OPS_MAX];
    int32_t given[T_MAX];
    ShardyProgram program = {.meshes = &meshes, .op = op, .state = given};
    for (int i = 0; i < OPS_MAX && row->op[i].rule; i++) {
        const ProgramOp *from = &row->op[i];
        const FactorRule *rule = rule_of(arena, from->rule);
        op[program.n_ops++] = (ShardyOp){.rule = rule,
                                         .class = from->class,
                                         .pass = PASS_BOTH,
                                         .elementwise = from->elementwise,
                                         .multi_use = from->multi_use,
                                         .n_inputs = rule->n_operands,
                                         .n_outputs = rule->n_results,
                                         .tensor = from->tensor};
    }
    for (int t = 0; t < T_MAX && row->given[t]; t++) {
        TensorSharding sharding = sharding_of(mesh, str_from(row->given[t]));
        given[program.n_tensors++] = shardy_put(flow, &sharding);
    }
    shardy_run(flow, &program, row->method, NULL, NULL);
    Buf text = buf_new(arena);
    for (int t = 0; t < program.n_tensors; t++) {
        buf_puts(&text, t > 0 ? " | " : "");
        put_sharding(mesh, shardy_at(flow, given[t]), &text);
    }
    assert_string_equal(text.s, row->want);
    arena_free(arena);
}

/* ---- plans ---- */

typedef struct {
    const char *name, *graph, *mesh;
    struct {
        DecisionKind kind;
        const char *tensor;
        int dim;
        const char *axes;
        int64_t interleave;
        bool open;
        int priority;
        const char *group;
        Pass pass;
    } pin[4];
    const char *want;    /* "tensor 8/x,8; .." of tensors asked for */
    const char *finding; /* its code, or "" */
} PlanRow;

#define PRODUCT "h <- MatMul f32[8,8] f32[8,8]!; y <- Relu h"
static PlanRow plan_rows[] = {
    {"axes reach parameters and go on",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_TENSOR_DIM, "in1", 1, "y", 1, false, 0, NULL, 0}},
     "h 8/x,8/y; y 8/x,8/y",
     ""},
    {"an axis that is kept from a tensor",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_REPLICATED, "h", -1, "x", 1, false, 0, NULL, 0}},
     "h 8,8; y 8,8",
     ""},
    {"a barrier",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_BARRIER, "h", -1, "", 1, false, 0, NULL, PASS_BACKWARD}},
     "h 8/x,8; y 8,8",
     ""},
    {"a pin of a later priority finds the axis taken",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in1", 1, "x", 1, true, 0, NULL, 0},
      {PIN_TENSOR_DIM, "in0", 0, "x", 1, true, 1, NULL, 0}},
     "h 8,8/x; in0 8/x,8",
     ""},
    {"tensors of a group",
     "h <- MatMul f32[8,8] f32[8,8]!; y <- Relu h; z <- Relu f32[8,8]",
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0},
      {PIN_GROUP, "y", -1, "", 1, false, 0, "g", 0},
      {PIN_GROUP, "z", -1, "", 1, false, 0, "g", 0}},
     "y 8/x,8; z 8/x,8; in2 8/x,8",
     ""},
    {"an interleaved pin cannot be said",
     PRODUCT,
     "x=2,y=2",
     {{PIN_TENSOR_DIM, "in1", 1, "x", 2, false, 0, NULL, 0}},
     "h 8,8",
     "shardy-pin"},
    {"a part of an axis of primes",
     "h <- Reshape f32[16] i64[2]{4,4}; y <- Relu h",
     "x=8",
     {{PIN_TENSOR_DIM, "in0", 0, "x", 1, false, 0, NULL, 0}},
     "h 4/x:(1)4,4/x:(4)2; y 4/x:(1)4,4/x:(4)2",
     ""},
};

static void pin(Planning *p, const PlanRow *row, int i)
{
    int32_t tensor = naming_find(p->naming, str_from(row->pin[i].tensor), NULL);
    assert_true(tensor >= 0);
    Decision decision = {.kind = row->pin[i].kind,
                         .place = tensor,
                         .dim = row->pin[i].dim,
                         .open = row->pin[i].open,
                         .priority = row->pin[i].priority,
                         .group = row->pin[i].group,
                         .pass = row->pin[i].pass,
                         .origin = {.kind = ORIGIN_USER, .file = "", .text = ""}};
    Cut cut;
    if (decision.dim >= 0) {
        cut = planning_cut(p, inferred_shape(p->inferred, tensor)->dim[decision.dim],
                           row->pin[i].axes, row->pin[i].interleave);
        decision.cut = &cut;
    }
    if (decision.dim < 0 && row->pin[i].axes[0])
        decision.axes =
            mesh_axis_atoms(p->mesh, mesh_find_axis(p->mesh, str_from(row->pin[i].axes)));
    journal_add(&p->journal, p->arena, &decision);
}

/* The log tells how every tensor came to what it has, from nothing, pins first; and of every op
 * there is an answer to why an axis stopped. */
static void check_events(const Planning *p)
{
    int n_tensors = p->graph->n_tensors, n = plan_n_events(p->plan);
    const PlanEvent *event = plan_events(p->arena, p->plan);
    AtomSet *has = arena_array(p->arena, AtomSet, n_tensors);
    for (int i = 0; i < n; i++) {
        assert_in_range(event[i].tensor, 0, n_tensors - 1);
        assert_true(i == 0 || event[i].turn >= event[i - 1].turn);
        has[event[i].tensor] |= event[i].added;
    }
    for (int t = 0; t < n_tensors; t++)
        if (plan_reached(p->plan, t) >= 0)
            assert_int_equal(
                has[t], sharding_atoms(shardings_at(p->plan->shardings, plan_reached(p->plan, t))));
    for (int i = 0; i < p->inferred->n_program; i++) {
        StopRecord *record;
        int n_stops = propagate_stops(p->arena, p->plan, p->inferred->program[i], &record);
        for (int s = 0; s < n_stops; s++)
            assert_true(record[s].stop > STOP_NONE && record[s].stop < STOP_COUNT &&
                        record[s].dim >= 0);
    }
}

static void plans_follow_shardy(void **state)
{
    const PlanRow *row = *state;
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, row->graph, 13);
    planning_infer(p, "", row->mesh);
    p->propagator = &propagator_shardy;
    for (int i = 0; i < 4 && row->pin[i].tensor; i++)
        pin(p, row, i);
    const Plan *plan = planning_make(p);
    Str rest = str_from(row->want);
    while (rest.n > 0) {
        Str one = str_trim(str_take(&rest, ';'));
        size_t at = one.n;
        while (one.s[at - 1] != ' ')
            at--;
        const char *name = arena_str(arena, (Str){one.s, at - 1});
        int32_t tensor = naming_find(p->naming, str_from(name), NULL);
        assert_true(tensor >= 0);
        Buf text = buf_new(arena);
        sharding_format(shardings_at(plan->shardings, plan_reached(plan, tensor)), p->mesh,
                        VIEW_OURS_ASCII, &text, NULL);
        assert_string_equal(text.s, arena_str(arena, (Str){one.s + at, one.n - at}));
    }
    const char *code = "";
    for (int i = 0; i < plan->findings.n; i++)
        if (str_starts(str_from(plan->findings.at[i].code), STR("shardy-")))
            code = plan->findings.at[i].code;
    assert_string_equal(code, row->finding);
    check_events(p);
    planning_close(p);
}

/* ---- requests ---- */

typedef struct {
    const char *name, *request, *want; /* the kind of its error; "" none */
} RequestRow;

#define REQUEST(strategy, mesh, graph)                                                             \
    "{\"strategy\":\"" strategy "\",\"mesh\":{\"axes\":[" mesh "]},\"graph\":" graph "}"
#define ONE_ABS(sharding)                                                                          \
    "{\"values\":{\"a\":{\"shape\":[8],\"sharding\":" sharding "},\"b\":{\"shape\":[8]}},"         \
    "\"inputs\":[\"a\"],\"ops\":[{\"op\":\"stablehlo.abs\",\"inputs\":[\"a\"],\"outputs\":[\"b\"]" \
    "}],\"outputs\":[{\"value\":\"b\"}]}"

static RequestRow request_rows[] = {
    {"a good one", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"x\"]]}")), ""},
    {"no strategy", REQUEST("bold", "[\"x\",2]", ONE_ABS("null")), "unsupported"},
    {"no graph", "{\"strategy\":\"basic\",\"mesh\":{\"axes\":[]}}", "invalid"},
    {"no mesh", "{\"strategy\":\"basic\",\"graph\":" ONE_ABS("null") "}", "invalid"},
    {"an axis that is not there", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"z\"]]}")),
     "unbound"},
    {"an axis twice", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[\"x\",\"x\"]]}")),
     "invalid"},
    {"too many dims", REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[],[]]}")), "rank"},
    {"parts that are one",
     REQUEST("basic", "[\"x\",4]", ONE_ABS("{\"dims\":[[\"x:(1)2\",\"x:(2)2\"]]}")), "invalid"},
    {"a priority on nothing",
     REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[]],\"priority\":[1]}")), "invalid"},
    {"a mesh that is not there",
     REQUEST("basic", "[\"x\",2]", ONE_ABS("{\"dims\":[[]],\"mesh\":\"m\"}")), ""},
    {"a value that is not there",
     REQUEST("basic", "[\"x\",2]", "{\"values\":{},\"inputs\":[\"a\"],\"ops\":[],\"outputs\":[]}"),
     "unbound"},
    {"a value made twice",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]}},\"inputs\":[],\"ops\":[{\"op\":\"f\","
             "\"inputs\":[],\"outputs\":[\"a\"]},{\"op\":\"f\",\"inputs\":[],\"outputs\":[\"a\"]}"
             "],\"outputs\":[]}"),
     "duplicate"},
    {"a rule of other ranks",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[8]}},\"inputs\":[\"a\"],"
             "\"ops\":[{\"op\":\"f\",\"inputs\":[\"a\"],\"outputs\":[\"b\"],\"rule\":\"([i, j])->"
             "([i, j]) {i=4, j=2}\"}],\"outputs\":[]}"),
     "rank"},
    {"a constraint of two",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]}},\"inputs\":[\"a\"],\"ops\":[{\"op\":"
             "\"sdy.sharding_constraint\",\"inputs\":[\"a\",\"a\"],\"outputs\":[]}],"
             "\"outputs\":[]}"),
     "invalid"},
    {"a group of two shapes",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[4]}},\"inputs\":[\"a\",\"b\"],"
             "\"ops\":[{\"op\":\"sdy.sharding_group\",\"inputs\":[\"a\"],\"outputs\":[],\"attrs\":"
             "{\"group_id\":0}},{\"op\":\"sdy.sharding_group\",\"inputs\":[\"b\"],\"outputs\":[],"
             "\"attrs\":{\"group_id\":0}}],\"outputs\":[]}"),
     "invalid"},
    {"an edge of nothing",
     REQUEST("basic", "[\"x\",2]",
             "{\"values\":{\"a\":{\"shape\":[8]},\"b\":{\"shape\":[8]}},\"inputs\":[\"a\"],"
             "\"ops\":[{\"op\":\"sdy.data_flow_edge\",\"inputs\":[\"a\"],\"outputs\":[\"b\"]}],"
             "\"outputs\":[{\"value\":\"b\"}]}"),
     ""},
};

static void wrong_requests_are_errors(void **state)
{
    const RequestRow *row = *state;
    static bool (*const verbs[])(const char *, Arena *, const Json *, Json *,
                                 Error *) = {eval_factor_propagate, eval_factor_origins};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        Arena *arena = arena_new();
        Error err = {0};
        Source source = {.name = "request", .text = str_from(row->request)};
        Json *request = json_parse(&source, &err), *answer = json_object();
        assert_non_null(request);
        bool fine = verbs[i]("", arena, request, answer, &err);
        assert_string_equal(fine ? "" : error_kind_name(err.kind), row->want);
        json_free(request);
        json_free(answer);
        arena_free(arena);
    }
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
           run_rows("shardy: why not", why_rows, an_axis_says_why_it_stopped) +
           run_rows("shardy: programs", program_rows, programs_come_to_rest) +
           run_rows("shardy: plans", plan_rows, plans_follow_shardy) +
           run_rows("shardy: requests", request_rows, wrong_requests_are_errors);
}
