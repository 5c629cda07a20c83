/* paper_stack.c - boxes of a drawing one below the other in a column, lines that pass others in
 * lanes at the left: what every drawing of a graph can be on a narrow page. A stack that is longer
 * than the page goes on in further columns, side by side and on further pages; lines from one
 * column to another are words, but for the one from its last row to the next. */
#include "viz/paper_rows.h"

#include "viz/fold.h"
#include "viz/ids.h"

#include <math.h>

static const double GAP = 9, LEADING = 1.2;

/* ---- places ---- */

static double room_of(const Stack *stack, int box)
{
    return stack->width - stack->left -
           2 * STACK_INSET * stack_depth_of(stack, stack->diagram->boxes[box].frame);
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
    for (int i = stack->into[box]; i >= 0; i = stack->next[i])
        n += count_lines(stack->label[i].str);
    return n * stack->line;
}

static double height_of(const Stack *stack, int row)
{
    PlacedRect size = stack->sizes->box[stack->box_at[row]];
    return size.y1 - size.y0;
}

/* Frames around the box of one row that are not around that of another; -1: of no row. */
static bool ends(const Stack *stack, int frame, int row, int other)
{
    return row >= 0 && stack_has(stack, frame, stack->box_at[row]) &&
           !(other >= 0 && stack_has(stack, frame, stack->box_at[other]));
}

static double title_height(const Stack *stack, int frame, int row)
{
    bool first = row == 0 || ends(stack, frame, row, row - 1);
    return GAP / 2 + stack->line * count_lines((first ? stack->title : stack->again)[frame].str) +
           2;
}

/* From the bottom of the row before, or the top of a column, to the top of a row. */
static double above_row(const Stack *stack, int row, bool top)
{
    int before = top ? -1 : row - 1;
    double label = label_height(stack, stack->box_at[row]);
    double y = row > 0 || label > 0 ? GAP + label : 0;

    for (int f = 0; f < stack->diagram->n_frames; f++) {
        y += ends(stack, f, before, row) ? STACK_INSET : 0;
        y += ends(stack, f, row, before) ? title_height(stack, f, row) : 0;
    }
    return y;
}

static double below_row(const Stack *stack, int row)
{
    return STACK_INSET * stack_depth_of(stack, stack->diagram->boxes[stack->box_at[row]].frame);
}

/* Puts rows into columns that are at most so high, where a row is not higher itself. Returns how
 * many there are. column_of: per row, or NULL. */
static int count_columns(const Stack *stack, double height, int *column_of)
{
    double y = 0;
    int n = 0;

    for (int row = 0; row < stack->n_rows; row++) {
        double down = above_row(stack, row, false) + height_of(stack, row);
        bool next = row > 0 && y + down + below_row(stack, row) + GAP > height;
        n += next;
        y = next || row == 0 ? above_row(stack, row, true) + height_of(stack, row) : y + down;
        if (column_of)
            column_of[row] = n;
    }
    return n + 1;
}

/* As many columns as pages of that height need, as even as rows allow. */
static void choose_columns(Stack *stack, double height, int *column_of)
{
    enum { HALVINGS = 20 };
    double all = 0, low = 0;

    for (int row = 0; row < stack->n_rows; row++)
        all += above_row(stack, row, row == 0) + height_of(stack, row);
    double high = all + GAP + STACK_INSET < height ? all + GAP + STACK_INSET : height;
    int n = high < 0.5 * PAPER_HEIGHT ? 1 : count_columns(stack, high, NULL);
    if (high >= 0.5 * PAPER_HEIGHT)
        n = (n + stack->n_beside - 1) / stack->n_beside * stack->n_beside;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (count_columns(stack, middle, NULL) <= n)
            high = middle;
        else
            low = middle;
    }
    count_columns(stack, high, column_of);
}

static double column_x(const Stack *stack, int column)
{
    return column % stack->n_beside * (stack->width + PAPER_GUTTER);
}

/* Closes the frames that end below a row, and opens those that begin above the next. */
static double pass_frames(Stack *stack, int before, int row, double y)
{
    for (int f = stack->diagram->n_frames - 1; f >= 0; f--)
        if (ends(stack, f, before, row)) {
            DiagramPlace *place = &stack->parts.at[stack->part[f] - 1].place;
            y += STACK_INSET;
            place->h = y - place->y;
        }
    for (int f = 0; f < stack->diagram->n_frames; f++)
        if (ends(stack, f, row, before)) {
            double inset = STACK_INSET * (stack_depth_of(stack, f) - 1);
            int column = stack->column_of[row];
            FramePart part = {.frame = f, .column = column, .again = stack->part[f] > 0};
            part.place = (DiagramPlace){column_x(stack, column) + stack->left + inset, y + GAP / 2,
                                        stack->width - stack->left - 2 * inset - 1, 0};
            vec_push(stack->arena, &stack->parts, part);
            stack->part[f] = stack->parts.n;
            y += title_height(stack, f, row);
        }
    return y;
}

static bool place_rows(Stack *stack)
{
    double y = 0, middle = stack_middle_of(stack);

    for (int row = 0; row < stack->n_rows; row++) {
        int box = stack->box_at[row], column = stack->column_of[row];
        bool top = row == 0 || stack->column_of[row - 1] < column;
        double w = stack->sizes->box[box].x1 - stack->sizes->box[box].x0;
        if (w > room_of(stack, box) + 1)
            return false;
        if (top && row > 0)
            stack->bottom[column - 1] = pass_frames(stack, row - 1, -1, y) + GAP;
        y = pass_frames(stack, top ? -1 : row - 1, row, top ? 0 : y);
        y += row > 0 || label_height(stack, box) > 0 ? GAP + label_height(stack, box) : 0;
        stack->place[box] =
            (DiagramPlace){column_x(stack, column) + middle - w / 2, y, w, height_of(stack, row)};
        y += height_of(stack, row);
    }
    pass_frames(stack, stack->n_rows - 1, -1, y);
    return true;
}

/* Words in the place of lines need room themselves: columns are chosen until they stay as they
 * are, or for the last time a little shorter. */
static void lay_columns(Stack *stack, double height)
{
    enum { PASSES = 6 };
    int *next = arena_array(stack->arena, int, stack->n_rows + 1);
    size_t size = (size_t)stack->n_rows * sizeof *next;

    for (int pass = 0; pass < PASSES; pass++) {
        choose_columns(stack, pass + 1 < PASSES ? height : 0.95 * height, next);
        if (memcmp(next, stack->column_of, size) == 0)
            break;
        memcpy(stack->column_of, next, size);
        stack_give_lanes(stack);
        stack_write_texts(stack);
    }
    stack->n_columns = stack->n_rows > 0 ? stack->column_of[stack->n_rows - 1] + 1 : 1;
    stack->bottom = arena_array(stack->arena, double, stack->n_columns + 1);
}

/* ---- drawing ---- */

static DiagramBox new_box(BoxLook look, DiagramPlace place)
{
    DiagramBox box = diagram_box(look, "");

    box.place = place;
    return box;
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
    double w = STACK_ADVANCE * fold_columns(text.str);
    DiagramBox box =
        new_box(BOX_TEXT, (DiagramPlace){x, y, w, stack->line * count_lines(text.str)});

    box.flow = text;
    box.left = true;
    put_box(stack, box);
}

static void put_frames(Stack *stack, int page)
{
    static const BoxLook looks[] = {[FRAME_PLAIN] = BOX_OUTLINE,
                                    [FRAME_STAGE] = BOX_OUTLINE,
                                    [FRAME_DEVICES] = BOX_DASHES,
                                    [FRAME_REPEATED] = BOX_DOUBLE};

    for (int i = 0; i < stack->parts.n; i++) {
        const FramePart *part = &stack->parts.at[i];
        if (part->column / stack->n_beside != page)
            continue;
        const DiagramFrame *frame = &stack->diagram->frames[part->frame];
        DiagramBox box = new_box(looks[frame->look], part->place);
        box.why = frame->why;
        put_box(stack, box);
        put_text(stack, part->place.x + 2, part->place.y + 1,
                 (part->again ? stack->again : stack->title)[part->frame]);
    }
}

static int column_at(const Stack *stack, int box)
{
    return stack->column_of[stack->row_of[box]];
}

/* The labels of lines into a box are above it; `used` lines are taken by those before. */
static void put_label(Stack *stack, int i, int *used)
{
    Text label = stack->label[i];
    int to = stack->diagram->lines[i].to;

    if (label.str.n == 0)
        return;
    put_text(stack, column_x(stack, column_at(stack, to)) + stack_label_x(stack, i),
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

/* A line to the next row: it goes out of the column below and comes into the next one above. */
static void put_straight(Stack *stack, const DiagramLine *line, int page)
{
    DiagramPlace from = stack->place[line->from], to = stack->place[line->to];
    double x = from.x + from.w / 2, end = to.y;
    int a = column_at(stack, line->from), b = column_at(stack, line->to);

    if (a != b)
        end = stack->bottom[a];
    if (a / stack->n_beside == page)
        put_segment(stack, line, put_corner(stack, x, from.y + from.h), put_corner(stack, x, end),
                    a == b);
    x = to.x + to.w / 2;
    if (a != b && b / stack->n_beside == page)
        put_segment(stack, line, put_corner(stack, x, 0), put_corner(stack, x, to.y), true);
}

static void put_line(Stack *stack, int i, int page)
{
    const DiagramLine *line = &stack->diagram->lines[i];
    DiagramPlace from = stack->place[line->from], to = stack->place[line->to];
    int column = column_at(stack, line->to);

    if (stack->lane_x[i] <= 0) {
        put_straight(stack, line, page);
        return;
    }
    if (column / stack->n_beside != page)
        return;
    double x = column_x(stack, column) + stack->lane_x[i];
    double out = from.y + from.h - (from.h > 8 ? STACK_SIDE : from.h / 2);
    double in = to.y + (to.h > 8 ? STACK_SIDE : to.h / 2);
    int first = put_corner(stack, from.x, out), turn = put_corner(stack, x, out);
    int back = put_corner(stack, x, in);
    put_segment(stack, line, first, turn, false);
    put_segment(stack, line, turn, back, false);
    put_segment(stack, line, back, put_corner(stack, to.x, in), true);
}

static Stack stack_new(Arena *arena, const Diagram *diagram, const Placed *order, double width)
{
    Stack stack = {.arena = arena, .diagram = diagram, .order = order};

    stack.n_beside = paper_beside(width);
    stack.width = paper_column(width);
    stack.line = LEADING * PAPER_POINTS;
    stack_list_lines(&stack);
    stack.row_of = arena_array(arena, int, diagram->n_boxes + 1);
    stack.box_at = arena_array(arena, int, diagram->n_boxes + 1);
    stack.column_of = arena_array(arena, int, diagram->n_boxes + 1);
    stack.lane_x = arena_array(arena, double, diagram->n_lines + 1);
    stack.told = arena_array(arena, bool, diagram->n_lines + 1);
    stack.taken = arena_array(arena, unsigned, diagram->n_boxes + 1);
    stack.place = arena_array(arena, DiagramPlace, diagram->n_boxes + 1);
    stack.part = arena_array(arena, int, diagram->n_frames + 1);
    stack.label = arena_array(arena, Text, diagram->n_lines + 1);
    stack.title = arena_array(arena, Text, diagram->n_frames + 1);
    stack.again = arena_array(arena, Text, diagram->n_frames + 1);
    stack_order(&stack);
    stack_give_lanes(&stack);
    stack_write_texts(&stack);
    return stack;
}

int paper_beside(double width)
{
    return (int)fmax(1, (width + PAPER_GUTTER) / (PAPER_COLUMN + PAPER_GUTTER));
}

double paper_column(double width)
{
    int n = paper_beside(width);
    return (width - (n - 1) * PAPER_GUTTER) / n;
}

const double *paper_room(Arena *arena, const Diagram *diagram, const Placed *order, double width)
{
    Stack stack = stack_new(arena, diagram, order, width);
    double *room = arena_array(arena, double, diagram->n_boxes + 1);

    for (int i = 0; i < diagram->n_boxes; i++)
        room[i] = room_of(&stack, i);
    return room;
}

static Diagram put_page(Stack *stack, int page)
{
    const Diagram *diagram = stack->diagram;
    Diagram made = *diagram;
    int *used = arena_array(stack->arena, int, diagram->n_boxes + 1);

    memset(&stack->boxes, 0, sizeof stack->boxes);
    memset(&stack->lines, 0, sizeof stack->lines);
    put_frames(stack, page);
    for (int b = 0; b < diagram->n_boxes; b++) {
        DiagramBox box = diagram->boxes[b];
        box.place = stack->place[b];
        box.frame = -1;
        if (column_at(stack, b) / stack->n_beside == page)
            put_box(stack, box);
    }
    for (int i = 0; i < diagram->n_lines; i++) {
        int to = diagram->lines[i].to;
        if (!stack_is_drawn(&diagram->lines[i]))
            continue;
        if (column_at(stack, to) / stack->n_beside == page)
            put_label(stack, i, &used[to]);
        if (!stack->told[i])
            put_line(stack, i, page);
    }
    made.placed = true;
    made.frames = NULL;
    made.n_frames = 0;
    made.boxes = stack->boxes.at;
    made.n_boxes = stack->boxes.n;
    made.lines = stack->lines.at;
    made.n_lines = stack->lines.n;
    diagram_name_all(stack->arena, &made);
    return made;
}

PaperPages paper_stack(Arena *arena, const Diagram *diagram, const Placed *order,
                       const Placed *sizes, double width, double height)
{
    Stack stack = stack_new(arena, diagram, order, width);
    PaperPages pages = {0};

    stack.sizes = sizes;
    lay_columns(&stack, height);
    if (!place_rows(&stack))
        return pages;
    pages.n = (stack.n_columns + stack.n_beside - 1) / stack.n_beside;
    pages.at = arena_array(arena, Diagram, pages.n);
    for (int page = 0; page < pages.n; page++)
        pages.at[page] = put_page(&stack, page);
    return pages;
}
