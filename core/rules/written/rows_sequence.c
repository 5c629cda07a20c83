/* rows_sequence.c - what operators of onnxruntime on sequences of tokens are made of: attention,
 * tokens, states, experts. Language and source are those of rows.c. */
#include "core/rules/written/rows.h"

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

/* A sequence of rows as heads: b h s d. */
#define HEADS_OF(x, heads)                                                                         \
    x " = Reshape " x " [0 0 " heads " -1]; " x " = Transpose{perm=[0 2 1 3]} " x "; "

/* A cache of pages with the rows of new tokens in the slots w, of which the one behind the last is
 * dropped: `to`; kk or vv: it as heads of one sequence, 1 h n d, with a row of 0 for a sink. */
#define WRITTEN_PAGES(cache, rows, to)                                                             \
    "a = Reshape " cache " [-1 " cache ".2 " cache ".3]; u = Expand 0::" cache " [1 " cache        \
    ".2 " cache ".3]; a = Concat{axis=0} a u; a = ScatterND a w " rows "; a = Slice a [0] [" cache \
    ".0*" cache ".1] [0]; " to " = Reshape a [" cache ".0 " cache ".1 " cache ".2 " cache          \
    ".3]; a = Transpose{perm=[1 0 2]} a; [sink] u = Expand 0::" cache " [" cache ".2 1 " cache     \
    ".3]; [sink] a = Concat{axis=1} a u; " rows rows " = Unsqueeze a [0]; "

/* Of packed sequences: c, where they begin; n, their lengths; g, the sequence of each row; l, its
 * place in it. */
#define PACKED(rows)                                                                               \
    "r = Range 0 #" rows ".0 1; c = Cast{to=i64} starts; n = Slice c [1] [9223372036854775807] "   \
    "[0]; c = Slice c [0] [-1] [0]; n = Sub n c; a = Unsqueeze r [1]; o = Unsqueeze c [0]; "       \
    "g = GreaterOrEqual a o; g = Cast{to=i64} g; g = ReduceSum{keepdims=0} g [1]; g = Sub g 1; "   \
    "l = Gather{axis=0} c g; l = Sub r l; "

/* Places j within packed sequences (sequence: their numbers) become rows of f, which has the rows
 * and behind them `kept` of before each sequence. */
#define TAKEN(sequence, kept, rows)                                                                \
    "o = Gather{axis=0} c " sequence "; o = Unsqueeze o [1]; a = Less j 0; o = Add j o; "          \
    "p = Add " sequence " 1; p = Mul p #" kept "; p = Add p #" rows ".0; p = Unsqueeze p [1]; "    \
    "p = Add p j; j = Where a p o; "

/* The places of the last rows of each sequence, or of what is kept of before it. */
#define KEPT(kept, rows)                                                                           \
    "s = Range 0 #starts.0-1 1; j = Range 0 #" kept                                                \
    " 1; j = Unsqueeze j [0]; a = Unsqueeze n [1]; "                                               \
    "j = Add j a; j = Sub j #" kept "; " TAKEN("s", kept, rows)

const WrittenRow rows_sequence[] = {
    /* attention */
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
    {"com.microsoft::SparseAttention",
     "q k v pk pv rows cols total lens cos sin -> y ok ov: [!k] q k v = Split{axis=2} q "
     "[@num_heads*pk.3 @kv_num_heads*pk.3 @kv_num_heads*pk.3]; " HEADS_OF("q", "@num_heads")
         HEADS_OF("k", "@kv_num_heads") HEADS_OF(
             "v", "@kv_num_heads") "n = Cast{to=i64} lens; p = Sub n #q.1; t = Cast{to=i64} total; "
                                   "e = Equal t #q.1; "
                                   "p = Where e 0 p; p = Max p 0; i = Unsqueeze p [1]; r = Range 0 "
                                   "#q.1 1; i = "
                                   "Add i r; "
                                   "[@do_rotary] c = Gather{axis=0} cos i; [@do_rotary] s = "
                                   "Gather{axis=0} sin i; "
                                   "[@do_rotary] q = "
                                   "RotaryEmbedding{interleaved=@rotary_interleaved|0} q c s; "
                                   "[@do_rotary] k = "
                                   "RotaryEmbedding{interleaved=@rotary_interleaved|0} k c s; "
                                   "ok = TensorScatter{axis=2} pk k p; ov = TensorScatter{axis=2} "
                                   "pv v p; "
                                   "b = Cast{to=i64} rows; f = Slice b [0] [-1] [1]; l = Slice b "
                                   "[1] [9223372036854775807] [1]; "
                                   "f = Unsqueeze f [2]; l = Unsqueeze l [2]; z = Range 0 #cols.1 "
                                   "1; f = LessOrEqual f z; "
                                   "l = Greater l z; f = And f l; f = Cast{to=f32} f; z = Range 0 "
                                   "#rows.1-1 1; "
                                   "z = Cast{to=:cols} z; l = Unsqueeze cols [2]; l = Equal l z; l "
                                   "= Cast{to=f32} l; "
                                   "m = MatMul f l; r = Div i #@sparse_block_size; m = "
                                   "Gather{axis=1} m r; "
                                   "j = Range 0 #pk.2 1; r = Div j #@sparse_block_size; m = "
                                   "Gather{axis=3} m r; "
                                   "m = Cast{to=bool} m; i = Unsqueeze i [2]; j = LessOrEqual j i; "
                                   "m = And m j; "
                                   "m = Transpose{perm=[1 0 2 3]} m; m = Unsqueeze m [1]; "
                                   "m = Expand m [1 @num_heads/rows.0 1 1 1]; m = Reshape m [0 "
                                   "@num_heads q.1 pk.2]; "
                                   "y = Attention{scale=@scale} q ok ov m; y = Transpose{perm=[0 2 "
                                   "1 3]} y; "
                                   "y = Reshape y [0 0 -1]"},
    {"com.microsoft::PagedAttention",
     "q k v pk pv starts past table cos sin slots sink qn kn ks vs -> y ok ov: "
     "[!@kv_cache_layout|SEPARATE=SEPARATE] refuse a cache of latents; "
     "[ks] refuse a cache of quantized keys; [@rotary_offset|0] refuse a rotation that begins "
     "within a head; [sink @softcap|0] refuse a sink under a softcap; "
     "[!k] q k v = Split{axis=1} q [@num_heads*pk.3 @kv_num_heads*pk.3 @kv_num_heads*pk.3]; "
     "q = Reshape q [0 @num_heads -1]; k = Reshape k [0 @kv_num_heads -1]; "
     "v = Reshape v [0 @kv_num_heads -1]; "
     "[qn] q = RMSNormalization{axis=-1 epsilon=@qk_norm_epsilon|1e-6} q qn; "
     "[kn] k = RMSNormalization{axis=-1 epsilon=@qk_norm_epsilon|1e-6} k kn; "
     "r = Range 0 #q.0 1; c = Cast{to=i64} starts; b = Slice c [0] [-1] [0]; "
     "n = Slice c [1] [9223372036854775807] [0]; n = Sub n b; h = Cast{to=i64} past; "
     "a = Unsqueeze r [1]; b2 = Unsqueeze b [0]; g = GreaterOrEqual a b2; g = Cast{to=i64} g; "
     "g = ReduceSum{keepdims=0} g [1]; g = Sub g 1; a = Sub h b; a = Gather{axis=0} a g; "
     "i = Add r a; "
     "[@do_rotary] c = Gather{axis=0} cos i; [@do_rotary] c = Unsqueeze c [0]; "
     "[@do_rotary] s = Gather{axis=0} sin i; [@do_rotary] s = Unsqueeze s [0]; "
     "q = Transpose{perm=[1 0 2]} q; q = Unsqueeze q [0]; k = Transpose{perm=[1 0 2]} k; "
     "k = Unsqueeze k [0]; "
     "[@do_rotary] q = RotaryEmbedding{interleaved=@rotary_interleaved|0} q c s; "
     "[@do_rotary] k = RotaryEmbedding{interleaved=@rotary_interleaved|0} k c s; "
     "k = Squeeze k [0]; k = Transpose{perm=[1 0 2]} k; t = Cast{to=i64} table; "
     "[slots] w = Cast{to=i64} slots; [!slots] w = Div i #pk.1; [!slots] w = Unsqueeze w [1]; "
     "[!slots] a = Gather{axis=0} t g; [!slots] w = GatherElements{axis=1} a w; "
     "[!slots] w = Squeeze w [1]; [!slots] a = Less w 0; [!slots] w = Mul w #pk.1; "
     "[!slots] u = Mod i #pk.1; [!slots] w = Add w u; [!slots] w = Where a -1 w; "
     "a = Less w 0; w = Where a #pk.0*pk.1 w; w = Unsqueeze w [1]; " WRITTEN_PAGES("pk", "k", "ok")
         WRITTEN_PAGES(
             "pv", "v",
             "ov") "a = Unsqueeze t [1]; u = Range 0 #pk.0 1; u = Unsqueeze u [1]; a = Equal a u; "
                   "a = Cast{to=f32} a; a = Gather{axis=0} a g; u = Range 0 #table.1*pk.1 1; "
                   "[@is_causal|1] e = Unsqueeze i [1]; [!@is_causal|1] e = Add h n; "
                   "[!@is_causal|1] e = Gather{axis=0} e g; [!@is_causal|1] e = Sub e 1; "
                   "[!@is_causal|1] e = Unsqueeze e [1]; e = LessOrEqual u e; "
                   "[!@local_window_size|-1=-1] i = Unsqueeze i [1]; "
                   "[!@local_window_size|-1=-1] i = Sub i #@local_window_size; "
                   "[!@local_window_size|-1=-1] i = Greater u i; [!@local_window_size|-1=-1] e = "
                   "And e i; "
                   "e = Cast{to=f32} e; e = Reshape e [q.0 table.1 pk.1]; m = MatMul a e; "
                   "m = Reshape m [q.0 pk.0*pk.1]; m = Cast{to=bool} m; "
                   "[sink] o = Where m 0.0 -1e30; [sink] o = Unsqueeze o [0]; "
                   "[sink] o = Expand o [@num_heads 1 1]; [sink] s = Unsqueeze sink [1 2]; "
                   "[sink] s = Expand s [1 q.0 1]; [sink] m = Concat{axis=2} o s; "
                   "y = Attention{scale=@scale softcap=@softcap} q kk vv m; y = Squeeze y [0]; "
                   "y = Transpose{perm=[1 0 2]} y; y = Reshape y [0 -1]"},
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
    {"com.microsoft::WordConvEmbedding",
     "seq w b c -> y: n = Equal seq 0::seq; n = Cast{to=i64} n; n = CumSum n 1; n = Equal n 0; "
     "n = Cast{to=i64} n; n = ReduceSum{keepdims=1} n [1]; e = Gather{axis=0} c seq; "
     "e = Unsqueeze e [1]; e = Conv e w b; e = Squeeze e [3]; e = Tanh e; "
     "r = Range 0 #seq.1-w.2+1 1; r = Unsqueeze r [0]; l = Sub n #w.2; l = Max l 0; "
     "r = LessOrEqual r l; r = Unsqueeze r [1]; e = Where r e -2.0; "
     "e = ReduceMax{keepdims=0} e [2]; n = Greater n 0; y = Where n e 0.0"},
    {"com.microsoft::VarlenNGramHashMapping",
     "ids mul vocab starts past shift eos parts old count -> y present parted update: "
     "[eos] refuse an end of its sequences; [parts] refuse parts of its sequences; "
     "[count] refuse updates of its state; [!@max_ngram_size=2 !@max_ngram_size=3 "
     "!@max_ngram_size=4] refuse n-grams of more than four; " PACKED(
         "ids") "[!past] past = Expand #@pad_id|0::ids [starts.0-1 @max_ngram_size-1]; "
                "u = Reshape past [-1]; f = Concat{axis=0} ids u; "
                "j = Range 0 #0-@max_ngram_size -1; j = Unsqueeze j [0]; "
                "a = Unsqueeze l [1]; j = Add a j; " TAKEN(
                    "g", "@max_ngram_size-1",
                    "ids") "w = Gather{axis=0} f j; m = Slice mul [0] [@max_ngram_size]; w = Mul w "
                           "m; "
                           "a = Gather{axis=-1} w #0; b = Gather{axis=-1} w #1; x = BitwiseXor a "
                           "b; "
                           "h = Unsqueeze x [1]; h = Expand h [1 @n_head_per_ngram]; "
                           "[!@max_ngram_size=2] a = Gather{axis=-1} w #2; [!@max_ngram_size=2] x "
                           "= BitwiseXor x a; "
                           "[!@max_ngram_size=2] a = Unsqueeze x [1]; "
                           "[!@max_ngram_size=2] a = Expand a [1 @n_head_per_ngram]; "
                           "[!@max_ngram_size=2] h = Concat{axis=1} h a; "
                           "[@max_ngram_size=4] a = Gather{axis=-1} w #3; [@max_ngram_size=4] x = "
                           "BitwiseXor x a; "
                           "[@max_ngram_size=4] a = Unsqueeze x [1]; "
                           "[@max_ngram_size=4] a = Expand a [1 @n_head_per_ngram]; "
                           "[@max_ngram_size=4] h = Concat{axis=1} h a; y = Mod h vocab; [shift] y "
                           "= Add y shift; " KEPT("@max_ngram_size-1",
                                                  "ids") "[present] present = Gather{axis=0} f j"},
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
    /* convolutions of states */
    {"com.microsoft::CausalConvWithState",
     "x w b past -> y present: [!@ndim|1=1] refuse more than one dim of space; "
     "[@channels_last] refuse channels that are last; [@state_window] refuse a window of states; "
     "[past] f = Concat{axis=2} past x; "
     "[!past] f = Pad{mode=constant} x [0 0 w.2-1*@dilation|1 0 0 0]; "
     "c = Conv{group=x.1 dilations=[@dilation|1]} f w b; [@activation|none=none] y = Identity c; "
     "[!@activation|none=none] s = Sigmoid c; [!@activation|none=none] y = Mul c s; "
     "[present] present = Slice f [x.2] [9223372036854775807] [2]"},
    {"com.microsoft::VarlenCausalConvWithState",
     "x w starts b past count delta mask -> y present update: [count] refuse updates of its state; "
     "[delta] refuse taps of each token; " PACKED(
         "x") "u = Transpose{perm=[0 2 1]} past; u = Reshape u [-1 x.1]; f = Concat{axis=0} x u; "
              "j = Range #1-w.2*@dilation|1 1 #@dilation|1; j = Unsqueeze j [0]; a = Unsqueeze l "
              "[1]; "
              "j = Add a j; " TAKEN("g", "w.2-1*@dilation|1",
                                    "x") "t = Gather{axis=0} f j; w = Transpose{perm=[2 1 0]} w; w "
                                         "= Squeeze w [1]; t = Mul t w; "
                                         "t = ReduceSum{keepdims=0} t [1]; [b] t = Add t b; "
                                         "[@activation|none=none] y = Identity t; "
                                         "[!@activation|none=none] sg = Sigmoid t; "
                                         "[!@activation|none=none] y = Mul t sg; " KEPT(
                                             "w.2-1*@dilation|1",
                                             "x") "[present] p = Gather{axis=0} f j; [present] "
                                                  "present = Transpose{perm=[0 2 1]} p"},
    /* experts */
    {"com.microsoft::RouterGateUpProj",
     "x w -> router y: t = MatMul x w; "
     "router u l = Split{axis=-1} t [@router_size w.1-@router_size/2 "
     "w.1-@router_size/2]; " GATED_UNIT("", "@limit", "y")},
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
