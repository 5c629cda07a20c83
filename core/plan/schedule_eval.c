#include "core/plan/schedule_eval.h"

#include "core/plan/schedule.h"

#include <math.h>

typedef struct {
    Str kind;
    int p, n, m; /* ranks, stages, micro-batches */
    StageTime *stage;
} Asked;

/* ---- the request ---- */

static bool read_count(const Json *request, const char *key, int most, int *out, Error *err)
{
    int64_t value = json_int(json_get(request, key), 0);
    *out = (int)value;
    return (value >= 1 && value <= most) ||
           error_kind(err, ERROR_OUT_OF_RANGE, "\"%s\" is a number from 1 to %d", key, most);
}

/* A time of each stage: one number for all, or one for each. */
static bool read_times(const Json *times, const char *key, int n, double *out, Error *err)
{
    const Json *value = json_get(times, key);
    bool list = json_is_array(value);
    if (list && json_size(value) != n)
        return error_set(err, "\"%s\" has %d times for %d stages", key, json_size(value), n);
    for (int s = 0; s < n; s++) {
        const Json *item = list ? json_at(value, s) : value;
        out[s] = json_real(item, 0);
        if ((item && !json_is_number(item)) || !(out[s] >= 0) || !(out[s] < 1e12))
            return error_set(err, "\"%s\" is not a time of at least 0", key);
    }
    return true;
}

static int rank_of(const Asked *asked, int stage)
{
    bool v = str_eq(asked->kind, STR("zbv")) || str_eq(asked->kind, STR("dualpipev"));
    return v && stage >= asked->p ? asked->n - 1 - stage : stage % asked->p;
}

static bool read_request(Arena *arena, const Json *request, Asked *out, Error *err)
{
    const Json *times = json_get(request, "times");
    *out = (Asked){.kind = json_str(json_get(request, "kind"), "")};
    if (!read_count(request, "ranks", STAGES_MAX, &out->p, err) ||
        !read_count(request, "stages", STAGES_MAX, &out->n, err) ||
        !read_count(request, "micro_batches", MICRO_BATCHES_MAX, &out->m, err))
        return false;
    if (out->n % out->p != 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "%d stages are no multiple of %d ranks", out->n,
                          out->p);
    out->stage = arena_array(arena, StageTime, out->n);
    double *f = arena_array(arena, double, out->n), *b = arena_array(arena, double, out->n);
    double *w = arena_array(arena, double, out->n), *send = arena_array(arena, double, out->n);
    double *pair = arena_array(arena, double, out->n);
    if (!read_times(times, "f", out->n, f, err) || !read_times(times, "b", out->n, b, err) ||
        !read_times(times, "w", out->n, w, err) || !read_times(times, "send", out->n, send, err) ||
        !read_times(times, "fb", out->n, pair, err))
        return false;
    for (int s = 0; s < out->n; s++) {
        bool sent = s > 0 && rank_of(out, s) != rank_of(out, s - 1);
        out->stage[s] = (StageTime){.forward_us = f[s],
                                    .backward_us = b[s] + w[s],
                                    .receive_us = sent ? send[s] : 0,
                                    .return_us = sent ? send[s] : 0,
                                    .weight_us = w[s],
                                    .pair_us = pair[s]};
    }
    return true;
}

/* Every rank is a lane. */
static const Lanes *lanes_of(Arena *arena, const Asked *asked)
{
    Lanes *lanes = arena_make(arena, Lanes);
    int32_t *first = arena_array(arena, int32_t, asked->n + 1);
    int32_t *lane = arena_array(arena, int32_t, asked->n);
    int32_t *n_devices = arena_array(arena, int32_t, asked->p);
    for (int s = 0; s < asked->n; s++) {
        lane[s] = rank_of(asked, s);
        first[s + 1] = s + 1;
    }
    for (int r = 0; r < asked->p; r++)
        n_devices[r] = 1;
    *lanes = (Lanes){.n = asked->p, .n_devices = n_devices, .first = first, .lane = lane};
    return lanes;
}

static const Schedule *make_timed(Arena *arena, const Asked *asked, Error *err)
{
    Schedule *schedule =
        schedule_make(arena, asked->kind, asked->n, lanes_of(arena, asked), asked->m, err);
    if (schedule)
        schedule_time(arena, schedule, asked->stage);
    return schedule;
}

/* ---- what a rank does ---- */

typedef struct {
    Json *order;
    double busy;
    int now, most; /* micro-batches of stages in flight */
} RankWork;

static void print_action(const Block *block, Buf *out)
{
    buf_printf(out, "%d%c%d", block->stage,
               schedule_pass_letter((BlockPass)block->pass) - 'a' + 'A', block->micro_batch);
}

static void count_in_flight(RankWork *work, const Block *block, bool trains)
{
    work->now += block->pass == BLOCK_FORWARD;
    work->most = work->now > work->most ? work->now : work->most;
    work->now -= block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT || !trains;
}

/* Adds the block, or the pair whose first block it is. */
static void add_block(Arena *arena, const Schedule *schedule, const Block *block, RankWork *work)
{
    Buf name = buf_new(arena);
    work->busy += block->end_us - block->start_us;
    if (block->pair < 0) {
        print_action(block, &name);
        count_in_flight(work, block, schedule->trains);
    } else {
        const Block *other = &schedule->block[block->pair];
        const Block *forward = block->backward ? other : block;
        const Block *backward = block->backward ? block : other;
        buf_putc(&name, '(');
        print_action(forward, &name);
        buf_putc(&name, ';');
        print_action(backward, &name);
        buf_puts(&name, ")OVERLAP_F_B");
        count_in_flight(work, forward, true);
        count_in_flight(work, backward, true);
    }
    json_add(work->order, json_from_str(str_from(name.s)));
}

static RankWork *work_of(Arena *arena, const Asked *asked, const Schedule *schedule)
{
    RankWork *work = arena_array(arena, RankWork, asked->p);
    for (int r = 0; r < asked->p; r++)
        work[r].order = json_array();
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pair < 0 || block->pair > i)
            add_block(arena, schedule, block, &work[rank_of(asked, block->stage)]);
    }
    return work;
}

bool eval_schedule(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    Asked asked;
    const Schedule *schedule =
        read_request(arena, request, &asked, err) ? make_timed(arena, &asked, err) : NULL;
    if (!schedule)
        return false;
    RankWork *work = work_of(arena, &asked, schedule);
    Json *order = json_array(), *busy = json_array(), *in_flight = json_array();
    double sum = 0;
    for (int r = 0; r < asked.p; r++) {
        sum += work[r].busy;
        json_add(order, work[r].order);
        json_add(busy, json_from_real(work[r].busy));
        json_add(in_flight, json_from_int(work[r].most));
    }
    json_set(answer, "order", order);
    json_set_real(answer, "length", schedule->us);
    json_set(answer, "busy", busy);
    json_set_real(answer, "bubble", schedule->us > 0 ? 1 - sum / (asked.p * schedule->us) : 0);
    json_set(answer, "in_flight", in_flight);
    return true;
}

/* ---- schedule.bubble ---- */

/* Micro-batches go in from both ends, and each rank holds two stages' parameters (DeepSeek-V3,
 * arXiv 2412.19437, table 2); there is no order of it here, only the formula. */
static bool answer_dualpipe(const Asked *asked, Json *answer, Error *err)
{
    if (asked->p % 2 != 0 || asked->n != asked->p)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "dualpipe has an even number of ranks and as many stages");
    StageTime time = asked->stage[0];
    double pair = time.pair_us > 0 ? time.pair_us : time.forward_us + time.backward_us;
    int pairs = asked->p / 2;
    json_set_real(answer, "bubble_time",
                  (pairs - 1) * (pair + time.backward_us - 3 * time.weight_us));
    json_set_int(answer, "activations", asked->p + 1);
    json_set_int(answer, "parameters", 2);
    return true;
}

bool eval_schedule_bubble(const char *verb, Arena *arena, const Json *request, Json *answer,
                          Error *err)
{
    (void)verb;
    Asked asked;
    if (!read_request(arena, request, &asked, err))
        return false;
    if (str_eq(asked.kind, STR("dualpipe")))
        return answer_dualpipe(&asked, answer, err);
    const Schedule *schedule = make_timed(arena, &asked, err);
    if (!schedule)
        return false;
    RankWork *work = work_of(arena, &asked, schedule);
    double busiest = 0;
    int most = 0;
    for (int r = 0; r < asked.p; r++) {
        busiest = fmax(busiest, work[r].busy);
        most = work[r].most > most ? work[r].most : most;
        json_free(work[r].order);
    }
    json_set_real(answer, "bubble_time", schedule->us - busiest);
    json_set_real(answer, "length", schedule->us);
    json_set_int(answer, "activations", most);
    json_set_int(answer, "parameters", 1);
    return true;
}
