#include "core/code/python_fold.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LOOPS_MAX = 4, DIGITS_OF_LAYER = 9 };

/* An entry, and the part of its key that differs from the loops around it. */
typedef struct {
    const PythonEntry *entry;
    Str rest;
} DictLine;

/* A number in a key, and the text after it. */
typedef struct {
    Str before, after;
    int64_t number;
    int line, layer; /* layer: index in layers */
} LineNumber;

/* Lines with the same text before the same number. */
typedef struct {
    int first, n;   /* of `sorted` */
    int run, run_n; /* the first of equal neighbours, and how many they are */
} DictLayer;

typedef struct {
    Arena *arena;
    const DictLine *lines;
    int n_lines;
    Vec(LineNumber) numbers; /* line by line, from the left */
    const LineNumber **sorted;
    Vec(DictLayer) layers;
    bool *done; /* per line */
} DictFold;

typedef struct {
    const char *name;
    Buf *out;
    int indent;
    bool open, made; /* between braces; the dict exists already */
} FoldWriter;

/* ---- what is equal ---- */

static int compare_str(Str a, Str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.s, b.s, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_numbers(const void *left, const void *right)
{
    const LineNumber *a = *(const LineNumber *const *)left, *b = *(const LineNumber *const *)right;
    int order = compare_str(a->before, b->before);
    if (order)
        return order;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->line - b->line;
}

static void find_numbers(DictFold *fold, int line)
{
    Str text = fold->lines[line].rest;
    for (size_t at = 0, end; at < text.n; at = end) {
        end = at + 1;
        if (!is_digit(text.s[at]))
            continue;
        while (end < text.n && is_digit(text.s[end]))
            end++;
        LineNumber number = {
            .before = {text.s, at}, .after = {text.s + end, text.n - end}, .line = line};
        bool plain = end - at == 1 || text.s[at] != '0';
        if (plain && end - at <= DIGITS_OF_LAYER &&
            str_to_int((Str){text.s + at, end - at}, &number.number))
            vec_push(fold->arena, &fold->numbers, number);
    }
}

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool layers_equal(const DictFold *fold, const DictLayer *a, const DictLayer *b)
{
    const LineNumber *const *x = fold->sorted + a->first, *const *y = fold->sorted + b->first;
    if (a->n != b->n || !str_eq(x[0]->before, y[0]->before) || x[0]->number + 1 != y[0]->number)
        return false;
    for (int i = 0; i < a->n; i++) {
        const PythonEntry *of_x = fold->lines[x[i]->line].entry;
        const PythonEntry *of_y = fold->lines[y[i]->line].entry;
        if (!str_eq(x[i]->after, y[i]->after) || !texts_equal(of_x->value, of_y->value) ||
            !texts_equal(of_x->comment, of_y->comment))
            return false;
    }
    return true;
}

static void find_layers(DictFold *fold)
{
    int n = fold->numbers.n;
    LineNumber **sorted = arena_array(fold->arena, LineNumber *, n);
    for (int i = 0; i < n; i++)
        sorted[i] = &fold->numbers.at[i];
    if (n > 0)
        qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    fold->sorted = arena_array(fold->arena, const LineNumber *, n);
    for (int i = 0; i < n; i++) {
        fold->sorted[i] = sorted[i];
        if (i == 0 || sorted[i]->number != sorted[i - 1]->number ||
            !str_eq(sorted[i]->before, sorted[i - 1]->before))
            vec_push(fold->arena, &fold->layers, (DictLayer){.first = i});
        fold->layers.at[fold->layers.n - 1].n++;
        sorted[i]->layer = fold->layers.n - 1;
    }
    for (int i = 0; i < fold->layers.n; i++) {
        DictLayer *layer = &fold->layers.at[i];
        bool goes_on = i > 0 && layers_equal(fold, layer - 1, layer);
        layer->run = goes_on ? layer[-1].run : i;
        fold->layers.at[layer->run].run_n++;
    }
}

static DictFold fold_of(Arena *arena, const DictLine *lines, int n)
{
    DictFold fold = {.arena = arena, .lines = lines, .n_lines = n};
    for (int i = 0; i < n; i++)
        find_numbers(&fold, i);
    find_layers(&fold);
    fold.done = arena_array(arena, bool, n);
    return fold;
}

/* Whether the equal layers that start with this one save lines, and none of them has been written
 * yet. */
static bool is_worth(const DictFold *fold, const DictLayer *run)
{
    if (run->run_n < 2 || (run->run_n - 1) * run->n < 3)
        return false;
    for (int i = 0; i < run->run_n; i++)
        for (int k = 0; k < run[i].n; k++)
            if (fold->done[fold->sorted[run[i].first + k]->line])
                return false;
    return true;
}

/* ---- writing ---- */

static void close_braces(FoldWriter *w)
{
    if (w->open) {
        buf_blanks(w->out, w->indent);
        buf_puts(w->out, "}\n");
    }
    w->open = false;
}

static void open_braces(FoldWriter *w)
{
    if (!w->open) {
        buf_blanks(w->out, w->indent);
        buf_printf(w->out, "%s %s {\n", w->name, w->made ? "|=" : "=");
    }
    w->open = w->made = true;
}

/* Braces are doubled inside of an f-string. */
static void put_literal(Str text, bool formatted, Buf *out)
{
    while (text.n > 0) {
        size_t n = 0;
        while (n < text.n && !(formatted && (text.s[n] == '{' || text.s[n] == '}')))
            n++;
        python_text((Str){text.s, n}, out);
        if (n < text.n) {
            buf_putc(out, text.s[n]);
            buf_putc(out, text.s[n]);
            n++;
        }
        text = (Str){text.s + n, text.n - n};
    }
}

static void write_line(FoldWriter *w, Str head, const DictLine *line)
{
    open_braces(w);
    buf_blanks(w->out, w->indent + 4);
    buf_puts(w->out, head.n > 0 ? "f\"" : "\"");
    buf_add(w->out, head);
    put_literal(line->rest, head.n > 0, w->out);
    buf_puts(w->out, "\": ");
    for (const char *s = line->entry->value; *s; s++) {
        buf_putc(w->out, *s);
        if (*s == '\n')
            buf_blanks(w->out, w->indent + 4);
    }
    buf_putc(w->out, ',');
    if (line->entry->comment)
        buf_printf(w->out, "  # %s", line->entry->comment);
    buf_putc(w->out, '\n');
}

static void write_lines(FoldWriter *w, Str head, const DictLine *lines, int n, int depth);

static void write_loop(FoldWriter *w, Str head, DictFold *fold, const DictLayer *run, int depth)
{
    static const char variable[] = {'i', 'j', 'k', 'l'};
    const LineNumber *const *first = fold->sorted + run->first;
    DictLine *lines = arena_array(fold->arena, DictLine, run->n);
    Buf within = buf_new(fold->arena);
    for (int k = 0; k < run->n; k++)
        lines[k] = (DictLine){fold->lines[first[k]->line].entry, first[k]->after};
    for (int i = 0; i < run->run_n; i++)
        for (int k = 0; k < run[i].n; k++)
            fold->done[fold->sorted[run[i].first + k]->line] = true;
    buf_add(&within, head);
    put_literal(first[0]->before, true, &within);
    buf_printf(&within, "{%c}", variable[depth]);

    close_braces(w);
    if (!w->made) {
        buf_blanks(w->out, w->indent);
        buf_printf(w->out, "%s = {}\n", w->name);
        w->made = true;
    }
    buf_blanks(w->out, w->indent);
    buf_printf(w->out, "for %c in range(", variable[depth]);
    if (first[0]->number > 0)
        buf_printf(w->out, "%" PRId64 ", ", first[0]->number);
    buf_printf(w->out, "%" PRId64 "):\n", first[0]->number + run->run_n);
    w->indent += 4;
    write_lines(w, buf_str(&within), lines, run->n, depth + 1);
    close_braces(w);
    w->indent -= 4;
}

static void write_lines(FoldWriter *w, Str head, const DictLine *lines, int n, int depth)
{
    Arena *arena = arena_new();
    DictFold fold = fold_of(arena, lines, n);
    int next = 0; /* of the numbers */
    for (int i = 0; i < n; i++) {
        const DictLayer *run = NULL;
        for (; next < fold.numbers.n && fold.numbers.at[next].line == i; next++) {
            const DictLayer *of = &fold.layers.at[fold.layers.at[fold.numbers.at[next].layer].run];
            if (!run && depth < LOOPS_MAX && !fold.done[i] && is_worth(&fold, of))
                run = of;
        }
        if (run)
            write_loop(w, head, &fold, run, depth);
        else if (!fold.done[i])
            write_line(w, head, &lines[i]);
    }
    arena_free(arena);
}

void python_dict(const char *name, const PythonEntries *entries, int indent, Buf *out)
{
    Arena *arena = arena_new();
    DictLine *lines = arena_array(arena, DictLine, entries->n);
    FoldWriter w = {.name = name, .out = out, .indent = indent};
    for (int i = 0; i < entries->n; i++)
        lines[i] = (DictLine){&entries->at[i], entries->at[i].key};
    write_lines(&w, (Str){0}, lines, entries->n, 0);
    close_braces(&w);
    if (!w.made) {
        buf_blanks(out, indent);
        buf_printf(out, "%s = {}\n", name);
    }
    arena_free(arena);
}
