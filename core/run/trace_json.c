/* trace_json.c - the plan along time as Chrome's trace events, which Perfetto opens.
 *
 * Process 0 is the plan: thread 0 its ops, thread 1 its reshards; where ops run on parts of the
 * mesh, thread 2n and 2n+1 those of the n-th part. Process 1 is the run: of each device thread 2n
 * does ops and 2n+1 collectives. Process 2 is the schedule of a plan with stages, a thread a lane
 * of devices that do the same. Times are microseconds. A flow leads from the op that makes a value
 * to its reshard. Names are those of the screens, so that two traces compare.
 */
#include "core/run/trace_json.h"

#include "core/base/json.h"
#include "core/plan/stage.h"
#include "core/plan/comm.h"
#include "core/plan/label.h"

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Graph *graph;
} Tracing;

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

static Str span_name(const Tracing *t, int32_t op, int32_t reshard)
{
    Buf text = buf_new(t->arena);

    if (op >= 0)
        return label_op(t->session, t->arena, op);
    const Reshard *moved = &t->plan->reshards[reshard];
    reshard_format_steps(moved->path, t->session->mesh, &text);
    buf_putc(&text, ' ');
    buf_add(&text, label_tensor(t->session, t->arena, moved->tensor));
    return buf_str(&text);
}

static Json *span_args(const Tracing *t, int32_t op, int32_t reshard)
{
    Json *args = json_object();
    Buf cause = buf_new(t->arena);

    if (op >= 0) {
        json_set_str(args, "op", op_name(t->graph, op));
        json_set_str(args, "operator", op_operator(t->graph, op));
        return args;
    }
    const Reshard *moved = &t->plan->reshards[reshard];
    int64_t bytes = 0;
    for (int s = 0; s < moved->path->n_steps; s++)
        bytes += moved->path->step[s].bytes;
    json_set_str(args, "tensor", tensor_name(t->graph, moved->tensor));
    json_set_int(args, "bytes", bytes);
    const Decision *pin = t->session->inferred->n_program <= FOLDED_OPS_MAX
                              ? comm_cause(t->arena, t->session, moved)
                              : NULL;
    if (pin)
        label_origin(&pin->origin, &cause);
    json_set(args, "why", json_from_str(pin ? buf_str(&cause) : STR("")));
    return args;
}

static void add_span(const Tracing *t, Json *events, int pid, int64_t tid, double start, double us,
                     int32_t op, int32_t reshard)
{
    Json *out = event("X", pid, tid, start);

    json_set_real(out, "dur", us);
    json_set(out, "name", json_from_str(span_name(t, op, reshard)));
    json_set_str(out, "cat", op >= 0 ? "op" : "reshard");
    json_set(out, "args", span_args(t, op, reshard));
    json_add(events, out);
}

/* The threads of the n-th part that ops run on. */
static void name_part(const Tracing *t, Json *events, int n, int16_t devices)
{
    Buf part = buf_new(t->arena);

    submesh_format(t->session->mesh, t->plan->submeshes[devices], &part);
    const char *space = part.n > 0 ? " " : "";
    add_name(events, "thread_name", 0, 2 * n,
             arena_printf(t->arena, "%.*s%sops", STR_ARG(buf_str(&part)), space));
    add_name(events, "thread_name", 0, 2 * n + 1,
             arena_printf(t->arena, "%.*s%sreshards", STR_ARG(buf_str(&part)), space));
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

static void add_plan(const Tracing *t, const Timeline *line, Json *events)
{
    double *ends = arena_array(t->arena, double, t->graph->n_ops);
    int *threads = arena_array(t->arena, int, t->graph->n_ops);

    add_name(events, "process_name", 0, 0, "plan, predicted");
    for (int n = 0; n < line->n_parts; n++)
        name_part(t, events, n, line->part[n]);
    for (int i = 0; i < line->n; i++) {
        const TimeSpan *span = &line->span[i];
        int thread = 2 * span->part + (span->op < 0);
        add_span(t, events, 0, thread, span->start_us, span->us, span->op, span->reshard);
        if (span->op >= 0) {
            ends[span->op] = span->start_us + span->us;
            threads[span->op] = thread;
            continue;
        }
        int32_t tensor = t->plan->reshards[span->reshard].tensor;
        int32_t maker = t->graph->tensors[tensor].maker;
        if (maker < 0 || ends[maker] <= 0)
            continue;
        add_flow(events, "s", threads[maker], ends[maker], span->reshard);
        add_flow(events, "f", thread, span->start_us, span->reshard);
    }
}

static void add_run(const Tracing *t, const Trace *trace, Json *events)
{
    add_name(events, "process_name", 1, 0, "run, measured");
    for (int r = 0; r < trace->n_ranks; r++) {
        int64_t device = mesh_device(t->session->mesh, r);
        add_name(events, "thread_name", 1, 2 * device,
                 arena_printf(t->arena, "d%lld ops", (long long)device));
        add_name(events, "thread_name", 1, 2 * device + 1,
                 arena_printf(t->arena, "d%lld collectives", (long long)device));
        for (int i = 0; i < trace->n; i++) {
            const TraceSpan *span = trace_span(trace, r, i);
            const TraceWork *work = &trace->work[i];
            add_span(t, events, 1, 2 * device + (work->op < 0), span->start_us,
                     span->end_us - span->start_us, work->op, work->reshard);
        }
    }
}

/* A block on each of its lanes. */
static void add_block(const Tracing *t, const Block *block, Json *events)
{
    const Lanes *lanes = t->plan->stages->lanes;

    for (int32_t i = lanes->first[block->stage]; i < lanes->first[block->stage + 1]; i++) {
        Json *out = event("X", 2, lanes->lane[i], block->start_us), *args = json_object();
        const char *pass = block->backward ? "backward" : "forward";
        json_set_real(out, "dur", block->end_us - block->start_us);
        json_set_str(out, "name", arena_printf(t->arena, "%s %d", pass, block->micro_batch));
        json_set_str(out, "cat", pass);
        json_set_int(args, "stage", block->stage);
        json_set_int(args, "micro_batch", block->micro_batch);
        json_set_int(args, "step", block->step);
        json_set(out, "args", args);
        json_add(events, out);
    }
}

static void add_schedule(const Tracing *t, Json *events)
{
    const Stages *stages = t->plan->stages;

    if (!stages || !stages->table)
        return;
    add_name(events, "process_name", 2, 0,
             arena_printf(t->arena, "schedule %s, predicted", stages->table->name));
    for (int lane = 0; lane < stages->lanes->n; lane++)
        add_name(events, "thread_name", 2, lane, arena_printf(t->arena, "lane %d", lane));
    for (int i = 0; i < stages->table->n_blocks; i++)
        add_block(t, &stages->table->block[i], events);
}

void trace_json_put(const Session *session, const Timeline *timeline, const Trace *trace, Buf *out)
{
    Tracing t = {out->arena, session, session->plan, session->graph};
    Json *root = json_object(), *events = json_array();

    add_plan(&t, timeline, events);
    if (trace)
        add_run(&t, trace, events);
    add_schedule(&t, events);
    json_set_str(root, "displayTimeUnit", "ms");
    json_set(root, "traceEvents", events);
    json_write(root, out);
    json_free(root);
}
