#include "core/peers/torch/tables.h"

#include "core/layout/json_read.h"
#include "core/rules/one_op.h"

/* ---- reading ---- */

static const struct {
    const char *op;
    int first, last; /* inputs */
    Dtype dtype;
} dtypes[] = {
    {"nll_loss", 1, 1, DT_I64},     {"cross_entropy", 1, 1, DT_I64},
    {"embedding", 1, 1, DT_I64},    {"gather", 1, 1, DT_I64},
    {"scatter", 1, 1, DT_I64},      {"scatter_add", 1, 1, DT_I64},
    {"index_select", 1, 1, DT_I64}, {"masked_fill_", 1, 1, DT_BOOL},
    {"where", 0, 0, DT_BOOL},       {"_scaled_mm", 0, 1, DT_F8E4M3FN},
    {"grouped_mm", 0, 1, DT_BF16},  {"scaled_dot_product_attention", 0, 2, DT_BF16},
};

/* The default element type of an operand: indices, masks and operands of fused kernels have their
 * own, all others f32. */
static Dtype strategy_dtype(Str op, int input)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (str_eq(op, str_from(dtypes[i].op)) && input >= dtypes[i].first &&
            input <= dtypes[i].last)
            return dtypes[i].dtype;
    return DT_F32;
}

static bool read_placements(const Json *list, const StrategyCall *call, StrategyTensor *tensor,
                            Error *err)
{
    Placement *placements = arena_array(call->arena, Placement, call->mesh->n_axes);
    if (!json_read_placements(list, call->mesh, tensor->shape.n_dims, placements, err))
        return false;
    tensor->placements = placements;
    return true;
}

static bool read_tensor(const Json *json, const StrategyCall *call, Dtype dtype,
                        StrategyTensor *out, Error *err)
{
    const Json *name = json_get(json, "dtype");
    *out = (StrategyTensor){.shape = {.n_dims = -1}, .dtype = dtype};
    if (json_is_null(json))
        return true;
    if (name && (out->dtype = dtype_from_name(json_str(name, ""))) == DT_NONE)
        return error_kind(err, ERROR_DTYPE, "'%.*s' is not an element type",
                          STR_ARG(json_str(name, "")));
    return json_read_shape(json_get(json, "shape"), &out->shape, err) &&
           read_placements(json_get(json, "placements"), call, out, err);
}

/* The inputs, then the tensors of the attribute `indices`. */
static bool read_tensors(const Json *request, StrategyCall *call, Error *err)
{
    const Json *inputs = json_get(request, "inputs");
    const Json *indices = json_get(json_get(request, "attrs"), "indices");
    if (!json_is_array(inputs) || json_size(inputs) > OPERANDS_MAX)
        return error_set(err, "\"inputs\" must be a list of tensors");
    bool has_indices = json_is_array(indices) && json_size(indices) <= DIMS_MAX;
    call->n_indices = has_indices ? json_size(indices) : 0;
    call->n_inputs = json_size(inputs) + call->n_indices;
    StrategyTensor *tensors = arena_array(call->arena, StrategyTensor, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        bool index = i >= json_size(inputs);
        const Json *json = index ? json_at(indices, i - json_size(inputs)) : json_at(inputs, i);
        Dtype dtype = index ? DT_I64 : strategy_dtype(str_from(call->op), i);
        if (!read_tensor(json, call, dtype, &tensors[i], err))
            return false;
    }
    call->input = tensors;
    return true;
}

static bool read_call(Arena *arena, const Json *request, StrategyCall *call, Error *err)
{
    Str op = json_str(json_get(request, "op"), "");
    *call = (StrategyCall){.arena = arena, .op = arena_str(arena, op), .best_only = true};
    if (op.n == 0)
        return error_set(err, "\"op\" must be the name of an operator");
    if (!strategy_profile_find(json_str(json_get(request, "system"), "torch"), &call->profile, err))
        return false;
    call->mesh = mesh_from_json(arena, json_get(request, "mesh"), err);
    if (!call->mesh || !read_tensors(request, call, err))
        return false;
    call->no_redistribute = json_bool(json_get(request, "no_redistribute"), false);
    OneOpBuilder *builder = one_op_new(arena, &(OneOp){.op_type = STR("op")});
    if (!one_op_attr_json(builder, json_get(request, "attrs"), err))
        return false;
    call->graph = one_op_graph(builder, err);
    return call->graph != NULL;
}

/* ---- answering ---- */

Json *json_of_layouts(const Placement *const *tensor, int n, const Mesh *mesh)
{
    Json *list = json_array();
    Arena *scratch = arena_new();
    for (int i = 0; i < n; i++) {
        if (!tensor[i]) {
            json_add(list, json_null());
            continue;
        }
        Json *one = json_object(), *placements = json_array();
        for (int axis = 0; axis < mesh->n_axes; axis++) {
            Buf text = buf_new(scratch);
            placement_format(&tensor[i][axis], false, &text);
            json_add(placements, json_from_str(buf_str(&text)));
        }
        json_set(one, "placements", placements);
        json_add(list, one);
    }
    arena_free(scratch);
    return list;
}

bool eval_strategy(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    StrategyCall call;
    StrategyAnswer out;
    const Strategies *strategies = strategies_new(arena);
    if (!read_call(arena, request, &call, err) || !strategy_answer(strategies, &call, &out, err))
        return false;
    int n_inputs = call.n_inputs - call.n_indices;
    if (out.suggestion) {
        json_set(answer, "suggestion", json_of_layouts(out.suggestion, n_inputs, call.mesh));
        return true;
    }
    json_set(answer, "outputs", json_of_layouts(out.output, out.n_outputs, call.mesh));
    json_set(answer, "inputs", json_of_layouts(out.input, n_inputs, call.mesh));
    json_set_int(answer, "comm", out.n_comm);
    return true;
}
