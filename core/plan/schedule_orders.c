#include "core/plan/schedule_orders.h"

#include "core/base/scan.h"

#include <inttypes.h>

void schedule_add(ScheduleMaking *making, int stage, BlockPass pass, int micro_batch, int step,
                  int span, int pair)
{
    Schedule *schedule = making->schedule;
    schedule->trains |= pass != BLOCK_FORWARD;
    if (pair >= 0)
        schedule->block[pair].pair = schedule->n_blocks;
    schedule->block[schedule->n_blocks++] = (Block){.stage = (int16_t)stage,
                                                    .backward = pass != BLOCK_FORWARD,
                                                    .pass = (int8_t)pass,
                                                    .micro_batch = micro_batch,
                                                    .step = step,
                                                    .span = span,
                                                    .after = -1,
                                                    .pair = pair};
}

static void add(ScheduleMaking *making, int stage, bool backward, int micro_batch, int step,
                int span)
{
    schedule_add(making, stage, backward ? BLOCK_BACKWARD : BLOCK_FORWARD, micro_batch, step, span,
                 -1);
}

/* ---- lanes ---- */

static int n_lanes(const Lanes *lanes, int stage)
{
    return lanes->first[stage + 1] - lanes->first[stage];
}

bool schedule_same_lanes(const Lanes *lanes, int a, int b)
{
    return n_lanes(lanes, a) == n_lanes(lanes, b) &&
           memcmp(lanes->lane + lanes->first[a], lanes->lane + lanes->first[b],
                  (size_t)n_lanes(lanes, a) * sizeof *lanes->lane) == 0;
}

static bool on_all_lanes(const ScheduleMaking *making, int stage)
{
    return n_lanes(making->lanes, stage) == making->lanes->n;
}

/* Returns whether two of the first n stages share a lane; with the flag, stages on all lanes are
 * ignored. */
static bool meet(const ScheduleMaking *making, int n, bool pass_full, int pair[2])
{
    const Lanes *lanes = making->lanes;
    int *owner = arena_array(making->arena, int, lanes->n); /* plus 1 */
    for (int s = 0; s < n; s++) {
        if (pass_full && on_all_lanes(making, s))
            continue;
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++) {
            if (owner[lanes->lane[i]]) {
                pair[0] = owner[lanes->lane[i]] - 1;
                pair[1] = s;
                return true;
            }
            owner[lanes->lane[i]] = s + 1;
        }
    }
    return false;
}

/* The number of stages until the lanes of the first one come again. */
static int turn(const ScheduleMaking *making)
{
    int g = 1;
    while (g < making->n && !schedule_same_lanes(making->lanes, 0, g))
        g++;
    return g;
}

/* The first stage that does not follow the turns of g, or n. */
static int breaks_turn(const ScheduleMaking *making, int g)
{
    for (int s = g; s < making->n; s++)
        if (!schedule_same_lanes(making->lanes, s, s % g))
            return s;
    return making->n;
}

/* Stages lie in a V: first half down, second half back. */
static bool in_v(const ScheduleMaking *making)
{
    int n = making->n, pair[2];
    for (int s = 0; 2 * s < n; s++)
        if (n % 2 != 0 || !schedule_same_lanes(making->lanes, s, n - 1 - s))
            return false;
    return !meet(making, n / 2, false, pair);
}

static bool takes_turns(const ScheduleMaking *making)
{
    int g = turn(making), pair[2];
    return making->n % g == 0 && breaks_turn(making, g) == making->n &&
           !meet(making, g, false, pair);
}

static bool has_full_between(const ScheduleMaking *making)
{
    int n_full = 0, pair[2];
    for (int s = 0; s < making->n; s++)
        n_full += on_all_lanes(making, s);
    return n_full > 0 && n_full < making->n && !meet(making, making->n, true, pair);
}

/* The schedules that these stages can have, as the hint of an error. */
static bool refuse(const ScheduleMaking *making)
{
    int pair[2];
    if (!meet(making, making->n, false, pair))
        error_hint(making->err, "these stages have devices of their own: 1f1b, gpipe, zb1p, "
                                "infer_pipe");
    else if (has_full_between(making))
        error_hint(making->err, "stages on all devices go between the others in 1f1b_plus");
    else if (takes_turns(making))
        error_hint(making->err, "these stages take turns: 1f1b_interleaved, looped_bfs, "
                                "interleaved_zero_bubble");
    else if (in_v(making))
        error_hint(making->err, "these stages lie in a V: zbv, dualpipev");
    else
        error_hint(making->err, "give each stage devices of its own, or stages the same ones in "
                                "turns (1f1b_interleaved), or write the steps out");
    return false;
}

static bool refuse_pair(const ScheduleMaking *making, const int pair[2])
{
    error_kind(making->err, ERROR_CONFLICT, "%s: stages %d and %d share devices", making->name,
               pair[0], pair[1]);
    return refuse(making);
}

/* ---- the schedules with names ---- */

bool schedule_need_own(ScheduleMaking *making)
{
    int pair[2];
    return !meet(making, making->n, false, pair) || refuse_pair(making, pair);
}

bool schedule_need_turns(ScheduleMaking *making, int *g_out)
{
    int g = turn(making), out = breaks_turn(making, g), pair[2];
    *g_out = g;
    if (meet(making, g, false, pair))
        return refuse_pair(making, pair);
    if (out < making->n) {
        error_kind(making->err, ERROR_CONFLICT,
                   "%s: stages take turns of %d, but stage %d has other devices than stage %d",
                   making->name, g, out, out % g);
        return refuse(making);
    }
    if (making->n % g == 0)
        return true;
    error_kind(making->err, ERROR_OUT_OF_RANGE,
               "%s: %d stages take turns of %d, which does not divide", making->name, making->n, g);
    error_hint(making->err, "%d stages or %d", making->n / g * g, (making->n / g + 1) * g);
    return false;
}

bool schedule_need_v(ScheduleMaking *making)
{
    if (in_v(making))
        return true;
    error_kind(making->err, ERROR_CONFLICT,
               "%s: the stages do not lie in a V, stage s where stage %d - s is", making->name,
               making->n - 1);
    return refuse(making);
}

static int step_1f1b(int n, int s, int k, bool backward)
{
    return backward ? s + 2 * (k + n - 1 - s) + 1 : s + 2 * k;
}

bool order_1f1b(ScheduleMaking *making)
{
    if (!schedule_need_own(making))
        return false;
    for (int s = 0; s < making->n; s++)
        for (int k = 0; k < making->m; k++) {
            add(making, s, false, k, step_1f1b(making->n, s, k, false), 1);
            add(making, s, true, k, step_1f1b(making->n, s, k, true), 1);
        }
    return true;
}

bool order_gpipe(ScheduleMaking *making)
{
    if (!schedule_need_own(making))
        return false;
    int n = making->n, m = making->m;
    for (int s = 0; s < n; s++)
        for (int k = 0; k < m; k++) {
            add(making, s, false, k, s + k, 1);
            add(making, s, true, k, m + n - 1 + n - 1 - s + k, 1);
        }
    return true;
}

/* One micro-batch passes from stage to stage, whatever devices they share. */
bool order_infer_pipe(ScheduleMaking *making)
{
    if (making->m > 1 && !schedule_need_own(making))
        return false;
    for (int s = 0; s < making->n; s++)
        for (int k = 0; k < making->m; k++)
            add(making, s, false, k, s + k, 1);
    return true;
}

/* Steps of a pair of micro-batches, 16 after those of the pair before; the first forwards move up
 * into the gap that the previous pair leaves. */
bool order_chimera_direct(ScheduleMaking *making)
{
    static const int forward[2][4] = {{-3, -2, 2, 3}, {2, 3, 4, 6}};
    static const int backward[2][4] = {{10, 8, 6, 4}, {14, 12, 10, 8}};
    if (making->n != 4 || making->m % 2 != 0) {
        error_kind(
            making->err, ERROR_OUT_OF_RANGE,
            "chimera_direct takes 4 stages and an even number of micro-batches, not %d and %d",
            making->n, making->m);
        return refuse(making);
    }
    if (!schedule_need_own(making))
        return false;
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < making->m; k++) {
            int at = k / 2 * 16, step = at + forward[k % 2][s];
            add(making, s, false, k, step < s ? s : step, 1);
            add(making, s, true, k, at + backward[k % 2][s], 2);
        }
    return true;
}

/* ---- 1f1b_plus ---- */

typedef struct {
    int n_own;
    const int *own; /* the stages with lanes of their own */
    int *begin;     /* per step of their own 1f1b: its step among all; with one more at the end */
    int *before;    /* per step: the next free one of the steps inserted before it; see
                       put_between() */
    int *behind;
} Between;

static int own_step(const Between *between, int i, int k, bool backward)
{
    return step_1f1b(between->n_own, i, k, backward);
}

/* Counts or, with `place`, adds the blocks of stages on all lanes. Those before own stage i go
 * before its forward and after its backward; those after the last own stage the other way round. */
static void put_between(ScheduleMaking *making, Between *between, bool place)
{
    for (int i = 0; i <= between->n_own; i++) {
        bool last = i == between->n_own;
        int from = i > 0 ? between->own[i - 1] + 1 : 0, to = last ? making->n : between->own[i];
        int beside = last ? i - 1 : i;
        for (int k = 0; k < making->m; k++) {
            int forward = own_step(between, beside, k, false);
            int backward = own_step(between, beside, k, true);
            int *at_forward = (last ? between->behind : between->before) + forward;
            int *at_backward = (last ? between->before : between->behind) + backward;
            for (int s = from; s < to; s++) {
                if (place)
                    add(making, s, false, k, *at_forward, 1);
                ++*at_forward;
            }
            for (int s = to - 1; s >= from; s--) {
                if (place)
                    add(making, s, true, k, *at_backward, 1);
                ++*at_backward;
            }
        }
    }
}

bool order_1f1b_plus(ScheduleMaking *making)
{
    int pair[2], n = 0, *own = arena_array(making->arena, int, making->n);
    for (int s = 0; s < making->n; s++)
        if (!on_all_lanes(making, s))
            own[n++] = s;
    if (meet(making, making->n, true, pair))
        return refuse_pair(making, pair);
    if (n == 0) {
        error_kind(making->err, ERROR_OUT_OF_RANGE, "%s: every stage runs on all devices",
                   making->name);
        return refuse(making);
    }
    int n_steps = 2 * (making->m + n - 1);
    Between between = {.n_own = n, .own = own};
    between.before = arena_array(making->arena, int, n_steps);
    between.behind = arena_array(making->arena, int, n_steps);
    between.begin = arena_array(making->arena, int, n_steps);
    put_between(making, &between, false);
    for (int t = 0, at = 0; t < n_steps; t++) {
        int before = between.before[t], behind = between.behind[t];
        between.before[t] = at;
        between.begin[t] = at + before;
        between.behind[t] = at + before + 1;
        at += before + 1 + behind;
    }
    put_between(making, &between, true);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < making->m; k++)
            for (int backward = 0; backward < 2; backward++)
                add(making, own[i], backward, k, between.begin[own_step(&between, i, k, backward)],
                    1);
    return true;
}

/* ---- steps written out ---- */

/* Fails with ERROR_OUT_OF_RANGE at the number's place if it is not from `low` to `high`. */
static bool scan_within(Scan *scan, const char *what, int low, int high, int *out)
{
    scan_peek(scan);
    size_t at = scan->at;
    int64_t number;
    if (!scan_int(scan, &number))
        return false;
    *out = (int)number;
    if (number >= low && number <= high)
        return true;
    error_kind(scan->err, ERROR_OUT_OF_RANGE, "there is no %s %" PRId64 ": they are %d to %d", what,
               number, low, high);
    error_at(scan->err, scan->source, at);
    return false;
}

static bool read_pass(Scan *scan, BlockPass *out)
{
    for (int pass = 0; pass < N_BLOCK_PASSES; pass++)
        if (scan_accept(scan, schedule_pass_letter((BlockPass)pass))) {
            *out = (BlockPass)pass;
            return true;
        }
    return scan_fail(scan, "after the stage stands f or b, forward or backward, or for a half of "
                           "the backward i or w");
}

static bool read_block(ScheduleMaking *making, Scan *scan, int step, int pair)
{
    int stage, micro_batch, span = 1;
    BlockPass pass = BLOCK_FORWARD;
    if (!scan_within(scan, "stage", 0, making->n - 1, &stage) || !read_pass(scan, &pass) ||
        !scan_within(scan, "micro-batch", 0, making->m - 1, &micro_batch) ||
        (scan_accept(scan, '*') && !scan_within(scan, "span", 1, SPAN_MAX, &span)))
        return false;
    if (making->schedule->n_blocks == 3 * making->n * making->m)
        return error_kind(scan->err, ERROR_DUPLICATE,
                          "more blocks than %d stages have with %d micro-batches", making->n,
                          making->m);
    schedule_add(making, stage, pass, micro_batch, step, span, pair);
    return true;
}

bool order_steps(ScheduleMaking *making, const Source *source)
{
    Scan scan = scan_begin(source, making->err);
    for (int step = 0; scan_peek(&scan) != '\0'; step++) {
        if (scan_accept(&scan, '-'))
            continue;
        do {
            if (!read_block(making, &scan, step, -1))
                return false;
            if (scan_accept(&scan, '&') &&
                !read_block(making, &scan, step, making->schedule->n_blocks - 1))
                return false;
        } while (scan_accept(&scan, '+'));
    }
    return true;
}
