/* stablehlo.c - StableHLO operators that have no ONNX counterpart with the same attributes.
 *
 * Their rules are Shardy's (factor_ops.h), converted to op spaces: a factor becomes an index dim if
 * all dims that have it are products of factors; other dims (of slices, of windows) are read whole.
 * The types of the results must be declared, as in StableHLO.
 */
#include "core/peers/shardy/tables.h"

#include "core/peers/shardy/factor_build.h"
#include "core/peers/shardy/factor_ops.h"
#include "core/peers/shardy/stablehlo_shapes.h"
#include "core/rules/args.h"

/* Fills in the types of the results: as they are declared, but for shapes that follow from operands
 * and attributes. */
static bool declared_results(RuleCall *call, Error *err)
{
    const Graph *graph = call->graph;
    Shape own;
    for (int o = 0; o < call->n_outputs; o++) {
        int32_t tensor = op_outputs(graph, call->op)[o];
        const GraphTensor *declared = tensor < 0 ? NULL : &graph->tensors[tensor];
        if (!declared || declared->declared < 0) {
            error_kind(err, ERROR_NOT_INFERABLE, "the type of its result %d is not declared", o);
            error_hint(err, "declare the results of a StableHLO op: --shapes 4x8->8");
            return false;
        }
        call->out_shape[o].n_dims = declared->n_declared;
        for (int d = 0; d < declared->n_declared; d++)
            call->out_shape[o].dim[d] = graph->declared[declared->declared + d].size;
        call->out_dtype[o] = (Dtype)declared->dtype;
        if (stablehlo_result_shape(call, o, &own))
            call->out_shape[o] = own; /* a stated one that differs is a finding */
    }
    return true;
}

static FactorRule *rule_of(RuleCall *call, Error *err)
{
    int n = call->n_inputs + call->n_outputs;
    Shape *shape = arena_array(call->arena, Shape, n);
    Dtype *dtype = arena_array(call->arena, Dtype, n);
    for (int i = 0; i < n; i++) {
        int o = i - call->n_inputs;
        if (o < 0 && !call->shape[i]) {
            error_set(err, "its input %d is absent", i);
            return NULL;
        }
        shape[i] = o < 0 ? *call->shape[i] : call->out_shape[o];
        dtype[i] = o < 0 ? call->dtype[i] : call->out_dtype[o];
    }
    FactorCall asked = {.op = op_operator(call->graph, call->op),
                        .graph = call->graph,
                        .graph_op = call->op,
                        .n_operands = call->n_inputs,
                        .n_results = call->n_outputs,
                        .shape = shape,
                        .dtype = dtype};
    return factor_rule_for(call->arena, &asked, err);
}

/* True when the dim is the product of at most as many factors as a projection may have. */
static bool is_product(const FactorRule *rule, const FactorDim *dim, int64_t size)
{
    int64_t product = 1;
    for (int i = 0; i < dim->n; i++)
        product *= rule->factor[dim->at[i]].size;
    return product == size && dim->n <= FACTORS_MAX;
}

/* The reduction over a reduced factor; none for a region of several ops, which is run whole. */
static ReduceOp reduce_of(const RuleCall *call)
{
    const Attr *attr = args_attr(call, "reducers");
    ReduceOp reduce;
    if (attr && attr->type == ATTR_STRINGS && attr->n > 0 &&
        stablehlo_reducer(attr->strings[0], &reduce))
        return reduce;
    return args_attr(call, "region") ? REDUCE_NONE : REDUCE_SUM;
}

typedef struct {
    RuleCall *call;
    const FactorRule *rule;
    bool *usable;    /* per factor: every dim that has it is a product */
    bool *resulting; /* per factor: some result has it */
    int *index;      /* per factor: its index dim, or -1 */
} RuleReading;

static const Shape *shape_of(const RuleReading *r, int tensor)
{
    return &r->call->space->operand[tensor].shape;
}

static void find_usable_factors(RuleReading *r)
{
    int n = r->rule->n_operands + r->rule->n_results;
    for (int f = 0; f < r->rule->n_factors; f++)
        r->usable[f] = r->rule->factor[f].size != 1;
    for (int t = 0; t < n; t++)
        for (int d = 0; d < r->rule->tensor[t].n_dims; d++) {
            const FactorDim *dim = &r->rule->tensor[t].dim[d];
            bool product = is_product(r->rule, dim, shape_of(r, t)->dim[d]);
            for (int i = 0; i < dim->n; i++) {
                r->usable[dim->at[i]] &= product;
                r->resulting[dim->at[i]] |= t >= r->rule->n_operands;
            }
        }
}

static bool add_index_dims(RuleReading *r, Error *err)
{
    for (int f = 0; f < r->rule->n_factors; f++) {
        const Factor *factor = &r->rule->factor[f];
        r->index[f] = -1;
        if (!r->usable[f])
            continue;
        bool summed = factor->type == FACTOR_REDUCTION && !r->resulting[f] &&
                      reduce_of(r->call) != REDUCE_NONE;
        bool cut = factor->type == FACTOR_PASS_THROUGH && r->resulting[f];
        Buf name = buf_new(r->call->arena);
        factor_name(f, &name);
        r->index[f] = rule_index(r->call->space, name.s, factor->size,
                                 summed ? ROLE_REDUCE
                                 : cut  ? ROLE_MAP
                                        : ROLE_FROZEN,
                                 summed ? reduce_of(r->call) : REDUCE_NONE);
        if (r->index[f] < 0)
            return error_kind(err, ERROR_UNSUPPORTED, "it has more than %d index dims", X_MAX);
        r->call->space->index[r->index[f]].permutes = factor->type == FACTOR_PERMUTATION;
        r->call->space->index[r->index[f]].blocked = factor->blocked;
    }
    return true;
}

static void set_rows(RuleReading *r)
{
    int n = r->rule->n_operands + r->rule->n_results;
    for (int t = 0; t < n; t++)
        for (int d = 0; d < r->rule->tensor[t].n_dims; d++) {
            const FactorDim *dim = &r->rule->tensor[t].dim[d];
            int index[FACTORS_MAX], n_index = 0;
            for (int i = 0; i < dim->n && r->usable[dim->at[i]] && n_index < FACTORS_MAX; i++)
                index[n_index++] = r->index[dim->at[i]];
            if (n_index == dim->n)
                row_radix(&r->call->space->operand[t].projection.row[d], r->call->space, index,
                          n_index);
        }
}

static bool by_factors(RuleCall *call, Error *err)
{
    if (!declared_results(call, err))
        return false;
    RuleReading reading = {.call = call, .rule = rule_of(call, err)};
    if (!reading.rule || !rule_space(call, err))
        return false;
    int n = reading.rule->n_factors;
    reading.usable = arena_array(call->arena, bool, n);
    reading.resulting = arena_array(call->arena, bool, n);
    reading.index = arena_array(call->arena, int, n);
    find_usable_factors(&reading);
    if (!add_index_dims(&reading, err))
        return false;
    set_rows(&reading);
    return true;
}

/* What is reduced stays whole: all of it, or what is multiplied. */
static void freeze_reduced(OpSpace *space, bool products_only)
{
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE &&
            (!products_only || space->index[j].reduce == REDUCE_PROD)) {
            space->index[j].role = ROLE_FROZEN;
            space->index[j].reduce = REDUCE_NONE;
        }
}

/* However the updates are sharded, the operand is added once to a sum. The largest, the smallest,
 * all and any are the same with the operand in each shard; a product is not, so updates that are
 * multiplied are read whole. */
static bool scatter(RuleCall *call, Error *err)
{
    if (!by_factors(call, err))
        return false;
    for (int i = 0; i < call->n_outputs && i < call->n_inputs; i++)
        call->space->operand[i].once = reduce_of(call) == REDUCE_SUM;
    freeze_reduced(call->space, true);
    return true;
}

/* The initial value counts once, so what is reduced stays whole: reductions with the neutral one
 * are our operators (core/peers/stablehlo/rows.c), which are partial. */
static bool reduce(RuleCall *call, Error *err)
{
    if (!by_factors(call, err))
        return false;
    freeze_reduced(call->space, false);
    return true;
}

/* Between a value and what each rank has of it, in a manual computation: the sharding is that of
 * the module, and what is inside is on local shapes. */
static bool manual_border(RuleCall *call, Error *err)
{
    return declared_results(call, err) && rule_space(call, err) != NULL;
}

#define FAMILY "stablehlo"
#define HLO(name, rule, flops, attrs)                                                              \
    OP("stablehlo." name, rule, flops, 0, OPERATOR_ANY), .outputs_max = OPERATOR_ANY, OWN(attrs, "")

const Operator operators_stablehlo[] = {
    {HLO("all_gather", by_factors, 0,
         "all_gather_dim channel_handle replica_groups use_global_device_ids"),
     .examples = "5x3->5x6 all_gather_dim=1"},
    {HLO("all_reduce", by_factors, 0,
         "channel_handle reducers replica_groups use_global_device_ids"),
     .examples = "5x6->5x6"},
    {HLO("all_to_all", by_factors, 0,
         "channel_handle concat_dimension replica_groups split_count split_dimension"),
     .examples = "6x4->3x8 split_dimension=0 concat_dimension=1"},
    {HLO("batch_norm_inference", by_factors, 4, "epsilon feature_index"),
     .examples = "5x6x4,6,6,6,6->5x6x4 feature_index=1"},
    {HLO("bitcast_convert", by_factors, 0, ""), .examples = "5x6->5x6:i32; 5x6:f64->5x6x2"},
    {HLO("collective_broadcast", by_factors, 0, "channel_handle replica_groups"),
     .examples = "5x6->5x6"},
    {HLO("collective_permute", by_factors, 0, "channel_handle source_target_pairs"),
     .examples = "5x6->5x6"},
    {HLO("complex", by_factors, 0, ""), .examples = "5x6,5x6->5x6:c64"},
    {HLO("convolution", by_factors, 2,
         "batch_group_count dim_numbers feature_group_count lhs_dilation padding precision "
         "reversal rhs_dilation strides"),
     .kernel = "stablehlo.convolution", GRADIENT("0: move(x1); 1: move(x0)"),
     .examples = "3x7x6x4,3x2x4x5->3x5x5x5 dim_numbers=[b,0,1,f]x[0,1,i,o]->[b,0,1,f]"},
    {HLO("count_leading_zeros", by_factors, 1, ""), .examples = "5x6:i32->5x6:i32"},
    {HLO("cross-replica-sum", by_factors, 0, ""), .examples = "5x6->5x6"},
    {HLO("custom_call", by_factors, 0, "backend_config callee has_side_effect"),
     .kernel = "stablehlo.custom_call",
     .examples = "5x6->5x6 callee=mhlo.erf; 5x6->5x3,5x3:i32 callee=mhlo.topk; 3x5x5->3x5x5,3x5 "
                 "callee=Eigh"},
    {HLO("dot_general", by_factors, 2, "algorithm batching_dims contracting_dims precision"),
     .examples = "3x5x6,3x6x7->3x5x7 contracting_dims=[[2],[1]] batching_dims=[[0],[0]]; "
                 "5x4x6,4x6x7->5x7 contracting_dims=[[1,2],[0,1]]"},
    {HLO("dynamic_slice", by_factors, 0, "slice_sizes"), .kernel = "stablehlo.dynamic_slice",
     GRADIENT("0: move(others)"), .examples = "5x6,scalar:i32,scalar:i32->5x4"},
    {HLO("dynamic_update_slice", by_factors, 0, ""), .kernel = "stablehlo.dynamic_update_slice",
     GRADIENT("0: move(others); 1: move(others)"),
     .examples = "5x6,5x4,scalar:i32,scalar:i32->5x6"},
    {HLO("fft", by_factors, 8, "fft_length fft_type"),
     .examples = "5x6:c64->5x6:c64 fft_length=[6]"},
    {HLO("gather", by_factors, 0,
         "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
         "operand_batching_dims slice_sizes start_index_map start_indices_batching_dims"),
     .kernel = "stablehlo.gather", GRADIENT("0: move(x1)"),
     .examples = "5x6,7x1:i64->7x6 offset_dims=[1] collapsed_slice_dims=[0] index_vector_dim=1 "
                 "slice_sizes=[1,6] start_index_map=[0]"},
    {HLO("pad", by_factors, 0, "interior padding"), .kernel = "stablehlo.pad",
     GRADIENT("0: move; 1: move"), .examples = "5x6,scalar->5x9 padding=[[0,0],[1,2]]"},
    {HLO("reduce", reduce, 1, "dimensions reducers region"), .kernel = "stablehlo.reduce",
     .examples = "5x6,scalar->5 dimensions=[1] reducers=[\"stablehlo.add\"]"},
    {HLO("reduce_scatter", by_factors, 0,
         "channel_handle reducers replica_groups scatter_dimension use_global_device_ids"),
     .examples = "5x6->5x3 scatter_dimension=1"},
    {HLO("reduce_window", by_factors, 1,
         "base_dilations padding reducers region window_dilations window_dimensions "
         "window_strides"),
     .kernel = "stablehlo.reduce_window", GRADIENT("0: move(x0 x1); 1: move(x0 x1)"),
     .examples = "5x6,scalar->5x4 window_dimensions=[1,3] reducers=[\"stablehlo.add\"]; "
                 "5x6,scalar->5x3 window_dimensions=[1,2] window_strides=[1,2] "
                 "reducers=[\"stablehlo.maximum\"]"},
    {HLO("reshape", by_factors, 0, ""), .examples = "6x20->6x4x5; 6x10->12x5"},
    {HLO("rng_bit_generator", by_factors, 8, "algorithm"), .examples = "2:u64->2:u64,5x6:u64"},
    {HLO("scatter", scatter, 1,
         "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims reducers "
         "region "
         "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices "
         "update_window_dims"),
     .kernel = "stablehlo.scatter", GRADIENT("0: move(x1); 2: move(x1)"),
     .examples =
         "5x6,7x1:i64,7x6->5x6 update_window_dims=[1] inserted_window_dims=[0] index_vector_dim=1 "
         "scatter_dims_to_operand_dims=[0] reducers=[\"stablehlo.add\"]"},
    {HLO("select_and_scatter", by_factors, 1,
         "padding reducers region window_dimensions window_strides"),
     .kernel = "stablehlo.select_and_scatter", GRADIENT("0: zero; 1: move(x0); 2: move(x0)"),
     .examples = "5x6,5x3,scalar->5x6 window_dimensions=[1,2] window_strides=[1,2] "
                 "reducers=[\"stablehlo.add\"] "
                 "region=[\"compare:GE:bool\\u00200\\u00201\",\"return\\u00202\"]"},
    {HLO("slice", by_factors, 0, "limit_indices start_indices strides"), .examples = "5x6->5x4"},
    {HLO("sort", by_factors, 8, "dimension is_stable region"), .kernel = "stablehlo.sort",
     GRADIENT("all: move(inputs)"),
     .examples =
         "5x6->5x6 dimension=1 region=[\"compare:LT:bool\\u00200\\u00201\",\"return\\u00202\"]"},
    {OP("sdy.manual_input", manual_border, 0, 1, 1), OWN("", ""), .examples = "8x16->8x4"},
    {OP("sdy.manual_output", manual_border, 0, 1, 1), OWN("", ""), .examples = "8x4->8x16"},
    {0},
};
