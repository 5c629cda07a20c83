/* markup.h - a strict reader of HTML pages, for tests: every tag is closed in order, attributes are
 * quoted, texts have no raw signs, ids are there once, links lead to ids. What it reads is kept as
 * the cells of tables and the texts of elements with a class. */
#ifndef TESTS_UNIT_MARKUP_H
#define TESTS_UNIT_MARKUP_H

#include "tests/unit/unit.h"

#include "core/base/intern.h"
#include "core/base/str.h"
#include "core/base/vec.h"

#include <stdlib.h>

typedef struct {
    const char *table;  /* its id */
    int row, column;    /* from 0, of the body */
    const char *text;   /* entities are read */
    const char *exact;  /* data-n; NULL */
    const char *row_id; /* NULL */
} MarkupCell;

typedef struct {
    Arena *arena;
    const char *at, *start;
    Intern *ids;
    Vec(const char *) links, open; /* open: names of elements */
    Vec(MarkupCell) cells;
    const char *table;
    int row, column, n_scripts, n_headings;
    bool in_cell, in_body;
    Buf text; /* of the cell; of the whole page */
    Buf all;
} Markup;

static inline void markup_fail(const Markup *m, const char *why)
{
    fail_msg("%s at byte %d: %.80s", why, (int)(m->at - m->start), m->at);
}

static inline void markup_entity(Markup *m, Buf *out)
{
    static const char *const known[][2] = {{"&amp;", "&"},   {"&lt;", "<"},  {"&gt;", ">"},
                                           {"&quot;", "\""}, {"&#39;", "'"}, {"&#160;", " "},
                                           {"&#45;", "-"}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strncmp(m->at, known[i][0], strlen(known[i][0])) == 0) {
            buf_puts(out, known[i][1]);
            m->at += strlen(known[i][0]);
            return;
        }
    bool numbered = strncmp(m->at, "&#", 2) == 0;
    char *end = NULL;
    long rune = numbered ? strtol(m->at + 2, &end, 10) : 0;
    if (!end || rune <= 0 || *end != ';')
        markup_fail(m, "no entity");
    buf_put_rune(out, (uint32_t)rune);
    m->at = end + 1;
}

/* Text up to `end`, without raw signs. */
static inline void markup_text(Markup *m, char end, Buf *out)
{
    while (*m->at && *m->at != end) {
        unsigned char c = (unsigned char)*m->at;
        if (c == '<' || c == '>' || (c < 0x20 && c != '\n') || c == 0x7f)
            markup_fail(m, "a raw sign");
        if (c == '&') {
            markup_entity(m, out);
            continue;
        }
        buf_putc(out, *m->at++);
    }
}

static inline const char *markup_name(Markup *m)
{
    size_t n = strspn(m->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:");
    if (n == 0)
        markup_fail(m, "no name");
    const char *name = arena_str(m->arena, (Str){m->at, n});
    m->at += n;
    return name;
}

static inline bool markup_is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "link") == 0 || strcmp(name, "br") == 0;
}

static inline void markup_attribute(Markup *m, const char *element, MarkupCell *cell)
{
    const char *name = markup_name(m);
    Buf value = buf_new(m->arena);
    if (strncmp(m->at, "=\"", 2) != 0)
        markup_fail(m, "an attribute without quotes");
    m->at += 2;
    markup_text(m, '"', &value);
    m->at++;
    if (strncmp(name, "on", 2) == 0)
        markup_fail(m, "a handler");
    bool is_link = strcmp(name, "href") == 0 || strcmp(name, "xlink:href") == 0;
    if (strcmp(name, "src") == 0 || (is_link && value.s[0] != '#' && strcmp(element, "link") != 0))
        markup_fail(m, "something from outside");
    if (is_link && strcmp(element, "link") != 0)
        vec_push(m->arena, &m->links, value.s + 1);
    if (strcmp(name, "data-n") == 0)
        cell->exact = value.s;
    if (strcmp(name, "id") != 0)
        return;
    int n = intern_count(m->ids);
    if (intern_put(m->ids, value.s, value.n) != n)
        fail_msg("the id %s is there twice", value.s);
    if (strcmp(element, "table") == 0)
        m->table = value.s;
    if (strcmp(element, "tr") == 0)
        cell->row_id = value.s;
}

static inline void markup_close(Markup *m, const char *name)
{
    if (m->open.n == 0 || strcmp(m->open.at[m->open.n - 1], name) != 0)
        fail_msg("</%s> closes <%s>", name, m->open.n ? m->open.at[m->open.n - 1] : "nothing");
    m->open.n--;
    if (m->in_cell && (strcmp(name, "td") == 0 || strcmp(name, "th") == 0)) {
        m->cells.at[m->cells.n - 1].text = arena_str(m->arena, buf_str(&m->text));
        m->in_cell = false;
    }
    m->in_body &= strcmp(name, "tbody") != 0;
}

static inline void markup_opened(Markup *m, const char *name, MarkupCell *cell)
{
    bool is_cell = m->in_body && (strcmp(name, "td") == 0 || strcmp(name, "th") == 0);
    if (strcmp(name, "tbody") == 0) {
        m->in_body = true;
        m->row = -1;
    }
    if (m->in_body && strcmp(name, "tr") == 0) {
        m->row++;
        m->column = 0;
    }
    if (!is_cell)
        return;
    cell->table = m->table;
    cell->row = m->row;
    cell->column = m->column++;
    m->text.n = 0;
    m->in_cell = true;
    vec_push(m->arena, &m->cells, *cell);
}

/* Past a piece that is not markup: "</style>" ends it. */
static inline void markup_raw(Markup *m, const char *name)
{
    const char *mark = arena_printf(m->arena, "</%s>", name), *end = strstr(m->at, mark);
    if (!end)
        markup_fail(m, "not closed");
    m->n_scripts += strcmp(name, "script") == 0;
    m->at = end + strlen(mark);
    m->open.n--;
}

static inline void markup_tag(Markup *m)
{
    MarkupCell cell = {0};
    if (strncmp(m->at, "<!DOCTYPE html>", 15) == 0 && m->at == m->start) {
        m->at += 15;
        return;
    }
    m->at++;
    bool closes = *m->at == '/';
    m->at += closes;
    const char *name = markup_name(m);
    while (!closes && (*m->at == ' ' || *m->at == '\n')) {
        m->at += strspn(m->at, " \n");
        if (*m->at != '/')
            markup_attribute(m, name, &cell);
    }
    bool empty = *m->at == '/';
    m->at += empty;
    if (*m->at++ != '>')
        markup_fail(m, "a tag that does not end");
    if (closes) {
        markup_close(m, name);
        return;
    }
    if (empty || markup_is_void(name))
        return;
    vec_push(m->arena, &m->open, name);
    markup_opened(m, name, &cell);
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)
        markup_raw(m, name);
}

/* Fails the test where the page is not well formed. */
static inline Markup markup_read(Arena *arena, const char *page)
{
    Markup m = {.arena = arena, .at = page, .start = page, .ids = intern_new(arena)};
    m.text = buf_new(arena);
    m.all = buf_new(arena);
    while (*m.at) {
        if (*m.at == '<') {
            markup_tag(&m);
            continue;
        }
        size_t before = m.all.n;
        markup_text(&m, '<', &m.all);
        buf_add(&m.text, (Str){m.all.s + before, m.all.n - before});
    }
    if (m.open.n > 0)
        fail_msg("<%s> is not closed", m.open.at[m.open.n - 1]);
    for (int i = 0; i < m.links.n; i++)
        if (intern_find(m.ids, m.links.at[i], strlen(m.links.at[i])) < 0)
            fail_msg("the link to %s leads nowhere", m.links.at[i]);
    return m;
}

/* A cell of a table's body. */
static inline MarkupCell markup_cell(const Markup *m, const char *table, int row, int column)
{
    for (int i = 0; i < m->cells.n; i++)
        if (strcmp(m->cells.at[i].table, table) == 0 && m->cells.at[i].row == row &&
            m->cells.at[i].column == column)
            return m->cells.at[i];
    fail_msg("%s has no row %d, column %d", table, row, column);
    return (MarkupCell){.text = ""};
}

static inline int markup_rows(const Markup *m, const char *table)
{
    int n = 0;
    for (int i = 0; i < m->cells.n; i++)
        n += strcmp(m->cells.at[i].table, table) == 0 && m->cells.at[i].column == 0;
    return n;
}

static inline double markup_number(const Markup *m, const char *table, int row, int column)
{
    MarkupCell cell = markup_cell(m, table, row, column);
    if (!cell.exact)
        fail_msg("no number in %s, row %d, column %d", table, row, column);
    return strtod(cell.exact ? cell.exact : "", NULL);
}

static inline double markup_sum(const Markup *m, const char *table, int column)
{
    double sum = 0;
    for (int row = 0; row < markup_rows(m, table); row++)
        sum += markup_number(m, table, row, column);
    return sum;
}

#endif
