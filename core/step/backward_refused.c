/* backward_refused.c - why an op has no derivative, and what waits for it. */
#include "core/step/deriving.h"

static bool is_wanted(const Deriving *d, int32_t tensor)
{
    for (int i = 0; i < d->request->n_wanted; i++)
        if (d->request->wanted[i] == tensor)
            return true;
    return false;
}

/* The ops between an op's operand and a tensor whose gradient is wanted: "'wte' waits for it,
 * behind embed, h.0.ln_1". */
static void put_way(Deriving *d, int32_t tensor, Buf *out)
{
    enum { SHOWN = 4 };
    Vec32 ops = {0};
    while (d->graph->tensors[tensor].maker >= 0 && !is_wanted(d, tensor)) {
        int32_t op = d->graph->tensors[tensor].maker;
        vec_push(d->scratch, &ops, op);
        for (int i = 0; i < d->graph->ops[op].n_inputs; i++)
            if (derive_wants(d, op, i)) {
                tensor = op_inputs(d->graph, op)[i];
                break;
            }
    }
    buf_printf(out, "the gradient of '%s' has to pass it", tensor_name(d->graph, tensor));
    for (int i = ops.n - 1; i >= 0; i--)
        if (ops.n - 1 - i < SHOWN)
            buf_printf(out, "%s%s", i == ops.n - 1 ? ", then " : ", ",
                       op_name(d->graph, ops.at[i]));
    if (ops.n > SHOWN)
        buf_printf(out, " and %d more", ops.n - SHOWN);
}

/* What a file that registers the operator has to say. */
static void put_remedy(const Operator *row, const char *op_type, int n_inputs, Buf *out)
{
    if (row && row->rule)
        return;
    buf_printf(out,
               "; register_op(.., {name = \"%s\", gradient = function(model, x, y, dy) return ",
               op_type);
    for (int i = 0; i < n_inputs; i++)
        buf_printf(out, "%sdx%d", i > 0 ? ", " : "", i + 1);
    buf_puts(out, " end})");
}

bool derive_refuse(Deriving *d, int32_t op, int operand, const DerivativeClause *clause,
                   const Operator *row)
{
    Buf hint = buf_new(d->scratch);
    error_kind(d->err, ERROR_UNSUPPORTED, "op '%s' (%s) has no derivative: %s",
               op_name(d->graph, op), op_operator(d->graph, op),
               clause && clause->refused ? clause->refused : "none is known");
    put_way(d, op_inputs(d->graph, op)[operand], &hint);
    put_remedy(row, op_operator(d->graph, op), d->graph->ops[op].n_inputs, &hint);
    return error_hint(d->err, "%s", hint.s);
}

bool derive_knows_shape(Deriving *d, int32_t tensor)
{
    if (inferred_shape(d->model, tensor))
        return true;
    int32_t maker = d->graph->tensors[tensor].maker;
    d->failed = true;
    error_kind(d->err, ERROR_UNSUPPORTED,
               "the gradients of '%s' cannot be added up: its shape is known only at run time",
               tensor_name(d->graph, tensor));
    return error_hint(d->err,
                      "it is made by op '%s' (%s); --dim gives a size that depends on data "
                      "a value",
                      maker >= 0 ? op_name(d->graph, maker) : "",
                      maker >= 0 ? op_operator(d->graph, maker) : "");
}
