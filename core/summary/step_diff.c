#include "core/summary/step_diff.h"

#include "core/base/table.h"
#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/model/stated.h"

#include <stdlib.h>
#include <string.h>

/* ---- gradients ---- */

static const Shape *shape_of(const Session *session, int32_t tensor)
{
    return inferred_shape(session->inferred, tensor);
}

static bool same_shape(const Shape *a, const Shape *b)
{
    return a && b ? shape_equal(a, b) : a == b;
}

/* How a gradient lies once it is reduced. */
static void put_sharding(const Session *session, int32_t tensor, Buf *out)
{
    const Plan *plan = session->plan;
    if (tensor < 0) {
        buf_puts(out, "-");
        return;
    }
    Sharding lies =
        sharding_without_partial(shardings_at(plan->shardings, plan->moved->sharding[tensor]));
    sharding_format(&lies, session->mesh, VIEW_OURS, out, NULL);
}

static bool same_sharding(Arena *arena, const Session *const *side, const int32_t *tensor)
{
    Buf text[STEP_SIDES] = {buf_new(arena), buf_new(arena)};
    for (int s = 0; s < STEP_SIDES; s++)
        put_sharding(side[s], tensor[s], &text[s]);
    return str_eq(buf_str(&text[0]), buf_str(&text[1]));
}

/* The gradient of a parameter in the file, by either name of the parameter; -1. */
static int32_t stated_gradient(const Graph *graph, int32_t parameter)
{
    const struct StatedStep *stated = graph->stated;
    for (int i = 0; i < stated->n_gradients; i++)
        if (graph->owner_of_name[stated->gradient[i].parameter] == parameter)
            return graph->owner_of_name[stated->gradient[i].gradient];
    return -1;
}

/* The tensor of that name in the file; else the one whose name ends so, in the module that computes
 * the loss of the model: "model.h.0.weight" of "h.0.weight". -1: none, or several. */
static int32_t same_parameter(Arena *arena, const Graph *stated, const char *name)
{
    int32_t found = graph_find_tensor(stated, str_from(name));
    if (found >= 0)
        return found;
    Str end = str_from(arena_printf(arena, ".%s", name));
    for (int i = 0; i < stated->stated->n_gradients; i++) {
        int32_t parameter = stated->stated->gradient[i].parameter;
        if (!str_ends(str_from(names_text(stated->names, parameter)), end))
            continue;
        int32_t tensor = stated->owner_of_name[parameter];
        if (found >= 0 && tensor != found)
            return -1;
        found = tensor;
    }
    return found;
}

static void add_gradient(Arena *arena, StepDiff *diff, const char *parameter, int32_t derived,
                         int32_t stated)
{
    StepDiffGradient row = {.parameter = parameter, .tensor = {derived, stated}};
    bool both = derived >= 0 && stated >= 0;
    row.other_shape =
        both && !same_shape(shape_of(diff->side[0], derived), shape_of(diff->side[1], stated));
    row.other_sharding = both && !same_sharding(arena, diff->side, row.tensor);
    diff->n_both += both;
    diff->n_only[STEP_DERIVED] += stated < 0;
    diff->n_only[STEP_STATED] += derived < 0;
    diff->same &= both && !row.other_shape;
    vec_push(arena, &diff->gradients, row);
}

static void match_gradients(Arena *arena, StepDiff *diff)
{
    const Graph *derived = diff->side[STEP_DERIVED]->graph,
                *stated = diff->side[STEP_STATED]->graph;
    bool *taken = arena_array(arena, bool, stated->n_tensors);
    for (int32_t t = 0; t < derived->n_tensors; t++) {
        const char *name = tensor_name(derived, t);
        if (derived->tensors[t].kind != TENSOR_INITIALIZER)
            continue;
        int32_t made = graph_find_tensor(derived, str_from(arena_printf(arena, "%s~grad", name)));
        int32_t other = same_parameter(arena, stated, name);
        for (int i = 0; i < derived->n_also && other < 0; i++)
            if (derived->also[i].tensor == t)
                other = same_parameter(arena, stated,
                                       names_text(derived->names, derived->also[i].name));
        int32_t gradient = other < 0 ? -1 : stated_gradient(stated, other);
        if (made < 0 && gradient < 0)
            continue;
        if (gradient >= 0)
            taken[other] = true;
        add_gradient(arena, diff, name, made, gradient);
    }
    for (int i = 0; i < stated->stated->n_gradients; i++) {
        int32_t of = stated->owner_of_name[stated->stated->gradient[i].parameter];
        if (of < 0 || taken[of])
            continue;
        taken[of] = true;
        add_gradient(arena, diff, tensor_name(stated, of), -1, stated_gradient(stated, of));
    }
}

/* ---- ops ---- */

static StepDiffOps *ops_row(Arena *arena, StepDiff *diff, Phase phase, const char *operator)
{
    for (int i = 0; i < diff->ops.n; i++)
        if (diff->ops.at[i].phase == phase && strcmp(diff->ops.at[i].operator, operator) == 0)
            return &diff->ops.at[i];
    StepDiffOps row = {.phase = phase, .operator= operator};
    vec_push(arena, &diff->ops, row);
    return &diff->ops.at[diff->ops.n - 1];
}

static void count_ops(Arena *arena, StepDiff *diff, int s)
{
    const Inferred *inferred = diff->side[s]->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        Phase phase = op_phase(inferred->graph, op);
        double n = inferred_repeat(inferred, op);
        ops_row(arena, diff, phase, op_operator(inferred->graph, op))->n[s] += n;
        diff->flops[s][phase] += n * program_space(inferred, op)->flops;
        diff->updates |= s == STEP_STATED && phase == PHASE_UPDATE;
    }
}

static int by_phase(const void *a, const void *b)
{
    const StepDiffOps *x = a, *y = b;
    return x->phase != y->phase ? (int)x->phase - (int)y->phase : strcmp(x->operator, y->operator);
}

/* ---- collectives ---- */

static StepDiffComm *comm_row(Arena *arena, StepDiff *diff, CommPass pass, StepKind kind,
                              const char *axes)
{
    for (int i = 0; i < diff->comm.n; i++) {
        StepDiffComm *row = &diff->comm.at[i];
        if (row->pass == pass && row->kind == kind && strcmp(row->axes, axes) == 0)
            return row;
    }
    StepDiffComm row = {.pass = pass, .kind = kind, .axes = axes};
    vec_push(arena, &diff->comm, row);
    return &diff->comm.at[diff->comm.n - 1];
}

/* Without an update in the file gradients are reduced where they are made, there and here. */
static CommPass pass_of(const StepDiff *diff, const Session *session, const Reshard *reshard)
{
    CommPass pass = reshard_pass(session->plan, reshard);
    const int32_t *of = session->graph->gradient_of;
    bool gradient = of && of[reshard->tensor] >= 0;
    return pass == COMM_UPDATE && gradient && !diff->updates ? COMM_BACKWARD : pass;
}

static void count_collectives(Arena *arena, StepDiff *diff, int s)
{
    const Session *session = diff->side[s];
    for (int r = 0; r < session->plan->moved->n_reshards; r++) {
        const Reshard *reshard = &session->plan->moved->reshards[r];
        CommPass pass = pass_of(diff, session, reshard);
        double n = reshard_repeat(session->plan, reshard);
        for (int i = 0; i < reshard->path->n_steps; i++) {
            const Step *step = &reshard->path->step[i];
            Buf axes = buf_new(arena);
            if (step->wire_bytes == 0)
                continue; /* a slice */
            mesh_format_set(session->mesh, step->atoms, "+", &axes);
            StepDiffComm *row = comm_row(arena, diff, pass, step->kind, axes.s);
            row->n[s] += n;
            row->bytes[s] += n * (double)step->bytes;
        }
    }
}

static int by_pass(const void *a, const void *b)
{
    const StepDiffComm *x = a, *y = b;
    if (x->pass != y->pass)
        return (int)x->pass - (int)y->pass;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->axes, y->axes);
}

StepDiff *step_diff(Arena *arena, const Session *derived, const Session *stated)
{
    StepDiff *diff = arena_make(arena, StepDiff);
    diff->side[STEP_DERIVED] = derived;
    diff->side[STEP_STATED] = stated;
    diff->same = true;
    match_gradients(arena, diff);
    for (int s = 0; s < STEP_SIDES; s++)
        count_ops(arena, diff, s);
    for (int s = 0; s < STEP_SIDES; s++)
        count_collectives(arena, diff, s);
    if (diff->ops.n > 0)
        qsort(diff->ops.at, (size_t)diff->ops.n, sizeof *diff->ops.at, by_phase);
    if (diff->comm.n > 0)
        qsort(diff->comm.at, (size_t)diff->comm.n, sizeof *diff->comm.at, by_pass);
    for (int i = 0; i < diff->comm.n; i++) {
        const StepDiffComm *row = &diff->comm.at[i];
        if (row->pass != COMM_UPDATE || diff->updates)
            diff->same &= row->n[STEP_DERIVED] == row->n[STEP_STATED];
    }
    return diff;
}

/* ---- as text ---- */

static Table *table_of_sides(Arena *arena, const char *first, const char *second)
{
    TableColumn columns[4] = {{first, 0}};
    int n = 1;
    if (second)
        columns[n++] = (TableColumn){second, 0};
    columns[n++] = (TableColumn){"DERIVED", 0};
    columns[n++] = (TableColumn){"IN THE FILE", 0};
    return table_new(arena, columns, n);
}

static void put_gradients(Arena *arena, const StepDiff *diff, Buf *out)
{
    int n_other = 0;
    buf_printf(out, "gradients  %d of both, %d derived alone, %d in the file alone\n\n",
               diff->n_both, diff->n_only[STEP_DERIVED], diff->n_only[STEP_STATED]);
    Table *table = table_of_sides(arena, "GRADIENT OF", NULL);
    for (int i = 0; i < diff->gradients.n; i++) {
        const StepDiffGradient *row = &diff->gradients.at[i];
        bool both = row->tensor[0] >= 0 && row->tensor[1] >= 0;
        if (both && !row->other_shape && !row->other_sharding)
            continue;
        n_other++;
        table_cell(table, str_from(row->parameter));
        for (int s = 0; s < STEP_SIDES; s++) {
            Buf text = buf_new(arena);
            put_sharding(diff->side[s], row->tensor[s], &text);
            table_cell(table, buf_str(&text));
        }
    }
    if (n_other == 0)
        return;
    table_format(table, "", out);
    buf_putc(out, '\n');
}

static void put_ops(Arena *arena, const StepDiff *diff, Buf *out)
{
    Table *table = table_of_sides(arena, "PHASE", "OPERATOR");
    for (int i = 0, phase = -1; i < diff->ops.n; i++) {
        const StepDiffOps *row = &diff->ops.at[i];
        if ((int)row->phase != phase) {
            phase = (int)row->phase;
            table_cell(table, str_from(phase_name(row->phase)));
            table_cell(table, STR("FLOPs"));
            for (int s = 0; s < STEP_SIDES; s++) {
                Buf text = buf_new(arena);
                units_format_flops(diff->flops[s][phase], &text);
                table_cell(table, buf_str(&text));
            }
        }
        if (row->n[0] == row->n[1])
            continue;
        table_cell(table, STR(""));
        table_cell(table, str_from(row->operator));
        for (int s = 0; s < STEP_SIDES; s++)
            table_printf(table, "%.10g", row->n[s]);
    }
    table_format(table, "", out);
    buf_putc(out, '\n');
}

static void put_collectives(Arena *arena, const StepDiff *diff, Buf *out)
{
    Table *table = table_of_sides(arena, "PASS", "COLLECTIVE");
    for (int i = 0; i < diff->comm.n; i++) {
        const StepDiffComm *row = &diff->comm.at[i];
        table_cell(table, str_from(comm_pass_name(row->pass)));
        table_printf(table, "%s over %s", step_kind_name(row->kind), row->axes);
        for (int s = 0; s < STEP_SIDES; s++) {
            Buf text = buf_new(arena);
            buf_printf(&text, "%.10g", row->n[s]);
            if (row->n[s] > 0) {
                buf_puts(&text, ", ");
                units_format_bytes((int64_t)row->bytes[s], &text);
            }
            table_cell(table, buf_str(&text));
        }
    }
    if (diff->comm.n == 0)
        return;
    table_format(table, "", out);
    buf_putc(out, '\n');
}

static void put_totals(Arena *arena, const StepDiff *diff, Buf *out)
{
    Table *table = table_of_sides(arena, "TOTALS", NULL);
    static const char *const names[] = {"compute", "collectives", "moved", "peak"};
    for (int i = 0; i < 4; i++) {
        table_cell(table, str_from(names[i]));
        for (int s = 0; s < STEP_SIDES; s++) {
            const Totals *totals = &diff->side[s]->plan->priced->totals;
            Buf text = buf_new(arena);
            if (i < 2)
                units_format_us(i == 0 ? totals->compute_us : totals->comm_us, &text);
            else
                units_format_bytes(i == 2 ? totals->comm_bytes : totals->peak_bytes, &text);
            table_cell(table, buf_str(&text));
        }
    }
    table_format(table, "", out);
}

void step_diff_format(const StepDiff *diff, Buf *out)
{
    Arena *arena = arena_new();
    put_gradients(arena, diff, out);
    put_ops(arena, diff, out);
    if (!diff->updates)
        buf_puts(out, "The file holds no update: what the derived step updates is left out of "
                      "the comparison.\n\n");
    put_collectives(arena, diff, out);
    put_totals(arena, diff, out);
    arena_free(arena);
}

/* ---- as JSON ---- */

static Json *pair_json(const double *value)
{
    Json *out = json_array();
    for (int s = 0; s < STEP_SIDES; s++)
        json_add(out, json_from_real(value[s]));
    return out;
}

static Json *gradients_json(const StepDiff *diff)
{
    Json *out = json_array();
    for (int i = 0; i < diff->gradients.n; i++) {
        const StepDiffGradient *row = &diff->gradients.at[i];
        Json *json = json_object();
        json_set_str(json, "parameter", row->parameter);
        json_set(json, "derived", json_from_bool(row->tensor[STEP_DERIVED] >= 0));
        json_set(json, "stated", json_from_bool(row->tensor[STEP_STATED] >= 0));
        json_set(json, "same_shape", json_from_bool(!row->other_shape));
        json_set(json, "same_sharding", json_from_bool(!row->other_sharding));
        json_add(out, json);
    }
    return out;
}

/* Values of two: derived, in the file. */
Json *step_diff_json(const StepDiff *diff)
{
    Json *out = json_object(), *ops = json_array(), *comm = json_array(), *flops = json_object();
    json_set(out, "gradients", gradients_json(diff));
    for (int i = 0; i < diff->ops.n; i++) {
        Json *row = json_object();
        json_set_str(row, "phase", phase_name(diff->ops.at[i].phase));
        json_set_str(row, "operator", diff->ops.at[i].operator);
        json_set(row, "n", pair_json(diff->ops.at[i].n));
        json_add(ops, row);
    }
    for (int i = 0; i < diff->comm.n; i++) {
        Json *row = json_object();
        json_set_str(row, "pass", comm_pass_name(diff->comm.at[i].pass));
        json_set_str(row, "kind", step_kind_name(diff->comm.at[i].kind));
        json_set_str(row, "axes", diff->comm.at[i].axes);
        json_set(row, "n", pair_json(diff->comm.at[i].n));
        json_set(row, "bytes", pair_json(diff->comm.at[i].bytes));
        json_add(comm, row);
    }
    for (int phase = 0; phase <= PHASE_UPDATE; phase++)
        json_set(flops, phase_name((Phase)phase),
                 pair_json((double[]){diff->flops[STEP_DERIVED][phase],
                                      diff->flops[STEP_STATED][phase]}));
    json_set(out, "ops", ops);
    json_set(out, "collectives", comm);
    json_set(out, "flops", flops);
    json_set(out, "same", json_from_bool(diff->same));
    return out;
}
