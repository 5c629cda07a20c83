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

bool moved_at_maker(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    return maker >= 0 && !inferred_is_host(inferred, maker) && !inferred->on_parameters[maker];
}

/* How the tensor is given to an op that needs it in another sharding. A value that is shown as
 * moved at its maker counts as given in the sharding that is needed. */
static int32_t given_key(const Plan *plan, int32_t tensor, int32_t need)
{
    return tensor < 0                               ? -1
           : moved_at_maker(plan->inferred, tensor) ? need
                                                    : plan->moved->sharding[tensor];
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
            int32_t need = plan->moved->need[node->input + o];
            key[n++] = need;
            key[n++] = given_key(plan, tensor, need);
        }
        for (int o = 0; o < node->n_outputs && n + 1 < HEAD + OPERANDS; o++) {
            int32_t tensor = op_outputs(graph, op)[o];
            key[n++] = made_key(plan, tensor);
            key[n++] = tensor < 0 ? -1 : plan->moved->sharding[tensor]; /* after a pin's reshard */
        }
        signature[op] = intern_put(alike, key, (size_t)n * sizeof *key);
    }
    return signature;
}
