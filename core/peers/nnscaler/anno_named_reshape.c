#include "core/peers/nnscaler/anno_named_call.h"

#include <inttypes.h>

static bool complete_target(const Shape *from, const Shape *target, Shape *to, Error *err)
{
    int64_t elements = 1, known = 1;
    int free_dim = -1;
    for (int d = 0; d < from->n_dims; d++)
        if (from->dim[d] == 0 || __builtin_mul_overflow(elements, from->dim[d], &elements))
            return error_set(err, "the reshape of an empty tensor has no annotation");
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
        return error_set(err, "a reshape must keep the number of elements, %" PRId64, elements);
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
} NamedSide;

static void skip_ones(NamedSide *side)
{
    for (; side->at < side->end && side->dim[side->at] == 1; side->at++)
        add_number(1, side->out);
}

/* The first dims share a letter if one divides the other; all others are sizes. */
static void group_annos(NamedSide *from, NamedSide *to, char *letter)
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
        NamedSide source = {from->dim, i, i, &in}, target = {to->dim, j, j, &out};
        int64_t p = i < n_in ? from->dim[i++] : 1, q = j < n_out ? to->dim[j++] : 1;
        while (p != q && (i < n_in || j < n_out)) {
            if (i < n_in && (p < q || j == n_out))
                p *= from->dim[i++];
            else
                q *= to->dim[j++];
        }
        if (i == n_in || j == n_out) { /* the remaining dims are 1 */
            i = n_in;
            j = n_out;
        }
        source.end = i;
        target.end = j;
        group_annos(&source, &target, &letter);
    }
    return arena_printf(arena, "%s -> %s", in.n > 0 ? in.s : "()", out.n > 0 ? out.s : "()");
}

/* The target is `shape` or `size`. */
const char *named_reshape(NamedCall *call)
{
    Shape target, to;
    if (!named_list(call, named_attr(call, "shape") ? "shape" : "size", &target) ||
        !complete_target(named_shape(call, 0), &target, &to, call->err)) {
        call->failed = true;
        return NULL;
    }
    return reshape_anno(call->arena, named_shape(call, 0), &to);
}
