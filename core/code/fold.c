#include "core/code/fold.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <assert.h>
#include <stdlib.h>

enum { DIGITS_READ = 9, NUMBERS_TRIED = 8 };

typedef struct {
    int64_t number;
    int32_t item;
} LoopMember;

/* Items that one line of a loop could stand for. */
typedef struct {
    int n;         /* how many could be folded */
    int n_members; /* how many are */
    FoldLine line; /* of the first */
    LoopMember *member;
    int64_t *number; /* of the members, ascending; the items that have them */
    int32_t *item;
} Class;

typedef struct {
    Arena *arena;
    const FoldItem *item;
    int n;
    Intern *keys;
    Vec(Class) classes;
    int32_t *chosen; /* per item: class, -1 */
} Folder;

/* The next number of a name from *at on: without leading zeros, so that it is printed as it was,
 * and not inside an escape. */
static bool next_number(const char *name, size_t *at, size_t *n)
{
    for (;;) {
        while (name[*at] && !is_digit(name[*at]))
            ++*at;
        if (!name[*at])
            return false;
        *n = 0;
        while (is_digit(name[*at + *n]))
            ++*n;
        bool escaped = (*at > 0 && name[*at - 1] == '\\') ||
                       (*at > 2 && memcmp(name + *at - 3, "\\u{", 3) == 0);
        if (!escaped && *n <= DIGITS_READ && (*n == 1 || name[*at] != '0'))
            return true;
        *at += *n;
    }
}

/* The class of an item if the number at that place is left out. */
static int32_t class_of(Folder *f, int32_t item, size_t at, size_t n)
{
    const FoldItem *of = &f->item[item];
    const char *key = arena_printf(f->arena, "%zu %zu %.*s%s%s", at, strlen(of->name) - n, (int)at,
                                   of->name, of->name + at + n, of->rest);
    int32_t id = intern_put(f->keys, key, strlen(key));
    if (id == f->classes.n)
        vec_push(f->arena, &f->classes, (Class){.line = {item, at, n}});
    assert(f->classes.at);
    return id;
}

static void count_classes(Folder *f)
{
    for (int i = 0; i < f->n; i++) {
        size_t at = 0, n;
        for (int k = 0; k < NUMBERS_TRIED && next_number(f->item[i].name, &at, &n); k++, at += n) {
            int32_t class = class_of(f, i, at, n);
            f->classes.at[class].n++;
        }
    }
}

static int64_t number_at(const char *name, size_t at, size_t n)
{
    int64_t number = 0;
    str_to_int((Str){name + at, n}, &number);
    return number;
}

/* Chooses, among the numbers in a name, the one in which most other names differ. */
static void choose_classes(Folder *f)
{
    for (int i = 0; i < f->n; i++) {
        size_t at = 0, n, best_at = 0, best_n = 0;
        f->chosen[i] = -1;
        for (int k = 0; k < NUMBERS_TRIED && next_number(f->item[i].name, &at, &n); k++, at += n) {
            int32_t class = class_of(f, i, at, n);
            if (f->classes.at[class].n < 2 ||
                (f->chosen[i] >= 0 && f->classes.at[class].n <= f->classes.at[f->chosen[i]].n))
                continue;
            f->chosen[i] = class;
            best_at = at, best_n = n;
        }
        if (f->chosen[i] < 0)
            continue;
        Class *class = &f->classes.at[f->chosen[i]];
        if (!class->member)
            class->member = arena_array(f->arena, LoopMember, class->n);
        if (class->n_members == 0)
            class->line = (FoldLine){i, best_at, best_n};
        class->member[class->n_members++] =
            (LoopMember){number_at(f->item[i].name, best_at, best_n), i};
    }
}

static int by_number(const void *a, const void *b)
{
    const LoopMember *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static void sort_class(Folder *f, Class *class)
{
    if (class->n_members > 0)
        qsort(class->member, (size_t) class->n_members, sizeof *class->member, by_number);
    class->number = arena_array(f->arena, int64_t, class->n_members);
    class->item = arena_array(f->arena, int32_t, class->n_members);
    for (int i = 0; i < class->n_members; i++) {
        class->number[i] = class->member[i].number;
        class->item[i] = class->member[i].item;
    }
}

/* One item is no loop, and neither are two items with the same number. */
static bool is_loop(const Class *class)
{
    for (int i = 1; i < class->n_members; i++)
        if (class->number[i] == class->number[i - 1])
            return false;
    return class->n_members > 1;
}

static void finish_classes(Folder *f)
{
    for (int c = 0; c < f->classes.n; c++)
        sort_class(f, &f->classes.at[c]);
    for (int i = 0; i < f->n; i++)
        if (f->chosen[i] >= 0 && !is_loop(&f->classes.at[f->chosen[i]]))
            f->chosen[i] = -1;
}

typedef struct {
    const Class *class; /* of its first line; NULL without numbers */
    Vec(FoldLine) lines;
    Vec(const int32_t *) items;
} LoopBuilder;

Folded fold_items(Arena *arena, const FoldItem *item, int n)
{
    Folder f = {.arena = arena, .item = item, .n = n, .keys = intern_new(arena)};
    Intern *numbers = intern_new(arena);
    Vec(LoopBuilder) loops = {0};

    f.chosen = arena_array(arena, int32_t, n);
    count_classes(&f);
    choose_classes(&f);
    finish_classes(&f);
    vec_push(arena, &loops, (LoopBuilder){0});
    for (int i = 0; i < n; i++) {
        const Class *class = f.chosen[i] < 0 ? NULL : &f.classes.at[f.chosen[i]];
        if (class && class->line.item != i)
            continue;
        int32_t id = class ? intern_put(numbers, class->number,
                                        (size_t) class->n_members * sizeof(int64_t)) +
                                 1
                           : 0;
        if (id == loops.n)
            vec_push(arena, &loops, (LoopBuilder){.class = class});
        vec_push(arena, &loops.at[id].lines, class ? class->line : (FoldLine){.item = i});
        vec_push(arena, &loops.at[id].items, class ? class->item : NULL);
    }
    FoldLoop *out = arena_array(arena, FoldLoop, loops.n);
    for (int l = 0; l < loops.n; l++) {
        const Class *class = loops.at[l].class;
        out[l] = (FoldLoop){.n_numbers = class ? class->n_members : 0,
                            .number = class ? class->number : NULL,
                            .n_lines = loops.at[l].lines.n,
                            .line = loops.at[l].lines.at,
                            .item = loops.at[l].items.at};
    }
    return (Folded){loops.n, out};
}

bool fold_is_range(const FoldLoop *loop)
{
    for (int i = 1; i < loop->n_numbers; i++)
        if (loop->number[i] != loop->number[i - 1] + 1)
            return false;
    return loop->n_numbers > 0;
}
