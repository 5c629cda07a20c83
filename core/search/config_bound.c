#include "core/search/config_bound.h"

#include "core/reshard/price.h"

#include <assert.h>
#include <math.h>

/* Blocks of a schedule that is laid out, and micro-batches of one that is asked how many it holds.
 */
enum { LAID_OUT_MAX = 1 << 17, HELD_TIMES = 4, SCALE_MAX = 40 };
/* Where the longest stage is looked for first: above the mean of all stages. Times of several kinds
 * of devices differ from part to part, so that their mean may lie above it. */
static const double near_mean = .02, below_mean = .5;

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

/* Whether a lane has a position from begin up to end: lanes are runs of `stride` positions in turn.
 */
static bool lane_touches(int64_t begin, int64_t end, int64_t stride, int n_lanes, int lane)
{
    int64_t block = stride * n_lanes, from = begin % block, to = from + (end - begin);
    int64_t low = lane * stride, high = low + stride;
    return (from < high && low < to) || (from < high + block && low + block < to);
}

/* The kind of devices on which a lane computes: of several the one with the slowest links, which
 * none of the others beats in what they do together. 0 if all are alike. */
static int kind_of_lane(const ConfigBounds *bounds, const Configuration *config, int lane)
{
    const Cluster *cluster = bounds->machine->cluster;
    int64_t stride = config_stride(config, CONFIG_PP), begin = 0, n_devices = 1;
    unsigned set = 0;
    for (int a = 0; a < CONFIG_AXES; a++)
        n_devices *= config->size[a];
    for (int i = 0; cluster && i < cluster->n && begin < n_devices; i++) {
        int64_t end = i + 1 < cluster->n ? begin + cluster->kind[i].devices : n_devices;
        end = end < n_devices ? end : n_devices;
        if (lane_touches(begin, end, stride, config->size[CONFIG_PP], lane))
            set |= 1u << i;
        begin = end;
    }
    return set ? cluster_slowest(cluster, set) : 0;
}

/* How the layers of a model are shared out by time: per stage the times of all parts up to each on
 * its devices, sum[i] of those before part i, and its speed relative to the first kind. */
typedef struct {
    int n, n_layers;
    const double *sum[STAGES_MAX];
    double speed[STAGES_MAX], left[STAGES_MAX]; /* left: of it and those behind it */
} Split;

static double *sums_of(Arena *arena, const ConfigParts *parts)
{
    double *sum = arena_array(arena, double, parts->n_layers + 3);
    for (int i = 0; i < parts->n_layers + 2; i++)
        sum[i + 1] = sum[i] + part_us(&parts->part[i]);
    return sum;
}

static void split_of(Arena *arena, const ConfigBounds *bounds, const Configuration *config,
                     const KindParts *parts, Split *out)
{
    const double *sum[CLUSTER_KINDS_MAX];
    int last = parts->of[0]->n_layers + 2;
    assert(parts->n > 0);
    for (int i = 0; i < parts->n; i++)
        sum[i] = sums_of(arena, parts->of[i]);
    *out = (Split){.n = config_n_stages(config), .n_layers = parts->of[0]->n_layers};
    for (int s = 0; s < out->n; s++) {
        int kind = kind_of_lane(bounds, config, config_lane(config, s));
        out->sum[s] = sum[kind];
        out->speed[s] = sum[kind][last] > 0 ? sum[0][last] / sum[kind][last] : 1;
    }
    for (int s = out->n - 1; s >= 0; s--)
        out->left[s] = out->speed[s] + (s + 1 < out->n ? out->left[s + 1] : 0);
}

static const double rounding = 1e-6; /* of sums of speeds */

/* As even a share of the layers that are left as the speed of the stage allows. */
static int even_share(const Split *split, int s, int left)
{
    int share = (int)ceil(left * split->speed[s] / split->left[s] - rounding);
    return share > 1 ? share : 1;
}

/* The layer that stage s can begin with at the earliest, if it ends before layer `end`, takes at
 * most that time and leaves a layer for each stage before it; `end` if it cannot hold any. */
static int earliest(const Split *split, int s, int end, double most)
{
    const double *sum = split->sum[s];
    double to = s == split->n - 1 ? sum[split->n_layers + 2] : sum[end];
    int first = end;
    while (first > s + 1 && to - sum[first - 1] <= most)
        first--;
    return s == 0 && (first > 1 || to - sum[0] > most) ? end : first;
}

/* How many layers stage s holds from one on, the last of them before layer `end`. */
static int held(const Split *split, int s, int next, int end, double most)
{
    const double *sum = split->sum[s];
    double from = s == 0 ? sum[0] : sum[next];
    int n = 1;
    while (next + n < end && sum[next + n + 1] - from <= most)
        n++;
    return n;
}

/* Whether stages of at most that time hold all layers; first: the layer that each begins with at
 * the earliest. */
static bool split_within(const Split *split, double most, int *first)
{
    for (int s = split->n - 1, end = split->n_layers + 1; s >= 0; s--) {
        first[s] = earliest(split, s, end, most);
        if (first[s] == end)
            return false;
        end = first[s];
    }
    return true;
}

/* Each stage has as even a share as the time and those behind it allow. */
static void share_out(const Split *split, double most, const int *first, int *layers)
{
    for (int s = 0, next = 1; s < split->n; next += layers[s++]) {
        int left = split->n_layers - next + 1, behind = split->n - s - 1;
        int least = behind > 0 ? first[s + 1] - next : left, share = even_share(split, s, left);
        int can = held(split, s, next, split->n_layers + 1 - behind, most);
        share = share < can ? share : can;
        layers[s] = share > least ? share : least > 1 ? least : 1;
    }
}

static void split_by_time(Arena *scratch, const ConfigBounds *bounds, const Configuration *config,
                          const KindParts *parts, int *layers)
{
    Split *split = arena_make(scratch, Split);
    split_of(scratch, bounds, config, parts, split);
    int *first = arena_array(scratch, int, split->n);
    double mean = split->sum[0][split->n_layers + 2] * split->speed[0] / split->left[0];
    double low = mean * (parts->n > 1 ? below_mean : 1), high = mean * (1 + near_mean);
    for (int i = 0; i < SCALE_MAX && !split_within(split, high, first); i++) {
        double apart = high - low;
        low = high;
        high += 2 * apart;
    }
    while (high - low > 1e-4 * high) {
        double middle = (low + high) / 2;
        if (split_within(split, middle, first))
            high = middle;
        else
            low = middle;
    }
    if (split_within(split, high, first))
        share_out(split, high, first, layers);
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

void config_split(const ConfigBounds *bounds, const Configuration *config, const KindParts *parts,
                  int *layers)
{
    if (config->split == SPLIT_EQUAL) {
        split_equally(config, parts->of[0]->n_layers, layers);
        return;
    }
    Arena *scratch = arena_new();
    split_by_time(scratch, bounds, config, parts, layers);
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
static double send_us(const Machine *machine, const Configuration *config, const ConfigParts *parts)
{
    int64_t node = machine->devices_per_node;
    bool inside = config_stride(config, CONFIG_PP) < node;
    RankGroup group = {.n = 2, .nodes = inside ? 1 : 2, .per_node = inside ? 2 : 1, .busy = 1};
    return parts->passed_bytes <= 0
               ? 0
               : price_group(machine, STEP_SEND, &group, parts->passed_bytes).us;
}

static double least_send_us(const ConfigBounds *bounds, const Configuration *config,
                            const KindParts *parts)
{
    const Cluster *cluster = bounds->machine->cluster;
    double us = INFINITY;
    for (int i = 0; i < parts->n; i++)
        us = fmin(us, send_us(cluster ? cluster->kind[i].machine : bounds->machine, config,
                              parts->of[i]));
    return us;
}

PartCost *config_stages(Arena *arena, const ConfigBounds *bounds, const Configuration *config,
                        const KindParts *parts, const int *layers)
{
    int n = config_n_stages(config), next = 1;
    PartCost *stage = arena_array(arena, PartCost, n);
    double sent_us = n > 1 ? least_send_us(bounds, config, parts) : 0;
    for (int s = 0; s < n; s++) {
        int kind = kind_of_lane(bounds, config, config_lane(config, s));
        const PartCost *part = parts->of[kind]->part;
        if (s == 0)
            add_part(&stage[s], &part[0]);
        for (int i = 0; i < layers[s]; i++)
            add_part(&stage[s], &part[next++]);
        if (s == n - 1)
            add_part(&stage[s], &part[parts->of[kind]->n_layers + 1]);
        bool sent = s > 0 && config_lane(config, s) != config_lane(config, s - 1);
        stage[s].sent_us = sent ? sent_us : 0;
    }
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

ConfigBound config_bound(ConfigBounds *bounds, const Configuration *config, const KindParts *parts,
                         const int *layers, int64_t shards)
{
    Arena *scratch = arena_new();
    ConfigBound out = {.legal = true};
    const PartCost *stage = config_stages(scratch, bounds, config, parts, layers);
    double once = 0;
    for (int s = 0; s < config_n_stages(config); s++)
        once =
            fmax(once, stage[s].once_us + stage[s].update_us / (double)(config->zero ? shards : 1));
    out.us = once + laid_out_us(bounds, scratch, config, stage, &out.legal);
    out.bytes = config_lanes_bytes(bounds, config, stage, shards);
    arena_free(scratch);
    return out;
}
