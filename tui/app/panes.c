#include "tui/app/panes.h"

#include <limits.h>

enum { PANE_LEAST = 4 }; /* lines that stay with a pane */

/* A pane of a wide workspace: percent of the body. */
typedef struct {
    ShowId show;
    int x, y, w, h;
} WidePane;

typedef struct {
    int n;
    WidePane pane[LAYOUT_PANES];
    unsigned only; /* for such plans and screens alone; comes before the one that others have */
} Workspace;

enum {
    ONLY_TRAINS = 1, /* a training step */
    ONLY_HIGH = 2,   /* screens of LAYOUT_HIGH lines */
    ONLY_ALONE = 4,  /* no second plan beside it */
    ONLY_TALL = 8,   /* screens of LAYOUT_STACK_TALL lines */
    ONLY_WHOLE = 16, /* a forward plan without stages */
    ONLY_TRIES = 32, /* a training step whose policy has settings to try */
    ONLY_SPARE = 64, /* screens on which the view in the first pane leaves lines; it leads */
    ONLY_WIDE = 128, /* screens of LAYOUT_WIDE columns */
    ONLY_LESS = 256  /* screens of fewer, for the view in the first pane */
};

static const Workspace workspaces[] = {
    {.n = 3,
     .pane = {{SHOW_GRAPH, 0, 0, 61, 100}, {SHOW_OP, 61, 0, 39, 48}, {SHOW_TENSOR, 61, 48, 39, 52}},
     .only = ONLY_WIDE},
    {.n = 3,
     .pane = {{SHOW_TENSOR, 0, 0, 56, 68}, {SHOW_OP, 56, 0, 44, 68}, {SHOW_WHY, 0, 68, 100, 32}},
     .only = ONLY_LESS},
    {.n = 4,
     .pane = {{SHOW_MEM, 0, 0, 100, 60},
              {SHOW_LIVE, 0, 60, 36, 40},
              {SHOW_SAVED, 36, 60, 30, 40},
              {SHOW_TRY, 66, 60, 34, 40}},
     .only = ONLY_WIDE | ONLY_TRIES},
    {.n = 3,
     .pane = {{SHOW_MEM, 0, 0, 100, 60}, {SHOW_LIVE, 0, 60, 52, 40}, {SHOW_SAVED, 52, 60, 48, 40}},
     .only = ONLY_WIDE | ONLY_TRAINS},
    {.n = 3,
     .pane = {{SHOW_SAVED, 52, 60, 48, 40}, {SHOW_MEM, 0, 0, 100, 60}, {SHOW_LIVE, 0, 60, 52, 40}},
     .only = ONLY_WIDE | ONLY_TRAINS},
    {.n = 4,
     .pane = {{SHOW_MESH, 0, 0, 57, 40},
              {SHOW_LINKS, 0, 40, 57, 30},
              {SHOW_MEM, 57, 0, 43, 70},
              {SHOW_LIVE, 0, 70, 100, 30}},
     .only = ONLY_WIDE | ONLY_HIGH},
    {.n = 3,
     .pane = {{SHOW_MESH, 0, 0, 57, 58}, {SHOW_MEM, 57, 0, 43, 58}, {SHOW_LIVE, 0, 58, 100, 42}}},
    {.n = 3,
     .pane = {{SHOW_COMM, 0, 0, 100, 38},
              {SHOW_COMM_DETAIL, 0, 38, 57, 62},
              {SHOW_LINKS, 57, 38, 43, 62}},
     .only = ONLY_WIDE},
    {.n = 3,
     .pane = {{SHOW_DIFF, 0, 0, 58, 66},
              {SHOW_TRY, 0, 66, 58, 34},
              {SHOW_DIFF_TOTALS, 58, 0, 42, 100}},
     .only = ONLY_ALONE | ONLY_TRIES},
    {.n = 2,
     .pane = {{SHOW_DIFF, 0, 0, 58, 100}, {SHOW_DIFF_TOTALS, 58, 0, 42, 100}},
     .only = ONLY_ALONE | ONLY_TRAINS},
    {.n = 4,
     .pane = {{SHOW_DIFF, 0, 0, 58, 60},
              {SHOW_POLICY, 0, 60, 58, 40},
              {SHOW_DIFF_TOTALS, 58, 0, 42, 60},
              {SHOW_MEM, 58, 60, 42, 40}},
     .only = ONLY_ALONE},
    {.n = 3,
     .pane = {{SHOW_DIFF_TOTALS, 0, 0, 100, 32},
              {SHOW_DIFF, 0, 32, 100, 48},
              {SHOW_FORK, 0, 80, 100, 20}},
     .only = ONLY_WIDE | ONLY_TRAINS},
    {.n = 3,
     .pane = {{SHOW_DIFF_TOTALS, 0, 0, 100, 20},
              {SHOW_DIFF, 0, 20, 100, 56},
              {SHOW_FORK, 0, 76, 100, 24}},
     .only = ONLY_WIDE},
    {.n = 4,
     .pane = {{SHOW_POLICY, 0, 0, 50, 68},
              {SHOW_CONSOLE, 0, 68, 50, 32},
              {SHOW_RUN, 50, 0, 50, 50},
              {SHOW_CHECK, 50, 50, 50, 50}},
     .only = ONLY_WIDE},
    {.n = 4,
     .pane = {{SHOW_POLICY, 0, 0, 60, 74},
              {SHOW_CONSOLE, 0, 74, 60, 26},
              {SHOW_TRY, 60, 0, 40, 56},
              {SHOW_FINDINGS, 60, 56, 40, 44}},
     .only = ONLY_LESS | ONLY_TRIES},
    {.n = 4,
     .pane = {{SHOW_POLICY, 0, 0, 60, 74},
              {SHOW_CONSOLE, 0, 74, 60, 26},
              {SHOW_FINDINGS, 60, 0, 40, 50},
              {SHOW_RUN, 60, 50, 40, 50}},
     .only = ONLY_LESS},
    {.n = 2, .pane = {{SHOW_RUN, 0, 0, 60, 100}, {SHOW_CHECK, 60, 0, 40, 100}}, .only = ONLY_LESS},
    {.n = 4,
     .pane = {{SHOW_WHY, 0, 0, 61, 38},
              {SHOW_POLICY, 0, 38, 61, 62},
              {SHOW_OP, 61, 0, 39, 50},
              {SHOW_TENSOR, 61, 50, 39, 50}},
     .only = ONLY_WIDE},
    {.n = 4,
     .pane = {{SHOW_FINDINGS, 0, 0, 61, 38},
              {SHOW_POLICY, 0, 38, 61, 62},
              {SHOW_OP, 61, 0, 39, 50},
              {SHOW_TENSOR, 61, 50, 39, 50}},
     .only = ONLY_WIDE},
    {.n = 4,
     .pane = {{SHOW_JOURNAL, 0, 0, 61, 38},
              {SHOW_POLICY, 0, 38, 61, 62},
              {SHOW_OP, 61, 0, 39, 50},
              {SHOW_TENSOR, 61, 50, 39, 50}},
     .only = ONLY_WIDE},
    {.n = 4,
     .pane = {{SHOW_ERRORS, 0, 0, 61, 28},
              {SHOW_POLICY, 0, 28, 61, 72},
              {SHOW_OP, 61, 0, 39, 50},
              {SHOW_TENSOR, 61, 50, 39, 50}},
     .only = ONLY_WIDE},
    {.n = 3,
     .pane = {{SHOW_EVENTS, 0, 0, 61, 100},
              {SHOW_OP, 61, 0, 39, 48},
              {SHOW_TENSOR, 61, 48, 39, 52}},
     .only = ONLY_WIDE},
    {.n = 3,
     .pane = {{SHOW_SCHEDULE, 0, 0, 100, 66},
              {SHOW_GRAPH, 0, 66, 56, 34},
              {SHOW_RUN, 56, 66, 44, 34}},
     .only = ONLY_WHOLE},
    {.n = 5,
     .pane = {{SHOW_NEAR, 0, 0, 56, 46},
              {SHOW_GRAPH, 0, 46, 56, 32},
              {SHOW_WHY, 0, 78, 56, 22},
              {SHOW_OP, 56, 0, 44, 50},
              {SHOW_TENSOR, 56, 50, 44, 50}},
     .only = ONLY_WIDE | ONLY_HIGH},
    {.n = 3,
     .pane = {{SHOW_NEAR, 0, 0, 100, 44}, {SHOW_OP, 0, 44, 52, 56}, {SHOW_TENSOR, 52, 44, 48, 56}}},
};

/* Views above each other on a narrow screen: lines of each, and percent of the body if that is
 * more; 0: what is left. */
typedef struct {
    ShowId show;
    int rows, percent;
} StackPane;

typedef struct {
    int n;
    StackPane pane[LAYOUT_PANES];
    unsigned only; /* as of a Workspace; those of tall screens are of the view that leads them */
} PaneStack;

static const PaneStack stacks[] = {
    {.n = 2, .pane = {{SHOW_COMM, 0, 0}, {SHOW_COMM_DETAIL, 10, 45}}},
    {.n = 2, .pane = {{SHOW_MEM, 0, 0}, {SHOW_TRY, 9, 42}}, .only = ONLY_TRIES},
    {.n = 2, .pane = {{SHOW_MEM, 0, 0}, {SHOW_LIVE, 9, 45}}},
    {.n = 2, .pane = {{SHOW_MEM, 0, 0}, {SHOW_SAVED, 9, 45}}},
    {.n = 2, .pane = {{SHOW_TENSOR, 0, 0}, {SHOW_OP, 12, 34}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_MESH, 0, 0}, {SHOW_LINKS, 12, 40}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_WHY, 0, 0}, {SHOW_POLICY, 14, 55}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_FINDINGS, 0, 0}, {SHOW_OP, 14, 50}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_JOURNAL, 0, 0}, {SHOW_POLICY, 14, 65}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_ERRORS, 0, 0}, {SHOW_POLICY, 14, 70}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_WHY, 0, 0}, {SHOW_OP, 5, 0}}, .only = ONLY_SPARE},
    {.n = 2, .pane = {{SHOW_NEAR, 0, 0}, {SHOW_OP, 14, 42}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_LINKS, 0, 0}, {SHOW_COMM_DETAIL, 7, 20}}, .only = ONLY_TALL},
    {.n = 2, .pane = {{SHOW_SCHEDULE, 0, 0}, {SHOW_GRAPH, 10, 30}}, .only = ONLY_TALL | ONLY_WHOLE},
    {.n = 2, .pane = {{SHOW_DIFF, 0, 0}, {SHOW_DIFF_TOTALS, 6, 45}}, .only = ONLY_ALONE},
    {.n = 3,
     .pane = {{SHOW_DIFF_TOTALS, 9, 30}, {SHOW_DIFF, 0, 0}, {SHOW_FORK, 4, 15}},
     .only = ONLY_TRAINS},
    {.n = 3, .pane = {{SHOW_DIFF_TOTALS, 6, 0}, {SHOW_DIFF, 0, 0}, {SHOW_FORK, 4, 15}}},
    {.n = 2, .pane = {{SHOW_POLICY, 0, 0}, {SHOW_CONSOLE, 7, 35}}},
    {.n = 2, .pane = {{SHOW_RUN, 0, 0}, {SHOW_CHECK, 6, 30}}},
};

static bool has_pane(const Workspace *workspace, ShowId show)
{
    for (int p = 0; p < workspace->n; p++)
        if (workspace->pane[p].show == show)
            return true;
    return false;
}

/* Where a view leads if there is such a workspace, else, on a wide screen, where it has a pane. */
static const Workspace *workspace_of(ShowId show, unsigned have)
{
    const Workspace *beside = NULL;

    for (size_t i = 0; i < sizeof workspaces / sizeof workspaces[0]; i++) {
        const Workspace *workspace = &workspaces[i];
        if (workspace->only & ~have)
            continue;
        if (workspace->pane[0].show == show)
            return workspace;
        if (!beside && have & ONLY_WIDE && has_pane(workspace, show))
            beside = workspace;
    }
    return beside;
}

static const PaneStack *stack_of(ShowId show, ShowId lead, unsigned have)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        const PaneStack *stack = &stacks[i];
        bool led = stack->only & (ONLY_TALL | ONLY_SPARE);
        if (stack->only & ~have || (led && stack->pane[0].show != lead))
            continue;
        for (int p = 0; p < stack->n; p++)
            if (stack->pane[p].show == show)
                return stack;
    }
    return NULL;
}

/* Beside it are other views on a narrow screen too; but where the view that leads has it below, it
 * stays there. */
static const Workspace *workspace_for(ShowId show, const LayoutLook *look, unsigned have)
{
    const Workspace *led = workspace_of(look->lead, have), *own = workspace_of(show, have);
    const PaneStack *stack = stack_of(show, look->lead, have);
    bool below = stack && stack->only & (ONLY_TALL | ONLY_SPARE) && look->lead != show;

    if (led && has_pane(led, show))
        return led;
    return own && own->only & ONLY_LESS && below ? NULL : own;
}

/* Where it was moved to, in percent; -1 if it was not. */
static int moved_to(const PaneLayout *layout, bool upright, int percent)
{
    const Splits *splits = &layout->splits;

    for (int i = 0; i < splits->n; i++) {
        const Border *border = &splits->moved[i].border;
        if (border->workspace == layout->workspace && border->upright == upright &&
            border->percent == percent)
            return splits->moved[i].percent;
    }
    return -1;
}

/* Where a border stands, in columns or rows of the body. */
static int border_at(const PaneLayout *layout, bool upright, int percent)
{
    int of = upright ? layout->body.w : layout->body.h;
    int moved = moved_to(layout, upright, percent);

    if (moved >= 0)
        return of * moved / 100;
    return of * percent / 100 + (upright ? 0 : layout->lower[percent]);
}

/* ---- lines that one pane has too many and another too few ---- */

/* Of the panes on one side of a level border, in lines. */
typedef struct {
    int spare; /* of the pane that can spare least; INT_MAX: there is no pane */
    int lacks; /* of the pane that lacks most */
} PaneSide;

static const PaneSide no_pane = {INT_MAX, 0};

static void side_add(PaneSide *side, int wants, int lines)
{
    int least = wants > PANE_LEAST ? wants : PANE_LEAST;
    int spare = wants && lines > least ? lines - least : 0;
    int lacks = !wants ? INT_MAX : lines < wants ? wants - lines : 0;

    side->spare = spare < side->spare ? spare : side->spare;
    side->lacks = lacks > side->lacks ? lacks : side->lacks;
}

/* Rows by which their border goes down. */
static int lower_by(const PaneSide *above, const PaneSide *below)
{
    if (above->spare > 0 && below->lacks > 0)
        return -(above->spare < below->lacks ? above->spare : below->lacks);
    if (below->spare > 0 && above->lacks > 0)
        return below->spare < above->lacks ? below->spare : above->lacks;
    return 0;
}

/* Level borders that nobody moved, from the top. */
static void lend_lines(PaneLayout *layout, const Workspace *workspace, const LayoutLook *look)
{
    for (int percent = 1; percent < 100; percent++) {
        PaneSide above = no_pane, below = no_pane;
        for (int p = 0; p < workspace->n; p++) {
            const WidePane *pane = &workspace->pane[p];
            int lines =
                border_at(layout, false, pane->y + pane->h) - border_at(layout, false, pane->y) - 2;
            if (pane->y + pane->h == percent)
                side_add(&above, look->wants[pane->show], lines);
            if (pane->y == percent)
                side_add(&below, look->wants[pane->show], lines);
        }
        bool border = above.spare < INT_MAX && below.spare < INT_MAX;
        if (border && moved_to(layout, false, percent) < 0)
            layout->lower[percent] = lower_by(&above, &below);
    }
}

/* Borders at equal percents meet, whatever the size. */
static void spread(PaneLayout *layout, const Workspace *workspace, const LayoutLook *look,
                   Rect body)
{
    layout->workspace = (int)(workspace - workspaces);
    lend_lines(layout, workspace, look);
    for (int p = 0; p < workspace->n; p++) {
        const WidePane *pane = &workspace->pane[p];
        int left = border_at(layout, true, pane->x);
        int right = border_at(layout, true, pane->x + pane->w);
        int top = border_at(layout, false, pane->y);
        int bottom = border_at(layout, false, pane->y + pane->h);
        Rect frame = {body.x + left, body.y + top, right - left, bottom - top};
        layout->pane[layout->n_panes++] =
            (LayoutPane){pane->show, frame, {frame.x + 1, frame.y + 1, frame.w - 2, frame.h - 2}};
    }
}

/* Panes but for the first begin with a line that names them. */
static void pile(PaneLayout *layout, const PaneStack *stack, const LayoutLook *look, Rect body)
{
    int height[LAYOUT_PANES], left = body.h, flexible = 0;

    for (int p = 0; p < stack->n; p++) {
        int share = body.h * stack->pane[p].percent / 100;
        height[p] = stack->pane[p].rows > share ? stack->pane[p].rows : share;
        left -= height[p];
        if (height[p] == 0)
            flexible = p;
    }
    height[flexible] = left;
    for (int p = 0; p + 1 < stack->n; p++) {
        PaneSide above = no_pane, below = no_pane;
        side_add(&above, look->wants[stack->pane[p].show], height[p] - (p > 0));
        side_add(&below, look->wants[stack->pane[p + 1].show], height[p + 1] - 1);
        int lower = lower_by(&above, &below);
        height[p] += lower;
        height[p + 1] -= lower;
    }
    for (int p = 0, y = body.y; p < stack->n; y += height[p++]) {
        Rect whole = {body.x, y, body.w, height[p]};
        LayoutPane *pane = &layout->pane[layout->n_panes++];
        *pane = (LayoutPane){stack->pane[p].show, {0}, whole};
        if (p > 0) {
            pane->frame = (Rect){whole.x, whole.y, whole.w, 1};
            pane->area.y++;
            pane->area.h--;
        }
    }
}

PaneLayout layout_make(int w, int h, ShowId show, const LayoutLook *look, const Splits *splits)
{
    PaneLayout layout = {.status = {0, 0, w, 1},
                         .tabs = {0, 1, w, 1},
                         .path = {0, 2, w, 1},
                         .note = {0, h - 2, w, 1},
                         .keys = {0, h - 1, w, 1},
                         .body = {0, 3, w, h - 5},
                         .workspace = -1};
    Rect body = layout.body;
    bool spares = look->wants[look->lead] + PANE_LEAST < body.h;
    unsigned have = (look->trains ? ONLY_TRAINS : 0u) | (look->alone ? ONLY_ALONE : 0u) |
                    (!look->trains && !look->staged ? ONLY_WHOLE : 0u) |
                    (look->tries ? ONLY_TRIES : 0u) | (h >= LAYOUT_HIGH ? ONLY_HIGH : 0u) |
                    (spares && !look->brief ? ONLY_SPARE : 0u) |
                    (w >= LAYOUT_WIDE ? ONLY_WIDE : ONLY_LESS) |
                    (h >= LAYOUT_STACK_TALL && !look->brief ? ONLY_TALL : 0u);
    bool panes = w >= LAYOUT_WIDE ? h >= LAYOUT_TALL : w >= LAYOUT_PANES_W && have & ONLY_TALL;
    const Workspace *workspace = panes ? workspace_for(show, look, have) : NULL;
    const PaneStack *stack = stack_of(show, look->lead, have);

    if (splits)
        layout.splits = *splits;
    layout.too_small = w < LAYOUT_MIN_W || h < LAYOUT_MIN_H;
    if (layout.too_small)
        return layout;
    if (workspace && !look->zoomed)
        spread(&layout, workspace, look, body);
    else if (stack && !look->zoomed && body.h >= LAYOUT_STACK_H)
        pile(&layout, stack, look, body);
    else
        layout.pane[layout.n_panes++] = (LayoutPane){show, {0}, body};
    return layout;
}

bool layout_border(const PaneLayout *layout, int x, int y, Border *out)
{
    if (layout->workspace < 0)
        return false;
    const Workspace *workspace = &workspaces[layout->workspace];
    for (int p = 0; p < workspace->n; p++) {
        const WidePane *pane = &workspace->pane[p];
        Rect frame = layout->pane[p].frame;
        bool across = x >= frame.x && x < frame.x + frame.w;
        bool down = y >= frame.y && y < frame.y + frame.h;
        bool upright = pane->x > 0 && down && (x == frame.x || x == frame.x - 1);
        bool level = pane->y > 0 && across && (y == frame.y || y == frame.y - 1);
        if (!upright && !level)
            continue;
        *out = (Border){layout->workspace, upright, upright ? pane->x : pane->y};
        return true;
    }
    return false;
}

enum { PERCENT_MIN = 12, PERCENT_MAX = 88 };

/* The nearest borders of the workspace around one, as they stand: a pane between keeps a part. */
static void bounds(const PaneLayout *layout, const Border *border, int *least, int *most)
{
    const Workspace *workspace = &workspaces[border->workspace];
    int of = border->upright ? layout->body.w : layout->body.h;
    int at = border_at(layout, border->upright, border->percent);

    *least = PERCENT_MIN;
    *most = PERCENT_MAX;
    for (int p = 0; p < workspace->n; p++) {
        int percent = border->upright ? workspace->pane[p].x : workspace->pane[p].y;
        int other = border_at(layout, border->upright, percent), in = other * 100 / of;
        if (percent == 0 || percent == border->percent)
            continue;
        if (other < at && in + PERCENT_MIN > *least)
            *least = in + PERCENT_MIN;
        if (other > at && in - PERCENT_MIN < *most)
            *most = in - PERCENT_MIN;
    }
}

void layout_drag(const PaneLayout *layout, Splits *splits, const Border *border, int x, int y)
{
    int of = border->upright ? layout->body.w : layout->body.h;
    int to = (border->upright ? x - layout->body.x : y - layout->body.y) * 100 / of;
    int least, most, i = 0;

    if (border->workspace != layout->workspace)
        return;
    bounds(layout, border, &least, &most);
    to = to < least ? least : to > most ? most : to;
    while (i < splits->n && (splits->moved[i].border.workspace != border->workspace ||
                             splits->moved[i].border.upright != border->upright ||
                             splits->moved[i].border.percent != border->percent))
        i++;
    if (i == LAYOUT_BORDERS)
        return;
    splits->n = i == splits->n ? i + 1 : splits->n;
    splits->moved[i].border = *border;
    splits->moved[i].percent = to;
}
