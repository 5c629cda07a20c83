/* Checkpoints: what is read of them, what is refused, and a run with their weights. */
#include "tests/unit/model_text.h"
#include "tests/unit/opened_op.h"

#include "core/model/safetensors.h"
#include "core/run/feed.h"
#include "core/run/run.h"

#include <stdio.h>
#include <stdlib.h>

/* A file of that header and n zero bytes behind it; length 0: of the header's own. */
static const char *write_header(Arena *arena, const char *header, uint64_t length, size_t n)
{
    const char *path = arena_printf(arena, "/tmp/test_safetensors_%d.safetensors", (int)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    length = length ? length : strlen(header);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), file);
    fputs(header, file);
    for (size_t i = 0; i < n; i++)
        fputc(0, file);
    fclose(file);
    return path;
}

typedef struct {
    const char *name, *header;
    uint64_t length;
    size_t n_bytes;
    const char *text; /* of the error; NULL: it is read */
} FileRow;

#define W "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"

static const FileRow files[] = {
    {"a tensor", "{" W "}", 0, 24, NULL},
    {"metadata is no tensor", "{\"__metadata__\":{\"format\":\"pt\"}," W "}", 0, 24, NULL},
    {"blanks behind the header", "{" W "}    ", 0, 24, NULL},
    {"a short file", "{" W "}", 0, 23, "it ends before the elements of 'w'"},
    {"a header longer than the file", "{" W "}", 1000, 24, "its header is longer than the file"},
    {"a header as long as all memory", "{}", UINT64_MAX, 0, "its header is longer than the file"},
    {"a header that is no object", "[1]", 0, 0, "its header is no object"},
    {"a header that is no JSON", "{\"w\"", 0, 0, "JSON: "},
    {"a type that is none", "{\"w\":{\"dtype\":\"F7\",\"shape\":[1],\"data_offsets\":[0,4]}}", 0, 4,
     "an element type that is not known, of 'w'"},
    {"a size below zero", "{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 0, 4,
     "no shape of 'w'"},
    {"a shape that is none", "{\"w\":{\"dtype\":\"F32\",\"shape\":7,\"data_offsets\":[0,4]}}", 0, 4,
     "no shape of 'w'"},
    {"more bytes than the shape says",
     "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 0, 8,
     "the bytes are not as many as the shape says, of 'w'"},
    {"offsets that go back", "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", 0,
     8, "it ends before the elements of 'w'"},
    {"no offsets", "{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 8,
     "it ends before the elements of 'w'"},
    {"a tensor that is a number", "{\"w\":3}", 0, 8, "an element type that is not known, of 'w'"},
};

static void a_file_is_read_or_refused(void **state)
{
    const FileRow *row = *state;
    Arena *arena = arena_new();
    SafeTensors found;
    Error err = {0};
    const char *path = write_header(arena, row->header, row->length, row->n_bytes);
    bool ok = safetensors_open(arena, path, &found, &err);
    if (ok != (row->text == NULL) || (row->text && !strstr(err.text, row->text)))
        fail_msg("%s", err.text);
    if (ok) {
        const SafeTensor *w = safetensors_find(&found, "w");
        assert_non_null(w);
        assert_int_equal(w->dtype, DT_F32);
        assert_int_equal(w->bytes.n, 24);
        assert_null(safetensors_find(&found, "v"));
    }
    safetensors_close(&found);
    unlink(path);
    arena_free(arena);
}

/* ---- a run with them ---- */

/* y = x w, w in bf16: row i holds i + 1 in all places. */
static const char *write_weight(Arena *arena, const char *name, const char *shape)
{
    const char *path = write_header(
        arena,
        arena_printf(arena, "{\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[0,16]}}",
                     name, shape),
        0, 0);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            float value = (float)(i + 1);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            fputc((int)(bits >> 16 & 0xff), file);
            fputc((int)(bits >> 24), file);
        }
    fclose(file);
    return path;
}

#define MODEL                                                                                      \
    "function MODEL(model)\n"                                                                      \
    "  local x = model:input('x', 'f32', {3, 4})\n"                                                \
    "  model:output(model:op('MatMul', {x, model:param('w', {4, 2}, 'f32')}), 'y')\n"              \
    "end\n"

/* Any rank's part of the weight is as the file says. */
static void check_parts(Session *session, const SafeTensors *found)
{
    Arena *arena = arena_new();
    Feeds feeds;
    Error err = {0};
    int32_t w = 0;
    while (strcmp(tensor_name(session->graph, w), "w") != 0)
        w++;
    bool *wanted = arena_array(arena, bool, session->graph->n_tensors);
    Sharding *sharding = arena_make(arena, Sharding);
    Source text = {"", STR("4/tp,2")};
    assert_true(sharding_parse(&text, inferred_shape(session->inferred, w), session->mesh,
                               VIEW_OURS, sharding, &err));
    wanted[w] = true;
    assert_true(
        feeds_open(arena, session->inferred, wanted, &(Given){.weights = found}, &feeds, &err));
    for (int64_t rank = 0; rank < 2; rank++) {
        Local *part =
            local_new(DT_F32, inferred_shape(session->inferred, w), sharding, session->mesh, rank);
        feed_fill(&feeds, w, 0, part, arena);
        for (int i = 0; i < 4; i++)
            assert_true(((float *)part->data)[i] == (float)(2 * rank + i / 2 + 1));
        local_free(part);
    }
    feeds_close(&feeds);
    arena_free(arena);
}

typedef struct {
    const char *name, *tensor, *shape, *text;
} WeightRow;

static const WeightRow weights[] = {
    {"a weight of another type is converted", "w", "4,2", NULL},
    {"a weight of another shape", "w", "2,4", "'w' is f32 4,2 in the model, bf16 2,4 in"},
    {"weights of another model", "v", "4,2", "no weight of the model is in"},
};

static void a_run_takes_them(void **state)
{
    const WeightRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const char *model = arena_printf(arena, "/tmp/test_safetensors_%d.lua", (int)getpid());
    const char *path = write_weight(arena, row->tensor, row->shape);
    assert_true(file_write(model, str_from(MODEL), &err));
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = model, .mesh = "tp=2"};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    RunOptions run = {.weights = path, .verify = true};
    RunReport report;
    bool ok = run_plan(arena, session->plan, &run, &report, &err);
    if (ok != (row->text == NULL) || (row->text && !strstr(err.text, row->text)))
        fail_msg("%s", err.text);
    SafeTensors found;
    Error inner = {0};
    assert_true(safetensors_open(arena, path, &found, &inner));
    if (ok) {
        assert_int_equal(report.n_drawn, 0);
        check_parts(session, &found);
    }
    safetensors_close(&found);
    session_close(session);
    scripts_free(scripts);
    unlink(model);
    unlink(path);
    arena_free(arena);
}

/* ---- weights that a checkpoint lacks, and those that are stacked in the model ---- */

#define TWO                                                                                        \
    "function MODEL(model)\n"                                                                      \
    "  local x = model:input('x', 'f32', {3, 4})\n"                                                \
    "  x = model:op('MatMul', {x, model:param('w', {4, 2}, 'f32')})\n"                             \
    "  model:output(model:op('Add', {x, model:param('v', {2}, 'f32')}), 'y')\n"                    \
    "end\n"
/* Two matrices that a checkpoint holds one by one: e.0.w and e.1.w. */
#define STACK                                                                                      \
    "function MODEL(model)\n"                                                                      \
    "  local x = model:input('x', 'f32', {2, 3, 4})\n"                                             \
    "  model:module('e', function()\n"                                                             \
    "    local w = model:param('w', {2, 4, 2}, 'f32', {parts = '*.w'})\n"                          \
    "    model:output(model:op('MatMul', {x, w}), 'y')\n"                                          \
    "  end)\n"                                                                                     \
    "end\n"

typedef struct {
    const char *name, *model, *first, *second; /* tensors of the checkpoint, of 4,2; "" if one */
    bool draw;
    int n_drawn;
    const char *text; /* of the error; NULL if it runs */
} LackRow;

static LackRow lacks[] = {
    {"a weight is missing", TWO, "w", "", false, 0, "1 weight of the model is not in"},
    {"a missing weight may be drawn", TWO, "w", "", true, 1, NULL},
    {"a stack is read from its parts", STACK, "e.0.w", "e.1.w", false, 0, NULL},
    {"a stack is read by its own name too", STACK, "e.w", "", false, 0,
     "'e.w' is f32 2,4,2 in the model, bf16 4,2 in"},
    {"a part of a stack is missing", STACK, "e.0.w", "z", false, 0, "no weight of the model is in"},
};

/* A folder with one file for each tensor. */
static const char *write_folder(Arena *arena, const LackRow *row)
{
    char made[] = "/tmp/test_weights_XXXXXX";
    assert_non_null(mkdtemp(made));
    const char *folder = arena_str(arena, str_from(made));
    const char *names[] = {row->first, row->second};
    for (int i = 0; i < 2 && names[i][0]; i++) {
        const char *path = write_weight(arena, names[i], "4,2");
        assert_int_equal(rename(path, arena_printf(arena, "%s/%d.safetensors", folder, i)), 0);
    }
    return folder;
}

static void missing_weights_are_not_made_up(void **state)
{
    const LackRow *row = *state;
    OpenedText o = model_text_open(row->model, "", "tp=2", NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const char *folder = write_folder(o.arena, row);
    RunOptions run = {.weights = folder, .draw_missing = row->draw, .verify = true, .repeat = 1};
    RunReport report;
    bool ok = run_plan(o.arena, o.session->plan, &run, &report, &o.err);
    if (ok != (row->text == NULL) || (row->text && !strstr(o.err.text, row->text)))
        fail_msg("%d: %s", ok, o.err.text);
    if (ok)
        assert_int_equal(report.n_drawn, row->n_drawn);
    for (int i = 0; i < 2; i++)
        unlink(arena_printf(o.arena, "%s/%d.safetensors", folder, i));
    rmdir(folder);
    model_text_close(&o);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(files) + COUNT_OF(weights)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(files); i++)
        tests[n++] = (struct CMUnitTest){.name = files[i].name,
                                         .test_func = a_file_is_read_or_refused,
                                         .initial_state = (void *)(uintptr_t)&files[i]};
    for (size_t i = 0; i < COUNT_OF(weights); i++)
        tests[n++] = (struct CMUnitTest){.name = weights[i].name,
                                         .test_func = a_run_takes_them,
                                         .initial_state = (void *)(uintptr_t)&weights[i]};
    return _cmocka_run_group_tests("safetensors", tests, n, NULL, NULL) +
           run_rows("missing", lacks, missing_weights_are_not_made_up);
}
