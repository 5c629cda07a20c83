/* config.h - the user's settings, theme and keys: one ini file, and one table of settings.
 *
 *     [explorer]            settings, as `:set` takes them
 *     numbers = on
 *     [theme]               looks of roles, over the theme that is set (theme.h)
 *     axis1 = bold #56b4e9
 *     [keys]                actions by name; what stands here replaces their keys
 *     undo = "u U"
 *
 * A line that begins with # or ; is a comment; quotes around a value may be left out. A line that
 * cannot be used is a warning with its place; the others are used.
 *
 * The table drives the file, `:set`, the options menu, `dimscope help config` and the manual page.
 */
#ifndef TUI_STATE_CONFIG_H
#define TUI_STATE_CONFIG_H

#include "tui/state/keymap.h"
#include "tui/screen/theme.h"

enum { SETTINGS_MAX = 40 };

typedef enum { GLYPHS_AUTO, GLYPHS_LINES, GLYPHS_ASCII } Glyphs;

/* All are int, so that one table describes them: a switch is 0 or 1, a choice the index of its
 * word, a list the bits of its words. */
typedef struct {
    int glyphs, theme, background, clipboard;
    int numbers, fold, mouse, watch, restore;
    int dear;    /* as a percentage of the step */
    int columns; /* of the graph: bits of GraphColumn */
} Settings;

typedef struct {
    Settings settings;
    const KeyMap *keymap;
    bool ascii;  /* draw with ASCII characters only */
    bool zoomed; /* one pane fills the screen */
} Look;

typedef struct {
    const char *name;
    const char *values; /* its words, separated by blanks; NULL: a number from min to max */
    int min, max;       /* for words, max is how many may be chosen; 0: one */
    size_t at;          /* offset in Settings */
    int standard;
    const char *help;
} Setting;

extern const Setting settings_table[]; /* ended by a row without a name */

/* Returns whether the value is any number of its words, separated by blanks or commas. */
static inline bool setting_is_list(const Setting *setting)
{
    return setting->values && setting->max > 0;
}

const Setting *setting_find(Str name); /* NULL */
Settings settings_standard(void);
int setting_get(const Settings *settings, const Setting *setting);
bool setting_put(Settings *settings, const Setting *setting, Str value, Error *err);
/* Changes a choice to its next word. */
void setting_next(Settings *settings, const Setting *setting);
void setting_format(const Settings *settings, const Setting *setting, Buf *out); /* its value */

/* A line of [keys] or [theme], kept until the tables of actions exist. */
typedef struct {
    Str name, value;
    size_t at; /* offset in the source */
} ConfigLine;

typedef struct {
    Arena *arena;
    Source source;
    Settings settings;
    Vec(ConfigLine) theme, keys;
    Vec(const Error *) warnings;
} UserConfig;

/* Reads a whole file. Never fails: errors are in its warnings. */
UserConfig *config_parse(Arena *arena, const Source *source);

/* Reads `path`; NULL: the user's own file, which may be missing; "none": no file. */
UserConfig *config_read(Arena *arena, const char *path);
const char *config_path(Arena *arena); /* the user's own file; NULL: there is no home folder */

/* config_theme(): the chosen theme, overridden by the file's looks. config_keys(): the keys of the
 * tables, overridden by the user's. Errors become warnings. */
Theme config_theme(UserConfig *config, const Settings *settings);
KeyMap *config_keys(UserConfig *config, const Action *const *tables, int n_tables);

#endif
