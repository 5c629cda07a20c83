#include "core/peers/nnscaler/anno_named_call.h"

#include <inttypes.h>

enum { LETTERS = 26 };

static const int64_t NUMBER_MAX = INT64_C(1) << 31;

const char *named_fail(NamedCall *call, ErrorKind kind, const char *why)
{
    if (!call->failed)
        error_kind(call->err, kind, "%s: %s", call->op, why);
    call->failed = true;
    return NULL;
}

/* ---- tensors ---- */

const Shape *named_shape(const NamedCall *call, int input)
{
    return &call->input[input].shape;
}

bool named_has(const NamedCall *call, int input)
{
    return input < call->n_inputs && call->input[input].is_tensor;
}

bool named_rank(NamedCall *call, int input, int least, int most)
{
    int64_t n_dims = named_shape(call, input)->n_dims;
    if (n_dims >= least && n_dims <= most)
        return true;
    named_fail(call, ERROR_RANK, "a tensor has a wrong number of dims for the operator");
    return false;
}

/* ---- dims as text ---- */

NamedDims named_letters(NamedCall *call, int n_dims)
{
    NamedDims dims = {.n = n_dims};
    for (int d = 0; d < n_dims; d++) {
        if (call->n_letters == LETTERS)
            named_fail(call, ERROR_UNSUPPORTED, "an annotation has one letter a dim, at most 26");
        dims.dim[d] = call->failed ? "?" : arena_printf(call->arena, "%c", 'a' + call->n_letters++);
    }
    return dims;
}

NamedDims named_frozen(NamedCall *call, int n_dims)
{
    NamedDims dims = named_letters(call, n_dims);
    for (int d = 0; d < n_dims; d++)
        dims.dim[d] = named_mark(call, dims.dim[d], '^');
    return dims;
}

NamedDims named_first(NamedCall *call, int n_dims)
{
    call->n_letters = 0;
    return named_letters(call, n_dims);
}

const char *named_number(NamedCall *call, int64_t size)
{
    if (size < 0)
        named_fail(call, ERROR_INVALID, "a size would be negative");
    return arena_printf(call->arena, "%" PRId64, size);
}

const char *named_mark(NamedCall *call, const char *dim, char suffix)
{
    return arena_printf(call->arena, "%s%c", dim, suffix);
}

NamedDims named_ignored(void)
{
    return (NamedDims){1, {"?"}};
}

void named_remove(NamedDims *dims, int at)
{
    for (dims->n--; at < dims->n; at++)
        dims->dim[at] = dims->dim[at + 1];
}

void named_insert(NamedCall *call, NamedDims *dims, int at, const char *dim)
{
    if (dims->n > DIMS_MAX) {
        named_fail(call, ERROR_RANK, "the result has too many dims");
        return;
    }
    for (int d = dims->n++; d > at; d--)
        dims->dim[d] = dims->dim[d - 1];
    dims->dim[at] = dim;
}

static void put_tensors(const NamedDims *dims, int n, Buf *out)
{
    for (int i = 0; i < n; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        for (int d = 0; d < dims[i].n; d++)
            buf_printf(out, "%s%s", d > 0 ? " " : "", dims[i].dim[d]);
    }
}

const char *named_text(NamedCall *call, const NamedDims *in, int n_in, const NamedDims *out,
                       int n_out)
{
    if (call->failed)
        return NULL;
    Buf text = buf_new(call->arena);
    put_tensors(in, n_in, &text);
    buf_puts(&text, " -> ");
    put_tensors(out, n_out, &text);
    return text.s;
}

const char *named_one(NamedCall *call, const NamedDims *in, const NamedDims *out)
{
    return named_text(call, in, 1, out, 1);
}

/* ---- attributes ---- */

const Json *named_attr(const NamedCall *call, const char *name)
{
    const Json *value = json_get(call->attrs, name);
    return json_is_null(value) ? NULL : value;
}

bool named_true(const NamedCall *call, const char *name, bool fallback)
{
    const Json *value = named_attr(call, name);
    return json_bool(value, json_int(value, fallback) != 0);
}

int64_t named_int_of(NamedCall *call, const Json *value)
{
    int64_t number = json_int(value, NUMBER_MAX + 1);
    if (number >= -NUMBER_MAX && number <= NUMBER_MAX)
        return number;
    named_fail(call, ERROR_INVALID, "an attribute is not an integer of at most 2^31");
    return 0;
}

int64_t named_int(NamedCall *call, const char *name, int64_t fallback)
{
    const Json *value = named_attr(call, name);
    return value ? named_int_of(call, value) : fallback;
}

int named_dim_of(NamedCall *call, const Json *value, int n_dims)
{
    int64_t dim = named_int_of(call, value);
    if (dim >= -n_dims && dim < n_dims)
        return (int)(dim < 0 ? dim + n_dims : dim);
    named_fail(call, ERROR_OUT_OF_RANGE, "the tensor has no such dim");
    return 0;
}

int named_dim(NamedCall *call, const char *name, int n_dims, int fallback)
{
    const Json *value = named_attr(call, name);
    return value ? named_dim_of(call, value, n_dims) : fallback;
}

int named_dims(NamedCall *call, const char *name, int n_dims, bool *marked)
{
    const Json *value = named_attr(call, name);
    int n = json_is_array(value) ? json_size(value) : 1;
    for (int i = 0; i < n; i++) {
        int d = named_dim_of(call, json_is_array(value) ? json_at(value, i) : value, n_dims);
        if (call->failed)
            return 0;
        if (marked[d])
            named_fail(call, ERROR_DUPLICATE, "a dim is listed twice");
        marked[d] = true;
    }
    return n;
}

bool named_list(NamedCall *call, const char *name, Shape *out)
{
    const Json *value = named_attr(call, name);
    *out = (Shape){.n_dims = json_is_array(value) ? json_size(value) : 1};
    if (!value)
        named_fail(call, ERROR_INVALID, "the attributes lack a list of sizes");
    else if (out->n_dims > DIMS_MAX)
        named_fail(call, ERROR_RANK, "a list of sizes is too long");
    for (int d = 0; !call->failed && d < out->n_dims; d++)
        out->dim[d] = named_int_of(call, json_is_array(value) ? json_at(value, d) : value);
    return !call->failed;
}

int64_t named_times(NamedCall *call, int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    named_fail(call, ERROR_INVALID, "a size does not fit 64 bits");
    return 0;
}
