#include "core/rules/sizes.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <inttypes.h>

enum {
    BASES_MAX = 12,    /* sizes that computed ones are explained by: the first ones */
    FORMULA_MAX = 128, /* bytes of a name */
    FACTOR_MAX = 1 << 16,
    ELEMENTS_SPAN = 1 << 28
};

/* Primes are chosen in turn between these bounds; the last number is always 2. */
static const int64_t stand_first[SAMPLES] = {5000, 500, 10, 1},
                     stand_last[SAMPLES] = {15000, 2000, 48, 2};

struct Sizes {
    Arena *arena;
    Intern *names, *pairs, *samples; /* keys: names, the numbers needed, all; of_.. the sizes */
    Vec(int32_t) of_name, of_pair, of_samples;
    Vec(Size) sizes;
    int64_t last[SAMPLES]; /* primes given out */
    int n_steps;
};

Sizes *sizes_new(Arena *arena)
{
    Sizes *sizes = arena_make(arena, Sizes);
    sizes->arena = arena;
    sizes->names = intern_new(arena);
    sizes->pairs = intern_new(arena);
    sizes->samples = intern_new(arena);
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

static int64_t add(Sizes *sizes, Str name, const SizeSamples *samples, bool computed, bool late)
{
    int32_t id = sizes->sizes.n;
    Size size = {arena_str(sizes->arena, name), *samples, computed, late};
    vec_push(sizes->arena, &sizes->sizes, size);
    if (intern_put(sizes->pairs, samples->at, SAMPLES_NEEDED * sizeof *samples->at) ==
        sizes->of_pair.n)
        vec_push(sizes->arena, &sizes->of_pair, id);
    if (intern_put(sizes->samples, samples, sizeof *samples) == sizes->of_samples.n)
        vec_push(sizes->arena, &sizes->of_samples, id);
    if (intern_put(sizes->names, name.s, name.n) == sizes->of_name.n)
        vec_push(sizes->arena, &sizes->of_name, id);
    return dim_of(id);
}

const Size *sizes_at(const Sizes *sizes, int64_t dim)
{
    return &sizes->sizes.at[-2 - dim];
}

/* Advances by uneven steps, so that the numbers of one size do not all exceed those of another by
 * the same amount. */
static void step_stands(Sizes *sizes)
{
    int64_t n = sizes->n_steps++, step[SAMPLES] = {40 + 17 * (n % 5), 12 + 5 * (n % 7), 1, 1};
    for (int r = 0; r < SAMPLES; r++) {
        sizes->last[r] += step[r];
        if (sizes->last[r] >= stand_last[r])
            sizes->last[r] = stand_first[r] + (r < SAMPLES_NEEDED ? n % 7 : 1);
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
    while (intern_find(sizes->pairs, sizes->last, SAMPLES_NEEDED * sizeof *sizes->last) >= 0);
    SizeSamples samples = {.n = SAMPLES};
    memcpy(samples.at, sizes->last, sizeof samples.at);
    return add(sizes, name, &samples, false, late);
}

bool samples_equal(const SizeSamples *a, const SizeSamples *b)
{
    int64_t n = a->n < b->n ? a->n : b->n;
    return memcmp(a->at, b->at, (size_t)n * sizeof *a->at) == 0;
}

static bool find_samples(const Sizes *sizes, const SizeSamples *samples, int64_t *dim)
{
    int32_t found = intern_find(sizes->samples, samples, sizeof *samples);
    if (found >= 0) {
        *dim = dim_of(sizes->of_samples.at[found]);
        return true;
    }
    found = intern_find(sizes->pairs, samples->at, SAMPLES_NEEDED * sizeof(int64_t));
    if (found < 0)
        return false;
    *dim = dim_of(sizes->of_pair.at[found]);
    return samples_equal(samples, &sizes_at(sizes, *dim)->samples);
}

/* ---- what a computed size is ---- */

/* Returns false if the result overflows int64_t. */
typedef bool Combine(int64_t a, int64_t b, int64_t *out);

static bool plus(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool times(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static bool combine(Combine *fn, const SizeSamples *a, const SizeSamples *b, SizeSamples *out)
{
    *out = (SizeSamples){.n = a->n < b->n ? a->n : b->n};
    for (int r = 0; r < out->n; r++)
        if (!fn(a->at[r], b->at[r], &out->at[r]))
            return false;
    return true;
}

static bool is_times(const SizeSamples *samples, const SizeSamples *base, int64_t *factor)
{
    SizeSamples whole, by;
    *factor =
        base->at[0] > 0 && samples->at[0] % base->at[0] == 0 ? samples->at[0] / base->at[0] : 0;
    by = samples_of_number(*factor);
    return *factor > 1 && *factor <= FACTOR_MAX && combine(times, base, &by, &whole) &&
           samples_equal(samples, &whole);
}

static bool is_shifted(const SizeSamples *samples, const SizeSamples *base, int64_t *by)
{
    SizeSamples whole, shift;
    if (__builtin_sub_overflow(samples->at[0], base->at[0], by) || *by <= -FACTOR_MAX ||
        *by >= FACTOR_MAX)
        return false;
    shift = samples_of_number(*by);
    return combine(plus, base, &shift, &whole) && samples_equal(samples, &whole);
}

static int64_t part(int64_t whole, int64_t factor, bool up)
{
    return whole / factor + (up && whole % factor > 0);
}

static bool is_part(const SizeSamples *samples, const SizeSamples *base, int64_t *factor, bool up)
{
    *factor = samples->at[0] > 0 ? part(base->at[0], samples->at[0], up) : 0;
    if (*factor <= 1 || *factor > 64)
        return false;
    for (int r = 0; r < samples->n && r < base->n; r++)
        if (base->at[r] < 0 || part(base->at[r], *factor, up) != samples->at[r])
            return false;
    return true;
}

/* Appends the name as a factor: a sum gets brackets. */
static void put_factor(const Size *size, Buf *name)
{
    bool sum = size->computed && strpbrk(size->name, "+-/") != NULL;
    buf_printf(name, sum ? "(%s)" : "%s", size->name);
}

/* A formula of one size: "2*seq", "seq/2", "seq+1". */
static bool explain_one(const Size *base, const SizeSamples *samples, Buf *name)
{
    int64_t number;
    name->n = 0;
    if (is_times(samples, &base->samples, &number)) {
        buf_printf(name, "%" PRId64 "*", number);
        put_factor(base, name);
    } else if (is_shifted(samples, &base->samples, &number)) {
        buf_printf(name, "%s%+" PRId64, base->name, number);
    } else if (is_part(samples, &base->samples, &number, false)) {
        put_factor(base, name);
        buf_printf(name, "/%" PRId64, number);
    } else if (is_part(samples, &base->samples, &number, true)) {
        buf_printf(name, "ceil(%s/%" PRId64 ")", base->name, number);
    }
    return name->n > 0 && name->n <= FORMULA_MAX;
}

/* A formula of two sizes: "batch*seq", "12*batch*seq", "past+seq". */
static bool explain_two(const Size *a, const Size *b, const SizeSamples *samples, Buf *name)
{
    SizeSamples sum, product;
    int64_t factor = 1;
    name->n = 0;
    if (combine(plus, &a->samples, &b->samples, &sum) && samples_equal(&sum, samples)) {
        buf_printf(name, "%s+%s", a->name, b->name);
    } else if (combine(times, &a->samples, &b->samples, &product) &&
               (samples_equal(&product, samples) || is_times(samples, &product, &factor))) {
        if (factor > 1)
            buf_printf(name, "%" PRId64 "*", factor);
        put_factor(a, name);
        buf_putc(name, '*');
        put_factor(b, name);
    }
    return name->n > 0 && name->n <= FORMULA_MAX;
}

static bool explain(const Sizes *sizes, const SizeSamples *samples, Buf *name)
{
    int n = sizes->sizes.n < BASES_MAX ? sizes->sizes.n : BASES_MAX;
    const Size *at = sizes->sizes.at;
    for (int i = 0; i < n; i++)
        if (explain_one(&at[i], samples, name))
            return true;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            if (explain_two(&at[i], &at[j], samples, name))
                return true;
    return false;
}

int64_t sizes_computed(Sizes *sizes, const SizeSamples *samples, bool late)
{
    int64_t dim;
    Buf name = buf_new(sizes->arena);
    if (find_samples(sizes, samples, &dim))
        return dim;
    if (!explain(sizes, samples, &name))
        return SIZE_UNNAMED;
    return add(sizes, buf_str(&name), samples, true, late);
}

int64_t sizes_add(Sizes *sizes, Str name, const SizeSamples *samples, bool late)
{
    int64_t dim = sizes_computed(sizes, samples, late);
    return dim != SIZE_UNNAMED ? dim : add(sizes, name, samples, false, late);
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
