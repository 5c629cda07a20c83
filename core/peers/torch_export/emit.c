#include "core/peers/torch_export/exporting.h"

#include "core/run/element.h"

#include <math.h>

enum { EMIT_INPUTS_MAX = 512 };

/* ---- terms ---- */

ExportTerm term_number(double value)
{
    bool whole = fabs(value) < 9e15 && floor(value) == value;
    return (ExportTerm){TERM_NUMBER, DT_F32, 0, -1, -1, whole ? (int64_t)value : 0, value};
}

ExportTerm term_int(int64_t value)
{
    return (ExportTerm){TERM_NUMBER, DT_I64, 0, -1, -1, value, (double)value};
}

ExportTerm term_tensor(int32_t tensor, Dtype dtype, int rank)
{
    return (ExportTerm){TERM_TENSOR, (uint8_t)dtype, (uint8_t)rank, tensor, -1, 0, 0};
}

/* ---- attributes ---- */

static Attr attr_of(Export *e, const char *name, AttrType type)
{
    return (Attr){.name = names_intern(e->graph->names, str_from(name)), .type = (uint8_t)type};
}

Attr attr_int(Export *e, const char *name, int64_t value)
{
    Attr out = attr_of(e, name, ATTR_INT);
    out.i = value;
    return out;
}

Attr attr_float(Export *e, const char *name, double value)
{
    Attr out = attr_of(e, name, ATTR_FLOAT);
    out.f = value;
    return out;
}

Attr attr_text(Export *e, const char *name, Str value)
{
    Attr out = attr_of(e, name, ATTR_STRING);
    out.s = value;
    return out;
}

Attr attr_ints(Export *e, const char *name, const int64_t *values, int n)
{
    Attr out = attr_of(e, name, ATTR_INTS);
    int64_t *copy = arena_array(e->arena, int64_t, n + 1);
    memcpy(copy, values, (size_t)n * sizeof *copy);
    out.ints = copy;
    out.n = n;
    return out;
}

/* ---- types ---- */

/* torch's order of kinds of types: of a kind that is later, a tensor of fewer dims counts too. */
static int kind_of_type(Dtype dtype)
{
    if (dtype == DT_C64 || dtype == DT_C128)
        return 3;
    return dtype_is_float(dtype) ? 2 : dtype == DT_BOOL ? 0 : 1;
}

/* The type that holds both, of the same kind or not (c10/core/ScalarType.cpp, promoteTypes). */
static Dtype promote(Dtype a, Dtype b)
{
    if (a == b || b == DT_NONE)
        return a;
    if (a == DT_NONE)
        return b;
    int kind_a = kind_of_type(a), kind_b = kind_of_type(b);
    if (kind_a != kind_b)
        return kind_a > kind_b ? a : b;
    if (kind_a == 2 && dtype_bits(a) == dtype_bits(b))
        return DT_F32; /* f16 and bf16 */
    if (kind_a == 1 && (a == DT_U8 || b == DT_U8) && dtype_bits(a) == dtype_bits(b))
        return DT_I16;
    return dtype_bits(a) >= dtype_bits(b) ? a : b;
}

Dtype terms_promoted(const ExportTerm *terms, int n)
{
    Dtype by_priority[3] = {DT_NONE, DT_NONE, DT_NONE}; /* dims, none, numbers */
    for (int i = 0; i < n; i++) {
        int at = terms[i].kind == TERM_NUMBER ? 2 : terms[i].rank == 0 ? 1 : 0;
        if (term_is(terms[i]))
            by_priority[at] = promote(by_priority[at], (Dtype)terms[i].dtype);
    }
    Dtype out = by_priority[0];
    for (int at = 1; at < 3; at++)
        if (by_priority[at] != DT_NONE &&
            (out == DT_NONE || kind_of_type(by_priority[at]) > kind_of_type(out)))
            out = by_priority[at];
    return out;
}

/* ---- constants ---- */

/* The constant with these elements, or with `fill` for all of them if bytes is NULL; each is made
 * once. */
static int32_t constant_of(Export *e, Dtype dtype, const Shape *shape, Str bytes, double fill)
{
    Buf key = buf_new(e->scratch);
    buf_printf(&key, "%d%c", dtype, bytes.s ? ' ' : '=');
    shape_format(shape, &key);
    buf_putc(&key, ' ');
    buf_add(&key, bytes.s ? bytes : (Str){(const char *)&fill, sizeof fill});
    int32_t id = intern_put(e->constant_keys, key.s, key.n);
    if (id < e->constants.n)
        return e->constants.at[id];
    TensorData data = {.form = DATA_FILL, .fill = fill};
    if (bytes.s) {
        char *copy = arena_alloc(e->arena, bytes.n + 1);
        if (bytes.n > 0)
            memcpy(copy, bytes.s, bytes.n);
        data = (TensorData){.form = DATA_RAW, .bytes = {copy, bytes.n}};
    }
    int32_t tensor = graph_new_tensor(e->builder, STR("constant"));
    if (tensor >= 0)
        graph_add_initializer(e->builder, tensor, dtype, shape, data);
    vec_push(e->scratch, &e->constants, tensor);
    return tensor;
}

static int32_t constant(Export *e, Dtype dtype, const Shape *shape, const void *bytes, size_t n)
{
    return constant_of(e, dtype, shape, (Str){bytes, n}, 0);
}

ExportTerm emit_ints(Export *e, const int64_t *values, int n)
{
    Shape shape = {.n_dims = 1, .dim = {n}};
    size_t n_bytes = (size_t)n * sizeof *values;
    return term_tensor(constant(e, DT_I64, &shape, values, n_bytes), DT_I64, 1);
}

ExportTerm emit_scalar_int(Export *e, int64_t value)
{
    Shape scalar = {0};
    return term_tensor(constant(e, DT_I64, &scalar, &value, sizeof value), DT_I64, 0);
}

ExportTerm emit_pair(Call *c, double real, double imag, Dtype dtype)
{
    Dtype part = dtype_of_parts(dtype);
    Shape pair = {.n_dims = 1, .dim = {2}};
    double parts[2] = {real, imag};
    char bytes[16];
    elements_store(part, bytes, 2, NUMBER_F64, parts);
    int32_t tensor = constant(c->e, part, &pair, bytes, 2 * (size_t)element_bytes(part));
    return term_tensor(tensor, dtype, 0);
}

ExportTerm emit_constant(Call *c, ExportTerm number, Dtype dtype)
{
    Shape scalar = {0};
    char bytes[16] = {0};
    if (dtype_of_parts(dtype) != dtype)
        return emit_pair(c, number.f, 0, dtype);
    if (!dtype_is_computed(dtype)) {
        call_fail(c, "there are no constants of type %s", dtype_name(dtype));
        return no_term();
    }
    /* torch computes with the double, which a model that is computed in f64 keeps. */
    if (dtype == DT_F32 && number.dtype == DT_F32)
        return term_tensor(constant_of(c->e, dtype, &scalar, (Str){0}, number.f), dtype, 0);
    if (dtype_number(dtype) == NUMBER_I64 && number.dtype != DT_F32)
        elements_store(dtype, bytes, 1, NUMBER_I64, &number.i);
    else
        elements_store(dtype, bytes, 1, NUMBER_F64, &number.f);
    return term_tensor(constant(c->e, dtype, &scalar, bytes, (size_t)element_bytes(dtype)), dtype,
                       0);
}

/* ---- ops ---- */

/* What is to be known of some operators of ours here. Those that promote compute element by element
 * on tensors and numbers of a common type; `of_bools` is the one that does the same with bools. */
enum { PROMOTES = 1, TRUTH = 2, SECOND = 4, WHOLE = 8 };
static const struct {
    const char *name, *of_bools;
    int flags;
} operators[] = {
    {"Add", "Or", PROMOTES},
    {"Sub", NULL, PROMOTES},
    {"Mul", "And", PROMOTES},
    {"Div", NULL, PROMOTES},
    {"Pow", NULL, PROMOTES},
    {"Mod", NULL, PROMOTES},
    {"Max", "Or", PROMOTES},
    {"Min", "And", PROMOTES},
    {"Where", NULL, PROMOTES | SECOND},
    {"Equal", NULL, PROMOTES | TRUTH},
    {"Less", NULL, PROMOTES | TRUTH},
    {"LessOrEqual", NULL, PROMOTES | TRUTH},
    {"Greater", NULL, PROMOTES | TRUTH},
    {"GreaterOrEqual", NULL, PROMOTES | TRUTH},
    {"BitwiseAnd", "And", PROMOTES},
    {"BitwiseOr", "Or", PROMOTES},
    {"BitwiseXor", "Xor", PROMOTES},
    {"BitwiseNot", "Not", 0},
    {"And", NULL, TRUTH},
    {"Or", NULL, TRUTH},
    {"Xor", NULL, TRUTH},
    {"Not", NULL, TRUTH},
    {"IsNaN", NULL, TRUTH},
    {"IsInf", NULL, TRUTH},
    {"Shape", NULL, WHOLE},
    {"Size", NULL, WHOLE},
    {"ArgMax", NULL, WHOLE},
    {"ArgMin", NULL, WHOLE},
    {"NonZero", NULL, WHOLE},
};

static int operator_row(const char *op)
{
    int n = sizeof operators / sizeof *operators;
    for (int i = 0; i < n; i++)
        if (strcmp(operators[i].name, op) == 0)
            return i;
    return -1;
}

static Str made_name(Call *c, const char *op)
{
    const char *plain = strstr(op, "::");
    const char *number = c->n_made > 0 ? arena_printf(c->e->scratch, "_%d", c->n_made) : "";
    c->n_made++;
    return str_from(arena_printf(c->e->scratch, "%.*s%.*s/%s%s", STR_ARG(c->e->scope->prefix),
                                 STR_ARG(c->name), plain ? plain + 2 : op, number));
}

/* Adds the op as it is; the first output is named after it. */
static void add(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
                int n_attrs, ExportTerm *out, int n_out)
{
    Export *e = c->e;
    int32_t from[EMIT_INPUTS_MAX], to[CALL_OUTPUTS_MAX];
    if (n > EMIT_INPUTS_MAX || n_out > CALL_OUTPUTS_MAX) {
        call_fail(c, "it has more than %d operands", EMIT_INPUTS_MAX);
        return;
    }
    for (int i = 0; i < n; i++)
        from[i] = inputs[i].tensor;
    while (n > 0 && from[n - 1] < 0)
        n--;
    Str name = made_name(c, op);
    for (int i = 0; i < n_out; i++) {
        to[i] = graph_new_tensor(e->builder, name);
        out[i].tensor = to[i];
    }
    int32_t list = graph_add_attrs(e->builder, attrs, n_attrs);
    graph_add_op(e->builder, str_from(op), name, c->path, from, n, to, n_out, list);
}

/* Numbers as constants, and tensors as of the type that they are computed on together. */
static Dtype promote_inputs(Call *c, ExportTerm *inputs, int n, int first)
{
    Dtype dtype = terms_promoted(inputs + first, n - first);
    for (int i = first; i < n; i++)
        inputs[i] = inputs[i].kind == TERM_NUMBER ? emit_constant(c, inputs[i], dtype)
                                                  : emit_cast(c, inputs[i], dtype);
    return dtype;
}

void emit_many(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
               int n_attrs, ExportTerm *out, int n_out)
{
    ExportTerm in[EMIT_INPUTS_MAX];
    int row = operator_row(op), flags = row < 0 ? 0 : operators[row].flags;
    if (n > EMIT_INPUTS_MAX) {
        call_fail(c, "it has more than %d operands", EMIT_INPUTS_MAX);
        return;
    }
    bool complex = false;
    for (int i = 0; i < n; i++) {
        in[i] = inputs[i];
        complex |= term_is_complex(in[i]);
    }
    if (complex) {
        emit_complex(c, op, in, n, attrs, n_attrs, out, n_out);
        return;
    }
    int first = flags & SECOND ? 1 : 0;
    Dtype like = n > first ? (Dtype)in[first].dtype : DT_NONE;
    int rank = 0;
    if (flags & PROMOTES)
        like = promote_inputs(c, in, n, first);
    for (int i = 0; i < n; i++) {
        if (in[i].kind == TERM_NUMBER)
            in[i] = emit_constant(c, in[i], like);
        rank = in[i].rank > rank ? in[i].rank : rank;
    }
    bool bools = row >= 0 && operators[row].of_bools && like == DT_BOOL;
    Dtype dtype = flags & TRUTH ? DT_BOOL : flags & WHOLE ? DT_I64 : like;
    for (int i = 0; i < n_out; i++)
        out[i] = term_tensor(-1, dtype, rank);
    if (!export_failed(c->e))
        add(c, bools ? operators[row].of_bools : op, in, n, attrs, n_attrs, out, n_out);
}

ExportTerm emit(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
                int n_attrs)
{
    ExportTerm out = no_term();
    emit_many(c, op, inputs, n, attrs, n_attrs, &out, 1);
    return out;
}

ExportTerm emit_cast(Call *c, ExportTerm x, Dtype to)
{
    if (to == DT_NONE || x.dtype == to || !term_is(x))
        return x;
    if (x.kind == TERM_NUMBER)
        return emit_constant(c, x, to);
    if (term_is_complex(x) || dtype_of_parts(to) != to)
        return complex_cast(c, x, to);
    Attr attr = attr_int(c->e, "to", dtype_to_onnx(to));
    ExportTerm out = emit(c, "Cast", &x, 1, &attr, 1);
    out.dtype = (uint8_t)to;
    return out;
}

ExportTerm emit_float(Call *c, ExportTerm x)
{
    bool is = dtype_is_float(dtype_of_parts((Dtype)x.dtype));
    return is ? x : emit_cast(c, x, DT_F32);
}

/* ---- sizes ---- */

ExportTerm emit_sizes(Call *c, const Terms *sizes)
{
    Export *e = c->e;
    int64_t numbers[DIMS_MAX];
    int32_t key[DIMS_MAX + 1];
    ExportTerm parts[DIMS_MAX];
    bool known = true;
    if (sizes->n > DIMS_MAX) {
        call_fail(c, "a shape has at most %d dims", DIMS_MAX);
        return no_term();
    }
    for (int i = 0; i < sizes->n; i++) {
        ExportTerm size = sizes->at[i];
        known &= size.kind == TERM_NUMBER;
        numbers[i] = size.i;
        parts[i] = size.kind == TERM_NUMBER ? emit_ints(e, &size.i, 1) : size;
        key[i] = parts[i].tensor;
    }
    if (known)
        return emit_ints(e, numbers, sizes->n);
    if (sizes->n == 1)
        return parts[0];
    key[sizes->n] = -2 - e->n_bodies; /* a list of tensors, no constant */
    int32_t id = intern_put(e->constant_keys, key, (size_t)(sizes->n + 1) * sizeof *key);
    if (id == e->constants.n) {
        Attr axis = attr_int(e, "axis", 0);
        ExportTerm made = emit(c, "Concat", parts, sizes->n, &axis, 1);
        vec_push(e->scratch, &e->constants, made.tensor);
    }
    return term_tensor(e->constants.at[id], DT_I64, 1);
}

ExportTerm emit_as_scalar(Call *c, ExportTerm size, Dtype dtype)
{
    if (size.kind == TERM_NUMBER)
        return emit_constant(c, size, dtype);
    if (size.rank == 1) {
        size = emit2(c, "Squeeze", size, emit_ints(c->e, (int64_t[]){0}, 1));
        size.rank = 0;
    }
    return emit_cast(c, size, dtype);
}

ExportTerm emit_filled(Call *c, ExportTerm shape, ExportTerm value, Dtype dtype, int rank)
{
    Export *e = c->e;
    Shape one = {.n_dims = 1, .dim = {1}};
    Attr attr = attr_of(e, "value", ATTR_TENSOR);
    TensorData *data = arena_make(e->arena, TensorData);
    char *bytes = arena_alloc(e->arena, 16);
    if (dtype_of_parts(dtype) != dtype)
        return emit_cast(c, emit_filled(c, shape, value, dtype_of_parts(dtype), rank), dtype);
    if (!dtype_is_computed(dtype)) {
        call_fail(c, "there are no constants of type %s", dtype_name(dtype));
        return no_term();
    }
    if (dtype_number(dtype) == NUMBER_I64 && value.dtype != DT_F32)
        elements_store(dtype, bytes, 1, NUMBER_I64, &value.i);
    else
        elements_store(dtype, bytes, 1, NUMBER_F64, &value.f);
    *data = (TensorData){.form = DATA_RAW, .bytes = {bytes, (size_t)element_bytes(dtype)}};
    attr.tensor = data;
    attr.dtype = (uint8_t)dtype;
    attr.shape = shapes_put(e->graph->shapes, &one);
    ExportTerm out = emit(c, "ConstantOfShape", &shape, 1, &attr, 1);
    out.dtype = (uint8_t)dtype;
    out.rank = (uint8_t)(rank < DIMS_MAX ? rank : DIMS_MAX);
    return out;
}

/* ---- results ---- */

/* The names of what the node makes: a tensor each, or one list of them. Other outputs are None. */
static int result_names(const Call *c, Str *out, bool *size)
{
    const JsonView *json = c->e->json;
    int n = 0;
    json_view_each (item, json, json_view_get(json, c->node, "outputs")) {
        int32_t list = json_view_get(json, item, "as_tensors");
        int32_t one = json_view_get(json, json_view_get(json, item, "as_tensor"), "name");
        for (int i = 0; i < 3 && one < 0; i++) {
            static const char *const sizes[] = {"as_sym_int", "as_sym_float", "as_sym_bool"};
            one = json_view_get(json, json_view_get(json, item, sizes[i]), "as_name");
            *size |= one >= 0;
        }
        if (list < 0 && n < CALL_OUTPUTS_MAX)
            out[n++] = json_view_raw(json, one);
        json_view_each (part, json, list)
            if (n < CALL_OUTPUTS_MAX)
                out[n++] = json_view_raw(json, json_view_get(json, part, "name"));
    }
    return n;
}

int32_t call_result_meta(const Call *c, int i)
{
    Str names[CALL_OUTPUTS_MAX];
    bool size = false;
    int n = result_names(c, names, &size);
    return i < n && !size ? export_meta(c->e, names[i]) : -1;
}

Dtype call_result_dtype(const Call *c)
{
    int32_t meta = call_result_meta(c, 0);
    return meta < 0 ? DT_NONE : meta_dtype(c->e, meta);
}

/* Whether the call's last op made the tensor, and nothing has its name yet. */
static bool is_made_here(const Call *c, ExportTerm t, int32_t first_op)
{
    int32_t maker = c->e->builder->tensors.at[t.tensor].maker;
    return maker >= first_op;
}

/* The tensor as the value of that name: of the file's type, made by an op of the node. */
static ExportTerm named(Call *c, ExportTerm t, Str name, int32_t meta, int32_t first_op)
{
    Export *e = c->e;
    Dtype dtype = meta < 0 ? DT_NONE : meta_dtype(e, meta);
    if (t.kind == TERM_NUMBER)
        t = emit_constant(c, t, dtype == DT_NONE ? (Dtype)t.dtype : dtype);
    t = emit_cast(c, t, dtype);
    if (t.tensor < 0 || export_failed(e))
        return t;
    if (!is_made_here(c, t, first_op))
        t = emit1(c, "Identity", t);
    GraphTensor *tensor = &e->builder->tensors.at[t.tensor];
    Str whole = name;
    if (e->scope->prefix.n > 0)
        whole = str_from(
            arena_printf(e->scratch, "%.*s%.*s", STR_ARG(e->scope->prefix), STR_ARG(name)));
    tensor->name = names_intern(e->graph->names, whole);
    return t;
}

void call_declare(Call *c, int32_t tensor, int32_t meta)
{
    DeclaredDim dims[DIMS_MAX];
    Dtype dtype;
    int n;
    if (meta >= 0 && meta_declare(c->e, meta, &dtype, dims, &n))
        graph_declare(c->e->builder, tensor, dtype, dims, n);
}

void call_results(Call *c, const ExportTerm *results, int n)
{
    Export *e = c->e;
    Str names[CALL_OUTPUTS_MAX];
    bool size = false;
    int n_names = result_names(c, names, &size);
    c->n_results = n;
    if (c->capture && n > 0)
        *c->capture = results[0];
    if (c->capture)
        return;
    for (int i = 0; i < n_names && i < n && !export_failed(e); i++) {
        if (names[i].n == 0 || !term_is(results[i]))
            continue;
        if (size) {
            export_define(e, names[i], results[i], true);
            if (results[i].kind == TERM_TENSOR)
                e->builder->tensors.at[results[i].tensor].name =
                    names_intern(e->graph->names, names[i]);
            continue;
        }
        int32_t meta = export_meta(e, names[i]);
        ExportTerm t = named(c, results[i], names[i], meta, c->first_op);
        t.rank = (uint8_t)(meta < 0 ? t.rank : meta_rank(e, meta));
        call_declare(c, t.tensor, meta);
        export_define(e, names[i], t, false);
        if (i == 0)
            c->first_result = t;
        int32_t maker = t.tensor < 0 ? -1 : e->builder->tensors.at[t.tensor].maker;
        if (i == 0 && maker >= 0)
            e->builder->ops.at[maker].name =
                names_intern(e->graph->names,
                             str_from(arena_printf(e->scratch, "%.*s%.*s",
                                                   STR_ARG(e->scope->prefix), STR_ARG(c->name))));
    }
}
