/* Kernels of the layers of models and of signals, on whole tensors: small ops worked out by hand or
 * by ONNX's own reference. */
#include "tests/unit/kernel_rows.h"

/* clang-format off */
static OpRow rows[] = {
    /* recurrent */
    {"a state along a sequence", "y h <- RNN f32[3,1,1] f32[1,1,1] f32[1,1,1] hidden_size=1", {"1 2 -1", "0.5", "0.25"}, "f32[3,1,1,1] 0.462117 0.806008 -0.289937; f32[1,1,1] -0.289937", 22},
    {"backwards", "y h <- RNN f32[3,1,1] f32[1,1,1] f32[1,1,1] hidden_size=1 direction=\"reverse\"", {"1 2 -1", "0.5", "0.25"}, "f32[3,1,1,1] 0.589672 0.708652 -0.462117; f32[1,1,1] 0.589672", 22},
    {"update and reset", "y h <- GRU f32[2,1,1] f32[1,3,1] f32[1,3,1] f32[1,6] hidden_size=1", {"1 -2", "0.5 0.25 -1", "1 -1 0.5", "0.1 0.2 0.3 0.4 0.5 0.6"}, "f32[2,1,1,1] -0.0268048 0.614933; f32[1,1,1] 0.614933", 22},
    {"reset after the product", "y h <- GRU f32[2,1,1] f32[1,3,1] f32[1,3,1] f32[1,6] hidden_size=1 linear_before_reset=1", {"1 -2", "0.5 0.25 -1", "1 -1 0.5", "0.1 0.2 0.3 0.4 0.5 0.6"}, "f32[2,1,1,1] -0.0702312 0.606719; f32[1,1,1] 0.606719", 22},
    {"gates that look at the cell", "y h c <- LSTM f32[2,1,1] f32[1,4,1] f32[1,4,1] f32[1,8] - f32[1,1,1] f32[1,1,1] f32[1,3] hidden_size=1", {"1 -2", "0.5 0.25 -1 1", "1 -1 0.5 0.25", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8", "0.5", "-0.5", "0.3 0.2 0.1"}, "f32[2,1,1,1] 0.314146 0.0899303; f32[1,1,1] 0.0899303; f32[1,1,1] 0.179833", 22},
    /* attention */
    {"a query and two keys", "y <- Attention f32[1,1,1,2] f32[1,1,2,2] f32[1,1,2,1]", {"1 2", "1 0 0 1", "10 20"}, "f32[1,1,1,1] 16.6976", 23},
    {"heads packed, two on one of keys", "y <- Attention f32[1,1,4] f32[1,2,2] f32[1,2,1] q_num_heads=2 kv_num_heads=1 scale=1.0", {"1 2 3 4", "1 0 0 1", "10 20"}, "f32[1,1,2] 17.3106 17.3106", 23},
    {"causal", "y <- Attention f32[1,1,2,1] f32[1,1,2,1] f32[1,1,2,1] is_causal=1", {"1 2", "1 2", "10 20"}, "f32[1,1,2,1] 10 18.808", 23},
    {"a query that may look at nothing", "y <- Attention f32[1,1,2,1] f32[1,1,2,1] f32[1,1,2,1] bool[2,2]", {"1 2", "1 2", "10 20", "0 0 0 1"}, "f32[1,1,2,1] 0 20", 23},
    {"a mask that is added", "y <- Attention f32[1,1,2,1] f32[1,1,2,1] f32[1,1,2,1] f32[1,2]", {"1 2", "1 2", "10 20", "0 -1"}, "f32[1,1,2,1] 15 17.3106", 23},
    {"kept keys and values", "y k v <- Attention f32[1,1,1,1] f32[1,1,1,1] f32[1,1,1,1] - f32[1,1,2,1] f32[1,1,2,1] is_causal=1", {"1", "3", "30", "1 2", "10 20"}, "f32[1,1,1,1] 25.7521; f32[1,1,3,1] 1 2 3; f32[1,1,3,1] 10 20 30", 23},
    {"a window of the last two", "y <- Attention f32[1,1,3,1] f32[1,1,3,1] f32[1,1,3,1] is_causal=1 left_window_size=1", {"1 1 1", "1 2 3", "10 20 30"}, "f32[1,1,3,1] 10 17.3106 27.3106", 25},
    {"keys that are padding", "y <- Attention f32[1,1,1,1] f32[1,1,3,1] f32[1,1,3,1] - - - i64[1]", {"1", "1 2 3", "10 20 30", "2"}, "f32[1,1,1,1] 17.3106", 24},
    {"capped scores told", "y - - s <- Attention f32[1,1,1,1] f32[1,1,2,1] f32[1,1,2,1] softcap=2.0 qk_matmul_output_mode=1", {"2", "1 3", "10 20"}, "f32[1,1,1,1] 16.1465; ; ; f32[1,1,1,2] 1.52319 1.99011", 23},
    {"halves turned", "y <- RotaryEmbedding f32[1,1,2,4] f32[3,2] f32[3,2] i64[1,2]", {"1 2 3 4 5 6 7 8", "1 1 0.5 0 0 -1", "0 0 0.5 1 1 0", "1 2"}, "f32[1,1,2,4] -1 -4 2 2 -7 -6 5 -8", 23},
    {"neighbours turned, the rest kept", "y <- RotaryEmbedding f32[1,2,3] f32[1,2,1] f32[1,2,1] num_heads=1 interleaved=1 rotary_embedding_dim=2", {"1 2 3 4 5 6", "0 0.5", "1 0.5"}, "f32[1,2,3] -2 1 3 -0.5 4.5 6", 23},
    {"a bias of queries, keys and values, a key hidden", "y <- com.microsoft::MultiHeadAttention f32[1,1,1] f32[1,2,1] f32[1,2,1] f32[3] i32[1,2] num_heads=1", {"0", "0 5", "10 20", "1 0 3", "1 0"}, "f32[1,1,1] 13", 0},
    {"queries that see later keys", "y <- com.microsoft::GroupQueryAttention f32[1,2,1] f32[1,2,1] f32[1,2,1] - - i32[1] i32[]{2} num_heads=1 kv_num_heads=1 causal=0", {"0 0", "1 2", "10 20", "1"}, "f32[1,2,1] 15 15", 0},
    {"a buffer filled so far", "y k - <- com.microsoft::GroupQueryAttention f32[1,1,1] f32[1,1,1] f32[1,1,1] f32[1,1,3,1] f32[1,1,3,1] i32[1] i32[]{3} num_heads=1 kv_num_heads=1", {"0", "2", "20", "1 9 9", "10 90 90", "1"}, "f32[1,1,1] 15; f32[1,1,3,1] 1 2 0; ", 0},
    /* states along positions */
    {"a state that adds up", "y s <- LinearAttention f32[1,2,2] f32[1,2,2] f32[1,2,1] q_num_heads=1 kv_num_heads=1 update_rule=\"linear\" scale=1.0", {"1 2 3 4", "1 0 0 1", "10 20"}, "f32[1,2,1] 10 110; f32[1,1,2,1] 10 20", 27},
    {"a state that decays and is corrected", "y s <- LinearAttention f32[1,2,2] f32[1,2,2] f32[1,2,1] f32[1,1,2,1] f32[1,2,1] f32[1,2,1] q_num_heads=1 kv_num_heads=1 scale=1.0", {"1 2 3 4", "1 0 0 1", "10 20", "1 1", "0 -1", "1 0.5"}, "f32[1,2,1] 12 51.7721; f32[1,1,2,1] 3.67879 10.1839", 27},
    {"kept positions before", "y s <- CausalConvWithState f32[1,1,3] f32[1,1,3] f32[1] f32[1,1,2]", {"1 2 3", "1 10 100", "0.5", "7 8"}, "f32[1,1,3] 187.5 218.5 321.5; f32[1,1,2] 2 3", 27},
    {"through the gate of its sigmoid", "y <- CausalConvWithState f32[1,1,2] f32[1,1,1] activation=\"silu\"", {"1 -1", "2"}, "f32[1,1,2] 1.76159 -0.238406", 27},
    /* signals */
    {"a length of a power of two", "y <- DFT f32[1,4,1]", {"1 2 3 4"}, "f32[1,4,2] 10 0 -2 2 -2 0 -2 -2", 20},
    {"another length, one-sided", "y <- DFT f32[1,3,1] onesided=1", {"1 2 4"}, "f32[1,2,2] 7 0 -2 1.73205", 20},
    {"the way back", "y <- DFT f32[1,4,2] inverse=1", {"10 0 -2 2 -2 0 -2 -2"}, "f32[1,4,2] 1 0 2 0 3 0 4 0", 20},
    {"longer than the signal", "y <- DFT f32[1,2,1] i64[]{4}", {"1 2"}, "f32[1,4,2] 3 0 1 -2 -1 0 1 2", 20},
    {"frames by a window", "y <- STFT f32[1,5,1] i64[]{2} f32[3]", {"1 2 3 4 5", "1 2 1"}, "f32[1,2,2,2] 8 0 -2.5 -0.866025 16 0 -3.5 -2.59808", 17},
    {"hann", "y <- HannWindow i64[]{4}", {NULL}, "f32[4] 0 0.5 1 0.5", 17},
    {"hamming, symmetric", "y <- HammingWindow i64[]{4} periodic=0", {NULL}, "f32[4] 0.0869565 0.771739 0.771739 0.0869565", 17},
    {"blackman", "y <- BlackmanWindow i64[]{4}", {NULL}, "f32[4] 0 0.34 1 0.34", 17},
    {"mel bands", "y <- MelWeightMatrix i64[]{2} i64[]{16} i64[] f32[] f32[]", {"8000", "0", "4000"}, "f32[9,2] 1 0 0.5 0.5 0 1 0 0.5 0 0 0 0 0 0 0 0 0 0", 17},
    /* between the places of an image */
    {"places of a grid", "y <- GridSample f32[1,1,2,2] f32[1,1,3,2] align_corners=1 mode=\"linear\"", {"1 2 3 4", "0 0 -1 1 2 0"}, "f32[1,1,1,3] 2.5 3 1.5", 20},
    {"the nearest, beyond the border", "y <- GridSample f32[1,1,2,2] f32[1,1,2,2] mode=\"nearest\" padding_mode=\"border\"", {"1 2 3 4", "-3 0.9 0.4 -0.4"}, "f32[1,1,1,2] 3 2", 20},
    {"mirrored", "y <- GridSample f32[1,1,3] f32[1,2,1] mode=\"linear\" padding_mode=\"reflection\"", {"1 2 4", "1.5 -1.2"}, "f32[1,1,2] 3.5 1", 20},
    {"a grid of a turn", "y <- AffineGrid f32[1,2,3] i64[4]{1,1,2,2}", {"0 -1 0.5 1 0 0"}, "f32[1,2,2,2] 1 -0.5 1 0.5 0 -0.5 0 0.5", 20},
    {"a mean of samples of a region", "y <- RoiAlign f32[1,1,3,3] f32[1,4] i64[1] output_height=1 output_width=2 sampling_ratio=2", {"1 2 3 4 5 6 7 8 9", "0 0 2 2", "0"}, "f32[1,1,1,2] 2.625 3.5", 16},
    {"the largest of a bin", "y <- MaxRoiPool f32[2,1,3,3] f32[1,5] pooled_shape=[2,1]", {"1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19", "1 0 0 1 2"}, "f32[1,1,2,1] 15 18", 22},
    {"offsets of the elements", "y <- DeformConv f32[1,1,2,2] f32[1,1,1,1] f32[1,2,2,2] f32[1]", {"1 2 3 4", "2", "0 0.5 0 0 0 0 0 -1", "0.5"}, "f32[1,1,2,2] 2.5 6.5 6.5 6.5", 22},
    {"put back where they were", "y <- MaxUnpool f32[1,1,1,2] i64[1,1,1,2] kernel_shape=[2,2] strides=[2,2]", {"5 7", "1 6"}, "f32[1,1,2,4] 0 5 0 0 0 0 7 0", 22},
    {"columns summed", "y <- Col2Im f32[1,2,2] i64[1]{3} i64[1]{2}", {"1 2 10 20"}, "f32[1,1,3] 1 12 20", 18},
    /* fused */
    {"gelu with a bias", "y <- com.microsoft::BiasGelu f32[1,2] f32[2]", {"0 2", "1 -1"}, "f32[1,2] 0.841345 0.841345", 0},
    {"a sum, then its norm", "y - - s <- com.microsoft::SkipLayerNormalization f32[1,2] f32[1,2] f32[2] f32[2] f32[2] epsilon=0.0", {"1 2", "3 5", "1 2", "10 20", "0 1"}, "f32[1,2] 9 22; ; ; f32[1,2] 4 8", 0},
    {"rows of tables, then their norm", "y m s <- com.microsoft::EmbedLayerNormalization i32[1,2] - f32[2,2] f32[2,2] - f32[2] f32[2] i32[1,2] epsilon=0.0", {"1 0", "0 0 1 3", "0 1 4 2", "1 2", "10 20", "1 0"}, "f32[1,2,2] 9 22 11 18; i32[1] 1; f32[1,2,2] 1 4 4 2", 0},
    {"columns scaled", "y <- ai.onnx.ml::Scaler f32[2,2] offset=[1.0,2.0] scale=[10.0,0.5]", {"1 2 3 4"}, "f32[2,2] 0 0 20 1", 0},
    {"above a threshold", "y <- ai.onnx.ml::Binarizer f32[1,3] threshold=1.0", {"0.5 1 2"}, "f32[1,3] 0 0 1", 0},
    {"rows by their largest", "y <- ai.onnx.ml::Normalizer f32[2,2]", {"1 -4 0 0"}, "f32[2,2] 0.25 -1 0 0", 0},
    {"rows by their sum", "y <- ai.onnx.ml::Normalizer f32[1,2] norm=\"L1\"", {"1 -4"}, "f32[1,2] 0.2 -0.8", 0},
    {"rows by their length", "y <- ai.onnx.ml::Normalizer f32[1,2] norm=\"L2\"", {"3 -4"}, "f32[1,2] 0.6 -0.8", 0},
    {"a linear model", "y <- ai.onnx.ml::LinearRegressor f32[2,2] targets=2 coefficients=[1.0,2.0,0.5,-1.0] intercepts=[10.0,20.0]", {"1 2 3 4"}, "f32[2,2] 15 18.5 21 17.5", 0},
    {"a column a category", "y <- ai.onnx.ml::OneHotEncoder i64[3] cats_int64s=[7,3]", {"3 7 5"}, "f32[3,2] 0 1 1 0 0 0", 0},
    {"a number for what is missing", "y <- ai.onnx.ml::Imputer f32[2,2] imputed_value_floats=[5.0,6.0] replaced_value_float=-1.0", {"-1 2 3 -1"}, "f32[2,2] 5 2 3 6", 0},
    {"tables side by side", "y <- ai.onnx.ml::FeatureVectorizer f32[2,1] f32[2,2]", {"1 2", "3 4 5 6"}, "f32[2,3] 1 3 4 2 5 6", 0},
    {"linear classes", "l s <- ai.onnx.ml::LinearClassifier f32[2,2] classlabels_ints=[7,8,9] coefficients=[1.0,0.0,0.0,1.0,-1.0,-1.0] intercepts=[0.5,0.0,0.0]", {"1 2 -3 1"}, "i64[2] 8 9; f32[2,3] 1.5 2 -3 -2.5 1 2", 0},
    {"two classes of one row of coefficients", "l s <- ai.onnx.ml::LinearClassifier f32[2,1] classlabels_ints=[7,8] coefficients=[2.0]", {"1 -1"}, "i64[2] 8 7; f32[2,2] -2 2 2 -2", 0},
    {"trees", "y <- ai.onnx.ml::TreeEnsembleRegressor f32[3,2] n_targets=2 nodes_treeids=[0,0,0,1] nodes_nodeids=[0,1,2,0] nodes_featureids=[1,0,0,0] nodes_values=[0.5,0.0,0.0,0.0] nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\",\"LEAF\"] nodes_truenodeids=[1,0,0,0] nodes_falsenodeids=[2,0,0,0] target_treeids=[0,0,1] target_nodeids=[1,2,0] target_ids=[0,1,1] target_weights=[1.5,2.5,0.25] base_values=[10.0,20.0]", {"9 0.5 9 0.75 9 nan"}, "f32[3,2] 11.5 20.25 10 22.75 10 22.75", 0},
    {"numbers for numbers", "y <- ai.onnx.ml::LabelEncoder i64[3] keys_int64s=[7,3] values_floats=[0.5,1.5] default_float=9.0", {"3 7 5"}, "f32[3] 1.5 0.5 9", 0},
    {"chosen columns", "y <- ai.onnx.ml::ArrayFeatureExtractor f32[2,3] i64[2]", {"1 2 3 4 5 6", "2 0"}, "f32[2,2] 3 1 6 4", 0},
    {"a gate of the other half", "y <- Swiglu f32[1,4]", {"0 1 3 5"}, "f32[1,2] 0 3.65529", 0},
    {"a product with a bias", "y <- Linear f32[1,2] f32[3,2] f32[3]", {"1 2", "1 0 0 1 1 1", "10 20 30"}, "f32[1,3] 11 22 33", 0},
    {"both matrices turned", "y <- com.microsoft::FusedMatMul f32[2,1] f32[2,2] transA=1 transB=1 alpha=2.0", {"1 2", "1 2 3 4"}, "f32[1,2] 10 22", 0},
};

static OpRow few_rows[] = {
    /* integers */
    {"less zero points", "y <- MatMulInteger u8[2,2] i8[2,1] u8[2] i8[]", {"1 2 3 4", "5 -6", "1 2", "1"}, "i32[2,1] -7 -10", 10},
    {"rounded to even", "y <- QLinearMatMul u8[1,2] f32[] u8[] u8[2,2] f32[] u8[] f32[] u8[]", {"1 3", "0.5", "1", "2 4 6 200", "1", "0", "4", "3"}, "u8[1,2] 5 53", 10},
    {"a convolution rounded", "y <- QLinearConv u8[1,1,1,3] f32[] u8[] i8[1,1,1,2] f32[1] i8[1] f32[] u8[] i32[1]", {"1 2 30", "0.5", "1", "2 -4", "0.5", "0", "1", "100", "10"}, "u8[1,1,1,2] 102 74", 10},
    {"operands with a scale each", "y <- com.microsoft::QLinearAdd u8[2] f32[] u8[] u8[2] f32[] u8[] f32[] u8[]", {"10 20", "0.5", "2", "4 200", "1", "0", "2", "3"}, "u8[2] 7 107", 0},
    {"a weight of 4 bits", "y <- com.microsoft::MatMulNBits f32[1,16] u8[1,1,8] f32[1] K=16 N=1 bits=4 block_size=16", {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 3", "152 152 152 152 152 152 152 152", "0.5"}, "f32[1,1] 5", 0},
    /* elements of few bits */
    {"to an 8-bit float, saturating", "y <- Cast f32[8] to=17", {"0.001 17 19 464 465 1e9 -inf nan"}, "f8e4m3fn[8] 0.00195312 16 20 448 448 448 -448 nan", 19},
    {"to an 8-bit float, or NaN", "y <- Cast f32[4] to=17 saturate=0", {"17 464 465 -inf"}, "f8e4m3fn[4] 16 448 nan nan", 19},
    {"to one with infinities", "y <- Cast f32[5] to=19 saturate=0", {"1.1 57344 61439 61440 -1e9"}, "f8e5m2[5] 1 57344 57344 inf -inf", 19},
    {"to one without -0", "y <- Cast f32[4] to=18", {"-0.0 -240 1e9 0.0004"}, "f8e4m3fnuz[4] 0 -240 240 0", 19},
    {"to powers of two", "y <- Cast f32[4] to=24", {"1 1.1 0.75 4"}, "f8e8m0[4] 1 2 1 4", 24},
    {"to powers of two below", "y <- Cast f32[4] to=24 round_mode=\"down\"", {"1 1.1 0.75 5"}, "f8e8m0[4] 1 1 0.5 4", 24},
    {"to 4-bit floats", "y <- Cast f32[6] to=23", {"0.25 0.75 2.5 5 100 -100"}, "f4e2m1[6] 0 1 2 4 6 -6", 23},
    {"to 4-bit integers that wrap", "y <- Cast i32[4] to=22", {"7 8 -9 17"}, "i4[4] 7 -8 7 1", 21},
    {"to 2 bits without sign", "y <- Cast i32[4] to=25", {"3 4 -1 2"}, "u2[4] 3 0 3 2", 25},
    {"from an 8-bit float", "y <- Cast f8e5m2[3] to=1", {"0.3 57344 -1.75"}, "f32[3] 0.3125 57344 -1.75", 19},
    {"quantized to 4 bits", "y <- QuantizeLinear f32[4] f32[] i4[]", {"-20 0.5 3 40", "2", "1"}, "i4[4] -8 1 3 7", 21},
    {"quantized to an 8-bit float", "y <- QuantizeLinear f32[3] f32[] f8e4m3fn[]", {"1 3 5000", "2", "0"}, "f8e4m3fn[3] 0.5 1.5 448", 19},
    {"blocks with a scale each", "y <- DequantizeLinear u4[1,4] f32[1,2] u4[1,2] axis=1 block_size=2", {"1 2 3 15", "0.5 2", "1 0"}, "f32[1,4] 0 0.5 6 30", 21},
    {"the same bits", "y <- BitCast f32[2] to=6", {"1 -2"}, "i32[2] 1065353216 -1073741824", 26},
};
/* clang-format on */

int main(void)
{
    return run_rows("layers", rows, op_is) + run_rows("few bits", few_rows, op_is);
}
