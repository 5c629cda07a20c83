/* example_stablehlo.c - small calls of operators of StableHLO, which say the types of their
 * results. */
#include "core/rules/example.h"

/* clang-format off */
const Example examples_stablehlo[] = {
    {"stablehlo.all_gather", "5x3->5x6", "all_gather_dim=1", 0},
    {"stablehlo.all_reduce stablehlo.collective_broadcast stablehlo.collective_permute "
     "stablehlo.cross-replica-sum", "5x6->5x6", NULL, 0},
    {"stablehlo.all_to_all", "6x4->3x8", "split_dimension=0 concat_dimension=1", 0},
    {"stablehlo.batch_norm_inference", "5x6x4,6,6,6,6->5x6x4", "feature_index=1", 0},
    {"stablehlo.bitcast_convert", "5x6->5x6:i32", NULL, 0},
    {"stablehlo.bitcast_convert", "5x6:f64->5x6x2", NULL, 0},
    {"stablehlo.broadcast_in_dim", "5x1->4x5x6", "dims=[1,2]", 0},
    {"stablehlo.complex", "5x6,5x6->5x6:c64", NULL, 0},
    {"stablehlo.convolution", "3x7x6x4,3x2x4x5->3x5x5x5", "dim_numbers=[b,0,1,f]x[0,1,i,o]->[b,0,1,f]", 0},
    {"stablehlo.count_leading_zeros", "5x6:i32->5x6:i32", NULL, 0},
    {"stablehlo.custom_call", "5x6->5x6", "callee=mhlo.erf", 0},
    {"stablehlo.custom_call", "5x6->5x3,5x3:i32", "callee=mhlo.topk", 0},
    {"stablehlo.custom_call", "3x5x5->3x5x5,3x5", "callee=Eigh", 0},
    {"stablehlo.dot_general", "3x5x6,3x6x7->3x5x7", "contracting_dims=[[2],[1]] batching_dims=[[0],[0]]", 0},
    {"stablehlo.dot_general", "5x4x6,4x6x7->5x7", "contracting_dims=[[1,2],[0,1]]", 0},
    {"stablehlo.dynamic_slice", "5x6,scalar:i32,scalar:i32->5x4", NULL, 0},
    {"stablehlo.dynamic_update_slice", "5x6,5x4,scalar:i32,scalar:i32->5x6", NULL, 0},
    {"stablehlo.fft", "5x6:c64->5x6:c64", "fft_length=[6]", 0},
    {"stablehlo.gather", "5x6,7x1:i64->7x6",
     "offset_dims=[1] collapsed_slice_dims=[0] index_vector_dim=1 slice_sizes=[1,6]", 0},
    {"stablehlo.pad", "5x6,scalar->5x9", "padding=[[0,0],[1,2]]", 0},
    {"stablehlo.reduce", "5x6,scalar->5", "dimensions=[1]", 0},
    {"stablehlo.reduce_scatter", "5x6->5x3", "scatter_dimension=1", 0},
    {"stablehlo.reduce_window", "5x6,scalar->5x4", "window_dimensions=[1,3]", 0},
    {"stablehlo.reshape", "6x20->6x4x5", NULL, 0},
    {"stablehlo.reshape", "6x10->12x5", NULL, 0},
    {"stablehlo.rng_bit_generator", "2:u64->2:u64,5x6:u64", NULL, 0},
    {"stablehlo.scatter", "5x6,7x1:i64,7x6->5x6",
     "update_window_dims=[1] inserted_window_dims=[0] index_vector_dim=1", 0},
    {"stablehlo.select_and_scatter", "5x6,5x3,scalar->5x6", "window_dimensions=[1,2] window_strides=[1,2]", 0},
    {"stablehlo.slice", "5x6->5x4", NULL, 0},
    {"stablehlo.sort", "5x6->5x6", "dimension=1", 0},
    {NULL, NULL, NULL, 0},
};
/* clang-format on */
