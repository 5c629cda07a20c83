#include "tests/unit/unit.h"

#include "core/base/units.h"

typedef struct {
    const char *name;
    void (*format)(double value, Buf *out);
    double value;
    const char *want;
} FormatRow;

static void bytes(double value, Buf *out)
{
    units_format_bytes((int64_t)value, out);
}

static void count(double value, Buf *out)
{
    units_format_count((int64_t)value, out);
}

static FormatRow format_rows[] = {
    {"no bytes", bytes, 0, "0 B"},
    {"bytes", bytes, 768, "768 B"},
    {"last of bytes", bytes, 1023, "1023 B"},
    {"kibibyte", bytes, 1024, "1.0 KiB"},
    {"mebibytes", bytes, 12 * 0x1p20, "12.0 MiB"},
    {"rounds into the next unit", bytes, 0x1p20 - 1, "1.0 MiB"},
    {"gibibytes", bytes, 79993651200, "74.5 GiB"},
    {"most bytes", bytes, 0x1p62, "4.0 EiB"},
    {"fewer bytes", bytes, -2048, "-2.0 KiB"},
    {"no time", units_format_us, 0, "0 us"},
    {"microseconds", units_format_us, 12, "12.0 us"},
    {"less than a microsecond", units_format_us, 0.6, "0.6 us"},
    {"a part of a millisecond", units_format_us, 515, "0.515 ms"},
    {"first millisecond", units_format_us, 100, "0.100 ms"},
    {"rounds to one", units_format_us, 999.7, "1.00 ms"},
    {"milliseconds", units_format_us, 2550, "2.55 ms"},
    {"many milliseconds", units_format_us, 563300, "563.3 ms"},
    {"seconds", units_format_us, 1.5e6, "1.50 s"},
    {"many seconds", units_format_us, 102e6, "102.0 s"},
    {"count", count, 124439808, "124,439,808"},
    {"small count", count, 7, "7"},
    {"zeros inside", count, 1000005, "1,000,005"},
    {"negative count", count, -1234, "-1,234"},
    {"least count", count, -0x1p63, "-9,223,372,036,854,775,808"},
    {"work", units_format_flops, 137e9, "0.137 TFLOP"},
    {"little work", units_format_flops, 250, "250 FLOP"},
    {"more work", units_format_flops, 2.5e6, "2.50 MFLOP"},
};

static void formats(void **state)
{
    const FormatRow *row = *state;
    Arena *arena = arena_new();
    Buf out = buf_new(arena);
    row->format(row->value, &out);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

typedef struct {
    const char *name, *text;
    double want; /* -1: refused */
} ParseRow;

static ParseRow byte_rows[] = {
    {"binary", "74GiB", 74 * 0x1p30},
    {"binary, short", "80G", 80 * 0x1p30},
    {"decimal", "80GB", 80e9},
    {"bytes", "512", 512},
    {"blanks", " 1.5 KiB ", 1536},
    {"fraction only", ".5K", 512},
    {"unknown unit", "5 furlongs", -1},
    {"no number", "GiB", -1},
    {"nothing", "", -1},
    {"negative", "-5", -1},
    {"two points", "1.2.3", -1},
    {"too many", "9000000TiB", -1},
    {"far too many", "9999999999999999999999999999999999999999", -1},
};

static void parses_bytes(void **state)
{
    const ParseRow *row = *state;
    int64_t value = -1;
    assert_int_equal(units_parse_bytes(str_from(row->text), &value), row->want >= 0);
    assert_true((double)value == row->want);
}

static ParseRow us_rows[] = {
    {"milliseconds", "5ms", 5000},  {"microseconds", "12us", 12}, {"seconds", "1.5s", 1.5e6},
    {"nanoseconds", "500 ns", 0.5}, {"no unit", "5", -1},         {"minutes", "5m", -1},
};

static void parses_times(void **state)
{
    const ParseRow *row = *state;
    double value = -1;
    assert_int_equal(units_parse_us(str_from(row->text), &value), row->want >= 0);
    assert_true(row->want < 0 || value == row->want);
}

int main(void)
{
    return run_rows("units_format", format_rows, formats) +
           run_rows("units_parse_bytes", byte_rows, parses_bytes) +
           run_rows("units_parse_us", us_rows, parses_times);
}
