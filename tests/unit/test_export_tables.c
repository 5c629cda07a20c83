/* Tables of a plan: every one is written as data that programs read back, and its numbers are those
 * of the plan. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "core/plan/slices.h"
#include "scripts/hooks.h"
#include "viz/report/tables.h"

#include <stdlib.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
} Case;

static Case cases[] = {
    {"tiny-gpt", "samples/models/tiny-gpt.onnx", "dp=2,tp=4", "megatron"},
    {"llama-tiny", "samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron"},
    {"stages", "samples/models/tiny-gpt.onnx", "pp=2,dp=2,tp=2", "hybrid3d"},
    {"one device", "samples/models/tiny-conv.onnx", "x=1", NULL},
};

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static Fixture open_case(const Case *row)
{
    Fixture f = {.arena = arena_new()};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = row->policy};
    Error err = {0};
    f.session = session_open(&options, &hooks, &err);
    if (!f.session)
        fail_msg("%s", err.text);
    return f;
}

static void close_case(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static Json *export_json(const Fixture *f, const char *table, Error *err)
{
    ExportRequest request = {.drawing = {.session = f->session}, .table = table};
    ExportNotes notes = {.arena = f->arena};
    Buf out = buf_new(f->arena);
    if (!tables_json(&request, &out, &notes, err))
        return NULL;
    assert_int_equal(notes.at.n, 0);
    Source source = {"export", buf_str(&out)};
    Json *root = json_parse(&source, err);
    assert_non_null(root);
    return root;
}

static int64_t elements(const char *shape)
{
    int64_t n = 1;
    for (char *at = (char *)(uintptr_t)shape + 1; *at && *at != ']'; at += *at == ',')
        n *= strtoll(at, &at, 10);
    return n;
}

/* Each device that has a part of a tensor is there once, with as many elements as its slice. */
static void parts_are_the_slices_of_the_plan(void **state)
{
    Fixture f = open_case(*state);
    Error err = {0};
    Json *root = export_json(&f, "parts", &err), *rows = json_get(root, "rows");
    const Plan *plan = f.session->plan;
    assert_true(json_size(rows) > 0);
    int64_t last = -1;
    int32_t before = -1;
    for (int i = 0; i < json_size(rows); i++) {
        Json *row = json_at(rows, i);
        int32_t tensor = graph_find_tensor(f.session->graph, json_str(json_get(row, "tensor"), ""));
        int64_t device = json_int(json_get(row, "device"), -1);
        assert_true(tensor >= 0 && device >= 0);
        assert_true(tensor > before || (tensor == before && device > last));
        Slices slices = slices_of(plan_sharding(plan, tensor), f.session->mesh, (SubMesh){0, 0});
        assert_int_equal(elements(json_str(json_get(row, "local_shape"), "").s),
                         slice_elements(&slices, device));
        assert_int_equal(elements(json_str(json_get(row, "global_shape"), "").s),
                         shape_elements(inferred_shape(plan->inferred, tensor)));
        before = tensor;
        last = device;
    }
    json_free(root);
    close_case(&f);
}

int main(void)
{
    return run_rows("parts", cases, parts_are_the_slices_of_the_plan);
}
