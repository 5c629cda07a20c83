/* run_report.c - what a run came to, in JSON and in words. */
#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/run/block_sums.h"
#include "core/run/rounding.h"
#include "core/summary/label.h"
#include "tui/cli/run.h"
#include "core/base/table.h"
#include "tui/views/run_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOWEST = 10, NAME_MOST = 50 };

static Json *outputs_json(const Session *session, const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < report->n_outputs; i++) {
        const RunOutput *output = &report->outputs[i];
        char bits[17];
        Json *row = json_object();
        json_set_str(row, "name", tensor_name(session->graph, output->tensor));
        json_set_real(row, "max_abs", output->max_abs);
        json_set_real(row, "max_rel", output->max_rel);
        json_set_int(row, "max_ulp", output->max_ulp);
        snprintf(bits, sizeof bits, "%016" PRIx64, output->bits);
        json_set_str(row, "bits", bits);
        json_set_bool(row, "ok", output->ok);
        json_add(out, row);
    }
    return out;
}

/* All that a pass runs of it. */
static double predicted_op_us(const Session *session, const RunReport *report, int32_t op)
{
    return session->plan->priced->op_us[op] * report->op_times[op];
}

static double predicted_reshard_us(const Session *session, const RunReport *report, int i)
{
    const Reshard *reshard = &session->plan->moved->reshards[i];
    return reshard->path->us * reshard_repeat(session->plan, reshard) * report->reshard_times[i];
}

static Json *ops_json(const Session *session, const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < session->inferred->n_program; i++) {
        int32_t op = session->inferred->program[i];
        Json *row = json_object();
        json_set_str(row, "name", op_name(session->graph, op));
        json_set_real(row, "us", report->op_us[op]);
        json_set_real(row, "predicted_us", predicted_op_us(session, report, op));
        json_set_real(row, "times", report->op_times[op]);
        json_add(out, row);
    }
    return out;
}

static Str steps_of(const Session *session, Arena *arena, const Reshard *reshard)
{
    Buf steps = buf_new(arena);
    reshard_format_steps(reshard->path, session->mesh, &steps);
    return buf_str(&steps);
}

static Json *reshards_json(const Session *session, const RunReport *report)
{
    Arena *arena = arena_new();
    Json *out = json_array();
    for (int i = 0; i < session->plan->moved->n_reshards; i++) {
        const Reshard *reshard = &session->plan->moved->reshards[i];
        Json *row = json_object();
        json_set_str(row, "tensor", tensor_name(session->graph, reshard->tensor));
        json_set(row, "steps", json_from_str(steps_of(session, arena, reshard)));
        json_set_real(row, "us", report->reshard_us[i]);
        json_set_real(row, "move_us", report->reshard_move_us[i]);
        json_set_real(row, "predicted_us", predicted_reshard_us(session, report, i));
        json_set_real(row, "times", report->reshard_times[i]);
        json_add(out, row);
    }
    arena_free(arena);
    return out;
}

/* An element of a value, with the bound of its difference. */
static Json *element_json(const Session *session, const RunElement *element)
{
    Json *out = json_object();
    int32_t maker = element->moved ? -1 : session->graph->tensors[element->tensor].maker;
    json_set_str(out, "tensor", tensor_name(session->graph, element->tensor));
    json_set(out, "op",
             maker < 0 ? json_null() : json_from_str(str_from(op_name(session->graph, maker))));
    json_set_int(out, "rank", element->rank);
    json_set(out, "at",
             element->at.n_dims < 0 ? json_null()
                                    : json_ints(element->at.dim, (int)element->at.n_dims));
    json_set_real(out, "got", element->got);
    json_set_real(out, "want", element->want);
    json_set_real(out, "bound", element->bound);
    json_set_str(out, "rounding", rounding_name((Rounding)element->rounding));
    return out;
}

static Json *copied_json(const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < report->n_copied_operators; i++)
        json_add(out, json_from_str(str_from(report->copied_operator[i])));
    return out;
}

static Json *steps_json(const Session *session, const RunReport *report)
{
    Json *out = json_array();
    bool compared = report->n_outputs > 0;
    for (int i = 0; i < report->n_steps; i++) {
        const RunStep *step = &report->steps[i];
        Json *row = json_object();
        json_set(row, "loss", step->has_loss ? json_from_real(step->loss) : json_null());
        if (compared) {
            json_set_real(row, "one_device", step->one_device);
            json_set_real(row, "drift", step->drift);
            json_set(row, "drifts_most",
                     step->drifts < 0
                         ? json_null()
                         : json_from_str(str_from(tensor_name(session->graph, step->drifts))));
        }
        if (step->scale > 0) {
            json_set_real(row, "loss_scale", step->scale);
            json_set_bool(row, "skipped", step->skipped);
        }
        json_set_real(row, "us", step->us);
        json_add(out, row);
    }
    return out;
}

static Json *blocks_json(const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < report->n_blocks; i++) {
        const RunBlock *block = &report->blocks[i];
        Json *row = json_object();
        json_set_str(row, "pass", run_pass_name(block->of.pass));
        json_set_int(row, "stage", block->of.stage);
        json_set(row, "micro_batch",
                 block->of.micro_batch < 0 ? json_null() : json_from_int(block->of.micro_batch));
        json_set_real(row, "us", block->us);
        json_set_real(row, "wait_us", block->wait_us);
        json_set_real(row, "predicted_us", block->of.predicted_us);
        json_add(out, row);
    }
    return out;
}

Json *run_report_json(const Session *session, const RunReport *report)
{
    Json *out = json_object();
    json_set_int(out, "ranks", report->n_ranks);
    json_set_str(out, "backend", report->backend);
    json_set(out, "outputs", outputs_json(session, report));
    if (report->n_steps > 0)
        json_set(out, "steps", steps_json(session, report));
    json_set_real(out, "median_us", report->median_us);
    json_set_real(out, "begin_us", report->begin_us);
    json_set_int(out, "passes", report->n_timed);
    json_set_int(out, "peak_bytes", report->peak_bytes);
    json_set(out, "rank_peak_bytes", json_ints(report->rank_peak_bytes, report->n_ranks));
    json_set_real(out, "predicted_us", report->predicted_us);
    json_set_int(out, "predicted_peak_bytes", report->predicted_peak_bytes);
    json_set_bool(out, "predicted_peak_at_least", report->predicted_peak_at_least);
    json_set_int(out, "values_checked", report->n_values_checked);
    json_set(out, "first_bad",
             report->first_bad < 0
                 ? json_null()
                 : json_from_str(str_from(tensor_name(session->graph, report->first_bad))));
    json_set(out, "wrong",
             report->first_bad < 0 ? json_null() : element_json(session, &report->wrong));
    json_set(out, "overflow",
             report->overflowed < 0 ? json_null() : element_json(session, &report->overflow));
    json_set_real(out, "closest", report->closest);
    json_set(out, "closest_at",
             report->closest > 0 ? element_json(session, &report->close) : json_null());
    json_set_int(out, "values_unchecked", report->n_values_unchecked);
    json_set(out, "unproven",
             report->unproven < 0
                 ? json_null()
                 : json_from_str(str_from(tensor_name(session->graph, report->unproven))));
    json_set_str(out, "verdict", run_verdict_name(report->verdict));
    json_set_int(out, "weights_drawn", report->n_drawn);
    json_set_int(out, "not_finite", report->n_strange);
    json_set_int(out, "copied_ops", report->n_copied_ops);
    json_set(out, "copied_operators", copied_json(report));
    json_set(out, "instead",
             report->instead ? json_from_str(str_from(report->instead)) : json_null());
    json_set_bool(out, "ok", report->ok);
    if (report->n_blocks > 0)
        json_set(out, "blocks", blocks_json(report));
    json_set(out, "ops", ops_json(session, report));
    json_set(out, "reshards", reshards_json(session, report));
    return out;
}

double run_shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* The first steps and the last ones. */
static void steps_text(const Session *session, const RunReport *report, Buf *out)
{
    enum { ENDS = 5 };
    bool compared = report->n_outputs > 0;
    const TableColumn columns[] = {{"STEP", -6},        {"LOSS", -12},      {"TIME", -10},
                                   {"ONE DEVICE", -12}, {"DRIFT REL", -10}, {"OF", 0}};
    Table *table = table_new(out->arena, columns, compared ? 6 : 3);
    for (int i = 0; i < report->n_steps; i++) {
        const RunStep *step = &report->steps[i];
        if (i >= ENDS && i < report->n_steps - ENDS)
            continue;
        Buf us = buf_new(out->arena);
        units_format_us(step->us, &us);
        table_printf(table, "%d", i + 1);
        table_printf(table, step->has_loss ? "%.6g" : "-", run_shown(step->loss));
        table_cell(table, buf_str(&us));
        if (!compared)
            continue;
        table_printf(table, "%.6g", run_shown(step->one_device));
        table_printf(table, "%.2g", step->drift);
        table_name(table, 0,
                   step->drifts < 0 ? STR("-")
                                    : str_from(tensor_name(session->graph, step->drifts)),
                   NAME_MOST);
    }
    if (report->n_steps > 0)
        table_format(table, "", out);
    if (report->n_steps > 0)
        buf_putc(out, '\n');
}

static void outputs_text(const Session *session, const RunReport *report, Buf *out)
{
    static const TableColumn columns[] = {
        {"OUTPUT", 0}, {"DRIFT ABS", -12}, {"DRIFT REL", -12}, {"DRIFT ULP", -20}};
    Table *table = table_new(out->arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < report->n_outputs; i++) {
        const RunOutput *output = &report->outputs[i];
        table_cell(table, str_from(tensor_name(session->graph, output->tensor)));
        table_printf(table, "%.3g", output->max_abs);
        table_printf(table, "%.3g", output->max_rel);
        if (output->max_ulp == INT64_MAX)
            table_cell(table, STR("not a number"));
        else
            table_printf(table, "%" PRId64, output->max_ulp);
    }
    if (report->n_outputs > 0)
        table_format(table, "", out);
}

/* Something with a time, and what the plan says of it. */
typedef struct {
    Str name, kind;
    double us, predicted_us;
} Timed;

static int by_time(const void *a, const void *b)
{
    const Timed *x = a, *y = b;
    return (x->us < y->us) - (x->us > y->us);
}

static void slowest_text(const char *title, const char *kind, Timed *times, int n, Buf *out)
{
    const TableColumn columns[] = {{title, 0}, {kind, 0}, {"TIME", -10}, {"PREDICTED", -10}};
    Table *table = table_new(out->arena, columns, sizeof columns / sizeof *columns);
    if (n == 0)
        return;
    qsort(times, (size_t)n, sizeof *times, by_time);
    for (int i = 0; i < n && i < SLOWEST && times[i].us > 0; i++) {
        Buf us = buf_new(out->arena), predicted = buf_new(out->arena);
        units_format_us(times[i].us, &us);
        units_format_us(times[i].predicted_us, &predicted);
        table_name(table, 0, times[i].name, NAME_MOST);
        table_cell(table, times[i].kind);
        table_cell(table, buf_str(&us));
        table_cell(table, buf_str(&predicted));
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static void slowest_ops(const Session *session, const RunReport *report, Buf *out)
{
    const Inferred *inferred = session->inferred;
    Timed *times = arena_array(out->arena, Timed, inferred->n_program);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        times[i] =
            (Timed){label_op(session, out->arena, op), str_from(label_operator(session->graph, op)),
                    report->op_us[op], predicted_op_us(session, report, op)};
    }
    slowest_text("SLOWEST OPS", "OP", times, inferred->n_program, out);
}

static void slowest_reshards(const Session *session, const RunReport *report, Buf *out)
{
    const Plan *plan = session->plan;
    Timed *times = arena_array(out->arena, Timed, plan->moved->n_reshards);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        times[i] = (Timed){label_tensor(session, out->arena, reshard->tensor),
                           steps_of(session, out->arena, reshard), report->reshard_us[i],
                           predicted_reshard_us(session, report, i)};
    }
    slowest_text("SLOWEST RESHARDS", "STEPS", times, plan->moved->n_reshards, out);
}

static void table_us(Table *table, Arena *arena, double us)
{
    Buf text = buf_new(arena);
    units_format_us(us, &text);
    table_cell(table, buf_str(&text));
}

/* Of one micro-batch in the mean. */
static void blocks_text(const RunReport *report, Buf *out)
{
    static const TableColumn columns[] = {{"BLOCK", 0},
                                          {"TIMES", -6},
                                          {"TIME", -10},
                                          {"PREDICTED", -10},
                                          {"MEASURED/PREDICTED", -18},
                                          {"WAITS", -10}};
    Table *table = table_new(out->arena, columns, sizeof columns / sizeof *columns);
    RunBlockSums sums = run_block_sums(out->arena, report);
    for (int i = 0; i < sums.n; i++) {
        const RunBlockSum *sum = &sums.at[i];
        table_printf(table, sums.n_stages > 1 ? "%s of stage %d" : "%s", run_pass_name(sum->pass),
                     sum->stage);
        table_printf(table, "%d", sum->n);
        table_us(table, out->arena, sum->us);
        table_us(table, out->arena, sum->predicted_us);
        table_printf(table, sum->predicted_us > 0 ? "%.2f" : "-", sum->us / sum->predicted_us);
        table_us(table, out->arena, sum->wait_us);
    }
    if (report->n_blocks == 0)
        return;
    buf_putc(out, '\n');
    table_format(table, "", out);
}

/* "note: gradients of 2 of 9 steps, 1 3, are not finite: .." */
static void skipped_text(const RunReport *report, Buf *out)
{
    enum { NAMED_MOST = 8 };
    Buf steps = buf_new(out->arena);
    int n = 0;
    for (int i = 0; i < report->n_steps; i++) {
        if (!report->steps[i].skipped)
            continue;
        if (n++ < NAMED_MOST)
            buf_printf(&steps, "%s%d", n > 1 ? ", " : "", i + 1);
    }
    if (n == 0)
        return;
    buf_printf(
        out,
        "note: gradients of step%s %s%s are not finite: parameters stay, and each halves the "
        "loss scale, now %g\n",
        n > 1 ? "s" : "", steps.s, n > NAMED_MOST ? ", .." : "",
        report->steps[report->n_steps - 1].scale);
}

static void overflow_text(const Session *session, const RunElement *element, Buf *out)
{
    bool ranks = !isfinite(element->got);
    Buf rank = buf_new(out->arena);
    buf_printf(&rank, "d%" PRId64, mesh_device(session->mesh, element->rank));
    buf_puts(out, "note: ");
    run_put_place(element, out);
    buf_printf(
        out,
        " of %s overflows f16 on %s but not on %s, from the same inputs: when only one of them "
        "skips a step, their losses differ from then on\n",
        tensor_name(session->graph, element->tensor), ranks ? rank.s : "one device",
        ranks ? "one device" : rank.s);
}

static void notes_text(const Session *session, const RunReport *report, Buf *out)
{
    skipped_text(report, out);
    if (report->overflowed >= 0)
        overflow_text(session, &report->overflow, out);
    for (int i = 0; i < report->n_steps; i++)
        if (report->steps[i].has_loss && !isfinite(report->steps[i].loss)) {
            buf_printf(out, "note: the loss of step %d is not finite\n", i + 1);
            break;
        }
    if (report->strange >= 0)
        buf_printf(out, "note: %" PRId64 " element%s of output '%s' %s not finite on one rank\n",
                   report->n_strange, report->n_strange == 1 ? "" : "s",
                   tensor_name(session->graph, report->strange),
                   report->n_strange == 1 ? "is" : "are");
    if (report->n_drawn > 0)
        buf_printf(out, "note: %d weight%s not in the model: %s drawn\n", report->n_drawn,
                   report->n_drawn == 1 ? " is" : "s are",
                   report->n_drawn == 1 ? "its numbers are" : "their numbers are");
    if (report->n_copied_ops > 0) {
        buf_puts(out, "note: ");
        run_put_copied(report, out);
        buf_putc(out, '\n');
    }
    if (report->instead)
        buf_printf(out, "note: on the host, because %s\n", report->instead);
}

void run_report_text(const Session *session, const RunReport *report, Buf *out)
{
    buf_printf(out, "%d rank%s on the %s  step ", report->n_ranks, report->n_ranks == 1 ? "" : "s",
               report->backend);
    units_format_us(report->median_us, out);
    buf_puts(out, "  peak ");
    units_format_bytes(report->peak_bytes, out);
    buf_printf(out, "; predicted for %s: ", session->machine->name);
    units_format_us(report->predicted_us, out);
    buf_puts(out, report->predicted_peak_at_least ? ", at least " : ", ");
    units_format_bytes(report->predicted_peak_bytes, out);
    buf_putc(out, '\n');
    if (report->verdict != RUN_NOT_CHECKED) {
        run_put_verdict(session, report, out);
        buf_putc(out, '\n');
    }
    notes_text(session, report, out);
    steps_text(session, report, out);
    outputs_text(session, report, out);
    blocks_text(report, out);
    slowest_ops(session, report, out);
    slowest_reshards(session, report, out);
}
