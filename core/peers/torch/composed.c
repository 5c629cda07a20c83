/* composed.c - strategies of operators that run as several others: linear, losses, lists of
 * tensors. */
#include "core/peers/torch/lay.h"
#include "core/peers/torch/family.h"
#include "core/peers/torch/view.h"
#include "core/rules/one_op.h"

/* A sequence of ops, whose answers become the parts. */
typedef struct {
    const Strategies *strategies;
    const StrategyCall *call;
    Error *err;
    Vec(StrategyAnswer) parts;
} AnswerChain;

static AnswerChain chain_new(const Strategies *strategies, const StrategyCall *call, Error *err)
{
    return (AnswerChain){.strategies = strategies, .call = call, .err = err};
}

/* Runs an op on tensors. attr: "dim=1", or NULL for the attributes of the whole op. */
static const StrategyAnswer *run(AnswerChain *chain, const char *op, const char *attr,
                                 const StrategyTensor *input, int n)
{
    StrategyCall call = *chain->call;
    call.op = op;
    call.input = input;
    call.n_inputs = n;
    call.n_indices = 0;
    if (attr) {
        OneOpBuilder *builder = one_op_new(call.arena, &(OneOp){.op_type = STR("op")});
        if (!one_op_attr_text(builder, attr, chain->err))
            return NULL;
        call.graph = one_op_graph(builder, chain->err);
        call.graph_op = 0;
    }
    StrategyAnswer answer = {0};
    const StrategyOp *row = strategy_find(str_from(op), call.profile);
    if (!call.graph || !strategy_answer_op(chain->strategies, &call, row, &answer, chain->err))
        return NULL;
    vec_push(call.arena, &chain->parts, answer);
    StrategyAnswer *copy = arena_make(call.arena, StrategyAnswer);
    *copy = answer;
    return copy;
}

/* Replaces a tensor by a strict view of it in another shape; nothing moves. */
static bool view_as(AnswerChain *chain, StrategyTensor *tensor, const Shape *shape)
{
    TorchView view;
    const StrategyCall *call = chain->call;
    Placement input[MESH_AXES_MAX];
    Placement *output = arena_array(call->arena, Placement, call->mesh->n_axes);
    if (!view_reshape(&tensor->shape, shape, &view, chain->err) ||
        !view_propagate(&view, &tensor->shape, call->mesh, true, tensor->placements, input, output,
                        chain->err))
        return false;
    if (!placements_are_strided(tensor->placements, call->mesh->n_axes))
        tensor->view_made = placements_are_strided(output, call->mesh->n_axes);
    tensor->shape = *shape;
    tensor->placements = output;
    return true;
}

/* Composes the whole answer: the outputs are those of the last part, and each input has the
 * placement that the first part needs that uses it. */
static bool finish(AnswerChain *chain, const Placement *const *output, int n_outputs,
                   const Placement *const *fed, StrategyAnswer *out)
{
    const StrategyCall *call = chain->call;
    *out = (StrategyAnswer){.op = call->op,
                            .n_outputs = n_outputs,
                            .n_inputs = call->n_inputs,
                            .output = output,
                            .input = fed,
                            .runner_up = -1,
                            .n_parts = chain->parts.n,
                            .part = chain->parts.at};
    for (int i = 0; i < chain->parts.n; i++) {
        out->n_comm += chain->parts.at[i].n_comm;
        out->us += chain->parts.at[i].us;
    }
    return true;
}

static const Placement **tensors_new(const StrategyCall *call, int n)
{
    return arena_array(call->arena, const Placement *, n);
}

/* ---- matmuls with more dims ---- */

static Shape matrix_of(const Shape *shape)
{
    Shape out = {.n_dims = 2, .dim = {1, shape->dim[shape->n_dims - 1]}};
    for (int64_t d = 0; d + 1 < shape->n_dims; d++)
        out.dim[0] *= shape->dim[d];
    return out;
}

/* The product of x, viewed as a matrix, with a (K,N) matrix and an optional bias, viewed in x's
 * shape again. Fills fed[1], fed[2] for the bias, and fed[0] if x is already a matrix. */
static bool multiply(AnswerChain *chain, StrategyTensor x, StrategyTensor matrix,
                     const StrategyTensor *bias, const Placement **fed, const Placement **output)
{
    Shape made = x.shape, flat = matrix_of(&x.shape);
    made.dim[made.n_dims - 1] = matrix.shape.dim[1];
    bool folds = x.shape.n_dims != 2;
    if (folds && !view_as(chain, &x, &flat))
        return false;
    StrategyTensor inputs[3] = {x, matrix};
    if (bias) {
        inputs[0] = *bias;
        inputs[1] = x;
        inputs[2] = matrix;
    }
    int n = bias ? 3 : 2;
    bool made_by_view = strategy_strided_of_view(inputs, n, chain->call->mesh);
    const StrategyAnswer *product = run(chain, bias ? "addmm" : "mm", NULL, inputs, n);
    if (!product)
        return false;
    if (!folds)
        fed[0] = product->input[bias ? 1 : 0];
    fed[1] = product->input[bias ? 2 : 1];
    if (bias)
        fed[2] = product->input[0];
    StrategyTensor result = {.shape = {.n_dims = 2, .dim = {flat.dim[0], matrix.shape.dim[1]}},
                             .dtype = x.dtype,
                             .placements = product->output[0],
                             .view_made = made_by_view};
    if (folds && !view_as(chain, &result, &made))
        return false;
    *output = result.placements;
    return true;
}

static bool transpose(AnswerChain *chain, StrategyTensor *tensor, const Placement **fed)
{
    const StrategyAnswer *answer = run(chain, "t", NULL, tensor, 1);
    if (!answer)
        return false;
    *fed = answer->input[0];
    int64_t first = tensor->shape.dim[0];
    tensor->shape.dim[0] = tensor->shape.dim[1];
    tensor->shape.dim[1] = first;
    tensor->placements = answer->output[0];
    return true;
}

static const Placement **fed_as_given(const StrategyCall *call)
{
    const Placement **fed = tensors_new(call, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        fed[i] = call->input[i].placements;
    return fed;
}

static bool linear(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                   StrategyAnswer *out, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    if (call->input[0].shape.n_dims < 2 || call->input[1].shape.n_dims != 2)
        return error_kind(err, ERROR_RANK, "linear needs (.., K) and (N, K)");
    AnswerChain chain = chain_new(strategies, call, err);
    const Placement **fed = fed_as_given(call), **output = tensors_new(call, 1);
    StrategyTensor weight = call->input[1];
    const StrategyTensor *bias = strategy_has_input(call, 2) ? &call->input[2] : NULL;
    const Placement *turned;
    if (!transpose(&chain, &weight, &turned) ||
        !multiply(&chain, call->input[0], weight, bias, fed, output))
        return false;
    fed[1] = turned;
    return finish(&chain, output, 1, fed, out);
}

/* Lists of matrices: the dims before the last two become one. */
static bool multiply_lists(AnswerChain *chain, const StrategyTensor *input,
                           const Placement **output)
{
    StrategyTensor list[2] = {input[0], input[1]};
    Shape made = input[0].shape;
    int64_t n = made.n_dims;
    for (int i = 0; i < 2; i++) {
        const Shape *shape = &input[i].shape;
        Shape flat = {.n_dims = 3, .dim = {1, shape->dim[n - 2], shape->dim[n - 1]}};
        for (int64_t d = 0; d + 2 < n; d++)
            flat.dim[0] *= shape->dim[d];
        if (!view_as(chain, &list[i], &flat))
            return false;
    }
    const StrategyAnswer *product = run(chain, "bmm", NULL, list, 2);
    if (!product)
        return false;
    made.dim[n - 1] = input[1].shape.dim[n - 1];
    StrategyTensor result = {
        .shape = {.n_dims = 3, .dim = {list[0].shape.dim[0], made.dim[n - 2], made.dim[n - 1]}},
        .dtype = input[0].dtype,
        .placements = product->output[0],
        .view_made = strategy_strided_of_view(list, 2, chain->call->mesh)};
    if (!view_as(chain, &result, &made))
        return false;
    *output = result.placements;
    return true;
}

static bool same_list(const Shape *a, const Shape *b)
{
    if (a->n_dims != b->n_dims || a->n_dims < 3)
        return false;
    for (int64_t d = 0; d + 2 < a->n_dims; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

static bool matmul(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                   StrategyAnswer *out, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    AnswerChain chain = chain_new(strategies, call, err);
    const Placement **fed = fed_as_given(call), **output = tensors_new(call, 1);
    const Shape *a = strategy_shape_of(call, 0), *b = strategy_shape_of(call, 1);
    if (a->n_dims == 1 && b->n_dims == 1)
        return strategy_answer_op(strategies, call, strategy_find(STR("dot"), call->profile), out,
                                  err);
    if (a->n_dims == 2 && b->n_dims == 2)
        return strategy_answer_op(strategies, call, strategy_find(STR("mm"), call->profile), out,
                                  err);
    if (a->n_dims >= 3 && b->n_dims == 2)
        return multiply(&chain, call->input[0], call->input[1], NULL, fed, output) &&
               finish(&chain, output, 1, fed, out);
    if (same_list(a, b))
        return multiply_lists(&chain, call->input, output) && finish(&chain, output, 1, fed, out);
    return error_kind(err, ERROR_UNSUPPORTED, "matmul of %d and %d dims", (int)a->n_dims,
                      (int)b->n_dims);
}

/* attrs.b_is_transposed: the second matrix is (N, K). */
static bool scaled_mm(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                      StrategyAnswer *out, Error *err)
{
    (void)op;
    if (!strategy_need(call, 4, err))
        return false;
    AnswerChain chain = chain_new(strategies, call, err);
    const Placement **fed = fed_as_given(call);
    StrategyTensor input[4] = {call->input[0], call->input[1], call->input[2], call->input[3]};
    bool turns[4] = {false, strategy_int(call, "b_is_transposed", 0) != 0, false,
                     input[3].shape.n_dims == 2 && shape_elements(&input[3].shape) > 1};
    for (int i = 0; i < 4; i++)
        if (turns[i] && !transpose(&chain, &input[i], &fed[i]))
            return false;
    const StrategyAnswer *product = run(&chain, "_scaled_mm.rows", NULL, input, 4);
    if (!product)
        return false;
    for (int i = 0; i < 4; i++)
        fed[i] = turns[i] ? fed[i] : product->input[i];
    return finish(&chain, product->output, 1, fed, out);
}

/* ---- losses ---- */

static bool nll(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                StrategyAnswer *out, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err) || call->n_inputs > 3)
        return error_set(err, "%s takes an input, a target and perhaps weights", call->op);
    AnswerChain chain = chain_new(strategies, call, err);
    const StrategyAnswer *loss = run(&chain, "nll_loss.rows", NULL, call->input, call->n_inputs);
    return loss && finish(&chain, loss->output, 1, loss->input, out);
}

static bool cross_entropy(const Strategies *strategies, const StrategyCall *call,
                          const StrategyOp *op, StrategyAnswer *out, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err) || call->n_inputs > 3)
        return error_set(err, "%s takes an input, a target and perhaps weights", call->op);
    AnswerChain chain = chain_new(strategies, call, err);
    const char *dim = call->input[0].shape.n_dims >= 2 ? "dim=1" : "dim=0";
    const StrategyAnswer *softmax = run(&chain, "_log_softmax", dim, call->input, 1);
    if (!softmax)
        return false;
    StrategyTensor input[3] = {0};
    for (int i = 0; i < call->n_inputs; i++)
        input[i] = call->input[i];
    input[0].placements = softmax->output[0];
    const StrategyAnswer *loss = run(&chain, "nll_loss.rows", NULL, input, call->n_inputs);
    if (!loss)
        return false;
    const Placement **fed = tensors_new(call, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        fed[i] = loss->input[i];
    if (!placements_equal(softmax->input[0], call->input[0].placements, call->mesh->n_axes))
        fed[0] = softmax->input[0];
    return finish(&chain, loss->output, 1, fed, out);
}

/* ---- gradients ---- */

/* The gradient of a norm's weight, from the input alone: the output's gradient has the input's
 * placements, and so have the statistics on the dims they have. */
static bool norm_weight(const Strategies *strategies, const StrategyCall *call,
                        const StrategyOp *op, StrategyAnswer *out, Error *err)
{
    (void)op;
    int n, n_axes = call->mesh->n_axes;
    const int64_t *sizes = strategy_ints(call, "normalized_shape", &n);
    if (!strategy_need(call, 1, err))
        return false;
    const StrategyTensor *x = &call->input[0];
    if (!sizes || n > x->shape.n_dims)
        return error_set(err, "%s needs normalized_shape", call->op);
    int64_t n_outer = x->shape.n_dims - n;
    Placement *kept = arena_array(call->arena, Placement, n_axes);
    for (int axis = 0; axis < n_axes; axis++)
        if (x->placements[axis].kind != PLACE_SHARD || x->placements[axis].dim < n_outer)
            kept[axis] = x->placements[axis];
    StrategyTensor input[6] = {*x, *x, *x, *x, *x, *x};
    for (int i = 2; i < 6; i++)
        input[i].placements = i < 4 ? kept : arena_array(call->arena, Placement, n_axes);
    for (int64_t d = n_outer; d < x->shape.n_dims; d++)
        input[2].shape.dim[d] = input[3].shape.dim[d] = 1;
    for (int i = 4; i < 6; i++) {
        input[i].shape = (Shape){.n_dims = n};
        memcpy(input[i].shape.dim, sizes, (size_t)n * sizeof *sizes);
    }
    AnswerChain chain = chain_new(strategies, call, err);
    const StrategyAnswer *made = run(&chain, "native_layer_norm_backward", NULL, input, 6);
    const Placement **fed = tensors_new(call, call->n_inputs);
    for (int i = 0; made && i < call->n_inputs; i++)
        fed[i] = i == 0 ? made->input[1] : call->input[i].placements;
    return made && finish(&chain, made->output + 1, 1, fed, out);
}

/* ---- lists: each element separately ---- */

/* The number of tensor lists that an op has. */
static int n_lists(const char *op)
{
    Str name = str_from(op);
    bool lists = str_find(name, STR(".List")) >= 0, lerp = str_find(name, STR("_lerp")) >= 0;
    if (str_find(name, STR("_addc")) >= 0)
        return 3;
    if (lerp)
        return lists ? 3 : 2;
    return lists || str_find(name, STR("_copy")) >= 0 ? 2 : 1;
}

static const StrategyOp *element_op(const StrategyCall *call)
{
    Str name = str_from(call->op), head = STR("_foreach_");
    const StrategyOp *whole = strategy_find(name, call->profile);
    if (whole && whole->rows)
        return whole;
    return strategy_find((Str){name.s + head.n, name.n - head.n}, call->profile);
}

static bool foreach(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                    StrategyAnswer *out, Error *err)
{
    (void)op;
    AnswerChain chain = chain_new(strategies, call, err);
    const StrategyOp *element = element_op(call);
    int lists = n_lists(call->op), n = call->n_inputs / lists, n_single = call->n_inputs % lists;
    if (str_ends(str_from(call->op), STR(".Tensor")) && lists == 1 && call->n_inputs > 1) {
        n = call->n_inputs - 1;
        n_single = 1;
    }
    if (!element || !element->rows || n < 1 || n_single > 1)
        return error_kind(err, ERROR_UNSUPPORTED, "%s has no strategy for %d tensors", call->op,
                          call->n_inputs);
    const Placement **fed = tensors_new(call, call->n_inputs), **output = tensors_new(call, n);
    for (int i = 0; i < n; i++) {
        StrategyTensor inputs[4];
        StrategyCall one = *call;
        StrategyRows rows;
        StrategyAnswer answer;
        for (int k = 0; k < lists; k++)
            inputs[k] = call->input[(ptrdiff_t)k * n + i];
        if (n_single)
            inputs[lists] = call->input[(ptrdiff_t)lists * n];
        one.input = inputs;
        one.n_inputs = lists + n_single;
        if (!strategy_rows_of(&one, element, &rows, err) ||
            !strategy_choose(&one, &rows, true, &answer, err) ||
            !strategy_permit(&one, &answer, err))
            return false;
        vec_push(call->arena, &chain.parts, answer);
        output[i] = answer.output[0];
        for (int k = 0; k < lists; k++)
            fed[(ptrdiff_t)k * n + i] = answer.input[k];
        if (n_single && i == 0)
            fed[(ptrdiff_t)lists * n] = answer.input[lists];
    }
    return finish(&chain, output, n, fed, out);
}

const StrategyOp ops_composed[] = {
    {"linear", NULL, NULL, NULL, 0, linear},
    {"matmul", NULL, NULL, NULL, 0, matmul},
    {"_scaled_mm", NULL, NULL, NULL, 0, scaled_mm},
    {"nll_loss", NULL, NULL, NULL, 0, nll},
    {"cross_entropy", NULL, NULL, NULL, 0, cross_entropy},
    {"layer_norm_backward.weight", NULL, NULL, NULL, 0, norm_weight},
    {"_foreach_", NULL, NULL, NULL, 0, foreach},
    {0},
};
