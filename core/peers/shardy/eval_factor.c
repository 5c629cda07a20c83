/* eval_factor.c - the verb factor.rule of the eval protocol.
 *
 * The request has `rule`, a text to read, or `op` with `attrs`, `conservative` and `sources`, and
 * the shapes of `inputs` and `outputs`. The answer has `rule`, the canonical text, and `factors`.
 */
#include "core/peers/shardy/tables.h"

#include "core/peers/shardy/factor_ops.h"
#include "core/rules/one_op.h"

static Json *factors_json(const FactorRule *rule, Arena *arena)
{
    Json *list = json_array();
    for (int f = 0; f < rule->n_factors; f++) {
        Json *row = json_object();
        Buf name = buf_new(arena);
        factor_name(f, &name);
        json_set_str(row, "name", name.s);
        json_set_int(row, "size", rule->factor[f].size);
        json_set_str(row, "type", factor_type_name(rule->factor[f].type));
        json_set_bool(row, "blocked", rule->factor[f].blocked);
        json_add(list, row);
    }
    return list;
}

static void answer_rule(const FactorRule *rule, Arena *arena, Json *answer)
{
    Buf text = buf_new(arena);
    factor_rule_format(rule, &text);
    json_set_str(answer, "rule", text.s);
    json_set(answer, "factors", factors_json(rule, arena));
}

/* ---- a text ---- */

/* Checks that each tensor has as many dims as in the rule and that all sizes are known. */
static bool check_tensors(const Json *tensors, const FactorTensor *said, int n, const char *what,
                          Error *err)
{
    if (!tensors)
        return true;
    if (json_size(tensors) != n)
        return error_kind(err, ERROR_INVALID, "the rule has %d %ss but the op has %d", n, what,
                          json_size(tensors));
    for (int i = 0; i < n; i++) {
        const Json *shape = json_get(json_at(tensors, i), "shape");
        if (json_size(shape) != said[i].n_dims)
            return error_kind(err, ERROR_INVALID, "%s %d has %d dims but %d in the rule", what, i,
                              json_size(shape), said[i].n_dims);
        for (int d = 0; d < json_size(shape); d++)
            if (json_int(json_at(shape, d), -1) < 0)
                return error_kind(err, ERROR_INVALID, "a dim of %s %d has an unknown size", what,
                                  i);
    }
    return true;
}

static bool answer_text(Arena *arena, const Json *request, Json *answer, Error *err)
{
    Source source = {"rule", json_str(json_get(request, "rule"), "")};
    const FactorRule *rule = factor_rule_read(arena, &source, err);
    if (!rule ||
        !check_tensors(json_get(request, "inputs"), rule->tensor, rule->n_operands, "input", err) ||
        !check_tensors(json_get(request, "outputs"), rule->tensor + rule->n_operands,
                       rule->n_results, "output", err))
        return false;
    answer_rule(rule, arena, answer);
    return true;
}

/* ---- an op ---- */

static bool read_shapes(const Json *tensors, Shape *shape, Dtype *dtype, Error *err)
{
    for (int i = 0; i < json_size(tensors); i++) {
        if (!one_op_shape_json(json_get(json_at(tensors, i), "shape"), -1, &shape[i], err))
            return false;
        dtype[i] = dtype_from_name(json_str(json_get(json_at(tensors, i), "dtype"), "f32"));
    }
    return true;
}

static const FactorSource *read_sources(Arena *arena, const Json *sources, int n)
{
    if (!json_is_array(sources) || json_size(sources) != n)
        return NULL;
    FactorSource *out = arena_array(arena, FactorSource, n);
    for (int i = 0; i < n; i++) {
        out[i].op = json_str(json_get(json_at(sources, i), "op"), "");
        out[i].of = json_str(json_get(json_at(sources, i), "of"), "");
    }
    return out;
}

static bool feeds_rng(const Json *attrs)
{
    const Json *users = json_get(attrs, "users");
    for (int i = 0; i < json_size(users); i++)
        if (str_eq(json_str(json_at(users, i), ""), STR("stablehlo.rng_bit_generator")))
            return true;
    return false;
}

static bool answer_op(Arena *arena, const Json *request, Json *answer, Error *err)
{
    const Json *inputs = json_get(request, "inputs"), *outputs = json_get(request, "outputs");
    const Json *attrs = json_get(request, "attrs");
    int n_operands = json_size(inputs), n_results = json_size(outputs);
    Shape *shape = arena_array(arena, Shape, n_operands + n_results);
    Dtype *dtype = arena_array(arena, Dtype, n_operands + n_results);
    if (!read_shapes(inputs, shape, dtype, err) ||
        !read_shapes(outputs, shape + n_operands, dtype + n_operands, err))
        return false;
    OneOp one = {.op_type = json_str(json_get(request, "op"), "")};
    OneOpBuilder *builder = one_op_new(arena, &one);
    if (!one_op_attr_json(builder, attrs, err))
        return false;
    FactorCall call = {.op = arena_str(arena, one.op_type),
                       .graph = one_op_graph(builder, err),
                       .n_operands = n_operands,
                       .n_results = n_results,
                       .shape = shape,
                       .dtype = dtype};
    call.source = read_sources(arena, json_get(request, "sources"), n_operands);
    call.feeds_rng = feeds_rng(attrs);
    call.conservative = json_bool(json_get(request, "conservative"), false);
    const FactorRule *rule = call.graph ? factor_rule_for(arena, &call, err) : NULL;
    if (rule)
        answer_rule(rule, arena, answer);
    return rule != NULL;
}

bool eval_factor_rule(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    if (json_is_string(json_get(request, "rule")))
        return answer_text(arena, request, answer, err);
    if (json_is_string(json_get(request, "op")))
        return answer_op(arena, request, answer, err);
    return error_set(err, "factor.rule needs a \"rule\" or an \"op\"");
}
