#include "core/base/span.h"

#include "core/base/vec.h"

struct Spans {
    Vec(TextSpan) list;
};

Buf buf_marked(Arena *arena)
{
    Buf buf = buf_new(arena);

    buf.spans = arena_make(arena, Spans);
    return buf;
}

void buf_mark(Buf *buf, size_t from, SpanRole role, int value)
{
    if (!buf->spans || buf->n <= from)
        return;
    TextSpan span = {(uint32_t)from, (uint32_t)(buf->n - from), role, value};
    vec_push(buf->arena, &buf->spans->list, span);
}

void buf_add_text(Buf *buf, Text text)
{
    uint32_t begin = (uint32_t)buf->n, end = text.at + (uint32_t)text.str.n;

    buf_add(buf, text.str);
    for (int i = 0; buf->spans && i < text.n_spans; i++) {
        TextSpan span = text.spans[i];
        uint32_t from = span.at > text.at ? span.at : text.at;
        uint32_t to = span.at + span.n < end ? span.at + span.n : end;
        if (from >= to)
            continue;
        span.at = from - text.at + begin;
        span.n = to - from;
        vec_push(buf->arena, &buf->spans->list, span);
    }
}

void buf_cut(Buf *buf, size_t n)
{
    buf->n = n;
    buf->s[n] = '\0';
    if (!buf->spans)
        return;
    while (buf->spans->list.n > 0) {
        const TextSpan *last = &buf->spans->list.at[buf->spans->list.n - 1];
        if (last->at + last->n <= n)
            break;
        buf->spans->list.n--;
    }
}

Text buf_text(const Buf *buf)
{
    Text text = {.str = buf_str(buf)};

    if (buf->spans) {
        text.spans = buf->spans->list.at;
        text.n_spans = buf->spans->list.n;
    }
    return text;
}

Text text_join(Arena *arena, const char *pattern, ...)
{
    Buf out = buf_marked(arena);
    va_list args;

    va_start(args, pattern);
    for (; *pattern; pattern++) {
        if (*pattern == '@')
            buf_add_text(&out, va_arg(args, Text));
        else
            buf_putc(&out, *pattern);
    }
    va_end(args);
    return buf_text(&out);
}

Text text_part(Text text, size_t from, size_t n)
{
    text.at += (uint32_t)from;
    text.str.n = n;
    if (from > 0) /* no text at all has no place to begin from */
        text.str.s += from;
    while (text.n_spans > 0 && text.spans->at + text.spans->n <= text.at) {
        text.spans++;
        text.n_spans--;
    }
    return text;
}

Text text_take(Text *rest, char separator)
{
    Str after = rest->str, line = str_take(&after, separator);
    Text part = text_part(*rest, 0, line.n);

    if (rest->str.n > 0)
        *rest = text_part(*rest, rest->str.n - after.n, after.n);
    return part;
}

static bool overlaps(const TextSpan *span, uint32_t from, size_t n)
{
    return span->at < from + n && span->at + span->n > from;
}

const TextSpan *text_find(Text text, SpanRole role)
{
    for (int i = 0; i < text.n_spans; i++)
        if (text.spans[i].role == role && overlaps(&text.spans[i], text.at, text.str.n))
            return &text.spans[i];
    return NULL;
}

Str text_span(Text text, const TextSpan *span)
{
    return (Str){text.str.s + span->at - text.at, span->n};
}

Text text_trim(Text text)
{
    Str trimmed = str_trim(text.str);

    return text_part(text, trimmed.n > 0 ? (size_t)(trimmed.s - text.str.s) : 0, trimmed.n);
}

bool text_take_run(Text *rest, TextRun *out)
{
    size_t n = rest->str.n;

    if (n == 0)
        return false;
    *out = (TextRun){.axis = -1, .dim = -1};
    for (int i = 0; i < rest->n_spans; i++) {
        const TextSpan *span = &rest->spans[i];
        bool axis = span->role == SPAN_AXIS || span->role == SPAN_SUM;
        if ((!axis && span->role != SPAN_DIM) || !overlaps(span, rest->at, n))
            continue;
        if (span->at > rest->at) {
            n = span->at - rest->at;
            continue;
        }
        *(axis ? &out->axis : &out->dim) = span->value;
        out->sum |= span->role == SPAN_SUM;
        if (span->at + span->n - rest->at < n)
            n = span->at + span->n - rest->at;
    }
    out->str = (Str){rest->str.s, n};
    *rest = text_part(*rest, n, rest->str.n - n);
    return true;
}
