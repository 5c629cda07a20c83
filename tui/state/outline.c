#include "tui/state/outline_state.h"

/* The position of a cursor in one open group. */
typedef struct {
    int32_t base, child, at, end; /* child: the next to come, -1 when none is left */
    int depth;
    int64_t times;
    const int32_t *item; /* of a sorted group, from the next to come on; NULL: program order */
    int32_t n_items;
} Frame;

typedef struct {
    Outline *outline;
    int n;
    Frame frame[OUTLINE_DEPTH_MAX + 2];
    int64_t input;     /* the next graph input to list */
    int64_t parameter; /* the next row of the parameters */
} OutlineCursor;

Outline *outline_new(Arena *arena)
{
    return arena_make(arena, Outline);
}

void outline_free(Outline *outline)
{
    arena_free(outline->sort_arena);
    arena_free(outline->arena);
    arena_free(outline->kept_arena);
}

void outline_detach(Outline *outline)
{
    const Groups *groups = outline->groups;

    if (!groups)
        return;
    arena_free(outline->kept_arena);
    outline->kept_arena = arena_new();
    outline->kept = intern_new(outline->kept_arena);
    outline->kept_marks = arena_array(outline->kept_arena, uint8_t, groups->n_groups);
    for (int g = 0; g < groups->n_groups; g++) {
        const char *path = groups->groups[g].path;
        if (outline->marks[g] & MARK_KEPT)
            outline->kept_marks[intern_put(outline->kept, path, strlen(path))] |=
                outline->marks[g] & MARK_KEPT;
    }
    outline->groups = NULL;
}

void outline_set(Outline *outline, const Graph *graph, const Groups *groups)
{
    outline_detach(outline);
    arena_free(outline->arena);
    outline->arena = arena_new();
    outline->graph = graph;
    outline->groups = groups;
    outline->pass = NULL;
    outline_set_parameters(outline, 0, NULL, 0);
    outline->inputs = graph->inputs;
    outline->n_inputs = graph->n_inputs;
    outline->marks = arena_array(outline->arena, uint8_t, groups->n_groups);
    outline->content = arena_array(outline->arena, int32_t, groups->n_groups);
    outline->place = arena_array(outline->arena, int32_t, graph->n_ops);
    forget_counts(outline);
    memset(outline->place, 0xff, sizeof(int32_t) * (size_t)graph->n_ops);
    for (int32_t i = 0; i < groups->n_order; i++)
        outline->place[groups->order[i]] = i;
    for (int g = 0; g < groups->n_groups && outline->kept && intern_count(outline->kept) > 0; g++) {
        const char *path = groups->groups[g].path;
        int32_t id = intern_find(outline->kept, path, strlen(path));
        if (id >= 0)
            outline->marks[g] = outline->kept_marks[id];
        /* What was open as one stands open as several. */
        if (outline->marks[g] & MARK_OPEN && groups->groups[g].alike_n > groups->groups[g].fold_n)
            outline->marks[g] |= MARK_CLASSES;
    }
    outline->marks[0] |= MARK_OPEN;
}

static bool is_number(const char *name)
{
    for (const char *s = name; *s; s++)
        if (*s < '0' || *s > '9')
            return false;
    return *name != '\0';
}

/* Nothing but numbered groups and cycles of them, two or more: it has no row of its own. */
static bool is_list(Outline *outline, int32_t group)
{
    uint8_t *mark = &outline->marks[group];
    const Group *all = outline->groups->groups;

    if (*mark & MARK_LIST_KNOWN)
        return *mark & MARK_LIST;
    if (all[group].depth >= OUTLINE_DEPTH_MAX || all[group].cycle)
        return false;
    int32_t covered = 0, n = 0;
    bool numbers = true;
    for (int32_t c = all[group].child; c >= 0 && numbers; c = all[c].next) {
        covered += all[c].n;
        numbers = all[c].cycle || is_number(all[c].name);
        n++;
    }
    *mark |= MARK_LIST_KNOWN;
    if (numbers && n > 1 && covered == all[group].n)
        *mark |= MARK_LIST;
    return *mark & MARK_LIST;
}

/* Through groups whose only member is a group: the one whose content the row shows. */
int32_t outline_inner(Outline *outline, int32_t group)
{
    const Group *all = outline->groups->groups;

    while (all[group].child >= 0 && all[all[group].child].n == all[group].n &&
           !is_list(outline, all[group].child))
        group = all[group].child;
    return group;
}

/* ---- what passes the filter ---- */

/* The first index from `from` on with n that pass between; `end` if there are fewer. */
static int32_t after_passing(const Outline *outline, int32_t from, int32_t end, int32_t n)
{
    int32_t low = from, high = end;

    if (!outline->pass)
        return n < end - from ? from + n : end;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (passing(outline, from, middle) < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The next op that passes, or `end`. */
static int32_t next_passing(const Outline *outline, int32_t from, int32_t end)
{
    if (!outline->pass || from == end)
        return from;
    return passing(outline, from, end) > 0 ? after_passing(outline, from, end, 1) - 1 : end;
}

/* ---- folds ---- */

static bool is_mixed(Outline *outline, int32_t group)
{
    const Group *g = &outline->groups->groups[group];
    return g->alike == group && g->alike_n > g->fold_n &&
           !is_listed(outline, group, MARK_CLASSES | MARK_SPREAD) && !is_list(outline, group);
}

int outline_fold_n(Outline *outline, int32_t group)
{
    const Group *g = &outline->groups->groups[group];
    if (is_mixed(outline, group))
        return g->alike_n;
    return g->fold == group && !is_listed(outline, group, MARK_SPREAD) ? (int)g->fold_n : 1;
}

static bool is_open(const Outline *outline, int32_t group)
{
    return (outline->marks[group] & MARK_OPEN) &&
           outline->groups->groups[group].depth < OUTLINE_DEPTH_MAX;
}

static int32_t content_rows(Outline *outline, int32_t group);

/* Ops of a child that pass, with all members that its row shows. */
static int32_t child_passing(Outline *outline, int32_t child)
{
    const Group *g = &outline->groups->groups[child];
    return passing(outline, g->first, g->first + g->n * outline_fold_n(outline, child));
}

/* Rows that stand for a child: its own and what it shows; none where nothing of it passes. */
static int32_t child_rows(Outline *outline, int32_t child)
{
    if (child_passing(outline, child) == 0)
        return 0;
    if (is_list(outline, child))
        return content_rows(outline, child);
    int32_t in = outline_inner(outline, child);
    bool shows =
        outline->groups->groups[in].n > 1 && is_open(outline, in) && !is_mixed(outline, child);
    return 1 + (shows ? content_rows(outline, in) : 0);
}

static int32_t content_rows(Outline *outline, int32_t group)
{
    const Group *all = outline->groups->groups;

    if (outline->content[group] >= 0)
        return outline->content[group];
    int32_t rows = passing(outline, all[group].first, all[group].first + all[group].n);
    for (int32_t c = all[group].child; c >= 0;) {
        rows += child_rows(outline, c) - child_passing(outline, c);
        c = skip_fold(outline, c, outline_fold_n(outline, c));
    }
    outline->content[group] = rows;
    return rows;
}

int64_t outline_n_rows(Outline *outline)
{
    return outline->n_inputs + (int64_t)content_rows(outline, 0) + parameter_rows(outline);
}

static const int32_t *sorted_items(Outline *outline, int32_t group, int32_t *n);

static Frame frame_of(Outline *outline, int32_t group, int32_t base, int depth, int64_t times)
{
    const Group *g = &outline->groups->groups[group];
    Frame frame = {base, g->child, g->first, g->first + g->n, depth, times, NULL, 0};

    if (outline->key)
        frame.item = sorted_items(outline, group, &frame.n_items);
    return frame;
}

static bool frame_ended(const Frame *frame)
{
    return frame->item ? frame->n_items == 0 : frame->at == frame->end;
}

static OutlineCursor cursor_start(Outline *outline)
{
    OutlineCursor cursor = {.outline = outline, .n = 1};
    cursor.frame[0] = frame_of(outline, 0, 0, 0, 1);
    return cursor;
}

static OutlineRow op_row(const Outline *outline, const Frame *frame, int32_t head, int fold_n)
{
    return (OutlineRow){.kind = ROW_OP,
                        .id = outline->groups->order[frame->at],
                        .op = outline->groups->order[frame->at],
                        .head = head,
                        .base = frame->base,
                        .first = frame->at,
                        .n = fold_n,
                        .depth = frame->depth,
                        .fold_n = fold_n,
                        .times = frame->times * fold_n};
}

/* The row of the child that comes next; the frame moves past it. False for a list of layers, which
 * has none. *in: the group whose content follows when it is open. */
static bool child_row(Outline *outline, Frame *frame, OutlineRow *row, int32_t *in)
{
    const Group *all = outline->groups->groups;
    int32_t head = frame->child;
    int fold_n = outline_fold_n(outline, head);
    bool list = is_list(outline, head);

    *in = list ? head : outline_inner(outline, head);
    *row = op_row(outline, frame, head, fold_n);
    row->mixed = is_mixed(outline, head);
    if (all[*in].n > 1 || row->mixed) {
        row->kind = ROW_GROUP;
        row->id = *in;
        row->open = list || (is_open(outline, *in) && !row->mixed);
    }
    row->n = all[head].n * fold_n;
    frame->at += row->n;
    frame->child = skip_fold(outline, head, fold_n);
    return !list;
}

/* Where the ops right in the group end for now: at its next child. */
static int32_t run_end_of(const Outline *outline, const Frame *frame)
{
    return frame->child < 0 ? frame->end : outline->groups->groups[frame->child].first;
}

/* ---- sorted groups ---- */

/* Stands a sorted frame at its next item. True when that is a child. */
static bool frame_take(const Outline *outline, Frame *frame)
{
    int32_t item = *frame->item++;

    frame->n_items--;
    frame->child = item < 0 ? item - SORTED_CHILD : -1;
    frame->at = item < 0 ? outline->groups->groups[frame->child].first : item;
    return item < 0;
}

typedef struct {
    int32_t item;
    double key;
} SortItem;

static int by_key(const void *a, const void *b)
{
    const SortItem *x = a, *y = b;

    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? 1 : -1;
    return 0;
}

/* By merging, so that equal ones keep their order. */
static void sort_items(Arena *arena, SortItem *item, int32_t n)
{
    SortItem *from = item, *to = arena_array(arena, SortItem, n);

    for (int32_t run = 1; run < n; run *= 2) {
        for (int32_t start = 0, out = 0; start < n; start += 2 * run) {
            int32_t a = start, end_a = start + run < n ? start + run : n;
            int32_t b = end_a, end_b = start + 2 * run < n ? start + 2 * run : n;
            while (a < end_a || b < end_b)
                to[out++] = b == end_b || (a < end_a && by_key(&from[a], &from[b]) <= 0)
                                ? from[a++]
                                : from[b++];
        }
        SortItem *swap = from;
        from = to;
        to = swap;
    }
    if (from != item)
        memcpy(item, from, sizeof *item * (size_t)n);
}

/* The rows right in a group, in the order they are listed. NULL: program order. */
static const int32_t *sorted_items(Outline *outline, int32_t group, int32_t *n)
{
    const Group *all = outline->groups->groups;
    Frame frame = {
        group, all[group].child, all[group].first, all[group].first + all[group].n, 0, 1, NULL, 0};

    if (!outline->sorted) {
        outline->sort_arena = arena_new();
        outline->sorted = arena_array(outline->sort_arena, int32_t *, outline->groups->n_groups);
    }
    if (outline->sorted[group]) {
        *n = outline->sorted[group][0];
        return outline->sorted[group] + 1;
    }
    if (passing(outline, frame.at, frame.end) > SORT_MAX)
        return NULL;
    Vec(SortItem) items = {0};
    while (frame.at < frame.end) {
        int32_t child = frame.child, in;
        OutlineRow row;
        if (frame.at < run_end_of(outline, &frame)) {
            row = op_row(outline, &frame, -1, 1);
            if (passing(outline, frame.at, frame.at + 1))
                vec_push(outline->sort_arena, &items,
                         (SortItem){frame.at, outline->key(outline->key_context, &row)});
            frame.at++;
            continue;
        }
        bool passes = child_passing(outline, child) > 0;
        child_row(outline, &frame, &row, &in);
        if (passes)
            vec_push(outline->sort_arena, &items,
                     (SortItem){SORTED_CHILD + child, outline->key(outline->key_context, &row)});
    }
    sort_items(outline->sort_arena, items.at, items.n);
    int32_t *list = arena_array(outline->sort_arena, int32_t, items.n + 1);
    list[0] = items.n;
    for (int i = 0; i < items.n; i++)
        list[i + 1] = items.at[i].item;
    outline->sorted[group] = list;
    *n = items.n;
    return list + 1;
}

int outline_version(const Outline *outline)
{
    return outline->version;
}

void outline_sort(Outline *outline, double (*key)(const void *context, const OutlineRow *row),
                  const void *context)
{
    outline->key = key;
    outline->key_context = context;
    forget_counts(outline);
}

/* The next row; opens groups on the way. False at the end. */
static bool cursor_next(OutlineCursor *cursor, OutlineRow *row)
{
    Outline *outline = cursor->outline;

    if (cursor->input < outline->n_inputs) {
        *row = (OutlineRow){.kind = ROW_INPUT,
                            .id = outline->inputs[cursor->input++],
                            .op = -1,
                            .head = -1,
                            .fold_n = 1,
                            .times = 1};
        return true;
    }
    while (cursor->n > 0) {
        Frame *frame = &cursor->frame[cursor->n - 1];
        if (frame_ended(frame)) {
            cursor->n--;
            continue;
        }
        bool at_child = frame->item && frame_take(outline, frame);
        int32_t run_end = frame->item ? frame->at + !at_child : run_end_of(outline, frame);
        if (frame->at < run_end) {
            frame->at = next_passing(outline, frame->at, run_end);
            if (frame->at == run_end)
                continue;
            *row = op_row(outline, frame, -1, 1);
            frame->at++;
            return true;
        }
        int32_t in;
        bool passes = child_passing(outline, frame->child) > 0;
        bool has_row = child_row(outline, frame, row, &in);
        if (passes && row->kind == ROW_GROUP && row->open)
            cursor->frame[cursor->n++] = frame_of(outline, in, has_row ? in : frame->base,
                                                  frame->depth + (has_row ? 1 : 0), row->times);
        if (passes && has_row)
            return true;
    }
    if (cursor->parameter >= parameter_rows(outline))
        return false;
    *row = outline_parameter_row(outline, cursor->parameter++);
    return true;
}

/* Moves over whole runs of ops and whole closed children; leaves `skip` rows less than one of them
 * to be walked. */
static int64_t frame_skip(Outline *outline, Frame *frame, int64_t skip)
{
    while (frame->item && skip > 0 && frame->n_items > 0) {
        int32_t rows = *frame->item < 0 ? child_rows(outline, *frame->item - SORTED_CHILD) : 1;
        if (rows > skip)
            return skip;
        skip -= rows;
        frame_take(outline, frame);
    }
    while (!frame->item && skip > 0 && frame->at < frame->end) {
        int32_t run_end = run_end_of(outline, frame);
        if (frame->at < run_end) {
            int64_t run = passing(outline, frame->at, run_end);
            frame->at =
                run <= skip ? run_end : after_passing(outline, frame->at, run_end, (int32_t)skip);
            skip -= run <= skip ? run : skip;
            continue;
        }
        int32_t rows = child_rows(outline, frame->child), in;
        if (rows > skip)
            return skip;
        OutlineRow row;
        child_row(outline, frame, &row, &in);
        skip -= rows;
    }
    return skip;
}

static OutlineCursor cursor_from(Outline *outline, int64_t i)
{
    OutlineCursor cursor = cursor_start(outline);
    int64_t n_inputs = outline->n_inputs;

    cursor.input = i < n_inputs ? i : n_inputs;
    int64_t skip = i - cursor.input;
    while (skip > 0 && cursor.n > 0) {
        Frame *frame = &cursor.frame[cursor.n - 1];
        OutlineRow row;
        int32_t in;
        skip = frame_skip(outline, frame, skip);
        if (skip == 0)
            break;
        if (frame_ended(frame)) {
            cursor.n--;
            continue;
        }
        if (frame->item)
            frame_take(outline, frame);
        bool has_row = child_row(outline, frame, &row, &in);
        cursor.frame[cursor.n++] = frame_of(outline, in, has_row ? in : frame->base,
                                            frame->depth + (has_row ? 1 : 0), row.times);
        skip -= has_row ? 1 : 0;
    }
    cursor.parameter = skip;
    return cursor;
}

int outline_rows(Outline *outline, int64_t i, int n, OutlineRow *rows)
{
    OutlineCursor cursor = cursor_from(outline, i);
    int have = 0;

    while (have < n && cursor_next(&cursor, &rows[have]))
        have++;
    return have;
}

bool outline_at(Outline *outline, int64_t i, OutlineRow *row)
{
    return i >= 0 && outline_rows(outline, i, 1, row) == 1;
}

/* One level of the way down to a place in the order: rows before it in this frame, and the child it
 * is in, if any. The place moves into the first member of a fold that is shown by it. */
typedef struct {
    int64_t before;
    OutlineRow row;
    int32_t in;
    bool in_child, has_row;
} SortedLevel;

static SortedLevel descend_sorted(Outline *outline, Frame *frame, int32_t *place)
{
    SortedLevel level = {0};
    const Group *all = outline->groups->groups;

    while (frame->n_items > 0) {
        bool at_child = frame_take(outline, frame);
        int32_t rows = at_child ? child_rows(outline, frame->child) : 1;
        if (!at_child && frame->at == *place) {
            level.row = op_row(outline, frame, -1, 1);
            return level;
        }
        if (at_child) {
            const Group *head = &all[frame->child];
            level.has_row = child_row(outline, frame, &level.row, &level.in);
            if (*place >= head->first && *place < frame->at) {
                *place = head->first + (*place - head->first) % head->n;
                level.in_child = rows > 0;
                return level;
            }
        }
        level.before += rows;
    }
    return level;
}

static SortedLevel descend(Outline *outline, Frame *frame, int32_t *place)
{
    SortedLevel level = {0};
    const Group *all = outline->groups->groups;

    if (frame->item)
        return descend_sorted(outline, frame, place);

    for (;;) {
        int32_t run_end = run_end_of(outline, frame);
        if (*place < run_end) {
            level.before += passing(outline, frame->at, *place);
            frame->at = *place;
            level.row = op_row(outline, frame, -1, 1);
            return level;
        }
        level.before += passing(outline, frame->at, run_end);
        frame->at = run_end;
        int32_t head = frame->child, rows = child_rows(outline, head);
        level.has_row = child_row(outline, frame, &level.row, &level.in);
        if (*place < frame->at) {
            *place = all[head].first + (*place - all[head].first) % all[head].n;
            level.in_child = rows > 0;
            return level;
        }
        level.before += rows;
    }
}

int64_t outline_find(Outline *outline, int32_t op, bool *exact)
{
    int32_t place = outline->place[op];
    int64_t at = outline->n_inputs;
    Frame frame = frame_of(outline, 0, 0, 0, 1);

    if (exact)
        *exact = true;
    if (place < 0)
        return -1;
    for (;;) {
        SortedLevel level = descend(outline, &frame, &place);
        at += level.before;
        if (!level.in_child || level.row.kind == ROW_OP) {
            if (exact)
                *exact = passing(outline, place, place + 1) > 0;
            return at;
        }
        if (!level.row.open) {
            if (exact)
                *exact = false;
            return at;
        }
        at += level.has_row ? 1 : 0;
        frame = frame_of(outline, level.in, level.in, 0, 1);
    }
}

int64_t outline_find_row(Outline *outline, const OutlineRow *row)
{
    if (row->kind == ROW_INPUT) {
        for (int64_t i = 0; i < outline->n_inputs; i++)
            if (outline->inputs[i] == row->id)
                return i;
        return 0;
    }
    if (!row_has_ops(row))
        return outline_find_parameter(outline, row);
    int64_t at = outline_find(outline, row->op, NULL);
    OutlineRow here;
    if (at < 0)
        return 0;
    while (row->kind == ROW_GROUP && at > 0 && outline_at(outline, at, &here) &&
           !(here.kind == ROW_GROUP && here.id == row->id) && here.depth > row->depth)
        at--;
    return at;
}

/* Opens the way to an op, or to the row of a group around it (-1: to the op itself). */
static void reveal(Outline *outline, int32_t op, int32_t group)
{
    int32_t place = outline->place[op];
    Frame frame = frame_of(outline, 0, 0, 0, 1);

    while (place >= 0) {
        int32_t want = place;
        SortedLevel level = descend(outline, &frame, &place);
        if (!level.in_child)
            break;
        if (level.row.mixed || place != want) { /* the rows are others then: from the top again */
            if (level.row.mixed)
                outline->marks[level.row.head] |= MARK_CLASSES;
            else
                outline_list_members(outline, level.row.head);
            forget_counts(outline);
            frame = frame_of(outline, 0, 0, 0, 1);
            place = outline->place[op];
            continue;
        }
        if (level.row.kind == ROW_OP || level.in == group || level.row.head == group ||
            outline->groups->groups[level.in].depth >= OUTLINE_DEPTH_MAX)
            break;
        outline->marks[level.in] |= MARK_OPEN;
        frame = frame_of(outline, level.in, level.in, 0, 1);
    }
    forget_counts(outline);
}

void outline_reveal(Outline *outline, int32_t op)
{
    reveal(outline, op, -1);
}

void outline_reveal_group(Outline *outline, int32_t group)
{
    reveal(outline, outline->groups->order[outline->groups->groups[group].first], group);
}

int64_t outline_parent(Outline *outline, int64_t i)
{
    OutlineRow row = {.kind = ROW_INPUT};

    if (outline_at(outline, i, &row) && row.kind == ROW_PARAMETER)
        return outline_find_parameter(outline, &(OutlineRow){.kind = ROW_PARAMETERS});
    if (!row_has_ops(&row) || row.base == 0)
        return -1;
    int32_t place = outline->groups->groups[row.base].first;
    int64_t at = outline->n_inputs;
    Frame frame = frame_of(outline, 0, 0, 0, 1);
    for (;;) {
        SortedLevel level = descend(outline, &frame, &place);
        at += level.before;
        if (!level.in_child || level.row.kind == ROW_OP)
            return -1;
        if (level.has_row && level.row.id == row.base)
            return at;
        at += level.has_row ? 1 : 0;
        frame = frame_of(outline, level.in, level.in, 0, 1);
    }
}

const Groups *outline_groups(const Outline *outline)
{
    return outline->groups;
}

int32_t outline_position(const Outline *outline, int32_t op)
{
    return outline->place[op];
}
