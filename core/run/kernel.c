#include "core/run/kernel.h"

#include "core/cost/op_part.h"

#include <inttypes.h>

const Kernel *const kernel_families[] = {kernels_elementwise,
                                         kernels_matmul,
                                         kernels_move,
                                         kernels_gather,
                                         kernels_reduce,
                                         kernels_norm,
                                         kernels_norm_gradient,
                                         kernels_embed,
                                         kernels_along,
                                         kernels_make,
                                         kernels_contract,
                                         kernels_cross_entropy,
                                         kernels_derivative,
                                         kernels_conv,
                                         kernels_pool,
                                         kernels_image,
                                         kernels_resample,
                                         kernels_quantize,
                                         kernels_scatter,
                                         kernels_cast,
                                         kernels_recurrent,
                                         kernels_attention,
                                         kernels_nbits,
                                         kernels_fused,
                                         kernels_deform,
                                         kernels_back,
                                         kernels_regions,
                                         kernels_sample,
                                         kernels_integer,
                                         kernels_signal,
                                         kernels_stateful,
                                         kernels_rotary,
                                         kernels_decide,
                                         kernels_boxes,
                                         kernels_loss,
                                         kernels_optimizer,
                                         kernels_random,
                                         kernels_matrix,
                                         kernels_ngrams,
                                         kernels_control,
                                         kernels_sequence,
                                         kernels_hlo_place,
                                         kernels_hlo_window,
                                         kernels_hlo_index,
                                         kernels_hlo_region,
                                         kernels_classical,
                                         NULL};

static const Kernel *find(const char *name)
{
    for (const Kernel *const *family = kernel_families; *family; family++)
        for (const Kernel *kernel = *family; kernel->name; kernel++)
            if (strcmp(kernel->name, name) == 0)
                return kernel;
    return NULL;
}

/* Finds the kernel named after an operator, or the kernel of that name. */
static const Kernel *find_named(const char *name)
{
    const Operator *row = operator_find(name);
    return !row ? find(name) : row->kernel ? find(row->kernel) : NULL;
}

const Kernel *kernel_find(const OpSpace *space, const char *op_type)
{
    if (space && space->own)
        return space->own;
    if (space && space->kernel && space->kernel[0] == '\0')
        return NULL;
    const Kernel *named = space && space->kernel ? find_named(space->kernel) : NULL;
    return named ? named : find_named(op_type);
}

bool kernel_is_built_in(const Kernel *kernel)
{
    return find(kernel->name) == kernel;
}

bool kernel_reads_value(const Kernel *kernel, int input)
{
    return kernel->first_value > 0 && input >= kernel->first_value;
}

void kernel_blame(const Graph *graph, int32_t op, const Error *inner, Error *err)
{
    error_kind(err, inner->kind, "op '%s' (%s): %s", op_name(graph, op), op_operator(graph, op),
               inner->text);
    if (inner->hint[0])
        error_hint(err, "%s", inner->hint);
}

bool kernel_knows(const Inferred *inferred, int32_t op, const Kernel *kernel, int input)
{
    int32_t tensor = op_inputs(inferred->graph, op)[input];
    return kernel_reads_value(kernel, input) && tensor_is_known(inferred, tensor);
}

/* An output of unknown size is not made here: a kernel with data-dependent sizes makes it. */
static bool make_outputs(const KernelCall *call, Local **output, Error *err)
{
    const Inferred *inferred = call->inferred;
    bool late = kernel_is_dynamic(inferred, call->op, call->kernel);
    Shape *given = arena_array(call->scratch, Shape, call->n_outputs);
    Dtype *dtype = arena_array(call->scratch, Dtype, call->n_outputs);
    if (!kernel_begin(call, late, given, dtype, err))
        return false;
    for (int i = 0; i < call->n_outputs; i++) {
        int32_t tensor = op_outputs(inferred->graph, call->op)[i];
        const Shape *shape = tensor < 0 ? NULL : inferred_tensor_shape(inferred, tensor);
        if (shape)
            output[i] = local_new_whole((Dtype)inferred->dtype[tensor], shape);
        else if (tensor >= 0 && call->kernel->first_value >= 0)
            output[i] = local_new_whole(dtype[i], &given[i]);
    }
    return true;
}

bool kernel_run_whole(const Inferred *inferred, int32_t op, const Kernel *kernel,
                      pthread_mutex_t *blas, uint64_t seed, int64_t iteration, Local **value,
                      Error *err)
{
    return kernel_run_changed(inferred, op, kernel, blas, seed, iteration, NULL, 0, value, err);
}

bool kernel_run_changed(const Inferred *inferred, int32_t op, const Kernel *kernel,
                        pthread_mutex_t *blas, uint64_t seed, int64_t iteration,
                        NumberChange *inner, uint64_t key, Local **value, Error *err)
{
    const GraphOp *at = &inferred->graph->ops[op];
    bool again = inferred->graph->phase && inferred->graph->phase[op] == PHASE_AGAIN;
    KernelCall call = {.kernel = kernel, .inferred = inferred, .op = op};
    if (again) /* it has to make what the op made that it is a copy of */
        call.op = inferred->graph->of[op];
    call.n_inputs = at->n_inputs;
    call.n_outputs = at->n_outputs;
    call.first = true;
    call.blas = blas;
    call.seed = seed;
    call.iteration = iteration;
    call.inner = inner;
    call.inner_key = key;
    call.scratch = arena_new();
    const Local **input = arena_array(call.scratch, const Local *, at->n_inputs);
    Local **output = arena_array(call.scratch, Local *, at->n_outputs);
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t tensor = op_inputs(inferred->graph, op)[i];
        input[i] = tensor < 0 || kernel_knows(inferred, op, kernel, i) ? NULL : value[tensor];
    }
    call.input = input;
    call.output = output;
    call.made = arena_array(call.scratch, Local *, at->n_outputs);
    Error said = {.kind = ERROR_RUN};
    bool ok = make_outputs(&call, output, &said) && kernel->run(&call, &said);
    for (int i = 0; i < at->n_outputs; i++)
        if (op_outputs(inferred->graph, op)[i] >= 0)
            value[op_outputs(inferred->graph, op)[i]] = output[i] ? output[i] : call.made[i];
    arena_free(call.scratch);
    if (!ok)
        kernel_blame(inferred->graph, op, &said, err);
    return ok;
}

bool kernel_kwargs(const KernelCall *call, Kwargs *out, Error *err)
{
    const OpSpace *space = program_space(call->inferred, call->op);
    IndexPiece piece[X_MAX];
    *out = kwargs_of_op(call->scratch, call->inferred, call->op);
    return op_pieces(space, call->cut, call->mesh, out, call->position, piece, err) &&
           kwargs_of_piece(call->scratch, space, piece, out, err);
}

const Value *kernel_value(const KernelCall *call, int input)
{
    if (input >= call->n_inputs)
        return NULL;
    int32_t tensor = op_inputs(kernel_graph(call), call->op)[input];
    return tensor < 0 ? NULL : inferred_read_value(call->inferred, tensor);
}

/* Integers computed at run time, if this rank holds all of them. */
static bool held_ints(const KernelCall *call, const Local *local, const int64_t **out, int64_t *n,
                      Error *err)
{
    *n = shape_elements(&local->whole);
    if (shape_elements(&local->shape) != *n || !dtype_is_computed(local->dtype) ||
        dtype_is_float(local->dtype))
        return error_kind(err, ERROR_RUN,
                          "an input is not a list of integers that this rank holds");
    int64_t *ints = arena_array(call->scratch, int64_t, *n);
    local_load(local, 0, 1, *n, NUMBER_I64, ints);
    *out = ints;
    return true;
}

bool kernel_ints(const KernelCall *call, int input, const int64_t **out, int64_t *n, Error *err)
{
    *n = -1;
    if (input >= call->n_inputs || op_inputs(kernel_graph(call), call->op)[input] < 0)
        return true;
    const Value *value = kernel_value(call, input);
    if (!value && call->input[input] && call->input[input]->data)
        return held_ints(call, call->input[input], out, n, err);
    if (!value || value_is_deferred(value) || value->floats)
        return error_kind(err, ERROR_RUN, "input %d must be known before the run", input);
    *n = shape_elements(&value->shape);
    int64_t *ints = arena_array(call->scratch, int64_t, *n);
    for (int64_t i = 0; i < *n; i++)
        if (!value_int_at(value, i, &ints[i]))
            return error_kind(err, ERROR_RUN, "input %d is not a list of integers", input);
    *out = ints;
    return true;
}

bool kernel_ints_of(const KernelCall *call, const char *attr, int input, const int64_t **out,
                    int64_t *n, Error *err)
{
    const Attr *found = op_attr(kernel_graph(call), call->op, attr);
    if (!found || found->type != ATTR_INTS)
        return kernel_ints(call, input, out, n, err);
    *out = found->ints;
    *n = found->n;
    return true;
}

bool kernel_axis(const KernelCall *call, int64_t fallback, int64_t rank, int64_t *axis, Error *err)
{
    int64_t given = op_attr_int(kernel_graph(call), call->op, "axis", fallback);
    *axis = given < 0 ? given + rank : given;
    if (*axis < 0 || *axis >= rank)
        return error_kind(err, ERROR_RUN, "axis %" PRId64 " is outside %" PRId64 " dims", given,
                          rank);
    return true;
}

/* Zeros of the input's type and shape in its place. */
static Local *zeros_like(const Local *input)
{
    Local *zeros = local_copy(input);
    if (zeros)
        memset(zeros->data, 0, (size_t)local_bytes(zeros));
    return zeros;
}

bool kernel_run_part(const KernelCall *call, Error *err)
{
    const OpSpace *space = program_space(call->inferred, call->op);
    if (call->first || !call->reduce_cut || call->kernel != space->own)
        return call->kernel->run(call, err);
    KernelCall own = *call;
    const Local **input = arena_array(call->scratch, const Local *, call->n_inputs);
    Local **zeros = arena_array(call->scratch, Local *, call->n_inputs);
    bool ok = true;
    for (int i = 0; i < call->n_inputs; i++) {
        input[i] = call->input[i];
        if (!input[i] || i >= space->n_inputs || !space->operand[i].once)
            continue;
        input[i] = zeros[i] = zeros_like(call->input[i]);
        ok = ok && zeros[i];
    }
    own.input = input;
    ok = ok ? call->kernel->run(&own, err) : error_kind(err, ERROR_RUN, "out of memory");
    for (int i = 0; i < call->n_inputs; i++)
        local_free(zeros[i]);
    return ok;
}

bool kernel_needs(const KernelCall *call, int n_inputs, Error *err)
{
    for (int i = 0; i < n_inputs; i++)
        if (i >= call->n_inputs || !call->input[i])
            return error_kind(err, ERROR_RUN, "input %d is absent", i);
    if (call->n_outputs < 1 || (!call->output[0] && call->kernel->first_value >= 0))
        return error_kind(err, ERROR_RUN, "output 0 is absent");
    return true;
}

bool kernel_computes(const Local *local, Error *err)
{
    if (!dtype_is_computed(local->dtype))
        return error_kind(err, ERROR_RUN, "no kernel computes on elements of type %s",
                          dtype_name(local->dtype));
    return true;
}

bool kernel_numeric(const KernelCall *call, int n_inputs, Error *err)
{
    if (!kernel_needs(call, n_inputs, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && !kernel_computes(call->input[i], err))
            return false;
    return !call->output[0] || kernel_computes(call->output[0], err);
}

bool kernel_whole(const Local *local, int64_t first, int64_t end, Error *err)
{
    for (int64_t d = first; d < end; d++)
        if (local->shape.dim[d] != local->whole.dim[d])
            return error_kind(err, ERROR_RUN, "dim %d is sharded", (int)d);
    return true;
}

bool kernel_rows(const Local *local, int64_t axis, DimRows *out, Error *err)
{
    *out = (DimRows){local->shape.dim[axis], 1, 1};
    for (int64_t d = 0; d < local->shape.n_dims; d++) {
        out->n_rows *= d == axis ? 1 : local->shape.dim[d];
        out->step *= d > axis ? local->shape.dim[d] : 1;
    }
    return kernel_whole(local, axis, axis + 1, err);
}

bool kernel_same_shape(const KernelCall *call, Error *err)
{
    return shape_equal(&call->input[0]->shape, &call->output[0]->shape) ||
           error_kind(err, ERROR_RUN, "input and output differ in shape");
}

bool kernel_broadcast(const Local *in, const Local *out, int64_t stride[DIMS_MAX], Error *err)
{
    int64_t own[DIMS_MAX], skip = out->shape.n_dims - in->shape.n_dims;
    if (skip < 0)
        return error_kind(err, ERROR_RUN, "an input has more dims than the output");
    row_major_strides(&in->shape, own);
    for (int64_t d = 0; d < out->shape.n_dims; d++) {
        int64_t e = d - skip;
        bool repeats = e < 0 || (in->whole.dim[e] == 1 && out->whole.dim[d] != 1);
        if (!repeats && in->shape.dim[e] != out->shape.dim[d])
            return error_kind(err, ERROR_RUN,
                              "dim %d of an input and the output's differ in length", (int)e);
        stride[d] = repeats ? 0 : own[e];
    }
    return true;
}

bool kernel_scalar(const Local *local, int64_t *out, Error *err)
{
    if (local->sequence || local->nothing)
        return error_kind(err, ERROR_RUN, "an input is not a tensor");
    if (!kernel_computes(local, err))
        return false;
    if (shape_elements(&local->shape) != 1)
        return error_kind(err, ERROR_RUN, "an input is not a scalar");
    local_load(local, 0, 1, 1, NUMBER_I64, out);
    return true;
}

bool kernel_decide(const KernelCall *call, int output, const Shape *whole, Local **out, Error *err)
{
    const Graph *graph = kernel_graph(call);
    int32_t tensor = output < call->n_outputs ? op_outputs(graph, call->op)[output] : -1;
    *out = NULL;
    if (tensor < 0)
        return true;
    *out = call->output[output];
    if (!*out && call->made)
        *out = call->made[output] = local_new_whole((Dtype)call->inferred->dtype[tensor], whole);
    const Shape *bound = *out ? &(*out)->whole : whole;
    if (shape_equal(bound, whole))
        return true;
    for (int64_t d = 0; d < whole->n_dims && d < bound->n_dims; d++) {
        if (whole->dim[d] == bound->dim[d])
            continue;
        error_kind(err, ERROR_RUN, "dim %d of output %d is %" PRId64 ", but was bound to %" PRId64,
                   (int)d, output, whole->dim[d], bound->dim[d]);
        error_hint(err, "what the op reads differs in rounding from a run on one device: bind the "
                        "size found here, with --dim");
        return false;
    }
    return error_kind(err, ERROR_RUN, "output %d has another number of dims", output);
}

int64_t kernel_pick(const KernelCall *call, Local *to, const Local *from, const Picks *picks)
{
    if (!call->sink)
        return local_pick(to, from, picks);
    call->sink->pick(call->sink, to, from, picks);
    return picks_count(picks);
}

bool kernel_takes_terms(const KernelCall *call, Error *err)
{
    return !call->sink || call->sink->term || error_kind(err, ERROR_RUN, "it computes elements");
}

bool kernel_number(const KernelCall *call, int input, int64_t *out, Error *err)
{
    if (input >= call->n_inputs || !call->input[input])
        return error_kind(err, ERROR_RUN, "input %d is absent", input);
    return kernel_scalar(call->input[input], out, err);
}

/* "f32 2,3" or "a sequence", for messages. */
static const char *text_of(const KernelCall *call, const Local *local)
{
    Buf text = buf_new(call->scratch);
    if (local->sequence || local->nothing)
        return local->nothing ? "an empty optional" : "a sequence";
    buf_printf(&text, "%s ", dtype_name(local->dtype));
    shape_format(&local->whole, &text);
    return text.s;
}

bool kernel_copy_output(const KernelCall *call, const Local *value, Error *err)
{
    Local *out = call->output[0];
    if (!value)
        return error_kind(err, ERROR_RUN, "its value is missing");
    if (!out && call->made) {
        call->made[0] = local_copy(value);
        return call->made[0] || error_kind(err, ERROR_RUN, "out of memory");
    }
    if (!out)
        return true;
    if (!local_same_type(out, value) || !shape_equal(&out->shape, &value->shape))
        return error_kind(err, ERROR_RUN, "its value is %s, in the model it is %s",
                          text_of(call, value), text_of(call, out));
    memcpy(out->data, value->data, (size_t)local_bytes(out));
    return true;
}

/* ---- the call as its rule sees it ---- */

enum { LIST_MAX = 2 * DIMS_MAX, OPSET_LATEST = 28 };

/* A short unsharded list as a Value. */
static const Value *list_of(Arena *arena, const Local *local)
{
    int64_t n = shape_elements(&local->whole);
    if (local->whole.n_dims > 1 || n > LIST_MAX || shape_elements(&local->shape) != n ||
        !dtype_is_computed(local->dtype))
        return NULL;
    Value *value = arena_make(arena, Value);
    *value = (Value){.dtype = local->dtype, .shape = local->whole};
    if (dtype_is_float(local->dtype)) {
        double *list = arena_array(arena, double, LIST_MAX);
        local_load(local, 0, 1, n, NUMBER_F64, list);
        value->floats = list;
    } else {
        int64_t *list = arena_array(arena, int64_t, LIST_MAX);
        local_load(local, 0, 1, n, NUMBER_I64, list);
        value->ints = list;
    }
    return value;
}

RuleCall kernel_rule_call(const KernelCall *call)
{
    const Graph *graph = kernel_graph(call);
    const Shape **shape = arena_array(call->scratch, const Shape *, call->n_inputs);
    Dtype *dtype = arena_array(call->scratch, Dtype, call->n_inputs);
    const Value **value = arena_array(call->scratch, const Value *, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++) {
        int32_t tensor = op_inputs(graph, call->op)[i];
        if (tensor < 0)
            continue;
        const Local *held = call->input[i];
        shape[i] = held ? &held->whole : inferred_shape(call->inferred, tensor);
        dtype[i] = held ? held->dtype : (Dtype)call->inferred->dtype[tensor];
        value[i] = kernel_value(call, i);
        if (!value[i] && call->input[i] && call->input[i]->data)
            value[i] = list_of(call->scratch, call->input[i]);
    }
    return (RuleCall){.arena = call->scratch,
                      .graph = graph,
                      .op = call->op,
                      .n_inputs = call->n_inputs,
                      .n_outputs = call->n_outputs,
                      .shape = shape,
                      .dtype = dtype,
                      .value = value,
                      .opset = graph->opset > 0 ? graph->opset : OPSET_LATEST,
                      .out_shape = arena_array(call->scratch, Shape, call->n_outputs),
                      .out_dtype = arena_array(call->scratch, Dtype, call->n_outputs)};
}

int64_t *kernel_globals(Arena *arena, const Runs *runs)
{
    int64_t *out = arena_array(arena, int64_t, runs->local_size), n = 0;
    for (int r = 0; r < runs->n; r++)
        for (int64_t k = 0; k < runs->at[r].length; k++)
            out[n++] = runs->at[r].start + k;
    return out;
}

const void *kernel_numbers(Arena *arena, const Local *local)
{
    if (dtype_is_number(local->dtype))
        return local->data;
    Number number = dtype_number(local->dtype);
    int64_t n = shape_elements(&local->shape);
    void *to = arena_alloc(arena, arena_array_bytes((size_t)n, (size_t)number_bytes(number)));
    local_load(local, 0, 1, n, number, to);
    return to;
}

const double *local_doubles(Arena *arena, const Local *local)
{
    if (local->dtype == DT_F64)
        return local->data;
    int64_t n = shape_elements(&local->shape);
    double *out = arena_array(arena, double, n);
    local_load(local, 0, 1, n, NUMBER_F64, out);
    return out;
}

const double *kernel_doubles(const KernelCall *call, int input)
{
    const Local *local = kernel_input(call, input);
    return local ? local_doubles(call->scratch, local) : NULL;
}
