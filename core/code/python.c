#include "core/code/python.h"

#include <inttypes.h>

/* Of Python 3. */
static const char keywords[] =
    "False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda nonlocal not or pass raise return try while "
    "with yield";

static void put_rune(uint32_t rune, Buf *out)
{
    if (rune == '\n')
        buf_puts(out, "\\n");
    else if (rune == '\r')
        buf_puts(out, "\\r");
    else if (rune == '\t')
        buf_puts(out, "\\t");
    else if (rune < 0x20 || rune == 0x7F)
        buf_printf(out, "\\x%02" PRIx32, rune);
    else if (rune < 0x7F)
        buf_putc(out, (char)rune);
    else if (rune <= 0xFFFF)
        buf_printf(out, "\\u%04" PRIx32, rune);
    else
        buf_printf(out, "\\U%08" PRIx32, rune);
}

/* `slash`: how a backslash is written. */
static void put(Str text, const char *slash, bool quotes, Buf *out)
{
    while (text.n > 0) {
        uint32_t rune = 0;
        size_t n = str_rune(text, &rune);
        if (n == 0) {
            n = 1;
            buf_printf(out, "%sx%02x", slash, (unsigned)(unsigned char)text.s[0]);
        } else if (rune == '\\') {
            buf_puts(out, slash);
        } else if (rune == '"' && quotes) {
            buf_puts(out, "\\\"");
        } else {
            put_rune(rune, out);
        }
        text = (Str){text.s + n, text.n - n};
    }
}

void python_text(Str text, Buf *out)
{
    put(text, "\\\\", true, out);
}

void python_string(Str text, Buf *out)
{
    buf_putc(out, '"');
    python_text(text, out);
    buf_putc(out, '"');
}

void python_comment(Str text, Buf *out)
{
    put(text, "\\", false, out);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void python_identifier(Str text, Buf *out)
{
    if (text.n == 0 || is_digit(text.s[0]))
        buf_putc(out, '_');
    for (size_t i = 0; i < text.n; i++)
        buf_putc(out, is_letter(text.s[i]) || is_digit(text.s[i]) ? text.s[i] : '_');
    if (str_has_word(str_from(keywords), text))
        buf_putc(out, '_');
}

void python_tuple_end(int64_t n, Buf *out)
{
    buf_puts(out, n == 1 ? ",)" : ")");
}

static bool is_identifier(Arena *arena, Str name)
{
    Buf identifier = buf_new(arena);
    python_identifier(name, &identifier);
    return str_eq(name, buf_str(&identifier));
}

void python_module(Str path, Buf *out)
{
    bool plain = true;
    for (Str rest = path; rest.n > 0;)
        plain &= is_identifier(out->arena, str_take(&rest, '.'));
    buf_puts(out, path.n == 0 ? "model" : plain ? "model." : "model.get_submodule(");
    if (plain)
        buf_add(out, path);
    else
        python_string(path, out);
    buf_puts(out, plain ? "" : ")");
}

void python_parameter(Str name, Buf *out)
{
    Str owner = name;
    while (owner.n > 0 && owner.s[owner.n - 1] != '.')
        owner.n--;
    Str last = {name.s + owner.n, name.n - owner.n};
    python_module((Str){owner.s, owner.n > 0 ? owner.n - 1 : 0}, out);
    buf_putc(out, '.');
    python_identifier(last, out);
}
