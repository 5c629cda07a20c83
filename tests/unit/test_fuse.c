/* Attention that is spelled out becomes one op: the spellings of exporters, and what must stay. */
#include "core/fuse/fuse.h"

#include "tests/unit/planning.h"

#include "tests/unit/graph_text.h"

typedef struct {
    const char *name, *graph, *want; /* want: the ops after it, with the attributes of Attention */
} Spelled;

#define Q "q <- Relu f32[2,8,16,4]; "
#define KT "k <- Transpose f32[2,8,16,4] perm=[0,1,3,2]; "
#define END "y <- MatMul w f32[2,8,16,4]"

static Spelled spelled[] = {
    {"the plain one", Q KT "s <- MatMul q k; w <- Softmax s; " END, "Relu Attention(scale=1)"},
    {"scaled, with a mask",
     Q KT "s <- MatMul q k; t <- Mul s f32[]{0.5}; u <- Add t f32[2,1,16,16]; w <- Softmax u; " END,
     "Relu Attention(scale=0.5)"},
    {"queries and keys scaled, the mask before the scores",
     Q "k <- Transpose f32[2,8,16,4] perm=[0,1,3,2]; j <- Mul k f32[]{0.5}; p <- Div q f32[]{2}; "
       "s <- MatMul p j; u <- Add f32[16,16] s; w <- Softmax u; " END,
     "Relu Attention(scale=0.25)"},
    {"a causal mask that is a constant",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "u <- Add s f32[1,1,3,3]{0,-3e38,-3e38,0,0,-3e38,0,0,0}; w <- Softmax u; "
     "y <- MatMul w f32[2,8,3,4]",
     "Relu Attention(scale=1 is_causal=1)"},
    {"a window of two keys, by what hides and by what shows",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "t <- Where bool[3,3]{0,1,1,0,0,1,0,0,0} f32[]{-1e9} s; "
     "u <- Where bool[3,3]{1,1,1,1,1,1,0,1,1} t f32[]{-1e9}; w <- Softmax u; "
     "y <- MatMul w f32[2,8,3,4]",
     "Relu Attention(scale=1 is_causal=1 left_window_size=1)"},
    {"a causal mask with a bias is both",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "u <- Add s f32[3,3]{0,-3e38,-3e38,-1,0,-3e38,-2,-1,0}; w <- Softmax u; "
     "y <- MatMul w f32[2,8,3,4]",
     "Relu Attention(scale=1 is_causal=1)"},
    {"a query that sees no key keeps its mask",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "u <- Add s f32[3,3]{-3e38,-3e38,-3e38,0,0,-3e38,0,0,0}; w <- Softmax u; "
     "y <- MatMul w f32[2,8,3,4]",
     "Relu Attention(scale=1)"},
    {"a mask of later keys for one query only",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "u <- Add s f32[3,3]{0,0,-3e38,0,0,-3e38,0,0,0}; w <- Softmax u; "
     "y <- MatMul w f32[2,8,3,4]",
     "Relu Attention(scale=1)"},
    {"a mask that the user gives beside a causal one",
     "q <- Relu f32[2,8,3,4]; k <- Transpose f32[2,8,3,4] perm=[0,1,3,2]; s <- MatMul q k; "
     "t <- Add s f32[3,3]{0,-3e38,-3e38,0,0,-3e38,0,0,0}; u <- Add t f32[2,1,1,3]; "
     "w <- Softmax u; y <- MatMul w f32[2,8,3,4]",
     "Relu Add Attention(scale=1)"},
    {"hidden scores over a bias of heads",
     Q KT "s <- MatMul q k; t <- Add s f32[8,1,16]; u <- Where bool[2,1,16,16] f32[]{-3e38} t; "
          "w <- Softmax u; " END,
     "Relu Where Attention(scale=1)"},
    {"scores that are capped",
     Q KT "s <- MatMul q k; a <- Div s f32[]{50}; b <- Tanh a; c <- Mul b f32[]{50}; "
          "w <- Softmax c; " END,
     "Relu Attention(scale=1 softcap=50)"},
    {"rows without a key made 0",
     Q KT "s <- MatMul q k; v <- Softmax s; n <- IsNaN v; w <- Where n f32[]{0} v; " END,
     "Relu Attention(scale=1)"},
    {"keys and values repeated for the heads of a group",
     Q "a <- Unsqueeze f32[2,2,16,4] i64[1]{2}; b <- Expand a i64[5]{2,2,4,16,4}; "
       "c <- Reshape b i64[4]{2,8,16,4}; k <- Transpose c perm=[0,1,3,2]; "
       "d <- Unsqueeze f32[2,2,16,4] i64[1]{2}; e <- Expand d i64[5]{2,2,4,16,4}; "
       "f <- Reshape e i64[4]{2,8,16,4}; s <- MatMul q k; w <- Softmax s; y <- MatMul w f",
     "Relu Attention(scale=1)"},
    {"keys that no Transpose makes",
     Q "k <- Relu f32[2,8,4,16]; s <- MatMul q k; w <- Softmax s; " END,
     "Relu Relu Transpose Attention(scale=1)"},
    {"heads as a batch",
     "k <- Transpose f32[16,8,4] perm=[0,2,1]; s <- MatMul f32[16,8,4] k; w <- Softmax s; "
     "y <- MatMul w f32[16,8,4]",
     "Attention(scale=1 q_num_heads=1 kv_num_heads=1)"},
    {"weights that are an output too", Q KT "s <- MatMul q k; w <- Softmax s; z <- Relu w; " END,
     "Relu Transpose MatMul Softmax Relu MatMul"},
    {"an op between that nothing is known of",
     Q KT "s <- MatMul q k; t <- Sin s; w <- Softmax t; " END,
     "Relu Transpose MatMul Sin Softmax MatMul"},
    {"a mask that is multiplied",
     Q KT "s <- MatMul q k; t <- Add s f32[16,16]; u <- Mul t f32[]{2}; w <- Softmax u; " END,
     "Relu Transpose MatMul Add Mul Softmax MatMul"},
    {"a softmax over queries", Q KT "s <- MatMul q k; w <- Softmax s axis=2; " END,
     "Relu Transpose MatMul Softmax MatMul"},
};

static void put_ops(const Graph *graph, Buf *out)
{
    for (int32_t op = 0; op < graph->n_ops; op++) {
        buf_printf(out, "%s%s", op > 0 ? " " : "", op_operator(graph, op));
        const AttrList *list = &graph->attr_lists[graph->ops[op].attrs];
        if (strcmp(op_operator(graph, op), "Attention") != 0)
            continue;
        for (int i = 0; i < list->n; i++)
            buf_printf(out, "%s%s=%g", i > 0 ? " " : "(",
                       names_text(graph->names, list->at[i].name),
                       list->at[i].type == ATTR_INT ? (double)list->at[i].i : list->at[i].f);
        buf_putc(out, ')');
    }
}

static Inferred *inferred_of(Arena *arena, const Graph *graph, const char *dims)
{
    Error err = {0};
    DimBindings bindings = {0};
    Source source = {.name = "--dim", .text = str_from(dims)};
    if (*dims && !dims_parse(arena, &source, &bindings, &err))
        planning_fail(&err);
    Inferred *out = infer(arena, graph, registry_new(arena), &bindings, false, &err);
    if (!out)
        planning_fail(&err);
    return out;
}

static void recognises(void **state)
{
    const Spelled *row = *state;
    Arena *arena = arena_new();
    Graph *graph = graph_from_text(arena, row->graph, 13), *fused = NULL;
    Findings notes = {0};
    Error err = {0};
    Inferred *inferred = inferred_of(arena, graph, "");
    if (!fuse_attention(inferred, NULL, &notes, &fused, &err))
        planning_fail(&err);
    Buf text = buf_new(arena);
    put_ops(fused ? fused : graph, &text);
    assert_string_equal(text.s, row->want);
    assert_true(notes.n >= 1);
    arena_free(arena);
}

typedef struct {
    const char *name, *dims;
    int n;
} Exported;

static Exported exported[] = {
    {"gpt2", "batch=2,seq=16", 12},      {"gpt2-dynamo", "batch=2,seq=16", 12},
    {"llama-tiny", "batch=2,seq=16", 2}, {"tiny-gpt", "batch=2,seq=16", 2},
    {"vit_b_16", "batch=2", 12},
};

/* Every layer, and each tensor that stays has its name, shape and type. */
static void fuses_what_exporters_write(void **state)
{
    const Exported *row = *state;
    Planning *p = planning_open(row->name, row->dims, "x=1");
    Graph *fused = NULL;
    Findings notes = {0};
    Error err = {0};
    if (!fuse_attention(p->inferred, NULL, &notes, &fused, &err))
        planning_fail(&err);
    assert_non_null(fused);
    Inferred *after = inferred_of(p->arena, fused, row->dims);
    int n = 0, n_new = 0;
    for (int32_t op = 0; op < fused->n_ops; op++)
        n += strcmp(op_operator(fused, op), "Attention") == 0;
    assert_int_equal(n, row->n);
    for (int32_t t = 0; t < fused->n_tensors; t++) {
        int32_t old = graph_find_tensor(p->graph, str_from(tensor_name(fused, t)));
        n_new += old < 0;
        if (old < 0)
            continue;
        assert_int_equal(after->shape[t], p->inferred->shape[old]);
        assert_int_equal(after->dtype[t], p->inferred->dtype[old]);
    }
    assert_true(n_new <= row->n);
    assert_true(fused->n_tensors < p->graph->n_tensors);
    assert_int_equal(fused->n_inputs, p->graph->n_inputs);
    assert_non_null(strstr(notes.at[0].text, "fused into Attention"));
    planning_close(p);
}

/* ---- tied weights ---- */

#define LOOKUP "t <- Gather f32[3,2]{1,2,3,4,5,6} i64[2]{0,1}; "

static const struct {
    const char *name, *graph, *want, *note; /* want: the ops after it; note: a part of the first */
} copies[] = {
    {"a transposed copy", LOOKUP "y <- MatMul t f32[2,3]{1,3,5,2,4,6}", "Gather Transpose MatMul",
     ", transposed: they are one parameter"},
    {"a copy", LOOKUP "y <- Gemm t f32[3,2]{1,2,3,4,5,6} transB=1 alpha=0.5", "Gather Gemm",
     "': they are one parameter"},
    {"a copy that is looked up too", LOOKUP "u <- Gather f32[3,2]{1,2,3,4,5,6} i64[1]{2}",
     "Gather Gather", "': they are one parameter"},
    {"another number", LOOKUP "y <- MatMul t f32[2,3]{1,3,5,2,4,7}", "Gather MatMul",
     "no weight has"},
    {"copies that are not transposed", LOOKUP "y <- MatMul t f32[2,3]{1,2,3,4,5,6}",
     "Gather MatMul", "no weight has"},
    {"one number repeated",
     "t <- Gather f32[3,2]{1,1,1,1,1,1} i64[2]{0,1}; y <- MatMul t f32[2,3]{1,1,1,1,1,1}",
     "Gather MatMul", "no weight has"},
    {"weights of a model that is built",
     "t <- Gather f32[3,2]! i64[2]{0,1}; y <- MatMul t f32[2,3]!", "Gather MatMul",
     "no weight has"},
    {"weights of a product", "t <- Relu f32[1,2]; y <- MatMul t f32[2,3]{1,3,5,2,4,6}",
     "Relu MatMul", "no weight has"},
};

static void copies_of_an_embedding_are_tied(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(copies); i++) {
        Arena *arena = arena_new();
        Graph *graph = graph_from_text(arena, copies[i].graph, 13), *fused = NULL;
        Findings notes = {0};
        Error err = {0};
        if (!fuse_tied(inferred_of(arena, graph, ""), NULL, &notes, &fused, &err))
            planning_fail(&err);
        Buf text = buf_new(arena);
        put_ops(fused ? fused : graph, &text);
        if (strcmp(text.s, copies[i].want) != 0 || !strstr(notes.at[0].text, copies[i].note))
            fail_msg("%s: %s, %s", copies[i].name, text.s, notes.at[0].text);
        assert_int_equal(!fused, !strstr(copies[i].note, "one parameter"));
        if (fused) /* 6 elements where there were 12 */
            assert_int_equal(inferred_params(inferred_of(arena, fused, "")), 6);
        arena_free(arena);
    }
}

/* All elements are counted as they are compared, and a stop is obeyed. */
static void comparing_shows_its_progress(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Graph *graph = graph_from_text(arena, copies[0].graph, 13), *fused = NULL;
    const Inferred *inferred = inferred_of(arena, graph, "");
    Progress progress = {.stage = NULL};
    Findings notes = {0};
    Error err = {0};
    assert_true(fuse_tied(inferred, &progress, &notes, &fused, &err));
    assert_string_equal(progress.stage, "comparing weights with the embedding");
    assert_int_equal(progress.done, 6);
    assert_int_equal(progress.total, 6);
    progress_stop(&progress);
    assert_false(fuse_tied(inferred, &progress, &notes, &fused, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
    arena_free(arena);
}

/* The sample is without its weights. */
static void what_cannot_be_compared_is_said(void **state)
{
    (void)state;
    Planning *p = planning_open("gpt2", "batch=2,seq=16", "x=1");
    Graph *fused = NULL;
    Findings notes = {0};
    Error err = {0};
    assert_true(fuse_tied(p->inferred, NULL, &notes, &fused, &err));
    assert_null(fused);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.at[0].text, "may have the elements of 'transformer.wte.weight'"));
    planning_close(p);
}

static void sequences_of_known_length_become_tensors(void **state)
{
    static const char *const nets[][3] = {
        {"x <- Relu f32[8,12]; s <- SplitToSequence x i64[]{4} axis=1; "
         "a <- SequenceAt s i64[]{1}; y <- Neg a",
         "Relu Split Identity Neg", "sequences: 2 ops on sequences became tensors"},
        {"x <- Relu f32[8,12]; s <- SplitToSequence x i64[]{4} axis=1; "
         "a <- SequenceAt s i64[]; y <- Neg a",
         "Relu SplitToSequence SequenceAt Neg", "sequences: none has a length and positions that"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(nets); i++) {
        Arena *arena = arena_new();
        Graph *graph = graph_from_text(arena, nets[i][0], 17), *fused = NULL;
        Findings notes = {0};
        Error err = {0};
        if (!fuse_sequences(inferred_of(arena, graph, ""), NULL, &notes, &fused, &err))
            planning_fail(&err);
        Buf text = buf_new(arena);
        put_ops(fused ? fused : graph, &text);
        assert_string_equal(text.s, nets[i][1]);
        assert_non_null(strstr(notes.at[0].text, nets[i][2]));
        arena_free(arena);
    }
}

static void names_the_nearest_fusion(void **state)
{
    (void)state;
    Error err = {0};
    unsigned set = 0;
    assert_true(fusions_parse(STR("attention"), &set, &err));
    assert_int_equal(set, 1);
    assert_false(fusions_parse(STR("atention"), &set, &err));
    assert_string_equal(err.hint, "did you mean 'attention'?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(copies_of_an_embedding_are_tied),
    cmocka_unit_test(comparing_shows_its_progress),
    cmocka_unit_test(sequences_of_known_length_become_tensors),
    cmocka_unit_test(what_cannot_be_compared_is_said),
    cmocka_unit_test(names_the_nearest_fusion),
};

int main(void)
{
    return run_rows("spellings", spelled, recognises) +
           run_rows("exports", exported, fuses_what_exporters_write) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
