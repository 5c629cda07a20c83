#include "tui/help/glossary.h"

#include "core/base/text.h"

#include <ctype.h>

enum { INDENT = 2, PART_AT = 12, WORD_AT = 26, NEAR_MAX = 4 };

static const GlossaryTerm *const parts[] = {glossary_ops, glossary_shardings, glossary_plans};

const GlossaryTerm *glossary_at(int i)
{
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
        for (const GlossaryTerm *term = parts[part]; term->words; term++)
            if (i-- == 0)
                return term;
    return NULL;
}

Str glossary_title(const GlossaryTerm *term)
{
    Str rest = str_from(term->words);
    return str_take(&rest, '|');
}

/* ---- finding ---- */

/* The next character of a name that counts, in lower case; '\0' at its end. */
static char take_letter(Str *name)
{
    while (name->n > 0) {
        char c = *name->s++;
        name->n--;
        if (c == '(')
            break;
        if (c != ' ' && c != '-' && c != '_')
            return (char)tolower((unsigned char)c);
    }
    name->n = 0;
    return '\0';
}

static bool same_word(Str a, Str b)
{
    char letter;
    do {
        letter = take_letter(&a);
        if (letter != take_letter(&b))
            return false;
    } while (letter);
    return true;
}

const GlossaryTerm *glossary_find(Str word)
{
    const GlossaryTerm *term;
    for (int i = 0; word.n > 0 && (term = glossary_at(i)); i++)
        for (Str rest = str_from(term->words); rest.n > 0;)
            if (same_word(str_take(&rest, '|'), word))
                return term;
    return NULL;
}

typedef struct {
    Str name[NEAR_MAX];
    int distance[NEAR_MAX];
    int n;
} NearWords;

/* Nearest first; of a term the nearest of its names. */
static void insert_near(NearWords *near, Str name, int distance)
{
    if (near->n == NEAR_MAX && near->distance[NEAR_MAX - 1] <= distance)
        return;
    int i = near->n < NEAR_MAX ? near->n++ : NEAR_MAX - 1;
    for (; i > 0 && near->distance[i - 1] > distance; i--) {
        near->name[i] = near->name[i - 1];
        near->distance[i] = near->distance[i - 1];
    }
    near->name[i] = name;
    near->distance[i] = distance;
}

/* 0 if one contains the other, else the edit distance without regard to capitals. */
static int word_distance(Arena *arena, Str name, Str word)
{
    Str a = str_from(str_lower_case(arena, name)), b = str_from(str_lower_case(arena, word));
    bool within = b.n >= 3 && (str_find(a, b) >= 0 || (a.n >= 3 && str_find(b, a) >= 0));
    return within ? 0 : str_distance(a, b);
}

void glossary_near(Str word, Buf *out)
{
    int limit = word.n < 6 ? 2 : 3; /* edits that still make a name like the word */
    NearWords near = {0};
    const GlossaryTerm *term;
    for (int i = 0; (term = glossary_at(i)); i++) {
        Str best = {0};
        int least = limit;
        for (Str rest = str_from(term->words); rest.n > 0;) {
            Str name = str_take(&rest, '|');
            int distance = word_distance(out->arena, name, word);
            if (distance < least) {
                least = distance;
                best = name;
            }
        }
        if (best.n > 0)
            insert_near(&near, best, least);
    }
    for (int i = 0; i < near.n; i++)
        buf_printf(out, "%s%.*s", i == 0 ? "did you mean " : ", ", STR_ARG(near.name[i]));
    buf_puts(out, near.n > 0 ? "?" : "");
}

/* ---- text ---- */

static void put_part(const char *name, const char *text, Buf *out)
{
    Str term = str_from(arena_printf(out->arena, "  %s", name));
    text_put_pair(term, PART_AT, text, out);
}

void glossary_write(const GlossaryTerm *term, Buf *out)
{
    Buf others = buf_new(out->arena);
    Str rest = str_from(term->words), title = str_take(&rest, '|');
    while (rest.n > 0) {
        buf_puts(&others, others.n > 0 ? ", " : "");
        buf_add(&others, str_take(&rest, '|'));
    }
    buf_printf(out, "%.*s  (%s)\n\n", STR_ARG(title), term->of);
    text_put_pair((Str){0}, INDENT, term->what, out);
    buf_putc(out, '\n');
    if (others.n > 0)
        put_part("also", others.s, out);
    put_part("here", term->here, out);
    buf_printf(out, "  command   %s\n", term->command);
    put_part("prints", term->prints, out);
    put_part("explorer", term->screen, out);
}

/* Up to the first full stop before a blank. */
static const char *first_sentence(const char *text, Arena *arena)
{
    const char *end = strstr(text, ". ");
    return end ? arena_str(arena, (Str){text, (size_t)(end - text) + 1}) : text;
}

void glossary_index(Buf *out)
{
    const GlossaryTerm *term;
    buf_puts(out,
             "dimscope help WORD says of each word what it means where it comes from, what\n"
             "dimscope calls it, and which command and which view of the explorer show it.\n\n");
    for (int i = 0; (term = glossary_at(i)); i++)
        text_put_pair(glossary_title(term), WORD_AT, first_sentence(term->what, out->arena), out);
}

void glossary_words(Buf *out)
{
    const GlossaryTerm *term;
    for (int i = 0; (term = glossary_at(i)); i++)
        if (str_find(glossary_title(term), STR(" ")) < 0)
            buf_printf(out, "%.*s ", STR_ARG(glossary_title(term)));
}
