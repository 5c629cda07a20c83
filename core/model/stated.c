#include "core/model/stated.h"

/* What the file knows of the op; 0: it is none of its ops. */
static uint8_t known_phase(const Graph *graph, int32_t op)
{
    int32_t name = graph->ops[op].name;
    return name >= 0 && name < graph->stated->n_names ? graph->stated->phase[name] : 0;
}

/* The op that makes the first operand that any op makes; -1: there is none. */
static int32_t first_maker(const Graph *graph, int32_t op)
{
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t >= 0 && graph->tensors[t].maker >= 0)
            return graph->tensors[t].maker;
    }
    return -1;
}

Phase op_phase(const Graph *graph, int32_t op)
{
    if (graph->phase)
        return (Phase)graph->phase[op];
    for (int32_t at = graph->stated ? op : -1; at >= 0; at = first_maker(graph, at))
        if (known_phase(graph, at) > 0)
            return (Phase)(known_phase(graph, at) - 1);
    return PHASE_FORWARD;
}

Str op_stated_path(const Graph *graph, int32_t op)
{
    Str path = str_from(op_path(graph, op));
    if (graph->stated && op_phase(graph, op) != PHASE_FORWARD)
        str_take(&path, '.');
    return path;
}

bool graph_has_phases(const Graph *graph)
{
    return graph->phase || graph->stated;
}
