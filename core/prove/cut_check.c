#include "core/prove/cut_check.h"

#include "core/summary/decision_lua.h"
#include "core/session/make.h"

typedef struct {
    Arena *arena;
    const Session *session;
    RunTest *test;
    const char *data_set;
    const RunOptions *options;
    CutProof proof;
} CutCheck;

double run_largest_error(const RunReport *report)
{
    double largest = 0;
    for (int i = 0; i < report->n_outputs; i++)
        largest = report->outputs[i].max_abs > largest ? report->outputs[i].max_abs : largest;
    return largest;
}

/* ---- one plan ---- */

static void say_decisions(CutCheck *check, const Decision *decisions, int n)
{
    Buf text = buf_new(check->arena);
    for (int i = 0; i < n; i++) {
        buf_puts(&text, i > 0 ? "; " : "");
        decision_lua(check->session, &decisions[i], &text);
    }
    check->proof.line = text.s;
}

/* False with *err: the plan is illegal, or does not shard the op as decided. */
static bool follows(const Plan *plan, const Decision *decisions, int n, Error *err)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (plan->findings.at[i].level == LEVEL_ERROR)
            return error_kind(err, ERROR_INVALID, "%s", plan->findings.at[i].text);
    for (int i = 0; i < n; i++) {
        const Decision *decision = &decisions[i];
        const OpCut *cut = program_cut(plan, decision->place);
        if (!cut_equal(&cut->index[decision->dim], decision->cut))
            return error_kind(err, ERROR_INVALID, "the plan does not shard '%s' as decided",
                              op_name(plan->inferred->graph, decision->place));
    }
    return true;
}

/* False when it fails; the proof says where. */
static bool try_decisions(CutCheck *check, const Decision *decisions, int n)
{
    CutProof *proof = &check->proof;
    const Session *session = check->session;
    Arena *scratch = arena_new();
    Journal journal = session_journal_with(session, scratch, decisions, n);
    PlanRequest request = session_request(session, &journal);
    Plan *plan = plan_make(&request, &proof->err);
    bool ran = plan && follows(plan, decisions, n, &proof->err) &&
               check->test(check->arena, plan, check->data_set, check->options, &proof->report,
                           &proof->err);
    plan_free(plan);
    arena_free(scratch);
    proof->n_cuts++;
    if (ran && run_largest_error(&proof->report) > proof->max_abs)
        proof->max_abs = run_largest_error(&proof->report);
    if (ran && proof->report.ok)
        return true;
    say_decisions(check, decisions, n);
    return false;
}

/* ---- all cuts of an op ---- */

static Decision cut_of(const CutCheck *check, int32_t op, int index, AtomSet atoms)
{
    const Mesh *mesh = check->session->mesh;
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            atom[n++] = (uint8_t)a;
    Cut *cut = arena_make(check->arena, Cut);
    *cut = cut_by(program_space(check->session->inferred, op)->index[index].size, atom, n, mesh);
    return (Decision){.kind = PIN_INDEX_DIM,
                      .place = op,
                      .dim = index,
                      .cut = cut,
                      .origin = {.kind = ORIGIN_SEARCH, .file = "", .text = ""}};
}

static bool may_cut(const OpSpace *space, int index)
{
    return space->index[index].role != ROLE_FROZEN;
}

/* By each axis, then by each pair. */
static bool try_index(CutCheck *check, int32_t op, int index)
{
    const Mesh *mesh = check->session->mesh;
    for (int a = 0; a < mesh->n_axes; a++)
        for (int b = a; b < mesh->n_axes; b++) {
            AtomSet first = mesh_axis_atoms(mesh, a), second = mesh_axis_atoms(mesh, b);
            Decision one = cut_of(check, op, index, first | second);
            if (first && second && !try_decisions(check, &one, 1))
                return false;
        }
    return true;
}

static bool try_pair(CutCheck *check, int32_t op, int first, int second)
{
    const Mesh *mesh = check->session->mesh;
    for (int a = 0; a + 1 < mesh->n_axes; a++) {
        AtomSet one = mesh_axis_atoms(mesh, a), other = mesh_axis_atoms(mesh, a + 1);
        const Decision both[] = {cut_of(check, op, first, one), cut_of(check, op, second, other)};
        if (one && other && !try_decisions(check, both, 2))
            return false;
    }
    return true;
}

static bool try_op(CutCheck *check, int32_t op)
{
    const OpSpace *space = program_space(check->session->inferred, op);
    for (int i = 0; i < space->n_index; i++)
        if (may_cut(space, i) && !try_index(check, op, i))
            return false;
    for (int i = 0; i < space->n_index; i++)
        for (int j = 0; j < space->n_index; j++)
            if (i != j && may_cut(space, i) && may_cut(space, j) && !try_pair(check, op, i, j))
                return false;
    return true;
}

CutProof cut_check(Arena *arena, const Session *session, RunTest *test, const char *data_set,
                   const RunOptions *options)
{
    CutCheck check = {arena, session, test, data_set, options, .proof = {0}};
    const Inferred *inferred =
        session->inferred->forward ? session->inferred->forward : session->inferred;
    bool *seen = arena_array(arena, bool, inferred->n_spaces);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        bool again = seen[inferred->space[op]];
        seen[inferred->space[op]] = true;
        if (!again && !try_op(&check, op))
            break;
    }
    return check.proof;
}
