#include "core/plan/plan_machine.h"

#include "core/plan/plan_findings.h"
#include "core/reshard/cluster.h"

#include <inttypes.h>

void plan_machines(Plan *plan, Decided *out)
{
    if (!plan->machine || !plan->machine->cluster)
        return;
    int64_t has = cluster_devices(plan->machine->cluster);
    out->machines = arena_array(plan->arena, const Machine *, out->n_submeshes);
    for (int i = 0; i < out->n_submeshes; i++)
        out->machines[i] = machine_of_part(plan->machine, plan->mesh, out->submeshes[i]);
    if (plan->mesh->n_devices > has)
        plan_find(plan, LEVEL_WARNING, "machine-devices", -1, -1,
                  "add devices to the kinds in the machine file",
                  "the mesh has %" PRId64 " devices, the machine %s %" PRId64
                  ": the others count as devices of its last kind",
                  plan->mesh->n_devices, plan->machine->name, has);
}

void plan_resharders(Plan *plan)
{
    const Decided *decided = plan->decided;
    if (!decided->machines)
        return;
    plan->resharders = arena_array(plan->arena, Resharder *, decided->n_submeshes);
    for (int i = 0; i < decided->n_submeshes; i++) {
        const Machine *machine = decided->machines[i];
        int alike = 0;
        while (alike < i && decided->machines[alike] != machine)
            alike++;
        plan->resharders[i] =
            machine == plan->machine ? plan->resharder
            : alike < i              ? plan->resharders[alike]
                        : resharder_new(plan->arena, plan->mesh, machine, plan->shardings);
    }
}

int64_t plan_rank_memory(const Plan *plan, int64_t rank)
{
    const Decided *decided = plan->decided;
    int64_t bytes = plan->machine->memory_bytes;
    bool found = false;
    for (int i = 1; decided->machines && i < decided->n_submeshes; i++) {
        int64_t has = decided->machines[i]->memory_bytes;
        if (!submesh_has(plan->mesh, decided->submeshes[i], rank) || (found && has >= bytes))
            continue;
        bytes = has;
        found = true;
    }
    return bytes;
}

int64_t plan_memory(const Plan *plan)
{
    return plan_rank_memory(plan, plan->priced->peak_rank);
}
