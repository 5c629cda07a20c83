/* flow.c - what goes into a part of the graph and what comes out of it. */
#include "viz/draw/draw.h"

enum { FLOW_VALUES = 2 };

/* Returns the operand index of the first value that the part reads from outside; -1 if none. */
static int32_t entering(const Draw *draw, const bool *inside, const int32_t *op, int n)
{
    const Graph *graph = draw->graph;
    const Inferred *inferred = draw->plan->inferred;

    for (int i = 0; i < n; i++) {
        const GraphOp *node = &graph->ops[op[i]];
        for (int k = 0; k < node->n_inputs; k++) {
            int32_t t = graph->operands[node->input + k];
            int32_t maker = t < 0 ? -1 : graph->tensors[t].maker;
            if (t >= 0 && !tensor_is_parameter(inferred, t) && !tensor_is_known(inferred, t) &&
                (maker < 0 || (!inside[maker] && !inferred->on_parameters[maker])))
                return node->input + k;
        }
    }
    return -1;
}

static bool leaves(const Draw *draw, const bool *inside, int32_t tensor)
{
    const Graph *graph = draw->graph;

    if (graph->tensors[tensor].output)
        return true;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        if (!inside[op] && !inferred_is_host(draw->plan->inferred, op))
            return true;
    }
    return false;
}

/* The last values that others read, in the shardings in which they are made; all: those too that
 * ops on parameters alone make. Returns their number. */
static int leaving(const Draw *draw, const bool *inside, const int32_t *op, int n, bool all,
                   Text *out)
{
    const Graph *graph = draw->graph;
    int found = 0;

    for (int i = n - 1; i >= 0 && found < FLOW_VALUES; i--) {
        const GraphOp *node = &graph->ops[op[i]];
        if (!all && draw->plan->inferred->on_parameters[op[i]])
            continue;
        for (int k = 0; k < node->n_outputs && found < FLOW_VALUES; k++) {
            int32_t t = graph->operands[node->input + node->n_inputs + k];
            if (t < 0 || !leaves(draw, inside, t))
                continue;
            out[found] = draw_value(draw, t, draw->plan->moved->made[t]);
            found += found == 0 || !str_eq(out[0].str, out[found].str);
        }
    }
    return found;
}

Text draw_part_flow(Draw *draw, const int32_t *op, int n)
{
    Text out[FLOW_VALUES] = {0};
    Buf text = buf_marked(draw->arena);

    if (!draw->inside)
        draw->inside = arena_array(draw->arena, bool, draw->graph->n_ops + 1);
    for (int i = 0; i < n; i++)
        draw->inside[op[i]] = true;
    int32_t place = entering(draw, draw->inside, op, n);
    int n_out = leaving(draw, draw->inside, op, n, false, out);
    if (n_out == 0)
        n_out = leaving(draw, draw->inside, op, n, true, out);
    for (int i = 0; i < n; i++)
        draw->inside[op[i]] = false;
    if (place >= 0)
        buf_add_text(
            &text, draw_value(draw, draw->graph->operands[place], draw->plan->moved->need[place]));
    if (n_out > 0) {
        buf_puts(&text, text.n > 0 ? " \xe2\x86\x92 " : "");
        buf_add_text(&text, out[n_out - 1]);
    }
    if (n_out > 1)
        buf_add_text(&text, text_join(draw->arena, "; @", out[0]));
    return buf_text(&text);
}
