#include "core/base/str.h"
#include "core/rules/alias.h"
#include "core/rules/registry.h"
#include "tests/unit/rule_text.h"

static RuleCase pointwise[] = {
    {"one operand", "y <- Rsqrt f32[4,1,8]", "d0 1 d2 -> d0 1 d2 | f32[4,1,8]", 0},
    {"two operands", "y <- Atan2 f32[4,8] f32[8]", "d0 d1, d1 -> d0 d1 | f32[4,8]", 0},
    {"a comparison", "y <- NotEqual f32[4] f32[]", "d0,  -> d0 | bool[4]", 0},
    {"real part", "y <- Real c64[4]", "d0 -> d0 | f32[4]", 0},
    {"type by number", "y <- ConvertType f32[4] dtype=10", "d0 -> d0 | f16[4]", 0},
    {"copied onto", "y <- CopyOnto f16[4,8] f32[8]", "d0 d1, d1 -> d0 d1 | f16[4,8]", 0},
    {"copied onto fewer", "y <- CopyOnto f32[8] f32[4,8]", "an input is larger than its input 0",
     0},
    {"filled like", "y <- FillLike f32[4,8] dtype=7", "d0 d1 -> d0 d1 | i64[4,8]", 0},
    {"filled anew", "y <- NewFull f16[4,8] size=[3,5]", "4 8 -> n0 n1 | f16[3,5]", 0},
    {"filled anew, the same shape", "y <- NewFull f16[4,8] size=[4,8]", "d0 d1 -> d0 d1 | f16[4,8]",
     0},
    {"filled", "y <- Full size=[3,5]", " -> n0 n1 | f32[3,5]", 0},
    {"counted", "y <- Arange start=2 end=9 step=3", " -> 3 | i64[3]", 0},
    {"counted in halves", "y <- Arange end=2.25 step=0.5", " -> 5 | f32[5]", 0},
    {"counted back", "y <- Arange start=9 end=2 step=-3", " -> 3 | i64[3]", 0},
    {"counted by nothing", "y <- Arange end=9 step=0", "its step is 0, or its end too far", 0},
    {"identity matrix", "y <- Eye n=3 m=4", " -> 3 4 | f32[3,4]", 0},
    {"as complex", "y <- ViewAsComplex f32[4,2]", "d0 2 -> d0 | c64[4]", 0},
    {"as real", "y <- ViewAsReal c64[4]", "d0 -> d0 2 | f32[4,2]", 0},
    {"each of a list", "a b <- ForeachUnary f32[4,8] f32[6]",
     "a0 a1, b0 -> a0 a1, b0 | f32[4,8] "
     "f32[6]",
     0},
    {"each of two lists", "a b <- ForeachBinary f32[4] f32[6] f32[4] f32[6]",
     "a0, b0, a0, b0 -> a0, b0 | f32[4] f32[6]", 0},
    {"norms of a list", "a b <- ForeachNorm f32[4,8] f32[6]", "4 8, 6 -> ,  | f32[] f32[]", 0},
    {"dropout and sum", "y s <- FusedDropoutAdd f32[4,8] f32[4,8] i64[2]",
     "d0 d1, d0 d1, 2 -> d0 d1, 2 | f32[4,8] i64[2]", 0},
};

static RuleCase moves[] = {
    {"flatten", "y <- FlattenDims f32[2,3,4,5] start_axis=1 stop_axis=2",
     "a b c d -> a (b c) d | f32[2,12,5] view", 0},
    {"flatten a scalar", "y <- FlattenDims f32[]", " -> 1 | f32[1] view", 0},
    {"squeeze some", "y <- torch::squeeze f32[1,4,1] dim=[0,1]", "1 a 1 -> a 1 | f32[4,1] view", 0},
    {"reshape as", "y <- ReshapeAs f32[4,6] f32[24]", "a b, 24 -> (a b) | f32[24] view", 0},
    {"swap", "y <- SwapAxes f32[2,3,4] axis0=0 axis1=-1", "d0 d1 d2 -> d2 d1 d0 | f32[4,3,2]", 0},
    {"move", "y <- MoveAxis f32[2,3,4] source=0 destination=2", "d0 d1 d2 -> d1 d2 d0 | f32[3,4,2]",
     0},
    {"transpose back", "y <- TransposeBack f32[2,3,4] perm=[1,2,0]",
     "d0 d1 d2 -> d2 d0 d1 | f32[4,2,3]", 0},
    {"broadcast", "y <- BroadcastTo f32[4,1] shape=[2,-1,3]", "d1 1 -> d0 d1 d2 | f32[2,4,3]", 0},
    {"broadcast to less", "y <- BroadcastTo f32[4,5] shape=[4,1]",
     "its input 0 is larger than its target", 0},
    {"expand as", "y <- ExpandAs f32[4,1] f32[2,4,3]", "d1 1, d0 d1 d2 -> d0 d1 d2 | f32[2,4,3]",
     0},
    {"repeat", "y <- Repeat f32[3,2] repeats=[5,1,4]", "d0 d1 -> t0 d0 (t2 d1) | f32[5,3,8]", 0},
    {"repeat each", "y <- RepeatInterleave f32[3,2] axis=0 repeats=4",
     "d0 d1 -> (d0 t0) d1 | f32[12,2]", 0},
    {"roll", "y <- Roll f32[3,4] shifts=[1] axes=[1]", "d0 {j1-1} -> d0 j1 | f32[3,4]", 0},
    {"flip all", "y <- Flip f32[3,4]", "3 4 -> 3 4 | f32[3,4]", 0},
    {"select", "y <- Select f32[3,4,5] axis=1 index=-1", "d0 4 d2 -> d0 d2 | f32[3,5]", 0},
    {"select what is not there", "y <- Select f32[3,4] axis=1 index=4",
     "axis 4 is out of range for 4 dims", 0},
    {"unbind", "a b c <- Unbind f32[3,4]", "3 d1 -> d1, d1, d1 | f32[4] f32[4] f32[4]", 0},
    {"unbind into fewer", "a b <- Unbind f32[3,4]", "it has 2 outputs for a dim of 3", 0},
    {"chunks", "a b <- Chunk f32[8,3]", "(p^ j) d1 -> j d1, j d1 | f32[4,3] f32[4,3]", 0},
    {"parts of a size", "a b c <- Chunk f32[8] size=3", "8 -> 3, 3, 2 | f32[3] f32[3] f32[2]", 0},
    {"parts listed", "a b <- Chunk f32[8] size=[3,5]", "8 -> 3, 5 | f32[3] f32[5]", 0},
    {"parts that do not add up", "a b <- Chunk f32[8] size=[3,4]",
     "its 2 outputs do not make up the 8 of their axis", 0},
    {"stack", "y <- Stack f32[4,5] f32[4,5] axis=1", "d0 d1, d0 d1 -> d0 2 d1 | f32[4,2,5]", 0},
    {"stack of unlike", "y <- Stack f32[4] f32[5]", "its input 0 is [4], and its input 1 [5]", 0},
    {"slice scatter", "y <- PartScatter f32[4,8] f32[4,3] axis=1", "d0 8, d0 3 -> d0 8 | f32[4,8]",
     0},
    {"select scatter", "y <- PartScatter f32[4,8] f32[8] axis=0", "4 d1, d1 -> 4 d1 | f32[4,8]", 0},
    {"pad pairs", "y <- PadPairs f32[4,8] paddings=[0,0,1,2]", "d0 8 -> d0 11 | f32[4,11]", 0},
    {"pad from the last", "y <- PadPairs f32[4,8] pad=[1,2]", "d0 8 -> d0 11 | f32[4,11]", 0},
    {"pad an axis", "y <- PadPairs f32[4,8] axis=0 before=1 after=-1", "4 d1 -> 4 d1 | f32[4,8]",
     0},
    {"pad away", "y <- PadPairs f32[4] pad=[-3,-2]", "dim 0 has no size left", 0},
};

static RuleCase orders[] = {
    {"sort", "y i <- Sort f32[4,8] axis=0", "d^ d1 -> d^ d1, d^ d1 | f32[4,8] i64[4,8]", 0},
    {"running sum of all", "y <- CumSum f32[4,8] flatten=1", "4 8 -> 32 | f32[32]", 0},
    {"largest", "y i <- MaxWithIndex f32[4,8] axis=1 keepdims=1",
     "d0 d^ -> d0 1, d0 1 | f32[4,1] i64[4,1]", 0},
    {"k-th", "y i <- KthValue f32[4,8] axis=0 k=2", "d^ d1 -> d1, d1 | f32[8] i64[8]", 0},
    {"where the largest is", "y <- torch::argmax f32[4,8] dim=1", "d0 d^ -> d0 | i64[4]", 0},
    {"where the largest of all is", "y <- torch::argmax f32[4,8]", "4 8 ->  | i64[]", 0},
    {"any", "y <- ReduceAny bool[4,8] axes=[1]", "d0 d1+ -> d0  d1:any | bool[4]", 0},
    {"all", "y <- ReduceAll bool[4,8] keepdims=1", "d0+ d1+ -> 1 1  d0:all  d1:all | bool[1,1]", 0},
    {"variance", "y m <- VarMean f32[4,8] axes=[0]", "d0^ d1 -> d1, d1 | f32[8] f32[8]", 0},
    {"sum of absolute values", "y <- VectorNorm f32[4,8] axes=[1] ord=1", "d0 d1+ -> d0 | f32[4]",
     0},
    {"norm", "y <- VectorNorm f32[4,8] axes=[1]", "d0 d1^ -> d0 | f32[4]", 0},
    {"how many", "y <- NumElements f32[4,8]", "d0+ d1+ ->  | i64[]", 0},
    {"histogram", "y <- Histogram f32[4,8] bins=8 max=1", "d0+ d1+ -> 8 | f32[8]", 0},
    {"histogram of its own range", "y <- Histogram f32[4] bins=8", "d^ -> 8 | f32[8]", 0},
    {"bucketize", "y <- Bucketize f32[4,8] f32[16]", "d0 d1, b+ -> d0 d1 | i64[4,8]", 0},
    {"search sorted rows", "y <- SearchSorted f32[4,16] f32[4,8]",
     "d0 b+, d0 d1 -> d0 d1 | "
     "i64[4,8]",
     0},
    {"rows of what is not zero", "y <- NonZeroRows f32[4,8]", "4 8 -> ? | i64[?,2]", 0},
    {"what differs", "y i n <- Unique2 f32[4,8]", "4 8 -> ?, ?, ? | f32[?] i64[4,8] i64[?]", 0},
};

static RuleCase positions[] = {
    {"index", "y <- Index f32[4,5,6] i64[2,3] axes=[1]",
     "d0 5 d2, i0 i1 -> d0 i0 i1 d2 | "
     "f32[4,2,3,6]",
     0},
    {"index by two", "y <- Index f32[4,5,6] i64[3,1] i64[2]",
     "4 5 d2, i0 1, i1 -> i0 i1 d2 | "
     "f32[3,2,6]",
     0},
    {"index by two apart", "y <- Index f32[4,5,6] i64[3] i64[3] axes=[0,2]",
     "4 d1 6, i0, i0 -> i0 d1 | f32[3,5]", 0},
    {"index by a mask", "y <- Index f32[4,5] bool[4,5]", "4 5, 4 5 -> ? | f32[..]", 0},
    {"index put", "y <- IndexPut f32[4,5] i64[3] f32[3,5]", "4 d1, 3, 3 d1 -> 4 d1 | f32[4,5]", 0},
    {"index put that adds", "y <- IndexPut f32[4,5] i64[3] f32[5] accumulate=1",
     "4 d1, i0+, d1 -> 4 d1 | f32[4,5]", 0},
    {"index put of too much", "y <- IndexPut f32[4,5] i64[3] f32[2,3,5]",
     "its input 2 is larger than what it is written to", 0},
    {"index add", "y <- IndexAdd f32[4,5] i64[3] f32[4,3] axis=1",
     "d0 5, i+, d0 i+ -> d0 5 | "
     "f32[4,5]",
     0},
    {"index copy", "y <- IndexCopy f32[4,5] i64[3] f32[4,3] axis=1",
     "d0 5, 3, d0 3 -> d0 5 | "
     "f32[4,5]",
     0},
    {"index fill", "y <- IndexFill f32[4,5] i64[3] axis=1", "d0 5, 3 -> d0 5 | f32[4,5]", 0},
    {"scatter rows", "y <- ScatterRows f32[4,5] i64[3] f32[3,5] overwrite=0",
     "4 d1, i+, i+ d1 -> 4 d1 | f32[4,5]", 0},
    {"scatter one value", "y <- ScatterSome f32[4,5] i64[4,3] axis=1",
     "d0 5, d0 3 -> d0 5 | f32[4,5]", 0},
    {"scatter some of a source", "y <- ScatterSome f32[4,5] i64[4,3] f32[6,3] axis=1",
     "d0^ 5, d0^ 3, 6 3 -> d0^ 5 | f32[4,5]", 0},
    {"diagonal", "y <- Diagonal f32[4,3,6] axis1=0 axis2=2 offset=1", "4 d1 6 -> d1 4 | f32[3,4]",
     0},
    {"onto a diagonal", "y <- Diag f32[4] offset=-1", "4 -> 5 5 | f32[5,5]", 0},
};

static RuleCase matrices[] = {
    {"product, transposed", "y <- MatMulTrans f32[2,8,4] f32[6,8] trans_x=1 trans_y=1",
     "b0 k+ m, n k+ -> b0 m n | f32[2,4,6]", 0},
    {"vector by matrix", "y <- MatMulTrans f32[8] f32[2,8,6]", "k+, b0 k+ n -> b0 n | f32[2,6]", 0},
    {"linear", "y <- Linear f32[2,4,8] f32[6,8] f32[6]",
     "d0 d1 k+, n k+, n -> d0 d1 n | "
     "f32[2,4,6]",
     0},
    {"linear that does not fit", "y <- Linear f32[4,8] f32[8,6]",
     "dim 1 of its input 0 is 8, and dim 1 of its input 1 is 6", 0},
    {"epilogue", "y r <- GemmEpilogue f32[4,8] f32[8,6] f32[6]",
     "d0 k+, k+ n, n -> d0 n, d0 n | f32[4,6] f32[4,6]", 0},
    {"batch and addend", "y <- Baddbmm f32[4,1] f32[2,4,8] f32[2,8,6]",
     "m 1, b m k+, b k+ n -> b m n | f32[2,4,6]", 0},
    {"outer", "y <- Outer f32[4] f32[6]", "m, n -> m n | f32[4,6]", 0},
    {"scaled", "y <- ScaledMatMul f32[4,8] f32[6,8] f32[4,1] f32[1,6] b_is_transposed=1",
     "m k+, n k+, m 1, 1 n -> m n | f32[4,6]", 0},
    {"grouped rows", "y <- GroupedMatMul f32[9,8] f32[2,8,6] i64[2]",
     "m^ k+, 2 k+ n, 2 -> m^ n | f32[9,6]", 0},
    {"grouped stacks", "y <- GroupedMatMul f32[2,9,8] f32[2,8,6]",
     "g m k+, g k+ n -> g m n | f32[2,9,6]", 0},
    {"gradient added", "w b <- LinearGradAdd f32[2,4,8] f32[2,4,6] f32[8,6] f32[6]",
     "d0+ d1+ i, d0+ d1+ o, i o, o -> i o, o | f32[8,6] f32[6]", 0},
    {"svd", "u s v <- Svd f32[2,6,4]",
     "d0 6 4 -> d0 6 4, d0 4, d0 4 4 | f32[2,6,4] f32[2,4] "
     "f32[2,4,4]",
     0},
    {"qr", "q r <- Qr f32[4,6]", "4 6 -> 4 4, 4 6 | f32[4,4] f32[4,6]", 0},
    {"solve", "y <- Solve f32[2,4,4] f32[2,4,6]", "d0 4 4, d0 4 n -> d0 4 n | f32[2,4,6]", 0},
    {"inverse of no square", "y <- Inverse f32[4,6]",
     "dim 0 of its input 0 is 4, and dim 1 of its input 0 is 6", 0},
    {"fourier", "y <- FftN c64[2,8,4] axes=[1,2]", "d0 d1^ d2^ -> d0 d1^ d2^ | c64[2,8,4]", 0},
    {"upsample", "y <- UpsampleTo f32[2,3,4,4] output_size=[8,8]",
     "d0 d1 4 4 -> d0 d1 8 8 | f32[2,3,8,8]", 0},
    {"unfold", "y <- Unfold f32[2,3,8,8] kernel_size=[3,3] stride=2 padding=1",
     "d0 d1 8 8 -> d0 (d1 k^) 16 | f32[2,27,16]", 0},
    {"windows", "y <- Windows f32[2,9,4] axis=1 size=3 step=2",
     "d0 {2*o+k} d2 -> d0 o d2 k | f32[2,4,4,3]", 0},
    {"windows that tile", "y <- Windows i64[8] size=4 step=4", "(o k) -> o k | i64[2,4]", 0},
    {"windows too long", "y <- Windows f32[4,6] axis=0 size=3 dilation=2",
     "no window of 3 elements fits dim 0 of its input 0", 0},
    {"boxes", "y <- RoiAlignBoxes f32[2,4,16,16] f32[6,4] i32[2] pooled_height=3 pooled_width=5",
     "2 d1 16 16, 6 4, 2 -> 6 d1 3 5 | f32[6,4,3,5]", 0},
};

static RuleCase fused[] = {
    {"attention", "y l <- ScaledDotProductAttention f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,6]",
     "b0 h f e^, b0 h c^ e^, b0 h c^ d -> b0 h f d, b0 h f | f32[2,3,4,6] f32[2,3,4]", 0},
    {"causal attention",
     "y <- ScaledDotProductAttention f32[3,4,8] f32[3,4,8] f32[3,4,8] is_causal=1",
     "h f^ e^, h c^ e^, h c^ d -> h f^ d | f32[3,4,8]", 0},
    {"attention with a mask and groups",
     "y <- ScaledDotProductAttention f32[2,6,4,8] f32[2,3,5,8] f32[2,3,5,8] f32[1,6,4,5]",
     "b0 (g r) f e^, b0 g c^ e^, b0 g c^ d, 1 (g r) f c^ -> b0 (g r) f d | f32[2,6,4,8]", 0},
    {"attention, a state of the generator",
     "y l s <- ScaledDotProductAttention f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8]",
     "b0 h f e^, b0 h c^ e^, b0 h c^ d -> b0 h f d, b0 h f,  | f32[2,3,4,8] f32[2,3,4] i64[]", 0},
    {"flash attention", "y p l s <- FlashAttention f32[2,4,3,8] f32[2,5,3,8] f32[2,5,3,8] - -",
     "b0 f h e^, b0 c^ h e^, b0 c^ h d, ?, ? -> b0 f h d, b0 h f c^, b0 h f, 2 | f32[2,4,3,8] "
     "f32[2,3,4,5] f32[2,3,4] i64[2]",
     0},
    {"keys that do not fit", "y <- ScaledDotProductAttention f32[2,4,8] f32[2,5,7] f32[2,5,8]",
     "dim 2 of its input 0 is 8, and dim 2 of its input 1 is 7", 0},
    {"rotary", "q k <- FusedRotaryEmbedding f32[2,4,6,8] f32[2,4,3,8]",
     "b s^ h0 8, b s^ h1 8 -> b s^ h0 8, b s^ h1 8 | f32[2,4,6,8] f32[2,4,3,8]", 0},
    {"rotary by tables", "q <- FusedRotaryEmbedding f32[2,4,6,8] - - f32[1,4,1,8] f32[1,4,1,8]",
     "b s h0 8, ?, ?, 1 s 1 8, 1 s 1 8 -> b s h0 8 | f32[2,4,6,8]", 0},
    {"layer norm", "y m s <- LayerNormStats f32[2,4,8] f32[8] f32[8]",
     "d0 d1 d^, d^, d^ -> d0 d1 d^, d0 d1 1, d0 d1 1 | f32[2,4,8] f32[2,4,1] f32[2,4,1]", 0},
    {"layer norm, Paddle's",
     "y m s <- LayerNormStats f32[2,4,8] f32[32] f32[32] axis=1 "
     "stats_keepdims=0",
     "d0 d1^ d2^, 32, 32 -> d0 d1^ d2^, d0, d0 | f32[2,4,8] f32[2] f32[2]", 0},
    {"group norm", "y m s <- GroupNormStats f32[2,6,5] f32[6] f32[6] groups=3",
     "n (g c^) 5, (g c^), (g c^) -> n (g c^) 5, n g, n g | f32[2,6,5] f32[2,3] f32[2,3]", 0},
    {"instance norm", "y <- InstanceNormStats f32[2,6,5] f32[6]", "n g 5, g -> n g 5 | f32[2,6,5]",
     0},
    {"batch norm", "y m v a b r <- BatchNormStats f32[2,6,5] f32[6] f32[6] f32[6] f32[6]",
     "d0^ d1 d2^, d1, d1, d1, d1 -> d0^ d1 d2^, d1, d1, d1, d1, 0 | f32[2,6,5] f32[6] f32[6] "
     "f32[6] f32[6] f32[0]",
     0},
    {"gate by halves", "y <- Swiglu f32[4,8]", "d0 (p^ d1) -> d0 d1 | f32[4,4]", 0},
    {"gate by two", "y <- Swiglu f32[4,8] f32[4,8]", "d0 d1, d0 d1 -> d0 d1 | f32[4,8]", 0},
    {"experts", "y w p n e <- MoeGateDispatch f32[16,8] f32[16,4] k=2 capacity=9",
     "16 h, 16 4 -> 4 9 h, 16 2, 2 16, 4, 16 2 | f32[4,9,8] f32[16,2] i32[2,16] i32[4] i32[16,2]",
     0},
    {"experts combined", "y <- MoeCombine f32[32,8] f32[16,2] i64[16,2]",
     "32 h, s k+, s k+ -> s h | f32[16,8]", 0},
    {"cross entropy and softmax", "p l <- CrossEntropyWithSoftmax f32[4,8] i64[4,1]",
     "d0 d^, d0 1 -> d0 d^, d0 1 | f32[4,8] f32[4,1]", 0},
    {"distance", "y <- MseLoss f32[4,8] f32[4,8]", "d0+ d1+, d0+ d1+ ->  | f32[]", 0},
};

static RuleCase gradients[] = {
    {"element-wise", "y <- ElementwiseGrad f32[4,8] f32[4,8]", "d0 d1, d0 d1 -> d0 d1 | f32[4,8]",
     0},
    {"of a broadcast sum", "x y <- BroadcastGrad f32[4,8] f32[8] f32[4,8]",
     "d^ d1, d1, d^ d1 -> d^ d1, d1 | f32[4,8] f32[8]", 0},
    {"of the smaller one", "x <- BroadcastGrad f32[8] f32[4,8]", "d1, d0+ d1 -> d1 | f32[8]", 0},
    {"of where", "x y <- WhereGrad bool[4] f32[4] f32[4] f32[4]",
     "d0, d0, d0, d0 -> d0, d0 | "
     "f32[4] f32[4]",
     0},
    {"of a softmax", "x <- SoftmaxGrad f32[4,8] f32[4,8]", "d0 d^, d0 d^ -> d0 d^ | f32[4,8]", 0},
    {"of a top k", "x <- ChosenGrad f32[4,8] i64[4,3] f32[4,3]",
     "d0 d^, d0 3, d0 3 -> d0 d^ | "
     "f32[4,8]",
     0},
    {"of a sum", "x <- ReduceGrad f32[4,8] f32[4] axes=[1]", "d0 d1, d0 -> d0 d1 | f32[4,8]", 0},
    {"of a norm",
     "x s b <- NormGrad f32[4,8] f32[4,8] f32[4,1] f32[4,1] f32[8] f32[8] "
     "normalized_shape=[8]",
     "d0^ d1^, d0^ d1^, d0^ 1, d0^ 1, d1^, d1^ -> d0^ d1^, d1^, d1^ | f32[4,8] f32[8] f32[8]", 0},
    {"of a norm's input", "x <- NormGrad f32[4,2,8] f32[4,2,8] f32[4,2,1] f32[4,2,1] f32[8]",
     "d0 d1 d^, d0 d1 d^, d0 d1 1, d0 d1 1, d^ -> d0 d1 d^ | f32[4,2,8]", 0},
    {"of a product", "x y <- MatMulGrad f32[2,4,8] f32[2,8,6] f32[2,4,6]",
     "b0 m^ k, b0 k n^, b0 m^ n^ -> b0 m^ k, b0 k n^ | f32[2,4,8] f32[2,8,6]", 0},
    {"of a product's left side", "x <- MatMulGrad f32[4,8] f32[8,6] f32[4,6]",
     "m k, k n+, m n+ -> m k | f32[4,8]", 0},
    {"of an embedding", "w <- EmbeddingGrad f32[4,5,8] i64[4,5] num_weights=50",
     "i0+ i1+ e2, i0+ i1+ -> 50 e2 | f32[50,8]", 0},
    {"of a part", "x <- PartGrad f32[4,3] input_sizes=[4,8] axis=1", "d0 3 -> d0 8 | f32[4,8]", 0},
    {"of a selection", "x <- PartGrad f32[4] input_sizes=[4,8] axis=1", "d0 -> d0 8 | f32[4,8]", 0},
    {"of a slice", "x <- SliceGrad f32[4,8] f32[4,3] axes=[1]", "d0 8, d0 3 -> d0 8 | f32[4,8]", 0},
    {"of a concat", "x y <- ConcatGrad f32[4,3] f32[4,5] f32[4,8] axis=1",
     "d0 3, d0 5, d0 8 -> d0 3, d0 5 | f32[4,3] f32[4,5]", 0},
    {"of copies", "x <- RepeatGrad f32[4,8] f32[2,4,24]",
     "d0 d1, t0+ d0 (t2+ d1) -> d0 d1 | "
     "f32[4,8]",
     0},
    {"of attention", "q k v <- AttentionGrad f32[2,4,3,8] f32[2,5,3,8] f32[2,5,3,8] f32[2,4,3,8]",
     "b 4 h 8, b 5 h 8, b 5 h 8, b 4 h 8 -> b 4 h 8, b 5 h 8, b 5 h 8 | f32[2,4,3,8] f32[2,5,3,8] "
     "f32[2,5,3,8]",
     0},
    {"of a convolution", "x w <- WholeGrad f32[2,3,8] f32[4,3,2] f32[2,4,7]",
     "2 3 8, 4 3 2, 2 4 7 -> 2 3 8, 4 3 2 | f32[2,3,8] f32[4,3,2]", 0},
    {"of a loss", "x <- LossGrad f32[] f32[4,5,6] i64[4,6] - f32[]",
     ", d0 c^ d2, d0 d2, ?,  -> d0 c^ d2 | f32[4,5,6]", 0},
    {"a step", "p m v <- AdamStep f32[4,8] f32[4,8] f32[1] f32[4,8] f32[4,8] - f32[1] f32[1]",
     "a0 a1, a0 a1, 1, a0 a1, a0 a1, ?, 1, 1 -> a0 a1, a0 a1, a0 a1 | f32[4,8] f32[4,8] f32[4,8]",
     0},
    {"a plain step", "p <- SgdStep f32[4] f32[1] f32[4]", "a0, 1, a0 -> a0 | f32[4]", 0},
    {"an update", "p m v <- AdamWUpdate f32[4,8] f16[4,8] f32[] i64[] f32[] f32[4,8] f32[4,8]",
     "a0 a1, a0 a1, , , , a0 a1, a0 a1 -> a0 a1, a0 a1, a0 a1 | f32[4,8] f32[4,8] f32[4,8]", 0},
    {"an update without a factor", "p s <- AdagradUpdate f32[4] f32[4] f32[] i64[] - f32[4]",
     "a0, a0, , , ?, a0 -> a0, a0 | f32[4] f32[4]", 0},
    {"a clip factor", "f n <- ClipFactor f32[] f32[]", ",  -> ,  | f32[] f32[]", 0},
    {"a guard", "a b f <- CheckFiniteAndUnscale f32[4] f32[6] f32[1]",
     "4, 6, 1 -> 4, 6, 1 | f32[4] f32[6] bool[1]", 0},
};

/* Other systems' names and words, one of each kind. */
static RuleCase names[] = {
    {"an overload", "y <- aten::sum.dim_IntList f32[4,8] dim=[1]", "d0 d+ -> d0 | f32[4]", 0},
    {"another overload", "y i <- aten::max.dim f32[4,8] dim=1", "d0 d^ -> d0, d0 | f32[4] i64[4]",
     0},
    {"of all", "y <- torch::max f32[4,8]", "d0+ d1+ ->   d0:max  d1:max | f32[]", 0},
    {"in place", "y <- torch::add_ f32[4] f32[4]", "d0, d0 -> d0 | f32[4] Add", 0},
    {"a scalar", "y <- torch::add.Scalar f32[4] other=2.0", "d0 -> d0 | f32[4] AddScalar", 0},
    {"operands in another order", "y <- torch::addmm f32[6] f32[4,8] f32[8,6]",
     "n, m k+, k+ n -> m n | f32[4,6]", 0},
    {"a word missing", "y <- torch::slice f32[4,8] dim=1 end=3", "d0 {s1} -> d0 s1 | f32[4,3]", 0},
    {"split", "a b c <- torch::split f32[8] split_size=3", "8 -> 3, 3, 2 | f32[3] f32[3] f32[2]",
     0},
    {"zero is a size", "y <- torch::reshape f32[0,4] shape=[4,0]", "0 4 -> 4 0 | f32[4,0] view", 0},
    {"zero copies", "y <- paddle::reshape f32[2,12] shape=[0,3,4]",
     "a (b c) -> a b c | f32[2,3,4] view", 0},
    {"window", "y <- torch::conv2d f32[2,3,8,8] f32[4,3,3,3] stride=2 padding=[1,1]",
     "b ci+ {2*oh+kh-1} {2*ow+kw-1}, co ci+ kh+ kw+ -> b co oh ow | f32[2,4,4,4]", 0},
    {"Paddle's words", "y <- paddle::sum f32[4,8] axis=[1] keepdim=1", "d0 d+ -> d0 1 | f32[4,1]",
     0},
    {"Paddle's order", "y <- paddle::embedding i64[4] f32[50,8]", "i0, v+ e1 -> i0 e1 | f32[4,8]",
     0},
    {"nnScaler's word", "y <- nnscaler::softmax f32[4,8] dim=0", "d^ d1 -> d^ d1 | f32[4,8]", 0},
    {"StableHLO's", "y <- stablehlo.concatenate f32[4,3] f32[4,5] dimension=1",
     "d0 {n}, d0 {n-3} -> d0 n | f32[4,8]", 0},
    {"StableHLO's order", "y <- stablehlo.clamp f32[] f32[4] f32[]", ", d0,  -> d0 | f32[4]", 0},
};

typedef struct {
    const char *name, *text, *want; /* per input: alone, together or no; `once` where added once */
} Flags;

static Flags flags[] = {
    {"linear layer", "y <- Linear f32[4,8] f32[6,8] f32[6]", "no no no once"},
    {"addend", "y <- Baddbmm f32[6] f32[2,4,8] f32[2,8,6]", "no once no no"},
    {"gradient added", "w <- LinearGradAdd f32[4,8] f32[4,6] f32[8,6]", "no no no once"},
    {"stack", "y <- Stack f32[4] f32[4]", "together together"},
    {"select", "y <- Select f32[4,8]", "alone"},
    {"scale", "y <- Scale f32[4] scale=2.0", "alone"},
    {"scale and shift", "y <- Scale f32[4] scale=2.0 bias=1.0", "no"},
    {"quotient of integers", "y <- DivScalar i64[4]", "no"},
    {"running sum", "y <- CumSum f32[4] axis=0", "alone"},
    {"running product", "y <- CumProd f32[4] axis=0", "no"},
    {"blend", "y <- Lerp f32[4] f32[4]", "together together"},
    {"index put", "y <- IndexPut f32[4,5] i64[3] f32[3,5] accumulate=1",
     "together once no together"},
    {"broadcast that grows", "y <- BroadcastTo f32[1] shape=[4]", "no"},
};

static void flags_are(void **state)
{
    static const char *const words[] = {
        [LINEAR_NO] = "no", [LINEAR_ALONE] = "alone", [LINEAR_TOGETHER] = "together"};
    const Flags *row = *state;
    Arena *arena = arena_new();
    RuleCall call;
    Error err = {0};
    assert_true(apply_rule(arena, row->text, 24, &call, &err));
    Buf got = buf_new(arena);
    for (int i = 0; i < call.n_inputs; i++)
        buf_printf(&got, "%s%s%s", i > 0 ? " " : "", words[call.space->operand[i].linear],
                   call.space->operand[i].once ? " once" : "");
    assert_string_equal(got.s, row->want);
    arena_free(arena);
}

/* ---- the names of other systems ---- */

static void check_name(Arena *arena, const Registry *registry, const Alias *alias)
{
    const char *name = arena_printf(arena, "%s::%s", system_name(alias->system), alias->name);
    const Operator *row = registry_find(registry, str_from(name));
    if (!row || strcmp(row->name, alias->op_type) != 0)
        fail_msg("%s is %s, not %s", name, row ? row->name : "nothing", alias->op_type);
    if (alias->n_operands > row->inputs_max)
        fail_msg("%s has more operands than %s", name, row->name);
}

static void every_name_has_its_operator(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    int n = 0;
    for (const Operator *row = NULL; (row = operator_next(row));)
        for (int s = 0; s < SYSTEM_COUNT; s++) {
            Aliases read = {0};
            Error err = {0};
            if (row->names[s])
                assert_true(alias_read(arena, row->name, (SystemId)s, row->names[s], &read, &err));
            for (int i = 0; i < read.n; i++)
                check_name(arena, registry, &read.at[i]);
            n += read.n;
        }
    assert_true(n > 1000);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_name_has_its_operator)};
    return run_rows("element-wise", pointwise, rule_says) + run_rows("moves", moves, rule_says) +
           run_rows("orders", orders, rule_says) + run_rows("positions", positions, rule_says) +
           run_rows("matrices", matrices, rule_says) + run_rows("fused", fused, rule_says) +
           run_rows("gradients", gradients, rule_says) + run_rows("names", names, rule_says) +
           run_rows("flags", flags, flags_are) + cmocka_run_group_tests(tests, NULL, NULL);
}
