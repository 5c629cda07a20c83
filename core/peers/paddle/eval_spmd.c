#include "core/peers/paddle/eval_spmd.h"

#include "core/layout/sharding.h"
#include "core/rules/one_op.h"

/* Replaces an unknown size, -1: one that most meshes divide, the same as in Paddle. */
enum { UNKNOWN_SIZE = 256 };

/* ---- reading ---- */

static bool read_shape(const Json *list, Shape *out, Error *err)
{
    if (!one_op_shape_json(list, -1, out, err))
        return false;
    for (int d = 0; d < out->n_dims; d++)
        if (out->dim[d] == -1)
            out->dim[d] = UNKNOWN_SIZE;
    return shape_check(out, err);
}

static bool push_axis(const Json *value, SpmdAxes *axes, Error *err)
{
    int64_t axis = json_int(value, -2);
    if (axis == -1)
        return true;
    if (axis < 0 || axis >= MESH_AXES_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "a mapping holds -1 or indices of mesh axes");
    if (axes->n == MESH_AXES_MAX)
        return error_set(err, "a dim is split by at most %d axes", MESH_AXES_MAX);
    axes->axis[axes->n++] = (uint8_t)axis;
    return true;
}

/* Reads [-1,0] or [[],[0,1]]; without a mapping nothing is split. */
static bool read_mapping(const Json *list, SpmdTensor *out, Error *err)
{
    out->n_dims = (int)out->shape.n_dims;
    if (!list || json_is_null(list))
        return true;
    if (!json_is_array(list) || json_size(list) > SPMD_DIMS_MAX)
        return error_set(err, "a mapping is a list with an entry per dim");
    out->n_dims = json_size(list);
    for (int d = 0; d < out->n_dims; d++) {
        const Json *dim = json_at(list, d);
        int n = json_is_array(dim) ? json_size(dim) : 1;
        for (int i = 0; i < n; i++)
            if (!push_axis(json_is_array(dim) ? json_at(dim, i) : dim, &out->dim[d], err))
                return false;
    }
    return true;
}

/* {"1": "sum"} */
static bool read_partial(const Json *partial, SpmdTensor *out, Error *err)
{
    for (int i = 0; i < json_size(partial); i++) {
        const char *key = json_key_at(partial, i);
        Str name = json_str(json_get(partial, key), "");
        ReduceOp reduce = REDUCE_NONE;
        int64_t axis;
        if (!str_to_int(str_from(key), &axis) || axis < 0 || axis >= MESH_AXES_MAX)
            return error_kind(err, ERROR_OUT_OF_RANGE, "'%s' is not a mesh axis", key);
        if (!reduce_from_name(name, &reduce))
            return error_set(err, "'%.*s' is not a reduction", STR_ARG(name));
        out->partial[axis] = (uint8_t)reduce;
    }
    return true;
}

static bool read_tensors(Arena *arena, const Json *list, const SpmdTensor **out, int *n, Error *err)
{
    if (list && !json_is_array(list))
        return error_set(err, "`inputs` and `outputs` must be lists of tensors");
    if (json_size(list) > OPERANDS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "an op has at most %d operands", OPERANDS_MAX);
    *n = json_size(list);
    SpmdTensor *tensor = arena_array(arena, SpmdTensor, *n);
    for (int i = 0; i < *n; i++) {
        const Json *given = json_at(list, i);
        tensor[i].absent = json_is_null(given);
        if (!tensor[i].absent && (!read_shape(json_get(given, "shape"), &tensor[i].shape, err) ||
                                  !read_mapping(json_get(given, "dims_mapping"), &tensor[i], err) ||
                                  !read_partial(json_get(given, "partial"), &tensor[i], err)))
            return false;
    }
    *out = tensor;
    return true;
}

static bool read_mode(const Json *value, SpmdMode *out, Error *err)
{
    Str mode = json_str(value, "static");
    *out = str_eq(mode, STR("eager"))     ? SPMD_EAGER
           : str_eq(mode, STR("coshard")) ? SPMD_COSHARD
                                          : SPMD_STATIC;
    return *out != SPMD_STATIC || str_eq(mode, STR("static")) ||
           error_kind(err, ERROR_UNSUPPORTED, "there is no mode '%.*s'", STR_ARG(mode));
}

/* A graph of one op that has the attributes. */
static bool make_graph(SpmdCall *call, const Json *attrs, Error *err)
{
    OneOp op = {.op_type = str_from(call->name)};
    OneOpBuilder *builder = one_op_new(call->arena, &op);
    if (!one_op_attr_json(builder, attrs, err))
        return false;
    call->graph = one_op_graph(builder, err);
    return call->graph != NULL;
}

static bool read_request(const Json *request, SpmdCall *call, Error *err)
{
    if (!json_is_string(json_get(request, "op")))
        return error_set(err, "`op` must be the operator's name");
    call->name = arena_str(call->arena, json_str(json_get(request, "op"), ""));
    call->mesh = mesh_from_json(call->arena, json_get(request, "mesh"), err);
    return call->mesh && read_mode(json_get(request, "mode"), &call->mode, err) &&
           read_tensors(call->arena, json_get(request, "inputs"), &call->input, &call->n_inputs,
                        err) &&
           read_tensors(call->arena, json_get(request, "outputs"), &call->output, &call->n_outputs,
                        err) &&
           make_graph(call, json_get(request, "attrs"), err);
}

/* ---- answering ---- */

Json *json_of_spmd_mapping(const SpmdTensor *tensor, bool lists)
{
    Json *mapping = json_array();
    for (int d = 0; d < tensor->n_dims; d++)
        lists = lists || tensor->dim[d].n > 1;
    for (int d = 0; d < tensor->n_dims; d++) {
        const SpmdAxes *axes = &tensor->dim[d];
        Json *list = json_array();
        for (int i = 0; i < axes->n; i++)
            json_add(lists ? list : mapping, json_from_int(axes->axis[i]));
        if (axes->n == 0 && !lists)
            json_add(mapping, json_from_int(-1));
        if (lists)
            json_add(mapping, list);
        else
            json_free(list);
    }
    return mapping;
}

Json *json_of_spmd_partial(const SpmdTensor *tensor)
{
    Json *partial = json_object();
    for (int axis = 0; axis < MESH_AXES_MAX; axis++) {
        char key[] = {(char)('0' + axis), '\0'};
        if (tensor->partial[axis] != REDUCE_NONE)
            json_set_str(partial, key, reduce_name(tensor->partial[axis]));
    }
    return partial;
}

static Json *json_of_answers(const SpmdCall *call, SpmdTensor *const *tensor, int n)
{
    Json *list = json_array();
    for (int i = 0; i < n; i++) {
        if (tensor[i]->absent) {
            json_add(list, json_null());
            continue;
        }
        Json *object = json_object();
        json_set(object, "dims_mapping",
                 json_of_spmd_mapping(tensor[i], call->mode == SPMD_COSHARD));
        json_set(object, "partial", json_of_spmd_partial(tensor[i]));
        json_add(list, object);
    }
    return list;
}

bool eval_spmd(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    SpmdCall call = {.arena = arena, .exact = true};
    call.backward = strcmp(verb, "spmd.backward") == 0;
    if (!call.backward && strcmp(verb, "spmd.forward") != 0)
        return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%s'", verb);
    if (!read_request(request, &call, err) ||
        !spmd_apply(spmd_rules_find(NULL, str_from(call.name)), &call, err))
        return false;
    json_set(answer, "inputs", json_of_answers(&call, call.need.at, call.need.n));
    json_set(answer, "outputs", json_of_answers(&call, call.out.at, call.out.n));
    return true;
}
