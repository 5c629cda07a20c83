#include "core/summary/diff.h"

#include "core/plan/assume.h"
#include "core/base/span.h"
#include "core/explain/reason.h"

void diff_format_layout(const Cut *cut, const Mesh *mesh, Buf *out)
{
    if (cut_is_whole(cut))
        return;
    if (cut->n > 1) {
        cut_format(cut, mesh, out);
        return;
    }
    buf_putc(out, '/');
    mesh_format_atoms(mesh, cut->digit[0].atom, cut->digit[0].n, ".", out);
}

/* ---- a decision ---- */

static void put_place(const Session *session, const Decision *decision, Buf *out)
{
    const Graph *graph = session->graph;
    size_t from = out->n;
    if (decision_is_on_tensor(decision->kind)) {
        buf_puts(out, naming_label(session->naming, decision->place));
        buf_mark(out, from, SPAN_NAME, 0);
        if (decision->dim >= 0)
            buf_printf(out, " dim %d", decision->dim);
        return;
    }
    const OpSpace *space = program_space(session->inferred, decision->place);
    buf_puts(out, op_name(graph, decision->place));
    buf_mark(out, from, SPAN_NAME, 0);
    buf_printf(out, " %s", space->index[decision->dim].name);
}

/* "devices pp=0 for a .. b" */
static void put_on_ops(const Session *session, const Decision *decision, Buf *out)
{
    const Graph *graph = session->graph;
    if (decision->kind == PIN_SCHEDULE) {
        buf_printf(out, "schedule %s, %d micro-batches", decision->schedule, decision->number);
        if (decision->pass != PASS_NONE)
            buf_printf(out, ", overlap %s", pass_name(decision->pass));
        return;
    }
    if (decision->kind == PIN_ASSUMED) {
        buf_printf(out, "assume %s %s over ", decision->pattern, assumed_name(decision->assumed));
        mesh_format_set(session->mesh, decision->axes, ",", out);
        return;
    }
    if (decision->kind == PIN_STAGE) {
        buf_printf(out, "stage at %s%s", op_name(graph, decision->place),
                   decision->relay ? ", relays" : "");
        return;
    }
    buf_printf(out, "%s ", decision_kind_name(decision->kind));
    if (decision->kind == PIN_RECOMPUTE)
        buf_printf(out, "%d%s", decision->number, decision->whole ? ", whole" : "");
    else if (decision->devices.fixed == 0)
        buf_puts(out, "all");
    else
        submesh_format(session->mesh, decision->devices, out);
    buf_printf(out, " for %s", op_name(graph, decision->place));
    if (decision->last != decision->place)
        buf_printf(out, " .. %s", op_name(graph, decision->last));
}

void decision_format(const Session *session, const Decision *decision, Buf *out)
{
    if (decision_is_on_ops(decision->kind)) {
        put_on_ops(session, decision, out);
        return;
    }
    buf_printf(out, "%s ", decision_kind_name(decision->kind));
    put_place(session, decision, out);
    if (decision_pins_dim(decision->kind)) {
        buf_putc(out, ' ');
        cut_format(decision_cut(decision), session->mesh, out);
        decision_format_store(decision, out);
        buf_puts(out, decision->open ? ", open" : "");
        if (decision->priority > 0)
            buf_printf(out, ", priority %d", decision->priority);
    }
    if (decision->axes) {
        buf_puts(out, " over ");
        mesh_format_set(session->mesh, decision->axes, ",", out);
    }
    if (decision->kind == PIN_GROUP)
        buf_printf(out, " in %s", decision->group);
    if (decision->kind == PIN_BARRIER)
        buf_printf(out, " passes %s", pass_name(decision->pass));
}

/* ---- what a side has ---- */

void diff_format_op(const Session *session, int32_t op, Buf *out)
{
    const OpSpace *space = program_space(session->inferred, op);
    const OpCut *cut = program_cut(session->plan, op);
    bool whole = true;
    for (int i = 0; i < cut->n; i++) {
        if (cut_is_whole(&cut->index[i]))
            continue;
        buf_printf(out, "%s%s", whole ? "" : " ", space->index[i].name);
        whole = false;
        buf_puts(out, cut->index[i].n > 1 ? " " : "");
        diff_format_layout(&cut->index[i], session->mesh, out);
    }
    buf_puts(out, whole ? "whole" : "");
}

static void put_sharding(const Session *session, int32_t id, Buf *out)
{
    if (id < 0)
        buf_puts(out, "replicated");
    else
        sharding_format(shardings_at(session->plan->shardings, id), session->mesh, VIEW_OURS, out,
                        NULL);
}

/* The shardings other than its own in which a tensor is read, each once, at most `most`. */
static int other_needs(const Session *session, int32_t tensor, int32_t *need, int most)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    int n = 0;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        const GraphOp *op = &graph->ops[graph->uses[u]];
        for (int32_t o = op->input; o < op->input + op->n_inputs && n < most; o++) {
            int seen = 0;
            if (graph->operands[o] != tensor || plan->moved->need[o] < 0 ||
                plan->moved->need[o] == plan->moved->sharding[tensor])
                continue;
            while (seen < n && need[seen] != plan->moved->need[o])
                seen++;
            if (seen == n)
                need[n++] = plan->moved->need[o];
        }
    }
    return n;
}

void diff_format_tensor(const Session *session, int32_t tensor, Buf *out)
{
    enum { SHOWN = 3 };
    const Plan *plan = session->plan;
    int32_t need[SHOWN + 1];
    put_sharding(session, plan->moved->sharding[tensor], out);
    if (plan->moved->made[tensor] != plan->moved->sharding[tensor]) {
        buf_puts(out, ", made ");
        put_sharding(session, plan->moved->made[tensor], out);
    }
    int n = other_needs(session, tensor, need, SHOWN + 1);
    for (int i = 0; i < n && i < SHOWN; i++) {
        buf_puts(out, i == 0 ? ", read as " : "; ");
        put_sharding(session, need[i], out);
    }
    buf_puts(out, n > SHOWN ? "; .." : "");
}

void diff_format_reshard(const Session *session, int32_t reshard, Buf *out)
{
    const Reshard *r = &session->plan->moved->reshards[reshard];
    put_sharding(session, r->from, out);
    buf_puts(out, " -> ");
    put_sharding(session, r->to, out);
    for (int s = 0; s < r->path->n_steps; s++) {
        buf_printf(out, "%s%s ", s ? ", " : ": ", step_kind_mark(r->path->step[s].kind));
        mesh_format_set(session->mesh, r->path->step[s].atoms, ".", out);
    }
}

/* ---- what a row is about ---- */

/* The name of a thing on the first side that has it. */
static const char *name_of(const PlanDiff *diff, DiffListKind kind, const DiffEntry *entry)
{
    int s = diff_first_side(entry);
    const Session *session = diff->side[s];
    int32_t id = entry->id[s];
    switch (kind) {
    case DIFF_OPS:
        return op_path_or_name(session->graph, id);
    case DIFF_TENSORS:
        return naming_label(session->naming, id);
    case DIFF_RESHARDS:
        return naming_label(session->naming, session->plan->moved->reshards[id].tensor);
    case DIFF_FINDINGS:
    case DIFF_LIST_COUNT:
        break;
    }
    return "";
}

static Str take_number(const char **text)
{
    const char *from = *text;
    while (is_digit(**text))
        (*text)++;
    return (Str){from, (size_t)(*text - from)};
}

void diff_format_range(const char *first, const char *last, Buf *out)
{
    Buf text = buf_new(out->arena);
    const char *a = first, *b = last;
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            Str x = take_number(&a), y = take_number(&b);
            bool dot = text.n > 0 && text.s[text.n - 1] == '.';
            if (str_eq(x, y)) {
                buf_add(&text, x);
                continue;
            }
            text.n -= dot;
            buf_printf(&text, "[%.*s..%.*s]", STR_ARG(x), STR_ARG(y));
        } else if (*a == *b) {
            buf_putc(&text, *a);
            a++;
            b++;
        } else {
            break;
        }
    }
    if (*a || *b)
        buf_puts(out, first);
    else
        buf_add(out, buf_str(&text));
}

void diff_format_row(const PlanDiff *diff, DiffListKind kind, int row, Buf *out)
{
    const DiffList *list = &diff->list[kind];
    const DiffEntry *first = &list->entries[list->rows[row].first];
    diff_format_range(name_of(diff, kind, first),
                      name_of(diff, kind, first + list->rows[row].n - 1), out);
}

/* ---- why ---- */

static bool is_alike_everywhere(const PlanDiff *diff, int side, const char *name, const Buf *layout)
{
    const DiffEntry *entry = diff_first_op(diff);
    for (int s = 0; s < diff->n_sides; s++) {
        if (s == side)
            continue;
        const Session *session = diff->side[s];
        int32_t op = entry->id[s];
        int i =
            op < 0 ? -1 : opspace_find_index(program_space(session->inferred, op), str_from(name));
        Buf text = buf_new(layout->arena);
        if (i >= 0)
            diff_format_layout(&program_cut(session->plan, op)->index[i], session->mesh, &text);
        if (i < 0 || !str_eq(buf_str(&text), buf_str(layout)))
            return false;
    }
    return true;
}

static void put_chains(const PlanDiff *diff, int side, int index, const char *indent, Buf *out)
{
    const Session *session = diff->side[side];
    int32_t op = diff_first_op(diff)->id[side];
    const OpSpace *space = program_space(session->inferred, op);
    ReasonChain *chains;
    int n = why_index_dim(out->arena, session->plan, op, index, &chains);
    for (int i = 0; i < n; i++) {
        buf_printf(out, "%s%s sharded by %s, back to %s:\n", indent, space->index[index].name,
                   session->mesh->axes[chains[i].axis].name, reason_root(&chains[i]));
        reason_format_chain(session->plan, &chains[i], indent, out);
    }
}

void diff_format_why(const PlanDiff *diff, int side, const char *indent, Buf *out)
{
    const DiffEntry *entry = diff_first_op(diff);
    if (!entry || entry->id[side] < 0)
        return;
    const Session *session = diff->side[side];
    const OpCut *cut = program_cut(session->plan, entry->id[side]);
    for (int i = 0; i < cut->n; i++) {
        Buf layout = buf_new(out->arena);
        diff_format_layout(&cut->index[i], session->mesh, &layout);
        const char *name = program_space(session->inferred, entry->id[side])->index[i].name;
        if (layout.n > 0 && !is_alike_everywhere(diff, side, name, &layout))
            put_chains(diff, side, i, indent, out);
    }
}
