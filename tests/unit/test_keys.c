#include "tests/unit/unit.h"

#include "tui/state/keymap.h"

#include <stdio.h>
#include <string.h>

/* ---- what pressed keys do ---- */

typedef struct {
    const char *name, *script, *want; /* action, "..." for the start of a sequence, "none" */
} KeyRow;

static KeyRow key_rows[] = {
    {"letter", "j", "down"},
    {"arrow", "<Down>", "down"},
    {"control", "<C-d>", "half-down"},
    {"start of a sequence", "g", "..."},
    {"sequence", "gg", "top"},
    {"other sequence", "gr", "reshard"},
    {"depth", "z3", "depth"},
    {"window", "<C-w>l", "next-pane"},
    {"bracket", "]t", "next-tensor"},
    {"less than in a script", "<Lt>", "dim-previous"},
    {"less than as it is", "<", "dim-previous"},
    {"function key", "<F1>", "help"},
    {"function key ten is not one", "<F10>", "quit"},
    {"vim's delete deletes nothing", "dd", "none"},
    {"shift is another key", "H", "back"},
    {"unknown sequence", "gx", "none"},
};

static KeyMap *map;

static KeysMatch match_keys(const Key *key, int n, const Action **action)
{
    return keymap_match(map, key, n, action);
}

static void keys_do(void **state)
{
    const KeyRow *row = *state;
    Str script = str_from(row->script);
    Key keys[8];
    int n = 0;
    const Action *action = NULL;
    while (n < 8 && key_script_next(&script, &keys[n]))
        n++;
    KeysMatch match = match_keys(keys, n, &action);
    assert_string_equal(match == KEYS_ACTION   ? action->name
                        : match == KEYS_PREFIX ? "..."
                                               : "none",
                        row->want);
}

/* ---- commands by name ---- */

typedef struct {
    const char *name, *want; /* action, or the error */
} NameRow;

static NameRow name_rows[] = {
    {"help", "help"},
    {"findi", "findings"},
    {"why", "why"},
    {"wh", "':wh' matches 3 commands"},
    {"quut", "no command ':quut'"},
    {"", "no command ':'"},
};

static void command_of_a_name(void **state)
{
    const NameRow *row = *state;
    const Action *table = explorer_actions;
    Error err = {0};
    const Action *action = action_by_name(str_from(row->name), &table, 1, &err);
    assert_string_equal(action ? action->name : err.text, row->want);
    if (strcmp(row->name, "quut") == 0)
        assert_string_equal(err.hint, "did you mean ':quit'?");
}

/* ---- the table ---- */

static void every_action_has_one_row(void **state)
{
    (void)state;
    for (int id = ACT_NONE + 1; id < ACT_COUNT; id++) {
        int n = 0;
        for (const Action *row = explorer_actions; row->name; row++)
            n += row->id == id;
        assert_int_equal(n, 1);
    }
}

static void no_name_or_key_is_there_twice(void **state)
{
    (void)state;
    for (const Action *a = explorer_actions; a->name; a++) {
        for (const Action *b = a + 1; b->name; b++)
            assert_string_not_equal(a->name, b->name);
        Arena *arena = arena_new();
        for (const char *s = a->keys; *s; s += *s == ' ') {
            size_t n = strcspn(s, " ");
            Buf script = buf_new(arena);
            /* Names of more than one key go into brackets; "gg" and "z1" are two keys. */
            bool named = n > 2 || (n == 2 && (s[0] == 'F' || s[0] == 'U'));
            buf_printf(&script, named ? "<%.*s>" : "%.*s", (int)n, s);
            Str rest = buf_str(&script);
            if (n > 3 && strncmp(s, "C-w", 3) == 0)
                rest = str_from(arena_printf(arena, "<C-w>%c", s[3]));
            Key keys[4];
            int n_keys = 0;
            const Action *found = NULL;
            while (key_script_next(&rest, &keys[n_keys]))
                n_keys++;
            assert_int_equal(match_keys(keys, n_keys, &found), KEYS_ACTION);
            assert_string_equal(found->name, a->name);
            s += n;
        }
        arena_free(arena);
    }
}

/* Flow control and the prefixes of tmux and screen are never ours (TUI design, section 3). */
static void keys_of_others_are_left_free(void **state)
{
    static const char others[] = {'s', 'a', 'b'};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        Key key = key_ctrl(others[i]);
        const Action *action = NULL;
        assert_int_equal(match_keys(&key, 1, &action), KEYS_NO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_has_one_row),
        cmocka_unit_test(no_name_or_key_is_there_twice),
        cmocka_unit_test(keys_of_others_are_left_free),
    };
    const Action *table = explorer_actions;
    Arena *arena = arena_new();
    map = keymap_new(arena, &table, 1);
    int failed = run_rows("keys", key_rows, keys_do);
    failed += run_rows("names", name_rows, command_of_a_name) +
              cmocka_run_group_tests_name("table", tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
