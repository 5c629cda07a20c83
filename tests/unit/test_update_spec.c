/* What `--train` says about the update, and what is kept for a parameter: bytes as Megatron-LM and
 * torch count them. */
#include "tests/unit/unit.h"

#include "core/step/optimizer.h"

#include <math.h>

typedef struct {
    const char *text; /* first, the name of the test */
    Dtype stored;
    const char *want; /* optimizer, dtypes of the parameter and its gradient, values, bytes */
} Kept;

static Kept kept[] = {
    {"", DT_F32, "adamw f32 f32 ~m:f32 ~v:f32 16"},
    {"sgd", DT_F32, "sgd f32 f32 8"},
    {"momentum", DT_F64, "momentum f64 f64 ~momentum:f64 24"},
    {"adamw,precision=bf16", DT_F32, "adamw bf16 f32 ~master:f32 ~m:f32 ~v:f32 18"},
    {"adam , precision=fp16 , grads=bf16", DT_F32, "adam f16 bf16 ~master:f32 ~m:f32 ~v:f32 16"},
    {"precision=fp32,adagrad", DT_BF16, "adagrad f32 f32 ~sum:f32 12"},
    {"sgd", DT_BF16, "sgd bf16 f32 ~master:f32 10"},
    {"amsgrad=1", DT_F32, "adamw f32 f32 ~m:f32 ~v:f32 ~v_max:f32 20"},
    {"rmsprop", DT_F32, "rmsprop f32 f32 ~v:f32 12"},
    {"rmsprop,momentum=0.9,centered=1", DT_F32,
     "rmsprop f32 f32 ~v:f32 ~momentum:f32 ~g_avg:f32 20"},
    {"adamax", DT_F32, "adamax f32 f32 ~m:f32 ~u:f32 16"},
};

static void keeps(void **state)
{
    const Kept *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    UpdateSpec spec;
    UpdateValue value[UPDATE_VALUES_MAX];
    if (!update_spec_read(arena, row->text, &spec, &err))
        fail_msg("%s", err.text);
    Buf out = buf_new(arena);
    buf_printf(&out, "%s %s %s", spec.optimizer->name,
               dtype_name(update_parameter_dtype(&spec, row->stored)),
               dtype_name(update_gradient_dtype(&spec, row->stored)));
    int n = update_values(&spec, row->stored, value);
    for (int i = 0; i < n; i++)
        buf_printf(&out, " ~%s:%s", value[i].name, dtype_name(value[i].dtype));
    buf_printf(&out, " %d", (int)update_bytes(&spec, row->stored));
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

typedef struct {
    const char *text, *want, *hint;
} Refused;

static Refused refused[] = {
    {"adanw", "--train: there is no optimizer 'adanw'", "did you mean adamw?"},
    {"lion_of_the_sea", "--train: there is no optimizer 'lion_of_the_sea'",
     "sgd momentum nesterov adam adamw adagrad rmsprop adamax nadam radam"},
    {"adam,sgd", "--train: there are two optimizers, adam and sgd", ""},
    {"precison=bf16", "--train: there is no option 'precison'", "did you mean precision?"},
    {"precision=bf17", "--train: there is no precision 'bf17'", "did you mean bf16?"},
    {"grads=int", "--train: gradients are f32 or bf16, not 'int'", ""},
    {"clip=much", "--train: clip is not a number of at least 0: 'much'", ""},
    {"clip=-1", "--train: clip is not a number of at least 0: '-1'", ""},
    {"clip=", "--train: clip is not a number of at least 0: ''", ""},
    {"scale=0", "--train: scale is 0", ""},
    {"sgd,beta1=0.9", "--train: there is no option 'beta1'",
     "precision, grads, clip, scale, loss, freeze, ignore_index, label_smoothing, or a "
     "hyper-parameter of sgd"},
    {"ignore_index=none", "--train: ignore_index is not a whole number: 'none'", ""},
    {"adam,beta2=1", "--train: beta2 must be less than 1, not 1", ""},
    {"foo", "--train: there is no optimizer 'foo'",
     "sgd momentum nesterov adam adamw adagrad rmsprop adamax nadam radam"},
    {"label_smoothing=2", "--train: label_smoothing must be between 0 and 1", ""},
    {"scale=dynamical", "--train: scale is not a number of at least 0: 'dynamical'", ""},
    {"weight_decya=0.1", "--train: there is no option 'weight_decya'",
     "did you mean weight_decay?"},
};

static void refuses(void **state)
{
    const Refused *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    UpdateSpec spec;
    assert_false(update_spec_read(arena, row->text, &spec, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, row->want);
    assert_string_equal(err.hint, row->hint);
    arena_free(arena);
}

static bool spec_is(double got, double want)
{
    return fabs(got - want) < 1e-12;
}

static void reads_numbers_and_the_loss(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    UpdateSpec spec;
    assert_true(update_spec_read(arena, "weight_decay=0.1,clip=1.0,loss=nll,beta2=0.95,scale=128",
                                 &spec, NULL));
    assert_string_equal(spec.loss, "nll");
    assert_true(spec_is(spec.clip, 1));
    assert_true(spec_is(spec.scale, 128));
    assert_true(spec_is(spec.hyper[HYPER_WEIGHT_DECAY], 0.1));
    assert_true(spec_is(spec.hyper[HYPER_BETA1], 0.9));
    assert_true(spec_is(spec.hyper[HYPER_BETA2], 0.95));
    assert_true(spec_is(spec.hyper[HYPER_DECOUPLED], 1));
    assert_true(update_spec_read(arena, "", &spec, NULL));
    assert_string_equal(spec.loss, "auto");
    assert_true(spec_is(spec.clip, 0));
    arena_free(arena);
}

static void names_of_all_optimizers_are_listed(void **state)
{
    (void)state;
    int n;
    const Optimizer *rows = optimizers(&n);
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(optimizer_find(str_from(rows[i].name)), &rows[i]);
        assert_ptr_equal(optimizer_of_op(rows[i].op), &rows[i]);
        assert_true(str_has_word(str_from(optimizer_names()), str_from(rows[i].name)));
    }
    assert_null(optimizer_of_op("AdamStep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers_and_the_loss),
        cmocka_unit_test(names_of_all_optimizers_are_listed),
    };
    return cmocka_run_group_tests_name("update spec", tests, NULL, NULL) +
           run_rows("update spec keeps", kept, keeps) +
           run_rows("update spec refuses", refused, refuses);
}
