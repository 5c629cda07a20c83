/* proto.h - writes protobuf's wire format, for tests that make their own ONNX files.
 *
 *     Buf dim = buf_new(arena);
 *     proto_text(&dim, 2, "batch");          field 2 of a Dimension: its name
 *     proto_message(&shape, 1, &dim);        field 1 of a TensorShapeProto: a dim
 */
#ifndef TESTS_UNIT_PROTO_H
#define TESTS_UNIT_PROTO_H

#include "core/base/str.h"

static inline void proto_varint(Buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_putc(out, (char)(value | 0x80));
    buf_putc(out, (char)value);
}

static inline void proto_int(Buf *out, uint32_t field, int64_t value)
{
    proto_varint(out, field << 3 | 0);
    proto_varint(out, (uint64_t)value);
}

static inline void proto_bytes(Buf *out, uint32_t field, Str bytes)
{
    proto_varint(out, field << 3 | 2);
    proto_varint(out, bytes.n);
    buf_add(out, bytes);
}

static inline void proto_text(Buf *out, uint32_t field, const char *text)
{
    proto_bytes(out, field, str_from(text));
}

static inline void proto_message(Buf *out, uint32_t field, const Buf *message)
{
    proto_bytes(out, field, buf_str(message));
}

static inline void proto_fixed32(Buf *out, uint32_t field, float value)
{
    proto_varint(out, field << 3 | 5);
    buf_add(out, (Str){(const char *)&value, sizeof value});
}

#endif
