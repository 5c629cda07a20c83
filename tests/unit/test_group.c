#include "tests/unit/unit.h"
#include "tests/unit/graph_lines.h"

#include "core/base/intern.h"
#include "core/model/group.h"
#include "core/model/onnx.h"

/* ---- outlines as text ---- */

/* "name xN{..}" for a group, the operator for an op; of a fold its first member only. */
static void print_group(const Graph *graph, const Groups *groups, int32_t id, Buf *out)
{
    const Group *group = &groups->groups[id];
    const char *blank = "";
    int32_t child = group->child;
    for (int32_t i = group->first; i < group->first + group->n;) {
        if (child < 0 || groups->groups[child].first != i) {
            buf_printf(out, "%s%s", blank, op_operator(graph, groups->order[i++]));
            blank = " ";
            continue;
        }
        const Group *inner = &groups->groups[child];
        if (inner->fold == child) {
            buf_printf(out, "%s%s", blank, inner->name);
            if (inner->fold_n > 1)
                buf_printf(out, " x%d", inner->fold_n);
            if (inner->cycle && *inner->cycle)
                buf_printf(out, "[%s]", inner->cycle);
            buf_puts(out, "{");
            print_group(graph, groups, child, out);
            buf_puts(out, "}");
            blank = " ";
        }
        i += inner->n;
        child = inner->next;
    }
}

/* What groups_build() promises of any graph. */
static void check_groups(const Graph *graph, const Groups *groups, int n_shown)
{
    Arena *arena = arena_new();
    int32_t *place = arena_array(arena, int32_t, graph->n_ops);
    memset(place, -1, (size_t)graph->n_ops * sizeof *place);
    assert_int_equal(groups->n_order, n_shown);
    for (int32_t i = 0; i < n_shown; i++) {
        assert_int_equal(place[groups->order[i]], -1);
        place[groups->order[i]] = i;
    }
    for (int32_t op = 0; op < graph->n_ops; op++) {
        assert_int_equal(groups->group_of[op] >= 0, place[op] >= 0);
        for (int i = 0; place[op] >= 0 && i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
            assert_true(maker < 0 || place[maker] < place[op]);
        }
        if (place[op] < 0)
            continue;
        const Group *group = &groups->groups[groups->group_of[op]];
        assert_in_range(place[op], group->first, group->first + group->n - 1);
    }
    for (int32_t g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        int32_t parent = group->parent;
        assert_int_equal(parent < 0, g == 0);
        assert_true(parent < g);
        if (parent < 0)
            continue;
        assert_int_equal(group->depth, groups->groups[parent].depth + 1);
        assert_true(group->first >= groups->groups[parent].first);
        assert_true(group->first + group->n <=
                    groups->groups[parent].first + groups->groups[parent].n);
        assert_int_equal(group->n, groups->groups[group->fold].n);
    }
    arena_free(arena);
}

static Groups *group_all(Arena *arena, const Graph *graph)
{
    int32_t *shown = arena_array(arena, int32_t, graph->n_ops);
    int32_t *signature = arena_array(arena, int32_t, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        shown[op] = op;
        signature[op] = graph->ops[op].op_type;
    }
    Groups *groups = groups_build(arena, graph, shown, graph->n_ops, signature, signature);
    check_groups(graph, groups, graph->n_ops);
    return groups;
}

typedef struct {
    const char *name, *graph, *want;
} Row;

static Row rows[] = {
    {"nothing", "", ""},
    {"nested", "in x\n@a.b Relu x -> p\n@a Exp p -> q\n@c Neg q -> r", "a{b{Relu} Exp} c{Neg}"},
    {"no path is the root", "in x\n@a Relu x -> p\nNeg p -> q\n@b Exp q -> r\nout r",
     "a{Relu} Neg b{Exp}"},
    {"layers fold",
     "in x\n@h.0.ln LN x -> a\n@h.0 Add a x -> b\n@h.1.ln LN b -> c\n@h.1 Add c b -> d\n"
     "@h.2.ln LN d -> e\n@h.2 Add e d -> f\n@f LN f -> g",
     "h{0 x3{ln{LN} Add}} f{LN}"},
    {"another operator does not fold",
     "in x\n@h.0 Relu x -> a\n@h.1 Relu a -> b\n@h.2 Exp b -> c\n@h.3 Exp c -> d\n@h.4 Relu d -> e",
     "h{0 x2{Relu} 2 x2{Exp} 4{Relu}}"},
    {"another wiring does not fold",
     "in x\n@h.0 A x -> a\n@h.0 B a -> b\n@h.0 C a b -> c\n"
     "@h.1 A c -> d\n@h.1 B d -> e\n@h.1 C d e -> f\n@h.2 A f -> g\n@h.2 B g -> h\n@h.2 C h g -> i",
     "h{0 x2{A B C} 2{A B C}}"},
    {"another output of the same op does not fold",
     "in x\n@h.0 Split x -> a b\n@h.0 Neg a -> c\n@h.1 Split c -> d e\n@h.1 Neg e -> f",
     "h{0{Split Neg} 1{Split Neg}}"},
    {"inside or outside is another wiring",
     "in x\n@h.0 A x -> a\n@h.0 B a -> b\n@h.1 A b -> c\n@h.1 B b -> d", "h{0{A B} 1{A B}}"},
    {"absent is not outside", "in x\n@h.0 Clip x x -> a\n@h.1 Clip a _ -> b", "h{0{Clip} 1{Clip}}"},
    {"other groups inside do not fold",
     "in x\n@h.0.p A x -> a\n@h.0 B a -> b\n@h.1.q A b -> c\n@h.1 B c -> d",
     "h{0{p{A} B} 1{q{A} B}}"},
    {"names differ in digits only", "in x\n@a.k_proj M x -> k\n@a.v_proj M x -> v\n@a S k v -> y",
     "a{k_proj{M} v_proj{M} S}"},
    {"digits of any length", "in x\n@layer_9_ M x -> k\n@layer_10_ M k -> v", "layer_9_ x2{M}"},
    {"what stands between parts a fold", "in x\n@h.0 A x -> a\n@h Neg a -> b\n@h.1 A b -> c",
     "h{0{A} Neg 1{A}}"},
    {"an op moves up to its group", "in x\n@a A x -> p\n@b B x -> q\n@a C x -> r", "a{A C} b{B}"},
    {"unless data forbids it", "in x\n@a A x -> p\n@b B p -> q\n@a C q -> r\n@a D p -> s",
     "a{A} b{B} a{C D}"},
    {"a nested op moves up in its own group",
     "in x\n@a.b A x -> p\n@a.c B x -> q\n@a.b C q -> r\n@a.b D p -> s", "a{b{A} c{B} b{C D}}"},
    {"an op without a path is where it is used",
     "in x\n@h.0.qkv M x -> a\nSplit a -> b c\n@h.0 S b c -> d\n"
     "@h.1.qkv M d -> e\nSplit e -> f g\n@h.1 S f g -> i",
     "h{0 x2{qkv{M} Split S}}"},
    {"an op that makes an output is at the root", "in x\n@a.b M x -> a\nCast a -> b\nout b",
     "a{b{M}} Cast"},
    {"what the first layer shares stands before it",
     "in x\nin m\n@h.0 A x -> a\n@h.0 Mask m -> n\n@h.0 S a n -> b\n@h.1 A b -> c\n@h.1 S c n -> d",
     "h{Mask 0 x2{A S}}"},
    {"what a layer hands on is not shared",
     "in x\n@h.0 A x -> a\n@h.0 B a -> b\n@h.0 C b -> p\n@h.1 A b -> c\n@h.1 B c -> d\n"
     "@h.1 C d -> q",
     "h{0 x2{A B C}}"},
    {"a skip connection is not shared", "in x\n@down.conv A x -> a\n@down B a -> b\n@up C b a -> c",
     "down{conv{A} B} up{C}"},
    {"what all read is not shared among layers",
     "in x\nin m\n@h.0 A x -> a\n@h.0 Mask m -> n\n@h.0 S a n -> b\n@h.1 A b -> c\n"
     "@h.1 S c n -> d\n@h T n -> t",
     "h{0{A Mask S} 1{A S} T}"},
    {"shared and first", "in x\nin m\n@h.0 Mask m -> n\n@h.0 S x n -> b\n@h.1 S b n -> d",
     "h{Mask 0 x2{S}}"},
    {"shared, one from the other",
     "in x\nin m\n@h.0.a A x -> a\n@h.0.a Mask m -> n\n@h.0.a Neg n -> o\n@h.0 S a o -> b\n"
     "@h.0.a T n -> t\n@h.1.a A b -> c\n@h.1 S c o -> d\n@h.1.a T n -> u",
     "h{Mask Neg 0 x2{a{A T} S}}"},
    {"blocks where there are no paths",
     "in x\nGather x -> a\nLN a -> b\nAdd b a -> c\nLN c -> d\nAdd d c -> e\nLN e -> f\n"
     "Add f e -> g\nHead g -> h\nout h",
     "Gather block[0] x3{LN Add} Head"},
    {"blocks begin where least is alive",
     "in x\nAdd x x -> y\nLN y -> b\nMul b -> k\nAdd k y -> c\nLN c -> d\nMul d -> l\nAdd l c -> "
     "e\n"
     "LN e -> f\nMul f -> m\nAdd m e -> g\nout g",
     "Add block[0] x3{LN Mul Add}"},
    {"Identity ops on weights that come first stand in the modules that read them",
     "in a\nweight w\nweight v\n@h.1 I w -> w1\n@norm I w -> w2\n@h.0 A a v -> b\n"
     "@h.1 A b w1 -> c\n@norm N c w2 -> d",
     "h{0{A} 1{I A}} norm{I N}"},
    {"a chain of ops on a weight, above the module that reads it",
     "in a\nweight w\nD w -> w1\nT w1 -> w2\n@h.0 A a -> b\n@h.1 M b w2 -> c", "h{0{A} 1{D T M}}"},
    {"ops on a weight that several modules read stay, and those inside the reader's module",
     "in a\nweight w\n@e I w -> w1\n@f.g C w -> w2\n@h.0 A a w1 -> b\n@h.1 A b w1 -> c\n"
     "@f M c w2 -> d",
     "e{I} f{g{C}} h{0 x2{A}} f{M}"},
    {"unlike layers that alternate",
     "in a\n@h.0 A a -> b\n@h.1 B b -> c\n@h.2 A c -> d\n@h.3 B d -> e\n@h.4 A e -> f",
     "h{0..1 x2{0{A} 1{B}} 4{A}}"},
    {"equal layers inside a cycle, and after the last",
     "in a\n@h.0 A a -> b\n@h.1 A b -> c\n@h.2 B c -> d\n@h.3 A d -> e\n@h.4 A e -> f\n"
     "@h.5 B f -> g\n@h.6 A g -> h\n@h.7 A h -> i",
     "h{0..2 x2{0 x2{A} 2{B}} 6 x2{A}}"},
    {"the longest run comes first",
     "in a\n@h.0 A a -> b\n@h.1 B b -> c\n@h.2 A c -> d\n@h.3 B d -> e\n@h.4 B e -> f\n"
     "@h.5 B f -> g\n@h.6 B g -> h\n@h.7 B h -> i",
     "h{0{A} 1{B} 2{A} 3 x5{B}}"},
    {"a first layer of its own, then cycles",
     "in a\n@h.0 C a -> b\n@h.1 A b -> c\n@h.2 B c -> d\n@h.3 A d -> e\n@h.4 B e -> f",
     "h{0{C} 1..2 x2{1{A} 2{B}}}"},
    {"modules of layers that are named by what they have",
     "in a\n@h.0.mamba A a -> b\n@h.1.attn B b -> c\n@h.2.mamba A c -> d\n@h.3.attn B d -> e",
     "h{0..1 x2[mamba, attn]{0{mamba{A}} 1{attn{B}}}}"},
    {"words that do not tell layers apart are not used",
     "in a\n@h.0.m A a -> b\n@h.1.m B b -> c\n@h.2.m A c -> d\n@h.3.m B d -> e",
     "h{0..1 x2{0{m{A}} 1{m{B}}}}"},
    {"nine unlike layers are no cycle",
     "in a\n@h.0 A a -> b\n@h.1 B b -> c\n@h.2 C c -> d\n@h.3 D d -> e\n@h.4 E e -> f\n"
     "@h.5 F f -> g\n@h.6 G g -> h\n@h.7 H h -> i\n@h.8 I i -> j\n@h.9 A j -> k\n"
     "@h.10 B k -> l\n@h.11 C l -> m\n@h.12 D m -> n\n@h.13 E n -> o\n@h.14 F o -> p\n"
     "@h.15 G p -> q\n@h.16 H q -> r\n@h.17 I r -> s",
     "h{0{A} 1{B} 2{C} 3{D} 4{E} 5{F} 6{G} 7{H} 8{I} 9{A} 10{B} 11{C} 12{D} 13{E} 14{F} 15{G} "
     "16{H} 17{I}}"},
    {"a short repetition is no block", "in x\nA x -> a\nB a -> b\nB b -> c", "A B B"},
};

static void outline_is(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const Graph *graph = build_lines(arena, row->graph, &err);
    assert_string_equal(err.text, "");
    Buf out = buf_new(arena);
    print_group(graph, group_all(arena, graph), 0, &out);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void deep_paths_end_somewhere(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    buf_puts(&text, "in x\n@");
    for (int i = 0; i < 50000; i++)
        buf_puts(&text, "a.");
    buf_puts(&text, "z Relu x -> y\n@a.a Exp y -> z");
    Error err = {0};
    const Graph *graph = build_lines(arena, text.s, &err);
    const Groups *groups = group_all(arena, graph);
    assert_int_equal(groups->groups[groups->group_of[0]].depth, GROUP_DEPTH_MAX);
    assert_int_equal(groups->groups[groups->group_of[1]].depth, 2);
    arena_free(arena);
}

/* ---- random graphs ---- */

static uint32_t next_random(uint32_t *random, uint32_t limit)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 16) % limit;
}

static const Graph *random_graph(Arena *arena, uint32_t *random)
{
    static const char *const parts[] = {"a", "b", "0", "1", "2"};
    Buf text = buf_new(arena);
    buf_puts(&text, "in t0\nin t1\n");
    int n_tensors = 2;
    for (int op = 0; op < 60; op++) {
        int n_parts = (int)next_random(random, 4);
        for (int i = 0; i < n_parts; i++)
            buf_printf(&text, "%s%s", i == 0 ? "@" : ".", parts[next_random(random, 5)]);
        int near = n_tensors < 8 ? n_tensors : 8;
        buf_printf(&text, " Op%u t%d t%d -> t%d\n", next_random(random, 2),
                   n_tensors - 1 - (int)next_random(random, (uint32_t)near),
                   n_tensors - 1 - (int)next_random(random, (uint32_t)near), n_tensors);
        n_tensors++;
    }
    Error err = {0};
    const Graph *graph = build_lines(arena, text.s, &err);
    assert_string_equal(err.text, "");
    return graph;
}

static int32_t from_inside(const Graph *graph, const Groups *groups, const Group *group,
                           int32_t tensor)
{
    for (int32_t i = 0; i < group->n; i++) {
        int32_t op = groups->order[group->first + i];
        for (int k = 0; k < graph->ops[op].n_outputs; k++)
            if (op_outputs(graph, op)[k] == tensor)
                return i * 8 + k;
    }
    return -1;
}

/* Checks a fold anew, op by op. */
static void check_fold(const Graph *graph, const Groups *groups, const Group *a, const Group *b)
{
    for (int32_t i = 0; i < a->n; i++) {
        int32_t op_a = groups->order[a->first + i], op_b = groups->order[b->first + i];
        assert_string_equal(op_operator(graph, op_a), op_operator(graph, op_b));
        for (int k = 0; k < graph->ops[op_a].n_inputs; k++)
            assert_int_equal(from_inside(graph, groups, a, op_inputs(graph, op_a)[k]),
                             from_inside(graph, groups, b, op_inputs(graph, op_b)[k]));
    }
}

static void any_graph_keeps_the_order_of_data(void **state)
{
    (void)state;
    uint32_t random = 1;
    int n_folds = 0;
    for (int round = 0; round < 300; round++) {
        Arena *arena = arena_new();
        const Graph *graph = random_graph(arena, &random);
        const Groups *groups = group_all(arena, graph);
        for (int32_t g = 0; g < groups->n_groups; g++) {
            const Group *group = &groups->groups[g];
            if (group->fold == g)
                continue;
            check_fold(graph, groups, &groups->groups[group->fold], group);
            n_folds++;
        }
        arena_free(arena);
    }
    assert_true(n_folds > 0);
}

/* ---- the samples ---- */

typedef struct {
    const char *name;
    const char *path; /* of the first layer */
    int n_layers, n_ops, n_shown;
    bool no_paths;
} SampleRow;

static SampleRow samples[] = {
    {"gpt2", "transformer.h.0", 12, 39, 486, false},
    {"gpt2-dynamo", "transformer.h.0", 12, 43, 530, false},
    {"tiny-gpt", "transformer.h.0", 2, 39, 96, false},
    {"llama-tiny", "model.layers.0", 2, 65, 149, false},
    {"gpt2 without paths", "block[0]", 12, 39, 486, true},
};

/* The ops that compute, as far as dtypes tell: shape arithmetic is on integers that are known. */
static int find_shown(const Graph *graph, Arena *arena, int32_t *shown)
{
    bool *known = arena_array(arena, bool, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        known[t] =
            graph->tensors[t].kind == TENSOR_INITIALIZER &&
            (!dtype_is_float((Dtype)graph->tensors[t].dtype) || graph->tensors[t].n_declared == 0);
    int n_shown = 0;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        bool all_known = true;
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            all_known =
                all_known && (op_inputs(graph, op)[i] < 0 || known[op_inputs(graph, op)[i]]);
        if (!all_known && strcmp(op_operator(graph, op), "Shape") != 0)
            shown[n_shown++] = op;
        else
            for (int i = 0; i < graph->ops[op].n_outputs; i++)
                known[op_outputs(graph, op)[i]] = true;
    }
    return n_shown;
}

/* Operator, attributes and the shapes of parameters. */
static void find_signatures(const Graph *graph, Arena *arena, int32_t *signature)
{
    Intern *signatures = intern_new(arena);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        Buf key = buf_new(arena);
        buf_printf(&key, "%s %d", op_operator(graph, op), graph->ops[op].attrs);
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            if (t < 0 || graph->tensors[t].kind != TENSOR_INITIALIZER)
                continue;
            buf_puts(&key, " w");
            for (int d = 0; d < graph->tensors[t].n_declared; d++)
                buf_printf(&key, ",%d", (int)graph->declared[graph->tensors[t].declared + d].size);
        }
        signature[op] = intern_put(signatures, key.s, key.n);
    }
}

static void layers_of_samples_fold(void **state)
{
    const SampleRow *row = *state;
    Arena *arena = arena_new();
    FileMap map;
    Error err = {0};
    const char *file =
        arena_printf(arena, "samples/models/%.*s.onnx", (int)strcspn(row->name, " "), row->name);
    Graph *graph = onnx_open(arena, file, &map, &err);
    assert_string_equal(err.text, "");
    for (int32_t op = 0; row->no_paths && op < graph->n_ops; op++)
        graph->ops[op].path = 0;
    int32_t *shown = arena_array(arena, int32_t, graph->n_ops);
    int32_t *signature = arena_array(arena, int32_t, graph->n_ops);
    int n_shown = find_shown(graph, arena, shown);
    assert_int_equal(n_shown, row->n_shown);
    find_signatures(graph, arena, signature);
    const Groups *groups = groups_build(arena, graph, shown, n_shown, signature, signature);
    check_groups(graph, groups, n_shown);

    int n_found = 0;
    for (int32_t g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        if (strcmp(group->path, row->path) != 0)
            continue;
        assert_int_equal(group->fold_n, row->n_layers);
        assert_int_equal(group->n, row->n_ops);
        n_found++;
    }
    assert_int_equal(n_found, 1);
    arena_free(arena);
    file_unmap(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_paths_end_somewhere),
        cmocka_unit_test(any_graph_keeps_the_order_of_data),
    };
    return run_rows("group: outlines", rows, outline_is) +
           run_rows("group: samples", samples, layers_of_samples_fold) +
           cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
