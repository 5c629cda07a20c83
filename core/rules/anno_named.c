#include "core/rules/anno_named.h"

#include <inttypes.h>

enum { CANDIDATES_MAX = 7 };

typedef struct {
    const char *name;
    const char *anno[CANDIDATES_MAX];
} NamedAnno;

static const NamedAnno fixed[] = {
    {"neg", {"* -> *"}},
    {"sin", {"* -> *"}},
    {"cos", {"* -> *"}},
    {"tanh", {"* -> *"}},
    {"gelu", {"* -> *"}},
    {"silu", {"* -> *"}},
    {"relu", {"* -> *"}},
    {"sigmoid", {"* -> *"}},
    {"abs", {"* -> *"}},
    {"clamp", {"* -> *"}},
    {"dropout", {"* -> *"}},
    {"detach", {"* -> *"}},
    {"to", {"* -> *"}},
    {"clone", {"* -> *"}},
    {"contiguous", {"* -> *"}},
    {"ceil", {"* -> *"}},
    {"sign", {"* -> *"}},
    {"exp", {"* -> *"}},
    {"sqrt", {"* -> *"}},
    {"rsqrt", {"* -> *"}},
    {"log", {"* -> *"}},
    {"erf", {"* -> *"}},
    {"identity", {"* -> *"}},
    {"zeros_like", {"* -> *"}},
    {"ones_like", {"* -> *"}},
    {"full_like", {"* -> *"}},
    {"multiref", {"* -> *, *"}},
    {"linear", {"* k+, n k+ -> * n", "* k^, n k^, n -> * n"}},
    {"matmul",
     {"k+, k+ -> 1", "m k+, k+ n -> m n", "k+, k+ n -> n", "m k+, k+ -> m", "* m k+, k+ n -> * m n",
      "m k+, * k+ n -> * m n", "* m k+, * k+ n -> * m n"}},
    {"dot", {"k+, k+ -> 1"}},
    {"outer", {"n, m -> n m"}},
    {"bmm", {"b m k+, b k+ n -> b m n"}},
    {"embedding", {"*, n+ e -> * e"}},
    {"view_as_complex", {"2 -> 1", "* 2 -> *"}},
    {"view_as_real", {"* -> * 2"}},
};

static const char *const broadcasting[] = {"add", "sub", "mul",   "div",        "floor_div",  "pow",
                                           "eq",  "ne",  "gt",    "lt",         "ge",         "le",
                                           "max", "min", "where", "bitwise_or", "masked_fill"};

bool anno_named_is_reshape(Str op)
{
    return str_eq(op, STR("reshape")) || str_eq(op, STR("view"));
}

/* ---- element-wise ops with broadcasting ---- */

static bool is_broadcasting(Str op, const AnnoInput *inputs, int n_inputs)
{
    for (int i = 0; i < n_inputs; i++)
        if (inputs[i].is_tensor && inputs[i].shape.n_dims == 0)
            return false;
    for (size_t i = 0; i < sizeof broadcasting / sizeof *broadcasting; i++)
        if (str_eq(op, str_from(broadcasting[i])))
            return n_inputs > 1;
    return false;
}

/* Letters count from the left of the result: dim d of `n_dims`, as an input of this size has it. */
static void add_letter(int d, int64_t size, int64_t result_size, Buf *out)
{
    buf_puts(out, out->n > 0 && out->s[out->n - 1] != ' ' ? " " : "");
    if (size == 1 && result_size != 1)
        buf_putc(out, '1');
    else
        buf_putc(out, (char)('a' + d));
}

/* (2,1,4) + (3,1): "a 1 c, b 1 -> a b c". Dims align at the right. */
static const char *broadcast_anno(Arena *arena, const AnnoInput *inputs, int n_inputs)
{
    Shape result = {0};
    for (int i = 0; i < n_inputs; i++)
        if (inputs[i].is_tensor && inputs[i].shape.n_dims > result.n_dims)
            result.n_dims = inputs[i].shape.n_dims;
    for (int i = 0; i < n_inputs; i++) {
        const Shape *shape = &inputs[i].shape;
        int64_t lead = result.n_dims - shape->n_dims;
        for (int64_t d = 0; inputs[i].is_tensor && d < shape->n_dims; d++)
            if (result.dim[lead + d] < 2)
                result.dim[lead + d] = shape->dim[d];
    }

    Buf text = buf_new(arena);
    for (int i = 0; i < n_inputs; i++) {
        const Shape *shape = &inputs[i].shape;
        int lead = (int)(result.n_dims - shape->n_dims);
        buf_puts(&text, i > 0 ? ", " : "");
        if (!inputs[i].is_tensor)
            buf_putc(&text, '?');
        for (int d = 0; inputs[i].is_tensor && d < shape->n_dims; d++)
            add_letter(lead + d, shape->dim[d], result.dim[lead + d], &text);
    }
    buf_puts(&text, " -> ");
    for (int d = 0; d < result.n_dims; d++)
        add_letter(d, result.dim[d], result.dim[d], &text);
    return text.s;
}

/* ---- reshape ---- */

static bool complete_target(const Shape *from, const Shape *target, Shape *to, Error *err)
{
    int64_t elements = 1, known = 1;
    int free_dim = -1;
    for (int d = 0; d < from->n_dims; d++)
        if (from->dim[d] == 0 || __builtin_mul_overflow(elements, from->dim[d], &elements))
            return error_set(err, "an empty tensor has no annotation of its reshape");
    *to = *target;
    for (int d = 0; d < to->n_dims; d++) {
        if (to->dim[d] == -1 && free_dim < 0)
            free_dim = d;
        else if (to->dim[d] < 0 || __builtin_mul_overflow(known, to->dim[d], &known))
            return error_set(err, "a reshape cannot have size %" PRId64, to->dim[d]);
    }
    if (free_dim >= 0 && known > 0)
        to->dim[free_dim] = elements / known;
    if (free_dim >= 0 ? known == 0 || elements % known != 0 : elements != known)
        return error_set(err, "a reshape keeps the number of elements, %" PRId64, elements);
    return true;
}

static void add_number(int64_t size, Buf *out)
{
    buf_puts(out, out->n > 0 ? " " : "");
    buf_printf(out, "%" PRId64, size);
}

static void add_member(char letter, int64_t rest, Buf *out)
{
    buf_puts(out, out->n > 0 ? " " : "");
    if (rest == 1)
        buf_putc(out, letter);
    else
        buf_printf(out, "(%c %" PRId64 ")", letter, rest);
}

/* Dims [at, end) of a reshape on one side, whose products are equal on both. */
typedef struct {
    const int64_t *dim;
    int at, end;
    Buf *out;
} Side;

static void skip_ones(Side *side)
{
    for (; side->at < side->end && side->dim[side->at] == 1; side->at++)
        add_number(1, side->out);
}

/* The first dims share a letter when one divides the other; all others are numbers. */
static void group_annos(Side *from, Side *to, char *letter)
{
    skip_ones(from);
    skip_ones(to);
    if (from->at < from->end && to->at < to->end) {
        int64_t i = from->dim[from->at], o = to->dim[to->at];
        if (i > 0 && o > 0 && (i % o == 0 || o % i == 0)) {
            add_member(*letter, i > o ? i / o : 1, from->out);
            add_member((*letter)++, o > i ? o / i : 1, to->out);
            from->at++;
            to->at++;
        }
    }
    for (; from->at < from->end; from->at++)
        add_number(from->dim[from->at], from->out);
    for (; to->at < to->end; to->at++)
        add_number(to->dim[to->at], to->out);
}

static const char *reshape_anno(Arena *arena, const Shape *from, const Shape *to)
{
    Buf in = buf_new(arena), out = buf_new(arena);
    int i = 0, j = 0, n_in = (int)from->n_dims, n_out = (int)to->n_dims;
    char letter = 'a';
    while (i < n_in || j < n_out) {
        Side source = {from->dim, i, i, &in}, target = {to->dim, j, j, &out};
        int64_t p = i < n_in ? from->dim[i++] : 1, q = j < n_out ? to->dim[j++] : 1;
        while (p != q && (i < n_in || j < n_out)) {
            if (i < n_in && (p < q || j == n_out))
                p *= from->dim[i++];
            else
                q *= to->dim[j++];
        }
        if (i == n_in || j == n_out) { /* what is left are ones */
            i = n_in;
            j = n_out;
        }
        source.end = i;
        target.end = j;
        group_annos(&source, &target, &letter);
    }
    return arena_printf(arena, "%s -> %s", in.n > 0 ? in.s : "()", out.n > 0 ? out.s : "()");
}

/* ---- by name ---- */

static int one_candidate(Arena *arena, const char *anno, const char *const **out)
{
    const char **list = arena_array(arena, const char *, 1);
    list[0] = anno;
    *out = list;
    return 1;
}

int anno_named(Arena *arena, Str op, const AnnoInput *inputs, int n_inputs, const Shape *target,
               const char *const **out, Error *err)
{
    if (anno_named_is_reshape(op) && target && n_inputs == 1 && inputs[0].is_tensor) {
        Shape to;
        if (!complete_target(&inputs[0].shape, target, &to, err))
            return -1;
        return one_candidate(arena, reshape_anno(arena, &inputs[0].shape, &to), out);
    }
    if (is_broadcasting(op, inputs, n_inputs))
        return one_candidate(arena, broadcast_anno(arena, inputs, n_inputs), out);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (str_eq(op, str_from(fixed[i].name))) {
            *out = fixed[i].anno;
            int n = 0;
            while (n < CANDIDATES_MAX && fixed[i].anno[n])
                n++;
            return n;
        }
    error_kind(err, ERROR_UNKNOWN_OP, "no annotation is known for the operator '%.*s'",
               STR_ARG(op));
    return -1;
}
