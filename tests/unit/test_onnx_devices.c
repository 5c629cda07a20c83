/* ONNX's multi-device annotations: what is written is read back as the same plan, the weights are
 * the file's bytes, and what cannot be said is told. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/model/wire.h"
#include "core/session/onnx_devices.h"
#include "core/plan/stage.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
    unsigned losses; /* bits of OnnxLoss */
    unsigned fuse;   /* fusions that both sessions do */
} Trip;

#define MODELS "samples/models/"
enum {
    PARTIAL = 1 << LOSS_PARTIAL,
    UNEVEN = 1 << LOSS_UNEVEN,
    BLOCKS = 1 << LOSS_BLOCKS,
    STORED = 1 << LOSS_STORED,
    INNER = 1 << LOSS_INNER,
    WEIGHTS = 1 << LOSS_WEIGHTS,
    SCHEDULE = 1 << LOSS_SCHEDULE
};

static Trip rows[] = {
    {"tiny-gpt dp", MODELS "tiny-gpt.onnx", "dp=2", "dp", 0, 0},
    {"tiny-gpt megatron", MODELS "tiny-gpt.onnx", "dp=2,tp=2", "megatron", PARTIAL, 0},
    {"tiny-gpt fsdp", MODELS "tiny-gpt.onnx", "dp=2", "fsdp", STORED, 0},
    {"tiny-gpt turned devices", MODELS "tiny-gpt.onnx", "dp,tp=[[3,1],[2,0]]", "megatron", PARTIAL,
     0},
    {"gpt2 megatron", MODELS "gpt2.onnx", "dp=2,tp=4", "megatron", PARTIAL | UNEVEN | WEIGHTS, 0},
    {"gpt2 megatron_sp", MODELS "gpt2.onnx", "dp=2,tp=4", "megatron_sp", PARTIAL | UNEVEN | WEIGHTS,
     0},
    {"gpt2-dynamo megatron", MODELS "gpt2-dynamo.onnx", "dp=2,tp=4", "megatron",
     PARTIAL | UNEVEN | WEIGHTS, 0},
    {"llama-tiny megatron", MODELS "llama-tiny.onnx", "dp=2,tp=2", "megatron", PARTIAL, 0},
    {"vit tp of 3", MODELS "vit_b_16.onnx", "dp=2,tp=3", "megatron", PARTIAL | WEIGHTS, 0},
    {"resnet50 dp", MODELS "resnet50.onnx", "dp=4", "dp", WEIGHTS, 0},
    {"gemma2, attention fused", "tests/families/gemma2-dyn.onnx", "tp=2", "megatron",
     PARTIAL | INNER, 1},
    {"falcon, attention fused", "tests/families/falcon-ts.onnx", "dp=2,tp=2", "megatron",
     PARTIAL | INNER, 1},
    {"gpt2, attention fused", MODELS "gpt2.onnx", "dp=2,tp=4", "megatron",
     PARTIAL | INNER | UNEVEN | WEIGHTS, 1},
    {"gpt2 stages", MODELS "gpt2.onnx", "pp=2,dp=2,tp=2", "hybrid3d",
     PARTIAL | UNEVEN | WEIGHTS | SCHEDULE, 0},
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
        assert_true(submesh_equal(a->plan->decided->submeshes[plan_devices(a->plan, op)],
                                  b->plan->decided->submeshes[plan_devices(b->plan, op)]));
        assert_int_equal(stage_of(a->plan, op), stage_of(b->plan, op));
    }
    arena_free(scratch);
}

/* The plan comes back out of the file as it went in, but for what the losses say. */
static void the_plan_comes_back(void **state)
{
    const Trip *row = *state;
    World world = new_world();
    SessionOptions options = {
        .model = row->model, .mesh = row->mesh, .policy = row->policy, .fuse = row->fuse};
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
                               .dims = session->options.dims,
                               .fuse = row->fuse};
    again = open_session(&world, &options);
    unlink(options.model);
    assert_int_equal(session->graph->n_ops, again->graph->n_ops);
    same_cuts(session, again);
    if (!(lost & STORED)) {
        assert_float_equal(session->plan->priced->totals.step_us,
                           again->plan->priced->totals.step_us, 1e-6);
        assert_int_equal(session->plan->priced->totals.peak_bytes,
                         again->plan->priced->totals.peak_bytes);
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

/* What of a model's file is no node, no version and no configuration. */
static void copy_rest(Str bytes, Buf *out)
{
    WireFile file = wire_file("", bytes, NULL);
    Wire model = wire_begin(&file, "");

    for (WireField field; wire_next(&model, &field);)
        if (field.number == 7)
            copy_without(wire_message(&model, &field, ""), 1, 1, out);
        else if (field.number != 1 && field.number != 26)
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
    Buf a = buf_new(world.arena), b = buf_new(world.arena);
    copy_rest(session->model_map.text, &a);
    copy_rest(buf_str(&written), &b);
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

/* ---- files that others write ---- */

static void put_varint(Buf *out, uint64_t value)
{
    for (; value > 127; value >>= 7)
        buf_putc(out, (char)(value | 128));
    buf_putc(out, (char)value);
}

static void put_int(Buf *out, uint32_t number, int64_t value)
{
    put_varint(out, number << 3);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(Buf *out, uint32_t number, Str bytes)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.n);
    buf_add(out, bytes);
}

/* One node of tiny-conv, its input in n parts of its first dim. Part i is on devices[i], or on
 * those of the group of that key. */
typedef struct {
    int64_t devices[2];
    int n_groups; /* with keys from 100 on; the last has members, the others have none */
    int64_t members[2];
    int n_members;
    int64_t n_parts; /* those beyond two are on devices[1] */
    bool fits;
} Crafted;

static void craft(Arena *arena, const Session *session, const Crafted *c, Buf *out)
{
    int32_t op = session->inferred->program[0], tensor = op_inputs(session->graph, op)[0];
    const GraphOp *node_op = &session->graph->ops[op];
    int32_t made = session->graph->operands[node_op->input + node_op->n_inputs];
    const char *name = tensor_name(session->graph, tensor);
    Buf simple = buf_new(arena), dim = buf_new(arena), spec = buf_new(arena);
    Buf said = buf_new(arena), node = buf_new(arena), graph = buf_new(arena);
    Buf configuration = buf_new(arena);

    put_bytes(&spec, 1, str_from(name));
    for (int64_t i = 0; i < c->n_parts; i++)
        put_int(&spec, 2, c->devices[i > 0]);
    for (int g = 0; g < c->n_groups; g++) {
        Buf group = buf_new(arena);
        put_int(&group, 1, 100 + g);
        for (int i = 0; g == c->n_groups - 1 && i < c->n_members; i++)
            put_int(&group, 2, c->members[i]);
        put_bytes(&spec, 3, buf_str(&group));
    }
    put_int(&simple, 3, c->n_parts);
    put_int(&dim, 1, 0);
    put_bytes(&dim, 2, buf_str(&simple));
    put_bytes(&spec, 4, buf_str(&dim));
    put_bytes(&said, 1, STR("dp=4"));
    put_bytes(&said, 2, buf_str(&spec));
    put_bytes(&node, 2, str_from(tensor_name(session->graph, made)));
    put_bytes(&node, 10, buf_str(&said));
    put_bytes(&graph, 1, buf_str(&node));
    put_bytes(&configuration, 1, STR("dp=4"));
    put_int(&configuration, 2, 4);
    put_bytes(out, 26, buf_str(&configuration));
    put_bytes(out, 7, buf_str(&graph));
}

static Crafted crafts[] = {
    {{0, 1}, 0, {0}, 0, 2, true},
    {{100, 0}, 1, {2, 3}, 2, 1, true},
    {{102, 0}, 3, {2, 3}, 2, 1, true},
    {{0, 100}, 1, {1, 0}, 2, 2, false},           /* two parts on one device */
    {{0, 100}, 1, {0}, 0, 2, false},              /* a part that nobody holds */
    {{0, 100}, 2, {1, 2}, 2, 2, false},           /* the same: the other group has them */
    {{0, INT64_MAX}, 0, {0}, 0, 2, false},        /* no device */
    {{0, INT64_MIN}, 1, {1, 2}, 2, 2, false},     /* the same */
    {{100, 40099}, 40000, {0}, 0, 100000, false}, /* not all with all */
};

static void groups_of_devices_are_read(void **state)
{
    (void)state;
    World world = new_world();
    SessionOptions options = {.model = MODELS "tiny-conv.onnx", .mesh = "dp=4"};
    Session *session = open_session(&world, &options);
    for (size_t i = 0; i < COUNT_OF(crafts); i++) {
        Arena *scratch = arena_new();
        Buf bytes = buf_new(scratch);
        Journal journal = {0};
        Session copy = *session;
        copy.journal_arena = scratch;
        copy.notes = (Findings){0};
        craft(scratch, session, &crafts[i], &bytes);
        assert_true(onnx_devices_read(&copy, "x.onnx", buf_str(&bytes), &journal, NULL));
        if (crafts[i].fits != (copy.notes.n == 0))
            fail_msg("row %zu: %d notes", i, copy.notes.n);
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
        cmocka_unit_test(the_rest_is_untouched),      cmocka_unit_test(broken_files_end_well),
        cmocka_unit_test(a_model_of_lua_has_no_file), cmocka_unit_test(another_mesh_is_said),
        cmocka_unit_test(groups_of_devices_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("devices", rows, the_plan_comes_back);
}
