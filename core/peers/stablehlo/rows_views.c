/* rows_views.c - constants and views of StableHLO: reshapes, broadcasts, slices. */
#include "core/peers/stablehlo/rows.h"

/* ---- constants ---- */

void lower_constant(MlirLowering *lowering, const MlirOp *op)
{
    const MlirType *type = lower_made(lowering, op, 0);
    Str text = mlir_elements(lowering->tree, op);
    if (!type->tensor || text.n == 0) {
        lower_plain(lowering, op, "stablehlo.constant");
        return;
    }
    Shape shape = type->shape;
    for (int64_t d = 0; d < shape.n_dims; d++)
        if (shape.dim[d] < 0) {
            lower_fail(lowering, op, "a constant has no size that is known only at run time");
            return;
        }
    bool elided = str_find((Str){text.s, text.n < 40 ? text.n : 40}, STR("__elided__")) >= 0 ||
                  str_starts(text, STR("dense_resource"));
    TensorData *data = arena_make(lowering->file->arena, TensorData);
    *data =
        (TensorData){.form = elided ? DATA_ABSENT : DATA_DENSE, .bytes = elided ? STR("") : text};
    Attr attr = {.name = names_intern(lowering->graph->names, STR("value")),
                 .type = ATTR_TENSOR,
                 .dtype = (uint8_t)type->dtype,
                 .shape = shapes_put(lowering->graph->shapes, &shape)};
    attr.tensor = data;
    vec_push(lowering->scratch, &lowering->attrs, attr);
    lower_plain(lowering, op, "Constant");
}

void lower_iota(MlirLowering *lowering, const MlirOp *op)
{
    const MlirType *type = lower_made(lowering, op, 0);
    lower_attrs(lowering, op, "dimension i dim iota_dimension");
    lower_attr_ints(lowering, "shape", type->shape.dim, (int)type->shape.n_dims);
    lower_attr_int(lowering, "dtype", dtype_to_onnx(type->dtype));
    lower_plain(lowering, op, "stablehlo.iota");
}

/* ---- views ---- */

void lower_reshape(MlirLowering *lowering, const MlirOp *op)
{
    const MlirType *type = lower_made(lowering, op, 0);
    lower_attr_ints(lowering, "shape", type->shape.dim, (int)type->shape.n_dims);
    lower_attr_int(lowering, "allowzero", 1);
    lower_plain(lowering, op, "Reshape");
}

void lower_broadcast(MlirLowering *lowering, const MlirOp *op)
{
    const MlirType *type = lower_made(lowering, op, 0);
    lower_attrs(lowering, op, "dims l dims broadcast_dimensions");
    lower_attr_ints(lowering, "shape", type->shape.dim, (int)type->shape.n_dims);
    lower_plain(lowering, op, "stablehlo.broadcast_in_dim");
}

/* To a shape that an operand has: dims of size 1 where the operand has none, then Expand. */
void lower_dynamic_broadcast(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *attr = mlir_attr(lowering->tree, op, "dims broadcast_dimensions");
    const int64_t *dims;
    int n = attr ? mlir_ints(lowering->scratch, attr->value, &dims) : -1;
    int64_t new[DIMS_MAX], rank = lower_made(lowering, op, 0)->shape.n_dims;
    int n_new = 0;
    if (n < 0 || op->n_operands != 2) {
        lower_fail(lowering, op, "it has no list of dims");
        return;
    }
    for (int64_t d = 0; d < rank; d++) {
        bool has = false;
        for (int i = 0; i < n; i++)
            has |= dims[i] == d;
        if (!has)
            new[n_new++] = d;
    }
    int32_t x = lower_use(lowering, op, 0);
    if (n_new > 0) {
        const int32_t inputs[2] = {
            x, lower_constant_ints(lowering, op, "axes", DT_I64, new, n_new, false)};
        x = lower_step(lowering, op, "Unsqueeze", "unsqueeze", inputs, 2);
    }
    lower_add(lowering, op, "Expand", "", (const int32_t[]){x, lower_use(lowering, op, 1)}, 2,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}

/* Arithmetic on sizes of i32 as a constant that is known at load. */
void lower_dimension_size(MlirLowering *lowering, const MlirOp *op)
{
    const MlirAttr *attr = mlir_attr(lowering->tree, op, "dim dimension");
    int64_t dim;
    int32_t x = lower_use(lowering, op, 0);
    if (!attr || !mlir_int(attr->value, &dim)) {
        lower_fail(lowering, op, "it names no dim");
        return;
    }
    lower_attr_int(lowering, "start", dim);
    lower_attr_int(lowering, "end", dim + 1);
    int32_t list = lower_step(lowering, op, "Shape", "list", &x, 1);
    int32_t one = lower_step(lowering, op, "Squeeze", "size", &list, 1);
    lower_attr_int(lowering, "to", dtype_to_onnx(lower_made(lowering, op, 0)->dtype));
    lower_add(lowering, op, "Cast", "", &one, 1, (const int32_t[]){lower_result(lowering, op, 0)},
              1);
}

typedef struct {
    int64_t *start, *end, *step, *axis;
    int n;
} SliceRanges;

/* "[0:4, 0:8:2]" */
static bool read_ranges(Arena *arena, Str text, SliceRanges *out)
{
    Str rest = mlir_inside(text), item;
    while (mlir_take_item(&rest, &item)) {
        Str start = str_take(&item, ':'), end = str_take(&item, ':');
        if (out->n == DIMS_MAX || !str_to_int(str_trim(start), &out->start[out->n]) ||
            !str_to_int(str_trim(end), &out->end[out->n]))
            return false;
        out->step[out->n] = 1;
        if (item.n > 0 && !str_to_int(str_trim(item), &out->step[out->n]))
            return false;
        out->n++;
    }
    (void)arena;
    return true;
}

static bool generic_ranges(MlirLowering *lowering, const MlirOp *op, SliceRanges *out)
{
    static const char *const keys[] = {"start_indices", "limit_indices", "strides"};
    int64_t *const to[] = {out->start, out->end, out->step};
    for (int k = 0; k < 3; k++) {
        const MlirAttr *attr = mlir_attr(lowering->tree, op, keys[k]);
        const int64_t *at;
        int n = attr ? mlir_ints(lowering->scratch, attr->value, &at) : -1;
        if (n < 0 || n > DIMS_MAX || (k > 0 && n != out->n))
            return false;
        out->n = n;
        memcpy(to[k], at, (size_t)n * sizeof *at);
    }
    return true;
}

void lower_slice(MlirLowering *lowering, const MlirOp *op)
{
    SliceRanges r = {.n = 0};
    int64_t **const lists[] = {&r.start, &r.end, &r.step, &r.axis};
    for (int k = 0; k < 4; k++)
        *lists[k] = arena_array(lowering->scratch, int64_t, DIMS_MAX);
    bool generic = mlir_attr(lowering->tree, op, "start_indices") != NULL;
    if (!(generic ? generic_ranges(lowering, op, &r)
                  : read_ranges(lowering->scratch, mlir_word(lowering->tree, op, 0), &r))) {
        lower_fail(lowering, op, "its ranges are not read");
        return;
    }
    bool steps = false;
    for (int d = 0; d < r.n; d++) {
        r.axis[d] = d;
        steps |= r.step[d] != 1;
    }
    int32_t inputs[5] = {lower_use(lowering, op, 0)};
    const char *const parts[] = {"starts", "ends", "axes", "steps"};
    int64_t *const values[] = {r.start, r.end, r.axis, r.step};
    if (!steps) {
        lower_attr_ints(lowering, "starts", r.start, r.n);
        lower_attr_ints(lowering, "ends", r.end, r.n);
        lower_attr_ints(lowering, "axes", r.axis, r.n);
    }
    for (int k = 0; k < 4 && steps; k++)
        inputs[k + 1] = lower_constant_ints(lowering, op, parts[k], DT_I64, values[k], r.n, false);
    lower_add(lowering, op, "Slice", "", inputs, steps ? 5 : 1,
              (const int32_t[]){lower_result(lowering, op, 0)}, 1);
}
