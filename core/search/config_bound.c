#include "core/search/config_bound.h"

#include "core/cost/pipeline.h"
#include "core/reshard/price.h"

#include <math.h>

/* Blocks of a schedule that is laid out, and micro-batches of one that is asked how many it holds.
 */
enum { LAID_OUT_MAX = 1 << 17, HELD_TIMES = 4, SCALE_MAX = 40 };

struct ConfigBounds {
    Arena *arena;
    const Machine *machine;
    Intern *keys;
    Vec(Schedule *) made; /* by key; NULL: it cannot be */
};

ConfigBounds *config_bounds_new(Arena *arena, const Machine *machine)
{
    ConfigBounds *bounds = arena_make(arena, ConfigBounds);
    *bounds = (ConfigBounds){.arena = arena_new(), .machine = machine};
    bounds->keys = intern_new(bounds->arena);
    return bounds;
}

void config_bounds_free(ConfigBounds *bounds)
{
    if (bounds)
        arena_free(bounds->arena);
}

/* ---- schedules ---- */

static const Lanes *lanes_of(Arena *arena, const Configuration *config)
{
    int n = config_n_stages(config), pp = config->size[CONFIG_PP];
    Lanes *lanes = arena_make(arena, Lanes);
    int32_t *devices = arena_array(arena, int32_t, pp), *first = arena_array(arena, int32_t, n + 1);
    int32_t *lane = arena_array(arena, int32_t, n);
    for (int l = 0; l < pp; l++)
        devices[l] = 1;
    for (int s = 0; s < n; s++) {
        first[s + 1] = s + 1;
        lane[s] = config_lane(config, s);
    }
    *lanes = (Lanes){pp, devices, first, lane};
    return lanes;
}

/* With times of one forward and two backward, so that `together` is known; NULL if there is none.
 */
static Schedule *schedule_of(ConfigBounds *bounds, const Configuration *config, int micro_batches)
{
    int32_t key[4] = {config->schedule, config->size[CONFIG_PP], config->virtual, micro_batches};
    int known = intern_find(bounds->keys, key, sizeof key);
    if (known >= 0)
        return bounds->made.at[known];
    Error refused = {0};
    Arena *arena = bounds->arena;
    int n = config_n_stages(config);
    Schedule *made = schedule_make(arena, str_from(config_schedules[config->schedule].name), n,
                                   lanes_of(arena, config), micro_batches, &refused);
    StageTime *even = arena_array(arena, StageTime, n);
    for (int s = 0; s < n; s++)
        even[s] = (StageTime){.forward_us = 1, .backward_us = 2, .weight_us = 1};
    if (made)
        schedule_time(arena, made, even);
    intern_put(bounds->keys, key, sizeof key);
    vec_push(arena, &bounds->made, made);
    return made;
}

/* As many micro-batches as it takes until a device holds no more, if the step has more: rounds of
 * an interleaved schedule are as they are. */
static int enough_to_hold(const Configuration *config)
{
    int m = config->micro_batches, pp = config->size[CONFIG_PP];
    int enough = HELD_TIMES * config_n_stages(config);
    return m <= enough || m % pp != 0 ? m : enough;
}

/* ---- stages ---- */

static double part_us(const PartCost *cost)
{
    return cost->forward_us + cost->backward_us;
}

/* The times of all parts up to each: sum[i] of those before part i. */
static double *sums_of(Arena *arena, const ConfigParts *parts)
{
    double *sum = arena_array(arena, double, parts->n_layers + 3);
    for (int i = 0; i < parts->n_layers + 2; i++)
        sum[i + 1] = sum[i] + part_us(&parts->part[i]);
    return sum;
}

/* Whether n stages of at most that time hold all layers: each as even a share as the time allows.
 */
static bool split_within(const double *sum, int n_layers, int n, double most, int *layers)
{
    int next = 1;
    for (int s = 0; s < n; s++) {
        int left = n_layers - next + 1, share = (left + n - s - 1) / (n - s);
        double from = s == 0 ? sum[0] : sum[next];
        if (s == n - 1 && sum[n_layers + 2] - from > most)
            return false;
        while (share > 1 && sum[next + share] - from > most)
            share--;
        layers[s] = s == n - 1 ? left : share;
        if (layers[s] < 1 || sum[next + layers[s]] - from > most)
            return false;
        next += layers[s];
    }
    return true;
}

static void split_by_time(Arena *scratch, const Configuration *config, const ConfigParts *parts,
                          int *layers)
{
    const double *sum = sums_of(scratch, parts);
    int n = config_n_stages(config);
    double low = 0, high = sum[parts->n_layers + 2];
    for (int i = 0; i < SCALE_MAX && high - low > 1e-4 * high; i++) {
        double middle = (low + high) / 2;
        if (split_within(sum, parts->n_layers, n, middle, layers))
            high = middle;
        else
            low = middle;
    }
    split_within(sum, parts->n_layers, n, high, layers);
}

/* What n does not divide is left out at the ends first: of r layers too few for all stages to have
 * one more, the first and the last stage lack theirs, then those beside them. */
static void split_equally(const Configuration *config, int n_layers, int *layers)
{
    int n = config_n_stages(config), more = n_layers % n;
    int skipped = n - more, before = (skipped + 1) / 2;
    for (int s = 0; s < n; s++)
        layers[s] = n_layers / n + (more > 0 && s >= before && s < before + more);
}

void config_split(const Configuration *config, const ConfigParts *parts, int *layers)
{
    if (config->split == SPLIT_EQUAL) {
        split_equally(config, parts->n_layers, layers);
        return;
    }
    Arena *scratch = arena_new();
    split_by_time(scratch, config, parts, layers);
    arena_free(scratch);
}

static void add_part(PartCost *sum, const PartCost *part)
{
    sum->forward_us += part->forward_us;
    sum->backward_us += part->backward_us;
    sum->weight_us += part->weight_us;
    sum->once_us += part->once_us;
    sum->update_us += part->update_us;
    sum->parameter += part->parameter;
    sum->optimizer += part->optimizer;
    sum->gradient += part->gradient;
    sum->saved += part->saved;
    sum->kept += part->kept;
}

/* Sending what a layer hands on to the next stage, over the fastest link that may be between. */
static double send_us(const ConfigBounds *bounds, const Configuration *config,
                      const ConfigParts *parts)
{
    int64_t node = bounds->machine->devices_per_node;
    bool inside = config_stride(config, CONFIG_PP) < node;
    RankGroup group = {.n = 2, .nodes = inside ? 1 : 2, .per_node = inside ? 2 : 1, .busy = 1};
    return parts->passed_bytes <= 0
               ? 0
               : price_group(bounds->machine, STEP_SEND, &group, parts->passed_bytes).us;
}

PartCost *config_stages(Arena *arena, const ConfigBounds *bounds, const Configuration *config,
                        const ConfigParts *parts)
{
    int n = config_n_stages(config), next = 1;
    int *layers = arena_array(arena, int, n);
    PartCost *stage = arena_array(arena, PartCost, n);
    double sent_us = n > 1 ? send_us(bounds, config, parts) : 0;
    config_split(config, parts, layers);
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < layers[s]; i++)
            add_part(&stage[s], &parts->part[next++]);
        bool sent = s > 0 && config_lane(config, s) != config_lane(config, s - 1);
        stage[s].sent_us = sent ? sent_us : 0;
    }
    add_part(&stage[0], &parts->part[0]);
    add_part(&stage[n - 1], &parts->part[parts->n_layers + 1]);
    return stage;
}

/* ---- bounds ---- */

double config_lanes_us(const Configuration *config, const PartCost *stage)
{
    int n = config_n_stages(config), pp = config->size[CONFIG_PP];
    bool splits = config_schedules[config->schedule].splits_backward;
    double before = 0, most = 0, through = 0, work[STAGES_MAX] = {0};
    for (int s = 0; s < n; s++) {
        double us = stage[s].forward_us + stage[s].backward_us;
        work[config_lane(config, s)] += us;
        through += us - (splits ? stage[s].weight_us : 0) + 2 * stage[s].sent_us;
    }
    for (int l = 0; l < pp; l++) {
        before += (splits ? 1 : 2) * stage[l].sent_us;
        most = fmax(most, before + config->micro_batches * work[l]);
        before += stage[l].forward_us + (splits ? 0 : stage[l].backward_us);
    }
    return fmax(most, through);
}

static double laid_out_us(ConfigBounds *bounds, Arena *scratch, const Configuration *config,
                          const PartCost *stage, bool *legal)
{
    int n = config_n_stages(config);
    if ((int64_t)n * config->micro_batches > LAID_OUT_MAX)
        return config_lanes_us(config, stage);
    Schedule *table = schedule_of(bounds, config, config->micro_batches);
    *legal = table != NULL;
    if (!table)
        return 0;
    Schedule timed = *table;
    StageTime *time = arena_array(scratch, StageTime, n);
    timed.block = arena_array(scratch, Block, table->n_blocks);
    memcpy(timed.block, table->block, sizeof(Block) * (size_t)table->n_blocks);
    for (int s = 0; s < n; s++)
        time[s] = (StageTime){.forward_us = stage[s].forward_us,
                              .backward_us = stage[s].backward_us,
                              .receive_us = stage[s].sent_us,
                              .return_us = stage[s].sent_us,
                              .weight_us = stage[s].weight_us};
    schedule_time(scratch, &timed, time);
    return timed.us;
}

/* Sharded as far as the level of ZeRO does. */
static int64_t stored_bytes(const Configuration *config, const PartCost *stage, int64_t shards)
{
    return stage->optimizer / (config->zero >= 1 ? shards : 1) +
           stage->gradient / (config->zero >= 2 ? shards : 1) +
           stage->parameter / (config->zero >= 3 ? shards : 1);
}

int64_t config_lanes_bytes(ConfigBounds *bounds, const Configuration *config, const PartCost *stage,
                           int64_t shards)
{
    int n = config_n_stages(config);
    bool all = strcmp(config_schedules[config->schedule].name, "gpipe") == 0;
    const Schedule *table = all ? NULL : schedule_of(bounds, config, enough_to_hold(config));
    int64_t most = 0, forward[STAGES_MAX] = {0}, backward[STAGES_MAX] = {0};
    for (int s = 0; s < n; s++) {
        int lane = config_lane(config, s), held = all     ? config->micro_batches
                                                  : table ? table->together[s]
                                                          : 1;
        int64_t stored = stored_bytes(config, &stage[s], shards);
        held = held > 1 ? held : 1;
        forward[lane] += stored + stage[s].saved * held;
        backward[lane] += stored + stage[s].saved * (held - 1) + stage[s].kept;
        int64_t bytes = forward[lane] > backward[lane] ? forward[lane] : backward[lane];
        most = bytes > most ? bytes : most;
    }
    return most;
}

ConfigBound config_bound(ConfigBounds *bounds, const Configuration *config,
                         const ConfigParts *parts, int64_t shards)
{
    Arena *scratch = arena_new();
    ConfigBound out = {.legal = true};
    const PartCost *stage = config_stages(scratch, bounds, config, parts);
    double once = 0;
    for (int s = 0; s < config_n_stages(config); s++)
        once =
            fmax(once, stage[s].once_us + stage[s].update_us / (double)(config->zero ? shards : 1));
    out.us = once + laid_out_us(bounds, scratch, config, stage, &out.legal);
    out.bytes = config_lanes_bytes(bounds, config, stage, shards);
    arena_free(scratch);
    return out;
}
