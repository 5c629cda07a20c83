#include "core/base/str.h"

#include <stdlib.h>

#include <assert.h>
#include <stdio.h>

bool str_starts(Str text, Str head)
{
    return text.n >= head.n && str_eq((Str){text.s, head.n}, head);
}

bool str_ends(Str text, Str tail)
{
    return text.n >= tail.n && str_eq((Str){text.s + (text.n - tail.n), tail.n}, tail);
}

int64_t str_find(Str text, Str part)
{
    if (part.n == 0)
        return 0;
    const char *at = text.n > 0 ? memmem(text.s, text.n, part.s, part.n) : NULL;
    return at ? at - text.s : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

Str str_trim(Str text)
{
    while (text.n > 0 && is_blank(text.s[0]))
        text = (Str){text.s + 1, text.n - 1};
    while (text.n > 0 && is_blank(text.s[text.n - 1]))
        text.n--;
    return text;
}

Str str_take(Str *rest, char separator)
{
    const char *at = rest->n > 0 ? memchr(rest->s, separator, rest->n) : NULL;
    Str part = {rest->s, at ? (size_t)(at - rest->s) : rest->n};
    size_t taken = part.n + (at != NULL);
    *rest = (Str){taken > 0 ? rest->s + taken : rest->s, rest->n - taken};
    return part;
}

bool str_has_word(Str words, Str word)
{
    while (words.n > 0)
        if (str_eq(str_take(&words, ' '), word))
            return true;
    return false;
}

bool str_to_int(Str text, int64_t *out)
{
    bool negative = text.n > 0 && text.s[0] == '-';
    size_t i = text.n > 0 && (negative || text.s[0] == '+') ? 1 : 0;
    if (i == text.n)
        return false;

    int64_t value = 0; /* kept negative: INT64_MIN has no positive twin */
    for (; i < text.n; i++) {
        if (text.s[i] < '0' || text.s[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, text.s[i] - '0', &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

bool str_to_real(Str text, double *out)
{
    char copy[64], *end; /* strtod() needs an end */
    if (text.n == 0 || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.s, text.n);
    copy[text.n] = '\0';
    *out = strtod(copy, &end);
    return end == copy + text.n;
}

/* A glob without braces: on a mismatch the last '*' takes one character more. */
static bool glob_plain(Str pattern, Str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (t < text.n) {
        if (p < pattern.n && pattern.s[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.n && (pattern.s[p] == '?' || pattern.s[p] == text.s[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.s[p] == '*')
        p++;
    return p == pattern.n;
}

/* A glob with braces is an automaton whose states are the places of the pattern, so that no
 * pattern costs more than its length times the text's.
 *   link[p] > 0 at '{': the next ',' or the '}' of this level; at ',' : the same;
 *   at '}': LINK_CLOSE. 0: the character stands for itself. */
enum { GLOB_MAX = 1023, GLOB_DEPTH = 16, LINK_CLOSE = GLOB_MAX + 1 };

typedef struct {
    Str pattern;
    uint16_t link[GLOB_MAX + 1];
    uint8_t now[GLOB_MAX + 1], next[GLOB_MAX + 1];
} Glob;

/* Commas and braces without a partner keep link 0. */
static void glob_link(Glob *glob)
{
    struct {
        size_t first, last; /* the '{', and the latest ',' or '{' of this level */
    } open[GLOB_DEPTH];
    int depth = 0;
    for (size_t p = 0; p < glob->pattern.n; p++) {
        char c = glob->pattern.s[p];
        if (c == '{' && depth < GLOB_DEPTH) {
            open[depth].first = open[depth].last = p;
            depth++;
        } else if (depth > 0 && (c == ',' || c == '}')) {
            glob->link[open[depth - 1].last] = (uint16_t)p;
            open[depth - 1].last = p;
            if (c == '}') {
                glob->link[p] = LINK_CLOSE;
                depth--;
            }
        }
    }
    while (depth-- > 0) /* never closed: its links are undone */
        for (size_t p = open[depth].first, next; glob->link[p] != 0; p = next) {
            next = glob->link[p];
            glob->link[p] = 0;
        }
}

/* Enters place p and all that is reached from it without taking a character. Places only grow but
 * for the alternatives of one '{', which are entered in turn. */
static void glob_enter(const Glob *glob, uint8_t *set, size_t p)
{
    while (!set[p]) {
        set[p] = 1;
        if (p == glob->pattern.n)
            return;
        char c = glob->pattern.s[p];
        uint16_t link = glob->link[p];
        if (c == '*' || (c == '}' && link != 0)) {
            p++;
        } else if (c == '{' && link != 0) {
            size_t alternative = p;
            while (glob->pattern.s[alternative] != '}' || glob->link[alternative] != LINK_CLOSE) {
                glob_enter(glob, set, alternative + 1);
                alternative = glob->link[alternative];
            }
            return;
        } else if (c == ',' && link != 0) {
            while (glob->link[p] != LINK_CLOSE)
                p = glob->link[p];
            p++;
        } else {
            return;
        }
    }
}

static void glob_step(Glob *glob, char c)
{
    memset(glob->next, 0, glob->pattern.n + 1);
    for (size_t p = 0; p < glob->pattern.n; p++) {
        if (!glob->now[p])
            continue;
        if (glob->pattern.s[p] == '*')
            glob_enter(glob, glob->next, p);
        else if (glob->link[p] == 0 && (glob->pattern.s[p] == '?' || glob->pattern.s[p] == c))
            glob_enter(glob, glob->next, p + 1);
    }
    memcpy(glob->now, glob->next, glob->pattern.n + 1);
}

bool str_glob(Str pattern, Str text)
{
    if (pattern.n == 0 || !memchr(pattern.s, '{', pattern.n))
        return glob_plain(pattern, text);
    if (pattern.n > GLOB_MAX)
        return false;

    Glob glob = {.pattern = pattern};
    glob_link(&glob);
    glob_enter(&glob, glob.now, 0);
    for (size_t t = 0; t < text.n; t++)
        glob_step(&glob, text.s[t]);
    return glob.now[pattern.n];
}

enum { DISTANCE_MAX = 127 };

int str_distance(Str a, Str b)
{
    if (a.n > DISTANCE_MAX || b.n > DISTANCE_MAX)
        return DISTANCE_MAX;
    int row[DISTANCE_MAX + 1]; /* row[j]: from a[0..i) to b[0..j) */
    for (int j = 0; j <= (int)b.n; j++)
        row[j] = j;
    for (int i = 1; i <= (int)a.n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= (int)b.n; j++) {
            int replace = diagonal + (a.s[i - 1] != b.s[j - 1]);
            diagonal = row[j];
            int skip = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            row[j] = replace < skip ? replace : skip;
        }
    }
    return row[b.n];
}

enum { BUF_ROOM_FIRST = 64 };

size_t str_rune(Str text, uint32_t *rune)
{
    unsigned lead = text.n > 0 ? (unsigned char)text.s[0] : 0x80;
    if (lead < 0x80) {
        *rune = lead;
        return 1;
    }
    static const uint32_t first[] = {[2] = 0x80, [3] = 0x800, [4] = 0x10000};
    size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.n < n)
        return 0;
    uint32_t code = lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text.s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | ((unsigned char)text.s[i] & 0x3f);
    }
    *rune = code;
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code >= first[n] && code <= 0x10ffff && !surrogate ? n : 0;
}

uint32_t str_take_rune(Str *text)
{
    uint32_t rune = 0;
    size_t n = str_rune(*text, &rune);

    if (n == 0) {
        rune = (unsigned char)text->s[0];
        n = 1;
    }
    *text = (Str){text->s + n, text->n - n};
    return rune;
}

size_t rune_format(uint32_t rune, char bytes[4])
{
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned further = rune < 0x80 ? 0 : rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;

    bytes[0] = (char)(lead[further] | rune >> (6 * further));
    for (unsigned i = 1; i <= further; i++)
        bytes[i] = (char)(0x80 | (rune >> (6 * (further - i)) & 0x3f));
    return further + 1;
}

Buf buf_new(Arena *arena)
{
    return (Buf){.arena = arena, .s = arena_alloc(arena, BUF_ROOM_FIRST), .room = BUF_ROOM_FIRST};
}

/* Makes room for n more bytes and the NUL. */
static void buf_reserve(Buf *buf, size_t n)
{
    if (n < buf->room - buf->n)
        return;
    size_t room = 2 * buf->room;
    if (room <= buf->n + n)
        room = buf->n + n + 1;
    char *moved = arena_alloc(buf->arena, room);
    memcpy(moved, buf->s, buf->n);
    buf->s = moved;
    buf->room = room;
}

void buf_add(Buf *buf, Str text)
{
    if (text.n == 0)
        return;
    buf_reserve(buf, text.n);
    memcpy(buf->s + buf->n, text.s, text.n);
    buf->n += text.n;
    buf->s[buf->n] = '\0';
}

void buf_puts(Buf *buf, const char *text)
{
    buf_add(buf, str_from(text));
}

void buf_putc(Buf *buf, char c)
{
    buf_add(buf, (Str){&c, 1});
}

void buf_put_rune(Buf *buf, uint32_t rune)
{
    char bytes[4];
    size_t n = rune_format(rune, bytes);

    buf_add(buf, (Str){bytes, n});
}

void buf_blanks(Buf *buf, int n)
{
    buf_printf(buf, "%*s", n > 0 ? n : 0, "");
}

void buf_vprintf(Buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(buf->s + buf->n, buf->room - buf->n, format, args);
    assert(n >= 0);
    if ((size_t)n >= buf->room - buf->n) {
        buf_reserve(buf, (size_t)n);
        vsnprintf(buf->s + buf->n, buf->room - buf->n, format, again);
    }
    buf->n += (size_t)n;
    va_end(again);
}

void buf_put_quoted(Buf *buf, Str text)
{
    buf_putc(buf, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.s[i] == '\'')
            buf_puts(buf, "'\\'");
        buf_putc(buf, text.s[i]);
    }
    buf_putc(buf, '\'');
}

void buf_printf(Buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

const char *str_lower_case(Arena *arena, Str text)
{
    char *out = arena_array(arena, char, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        out[i] = (char)(text.s[i] >= 'A' && text.s[i] <= 'Z' ? text.s[i] + ('a' - 'A') : text.s[i]);
    return out;
}
