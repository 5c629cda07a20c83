/* nnScaler's policies in Lua (samples/policies/nnscaler_*.lua) beside nnScaler itself.
 *
 * tests/lua/nnscaler/MODEL.POLICY has what nnScaler 0.9 did with a graph of the same ops: of each
 * op its name, the (idx.dim) it was partitioned along, "-" where it was replicated, and the devices
 * of its sub-nodes in order. The graph was made from the annotations of our ops; those with dims
 * that an annotation cannot say (concatenated, sliced) were frozen there.
 */
#include "tests/unit/unit.h"

#include "core/session/session.h"
#include "scripts/hooks.h"

#include <inttypes.h>

typedef struct {
    const char *name, *model, *policy, *mesh, *truth;
} TwinRow;

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Opened;

static Opened open_twin(const TwinRow *row)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = row->mesh};
    options.model = arena_printf(opened.arena, "samples/models/%s.onnx", row->model);
    options.policy = arena_printf(opened.arena, "samples/policies/nnscaler_%s.lua", row->policy);
    Error err = {0};
    opened.session = session_open(&options, &hooks, &err);
    if (!opened.session)
        fail_msg("%d: %s [%s]", err.line, err.text, err.hint);
    return opened;
}

static void close_twin(Opened *opened)
{
    session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

/* "0.1": the first place of the index dim that the op's pins cut; "-": none. */
static const char *cut_of(const Opened *opened, int32_t op)
{
    const Session *session = opened->session;
    const OpSpace *space = inferred_space(session->inferred, op);
    int index = -1;
    for (int i = 0; i < session->journal.n_done; i++) {
        const Decision *it = &session->journal.decisions.at[i];
        if (it->kind == PIN_INDEX_DIM && it->place == op && cut_atoms(decision_cut(it)))
            index = it->dim;
    }
    for (int i = 0; index >= 0 && i < space->n_inputs; i++)
        for (int d = 0; d < space->operand[i].projection.n_dims; d++)
            if (space->operand[i].factors[d].n > 0 &&
                space->operand[i].factors[d].index[0] == index)
                return arena_printf(opened->arena, "%d.%d", i, d);
    return "-";
}

/* "0,1": of the part of the mesh that the op was assigned to. */
static const char *devices_of(const Opened *opened, int32_t op)
{
    const Session *session = opened->session;
    SubMesh sub = {0};
    for (int i = 0; i < session->journal.n_done; i++) {
        const Decision *it = &session->journal.decisions.at[i];
        if (it->kind == PIN_DEVICES && it->place <= op && op <= it->last)
            sub = it->devices;
    }
    Buf text = buf_new(opened->arena);
    for (int64_t i = 0; i < submesh_size(session->mesh, sub); i++)
        buf_printf(&text, "%s%" PRId64, i ? "," : "", submesh_position(session->mesh, sub, i));
    return text.s;
}

static void compare(const Opened *opened, Str line, int *n_bad)
{
    Str op = str_take(&line, ' '), cut = str_take(&line, ' ');
    int32_t id = graph_find_op(opened->session->graph, op);
    assert_true(id >= 0);
    const char *our_cut = cut_of(opened, id), *our_devices = devices_of(opened, id);
    if (str_eq(cut, str_from(our_cut)) && str_eq(line, str_from(our_devices)))
        return;
    if ((*n_bad)++ < 8)
        print_error("%.*s: %s on %s, nnScaler %.*s on %.*s\n", STR_ARG(op), our_cut, our_devices,
                    STR_ARG(cut), STR_ARG(line));
}

static void plans_as_nnscaler_does(void **state)
{
    const TwinRow *row = *state;
    Opened opened = open_twin(row);
    Source truth;
    Error err = {0};
    int n = 0, n_bad = 0;
    const char *path = arena_printf(opened.arena, "tests/lua/nnscaler/%s", row->truth);
    assert_true(file_read(opened.arena, path, 1 << 20, &truth, &err));
    for (Str rest = truth.text; rest.n > 0; n++)
        compare(&opened, str_take(&rest, '\n'), &n_bad);
    assert_int_equal(n, opened.session->inferred->n_program);
    assert_int_equal(n_bad, 0);
    close_twin(&opened);
}

static TwinRow twin_rows[] = {
    {"tiny_gpt_data", "tiny-gpt", "data", "tp=2", "tiny-gpt.data"},
    {"tiny_gpt_tp", "tiny-gpt", "tp", "tp=2", "tiny-gpt.tp"},
    {"tiny_gpt_hybrid", "tiny-gpt", "hybrid", "pp=2,tp=2", "tiny-gpt.hybrid"},
    {"tiny_gpt_hybrid_of_one_axis", "tiny-gpt", "hybrid", "pp=2,x=2", "tiny-gpt.hybrid"},
    {"llama_tiny_data", "llama-tiny", "data", "tp=2", "llama-tiny.data"},
    {"gpt2_data", "gpt2", "data", "dp=2,tp=2", "gpt2.data"},
    {"gpt2_tp", "gpt2", "tp", "dp=2,tp=2", "gpt2.tp"},
    {"gpt2_hybrid", "gpt2", "hybrid", "pp=2,tp=2", "gpt2.hybrid"},
    {"tiny_gpt_pp", "tiny-gpt", "pp", "pp=4", "tiny-gpt.pp"},
};

/* ---- those without partitions ---- */

static int count_kind(const Session *session, DecisionKind kind)
{
    int n = 0;
    for (int i = 0; i < session->journal.n_done; i++)
        n += session->journal.decisions.at[i].kind == kind;
    return n;
}

typedef struct {
    const char *name;
    TwinRow twin;
    int n_stages, n_groups;
    const char *schedule;
} ShapeRow;

static ShapeRow shape_rows[] = {
    {"pp", {"", "tiny-gpt", "pp", "pp=4", ""}, 4, 0, "1f1b"},
    {"megatron", {"", "tiny-gpt", "megatron", "pp=2,tp=2", ""}, 2, 0, "1f1b"},
    {"megatron_of_one_stage", {"", "tiny-gpt", "megatron", "tp=2", ""}, 1, 0, NULL},
    {"fsdp", {"", "tiny-gpt", "fsdp", "x=1", ""}, 0, 2, NULL},
    {"dp", {"", "tiny-gpt", "dp", "dp=2", ""}, 0, 0, NULL},
};

static void has_its_stages(void **state)
{
    const ShapeRow *row = *state;
    Opened opened = open_twin(&row->twin);
    const Session *session = opened.session;
    assert_int_equal(count_kind(session, PIN_STAGE), row->n_stages);
    assert_int_equal(count_kind(session, PIN_RECOMPUTE), row->n_groups);
    assert_int_equal(count_kind(session, PIN_SCHEDULE), row->schedule != NULL);
    assert_true(plan_is_legal(session->plan));
    close_twin(&opened);
}

int main(void)
{
    int failed = run_rows("twin", twin_rows, plans_as_nnscaler_does);
    return failed + run_rows("shape", shape_rows, has_its_stages);
}
