#include "core/rules/infer_state.h"

#include "core/rules/schema.h"

void infer_add_finding(InferState *state, const char *code, int32_t op, const char *hint, Buf *text)
{
    vec_push(state->arena, &state->result->findings,
             (Finding){.level = LEVEL_WARNING,
                       .code = code,
                       .text = text->s,
                       .hint = hint,
                       .op = op,
                       .tensor = -1});
}

static void put_op(const InferState *state, int32_t op, Buf *text)
{
    text_printable(str_from(op_operator(state->graph, op)), text);
    buf_puts(text, " '");
    text_printable(str_from(op_name(state->graph, op)), text);
    buf_putc(text, '\'');
}

static void find_unknown_attr(InferState *state, const InferCase *found)
{
    const InferKind *kind = &state->kinds[state->graph->ops[found->op].operator];
    const char *has = schema_attrs(kind->row->name);
    Buf text = buf_new(state->arena), hint = buf_new(state->arena);
    put_op(state, found->op, &text);
    buf_puts(&text, ": no rule reads its attribute '");
    text_printable(found->unknown, &text);
    buf_putc(&text, '\'');
    if (found->meant.n > 0)
        buf_printf(&hint, "did you mean %.*s", STR_ARG(found->meant));
    else
        buf_printf(&hint, "it has: %s", *has ? has : "none");
    infer_add_finding(state, "unknown-attribute", found->op, hint.s, &text);
}

static void find_case(InferState *state, const InferCase *found, const char *code, const char *what,
                      const char *hint)
{
    Buf text = buf_new(state->arena);
    put_op(state, found->op, &text);
    if (found->n_ops > 1)
        buf_printf(&text, " and %d like it", found->n_ops - 1);
    buf_printf(&text, ": %s", what);
    infer_add_finding(state, code, found->op, hint, &text);
}

static void find_no_rule(InferState *state, int32_t op, int n_ops)
{
    Buf text = buf_new(state->arena), hint = buf_new(state->arena);
    Str name = str_from(op_operator(state->graph, op));
    text_printable(name, &text);
    buf_printf(&text, " has no rule: %d op%s replicated, the first is '", n_ops,
               n_ops == 1 ? " is" : "s are");
    text_printable(str_from(op_name(state->graph, op)), &text);
    buf_putc(&text, '\'');
    buf_puts(&hint, "describe it: register_op(\"a b -> a b\", {name=\"");
    text_printable(name, &hint);
    buf_puts(&hint, "\"})");
    infer_add_finding(state, "no-rule", op, hint.s, &text);
}

/* The first input of the op that has no shape. */
static int32_t unknown_tensor(const InferState *state, int32_t op)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    while (*inputs < 0 || state->result->shape[*inputs] >= 0)
        inputs++;
    return *inputs;
}

static void find_unknown(InferState *state, int32_t op, int n_ops)
{
    Buf text = buf_new(state->arena);
    put_op(state, op, &text);
    buf_puts(&text, " reads '");
    text_printable(str_from(tensor_name(state->graph, unknown_tensor(state, op))), &text);
    buf_printf(&text, "', whose shape is unknown: %d op%s replicated", n_ops,
               n_ops == 1 ? " is" : "s are");
    infer_add_finding(state, "unknown-shape", op,
                      "give the operators before it rules, or declare shapes", &text);
}

void infer_find_ops(InferState *state)
{
    int32_t first_unknown = -1;
    int n_unknown = 0;
    int *n_without = arena_array(state->scratch, int, names_count(state->graph->names));
    for (int i = 0; i < state->cases.n; i++) {
        const InferCase *found = &state->cases.at[i];
        const GraphOp *op = &state->graph->ops[found->op];
        if (found->unknown.n > 0)
            find_unknown_attr(state, found);
        if (found->refused)
            find_case(state, found, "rule-refused", found->refused, found->hint);
        if (found->mistyped)
            find_case(state, found, "wrong-dtype", found->mistyped, "");
        if (found->space >= 0 && !state->kinds[op->operator].row)
            n_without[op->operator] += found->n_ops;
        else if (found->unknown_input && first_unknown < 0)
            first_unknown = found->op;
        if (found->unknown_input && state->kinds[op->operator].row)
            n_unknown += found->n_ops;
    }
    for (int i = 0; i < state->cases.n; i++) {
        int32_t op = state->cases.at[i].op, name = state->graph->ops[op].operator;
        if (n_without[name] > 0)
            find_no_rule(state, op, n_without[name]);
        n_without[name] = 0;
    }
    if (n_unknown > 0 && !state->allow_free)
        find_unknown(state, first_unknown, n_unknown);
}
