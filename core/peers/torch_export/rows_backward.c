/* rows_backward.c - torch's operators that make gradients, as the sums and products that they are.
 */
#include "core/peers/torch_export/shapes.h"

/* With the normalized x^ = (x - mean) * rstd and g = dy * weight:
 *
 *     dx = rstd * (g - mean(g) - x^ * mean(g x^))    dweight = sum(dy x^)    dbias = sum(dy)
 *
 * means over the normalized dims, sums over the others. */
static void make_layer_norm_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm dy = call_tensor(c, "grad_out"), x = call_tensor(c, "input"), out[3];
    ExportTerm mean = call_tensor(c, "mean"), rstd = call_tensor(c, "rstd"),
               weight = call_term(c, "weight");
    Terms sizes = {0};
    int64_t inner[DIMS_MAX], outer[DIMS_MAX];
    call_terms(c, "normalized_shape", &sizes);
    int n_outer = x.rank - sizes.n;
    if (n_outer < 0) {
        call_fail(c, "it normalizes %d dims of %d", sizes.n, x.rank);
        return;
    }
    for (int d = 0; d < x.rank; d++)
        *(d < n_outer ? &outer[d] : &inner[d - n_outer]) = d;
    ExportTerm over = emit_ints(e, inner, sizes.n), rest = emit_ints(e, outer, n_outer);
    ExportTerm normal = emit2(c, "Mul", emit2(c, "Sub", x, mean), rstd);
    ExportTerm g = term_is(weight) ? emit2(c, "Mul", dy, weight) : dy;
    ExportTerm first[] = {g, over}, second[] = {emit2(c, "Mul", g, normal), over};
    ExportTerm mean_g = emit(c, "ReduceMean", first, 2, NULL, 0);
    ExportTerm mean_gx = emit(c, "ReduceMean", second, 2, NULL, 0);
    ExportTerm inside =
        emit2(c, "Sub", emit2(c, "Sub", g, mean_g), emit2(c, "Mul", normal, mean_gx));
    Attr drop = attr_int(e, "keepdims", 0);
    ExportTerm products[] = {emit2(c, "Mul", dy, normal), rest}, sums[] = {dy, rest};
    out[0] = emit2(c, "Mul", rstd, inside);
    out[1] = n_outer == 0 ? products[0] : emit(c, "ReduceSum", products, 2, &drop, 1);
    out[2] = n_outer == 0 ? dy : emit(c, "ReduceSum", sums, 2, &drop, 1);
    call_results(c, out, 3);
}

/* Rows of the gradient are added up where they were read. */
static void make_embedding_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm grad = call_tensor(c, "grad_output"),
               ids = emit_cast(c, call_tensor(c, "indices"), DT_I64);
    Terms flat = {0}, shape = {0};
    int64_t padding = call_int(c, "padding_idx");
    if (call_bool(c, "scale_grad_by_freq")) {
        call_fail(c, "it scales gradients by frequency");
        return;
    }
    ExportTerm width = size_of(c, grad, grad.rank - 1);
    add_size(c, &flat, term_int(-1));
    add_size(c, &flat, width);
    add_size(c, &shape, call_term(c, "num_weights"));
    add_size(c, &shape, width);
    ExportTerm table = emit_filled(c, emit_sizes(c, &shape), term_int(0), (Dtype)grad.dtype, 2);
    ExportTerm rows = reshape(c, grad, &flat);
    flat.at[1] = term_int(1);
    ExportTerm places = reshape(c, ids, &flat);
    if (padding >= 0) {
        ExportTerm in[] = {emit2(c, "Equal", places, term_int(padding)), term_number(0), rows};
        rows = emit(c, "Where", in, 3, NULL, 0);
    }
    Attr attr = attr_text(e, "reduction", STR("add"));
    ExportTerm in[] = {table, places, rows}, out = emit(c, "ScatterND", in, 3, &attr, 1);
    call_results(c, &out, 1);
}

/* -dloss * weight of the label, at the label's class; 0 where the label does not count. */
static void make_nll_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm dloss = call_tensor(c, "grad_output"), x = call_tensor(c, "self");
    ExportTerm target = call_tensor(c, "target"), weight = call_term(c, "weight");
    int64_t classes = x.rank > 1 ? 1 : 0, reduction = call_int(c, "reduction");
    ExportTerm line = range(c, term_int(0), size_of(c, x, classes), term_int(1), DT_I64);
    ExportTerm labels = unsqueeze(c, target, classes);
    ExportTerm counts =
        emit1(c, "Not", emit2(c, "Equal", labels, term_int(call_int(c, "ignore_index"))));
    ExportTerm hit =
        emit2(c, "And", emit2(c, "Equal", labels, reshape_along(c, line, classes, x.rank)), counts);
    if (reduction == 1)
        dloss = emit2(c, "Div", dloss, call_tensor(c, "total_weight"));
    else if (reduction == 0)
        dloss = unsqueeze(c, dloss, classes);
    ExportTerm value = emit1(c, "Neg", dloss);
    if (term_is(weight))
        value = emit2(c, "Mul", value, reshape_along(c, weight, classes, x.rank));
    ExportTerm in[] = {hit, value, emit_constant(c, term_number(0), (Dtype)x.dtype)};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    (void)e;
    call_results(c, &out, 1);
}

#define OUTPUT "grad_output output"
#define ALONG "grad_output output dim input_dtype"

const TorchRow rows_backward[] = {
    {"tanh_backward", OUTPUT, "Mul(grad_output, Sub(1, Mul(output, output)))", NULL},
    {"sigmoid_backward", OUTPUT, "Mul(grad_output, Mul(output, Sub(1, output)))", NULL},
    {"threshold_backward", "grad_output self threshold",
     "Where(Greater(self, threshold), grad_output, 0)", NULL},
    {"silu_backward", "grad_output self",
     "Mul(grad_output, Mul(Sigmoid(self), Add(1, Mul(self, Sub(1, Sigmoid(self))))))", NULL},
    {"_softmax_backward_data", ALONG,
     "Mul(output, Sub(grad_output, ReduceSum(Mul(grad_output, output), ints(dim))))", NULL},
    {"_log_softmax_backward_data", ALONG,
     "Sub(grad_output, Mul(Exp(output), ReduceSum(grad_output, ints(dim))))", NULL},
    {"native_layer_norm_backward",
     "grad_out input normalized_shape mean rstd weight bias output_mask", NULL,
     make_layer_norm_backward},
    {"embedding_dense_backward", "grad_output indices num_weights padding_idx scale_grad_by_freq",
     NULL, make_embedding_backward},
    {"nll_loss_backward nll_loss2d_backward",
     "grad_output self target weight reduction ignore_index total_weight", NULL, make_nll_backward},
    {0},
};
