#include "core/rules/infer_state.h"

#include "core/rules/at_load.h"

#include "core/rules/schema.h"

/* ---- keys ---- */

static bool operator_reads(const Operator *row, int input)
{
    return input < 16 ? row->reads >> input & 1 : row->reads == OPERATOR_ANY;
}

/* Finds which inputs of an op the rule reads, by the numbers that the op has for them. */
static void find_reads(InferKind *kind)
{
    const Alias *alias = kind->alias;
    bool ours = !alias || alias->n_operands == 0;
    kind->reads_rest = ours && operator_reads(kind->row, 64);
    for (int i = 0; i < (ours ? 64 : alias->n_operands); i++) {
        int input = ours ? i : alias->operand[i];
        if (input >= 0 && operator_reads(kind->row, i))
            kind->reads |= (uint64_t)1 << input;
    }
}

/* The value of input t that the rule of an op may use. */
static const Value *value_read(const InferState *state, bool reads, int32_t t)
{
    const Value *value = inferred_value(state->result, t);
    const Value *given = reads && state->result->given ? state->result->given[t] : NULL;
    if (given && (!value || value->partly))
        return given;
    return value || !reads ? value : host_list(state->values, state->graph, t);
}

/* The key of a case. What is known of a sequence is part of it; of an op under the name that
 * another system has for it, what is declared of its results. */
static size_t case_key(const InferState *state, int32_t op, const InferKind *kind, CaseKind wanted)
{
    const GraphOp *node = &state->graph->ops[op];
    const int32_t *inputs = op_inputs(state->graph, op), *outputs = op_outputs(state->graph, op);
    const Inferred *result = state->result;
    int32_t *key = state->key;
    *key++ = node->op_type;
    *key++ = node->attrs;
    *key++ = (int32_t)wanted;
    *key++ = node->n_inputs | node->n_outputs << 16; /* OPERANDS_MAX at most */
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = inputs[i];
        if (t < 0) {
            *key++ = INT32_MIN;
            continue;
        }
        *key++ = result->shape[t];
        *key++ = result->dtype[t];
        bool reads = infer_reads_value(kind, i);
        const Value *list = infer_is_list(state, t) ? inferred_value(result, t) : NULL;
        if (list)
            *key++ = -2 - list->id;
        else if (wanted == CASE_HOST || reads) {
            const Value *value = value_read(state, reads, t);
            *key++ = value ? value->id : -1;
        }
    }
    for (int o = 0; o < node->n_outputs; o++)
        if (outputs[o] < 0)
            *key++ = -o - 1;
        else if (kind->alias)
            *key++ = state->graph->tensors[outputs[o]].declared;
    return (size_t)(key - state->key) * sizeof *key;
}

/* ---- cases ---- */

RuleCall infer_call(const InferState *state, int32_t op, const InferKind *kind)
{
    const GraphOp *node = &state->graph->ops[op];
    const int32_t *inputs = op_inputs(state->graph, op);
    const Inferred *result = state->result;
    int64_t opset = op_opset(state->graph, op);
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = inputs[i];
        state->shape[i] = t < 0 ? NULL : inferred_shape(result, t);
        state->dtype[i] = t < 0 ? DT_NONE : (Dtype)result->dtype[t];
        state->value[i] = t < 0 ? NULL : value_read(state, infer_reads_value(kind, i), t);
    }
    for (int o = 0; o < node->n_outputs; o++) {
        state->out_shape[o] = (Shape){0};
        state->out_dtype[o] = DT_NONE;
        state->out_value[o] = NULL;
    }
    return (RuleCall){.arena = state->arena,
                      .graph = state->graph,
                      .op = op,
                      .n_inputs = node->n_inputs,
                      .n_outputs = node->n_outputs,
                      .shape = state->shape,
                      .dtype = state->dtype,
                      .value = state->value,
                      .opset = opset > 0 ? opset : OPSET_LATEST,
                      .out_shape = state->out_shape,
                      .out_dtype = state->out_dtype};
}

static void keep_error(InferState *state, InferCase *made, const Error *err)
{
    if (!error_is_set(err))
        return;
    made->refused = arena_str(state->arena, str_from(err->text));
    made->hint = arena_str(state->arena, str_from(err->hint));
}

static void push_answers(InferState *state, InferCase *made, const InferAnswer *answers, int n)
{
    made->answer = state->answers.n;
    for (int o = 0; o < n; o++)
        vec_push(state->scratch, &state->answers, answers[o]);
}

/* Adds the answers of host evaluation, or of a rule (done: it did not refuse), for the outputs. */
static void add_answers(InferState *state, InferCase *made, const RuleCall *call, bool done)
{
    made->answer = state->answers.n;
    for (int o = 0; o < call->n_outputs; o++) {
        InferAnswer answer = {-1, DT_NONE, NULL};
        const Value *value = state->out_value[o];
        if (value)
            answer = (InferAnswer){shapes_put(state->result->shapes, &value->shape), value->dtype,
                                   value};
        else if (done)
            answer =
                (InferAnswer){infer_code(state, &call->out_shape[o]), call->out_dtype[o], NULL};
        made->unknown_size |= code_is_partly(answer.shape);
        vec_push(state->scratch, &state->answers, answer);
    }
}

/* Answers a Constant of many floats or of strings: nothing has to be computed, although it has no
 * value here. */
static bool answer_constant(const InferState *state, int32_t op, InferAnswer *answer)
{
    static const struct {
        const char *name;
        Dtype dtype;
        bool scalar;
    } forms[] = {{"value_floats", DT_F32, false},
                 {"value_string", DT_STR, true},
                 {"value_strings", DT_STR, false}};
    const Attr *attr = op_attr(state->graph, op, "value");
    if (strcmp(op_operator(state->graph, op), "Constant") != 0 ||
        state->graph->ops[op].n_outputs != 1)
        return false;
    if (attr && attr->type == ATTR_TENSOR) {
        *answer = (InferAnswer){attr->shape, (Dtype)attr->dtype, NULL};
        return true;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        attr = op_attr(state->graph, op, forms[i].name);
        if (!attr)
            continue;
        Shape shape = {.n_dims = forms[i].scalar ? 0 : 1, .dim = {forms[i].scalar ? 0 : attr->n}};
        *answer = (InferAnswer){shapes_put(state->result->shapes, &shape), forms[i].dtype, NULL};
        return true;
    }
    return false;
}

/* INPUTS_DECIDED: all are known except values that decide the shape. */
typedef enum { INPUTS_KNOWN, INPUTS_DECIDED, INPUTS_PARTLY, INPUTS_UNKNOWN } Inputs;

/* Whether the operand belongs to a branch of an If that is known not to be taken; it counts as
 * absent. */
static bool is_not_taken(const InferState *state, const InferKind *kind, int i)
{
    const Value *condition = kind->branch ? state->value[0] : NULL;
    int64_t taken;
    return i > 0 && value_one_int(condition, &taken) && (i == 1) != (taken != 0);
}

static Inputs inputs_of(const InferState *state, int32_t op, const InferKind *kind)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    Inputs found = INPUTS_KNOWN;
    for (int i = 0; i < state->graph->ops[op].n_inputs; i++) {
        int32_t t = inputs[i];
        if (t < 0 || is_not_taken(state, kind, i))
            continue;
        if (state->result->shape[t] == -1)
            return INPUTS_UNKNOWN;
        if (code_is_partly(state->result->shape[t]) ||
            (state->value[i] && state->value[i]->partly && infer_reads_value(kind, i)))
            found = INPUTS_PARTLY;
    }
    return found;
}

static void make_host_case(InferState *state, int32_t op, const InferKind *kind, InferCase *made)
{
    RuleCall call = infer_call(state, op, kind);
    Error err = {0};
    InferAnswer constant;
    bool partly = false;
    for (int i = 0; i < call.n_inputs; i++) {
        int32_t t = op_inputs(state->graph, op)[i];
        partly |= t >= 0 && (code_is_partly(state->result->shape[t]) ||
                             (call.value[i] && call.value[i]->partly));
    }
    made->space = SPACE_HOST;
    if (partly) {
        InferAnswer *answers = arena_array(state->scratch, InferAnswer, call.n_outputs);
        if (infer_twice(state, op, kind, CASE_HOST, answers))
            push_answers(state, made, answers, call.n_outputs);
        else
            made->space = SPACE_NONE;
    } else if (host_evaluate(state->values, &call, state->out_value, &err)) {
        add_answers(state, made, &call, false);
    } else if (answer_constant(state, op, &constant)) {
        push_answers(state, made, &constant, 1);
    } else {
        made->space = SPACE_NONE;
        keep_error(state, made, &err);
    }
}

/* The op space of a replicated op. Operands of unknown rank have n_dims -1; absent ones have no
 * shape. */
static OpSpace *replicated(InferState *state, RuleCall *call)
{
    static const Shape unknown = {.n_dims = -1};
    const int32_t *inputs = op_inputs(state->graph, call->op);
    for (int i = 0; i < call->n_inputs; i++)
        if (inputs[i] >= 0)
            state->shape[i] = state->result->shape[inputs[i]] < 0
                                  ? &unknown
                                  : inferred_shape(state->result, inputs[i]);
    return registry_replicated(call);
}

static bool apply_rule(InferState *state, const InferKind *kind, RuleCall *call, InferCase *made,
                       Error *err)
{
    state->reads = (AttrReads){0};
    call->alias = kind->alias;
    call->reads = &state->reads;
    bool done = registry_apply(kind->row, call, err);
    Error mistyped = {0};
    if (kind->row->rule)
        schema_find_unknown(call, kind->row, &made->unknown, &made->meant);
    if (kind->row->rule && done && !schema_check_types(call, kind->row, &mistyped))
        made->mistyped = arena_str(call->arena, str_from(mistyped.text));
    return done;
}

/* A name that another system has for an operator may come with arguments that the rule reads as
 * others: then it finds other results than the file declares, and the file is right. */
static bool fits_declared(const InferState *state, const InferKind *kind, const RuleCall *call,
                          Error *err)
{
    const int32_t *outputs = op_outputs(state->graph, call->op);
    for (int o = 0; o < call->n_outputs && kind->alias; o++) {
        const GraphTensor *made = outputs[o] < 0 ? NULL : &state->graph->tensors[outputs[o]];
        const Shape *shape = &call->out_shape[o];
        if (!made || made->declared < 0)
            continue;
        bool fits = made->n_declared == shape->n_dims &&
                    (made->dtype == DT_NONE || made->dtype == call->out_dtype[o]);
        for (int d = 0; fits && d < made->n_declared; d++) {
            DeclaredDim dim = state->graph->declared[made->declared + d];
            int64_t size = dim_size(state->graph, dim, state->bindings);
            fits = size < 0 || shape->dim[d] < 0 || size == shape->dim[d];
        }
        if (!fits)
            return error_kind(err, ERROR_CONFLICT,
                              "its result is declared as another one than the rule finds");
    }
    return true;
}

static void keep_space(InferState *state, InferCase *made, OpSpace *space, const int32_t *outputs)
{
    for (int o = 0; o < space->n_outputs; o++)
        rule_output(space, o)->absent = outputs[o] < 0;
    space->id = state->spaces.n;
    made->space = space->id;
    vec_push(state->arena, &state->spaces, space);
}

static bool is_about_sequences(const InferState *state, int32_t op, const InferKind *kind)
{
    const int32_t *tensors = op_inputs(state->graph, op);
    bool sequence = kind->sequence;
    for (int i = 0; i < state->graph->ops[op].n_inputs; i++)
        sequence |= tensors[i] >= 0 && infer_is_list(state, tensors[i]);
    return sequence;
}

/* The op space of an op on sequences, from the shapes of their elements, which are those of the
 * outputs where `out` has none; NULL if an output has no known shape, or the rule refuses. An
 * operand without elements, or whose elements differ, has no shape. */
static OpSpace *sequence_space(InferState *state, const InferKind *kind, RuleCall *call,
                               const InferAnswer *out, InferCase *made)
{
    static const Shape unknown = {.n_dims = -1};
    const int32_t *inputs = op_inputs(state->graph, call->op);
    Error err = {0};
    for (int i = 0; i < call->n_inputs; i++)
        if (is_not_taken(state, kind, i))
            state->shape[i] = NULL;
        else if (inputs[i] >= 0 && state->result->shape[inputs[i]] < 0)
            state->shape[i] = &unknown;
    for (int o = 0; o < call->n_outputs; o++) {
        if (out[o].shape < 0)
            return NULL;
        state->out_shape[o] = *shapes_at(state->result->shapes, out[o].shape);
        state->out_dtype[o] = out[o].dtype;
    }
    bool done = kind->row && apply_rule(state, kind, call, made, &err);
    return done ? call->space : NULL;
}

/* Whether all that the op reads is known, and a size of what it makes is not: of an element at a
 * place that the run tells, of elements joined that the run counts. */
static bool makes_late_size(const InferState *state, const RuleCall *call,
                            const InferAnswer *answers)
{
    const int32_t *inputs = op_inputs(state->graph, call->op);
    for (int i = 0; i < call->n_inputs; i++)
        if (inputs[i] >= 0 && state->result->shape[inputs[i]] < 0)
            return false;
    for (int o = 0; o < call->n_outputs; o++)
        if (code_is_partly(answers[o].shape))
            return true;
    return false;
}

/* Infers an op on sequences. It is replicated if its elements are not of one shape. Returns whether
 * the answers say something. */
static bool make_sequence_case(InferState *state, int32_t op, const InferKind *kind,
                               InferCase *made, InferAnswer *answers, Error *err)
{
    bool answered = infer_sequence_op(state, op, kind, answers, err);
    RuleCall call = infer_call(state, op, kind);
    OpSpace *space = answered ? sequence_space(state, kind, &call, answers, made) : NULL;
    made->late = !space && answered && makes_late_size(state, &call, answers);
    made->sequence = true;
    if (!space) {
        call = infer_call(state, op, kind);
        space = replicated(state, &call);
    }
    keep_space(state, made, space, op_outputs(state->graph, op));
    return answered;
}

int32_t infer_assumed_sequence(InferState *state, int32_t op, const InferKind *kind)
{
    RuleCall call = infer_call(state, op, kind);
    InferAnswer *answers = arena_array(state->scratch, InferAnswer, call.n_outputs);
    InferCase made = {.op = op};
    for (int o = 0; o < call.n_outputs; o++) {
        int32_t t = op_outputs(state->graph, op)[o];
        if (t < 0)
            return -1;
        answers[o] = (InferAnswer){state->result->shape[t], (Dtype)state->result->dtype[t], NULL};
    }
    OpSpace *space = sequence_space(state, kind, &call, answers, &made);
    if (!space)
        return -1;
    keep_space(state, &made, space, op_outputs(state->graph, op));
    return made.space;
}

static void make_rule_case(InferState *state, int32_t op, const InferKind *kind, InferCase *made)
{
    const int32_t *outputs = op_outputs(state->graph, op);
    RuleCall call = infer_call(state, op, kind);
    Inputs inputs = inputs_of(state, op, kind);
    Error err = {0};
    for (int i = 0; i < call.n_inputs; i++)
        if (is_not_taken(state, kind, i))
            state->shape[i] = NULL;
        else if (state->value[i] && state->value[i]->partly && inputs == INPUTS_KNOWN)
            state->value[i] = NULL; /* no rule asks for it */
    InferAnswer *answers = arena_array(state->scratch, InferAnswer, call.n_outputs);
    if (inputs == INPUTS_KNOWN && kind->row && !is_about_sequences(state, op, kind)) {
        bool done =
            apply_rule(state, kind, &call, made, &err) && fits_declared(state, kind, &call, &err);
        bool decided = !done && err.kind == ERROR_NOT_INFERABLE;
        if (!decided || !infer_rank(state, op, kind, answers)) {
            OpSpace *space = done ? call.space : replicated(state, &call);
            keep_error(state, made, &err);
            keep_space(state, made, space, outputs);
            add_answers(state, made, &call, done);
            return;
        }
        inputs = INPUTS_DECIDED;
        err = (Error){0};
    }
    for (int o = 0; o < call.n_outputs && inputs != INPUTS_DECIDED; o++)
        answers[o] = (InferAnswer){-1, DT_NONE, NULL};
    bool answered = false; /* else the op is replicated, and its output shapes are unknown */
    if (is_about_sequences(state, op, kind))
        answered = make_sequence_case(state, op, kind, made, answers, &err);
    else if (inputs == INPUTS_PARTLY && kind->row)
        answered = infer_twice(state, op, kind, CASE_RULE, answers) ||
                   infer_rank(state, op, kind, answers);
    made->unknown_input = inputs == INPUTS_UNKNOWN && !answered;
    made->unknown_size = inputs == INPUTS_PARTLY || inputs == INPUTS_DECIDED;
    keep_error(state, made, &err);
    call = infer_call(state, op, kind);
    if (!made->sequence)
        keep_space(state, made, replicated(state, &call), outputs);
    push_answers(state, made, answers, call.n_outputs);
}

int32_t infer_assumed_stack(InferState *state, int32_t op, const InferKind *kind, int64_t n)
{
    static const int64_t yes = 1;
    RuleCall call = infer_call(state, op, kind);
    Value most = {.dtype = DT_I64, .ints = &n}, goes_on = {.dtype = DT_BOOL, .ints = &yes};
    InferCase made = {.op = op};
    Error err = {0};
    if (call.n_inputs < 3)
        return -1;
    for (int i = 1; i < call.n_inputs; i++) /* read as values alone */
        state->value[i] = call.shape[i] && i > 1 ? &goes_on : NULL;
    bool absent = !call.shape[1];
    state->value[1] = &most;
    state->shape[1] = absent ? call.shape[2] : call.shape[1];
    if (!apply_rule(state, kind, &call, &made, &err) || call.space->no_rule)
        return -1;
    call.space->operand[1].absent = absent;
    keep_space(state, &made, call.space, op_outputs(state->graph, op));
    return made.space;
}

const InferCase *infer_find_case(InferState *state, int32_t op, const InferKind *kind,
                                 CaseKind wanted)
{
    int32_t id = intern_put(state->keys, state->key, case_key(state, op, kind, wanted));
    if (id == state->cases.n) {
        InferCase made = {.op = op};
        if (wanted == CASE_HOST)
            make_host_case(state, op, kind, &made);
        else
            make_rule_case(state, op, kind, &made);
        vec_push(state->scratch, &state->cases, made);
    }
    assert(state->cases.at && id < state->cases.n);
    vec_push(state->scratch, &state->found, id);
    return &state->cases.at[id];
}

static InferKind kind_of(const Registry *registry, const char *name)
{
    InferKind kind = {.seen = true};
    kind.row = registry_find(registry, str_from(name));
    kind.alias = registry_alias(registry, str_from(name));
    if (kind.row)
        find_reads(&kind);
    return kind;
}

bool inferred_reads(const Inferred *inferred, int32_t op, int input)
{
    InferKind kind = kind_of(inferred->registry, op_operator(inferred->graph, op));
    return infer_reads_value(&kind, input);
}

void infer_see_kind(InferState *state, int32_t op)
{
    InferKind *kind = &state->kinds[state->graph->ops[op].op_type];
    const char *name = op_operator(state->graph, op);
    *kind = kind_of(state->registry, name);
    kind->host = host_knows(name);
    kind->needs_values = host_needs_values(name);
    const Operator *row = operator_find(name);
    kind->branch = row && row->flags & OPERATOR_BRANCH;
    kind->carry = row && row->flags & OPERATOR_CARRY;
    kind->sequence = row && row->sequence && row->sequence != sequence_pass;
}
