/* rows.c - what operators of onnxruntime are made of: the language is in written.h. Source:
 * onnxruntime's published schemas of contributed operators; where these leave a question, what its
 * kernels for processors compute. Those of bytes may differ from it by one step of their scale,
 * where it rounds a mean or a softmax of whole numbers. */
#include "core/rules/written/written.h"

typedef struct {
    const char *name, *text;
} WrittenRow;

/* A convolution or pool whose channels are last, with the op between. */
#define LAST(op, operands)                                                                         \
    "t = Transpose{perm=nchw} x; t = " op " t" operands "; y = Transpose{perm=nhwc} t"
#define SILU(name) "sg = Sigmoid " name "; " name " = Mul " name " sg"
#define OF_BYTES "d = DequantizeLinear x xs xz; "
#define TO_BYTES "[yz] y = QuantizeLinear m ys yz; [!yz] y = QuantizeLinear m ys 0::x"

/* Two numbers of 4 bits in each byte of `from`, the low one first, as a last dim that is twice as
 * long: `to`. */
#define NIBBLES(from, to, first, second)                                                           \
    "lo = BitwiseAnd " from " 15:u8; lo = Unsqueeze lo [-1]; "                                     \
    "hi = BitShift{direction=RIGHT} " from " 4:u8; hi = Unsqueeze hi [-1]; " to                    \
    " = Concat{axis=-1} " first " " second "; "

/* Whether two tokens of packed sequences belong to one, as a bias of scores: the sequence of a
 * token is the number of sequences that begin up to it. */
#define SAME_SEQUENCE                                                                              \
    "r = Range 0 #x.0 1; a = Unsqueeze r [1]; c = Cast{to=i64} starts; c = Unsqueeze c [0]; "      \
    "g = GreaterOrEqual a c; g = Cast{to=i64} g; g = ReduceSum{keepdims=0} g [1]; "                \
    "a = Unsqueeze g [0]; b = Unsqueeze g [1]; e = Equal a b; m = Where e 0.0 -1e30; "             \
    "m = Unsqueeze m [0 1]; "

/* Rows of two dims before the last, or of one, as experts take them: b s h. */
#define ROUTED                                                                                     \
    "[@use_sparse_mixer] refuse its sparse mixer; [@swiglu_limit_after_activation] refuse a "      \
    "limit "                                                                                       \
    "behind its activation; [@activation_type=geglu] refuse its activation; "                      \
    "[@activation_type=relu2] refuse its activation; "                                             \
    "[x.n=3] rows = Identity x; [x.n=2] rows = Unsqueeze x [0]; "                                  \
    "[x.n=3] p = Reshape router [x.0 x.1 -1]; [x.n=2] p = Unsqueeze router [0]; "                  \
    "p = Softmax{axis=-1} p; v i = TopK{axis=-1} p [@k|1]; "                                       \
    "[@normalize_routing_weights] n = ReduceSum{keepdims=1} v [-1]; "                              \
    "[@normalize_routing_weights] v = Div v n; z = Mul p 0.0; one = Mul v 0.0; one = Add one "     \
    "1.0; "                                                                                        \
    "table = ScatterElements{axis=-1} z i v; choice = ScatterElements{axis=-1} z i one; "          \
    "rows = ExpertDispatch{k=@k|1} rows choice; "

/* Of u and l: u sigmoid(alpha u) (l + beta), both first clamped to a limit. `when`: conditions. */
#define GATED_UNIT(when, limit, to)                                                                \
    "[" when limit "] u = Min u " limit "; [" when limit "] low = Neg " limit "; "                 \
    "[" when limit "] l = Min l " limit "; [" when limit "] l = Max l low; "                       \
    "[" when "] sg = Mul u @activation_alpha|1.0; [" when "] sg = Sigmoid sg; "                    \
    "[" when "] u = Mul u sg; [" when "] l = Add l @activation_beta|0.0; [" when "] " to           \
    " = Mul u l; "

/* RMS over the last dim, without a scale: `to`. */
#define RMS(from, to, epsilon)                                                                     \
    "q = Mul " from " " from "; q = ReduceMean{keepdims=1} q [-1]; q = Add q " epsilon             \
    "; q = Sqrt q; " to " = Div " from " q; "

/* The weight of experts, of numbers of 4 or 8 bits; scales are of rows, or of blocks of them. */
#define OF_EXPERTS(w, s)                                                                           \
    "[" w " @expert_weight_bits|4=4] lo = BitwiseAnd " w " 15:u8; "                                \
    "[" w " @expert_weight_bits|4=4] hi = BitShift{direction=RIGHT} " w " 4:u8; "                  \
    "[" w " @expert_weight_bits|4=4] lo = Unsqueeze lo [-1]; "                                     \
    "[" w " @expert_weight_bits|4=4] hi = Unsqueeze hi [-1]; "                                     \
    "[" w " @expert_weight_bits|4=4] " w " = Concat{axis=-1} lo hi; "                              \
    "[" w "] " w " = Cast{to=T} " w "; [" w " @expert_weight_bits|4=4] " w " = Sub " w " 8.0; "    \
    "[" w " @expert_weight_bits=8] " w " = Sub " w " 128.0; "                                      \
    "[" s ".n=3] r = Reshape " w " [" w ".0 " w ".1 " s ".2 -1]; "                                 \
    "[" s ".n=2] r = Reshape " w " [" w ".0 " w ".1 1 -1]; "                                       \
    "[" s ".n=3] " s " = Unsqueeze " s " [3]; [" s ".n=2] " s " = Unsqueeze " s " [2 3]; "         \
    "[" w "] r = Mul r " s "; [" w "] r = Cast{to=:x} r; "                                         \
    "[" w "] " w " = Reshape r [" w ".0 " w ".1 -1]; "

/* For each pair of a head the angle of one of three positions, by sections, or in turns. */
#define SECTIONS(of)                                                                               \
    "[!@mrope_layout] a b d = Split{axis=-1} " of " [@mrope_section]; "                            \
    "[!@mrope_layout] a = Gather{axis=0} a #0; [!@mrope_layout] b = Gather{axis=0} b #1; "         \
    "[!@mrope_layout] d = Gather{axis=0} d #2; [!@mrope_layout] " of " = Concat{axis=-1} a b d; "  \
    "[@mrope_layout] r = Range 0 #cos.1 1; [@mrope_layout] m = Mod r 3; "                          \
    "[@mrope_layout] r = Div r 3; [@mrope_layout] h w = Split{axis=0} [@mrope_section] [2 1]; "    \
    "[@mrope_layout] h = Slice h [1] [2] [0]; [@mrope_layout] h = Less r h; "                      \
    "[@mrope_layout] w = Less r w; [@mrope_layout] a = Equal m 1; [@mrope_layout] h = And h a; "   \
    "[@mrope_layout] a = Equal m 2; [@mrope_layout] w = And w a; "                                 \
    "[@mrope_layout] a = Gather{axis=0} " of " #0; [@mrope_layout] b = Gather{axis=0} " of " #1; " \
    "[@mrope_layout] d = Gather{axis=0} " of " #2; [@mrope_layout] a = Where h b a; "              \
    "[@mrope_layout] " of " = Where w d a; "

/* Keys and values are written into the buffer that holds those before them. */
#define SHARES "@past_present_share_buffer key.n=3"

#define NORM_BEFORE                                                                                \
    "[skip] n _ _ sum = com.microsoft::SkipSimplifiedLayerNormalization{epsilon=@epsilon|1e-5} a " \
    "skip norm; [!skip norm] n = SimplifiedLayerNormalization{axis=-1 epsilon=@epsilon|1e-5} a "   \
    "norm; [!skip !norm] n = Identity a; "
#define BITS(columns)                                                                              \
    "com.microsoft::MatMulNBits{K=@K N=" columns " bits=@bits|4 block_size=@block_size|32}"

static const WrittenRow rows[] = {
    /* convolutions, pools */
    {"com.microsoft::NhwcConv", "x w b -> y: [!x.n=4] refuse other than two dims of space; "
                                "w = Transpose{perm=[0 3 1 2]} w; " LAST("Conv{*}", " w b")},
    {"com.microsoft::NhwcFusedConv",
     "x w b z -> y: [!x.n=4] refuse other than two dims of space; [@activation_params] refuse "
     "parameters of its activation; w = Transpose{perm=[0 3 1 2]} w; t = Transpose{perm=nchw} x; "
     "t = Conv{*} t w b; t = Transpose{perm=nhwc} t; [z] t = Add t z; "
     "y = @activation|Identity t"},
    {"com.microsoft::QLinearConv",
     "x xs xz w ws wz ys yz b -> y: [!@channels_last] y = QLinearConv{*} x xs xz w ws wz ys yz b; "
     "[@channels_last] t = Transpose{perm=nchw} x; "
     "[@channels_last] t = QLinearConv{*} t xs xz w ws wz ys yz b; "
     "[@channels_last] y = Transpose{perm=nhwc} t"},
    {"com.microsoft::NhwcMaxPool", "x -> y: " LAST("MaxPool{*}", "")},
    {"com.microsoft::QLinearAveragePool",
     "x xs xz ys yz -> y: " OF_BYTES
     "[@channels_last] d = Transpose{perm=nchw} d; m = AveragePool{*} d; "
     "[@channels_last] m = Transpose{perm=nhwc} m; " TO_BYTES},
    {"com.microsoft::QLinearGlobalAveragePool",
     "x xs xz ys yz -> y: " OF_BYTES
     "[@channels_last] d = Transpose{perm=nchw} d; m = GlobalAveragePool d; "
     "[@channels_last] m = Transpose{perm=nhwc} m; " TO_BYTES},
    /* products */
    {"com.microsoft::FusedMatMul",
     "a b -> y: [!@transBatchA !@transBatchB] keep; "
     "[@transBatchA a.n=3] a = Transpose{perm=[1 0 2]} a; "
     "[@transBatchA a.n=4] a = Transpose{perm=[1 2 0 3]} a; "
     "[@transBatchB b.n=3] b = Transpose{perm=[1 0 2]} b; "
     "[@transBatchB b.n=4] b = Transpose{perm=[1 2 0 3]} b; "
     "y = com.microsoft::FusedMatMul{alpha=@alpha transA=@transA transB=@transB} a b"},
    {"com.microsoft::FusedMatMulActivation",
     "a b -> y: m = com.microsoft::FusedMatMul{*} a b; "
     "y = @activation{alpha=@activation_alpha beta=@activation_beta} m"},
    {"com.microsoft::GemmFastGelu",
     "a b bias -> y: m = MatMul a b; y = com.microsoft::FastGelu m bias"},
    {"com.microsoft::GemmFloat8",
     "a b c as bs ys -> y: [@activation=GELU] refuse its activation; a = Cast{to=f32} a; "
     "b = Cast{to=f32} b; c = Cast{to=f32} c; [as] a = Mul a as; [bs] b = Mul b bs; "
     "[c] m = Gemm{*} a b c; [!c] m = Gemm{*} a b; [ys] m = Mul m ys; "
     "[@activation=RELU] m = Relu m; y = Cast{to=@dtype|1} m"},
    {"com.microsoft::QGemm",
     "a as az b bs bz c ys yz -> y: a = DequantizeLinear a as az; "
     "[!@transB] b = DequantizeLinear{axis=1} b bs bz; "
     "[@transB] b = DequantizeLinear{axis=0} b bs bz; "
     "[c] c = Cast{to=f32} c; [c] s = Mul as bs; [c] s = Mul s @alpha|1.0; [c] c = Mul c s; "
     "[c] m = Gemm{*} a b c; [!c] m = Gemm{*} a b; "
     "[ys yz] y = QuantizeLinear m ys yz; [ys !yz] y = QuantizeLinear m ys; "
     "[!ys] y = Identity m"},
    {"com.microsoft::DynamicQuantizeMatMul",
     "a b bs bz bias -> y: q s z = DynamicQuantizeLinear a; m = MatMulInteger q b z bz; "
     "m = Cast{to=f32} m; s = Mul s bs; y = Mul m s; [bias] y = Add y bias"},
    {"com.microsoft::MulInteger",
     "a az b bz -> c: a = Cast{to=i32} a; [az] az = Cast{to=i32} az; [az] a = Sub a az; "
     "b = Cast{to=i32} b; [bz] bz = Cast{to=i32} bz; [bz] b = Sub b bz; c = Mul a b"},
    {"com.microsoft::ReduceSumInteger",
     "x -> y: [x:u8] i = Cast{to=u32} x; [!x:u8] i = Cast{to=i32} x; "
     "y = ReduceSum{keepdims=@keepdims|1} i [@axes]"},
    {"com.microsoft::MatMulBnb4",
     "a b absmax -> y: [@transB=0] refuse a weight that is not transposed; " NIBBLES(
         "b", "i", "hi",
         "lo") "i = Cast{to=i32} i; "
               "[@quant_type=1] c = Gather (-1.0 -0.6961928009986877 -0.5250730514526367 "
               "-0.39491748809814453 -0.28444138169288635 -0.18477343022823334 "
               "-0.09105003625154495 0.0 "
               "0.07958029955625534 0.16093020141124725 0.24611230194568634 0.33791524171829224 "
               "0.44070982933044434 0.5626170039176941 0.7229568362236023 1.0) i; "
               "[!@quant_type=1] c = Gather (0.0 0.00520833333 0.66666667 1.0 0.33333333 0.5 "
               "0.16666667 0.25 "
               "-0.0 -0.00520833333 -0.66666667 -1.0 -0.33333333 -0.5 -0.16666667 -0.25) i; "
               "c = Reshape c [absmax.0 -1]; s = Unsqueeze absmax [1]; c = Mul c s; "
               "c = Reshape c [@N @K]; c = Transpose{perm=[1 0]} c; y = MatMul a c"},
    {"com.microsoft::MatMulNBitsMlp",
     "a skip norm gb gs gbias ub us ubias -> y sum: [!@activation|silu=silu] refuse its "
     "activation; " NORM_BEFORE "g = " BITS("@N") " n gb gs _ _ gbias; " SILU("g") "; u = " BITS(
         "@N") " n ub us _ _ ubias; y = Mul g u"},
    {"com.microsoft::MatMulNBitsQkv",
     "a skip norm qb qs qbias kb ks kbias vb vs vbias -> q k v sum: " NORM_BEFORE
     "q = " BITS("@Nq") " n qb qs _ _ qbias; k = " BITS("@Nkv") " n kb ks _ _ kbias; v = " BITS(
         "@Nkv") " n vb vs _ _ vbias"},
    {"com.microsoft::MatMulNBitsQLoRA",
     "x w s a as b bs -> y: m = " BITS(
         "@N") " x w s; "
               "d = com.microsoft::MatMulNBits{K=@K N=a.0 bits=@lora_bits|8 "
               "block_size=@lora_block_size|32} "
               "x a as; u = com.microsoft::MatMulNBits{K=a.0 N=@N bits=@lora_bits|8 "
               "block_size=@lora_block_size|32} d b bs; y = Add m u"},
    {"com.microsoft::MatMulBlockQuantizedFp8Weight",
     "a b bs as bias -> y: w = Cast{to=f32} b; w = Reshape w [0 bs.1 -1]; s = Unsqueeze bs [2]; "
     "w = Mul w s; w = Reshape w [b.0 b.1]; w = Cast{to=:a} w; w = Transpose{perm=[1 0]} w; "
     "[as] a = Cast{to=f32} a; [as] a = Div a as; [as] a = Cast{to=f8e4m3fn} a; "
     "[as] a = Cast{to=f32} a; [as] a = Mul a as; [as] a = Cast{to=:bias} a; y = MatMul a w; "
     "[bias] y = Add y bias"},
    {"com.microsoft::MatMulBlockQuantizedFp4Weight",
     "a b bs s2 as bias -> y: " NIBBLES(
         "b", "i", "lo",
         "hi") "i = Cast{to=i32} i; "
               "w = Gather (0.0 0.5 1.0 1.5 2.0 3.0 4.0 6.0 -0.0 -0.5 -1.0 -1.5 -2.0 -3.0 -4.0 "
               "-6.0) i; "
               "w = Cast{to=f32} w; w = Reshape w [b.0 bs.1 -1]; s = BitCast{to=f8e4m3fn} bs; "
               "s = Cast{to=f32} s; s = Unsqueeze s [2]; w = Mul w s; w = Mul w s2; "
               "w = Reshape w [b.0 b.1*2]; w = Cast{to=:a} w; w = Transpose{perm=[1 0]} w; y = "
               "MatMul a w; "
               "[bias] y = Add y bias"},
    /* bytes */
    {"com.microsoft::QLinearConcat",
     "ys yz (x xs xz)* -> y: each d = DequantizeLinear x xs xz; m = Concat{axis=@axis} d*; "
     "y = QuantizeLinear m ys yz"},
    {"com.microsoft::QLinearReduceMean",
     "x xs xz ys yz -> y: " OF_BYTES "[@axes] m = ReduceMean{keepdims=@keepdims|1} d [@axes]; "
     "[!@axes] m = ReduceMean{keepdims=@keepdims|1} d; " TO_BYTES},
    {"com.microsoft::QLinearWhere",
     "c x xs xz z zs zz ys yz -> y: " OF_BYTES
     "e = DequantizeLinear z zs zz; m = Where c d e; y = QuantizeLinear m ys yz"},
    {"com.microsoft::QLinearSoftmax",
     "x xs xz ys yz -> y: [@opset=1] refuse a softmax over several dims; [@opset=11] refuse a "
     "softmax over several dims; " OF_BYTES
     "m = Softmax{axis=@axis|-1} d; y = QuantizeLinear m ys yz"},
    {"com.microsoft::GatherBlockQuantized",
     "data indices scales zeros -> y: [!scales.n=2] refuse other than rows of a table; "
     "[!@gather_axis|0=0] refuse other than rows of a table; "
     "[!@bits|4=4 data:u8 !@bits=8] refuse numbers of 2 bits; "
     "d = Gather{axis=0} data indices; [data:u8 @bits|4=4] "
     "lo = BitwiseAnd d 15:u8; "
     "[data:u8 @bits|4=4] hi = BitShift{direction=RIGHT} d 4:u8; "
     "[data:u8 @bits|4=4] lo = Unsqueeze lo [-1]; [data:u8 @bits|4=4] hi = Unsqueeze hi [-1]; "
     "[data:u8 @bits|4=4] d = Concat{axis=-1} lo hi; d = Cast{to=T} d; "
     "d = Reshape d [0^indices.n scales.1 -1]; "
     "[zeros] z = Gather{axis=0} zeros indices; [zeros data:u8 @bits|4=4] lo = BitwiseAnd z 15:u8; "
     "[zeros data:u8 @bits|4=4] hi = BitShift{direction=RIGHT} z 4:u8; "
     "[zeros data:u8 @bits|4=4] lo = Unsqueeze lo [-1]; "
     "[zeros data:u8 @bits|4=4] hi = Unsqueeze hi [-1]; "
     "[zeros data:u8 @bits|4=4] z = Concat{axis=-1} lo hi; "
     "[zeros data:u8 @bits|4=4] z = Reshape z [0^indices.n -1]; "
     "[zeros] z = Slice z [0] [scales.1] [-1]; [zeros] z = Cast{to=T} z; "
     "[zeros] z = Unsqueeze z [-1]; [zeros] d = Sub d z; "
     "[!zeros data:u8 @bits|4=4] d = Sub d 8.0; [!zeros data:u8 @bits=8] d = Sub d 128.0; "
     "s = Gather{axis=0} scales indices; s = Unsqueeze s [-1]; d = Mul d s; "
     "y = Reshape d [0^indices.n -1]"},
    {"com.microsoft::QEmbedLayerNormalization",
     "ids segments word place segment gamma beta mask ws ps ss gs bs wz pz sz gz bz -> y index: "
     "word = DequantizeLinear word ws wz; place = DequantizeLinear place ps pz; "
     "[segments] segment = DequantizeLinear segment ss sz; gamma = DequantizeLinear gamma gs gz; "
     "beta = DequantizeLinear beta bs bz; [segments] y index = "
     "com.microsoft::EmbedLayerNormalization{epsilon=@epsilon} ids segments word place segment "
     "gamma beta mask; [!segments] y index = "
     "com.microsoft::EmbedLayerNormalization{epsilon=@epsilon} ids _ word place _ gamma beta mask"},
    /* norms, gates */
    {"com.microsoft::BiasSoftmax",
     "x b -> y: s = Add x b; [@axis|1=-1] y = Softmax{axis=-1} s; "
     "[x.n=@axis|1+1] y = Softmax{axis=-1} s; "
     "[!@axis|1=-1 !x.n=@axis|1+1] f = Flatten{axis=@axis|1} s; "
     "[!@axis|1=-1 !x.n=@axis|1+1] f = Softmax{axis=-1} f; "
     "[!@axis|1=-1 !x.n=@axis|1+1] o = Shape x; [!@axis|1=-1 !x.n=@axis|1+1] y = Reshape f o"},
    {"com.microsoft::BiasDropout",
     "x b residual ratio mode -> y mask: s = Add x b; y mask = Dropout{seed=@seed} s ratio mode; "
     "[residual] y = Add y residual"},
    {"com.microsoft::BitmaskDropout", "x ratio mode -> y mask: [mask] refuse its mask is bits; y = "
                                      "Dropout{seed=@seed} x ratio mode"},
    {"com.microsoft::BitmaskBiasDropout",
     "x b residual ratio mode -> y mask: [mask] refuse its mask is bits; s = Add x b; "
     "y = Dropout{seed=@seed} s ratio mode; [residual] y = Add y residual"},
    {"com.microsoft::GroupNorm",
     "x gamma beta -> y: gamma = Cast{to=:x} gamma; beta = Cast{to=:x} beta; "
     "[@channels_last|1] t = Transpose{perm=nchw} x; [!@channels_last|1] t = Identity x; "
     "n = GroupNormalization{num_groups=@groups epsilon=@epsilon|1e-5} t gamma beta; "
     "[@activation] s = Sigmoid n; [@activation] n = Mul n s; "
     "[@channels_last|1] y = Transpose{perm=nhwc} n; [!@channels_last|1] y = Identity n"},
    {"com.microsoft::SkipGroupNorm",
     "x gamma beta skip bias -> y sum: "
     "[skip.n=2 @channels_last|1] skip = Unsqueeze skip [1 2]; "
     "[skip.n=2 !@channels_last|1] skip = Unsqueeze skip [2 3]; "
     "[!@channels_last|1 bias] bias = Unsqueeze bias [1 2]; sum = Add x skip; "
     "[bias] sum = Add sum bias; gamma = Cast{to=:x} gamma; beta = Cast{to=:x} beta; "
     "[@channels_last|1] t = Transpose{perm=nchw} sum; [!@channels_last|1] t = Identity sum; "
     "n = GroupNormalization{num_groups=@groups epsilon=@epsilon|1e-5} t gamma beta; "
     "[@activation] s = Sigmoid n; [@activation] n = Mul n s; "
     "[@channels_last|1] y = Transpose{perm=nhwc} n; [!@channels_last|1] y = Identity n"},
    {"com.microsoft::GatedAdd",
     "x y gate weight -> out: [weight] refuse a gate that it projects and rounds to bf16; "
     "t = Mul y gate; out = Add x t"},
    {"com.microsoft::GatedRMSNorm",
     "x scale gate -> y: r = Reshape x [0^x.n-1 -1 scale.0]; "
     "r = RMSNormalization{axis=-1 epsilon=@epsilon|1e-5} r scale; "
     "g = Reshape gate [0^x.n-1 -1 scale.0]; s = Sigmoid g; "
     "[!@activation|silu=sigmoid] s = Mul g s; r = Mul r s; y = Reshape r [0^x.n-1 -1]"},
    {"com.microsoft::EngramGate",
     "key query value ks qs cs -> y normed: " RMS("key", "k", "@epsilon|1e-5") "k = Mul k ks; " RMS(
         "query", "u",
         "@epsilon|1e-5") "u = Mul u qs; d = Mul k u; d = ReduceSum{keepdims=1} d [-1]; n = "
                          "Cast{to=T} #key.-1; "
                          "n = Sqrt n; d = Div d n; a = Abs d; a = Max a 1e-6; a = Sqrt a; s = "
                          "Sign d; a = Mul s a; "
                          "a = Sigmoid a; v = Unsqueeze value [2]; y = Mul a v; [normed] q = Mul y "
                          "y; "
                          "[normed] q = ReduceMean{keepdims=1} q [-1]; [normed] q = Add q "
                          "@epsilon|1e-5; "
                          "[normed] q = Sqrt q; [normed] n = Div y q; [normed] normed = Mul n cs"},
    {"com.microsoft::ScaledSiLU",
     "x scale -> y: [scale] z = Mul x scale; [!scale] z = Mul x @alpha|1.0; s = Sigmoid z; "
     "y = Mul z s"},
    {"com.microsoft::LinearAttentionGate",
     "a bias scale b -> decay beta: f = Cast{to=f32} a; f = Add f bias; f = Softplus f; "
     "f = Mul f scale; decay = Cast{to=:a} f; [b beta] beta = Sigmoid b"},
    {"com.microsoft::BranchwiseRMSNorm",
     "x scale -> y: [@num_branches] t = Reshape x [0^x.n-1 @num_branches -1]; "
     "[!@num_branches] t = Identity x; " RMS(
         "t", "t", "@epsilon|1e-5") "[scale.n=1 @num_branches scale.0=x.-1] scale = Reshape scale "
                                    "[@num_branches -1]; "
                                    "[scale.n=1 !@num_branches scale.0=x.-2*x.-1] scale = Reshape "
                                    "scale [x.-2 x.-1]; "
                                    "[scale] t = Mul t scale; "
                                    "[@num_branches] y = Reshape t [0^x.n-1 -1]; [!@num_branches] "
                                    "y = Identity t"},
    {"com.microsoft::HyperConnectionPreMix",
     "x mix -> y: [@num_branches] t = Reshape x [0^x.n-1 @num_branches -1]; "
     "[@num_branches mix.n=x.n mix.-1=x.-1] mix = Reshape mix [0^x.n-1 @num_branches -1]; "
     "[@num_branches mix.n=x.n mix.-1=@num_branches] mix = Unsqueeze mix [-1]; "
     "[!@num_branches mix.n=x.n-1] mix = Unsqueeze mix [-1]; [!@num_branches] t = Identity x; "
     "t = Mul t mix; t = ReduceSum{keepdims=0} t [-2]; y = Mul t @reduction_scale|1.0"},
    {"com.microsoft::HyperConnectionPostMix",
     "x block mix stream -> y: [@num_branches] t = Reshape x [0^x.n-1 @num_branches -1]; "
     "[!@num_branches] t = Identity x; "
     "[@num_branches mix.n=x.n] mix = Unsqueeze mix [-1]; "
     "[!@num_branches mix.n=x.n-1] mix = Unsqueeze mix [-1]; "
     "[stream] p = com.microsoft::FusedMatMul{transA=1} stream t; [!stream] p = Identity t; "
     "b = Unsqueeze block [-2]; b = Mul b mix; p = Add p b; "
     "[@num_branches] y = Reshape p [0^x.n-1 -1]; [!@num_branches] y = Identity p"},
    {"com.microsoft::HyperConnectionLowRankMix",
     "x scale down up inject block gate -> y post streams: s = Reshape x [0^x.n-1 @num_branches "
     "-1]; "
     "[block] b = Unsqueeze block [-2]; [block] g = Unsqueeze gate [-1]; [block] b = Mul b g; "
     "[block] s = Add s b; [streams] streams = Reshape s [0^x.n-1 -1]; " RMS(
         "s", "n", "@epsilon|1e-5") "w = Reshape scale [@num_branches -1]; n = Mul n w; f = "
                                    "Reshape n [0^x.n-1 -1]; "
                                    "d = MatMul f down; d = Mul d @silu_alpha|1.0; " SILU(
                                        "d") "; u = MatMul d up; u = Sigmoid u; "
                                             "u = Reshape u [0^x.n-1 @num_branches -1]; t = Mul n "
                                             "u; t = ReduceSum{keepdims=0} t [-2]; "
                                             "y = Mul t @reduction_scale|1.0; p = MatMul f inject; "
                                             "p = Div p @gate_div|1.0; p = Sigmoid p; "
                                             "post = Mul p @gate_mul|1.0"},
    {"com.microsoft::RouterGateUpProj",
     "x w -> router y: t = MatMul x w; "
     "router u l = Split{axis=-1} t [@router_size w.1-@router_size/2 "
     "w.1-@router_size/2]; " GATED_UNIT("", "@limit", "y")},
    {"com.microsoft::GemmaRotaryEmbedding",
     "e q qr k kr -> y z: c = Cos e; c = Cast{to=:q} c; c = Unsqueeze c [1]; s = Sin e; "
     "s = Cast{to=:q} s; s = Unsqueeze s [1]; a = Mul q c; b = Mul qr s; y = Add a b; "
     "a = Mul k c; b = Mul kr s; z = Add a b"},
    {"com.microsoft::MRotaryEmbedding",
     "x places cos sin -> y: [@is_packed_batching] refuse a packed batch; "
     "[!@scale|1=1] refuse its scale; "
     "c = Gather{axis=0} cos places; s = Gather{axis=0} sin places; " SECTIONS("c")
         SECTIONS("s") "y = RotaryEmbedding{interleaved=@interleaved num_heads=@num_heads "
                       "rotary_embedding_dim=@rotary_embedding_dim} x c s"},
    /* attention */
    {"com.microsoft::PackedAttention",
     "x w bias offsets starts score -> y: [score] refuse a bias of its scores; "
     "[@qkv_hidden_sizes] refuse values of another width; " SAME_SEQUENCE
     "p = MatMul x w; p = Add p bias; p = Unsqueeze p [0]; q k v = Split{axis=2 num_outputs=3} p; "
     "y = com.microsoft::MultiHeadAttention{*} q k v _ _ m; y = Reshape y [x.0 -1]"},
    {"com.microsoft::PackedMultiHeadAttention",
     "x key value bias offsets starts score -> y: [score] refuse a bias of its "
     "scores; " SAME_SEQUENCE
     "[key] q = Unsqueeze x [0]; [key] k = Unsqueeze key [0]; [key] v = Unsqueeze value [0]; "
     "[!key] q k v = Split{axis=2 num_outputs=3} x; [!key] q = Reshape q [1 x.0 -1]; "
     "[!key] k = Reshape k [1 x.0 -1]; [!key] v = Reshape v [1 x.0 -1]; "
     "y = com.microsoft::MultiHeadAttention{*} q k v bias _ m; y = Reshape y [x.0 -1]"},
    {"com.microsoft::QAttention",
     "x w bias xs ws mask xz wz past -> y present: [@do_rotary] refuse its rotation; "
     "[@past_present_share_buffer] refuse a buffer that it shares; x = DequantizeLinear x xs xz; "
     "w = DequantizeLinear{axis=1} w ws wz; "
     "y present = com.microsoft::Attention{*} x w bias mask past"},
    {"com.microsoft::DecoderMaskedSelfAttention",
     "x w bias mask past score length width cache -> y present: "
     "[@past_present_share_buffer] refuse a buffer that it shares; [@do_rotary] refuse its "
     "rotation; [cache] refuse a search with several beams; "
     "y present = com.microsoft::Attention{*} x w bias mask past score"},
    {"com.microsoft::DecoderMaskedMultiHeadAttention",
     "q key value mask score pk pv length width cache bias -> y k v qk: "
     "[@output_qk] refuse an output of its scores; [cache] refuse a search with several beams; "
     "[!key] refuse packed operands; "
     "[!@past_present_share_buffer] y k v = com.microsoft::MultiHeadAttention{*} q key value bias "
     "mask score pk pv; [@past_present_share_buffer key.n=4] y = "
     "com.microsoft::MultiHeadAttention{*} q key value bias mask score; "
     "[" SHARES " score] refuse a bias of its scores; [" SHARES " bias] refuse a bias; "
     "[" SHARES "] a = Reshape key [0 0 @num_heads -1]; "
     "[" SHARES "] a = Transpose{perm=[0 2 1 3]} a; "
     "[" SHARES "] b = Reshape value [0 0 @num_heads -1]; "
     "[" SHARES "] b = Transpose{perm=[0 2 1 3]} b; [" SHARES "] n = Cast{to=i64} length; "
     "[" SHARES "] n = Reshape n [1]; [" SHARES "] w = Expand n [q.0]; "
     "[" SHARES "] k = TensorScatter{axis=2} pk a w; [" SHARES
     "] v = TensorScatter{axis=2} pv b w; "
     "[" SHARES "] j = Range 0 #pk.2 1; [" SHARES "] j = LessOrEqual j n; "
     "[" SHARES "] j = Where j 0.0 -1e30; [" SHARES "] j = Expand j [q.0 @num_heads 1 pk.2]; "
     "[" SHARES "] y = com.microsoft::MultiHeadAttention{*} q k v _ mask j"},
    {"com.microsoft::LongformerAttention",
     "x w bias mask gw gbias global -> y: p = MatMul x w; p = Add p bias; "
     "q k v = Split{axis=2 num_outputs=3} p; g = MatMul x gw; g = Add g gbias; "
     "a b c = Split{axis=2 num_outputs=3} g; r = Range 0 #x.1 1; i = Unsqueeze r [0]; "
     "j = Unsqueeze r [1]; d = Sub i j; d = Abs d; near = LessOrEqual d #@window; "
     "near = Unsqueeze near [0]; far = Equal global 1:i32; f = Unsqueeze far [1]; "
     "near = Or near f; m = Unsqueeze mask [1 2]; n = Where near 0.0 -1e30; n = Unsqueeze n [1]; "
     "n = Add n m; m = Expand m [x.0 1 x.1 x.1]; "
     "y = com.microsoft::MultiHeadAttention{num_heads=@num_heads} q k v _ _ n; "
     "z = com.microsoft::MultiHeadAttention{num_heads=@num_heads} a b c _ _ m; "
     "f = Unsqueeze far [2]; y = Where f z y"},
    {"com.microsoft::GatedRelativePositionBias",
     "q bias rel w b eco offsets -> y: [offsets] refuse packed sequences; q = Add q bias; "
     "q = Reshape q [0 0 @num_heads -1]; q = Transpose{perm=[0 2 1 3]} q; g = MatMul q w; "
     "g = Add g b; g = Reshape g [0 0 0 2 -1]; g = ReduceSum{keepdims=0} g [-1]; g = Sigmoid g; "
     "u r = Split{axis=-1 num_outputs=2} g; t = Mul r eco; t = Sub t 1.0; t = Mul u t; "
     "t = Add t 2.0; y = Mul t rel"},
    {"com.microsoft::RelativePositionBias",
     "table s t -> y: s = Reshape s []; t = Reshape t []; i = Range 0 s 1; i = Unsqueeze i [1]; "
     "j = Range 0 t 1; j = Unsqueeze j [0]; d = Sub j i; "
     "[@is_bidirectional] n = Abs d; [@is_bidirectional] later = Greater d 0; "
     "[@is_bidirectional] later = Cast{to=i64} later; "
     "[@is_bidirectional] first = Mul later #table.0/2; "
     "[!@is_bidirectional] n = Neg d; [!@is_bidirectional] n = Max n 0; "
     "[@is_bidirectional] half = Identity #table.0/2/2; "
     "[!@is_bidirectional] half = Identity #table.0/2; "
     "[@is_bidirectional] last = Identity #table.0/2-1; "
     "[!@is_bidirectional] last = Identity #table.0-1; "
     "small = Less n half; h = Cast{to=f32} half; f = Max n 1; f = Cast{to=f32} f; f = Div f h; "
     "f = Log f; most = Cast{to=f32} #@max_distance|128; most = Div most h; most = Log most; "
     "f = Div f most; left = Sub last half; left = Add left 1; left = Cast{to=f32} left; "
     "f = Mul f left; f = Cast{to=i64} f; f = Add f half; f = Min f last; n = Where small n f; "
     "[@is_bidirectional] n = Add n first; y = Gather{axis=0} table n; "
     "y = Transpose{perm=[2 0 1]} y; y = Unsqueeze y [0]"},
    {"com.microsoft::GatedDeltaNet",
     "q k v starts decay beta state alog bias count active -> y final update: [starts] refuse "
     "packed sequences; [@state_update_capacity] refuse updates of its state; [!k] refuse packed "
     "operands; [q.n=3 !state] refuse an unknown batch; "
     "[q.n=3] q = Reshape q [state.0 -1 q.1 q.2]; [q.n=3] k = Reshape k [state.0 -1 k.1 k.2]; "
     "[@qk_l2_norm] s = Mul q q; [@qk_l2_norm] s = ReduceSum{keepdims=1} s [-1]; "
     "[@qk_l2_norm] s = Add s 1e-6; [@qk_l2_norm] s = Sqrt s; [@qk_l2_norm] q = Div q s; "
     "[@qk_l2_norm] s = Mul k k; [@qk_l2_norm] s = ReduceSum{keepdims=1} s [-1]; "
     "[@qk_l2_norm] s = Add s 1e-6; [@qk_l2_norm] s = Sqrt s; [@qk_l2_norm] k = Div k s; "
     "[!q.-2=v.-2] q = Unsqueeze q [3]; [!q.-2=v.-2] q = Expand q [1 1 1 v.-2/q.-2 1]; "
     "[!q.-2=v.-2] k = Unsqueeze k [3]; [!q.-2=v.-2] k = Expand k [1 1 1 v.-2/q.-2 1]; "
     "[q.n=3] b = Identity [state.0 -1 v.-2*q.-1]; [q.n=4] b = Identity [q.0 -1 v.-2*q.-1]; "
     "q = Reshape q b; k = Reshape k b; [q.n=3] b = Identity [state.0 -1 v.-2*v.-1]; "
     "[q.n=4] b = Identity [q.0 -1 v.-2*v.-1]; w = Reshape v b; "
     "[bias] decay = Add decay bias; [alog] e = Exp alog; "
     "[@gate_activation=softplus] decay = Softplus decay; "
     "[@gate_activation=softplus] decay = Mul decay e; "
     "[@gate_activation=softplus] decay = Neg decay; [@gate_activation=kda] decay = Mul decay e; "
     "[@gate_activation=sigmoid] decay = Mul decay e; "
     "[@gate_activation=kda] decay = Sigmoid decay; "
     "[@gate_activation=sigmoid] decay = Sigmoid decay; "
     "[@gate_activation=kda] decay = Mul decay @gate_lower_bound|-5.0; "
     "[@gate_activation=sigmoid] decay = Mul decay @gate_lower_bound|-5.0; "
     "[decay q.n=3] decay = Reshape decay [state.0 q.0/state.0 -1]; "
     "[decay q.n=4] decay = Reshape decay [q.0 q.1 -1]; "
     "[@beta_activation=sigmoid] beta = Sigmoid beta; "
     "[beta q.n=3] beta = Reshape beta [state.0 q.0/state.0 -1]; "
     "[state] state = Transpose{perm=[0 1 3 2]} state; "
     "z present = LinearAttention{q_num_heads=v.-2 kv_num_heads=v.-2 "
     "update_rule=@update_rule|gated_delta scale=@scale} q k w state decay beta; "
     "[q.n=3] y = Reshape z [q.0 v.1 v.2]; [q.n=4] y = Reshape z [q.0 q.1 v.2 v.3]; "
     "[final] final = Transpose{perm=[0 1 3 2]} present"},
    /* tokens */
    {"com.microsoft::RestorePadding",
     "x offsets -> y: o = Reshape offsets [-1]; o = Slice o [0] [x.0] [0]; o = Cast{to=i64} o; "
     "o = Unsqueeze o [1]; z = Expand 0.0 [offsets.0*offsets.1 x.1]; z = ScatterND z o x; "
     "y = Reshape z [offsets.0 offsets.1 x.1]"},
    {"com.microsoft::RemovePadding",
     "x n -> y offsets starts most: r = Range 0 #x.1 1; r = Unsqueeze r [0]; l = Cast{to=i64} n; "
     "l = Unsqueeze l [1]; m = Less r l; m = Reshape m [-1]; i = NonZero m; i = Reshape i [-1]; "
     "f = Reshape x [x.0*x.1 x.2]; y = Gather{axis=0} f i; m = Not m; j = NonZero m; "
     "j = Reshape j [-1]; o = Concat{axis=0} i j; o = Cast{to=i32} o; "
     "offsets = Reshape o [x.0 x.1]; c = CumSum n 0; z = Cast{to=i32} [0]; "
     "starts = Concat{axis=0} z c; most = ReduceMax{keepdims=1} n [0]"},
    {"com.microsoft::MurmurHash3",
     "x -> y: [!x:i32 !x:u32 !x:f32] refuse other than numbers of 4 bytes; k = BitCast{to=u32} x; "
     "k = Mul k 3432918353:u32; a = BitShift{direction=LEFT} k 15:u32; "
     "b = BitShift{direction=RIGHT} k 17:u32; k = BitwiseOr a b; k = Mul k 461845907:u32; "
     "h = BitwiseXor k #@seed|0:u32; a = BitShift{direction=LEFT} h 13:u32; "
     "b = BitShift{direction=RIGHT} h 19:u32; h = BitwiseOr a b; h = Mul h 5:u32; "
     "h = Add h 3864292196:u32; h = BitwiseXor h 4:u32; b = BitShift{direction=RIGHT} h 16:u32; "
     "h = BitwiseXor h b; h = Mul h 2246822507:u32; b = BitShift{direction=RIGHT} h 13:u32; "
     "h = BitwiseXor h b; h = Mul h 3266489909:u32; b = BitShift{direction=RIGHT} h 16:u32; "
     "h = BitwiseXor h b; [@positive|1] y = Identity h; [!@positive|1] y = BitCast{to=i32} h"},
    {"com.microsoft::Unique", "x -> y places counts: y _ places counts = Unique{sorted=0} x"},
    {"com.microsoft::NGramRepeatBlock",
     "ids scores -> y: w = Range 0 #ids.1-@ngram_size+1 1; w = Unsqueeze w [1]; "
     "n = Range 0 #@ngram_size-1 1; n = Unsqueeze n [0]; w = Add w n; "
     "w = Gather{axis=1} ids w; l = Slice ids [ids.1-@ngram_size+1] [ids.1] [1]; "
     "l = Unsqueeze l [1]; e = Equal w l; e = Cast{to=i32} e; e = ReduceMin{keepdims=0} e [-1]; "
     "e = Cast{to=bool} e; b = Slice ids [@ngram_size-1] [ids.1] [1]; "
     "inf = Log 0.0; u = Neg inf; u = Where e inf u; "
     "y = ScatterElements{axis=1 reduction=min} scores b u"},
    {"com.microsoft::NGramHashMapping",
     "ids mul vocab past shift eos parts -> y present: [eos] refuse an end of its sequences; "
     "[parts] refuse packed sequences; [!@max_ngram_size=2 !@max_ngram_size=3 !@max_ngram_size=4] "
     "refuse n-grams of more than four; "
     "[!past] past = Expand #@pad_id|0::ids [ids.0 @max_ngram_size-1]; "
     "f = Concat{axis=1} past ids; i = Range 0 #ids.1 1; i = Unsqueeze i [1]; "
     "j = Range #@max_ngram_size-1 -1 -1; j = Unsqueeze j [0]; i = Add i j; "
     "w = Gather{axis=1} f i; m = Slice mul [0] [@max_ngram_size]; w = Mul w m; "
     "a = Gather{axis=-1} w #0; b = Gather{axis=-1} w #1; x = BitwiseXor a b; "
     "h = Unsqueeze x [2]; h = Expand h [1 1 @n_head_per_ngram]; "
     "[!@max_ngram_size=2] a = Gather{axis=-1} w #2; [!@max_ngram_size=2] x = BitwiseXor x a; "
     "[!@max_ngram_size=2] a = Unsqueeze x [2]; [!@max_ngram_size=2] a = Expand a [1 1 "
     "@n_head_per_ngram]; "
     "[!@max_ngram_size=2] h = Concat{axis=2} h a; "
     "[!@max_ngram_size=2 !@max_ngram_size=3] a = Gather{axis=-1} w #3; [!@max_ngram_size=2 "
     "!@max_ngram_size=3] x = BitwiseXor x a; "
     "[!@max_ngram_size=2 !@max_ngram_size=3] a = Unsqueeze x [2]; [!@max_ngram_size=2 "
     "!@max_ngram_size=3] a = Expand a [1 1 @n_head_per_ngram]; "
     "[!@max_ngram_size=2 !@max_ngram_size=3] h = Concat{axis=2} h a; "
     "y = Mod h vocab; [shift] y = Add y shift; "
     "[present] present = Slice f [ids.1] [9223372036854775807] [1]"},
    {"com.microsoft::ComplexMul",
     "x y -> z: a b = Split{axis=-1 num_outputs=2} x; c d = Split{axis=-1 num_outputs=2} y; "
     "p = Mul a c; q = Mul b d; r = Sub p q; p = Mul a d; q = Mul b c; i = Add p q; "
     "z = Concat{axis=-1} r i"},
    {"com.microsoft::ComplexMulConj",
     "x y -> z: a b = Split{axis=-1 num_outputs=2} x; c d = Split{axis=-1 num_outputs=2} y; "
     "p = Mul a c; q = Mul b d; r = Add p q; p = Mul b c; q = Mul a d; i = Sub p q; "
     "z = Concat{axis=-1} r i"},
    {"com.microsoft::SampleOp", "x -> y: y = Identity x"},
    {"com.microsoft::IsAllFinite",
     "(x)* -> y: [@isnan_only] refuse a question for NaN alone; [@isinf_only] refuse a question "
     "for infinity alone; each d = Sub x x; each d = Equal d 0.0; each d = Reshape d [-1]; "
     "a = Concat{axis=0} d*; a = Cast{to=i32} a; a = ReduceMin{keepdims=0} a; y = Cast{to=bool} a"},
    /* convolutions of states, transforms, images */
    {"com.microsoft::CausalConvWithState",
     "x w b past -> y present: [!@ndim|1=1] refuse more than one dim of space; "
     "[@channels_last] refuse channels that are last; [@state_window] refuse a window of states; "
     "[past] f = Concat{axis=2} past x; "
     "[!past] f = Pad{mode=constant} x [0 0 w.2-1*@dilation|1 0 0 0]; "
     "c = Conv{group=x.1 dilations=[@dilation|1]} f w b; [@activation|none=none] y = Identity c; "
     "[!@activation|none=none] s = Sigmoid c; [!@activation|none=none] y = Mul c s; "
     "[present] present = Slice f [x.2] [9223372036854775807] [2]"},
    {"com.microsoft::Rfft",
     "x -> y: [!@signal_ndim|1=1] refuse a signal of more than one dim; u = Unsqueeze x [-1]; "
     "y = DFT{onesided=1} u"},
    {"com.microsoft::Irfft",
     "x -> y: [!@signal_ndim|1=1] refuse a signal of more than one dim; "
     "m = Slice x [x.-2-2] [0] [-2] [-1]; m = Mul m (1.0 -1.0); c = Concat{axis=-2} x m; "
     "c = DFT{inverse=1} c; c = Slice c [0] [1] [-1]; y = Squeeze c [-1]"},
    {"com.microsoft::UnfoldTensor",
     "x -> y: [!@dim|-1=-1 !x.n=@dim+1] refuse another dim than the last; "
     "a = Range 0 #x.-1-@size+1 #@step|1; a = Unsqueeze a [1]; b = Range 0 #@size 1; "
     "b = Unsqueeze b [0]; a = Add a b; y = Gather{axis=-1} x a"},
    {"com.microsoft::CropAndResize",
     "x rois batch size -> y: [@mode=nearest] refuse the nearest element; "
     "c = Gather{axis=0} x batch; h w = Split{axis=0 num_outputs=2} size; y1 x1 y2 x2 = "
     "Split{axis=1 num_outputs=4} rois; h = Reshape h []; h = Cast{to=i64} h; i = Range 0 h 1; "
     "i = Cast{to=f32} i; h = Sub h 1; e = Equal h 0; h = Max h 1; h = Cast{to=f32} h; i = Div i "
     "h; "
     "i = Where e 0.5 i; d = Sub y2 y1; v = Mul d i; v = Add v y1; "
     "w = Reshape w []; w = Cast{to=i64} w; j = Range 0 w 1; j = Cast{to=f32} j; w = Sub w 1; "
     "e = Equal w 0; w = Max w 1; w = Cast{to=f32} w; j = Div j w; j = Where e 0.5 j; "
     "d = Sub x2 x1; u = Mul d j; u = Add u x1; v = Unsqueeze v [2]; u = Unsqueeze u [1]; "
     "z = Mul v 0.0; u = Add u z; z = Mul u 0.0; v = Add v z; "
     "a = Sub u 0.5; a = Abs a; b = Sub v 0.5; b = Abs b; a = Max a b; a = LessOrEqual a 0.500001; "
     "a = Unsqueeze a [1]; u = Mul u 2.0; u = Sub u 1.0; u = Unsqueeze u [-1]; v = Mul v 2.0; "
     "v = Sub v 1.0; v = Unsqueeze v [-1]; g = Concat{axis=-1} u v; "
     "c = GridSample{align_corners=1 mode=linear padding_mode=border} c g; "
     "y = Where a c @extrapolation_value|0.0"},
    /* experts */
    {"com.microsoft::MoEGroupRouter",
     "x bias weight -> y scores weights: [scores] refuse full scores; [weight] refuse a "
     "projection; "
     "x = Reshape x [-1 x.-1]; f = Cast{to=f32} x; s = Sigmoid f; t = Add s bias; "
     "g = Reshape t [0 @n_group|1 -1]; v _ = TopK{axis=-1} g [@group_topk|2]; "
     "v = ReduceSum{keepdims=0} v [-1]; a i = TopK{axis=-1} v [@topk_group|1]; a = Mul a 0.0; "
     "a = Add a 1.0; z = Mul v 0.0; m = ScatterElements{axis=-1} z i a; m = Cast{to=bool} m; "
     "m = Unsqueeze m [-1]; g = Where m g -1e30; g = Reshape g [0 -1]; "
     "u i = TopK{axis=-1} g [@top_k]; p = GatherElements{axis=-1} s i; p = Max p 1e-20; p = Log p; "
     "n = Mul s 0.0; n = Add n @router_sentinel|-10000.0; p = ScatterElements{axis=-1} n i p; "
     "y = Cast{to=:x} p"},
    {"com.microsoft::MoE",
     "x router w1 b1 w2 b2 w3 b3 -> y: " ROUTED
     "h = Einsum{equation=besh,enh->besn} rows w1; [b1] b1 = Unsqueeze b1 [0 2]; "
     "[b1] h = Add h b1; [@activation_type|relu=relu] h = Relu h; "
     "[@activation_type=gelu] h = Gelu{approximate=tanh} h; "
     "[@activation_type=silu] s = Sigmoid h; [@activation_type=silu] h = Mul h s; "
     "[w3] l = Einsum{equation=besh,enh->besn} rows w3; [b3] b3 = Unsqueeze b3 [0 2]; "
     "[b3] l = Add l b3; [w3 !@activation_type=swiglu] h = Mul h l; "
     "[@activation_type=swiglu w3] u = Identity h; "
     "[@activation_type=swiglu @swiglu_fusion=1] h = Reshape h [0 0 0 -1 2]; "
     "[@activation_type=swiglu @swiglu_fusion=1] u = Gather{axis=-1} h #0; "
     "[@activation_type=swiglu @swiglu_fusion=1] l = Gather{axis=-1} h #1; "
     "[@activation_type=swiglu @swiglu_fusion=2] u l = Split{axis=-1 num_outputs=2} h; " GATED_UNIT(
         "@activation_type=swiglu ", "@swiglu_limit",
         "h") "h = Einsum{equation=besn,ehn->besh} h w2; [b2] b2 = Unsqueeze b2 [0 2]; [b2] h = "
              "Add h b2; "
              "h = ExpertCombine h table; [x.n=3] y = Identity h; [x.n=2] y = Squeeze h [0]"},
    /* The kernel for processors normalizes the weights of the chosen experts in any case. */
    {"com.microsoft::QMoE",
     "x router w1 s1 b1 w2 s2 b2 w3 s3 b3 z1 z2 z3 scores -> y: "
     "[!@quant_type|int=int] refuse weights of floats; [z1] refuse zero points; [z2] refuse zero "
     "points; [scores] refuse weights of experts that its scores do not give; "
     "[!@expert_weight_bits|4=4 !@expert_weight_bits=8] refuse numbers of 2 or 3 bits; " OF_EXPERTS(
         "w1", "s1") OF_EXPERTS("w2", "s2")
         OF_EXPERTS("w3",
                    "s3") "y = com.microsoft::MoE{k=@k activation_type=@activation_type "
                          "activation_alpha=@activation_alpha activation_beta=@activation_beta "
                          "swiglu_fusion=@swiglu_fusion swiglu_limit=@swiglu_limit "
                          "normalize_routing_weights=1} x router "
                          "w1 b1 w2 b2 w3 b3"},
    {0},
};

const char *written_text(const char *operator_name)
{
    for (const WrittenRow *row = rows; row->name; row++)
        if (strcmp(row->name, operator_name) == 0)
            return row->text;
    return NULL;
}

/* Of com.microsoft, in onnxruntime 1.32. */
static const struct {
    const char *operators, *why;
} unwritten[] = {
    {"BeamSearch GreedySearch Sampling WhisperBeamSearch",
     "a search, which runs a model of its own again and again"},
    {"EPContext Snpe", "a model that was compiled for one kind of device"},
    {"QOrderedAttention QOrderedGelu QOrderedLayerNormalization QOrderedLongformerAttention "
     "QOrderedMatMul QuantizeWithOrder DequantizeWithOrder",
     "in layouts of one library, which its schema does not define"},
    {"QuantizeBFP DequantizeBFP MatMulFpQ4 GatherPacked MatMulPacked MoEPacked",
     "with numbers in blocks of bytes, which its schema does not define"},
    {"SparsePagedAttention SparseAttentionIndexer PackedSparseAttentionIndexer "
     "PackedSparseAttentionIndexerMerge DynamicSparseAttention",
     "attention over the pages of a server's cache"},
    {"ConvStateReplay GatedDeltaNetStateReplay Mamba2Verify SpeculativePrefixCommit "
     "VarlenCausalConvWithState",
     "over the states of a server that decodes several tokens ahead"},
    {"VarlenNGramHashMapping BifurcationDetector DynamicTimeWarping WordConvEmbedding",
     "of tokens, before or behind a model"},
    {"SparseToDenseMatMul", "of a sparse tensor"},
    {"ConvTransposeWithDynamicPads DecoderAttention",
     "whose shapes depend on the elements of its inputs"},
    {"AttnLSTM RMSNormRotary", "whose schema leaves open what its kernel computes"},
    {NULL, NULL},
};

const char *written_reason(const char *operator_name)
{
    static const char domain[] = "com.microsoft::";
    if (strncmp(operator_name, domain, sizeof domain - 1) != 0)
        return NULL;
    for (int i = 0; unwritten[i].operators; i++)
        if (str_has_word(str_from(unwritten[i].operators),
                         str_from(operator_name + sizeof domain - 1)))
            return unwritten[i].why;
    return NULL;
}
