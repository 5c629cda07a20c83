/* styles_gradients.c - values between modules whose gradients no style would reduce.
 *
 * A value that all ranks of an axis have, read by an op that the axis cuts, has a gradient that is
 * a sum over the axis: the one key of all heads, of which each rank has some. torch's styles reduce
 * gradients where a module reads its argument, so a plan with such a value between modules would
 * train otherwise than one process. That is refused, with the value's name.
 */
#include "core/peers/torch/styling.h"

/* Per tensor: whether it is made of what a matmul or a lookup with a weight gives, so that it has a
 * gradient. Frequencies of rotary embeddings are not. */
static bool *find_trained(const Styling *s)
{
    const Graph *graph = s->w->graph;
    Roles roles = roles_find(s->w->arena, s->w->session->inferred);
    bool *trained = arena_array(s->w->arena, bool, graph->n_tensors);
    int next = 0;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        while (next < roles.n && roles.at[next].op < op)
            next++;
        bool any = next < roles.n && roles.at[next].op == op && roles.at[next].role != WEIGHT_WHOLE;
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            any |= op_inputs(graph, op)[i] >= 0 && trained[op_inputs(graph, op)[i]];
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t t = op_outputs(graph, op)[i];
            if (t >= 0)
                trained[t] = any && dtype_is_float(s->w->session->inferred->dtype[t]);
        }
    }
    return trained;
}

/* Whether a style has the op in hand: that of its module, or of its block of experts. */
static bool is_of_module(const Styling *s, int32_t op)
{
    Str path = str_from(op_path(s->w->graph, op));
    int32_t id = intern_find(s->paths, path.s, path.n);
    return styling_block(s, path) || (id >= 0 && s->out->modules.at[id].n_parameters > 0);
}

bool styling_reduces_gradients(const Styling *s)
{
    const Graph *graph = s->w->graph;
    const bool *trained = find_trained(s);
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        if (!styling_is_read(s, op) || is_of_module(s, op))
            continue;
        int32_t out = op_outputs(graph, op)[0];
        if (out < 0 || !trained[out] || styling_is_whole(styling_made(s, out)))
            continue;
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            int32_t need = s->w->plan->moved->need[graph->ops[op].input + i];
            if (t >= 0 && trained[t] && need >= 0 && styling_is_whole(styling_lies(s, need)))
                return error_set(s->err,
                                 "which makes a sum over %s of the gradient of %s, between modules",
                                 s->w->mesh->axes[s->axis].name,
                                 naming_value(s->w->session->naming, s->w->arena, t));
        }
    }
    return true;
}
