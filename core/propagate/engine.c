#include "core/propagate/engine.h"

#include "core/propagate/op_set.h"
#include "core/propagate/visit_memo.h"

#include <assert.h>

/* What both runs of a replay have: the states, now and at the same time of the past. */
struct Engine {
    Arena *arena;
    const FlowGraph *graph;
    FlowVisit *visit;
    void *context;
    const int32_t *own_start; /* per rule */
    int n_words;
    int32_t *near_first, *near;     /* per tensor: its makers and readers, in program order; NULL:
                                       the graph has them */
    const int32_t *group;           /* of this run: per tensor, or NULL */
    int32_t *member_first, *member; /* per group: its tensors */
    VisitMemo memo;
    Arena *run_arena;   /* of what only a run needs; NULL between runs */
    int32_t (*last)[2]; /* per op and direction: 1 + place in the memo of what it met last */
    int32_t *now, *own; /* states: of tensors, of ops; of this run */
    OpSet due[2];       /* by direction: beside a change since it was last looked at so */
    OpSet touched;      /* beside any change of this run */
    OpSet twice;        /* a tensor is two of their operands */
    int64_t n_visits;
    Progress *progress;
    bool stopped; /* somebody wanted it: nothing more is visited in this run */

    Arena *log_arena;
    FlowLog *log;
    const FlowLog *past;
    int past_turn;          /* the next of its turns */
    int32_t *was, *was_own; /* states in the past run at this time */
    OpSet differs;          /* beside a tensor, or with an own state, that is not as it was */
};

enum { STATES_SHORT = 16 }; /* visits of so many states are looked up */

static int32_t set_along(const OpSet *set, FlowDirection direction, int32_t from, int32_t to)
{
    return direction == FLOW_FORWARD ? set_next(set, from, to) : set_before(set, from, to);
}

/* ---- making ---- */

static int n_operands(const GraphOp *op)
{
    return op->n_inputs + op->n_outputs;
}

static void find_neighbours(Engine *e)
{
    const FlowGraph *graph = e->graph;
    e->near_first = arena_array(e->arena, int32_t, graph->n_tensors + 1);
    e->near = arena_array(e->arena, int32_t, graph->n_operands);
    for (int i = 0; i < graph->n_operands; i++)
        if (graph->tensor[i] >= 0)
            e->near_first[graph->tensor[i] + 1]++;
    for (int t = 0; t < graph->n_tensors; t++)
        e->near_first[t + 1] += e->near_first[t];
    Arena *scratch = arena_new();
    int32_t *next = arena_array(scratch, int32_t, graph->n_tensors);
    memcpy(next, e->near_first, (size_t)graph->n_tensors * sizeof *next);
    for (int32_t i = 0; i < graph->n_ops; i++)
        for (int o = 0; o < n_operands(&graph->op[i]); o++) {
            int32_t t = graph->tensor[graph->op[i].input + o];
            if (t >= 0)
                e->near[next[t]++] = i;
        }
    arena_free(scratch);
}

static bool has_tensor_twice(const int32_t *tensor, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && n <= STATES_SHORT; j++)
            if (tensor[i] >= 0 && tensor[i] == tensor[j])
                return true;
    return false;
}

static void find_twice(Engine *e)
{
    for (int32_t op = 0; op < e->graph->n_ops; op++)
        if (has_tensor_twice(e->graph->tensor + e->graph->op[op].input,
                             n_operands(&e->graph->op[op])))
            set_add(&e->twice, op);
}

Engine *engine_new(Arena *arena, const FlowGraph *graph, const int32_t *own, FlowVisit *visit,
                   void *context)
{
    Engine *e = arena_make(arena, Engine);
    *e = (Engine){.arena = arena, .graph = graph, .visit = visit, .context = context};
    e->own_start = own;
    e->n_words = (graph->n_ops + 63) / 64;
    e->due[0] = set_new(arena, e->n_words);
    e->due[1] = set_new(arena, e->n_words);
    e->touched = set_new(arena, e->n_words);
    e->twice = set_new(arena, e->n_words);
    if (!graph->tensors)
        find_neighbours(e);
    find_twice(e);
    return e;
}

static void find_members(Engine *e, const FlowRun *run)
{
    e->group = run->group;
    if (!run->group)
        return;
    int n_tensors = e->graph->n_tensors;
    e->member_first = arena_array(run->log_arena, int32_t, run->n_groups + 1);
    for (int t = 0; t < n_tensors; t++)
        if (run->group[t] >= 0)
            e->member_first[run->group[t] + 1]++;
    for (int g = 0; g < run->n_groups; g++)
        e->member_first[g + 1] += e->member_first[g];
    e->member = arena_array(run->log_arena, int32_t, e->member_first[run->n_groups]);
    int32_t *next = arena_array(run->log_arena, int32_t, run->n_groups);
    for (int32_t t = 0; t < n_tensors; t++)
        if (run->group[t] >= 0)
            e->member[e->member_first[run->group[t]] + next[run->group[t]]++] = t;
}

static void make_due(Engine *e, int32_t op)
{
    set_add(&e->due[0], op);
    set_add(&e->due[1], op);
    set_add(&e->touched, op);
}

/* The makers and readers of a tensor: as a list, and one more before it, or -1. */
typedef struct {
    const int32_t *op;
    int n;
    int32_t maker;
} Near;

static inline Near near_of(const Engine *e, int32_t tensor)
{
    if (e->near) {
        int32_t first = e->near_first[tensor];
        return (Near){e->near + first, e->near_first[tensor + 1] - first, -1};
    }
    const GraphTensor *at = &e->graph->tensors[tensor];
    return (Near){e->graph->uses + at->use, at[1].use - at->use, at->maker};
}

static inline void mark_different(Engine *e, int32_t op)
{
    set_add(&e->differs, op);
    make_due(e, op);
}

/* In a replay: ops beside a tensor that is not as it was. */
static void mark_difference(Engine *e, int32_t tensor)
{
    if (e->now[tensor] == e->was[tensor])
        return;
    Near near = near_of(e, tensor);
    if (near.maker >= 0)
        mark_different(e, near.maker);
    for (int i = 0; i < near.n; i++)
        mark_different(e, near.op[i]);
}

static void start_own(const Engine *e, int32_t *own)
{
    for (int i = 0; i < e->graph->n_ops; i++)
        own[i] = e->own_start[e->graph->rule[i]];
}

/* The past at its beginning. */
static void begin_past(Engine *e)
{
    const FlowGraph *graph = e->graph;
    e->was = arena_array(e->run_arena, int32_t, graph->n_tensors);
    e->was_own = arena_array(e->run_arena, int32_t, graph->n_ops);
    e->differs = set_new(e->run_arena, e->n_words);
    memcpy(e->was, e->past->start, (size_t)graph->n_tensors * sizeof *e->was);
    start_own(e, e->was_own);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        mark_difference(e, t);
}

static void begin_run(Engine *e)
{
    arena_free(e->run_arena);
    e->run_arena = arena_new();
    e->last =
        arena_alloc(e->run_arena, arena_array_bytes((size_t)e->graph->n_ops, sizeof *e->last));
}

void engine_end(Engine *e)
{
    arena_free(e->run_arena);
    e->run_arena = NULL;
    e->last = NULL;
    e->was = e->was_own = NULL;
    if (e->log)
        vec_trim(e->log_arena, &e->log->events);
}

void engine_begin(Engine *e, const FlowRun *run)
{
    begin_run(e);
    const FlowGraph *graph = e->graph;
    e->now = run->tensor;
    e->own = run->op;
    memcpy(e->now, run->start, (size_t)graph->n_tensors * sizeof *e->now);
    start_own(e, e->own);
    set_clear(&e->due[0], e->n_words);
    set_clear(&e->due[1], e->n_words);
    set_clear(&e->touched, e->n_words);
    e->n_visits = 0;
    e->progress = run->progress;
    e->stopped = false;
    e->log_arena = run->log_arena;
    e->log = arena_make(run->log_arena, FlowLog);
    e->log->start = run->start;
    if (run->past) {
        e->log->events.room = run->past->events.n + run->past->events.n / 8 + 16;
        e->log->events.at = arena_array(run->log_arena, FlowEvent, e->log->events.room);
    }
    find_members(e, run);
    e->past = run->past;
    e->past_turn = 0;
    if (e->past)
        begin_past(e);
}

/* ---- changes ---- */

static void begin_turn(Engine *e, int pass, FlowDirection direction)
{
    vec_push(e->log_arena, &e->log->turns, (FlowTurn){pass, direction, e->log->events.n});
}

/* Ops beside a change are looked at again; in a replay those that differ already. */
static void mark_near(Engine *e, int32_t tensor)
{
    Near near = near_of(e, tensor);
    if (near.maker >= 0 && (!e->past || set_has(&e->differs, near.maker)))
        make_due(e, near.maker);
    for (int i = 0; i < near.n; i++)
        if (!e->past || set_has(&e->differs, near.op[i]))
            make_due(e, near.op[i]);
}

static inline void log_event(Engine *e, int32_t op, int32_t tensor, int32_t state)
{
    vec_push_own(e->log_arena, &e->log->events, (FlowEvent){op, tensor, state});
}

static void change_one(Engine *e, int32_t op, int32_t tensor, int32_t state)
{
    e->now[tensor] = state;
    log_event(e, op, tensor, state);
    mark_near(e, tensor);
    if (e->past)
        mark_difference(e, tensor);
}

static void change_tensor(Engine *e, int32_t op, int32_t tensor, int32_t state)
{
    int32_t group = e->group ? e->group[tensor] : -1;
    if (group < 0) {
        change_one(e, op, tensor, state);
        return;
    }
    change_one(e, op, tensor, state);
    for (int32_t i = e->member_first[group]; i < e->member_first[group + 1]; i++)
        if (e->member[i] != tensor)
            change_one(e, op, e->member[i], state);
}

static void change_op(Engine *e, int32_t op, int32_t state)
{
    e->own[op] = state;
    log_event(e, op, -1, state);
    make_due(e, op);
    if (e->past && state != e->was_own[op])
        set_add(&e->differs, op);
}

static void begin_settings(Engine *e)
{
    const FlowLog *log = e->log;
    if (log->turns.n == 0 || log->turns.at[log->turns.n - 1].pass != PASS_SET)
        begin_turn(e, PASS_SET, FLOW_BOTH);
}

void engine_set_alone(Engine *e, int32_t tensor, int32_t state)
{
    begin_settings(e);
    change_one(e, -1, tensor, state);
}

void engine_set(Engine *e, int32_t op, int32_t tensor, int32_t state)
{
    begin_settings(e);
    if (tensor >= 0)
        change_tensor(e, -1, tensor, state);
    else
        change_op(e, op, state);
}

/* ---- one visit ---- */

/* What the visit makes of the states: looked up where it was met before. NULL: they stay. */
static const int32_t *looked_up(Engine *e, int32_t op, FlowDirection direction, uint64_t hash,
                                const int32_t *key, int n, int32_t *room)
{
    int32_t *last = &e->last[op][direction & 1], found = *last - 1;
    if (found < 0 || !visit_memo_is(&e->memo, found, hash, key, n))
        found = visit_memo_find(&e->memo, hash, key, n);
    if (found < 0) {
        const GraphOp *at = &e->graph->op[op];
        memcpy(room, key + 1, (size_t)(n - 1) * sizeof *room);
        e->visit(e->context, e->graph->rule[op], key[0] >> 2 & 15, direction, room, at->n_inputs,
                 at->n_outputs);
        found = visit_memo_put(&e->memo, e->arena, hash, key, n, room);
    }
    *last = found + 1;
    return visit_memo_value(&e->memo, found);
}

/* Takes over what a visit made of the states in key. Of a tensor that is two operands, or of two of
 * one group: in sweeps it gets the first one's news now, the other's when the op is looked at next;
 * by stack the last one's, since the op is not looked at again for its own sake. */
static void take_over(Engine *e, int32_t op, FlowDirection direction, const int32_t *key, int n,
                      const int32_t *value)
{
    const int32_t *tensor = e->graph->tensor + e->graph->op[op].input;
    for (int o = 0; o < n; o++)
        if (value[1 + o] != key[2 + o] &&
            (direction == FLOW_BOTH ? e->now[tensor[o]] != value[1 + o]
                                    : e->now[tensor[o]] == key[2 + o]))
            change_tensor(e, op, tensor[o], value[1 + o]);
    if (value[0] != key[1])
        change_op(e, op, value[0]);
    if (direction != FLOW_BOTH && !e->group && !set_has(&e->twice, op))
        set_drop(&e->due[direction], op);
}

/* An op of very many operands. */
static void visit_long(Engine *e, int32_t op, int pass, FlowDirection direction)
{
    const GraphOp *at = &e->graph->op[op];
    const int32_t *tensor = e->graph->tensor + at->input;
    int n = n_operands(at);
    Arena *scratch = arena_new();
    int32_t *key = arena_array(scratch, int32_t, n + 2), *value = key + 1;
    key[1] = e->own[op];
    for (int o = 0; o < n; o++)
        key[2 + o] = tensor[o] < 0 ? -1 : e->now[tensor[o]];
    value = memcpy(arena_array(scratch, int32_t, n + 1), value, (size_t)(n + 1) * sizeof *value);
    e->visit(e->context, e->graph->rule[op], pass, direction, value, at->n_inputs, at->n_outputs);
    take_over(e, op, direction, key, n, value);
    arena_free(scratch);
}

/* Counts a visit, and now and then looks whether to stop. */
static void count_visit(Engine *e)
{
    enum { TELL_VISITS = 4096 };
    if (++e->n_visits % TELL_VISITS != 0)
        return;
    progress_add(e->progress, TELL_VISITS);
    e->stopped = progress_stopped(e->progress);
}

static void visit_op(Engine *e, int32_t op, int pass, FlowDirection direction)
{
    const GraphOp *at = &e->graph->op[op];
    const int32_t *tensor = e->graph->tensor + at->input;
    int n = n_operands(at);
    count_visit(e);
    if (direction != FLOW_BOTH)
        set_drop(&e->due[direction], op);
    if (n + 2 > STATES_SHORT) {
        visit_long(e, op, pass, direction);
        return;
    }
    int32_t key[STATES_SHORT], room[STATES_SHORT];
    key[0] = (e->graph->rule[op] * 16 + pass) * 4 + (int32_t)direction;
    key[1] = e->own[op];
    uint64_t hash = visit_memo_hash(visit_memo_hash((uint64_t)n, key[0]), key[1]);
    for (int o = 0; o < n; o++) {
        key[2 + o] = tensor[o] < 0 ? -1 : e->now[tensor[o]];
        hash = visit_memo_hash(hash, key[2 + o]);
    }
    const int32_t *value = looked_up(e, op, direction, hash, key, n + 2, room);
    if (value)
        take_over(e, op, direction, key, n, value);
}

/* ---- the past ---- */

/* Events of the past at one place: takes them over into what was. Returns where they end. */
static int32_t was_change(Engine *e, int32_t at, int32_t end)
{
    int32_t op = e->past->events.at[at].op;
    for (; at < end && e->past->events.at[at].op == op; at++) {
        const FlowEvent *event = &e->past->events.at[at];
        if (event->tensor >= 0) {
            e->was[event->tensor] = event->after;
            mark_difference(e, event->tensor);
        } else {
            e->was_own[event->op] = event->after;
            if (e->own[event->op] == event->after)
                continue;
            set_add(&e->differs, event->op);
            make_due(e, event->op);
        }
    }
    return at;
}

static int32_t turn_end(const FlowLog *log, int turn)
{
    return turn + 1 < log->turns.n ? log->turns.at[turn + 1].first : log->events.n;
}

/* Settings of states in the past, up to its next sweep. An own state has the op it is of. */
static void pass_settings(Engine *e)
{
    while (e->past_turn < e->past->turns.n && e->past->turns.at[e->past_turn].pass == PASS_SET) {
        int32_t end = turn_end(e->past, e->past_turn);
        for (int32_t at = e->past->turns.at[e->past_turn].first; at < end;)
            at = was_change(e, at, end);
        e->past_turn++;
    }
}

static bool op_differs(const Engine *e, int32_t op)
{
    const GraphOp *at = &e->graph->op[op];
    const int32_t *tensor = e->graph->tensor + at->input;
    if (e->own[op] != e->was_own[op])
        return true;
    for (int o = 0; o < n_operands(at); o++)
        if (tensor[o] >= 0 && e->now[tensor[o]] != e->was[tensor[o]])
            return true;
    return false;
}

/* An op at which the past changed something, and which sees what it saw then: the same again. */
static int32_t repeat_past(Engine *e, int32_t at, int32_t end)
{
    int32_t op = e->past->events.at[at].op;
    for (; at < end && e->past->events.at[at].op == op; at++) {
        const FlowEvent *event = &e->past->events.at[at];
        log_event(e, op, event->tensor, event->after);
        if (event->tensor >= 0) {
            e->now[event->tensor] = e->was[event->tensor] = event->after;
            mark_near(e, event->tensor);
        } else {
            e->own[op] = e->was_own[op] = event->after;
        }
    }
    return at;
}

static bool takes_part(const Engine *e, const FlowPass *pass, int32_t op)
{
    return !pass->takes_part || pass->takes_part[e->graph->rule[op]];
}

/* Half a sweep beside a past one (events from at to end; none when that pass had ended): ops that
 * see what they saw then are left as they were then. */
static void replay_half(Engine *e, const FlowPass *pass, FlowDirection direction, int32_t at,
                        int32_t end)
{
    bool forward = direction == FLOW_FORWARD;
    int32_t none = forward ? e->n_words * 64 : -1;
    for (int32_t from = forward ? 0 : e->graph->n_ops - 1;;) {
        int32_t then = at < end ? e->past->events.at[at].op : none;
        int32_t op = set_along(&e->differs, direction, from, then);
        if (op == none)
            return;
        bool differs = set_has(&e->differs, op) && op_differs(e, op);
        if (!differs)
            set_drop(&e->differs, op);
        if (then == op)
            at = differs ? was_change(e, at, end) : repeat_past(e, at, end);
        if (differs && set_has(&e->due[direction], op) && takes_part(e, pass, op))
            visit_op(e, op, pass->pass, direction);
        from = forward ? op + 1 : op - 1;
        if (e->stopped)
            return;
    }
}

/* ---- sweeps ---- */

static void sweep_half(Engine *e, const FlowPass *pass, FlowDirection direction)
{
    OpSet *due = &e->due[direction];
    bool forward = direction == FLOW_FORWARD;
    int32_t none = forward ? e->n_words * 64 : -1;
    int32_t op = set_along(due, direction, forward ? 0 : e->graph->n_ops - 1, none);
    while (op != none && !e->stopped) {
        if (takes_part(e, pass, op))
            visit_op(e, op, pass->pass, direction);
        op = set_along(due, direction, forward ? op + 1 : op - 1, none);
    }
}

static bool past_has(const Engine *e, int pass)
{
    return e->past && e->past_turn < e->past->turns.n &&
           e->past->turns.at[e->past_turn].pass == pass;
}

/* True when something changed. */
static bool turn(Engine *e, const FlowPass *pass, FlowDirection direction)
{
    int32_t first = e->log->events.n;
    begin_turn(e, pass->pass, direction);
    if (!e->past) {
        sweep_half(e, pass, direction);
    } else if (past_has(e, pass->pass)) {
        int past_turn = e->past_turn++;
        replay_half(e, pass, direction, e->past->turns.at[past_turn].first,
                    turn_end(e->past, past_turn));
    } else {
        replay_half(e, pass, direction, 0, 0);
    }
    return e->log->events.n > first;
}

/* Beside any change so far, ops that may do more in this pass than in the last. */
static void due_again(Engine *e, const FlowPass *pass)
{
    for (int w = 0; w < e->n_words; w++)
        for (Word word = e->touched.word[w]; word; word &= word - 1) {
            int32_t op = w * 64 + __builtin_ctzll(word);
            if (!pass->again || pass->again[e->graph->rule[op]])
                make_due(e, op);
        }
}

void engine_sweep(Engine *e, const FlowPass *pass)
{
    if (e->past)
        pass_settings(e);
    due_again(e, pass);
    if (pass->once) {
        turn(e, pass, FLOW_FORWARD);
        return;
    }
    int fixed = -1; /* turns up to the first double sweep that changed nothing */
    do {
        bool changed = turn(e, pass, FLOW_FORWARD);
        changed |= turn(e, pass, FLOW_BACKWARD);
        if (e->stopped)
            return;
        fixed = changed ? -1 : fixed < 0 ? e->log->turns.n : fixed;
    } while (fixed < 0 || past_has(e, pass->pass));
    e->log->turns.n = fixed;
}

bool engine_sweep_all(Engine *e, const FlowPass *pass)
{
    int32_t first = e->log->events.n;
    if (!e->run_arena)
        begin_run(e);
    begin_turn(e, pass->pass, FLOW_FORWARD);
    for (int32_t op = 0; op < e->graph->n_ops; op++)
        if (takes_part(e, pass, op))
            visit_op(e, op, pass->pass, FLOW_FORWARD);
    begin_turn(e, pass->pass, FLOW_BACKWARD);
    for (int32_t op = e->graph->n_ops - 1; op >= 0; op--)
        if (takes_part(e, pass, op))
            visit_op(e, op, pass->pass, FLOW_BACKWARD);
    return e->log->events.n > first;
}

/* ---- the stack ---- */

typedef struct {
    int32_t *op;
    int n;
    OpSet on; /* those that are on it */
} RuleStack;

static void push(RuleStack *stack, int32_t op)
{
    if (set_has(&stack->on, op))
        return;
    set_add(&stack->on, op);
    stack->op[stack->n++] = op;
}

static bool makes(const FlowGraph *graph, int32_t op, int32_t tensor)
{
    const GraphOp *at = &graph->op[op];
    for (int o = at->n_inputs; o < n_operands(at); o++)
        if (graph->tensor[at->input + o] == tensor)
            return true;
    return false;
}

/* The maker of a tensor that op `visited` changed below its readers, the first of them on top; that
 * op itself is not due. */
static void push_near(const Engine *e, RuleStack *stack, int32_t visited, int32_t tensor)
{
    Near near = near_of(e, tensor);
    if (near.maker >= 0 && near.maker != visited)
        push(stack, near.maker);
    for (int i = 0; i < near.n; i++)
        if (near.op[i] != visited && makes(e->graph, near.op[i], tensor))
            push(stack, near.op[i]);
    for (int i = near.n - 1; i >= 0; i--)
        if (near.op[i] != visited && !makes(e->graph, near.op[i], tensor))
            push(stack, near.op[i]);
}

void engine_stack(Engine *e, int pass)
{
    begin_turn(e, pass, FLOW_BOTH);
    Arena *scratch = arena_new();
    RuleStack stack = {.op = arena_array(scratch, int32_t, e->graph->n_ops)};
    stack.on = set_new(scratch, e->n_words);
    for (int32_t op = e->graph->n_ops - 1; op >= 0; op--)
        push(&stack, op);
    while (stack.n > 0 && !e->stopped) {
        int32_t op = stack.op[--stack.n], first = e->log->events.n;
        set_drop(&stack.on, op);
        visit_op(e, op, pass, FLOW_BOTH);
        for (int32_t i = first; i < e->log->events.n; i++)
            if (e->log->events.at[i].tensor >= 0)
                push_near(e, &stack, op, e->log->events.at[i].tensor);
    }
    arena_free(scratch);
}

/* ---- asking ---- */

int32_t engine_tensor(const Engine *e, int32_t tensor)
{
    return e->now[tensor];
}

int32_t engine_op(const Engine *e, int32_t op)
{
    return e->own[op];
}

const FlowLog *engine_log(const Engine *e)
{
    return e->log;
}

int64_t engine_n_visits(const Engine *e)
{
    return e->n_visits;
}
