#include "core/model/onnx_reader.h"

/* ---- module paths ---- */

/* Removes one quoted text from the front of a Python list: "'a', ..." gives a. */
static bool next_quoted(Str *list, Str *out)
{
    *list = str_trim(*list);
    if (list->n < 2 || (list->s[0] != '\'' && list->s[0] != '"'))
        return false;
    const char *close = memchr(list->s + 1, list->s[0], list->n - 1);
    if (!close)
        return false;
    *out = (Str){list->s + 1, (size_t)(close - list->s) - 1};
    *list = (Str){close + 1, list->n - out->n - 2};
    return true;
}

/* The module path from pkg.torch.onnx.name_scopes, "['', 'transformer', 'transformer.h.0',
 * 'add_1']": modules from the outermost to the innermost, then the node. torch writes one made-up
 * module if it knows none. */
static bool path_of_scopes(Str scopes, Str *out)
{
    Str list = str_trim(scopes), last = STR(""), module = STR("");
    if (!str_starts(list, STR("[")) || !str_ends(list, STR("]")))
        return false;
    list = (Str){list.s + 1, list.n - 2};
    while (list.n > 0) {
        module = last;
        if (!next_quoted(&list, &last))
            return false;
        list = str_trim(list);
        if (list.n > 0 && list.s[0] != ',')
            return false;
        if (list.n > 0)
            list = (Str){list.s + 1, list.n - 1};
    }
    *out = str_starts(module, STR("_empty_nn_module_stack")) ? STR("") : module;
    return true;
}

/* The module path from a node's name: "/transformer/h.0/mlp/c_fc/Gemm" gives
 * transformer.h.0.mlp.c_fc. */
static Str path_of_name(Str name, Buf *path)
{
    path->n = 0;
    size_t n = name.n;
    bool has_slash = n > 0 && memchr(name.s, '/', n);
    while (n > 0 && name.s[n - 1] != (has_slash ? '/' : '.'))
        n--;
    for (size_t i = 0; i + 1 < n; i++)
        if (i > 0 || (name.s[i] != '/' && name.s[i] != '.'))
            buf_putc(path, name.s[i] == '/' ? '.' : name.s[i]);
    return buf_str(path);
}

/* ---- nodes ---- */

static void read_metadata(Wire wire, OnnxNode *node)
{
    Str value, key = wire_entry(wire, &value);
    if (str_eq(key, STR("pkg.torch.onnx.name_scopes")))
        node->scopes = value;
}

static void read_node_field(OnnxReader *reader, Wire *wire, const WireField *field, OnnxNode *node)
{
    switch (field->number) {
    case 1:
        vec_push(reader->arena, &reader->inputs, reader_tensor(reader, wire_bytes(wire, field)));
        return;
    case 2:
        vec_push(reader->arena, &reader->outputs, reader_tensor(reader, wire_bytes(wire, field)));
        return;
    case 3:
        node->name = wire_bytes(wire, field);
        return;
    case 4:
        node->op_type = wire_bytes(wire, field);
        return;
    case 5:
        read_attr(reader, wire_message(wire, field, "AttributeProto"));
        return;
    case 7:
        node->domain = wire_bytes(wire, field);
        return;
    case 8:
        node->overload = wire_bytes(wire, field);
        return;
    case 9:
        read_metadata(wire_message(wire, field, "StringStringEntryProto"), node);
        return;
    default:
        return;
    }
}

Str operator_name(OnnxReader *reader, const OnnxNode *node)
{
    if (is_plain_domain(node->domain))
        return node->op_type;
    reader->kind.n = 0;
    buf_add(&reader->kind, node->domain);
    buf_puts(&reader->kind, "::");
    buf_add(&reader->kind, node->op_type);
    return buf_str(&reader->kind);
}

/* ---- what a scope puts before ---- */

static void join(Buf *path, Str part)
{
    if (path->n > 0 && part.n > 0)
        buf_putc(path, '.');
    buf_add(path, part);
}

/* The node's own path below that of the call, without a prefix that repeats it. */
static Str whole_path(OnnxReader *reader, const OnnxNode *node)
{
    const OnnxScope *scope = reader->scope;
    Str own;
    if (!path_of_scopes(node->scopes, &own))
        own = path_of_name(node->name, &reader->path);
    if (!scope)
        return own;
    size_t n = scope->around.n;
    if (n > 0 && str_starts(own, scope->around) && (own.n == n || own.s[n] == '.')) {
        n += own.n > n;
        own = (Str){own.s + n, own.n - n};
    }
    reader->whole_path.n = 0;
    join(&reader->whole_path, scope->path);
    join(&reader->whole_path, own);
    return buf_str(&reader->whole_path);
}

/* "If_3/Add_1": every op of an inner graph has a name. */
static Str whole_name(OnnxReader *reader, const OnnxNode *node)
{
    Buf *out = &reader->whole_name;
    if (!reader->scope)
        return node->name;
    out->n = 0;
    buf_add(out, reader->scope->prefix);
    bool slash = node->name.n > 0 && node->name.s[0] == '/';
    buf_add(out, slash ? (Str){node->name.s + 1, node->name.n - 1} : node->name);
    if (node->name.n == 0) {
        buf_add(out, node->op_type);
        buf_printf(out, "_%d", reader->builder->ops.n);
    }
    return buf_str(out);
}

/* ---- ops ---- */

int32_t add_op(OnnxReader *reader, const char *op_type, const InlinedCall *call, const char *suffix,
               const int32_t *inputs, int n_inputs, int32_t output, int32_t attrs)
{
    reader->whole_name.n = 0;
    buf_add(&reader->whole_name, call->label);
    buf_puts(&reader->whole_name, suffix);
    return graph_add_op(reader->builder, str_from(op_type), buf_str(&reader->whole_name),
                        call->node.path, inputs, n_inputs, &output, 1, attrs);
}

static int32_t *copy_ids(Arena *arena, const int32_t *ids, int n)
{
    int32_t *copy = arena_array(arena, int32_t, n);
    if (n > 0)
        memcpy(copy, ids, (size_t)n * sizeof *ids);
    return copy;
}

static Str copy_str(Arena *arena, Str text)
{
    return (Str){arena_str(arena, text), text.n};
}

/* A node without a name is named after its operator and its index. */
static InlinedCall make_call(OnnxReader *reader, Arena *arena, const OnnxNode *node, Wire wire)
{
    InlinedCall call = {.node = *node, .wire = wire, .label = copy_str(arena, node->name)};
    call.node.name = call.label;
    call.node.path = copy_str(arena, node->path);
    if (node->name.n == 0)
        call.label = str_from(
            arena_printf(arena, "%.*s_%d", STR_ARG(node->op_type), reader->builder->ops.n));
    call.n_inputs = reader->inputs.n;
    call.n_outputs = reader->outputs.n;
    call.n_subgraphs = reader->subgraphs.n;
    call.inputs = copy_ids(arena, reader->inputs.at, reader->inputs.n);
    call.outputs = copy_ids(arena, reader->outputs.at, reader->outputs.n);
    call.subgraphs = arena_array(arena, Subgraph, reader->subgraphs.n);
    for (int i = 0; i < call.n_subgraphs; i++)
        call.subgraphs[i] = reader->subgraphs.at[i];
    call.attrs = add_attrs(reader);
    return call;
}

/* Adds a node that is inlined, or else as an op like others. */
static void add_call(OnnxReader *reader, const OnnxNode *node, Function *function, Wire wire)
{
    Arena *arena = arena_new();
    InlinedCall call = make_call(reader, arena, node, wire);
    if (function)
        inline_function(reader, &call, function);
    else if (!read_control(reader, &call) && !wire.file->failed)
        graph_add_op(reader->builder, operator_name(reader, node), call.node.name, call.node.path,
                     call.inputs, call.n_inputs, call.outputs, call.n_outputs, call.attrs);
    arena_free(arena);
}

static void add_node(OnnxReader *reader, OnnxNode *node, Wire wire)
{
    node->path = whole_path(reader, node);
    node->name = whole_name(reader, node);
    if (!reader->scope)
        progress_line(reader->keep.progress, node->name.n > 0 ? node->name : node->path,
                      node->op_type);
    if (reader->scope)
        reader->bytes_left -= (int64_t)(sizeof(GraphOp) + node->name.n + node->path.n);
    Function *function = reader->functions.n > 0 ? called_function(reader, node) : NULL;
    if (function || reader->subgraphs.n > 0) {
        add_call(reader, node, function, wire);
        return;
    }
    unpack_operands(reader, node);
    graph_add_op(reader->builder, operator_name(reader, node), node->name, node->path,
                 reader->inputs.at, reader->inputs.n, reader->outputs.at, reader->outputs.n,
                 add_attrs(reader));
}

void read_node(OnnxReader *reader, Wire wire)
{
    reader->inputs.n = reader->outputs.n = reader->attrs.n = reader->subgraphs.n = 0;
    reader->ints.n = reader->floats.n = reader->strings.n = 0;
    OnnxNode node = {.name = STR(""),
                     .op_type = STR(""),
                     .domain = STR(""),
                     .overload = STR(""),
                     .scopes = STR(""),
                     .start = wire.at};
    for (WireField field; wire_next(&wire, &field);)
        read_node_field(reader, &wire, &field, &node);
    if (wire.file->failed)
        return;
    if (node.op_type.n == 0)
        wire_fail(&wire, node.start, "node '%s' has no op_type",
                  arena_str(reader->arena, node.name));
    else
        add_node(reader, &node, wire);
}
