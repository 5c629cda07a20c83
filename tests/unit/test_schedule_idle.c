/* The bubble by cause: it adds up, each moment has the cause that the blocks before it give it, and
 * equal stages wait as the published schedules say. */
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/plan/schedule_idle.h"

#include <math.h>
#include <string.h>

enum { STAGES = 4 };

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
        fail_msg("%.12g, not %.12g", a, b);
}

/* Four stages, where a schedule of that kind wants them; one of two devices. */
static const Lanes *lanes_for(Arena *arena, const char *kind)
{
    bool v = strcmp(kind, "zbv") == 0 || strncmp(kind, "dualpipe", 8) == 0;
    bool turns = strstr(kind, "interleaved") || strcmp(kind, "looped_bfs") == 0;
    bool plus = strcmp(kind, "1f1b_plus") == 0;
    int g = v || turns ? 2 : plus ? 3 : STAGES, at = 0;
    Lanes *lanes = arena_make(arena, Lanes);
    int32_t *first = arena_array(arena, int32_t, STAGES + 1);
    int32_t *lane = arena_array(arena, int32_t, STAGES * g),
            *devices = arena_array(arena, int32_t, g);
    for (int s = 0, own = 0; s < STAGES; s++) {
        first[s] = at;
        if (plus && s == 2)
            for (int l = 0; l < g; l++)
                lane[at++] = l;
        else
            lane[at++] = v && s >= g ? STAGES - 1 - s : own++ % g;
    }
    first[STAGES] = at;
    for (int l = 0; l < g; l++)
        devices[l] = (1 + (l == 1)) * (v ? 2 : 1);
    *lanes = (Lanes){.n = g, .n_devices = devices, .first = first, .lane = lane};
    return lanes;
}

static Schedule *timed(Arena *arena, const char *name, int m, const StageTime *stage)
{
    Error err = {0};
    Schedule *out = schedule_make(arena, str_from(name), STAGES, lanes_for(arena, name), m, &err);
    if (!out)
        fail_msg("%s: %s", name, err.text);
    schedule_time(arena, out, stage);
    return out;
}

static StageTime *any_times(Arena *arena)
{
    StageTime *stage = arena_array(arena, StageTime, STAGES);
    for (int s = 0; s < STAGES; s++) {
        double forward_us = 1 + pick(2000) / 100.0, weight_us = pick(1000) / 77.0;
        stage[s] = (StageTime){.forward_us = forward_us,
                               .backward_us = weight_us + 1 + pick(2000) / 101.0,
                               .weight_us = weight_us,
                               .receive_us = pick(3) == 0 ? 0 : pick(500) / 99.0,
                               .return_us = pick(3) == 0 ? 0 : pick(500) / 98.0};
    }
    return stage;
}

static bool runs_on(const Schedule *schedule, const Block *block, int lane)
{
    const Lanes *lanes = schedule->lanes;
    for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++)
        if (lanes->lane[l] == lane)
            return true;
    return false;
}

/* The cause of a moment at which a lane runs nothing, by looking at all blocks. */
static IdleCause cause_at(const Schedule *schedule, int lane, double us)
{
    int32_t next = -1, ends = 0;
    double backward_us = INFINITY, forward_us = 0, first_us = INFINITY, last_us = 0;
    for (int32_t i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        ends = block->end_us > schedule->block[ends].end_us ? i : ends;
        if (!runs_on(schedule, block, lane))
            continue;
        first_us = fmin(first_us, block->start_us);
        last_us = fmax(last_us, block->end_us);
        if (block->backward)
            backward_us = fmin(backward_us, block->start_us);
        else
            forward_us = fmax(forward_us, block->end_us);
        if (block->start_us > us && (next < 0 || block->start_us < schedule->block[next].start_us))
            next = i;
    }
    int32_t at = next < 0 ? ends : schedule->block[next].after;
    while (at >= 0 && schedule->block[at].start_us > us)
        at = schedule->block[at].after;
    assert_true(at >= 0);
    if (us >= schedule->block[at].end_us)
        return IDLE_SENDS;
    if (!schedule->trains)
        return us < first_us ? IDLE_WARM_UP : us > last_us ? IDLE_DRAIN : IDLE_UNEVEN;
    return us < backward_us ? IDLE_WARM_UP : us > forward_us ? IDLE_DRAIN : IDLE_UNEVEN;
}

static void assert_adds_up(const Schedule *schedule, const ScheduleIdle *idle)
{
    double all = 0, causes[N_IDLE_CAUSES] = {0};
    for (int lane = 0; lane < schedule->lanes->n; lane++) {
        double busy_us = 0, waits_us = 0;
        for (int i = 0; i < schedule->n_blocks; i++)
            if (runs_on(schedule, &schedule->block[i], lane) &&
                (schedule->block[i].pair < 0 || schedule->block[i].pair > i))
                busy_us += schedule->block[i].end_us - schedule->block[i].start_us;
        for (int cause = 0; cause < N_IDLE_CAUSES; cause++) {
            assert_true(idle->lane_us[lane][cause] >= 0);
            waits_us += idle->lane_us[lane][cause];
        }
        assert_near(busy_us + waits_us, schedule->us);
        for (int i = 0; i < idle->n; i++)
            waits_us -= idle->gap[i].lane == lane ? idle->gap[i].end_us - idle->gap[i].start_us : 0;
        assert_near(waits_us, 0);
    }
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        all += idle->share[cause];
    assert_near(all, schedule->idle);
    for (int i = 0; i < idle->n; i++)
        causes[idle->gap[i].cause] += idle->gap[i].end_us - idle->gap[i].start_us;
    assert_near(causes[IDLE_ORDER], 0);
}

static void each_moment_has_its_cause(void **state)
{
    (void)state;
    int n_kinds;
    const ScheduleKind *kinds = schedule_kinds(&n_kinds);
    for (int i = 0; i < n_kinds; i++)
        for (int round = 0; round < 12; round++) {
            Arena *arena = arena_new();
            bool v = strncmp(kinds[i].name, "dualpipe", 8) == 0;
            int m = strcmp(kinds[i].name, "chimera_direct") == 0 ? 2
                    : v                                          ? 4 + pick(4)
                                                                 : 2 * (1 + pick(4));
            StageTime *stage = any_times(arena);
            Schedule *schedule = timed(arena, kinds[i].name, m, stage);
            ScheduleIdle idle = schedule_idle(arena, schedule, stage);
            assert_adds_up(schedule, &idle);
            for (int k = 0; k < idle.n; k++) {
                const IdleGap *gap = &idle.gap[k];
                double us = gap->start_us + (gap->end_us - gap->start_us) * (1 + pick(98)) / 99;
                if (gap->end_us - gap->start_us > 1e-6)
                    assert_int_equal(cause_at(schedule, gap->lane, us), gap->cause);
            }
            arena_free(arena);
        }
}

/* Equal stages wait for warm-up and drain alone in these, and for nothing on its way. */
static void equal_stages_fill_and_drain(void **state)
{
    (void)state;
    static const char *const names[] = {"1f1b",       "gpipe",     "eager_1f1b", "1f1b_interleaved",
                                        "looped_bfs", "infer_pipe"};
    Arena *arena = arena_new();
    StageTime stage[STAGES];
    for (int s = 0; s < STAGES; s++)
        stage[s] = (StageTime){.forward_us = 7, .backward_us = 14, .weight_us = 7};
    for (int i = 0; i < 6; i++)
        for (int m = 2; m <= 12; m += 2) {
            Schedule *schedule = timed(arena, names[i], m, stage);
            ScheduleIdle idle = schedule_idle(arena, schedule, stage);
            assert_near(idle.share[IDLE_WARM_UP] + idle.share[IDLE_DRAIN], schedule->idle);
        }
    arena_free(arena);
}

/* What zero bubble leaves is of its order where stages are equal, and grows by uneven ones. */
static void uneven_stages_are_not_the_order(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    StageTime stage[STAGES];
    int n_kinds;
    const ScheduleKind *kinds = schedule_kinds(&n_kinds);
    for (int i = 0; i < n_kinds; i++) {
        for (int s = 0; s < STAGES; s++)
            stage[s] = (StageTime){.forward_us = 7, .backward_us = 14, .weight_us = 7};
        int m = strcmp(kinds[i].name, "chimera_direct") == 0 ? 2 : 8;
        Schedule *schedule = timed(arena, kinds[i].name, m, stage);
        ScheduleIdle idle = schedule_idle(arena, schedule, stage);
        assert_near(idle.share[IDLE_UNEVEN], 0);
        assert_near(idle.share[IDLE_SENDS], 0);
        assert_near(idle.share[IDLE_ORDER] > 0, strcmp(kinds[i].name, "1f1b_plus") == 0 ||
                                                    strncmp(kinds[i].name, "dualpipe", 8) == 0);
    }
    /* In the long run the three devices of the others wait 14 of stage 1's 35 us. */
    stage[1].forward_us = 21;
    Schedule *schedule = timed(arena, "1f1b", 2000, stage);
    ScheduleIdle idle = schedule_idle(arena, schedule, stage);
    assert_true(fabs(idle.share[IDLE_UNEVEN] - 14.0 / 35 * 3 / 5) < 1e-3);
    assert_near(idle.share[IDLE_ORDER], 0);
    arena_free(arena);
}

/* Two stages of 10 and 30 us, 5 us between, by hand: 0 waits 20..110 and 130..200 for the other. */
static void by_hand(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    static const int32_t devices[2] = {1, 1}, first[3] = {0, 1, 2}, lane[2] = {0, 1};
    const Lanes lanes = {.n = 2, .n_devices = devices, .first = first, .lane = lane};
    const StageTime stage[2] = {
        {.forward_us = 10, .backward_us = 20},
        {.forward_us = 30, .backward_us = 60, .receive_us = 5, .return_us = 5}};
    Schedule *schedule = schedule_make(arena, str_from("1f1b"), 2, &lanes, 2, NULL);
    schedule_time(arena, schedule, stage);
    ScheduleIdle idle = schedule_idle(arena, schedule, stage);
    assert_near(idle.lane_us[0][IDLE_WARM_UP], 85);  /* 20..105, of which .. */
    assert_near(idle.lane_us[0][IDLE_SENDS], 5 + 5); /* 105..110, 195..200 */
    assert_near(idle.lane_us[0][IDLE_DRAIN], 65);    /* 130..195 */
    assert_near(idle.lane_us[1][IDLE_WARM_UP], 10);
    assert_near(idle.lane_us[1][IDLE_SENDS], 5 + 5); /* 10..15, 195..200 */
    assert_near(idle.lane_us[1][IDLE_DRAIN], 20);
    assert_string_equal(idle_cause_name(IDLE_SENDS), "sends");
    assert_string_equal(idle_cause_key(IDLE_ORDER), "order_of_blocks");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_has_its_cause),
        cmocka_unit_test(equal_stages_fill_and_drain),
        cmocka_unit_test(uneven_stages_are_not_the_order),
        cmocka_unit_test(by_hand),
    };
    return cmocka_run_group_tests_name("schedule_idle", tests, NULL, NULL);
}
