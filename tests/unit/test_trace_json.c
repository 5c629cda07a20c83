/* Traces, read as Perfetto reads them: times become nanoseconds by rounding, in old versions by
 * cutting off, events are sorted by them, slices of a thread must nest, a flow belongs to the slice
 * that is open on its thread, and a thread of number 0 has that of its process.
 * What is then found is held against the plan and the run. */
#include "core/cost/memory.h"
#include "core/cost/memory_class.h"
#include "core/cost/slot_pieces.h"
#include "tests/unit/opened.h"

#include "core/base/json.h"
#include "core/plan/edges.h"
#include "core/plan/stage.h"
#include "core/run/trace/trace_json.h"
#include "tests/unit/hostile.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *name, *model, *mesh, *policy, *dims;
} Case;

static Case cases[] = {
    {"tiny-gpt", "samples/models/tiny-gpt.onnx", "dp=2,tp=2", "megatron", NULL},
    {"llama-tiny", "samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron", NULL},
    {"sequence parallel", "samples/models/tiny-gpt.onnx", "tp=4", "megatron_sp", NULL},
    {"fsdp", "samples/models/llama-tiny.onnx", "dp=4", "fsdp", NULL},
    {"stages", "samples/models/tiny-gpt.onnx", "pp=2,dp=2", "hybrid3d", NULL},
    {"devices in another order", "samples/models/tiny-gpt.onnx", "dp,tp=[[3,1],[2,0]]", "megatron",
     NULL},
    {"loop", "tests/models/tf-while.onnx", "dp=2", "dp", "batch=4,d1=4"},
    {"branches", "tests/models/control.onnx", "dp=2", "dp", "N=4,S=4"},
};

static Opened open_case(const Case *row)
{
    Arena *arena = arena_new();
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = row->policy};
    Source dims = {"--dim", str_from(row->dims)};
    assert_true(!row->dims || dims_parse(arena, &dims, &options.dims, NULL));
    return open_in(arena, &options);
}

/* ---- a reader ---- */

typedef struct {
    const Json *json;
    Str phase;
    int64_t pid, tid, ns, end_ns;
    int place; /* in the file */
    int bound; /* s, f: the slice it belongs to, by its place; -1 */
} Event;

typedef struct {
    Opened *f;
    Json *root;
    int n;
    Event *at; /* by time */
    Event **in_file;
} Reading;

static bool is(const Event *event, const char *phase)
{
    return str_eq(event->phase, str_from(phase));
}

static const Json *arg(const Event *event, const char *key)
{
    return json_get(json_get(event->json, "args"), key);
}

static bool is_module(const Event *event)
{
    return str_eq(json_str(json_get(event->json, "cat"), ""), STR("module"));
}

static int64_t ns_of(const Json *number, bool rounds)
{
    double us = json_real(number, -1);
    assert_true(json_is_number(number) && us >= 0 && us < 1e15);
    return rounds ? llround(us * 1000) : (int64_t)(us * 1000);
}

/* Of a process or a thread, from 0 on: no reader takes it for one that is not said. */
static int64_t number_of(const Json *event, const char *key)
{
    const Json *number = json_get(event, key);
    assert_true(json_is_int(number) && json_int(number, 0) > 0);
    return json_int(number, 0) - 1;
}

static int by_time(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static Reading read_rounding(Opened *f, const Trace *trace, bool rounds)
{
    Buf text = buf_new(f->arena);
    Timeline *timeline = timeline_new(f->session);
    trace_json_put(f->session, timeline, trace, &text);
    timeline_free(timeline);
    Source source = {"trace", buf_str(&text)};
    Error err = {0};
    Reading r = {.f = f, .root = json_parse(&source, &err)};
    if (!r.root)
        fail_msg("%s", err.text);
    assert_true(str_eq(json_str(json_get(r.root, "displayTimeUnit"), ""), STR("ms")));
    const Json *events = json_get(r.root, "traceEvents");
    r.n = json_size(events);
    r.at = arena_array(f->arena, Event, r.n);
    r.in_file = arena_array(f->arena, Event *, r.n);
    for (int i = 0; i < r.n; i++) {
        const Json *json = json_at(events, i);
        r.at[i] = (Event){.json = json,
                          .phase = json_str(json_get(json, "ph"), ""),
                          .pid = number_of(json, "pid"),
                          .tid = number_of(json, "tid"),
                          .ns = ns_of(json_get(json, "ts"), rounds),
                          .place = i,
                          .bound = -1};
        assert_true(json_str(json_get(json, "name"), "").n > 0);
        if (is(&r.at[i], "X"))
            r.at[i].end_ns = r.at[i].ns + ns_of(json_get(json, "dur"), rounds);
    }
    qsort(r.at, (size_t)r.n, sizeof *r.at, by_time);
    for (int i = 0; i < r.n; i++)
        r.in_file[r.at[i].place] = &r.at[i];
    return r;
}

/* Whether a name is said of a process, or of a thread. */
static bool named(const Reading *r, const char *what, int64_t pid, int64_t tid)
{
    for (int i = 0; i < r->n; i++) {
        const Event *event = r->in_file[i];
        if (is(event, "M") && event->pid == pid && (tid < 0 || event->tid == tid) &&
            str_eq(json_str(json_get(event->json, "name"), ""), str_from(what)))
            return json_str(arg(event, "name"), "").n > 0;
    }
    return false;
}

static int64_t threads(const Reading *r)
{
    int64_t most = 0;
    for (int i = 0; i < r->n; i++)
        most = r->at[i].tid > most ? r->at[i].tid : most;
    return most + 1;
}

/* Slices of a thread one in the other or one behind the other; flows to the slice that is open. */
static void check_threads(Reading *r)
{
    enum { DEPTH = 16, PROCESSES = 4 };
    typedef struct {
        int n;
        const Event *open[DEPTH];
        bool named;
    } Stack;
    int64_t n = threads(r);
    Stack *stacks = arena_array(r->f->arena, Stack, PROCESSES * n);
    for (int i = 0; i < r->n; i++) {
        Event *event = &r->at[i];
        assert_in_range(event->pid, 0, PROCESSES - 1);
        assert_true(is(event, "X") || is(event, "M") || is(event, "C") || is(event, "s") ||
                    is(event, "f"));
        if (is(event, "M") || is(event, "C"))
            continue;
        Stack *stack = &stacks[event->pid * n + event->tid];
        stack->named = stack->named || named(r, "thread_name", event->pid, event->tid);
        assert_true(stack->named && named(r, "process_name", event->pid, -1));
        while (stack->n > 0 && stack->open[stack->n - 1]->end_ns < event->ns + is(event, "X"))
            stack->n--;
        if (is(event, "X")) {
            assert_true(stack->n == 0 || event->end_ns <= stack->open[stack->n - 1]->end_ns);
            assert_true(stack->n < DEPTH);
            stack->open[stack->n++] = event;
            continue;
        }
        assert_true(stack->n > 0);
        const Event *open = stack->open[stack->n - 1];
        assert_true(open->ns <= event->ns && event->ns <= open->end_ns);
        event->bound = open->place;
    }
}

/* Where a thread has told a time it tells no earlier one later in the file. */
static void check_file_order(const Reading *r)
{
    int64_t n = threads(r), *last = arena_array(r->f->arena, int64_t, 3 * n);
    double *end = arena_array(r->f->arena, double, 3 * n);
    for (int i = 0; i < r->n; i++) {
        const Event *event = r->in_file[i];
        bool block = event->pid == 2 && event->tid % 2 == 0; /* around modules */
        if (!is(event, "X") || is_module(event) || block)
            continue;
        double start = json_real(json_get(event->json, "ts"), -1);
        assert_true(event->ns >= last[event->pid * n + event->tid]);
        assert_true(start >= end[event->pid * n + event->tid] - 1e-7);
        last[event->pid * n + event->tid] = event->ns;
        end[event->pid * n + event->tid] = start + json_real(json_get(event->json, "dur"), -1);
    }
}

/* By a reader that rounds, after one that cuts off found that slices nest. */
static Reading read_trace(Opened *f, const Trace *trace)
{
    Reading old = read_rounding(f, trace, false);

    check_threads(&old);
    json_free(old.root);
    return read_rounding(f, trace, true);
}

/* ---- flows ---- */

static int32_t tensor_of(const Reading *r, const Event *slice)
{
    return graph_find_tensor(r->f->session->graph, json_str(arg(slice, "tensor"), ""));
}

static int32_t op_of(const Reading *r, const Event *slice)
{
    return graph_find_op(r->f->session->graph, json_str(arg(slice, "op"), ""));
}

static bool reads(const Graph *graph, int32_t op, int32_t tensor)
{
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (op_inputs(graph, op)[i] == tensor)
            return true;
    return false;
}

/* From the op that makes a value to what moves it, from there to an op that reads it. */
static void check_ends(const Reading *r, const Event *from, const Event *to)
{
    const Graph *graph = r->f->session->graph;
    bool from_op = json_is_string(arg(from, "op")), to_op = json_is_string(arg(to, "op"));
    assert_false(from_op && to_op);
    if (from_op)
        assert_int_equal(graph->tensors[tensor_of(r, to)].maker, op_of(r, from));
    else if (to_op)
        assert_true(reads(graph, op_of(r, to), tensor_of(r, from)));
    else
        assert_int_equal(tensor_of(r, from), tensor_of(r, to));
    assert_true(from->pid == to->pid && from->tid != to->tid);
}

/* Every flow has two ends, the first not later than the second. Answers how many leave ops, and how
 * many come to ops, in a process. */
static void check_flows(const Reading *r, int64_t pid, int *out_of_ops, int *into_ops)
{
    *out_of_ops = *into_ops = 0;
    int n_in = 0, n_out = 0;
    for (int i = 0; i < r->n; i++)
        n_in += is(&r->at[i], "f");
    for (int i = 0; i < r->n; i++) {
        const Event *from = &r->at[i], *to = NULL;
        if (!is(from, "s"))
            continue;
        n_out++;
        int64_t id = json_int(json_get(from->json, "id"), -1);
        assert_true(id >= 0);
        for (int j = 0; j < r->n; j++) {
            const Event *other = &r->at[j];
            if (other == from || json_int(json_get(other->json, "id"), -1) != id)
                continue;
            assert_null(to);
            assert_true(is(other, "f"));
            to = other;
        }
        assert_non_null(to);
        assert_true(from->ns <= to->ns);
        assert_true(str_eq(json_str(json_get(to->json, "bp"), ""), STR("e")));
        check_ends(r, r->in_file[from->bound], r->in_file[to->bound]);
        *out_of_ops += from->pid == pid && json_is_string(arg(r->in_file[from->bound], "op"));
        *into_ops += to->pid == pid && json_is_string(arg(r->in_file[to->bound], "op"));
    }
    assert_int_equal(n_in, n_out);
}

/* ---- counters ---- */

/* The most that the counters of a process come to. */
static int64_t check_counters(const Reading *r, int64_t pid)
{
    int64_t most = 0;
    for (int i = 0; i < r->n; i++) {
        const Event *event = r->in_file[i], *before = NULL;
        if (!is(event, "C") || event->pid != pid)
            continue;
        Str name = json_str(json_get(event->json, "name"), "");
        for (int j = i - 1; j >= 0 && !before; j--)
            if (is(r->in_file[j], "C") && r->in_file[j]->pid == pid &&
                str_eq(json_str(json_get(r->in_file[j]->json, "name"), ""), name))
                before = r->in_file[j];
        assert_true(!before || before->ns < event->ns);
        const Json *args = json_get(event->json, "args");
        int64_t sum = 0;
        for (const char *key = NULL; (key = json_key_after(args, key));) {
            assert_true(json_int(json_get(args, key), -1) >= 0);
            assert_true(!before || json_is_int(arg(before, key)));
            sum += json_int(json_get(args, key), 0);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* ---- what is predicted ---- */

/* Every op that follows a module's slice in its lane, as long as that is open, is of the module. */
static void check_modules(const Reading *r, const Graph *graph, int *n)
{
    for (int m = 0; m < r->n; m++) {
        const Event *module = r->in_file[m];
        int n_ops = 0;
        if (!is(module, "X") || !is_module(module) || module->pid == 2)
            continue; /* in the schedule there are no ops */
        Str path = json_str(arg(module, "module"), "");
        for (int i = m + 1; i < r->n && r->in_file[i]->ns < module->end_ns; i++) {
            const Event *event = r->in_file[i];
            Str name = json_str(arg(event, "op"), "");
            int32_t op = graph_find_op(graph, name);
            if (event->pid != module->pid || event->tid != module->tid || op < 0)
                continue;
            assert_true(str_starts(str_from(op_path(graph, op)), path));
            n_ops++;
        }
        assert_true(n_ops > 1 || module->end_ns == module->ns);
        *n += 1;
    }
}

static void a_plan_reads_as_what_it_is(void **state)
{
    Opened f = open_case(*state);
    const Plan *plan = f.session->plan;
    Reading r = read_trace(&f, NULL);
    check_threads(&r);
    check_file_order(&r);
    double us = 0;
    int n = 0, n_modules = 0;
    check_modules(&r, f.session->graph, &n_modules);
    assert_true(n_modules > 0 || *op_path(f.session->graph, plan->inferred->program[0]) == '\0');
    for (int i = 0; i < r.n; i++) {
        if (!is(&r.at[i], "X") || r.at[i].pid != 0 || is_module(&r.at[i]))
            continue;
        us += json_real(arg(&r.at[i], "us"), NAN);
        n++;
        assert_true(fabs((double)(r.at[i].end_ns - r.at[i].ns) -
                         1000 * json_real(arg(&r.at[i], "us"), NAN)) < 3);
        assert_true(json_is_string(arg(&r.at[i], "why")) &&
                    json_is_string(arg(&r.at[i], "formula")));
    }
    assert_int_equal(n, plan->inferred->n_program + plan->moved->n_reshards);
    assert_true(fabs(us - plan->priced->totals.step_us) < 1e-6 * us);
    assert_int_equal(check_counters(&r, 0), plan->priced->totals.peak_bytes);
    json_free(r.root);
    close_opened(&f);
}

/* But for what a loop carries back, a value that is made and moved has a flow on either side. */
static void what_is_moved_has_flows(void **state)
{
    const Case *row = *state;
    Opened f = open_case(row);
    const Plan *plan = f.session->plan;
    Reading r = read_trace(&f, NULL);
    int made = 0, read = 0, out_of_ops, into_ops;
    check_threads(&r);
    check_flows(&r, 0, &out_of_ops, &into_ops);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        int32_t maker = f.session->graph->tensors[plan->moved->reshards[i].tensor].maker;
        made += maker >= 0 && !inferred_is_host(plan->inferred, maker);
        read += plan->moved->reshards[i].n_uses > 0;
    }
    if (f.session->graph->n_bodies == 0) {
        assert_int_equal(out_of_ops, made);
        assert_int_equal(into_ops, read);
    }
    assert_true(out_of_ops <= made && into_ops <= read);
    json_free(r.root);
    close_opened(&f);
}

/* ---- what is measured ---- */

static void a_run_reads_as_what_was_done(void **state)
{
    Opened f = open_case(*state);
    const Plan *plan = f.session->plan;
    RunOptions options = {.repeat = 1, .trace = true, .seed = 1};
    RunReport report;
    Error err = {0};
    if (!run_plan(f.arena, plan, &options, &report, &err))
        fail_msg("%s", err.text);
    const Trace *trace = report.trace;
    Reading r = read_trace(&f, trace);
    int done = 0, slices = 0, out_of_ops, into_ops, moved = 0;
    check_threads(&r);
    check_file_order(&r);
    check_flows(&r, 1, &out_of_ops, &into_ops);
    for (int rank = 0; rank < trace->n_ranks; rank++)
        for (int i = 0; i < trace->n; i++)
            done += trace_span(trace, rank, i)->end_us > 0;
    for (int i = 0; i < r.n; i++)
        if (is(&r.at[i], "X") && r.at[i].pid == 1) {
            slices += !is_module(&r.at[i]);
            assert_true(json_real(arg(&r.at[i], "us"), -1) >= 0);
            assert_true(json_real(arg(&r.at[i], "predicted_us"), -1) >= 0);
        }
    assert_int_equal(slices, done);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        int32_t maker = f.session->graph->tensors[plan->moved->reshards[i].tensor].maker;
        moved += maker >= 0 && !inferred_is_host(plan->inferred, maker);
    }
    if (f.session->graph->n_bodies == 0 && !plan->decided->stages)
        assert_int_equal(out_of_ops, moved * trace->n_ranks);
    assert_true(moved == 0 || (out_of_ops > 0 && into_ops > 0));
    assert_true(check_counters(&r, 1) <= plan->priced->totals.peak_bytes);
    if (f.session->graph->n_bodies == 0)
        assert_int_equal(check_counters(&r, 1), plan->priced->totals.peak_bytes);
    json_free(r.root);
    close_opened(&f);
}

/* Of a step: as long as the stage's pass, and modules and collectives as long as its pieces. */
static void blocks_have_what_fills_them(void **state)
{
    (void)state;
    Opened f = open_options(&(SessionOptions){.model = "samples/models/tiny-gpt.onnx",
                                              .mesh = "pp=2,dp=2",
                                              .policy = "hybrid3d",
                                              .train = "auto"});
    const Plan *plan = f.session->plan;
    const Schedule *table = plan_schedule(plan);
    Reading r = read_trace(&f, NULL);
    double moved = 0, want = 0, inside = 0;
    int n_modules = 0, n_flows = 0;

    check_threads(&r);
    for (int i = 0; i < r.n; i++) {
        const Event *event = &r.at[i];
        n_flows += event->pid == 2 && is(event, "s");
        if (event->pid != 2 || !is(event, "X"))
            continue;
        bool module = is_module(event),
             layer = str_ends(json_str(json_get(event->json, "name"), ""), STR("transformer.h.0"));
        n_modules += module;
        inside += module && layer ? json_real(arg(event, "us"), NAN) : 0;
        moved += event->tid % 2 == 1 ? json_real(arg(event, "us"), NAN) : 0;
    }
    for (int b = 0; b < table->n_blocks; b++) {
        SlotPieces pieces =
            slot_pieces(f.arena, plan, table->block[b].stage, (BlockPass)table->block[b].pass);
        for (int i = 0; i < pieces.n; i++)
            want += pieces.piece[i].op ? 0 : pieces.piece[i].us;
    }
    assert_true(fabs(moved - want) < 1e-6 * want);
    assert_true(n_modules > table->n_blocks && inside > 0);
    assert_int_equal(n_flows, 2 * plan->decided->stages->n_micro_batches); /* forward, backward */
    json_free(r.root);
    close_opened(&f);
}

/* What a stage sends to the next is a flow from a thread of one device to one of another. */
static void sends_go_from_device_to_device(void **state)
{
    (void)state;
    Opened f = open_case(&cases[4]);
    RunOptions options = {.repeat = 1, .trace = true, .seed = 1};
    RunReport report;
    Error err = {0};
    assert_true(run_plan(f.arena, f.session->plan, &options, &report, &err));
    Reading r = read_trace(&f, report.trace);
    check_threads(&r);
    int crossing = 0;
    for (int i = 0; i < r.n; i++)
        for (int j = 0; j < r.n && is(&r.at[i], "s") && r.at[i].pid == 1; j++)
            if (is(&r.at[j], "f") && json_int(json_get(r.at[i].json, "id"), -1) ==
                                         json_int(json_get(r.at[j].json, "id"), -1))
                crossing += r.at[i].tid / 2 != r.at[j].tid / 2;
    assert_true(crossing > 0);
    json_free(r.root);
    close_opened(&f);
}

/* Of a step that ran: each device has the blocks of its stage, with the predicted times of the
 * report, and every op that it ran is inside one. */
static void measured_blocks_hold_what_was_run(void **state)
{
    (void)state;
    Opened f = open_options(&(SessionOptions){.model = "samples/models/tiny-gpt.onnx",
                                              .mesh = "pp=2",
                                              .policy = "hybrid3d",
                                              .train = "auto"});
    RunOptions options = {.steps = 1, .trace = true, .seed = 1};
    RunReport report;
    Error err = {0};
    assert_true(run_plan(f.arena, f.session->plan, &options, &report, &err));
    Reading r = read_trace(&f, report.trace);
    check_threads(&r);
    int n_found = 0, n_ops = 0;
    for (int b = 0; b < report.n_blocks; b++) {
        const ProgramBlock *block = &report.blocks[b].of;
        bool found = false;
        for (int i = 0; i < r.n; i++) {
            const Event *event = &r.at[i];
            if (event->pid != 3 || !is(event, "X") || event->tid != block->stage)
                continue;
            assert_true(json_real(arg(event, "us"), -1) >= 0);
            bool update = block->pass == RUN_UPDATE;
            Str category = json_str(json_get(event->json, "cat"), "");
            Str want = str_from(update ? "update" : schedule_pass_name((BlockPass)block->pass));
            found |= str_eq(category, want) &&
                     json_int(arg(event, "micro_batch"), -1) == block->micro_batch &&
                     fabs(json_real(arg(event, "predicted_us"), -1) - block->predicted_us) <
                         1e-9 * block->predicted_us;
        }
        n_found += found;
    }
    assert_true(report.n_blocks > 4);
    assert_int_equal(n_found, report.n_blocks);
    for (int i = 0; i < r.n; i++) {
        const Event *op = &r.at[i];
        int n_around = 0;
        if (op->pid != 1 || op->tid % 2 || !is(op, "X") || is_module(op))
            continue;
        for (int k = 0; k < r.n; k++)
            n_around += r.at[k].pid == 3 && is(&r.at[k], "X") && r.at[k].tid == op->tid / 2 &&
                        r.at[k].ns <= op->ns && op->end_ns <= r.at[k].end_ns;
        n_ops += n_around == 1;
        assert_true(n_around <= 1);
    }
    assert_true(n_ops > 200);
    json_free(r.root);
    close_opened(&f);
}

/* What counters show by class is what is alive at each place, and in sum its live bytes. */
static void classes_are_those_of_what_is_alive(void **state)
{
    const Case *row = *state;
    Opened f = open_case(row);
    MemoryAccount *account = memory_account_new(f.session->plan);
    for (int64_t rank = 0; rank < f.session->mesh->n_devices; rank++) {
        const ClassBytes *bytes = memory_classes_of(f.arena, account, rank);
        MemoryUse use = memory_use_of(f.arena, account, rank);
        for (int i = 0; i < f.session->inferred->n_program; i++) {
            Arena *scratch = arena_new();
            LiveSet live = memory_live_of(scratch, account, rank, i);
            int64_t sum = 0;
            for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
                assert_int_equal(bytes[i].of[c], live.by_class[c]);
                sum += bytes[i].of[c];
            }
            assert_int_equal(sum, use.live_bytes[i]);
            arena_free(scratch);
        }
    }
    memory_account_free(account);
    close_opened(&f);
}

/* ---- names ---- */

static void names_stay_texts(void **state)
{
    (void)state;
    Opened f = {.arena = arena_new()};
    f.session = hostile_session(f.arena, &f.scripts);
    Reading r = read_trace(&f, NULL);
    int out_of_ops, into_ops;
    check_threads(&r);
    check_flows(&r, 0, &out_of_ops, &into_ops);
    assert_int_equal(out_of_ops, 1);
    json_free(r.root);
    close_opened(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_go_from_device_to_device),
        cmocka_unit_test(blocks_have_what_fills_them),
        cmocka_unit_test(measured_blocks_hold_what_was_run),
        cmocka_unit_test(names_stay_texts),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += run_rows("predicted", cases, a_plan_reads_as_what_it_is);
    failed += run_rows("classes", cases, classes_are_those_of_what_is_alive);
    failed += run_rows("flows", cases, what_is_moved_has_flows);
    return failed + run_rows("measured", cases, a_run_reads_as_what_was_done);
}
