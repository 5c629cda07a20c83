/* Schedules: the published formulas, Megatron's order from its definition, tables checked block by
 * block, times worked out again step by step, and what is refused. */
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/plan/schedule.h"

#include <math.h>

enum { SIDE = 16 };

/* ---- lanes ---- */

/* Stage s on lane s % g; with `full` a set of stages that are on all lanes. */
static const Lanes *lanes_of(Arena *arena, int n, int g, uint32_t full)
{
    Lanes *lanes = arena_make(arena, Lanes);
    int32_t *first = arena_array(arena, int32_t, n + 1), at = 0;
    int32_t *lane = arena_array(arena, int32_t, n * g), *devices = arena_array(arena, int32_t, g);
    for (int s = 0, own = 0; s < n; s++) {
        first[s] = at;
        if (s < 32 && full >> s & 1)
            for (int l = 0; l < g; l++)
                lane[at++] = l;
        else
            lane[at++] = own++ % g;
    }
    first[n] = at;
    for (int l = 0; l < g; l++)
        devices[l] = 2;
    *lanes = (Lanes){.n = g, .n_devices = devices, .first = first, .lane = lane};
    return lanes;
}

/* 2p stages on p lanes, in a V. */
static const Lanes *lanes_in_v(Arena *arena, int p)
{
    Lanes *lanes = arena_make(arena, Lanes);
    *lanes = *lanes_of(arena, 2 * p, p, 0);
    int32_t *lane = arena_array(arena, int32_t, 2 * p);
    for (int s = 0; s < 2 * p; s++)
        lane[s] = s < p ? s : 2 * p - 1 - s;
    lanes->lane = lane;
    return lanes;
}

static Schedule *made(Arena *arena, const char *name, int n, const Lanes *lanes, int m)
{
    Error err = {0};
    Schedule *schedule = schedule_make(arena, str_from(name), n, lanes, m, &err);
    if (!schedule)
        fail_msg("%s of %d stages, %d micro-batches: %s", name, n, m, err.text);
    return schedule;
}

static const Block *block_of(const Schedule *schedule, int stage, bool backward, int micro_batch)
{
    return &schedule->block[schedule_block(schedule, stage, backward, micro_batch)];
}

/* ---- truths of every table, by force ---- */

static void assert_needs(const Schedule *schedule, const Block *block)
{
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *other = &schedule->block[i];
        if (other->micro_batch != block->micro_batch || other->pass == BLOCK_WEIGHT)
            continue;
        bool needed = !other->backward && other->stage == block->stage - 1;
        if (block->pass == BLOCK_WEIGHT)
            needed = other->pass == BLOCK_INPUT && other->stage == block->stage;
        else if (block->backward)
            needed = other->stage == block->stage + other->backward && other != block;
        if (needed)
            assert_true(other->step + other->span <= block->step);
    }
}

static bool share_a_lane(const Lanes *lanes, int a, int b)
{
    for (int32_t i = lanes->first[a]; i < lanes->first[a + 1]; i++)
        for (int32_t j = lanes->first[b]; j < lanes->first[b + 1]; j++)
            if (lanes->lane[i] == lanes->lane[j])
                return true;
    return false;
}

static void assert_valid(const Schedule *schedule)
{
    int n_passes = schedule->trains ? 2 : 1, n_weights = 0;
    for (int i = 0; i < schedule->n_blocks; i++)
        n_weights += schedule->block[i].pass == BLOCK_WEIGHT;
    assert_int_equal(schedule->n_blocks - n_weights,
                     n_passes * schedule->n_stages * schedule->n_micro_batches);
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pass != BLOCK_WEIGHT)
            assert_ptr_equal(block,
                             block_of(schedule, block->stage, block->backward, block->micro_batch));
        assert_true(block->step + block->span <= schedule->n_steps);
        assert_needs(schedule, block);
        for (int k = i + 1; k < schedule->n_blocks; k++) {
            const Block *later = &schedule->block[k];
            assert_true(later->step > block->step ||
                        (later->step == block->step && later->stage > block->stage));
            if (later->step < block->step + block->span && block->pair != k)
                assert_false(share_a_lane(schedule->lanes, block->stage, later->stage));
        }
    }
}

/* ---- the formulas ---- */

static void follows_1f1b(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int n = 1; n <= SIDE; n++)
        for (int m = 1; m <= SIDE; m++) {
            const Schedule *schedule = made(arena, "1f1b", n, lanes_of(arena, n, n, 0), m);
            assert_int_equal(schedule->n_steps, 2 * (m + n - 1));
            for (int s = 0; s < n; s++)
                for (int k = 0; k < m; k++) {
                    assert_int_equal(block_of(schedule, s, false, k)->step, s + 2 * k);
                    assert_int_equal(block_of(schedule, s, true, k)->step,
                                     s + 2 * (k + n - 1 - s) + 1);
                }
            assert_valid(schedule);
        }
    arena_free(arena);
}

static void follows_gpipe_and_infer_pipe(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int n = 1; n <= SIDE; n++)
        for (int m = 1; m <= SIDE; m++) {
            const Lanes *lanes = lanes_of(arena, n, n, 0);
            const Schedule *gpipe = made(arena, "gpipe", n, lanes, m);
            const Schedule *infer = made(arena, "infer_pipe", n, lanes, m);
            assert_int_equal(gpipe->n_steps, 2 * (m + n - 1));
            assert_int_equal(infer->n_steps, m + n - 1);
            assert_false(infer->trains);
            for (int s = 0; s < n; s++)
                for (int k = 0; k < m; k++) {
                    assert_int_equal(block_of(gpipe, s, false, k)->step, s + k);
                    assert_int_equal(block_of(infer, s, false, k)->step, s + k);
                    assert_int_equal(block_of(gpipe, s, true, k)->step,
                                     (m + n - 1) + (n - 1 - s) + k);
                }
            assert_valid(gpipe);
            assert_valid(infer);
        }
    arena_free(arena);
}

/* Two pairs, written as nnScaler's table is: rows are stages, F/f the first pair's, B/b two steps.
 */
static void follows_chimera(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Schedule *schedule = made(arena, "chimera_direct", 4, lanes_of(arena, 4, 4, 0), 4);
    static const int steps[4][2][4] = {
        {{0, 2, 13, 18}, {10, 14, 26, 30}},
        {{1, 3, 14, 19}, {8, 12, 24, 28}},
        {{2, 4, 18, 20}, {6, 10, 22, 26}},
        {{3, 6, 19, 22}, {4, 8, 20, 24}},
    };
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < 4; k++) {
            assert_int_equal(block_of(schedule, s, false, k)->step, steps[s][0][k]);
            assert_int_equal(block_of(schedule, s, true, k)->step, steps[s][1][k]);
            assert_int_equal(block_of(schedule, s, true, k)->span, 2);
        }
    for (int m = 2; m <= SIDE; m += 2)
        assert_valid(made(arena, "chimera_direct", 4, lanes_of(arena, 4, 4, 0), m));
    arena_free(arena);
}

/* ---- Megatron's order, from its definition ---- */

/* A lane's blocks in the order of their steps. */
static int lane_order(const Schedule *schedule, int lane, int g, Block *out)
{
    int n = 0;
    for (int i = 0; i < schedule->n_blocks; i++)
        if (schedule->block[i].stage % g == lane)
            out[n++] = schedule->block[i];
    return n;
}

/* Virtual micro-batches are taken by g of a chunk, chunks in turn; a backward has them reversed. */
static void assert_block(const Block *block, bool backward, int q, int lane, int g, int v)
{
    int cycle = q / (g * v), inside = q % (g * v), chunk = inside / g;
    assert_int_equal(block->backward, backward);
    assert_int_equal(block->micro_batch, cycle * g + inside % g);
    assert_int_equal(block->stage, (backward ? v - 1 - chunk : chunk) * g + lane);
}

static void assert_megatron(const Schedule *schedule, int g)
{
    static Block order[2 * SIDE * SIDE * 4];
    int v = schedule->n_stages / g, m = schedule->n_micro_batches;
    for (int lane = 0; lane < g; lane++) {
        int total = m * v, warm_up = (v - 1) * g + 2 * (g - lane - 1), f = 0, b = 0, i = 0;
        assert_int_equal(lane_order(schedule, lane, g, order), 2 * total);
        if (warm_up > total)
            warm_up = total;
        while (f < warm_up)
            assert_block(&order[i++], false, f++, lane, g, v);
        while (f < total) {
            assert_block(&order[i++], false, f++, lane, g, v);
            assert_block(&order[i++], true, b++, lane, g, v);
        }
        while (b < total)
            assert_block(&order[i++], true, b++, lane, g, v);
    }
}

static void follows_megatron(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int g = 1; g <= 8; g++)
        for (int v = 1; v <= 4; v++)
            for (int m = g; m <= SIDE; m += g) {
                const Schedule *schedule =
                    made(arena, "1f1b_interleaved", g * v, lanes_of(arena, g * v, g, 0), m);
                assert_megatron(schedule, g);
                assert_valid(schedule);
            }
    arena_free(arena);
}

/* ---- stages on all devices ---- */

static void puts_full_stages_between(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int n = 2; n <= 6; n++)
        for (uint32_t full = 1; full < (1u << n) - 1; full++)
            for (int m = 1; m <= 6; m++) {
                int own = n - __builtin_popcount(full);
                const Lanes *lanes = lanes_of(arena, n, own, full);
                if (own < 2)
                    continue;
                const Schedule *schedule = made(arena, "1f1b_plus", n, lanes, m);
                assert_valid(schedule);
                assert_int_equal(schedule->n_steps, 2 * (m + own - 1) + 2 * m * (n - own));
            }
    /* Stage 0 on all, stages 1 and 2 of their own: a step before each forward of 1, and one behind
     * each backward of it. */
    Buf text = buf_new(arena);
    schedule_format(made(arena, "1f1b_plus", 3, lanes_of(arena, 3, 2, 1), 2), &text);
    assert_string_equal(text.s, "0f0 1f0 2f0 0f1 1f1+2b0 1b0+2f1 0b0 2b1 1b1 0b1");
    arena_free(arena);
}

/* ---- times ---- */

/* Equal stages, a backward of twice its forward. */
static StageTime *even(Arena *arena, int n, double forward_us)
{
    StageTime *stage = arena_array(arena, StageTime, n);
    for (int s = 0; s < n; s++)
        stage[s] = (StageTime){.forward_us = forward_us, .backward_us = 2 * forward_us};
    return stage;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
        fail_msg("%.12g, not %.12g", a, b);
}

static void waits_as_the_formulas_say(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    static const char *const names[] = {"1f1b", "gpipe", "infer_pipe"};
    for (int n = 1; n <= SIDE; n++)
        for (int m = 1; m <= SIDE; m++)
            for (int i = 0; i < 3; i++) {
                Schedule *schedule = made(arena, names[i], n, lanes_of(arena, n, n, 0), m);
                schedule_time(arena, schedule, even(arena, n, 7));
                assert_near(schedule->idle, (n - 1.0) / (m + n - 1));
                assert_near(schedule->us, (i == 2 ? 7 : 21) * (m + n - 1.0));
                for (int s = 0; s < n; s++) {
                    int most = i == 0 ? (n - s < m ? n - s : m) : i == 1 ? m : 1;
                    assert_int_equal(schedule->in_flight[s], most);
                }
            }
    for (int g = 1; g <= 8; g++)
        for (int v = 2; v <= 4; v++)
            for (int m = g; m <= SIDE; m += g) {
                int n = g * v;
                Schedule *schedule =
                    made(arena, "1f1b_interleaved", n, lanes_of(arena, n, g, 0), m);
                schedule_time(arena, schedule, even(arena, n, 7));
                assert_near(schedule->idle, (g - 1.0) / (m * v + g - 1));
            }
    arena_free(arena);
}

/* Stages of 10 and 30 us, 5 us between: by hand. */
static void times_unequal_stages(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Schedule *schedule = made(arena, "1f1b", 2, lanes_of(arena, 2, 2, 0), 2);
    const StageTime stage[2] = {
        {.forward_us = 10, .backward_us = 20},
        {.forward_us = 30, .backward_us = 60, .receive_us = 5, .return_us = 5}};
    schedule_time(arena, schedule, stage);
    static const double want[2][2][2][2] = {
        {{{0, 10}, {10, 20}}, {{110, 130}, {200, 220}}},
        {{{15, 45}, {105, 135}}, {{45, 105}, {135, 195}}},
    };
    for (int s = 0; s < 2; s++)
        for (int b = 0; b < 2; b++)
            for (int k = 0; k < 2; k++) {
                assert_near(block_of(schedule, s, b, k)->start_us, want[s][b][k][0]);
                assert_near(block_of(schedule, s, b, k)->end_us, want[s][b][k][1]);
            }
    assert_near(schedule->us, 220);
    assert_near(schedule->idle, 1 - (60 + 180) / 440.0);
    int first = schedule_block(schedule, 0, false, 0),
        second = schedule_block(schedule, 0, false, 1);
    assert_int_equal(schedule->block[first].after, -1);
    assert_int_equal(schedule->block[second].after, first); /* its lane was busy */
    assert_int_equal(block_of(schedule, 0, true, 0)->after, schedule_block(schedule, 1, true, 0));
    arena_free(arena);
}

/* The same times by waiting: every block begins when nothing before it on a lane, and nothing it
 * needs, is in its way; found by asking again until nothing moves. */
static void assert_times(const Schedule *schedule, const StageTime *stage)
{
    static double end[2 * SIDE * SIDE];
    memset(end, 0, sizeof end);
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < schedule->n_blocks; i++) {
            const Block *block = &schedule->block[i];
            double start = 0;
            for (int k = 0; k < schedule->n_blocks; k++) {
                const Block *other = &schedule->block[k];
                double ready = -1;
                int apart = other->stage - block->stage;
                if (other->step < block->step &&
                    share_a_lane(schedule->lanes, block->stage, other->stage))
                    ready = end[k];
                if (other->micro_batch == block->micro_batch &&
                    (block->backward ? other->backward && apart == 1
                                     : !other->backward && apart == -1))
                    ready = end[k] + (apart == 1 ? stage[other->stage].return_us
                                                 : stage[block->stage].receive_us);
                start = ready > start ? ready : start;
            }
            double us =
                block->backward ? stage[block->stage].backward_us : stage[block->stage].forward_us;
            moved |= end[i] != start + us;
            end[i] = start + us;
        }
    }
    for (int i = 0; i < schedule->n_blocks; i++)
        assert_near(schedule->block[i].end_us, end[i]);
}

static void times_any_stages(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    static const char *const names[] = {"1f1b", "gpipe", "infer_pipe", "1f1b_interleaved"};
    for (int round = 0; round < 80; round++) {
        const char *name = names[round % 4];
        int g = 1 + pick(4), n = round % 4 == 3 ? g * 2 : g, m = g * (1 + pick(3));
        StageTime *stage = arena_array(arena, StageTime, n);
        for (int s = 0; s < n; s++)
            stage[s] = (StageTime){.forward_us = pick(20),
                                   .backward_us = pick(40),
                                   .receive_us = pick(9),
                                   .return_us = pick(9)};
        Schedule *schedule = made(arena, name, n, lanes_of(arena, n, g, 0), m);
        schedule_time(arena, schedule, stage);
        assert_times(schedule, stage);
        assert_true(schedule->idle >= 0 && schedule->idle < 1);
    }
    arena_free(arena);
}

/* ---- schedules of torch and of the zero-bubble paper ---- */

/* What a lane holds at most, in stages times micro-batches. */
static int most_in_flight(const Schedule *schedule, int lane)
{
    int now = 0, most = 0;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (schedule->lanes->lane[schedule->lanes->first[block->stage]] != lane)
            continue;
        now += block->pass == BLOCK_FORWARD;
        most = now > most ? now : most;
        now -= block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT;
    }
    return most;
}

/* Qi et al. 2401.10241, section 2: H1 holds p micro-batches and idles (p-1)(f+b-w), H2 holds 2p-1.
 */
static void zero_bubble_holds_and_idles_as_published(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int p = 2; p <= SIDE / 2; p++)
        for (int m = 2 * p; m <= 2 * SIDE; m += p) {
            const Lanes *lanes = lanes_of(arena, p, p, 0);
            Schedule *h1 = made(arena, "zb1p", p, lanes, m);
            Schedule *h2 = made(arena, "zb2p", p, lanes, m);
            StageTime *stage = arena_array(arena, StageTime, p);
            for (int s = 0; s < p; s++)
                stage[s] = (StageTime){.forward_us = 3, .backward_us = 6, .weight_us = 2};
            schedule_time(arena, h1, stage);
            schedule_time(arena, h2, stage);
            assert_true(fabs(h1->us - (m * 9 + (p - 1) * (3 + 4 - 2))) < 1e-9);
            assert_true(h2->us <= h1->us);
            for (int l = 0; l < p; l++) {
                assert_int_equal(most_in_flight(h1, l), p);
                assert_int_equal(most_in_flight(h2, l), 2 * p - 1);
            }
            assert_valid(h1);
            assert_valid(h2);
        }
    arena_free(arena);
}

static void schedules_in_a_v_are_valid(void **state)
{
    (void)state;
    static const char *const names[] = {"zbv", "dualpipev", "dualpipe"};
    Arena *arena = arena_new();
    for (int p = 1; p <= 5; p++)
        for (int m = 1; m <= SIDE; m++)
            for (int i = 0; i < (m >= 2 * p ? 3 : 1); i++)
                assert_valid(made(arena, names[i], 2 * p, lanes_in_v(arena, p), m));
    arena_free(arena);
}

static void schedules_of_stages_in_turns_are_valid(void **state)
{
    (void)state;
    static const char *const names[] = {"1f1b_interleaved", "interleaved_zero_bubble",
                                        "looped_bfs"};
    Arena *arena = arena_new();
    for (int g = 1; g <= 4; g++)
        for (int v = 1; v <= 3; v++)
            for (int m = 1; m <= 12; m++)
                for (int i = 0; i < 3; i++)
                    if (i == 2 || m % (m / g > 1 ? m / g : 1) == 0)
                        assert_valid(made(arena, names[i], g * v, lanes_of(arena, g * v, g, 0), m));
    arena_free(arena);
}

/* A pair starts when both can, ends as one, and is one interval of its lane. */
static void a_pair_takes_its_own_time(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Schedule *schedule =
        made(arena, "0f0 1f0 1b0&0f1 0b0 1f1 1b1 0b1", 2, lanes_of(arena, 2, 1, 0), 2);
    StageTime stage[2] = {{.forward_us = 1, .backward_us = 2, .pair_us = 2.5},
                          {.forward_us = 1, .backward_us = 2}};
    schedule_time(arena, schedule, stage);
    const Block *forward = block_of(schedule, 0, false, 1),
                *backward = block_of(schedule, 1, true, 0);
    assert_float_equal(forward->start_us, 2, 0);
    assert_float_equal(backward->start_us, 2, 0);
    assert_float_equal(forward->end_us, 4.5, 0);
    assert_float_equal(backward->end_us, 4.5, 0);
    assert_float_equal(schedule->us, 11.5, 0);
    assert_float_equal(schedule->idle, 0, 1e-12);
    stage[0].pair_us = 0;
    schedule_time(arena, schedule, stage);
    assert_float_equal(schedule->us, 12, 0);
    arena_free(arena);
}

/* ---- steps written out ---- */

/* Four stages, where a schedule of that kind wants them. */
static const Lanes *lanes_for(Arena *arena, const char *kind)
{
    bool turns = strstr(kind, "interleaved") || strcmp(kind, "looped_bfs") == 0;
    bool plus = strcmp(kind, "1f1b_plus") == 0;
    if (strcmp(kind, "zbv") == 0 || strncmp(kind, "dualpipe", 8) == 0)
        return lanes_in_v(arena, 2);
    return lanes_of(arena, 4, turns ? 2 : plus ? 3 : 4, plus ? 4 : 0);
}

static void reads_what_it_writes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    int n_kinds;
    const ScheduleKind *kinds = schedule_kinds(&n_kinds);
    for (int i = 0; i < n_kinds; i++) {
        const Lanes *lanes = lanes_for(arena, kinds[i].name);
        const Schedule *schedule = made(arena, kinds[i].name, 4, lanes, 6);
        Buf text = buf_new(arena), again = buf_new(arena);
        schedule_format(schedule, &text);
        const Schedule *read = made(arena, text.s, 4, lanes, 6);
        schedule_format(read, &again);
        assert_string_equal(text.s, again.s);
        assert_string_equal(read->name, "steps");
        assert_int_equal(read->n_steps, schedule->n_steps);
        assert_ptr_equal(schedule_kind(str_from(kinds[i].name)), &kinds[i]);
        assert_true(str_has_word(str_from(schedule_names()), str_from(kinds[i].name)));
    }
    arena_free(arena);
}

static void reads_steps(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Schedule *schedule =
        made(arena, " 0f0 0f1 + 1f0\n1b0*2 - 0b0*3+1f1 1b1  - 0b1", 2, lanes_of(arena, 2, 2, 0), 2);
    assert_int_equal(block_of(schedule, 1, false, 0)->step, 1);
    assert_int_equal(block_of(schedule, 1, true, 0)->span, 2);
    assert_int_equal(block_of(schedule, 0, true, 0)->step, 4);
    assert_int_equal(schedule->n_steps, 8);
    Buf text = buf_new(arena);
    schedule_format(schedule, &text);
    assert_string_equal(text.s, "0f0 0f1+1f0 1b0*2 - 0b0*3+1f1 1b1 - 0b1");
    arena_free(arena);
}

/* ---- what is refused ---- */

typedef struct {
    const char *what, *name;
    int n, g;
    uint32_t full;
    int m;
    ErrorKind kind;
    const char *text, *hint;
} Refused;

static Refused refused[] = {
    {"no micro-batch", "1f1b", 2, 2, 0, 0, ERROR_OUT_OF_RANGE,
     "a schedule of 2 stages and 0 micro-batches",
     "1 to 1024 stages and 1 to 4096 micro-batches, with at most 2097152 blocks forward and "
     "backward"},
    {"too many blocks", "gpipe", 1024, 1024, 0, 4096, ERROR_OUT_OF_RANGE,
     "a schedule of 1024 stages and 4096 micro-batches",
     "1 to 1024 stages and 1 to 4096 micro-batches, with at most 2097152 blocks forward and "
     "backward"},
    {"a block alone", "1f1", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "stage 0 has no forward of micro-batch 0", ""},
    {"another name", "1f1b_interleave", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "there is no schedule '1f1b_interleave'", "did you mean 1f1b_interleaved?"},
    {"no name at all", "zero bubble", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "there is no schedule 'zero bubble'",
     "there are 1f1b 1f1b_interleaved 1f1b_plus eager_1f1b gpipe looped_bfs zb1p zb2p "
     "interleaved_zero_bubble zbv dualpipev dualpipe chimera_direct infer_pipe; or steps such as "
     "\"0f0 "
     "0f1+1f0 1f1\""},
    {"shared devices", "1f1b", 4, 2, 0, 4, ERROR_CONFLICT, "1f1b: stages 0 and 2 share devices",
     "these stages take turns: 1f1b_interleaved, looped_bfs, interleaved_zero_bubble"},
    {"a stage on all", "gpipe", 3, 2, 1, 4, ERROR_CONFLICT, "gpipe: stages 0 and 1 share devices",
     "stages on all devices go between the others in 1f1b_plus"},
    {"no turns", "1f1b_interleaved", 5, 2, 0, 4, ERROR_OUT_OF_RANGE,
     "1f1b_interleaved: 5 stages take turns of 2, which does not divide", "4 stages or 6"},
    {"rest of micro-batches", "1f1b_interleaved", 4, 2, 0, 5, ERROR_OUT_OF_RANGE,
     "1f1b_interleaved: 5 micro-batches are not a multiple of 2, the rounds of stages that take "
     "turns of 2",
     "micro_batches = 6"},
    {"turns with one on all", "1f1b_interleaved", 3, 2, 1, 4, ERROR_CONFLICT,
     "1f1b_interleaved: stages 0 and 1 share devices",
     "stages on all devices go between the others in 1f1b_plus"},
    {"plus of nothing", "1f1b_plus", 3, 1, 0, 4, ERROR_OUT_OF_RANGE,
     "1f1b_plus: every stage runs on all devices",
     "these stages take turns: 1f1b_interleaved, looped_bfs, interleaved_zero_bubble"},
    {"chimera of 3", "chimera_direct", 3, 3, 0, 4, ERROR_OUT_OF_RANGE,
     "chimera_direct takes 4 stages and an even number of micro-batches, not 3 and 4",
     "these stages have devices of their own: 1f1b, gpipe, zb1p, infer_pipe"},
    {"odd chimera", "chimera_direct", 4, 4, 0, 3, ERROR_OUT_OF_RANGE,
     "chimera_direct takes 4 stages and an even number of micro-batches, not 4 and 3",
     "these stages have devices of their own: 1f1b, gpipe, zb1p, infer_pipe"},
    {"stage beyond", "0f0 4f0", 2, 2, 0, 1, ERROR_OUT_OF_RANGE,
     "there is no stage 4: they are 0 to 1", ""},
    {"micro-batch beyond", "0f7", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "there is no micro-batch 7: they are 0 to 1", ""},
    {"span of nothing", "0f0*0", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "there is no span 0: they are 1 to 65536", ""},
    {"neither f nor b", "0f0 1 0", 2, 2, 0, 1, ERROR_SYNTAX,
     "after the stage stands f or b, forward or backward, or for a half of the backward i or w",
     ""},
    {"joined to nothing", "0f0+", 2, 2, 0, 1, ERROR_SYNTAX, "expected a number, found the end", ""},
    {"a block twice", "0f0 1f0 0f0", 2, 2, 0, 1, ERROR_DUPLICATE,
     "stage 0's forward of micro-batch 0 is there twice, at steps 0 and 2", ""},
    {"more than there are", "0f0 0f0 0f0 0f0", 1, 1, 0, 1, ERROR_DUPLICATE,
     "more blocks than 1 stages have with 1 micro-batches", ""},
    {"a block missing", "0f0 1f0 0f1", 2, 2, 0, 2, ERROR_OUT_OF_RANGE,
     "stage 1 has no forward of micro-batch 1", ""},
    {"a backward missing", "0f0 1f0 1b0", 2, 2, 0, 1, ERROR_OUT_OF_RANGE,
     "stage 0 has no backward of micro-batch 0", ""},
    {"before its need", "0f0+1f0", 2, 2, 0, 1, ERROR_CONFLICT,
     "stage 1's forward of micro-batch 0 begins in step 0, and needs stage 0's forward, which "
     "ends with step 0",
     "step 1 or later"},
    {"within a span", "0f0*3 - 1f0", 2, 2, 0, 1, ERROR_CONFLICT,
     "stage 1's forward of micro-batch 0 begins in step 2, and needs stage 0's forward, which "
     "ends with step 2",
     "step 3 or later"},
    {"weights without inputs", "0f0 0w0", 1, 1, 0, 1, ERROR_OUT_OF_RANGE,
     "stage 0 has no backward of micro-batch 0", ""},
    {"inputs without weights", "0f0 0i0", 1, 1, 0, 1, ERROR_OUT_OF_RANGE,
     "stage 0 has no weight gradient of micro-batch 0", ""},
    {"weights twice", "0f0 0b0 0w0", 1, 1, 0, 1, ERROR_DUPLICATE,
     "stage 0 has the weight gradient of micro-batch 0 beside the whole backward", ""},
    {"weights before inputs", "0f0 0w0 0i0", 1, 1, 0, 1, ERROR_CONFLICT,
     "stage 0's weight gradient of micro-batch 0 begins in step 1, and needs stage 0's input "
     "gradient, which ends with step 2",
     "step 3 or later"},
    {"a pair of forwards", "0f0 1f0&0f1 1b0 0b0 1f1 1b1 0b1", 2, 1, 0, 2, ERROR_CONFLICT,
     "stage 0's forward and stage 1's forward are joined by '&': a pair is a forward and a "
     "backward",
     ""},
    {"a pair far apart", "0f0 1f0 0f1&1b0 1f1 0b0 1b1 0b1", 2, 2, 0, 2, ERROR_CONFLICT,
     "stages 0 and 1 are joined by '&', but have other devices", ""},
    {"not in a V", "zbv", 4, 2, 0, 4, ERROR_CONFLICT,
     "zbv: the stages do not lie in a V, stage s where stage 3 - s is",
     "these stages take turns: 1f1b_interleaved, looped_bfs, interleaved_zero_bubble"},
    {"too few for dualpipev", "dualpipev", 4, 2, 0, 3, ERROR_OUT_OF_RANGE,
     "dualpipev: 3 micro-batches are fewer than 4 stages", "micro_batches = 4"},
    {"one lane twice", "0f0 1f0+0f1 1f1", 2, 1, 0, 2, ERROR_CONFLICT,
     "in step 1 stage 0's forward of micro-batch 1 and stage 1's forward of micro-batch 0 are on "
     "the same devices",
     "step 2 is the first in which they are free"},
};

static void refuses(void **state)
{
    const Refused *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    assert_null(schedule_make(arena, str_from(row->name), row->n,
                              lanes_of(arena, row->n, row->g, row->full), row->m, &err));
    assert_int_equal(err.kind, row->kind);
    assert_string_equal(err.text, row->text);
    assert_string_equal(err.hint, row->hint);
    arena_free(arena);
}

/* No text makes it fall over; what it takes is valid. */
static void takes_any_steps(void **state)
{
    (void)state;
    static const char letters[] = "0123f0b1+* -fiw&";
    for (int round = 0; round < 4000; round++) {
        Arena *arena = arena_new();
        char text[40];
        int n = pick(39);
        for (int i = 0; i < n; i++)
            text[i] = letters[pick(sizeof letters - 1)];
        const Schedule *schedule = schedule_make(arena, (Str){text, (size_t)n}, 2,
                                                 lanes_of(arena, 2, 1 + pick(2), 0), 1, NULL);
        if (schedule)
            assert_valid(schedule);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_1f1b),
        cmocka_unit_test(follows_gpipe_and_infer_pipe),
        cmocka_unit_test(follows_chimera),
        cmocka_unit_test(follows_megatron),
        cmocka_unit_test(puts_full_stages_between),
        cmocka_unit_test(waits_as_the_formulas_say),
        cmocka_unit_test(times_unequal_stages),
        cmocka_unit_test(times_any_stages),
        cmocka_unit_test(zero_bubble_holds_and_idles_as_published),
        cmocka_unit_test(schedules_in_a_v_are_valid),
        cmocka_unit_test(schedules_of_stages_in_turns_are_valid),
        cmocka_unit_test(a_pair_takes_its_own_time),
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_steps),
        cmocka_unit_test(takes_any_steps),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL) +
           run_rows("schedule refuses", refused, refuses);
}
