#include "tui/views/outline.h"

enum { FOLD_LEVELS = 16 }; /* nested folds that are looked at */
enum { MARK_OPEN = 1, MARK_SPREAD = 2, MARK_LIST_KNOWN = 4, MARK_LIST = 8, MARK_KEPT = 3 };

struct Outline {
    Arena *arena; /* of what follows from the groups */
    Arena *kept_arena;
    Intern *kept;        /* paths of marked groups, while there are no groups */
    uint8_t *kept_marks; /* by id */
    const Graph *graph;
    const Groups *groups;
    uint8_t *marks;   /* per group */
    int32_t *content; /* per group: rows listed in it when open; -1: not counted yet */
    int32_t *place;   /* per op: in groups->order, -1 */
};

/* Where a walk is in one open group. */
typedef struct {
    int32_t base, child, at, end; /* child: the next to come, -1 when none is left */
    int depth;
    int64_t times;
} Frame;

typedef struct {
    Outline *outline;
    int n;
    Frame frame[OUTLINE_DEPTH_MAX + 2];
    int64_t input; /* the next graph input to list */
} Walk;

Outline *outline_new(Arena *arena)
{
    return arena_make(arena, Outline);
}

void outline_free(Outline *outline)
{
    arena_free(outline->arena);
    arena_free(outline->kept_arena);
}

static void forget_counts(Outline *outline)
{
    memset(outline->content, 0xff, sizeof(int32_t) * (size_t)outline->groups->n_groups);
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

/* Nothing but numbered groups, two or more of them: it has no row of its own. */
static bool is_list(Outline *outline, int32_t group)
{
    uint8_t *mark = &outline->marks[group];
    const Group *all = outline->groups->groups;

    if (*mark & MARK_LIST_KNOWN)
        return *mark & MARK_LIST;
    if (all[group].depth >= OUTLINE_DEPTH_MAX)
        return false;
    int32_t covered = 0, n = 0;
    bool numbers = true;
    for (int32_t c = all[group].child; c >= 0 && numbers; c = all[c].next) {
        covered += all[c].n;
        numbers = is_number(all[c].name);
        n++;
    }
    *mark |= MARK_LIST_KNOWN;
    if (numbers && n > 1 && covered == all[group].n)
        *mark |= MARK_LIST;
    return *mark & MARK_LIST;
}

/* Through groups whose only member is a group: the one whose content the row shows. */
static int32_t inner(Outline *outline, int32_t group)
{
    const Group *all = outline->groups->groups;

    while (all[group].child >= 0 && all[all[group].child].n == all[group].n &&
           !is_list(outline, all[group].child))
        group = all[group].child;
    return group;
}

/* Members that one row at this group shows. */
static int fold_of(const Outline *outline, int32_t group)
{
    const Group *g = &outline->groups->groups[group];
    return g->fold == group && !(outline->marks[group] & MARK_SPREAD) ? (int)g->fold_n : 1;
}

static int32_t skip_fold(const Outline *outline, int32_t group, int fold_n)
{
    for (int i = 0; i < fold_n && group >= 0; i++)
        group = outline->groups->groups[group].next;
    return group;
}

static bool is_open(const Outline *outline, int32_t group)
{
    return (outline->marks[group] & MARK_OPEN) &&
           outline->groups->groups[group].depth < OUTLINE_DEPTH_MAX;
}

static int32_t content_rows(Outline *outline, int32_t group);

/* Rows that stand for a child: its own and what it shows. */
static int32_t child_rows(Outline *outline, int32_t child)
{
    if (is_list(outline, child))
        return content_rows(outline, child);
    int32_t in = inner(outline, child);
    bool shows = outline->groups->groups[in].n > 1 && is_open(outline, in);
    return 1 + (shows ? content_rows(outline, in) : 0);
}

static int32_t content_rows(Outline *outline, int32_t group)
{
    const Group *all = outline->groups->groups;

    if (outline->content[group] >= 0)
        return outline->content[group];
    int32_t rows = all[group].n;
    for (int32_t c = all[group].child; c >= 0;) {
        int fold_n = fold_of(outline, c);
        rows += child_rows(outline, c) - all[c].n * fold_n;
        c = skip_fold(outline, c, fold_n);
    }
    outline->content[group] = rows;
    return rows;
}

int64_t outline_n_rows(Outline *outline)
{
    return outline->graph->n_inputs + (int64_t)content_rows(outline, 0);
}

static Frame frame_of(const Outline *outline, int32_t group, int32_t base, int depth, int64_t times)
{
    const Group *g = &outline->groups->groups[group];
    return (Frame){base, g->child, g->first, g->first + g->n, depth, times};
}

static Walk walk_start(Outline *outline)
{
    Walk walk = {.outline = outline, .n = 1};
    walk.frame[0] = frame_of(outline, 0, 0, 0, 1);
    return walk;
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
    int fold_n = fold_of(outline, head);
    bool list = is_list(outline, head);

    *in = list ? head : inner(outline, head);
    *row = op_row(outline, frame, head, fold_n);
    if (all[*in].n > 1) {
        row->kind = ROW_GROUP;
        row->id = *in;
        row->open = list || is_open(outline, *in);
    }
    row->n = all[head].n * fold_n;
    frame->at += row->n;
    frame->child = skip_fold(outline, head, fold_n);
    return !list;
}

/* The next row; opens groups on the way. False at the end. */
static bool walk_next(Walk *walk, OutlineRow *row)
{
    const Graph *graph = walk->outline->graph;

    if (walk->input < graph->n_inputs) {
        *row = (OutlineRow){.kind = ROW_INPUT,
                            .id = graph->inputs[walk->input++],
                            .op = -1,
                            .head = -1,
                            .fold_n = 1,
                            .times = 1};
        return true;
    }
    while (walk->n > 0) {
        Frame *frame = &walk->frame[walk->n - 1];
        if (frame->at == frame->end) {
            walk->n--;
            continue;
        }
        if (frame->child < 0 || frame->at < walk->outline->groups->groups[frame->child].first) {
            *row = op_row(walk->outline, frame, -1, 1);
            frame->at++;
            return true;
        }
        int32_t in;
        bool has_row = child_row(walk->outline, frame, row, &in);
        if (row->kind == ROW_GROUP && row->open)
            walk->frame[walk->n++] = frame_of(walk->outline, in, has_row ? in : frame->base,
                                              frame->depth + (has_row ? 1 : 0), row->times);
        if (has_row)
            return true;
    }
    return false;
}

/* Moves over whole runs of ops and whole closed children; leaves `skip` rows less than one of them
 * to be walked. */
static int64_t frame_skip(Outline *outline, Frame *frame, int64_t skip)
{
    while (skip > 0 && frame->at < frame->end) {
        int32_t run_end =
            frame->child < 0 ? frame->end : outline->groups->groups[frame->child].first;
        if (frame->at < run_end) {
            int64_t run = run_end - frame->at < skip ? run_end - frame->at : skip;
            frame->at += (int32_t)run;
            skip -= run;
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

static Walk walk_from(Outline *outline, int64_t i)
{
    Walk walk = walk_start(outline);
    int64_t n_inputs = outline->graph->n_inputs;

    walk.input = i < n_inputs ? i : n_inputs;
    for (int64_t skip = i - walk.input; skip > 0 && walk.n > 0;) {
        Frame *frame = &walk.frame[walk.n - 1];
        OutlineRow row;
        int32_t in;
        skip = frame_skip(outline, frame, skip);
        if (skip == 0)
            break;
        if (frame->at == frame->end) {
            walk.n--;
            continue;
        }
        bool has_row = child_row(outline, frame, &row, &in);
        walk.frame[walk.n++] = frame_of(outline, in, has_row ? in : frame->base,
                                        frame->depth + (has_row ? 1 : 0), row.times);
        skip -= has_row ? 1 : 0;
    }
    return walk;
}

int outline_rows(Outline *outline, int64_t i, int n, OutlineRow *rows)
{
    Walk walk = walk_from(outline, i);
    int have = 0;

    while (have < n && walk_next(&walk, &rows[have]))
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
} Level;

static Level descend(Outline *outline, Frame *frame, int32_t *place)
{
    Level level = {0};
    const Group *all = outline->groups->groups;

    for (;;) {
        int32_t run_end = frame->child < 0 ? frame->end : all[frame->child].first;
        if (*place < run_end) {
            level.before += *place - frame->at;
            frame->at = *place;
            level.row = op_row(outline, frame, -1, 1);
            return level;
        }
        level.before += run_end - frame->at;
        frame->at = run_end;
        int32_t head = frame->child, rows = child_rows(outline, head);
        level.has_row = child_row(outline, frame, &level.row, &level.in);
        if (*place < frame->at) {
            *place = all[head].first + (*place - all[head].first) % all[head].n;
            level.in_child = true;
            return level;
        }
        level.before += rows;
    }
}

int64_t outline_find(Outline *outline, int32_t op, bool *exact)
{
    int32_t place = outline->place[op];
    int64_t at = outline->graph->n_inputs;
    Frame frame = frame_of(outline, 0, 0, 0, 1);

    if (exact)
        *exact = true;
    if (place < 0)
        return -1;
    for (;;) {
        Level level = descend(outline, &frame, &place);
        at += level.before;
        if (!level.in_child || level.row.kind == ROW_OP)
            return at;
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
        for (int64_t i = 0; i < outline->graph->n_inputs; i++)
            if (outline->graph->inputs[i] == row->id)
                return i;
        return 0;
    }
    int64_t at = outline_find(outline, row->op, NULL);
    OutlineRow here;
    if (at < 0)
        return 0;
    while (row->kind == ROW_GROUP && at > 0 && outline_at(outline, at, &here) &&
           !(here.kind == ROW_GROUP && here.id == row->id) && here.depth > row->depth)
        at--;
    return at;
}

/* Lists the members of a fold, all closed: what was open stood for all of them. */
static void spread(Outline *outline, int32_t head)
{
    const Group *all = outline->groups->groups;
    int32_t member = head;

    outline->marks[head] |= MARK_SPREAD;
    for (int32_t i = 0; i < all[head].fold_n && member >= 0; i++, member = all[member].next)
        outline->marks[inner(outline, member)] &= (uint8_t)~MARK_OPEN;
}

/* Opens the way to an op, or to the row of a group around it (-1: to the op itself). */
static void reveal(Outline *outline, int32_t op, int32_t group)
{
    int32_t place = outline->place[op];
    Frame frame = frame_of(outline, 0, 0, 0, 1);

    while (place >= 0) {
        int32_t want = place;
        Frame before = frame;
        Level level = descend(outline, &frame, &place);
        if (!level.in_child)
            break;
        if (place != want) {
            spread(outline, level.row.head);
            frame = before;
            place = want;
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

void outline_open(Outline *outline, const OutlineRow *row, bool open)
{
    if (row->kind != ROW_GROUP)
        return;
    if (open)
        outline->marks[row->id] |= MARK_OPEN;
    else
        outline->marks[row->id] &= (uint8_t)~MARK_OPEN;
    forget_counts(outline);
}

void outline_spread(Outline *outline, const OutlineRow *row, bool listed)
{
    if (row->head < 0)
        return;
    int32_t first = outline->groups->groups[row->head].fold;
    if (listed)
        spread(outline, first);
    else
        outline->marks[first] &= (uint8_t)~MARK_SPREAD;
    forget_counts(outline);
}

bool outline_is_spread(const Outline *outline, const OutlineRow *row)
{
    return row->head >= 0 && outline->marks[outline->groups->groups[row->head].fold] & MARK_SPREAD;
}

void outline_depth(Outline *outline, int depth)
{
    const Groups *groups = outline->groups;

    for (int g = 1; g < groups->n_groups; g++) {
        outline->marks[g] &= (uint8_t) ~(MARK_OPEN | MARK_SPREAD);
        if (groups->groups[g].depth < depth)
            outline->marks[g] |= MARK_OPEN;
    }
    forget_counts(outline);
}

uint8_t *outline_marks(const Outline *outline, Arena *arena)
{
    size_t n = (size_t)outline->groups->n_groups;
    return memcpy(arena_alloc(arena, n), outline->marks, n);
}

void outline_set_marks(Outline *outline, const uint8_t *marks)
{
    memcpy(outline->marks, marks, (size_t)outline->groups->n_groups);
    forget_counts(outline);
}

int64_t outline_parent(Outline *outline, int64_t i)
{
    OutlineRow row;

    if (!outline_at(outline, i, &row) || row.kind == ROW_INPUT || row.base == 0)
        return -1;
    int32_t place = outline->groups->groups[row.base].first;
    int64_t at = outline->graph->n_inputs;
    Frame frame = frame_of(outline, 0, 0, 0, 1);
    for (;;) {
        Level level = descend(outline, &frame, &place);
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

/* The outermost group around an op that is hidden behind the first member of its fold; -1: none. */
static int32_t hidden_member(const Outline *outline, int32_t op)
{
    const Group *all = outline->groups->groups;
    int32_t found = -1;

    for (int32_t g = outline->groups->group_of[op]; g >= 0; g = all[g].parent)
        if (all[g].fold != g && !(outline->marks[all[g].fold] & MARK_SPREAD))
            found = g;
    return found;
}

int32_t outline_shown_op(const Outline *outline, int32_t op)
{
    const Groups *groups = outline->groups;

    if (outline->place[op] < 0)
        return op;
    for (int32_t g = hidden_member(outline, op); g >= 0; g = hidden_member(outline, op)) {
        const Group *member = &groups->groups[g];
        int32_t back = member->first - groups->groups[member->fold].first;
        op = groups->order[outline->place[op] - back];
    }
    return op;
}

/* The folds that a shown op stands for the first member of: how far their members are apart. */
typedef struct {
    int32_t step;
    int n;
} FoldLevel;

static int fold_levels(const Outline *outline, int32_t op, FoldLevel *level)
{
    const Group *all = outline->groups->groups;
    int n = 0;

    for (int32_t g = outline->groups->group_of[op]; g >= 0 && n < FOLD_LEVELS; g = all[g].parent)
        if (all[g].fold == g && all[g].fold_n > 1 && !(outline->marks[g] & MARK_SPREAD))
            level[n++] = (FoldLevel){all[g].n, (int)all[g].fold_n};
    return n;
}

int32_t outline_last_op(const Outline *outline, int32_t op)
{
    FoldLevel level[FOLD_LEVELS];
    int32_t shown = outline_shown_op(outline, op), place = outline->place[shown];

    if (place < 0)
        return op;
    for (int i = fold_levels(outline, shown, level); i-- > 0;)
        place += level[i].step * (level[i].n - 1);
    return outline->groups->order[place];
}

int outline_equals(const Outline *outline, Arena *arena, int32_t op, int32_t **ops)
{
    FoldLevel level[FOLD_LEVELS];
    int32_t shown = outline_shown_op(outline, op), place = outline->place[shown];
    int n_levels = place < 0 ? 0 : fold_levels(outline, shown, level), n = 1;

    for (int i = 0; i < n_levels; i++)
        n *= level[i].n;
    *ops = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++) {
        int32_t at = place;
        for (int f = 0, rest = i; f < n_levels; rest /= level[f++].n)
            at += level[f].step * (rest % level[f].n);
        (*ops)[i] = place < 0 ? op : outline->groups->order[at];
    }
    return n;
}

void outline_label(const Outline *outline, const OutlineRow *row, Buf *out)
{
    const Group *all = outline->groups->groups;
    const Graph *graph = outline->graph;

    if (row->kind == ROW_INPUT) {
        buf_puts(out, tensor_name(graph, row->id));
        return;
    }
    if (row->head < 0) {
        const char *name = path_base(op_name(graph, row->id));
        buf_puts(out, *name ? name : op_operator(graph, row->id));
        return;
    }
    group_format_fold(outline->groups, row->head, row->fold_n, row->base, out);
    int32_t in = row->kind == ROW_GROUP ? row->id : row->head;
    while (row->kind == ROW_OP && all[in].child >= 0)
        in = all[in].child;
    if (in != row->head) {
        buf_putc(out, '.');
        buf_add(out, group_relative(all[in].path, all[row->head].path));
    }
}
