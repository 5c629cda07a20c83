#include "core/session/signature.h"

#include "core/base/intern.h"
#include "core/plan/stage.h"

/* How often an op runs, as a 32-bit number. */
static int32_t times_key(const Inferred *inferred, int32_t op)
{
    double times = inferred_repeat(inferred, op);
    return times < INT32_MAX ? (int32_t)times : INT32_MAX;
}

/* The id of its sharding or, if it has none, a negative id that stands for its partly known
 * shape. */
static int32_t made_key(const Plan *plan, int32_t tensor)
{
    return tensor < 0                       ? -1
           : plan->moved->made[tensor] >= 0 ? plan->moved->made[tensor]
                                            : plan->inferred->shape[tensor];
}

/* Two ops are equal if their rule, cuts, operand shardings and kinds are equal, and if they run
 * equally often, in one stage and on the same devices. */
int32_t *op_signatures(Arena *arena, Arena *scratch, const Session *session)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    int32_t *signature = arena_array(arena, int32_t, graph->n_ops);
    Intern *alike = intern_new(scratch);
    for (int i = 0; i < session->inferred->n_program; i++) {
        int32_t op = session->inferred->program[i];
        const GraphOp *node = &graph->ops[op];
        enum { HEAD = 7, OPERANDS = 27 };
        int32_t key[HEAD + OPERANDS] = {node->op_type,
                                        node->attrs,
                                        session->inferred->space[op],
                                        plan->propagated->cut[op],
                                        times_key(session->inferred, op),
                                        stage_of(plan, op),
                                        plan_devices(plan, op)};
        int n = HEAD;
        for (int o = 0; o < node->n_inputs && n + 1 < HEAD + OPERANDS; o++) {
            int32_t tensor = op_inputs(graph, op)[o];
            key[n++] = plan->moved->need[node->input + o];
            key[n++] =
                tensor < 0 ? -1 : plan->moved->sharding[tensor]; /* it may be moved on the way */
        }
        for (int o = 0; o < node->n_outputs && n < HEAD + OPERANDS; o++)
            key[n++] = made_key(plan, op_outputs(graph, op)[o]);
        signature[op] = intern_put(alike, key, (size_t)n * sizeof *key);
    }
    return signature;
}
