#include "core/rules/example.h"

#include "core/space/anno.h"
#include "core/rules/one_op.h"

#include <inttypes.h>

/* ---- the tables ---- */

static const Example *const tables[] = {
    examples_elementwise, examples_move,  examples_fold,
    examples_image,       examples_model, examples_stablehlo,
};
enum { N_TABLES = sizeof tables / sizeof *tables };

const Example *example_next(const char *name, const Example *after)
{
    bool begun = !after;
    for (int t = 0; t < N_TABLES; t++)
        for (const Example *row = tables[t]; row->operators; row++) {
            if (begun && str_has_word(str_from(row->operators), str_from(name)))
                return row;
            begun |= row == after;
        }
    return NULL;
}

/* attrs: "axis=1 keepdims=0", or NULL. */
static Graph *make(Arena *arena, const char *name, Str operands, const char *attrs, int n_outputs,
                   Error *err)
{
    OneOp op = {.operator= str_from(name), .n_outputs = n_outputs};
    if (!one_op_operands(arena, operands, &op, err))
        return NULL;
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (const char *at = attrs ? attrs : ""; *at;) {
        size_t n = strcspn(at, " ");
        if (!one_op_attr_text(builder, arena_str(arena, (Str){at, n}), err))
            return NULL;
        at += n + strspn(at + n, " ");
    }
    return one_op_graph(builder, err);
}

Graph *example_graph(Arena *arena, const char *name, const Example *example, Error *err)
{
    return make(arena, name, str_from(example->operands), example->attrs,
                example->n_outputs > 0 ? example->n_outputs : 1, err);
}

/* ---- from an annotation ---- */

static const int64_t sizes[] = {5, 6, 4, 7, 3, 8};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static int64_t dim_of(const AnnoDim *dim)
{
    int64_t size = 1;
    for (int a = 0; a < dim->n; a++)
        size *= dim->atom[a].number >= 0 ? dim->atom[a].number : sizes[dim->atom[a].id % N_SIZES];
    return size;
}

/* False: more dims than a tensor has. */
static bool shape_of(const AnnoTensor *tensor, Shape *out)
{
    *out = (Shape){0};
    for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++) {
        bool any = tensor->dim[d].n == 1 && str_eq(tensor->dim[d].atom[0].name, STR("*"));
        if (out->n_dims + 1 + any > DIMS_MAX)
            return false;
        if (any)
            out->dim[out->n_dims++] = sizes[N_SIZES - 2];
        out->dim[out->n_dims++] = any ? sizes[N_SIZES - 4] : dim_of(&tensor->dim[d]);
    }
    return true;
}

/* What stands in a bracket is told by an attribute: `(h m) k` with h=5. */
static bool add_lengths(OneOpBuilder *builder, Arena *arena, const AnnoTensor *tensor, Error *err)
{
    for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
        for (int a = 0; tensor->dim[d].n > 1 && a < tensor->dim[d].n; a++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[a];
            if (atom->number < 0 &&
                !one_op_attr_text(builder,
                                  arena_printf(arena, "%.*s=%" PRId64, STR_ARG(atom->name),
                                               sizes[atom->id % N_SIZES]),
                                  err))
                return false;
        }
    return true;
}

static const Anno *first_anno(Arena *arena, const Operator *row, Error *err)
{
    if (!row->anno || !row->anno->annos || !row->anno->annos[0])
        return NULL;
    Source source = {row->name, str_from(row->anno->annos[0])};
    return anno_parse(arena, &source, err);
}

static Graph *from_anno(Arena *arena, const Operator *row, const Anno *anno, Error *err)
{
    OneOp op = {.operator= str_from(row->name)};
    op.n_inputs = anno->n_inputs;
    op.n_outputs = anno->n_outputs;
    Shape *shape = arena_array(arena, Shape, anno->n_inputs);
    op.shape = shape;
    for (int i = 0; i < anno->n_inputs; i++)
        if (!shape_of(&anno->tensor[i], &shape[i])) {
            error_kind(err, ERROR_UNSUPPORTED, "%s: input %d has too many dims", row->name, i);
            return NULL;
        }
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (int i = 0; i < anno->n_inputs; i++)
        if (!add_lengths(builder, arena, &anno->tensor[i], err))
            return NULL;
    return one_op_graph(builder, err);
}

Graph *example_of_user(Arena *arena, const Operator *row, Error *err)
{
    const Anno *anno = first_anno(arena, row, err);
    if (row->example) {
        size_t n = strcspn(row->example, " ");
        int n_outputs = row->data ? row->data->n_outputs : anno ? anno->n_outputs : 1;
        return make(arena, row->name, (Str){row->example, n},
                    row->example + n + strspn(row->example + n, " "), n_outputs, err);
    }
    if (anno)
        return from_anno(arena, row, anno, err);
    error_kind(err, ERROR_UNSUPPORTED, "%s has no example", row->name);
    error_hint(err, "give --shapes, or example = \"4x6,6x5\" where it is registered");
    return NULL;
}
