#include "core/model/wire.h"

#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie");

enum { VARINT_BYTES_MAX = 10 };

WireFile wire_file(const char *name, Str bytes, Error *err)
{
    return (WireFile){.name = name, .bytes = bytes.s ? bytes : STR(""), .err = err};
}

Wire wire_begin(WireFile *file, const char *message)
{
    const char *at = file->bytes.s;
    return (Wire){.file = file, .at = at, .end = at + file->bytes.n, .name = message};
}

bool wire_fail(Wire *wire, const char *at, const char *format, ...)
{
    WireFile *file = wire->file;
    if (file->failed)
        return false;
    file->failed = true;

    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_kind(file->err, ERROR_UNREADABLE, "byte %zu, in a %s: %s", (size_t)(at - file->bytes.s),
               wire->name, text);
    error_in_file(file->err, file->name);
    return false;
}

bool wire_take_varint(Str *text, uint64_t *value)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < text->n && i < VARINT_BYTES_MAX; i++) {
        uint64_t byte = (unsigned char)text->s[i];
        bits |= (byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            if (i == VARINT_BYTES_MAX - 1 && byte > 1)
                return false;
            *text = (Str){text->s + i + 1, text->n - i - 1};
            *value = bits;
            return true;
        }
    }
    return false;
}

static bool next_varint(Wire *wire, uint64_t *value)
{
    Str left = {wire->at, (size_t)(wire->end - wire->at)};
    if (!wire_take_varint(&left, value))
        return wire_fail(wire, wire->at, "a number is cut off or too long");
    wire->at = left.s;
    return true;
}

static bool next_bytes(Wire *wire, uint64_t n, Str *out)
{
    size_t left = (size_t)(wire->end - wire->at);
    if (n > left)
        return wire_fail(wire, wire->at, "%llu bytes wanted, %zu left", (unsigned long long)n,
                         left);
    *out = (Str){wire->at, (size_t)n};
    wire->at += n;
    return true;
}

static bool next_payload(Wire *wire, WireField *field)
{
    const char *start = wire->at;
    switch (field->type) {
    case WIRE_VARINT:
        if (!next_varint(wire, &field->varint))
            return false;
        field->bytes = (Str){start, (size_t)(wire->at - start)};
        return true;
    case WIRE_FIXED64:
        return next_bytes(wire, 8, &field->bytes);
    case WIRE_FIXED32:
        return next_bytes(wire, 4, &field->bytes);
    case WIRE_BYTES: {
        uint64_t n = 0;
        return next_varint(wire, &n) && next_bytes(wire, n, &field->bytes);
    }
    }
    return wire_fail(wire, start, "field %u has wire type %d, which ONNX does not use",
                     field->number, (int)field->type);
}

bool wire_next(Wire *wire, WireField *field)
{
    if (wire->file->failed || wire->at == wire->end)
        return false;
    const char *start = wire->at;
    uint64_t tag = 0;
    if (!next_varint(wire, &tag))
        return false;
    if (tag >> 3 == 0 || tag > UINT32_MAX)
        return wire_fail(wire, start, "a field has no valid number");
    *field = (WireField){.number = (uint32_t)(tag >> 3), .type = (WireType)(tag & 7)};
    return next_payload(wire, field);
}

static bool check_type(Wire *wire, const WireField *field, WireType type)
{
    return field->type == type ||
           wire_fail(wire, field->bytes.s, "field %u has wire type %d, not %d", field->number,
                     (int)field->type, (int)type);
}

int64_t wire_int(Wire *wire, const WireField *field)
{
    return check_type(wire, field, WIRE_VARINT) ? (int64_t)field->varint : 0;
}

float wire_float(Wire *wire, const WireField *field)
{
    float value = 0;
    if (check_type(wire, field, WIRE_FIXED32))
        memcpy(&value, field->bytes.s, sizeof value);
    return value;
}

Str wire_bytes(Wire *wire, const WireField *field)
{
    return check_type(wire, field, WIRE_BYTES) ? field->bytes : STR("");
}

Wire wire_message(Wire *wire, const WireField *field, const char *message)
{
    Str bytes = wire_bytes(wire, field);
    if (wire->depth == WIRE_DEPTH_MAX)
        wire_fail(wire, field->bytes.s, "messages are nested deeper than %d", WIRE_DEPTH_MAX);
    return (Wire){.file = wire->file,
                  .at = bytes.s,
                  .end = bytes.s + bytes.n,
                  .name = message,
                  .depth = wire->depth + 1};
}

Str wire_elements(Wire *wire, const WireField *field, WireType element)
{
    if (field->type == element)
        return field->bytes;
    Str bytes = wire_bytes(wire, field);
    size_t size = element == WIRE_FIXED32 ? 4 : element == WIRE_FIXED64 ? 8 : 1;
    if (bytes.n % size != 0)
        wire_fail(wire, field->bytes.s, "field %u holds %zu bytes, which is not a multiple of %zu",
                  field->number, bytes.n, size);
    return bytes;
}

/* ---- writing ---- */

void wire_put_varint(Buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_putc(out, (char)(value | 0x80));
    buf_putc(out, (char)value);
}

void wire_put_int(Buf *out, uint32_t field, int64_t value)
{
    wire_put_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
    wire_put_varint(out, (uint64_t)value);
}

void wire_put_float(Buf *out, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    wire_put_varint(out, (uint64_t)field << 3 | WIRE_FIXED32);
    for (int i = 0; i < 4; i++)
        buf_putc(out, (char)(bits >> 8 * i));
}

void wire_put_bytes(Buf *out, uint32_t field, Str bytes)
{
    wire_put_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    wire_put_varint(out, bytes.n);
    buf_add(out, bytes);
}

Str wire_entry(Wire wire, Str *value)
{
    Str key = *value = STR("");
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            key = wire_bytes(&wire, &field);
        else if (field.number == 2)
            *value = wire_bytes(&wire, &field);
    return key;
}
