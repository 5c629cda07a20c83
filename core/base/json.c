/* jansson's header comes first: it defines some names of json.h differently. They are undefined
 * here, and the needed ones are kept under other names. */
#include <jansson.h>

static json_t *jansson_object(void)
{
    return json_object();
}

static json_t *jansson_array(void)
{
    return json_array();
}

static json_t *jansson_null(void)
{
    return json_null();
}

static json_t *jansson_real(double value)
{
    return json_real(value);
}

#undef json_is_object
#undef json_is_array
#undef json_is_string
#undef json_is_number
#undef json_is_null

#include "core/base/json.h"

#include "core/base/memory.h"
#include "core/base/text.h"

/* jansson leaves out what it has no memory for. */
__attribute__((constructor)) static void give_memory(void)
{
    json_set_alloc_funcs(memory_take, free);
}

static bool is_a(const Json *value, json_type type)
{
    return value && json_typeof(value) == type;
}

Json *json_parse(const Source *source, Error *err)
{
    json_error_t cause;
    Json *root = json_loadb(source->text.s ? source->text.s : "", source->text.n,
                            JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &cause);
    if (root)
        return root;
    enum json_error_code code = json_error_code(&cause);
    ErrorKind kind = code == json_error_duplicate_key      ? ERROR_DUPLICATE
                     : code == json_error_numeric_overflow ? ERROR_OUT_OF_RANGE
                                                           : ERROR_SYNTAX;
    error_kind(err, kind, "JSON: %s", cause.text);
    error_at(err, source, cause.position > 0 ? (size_t)cause.position - 1 : 0);
    return NULL;
}

void json_free(Json *root)
{
    json_decref(root);
}

/* In a JSON text only strings hold what is not shown: it is escaped there. */
static void put_escaped(uint32_t rune, Buf *out)
{
    if (rune > 0xffff) {
        rune -= 0x10000;
        buf_printf(out, "\\u%04x", (unsigned)(0xd800 + (rune >> 10)));
        rune = 0xdc00 + (rune & 0x3ff);
    }
    buf_printf(out, "\\u%04x", (unsigned)rune);
}

/* Pieces of the text end where characters do. */
static int append(const char *bytes, size_t n, void *buf)
{
    Str rest = {bytes, n};
    size_t plain = 0;
    while (plain < rest.n) {
        uint32_t rune;
        size_t n_rune;
        unsigned char c = (unsigned char)rest.s[plain];
        bool shown = c < 0x7f || text_rune((Str){rest.s + plain, rest.n - plain}, &rune, &n_rune);
        if (shown) {
            plain += c < 0x7f ? 1 : n_rune;
            continue;
        }
        buf_add(buf, (Str){rest.s, plain});
        rest = (Str){rest.s + plain, rest.n - plain};
        put_escaped(str_take_rune(&rest), buf);
        plain = 0;
    }
    buf_add(buf, rest);
    return 0;
}

/* 15 digits, so that 0.1 is printed as 0.1; 17 digits would be needed to tell every double from its
 * neighbours. */
void json_write(const Json *root, Buf *out)
{
    json_dump_callback(root, append, out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

void json_write_pretty(const Json *root, Buf *out)
{
    json_dump_callback(root, append, out,
                       JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    buf_putc(out, '\n');
}

bool json_is_object(const Json *value)
{
    return is_a(value, JSON_OBJECT);
}

bool json_is_array(const Json *value)
{
    return is_a(value, JSON_ARRAY);
}

bool json_is_string(const Json *value)
{
    return is_a(value, JSON_STRING);
}

bool json_is_int(const Json *value)
{
    return is_a(value, JSON_INTEGER);
}

bool json_is_number(const Json *value)
{
    return is_a(value, JSON_INTEGER) || is_a(value, JSON_REAL);
}

bool json_is_bool(const Json *value)
{
    return is_a(value, JSON_TRUE) || is_a(value, JSON_FALSE);
}

bool json_is_null(const Json *value)
{
    return is_a(value, JSON_NULL);
}

Json *json_get(const Json *object, const char *key)
{
    return json_object_get(object, key);
}

int json_size(const Json *value)
{
    return (int)(json_is_object(value) ? json_object_size(value) : json_array_size(value));
}

Json *json_at(const Json *array, int i)
{
    return i < 0 ? NULL : json_array_get(array, (size_t)i);
}

const char *json_key_at(const Json *object, int i)
{
    if (i < 0 || i >= json_size(object) || !json_is_object(object))
        return NULL;
    Json *unread = (Json *)(uintptr_t)object; /* jansson's iterators need a non-const pointer */
    void *at = json_object_iter(unread);
    while (i-- > 0)
        at = json_object_iter_next(unread, at);
    return json_object_iter_key(at);
}

const char *json_key_after(const Json *object, const char *key)
{
    if (!json_is_object(object))
        return NULL;
    Json *unread = (Json *)(uintptr_t)object;
    void *at = key ? json_object_iter_next(unread, json_object_iter_at(unread, key))
                   : json_object_iter(unread);
    return at ? json_object_iter_key(at) : NULL;
}

Str json_str(const Json *value, const char *fallback)
{
    if (!json_is_string(value))
        return str_from(fallback);
    return (Str){json_string_value(value), json_string_length(value)};
}

int64_t json_int(const Json *value, int64_t fallback)
{
    return json_is_int(value) ? json_integer_value(value) : fallback;
}

double json_real(const Json *value, double fallback)
{
    return json_is_number(value) ? json_number_value(value) : fallback;
}

bool json_bool(const Json *value, bool fallback)
{
    return json_is_bool(value) ? is_a(value, JSON_TRUE) : fallback;
}

Json *json_object(void)
{
    return jansson_object();
}

Json *json_array(void)
{
    return jansson_array();
}

Json *json_from_str(Str text)
{
    Json *value = json_stringn(text.n > 0 ? text.s : "", text.n);
    if (value)
        return value;
    Arena *arena = arena_new();
    Buf shown = buf_new(arena);
    text_printable(text, &shown);
    value = json_stringn(shown.s, shown.n);
    arena_free(arena);
    return value;
}

Json *json_from_int(int64_t value)
{
    return json_integer(value);
}

Json *json_from_real(double value)
{
    Json *real = jansson_real(value); /* NULL when not finite */
    return real ? real : jansson_null();
}

Json *json_from_bool(bool value)
{
    return value ? json_true() : json_false();
}

Json *json_null(void)
{
    return jansson_null();
}

Json *json_copy(const Json *value)
{
    return json_deep_copy(value);
}

void json_set(Json *object, const char *key, Json *value)
{
    json_incref(value);
    if (json_object_set_new(object, key, value) == 0) {
        json_decref(value);
        return;
    }
    Arena *arena = arena_new(); /* the key is no UTF-8 */
    Buf shown = buf_new(arena);
    text_printable(str_from(key), &shown);
    json_object_set_new(object, shown.s, value);
    arena_free(arena);
}

void json_add(Json *array, Json *value)
{
    json_array_append_new(array, value);
}

Json *json_ints(const int64_t *values, int n)
{
    Json *array = jansson_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}
