/* graph_query.c - questions to a graph: names, attributes, and what has a name. */
#include "core/model/graph.h"

const char *op_name(const Graph *graph, int32_t op)
{
    return names_text(graph->names, graph->ops[op].name);
}

const char *op_path(const Graph *graph, int32_t op)
{
    return names_text(graph->names, graph->ops[op].path);
}

const char *op_path_or_name(const Graph *graph, int32_t op)
{
    const char *path = op_path(graph, op);
    return path[0] ? path : op_name(graph, op);
}

const char *op_operator(const Graph *graph, int32_t op)
{
    return names_text(graph->names, graph->ops[op].op_type);
}

const char *tensor_name(const Graph *graph, int32_t tensor)
{
    return names_text(graph->names, graph->tensors[tensor].name);
}

int32_t graph_n_input_places(const Graph *graph)
{
    int32_t n = 0;
    for (int i = 0; i < graph->n_ops; i++) {
        int32_t end = graph->ops[i].input + graph->ops[i].n_inputs;
        n = end > n ? end : n;
    }
    return n;
}

int32_t graph_find_tensor(const Graph *graph, Str name)
{
    int32_t id = names_find(graph->names, name);
    return id < 0 || id >= graph->n_names || graph->owner_of_name[id] < 0
               ? -1
               : graph->owner_of_name[id];
}

static int32_t find_named_as(const Graph *graph, int32_t name)
{
    int first = 0, end = graph->n_named_as;
    while (first < end) {
        int middle = first + (end - first) / 2;
        if (graph->ops[graph->named_as[middle]].name < name)
            first = middle + 1;
        else
            end = middle;
    }
    bool found = first < graph->n_named_as && graph->ops[graph->named_as[first]].name == name;
    return found ? graph->named_as[first] : -1;
}

int32_t graph_find_op(const Graph *graph, Str name)
{
    int32_t id = names_find(graph->names, name);
    if (id < 0 || id >= graph->n_names)
        return -1;
    int32_t owner = graph->owner_of_name[id], maker = owner < 0 ? -1 : graph->tensors[owner].maker;
    if (owner < 0)
        return -2 - owner;
    return maker >= 0 && graph->ops[maker].name == id ? maker : find_named_as(graph, id);
}

const char *phase_name(Phase phase)
{
    static const char *const names[] = {"forward", "again", "backward", "update"}; /* ORDER PHASE */
    return names[phase];
}

const Attr *op_attr(const Graph *graph, int32_t op, const char *name)
{
    AttrList list = graph->attr_lists[graph->ops[op].attrs];
    int32_t id = list.n > 0 ? names_find(graph->names, str_from(name)) : -1;
    for (int i = 0; id >= 0 && i < list.n; i++)
        if (list.at[i].name == id)
            return &list.at[i];
    return NULL;
}

int64_t op_opset(const Graph *graph, int32_t op)
{
    int32_t own = graph->attr_lists[graph->ops[op].attrs].opset;
    return own > 0 ? own : graph->opset;
}

int64_t op_attr_int(const Graph *graph, int32_t op, const char *name, int64_t fallback)
{
    const Attr *attr = op_attr(graph, op, name);
    return attr && attr->type == ATTR_INT ? attr->i : fallback;
}

double op_attr_float(const Graph *graph, int32_t op, const char *name, double fallback)
{
    const Attr *attr = op_attr(graph, op, name);
    return attr && attr->type == ATTR_FLOAT ? attr->f : fallback;
}

Str op_attr_text(const Graph *graph, int32_t op, const char *name, const char *fallback)
{
    const Attr *attr = op_attr(graph, op, name);
    return attr && attr->type == ATTR_STRING ? attr->s : str_from(fallback);
}
