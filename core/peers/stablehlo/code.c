/* code.c - a region of scalars as lines of text, for the kernels that run it
 * (core/run/scalar_code.h).
 *
 *     compare:LT:f32 0 1          %2 = the comparison of values 0 and 1
 *     constant:f32:0x7FC00000
 *     return 3 4
 *
 * Values are numbered: the arguments first, then what each line makes. Behind the name stand what
 * it is told, and the element type of its result.
 */
#include "core/peers/stablehlo/lower.h"

enum { REGION_OPS_MAX = 512 };

typedef struct {
    MlirLowering *lowering;
    const MlirRegion *region;
    Vec(int32_t) values; /* of the tree, by number */
    Vec(Str) lines;
} Coding;

static int number_of(const Coding *coding, int32_t value)
{
    int n = coding->values.n;
    while (n > 0 && coding->values.at[n - 1] != value)
        n--;
    return n - 1;
}

/* A constant from outside of the region is one of it. */
static int add_constant(Coding *coding, const MlirOp *op)
{
    const MlirTree *tree = coding->lowering->tree;
    Str text = mlir_inside(mlir_elements(tree, op));
    const MlirType *type = lower_made(coding->lowering, op, 0);
    if (type->shape.n_dims != 0 || text.n == 0 || text.n > 64)
        return -1;
    Buf line = buf_new(coding->lowering->scratch);
    buf_printf(&line, "constant:%.*s:%s", STR_ARG(text), dtype_name(type->dtype));
    vec_push(coding->lowering->scratch, &coding->lines, buf_str(&line));
    vec_push(coding->lowering->scratch, &coding->values, op->result);
    return coding->values.n - 1;
}

static int operand_number(Coding *coding, int32_t value)
{
    const MlirTree *tree = coding->lowering->tree;
    int number = number_of(coding, value), op = tree->values.at[value].op;
    if (number < 0 && op >= 0 && mlir_is(&tree->ops.at[op], "stablehlo.constant"))
        number = add_constant(coding, &tree->ops.at[op]);
    return number;
}

static bool add_line(Coding *coding, const MlirOp *op)
{
    MlirLowering *lowering = coding->lowering;
    const MlirTree *tree = lowering->tree;
    bool back = str_ends(op->name, STR("return"));
    bool known = str_starts(op->name, STR("stablehlo.")) || str_starts(op->name, STR("chlo."));
    if (!back && (!known || op->n_regions > 0 || op->n_results != 1 || op->n_operands > 3 ||
                  lower_made(lowering, op, 0)->shape.n_dims != 0))
        return false;
    Buf line = buf_new(lowering->scratch);
    Str name = op->name;
    str_take(&name, '.');
    buf_add(&line, name);
    const MlirAttr *way = mlir_attr(tree, op, "comparison_direction");
    Str word = way ? way->value : mlir_word(tree, op, 0);
    static const char *const ways[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    for (int i = 0; i < 6 && str_eq(name, STR("compare")); i++)
        if (word.n > 0 && str_find(word, str_from(ways[i])) >= 0)
            buf_printf(&line, ":%s", ways[i]);
    if (!back)
        buf_printf(&line, ":%s", dtype_name(lower_made(lowering, op, 0)->dtype));
    for (int i = 0; i < op->n_operands; i++) {
        int number = operand_number(coding, mlir_operands(tree, op)[i]);
        if (number < 0)
            return false;
        buf_printf(&line, " %d", number);
    }
    vec_push(lowering->scratch, &coding->lines, buf_str(&line));
    if (!back)
        vec_push(lowering->scratch, &coding->values, op->result);
    return true;
}

bool lower_region_code(MlirLowering *lowering, const MlirOp *op, int region)
{
    if (region >= op->n_regions)
        return true;
    Coding coding = {.lowering = lowering, .region = mlir_region(lowering->tree, op, region)};
    const MlirRegion *r = coding.region;
    for (int i = 0; i < r->n_args; i++)
        vec_push(lowering->scratch, &coding.values, r->arg + i);
    bool whole = r->end - r->op <= REGION_OPS_MAX;
    for (int32_t o = r->op; o < r->end && whole; o = lowering->tree->ops.at[o].end) {
        const MlirOp *inner = &lowering->tree->ops.at[o];
        whole = mlir_is(inner, "stablehlo.constant") ? add_constant(&coding, inner) >= 0
                                                     : add_line(&coding, inner);
    }
    if (!whole) /* planned, but not run */
        return true;
    Attr attr = {.name = names_intern(lowering->graph->names, STR("region")),
                 .type = ATTR_STRINGS,
                 .n = coding.lines.n};
    attr.strings = coding.lines.at;
    vec_push(lowering->scratch, &lowering->attrs, attr);
    return true;
}
