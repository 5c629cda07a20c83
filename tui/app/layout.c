#include "tui/app/layout.h"

/* A pane of a wide workspace: percent of the body. */
typedef struct {
    ShowId show;
    int x, y, w, h;
} WidePane;

typedef struct {
    int n;
    WidePane pane[LAYOUT_PANES];
} Workspace;

static const Workspace workspaces[] = {
    {3, {{SHOW_GRAPH, 0, 0, 61, 100}, {SHOW_OP, 61, 0, 39, 48}, {SHOW_TENSOR, 61, 48, 39, 52}}},
    {3, {{SHOW_MESH, 0, 0, 57, 58}, {SHOW_MEM, 57, 0, 43, 58}, {SHOW_LIVE, 0, 58, 100, 42}}},
    {3,
     {{SHOW_COMM, 0, 0, 100, 38}, {SHOW_COMM_DETAIL, 0, 38, 57, 62}, {SHOW_LINKS, 57, 38, 43, 62}}},
    {3,
     {{SHOW_DIFF_TOTALS, 0, 0, 100, 20}, {SHOW_DIFF, 0, 20, 100, 56}, {SHOW_FORK, 0, 76, 100, 24}}},
    {4,
     {{SHOW_POLICY, 0, 0, 50, 55},
      {SHOW_CONSOLE, 0, 55, 50, 45},
      {SHOW_RUN, 50, 0, 50, 55},
      {SHOW_CHECK, 50, 55, 50, 45}}},
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
} Stack;

static const Stack stacks[] = {
    {2, {{SHOW_COMM, 0, 0}, {SHOW_COMM_DETAIL, 10, 45}}},
    {2, {{SHOW_MEM, 0, 0}, {SHOW_LIVE, 9, 45}}},
    {3, {{SHOW_DIFF_TOTALS, 6, 0}, {SHOW_DIFF, 0, 0}, {SHOW_FORK, 4, 15}}},
    {2, {{SHOW_POLICY, 0, 0}, {SHOW_CONSOLE, 7, 35}}},
    {2, {{SHOW_RUN, 0, 0}, {SHOW_CHECK, 6, 30}}},
};

static const Workspace *workspace_of(ShowId show)
{
    for (size_t i = 0; i < sizeof workspaces / sizeof workspaces[0]; i++)
        for (int p = 0; p < workspaces[i].n; p++)
            if (workspaces[i].pane[p].show == show)
                return &workspaces[i];
    return NULL;
}

static const Stack *stack_of(ShowId show)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++)
        for (int p = 0; p < stacks[i].n; p++)
            if (stacks[i].pane[p].show == show)
                return &stacks[i];
    return NULL;
}

/* Borders at equal percents meet, whatever the size. */
static void spread(Layout *layout, const Workspace *workspace, Rect body)
{
    for (int p = 0; p < workspace->n; p++) {
        const WidePane *pane = &workspace->pane[p];
        int left = body.w * pane->x / 100, right = body.w * (pane->x + pane->w) / 100;
        int top = body.h * pane->y / 100, bottom = body.h * (pane->y + pane->h) / 100;
        Rect frame = {body.x + left, body.y + top, right - left, bottom - top};
        layout->pane[layout->n_panes++] =
            (LayoutPane){pane->show, frame, {frame.x + 1, frame.y + 1, frame.w - 2, frame.h - 2}};
    }
}

/* Panes but for the first begin with a line that names them. */
static void pile(Layout *layout, const Stack *stack, Rect body)
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

Layout layout_make(int w, int h, ShowId show, bool zoomed)
{
    Layout layout = {.status = {0, 0, w, 1},
                     .tabs = {0, 1, w, 1},
                     .path = {0, 2, w, 1},
                     .note = {0, h - 2, w, 1},
                     .keys = {0, h - 1, w, 1}};
    Rect body = {0, 3, w, h - 5};
    const Workspace *workspace = workspace_of(show);
    const Stack *stack = stack_of(show);

    layout.too_small = w < LAYOUT_MIN_W || h < LAYOUT_MIN_H;
    if (layout.too_small)
        return layout;
    if (workspace && !zoomed && w >= LAYOUT_WIDE && h >= LAYOUT_TALL)
        spread(&layout, workspace, body);
    else if (stack && !zoomed && body.h >= LAYOUT_STACK_H)
        pile(&layout, stack, body);
    else
        layout.pane[layout.n_panes++] = (LayoutPane){show, {0}, body};
    return layout;
}
