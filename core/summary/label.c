#include "core/summary/label.h"

#include "core/base/str.h"
#include "core/plan/origin.h"
#include "core/plan/stage.h"
#include "core/rules/registry.h"

#include <ctype.h>

const char *label_operator(const Graph *graph, int32_t op)
{
    const char *name = op_operator(graph, op), *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

Str label_op(const Session *session, Arena *arena, int32_t op)
{
    const Graph *graph = session->graph;
    const char *path = op_path(graph, op), *name = op_name(graph, op);
    int32_t group = session->groups->group_of[op];
    bool alone = group >= 0 && session->groups->groups[group].n == 1;

    if (!*path)
        return str_from(name);
    if (alone)
        return str_from(path);
    return str_from(arena_printf(arena, "%s/%s", path, path_base(name)));
}

Str label_tensor(const Session *session, Arena *arena, int32_t tensor)
{
    return str_from(naming_value(session->naming, arena, tensor));
}

/* The name of a size without the modules before it; "/2" is not a name. */
static Str base_name(Str word)
{
    for (size_t i = word.n; i-- > 1;)
        if (word.s[i - 1] == '/' && !isdigit((unsigned char)word.s[i]))
            return (Str){word.s + i, word.n - i};
    return word;
}

void label_put_shape(const Inferred *inferred, int32_t tensor, Buf *out)
{
    Buf whole = buf_new(out->arena);

    inferred_put_shape(inferred, tensor, &whole);
    for (const char *s = whole.s; *s;) {
        size_t n = strcspn(s, ",*+() ");
        buf_add(out, base_name((Str){s, n}));
        s += n;
        if (*s)
            buf_putc(out, *s++);
    }
}

static bool is_shaped(const Inferred *inferred, int32_t tensor)
{
    return tensor < 0 || inferred->shape[tensor] >= 0;
}

/* The rule has a finding against an op of this kind. */
static bool is_refused(const Session *session, int32_t op)
{
    const Findings *findings = &session->inferred->findings;

    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->at[i].code, "rule-refused") == 0 &&
            session->graph->ops[findings->at[i].op].op_type == session->graph->ops[op].op_type)
            return true;
    return false;
}

void label_put_list(const Inferred *inferred, int32_t tensor, Buf *out)
{
    if (tensor < 0 || !inferred_is_list(inferred, tensor))
        return;
    int64_t n = inferred_items(inferred, tensor);
    if (n > 1)
        buf_printf(out, "%lld of ", (long long)n);
    else
        buf_puts(out, "list of ");
}

const char *label_no_rule(const Session *session, int32_t op)
{
    const Inferred *inferred = session->inferred;
    const GraphOp *node = &session->graph->ops[op];
    const int32_t *operands = session->graph->operands;
    bool shaped = true, listed = false;

    for (int32_t i = 0; i < node->n_inputs + node->n_outputs; i++) {
        int32_t t = operands[node->input + i];
        shaped &= is_shaped(inferred, t);
        listed |= t >= 0 && inferred_is_list(inferred, t);
    }
    if (listed)
        return "its elements have no shape in common: replicated";
    if (!inferred_operator(inferred, op))
        return "no rule: replicated";
    if (!shaped)
        return "part of a shape is unknown: replicated";
    return is_refused(session, op) ? "its rule refuses it: replicated, see F"
                                   : "the size of its result is known only at run time: replicated";
}

const char *label_pass(const Plan *plan)
{
    return plan->decided->stages && plan->decided->stages->n_micro_batches > 1 ? "micro-batch"
                                                                               : "step";
}

const char *label_tensor_kind(const Session *session, int32_t tensor)
{
    if (tensor_is_parameter(session->inferred, tensor))
        return "parameter";
    if (inferred_value(session->inferred, tensor))
        return "constant";
    if (session->graph->tensors[tensor].maker < 0)
        return "input";
    return session->graph->tensors[tensor].output ? "output" : "activation";
}

Str label_pin(Arena *arena, const Decision *pin)
{
    if (pin->origin.kind != ORIGIN_POLICY)
        return pin->origin.kind == ORIGIN_USER ? STR("by you") : STR("by search");
    return str_from(arena_printf(arena, "%s:%d", path_base(pin->origin.file), pin->origin.line));
}

void label_origin(const Mesh *mesh, const Origin *origin, Buf *out)
{
    if (origin->kind == ORIGIN_POLICY)
        origin_put_place(origin, out);
    else
        buf_puts(out, origin->kind == ORIGIN_USER ? "by you" : "by search");
    buf_puts(out, "  ");
    origin_put_lua(mesh, str_from(origin->text), out);
}

void text_wildcard(Str text, Buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        bool digit = text.s[i] >= '0' && text.s[i] <= '9';
        bool inside = i > 0 && ((text.s[i - 1] | 0x20) >= 'a' && (text.s[i - 1] | 0x20) <= 'z');
        if (!digit || inside) {
            buf_putc(out, text.s[i]);
            continue;
        }
        while (i + 1 < text.n && text.s[i + 1] >= '0' && text.s[i + 1] <= '9')
            i++;
        buf_putc(out, '*');
    }
}
