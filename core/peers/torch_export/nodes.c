#include "core/peers/torch_export/nodes.h"

#include "core/peers/torch_export/rows.h"
#include "core/peers/torch_export/step.h"

#include <stdio.h>

/* ---- the call of a node ---- */

static bool is_digit_or_letter(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "torch.ops.aten.add.Tensor" is add, Tensor; "torch.ops.mylib.f.default" mylib::f; "_operator.mul"
 * stays. */
static void split_target(Call *c, Str target)
{
    Str rest = target;
    c->overload = STR("default");
    c->op = target;
    if (!str_starts(target, STR("torch.ops.")))
        return;
    rest = (Str){target.s + 10, target.n - 10};
    Str library = str_take(&rest, '.'), op = str_take(&rest, '.');
    c->op = op;
    if (rest.n > 0)
        c->overload = rest;
    if (!str_eq(library, STR("aten")) && !str_eq(library, STR("prims")))
        c->op = str_from(arena_printf(c->e->scratch, "%.*s::%.*s", STR_ARG(library), STR_ARG(op)));
}

/* The path of the last of "key,path,class;key,path,class": commas inside of brackets are its own.
 */
static Str last_module(Str stack)
{
    size_t start = stack.n, end, depth = 0;
    while (start > 0 && stack.s[start - 1] != ';')
        start--;
    Str path = STR("");
    int commas = 0;
    for (size_t i = start, from = start; i <= stack.n && commas < 2; i++) {
        char ch = i < stack.n ? stack.s[i] : ',';
        depth += ch == '[' || ch == '(' ? 1 : 0;
        depth -= (ch == ']' || ch == ')') && depth > 0 ? 1 : 0;
        if (ch != ',' || (depth > 0 && i < stack.n))
            continue;
        end = i;
        if (++commas == 2)
            path = (Str){stack.s + from, end - from};
        from = i + 1;
    }
    return path;
}

Str node_module(Export *e, int32_t node)
{
    const JsonView *json = e->json;
    int32_t metadata = json_view_get(json, node, "metadata");
    int32_t stack = json_view_get(json, metadata, "nn_module_stack");
    if (json_view_is(json, json_view_get(json, metadata, "partitioner_tag"), "is_backward"))
        return STR("");
    Str text = json_view_str(json, stack, e->scratch);
    if (str_find(text, STR("_empty_nn_module_stack")) >= 0)
        return STR("");
    return last_module(text);
}

void call_begin(Call *c, Export *e, int32_t node)
{
    const JsonView *json = e->json;
    *c = (Call){.e = e, .node = node, .path = node_module(e, node), .first_op = e->builder->ops.n};
    split_target(c, json_view_raw(json, json_view_get(json, node, "target")));
    c->name = json_view_raw(json, json_view_get(json, node, "name"));
    if (c->name.n > 0)
        return;
    int32_t outputs = json_view_get(json, node, "outputs"); /* older files name only results */
    int32_t first = json_view_first(json, outputs);
    c->name =
        json_view_raw(json, json_view_get(json, json_view_get(json, first, "as_tensor"), "name"));
    if (c->name.n == 0)
        c->name = c->op;
}

/* ---- operators without a row ---- */

/* An argument of an unknown operator as an attribute; false if it is a tensor, or says nothing. */
static bool as_attr(Call *c, int32_t value, Str name, Attr *out)
{
    enum { LIST_MAX = 64 };
    Export *e = c->e;
    const JsonView *json = e->json;
    int64_t ints[LIST_MAX], i;
    double real;
    const char *key = arena_str(e->scratch, name);
    int32_t list = json_view_get(json, value, "as_ints"), found;
    if (list >= 0) {
        int n = 0;
        json_view_each (item, json, list)
            if (n < LIST_MAX && json_view_int(json, item, &ints[n]))
                n++;
        *out = attr_ints(e, key, ints, n);
        return true;
    }
    if ((found = json_view_get(json, value, "as_string")) >= 0)
        *out = attr_text(e, key, json_view_str(json, found, e->arena));
    else if (json_view_int(json, json_view_get(json, value, "as_int"), &i))
        *out = attr_int(e, key, i);
    else if (json_view_real(json, json_view_get(json, value, "as_float"), &real))
        *out = attr_float(e, key, real);
    else if ((found = json_view_get(json, value, "as_bool")) >= 0)
        *out = attr_int(e, key, json_view_bool(json, found, false));
    else
        return false;
    return true;
}

static void add_value(Call *c, int32_t named, Terms *out)
{
    const JsonView *json = c->e->json;
    int32_t name = json_view_get(json, named, "name");
    ExportValue *value = name < 0 ? NULL : export_value(c->e, name, json_view_raw(json, name));
    if (value && value->term.kind == TERM_TENSOR)
        vec_push(c->e->scratch, out, inplace_current(c->e, value));
}

static void add_tensors(Call *c, int32_t value, Terms *out)
{
    const JsonView *json = c->e->json;
    int32_t list = json_view_get(json, value, "as_tensors");
    add_value(c, json_view_get(json, value, "as_tensor"), out);
    json_view_each (item, json, list)
        add_value(c, item, out);
}

/* The name under which rules are looked for: an operator of torch's that our tables know under its
 * name there, else its own. */
static const char *unknown_name(Call *c)
{
    Arena *scratch = c->e->scratch;
    if (str_find(c->op, STR("::")) >= 0)
        return arena_str(scratch, c->op);
    const char *name =
        arena_printf(scratch, "torch::%.*s.%.*s", STR_ARG(c->op), STR_ARG(c->overload));
    return str_eq(c->overload, STR("default"))
               ? arena_printf(scratch, "torch::%.*s", STR_ARG(c->op))
               : name;
}

static int count_results(const Call *c)
{
    const JsonView *json = c->e->json;
    int n = 0;
    json_view_each (item, json, json_view_get(json, c->node, "outputs")) {
        int32_t list = json_view_get(json, item, "as_tensors");
        n += list < 0 ? 1 : json_view_size(json, list);
    }
    return n < CALL_OUTPUTS_MAX ? n : CALL_OUTPUTS_MAX;
}

/* The name of a call that the row of its operator does not do for: no table has it, for rule and
 * kernel of the operator would leave out what the call asks for besides. */
static const char *whole_name(Call *c)
{
    return arena_printf(c->e->scratch, "torch.export::%.*s.%.*s", STR_ARG(c->op),
                        STR_ARG(c->overload));
}

/* One op of that name with the tensors as inputs and the rest as attributes; its results have the
 * types and shapes of the file. */
static void make_opaque(Call *c, const char *op_type)
{
    enum { ATTRS_MAX = 24 };
    const JsonView *json = c->e->json;
    Attr attrs[ATTRS_MAX];
    Terms inputs = {0};
    ExportTerm out[CALL_OUTPUTS_MAX];
    int n_attrs = 0, n = count_results(c), at = 0;
    json_view_each (item, json, json_view_get(json, c->node, "inputs")) {
        int32_t value = json_view_get(json, item, "arg");
        Str name = json_view_raw(json, json_view_get(json, item, "name"));
        if (name.n == 0)
            name = str_from(arena_printf(c->e->scratch, "arg%d", at));
        at++;
        add_tensors(c, value, &inputs);
        if (n_attrs < ATTRS_MAX && as_attr(c, value, name, &attrs[n_attrs]))
            n_attrs++;
    }
    if (n == 0)
        return;
    for (int i = 0; i < inputs.n; i++)
        if (term_is_complex(inputs.at[i]))
            inputs.at[i] = complex_parts(inputs.at[i]);
    emit_many(c, op_type, inputs.at, inputs.n, attrs, n_attrs, out, n);
    for (int i = 0; i < n; i++) {
        int32_t meta = call_result_meta(c, i);
        out[i].dtype = (uint8_t)(meta < 0 ? DT_NONE : meta_dtype(c->e, meta));
    }
    call_results(c, out, n);
}

/* ---- sizes ---- */

/* Arithmetic of sizes and what else a program says of them. */
static const struct {
    const char *op, *ours;
} size_ops[] = {
    {"mul", "Mul"}, {"add", "Add"},           {"sub", "Sub"},        {"floordiv", NULL},
    {"mod", "Mod"}, {"ge", "GreaterOrEqual"}, {"le", "LessOrEqual"}, {"gt", "Greater"},
    {"lt", "Less"}, {"eq", "Equal"},          {"sym_max", "Max"},    {"sym_min", "Min"},
    {"pow", "Pow"}, {"neg", "Neg"},
};

static ExportTerm as_size(Call *c, ExportTerm size)
{
    return size.kind == TERM_NUMBER ? emit_ints(c->e, &size.i, 1) : size;
}

static void make_size_op(Call *c, const char *ours)
{
    call_bind(c, "a b");
    ExportTerm a = as_size(c, call_term(c, "a")), out;
    if (!call_given(c, "b")) {
        out = emit1(c, ours, a);
    } else if (ours) {
        out = emit2(c, ours, a, as_size(c, call_term(c, "b")));
    } else { /* rounds down, with the rest's sign that of the divisor */
        ExportTerm b = as_size(c, call_term(c, "b"));
        out = emit2(c, "Div", emit2(c, "Sub", a, emit2(c, "Mod", a, b)), b);
    }
    call_results(c, &out, 1);
}

static void make_sym_size(Call *c)
{
    call_bind(c, "self dim");
    ExportTerm x = call_tensor(c, "self");
    int64_t dim = call_axis(c, "dim", x.rank);
    Attr attrs[] = {attr_int(c->e, "start", dim), attr_int(c->e, "end", dim + 1)};
    ExportTerm out = emit(c, "Shape", &x, 1, attrs, 2);
    out.rank = 1;
    call_results(c, &out, 1);
}

/* One of two sizes. */
static void make_sym_ite(Call *c)
{
    call_bind(c, "b t f");
    ExportTerm in[] = {emit_cast(c, as_size(c, call_term(c, "b")), DT_BOOL),
                       as_size(c, call_term(c, "t")), as_size(c, call_term(c, "f"))};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    call_results(c, &out, 1);
}

static void make_sym_numel(Call *c)
{
    call_bind(c, "self");
    ExportTerm out = emit1(c, "Size", call_tensor(c, "self"));
    out = emit2(c, "Reshape", out, emit_ints(c->e, (int64_t[]){1}, 1));
    out.rank = 1;
    call_results(c, &out, 1);
}

/* A scalar's value: as an i64[1], of a float as one of its type. */
static void make_item(Call *c)
{
    call_bind(c, "self");
    ExportTerm x = call_tensor(c, "self");
    ExportTerm out = dtype_is_float((Dtype)x.dtype) ? x : emit_cast(c, x, DT_I64);
    out = emit2(c, "Reshape", out, emit_ints(c->e, (int64_t[]){1}, 1));
    out.rank = 1;
    call_results(c, &out, 1);
}

/* Says something of values that the reader does not need: it makes nothing. */
static bool is_remark(Str op)
{
    static const char *const remarks[] = {"_assert_tensor_metadata",
                                          "_assert_scalar",
                                          "_assert_async",
                                          "sym_constrain_range",
                                          "sym_constrain_range_for_size",
                                          "_functional_assert_async",
                                          "_functional_sym_constrain_range",
                                          "_print"};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (str_eq(op, str_from(remarks[i])))
            return true;
    return false;
}

static bool read_sizes(Call *c)
{
    Str op = c->op;
    if (str_eq(op, STR("sym_size")) && str_eq(c->overload, STR("int"))) {
        make_sym_size(c);
        return true;
    }
    if (str_eq(op, STR("sym_numel")) || str_eq(op, STR("numel"))) {
        make_sym_numel(c);
        return true;
    }
    if (str_eq(op, STR("item")) || str_eq(op, STR("_local_scalar_dense"))) {
        make_item(c);
        return true;
    }
    if (str_eq(op, STR("torch.sym_ite"))) {
        make_sym_ite(c);
        return true;
    }
    if (!str_starts(op, STR("_operator.")) && !str_starts(op, STR("math.")) &&
        !str_starts(op, STR("torch.sym_")))
        return false;
    Str rest = op;
    str_take(&rest, '.');
    for (size_t i = 0; i < sizeof size_ops / sizeof *size_ops; i++)
        if (str_eq(rest, str_from(size_ops[i].op))) {
            make_size_op(c, size_ops[i].ours);
            return true;
        }
    return false;
}

/* ---- nodes ---- */

/* "relu_" changes its first argument; "__and__" does not. */
static bool changes_in_place(Str op, Str *plain)
{
    bool in_place = op.n > 1 && op.s[op.n - 1] == '_' && op.s[op.n - 2] != '_';
    *plain = in_place ? (Str){op.s, op.n - 1} : op;
    return in_place && is_digit_or_letter(op.s[op.n - 2]);
}

/* Looks in the tables once for each operator. */
static const TorchRow *row_of(Call *c, Str plain)
{
    Export *e = c->e;
    char key[160];
    int n = snprintf(key, sizeof key, "%.*s.%.*s", STR_ARG(c->op), STR_ARG(c->overload));
    if (n < 0 || (size_t)n >= sizeof key)
        return NULL;
    int32_t id = intern_put(e->row_keys, key, (size_t)n);
    if (id == e->rows.n) {
        const TorchRow *row = torch_row(c->op, c->overload);
        row = row || plain.n == c->op.n ? row : torch_row(plain, c->overload);
        vec_push(e->scratch, &e->rows, row);
    }
    return e->rows.at[id];
}

static const char *changed_arg(const TorchRow *row)
{
    return str_starts(str_from(row->schema), STR("input ")) ? "input" : "self";
}

/* A call that the row of its operator does not do for becomes one op, with a note that says why;
 * what the row made so far is not used. */
static void keep_whole(Call *c)
{
    Export *e = c->e;
    Finding note = {.level = LEVEL_NOTE, .code = "kept-whole", .op = -1, .tensor = -1, .hint = ""};
    note.text = arena_printf(e->arena, "%s: it is one op here", e->err->text);
    if (!c->capture)
        vec_push(e->arena, e->file->notes, note);
    *e->err = (Error){0};
    c->unfit = false;
    c->first_op = e->builder->ops.n;
    make_opaque(c, whole_name(c));
}

static void read_call(Call *c)
{
    Str plain;
    bool in_place = changes_in_place(c->op, &plain);
    const TorchRow *row = NULL;
    if (is_remark(c->op) || read_sizes(c) || nodes_read_control(c)) {
        if (!c->unfit)
            return;
    } else {
        row = row_of(c, plain);
        if (row)
            torch_row_apply(c, row);
        else
            make_opaque(c, unknown_name(c));
    }
    if (c->unfit)
        keep_whole(c);
    inplace_note_view(c);
    if (!in_place || c->n_results == 0 || str_eq(plain, STR("detach")))
        return;
    if (!row)
        call_bind(c, "self");
    inplace_change(c, row ? changed_arg(row) : "self", c->first_result);
}

static bool read_node(Export *e, int32_t node)
{
    Call c;
    call_begin(&c, e, node);
    if (c.op.n == 0)
        return export_fail(e, node, "a node has no target");
    read_call(&c);
    torch_step_note(e, node, c.first_op);
    if (e->builder->problem.text[0])
        call_fail(&c, "%s", e->builder->problem.text);
    return !export_failed(e);
}

ExportTerm node_again(Export *e, int32_t node)
{
    Call c;
    ExportTerm out = no_term();
    call_begin(&c, e, node);
    c.capture = &out;
    read_call(&c);
    return out;
}

bool nodes_read(Export *e)
{
    enum { REPORT_NODES = 512 };
    const JsonView *json = e->json;
    json_view_each (node, json, json_view_get(json, e->scope->graph, "nodes")) {
        if (!read_node(e, node))
            return false;
        if (++e->n_nodes % REPORT_NODES == 0 && !progress_goes_on(e->file->progress, e->err))
            return false;
    }
    return true;
}
