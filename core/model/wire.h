/* wire.h - protobuf's wire format, read in place: fields of a message, one after the other.
 *
 *     WireFile file = wire_file(name, bytes, err);
 *     for (Wire wire = wire_begin(&file, "ModelProto"); wire_next(&wire, &field);)
 *         switch (field.number) { case 7: read_graph(wire_message(&wire, &field, "GraphProto")); }
 *     return !file.failed;
 *
 * Nothing is copied: the content of a field is a view of the file's bytes. The first fault sets
 * `failed` and the error, with the offset and the message it is in; from then on wire_next()
 * returns false for every message of the file, so loops end by themselves and only the end of
 * reading needs a check. Field layout as in protobuf's "Encoding" page; groups (wire types 3 and 4)
 * are not in ONNX.
 */
#ifndef CORE_MODEL_WIRE_H
#define CORE_MODEL_WIRE_H

#include "core/base/error.h"

enum { WIRE_DEPTH_MAX = 64 };

typedef enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 } WireType;

typedef struct {
    const char *name;
    Str bytes;
    Error *err;
    bool failed;
} WireFile;

typedef struct {
    WireFile *file;
    const char *at, *end;
    const char *name; /* of the message's type, for errors */
    int depth;
} Wire;

typedef struct {
    uint32_t number;
    WireType type;
    uint64_t varint; /* of a WIRE_VARINT */
    Str bytes;       /* the payload as it is in the file, of any wire type */
} WireField;

WireFile wire_file(const char *name, Str bytes, Error *err);
Wire wire_begin(WireFile *file, const char *message); /* the whole file as one message */

/* The next field; false at the end and after a fault. */
bool wire_next(Wire *wire, WireField *field);

/* Reads a field as the given type; a field of another type is a fault, and the result is then 0,
 * empty or an empty message. */
int64_t wire_int(Wire *wire, const WireField *field);
float wire_float(Wire *wire, const WireField *field);
Str wire_bytes(Wire *wire, const WireField *field);
Wire wire_message(Wire *wire, const WireField *field, const char *message);
/* The key and *value of a StringStringEntryProto. */
Str wire_entry(Wire wire, Str *value);

/* The elements of a repeated number field, packed (one run of bytes) or not (one field each): in
 * both cases their encodings are concatenated. Checks that the length is a multiple of fixed sizes.
 */
Str wire_elements(Wire *wire, const WireField *field, WireType element);

/* Removes one varint from the front of text; false when it is truncated or longer than 64 bits. */
bool wire_take_varint(Str *text, uint64_t *value);

/* Reports a fault at `at`, a place in the file. */
bool wire_fail(Wire *wire, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- writing ---- */

void wire_put_varint(Buf *out, uint64_t value);
void wire_put_int(Buf *out, uint32_t field, int64_t value);
void wire_put_float(Buf *out, uint32_t field, float value);
void wire_put_bytes(Buf *out, uint32_t field, Str bytes); /* texts and messages too */

#endif
