#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "core/cost/training_cost.h"
#include "core/model/stated.h"
#include "core/plan/json_forms.h"
#include "core/cost/op_declared.h"
#include "core/session/planfile.h"
#include "core/session/schedule_json.h"
#include "core/session/training_json.h"
#include "core/plan/plan_machine.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"

/* Columns that depend only on a sharding are made once per sharding, then copied. */
typedef struct {
    const Plan *plan;
    const Graph *graph;
    const Mesh *mesh;
    Arena *scratch;
    Json **sharding; /* by Shardings id; NULL until needed */
} PlanWriter;

static Json *write_sharding(PlanWriter *w, int32_t id)
{
    if (id < 0)
        return json_null();
    if (!w->sharding[id])
        w->sharding[id] = json_of_sharding(shardings_at(w->plan->shardings, id), w->mesh);
    return json_copy(w->sharding[id]);
}

/* The axes of a cut in all its digits, major first. */
static Json *cut_axes(const Cut *cut, const Mesh *mesh)
{
    uint8_t atom[ATOMS_MAX];
    return json_of_atoms(atom, cut_list_atoms(cut, atom), mesh);
}

/* "cuts": index dim -> its axes. Which block of the dim an axis shards is in "digits", for the few
 * index dims that have more than one. */
static void write_cuts(PlanWriter *w, int32_t op, Json *row)
{
    const OpSpace *space = inferred_space(w->plan->inferred, op);
    const OpCut *cut = plan_cut(w->plan, op);
    Json *cuts = json_object(), *digits = json_object();
    for (int i = 0; cut && i < cut->n; i++) {
        if (cut_is_whole(&cut->index[i]))
            continue;
        json_set(cuts, space->index[i].name, cut_axes(&cut->index[i], w->mesh));
        if (cut->index[i].n == 1)
            continue;
        Buf text = buf_new(w->scratch);
        cut_format(&cut->index[i], w->mesh, &text);
        json_set(digits, space->index[i].name, json_from_str(buf_str(&text)));
    }
    json_set(row, "cuts", cuts);
    if (json_size(digits) > 0)
        json_set(row, "digits", digits);
    else
        json_free(digits);
}

/* "times": how often a step runs it, unless that is once. */
static void write_times(Json *row, double times)
{
    if (times != 1)
        json_set_int(row, "times", times < 0x1p62 ? (int64_t)times : INT64_MAX);
}

/* "pp=0", "" for all. */
static void write_devices(PlanWriter *w, int devices, const char *key, Json *row)
{
    Buf text = buf_new(w->scratch);
    submesh_format(w->mesh, w->plan->decided->submeshes[devices], &text);
    json_set(row, key, json_from_str(buf_str(&text)));
}

/* "comm": the collectives that the operator declares inside the op. */
static void write_comm(const PlanWriter *w, int32_t op, Json *row)
{
    const OpDeclared *declared = op_declared(w->plan, op);
    if (!declared || declared->n_comms == 0)
        return;
    Json *out = json_array();
    for (int i = 0; i < declared->n_comms; i++) {
        const OpComm *comm = &declared->comm[i];
        uint8_t atom[ATOMS_MAX];
        Json *at = json_object();
        json_set_str(at, "kind", step_kind_name(comm->kind));
        json_set(at, "axes",
                 json_of_atoms(atom, mesh_list_set(w->mesh, comm->atoms, atom), w->mesh));
        if (comm->dim)
            json_set_str(at, "dim", comm->dim);
        json_set_int(at, "bytes", comm->bytes);
        json_set_int(at, "wire_bytes", comm->price.wire_bytes);
        json_set_real(at, "us", comm->price.us);
        json_add(out, at);
    }
    json_set(row, "comm", out);
}

/* "phase": of an op of a training step; a forward plan has none. */
static void write_phase(const PlanWriter *w, int32_t op, Json *row)
{
    if (graph_has_phases(w->graph))
        json_set_str(row, "phase", phase_name(op < 0 ? PHASE_FORWARD : op_phase(w->graph, op)));
}

/* Of a step that the file holds. */
static Json *write_phases(const PlanWriter *w)
{
    const struct StatedStep *stated = w->graph->stated;
    PhaseTimes times = phase_times(w->plan);
    Json *out = json_object(), *gradients = json_object();
    for (int i = 0; i < stated->n_gradients; i++)
        json_set_str(gradients, names_text(w->graph->names, stated->gradient[i].parameter),
                     names_text(w->graph->names, stated->gradient[i].gradient));
    json_set(out, "gradients", gradients);
    json_set_str(out, "by", stated->by_flow ? "flow" : "names");
    json_set_real(out, "forward_us", times.forward_us);
    json_set_real(out, "backward_us", times.backward_us);
    json_set_real(out, "update_us", times.update_us);
    return out;
}

static Json *write_ops(PlanWriter *w)
{
    const Inferred *inferred = w->plan->inferred;
    Json *out = json_array();
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        Json *row = json_object();
        json_set_str(row, "name", op_name(w->graph, op));
        json_set_str(row, "path", op_path(w->graph, op));
        json_set_str(row, "operator", op_operator(w->graph, op));
        write_phase(w, op, row);
        write_times(row, inferred_repeat(inferred, op));
        json_set_real(row, "us", w->plan->priced->op_us[op]);
        if (w->plan->decided->stages) {
            json_set_int(row, "stage", stage_of(w->plan, op));
            write_devices(w, plan_devices(w->plan, op), "devices", row);
        }
        write_cuts(w, op, row);
        write_comm(w, op, row);
        json_add(out, row);
    }
    return out;
}

static void write_layout(PlanWriter *w, int32_t tensor, Json *row)
{
    static const char *const columns[] = {"dims_mapping", "partial", "placements", "local_shape",
                                          "uneven"};
    int32_t made = w->plan->moved->made[tensor], kept = w->plan->moved->sharding[tensor];
    json_set(row, "sharding", write_sharding(w, made));
    json_set(row, "then", made == kept ? json_null() : write_sharding(w, kept));
    if (made < 0) {
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            json_set(row, columns[i], json_null());
        return;
    }
    const Sharding *sharding = shardings_at(w->plan->shardings, made);
    Shape local;
    sharding_local_shape(sharding, w->mesh, 0, &local);
    json_set(row, columns[0], json_of_dims_mapping(sharding, w->mesh));
    json_set(row, columns[1], json_of_partial(sharding, w->mesh));
    json_set(row, columns[2], json_of_placements(sharding, w->mesh));
    json_set(row, columns[3], json_of_shape(&local));
    json_set(row, columns[4], json_from_bool(sharding_is_uneven(sharding, w->mesh)));
}

static Json *write_tensors(PlanWriter *w)
{
    const Inferred *inferred = w->plan->inferred;
    const bool *in = inferred_in_program(w->scratch, inferred);
    Json *out = json_array();
    for (int32_t t = 0; t < w->graph->n_tensors; t++) {
        if (!in[t])
            continue;
        Json *row = json_object();
        json_set_str(row, "name", tensor_name(w->graph, t));
        json_set_str(row, "dtype", dtype_name((Dtype)inferred->dtype[t]));
        json_set(row, "shape", json_of_shape(inferred_sizes(inferred, t)));
        write_layout(w, t, row);
        json_add(out, row);
    }
    return out;
}

/* The op in whose phase the value is moved: its first reader, or what makes it. */
static int32_t op_of_reshard(const PlanWriter *w, const Reshard *reshard)
{
    return reshard->n_uses > 0 ? w->plan->moved->reshard_uses[reshard->use]
                               : w->graph->tensors[reshard->tensor].maker;
}

static Json *write_reshards(PlanWriter *w)
{
    Json *out = json_array();
    for (int i = 0; i < w->plan->moved->n_reshards; i++) {
        const Reshard *reshard = &w->plan->moved->reshards[i];
        Json *row = json_object(), *uses = json_array(), *steps = json_array();
        for (int u = 0; u < reshard->n_uses; u++) {
            int32_t op = w->plan->moved->reshard_uses[reshard->use + u];
            json_add(uses, json_from_str(str_from(op_name(w->graph, op))));
        }
        for (int s = 0; s < reshard->path->n_steps; s++)
            json_add(steps, json_of_step(&reshard->path->step[s], w->mesh));
        json_set_str(row, "tensor", tensor_name(w->graph, reshard->tensor));
        write_phase(w, op_of_reshard(w, reshard), row);
        json_set(row, "uses", uses);
        json_set(row, "from", write_sharding(w, reshard->from));
        json_set(row, "to", write_sharding(w, reshard->to));
        if (reshard->from_devices != reshard->to_devices) {
            write_devices(w, reshard->from_devices, "from_devices", row);
            write_devices(w, reshard->to_devices, "to_devices", row);
        }
        if (reshard_joins(w->plan, reshard) >= 0)
            json_set_str(row, "all_reduce_of",
                         tensor_name(w->graph, reshard_joins(w->plan, reshard)));
        json_set(row, "steps", steps);
        json_set_real(row, "us", reshard->path->us);
        json_set_real(row, "bound_us", reshard->path->bound_us);
        json_set_bool(row, "proven", reshard->path->proven);
        json_set_int(row, "peak_bytes", reshard->path->peak_bytes);
        write_times(row, reshard_repeat(w->plan, reshard));
        json_add(out, row);
    }
    return out;
}

Json *plan_totals_json(const Totals *totals)
{
    Json *out = json_object();
    json_set_real(out, "step_us", totals->step_us);
    json_set_real(out, "compute_us", totals->compute_us);
    json_set_real(out, "comm_us", totals->comm_us);
    json_set_real(out, "overlap_us", totals->overlap_us);
    json_set_int(out, "comm_bytes", totals->comm_bytes);
    json_set_int(out, "peak_bytes", totals->peak_bytes);
    json_set_real(out, "flops", totals->flops);
    return out;
}

static const char *op_at(const PlanWriter *w, int place)
{
    const Inferred *inferred = w->plan->inferred;
    return 0 <= place && place < inferred->n_program ? op_name(w->graph, inferred->program[place])
                                                     : NULL;
}

/* Writes the name of an op; null if the place is before the first op or after the last. */
static void set_place(const PlanWriter *w, Json *row, const char *key, int place)
{
    const char *name = op_at(w, place);
    json_set(row, key, name ? json_from_str(str_from(name)) : json_null());
}

static Json *write_live(PlanWriter *w, const LiveSet *set)
{
    Json *out = json_array();
    for (int i = 0; i < set->n; i++) {
        const LiveValue *value = &set->at[i];
        Json *row = json_object();
        json_set_str(row, "tensor", tensor_name(w->graph, value->tensor));
        json_set_str(row, "class", memory_class_name(value->class));
        json_set_int(row, "bytes", value->bytes);
        json_set_int(row, "padding_bytes", value->padding_bytes);
        json_set(row, "sharding", write_sharding(w, value->sharding));
        set_place(w, row, "from", value->from);
        set_place(w, row, "to", value->to);
        json_add(out, row);
    }
    return out;
}

static Json *write_init(const PlanWriter *w, int64_t rank)
{
    InitMemory init;
    memory_init(w->plan, rank, &init);
    Json *out = json_object();
    json_set_int(out, "parts_bytes", init.parts_bytes);
    json_set_int(out, "cut_bytes", init.cut_bytes);
    json_set_int(out, "whole_bytes", init.whole_bytes);
    json_set(out, "largest",
             init.largest < 0 ? json_null()
                              : json_from_str(str_from(tensor_name(w->graph, init.largest))));
    return out;
}

static Json *write_memory(PlanWriter *w)
{
    MemoryUse use = memory_use(w->scratch, w->plan);
    LiveSet set = memory_live_at(w->scratch, w->plan, use.rank, use.peak_place);
    Json *out = json_object(), *classes = json_object();
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        json_set_int(classes, memory_class_name((MemoryClass)c), set.by_class[c]);
    json_set_int(out, "rank", use.rank);
    json_set_int(out, "peak_bytes", set.bytes);
    json_set_int(out, "padding_bytes", set.padding_bytes);
    set_place(w, out, "at", use.peak_place);
    json_set(out, "classes", classes);
    json_set(out, "live", write_live(w, &set));
    json_set(out, "init", write_init(w, use.rank));
    return out;
}

/* ---- stages ---- */

static Json *write_stages(PlanWriter *w)
{
    const Stages *stages = w->plan->decided->stages;
    Json *out = json_array();
    for (int s = 0; s < stages->n; s++) {
        const Stage *stage = &stages->at[s];
        const StagePrice *price = &w->plan->priced->pipeline->stage[s];
        Json *row = json_object();
        set_place(w, row, "first", stage->first);
        set_place(w, row, "last", stage->last);
        write_devices(w, stage->devices, "devices", row);
        if (w->plan->decided->machines)
            json_set_str(row, "machine", plan_machine_of(w->plan, stage->devices)->name);
        json_set_bool(row, "relay", stage->relay);
        json_set_real(row, "compute_us", price->compute_us);
        json_set_real(row, "comm_us", price->comm_us);
        json_set_real(row, "forward_us", stage_forward_us(price));
        json_set_real(row, "again_us", price->again_us);
        json_set_real(row, "backward_us", stage_backward_us(price));
        json_set_real(row, "receive_us", price->receive_us);
        json_set_real(row, "return_us", stage_return_us(price));
        json_set_int(row, "receive_bytes", price->receive_bytes);
        if (plan_schedule(w->plan))
            json_set_int(row, "in_flight", plan_schedule(w->plan)->in_flight[s]);
        json_add(out, row);
    }
    return out;
}

Json *plan_json(const Session *session)
{
    PlanWriter w = {.plan = session->plan, .graph = session->graph};
    w.mesh = session->mesh;
    w.scratch = arena_new();
    int32_t n = shardings_count(w.plan->shardings);
    w.sharding = arena_array(w.scratch, Json *, n);

    Json *out = json_object();
    json_set_str(out, "method", w.plan->propagator->name);
    json_set_str(out, "profile", w.plan->propagator->profile);
    json_set(out, "mesh", json_of_mesh(w.mesh));
    json_set(out, "ops", write_ops(&w));
    json_set(out, "tensors", write_tensors(&w));
    json_set(out, "reshards", write_reshards(&w));
    if (w.plan->decided->stages) {
        json_set(out, "stages", write_stages(&w));
        json_set(out, "schedule", schedule_json(w.plan, true));
    }
    json_set(out, "totals", plan_totals_json(&w.plan->priced->totals));
    json_set(out, "memory", write_memory(&w));
    if (w.graph->stated)
        json_set(out, "phases", write_phases(&w));
    if (w.graph->phase) {
        TrainingCost cost = training_cost(w.scratch, w.plan, session->groups);
        json_set(out, "training", training_json(&cost));
    }
    json_set(out, "findings", json_of_findings(&w.plan->findings));

    for (int32_t i = 0; i < n; i++)
        json_free(w.sharding[i]);
    arena_free(w.scratch);
    return out;
}
