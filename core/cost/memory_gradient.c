/* The buffers of gradients of parameters in the account of a training step (memory.h). */
#include "core/cost/memory_account.h"
#include "core/step/stored.h"

/* Ends a value when it is made, and so the value whose memory it has, as the gradient of a weight
 * has that of its transposed view: unless something else reads that. */
static void end_at_once(Account *a, int32_t at)
{
    LiveSpan *span = span_at(a, at);
    int last = span->first;
    span->last = last;
    for (int32_t of = span->whose; of >= 0; of = span_at(a, of)->whose) {
        LiveSpan *owner = span_at(a, of);
        if (tensor_n_uses(a->graph, owner->tensor) != 1 || owner->first > last)
            return;
        owner->last = owner->last < last ? owner->last : last;
    }
}

/* Other values that the gradient is made of, each of which is added to the buffer when it is made:
 * what it is cast from, addends of a parameter with several readers. */
static void end_addends(Account *a, int32_t op)
{
    for (int i = 0; op >= 0 && i < a->graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(a->graph, op)[i];
        if (tensor < 0 || a->class[tensor] != MEMORY_GRADIENT)
            continue;
        for (int32_t at = a->of_tensor[tensor]; at >= 0; at = span_at(a, at)->next) {
            if (!span_at(a, at)->filled)
                end_at_once(a, at);
        }
        end_addends(a, a->graph->tensors[tensor].maker);
    }
}

/* In parts: what a step of a reshard fills is the buffer; what was whole is only there while it is
 * reduced. Else the value as it is made is the buffer, and what a
 * reduction makes of it is in its place. */
static void hold_buffer(Account *a, int32_t tensor, bool in_parts)
{
    int32_t whole = -1;
    for (int32_t at = a->of_tensor[tensor]; at >= 0; at = span_at(a, at)->next)
        whole = span_at(a, at)->filled ? whole : at;
    for (int32_t at = a->of_tensor[tensor]; at >= 0; at = span_at(a, at)->next) {
        LiveSpan *span = span_at(a, at);
        bool buffer = in_parts ? span->filled && !span->in_between : at == whole;
        if (!buffer && !in_parts && whole >= 0) {
            span->whose = whole;
            continue;
        }
        if (!buffer)
            continue;
        span->whose = -1;
        span->adds_up = true;
        span->first = 0;
    }
    for (int32_t at = a->of_tensor[tensor]; at >= 0; at = span_at(a, at)->next)
        if (whole >= 0 && span_at(a, at)->whose == whole &&
            span_at(a, at)->last > span_at(a, whole)->last)
            span_at(a, whole)->last = span_at(a, at)->last;
}

void account_hold_gradients(Account *a)
{
    for (int32_t t = 0; t < a->graph->n_tensors; t++) {
        int32_t parameter, maker = a->graph->tensors[t].maker;
        if (a->class[t] != MEMORY_GRADIENT || maker < 0 ||
            stored_value(a->graph, t, &parameter) != STORED_GRADIENT)
            continue;
        bool in_parts = plan_stores(a->plan, parameter, STORED_GRADIENT) ||
                        plan_stores(a->plan, parameter, STORED_PARAMETER);
        bool moved = false;
        for (int32_t at = a->of_tensor[t]; at >= 0; at = span_at(a, at)->next)
            moved |= span_at(a, at)->filled;
        hold_buffer(a, t, in_parts && moved);
        end_addends(a, maker);
    }
}
