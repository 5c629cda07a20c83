/* ONNX's multi-device annotations: what is written is read back as the same plan, the weights are
 * the file's bytes, and what cannot be said is told. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/model/wire.h"
#include "core/plan/onnx_devices.h"
#include "core/plan/stage.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
    unsigned losses; /* bits of OnnxLoss */
} Trip;

#define MODELS "samples/models/"
enum {
    PARTIAL = 1 << LOSS_PARTIAL,
    UNEVEN = 1 << LOSS_UNEVEN,
    BLOCKS = 1 << LOSS_BLOCKS,
    STORED = 1 << LOSS_STORED,
    WEIGHTS = 1 << LOSS_WEIGHTS,
    SCHEDULE = 1 << LOSS_SCHEDULE
};

static Trip rows[] = {
    {"tiny-gpt dp", MODELS "tiny-gpt.onnx", "dp=2", "dp", 0},
    {"tiny-gpt megatron", MODELS "tiny-gpt.onnx", "dp=2,tp=2", "megatron", PARTIAL},
    {"tiny-gpt fsdp", MODELS "tiny-gpt.onnx", "dp=2", "fsdp", STORED},
    {"tiny-gpt turned devices", MODELS "tiny-gpt.onnx", "dp,tp=[[3,1],[2,0]]", "megatron", PARTIAL},
    {"gpt2 megatron", MODELS "gpt2.onnx", "dp=2,tp=4", "megatron", PARTIAL | WEIGHTS},
    {"gpt2 megatron_sp", MODELS "gpt2.onnx", "dp=2,tp=4", "megatron_sp", PARTIAL | WEIGHTS},
    {"gpt2-dynamo megatron", MODELS "gpt2-dynamo.onnx", "dp=2,tp=4", "megatron", PARTIAL | WEIGHTS},
    {"llama-tiny megatron", MODELS "llama-tiny.onnx", "dp=2,tp=2", "megatron", PARTIAL},
    {"vit tp of 3", MODELS "vit_b_16.onnx", "dp=2,tp=3", "megatron", PARTIAL | WEIGHTS},
    {"resnet50 dp", MODELS "resnet50.onnx", "dp=4", "dp", WEIGHTS},
    {"gpt2 stages", MODELS "gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d", PARTIAL | WEIGHTS | SCHEDULE},
};

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
} World;

static World new_world(void)
{
    World world = {.arena = arena_new()};
    world.scripts = scripts_new(world.arena, ".");
    world.hooks = scripts_hooks(world.scripts);
    return world;
}

static void end_world(World *world)
{
    scripts_free(world->scripts);
    arena_free(world->arena);
}

static Session *open_session(World *world, const SessionOptions *options)
{
    Error err = {0};
    Session *session = session_open(options, &world->hooks, &err);
    if (!session)
        fail_msg("%s: %s", err.text, err.hint);
    return session;
}

static const char *write_temporary(World *world, Str text)
{
    const char *path = arena_printf(world->arena, "/tmp/dimscope-devices-%d.onnx", (int)getpid());
    Error err = {0};
    if (!file_write(path, text, &err))
        fail_msg("%s", err.text);
    return path;
}

static void same_cuts(const Session *a, const Session *b)
{
    Arena *scratch = arena_new();
    for (int i = 0; i < a->inferred->n_program; i++) {
        int32_t op = a->inferred->program[i];
        const OpCut *x = plan_cut(a->plan, op), *y = plan_cut(b->plan, op);
        for (int d = 0; d < x->n; d++) {
            Buf one = buf_new(scratch), other = buf_new(scratch);
            cut_format(&x->index[d], a->mesh, &one);
            cut_format(&y->index[d], b->mesh, &other);
            if (strcmp(one.s, other.s) != 0)
                fail_msg("%s dim %d: %s became %s", op_name(a->graph, op), d, one.s, other.s);
        }
        assert_true(submesh_equal(a->plan->submeshes[plan_devices(a->plan, op)],
                                  b->plan->submeshes[plan_devices(b->plan, op)]));
        assert_int_equal(stage_of(a->plan, op), stage_of(b->plan, op));
    }
    arena_free(scratch);
}

/* The plan comes back out of the file as it went in, but for what the losses say. */
static void the_plan_comes_back(void **state)
{
    const Trip *row = *state;
    World world = new_world();
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = row->policy};
    Session *session = open_session(&world, &options), *again;
    Buf written = buf_new(world.arena);
    OnnxLosses losses = {0};
    Error err = {0};
    unsigned lost = 0;

    assert_true(onnx_devices_write(session, &written, &losses, &err));
    for (int loss = 0; loss < LOSS_COUNT; loss++)
        lost |= losses.n[loss] > 0 ? 1u << loss : 0;
    assert_int_equal(lost, row->losses);
    options = (SessionOptions){.model = write_temporary(&world, buf_str(&written)),
                               .dims = session->options.dims};
    again = open_session(&world, &options);
    unlink(options.model);
    same_cuts(session, again);
    if (!(lost & STORED)) {
        assert_float_equal(session->plan->totals.step_us, again->plan->totals.step_us, 1e-6);
        assert_int_equal(session->plan->totals.peak_bytes, again->plan->totals.peak_bytes);
    }
    session_close(again);
    session_close(session);
    end_world(&world);
}

/* The fields of a message but for those two, one behind the other. */
static void copy_without(Wire wire, uint32_t one, uint32_t other, Buf *out)
{
    for (WireField field; wire_next(&wire, &field);)
        if (field.number != one && field.number != other)
            buf_add(out, field.bytes);
}

/* Beside nodes, version and configuration every byte is the model's own; written into again it is
 * replaced, not added. */
static void the_rest_is_untouched(void **state)
{
    (void)state;
    World world = new_world();
    SessionOptions options = {
        .model = MODELS "tiny-gpt.onnx", .mesh = "tp=2", .policy = "megatron"};
    Session *session = open_session(&world, &options);
    Buf written = buf_new(world.arena), once = buf_new(world.arena), twice = buf_new(world.arena);
    OnnxLosses losses = {0};
    assert_true(onnx_devices_write(session, &written, &losses, NULL));
    WireFile before = wire_file("", session->model_map.text, NULL);
    WireFile after = wire_file("", buf_str(&written), NULL);
    Wire model = wire_begin(&before, ""), made = wire_begin(&after, "");
    Buf a = buf_new(world.arena), b = buf_new(world.arena);
    for (WireField field; wire_next(&model, &field);)
        if (field.number == 7)
            copy_without(wire_message(&model, &field, ""), 1, 1, &a);
        else if (field.number != 1 && field.number != 26)
            buf_add(&a, field.bytes);
    for (WireField field; wire_next(&made, &field);)
        if (field.number == 7)
            copy_without(wire_message(&made, &field, ""), 1, 1, &b);
        else if (field.number != 1 && field.number != 26)
            buf_add(&b, field.bytes);
    assert_true(a.n > 100000);
    assert_true(str_eq(buf_str(&a), buf_str(&b)));
    buf_add(&once, buf_str(&written));
    session_close(session);
    options.model = write_temporary(&world, buf_str(&once));
    options.dims = (DimBindings){0};
    DimBinding dims[] = {{STR("batch"), 4}, {STR("seq"), 8}};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        vec_push(world.arena, &options.dims, dims[i]);
    session = open_session(&world, &options);
    assert_true(onnx_devices_write(session, &twice, &losses, NULL));
    unlink(options.model);
    assert_int_equal(once.n, twice.n);
    session_close(session);
    end_world(&world);
}

/* A file cut anywhere, or with any byte changed, is an error or a plan with notes. */
static void broken_files_end_well(void **state)
{
    (void)state;
    World world = new_world();
    SessionOptions options = {.model = MODELS "tiny-conv.onnx", .mesh = "dp=2", .policy = "dp"};
    Session *session = open_session(&world, &options);
    Buf written = buf_new(world.arena);
    OnnxLosses losses = {0};
    assert_true(onnx_devices_write(session, &written, &losses, NULL));
    unsigned seed = 7;
    for (int i = 0; i < 400; i++) {
        Arena *scratch = arena_new();
        Buf broken = buf_new(scratch);
        buf_add(&broken, buf_str(&written));
        seed = seed * 1664525u + 1013904223u;
        if (i % 2)
            broken.n = seed % broken.n;
        else
            broken.s[seed % broken.n] ^= (char)(1 << (seed >> 28));
        Journal journal = {0};
        Error err = {0};
        Session copy = *session;
        copy.journal_arena = scratch;
        copy.notes = (Findings){0};
        bool ok = onnx_devices_read(&copy, "x.onnx", buf_str(&broken), &journal, &err);
        assert_true(ok || err.text[0]);
        arena_free(scratch);
    }
    session_close(session);
    end_world(&world);
}

static void a_model_of_lua_has_no_file(void **state)
{
    (void)state;
    World world = new_world();
    SessionOptions options = {.model = MODELS "llama-3-tiny.json", .mesh = "tp=2"};
    Session *session = open_session(&world, &options);
    Buf out = buf_new(world.arena);
    OnnxLosses losses = {0};
    Error err = {0};
    assert_false(onnx_devices_write(session, &out, &losses, &err));
    assert_int_equal(err.kind, ERROR_UNSUPPORTED);
    assert_int_equal(out.n, 0);
    session_close(session);
    end_world(&world);
}

static void another_mesh_is_said(void **state)
{
    (void)state;
    World world = new_world();
    SessionOptions options = {.model = MODELS "tiny-conv.onnx", .mesh = "dp=2", .policy = "dp"};
    Session *session = open_session(&world, &options);
    Buf written = buf_new(world.arena);
    OnnxLosses losses = {0};
    Error err = {0};
    assert_true(onnx_devices_write(session, &written, &losses, NULL));
    options = (SessionOptions){.model = write_temporary(&world, buf_str(&written)),
                               .mesh = "dp=4",
                               .dims = session->options.dims};
    Session *other = open_session(&world, &options);
    assert_int_equal(other->journal.n_done, 0);
    assert_int_equal(other->notes.n, 1);
    assert_string_equal(other->notes.at[0].hint, "-m dp=2");
    options.pins = options.model;
    assert_null(session_open(&options, &world.hooks, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    unlink(options.model);
    session_close(other);
    session_close(session);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_is_untouched),
        cmocka_unit_test(broken_files_end_well),
        cmocka_unit_test(a_model_of_lua_has_no_file),
        cmocka_unit_test(another_mesh_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("devices", rows, the_plan_comes_back);
}
