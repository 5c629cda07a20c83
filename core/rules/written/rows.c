/* rows.c - what operators of onnxruntime are made of: the language is in written.h. Source:
 * onnxruntime's published schemas of contributed operators; where these leave a question, what its
 * kernels for processors compute. Those of bytes may differ from it by one step of their scale,
 * where it rounds a mean or a softmax of whole numbers. */
#include "core/rules/written/rows.h"

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

/* RMS over the last dim, without a scale: `to`. */
#define RMS(from, to, epsilon)                                                                     \
    "q = Mul " from " " from "; q = ReduceMean{keepdims=1} q [-1]; q = Add q " epsilon             \
    "; q = Sqrt q; " to " = Div " from " q; "

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
    /* convolutions, transforms, images */
    {"com.microsoft::ConvTransposeWithDynamicPads",
     "x w pads b -> y: y = ConvTranspose{*} x w b; [pads] e = Shape{start=2} y; "
     "[pads] l h = Split{axis=0 num_outputs=2} pads; [pads] h = Sub e h; "
     "[pads] a = Range 2 #x.n 1; [pads] y = Slice y l h a"},
    {"com.microsoft::Rfft",
     "x -> y: [!@signal_ndim|1=1] refuse a signal of more than one dim; u = Unsqueeze x [-1]; "
     "y = DFT{onesided=1} u"},
    {"com.microsoft::Irfft",
     "x -> y: [!@signal_ndim|1=1] refuse a signal of more than one dim; "
     "m = Slice x [x.-2-2] [0] [-2] [-1]; m = Mul m (1.0 -1.0); c = Concat{axis=-2} x m; "
     "c = DFT{inverse=1} c; c = Slice c [0] [1] [-1]; y = Squeeze c [-1]"},
    {"com.microsoft::UnfoldTensor", "x -> y: y = Windows{axis=@dim|-1 size=@size step=@step|1} x"},
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
    {0},
};

const char *written_text(const char *operator_name)
{
    const WrittenRow *const tables[] = {rows, rows_sequence};
    for (int i = 0; i < 2; i++)
        for (const WrittenRow *row = tables[i]; row->name; row++)
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
    {"ConvStateReplay GatedDeltaNetStateReplay Mamba2Verify SpeculativePrefixCommit",
     "over the states of a server that decodes several tokens ahead"},
    {"DecoderAttention", "whose shapes depend on the elements of its inputs"},
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
