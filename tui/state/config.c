#include "tui/state/config.h"

#include "core/base/file.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

enum { CONFIG_BYTES_MAX = 1 << 20 };

#define AT(field) offsetof(Settings, field)
#define SWITCH "off on"

/* ORDER COLUMN: graph_row.h; and those that are shown unless the file says otherwise. */
#define COLUMNS                                                                                    \
    "rail name op stage output mapping local dtype cut mib params flops time backward weights "    \
    "kept cost times reshard back-reshard why "                                                    \
    "changed"
enum { COLUMNS_STANDARD = 0xdf23f };

const Setting settings_table[] = {
    {"glyphs", "auto lines ascii", 0, 0, AT(glyphs), 0,
     "line drawing or ASCII; auto: by locale and terminal"},
    {"theme", theme_names, 0, 0, AT(theme), 0, "colours: default is safe for colour blindness"},
    {"background", "auto dark light", 0, 0, AT(background), 0,
     "background of the terminal; auto: from COLORFGBG"},
    {"numbers", SWITCH, 0, 0, AT(numbers), 0, "row numbers"},
    {"fold", SWITCH, 0, 0, AT(fold), 1, "show equal layers as one row xN"},
    {"dear", NULL, 1, 100, AT(dear), 5, "a reshard that takes this percentage of the step is red"},
    {"columns", COLUMNS, 0, 22, AT(columns), COLUMNS_STANDARD,
     "columns of the graph; name and output always, stage if the plan has stages"},
    {"mouse", SWITCH, 0, 0, AT(mouse), 1, "use the mouse on rows, tabs, borders, and its wheel"},
    {"clipboard", "auto terminal program off", 0, 0, AT(clipboard), 0,
     "where copied text goes: OSC 52, or wl-copy, xclip, xsel, pbcopy"},
    {"watch", SWITCH, 0, 0, AT(watch), 1, "read files again when they change"},
    {"restore", SWITCH, 0, 0, AT(restore), 1, "start where the last session on this model ended"},
    {0},
};

const Setting *setting_find(Str name)
{
    for (const Setting *setting = settings_table; setting->name; setting++)
        if (str_eq(str_from(setting->name), name))
            return setting;
    return NULL;
}

static int *field(Settings *settings, const Setting *setting)
{
    return (int *)(void *)((char *)settings + setting->at);
}

int setting_get(const Settings *settings, const Setting *setting)
{
    return *(const int *)(const void *)((const char *)settings + setting->at);
}

Settings settings_standard(void)
{
    Settings settings = {0};

    for (const Setting *setting = settings_table; setting->name; setting++)
        *field(&settings, setting) = setting->standard;
    return settings;
}

static int n_values(const Setting *setting)
{
    int n = 0;

    for (Str rest = str_from(setting->values); rest.n > 0; n++)
        str_take(&rest, ' ');
    return n;
}

/* Index of a word among the values; -1 if it is not one of them. */
static int word_at(const Setting *setting, Str word)
{
    Str rest = str_from(setting->values);

    for (int i = 0; rest.n > 0; i++)
        if (str_eq(str_take(&rest, ' '), word))
            return i;
    return -1;
}

static bool put_list(Settings *settings, const Setting *setting, Str value, Error *err)
{
    unsigned bits = 0;

    while (value.n > 0) {
        Str words = str_take(&value, ',');
        while (words.n > 0) {
            Str word = str_take(&words, ' ');
            int at = word_at(setting, word);
            if (at < 0 && word.n > 0)
                return error_set(err, "%s must be names from: %s; not '%.*s'", setting->name,
                                 setting->values, STR_ARG(word));
            bits |= word.n > 0 ? 1u << at : 0;
        }
    }
    *field(settings, setting) = (int)bits;
    return true;
}

bool setting_put(Settings *settings, const Setting *setting, Str value, Error *err)
{
    int64_t number;

    if (!setting->values) {
        if (!str_to_int(value, &number) || number < setting->min || number > setting->max)
            return error_set(err, "%s must be from %d to %d, not '%.*s'", setting->name,
                             setting->min, setting->max, STR_ARG(value));
        *field(settings, setting) = (int)number;
        return true;
    }
    if (setting_is_list(setting))
        return put_list(settings, setting, value, err);
    int at = word_at(setting, value);
    if (at < 0)
        return error_set(err, "%s must be one of: %s; not '%.*s'", setting->name, setting->values,
                         STR_ARG(value));
    *field(settings, setting) = at;
    return true;
}

void setting_next(Settings *settings, const Setting *setting)
{
    int n = setting->values && !setting_is_list(setting) ? n_values(setting) : 0;
    if (n > 0)
        *field(settings, setting) = (setting_get(settings, setting) + 1) % n;
}

void setting_format(const Settings *settings, const Setting *setting, Buf *out)
{
    int value = setting_get(settings, setting);
    Str rest = str_from(setting->values), word;

    if (!setting->values) {
        buf_printf(out, "%d", value);
        return;
    }
    for (int i = 0; rest.n > 0; i++) {
        word = str_take(&rest, ' ');
        if (setting_is_list(setting) && value >> i & 1)
            buf_printf(out, "%s%.*s", value & ((1 << i) - 1) ? " " : "", STR_ARG(word));
        else if (!setting_is_list(setting) && i == value)
            buf_add(out, word);
    }
}

static Error *warn(UserConfig *config, size_t at)
{
    Error *err = arena_make(config->arena, Error);

    error_at(err, &config->source, at);
    vec_push(config->arena, &config->warnings, err);
    return err;
}

/* Another name that is near, for hints. */
static void hint_setting(Error *err, Str name)
{
    const char *near = NULL;
    int least = 4;

    for (const Setting *setting = settings_table; setting->name; setting++) {
        int distance = str_distance(str_from(setting->name), name);
        if (distance < least) {
            least = distance;
            near = setting->name;
        }
    }
    error_hint(err, near ? "did you mean %s?" : "dimscope help config lists the settings", near);
}

static Str without_quotes(Str value)
{
    bool quoted = value.n >= 2 && value.s[0] == '"' && value.s[value.n - 1] == '"';

    return quoted ? (Str){value.s + 1, value.n - 2} : value;
}

typedef enum { SECTION_NONE, SECTION_EXPLORER, SECTION_THEME, SECTION_KEYS, SECTION_BAD } Section;
static const char *const section_names[] = {NULL, "explorer", "theme", "keys"};

static Section read_section(UserConfig *config, Str line)
{
    Str name = str_trim((Str){line.s + 1, line.n - 1});
    size_t at = (size_t)(line.s - config->source.text.s);

    if (name.n == 0 || name.s[name.n - 1] != ']') {
        error_set(warn(config, at), "a section is written [name]");
        return SECTION_BAD;
    }
    name = str_trim((Str){name.s, name.n - 1});
    for (int i = SECTION_EXPLORER; i < SECTION_BAD; i++)
        if (str_eq(name, str_from(section_names[i])))
            return (Section)i;
    Error *err = warn(config, at);
    error_set(err, "no section [%.*s]", STR_ARG(name));
    error_hint(err, "the sections are [explorer], [theme] and [keys]");
    return SECTION_BAD;
}

static void read_setting(UserConfig *config, const ConfigLine *line)
{
    const Setting *setting = setting_find(line->name);
    Error err = {0};

    if (!setting) {
        Error *unknown = warn(config, line->at);
        error_set(unknown, "no setting '%.*s'", STR_ARG(line->name));
        hint_setting(unknown, line->name);
    } else if (!setting_put(&config->settings, setting, line->value, &err)) {
        error_set(warn(config, line->at), "%s", err.text);
    }
}

static void read_line(UserConfig *config, Section section, Str text)
{
    ConfigLine line = {.at = (size_t)(text.s - config->source.text.s), .value = text};
    bool has_value = memchr(text.s, '=', text.n) != NULL;

    line.name = str_trim(str_take(&line.value, '='));
    line.value = without_quotes(str_trim(line.value));
    if (!has_value || line.name.n == 0)
        error_set(warn(config, line.at), "expected a line NAME = VALUE");
    else if (section == SECTION_NONE)
        error_set(warn(config, line.at), "this line is in no section: write [explorer] above it");
    else if (section == SECTION_EXPLORER)
        read_setting(config, &line);
    else if (section == SECTION_THEME)
        vec_push(config->arena, &config->theme, line);
    else if (section == SECTION_KEYS)
        vec_push(config->arena, &config->keys, line);
}

UserConfig *config_parse(Arena *arena, const Source *source)
{
    UserConfig *config = arena_make(arena, UserConfig);
    Section section = SECTION_NONE;

    config->arena = arena;
    config->source = *source;
    config->settings = settings_standard();
    for (Str rest = source->text; rest.n > 0;) {
        Str line = str_trim(str_take(&rest, '\n'));
        if (line.n == 0 || line.s[0] == '#' || line.s[0] == ';')
            continue;
        if (line.s[0] == '[')
            section = read_section(config, line);
        else
            read_line(config, section, line);
    }
    return config;
}

const char *config_path(Arena *arena)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (folder && folder[0] == '/')
        return path_join(arena, folder, "dimscope/config");
    return home && *home ? path_join(arena, home, ".config/dimscope/config") : NULL;
}

UserConfig *config_read(Arena *arena, const char *path)
{
    const char *own = path ? path : config_path(arena);
    Source source = {.name = own ? own : "config"};
    Error *err = arena_make(arena, Error);

    if (!own || strcmp(own, "none") == 0 || (!path && !file_exists(own)))
        return config_parse(arena, &source);
    if (file_read(arena, own, CONFIG_BYTES_MAX, &source, err))
        return config_parse(arena, &source);
    source.text = (Str){"", 0};
    UserConfig *config = config_parse(arena, &source);
    vec_push(arena, &config->warnings, err);
    return config;
}

Theme config_theme(UserConfig *config, const Settings *settings)
{
    const Setting *setting = setting_find(STR("theme"));
    Buf name = buf_new(config->arena);
    Theme theme = {0};

    assert(setting);
    setting_format(settings, setting, &name);
    theme_find(buf_str(&name), &theme);
    for (int i = 0; i < config->theme.n; i++) {
        const ConfigLine *line = &config->theme.at[i];
        Error err = {0};
        Role role;
        if (!theme_role_find(line->name, &role)) {
            Error *unknown = warn(config, line->at);
            error_set(unknown, "a theme has no role '%.*s'", STR_ARG(line->name));
            error_hint(unknown, "text dim head status frame focus rail note error dear axis1..6");
        } else if (!theme_set(&theme, role, line->value, &err)) {
            Error *bad = warn(config, line->at);
            error_set(bad, "%s", err.text);
            error_hint(bad, "%s", err.hint);
        }
    }
    return theme;
}

KeyMap *config_keys(UserConfig *config, const Action *const *tables, int n_tables)
{
    KeyMap *map = keymap_new(config->arena, tables, n_tables);
    Error none;

    for (int i = 0; i < config->keys.n; i++) {
        none = (Error){0};
        const Action *action = action_by_name(config->keys.at[i].name, tables, n_tables, &none);
        if (action)
            keymap_clear(map, action);
    }
    for (int i = 0; i < config->keys.n; i++) {
        const ConfigLine *line = &config->keys.at[i];
        Error err = {0};
        const Action *action = action_by_name(line->name, tables, n_tables, &err);
        if (action && keymap_bind(map, action, line->value, &err))
            continue;
        Error *bad = warn(config, line->at);
        error_set(bad, "%s", err.text);
        if (err.hint[0])
            error_hint(bad, "%s", err.hint);
    }
    return map;
}
