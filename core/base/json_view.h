/* json_view.h - large JSON read in place: a table of where values are, texts as views.
 *
 * One pass over the text, about as fast as it is read from memory; json.h builds a tree and takes
 * ten times as long. A value is an index into the table: the members of a container follow it, and
 * the value of an object's member follows its key. -1 is an absent value; every function accepts
 * it.
 */
#ifndef CORE_BASE_JSON_VIEW_H
#define CORE_BASE_JSON_VIEW_H

#include "core/base/error.h"

typedef struct {
    uint32_t at;   /* offset of the value's first byte; for a text, of the byte after the quote */
    uint32_t n;    /* bytes of a text, number or word; members or items of a container */
    uint32_t next; /* index of the value after this one */
    char kind;     /* { [ " # of a number; t f n of a word */
    bool escaped;  /* a text with backslashes */
} JsonPlace;

typedef struct {
    const Source *source;
    int32_t n;
    const JsonPlace *places; /* the first is the root */
} JsonView;

enum { JSON_VIEW_BYTES_MAX = 1 << 30, JSON_VIEW_DEPTH_MAX = 256 };

/* Returns false, with the place in *err, on a syntax error, on JSON that is too deep or too large,
 * and on bytes after the end. The view and its texts live as long as arena and source. */
bool json_view_read(Arena *arena, const Source *source, JsonView *out, Error *err);

static inline char json_view_kind(const JsonView *view, int32_t value)
{
    return value < 0 ? '\0' : view->places[value].kind;
}

int json_view_size(const JsonView *view, int32_t value); /* members or items; 0 for other kinds */
int32_t json_view_get(const JsonView *view, int32_t object, const char *key); /* -1: absent */
/* The first item of an array, or the first key of an object; -1 if there is none. A key's value is
 * the next index. */
int32_t json_view_first(const JsonView *view, int32_t container);
/* The item or key of the container that follows this one. */
int32_t json_view_next(const JsonView *view, int32_t container, int32_t item);

/* The text without escapes: a view, or a copy in the arena if the text has escapes. "" for a value
 * of another kind. */
Str json_view_str(const JsonView *view, int32_t value, Arena *arena);
Str json_view_raw(const JsonView *view, int32_t value);                   /* as it is in the file */
bool json_view_is(const JsonView *view, int32_t value, const char *text); /* it is that text */
bool json_view_int(const JsonView *view, int32_t value, int64_t *out);    /* false: another kind */
bool json_view_real(const JsonView *view, int32_t value, double *out);    /* integers too */
bool json_view_bool(const JsonView *view, int32_t value, bool fallback);

/* Sets *err to the message and the value's place. Returns false. */
bool json_view_fail(const JsonView *view, int32_t value, Error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define json_view_each(item, view, container)                                                      \
    for (int32_t item = json_view_first(view, container); item >= 0;                               \
         item = json_view_next(view, container, item))

#endif
