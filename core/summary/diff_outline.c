#include "core/summary/diff_outline.h"

#include "core/base/intern.h"
#include "core/session/signature.h"

enum { SIDES = 2 };

typedef struct {
    const Session *session;
    const Plan *plan;
    const Graph *graph;
    const int32_t *first_member; /* per op */
    int32_t *other_op;           /* per op: its counterpart, or -1 */
    int32_t *other_tensor;       /* per given tensor */
    bool *op_differs, *tensor_differs, *reshard_differs;
    int32_t *given, *next_given;         /* per op: given tensors it is the first reader of; -1 */
    int32_t *reshard, *next_reshard;     /* per op: reshards shown at it; -1 */
    int32_t *line_of[DIFF_LINE_FINDING]; /* per op, per reshard: its line */
} OutlineSide;

typedef struct {
    Arena *arena, *scratch;
    const PlanDiff *diff;
    OutlineSide side[SIDES];
    Intern *keys;
    Vec(DiffLine) lines;
} Outliner;

int32_t reshard_op(const Plan *plan, const Reshard *reshard)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    if (moved_at_maker(plan->inferred, reshard->tensor))
        return maker;
    return reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : maker;
}

/* ---- what is known of a side ---- */

static bool *differing(Outliner *o, DiffListKind kind, int side, int n)
{
    const DiffList *list = &o->diff->list[kind];
    bool *out = arena_array(o->scratch, bool, n);
    for (int i = 0; i < list->n_entries; i++)
        if (list->entries[i].id[side] >= 0)
            out[list->entries[i].id[side]] = true;
    return out;
}

static int32_t *numbers(Arena *arena, int n)
{
    int32_t *out = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++)
        out[i] = -1;
    return out;
}

static bool is_given(const OutlineSide *side, int32_t tensor)
{
    return side->graph->tensors[tensor].maker < 0 && !tensor_is_known(side->plan->inferred, tensor);
}

/* Given tensors at their first readers, in the order of the operands. */
static void place_given(Outliner *o, OutlineSide *side)
{
    const Inferred *inferred = side->plan->inferred;
    side->given = numbers(o->scratch, side->graph->n_ops);
    side->next_given = numbers(o->scratch, side->graph->n_tensors);
    bool *seen = arena_array(o->scratch, bool, side->graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], last = -1;
        for (int k = 0; k < side->graph->ops[op].n_inputs; k++) {
            int32_t tensor = op_inputs(side->graph, op)[k];
            if (tensor < 0 || seen[tensor] || !is_given(side, tensor))
                continue;
            seen[tensor] = true;
            if (last < 0)
                side->given[op] = tensor;
            else
                side->next_given[last] = tensor;
            last = tensor;
        }
    }
}

static void place_reshards(Outliner *o, OutlineSide *side)
{
    side->reshard = numbers(o->scratch, side->graph->n_ops);
    side->next_reshard = numbers(o->scratch, side->plan->moved->n_reshards);
    for (int32_t r = side->plan->moved->n_reshards - 1; r >= 0; r--) {
        int32_t op = reshard_op(side->plan, &side->plan->moved->reshards[r]);
        if (op < 0)
            continue;
        side->next_reshard[r] = side->reshard[op];
        side->reshard[op] = r;
    }
}

static void open_side(Outliner *o, int s)
{
    OutlineSide *side = &o->side[s];
    const Session *session = o->diff->side[s];
    *side = (OutlineSide){.session = session, .plan = session->plan, .graph = session->graph};
    side->first_member = groups_first_members(o->scratch, session->groups, side->graph->n_ops);
    side->op_differs = differing(o, DIFF_OPS, s, side->graph->n_ops);
    side->tensor_differs = differing(o, DIFF_TENSORS, s, side->graph->n_tensors);
    side->reshard_differs = differing(o, DIFF_RESHARDS, s, side->plan->moved->n_reshards);
    side->other_op = numbers(o->scratch, side->graph->n_ops);
    side->other_tensor = numbers(o->scratch, side->graph->n_tensors);
    side->line_of[DIFF_LINE_OP] = numbers(o->arena, side->graph->n_ops);
    side->line_of[DIFF_LINE_RESHARD] = numbers(o->arena, side->plan->moved->n_reshards);
    place_given(o, side);
    place_reshards(o, side);
}

static void match(int32_t *mine, int32_t *theirs, int32_t a, int32_t b)
{
    if (b < 0)
        return;
    mine[a] = b;
    theirs[b] = a;
}

/* By name, as diff.h matches them. */
static void match_sides(Outliner *o)
{
    OutlineSide *a = &o->side[0], *b = &o->side[1];
    Intern *names = intern_new(o->scratch);
    Vec(int32_t) of_name = {0};
    const Inferred *inferred = b->plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        const char *name = op_name(b->graph, inferred->program[i]);
        if (intern_put(names, name, strlen(name)) == of_name.n)
            vec_push(o->scratch, &of_name, inferred->program[i]);
    }
    inferred = a->plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        const char *name = op_name(a->graph, inferred->program[i]);
        int32_t id = intern_find(names, name, strlen(name));
        match(a->other_op, b->other_op, inferred->program[i],
              id < 0 || id >= of_name.n ? -1 : of_name.at[id]);
    }
    names = intern_new(o->scratch);
    of_name.n = 0;
    for (int32_t t = 0; t < b->graph->n_tensors; t++) {
        const char *name = tensor_name(b->graph, t);
        if (is_given(b, t) && intern_put(names, name, strlen(name)) == of_name.n)
            vec_push(o->scratch, &of_name, t);
    }
    for (int32_t t = 0; t < a->graph->n_tensors; t++) {
        const char *name = tensor_name(a->graph, t);
        int32_t id = is_given(a, t) ? intern_find(names, name, strlen(name)) : -1;
        match(a->other_tensor, b->other_tensor, t, id < 0 || id >= of_name.n ? -1 : of_name.at[id]);
    }
}

/* ---- lines ---- */

/* Lines that repeat in the same way on both sides have one key. */
static void add_line(Outliner *o, const DiffLine *line, const int32_t at[SIDES], int slot,
                     const int32_t layout[2 * SIDES])
{
    int32_t key[4 + 2 * SIDES] = {(int32_t)line->kind * 128 + line->mark, slot};
    for (int s = 0; s < SIDES; s++)
        key[2 + s] = at[s] < 0 ? -1 : o->side[s].first_member[at[s]];
    memcpy(key + 4, layout, sizeof key - 4 * sizeof *key);
    int32_t id = intern_put(o->keys, key, sizeof key);
    if (id == o->lines.n)
        vec_push(o->arena, &o->lines, *line);
    assert(o->lines.at);
    DiffLine *to = &o->lines.at[id];
    to->n++;
    memcpy(to->last, line->id, sizeof to->last);
    for (int s = 0; s < SIDES; s++)
        if (line->id[s] >= 0 && o->side[s].line_of[line->kind])
            o->side[s].line_of[line->kind][line->id[s]] = id;
}

static char mark_of(const int32_t id[SIDES], bool differs)
{
    return id[1] < 0 ? '-' : id[0] < 0 ? '+' : differs ? '~' : '=';
}

static void add_given(Outliner *o, const int32_t op[SIDES])
{
    for (int s = 0; s < SIDES; s++) {
        const OutlineSide *side = &o->side[s];
        for (int32_t t = op[s] < 0 ? -1 : side->given[op[s]], slot = 0; t >= 0;
             t = side->next_given[t], slot++) {
            DiffLine line = {.kind = DIFF_LINE_GIVEN};
            line.id[s] = t;
            line.id[1 - s] = side->other_tensor[t];
            if (s == 1 && line.id[0] >= 0)
                continue; /* it was listed with the first side's reader */
            line.mark = mark_of(line.id, side->tensor_differs[t]);
            int32_t layout[2 * SIDES] = {0};
            for (int k = 0; k < SIDES; k++)
                layout[k] = line.id[k] < 0 ? -1 : o->side[k].plan->moved->sharding[line.id[k]];
            add_line(o, &line, op, slot, layout);
        }
    }
}

static bool op_is_alike(const OutlineSide *side, int32_t op)
{
    bool differs = side->op_differs[op];
    for (int i = 0; i < side->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(side->graph, op)[i];
        differs |= tensor >= 0 && side->tensor_differs[tensor];
    }
    return !differs;
}

static void add_op(Outliner *o, const int32_t op[SIDES])
{
    static const int32_t no_layout[2 * SIDES] = {0};
    int s = op[0] < 0 ? 1 : 0;
    DiffLine line = {.kind = DIFF_LINE_OP, .id = {op[0], op[1]}};
    line.mark = mark_of(op, !op_is_alike(&o->side[s], op[s]));
    add_line(o, &line, op, 0, no_layout);
}

static void add_reshard(Outliner *o, const int32_t op[SIDES], int32_t a, int32_t b, bool differs,
                        int slot)
{
    DiffLine line = {.kind = DIFF_LINE_RESHARD, .id = {a, b}};
    int32_t layout[2 * SIDES] = {-1, -1, -1, -1}, *end = layout;
    line.mark = mark_of(line.id, differs);
    for (int s = 0; s < SIDES; s++, end += 2) {
        if (line.id[s] < 0)
            continue;
        end[0] = o->side[s].plan->moved->reshards[line.id[s]].from;
        end[1] = o->side[s].plan->moved->reshards[line.id[s]].to;
    }
    add_line(o, &line, op, slot, layout);
}

/* An unmatched reshard of the second side, of the same value and as similar as possible. */
static int32_t take_partner(Outliner *o, int32_t op, int32_t a, bool *taken)
{
    const OutlineSide *mine = &o->side[0], *theirs = &o->side[1];
    const char *name = tensor_name(mine->graph, mine->plan->moved->reshards[a].tensor);
    for (int32_t b = op < 0 ? -1 : theirs->reshard[op]; b >= 0; b = theirs->next_reshard[b]) {
        if (taken[b] || theirs->reshard_differs[b] != mine->reshard_differs[a] ||
            strcmp(tensor_name(theirs->graph, theirs->plan->moved->reshards[b].tensor), name) != 0)
            continue;
        taken[b] = true;
        return b;
    }
    return -1;
}

static bool is_made_by(const OutlineSide *side, int32_t op, int32_t reshard)
{
    return side->graph->tensors[side->plan->moved->reshards[reshard].tensor].maker == op;
}

/* Those of the op's results, or of its inputs. */
static void add_reshards(Outliner *o, const int32_t op[SIDES], bool made, bool *taken)
{
    const OutlineSide *a = &o->side[0], *b = &o->side[1];
    int slot = made ? 0 : -1;
    for (int32_t r = op[0] < 0 ? -1 : a->reshard[op[0]]; r >= 0; r = a->next_reshard[r])
        if (is_made_by(a, op[0], r) == made)
            add_reshard(o, op, r, take_partner(o, op[1], r, taken), a->reshard_differs[r],
                        made ? slot++ : slot--);
    for (int32_t r = op[1] < 0 ? -1 : b->reshard[op[1]]; r >= 0; r = b->next_reshard[r])
        if (is_made_by(b, op[1], r) == made && !taken[r])
            add_reshard(o, op, -1, r, true, made ? slot++ : slot--);
}

static void add_all(Outliner *o, const int32_t op[SIDES], bool *taken)
{
    add_given(o, op);
    add_reshards(o, op, false, taken);
    add_op(o, op);
    add_reshards(o, op, true, taken);
}

static void add_ops(Outliner *o)
{
    const OutlineSide *b = &o->side[1];
    const Inferred *mine = o->side[0].plan->inferred, *theirs = b->plan->inferred;
    bool *taken = arena_array(o->scratch, bool, b->plan->moved->n_reshards);
    int32_t *place = numbers(o->scratch, b->graph->n_ops);
    for (int i = 0; i < theirs->n_program; i++)
        place[theirs->program[i]] = i;
    int done = 0;
    for (int i = 0; i <= mine->n_program; i++) {
        int32_t pair[SIDES] = {i < mine->n_program ? mine->program[i] : -1, -1};
        pair[1] = pair[0] < 0 ? -1 : o->side[0].other_op[pair[0]];
        int until = pair[0] < 0 ? theirs->n_program : pair[1] < 0 ? done : place[pair[1]];
        for (; done < until; done++) {
            const int32_t alone[SIDES] = {-1, theirs->program[done]};
            if (b->other_op[alone[1]] >= 0)
                continue;
            add_all(o, alone, taken);
        }
        if (pair[0] < 0)
            break;
        add_all(o, pair, taken);
    }
}

static void add_findings(Outliner *o)
{
    const DiffList *list = &o->diff->list[DIFF_FINDINGS];
    for (int i = 0; i < list->n_entries; i++) {
        DiffLine line = {.kind = DIFF_LINE_FINDING, .n = 1};
        memcpy(line.id, list->entries[i].id, sizeof line.id);
        memcpy(line.last, line.id, sizeof line.last);
        line.mark = mark_of(line.id, true);
        vec_push(o->arena, &o->lines, line);
    }
}

DiffOutline diff_outline(Arena *arena, const PlanDiff *diff)
{
    Outliner o = {.arena = arena, .scratch = arena_new(), .diff = diff};
    o.keys = intern_new(o.scratch);
    for (int s = 0; s < SIDES; s++)
        open_side(&o, s);
    match_sides(&o);
    add_ops(&o);
    add_findings(&o);
    DiffOutline out = {.n_lines = o.lines.n, .line = o.lines.at};
    for (int s = 0; s < SIDES; s++) {
        out.of_op[s] = o.side[s].line_of[DIFF_LINE_OP];
        out.of_reshard[s] = o.side[s].line_of[DIFF_LINE_RESHARD];
    }
    for (int i = 0; i < out.n_lines; i++)
        out.n_changes += out.line[i].mark != '=';
    arena_free(o.scratch);
    return out;
}
