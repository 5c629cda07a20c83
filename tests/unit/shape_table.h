/* shape_table.h - reads NAME.shapes.tsv: the measured dtype and shape of every value of a model.
 *
 *     # dims: batch=2 seq=16
 *     h    f32    [2,16,?]    node        `?`: a size that was another in another run
 */
#ifndef TESTS_UNIT_SHAPE_TABLE_H
#define TESTS_UNIT_SHAPE_TABLE_H

#include "core/base/arena.h"
#include "core/base/str.h"

#include <assert.h>

static inline Str take_field(Str *line)
{
    const char *tab = memchr(line->s, '\t', line->n);
    Str field = {line->s, tab ? (size_t)(tab - line->s) : line->n};
    *line = (Str){line->s + field.n + (tab != NULL), line->n - field.n - (tab != NULL)};
    return field;
}

static inline Str take_line(Str *text)
{
    const char *end = memchr(text->s, '\n', text->n);
    Str line = {text->s, end ? (size_t)(end - text->s) : text->n};
    *text = (Str){text->s + line.n + (end != NULL), text->n - line.n - (end != NULL)};
    return line;
}

/* The text after `# dims: `, its blanks made commas. */
static inline const char *dims_line(Arena *arena, Str table)
{
    int64_t at = str_find(table, STR("# dims: "));
    assert(at >= 0);
    Str rest = {table.s + at + 8, table.n - (size_t)at - 8}, line = take_line(&rest);
    char *dims = arena_alloc(arena, line.n + 1);
    for (size_t i = 0; i < line.n; i++)
        dims[i] = line.s[i] == ' ' ? ',' : line.s[i];
    return dims;
}

#endif
