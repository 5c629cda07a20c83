#include "core/run/trace/trace_json.h"

#include "core/base/version.h"
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "core/summary/comm.h"
#include "core/cost/cost.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"
#include "core/session/planfile.h"
#include "core/plan/stage.h"
#include "core/run/trace/trace_blocks.h"
#include "core/run/trace/trace_event.h"
#include "core/run/trace/trace_modules.h"
#include "core/run/trace/trace_schedule.h"
#include "core/plan/plan_machine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PROCESS_PLAN, PROCESS_RUN, PROCESS_SCHEDULE, PROCESS_BLOCKS };

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Graph *graph;
    Json *events;
    bool explains;      /* the plan is small enough for causes */
    const char **cause; /* per reshard: its cause; NULL: not computed yet */
    int32_t *place;     /* per op: index in the program */
} Tracing;

/* ---- slices ---- */

/* A slice and the work it shows. */
typedef struct {
    TraceSlice at;
    int32_t op, reshard; /* one of them; -1 */
    const Step *step;    /* step of a run; NULL: all steps of the reshard */
    int part;            /* sub-mesh in a plan */
    double us, wait_us;
    int32_t out, in; /* first flow, -1 */
} Did;

/* The slices of a device, or of the plan, by time. */
typedef struct {
    int n;
    Did *did;
    int32_t *of_op;        /* per op: place in did, -1 */
    int32_t *first, *last; /* per reshard: the same of its steps */
} Track;

typedef struct {
    int64_t id;
    int32_t next_out, next_in; /* of the same slice, -1 */
} TraceFlow;

typedef struct {
    int n_tracks;
    Track *track;
    Vec(TraceFlow) flows;
} Tracks;

static int by_start(const void *a, const void *b)
{
    const Did *x = a, *y = b;

    if (x->at.start_ns != y->at.start_ns)
        return x->at.start_ns < y->at.start_ns ? -1 : 1;
    if (x->at.end_ns != y->at.end_ns)
        return x->at.end_ns < y->at.end_ns ? -1 : 1;
    return 0;
}

/* Sorts by time and removes overlaps on a thread that clocks may cause. */
static void sort_track(Track *track)
{
    int64_t end[2] = {0, 0};
    bool sorted = true;

    for (int i = 1; i < track->n; i++)
        sorted = sorted && track->did[i - 1].at.start_ns <= track->did[i].at.start_ns;
    if (!sorted)
        qsort(track->did, (size_t)track->n, sizeof *track->did, by_start);
    for (int i = 0; i < track->n; i++) {
        TraceSlice *at = &track->did[i].at;
        int64_t *last = &end[track->did[i].op < 0];
        at->start_ns = at->start_ns < *last ? *last : at->start_ns;
        at->end_ns = at->end_ns < at->start_ns ? at->start_ns : at->end_ns;
        *last = at->end_ns;
    }
}

static void index_track(const Tracing *t, Track *track)
{
    track->of_op = arena_array(t->arena, int32_t, t->graph->n_ops);
    track->first = arena_array(t->arena, int32_t, t->plan->moved->n_reshards);
    track->last = arena_array(t->arena, int32_t, t->plan->moved->n_reshards);
    memset(track->of_op, 0xff, sizeof(int32_t) * (size_t)t->graph->n_ops);
    memset(track->first, 0xff, sizeof(int32_t) * (size_t)t->plan->moved->n_reshards);
    memset(track->last, 0xff, sizeof(int32_t) * (size_t)t->plan->moved->n_reshards);
    for (int i = 0; i < track->n; i++) {
        const Did *did = &track->did[i];
        if (did->op >= 0) {
            track->of_op[did->op] = i;
            continue;
        }
        track->last[did->reshard] = i;
        if (track->first[did->reshard] < 0)
            track->first[did->reshard] = i;
    }
}

/* ---- flows ---- */

static Did *did_at(const Track *track, int32_t at)
{
    return at < 0 ? NULL : &track->did[at];
}

/* No flow when either was not executed, or when a loop carries the value back. */
static void link(const Tracing *t, Tracks *tracks, Did *from, Did *to, int64_t id)
{
    if (!from || !to || from->at.end_ns > to->at.start_ns)
        return;
    TraceFlow flow = {id, from->out, to->in};
    from->out = to->in = tracks->flows.n;
    vec_push(t->arena, &tracks->flows, flow);
}

/* Flows of a reshard on track p: from the maker of its value to its first reader. */
static void link_reshard(const Tracing *t, Tracks *tracks, int p, int32_t r)
{
    const Reshard *reshard = &t->plan->moved->reshards[r];
    const Track *track = &tracks->track[p], *source = track;
    Did *first = did_at(track, track->first[r]), *sent = NULL;
    int32_t maker = t->graph->tensors[reshard->tensor].maker;
    int64_t id = 3 * ((int64_t)(first ? first->at.pid : 0) * t->plan->moved->n_reshards *
                          t->session->mesh->n_devices +
                      (int64_t)p * t->plan->moved->n_reshards + r);

    if (!first)
        return;
    if (tracks->n_tracks > 1 && reshard->from_devices != reshard->to_devices) {
        SubMesh makers = t->plan->decided->submeshes[reshard->from_devices];
        source = &tracks->track[submesh_twin(t->session->mesh, makers, p)];
        sent = source == track ? NULL : did_at(source, source->last[r]);
    }
    if (sent)
        link(t, tracks, sent, first, id);
    else if (maker >= 0)
        link(t, tracks, did_at(source, source->of_op[maker]), first, id + 1);
    if (reshard->n_uses > 0) {
        int32_t reader = t->plan->moved->reshard_uses[reshard->use];
        link(t, tracks, did_at(track, track->last[r]), did_at(track, track->of_op[reader]), id + 2);
    }
}

static const TraceFlow *flow_at(const Tracks *tracks, int32_t at)
{
    assert(tracks->flows.at && 0 <= at && at < tracks->flows.n);
    return &tracks->flows.at[at];
}

static void link_tracks(const Tracing *t, Tracks *tracks)
{
    for (int p = 0; p < tracks->n_tracks; p++)
        for (int32_t r = 0; r < t->plan->moved->n_reshards; r++)
            link_reshard(t, tracks, p, r);
}

/* ---- names and causes ---- */

static Str slice_name(const Tracing *t, const Did *did)
{
    Buf text = buf_new(t->arena);

    if (did->op >= 0)
        return label_op(t->session, t->arena, did->op);
    const Reshard *moved = &t->plan->moved->reshards[did->reshard];
    ReshardPath one = {.n_steps = 1, .step = did->step};
    reshard_format_steps(did->step ? &one : moved->path, t->session->mesh, &text);
    buf_putc(&text, ' ');
    buf_add(&text, label_tensor(t->session, t->arena, moved->tensor));
    return buf_str(&text);
}

static const char *pin_text(const Tracing *t, const Decision *pin)
{
    Buf text = buf_new(t->arena);

    if (pin)
        label_origin(t->session->mesh, &pin->origin, &text);
    return text.s ? text.s : "";
}

/* The decision behind the first of its axes. */
static const char *op_cause(const Tracing *t, int32_t op)
{
    const OpCut *cut = plan_cut(t->plan, op);

    for (int i = 0; t->explains && cut && i < cut->n; i++) {
        ReasonChain *chains;
        if (!cut_is_whole(&cut->index[i]) && why_index_dim(t->arena, t->plan, op, i, &chains) > 0 &&
            chains[0].n_steps > 0)
            return pin_text(t, chains[0].step[0].pin);
    }
    return "";
}

static const char *reshard_cause(const Tracing *t, int32_t r)
{
    if (!t->cause[r])
        t->cause[r] = pin_text(
            t, t->explains ? comm_cause(t->arena, t->session, &t->plan->moved->reshards[r]) : NULL);
    return t->cause[r];
}

/* ---- arguments ---- */

static void set_text(Json *args, const char *key, const Buf *text)
{
    json_set(args, key, json_from_str(buf_str(text)));
}

static void set_sharding(const Tracing *t, Json *args, const char *key, int32_t id)
{
    Buf text = buf_new(t->arena);

    if (id < 0)
        return;
    sharding_format(shardings_at(t->plan->shardings, id), t->session->mesh, VIEW_OURS, &text, NULL);
    set_text(args, key, &text);
}

static void explain_op(const Tracing *t, int32_t op, Json *args)
{
    OpCost cost = op_cost(t->plan, op);
    Buf formula = buf_new(t->arena);
    double times = inferred_repeat(t->session->inferred, op);

    if (t->graph->ops[op].n_outputs > 0 && op_outputs(t->graph, op)[0] >= 0)
        set_sharding(t, args, "sharding", t->plan->moved->made[op_outputs(t->graph, op)[0]]);
    json_set_real(args, "flops", cost.flops);
    json_set_int(args, "bytes", cost.bytes);
    if (times != 1)
        json_set_real(args, "times", times);
    if (t->plan->decided->stages)
        json_set_int(args, "stage", stage_of(t->plan, op));
    op_cost_explain(t->plan, op, &formula);
    set_text(args, "formula", &formula);
    json_set_str(args, "why", op_cause(t, op));
}

static void explain_price(const Tracing *t, const Reshard *reshard, const Step *step, Buf *out)
{
    Buf text = buf_new(t->arena);

    if (step->kind == STEP_SLICE)
        return;
    price_explain(plan_reshard_machine(t->plan, reshard), t->session->mesh, step->kind, step->atoms,
                  step->bytes, &text);
    buf_puts(out, out->n > 0 ? "; " : "");
    for (size_t i = 0; i < text.n; i++)
        buf_putc(out, text.s[i] == '\n' ? ' ' : text.s[i]);
}

static void explain_reshard(const Tracing *t, int32_t r, Json *args)
{
    const Reshard *moved = &t->plan->moved->reshards[r];
    Buf formula = buf_new(t->arena);
    double times = reshard_repeat(t->plan, moved);

    for (int s = 0; s < moved->path->n_steps; s++)
        explain_price(t, moved, &moved->path->step[s], &formula);
    set_sharding(t, args, "from", moved->from);
    set_sharding(t, args, "to", moved->to);
    if (times != 1)
        json_set_real(args, "times", times);
    set_text(args, "formula", &formula);
}

static void set_moved(const Tracing *t, const Did *did, Json *args)
{
    const Reshard *moved = &t->plan->moved->reshards[did->reshard];
    ReshardPath one = {.n_steps = 1, .step = did->step};
    const ReshardPath *path = did->step ? &one : moved->path;
    Buf steps = buf_new(t->arena), axes = buf_new(t->arena);
    int64_t bytes = 0, wire_bytes = 0;

    reshard_format_steps(path, t->session->mesh, &steps);
    for (int s = 0; s < path->n_steps; s++) {
        bytes = path->step[s].bytes > bytes ? path->step[s].bytes : bytes;
        wire_bytes += path->step[s].wire_bytes;
        buf_puts(&axes, axes.n > 0 ? " " : "");
        mesh_format_set(t->session->mesh, path->step[s].atoms, ".", &axes);
    }
    json_set_str(args, "tensor", tensor_name(t->graph, moved->tensor));
    json_set_int(args, "bytes", bytes);
    json_set_int(args, "wire_bytes", wire_bytes);
    set_text(args, "axis", &axes);
    set_text(args, "steps", &steps);
    json_set_str(args, "why", reshard_cause(t, did->reshard));
}

static double predicted_us(const Tracing *t, const Did *did)
{
    if (did->op >= 0)
        return t->plan->priced->op_us[did->op];
    return did->step ? did->step->us : t->plan->moved->reshards[did->reshard].path->us;
}

static Json *slice_args(const Tracing *t, const Did *did)
{
    Json *args = json_object();

    if (did->op >= 0) {
        json_set_str(args, "op", op_name(t->graph, did->op));
        json_set_str(args, "operator", op_operator(t->graph, did->op));
    } else {
        set_moved(t, did, args);
    }
    json_set_real(args, "us", did->us);
    if (did->at.pid == PROCESS_RUN) {
        json_set_real(args, "predicted_us", predicted_us(t, did));
        if (did->op < 0)
            json_set_real(args, "wait_us", did->wait_us);
    } else if (did->op >= 0) {
        explain_op(t, did->op, args);
    } else {
        explain_reshard(t, did->reshard, args);
    }
    return args;
}

/* Slices of modules by the slice that they begin with: lists of places in `all`. */
typedef struct {
    Vec(TraceModule) all; /* of places in the track */
    int *first, *next;    /* per slice and per module; 1 + place, 0 at the end */
} Opened;

static void open_lane(const Tracing *t, const Track *track, int part, Opened *out)
{
    int *place = arena_array(t->arena, int, track->n + 1), n = 0;
    int32_t *op = arena_array(t->arena, int32_t, track->n + 1);

    for (int i = 0; i < track->n; i++)
        if (track->did[i].op >= 0 && track->did[i].part == part) {
            place[n] = i;
            op[n++] = track->did[i].op;
        }
    TraceModules modules = trace_modules(t->arena, t->graph, op, n);
    for (int i = 0; i < modules.n; i++)
        vec_push(t->arena, &out->all,
                 ((TraceModule){place[modules.at[i].first], place[modules.at[i].last],
                                modules.at[i].path}));
}

static Opened open_modules(const Tracing *t, const Track *track)
{
    Opened out = {.first = arena_array(t->arena, int, track->n + 1)};
    int parts = 0;

    for (int i = 0; i < track->n; i++)
        parts = track->did[i].part >= parts ? track->did[i].part + 1 : parts;
    for (int part = 0; part < parts; part++)
        open_lane(t, track, part, &out);
    out.next = arena_array(t->arena, int, out.all.n + 1);
    for (int i = out.all.n - 1; i >= 0; i--) {
        out.next[i] = out.first[out.all.at[i].first];
        out.first[out.all.at[i].first] = i + 1;
    }
    return out;
}

/* The predicted time of the ops among the slices, which are of one lane of ops. */
static double ops_us(const Tracing *t, const Track *track, int first, int last)
{
    double us = 0;

    for (int i = first; i <= last; i++)
        if (track->did[i].op >= 0)
            us += t->plan->priced->op_us[track->did[i].op];
    return us;
}

/* The modules that begin with a slice of the track, the outer ones first. */
static void put_modules(const Tracing *t, const Track *track, const Opened *opened, int at)
{
    for (int m = opened->first[at]; m > 0; m = opened->next[m - 1]) {
        const TraceModule *module = &opened->all.at[m - 1];
        TraceSlice slice = track->did[at].at;
        Json *args = json_object();
        slice.end_ns = track->did[module->last].at.end_ns;
        json_set(args, "module", json_from_str(module->path));
        json_set_real(args, "us", (double)(slice.end_ns - slice.start_ns) / 1000);
        if (slice.pid == PROCESS_RUN)
            json_set_real(args, "predicted_us", ops_us(t, track, at, module->last));
        trace_put_around(t->events, slice, module->path, "module", args);
    }
}

static void put_track(const Tracing *t, const Tracks *tracks, const Track *track)
{
    Opened opened = open_modules(t, track);

    for (int i = 0; i < track->n; i++) {
        const Did *did = &track->did[i];
        put_modules(t, track, &opened, i);
        trace_put_slice(t->events, did->at, slice_name(t, did), did->op >= 0 ? "op" : "reshard",
                        slice_args(t, did));
        for (int32_t f = did->in; f >= 0; f = flow_at(tracks, f)->next_in)
            trace_put_flow_in(t->events, did->at, flow_at(tracks, f)->id);
        for (int32_t f = did->out; f >= 0; f = flow_at(tracks, f)->next_out)
            trace_put_flow_out(t->events, did->at, flow_at(tracks, f)->id);
    }
}

/* ---- memory ---- */

/* The classes with any bytes. */
static void find_classes(const ClassBytes *bytes, int n, bool *any)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
            any[c] = any[c] || bytes[i].of[c] > 0;
}

static void put_live(const Tracing *t, int pid, int64_t ns, const char *name,
                     const ClassBytes *bytes, const bool *any)
{
    Json *args = json_object();

    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        if (any[c])
            json_set_int(args, memory_class_name((MemoryClass)c), bytes->of[c]);
    trace_put_counter(t->events, pid, ns, name, args);
}

/* From the end of the previous op on, the live bytes of an op and its steps. Ops without duration
 * show for a nanosecond. */
static void put_memory(const Tracing *t, const MemoryAccount *account, int64_t rank,
                       const Track *track, int part, const char *name)
{
    Arena *scratch = arena_new();
    const ClassBytes *bytes = memory_classes_of(scratch, account, rank), *last = NULL;
    bool any[MEMORY_CLASS_COUNT] = {false};
    int64_t since = 0, last_ns = -1;

    find_classes(bytes, t->session->inferred->n_program, any);
    for (int i = 0; i < track->n; i++) {
        const Did *did = &track->did[i];
        if (did->op < 0 || did->part != part)
            continue;
        const ClassBytes *now = &bytes[t->place[did->op]];
        if (!last || memcmp(last, now, sizeof *now) != 0) {
            last_ns = since > last_ns ? since : last_ns + 1;
            put_live(t, did->at.pid, last_ns, name, now, any);
        }
        last = now;
        since = did->at.end_ns;
    }
    arena_free(scratch);
}

/* ---- processes ---- */

static void name_process(const Tracing *t, int pid, const char *name)
{
    trace_put_name(t->events, "process_name", pid, 0, name);
    trace_put_order(t->events, "process_sort_index", pid, 0, pid);
}

static void name_thread(const Tracing *t, int pid, int64_t tid, const char *name)
{
    trace_put_name(t->events, "thread_name", pid, tid, name);
    trace_put_order(t->events, "thread_sort_index", pid, tid, tid);
}

/* "pp=0 ", "" for the whole mesh. */
static const char *thread_prefix(const Tracing *t, int16_t devices)
{
    Buf part = buf_new(t->arena);

    submesh_format(t->session->mesh, t->plan->decided->submeshes[devices], &part);
    return part.n > 0 ? arena_printf(t->arena, "%s ", part.s) : "";
}

static Tracks follow_plan(const Tracing *t, const Timeline *line)
{
    Tracks tracks = {1, arena_make(t->arena, Track), {0}};
    Track *track = tracks.track;

    track->did = arena_array(t->arena, Did, line->n);
    for (int i = 0; i < line->n; i++) {
        const TimeSpan *span = &line->span[i];
        int64_t start = trace_ns(span->start_us), end = trace_ns(span->start_us + span->us);
        track->did[track->n++] =
            (Did){{PROCESS_PLAN, 2 * (int64_t)span->part + (span->op < 0), start, end},
                  span->op,
                  span->reshard,
                  NULL,
                  span->part,
                  span->us,
                  0,
                  -1,
                  -1};
    }
    index_track(t, track);
    link_tracks(t, &tracks);
    return tracks;
}

static void put_plan(const Tracing *t, const Timeline *line, const MemoryAccount *account)
{
    Tracks tracks = follow_plan(t, line);

    name_process(t, PROCESS_PLAN, "plan, predicted");
    for (int n = 0; n < line->n_parts; n++) {
        const char *part = thread_prefix(t, line->part[n]);
        name_thread(t, PROCESS_PLAN, 2 * (int64_t)n, arena_printf(t->arena, "%sops", part));
        name_thread(t, PROCESS_PLAN, 2 * (int64_t)n + 1,
                    arena_printf(t->arena, "%sreshards", part));
    }
    put_track(t, &tracks, tracks.track);
    for (int n = 0; n < line->n_parts; n++) {
        const char *part = thread_prefix(t, line->part[n]);
        SubMesh sub = t->plan->decided->submeshes[line->part[n]];
        int64_t rank = sub.fixed ? sub.first : t->plan->priced->peak_rank;
        put_memory(t, account, rank, tracks.track, n, arena_printf(t->arena, "%slive bytes", part));
    }
}

static Tracks follow_run(const Tracing *t, const Trace *trace)
{
    Tracks tracks = {trace->n_ranks, arena_array(t->arena, Track, trace->n_ranks), {0}};

    for (int r = 0; r < trace->n_ranks; r++) {
        Track *track = &tracks.track[r];
        int64_t device = mesh_device(t->session->mesh, r);
        track->did = arena_array(t->arena, Did, trace->n);
        for (int i = 0; i < trace->n; i++) {
            const TraceSpan *span = trace_span(trace, r, i);
            const TraceWork *work = &trace->work[i];
            if (span->end_us <= 0) /* it has no part in it */
                continue;
            TraceSlice at = {PROCESS_RUN, 2 * device + (work->op < 0), trace_ns(span->start_us),
                             trace_ns(span->end_us)};
            track->did[track->n++] = (Did){at,
                                           work->op,
                                           work->reshard,
                                           work->step,
                                           0,
                                           span->end_us - span->start_us,
                                           span->wait_us,
                                           -1,
                                           -1};
        }
        sort_track(track);
        index_track(t, track);
    }
    link_tracks(t, &tracks);
    return tracks;
}

static void put_run(const Tracing *t, const Trace *trace, const MemoryAccount *account)
{
    Tracks tracks = follow_run(t, trace);

    name_process(t, PROCESS_RUN, "run, measured");
    for (int r = 0; r < trace->n_ranks; r++) {
        int64_t device = mesh_device(t->session->mesh, r);
        const char *name = arena_printf(t->arena, "d%" PRId64, device);
        name_thread(t, PROCESS_RUN, 2 * device, arena_printf(t->arena, "%s ops", name));
        name_thread(t, PROCESS_RUN, 2 * device + 1, arena_printf(t->arena, "%s collectives", name));
        put_track(t, &tracks, &tracks.track[r]);
        put_memory(t, account, r, &tracks.track[r], 0,
                   arena_printf(t->arena, "%s live bytes, predicted", name));
    }
}

static Json *about(const Tracing *t)
{
    Json *out = json_object();
    Buf mesh = buf_new(t->arena);

    mesh_format(t->session->mesh, &mesh);
    json_set_str(out, "model", path_base(t->graph->file));
    set_text(out, "mesh", &mesh);
    json_set_str(out, "machine", t->session->machine->name);
    json_set_str(out, "plan", arena_printf(t->arena, "%016" PRIx64, planfile_hash(t->session)));
    json_set_str(out, "dimscope", DIMSCOPE_VERSION);
    return out;
}

void trace_json_put(const Session *session, const Timeline *timeline, const Trace *trace, Buf *out)
{
    const Plan *plan = session->plan;
    Tracing t = {arena_new(), session, plan, session->graph, json_array(), false, NULL, NULL};
    MemoryAccount *account = memory_account_new(plan);
    Json *root = json_object();

    t.explains = session->inferred->n_program <= FOLDED_OPS_MAX;
    t.cause = arena_array(t.arena, const char *, plan->moved->n_reshards);
    t.place = arena_array(t.arena, int32_t, session->graph->n_ops);
    for (int i = 0; i < session->inferred->n_program; i++)
        t.place[session->inferred->program[i]] = i;
    put_plan(&t, timeline, account);
    if (trace)
        put_run(&t, trace, account);
    int64_t pairs = (int64_t)plan->moved->n_reshards * session->mesh->n_devices;
    trace_schedule_put(t.arena, plan, PROCESS_SCHEDULE, 3 * (1 + PROCESS_SCHEDULE) * (pairs + 1),
                       t.events);
    if (trace)
        trace_blocks_put(t.arena, plan, trace, PROCESS_BLOCKS, t.events);
    json_set_str(root, "displayTimeUnit", "ms");
    json_set(root, "traceEvents", t.events);
    json_set(root, "otherData", about(&t));
    json_write(root, out);
    buf_putc(out, '\n');
    json_free(root);
    memory_account_free(account);
    arena_free(t.arena);
}
