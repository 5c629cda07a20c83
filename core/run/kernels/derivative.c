/* derivative.c - the gradient of an operator that moves elements, or sums them with weights that
 * its kernel knows: `move`.
 *
 * The forward kernel says which elements of its input each element of its output comes from, and
 * with which weight, but computes no output; the output's gradient is added there. The forward op
 * gets a part of its input laid out as the gradient that is made, with elements if they are read.
 */
#include "core/run/kernels/derivative.h"

#include "core/space/gradient.h"

typedef struct {
    PickSink sink;      /* first */
    const Local *input; /* whose gradient is made */
    double *sums;
    double scale;
    Arena *scratch;
    const Local *output; /* whose gradient is in `loaded` */
    const double *loaded;
} Adding;

static void add_picks(PickSink *sink, const Local *to, const Local *from, const Picks *picks)
{
    Adding *adding = (Adding *)sink;
    double block[ELEMENT_BLOCK];
    Stretch part;
    if (from != adding->input || !to->data)
        return;
    for (PickScan scan = picks_scan(picks); picks_next(&scan, &part);)
        for (int64_t i = 0; i < part.n; i += ELEMENT_BLOCK) {
            int64_t n = part.n - i < ELEMENT_BLOCK ? part.n - i : ELEMENT_BLOCK;
            local_load(to, part.to + i, 1, n, NUMBER_F64, block);
            for (int64_t k = 0; k < n; k++)
                adding->sums[part.from + (i + k) * part.step] += adding->scale * block[k];
        }
}

static void add_term(PickSink *sink, const Local *to, int64_t at, const Local *from, int64_t place,
                     double weight)
{
    Adding *adding = (Adding *)sink;
    if (from != adding->input || !to->data)
        return;
    if (adding->output != to) {
        adding->output = to;
        adding->loaded = local_doubles(adding->scratch, to);
    }
    adding->sums[place] += adding->scale * weight * adding->loaded[at];
}

/* A part without elements, laid out like that one. */
static Local *no_elements(const KernelCall *call, const Local *like)
{
    Local *local = arena_make(call->scratch, Local);
    *local = *like;
    local->data = local->own = NULL;
    return local;
}

/* The whole tensor without elements, of an operand that is not looked at. */
static Local *whole(const KernelCall *call, const Shape *shape)
{
    Local *local = arena_make(call->scratch, Local);
    *local = (Local){.dtype = call->output[0]->dtype, .shape = *shape, .whole = *shape};
    for (int64_t d = 0; d < shape->n_dims; d++)
        local->runs[d] = runs_whole(call->scratch, shape->dim[d]);
    return local;
}

/* The part of an operand that is not there, without elements, as the forward op's cut lays it out.
 */
static Local *absent_part(const KernelCall *call, const OpSpace *of, const OpCut *cut, int operand)
{
    Local *local = whole(call, &of->operand[operand].shape);
    if (!cut || of->operand[operand].ignored)
        return local;
    Sharding sharding = op_cut_sharding(of, cut, operand, call->mesh);
    for (int64_t d = 0; d < local->shape.n_dims; d++) {
        local->runs[d] = cut_runs(call->scratch, &sharding.dim[d], call->mesh, call->position);
        local->shape.dim[d] = local->runs[d].local_size;
    }
    return local;
}

const Local *part_like(const KernelCall *call, const Local *from, const Local *like)
{
    if (shape_equal(&from->shape, &like->shape))
        return from;
    Local *part = no_elements(call, like);
    int64_t stride[DIMS_MAX], n = shape_elements(&part->shape);
    part->dtype = from->dtype;
    row_major_strides(&from->shape, stride);
    Picks picks = picks_new(call->scratch, &part->shape);
    for (int d = 0; d < picks.n_dims; d++)
        picks_match(&picks, d, &part->runs[d], 0, 1, &from->runs[d], stride[d]);
    part->data = arena_alloc(call->scratch,
                             arena_array_bytes((size_t)n, (size_t)element_bytes(part->dtype)));
    return local_pick(part, from, &picks) == n ? part : NULL;
}

/* Operands of the forward op by its numbering. */
static bool forward_operands(const KernelCall *call, const Gradient *gradient, const OpCut *cut,
                             const Local **input, Local **output, Error *err)
{
    const OpSpace *of = gradient->forward;
    for (int i = 0; i < of->n_inputs; i++)
        input[i] = of->operand[i].absent ? NULL : absent_part(call, of, cut, i);
    for (int i = 0; i < gradient->n_reads; i++) {
        int place = gradient->reads[i].place;
        if (!gradient->reads[i].gradient) {
            if (place < of->n_inputs && !gradient->reads[i].absent)
                input[place] = call->input[i];
        } else if (call->input[i]) {
            output[place - of->n_inputs] = no_elements(call, call->input[i]);
            output[place - of->n_inputs]->data = call->input[i]->data;
        } else {
            output[place - of->n_inputs] = absent_part(call, of, cut, place);
        }
    }
    for (int i = 0; i < gradient->n_written; i++) {
        const Local *made = call->output[i], *read = input[gradient->written[i]];
        if (!kernel_computes(made, err))
            return false;
        Local *laid = no_elements(call, made);
        const Local *elements = read && read->data ? part_like(call, read, made) : NULL;
        if (read && read->data && !elements)
            return error_kind(err, ERROR_RUN, "an operand and its gradient differ in shape");
        laid->data = elements ? elements->data : NULL;
        input[gradient->written[i]] = laid;
    }
    return true;
}

bool forward_call(const KernelCall *call, KernelCall *forward, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    int32_t of = kernel_graph(call)->of[call->op];
    const Kernel *kernel = kernel_find(gradient->forward, op_operator(kernel_graph(call), of));
    int n_inputs = gradient->forward->n_inputs, n_outputs = gradient->forward->n_outputs;
    const Local **input = arena_array(call->scratch, const Local *, n_inputs);
    Local **output = arena_array(call->scratch, Local *, n_outputs);
    OpCut *cut = call->cut ? arena_make(call->scratch, OpCut) : NULL;
    if (cut)
        *cut = op_cut_of_forward(program_space(call->inferred, call->op), call->cut);
    if (!kernel || !forward_operands(call, gradient, cut, input, output, err))
        return kernel ? false : error_kind(err, ERROR_RUN, "the forward op has no kernel");
    *forward = *call;
    forward->kernel = kernel;
    forward->op = of;
    forward->cut = cut;
    forward->n_inputs = n_inputs;
    forward->n_outputs = n_outputs;
    forward->input = input;
    forward->output = output;
    return true;
}

/* Rows that the part lacks are on other ranks, which add to them. */
static bool move(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    KernelCall forward;
    if (!forward_call(call, &forward, err))
        return false;
    Local *made = call->output[0];
    int64_t n = shape_elements(&made->shape);
    bool direct = made->dtype == DT_F64;
    Adding adding = {.sink = {add_picks, add_term},
                     .input = forward.input[gradient->written[0]],
                     .sums = direct ? made->data : arena_array(call->scratch, double, n),
                     .scale = gradient->scale,
                     .scratch = call->scratch};
    forward.sink = &adding.sink;
    forward.reduce_cut = true;
    if (!forward.kernel->run(&forward, err))
        return false;
    for (int64_t i = 0; !direct && i < n; i += ELEMENT_BLOCK)
        local_store(made, i, n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK, NUMBER_F64,
                    adding.sums + i);
    return true;
}

const Kernel kernels_derivative[] = {
    {"move", move, NULL, 0, ROUNDING_SUM},
    {0},
};
