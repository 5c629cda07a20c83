/* contract.c - sums over index points: Einsum, and gradients of what is linear in an operand or
 * works element by element.
 *
 *     contract   the product of the operands
 *     local      an expression of derivative.h, or a share of Max and Min
 *     activated  contract, with the gradient before the activation of a fused product
 *
 * each summed over the index dims that the output lacks, times a factor.
 *
 * The op space says which index dims each dim of an operand is the mixed radix of; a dim without
 * one has size 1. Two operands go to a matrix product, batched over the index dims of all three,
 * where each other dim is in two of them; their parts are copied into that order unless they lie so
 * (or turned). All else adds point by point, in double (integers in int64_t).
 */
#include "core/run/kernels/contract.h"

#include "core/run/kernels/activation.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/elementwise.h"
#include "core/space/gradient.h"

enum { LOCAL_READS = 4 }; /* d, a, b, c of derivative.h */

/* ---- index dims of local parts ---- */

/* The space whose rows are meant: of a gradient op its forward op's, which has a row for diagonals
 * too; its index dims go by their names. */
static const OpSpace *space_of_rows(const OpSpace *space)
{
    return space->gradient ? space->gradient->forward : space;
}

static const Operand *rows_of(const OpSpace *space, int operand)
{
    const Gradient *gradient = space->gradient;
    if (!gradient)
        return &space->operand[operand];
    int place = operand < gradient->n_reads ? gradient->reads[operand].place
                                            : gradient->written[operand - gradient->n_reads];
    return &gradient->forward->operand[place];
}

/* The length of an index dim that is a tensor dim: that of the part. */
static void take_lengths(const Operand *operand, const Local *local, Points *points)
{
    for (int64_t d = 0; local && d < local->shape.n_dims; d++)
        if (operand->factors[d].n == 1 && operand->factors[d].exact)
            points->length[operand->factors[d].index[0]] = local->shape.dim[d];
}

/* By the op's cut; without one by the parts themselves. */
static void find_lengths(const KernelCall *call, const OpSpace *space, Points *points)
{
    const OpSpace *rows = space_of_rows(space);
    points->n_index = rows->n_index;
    for (int j = 0; j < rows->n_index; j++) {
        points->length[j] = rows->index[j].size;
        int own = opspace_find_index(space, str_from(rows->index[j].name));
        if (call->cut && call->mesh && own >= 0)
            points->length[j] =
                cut_runs(call->scratch, &call->cut->index[own], call->mesh, call->position)
                    .local_size;
    }
    for (int k = 0; k < call->n_inputs && !call->cut; k++)
        take_lengths(rows_of(space, k), call->input[k], points);
    if (!call->cut)
        take_lengths(rows_of(space, space->n_inputs), call->output[0], points);
}

/* Index dims that no operand mentions are not summed over. */
static void drop_unused(const KernelCall *call, Points *points)
{
    for (int j = 0; j < points->n_index; j++) {
        bool used = false;
        for (int k = 0; k <= call->n_inputs; k++)
            used |= points->stride[k][j] != 0;
        if (!used && points->length[j] > 0)
            points->length[j] = 1;
    }
}

static bool place_dim(const DimFactors *factors, int64_t size, int64_t stride, Points *points,
                      int64_t strides[X_MAX], Error *err)
{
    if (factors->n > 0 && !factors->exact)
        return error_kind(err, ERROR_RUN, "a dim is no mixed radix of index dims");
    for (int f = factors->n - 1; f >= 0; f--) {
        int64_t length = points->length[factors->index[f]];
        strides[factors->index[f]] += stride;
        stride *= length;
        if (length > 0 && size % length != 0)
            return error_kind(err, ERROR_RUN, "operands differ in the length of an index dim");
        size = length > 0 ? size / length : 0;
    }
    return size <= 1 ||
           error_kind(err, ERROR_RUN, "a dim is longer than the index dims it is made of");
}

static bool place_operand(const Operand *operand, const Local *local, Points *points,
                          int64_t strides[X_MAX], Error *err)
{
    int64_t own[DIMS_MAX];
    row_major_strides(&local->shape, own);
    for (int64_t d = 0; d < local->shape.n_dims; d++)
        if (!place_dim(&operand->factors[d], local->shape.dim[d], own[d], points, strides, err))
            return false;
    return true;
}

bool contract_points(const KernelCall *call, Points *points, Error *err)
{
    const OpSpace *space = inferred_space(call->inferred, call->op);
    if (!space || space_of_rows(space)->no_rule)
        return error_kind(err, ERROR_RUN, "no rule says how its index dims lie in its operands");
    points->stride =
        arena_alloc(call->scratch, sizeof *points->stride * (size_t)(call->n_inputs + 1));
    find_lengths(call, space, points);
    for (int k = 0; k < call->n_inputs; k++)
        if (call->input[k] &&
            !place_operand(rows_of(space, k), call->input[k], points, points->stride[k], err))
            return false;
    if (!place_operand(rows_of(space, space->n_inputs), call->output[0], points,
                       points->stride[call->n_inputs], err))
        return false;
    drop_unused(call, points);
    return true;
}

/* ---- point by point ---- */

/* All index dims but the inner one, counted like an odometer. */
typedef struct {
    int inner, n;
    int index[X_MAX];
    int64_t at[X_MAX];
} Odometer;

static Odometer odometer_new(const Points *points)
{
    Odometer odometer = {.inner = -1};
    for (int j = 0; j < points->n_index; j++)
        if (points->stride[0][j] > 0 &&
            (odometer.inner < 0 || points->stride[0][j] < points->stride[0][odometer.inner]))
            odometer.inner = j;
    for (int j = 0; j < points->n_index; j++)
        if (j != odometer.inner && points->length[j] != 1)
            odometer.index[odometer.n++] = j;
    return odometer;
}

static bool odometer_next(Odometer *odometer, const Points *points, int64_t *place, int n_operands)
{
    for (int i = odometer->n - 1; i >= 0; i--) {
        int j = odometer->index[i];
        bool wraps = ++odometer->at[i] == points->length[j];
        for (int k = 0; k < n_operands; k++)
            place[k] += points->stride[k][j] * (wraps ? 1 - points->length[j] : 1);
        if (!wraps)
            return true;
        odometer->at[i] = 0;
    }
    return false;
}

/* What is summed. in[k]: the n elements of operand k, in rooms that live as long as the sum. */
typedef struct ContractTerm ContractTerm;
typedef void BlockFn(double *const in[], int n_in, int64_t n, const ContractTerm *term, double *to);
struct ContractTerm {
    BlockFn *block; /* NULL: the product */
    double params[2], scale;
    int self; /* of an operand that competes with the others: its number */
    double **in;
};

/* Rooms for blocks of the operands. An absent operand 2 is the first parameter, 3 the second, else
 * 0. */
static void open_rooms(const KernelCall *call, ContractTerm *term)
{
    int n = call->n_inputs > LOCAL_READS ? call->n_inputs : LOCAL_READS;
    term->in = arena_array(call->scratch, double *, n);
    for (int k = 0; k < n; k++) {
        term->in[k] = arena_array(call->scratch, double, ELEMENT_BLOCK);
        for (int i = 0; i < ELEMENT_BLOCK && (k == 2 || k == 3); i++)
            term->in[k][i] = term->params[k - 2];
    }
}

/* sums[..] += scale * the term at n neighbours along the inner index dim. */
static void add_floats(const KernelCall *call, const Points *points, int inner,
                       const int64_t *place, int64_t n, const ContractTerm *term, double *sums)
{
    double result[ELEMENT_BLOCK];
    int64_t step = inner < 0 ? 0 : points->stride[call->n_inputs][inner];
    for (int64_t i = 0; i < n; i++)
        result[i] = term->scale;
    for (int k = 0; k < call->n_inputs; k++) {
        double *to = term->block ? term->in[k] : term->in[0];
        if (call->input[k])
            local_load(call->input[k], place[k], inner < 0 ? 0 : points->stride[k][inner], n,
                       NUMBER_F64, to);
        for (int64_t i = 0; !term->block && call->input[k] && i < n; i++)
            result[i] *= to[i];
    }
    if (term->block)
        term->block(term->in, call->n_inputs, n, term, result);
    double *to = sums + place[call->n_inputs];
    for (int64_t i = 0; i < n; i++)
        to[i * step] += result[i];
}

static void add_integers(const KernelCall *call, const Points *points, int inner,
                         const int64_t *place, int64_t n, const ContractTerm *term, int64_t *sums)
{
    int64_t factor[ELEMENT_BLOCK];
    uint64_t result[ELEMENT_BLOCK];
    int64_t step = inner < 0 ? 0 : points->stride[call->n_inputs][inner];
    for (int64_t i = 0; i < n; i++)
        result[i] = (uint64_t)(int64_t)term->scale;
    for (int k = 0; k < call->n_inputs; k++) {
        if (!call->input[k])
            continue;
        local_load(call->input[k], place[k], inner < 0 ? 0 : points->stride[k][inner], n,
                   NUMBER_I64, factor);
        for (int64_t i = 0; i < n; i++)
            result[i] *= (uint64_t)factor[i];
    }
    int64_t *to = sums + place[call->n_inputs];
    for (int64_t i = 0; i < n; i++)
        to[i * step] = (int64_t)((uint64_t)to[i * step] + result[i]);
}

static void add_points(const KernelCall *call, const Points *points, ContractTerm *term)
{
    Local *out = call->output[0];
    bool is_float = dtype_is_float(out->dtype);
    int64_t n_out = shape_elements(&out->shape);
    int64_t *place = arena_array(call->scratch, int64_t, call->n_inputs + 1);
    int64_t *at = arena_array(call->scratch, int64_t, call->n_inputs + 1);
    void *sums = arena_array(call->scratch, double, n_out); /* or int64_t, of the same size */
    Odometer odometer = odometer_new(points);
    int inner = odometer.inner;
    open_rooms(call, term);
    int64_t length = inner < 0 ? 1 : points->length[inner];
    for (int j = 0; j < points->n_index; j++)
        length = points->length[j] == 0 ? 0 : length;
    do {
        for (int64_t i = 0; i < length; i += ELEMENT_BLOCK) {
            int64_t n = length - i < ELEMENT_BLOCK ? length - i : ELEMENT_BLOCK;
            for (int k = 0; k <= call->n_inputs; k++)
                at[k] = place[k] + (inner < 0 ? 0 : i * points->stride[k][inner]);
            if (is_float)
                add_floats(call, points, inner, at, n, term, sums);
            else
                add_integers(call, points, inner, at, n, term, sums);
        }
    } while (length > 0 && odometer_next(&odometer, points, place, call->n_inputs + 1));
    for (int64_t i = 0; i < n_out; i += ELEMENT_BLOCK)
        local_store(out, i, n_out - i < ELEMENT_BLOCK ? n_out - i : ELEMENT_BLOCK,
                    is_float ? NUMBER_F64 : NUMBER_I64, (double *)sums + i);
}

/* ---- as matrix products ---- */

bool contract_kinds(const Points *points, Kinds *kinds)
{
    static const int kind_of[8] = {-1, -1, -1, KIND_K, -1, KIND_M, KIND_N, KIND_BATCH};
    *kinds = (Kinds){.size = {1, 1, 1, 1}};
    for (int j = 0; j < points->n_index; j++) {
        if (points->length[j] == 1)
            continue;
        int in = (points->stride[0][j] != 0) | (points->stride[1][j] != 0) << 1 |
                 (points->stride[2][j] != 0) << 2;
        int kind = kind_of[in];
        if (kind < 0 || points->length[j] == 0)
            return false;
        kinds->index[kind][kinds->n[kind]++] = j;
        kinds->size[kind] *= points->length[j];
    }
    return kinds->size[KIND_M] * kinds->size[KIND_N] > 1 &&
           kinds->size[KIND_M] * kinds->size[KIND_N] * kinds->size[KIND_K] >= 16;
}

/* The index dims of up to three kinds one after the other. */
typedef struct {
    int n, index[X_MAX];
} Order;

static Order order_of(const Kinds *kinds, int a, int b, int c)
{
    int kind[3] = {a, b, c};
    Order order = {0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < kinds->n[kind[k]]; i++)
            order.index[order.n++] = kinds->index[kind[k]][i];
    return order;
}

static bool lies_so(const Points *points, int operand, const Order *order)
{
    int64_t stride = 1;
    for (int i = order->n - 1; i >= 0; i--) {
        if (points->stride[operand][order->index[i]] != stride)
            return false;
        stride *= points->length[order->index[i]];
    }
    return true;
}

/* Copies between an operand's order and another one; `put`: into the operand. */
static void reorder(const Points *points, int operand, const Order *order, const Local *local,
                    char *other, bool put)
{
    Points own = {.n_index = points->n_index, .stride = points->stride + operand};
    memcpy(own.length, points->length, sizeof own.length);
    Odometer odometer = {.n = order->n > 0 ? order->n - 1 : 0};
    memcpy(odometer.index, order->index, sizeof odometer.index);
    int last = order->n > 0 ? order->index[order->n - 1] : -1;
    int64_t n = last < 0 ? 1 : points->length[last], place = 0, at = 0, size;
    int64_t step = last < 0 ? 1 : points->stride[operand][last];
    size = element_bytes(local->dtype);
    do {
        if (!put)
            elements_copy(local->dtype, other + at * size, local_at(local, place), step, n);
        for (int64_t i = 0; put && i < n; i++)
            memcpy(local_at(local, place + i * step), other + (at + i) * size, (size_t)size);
        at += n;
    } while (odometer_next(&odometer, &own, &place, 1));
}

/* Elements of an operand in batch, row, column order; turned: in batch, column, row order. */
static const char *matrices(const KernelCall *call, const Points *points, const Kinds *kinds,
                            int operand, int row, int column, bool *turned)
{
    const Local *local = call->input[operand];
    Order straight = order_of(kinds, KIND_BATCH, row, column);
    Order swapped = order_of(kinds, KIND_BATCH, column, row);
    *turned = !lies_so(points, operand, &straight) && lies_so(points, operand, &swapped);
    if (*turned || lies_so(points, operand, &straight))
        return local->data;
    char *copy = arena_alloc(call->scratch, arena_array_bytes((size_t)shape_elements(&local->shape),
                                                              (size_t)element_bytes(local->dtype)));
    reorder(points, operand, &straight, local, copy, false);
    return copy;
}

static void multiply(const KernelCall *call, const Points *points, const Kinds *kinds, double scale)
{
    Local *out = call->output[0];
    Product p = {.m = kinds->size[KIND_M],
                 .n = kinds->size[KIND_N],
                 .k = kinds->size[KIND_K],
                 .scale = scale};
    const char *a = matrices(call, points, kinds, 0, KIND_M, KIND_K, &p.a_turned);
    const char *b = matrices(call, points, kinds, 1, KIND_K, KIND_N, &p.b_turned);
    Order order = order_of(kinds, KIND_BATCH, KIND_M, KIND_N);
    int64_t size = element_bytes(out->dtype), n_out = shape_elements(&out->shape);
    bool direct = lies_so(points, 2, &order);
    char *to = direct ? out->data
                      : arena_alloc(call->scratch, arena_array_bytes((size_t)n_out, (size_t)size));
    for (int64_t i = 0; i < kinds->size[KIND_BATCH]; i++)
        kernel_multiply(call, &p, out->dtype, a + i * p.m * p.k * size, b + i * p.k * p.n * size,
                        to + i * p.m * p.n * size);
    if (!direct)
        reorder(points, 2, &order, out, to, true);
}

/* ---- kernels ---- */

static bool check_operands(const KernelCall *call, Error *err)
{
    if (!call->output[0] || !kernel_computes(call->output[0], err))
        return false;
    for (int k = 0; k < call->n_inputs; k++)
        if (call->input[k] && !kernel_computes(call->input[k], err))
            return false;
    return true;
}

static bool compute(const KernelCall *call, ContractTerm *term, Error *err)
{
    Points points;
    Kinds kinds;
    if (!check_operands(call, err) || !contract_points(call, &points, err))
        return false;
    Dtype dtype = call->output[0]->dtype;
    bool pair = !term->block && call->n_inputs == 2 && call->input[0] && call->input[1] &&
                dtype_is_float(dtype) && call->input[0]->dtype == dtype &&
                call->input[1]->dtype == dtype;
    if (pair && contract_kinds(&points, &kinds))
        multiply(call, &points, &kinds, term->scale);
    else
        add_points(call, &points, term);
    return true;
}

static bool einsum(const KernelCall *call, Error *err)
{
    ContractTerm term = {.scale = 1};
    return kernel_needs(call, call->n_inputs, err) && compute(call, &term, err);
}

static bool contract(const KernelCall *call, Error *err)
{
    ContractTerm term = {.scale = program_space(call->inferred, call->op)->gradient->scale};
    return compute(call, &term, err);
}

/* Of a product with an activation: the last operand is its result, and no factor. */
static bool activated(const KernelCall *call, Error *err)
{
    KernelCall forward, products = *call;
    const Local **input = arena_array(call->scratch, const Local *, call->n_inputs);
    if (!forward_call(call, &forward, err))
        return false;
    memcpy(input, call->input, (size_t)call->n_inputs * sizeof(*input));
    input[0] = activation_gradient(&forward, forward.output[0], call, err);
    products.input = input;
    products.n_inputs--;
    return input[0] && contract(&products, err);
}

/* ---- expressions ---- */

DERIVATIVE_FUNCTIONS(static inline)

#define D(id, name, input, expression)                                                             \
    static void local_##id(double *const in[], int n_in, int64_t n, const ContractTerm *term,      \
                           double *to)                                                             \
    {                                                                                              \
        double p = term->params[0], q = term->params[1];                                           \
        (void)p, (void)q, (void)n_in;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double d = in[0][i], a = in[1][i], b = in[2][i], c = in[3][i];                         \
            (void)a, (void)b, (void)c;                                                             \
            to[i] = term->scale * (expression);                                                    \
        }                                                                                          \
    }
DERIVATIVE_ROWS(D)
#undef D

/* Max and Min: operands that are equal and larger than all others share the gradient. */
static void share(double *const in[], int n_in, int64_t n, const ContractTerm *term, double *to,
                  int sign)
{
    for (int64_t i = 0; i < n; i++) {
        double own = in[term->self][i];
        int n_equal = 1, n_before = 0;
        for (int k = 1; k < n_in; k++) {
            n_equal += k != term->self && in[k][i] == own;
            n_before += sign * in[k][i] > sign * own;
        }
        to[i] = n_before > 0 ? 0 : term->scale * in[0][i] / n_equal;
    }
}

static void share_of_most(double *const in[], int n_in, int64_t n, const ContractTerm *term,
                          double *to)
{
    share(in, n_in, n, term, to, 1);
}

static void share_of_least(double *const in[], int n_in, int64_t n, const ContractTerm *term,
                           double *to)
{
    share(in, n_in, n, term, to, -1);
}

enum { ANY_INPUT = -1 };

static BlockFn *find_local(const Gradient *gradient)
{
    static const struct {
        const char *of;
        int input;
        BlockFn *block;
    } rows[] = {{"Max", ANY_INPUT, share_of_most},
                {"Min", ANY_INPUT, share_of_least},
#define D(id, name, input, expression) {name, input, local_##id},
                DERIVATIVE_ROWS(D)
#undef D
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].of, gradient->of) == 0 &&
            (rows[i].input == gradient->input || rows[i].input == ANY_INPUT))
            return rows[i].block;
    return NULL;
}

static bool local(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    ContractTerm term = {.block = find_local(gradient), .scale = gradient->scale};
    if (!term.block)
        return error_kind(err, ERROR_RUN, "there is no expression of its derivative");
    for (int i = 0; i < gradient->n_reads; i++)
        if (!gradient->reads[i].gradient && !gradient->reads[i].absent &&
            gradient->reads[i].place == gradient->written[0])
            term.self = i;
    element_params_of(call, gradient->of, term.params);
    return compute(call, &term, err);
}

const Kernel kernels_contract[] = {
    {"Einsum", einsum, NULL, 0, ROUNDING_SUM},
    {"contract", contract, NULL, 0, ROUNDING_SUM},
    {"activated", activated, NULL, 0, ROUNDING_SUM},
    {"local", local, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
