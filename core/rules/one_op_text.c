#include "core/rules/one_op_text.h"

#include <inttypes.h>
#include <string.h>

enum { VALUES_MAX = 16 }; /* elements of an operand that are written out */

static void put_ints(const int64_t *ints, int64_t n, Buf *out)
{
    buf_putc(out, '[');
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", ints[i]);
    buf_putc(out, ']');
}

static void put_shape(const Inferred *inferred, int32_t tensor, Buf *out)
{
    const Shape *shape = program_shape(inferred, tensor);
    Dtype dtype = (Dtype)inferred->dtype[tensor];

    if (shape->n_dims == 0)
        buf_puts(out, "scalar");
    for (int d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%s%" PRId64, d ? "x" : "", shape->dim[d]);
    if (dtype != DT_F32)
        buf_printf(out, ":%s", dtype_name(dtype));
}

/* Whether a rule may read values of the tensor: scales and the like. Those of parameters, which are
 * larger, and scalars that are no whole numbers are data to every rule. */
static bool may_be_read(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = program_shape(inferred, tensor);

    return shape->n_dims > 0 && (tensor_is_known(inferred, tensor) ||
                                 (inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER &&
                                  shape_elements(shape) <= VALUES_MAX));
}

/* Values have no element type of their own there: they are i64. *whole becomes false where others
 * are left out. */
static bool put_value(const Inferred *inferred, int32_t tensor, bool *whole, Buf *out)
{
    const Value *value = inferred_read_value(inferred, tensor);
    bool before = *whole;

    if (may_be_read(inferred, tensor))
        *whole = false;
    if (!value || !value->ints || value->dtype != DT_I64 || value->shape.n_dims > 1 ||
        shape_elements(&value->shape) > VALUES_MAX)
        return false;
    buf_putc(out, '=');
    if (value->shape.n_dims == 0)
        buf_printf(out, "%" PRId64, value->ints[0]);
    else
        put_ints(value->ints, value->shape.dim[0], out);
    *whole = before;
    return true;
}

bool one_op_put_operands(const Inferred *inferred, int32_t op, Buf *out)
{
    const GraphOp *node = &inferred->graph->ops[op];
    bool whole = true;

    for (int i = 0; i < node->n_inputs; i++) {
        int32_t tensor = op_inputs(inferred->graph, op)[i];
        buf_puts(out, i ? "," : "");
        if (tensor < 0)
            buf_putc(out, '-');
        else if (!put_value(inferred, tensor, &whole, out))
            put_shape(inferred, tensor, out);
    }
    for (int o = 0; node->n_outputs > 1 && o < node->n_outputs; o++) {
        int32_t tensor = op_outputs(inferred->graph, op)[o];
        buf_puts(out, o ? "," : "->");
        if (tensor < 0)
            buf_putc(out, '-');
        else
            put_shape(inferred, tensor, out);
    }
    return whole;
}

bool one_op_put_attr(const Graph *graph, const Attr *attr, Buf *out)
{
    const char *name = names_text(graph->names, attr->name);

    switch ((AttrType)attr->type) {
    case ATTR_INT:
        buf_printf(out, "%s=%" PRId64, name, attr->i);
        return true;
    case ATTR_FLOAT: {
        size_t from = out->n;
        buf_printf(out, "%s=%.9g", name, attr->f);
        if (!strpbrk(out->s + from + strlen(name), ".einf"))
            buf_puts(out, ".0"); /* else it reads as a whole number */
        return true;
    }
    case ATTR_STRING:
        buf_printf(out, "%s=%.*s", name, STR_ARG(attr->s));
        return true;
    case ATTR_INTS:
        buf_printf(out, "%s=", name);
        put_ints(attr->ints, attr->n, out);
        return true;
    case ATTR_FLOATS:
    case ATTR_STRINGS:
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        break;
    }
    return false;
}

/* In quotes where a shell would read something else. */
static void put_word(Str word, Buf *out)
{
    bool plain = word.n > 0;

    for (size_t i = 0; i < word.n; i++)
        plain = plain && (word.s[i] & 0x80 || strchr("[]*?<>|&;()$`\"\\ !#~'", word.s[i]) == NULL);
    buf_putc(out, ' ');
    if (plain) {
        buf_add(out, word);
        return;
    }
    buf_putc(out, '\'');
    for (size_t i = 0; i < word.n; i++)
        if (word.s[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, word.s[i]);
    buf_putc(out, '\'');
}

static bool is_written(const Inferred *inferred, int32_t tensor)
{
    return tensor < 0 || inferred_tensor_shape(inferred, tensor) != NULL;
}

bool one_op_is_written(const Inferred *inferred, int32_t op)
{
    const GraphOp *node = &inferred->graph->ops[op];
    bool written = true;

    for (int i = 0; written && i < node->n_inputs; i++)
        written = is_written(inferred, op_inputs(inferred->graph, op)[i]);
    for (int o = 0; written && node->n_outputs > 1 && o < node->n_outputs; o++)
        written = is_written(inferred, op_outputs(inferred->graph, op)[o]);
    return written;
}

bool one_op_put_command(const Inferred *inferred, int32_t op, Buf *out)
{
    const Graph *graph = inferred->graph;
    const GraphOp *node = &graph->ops[op];
    const AttrList *attrs = &graph->attr_lists[node->attrs];
    Buf word = buf_new(out->arena);

    buf_puts(out, op_operator(graph, op));
    bool whole = one_op_put_operands(inferred, op, &word);
    if (word.n > 0) {
        buf_puts(out, " --shapes");
        put_word(buf_str(&word), out);
    }
    for (int i = 0; i < attrs->n; i++) {
        word.n = 0;
        if (one_op_put_attr(graph, &attrs->at[i], &word)) {
            buf_puts(out, " --attr");
            put_word(buf_str(&word), out);
        }
    }
    return whole;
}
