#include "tui/screen/style.h"

#include <stddef.h>

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
    {0x2581, '.'}, {0x2582, '.'}, {0x2583, '.'}, {0x2584, '#'}, {0x2585, '#'},  {0x2586, '#'},
    {0x2587, '#'}, {0x258d, '-'}, {0x258e, '-'}, {0x258f, '-'}, {0x2592, '%'},  {0x03a3, '+'},
    {0x00d7, 'x'}, {0x2212, '-'}, {0x2026, '~'}, {0x22ef, '~'}, {0x00b7, '.'},  {0x0394, 'd'},
    {0x00f7, '/'}, {0x00b5, 'u'}, {0x2264, '<'}, {0x2265, '>'}, {0x21bb, '@'},  {0x2260, '~'},
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
