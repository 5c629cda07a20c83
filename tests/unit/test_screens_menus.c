/* Menus, messages and the verdict in the status line: what is typed, clicked and shown. */
#include "tests/unit/screen.h"

#include "core/base/file.h"
#include "tui/state/menu.h"

static ScreenRow rows[] = {
    {"a letter that is no item's key does nothing", 80, 24, "pQ", 2, {"pin transformer.h.0"}},
    {"typing lists the items with that text",
     80,
     24,
     "o/mou",
     5,
     {"options   /mou", "mouse      on ", "type part of a name"}},
    {"Enter chooses what is left", 80, 24, "o/mou<Enter>", 6, {"8  mouse      off"}},
    {"Esc lists all items again", 80, 24, "o/mou<Esc>", 6, {"1  glyphs     auto"}},
    {"an empty list is left as it was", 80, 24, "o/mouzzz", 8, {"options   /mou"}},
    {"letters of a path stay in the menu that was opened",
     80,
     24,
     "dscripts/policies/fsdp.lua",
     -1,
     {"compare with   /scripts/policies/fsdp.lua",
      "no item has this text: Enter uses it as typed"}},
    {"and the path is compared with",
     80,
     24,
     "dscripts/policies/fsdp.lua<Enter>",
     -1,
     {"B scripts/policie", "+22.2 ms"}},
    {"the start of a policy's name is enough", 80, 24, "dfs<Enter>", 4, {"B fsdp"}},
    {"the keys of the Tensor view name < as it is", 80, 24, "?/previous dim<Enter>", -1, {" < "}},
    {"a long message shows its end",
     80,
     24,
     ":decide barrier sideways<Enter>",
     -1,
     {"decide what about the whole tensor?", "forward|backward|none, tie NAME)"}},
    {"a list says which of its rows are shown", 80, 24, "zRG", 3, {"-84/84"}},
    {"so does an op's page", 80, 24, "/h.0/attn/MatMul<Enter>2", -1, {"1-18/24"}},
    {"a tensor's picture",
     80,
     24,
     ":mesh dp=32,tp=2<Enter>:tensor lm_head.weight.0<Enter>:pin dp<Enter>:tensor "
     "lm_head.weight.1<Enter>:pin tp<Enter>3",
     -1,
     {"/32"}},
    {"the devices of a mesh", 80, 24, ":mesh dp=64,tp=2<Enter>4", -1, {"/64"}},
    {"a menu", 80, 16, ":columns<Enter>", -1, {"Esc closes   1-10/21"}},
    {"the list of actions", 80, 24, "<C-p>", -1, {"actions 1-"}},
    {"Enter's hint is what Enter does: on a fold", 80, 24, "", 0, {"Enter members"}},
    {"on an op", 80, 24, "/lm_head/MatMul<Enter>", -1, {"Enter details"}},
    {"on an index dim", 80, 24, "/lm_head/MatMul<Enter>2", -1, {"Enter why"}},
    {"links say what formulas have of them",
     160,
     50,
     "4",
     1,
     {"nvlink inside, 450 GB/s (", " 360 GB/s 3.4 us)"}},
    {"a matrix that does not fit says so",
     80,
     24,
     ":mesh dp=8,tp=2<Enter>5:links<Enter>",
     -1,
     {"WHO SENDS TO WHOM, ", " of 16 rows"}},
    {"the mesh says how many nodes there are",
     80,
     24,
     ":mesh dp=2,tp=8<Enter>4",
     -1,
     {"16 devices, 2 nodes of 8, h100x8", "NODES   0 {d0..d7}   1 {d8..d15}"}},
    {"nodes stand between rows, with their names",
     80,
     24,
     ":mesh tp=8,dp=2<Enter>4",
     -1,
     {"┌node 0──┬────────┐", "│d6    A=│d7    B=│", "├node 1══┼════════┤", "│>d0<  A=│d1    B=│"}},
    {"in a wide terminal too",
     160,
     50,
     ":mesh tp=8,dp=2<Enter>4",
     -1,
     {"┌node 0──┬────────┐", "├node 1══┼════════┤", "NODES   0 {d0..d7}   1 {d8..d15}"}},
    {"and between blocks of the mesh, where the lines of groups give way",
     80,
     24,
     ":mesh pp=2,dp=2,tp=8<Enter>4",
     -1,
     {"┌node 0──┬", "├node 1══┼", "┌node 2──┬", "├node 3══┼"}},
    {"and between columns",
     160,
     50,
     ":mesh dp=2,tp=8<Enter>4>",
     -1,
     {"┌node 0──╥node 1──┐", "║d8    B=│", "└────────╨────────┘"}},
    {"without frames a node ends with a line, or is named behind the row",
     80,
     24,
     ":mesh dp=2,tp=16<Enter>4",
     -1,
     {"A= A=│A= A=", "nodes 0..1", "nodes 2..3"}},
    {"rows that scroll say their nodes",
     80,
     24,
     ":mesh tp=16,dp=2<Enter>4",
     -1,
     {"tp 4 A=   B=    node 1", "tp 8 A=   B=    node 2"}},
    {"one node is not drawn", 80, 24, "4", -1, {"8 devices, 8 a node", "┌────────────"}},
    {"names of tensors have a help page",
     80,
     24,
     ":help names<Enter>",
     -1,
     {"h.0.mlp.c_fc.out      the first output", "A pattern matches a whole name"}},
    {"which the explorer's help lists", 80, 24, "?G", 2, {":help names  names and patterns"}},
    {"so has a word of another system",
     80,
     24,
     ":help dimop<Enter>",
     -1,
     {"dimop  (nnScaler)", "An operator that is described", "dimscope rule MatMul"}},
    {"by any of its names",
     80,
     24,
     ":help Hidden-Dimension<Enter>",
     -1,
     {"hidden dim  (nnScaler)"}},
    {"words like an unknown one are named", 80, 24, ":help placment<Enter>", -1, {"placement"}},
    {"the palette finds words", 80, 24, "<C-p>dims_m", -1, {":help dims_mapping  "}},
    {"and opens their page", 80, 24, "<C-p>dims_m<Enter>", -1, {"dims_mapping  (Paddle)"}},
    {"a whole sharding is pinned in any notation",
     80,
     24,
     ":tensor lm_head.weight<Enter>:pin [S(0), Shard(dim=1)]<Enter>",
     -1,
     {"shape/axis     768/dp,50257/tp", "placements     [S(0), S(1)]"}},
    {"what-ifs keep the names apart",
     80,
     24,
     "6x",
     2,
     {"c_fc.weight ×12 dim 0", "c_proj.weight ×12 dim 0", "c_attn.weight ×12 dim 0"}},
    {"and end with the axis where names are cut",
     64,
     24,
     "6x",
     2,
     {"t ×12 dim 0 stored by dp ", "t ×12 dim 1 stored by dp "}},
    {"forms to copy stand in one column",
     80,
     24,
     "Y",
     2,
     {"placements      [S(0), R]", "placements_long [Shard(0), Replicate()]"}},
    {"an op in five notations, with what each leaves out and the command for this op",
     120,
     40,
     "/h.0/attn/c_attn/Reshape<Enter>2",
     -1,
     {"all of it: dimscope rule Reshape --shapes '", "x768,=[-1,768]' --attr allowzero=0",
      "einsum     ~ 11c,1->1c", "not expressed: a cut of b, minor in (a b)",
      "template     10 lines"}},
    {"notes are called notes", 80, 24, ":mesh dp=3<Enter>", -1, {"legal 2 notes"}},
};

/* One click puts the cursor on an item, a second one chooses it. */
static void a_second_click_chooses(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 160, 50);
    app_type(app, STR("Y"));
    app_draw(app);
    const Menu *menu = &app->ui.menu;
    int x = menu->items.x + 3, y = menu->items.y + 1;
    mouse_event(app, MOUSE_PRESS, x, y, 1000);
    assert_true(menu->open);
    assert_int_equal(menu->at, 1);
    mouse_event(app, MOUSE_PRESS, x, y + 1, 2000); /* another item: the cursor again */
    assert_true(menu->open);
    assert_int_equal(menu->at, 2);
    mouse_event(app, MOUSE_PRESS, x, y + 1, 3000);
    assert_false(menu->open);
    assert_non_null(app->ui.asked.clipboard);
    app_free(app);
    session_close(session);
}

/* Folds, heads of columns and `? help` are clicked at. */
static void marks_heads_and_help_take_the_mouse(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    app_type(app, STR("zM"));
    app_draw(app);
    int64_t before = outline_n_rows(app->ui.outline);
    const Rect *area = &app->layout.pane[0].area;
    for (int y = area->y + 1, clicked = 0; y < area->y + area->h && !clicked; y++)
        for (int x = 0; x < area->w && !clicked; x++)
            if (app->grid->cells[y * app->grid->w + x].rune == 0x25b8) {
                mouse_event(app, MOUSE_PRESS, x, y, 1000);
                clicked = 1;
            }
    assert_true(outline_n_rows(app->ui.outline) > before);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 40, area->y, 2000); /* OUTPUT: nothing to sort by */
    assert_true(app->ui.menu.open);
    screen_says(app, (const char *[]){"sort the rows of each group by", NULL});
    app_type(app, STR("<Esc>"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 76, 1, 3000);
    assert_int_equal(app->ui.at.show, SHOW_HELP);
    app_free(app);
    session_close(session);
}

static void screen_misses(App *app, const char *text)
{
    Arena *arena = arena_new();
    Buf screen = buf_new(arena);
    grid_format(app_draw(app), &screen);
    assert_null(strstr(screen.s, text));
    arena_free(arena);
}

static Session *open_policy(const char *path)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* The status says so on every screen until the policy runs again. */
static void a_broken_policy_stays_in_the_status_until_it_is_mended(void **state)
{
    (void)state;
    static const char good[] = "function PAS(graph, resource) return graph end\n";
    char path[] = "/tmp/dimscope-menus-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_true(file_write(path, str_from(good), NULL));
    Session *session = open_policy(path);
    App *app = app_new(session, &(AppOptions){0}, NULL, 140, 24);
    assert_true(file_write(path, STR("function PAS(graph, resource)\n  oops()\nend\n"), NULL));
    app_type(app, STR("r"));
    for (const char *keys = "j5?"; *keys; keys++) {
        app_type(app, (Str){keys, 1});
        screen_says(app,
                    (const char *[]){"policy FAILED line 2, showing the last valid plan", NULL});
        screen_misses(app, "│ legal");
    }
    app_resize(app, 80, 24);
    screen_says(app, (const char *[]){"policy FAILED line 2", NULL});
    assert_true(file_write(path, str_from(good), NULL));
    app_type(app, STR("r"));
    screen_says(app, (const char *[]){"│ legal", NULL});
    app_free(app);
    session_close(session);
    unlink(path);
}

/* 12,480 MiB on a link do not touch the number beside them. */
static void large_numbers_of_links_are_in_gib(void **state)
{
    (void)state;
    SessionOptions options = {
        .model = "samples/models/llama-3-8b.json", .mesh = "dp=2,tp=4", .policy = "megatron"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    app_type(app, STR(":links<Enter>"));
    screen_says(app, (const char *[]){"GiB; a row sends", "·  12.2     ·", NULL});
    app_free(app);
    session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_click_chooses),
        cmocka_unit_test(marks_heads_and_help_take_the_mouse),
        cmocka_unit_test(large_numbers_of_links_are_in_gib),
        cmocka_unit_test(a_broken_policy_stays_in_the_status_until_it_is_mended),
    };
    open_scripts(NULL);
    int failed = run_rows("menus", rows, screen_has);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    close_scripts(NULL);
    return failed;
}
