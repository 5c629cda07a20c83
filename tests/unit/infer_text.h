/* infer_text.h - what inference says of a graph, as text: an op a line, then the findings. */
#ifndef TESTS_UNIT_INFER_TEXT_H
#define TESTS_UNIT_INFER_TEXT_H

#include "core/rules/infer.h"

/* "If y f32[4,8] rule": operator, first output, its dtype and shape; "rule", "host" (evaluated
 * before the run, or left out), "whole" (replicated), x5: how often it runs. */
static inline const char *inferred_text(const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    Buf out = buf_new(inferred->arena);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        int32_t t = op_outputs(graph, op)[0];
        const OpSpace *space = inferred_space(inferred, op);
        buf_printf(&out, "%s %s %s[", op_operator(graph, op), tensor_name(graph, t),
                   dtype_name((Dtype)inferred->dtype[t]));
        inferred_put_shape(inferred, t, &out);
        buf_printf(&out, "] %s", !space ? "host" : space->no_rule ? "whole" : "rule");
        if (inferred_repeat(inferred, op) != 1)
            buf_printf(&out, " x%g", inferred_repeat(inferred, op));
        buf_putc(&out, '\n');
    }
    for (int i = 0; i < inferred->findings.n; i++)
        buf_printf(&out, "%s: %s\n", inferred->findings.at[i].code, inferred->findings.at[i].text);
    return out.s;
}

#endif
