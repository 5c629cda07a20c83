/* span.h - marks in a text: which of its bytes name a mesh axis, belong to a dim, are a heading.
 *
 * The code that writes a text knows what its parts stand for, and marks them as it writes:
 *
 *     Buf out = buf_marked(arena);
 *     size_t from = out.n;
 *     buf_puts(&out, axis->name);
 *     buf_mark(&out, from, SPAN_AXIS, number);
 *     Text text = buf_text(&out);
 *
 * Screens, drawings and pages colour what the marks say and never search the text, so an axis
 * called "all" colours no other word "all". A Buf from buf_new() keeps no marks, and buf_mark()
 * does nothing there.
 */
#ifndef CORE_BASE_SPAN_H
#define CORE_BASE_SPAN_H

#include "core/base/str.h"

typedef enum {
    SPAN_AXIS,  /* the name of a mesh axis; value: which one */
    SPAN_PART,  /* ":(2)4" after an axis name: a part of the axis */
    SPAN_DIM,   /* one dim of a sharding, with the axes that shard it; value: which dim */
    SPAN_HEAD,  /* a line that is a heading */
    SPAN_STEP,  /* the number of a step in a chain of reasons */
    SPAN_PLACE, /* "megatron.lua:14"; value: the line */
    SPAN_SUM,   /* the sum mark before an axis; value: which one */
    SPAN_NAME,  /* the name of the line's subject: an action, a tensor */
    SPAN_ITEM,  /* where an item of a list begins; value: which one */
    SPAN_TERM   /* a part of a formula that a line break may follow */
} SpanRole;

typedef struct {
    uint32_t at, n; /* bytes */
    SpanRole role;
    int value; /* of roles that have one */
} TextSpan;

/* A text with its marks: a view, like Str. A part of a text shares the marks of the whole. */
typedef struct {
    Str str;
    const TextSpan *spans; /* in the order of their ends */
    int n_spans;
    uint32_t at; /* where str begins in the text that the spans count from */
} Text;

/* A stretch of text whose bytes all belong to one axis or none, and to one dim or none. */
typedef struct {
    Str str;
    int axis, dim; /* -1: none */
    bool sum;      /* the sum mark before that axis */
} TextRun;

Buf buf_marked(Arena *arena);
/* Marks what was written since the Buf had `from` bytes. */
void buf_mark(Buf *buf, size_t from, SpanRole role, int value);
void buf_add_text(Buf *buf, Text text);
/* Makes a text from a pattern in which each @ stands for the next argument, a Text: "@ on @". */
Text text_join(Arena *arena, const char *pattern, ...);
void buf_cut(Buf *buf, size_t n); /* back to n bytes; drops the marks after them */
Text buf_text(const Buf *buf);

static inline Text text_of(Str str)
{
    return (Text){.str = str};
}
static inline Text text_from(const char *s)
{
    return text_of(str_from(s));
}

Text text_part(Text text, size_t from, size_t n);
Text text_take(Text *rest, char separator); /* as str_take() */
Text text_trim(Text text);
/* text_find() returns the first mark of that role in the text, or NULL; text_span() the text that a
 * mark covers. */
const TextSpan *text_find(Text text, SpanRole role);
Str text_span(Text text, const TextSpan *span);
bool text_take_run(Text *rest, TextRun *out); /* false at the end of the text */

#endif
