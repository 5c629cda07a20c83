/* paper_stack.c - boxes of a drawing one below the other in a column, lines that pass others in
 * lanes at the left: what every drawing of a graph can be on a narrow page. */
#include "viz/paper.h"

#include "core/base/text.h"
#include "core/base/vec.h"
#include "viz/fold.h"
#include "viz/ids.h"

#include <stdlib.h>

static const double LANE = 3.5, INSET = 5, GAP = 9, SIDE = 3, ADVANCE = 0.603, LEADING = 1.2;
static const double BESIDE = 8; /* points between the line down the middle and texts beside it */
enum {
    LANES_MOST = 8,
    TITLE = 24,
    TOLD_COLUMNS = 26
}; /* TITLE: points above the boxes of a frame */

typedef struct {
    Arena *arena;
    const Diagram *diagram;
    const Placed *order, *sizes;
    double width, left, line;
    int n_rows;
    int *row_of, *box_at; /* per box its row; per row its box */
    double *lane_x;       /* per line; 0: it goes straight down, or is told */
    bool *told;           /* per line: it has no way, and is told in words */
    unsigned *taken;      /* per row: the lanes that pass it */
    DiagramPlace *place;  /* per box */
    DiagramPlace *frame;  /* per frame */
    Text *label, *title;  /* per line what stands above the box it leads to; per frame */
    Vec(DiagramBox) boxes;
    Vec(DiagramLine) lines;
} Stack;

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

/* ---- lanes ---- */

static bool is_drawn(const DiagramLine *line)
{
    return line->look != LINE_ORDER && line->from != line->to;
}

/* The rows that a line passes, from the first on; false if it goes straight to the next. */
static bool rows_of(const Stack *stack, int line, int *first, int *end)
{
    int a = stack->row_of[stack->diagram->lines[line].from];
    int b = stack->row_of[stack->diagram->lines[line].to];

    *first = a < b ? a : b;
    *end = a < b ? b : a;
    return is_drawn(&stack->diagram->lines[line]) && b != a + 1;
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
static void give_lanes(Stack *stack)
{
    const Diagram *diagram = stack->diagram;
    int *lane = arena_array(stack->arena, int, diagram->n_lines + 1), most = 0, from, end;

    for (int pass = 0; pass < 2; pass++)
        for (int length = 1; length < stack->n_rows; length++)
            for (int i = 0; i < diagram->n_lines; i++) {
                bool moved = diagram->lines[i].look == LINE_MOVED;
                if (moved != (pass == 0) || !rows_of(stack, i, &from, &end) || end - from != length)
                    continue;
                int k = free_lane(stack, from, end);
                stack->told[i] = k == LANES_MOST;
                lane[i] = stack->told[i] ? 0 : k + 1;
                for (int row = from; row < end && !stack->told[i]; row++)
                    stack->taken[row] |= 1U << k;
                most = lane[i] > most ? lane[i] : most;
            }
    stack->left = 2 + LANE * most + SIDE;
    for (int i = 0; i < diagram->n_lines; i++)
        stack->lane_x[i] = lane[i] ? stack->left - SIDE - LANE * (lane[i] - 1) - 1 : 0;
}

/* ---- frames ---- */

static int depth_of(const Stack *stack, int frame)
{
    int depth = 0;
    for (; frame >= 0; frame = stack->diagram->frames[frame].parent)
        depth++;
    return depth;
}

/* Whether a frame is around a box. */
static bool has(const Stack *stack, int frame, int box)
{
    int at = box < 0 ? -1 : stack->diagram->boxes[box].frame;
    while (at >= 0 && at != frame)
        at = stack->diagram->frames[at].parent;
    return at == frame;
}

/* ---- texts: beside the line down the middle, if there is one ---- */

static double middle_of(const Stack *stack)
{
    return (stack->left + stack->width - 1) / 2;
}

/* Whether a line goes straight down from the row above. */
static bool has_straight(const Stack *stack, int box)
{
    int first, end;

    for (int i = 0; i < stack->diagram->n_lines; i++)
        if (stack->diagram->lines[i].to == box && is_drawn(&stack->diagram->lines[i]) &&
            !rows_of(stack, i, &first, &end))
            return true;
    return false;
}

/* The left end of texts in a frame, and the right end of those left of the middle, or else of the
 * frame. */
static double left_of(const Stack *stack, int frame)
{
    return stack->left + INSET * depth_of(stack, frame) + 2;
}

static double right_of(const Stack *stack, int frame, bool straight)
{
    return straight ? middle_of(stack) - BESIDE : stack->width - INSET * depth_of(stack, frame) - 2;
}

static Text fold_between(const Stack *stack, Text text, double left, double right)
{
    return fold_text(stack->arena, text, (int)((right - left) / (ADVANCE * PAPER_POINTS)));
}

/* What stands above a box for a line into it: its label; where it has no way, what it comes from.
 */
static Text label_of(const Stack *stack, int i)
{
    const DiagramLine *line = &stack->diagram->lines[i];
    const DiagramBox *from = &stack->diagram->boxes[line->from];
    Buf name = buf_new(stack->arena);

    if (!is_drawn(line) || !stack->told[i])
        return is_drawn(line) ? line->label : text_from("");
    text_put_name(str_from(*from->title ? from->title : from->id), TOLD_COLUMNS, &name);
    if (line->label.str.n > 0)
        return text_join(stack->arena, "@\nof @", line->label, text_from(name.s));
    return text_from(arena_printf(stack->arena, "also reads %s", name.s));
}

/* Beside its line, or at the left for one that comes along a lane. */
static double label_x(const Stack *stack, int i)
{
    const DiagramLine *line = &stack->diagram->lines[i];
    bool aside = stack->lane_x[i] > 0 || stack->told[i];

    return aside ? left_of(stack, stack->diagram->boxes[line->to].frame)
                 : middle_of(stack) + BESIDE;
}

static void write_texts(Stack *stack)
{
    const Diagram *diagram = stack->diagram;

    stack->label = arena_array(stack->arena, Text, diagram->n_lines + 1);
    stack->title = arena_array(stack->arena, Text, diagram->n_frames + 1);
    for (int i = 0; i < diagram->n_lines; i++) {
        int to = diagram->lines[i].to, frame = diagram->boxes[to].frame;
        double left = label_x(stack, i);
        bool crossed = left < middle_of(stack) && has_straight(stack, to);
        stack->label[i] =
            fold_between(stack, label_of(stack, i), left, right_of(stack, frame, crossed));
    }
    for (int f = 0; f < diagram->n_frames; f++) {
        int row = 0;
        while (row + 1 < stack->n_rows && !has(stack, f, stack->box_at[row]))
            row++;
        bool crossed = stack->n_rows > 0 && has_straight(stack, stack->box_at[row]);
        int parent = diagram->frames[f].parent;
        stack->title[f] = fold_between(stack, text_from(diagram->frames[f].title),
                                       left_of(stack, parent), right_of(stack, parent, crossed));
    }
}

/* ---- places ---- */

static double room_of(const Stack *stack, int box)
{
    return stack->width - stack->left -
           2 * INSET * depth_of(stack, stack->diagram->boxes[box].frame);
}

static int count_lines(Str text)
{
    int n = text.n > 0;
    for (size_t i = 0; i + 1 < text.n; i++)
        n += text.s[i] == '\n';
    return n;
}

static double label_height(const Stack *stack, int box)
{
    int n = 0;
    for (int i = 0; i < stack->diagram->n_lines; i++)
        if (stack->diagram->lines[i].to == box)
            n += count_lines(stack->label[i].str);
    return n * stack->line;
}

/* Opens the frames that begin above the row, and closes those that end there. */
static double pass_frames(Stack *stack, int row, double y)
{
    int before = row > 0 ? stack->box_at[row - 1] : -1;
    int next = row < stack->n_rows ? stack->box_at[row] : -1;

    for (int f = stack->diagram->n_frames - 1; f >= 0; f--)
        if (before >= 0 && has(stack, f, before) && !(next >= 0 && has(stack, f, next))) {
            y += INSET;
            stack->frame[f].h = y - stack->frame[f].y;
        }
    for (int f = 0; f < stack->diagram->n_frames; f++)
        if (next >= 0 && has(stack, f, next) && !(before >= 0 && has(stack, f, before))) {
            double inset = INSET * (depth_of(stack, f) - 1);
            y += GAP / 2;
            stack->frame[f] = (DiagramPlace){stack->left + inset, y,
                                             stack->width - stack->left - 2 * inset - 1, 0};
            y += stack->line * count_lines(stack->title[f].str) + 2;
        }
    return y;
}

static bool place_rows(Stack *stack)
{
    double y = 0, middle = middle_of(stack);

    for (int row = 0; row < stack->n_rows; row++) {
        int box = stack->box_at[row];
        PlacedRect size = stack->sizes->box[box];
        double w = size.x1 - size.x0, h = size.y1 - size.y0;
        y = pass_frames(stack, row, y);
        y += row > 0 || label_height(stack, box) > 0 ? GAP + label_height(stack, box) : 0;
        if (w > room_of(stack, box) + 1)
            return false;
        stack->place[box] = (DiagramPlace){middle - w / 2, y, w, h};
        y += h;
    }
    pass_frames(stack, stack->n_rows, y);
    return true;
}

/* ---- drawing ---- */

static DiagramBox new_box(BoxLook look, DiagramPlace place)
{
    return (DiagramBox){.look = look,
                        .title = "",
                        .subtitle = "",
                        .figures = "",
                        .flow = text_from(""),
                        .frame = -1,
                        .level = -1,
                        .ink = -1,
                        .place = place};
}

static int put_box(Stack *stack, DiagramBox box)
{
    vec_push(stack->arena, &stack->boxes, box);
    return stack->boxes.n - 1;
}

static int put_corner(Stack *stack, double x, double y)
{
    return put_box(stack, new_box(BOX_CORNER, (DiagramPlace){x, y, 0, 0}));
}

/* x: its left end. */
static void put_text(Stack *stack, double x, double y, Text text)
{
    double w = ADVANCE * PAPER_POINTS * fold_columns(text.str);
    DiagramBox box =
        new_box(BOX_TEXT, (DiagramPlace){x, y, w, stack->line * count_lines(text.str)});

    box.flow = text;
    box.left = true;
    put_box(stack, box);
}

static void put_frames(Stack *stack)
{
    static const BoxLook looks[] = {[FRAME_PLAIN] = BOX_OUTLINE,
                                    [FRAME_STAGE] = BOX_OUTLINE,
                                    [FRAME_DEVICES] = BOX_DASHES,
                                    [FRAME_REPEATED] = BOX_DOUBLE};

    for (int f = 0; f < stack->diagram->n_frames; f++) {
        const DiagramFrame *frame = &stack->diagram->frames[f];
        DiagramBox box = new_box(looks[frame->look], stack->frame[f]);
        box.why = frame->why;
        put_box(stack, box);
        put_text(stack, stack->frame[f].x + 2, stack->frame[f].y + 1, stack->title[f]);
    }
}

/* The labels of lines into a box are above it; `used` lines are taken by those before. */
static void put_label(Stack *stack, int i, int *used)
{
    Text label = stack->label[i];
    int to = stack->diagram->lines[i].to;

    if (label.str.n == 0)
        return;
    put_text(stack, label_x(stack, i),
             stack->place[to].y - label_height(stack, to) - 3 + *used * stack->line, label);
    *used += count_lines(label.str);
}

static void put_segment(Stack *stack, const DiagramLine *line, int from, int to, bool last)
{
    DiagramLine copy = *line;

    copy.from = from;
    copy.to = to;
    copy.open = !last || line->look == LINE_DIM;
    copy.label = text_from("");
    copy.from_port = copy.to_port = NULL;
    vec_push(stack->arena, &stack->lines, copy);
}

static void put_line(Stack *stack, int i)
{
    const DiagramLine *line = &stack->diagram->lines[i];
    DiagramPlace from = stack->place[line->from], to = stack->place[line->to];
    double x = stack->lane_x[i];

    if (x <= 0) {
        double middle = from.x + from.w / 2;
        put_segment(stack, line, put_corner(stack, middle, from.y + from.h),
                    put_corner(stack, middle, to.y), true);
        return;
    }
    double out = from.y + from.h - (from.h > 8 ? SIDE : from.h / 2);
    double in = to.y + (to.h > 8 ? SIDE : to.h / 2);
    int first = put_corner(stack, from.x, out), turn = put_corner(stack, x, out);
    int back = put_corner(stack, x, in);
    put_segment(stack, line, first, turn, false);
    put_segment(stack, line, turn, back, false);
    put_segment(stack, line, back, put_corner(stack, to.x, in), true);
}

static Stack stack_new(Arena *arena, const Diagram *diagram, const Placed *order, double width)
{
    Stack stack = {.arena = arena, .diagram = diagram, .order = order, .width = width};

    stack.line = LEADING * PAPER_POINTS;
    stack.row_of = arena_array(arena, int, diagram->n_boxes + 1);
    stack.box_at = arena_array(arena, int, diagram->n_boxes + 1);
    stack.lane_x = arena_array(arena, double, diagram->n_lines + 1);
    stack.told = arena_array(arena, bool, diagram->n_lines + 1);
    stack.taken = arena_array(arena, unsigned, diagram->n_boxes + 1);
    stack.place = arena_array(arena, DiagramPlace, diagram->n_boxes + 1);
    stack.frame = arena_array(arena, DiagramPlace, diagram->n_frames + 1);
    add_rows(&stack, -1);
    give_lanes(&stack);
    write_texts(&stack);
    return stack;
}

const double *paper_room(Arena *arena, const Diagram *diagram, const Placed *order, double width)
{
    Stack stack = stack_new(arena, diagram, order, width);
    double *room = arena_array(arena, double, diagram->n_boxes + 1);

    for (int i = 0; i < diagram->n_boxes; i++)
        room[i] = room_of(&stack, i);
    return room;
}

Diagram *paper_stack(Arena *arena, const Diagram *diagram, const Placed *order, const Placed *sizes,
                     double width)
{
    Stack stack = stack_new(arena, diagram, order, width);
    Diagram *made = arena_make(arena, Diagram);
    int *used = arena_array(arena, int, diagram->n_boxes + 1);

    stack.sizes = sizes;
    if (!place_rows(&stack))
        return NULL;
    put_frames(&stack);
    for (int b = 0; b < diagram->n_boxes; b++) {
        DiagramBox box = diagram->boxes[b];
        box.place = stack.place[b];
        box.frame = -1;
        put_box(&stack, box);
    }
    for (int i = 0; i < diagram->n_lines; i++)
        if (is_drawn(&diagram->lines[i])) {
            put_label(&stack, i, &used[diagram->lines[i].to]);
            if (!stack.told[i])
                put_line(&stack, i);
        }
    *made = *diagram;
    made->placed = true;
    made->frames = NULL;
    made->n_frames = 0;
    made->boxes = stack.boxes.at;
    made->n_boxes = stack.boxes.n;
    made->lines = stack.lines.at;
    made->n_lines = stack.lines.n;
    diagram_name_all(arena, made);
    return made;
}
