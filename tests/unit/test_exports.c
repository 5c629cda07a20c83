/* Small files of many exporters, against what onnxruntime measured: tests/models/README.md. */
#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/shape_table.h"

#include "core/model/onnx.h"
#include "core/rules/infer.h"

#include <stdlib.h>

#define MODELS "tests/models/"

typedef struct {
    const char *name;
    int n_values;
    int n_unknown; /* values some sizes of which known only at run time */
} Export;

static Export exports[] = {
    {"bert-fused", 76, 0},      {"control", 29, 3},          {"moe", 193, 60},
    {"sklearn-columns", 14, 0}, {"tf-lstm", 51, 0},          {"tf-views", 145, 13},
    {"tf-while", 76, 1},        {"unet-11", 53, 0},          {"unet-qdq", 132, 0},
    {"yolo-17", 174, 23},       {"yolo-qoperator", 200, 24},
};

typedef struct {
    Arena *arena;
    FileMap map;
    const Graph *graph;
    Inferred *inferred;
} Model;

static Model open_model(const char *name, const char *dims, bool allow_free)
{
    Model model = {.arena = arena_new()};
    Error err = {0};
    DimBindings bindings = {0};
    Source source = {"--dim", str_from(dims)};
    const char *path = arena_printf(model.arena, MODELS "%s.onnx", name);
    model.graph = onnx_open(model.arena, path, &model.map, &err);
    if (model.graph && dims_parse(model.arena, &source, &bindings, &err))
        model.inferred =
            infer(model.arena, model.graph, registry_new(model.arena), &bindings, allow_free, &err);
    if (!model.inferred)
        fail_msg("%s: %s", path, err.text);
    return model;
}

static void close_model(Model *model)
{
    arena_free(model->arena);
    file_unmap(&model->map);
}

/* Every size is the measured one, or is not known; one that is another in each run is not. */
static bool fits(const Shape *shape, Str want)
{
    Str rest = {want.s + 1, want.n - 2};
    if (!shape)
        return false;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        const char *comma = memchr(rest.s, ',', rest.n);
        Str size = {rest.s, comma ? (size_t)(comma - rest.s) : rest.n};
        bool varies = str_eq(size, STR("?"));
        if (size.n == 0 ||
            (shape->dim[d] >= 0 && (varies || shape->dim[d] != strtoll(size.s, NULL, 10))))
            return false;
        rest = (Str){rest.s + size.n + (comma != NULL), rest.n - size.n - (comma != NULL)};
    }
    return rest.n == 0;
}

/* name, dtype, [shape], kind. True where all of its sizes are known. */
static bool compare_value(const Model *model, Str line)
{
    Str name = take_field(&line), dtype = take_field(&line), want = take_field(&line);
    int32_t t = graph_find_tensor(model->graph, name);
    if (t < 0)
        fail_msg("no value '%.*s'", STR_ARG(name));
    const Shape *shape = inferred_sizes(model->inferred, t);
    const char *is = dtype_name((Dtype)model->inferred->dtype[t]);
    Buf got = buf_new(model->arena);
    inferred_put_shape(model->inferred, t, &got);
    if (!str_eq(dtype, str_from(is)) || !fits(shape, want))
        fail_msg("'%.*s' is %s [%s], and was %.*s %.*s", STR_ARG(name), is, got.s, STR_ARG(dtype),
                 STR_ARG(want));
    return inferred_shape(model->inferred, t) != NULL;
}

static void compare(const Model *model, Str table, int *n_values, int *n_unknown)
{
    *n_values = *n_unknown = 0;
    while (table.n > 0) {
        Str line = take_line(&table);
        if (line.n == 0 || line.s[0] == '#')
            continue;
        *n_unknown += !compare_value(model, line);
        ++*n_values;
    }
}

static void expect_rules(const Inferred *inferred)
{
    static const char *const wrong[] = {"no-rule",           "rule-refused", "unknown-shape",
                                        "unknown-attribute", "wrong-dtype",  "declared-shape"};
    for (int f = 0; f < inferred->findings.n; f++)
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            if (strcmp(inferred->findings.at[f].code, wrong[i]) == 0)
                fail_msg("%s: %s", wrong[i], inferred->findings.at[f].text);
}

/* With the dims bound as they were measured, and with none bound. */
static void every_value_has_the_measured_shape(void **state)
{
    const Export *row = *state;
    Arena *arena = arena_new();
    Source table;
    Error err = {0};
    int n_values, n_unknown;
    const char *path = arena_printf(arena, MODELS "%s.shapes.tsv", row->name);
    if (!file_read(arena, path, 1 << 20, &table, &err))
        fail_msg("%s", err.text);
    Model model = open_model(row->name, dims_line(arena, table.text), false);
    compare(&model, table.text, &n_values, &n_unknown);
    assert_int_equal(n_values, row->n_values);
    assert_int_equal(n_unknown, row->n_unknown);
    expect_rules(model.inferred);
    close_model(&model);

    model = open_model(row->name, "", true);
    compare(&model, table.text, &n_values, &n_unknown);
    close_model(&model);
    arena_free(arena);
}

int main(void)
{
    return run_rows("exports", exports, every_value_has_the_measured_shape);
}
