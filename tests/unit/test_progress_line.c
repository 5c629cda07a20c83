/* The line that a terminal shows of long work: its stage and share, which is taken away again; of
 * work that ends early nothing. */
#include "tests/unit/unit.h"

#include "tui/state/jobs/progress_line.h"

#include <string.h>
#include <unistd.h>

/* What comes until the text does. */
static void wait_for(int file, const char *text)
{
    char got[1024] = "";
    size_t n = 0;
    while (!strstr(got, text)) {
        ssize_t more = read(file, got + n, sizeof got - 1 - n);
        assert_true(more > 0);
        n += (size_t)more;
        got[n] = '\0';
    }
}

static void a_stage_and_its_share_are_shown_and_taken_away(void **state)
{
    (void)state;
    int end[2];
    assert_int_equal(pipe(end), 0);
    Arena *arena = arena_new();
    Progress *progress = arena_make(arena, Progress);
    progress_stage(progress, "propagating", 0);
    ProgressLineShown *shown = progress_line_begin(arena, progress, end[1], 0);
    assert_non_null(shown);
    wait_for(end[0], "\r\033[Kpropagating ..");
    progress_stage(progress, "finding reshards", 200);
    progress_add(progress, 86);
    wait_for(end[0], "\r\033[Kfinding reshards  43% ..");
    progress_line_end(shown);
    close(end[1]);
    char rest[1024] = "";
    size_t n = 0;
    for (ssize_t more = 1; more > 0; n += (size_t)more)
        more = read(end[0], rest + n, sizeof rest - 1 - n);
    assert_true(n >= 4 && memcmp(rest + n - 4, "\r\033[K", 4) == 0);
    close(end[0]);
    arena_free(arena);
}

static void short_work_shows_nothing(void **state)
{
    (void)state;
    int end[2];
    char none[8];
    assert_int_equal(pipe(end), 0);
    Arena *arena = arena_new();
    Progress *progress = arena_make(arena, Progress);
    progress_stage(progress, "reading", 10);
    progress_line_end(progress_line_begin(arena, progress, end[1], 1000000));
    close(end[1]);
    assert_int_equal(read(end[0], none, sizeof none), 0);
    close(end[0]);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_and_its_share_are_shown_and_taken_away),
        cmocka_unit_test(short_work_shows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
