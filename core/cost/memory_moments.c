#include "core/cost/memory_moments.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/memory_account.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"

#include <stdlib.h>

enum {
    BINS_MAX = 48,         /* moments of a block .. */
    MOMENTS_GOAL = 1 << 16 /* .. and of a step, about */
};

/* ORDER PART: what a block runs of its stage. The first are BlockPass. */
enum { PART_UPDATE = N_BLOCK_PASSES, PART_WHOLE, N_PARTS };

typedef struct {
    int place;
    double us; /* of its ops */
} Bin;

typedef struct {
    Arena *arena, *scratch;
    const Account *account;
    const Plan *plan;
    const Schedule *table; /* NULL without stages */
    int64_t rank;
    int n_stages;
    bool *holds;       /* per stage: the rank does */
    ClassBytes *saved; /* per stage, of one micro-batch */
    int *now;          /* per stage: micro-batches in flight */
    ClassBytes always;
    const ClassBytes *live; /* per op of the program */
    Bin **bins;             /* per stage and part, */
    int *n_bins;            /* and how many */
    Vec(MemoryMoment) out;
} Moments;

static int64_t sum_of(const ClassBytes *bytes)
{
    int64_t sum = 0;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        sum += bytes->of[c];
    return sum;
}

static void add_times(ClassBytes *to, const ClassBytes *bytes, int times)
{
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        to->of[c] += times * bytes->of[c];
}

/* ---- the ops of each part, in bins of equal time ---- */

static int part_of(const Moments *m, int32_t op)
{
    const Graph *graph = m->plan->inferred->graph;
    if (op_runs_once(m->plan, op))
        return PART_UPDATE;
    if (!m->table)
        return PART_WHOLE;
    if (graph->phase[op] == PHASE_FORWARD)
        return BLOCK_FORWARD;
    return op_makes_weights(m->plan, op) ? BLOCK_WEIGHT : BLOCK_INPUT;
}

static void put_place(Moments *m, int slot, int place, int bin)
{
    Bin *at = &m->bins[slot][bin];
    int64_t bytes = sum_of(&m->live[place]);
    if (at->place < 0 || bytes > sum_of(&m->live[at->place]))
        at->place = place;
    m->n_bins[slot] = bin + 1;
}

/* A whole backward pass has the ops of both halves of a split one. */
static bool is_in_part(int part, int of_op)
{
    return part == of_op ||
           (part == BLOCK_BACKWARD && (of_op == BLOCK_INPUT || of_op == BLOCK_WEIGHT));
}

static void fill_bins(Moments *m, int stage, int part, int most)
{
    const Inferred *inferred = m->plan->inferred;
    const double *op_us = m->plan->priced->op_us;
    int slot = stage * N_PARTS + part;
    double all = 0, before = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < inferred->n_program; i++) {
            int32_t op = inferred->program[i];
            bool mine = !m->table || m->plan->decided->stages->of_op[op] == stage;
            if (!mine || !is_in_part(part, part_of(m, op)))
                continue;
            if (pass == 0) {
                all += op_us[op];
                continue;
            }
            int bin = all > 0 ? (int)(before / all * most) : 0;
            put_place(m, slot, i, bin < most ? bin : most - 1);
            before += op_us[op];
        }
}

static void make_bins(Moments *m)
{
    int n_blocks = m->table ? m->table->n_blocks : 1, most = MOMENTS_GOAL / (n_blocks + 1);
    most = most < 1 ? 1 : most > BINS_MAX ? BINS_MAX : most;
    int n = m->n_stages * N_PARTS;
    m->bins = arena_array(m->scratch, Bin *, n);
    m->n_bins = arena_array(m->scratch, int, n);
    for (int slot = 0; slot < n; slot++) {
        m->bins[slot] = arena_array(m->scratch, Bin, most);
        for (int b = 0; b < most; b++)
            m->bins[slot][b].place = -1;
        if (m->holds[slot / N_PARTS])
            fill_bins(m, slot / N_PARTS, slot % N_PARTS, most);
    }
}

/* ---- what is there ---- */

static int together(const Moments *m, int stage)
{
    bool several = m->table && m->table->n_micro_batches > 1 && m->table->trains;
    return several && m->table->together[stage] > 1 ? m->table->together[stage] : 1;
}

/* What memory.h counts at a place of a block of `stage`, with those in flight now. */
static ClassBytes live_at(const Moments *m, int place, int stage)
{
    ClassBytes live = m->live[place];
    for (int s = 0; s < m->n_stages; s++) {
        bool own =
            s <= stage; /* its micro-batch is counted in earlier stages too, in both passes */
        if (m->holds[s])
            add_times(&live, &m->saved[s], m->now[s] - (together(m, s) - 1 + own));
    }
    return live;
}

static int all_in_flight(const Moments *m)
{
    int n = 0;
    for (int s = 0; s < m->n_stages; s++)
        n += m->holds[s] ? m->now[s] : 0;
    return n;
}

static void put_moment(Moments *m, double from, double to, int32_t block, int place,
                       const ClassBytes *live)
{
    MemoryMoment moment = {from, to, block, place, all_in_flight(m), sum_of(live), *live};
    vec_push(m->arena, &m->out, moment);
}

static void put_idle(Moments *m, double to)
{
    double from = m->out.n > 0 ? m->out.at[m->out.n - 1].to_us : 0;
    if (to <= from)
        return;
    ClassBytes live = m->always;
    for (int s = 0; s < m->n_stages; s++)
        add_times(&live, &m->saved[s], m->holds[s] ? m->now[s] : 0);
    put_moment(m, from, to, -1, -1, &live);
}

static void put_part(Moments *m, double from, double to, int stage, int part, int32_t block)
{
    int slot = stage * N_PARTS + part, n = m->n_bins[slot];
    for (int b = 0, begin = 0; b < n; b++) {
        const Bin *bin = &m->bins[slot][b];
        if (bin->place < 0)
            continue;
        int next = b + 1;
        while (next < n && m->bins[slot][next].place < 0)
            next++;
        ClassBytes live = block >= 0 ? live_at(m, bin->place, stage) : m->live[bin->place];
        put_moment(m, from + (to - from) * begin / n, from + (to - from) * next / n, block,
                   bin->place, &live);
        begin = next;
    }
}

/* ---- along the schedule ---- */

/* A block of the rank; of a pair with its half of the time. */
typedef struct {
    double from, to;
    int32_t id;
} PlacedMoments;

static int earlier_first(const void *left, const void *right)
{
    const PlacedMoments *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int place_blocks(const Moments *m, PlacedMoments *out)
{
    int n = 0;
    for (int32_t i = 0; i < m->table->n_blocks; i++) {
        const Block *block = &m->table->block[i];
        if (!m->holds[block->stage])
            continue;
        PlacedMoments placed = {block->start_us, block->end_us, i};
        double middle = (placed.from + placed.to) / 2;
        if (block->pair >= 0 && i < block->pair)
            placed.to = middle;
        else if (block->pair >= 0)
            placed.from = middle;
        out[n++] = placed;
    }
    if (n > 0)
        qsort(out, (size_t)n, sizeof *out, earlier_first);
    return n;
}

static void run_schedule(Moments *m)
{
    PlacedMoments *placed = arena_array(m->scratch, PlacedMoments, m->table->n_blocks);
    int n = place_blocks(m, placed);
    for (int i = 0; i < n; i++) {
        const Block *block = &m->table->block[placed[i].id];
        put_idle(m, placed[i].from);
        if (block->pass == BLOCK_FORWARD)
            m->now[block->stage]++;
        put_part(m, placed[i].from, placed[i].to, block->stage, block->pass, placed[i].id);
        if (block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT)
            m->now[block->stage]--;
    }
    put_idle(m, m->table->us);
}

/* The updates of the rank's stages, one after the other. */
static void run_update(Moments *m, double from, double to)
{
    int n = 0, done = 0;
    for (int s = 0; s < m->n_stages; s++)
        n += m->holds[s];
    for (int s = 0; s < m->n_stages; s++) {
        if (!m->holds[s])
            continue;
        put_part(m, from + (to - from) * done / n, from + (to - from) * (done + 1) / n, s,
                 PART_UPDATE, -1);
        done++;
    }
}

/* Without stages: the passes and the update share the time as their ops do. */
static double update_from(const Moments *m, double us)
{
    double all = 0, once = 0;
    for (int i = 0; i < m->plan->inferred->n_program; i++) {
        int32_t op = m->plan->inferred->program[i];
        all += m->plan->priced->op_us[op];
        once += op_runs_once(m->plan, op) ? m->plan->priced->op_us[op] : 0;
    }
    return all > 0 ? us * (1 - once / all) : us;
}

static Moments moments_begin(Arena *arena, const Account *account, int64_t rank)
{
    const Plan *plan = account->plan;
    Moments m = {.arena = arena, .scratch = arena_new(), .account = account, .plan = plan};
    m.table = plan_schedule(plan);
    m.rank = rank;
    m.n_stages = m.table ? m.table->n_stages : 1;
    m.holds = arena_array(m.scratch, bool, m.n_stages);
    m.now = arena_array(m.scratch, int, m.n_stages);
    m.saved = arena_array(m.scratch, ClassBytes, m.n_stages);
    for (int s = 0; s < m.n_stages; s++)
        m.holds[s] =
            !m.table ||
            submesh_has(plan->mesh, plan->decided->submeshes[plan->decided->stages->at[s].devices],
                        rank);
    account_saved(account, rank, m.saved);
    m.live = memory_classes_of(m.scratch, account, rank);
    StepMemory step = memory_of_step(account, rank);
    m.always.of[MEMORY_PARAMETER] = step.parameter;
    m.always.of[MEMORY_OPTIMIZER] = step.optimizer;
    m.always.of[MEMORY_INPUT] = step.input;
    m.always.of[MEMORY_GRADIENT] = step.gradient;
    make_bins(&m);
    return m;
}

MemoryMoments memory_moments(Arena *arena, const MemoryAccount *account, int64_t rank)
{
    MemoryMoments out = {.peak = -1, .us = plan_step_us(account->plan)};
    if (!account->graph->phase)
        return out;
    Moments m = moments_begin(arena, account, rank);
    double schedule_us = m.table ? m.table->us : update_from(&m, out.us);
    if (m.table)
        run_schedule(&m);
    else
        put_part(&m, 0, schedule_us, 0, PART_WHOLE, -1);
    run_update(&m, schedule_us, out.us);
    for (int s = 0; s < m.n_stages; s++)
        out.saved += m.holds[s] ? sum_of(&m.saved[s]) : 0;
    arena_free(m.scratch);
    out.n = m.out.n;
    out.at = m.out.at;
    for (int i = 0; i < out.n; i++)
        if (out.peak < 0 || out.at[i].bytes > out.at[out.peak].bytes)
            out.peak = i;
    return out;
}
