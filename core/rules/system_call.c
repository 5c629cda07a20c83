#include "core/rules/system_call.h"

#include "core/rules/one_op.h"

#include <inttypes.h>

/* ---- the texts ---- */

/* One call from such a text. */
typedef struct {
    Str names;         /* theirs, with blanks between */
    const char *order; /* NULL: ours in order, but those known before the run */
    Example ours;
    const char *theirs; /* their attributes */
} WrittenCall;

static Str trimmed_part(Str *rest, const char *separator)
{
    int64_t at = str_find(*rest, str_from(separator));
    Str part = {rest->s, at < 0 ? rest->n : (size_t)at};
    size_t skipped = at < 0 ? rest->n : part.n + strlen(separator);
    *rest = (Str){rest->s + skipped, rest->n - skipped};
    return part;
}

/* Reads the next call of a text; names and order are those of the previous call if it does not give
 * them. */
static void read_call(Arena *arena, Str *text, WrittenCall *call)
{
    Str one = trimmed_part(text, "; "), theirs = one;
    if (str_find(one, STR(": ")) >= 0) {
        Str head = trimmed_part(&one, ": "), order = head;
        call->names = str_take(&order, '(');
        call->order = order.n > 0 ? arena_str(arena, str_take(&order, ')')) : NULL;
        theirs = one;
    }
    call->ours = example_read(arena, arena_str(arena, trimmed_part(&theirs, " | ")));
    call->theirs = arena_str(arena, theirs);
}

/* ---- attributes of theirs ---- */

static const char *theirs_of(Arena *arena, const Alias *alias, Str attr)
{
    Str value = attr, ours = str_take(&value, '=');
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (str_eq(ours, str_from(alias->attr[i].ours)))
            return arena_printf(arena, "%s=%.*s", alias->attr[i].theirs, STR_ARG(value));
    return arena_str(arena, attr);
}

/* attrs: their names, or with an alias ours. */
static const Graph *graph_of_theirs(Arena *arena, const char *name, const char *attrs,
                                    const Alias *alias, Error *err)
{
    OneOp op = {.op_type = str_from(name)};
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (Str rest = str_from(attrs); rest.n > 0;)
        if (!one_op_attr_text(builder, theirs_of(arena, alias, str_take(&rest, ' ')), err))
            return NULL;
    return one_op_graph(builder, err);
}

/* ---- operands of theirs ---- */

/* Whether an input is known before the run; other systems have it as an attribute. */
static bool is_known(const Graph *graph, int input)
{
    int32_t tensor = op_inputs(graph, 0)[input];
    return tensor >= 0 && graph->tensors[tensor].kind == TENSOR_INITIALIZER;
}

static void operands_in_order(Arena *arena, SystemCall *call)
{
    int n = call->ours->ops[0].n_inputs, *input = arena_array(arena, int, n);
    for (int i = 0; i < n; i++)
        if (!is_known(call->ours, i))
            input[call->n_inputs++] = i;
    call->input = input;
    call->shape = arena_array(arena, Shape, n);
}

static bool operands_listed(Arena *arena, const char *order, SystemCall *call, Error *err)
{
    int n = 1;
    for (const char *at = order; *at; at++)
        n += *at == ',';
    int *input = arena_array(arena, int, n);
    Shape *shape = arena_array(arena, Shape, n);
    for (Str rest = str_from(order); rest.n > 0; call->n_inputs++) {
        int64_t number;
        Str part = str_take(&rest, ',');
        OneOp one = {0};
        input[call->n_inputs] = -1;
        if (str_to_int(part, &number)) {
            input[call->n_inputs] = (int)number;
            continue;
        }
        if (!one_op_operands(arena, part, &one, err))
            return false;
        shape[call->n_inputs] = one.shape[0];
    }
    call->input = input;
    call->shape = shape;
    return true;
}

/* ---- calls ---- */

static const Alias *alias_of(Arena *arena, SystemId system, Str name)
{
    return alias_find(
        arena, str_from(arena_printf(arena, "%s::%.*s", system_name(system), STR_ARG(name))));
}

static bool add_call(Arena *arena, const char *op_type, const WrittenCall *given, Str name,
                     SystemCalls *out, Error *err)
{
    SystemCall call = {.name = arena_str(arena, name), .operands = given->ours.operands};
    call.ours = example_op(arena, op_type, &given->ours, err);
    call.theirs = graph_of_theirs(arena, call.name, given->theirs, NULL, err);
    if (!call.ours || !call.theirs)
        return false;
    call.n_outputs = call.ours->ops[0].n_outputs;
    if (!given->order)
        operands_in_order(arena, &call);
    else if (!operands_listed(arena, given->order, &call, err))
        return false;
    vec_push(arena, out, call);
    return true;
}

/* Whether the example gives the attributes that the alias fixes, with the same values. */
static bool gives_constants(const Alias *alias, const Example *example)
{
    for (int i = 0; i < alias->n_constants; i++) {
        bool given = false;
        for (Str rest = str_from(example->attrs); rest.n > 0;) {
            Str attr = str_take(&rest, ' ');
            const Attr *value = &alias->constant[i].value;
            if (str_eq(str_take(&attr, '='), str_from(alias->constant[i].ours)))
                given = value->type != ATTR_STRING || str_eq(attr, value->s);
        }
        if (!given)
            return false;
    }
    return true;
}

/* Adds an example of ours under their name; skips it if the alias cannot express it. */
static bool add_example(Arena *arena, const Alias *alias, const Example *example, Str name,
                        SystemCalls *out, Error *err)
{
    SystemCall call = {.name = arena_str(arena, name), .operands = example->operands};
    call.ours = example_op(arena, alias->op_type, example, err);
    if (!call.ours)
        return false;
    int n = call.ours->ops[0].n_inputs, n_theirs = 0;
    for (int i = 0; i < n; i++)
        if (is_known(call.ours, i))
            return true;
    int *input = arena_array(arena, int, n + alias->n_operands);
    for (int i = 0; i < n; i++) {
        int at = alias_operand(alias, i);
        if (at >= n + alias->n_operands)
            return true;
        n_theirs = at >= n_theirs ? at + 1 : n_theirs;
        if (at >= 0)
            input[at] = i;
    }
    call.theirs = graph_of_theirs(arena, call.name, example->attrs, alias, err);
    call.input = input;
    call.shape = arena_array(arena, Shape, n + alias->n_operands);
    call.n_inputs = n_theirs;
    call.n_outputs = call.ours->ops[0].n_outputs;
    if (call.theirs)
        vec_push(arena, out, call);
    return call.theirs != NULL;
}

bool system_calls(Arena *arena, const Registry *registry, SystemId system, Str name,
                  SystemCalls *out, Error *err)
{
    int n_before = out->n;
    for (const Operator *row = NULL; (row = operator_next(row));) {
        WrittenCall call;
        for (Str text = str_from(row->calls[system] ? row->calls[system] : ""); text.n > 0;) {
            read_call(arena, &text, &call);
            if (str_has_word(call.names, name) &&
                !add_call(arena, row->name, &call, name, out, err))
                return false;
        }
    }
    const Alias *alias = out->n > n_before ? NULL : alias_of(arena, system, name);
    const Operator *ours = alias ? registry_find(registry, str_from(alias->op_type)) : NULL;
    const char *text = ours ? example_next(ours->name, NULL) : NULL;
    for (; text; text = example_next(ours->name, text)) {
        Example example = example_read(arena, text);
        if (gives_constants(alias, &example) &&
            !add_example(arena, alias, &example, name, out, err))
            return false;
    }
    return true;
}

/* ---- by our own names ---- */

/* "5x6x4,6": declared shapes; "-" for an input that is absent. */
static const char *shapes_text(Arena *arena, const Graph *graph)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, 0)[i];
        const GraphTensor *at = tensor < 0 ? NULL : &graph->tensors[tensor];
        buf_puts(&out, i ? "," : "");
        buf_puts(&out, !at ? "-" : at->n_declared == 0 ? "scalar" : "");
        for (int d = 0; at && d < at->n_declared; d++)
            buf_printf(&out, "%s%" PRId64, d ? "x" : "", graph->declared[at->declared + d].size);
    }
    return out.s;
}

static void add_own(Arena *arena, const char *name, const Graph *graph, SystemCalls *out)
{
    int n = graph->ops[0].n_inputs, *input = arena_array(arena, int, n);
    for (int i = 0; i < n; i++)
        input[i] = i;
    SystemCall call = {.name = name, .ours = graph, .theirs = graph, .n_inputs = n};
    call.operands = shapes_text(arena, graph);
    call.n_outputs = graph->ops[0].n_outputs;
    call.input = input;
    call.shape = arena_array(arena, Shape, n);
    vec_push(arena, out, call);
}

bool system_calls_own(Arena *arena, const Operator *row, SystemCalls *out, Error *err)
{
    const char *example = row->rule ? example_next(row->name, NULL) : NULL;
    const Graph *graph = example ? NULL : example_of_user(arena, row, err);
    if (graph)
        add_own(arena, row->name, graph, out);
    for (; example; example = example_next(row->name, example)) {
        graph = example_graph(arena, row->name, example, err);
        if (!graph)
            return false;
        add_own(arena, row->name, graph, out);
    }
    return graph != NULL;
}
