/* The user's file: what is set, what a bad line says and where, and that it never stops the rest.
 */
#include "tests/unit/unit.h"

#include "tui/state/config.h"

#include <stdlib.h>

static Arena *arena;

static UserConfig *parse(const char *text)
{
    Source source = {.name = "config", .text = str_from(text)};
    return config_parse(arena, &source);
}

/* All settings that are not as shipped, then all warnings. */
static const char *said(UserConfig *config)
{
    Buf out = buf_new(arena);
    Settings standard = settings_standard();

    config_theme(config, &config->settings);
    config_keys(config, &(const Action *){explorer_actions}, 1);
    for (const Setting *row = settings_table; row->name; row++) {
        if (setting_get(&config->settings, row) == setting_get(&standard, row))
            continue;
        buf_printf(&out, "%s=", row->name);
        setting_format(&config->settings, row, &out);
        buf_putc(&out, '\n');
    }
    for (int i = 0; i < config->warnings.n; i++) {
        const Error *err = config->warnings.at[i];
        buf_printf(&out, "%s:%d: %s", err->file, err->line, err->text);
        buf_printf(&out, *err->hint ? " (%s)\n" : "\n", err->hint);
    }
    return out.s;
}

typedef struct {
    const char *name, *text, *want;
} ConfigRow;

static ConfigRow rows[] = {
    {"nothing", "", ""},
    {"comments", "# a\n; b\n\n  \n", ""},
    {"settings", "[explorer]\nnumbers = on\ndear=12\n theme = \"mono\" \n",
     "theme=mono\nnumbers=on\ndear=12\n"},
    {"windows line ends", "[explorer]\r\nmouse = off\r\n", "mouse=off\n"},
    {"unknown setting", "[explorer]\nnumber = on\nmouse = off\n",
     "mouse=off\nconfig:2: no setting 'number' (did you mean numbers?)\n"},
    {"bad value", "[explorer]\nmouse = yes\n",
     "config:2: mouse must be one of: off on; not 'yes'\n"},
    {"out of range", "[explorer]\ndear = 0\n", "config:2: dear must be from 1 to 100, not '0'\n"},
    {"a list", "[explorer]\ncolumns = rail, name output time,reshard\n",
     "columns=rail name output time reshard\n"},
    {"an empty list", "[explorer]\ncolumns =\n", "columns=\n"},
    {"not in the list", "[explorer]\ncolumns = rail, names\n",
     "config:2: columns must be names from: rail name op stage output mapping local dtype cut mib "
     "params "
     "flops time backward weights kept cost times reshard back-reshard why changed; not 'names'\n"},
    {"no section", "mouse = off\n",
     "config:1: this line is in no section: write [explorer] above it\n"},
    {"unknown section", "[colors]\nx = 1\n",
     "config:1: no section [colors] (the sections are [explorer], [theme] and [keys])\n"},
    {"no value", "[explorer]\nmouse\n", "config:2: expected a line NAME = VALUE\n"},
    {"open section", "[explorer\nmouse = off\n", "config:1: a section is written [name]\n"},
    {"looks", "[theme]\naxis1 = bold #56b4e9\ndim = bright-black\ntext = 17 underline\n", ""},
    {"no such colour", "[theme]\naxis1 = pinkish\n",
     "config:2: 'pinkish' is not a colour or a text style (use a name such as cyan or bright-red, "
     "0 to 255, #rrggbb or default; bold, underline, reverse)\n"},
    {"no such role", "[theme]\naxis9 = red\n",
     "config:2: a theme has no role 'axis9' (text dim head status frame focus rail note error dear "
     "axis1..6)\n"},
    {"keys", "[keys]\nundo = \"U\"\n", ""},
    {"keys change places", "[keys]\nundo = x\nwhat-if = u\n", ""},
    {"a key taken", "[keys]\nundo = u x\n", "config:2: 'x' is now undo, no longer what-if\n"},
    {"a key twice", "[keys]\nundo = U\nredo = U\n", "config:3: 'U' is already bound to undo\n"},
    {"a start taken", "[keys]\nundo = z\n", "config:2: 'z' is now undo, no longer fold\n"},
    {"too long", "[keys]\nundo = abcd\n", "config:2: 'abcd' has more than 3 keys\n"},
    {"no such action", "[keys]\nundoo = U\n",
     "config:2: no command ':undoo' (did you mean ':undo'?)\n"},
    {"control bytes", "[explorer]\n\x1b[2J = 1\n",
     "config:2: no setting '\\x1B[2J' (dimscope help config lists the settings)\n"},
};

static void file_says(void **state)
{
    const ConfigRow *row = *state;
    arena = arena_new();
    assert_string_equal(said(parse(row->text)), row->want);
    arena_free(arena);
}

typedef struct {
    const char *name, *text;
    int c8, c16, c256, rgb, marks;
} LookRow;

static LookRow looks[] = {
    {"rgb", "#56b4e9", 4, 12, 74, 0x56b4e9, 0},
    {"number", "74", 4, 12, 74, 0x5fafd7, 0},
    {"name", "cyan", 6, 6, 6, 0x00cdcd, 0},
    {"bright name", "bright-red bold", 1, 9, 9, 0xff0000, STYLE_BOLD},
    {"own", "default underline", -1, -1, -1, -1, STYLE_UNDERLINE},
    {"marks alone", "bold reverse", -1, -1, -1, -1, STYLE_BOLD | STYLE_SELECTED},
};

static void look_is(void **state)
{
    const LookRow *row = *state;
    Theme theme = {0};
    Error err = {0};
    assert_true(theme_set(&theme, ROLE_NOTE, str_from(row->text), &err));
    assert_int_equal(theme_colour(&theme, ROLE_NOTE, 8, false), row->c8);
    assert_int_equal(theme_colour(&theme, ROLE_NOTE, 16, false), row->c16);
    assert_int_equal(theme_colour(&theme, ROLE_NOTE, 256, false), row->c256);
    assert_int_equal(theme_colour(&theme, ROLE_NOTE, 1 << 24, true), row->rgb);
    assert_int_equal(theme_marks(&theme, ROLE_NOTE), row->marks);
}

static void a_bad_look_changes_nothing(void **state)
{
    (void)state;
    Theme theme = {0}, before = {0};
    Error err = {0};
    assert_false(theme_set(&theme, ROLE_NOTE, STR("red #12345"), &err));
    assert_memory_equal(&theme, &before, sizeof theme);
}

static void bound_keys_act_and_are_named(void **state)
{
    (void)state;
    arena = arena_new();
    const Action *table = explorer_actions, *found = NULL;
    UserConfig *config = parse("[keys]\nundo = \"U gU\"\nfind-next = <\n");
    KeyMap *map = config_keys(config, &table, 1);
    const Key undo[] = {'g', 'U'};
    assert_int_equal(keymap_match(map, undo, 2, &found), KEYS_ACTION);
    assert_int_equal(found->id, ACT_UNDO);
    assert_int_equal(keymap_match(map, (const Key[]){'u'}, 1, &found), KEYS_NO);
    assert_string_equal(keymap_keys(map, arena, action_by_id(ACT_UNDO)).s, "U gU");
    assert_string_equal(keymap_key(map, arena, action_by_id(ACT_UNDO)).s, "U");
    assert_string_equal(keymap_key(map, arena, action_by_id(ACT_DIM_PREVIOUS)).s, "");
    arena_free(arena);
}

static void every_theme_has_its_name(void **state)
{
    (void)state;
    Theme theme;
    int n = 0;
    for (Str rest = str_from(theme_names); rest.n > 0; n++)
        assert_true(theme_find(str_take(&rest, ' '), &theme));
    assert_true(n >= 3);
    assert_false(theme_find(STR("none"), &theme));
}

static void a_missing_file_is_said_and_the_own_one_may_be_missing(void **state)
{
    (void)state;
    arena = arena_new();
    assert_int_equal(config_read(arena, "/nowhere/config")->warnings.n, 1);
    assert_int_equal(config_read(arena, "none")->warnings.n, 0);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    assert_string_equal(config_path(arena), "/nowhere/dimscope/config");
    assert_int_equal(config_read(arena, NULL)->warnings.n, 0);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    assert_string_equal(config_path(arena), "/home/me/.config/dimscope/config");
    arena_free(arena);
}

static void there_are_few_settings(void **state)
{
    (void)state;
    int n = 0;
    for (const Setting *row = settings_table; row->name; row++)
        n++;
    assert_in_range(n, 1, SETTINGS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_look_changes_nothing),
        cmocka_unit_test(bound_keys_act_and_are_named),
        cmocka_unit_test(every_theme_has_its_name),
        cmocka_unit_test(a_missing_file_is_said_and_the_own_one_may_be_missing),
        cmocka_unit_test(there_are_few_settings),
    };
    return run_rows("config", rows, file_says) + run_rows("looks", looks, look_is) +
           cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
