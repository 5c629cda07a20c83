/* style.h - the look of a cell by its meaning: 18 roles, three marks, one glyph map.
 *
 * A style is a role and marks. Every mesh axis has a role of its own, by its order in the mesh, and
 * is always named as well: no fact is carried by colour alone. theme.h defines the colour of each
 * role on each kind of terminal.
 */
#ifndef TUI_SCREEN_STYLE_H
#define TUI_SCREEN_STYLE_H

#include <stdbool.h>
#include <stdint.h>

enum { STYLE_AXES = 6 };

typedef enum {
    ROLE_TEXT,   /* the terminal's own foreground */
    ROLE_DIM,    /* unimportant: replicated, rulers */
    ROLE_HEAD,   /* column headings */
    ROLE_STATUS, /* the first line */
    ROLE_FRAME,
    ROLE_FOCUS, /* frame of the focused pane; tab of the shown view */
    ROLE_RAIL,
    ROLE_NOTE,
    ROLE_ERROR,
    ROLE_DEAR, /* a reshard over the threshold */
    ROLE_FORWARD,
    ROLE_BACKWARD, /* blocks of a schedule */
    ROLE_AXIS,     /* first of STYLE_AXES */
    ROLE_COUNT = ROLE_AXIS + STYLE_AXES
} Role;

typedef uint16_t Style; /* a Role, and marks */
enum {
    STYLE_ROLE = 0x1f,
    STYLE_MARKS = 0xffe0,
    STYLE_BOLD = 0x20,
    STYLE_UNDERLINE = 0x40,
    STYLE_SELECTED = 0x80 /* reversed */
};

static inline Style style_axis(int axis)
{
    return (Style)(ROLE_AXIS + axis % STYLE_AXES);
}

static inline Role style_role(Style style)
{
    return (Role)(style & STYLE_ROLE);
}

/* An ASCII character of the same width for every glyph that we draw; '?' for others. */
char style_ascii(uint32_t rune);

#endif
