#include "core/layout/runs.h"

#include "core/base/vec.h"

#include <limits.h>

Runs runs_whole(Arena *arena, int64_t size)
{
    Runs runs = {.n = size > 0, .local_size = size, .at = arena_make(arena, Run)};
    runs.at[0] = (Run){0, size};
    return runs;
}

Runs runs_copy(Arena *arena, const Runs *runs)
{
    Runs copy = *runs;
    copy.at = arena_array(arena, Run, runs->n);
    for (int r = 0; r < runs->n; r++)
        copy.at[r] = runs->at[r];
    return copy;
}

/* The intervals a rank holds of each digit. Digits from `n_outer` on are held whole except the
 * first of them, so each choice of the outer ones is one run of `block` elements per step of it. */
typedef struct {
    int n_outer;
    int64_t lo[DIGITS_MAX], hi[DIGITS_MAX], block;
} Intervals;

static Intervals intervals_of(const Cut *cut, const Mesh *mesh, int64_t position)
{
    Intervals own = {.n_outer = 0, .block = 1};
    for (int i = 0; i < cut->n; i++)
        digit_interval(&cut->digit[i], mesh, position, &own.lo[i], &own.hi[i]);

    int first = (int)cut->n - 1;
    while (first > 0 && own.hi[first] - own.lo[first] == cut->digit[first].size)
        own.block *= cut->digit[first--].size;
    own.n_outer = first > 0 ? first : 0;
    return own;
}

/* A run of each block that the rank has a part of; neighbours joined. */
static Runs block_runs(Arena *arena, const Cut *cut, const Mesh *mesh, int64_t position)
{
    Runs runs = {.local_size = cut_local_size(cut, mesh, position), .unequal = true};
    runs.at = arena_array(arena, Run, cut->n);
    int64_t block = 0;
    for (int i = 0; i < cut->n; i++) {
        int64_t lo, hi;
        digit_interval(&cut->digit[i], mesh, position, &lo, &hi);
        Run *last = runs.n > 0 ? &runs.at[runs.n - 1] : NULL;
        if (last && last->start + last->length == block + lo)
            last->length += hi - lo;
        else if (hi > lo)
            runs.at[runs.n++] = (Run){block + lo, hi - lo};
        block += cut->digit[i].size;
    }
    return runs;
}

/* The elements [lo, hi) of a dim that goes on at its ends: what is beyond one is at the other. */
static Runs halo_runs(Arena *arena, int64_t lo, int64_t hi, int64_t size)
{
    Runs runs = {.local_size = hi - lo, .unequal = true, .at = arena_array(arena, Run, 2)};
    int64_t from = lo > 0 ? lo : 0, to = hi < size ? hi : size;
    if (hi > size)
        runs.at[runs.n++] = (Run){0, hi - size};
    if (to > from)
        runs.at[runs.n++] = (Run){from, to - from};
    if (lo < 0)
        runs.at[runs.n++] = (Run){size + lo, -lo};
    return runs;
}

int64_t cut_n_runs(const Cut *cut, const Mesh *mesh, int64_t position)
{
    if (cut_local_size(cut, mesh, position) == 0)
        return 0;
    if (cut_is_blocks(cut)) {
        Arena *scratch = arena_new();
        int n = block_runs(scratch, cut, mesh, position).n;
        arena_free(scratch);
        return n;
    }
    Intervals own = intervals_of(cut, mesh, position);
    int64_t n = 1;
    for (int i = 0; i < own.n_outer; i++)
        n *= own.hi[i] - own.lo[i];
    return n;
}

/* Choice i of the outer digits, the minor one varying fastest, as a global index. */
static int64_t outer_start(const Cut *cut, const Intervals *own, int64_t stride, int64_t i)
{
    int64_t start = 0;
    for (int d = own->n_outer - 1; d >= 0; d--) {
        int64_t n = own->hi[d] - own->lo[d];
        start += (own->lo[d] + i % n) * stride;
        stride *= cut->digit[d].size;
        i /= n;
    }
    return start;
}

Runs cut_runs(Arena *arena, const Cut *cut, const Mesh *mesh, int64_t position)
{
    if (cut->n == 0)
        return runs_whole(arena, 1);
    if (cut_is_blocks(cut))
        return block_runs(arena, cut, mesh, position);
    if (cut_has_halo(cut) && !cut_is_ring(cut)) {
        int64_t lo, hi;
        cut_interval(cut, mesh, position, &lo, &hi);
        return halo_runs(arena, lo, hi, cut_size(cut));
    }
    int64_t n = cut_n_runs(cut, mesh, position);
    Runs runs = {.local_size = cut_local_size(cut, mesh, position)};
    runs.at = arena_array(arena, Run, n <= INT_MAX ? n : INT64_MAX);
    runs.n = (int)n;

    Intervals own = intervals_of(cut, mesh, position);
    int inner = own.n_outer;
    int64_t stride = cut->digit[inner].size * own.block;
    Run run = {own.lo[inner] * own.block, (own.hi[inner] - own.lo[inner]) * own.block};
    for (int i = 0; i < runs.n; i++)
        runs.at[i] = (Run){outer_start(cut, &own, stride, i) + run.start, run.length};
    return runs;
}

int64_t runs_find(const Runs *runs, int64_t global)
{
    int lo = 0, hi = runs->n; /* the run looked for is the last that starts at global or before */
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (runs->at[middle].start <= global)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == 0)
        return -1;
    Run run = runs->at[lo - 1];
    int64_t before = (lo - 1) * run.length;
    if (runs->unequal) {
        before = 0;
        for (int i = 0; i < lo - 1; i++)
            before += runs->at[i].length;
    }
    return global < run.start + run.length ? before + (global - run.start) : -1;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t chunk_size(int64_t size, int64_t n)
{
    return size / n + (size % n != 0);
}

/* Takes elements off the front of runs. */
typedef struct {
    const Runs *runs;
    int run;
    int64_t inside; /* elements of that run taken already */
} Cursor;

static Run cursor_take(Cursor *cursor, int64_t at_most)
{
    Run run = cursor->runs->at[cursor->run];
    Run piece = {run.start + cursor->inside, min64(at_most, run.length - cursor->inside)};
    cursor->inside += piece.length;
    if (cursor->inside == run.length) {
        cursor->run++;
        cursor->inside = 0;
    }
    return piece;
}

typedef Vec(Run) CutRuns;

static void append_run(Arena *arena, CutRuns *list, Run run)
{
    if (list->n > 0 && list->at[list->n - 1].start + list->at[list->n - 1].length == run.start)
        list->at[list->n - 1].length += run.length;
    else
        vec_push(arena, list, run);
}

/* Moves n elements to the end of list; drops them if list is NULL. */
static void cursor_take_all(Cursor *cursor, int64_t n, Arena *arena, CutRuns *list)
{
    while (n > 0) {
        Run piece = cursor_take(cursor, n);
        if (list)
            append_run(arena, list, piece);
        n -= piece.length;
    }
}

bool runs_strided(Arena *arena, const Runs *in, int64_t n_blocks, int64_t n_parts, int64_t part,
                  Runs *out)
{
    *out = (Runs){0};
    if (in->local_size == 0)
        return true;
    int64_t block_size = chunk_size(in->local_size, n_blocks);
    if (in->local_size / block_size > RUNS_MAX)
        return false;

    CutRuns list = {0};
    Cursor cursor = {.runs = in};
    for (int64_t at = 0; at < in->local_size; at += block_size) {
        int64_t length = min64(block_size, in->local_size - at), size = chunk_size(length, n_parts);
        int64_t lo = part <= length / size ? min64(length, part * size) : length;
        int64_t hi = min64(length, lo + size);
        cursor_take_all(&cursor, lo, arena, NULL);
        cursor_take_all(&cursor, hi - lo, arena, &list);
        cursor_take_all(&cursor, length - hi, arena, NULL);
        out->local_size += hi - lo;
    }
    out->n = list.n;
    out->at = list.at;
    return list.n <= RUNS_MAX;
}
