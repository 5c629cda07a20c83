#include "core/peers/torch_export/step.h"

#include "core/peers/torch_export/nodes.h"
#include "core/step/stated_step.h"

void torch_step_note(Export *e, int32_t node, int32_t first_op)
{
    const JsonView *json = e->json;
    int32_t tag = json_view_get(json, json_view_get(json, node, "metadata"), "partitioner_tag");
    if (tag < 0)
        return;
    bool backward = json_view_is(json, tag, "is_backward");
    if (!backward && !json_view_is(json, tag, "is_forward"))
        return;
    for (int32_t op = first_op; op < e->builder->ops.n; op++) {
        int32_t name = e->builder->ops.at[op].name;
        while (name >= e->phases.n)
            vec_push_own(e->scratch, &e->phases, 0);
        if (name >= 0)
            e->phases.at[name] = (uint8_t)(1 + (backward ? PHASE_BACKWARD : PHASE_FORWARD));
    }
}

/* The tensor that an output of the program is; -1 if it is none. */
static int32_t output_of(Export *e, int32_t spec)
{
    int32_t at = json_view_get(e->json, json_view_get(e->json, spec, "arg"), "name");
    Str name = json_view_raw(e->json, at);
    ExportValue *value = name.n > 0 ? export_value(e, at, name) : NULL;
    if (!value) /* a name that no output has says nothing */
        *e->err = (Error){0};
    ExportTerm term = value ? inplace_current(e, value) : no_term();
    return term.kind == TERM_TENSOR ? term.tensor : -1;
}

void torch_step_find(Export *e, int32_t signature, Graph *graph)
{
    const JsonView *json = e->json;
    StatedParts parts = {.gradients = true, .loss = -1};
    Vec(StatedPair) pairs = {0};
    json_view_each (item, json, json_view_get(json, signature, "output_specs")) {
        int32_t loss = json_view_get(json, item, "loss_output");
        int32_t spec = json_view_get(json, item, "gradient_to_parameter");
        if (loss >= 0)
            parts.loss = output_of(e, loss);
        Str name = json_view_str(json, json_view_get(json, spec, "parameter_name"), e->scratch);
        StatedPair pair = {name.n > 0 ? graph_find_tensor(graph, name) : -1, -1};
        if (pair.of >= 0)
            pair.made = output_of(e, spec);
        if (pair.made >= 0)
            vec_push(e->scratch, &pairs, pair);
    }
    parts.pair = pairs.at;
    parts.n_pairs = pairs.n;
    parts.phase = e->phases.at;
    parts.n_names = e->phases.n;
    if (pairs.n > 0)
        stated_step_find(graph, &parts);
}
