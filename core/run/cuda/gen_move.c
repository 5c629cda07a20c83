/* gen_move.c - gradients of what moves elements: views, slices, joins, Gather, weighted sums with
 * known weights.
 *
 * The forward kernel says where elements come from (PickSink), and reads no data for that.
 *
 *     picks, each place once      a copy to where the elements came from
 *     picks that repeat           a fold over the dims that repeat
 *     terms, or any other picks   a list for each element of the result of what adds up there
 *     Gather                      a block for each first of equal indices adds their rows in order
 *
 * All add in a fixed order.
 */
#include "core/run/cuda/device_build.h"

#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

enum { TERMS_MAX = 1 << 24 };

/* ---- recording ---- */

typedef struct {
    int input; /* of the gradient op */
    const Local *to;
    Picks picks;
} RecordedPicks;

typedef struct {
    int64_t place, at;
    double weight;
} PickTerm;

typedef struct {
    PickSink sink; /* first */
    Arena *arena;
    const KernelCall *call;
    KernelCall forward;
    const Gradient *gradient;
    const Local *made; /* as the forward op's input */
    Vec(RecordedPicks) moved;
    Vec(PickTerm) terms;
    int input; /* of the terms; -1: there are none */
    bool failed;
} Recorder;

/* The gradient op's input with the gradient of that output; -1: it is absent. */
static int input_of(const Recorder *r, const Local *output)
{
    for (int i = 0; i < r->gradient->n_reads; i++) {
        int place = r->gradient->reads[i].place - r->gradient->forward->n_inputs;
        if (r->gradient->reads[i].gradient && r->call->input[i] &&
            r->forward.output[place] == output)
            return i;
    }
    return -1;
}

static void record_picks(PickSink *sink, const Local *to, const Local *from, const Picks *picks)
{
    Recorder *r = (Recorder *)sink;
    int input = input_of(r, to);
    if (from == r->made && input >= 0)
        vec_push(r->arena, &r->moved, ((RecordedPicks){input, to, *picks}));
}

static void record_term(PickSink *sink, const Local *to, int64_t at, const Local *from,
                        int64_t place, double weight)
{
    Recorder *r = (Recorder *)sink;
    if (from != r->made || r->failed)
        return;
    int input = r->terms.n > 0 && to == r->forward.output[0] ? r->input : input_of(r, to);
    if (input < 0)
        return;
    r->failed = r->terms.n == TERMS_MAX || (r->terms.n > 0 && input != r->input);
    r->input = input;
    vec_push(r->arena, &r->terms, ((PickTerm){place, at, weight}));
}

/* Whether the elements that the forward kernel reads can be read here. */
static bool reads_are_known(const KernelCall *asked, const Gradient *gradient)
{
    for (int i = 0; i < gradient->n_reads; i++)
        if (!gradient->reads[i].gradient && asked->input[i] && !asked->input[i]->data)
            return false;
    return true;
}

static bool record(const KernelCall *call, Recorder *r)
{
    KernelCall asked = device_readable(call);
    Error err = {0};
    if (!reads_are_known(&asked, r->gradient) || !forward_call(&asked, &r->forward, &err))
        return false;
    r->made = r->forward.input[r->gradient->written[0]];
    r->forward.sink = &r->sink;
    r->forward.reduce_cut = true;
    return r->forward.kernel->run(&r->forward, &err) && !r->failed;
}

/* ---- lists ---- */

static const char lists_body[] =
    "typedef struct {\n"
    "    const FROM *from;\n    T *to;\n    const i64 *start, *at;\n    const double *weight;\n"
    "    i64 n;\n    double scale;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        C sum = 0;\n"
    "        for (i64 k = a.start[i]; k < a.start[i + 1]; k++)\n"
    "            sum += (C)a.weight[k] * LOAD_FROM(a.from[a.at[k]]);\n"
    "        a.to[i] = STORE(sum * (C)a.scale);\n"
    "    }\n"
    "}\n";

static bool build_lists(DeviceBuild *build, const KernelCall *call, const Recorder *r)
{
    const Local *made = call->output[0], *from = call->input[r->input];
    int64_t n = shape_elements(&made->shape), n_terms = r->terms.n;
    int64_t *start = arena_array(call->scratch, int64_t, n + 1);
    int64_t *next = arena_array(call->scratch, int64_t, n);
    int64_t *at = arena_array(call->scratch, int64_t, n_terms);
    double *weight = arena_array(call->scratch, double, n_terms);
    for (int64_t t = 0; t < n_terms; t++)
        start[r->terms.at[t].place + 1]++;
    for (int64_t i = 0; i < n; i++) {
        next[i] = start[i];
        start[i + 1] += start[i];
    }
    for (int64_t t = 0; t < n_terms; t++) {
        int64_t to = next[r->terms.at[t].place]++;
        at[to] = r->terms.at[t].at;
        weight[to] = r->terms.at[t].weight;
    }
    const char *type = dtype_name(from->dtype), *class = number_name(dtype_number(made->dtype));
    KernelText k = kernel_text(build, "add_lists_%s", dtype_name(made->dtype));
    put_types(&k, made->dtype, dtype_number(made->dtype));
    buf_printf(&k.text, "typedef t_%s FROM;\n#define LOAD_FROM(x) load_%s_%s(x)\n%s", type, type,
               class, lists_body);
    ARGS_PLACES(&k, place_input(0, r->input), place_output(0, 0),
                place_table(build, start, (n + 1) * 8), place_table(build, at, n_terms * 8),
                place_table(build, weight, n_terms * 8));
    ARGS_I64(&k, n);
    arg_f64(&k, r->gradient->scale);
    build_launch(&k, launch_over(n));
    return true;
}

/* Picks as terms of weight 1. */
static bool terms_of_picks(Recorder *r)
{
    for (int m = 0; m < r->moved.n; m++) {
        Stretch part;
        r->failed |= r->moved.at[m].input != r->moved.at[0].input;
        for (PickScan scan = picks_scan(&r->moved.at[m].picks); picks_next(&scan, &part);)
            for (int64_t i = 0; i < part.n && !r->failed; i++) {
                r->failed = r->terms.n == TERMS_MAX;
                vec_push(r->arena, &r->terms,
                         ((PickTerm){part.from + i * part.step, part.to + i, 1}));
            }
    }
    r->input = r->moved.n > 0 ? r->moved.at[0].input : -1;
    return !r->failed;
}

/* ---- folds ---- */

static bool is_even(const int64_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (from[i] == PICK_NONE || (i > 1 && from[i] - from[i - 1] != from[1] - from[0]))
            return false;
    return n > 0;
}

/* The dims whose places are all the same are summed over. False if any dim is irregular, or two
 * kept places are one. */
static bool fold_of(const KernelCall *call, const Recorder *r, DeviceFold *out)
{
    const RecordedPicks *moved = &r->moved.at[0];
    const Local *made = call->output[0], *from = call->input[moved->input];
    int64_t step = 1, start = 0, n = 1, reached = 0;
    *out = (DeviceFold){.name = "sum_back",
                        .start = "0",
                        .of = "x0",
                        .merge = "s + t",
                        .last = "s * (C)a.factor",
                        .n_operands = 1,
                        .n_dims = moved->picks.n_dims,
                        .operand = {place_input(0, moved->input)},
                        .dtype = {from->dtype},
                        .out = made->dtype,
                        .class = dtype_number(made->dtype),
                        .factor = r->gradient->scale};
    for (int d = moved->picks.n_dims - 1; d >= 0; d--) {
        int64_t size = moved->picks.size[d];
        const int64_t *places = moved->picks.from[d];
        if (!is_even(places, size))
            return false;
        int64_t apart = size > 1 ? places[1] - places[0] : 0;
        bool folded = apart == 0 && size > 1;
        if (apart < 0 || (apart > 0 && apart <= reached))
            return false;
        reached += apart * (size - 1);
        start += places[0];
        out->dim[d] = (FoldDim){size, apart, folded, {step}};
        step *= size;
        n *= folded ? 1 : size;
    }
    out->to = place_plus(place_output(0, 0), start * element_bytes(made->dtype));
    return n == shape_elements(&made->shape);
}

/* ---- move ---- */

static bool move_back(DeviceBuild *build, const KernelCall *call, const Recorder *r)
{
    const Local *made = call->output[0];
    int64_t n = 0;
    for (int m = 0; m < r->moved.n; m++)
        n += picks_count(&r->moved.at[m].picks);
    if (r->moved.n > 1 || n < shape_elements(&made->shape))
        build_zero(build, place_output(0, 0), local_bytes(made));
    for (int m = 0; m < r->moved.n; m++)
        if (!build_back(build, made->dtype, &r->moved.at[m].picks, m > 0, place_output(0, 0),
                        place_input(0, r->moved.at[m].input)))
            return false;
    return true;
}

static bool is_plain(const KernelCall *call, const Recorder *r)
{
    bool plain = r->gradient->scale == 1;
    for (int m = 0; m < r->moved.n; m++)
        plain &= call->input[r->moved.at[m].input]->dtype == call->output[0]->dtype &&
                 picks_each_once(&r->moved.at[m].picks);
    return plain;
}

static bool move(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    const Local *made = call->output[0];
    Recorder r = {.sink = {record_picks, record_term},
                  .arena = call->scratch,
                  .call = call,
                  .gradient = gradient,
                  .input = -1};
    DeviceFold fold;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && !dtype_on_device(call->input[i]->dtype))
            return false;
    if (!dtype_on_device(made->dtype) || !record(call, &r) || (r.moved.n > 0 && r.terms.n > 0))
        return false;
    if (r.terms.n > 0)
        return build_lists(build, call, &r);
    if (is_plain(call, &r))
        return move_back(build, call, &r);
    if (r.moved.n == 1 && fold_of(call, &r, &fold)) {
        build_fold(build, &fold);
        return true;
    }
    return terms_of_picks(&r) && build_lists(build, call, &r);
}

/* ---- GlobalAveragePool ---- */

/* Every pixel gets the gradient of its channel, over the number of pixels. */
static bool spread_mean(DeviceBuild *build, const KernelCall *call, const Gradient *gradient)
{
    const Local *made = call->output[0], *from = kernel_input(call, 0);
    int64_t stride[DIMS_MAX], step = 1;
    if (!from || !dtype_on_device(made->dtype) || !dtype_on_device(from->dtype) ||
        made->shape.n_dims < 2 ||
        shape_elements(&from->shape) != made->shape.dim[0] * made->shape.dim[1])
        return false;
    DeviceFold fold = {.name = "spread",
                       .start = "0",
                       .of = "x0",
                       .merge = "s + t",
                       .last = "s * (C)a.factor",
                       .n_operands = 1,
                       .n_dims = (int)made->shape.n_dims,
                       .operand = {place_input(0, 0)},
                       .dtype = {from->dtype},
                       .to = place_output(0, 0),
                       .out = made->dtype,
                       .class = dtype_number(made->dtype),
                       .factor = gradient->scale};
    row_major_strides(&made->shape, stride);
    for (int64_t d = made->shape.n_dims - 1; d >= 0; d--) {
        fold.dim[d] = (FoldDim){made->shape.dim[d], stride[d], false, {d < 2 ? step : 0}};
        step *= d < 2 ? made->shape.dim[d] : 1;
        fold.factor /= d < 2 ? 1 : (double)made->whole.dim[d];
    }
    build_fold(build, &fold);
    return true;
}

static bool move_or_spread(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    if (strcmp(gradient->of, "GlobalAveragePool") == 0)
        return spread_mean(build, call, gradient);
    if (strcmp(gradient->of, "MaxPool") == 0 || strcmp(gradient->of, "AveragePool") == 0)
        return build_pool_gradient(build, call);
    return move(build, call, row);
}

/* ---- Gather ---- */

/* A block for each index: unless an equal one comes before, it adds the rows of all that are equal,
 * in their order. Columns are what a row has on both sides of the axis. */
static const char gather_body[] =
    "typedef struct {\n"
    "    const FROM *from;\n    T *to;\n    const INDEX *index;\n    const i64 *table;\n"
    "    int *fault;\n    i64 n, n_columns, inner, rows, held;\n    double scale;\n"
    "} Args;\n"
    "DEVICE i64 row_of(const Args *a, i64 i)\n"
    "{\n"
    "    i64 row = LOAD_INDEX(a->index[i]);\n"
    "    row += row < 0 ? a->rows : 0;\n"
    "    if (row < 0 || row >= a->rows) {\n"
    "        *a->fault = FAULT_INDEX;\n"
    "        return -1;\n"
    "    }\n"
    "    return a->table ? a->table[row] : row;\n"
    "}\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED i64 rows[256];\n"
    "    SHARED int again;\n"
    "    int lane = threadIdx.x;\n"
    "    for (i64 i = blockIdx.x; i < a.n; i += gridDim.x) {\n"
    "        i64 own = row_of(&a, i);\n"
    "        __syncthreads();\n"
    "        if (lane == 0)\n"
    "            again = own < 0;\n"
    "        __syncthreads();\n"
    "        for (i64 before = lane; before < i && own >= 0; before += 256)\n"
    "            if (row_of(&a, before) == own)\n"
    "                again = 1;\n"
    "        __syncthreads();\n"
    "        if (again)\n"
    "            continue;\n"
    "        for (i64 first = 0; first < a.n_columns; first += 1024) {\n"
    "            C sum[4] = {0};\n"
    "            for (i64 part = i; part < a.n; part += 256) {\n"
    "                __syncthreads();\n"
    "                rows[lane] = part + lane < a.n ? row_of(&a, part + lane) : -1;\n"
    "                __syncthreads();\n"
    "                for (int k = 0; k < 256; k++) {\n"
    "                    if (rows[k] != own)\n"
    "                        continue;\n"
    "                    UNROLL\n"
    "                    for (int e = 0; e < 4; e++) {\n"
    "                        i64 c = first + e * 256 + lane;\n"
    "                        if (c < a.n_columns)\n"
    "                            sum[e] += LOAD_FROM(a.from[(c / a.inner * a.n + part + k) *\n"
    "                                                       a.inner + c % a.inner]);\n"
    "                    }\n"
    "                }\n"
    "            }\n"
    "            UNROLL\n"
    "            for (int e = 0; e < 4; e++) {\n"
    "                i64 c = first + e * 256 + lane;\n"
    "                if (c < a.n_columns)\n"
    "                    a.to[(c / a.inner * a.held + own) * a.inner + c % a.inner] =\n"
    "                        STORE(sum[e] * (C)a.scale);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n";

static bool gather(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    const Local *from = kernel_input(call, 0), *index = kernel_input(call, 1);
    const Local *made = call->output[0];
    KernelCall forward;
    Error err = {0};
    int64_t axis, inner = 1, n = index ? shape_elements(&index->shape) : 0;
    if (!from || !index || !dtype_on_device(from->dtype) || !dtype_on_device(made->dtype) ||
        !dtype_on_device(index->dtype) || !forward_call(call, &forward, &err) ||
        !kernel_axis(&forward, 0, made->shape.n_dims, &axis, &err) ||
        op_attr_int(kernel_graph(call), call->op, "padding_idx", -1) >= 0)
        return false;
    for (int64_t d = axis + 1; d < made->shape.n_dims; d++)
        inner *= made->shape.dim[d];
    int64_t held = made->shape.dim[axis], columns = shape_elements(&made->shape) / held;
    if (shape_elements(&from->shape) != columns * n)
        return false;
    build_zero(build, place_output(0, 0), local_bytes(made));
    if (n == 0)
        return true;
    const char *type = dtype_name(from->dtype), *class = number_name(dtype_number(made->dtype));
    const char *id = dtype_name(index->dtype);
    KernelText k = kernel_text(build, "add_rows_%s", dtype_name(made->dtype));
    put_types(&k, made->dtype, dtype_number(made->dtype));
    buf_printf(
        &k.text,
        "enum { FAULT_INDEX = %d };\ntypedef t_%s FROM;\n#define LOAD_FROM(x) load_%s_%s(x)\n"
        "typedef t_%s INDEX;\n#define LOAD_INDEX(x) load_%s_i64(x)\n%s",
        FAULT_INDEX, type, type, class, id, id, gather_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0), place_input(0, 1));
    arg_row_table(&k, made, axis);
    ARGS_PLACES(&k, place_fault());
    ARGS_I64(&k, n, columns, inner, made->whole.dim[axis], held);
    arg_f64(&k, gradient->scale);
    build_launch(&k, (LaunchSize){{n < 65535 ? n : 65535, 1, 1}, 256, 0});
    return true;
}

const DeviceOp device_ops_move[] = {
    {"move", move_or_spread, NULL},
    {"GatherGrad", gather, NULL},
    {0},
};
