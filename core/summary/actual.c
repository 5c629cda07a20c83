#include "core/summary/actual.h"

#include "core/base/units.h"
#include "core/cost/gradient_reduces.h"
#include "core/cost/op_declared.h"
#include "core/cost/step_comm.h"
#include "core/plan/json_forms.h"
#include "core/summary/comm.h"
#include "core/summary/diff.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what is planned ---- */

/* What a job runs as a collective of a process group. */
static bool is_collective(StepKind kind)
{
    return kind == STEP_ALL_REDUCE || kind == STEP_ALL_GATHER || kind == STEP_REDUCE_SCATTER ||
           kind == STEP_ALL_TO_ALL || kind == STEP_BROADCAST;
}

static void plan_reshard(Arena *arena, Actual *actual, int32_t id)
{
    enum { TIMES_MAX = 1 << 16 };
    const Plan *plan = actual->session->plan;
    const Reshard *reshard = &plan->moved->reshards[id];
    double times = reshard_step_times(plan, reshard);
    int n = times < TIMES_MAX ? (int)times : TIMES_MAX;
    for (int t = 0; t < n; t++)
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            ActualPlanned planned = {id, -1, s, step->kind, step->atoms, step->bytes, step->us, -1};
            if (is_collective(step->kind))
                vec_push(arena, &actual->planned, planned);
        }
}

static void plan_declared(Arena *arena, Actual *actual, int32_t op)
{
    const OpDeclared *declared = op_declared(actual->session->plan, op);
    for (int i = 0; declared && i < declared->n_comms; i++) {
        const OpComm *comm = &declared->comm[i];
        ActualPlanned planned = {-1, op, i, comm->kind, comm->atoms, comm->bytes, comm->price.us,
                                 -1};
        if (is_collective(comm->kind))
            vec_push(arena, &actual->planned, planned);
    }
}

static void list_planned(Arena *arena, Actual *actual)
{
    const Plan *plan = actual->session->plan;
    for (int i = 0; i < plan->moved->n_reshards; i++)
        plan_reshard(arena, actual, i);
    for (int i = 0; i < plan->inferred->n_program; i++)
        plan_declared(arena, actual, plan->inferred->program[i]);
}

/* ---- buckets: one kind and group ---- */

typedef struct {
    Arena *arena, *scratch;
    Actual *actual;
    int *group_of_planned; /* in the trace's groups; -1: no such group ran anything */
    int *partner;          /* per planned: the row that has it; -1 */
    bool *used;            /* per ran */
} Matching;

/* The group of the trace's rank over these atoms among those of the trace; -1. */
static int group_over(const Matching *m, AtomSet atoms)
{
    const Mesh *mesh = m->actual->session->mesh;
    const ActualTrace *trace = m->actual->trace;
    int64_t n = mesh_atoms_size(mesh, atoms), position = 0;
    while (position < mesh->n_devices && mesh_device(mesh, position) != trace->rank)
        position++;
    if (position == mesh->n_devices)
        position = 0;
    int64_t base = position;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            base -= mesh_atom_coord(mesh, a, position) * mesh->atoms[a].stride;
    for (int g = 0; g < trace->groups.n; g++) {
        bool all = trace->groups.at[g].n == n;
        for (int64_t i = 0; i < n && all; i++) {
            int64_t device = mesh_device(mesh, mesh_group_member(mesh, atoms, base, i));
            bool found = false;
            for (int k = 0; k < trace->groups.at[g].n; k++)
                found |= trace->groups.at[g].rank[k] == device;
            all = found;
        }
        if (all)
            return g;
    }
    return -1;
}

static void find_groups(Matching *m)
{
    AtomSet known[ATOMS_MAX * ATOMS_MAX];
    int group[ATOMS_MAX * ATOMS_MAX], n = 0;
    for (int i = 0; i < m->actual->planned.n; i++) {
        AtomSet atoms = m->actual->planned.at[i].atoms;
        int k = 0;
        while (k < n && known[k] != atoms)
            k++;
        if (k == n) {
            n += n < ATOMS_MAX * ATOMS_MAX - 1;
            known[k] = atoms;
            group[k] = group_over(m, atoms);
        }
        m->group_of_planned[i] = group[k];
    }
}

/* A row for what ran and the planned ones `from` to the end of their links. */
static void add_row(Matching *m, ActualState state, int planned, int ran)
{
    Actual *actual = m->actual;
    ActualRow row = {.state = state, .planned = planned, .ran = ran};
    for (int p = planned; p >= 0; p = actual->planned.at[p].next) {
        row.n_planned++;
        row.predicted_us += actual->planned.at[p].us;
        m->partner[p] = actual->rows.n;
    }
    if (ran >= 0)
        m->used[ran] = true;
    vec_push(m->arena, &actual->rows, row);
}

/* ---- matching ---- */

typedef struct {
    int64_t bytes;
    int place;
} Sized;

static int by_size(const void *a, const void *b)
{
    const Sized *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes ? 1 : x->place - y->place;
}

/* The n-th of a size with the n-th of that size. */
static void match_sizes(Matching *m, const int *planned, int n, const int *ran, int n_ran)
{
    Sized *want = arena_array(m->scratch, Sized, n + 1);
    Sized *have = arena_array(m->scratch, Sized, n_ran + 1);
    for (int i = 0; i < n; i++)
        want[i] = (Sized){m->actual->planned.at[planned[i]].bytes, planned[i]};
    for (int j = 0; j < n_ran; j++)
        have[j] = (Sized){m->actual->trace->ran.at[ran[j]].bytes, ran[j]};
    qsort(want, (size_t)n, sizeof *want, by_size);
    qsort(have, (size_t)n_ran, sizeof *have, by_size);
    for (int i = 0, j = 0; i < n && j < n_ran;) {
        if (want[i].bytes == have[j].bytes)
            add_row(m, ACTUAL_MATCHED, want[i].place, have[j].place);
        bool both = want[i].bytes == have[j].bytes, less = want[i].bytes < have[j].bytes;
        i += both || less;
        j += both || !less;
    }
}

static bool is_of_parameters(const Session *session, int32_t tensor)
{
    return session->graph->tensors[tensor].kind == TENSOR_INITIALIZER ||
           gradient_is_of_parameters(session->plan, tensor);
}

/* "model.layers.0" of what is inside of a numbered module; "" of the others. */
static Str unit_of(const Matching *m, int planned)
{
    int32_t id = m->actual->planned.at[planned].reshard;
    const Plan *plan = m->actual->session->plan;
    Str name = str_from(
        id < 0 ? "" : tensor_name(m->actual->session->graph, plan->moved->reshards[id].tensor));
    for (size_t i = 0, start = 0; i < name.n; i++) {
        if (name.s[i] != '.')
            continue;
        int64_t number;
        if (i > start && str_to_int((Str){name.s + start, i - start}, &number))
            return (Str){name.s, i};
        start = i + 1;
    }
    return STR("");
}

static int32_t tensor_of(const Matching *m, int planned)
{
    int32_t id = m->actual->planned.at[planned].reshard;
    return id < 0 ? -1 : m->actual->session->plan->moved->reshards[id].tensor;
}

/* Whether a tensor is among those linked from `first` on: one bucket has it once, and the backward
 * pass gathers it again. */
static bool is_linked(const Matching *m, int first, int planned)
{
    int32_t tensor = tensor_of(m, planned);
    for (int i = first; i >= 0; i = m->actual->planned.at[i].next)
        if (tensor_of(m, i) == tensor)
            return true;
    return false;
}

/* Links those that are left and have the unit (whole: any, while there is room), if they fill so
 * many bytes but for padding; the first of them, or -1. */
static int link_together(Matching *m, const int *left, int n, Str unit, bool any, int64_t bytes)
{
    int64_t sum = 0;
    int first = -1, last = -1, count = 0;
    ActualPlanned *planned = m->actual->planned.at;
    for (int i = 0; i < n; i++) {
        if (m->partner[left[i]] >= 0 || (any && sum + planned[left[i]].bytes > bytes) ||
            (!any && !str_eq(unit_of(m, left[i]), unit)) || is_linked(m, first, left[i]))
            continue;
        sum += planned[left[i]].bytes;
        *(first < 0 ? &first : &planned[last].next) = left[i];
        last = left[i];
        count++;
    }
    if (count > 1 && sum <= bytes && (double)sum >= 0.95 * (double)bytes)
        return first;
    for (int i = 0; i < n; i++)
        if (m->partner[left[i]] < 0)
            planned[left[i]].next = -1;
    return -1;
}

/* Parameters of a layer, or of none, or as many in a row as there is room for. */
static void match_together(Matching *m, const int *planned, int n, int ran)
{
    int64_t bytes = m->actual->trace->ran.at[ran].bytes;
    const Plan *plan = m->actual->session->plan;
    int *left = arena_array(m->scratch, int, n + 1), n_left = 0, first = -1;
    for (int i = 0; i < n; i++) {
        int32_t id = m->actual->planned.at[planned[i]].reshard;
        if (m->partner[planned[i]] < 0 && id >= 0 &&
            is_of_parameters(m->actual->session, plan->moved->reshards[id].tensor))
            left[n_left++] = planned[i];
    }
    Str done = {NULL, 0};
    for (int i = 0; i < n_left && first < 0; i++) {
        Str unit = unit_of(m, left[i]);
        if (!done.s || !str_eq(unit, done))
            first = link_together(m, left, n_left, unit, false, bytes);
        done = unit;
    }
    if (first < 0)
        first = link_together(m, left, n_left, STR(""), true, bytes);
    if (first >= 0)
        add_row(m, ACTUAL_MATCHED, first, ran);
}

static void match_bucket(Matching *m, const int *planned, int n, const int *ran, int n_ran)
{
    int i = 0, j = 0;
    match_sizes(m, planned, n, ran, n_ran);
    for (int k = 0; k < n_ran; k++)
        if (!m->used[ran[k]] && m->actual->trace->ran.at[ran[k]].bytes >= 0)
            match_together(m, planned, n, ran[k]);
    for (;; i++, j++) {
        while (i < n && m->partner[planned[i]] >= 0)
            i++;
        while (j < n_ran && m->used[ran[j]])
            j++;
        if (i == n || j == n_ran)
            break;
        add_row(m, ACTUAL_MATCHED, planned[i], ran[j]);
    }
}

/* One kind, in one group of those that the trace has (-1: planned in none of them, or not said). */
static void match_kind(Matching *m, StepKind kind, int group, int steps)
{
    const Actual *actual = m->actual;
    bool known = actual->trace->knows_groups;
    int *planned = arena_array(m->scratch, int, actual->planned.n + 1), n = 0;
    int *ran = arena_array(m->scratch, int, actual->trace->ran.n + 1), n_ran = 0;
    for (int i = 0; i < actual->planned.n; i++)
        if (actual->planned.at[i].kind == kind && (!known || m->group_of_planned[i] == group))
            planned[n++] = i;
    for (int j = 0; j < actual->trace->ran.n; j++)
        if (actual->trace->ran.at[j].kind == kind &&
            (!known || actual->trace->ran.at[j].group == group))
            ran[n_ran++] = j;
    int skipped = n_ran - n_ran / steps; /* earlier steps */
    for (int j = 0; j < skipped; j++)
        m->used[ran[j]] = true;
    match_bucket(m, planned, n, ran + skipped, n_ran - skipped);
}

/* ---- the whole ---- */

static int by_row(const void *a, const void *b)
{
    static const int order[] = {[ACTUAL_MISSING] = 0, [ACTUAL_UNPLANNED] = 1, [ACTUAL_MATCHED] = 2};
    const ActualRow *x = a, *y = b;
    if (x->state != y->state)
        return order[x->state] - order[y->state];
    return x->planned != y->planned ? x->planned - y->planned : x->ran - y->ran;
}

static void judge(Actual *actual, double slow)
{
    for (int i = 0; i < actual->rows.n; i++) {
        ActualRow *row = &actual->rows.at[i];
        const ActualRan *ran = row->ran < 0 ? NULL : &actual->trace->ran.at[row->ran];
        actual->n_missing += row->state == ACTUAL_MISSING;
        actual->n_unplanned += row->state == ACTUAL_UNPLANNED;
        actual->n_hanging += ran && ran->hangs;
        if (row->state != ACTUAL_MATCHED || !ran)
            continue;
        row->other_bytes = row->n_planned == 1 && ran->bytes >= 0 &&
                           ran->bytes != actual->planned.at[row->planned].bytes;
        row->slow = ran->us >= 0 && ran->us > slow * row->predicted_us;
        actual->n_slow += row->slow;
        actual->n_other_bytes += row->other_bytes;
    }
    if (actual->rows.n > 0)
        qsort(actual->rows.at, (size_t)actual->rows.n, sizeof *actual->rows.at, by_row);
}

Actual *actual_compare(Arena *arena, const Session *session, const ActualTrace *trace, double slow,
                       int steps)
{
    Arena *scratch = arena_new();
    Actual *actual = arena_make(arena, Actual);
    actual->session = session;
    actual->trace = trace;
    list_planned(arena, actual);
    Matching m = {arena,
                  scratch,
                  actual,
                  arena_array(scratch, int, actual->planned.n + 1),
                  arena_array(scratch, int, actual->planned.n + 1),
                  arena_array(scratch, bool, trace->ran.n + 1)};
    for (int i = 0; i < actual->planned.n; i++)
        m.partner[i] = -1;
    find_groups(&m);
    for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
        for (int g = trace->knows_groups ? -1 : trace->groups.n - 1; g < trace->groups.n; g++)
            if (is_collective(kind))
                match_kind(&m, kind, g, steps > 0 ? steps : 1);
    for (int i = 0; i < actual->planned.n; i++)
        if (m.partner[i] < 0)
            add_row(&m, ACTUAL_MISSING, i, -1);
    for (int j = 0; j < trace->ran.n; j++)
        if (!m.used[j])
            add_row(&m, ACTUAL_UNPLANNED, -1, j);
    judge(actual, slow);
    arena_free(scratch);
    return actual;
}

double *actual_reshard_us(Arena *arena, const Actual *actual)
{
    int n = actual->session->plan->moved->n_reshards;
    double *out = arena_array(arena, double, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = -1;
    for (int i = 0; i < actual->rows.n; i++) {
        const ActualRow *row = &actual->rows.at[i];
        double us = row->ran < 0 ? -1 : actual->trace->ran.at[row->ran].us;
        for (int p = row->planned; p >= 0 && us >= 0; p = actual->planned.at[p].next) {
            int32_t id = actual->planned.at[p].reshard;
            if (id >= 0)
                out[id] = (out[id] < 0 ? 0 : out[id]) + us / row->n_planned;
        }
    }
    return out;
}

/* ---- as text ---- */

static void put_axes(const Actual *actual, AtomSet atoms, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    const Mesh *mesh = actual->session->mesh;
    mesh_format_atoms(mesh, atom, mesh_list_set(mesh, atoms, atom), ",", out);
}

static void put_cause(const Actual *actual, const ActualPlanned *planned, Buf *out)
{
    const Session *session = actual->session;
    const Plan *plan = session->plan;
    if (planned->op >= 0) {
        buf_printf(out, ", declared by %s", op_name(session->graph, planned->op));
        return;
    }
    const Reshard *reshard = &plan->moved->reshards[planned->reshard];
    buf_puts(out, ", ");
    sharding_format(shardings_at(plan->shardings, reshard->from), session->mesh, VIEW_OURS, out,
                    NULL);
    buf_puts(out, " -> ");
    sharding_format(shardings_at(plan->shardings, reshard->to), session->mesh, VIEW_OURS, out,
                    NULL);
    buf_puts(out, ", for ");
    for (int u = 0; u < reshard->n_uses && u < 2; u++)
        buf_printf(out, "%s%s", u ? ", " : "",
                   op_name(session->graph, plan->moved->reshard_uses[reshard->use + u]));
    buf_puts(out, reshard->n_uses == 0 ? "a pin" : "");
    const Decision *decision = comm_cause(out->arena, session, reshard);
    if (decision) {
        buf_puts(out, "; by ");
        decision_format(session, decision, out);
    }
}

static void put_group(const Actual *actual, const ActualRan *ran, Buf *out)
{
    if (ran->group < 0)
        return;
    const ActualGroup *group = &actual->trace->groups.at[ran->group];
    buf_puts(out, " on ranks ");
    for (int i = 0; i < group->n && i < 8; i++)
        buf_printf(out, "%s%d", i ? "," : "", group->rank[i]);
    buf_puts(out, group->n > 8 ? ",.." : "");
}

/* "all_gather over dp of h.0.mlp.w and 3 more, 64/dp,8 -> 64,8, for h.0/MatMul" */
/* Whether what is missing moved earlier in the step: the job kept the result, which the plan drops
 * and makes again. */
static bool is_kept(const Actual *actual, const ActualRow *missing)
{
    const ActualPlanned *wanted = &actual->planned.at[missing->planned];
    const Reshard *reshards = actual->session->plan->moved->reshards;
    if (missing->state != ACTUAL_MISSING || wanted->reshard < 0)
        return false;
    for (int i = 0; i < actual->rows.n; i++) {
        const ActualRow *row = &actual->rows.at[i];
        for (int p = row->planned; row->state == ACTUAL_MATCHED && p >= 0;
             p = actual->planned.at[p].next) {
            const ActualPlanned *ran = &actual->planned.at[p];
            if (p < missing->planned && ran->kind == wanted->kind && ran->reshard >= 0 &&
                reshards[ran->reshard].tensor == reshards[wanted->reshard].tensor)
                return true;
        }
    }
    return false;
}

static void format_row(const Actual *actual, const ActualRow *row, Buf *out)
{
    if (row->planned < 0) {
        const ActualRan *ran = &actual->trace->ran.at[row->ran];
        buf_puts(out, step_kind_name(ran->kind));
        if (ran->bytes >= 0)
            buf_printf(out, " of %" PRId64 " bytes", ran->bytes);
        put_group(actual, ran, out);
        return;
    }
    const ActualPlanned *first = &actual->planned.at[row->planned];
    const Plan *plan = actual->session->plan;
    buf_printf(out, "%s over ", step_kind_name(first->kind));
    put_axes(actual, first->atoms, out);
    if (first->reshard >= 0)
        buf_printf(
            out, " of %s",
            tensor_name(actual->session->graph, plan->moved->reshards[first->reshard].tensor));
    if (row->n_planned > 1)
        buf_printf(out, " and %d more", row->n_planned - 1);
    put_cause(actual, first, out);
    buf_puts(out, is_kept(actual, row) ? "; the job kept what it moved before" : "");
}

static void put_measured(const Actual *actual, const ActualRow *row, Buf *out)
{
    const ActualRan *ran = &actual->trace->ran.at[row->ran];
    if (row->slow) {
        buf_puts(out, "slow: ");
        units_format_us(ran->us, out);
        buf_puts(out, ", ");
        units_format_us(row->predicted_us, out);
        buf_puts(out, " predicted: ");
    }
    if (row->other_bytes)
        buf_printf(out, "other bytes: %" PRId64 ", %" PRId64 " planned: ", ran->bytes,
                   actual->planned.at[row->planned].bytes);
}

void actual_format(const Actual *actual, Buf *out)
{
    static const char *const titles[] = {"", "missing: ", "unplanned: "};
    int n = actual->rows.n - actual->n_missing - actual->n_unplanned;
    buf_printf(out, "rank %" PRId64 ": %d collective%s ran as planned, %d missing, %d unplanned\n",
               actual->trace->rank, n, n == 1 ? "" : "s", actual->n_missing, actual->n_unplanned);
    for (int i = 0; i < actual->rows.n; i++) {
        const ActualRow *row = &actual->rows.at[i];
        bool hangs = row->ran >= 0 && actual->trace->ran.at[row->ran].hangs;
        if (row->state == ACTUAL_MATCHED && !row->slow && !row->other_bytes && !hangs)
            continue;
        buf_puts(out, titles[row->state]);
        buf_puts(out, hangs ? "not finished: " : "");
        if (row->state == ACTUAL_MATCHED)
            put_measured(actual, row, out);
        format_row(actual, row, out);
        buf_putc(out, '\n');
    }
}

/* ---- as JSON ---- */

static Json *planned_json(const Actual *actual, const ActualPlanned *planned)
{
    const Plan *plan = actual->session->plan;
    uint8_t atom[ATOMS_MAX];
    const Mesh *mesh = actual->session->mesh;
    Json *out = json_object();
    int32_t tensor = planned->reshard < 0 ? -1 : plan->moved->reshards[planned->reshard].tensor;
    json_set_str(out, "kind", step_kind_name(planned->kind));
    json_set(out, "axes", json_of_atoms(atom, mesh_list_set(mesh, planned->atoms, atom), mesh));
    json_set_str(out, "tensor", tensor < 0 ? "" : tensor_name(actual->session->graph, tensor));
    json_set_int(out, "bytes", planned->bytes);
    json_set_real(out, "us", planned->us);
    return out;
}

static Json *ran_json(const Actual *actual, const ActualRan *ran)
{
    Json *out = json_object();
    json_set_str(out, "kind", step_kind_name(ran->kind));
    json_set(out, "bytes", ran->bytes < 0 ? json_null() : json_from_int(ran->bytes));
    json_set(out, "us", ran->us < 0 ? json_null() : json_from_real(ran->us));
    Json *ranks = ran->group < 0 ? json_null() : json_array();
    for (int i = 0; ran->group >= 0 && i < actual->trace->groups.at[ran->group].n; i++)
        json_add(ranks, json_from_int(actual->trace->groups.at[ran->group].rank[i]));
    json_set(out, "ranks", ranks);
    json_set_bool(out, "finished", !ran->hangs);
    return out;
}

Json *actual_json(const Actual *actual)
{
    static const char *const states[] = {"matched", "missing", "unplanned"};
    Arena *scratch = arena_new();
    Json *out = json_object(), *rows = json_array();
    json_set_int(out, "rank", actual->trace->rank);
    json_set_int(out, "missing", actual->n_missing);
    json_set_int(out, "unplanned", actual->n_unplanned);
    json_set_int(out, "slow", actual->n_slow);
    json_set_int(out, "other_bytes", actual->n_other_bytes);
    json_set_int(out, "not_finished", actual->n_hanging);
    for (int i = 0; i < actual->rows.n; i++) {
        const ActualRow *row = &actual->rows.at[i];
        Json *at = json_object(), *planned = json_array();
        Buf text = buf_new(scratch);
        format_row(actual, row, &text);
        json_set_str(at, "state", states[row->state]);
        json_set(at, "what", json_from_str(buf_str(&text)));
        for (int p = row->planned; p >= 0; p = actual->planned.at[p].next)
            json_add(planned, planned_json(actual, &actual->planned.at[p]));
        json_set(at, "planned", planned);
        json_set(at, "ran",
                 row->ran < 0 ? json_null() : ran_json(actual, &actual->trace->ran.at[row->ran]));
        json_set_real(at, "predicted_us", row->predicted_us);
        json_set_bool(at, "slow", row->slow);
        json_set_bool(at, "other_bytes", row->other_bytes);
        json_add(rows, at);
    }
    json_set(out, "rows", rows);
    arena_free(scratch);
    return out;
}
