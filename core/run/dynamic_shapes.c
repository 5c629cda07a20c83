/* dynamic_shapes.c - shapes known only at run time: infers an op again from the shapes and values
 * its inputs hold. */
#include "core/rules/host.h"
#include "core/run/kernel.h"

/* Whether the rule failed because a value that shapes depend on is unknown (the file declares the
 * shapes). */
static bool depends_on_values(const Inferred *inferred, int32_t op, const Kernel *kernel)
{
    const GraphOp *at = &inferred->graph->ops[op];
    const OpSpace *space = inferred_space(inferred, op);
    for (int i = 0; space && space->no_rule && i < at->n_inputs; i++)
        if (op_inputs(inferred->graph, op)[i] >= 0 && kernel_reads_value(kernel, i) &&
            !kernel_knows(inferred, op, kernel, i))
            return true;
    return false;
}

bool kernel_is_dynamic(const Inferred *inferred, int32_t op, const Kernel *kernel)
{
    const GraphOp *at = &inferred->graph->ops[op];
    for (int i = 0; i < at->n_inputs + at->n_outputs; i++) {
        int32_t tensor = inferred->graph->operands[at->input + i];
        if (tensor >= 0 && !inferred_tensor_shape(inferred, tensor))
            return true;
    }
    return depends_on_values(inferred, op, kernel);
}

/* Checks that the inferred shape agrees with what was known before the run. */
static bool check_known(const KernelCall *call, int output, const Shape *shape, Error *err)
{
    int32_t tensor = op_outputs(kernel_graph(call), call->op)[output];
    const Shape *known = tensor < 0 ? NULL : inferred_shape(call->inferred, tensor);
    if (!known || shape_equal(known, shape))
        return true;
    Buf want = buf_new(call->scratch), have = buf_new(call->scratch);
    shape_format(known, &want);
    shape_format(shape, &have);
    return error_kind(err, ERROR_RUN, "'%s' is %s in the model, but %s at run time",
                      tensor_name(kernel_graph(call), tensor), want.s, have.s);
}

/* Shape and Size have no rule and are evaluated here. */
static bool evaluate(const KernelCall *call, Shape *shape, Dtype *dtype, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    const Value **value = arena_array(call->scratch, const Value *, call->n_outputs);
    if (!host_evaluate(values_new(call->scratch), &rule, value, err) || !value[0])
        return false;
    shape[0] = value[0]->shape;
    dtype[0] = value[0]->dtype;
    return check_known(call, 0, &shape[0], err);
}

static bool ask_rule(const KernelCall *call, Shape *shape, Dtype *dtype, Error *err)
{
    Str name = str_from(op_operator(kernel_graph(call), call->op));
    const Operator *row = registry_find(call->inferred->registry, name);
    if (host_knows(name.s) && !host_needs_values(name.s))
        return evaluate(call, shape, dtype, err);
    RuleCall rule = kernel_rule_call(call);
    rule.alias = registry_alias(call->inferred->registry, name);
    if (!row)
        return error_kind(err, ERROR_RUN, "no rule infers its shape");
    if (!registry_apply(row, &rule, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        shape[o] = rule.out_shape[o];
        dtype[o] = rule.out_dtype[o];
        if (op_outputs(kernel_graph(call), call->op)[o] < 0)
            continue;
        if (shape[o].n_dims < 0 || !shape_is_known(&shape[o]))
            return error_kind(err, ERROR_RUN, "the sizes of output %d are not known at run time",
                              o);
        if (!check_known(call, o, &shape[o], err))
            return false;
    }
    return true;
}

bool kernel_begin(const KernelCall *call, bool late, Shape *shape, Dtype *dtype, Error *err)
{
    for (int i = 0; i < call->n_inputs && call->kernel->first_value != KERNEL_LISTS; i++)
        if (call->input[i] && (call->input[i]->sequence || call->input[i]->nothing))
            return error_kind(err, ERROR_RUN, "input %d is not a tensor", i);
    return !late || call->kernel->first_value < 0 || ask_rule(call, shape, dtype, err);
}
