#include "core/rules/infer_state.h"
#include "core/space/gradient.h"

#include <inttypes.h>
#include <math.h>

/* How many ops inside loops may be inferred again in total, so that nested loops end. */
enum { RERUN_OPS_MIN = 1 << 14, RERUNS_MAX = 16 };

static const double REPEAT_MAX = 0x1p53; /* exporters write 2^63 - 1 for "no limit" */

/* ---- ops ---- */

/* Whether all inputs that the op is evaluated from are known; with allow_free, sizes may still be
 * free. */
static bool is_host(const InferState *state, int32_t op, const InferKind *kind)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    for (int i = 0; i < state->graph->ops[op].n_inputs; i++) {
        int32_t t = inputs[i];
        if (t < 0)
            continue;
        if ((kind->needs_values && !state->known[t]) || infer_is_list(state, t))
            return false;
        if (state->result->shape[t] < 0 && infer_shape_is_late(state, state->result->shape[t]))
            return false;
    }
    return true;
}

/* Whether a host op has the values of its inputs, completely or in part. */
static bool can_evaluate(const InferState *state, int32_t op, const InferKind *kind)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    for (int i = 0; i < state->graph->ops[op].n_inputs; i++) {
        int32_t t = inputs[i];
        if (t >= 0 && (state->result->shape[t] == -1 || infer_is_list(state, t) ||
                       (kind->needs_values && !inferred_value(state->result, t))))
            return false;
    }
    return true;
}

/* The code of output o from what inference found and what the file declares. */
static int32_t output_code(InferState *state, int32_t op, int o, int32_t code)
{
    if (code == -1)
        code = infer_declared(state, op_outputs(state->graph, op)[o], NULL);
    return code_is_partly(code) ? infer_name_sizes(state, op, o, code) : code;
}

/* Sets the outputs. answers NULL: only that the outputs are host values is known. */
static void set_outputs(InferState *state, int32_t op, const InferAnswer *answers, bool host,
                        bool fixed)
{
    static const InferAnswer nothing = {-1, DT_NONE, NULL};
    const int32_t *outputs = op_outputs(state->graph, op);
    for (int o = 0; o < state->graph->ops[op].n_outputs; o++) {
        int32_t t = outputs[o];
        if (t < 0)
            continue;
        const InferAnswer *answer = answers ? &answers[o] : &nothing;
        const Value *value = answer->value;
        bool sequence = value && value->sequence;
        if (sequence)
            value = infer_bind_elements(state, op, o, value);
        state->result->shape[t] = sequence             ? infer_sequence_shape(state, value)
                                  : answer->shape >= 0 ? answer->shape
                                                       : output_code(state, op, o, answer->shape);
        state->result->dtype[t] =
            answer->dtype != DT_NONE ? (uint8_t)answer->dtype : state->graph->tensors[t].dtype;
        inferred_set_value(state->result, t, value);
        state->known[t] = host || (value && !sequence && !value->partly);
        state->fixed[t] = fixed;
    }
}

static bool are_known(const InferAnswer *answers, int n)
{
    for (int o = 0; o < n; o++)
        if (!answers[o].value || answers[o].value->partly)
            return false;
    return true;
}

/* Sets the shapes that the rule gives to a host op whose inputs depend on free dims. */
static void set_shapes_alone(InferState *state, int32_t op, const InferKind *kind)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    int n = state->graph->ops[op].n_outputs;
    InferAnswer *answers = arena_array(state->scratch, InferAnswer, n);
    bool shaped = kind->row && n > 0;
    for (int i = 0; i < state->graph->ops[op].n_inputs; i++)
        shaped &= inputs[i] < 0 || state->result->shape[inputs[i]] != -1;
    shaped = shaped && infer_twice(state, op, kind, CASE_RULE, answers);
    set_outputs(state, op, shaped ? answers : NULL, true, true);
}

/* sure: the inputs are known before the run. Otherwise they may be known only in part, with sizes
 * from the run; then the op is a host op if its result is known nevertheless (dim 1 of a
 * [?,12]). */
static bool infer_host_op(InferState *state, int32_t op, const InferKind *kind, bool sure,
                          int32_t *given)
{
    state->result->space[op] = SPACE_HOST;
    if (!can_evaluate(state, op, kind)) {
        if (sure)
            set_shapes_alone(state, op, kind);
        return sure;
    }
    const InferCase *found = infer_find_case(state, op, kind, CASE_HOST);
    if (found->space != SPACE_HOST)
        return false;
    *given = found->answer;
    if (!sure && !are_known(state->answers.at + found->answer, state->graph->ops[op].n_outputs))
        return false;
    set_outputs(state, op, state->answers.at + found->answer, true, true);
    return true;
}

/* The answers of `given`, unless they say nothing: shape arithmetic goes on with what is known. */
static const InferAnswer *answers_in_part(InferState *state, int32_t op, int32_t given,
                                          const InferAnswer *answers)
{
    int n = state->graph->ops[op].n_outputs;
    InferAnswer *both = arena_array(state->scratch, InferAnswer, n);
    for (int o = 0; o < n; o++)
        both[o] =
            state->answers.at[given + o].shape != -1 ? state->answers.at[given + o] : answers[o];
    return both;
}

static bool is_result(const InferState *state, int32_t op)
{
    const char *name = op_operator(state->graph, op);
    return strcmp(name, "LoopStack") == 0 || strcmp(name, "LoopResult") == 0;
}

/* The number of iterations that the user gives of the loop whose result the op is; -1 if none. */
static double assumed_trips(const InferState *state, int32_t op)
{
    int32_t first = op;
    while (first > 0 && is_result(state, first - 1))
        first--;
    for (int b = 0; b < state->graph->n_bodies; b++)
        if (state->graph->bodies[b].end == first && state->result->trips_assumed[b])
            return state->result->trips[b];
    return -1;
}

/* Rows that a loop stacks so often as the user says can be sharded, and so what is made of
 * sequences with sizes that the user says. */
static int32_t space_of(InferState *state, int32_t op, const InferKind *kind,
                        const InferCase *found)
{
    double n = found->unknown_size && strcmp(op_operator(state->graph, op), "LoopStack") == 0
                   ? assumed_trips(state, op)
                   : -1;
    int32_t space = found->sequence && state->spaces.at[found->space]->no_rule
                        ? infer_assumed_sequence(state, op, kind)
                    : n < 0 ? -1
                            : infer_assumed_stack(state, op, kind, (int64_t)n);
    return space < 0 ? found->space : space;
}

/* given: the first of the partly known answers for its outputs; -1 if there are none. */
static void infer_rule_op(InferState *state, int32_t op, const InferKind *kind, int32_t given)
{
    const GraphOp *node = &state->graph->ops[op];
    const int32_t *inputs = op_inputs(state->graph, op);
    bool fixed = node->n_inputs > 0;
    for (int i = 0; i < node->n_inputs; i++)
        fixed &= inputs[i] < 0 || state->fixed[inputs[i]];
    const InferCase *found = infer_find_case(state, op, kind, CASE_RULE);
    InferAnswer *answers = state->answers.at + found->answer;
    set_outputs(state, op, given < 0 ? answers : answers_in_part(state, op, given, answers), false,
                fixed);
    state->result->space[op] = space_of(state, op, kind, found);
    state->result->on_parameters[op] = fixed;
    state->result->program[state->result->n_program++] = op;
}

/* Makes the op a host op whose output is the value of the tensor. */
static void forward_value(InferState *state, int32_t op, int32_t tensor)
{
    const Inferred *result = state->result;
    InferAnswer same = {result->shape[tensor], (Dtype)result->dtype[tensor],
                        inferred_value(result, tensor)};
    state->result->space[op] = SPACE_HOST;
    set_outputs(state, op, &same, true, true);
}

/* The operand that an If takes when its condition is known before the run; -1 if it is not
 * known. */
static int32_t taken_operand(const InferState *state, int32_t op)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    bool whole = state->graph->ops[op].n_inputs == 3 && inputs[0] >= 0;
    const Value *condition = whole ? inferred_value(state->result, inputs[0]) : NULL;
    int64_t taken;
    if (state->graph->ops[op].n_outputs != 1 || !value_one_int(condition, &taken))
        return -1;
    return inputs[taken ? 1 : 2];
}

static void infer_carry(InferState *state, int32_t op, const InferKind *kind);

/* Returns true when the op is a host op; otherwise `given` is what is known in part of its
 * output. */
static bool infer_as_host(InferState *state, int32_t op, const InferKind *kind, int32_t *given)
{
    int32_t taken = kind->branch ? taken_operand(state, op) : -1;
    if (taken >= 0 && state->known[taken]) {
        forward_value(state, op, taken);
        return true;
    }
    return kind->host && infer_host_op(state, op, kind, is_host(state, op, kind), given);
}

static void infer_op(InferState *state, int32_t op)
{
    const InferKind *kind = infer_kind(state, op);
    const GraphOp *node = &state->graph->ops[op];
    int32_t given = -1;
    if (kind->carry && node->n_inputs == 1 && node->n_outputs == 1)
        infer_carry(state, op, kind);
    else if ((!kind->host && !kind->branch) || !infer_as_host(state, op, kind, &given))
        infer_rule_op(state, op, kind, given);
}

/* ---- branches and loops ---- */

/* Sets the output of an op that carries a value into an iteration: the initial value, except for
 * what differs between iterations. */
static void infer_carry(InferState *state, int32_t op, const InferKind *kind)
{
    int32_t t = op_inputs(state->graph, op)[0], in = op_outputs(state->graph, op)[0];
    const InferCarry *carry = NULL;
    for (int32_t c = 0; state->body && c < state->body->n_carries; c++)
        if (state->graph->carries[state->body->carry + c].in == in)
            carry = &state->carries[state->body->carry + c];
    if (t < 0 || !carry || !carry->differs) {
        if (t >= 0 && carry && state->known[t])
            forward_value(state, op, t);
        else
            infer_rule_op(state, op, kind, -1);
        return;
    }
    int32_t shape = state->result->shape[t];
    const Value *value = inferred_value(state->result, t);
    state->result->shape[t] = carry->shape;
    inferred_set_value(state->result, t, carry->value);
    infer_rule_op(state, op, kind, -1);
    state->result->shape[t] = shape;
    inferred_set_value(state->result, t, value);
}

/* Merges a carried shape: dims that an iteration changes become unknown; dims already found unknown
 * keep their size. */
static int32_t carried_code(InferState *state, InferCarry *carry, int32_t op, int32_t in,
                            int32_t next)
{
    const Shape *a = code_shape(state, in), *b = code_shape(state, next);
    if (in == next || !a || !b || a->n_dims != b->n_dims)
        return in == next ? in : -1;
    Shape both = *a;
    for (int64_t d = 0; d < both.n_dims; d++)
        if (a->dim[d] != b->dim[d] && !carry->fresh[d]) {
            carry->fresh[d] = true;
            both.dim[d] = infer_fresh_size(state, op, 0, d);
        }
    return infer_code(state, &both);
}

static bool carry_changes(InferState *state, const GraphCarry *from, InferCarry *carry)
{
    if (from->in < 0 || from->next < 0)
        return false;
    const Inferred *result = state->result;
    const Value *in = inferred_value(result, from->in), *next = inferred_value(result, from->next);
    int32_t code = result->shape[from->in];
    InferCarry old = *carry;
    if (in && in->sequence) {
        carry->value = next && next->sequence ? infer_merge_sequences(state, in, next) : in;
        carry->differs |= carry->value != in;
        carry->shape = infer_sequence_shape(state, carry->value);
        return carry->value != in;
    }
    carry->shape = carried_code(state, carry, state->graph->tensors[from->in].maker, code,
                                result->shape[from->next]);
    bool value = in && (!next || in->id != next->id);
    carry->differs |= value || carry->shape != code;
    return value || carry->shape != code || (old.differs && old.shape != carry->shape);
}

static bool carries_change(InferState *state, const GraphBody *body)
{
    bool changes = false;
    for (int32_t c = 0; c < body->n_carries; c++)
        changes |= carry_changes(state, &state->graph->carries[body->carry + c],
                                 &state->carries[body->carry + c]);
    return changes;
}

/* How often a body runs; -1 if that is known only at run time. */
static double count_trips(const InferState *state, const GraphBody *body)
{
    const Inferred *result = state->result;
    const Value *over = body->of < 0 ? NULL : inferred_value(result, body->of);
    if (over && over->sequence)
        return infer_sequence_length(over);
    if (body->kind == BODY_SCAN) {
        const Shape *shape = body->of < 0 ? NULL : inferred_shape(result, body->of);
        int64_t dim = shape && body->dim < 0 ? body->dim + shape->n_dims : body->dim;
        return shape && dim >= 0 && dim < shape->n_dims ? (double)shape->dim[dim] : -1;
    }
    const GraphCarry *condition = &state->graph->carries[body->carry];
    int32_t begins = op_inputs(state->graph, state->graph->tensors[condition->in].maker)[0];
    return (double)loop_trips(over, begins < 0 ? NULL : inferred_value(result, begins),
                              condition->next < 0 ? NULL : inferred_value(result, condition->next));
}

/* The number of iterations that the user gives as the size of what the loop stacks, or as the
 * length of the sequence that it goes over; -1 if none. */
static double given_trips(InferState *state, const GraphBody *body)
{
    const Graph *graph = state->graph;
    if (body->of >= 0 && infer_is_list(state, body->of))
        return infer_assumed_length(state, body->of);
    for (int32_t op = body->end; op < graph->n_ops; op++) {
        bool stacks = strcmp(op_operator(graph, op), "LoopStack") == 0;
        if (!stacks && strcmp(op_operator(graph, op), "LoopResult") != 0)
            break;
        Str name = str_from(arena_printf(state->scratch, "%s.0", op_name(graph, op)));
        for (int i = state->bindings->n - 1; stacks && i >= 0; i--)
            if (str_eq(state->bindings->at[i].name, name))
                return (double)state->bindings->at[i].size;
    }
    return -1;
}

static void set_repeats(InferState *state, int b)
{
    const GraphBody *body = &state->graph->bodies[b];
    double n = count_trips(state, body), given = n < 0 ? given_trips(state, body) : -1;
    state->result->trips_assumed[b] = given >= 0;
    n = state->result->trips[b] = given >= 0 ? given : n;
    if (n < 0 && state->unknown_trips++ == 0)
        state->unknown_loop = body->end < state->graph->n_ops ? body->end : body->first;
    for (int32_t op = body->first; op < body->end && n >= 0; op++)
        state->result->repeat[op] = fmin(state->result->repeat[op] * n, REPEAT_MAX);
}

static void infer_range(InferState *state, int32_t first, int32_t end, int b);

/* Infers a loop again until the types of carried values are the same in every iteration; each round
 * finds at least one more dim that differs. When reruns_left is used up, carried shapes become
 * unknown. */
static void infer_loop(InferState *state, int b)
{
    const GraphBody *body = &state->graph->bodies[b], *outer = state->body;
    int n_program = state->result->n_program, n_found = state->found.n;
    for (int32_t c = 0; c < body->n_carries; c++)
        state->carries[body->carry + c] = (InferCarry){0};
    for (bool last = false;;) {
        for (int32_t op = body->first; op < body->end; op++)
            state->result->repeat[op] = 1;
        state->body = body;
        infer_range(state, body->first, body->end, b + 1);
        state->body = outer;
        if (progress_stopped(state->progress))
            return;
        if (last || !carries_change(state, body))
            break;
        state->reruns_left -= body->end - body->first;
        last = state->reruns_left < 0;
        for (int32_t c = 0; c < body->n_carries && last; c++)
            state->carries[body->carry + c] = (InferCarry){.differs = true, .shape = -1};
        state->result->n_program = n_program;
        state->found.n = n_found;
    }
    set_repeats(state, b);
}

/* Whether the ops are in a branch that is known before the run not to be taken; such ops are not in
 * the program. */
static bool is_not_taken(const InferState *state, const GraphBody *body)
{
    const Value *condition = body->of < 0 ? NULL : inferred_value(state->result, body->of);
    int64_t taken;
    return (body->kind == BODY_THEN || body->kind == BODY_ELSE) &&
           value_one_int(condition, &taken) && (taken != 0) != (body->kind == BODY_THEN);
}

static void leave_out(InferState *state, const GraphBody *body)
{
    for (int32_t op = body->first; op < body->end; op++) {
        state->result->space[op] = SPACE_HOST;
        for (int o = 0; o < state->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(state->graph, op)[o];
            if (t < 0)
                continue;
            state->result->shape[t] = -1;
            state->result->dtype[t] = state->graph->tensors[t].dtype;
            inferred_set_value(state->result, t, NULL);
            state->known[t] = state->fixed[t] = false;
        }
    }
}

enum { TELL_OPS = 4096 };

/* Reports progress; returns false when inference was cancelled. */
static bool goes_on(InferState *state)
{
    if (++state->n_unreported >= TELL_OPS) {
        progress_add(state->progress, state->n_unreported);
        state->n_unreported = 0;
    }
    return state->n_unreported > 0 || !progress_stopped(state->progress);
}

/* Infers the ops of [first, end); bodies among them are listed from b on. */
static void infer_range(InferState *state, int32_t first, int32_t end, int b)
{
    const GraphBody *bodies = state->graph->bodies;
    int n = state->graph->n_bodies;
    for (int32_t op = first; op < end;) {
        while (b < n && (bodies[b].first < op || bodies[b].first == bodies[b].end))
            b++;
        const GraphBody *body = b < n && bodies[b].end <= end ? &bodies[b] : NULL;
        for (int32_t until = body ? body->first : end; op < until && goes_on(state); op++)
            infer_op(state, op);
        if (!body || progress_stopped(state->progress))
            return;
        if (is_not_taken(state, body))
            leave_out(state, body);
        else if (body->kind == BODY_LOOP || body->kind == BODY_SCAN)
            infer_loop(state, b);
        else
            infer_range(state, op, body->end, b + 1);
        op = body->end;
    }
}

/* Keeps what is known of a sequence. */
static void list(InferState *state, int32_t t, const Value *value)
{
    Inferred *result = state->result;
    if (!result->listed) {
        result->listed = arena_array(state->arena, const char *, state->graph->n_tensors);
        result->items = arena_array(state->arena, int32_t, state->graph->n_tensors);
    }
    int n = infer_sequence_length(value);
    n = n < 0 ? infer_assumed_length(state, t) : n;
    result->listed[t] = infer_sequence_text(state, value);
    result->items[t] = n < 0 ? 1 : n;
}

/* Drops values that only inference needs. */
static void drop_inner_values(InferState *state)
{
    Inferred *result = state->result;
    for (int32_t t = 0; t < state->graph->n_tensors && state->has_inner; t++) {
        const Value *value = inferred_value(result, t);
        if (!value || !(value->partly || value->sequence))
            continue;
        if (value->sequence)
            list(state, t, value);
        inferred_set_value(result, t, NULL);
    }
}

/* ---- all of it ---- */

static bool check_operands(const Graph *graph, int *n_most, Error *err)
{
    *n_most = 1;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        int n = graph->ops[op].n_inputs + graph->ops[op].n_outputs;
        if (n > OPERANDS_MAX)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "op '%s' has %d operands, at most %d are known", op_name(graph, op),
                              n, OPERANDS_MAX);
        *n_most = n > *n_most ? n : *n_most;
    }
    return true;
}

static void make_columns(InferState *state, int n_most)
{
    const Graph *graph = state->graph;
    Inferred *result = state->result;
    Arena *arena = state->arena, *scratch = state->scratch;
    result->shape = arena_array(arena, int32_t, graph->n_tensors);
    result->dtype = arena_array(arena, uint8_t, graph->n_tensors);
    result->values = arena_array(arena, const Value **, graph->n_tensors / VALUE_PAGE + 1);
    result->space = arena_array(arena, int32_t, graph->n_ops);
    result->program = arena_array(arena, int32_t, graph->n_ops);
    result->on_parameters = arena_array(arena, bool, graph->n_ops);
    if (graph->n_bodies > 0) {
        result->repeat = arena_array(arena, double, graph->n_ops);
        result->trips = arena_array(arena, double, graph->n_bodies);
        result->trips_assumed = arena_array(arena, bool, graph->n_bodies);
        state->carries = arena_array(scratch, InferCarry, graph->n_carries);
        state->reruns_left = RERUN_OPS_MIN + RERUNS_MAX * (int64_t)graph->n_ops;
        for (int32_t op = 0; op < graph->n_ops; op++)
            result->repeat[op] = 1;
    }
    state->sequences = intern_new(scratch);
    state->known = arena_array(scratch, bool, graph->n_tensors);
    state->fixed = arena_array(scratch, bool, graph->n_tensors);
    state->kinds = arena_array(scratch, InferKind, names_count(graph->names));
    state->found.room = graph->n_ops;
    state->found.at = arena_array(scratch, int32_t, graph->n_ops);
    state->keys = intern_new(scratch);
    state->key = arena_array(scratch, int32_t, 3 * n_most + 8);
    state->shape = arena_array(scratch, const Shape *, n_most);
    state->dtype = arena_array(scratch, Dtype, n_most);
    state->value = arena_array(scratch, const Value *, n_most);
    state->out_value = arena_array(scratch, const Value *, n_most);
    state->out_shape = arena_array(scratch, Shape, n_most);
    state->out_dtype = arena_array(scratch, Dtype, n_most);
}

static bool run(InferState *state, Error *err)
{
    int n_most;
    if (!check_operands(state->graph, &n_most, err))
        return false;
    make_columns(state, n_most);
    if (!infer_check_free_dims(state, err) || !infer_start_tensors(state, err))
        return false;
    vec_push(state->scratch, &state->answers,
             ((InferAnswer){-1, DT_NONE, NULL})); /* the answer when there is no output */
    infer_range(state, 0, state->graph->n_ops, 0);
    if (!progress_goes_on(state->progress, err))
        return false;
    state->result->spaces = state->spaces.at;
    state->result->n_spaces = state->spaces.n;
    infer_add_findings(state);
    drop_inner_values(state);
    return true;
}

Inferred *infer(Arena *arena, const Graph *graph, const Registry *registry,
                const DimBindings *bindings, bool allow_free, Error *err)
{
    return infer_watched(arena, graph, registry, bindings, NULL, allow_free, NULL, err);
}

Inferred *infer_watched(Arena *arena, const Graph *graph, const Registry *registry,
                        const DimBindings *bindings, const GivenValues *given, bool allow_free,
                        Progress *progress, Error *err)
{
    progress_stage(progress, "inferring", graph->n_ops);
    Inferred *result = arena_make(arena, Inferred);
    *result =
        (Inferred){.graph = graph, .registry = registry, .arena = arena, .shapes = graph->shapes};
    InferState state = {.graph = graph,
                        .registry = registry,
                        .bindings = bindings,
                        .given = given,
                        .allow_free = allow_free,
                        .progress = progress,
                        .result = result,
                        .arena = arena,
                        .scratch = arena_new(),
                        .values = values_new(arena),
                        .sizes = sizes_new(arena)};
    result->sizes = state.sizes;
    bool done = run(&state, err);
    arena_free(state.scratch);
    return done ? result : NULL;
}

void infer_put_code(const Inferred *result, int32_t code, Buf *out)
{
    const Shape *shape = code == -1 ? NULL : shapes_at(result->shapes, code < 0 ? -2 - code : code);
    if (!shape)
        buf_putc(out, '?');
    else if (shape->n_dims == 0)
        buf_puts(out, "scalar");
    for (int64_t d = 0; shape && d < shape->n_dims; d++) {
        buf_puts(out, d > 0 ? "," : "");
        if (shape->dim[d] >= 0)
            buf_printf(out, "%" PRId64, shape->dim[d]);
        else if (shape->dim[d] == SIZE_UNNAMED)
            buf_putc(out, '?');
        else
            text_printable(str_from(sizes_at(result->sizes, shape->dim[d])->name), out);
    }
}

void inferred_set_value(Inferred *inferred, int32_t tensor, const Value *value)
{
    const Value ***page = &inferred->values[tensor / VALUE_PAGE];
    if (!*page && value)
        *page = arena_array(inferred->arena, const Value *, VALUE_PAGE);
    if (*page)
        (*page)[tensor % VALUE_PAGE] = value;
}

void inferred_put_shape(const Inferred *inferred, int32_t tensor, Buf *out)
{
    if (inferred->listed && inferred->listed[tensor])
        buf_puts(out, inferred->listed[tensor]);
    else
        infer_put_code(inferred, inferred->shape[tensor], out);
}

bool *inferred_in_program(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    bool *in = arena_array(arena, bool, graph->n_tensors);

    for (int i = 0; i < inferred->n_program; i++) {
        const GraphOp *op = &graph->ops[inferred->program[i]];
        for (int o = 0; o < op->n_inputs + op->n_outputs; o++)
            if (graph->operands[op->input + o] >= 0)
                in[graph->operands[op->input + o]] = true;
    }
    for (int i = 0; i < graph->n_inputs; i++)
        in[graph->inputs[i]] = true;
    for (int i = 0; i < graph->n_outputs; i++)
        in[graph->outputs[i]] = true;
    return in;
}

int64_t inferred_bytes(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    return inferred_part_bytes(inferred, tensor, shape ? shape_elements(shape) : 0);
}

int64_t inferred_params(const Inferred *inferred)
{
    const Graph *graph = (inferred->forward ? inferred->forward : inferred)->graph;
    int64_t n = 0;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        if (graph->tensors[t].kind == TENSOR_INITIALIZER && !graph->tensors[t].buffer && shape &&
            dtype_is_float((Dtype)graph->tensors[t].dtype) &&
            (!inferred->forward || tensor_n_uses(graph, t) > 0))
            n += shape_elements(shape);
    }
    return n;
}

static const Operator *find_operator(const Inferred *inferred, const char *name)
{
    return inferred->registry ? registry_find(inferred->registry, str_from(name)) : NULL;
}

const Operator *inferred_operator(const Inferred *inferred, int32_t op)
{
    return find_operator(inferred, op_operator(inferred->graph, op));
}

const Operator *inferred_forward_operator(const Inferred *inferred, int32_t op)
{
    const OpSpace *space = inferred_space(inferred, op);
    return space && space->gradient ? find_operator(inferred, space->gradient->of)
                                    : inferred_operator(inferred, op);
}

OperatorRows operator_rows_new(Arena *arena, const Inferred *inferred)
{
    int n = names_count(inferred->graph->names);
    return (OperatorRows){inferred, arena_array(arena, const Operator *, n)};
}

const Operator *operator_row(const OperatorRows *rows, int32_t op)
{
    const Operator **row = &rows->row[rows->inferred->graph->ops[op].op_type];
    if (!*row)
        *row = inferred_operator(rows->inferred, op);
    return *row;
}

unsigned operator_row_flags(const OperatorRows *rows, int32_t op)
{
    const Operator *row = operator_row(rows, op);
    return row ? row->flags : 0;
}
