#include "core/peers/nnscaler/anno_named_call.h"

#include <inttypes.h>
#include <math.h>

/* ---- element-wise ops with broadcasting: letters count from the left of the result ---- */

static Shape broadcast_shape(const NamedCall *call, int n_inputs)
{
    Shape result = {0};
    for (int i = 0; i < n_inputs; i++)
        if (named_has(call, i) && named_shape(call, i)->n_dims > result.n_dims)
            result.n_dims = named_shape(call, i)->n_dims;
    for (int i = 0; i < n_inputs; i++) {
        const Shape *shape = named_shape(call, i);
        int64_t lead = result.n_dims - shape->n_dims;
        for (int64_t d = 0; named_has(call, i) && d < shape->n_dims; d++)
            if (result.dim[lead + d] < 2)
                result.dim[lead + d] = shape->dim[d];
    }
    return result;
}

/* (2,1,4) + (3,1): "a 1 c, b 1 -> a b c". Dims align at the right. */
static const char *broadcast(NamedCall *call, int n_inputs)
{
    Shape result = broadcast_shape(call, n_inputs);
    NamedDims out = named_first(call, (int)result.n_dims);
    NamedDims *in = arena_array(call->arena, NamedDims, n_inputs);
    for (int i = 0; i < n_inputs; i++) {
        const Shape *shape = named_shape(call, i);
        int lead = (int)(result.n_dims - shape->n_dims);
        in[i] = named_has(call, i) ? (NamedDims){.n = (int)shape->n_dims} : named_ignored();
        for (int d = 0; named_has(call, i) && d < shape->n_dims; d++)
            in[i].dim[d] =
                shape->dim[d] == 1 && result.dim[lead + d] != 1 ? "1" : out.dim[lead + d];
    }
    return named_text(call, in, n_inputs, &out, 1);
}

const char *named_broadcast(NamedCall *call)
{
    if (call->n_inputs == 1)
        return "* -> *"; /* the other operand is an attribute */
    bool any = false;
    for (int i = 0; i < call->n_inputs; i++)
        any = any || named_has(call, i);
    return any ? broadcast(call, call->n_inputs)
               : named_fail(call, ERROR_UNSUPPORTED, "no operand is a tensor");
}

static bool is_one(const NamedCall *call, int input)
{
    return shape_elements(named_shape(call, input)) == 1 && named_shape(call, input)->n_dims == 1;
}

/* One of the two values may be a number; a tensor of one element then counts as a number too. */
const char *named_where(NamedCall *call)
{
    if (call->n_inputs == 1)
        return named_nonzero(call);
    if (call->n_inputs == 3 && named_has(call, 1) != named_has(call, 2) &&
        is_one(call, named_has(call, 1) ? 1 : 2)) {
        NamedDims dims = named_letters(call, (int)named_shape(call, 0)->n_dims);
        return named_text(call, (NamedDims[]){dims, named_ignored(), named_ignored()}, 3, &dims, 1);
    }
    return broadcast(call, call->n_inputs);
}

const char *named_accum(NamedCall *call)
{
    NamedDims *in = arena_array(call->arena, NamedDims, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        in[i] = named_first(call, (int)named_shape(call, i)->n_dims);
    return named_text(call, in, call->n_inputs, in, 1);
}

const char *named_multiref(NamedCall *call)
{
    int64_t times = named_int(call, "times", 2);
    if (times < 1 || times > OPERANDS_MAX)
        return named_fail(call, ERROR_OUT_OF_RANGE, "`times` is out of range");
    Buf text = buf_new(call->arena);
    buf_puts(&text, "* -> *");
    for (int64_t i = 1; i < times; i++)
        buf_puts(&text, ", *");
    return text.s;
}

const char *named_type(NamedCall *call)
{
    if (!named_attr(call, "dtype"))
        return named_fail(call, ERROR_UNSUPPORTED,
                          "without a dtype the result is a string, not a tensor");
    return "* -> *";
}

/* ---- products ---- */

const char *named_addmm(NamedCall *call)
{
    if (!named_rank(call, 0, 1, 2) || !named_rank(call, 1, 2, 2) || !named_rank(call, 2, 2, 2))
        return NULL;
    const Shape *added = named_shape(call, 0);
    int64_t columns = named_shape(call, 2)->dim[1];
    if (added->n_dims == 1)
        return arena_printf(call->arena, "%s, a k^, k^ b -> a b",
                            added->dim[0] == 1 && columns != 1 ? "1" : "b");
    return arena_printf(call->arena, "%s %s, a k^, k^ b -> a b", added->dim[0] == 1 ? "1" : "a",
                        added->dim[1] == 1 ? "1" : "b");
}

const char *named_baddbmm(NamedCall *call)
{
    const Shape *added = named_shape(call, 0);
    if (!named_rank(call, 0, 3, 3))
        return NULL;
    return arena_printf(call->arena, "%s %s %s, b m k^, b k^ n -> b m n",
                        added->dim[0] == 1 ? "1" : "b", added->dim[1] == 1 ? "1" : "m",
                        added->dim[2] == 1 ? "1" : "n");
}

/* "i j, j k -> i k": names missing in the result are summed. A scalar result has one element. */
const char *named_einsum(NamedCall *call)
{
    Str equation = json_str(named_attr(call, "equation"), "");
    int64_t arrow = str_find(equation, STR("->"));
    if (arrow < 0)
        return named_fail(call, ERROR_INVALID, "`equation` must be names, `->` and names");
    Str left = {equation.s, (size_t)arrow};
    Str right = {equation.s + arrow + 2, equation.n - (size_t)arrow - 2};
    Buf text = buf_new(call->arena);
    while (left.n > 0) {
        buf_puts(&text, text.n > 0 ? ", " : "");
        for (Str tensor = str_take(&left, ','); tensor.n > 0;) {
            Str name = str_trim(str_take(&tensor, ' '));
            buf_add(&text, name);
            buf_puts(&text, name.n == 0 ? "" : str_has_word(right, name) ? " " : "+ ");
        }
    }
    if (str_trim(right).n == 0)
        right = STR("1");
    return arena_printf(call->arena, "%s -> %.*s", text.n > 0 ? text.s : "", STR_ARG(right));
}

/* ---- creation: never sharded ---- */

static const char *made(NamedCall *call, const Shape *shape)
{
    NamedDims out = {.n = (int)shape->n_dims};
    for (int d = 0; d < out.n; d++)
        out.dim[d] = named_number(call, shape->dim[d]);
    if (out.n == 0)
        out = (NamedDims){1, {"1"}};
    return named_text(call, NULL, 0, &out, 1);
}

const char *named_made(NamedCall *call)
{
    Shape size;
    return named_list(call, "size", &size) ? made(call, &size) : NULL;
}

const char *named_eye(NamedCall *call)
{
    int64_t rows = named_int(call, "n", -1);
    return made(call, &(Shape){2, {rows, named_int(call, "m", rows)}});
}

const char *named_linspace(NamedCall *call)
{
    return made(call, &(Shape){1, {named_int(call, "steps", -1)}});
}

const char *named_arange(NamedCall *call)
{
    double start = json_real(named_attr(call, "start"), 0), step;
    step = json_real(named_attr(call, "step"), 1);
    double n = step != 0 ? ceil((json_real(named_attr(call, "end"), NAN) - start) / step) : NAN;
    if (!(n >= 0 && n < 1e15))
        return named_fail(call, ERROR_INVALID, "`start`, `end` and `step` give no number of items");
    return made(call, &(Shape){1, {(int64_t)n}});
}

/* `data` must be a number or nested lists of equal lengths. */
const char *named_tensor(NamedCall *call)
{
    const Json *data = named_attr(call, "data");
    Shape shape = {0};
    if (!data)
        return named_fail(call, ERROR_INVALID, "the attribute `data` is missing");
    for (; json_is_array(data); data = json_at(data, 0)) {
        if (shape.n_dims == DIMS_MAX)
            return named_fail(call, ERROR_RANK, "`data` is nested too deep");
        shape.dim[shape.n_dims++] = json_size(data);
    }
    return made(call, &shape);
}
