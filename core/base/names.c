#include "core/base/names.h"

#include "core/base/intern.h"

#include <assert.h>

struct Names {
    Intern *texts; /* whose keys end in a NUL */
};

Names *names_new(Arena *arena)
{
    Names *names = arena_make(arena, Names);
    names->texts = intern_new(arena);
    int32_t empty = names_intern(names, STR(""));
    assert(empty == 0);
    (void)empty;
    return names;
}

int32_t names_intern(Names *names, Str text)
{
    return intern_put(names->texts, text.s, text.n);
}

int32_t names_find(const Names *names, Str text)
{
    return intern_find(names->texts, text.s, text.n);
}

const char *names_text(const Names *names, int32_t id)
{
    return intern_key(names->texts, id, NULL);
}

Str names_str(const Names *names, int32_t id)
{
    Str text;
    text.s = intern_key(names->texts, id, &text.n);
    return text;
}

int32_t names_count(const Names *names)
{
    return intern_count(names->texts);
}
