#include "tui/screen/style.h"

#include <stddef.h>

/* dark: on black; light: on white, at least 5.2:1. c256 is the nearest of the 256 colours. */
typedef struct {
    int16_t c8, c16, c256, light256;
    int32_t rgb, light_rgb;
    uint8_t marks;
} RoleLook;

static const RoleLook looks[ROLE_COUNT] = {
    [ROLE_TEXT] = {-1, -1, -1, -1, -1, -1, 0},
    [ROLE_DIM] = {-1, 8, 245, 243, 0x8a8a8a, 0x767676, 0},
    [ROLE_HEAD] = {-1, -1, -1, -1, -1, -1, STYLE_BOLD},
    [ROLE_STATUS] = {-1, -1, -1, -1, -1, -1, STYLE_BOLD},
    [ROLE_FRAME] = {-1, 8, 240, 248, 0x585858, 0xa8a8a8, 0},
    [ROLE_FOCUS] = {-1, -1, -1, -1, -1, -1, STYLE_BOLD},
    [ROLE_RAIL] = {-1, -1, 250, 240, 0xbcbcbc, 0x585858, 0},
    [ROLE_NOTE] = {3, 3, 178, 94, 0xe69f00, 0x8a5a00, 0},
    [ROLE_ERROR] = {1, 9, 203, 124, 0xff5f5f, 0xaf0000, STYLE_BOLD},
    [ROLE_DEAR] = {1, 9, 203, 124, 0xff5f5f, 0xaf0000, 0},
    [ROLE_AXIS + 0] = {4, 12, 74, 25, 0x56b4e9, 0x0072b2, 0},
    [ROLE_AXIS + 1] = {3, 3, 178, 94, 0xe69f00, 0x8a5a00, 0},
    [ROLE_AXIS + 2] = {6, 6, 35, 23, 0x009e73, 0x00694d, 0},
    [ROLE_AXIS + 3] = {5, 5, 175, 89, 0xcc79a7, 0x9a3e73, 0},
    [ROLE_AXIS + 4] = {3, 11, 221, -1, 0xf0e442, -1, STYLE_UNDERLINE},
    [ROLE_AXIS + 5] = {1, 1, 166, -1, 0xd55e00, -1, STYLE_UNDERLINE},
};

int style_colour(Role role, int n_colours, bool light)
{
    const RoleLook *look = &looks[role];

    if (n_colours > 256)
        return light ? look->light_rgb : look->rgb;
    if (n_colours == 256)
        return light ? look->light256 : look->c256;
    return n_colours >= 16 ? look->c16 : look->c8;
}

Style style_marks(Role role)
{
    return looks[role].marks;
}

typedef struct {
    uint16_t rune;
    char ascii;
} Glyph;

static const Glyph glyphs[] = {
    {0x2500, '-'}, {0x2501, '-'}, {0x2550, '='}, {0x2502, '|'}, {0x2503, '|'},  {0x2551, '|'},
    {0x251c, '+'}, {0x2524, '+'}, {0x252c, '+'}, {0x2534, '+'}, {0x253c, '+'},  {0x250c, '+'},
    {0x2510, '+'}, {0x2514, '+'}, {0x2518, '+'}, {0x2554, '+'}, {0x2557, '+'},  {0x255a, '+'},
    {0x255d, '+'}, {0x256e, '+'}, {0x256d, '+'}, {0x2570, '`'}, {0x256f, '\''}, {0x25cf, '*'},
    {0x25c6, '#'}, {0x25c7, 'o'}, {0x25be, 'v'}, {0x25b8, '>'}, {0x25c2, '<'},  {0x2192, '>'},
    {0x2190, '<'}, {0x2588, '#'}, {0x2589, '#'}, {0x258a, '#'}, {0x258b, '#'},  {0x258c, '#'},
    {0x258d, '-'}, {0x258e, '-'}, {0x258f, '-'}, {0x2592, '%'}, {0x03a3, '+'},  {0x00d7, 'x'},
    {0x2212, '-'}, {0x2026, '~'}, {0x22ef, '~'}, {0x00b7, '.'}, {0x0394, 'd'},  {0x00f7, '/'},
    {0x00b5, 'u'}, {0x2264, '<'}, {0x2265, '>'}, {0x21bb, '@'},
};

char style_ascii(uint32_t rune)
{
    if (rune >= 0x20 && rune < 0x7f)
        return (char)rune;
    for (size_t i = 0; i < sizeof glyphs / sizeof glyphs[0]; i++)
        if (glyphs[i].rune == rune)
            return glyphs[i].ascii;
    return '?';
}

typedef struct {
    uint32_t first, last;
    int width;
} WidthRange;

/* Blocks, not single characters: a character drawn in one column too many is seen at once, and
 * names in these scripts are rare. */
static const WidthRange widths[] = {
    {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x0610, 0x061c, 0},
    {0x064b, 0x065f, 0},   {0x0e34, 0x0e3a, 0},   {0x0e47, 0x0e4e, 0},   {0x1100, 0x115f, 2},
    {0x1160, 0x11ff, 0},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},
    {0x202a, 0x202e, 0},   {0x2060, 0x206f, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
    {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},
    {0xd800, 0xdfff, 0},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},
    {0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0xfff9, 0xfffb, 0},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2},
    {0x20000, 0x3fffd, 2}, {0xe0000, 0xe0fff, 0},
};

int rune_width(uint32_t rune)
{
    if (rune < widths[0].first)
        return 1;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (rune >= widths[i].first && rune <= widths[i].last)
            return widths[i].width;
    return 1;
}
