#include "core/reshard/price_ways.h"

#include "core/reshard/measured.h"

#include <math.h>

/* ORDER ALGORITHM, ORDER PROTOCOL */
static const char *const names[ALGORITHM_COUNT][PROTOCOL_COUNT] = {
    {"ring LL", "ring LL128", "ring Simple"},
    {"tree LL", "tree LL128", "tree Simple"},
    {"NVLS", "NVLS", "NVLS"},
    {"NVLS tree", "NVLS tree", "NVLS tree"},
    {"PAT", "PAT", "PAT"},
};
static const char *const direct_names[PROTOCOL_COUNT] = {"direct LL", "direct LL128",
                                                         "direct Simple"};
static const char *const pairwise_names[PROTOCOL_COUNT] = {"pairwise LL", "pairwise LL128",
                                                           "pairwise Simple"};

/* NCCL duplicates channels if there are few of them and each is fast (search.cc). */
enum { FEW_CHANNELS = 4 };
static const double fast_channel_bytes_per_s = 25e9;

/* What formulas are made from, for one kind on one group. */
typedef struct {
    const Machine *machine;
    const Tuning *tuning;
    StepKind kind;
    double n, nodes, per_node, blocks, per_block;
    int spread;     /* index into BySpread */
    double inside;  /* bytes/s of a rank in a node */
    double between; /* of one device's part of the network */
    double spine;   /* and of the spine */
    double channels;
    Way *ways;
    int n_ways;
} Ask;

/* ---- parts ---- */

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* The lesser of two limits; 0 means no limit. */
static double tighter(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

double pass_bytes_per_s(const WirePass *pass)
{
    double rate = pass->left * pass->bus_bytes_per_s;
    return pass->most_bytes_per_s > 0 ? lesser(rate, pass->most_bytes_per_s) : rate;
}

/* Rounds of a ring, each of which moves 1/n of the bytes; a broadcast is one long pipeline. */
static double ring_rounds(StepKind kind, double n)
{
    return kind == STEP_ALL_REDUCE ? 2 * (n - 1) : kind == STEP_BROADCAST ? n : n - 1;
}

static bool gathers(StepKind kind)
{
    return kind == STEP_ALL_GATHER || kind == STEP_REDUCE_SCATTER || kind == STEP_SCAN;
}

static double log2_floor(double n)
{
    int exponent;
    frexp(n, &exponent);
    return exponent - 1;
}

/* Bytes/s at which all ranks that a group has on a node reach other nodes. */
static double network_of(const Ask *ask)
{
    double between = ask->per_node * ask->between;
    return ask->blocks > 1 ? lesser(between, ask->per_block * ask->spine) : between;
}

/* Bytes/s of a rank in a ring or tree over all its nodes. Inner links of trees over two nodes may
 * be faster than the network, as each node is a root of one of the two trees. */
static double bus_of(const Ask *ask, bool tree)
{
    if (ask->nodes <= 1)
        return ask->inside;
    double between = network_of(ask);
    if (ask->per_node <= 1)
        return between;
    double slower = lesser(ask->inside, between);
    return tree && ask->nodes <= 2 ? lesser(ask->inside, 2 * slower) : slower;
}

static double count_channels(const Ask *ask)
{
    const Link *between = &ask->machine->between;
    if (ask->nodes <= 1)
        return (double)ask->machine->inside.channels;
    double n = ask->per_node * (double)between->channels;
    bool doubled = n <= FEW_CHANNELS && between->channel_bytes_per_s >= fast_channel_bytes_per_s;
    return doubled ? 2 * n : n;
}

static Way *add_way(Ask *ask, const char *name, Protocol protocol, const char *formula)
{
    Way *way = &ask->ways[ask->n_ways++];
    const Machine *machine = ask->machine;
    *way = (Way){.name = name, .formula = formula, .protocol = protocol};
    way->spine_us = machine->spine.latency_us - machine->between.latency_us;
    return way;
}

static void add_pass(Way *way, double share, double bus, double left, double most)
{
    WirePass *pass = &way->pass[way->n_passes++];
    *pass = (WirePass){share, bus, left, most};
    way->us_per_byte += share / pass_bytes_per_s(pass) * 1e6;
}

/* ---- algorithms ---- */

static const char *ring_formula(StepKind kind)
{
    if (kind == STEP_ALL_REDUCE)
        return "base + 2(n-1) hops + 2(n-1)/n * bytes / bandwidth";
    if (kind == STEP_BROADCAST)
        return "base + hops + bytes / bandwidth";
    return "base + (n-1) hops + (n-1)/n * bytes / bandwidth";
}

/* A broadcast on one node is one hop: all channels go in the same direction, at once. */
static void ring_hops(const Ask *ask, Protocol protocol, Way *way)
{
    const Tuning *tuning = ask->tuning;
    bool simple = protocol == PROTOCOL_SIMPLE, one_each = ask->n <= ask->nodes;
    Algorithm net = one_each ? ALGORITHM_TREE : ALGORITHM_RING;
    double rounds = ring_rounds(ask->kind, ask->n), post = tuning->post_us * (simple ? 3 : 1);
    way->inside_us = tuning->inside_us[ALGORITHM_RING][protocol];
    way->between_us = tuning->between_us[net][protocol];
    if (ask->kind == STEP_BROADCAST) {
        way->between_us = tuning->between_us[simple ? ALGORITHM_TREE : ALGORITHM_RING][protocol];
        way->n_inside = ask->nodes <= 1 ? 1 : 0;
        way->n_between = ask->nodes <= 1 ? 0 : rounds;
        way->n_spine = ask->blocks - 1;
        return;
    }
    if (ask->nodes > 1) {
        way->inside_us = way->inside_us > post ? way->inside_us : post;
        int times = ask->kind == STEP_ALL_REDUCE ? 2 : 1;
        way->n_between = times * (ask->nodes - 1);
        way->n_spine = times * (ask->blocks - 1);
    }
    way->n_inside = rounds - way->n_between;
}

static void add_ring(Ask *ask, Protocol protocol)
{
    const Tuning *tuning = ask->tuning;
    Latencies const *hop = ask->nodes <= 1 ? &tuning->inside_us : &tuning->between_us;
    if ((*hop)[ALGORITHM_RING][protocol] <= 0)
        return;
    Way *way = add_way(ask, names[ALGORITHM_RING][protocol], protocol, ring_formula(ask->kind));
    way->base_us = tuning->base_us[ALGORITHM_RING][protocol];
    ring_hops(ask, protocol, way);
    double left = 1, most = 0;
    if (protocol == PROTOCOL_LL) {
        left = tuning->ring_ll_share;
        most = tuning->ll_bytes_per_s[ask->spread];
    } else if (protocol == PROTOCOL_LL128) {
        left = tuning->ring_ll128_share;
        most = ask->channels * tuning->ring_ll128_channel_bytes_per_s[ask->spread];
    } else if (ask->nodes > 1 && ask->kind == STEP_ALL_REDUCE) {
        way->plateau = tuning->plateau;
        way->plateau_bytes = 64 * ask->channels * ask->n;
    }
    add_pass(way, ring_rounds(ask->kind, ask->n) / ask->n, bus_of(ask, false), left, most);
}

static void add_tree(Ask *ask, Protocol protocol)
{
    const Tuning *tuning = ask->tuning;
    Latencies const *hop = ask->nodes <= 1 ? &tuning->inside_us : &tuning->between_us;
    if (ask->kind != STEP_ALL_REDUCE || (*hop)[ALGORITHM_TREE][protocol] <= 0)
        return;
    Way *way = add_way(ask, names[ALGORITHM_TREE][protocol], protocol,
                       ask->nodes <= 1
                           ? "base + 2(n-1) hops + 2 * bytes / bandwidth"
                           : "base + 2(p-1) hops + 2 log2(nodes) hops + 2 * bytes / bandwidth");
    way->algorithm = ALGORITHM_TREE;
    way->by_size = true;
    way->base_us = tuning->base_us[ALGORITHM_TREE][protocol];
    way->inside_us = tuning->inside_us[ALGORITHM_TREE][protocol];
    way->between_us = tuning->between_us[ALGORITHM_TREE][protocol];
    way->n_inside = 2 * (floor(ask->n / ask->nodes) - 1);
    way->n_between = 2 * log2_floor(ask->nodes);
    way->n_spine = 2 * log2_floor(ask->blocks);
    double left = tuning->tree_share, corrected = 1;
    double most = ask->channels * tuning->tree_channel_bytes_per_s[ask->spread], limit = 0;
    if (protocol == PROTOCOL_LL) {
        corrected = tuning->tree_ll_share;
        limit = tuning->ll_bytes_per_s[ask->spread];
    } else if (protocol == PROTOCOL_LL128) {
        corrected = ask->nodes <= 1 ? tuning->tree_ll128_share : tuning->tree_ll128_share_between;
        limit = ask->channels * tuning->tree_ll128_channel_bytes_per_s[ask->spread];
    }
    add_pass(way, 2, bus_of(ask, true), left * corrected, tighter(most * corrected, limit));
}

static bool adds_in_switch(const Tuning *tuning)
{
    return tuning->nvls_channel_bytes_per_s > 0 && tuning->nvls_share > 0;
}

/* Each rank is the head of one channel: it reduces and distributes 1/n of the bytes, through the
 * switch. An all-reduce does both at once. */
static void add_nvls(Ask *ask)
{
    const Tuning *tuning = ask->tuning;
    double heads = ask->per_node, hop = tuning->inside_us[ALGORITHM_NVLS][PROTOCOL_SIMPLE];
    bool reduce = ask->kind == STEP_ALL_REDUCE;
    if (ask->nodes > 1 || heads < 2 || hop <= 0 || !adds_in_switch(tuning) ||
        (!reduce && !gathers(ask->kind)))
        return;
    Way *way = add_way(ask, "NVLS", PROTOCOL_SIMPLE,
                       reduce ? "hop + 2(n-1)/n * bytes / bandwidth" : "hop + bytes / bandwidth");
    way->algorithm = ALGORITHM_NVLS;
    way->inside_us = hop;
    way->n_inside = 1;
    double bus = tuning->nvls_channel_bytes_per_s * (heads - 1);
    add_pass(way, reduce ? 2 * (ask->n - 1) / ask->n : 1, bus * (reduce ? 2 : (heads - 1) / heads),
             tuning->nvls_share, 0);
}

static void add_nvls_tree(Ask *ask)
{
    const Tuning *tuning = ask->tuning;
    double heads = ask->per_node, hop = tuning->inside_us[ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE];
    if (ask->nodes <= 1 || heads < 2 || hop <= 0 || !adds_in_switch(tuning) ||
        ask->kind != STEP_ALL_REDUCE)
        return;
    Way *way = add_way(ask, "NVLS tree", PROTOCOL_SIMPLE,
                       "hop + 2 log2(nodes) hops + 2(n-1)/n * bytes / bandwidth");
    way->algorithm = ALGORITHM_NVLS_TREE;
    way->inside_us = hop;
    way->n_inside = 1;
    way->between_us = tuning->between_us[ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE];
    way->n_between = 2 * log2_floor(ask->nodes);
    way->n_spine = 2 * log2_floor(ask->blocks);
    double twice = 2 * (ask->n - 1) / ask->n; /* two nodes: both ways at once; NCCL says 2 */
    double net = network_of(ask) * (ask->nodes <= 2 ? twice : 1);
    double channel = heads * tuning->nvls_tree_channel_bytes_per_s[ask->spread];
    add_pass(way, 2 * (ask->n - 1) / ask->n, 2 * tuning->nvls_channel_bytes_per_s * (heads - 1),
             tuning->nvls_share, tighter(net, channel));
}

/* Its latency has a part that grows with the ranks: a hop between nodes counts 5 times that. */
static void add_pat(Ask *ask)
{
    static const double hop_part = 1 / 3.5, per_rank = 1 / 5.0;
    const Tuning *tuning = ask->tuning;
    double hop = tuning->between_us[ALGORITHM_PAT][PROTOCOL_SIMPLE];
    if (!gathers(ask->kind) || ask->nodes < 2 || ask->n > ask->nodes || hop <= 0)
        return;
    Way *way =
        add_way(ask, "PAT", PROTOCOL_SIMPLE, "base + (log2(n)/3.5 + n/5) hops + bytes / bandwidth");
    way->algorithm = ALGORITHM_PAT;
    way->base_us = tuning->base_us[ALGORITHM_PAT][PROTOCOL_SIMPLE];
    way->between_us = hop;
    way->n_between = log2_floor(ask->n) * hop_part + ask->n * per_rank;
    way->n_spine = log2_floor(ask->blocks);
    add_pass(way, 1, bus_of(ask, false), tuning->pat_share, 0);
}

/* Each rank sends to its neighbours or to one other. */
static bool is_direct(StepKind kind)
{
    return kind == STEP_PERMUTE || kind == STEP_SEND || kind == STEP_HALO || kind == STEP_RING;
}

/* Sends, which NCCL does not model: one hop each, with the protocols of sends. */
static void add_sends(Ask *ask, Protocol protocol)
{
    const Tuning *tuning = ask->tuning;
    bool all = ask->kind == STEP_ALL_TO_ALL, far = ask->nodes > 1;
    double hop = tuning->inside_us[ALGORITHM_RING][protocol];
    double net = tuning->between_us[ALGORITHM_RING][protocol];
    if (protocol == PROTOCOL_LL128 || (far ? net : hop) <= 0)
        return;
    Way *way = add_way(ask, all ? pairwise_names[protocol] : direct_names[protocol], protocol,
                       all && ask->blocks > 1
                           ? "base + (p-1) hops + (n-p) hops + (n-q) hops + (p-1)/n * bytes / "
                             "inside + (q-p)/n * bytes / between + (n-q)/n * bytes / spine"
                       : all ? "base + (p-1) hops + (n-p) hops + (p-1)/n * bytes / inside + "
                               "(n-p)/n * bytes / between"
                             : "base + hop + bytes / bandwidth");
    way->base_us = tuning->base_us[ALGORITHM_RING][protocol];
    way->inside_us = hop;
    way->between_us = net;
    bool farther = ask->blocks > 1;
    double near = all ? ask->per_node - 1 : !far, away = all ? ask->n - ask->per_node : far;
    double over = !farther ? 0 : all ? ask->n - ask->per_block : 1;
    double left = protocol == PROTOCOL_LL ? tuning->ring_ll_share : 1;
    double most = protocol == PROTOCOL_LL ? tuning->ll_bytes_per_s[ask->spread] : 0;
    way->n_inside = near;
    way->n_between = away;
    way->n_spine = over;
    if (near > 0)
        add_pass(way, all ? near / ask->n : 1, ask->inside, left, most);
    if (away > over)
        add_pass(way, all ? (away - over) / ask->n : 1, ask->between, left, most);
    if (over > 0)
        add_pass(way, all ? over / ask->n : 1, ask->spine, left, most);
}

/* ---- without tuning numbers ---- */

static void add_plain(Ask *ask, const RankGroup *group)
{
    const Link *link = group_link(ask->machine, group);
    bool whole = is_direct(ask->kind);
    double rounds = whole ? 1 : ask->kind == STEP_ALL_REDUCE ? 2 * (ask->n - 1) : ask->n - 1;
    const char *formula = whole                         ? "latency + bytes / bandwidth"
                          : ask->kind == STEP_BROADCAST ? "(n-1) latency + bytes / bandwidth"
                          : ask->kind == STEP_ALL_REDUCE
                              ? "2(n-1) latency + 2(n-1)/n * bytes / bandwidth"
                              : "(n-1) latency + (n-1)/n * bytes / bandwidth";
    Way *way = add_way(ask, whole ? "direct" : "ring", PROTOCOL_SIMPLE, formula);
    way->inside_us = link->latency_us;
    way->n_inside = rounds;
    double share = whole || ask->kind == STEP_BROADCAST ? 1 : rounds / ask->n;
    add_pass(way, share, link_bytes_per_s(link, group->busy), 1, 0);
}

/* ---- as it was measured ---- */

static void add_measured(Ask *ask, const MeasuredStep *step)
{
    Way *way = add_way(ask, "measured", PROTOCOL_SIMPLE, "latency + bytes / bandwidth");
    way->inside_us = step->latency_us;
    way->n_inside = 1;
    add_pass(way, 1, step->bytes_per_s, 1, 0);
}

/* ---- all of them ---- */

static void add_tuned(Ask *ask)
{
    bool sends = ask->kind == STEP_ALL_TO_ALL || is_direct(ask->kind);
    for (Protocol protocol = 0; protocol < PROTOCOL_COUNT; protocol++)
        if (sends) {
            add_sends(ask, protocol);
        } else {
            add_ring(ask, protocol);
            add_tree(ask, protocol);
        }
    if (!sends) {
        add_nvls(ask);
        add_nvls_tree(ask);
        add_pat(ask);
    }
}

int price_ways(const Machine *machine, StepKind kind, const RankGroup *group, Way *ways)
{
    Ask ask = {.machine = machine, .tuning = machine->tuning, .kind = kind, .ways = ways};
    ask.n = (double)group->n;
    ask.nodes = (double)group->nodes;
    ask.per_node = (double)group->per_node;
    bool spans = machine->devices_per_block > 0 && group->blocks > 1;
    ask.blocks = spans ? (double)group->blocks : 1;
    ask.per_block = spans ? (double)group->per_block : ask.n;
    ask.spread = group->nodes <= 1 ? 0 : group->nodes == 2 ? 1 : 2;
    ask.inside = link_bytes_per_s(&machine->inside, group->busy);
    ask.between = link_bytes_per_s(&machine->between, group->busy);
    ask.spine = link_bytes_per_s(&machine->spine, group->busy);
    ask.channels = count_channels(&ask);
    const MeasuredStep *measured = measured_step(machine->measured, kind, group->n);
    if (measured)
        add_measured(&ask, measured);
    else if (ask.tuning)
        add_tuned(&ask);
    if (ask.n_ways == 0)
        add_plain(&ask, group);
    return ask.n_ways;
}

/* ---- time ---- */

/* Linear between two sizes of the table, so that more bytes never take less time. */
double way_size_share(const Machine *machine, const Way *way, int64_t bytes)
{
    if (!way->by_size || bytes >= (int64_t)64 << TREE_SIZES)
        return 1;
    const double *share = machine->tuning->tree_size_share[way->protocol];
    if (bytes <= 64)
        return share[0];
    int exponent;
    double above = 2 * frexp((double)bytes / 64, &exponent) - 1; /* 0 to 1 within the octave */
    int at = exponent - 1;
    double next = at + 1 < TREE_SIZES ? share[at + 1] : 1;
    return share[at] + (next - share[at]) * above;
}

static double way_latency_us(const Way *way, int64_t bytes)
{
    double us = way->base_us + way->n_inside * way->inside_us + way->n_between * way->between_us +
                way->n_spine * way->spine_us;
    return way->plateau_bytes > 0 && (double)bytes >= way->plateau_bytes ? us * way->plateau : us;
}

double way_us(const Machine *machine, const Way *way, int64_t bytes)
{
    double move_us = (double)bytes * way->us_per_byte;
    if (way->by_size)
        move_us /= way_size_share(machine, way, bytes);
    return way_latency_us(way, bytes) + move_us;
}
