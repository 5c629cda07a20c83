/* Kernels on whole tensors: one op as text (graph_text.h) with its inputs' elements, against
 * numbers worked out by hand. How kernels do on parts is tested by running plans (test_run). */
#include "tests/unit/kernel_rows.h"

#include "core/rules/derivative.h"
#include "core/run/kernels/elementwise.h"
#include "core/run/draw.h"
#include "core/run/verify/compare.h"

#include <ctype.h>
#include <inttypes.h>
#include <float.h>
#include <math.h>

/* clang-format off */
static OpRow rows[] = {
    /* element-wise */
    {"add", "y <- Add f32[2,2] f32[2,2]", {"1 2 3 4", "10 20 30 40"}, "f32[2,2] 11 22 33 44", 0},
    {"a row broadcasts", "y <- Add f32[2,3] f32[3]", {"1 2 3 4 5 6", "10 20 30"}, "f32[2,3] 11 22 33 14 25 36", 0},
    {"a column broadcasts", "y <- Mul f32[2,3] f32[2,1]", {"1 2 3 4 5 6", "2 3"}, "f32[2,3] 2 4 6 12 15 18", 0},
    {"both broadcast", "y <- Sub f32[2,1] f32[1,2]", {"1 2", "10 20"}, "f32[2,2] -9 -19 -8 -18", 0},
    {"between dims", "y <- Add i64[2,1,2] i64[2,1]", {"1 2 3 4", "10 20"}, "i64[2,2,2] 11 12 21 22 13 14 23 24", 0},
    {"a scalar broadcasts", "y <- Div f32[2] f32[]", {"1 2", "4"}, "f32[2] 0.25 0.5", 0},
    {"no elements", "y <- Add f32[0,3] f32[3]", {"", "1 2 3"}, "f32[0,3]", 0},
    {"scalars", "y <- Sub f32[] f32[]", {"1", "4"}, "f32[] -3", 0},
    {"doubles", "y <- Add f64[2] f64[2]", {"1 2", "1e-12 0"}, "f64[2] 1 2", 0},
    {"integers divide towards zero", "y <- Div i64[4] i64[4]", {"7 -7 7 1", "2 2 -2 0"}, "i64[4] 3 -3 -3 0", 0},
    {"the least integer by -1", "y <- Div i64[1] i64[1]", {"-9223372036854775808", "-1"}, "i64[1] -9223372036854775808", 0},
    {"integers wrap", "y <- Add i32[1] i32[1]", {"2147483647", "1"}, "i32[1] -2147483648", 0},
    {"bytes wrap", "y <- Mul u8[1] u8[1]", {"200", "2"}, "u8[1] 144", 0},
    {"mod has the divisor's sign", "y <- Mod i64[3] i64[3]", {"-7 7 -7", "3 -3 0"}, "i64[3] 2 -2 0", 0},
    {"fmod has the dividend's", "y <- Mod f32[2] f32[2] fmod=1", {"-7 7", "3 -3"}, "f32[2] -1 1", 0},
    {"power", "y <- Pow f32[3] f32[]", {"1 2 3", "2"}, "f32[3] 1 4 9", 0},
    {"power of integers", "y <- Pow i64[4] i64[4]", {"3 2 -1 5", "4 -1 -3 0"}, "i64[4] 81 0 -1 1", 0},
    {"an integer to a float", "y <- Pow i64[2] f32[]", {"4 9", "0.5"}, "i64[2] 2 3", 0},
    {"max of three", "y <- Max f32[2] f32[2] f32[1]", {"1 5", "2 2", "3"}, "f32[2] 3 5", 0},
    {"max of one", "y <- Max f32[2]", {"1 -5"}, "f32[2] 1 -5", 0},
    {"max keeps NaN", "y <- Max f32[2] f32[2]", {"nan 1", "1 nan"}, "f32[2] nan nan", 0},
    {"sum of four", "y <- Sum f32[1] f32[1] f32[1] f32[1]", {"1", "2", "3", "4"}, "f32[1] 10", 0},
    {"mean of three", "y <- Mean f32[1] f32[1] f32[1]", {"1", "2", "6"}, "f32[1] 3", 0},
    {"less", "y <- Less f32[3] f32[]", {"1 2 3", "2"}, "bool[3] 1 0 0", 0},
    {"less or equal", "y <- LessOrEqual i64[3] i64[]", {"1 2 3", "2"}, "bool[3] 1 1 0", 0},
    {"NaN equals nothing", "y <- Equal f32[2] f32[2]", {"nan 1", "nan 1"}, "bool[2] 0 1", 0},
    {"equal bools", "y <- Equal bool[2] bool[2]", {"1 0", "1 1"}, "bool[2] 1 0", 0},
    {"and", "y <- And bool[4] bool[4]", {"0 0 1 1", "0 1 0 1"}, "bool[4] 0 0 0 1", 0},
    {"xor", "y <- Xor bool[4] bool[4]", {"0 0 1 1", "0 1 0 1"}, "bool[4] 0 1 1 0", 0},
    {"not", "y <- Not bool[2]", {"0 1"}, "bool[2] 1 0", 0},
    {"where", "y <- Where bool[2,1] f32[2] f32[]", {"1 0", "1 2", "9"}, "f32[2,2] 1 2 9 9", 0},
    {"where of integers", "y <- Where bool[2] i64[2] i64[2]", {"1 0", "1 2", "3 4"}, "i64[2] 1 4", 0},
    {"is NaN", "y <- IsNaN f32[3]", {"1 nan inf"}, "bool[3] 0 1 0", 0},
    {"clip", "y <- Clip f32[3] f32[] f32[]", {"-2 0.5 2", "-1", "1"}, "f32[3] -1 0.5 1", 0},
    {"clip above only", "y <- Clip f32[2] - f32[]", {"-2 2", "1"}, "f32[2] -2 1", 0},
    {"clip integers below only", "y <- Clip i64[2] i64[]", {"-2 2", "1"}, "i64[2] 1 2", 0},
    {"unary", "y <- Neg f32[2]", {"1 -2"}, "f32[2] -1 2", 0},
    {"relu", "y <- Relu f32[2]", {"1 -2"}, "f32[2] 1 0", 0},
    {"leaky", "y <- LeakyRelu f32[2] alpha=0.5", {"1 -2"}, "f32[2] 1 -1", 0},
    {"default slope", "y <- LeakyRelu f32[2]", {"1 -2"}, "f32[2] 1 -0.02", 0},
    {"elu", "y <- Elu f32[2] alpha=2.0", {"1 -1"}, "f32[2] 1 -1.26424", 0},
    {"celu", "y <- Celu f32[2] alpha=2.0", {"1 -1"}, "f32[2] 1 -0.786939", 0},
    {"shrink", "y <- Shrink f32[3] lambd=1.5 bias=0.5", {"-2 1 2"}, "f32[3] -1.5 0 1.5", 0},
    {"thresholded", "y <- ThresholdedRelu f32[3] alpha=1.5", {"-2 1 2"}, "f32[3] 0 0 2", 0},
    {"sigmoid", "y <- Sigmoid f32[3]", {"0 100 -100"}, "f32[3] 0.5 1 0", 0},
    {"tanh", "y <- Tanh f32[2]", {"0 1"}, "f32[2] 0 0.761594", 0},
    {"erf", "y <- Erf f32[2]", {"0 1"}, "f32[2] 0 0.842701", 0},
    {"gelu", "y <- Gelu f32[2]", {"0 1"}, "f32[2] 0 0.841345", 20},
    {"gelu by tanh", "y <- Gelu f32[2] approximate=\"tanh\"", {"0 1"}, "f32[2] 0 0.841192", 20},
    {"round is to even", "y <- Round f32[3]", {"0.5 1.5 -2.5"}, "f32[3] 0 2 -2", 0},
    {"half", "y <- Add f16[2] f16[2]", {"1 65504", "0.0004882813 16"}, "f16[2] 1 inf", 0},
    {"brain", "y <- Mul bf16[2] bf16[2]", {"1 3", "1.0078125 1.0078125"}, "bf16[2] 1.00781 3.03125", 0},

    /* casts */
    {"to integer, towards zero", "y <- Cast f32[4] to=7", {"1.9 -1.9 nan 1e30"}, "i64[4] 1 -1 0 9223372036854775807", 0},
    {"to bool", "y <- Cast f32[3] to=9", {"0 0.5 nan"}, "bool[3] 0 1 1", 0},
    {"from bool", "y <- Cast bool[2] to=1", {"0 1"}, "f32[2] 0 1", 0},
    {"to half and nearest even", "y <- Cast f32[5] to=10", {"2049 2051 65520 6e-8 -0.1"}, "f16[5] 2048 2052 inf 5.96046e-08 -0.0999756", 0},
    {"to the same", "y <- Cast f32[2] to=1", {"1 2"}, "f32[2] 1 2", 0},

    /* moves */
    {"reshape", "y <- Reshape f32[2,3] i64[2]{3,2}", {"1 2 3 4 5 6"}, "f32[3,2] 1 2 3 4 5 6", 0},
    {"transpose", "y <- Transpose f32[2,3]", {"1 2 3 4 5 6"}, "f32[3,2] 1 4 2 5 3 6", 0},
    {"permute", "y <- Transpose i64[2,1,3] perm=[1,2,0]", {"1 2 3 4 5 6"}, "i64[1,3,2] 1 4 2 5 3 6", 0},
    {"expand", "y <- Expand f32[2,1] i64[3]{2,1,3}", {"1 2"}, "f32[2,2,3] 1 1 1 2 2 2 1 1 1 2 2 2", 0},
    {"slice", "y <- Slice f32[5] i64[1]{1} i64[1]{4}", {"0 1 2 3 4"}, "f32[3] 1 2 3", 0},
    {"slice by steps of an axis", "y <- Slice f32[2,5] i64[1]{-4} i64[1]{100} i64[1]{-1} i64[1]{2}", {"0 1 2 3 4 5 6 7 8 9"}, "f32[2,2] 1 3 6 8", 0},
    {"slice backwards", "y <- Slice f32[4] i64[1]{-1} i64[1]{-9223372036854775807} i64[1]{0} i64[1]{-1}", {"0 1 2 3"}, "f32[4] 3 2 1 0", 0},
    {"split", "a b <- Split f32[5] i64[2]{2,3}", {"0 1 2 3 4"}, "f32[2] 0 1; f32[3] 2 3 4", 0},
    {"split in equal parts", "a b <- Split f32[2,4] axis=1 num_outputs=2", {"0 1 2 3 4 5 6 7"}, "f32[2,2] 0 1 4 5; f32[2,2] 2 3 6 7", 0},
    {"concat", "y <- Concat f32[2,1] f32[2,2] axis=-1", {"1 2", "3 4 5 6"}, "f32[2,3] 1 3 4 2 5 6", 0},
    {"concat with nothing", "y <- Concat f32[0] f32[2] axis=0", {"", "3 4"}, "f32[2] 3 4", 0},
    {"tile", "y <- Tile f32[2,1] i64[2]{2,3}", {"1 2"}, "f32[4,3] 1 1 1 2 2 2 1 1 1 2 2 2", 0},
    {"upper triangle", "y <- Trilu f32[3,3]", {"1 2 3 4 5 6 7 8 9"}, "f32[3,3] 1 2 3 0 5 6 0 0 9", 0},
    {"lower triangle, shifted", "y <- Trilu f32[2,3] i64[]{1} upper=0", {"1 2 3 4 5 6"}, "f32[2,3] 1 2 0 4 5 6", 0},

    {"dropout drops nothing", "y m <- Dropout f32[2] f32[]", {"1 2", "0.5"}, "f32[2] 1 2; bool[2] 1 1", 0},
    {"dropout of nothing in training", "y <- Dropout f32[2] f32[] bool[]", {"1 2", "0", "1"}, "f32[2] 1 2", 0},

    /* rows by index */
    {"gather", "y <- Gather f32[3,2] i64[2]", {"1 2 3 4 5 6", "2 -3"}, "f32[2,2] 5 6 1 2", 0},
    {"gather columns", "y <- Gather f32[2,3] i64[2] axis=1", {"1 2 3 4 5 6", "2 0"}, "f32[2,2] 3 1 6 4", 0},
    {"gather one", "y <- Gather f32[3,2] i64[]", {"1 2 3 4 5 6", "1"}, "f32[2] 3 4", 0},
    {"gather too far", "y <- Gather f32[3] i64[1]", {"1 2 3", "3"}, "index 3 is outside a dim of size 3", 0},
    {"gather by coordinates", "y <- GatherND f32[2,2] i64[2,2]", {"1 2 3 4", "0 1 1 0"}, "f32[2] 2 3", 0},
    {"gather rows by coordinates", "y <- GatherND f32[2,2] i64[1,1]", {"1 2 3 4", "1"}, "f32[1,2] 3 4", 0},
    {"gather in batches", "y <- GatherND f32[2,3] i64[2,1] batch_dims=1", {"1 2 3 4 5 6", "2 0"}, "f32[2] 3 4", 0},
    {"gather elements", "y <- GatherElements f32[2,2] i64[2,2] axis=1", {"1 2 3 4", "0 0 -1 0"}, "f32[2,2] 1 1 4 3", 0},

    /* products */
    {"matmul", "y <- MatMul f32[2,2] f32[2,3]", {"1 2 3 4", "1 2 3 4 5 6"}, "f32[2,3] 9 12 15 19 26 33", 0},
    {"matmul of vectors", "y <- MatMul f32[2] f32[2]", {"1 2", "3 4"}, "f32[] 11", 0},
    {"a vector on the left", "y <- MatMul f32[2] f32[2,2]", {"1 2", "1 2 3 4"}, "f32[2] 7 10", 0},
    {"a vector on the right", "y <- MatMul f32[2,2] f32[2]", {"1 2 3 4", "1 2"}, "f32[2] 5 11", 0},
    {"batches", "y <- MatMul f32[2,1,2] f32[2,2,1]", {"1 2 3 4", "1 2 3 4"}, "f32[2,1,1] 5 25", 0},
    {"batches broadcast", "y <- MatMul f32[2,1,1,2] f32[2,2,1]", {"1 2 3 4", "1 2 3 4"}, "f32[2,2,1,1] 5 11 11 25", 0},
    {"one matrix for all", "y <- MatMul f32[2,1,2] f32[2,1]", {"1 2 3 4", "1 2"}, "f32[2,1,1] 5 11", 0},
    {"nothing to sum", "y <- MatMul f32[2,0] f32[0,1]", {"", ""}, "f32[2,1] 0 0", 0},
    {"integers", "y <- MatMul i32[1,2] i32[2,1]", {"1 2", "3 4"}, "i32[1,1] 11", 0},
    {"halves", "y <- MatMul f16[1,2] f16[2,1]", {"1 2", "3 4"}, "f16[1,1] 11", 0},
    {"doubles multiply", "y <- MatMul f64[1,2] f64[2,1]", {"1 2", "3 4"}, "f64[1,1] 11", 0},
    {"gemm", "y <- Gemm f32[1,2] f32[2,2] f32[2]", {"1 2", "1 2 3 4", "10 20"}, "f32[1,2] 17 30", 0},
    {"gemm turned", "y <- Gemm f32[2,1] f32[2,2] transA=1 transB=1", {"1 2", "1 2 3 4"}, "f32[1,2] 5 11", 0},
    {"gemm scaled", "y <- Gemm f32[1,2] f32[2,1] f32[] alpha=0.5 beta=2.0", {"1 2", "3 4", "10"}, "f32[1,1] 25.5", 0},
    {"gemm adds a column", "y <- Gemm f32[2,1] f32[1,2] f32[2,1]", {"1 2", "3 4", "10 20"}, "f32[2,2] 13 14 26 28", 0},

    {"einsum", "y <- Einsum f32[2,2] f32[2,1] equation=\"ij,jk->ik\"", {"1 2 3 4", "1 2"}, "f32[2,1] 5 11", 0},
    {"einsum of an outer product", "y <- Einsum i64[2] i64[2] equation=\"i,j->ji\"", {"1 2", "3 4"}, "i64[2,2] 3 6 4 8", 0},
    {"einsum that sums", "y <- Einsum f32[2,2] equation=\"ij->\"", {"1 2 3 4"}, "f32[] 10", 0},
    {"einsum over nothing", "y <- Einsum f32[2,0] equation=\"ij->i\"", {""}, "f32[2] 0 0", 0},

    /* folds */
    {"sum of all", "y <- ReduceSum f32[2,2] keepdims=0", {"1 2 3 4"}, "f32[] 10", 0},
    {"sum of rows", "y <- ReduceSum f32[2,2] i64[1]{-1}", {"1 2 3 4"}, "f32[2,1] 3 7", 0},
    {"sum of columns", "y <- ReduceSum f32[2,2] i64[1]{0} keepdims=0", {"1 2 3 4"}, "f32[2] 4 6", 0},
    {"sum of nothing", "y <- ReduceSum f32[0,2] i64[1]{0}", {""}, "f32[1,2] 0 0", 0},
    {"mean", "y <- ReduceMean f32[2,3] axes=[1]", {"1 2 3 4 5 9"}, "f32[2,1] 2 6", 13},
    {"mean over two dims", "y <- ReduceMean f32[2,1,2] axes=[0,2]", {"1 2 3 4"}, "f32[1,1,1] 2.5", 13},
    {"largest", "y <- ReduceMax f32[2,2] axes=[1] keepdims=0", {"1 2 -3 -4"}, "f32[2] 2 -3", 13},
    {"largest of NaN", "y <- ReduceMax f32[3] axes=[0]", {"1 nan 2"}, "f32[1] nan", 13},
    {"smallest integer", "y <- ReduceMin i32[3] axes=[0]", {"5 -2 7"}, "i32[1] -2", 13},
    {"product", "y <- ReduceProd i64[3] axes=[0]", {"5 -2 7"}, "i64[1] -70", 13},
    {"sizes", "y <- ReduceL1 f32[3] axes=[0]", {"5 -2 7"}, "f32[1] 14", 13},
    {"squares", "y <- ReduceSumSquare f32[2] axes=[0]", {"3 4"}, "f32[1] 25", 13},
    {"length", "y <- ReduceL2 f32[2] axes=[0]", {"3 4"}, "f32[1] 5", 13},
    {"log of a sum", "y <- ReduceLogSum f32[2] axes=[0]", {"1 1.718281828"}, "f32[1] 1", 13},
    {"log of a sum of powers", "y <- ReduceLogSumExp f32[2] axes=[0]", {"1000 1000"}, "f32[1] 1000.69", 13},
    {"none is folded", "y <- ReduceSum f32[2] i64[0]{} noop_with_empty_axes=1", {"3 4"}, "f32[2] 3 4", 0},
    {"scatter elements", "y <- ScatterElements f32[2,3] i64[2,2] f32[2,2] axis=1", {"1 2 3 4 5 6", "0 -1 1 1", "10 20 30 40"}, "f32[2,3] 10 2 20 4 40 6", 0},
    {"scatter elements that meet", "y <- ScatterElements f32[3] i64[3] f32[3] reduction=\"add\"", {"1 2 3", "1 1 0", "10 20 30"}, "f32[3] 31 32 3", 0},
    {"fewer updates than rows", "y <- ScatterElements i64[3,2] i64[1,1] i64[1,1] axis=0", {"1 2 3 4 5 6", "2", "9"}, "i64[3,2] 1 2 3 4 9 6", 0},
    {"scatter outside", "y <- ScatterElements f32[3] i64[1] f32[1]", {"1 2 3", "3", "0"}, "index 3 is outside a dim of size 3", 0},
    {"where the largest is", "y <- ArgMax f32[2,3] axis=1", {"1 5 5 3 2 1"}, "i64[2,1] 1 0", 0},
    {"where the last largest is", "y <- ArgMax f32[3] select_last_index=1 keepdims=0", {"1 5 5"}, "i64[] 2", 0},
    {"where the smallest is", "y <- ArgMin f32[2,2]", {"1 5 0 7"}, "i64[1,2] 1 0", 0},
    {"top two", "y i <- TopK f32[2,4] i64[1]{2}", {"1 4 4 2 nan 0 3 -1"}, "f32[2,2] 4 4 nan 3; i64[2,2] 1 2 0 2", 0},
    {"the two least, along dim 0", "y i <- TopK i64[4,1] i64[1]{2} axis=0 largest=0", {"5 1 9 1"}, "i64[2,1] 1 1; i64[2,1] 1 3", 0},
    {"running sum", "y <- CumSum f32[3] i64[]{0}", {"1 2 3"}, "f32[3] 1 3 6", 0},
    {"running sum, exclusive and back", "y <- CumSum f32[2,2] i64[]{1} exclusive=1 reverse=1", {"1 2 3 4"}, "f32[2,2] 2 0 4 0", 0},

    /* rows */
    {"softmax", "y <- Softmax f32[2,2]", {"0 0 1000 1001"}, "f32[2,2] 0.5 0.5 0.268941 0.731059", 0},
    {"softmax of another dim", "y <- Softmax f32[2,2] axis=0", {"0 0 0 1"}, "f32[2,2] 0.5 0.268941 0.5 0.731059", 0},
    {"old softmax takes the rest", "y <- Softmax f32[1,2,2]", {"0 0 0 0"}, "f32[1,2,2] 0.25 0.25 0.25 0.25", 11},
    {"nothing but -inf", "y <- Softmax f32[2]", {"-inf -inf"}, "f32[2] nan nan", 0},
    {"log softmax", "y <- LogSoftmax f32[2]", {"0 0"}, "f32[2] -0.693147 -0.693147", 0},
    {"layer norm", "y <- LayerNormalization f32[2,2] f32[2] f32[2] epsilon=0.0", {"1 3 2 6", "1 2", "0 10"}, "f32[2,2] -1 12 -1 12", 0},
    {"layer norm tells", "y m i <- LayerNormalization f32[1,2] f32[2] epsilon=0.0", {"1 5", "1 1"}, "f32[1,2] -1 1; f32[1,1] 3; f32[1,1] 0.5", 0},
    {"layer norm of two dims", "y <- LayerNormalization f32[1,2,2] f32[2,2] axis=1 epsilon=0.0", {"1 1 3 3", "1 1 1 1"}, "f32[1,2,2] -1 -1 1 1", 0},
    {"rms norm", "y <- RMSNormalization f32[1,2] f32[2] epsilon=0.0", {"3 4", "1 2"}, "f32[1,2] 0.848528 2.26274", 23},

    /* windows */
    {"conv", "y <- Conv f32[1,1,3,3] f32[1,1,2,2] f32[1]", {"1 2 3 4 5 6 7 8 9", "1 0 0 1", "10"}, "f32[1,1,2,2] 16 18 22 24", 0},
    {"conv, padded and strided", "y <- Conv f32[1,1,5] f32[1,1,3] pads=[1,1] strides=[2]", {"1 2 3 4 5", "1 1 1"}, "f32[1,1,3] 3 9 9", 0},
    {"conv, dilated", "y <- Conv f32[1,1,5] f32[1,1,2] dilations=[2]", {"1 2 3 4 5", "1 10"}, "f32[1,1,3] 31 42 53", 0},
    {"conv in groups", "y <- Conv f32[1,2,2] f32[2,1,1] group=2", {"1 2 3 4", "10 100"}, "f32[1,2,2] 10 20 300 400", 0},
    {"conv of channels", "y <- Conv f64[1,2,2] f64[2,2,1]", {"1 2 3 4", "1 1 1 -1"}, "f64[1,2,2] 4 6 -2 -2", 0},
    {"conv of halves", "y <- Conv f16[1,1,3] f16[1,1,2] f16[1]", {"1 2 3", "1 2", "0.5"}, "f16[1,1,2] 5.5 8.5", 0},
    {"conv, same lower", "y <- Conv f32[1,1,3] f32[1,1,2] auto_pad=\"SAME_LOWER\"", {"1 2 3", "1 10"}, "f32[1,1,3] 10 21 32", 0},
    {"conv of integers", "y <- ConvInteger u8[1,1,3] u8[1,1,2] u8[] u8[1] pads=[1,0]", {"3 4 5", "2 3", "2", "1"}, "i32[1,1,3] 2 5 8", 0},
    {"transposed", "y <- ConvTranspose f32[1,1,2] f32[1,1,3] f32[1] strides=[2]", {"1 2", "1 10 100", "0.5"}, "f32[1,1,5] 1.5 10.5 102.5 20.5 200.5", 0},
    {"transposed, padded", "y <- ConvTranspose f32[1,1,2] f32[1,1,3] strides=[2] pads=[1,0] output_padding=[1]", {"1 2", "1 10 100"}, "f32[1,1,5] 10 102 20 200 0", 0},
    {"transposed to channels", "y <- ConvTranspose f32[1,1,1] f32[1,2,2]", {"3", "1 2 3 4"}, "f32[1,2,2] 3 6 9 12", 0},
    {"largest of windows", "y i <- MaxPool f32[1,1,2,4] kernel_shape=[2,2] strides=[2,2]", {"1 5 2 3 4 0 9 8"}, "f32[1,1,1,2] 5 9; i64[1,1,1,2] 1 6", 0},
    {"where it is by columns", "y i <- MaxPool f32[1,1,2,2] kernel_shape=[1,1] storage_order=1", {"1 2 3 4"}, "f32[1,1,2,2] 1 2 3 4; i64[1,1,2,2] 0 2 1 3", 0},
    {"largest, hanging over", "y <- MaxPool f32[1,1,4] kernel_shape=[3] strides=[2] ceil_mode=1", {"1 2 3 4"}, "f32[1,1,2] 3 4", 0},
    {"mean of what is there", "y <- AveragePool f32[1,1,3] kernel_shape=[2] pads=[1,1]", {"2 4 8"}, "f32[1,1,4] 2 3 6 8", 0},
    {"mean with padding", "y <- AveragePool f32[1,1,3] kernel_shape=[2] pads=[1,1] count_include_pad=1", {"2 4 8"}, "f32[1,1,4] 1 3 6 4", 0},
    {"length of windows", "y <- LpPool f32[1,1,2] kernel_shape=[2]", {"3 4"}, "f32[1,1,1] 5", 0},
    {"mean of an image", "y <- GlobalAveragePool f32[1,2,2]", {"1 3 5 9"}, "f32[1,2,1] 2 7", 0},
    {"largest of an image", "y <- GlobalMaxPool f32[1,2,2]", {"1 3 -5 -9"}, "f32[1,2,1] 3 -5", 0},
    {"across channels", "y <- LRN f32[1,3,1] size=3 alpha=3.0 beta=1.0 bias=1.0", {"1 2 3"}, "f32[1,3,1] 0.166667 0.133333 0.214286", 0},
    {"batch norm", "y <- BatchNormalization f32[1,2,2] f32[2]{1,2} f32[2]{0,10} f32[2]{1,3} f32[2]{4,1} epsilon=0.0", {"1 3 2 6"}, "f32[1,2,2] 0 1 8 16", 0},
    {"instance norm", "y <- InstanceNormalization f32[1,2,2] f32[2] f32[2] epsilon=0.0", {"1 3 2 6", "1 2", "0 10"}, "f32[1,2,2] -1 1 8 12", 0},
    {"group norm", "y <- GroupNormalization f32[1,2,1] f32[1] f32[1] num_groups=1 epsilon=0.0", {"1 3", "2", "1"}, "f32[1,2,1] -1 3", 18},
    {"pad", "y <- Pad f32[2] i64[2]{1,2}", {"1 2"}, "f32[5] 0 1 2 0 0", 0},
    {"pad by a value", "y <- Pad i64[2] i64[2]{1,0} i64[]{7}", {"1 2"}, "i64[3] 7 1 2", 0},
    {"pad and take away", "y <- Pad f32[3] i64[2]{-1,1}", {"1 2 3"}, "f32[3] 2 3 0", 0},
    {"pad by edges", "y <- Pad f32[3] i64[2]{2,1} mode=\"edge\"", {"1 2 3"}, "f32[6] 1 1 1 2 3 3", 0},
    {"pad by reflection", "y <- Pad f32[3] i64[2]{3,1} mode=\"reflect\"", {"1 2 3"}, "f32[7] 2 3 2 1 2 3 2", 0},
    {"pad around", "y <- Pad f32[3] i64[2]{1,2} mode=\"wrap\"", {"1 2 3"}, "f32[6] 3 1 2 3 1 2", 19},
    {"depth to space", "y <- DepthToSpace i64[1,4,1,2] blocksize=2", {"1 2 3 4 5 6 7 8"}, "i64[1,1,2,4] 1 3 2 4 5 7 6 8", 0},
    {"depth to space, channels first", "y <- DepthToSpace i64[1,8,1,1] blocksize=2 mode=\"CRD\"", {"1 2 3 4 5 6 7 8"}, "i64[1,2,2,2] 1 2 3 4 5 6 7 8", 0},
    {"space to depth", "y <- SpaceToDepth i64[1,1,2,4] blocksize=2", {"1 3 2 4 5 7 6 8"}, "i64[1,4,1,2] 1 2 3 4 5 6 7 8", 0},
    {"resize to neighbours", "y <- Resize f32[2] - - i64[1]{5}", {"1 2"}, "f32[5] 1 1 1 2 2", 0},
    {"resize smoothly", "y <- Resize f32[2] - - i64[1]{4} mode=\"linear\"", {"1 3"}, "f32[4] 1 1.5 2.5 3", 0},
    {"resize to corners", "y <- Resize f32[2] - - i64[1]{3} mode=\"linear\" coordinate_transformation_mode=\"align_corners\"", {"1 3"}, "f32[3] 1 2 3", 0},
    {"resize by cubes", "y <- Resize f32[4] - - i64[1]{2} mode=\"cubic\" coordinate_transformation_mode=\"asymmetric\"", {"1 2 3 4"}, "f32[2] 1 3", 0},
    {"shrink without aliases", "y <- Resize f32[4] - - i64[1]{2} mode=\"linear\" antialias=1", {"1 2 3 4"}, "f32[2] 1.625 3.375", 18},
    {"a crop beyond the image", "y <- Resize f32[2] f32[2] - i64[1]{3} coordinate_transformation_mode=\"tf_crop_and_resize\" extrapolation_value=9.0", {"1 2", "0 2"}, "f32[3] 1 2 9", 0},
};
/* clang-format on */

/* ---- elements ---- */

static void halves_survive_a_round_trip(void **state)
{
    (void)state;
    static const Dtype dtypes[] = {DT_F16, DT_BF16};
    for (int k = 0; k < 2; k++)
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            uint16_t half = (uint16_t)bits, back;
            float x;
            elements_load(dtypes[k], &half, 1, 1, NUMBER_F32, &x);
            elements_store(dtypes[k], &back, 1, NUMBER_F32, &x);
            if (!isnan(x))
                assert_int_equal(back, half);
            else
                elements_load(dtypes[k], &back, 1, 1, NUMBER_F32, &x), assert_true(isnan(x));
        }
}

static void ulps_are_counted(void **state)
{
    (void)state;
    float one = 1, next = nextafterf(1, 2), minus = -0.0f, zero = 0, tiny = 1e-45f, none = NAN;
    assert_int_equal(element_ulps(DT_F32, &one, &next), 1);
    assert_int_equal(element_ulps(DT_F32, &next, &one), 1);
    assert_int_equal(element_ulps(DT_F32, &minus, &zero), 0);
    assert_int_equal(element_ulps(DT_F32, &minus, &tiny), 1);
    assert_int_equal(element_ulps(DT_F32, &none, &none), 0);
    assert_true(element_ulps(DT_F32, &none, &one) == INT64_MAX);
    double lo = -DBL_MAX, hi = DBL_MAX;
    assert_true(element_ulps(DT_F64, &lo, &hi) == INT64_MAX);
}

/* ---- draws ---- */

static void draws_are_uniform_and_their_own(void **state)
{
    (void)state;
    uint64_t a = draw_key(1, STR("a")), b = draw_key(1, STR("b")), other = draw_key(2, STR("a"));
    double sum = 0, squares = 0;
    int n = 100000, equal = 0;
    for (int i = 0; i < n; i++) {
        double x = draw_uniform(a, i);
        assert_true(-1 <= x && x < 1);
        sum += x;
        squares += x * x;
        equal += x == draw_uniform(b, i) || x == draw_uniform(other, i);
    }
    assert_true(fabs(sum / n) < 0.01);
    assert_true(fabs(squares / n - 1.0 / 3) < 0.01);
    assert_int_equal(equal, 0);
    assert_true(draw_uniform(a, 5) == draw_uniform(draw_key(1, STR("a")), 5));
}

static void weights_are_scaled_by_what_is_summed(void **state)
{
    (void)state;
    Shape weight = {2, {64, 256}}, turned = {2, {256, 64}}, bias = {1, {256}}, empty = {2, {0, 4}};
    assert_true(draw_weight_scale(&weight) == 0.125);
    assert_true(draw_weight_scale(&turned) == 0.125);
    assert_true(draw_weight_scale(&bias) == 1);
    assert_true(draw_weight_scale(&empty) == 1);
}

/* ---- parts of what is known ---- */

typedef struct {
    const char *name, *text, *sharding; /* of the last op's first input, on dp=2,tp=2 */
    int64_t first, step, last;          /* on the last rank: element 0, 1 less 0, the last */
} FeedRow;

#define COORDINATES                                                                                \
    "r <- Range i64[]{0} i64[]{200} i64[]{1}; a <- Unsqueeze r i64[2]{1,2};"                       \
    "b <- Unsqueeze r i64[2]{0,2}; c <- Expand a i64[3]{200,200,1};"                               \
    "d <- Expand b i64[3]{200,200,1}; e <- Concat c d axis=2; y <- Cast e to=1"

static FeedRow feed_rows[] = {
    {"held", "r <- Range i64[]{5} i64[]{15} i64[]{1}; y <- Cast r to=1", "10/tp", 10, 1, 14},
    {"a row", "r <- Range i64[]{5} i64[]{300005} i64[]{3}; y <- Cast r to=1", "100000/tp", 150005,
     3, 300002},
    {"a row, in digits", "r <- Range i64[]{5} i64[]{100005} i64[]{1}; y <- Cast r to=1",
     "(2)(50000/tp)", 25005, 1, 100004},
    {"coordinates", COORDINATES, "200/dp,200,2", 100, -100, 199},
    {"second coordinates", COORDINATES, "200/dp,200,2/tp", 0, 1, 199},
    {"bytes", "y <- Cast i64[4]{7,-2,30,35} to=1", "4/tp", 30, 5, 35},
};

static void part_is_what_is_known(void **state)
{
    const FeedRow *row = *state;
    Arena *arena = arena_new();
    DimBindings none = {0};
    Error err = {0};
    Graph *graph = graph_from_text(arena, row->text, 18);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    Source source = {"mesh", STR("dp=2,tp=2")};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    int32_t tensor = op_inputs(graph, graph->n_ops - 1)[0];
    const Shape *shape = inferred_shape(inferred, tensor);
    Sharding sharding;
    source = (Source){"sharding", str_from(row->sharding)};
    assert_true(sharding_parse(&source, shape, mesh, VIEW_OURS, &sharding, &err));

    bool *wanted = arena_array(arena, bool, graph->n_tensors);
    wanted[tensor] = true;
    Feeds feeds;
    assert_true(feeds_open(arena, inferred, wanted, &(Given){.seed = 0}, &feeds, &err));
    Local *part = local_new(DT_I64, shape, &sharding, mesh, 3);
    feed_fill(&feeds, tensor, 0, part, arena);
    const int64_t *element = part->data;
    assert_int_equal(element[0], row->first);
    assert_int_equal(element[1] - element[0], row->step);
    assert_int_equal(element[shape_elements(&part->shape) - 1], row->last);
    local_free(part);
    feeds_close(&feeds);
    arena_free(arena);
}

/* ---- drawn tokens ---- */

typedef struct {
    const char *name, *text; /* the only input of type i64 is drawn */
    int64_t bound;           /* of the drawn numbers; 1: all are 0 */
} TokenRow;

static TokenRow token_rows[] = {
    {"rows of a table", "y <- Gather f32[7,4] i64[4,64]", 7},
    {"along another axis", "y <- Gather f32[900,5] i64[4,64] axis=1", 5},
    {"along the last axis", "y <- Gather f32[900,6] i64[4,64] axis=-1", 6},
    {"behind a Reshape", "r <- Reshape i64[4,64] i64[2]{-1,64}; y <- Gather f32[7,4] r", 7},
    {"behind two views",
     "c <- Cast i64[4,64] to=6; u <- Unsqueeze c i64[1]{0}; y <- Gather f32[7,4] u", 7},
    {"only added up", "y <- Add i64[4,64] i64[1]{1}", 1},
    {"gathered from", "y <- Gather i64[4,64] i64[2]{0,1}", 1},
};

/* A row of a table other than its first is read, so that the cut of an embedding is tested. */
static void tokens_are_drawn_over_the_table(void **state)
{
    const TokenRow *row = *state;
    Arena *arena = arena_new();
    DimBindings none = {0};
    Error err = {0};
    Graph *graph = graph_from_text(arena, row->text, 18);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    bool *wanted = arena_array(arena, bool, graph->n_tensors);
    int32_t tensor = -1;
    for (int i = 0; i < graph->n_inputs; i++)
        if (inferred->dtype[graph->inputs[i]] == DT_I64)
            tensor = graph->inputs[i];
    assert_true(tensor >= 0);
    wanted[tensor] = true;
    Feeds feeds;
    assert_true(feeds_open(arena, inferred, wanted, &(Given){.seed = 0}, &feeds, &err));
    const Shape *shape = inferred_shape(inferred, tensor);
    Local *whole = local_new_whole(DT_I64, shape);
    feed_fill(&feeds, tensor, 0, whole, arena);
    int64_t most = 0;
    for (int64_t i = 0; i < shape_elements(shape); i++) {
        int64_t token = ((const int64_t *)whole->data)[i];
        assert_in_range(token, 0, row->bound - 1);
        most = token > most ? token : most;
    }
    assert_int_equal(most, row->bound - 1);
    local_free(whole);
    feeds_close(&feeds);
    arena_free(arena);
}

/* ---- comparing ---- */

typedef struct {
    const char *name;
    Dtype dtype;
    const char *got, *want; /* two elements */
    bool ok;
    double max_abs, max_rel;
    int64_t max_ulp;
} CompareRow;

static CompareRow compare_rows[] = {
    {"equal", DT_F32, "1 2", "1 2", true, 0, 0, 0},
    {"one rounding", DT_F32, "1 1.9999999", "1 2", true, 0x1p-23, 0x1p-24, 1},
    {"too far", DT_F32, "1 2", "1 2.5", false, 0.5, 0.2, 2097152},
    {"noise around 0", DT_F32, "1 1e-6", "1 0", true, 9.999999974752427e-07, 0, 897988541},
    {"NaN is NaN", DT_F32, "nan 1", "nan 1", true, 0, 0, 0},
    {"NaN of other bits", DT_F32, "-nan 1", "nan 1", true, 0, 0, 0},
    {"NaN is not 1", DT_F32, "nan 1", "1 1", false, INFINITY, INFINITY, INT64_MAX},
    {"1 is not NaN", DT_F32, "1 1", "nan 1", false, INFINITY, 0, INT64_MAX},
    {"infinity is infinity", DT_F32, "inf -inf", "inf -inf", true, 0, 0, 0},
    {"infinity is not its other", DT_F32, "inf 1", "-inf 1", false, INFINITY, 0, 4278190080},
    {"-0 is 0", DT_F32, "-0 1", "0 1", true, 0, 0, 0},
    {"integers are exact", DT_I64, "4611686018427387905 1", "4611686018427387904 1", false, 1,
     0x1p-62, 1},
    {"bools", DT_BOOL, "1 1", "1 0", false, 1, 0, 1},
    {"halves are looser", DT_F16, "1.005 2", "1 2", true, 0.0048828125, 0.0048828125, 5},
};

static void difference_is(void **state)
{
    const CompareRow *row = *state;
    Shape shape = {1, {2}};
    Local *got = local_new_whole(row->dtype, &shape), *want = local_new_whole(row->dtype, &shape);
    read_elements(row->got, got);
    read_elements(row->want, want);
    Difference difference = {.ok = true};
    local_compare(got, want, tolerance_for(row->dtype, local_range(want)), &difference);
    assert_int_equal(difference.ok, row->ok);
    assert_true(difference.max_abs == row->max_abs);
    assert_true(difference.max_rel == row->max_rel);
    assert_int_equal(difference.max_ulp, row->max_ulp);
    local_free(got);
    local_free(want);
}

/* ---- operators ---- */

/* Families whose operators all run, but for those that are known before the run. */
static bool runs_all(const char *family)
{
    static const char *const names[] = {"elementwise", "reduce", "shape", "index"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(family, names[i]) == 0)
            return true;
    return false;
}

static void operators_with_a_rule_have_a_kernel(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        bool never_runs = strcmp(row->name, "Shape") == 0 || strcmp(row->name, "Size") == 0;
        if (runs_all(row->family) && !kernel_find(NULL, row->name) && !never_runs)
            fail_msg("there is no kernel of %s", row->name);
    }
    arena_free(arena);
}

/* Whether a clause of the column `gradient` names the kernel. */
static bool differentiates(Arena *arena, const Operator *row, const char *kernel)
{
    Derivative derivative;
    Error err = {0};
    if (!row->gradient)
        return false;
    if (!derivative_read(arena, row->gradient, &derivative, &err))
        fail_msg("%s: %s", row->name, err.text);
    for (int i = 0; i < derivative.n; i++)
        if (derivative.clause[i].kernel && strcmp(derivative.clause[i].kernel, kernel) == 0)
            return true;
    return false;
}

static void gradients_name_kernels(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (const Operator *row = NULL; (row = operator_next(row));) {
        Derivative derivative = {0};
        Error err = {0};
        if (row->gradient && !derivative_read(arena, row->gradient, &derivative, &err))
            fail_msg("%s: %s", row->name, err.text);
        for (int i = 0; i < derivative.n; i++)
            if (derivative.clause[i].kernel &&
                strcmp(derivative.clause[i].kernel, "branch") != 0 && /* derivative.h: no kernel */
                !kernel_find(&(OpSpace){.kernel = derivative.clause[i].kernel}, "no operator"))
                fail_msg("%s: there is no kernel '%s'", row->name, derivative.clause[i].kernel);
    }
    arena_free(arena);
}

/* The columns `kernel` and `gradient` of the operators' rows: each name is of a kernel, each kernel
 * is named. */
static void rows_and_kernels_name_each_other(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (const Operator *row = NULL; (row = operator_next(row));)
        if (row->kernel && !kernel_find(NULL, row->name))
            fail_msg("%s: there is no kernel '%s'", row->name, row->kernel);
    for (const Kernel *const *family = kernel_families; *family; family++)
        for (const Kernel *kernel = *family; kernel->name; kernel++) {
            bool used = false;
            for (const Operator *row = NULL; !used && (row = operator_next(row));)
                used = (row->kernel && strcmp(row->kernel, kernel->name) == 0) ||
                       differentiates(arena, row, kernel->name);
            if (!used)
                fail_msg("no operator has the kernel '%s'", kernel->name);
        }
    arena_free(arena);
}

/* Whether the name stands in an expression, and is no part of a longer one. */
static bool reads(const char *expression, char name)
{
    for (const char *at = expression; *at; at++)
        if (*at == name && (at == expression || (!isalnum(at[-1]) && at[-1] != '_')) &&
            !isalnum(at[1]) && at[1] != '_')
            return true;
    return false;
}

/* An expression that reads p or q without a row of attributes would read 0, on one device as on
 * many. */
static void expressions_have_their_attributes(void **state)
{
    static const struct {
        const char *name, *expressions;
    } elements[] = {
#define FF(id, rounding, name, n, expression) {name, #expression},
#define II(id, name, n, expression) {name, #expression},
#define BB(id, rounding, name, n, of_floats, of_ints) {name, #of_floats " " #of_ints},
        ELEMENT_ROWS(FF, II, BB)
#undef FF
#undef II
#undef BB
    };
    static const struct {
        const char *name, *p, *q;
    } attributes[] = {
#define ROW(name, p, p_default, q, q_default) {name, p, q},
        ELEMENT_ATTRIBUTES(ROW)
#undef ROW
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(elements); i++) {
        bool p = false, q = false;
        for (size_t k = 0; k < COUNT_OF(attributes); k++)
            if (strcmp(attributes[k].name, elements[i].name) == 0) {
                p = attributes[k].p != NULL;
                q = attributes[k].q != NULL;
            }
        if ((reads(elements[i].expressions, 'p') && !p) ||
            (reads(elements[i].expressions, 'q') && !q))
            fail_msg("%s: '%s' reads an attribute that ELEMENT_ATTRIBUTES does not name",
                     elements[i].name, elements[i].expressions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_their_attributes),
        cmocka_unit_test(rows_and_kernels_name_each_other),
        cmocka_unit_test(gradients_name_kernels),
        cmocka_unit_test(operators_with_a_rule_have_a_kernel),
        cmocka_unit_test(halves_survive_a_round_trip),
        cmocka_unit_test(ulps_are_counted),
        cmocka_unit_test(draws_are_uniform_and_their_own),
        cmocka_unit_test(weights_are_scaled_by_what_is_summed),
    };
    return run_rows("op", rows, op_is) + run_rows("feed", feed_rows, part_is_what_is_known) +
           run_rows("tokens", token_rows, tokens_are_drawn_over_the_table) +
           run_rows("compare", compare_rows, difference_is) +
           cmocka_run_group_tests_name("elements", tests, NULL, NULL);
}
