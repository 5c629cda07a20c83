/* example_elementwise.c - small calls of operators that go place by place: elementwise, pointwise,
 * quantize, random. */
#include "core/rules/example.h"

/* clang-format off */
const Example examples_elementwise[] = {
    {"Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
     "HardSwish LeakyRelu Log Mish Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
     "Softsign Sqrt Swish Tan Tanh ThresholdedRelu IsInf IsNaN Neg Identity Dropout", "5x6", NULL, 0},
    {"Dropout", "5x6", NULL, 2},
    {"BitwiseNot", "5x6:i64", NULL, 0},
    {"Not", "5x6:bool", NULL, 0},
    {"Cast", "5x6", "to=7", 0},
    {"Clip", "5x6,scalar,scalar", NULL, 0},
    {"Add Sub Mul Div PRelu Pow Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mean Sum", "5x6,5x6", NULL, 0},
    {"Add Sub Mul Div Max", "4x5x6,5x1", NULL, 0},
    {"Add Sub Mul Div", "5x6,scalar", NULL, 0},
    {"Mul Div", "5x6,1x1", NULL, 0},
    {"PRelu", "3x5x6,5x1", NULL, 0},
    {"BitShift", "5x6:u8,5x6:u8", "direction=LEFT", 0},
    {"BitwiseAnd BitwiseOr BitwiseXor Mod", "5x6:i64,6:i64", NULL, 0},
    {"And Or Xor", "5x6:bool,5x6:bool", NULL, 0},
    {"Where", "5x1:bool,6,5x6", NULL, 0},
    {"Max Min Mean Sum", "5x6,6,5x1", NULL, 0},
    {"Expand", "5x1,=[4,5,6]", NULL, 0},
    {"Expand", "5x6,=[5,1]", NULL, 0},
    /* pointwise */
    {"Cbrt Digamma Erfc Erfinv Exp2 Expm1 Frac HardShrink HardTanh Lgamma Log10 Log1p Log2 "
     "LogSigmoid Logit NanToNum Poisson ReducePrecision Relu6 Rsqrt RoundAway ScaledTanh SoftShrink "
     "Square TanhShrink Trunc IsFinite AddScalar PowScalar RemainderScalar MaxScalar MinScalar "
     "MulScalar DivScalar CompareScalar", "5x6", NULL, 0},
    {"PopCount DivScalar", "5x6:i64", NULL, 0},
    {"ConvertType FillLike", "5x6", "dtype=7", 0},
    {"Conj Real Imag", "5x6:c64", NULL, 0},
    {"Scale", "5x6", "scale=2.5", 0},
    {"Scale", "5x6", "scale=2.5 bias=1.5", 0},
    {"Atan2 CopySign FloorDiv FMax FMin Heaviside Hypot LogAddExp NextAfter Remainder TruncDiv XLogY "
     "Compare NotEqual IsClose", "5x6,6", NULL, 0},
    {"Gcd Lcm ShiftRight", "5x6:i64,6:i64", NULL, 0},
    {"Clamp", "5x6,6,5x1", NULL, 0},
    {"Clamp", "5x6", "min=0 max=3", 0},
    {"Lerp", "5x6,5x6,scalar", NULL, 0},
    {"Lerp", "5x6,5x6,5x1", NULL, 0},
    {"AddCMul AddCDiv", "5x6,5x1,6", NULL, 0},
    {"MaskedFill", "5x6,5x1:bool,scalar", NULL, 0},
    {"LabelSmooth", "5x6,6", NULL, 0},
    {"CopyOnto", "5x6,6", NULL, 0},
    {"CopyOnto", "5x6,5x6", NULL, 0},
    {"FusedDropoutAdd", "5x6,5x6", NULL, 2},
    {"Elementwise", "5x6,6,5x1", NULL, 0},
    {"NewFull", "5x6", "size=[4,7]", 0},
    {"NewFull", "5x6", "size=[5,6]", 0},
    {"Full", "", "size=[4,7]", 0},
    {"Arange", "", "start=3 end=18 step=2", 0},
    {"Linspace", "", "steps=7", 0},
    {"Eye", "", "n=5 m=6", 0},
    {"ViewAsComplex", "5x6x2", NULL, 0},
    {"ViewAsReal", "5x6:c64", NULL, 0},
    {"ForeachUnary ForeachNorm", "5x6,7", NULL, 2},
    {"ForeachBinary", "5x6,7,5x6,7", NULL, 2},
    /* quantize */
    {"QuantizeLinear com.microsoft::QuantizeLinear", "5x6,6,6:u8", NULL, 0},
    {"QuantizeLinear", "5x6,scalar,scalar:i8", NULL, 0},
    {"DequantizeLinear com.microsoft::DequantizeLinear", "5x6:i8,5,5:i8", "axis=0", 0},
    {"DequantizeLinear", "5x6:u8,5x2", "axis=1 block_size=3", 0},
    {"DequantizeLinear", "5x7:u8,5x3", "axis=1 block_size=3", 0},
    {"DynamicQuantizeLinear", "5x6", NULL, 3},
    {"CastLike", "5x6,3:i32", NULL, 0},
    {"BitCast", "5x6", "to=6", 0},
    {"com.microsoft::QLinearAdd com.microsoft::QLinearMul",
     "5x6:u8,scalar,scalar:u8,6:u8,scalar,scalar:u8,scalar,scalar:u8", NULL, 0},
    {"com.microsoft::QLinearSigmoid com.microsoft::QLinearLeakyRelu",
     "5x6:u8,scalar,scalar:u8,scalar,scalar:u8", NULL, 0},
    /* random */
    {"RandomNormal RandomUniform", "", "shape=[5,6]", 0},
    {"RandomNormalLike RandomUniformLike Bernoulli", "5x6", NULL, 0},
    {"Multinomial", "5x6", "sample_size=4", 0},
    {NULL, NULL, NULL, 0},
};
/* clang-format on */
