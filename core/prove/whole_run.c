#include "core/prove/whole_run.h"

bool whole_run_op(const Inferred *inferred, int32_t op, const Kernel *kernel, uint64_t seed,
                  Local **value, Error *err)
{
    pthread_mutex_t blas = PTHREAD_MUTEX_INITIALIZER;
    const Graph *graph = inferred->graph;
    const char *op_type = op_operator(graph, op);
    if (!kernel)
        kernel = kernel_find(inferred_space(inferred, op), op_type);
    if (!kernel)
        return error_kind(err, ERROR_UNSUPPORTED, "no kernel for %s", op_type);
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        if (t < 0)
            continue;
        local_free(value[t]);
        value[t] = NULL;
    }
    return kernel_run_whole(inferred, op, kernel, &blas, seed, 0, value, err);
}

/* Whether the op is in no branch that is left out. */
static bool is_taken(const Inferred *inferred, int32_t op, Local *const *value)
{
    for (int b = 0; b < inferred->graph->n_bodies; b++) {
        const GraphBody *body = &inferred->graph->bodies[b];
        const Local *condition = body->of < 0 ? NULL : value[body->of];
        int64_t taken;
        if (op < body->first || op >= body->end || !condition)
            continue;
        local_load(condition, 0, 1, 1, NUMBER_I64, &taken);
        if ((taken != 0) != (body->kind == BODY_THEN))
            return false;
    }
    return true;
}

bool whole_run(const Inferred *inferred, Local **value, WholeRunFn *after, void *context,
               Error *err)
{
    for (int p = 0; p < inferred->n_program; p++) {
        int32_t op = inferred->program[p];
        if (!is_taken(inferred, op, value))
            continue;
        if (!whole_run_op(inferred, op, NULL, 0, value, err) || (after && !after(context, op, err)))
            return false;
    }
    return true;
}
