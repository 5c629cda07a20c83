#include "core/run/draw.h"

#include <math.h>

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

uint64_t draw_key(uint64_t seed, Str name)
{
    return mix(hash_bytes(name.s, name.n) ^ mix(seed + golden));
}

double draw_uniform(uint64_t key, int64_t index)
{
    uint64_t bits = mix(key + ((uint64_t)index + 1) * golden) >> 11;
    return (double)bits * 0x1p-52 - 1.0;
}

double draw_weight_scale(const Shape *shape)
{
    double largest = 1, n = 1;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        n *= (double)shape->dim[d];
        largest = fmax(largest, (double)shape->dim[d]);
    }
    return shape->n_dims < 2 || n == 0 ? 1.0 : 1.0 / sqrt(n / largest);
}
