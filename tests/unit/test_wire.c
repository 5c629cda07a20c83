#include "tests/unit/unit.h"
#include "tests/unit/proto.h"

#include "core/model/wire.h"

#include <inttypes.h>

#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

typedef struct {
    const char *name;
    Str bytes;
    const char *want; /* "NUMBER:payload bytes" of every field, or the error */
} Row;

static Row rows[] = {
    {"nothing", {NULL, 0}, ""},
    {"varint", BYTES("\x08\x96\x01"), "1:150 "},
    {"negative varint", BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), "1:-1 "},
    {"bytes", BYTES("\x12\x02hi"), "2:[2] "},
    {"fixed sizes", BYTES("\x1D\1\2\3\4\x21\1\2\3\4\5\6\7\x08"), "3:[4] 4:[8] "},
    {"large number of a field", BYTES("\xF8\xFF\xFF\xFF\x0F\x01"), "536870911:1 "},
    {"cut off in a tag", BYTES("\x80"), "byte 0, in a Test: a number is cut off or too long"},
    {"cut off in a varint", BYTES("\x08\x80\x80"),
     "byte 1, in a Test: a number is cut off or too long"},
    {"cut off in bytes", BYTES("\x12\x05hi"), "byte 2, in a Test: 5 bytes wanted, 2 left"},
    {"cut off in a fixed size", BYTES("\x1D\1\2"), "byte 1, in a Test: 4 bytes wanted, 2 left"},
    {"length past any file", BYTES("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
     "byte 11, in a Test: 18446744073709551615 bytes wanted, 0 left"},
    {"varint of 11 bytes", BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     "byte 1, in a Test: a number is cut off or too long"},
    {"varint over 64 bits", BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"),
     "byte 1, in a Test: a number is cut off or too long"},
    {"field 0", BYTES("\x00\x01"), "byte 0, in a Test: a field has no valid number"},
    {"field over 29 bits", BYTES("\x80\x80\x80\x80\x10\x01"),
     "byte 0, in a Test: a field has no valid number"},
    {"group", BYTES("\x0B\x0C"),
     "byte 1, in a Test: field 1 has wire type 3, which ONNX does not use"},
    {"no wire type", BYTES("\x0F"),
     "byte 1, in a Test: field 1 has wire type 7, which ONNX does not use"},
};

static void fields_are_taken_in_order(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    WireFile file = wire_file("x.onnx", row->bytes, &err);
    Wire wire = wire_begin(&file, "Test");
    Buf out = buf_new(arena);
    for (WireField field; wire_next(&wire, &field);)
        if (field.type == WIRE_VARINT)
            buf_printf(&out, "%u:%" PRId64 " ", field.number, (int64_t)field.varint);
        else
            buf_printf(&out, "%u:[%zu] ", field.number, field.bytes.n);
    assert_int_equal(file.failed, error_is_set(&err));
    assert_string_equal(file.failed ? err.text : out.s, row->want);
    if (file.failed) {
        assert_int_equal(err.kind, ERROR_UNREADABLE);
        assert_string_equal(err.file, "x.onnx");
    }
    arena_free(arena);
}

static void a_field_of_another_type_is_a_fault(void **state)
{
    (void)state;
    Error err = {0};
    WireFile file = wire_file("x.onnx", STR("\x08\x01\x08\x02"), &err);
    Wire wire = wire_begin(&file, "Test");
    WireField field;
    assert_true(wire_next(&wire, &field));
    assert_int_equal(wire_bytes(&wire, &field).n, 0);
    assert_string_equal(err.text, "byte 1, in a Test: field 1 has wire type 0, not 2");
    assert_false(wire_next(&wire, &field));
    assert_true(file.failed);
}

static void packed_and_single_elements_read_alike(void **state)
{
    (void)state;
    WireFile file = wire_file("x.onnx", STR("\x08\x96\x01\x0A\x03\x96\x01\x05"), NULL);
    Wire wire = wire_begin(&file, "Test");
    Arena *arena = arena_new();
    Buf all = buf_new(arena);
    for (WireField field; wire_next(&wire, &field);)
        buf_add(&all, wire_elements(&wire, &field, WIRE_VARINT));
    assert_true(str_eq(buf_str(&all), STR("\x96\x01\x96\x01\x05")));
    arena_free(arena);
}

static void packed_elements_are_whole(void **state)
{
    (void)state;
    Error err = {0};
    WireFile file = wire_file("x.onnx", STR("\x0A\x05\1\2\3\4\5"), &err);
    Wire wire = wire_begin(&file, "Test");
    WireField field;
    assert_true(wire_next(&wire, &field));
    wire_elements(&wire, &field, WIRE_FIXED32);
    assert_string_equal(err.text,
                        "byte 2, in a Test: field 1 holds 5 bytes, which is not a multiple of 4");
}

static void nesting_is_limited(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf nested = buf_new(arena);
    for (int i = 0; i < 100; i++) {
        Buf outer = buf_new(arena);
        proto_message(&outer, 1, &nested);
        nested = outer;
    }
    Error err = {0};
    WireFile file = wire_file("x.onnx", buf_str(&nested), &err);
    Wire wire = wire_begin(&file, "Test");
    int depth = 0;
    for (WireField field; wire_next(&wire, &field); depth++)
        wire = wire_message(&wire, &field, "Test");
    assert_int_equal(depth, WIRE_DEPTH_MAX + 1);
    assert_non_null(strstr(err.text, "messages are nested deeper than 64"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_of_another_type_is_a_fault),
        cmocka_unit_test(packed_and_single_elements_read_alike),
        cmocka_unit_test(packed_elements_are_whole),
        cmocka_unit_test(nesting_is_limited),
    };
    return run_rows("wire: rows", rows, fields_are_taken_in_order) +
           cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
