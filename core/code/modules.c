#include "core/code/modules.h"

#include "core/plan/stage.h"

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

/* "model.layers.*.mlp" of "model.layers.0.mlp" */
static Str pattern_of(Arena *arena, Str path)
{
    Buf out = buf_new(arena);
    while (path.n > 0) {
        Str part = str_take(&path, '.');
        int64_t number;
        buf_puts(&out, out.n ? "." : "");
        buf_add(&out, str_to_int(part, &number) ? STR("*") : part);
    }
    return buf_str(&out);
}

Str code_common_path(Str a, Str b)
{
    size_t n = 0, end = 0;
    for (; n < a.n && n < b.n && a.s[n] == b.s[n]; n++)
        if (a.s[n] == '.')
            end = n;
    if ((n == a.n && (n == b.n || b.s[n] == '.')) || (n == b.n && a.s[n] == '.'))
        end = n;
    return (Str){a.s, end};
}

static bool has_pattern(const CodePatterns *patterns, Str pattern)
{
    for (int i = 0; i < patterns->n; i++)
        if (str_eq(patterns->at[i], pattern))
            return true;
    return false;
}

CodePatterns code_recomputed(const Session *session, Arena *arena)
{
    const Plan *plan = session->plan;
    const Graph *graph = session->bare.graph ? session->bare.graph : session->graph;
    CodePatterns out = {0};
    Str *common = arena_array(arena, Str, graph->n_ops + 1); /* by group */
    int n = 0;
    for (int32_t op = 0; op < graph->n_ops && plan->decided->recompute; op++) {
        int group = recompute_group(plan, op);
        Str path = str_from(op_path(graph, op));
        if (group < 0 || path.n == 0)
            continue;
        common[group] = common[group].n ? code_common_path(common[group], path) : path;
        n = group >= n ? group + 1 : n;
    }
    for (int group = 0; group < n; group++) {
        Str pattern = pattern_of(arena, common[group]);
        if (!has_pattern(&out, pattern))
            vec_push(arena, &out, pattern);
    }
    return out;
}
