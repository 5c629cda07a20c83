#include "core/rules/sizes.h"

#include "core/base/vec.h"

#include <inttypes.h>

enum {
    BASES_MAX = 12, /* sizes that computed ones are explained by: the first ones */
    FACTOR_MAX = 1 << 16,
    ELEMENTS_SPAN = 1 << 28
};

/* Primes go round between these. */
static const int64_t stand_first[STANDS] = {5000, 500, 2}, stand_last[STANDS] = {15000, 2000, 30};

struct Sizes {
    Arena *arena;
    Intern *names, *pairs, *stands; /* keys: names, the numbers needed, all; of_.. the sizes */
    Vec(int32_t) of_name, of_pair, of_stands;
    Vec(Size) sizes;
    int64_t last[STANDS]; /* primes given out */
    int n_steps;
};

Sizes *sizes_new(Arena *arena)
{
    Sizes *sizes = arena_make(arena, Sizes);
    sizes->arena = arena;
    sizes->names = intern_new(arena);
    sizes->pairs = intern_new(arena);
    sizes->stands = intern_new(arena);
    memcpy(sizes->last, stand_first, sizeof stand_first);
    return sizes;
}

static bool is_prime(int64_t number)
{
    for (int64_t d = 2; d * d <= number; d++)
        if (number % d == 0)
            return false;
    return true;
}

static int64_t dim_of(int32_t id)
{
    return -2 - (int64_t)id;
}

static int64_t add(Sizes *sizes, Str name, const int64_t *stand, bool computed, bool late)
{
    int32_t id = sizes->sizes.n;
    Size size = {arena_str(sizes->arena, name), {0}, computed, late};
    memcpy(size.stand, stand, sizeof size.stand);
    vec_push(sizes->arena, &sizes->sizes, size);
    if (intern_put(sizes->pairs, stand, STANDS_NEEDED * sizeof *stand) == sizes->of_pair.n)
        vec_push(sizes->arena, &sizes->of_pair, id);
    if (intern_put(sizes->stands, stand, STANDS * sizeof *stand) == sizes->of_stands.n)
        vec_push(sizes->arena, &sizes->of_stands, id);
    if (intern_put(sizes->names, name.s, name.n) == sizes->of_name.n)
        vec_push(sizes->arena, &sizes->of_name, id);
    return dim_of(id);
}

const Size *sizes_at(const Sizes *sizes, int64_t dim)
{
    return &sizes->sizes.at[-2 - dim];
}

/* Uneven steps, so that one size is not another and a few in all of them. */
static void step_stands(Sizes *sizes)
{
    int n = sizes->n_steps++;
    int64_t step[STANDS] = {40 + 17 * (n % 5), 12 + 5 * (n % 7), 1};
    for (int r = 0; r < STANDS; r++) {
        sizes->last[r] += step[r];
        if (sizes->last[r] >= stand_last[r])
            sizes->last[r] = stand_first[r] + n % 7;
        while (!is_prime(sizes->last[r]))
            sizes->last[r]++;
    }
}

int64_t sizes_named(Sizes *sizes, Str name, bool late)
{
    int32_t found = intern_find(sizes->names, name.s, name.n);
    if (found >= 0)
        return dim_of(sizes->of_name.at[found]);
    do
        step_stands(sizes);
    while (intern_find(sizes->pairs, sizes->last, STANDS_NEEDED * sizeof *sizes->last) >= 0);
    return add(sizes, name, sizes->last, false, late);
}

/* Numbers that are left out are equal to any. */
static bool find_stands(const Sizes *sizes, const int64_t *stand, int64_t *dim)
{
    int32_t found = intern_find(sizes->stands, stand, STANDS * sizeof *stand);
    if (found >= 0) {
        *dim = dim_of(sizes->of_stands.at[found]);
        return true;
    }
    found = intern_find(sizes->pairs, stand, STANDS_NEEDED * sizeof *stand);
    if (found < 0)
        return false;
    *dim = dim_of(sizes->of_pair.at[found]);
    return stand[STANDS_NEEDED] < 0 || sizes_at(sizes, *dim)->stand[STANDS_NEEDED] < 0;
}

/* ---- what a computed size is ---- */

/* As many numbers as both have. */
static int n_stands(const int64_t *a, const int64_t *b)
{
    return a[STANDS_NEEDED] < 0 || b[STANDS_NEEDED] < 0 ? STANDS_NEEDED : STANDS;
}

static bool is_times(const int64_t *stand, const int64_t *base, int64_t *factor)
{
    *factor = base[0] > 0 && stand[0] % base[0] == 0 ? stand[0] / base[0] : 0;
    if (*factor <= 1 || *factor > FACTOR_MAX)
        return false;
    for (int r = 1; r < n_stands(stand, base); r++) {
        int64_t other;
        if (__builtin_mul_overflow(base[r], *factor, &other) || other != stand[r])
            return false;
    }
    return true;
}

static bool is_part(const int64_t *stand, const int64_t *base, int64_t *factor, bool up)
{
    *factor = stand[0] > 0 ? (base[0] + (up ? stand[0] - 1 : 0)) / stand[0] : 0;
    if (*factor <= 1 || *factor > 64)
        return false;
    for (int r = 0; r < n_stands(stand, base); r++)
        if ((base[r] + (up ? *factor - 1 : 0)) / *factor != stand[r])
            return false;
    return true;
}

static bool is_shifted(const int64_t *stand, const int64_t *base, int64_t *by)
{
    if (__builtin_sub_overflow(stand[0], base[0], by) || *by <= -FACTOR_MAX || *by >= FACTOR_MAX)
        return false;
    for (int r = 1; r < n_stands(stand, base); r++)
        if (stand[r] != base[r] + *by)
            return false;
    return true;
}

/* "2*seq", "seq/2", "seq+1", of one size. */
static bool explain_one(const Size *base, const int64_t *stand, Buf *name)
{
    int64_t number;
    bool sum = base->computed && strpbrk(base->name, "+-/") != NULL;
    const char *open = sum ? "(" : "", *close = sum ? ")" : "";
    name->n = 0;
    if (is_times(stand, base->stand, &number))
        buf_printf(name, "%" PRId64 "*%s%s%s", number, open, base->name, close);
    else if (is_shifted(stand, base->stand, &number))
        buf_printf(name, "%s%+" PRId64, base->name, number);
    else if (is_part(stand, base->stand, &number, false))
        buf_printf(name, "%s%s%s/%" PRId64, open, base->name, close, number);
    else if (is_part(stand, base->stand, &number, true))
        buf_printf(name, "ceil(%s/%" PRId64 ")", base->name, number);
    return name->n > 0;
}

/* "batch*seq", "12*batch*seq", "past+seq": of two. */
static bool explain_two(const Size *a, const Size *b, const int64_t *stand, Buf *name)
{
    int64_t product[STANDS], sum[STANDS], factor = 1;
    int n = n_stands(a->stand, b->stand);
    product[STANDS_NEEDED] = sum[STANDS_NEEDED] = -1;
    for (int r = 0; r < n; r++) {
        if (__builtin_mul_overflow(a->stand[r], b->stand[r], &product[r]))
            return false;
        sum[r] = a->stand[r] + b->stand[r];
    }
    name->n = 0;
    n = n_stands(sum, stand);
    if (memcmp(sum, stand, (size_t)n * sizeof *sum) == 0)
        buf_printf(name, "%s+%s", a->name, b->name);
    else if (memcmp(product, stand, (size_t)n * sizeof *product) == 0)
        buf_printf(name, "%s*%s", a->name, b->name);
    else if (is_times(stand, product, &factor))
        buf_printf(name, "%" PRId64 "*%s*%s", factor, a->name, b->name);
    return name->n > 0;
}

static bool explain(const Sizes *sizes, const int64_t *stand, Buf *name)
{
    int n = sizes->sizes.n < BASES_MAX ? sizes->sizes.n : BASES_MAX;
    const Size *at = sizes->sizes.at;
    for (int i = 0; i < n; i++)
        if (explain_one(&at[i], stand, name))
            return true;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            if (explain_two(&at[i], &at[j], stand, name))
                return true;
    return false;
}

int64_t sizes_computed(Sizes *sizes, const int64_t *stand, bool late)
{
    int64_t dim;
    Buf name = buf_new(sizes->arena);
    if (find_stands(sizes, stand, &dim))
        return dim;
    if (!explain(sizes, stand, &name))
        return SIZE_UNNAMED;
    return add(sizes, buf_str(&name), stand, true, late);
}

int64_t sizes_add(Sizes *sizes, Str name, const int64_t *stand, bool late)
{
    int64_t dim = sizes_computed(sizes, stand, late);
    return dim != SIZE_UNNAMED ? dim : add(sizes, name, stand, false, late);
}

int sizes_count(const Sizes *sizes)
{
    return sizes->sizes.n;
}

bool shape_is_known(const Shape *shape)
{
    for (int64_t d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] < 0)
            return false;
    return shape->n_dims >= 0;
}

bool shape_check_known(const Shape *shape, Error *err)
{
    Shape known = *shape;
    for (int64_t d = 0; d < known.n_dims; d++)
        known.dim[d] = known.dim[d] < 0 ? 1 : known.dim[d];
    return shape_check(&known, err);
}

int64_t size_element(int64_t dim)
{
    return INT64_MIN + (-1 - dim);
}

bool element_size(int64_t element, int64_t *dim)
{
    bool is_size = element > INT64_MIN && element < INT64_MIN + ELEMENTS_SPAN;
    *dim = is_size ? -1 - (element - INT64_MIN) : element;
    return is_size;
}
