#include "core/model/period.h"

/* The stretch [start, end) with period size. */
typedef struct {
    int32_t start, end, size;
} RepeatedRun;

/* hash[i]: of the first i symbols, as a polynomial modulo 2^64; power[i]: of its base. */
typedef struct {
    const int32_t *symbols;
    int32_t n;
    uint64_t *hash, *power;
    RepeatedRun last, best;
} RunSearch;

static const uint64_t base = 0xD6E8FEB86659FD93u;

static void hash_prefixes(RunSearch *search)
{
    search->power[0] = 1;
    for (int32_t i = 0; i < search->n; i++) {
        uint64_t symbol = ((uint64_t)(uint32_t)search->symbols[i] + 1) * 0x9E3779B97F4A7C15u;
        search->hash[i + 1] = search->hash[i] * base + (symbol ^ symbol >> 29);
        search->power[i + 1] = search->power[i] * base;
    }
}

/* Equality of the n symbols from a and from b, but for collisions. */
static bool is_same(const RunSearch *search, int32_t a, int32_t b, int32_t n)
{
    uint64_t power = search->power[n];
    return search->hash[a + n] - search->hash[a] * power ==
           search->hash[b + n] - search->hash[b] * power;
}

enum { NEAR = 16 }; /* so many symbols are compared directly before hashes are */

/* Symbols in common from a on and from b on, a < b. */
static int32_t common_after(const RunSearch *search, int32_t a, int32_t b)
{
    int32_t limit = search->n - b, n = 0;
    while (n < limit && n < NEAR && search->symbols[a + n] == search->symbols[b + n])
        n++;
    if (n < NEAR || n == limit)
        return n;
    int32_t step = NEAR;
    for (; step <= limit - n && is_same(search, a + n, b + n, step); step *= 2)
        n += step;
    for (; step > 0; step /= 2)
        if (step <= limit - n && is_same(search, a + n, b + n, step))
            n += step;
    return n;
}

/* Symbols in common before a and before b, a < b. */
static int32_t common_before(const RunSearch *search, int32_t a, int32_t b)
{
    int32_t limit = a, n = 0;
    while (n < limit && n < NEAR && search->symbols[a - 1 - n] == search->symbols[b - 1 - n])
        n++;
    if (n < NEAR || n == limit)
        return n;
    int32_t step = NEAR;
    for (; step <= limit - n && is_same(search, a - n - step, b - n - step, step); step *= 2)
        n += step;
    for (; step > 0; step /= 2)
        if (step <= limit - n && is_same(search, a - n - step, b - n - step, step))
            n += step;
    return n;
}

static bool is_inside(const RepeatedRun *run, int32_t a, int32_t b)
{
    return b - a == run->size && run->start <= a && b < run->end;
}

/* common_after(), without comparing where a known run gives the answer. */
static int32_t common_known(const RunSearch *search, int32_t a, int32_t b)
{
    if (is_inside(&search->last, a, b))
        return search->last.end - b;
    if (is_inside(&search->best, a, b))
        return search->best.end - b;
    return common_after(search, a, b);
}

static int32_t covered(const RepeatedRun *run)
{
    return run->size == 0 ? 0 : (run->end - run->start) / run->size * run->size;
}

/* Records the run around the Lyndon word [a, b), if there is one and no better one is known. */
static void keep_run(RunSearch *search, int32_t a, int32_t b)
{
    if (is_inside(&search->last, a, b) || is_inside(&search->best, a, b))
        return;
    int32_t after = b < search->n ? common_after(search, a, b) : 0;
    RepeatedRun run = {a - common_before(search, a, b), b + after, b - a};
    if (run.end - run.start < 2 * run.size)
        return;
    search->last = run;
    int32_t more = covered(&run) - covered(&search->best);
    if (more > 0 || (more == 0 && run.size < search->best.size))
        search->best = run;
}

/* next[i]: where the longest Lyndon word from i ends, which is the next place whose rest of the
 * sequence is smaller. sign -1 reverses the order of the symbols. */
static void find_runs(RunSearch *search, int32_t *next, int sign)
{
    for (int32_t i = search->n - 1; i >= 0; i--) {
        int32_t j = i + 1;
        while (j < search->n) {
            int32_t same = common_known(search, i, j);
            if (j + same == search->n)
                break;
            int32_t a = search->symbols[i + same], b = search->symbols[j + same];
            if (sign > 0 ? b < a : b > a)
                break;
            j = next[j];
        }
        next[i] = j;
        keep_run(search, i, j);
    }
}

static bool is_run(const RunSearch *search, const RepeatedRun *run)
{
    for (int32_t i = run->start; i + run->size < run->end; i++)
        if (search->symbols[i] != search->symbols[i + run->size])
            return false;
    return true;
}

Period period_find(Arena *scratch, const int32_t *symbols, int32_t n)
{
    RunSearch search = {.symbols = symbols, .n = n};
    search.hash = arena_array(scratch, uint64_t, n + 1);
    search.power = arena_array(scratch, uint64_t, n + 1);
    int32_t *next = arena_array(scratch, int32_t, n);
    hash_prefixes(&search);
    find_runs(&search, next, 1);
    find_runs(&search, next, -1);

    RepeatedRun run = search.best;
    if (run.size == 0 || !is_run(&search, &run))
        return (Period){0};
    int32_t count = (run.end - run.start) / run.size;
    return (Period){.start = run.start,
                    .size = run.size,
                    .count = count,
                    .spare = run.end - run.start - count * run.size};
}
