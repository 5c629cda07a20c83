/* The explorer on a real terminal: kinds of terminals, signals, keys, sizes, an editor, a mouse. */
#include "tests/unit/terminal.h"

/* ---- terminals ---- */

typedef struct {
    const char *name, *term, *extra;
    bool color;
    const char *fact; /* on its first screen, or the refusal; NULL: does not start */
} TermRow;

static TermRow term_rows[] = {
    {"xterm", "xterm-256color", "", true, "│ ●"},
    {"tmux", "tmux-256color", "", true, "│ ●"},
    {"screen", "screen", "", true, "│ ●"},
    {"linux console", "linux", "", true, "│ ●"},
    {"vt100 has no colour", "vt100", "", false, "│ ●"},
    {"no colour asked for", "xterm-256color", "NO_COLOR=1", false, "│ ●"},
    {"direct colours", "xterm-direct", "", true, "│ ●"},
    {"a locale without utf-8", "xterm", "LC_ALL=C", true, "| *"},
};

static bool has_color(void)
{
    for (int y = 0; y < t.rows; y++) {
        for (int x = 0; x < t.columns; x++) {
            VTermScreenCell cell;
            vterm_screen_get_cell(t.screen, (VTermPos){y, x}, &cell);
            if (!VTERM_COLOR_IS_DEFAULT_FG(&cell.fg))
                return true;
        }
    }
    return false;
}

static void a_terminal_shows_it_and_is_restored(void **state)
{
    const TermRow *row = *state;
    start(row->term, row->extra);
    wait_for("[1 Graph]");
    wait_for(row->fact);
    wait_for("q quit");
    assert_int_equal(has_color(), row->color);
    assert_false(t.repeats); /* many terminals that say they can cannot */
    press("q");
    int status = end_of_child();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_restored();
    stop();
}

static TermRow refused_rows[] = {
    {"dumb", "dumb", "", false, "'dumb' cannot move its cursor"},
    {"unknown", "no-such-terminal", "", false, "'no-such-terminal' cannot move its cursor"},
};

static void a_terminal_that_cannot_is_refused(void **state)
{
    const TermRow *row = *state;
    start(row->term, row->extra);
    int status = end_of_child();
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_non_null(strstr(screen_text(), row->fact));
    assert_non_null(strstr(screen_text(), "set TERM"));
    stop();
}

/* ---- signals ---- */

typedef struct {
    const char *name;
    int number;
} SignalRow;

static SignalRow signal_rows[] = {
    {"hup", SIGHUP},   {"int", SIGINT}, {"quit", SIGQUIT}, {"term", SIGTERM}, {"segv", SIGSEGV},
    {"bus", SIGBUS},   {"fpe", SIGFPE}, {"abrt", SIGABRT}, {"usr1", SIGUSR1}, {"usr2", SIGUSR2},
    {"alrm", SIGALRM}, {"ill", SIGILL}, {"sys", SIGSYS},   {"xcpu", SIGXCPU}, {"io", SIGIO},
};

static void a_fatal_signal_restores_the_terminal(void **state)
{
    const SignalRow *row = *state;
#if defined(__SANITIZE_ADDRESS__)
    if (row->number == SIGSEGV)
        skip(); /* the sanitizer keeps it for itself */
#endif
    start("xterm-256color", "");
    wait_for("q quit");
    assert_true(t.alternate);
    kill(t.child, row->number);
    int status = end_of_child();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), row->number);
    assert_restored();
    stop();
}

/* ---- the rest ---- */

static void keys_move_and_open(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    press("5");
    wait_for("[5 Comm]");
    press("\033[B"); /* the other form of an arrow key */
    press("\033OA");
    press("q");
    wait_for("[1 Graph]");
    press("/lm_head\r");
    wait_for("1/1");
    press("?");
    wait_for("[Help]");
    press("\033");
    wait_for("[1 Graph]");
    press(":rank 5\r3");
    wait_for("d5 (dp 1, tp 1) holds");
    leave();
}

/* Open, fold, search, why, pin, take back, compare, export, quit. */
static void a_day_of_a_user(void **state)
{
    char folder[] = "/tmp/dimscope-day-XXXXXX", line[80], path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/plan.svg", folder);
    snprintf(line, sizeof line, ":export %s\r", path);
    start("xterm-256color", "");
    wait_for("h[0..1] ×2");
    press("zM");
    wait_for("95 ops");
    press("zR");
    wait_for("Cast_1");
    press("/mlp.c_proj\r");
    wait_for("1/");
    press("w");
    wait_for("megatron.lua:");
    press("q");
    wait_for("[1 Graph]");
    press("p");
    wait_for("═ pin ");
    press("w");
    wait_for("pinned to whole: step");
    press("u");
    wait_for("undone: step");
    press("df\r");
    wait_for("[7 Diff]");
    wait_for("fsdp");
    resize(160, 50);
    wait_for("═ Diff ═");
    press(line);
    wait_for("plan.svg");
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    assert_int_equal(unlink(path), 0);
    rmdir(folder);
    stop();
}

static void a_resize_is_followed(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    resize(160, 50);
    wait_for("─ Tensor ─");
    resize(30, 8);
    wait_for("too small");
    resize(80, 24);
    wait_for("q quit");
    press("q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    stop();
}

/* Every view without colour: what is selected is reversed, and all is said by words and marks. */
static void views_without_colour_say_the_same(void **state)
{
    static const char *const walk[][2] = {
        {"2", "[2 Op]"},      {"3", "shape/axis"},  {"4", "d0"},       {"5", "AR tp"},
        {"6", "P parameter"}, {"7", "plan"},        {"8", "megatron"}, {"9", "predicted"},
        {"w", "[Why]"},       {"gf", "[Findings]"}, {"?", ":down"},    {"1x", "as now"}};
    (void)state;
    start("xterm-256color", "NO_COLOR=1");
    wait_for("q quit");
    for (size_t i = 0; i < COUNT_OF(walk); i++) {
        press(walk[i][0]);
        wait_for(walk[i][1]);
        assert_false(has_color());
    }
    VTermPos at;
    VTermScreenCell cell;
    while (take(100)) /* the cursor comes last */
        ;
    vterm_state_get_cursorpos(vterm_obtain_state(t.vterm), &at);
    vterm_screen_get_cell(t.screen, at, &cell);
    assert_true(cell.attrs.reverse); /* the menu's first row */
    press("\033\033Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    stop();
}

static void an_editor_gets_the_terminal_and_gives_it_back(void **state)
{
    char path[] = "/tmp/dimscope-editor-XXXXXX", environment[64];
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    dprintf(file, "echo editing \"$@\"; read unused\n");
    close(file);
    snprintf(environment, sizeof environment, "EDITOR=sh %s", path);
    start("xterm-256color", environment);
    wait_for("q quit");
    press("5e");
    wait_for("editing +");
    wait_for("megatron.lua");
    press("\r");
    wait_for("[5 Comm]");
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    unlink(path);
    stop();
}

static void write_policy(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Edited in another window: the new plan comes by itself, a failing policy leaves the last one. */
static void an_edited_policy_is_run_again(void **state)
{
    char path[] = "/tmp/dimscope-policy-XXXXXX", environment[64];
    (void)state;
    close(mkstemp(path));
    write_policy(path, "function PAS(graph, resource) return graph end\n");
    snprintf(environment, sizeof environment, "POLICY=%s", path);
    start("xterm-256color", environment);
    wait_for("comm 0.0%");
    press("/ln_f"); /* the prompt is open when it comes */
    wait_for("1/1");
    write_policy(path, "function PAS(graph, resource)\n"
                       "  graph:shard(\"lm_head.weight\", {[1] = \"tp\"})\n  return graph\nend\n");
    wait_for("policy run");
    press("\r");
    write_policy(path, "function PAS(graph, resource)\n  oops()\nend\n");
    wait_for("oops");
    wait_for(":2:");
    wait_for("FAILED line 2");
    press("qQ");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    unlink(path);
    stop();
}

static void the_mouse_selects_rows_and_views(void **state)
{
    (void)state;
    start("tmux-256color", ""); /* its terminfo knows the old reports only */
    wait_for("q quit");
    press("\033[<0;34;2M\033[<0;34;2m"); /* the tab of Comm: SGR reports, from 1 */
    wait_for("[5 Comm]");
    press("\033[<0;10;7M\033[<0;10;7m");
    wait_for(">    2 AR tp …h.*.mlp.c_proj.out");
    press("\033[<65;10;7M");
    wait_for(">    1 SL");
    press("\033[<0;99999999999999999999;1M\033[<x\033[<66;1;1M\033[<2;1;1M"); /* no harm */
    press("1");
    wait_for("[1 Graph]");
    leave();
}

static void names_cannot_write_on_the_terminal(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    press(":\x01\x1b"); /* neither may end up on the screen as it is */
    press("/\xff\xfe\r");
    press("q");
    press("Q");
    end_of_child();
    assert_restored();
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_move_and_open),
        cmocka_unit_test(a_day_of_a_user),
        cmocka_unit_test(a_resize_is_followed),
        cmocka_unit_test(views_without_colour_say_the_same),
        cmocka_unit_test(an_editor_gets_the_terminal_and_gives_it_back),
        cmocka_unit_test(an_edited_policy_is_run_again),
        cmocka_unit_test(the_mouse_selects_rows_and_views),
        cmocka_unit_test(names_cannot_write_on_the_terminal),
    };
    return run_rows("terminals", term_rows, a_terminal_shows_it_and_is_restored) +
           run_rows("refused", refused_rows, a_terminal_that_cannot_is_refused) +
           run_rows("signals", signal_rows, a_fatal_signal_restores_the_terminal) +
           cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
