/* rotary.c - RotaryEmbedding: rotates pairs of a head's numbers by the angle of their position.
 *
 * Pairs are those of heads.h. Cosines and sines are tables
 * indexed by position ids, or have the positions' layout; other numbers stay. A rank has some
 * batches, heads and positions, and whole heads. Source: the ONNX operator schema of
 * RotaryEmbedding, opset 23, and onnxruntime's.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/heads.h"
#include "core/space/gradient.h"

typedef struct {
    HeldHeads x, y;
    const Local *cosine, *sine, *ids; /* ids NULL: angles lie as the positions do */
    const int64_t *position;          /* global indices */
    Turn turn;
    double scale;
} Rotary;

static bool check_angles(const Rotary *r, Error *err)
{
    const Local *both[2] = {r->cosine, r->sine};
    for (int i = 0; i < 2; i++) {
        const Local *angles = both[i];
        int64_t n = angles->shape.n_dims;
        bool fits = kernel_computes(angles, err) && n == (r->ids ? 2 : 3) &&
                    angles->shape.dim[n - 1] == r->turn.half;
        const int64_t held[2] = {r->x.b, r->x.s};
        for (int d = 0; fits && !r->ids && d < 2; d++)
            fits = angles->whole.dim[d] == 1 || angles->shape.dim[d] == held[d];
        if (!fits)
            return error_kind(err, ERROR_RUN, "its angles have another size");
    }
    return true;
}

/* The row of a table of angles for a position; -1: the id is outside the table. */
static int64_t angle_row(const Rotary *r, const Local *angles, int64_t b, int64_t s)
{
    const Shape *shape = &angles->shape, *whole = &angles->whole;
    if (!r->ids)
        return (whole->dim[0] == 1 ? 0 : b) * shape->dim[1] + (whole->dim[1] == 1 ? 0 : s);
    bool first_only = shape_elements(&r->ids->whole) == 1 && r->ids->whole.n_dims == 1;
    int64_t id;
    local_load(r->ids, first_only ? 0 : b * r->x.s + s, 1, 1, NUMBER_I64, &id);
    id += first_only ? r->position[s] : 0;
    return id >= 0 && id < shape->dim[0] ? id : -1;
}

static bool load_angles(const Rotary *r, const Local *angles, int64_t b, int64_t s, double *out,
                        Error *err)
{
    int64_t row = angle_row(r, angles, b, s), half = r->turn.half;
    if (row < 0)
        return error_kind(err, ERROR_RUN, "a position is outside its table of angles");
    local_load(angles, row * half, 1, half, NUMBER_F64, out);
    return true;
}

static bool turn_all(const KernelCall *call, const Rotary *r, Error *err)
{
    int64_t half = r->turn.half;
    double *x = arena_array(call->scratch, double, r->x.s * r->x.d);
    double *cosine = arena_array(call->scratch, double, r->x.s *half);
    double *sine = arena_array(call->scratch, double, r->x.s *half);
    for (int64_t b = 0; b < r->x.b; b++) {
        for (int64_t s = 0; s < r->x.s; s++) {
            if (!load_angles(r, r->cosine, b, s, cosine + s * half, err) ||
                !load_angles(r, r->sine, b, s, sine + s * half, err))
                return false;
        }
        for (int64_t h = 0; h < r->x.h; h++) {
            held_heads_load(&r->x, b, h, NUMBER_F64, x);
            for (int64_t i = 0; r->scale != 1 && i < r->x.s * r->x.d; i++)
                x[i] *= r->scale;
            for (int64_t s = 0; s < r->x.s; s++)
                head_turn(&r->turn, cosine + s * half, sine + s * half, x + s * r->x.d);
            held_heads_store(&r->y, b, h, NUMBER_F64, x);
        }
    }
    return true;
}

/* row NULL: X, cosines, sines, ids; else onnxruntime's order: X, ids, cosines, sines. */
static bool open_rotary(const KernelCall *call, Rotary *r, Error *err)
{
    bool ids_first = call->kernel->row != NULL;
    if (!kernel_needs(call, ids_first ? 4 : 3, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    const Local *x = call->input[0];
    *r = (Rotary){.scale = 1};
    r->cosine = call->input[ids_first ? 2 : 1];
    r->sine = call->input[ids_first ? 3 : 2];
    r->ids = ids_first ? call->input[1] : kernel_input(call, 3);
    r->scale = ids_first ? args_float(&rule, "scale", 1) : 1;
    int64_t heads = args_int(&rule, "num_heads", 0), last = r->cosine->whole.n_dims - 1;
    int64_t half = last >= 0 ? r->cosine->whole.dim[last] : 0;
    if (heads == 0 && x->whole.n_dims == 3 && half > 0)
        heads = x->whole.dim[2] / (2 * half);
    if (!held_heads(call, x, heads, &r->x, err) ||
        !held_heads(call, call->output[0], heads, &r->y, err))
        return false;
    if (!shape_equal(&x->shape, &call->output[0]->shape) ||
        (r->ids && shape_elements(&r->ids->whole) > 1 &&
         shape_elements(&r->ids->shape) != r->x.b * r->x.s))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (r->x.h == 0)
        return true;
    int64_t given = args_int(&rule, "rotary_embedding_dim", 0);
    int64_t n_turned = given > 0 ? given : r->x.d;
    r->turn = (Turn){n_turned / 2, args_int(&rule, "interleaved", 0) != 0};
    r->position = kernel_globals(call->scratch, &x->runs[r->x.packed ? 1 : 2]);
    if (n_turned > r->x.d || n_turned % 2 != 0)
        return error_kind(err, ERROR_RUN, "its rotated numbers are not pairs");
    return check_angles(r, err);
}

static bool rotary(const KernelCall *call, Error *err)
{
    Rotary r;
    return open_rotary(call, &r, err) && (r.x.h == 0 || turn_all(call, &r, err));
}

/* ---- gradients ---- */

typedef struct {
    Rotary r; /* y: the gradient of the output */
    HeldHeads dx;
    double *cosine, *sine; /* sums of their gradients; NULL: not wanted */
} RotaryGradient;

static bool turn_all_back(const KernelCall *call, const RotaryGradient *g, Error *err)
{
    const Rotary *r = &g->r;
    int64_t half = r->turn.half, d = r->x.d;
    double *x = arena_array(call->scratch, double, r->x.s *d);
    double *dy = arena_array(call->scratch, double, r->x.s *d);
    double *angles = arena_array(call->scratch, double, 2 * half);
    for (int64_t b = 0; b < r->x.b; b++)
        for (int64_t h = 0; h < r->x.h; h++) {
            held_heads_load(&r->x, b, h, NUMBER_F64, x);
            held_heads_load(&r->y, b, h, NUMBER_F64, dy);
            for (int64_t s = 0; s < r->x.s; s++) {
                if (!load_angles(r, r->cosine, b, s, angles, err) ||
                    !load_angles(r, r->sine, b, s, angles + half, err))
                    return false;
                int64_t at = angle_row(r, r->cosine, b, s), other = angle_row(r, r->sine, b, s);
                head_turn_back(&r->turn, angles, angles + half, x + s * d, r->scale, dy + s * d,
                               g->cosine ? g->cosine + at * half : NULL,
                               g->sine ? g->sine + other * half : NULL);
            }
            for (int64_t i = 0; r->scale != 1 && i < r->x.s * d; i++)
                dy[i] *= r->scale;
            if (g->dx.local)
                held_heads_store(&g->dx, b, h, NUMBER_F64, dy);
        }
    return true;
}

static bool rotary_gradient(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    KernelCall forward;
    RotaryGradient g = {.cosine = NULL};
    if (!forward_call(call, &forward, err) || !open_rotary(&forward, &g.r, err))
        return false;
    double **sums = arena_array(call->scratch, double *, gradient->n_written);
    for (int i = 0; i < gradient->n_written; i++) {
        const Local *made = call->output[i], *of = forward.input[gradient->written[i]];
        int64_t n = shape_elements(&made->shape);
        if (gradient->written[i] == 0) {
            g.dx = g.r.x;
            g.dx.local = made;
            continue;
        }
        sums[i] = arena_array(call->scratch, double, n);
        *(of == g.r.cosine ? &g.cosine : &g.sine) = sums[i];
    }
    if (g.r.x.h > 0 && g.r.y.local->data && !turn_all_back(call, &g, err))
        return false;
    for (int i = 0; i < gradient->n_written; i++)
        if (sums[i])
            local_store(call->output[i], 0, shape_elements(&call->output[i]->shape), NUMBER_F64,
                        sums[i]);
    return true;
}

const Kernel kernels_rotary[] = {
    {"RotaryEmbedding", rotary, NULL, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::RotaryEmbedding", rotary, "ids first", 0, ROUNDING_SENSITIVE},
    {"RotaryBackward", rotary_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
