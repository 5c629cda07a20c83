#include "core/explain/load_findings.h"

#include "core/plan/plan_findings.h"
#include "core/plan/routed.h"

void load_find(Plan *plan)
{
    const double least = 1.05;
    double most = least;
    int32_t fullest = -1;
    for (int i = 0; plan->routed && i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        double times = routed_imbalance(plan->routed, op, plan_cut(plan, op), plan->mesh);
        if (times > most * (1 + 1e-9)) {
            most = times;
            fullest = op;
        }
    }
    if (fullest < 0)
        return;
    Buf axes = buf_new(plan->arena);
    int index = routed_expert_index(plan->routed, fullest);
    mesh_format_set(plan->mesh, cut_atoms(&program_cut(plan, fullest)->index[index]), ".", &axes);
    plan_find(plan, LEVEL_NOTE, "expert-load", fullest, -1,
              "put experts that are chosen often on different ranks, or balance the router; the "
              "load is an assumption, change it with --set load=..",
              "experts are sharded by %s: the fullest rank gets %.3g times the average number of "
              "rows, and the others wait for it",
              axes.s, most);
}
