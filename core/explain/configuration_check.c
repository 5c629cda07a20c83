#include "core/explain/configuration_check.h"

#include "core/base/units.h"
#include "core/cost/pipeline_idle.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

#include <inttypes.h>
#include <math.h>

/* ---- micro-batches ---- */

/* The bubble of the schedule with another number of micro-batches; NAN if it cannot have so many.
 */
static double bubble_with(Arena *scratch, const Plan *plan, int n_micro_batches)
{
    const Stages *stages = plan->decided->stages;
    const Pipeline *pipeline = plan->priced->pipeline;
    Error err = {0};
    Schedule *table = schedule_make(scratch, str_from(stages->schedule), stages->n, pipeline->lanes,
                                    n_micro_batches, &err);
    if (!table)
        return NAN;
    schedule_time(scratch, table, pipeline_times(scratch, pipeline, stages->n));
    return table->idle;
}

static void find_few_micro_batches(Plan *plan, const Schedule *table)
{
    enum { A_DEVICE = 4 };
    int lanes = plan->priced->pipeline->lanes->n, m = table->n_micro_batches;
    if (!table->trains || lanes < 2 || m >= lanes)
        return;
    Arena *scratch = arena_new();
    double more = bubble_with(scratch, plan, A_DEVICE * lanes);
    Buf instead = buf_new(scratch);
    if (!isnan(more))
        buf_printf(&instead, ", with %d micro-batches %.1f%%", A_DEVICE * lanes, 100 * more);
    plan_find(plan, LEVEL_WARNING, "few-micro-batches", -1, -1,
              "use more and smaller micro-batches, or fewer stages",
              "%d micro-batch%s for a pipeline of %d devices: they idle %.1f%% of a step%s", m,
              m == 1 ? "" : "es", lanes, 100 * table->idle, instead.n ? instead.s : "");
    if (plan->decided->stages->scheduled)
        plan_found_at(plan, &plan->decided->stages->scheduled->origin);
    arena_free(scratch);
}

/* Megatron-LM refuses such a number, torch runs it: in equal rounds, else in one. */
static void find_uneven_rounds(Plan *plan, const Schedule *table)
{
    int lanes = plan->priced->pipeline->lanes->n, m = table->n_micro_batches;
    if (strcmp(table->name, "1f1b_interleaved") != 0 || lanes < 2 || m % lanes == 0)
        return;
    int rounds = m > lanes ? m / lanes : 1;
    plan_find(plan, LEVEL_NOTE, "uneven-rounds", -1, -1,
              "with a multiple of the pipeline's devices, fewer activations are kept",
              "%d micro-batches are not a multiple of the pipeline's %d devices: a device changes "
              "stage every %d micro-batches, but Megatron-LM requires every %d",
              m, lanes, m / rounds, lanes);
    if (plan->decided->stages->scheduled)
        plan_found_at(plan, &plan->decided->stages->scheduled->origin);
}

/* Without a decision about it, the blocks of a step run in program order. */
static void find_forward_only(Plan *plan, const Schedule *table)
{
    const Decision *scheduled = plan->decided->stages->scheduled;
    if (table->trains || !plan->inferred->forward || !scheduled)
        return;
    plan_find(plan, LEVEL_ERROR, "schedule-without-backward", -1, -1,
              "a schedule with backwards, such as 1f1b; or leave the training step out",
              "schedule %s runs forwards alone: of this step there are no gradients and no update",
              table->name);
    plan_found_at(plan, &scheduled->origin);
}

/* ---- parameters gathered again ---- */

/* Of one stage, in one micro-batch. */
typedef struct {
    double n, us, bytes;
} Gathers;

typedef struct {
    Gathers *stage;
    int32_t first; /* the first parameter that is gathered; -1 */
    int32_t tensor;
} Gathering;

static void add_gather(void *context, const PricedStep *step)
{
    Gathering *sum = context;
    if (step->step->kind != STEP_ALL_GATHER || step->when == WHEN_ONCE)
        return;
    Gathers *of = &sum->stage[step->stage];
    of->n += step->times;
    of->us += step->us;
    of->bytes += step->times * (double)step->step->wire_bytes;
    sum->first = sum->first < 0 ? sum->tensor : sum->first;
}

static void find_gathered_again(Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    int m = stages->n_micro_batches, most = 0;
    if (plan->priced->pipeline->lanes->n < 2 || m < 2 || !plan->inferred->forward)
        return;
    Arena *scratch = arena_new();
    Gathering sum = {arena_array(scratch, Gathers, stages->n), -1, -1};
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        sum.tensor = plan->moved->reshards[r].tensor;
        if (tensor_is_parameter(plan->inferred, sum.tensor) &&
            plan_stores(plan, sum.tensor, STORED_PARAMETER))
            pipeline_visit_steps(plan, &plan->moved->reshards[r], add_gather, &sum);
    }
    for (int s = 1; s < stages->n; s++)
        most = sum.stage[s].us > sum.stage[most].us ? s : most;
    const Gathers *of = &sum.stage[most];
    if (of->n > 0) {
        Buf sent = buf_new(scratch), took = buf_new(scratch);
        units_format_bytes((int64_t)(of->bytes * (m - 1)), &sent);
        units_format_us(of->us * (m - 1), &took);
        plan_find(
            plan, LEVEL_WARNING, "gathered-each-micro-batch", -1, sum.first,
            "store only gradients and states sharded (zero=2), or keep the gathered parameters",
            "stage %d all-gathers its sharded parameters %.0f times in each of %d micro-batches: "
            "doing so once a step would send %s less and save %s of collectives",
            most, of->n, m, sent.s, took.s);
    }
    arena_free(scratch);
}

/* ---- nodes ---- */

static bool is_on_two_nodes(const Plan *plan, int64_t first, int64_t n)
{
    int64_t per_node = plan->machine->devices_per_node;
    int64_t node = mesh_device(plan->mesh, first) / per_node;
    for (int64_t i = first + 1; i < first + n; i++)
        if (mesh_device(plan->mesh, i) / per_node != node)
            return true;
    return false;
}

/* The outermost axis whose groups, together with the axes inside it, would fit on one node. */
static void find_straddled(Plan *plan)
{
    const Mesh *mesh = plan->mesh;
    int64_t per_node = plan->machine->devices_per_node, n = 1, n_straddled = 0;
    int outer = mesh->n_axes;
    while (outer > 0 && n * mesh->axes[outer - 1].size <= per_node)
        n *= mesh->axes[--outer].size;
    for (int64_t first = 0; per_node % n != 0 && first < mesh->n_devices; first += n)
        n_straddled += is_on_two_nodes(plan, first, n);
    if (n_straddled > 0)
        plan_find(
            plan, LEVEL_WARNING, "straddled-nodes", -1, -1,
            "choose sizes whose product divides a node's devices, or a machine of whose nodes "
            "so many are used (as gb200x64 of gb200x72)",
            "%" PRId64 " of %" PRId64 " groups of %" PRId64
            " devices along %s lie on two nodes, which have %" PRId64
            " devices each: their collectives leave the node",
            n_straddled, mesh->n_devices / n, n, mesh->axes[outer].name, per_node);
}

void configuration_check(Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    find_straddled(plan);
    if (!table)
        return;
    find_forward_only(plan, table);
    find_few_micro_batches(plan, table);
    find_uneven_rounds(plan, table);
    find_gathered_again(plan);
}
