#include "core/base/file.h"
#include "tui/state/outline_state.h"

#include <assert.h>

enum { FOLD_LEVELS = 16, CLASSES_MAX = 16 }; /* nested folds, and classes, that are looked at */

/* Lists the members of a fold, all closed: what was open stood for all of them. */
void outline_list_members(Outline *outline, int32_t head)
{
    const Group *all = outline->groups->groups;
    int32_t member = head;

    outline->marks[head] |= MARK_SPREAD;
    for (int32_t i = 0; i < all[head].fold_n && member >= 0; i++, member = all[member].next)
        outline->marks[outline_inner(outline, member)] &= (uint8_t)~MARK_OPEN;
}

void outline_open(Outline *outline, const OutlineRow *row, bool open)
{
    if (row->kind != ROW_GROUP)
        return;
    if (row->mixed)
        outline->marks[row->head] |= open ? MARK_CLASSES : 0;
    else if (open)
        outline->marks[row->id] |= MARK_OPEN;
    else
        outline->marks[row->id] &= (uint8_t)~MARK_OPEN;
    forget_counts(outline);
}

void outline_spread(Outline *outline, const OutlineRow *row, bool listed)
{
    if (row->head < 0)
        return;
    const Group *head = &outline->groups->groups[row->head];
    if (listed && row->mixed)
        outline->marks[row->head] |= MARK_CLASSES;
    else if (listed)
        outline_list_members(outline, head->fold);
    else if (outline->marks[head->fold] & MARK_SPREAD)
        outline->marks[head->fold] &= (uint8_t)~MARK_SPREAD;
    else
        outline->marks[head->alike] &= (uint8_t) ~(MARK_CLASSES | MARK_OPEN);
    forget_counts(outline);
}

bool outline_is_spread(const Outline *outline, const OutlineRow *row)
{
    if (row->head < 0)
        return false;
    const Group *head = &outline->groups->groups[row->head];
    return outline->marks[head->fold] & MARK_SPREAD || outline->marks[head->alike] & MARK_CLASSES;
}

bool outline_is_first_of_spread(const Outline *outline, const OutlineRow *row)
{
    return row->head >= 0 && outline->groups->groups[row->head].fold == row->head &&
           outline->marks[row->head] & MARK_SPREAD;
}

void outline_depth(Outline *outline, int depth)
{
    const Groups *groups = outline->groups;

    for (int g = 1; g < groups->n_groups; g++) {
        outline->marks[g] &= (uint8_t)~MARKS;
        if (groups->groups[g].depth < depth)
            outline->marks[g] |= MARK_OPEN;
        if (groups->groups[g].depth < depth && groups->groups[g].alike_n > groups->groups[g].fold_n)
            outline->marks[g] |= MARK_CLASSES;
    }
    forget_counts(outline);
}

uint8_t *outline_marks(const Outline *outline, Arena *arena)
{
    size_t n = (size_t)outline->groups->n_groups;
    return memcpy(arena_alloc(arena, n), outline->marks, n);
}

uint8_t *outline_own_marks(const Outline *outline, Arena *arena)
{
    uint8_t *marks = outline_marks(outline, arena);
    for (int g = 0; g < outline->groups->n_groups; g++)
        marks[g] = (uint8_t)(outline->pass ? marks[g] >> BEFORE_FILTER : marks[g]) & MARKS;
    return marks;
}

void outline_set_marks(Outline *outline, const uint8_t *marks)
{
    for (int g = 0; g < outline->groups->n_groups; g++)
        outline->marks[g] = marks[g] & MARK_KEPT;
    forget_counts(outline);
}

bool outline_set_folds(Outline *outline, bool folds)
{
    if (outline->unfolded == !folds)
        return false;
    outline->unfolded = !folds;
    forget_counts(outline);
    return true;
}

/* ---- parameters ---- */

void outline_set_parameters(Outline *outline, int32_t n, const ParameterRow *rows, int n_rows)
{
    outline->version++;
    outline->n_parameters = n;
    outline->parameter = rows;
    outline->n_parameter_rows = n_rows;
}

/* The row whose first tensor it is, or the last before it; -1: there is none. */
static int64_t parameter_of(const Outline *outline, int32_t tensor)
{
    int64_t low = 0, high = outline->n_parameter_rows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (outline->parameter[middle].first <= tensor)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

OutlineRow outline_parameter_row(const Outline *outline, int64_t i)
{
    OutlineRow row = {.kind = ROW_PARAMETERS,
                      .id = -1,
                      .op = -1,
                      .head = -1,
                      .first = outline->groups->n_order,
                      .fold_n = 1,
                      .times = outline->n_parameters,
                      .open = outline->parameter != NULL};

    if (i == 0)
        return row;
    assert(outline->parameter);
    row.kind = ROW_PARAMETER;
    row.id = outline->parameter[i - 1].first;
    row.depth = 1;
    row.times = row.fold_n = outline->parameter[i - 1].n;
    row.open = false;
    return row;
}

int64_t outline_find_parameter(Outline *outline, const OutlineRow *row)
{
    int64_t n = parameter_rows(outline), at = outline_n_rows(outline) - n;

    if (n > 1 && row->kind == ROW_PARAMETER)
        return at + 1 + parameter_of(outline, row->id);
    return n > 0 ? at : at - (at > 0);
}

/* ---- filtering ---- */

/* Whether the members of a fold pass in different places. */
static bool passes_unevenly(const Outline *outline, int32_t head)
{
    const Group *g = &outline->groups->groups[head];

    for (int32_t at = g->first; at + g->n < g->first + g->n * g->fold_n; at++)
        if (passing(outline, at, at + 1) != passing(outline, at + g->n, at + g->n + 1))
            return true;
    return false;
}

void outline_filter(Outline *outline, const int32_t *pass, const int32_t *inputs, int n_inputs)
{
    const Groups *groups = outline->groups;
    bool first = !outline->filtered && pass;

    if (!pass && !outline->filtered)
        return;
    outline->pass = pass;
    outline->filtered = pass != NULL;
    outline->inputs = pass ? inputs : outline->graph->inputs;
    outline->n_inputs = pass ? n_inputs : outline->graph->n_inputs;
    for (int g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        uint8_t mark = outline->marks[g];
        unsigned before = mark >> BEFORE_FILTER & MARKS, others = mark & ~(unsigned)MARK_KEPT;
        if (!pass) {
            outline->marks[g] = (uint8_t)(others | before);
            continue;
        }
        if (first && before == 0)
            before = mark & MARKS;
        unsigned now = passing(outline, group->first, group->first + group->n) > 0 ? MARK_OPEN : 0;
        if (group->alike_n > group->fold_n)
            now |= MARK_CLASSES;
        if (group->fold_n > 1 && passes_unevenly(outline, g))
            now |= MARK_SPREAD;
        outline->marks[g] = (uint8_t)(others | before << BEFORE_FILTER | now);
    }
    outline->marks[0] |= MARK_OPEN;
    forget_counts(outline);
}

int outline_classes(const Outline *outline, int32_t head, int *members, int n, int32_t *main)
{
    const Groups *groups = outline->groups;
    const Group *all = groups->groups;
    int32_t first[CLASSES_MAX] = {head};
    int count[CLASSES_MAX], n_classes = 0, best = 0;

    for (int32_t g = head, left = all[head].alike_n; left > 0;
         left -= all[g].fold_n, g = skip_fold(outline, g, all[g].fold_n)) {
        int same = 0;
        while (same < n_classes && groups_difference(groups, first[same], g) >= 0)
            same++;
        if (same == CLASSES_MAX)
            same--;
        if (same == n_classes) {
            first[same] = g;
            count[n_classes++] = 0;
        }
        count[same] += all[g].fold_n;
        best = count[same] > count[best] ? same : best;
    }
    *main = first[best];
    for (int i = 0; i < n_classes && i < n; i++) {
        int largest = 0;
        for (int k = 1; k < n_classes; k++)
            largest = count[k] > count[largest] ? k : largest;
        members[i] = count[largest];
        count[largest] = 0;
    }
    return n_classes;
}

/* The outermost group around an op that is hidden behind the first member of its fold; -1: none. */
static int32_t hidden_member(const Outline *outline, int32_t op)
{
    const Group *all = outline->groups->groups;
    int32_t found = -1;

    for (int32_t g = outline->groups->group_of[op]; g >= 0; g = all[g].parent)
        if (all[g].fold != g && !is_listed(outline, all[g].fold, MARK_SPREAD))
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
        if (all[g].fold == g && all[g].fold_n > 1 && !is_listed(outline, g, MARK_SPREAD))
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

    if (row->kind == ROW_PARAMETERS) {
        buf_puts(out, "parameters");
        return;
    }
    if (row->kind == ROW_PARAMETER) {
        buf_add(out, outline->parameter[parameter_of(outline, row->id)].name);
        return;
    }
    if (row->kind == ROW_INPUT) {
        buf_puts(out, tensor_name(graph, row->id));
        return;
    }
    if (row->head < 0) {
        const char *name = path_base(op_name(graph, row->id));
        buf_puts(out, *name ? name : op_operator(graph, row->id));
        return;
    }
    bool words = all[row->head].cycle && *all[row->head].cycle; /* "[local, global]" says enough */
    int32_t base = words && row->fold_n > 1 ? all[row->head].parent : row->base;
    group_format_fold(outline->groups, row->head, row->fold_n, base, out);
    int32_t in = row->kind == ROW_GROUP ? row->id : row->head;
    while (row->kind == ROW_OP && all[in].child >= 0)
        in = all[in].child;
    if (in != row->head) {
        buf_putc(out, '.');
        buf_add(out, group_relative(all[in].path, group_prefix(outline->groups, row->head)));
    }
}
