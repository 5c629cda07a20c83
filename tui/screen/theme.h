/* theme.h - colours and marks of the roles: shipped themes, and looks that the user defines.
 *
 *     axis1 = bold #56b4e9      a colour as #rrggbb, 0 to 255, a name, or `default`; marks bold,
 *     dim = bright-black        underline, reverse
 *
 * A look holds a colour number for each kind of terminal; one colour given by the user is converted
 * to the nearest of the others. Foregrounds only: the background is the terminal's. The default
 * theme uses the terminal's own foreground wherever colour has no meaning; its six axis colours are
 * distinct in all three kinds of colour blindness.
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

extern const char theme_names[]; /* of the shipped themes, separated by blanks; the first is the
                                    default */

/* Returns false if there is no such theme. */
bool theme_find(Str name, Theme *out);

const char *theme_role_name(Role role); /* "text", "axis1" */
bool theme_role_find(Str name, Role *out);

/* Sets a look from its text; the theme does not change if the text is malformed. */
bool theme_set(Theme *theme, Role role, Str look, Error *err);

/* The foreground of a role on a terminal with that many colours: a colour number, or -1 for the
 * terminal's own. Above 256 colours it is 0xRRGGBB, as -direct terminals expect. */
int theme_colour(const Theme *theme, Role role, int n_colours, bool light);

/* Marks that a role has without colour: bold headings, errors and so on. */
Style theme_marks(const Theme *theme, Role role);

#endif
