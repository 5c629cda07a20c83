#include "tests/unit/unit.h"

#include "core/model/dtype.h"
#include "core/model/graph.h"

typedef struct {
    const char *name;
    Dtype dtype;
    int onnx, bits;
    bool is_float, is_int;
} TypeRow;

/* Numbers and sizes as ONNX's TensorProto.DataType gives them. */
static TypeRow types[] = {
    {"f32", DT_F32, 1, 32, true, false},
    {"u8", DT_U8, 2, 8, false, true},
    {"i8", DT_I8, 3, 8, false, true},
    {"u16", DT_U16, 4, 16, false, true},
    {"i16", DT_I16, 5, 16, false, true},
    {"i32", DT_I32, 6, 32, false, true},
    {"i64", DT_I64, 7, 64, false, true},
    {"str", DT_STR, 8, 64, false, false},
    {"bool", DT_BOOL, 9, 8, false, false},
    {"f16", DT_F16, 10, 16, true, false},
    {"f64", DT_F64, 11, 64, true, false},
    {"u32", DT_U32, 12, 32, false, true},
    {"u64", DT_U64, 13, 64, false, true},
    {"c64", DT_C64, 14, 64, false, false},
    {"c128", DT_C128, 15, 128, false, false},
    {"bf16", DT_BF16, 16, 16, true, false},
    {"f8e4m3fn", DT_F8E4M3FN, 17, 8, true, false},
    {"f8e5m2", DT_F8E5M2, 19, 8, true, false},
    {"u4", DT_U4, 21, 4, false, true},
    {"i4", DT_I4, 22, 4, false, true},
    {"f4e2m1", DT_F4E2M1, 23, 4, true, false},
    {"f8e8m0", DT_F8E8M0, 24, 8, true, false},
    {"u2", DT_U2, 25, 2, false, true},
    {"i2", DT_I2, 26, 2, false, true},
    {"f6e3m2", DT_F6E3M2, 28, 6, true, false},
};

static void type_is_known_by_name_and_number(void **state)
{
    const TypeRow *row = *state;
    assert_string_equal(dtype_name(row->dtype), row->name);
    assert_int_equal(dtype_from_name(str_from(row->name)), row->dtype);
    assert_int_equal(dtype_from_onnx(row->onnx), row->dtype);
    assert_int_equal(dtype_bits(row->dtype), row->bits);
    assert_int_equal(dtype_is_float(row->dtype), row->is_float);
    assert_int_equal(dtype_is_int(row->dtype), row->is_int);
    assert_int_equal(dtype_bytes(row->dtype, 8), row->bits);
}

static void what_is_no_type_is_none(void **state)
{
    (void)state;
    assert_int_equal(dtype_from_onnx(29), DT_NONE);
    assert_int_equal(dtype_from_onnx(-1), DT_NONE);
    assert_int_equal(dtype_from_name(STR("float32")), DT_NONE);
    assert_int_equal(dtype_from_name(STR("")), DT_NONE);
}

static void bytes_are_rounded_up_and_never_wrap(void **state)
{
    (void)state;
    assert_int_equal(dtype_bytes(DT_I4, 3), 2);
    assert_int_equal(dtype_bytes(DT_I4, 0), 0);
    assert_int_equal(dtype_bytes(DT_F64, (INT64_C(1) << 60) - 1), 8 * ((INT64_C(1) << 60) - 1));
    assert_int_equal(dtype_bytes(DT_C128, INT64_C(1) << 60), INT64_MAX);
}

/* ---- elements ---- */

#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

typedef struct {
    const char *name;
    DataForm form;
    Dtype dtype;
    Str bytes;
    int64_t n_elements;
    const char *want; /* the elements as integers, or the error */
} DataRow;

static DataRow data_rows[] = {
    {"raw i32", DATA_RAW, DT_I32, BYTES("\1\0\0\0\xFE\xFF\xFF\xFF"), 2, "1 -2"},
    {"raw i8", DATA_RAW, DT_I8, BYTES("\xFF\x01"), 2, "-1 1"},
    {"raw i4", DATA_RAW, DT_I4, BYTES("\x8F\x07"), 3, "-1 -8 7"},
    {"raw u4", DATA_RAW, DT_U4, BYTES("\x8F\x07"), 3, "15 8 7"},
    {"raw nothing", DATA_RAW, DT_I64, {NULL, 0}, 0, ""},
    {"raw short", DATA_RAW, DT_I32, BYTES("\1\0\0"), 1,
     "1 elements of i32 take 4 bytes, there are 3"},
    {"varints i64", DATA_VARINTS, DT_I64, BYTES("\x05\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), 2,
     "5 -1"},
    {"varints i32", DATA_VARINTS, DT_I32, BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), 1,
     "-1"},
    {"varints bool", DATA_VARINTS, DT_BOOL, BYTES("\x01\x00\x01"), 3, "1 0 1"},
    {"raw i2", DATA_RAW, DT_I2, BYTES("\x1B\x02"), 5, "-1 -2 1 0 -2"},
    {"raw u2", DATA_RAW, DT_U2, BYTES("\x1B"), 4, "3 2 1 0"},
    {"varints of four i2", DATA_VARINTS, DT_I2, BYTES("\x1B\x02"), 5, "-1 -2 1 0 -2"},
    {"varints of two i4", DATA_VARINTS, DT_I4, BYTES("\x8F\x01\x07"), 3, "-1 -8 7"},
    {"varints few", DATA_VARINTS, DT_I64, BYTES("\x01"), 2, "2 numbers wanted, there are 1"},
    {"varints many", DATA_VARINTS, DT_I64, BYTES("\x01\x02"), 1, "more numbers than the 1 wanted"},
    {"varint cut off", DATA_VARINTS, DT_I64, BYTES("\x81"), 1, "1 numbers wanted, there are 0"},
    {"strings", DATA_STRINGS, DT_STR, {NULL, 0}, 1, "strings cannot be computed with"},
    {"absent", DATA_ABSENT, DT_F32, {NULL, 0}, 1, "the elements are not in the model file"},
};

static int64_t element(const void *elements, Dtype dtype, int i)
{
    if (dtype == DT_I64)
        return ((const int64_t *)elements)[i];
    if (dtype == DT_I32)
        return ((const int32_t *)elements)[i];
    return ((const int8_t *)elements)[i];
}

static void elements_are_read(void **state)
{
    const DataRow *row = *state;
    Arena *arena = arena_new();
    TensorData data = {.form = row->form, .bytes = row->bytes};
    Error err = {0};
    Buf out = buf_new(arena);
    int64_t elements[4] = {0};
    if (data_read(&data, row->dtype, row->n_elements, elements, &err))
        for (int i = 0; i < row->n_elements; i++)
            buf_printf(&out, "%s%d", i > 0 ? " " : "", (int)element(elements, row->dtype, i));
    else
        buf_puts(&out, err.text);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_type_is_none),
        cmocka_unit_test(bytes_are_rounded_up_and_never_wrap),
    };
    return run_rows("dtype: types", types, type_is_known_by_name_and_number) +
           run_rows("dtype: elements", data_rows, elements_are_read) +
           cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
