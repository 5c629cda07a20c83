/* Builders against published checkpoints, tests/models/published.jsonl: the number of parameters,
 * and names and shapes of those outside of layers and in the first one. */
#include "tests/unit/model_text.h"

#include "core/base/json.h"

enum { FILE_BYTES_MAX = 1 << 20, LINES_MAX = 128 };

typedef struct {
    const char *name;
    const Json *row;
} PublishedRow;

static PublishedRow rows[LINES_MAX];
static int n_rows;

/* A tensor of that name, or the stack that holds it, whose first dim is left out of the shape. */
static void check_tensor(const OpenedText *o, const char *name, const Json *sizes)
{
    const Graph *graph = o->session->graph;
    Error err = {0};
    int32_t tensor = naming_find(o->session->naming, str_from(name), &err);
    if (tensor < 0)
        fail_msg("there is no %s", name);
    assert_int_equal(graph->tensors[tensor].kind, TENSOR_INITIALIZER);
    int first = graph->data[graph->tensors[tensor].data].parts != NULL;
    const Shape *shape = inferred_shape(o->session->inferred, tensor);
    if (!first)
        assert_string_equal(tensor_name(graph, tensor), name);
    if (shape->n_dims - first != json_size(sizes))
        fail_msg("%s has %d dims", name, (int)shape->n_dims);
    for (int d = 0; d < json_size(sizes); d++)
        if (shape->dim[first + d] != json_int(json_at(sizes, d), -1))
            fail_msg("dim %d of %s is %lld", d, name, (long long)shape->dim[first + d]);
}

static void is_as_published(void **state)
{
    const PublishedRow *row = *state;
    Arena *arena = arena_new();
    Buf config = buf_new(arena);
    json_write(json_get(row->row, "config"), &config);
    OpenedText o = model_text_open(config.s, "", NULL, NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    int64_t want = json_int(json_get(row->row, "params"), -1);
    int64_t have = inferred_params(o.session->inferred);
    if (have != want)
        fail_msg("%lld parameters, not %lld", (long long)have, (long long)want);
    assert_int_equal(o.session->inferred->findings.n, 0);
    const Json *tensors = json_get(row->row, "tensors");
    for (const char *name = NULL; (name = json_key_after(tensors, name));)
        check_tensor(&o, name, json_get(tensors, name));
    model_text_close(&o);
    arena_free(arena);
}

static void names_are_of_parts_that_there_are(void **state)
{
    (void)state;
    OpenedText o = model_text_open(
        "{\"model_type\": \"mixtral\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 12, "
        "\"num_local_experts\": 4, \"num_experts_per_tok\": 2}",
        "", NULL, NULL);
    assert_non_null(o.session);
    const Naming *naming = o.session->naming;
    const char *path = "model.layers.0.block_sparse_moe.experts.";
    int32_t stack =
        graph_find_tensor(o.session->graph, str_from(arena_printf(o.arena, "%sw1.weight", path)));
    static const struct {
        const char *name;
        bool there;
    } names[] = {{"0.w1.weight", true},   {"3.w1.weight", true},   {"4.w1.weight", false},
                 {"-1.w1.weight", false}, {"03.w1.weight", false}, {"0.w4.weight", false}};
    assert_true(stack >= 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *name = arena_printf(o.arena, "%s%s", path, names[i].name);
        int32_t found = naming_find(naming, str_from(name), NULL);
        assert_int_equal(found, names[i].there ? stack : -1);
    }
    model_text_close(&o);
}

/* A file's name by module stays; what ops compute is no weight of their module. */
static void labels_are_not_made_up(void **state)
{
    (void)state;
    OpenedText o = model_text_open(
        "function MODEL(model)\n"
        "  local x = model:input('x', 'f32', {2, 4})\n"
        "  model:module('mixer', function()\n"
        "    local a = model:param('A_log', {4, 4})\n"
        "    local rate = model:op('Neg', {model:op('Exp', {a})})\n"
        "    x = model:op('MatMul', {x, rate})\n"
        "    x = model:op('MatMul', {x, model:op('Transpose', {a}, {perm = {1, 0}})})\n"
        "  end)\n"
        "  model:output(x, 'y')\n"
        "end\n",
        "", NULL, NULL);
    assert_non_null(o.session);
    static const char *const labels[][2] = {{"mixer.A_log", "mixer.A_log"},
                                            {"mixer/Neg", "mixer/Neg"}};
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        int32_t tensor = graph_find_tensor(o.session->graph, str_from(labels[i][0]));
        assert_true(tensor >= 0);
        assert_string_equal(naming_label(o.session->naming, tensor), labels[i][1]);
    }
    model_text_close(&o);
}

int main(void)
{
    Arena *arena = arena_new();
    Json *lines[LINES_MAX];
    Source source;
    if (!file_read(arena, "tests/models/published.jsonl", FILE_BYTES_MAX, &source, NULL))
        return 1;
    for (Str rest = source.text; rest.n > 0 && n_rows < LINES_MAX; n_rows++) {
        Source line = {source.name, str_take(&rest, '\n')};
        lines[n_rows] = json_parse(&line, NULL);
        rows[n_rows] = (PublishedRow){
            arena_str(arena, json_str(json_get(lines[n_rows], "name"), "")), lines[n_rows]};
    }
    struct CMUnitTest tests[LINES_MAX];
    for (int i = 0; i < n_rows; i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = is_as_published, .initial_state = &rows[i]};
    static PublishedRow parts[] = {{"names of experts", NULL}};
    int failed =
        n_rows == 0 ? 1 : _cmocka_run_group_tests("published", tests, (size_t)n_rows, NULL, NULL);
    failed += run_rows("parts", parts, names_are_of_parts_that_there_are);
    static PublishedRow labels[] = {{"labels", NULL}};
    failed += run_rows("labels", labels, labels_are_not_made_up);
    for (int i = 0; i < n_rows; i++)
        json_free(lines[i]);
    arena_free(arena);
    return failed;
}
