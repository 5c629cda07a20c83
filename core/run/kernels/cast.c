/* cast.c - elements as another type: Cast, CastLike, BitCast.
 *
 * A number is converted in the class of its own type (element.h), so that no integer passes through
 * a float. Values beyond an 8-bit float's range saturate unless the op says otherwise.
 */
#include "core/rules/args.h"
#include "core/run/kernel.h"
#include "core/model/small_float.h"

static bool open_cast(const KernelCall *call, Error *err)
{
    return kernel_needs(call, 1, err) && kernel_same_shape(call, err);
}

static bool is_float8(Dtype dtype)
{
    return dtype_is_float(dtype) && dtype_bits(dtype) == 8;
}

/* To 8-bit floats with the op's rounding. */
static bool cast_small(const KernelCall *call, Error *err)
{
    const Local *in = call->input[0], *out = call->output[0];
    RuleCall rule = kernel_rule_call(call);
    bool saturate = args_int(&rule, "saturate", 1) != 0;
    Str given = args_text(&rule, "round_mode", "up");
    PowerRounding rounding = str_eq(given, STR("down"))      ? POWER_DOWN
                             : str_eq(given, STR("nearest")) ? POWER_NEAREST
                                                             : POWER_UP;
    if (rounding == POWER_UP && !str_eq(given, STR("up")))
        return error_kind(err, ERROR_RUN, "unknown round_mode '%.*s'", STR_ARG(given));
    uint8_t *to = out->data;
    for (int64_t i = 0; i < shape_elements(&in->shape); i++) {
        float x;
        local_load(in, i, 1, 1, NUMBER_F32, &x);
        to[i] = small_float_bits(out->dtype, x, saturate, rounding);
    }
    return true;
}

static bool cast(const KernelCall *call, Error *err)
{
    if (!open_cast(call, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t n = shape_elements(&in->shape);
    if (in->dtype == out->dtype) {
        elements_copy(in->dtype, out->data, in->data, 1, n);
        return true;
    }
    if (!kernel_computes(in, err) || !kernel_computes(out, err))
        return false;
    if (is_float8(out->dtype))
        return cast_small(call, err);

    bool to_float = in->dtype == DT_U64 && dtype_is_float(out->dtype); /* not through int64_t */
    Number number = dtype_number(to_float ? out->dtype : in->dtype);
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(in, i, 1, n_block, number, &block);
        local_store(out, i, n_block, number, &block);
    }
    return true;
}

/* Keeps the bits; types below a byte are stored sign-extended. */
static bool bit_cast(const KernelCall *call, Error *err)
{
    if (!open_cast(call, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t n = shape_elements(&in->shape);
    if (dtype_bits(in->dtype) != dtype_bits(out->dtype))
        return error_kind(err, ERROR_RUN, "%s and %s do not have as many bits",
                          dtype_name(in->dtype), dtype_name(out->dtype));
    elements_copy(in->dtype, out->data, in->data, 1, n);
    if (dtype_bits(in->dtype) >= 8)
        return true;
    bool wraps = dtype_is_int(out->dtype);
    uint8_t *to = out->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t bits = to[i] & ((1 << dtype_bits(in->dtype)) - 1);
        to[i] = (uint8_t)bits;
        if (wraps)
            elements_store(out->dtype, &to[i], 1, NUMBER_I64, &bits);
    }
    return true;
}

const Kernel kernels_cast[] = {
    {"Cast", cast, NULL, 0, ROUNDING_EXACT},
    {"BitCast", bit_cast, NULL, 0, ROUNDING_EXACT},
    {0},
};
