/* schedule_lists.c - schedules that give each lane the list of its blocks: what a lane runs, one
 * after the other. The blocks get the first steps in which they can begin. */
#include "core/plan/schedule_orders.h"

#include "core/base/vec.h"

typedef struct {
    int16_t stage;
    int8_t pass;
    bool with_next; /* runs as a pair with the next one of the list */
    int micro_batch;
} Item;

typedef Vec(Item) ItemList;

static Item item_of(int stage, BlockPass pass, int micro_batch)
{
    return (Item){.stage = (int16_t)stage, .pass = (int8_t)pass, .micro_batch = micro_batch};
}

static void put(const ScheduleMaking *making, ItemList *list, int stage, BlockPass pass,
                int micro_batch)
{
    vec_push(making->arena, list, item_of(stage, pass, micro_batch));
}

/* ---- steps of lists ---- */

enum { SLOTS = 3 }; /* forward; backward, or of the input; of the weights */

static int slot_of(int pass)
{
    return pass == BLOCK_FORWARD ? 0 : pass == BLOCK_WEIGHT ? 2 : 1;
}

/* The step after a block, by slot, stage and micro-batch; 0 if it is not placed yet. */
static int *end_of(const ScheduleMaking *making, int *ends, int slot, int stage, int micro_batch)
{
    return ends + ((int64_t)slot * making->n + stage) * making->m + micro_batch;
}

static bool can_begin(const ScheduleMaking *making, int *ends, Item item, int step)
{
    const int *needs[2] = {NULL, NULL};
    int slot = slot_of(item.pass);
    if (slot > 0)
        needs[0] = end_of(making, ends, slot - 1, item.stage, item.micro_batch);
    if (slot == 0 && item.stage > 0)
        needs[1] = end_of(making, ends, 0, item.stage - 1, item.micro_batch);
    if (slot == 1 && item.stage + 1 < making->n)
        needs[1] = end_of(making, ends, 1, item.stage + 1, item.micro_batch);
    for (int i = 0; i < 2; i++)
        if (needs[i] && (*needs[i] == 0 || *needs[i] > step))
            return false;
    return true;
}

/* Places the next block of the list, or the next two as a pair; returns how many. */
static int place_next(ScheduleMaking *making, int *ends, const ItemList *list, int next, int step)
{
    int n = list->at[next].with_next ? 2 : 1;
    for (int i = 0; i < n; i++)
        if (!can_begin(making, ends, list->at[next + i], step))
            return 0;
    for (int i = 0; i < n; i++) {
        Item item = list->at[next + i];
        schedule_add(making, item.stage, (BlockPass)item.pass, item.micro_batch, step, 1,
                     i == 0 ? -1 : making->schedule->n_blocks - 1);
        *end_of(making, ends, slot_of(item.pass), item.stage, item.micro_batch) = step + 1;
    }
    return n;
}

/* Each lane runs its list in order, each block in the first step in which it can begin. */
static bool place_lists(ScheduleMaking *making, const ItemList *lists, int g)
{
    int *ends = arena_array(making->arena, int, (int64_t)SLOTS * making->n * making->m);
    int *next = arena_array(making->arena, int, g);
    int left = 0;
    for (int i = 0; i < g; i++)
        left += lists[i].n;
    for (int step = 0; left > 0; step++) {
        int placed = 0;
        for (int i = 0; i < g; i++) {
            if (next[i] == lists[i].n)
                continue;
            int n = place_next(making, ends, &lists[i], next[i], step);
            next[i] += n;
            placed += n;
        }
        left -= placed;
        if (placed == 0)
            return error_kind(making->err, ERROR_CONFLICT,
                              "%s: with %d stages and %d micro-batches each lane waits for another",
                              making->name, making->n, making->m);
    }
    return true;
}

/* ---- stages in turns ---- */

/* How a kind differs from the interleaved 1f1b. */
typedef struct {
    int ahead; /* forwards that a lane runs ahead for each lane behind it */
    int delay; /* the backward of weights begins so many backwards later, times the lane; -1: the
                  backward is not split */
} InTurns;

typedef struct {
    ScheduleMaking *making;
    int lane, g, v, round; /* round: micro-batches of a chunk before the next chunk's */
} Turns;

/* The q-th forward of a lane, or its q-th backward. */
static Item turn_item(const Turns *turns, BlockPass pass, int q)
{
    int round = turns->round, v = turns->v, chunk = q / round % v;
    int stage = (pass == BLOCK_FORWARD ? chunk : v - 1 - chunk) * turns->g + turns->lane;
    return item_of(stage, pass, q / (round * v) * round + q % round);
}

static void list_turns(const Turns *turns, InTurns kind, ItemList *list)
{
    Arena *arena = turns->making->arena;
    bool split = kind.delay >= 0;
    int total = turns->making->m * turns->v, delay = kind.delay * turns->lane;
    int warm_up = (turns->v - 1) * turns->round + kind.ahead * (turns->g - 1 - turns->lane);
    int n_forward = 0, n_weight = 0;
    for (; n_forward < warm_up && n_forward < total; n_forward++)
        vec_push(arena, list, turn_item(turns, BLOCK_FORWARD, n_forward));
    for (int n_backward = 0; n_backward < total; n_backward++) {
        if (n_forward < total)
            vec_push(arena, list, turn_item(turns, BLOCK_FORWARD, n_forward++));
        vec_push(arena, list, turn_item(turns, split ? BLOCK_INPUT : BLOCK_BACKWARD, n_backward));
        if (split && n_backward >= delay)
            vec_push(arena, list, turn_item(turns, BLOCK_WEIGHT, n_weight++));
    }
    while (split && n_weight < total)
        vec_push(arena, list, turn_item(turns, BLOCK_WEIGHT, n_weight++));
}

/* The micro-batches of a round: those of m in max(1, m/g) equal rounds; 0 if that does not divide.
 */
static int round_of(int m, int g)
{
    int n_rounds = m / g > 1 ? m / g : 1;
    return m % n_rounds == 0 ? m / n_rounds : 0;
}

static bool order_turns(ScheduleMaking *making, InTurns kind)
{
    Turns turns = {.making = making};
    if (!schedule_need_turns(making, &turns.g))
        return false;
    turns.v = making->n / turns.g;
    turns.round = round_of(making->m, turns.g);
    if (turns.round == 0) {
        int more = making->m;
        while (round_of(more, turns.g) == 0)
            more++;
        error_kind(making->err, ERROR_OUT_OF_RANGE,
                   "%s: %d micro-batches are not a multiple of %d, the rounds of stages that take "
                   "turns of %d",
                   making->name, making->m, making->m / turns.g, turns.g);
        error_hint(making->err, "micro_batches = %d", more);
        return false;
    }
    ItemList *lists = arena_array(making->arena, ItemList, turns.g);
    for (turns.lane = 0; turns.lane < turns.g; turns.lane++)
        list_turns(&turns, kind, &lists[turns.lane]);
    return place_lists(making, lists, turns.g);
}

bool order_1f1b_interleaved(ScheduleMaking *making)
{
    return order_turns(making, (InTurns){.ahead = 2, .delay = -1});
}

bool order_interleaved_zero_bubble(ScheduleMaking *making)
{
    return order_turns(making, (InTurns){.ahead = 1, .delay = 1});
}

bool order_eager_1f1b(ScheduleMaking *making)
{
    return schedule_need_own(making) && order_1f1b_interleaved(making);
}

bool order_zb1p(ScheduleMaking *making)
{
    return schedule_need_own(making) && order_interleaved_zero_bubble(making);
}

bool order_zb2p(ScheduleMaking *making)
{
    return schedule_need_own(making) && order_turns(making, (InTurns){.ahead = 2, .delay = 2});
}

bool order_looped_bfs(ScheduleMaking *making)
{
    int g, m = making->m;
    if (!schedule_need_turns(making, &g))
        return false;
    ItemList *lists = arena_array(making->arena, ItemList, g);
    for (int s = 0; s < making->n; s++)
        for (int k = 0; k < m; k++)
            put(making, &lists[s % g], s, BLOCK_FORWARD, k);
    for (int s = making->n - 1; s >= 0; s--)
        for (int k = m - 1; k >= 0; k--)
            put(making, &lists[s % g], s, BLOCK_BACKWARD, k);
    return place_lists(making, lists, g);
}

/* ---- stages in a V ---- */

/* A lane in a V: its stage of the way down, 0, and of the way back, 1. */
typedef struct {
    ScheduleMaking *making;
    ItemList *list;
    int stage[2];
    int n[2][N_BLOCK_PASSES]; /* micro-batches that have begun, by stage and pass */
    int oldest;               /* see put_oldest_weight() */
} ListedLane;

/* The next micro-batch of that stage and pass; a whole backward counts as both its halves. */
static void put_next(ListedLane *lane, int side, BlockPass pass)
{
    int *n = lane->n[side];
    int k = pass == BLOCK_BACKWARD ? n[BLOCK_INPUT]++ : n[pass]++;
    if (pass == BLOCK_BACKWARD)
        n[BLOCK_WEIGHT]++;
    if (k < lane->making->m)
        put(lane->making, lane->list, lane->stage[side], pass, k);
}

static void put_split(ListedLane *lane, int side)
{
    put_next(lane, side, BLOCK_INPUT);
    put_next(lane, side, BLOCK_WEIGHT);
}

/* torch fills up to 2p - 1 micro-batches; put_next() leaves out those that there are not. */
static void list_zbv(ListedLane *lane, int r, int p)
{
    int m = lane->making->m > 2 * p - 1 ? lane->making->m : 2 * p - 1;
    int *down = lane->n[0], *back = lane->n[1];
    for (int i = 0; i < 2 * (p - r) - 1; i++)
        put_next(lane, 0, BLOCK_FORWARD);
    for (int i = 0; i < r; i++) {
        put_next(lane, 1, BLOCK_FORWARD);
        put_next(lane, 0, BLOCK_FORWARD);
    }
    for (int i = 0; i < p - r; i++) {
        put_next(lane, 1, BLOCK_FORWARD);
        put_split(lane, 1);
    }
    while (back[BLOCK_FORWARD] < down[BLOCK_FORWARD] || down[BLOCK_FORWARD] < m) {
        if (down[BLOCK_FORWARD] < m)
            put_next(lane, 0, BLOCK_FORWARD);
        put_split(lane, 0);
        put_next(lane, 1, BLOCK_FORWARD);
        put_split(lane, 1);
    }
    for (int i = 0; i < r; i++) {
        put_next(lane, 0, BLOCK_INPUT);
        put_next(lane, 1, BLOCK_INPUT);
    }
    for (int i = 0; i < p - r; i++)
        put_split(lane, 0);
    for (int side = 1; side >= 0; side--)
        while (lane->n[side][BLOCK_WEIGHT] < lane->n[side][BLOCK_INPUT])
            put_next(lane, side, BLOCK_WEIGHT);
}

/* A forward of one side with a whole backward of the other. */
static void put_pair(ListedLane *lane, int forward_side)
{
    put_next(lane, forward_side, BLOCK_FORWARD);
    lane->list->at[lane->list->n - 1].with_next = true;
    put_next(lane, 1 - forward_side, BLOCK_BACKWARD);
}

/* The backward of the weights whose input's was put first, from place `oldest` of the list on. */
static void put_oldest_weight(ListedLane *lane)
{
    const ItemList *list = lane->list;
    while (lane->oldest < list->n && list->at[lane->oldest].pass != BLOCK_INPUT)
        lane->oldest++;
    if (lane->oldest == list->n)
        return;
    Item input = list->at[lane->oldest++];
    put(lane->making, lane->list, input.stage, BLOCK_WEIGHT, input.micro_batch);
}

/* github.com/deepseek-ai/DualPipe, dualpipev.py: its eight phases, with stage 0 down and 1 back. */
static void list_dualpipev(ListedLane *lane, int r, int p)
{
    for (int i = 0; i < 2 * (p - r - 1); i++)
        put_next(lane, 0, BLOCK_FORWARD);
    for (int i = 0; i < r + 1; i++) {
        put_next(lane, 0, BLOCK_FORWARD);
        put_next(lane, 1, BLOCK_FORWARD);
    }
    for (int i = 0; i < p - r - 1; i++) {
        put_split(lane, 1);
        put_next(lane, 1, BLOCK_FORWARD);
    }
    for (int i = 0; i < lane->making->m - 2 * p + r + 1; i++) {
        if (i == 0 && r == p - 1) { /* apart, which makes the bubble smaller */
            put_next(lane, 0, BLOCK_FORWARD);
            put_next(lane, 1, BLOCK_BACKWARD);
        } else {
            put_pair(lane, 0);
        }
        put_pair(lane, 1);
    }
    for (int i = 0; i < p - r - 1; i++) {
        put_next(lane, 1, BLOCK_BACKWARD);
        put_pair(lane, 1);
    }
    lane->oldest = lane->list->n;
    for (int i = 0; i < 2 * (r + 1); i++) /* the second half is split */
        put_next(lane, 1 - i % 2, i <= r ? BLOCK_BACKWARD : BLOCK_INPUT);
    for (int i = 0; i < p - r - 1; i++) {
        put_oldest_weight(lane);
        put_next(lane, 0, BLOCK_INPUT);
    }
    for (int i = 0; i < r + 1; i++)
        put_oldest_weight(lane);
}

static bool order_v(ScheduleMaking *making, void (*list_lane)(ListedLane *lane, int r, int p))
{
    if (!schedule_need_v(making))
        return false;
    int p = making->n / 2;
    ItemList *lists = arena_array(making->arena, ItemList, p);
    for (int r = 0; r < p; r++) {
        ListedLane lane = {.making = making, .list = &lists[r], .stage = {r, making->n - 1 - r}};
        list_lane(&lane, r, p);
    }
    return place_lists(making, lists, p);
}

bool order_zbv(ScheduleMaking *making)
{
    return order_v(making, list_zbv);
}

bool order_dualpipev(ScheduleMaking *making)
{
    if (making->m >= making->n)
        return order_v(making, list_dualpipev);
    error_kind(making->err, ERROR_OUT_OF_RANGE, "%s: %d micro-batches are fewer than %d stages",
               making->name, making->m, making->n);
    return error_hint(making->err, "micro_batches = %d", making->n);
}

/* Stage s has a copy on each half of its devices. Of each micro-batch one half enters at stage 0 of
 * the first copies, the other at stage 0 of the second, which lies where the last stage of the
 * first ones does; so both halves do the same at the same time, and a lane is both. */
bool order_dualpipe(ScheduleMaking *making)
{
    const Lanes *lanes = making->lanes;
    if (!order_dualpipev(making))
        return false;
    for (int s = 0; s < making->n / 2; s++) {
        int devices = 0;
        for (int32_t l = lanes->first[s]; l < lanes->first[s + 1]; l++)
            devices += lanes->n_devices[lanes->lane[l]];
        if (devices % 2 == 0)
            continue;
        error_kind(making->err, ERROR_CONFLICT,
                   "%s: stage %d has a copy on each half of its devices, and there are %d",
                   making->name, s, devices);
        return error_hint(making->err, "an even number; or dualpipev, which has one copy");
    }
    return true;
}
