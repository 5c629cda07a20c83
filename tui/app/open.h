/* open.h - opens the session on a thread of its own, while a screen shows the progress.
 *
 * If this takes less than OPEN_QUIET_MS, nothing is shown. After that: the stages with their times,
 * a bar and the time left if the total is known, findings so far, and the first ops of the file as
 * they are read. q and C-c stop it.
 */
#ifndef TUI_APP_OPEN_H
#define TUI_APP_OPEN_H

#include "core/session/session.h"
#include "tui/screen/grid.h"
#include "tui/screen/term.h"

/* How the explorer gets its session; open() is called once, on that thread or on this one. */
typedef struct {
    Session *(*open)(void *context, Progress *progress, Error *err);
    void *context;
    const char *model, *policy, *mesh; /* as given by the user, for the screen; NULL: not given */
} AppOpener;

enum { OPEN_STAGES_MAX = 16 };

/* The progress of opening that is shown: stages in order of appearance. */
typedef struct {
    const char *stage[OPEN_STAGES_MAX];
    double began_s[OPEN_STAGES_MAX]; /* since the opening began */
    int n_stages;
    bool stopping;
} Opening;

/* Records the current stage; now_s: seconds since the beginning. */
void opening_see(Opening *opening, const Progress *progress, double now_s);
void opening_draw(const Opening *opening, const AppOpener *opener, const Progress *progress,
                  double now_s, Grid *grid);

/* Returns NULL with *err; ERROR_CANCELLED if the user stopped it, or the terminal is gone. */
Session *open_on_screen(const AppOpener *opener, Term *term, bool ascii, Error *err);

#endif
