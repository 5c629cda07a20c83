#include "core/rules/infer.h"
#include "core/rules/written/written.h"

#include "core/model/builder.h"

static void add_known(GraphBuilder *builder, int32_t tensor, const Value *value)
{
    Arena *arena = graph_builder_graph(builder)->arena;
    int n = (int)shape_elements(&value->shape);
    int64_t *copy = arena_array(arena, int64_t, n + 1);
    memcpy(copy, value->ints, (size_t)n * sizeof *copy);
    graph_add_initializer(
        builder, tensor, DT_I64, &value->shape,
        (TensorData){.form = DATA_RAW, .bytes = {(const char *)copy, (size_t)n * sizeof *copy}});
}

static int32_t input_of(const RuleCall *call, GraphBuilder *builder, int i)
{
    DeclaredDim dims[DIMS_MAX];
    const Value *value = call->value[i];
    if (!call->shape[i])
        return -1;
    int32_t tensor = graph_tensor(builder, str_from(arena_printf(call->arena, "input %d", i)));
    if (value && value->ints && call->dtype[i] == DT_I64) {
        add_known(builder, tensor, value);
        return tensor;
    }
    for (int64_t d = 0; d < call->shape[i]->n_dims; d++)
        dims[d] = (DeclaredDim){.size = call->shape[i]->dim[d]};
    graph_add_input(builder, tensor, call->dtype[i], dims, (int)call->shape[i]->n_dims);
    return tensor;
}

/* Takes over the shapes and types of the outputs. */
static bool answer(RuleCall *call, const Inferred *inferred, const int32_t *output, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        const Shape *shape = output[o] < 0 ? NULL : inferred_shape(inferred, output[o]);
        call->out_shape[o] = shape ? *shape : (Shape){.n_dims = -1};
        call->out_dtype[o] = output[o] < 0 ? DT_NONE : (Dtype)inferred->dtype[output[o]];
    }
    for (int i = 0; i < inferred->findings.n; i++)
        if (inferred->findings.at[i].level == LEVEL_WARNING)
            return error_kind(err, ERROR_INVALID, "%s", inferred->findings.at[i].text);
    return rule_space(call, err) != NULL;
}

bool written_rule(RuleCall *call, Error *err)
{
    const DimBindings none = {0};
    GraphBuilder *builder = graph_builder_new(call->arena, "op");
    int32_t *input = arena_array(call->arena, int32_t, call->n_inputs + 1);
    int32_t *output = arena_array(call->arena, int32_t, call->n_outputs + 1);
    bool *has = arena_array(call->arena, bool, call->n_inputs + call->n_outputs + 1);
    for (int i = 0; i < call->n_inputs; i++) {
        input[i] = input_of(call, builder, i);
        has[i] = input[i] >= 0;
    }
    for (int o = 0; o < call->n_outputs; o++) {
        has[call->n_inputs + o] = op_outputs(call->graph, call->op)[o] >= 0;
        output[o] =
            !has[call->n_inputs + o]
                ? -1
                : graph_tensor(builder, str_from(arena_printf(call->arena, "output %d", o)));
    }
    WrittenOp op = {call->graph, call->op, call->n_inputs,      call->n_outputs, call->shape,
                    call->dtype, has,      has + call->n_inputs};
    Written *written =
        written_read(call->arena, written_text(op_operator(call->graph, call->op)), &op, err);
    if (!written)
        return false;
    written_add(written, builder, STR("op"), STR(""), input, output);
    for (int o = 0; o < call->n_outputs; o++)
        if (output[o] >= 0)
            graph_add_output(builder, output[o]);
    Graph *graph = graph_seal(builder, err);
    const Inferred *inferred =
        graph ? infer(call->arena, graph, registry_new(call->arena), &none, true, err) : NULL;
    return inferred && answer(call, inferred, output, err);
}
