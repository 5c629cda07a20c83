#include "core/plan/schedule_eval.h"

#include "core/plan/schedule.h"

#include <math.h>

typedef struct {
    Str kind;
    int p, n, m; /* ranks, stages, micro-batches */
    bool in_a_v; /* stages s and n-1-s are of one rank */
    int copies;  /* of each stage: with two, the ranks behind the first half hold the second ones,
                    and micro-batches behind the first half enter there */
    StageTime *stage;
} AskedSchedule;

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

/* Ranks that do not hold second copies of the stages of others. */
static int n_lanes(const AskedSchedule *asked)
{
    return asked->p / asked->copies;
}

static int lane_of(const AskedSchedule *asked, int stage)
{
    return asked->in_a_v && stage >= n_lanes(asked) ? asked->n - 1 - stage : stage % n_lanes(asked);
}

static bool read_request(Arena *arena, const Json *request, AskedSchedule *out, Error *err)
{
    const Json *times = json_get(request, "times");
    *out = (AskedSchedule){.kind = json_str(json_get(request, "kind"), "")};
    const ScheduleKind *kind = schedule_kind(out->kind);
    out->in_a_v = kind && kind->in_a_v;
    out->copies = kind && kind->two_copies ? 2 : 1;
    if (!read_count(request, "ranks", STAGES_MAX, &out->p, err) ||
        !read_count(request, "stages", STAGES_MAX, &out->n, err) ||
        !read_count(request, "micro_batches", MICRO_BATCHES_MAX, &out->m, err))
        return false;
    if (out->n % out->p != 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "%d stages are no multiple of %d ranks", out->n,
                          out->p);
    if (out->p % out->copies != 0 || out->m % out->copies != 0)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "dualpipe has an even number of ranks and of micro-batches");
    out->stage = arena_array(arena, StageTime, out->n);
    double *f = arena_array(arena, double, out->n), *b = arena_array(arena, double, out->n);
    double *w = arena_array(arena, double, out->n), *send = arena_array(arena, double, out->n);
    double *pair = arena_array(arena, double, out->n);
    if (!read_times(times, "f", out->n, f, err) || !read_times(times, "b", out->n, b, err) ||
        !read_times(times, "w", out->n, w, err) || !read_times(times, "send", out->n, send, err) ||
        !read_times(times, "fb", out->n, pair, err))
        return false;
    for (int s = 0; s < out->n; s++) {
        bool sent = s > 0 && (out->copies > 1 || lane_of(out, s) != lane_of(out, s - 1));
        out->stage[s] = (StageTime){.forward_us = f[s],
                                    .backward_us = b[s] + w[s],
                                    .receive_us = sent ? send[s] : 0,
                                    .return_us = sent ? send[s] : 0,
                                    .weight_us = w[s],
                                    .pair_us = pair[s]};
    }
    return true;
}

/* Every rank is a lane, or every rank with the one that holds the other copies of its stages. */
static const Lanes *lanes_of(Arena *arena, const AskedSchedule *asked)
{
    Lanes *lanes = arena_make(arena, Lanes);
    int32_t *first = arena_array(arena, int32_t, asked->n + 1);
    int32_t *lane = arena_array(arena, int32_t, asked->n);
    int32_t *n_devices = arena_array(arena, int32_t, n_lanes(asked));
    for (int s = 0; s < asked->n; s++) {
        lane[s] = lane_of(asked, s);
        first[s + 1] = s + 1;
    }
    for (int l = 0; l < n_lanes(asked); l++)
        n_devices[l] = asked->copies;
    *lanes = (Lanes){.n = n_lanes(asked), .n_devices = n_devices, .first = first, .lane = lane};
    return lanes;
}

static const Schedule *make_timed(Arena *arena, const AskedSchedule *asked, Error *err)
{
    Schedule *schedule = schedule_make(arena, asked->kind, asked->n, lanes_of(arena, asked),
                                       asked->m / asked->copies, err);
    if (schedule)
        schedule_time(arena, schedule, asked->stage);
    return schedule;
}

/* ---- what a rank does ---- */

typedef struct {
    Arena *arena;
    Json *order;
    double busy;
    int now, most; /* micro-batches of stages in flight */
} RankWork;

/* Of two copies a rank runs the first of one of its stages and the second of the other. */
static void print_action(const AskedSchedule *asked, int rank, const Block *block, Buf *out)
{
    bool second = asked->copies > 1 && (block->stage >= n_lanes(asked)) != (rank >= n_lanes(asked));
    buf_printf(out, "%d%c%d", block->stage,
               schedule_pass_letter((BlockPass)block->pass) - 'a' + 'A',
               block->micro_batch + second * asked->m / 2);
}

static void count_in_flight(RankWork *work, const Block *block, bool trains)
{
    work->now += block->pass == BLOCK_FORWARD;
    work->most = work->now > work->most ? work->now : work->most;
    work->now -= block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT || !trains;
}

/* Adds the block, or the pair whose first block it is. */
static void add_block(const AskedSchedule *asked, int rank, const Schedule *schedule,
                      const Block *block, RankWork *work)
{
    Buf name = buf_new(work->arena);
    work->busy += block->end_us - block->start_us;
    if (block->pair < 0) {
        print_action(asked, rank, block, &name);
        count_in_flight(work, block, schedule->trains);
    } else {
        const Block *other = &schedule->block[block->pair];
        const Block *forward = block->backward ? other : block;
        const Block *backward = block->backward ? block : other;
        buf_putc(&name, '(');
        print_action(asked, rank, forward, &name);
        buf_putc(&name, ';');
        print_action(asked, rank, backward, &name);
        buf_puts(&name, ")OVERLAP_F_B");
        count_in_flight(work, forward, true);
        count_in_flight(work, backward, true);
    }
    json_add(work->order, json_from_str(str_from(name.s)));
}

static RankWork *work_of(Arena *arena, const AskedSchedule *asked, const Schedule *schedule)
{
    RankWork *work = arena_array(arena, RankWork, asked->p);
    for (int r = 0; r < asked->p; r++)
        work[r] = (RankWork){.arena = arena, .order = json_array()};
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pair >= 0 && block->pair < i)
            continue;
        int rank = lane_of(asked, block->stage), other = asked->p - 1 - rank;
        add_block(asked, rank, schedule, block, &work[rank]);
        if (asked->copies > 1)
            add_block(asked, other, schedule, block, &work[other]);
    }
    return work;
}

bool eval_schedule(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    AskedSchedule asked;
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

/* The formula of DeepSeek-V3 (arXiv 2412.19437, table 2), for stages that take equally long. The
 * order is shorter where the halves of a backward differ. */
static bool answer_dualpipe(const AskedSchedule *asked, Json *answer, Error *err)
{
    if (asked->n != asked->p)
        return error_kind(err, ERROR_OUT_OF_RANGE, "dualpipe has as many stages as ranks");
    StageTime time = asked->stage[0];
    double pair = time.pair_us > 0 ? time.pair_us : time.forward_us + time.backward_us;
    json_set_real(answer, "bubble_time",
                  (n_lanes(asked) - 1) * (pair + time.backward_us - 3 * time.weight_us));
    json_set_int(answer, "activations", asked->p + 1);
    json_set_int(answer, "parameters", asked->copies);
    return true;
}

bool eval_schedule_bubble(const char *verb, Arena *arena, const Json *request, Json *answer,
                          Error *err)
{
    (void)verb;
    AskedSchedule asked;
    if (!read_request(arena, request, &asked, err))
        return false;
    if (asked.copies > 1)
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
