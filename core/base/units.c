#include "core/base/units.h"

#include <inttypes.h>
#include <math.h>

typedef struct {
    const char *name;
    double scale;
} UnitRow;

/* Three digits behind the point below 1, two below 10, else one. */
static void put_scaled(double value, Buf *out)
{
    double size = fabs(value);
    int digits = size < 0.9995 ? 3 : size < 9.995 ? 2 : 1;
    buf_printf(out, "%.*f", digits, value);
}

/* The number, and its unit. */
static const char *put_bytes(double bytes, Buf *out)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = bytes;
    if (fabs(value) < 1024) {
        buf_printf(out, "%.0f", bytes);
        return "B";
    }
    size_t unit = 0;
    for (value /= 1024; fabs(value) >= 1023.95 && unit + 1 < sizeof names / sizeof *names; unit++)
        value /= 1024;
    buf_printf(out, "%.1f", value);
    return names[unit];
}

static const char *put_us(double us, Buf *out)
{
    double size = fabs(us);
    if (size == 0)
        buf_puts(out, "0");
    else if (size < 99.95)
        buf_printf(out, "%.1f", us);
    else
        put_scaled(us / (size < 999950 ? 1e3 : 1e6), out);
    return size < 99.95 ? "us" : size < 999950 ? "ms" : "s";
}

void units_format_bytes(int64_t bytes, Buf *out)
{
    buf_printf(out, " %s", put_bytes((double)bytes, out));
}

void units_format_us(double us, Buf *out)
{
    buf_printf(out, " %s", put_us(us, out));
}

/* Prints the unit once if both values have the same. */
static void format_pair(const char *(*put)(double, Buf *), double a, double b, const char *between,
                        Buf *out)
{
    Buf second = buf_new(out->arena);
    const char *first_unit = put(a, out), *unit = put(b, &second);

    if (strcmp(first_unit, unit) != 0)
        buf_printf(out, " %s", first_unit);
    buf_printf(out, "%s%s %s", between, second.s, unit);
}

void units_format_bytes_pair(int64_t a, int64_t b, const char *between, Buf *out)
{
    format_pair(put_bytes, (double)a, (double)b, between, out);
}

void units_format_us_pair(double a, double b, const char *between, Buf *out)
{
    format_pair(put_us, a, b, between, out);
}

void units_format_count(int64_t count, Buf *out)
{
    if (count < 0)
        buf_putc(out, '-');
    uint64_t size = count < 0 ? -(uint64_t)count : (uint64_t)count;
    uint64_t group = 1; /* the power of 1000 of the leading digits */
    while (size / group >= 1000)
        group *= 1000;
    buf_printf(out, "%" PRIu64, size / group);
    for (group /= 1000; group > 0; group /= 1000)
        buf_printf(out, ",%03" PRIu64, size / group % 1000);
}

void units_format_flops(double flops, Buf *out)
{
    static const UnitRow units[] = {
        {"EFLOP", 1e18}, {"PFLOP", 1e15}, {"TFLOP", 1e12}, {"GFLOP", 1e9}, {"MFLOP", 1e6},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(flops) >= units[i].scale / 10) {
            put_scaled(flops / units[i].scale, out);
            buf_printf(out, " %s", units[i].name);
            return;
        }
    buf_printf(out, "%.0f FLOP", flops);
}

/* Removes digits with an optional fraction from the front of *text; independent of the locale. */
static bool next_decimal(Str *text, double *out)
{
    double value = 0, scale = 1;
    size_t n_digits = 0, i = 0;
    for (; i < text->n && text->s[i] >= '0' && text->s[i] <= '9'; i++, n_digits++)
        value = 10 * value + (text->s[i] - '0');
    if (i < text->n && text->s[i] == '.')
        for (i++; i < text->n && text->s[i] >= '0' && text->s[i] <= '9'; i++, n_digits++) {
            value = 10 * value + (text->s[i] - '0');
            scale *= 10;
        }
    if (n_digits == 0 || !isfinite(value) || !isfinite(scale))
        return false;
    *out = value / scale;
    *text = str_trim((Str){text->s + i, text->n - i});
    return true;
}

static bool parse_scaled(Str text, const UnitRow *units, size_t n_units, double *out)
{
    text = str_trim(text);
    if (!next_decimal(&text, out))
        return false;
    for (size_t i = 0; i < n_units; i++)
        if (str_eq(text, str_from(units[i].name))) {
            *out *= units[i].scale;
            return true;
        }
    return false;
}

bool units_parse_bytes(Str text, int64_t *bytes)
{
    static const UnitRow units[] = {
        {"", 1},       {"B", 1},        {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},
        {"T", 0x1p40}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
        {"KB", 1e3},   {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
    };
    double value;
    if (!parse_scaled(text, units, sizeof units / sizeof *units, &value) || value >= 0x1p63)
        return false;
    *bytes = (int64_t)value;
    return true;
}

bool units_parse_us(Str text, double *us)
{
    static const UnitRow units[] = {{"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {"s", 1e6}};
    return parse_scaled(text, units, sizeof units / sizeof *units, us);
}

const char *text_bytes(Arena *arena, int64_t bytes)
{
    Buf text = buf_new(arena);

    units_format_bytes(bytes, &text);
    return text.s;
}

const char *text_us(Arena *arena, double us)
{
    Buf text = buf_new(arena);

    units_format_us(us, &text);
    return text.s;
}
