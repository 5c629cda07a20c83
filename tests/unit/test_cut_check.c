/* A model under every cut of its ops: how many there are, and that a wrong one is found and named.
 */
#include "tests/unit/model_text.h"
#include "tests/unit/vectors_made.h"

#include "core/prove/cut_check.h"

/* Adds its row's number to each row, as the rank counts them: right where rows are not cut. */
#define ROWS                                                                                       \
    "register_op('r c -> r c', {name = 'my::rows', kernel = function(inputs)\n"                    \
    "  local x, out = inputs[1], {}\n"                                                             \
    "  for r = 0, x.shape[1] - 1 do for c = 0, x.shape[2] - 1 do\n"                                \
    "    out[#out + 1] = x:get(r, c) + r\n"                                                        \
    "  end end\n"                                                                                  \
    "  return out\n"                                                                               \
    "end})\n"
#define IDENTITY "model:op('Identity', {x})"
#define TWICE "model:op('Identity', {model:op('Identity', {x})})"

typedef struct {
    const char *name, *policy, *body, *mesh;
    float row;  /* what the rows' numbers are added times */
    int n_cuts; /* the failing one included */
    const char *line, *error;
} CutRow;

/* On x=2,y=2 a dim is cut by x, by both, by y; and either dim by x with the other by y. */
static CutRow rows[] = {
    {"a dim by an axis", NULL, IDENTITY, "x=2", 0, 2, NULL, ""},
    {"dims by two axes", NULL, IDENTITY, "x=2,y=2", 0, 8, NULL, ""},
    {"an axis of one device cuts nothing", NULL, IDENTITY, "x=2,y=1", 0, 2, NULL, ""},
    {"equal ops are one case", NULL, TWICE, "x=2", 0, 2, NULL, ""},
    {"rows that do not divide", ROWS, "model:op('my::rows', {x})", "x=4", 1, 1,
     "graph:pin(graph:op(\"my::rows\"), {r = {\"x\"}})", ""},
    {"what differs on one device differs under the first cut", NULL, IDENTITY, "x=2", 1, 1,
     "graph:pin(graph:op(\"Identity\"), {d0 = {\"x\"}})", ""},
};

static const char *vectors_of(Arena *arena, float row)
{
    const char *folder = vectors_folder(arena);
    Shape shape = {.n_dims = 2, .dim = {3, 4}};
    float x[12], y[12];
    for (int i = 0; i < 12; i++) {
        x[i] = (float)i / 8;
        y[i] = x[i] + row * (float)(i / 4);
    }
    vectors_write(arena, folder, "input", 0, DT_F32, &shape, (Str){(const char *)x, sizeof x});
    vectors_write(arena, folder, "output", 0, DT_F32, &shape, (Str){(const char *)y, sizeof y});
    return folder;
}

static void cuts_are_run(void **state)
{
    const CutRow *row = *state;
    Arena *arena = arena_new();
    char policy[] = "/tmp/dimscope_policy_XXXXXX";
    int fd = mkstemp(policy);
    assert_true(fd >= 0 && close(fd) == 0);
    Str text = str_from(row->policy ? row->policy : "");
    assert_true(file_write(policy, text, NULL));
    const char *model = arena_printf(arena,
                                     "function MODEL(model, config)\n"
                                     "  local x = model:input('x', 'f32', {3, 4})\n"
                                     "  model:output(%s, 'y')\n"
                                     "end\n",
                                     row->body);
    OpenedText o = model_text_open(model, "", row->mesh, row->policy ? policy : NULL);
    unlink(policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const char *folder = vectors_of(arena, row->row);
    CutProof proof = cut_check(arena, o.session, run_onnx_test, folder, &(RunOptions){.repeat = 1});
    vectors_remove(arena, folder);
    assert_int_equal(proof.n_cuts, row->n_cuts);
    assert_string_equal(proof.err.text, row->error);
    assert_string_equal(proof.line ? proof.line : "", row->line ? row->line : "");
    assert_int_equal(proof.report.ok, !row->line);
    model_text_close(&o);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = cuts_are_run, .initial_state = &rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
