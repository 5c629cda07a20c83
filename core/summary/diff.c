#include "core/summary/diff.h"

#include "core/base/intern.h"
#include "core/cost/cost.h"
#include "core/cost/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>

/* One thing on one side. Things with equal `like` are equal on any side; `rep` and `slot` are its
 * position in the first of the repeated layers. */
typedef struct {
    Str name; /* the key by which it is matched with the other sides */
    int32_t id, like, rep, slot;
} Thing;

typedef Vec(Thing) Things;

/* What is compared on one side. */
typedef struct {
    const Session *session;
    const Plan *plan;
    const Graph *graph;
    int32_t *rep;  /* per op: the op at its position in the first layer */
    int32_t *slot; /* per tensor: the op that makes it, or the first that reads it; -1 */
    int32_t *slot_operand;
    int32_t *sharding_like; /* by Shardings id; -1 until asked for */
} DiffSide;

typedef struct {
    Arena *arena, *scratch;
    PlanDiff *diff;
    Intern *texts, *tuples; /* shared by the sides */
    DiffSide side[DIFF_SIDES_MAX];
} Differ;

/* ---- layouts: equal ids for equal ones ---- */

static int32_t like_sharding(Differ *d, DiffSide *side, int32_t id)
{
    if (id < 0)
        return -1;
    if (side->sharding_like[id] >= 0)
        return side->sharding_like[id];
    const Sharding *sharding = shardings_at(side->plan->shardings, id);
    Buf text = buf_new(d->scratch);
    for (int i = 0; i < sharding->n_dims; i++) {
        diff_format_layout(&sharding->dim[i], side->session->mesh, &text);
        buf_putc(&text, ',');
    }
    sharding_format_sums(sharding, side->session->mesh, "+", &text);
    side->sharding_like[id] = intern_put(d->texts, text.s, text.n);
    return side->sharding_like[id];
}

static int32_t like_text(Differ *d, const Buf *text)
{
    return intern_put(d->texts, text->s, text->n);
}

/* ---- places in repeated layers ---- */

/* Layers that repeat except for their cuts, by which the entries are compared. */
static const Groups *structure_of(Differ *d, const DiffSide *side)
{
    const Inferred *inferred = side->session->inferred;
    int32_t *signature = arena_array(d->scratch, int32_t, side->graph->n_ops);
    Intern *alike = intern_new(d->scratch);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const GraphOp *node = &side->graph->ops[op];
        int32_t key[3] = {node->op_type, node->attrs, inferred->space[op]};
        signature[op] = intern_put(alike, key, sizeof key);
    }
    return groups_build(d->scratch, side->graph, inferred->program, inferred->n_program, signature,
                        signature);
}

static void find_slots(Differ *d, DiffSide *side)
{
    const Inferred *inferred = side->session->inferred;
    int n = side->graph->n_tensors;
    side->slot = arena_array(d->scratch, int32_t, n);
    side->slot_operand = arena_array(d->scratch, int32_t, n);
    for (int t = 0; t < n; t++)
        side->slot[t] = -1;
    for (int i = inferred->n_program - 1; i >= 0; i--) { /* readers, the first one last */
        int32_t op = inferred->program[i];
        for (int o = side->graph->ops[op].n_inputs - 1; o >= 0; o--) {
            int32_t t = op_inputs(side->graph, op)[o];
            if (t < 0)
                continue;
            side->slot[t] = op;
            side->slot_operand[t] = o;
        }
    }
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        for (int o = 0; o < side->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(side->graph, op)[o];
            if (t < 0)
                continue;
            side->slot[t] = op;
            side->slot_operand[t] = -1 - o;
        }
    }
}

static void place_by_tensor(const DiffSide *side, int32_t tensor, Thing *thing)
{
    int32_t op = side->slot[tensor];
    thing->rep = op < 0 ? -1 - tensor : side->rep[op];
    thing->slot = op < 0 ? 0 : side->slot_operand[tensor];
}

/* ---- the things on one side ---- */

static int32_t like_op(Differ *d, const DiffSide *side, int32_t op)
{
    const OpSpace *space = program_space(side->plan->inferred, op);
    const OpCut *cut = program_cut(side->plan, op);
    Buf text = buf_new(d->scratch);
    buf_puts(&text, op_operator(side->graph, op));
    for (int i = 0; i < cut->n; i++) {
        if (cut_is_whole(&cut->index[i]))
            continue;
        buf_printf(&text, " %s", space->index[i].name);
        diff_format_layout(&cut->index[i], side->session->mesh, &text);
    }
    return like_text(d, &text);
}

/* An op's row depends on few properties, in which few ops differ. */
static void list_ops(Differ *d, DiffSide *side, Things *out)
{
    const Inferred *inferred = side->session->inferred;
    Intern *seen = intern_new(d->scratch);
    Vec(int32_t) like = {0};
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        int32_t key[3] = {side->graph->ops[op].op_type, inferred->space[op],
                          side->plan->propagated->cut[op]};
        int32_t id = intern_put(seen, key, sizeof key);
        if (id == like.n)
            vec_push(d->scratch, &like, like_op(d, side, op));
        assert(like.at);
        Thing thing = {str_from(op_name(side->graph, op)), op, like.at[id], side->rep[op], 0};
        vec_push(d->scratch, out, thing);
    }
}

typedef struct {
    int32_t like, next; /* of the same tensor; -1 */
} Need;

/* Per tensor the shardings that its readers need, each once. */
typedef struct {
    int32_t *first; /* per tensor: place in all, or -1 */
    Vec(Need) all;
} ReaderNeeds;

static void gather_needs(Differ *d, DiffSide *side, ReaderNeeds *needs)
{
    const Inferred *inferred = side->session->inferred;
    Intern *seen = intern_new(d->scratch);
    needs->first = arena_array(d->scratch, int32_t, side->graph->n_tensors);
    for (int t = 0; t < side->graph->n_tensors; t++)
        needs->first[t] = -1;
    for (int i = 0; i < inferred->n_program; i++) {
        const GraphOp *op = &side->graph->ops[inferred->program[i]];
        for (int32_t o = op->input; o < op->input + op->n_inputs; o++) {
            int32_t t = side->graph->operands[o];
            if (t < 0)
                continue;
            int32_t key[2] = {t, like_sharding(d, side, side->plan->moved->need[o])};
            if (intern_put(seen, key, sizeof key) < needs->all.n)
                continue;
            vec_push(d->scratch, &needs->all, (Need){key[1], needs->first[t]});
            needs->first[t] = needs->all.n - 1;
        }
    }
}

static int by_number(const void *a, const void *b)
{
    int32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int32_t like_tensor(Differ *d, DiffSide *side, const ReaderNeeds *needs, int32_t tensor,
                           Buf *key)
{
    enum { HEAD = 2 };
    int32_t head[HEAD] = {like_sharding(d, side, side->plan->moved->made[tensor]),
                          like_sharding(d, side, side->plan->moved->sharding[tensor])};
    key->n = 0;
    buf_add(key, (Str){(const char *)head, sizeof head});
    for (int32_t i = needs->first[tensor]; i >= 0;) {
        assert(needs->all.at);
        const Need *need = &needs->all.at[i];
        buf_add(key, (Str){(const char *)&need->like, sizeof need->like});
        i = need->next;
    }
    qsort(key->s + sizeof head, key->n / sizeof(int32_t) - HEAD, sizeof(int32_t), by_number);
    return intern_put(d->tuples, key->s, key->n);
}

/* Values known before the run are never sharded. */
static bool is_of_program(const DiffSide *side, int32_t tensor)
{
    const GraphTensor *t = &side->graph->tensors[tensor];
    return !tensor_is_known(side->plan->inferred, tensor) &&
           (side->slot[tensor] >= 0 || t->output || t->kind == TENSOR_INPUT);
}

static void list_tensors(Differ *d, DiffSide *side, Things *out)
{
    ReaderNeeds needs = {0};
    gather_needs(d, side, &needs);
    Buf key = buf_new(d->scratch);
    for (int32_t t = 0; t < side->graph->n_tensors; t++) {
        if (!is_of_program(side, t))
            continue;
        Thing thing = {.name = str_from(tensor_name(side->graph, t)), .id = t};
        thing.like = like_tensor(d, side, &needs, t, &key);
        place_by_tensor(side, t, &thing);
        vec_push(d->scratch, out, thing);
    }
}

static int32_t like_path(Differ *d, const DiffSide *side, const ReshardPath *path)
{
    Buf text = buf_new(d->scratch);
    for (int s = 0; s < path->n_steps; s++) {
        buf_printf(&text, "%s ", step_kind_mark(path->step[s].kind));
        mesh_format_set(side->session->mesh, path->step[s].atoms, ".", &text);
        buf_putc(&text, ';');
    }
    return like_text(d, &text);
}

static Str joined(Differ *d, Str name, const char *more)
{
    return str_from(arena_printf(d->scratch, "%.*s %s", STR_ARG(name), more));
}

/* Equal things of one side are matched by their count so far. */
typedef struct {
    Intern *seen;
    int *count; /* per text */
} Equals;

static Equals equals_new(Differ *d, int n_most)
{
    return (Equals){intern_new(d->scratch), arena_array(d->scratch, int, n_most)};
}

static Str counted(Differ *d, Equals *equals, Str name)
{
    int *count = &equals->count[intern_put(equals->seen, name.s, name.n)];
    return joined(d, name, arena_printf(d->scratch, "%d", (*count)++));
}

/* Of one tensor several can be alike, between other parts of the mesh. */
static void list_reshards(Differ *d, DiffSide *side, Things *out)
{
    const Plan *plan = side->plan;
    Equals equals = equals_new(d, plan->moved->n_reshards);
    for (int32_t i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *r = &plan->moved->reshards[i];
        int32_t key[3] = {like_sharding(d, side, r->from), like_sharding(d, side, r->to),
                          like_path(d, side, r->path)};
        Thing thing = {.id = i, .like = intern_put(d->tuples, key, sizeof key)};
        thing.name = str_from(tensor_name(side->graph, r->tensor));
        for (int k = 0; k < 3; k++)
            thing.name = joined(d, thing.name, intern_key(d->texts, key[k], NULL));
        thing.name = counted(d, &equals, thing.name);
        place_by_tensor(side, r->tensor, &thing);
        vec_push(d->scratch, out, thing);
    }
}

static void list_findings(Differ *d, DiffSide *side, Things *out)
{
    const Findings *findings = &side->plan->findings;
    Equals equals = equals_new(d, findings->n);
    for (int32_t i = 0; i < findings->n; i++) {
        const Finding *finding = &findings->at[i];
        Str name = joined(d, str_from(level_name(finding->level)), finding->code);
        name = joined(d, name, finding->text);
        name = counted(d, &equals, name);
        Thing thing = {name, i, intern_put(d->texts, name.s, name.n), -1 - i, 0};
        vec_push(d->scratch, out, thing);
    }
}

/* ---- from the things on all sides to rows ---- */

typedef struct {
    DiffEntry entry;
    const char *name;
    double at; /* mean place in the program */
    int n_sides;
    bool alike;
    int32_t key[DIFF_SIDES_MAX][3]; /* rep, slot, like */
} DiffItem;

typedef struct {
    DiffItem *at;
    int n, room;
} DiffItems;

static void add_thing(Differ *d, DiffItems *items, Intern *names, int s, int place,
                      const Thing *thing)
{
    int32_t id = intern_put(names, thing->name.s, thing->name.n);
    if (id == items->n) {
        DiffItem fresh = {.name = thing->name.s, .alike = true};
        memset(&fresh.entry, -1, sizeof fresh.entry);
        memset(fresh.key, -1, sizeof fresh.key);
        vec_push(d->scratch, items, fresh);
    }
    assert(items->at);
    DiffItem *item = &items->at[id];
    for (int other = 0; other < s; other++)
        item->alike &= item->entry.id[other] >= 0 && item->key[other][2] == thing->like;
    item->entry.id[s] = thing->id;
    item->key[s][0] = thing->rep;
    item->key[s][1] = thing->slot;
    item->key[s][2] = thing->like;
    item->at += place;
    item->n_sides++;
}

static int by_place(const void *a, const void *b)
{
    const DiffItem *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : strcmp(x->name, y->name);
}

/* Keeps those that differ between sides, in order. */
static void keep_different(const Differ *d, DiffItems *items)
{
    int n = 0;
    for (int i = 0; i < items->n; i++) {
        DiffItem *item = &items->at[i];
        if (item->alike && item->n_sides == d->diff->n_sides)
            continue;
        item->at /= item->n_sides;
        items->at[n++] = *item;
    }
    items->n = n;
    if (n > 0)
        qsort(items->at, (size_t)n, sizeof *items->at, by_place);
}

/* Rows in the order of their first entries. */
static void fold(Differ *d, const DiffItems *items, DiffList *out)
{
    Intern *rows = intern_new(d->scratch);
    int32_t *row_of = arena_array(d->scratch, int32_t, items->n);
    DiffEntry *entries = arena_array(d->arena, DiffEntry, items->n);
    for (int i = 0; i < items->n; i++)
        row_of[i] = intern_put(rows, items->at[i].key, sizeof items->at[i].key);
    DiffRow *row = arena_array(d->arena, DiffRow, intern_count(rows));
    for (int i = 0; i < items->n; i++)
        row[row_of[i]].n++;
    for (int r = 1; r < intern_count(rows); r++)
        row[r].first = row[r - 1].first + row[r - 1].n;
    int *filled = arena_array(d->scratch, int, intern_count(rows));
    for (int i = 0; i < items->n; i++)
        entries[row[row_of[i]].first + filled[row_of[i]]++] = items->at[i].entry;
    out->entries = entries;
    out->n_entries = items->n;
    out->rows = row;
    out->n_rows = intern_count(rows);
}

/* ORDER DIFF_LIST */
static void (*const listers[DIFF_LIST_COUNT])(Differ *d, DiffSide *side, Things *out) = {
    list_ops, list_tensors, list_reshards, list_findings};

static void compare(Differ *d, DiffListKind kind)
{
    DiffItems items = {0};
    Intern *names = intern_new(d->scratch);
    for (int s = 0; s < d->diff->n_sides; s++) {
        Things things = {0};
        listers[kind](d, &d->side[s], &things);
        for (int i = 0; i < things.n; i++)
            add_thing(d, &items, names, s, i, &things.at[i]);
    }
    DiffList *list = &d->diff->list[kind];
    list->n_compared = items.n;
    keep_different(d, &items);
    fold(d, &items, list);
}

/* ---- totals, request, history ---- */

void plan_count_steps(const Plan *plan, double n_steps[STEP_KIND_COUNT])
{
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *r = &plan->moved->reshards[i];
        for (int s = 0; s < r->path->n_steps; s++)
            n_steps[r->path->step[s].kind] += reshard_repeat(plan, r);
    }
}

static bool same_steps(const double *a, const double *b)
{
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        if (a[kind] != b[kind])
            return false;
    return true;
}

static bool same_totals(const PlanDiff *diff)
{
    const Totals *first = &diff->side[0]->plan->priced->totals;
    for (int s = 1; s < diff->n_sides; s++) {
        const Totals *t = &diff->side[s]->plan->priced->totals;
        if (t->step_us != first->step_us || t->compute_us != first->compute_us ||
            t->comm_us != first->comm_us || t->overlap_us != first->overlap_us ||
            t->comm_bytes != first->comm_bytes || t->peak_bytes != first->peak_bytes ||
            t->flops != first->flops ||
            plan_step_us(diff->side[s]->plan) != plan_step_us(diff->side[0]->plan) ||
            !same_steps(diff->n_steps[s], diff->n_steps[0]))
            return false;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const DimBinding *x = a, *y = b;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = memcmp(x->name.s, y->name.s, n);
    return order ? order : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

/* "batch=8 seq=1024": the last binding of each dim, by name. */
static const char *dims_text(Arena *arena, const DimBindings *dims)
{
    DimBinding *last = arena_array(arena, DimBinding, dims->n);
    Intern *names = intern_new(arena);
    for (int i = 0; i < dims->n; i++)
        last[intern_put(names, dims->at[i].name.s, dims->at[i].name.n)] = dims->at[i];
    int n = intern_count(names);
    if (n > 0)
        qsort(last, (size_t)n, sizeof *last, by_name);
    Buf text = buf_new(arena);
    for (int i = 0; i < n; i++)
        buf_printf(&text, "%s%.*s=%" PRId64, i ? " " : "", STR_ARG(last[i].name), last[i].size);
    return n > 0 ? text.s : "none";
}

/* A model is identified by its file's contents, wherever the file is. */
static const char *model_text(Arena *arena, const Graph *graph)
{
    return graph->hash ? arena_printf(arena, "%s %016" PRIx64, path_base(graph->file), graph->hash)
                       : graph->file;
}

static const char *mesh_text(Arena *arena, const Mesh *mesh)
{
    Buf text = buf_new(arena);
    mesh_format(mesh, &text);
    return text.s;
}

static void ask(PlanDiff *diff, const DiffRequest *row, bool same)
{
    if (!same)
        diff->request[diff->n_requests++] = *row;
}

static void compare_requests(Differ *d)
{
    PlanDiff *diff = d->diff;
    /* ORDER REQUEST */
    DiffRequest rows[DIFF_REQUESTS_MAX] = {
        {.what = "model"},           {.what = "dims"},      {.what = "mesh"},
        {.what = "machine"},         {.what = "propagate"}, {.what = "profile"},
        {.what = "no_redistribute"}, {.what = "train"}};
    for (int s = 0; s < diff->n_sides; s++) {
        const Session *session = diff->side[s];
        const char *texts[DIFF_REQUESTS_MAX] = {model_text(d->arena, session->graph),
                                                dims_text(d->arena, &session->options.dims),
                                                mesh_text(d->arena, session->mesh),
                                                session->machine->name,
                                                session->plan->propagator->name,
                                                session->plan->propagator->profile,
                                                session->options.no_redistribute ? "yes" : "no",
                                                session->options.train ? session->options.train
                                                                       : "no"};
        for (int r = 0; r < DIFF_REQUESTS_MAX; r++)
            rows[r].text[s] = texts[r];
    }
    const Graph *first = diff->side[0]->graph;
    for (int r = 0; r < DIFF_REQUESTS_MAX; r++) {
        bool same = true;
        for (int s = 1; s < diff->n_sides; s++)
            same &= (r == 0 && first->hash && first->hash == diff->side[s]->graph->hash) ||
                    str_eq(str_from(rows[r].text[s]), str_from(rows[r].text[0]));
        ask(diff, &rows[r], same);
    }
}

/* What a decision asks for, whoever made it. */
static void put_decision(const Session *session, const Decision *decision, Buf *out)
{
    const Graph *graph = session->graph;
    bool tensor = decision_is_on_tensor(decision->kind);
    if (decision_is_on_ops(decision->kind)) {
        decision_format(session, decision, out);
        return;
    }
    buf_printf(out, "%d %s ", (int)decision->kind,
               tensor ? tensor_name(graph, decision->place) : op_name(graph, decision->place));
    if (tensor)
        buf_printf(out, "%d ", decision->dim);
    else
        buf_puts(out, program_space(session->inferred, decision->place)->index[decision->dim].name);
    if (decision_pins_dim(decision->kind))
        diff_format_layout(decision_cut(decision), session->mesh, out);
    buf_printf(out, " %d %d %d %d ", decision->open, decision->store, decision->keep,
               decision->priority);
    mesh_format_set(session->mesh, decision->axes, ".", out);
    buf_printf(out, " %s %d", decision->group ? decision->group : "", (int)decision->pass);
}

static bool same_decisions(const PlanDiff *diff, int i)
{
    Arena *scratch = arena_new();
    Buf first = buf_new(scratch);
    bool same = true;
    for (int s = 0; s < diff->n_sides && same; s++) {
        const Journal *journal = &diff->side[s]->journal;
        Buf text = buf_new(scratch);
        if (i < journal->n_done)
            put_decision(diff->side[s], &journal->decisions.at[i], &text);
        if (s == 0)
            first = text;
        same = str_eq(buf_str(&text), buf_str(&first));
    }
    arena_free(scratch);
    return same;
}

static int find_fork(const PlanDiff *diff)
{
    int most = 0;
    for (int s = 0; s < diff->n_sides; s++)
        most = diff->side[s]->journal.n_done > most ? diff->side[s]->journal.n_done : most;
    for (int i = 0; i < most; i++)
        if (!same_decisions(diff, i))
            return i;
    return -1;
}

const Decision *diff_fork(const PlanDiff *diff, int side)
{
    const Journal *journal = &diff->side[side]->journal;
    return diff->fork >= 0 && diff->fork < journal->n_done ? &journal->decisions.at[diff->fork]
                                                           : NULL;
}

const DiffEntry *diff_first_op(const PlanDiff *diff)
{
    return diff->list[DIFF_OPS].n_entries > 0 ? &diff->list[DIFF_OPS].entries[0] : NULL;
}

/* ---- all ---- */

static void open_side(Differ *d, int s, const Session *session)
{
    DiffSide *side = &d->side[s];
    *side = (DiffSide){.session = session, .plan = session->plan, .graph = session->graph};
    int n = shardings_count(side->plan->shardings);
    side->sharding_like = arena_array(d->scratch, int32_t, n);
    for (int i = 0; i < n; i++)
        side->sharding_like[i] = -1;
    side->rep = groups_first_members(d->scratch, structure_of(d, side), side->graph->n_ops);
    find_slots(d, side);
    d->diff->side[s] = session;
    plan_count_steps(side->plan, d->diff->n_steps[s]);
}

PlanDiff *plan_diff_sides(Arena *arena, const Session *const *sides, int n)
{
    assert(n >= 2 && n <= DIFF_SIDES_MAX);
    Differ d = {.arena = arena, .scratch = arena_new(), .diff = arena_make(arena, PlanDiff)};
    d.texts = intern_new(d.scratch);
    d.tuples = intern_new(d.scratch);
    d.diff->n_sides = n;
    for (int s = 0; s < n; s++)
        open_side(&d, s, sides[s]);
    compare_requests(&d);
    d.diff->fork = find_fork(d.diff);
    d.diff->same_result = same_totals(d.diff);
    for (DiffListKind kind = 0; kind < DIFF_LIST_COUNT; kind++) {
        compare(&d, kind);
        d.diff->same_result &= d.diff->list[kind].n_entries == 0;
    }
    d.diff->same = d.diff->same_result && d.diff->n_requests == 0 && d.diff->fork < 0;
    arena_free(d.scratch);
    return d.diff;
}

PlanDiff *plan_diff(Arena *arena, const Session *a, const Session *b)
{
    const Session *const sides[] = {a, b};
    return plan_diff_sides(arena, sides, 2);
}
