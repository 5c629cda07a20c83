#include "core/plan/schedule_orders.h"

#include "core/base/nearest.h"

/* ---- the table ---- */

/* ORDER SCHEDULE: with schedule_names(). */
#define KIND(name_, says_, bubble_) .name = (name_), .says = (says_), .bubble = (bubble_)
static const ScheduleKind kinds[] = {
    {KIND("1f1b", "a forward and a backward in turn: few micro-batches are held", "(n-1)/(m+n-1)")},
    {KIND("1f1b_interleaved", "the same where stages take turns on devices, v on each of g",
          "(g-1)/(mv+g-1)")},
    {KIND("1f1b_plus", "1f1b with stages on all devices between", "")},
    {KIND("eager_1f1b", "1f1b with twice as many forwards ahead, to hide sends", "(n-1)/(m+n-1)")},
    {KIND("gpipe", "all forwards, then all backwards", "(n-1)/(m+n-1)")},
    {KIND("looped_bfs", "gpipe where stages take turns on devices, a chunk at a time",
          "(g-1)/(mv+g-1)")},
    {KIND("zb1p", "1f1b; gradients of weights fill the bubble, as many micro-batches held", "")},
    {KIND("zb2p", "zb1p with twice as many micro-batches held and less bubble", "")},
    {KIND("interleaved_zero_bubble", "zb1p where stages take turns on devices", "")},
    {KIND("zbv", "zero bubble where two stages of each device lie in a V", ""), .in_a_v = true},
    {KIND("dualpipev", "two stages in a V, one's forward overlaps the other's backward", ""),
     .in_a_v = true},
    {KIND("dualpipe", "the same on two copies of each stage: micro-batches enter at both ends", ""),
     .in_a_v = true, .two_copies = true},
    {KIND("chimera_direct", "two micro-batches at a time through 4 stages", "")},
    {KIND("infer_pipe", "forwards alone", "(n-1)/(m+n-1)")},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
static bool (*const orders[N_KINDS])(ScheduleMaking *making) = {
    order_1f1b,
    order_1f1b_interleaved,
    order_1f1b_plus,
    order_eager_1f1b,
    order_gpipe,
    order_looped_bfs,
    order_zb1p,
    order_zb2p,
    order_interleaved_zero_bubble,
    order_zbv,
    order_dualpipev,
    order_dualpipe,
    order_chimera_direct,
    order_infer_pipe,
};

const ScheduleKind *schedule_kinds(int *n)
{
    *n = N_KINDS;
    return kinds;
}

const ScheduleKind *schedule_kind(Str name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (str_eq(str_from(kinds[i].name), name))
            return &kinds[i];
    return NULL;
}

const char *schedule_names(void)
{
    return "1f1b 1f1b_interleaved 1f1b_plus eager_1f1b gpipe looped_bfs zb1p zb2p "
           "interleaved_zero_bubble zbv dualpipev dualpipe chimera_direct infer_pipe";
}

bool schedule_refuse(Str name, Error *err)
{
    Nearest nearest = nearest_to(name, 4);
    for (int i = 0; i < N_KINDS; i++)
        nearest_try(&nearest, kinds[i].name);
    int shown = name.n < 40 ? (int)name.n : 40;
    error_kind(err, ERROR_OUT_OF_RANGE, "there is no schedule '%.*s'", shown, name.s);
    if (nearest.name)
        return error_hint(err, "did you mean %s?", nearest.name);
    return error_hint(err, "there are %s; or steps such as \"0f0 0f1+1f0 1f1\"", schedule_names());
}

bool schedule_is_steps(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_digit(text.s[i]) && !memchr("fbiw&+*- \t\n", text.s[i], 12))
            return false;
    return text.n > 0;
}

static int sort_key(const Block *block, bool by_stage)
{
    return by_stage ? block->stage : block->step;
}

/* Stable sort, by stage or by step. */
static void sort_blocks(Arena *scratch, int n, bool by_stage, const Block *from, Block *to)
{
    int n_keys = 1;
    for (int i = 0; i < n; i++)
        if (sort_key(&from[i], by_stage) >= n_keys)
            n_keys = sort_key(&from[i], by_stage) + 1;
    int *at = arena_array(scratch, int, n_keys + 1);
    for (int i = 0; i < n; i++)
        at[sort_key(&from[i], by_stage) + 1]++;
    for (int key = 0; key < n_keys; key++)
        at[key + 1] += at[key];
    for (int i = 0; i < n; i++)
        to[at[sort_key(&from[i], by_stage)]++] = from[i];
}

static bool stages_ascend(const Schedule *schedule)
{
    for (int i = 1; i < schedule->n_blocks; i++)
        if (schedule->block[i].stage < schedule->block[i - 1].stage)
            return false;
    return true;
}

static const struct {
    const char *name;
    char letter;
    int slot; /* in schedule->of */
} passes[N_BLOCK_PASSES] = {
    {"forward", 'f', 0},
    {"backward", 'b', 1},
    {"input gradient", 'i', 1},
    {"weight gradient", 'w', 2},
};

const char *schedule_pass_name(BlockPass pass)
{
    return passes[pass].name;
}

char schedule_pass_letter(BlockPass pass)
{
    return passes[pass].letter;
}

static const char *pass_name(const Block *block)
{
    return passes[block->pass].name;
}

/* Where schedule->of has the stage's and micro-batch's block of that slot. */
static int64_t place_of(const ScheduleMaking *making, int slot, const Block *block)
{
    return ((int64_t)slot * making->n + block->stage) * making->m + block->micro_batch;
}

/* A backward that is split has both its halves. */
static bool check_halves(const ScheduleMaking *making)
{
    const Schedule *schedule = making->schedule;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pass == BLOCK_FORWARD)
            continue;
        int32_t backward = schedule->of[place_of(making, 1, block)];
        bool split = backward >= 0 && schedule->block[backward].pass == BLOCK_INPUT;
        if (backward >= 0 && split == (schedule->of[place_of(making, 2, block)] >= 0))
            continue;
        BlockPass missing = backward < 0 ? BLOCK_INPUT : BLOCK_WEIGHT;
        if (!split && backward >= 0)
            return error_kind(making->err, ERROR_DUPLICATE,
                              "stage %d has the weight gradient of micro-batch %d beside the whole "
                              "backward",
                              block->stage, block->micro_batch);
        return error_kind(making->err, ERROR_OUT_OF_RANGE, "stage %d has no %s of micro-batch %d",
                          block->stage, passes[missing].name, block->micro_batch);
    }
    return true;
}

/* Fills schedule->of, after checking that every block is there once. */
static bool index_blocks(ScheduleMaking *making, Arena *arena)
{
    Schedule *schedule = making->schedule;
    int64_t n_slots = (int64_t)making->n * making->m * 3;
    int32_t *of = arena_array(arena, int32_t, n_slots);
    memset(of, -1, (size_t)n_slots * sizeof *of);
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        int32_t *place = &of[place_of(making, passes[block->pass].slot, block)];
        if (*place >= 0)
            return error_kind(making->err, ERROR_DUPLICATE,
                              "stage %d's %s of micro-batch %d is there twice, at steps %d and %d",
                              block->stage, pass_name(block), block->micro_batch,
                              schedule->block[*place].step, block->step);
        *place = i;
        if (block->step + block->span > schedule->n_steps)
            schedule->n_steps = block->step + block->span;
    }
    schedule->of = of;
    for (int64_t slot = 0; slot < n_slots / 3 * (schedule->trains ? 2 : 1); slot++)
        if (of[slot] < 0)
            return error_kind(making->err, ERROR_OUT_OF_RANGE,
                              "stage %d has no %s of micro-batch %d",
                              (int)(slot / making->m % making->n),
                              passes[slot >= n_slots / 3 ? BLOCK_BACKWARD : BLOCK_FORWARD].name,
                              (int)(slot % making->m));
    return check_halves(making);
}

/* The blocks that a block depends on, at most two; that of the same stage is last. */
static int needs_of(const Schedule *schedule, const Block *block, int32_t need[2])
{
    int n = 0;
    if (block->pass == BLOCK_WEIGHT) {
        need[0] = schedule_block(schedule, block->stage, true, block->micro_batch);
        return 1;
    }
    if (block->backward && block->stage + 1 < schedule->n_stages)
        need[n++] = schedule_block(schedule, block->stage + 1, true, block->micro_batch);
    if (!block->backward && block->stage > 0)
        need[n++] = schedule_block(schedule, block->stage - 1, false, block->micro_batch);
    if (block->backward)
        need[n++] = schedule_block(schedule, block->stage, false, block->micro_batch);
    return n;
}

/* Numbers the partners of pairs anew, after the blocks were sorted. */
static bool index_pairs(ScheduleMaking *making, const Block *unsorted)
{
    Schedule *schedule = making->schedule;
    for (int i = 0; i < schedule->n_blocks; i++) {
        Block *block = &schedule->block[i];
        if (block->pair < 0)
            continue;
        const Block *other = &unsorted[block->pair];
        block->pair = schedule->of[place_of(making, passes[other->pass].slot, other)];
        other = &schedule->block[block->pair];
        if (!schedule_same_lanes(making->lanes, block->stage, other->stage))
            return error_kind(making->err, ERROR_CONFLICT,
                              "stages %d and %d are joined by '&', but have other devices",
                              block->stage, other->stage);
        if (block->backward == other->backward)
            return error_kind(making->err, ERROR_CONFLICT,
                              "stage %d's %s and stage %d's %s are joined by '&': a pair is a "
                              "forward and a backward",
                              block->stage, pass_name(block), other->stage, pass_name(other));
    }
    return true;
}

static bool check_needs(ScheduleMaking *making)
{
    const Schedule *schedule = making->schedule;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        int32_t need[2];
        for (int k = needs_of(schedule, block, need) - 1; k >= 0; k--) {
            const Block *before = &schedule->block[need[k]];
            if (before->step + before->span <= block->step)
                continue;
            error_kind(making->err, ERROR_CONFLICT,
                       "stage %d's %s of micro-batch %d begins in step %d, and needs stage %d's "
                       "%s, which ends with step %d",
                       block->stage, pass_name(block), block->micro_batch, block->step,
                       before->stage, pass_name(before), before->step + before->span - 1);
            error_hint(making->err, "step %d or later", before->step + before->span);
            return false;
        }
    }
    return true;
}

/* Checks that no lane runs two blocks in one step. */
static bool check_lanes(ScheduleMaking *making)
{
    const Schedule *schedule = making->schedule;
    const Lanes *lanes = making->lanes;
    int32_t *last = arena_array(making->arena, int32_t, lanes->n); /* block of the step, plus 1 */
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++) {
            int32_t *before = &last[lanes->lane[l]];
            const Block *other = *before ? &schedule->block[*before - 1] : NULL;
            if (other && *before - 1 != block->pair && other->step + other->span > block->step) {
                error_kind(making->err, ERROR_CONFLICT,
                           "in step %d stage %d's %s of micro-batch %d and stage %d's %s of "
                           "micro-batch %d are on the same devices",
                           block->step, other->stage, pass_name(other), other->micro_batch,
                           block->stage, pass_name(block), block->micro_batch);
                error_hint(making->err, "step %d is the first in which they are free",
                           other->step + other->span);
                return false;
            }
            *before = i + 1;
        }
    }
    return true;
}

static bool check_counts(const ScheduleMaking *making)
{
    int64_t n_blocks = (int64_t)2 * making->n * making->m;
    if (making->m >= 1 && making->m <= MICRO_BATCHES_MAX && making->n >= 1 &&
        making->n <= STAGES_MAX && n_blocks <= BLOCKS_MAX)
        return true;
    error_kind(making->err, ERROR_OUT_OF_RANGE, "a schedule of %d stages and %d micro-batches",
               making->n, making->m);
    error_hint(making->err,
               "1 to %d stages and 1 to %d micro-batches, with at most %d blocks forward and "
               "backward",
               STAGES_MAX, MICRO_BATCHES_MAX, BLOCKS_MAX);
    return false;
}

static bool make_blocks(ScheduleMaking *making, Str name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (str_eq(str_from(kinds[i].name), name))
            return orders[i](making);
    Source source = {"steps", name};
    return schedule_is_steps(name) ? order_steps(making, &source)
                                   : schedule_refuse(name, making->err);
}

static bool make_table(ScheduleMaking *making, Arena *arena, Str name)
{
    Schedule *schedule = making->schedule;
    Arena *scratch = making->arena;
    if (!check_counts(making))
        return false;
    schedule->block = arena_array(scratch, Block, 3 * (int64_t)making->n * making->m);
    if (!make_blocks(making, name))
        return false;
    Block *by_stage = schedule->block;
    if (!stages_ascend(schedule)) {
        by_stage = arena_array(scratch, Block, schedule->n_blocks);
        sort_blocks(scratch, schedule->n_blocks, true, schedule->block, by_stage);
    }
    const Block *unsorted = schedule->block;
    schedule->block = arena_array(arena, Block, schedule->n_blocks);
    sort_blocks(scratch, schedule->n_blocks, false, by_stage, schedule->block);
    return index_blocks(making, arena) && index_pairs(making, unsorted) && check_needs(making) &&
           check_lanes(making);
}

Schedule *schedule_make(Arena *arena, Str name, int n_stages, const Lanes *lanes,
                        int n_micro_batches, Error *err)
{
    const ScheduleKind *kind = schedule_kind(name);
    Schedule *schedule = arena_make(arena, Schedule);
    *schedule = (Schedule){.name = kind ? kind->name : "steps",
                           .lanes = lanes,
                           .n_stages = n_stages,
                           .n_micro_batches = n_micro_batches};
    ScheduleMaking making = {.arena = arena_new(),
                             .schedule = schedule,
                             .lanes = lanes,
                             .n = n_stages,
                             .m = n_micro_batches,
                             .name = schedule->name,
                             .err = err};
    bool made = make_table(&making, arena, name);
    arena_free(making.arena);
    return made ? schedule : NULL;
}

/* ---- times ---- */

/* When a block's dependencies are done and sent; *after is the one that finishes last. */
static double needs_us(const Schedule *schedule, const Block *block, const StageTime *stage,
                       int32_t *after)
{
    int32_t need[2];
    double us = 0;
    for (int k = needs_of(schedule, block, need) - 1; k >= 0; k--) {
        const Block *before = &schedule->block[need[k]];
        double sent = before->end_us;
        if (before->stage != block->stage)
            sent +=
                block->backward ? stage[before->stage].return_us : stage[block->stage].receive_us;
        if (*after < 0 || sent > us) {
            us = sent;
            *after = need[k];
        }
    }
    return us;
}

static double pass_us(BlockPass pass, const StageTime *takes)
{
    switch (pass) {
    case BLOCK_FORWARD:
        return takes->forward_us;
    case BLOCK_BACKWARD:
        return takes->backward_us;
    case BLOCK_INPUT:
        return takes->backward_us - takes->weight_us;
    case BLOCK_WEIGHT:
        return takes->weight_us;
    case N_BLOCK_PASSES:
        break;
    }
    return 0;
}

/* How long a block takes, together with the one it is paired with. */
static double block_us(const Schedule *schedule, const Block *block, const StageTime *stage)
{
    double us = pass_us((BlockPass)block->pass, &stage[block->stage]);
    if (block->pair < 0)
        return us;
    const Block *other = &schedule->block[block->pair];
    double pair_us = stage[block->backward ? other->stage : block->stage].pair_us;
    return pair_us > 0 ? pair_us : us + pass_us((BlockPass)other->pass, &stage[other->stage]);
}

/* Starts a block when what it needs is there and its lanes are free; `last`: the block that each
 * lane ran last, plus 1. */
static void start_block(const Schedule *schedule, Block *block, const int32_t *last,
                        const StageTime *stage)
{
    const Lanes *lanes = schedule->lanes;
    block->after = -1;
    block->start_us = needs_us(schedule, block, stage, &block->after);
    for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++) {
        int32_t before = last[lanes->lane[l]] - 1;
        if (before < 0)
            continue;
        double free_us = schedule->block[before].end_us;
        if (block->after >= 0 && free_us <= block->start_us)
            continue;
        block->start_us = free_us;
        block->after = before;
    }
}

static void time_blocks(Arena *scratch, Schedule *schedule, const StageTime *stage)
{
    const Lanes *lanes = schedule->lanes;
    int32_t *last = arena_array(scratch, int32_t, lanes->n); /* block of the lane, plus 1 */
    for (int i = 0; i < schedule->n_blocks; i++) {
        Block *block = &schedule->block[i];
        Block *other = block->pair > i ? &schedule->block[block->pair] : NULL;
        if (block->pair >= 0 && !other)
            continue; /* timed with its partner */
        start_block(schedule, block, last, stage);
        if (other) {
            start_block(schedule, other, last, stage);
            bool later = other->start_us > block->start_us;
            Block *first = later ? block : other, *second = later ? other : block;
            first->start_us = second->start_us;
            first->after = second->after;
        }
        block->end_us = block->start_us + block_us(schedule, block, stage);
        if (other)
            other->end_us = block->end_us;
        if (block->end_us > schedule->us)
            schedule->us = block->end_us;
        for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++)
            last[lanes->lane[l]] = i + 1;
    }
}

/* What pairs save, or take longer than their blocks one after the other, by all devices. */
static double pairs_us(const Schedule *schedule, const StageTime *stage)
{
    const Lanes *lanes = schedule->lanes;
    double us = 0;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pair < i)
            continue;
        const Block *other = &schedule->block[block->pair];
        double apart = pass_us((BlockPass)block->pass, &stage[block->stage]) +
                       pass_us((BlockPass)other->pass, &stage[other->stage]);
        for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++)
            us += (block_us(schedule, block, stage) - apart) * lanes->n_devices[lanes->lane[l]];
    }
    return us;
}

static void share_idle(Schedule *schedule, const StageTime *stage)
{
    const Lanes *lanes = schedule->lanes;
    double busy = 0, devices = 0;
    for (int l = 0; l < lanes->n; l++)
        devices += lanes->n_devices[l];
    for (int s = 0; s < schedule->n_stages; s++) {
        double us = stage[s].forward_us + (schedule->trains ? stage[s].backward_us : 0);
        for (int32_t l = lanes->first[s]; l < lanes->first[s + 1]; l++)
            busy += us * schedule->n_micro_batches * lanes->n_devices[lanes->lane[l]];
    }
    busy += pairs_us(schedule, stage);
    double all = devices * schedule->us;
    schedule->idle = all > 0 && busy < all ? 1 - busy / all : 0;
}

static int32_t first_lane(const Schedule *schedule, int stage)
{
    return schedule->lanes->lane[schedule->lanes->first[stage]];
}

static void count_in_flight(Arena *scratch, Schedule *schedule)
{
    int *now = arena_array(scratch, int, schedule->n_stages);
    int *on_lane = arena_array(scratch, int, schedule->lanes->n);
    int *most = arena_array(scratch, int, schedule->lanes->n);
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        int *flying = &now[block->stage];
        int32_t lane = first_lane(schedule, block->stage);
        int change = block->pass == BLOCK_FORWARD ? 1 : block->pass == BLOCK_INPUT ? 0 : -1;
        *flying += change;
        on_lane[lane] += change;
        if (*flying > schedule->in_flight[block->stage])
            schedule->in_flight[block->stage] = *flying;
        for (int s = 0; on_lane[lane] > most[lane] && s < schedule->n_stages; s++)
            if (first_lane(schedule, s) == lane)
                schedule->together[s] = now[s];
        most[lane] = on_lane[lane] > most[lane] ? on_lane[lane] : most[lane];
        if (!schedule->trains) {
            on_lane[lane] -= *flying;
            *flying = 0;
        }
    }
}

void schedule_time(Arena *arena, Schedule *schedule, const StageTime *stage)
{
    Arena *scratch = arena_new();
    schedule->us = 0;
    schedule->in_flight = arena_array(arena, int, schedule->n_stages);
    schedule->together = arena_array(arena, int, schedule->n_stages);
    time_blocks(scratch, schedule, stage);
    share_idle(schedule, stage);
    count_in_flight(scratch, schedule);
    arena_free(scratch);
}

int32_t schedule_last(const Schedule *schedule)
{
    int32_t last = -1;
    for (int32_t i = 0; i < schedule->n_blocks; i++)
        last = last < 0 || schedule->block[i].end_us > schedule->block[last].end_us ? i : last;
    return last;
}

/* ---- text ---- */

static void format_block(const Block *block, Buf *out)
{
    buf_printf(out, "%d%c%d", block->stage, passes[block->pass].letter, block->micro_batch);
    if (block->span > 1)
        buf_printf(out, "*%d", block->span);
}

void schedule_format(const Schedule *schedule, Buf *out)
{
    int step = -1;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pair >= 0 && block->pair < i)
            continue;
        if (block->step == step)
            buf_putc(out, '+');
        else if (step >= 0)
            buf_putc(out, ' ');
        for (; step < block->step; step++)
            if (step + 1 < block->step)
                buf_puts(out, "- ");
        format_block(block, out);
        if (block->pair >= 0) {
            buf_putc(out, '&');
            format_block(&schedule->block[block->pair], out);
        }
    }
}
