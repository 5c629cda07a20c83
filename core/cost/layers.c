#include "core/cost/layers.h"

#include "core/base/intern.h"
#include "core/step/stored.h"

/* The path up to its first part that is a number, or ends with one behind a '_'; empty outside of
 * all layers. */
static Str layer_path(const char *path)
{
    for (Str rest = str_from(path); rest.n > 0;) {
        Str name = str_take(&rest, '.');
        size_t digits = 0;
        while (digits < name.n && is_digit(name.s[name.n - 1 - digits]))
            digits++;
        if (digits > 0 && (digits == name.n || name.s[name.n - 1 - digits] == '_'))
            return (Str){path, (size_t)(name.s + name.n - path)};
    }
    return (Str){path, 0};
}

int layers_of_ops(Arena *arena, const Inferred *model, int32_t *part)
{
    Intern *layers = intern_new(arena);
    const Graph *graph = model->graph;
    int last = -1, now = 0;
    for (int i = 0; i < model->n_program; i++)
        if (layer_path(op_path(graph, model->program[i])).n > 0)
            last = i;
    for (int32_t op = 0; op < graph->n_ops; op++)
        part[op] = -1;
    for (int i = 0; i < model->n_program; i++) {
        int32_t op = model->program[i];
        Str path = layer_path(op_path(graph, op));
        if (path.n > 0 && intern_find(layers, path.s, path.n) < 0)
            now = 1 + intern_put(layers, path.s, path.n);
        if (i == last + 1 && now > 0)
            now = intern_count(layers) + 1;
        part[op] = now;
    }
    return intern_count(layers);
}

/* Per tensor, the part whose ops read a parameter; of what is stored for it, the same. */
static int32_t *parts_of_parameters(Arena *arena, const Graph *graph, const int32_t *part)
{
    int32_t *out = arena_array(arena, int32_t, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        out[t] = -1;
        const int32_t *use = graph->uses + graph->tensors[t].use;
        for (int u = 0; u < tensor_n_uses(graph, t) && out[t] < 0; u++)
            if (graph->phase[use[u]] == PHASE_FORWARD && graph->tensors[t].maker < 0)
                out[t] = part[use[u]];
    }
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t parameter;
        if (out[t] < 0 && stored_value(graph, t, &parameter) != STORED_NONE)
            out[t] = out[parameter];
        if (out[t] < 0 && graph->next_of && graph->next_of[t] >= 0)
            out[t] = out[graph->next_of[t]];
    }
    return out;
}

LayerParts layer_parts(Arena *arena, const Inferred *step)
{
    const Inferred *model = step->forward;
    int32_t *part = arena_array(arena, int32_t, model->graph->n_ops);
    int n = layers_of_ops(arena, model, part);
    return (LayerParts){n, part, parts_of_parameters(arena, step->graph, part)};
}

int layer_of_op(const LayerParts *layers, const Graph *step, int32_t op)
{
    if (op < 0)
        return -1;
    if (step->phase[op] == PHASE_UPDATE) {
        int32_t parameter = stored_updated(step, op);
        return parameter < 0 ? -1 : layers->of_parameter[parameter];
    }
    int32_t of = step->phase[op] == PHASE_FORWARD ? op : step->of[op];
    int32_t made = op_first_output(step, op);
    if (of < 0 && made >= 0 && step->gradient_of[made] >= 0)
        of = step->tensors[step->gradient_of[made]].maker;
    return of < 0 || step->phase[of] != PHASE_FORWARD ? -1 : layers->part[of];
}
