#include "tui/screen/theme.h"

#include <stdlib.h>

#define OWN -1, -1, -1, -1, -1, -1

/* light: at least 5.2:1 on white. c256 is the nearest of the 256 colours. */
static const Theme shipped[] = {
    {{
        [ROLE_TEXT] = {OWN, 0},
        [ROLE_DIM] = {-1, 8, 245, 243, 0x8a8a8a, 0x767676, 0},
        [ROLE_HEAD] = {OWN, STYLE_BOLD},
        [ROLE_STATUS] = {OWN, STYLE_BOLD},
        [ROLE_FRAME] = {-1, 8, 240, 248, 0x585858, 0xa8a8a8, 0},
        [ROLE_FOCUS] = {OWN, STYLE_BOLD},
        [ROLE_RAIL] = {-1, -1, 250, 240, 0xbcbcbc, 0x585858, 0},
        [ROLE_NOTE] = {3, 3, 178, 94, 0xe69f00, 0x8a5a00, 0},
        [ROLE_ERROR] = {1, 9, 203, 124, 0xff5f5f, 0xaf0000, STYLE_BOLD},
        [ROLE_DEAR] = {1, 9, 203, 124, 0xff5f5f, 0xaf0000, 0},
        [ROLE_FORWARD] = {6, 14, 73, 23, 0x5fafaf, 0x00605f, 0},
        [ROLE_BACKWARD] = {5, 13, 140, 54, 0xaf87d7, 0x5f2f87, 0},
        [ROLE_AXIS + 0] = {4, 12, 74, 25, 0x56b4e9, 0x0072b2, 0},
        [ROLE_AXIS + 1] = {3, 3, 178, 94, 0xe69f00, 0x8a5a00, 0},
        [ROLE_AXIS + 2] = {6, 6, 35, 23, 0x009e73, 0x00694d, 0},
        [ROLE_AXIS + 3] = {5, 5, 175, 89, 0xcc79a7, 0x9a3e73, 0},
        [ROLE_AXIS + 4] = {3, 11, 221, -1, 0xf0e442, -1, STYLE_UNDERLINE},
        [ROLE_AXIS + 5] = {1, 1, 166, -1, 0xd55e00, -1, STYLE_UNDERLINE},
    }},
    /* Marks alone. */
    {{
        [ROLE_TEXT] = {OWN, 0},
        [ROLE_DIM] = {OWN, 0},
        [ROLE_HEAD] = {OWN, STYLE_BOLD},
        [ROLE_STATUS] = {OWN, STYLE_BOLD},
        [ROLE_FRAME] = {OWN, 0},
        [ROLE_FOCUS] = {OWN, STYLE_BOLD},
        [ROLE_RAIL] = {OWN, 0},
        [ROLE_NOTE] = {OWN, 0},
        [ROLE_ERROR] = {OWN, STYLE_BOLD},
        [ROLE_DEAR] = {OWN, STYLE_BOLD},
        [ROLE_FORWARD] = {OWN, 0},
        [ROLE_BACKWARD] = {OWN, STYLE_BOLD},
        [ROLE_AXIS + 0] = {OWN, STYLE_BOLD},
        [ROLE_AXIS + 1] = {OWN, STYLE_UNDERLINE},
        [ROLE_AXIS + 2] = {OWN, STYLE_BOLD | STYLE_UNDERLINE},
        [ROLE_AXIS + 3] = {OWN, STYLE_BOLD},
        [ROLE_AXIS + 4] = {OWN, STYLE_UNDERLINE},
        [ROLE_AXIS + 5] = {OWN, STYLE_BOLD | STYLE_UNDERLINE},
    }},
    /* Nothing grey, all that carries a meaning bold. */
    {{
        [ROLE_TEXT] = {OWN, 0},
        [ROLE_DIM] = {OWN, 0},
        [ROLE_HEAD] = {OWN, STYLE_BOLD | STYLE_UNDERLINE},
        [ROLE_STATUS] = {OWN, STYLE_BOLD},
        [ROLE_FRAME] = {OWN, 0},
        [ROLE_FOCUS] = {OWN, STYLE_BOLD},
        [ROLE_RAIL] = {OWN, 0},
        [ROLE_NOTE] = {3, 11, 226, 94, 0xffff00, 0x805000, STYLE_BOLD},
        [ROLE_ERROR] = {1, 9, 203, 88, 0xff5f5f, 0x870000, STYLE_BOLD},
        [ROLE_DEAR] = {1, 9, 203, 88, 0xff5f5f, 0x870000, STYLE_BOLD},
        [ROLE_FORWARD] = {6, 14, 123, 23, 0x87ffff, 0x005f5f, STYLE_BOLD},
        [ROLE_BACKWARD] = {5, 13, 183, 54, 0xd7afff, 0x5f0087, STYLE_BOLD},
        [ROLE_AXIS + 0] = {4, 12, 117, 19, 0x87d7ff, 0x0000af, STYLE_BOLD},
        [ROLE_AXIS + 1] = {3, 3, 214, 94, 0xffaf00, 0x805000, STYLE_BOLD},
        [ROLE_AXIS + 2] = {6, 6, 48, 23, 0x00ff87, 0x005f5f, STYLE_BOLD},
        [ROLE_AXIS + 3] = {5, 13, 219, 90, 0xffafff, 0x870087, STYLE_BOLD},
        [ROLE_AXIS + 4] = {3, 11, 228, -1, 0xffff87, -1, STYLE_BOLD | STYLE_UNDERLINE},
        [ROLE_AXIS + 5] = {1, 1, 209, -1, 0xff875f, -1, STYLE_BOLD | STYLE_UNDERLINE},
    }},
};
const char theme_names[] = "default mono contrast"; /* ORDER shipped */

bool theme_find(Str name, Theme *out)
{
    Str names = str_from(theme_names);

    for (int i = 0; names.n > 0; i++) {
        if (!str_eq(str_take(&names, ' '), name))
            continue;
        *out = shipped[i];
        return true;
    }
    return false;
}

static const char *const role_names[ROLE_COUNT] = {
    [ROLE_TEXT] = "text",      [ROLE_DIM] = "dim",         [ROLE_HEAD] = "head",
    [ROLE_STATUS] = "status",  [ROLE_FRAME] = "frame",     [ROLE_FOCUS] = "focus",
    [ROLE_RAIL] = "rail",      [ROLE_NOTE] = "note",       [ROLE_ERROR] = "error",
    [ROLE_DEAR] = "dear",      [ROLE_FORWARD] = "forward", [ROLE_BACKWARD] = "backward",
    [ROLE_AXIS + 0] = "axis1", [ROLE_AXIS + 1] = "axis2",  [ROLE_AXIS + 2] = "axis3",
    [ROLE_AXIS + 3] = "axis4", [ROLE_AXIS + 4] = "axis5",  [ROLE_AXIS + 5] = "axis6",
};

const char *theme_role_name(Role role)
{
    return role_names[role];
}

bool theme_role_find(Str name, Role *out)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (!str_eq(str_from(role_names[i]), name))
            continue;
        *out = (Role)i;
        return true;
    }
    return false;
}

/* xterm's first sixteen. */
static const int32_t basic[16] = {
    0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
    0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
};

/* Of the 256: sixteen, a cube of six levels, 24 greys. */
static int32_t colour_rgb(int number)
{
    static const int level[6] = {0, 95, 135, 175, 215, 255};
    int i = number - 16;

    if (number < 16)
        return basic[number];
    if (number >= 232)
        return (8 + 10 * (number - 232)) * 0x010101;
    return level[i / 36] << 16 | level[i / 6 % 6] << 8 | level[i % 6];
}

/* The nearest of the colours first to last - 1. */
static int nearest(int32_t rgb, int first, int last)
{
    int best = first;
    long least = -1;

    for (int i = first; i < last; i++) {
        long distance = 0;
        for (int shift = 0; shift < 24; shift += 8) {
            long by = (rgb >> shift & 0xff) - (colour_rgb(i) >> shift & 0xff);
            distance += by * by;
        }
        if (least < 0 || distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

static void look_of_rgb(RoleLook *look, int32_t rgb)
{
    int c256 = nearest(rgb, 16, 256);

    *look = (RoleLook){.c8 = (int16_t)(nearest(rgb, 0, 16) % 8),
                       .c16 = (int16_t)nearest(rgb, 0, 16),
                       .c256 = (int16_t)c256,
                       .light256 = (int16_t)c256,
                       .rgb = rgb,
                       .light_rgb = rgb,
                       .marks = look->marks};
}

static void look_of_number(RoleLook *look, int number)
{
    look_of_rgb(look, colour_rgb(number));
    look->c256 = look->light256 = (int16_t)number;
    if (number >= 16)
        return;
    look->c16 = (int16_t)number;
    look->c8 = (int16_t)(number % 8);
}

static bool read_hex(Str word, int32_t *rgb)
{
    if (word.n != 7 || word.s[0] != '#')
        return false;
    *rgb = 0;
    for (size_t i = 1; i < word.n; i++) {
        char c = word.s[i];
        int digit = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *rgb = *rgb << 4 | digit;
    }
    return true;
}

static bool take_word(RoleLook *look, Str word)
{
    static const char *const names[] = {"black", "red",     "green", "yellow",
                                        "blue",  "magenta", "cyan",  "white"};
    static const char *const marks[] = {"bold", "underline", "reverse"};
    static const uint8_t bits[] = {STYLE_BOLD, STYLE_UNDERLINE, STYLE_SELECTED};
    bool bright = str_starts(word, STR("bright-"));
    Str colour = bright ? (Str){word.s + 7, word.n - 7} : word;
    int64_t number;
    int32_t rgb;

    for (size_t i = 0; i < 3; i++)
        if (str_eq(word, str_from(marks[i])))
            return look->marks = (uint8_t)(look->marks | bits[i]), true;
    for (int i = 0; i < 8; i++)
        if (str_eq(colour, str_from(names[i])))
            return look_of_number(look, i + 8 * bright), true;
    if (str_eq(word, STR("default")))
        return *look = (RoleLook){OWN, look->marks}, true;
    if (read_hex(word, &rgb))
        return look_of_rgb(look, rgb), true;
    if (!str_to_int(word, &number) || number < 0 || number > 255)
        return false;
    return look_of_number(look, (int)number), true;
}

bool theme_set(Theme *theme, Role role, Str text, Error *err)
{
    RoleLook look = {OWN, 0};

    for (Str rest = str_trim(text); rest.n > 0; rest = str_trim(rest)) {
        Str word = str_take(&rest, ' ');
        if (take_word(&look, word))
            continue;
        error_set(err, "'%.*s' is not a colour or a text style", STR_ARG(word));
        error_hint(err, "use a name such as cyan or bright-red, 0 to 255, #rrggbb or default; "
                        "bold, underline, reverse");
        return false;
    }
    theme->look[role] = look;
    return true;
}

int theme_colour(const Theme *theme, Role role, int n_colours, bool light)
{
    const RoleLook *look = &theme->look[role];

    if (n_colours > 256)
        return light ? look->light_rgb : look->rgb;
    if (n_colours == 256)
        return light ? look->light256 : look->c256;
    return n_colours >= 16 ? look->c16 : look->c8;
}

Style theme_marks(const Theme *theme, Role role)
{
    return theme->look[role].marks;
}
