#include "tests/unit/unit.h"

#include "tui/app/panes.h"

#include <stdio.h>

typedef struct {
    const char *name;
    int w, h;
    ShowId show;
    bool zoomed;
    const char *want; /* panes: view and area; "too small" */
    bool trains, tries;
    ShowId lead;     /* the view that was opened */
    bool alone;      /* there is no second plan */
    int wants[2][2]; /* view, lines that it has a use for */
} Row;

static Row rows[] = {
    {"80x24", 80, 24, SHOW_GRAPH, false, .want = "graph 0,3 80x19"},
    {"smallest", 40, 10, SHOW_OP, false, .want = "op 0,3 40x5"},
    {"one column less", 39, 10, SHOW_GRAPH, false, .want = "too small"},
    {"one row less", 40, 9, SHOW_GRAPH, false, .want = "too small"},
    {"nothing at all", 0, 0, SHOW_GRAPH, false, .want = "too small"},
    {"160x50", 160, 50, SHOW_GRAPH, false,
     .want = "graph 1,4 95x43; op 98,4 61x19; tensor 98,25 61x22"},
    {"focus on another pane", 160, 50, SHOW_TENSOR, false,
     .want = "graph 1,4 95x43; op 98,4 61x19; tensor 98,25 61x22"},
    {"zoomed", 160, 50, SHOW_TENSOR, true, .want = "tensor 0,3 160x45"},
    {"collectives and the selected one", 160, 50, SHOW_COMM, false,
     .want = "comm 1,4 158x15; detail 1,21 89x26; links 92,21 67x26"},
    {"the selected one below", 80, 24, SHOW_COMM, false, .want = "comm 0,3 80x9; detail 0,13 80x9"},
    {"focus on the part below", 80, 24, SHOW_COMM_DETAIL, false,
     .want = "comm 0,3 80x9; detail 0,13 80x9"},
    {"too low for both", 80, 16, SHOW_COMM, false, .want = "comm 0,3 80x11"},
    {"two plans", 80, 24, SHOW_DIFF, false,
     .want = "totals 0,3 80x6; diff 0,10 80x8; fork 0,19 80x3"},
    {"why, beside what it is about", 160, 50, SHOW_WHY, false,
     .want = "why 1,4 95x15; policy 1,21 95x26; op 98,4 61x20; tensor 98,26 61x21"},
    {"a pane of a page that was opened", 160, 50, SHOW_OP, false,
     .want = "why 1,4 95x15; policy 1,21 95x26; op 98,4 61x20; tensor 98,26 61x21",
     .lead = SHOW_WHY},
    {"a view that has no pane in what was opened", 160, 50, SHOW_GRAPH, false,
     .want = "graph 1,4 95x43; op 98,4 61x19; tensor 98,25 61x22", .lead = SHOW_WHY},
    {"why, above the policy on a tall screen", 120, 40, SHOW_WHY, false,
     .want = "why 0,3 120x16; policy 0,20 120x18", .lead = SHOW_WHY},
    {"the pane below has the focus", 120, 40, SHOW_POLICY, false,
     .want = "why 0,3 120x16; policy 0,20 120x18", .lead = SHOW_WHY},
    {"the policy opened by itself", 120, 40, SHOW_POLICY, false,
     .want = "policy 1,4 70x23; console 1,29 70x8; findings 73,4 46x15; run 73,21 46x16",
     .lead = SHOW_POLICY},
    {"the policy of a training step, with settings to try", 120, 40, SHOW_POLICY, false,
     .want = "policy 1,4 70x23; console 1,29 70x8; what-if 73,4 46x17; findings 73,23 46x14",
     .lead = SHOW_POLICY, .trains = true, .tries = true},
    {"a value, beside its op, and why", 120, 40, SHOW_TENSOR, false,
     .want = "tensor 1,4 65x21; op 68,4 51x21; why 1,27 118x10", .lead = SHOW_TENSOR},
    {"one plan, with what it costs", 160, 50, SHOW_DIFF, false,
     .want = "diff 1,4 90x43; totals 93,4 66x43", .trains = true, .alone = true},
    {"a forward plan, with its policy and memory", 160, 50, SHOW_DIFF, false,
     .want = "diff 1,4 90x25; policy 1,31 90x16; totals 93,4 66x25; mem 93,31 66x16",
     .alone = true},
    {"one plan on a small screen", 80, 24, SHOW_DIFF, false,
     .want = "diff 0,3 80x11; totals 0,15 80x7", .alone = true},
    {"pages stand alone on small screens", 80, 24, SHOW_WHY, false, .want = "why 0,3 80x19"},
    {"one plan of a training step, with settings to try", 160, 50, SHOW_DIFF, false,
     .want = "diff 1,4 90x27; what-if 1,33 90x14; totals 93,4 66x43", .trains = true, .tries = true,
     .alone = true},
    {"a run, beside its check", 120, 40, SHOW_RUN, false, .want = "run 1,4 70x33; check 73,4 46x33",
     .lead = SHOW_RUN},
    {"what has no panes of its own there", 120, 40, SHOW_GRAPH, false, .want = "graph 0,3 120x35"},
    {"the same size, one row less", 120, 35, SHOW_RUN, false,
     .want = "run 0,3 120x21; check 0,25 120x8", .lead = SHOW_RUN},
    {"boxes around an op on a high screen", 200, 60, SHOW_NEAR, false,
     .want = "near 1,4 110x23; graph 1,29 110x15; why 1,46 110x11; "
             "op 113,4 86x25; tensor 113,31 86x26"},
    {"lines go to the one of two panes that lacks some", 160, 50, SHOW_COMM, false,
     .want = "comm 1,4 158x8; detail 1,14 89x33; links 92,14 67x33",
     .wants = {{SHOW_COMM, 8}, {SHOW_LINKS, 20}}},
    {"help stands alone", 160, 50, SHOW_HELP, false, .want = "help 0,3 160x45"},
    {"memory of a training step", 160, 50, SHOW_MEM, false,
     .want = "mem 1,4 158x25; live 1,31 81x16; kept 84,31 75x16", .trains = true},
    {"memory of a training step whose policy has settings to try", 160, 50, SHOW_MEM, false,
     .want = "mem 1,4 158x25; live 1,31 55x16; kept 58,31 46x16; what-if 106,31 53x16",
     .trains = true, .tries = true},
    {"on a small screen, the settings below the memory", 80, 24, SHOW_MEM, false,
     .want = "mem 0,3 80x10; what-if 0,14 80x8", .trains = true, .tries = true},
    {"memory of a forward plan", 160, 50, SHOW_MEM, false,
     .want = "mesh 1,4 89x24; mem 92,4 67x24; live 1,30 158x17"},
    {"what is kept, on a small screen", 80, 24, SHOW_SAVED, false,
     .want = "mem 0,3 80x10; kept 0,14 80x8", .trains = true},
    {"a short page leaves lines to what explains it", 120, 40, SHOW_WHY, false,
     .want = "why 0,3 120x6; policy 0,10 120x28", .lead = SHOW_WHY, .wants = {{SHOW_WHY, 6}}},
    {"beside other panes too", 160, 50, SHOW_WHY, false,
     .want = "why 1,4 95x6; policy 1,12 95x35; op 98,4 61x20; tensor 98,26 61x21",
     .wants = {{SHOW_WHY, 6}}},
    {"but keeps a few", 120, 40, SHOW_ERRORS, false, .want = "errors 0,3 120x4; policy 0,8 120x30",
     .lead = SHOW_ERRORS, .wants = {{SHOW_ERRORS, 1}}},
    {"and no more than the other has a use for", 120, 40, SHOW_WHY, false,
     .want = "why 0,3 120x14; policy 0,18 120x20", .lead = SHOW_WHY,
     .wants = {{SHOW_WHY, 6}, {SHOW_POLICY, 20}}},
    {"what explains it leaves lines to a long page", 120, 40, SHOW_POLICY, false,
     .want = "policy 1,4 70x27; console 1,33 70x4; findings 73,4 46x15; run 73,21 46x16",
     .lead = SHOW_POLICY, .wants = {{SHOW_CONSOLE, 3}}},
    {"a list gets them where both parts below it can spare some", 160, 50, SHOW_COMM, false,
     .want = "comm 1,4 158x17; detail 1,23 89x24; links 92,23 67x24",
     .wants = {{SHOW_COMM_DETAIL, 24}, {SHOW_LINKS, 20}}},
    {"a schedule stands alone", 160, 50, SHOW_SCHEDULE, false, .want = "schedule 0,3 160x45"},
    {"wide but low", 160, 24, SHOW_GRAPH, false, .want = "graph 0,3 160x19"},
};

/* ORDER SHOW */
static const char *const names[SHOW_COUNT] = {
    "graph",    "op",     "tensor", "mesh", "comm",     "mem",    "diff",   "policy",  "run",
    "detail",   "links",  "live",   "kept", "what-if",  "totals", "fork",   "console", "check",
    "schedule", "search", "near",   "why",  "findings", "events", "errors", "journal", "help"};

static void panes_of_a_size(void **state)
{
    const Row *row = *state;
    LayoutLook look = {.zoomed = row->zoomed,
                       .trains = row->trains,
                       .tries = row->tries,
                       .staged = true,
                       .lead = row->lead,
                       .alone = row->alone};
    for (int i = 0; i < 2; i++)
        look.wants[row->wants[i][0]] = row->wants[i][1];
    PaneLayout layout = layout_make(row->w, row->h, row->show, &look, NULL);
    char text[200] = "too small";
    int n = 0;
    for (int i = 0; i < layout.n_panes; i++) {
        Rect area = layout.pane[i].area;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s %d,%d %dx%d", i ? "; " : "",
                      names[layout.pane[i].show], area.x, area.y, area.w, area.h);
    }
    assert_string_equal(text, row->want);
}

static bool is_inside(Rect a, int w, int h)
{
    return a.x >= 0 && a.y >= 0 && a.w > 0 && a.h > 0 && a.x + a.w <= w && a.y + a.h <= h;
}

static void nothing_overlaps_at_any_size(void **state)
{
    (void)state;
    for (int w = 1; w <= 300; w++) {
        for (int h = 1; h <= 100; h++) {
            for (int show = 0; show < SHOW_COUNT; show++) {
                PaneLayout layout =
                    layout_make(w, h, (ShowId)show, &(LayoutLook){.zoomed = false}, NULL);
                bool shown = layout.too_small;
                for (int i = 0; i < layout.n_panes; i++) {
                    const LayoutPane *pane = &layout.pane[i];
                    Rect outer = pane->frame.w > 0 ? pane->frame : pane->area;
                    assert_true(is_inside(pane->area, w, h) && is_inside(outer, w, h));
                    assert_true(outer.y > layout.path.y && outer.y + outer.h <= layout.note.y);
                    for (int j = 0; j < i; j++)
                        assert_int_equal(rect_clip(outer, layout.pane[j].frame).w *
                                             rect_clip(outer, layout.pane[j].frame).h,
                                         0);
                    shown = shown || pane->show == (ShowId)show;
                }
                assert_true(shown);
            }
        }
    }
}

/* A border is dragged as far as panes stay readable; no size or drag makes panes overlap. */
static void borders_move(void **state)
{
    (void)state;
    Splits splits = {0};
    Border border;
    PaneLayout layout = layout_make(160, 50, SHOW_GRAPH, &(LayoutLook){.zoomed = false}, &splits);
    int x = layout.pane[1].frame.x;
    assert_true(layout_border(&layout, x, 10, &border));
    assert_true(layout_border(&layout, x - 1, 10, &border));
    assert_false(layout_border(&layout, x - 5, 10, &border));
    layout_drag(&layout, &splits, &border, 80, 10);
    layout = layout_make(160, 50, SHOW_GRAPH, &(LayoutLook){.zoomed = false}, &splits);
    assert_int_equal(layout.pane[1].frame.x, 80);
    assert_int_equal(layout.pane[2].frame.x, 80);
    layout_drag(&layout, &splits, &border, -100, 10);
    layout_drag(&layout, &splits, &border, 2, 10);
    layout = layout_make(160, 50, SHOW_GRAPH, &(LayoutLook){.zoomed = false}, &splits);
    assert_in_range(layout.pane[1].frame.x, 15, 25);
    assert_int_equal(splits.n, 1);
    layout = layout_make(160, 50, SHOW_COMM, &(LayoutLook){.zoomed = false}, &splits);
    assert_int_equal(layout.pane[0].frame.w, 160);
    layout = layout_make(80, 24, SHOW_GRAPH, &(LayoutLook){.zoomed = false}, &splits);
    assert_false(layout_border(&layout, 40, 10, &border));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_overlaps_at_any_size),
                                       cmocka_unit_test(borders_move)};
    return run_rows("panes", rows, panes_of_a_size) +
           cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
