#include "core/rules/infer_state.h"

#include <inttypes.h>

static const DeclaredDim *declared_dims(const Graph *graph, int32_t tensor)
{
    return graph->declared + graph->tensors[tensor].declared;
}

/* The name of a free dim; without one, "x.0" after its tensor. */
static Str free_name(const InferState *state, int32_t tensor, int d)
{
    const Graph *graph = state->graph;
    DeclaredDim dim = declared_dims(graph, tensor)[d];
    if (dim.name != 0)
        return names_str(graph->names, dim.name);
    return str_from(arena_printf(state->scratch, "%s.%d", tensor_name(graph, tensor), d));
}

/* The declared size under the bindings; -1 if it is free. */
static int64_t declared_size(const InferState *state, int32_t tensor, int d)
{
    DeclaredDim dim = declared_dims(state->graph, tensor)[d];
    if (dim.size >= 0)
        return dim.size;
    int64_t size = dim_size(state->graph, dim, state->bindings);
    if (size >= 0 || dim.name != 0 || state->bindings->n == 0)
        return size;
    Str name = free_name(state, tensor, d);
    for (int b = state->bindings->n - 1; b >= 0; b--)
        if (str_eq(state->bindings->at[b].name, name))
            return state->bindings->at[b].size;
    return -1;
}

/* The declared shape under the bindings, as a code; -1 if none is declared. Free dims of inputs are
 * sizes with their own names. So are declared dims of tensors that ops make, and of elements of a
 * sequence, which may differ from each other. */
int32_t infer_declared(InferState *state, int32_t tensor, Error *err)
{
    const GraphTensor *declared = &state->graph->tensors[tensor];
    Shape shape = {.n_dims = declared->n_declared};
    if (declared->declared < 0)
        return -1;
    for (int d = 0; d < declared->n_declared; d++)
        shape.dim[d] = declared_size(state, tensor, d);
    if (!shape_check_known(&shape, err))
        return -1;
    bool late = (declared->kind == TENSOR_MADE || declared->sequence) && !state->allow_free;
    for (int d = 0; d < declared->n_declared; d++)
        if (shape.dim[d] < 0)
            shape.dim[d] = sizes_named(state->sizes, free_name(state, tensor, d), late);
    return infer_code(state, &shape);
}

/* Lists the names of the free dims of the inputs that are not bound, each once: "batch, seq", and
 * the option that binds them. */
static int list_free_dims(const InferState *state, Buf *names, Buf *option)
{
    const Graph *graph = state->graph;
    Intern *listed = intern_new(state->scratch);
    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t input = graph->inputs[i];
        for (int d = 0; d < graph->tensors[input].n_declared; d++) {
            DeclaredDim dim = declared_dims(graph, input)[d];
            if (declared_size(state, input, d) >= 0 || graph->tensors[input].sequence)
                continue;
            const char *comma = intern_count(listed) > 0 ? "," : "";
            int32_t key[2] = {dim.name, dim.name == 0 ? input * DIMS_MAX + d : 0};
            if (intern_find(listed, key, sizeof key) >= 0)
                continue;
            intern_put(listed, key, sizeof key);
            buf_printf(names, "%s%s", comma, *comma ? " " : "");
            if (dim.name == 0)
                buf_printf(names, "dim %d of input '%s', which has no name", d,
                           tensor_name(graph, input));
            else
                buf_add(names, names_str(graph->names, dim.name));
            buf_puts(option, option->n > 0 ? "," : "");
            text_printable(free_name(state, input, d), option);
            buf_puts(option, "=..");
        }
    }
    return intern_count(listed);
}

bool infer_check_free_dims(const InferState *state, Error *err)
{
    Buf names = buf_new(state->scratch), option = buf_new(state->scratch);
    int n = state->allow_free ? 0 : list_free_dims(state, &names, &option);
    if (n == 0)
        return true;
    error_kind(err, ERROR_UNBOUND, "%d free dim%s no size: %s", n, n == 1 ? " has" : "s have",
               names.s);
    error_hint(err, "bind %s: --dim %s", n == 1 ? "it" : "them", option.s);
    return false;
}

static const Value *initializer_value(const InferState *state, int32_t tensor)
{
    const GraphTensor *given = &state->graph->tensors[tensor];
    const Shape *shape = inferred_shape(state->result, tensor);
    if (given->kind != TENSOR_INITIALIZER || given->data < 0 || !shape)
        return NULL;
    return host_constant(state->values, &state->graph->data[given->data], (Dtype)given->dtype,
                         shape);
}

/* Reads elements that the user gives. It is an error if the tensor does not exist, or has another
 * type or shape than the model declares. */
static bool read_given(InferState *state, Error *err)
{
    Inferred *result = state->result;
    if (!state->given || state->given->n == 0)
        return true;
    result->given = arena_array(state->arena, const Value *, state->graph->n_tensors);
    for (int i = 0; i < state->given->n; i++) {
        const GivenValue *given = &state->given->at[i];
        int32_t t = graph_find_tensor(state->graph, given->tensor);
        if (t < 0)
            return error_kind(err, ERROR_USAGE,
                              "elements are given for '%.*s', but there is no such tensor",
                              STR_ARG(given->tensor));
        if (value_is_deferred(&given->value)) {
            result->shape[t] = shapes_put(result->shapes, &given->value.shape);
            continue;
        }
        const Shape *shape = inferred_shape(result, t);
        if (shape && !shape_equal(shape, &given->value.shape))
            return error_kind(err, ERROR_USAGE, "the elements given for '%.*s' have another shape",
                              STR_ARG(given->tensor));
        result->given[t] = values_put(state->values, &given->value);
        infer_find_given(state, given->tensor);
    }
    return true;
}

/* Starts with inputs and initializers. A tensor made by an op uses its declaration if the op gives
 * no type. */
bool infer_start_tensors(InferState *state, Error *err)
{
    Inferred *result = state->result;
    Error why = {0};
    for (int32_t t = 0; t < state->graph->n_tensors; t++) {
        const GraphTensor *tensor = &state->graph->tensors[t];
        result->shape[t] = -1;
        if (tensor->kind == TENSOR_MADE)
            continue;
        result->dtype[t] = tensor->dtype;
        result->shape[t] = infer_declared(state, t, &why);
        if (error_is_set(&why))
            return error_kind(err, why.kind, "tensor '%s': %s", tensor_name(state->graph, t),
                              why.text);
        inferred_set_value(result, t, initializer_value(state, t));
        state->known[t] = inferred_value(result, t) != NULL;
        if (tensor->sequence || tensor->optional) {
            const Value *value = infer_declared_sequence(state, t, result->shape[t]);
            inferred_set_value(result, t, value);
            result->shape[t] = infer_sequence_shape(state, value);
        }
        state->fixed[t] = tensor->kind == TENSOR_INITIALIZER;
    }
    return read_given(state, err);
}
