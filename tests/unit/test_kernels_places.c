/* Kernels that put, choose, count or order elements by place, on whole tensors, and those that look
 * at rows or matrices. */
#include "tests/unit/kernel_rows.h"

/* clang-format off */
static OpRow rows[] = {
    /* sizes that the data decide */
    {"not zero", "y <- NonZero f32[2,3]", {"0 1 nan 0 0 -2"}, "i64[2,3] 0 0 1 1 2 2", 0},
    {"nothing but zeros", "y <- NonZero bool[3]", {"0 0 0"}, "i64[1,0]", 0},
    {"a scalar that is not zero", "y <- NonZero f32[]", {"5"}, "i64[0,1]", 0},
    {"compress rows", "y <- Compress f32[3,2] bool[3] axis=0", {"1 2 3 4 5 6", "0 1 1"}, "f32[2,2] 3 4 5 6", 0},
    {"compress columns by a short condition", "y <- Compress i64[2,3] bool[2] axis=-1", {"1 2 3 4 5 6", "0 1"}, "i64[2,1] 2 5", 0},
    {"compress elements", "y <- Compress f32[2,2] bool[4]", {"1 2 3 4", "1 0 0 1"}, "f32[2] 1 4", 0},
    {"compress to nothing", "y <- Compress f32[2,2] bool[2] axis=1", {"1 2 3 4", "0 0"}, "f32[2,0]", 0},
    {"compress beyond the end", "y <- Compress f32[2] bool[3] axis=0", {"1 2", "1 0 1"}, "the condition selects places outside the dim", 0},
    {"unique", "y i w c <- Unique f32[5]", {"2 1 2 3 1"}, "f32[3] 1 2 3; i64[3] 1 0 3; i64[5] 1 0 1 2 0; i64[3] 2 2 1", 0},
    {"unique as they come", "y i w c <- Unique i64[4] sorted=0", {"7 -2 7 0"}, "i64[3] 7 -2 0; i64[3] 0 1 3; i64[4] 0 1 0 2; i64[3] 2 1 1", 0},
    {"unique NaN", "y i w c <- Unique f32[4]", {"nan 1 nan 0"}, "f32[3] 0 1 nan; i64[3] 3 1 0; i64[4] 2 1 2 0; i64[3] 1 1 2", 0},
    {"unique rows", "y i w c <- Unique f32[3,2] axis=0", {"1 2 0 9 1 2"}, "f32[2,2] 0 9 1 2; i64[2] 1 0; i64[3] 1 0 1; i64[2] 1 2", 0},
    {"unique columns", "y - w <- Unique i32[2,3] axis=1", {"1 0 1 5 6 5"}, "i32[2,2] 0 1 6 5; ; i64[3] 1 0 1", 0},
    {"unique of large numbers without a sign", "y <- Unique u64[3]", {"18446744073709551615 1 9223372036854775808"}, "u64[3] 1 9223372036854775808 18446744073709551615", 0},
    {"boxes, one covered", "y <- NonMaxSuppression f32[1,3,4] f32[1,1,3] i64[] f32[] f32[]", {"0 0 1 1 0 0.1 1 1.1 0 10 1 11", "0.5 0.75 0.6", "3", "0.5", "0"}, "i64[2,3] 0 0 1 0 0 2", 0},
    {"boxes by their centres", "y <- NonMaxSuppression f32[1,2,4] f32[1,1,2] i64[] f32[] center_point_box=1", {"0.5 0.5 1 1 0.5 0.5 1 1", "0.5 0.5", "3", "0.5"}, "i64[1,3] 0 0 0", 0},
    {"boxes at most", "y <- NonMaxSuppression f32[1,2,4] f32[1,2,2] i64[]", {"0 0 1 1 5 5 6 6", "0.5 0.6 0.9 0.8", "1"}, "i64[2,3] 0 0 1 0 1 0", 0},
    {"boxes by their scores", "y <- NonMaxSuppression f32[1,2,4] f32[1,1,2] i64[] f32[] f32[]", {"0 0 1 1 5 5 6 6", "0.5 nan", "2", "0.5", "0.5"}, "i64[0,3]", 0},
    {"no boxes unless they are asked for", "y <- NonMaxSuppression f32[1,1,4] f32[1,1,1]", {"0 0 1 1", "1"}, "i64[0,3]", 0},

    /* put at places */
    {"scatter rows", "y <- ScatterND f32[3,2] i64[2,1] f32[2,2]", {"1 2 3 4 5 6", "2 0", "10 20 30 40"}, "f32[3,2] 30 40 3 4 10 20", 0},
    {"scatter elements by coordinates", "y <- ScatterND i64[2,2] i64[2,2] i64[2]", {"1 2 3 4", "0 1 -1 -2", "9 8"}, "i64[2,2] 1 9 8 4", 0},
    {"scatter that meets", "y <- ScatterND f32[3] i64[3,1] f32[3] reduction=\"mul\"", {"1 2 3", "1 1 2", "10 20 30"}, "f32[3] 1 400 90", 18},
    {"scatter rows that are the largest", "y <- ScatterND bf16[2] i64[2,1] bf16[2] reduction=\"max\"", {"1 2", "0 1", "3 1"}, "bf16[2] 3 2", 18},
    {"scatter coordinates outside", "y <- ScatterND f32[3] i64[1,1] f32[1]", {"1 2 3", "3", "0"}, "index 3 is outside a dim of size 3", 0},
    {"scatter of everything", "y <- ScatterND f32[2] i64[1,0] f32[1,2]", {"1 2", "", "8 9"}, "f32[2] 8 9", 0},
    {"into a cache", "y <- TensorScatter f32[2,3,1] f32[2,1,1] i64[2]", {"1 2 3 4 5 6", "8 9", "0 2"}, "f32[2,3,1] 8 2 3 4 5 9", 24},
    {"into a ring", "y <- TensorScatter f32[1,3,1] f32[1,2,1] i64[1] mode=\"circular\"", {"1 2 3", "8 9", "5"}, "f32[1,3,1] 9 2 8", 24},
    {"into a cache of heads", "y <- TensorScatter f32[2,2,2,1] f32[2,2,1,1] i64[2]", {"1 2 3 4 5 6 7 8", "10 20 30 40", "1 0"}, "f32[2,2,2,1] 1 10 3 20 30 6 40 8", 24},
    {"far beyond a cache", "y <- TensorScatter f32[1,2,1] f32[1,2,1] i64[1]", {"1 2", "8 9", "9223372036854775807"}, "row 9223372036854775807 is outside a cache of 2", 24},
    {"before a ring", "y <- TensorScatter f32[1,2,1] f32[1,1,1] i64[1] mode=\"circular\"", {"1 2", "8", "-1"}, "row -1 is outside a cache of 2", 24},
    {"beyond a cache", "y <- TensorScatter f32[1,2,1] f32[1,1,1] i64[1]", {"1 2", "8", "2"}, "row 2 is outside a cache of 2", 24},
    {"one hot", "y <- OneHot i64[3] i64[]{3} f32[2]", {"1 -1 5", "0.5 2"}, "f32[3,3] 0.5 2 0.5 0.5 0.5 2 0.5 0.5 0.5", 0},
    {"one hot along the first dim", "y <- OneHot f32[2] f32[1]{3} i32[2] axis=0", {"0 2", "0 1"}, "i32[3,2] 1 0 0 0 0 1", 0},
    {"a diagonal", "y <- EyeLike f32[2,3] k=1 dtype=7", {"0 0 0 0 0 0"}, "i64[2,3] 0 1 0 0 0 1", 0},
    {"a diagonal below", "y <- EyeLike bool[2,2] k=-1", {"0 0 0 0"}, "bool[2,2] 0 0 1 0", 0},
    {"reversed, each as long as it is", "y <- ReverseSequence f32[3,2] i64[2]", {"1 2 3 4 5 6", "2 3"}, "f32[3,2] 3 6 1 4 5 2", 0},
    {"reversed along the last dim", "y <- ReverseSequence i8[2,3] i64[2] time_axis=1 batch_axis=0", {"1 2 3 4 5 6", "0 3"}, "i8[2,3] 1 2 3 6 5 4", 0},
    {"reversed beyond the end", "y <- ReverseSequence f32[2,1] i64[1]", {"1 2", "3"}, "a sequence of 3 is longer than the 2 there are", 0},
    {"the middle", "y <- CenterCropPad f32[5] i64[1]{2}", {"1 2 3 4 5"}, "f32[2] 2 3", 0},
    {"around the middle", "y <- CenterCropPad i64[2,1] i64[2]{1,4}", {"1 2"}, "i64[1,4] 0 1 0 0", 0},
    {"some dims", "y <- CenterCropPad f32[2,2] i64[1]{3} axes=[-1]", {"1 2 3 4"}, "f32[2,3] 1 2 0 3 4 0", 0},
    {"bits", "y <- BitCast f32[2] to=6", {"1 -2"}, "i32[2] 1065353216 -1073741824", 26},
    {"cast like", "y <- CastLike f32[2] i64[1]", {"1.9 -1.9", "0"}, "i64[2] 1 -1", 0},

    /* n-grams: [5 6], then [5 6], [6 7] */
    {"how often", "y <- TfIdfVectorizer i64[4] min_gram_length=1 max_gram_length=2 max_skip_count=0 mode=\"TF\" ngram_counts=[0,2] ngram_indexes=[0,1,3,2] pool_int64s=[5,6,5,6,6,7]", {"5 6 6 7"}, "f32[4] 1 2 1 1", 0},
    {"with items between", "y <- TfIdfVectorizer i32[2,3] min_gram_length=2 max_gram_length=2 max_skip_count=1 mode=\"TF\" ngram_counts=[0,0] ngram_indexes=[0,1] pool_int64s=[5,6,6,7]", {"5 6 6 6 5 7"}, "f32[2,2] 2 0 0 1", 0},
    {"weighed", "y <- TfIdfVectorizer i64[3] min_gram_length=1 max_gram_length=1 max_skip_count=3 mode=\"TFIDF\" ngram_counts=[0] ngram_indexes=[1,0] pool_int64s=[5,6] weights=[0.5,2.0]", {"5 5 6"}, "f32[2] 2 1", 0},
    {"there at all", "y <- TfIdfVectorizer i64[3] min_gram_length=1 max_gram_length=1 max_skip_count=0 mode=\"IDF\" ngram_counts=[0] ngram_indexes=[1,0] pool_int64s=[5,6] weights=[0.5,2.0]", {"5 5 7"}, "f32[2] 0 0.5", 0},

    /* rows and matrices */
    {"the first largest", "y <- Hardmax f32[2,3]", {"1 3 3 nan 9 0"}, "f32[2,3] 0 1 0 1 0 0", 0},
    {"the largest of the rest", "y <- Hardmax f32[1,2,2]", {"1 3 4 2"}, "f32[1,2,2] 0 0 1 0", 11},
    {"unit length", "y <- LpNormalization f32[2,2] axis=1", {"3 4 0 0"}, "f32[2,2] 0.6 0.8 0 0", 0},
    {"unit sum", "y <- LpNormalization f64[2,2] axis=0 p=1", {"1 4 -3 0"}, "f64[2,2] 0.25 1 -0.75 0", 0},
    {"mean 0, deviation 1", "y <- MeanVarianceNormalization f32[2,2,1,1]", {"1 10 3 30"}, "f32[2,2,1,1] -1 -1 1 1", 0},
    {"of given dims", "y <- MeanVarianceNormalization f32[2,2] axes=[-1]", {"1 3 5 5"}, "f32[2,2] -1 1 0 0", 0},
    {"inverses", "y <- Inverse f32[2,2]", {"1 2 3 4"}, "f32[2,2] -2 1 1.5 -0.5", 0},
    {"of a singular matrix", "y <- com.microsoft::Inverse f32[2,2]", {"1 2 2 4"}, "a matrix is singular", 0},
    {"squared distances", "y <- com.microsoft::CDist f32[1,2] f32[2,2]", {"0 0", "3 4 0 1"}, "f32[1,2] 25 1", 0},
    {"distances", "y <- com.microsoft::CDist f32[1,2] f32[2,2] metric=\"euclidean\"", {"0 0", "3 4 0 1"}, "f32[1,2] 5 1", 0},
    {"a dim more at the end", "y <- com.microsoft::ExpandDims f32[2] i32[]{-1}", {"1 2"}, "f32[2,1] 1 2", 0},
    {"a convolution, an addend, Relu", "y <- com.microsoft::FusedConv f32[1,1,2] f32[1,1,1] f32[1] f32[1,1,2] activation=\"Relu\"", {"1 2", "3", "1", "-10 0"}, "f32[1,1,2] 0 7", 0},
    {"a convolution clipped", "y <- com.microsoft::FusedConv f32[1,1,2] f32[1,1,1] activation=\"Clip\" activation_params=[0.0,5.0]", {"1 2", "3"}, "f32[1,1,2] 3 5", 0},
    {"a product, LeakyRelu", "y <- com.microsoft::FusedGemm f32[1,2] f32[2,2] activation=\"LeakyRelu\" activation_alpha=0.5", {"1 2", "1 2 -3 4"}, "f32[1,2] -2.5 10", 0},
    {"an activation of another name", "y <- com.microsoft::FusedGemm f32[1,1] f32[1,1] activation=\"Softsign\"", {"1", "1"}, "unknown activation 'Softsign'", 0},
    {"windows", "y <- Windows i32[5] size=3 step=2", {"1 2 3 4 5"}, "i32[2,3] 1 2 3 3 4 5", 0},
    {"windows of rows", "y <- Windows f32[4,2] axis=0 size=2 dilation=2", {"1 2 3 4 5 6 7 8"}, "f32[2,2,2] 1 5 2 6 3 7 4 8", 0},
    {"divisors", "y <- Gcd i64[4] i64[4]", {"12 -4 0 7", "18 6 0 0"}, "i64[4] 6 2 0 7", 0},
    {"multiples", "y <- Lcm i64[3] i64[3]", {"4 -4 0", "6 3 5"}, "i64[3] 12 12 0", 0},
    {"digamma", "y <- Digamma f64[3]", {"1 0.5 -0.5"}, "f64[3] -0.577216 -1.96351 0.03649", 0},
    {"zeta", "y <- Zeta f64[2] f64[2]", {"2 3", "1 2"}, "f64[2] 1.64493 0.202057", 0},
    {"Bessel functions", "y <- BesselI0 f64[3]", {"0 1 -2"}, "f64[3] 1 1.26607 2.27959", 0},
    {"of order 1, scaled", "y <- BesselI1e f64[3]", {"0 1 -40"}, "f64[3] 0 0.20791 -0.0624822", 0},
    {"erfc, scaled", "y <- Erfcx f64[3]", {"0 1 20"}, "f64[3] 1 0.427584 0.0281743", 0},
    {"shares of gamma", "y <- GammaP f64[3] f64[3]", {"1 2 3", "1 5 0"}, "f64[3] 0.632121 0.959572 0", 0},
    {"the rest", "y <- GammaQ f64[2] f64[2]", {"1 2", "1 5"}, "f64[2] 0.367879 0.0404277", 0},
    {"determinants", "y <- Det f32[2,2,2]", {"1 2 3 4 0 1 1 0"}, "f32[2] -2 -1", 0},
    {"of a matrix without rows", "y <- Det f64[0,0]", {""}, "f64[] 1", 0},
    {"of one that is singular", "y <- Det f32[3,3]", {"1 2 3 2 4 6 0 0 1"}, "f32[] 0", 0},
    {"gated", "y <- SwiGLU f32[2] f32[2] alpha=0.0", {"4 -2", "3 5"}, "f32[2] 6 -5", 28},
    {"hard sigmoid keeps NaN", "y <- HardSigmoid f32[4] alpha=0.5 beta=0.5", {"nan 9 -9 0.5"}, "f32[4] nan 1 0 0.75", 0},
    {"log of a sum with infinities", "y <- ReduceLogSumExp f32[2,3] axes=[1]", {"inf -inf inf -inf -inf -inf"}, "f32[2,1] inf -inf", 13},
    {"log of a sum with NaN", "y <- ReduceLogSumExp f32[2,2] axes=[1]", {"nan inf inf nan"}, "f32[2,1] nan nan", 13},
    {"length of integers", "y <- ReduceL2 i32[2] axes=[0]", {"3 5"}, "i32[1] 5", 13},
    {"infinite above", "y <- IsInf f32[3] detect_negative=0", {"inf -inf nan"}, "bool[3] 1 0 0", 0},
    {"infinite below", "y <- IsInf f64[3] detect_positive=0", {"inf -inf nan"}, "bool[3] 0 1 0", 0},
    {"not a number, halves", "y <- IsNaN f16[2]", {"nan 1"}, "bool[2] 1 0", 0},
    {"running product", "y <- CumProd i64[2,2] i64[]{0}", {"1 2 3 4"}, "i64[2,2] 1 2 3 8", 26},

    /* 64 bits without a sign */
    {"order without a sign", "y <- Less u64[2] u64[2]", {"1 18446744073709551615", "9223372036854775808 2"}, "bool[2] 1 0", 0},
    {"largest without a sign", "y <- Max u64[1] u64[1]", {"9223372036854775808", "7"}, "u64[1] 9223372036854775808", 0},
    {"quotient without a sign", "y <- Div u64[2] u64[2]", {"18446744073709551615 5", "2 0"}, "u64[2] 9223372036854775807 0", 0},
    {"rest without a sign", "y <- Mod u64[1] u64[1]", {"18446744073709551615", "10"}, "u64[1] 5", 0},
    {"shifted without a sign", "y <- BitShift u64[2] u64[2] direction=\"RIGHT\"", {"9223372036854775808 5", "63 64"}, "u64[2] 1 0", 0},
    {"shifted with its sign", "y <- BitShift i8[4] i8[4] direction=\"RIGHT\"", {"-8 -8 4 -1", "1 9 -1 7"}, "i8[4] -4 -1 0 -1", 28},
    {"shifted out", "y <- BitShift i8[2] i8[2] direction=\"LEFT\"", {"-1 65", "7 8"}, "i8[2] -128 0", 28},
    {"a float's rest has the divisor's sign", "y <- Mod f32[5] f32[5]", {"-7 7 -3 6 1", "3 -3 inf 3 0"}, "f32[5] 2 -2 inf 0 nan", 28},
    {"clip without a sign", "y <- Clip u64[3] u64[]", {"0 5 18446744073709551615", "3"}, "u64[3] 3 5 18446744073709551615", 0},
    {"least of all without a sign", "y <- ReduceMin u64[2] axes=[0]", {"18446744073709551615 9223372036854775808"}, "u64[1] 9223372036854775808", 13},
    {"largest of all without a sign", "y <- ReduceMax u64[2] axes=[0]", {"5 9223372036854775808"}, "u64[1] 9223372036854775808", 13},
    {"where the largest without a sign is", "y <- ArgMax u64[2]", {"5 9223372036854775808"}, "i64[1] 1", 0},
    {"top without a sign", "y i <- TopK u64[3] i64[1]{2}", {"5 9223372036854775808 7"}, "u64[2] 9223372036854775808 7; i64[2] 1 2", 0},
    {"as a float without a sign", "y <- Cast u64[2] to=1", {"9223372036854775808 18446744073709551615"}, "f32[2] 9.22337e+18 1.84467e+19", 0},
    {"from a float without a sign", "y <- Cast f64[4] to=13", {"9223372036854775808 1e30 nan 3.9"}, "u64[4] 9223372036854775808 18446744073709551615 0 3", 0},
};
/* clang-format on */

/* ---- every type ---- */

/* Operators of two operands, as each type of integers computes them: wide, then wrapped. */
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideBits;

typedef struct {
    const char *name;
    Wide (*of)(Wide x, Wide y);
    bool is_truth;
} WideRow;

static Wide sum(Wide x, Wide y)
{
    return x + y;
}

static Wide difference(Wide x, Wide y)
{
    return x - y;
}

static Wide product(Wide x, Wide y)
{
    return (Wide)((WideBits)x * (WideBits)y); /* its low bits are right */
}

static Wide quotient(Wide x, Wide y)
{
    return y == 0 ? 0 : x / y;
}

static Wide rest(Wide x, Wide y) /* with the sign of y */
{
    if (y == 0)
        return 0;
    return x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y;
}

static Wide larger(Wide x, Wide y)
{
    return x > y ? x : y;
}

static Wide less(Wide x, Wide y)
{
    return x < y;
}

static Wide equal(Wide x, Wide y)
{
    return x == y;
}

static Wide both(Wide x, Wide y)
{
    return x & y;
}

static WideRow wide_rows[] = {
    {"Add", sum, false},      {"Sub", difference, false}, {"Mul", product, false},
    {"Div", quotient, false}, {"Mod", rest, false},       {"Max", larger, false},
    {"Less", less, true},     {"Equal", equal, true},     {"BitwiseAnd", both, false},
};

enum { EDGES = 8 };

/* What a type holds at its edges. */
static void edges_of(Dtype dtype, Wide edge[EDGES])
{
    bool is_signed = dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32 || dtype == DT_I64;
    Wide n = (Wide)1 << dtype_bits(dtype), least = is_signed ? -n / 2 : 0;
    const Wide all[EDGES] = {least, least + 1, 0, 1, 3, n / 2 - 1, least + n - 2, least + n - 1};
    memcpy(edge, all, sizeof all);
}

static Wide wrapped(Dtype dtype, Wide x)
{
    Wide edge[EDGES], n = (Wide)1 << dtype_bits(dtype);
    edges_of(dtype, edge);
    return ((x - edge[0]) % n + n) % n + edge[0];
}

static void put_wide(Wide x, Buf *out)
{
    if (x < 0)
        buf_printf(out, " %" PRId64, (int64_t)x);
    else
        buf_printf(out, " %" PRIu64, (uint64_t)x);
}

/* Every pair of edges, of every type. */
static void integers_are_exact(void **state)
{
    static const Dtype dtypes[] = {DT_U8, DT_I8, DT_U16, DT_I16, DT_U32, DT_I32, DT_U64, DT_I64};
    const WideRow *row = *state;
    Arena *arena = arena_new();
    for (size_t t = 0; t < COUNT_OF(dtypes); t++) {
        const char *type = dtype_name(dtypes[t]);
        Buf left = buf_new(arena), right = buf_new(arena), want = buf_new(arena);
        Wide edge[EDGES];
        edges_of(dtypes[t], edge);
        buf_printf(&want, "%s[%d]", row->is_truth ? "bool" : type, EDGES * EDGES);
        for (int i = 0; i < EDGES * EDGES; i++) {
            Wide x = edge[i / EDGES], y = edge[i % EDGES], z = row->of(x, y);
            put_wide(x, &left);
            put_wide(y, &right);
            put_wide(row->is_truth ? z : wrapped(dtypes[t], z), &want);
        }
        OpRow op = {.input = {left.s, right.s}, .want = want.s};
        op.op = arena_printf(arena, "y <- %s %s[%d] %s[%d]", row->name, type, EDGES * EDGES, type,
                             EDGES * EDGES);
        assert_string_equal(compute(arena, &op, NULL), op.want);
    }
    arena_free(arena);
}

int main(void)
{
    return run_rows("places", rows, op_is) + run_rows("integers", wide_rows, integers_are_exact);
}
