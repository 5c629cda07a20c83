#include "core/peers/paddle/op_answer.h"

#include "core/peers/paddle/mapping.h"

#include <assert.h>

int spmd_first_twin(const int32_t *tensor, int i)
{
    int first = 0;
    while (tensor[first] != tensor[i])
        first++;
    return first;
}

/* An answer being computed. */
typedef struct {
    const SpmdQuestion *q;
    Arena *arena;     /* of the calls */
    int32_t *mapping; /* per operand: the mapping so far, or MAPPING_NONE */
    bool *clash;      /* per operand: two answers conflict */
    unsigned partial;
    const char *refusal;
} AnswerBuild;

static void set_dims(SpmdTensor *tensor, SpmdMapping mapping)
{
    tensor->n_dims = mapping.n_dims;
    memcpy(tensor->dim, mapping.dim, (size_t)mapping.n_dims * sizeof *mapping.dim);
}

/* The operand in the form that the rule gets; at: its index among inputs, then outputs. */
static SpmdTensor shown_operand(const AnswerBuild *h, int operand, int at)
{
    if (operand < 0) {
        bool shaped = h->q->call->shape && h->q->call->shape[at].n_dims >= 0;
        SpmdTensor none = {.absent = !shaped};
        if (shaped) {
            none.shape = h->q->call->shape[at];
            none.n_dims = (int)none.shape.n_dims;
        }
        return none;
    }
    int32_t t = h->q->tensor[operand];
    SpmdTensor tensor = {.absent = h->q->mapping[operand] == MAPPING_NONE};
    if (!tensor.absent) {
        const Shape *shape = inferred_shape(h->q->inferred, t);
        assert(shape); /* because it has a mapping */
        tensor.shape = *shape;
        set_dims(&tensor, mapping_at(h->q->mappings, h->q->mapping[operand]));
        mapping_drop_second_uses(tensor.dim, tensor.n_dims);
    }
    return tensor;
}

static void add_answer(AnswerBuild *h, const SpmdCall *call, int operand, const SpmdTensor *answer)
{
    if (operand < 0 || h->q->mapping[operand] == MAPPING_NONE || answer->absent ||
        answer->n_dims != mapping_at(h->q->mappings, h->q->mapping[operand]).n_dims)
        return;
    SpmdTensor mapping = *answer;
    if (!h->q->lists)
        spmd_keep_largest_axes(call, &mapping);
    int32_t id = mapping_put(h->q->mappings, mapping.dim, mapping.n_dims);
    int32_t both = mapping_compatible(h->q->mappings, h->mapping[operand], id);
    h->clash[operand] |= both == MAPPING_NONE;
    h->mapping[operand] = both == MAPPING_NONE ? h->mapping[operand] : both;
}

/* Applies the rule exactly as Paddle has it and, if that refuses, in its corrected form. */
static bool apply(AnswerBuild *h, const SpmdRule *rule, SpmdCall *call)
{
    SpmdCall corrected = *call;
    Error err = {0};
    call->exact = !h->q->call->corrected;
    if (spmd_apply(rule, call, &err))
        return true;
    if (!h->refusal)
        h->refusal = arena_str(h->q->arena, str_from(err.text));
    *call = corrected;
    return spmd_apply(rule, call, &err);
}

static SpmdCall call_of(const AnswerBuild *h, bool backward)
{
    return (SpmdCall){.arena = h->arena,
                      .mesh = h->q->mesh,
                      .graph = h->q->call->graph,
                      .op = h->q->call->op,
                      .name = h->q->call->name,
                      .mode = h->q->call->mode,
                      .backward = backward};
}

/* Applies the rule of the addition between the op's result and its addend. result: as the op
 * produces it (forward) or as given (backward); becomes the rule's answer for it. */
static bool add_on(AnswerBuild *h, bool backward, SpmdTensor *result)
{
    const SpmdRule *rule = spmd_rules_find(NULL, STR("elementwise_add"));
    SpmdTensor input[2] = {*result, shown_operand(h, h->q->call->addend, 0)};
    input[0].shape = shown_operand(h, h->q->n_inputs, 0).shape;
    spmd_clear_partial(&input[0]);
    SpmdCall add = call_of(h, backward);
    add.name = "elementwise_add";
    add.input = input;
    add.output = result;
    add.n_inputs = 2;
    add.n_outputs = backward;
    if (!apply(h, rule, &add))
        return false;
    add_answer(h, &add, h->q->call->addend, add.need.at[1]);
    add_answer(h, &add, h->q->n_inputs, add.out.at[0]);
    result->n_dims = add.need.at[0]->n_dims;
    memcpy(result->dim, add.need.at[0]->dim, sizeof result->dim);
    return true;
}

static void answer_direction(AnswerBuild *h, bool backward)
{
    const SpmdOpCall *of = h->q->call;
    SpmdTensor *input = arena_array(h->arena, SpmdTensor, of->n_inputs);
    SpmdTensor *output = arena_array(h->arena, SpmdTensor, of->n_outputs);
    for (int i = 0; i < of->n_inputs; i++)
        input[i] = shown_operand(h, of->input[i], i);
    for (int o = 0; o < of->n_outputs; o++)
        output[o] = shown_operand(
            h, of->output[o] < 0 ? MAPPING_NONE : h->q->n_inputs + of->output[o], of->n_inputs + o);
    bool adds = of->addend >= 0;
    if (adds && backward && !add_on(h, true, &output[0]))
        return;
    SpmdCall call = call_of(h, backward);
    call.input = input;
    call.output = output;
    call.n_inputs = of->n_inputs;
    call.n_outputs = of->n_outputs;
    if (!apply(h, of->rule, &call))
        return;
    for (int i = 0; i < of->n_inputs && i < call.need.n; i++)
        add_answer(h, &call, of->input[i], call.need.at[i]);
    for (int o = 0; o < of->n_outputs && o < call.out.n && of->output[o] >= 0; o++) {
        for (int axis = 0; axis < h->q->mesh->n_axes && !backward; axis++)
            if (call.out.at[o]->partial[axis] != REDUCE_NONE)
                h->partial |= 1u << axis;
        if (!adds)
            add_answer(h, &call, h->q->n_inputs + of->output[o], call.out.at[o]);
    }
    if (adds && !backward && call.out.n > 0)
        (void)add_on(h, false, call.out.at[0]);
}

static bool is_split(const AnswerBuild *h, int32_t id, int64_t dim)
{
    if (id == MAPPING_NONE)
        return false;
    SpmdMapping mapping = mapping_at(h->q->mappings, id);
    dim += dim < 0 ? mapping.n_dims : 0;
    return dim >= 0 && dim < mapping.n_dims && mapping.dim[dim].n > 0;
}

/* The mapping of input i of the call. */
static int32_t input_mapping(const AnswerBuild *h, int i)
{
    int operand = h->q->call->input[i];
    return h->mapping[operand] == MAPPING_NONE ? h->q->mapping[operand] : h->mapping[operand];
}

/* True if Paddle has no kernel for the split: a product split by both k and n, a sum over some
 * split dims, a softmax along a split axis. */
static bool is_rejected(const AnswerBuild *h)
{
    const SpmdCall call = call_of(h, false);
    if (strcmp(h->q->call->name, "matmul_v2") == 0) {
        bool trans_x = spmd_int(&call, "trans_x", 0), trans_y = spmd_int(&call, "trans_y", 0);
        return is_split(h, input_mapping(h, 0), trans_x ? -2 : -1) &&
               is_split(h, input_mapping(h, 1), trans_y ? -2 : -1);
    }
    if (strcmp(h->q->call->name, "softmax") == 0) {
        int64_t axis = spmd_int(&call, "axis", -1);
        return is_split(h, h->q->mapping[0], axis) ||
               is_split(h, h->q->mapping[h->q->n_inputs], axis);
    }
    if (strcmp(h->q->call->name, "reduce_sum") != 0)
        return false;
    SpmdInts axes = spmd_ints(&call, "axis");
    bool split = false;
    for (int i = 0; i < axes.n; i++)
        split |= is_split(h, input_mapping(h, 0), axes.at[i]);
    return split && axes.n < mapping_at(h->q->mappings, h->q->mapping[0]).n_dims;
}

/* Inputs that are the same tensor share one mapping: the last answer. */
static void share_twins(AnswerBuild *h)
{
    const int32_t *tensor = h->q->tensor;
    for (int i = 0; i < h->q->n_inputs; i++) {
        int first = spmd_first_twin(tensor, i);
        if (first < i && h->mapping[i] != MAPPING_NONE)
            h->mapping[first] = h->mapping[i];
    }
    for (int i = 0; i < h->q->n_inputs; i++)
        h->mapping[i] = h->mapping[spmd_first_twin(tensor, i)];
}

SpmdAnswer spmd_op_answer(const SpmdQuestion *question)
{
    int n = question->n_inputs + question->n_outputs;
    AnswerBuild h = {.q = question, .arena = arena_new()};
    h.mapping = arena_array(question->arena, int32_t, n);
    h.clash = arena_array(h.arena, bool, n);
    for (int o = 0; o < n; o++)
        h.mapping[o] = MAPPING_NONE;
    answer_direction(&h, false);
    if (!question->call->forward_only)
        answer_direction(&h, true);
    for (int o = 0; o < n; o++)
        if (h.clash[o])
            h.mapping[o] = MAPPING_NONE;
    share_twins(&h);
    SpmdAnswer answer = {.operand = h.mapping, .partial = h.partial, .refusal = h.refusal};
    answer.rejected = is_rejected(&h);
    arena_free(h.arena);
    return answer;
}
