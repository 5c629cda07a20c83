/* trace_json.c - the plan along time as Chrome's trace events, which Perfetto opens.
 *
 * Process 0 is the plan: thread 0 its ops, thread 1 its reshards; where ops run on parts of the
 * mesh, thread 2n and 2n+1 those of the n-th part. Process 1 is the run: of each device thread 2n
 * does ops and 2n+1 collectives. Process 2 is the schedule of a plan with stages, a thread a lane
 * of devices that do the same. Times are microseconds. A flow leads from the op that makes a value
 * to its reshard. Names are those of the screens, so that two traces compare.
 */
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/stage.h"
#include "tui/views/label.h"
#include "tui/views/run_state.h"

static Json *event(const char *phase, int pid, int64_t tid, double us)
{
    Json *out = json_object();

    json_set_str(out, "ph", phase);
    json_set_int(out, "pid", pid);
    json_set_int(out, "tid", tid);
    json_set_real(out, "ts", us);
    return out;
}

static void add_name(Json *events, const char *what, int pid, int64_t tid, const char *name)
{
    Json *out = event("M", pid, tid, 0), *args = json_object();

    json_set_str(out, "name", what);
    json_set_str(args, "name", name);
    json_set(out, "args", args);
    json_add(events, out);
}

static Str span_name(const Ui *ui, int32_t op, int32_t reshard)
{
    Buf text = buf_new(ui->frame);

    if (op >= 0)
        return label_op(ui->session, ui->frame, op);
    const Reshard *moved = &ui_plan(ui)->reshards[reshard];
    reshard_format_steps(moved->path, ui->session->mesh, &text);
    buf_putc(&text, ' ');
    buf_add(&text, label_tensor(ui->session, ui->frame, moved->tensor));
    return buf_str(&text);
}

static Json *span_args(const Ui *ui, int32_t op, int32_t reshard)
{
    Json *args = json_object();
    Buf cause = buf_new(ui->frame);

    if (op >= 0) {
        json_set_str(args, "op", op_name(ui_graph(ui), op));
        json_set_str(args, "operator", op_operator(ui_graph(ui), op));
        return args;
    }
    const Reshard *moved = &ui_plan(ui)->reshards[reshard];
    int64_t bytes = 0;
    for (int s = 0; s < moved->path->n_steps; s++)
        bytes += moved->path->step[s].bytes;
    json_set_str(args, "tensor", tensor_name(ui_graph(ui), moved->tensor));
    json_set_int(args, "bytes", bytes);
    const Decision *pin = ui->session->inferred->n_program <= FOLDED_OPS_MAX
                              ? comm_cause(ui->frame, ui->session, moved)
                              : NULL;
    if (pin)
        label_origin(&pin->origin, &cause);
    json_set(args, "why", json_from_str(pin ? buf_str(&cause) : STR("")));
    return args;
}

static void add_span(const Ui *ui, Json *events, int pid, int64_t tid, double start, double us,
                     int32_t op, int32_t reshard)
{
    Json *out = event("X", pid, tid, start);

    json_set_real(out, "dur", us);
    json_set(out, "name", json_from_str(span_name(ui, op, reshard)));
    json_set_str(out, "cat", op >= 0 ? "op" : "reshard");
    json_set(out, "args", span_args(ui, op, reshard));
    json_add(events, out);
}

/* The threads of the n-th part that ops run on. */
static void name_part(const Ui *ui, Json *events, int n, int16_t devices)
{
    Buf part = buf_new(ui->frame);

    submesh_format(ui->session->mesh, ui_plan(ui)->submeshes[devices], &part);
    const char *space = part.n > 0 ? " " : "";
    add_name(events, "thread_name", 0, 2 * n,
             arena_printf(ui->frame, "%.*s%sops", STR_ARG(buf_str(&part)), space));
    add_name(events, "thread_name", 0, 2 * n + 1,
             arena_printf(ui->frame, "%.*s%sreshards", STR_ARG(buf_str(&part)), space));
}

static void add_flow(Json *events, const char *phase, int64_t tid, double us, int id)
{
    Json *out = event(phase, 0, tid, us);

    json_set_str(out, "name", "value");
    json_set_str(out, "cat", "flow");
    json_set_int(out, "id", id);
    if (*phase == 'f')
        json_set_str(out, "bp", "e");
    json_add(events, out);
}

static void add_plan(const Ui *ui, const Timeline *line, Json *events)
{
    double *ends = arena_array(ui->frame, double, ui_graph(ui)->n_ops);
    int *threads = arena_array(ui->frame, int, ui_graph(ui)->n_ops);

    add_name(events, "process_name", 0, 0, "plan, predicted");
    for (int n = 0; n < line->n_parts; n++)
        name_part(ui, events, n, line->part[n]);
    for (int i = 0; i < line->n; i++) {
        const TimeSpan *span = &line->span[i];
        int thread = 2 * span->part + (span->op < 0);
        add_span(ui, events, 0, thread, span->start_us, span->us, span->op, span->reshard);
        if (span->op >= 0) {
            ends[span->op] = span->start_us + span->us;
            threads[span->op] = thread;
            continue;
        }
        int32_t tensor = ui_plan(ui)->reshards[span->reshard].tensor;
        int32_t maker = ui_graph(ui)->tensors[tensor].maker;
        if (maker < 0 || ends[maker] <= 0)
            continue;
        add_flow(events, "s", threads[maker], ends[maker], span->reshard);
        add_flow(events, "f", thread, span->start_us, span->reshard);
    }
}

static void add_run(const Ui *ui, const Trace *trace, Json *events)
{
    add_name(events, "process_name", 1, 0, "run, measured on this host");
    for (int r = 0; r < trace->n_ranks; r++) {
        int64_t device = mesh_device(ui->session->mesh, r);
        add_name(events, "thread_name", 1, 2 * device,
                 arena_printf(ui->frame, "d%lld ops", (long long)device));
        add_name(events, "thread_name", 1, 2 * device + 1,
                 arena_printf(ui->frame, "d%lld collectives", (long long)device));
        for (int i = 0; i < trace->n; i++) {
            const TraceSpan *span = trace_span(trace, r, i);
            const TraceWork *work = &trace->work[i];
            add_span(ui, events, 1, 2 * device + (work->op < 0), span->start_us,
                     span->end_us - span->start_us, work->op, work->reshard);
        }
    }
}

/* A block on each of its lanes. */
static void add_block(const Ui *ui, const Block *block, Json *events)
{
    const Lanes *lanes = ui_plan(ui)->stages->lanes;

    for (int32_t i = lanes->first[block->stage]; i < lanes->first[block->stage + 1]; i++) {
        Json *out = event("X", 2, lanes->lane[i], block->start_us), *args = json_object();
        const char *pass = block->backward ? "backward" : "forward";
        json_set_real(out, "dur", block->end_us - block->start_us);
        json_set_str(out, "name", arena_printf(ui->frame, "%s %d", pass, block->micro_batch));
        json_set_str(out, "cat", pass);
        json_set_int(args, "stage", block->stage);
        json_set_int(args, "micro_batch", block->micro_batch);
        json_set_int(args, "step", block->step);
        json_set(out, "args", args);
        json_add(events, out);
    }
}

static void add_schedule(const Ui *ui, Json *events)
{
    const Stages *stages = ui_plan(ui)->stages;

    if (!stages || !stages->table)
        return;
    add_name(events, "process_name", 2, 0,
             arena_printf(ui->frame, "schedule %s, predicted", stages->table->name));
    for (int lane = 0; lane < stages->lanes->n; lane++)
        add_name(events, "thread_name", 2, lane, arena_printf(ui->frame, "lane %d", lane));
    for (int i = 0; i < stages->table->n_blocks; i++)
        add_block(ui, &stages->table->block[i], events);
}

void run_put_trace(Ui *ui, Buf *out)
{
    const RunState *run = run_state(ui);
    Json *root = json_object(), *events = json_array();

    add_plan(ui, run->timeline, events);
    if (run->arena && run->report.trace)
        add_run(ui, run->report.trace, events);
    add_schedule(ui, events);
    json_set_str(root, "displayTimeUnit", "ms");
    json_set(root, "traceEvents", events);
    json_write(root, out);
    json_free(root);
}

bool run_write_trace(Ui *ui, Str path, Error *err)
{
    Buf text = buf_new(ui->frame);
    const char *file = arena_str(ui->frame, path);

    if (path.n == 0)
        return error_set(err, "write the trace to which file? :trace FILE.json");
    run_put_trace(ui, &text);
    if (!file_write(file, buf_str(&text), err))
        return false;
    ui_say(ui, "wrote %s: open it in ui.perfetto.dev", file);
    return true;
}
