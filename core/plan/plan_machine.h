/* plan_machine.h - what the parts of the mesh run on where devices are unlike
 * (core/reshard/cluster.h): ops and reshards of a stage are priced on the devices of that stage.
 */
#ifndef CORE_PLAN_PLAN_MACHINE_H
#define CORE_PLAN_PLAN_MACHINE_H

#include "core/plan/plan.h"

/* Fills machines of `out`, whose sub-meshes are known, and reports devices of the mesh that the
 * machine does not have (warning `machine-devices`). */
void plan_machines(Plan *plan, Decided *out);

/* Makes the resharders of the parts of the mesh, before any value is resharded. */
void plan_resharders(Plan *plan);

static inline const Machine *plan_machine(const Plan *plan, int32_t op)
{
    return plan_machine_of(plan, plan_devices(plan, op));
}

/* What reshards values within that part of the mesh. */
static inline Resharder *plan_resharder_of(const Plan *plan, int devices)
{
    return plan->resharders ? plan->resharders[devices] : plan->resharder;
}

/* Whether values sent between these parts, as indices into plan->decided->submeshes, stay on
 * devices of one machine; if not, the whole machine's links count. */
static inline bool plan_sends_alike(const Plan *plan, int from, int to)
{
    return plan_machine_of(plan, from) == plan_machine_of(plan, to);
}

/* What the steps of a reshard are priced on. */
static inline const Machine *plan_reshard_machine(const Plan *plan, const Reshard *reshard)
{
    bool alike = plan_sends_alike(plan, reshard->from_devices, reshard->to_devices);
    return alike ? plan_machine_of(plan, reshard->to_devices) : plan->machine;
}

/* The memory of the device that a rank is on, in bytes. */
int64_t plan_rank_memory(const Plan *plan, int64_t rank);
/* The same of the rank that needs most of its memory. */
int64_t plan_memory(const Plan *plan);

#endif
