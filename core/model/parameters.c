#include "core/model/parameters.h"

enum { LIKELY_INPUTS = 4 }; /* of fewer that begin alike nothing is said */

/* The place of data without elements, behind all others. */
static int32_t add_absent(Graph *graph)
{
    int32_t n = 0;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        n = graph->tensors[t].data >= n ? graph->tensors[t].data + 1 : n;
    TensorData *data = arena_array(graph->arena, TensorData, (size_t)n + 1);
    if (n > 0)
        memcpy(data, graph->data, (size_t)n * sizeof *data);
    data[n] = (TensorData){.form = DATA_ABSENT};
    graph->data = data;
    return n;
}

int graph_make_parameters(Graph *graph, Str pattern)
{
    int n_kept = 0, n = graph->n_inputs;
    int32_t absent = -1;
    for (int i = 0; i < n; i++) {
        int32_t t = graph->inputs[i];
        if (!str_glob(pattern, names_str(graph->names, graph->tensors[t].name))) {
            graph->inputs[n_kept++] = t;
            continue;
        }
        absent = absent < 0 ? add_absent(graph) : absent;
        graph->tensors[t].kind = TENSOR_INITIALIZER;
        graph->tensors[t].data = absent;
    }
    graph->n_inputs = n_kept;
    return n - n_kept;
}

/* "p." of "p.h.0.up"; empty if the name has one part. */
static Str first_part(const Graph *graph, int input)
{
    Str name = names_str(graph->names, graph->tensors[graph->inputs[input]].name);
    for (size_t i = 0; i + 1 < name.n; i++)
        if (name.s[i] == '.')
            return (Str){name.s, i + 1};
    return STR("");
}

const char *graph_likely_parameters(Arena *arena, const Graph *graph)
{
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_INITIALIZER)
            return NULL;
    Str part = STR("");
    int votes = 0, alike = 0; /* what more than half begin with is left (Boyer and Moore) */
    for (int i = 0; i < graph->n_inputs; i++) {
        Str own = first_part(graph, i);
        part = votes == 0 ? own : part;
        votes += str_eq(own, part) ? 1 : -1;
    }
    for (int i = 0; i < graph->n_inputs; i++)
        alike += str_eq(first_part(graph, i), part);
    if (part.n == 0 || alike < LIKELY_INPUTS || 2 * alike <= graph->n_inputs)
        return NULL;
    return arena_printf(arena, "%.*s*", STR_ARG(part));
}
