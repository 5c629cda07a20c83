#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/infer_text.h"

typedef struct {
    const char *name, *text, *dims;
    bool allow_free;
    const char *want;
} SizeRow;

static SizeRow rows[] = {
    {"free dims go through views and shape arithmetic",
     "s <- Shape f32[batch,seq,768]; b <- Slice s i64[1]{0} i64[1]{2}; "
     "t <- Concat b i64[2]{12,64} axis=0; r <- Reshape in0 t; p <- Transpose r perm=[0,2,1,3]",
     "", true,
     "Shape s i64[3] host\n"
     "Slice b i64[2] host\n"
     "Concat t i64[4] host\n"
     "Reshape r f32[batch,seq,12,64] whole\n"
     "Transpose p f32[batch,12,seq,64] whole\n"},
    {"a computed size is named by what it is of",
     "f <- Reshape f32[batch,seq,8] i64[2]{-1,8}; c <- Concat in0 in0 axis=1; "
     "d <- Concat in0 f32[batch,1,8] axis=1; h <- MaxPool f32[batch,8,seq] kernel_shape=[2] "
     "strides=[2]",
     "", true,
     "Reshape f f32[batch*seq,8] whole\n"
     "Concat c f32[batch,2*seq,8] whole\n"
     "Concat d f32[batch,seq+1,8] whole\n"
     "MaxPool h f32[batch,8,seq/2] whole\n"},
    {"back to what it was of",
     "f <- Reshape f32[batch,seq,8] i64[2]{-1,8}; m <- MatMul f f32[8,5]!; "
     "s <- Shape in0; b <- Slice s i64[1]{0} i64[1]{2}; t <- Concat b i64[1]{5} axis=0; "
     "r <- Reshape m t",
     "", true,
     "Reshape f f32[batch*seq,8] whole\n"
     "MatMul m f32[batch*seq,5] whole\n"
     "Shape s i64[3] host\n"
     "Slice b i64[2] host\n"
     "Concat t i64[3] host\n"
     "Reshape r f32[batch,seq,5] whole\n"},
    {"dims that meet are equal", "y <- Add f32[a,8] f32[b,8]; z <- Mul f32[a,8] f32[4,8]", "", true,
     "Add y f32[a,8] whole\n"
     "Mul z f32[4,8] whole\n"},
    {"a size of a matrix is the other's", "y <- MatMul f32[a,k] f32[64,9]!", "", true,
     "MatMul y f32[a,9] whole\n"},
    {"a clip is not the size that is clipped",
     "y <- Slice f32[seq,8] i64[1]{0} i64[1]{1024}; z <- Add y f32[seq,8]", "", true,
     "Slice y f32[Slice_0.0,8] whole\n"
     "Add z f32[seq,8] whole\n"},
    {"nor a clip at a small size",
     "s <- Shape f32[seq,8]; n <- Slice s i64[1]{0} i64[1]{1}; "
     "y <- Slice f32[64,8]! i64[1]{0} n; z <- Add y in0; t <- Slice z i64[1]{-3} i64[1]{100000}; "
     "o <- Slice z i64[1]{-1} i64[1]{100000}",
     "", true,
     "Shape s i64[2] host\n"
     "Slice n i64[1] host\n"
     "Slice y f32[Slice_2.0,8] whole\n"
     "Add z f32[seq,8] whole\n"
     "Slice t f32[Slice_4.0,8] whole\n"
     "Slice o f32[1,8] whole\n"},
    {"a window does not tell the size of what it goes over",
     "y <- Conv f32[n,c,h,w] f32[16,3,3,3]! pads=[1,1,1,1]", "", true,
     "Conv y f32[n,16,h,w] whole\n"},
    {"parts of a size that is not known",
     "y <- Reshape f32[n,h,w,8] i64[4]{-1,4,4,8}; a b <- Split f32[n,seq,8] axis=1 split=[1,3]; "
     "z <- Squeeze a axes=[1]",
     "", true,
     "Reshape y f32[Reshape_0.0,4,4,8] whole\n"
     "Split a f32[n,Split_1.1,8] whole\n"
     "Squeeze z f32[n,8] whole\n"},
    {"six sizes that are not known", "y <- Relu f32[a,b,c,d,e,f,3]", "", true,
     "Relu y f32[a,b,c,d,e,f,3] whole\n"},
    {"the best of a count are as many as one asks for",
     "i <- NonZero f32[4000]; t <- Squeeze i axes=[0]; v <- Gather in0 t; s <- Shape t; "
     "c <- Concat s i64[1]{1000} axis=0; m <- ReduceMin c keepdims=0; k <- Unsqueeze m axes=[0]; "
     "b p <- TopK v k",
     "", false,
     "NonZero i i64[1,NonZero_0.1] whole\n"
     "Squeeze t i64[NonZero_0.1] whole\n"
     "Gather v f32[NonZero_0.1] whole\n"
     "Shape s i64[1] whole\n"
     "Concat c i64[2] rule\n"
     "ReduceMin m i64[scalar] rule\n"
     "Unsqueeze k i64[1] rule\n"
     "TopK b f32[ReduceMin_5.0] whole\n"
     "unknown-size: 5 ops are replicated, since sizes are known only at run time: NonZero_0.1\n"},
    {"a tensor of a shape that is known in part",
     "i <- NonZero f32[4,6]; s <- Shape i; y <- ConstantOfShape s", "", false,
     "NonZero i i64[2,NonZero_0.1] whole\n"
     "Shape s i64[2] whole\n"
     "ConstantOfShape y f32[2,NonZero_0.1] whole\n"
     "unknown-size: 3 ops are replicated, since sizes are known only at run time: NonZero_0.1\n"},
    {"a nameless dim goes by its tensor", "y <- Tanh f32[?,8]", "", true,
     "Tanh y f32[in0.0,8] whole\n"},
    {"and is bound by that", "y <- Tanh f32[?,8]", "in0.0=3", false, "Tanh y f32[3,8] rule\n"},
    {"a count known only at run time",
     "i <- NonZero f32[4,6]; t <- Transpose i perm=[1,0]; g <- GatherND in0 t; y <- Relu g", "",
     false,
     "NonZero i i64[2,NonZero_0.1] whole\n"
     "Transpose t i64[NonZero_0.1,2] whole\n"
     "GatherND g f32[NonZero_0.1] whole\n"
     "Relu y f32[NonZero_0.1] whole\n"
     "unknown-size: 4 ops are replicated, since sizes are known only at run time: NonZero_0.1\n"},
    {"somebody tells it",
     "i <- NonZero f32[4,6]; t <- Transpose i perm=[1,0]; g <- GatherND in0 t; y <- Relu g",
     "NonZero_0.1=10", false,
     "NonZero i i64[2,10] whole\n"
     "Transpose t i64[10,2] rule\n"
     "GatherND g f32[10] rule\n"
     "Relu y f32[10] rule\n"
     "assumed-size: 'NonZero_0.1' is assumed to be 10: known only at run time\n"
     "unknown-size: 1 op is replicated, since the size of its result is known only at run time\n"},
    {"what is known of its shape is a constant",
     "i <- NonZero f32[4,6]; s <- Shape i; r <- Gather s i64[]{0}; n <- Gather s i64[]{1}", "",
     false,
     "NonZero i i64[2,NonZero_0.1] whole\n"
     "Shape s i64[2] whole\n"
     "Gather r i64[scalar] host\n"
     "Gather n i64[scalar] rule\n"
     "unknown-size: 2 ops are replicated, since sizes are known only at run time: NonZero_0.1\n"},
    {"a target that the run gives", "y <- Reshape f32[4,6] i64[3]; z <- Expand f32[1,6] i64[3]", "",
     false,
     "Reshape y f32[Reshape_0.0,Reshape_0.1,Reshape_0.2] whole\n"
     "Expand z f32[Expand_1.0,Expand_1.1,Expand_1.2] whole\n"
     "unknown-size: 2 ops are replicated, since sizes are known only at run time: Reshape_0.0, "
     "Reshape_0.1, "
     "Reshape_0.2, Expand_1.0, Expand_1.1, Expand_1.2\n"},
    {"positions that the run gives",
     "y <- Slice f32[4,6,8] i64[1] i64[1] i64[1]{1}; s <- Split f32[4,6] i64[1] axis=1; "
     "r <- ReduceSum f32[4,6] i64[1] keepdims=0; u <- Unsqueeze f32[4,6] i64[1]",
     "Unsqueeze_3.0=1,Unsqueeze_3.1=4,Unsqueeze_3.2=6,ReduceSum_2.0=6,Split_1.1=6", false,
     "Slice y f32[4,Slice_0.1,8] whole\n"
     "Split s f32[4,6] whole\n"
     "ReduceSum r f32[6] whole\n"
     "Unsqueeze u f32[1,4,6] whole\n"
     "assumed-size: 'Split_1.1' is assumed to be 6: known only at run time\n"
     "assumed-size: 'ReduceSum_2.0' is assumed to be 6: known only at run time\n"
     "assumed-size: 'Unsqueeze_3.0' is assumed to be 1: known only at run time\n"
     "assumed-size: 'Unsqueeze_3.1' is assumed to be 4: known only at run time\n"
     "assumed-size: 'Unsqueeze_3.2' is assumed to be 6: known only at run time\n"
     "unknown-size: 4 ops are replicated, since sizes are known only at run time: Slice_0.1\n"},
};

static void shapes_are_what_is_known_of_them(void **state)
{
    const SizeRow *row = *state;
    Arena *arena = arena_new();
    DimBindings bindings = {0};
    Error err = {0};
    Source source = {"--dim", str_from(row->dims)};
    assert_true(dims_parse(arena, &source, &bindings, NULL));
    Graph *graph = graph_from_text(arena, row->text, 18);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &bindings, row->allow_free, &err);
    const char *got = inferred ? inferred_text(inferred) : err.text;
    assert_string_equal(got, row->want);
    arena_free(arena);
}

/* Free dims and the same ones bound to 1, to many: what is known holds for all of them. */
static void what_is_known_holds_for_every_size(void **state)
{
    (void)state;
    const char *text = "a <- MaxPool f32[n,3,h,w] kernel_shape=[3,3] strides=[2,2]; "
                       "b <- Transpose a perm=[0,2,3,1]; c <- Reshape b i64[3]{0,-1,3}; "
                       "d <- Concat c c axis=1; s <- Shape d; k <- Gather s i64[]{1}; "
                       "r <- Range i64[]{0} k i64[]{1}; e <- Gather d r axis=1";
    Arena *arena = arena_new();
    DimBindings none = {0};
    Graph *graph = graph_from_text(arena, text, 18);
    Inferred *freely = infer(arena, graph, registry_new(arena), &none, true, NULL);
    for (int64_t n = 3; n < 40; n += 4) {
        DimBindings dims = {0};
        vec_push(arena, &dims, ((DimBinding){STR("n"), n}));
        vec_push(arena, &dims, ((DimBinding){STR("h"), n + 5}));
        vec_push(arena, &dims, ((DimBinding){STR("w"), 2 * n}));
        Inferred *bound = infer(arena, graph, registry_new(arena), &dims, false, NULL);
        for (int32_t t = 0; t < graph->n_tensors; t++) {
            const Shape *a = inferred_sizes(freely, t), *b = inferred_shape(bound, t);
            assert_non_null(a);
            assert_int_equal(a->n_dims, b->n_dims);
            for (int64_t d = 0; d < a->n_dims; d++)
                assert_true(a->dim[d] < 0 || a->dim[d] == b->dim[d]);
        }
        assert_int_equal(bound->n_program, freely->n_program);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_holds_for_every_size),
    };
    return run_rows("unknown sizes", rows, shapes_are_what_is_known_of_them) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
