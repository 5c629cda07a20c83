/* Annotations that nnScaler gives its operators, asked as anno.infer and anno.partition are. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "core/peers/nnscaler/eval_anno.h"

#include <string.h>

/* Inputs: sizes, "scalar", or "=" and a JSON value, with "; " between. */
typedef struct {
    const char *name, *op, *inputs, *attrs;
    const char *want; /* the annotation as matched, or "kind: text" */
} NamedRow;

static NamedRow pointwise_rows[] = {
    {"unary", "erf", "2,3", "", "a b -> a b"},
    {"of a scalar", "neg", "scalar", "", "a -> a"},
    {"broadcast", "add", "2,3; 3", "", "a b, b -> a b"},
    {"broadcast both", "mul", "2,1,4; 3,1", "", "a 1^ c, b 1^ -> a b c"},
    {"scalar tensor", "add", "scalar; 3", "", "1^, a -> a"},
    {"number", "sub", "2,3; =1", "", "a b, ?^ -> a b"},
    {"number first", "pow", "=2; 3", "", "?^, a -> a"},
    {"numbers only", "add", "=1; =2", "", "unsupported: add: no operand is a tensor"},
    {"ones stay letters", "mul", "1,2; 1,2", "", "a b, a b -> a b"},
    {"where", "where", "3,4; 1; 3,4", "", "a b, 1^, a b -> a b"},
    {"where, a number", "where", "2,3; =1; 2,3", "", "a b, ?^, a b -> a b"},
    {"where, one element and a number", "where", "2,3; 1; =0", "", "a b, ?^, ?^ -> a b"},
    {"where of a condition", "where", "2,3", "", "a^ b^ -> ?^, ?^"},
    {"masked fill", "masked_fill", "2,3; 1,3", "", "a b, 1^ b -> a b"},
    {"accum", "accum", "2,3; 2,3", "", "a b, a b -> a b"},
    {"multiref", "multiref", "2,3", "\"times\":3", "a b -> a b, a b, a b"},
    {"type", "type", "2,3", "\"dtype\":\"torch.int64\"", "a b -> a b"},
    {"type without dtype", "type", "2,3", "\"dtype\":null",
     "unsupported: type: without a dtype the result is a string, not a tensor"},
    {"full", "full", "", "\"size\":[2,3]", " -> 2^ 3^"},
    {"scalar made", "zeros", "", "\"size\":[]", " -> 1^"},
    {"negative size", "zeros", "", "\"size\":[-2]", "invalid: zeros: a size would be negative"},
    {"no size", "ones", "", "", "invalid: ones: the attributes lack a list of sizes"},
    {"eye", "eye", "", "\"n\":3", " -> 3^ 3^"},
    {"arange", "arange", "", "\"start\":1,\"end\":10,\"step\":2", " -> 5^"},
    {"arange of fractions", "arange", "", "\"start\":0,\"end\":1,\"step\":0.25", " -> 4^"},
    {"arange forever", "arange", "", "\"end\":1,\"step\":0",
     "invalid: arange: `start`, `end` and `step` give no number of items"},
    {"linspace", "linspace", "", "\"steps\":7", " -> 7^"},
    {"tensor", "tensor", "", "\"data\":[[1,2,3],[4,5,6]]", " -> 2^ 3^"},
    {"tensor of a number", "tensor", "", "\"data\":1", " -> 1^"},
    {"unknown", "frobnicate", "4", "", "unknown_op: operator 'frobnicate' has no annotation"},
    {"no annotation", "size", "4", "", "unsupported: nnScaler runs 'size' without an annotation"},
    {"not a tensor", "neg", "=4", "",
     "unsupported: 'neg' has an annotation only if its first inputs are tensors, here 1"},
};

static NamedRow product_rows[] = {
    {"linear", "linear", "2,3,4; 5,4", "", "a b k+, n k+ -> a b n"},
    {"linear with a bias", "linear", "3,4; 5,4; 5", "", "a k^, n k^, n -> a n"},
    {"vectors", "matmul", "4; 4", "", "k+, k+ -> 1^"},
    {"matrices", "matmul", "3,4; 4,5", "", "m k+, k+ n -> m n"},
    {"batches", "matmul", "2,3,4; 2,4,5", "", "a m k+, a k+ n -> a m n"},
    {"addmm", "addmm", "2,3; 2,7; 7,3", "", "a b, a k^, k^ b -> a b"},
    {"addmm of a row", "addmm", "7; 2,3; 3,7", "", "b, a k^, k^ b -> a b"},
    {"addmm of ones", "addmm", "1,1; 2,7; 7,3", "", "1^ 1^, a k^, k^ b -> a b"},
    {"baddbmm", "baddbmm", "2,1,5; 2,3,4; 2,4,5", "", "b 1^ n, b m k^, b k^ n -> b m n"},
    {"einsum", "einsum", "4,5; 5,6", "\"equation\":\"i j, j k -> i k\"", "i j+, j+ k -> i k"},
    {"einsum of long names", "einsum", "4,5; 5", "\"equation\":\"b head, head -> b\"",
     "b head+, head+ -> b"},
    {"einsum to a scalar", "einsum", "4; 4", "\"equation\":\"i, i -> \"", "i+, i+ -> 1^"},
    {"einsum without arrow", "einsum", "4", "\"equation\":\"i\"",
     "invalid: einsum: `equation` must be names, `->` and names"},
    {"embedding", "embedding", "2,3; 10,4", "", "a b, n+ e -> a b e"},
    {"attention", "scaled_dot_product_attention", "8,128,64; 8,256,64; 8,256,32",
     "\"is_causal\":false", "a e d^, a b^ d^, a b^ c -> a e c"},
    {"causal", "scaled_dot_product_attention", "8,128,64; 8,256,64; 8,256,32", "\"is_causal\":true",
     "a e^ d^, a b^ d^, a b^ c -> a e^ c"},
    {"masked", "scaled_dot_product_attention", "16,8,128,64; 16,8,256,64; 16,8,256,32; 1,8,128,256",
     "", "a b f^ e^, a b c^ e^, a b c^ d, 1^ b f^ c^ -> a b f^ d"},
    {"other mask", "scaled_dot_product_attention", "16,8,128,64; 16,8,256,64; 16,8,256,32; 1,256",
     "", "a b f^ e^, a b c^ e^, a b c^ d, 1^ c^ -> a b f^ d"},
    {"mask of one dim", "scaled_dot_product_attention", "8,4,4; 8,4,4; 8,4,4; 4", "",
     "rank: scaled_dot_product_attention: a tensor has a wrong number of dims for the operator"},
};

static NamedRow fold_rows[] = {
    {"softmax", "softmax", "2,3,4", "\"dim\":-1", "a b c^ -> a b c^"},
    {"softmax without dim", "softmax", "2,3", "\"dim\":null", "a b -> a b"},
    {"no such dim", "cumsum", "2,3", "\"dim\":2",
     "out_of_range: cumsum: the tensor has no such dim"},
    {"not a dim", "cumsum", "2,3", "\"dim\":\"x\"",
     "invalid: cumsum: an attribute is not an integer of at most 2^31"},
    {"tril", "tril", "2,3,4", "", "a b^ c^ -> a b^ c^"},
    {"roll", "roll", "2,3,4", "\"shifts\":[1],\"dims\":[1]", "a b^ c -> a b^ c"},
    {"roll all", "roll", "2,3", "\"shifts\":[1]", "a^ b^ -> a^ b^"},
    {"inverse", "inverse", "3,3", "", "a^ b^ -> a^ b^"},
    {"svd", "svd", "3,4", "", "a^ b^ -> a^ a^, a^, b^ a^"},
    {"full svd", "svd", "4,3", "\"some\":false", "a^ b^ -> a^ a^, b^, b^ b^"},
    {"sum", "sum", "2,3", "", "a+ b+ -> 1^"},
    {"sum along", "sum", "2,3,4", "\"dim\":[1]", "a b+ c -> a c"},
    {"sum kept", "sum", "2,3,4", "\"dim\":1,\"keepdim\":true", "a b+ c -> a 1^ c"},
    {"sum twice", "sum", "2,3,4", "\"dim\":[1,-2]", "duplicate: sum: a dim is listed twice"},
    {"mean of everything by dims", "mean", "2,3", "\"dim\":[0,1]", "a^ b^ -> 1^"},
    {"any along", "any", "10,10", "\"dim\":1,\"keepdim\":true", "a^ b^ -> a^ 1^"},
    {"max", "max", "2,3,4", "", "a^ b^ c^ -> 1^"},
    {"max along", "max", "2,3,4", "\"dim\":1", "a b^ c -> a c, a c"},
    {"max of two", "max", "2,3; 3", "", "a b, b -> a b"},
    {"topk", "topk", "3,4,5", "\"k\":3,\"dim\":null", "a b c^ -> a b 3^, a b 3^"},
    {"nonzero", "nonzero", "3,4", "", "a^ b^ -> ?^"},
    {"nonzero as tuple", "nonzero", "3,4", "\"as_tuple\":true", "a^ b^ -> ?^, ?^"},
    {"layer norm", "layer_norm", "2,3,4; 4; 4", "\"normalized_shape\":[4]",
     "a b c^, d^, e^ -> a b c^"},
    {"layer norm alone", "layernorm", "2,3,4", "\"normalized_shape\":[3,4]", "a b^ c^ -> a b^ c^"},
    {"cross entropy", "cross_entropy", "4,5; 4", "\"reduction\":\"sum\"", "N+ C^, N+ -> 1^"},
    {"cross entropy, mean", "cross_entropy", "4,5,6; 4,6", "", "N^ C^ a, N^ a -> 1^"},
    {"nll loss, none", "nll_loss", "4,5,6; 4,6", "\"reduction\":\"none\"", "N C^ a, N a -> N a"},
    {"l1 loss", "l1_loss", "8,10; 8,10", "\"reduction\":\"sum\"", "a+ b+, a+ b+ -> 1^"},
    {"other reduction", "l1_loss", "8; 8", "\"reduction\":\"max\"",
     "invalid: l1_loss: `reduction` must be none, sum or mean"},
};

static NamedRow move_rows[] = {
    {"reshape", "reshape", "2048,1,2,512", "\"shape\":[2048,1,-1,32]",
     "a 1^ b 512^ -> a 1^ (b 16^) 32^"},
    {"view", "view", "10,24,8", "\"size\":[10,8,3,8]", "a (b 3^) c -> a b 3^ c"},
    {"nothing shared", "reshape", "6,4", "\"shape\":[4,6]", "6^ 4^ -> 4^ 6^"},
    {"trailing ones", "reshape", "4,1,1", "\"shape\":[2,2,1]", "(a 2^) 1^ 1^ -> a 2^ 1^"},
    {"to a scalar", "reshape", "1,1", "\"shape\":[]", "1^ 1^ -> "},
    {"elements differ", "reshape", "4,6", "\"shape\":[5,5]",
     "invalid: a reshape must keep the number of elements, 24"},
    {"two free", "reshape", "4,6", "\"shape\":[-1,-1]", "invalid: a reshape cannot have size -1"},
    {"expand", "expand", "10,1", "\"size\":[10,2]", "a b^ -> a 2^"},
    {"expand keeps", "expand", "10,1", "\"size\":[10,-1]", "a b -> a b"},
    {"expand adds", "expand", "10,1", "\"size\":[10,-1,2]", "b c^ -> 10^ b 2^"},
    {"expand other sizes", "expand", "10,3", "\"size\":[10,6]",
     "invalid: expand: only dims of size 1 expand"},
    {"expand as", "expand_as", "3,1; 3,4", "", "a b^, ?^ -> a 4^"},
    {"repeat", "repeat", "3,2", "\"repeats\":[4,2,1]", "b^ c -> 4^ (2^ b^) c"},
    {"squeeze", "squeeze", "2,1,4,1", "\"dim\":[3,2]", "a b c^ d -> a b c^"},
    {"squeeze all", "squeeze", "2,1,4,1", "", "a^ b c^ d -> a^ c^"},
    {"squeeze to a scalar", "squeeze", "1,1", "", "a b -> 1^"},
    {"unsqueeze", "unsqueeze", "2,4", "\"dim\":-1", "a b -> a b 1^"},
    {"transpose", "transpose", "2,3,4", "\"dim0\":0,\"dim1\":-1", "a b c -> c b a"},
    {"permute", "permute", "2,3,4", "\"dims\":[2,0,1]", "a b c -> c a b"},
    {"permute too few", "permute", "2,3,4", "\"dims\":[2,0]",
     "rank: permute: `dims` must name every dim once"},
    {"flatten", "flatten", "2,3,4", "\"start_dim\":1", "a b^ c^ -> a (b^ c^)"},
    {"split", "split", "5,3", "\"split_size_or_sections\":2", "5^ b -> 2^ b, 2^ b, 1^ b"},
    {"split in sections", "split", "7,3", "\"split_size_or_sections\":[2,5]", "7^ b -> 2^ b, 5^ b"},
    {"split short", "split", "7,3", "\"split_size_or_sections\":[2,4]",
     "invalid: split: the sections are shorter than the dim"},
    {"split in nothing", "split", "7", "\"split_size_or_sections\":0",
     "out_of_range: split: the number of sections is out of range"},
    {"chunk", "chunk", "8,10", "\"chunks\":4", "8^ b -> 2^ b, 2^ b, 2^ b, 2^ b"},
    {"chunk unevenly", "chunk", "8", "\"chunks\":3",
     "not_divisible: chunk: the number of chunks does not divide the dim"},
    {"cat", "cat", "2,3; 2,5", "\"dim\":-1", "a 3^, a 5^ -> a 8^"},
    {"stack", "stack", "2,3; 2,3", "\"dim\":1", "a b, a b -> a 2^ b"},
    {"stack scalars", "stack", "scalar; scalar", "", "1^, 1^ -> 2^"},
    {"pad", "pad", "3,3,4,2", "\"pad\":[0,1,2,1,3,3]", "a 3^ 4^ 2^ -> a 9^ 7^ 3^"},
    {"pad away", "pad", "3", "\"pad\":[-2,-2]", "invalid: pad: a size would be negative"},
    {"pad a reflection", "pad", "3", "\"pad\":[1,1],\"mode\":\"reflect\"",
     "unsupported: pad: only the mode `constant` has an annotation"},
    {"diagonal", "diag", "5,10", "\"diagonal\":-1", "5^ 10^ -> 4^"},
    {"diagonal made", "diag", "5", "\"diagonal\":1", "5^ -> 6^ 6^"},
    {"complex", "view_as_complex", "2,3,2", "", "a b 2^ -> a b"},
    {"real", "view_as_real", "2,3", "", "a b -> a b 2^"},
};

static NamedRow index_rows[] = {
    {"select", "select", "2,3,4", "\"dim\":1,\"index\":0", "a b^ c -> a c"},
    {"slice", "slice", "2,9", "\"dim\":1,\"start\":1,\"end\":-1,\"step\":3", "a 9^ -> a 3^"},
    {"select scatter", "select_scatter", "2,3; 2", "\"dim\":1,\"index\":0", "a 3^, a -> a 3^"},
    {"gather", "gather", "2,5,3; =2; 2,5,1", "", "a b c^, ?^, a b f^ -> a b f^"},
    {"gather less", "gather", "2,5,3; =-1; 2,4,3", "", "a b^ c^, ?^, a e^ c^ -> a e^ c^"},
    {"gather more", "gather", "2,5; =1; 3,5", "",
     "invalid: gather: the index is longer than the tensor"},
    {"index select", "index_select", "2,3,4; 5", "\"dim\":1", "a b^ c, d -> a d c"},
    {"item", "getitem", "2,3,4; =1", "", "a^ b c, ?^ -> b c"},
    {"new dim", "getitem", "2,3; =null", "", "a b, ?^ -> 1^ a b"},
    {"every dim", "getitem", "2,3; =0; =1", "", "a^ b^, ?^, ?^ -> 1^"},
    {"range", "getitem", "9,3; =\"1:-1:2\"", "", "a^ b, ?^ -> 4^ b"},
    {"whole", "getitem", "9,3; =\":\"; =0", "", "a b^, ?^, ?^ -> a"},
    {"the rest", "getitem", "2,3,4; =\"...\"; =2", "", "a b c^, ?^, ?^ -> a b"},
    {"places", "getitem", "9,3; =[1,2,3]", "", "a^ b, ?^ -> 3^ b"},
    {"tensor of places", "getitem", "2,3; 5,6", "", "a^ b, c d -> c d b"},
    {"between", "getitem", "2,3,4; =\":\"; 5,6", "", "a b^ c, ?^, d e -> a d e c"},
    {"two tensors", "getitem", "2,3; 5; 5", "", "a^ b^, c^, d^ -> ?^"},
    {"too many", "getitem", "2; =0; =0", "", "rank: getitem: there are more indices than dims"},
    {"not a range", "getitem", "2; =\"a:b\"", "",
     "syntax: getitem: write a slice as start:stop:step"},
    {"set", "setitem", "3,4; =0; 4", "", "a^ b^, ?^, c^ -> a^ b^"},
};

static NamedRow window_rows[] = {
    {"conv1d", "conv1d", "3,4; 3,3,1", "\"padding\":\"valid\"", "iC+ 4^, oC iC+ 1^ -> oC 4^"},
    {"conv2d", "conv2d", "2,3,8,8; 4,3,3,3", "\"padding\":\"same\"",
     "n iC+ 8^ 8^, oC iC+ 3^ 3^ -> n oC 8^ 8^"},
    {"strides", "conv2d", "2,3,9,9; 4,3,3,3", "\"stride\":[2,1],\"dilation\":[1,2]",
     "n iC+ 9^ 9^, oC iC+ 3^ 3^ -> n oC 4^ 5^"},
    {"bias", "conv1d", "2,3,4; 5,3,1; 5", "", "n iC^ 4^, oC iC^ 1^, oC -> n oC 4^"},
    {"groups", "conv1d", "2,8,4; 16,4,3; 16", "\"groups\":2",
     "n (g 4^) 4^, (g 8^) 4^ 3^, (g 8^) -> n (g 8^) 2^"},
    {"uneven groups", "conv1d", "2,9,4; 16,4,3", "\"groups\":2",
     "not_divisible: conv1d: `groups` does not divide the channels"},
    {"other channels", "conv1d", "2,9,4; 16,4,3", "",
     "invalid: conv1d: the weight has other channels than the input"},
    {"large window", "conv1d", "2,3,4; 5,3,7", "",
     "invalid: conv1d: the window is larger than the padded input"},
    {"no stride", "conv1d", "2,3,4; 5,3,1", "\"stride\":0",
     "invalid: conv1d: stride, dilation or padding is out of range"},
    {"other padding", "conv1d", "2,3,4; 5,3,1", "\"padding\":\"full\"",
     "invalid: conv1d: `padding` must be a number, a list, `same` or `valid`"},
    {"transposed", "conv_transpose2d", "2,3,4,4; 3,3,1,1", "\"stride\":2",
     "n iC+ 4^ 4^, iC+ oC 1^ 1^ -> n oC 7^ 7^"},
    {"transposed groups", "conv_transpose1d", "3,4; 3,3,1", "\"groups\":3",
     "(groups group_size^) 4^, (groups group_size^) oC^ 1^ -> (groups oC^) 4^"},
    {"unfold", "unfold", "2,3,32,32",
     "\"kernel_size\":[3,3],\"dilation\":1,\"padding\":1,\"stride\":[2,2]",
     "N C 32^ 32^ -> N (C 9^) 256^"},
    {"pool", "adaptive_avg_pool1d", "2,3,8", "\"output_size\":[4]", "a b c^ -> a b 4^"},
};

/* ---- asking ---- */

static void put_inputs(const char *inputs, Buf *out)
{
    for (Str rest = str_from(inputs), input; rest.n > 0;) {
        input = str_trim(str_take(&rest, ';'));
        buf_puts(out, out->s[out->n - 1] == '[' ? "" : ",");
        if (str_starts(input, STR("=")))
            buf_printf(out, "{\"value\":%.*s}", (int)input.n - 1, input.s + 1);
        else if (str_eq(input, STR("scalar")))
            buf_puts(out, "{\"shape\":[]}");
        else
            buf_printf(out, "{\"shape\":[%.*s]}", STR_ARG(input));
    }
}

/* What a verb answers, or NULL with the error. */
static Json *ask(Arena *arena, const char *verb, const NamedRow *row, const char *more, Error *err)
{
    Buf text = buf_new(arena);
    buf_printf(&text, "{\"system\":\"nnscaler\",\"op\":\"%s\",\"attrs\":{%s}%s,\"inputs\":[",
               row->op, row->attrs, more);
    put_inputs(row->inputs, &text);
    buf_puts(&text, "]}");
    Source source = {"request", buf_str(&text)};
    Json *request = json_parse(&source, err), *answer = json_object();
    assert_non_null(request);
    bool fine = eval_anno(verb, arena, request, answer, err);
    json_free(request);
    if (fine)
        return answer;
    json_free(answer);
    return NULL;
}

static void has_its_annotation(void **state)
{
    const NamedRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Json *answer = ask(arena, "anno.infer", row, "", &err);
    const char *got = answer ? arena_str(arena, json_str(json_get(answer, "anno"), ""))
                             : arena_printf(arena, "%s: %s", error_kind_name(err.kind), err.text);
    assert_string_equal(got, row->want);
    json_free(answer);
    arena_free(arena);
}

/* ---- attributes of pieces ---- */

typedef struct {
    NamedRow call; /* want: the attributes of the last piece, or "kind" */
    const char *cut;
} PieceRow;

static PieceRow piece_rows[] = {
    {{"a target is divided", "view", "8,6", "\"size\":[8,2,3]", "{\"size\":[4,2,3]}"},
     "\"idx\":0,\"dim\":0,\"num\":2"},
    {{"what is free stays", "reshape", "8,6", "\"shape\":[-1,2,3]", "{\"shape\":[-1,2,3]}"},
     "\"idx\":0,\"dim\":0,\"num\":2"},
    {{"an expanded size is divided", "expand", "8,1", "\"size\":[8,5]", "{\"size\":[4,5]}"},
     "\"idx\":0,\"dim\":0,\"num\":2"},
    {{"groups are divided", "conv1d", "2,8,4; 16,2,1", "\"groups\":4", "{\"groups\":2}"},
     "\"idx\":0,\"dim\":1,\"num\":2"},
    {{"a cut batch leaves the groups", "conv1d", "2,8,4; 16,2,1", "\"groups\":4", "{\"groups\":4}"},
     "\"idx\":0,\"dim\":0,\"num\":2"},
    {{"groups of a transposed one", "conv_transpose1d", "2,8,4; 8,1,1", "\"groups\":4",
      "{\"groups\":2}"},
     "\"idx\":0,\"dim\":1,\"num\":2"},
    {{"a dim in whole", "softmax", "2,8", "\"dim\":1", "frozen"}, "\"idx\":0,\"dim\":1,\"num\":2"},
    {{"sizes made", "zeros", "", "\"size\":[4]", "frozen"}, "\"idx\":0,\"dim\":0,\"num\":2"},
};

static void gives_pieces_their_attributes(void **state)
{
    const PieceRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Json *answer =
        ask(arena, "anno.partition", &row->call, arena_printf(arena, ",%s", row->cut), &err);
    Buf got = buf_new(arena);
    if (answer)
        json_write(json_get(json_at(json_get(answer, "parts"), 1), "attrs"), &got);
    else
        buf_puts(&got, error_kind_name(err.kind));
    assert_string_equal(got.s, row->call.want);
    json_free(answer);
    arena_free(arena);
}

int main(void)
{
    return run_rows("pointwise", pointwise_rows, has_its_annotation) +
           run_rows("product", product_rows, has_its_annotation) +
           run_rows("fold", fold_rows, has_its_annotation) +
           run_rows("move", move_rows, has_its_annotation) +
           run_rows("index", index_rows, has_its_annotation) +
           run_rows("window", window_rows, has_its_annotation) +
           run_rows("pieces", piece_rows, gives_pieces_their_attributes);
}
