/* theme.h - colours and marks of the roles: shipped themes, and looks written by the user.
 *
 *     axis1 = bold #56b4e9      a colour as #rrggbb, 0 to 255, a name, or `default`; marks bold,
 *     dim = bright-black        underline, reverse
 *
 * A look holds the number for each kind of terminal; one colour that is written is brought to the
 * nearest of the others. Foregrounds only: the background is the terminal's. The default theme uses
 * the terminal's own foreground wherever nothing is meant, and its six axes stay apart in all three
 * kinds of colour blindness.
 */
#ifndef TUI_SCREEN_THEME_H
#define TUI_SCREEN_THEME_H

#include "core/base/error.h"
#include "tui/screen/style.h"

/* dark: on black; light: on white. -1: the terminal's own. */
typedef struct {
    int16_t c8, c16, c256, light256;
    int32_t rgb, light_rgb;
    uint8_t marks; /* STYLE_BOLD, .. */
} RoleLook;

typedef enum { BACKGROUND_AUTO, BACKGROUND_DARK, BACKGROUND_LIGHT } Background;

typedef struct {
    RoleLook look[ROLE_COUNT];
} Theme;

extern const char theme_names[]; /* of the shipped ones, blanks between; the first is the default */

/* Returns false if there is no such theme. */
bool theme_find(Str name, Theme *out);

const char *theme_role_name(Role role); /* "text", "axis1" */
bool theme_role_find(Str name, Role *out);

/* Takes a look as it is written; the theme stays as it was when it cannot be read. */
bool theme_set(Theme *theme, Role role, Str look, Error *err);

/* The foreground of a role on a terminal of that many colours: a colour number, or -1 for the
 * terminal's own. Over 256 the number is 0xRRGGBB, as -direct terminals take it. */
int theme_colour(const Theme *theme, Role role, int n_colours, bool light);

/* Marks that a role has without colour: bold headings, errors and so on. */
Style theme_marks(const Theme *theme, Role role);

#endif
