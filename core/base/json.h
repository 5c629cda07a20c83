/* json.h - reading and writing JSON; json.c is the only code that includes jansson.
 *
 * A value belongs to the tree it is put into. json_parse() returns a root that json_free() frees;
 * a tree being built is freed by json_free() of its root, also after json_write(). Integers stay
 * exact in 64 bits. Readers return a fallback if the key is absent or of another type; call
 * json_is_*() first if that matters.
 */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

#include "core/base/error.h"

typedef struct json_t Json;

/* jansson has functions of these names, so ours have other names for the linker. */
#define json_object json_new_object
#define json_array json_new_array
#define json_null json_new_null
#define json_copy json_new_copy
#define json_real json_to_real

Json *json_parse(const Source *source, Error *err); /* NULL: syntax error, duplicate key, overflow,
                                                       too deep */
void json_free(Json *root);                         /* NULL is allowed */
void json_write(const Json *root, Buf *out);        /* one line, keys in the order they were set */
void json_write_pretty(const Json *root, Buf *out); /* two spaces */

bool json_is_object(const Json *value);
bool json_is_array(const Json *value);
bool json_is_string(const Json *value);
bool json_is_int(const Json *value);
bool json_is_number(const Json *value);
bool json_is_bool(const Json *value);
bool json_is_null(const Json *value); /* JSON null; NULL (absent) is not */

Json *json_get(const Json *object, const char *key); /* NULL if absent */
int json_size(const Json *value);                    /* members or items, 0 for other kinds */
Json *json_at(const Json *array, int i);
const char *json_key_at(const Json *object, int i); /* i-th key in order; linear */
/* The key after `key`, or the first one if `key` is NULL; NULL after the last. */
const char *json_key_after(const Json *object, const char *key);
Str json_str(const Json *value, const char *fallback);
int64_t json_int(const Json *value, int64_t fallback);
double json_real(const Json *value, double fallback);
bool json_bool(const Json *value, bool fallback);

Json *json_object(void);
Json *json_array(void);
Json *json_from_str(Str text); /* broken UTF-8 is made printable */
Json *json_from_int(int64_t value);
Json *json_from_real(double value); /* null if not finite */
Json *json_from_bool(bool value);
Json *json_null(void);
Json *json_copy(const Json *value);                        /* deep */
void json_set(Json *object, const char *key, Json *value); /* takes value */
void json_add(Json *array, Json *value);                   /* takes value */

static inline void json_set_int(Json *o, const char *key, int64_t v)
{
    json_set(o, key, json_from_int(v));
}
static inline void json_set_real(Json *o, const char *key, double v)
{
    json_set(o, key, json_from_real(v));
}
static inline void json_set_bool(Json *o, const char *key, bool v)
{
    json_set(o, key, json_from_bool(v));
}
static inline void json_set_str(Json *o, const char *key, const char *v)
{
    json_set(o, key, json_from_str(str_from(v)));
}
Json *json_ints(const int64_t *values, int n); /* [1,2,3] */

#endif
