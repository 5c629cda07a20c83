/* Values that the backward pass does not read as they were saved: their ops are there again. */
#include "core/step/deriving.h"
#include "core/step/recompute.h"

#include <stdlib.h>

/* The ops of each group that runs again as a whole, as lists. */
static void list_groups(Deriving *d)
{
    int n = 0;
    const int32_t *group = d->request->shape.recompute;
    for (int32_t op = 0; op < d->graph->n_ops; op++)
        n = group[op] >= 0 && (group[op] & ~RECOMPUTE_WHOLE) >= n
                ? (group[op] & ~RECOMPUTE_WHOLE) + 1
                : n;
    d->group_first = arena_array(d->scratch, int32_t, n);
    d->group_next = arena_array(d->scratch, int32_t, d->graph->n_ops);
    for (int g = 0; g < n; g++)
        d->group_first[g] = -1;
    for (int p = d->model->n_program - 1; p >= 0; p--) {
        int32_t op = d->model->program[p];
        if (group[op] < 0)
            continue;
        d->group_next[op] = d->group_first[group[op] & ~RECOMPUTE_WHOLE];
        d->group_first[group[op] & ~RECOMPUTE_WHOLE] = op;
    }
}

/* A value made of parameters alone is made again in the backward pass if it is made of one that
 * trains, which lies anywhere else, or is unpacked from integers, as a quantized weight, and if no
 * other stage reads it; a table, as of rotary angles, is saved, unless its group is recomputed. In
 * program order, after `varies` is known. */
void derive_find_remade(Deriving *d)
{
    const int32_t *group = d->request->shape.recompute;
    if (group) {
        recompute_mark(d->model, group, d->remade);
        list_groups(d);
    }
    for (int p = 0; p < d->model->n_program; p++) {
        int32_t op = d->model->program[p];
        bool remade = false, kept = group && group[op] == RECOMPUTE_NEVER;
        for (int i = 0; d->model->on_parameters[op] && !kept && i < d->graph->ops[op].n_inputs;
             i++) {
            int32_t t = op_inputs(d->graph, op)[i];
            if (t < 0)
                continue;
            bool packed = d->graph->tensors[t].kind == TENSOR_INITIALIZER &&
                          !tensor_is_known(d->model, t) && !derive_is_float(d, t);
            remade |= packed || d->remade[t] || d->varies[t];
        }
        for (int o = 0; remade && o < d->graph->ops[op].n_outputs; o++)
            if (op_outputs(d->graph, op)[o] >= 0)
                d->remade[op_outputs(d->graph, op)[o]] = true;
    }
}

/* The copy of an op; it reads copies of its inputs where there are some. */
static void add_again(Deriving *d, int32_t op)
{
    const GraphOp *node = &d->graph->ops[op];
    /* Its result may be called so too. */
    int32_t own = extension_name(d->more, node->name, "~again");
    int32_t *inputs = arena_array(d->scratch, int32_t, node->n_inputs);
    int32_t *outputs = arena_array(d->scratch, int32_t, node->n_outputs);
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(d->graph, op)[i];
        inputs[i] = t >= 0 && d->again[t] >= 0 ? d->again[t] : t;
    }
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t t = op_outputs(d->graph, op)[o];
        outputs[o] = -1;
        if (t < 0)
            continue;
        int32_t name = extension_name(d->more, d->graph->tensors[t].name, "~again");
        outputs[o] = derive_tensor(d, name, t, false);
        if (d->remade[t])
            d->again[t] = outputs[o];
    }
    derive_op_of(d, op,
                 (NewStepOp){.op_type = node->op_type,
                             .name = own,
                             .inputs = inputs,
                             .n_inputs = node->n_inputs,
                             .outputs = outputs,
                             .n_outputs = node->n_outputs,
                             .attrs = node->attrs,
                             .space = d->model->space[op],
                             .phase = PHASE_AGAIN,
                             .on_parameters = d->model->on_parameters[op]});
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Makes the copies of these ops and of all that they read and that is made again, in program order.
 */
static void make_again(Deriving *d, Vec32 *ops)
{
    for (int at = 0; at < ops->n; at++)
        for (int i = 0; i < d->graph->ops[ops->at[at]].n_inputs; i++) {
            int32_t t = op_inputs(d->graph, ops->at[at])[i];
            if (t >= 0 && d->remade[t] && d->again[t] == -1) {
                d->again[t] = -2; /* its op is listed */
                vec_push(d->scratch, ops, d->graph->tensors[t].maker);
            }
        }
    if (ops->n > 1)
        qsort(ops->at, (size_t)ops->n, sizeof *ops->at, by_number);
    for (int at = 0; at < ops->n; at++)
        if (at == 0 || ops->at[at] != ops->at[at - 1])
            add_again(d, ops->at[at]);
}

void derive_group_again(Deriving *d, int32_t op)
{
    int32_t group = d->request->shape.recompute ? d->request->shape.recompute[op] : -1;
    if (group < 0 || !(group & RECOMPUTE_WHOLE) || d->branch)
        return;
    int32_t *first = &d->group_first[group & ~RECOMPUTE_WHOLE];
    Vec32 ops = {0};
    for (int32_t at = *first; at >= 0; at = d->group_next[at]) {
        for (int o = 0; o < d->graph->ops[at].n_outputs; o++) {
            int32_t t = op_outputs(d->graph, at)[o];
            if (t >= 0 && d->remade[t])
                d->again[t] = -2;
        }
        vec_push(d->scratch, &ops, at);
    }
    *first = -1; /* once */
    make_again(d, &ops);
}

/* A value that is made again is made with all that it is made of. Nothing is made again in a
 * branch, since others read it too. */
int32_t derive_read_again(Deriving *d, int32_t tensor)
{
    if (tensor < 0 || !d->remade[tensor] || d->again[tensor] >= 0 || d->branch)
        return tensor >= 0 && d->again[tensor] >= 0 ? d->again[tensor] : tensor;
    Vec32 ops = {0};
    vec_push(d->scratch, &ops, d->graph->tensors[tensor].maker);
    make_again(d, &ops);
    return d->again[tensor];
}
