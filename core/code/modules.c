#include "core/code/modules.h"

int32_t code_read_as(const Plan *plan, int32_t tensor, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const GraphOp *it = &graph->ops[op];
    for (int i = 0; i < it->n_inputs; i++)
        if (graph->operands[it->input + i] == tensor)
            return plan->moved->need[it->input + i];
    return -1;
}

/* A value of the run, with a sharding. */
static bool is_placed(const Session *session, int32_t tensor)
{
    return tensor >= 0 && inferred_shape(session->inferred, tensor) &&
           session->plan->moved->made[tensor] >= 0 && !tensor_is_known(session->inferred, tensor);
}

bool code_module_at(const Session *session, Str path, CodeModule *out)
{
    const Naming *naming = session->naming;
    int32_t op;
    *out = (CodeModule){.path = path, .reads = -1, .weight_reads = -1};
    out->weight = naming_part(naming, path, PART_WEIGHT, &op);
    if (path.n == 0 || (out->weight < 0 && naming_part(naming, path, PART_BIAS, NULL) < 0))
        return false;
    if (out->weight >= 0 && op >= 0)
        out->weight_reads = code_read_as(session->plan, out->weight, op);
    out->in = naming_part(naming, path, PART_IN, &out->reader);
    out->out = naming_part(naming, path, PART_OUT, NULL);
    if (is_placed(session, out->in) && out->reader >= 0)
        out->reads = code_read_as(session->plan, out->in, out->reader);
    if (!is_placed(session, out->out))
        out->out = -1;
    return true;
}

bool code_module(const Session *session, int i, CodeModule *out)
{
    return code_module_at(session, str_from(naming_path(session->naming, i)), out);
}
