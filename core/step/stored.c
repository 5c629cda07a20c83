#include "core/step/stored.h"

/* ORDER STORED */
static const char *const names[STORED_KINDS] = {"parameter", "gradient", "states"};

const char *stored_name(int kind)
{
    return names[kind];
}

bool stored_add(Str name, uint8_t *set)
{
    for (int i = 0; i < STORED_KINDS; i++)
        if (str_eq(name, str_from(names[i]))) {
            *set = (uint8_t)(*set | 1u << i);
            return true;
        }
    return false;
}

void stored_format(uint8_t set, Buf *out)
{
    const char *before = "";
    for (int i = 0; i < STORED_KINDS; i++) {
        if (!(set >> i & 1))
            continue;
        buf_printf(out, "%s%s", before, names[i]);
        before = set >> (i + 1) >> 1 ? ", " : " and ";
    }
}

int32_t stored_updated(const Graph *graph, int32_t op)
{
    if (!graph->phase || graph->phase[op] != PHASE_UPDATE)
        return -1;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i], of = t < 0 ? -1 : graph->gradient_of[t];
        if (of >= 0 && graph->tensors[of].kind == TENSOR_INITIALIZER)
            return of;
    }
    return -1;
}

/* Whether the op makes the tensor's value of the next step. */
static bool renews(const Graph *graph, int32_t op, int32_t tensor)
{
    for (int o = 0; graph->next_of && o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0 && graph->next_of[op_outputs(graph, op)[o]] == tensor)
            return true;
    return false;
}

Stored stored_value(const Graph *graph, int32_t tensor, int32_t *parameter)
{
    const GraphTensor *t = &graph->tensors[tensor];
    *parameter = tensor;
    if (t->kind == TENSOR_INITIALIZER) {
        int32_t op = tensor_n_uses(graph, tensor) > 0 ? graph->uses[t->use] : -1;
        int32_t of = op < 0 ? -1 : stored_updated(graph, op);
        if (of < 0 || of == tensor || !renews(graph, op, tensor))
            return STORED_PARAMETER;
        *parameter = of;
        return STORED_STATES;
    }
    for (int i = 0; graph->phase && i < tensor_n_uses(graph, tensor); i++) {
        int32_t of = stored_updated(graph, graph->uses[t->use + i]);
        if (of >= 0 && graph->gradient_of[tensor] == of) {
            *parameter = of;
            return STORED_GRADIENT;
        }
    }
    return STORED_NONE;
}
