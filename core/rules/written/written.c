#include "core/rules/written/parts.h"

#include "core/model/builder.h"

int written_n_ops(const Written *written)
{
    return written->statements.n;
}

enum { WRITTEN_OPSET = 23 };

/* ---- attributes ---- */

static void add_attr(WrittenStatement *to, Str name, Attr attr)
{
    if (to->n_attrs == STATEMENT_ATTRS)
        return;
    to->attr_name[to->n_attrs] = name;
    to->attr[to->n_attrs++] = attr;
}

/* Attributes of the op that the operator has, too. */
static void copy_attrs(const Written *w, WrittenStatement *to)
{
    const Operator *row = operator_find(to->op_type);
    const Graph *graph = w->op->graph;
    AttrList list = graph->attr_lists[graph->ops[w->op->op].attrs];
    for (int i = 0; row && row->attrs && i < list.n; i++) {
        Str name = names_str(graph->names, list.at[i].name);
        if (str_has_word(str_from(row->attrs), name))
            add_attr(to, name, list.at[i]);
    }
}

/* T, f32, :x */
static bool read_type(const Written *w, Str text, Dtype *out, Error *err)
{
    bool of = text.n > 0 && text.s[0] == ':';
    *out = of ? written_dtype(w, written_input(w, (Str){text.s + 1, text.n - 1}))
           : str_eq(text, STR("T")) ? w->type
                                    : dtype_from_name(text);
    return *out != DT_NONE || written_fail(text, "is no type that is known", err);
}

/* Channels become dim 1, or the last. */
static bool read_permutation(const Written *w, bool first, WholeList *out, Error *err)
{
    int64_t n;
    Str rank = {"n", 1};
    const Shape *shape = written_has(w, 0) ? w->op->shape[0] : NULL;
    if (!shape || shape->n_dims < 2)
        return written_fail(rank, "of input 0 is not known", err);
    n = shape->n_dims;
    for (int64_t d = 0; d < n; d++)
        vec_push(w->arena, out,
                 d == 0            ? 0
                 : first && d == 1 ? n - 1
                 : first           ? d - 1
                 : d == n - 1      ? 1
                                   : d + 1);
    return true;
}

static bool is_number(Str text)
{
    char c = text.n > 0 ? text.s[text.s[0] == '-' && text.n > 1] : ' ';
    return is_digit(c);
}

static bool read_attr_value(const Written *w, Str name, Str text, WrittenStatement *to, Error *err)
{
    Attr attr = {.type = ATTR_INT};
    WholeList list = {0};
    int64_t whole;
    double real;
    bool first = str_eq(text, STR("nchw")), lists = text.n > 0 && text.s[0] == '[';
    if (lists || first || str_eq(text, STR("nhwc"))) {
        if (!(lists ? written_wholes(w, written_inside(text), &list, err)
                    : read_permutation(w, first, &list, err)))
            return false;
        attr.type = ATTR_INTS;
        attr.n = list.n;
        attr.ints = list.at;
    } else if (is_number(text) && !str_to_int(text, &whole) && str_to_real(text, &real)) {
        attr.type = ATTR_FLOAT;
        attr.f = real;
    } else if (is_number(text) || str_find(text, STR(".")) >= 0) {
        attr.type = ATTR_INT;
        if (!written_whole(w, text, &attr.i, err))
            return false;
    } else {
        attr.type = ATTR_STRING;
        attr.s = text;
    }
    add_attr(to, name, attr);
    return true;
}

static bool read_attr(const Written *w, Str word, WrittenStatement *to, Error *err)
{
    Str value = word, name = str_take(&value, '='), fallback;
    Dtype dtype;
    if (str_eq(word, STR("*"))) {
        copy_attrs(w, to);
        return true;
    }
    if (str_eq(name, STR("to")) && value.n > 0 && value.s[0] != '@') {
        if (!read_type(w, value, &dtype, err))
            return false;
        add_attr(to, name, (Attr){.type = ATTR_INT, .i = dtype_to_onnx(dtype)});
        return true;
    }
    if (value.n == 0 || value.s[0] != '@' || str_find(value, STR("*")) >= 0 ||
        str_find(value, STR("/")) >= 0)
        return read_attr_value(w, name, value, to, err);
    const Attr *given = written_attr(w, (Str){value.s + 1, value.n - 1}, &fallback);
    if (!given)
        return fallback.n == 0 || read_attr_value(w, name, fallback, to, err);
    add_attr(to, name, *given);
    return true;
}

/* ---- operands ---- */

static int32_t constant(Written *w, Dtype dtype, Shape shape, const void *from, size_t n)
{
    char *bytes = arena_alloc(w->arena, n + 1);
    if (n > 0)
        memcpy(bytes, from, n);
    return written_add_place(
        w, (WrittenPlace){
               .input = -1, .output = -1, .dtype = dtype, .shape = shape, .bytes = {bytes, n}});
}

static int32_t result(Written *w)
{
    return written_add_place(w, (WrittenPlace){.input = -1, .output = -1});
}

static int32_t cast(Written *w, int32_t from, Dtype dtype)
{
    WrittenStatement to = {.op_type = "Cast"};
    int32_t out = result(w);
    add_attr(&to, STR("to"), (Attr){.type = ATTR_INT, .i = dtype_to_onnx(dtype)});
    vec_push(w->arena, &to.in, from);
    vec_push(w->arena, &to.out, out);
    vec_push(w->arena, &w->statements, to);
    return out;
}

static int32_t real_constant(Written *w, double number)
{
    float value = (float)number;
    int32_t out = constant(w, DT_F32, (Shape){0}, &value, sizeof value);
    return w->type == DT_F32 ? out : cast(w, out, w->type);
}

/* (0.5 1.0) */
static bool read_reals(Written *w, Str text, int32_t *out, Error *err)
{
    Vec(float) values = {0};
    for (Str rest = text; rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        double number;
        if (word.n > 0 && !str_to_real(word, &number))
            return written_fail(word, "is no number", err);
        if (word.n > 0)
            vec_push(w->arena, &values, (float)number);
    }
    Shape shape = {.n_dims = 1, .dim = {values.n}};
    *out = constant(w, DT_F32, shape, values.at, (size_t)values.n * sizeof *values.at);
    *out = w->type == DT_F32 ? *out : cast(w, *out, w->type);
    return true;
}

static bool read_whole_operand(Written *w, Str word, int32_t *out, Error *err)
{
    Str type = word, text = str_take(&type, ':');
    int64_t value;
    Dtype dtype = DT_I64;
    if (text.s[0] == '#')
        text = (Str){text.s + 1, text.n - 1};
    if (!written_whole(w, text, &value, err))
        return false;
    if (type.n > 0 && !read_type(w, type, &dtype, err))
        return false;
    *out = constant(w, DT_I64, (Shape){0}, &value, sizeof value);
    *out = dtype == DT_I64 ? *out : cast(w, *out, dtype);
    return true;
}

/* @epsilon|1e-5 */
static bool read_attr_operand(Written *w, Str word, int32_t *out, Error *err)
{
    Str fallback;
    double number;
    const Attr *attr = written_attr(w, (Str){word.s + 1, word.n - 1}, &fallback);
    if (!attr && !str_to_real(fallback, &number))
        return written_fail(word, "is an attribute that it lacks", err);
    if (attr && attr->type != ATTR_FLOAT && attr->type != ATTR_INT)
        return written_fail(word, "is no number", err);
    *out = real_constant(w, !attr ? number : attr->type == ATTR_FLOAT ? attr->f : (double)attr->i);
    return true;
}

static bool read_operand(Written *w, Str word, int32_t *out, Error *err)
{
    WholeList list = {0};
    double number;
    int64_t whole;
    *out = -1;
    if (str_eq(word, STR("_")))
        return true;
    if (word.s[0] == '[') {
        if (!written_wholes(w, written_inside(word), &list, err))
            return false;
        Shape shape = {.n_dims = 1, .dim = {list.n}};
        *out = constant(w, DT_I64, shape, list.at, (size_t)list.n * sizeof *list.at);
        return true;
    }
    if (word.s[0] == '(')
        return read_reals(w, written_inside(word), out, err);
    if (word.s[0] == '@')
        return read_attr_operand(w, word, out, err);
    if (is_number(word) && !str_to_int(word, &whole) && str_to_real(word, &number)) {
        *out = real_constant(w, number);
        return true;
    }
    if (word.s[0] == '#' || is_number(word))
        return read_whole_operand(w, word, out, err);
    *out = written_place(w, word);
    if (*out < 0)
        return written_fail(word, "is no operand", err);
    const WrittenPlace *place = &w->places.at[*out];
    if (place->input >= 0 && !written_has(w, place->input))
        *out = -1;
    return true;
}

/* ---- statements ---- */

/* RESULTS: an output of the op is made by the last statement that has it. */
static void read_results(Written *w, Str text, WrittenStatement *to)
{
    for (Str rest = text; (rest = str_trim(rest)).n > 0;) {
        Str name = str_take(&rest, ' ');
        bool absent = str_eq(name, STR("_"));
        if (w->group >= 0)
            name = written_name(w, name, w->group);
        vec_push(
            w->arena, &to->out,
            absent ? -1
                   : written_add_place(w, (WrittenPlace){.name = name, .input = -1, .output = -1}));
    }
}

static bool read_operator(Written *w, Str word, WrittenStatement *to, Error *err)
{
    Str rest = word, name = str_take(&rest, '{'), fallback;
    if (name.n > 0 && name.s[0] == '@') {
        const Attr *attr = written_attr(w, (Str){name.s + 1, name.n - 1}, &fallback);
        name = attr && attr->type == ATTR_STRING ? attr->s : fallback;
    }
    to->op_type = arena_str(w->arena, name);
    if (name.n == 0)
        return written_fail(word, "names no operator", err);
    if (rest.n > 0)
        rest.n--; /* } */
    while ((rest = str_trim(rest)).n > 0)
        if (!read_attr(w, written_word(&rest), to, err))
            return false;
    return true;
}

/* An operand, or with a star behind its name those of all groups. */
static bool read_operands_of(Written *w, Str word, WrittenStatement *to, Error *err)
{
    bool all = word.n > 1 && word.s[word.n - 1] == '*';
    for (int i = 0; i < (all ? w->n_groups : 1); i++) {
        int32_t operand;
        Str name = all ? written_name(w, (Str){word.s, word.n - 1}, i) : word;
        if (!read_operand(w, name, &operand, err))
            return false;
        vec_push(w->arena, &to->in, operand);
    }
    return true;
}

static bool read_statement(Written *w, Str text, Error *err)
{
    WrittenStatement statement = {0};
    if (text.n > 0 && text.s[0] == '[') {
        Str conditions = written_word(&text);
        if (!written_holds(w, written_inside(conditions)))
            return true;
    }
    text = str_trim(text);
    if (str_eq(text, STR("keep")))
        return false; /* no error: it stays as it is */
    if (str_starts(text, STR("refuse ")))
        return error_kind(err, ERROR_UNSUPPORTED, "%.*s", (int)text.n - 7, text.s + 7);
    Str rest = text, results = str_take(&rest, '=');
    if (!read_operator(w, written_word(&rest), &statement, err))
        return false;
    while ((rest = str_trim(rest)).n > 0)
        if (!read_operands_of(w, written_word(&rest), &statement, err))
            return false;
    while (statement.in.n > 0 && statement.in.at[statement.in.n - 1] < 0)
        statement.in.n--;
    read_results(w, results, &statement);
    vec_push(w->arena, &w->statements, statement);
    return true;
}

/* A statement, once for each group if it begins with `each`. */
static bool read_statements(Written *w, Str text, Error *err)
{
    bool each = str_starts(text, STR("each "));
    if (each)
        text = str_trim((Str){text.s + 5, text.n - 5});
    for (int i = 0; i < (each ? w->n_groups : 1); i++) {
        w->group = each ? i : -1;
        if (!read_statement(w, text, err))
            return false;
    }
    w->group = -1;
    return true;
}

static void name_input(Written *w, Str name)
{
    if (w->n_inputs == OPERANDS_MAX)
        return;
    written_add_place(w, (WrittenPlace){.name = name, .input = w->n_inputs, .output = -1});
    w->input_name[w->n_inputs++] = name;
}

/* "(x scale)*": all inputs that are left. */
static void name_groups(Written *w, Str names)
{
    while (w->n_inputs < w->op->n_inputs && w->n_inputs < OPERANDS_MAX) {
        for (Str rest = names; (rest = str_trim(rest)).n > 0;) {
            Str name = str_take(&rest, ' ');
            name_input(w, written_name(w, name, w->n_groups));
        }
        w->n_groups++;
    }
}

/* "x bias -> y" */
static void read_operands(Written *w, Str text)
{
    bool outputs = false;
    for (Str rest = text; (rest = str_trim(rest)).n > 0;) {
        Str name = written_word(&rest);
        if (str_eq(name, STR("->")))
            outputs = true;
        else if (name.s[0] == '(')
            name_groups(w, (Str){name.s + 1, name.n - 3});
        else if (outputs)
            written_add_place(w,
                              (WrittenPlace){.name = name, .input = -1, .output = w->n_outputs++});
        else
            name_input(w, name);
    }
}

/* The latest result of an output's name is that output. */
static bool bind_outputs(Written *w, Error *err)
{
    for (int i = 0; i < w->n_inputs + w->n_outputs; i++) {
        int output = w->places.at[i].output;
        if (output < 0 || output >= w->op->n_outputs || !w->op->has_output[output])
            continue;
        int32_t last = written_place(w, w->places.at[i].name);
        if (last == i)
            return error_kind(err, ERROR_UNSUPPORTED, "nothing makes its output %d", output);
        w->places.at[last].output = output;
    }
    return true;
}

Written *written_read(Arena *arena, const char *text, const WrittenOp *op, Error *err)
{
    Written *w = arena_make(arena, Written);
    Str rest = str_from(text), operands = str_take(&rest, ':');
    w->arena = arena;
    w->op = op;
    w->type = DT_F32;
    w->group = -1;
    for (int i = op->n_inputs; i-- > 0;)
        if (op->dtype && op->has_input[i] && dtype_bits(op->dtype[i]) > 8 &&
            dtype_is_float(op->dtype[i]))
            w->type = op->dtype[i];
    read_operands(w, operands);
    while (rest.n > 0) {
        Str statement = str_take(&rest, ';');
        if (str_trim(statement).n > 0 && !read_statements(w, str_trim(statement), err))
            return NULL;
    }
    return bind_outputs(w, err) ? w : NULL;
}

/* ---- the ops ---- */

static int32_t tensor_of(GraphBuilder *builder, const WrittenPlace *place, Str name, int i,
                         const int32_t *input, const int32_t *output)
{
    if (place->input >= 0)
        return input[place->input];
    if (place->output >= 0)
        return output[place->output];
    Arena *arena = graph_builder_graph(builder)->arena;
    const char *whole = arena_printf(arena, "%.*s/%.*s.%d", STR_ARG(name), STR_ARG(place->name), i);
    int32_t tensor = graph_new_tensor(builder, str_from(whole));
    if (tensor >= 0 && place->bytes.s) {
        char *copy = arena_alloc(arena, place->bytes.n + 1);
        memcpy(copy, place->bytes.s, place->bytes.n);
        graph_add_initializer(builder, tensor, place->dtype, &place->shape,
                              (TensorData){.form = DATA_RAW, .bytes = {copy, place->bytes.n}});
    }
    return tensor;
}

/* Places that no statement has (of earlier names) get no tensor. */
static int32_t *tensors_of(const Written *w, GraphBuilder *builder, Str name, const int32_t *input,
                           const int32_t *output)
{
    int32_t *tensor = arena_array(w->arena, int32_t, w->places.n);
    bool *used = arena_array(w->arena, bool, w->places.n);
    for (int s = 0; s < w->statements.n; s++) {
        const WrittenStatement *at = &w->statements.at[s];
        for (int i = 0; i < at->in.n; i++)
            if (at->in.at[i] >= 0)
                used[at->in.at[i]] = true;
        for (int i = 0; i < at->out.n; i++)
            if (at->out.at[i] >= 0)
                used[at->out.at[i]] = true;
    }
    for (int i = 0; i < w->places.n; i++)
        tensor[i] = used[i] ? tensor_of(builder, &w->places.at[i], name, i, input, output) : -1;
    return tensor;
}

/* Attributes with lists of their own, in the graph's arena. */
static int32_t attrs_of(const WrittenStatement *at, GraphBuilder *builder)
{
    Attr attr[STATEMENT_ATTRS];
    Arena *arena = graph_builder_graph(builder)->arena;
    for (int i = 0; i < at->n_attrs; i++) {
        attr[i] = at->attr[i];
        attr[i].name = names_intern(graph_builder_graph(builder)->names, at->attr_name[i]);
        if (attr[i].type != ATTR_INTS)
            continue;
        int64_t *copy = arena_array(arena, int64_t, attr[i].n + 1);
        if (attr[i].n > 0)
            memcpy(copy, attr[i].ints, (size_t)attr[i].n * sizeof *copy);
        attr[i].ints = copy;
    }
    return graph_add_attrs_of_opset(builder, attr, at->n_attrs, WRITTEN_OPSET);
}

void written_add(const Written *w, GraphBuilder *builder, Str name, Str path, const int32_t *input,
                 const int32_t *output)
{
    int32_t *tensor = tensors_of(w, builder, name, input, output);
    Arena *arena = graph_builder_graph(builder)->arena;
    for (int s = 0; s < w->statements.n; s++) {
        const WrittenStatement *at = &w->statements.at[s];
        int32_t *in = arena_array(w->arena, int32_t, at->in.n + at->out.n + 1),
                *out = in + at->in.n;
        for (int i = 0; i < at->in.n; i++)
            in[i] = at->in.at[i] < 0 ? -1 : tensor[at->in.at[i]];
        for (int i = 0; i < at->out.n; i++)
            out[i] = at->out.at[i] < 0 ? -1 : tensor[at->out.at[i]];
        const char *own = strrchr(at->op_type, ':');
        const char *label =
            arena_printf(arena, "%.*s/%s_%d", STR_ARG(name), own ? own + 1 : at->op_type, s);
        graph_add_op(builder, str_from(at->op_type), str_from(label), path, in, at->in.n, out,
                     at->out.n, attrs_of(at, builder));
    }
}
