#include "core/summary/saved.h"

#include "core/base/intern.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/summary/label.h"

#include <stdlib.h>

typedef struct {
    int32_t layer; /* first group of the fold; -1: in none */
    int64_t of_layer;
    SavedRow row;
} Entry;

typedef struct {
    Arena *arena;
    const Session *session;
    Vec(Entry) all;
} SavedListing;

/* The member of the outermost fold around an op; -1. */
static int32_t member_of(const Groups *groups, int32_t op)
{
    int32_t found = -1;
    for (int32_t g = groups->group_of[op]; g >= 0; g = groups->groups[g].parent)
        if (groups->groups[groups->groups[g].fold].fold_n > 1)
            found = g;
    return found;
}

/* Micro-batches in flight of an op's stage, as memory.h counts them. */
static int in_flight(const Plan *plan, int32_t op)
{
    const Schedule *table = plan_schedule(plan);
    int stage = table ? stage_of(plan, op) : -1;
    bool several = stage >= 0 && table->trains && table->n_micro_batches > 1;
    return several && table->together[stage] > 1 ? table->together[stage] : 1;
}

static int32_t reader_of(const Graph *graph, int32_t op)
{
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t tensor = op_outputs(graph, op)[o];
        for (int u = 0; tensor >= 0 && u < tensor_n_uses(graph, tensor); u++) {
            int32_t reader = graph->uses[graph->tensors[tensor].use + u];
            if (graph->phase[reader] == PHASE_BACKWARD)
                return reader;
        }
    }
    return -1;
}

static const char *op_label(const SavedListing *list, int32_t op, int32_t member)
{
    const char *name = arena_str(list->arena, label_op(list->session, list->arena, op));
    Str base = str_from(member < 0 ? "" : group_prefix(list->session->groups, member));
    if (base.n > 0 && str_starts(str_from(name), base) && name[base.n] == '/')
        return name + base.n + 1; /* an op of the layer itself: "Add" */
    return arena_str(list->arena, group_relative(name, base.n > 0 ? base.s : ""));
}

static void add_op(SavedListing *list, Intern *keys, const int32_t *first, int32_t op,
                   int64_t bytes)
{
    const Plan *plan = list->session->plan;
    const Groups *groups = list->session->groups;
    int32_t member = member_of(groups, op);
    int32_t layer = member < 0 ? -1 : groups->groups[member].fold;
    int32_t at = intern_put(keys, &first[op], sizeof first[op]);
    if (at == list->all.n)
        vec_push(list->arena, &list->all,
                 ((Entry){layer,
                          0,
                          {.label = op_label(list, op, member),
                           .op = op,
                           .reader = reader_of(plan->inferred->graph, op)}}));
    SavedRow *row = &list->all.at[at].row;
    int flight = in_flight(plan, op), n_micro = 1;
    const Schedule *table = plan_schedule(plan);
    if (table)
        n_micro = table->n_micro_batches;
    row->n++;
    row->bytes += bytes;
    row->held += flight * bytes;
    row->in_flight = flight > row->in_flight ? flight : row->in_flight;
    row->again_us += n_micro * plan->priced->op_us[op];
}

static int more_first(const void *left, const void *right)
{
    const Entry *a = left, *b = right;
    if (a->of_layer != b->of_layer)
        return a->of_layer > b->of_layer ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->row.held != b->row.held)
        return a->row.held > b->row.held ? -1 : 1;
    return (a->row.op > b->row.op) - (a->row.op < b->row.op);
}

static void sum_layers(SavedListing *list)
{
    int64_t *held = arena_array(list->arena, int64_t, list->session->groups->n_groups + 1);
    for (int i = 0; i < list->all.n; i++)
        held[list->all.at[i].layer + 1] += list->all.at[i].row.held;
    for (int i = 0; i < list->all.n; i++)
        list->all.at[i].of_layer = held[list->all.at[i].layer + 1];
}

static const char *layer_label(const SavedListing *list, int32_t layer)
{
    if (layer < 0)
        return "outside of repeated layers";
    Buf text = buf_new(list->arena);
    const Groups *groups = list->session->groups;
    group_format_fold(groups, layer, groups->groups[layer].fold_n, 0, &text);
    return text.s;
}

/* Before the rows of each layer, that of the layer. */
static Saved put_rows(const SavedListing *list)
{
    Vec(SavedRow) rows = {0};
    int32_t head = -1;
    Saved out = {0};
    for (int i = 0; i < list->all.n; i++) {
        const Entry *entry = &list->all.at[i];
        if (i == 0 || entry->layer != list->all.at[i - 1].layer) {
            head = rows.n;
            int n = entry->layer < 0 ? 1 : list->session->groups->groups[entry->layer].fold_n;
            SavedRow row = {true, layer_label(list, entry->layer), entry->row.op, -1, .n = n};
            vec_push(list->arena, &rows, row);
        }
        vec_push(list->arena, &rows, entry->row);
        SavedRow *layer = &rows.at[head];
        layer->bytes += entry->row.bytes;
        layer->held += entry->row.held;
        layer->again_us += entry->row.again_us;
        layer->in_flight =
            entry->row.in_flight > layer->in_flight ? entry->row.in_flight : layer->in_flight;
        out.bytes += entry->row.bytes;
        out.held += entry->row.held;
    }
    out.n = rows.n;
    out.row = rows.at;
    return out;
}

Saved saved_by_layer(Arena *arena, const Session *session, const MemoryAccount *account,
                     int64_t rank)
{
    const Graph *graph = session->graph;
    if (!graph->phase)
        return (Saved){0};
    int64_t *bytes = arena_array(arena, int64_t, graph->n_ops + 1);
    const int32_t *first = groups_first_members(arena, session->groups, graph->n_ops);
    SavedListing list = {.arena = arena, .session = session};
    Intern *keys = intern_new(arena);
    memory_saved(account, rank, bytes);
    for (int i = 0; i < session->inferred->n_program; i++) {
        int32_t op = session->inferred->program[i];
        if (bytes[op] > 0)
            add_op(&list, keys, first, op, bytes[op]);
    }
    sum_layers(&list);
    if (list.all.n > 0)
        qsort(list.all.at, (size_t)list.all.n, sizeof *list.all.at, more_first);
    return put_rows(&list);
}
