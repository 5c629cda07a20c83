#include "core/cost/cost.h"

#include "core/base/span.h"
#include "core/base/units.h"
#include "core/cost/absorbed.h"
#include "core/cost/op_declared.h"
#include "core/reshard/cluster.h"

#include <math.h>

static void say_rate(double share, double rate, const char *unit, Buf *out)
{
    if (share == 1)
        buf_printf(out, "%.6g %s", rate, unit);
    else
        buf_printf(out, "(%.4g * %.6g %s)", share, rate, unit);
}

static void explain_kind(const Machine *machine, Buf *out)
{
    buf_printf(out, "%.4g us + max(flops / peak, bytes / ", machine->launch_us);
    say_rate(machine->memory_share > 0 ? machine->memory_share : 1,
             machine->memory_bytes_per_s / 1e9, "GB/s", out);
    buf_putc(out, ')');
}

void cost_explain(const Machine *machine, Buf *out)
{
    const Cluster *cluster = machine->cluster;
    for (int i = 0; cluster && i < cluster->n; i++) {
        buf_printf(out, "%s%s ", i > 0 ? "; " : "", cluster->kind[i].machine->name);
        explain_kind(cluster->kind[i].machine, out);
    }
    if (!cluster)
        explain_kind(machine, out);
}

/* "measured table of MatMul: 1 x [64, 256] by [256, 64] = 12 us" */
static void say_measured(const OpCost *cost, Buf *out)
{
    double size[MEASURED_SIZES];
    buf_printf(out, "measured table of %s, %s: ", cost->op_type, dtype_name(cost->dtype));
    if (op_cost_sizes(cost, size) > 1) {
        buf_printf(out, "%.0f x [%.0f, %.0f] by [%.0f, %.0f]", size[0], size[1], size[3], size[3],
                   size[2]);
    } else {
        units_format_count((int64_t)size[0], out);
        buf_puts(out, cost->attention ? " flops" : " B");
    }
    buf_puts(out, " = ");
    units_format_us(cost->us, out);
}

void op_cost_explain(const Plan *plan, int32_t op, Buf *out)
{
    OpCost cost = op_cost(plan, op);
    if (cost.work == WORK_VIEW && !cost.measured) {
        int32_t by = op_absorbed_by(plan->inferred, op), with = op_made_by(plan->inferred, op);
        if (with >= 0)
            buf_printf(out, "made by the kernel of %s: takes no time of its own",
                       op_operator(plan->inferred->graph, with));
        else if (by >= 0)
            buf_printf(out, "absorbed by %s: moves nothing, takes no time",
                       op_operator(plan->inferred->graph, by));
        else
            buf_puts(out, "view: moves nothing, takes no time");
        return;
    }
    const OpDeclared *declared = op_declared(plan, op);
    size_t from = out->n;
    if (declared && declared->cost.us >= 0) {
        buf_puts(out, "as its operator declares: ");
        units_format_us(cost.us, out);
        return;
    }
    if (cost.measured) {
        say_measured(&cost, out);
        return;
    }
    buf_printf(out, "%s%s: ", work_name(cost.work),
               cost.declared ? ", as its operator declares" : "");
    if (cost.turns > 1)
        buf_printf(out, "%.0f turns x ", cost.turns);
    buf_printf(out, "%.4g us + max(", cost.launch_us / fmax(cost.turns, 1));
    units_format_count((int64_t)cost.flops, out);
    buf_puts(out, " flops / ");
    say_rate(cost.flops_share, cost.flops_per_s / 1e12, "TFLOP/s", out);
    buf_putc(out, ',');
    buf_mark(out, from, SPAN_TERM, 0);
    buf_putc(out, ' ');
    units_format_count(cost.bytes, out);
    buf_puts(out, " B / ");
    say_rate(cost.bytes_share, cost.bytes_per_s / 1e9, "GB/s", out);
    buf_puts(out, ") = ");
    units_format_us(cost.us, out);
}
