#include "core/rules/example.h"

#include "core/space/anno.h"
#include "core/rules/one_op.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the texts ---- */

static const char separator[] = "; ";

const char *example_next(const char *name, const char *after)
{
    if (!after) {
        const Operator *row = operator_find(name);
        return row ? row->examples : NULL;
    }
    const char *end = strstr(after, separator);
    return end ? end + strlen(separator) : NULL;
}

Example example_read(Arena *arena, const char *text)
{
    const char *end = strstr(text, separator), *arrow = strstr(text, " -> ");
    Str rest = end ? (Str){text, (size_t)(end - text)} : str_from(text);
    Example example = {0};
    if (arrow && (!end || arrow < end)) {
        example.n_outputs = (int)strtol(arrow + strlen(" -> "), NULL, 10);
        rest.n = (size_t)(arrow - text);
    }
    Str operands = str_take(&rest, ' ');
    example.operands = str_eq(operands, STR("()")) ? "" : arena_str(arena, operands);
    example.attrs = arena_str(arena, rest);
    return example;
}

/* "5x6": "5x6:f64"; one that has a type, is a constant or absent stays. */
static void put_typed(Str operand, const char *dtype, Buf *out)
{
    bool plain = operand.n == 0 || operand.s[0] == '=' || operand.s[0] == '-' ||
                 str_find(operand, STR(":")) >= 0;
    buf_add(out, operand);
    if (!plain)
        buf_printf(out, ":%s", dtype);
}

const char *example_operands(Arena *arena, const char *operands, const char *dtype)
{
    Buf out = buf_new(arena);
    int depth = 0;
    for (const char *item = operands; *item; item = *item ? item + 1 : item) {
        const char *end = item;
        for (; *end && (*end != ',' || depth > 0); end++)
            depth += (*end == '[') - (*end == ']');
        Str text = {item, (size_t)(end - item)};
        int64_t arrow = str_find(text, STR("->"));
        buf_puts(&out, item == operands ? "" : ",");
        put_typed(arrow < 0 ? text : (Str){item, (size_t)arrow}, dtype, &out);
        if (arrow >= 0) {
            buf_puts(&out, "->");
            put_typed((Str){item + arrow + 2, text.n - (size_t)arrow - 2}, dtype, &out);
        }
        item = end;
        if (!*item)
            break;
    }
    return out.s;
}

Graph *example_op(Arena *arena, const char *name, const Example *example, Error *err)
{
    OneOp op = {.op_type = str_from(name),
                .n_outputs = example->n_outputs > 0 ? example->n_outputs : 1};
    if (!one_op_operands(arena, str_from(example->operands), &op, err))
        return NULL;
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (const char *at = example->attrs; *at;) {
        size_t n = strcspn(at, " ");
        if (!one_op_attr_text(builder, arena_str(arena, (Str){at, n}), err))
            return NULL;
        at += n + strspn(at + n, " ");
    }
    return one_op_graph(builder, err);
}

Graph *example_graph(Arena *arena, const char *name, const char *text, Error *err)
{
    Example example = example_read(arena, text);
    return example_op(arena, name, &example, err);
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

/* Returns false if it has more dims than a tensor may have. */
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

/* A dim in parentheses is split by attributes: `(h m) k` with h=5. */
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
    OneOp op = {.op_type = str_from(row->name)};
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
    if (row->examples) {
        Example example = example_read(arena, row->examples);
        if (example.n_outputs == 0)
            example.n_outputs = row->data ? row->data->n_outputs : anno ? anno->n_outputs : 1;
        return example_op(arena, row->name, &example, err);
    }
    if (anno)
        return from_anno(arena, row, anno, err);
    error_kind(err, ERROR_UNSUPPORTED, "%s has no example", row->name);
    error_hint(err, "give --shapes, or example = \"4x6,6x5\" where it is registered");
    return NULL;
}
