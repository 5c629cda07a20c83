#include "core/base/str.h"
#include "core/model/graph.h"
#include "core/rules/alias.h"
#include "core/rules/example.h"
#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "core/rules/infer.h"

#include <inttypes.h>

/* ---- cells, read and written again ---- */

static void put_alias(const Alias *alias, Buf *out)
{
    buf_printf(out, "%s", alias->name);
    for (int i = 0; i < alias->n_attrs; i++)
        buf_printf(out, " %s=%s", alias->attr[i].theirs, alias->attr[i].ours);
    for (int i = 0; i < alias->n_operands; i++)
        buf_printf(out, " %d", alias->operand[i]);
    for (int i = 0; i < alias->n_constants; i++) {
        const Attr *value = &alias->constant[i].value;
        buf_printf(out, " %s:=", alias->constant[i].ours);
        if (value->type == ATTR_INT)
            buf_printf(out, "%" PRId64, value->i);
        else if (value->type == ATTR_INTS)
            buf_printf(out, "%d ints", value->n);
        else if (value->type == ATTR_STRING)
            buf_add(out, value->s);
    }
}

typedef struct {
    const char *name, *cell, *want; /* the names, or what is wrong */
} CellRow;

static CellRow cells[] = {
    {"one name", "softmax", "softmax"},
    {"two names", "softmax(dim=axis) _softmax", "softmax dim=axis; _softmax"},
    {"two attributes", "sum(dim=axes, keepdim=keepdims)", "sum dim=axes keepdim=keepdims"},
    {"operands", "embedding(; 1,0)", "embedding 1 0"},
    {"an operand they have not", "clamp(;0,-,1)", "clamp 0 -1 1"},
    {"all parts", "a.b(d=axis; 1,0; k:=3, p:=[1,2], m:=linear) c",
     "a.b d=axis 1 0 k:=3 p:=2 ints m:=linear; c"},
    {"constants alone", "t(;;perm:=[1,0])", "t perm:=2 ints"},
    {"empty brackets", "t()", "t"},
    {"nothing", "", ""},
    {"brackets left open", "softmax(dim=axis", "expected ')', found the end"},
    {"no attribute of ours", "softmax(dim=)", "expected a name, found ')'"},
    {"no equals sign", "softmax(dim axis)", "expected '=', found 'a'"},
    {"no value", "softmax(;;axis:=)", "expected a value"},
    {"one part too many", "softmax(;;;)", "expected ')', found ';'"},
    {"no name", "softmax (dim=axis) (dim=axis)", "expected a name"},
    {"far operand", "softmax(;99999)", "no operator has that many operands"},
};

static void reads_a_cell(void **state)
{
    const CellRow *row = *state;
    Arena *arena = arena_new();
    Aliases read = {0};
    Error err = {0};
    Buf out = buf_new(arena);
    bool ok = alias_read(arena, "Ours", SYSTEM_TORCH, row->cell, &read, &err);
    for (int i = 0; ok && i < read.n; i++) {
        buf_puts(&out, i > 0 ? "; " : "");
        put_alias(&read.at[i], &out);
    }
    assert_string_equal(ok ? out.s : err.text, row->want);
    arena_free(arena);
}

/* ---- the table ---- */

static void every_cell_can_be_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (const Operator *row = NULL; (row = operator_next(row));)
        for (int s = 0; s < SYSTEM_COUNT; s++) {
            Aliases read = {0};
            Error err = {0};
            if (row->names[s] &&
                !alias_read(arena, row->name, (SystemId)s, row->names[s], &read, &err))
                fail_msg("%s: %s: %s at %d", row->name, row->names[s], err.text, err.column);
        }
    arena_free(arena);
}

static void every_row_has_its_own_name(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (const Operator *row = NULL; (row = operator_next(row));)
        if (registry_find(registry, str_from(row->name)) != row || operator_find(row->name) != row)
            fail_msg("'%s' has two rows", row->name);
    arena_free(arena);
}

static void no_name_stands_twice_in_a_system(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Aliases all = alias_names(arena, NULL);
    for (int i = 0; i < all.n; i++)
        for (int j = 0; j < i; j++)
            if (all.at[i].system == all.at[j].system && strcmp(all.at[i].name, all.at[j].name) == 0)
                fail_msg("%s::%s is %s and %s", system_name(all.at[i].system), all.at[i].name,
                         all.at[i].op_type, all.at[j].op_type);
    arena_free(arena);
}

/* The word of `words` that is but one letter off; false when it is among them. */
static bool is_slip(const char *words, const char *word)
{
    bool near = false;
    while (*words) {
        size_t n = strcspn(words, " ");
        int distance = str_distance((Str){words, n}, str_from(word));
        if (distance == 0)
            return false;
        near |= distance == 1 && n > 2;
        words += n + (words[n] == ' ');
    }
    return near;
}

/* Where ONNX says what the operator has: `axes` are an input there since, and ours all the same. */
static void no_attribute_of_ours_is_misspelt(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Aliases all = alias_names(arena, NULL);
    for (int i = 0; i < all.n; i++) {
        const Alias *alias = &all.at[i];
        const char *has = operator_find(alias->op_type)->attrs;
        for (int a = 0; has && a < alias->n_attrs + alias->n_constants; a++) {
            const char *ours =
                a < alias->n_attrs ? alias->attr[a].ours : alias->constant[a - alias->n_attrs].ours;
            if (is_slip(has, ours) && strcmp(ours, "axes") != 0)
                fail_msg("%s has no attribute '%s', which %s::%s names", alias->op_type, ours,
                         system_name(alias->system), alias->name);
        }
    }
    arena_free(arena);
}

static void check_example(Arena *arena, const Operator *row, const char *text)
{
    Str rest = str_from(example_read(arena, text).attrs);
    while (rest.n > 0) {
        Str given = str_take(&rest, ' '), name = str_take(&given, '=');
        if (!str_has_word(str_from(row->attrs), name))
            fail_msg("%s does not list %.*s, which its example has", row->name, STR_ARG(name));
    }
}

static void every_row_lists_its_attributes_and_types(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (const Operator *row = NULL; (row = operator_next(row));) {
        if (!row->attrs || !row->types)
            fail_msg("%s does not say its attributes and types", row->name);
        for (const char *text = NULL; (text = example_next(row->name, text));)
            check_example(arena, row, text);
    }
    arena_free(arena);
}

static const struct CMUnitTest table_tests[] = {
    cmocka_unit_test(every_row_lists_its_attributes_and_types),
    cmocka_unit_test(no_attribute_of_ours_is_misspelt),
    cmocka_unit_test(every_cell_can_be_read),
    cmocka_unit_test(every_row_has_its_own_name),
    cmocka_unit_test(no_name_stands_twice_in_a_system),
};

/* ---- names ---- */

typedef struct {
    const char *name, *given, *want; /* ours and theirs */
} NameRow;

static NameRow names[] = {
    {"ours", "Softmax", "Softmax"},
    {"with its system", "torch::softmax", "Softmax torch::softmax"},
    {"with a dot", "torch.softmax", "Softmax torch::softmax"},
    {"aten", "aten::_softmax", "Softmax torch::_softmax"},
    {"veScale", "vescale::softmax", "Softmax torch::softmax"},
    {"in a module", "torch.nn.functional.softmax", "Softmax torch::softmax"},
    {"an overload", "aten::softmax.int", "Softmax torch::softmax"},
    {"in place", "torch::softmax_", "Softmax torch::softmax"},
    {"paddle", "paddle::softmax", "Softmax paddle::softmax"},
    {"nnScaler", "nnscaler::softmax", "Softmax nnscaler::softmax"},
    {"bare: the first system's", "softmax", "Softmax nnscaler::softmax"},
    {"bare: another system's", "_softmax", "Softmax torch::_softmax"},
    {"not in that system", "paddle::_softmax", "none"},
    {"no such name", "torch::nothing", "none"},
    {"no such system", "jax::softmax", "none"},
    {"a system alone", "torch::", "none"},
    {"nothing", "", "none"},
};

static void finds_a_name(void **state)
{
    const NameRow *row = *state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    const Operator *found = registry_find(registry, str_from(row->given));
    const Alias *alias = registry_alias(registry, str_from(row->given));
    Buf out = buf_new(arena);
    buf_puts(&out, found ? found->name : "none");
    if (alias)
        buf_printf(&out, " %s::%s", system_name(alias->system), alias->name);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* ---- a rule under another name ---- */

typedef struct {
    const char *name;
    const char *op_type, *cell; /* of torch */
    const char *text, *want;
} RuleRow;

static RuleRow rules[] = {
    {"an attribute renamed", "Softmax", "softmax(dim=axis)", "y <- softmax f32[4,8] dim=0",
     "d^ d1 -> d^ d1 | 4,8"},
    {"their own name of it is not read", "Softmax", "softmax(dim=axis)",
     "y <- softmax f32[4,8] axis=0", "d0 d^ -> d0 d^ | 4,8"},
    {"a constant attribute", "ReduceSum", "sum(dim=axes;;keepdims:=0)", "y <- sum f32[4,8] dim=[1]",
     "d0 d+ -> d0 | 4"},
    {"a value where they give none", "ReduceSum", "sum(dim=axes, keepdim=keepdims;;keepdims:=0)",
     "y <- sum f32[4,8] dim=[1] keepdim=1", "d0 d+ -> d0 1 | 4,1"},
    {"operands in another order", "Gather", "embedding(; 1,0; axis:=0)",
     "y <- embedding i64[2,3] f32[50,8]", "i0 i1, v+ e1 -> i0 i1 e1 | 2,3,8"},
    {"an operand that the rule has no use for", "MatMul", "mm(; 0,2)",
     "y <- mm f32[4,8] f32[5] f32[8,6]", "m k+, ?, k+ n -> m n | 4,6"},
    {"an operand they have not", "Clip", "clamp_max(; 0,-,1)", "y <- clamp_max f32[4] f32[]",
     "d0,  -> d0 | 4"},
    {"too few operands", "MatMul", "mm(; 1,0)", "y <- mm f32[4,8]", "its input 1 is absent"},
};

static RuleCall call_of(Arena *arena, const Graph *graph, const Alias *alias)
{
    const GraphOp *node = &graph->ops[0];
    const Shape **shape = arena_array(arena, const Shape *, node->n_inputs);
    Dtype *dtype = arena_array(arena, Dtype, node->n_inputs);
    for (int i = 0; i < node->n_inputs; i++) {
        const GraphTensor *tensor = &graph->tensors[op_inputs(graph, 0)[i]];
        Shape *made = arena_make(arena, Shape);
        made->n_dims = tensor->n_declared;
        for (int d = 0; d < tensor->n_declared; d++)
            made->dim[d] = graph->declared[tensor->declared + d].size;
        shape[i] = made;
        dtype[i] = (Dtype)tensor->dtype;
    }
    return (RuleCall){.arena = arena,
                      .graph = graph,
                      .alias = alias,
                      .n_inputs = node->n_inputs,
                      .n_outputs = node->n_outputs,
                      .shape = shape,
                      .dtype = dtype,
                      .value = arena_array(arena, const Value *, node->n_inputs),
                      .opset = 18,
                      .out_shape = arena_array(arena, Shape, node->n_outputs),
                      .out_dtype = arena_array(arena, Dtype, node->n_outputs)};
}

static void a_rule_runs_under_another_name(void **state)
{
    const RuleRow *row = *state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    Aliases read = {0};
    Error err = {0};
    Buf out = buf_new(arena);
    assert_true(alias_read(arena, row->op_type, SYSTEM_TORCH, row->cell, &read, &err));
    RuleCall call = call_of(arena, graph_from_text(arena, row->text, 18), &read.at[0]);
    const Operator *rule = registry_find(registry, str_from(row->op_type));
    if (registry_apply(rule, &call, &err)) {
        opspace_format(call.space, &out);
        buf_puts(&out, " | ");
        shape_format(&call.out_shape[0], &out);
    }
    assert_string_equal(error_is_set(&err) ? err.text : out.s, row->want);
    arena_free(arena);
}

static void a_graph_may_use_other_names(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    DimBindings none = {0};
    Error err = {0};
    const Graph *graph =
        graph_from_text(arena, "x <- torch::softmax f32[4,8] dim=0; y <- Relu x", 18);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    Buf out = buf_new(arena);
    assert_non_null(inferred);
    assert_int_equal(inferred->findings.n, 0);
    opspace_format(inferred_space(inferred, 0), &out);
    buf_puts(&out, " | ");
    opspace_format(inferred_space(inferred, 1), &out);
    assert_string_equal(out.s, "d^ d1 -> d^ d1 | d0 d1 -> d0 d1");
    arena_free(arena);
}

/* ---- attributes that nobody reads, operands of the wrong type ---- */

typedef struct {
    const char *name, *text, *want;
} AttrRow;

static AttrRow attrs[] = {
    {"read by the rule", "y <- Softmax f32[4,8] axis=0", ""},
    {"known, for numbers alone", "y <- LayerNormalization f32[4,8] f32[8] epsilon=0.1", ""},
    {"of an older version", "y <- Add f32[4] f32[4] broadcast=1", ""},
    {"known to onnxruntime",
     "y <- com.microsoft::QGemm u8[4,8] f32[] u8[] u8[8,6] f32[] u8[] alpha=2.5", ""},
    {"a slip in onnxruntime's", "y <- com.microsoft::BiasDropout f32[4,8] f32[8] sed=1",
     "no rule reads its attribute 'sed': did you mean seed"},
    {"a slip", "y <- Softmax f32[4,8] axi=0",
     "no rule reads its attribute 'axi': did you mean axis"},
    {"nothing like it", "y <- Softmax f32[4,8] temperature=2",
     "no rule reads its attribute 'temperature': it has: axis"},
    {"nothing like it on an operator that ONNX lacks", "y <- FlattenDims f32[4,1] dozen=2",
     "no rule reads its attribute 'dozen': it has: start_axis stop_axis"},
    {"a slip in another system's word", "y <- torch::softmax f32[4,8] din=0",
     "no rule reads its attribute 'din': did you mean dim"},
    {"places that are no whole numbers", "y <- Gather f32[4] f32[2]",
     "its input 1 is f32, and must be of whole numbers: "},
    {"operands of two types", "y <- Add f32[4] i64[4]",
     "its inputs 0 and 1 are f32 and i64, and must be of one type: "},
    {"the last of many", "y <- Concat f32[4] f32[4] f16[4] axis=0",
     "its inputs 0 and 2 are f32 and f16, and must be of one type: "},
    {"a condition", "y <- Where f32[4] f32[4] f32[4]", "its input 0 is f32, and must be of bool: "},
    {"types that may differ", "y <- Pow f32[4] i64[4]", ""},
    {"another system takes more", "y <- torch::softmax i64[4,8] dim=0", ""},
    {"another system's own word", "y <- torch::softmax f32[4,8] dim=0 half_to_float=1", ""},
};

static void finds_what_does_not_fit(void **state)
{
    const AttrRow *row = *state;
    Arena *arena = arena_new();
    DimBindings none = {0};
    Error err = {0};
    const Graph *graph = graph_from_text(arena, row->text, 18);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    Buf out = buf_new(arena);
    assert_non_null(inferred);
    if (inferred->findings.n > 0) {
        const Finding *finding = &inferred->findings.at[0];
        buf_printf(&out, "%s: %s", strstr(finding->text, ": ") + 2, finding->hint);
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static const struct CMUnitTest graph_tests[] = {
    cmocka_unit_test(a_graph_may_use_other_names),
};

int main(void)
{
    int failed = run_rows("cells", cells, reads_a_cell);
    failed += run_rows("names", names, finds_a_name);
    failed += run_rows("rules", rules, a_rule_runs_under_another_name);
    failed += run_rows("findings", attrs, finds_what_does_not_fit);
    failed += cmocka_run_group_tests_name("table", table_tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("graphs", graph_tests, NULL, NULL);
    return failed;
}
