#include "tui/app/layout.h"

/* Panes shown together: the first on the left, the others above each other on the right. */
typedef struct {
    int n;
    ShowId show[LAYOUT_PANES];
    int left_percent;
    int upper_percent; /* of the right side's height */
} PaneGroup;

static const PaneGroup groups[] = {
    {3, {SHOW_GRAPH, SHOW_OP, SHOW_TENSOR}, 60, 45},
    {2, {SHOW_COMM, SHOW_MESH}, 60, 100},
};

/* The group a view is shown in, or NULL when it takes the body for itself. */
static const PaneGroup *group_of(ShowId show)
{
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (int i = 0; i < groups[g].n; i++)
            if (groups[g].show[i] == show)
                return &groups[g];
    return NULL;
}

static void add_framed(Layout *layout, ShowId show, Rect frame)
{
    layout->pane[layout->n_panes++] =
        (LayoutPane){show, frame, {frame.x + 1, frame.y + 1, frame.w - 2, frame.h - 2}};
}

static void split(Layout *layout, const PaneGroup *group, Rect body)
{
    int left = body.w * group->left_percent / 100;
    int upper = group->n > 2 ? body.h * group->upper_percent / 100 : body.h;

    add_framed(layout, group->show[0], (Rect){body.x, body.y, left, body.h});
    add_framed(layout, group->show[1], (Rect){body.x + left, body.y, body.w - left, upper});
    if (group->n > 2)
        add_framed(layout, group->show[2],
                   (Rect){body.x + left, body.y + upper, body.w - left, body.h - upper});
}

Layout layout_make(int w, int h, ShowId show, bool zoomed)
{
    Layout layout = {.status = {0, 0, w, 1},
                     .tabs = {0, 1, w, 1},
                     .path = {0, 2, w, 1},
                     .note = {0, h - 2, w, 1},
                     .keys = {0, h - 1, w, 1}};
    Rect body = {0, 3, w, h - 5};
    const PaneGroup *group = group_of(show);

    layout.too_small = w < LAYOUT_MIN_W || h < LAYOUT_MIN_H;
    if (layout.too_small)
        return layout;
    if (group && !zoomed && w >= LAYOUT_WIDE && h >= LAYOUT_TALL) {
        split(&layout, group, body);
        return layout;
    }
    layout.n_panes = 1;
    layout.pane[0] = (LayoutPane){show, {0}, body};
    return layout;
}
