#include "core/run/draw.h"

#include "core/run/kernel.h"

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

void text_draw(uint64_t key, int64_t row, int64_t bound, bool ahead, int64_t n, int64_t *out)
{
    uint64_t state = mix(key ^ mix((uint64_t)row + 1)), token = state % (uint64_t)bound;
    for (int64_t i = 0; i < n + ahead; i++) {
        if (i >= ahead)
            out[i - ahead] = (int64_t)token;
        state = mix(state + golden);
        uint64_t turn = mix(token + 1);
        token = (state >> 61 ? turn : mix(state)) % (uint64_t)bound;
    }
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

bool generate_of_op(Arena *arena, const Inferred *inferred, int32_t op, Generated *out, Error *err)
{
    const UserOp *user = op_user(inferred, op);
    OpPart part;
    Error inner = {0};
    if (!user || !user->input_gen || program_space(inferred, op)->no_rule)
        return true;
    int n = inferred->graph->ops[op].n_inputs;
    Generated *generated = arena_array(arena, Generated, n);
    if (!op_part(arena, inferred, op, NULL, NULL, &part, &inner) ||
        !user->input_gen(user->context, &part, generated, &inner)) {
        inner.kind = ERROR_RUN;
        kernel_blame(inferred->graph, op, &inner, err);
        return false;
    }
    for (int i = 0; i < n; i++) {
        int32_t tensor = op_inputs(inferred->graph, op)[i];
        if (tensor >= 0 && out[tensor].kind == GENERATED_NOTHING)
            out[tensor] = generated[i];
    }
    return true;
}

const Generated *generate_of_all(Arena *arena, const Inferred *inferred, Error *err)
{
    Generated *out = arena_array(arena, Generated, inferred->graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++)
        if (!generate_of_op(arena, inferred, inferred->program[i], out, err))
            return NULL;
    return out;
}

double generated_number(const Generated *of, Dtype dtype, uint64_t key, int64_t i)
{
    double number = of->kind == GENERATED_VALUES
                        ? of->values[of->n == 1 ? 0 : i]
                        : of->lo + (draw_uniform(key, i) + 1) / 2 * (of->hi - of->lo);
    return dtype_is_float(dtype) ? number : floor(number);
}
