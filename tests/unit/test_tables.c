/* Views as data: every view that lists has a table, each format has each row of it once, and a
 * table has what the view lists. */
#include "tests/unit/screen.h"

#include "core/base/sheet_write.h"

/* Drawings, and one thing told in sentences; the lines of a page are its table (export_view.c). */
static const ShowId without[] = {SHOW_FINDINGS, SHOW_COMM_DETAIL, SHOW_FORK,   SHOW_NEAR,
                                 SHOW_WHY,      SHOW_HELP,        SHOW_JOURNAL};

static bool is_without(ShowId show)
{
    for (size_t i = 0; i < COUNT_OF(without); i++)
        if (without[i] == show)
            return true;
    return false;
}

static void every_list_has_a_table(void **state)
{
    (void)state;
    for (ShowId show = 0; show < SHOW_COUNT; show++)
        assert_int_equal(views[show]->table == NULL, is_without(show));
}

static int count_text(const char *text, const char *what)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, what)) != NULL; s += strlen(what))
        n++;
    return n;
}

/* In markdown a row is a line; in JSON each has its first column's name once. */
static void formats_agree(Arena *arena, const View *view, const Sheet *sheet)
{
    Buf md = buf_new(arena), json = buf_new(arena), csv = buf_new(arena);
    int n = sheet_rows(sheet);
    sheet_write_md(sheet, &md);
    sheet_write_json(sheet, view->name, &json);
    sheet_write_csv(sheet, &csv);
    assert_int_equal(count_text(md.s, "\n"), n + 2);
    assert_true(count_text(csv.s, "\n") >= n + 1); /* a text may have line ends */
    const char *key = arena_printf(arena, "\"%s\":", sheet->columns.at[0].name);
    assert_int_equal(count_text(json.s, key), n);
}

static void tables_have_all_rows(void **state)
{
    (void)state;
    static const ShowId lists[] = {SHOW_GRAPH, SHOW_COMM, SHOW_EVENTS};
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 100, 30);
    app_type(app, STR(":diff fsdp<Enter>1"));
    for (ShowId show = 0; show < SHOW_COUNT; show++) {
        Sheet sheet = {.arena = arena};
        app->ui.at.show = show;
        app_draw(app);
        if (!views[show]->table) {
            bool page = show >= SHOW_WHY;
            assert_int_equal(page, app->ui.list[show].text.str.n > 0);
            continue;
        }
        views[show]->table(&app->ui, &sheet);
        assert_true(sheet.columns.n > 0);
        formats_agree(arena, views[show], &sheet);
        for (size_t i = 0; i < COUNT_OF(lists); i++)
            if (lists[i] == show)
                assert_int_equal(sheet_rows(&sheet), app->ui.list[show].n);
    }
    app_free(app);
    session_close(session);
    arena_free(arena);
}

static void tags_narrow_the_table(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 100, 30);
    Sheet sheet = {.arena = arena};
    app_type(app, STR("/lm_head<Enter>k<Space><Space>"));
    views[SHOW_GRAPH]->table(&app->ui, &sheet);
    assert_int_equal(sheet_rows(&sheet), 2);
    app_free(app);
    session_close(session);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_has_a_table),
        cmocka_unit_test(tables_have_all_rows),
        cmocka_unit_test(tags_narrow_the_table),
    };
    return cmocka_run_group_tests(tests, open_scripts, close_scripts);
}
