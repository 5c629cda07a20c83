#include "viz/escape.h"

#include "core/base/error.h"

static void put_character(Str text, uint32_t rune, bool markup, Buf *out)
{
    static const struct {
        uint32_t rune;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

    for (size_t i = 0; markup && i < sizeof entities / sizeof *entities; i++)
        if (rune == entities[i].rune) {
            buf_puts(out, entities[i].entity);
            return;
        }
    buf_add(out, text);
}

static int64_t count_characters(Str text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.s[i] & 0xC0) != 0x80;
    return n;
}

static void put(Str text, int limit, bool markup, Buf *out)
{
    Arena *scratch = arena_new();
    Buf printable = buf_new(scratch);
    text_printable(text, &printable);
    Str rest = buf_str(&printable);
    int64_t n = count_characters(rest), kept = n > limit ? (limit - 2) / 2 : n, at = 0;

    for (; rest.n > 0; at++) {
        uint32_t rune = 0;
        size_t bytes = str_rune(rest, &rune);
        if (at == kept && kept < n)
            buf_puts(out, "..");
        if (at < kept || at >= n - kept)
            put_character((Str){rest.s, bytes}, rune, markup, out);
        rest = (Str){rest.s + bytes, rest.n - bytes};
    }
    arena_free(scratch);
}

void escape_markup(Str text, int limit, Buf *out)
{
    put(text, limit, true, out);
}

void escape_plain(Str text, int limit, Buf *out)
{
    put(text, limit, false, out);
}
