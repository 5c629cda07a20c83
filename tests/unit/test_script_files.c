/* Files of Lua: machines, the shipped machines and policies on the sample models, and those of
 * tests/lua. */
#include "core/rules/registry.h"
#include "core/session/session.h"
#include "scripts/hooks.h"
#include "scripts/lua_machine.h"
#include "scripts/sandbox/lua_state.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- machines ---- */

#define MACHINE(fields)                                                                            \
    "return {name = 'm', source = 's', devices_per_node = 8, memory_bytes = 80e9,\n"               \
    "memory_bytes_per_s = 1e12, launch_us = 2,\n" fields                                           \
    "\ninside = {name = 'a', latency_us = 1, bytes_per_s = 2e9},\n"                                \
    "between = {name = 'b', latency_us = 3, bytes_per_s = 4e9}}"

#define NCCL                                                                                       \
    "base_us = {ring = {1, 1, 1}}, inside_us = {}, between_us = {}, post_us = 1, plateau = 1,\n"   \
    "ring_ll_share = 1, ring_ll128_share = 1, tree_share = 1, tree_ll_share = 1, pat_share = 1,\n" \
    "tree_ll128_share = 1, tree_ll128_share_between = 1, ll_bytes_per_s = {1, 1, 1},\n"            \
    "ring_ll128_channel_bytes_per_s = {1, 1, 1}, tree_channel_bytes_per_s = {1, 1, 1},\n"          \
    "tree_ll128_channel_bytes_per_s = {1, 1, 1},\n"                                                \
    "tree_size_share = {ll = t, ll128 = t, simple = t}"

typedef struct {
    const char *name, *script, *want;
} MachineRow;

static MachineRow machine_rows[] = {
    {"good", MACHINE("flops_per_s = {f32 = 1e12, bf16 = 2e12},"),
     "m 8 80000000000 1e+12 1e+12 2e+12 2 a 1 2e+09 b 3 4e+09"},
    {"unknown_field", MACHINE("flops_per_s = {f32 = 1e12}, launch = 3,"),
     "3: a machine has no field 'launch'"},
    {"missing_field", MACHINE(""), "0: a machine lacks 'flops_per_s'"},
    {"text_for_number", MACHINE("flops_per_s = {f32 = 'fast'},"),
     "3: 'f32' must be a finite number, 0 or more"},
    {"unknown_element_type", MACHINE("flops_per_s = {f32 = 1, f31 = 2},"),
     "3: 'flops_per_s' has an unknown element type 'f31'"},
    {"not_a_number", MACHINE("flops_per_s = {f32 = 0/0},"),
     "3: 'f32' must be a finite number, 0 or more"},
    {"the_field_not_a_remark", "-- f32 is slow\n" MACHINE("flops_per_s = {f32 = -1},"),
     "4: 'f32' must be a finite number, 0 or more"},
    {"times_add_up_to_no_number", MACHINE("flops_per_s = {f32 = 1e-308},"),
     "3: flops_per_s of f32 must be 1 to 1e+30"},
    {"a_share_of_more", MACHINE("flops_per_s = {f32 = 1},\nmemory_share = 90,"),
     "4: 'memory_share' must be a share: above 0, at most 1"},
    {"blames_the_link_it_is_in",
     "return {name = 'm', source = 's', devices_per_node = 8, memory_bytes = 80e9,\n"
     "memory_bytes_per_s = 1e12, launch_us = 2, flops_per_s = {f32 = 1e12},\n"
     "inside = {name = 'a', latency_us = 1, bytes_per_s = 2e9},\n"
     "between = {name = 'b', latency_us = -3, bytes_per_s = 4e9}}",
     "4: 'latency_us' must be a finite number, 0 or more"},
    {"nccl_without_channels",
     "local t = {} for i = 1, 23 do t[i] = 1 end " MACHINE(
         "flops_per_s = {f32 = 1}, nccl = {\n" NCCL "},"),
     "10: a machine with `nccl` also needs the channels of inside"},
    {"nccl_that_lacks", MACHINE("flops_per_s = {f32 = 1}, nccl = {plateau = 1.4},"),
     "3: nccl lacks 'base_us'"},
    {"nccl_short_list", MACHINE("flops_per_s = {f32 = 1}, nccl = {\nbase_us = {ring = {1, 2}}},"),
     "4: 'ring' must be a list of 3 numbers"},
    {"nccl_unknown", MACHINE("flops_per_s = {f32 = 1}, nccl = {\nbase_us = {rings = {1, 2}}},"),
     "4: base_us has no field 'rings'"},
    {"no_table", "return 3", "0: a machine is a number, not a table"},
    {"fails", "\nerror('not today')", "2: not today"},
    {"reads_no_files", "return dofile('x')", "1: attempt to call a nil value (global 'dofile')"},
};

static void read_machine(void **state)
{
    const MachineRow *row = *state;
    Arena *arena = arena_new();
    char path[] = "/tmp/test_script_files_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, row->script, strlen(row->script)), strlen(row->script));
    close(file);

    Machine machine;
    Error err = {0};
    Buf out = buf_new(arena);
    if (machine_read(arena, path, NULL, &machine, &err))
        buf_printf(&out, "%s %" PRId64 " %" PRId64 " %g %g %g %g %s %g %g %s %g %g", machine.name,
                   machine.devices_per_node, machine.memory_bytes, machine.memory_bytes_per_s,
                   machine.flops_per_s[DT_F32], machine.flops_per_s[DT_BF16], machine.launch_us,
                   machine.inside.name, machine.inside.latency_us, machine.inside.bytes_per_s,
                   machine.between.name, machine.between.latency_us, machine.between.bytes_per_s);
    else
        buf_printf(&out, "%d: %s", err.line, err.text);
    if (error_is_set(&err))
        assert_int_equal(err.kind, ERROR_SCRIPT);
    unlink(path);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* ---- hooks: shipped files, on the sample models ---- */

#define PAS(body) "function PAS(graph, resource)\n" body "\nreturn graph end"

typedef struct {
    const char *name;
} Name;

static Name machine_names[] = {{"h100x8"},   {"h100x8_fa2"}, {"h100x8_fa3"}, {"h200x8"},
                               {"a100x8"},   {"b200x8"},     {"pcie"},       {"gb200x72"},
                               {"gb200x64"}, {"tpu_v5p"},    {"cpu"},        {"h100x8_pods"}};

static void shipped_machine(void **state)
{
    const Name *it = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Machine machine;
    Error err = {0};
    assert_true(hooks.machine(hooks.context, arena, it->name, &machine, &err));
    assert_string_equal(machine.name, it->name);
    assert_true(machine.flops_per_s[DT_F32] > 0);
    assert_true(machine.inside.bytes_per_s > machine.between.bytes_per_s);
    scripts_free(scripts);
    arena_free(arena);
}

static void an_unknown_machine_lists_those_there_are(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Machine machine;
    Error err = {0};
    assert_false(hooks.machine(hooks.context, arena, "h101", &machine, &err));
    assert_int_equal(err.kind, ERROR_UNREADABLE);
    assert_string_equal(err.text, "there is no 'h101' among the machines");
    assert_string_equal(
        err.hint,
        "shipped: a100x8, b200x8, cpu, gb200x64, gb200x72, h100x8, h100x8_fa2, h100x8_fa3, "
        "h100x8_pods, h200x8, pcie, tpu_v5p; or "
        "give the path of a "
        "file");
    scripts_free(scripts);
    arena_free(arena);
}

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
    Error err;
} Opened;

static Opened open_session(const char *model, const char *dims, const char *mesh,
                           const char *policy)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model = arena_printf(opened.arena, "samples/models/%s.onnx", model);
    Source source = {"--dim", str_from(dims)};
    assert_true(dims_parse(opened.arena, &source, &options.dims, &opened.err));
    opened.session = session_open(&options, &hooks, &opened.err);
    return opened;
}

static void close_session(Opened *opened)
{
    session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

/* The plans of shipped policies: collectives as "count kind axes bytes", slices left out. */
typedef struct {
    const char *name, *model, *dims, *mesh, *policy, *want;
} PlanRow;

static PlanRow plan_rows[] = {
    {"gpt2_megatron", "gpt2", "batch=8,seq=1024", "dp=2,tp=4", "megatron",
     "25 all_reduce tp 12582912\n"},
    {"gpt2_dynamo_megatron", "gpt2-dynamo", "batch=8,seq=1024", "dp=2,tp=4", "megatron",
     "25 all_reduce tp 12582912\n"},
    {"llama_megatron", "llama-tiny", "batch=8,seq=1024", "dp=2,tp=4", "megatron",
     "5 all_reduce tp 2097152\n"},
    {"llama_megatron_fewer_kv_heads", "llama-tiny", "batch=8,seq=1024", "tp=8", "megatron",
     "5 all_reduce tp 4194304\n"},
    {"tiny_gpt_megatron", "tiny-gpt", "batch=8,seq=16", "dp=2,tp=4", "megatron",
     "5 all_reduce tp 16384\n"},
    {"gpt2_megatron_whole_vocabulary", "gpt2", "batch=8,seq=1024", "dp=2,tp=4", "+megatron",
     "24 all_reduce tp 12582912\n"},
    {"gpt2_dynamo_megatron_whole_vocabulary", "gpt2-dynamo", "batch=8,seq=1024", "dp=2,tp=4",
     "+megatron", "24 all_reduce tp 12582912\n"},
    {"llama_megatron_whole_vocabulary", "llama-tiny", "batch=8,seq=1024", "dp=2,tp=4", "+megatron",
     "4 all_reduce tp 2097152\n"},
    {"gpt2_megatron_dp_alone", "gpt2", "batch=8,seq=1024", "dp=8", "megatron", ""},
    {"gpt2_tp", "gpt2", "batch=8,seq=1024", "tp=4", "tp", "24 all_reduce tp 25165824\n"},
    {"gpt2_dynamo_tp", "gpt2-dynamo", "batch=8,seq=1024", "tp=4", "tp",
     "24 all_reduce tp 25165824\n"},
    {"llama_tp", "llama-tiny", "batch=8,seq=1024", "tp=4", "tp", "4 all_reduce tp 4194304\n"},
    {"gpt2_dp", "gpt2", "batch=8,seq=1024", "dp=2,tp=4", "dp", ""},
    {"gpt2_dynamo_dp", "gpt2-dynamo", "batch=8,seq=1024", "dp=2,tp=4", "dp", ""},
    {"llama_dp", "llama-tiny", "batch=8,seq=1024", "dp=2,tp=4", "dp", ""},
    {"gpt2_fsdp", "gpt2", "batch=8,seq=1024", "dp=2", "fsdp",
     "74 all_gather dp 3072\n12 all_gather dp 9216\n12 all_gather dp 12288\n"
     "12 all_gather dp 2359296\n1 all_gather dp 3145728\n12 all_gather dp 7077888\n"
     "24 all_gather dp 9437184\n2 all_gather dp 154389504\n"},
    {"gpt2_dynamo_fsdp", "gpt2-dynamo", "batch=8,seq=1024", "dp=2", "fsdp",
     "74 all_gather dp 3072\n12 all_gather dp 9216\n12 all_gather dp 12288\n"
     "12 all_gather dp 2359296\n1 all_gather dp 3145728\n12 all_gather dp 7077888\n"
     "24 all_gather dp 9437184\n1 all_gather dp 154389504\n"},
};

typedef struct {
    const Step *step;
    int n;
} Counted;

/* Steps alike in kind, axes and bytes, by kind and bytes. */
static int count_steps(const Plan *plan, Counted *out)
{
    int n = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++)
        for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++) {
            const Step *step = &plan->moved->reshards[r].path->step[s];
            if (step->kind == STEP_SLICE)
                continue;
            int at = 0;
            while (at < n &&
                   (out[at].step->kind != step->kind || out[at].step->atoms != step->atoms ||
                    out[at].step->bytes != step->bytes))
                at++;
            if (at == n)
                out[n++] = (Counted){step, 0};
            out[at].n++;
        }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (out[j].step->bytes < out[i].step->bytes) {
                Counted swap = out[i];
                out[i] = out[j];
                out[j] = swap;
            }
    return n;
}

static void format_collectives(const Plan *plan, Buf *out)
{
    Counted counted[64];
    int n = count_steps(plan, counted);
    for (int i = 0; i < n; i++) {
        uint8_t atom[ATOMS_MAX];
        int n_atoms = 0;
        for (int a = 0; a < plan->mesh->n_atoms; a++)
            if (counted[i].step->atoms >> a & 1)
                atom[n_atoms++] = (uint8_t)a;
        buf_printf(out, "%d %s ", counted[i].n, step_kind_name(counted[i].step->kind));
        mesh_format_atoms(plan->mesh, atom, n_atoms, ".", out);
        buf_printf(out, " %" PRId64 "\n", counted[i].step->bytes);
    }
}

/* A copy of a shipped policy that leaves the vocabulary whole; the caller removes it. */
static void write_vocabulary_policy(Arena *arena, const char *name, const char *path)
{
    Source source;
    Error err = {0};
    const char *shipped = arena_printf(arena, "scripts/policies/%s.lua", name);
    assert_true(file_read(arena, shipped, SCRIPT_BYTES_MAX, &source, &err));
    Str find = STR("\"cut_vocabulary\", true");
    int64_t at = str_find(source.text, find);
    assert_true(at > 0);
    Buf text = buf_new(arena);
    buf_add(&text, (Str){source.text.s, (size_t)at});
    buf_puts(&text, "\"cut_vocabulary\", false");
    buf_add(&text, (Str){source.text.s + at + find.n, source.text.n - (size_t)at - find.n});
    assert_true(file_write(path, buf_str(&text), &err));
}

static void shipped_policy(void **state)
{
    const PlanRow *row = *state;
    const char *policy = row->policy, *copy = NULL;
    Arena *arena = arena_new();
    if (policy[0] == '+') {
        copy = policy = arena_printf(arena, "/tmp/test_script_files_%d.lua", (int)getpid());
        write_vocabulary_policy(arena, row->policy + 1, copy);
    }
    Opened opened = open_session(row->model, row->dims, row->mesh, policy);
    if (copy)
        unlink(copy);
    if (!opened.session)
        fail_msg("%s", opened.err.text);
    Buf out = buf_new(arena);
    format_collectives(opened.session->plan, &out);
    assert_string_equal(out.s, row->want);
    assert_true(plan_is_legal(opened.session->plan));
    close_session(&opened);
    arena_free(arena);
}

static const Finding *find_note(const Session *session, const char *code)
{
    for (int i = 0; i < session->notes.n; i++)
        if (strcmp(session->notes.at[i].code, code) == 0)
            return &session->notes.at[i];
    return NULL;
}

static void megatron_cuts_the_fused_weight_by_heads(void **state)
{
    (void)state;
    Opened opened = open_session("gpt2", "batch=8,seq=1024", "dp=2,tp=4", "megatron");
    assert_non_null(opened.session);
    const Session *session = opened.session;
    int32_t weight = graph_find_tensor(session->graph, STR("transformer.h.3.attn.c_attn.weight"));
    Buf out = buf_new(opened.arena);
    cut_format(&plan_sharding(session->plan, weight)->dim[1], session->mesh, &out);
    assert_string_equal(out.s, "(3)(768/tp)");
    assert_int_equal(session->notes.n, 6); /* the table of what was found */
    assert_null(find_note(session, "policy-warns"));
    close_session(&opened);
}

static void a_missing_axis_is_noted(void **state)
{
    (void)state;
    Opened opened = open_session("tiny-gpt", "batch=8,seq=16", "pp=2,tp=4", "megatron");
    assert_non_null(opened.session);
    const Finding *note = find_note(opened.session, "printed");
    assert_non_null(note);
    assert_string_equal(note->text, "megatron.lua does not use the axis pp");
    assert_string_equal(note->file, "./scripts/policies/megatron.lua");
    assert_true(note->line > 0);
    assert_int_equal(opened.session->notes.n, 2 + 6); /* no dp; the table of what was found */
    close_session(&opened);
}

static Name policy_names[] = {{"dp"}, {"tp"}, {"megatron"}, {"fsdp"}};

static void no_axis_of_a_policy_is_an_error(void **state)
{
    const Name *it = *state;
    Opened opened = open_session("tiny-gpt", "batch=8,seq=16", "x=1", it->name);
    assert_null(opened.session);
    assert_int_equal(opened.err.kind, ERROR_SCRIPT);
    assert_non_null(strstr(opened.err.text, "and the mesh has n"));
    assert_true(opened.err.line > 0);
    close_session(&opened);
}

static void a_batch_of_one_stays_whole(void **state)
{
    (void)state;
    Opened opened = open_session("tiny-gpt", "batch=1,seq=16", "dp=2", "dp");
    assert_non_null(opened.session);
    assert_int_equal(opened.session->journal.n_done, 0);
    assert_non_null(find_note(opened.session, "printed"));
    close_session(&opened);
}

/* The policies of tests/lua: good ones decide something, bad ones are an error with its place. */
typedef struct {
    const char *name;
    int line; /* of the error; 0: none */
    const char *text;
} FileRow;

static FileRow file_rows[] = {
    {"nnscaler", 0, NULL},
    {"bad_syntax", 4, "syntax error near 'shard'"},
    {"bad_runtime", 3, "attempt to index a nil value (field 'cuts'); called from line 8 in PAS"},
    {"bad_loop", 5, "stopped after 50 million instructions"},
    {"bad_memory", 4, "resulting string too large"},
    {"bad_axis", 4, "this mesh has no axis 'pp'"},
    {"bad_dim", 5, "no dim 2"},
    {"bad_divide", 6, "does not divide"},
    {"missing", 0, ""},
};

static void policy_file(void **state)
{
    const FileRow *row = *state;
    char path[64];
    snprintf(path, sizeof path, "tests/lua/%s.lua", row->name);
    Opened opened = open_session("tiny-gpt", "batch=8,seq=16", "dp=2,tp=4", path);
    if (!row->text) {
        assert_non_null(opened.session);
        assert_true(opened.session->journal.n_done > 0);
    } else {
        assert_null(opened.session);
        assert_int_equal(opened.err.kind, row->line > 0 ? ERROR_SCRIPT : ERROR_UNREADABLE);
        assert_int_equal(opened.err.line, row->line);
        assert_string_equal(opened.err.file, path);
        if (!strstr(opened.err.text, row->text))
            fail_msg("%s", opened.err.text);
    }
    close_session(&opened);
}

static void write_file(const char *path, const char *text)
{
    Error err = {0};
    assert_true(file_write(path, str_from(text), &err));
}

static void a_changed_file_counts_when_run_again(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_script_files_again_%d.lua", (int)getpid());
    write_file(path, PAS("graph:shard('*.c_fc.weight', {n = 'tp'})"));
    Opened opened = open_session("tiny-gpt", "batch=8,seq=16", "dp=2,tp=4", path);
    assert_non_null(opened.session);
    assert_int_equal(opened.session->journal.n_done, 2);

    write_file(path, "syntax error here");
    assert_false(session_rerun_policy(opened.session, &opened.err));
    assert_int_equal(opened.err.kind, ERROR_SCRIPT);
    assert_int_equal(opened.session->journal.n_done, 2);

    Error err = {0};
    write_file(path, PAS("graph:shard('*.c_fc.weight', {k = 'tp'})\nprint('again')\n"
                         "graph:shard('input_ids', {[0] = 'dp'})"));
    assert_true(session_rerun_policy(opened.session, &err));
    assert_int_equal(opened.session->journal.n_done, 3);
    assert_string_equal(find_note(opened.session, "printed")->text, "again");
    assert_true(session_set_mesh(opened.session, "dp=4,tp=2", &err));
    assert_int_equal(opened.session->journal.n_done, 3);
    unlink(path);
    close_session(&opened);
}

static void registered_operators_outlive_a_rerun(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_script_files_op_%d.lua", (int)getpid());
    static const char op_type[] =
        "register_op(function(inputs) return 'b s d, d^, d^ -> b s d' end,\n"
        "{name = 'LayerNormalization'})\n" PAS("");
    write_file(path, op_type);
    Opened opened = open_session("tiny-gpt", "batch=8,seq=16", "dp=2,tp=4", path);
    Error err = {0};
    assert_non_null(opened.session);
    const Operator *row = registry_find(opened.session->rules.registry, STR("LayerNormalization"));
    assert_string_equal(row->anno->file, path);
    assert_true(session_rerun_policy(opened.session, &err));
    assert_null(find_note(opened.session, "register-op"));

    write_file(path, "register_op('a -> a', {name = 'Other'})\n");
    assert_true(session_rerun_policy(opened.session, &err));
    assert_non_null(find_note(opened.session, "register-op"));
    unlink(path);
    close_session(&opened);
}

static const struct CMUnitTest session_tests[] = {
    cmocka_unit_test(an_unknown_machine_lists_those_there_are),
    cmocka_unit_test(megatron_cuts_the_fused_weight_by_heads),
    cmocka_unit_test(a_missing_axis_is_noted),
    cmocka_unit_test(a_batch_of_one_stays_whole),
    cmocka_unit_test(a_changed_file_counts_when_run_again),
    cmocka_unit_test(registered_operators_outlive_a_rerun),
};

int main(void)
{
    int failed = run_rows("machine", machine_rows, read_machine);
    failed += run_rows("shipped machine", machine_names, shipped_machine);
    failed += cmocka_run_group_tests(session_tests, NULL, NULL);
    failed += run_rows("shipped policy", plan_rows, shipped_policy);
    failed += run_rows("no axis", policy_names, no_axis_of_a_policy_is_an_error);
    return failed + run_rows("policy file", file_rows, policy_file);
}
