#include "core/summary/comm.h"

#include "core/plan/edges.h"
#include "core/plan/stage.h"
#include "core/cost/cost.h"
#include "core/cost/exposed.h"
#include "core/summary/diff_outline.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"

#include <stdlib.h>

enum { MEMBERS_MAX = 4, DEVICES_LISTED = 16 };

int32_t comm_op(const Session *session, const Reshard *reshard)
{
    return reshard_op(session->plan, reshard);
}

static void index_ops(Comm *comm)
{
    const Plan *plan = comm->session->plan;

    memset(comm->of_op, 0xff, sizeof(int32_t) * (size_t)comm->session->graph->n_ops);
    for (int32_t r = plan->moved->n_reshards - 1; r >= 0; r--) {
        int32_t op = comm_op(comm->session, &plan->moved->reshards[r]);
        comm->at_op[r] = op;
        if (op < 0)
            continue;
        comm->next[r] = comm->of_op[op];
        comm->of_op[op] = r;
    }
}

/* Sums are kept for a place of so many. */
enum { SUM_EVERY = 16 };

static void add_place(const Comm *comm, int32_t place, CommSums *sum)
{
    const Plan *plan = comm->session->plan;
    int32_t op = comm->session->groups->order[place];

    sum->us += plan->priced->op_us[op];
    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r]) {
        double times = reshard_repeat(plan, &plan->moved->reshards[r]);
        sum->comm_us += times * plan->moved->reshards[r].path->us;
        sum->count += plan->moved->reshards[r].path->us > 0 ? times : 0;
    }
}

static void sum_ops(Comm *comm)
{
    int32_t n = comm->session->groups->n_order;
    CommSums sum = {0};

    comm->before = arena_array(comm->arena, CommSums, n / SUM_EVERY + 1);
    for (int32_t i = 0; i < n; i++) {
        if (i % SUM_EVERY == 0)
            comm->before[i / SUM_EVERY] = sum;
        add_place(comm, i, &sum);
    }
    if (n % SUM_EVERY == 0)
        comm->before[n / SUM_EVERY] = sum;
}

static CommSums sum_before(const Comm *comm, int32_t place)
{
    CommSums sum = comm->before[place / SUM_EVERY];

    for (int32_t i = place - place % SUM_EVERY; i < place; i++)
        add_place(comm, i, &sum);
    return sum;
}

CommSums comm_sum(const Comm *comm, int32_t first, int32_t end)
{
    CommSums from = sum_before(comm, first), to = sum_before(comm, end);

    return (CommSums){to.us - from.us, to.comm_us - from.comm_us, to.count - from.count};
}

Comm *comm_new(const Session *session)
{
    Arena *arena = arena_new();
    Comm *comm = arena_make(arena, Comm);
    int n_reshards = session->plan->moved->n_reshards;

    *comm = (Comm){.arena = arena,
                   .session = session,
                   .of_op = arena_array(arena, int32_t, session->graph->n_ops),
                   .next = arena_array(arena, int32_t, n_reshards),
                   .at_op = arena_array(arena, int32_t, n_reshards),
                   .n_rows = -1};
    index_ops(comm);
    sum_ops(comm);
    return comm;
}

void comm_free(Comm *comm)
{
    if (!comm)
        return;
    arena_free(comm->table_arena);
    arena_free(comm->arena);
}

/* The key by which reshards are folded, as bytes: pass, path (one object for equal ones),
 * shardings, count, label. */
static Str alike_key(const Comm *comm, Arena *scratch, const Reshard *reshard, size_t *label_at)
{
    Buf key = buf_new(scratch);
    double times = reshard_repeat(comm->session->plan, reshard);
    CommPass pass = reshard_pass(comm->session->plan, reshard);

    buf_add(&key, (Str){(const char *)&pass, sizeof pass});
    buf_add(&key, (Str){(const char *)&times, sizeof times});
    buf_add(&key, (Str){(const char *)&reshard->path, sizeof reshard->path});
    buf_add(&key, (Str){(const char *)&reshard->from, sizeof reshard->from});
    buf_add(&key, (Str){(const char *)&reshard->to, sizeof reshard->to});
    *label_at = key.n;
    text_wildcard(label_tensor(comm->session, scratch, reshard->tensor), &key);
    return buf_str(&key);
}

enum { LOOK_EVERY = 1024 }; /* reshards between two checks for cancellation */

static bool fold_rows(Comm *comm, Progress *progress)
{
    const Plan *plan = comm->session->plan;
    Arena *scratch = arena_new();
    Intern *keys = intern_new(scratch);
    int32_t *last = arena_array(scratch, int32_t, plan->moved->n_reshards);
    double *exposed_us = arena_array(scratch, double, plan->moved->n_reshards);

    reshards_exposed(plan, exposed_us);
    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        if (r % LOOK_EVERY == 0 && progress_stopped(progress))
            break;
        size_t label_at;
        Str key = alike_key(comm, scratch, &plan->moved->reshards[r], &label_at);
        int32_t row = intern_put(keys, key.s, key.n);
        if (row == comm->n_rows) {
            Str label = {key.s + label_at, key.n - label_at};
            comm->row[comm->n_rows++] =
                (CommRow){.first = r, .label = arena_str(comm->arena, label)};
        } else {
            comm->next_alike[last[row]] = r;
        }
        comm->next_alike[r] = -1;
        last[row] = r;
        comm->row[row].n++;
        double times = reshard_repeat(plan, &plan->moved->reshards[r]);
        comm->row[row].times += times;
        comm->row[row].us += times * plan->moved->reshards[r].path->us;
        comm->row[row].exposed_us += exposed_us[r];
        comm->row[row].pass = reshard_pass(plan, &plan->moved->reshards[r]);
        comm->row[row].step_us +=
            reshard_step_times(plan, &plan->moved->reshards[r]) * plan->moved->reshards[r].path->us;
    }
    arena_free(scratch);
    return !progress_stopped(progress);
}

bool comm_table(Comm *comm, Progress *progress)
{
    int n = comm->session->plan->moved->n_reshards;

    if (comm->n_rows >= 0)
        return true;
    comm->n_rows = 0;
    comm->row = arena_array(comm->arena, CommRow, n);
    comm->row_of = arena_array(comm->arena, int32_t, n);
    comm->next_alike = arena_array(comm->arena, int32_t, n);
    if (!fold_rows(comm, progress))
        return false;
    comm->n_all = comm->n_rows;
    comm->passes = comm_passes(comm->session->plan);
    comm->sort = COMM_SORT_COUNT;
    comm_arrange(comm, COMM_BY_TOTAL, false, NULL, NULL, NULL);
    return true;
}

const StepParts *comm_parts(Comm *comm)
{
    if (comm->parts)
        return comm->parts;
    StepParts *parts = arena_make(comm->arena, StepParts);
    *parts = step_parts(comm->arena, comm->session->plan);
    comm->parts = parts;
    return parts;
}

void comm_take_table(Comm *comm, const Comm *made)
{
    comm->table_arena = made->arena;
    comm->row = made->row;
    comm->row_of = made->row_of;
    comm->next_alike = made->next_alike;
    comm->n_rows = made->n_rows;
    comm->n_all = made->n_all;
    comm->passes = made->passes;
    comm->sort = made->sort;
    comm->reversed = made->reversed;
}

/* ---- order ---- */

typedef struct {
    CommRow row;
    bool kept, reversed;
    CommSort sort;
    const Reshard *first;
} Sorted;

int64_t comm_payload(const Reshard *reshard)
{
    int64_t most = 0;

    for (int s = 0; s < reshard->path->n_steps; s++)
        if (reshard->path->step[s].bytes > most)
            most = reshard->path->step[s].bytes;
    return most;
}

/* Larger values come first. */
static double weight_of(const Sorted *it)
{
    if (it->sort == COMM_BY_TOTAL)
        return it->row.step_us;
    if (it->sort == COMM_BY_EACH)
        return it->first->path->us;
    return it->sort == COMM_BY_BYTES ? it->row.times * (double)it->first->path->wire_bytes : 0;
}

static int by_order(const void *a, const void *b)
{
    const Sorted *x = a, *y = b;
    double p = weight_of(x), q = weight_of(y);

    if (x->kept != y->kept)
        return x->kept ? -1 : 1;
    if (p != q)
        return (p < q) != x->reversed ? 1 : -1;
    int names = x->sort == COMM_BY_NAME ? strcmp(x->row.label, y->row.label) : 0;
    if (names != 0)
        return x->reversed ? -names : names;
    return x->row.first < y->row.first ? -1 : x->row.first > y->row.first;
}

void comm_arrange(Comm *comm, CommSort sort, bool reversed, const char *text, CommKeep *keep,
                  const void *context)
{
    Arena *scratch = arena_new();
    Sorted *rows = arena_array(scratch, Sorted, comm->n_all);

    comm->n_rows = 0;
    comm->sort = sort;
    comm->reversed = reversed;
    comm->kept_by = text ? arena_str(comm->arena, str_from(text)) : NULL;
    for (int i = 0; i < comm->n_all; i++) {
        bool kept = !text || keep(context, comm->row[i].first);
        const Reshard *first = &comm->session->plan->moved->reshards[comm->row[i].first];
        rows[i] = (Sorted){comm->row[i], kept, reversed, sort, first};
        comm->n_rows += kept;
    }
    if (comm->n_all > 0)
        qsort(rows, (size_t)comm->n_all, sizeof *rows, by_order);
    for (int i = 0; i < comm->n_all; i++) {
        comm->row[i] = rows[i].row;
        for (int32_t r = comm->row[i].first; r >= 0; r = comm->next_alike[r])
            comm->row_of[r] = i;
    }
    arena_free(scratch);
}

bool comm_is_asked(const Plan *plan, const Reshard *reshard)
{
    if (reshard->n_uses == 0 && plan_pinned(plan, reshard->tensor))
        return true;
    const Sharding *sharding = plan_sharding(plan, reshard->tensor);
    for (int d = 0; d < sharding->n_dims; d++)
        if (plan_store_pin_of(plan, reshard->tensor, d))
            return true;
    return false;
}

void comm_format_steps(const Session *session, const ReshardPath *path, Buf *out)
{
    reshard_format_steps(path, session->mesh, out);
}

void comm_format_state(const Mesh *mesh, const Sharding *sharding, int axis, const char *partial,
                       Buf *out)
{
    AtomSet atoms = mesh_axis_atoms(mesh, axis);
    const char *comma = "";

    if (sharding_partials(sharding) & atoms) {
        buf_puts(out, partial);
        comma = ",";
    }
    for (int d = 0; d < sharding->n_dims; d++) {
        if (!(cut_atoms(&sharding->dim[d]) & atoms))
            continue;
        buf_printf(out, "%sS%d", comma, d);
        comma = ",";
    }
    if (!*comma)
        buf_putc(out, 'R');
}

void comm_format_part(const Session *session, int devices, Buf *out)
{
    SubMesh sub = session->plan->decided->submeshes[devices];

    if (sub.fixed == 0)
        buf_puts(out, "all");
    submesh_format(session->mesh, sub, out);
}

void comm_format_change(const Session *session, const Reshard *reshard, const char *partial,
                        const char *arrow, Buf *out)
{
    const Mesh *mesh = session->mesh;
    const Shardings *all = session->plan->shardings;
    const char *between = "";

    if (reshard->from_devices != reshard->to_devices) {
        comm_format_part(session, reshard->from_devices, out);
        buf_puts(out, arrow);
        comm_format_part(session, reshard->to_devices, out);
        between = " ";
    }
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        Buf from = buf_new(out->arena), to = buf_new(out->arena);
        comm_format_state(mesh, shardings_at(all, reshard->from), axis, partial, &from);
        comm_format_state(mesh, shardings_at(all, reshard->to), axis, partial, &to);
        if (str_eq(buf_str(&from), buf_str(&to)))
            continue;
        buf_printf(out, "%s%s%s%s", between, from.s, arrow, to.s);
        between = " ";
    }
    if (!*between)
        buf_puts(out, "order");
}

/* "{d0 d1 d2 .. d15}" */
static void format_group(const Mesh *mesh, AtomSet atoms, int64_t position, Buf *out)
{
    int64_t n = mesh_atoms_size(mesh, atoms);

    buf_putc(out, '{');
    for (int64_t i = 0; i < n; i++) {
        if (n > MEMBERS_MAX && i == MEMBERS_MAX - 1) {
            buf_puts(out, " ..");
            i = n - 1;
        }
        buf_printf(out, "%sd%lld", i ? " " : "",
                   (long long)mesh_device(mesh, mesh_group_member(mesh, atoms, position, i)));
    }
    buf_putc(out, '}');
}

void comm_format_groups(const Mesh *mesh, SubMesh part, AtomSet atoms, Buf *out)
{
    AtomSet others = submesh_free(mesh, part) & ~atoms;
    int64_t n = mesh_atoms_size(mesh, others);
    int64_t shown = mesh->n_devices <= DEVICES_LISTED ? n : 1;

    for (int64_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_putc(out, ' ');
        format_group(mesh, atoms, mesh_group_member(mesh, others, part.first, i), out);
    }
    if (n > shown)
        buf_printf(out, " and %lld more", (long long)(n - shown));
}

/* "{d0 d4} {d1 d5}": sender and receiver. */
static void format_pairs(const Plan *plan, const Reshard *reshard, Buf *out)
{
    SubMesh makers = plan->decided->submeshes[reshard->from_devices];
    SubMesh readers = plan->decided->submeshes[reshard->to_devices];
    int64_t n = submesh_size(plan->mesh, readers), shown = n > MEMBERS_MAX ? MEMBERS_MAX : n;

    for (int64_t i = 0; i < shown; i++) {
        int64_t reader = submesh_position(plan->mesh, readers, i);
        buf_printf(out, "%s{d%lld d%lld}", i > 0 ? " " : "",
                   (long long)mesh_device(plan->mesh, submesh_twin(plan->mesh, makers, reader)),
                   (long long)mesh_device(plan->mesh, reader));
    }
    if (n > shown)
        buf_printf(out, " and %lld more", (long long)(n - shown));
}

void comm_format_step_groups(const Plan *plan, const Reshard *reshard, int s, Buf *out)
{
    const Step *step = &reshard->path->step[s];

    if (step->kind == STEP_SEND)
        format_pairs(plan, reshard, out);
    else
        comm_format_groups(plan->mesh, plan->decided->submeshes[reshard_step_devices(reshard, s)],
                           step->atoms, out);
}

int comm_moved_dim(const Session *session, const Reshard *reshard)
{
    const Sharding *from = shardings_at(session->plan->shardings, reshard->from);
    const Sharding *to = shardings_at(session->plan->shardings, reshard->to);

    for (int d = 0; d < from->n_dims && !sharding_partials(from); d++)
        if (!cut_equal(&from->dim[d], &to->dim[d]))
            return d;
    return -1;
}

const Decision *comm_cause(Arena *arena, const Session *session, const Reshard *reshard)
{
    const Plan *plan = session->plan;
    const Sharding *from = shardings_at(plan->shardings, reshard->from);
    const Sharding *to = shardings_at(plan->shardings, reshard->to);
    int n_dims = (int)from->n_dims;

    if (reshard->from_devices != reshard->to_devices)
        return stage_decision(plan,
                              reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1);
    for (int d = -1; d < n_dims; d++) {
        if (d >= 0 && cut_equal(&from->dim[d], &to->dim[d]))
            continue;
        ReasonChain *chains;
        int n = why_tensor_dim(arena, plan, reshard->tensor, d, &chains);
        AtomSet undone = d < 0 ? sharding_partials(from) & ~sharding_partials(to)
                               : cut_atoms(&from->dim[d]) & ~cut_atoms(&to->dim[d]);
        for (int i = 0; i < n; i++)
            for (int s = 0; s < chains[i].n_steps; s++)
                if (chains[i].step[s].pin &&
                    (!undone || mesh_axis_atoms(plan->mesh, chains[i].axis) & undone))
                    return chains[i].step[s].pin;
    }
    return NULL;
}
