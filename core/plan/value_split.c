#include "core/plan/value_split.h"

#include "core/plan/plan_findings.h"
#include "core/rules/registry.h"

static bool reads_index(const Operand *operand, int index)
{
    for (int d = 0; d < operand->projection.n_dims; d++)
        if (operand->projection.row[d].coef[index] != 0)
            return true;
    return false;
}

/* The input that lacks the index dim, or -1. Those that are added once are meant so. */
static int input_without(const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        if (!operand->absent && !operand->ignored && !operand->once && !reads_index(operand, index))
            return i;
    }
    return -1;
}

/* Whether a kernel of ours runs the operator, which adds such an operand once by itself. */
static bool runs_ours(const Plan *plan, int32_t op)
{
    const Operator *row = inferred_operator(plan->inferred, op);
    return row && row->kernel && *row->kernel;
}

/* An index dim that is summed over and sharded, and which an input lacks, *input; -1 if there is
 * none. */
static int find_split(const OpSpace *space, const OpCut *cut, int *input)
{
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *index = &space->index[j];
        if (index->role != ROLE_REDUCE || index->rule || cut_is_whole(&cut->index[j]))
            continue;
        *input = input_without(space, j);
        if (*input >= 0)
            return j;
    }
    return -1;
}

static void find_op(Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, op);
    const char *name = op_operator(graph, op);
    int input, index = find_split(space, program_cut(plan, op), &input);
    if (index < 0 || operator_find(name) || runs_ours(plan, op))
        return;
    plan_find(plan, LEVEL_WARNING, "numerically-partitioned", op, -1,
              "register_op takes rules = {{ins = {..}, outs = {\"V\"}}}: V for an input that is "
              "added once, R for a factor of each addend; or freeze the dim with ^",
              "%s %s is partitioned numerically: %s is sharded, input %d lacks it, and each rank "
              "uses all of that input, so what it adds is added on every rank",
              name, op_path_or_name(graph, op), space->index[index].name, input);
}

void value_split_find(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!program_space(inferred, op)->gradient)
            find_op(plan, op);
    }
}
