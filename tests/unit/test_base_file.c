#include "tests/unit/unit.h"

#include "core/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    char dir[64];
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    snprintf(fixture->dir, sizeof fixture->dir, "/tmp/dimscope-file-XXXXXX");
    if (!mkdtemp(fixture->dir))
        return -1;
    fixture->arena = arena_new();
    *state = fixture;
    return 0;
}

static const char *in_dir(const Fixture *fixture, const char *name)
{
    return path_join(fixture->arena, fixture->dir, name);
}

/* The names in the folder, except "." and ".."; removes them when asked to. */
static int count_files(const Fixture *fixture, bool and_remove)
{
    DIR *dir = opendir(fixture->dir);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            n++;
            if (and_remove)
                remove(in_dir(fixture, entry->d_name));
        }
    closedir(dir);
    return n;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    count_files(fixture, true);
    rmdir(fixture->dir);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

/* Numbers of processes come again: what one that was killed left is no obstacle. */
static void a_file_left_behind_is_no_obstacle(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "a.txt");
    const char *left = arena_printf(fixture->arena, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(left, "w");
    assert_non_null(file);
    fclose(file);
    assert_true(file_write(path, STR("new"), &fixture->err));
    Source source;
    assert_true(file_read(fixture->arena, path, 100, &source, &fixture->err));
    assert_true(str_eq(source.text, STR("new")));
    assert_int_equal(count_files(fixture, false), 2);
}

static void a_written_file_reads_back(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "a.txt");
    static char text[100000];
    memset(text, 'x', sizeof text);
    text[99999] = 'y';
    assert_true(file_write(path, (Str){text, sizeof text}, &fixture->err));
    assert_true(file_exists(path));
    assert_int_equal(count_files(fixture, false), 1);

    FileMap map;
    assert_true(file_map(path, &map, &fixture->err));
    assert_true(str_eq(map.text, (Str){text, sizeof text}));
    file_unmap(&map);
    file_unmap(&map);

    Source source;
    assert_true(file_read(fixture->arena, path, sizeof text, &source, &fixture->err));
    assert_true(str_eq(source.text, (Str){text, sizeof text}));
    assert_int_equal(source.text.s[source.text.n], '\0');
    assert_string_equal(source.name, path);
}

static void a_larger_file_than_allowed_is_refused(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "a.txt");
    Source source;
    assert_true(file_write(path, STR("12345"), &fixture->err));
    assert_false(file_read(fixture->arena, path, 4, &source, &fixture->err));
    assert_string_equal(fixture->err.text, "is larger than the 4 bytes allowed here");
    assert_string_equal(fixture->err.file, path);
}

static void a_byte_order_mark_is_no_text(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "a.txt");
    Source source;
    assert_true(file_write(path, STR("\xEF\xBB\xBFx\xEF\xBB\xBF"), &fixture->err));
    assert_true(file_read(fixture->arena, path, 100, &source, &fixture->err));
    assert_string_equal(source.text.s, "x\xEF\xBB\xBF");
    assert_int_equal(source.text.n, 4);
}

static void a_pipe_that_nobody_reads_is_an_error(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(file_write(path, STR("text"), &fixture->err));
    assert_string_equal(fixture->err.text, "cannot open: No such device or address");
}

static void an_empty_file_is_an_empty_text(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "empty");
    assert_true(file_write(path, STR(""), &fixture->err));
    FileMap map;
    assert_true(file_map(path, &map, &fixture->err));
    assert_string_equal(map.text.s, "");
    assert_int_equal(map.text.n, 0);
    file_unmap(&map);
    Source source;
    assert_true(file_read(fixture->arena, path, 0, &source, &fixture->err));
    assert_string_equal(source.text.s, "");
}

static void only_regular_files_are_read(void **state)
{
    Fixture *fixture = *state;
    const char *pipe_path = in_dir(fixture, "pipe"); /* without a writer: must not wait */
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const struct {
        const char *path, *want;
    } rows[] = {
        {fixture->dir, "is a directory"},
        {"/dev/zero", "is not a regular file"},
        {pipe_path, "is not a regular file"},
        {in_dir(fixture, "none"), "cannot open: No such file or directory"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FileMap map;
        Source source;
        Error map_err = {0}, read_err = {0};
        assert_false(file_map(rows[i].path, &map, &map_err));
        assert_false(file_read(fixture->arena, rows[i].path, 100, &source, &read_err));
        assert_string_equal(map_err.text, rows[i].want);
        assert_string_equal(read_err.text, rows[i].want);
        assert_string_equal(map_err.file, rows[i].path);
        assert_int_equal(map_err.kind, ERROR_UNREADABLE);
    }
}

static void files_of_unknown_size_are_read(void **state)
{
    Fixture *fixture = *state;
    Source source;
    assert_true(file_read(fixture->arena, "/proc/self/status", 1 << 20, &source, &fixture->err));
    assert_true(str_starts(source.text, STR("Name:")));
}

static void a_failed_write_leaves_nothing(void **state)
{
    Fixture *fixture = *state;
    assert_false(file_write("/dev/full", STR("x"), &fixture->err));
    assert_string_equal(fixture->err.text, "cannot write: No space left on device");
    Error err = {0};
    assert_false(file_write(fixture->dir, STR("x"), &err));
    assert_string_equal(err.text, "cannot write: Is a directory");
    err = (Error){0};
    assert_false(file_write(in_dir(fixture, "no/such"), STR("x"), &err));
    assert_string_equal(err.text, "cannot write: No such file or directory");
    char name[300];
    memset(name, 'n', sizeof name);
    err = (Error){0};
    assert_false(file_write(in_dir(fixture, arena_str(fixture->arena, (Str){name, sizeof name})),
                            STR("x"), &err));
    assert_int_equal(count_files(fixture, false), 0);
}

static void devices_are_written_in_place(void **state)
{
    Fixture *fixture = *state;
    assert_true(file_write("/dev/null", STR("x"), &fixture->err));
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void a_replaced_file_keeps_mode_and_links(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "plan.json"), *link = in_dir(fixture, "link");
    assert_true(file_write(path, STR("old"), &fixture->err));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("plan.json", link), 0);
    assert_true(file_write(link, STR("new"), &fixture->err));

    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    Source source;
    assert_true(file_read(fixture->arena, path, 10, &source, &fixture->err));
    assert_string_equal(source.text.s, "new");
    assert_int_equal(count_files(fixture, false), 2);
}

static void a_file_written_over_is_told(void **state)
{
    Fixture *fixture = *state;
    const char *path = in_dir(fixture, "a");
    FileMap map;
    assert_true(file_write(path, STR("one"), &fixture->err));
    assert_true(file_map(path, &map, &fixture->err));
    assert_false(file_map_is_stale(&map));
    assert_true(file_write(path, STR("two"), &fixture->err)); /* by rename */
    assert_false(file_map_is_stale(&map));
    assert_true(str_eq(map.text, STR("one")));
    file_unmap(&map);
    assert_true(file_map(path, &map, &fixture->err));
    assert_int_equal(truncate(path, 0), 0);
    assert_true(file_map_is_stale(&map));
    file_unmap(&map);
    assert_false(file_map_is_stale(&map));
}

static void paths_are_taken_apart(void **state)
{
    Fixture *fixture = *state;
    Arena *arena = fixture->arena;
    assert_string_equal(path_dir(arena, "a/b/c"), "a/b");
    assert_string_equal(path_dir(arena, "c"), ".");
    assert_string_equal(path_dir(arena, "/c"), "/");
    assert_string_equal(path_join(arena, "a/b", "c"), "a/b/c");
    assert_string_equal(path_join(arena, "/", "c"), "/c");
    assert_string_equal(path_join(arena, "", "c"), "c");
    assert_string_equal(path_join(arena, "a", "/c"), "/c");
    assert_string_equal(path_base("a/b.onnx"), "b.onnx");
    assert_string_equal(path_base("b.onnx"), "b.onnx");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_byte_order_mark_is_no_text),
        IN_FOLDER(a_pipe_that_nobody_reads_is_an_error),
        IN_FOLDER(a_written_file_reads_back),
        IN_FOLDER(a_larger_file_than_allowed_is_refused),
        IN_FOLDER(an_empty_file_is_an_empty_text),
        IN_FOLDER(only_regular_files_are_read),
        IN_FOLDER(files_of_unknown_size_are_read),
        IN_FOLDER(a_failed_write_leaves_nothing),
        IN_FOLDER(devices_are_written_in_place),
        IN_FOLDER(a_replaced_file_keeps_mode_and_links),
        IN_FOLDER(paths_are_taken_apart),
        IN_FOLDER(a_file_written_over_is_told),
        IN_FOLDER(a_file_left_behind_is_no_obstacle),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
