/* tour.h - five minutes with a sample: what to look for, and what to press next.
 *
 * A step is shown in a box below everything else. Its keys are the user's to press, in order; with
 * the last of them the next step stands there. All other keys do what they always do, so that one
 * may look about and come back to the step. The explorer does not know about the tour.
 */
#ifndef TUI_APP_TOUR_H
#define TUI_APP_TOUR_H

#include "core/base/str.h"
#include "tui/screen/key.h"
#include "tui/screen/grid.h"

typedef struct {
    const char *text; /* sentences */
    const char *keys; /* of a script: "/c_fc<Enter>"; "": the last step */
    const char *fact; /* what they bring onto an 80x24 screen */
} TourStep;

extern const TourStep tour_steps[]; /* ended by one without text */

/* What it is of. */
extern const char *const tour_model, *const tour_mesh, *const tour_policy;

typedef struct {
    bool on;
    int step;
    int n_typed; /* keys of the step, pressed one after the other */
} Tour;

int tour_lines(const Tour *tour, int w, int h); /* what it takes of a screen; 0 when off */
void tour_draw(const Tour *tour, Arena *scratch, Pen *pen);
void tour_key(Tour *tour, Key key); /* pressed by the user */
Str tour_rest(const Tour *tour);    /* keys of the step that are still to be pressed */

void tour_format(Buf *out); /* all steps, to be read */

#endif
