/* tour.h - a five-minute tour of a sample: what to look at, and which keys to press next.
 *
 * A step is shown in a box over everything else. The user presses its keys in order; after the last
 * one the next step appears. All other keys work as usual, so that the user may look around and
 * return to the step. The explorer does not know about the tour.
 */
#ifndef TUI_APP_TOUR_H
#define TUI_APP_TOUR_H

#include "core/base/str.h"
#include "tui/screen/key.h"
#include "tui/screen/grid.h"

typedef struct {
    const char *text; /* sentences */
    const char *keys; /* in the form of a script: "/c_fc<Enter>"; "": the last step */
    const char *fact; /* a text that they bring onto an 80x24 screen */
} TourStep;

extern const TourStep tour_steps[]; /* ended by one without text */

/* What the tour is about. */
extern const char *const tour_model, *const tour_mesh, *const tour_policy;

typedef struct {
    bool on;
    int step;
    int n_typed; /* number of the step's keys pressed so far, in order */
} Tour;

int tour_lines(const Tour *tour, int w, int h); /* lines of the screen that it takes; 0 when off */
void tour_draw(const Tour *tour, Arena *scratch, Pen *pen);
void tour_key(Tour *tour, Key key); /* pressed by the user */
Str tour_rest(const Tour *tour);    /* keys of the step that are still to be pressed; what they
                                       open is left by a last Esc, once it has been seen */

void tour_format(Buf *out); /* all steps, to be read */

#endif
