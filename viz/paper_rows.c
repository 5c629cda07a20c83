#include "viz/paper_rows.h"

#include "core/base/text.h"
#include "viz/fold.h"

#include <stdlib.h>

static const double LANE = 3.5;
static const double BESIDE = 8; /* points between the line down the middle and texts beside it */
enum {
    LANES_MOST = 8,
    LABELS_MOST = 8,
    TITLE = 24,
    TOLD_COLUMNS = 26
}; /* TITLE: points above the boxes of a frame */

bool stack_is_drawn(const DiagramLine *line)
{
    return line->look != LINE_ORDER && line->from != line->to;
}

/* Whether a frame is around a box. */
bool stack_has(const Stack *stack, int frame, int box)
{
    int at = box < 0 ? -1 : stack->diagram->boxes[box].frame;
    while (at >= 0 && at != frame)
        at = stack->diagram->frames[at].parent;
    return frame >= 0 && at == frame;
}

/* ---- the order of rows: as dot has them from the top, what is in one frame together ---- */

typedef struct {
    double top;
    int box, frame; /* one of them; the other is -1 */
} Item;

static int by_top(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    return x->top > y->top ? -1 : x->top < y->top ? 1 : x->box - y->box + x->frame - y->frame;
}

/* A box that reads nothing stands right above its first reader: the box or frame beside it that has
 * that; NULL: it stays where it is. */
static const Item *first_reader(const Stack *stack, int box, const Item *item, int n)
{
    const Diagram *diagram = stack->diagram;
    const Item *first = NULL;

    for (int i = 0; i < diagram->n_lines; i++) {
        const DiagramLine *line = &diagram->lines[i];
        if (stack_is_drawn(line) && line->to == box)
            return NULL;
        for (int k = 0; k < n && stack_is_drawn(line) && line->from == box; k++) {
            bool reads = item[k].box == line->to || stack_has(stack, item[k].frame, line->to);
            if (reads && (!first || item[k].top > first->top))
                first = &item[k];
        }
    }
    return first;
}

static void add_rows(Stack *stack, int frame)
{
    const Diagram *diagram = stack->diagram;
    Item *item = arena_array(stack->arena, Item, diagram->n_boxes + diagram->n_frames + 1);
    int n = 0;

    for (int f = 0; f < diagram->n_frames; f++)
        if (diagram->frames[f].parent == frame)
            item[n++] = (Item){stack->order->frame[f].y1 - TITLE, -1, f};
    for (int b = 0; b < diagram->n_boxes; b++)
        if (diagram->boxes[b].frame == frame)
            item[n++] = (Item){stack->order->box[b].y1, b, -1};
    for (int i = 0; i < n; i++) {
        const Item *reader = item[i].box < 0 ? NULL : first_reader(stack, item[i].box, item, n);
        if (reader)
            item[i].top = reader->top + 1;
    }
    qsort(item, (size_t)n, sizeof *item, by_top);
    for (int i = 0; i < n; i++) {
        if (item[i].frame >= 0) {
            add_rows(stack, item[i].frame);
            continue;
        }
        stack->row_of[item[i].box] = stack->n_rows;
        stack->box_at[stack->n_rows++] = item[i].box;
    }
}

void stack_order(Stack *stack)
{
    add_rows(stack, -1);
}

/* ---- lanes ---- */

static bool crosses_columns(const Stack *stack, int line)
{
    const DiagramLine *at = &stack->diagram->lines[line];
    return stack->column_of[stack->row_of[at->from]] != stack->column_of[stack->row_of[at->to]];
}

void stack_list_lines(Stack *stack)
{
    const Diagram *diagram = stack->diagram;

    stack->into = arena_array(stack->arena, int, diagram->n_boxes + 1);
    stack->next = arena_array(stack->arena, int, diagram->n_lines + 1);
    for (int b = 0; b < diagram->n_boxes; b++)
        stack->into[b] = -1;
    for (int i = diagram->n_lines - 1; i >= 0; i--) {
        stack->next[i] = stack->into[diagram->lines[i].to];
        stack->into[diagram->lines[i].to] = i;
    }
}

/* Into a box with many labels no line goes straight, so that they have the whole width. */
static bool is_crowded(const Stack *stack, int box)
{
    int n = 0;

    for (int i = stack->into[box]; i >= 0; i = stack->next[i])
        n += stack->diagram->lines[i].label.str.n > 0;
    return n > LABELS_MOST;
}

/* The rows that a line passes, from the first on; false if it goes straight to the next. */
static bool rows_of(const Stack *stack, int line, int *first, int *end)
{
    int a = stack->row_of[stack->diagram->lines[line].from];
    int b = stack->row_of[stack->diagram->lines[line].to];

    *first = a < b ? a : b;
    *end = a < b ? b : a;
    return stack_is_drawn(&stack->diagram->lines[line]) &&
           (b != a + 1 || is_crowded(stack, stack->diagram->lines[line].to));
}

/* The first lane that is free along those rows; LANES_MOST if none is. */
static int free_lane(const Stack *stack, int first, int end)
{
    unsigned taken = 0;
    int lane = 0;

    for (int row = first; row < end; row++)
        taken |= stack->taken[row];
    while (lane < LANES_MOST && taken >> lane & 1)
        lane++;
    return lane;
}

/* Lines between neighbours go straight; each other one has a lane that is free along its rows:
 * first what is moved, then short ones. Those that find none are told in words. */
void stack_give_lanes(Stack *stack)
{
    const Diagram *diagram = stack->diagram;
    int *lane = arena_array(stack->arena, int, diagram->n_lines + 1), most = 0, from, end;

    memset(stack->taken, 0, (size_t)stack->n_rows * sizeof *stack->taken);
    for (int pass = 0; pass < 2; pass++)
        for (int length = 1; length < stack->n_rows; length++)
            for (int i = 0; i < diagram->n_lines; i++) {
                bool moved = diagram->lines[i].look == LINE_MOVED;
                if (moved != (pass == 0) || !rows_of(stack, i, &from, &end) || end - from != length)
                    continue;
                int k = crosses_columns(stack, i) ? LANES_MOST : free_lane(stack, from, end);
                stack->told[i] = k == LANES_MOST;
                lane[i] = stack->told[i] ? 0 : k + 1;
                for (int row = from; row < end && !stack->told[i]; row++)
                    stack->taken[row] |= 1U << k;
                most = lane[i] > most ? lane[i] : most;
            }
    stack->left = 2 + LANE * most + STACK_SIDE;
    for (int i = 0; i < diagram->n_lines; i++)
        stack->lane_x[i] = lane[i] ? stack->left - STACK_SIDE - LANE * (lane[i] - 1) - 1 : 0;
}

/* ---- frames ---- */

int stack_depth_of(const Stack *stack, int frame)
{
    int depth = 0;
    for (; frame >= 0; frame = stack->diagram->frames[frame].parent)
        depth++;
    return depth;
}

/* ---- texts: beside the line down the middle, if there is one ---- */

double stack_middle_of(const Stack *stack)
{
    return (stack->left + stack->width - 1) / 2;
}

/* Whether a line goes straight down from the row above. */
static bool has_straight(const Stack *stack, int box)
{
    int first, end;

    for (int i = stack->into[box]; i >= 0; i = stack->next[i])
        if (stack_is_drawn(&stack->diagram->lines[i]) && !rows_of(stack, i, &first, &end))
            return true;
    return false;
}

/* The left end of texts in a frame, and the right end of those left of the middle, or else of the
 * frame. */
static double left_of(const Stack *stack, int frame)
{
    return stack->left + STACK_INSET * stack_depth_of(stack, frame) + 2;
}

static double right_of(const Stack *stack, int frame, bool straight)
{
    return straight ? stack_middle_of(stack) - BESIDE
                    : stack->width - STACK_INSET * stack_depth_of(stack, frame) - 2;
}

static Text fold_between(const Stack *stack, Text text, double left, double right)
{
    return fold_text(stack->arena, text, (int)((right - left) / (STACK_ADVANCE)));
}

/* The box that a line comes from; of one that branches, where it comes from before that. */
static const DiagramBox *source_of(const Stack *stack, int line)
{
    const Diagram *diagram = stack->diagram;
    int from = diagram->lines[line].from;

    for (int i = 0; i < diagram->n_lines && diagram->boxes[from].look == BOX_POINT; i++)
        if (diagram->lines[i].to == from)
            from = diagram->lines[i].from;
    return &diagram->boxes[from];
}

static void put_source(const Stack *stack, int line, Buf *out)
{
    const DiagramBox *from = source_of(stack, line);
    text_put_name(str_from(*from->title ? from->title : from->id), TOLD_COLUMNS, out);
}

static bool is_named(const Stack *stack, int line)
{
    const DiagramLine *at = &stack->diagram->lines[line];
    return stack_is_drawn(at) && stack->told[line] && at->label.str.n == 0;
}

/* "also reads Add, mlp": the lines without a label that have no way to that box, with the first. */
static Text also_reads(const Stack *stack, int line)
{
    const DiagramLine *lines = stack->diagram->lines;
    Buf names = buf_new(stack->arena);

    for (int i = stack->into[lines[line].to]; i < line; i = stack->next[i])
        if (is_named(stack, i))
            return text_from("");
    for (int i = line; i >= 0; i = stack->next[i])
        if (is_named(stack, i)) {
            buf_puts(&names, names.n > 0 ? ", " : "also reads ");
            put_source(stack, i, &names);
        }
    return text_from(names.s);
}

/* Lines with a label that have no way to their box, into each box the largest first. */
static bool is_told(const Stack *stack, int line)
{
    return stack->told[line] && stack->diagram->lines[line].label.str.n > 0;
}

static int by_box_and_size(const void *a, const void *b)
{
    const DiagramLine *p = *(const DiagramLine *const *)a, *q = *(const DiagramLine *const *)b;
    if (p->to != q->to)
        return p->to < q->to ? -1 : 1;
    if (p->bytes != q->bytes)
        return p->bytes > q->bytes ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* Per line its place among those into the same box that stack_write_texts() tells of, and how many
 * these are. */
typedef struct {
    int *place, *n;
    bool *last; /* of those whose label is shown, in the order of lines */
} PaperNames;

static PaperNames told_of(const Stack *stack)
{
    const DiagramLine *lines = stack->diagram->lines;
    int n_lines = stack->diagram->n_lines, n = 0;
    const DiagramLine **order = arena_array(stack->arena, const DiagramLine *, n_lines + 1);
    PaperNames out = {arena_array(stack->arena, int, n_lines + 1),
                      arena_array(stack->arena, int, n_lines + 1),
                      arena_array(stack->arena, bool, n_lines + 1)};

    for (int i = 0; i < n_lines; i++)
        if (is_told(stack, i))
            order[n++] = &lines[i];
    qsort(order, (size_t)n, sizeof *order, by_box_and_size);
    for (int first = 0, end; first < n; first = end) {
        const DiagramLine *last = order[first];
        for (end = first; end < n && order[end]->to == order[first]->to; end++) {
            out.place[order[end] - lines] = end - first;
            last = end - first < LABELS_MOST && order[end] > last ? order[end] : last;
        }
        for (int i = first; i < end; i++)
            out.n[order[i] - lines] = end - first;
        out.last[last - lines] = true;
    }
    return out;
}

/* Of lines without a way what the largest move, and with the last of them how many more there are.
 */
static Text told_label(const Stack *stack, const PaperNames *told, int line)
{
    const DiagramLine *lines = stack->diagram->lines;
    Buf more = buf_new(stack->arena);

    if (told->place[line] >= LABELS_MOST)
        return text_from("");
    put_source(stack, line, &more);
    if (told->last[line] && told->n[line] > LABELS_MOST)
        buf_printf(&more, "\nand %d more into this box", told->n[line] - LABELS_MOST);
    return text_join(stack->arena, "@\nof @", lines[line].label, text_from(more.s));
}

/* What stands above a box for a line into it: its label; where it has no way, what it comes from.
 */
static Text label_of(const Stack *stack, const PaperNames *told, int i)
{
    const DiagramLine *line = &stack->diagram->lines[i];

    if (!stack_is_drawn(line) || !stack->told[i])
        return stack_is_drawn(line) ? line->label : text_from("");
    return line->label.str.n > 0 ? told_label(stack, told, i) : also_reads(stack, i);
}

/* Beside its line, or at the left for one that comes along a lane. */
double stack_label_x(const Stack *stack, int i)
{
    const DiagramLine *line = &stack->diagram->lines[i];
    bool aside = stack->lane_x[i] > 0 || stack->told[i];

    return aside ? left_of(stack, stack->diagram->boxes[line->to].frame)
                 : stack_middle_of(stack) + BESIDE;
}

void stack_write_texts(Stack *stack)
{
    const Diagram *diagram = stack->diagram;
    PaperNames told = told_of(stack);

    for (int i = 0; i < diagram->n_lines; i++) {
        int to = diagram->lines[i].to, frame = diagram->boxes[to].frame;
        double left = stack_label_x(stack, i);
        bool crossed = left < stack_middle_of(stack) && has_straight(stack, to);
        stack->label[i] =
            fold_between(stack, label_of(stack, &told, i), left, right_of(stack, frame, crossed));
    }
    for (int f = 0; f < diagram->n_frames; f++) {
        int row = 0;
        while (row + 1 < stack->n_rows && !stack_has(stack, f, stack->box_at[row]))
            row++;
        bool crossed = stack->n_rows > 0 && has_straight(stack, stack->box_at[row]);
        int parent = diagram->frames[f].parent;
        double left = left_of(stack, parent), right = right_of(stack, parent, crossed);
        const char *title = diagram->frames[f].title;
        stack->title[f] = fold_between(stack, text_from(title), left, right);
        stack->again[f] =
            fold_between(stack, text_from(arena_printf(stack->arena, "%s, continued", title)), left,
                         right_of(stack, parent, true));
    }
}
