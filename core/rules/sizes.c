#include "core/rules/sizes.h"

#include "core/base/vec.h"

#include <inttypes.h>

enum {
    BASES_MAX = 12,    /* sizes that computed ones are explained by: the first ones */
    FORMULA_MAX = 128, /* bytes of a name */
    FACTOR_MAX = 1 << 16,
    ELEMENTS_SPAN = 1 << 28
};

/* Primes go round between these; the last number is always 2. */
static const int64_t stand_first[STANDS] = {5000, 500, 10, 1},
                     stand_last[STANDS] = {15000, 2000, 48, 2};

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

static int64_t add(Sizes *sizes, Str name, const Stands *stands, bool computed, bool late)
{
    int32_t id = sizes->sizes.n;
    Size size = {arena_str(sizes->arena, name), *stands, computed, late};
    vec_push(sizes->arena, &sizes->sizes, size);
    if (intern_put(sizes->pairs, stands->at, STANDS_NEEDED * sizeof *stands->at) ==
        sizes->of_pair.n)
        vec_push(sizes->arena, &sizes->of_pair, id);
    if (intern_put(sizes->stands, stands, sizeof *stands) == sizes->of_stands.n)
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
    int64_t n = sizes->n_steps++, step[STANDS] = {40 + 17 * (n % 5), 12 + 5 * (n % 7), 1, 1};
    for (int r = 0; r < STANDS; r++) {
        sizes->last[r] += step[r];
        if (sizes->last[r] >= stand_last[r])
            sizes->last[r] = stand_first[r] + (r < STANDS_NEEDED ? n % 7 : 1);
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
    Stands stands = {.n = STANDS};
    memcpy(stands.at, sizes->last, sizeof stands.at);
    return add(sizes, name, &stands, false, late);
}

bool stands_equal(const Stands *a, const Stands *b)
{
    int64_t n = a->n < b->n ? a->n : b->n;
    return memcmp(a->at, b->at, (size_t)n * sizeof *a->at) == 0;
}

static bool find_stands(const Sizes *sizes, const Stands *stands, int64_t *dim)
{
    int32_t found = intern_find(sizes->stands, stands, sizeof *stands);
    if (found >= 0) {
        *dim = dim_of(sizes->of_stands.at[found]);
        return true;
    }
    found = intern_find(sizes->pairs, stands->at, STANDS_NEEDED * sizeof(int64_t));
    if (found < 0)
        return false;
    *dim = dim_of(sizes->of_pair.at[found]);
    return stands_equal(stands, &sizes_at(sizes, *dim)->stands);
}

/* ---- what a computed size is ---- */

/* False: the result leaves int64_t. */
typedef bool Combine(int64_t a, int64_t b, int64_t *out);

static bool plus(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool times(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static bool combine(Combine *fn, const Stands *a, const Stands *b, Stands *out)
{
    *out = (Stands){.n = a->n < b->n ? a->n : b->n};
    for (int r = 0; r < out->n; r++)
        if (!fn(a->at[r], b->at[r], &out->at[r]))
            return false;
    return true;
}

static bool is_times(const Stands *stands, const Stands *base, int64_t *factor)
{
    Stands whole, by;
    *factor = base->at[0] > 0 && stands->at[0] % base->at[0] == 0 ? stands->at[0] / base->at[0] : 0;
    by = stands_of_number(*factor);
    return *factor > 1 && *factor <= FACTOR_MAX && combine(times, base, &by, &whole) &&
           stands_equal(stands, &whole);
}

static bool is_shifted(const Stands *stands, const Stands *base, int64_t *by)
{
    Stands whole, shift;
    if (__builtin_sub_overflow(stands->at[0], base->at[0], by) || *by <= -FACTOR_MAX ||
        *by >= FACTOR_MAX)
        return false;
    shift = stands_of_number(*by);
    return combine(plus, base, &shift, &whole) && stands_equal(stands, &whole);
}

static int64_t part(int64_t whole, int64_t factor, bool up)
{
    return whole / factor + (up && whole % factor > 0);
}

static bool is_part(const Stands *stands, const Stands *base, int64_t *factor, bool up)
{
    *factor = stands->at[0] > 0 ? part(base->at[0], stands->at[0], up) : 0;
    if (*factor <= 1 || *factor > 64)
        return false;
    for (int r = 0; r < stands->n && r < base->n; r++)
        if (base->at[r] < 0 || part(base->at[r], *factor, up) != stands->at[r])
            return false;
    return true;
}

/* The name as a factor: a sum in brackets. */
static void put_factor(const Size *size, Buf *name)
{
    bool sum = size->computed && strpbrk(size->name, "+-/") != NULL;
    buf_printf(name, sum ? "(%s)" : "%s", size->name);
}

/* "2*seq", "seq/2", "seq+1", of one size. */
static bool explain_one(const Size *base, const Stands *stands, Buf *name)
{
    int64_t number;
    name->n = 0;
    if (is_times(stands, &base->stands, &number)) {
        buf_printf(name, "%" PRId64 "*", number);
        put_factor(base, name);
    } else if (is_shifted(stands, &base->stands, &number)) {
        buf_printf(name, "%s%+" PRId64, base->name, number);
    } else if (is_part(stands, &base->stands, &number, false)) {
        put_factor(base, name);
        buf_printf(name, "/%" PRId64, number);
    } else if (is_part(stands, &base->stands, &number, true)) {
        buf_printf(name, "ceil(%s/%" PRId64 ")", base->name, number);
    }
    return name->n > 0 && name->n <= FORMULA_MAX;
}

/* "batch*seq", "12*batch*seq", "past+seq": of two. */
static bool explain_two(const Size *a, const Size *b, const Stands *stands, Buf *name)
{
    Stands sum, product;
    int64_t factor = 1;
    name->n = 0;
    if (combine(plus, &a->stands, &b->stands, &sum) && stands_equal(&sum, stands)) {
        buf_printf(name, "%s+%s", a->name, b->name);
    } else if (combine(times, &a->stands, &b->stands, &product) &&
               (stands_equal(&product, stands) || is_times(stands, &product, &factor))) {
        if (factor > 1)
            buf_printf(name, "%" PRId64 "*", factor);
        put_factor(a, name);
        buf_putc(name, '*');
        put_factor(b, name);
    }
    return name->n > 0 && name->n <= FORMULA_MAX;
}

static bool explain(const Sizes *sizes, const Stands *stands, Buf *name)
{
    int n = sizes->sizes.n < BASES_MAX ? sizes->sizes.n : BASES_MAX;
    const Size *at = sizes->sizes.at;
    for (int i = 0; i < n; i++)
        if (explain_one(&at[i], stands, name))
            return true;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            if (explain_two(&at[i], &at[j], stands, name))
                return true;
    return false;
}

int64_t sizes_computed(Sizes *sizes, const Stands *stands, bool late)
{
    int64_t dim;
    Buf name = buf_new(sizes->arena);
    if (find_stands(sizes, stands, &dim))
        return dim;
    if (!explain(sizes, stands, &name))
        return SIZE_UNNAMED;
    return add(sizes, buf_str(&name), stands, true, late);
}

int64_t sizes_add(Sizes *sizes, Str name, const Stands *stands, bool late)
{
    int64_t dim = sizes_computed(sizes, stands, late);
    return dim != SIZE_UNNAMED ? dim : add(sizes, name, stands, false, late);
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
    if (shape_is_known(shape))
        return shape_check(shape, err);
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
