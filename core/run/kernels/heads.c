#include "core/run/kernels/heads.h"

/* Splits the packed dim into heads of equal local size. */
static bool split_packed(const KernelCall *call, int64_t n_heads, HeldHeads *out, Error *err)
{
    int64_t size = out->local->whole.dim[2];
    if (n_heads < 1 || size % n_heads != 0)
        return error_kind(err, ERROR_RUN, "an operand does not hold whole heads");
    int64_t each = size / n_heads, n = out->local->shape.dim[2];
    const int64_t *global = kernel_globals(call->scratch, &out->local->runs[2]);
    while (out->d < n && global[out->d] / each == global[0] / each)
        out->d++;
    out->h = out->d > 0 ? n / out->d : 0;
    int64_t *head = arena_array(call->scratch, int64_t, out->h);
    for (int64_t i = 0; i < out->h; i++) {
        head[i] = global[i * out->d] / each;
        if (global[(i + 1) * out->d - 1] / each != head[i])
            return error_kind(err, ERROR_RUN, "parts of heads differ in size");
    }
    out->head = head;
    return true;
}

bool held_heads(const KernelCall *call, const Local *local, int64_t n_heads, HeldHeads *out,
                Error *err)
{
    *out = (HeldHeads){.local = local};
    if (!local)
        return true;
    const Shape *shape = &local->shape;
    if (!kernel_computes(local, err))
        return false;
    if (shape->n_dims != 3 && shape->n_dims != 4)
        return error_kind(err, ERROR_RUN, "an operand has no dims for heads");
    out->packed = shape->n_dims == 3;
    out->b = shape->dim[0];
    out->s = shape->dim[out->packed ? 1 : 2];
    if (out->packed)
        return split_packed(call, n_heads, out, err);
    out->h = shape->dim[1];
    out->d = shape->dim[3];
    out->head = kernel_globals(call->scratch, &local->runs[1]);
    return true;
}

int64_t held_heads_find(const HeldHeads *heads, int64_t global)
{
    for (int64_t i = 0; i < heads->h; i++)
        if (heads->head[i] == global)
            return i;
    return -1;
}

/* The first element of position `s`. */
static int64_t place_of(const HeldHeads *heads, int64_t batch, int64_t head, int64_t s)
{
    if (heads->packed)
        return ((batch * heads->s + s) * heads->h + head) * heads->d;
    return ((batch * heads->h + head) * heads->s + s) * heads->d;
}

void held_heads_load(const HeldHeads *heads, int64_t batch, int64_t head, Number number, void *out)
{
    int64_t rows = heads->packed ? heads->s : 1, n = heads->packed ? heads->d : heads->s * heads->d;
    for (int64_t s = 0; s < rows && n > 0; s++)
        local_load(heads->local, place_of(heads, batch, head, s), 1, n, number,
                   (char *)out + s * n * number_bytes(number));
}

void held_heads_load_row(const HeldHeads *heads, int64_t batch, int64_t head, int64_t s,
                         Number number, void *out)
{
    local_load(heads->local, place_of(heads, batch, head, s), 1, heads->d, number, out);
}

void held_heads_store(const HeldHeads *heads, int64_t batch, int64_t head, Number number,
                      const void *from)
{
    int64_t rows = heads->packed ? heads->s : 1, n = heads->packed ? heads->d : heads->s * heads->d;
    for (int64_t s = 0; s < rows && n > 0; s++)
        local_store(heads->local, place_of(heads, batch, head, s), n, number,
                    (const char *)from + s * n * number_bytes(number));
}

/* ---- rotary embedding ---- */

void head_turn(const Turn *turn, const double *cosine, const double *sine, double *x)
{
    for (int64_t i = 0; i < turn->half; i++) {
        double *first = &x[turn->interleaved ? 2 * i : i];
        double *second = &x[turn->interleaved ? 2 * i + 1 : turn->half + i];
        double real = cosine[i] * *first - sine[i] * *second;
        *second = sine[i] * *first + cosine[i] * *second;
        *first = real;
    }
}

void head_turn_back(const Turn *turn, const double *cosine, const double *sine, const double *x,
                    double scale, double *dy, double *d_cosine, double *d_sine)
{
    for (int64_t i = 0; i < turn->half; i++) {
        int64_t a = turn->interleaved ? 2 * i : i;
        int64_t b = turn->interleaved ? 2 * i + 1 : turn->half + i;
        if (d_cosine)
            d_cosine[i] += scale * (x[a] * dy[a] + x[b] * dy[b]);
        if (d_sine)
            d_sine[i] += scale * (x[a] * dy[b] - x[b] * dy[a]);
        double first = cosine[i] * dy[a] + sine[i] * dy[b];
        dy[b] = cosine[i] * dy[b] - sine[i] * dy[a];
        dy[a] = first;
    }
}
