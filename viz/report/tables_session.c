/* tables_session.c - the inputs of a plan: mesh, machine, decisions; its totals and findings. */
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "viz/report/cells.h"

#include "core/base/intern.h"
#include "core/cost/cost.h"
#include "core/summary/decision_lua.h"
#include "core/session/planfile.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

/* ---- summary ---- */

static void put_fact(Sheet *out, const char *key, const char *value)
{
    table_put_text(out, key);
    table_put_text(out, value);
    table_put_text(out, "");
    table_put_text(out, "");
}

static void put_amount(Sheet *out, const char *key, double value, const char *unit,
                       const char *formula)
{
    table_put_text(out, key);
    sheet_number(out, value);
    table_put_text(out, unit);
    table_put_text(out, formula);
}

static void put_head(const Session *session, Sheet *out)
{
    const SessionOptions *options = &session->options;
    Buf mesh = buf_new(out->arena);

    mesh_format(session->mesh, &mesh);
    put_fact(out, "model", path_base(session->graph->file));
    put_fact(out, "mesh", mesh.s);
    put_fact(out, "machine", session->machine->name);
    put_fact(out, "policy", options->policy ? path_base(options->policy) : "none");
    if (options->train)
        put_fact(out, "train", options->train);
    put_fact(out, "propagate", session->plan->propagator->name);
    put_fact(out, "profile", session->plan->propagator->profile);
    put_fact(out, "plan", arena_printf(out->arena, "%016" PRIx64, planfile_hash(session)));
    put_amount(out, "devices", (double)session->mesh->n_devices, "", "");
    put_amount(out, "ops", session->inferred->n_program, "", "");
    put_amount(out, "params", (double)inferred_params(session->inferred), "", "");
    put_amount(out, "reshards", session->plan->moved->n_reshards, "", "");
}

static void put_totals(const Session *session, Sheet *out)
{
    const Totals *totals = &session->plan->priced->totals;
    const char *of = session->plan->decided->stages ? "one micro-batch through all stages" : "";
    Buf op = buf_new(out->arena);

    cost_explain(session->machine, &op);
    put_amount(out, "step_us", totals->step_us, "us",
               arena_printf(out->arena, "compute_us + comm_us%s%s", *of ? ", " : "", of));
    put_amount(out, "compute_us", totals->compute_us, "us",
               arena_printf(out->arena, "sum over ops of %s", op.s));
    put_amount(out, "comm_us", totals->comm_us, "us", "sum over reshards of us * times");
    put_amount(out, "overlap_us", totals->overlap_us, "us",
               "compute_us + exposed communication if collectives run beside ops");
    put_amount(out, "exposed_us", totals->overlap_us - totals->compute_us, "us",
               "overlap_us - compute_us");
    put_amount(out, "comm_bytes", (double)totals->comm_bytes, "bytes",
               "sum of wire_bytes that one device sends");
    put_amount(out, "peak_bytes", (double)totals->peak_bytes, "bytes",
               "most live bytes on a device at any op");
    put_amount(out, "memory_bytes", (double)plan_memory(session->plan), "bytes",
               "of a device of the machine");
    put_amount(out, "flops", totals->flops, "flop", "of one device");
}

static void put_schedule(const Plan *plan, Sheet *out)
{
    const Stages *stages = plan->decided->stages;
    Buf text = buf_new(out->arena);

    if (!stages)
        return;
    pipeline_explain(plan, &text);
    put_amount(out, "stages", stages->n, "", "");
    put_amount(out, "micro_batches", stages->n_micro_batches, "", "");
    put_fact(out, "schedule", stages->schedule);
    const Schedule *schedule = plan_schedule(plan);
    if (!schedule)
        return;
    put_amount(out, "schedule_us", schedule->us, "us", text.s);
    put_amount(out, "bubble", schedule->idle, "",
               "fraction of the devices' time that they are idle");
    put_amount(out, "even_bubble", plan->priced->pipeline->even_idle, "",
               "the same if all stages took equally long");
}

static bool rows_summary(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    int n[LEVEL_ERROR + 1] = {0};

    put_head(session, out);
    put_totals(session, out);
    put_schedule(session->plan, out);
    for (int i = 0; i < session->notes.n; i++)
        n[session->notes.at[i].level]++;
    for (int i = 0; i < session->plan->findings.n; i++)
        n[session->plan->findings.at[i].level]++;
    put_amount(out, "errors", n[LEVEL_ERROR], "", "");
    put_amount(out, "warnings", n[LEVEL_WARNING], "", "");
    put_amount(out, "notes", n[LEVEL_NOTE], "", "");
    return true;
}

static const SheetColumn summary_columns[] = {
    {"key", false}, {"value", false}, {"unit", false}, {"formula", false}, {0}};

const PlanTable table_summary = {"summary", "a fact about the whole plan", summary_columns,
                                 rows_summary};

/* ---- findings ---- */

static void put_finding(const Session *session, const Finding *finding, Sheet *out)
{
    table_put_text(out, level_name(finding->level));
    table_put_text(out, finding->code);
    table_put_text(out, finding->text);
    table_put_text(out, finding->hint);
    table_put_text(out, finding->file ? path_base(finding->file) : "");
    table_put_bytes(out, finding->file && finding->line > 0, finding->line);
    table_put_text(out, finding->op < 0 ? "" : op_name(session->graph, finding->op));
    table_put_text(out, finding->tensor < 0 ? "" : tensor_name(session->graph, finding->tensor));
}

static bool rows_findings(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    for (int i = 0; i < session->notes.n; i++)
        put_finding(session, &session->notes.at[i], out);
    for (int i = 0; i < session->plan->findings.n; i++)
        put_finding(session, &session->plan->findings.at[i], out);
    return true;
}

static const SheetColumn findings_columns[] = {
    {"level", false}, {"code", false},   {"text", false},
    {"hint", false},  {"file", false},   {"line", true},
    {"op", false},    {"tensor", false}, {0},
};

const PlanTable table_findings = {"findings",
                                  "a finding: what is wrong with the plan, or worth knowing",
                                  findings_columns, rows_findings};

/* ---- decisions ---- */

/* The set of decisions that hold, as pointers. */
static Intern *held_by(Arena *arena, const Plan *plan)
{
    Intern *held = intern_new(arena);

    for (int i = 0; i < plan_n_held(plan); i++) {
        const Decision *decision = plan_held(plan, i);
        intern_put(held, &decision, sizeof decision);
    }
    return held;
}

static void put_decided(const Session *session, const Decision *decision, Sheet *out)
{
    bool on_tensor = decision_is_on_tensor(decision->kind);
    bool on_op = !on_tensor && !decision_is_on_all(decision->kind);
    const OpSpace *space = on_op ? inferred_space(session->inferred, decision->place) : NULL;
    bool index = space && decision->dim >= 0 && decision->dim < space->n_index;
    Buf cut = buf_new(out->arena);

    if (decision->cut)
        cut_format(decision->cut, session->mesh, &cut);
    mesh_format_set(session->mesh, decision->axes, " ", &cut);
    table_put_text(out, decision_kind_name(decision->kind));
    table_put_text(out, on_tensor ? tensor_name(session->graph, decision->place) : "");
    table_put_text(out, on_op ? op_name(session->graph, decision->place) : "");
    table_put_bytes(out, on_tensor && decision->dim >= 0, decision->dim);
    table_put_text(out, index ? space->index[decision->dim].name : "");
    sheet_put(out, buf_str(&cut));
    table_put_bool(out, decision->store);
}

static bool rows_decisions(const Session *session, Sheet *out, Error *err)
{
    const Journal *journal = &session->journal;

    if (!table_fits(journal->n_done, "decisions", err))
        return false;
    const Intern *held = held_by(out->arena, session->plan);
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        const Origin *origin = &decision->origin;
        bool policy = origin->kind == ORIGIN_POLICY;
        Buf lua = buf_new(out->arena);
        decision_lua(session, decision, &lua);
        sheet_number(out, i);
        put_decided(session, decision, out);
        table_put_bool(out, intern_find(held, &decision, sizeof decision) >= 0);
        table_put_text(out, origin_kind_name(origin->kind));
        table_put_text(out, policy ? path_base(origin->file) : "");
        table_put_bytes(out, policy, origin->line);
        table_put_text(out, origin->text);
        sheet_put(out, buf_str(&lua));
    }
    return true;
}

static const SheetColumn decisions_columns[] = {
    {"decision", true}, {"kind", false}, {"tensor", false}, {"op", false},    {"dim", true},
    {"index", false},   {"cut", false},  {"store", false},  {"holds", false}, {"origin", false},
    {"file", false},    {"line", true},  {"text", false},   {"lua", false},   {0},
};

const PlanTable table_decisions = {
    "decisions", "a decision, in the order they were made; holds: no later one replaces it",
    decisions_columns, rows_decisions};

/* ---- mesh and devices ---- */

/* The number of nodes that the first group of the axis spans. */
static int64_t count_nodes(const Session *session, int axis)
{
    const Mesh *mesh = session->mesh;
    int64_t n = 0, last = -1;

    for (int64_t i = 0; i < mesh->axes[axis].size; i++) {
        int64_t at = mesh_group_member(mesh, mesh_axis_atoms(mesh, axis), 0, i);
        int64_t node = mesh_device(mesh, at) / session->machine->devices_per_node;
        n += node != last;
        last = node;
    }
    return n;
}

static bool rows_mesh(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Mesh *mesh = session->mesh;
    int64_t stride = mesh->n_devices;

    for (int a = 0; a < mesh->n_axes; a++) {
        stride /= mesh->axes[a].size;
        table_put_text(out, mesh->axes[a].name);
        sheet_number(out, (double)mesh->axes[a].size);
        sheet_number(out, (double)stride);
        sheet_number(out, (double)count_nodes(session, a));
    }
    return true;
}

static const SheetColumn mesh_columns[] = {
    {"axis", false}, {"size", true}, {"stride", true}, {"nodes", true}, {0}};

const PlanTable table_mesh = {
    "mesh", "a mesh axis; stride: distance between neighbours; nodes: number that its group spans",
    mesh_columns, rows_mesh};

static void put_stages(const Session *session, int64_t position, Sheet *out)
{
    const Stages *stages = session->plan->decided->stages;
    Buf text = buf_new(out->arena);

    for (int s = 0; stages && s < stages->n; s++)
        if (submesh_has(session->mesh, session->plan->decided->submeshes[stages->at[s].devices],
                        position))
            buf_printf(&text, "%s%d", text.n > 0 ? " " : "", s);
    sheet_put(out, buf_str(&text));
}

static bool rows_devices(const Session *session, Sheet *out, Error *err)
{
    const Mesh *mesh = session->mesh;

    if (!table_fits((double)mesh->n_devices, "devices", err))
        return false;
    MemoryAccount *account = memory_account_new(session->plan);
    RankMemories ranks = memory_ranks(out->arena, account, NULL);
    for (int64_t at = 0; at < mesh->n_devices; at++) {
        const RankMemory *memory = &ranks.at[ranks.of_rank[at]];
        sheet_number(out, (double)mesh_device(mesh, at));
        int64_t node = mesh_device(mesh, at) / session->machine->devices_per_node;
        sheet_number(out, (double)node);
        table_put_coordinates(out, mesh, at);
        put_stages(session, at, out);
        sheet_number(out, (double)memory->by_class[MEMORY_PARAMETER]);
        sheet_number(out, (double)memory->use.peak_bytes);
    }
    memory_account_free(account);
    return true;
}

static const SheetColumn devices_columns[] = {
    {"device", true},
    {"node", true},
    {"coordinates", false},
    {"stages", false},
    {"parameter_bytes", true},
    {"peak_bytes", true},
    {0},
};

const PlanTable table_devices = {"devices", "a device: its coordinates, and its memory at the peak",
                                 devices_columns, rows_devices};

/* ---- machine ---- */

static void put_number(Sheet *out, const char *name, double value, const char *unit)
{
    table_put_text(out, name);
    sheet_number(out, value);
    table_put_text(out, unit);
}

static void put_rates(Sheet *out, const char *name, const double *rates)
{
    for (int d = 0; d < DT_COUNT; d++)
        if (rates[d] > 0)
            put_number(out, arena_printf(out->arena, "%s.%s", name, dtype_name((Dtype)d)), rates[d],
                       "flop/s");
}

static void put_link(Sheet *out, const char *which, const Link *link)
{
    table_put_text(out, arena_printf(out->arena, "%s.name", which));
    table_put_text(out, link->name);
    table_put_text(out, "");
    put_number(out, arena_printf(out->arena, "%s.latency_us", which), link->latency_us, "us");
    put_number(out, arena_printf(out->arena, "%s.bytes_per_s", which), link->bytes_per_s,
               "bytes/s");
    if (link->shared_bytes_per_s > 0)
        put_number(out, arena_printf(out->arena, "%s.shared_bytes_per_s", which),
                   link->shared_bytes_per_s, "bytes/s");
}

static bool rows_machine(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Machine *machine = session->machine;

    table_put_text(out, "name");
    table_put_text(out, machine->name);
    table_put_text(out, "");
    table_put_text(out, "source");
    table_put_text(out, machine->source);
    table_put_text(out, "");
    put_number(out, "devices_per_node", (double)machine->devices_per_node, "");
    if (machine->devices_per_block > 0)
        put_number(out, "devices_per_block", (double)machine->devices_per_block, "");
    put_number(out, "memory_bytes", (double)machine->memory_bytes, "bytes");
    put_number(out, "memory_bytes_per_s", machine->memory_bytes_per_s, "bytes/s");
    put_rates(out, "flops_per_s", machine->flops_per_s);
    put_rates(out, "vector_flops_per_s", machine->vector_flops_per_s);
    put_number(out, "matmul_share", machine->matmul_share, "");
    put_number(out, "matmul_share_16", machine->matmul_share_16, "");
    put_number(out, "attention_share", machine->attention_share, "");
    put_number(out, "attention_gradient_share", machine->attention_gradient_share, "");
    put_number(out, "memory_share", machine->memory_share, "");
    put_number(out, "gather_share", machine->gather_share, "");
    put_number(out, "norm_share", machine->norm_share, "");
    put_number(out, "function_share", machine->function_share, "");
    put_number(out, "launch_us", machine->launch_us, "us");
    put_number(out, "matmul_us", machine->matmul_us, "us");
    put_number(out, "processors", (double)machine->processors, "");
    put_number(out, "matmul_tile", (double)machine->matmul_tile, "");
    put_link(out, "inside", &machine->inside);
    put_link(out, "between", &machine->between);
    if (machine->devices_per_block > 0)
        put_link(out, "spine", &machine->spine);
    table_put_text(out, "prices");
    table_put_text(out, machine->tuning ? "nccl" : "ring");
    table_put_text(out, "");
    return true;
}

static const SheetColumn machine_columns[] = {
    {"name", false}, {"value", false}, {"unit", false}, {0}};

const PlanTable table_machine = {"machine", "a number of the machine; see `dimscope help machine`",
                                 machine_columns, rows_machine};
