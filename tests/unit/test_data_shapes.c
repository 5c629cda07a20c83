/* What only data decide: sizes and elements found by a run on one device, and plans made of them.
 */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/run/data_shapes.h"
#include "core/run/run.h"

/* x is 0, 0, 1, 0, 1, 1 as f32, at is 1, 4 as i64. */
#define MODEL                                                                                      \
    "function MODEL(model, config)\n"                                                              \
    "  local x = model:input('x', 'f32', {6})\n"                                                   \
    "  local at = model:input('at', 'i64', {2})\n"                                                 \
    "  model:output(%s, 'y')\n"                                                                    \
    "end\n"
#define NONZERO "model:op('NonZero', {x})"

typedef struct {
    const char *name, *body;
    bool given;        /* the inputs are */
    const char *found; /* "NonZero.1=3 at=1,4 " */
    const char *error; /* instead */
} LearnRow;

static LearnRow rows[] = {
    {"nothing is run where shapes are known", "model:op('Add', {x, x})", true, "", ""},
    {"a count", NONZERO, true, "NonZero.1=3 ", ""},
    {"a count of what is drawn", NONZERO, false, "NonZero.1=6 ", ""},
    {"a count of what a count gives",
     "model:op('NonZero', {model:op('Cast', {" NONZERO "}, {to = 1})})", true,
     "NonZero.1=3 NonZero_1.1=3 ", ""},
    {"elements of an input", "model:op('Expand', {model:op('ReduceSum', {x}), at})", true,
     "at=1,4 ", ""},
    {"elements that are computed",
     "model:op('Expand', {model:op('ReduceSum', {x}), model:op('Abs', {at})})", true, "Abs=1,4 ",
     ""},
    {"elements that nobody gave", "model:op('Expand', {model:op('ReduceSum', {x}), at})", false, "",
     "op 'Expand' (Expand) must know the elements of input 'at' before the run"},
};

static const char *vectors_of(Arena *arena)
{
    const char *folder = vectors_folder(arena);
    const float x[] = {0, 0, 1, 0, 1, 1};
    const int64_t at[] = {1, 4};
    vectors_write(arena, folder, "input", 0, DT_F32, &(Shape){.n_dims = 1, .dim = {6}},
                  (Str){(const char *)x, sizeof x});
    vectors_write(arena, folder, "input", 1, DT_I64, &(Shape){.n_dims = 1, .dim = {2}},
                  (Str){(const char *)at, sizeof at});
    return folder;
}

static const char *found_text(Arena *arena, const DataShapes *data_shapes)
{
    Buf out = buf_new(arena);
    for (int i = data_shapes->dims.n - data_shapes->n_sizes; i < data_shapes->dims.n; i++)
        buf_printf(&out, "%.*s=%d ", STR_ARG(data_shapes->dims.at[i].name),
                   (int)data_shapes->dims.at[i].size);
    for (int i = data_shapes->values.n - data_shapes->n_values; i < data_shapes->values.n; i++) {
        const GivenValue *given = &data_shapes->values.at[i];
        buf_printf(&out, "%.*s=", STR_ARG(given->tensor));
        for (int64_t k = 0; k < shape_elements(&given->value.shape); k++)
            buf_printf(&out, "%s%d", k > 0 ? "," : "", (int)given->value.ints[k]);
        buf_putc(&out, ' ');
    }
    return buf_str(&out).n > 0 ? out.s : "";
}

/* The plan that is made of what was found runs. */
static void check_plan(const OpenedText *o, const DataShapes *data_shapes, const char *folder)
{
    SessionHooks hooks = scripts_hooks(o->scripts);
    SessionOptions options = {.model = o->path, .mesh = "x=2", .given = &data_shapes->values};
    options.dims = data_shapes->dims;
    RunOptions run = {.verify = true, .repeat = 1, .inputs = folder};
    RunReport report;
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session || !run_plan(o->arena, session->plan, &run, &report, &err))
        fail_msg("%s", err.text);
    assert_true(report.ok);
    session_close(session);
}

static void data_decide(void **state)
{
    const LearnRow *row = *state;
    Arena *arena = arena_new();
    OpenedText o = model_text_open(arena_printf(arena, MODEL, row->body), "", NULL, NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const char *folder = row->given ? vectors_of(o.arena) : NULL;
    Vectors inputs = {0};
    DataShapes data_shapes = {.n_sizes = 0};
    Given given = {.inputs = row->given ? &inputs : NULL};
    assert_true(!folder || vectors_open(o.arena, folder, "input", NULL, &inputs, NULL));
    bool ok = data_shapes_resolve(o.arena, o.session->inferred, &given, &data_shapes, &o.err);
    assert_string_equal(o.err.text, row->error);
    assert_int_equal(ok, row->error[0] == '\0');
    if (ok) {
        assert_string_equal(found_text(o.arena, &data_shapes), row->found);
        check_plan(&o, &data_shapes, folder);
    }
    vectors_close(&inputs);
    vectors_remove(o.arena, folder);
    model_text_close(&o);
    arena_free(arena);
}

/* How many sums differ in their last bits depends on the order of addition: the size that is found
 * is that of the run. */
static void sums_are_those_of_the_run(void **state)
{
    (void)state;
    static const char model[] = "function MODEL(model, config)\n"
                                "  local a = model:input('a', 'f32', {16, 300})\n"
                                "  local b = model:input('b', 'f32', {300, 16})\n"
                                "  local both = {model:op('Concat', {a, a}, {axis = 1}), "
                                "model:op('Concat', {b, b}, {axis = 0})}\n"
                                "  local half = model:op('MatMul', {a, b})\n"
                                "  local more = model:op('Sub', {model:op('MatMul', both), "
                                "model:op('Add', {half, half})})\n"
                                "  model:output(model:op('NonZero', {more}), 'y')\n"
                                "end\n";
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        OpenedText o = model_text_open(model, "", NULL, NULL);
        if (!o.session)
            fail_msg("%s", o.err.text);
        DataShapes data_shapes = {.n_sizes = 0};
        Given given = {.deterministic = deterministic};
        if (!data_shapes_resolve(o.arena, o.session->inferred, &given, &data_shapes, &o.err))
            fail_msg("%s", o.err.text);
        assert_int_equal(data_shapes.n_sizes, 1);
        SessionHooks hooks = scripts_hooks(o.scripts);
        SessionOptions options = {.model = o.path, .mesh = "x=1", .dims = data_shapes.dims};
        RunOptions run = {.repeat = 1, .deterministic = deterministic};
        RunReport report;
        Session *session = session_open(&options, &hooks, &o.err);
        if (!session || !run_plan(o.arena, session->plan, &run, &report, &o.err))
            fail_msg("%s", o.err.text);
        session_close(session);
        model_text_close(&o);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 1];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = data_decide, .initial_state = &rows[i]};
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(sums_are_those_of_the_run);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
