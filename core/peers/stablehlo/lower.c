/* lower.c - what lowering is made of: tensors, attributes, ops, frames, paths. */
#include "core/peers/stablehlo/lower.h"

#include <stdarg.h>

void lower_fail(MlirLowering *lowering, const MlirOp *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!lowering->failed) {
        error_kind_args(lowering->err, ERROR_UNREADABLE, format, args);
        mlir_blame(lowering->tree, op->at, lowering->err);
    }
    va_end(args);
    lowering->failed = true;
}

/* ---- tensors ---- */

static const MlirType no_type = {.text = {"", 0}};

const MlirType *lower_type(MlirLowering *lowering, const MlirOp *op, int i)
{
    const MlirType *type = i < op->n_operands
                               ? mlir_type_of(lowering->tree, mlir_operands(lowering->tree, op)[i])
                               : NULL;
    return type ? type : &no_type;
}

const MlirType *lower_made(MlirLowering *lowering, const MlirOp *op, int i)
{
    const MlirType *type = i < op->n_results ? mlir_type_of(lowering->tree, op->result + i) : NULL;
    return type ? type : &no_type;
}

int32_t lower_use(MlirLowering *lowering, const MlirOp *op, int i)
{
    if (i >= op->n_operands) {
        lower_fail(lowering, op, "'%.*s' has no operand %d", STR_ARG(op->name), i);
        return -1;
    }
    return lowering->tensor[mlir_operands(lowering->tree, op)[i]];
}

static Str whole_name(MlirLowering *lowering, Str name, const char *part)
{
    if (!lowering->frame && !part[0])
        return name;
    Buf out = buf_new(lowering->scratch);
    if (lowering->frame)
        buf_add(&out, lowering->frame->prefix);
    buf_add(&out, name);
    if (part[0])
        buf_printf(&out, "/%s", part);
    return buf_str(&out);
}

static void declare_type(MlirLowering *lowering, int32_t tensor, const MlirType *type)
{
    DeclaredDim dims[DIMS_MAX];
    if (tensor < 0 || !type || !type->tensor)
        return;
    for (int64_t d = 0; d < type->shape.n_dims; d++)
        dims[d] = (DeclaredDim){type->shape.dim[d], 0};
    graph_declare(lowering->builder, tensor, type->dtype, dims, (int)type->shape.n_dims);
}

/* Numbered apart from a tensor that has the name already: names of arguments are a file's own. */
static int32_t new_tensor(MlirLowering *lowering, Str name)
{
    int32_t id = name.n > 0 ? names_intern(lowering->graph->names, name) : -1;
    for (int i = 1; graph_has_tensor_named(lowering->builder, id); i++)
        id = names_intern(lowering->graph->names,
                          str_from(arena_printf(lowering->scratch, "%.*s~%d", STR_ARG(name), i)));
    return id < 0 ? -1 : graph_tensor_named(lowering->builder, id);
}

int32_t lower_new(MlirLowering *lowering, Str name, int32_t type_of)
{
    int32_t tensor = new_tensor(lowering, whole_name(lowering, name, ""));
    declare_type(lowering, tensor, mlir_type_of(lowering->tree, type_of));
    return tensor;
}

/* "%0" or "%0#1"; a made name for an op without results. */
static Str value_name(MlirLowering *lowering, int32_t value)
{
    const MlirValue *v = &lowering->tree->values.at[value];
    if (v->pack < 0)
        return v->name;
    return str_from(arena_printf(lowering->scratch, "%.*s#%d", STR_ARG(v->name), v->pack));
}

int32_t lower_result(MlirLowering *lowering, const MlirOp *op, int i)
{
    int32_t value = op->result + i;
    lowering->tensor[value] = lower_new(lowering, value_name(lowering, value), value);
    return lowering->tensor[value];
}

Str lower_name(MlirLowering *lowering, const MlirOp *op, const char *part)
{
    Str name = op->n_results > 0 ? lowering->tree->values.at[op->result].name
                                 : str_from(arena_printf(lowering->scratch, "%.*s_%d",
                                                         STR_ARG(op->name), lowering->seen));
    return whole_name(lowering, name, part);
}

int32_t lower_constant_ints(MlirLowering *lowering, const MlirOp *op, const char *part, Dtype dtype,
                            const int64_t *at, int n, bool scalar)
{
    Shape shape = {.n_dims = scalar ? 0 : 1, .dim = {scalar ? 0 : n}};
    int32_t tensor = new_tensor(lowering, lower_name(lowering, op, part));
    size_t size = (size_t)dtype_bits(dtype) / 8;
    char *bytes = arena_alloc(lowering->file->arena, (size_t)n * size);
    for (int i = 0; i < n; i++) /* little-endian */
        memcpy(bytes + (size_t)i * size, &at[i], size);
    graph_add_initializer(lowering->builder, tensor, dtype, &shape,
                          (TensorData){.form = DATA_RAW, .bytes = {bytes, (size_t)n * size}});
    return tensor;
}

/* ---- attributes ---- */

static Attr *add_attr(MlirLowering *lowering, const char *name, AttrType type)
{
    Attr attr = {.name = names_intern(lowering->graph->names, str_from(name)),
                 .type = (uint8_t)type};
    vec_push(lowering->scratch, &lowering->attrs, attr);
    return &lowering->attrs.at[lowering->attrs.n - 1];
}

void lower_attr_int(MlirLowering *lowering, const char *name, int64_t value)
{
    add_attr(lowering, name, ATTR_INT)->i = value;
}

void lower_attr_ints(MlirLowering *lowering, const char *name, const int64_t *at, int n)
{
    Attr *attr = add_attr(lowering, name, ATTR_INTS);
    attr->ints = at;
    attr->n = n;
}

void lower_attr_text(MlirLowering *lowering, const char *name, Str text)
{
    add_attr(lowering, name, ATTR_STRING)->s = text;
}

/* The text of the first of the keys that the op has, "KEY" or "KEY.MEMBER". */
static bool find_text(MlirLowering *lowering, const MlirOp *op, Str keys, Str *out)
{
    while (keys.n > 0) {
        Str key = str_take(&keys, ' '), member = key;
        Str outer = str_take(&member, '.');
        const MlirAttr *attr = mlir_attr(lowering->tree, op, arena_str(lowering->scratch, outer));
        if (!attr)
            continue;
        *out = mlir_alias(lowering->tree, attr->value);
        if (member.n > 0)
            *out = mlir_member(*out, arena_str(lowering->scratch, member));
        if (out->n > 0 || member.n == 0)
            return true;
    }
    return false;
}

static int add_list(MlirLowering *lowering, const char *name, Str text)
{
    const int64_t *at;
    int n = mlir_ints(lowering->scratch, text, &at);
    if (n >= 0)
        lower_attr_ints(lowering, name, at, n);
    return n;
}

/* "[0, 1] x [2]": both lists in one, with their lengths beside it. */
static int add_pair(MlirLowering *lowering, const char *name, Str text)
{
    int64_t *lengths = arena_array(lowering->scratch, int64_t, 2);
    const int64_t *at;
    int64_t middle = str_find(text, STR("]"));
    int first =
        middle < 0 ? -1 : mlir_ints(lowering->scratch, (Str){text.s, (size_t)middle + 1}, &at);
    Buf both = buf_new(lowering->scratch);
    for (size_t i = 0; i < text.n; i++)
        buf_putc(&both, text.s[i] == 'x' ? ',' : text.s[i]);
    int n = mlir_ints(lowering->scratch, buf_str(&both), &at);
    lengths[0] = first;
    lengths[1] = n - first;
    if (first < 0 || n < first)
        return -1;
    lower_attr_ints(lowering, name, at, n);
    lower_attr_ints(lowering, arena_printf(lowering->scratch, "%s.lengths", name), lengths, 2);
    return n;
}

/* Pairs, as "[[0, 1], [2, 3]]". */
static int add_nested(MlirLowering *lowering, const char *name, Str text)
{
    const int64_t *at;
    int n = mlir_ints(lowering->scratch, text, &at);
    if (n < 0 || n % 2 != 0)
        return -1;
    int64_t *lengths = arena_array(lowering->scratch, int64_t, n / 2);
    for (int i = 0; i < n / 2; i++)
        lengths[i] = 2;
    lower_attr_ints(lowering, name, at, n);
    lower_attr_ints(lowering, arena_printf(lowering->scratch, "%s.lengths", name), lengths, n / 2);
    return n;
}

static int add_number(MlirLowering *lowering, const char *name, Str text)
{
    int64_t value;
    if (!mlir_int(text, &value))
        return -1;
    lower_attr_int(lowering, name, value);
    return 1;
}

static Str without_blanks(MlirLowering *lowering, Str text)
{
    Buf out = buf_new(lowering->scratch);
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ')
            buf_putc(&out, text.s[i]);
    return buf_str(&out);
}

void lower_attrs(MlirLowering *lowering, const MlirOp *op, const char *list)
{
    for (Str rest = str_from(list ? list : ""); rest.n > 0;) {
        Str row = str_trim(str_take(&rest, ';')), text;
        const char *name = arena_str(lowering->scratch, str_take(&row, ' '));
        Str kind = str_take(&row, ' ');
        if (!find_text(lowering, op, row, &text)) {
            if (kind.s[0] == 'z')
                lower_attr_int(lowering, name, 0);
            continue;
        }
        int n = 0;
        switch (kind.s[0]) {
        case 'i':
        case 'z':
            n = add_number(lowering, name, text);
            break;
        case 'l':
            n = add_list(lowering, name, text);
            break;
        case 'n':
            n = add_nested(lowering, name, text);
            break;
        case 'p':
            n = add_pair(lowering, name, text);
            break;
        default:
            lower_attr_text(lowering, name,
                            without_blanks(lowering, mlir_text(lowering->scratch, text)));
        }
        if (n < 0)
            lower_fail(lowering, op, "'%s' of '%.*s' is not read: '%.*s'", name, STR_ARG(op->name),
                       (int)(text.n < 60 ? text.n : 60), text.s);
    }
}

/* ---- paths ---- */

/* "jvp(h0)" and "transpose(jvp(h0))" -> "h0": the module that a transformation is of. */
static Str module_of(Str part)
{
    static const char *const names[] = {"jvp(", "transpose(", "vmap(", "checkpoint(", "remat("};
    for (size_t i = 0; i < sizeof names / sizeof *names;) {
        Str head = str_from(names[i]);
        if (str_starts(part, head) && part.s[part.n - 1] == ')') {
            part = (Str){part.s + head.n, part.n - head.n - 1};
            i = 0;
        } else {
            i++;
        }
    }
    return part;
}

/* Parts of a name stack that are no module: jit(f), what loops and calls are made of. */
static bool is_no_module(Str part)
{
    return part.n == 0 || str_starts(part, STR("jit(")) || str_starts(part, STR("pjit")) ||
           str_has_word(STR("while body cond closed_call jit remat checkpoint rematted_computation "
                            "shard_map custom_jvp_call custom_vjp_call core_call xla_call"),
                        part);
}

/* "h.0.attn" of the name of an op's location, below the path of its frame. */
static Str find_path(const MlirLowering *lowering, Str name, Str outer)
{
    Str last = STR("");
    Buf out = buf_new(lowering->scratch);
    for (Str rest = name; rest.n > 0;) {
        Str part = str_take(&rest, '/');
        if (last.n > 0 && out.n > 0)
            buf_putc(&out, '.');
        buf_add(&out, last);
        last = module_of(part);
        last = is_no_module(last) ? STR("") : last;
    }
    if (str_starts(buf_str(&out), outer) || outer.n == 0)
        return buf_str(&out);
    return outer;
}

/* What jax's transformations say: "jvp(f)" is forward, "transpose(jvp(f))" backward, and below that
 * what checkpoint makes again. */
static uint8_t find_phase(Str name)
{
    bool transposed = str_find(name, STR("transpose(")) >= 0;
    if (transposed && str_find(name, STR("rematted_computation")) >= 0)
        return 1 + PHASE_AGAIN;
    if (transposed)
        return 1 + PHASE_BACKWARD;
    return str_find(name, STR("jvp(")) >= 0 ? 1 + PHASE_FORWARD : 0;
}

static void put_path(MlirLowering *lowering, Str name, Str outer, MlirPlace *place)
{
    place->outer = outer;
    place->path = find_path(lowering, name, outer);
    place->name = names_intern(lowering->graph->names, place->path);
}

static int32_t place_of(MlirLowering *lowering, Str location)
{
    if (lowering->places.n > 0 && str_eq(location, lowering->last_location))
        return lowering->last_place;
    lowering->last_location = location;
    lowering->last_place = intern_put(lowering->locations, location.s, location.n);
    return lowering->last_place;
}

/* Many ops share a location, and then mostly in one frame. */
static const MlirPlace *lower_place(MlirLowering *lowering, const MlirOp *op)
{
    Str outer = lowering->frame ? lowering->frame->path : STR("");
    int32_t id = place_of(lowering, op->location);
    bool known = id < lowering->places.n;
    if (known && str_eq(lowering->places.at[id].outer, outer))
        return &lowering->places.at[id];
    Str name = mlir_location_name(lowering->tree, op->location);
    if (!known)
        vec_push_own(lowering->scratch, &lowering->places,
                     ((MlirPlace){.phase = find_phase(name)}));
    put_path(lowering, name, outer, &lowering->places.at[id]);
    return &lowering->places.at[id];
}

static uint8_t phase_in_frame(const MlirLowering *lowering, const MlirPlace *place)
{
    return place->phase || !lowering->frame ? place->phase : lowering->frame->phase;
}

static void note_phase(MlirLowering *lowering, uint8_t phase)
{
    int32_t name = lowering->builder->ops.at[lowering->builder->ops.n - 1].name;
    if (phase == 0 || name < 0)
        return;
    while (lowering->phases.n <= name)
        vec_push_own(lowering->scratch, &lowering->phases, 0);
    lowering->phases.at[name] = phase;
}

/* ---- ops ---- */

static int32_t operator_id(MlirLowering *lowering, const MlirOp *op, const char *operator)
{
    MlirKind *kind = &lowering->kinds[op->kind];
    if (kind->operator!= operator)
        kind->name = names_intern(lowering->graph->names, str_from(operator));
    kind->operator= operator;
    return kind->name;
}

/* An op that makes one value has its name. */
static int32_t name_id(MlirLowering *lowering, const MlirOp *op, const char *part,
                       const int32_t *outputs, int n_outputs)
{
    bool same = !part[0] && op->n_results == 1 && n_outputs == 1 && outputs[0] >= 0 &&
                outputs[0] == lowering->tensor[op->result] &&
                lowering->tree->values.at[op->result].pack < 0;
    return same ? lowering->builder->tensors.at[outputs[0]].name
                : names_intern(lowering->graph->names, lower_name(lowering, op, part));
}

void lower_add(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
               const char *part, const int32_t *inputs, int n_inputs, const int32_t *outputs,
               int n_outputs)
{
    if (n_inputs > UINT16_MAX || n_outputs > UINT16_MAX)
        lower_fail(lowering, op, "it has more than %d operands or results", UINT16_MAX);
    if (!lowering->failed) {
        const MlirPlace *place = lower_place(lowering, op);
        GraphOp made = {.name = name_id(lowering, op, part, outputs, n_outputs),
                        .path = place->name,
                        .op_type = operator_id(lowering, op, operator_name),
                        .n_inputs = (uint16_t)n_inputs,
                        .n_outputs = (uint16_t)n_outputs};
        made.attrs = graph_add_attrs(lowering->builder, lowering->attrs.at, lowering->attrs.n);
        graph_add_op_like(lowering->builder, made, inputs, outputs);
        note_phase(lowering, phase_in_frame(lowering, place));
    }
    lowering->attrs.n = 0;
}

void lower_plain(MlirLowering *lowering, const MlirOp *op, const char *operator_name)
{
    int n = op->n_operands, n_made = op->n_results;
    int32_t *at = arena_array(lowering->scratch, int32_t, n + n_made);
    for (int i = 0; i < n; i++)
        at[i] = lower_use(lowering, op, i);
    for (int i = 0; i < n_made; i++)
        at[n + i] = lower_result(lowering, op, i);
    lower_add(lowering, op, operator_name, "", at, n, at + n, n_made);
}

int32_t lower_step(MlirLowering *lowering, const MlirOp *op, const char *operator_name,
                   const char *part, const int32_t *inputs, int n_inputs)
{
    int32_t made = new_tensor(lowering, lower_name(lowering, op, part));
    lower_add(lowering, op, operator_name, part, inputs, n_inputs, &made, 1);
    return made;
}

/* ---- frames ---- */

void lower_enter(MlirLowering *lowering, const MlirOp *op, const char *part, MlirFrame *frame)
{
    Str name = lower_name(lowering, op, part);
    *frame = (MlirFrame){.outer = lowering->frame};
    frame->prefix = str_from(arena_printf(lowering->scratch, "%.*s/", STR_ARG(name)));
    const MlirPlace *place = lower_place(lowering, op);
    frame->path = place->path;
    frame->phase = phase_in_frame(lowering, place);
    lowering->frame = frame;
}

void lower_leave(MlirLowering *lowering)
{
    lowering->frame = lowering->frame->outer;
}
