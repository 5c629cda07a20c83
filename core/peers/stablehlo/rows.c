/* rows.c - how each operator of StableHLO, CHLO and Shardy's dialect becomes an op of the graph. */
#include "core/peers/stablehlo/rows.h"

/* ---- the same op under another name ---- */

static void lower_same(MlirLowering *lowering, const MlirOp *op)
{
    const MlirRow *row = lowering->row;
    lower_attrs(lowering, op, row->attrs);
    lower_plain(lowering, op, row->ours ? row->ours : row->name);
}

/* Of bools the logical operator, of integers that of their bits. */
static void lower_logical(MlirLowering *lowering, const MlirOp *op)
{
    const MlirRow *row = lowering->row;
    bool truth = lower_made(lowering, op, 0)->dtype == DT_BOOL;
    lower_plain(lowering, op,
                truth ? row->ours : arena_printf(lowering->scratch, "Bitwise%s", row->ours));
}

static void lower_compare(MlirLowering *lowering, const MlirOp *op)
{
    static const char *const rows[][2] = {{"EQ", "Equal"},   {"NE", "NotEqual"},
                                          {"LT", "Less"},    {"LE", "LessOrEqual"},
                                          {"GT", "Greater"}, {"GE", "GreaterOrEqual"}};
    const MlirAttr *named = mlir_attr(lowering->tree, op, "comparison_direction");
    Str way = named ? named->value : mlir_word(lowering->tree, op, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (way.n > 0 && str_find(way, str_from(rows[i][0])) >= 0) {
            lower_plain(lowering, op, rows[i][1]);
            return;
        }
    lower_fail(lowering, op, "this comparison has no direction");
}

static void lower_convert(MlirLowering *lowering, const MlirOp *op)
{
    lower_attr_int(lowering, "to", dtype_to_onnx(lower_made(lowering, op, 0)->dtype));
    lower_plain(lowering, op, "Cast");
}

/* Of as many bits: the same elements as another type. */
static void lower_bitcast(MlirLowering *lowering, const MlirOp *op)
{
    Dtype from = lower_type(lowering, op, 0)->dtype, to = lower_made(lowering, op, 0)->dtype;
    if (from == DT_NONE || to == DT_NONE || dtype_bits(from) != dtype_bits(to)) {
        lower_plain(lowering, op, "stablehlo.bitcast_convert");
        return;
    }
    lower_attr_int(lowering, "to", dtype_to_onnx(to));
    lower_plain(lowering, op, "BitCast");
}

/* Between bounds that are one number each, or one for each element. */
static void lower_clamp(MlirLowering *lowering, const MlirOp *op)
{
    if (op->n_operands != 3) {
        lower_fail(lowering, op, "it takes 3 operands, not %d", op->n_operands);
        return;
    }
    int32_t least = lower_use(lowering, op, 0), x = lower_use(lowering, op, 1),
            most = lower_use(lowering, op, 2);
    bool scalars = lower_type(lowering, op, 0)->shape.n_dims == 0 &&
                   lower_type(lowering, op, 2)->shape.n_dims == 0;
    if (scalars) {
        lower_add(lowering, op, "Clip", "", (const int32_t[]){x, least, most}, 3,
                  (const int32_t[]){lower_result(lowering, op, 0)}, 1);
        return;
    }
    int32_t raised = lower_step(lowering, op, "Max", "raised", (const int32_t[]){x, least}, 2);
    lower_add(lowering, op, "Min", "", (const int32_t[]){raised, most}, 2,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}

/* With the sign of the dividend. */
static void lower_remainder(MlirLowering *lowering, const MlirOp *op)
{
    lower_attr_int(lowering, "fmod", 1);
    lower_plain(lowering, op, "Mod");
}

static void lower_square(MlirLowering *lowering, const MlirOp *op)
{
    int32_t x = lower_use(lowering, op, 0);
    lower_add(lowering, op, "Mul", "", (const int32_t[]){x, x}, 2,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}

/* Results that are the operands, one for one. */
static void lower_each(MlirLowering *lowering, const MlirOp *op)
{
    if (op->n_results > op->n_operands) {
        lower_fail(lowering, op, "it has %d results for %d operands", op->n_results,
                   op->n_operands);
        return;
    }
    for (int i = 0; i < op->n_results; i++) {
        int32_t x = lower_use(lowering, op, i), made = lower_result(lowering, op, i);
        const char *part = i ? arena_printf(lowering->scratch, "#%d", i) : "";
        lower_add(lowering, op, "Identity", part, &x, 1, &made, 1);
    }
}

static void lower_nothing(MlirLowering *lowering, const MlirOp *op)
{
    (void)lowering;
    (void)op;
}

/* ---- products ---- */

typedef struct {
    int n[2];
    const int64_t *at[2]; /* of the left and the right operand */
} DimPairs;

/* "[0] x [1]" of the pretty form, or two members of the numbers of the generic one. */
static bool read_pairs(MlirLowering *lowering, const MlirAttr *pretty, const MlirAttr *numbers,
                       const char *const generic[2], DimPairs *out)
{
    *out = (DimPairs){.n = {0, 0}};
    Str sides[2] = {STR(""), STR("")};
    if (pretty) {
        Str rest = pretty->value;
        const char *close = memchr(rest.s, ']', rest.n);
        if (!close)
            return false;
        sides[0] = (Str){rest.s, (size_t)(close + 1 - rest.s)};
        sides[1] = mlir_inside((Str){close + 1, rest.n - sides[0].n});
    }
    for (int side = 0; side < 2 && (pretty || numbers); side++) {
        Str text = numbers ? mlir_member(mlir_alias(lowering->tree, numbers->value), generic[side])
                           : sides[side];
        out->n[side] = mlir_ints(lowering->scratch, text, &out->at[side]);
        if (out->n[side] < 0)
            return false;
    }
    return out->n[0] == out->n[1];
}

static int place_in(const int64_t *list, int n, int64_t dim)
{
    while (n > 0 && list[n - 1] != dim)
        n--;
    return n - 1;
}

/* [b.. m k] times [b.. k n], or [.. m k] times [k n]: what MatMul computes. */
static bool is_matmul(const Shape *a, const Shape *b, const DimPairs *batch, const DimPairs *summed)
{
    int n = batch->n[0];
    bool in_order = summed->n[0] == 1 && a->n_dims >= 2 && b->n_dims == n + 2 &&
                    summed->at[0][0] == a->n_dims - 1 && summed->at[1][0] == n &&
                    (n == 0 || a->n_dims == n + 2);
    for (int i = 0; i < n; i++)
        in_order &= batch->at[0][i] == i && batch->at[1][i] == i;
    return in_order;
}

/* "abk,akn->abn": letters of batch dims, then those that are summed, then the others. */
static Str equation(MlirLowering *lowering, const Shape *const shape[2], const DimPairs *batch,
                    const DimPairs *summed)
{
    Buf text = buf_new(lowering->scratch), result = buf_new(lowering->scratch);
    char letter = (char)('a' + batch->n[0] + summed->n[0]);
    for (int i = 0; i < batch->n[0]; i++)
        buf_putc(&result, (char)('a' + i));
    for (int side = 0; side < 2; side++) {
        buf_puts(&text, side ? "," : "");
        for (int64_t d = 0; d < shape[side]->n_dims; d++) {
            int b = place_in(batch->at[side], batch->n[side], d);
            int s = place_in(summed->at[side], summed->n[side], d);
            char c = (char)(b >= 0 ? 'a' + b : s >= 0 ? 'a' + batch->n[0] + s : letter++);
            buf_putc(&text, c);
            if (b < 0 && s < 0)
                buf_putc(&result, c);
        }
    }
    buf_printf(&text, "->%s", result.s);
    return buf_str(&text);
}

static void lower_dot_general(MlirLowering *lowering, const MlirOp *op)
{
    static const char *const batch_keys[] = {"lhs_batching_dimensions", "rhs_batching_dimensions"};
    static const char *const sum_keys[] = {"lhs_contracting_dimensions",
                                           "rhs_contracting_dimensions"};
    DimPairs batch, summed;
    const MlirType *a = lower_type(lowering, op, 0), *b = lower_type(lowering, op, 1);
    const MlirAttr *numbers = mlir_attr(lowering->tree, op, "dot_dimension_numbers");
    if (!read_pairs(lowering, mlir_attr(lowering->tree, op, "batching_dims"), numbers, batch_keys,
                    &batch) ||
        !read_pairs(lowering, mlir_attr(lowering->tree, op, "contracting_dims"), numbers, sum_keys,
                    &summed)) {
        lower_fail(lowering, op, "its dims are not read");
        return;
    }
    const Shape *shapes[2] = {&a->shape, &b->shape};
    bool same = a->dtype == b->dtype && a->dtype == lower_made(lowering, op, 0)->dtype;
    if (same && is_matmul(&a->shape, &b->shape, &batch, &summed)) {
        lower_plain(lowering, op, "MatMul");
        return;
    }
    lower_attr_text(lowering, "equation", equation(lowering, shapes, &batch, &summed));
    if (same) {
        lower_plain(lowering, op, "Einsum");
        return;
    }
    int32_t sides[2] = {lower_use(lowering, op, 0), lower_use(lowering, op, 1)};
    Attr equation_attr = lowering->attrs.at[0];
    lowering->attrs.n = 0;
    Dtype wide = lower_made(lowering, op, 0)->dtype;
    for (int side = 0; side < 2; side++)
        if (lower_type(lowering, op, side)->dtype != wide) {
            lower_attr_int(lowering, "to", dtype_to_onnx(wide));
            sides[side] =
                lower_step(lowering, op, "Cast", side ? "right" : "left", &sides[side], 1);
        }
    vec_push(lowering->scratch, &lowering->attrs, equation_attr);
    lower_add(lowering, op, "Einsum", "", sides, 2,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}

/* ---- reductions ---- */

static Str lower_reducer(const MlirTree *tree, const MlirOp *op, int region)
{
    if (region >= op->n_regions)
        return STR("");
    const MlirRegion *r = mlir_region(tree, op, region);
    const MlirOp *back = mlir_return(tree, r), *only = &tree->ops.at[r->op];
    bool one = back && back->n_operands == 1 && back - only == 1 && only->n_operands == 2 &&
               only->n_results == 1 && mlir_operands(tree, back)[0] == only->result;
    int32_t a = one ? mlir_operands(tree, only)[0] - r->arg : -1,
            b = one ? mlir_operands(tree, only)[1] - r->arg : -1;
    return one && ((a == 0 && b == 1) || (a == 1 && b == 0)) ? only->name : STR("");
}

static void add_reducers(MlirLowering *lowering, const MlirOp *op, int region)
{
    Str name = lower_reducer(lowering->tree, op, region);
    if (name.n == 0)
        return;
    Str *list = arena_make(lowering->scratch, Str);
    *list = name;
    Attr attr = {.name = names_intern(lowering->graph->names, STR("reducers")),
                 .type = ATTR_STRINGS,
                 .n = 1};
    attr.strings = list;
    vec_push(lowering->scratch, &lowering->attrs, attr);
}

typedef struct {
    const char *reducer, *ours; /* over dims */
    const char *two;            /* of two values */
    const char *neutral;        /* texts of the element that changes nothing */
} ReducerRow;

static const ReducerRow reducers[] = {
    {"stablehlo.add", "ReduceSum", "Add", "0 0.000000e+00 false 0x00000000 0x0000 -0.000000e+00"},
    {"stablehlo.multiply", "ReduceProd", "Mul", "1 1.000000e+00 true"},
    {"stablehlo.maximum", "ReduceMax", "Max",
     "0xFF800000 0xFF80 0xFC00 0xFFF0000000000000 -2147483648 -9223372036854775808 false -128"},
    {"stablehlo.minimum", "ReduceMin", "Min",
     "0x7F800000 0x7F80 0x7C00 0x7FF0000000000000 2147483647 9223372036854775807 true 127"},
    {"stablehlo.or", "ReduceMax", "Or", "false"},
    {"stablehlo.and", "ReduceMin", "And", "true"},
};

static const ReducerRow *find_reducer(Str name, Dtype dtype)
{
    for (size_t i = 0; i < sizeof reducers / sizeof *reducers; i++)
        if (str_eq(name, str_from(reducers[i].reducer)))
            return i < 4 || dtype == DT_BOOL ? &reducers[i] : NULL;
    return NULL;
}

static bool is_neutral(const MlirTree *tree, int32_t value, const ReducerRow *row)
{
    int32_t id = tree->values.at[value].op;
    const MlirOp *op = id < 0 ? NULL : &tree->ops.at[id];
    if (op && mlir_is(op, "stablehlo.broadcast_in_dim") && op->n_operands == 1)
        return is_neutral(tree, mlir_operands(tree, op)[0], row);
    if (!op || !mlir_is(op, "stablehlo.constant"))
        return false;
    Str text = mlir_inside(mlir_elements(tree, op));
    return text.n > 0 && text.n < 40 && str_has_word(str_from(row->neutral), text);
}

/* One operand, and one of the usual reducers: an op of its own, and what it begins with. */
static void lower_usual_reduce(MlirLowering *lowering, const MlirOp *op, const ReducerRow *row)
{
    int32_t x = lower_use(lowering, op, 0), begin = lower_use(lowering, op, 1);
    bool neutral = is_neutral(lowering->tree, mlir_operands(lowering->tree, op)[1], row);
    lower_attrs(lowering, op, "axes l dimensions");
    lower_attr_int(lowering, "keepdims", 0);
    lower_attr_int(lowering, "noop_with_empty_axes", 1);
    if (neutral) {
        lower_add(lowering, op, row->ours, "", &x, 1,
                  (const int32_t[]){lower_result(lowering, op, 0)}, 1);
        return;
    }
    int32_t reduced = lower_step(lowering, op, row->ours, "reduced", &x, 1);
    lower_add(lowering, op, row->two, "", (const int32_t[]){reduced, begin}, 2,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}

static void lower_reduce(MlirLowering *lowering, const MlirOp *op)
{
    const ReducerRow *row =
        find_reducer(lower_reducer(lowering->tree, op, 0), lower_made(lowering, op, 0)->dtype);
    if (row && op->n_operands == 2 && op->n_results == 1) {
        lower_usual_reduce(lowering, op, row);
        return;
    }
    lower_attrs(lowering, op, "dimensions l dimensions");
    if (lower_region_code(lowering, op, 0))
        lower_plain(lowering, op, "stablehlo.reduce");
}

/* An op with a region of scalars: its attributes, the reducer's name, its code. */
static void lower_with_region(MlirLowering *lowering, const MlirOp *op)
{
    const MlirRow *row = lowering->row;
    lower_attrs(lowering, op, row->attrs);
    add_reducers(lowering, op, op->n_regions - 1);
    if (lower_region_code(lowering, op, 0))
        lower_plain(lowering, op, row->ours ? row->ours : row->name);
}

static void lower_collective(MlirLowering *lowering, const MlirOp *op)
{
    lower_attrs(lowering, op, lowering->row->attrs);
    add_reducers(lowering, op, 0);
    lower_plain(lowering, op, lowering->row->name);
}

/* ---- the rest ---- */

static void lower_top_k(MlirLowering *lowering, const MlirOp *op)
{
    int64_t k =
        lower_made(lowering, op, 0)->shape.n_dims > 0
            ? lower_made(lowering, op, 0)->shape.dim[lower_made(lowering, op, 0)->shape.n_dims - 1]
            : -1;
    if (op->n_results != 2 || k < 0) {
        lower_plain(lowering, op, "chlo.top_k");
        return;
    }
    const int32_t inputs[2] = {lower_use(lowering, op, 0),
                               lower_constant_ints(lowering, op, "k", DT_I64, &k, 1, false)};
    int32_t made[2] = {lower_result(lowering, op, 0), -1};
    made[1] = graph_tensor(lowering->builder, lower_name(lowering, op, "indices"));
    lower_add(lowering, op, "TopK", "", inputs, 2, made, 2);
    lower_attr_int(lowering, "to", dtype_to_onnx(lower_made(lowering, op, 1)->dtype));
    lower_add(lowering, op, "Cast", "#1", &made[1], 1,
              (const int32_t[]){lower_result(lowering, op, 1)}, 1);
}

/* A value that the op has by name, "%0#1"; a tuple is its elements. */
static void lower_reduce_precision(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *format = mlir_attr(lowering->tree, op, "format");
    if (format) { /* "e8m7" */
        Str text = format->value, digits;
        int64_t number;
        digits = str_take(&text, 'm');
        if (digits.n > 1 && str_to_int((Str){digits.s + 1, digits.n - 1}, &number))
            lower_attr_int(lowering, "exponent_bits", number);
        if (str_to_int(text, &number))
            lower_attr_int(lowering, "mantissa_bits", number);
    } else {
        lower_attrs(lowering, op, "exponent_bits i exponent_bits; mantissa_bits i mantissa_bits");
    }
    lower_plain(lowering, op, "ReducePrecision");
}

static void lower_pad(MlirLowering *lowering, const MlirOp *op)
{
    const MlirTree *tree = lowering->tree;
    static const char *const keys[] = {"low edge_padding_low", "high edge_padding_high"};
    const int64_t *side[2];
    int n[2];
    for (int k = 0; k < 2; k++) {
        const MlirAttr *attr = mlir_attr(tree, op, keys[k]);
        n[k] = attr ? mlir_ints(lowering->scratch, attr->value, &side[k]) : -1;
    }
    if (n[0] < 0 || n[0] != n[1]) {
        lower_fail(lowering, op, "its padding is not read");
        return;
    }
    int64_t *pairs = arena_array(lowering->scratch, int64_t, 2 * n[0]);
    int64_t *lengths = arena_array(lowering->scratch, int64_t, n[0]);
    for (int d = 0; d < n[0]; d++) {
        pairs[2 * d] = side[0][d];
        pairs[2 * d + 1] = side[1][d];
        lengths[d] = 2;
    }
    lower_attr_ints(lowering, "padding", pairs, 2 * n[0]);
    lower_attr_ints(lowering, "padding.lengths", lengths, n[0]);
    lower_attrs(lowering, op, "interior l interior interior_padding");
    lower_plain(lowering, op, "stablehlo.pad");
}

static void lower_custom_call(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *callee = mlir_attr(lowering->tree, op, "callee call_target_name");
    Str name = callee ? mlir_text(lowering->scratch, callee->value) : STR("");
    if (name.n > 0 && name.s[0] == '@')
        name = (Str){name.s + 1, name.n - 1};
    if (op->n_results == 0) /* a check, or a print */
        return;
    if (str_eq(name, STR("Sharding")) && op->n_operands == 1 && op->n_results == 1) {
        lower_each(lowering, op);
        return;
    }
    lower_attr_text(lowering, "callee", name);
    lower_plain(lowering, op, "stablehlo.custom_call");
}

static void lower_tuple_element(MlirLowering *lowering, const MlirOp *op)
{
    lower_attrs(lowering, op, "index i index");
    lower_plain(lowering, op, "stablehlo.get_tuple_element");
}

/* A region that is part of what is around it: its arguments are the operands. */
static void lower_inline(MlirLowering *lowering, const MlirOp *op)
{
    const MlirRegion *region = op->n_regions == 1 ? mlir_region(lowering->tree, op, 0) : NULL;
    if (!region || region->n_args != op->n_operands) {
        lower_fail(lowering, op, "its region does not take its %d operands", op->n_operands);
        return;
    }
    int32_t *args = arena_array(lowering->scratch, int32_t, op->n_operands);
    for (int i = 0; i < op->n_operands; i++)
        args[i] = lower_use(lowering, op, i);
    MlirFrame frame;
    lower_enter(lowering, op, "", &frame);
    const MlirOp *back = lower_region(lowering, region, args);
    lower_leave(lowering);
    for (int i = 0; !lowering->failed && i < op->n_results; i++)
        lowering->tensor[op->result + i] = lower_use(lowering, back ? back : op, i);
}

/* What shards see of a value and what they make of it: ops between the global tensors and the local
 * ones, which are the same on every rank for the rest of the plan. */
static void lower_manual(MlirLowering *lowering, const MlirOp *op)
{
    const MlirRegion *region = op->n_regions == 1 ? mlir_region(lowering->tree, op, 0) : NULL;
    if (!region || region->n_args != op->n_operands) {
        lower_fail(lowering, op, "its region does not take its %d operands", op->n_operands);
        return;
    }
    MlirFrame frame;
    int32_t *args = arena_array(lowering->scratch, int32_t, op->n_operands);
    for (int i = 0; i < op->n_operands; i++) {
        int32_t x = lower_use(lowering, op, i);
        Str name = lowering->tree->values.at[region->arg + i].name;
        lower_enter(lowering, op, "manual", &frame);
        args[i] = lower_new(lowering, name, region->arg + i);
        lower_leave(lowering);
        lower_add(lowering, op, "sdy.manual_input",
                  arena_printf(lowering->scratch, "manual/%.*s", STR_ARG(name)), &x, 1, &args[i],
                  1);
    }
    lower_enter(lowering, op, "manual", &frame);
    const MlirOp *back = lower_region(lowering, region, args);
    lower_leave(lowering);
    for (int i = 0; !lowering->failed && i < op->n_results; i++) {
        int32_t x = lower_use(lowering, back ? back : op, i), made = lower_result(lowering, op, i);
        lower_add(lowering, op, "sdy.manual_output",
                  i ? arena_printf(lowering->scratch, "#%d", i) : "", &x, 1, &made, 1);
    }
}

#define WINDOW                                                                                     \
    "base_dilations l base_dilations; padding n padding; window_dilations l window_dilations; "    \
    "window_dimensions l window_dimensions; window_strides l window_strides"

static const MlirRow rows[] = {
    {"func.call", lower_call, NULL, NULL},
    {"func.return", lower_nothing, NULL, NULL},
    {"stablehlo.return", lower_nothing, NULL, NULL},
    {"sdy.return", lower_nothing, NULL, NULL},
    {"stablehlo.composite", lower_composite, NULL, NULL},
    {"stablehlo.while", lower_while, NULL, NULL},
    {"stablehlo.if", lower_if, NULL, NULL},
    {"stablehlo.case", lower_case, NULL, NULL},
    {"stablehlo.constant", lower_constant, NULL, NULL},
    {"stablehlo.iota", lower_iota, NULL, NULL},
    {"stablehlo.reshape", lower_reshape, NULL, NULL},
    {"stablehlo.dynamic_reshape", lower_same, "Reshape", NULL},
    {"stablehlo.broadcast_in_dim", lower_broadcast, NULL, NULL},
    {"stablehlo.dynamic_broadcast_in_dim", lower_dynamic_broadcast, NULL, NULL},
    {"stablehlo.get_dimension_size", lower_dimension_size, NULL, NULL},
    {"stablehlo.slice", lower_slice, NULL, NULL},
    {"stablehlo.pad", lower_pad, NULL, NULL},
    {"stablehlo.transpose", lower_same, "Transpose", "perm l dims permutation"},
    {"stablehlo.concatenate", lower_same, "Concat", "axis i dim dimension"},
    {"stablehlo.reverse", lower_same, "Flip", "axes l dims dimensions"},
    {"stablehlo.dot_general", lower_dot_general, NULL, NULL},
    {"stablehlo.dot", lower_same, "MatMul", NULL},
    {"stablehlo.reduce", lower_reduce, NULL, NULL},
    {"stablehlo.compare", lower_compare, NULL, NULL},
    {"stablehlo.convert", lower_convert, NULL, NULL},
    {"stablehlo.clamp", lower_clamp, NULL, NULL},
    {"stablehlo.and", lower_logical, "And", NULL},
    {"stablehlo.or", lower_logical, "Or", NULL},
    {"stablehlo.xor", lower_logical, "Xor", NULL},
    {"stablehlo.not", lower_logical, "Not", NULL},
    {"stablehlo.select", lower_same, "Where", NULL},
    {"stablehlo.remainder", lower_remainder, NULL, NULL},
    {"stablehlo.reduce_precision", lower_reduce_precision, NULL, NULL},
    {"stablehlo.optimization_barrier", lower_each, NULL, NULL},
    {"stablehlo.custom_call", lower_custom_call, NULL, NULL},
    {"stablehlo.get_tuple_element", lower_tuple_element, NULL, NULL},
    {"stablehlo.convolution", lower_same, NULL,
     "dim_numbers w dim_numbers dimension_numbers; strides l window.stride window_strides; padding "
     "n window.pad padding; lhs_dilation l window.lhs_dilate lhs_dilation; rhs_dilation l "
     "window.rhs_dilate rhs_dilation; reversal l window.reverse window_reversal; batch_group_count "
     "i batch_group_count; feature_group_count i feature_group_count"},
    {"stablehlo.gather", lower_same, NULL,
     "offset_dims l dimension_numbers.offset_dims; collapsed_slice_dims l "
     "dimension_numbers.collapsed_slice_dims; start_index_map l dimension_numbers.start_index_map; "
     "operand_batching_dims l dimension_numbers.operand_batching_dims; "
     "start_indices_batching_dims l dimension_numbers.start_indices_batching_dims; "
     "index_vector_dim z dimension_numbers.index_vector_dim; slice_sizes l slice_sizes"},
    {"stablehlo.scatter", lower_with_region, NULL,
     "update_window_dims l scatter_dimension_numbers.update_window_dims; inserted_window_dims l "
     "scatter_dimension_numbers.inserted_window_dims; scatter_dims_to_operand_dims l "
     "scatter_dimension_numbers.scatter_dims_to_operand_dims; input_batching_dims l "
     "scatter_dimension_numbers.input_batching_dims; scatter_indices_batching_dims l "
     "scatter_dimension_numbers.scatter_indices_batching_dims; index_vector_dim z "
     "scatter_dimension_numbers.index_vector_dim"},
    {"stablehlo.dynamic_slice", lower_same, NULL, "slice_sizes l sizes slice_sizes"},
    {"stablehlo.dynamic_update_slice", lower_same, NULL, NULL},
    {"stablehlo.reduce_window", lower_with_region, NULL, WINDOW},
    {"stablehlo.select_and_scatter", lower_with_region, NULL, WINDOW},
    {"stablehlo.sort", lower_with_region, NULL, "dimension i dimension; is_stable i is_stable"},
    {"stablehlo.fft", lower_same, NULL, "fft_type w type fft_type; fft_length l length fft_length"},
    {"stablehlo.rng_bit_generator", lower_same, NULL, "algorithm w algorithm rng_algorithm"},
    {"stablehlo.bitcast_convert", lower_bitcast, NULL, NULL},
    {"stablehlo.complex", lower_same, NULL, NULL},
    {"stablehlo.all_reduce", lower_collective, NULL, NULL},
    {"stablehlo.reduce_scatter", lower_collective, NULL, "scatter_dimension i scatter_dimension"},
    {"stablehlo.all_gather", lower_collective, NULL, "all_gather_dim i all_gather_dim"},
    {"stablehlo.all_to_all", lower_collective, NULL,
     "split_dimension i split_dimension; concat_dimension i concat_dimension; split_count i "
     "split_count"},
    {"stablehlo.collective_permute", lower_collective, NULL, NULL},
    {"stablehlo.collective_broadcast", lower_collective, NULL, NULL},
    {"stablehlo.batch_norm_inference", lower_same, NULL,
     "epsilon w epsilon; feature_index i feature_index"},
    {"stablehlo.cholesky", lower_same, "Cholesky", "lower i lower"},
    {"stablehlo.map", lower_with_region, NULL, "dimensions l dimensions"},
    {"chlo.square", lower_square, NULL, NULL},
    {"chlo.top_k", lower_top_k, NULL, NULL},
    {"chlo.erf", lower_same, "Erf", NULL},
    {"chlo.erf_inv", lower_same, "Erfinv", NULL},
    {"chlo.erfc", lower_same, "Erfc", NULL},
    {"chlo.lgamma", lower_same, "Lgamma", NULL},
    {"chlo.digamma", lower_same, "Digamma", NULL},
    {"chlo.polygamma", lower_same, "Polygamma", NULL},
    {"chlo.zeta", lower_same, "Zeta", NULL},
    {"chlo.next_after", lower_same, "NextAfter", NULL},
    {"chlo.bessel_i1e", lower_same, "BesselI1e", NULL},
    {"chlo.conj", lower_same, "Conj", NULL},
    {"chlo.tan", lower_same, "Tan", NULL},
    {"chlo.acos", lower_same, "Acos", NULL},
    {"chlo.asin", lower_same, "Asin", NULL},
    {"chlo.atan", lower_same, "Atan", NULL},
    {"chlo.cosh", lower_same, "Cosh", NULL},
    {"chlo.sinh", lower_same, "Sinh", NULL},
    {"chlo.acosh", lower_same, "Acosh", NULL},
    {"chlo.asinh", lower_same, "Asinh", NULL},
    {"chlo.atanh", lower_same, "Atanh", NULL},
    {"chlo.is_inf", lower_same, "IsInf", NULL},
    {"sdy.mesh", lower_nothing, NULL, NULL},
    {"sdy.sharding_group", lower_nothing, NULL, NULL},
    {"sdy.sharding_constraint", lower_each, NULL, NULL},
    {"sdy.reshard", lower_each, NULL, NULL},
    {"sdy.propagation_barrier", lower_each, NULL, NULL},
    {"sdy.data_flow_edge", lower_each, NULL, NULL},
    {"sdy.all_gather", lower_each, NULL, NULL},
    {"sdy.all_slice", lower_each, NULL, NULL},
    {"sdy.all_to_all", lower_each, NULL, NULL},
    {"sdy.all_reduce", lower_each, NULL, NULL},
    {"sdy.reduce_scatter", lower_each, NULL, NULL},
    {"sdy.collective_permute", lower_each, NULL, NULL},
    {"sdy.named_computation", lower_inline, NULL, NULL},
    {"sdy.manual_computation", lower_manual, NULL, NULL},
};

const MlirRow *lower_row(Str name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(name, str_from(rows[i].name)))
            return &rows[i];
    return NULL;
}
