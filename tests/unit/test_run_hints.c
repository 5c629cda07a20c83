/* What a user is told who asks for a run that cannot be. */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/run/estimate.h"
#include "core/run/verify/vectors.h"

#include <sys/stat.h>

typedef struct {
    const char *name, *param, *x; /* their sizes */
    const char *hint;
} HintRow;

static HintRow rows[] = {
    {"parameters do not fit", "4000000, 4000000", "1, 4000000", "parameters alone are"},
    {"values do not fit", "8, 8000000", "4000000, 8", "bind smaller dims"},
};

static void memory_is_short(void **state)
{
    const HintRow *row = *state;
    Arena *arena = arena_new();
    const char *text = arena_printf(arena,
                                    "function MODEL(model, config)\n"
                                    "  local x = model:input('x', 'f32', {%s})\n"
                                    "  local w = model:param('w', {%s}, 'f32')\n"
                                    "  model:output(model:op('MatMul', {x, w}), 'y')\n"
                                    "end\n",
                                    row->x, row->param);
    OpenedText o = model_text_open(text, "", "x=2", NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    RunOptions options = {.repeat = 1};
    RunReport report;
    Error err = {0};
    assert_false(run_plan(arena, o.session->plan, &options, &report, &err));
    assert_non_null(strstr(err.text, "the ranks need"));
    if (!strstr(err.hint, row->hint))
        fail_msg("%s", err.hint);
    model_text_close(&o);
    arena_free(arena);
}

typedef struct {
    const char *name, *model, *policy;
    bool verify, is_long;
    const char *train; /* NULL: forward alone */
} LongRow;

static LongRow longs[] = {
    {"tiny-gpt", "samples/models/tiny-gpt.onnx", "megatron", true, false, NULL},
    {"tiny-conv", "samples/models/tiny-conv.onnx", "dp", true, false, NULL},
    {"a step of tiny-gpt", "samples/models/tiny-gpt.onnx", "megatron", true, false, "auto"},
    {"gpt2, compared", "samples/models/gpt2.onnx", "megatron", true, true, NULL},
};

/* Half an hour and more for a whole GPT-2: with the sizes that are offered it is short. */
static void a_long_run_is_known_before(void **state)
{
    const LongRow *row = *state;
    Arena *arena = arena_new();
    RunOptions options = {.repeat = 1, .verify = row->verify};
    SessionOptions session_options = {
        .model = row->model, .mesh = "dp=2,tp=2", .policy = row->policy, .train = row->train};
    RunEstimate estimate, smaller, again = {0};
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    for (int pass = 0; pass < 2; pass++) {
        Session *session = session_open(&session_options, &hooks, NULL);
        assert_non_null(session);
        run_estimate(session->plan, &options, &estimate);
        assert_int_equal(estimate.us >= RUN_LONG_US, row->is_long && pass == 0);
        assert_true(estimate.bytes > 0 && estimate.fixed_us <= estimate.us);
        assert_true(run_estimate_fits(session, &estimate, NULL));
        const char *dims = run_estimate_smaller(arena, session, &estimate, &smaller);
        Source source = {.text = str_from(dims ? dims : "")};
        if (estimate.us >= RUN_LONG_US) {
            again = smaller;
            assert_true(dims && dims_parse(arena, &source, &session_options.dims, NULL));
        } else if (row->is_long) { /* the sizes that were offered: within a factor of four */
            assert_in_range((int)(estimate.us / again.us * 4), 1, 16);
        }
        session_close(session);
    }
    scripts_free(scripts);
    arena_free(arena);
}

/* input_0 and input_2: what is behind a gap is not left out without a word. */
static void a_gap_is_no_end(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *folder = vectors_folder(arena);
    const float x[] = {0, 1};
    for (int i = 0; i <= 2; i += 2)
        vectors_write(arena, folder, "input", i, DT_F32, &(Shape){.n_dims = 1, .dim = {2}},
                      (Str){(const char *)x, sizeof x});
    Vectors vectors;
    Error err = {0};
    assert_false(vectors_open(arena, folder, "input", NULL, &vectors, &err));
    assert_non_null(strstr(err.text, "has input_2.pb but no input_1.pb"));
    vectors_close(&vectors);
    vectors_remove(arena, folder);
    arena_free(arena);
}

static void inputs_lie_in_a_folder_of_it(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *folder = vectors_folder(arena);
    const char *inner = arena_printf(arena, "%s/test_data_set_0", folder);
    const float x[] = {0, 1};
    assert_int_equal(mkdir(inner, 0700), 0);
    vectors_write(arena, inner, "input", 0, DT_F32, &(Shape){.n_dims = 1, .dim = {2}},
                  (Str){(const char *)x, sizeof x});
    Vectors vectors;
    Error err = {0};
    assert_false(vectors_open(arena, folder, "input", NULL, &vectors, &err));
    assert_non_null(strstr(err.hint, inner));
    vectors_close(&vectors);
    vectors_remove(arena, inner);
    vectors_remove(arena, folder);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 2] = {
        cmocka_unit_test(a_gap_is_no_end),
        cmocka_unit_test(inputs_lie_in_a_folder_of_it),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[2 + i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = memory_is_short, .initial_state = &rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("a long run is known before", longs, a_long_run_is_known_before);
}
