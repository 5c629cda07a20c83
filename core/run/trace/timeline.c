#include "core/run/trace/timeline.h"

#include "core/base/intern.h"
#include "core/cost/cost.h"
#include "core/plan/edges.h"
#include "core/summary/label.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

void timeline_free(Timeline *timeline)
{
    if (timeline)
        arena_free(timeline->arena);
}

/* ---- spans ---- */

/* Reshards by op: before their first reader, unread ones after their maker. */
typedef struct {
    int32_t *first, *next;
    bool *after;
} Standing;

static Standing place_reshards(Arena *scratch, const Session *session)
{
    const Plan *plan = session->plan;
    Standing out = {arena_array(scratch, int32_t, session->graph->n_ops),
                    arena_array(scratch, int32_t, plan->moved->n_reshards),
                    arena_array(scratch, bool, plan->moved->n_reshards)};

    memset(out.first, 0xff, sizeof(int32_t) * (size_t)session->graph->n_ops);
    for (int32_t r = plan->moved->n_reshards - 1; r >= 0; r--) {
        const Reshard *reshard = &plan->moved->reshards[r];
        int32_t op = reshard_beside(plan, reshard, &out.after[r]);
        if (op < 0)
            op = session->inferred->n_program > 0 ? session->inferred->program[0] : -1;
        if (op < 0)
            continue;
        out.next[r] = out.first[op];
        out.first[op] = r;
    }
    return out;
}

static void add_span(Timeline *timeline, const Plan *plan, int32_t op, int32_t reshard, double us)
{
    int devices = op >= 0 ? plan_devices(plan, op) : plan->moved->reshards[reshard].to_devices;

    timeline->span[timeline->n++] = (TimeSpan){.start_us = timeline->us,
                                               .us = us,
                                               .op = op,
                                               .reshard = reshard,
                                               .kind = KIND_RESHARD,
                                               .part = (int16_t)devices,
                                               .row = -1};
    timeline->us += us;
}

static void add_reshards(Timeline *timeline, const Plan *plan, const Standing *standing, int32_t op,
                         bool after)
{
    for (int32_t r = standing->first[op]; r >= 0; r = standing->next[r])
        if (standing->after[r] == after)
            add_span(timeline, plan, -1, r,
                     reshard_repeat(plan, &plan->moved->reshards[r]) *
                         plan->moved->reshards[r].path->us);
}

static void list_spans(Timeline *timeline, const Session *session)
{
    const Inferred *inferred = session->inferred;
    const Plan *plan = session->plan;
    Arena *scratch = arena_new();
    Standing standing = place_reshards(scratch, session);

    timeline->span =
        arena_array(timeline->arena, TimeSpan, inferred->n_program + plan->moved->n_reshards);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        add_reshards(timeline, plan, &standing, op, false);
        add_span(timeline, plan, op, -1, plan->priced->op_us[op]);
        add_reshards(timeline, plan, &standing, op, true);
    }
    arena_free(scratch);
}

/* Renumbers sub-meshes to those in use. */
static void list_parts(Timeline *timeline, const Plan *plan)
{
    Arena *scratch = arena_new();
    int16_t *place = arena_array(scratch, int16_t, plan->decided->n_submeshes + 1);

    timeline->part = arena_array(timeline->arena, int16_t, plan->decided->n_submeshes + 1);
    memset(place, 0xff, sizeof *place * (size_t)(plan->decided->n_submeshes + 1));
    for (int i = 0; i < timeline->n; i++) {
        const TimeSpan *span = &timeline->span[i];
        if (span->us <= 0 || place[span->part] >= 0)
            continue;
        place[span->part] = (int16_t)timeline->n_parts;
        timeline->part[timeline->n_parts++] = span->part;
    }
    for (int i = 0; i < timeline->n; i++) {
        TimeSpan *span = &timeline->span[i];
        span->part = place[span->part] > 0 ? place[span->part] : 0;
    }
    arena_free(scratch);
}

/* ---- kinds ---- */

static int slowest_first(const void *a, const void *b)
{
    const TimeKind *x = a, *y = b;

    if (x->us != y->us)
        return x->us < y->us ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* A free letter of the name, or any. */
static char free_letter(const char *name, bool *taken)
{
    for (const char *s = name; *s; s++) {
        if (!isalpha((unsigned char)*s))
            continue;
        for (int other = 0; other < 2; other++) {
            int letter = s == name && !other ? tolower(*s) : toupper(*s);
            letter = other && s != name ? tolower(*s) : letter;
            if (!taken[letter]) {
                taken[letter] = true;
                return (char)letter;
            }
        }
    }
    for (int letter = '0'; letter <= '9'; letter++)
        if (!taken[letter]) {
            taken[letter] = true;
            return (char)letter;
        }
    return '?';
}

static void name_kinds(Timeline *timeline, const Session *session)
{
    const Graph *graph = session->graph;
    Arena *arena = timeline->arena, *scratch = arena_new();
    Intern *names = intern_new(scratch);
    int n_names = names_count(graph->names), n = 0;
    TimeKind *kinds = arena_array(scratch, TimeKind, n_names + 1);
    int32_t *kind_of = arena_array(scratch, int32_t, n_names + 1); /* by operator; reshards: last */

    memset(kind_of, 0xff, sizeof *kind_of * (size_t)(n_names + 1));
    for (int i = 0; i < timeline->n; i++) {
        const TimeSpan *span = &timeline->span[i];
        int32_t *id = &kind_of[span->op < 0 ? n_names : graph->ops[span->op].op_type];
        if (*id < 0) {
            const char *name = span->op < 0 ? "reshard" : label_operator(graph, span->op);
            *id = intern_put(names, name, strlen(name));
            if (*id == n)
                kinds[n++] = (TimeKind){.name = name, .letter = '?'};
        }
        kinds[*id].us += span->us;
        kinds[*id].n++;
    }
    for (int i = 0; i < n; i++) /* reshards come first */
        if (strcmp(kinds[i].name, "reshard") == 0)
            kinds[i].us = INFINITY;
    qsort(kinds, (size_t)n, sizeof *kinds, slowest_first);
    bool reshards = n > 0 && kinds[0].us == INFINITY, taken[128] = {false};
    timeline->kind = arena_array(arena, TimeKind, n + 1);
    timeline->kind[0] = (TimeKind){.name = "reshard", .letter = '%'};
    memcpy(timeline->kind + 1, kinds + reshards, sizeof *kinds * (size_t)(n - reshards));
    timeline->n_kinds = n - reshards + 1;
    for (int k = 1; k < timeline->n_kinds; k++)
        if (timeline->kind[k].us > 0 && k < TIME_KINDS_MAX)
            timeline->kind[k].letter = free_letter(timeline->kind[k].name, taken);
    int16_t *place = arena_array(scratch, int16_t, n + 1);
    for (int k = 0; k < timeline->n_kinds; k++) {
        int32_t id = intern_find(names, timeline->kind[k].name, strlen(timeline->kind[k].name));
        place[id < 0 ? n : id] = (int16_t)k;
    }
    timeline->kind[0].n = 0;
    timeline->kind[0].us = 0;
    for (int i = 0; i < timeline->n; i++) {
        TimeSpan *span = &timeline->span[i];
        span->kind = place[kind_of[span->op < 0 ? n_names : graph->ops[span->op].op_type]];
        timeline->kind[0].n += span->op < 0;
        timeline->kind[0].us += span->op < 0 ? span->us : 0;
    }
    arena_free(scratch);
}

/* ---- rows ---- */

static void put_label(const Session *session, const TimeSpan *span, Arena *scratch, Buf *out)
{
    const Plan *plan = session->plan;

    if (span->op >= 0) {
        text_wildcard(label_op(session, scratch, span->op), out);
        return;
    }
    const Reshard *reshard = &plan->moved->reshards[span->reshard];
    reshard_format_steps(reshard->path, plan->mesh, out);
    buf_putc(out, ' ');
    text_wildcard(label_tensor(session, scratch, reshard->tensor), out);
}

/* A row per kind, in order of first use. */
static void fold_kinds(Timeline *timeline)
{
    Arena *scratch = arena_new();
    int32_t *row_of = arena_array(scratch, int32_t, timeline->n_kinds);

    memset(row_of, 0xff, sizeof *row_of * (size_t)timeline->n_kinds);
    timeline->row = arena_array(timeline->arena, TimeRow, timeline->n_kinds);
    for (int i = 0; i < timeline->n; i++) {
        TimeSpan *span = &timeline->span[i];
        int32_t *row = &row_of[span->kind];
        if (*row < 0) {
            *row = timeline->n_rows++;
            timeline->row[*row] =
                (TimeRow){.label = timeline->kind[span->kind].name, .first = i, .kind = span->kind};
        }
        span->row = *row;
        timeline->row[*row].n++;
        timeline->row[*row].us += span->us;
    }
    arena_free(scratch);
}

static void fold_rows(Timeline *timeline, const Session *session)
{
    Arena *scratch = arena_new();
    Intern *labels = intern_new(scratch);

    timeline->row = arena_array(timeline->arena, TimeRow, timeline->n);
    for (int i = 0; i < timeline->n; i++) {
        TimeSpan *span = &timeline->span[i];
        Buf label = buf_new(scratch);
        buf_printf(&label, "%d ", span->kind);
        size_t head = label.n;
        put_label(session, span, scratch, &label);
        span->row = intern_put(labels, label.s, label.n);
        TimeRow *row = &timeline->row[span->row];
        if (span->row == timeline->n_rows) {
            Str text = {label.s + head, label.n - head};
            *row = (TimeRow){
                .label = arena_str(timeline->arena, text), .first = i, .kind = span->kind};
            timeline->n_rows++;
        }
        row->n++;
        row->us += span->us;
    }
    arena_free(scratch);
}

static double distance_of(const TimeRow *row)
{
    return row->measured_us > 0 ? fabs(row->measured_us - row->us) : row->us;
}

static int largest_error_first(const void *a, const void *b)
{
    const TimeRow *x = a, *y = b;
    double dx = distance_of(x), dy = distance_of(y);

    if (dx != dy)
        return dx < dy ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void sort_rows(Timeline *timeline)
{
    Arena *scratch = arena_new();
    int32_t *place = arena_array(scratch, int32_t, timeline->n);

    for (int r = 0; r < timeline->n_rows; r++)
        place[timeline->row[r].first] = timeline->span[timeline->row[r].first].row;
    int32_t *to = arena_array(scratch, int32_t, timeline->n_rows);
    qsort(timeline->row, (size_t)timeline->n_rows, sizeof *timeline->row, largest_error_first);
    for (int r = 0; r < timeline->n_rows; r++)
        to[place[timeline->row[r].first]] = r;
    for (int i = 0; i < timeline->n; i++)
        timeline->span[i].row = to[timeline->span[i].row];
    arena_free(scratch);
}

/* ---- all ---- */

Timeline *timeline_new(const Session *session)
{
    Arena *arena = arena_new();
    Timeline *timeline = arena_make(arena, Timeline);

    *timeline = (Timeline){.arena = arena};
    list_spans(timeline, session);
    list_parts(timeline, session->plan);
    name_kinds(timeline, session);
    if (session->inferred->n_program > FOLDED_OPS_MAX)
        fold_kinds(timeline);
    else
        fold_rows(timeline, session);
    sort_rows(timeline);
    return timeline;
}

/* Of one micro-batch, in the mean. */
static double span_measured_us(const RunReport *report, const TimeSpan *span)
{
    bool op = span->op >= 0;
    const double *times = op ? report->op_times : report->reshard_times;
    int32_t at = op ? span->op : span->reshard;
    double us = op ? report->op_us[at] : report->reshard_us[at];
    return times && times[at] > 1 ? us / times[at] : us;
}

void timeline_measure(Timeline *timeline, const RunReport *report)
{
    for (int r = 0; r < timeline->n_rows; r++)
        timeline->row[r].measured_us = 0;
    for (int k = 0; k < timeline->n_kinds; k++)
        timeline->kind[k].measured_us = 0;
    for (int i = 0; i < timeline->n; i++) {
        const TimeSpan *span = &timeline->span[i];
        double us = span_measured_us(report, span);
        timeline->row[span->row].measured_us += us;
        timeline->kind[span->kind].measured_us += us;
    }
    sort_rows(timeline);
}

int timeline_at(const Timeline *timeline, double us)
{
    int low = 0, high = timeline->n - 1;

    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (timeline->span[middle].start_us <= us)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int timeline_of_op(const Timeline *timeline, int32_t op)
{
    for (int i = 0; i < timeline->n; i++)
        if (timeline->span[i].op == op)
            return i;
    return 0;
}
