#include "core/model/onnx_reader.h"

/* ---- names ---- */

static bool scope_has(const OnnxScope *scope, Str name)
{
    return intern_find(scope->names, name.s, name.n) >= 0;
}

void scope_define(OnnxScope *scope, Str name, int32_t tensor)
{
    int32_t id = intern_put(scope->names, name.s, name.n);
    if (id == scope->tensors.n)
        vec_push(scope->arena, &scope->tensors, tensor);
}

void scope_define_new(OnnxReader *reader, Str name)
{
    OnnxScope *scope = reader->scope;
    if (name.n == 0 || scope_has(scope, name))
        return;
    Buf *whole = &reader->whole_name;
    whole->n = 0;
    buf_add(whole, scope->prefix);
    buf_add(whole, name);
    reader->bytes_left -= (int64_t)(sizeof(GraphTensor) + whole->n);
    scope_define(scope, name, graph_new_tensor(reader->builder, buf_str(whole)));
}

/* Names of the outputs of nodes in an inner graph belong to it, even if an outer graph has the same
 * names. */
void scope_define_made(OnnxReader *reader, Wire nodes, uint32_t field)
{
    for (WireField node; wire_next(&nodes, &node);) {
        if (node.number != field)
            continue;
        Wire wire = wire_message(&nodes, &node, "NodeProto");
        for (WireField output; wire_next(&wire, &output);)
            if (output.number == 2)
                scope_define_new(reader, wire_bytes(&wire, &output));
    }
}

int32_t reader_tensor(OnnxReader *reader, Str name)
{
    if (name.n == 0)
        return -1;
    for (OnnxScope *scope = reader->scope; scope; scope = scope->outer) {
        int32_t id = intern_find(scope->names, name.s, name.n);
        if (id >= 0)
            return scope->tensors.at[id];
        if (!scope->function)
            continue;
        scope_define(scope, name, graph_new_tensor(reader->builder, name)); /* no op makes it */
        return scope->tensors.at[scope->tensors.n - 1];
    }
    return graph_tensor(reader->builder, name);
}

/* ---- scopes ---- */

/* "/h.0/If_1" is If_1 in its path, as "h.0.If_1" would be. */
static Str last_part(Str label)
{
    size_t n = label.n;
    char end = memchr(label.s, '/', n) ? '/' : '.';
    while (n > 0 && label.s[n - 1] != end)
        n--;
    return (Str){label.s + n, label.n - n};
}

enum { SCOPE_BYTES = 256 };

static void fail_too_large(const InlinedCall *call)
{
    Wire wire = call->wire;
    wire_fail(&wire, call->node.start, "the graph is too large with its local functions inlined");
    error_hint(wire.file->err, "functions that call functions many times over are not opened");
}

static bool is_too_much(OnnxReader *reader, const InlinedCall *call)
{
    int depth = reader->scope ? reader->scope->depth : 0;
    Wire wire = call->wire;
    reader->bytes_left -= (int64_t)(SCOPE_BYTES + call->label.n + call->node.path.n);
    if (depth == SCOPES_MAX)
        wire_fail(&wire, call->node.start, "functions and bodies are nested deeper than %d",
                  SCOPES_MAX);
    else if (reader->bytes_left < 0)
        fail_too_large(call);
    return wire.file->failed;
}

bool scope_open(OnnxReader *reader, OnnxScope *scope, const InlinedCall *call, Wire inside,
                const char *branch)
{
    reader->bytes_left -= inside.end - inside.at;
    if (is_too_much(reader, call))
        return false;
    Arena *arena = arena_new();
    OnnxScope *outer = reader->scope;
    Str label = call->label, last = last_part(label), path = call->node.path;
    *scope = (OnnxScope){.outer = outer, .arena = arena, .around = path};
    scope->names = intern_new(arena);
    scope->depth = outer ? outer->depth + 1 : 1;
    scope->opset = outer ? outer->opset : 0;
    const char *slash = *branch ? "/" : "", *dot = *branch ? "." : "";
    scope->prefix = str_from(arena_printf(arena, "%.*s/%s%s", STR_ARG(label), branch, slash));
    scope->path = str_from(arena_printf(arena, "%.*s%s%.*s%s%s", STR_ARG(path),
                                        path.n > 0 ? "." : "", STR_ARG(last), dot, branch));
    reader->scope = scope;
    return true;
}

void scope_close(OnnxReader *reader)
{
    OnnxScope *scope = reader->scope;
    reader->scope = scope->outer;
    arena_free(scope->arena);
}

/* ---- local functions ---- */

void read_opset(Wire wire, int64_t *opset)
{
    Str domain = STR("");
    int64_t version = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            domain = wire_bytes(&wire, &field);
        else if (field.number == 2)
            version = wire_int(&wire, &field);
    if (is_plain_domain(domain))
        *opset = version;
}

/* The key of a function: functions with equal domain, name and overload have equal keys. */
static int32_t function_key(OnnxReader *reader, Str domain, Str name, Str overload, bool add)
{
    Buf *key = &reader->kind;
    key->n = 0;
    buf_add(key, is_plain_domain(domain) ? STR("") : domain);
    buf_putc(key, '\0');
    buf_add(key, name);
    buf_putc(key, '\0');
    buf_add(key, overload);
    return add ? intern_put(reader->function_keys, key->s, key->n)
               : intern_find(reader->function_keys, key->s, key->n);
}

void index_function(OnnxReader *reader, Wire wire)
{
    Function function = {.wire = wire};
    Str name = STR(""), domain = STR(""), overload = STR("");
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            name = wire_bytes(&wire, &field);
        else if (field.number == 10)
            domain = wire_bytes(&wire, &field);
        else if (field.number == 13)
            overload = wire_bytes(&wire, &field);
        else if (field.number == 9)
            read_opset(wire_message(&wire, &field, "OperatorSetIdProto"), &function.opset);
    if (wire.file->failed)
        return;
    int32_t id = function_key(reader, domain, name, overload, true);
    if (id == reader->functions.n)
        vec_push(reader->arena, &reader->functions, function);
}

Function *called_function(OnnxReader *reader, const OnnxNode *node)
{
    int32_t id = function_key(reader, node->domain, node->op_type, node->overload, false);
    if (id < 0)
        return NULL;
    const OnnxKeep *keep = &reader->keep;
    bool kept = keep->has && keep->has(keep->context, operator_name(reader, node));
    return kept ? NULL : &reader->functions.at[id];
}

/* Outputs that are also inputs, or are listed twice, become outputs of a copy. */
typedef struct {
    int32_t from, to;
} Copy;
typedef Vec(Copy) Copies;

static void define_operands(OnnxReader *reader, const InlinedCall *call, Wire wire, Copies *copies)
{
    OnnxScope *scope = reader->scope;
    int n_inputs = 0, n_outputs = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 4) {
            int i = n_inputs++;
            scope_define(scope, wire_bytes(&wire, &field),
                         i < call->n_inputs ? call->inputs[i] : -1);
        }
    wire = scope->function->wire;
    for (WireField field; wire_next(&wire, &field);) {
        if (field.number != 5)
            continue;
        Str name = wire_bytes(&wire, &field);
        int o = n_outputs++;
        if (name.n == 0 || o >= call->n_outputs || call->outputs[o] < 0)
            continue;
        if (scope_has(scope, name))
            vec_push(scope->arena, copies, ((Copy){reader_tensor(reader, name), call->outputs[o]}));
        else
            scope_define(scope, name, call->outputs[o]);
    }
}

/* Sets the attributes of the call, then the function's defaults for those that the call lacks. */
static void define_attrs(OnnxReader *reader, const InlinedCall *call)
{
    OnnxScope *scope = reader->scope;
    AttrList given = reader->builder->lists.at[call->attrs];
    Vec(Attr) all = {0};
    for (int i = 0; i < given.n; i++)
        vec_push(scope->arena, &all, given.at[i]);
    reader->attrs.n = reader->ints.n = reader->floats.n = reader->strings.n = 0;
    Wire wire = scope->function->wire;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 11)
            read_attr(reader, wire_message(&wire, &field, "AttributeProto"));
    AttrList own = reader->builder->lists.at[add_attrs(reader)];
    for (int i = 0; i < own.n; i++) {
        bool has = false;
        for (int j = 0; j < given.n; j++)
            has |= given.at[j].name == own.at[i].name;
        if (!has)
            vec_push(scope->arena, &all, own.at[i]);
    }
    scope->attrs = (AttrList){.n = all.n, .at = all.at};
}

static void read_function(OnnxReader *reader, const InlinedCall *call)
{
    OnnxScope *scope = reader->scope;
    Wire wire = scope->function->wire, values = wire, made = wire;
    Copies copies = {0};
    define_attrs(reader, call);
    define_operands(reader, call, wire, &copies);
    scope_define_made(reader, made, 7);
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 7)
            read_node(reader, wire_message(&wire, &field, "NodeProto"));
    for (WireField field; wire_next(&values, &field);)
        if (field.number == 12)
            declare_value(reader, wire_message(&values, &field, "ValueInfoProto"));
    for (int i = 0; i < copies.n; i++)
        add_op(reader, "Identity", call, i > 0 ? "/out_" : "/out", &copies.at[i].from, 1,
               copies.at[i].to, 0);
}

static int64_t count_function(OnnxReader *reader, Function *function, int depth);

/* The least memory that a node needs: as an op, or as a call of a function. */
static int64_t count_node(OnnxReader *reader, Wire wire, int depth)
{
    OnnxNode node = {.op_type = STR(""), .domain = STR(""), .overload = STR("")};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 4)
            node.op_type = wire_bytes(&wire, &field);
        else if (field.number == 7)
            node.domain = wire_bytes(&wire, &field);
        else if (field.number == 8)
            node.overload = wire_bytes(&wire, &field);
    Function *called = called_function(reader, &node);
    return called ? SCOPE_BYTES + count_function(reader, called, depth + 1)
                  : (int64_t)sizeof(GraphOp);
}

/* Counts each function once, before any call is read. Calls inside branches and deeply nested ones
 * are left out. */
static int64_t count_function(OnnxReader *reader, Function *function, int depth)
{
    if (function->bytes > 0 || depth > SCOPES_MAX)
        return function->bytes;
    Wire wire = function->wire;
    int64_t bytes = wire.end - wire.at;
    function->bytes = bytes; /* of a function that calls itself */
    for (WireField field; bytes <= INLINED_BYTES_MAX && wire_next(&wire, &field);)
        if (field.number == 7)
            bytes += count_node(reader, wire_message(&wire, &field, "NodeProto"), depth);
    function->bytes = bytes;
    return function->bytes;
}

void inline_function(OnnxReader *reader, const InlinedCall *call, Function *function)
{
    OnnxScope scope;
    Wire wire = call->wire;
    if (function->open) {
        wire_fail(&wire, call->node.start, "local function '%s' calls itself",
                  arena_str(reader->arena, call->node.op_type));
        return;
    }
    if (count_function(reader, function, 0) > reader->bytes_left) {
        fail_too_large(call);
        return;
    }
    if (!scope_open(reader, &scope, call, function->wire, ""))
        return;
    scope.function = function;
    scope.opset = function->opset > 0 ? function->opset : scope.opset;
    function->open = true;
    read_function(reader, call);
    function->open = false;
    scope_close(reader);
}
