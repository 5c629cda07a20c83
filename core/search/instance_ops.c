/* What choices cost: the ops of a node. */
#include "core/cost/absorbed.h"
#include "core/cost/cost.h"
#include "core/plan/routed.h"
#include "core/search/instance_parts.h"

#include <assert.h>

/* Whether an operand is read as LEAST_READ has it, and tables of moves say what is more. */
static bool reads_less(const Making *m, int32_t op, int operand)
{
    const Inferred *inferred = m->to->inferred;
    int32_t t = inferred->graph->operands[inferred->graph->ops[op].input + operand];
    return making_reads_as_it_lies(program_space(inferred, op), operand) && making_is_carried(m, t);
}

/* Shardings ids by choice; NULL where a pricer counts no bytes. */
static const int32_t *operand_of(Making *m, int32_t op, int operand)
{
    const Inferred *inferred = m->to->inferred;
    int32_t t = inferred->graph->operands[inferred->graph->ops[op].input + operand];
    if (t < 0 || inferred->shape[t] < 0)
        return NULL;
    int how = reads_less(m, op, operand) ? LEAST_READ : 0;
    return instance_layouts(m->to, m->to->node_of_op[op], inferred->space[op], how + operand);
}

static const int32_t **operands_of(Making *m, int32_t op)
{
    const GraphOp *at = &m->to->inferred->graph->ops[op];
    int n = at->n_inputs + at->n_outputs;
    const int32_t **out = arena_array(m->scratch, const int32_t *, n);
    for (int o = 0; o < n; o++)
        out[o] = operand_of(m, op, o);
    return out;
}

int32_t making_machine(Making *m, int32_t op)
{
    const Plan *plan = m->to->session->plan;
    const Machine *machine = plan_machine_of(plan, plan_devices(plan, op));
    if (m->machine != machine) {
        m->machine = machine;
        m->machine_id = prices_machine(m->to->memo->prices, machine);
    }
    return m->machine_id;
}

/* What makes two ops cost the same under every choice: a number in the memo. */
static int32_t cost_key(Making *m, int32_t op)
{
    const Inferred *inferred = m->to->inferred;
    const GraphOp *at = &inferred->graph->ops[op];
    int n = at->n_inputs + at->n_outputs;
    int32_t *key = arena_array(m->scratch, int32_t, 6 + n);
    key[0] = instance_set(m->to, m->to->node_of_op[op]);
    key[1] = inferred->space[op];
    key[2] = op_absorbed_by(inferred, op) >= 0 || op_made_by(inferred, op) >= 0;
    key[3] = at->op_type;
    key[4] = routed_op_code(m->to->as->routed, op);
    key[5] = making_machine(m, op);
    for (int o = 0; o < n; o++) {
        int32_t t = inferred->graph->operands[at->input + o];
        key[6 + o] = t < 0 || inferred->shape[t] < 0
                         ? -1
                         : (int32_t)inferred->dtype[t] << 1 | reads_less(m, op, o);
    }
    return intern_put(m->to->memo->costs, key, sizeof *key * (size_t)(6 + n));
}

static const double *price_op(Making *m, const OpPricer *pricer, int32_t op,
                              const int32_t *const *operand)
{
    const Inferred *inferred = m->to->inferred;
    int32_t node = m->to->node_of_op[op], space = inferred->space[op];
    const SearchNode *at = &m->to->nodes.at[node];
    const GraphOp *of = &inferred->graph->ops[op];
    double *us = arena_array(m->to->memo->arena, double, at->n);
    int n = of->n_inputs + of->n_outputs;
    int32_t *sharding = arena_array(m->scratch, int32_t, n);
    for (int32_t c = 0; c < at->n; c++) {
        if (c > 0 && at->cut && at->cut[c] == at->cut[c - 1]) {
            us[c] = us[c - 1];
            continue;
        }
        OpCut cut = instance_cut(m->to, node, c, space);
        for (int o = 0; o < n; o++)
            sharding[o] = operand[o] ? operand[o][c] : -1;
        us[c] = op_price(pricer, op, &cut, sharding);
    }
    return us;
}

/* Prices those that are not known; all their shardings come before there is a pricer. */
static void price_ops(Making *m, const int32_t *op, int n)
{
    const int32_t ***operand = arena_array(m->scratch, const int32_t **, n);
    for (int i = 0; i < n; i++)
        operand[i] = operands_of(m, op[i]);
    const OpPricer *pricer = n > 0 ? op_pricer_new(m->scratch, m->to->as) : NULL;
    for (int i = 0; i < n; i++) {
        const double *us = price_op(m, pricer, op[i], operand[i]);
        vec_push(m->to->memo->arena, &m->to->memo->cost, us);
    }
}

double making_op_us(Making *m, const OpPricer *pricer, int32_t op, int32_t choice, int operand,
                    int32_t as)
{
    const Inferred *inferred = m->to->inferred;
    int n = inferred->graph->ops[op].n_inputs + inferred->graph->ops[op].n_outputs;
    int32_t *sharding = arena_array(m->scratch, int32_t, n);
    for (int o = 0; o < n; o++) {
        const int32_t *ids = operand_of(m, op, o);
        sharding[o] = !ids ? -1 : o == operand ? as : ids[choice];
    }
    OpCut cut = instance_cut(m->to, m->to->node_of_op[op], choice, inferred->space[op]);
    return op_price(pricer, op, &cut, sharding);
}

void making_op_costs(Making *m)
{
    const Inferred *inferred = m->to->inferred;
    SearchMemo *memo = m->to->memo;
    int32_t *key = arena_array(m->scratch, int32_t, inferred->n_program);
    Vec(int32_t) unknown = {0};
    for (int i = 0; i < inferred->n_program; i++) {
        key[i] = cost_key(m, inferred->program[i]);
        if (key[i] == memo->cost.n + unknown.n)
            vec_push(m->scratch, &unknown, inferred->program[i]);
    }
    price_ops(m, unknown.at, unknown.n);
    for (int i = 0; i < inferred->n_program; i++) {
        SearchNode *node = &m->to->nodes.at[m->to->node_of_op[inferred->program[i]]];
        const double *us = memo->cost.at[key[i]];
        const StageWeights *weights = m->options->weights;
        double times = inferred_repeat(inferred, inferred->program[i]);
        if (weights)
            times *= stage_weights_of_op(weights, m->to->session->plan, inferred->program[i]);
        for (int32_t c = 0; c < node->n; c++)
            node->compute[c] += times * us[c];
        for (int32_t c = 0; weights && c < node->n; c++)
            node->least[c] += times * us[c];
    }
}
