#include "core/search/least_price.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <math.h>

/* A group of `inside` devices in each of `nodes` nodes, which lie in so many blocks; of a part of a
 * group they may lie in one. Without padding: it is a key. */
typedef struct {
    int64_t inside, nodes, busy, bytes, kind, blocks, per_block;
} BoundKey;

struct LeastPrices {
    Arena *arena;
    const Machine *machine;
    Intern *asked;
    Vec(double) us;
};

LeastPrices *least_prices_new(Arena *arena, const Machine *machine)
{
    LeastPrices *prices = arena_make(arena, LeastPrices);
    *prices = (LeastPrices){.arena = arena, .machine = machine, .asked = intern_new(arena)};
    return prices;
}

static double one_step_us(const LeastPrices *prices, StepKind kind, const BoundKey *at)
{
    RankGroup group = {.n = at->inside * at->nodes,
                       .nodes = at->nodes,
                       .per_node = at->inside,
                       .busy = at->busy,
                       .blocks = at->blocks,
                       .per_block = at->per_block};
    return price_group(prices->machine, kind, &group, at->bytes).us;
}

static double scatter_us(const LeastPrices *prices, const BoundKey *at)
{
    return fmin(one_step_us(prices, STEP_REDUCE_SCATTER, at),
                one_step_us(prices, STEP_ALL_REDUCE, at));
}

/* Of what is done over a part of the group first, or last. */
static double part_us(const LeastPrices *prices, const BoundKey *part)
{
    double gather =
        part->kind == STEP_REDUCE_SCATTER ? 0 : one_step_us(prices, STEP_ALL_GATHER, part);
    return gather + (part->kind == STEP_ALL_GATHER ? 0 : scatter_us(prices, part));
}

static double least_us(LeastPrices *prices, const BoundKey *at);

static double least_of_parts_us(LeastPrices *prices, const BoundKey *at)
{
    double least = INFINITY;
    for (int64_t inside = 1; inside <= at->inside; inside++)
        for (int64_t nodes = 1; at->inside % inside == 0 && nodes <= at->nodes; nodes++) {
            int64_t n = inside * nodes;
            if (at->nodes % nodes != 0 || n == 1 || n == at->inside * at->nodes)
                continue;
            BoundKey part = *at, rest = *at;
            part.blocks = rest.blocks = part.per_block = rest.per_block = 0;
            part.inside = inside;
            part.nodes = nodes;
            rest.inside /= inside;
            rest.nodes /= nodes;
            rest.bytes /= n;
            least = fmin(least, part_us(prices, &part) + least_us(prices, &rest));
        }
    return least;
}

static double least_us(LeastPrices *prices, const BoundKey *at)
{
    int32_t known = intern_find(prices->asked, at, sizeof *at);
    if (known >= 0)
        return prices->us.at[known];
    double us = at->kind == STEP_REDUCE_SCATTER ? scatter_us(prices, at)
                                                : one_step_us(prices, (StepKind)at->kind, at);
    us = fmin(us, least_of_parts_us(prices, at));
    intern_put(prices->asked, at, sizeof *at);
    vec_push(prices->arena, &prices->us, us);
    return us;
}

double least_price_us(LeastPrices *prices, const Mesh *mesh, StepKind kind, AtomSet atoms,
                      double bytes)
{
    int64_t whole = bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
    RankGroup group = machine_group(prices->machine, mesh, atoms);
    bool even = group.per_node * group.nodes == group.n; /* else as if all were in a node */
    BoundKey at = {even ? group.per_node : group.n,
                   even ? group.nodes : 1,
                   group.busy,
                   whole,
                   (int64_t)kind,
                   even ? group.blocks : 0,
                   even ? group.per_block : 0};
    if (whole <= 0 || group.n == 1)
        return 0;
    return kind == STEP_ALL_REDUCE || kind == STEP_REDUCE_SCATTER || kind == STEP_ALL_GATHER
               ? least_us(prices, &at)
               : one_step_us(prices, kind, &at);
}
