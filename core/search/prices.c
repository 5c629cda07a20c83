#include "core/search/prices.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

typedef struct {
    int32_t dtype, from, to;
} Asked;

struct Prices {
    Arena *arena;
    Resharder *resharder;
    Intern *asked;
    Vec(double) us;
};

Prices *prices_new(Arena *arena, Resharder *resharder)
{
    Prices *prices = arena_make(arena, Prices);
    *prices = (Prices){.arena = arena, .resharder = resharder, .asked = intern_new(arena)};
    return prices;
}

int32_t prices_ask(Prices *prices, Dtype dtype, int32_t from, int32_t to)
{
    Asked asked = {(int32_t)dtype, from, to};
    int32_t id = intern_put(prices->asked, &asked, sizeof asked);
    if (id == prices->us.n) {
        double us = reshard(prices->resharder, dtype, from, to)->us;
        vec_push(prices->arena, &prices->us, us);
    }
    return id;
}

double prices_us(const Prices *prices, int32_t id)
{
    return prices->us.at[id];
}

bool prices_free(Prices *prices, Dtype dtype, int32_t from, int32_t to)
{
    return from == to || prices_us(prices, prices_ask(prices, dtype, from, to)) <= 0;
}
