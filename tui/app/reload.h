/* reload.h - reads files again: when they were written, and on R.
 *
 * A changed policy runs again; with a changed machine the plan is priced again. If the model has
 * changed, the session is opened again beside the current one, with the user's pins matched by
 * name; then a new explorer replaces the old one: app_reopened(). The selection is kept by name.
 * When anything fails, the previous plan stays, and the error is shown with its place.
 */
#ifndef TUI_APP_RELOAD_H
#define TUI_APP_RELOAD_H

#include "tui/app/app.h"
#include "tui/app/watch.h"

/* Watches model, sizes, plan file, pins, policy, machine and the user's settings. */
Watch *reload_watch(App *app);

void reload_all(App *app);

/* Opens the model again with another training step, in the form of --train; "": with auto, or says
 * which step it is. */
bool reload_train(App *app, Str spec, Error *err);
/* If the last change is one of the training step, undoes it (by -1), or redoes the next one (by 1),
 * and returns true. */
bool reload_train_step(App *app, int by);
/* Whether undo (by -1) returns to the explorer from which this configuration was opened, since
 * nothing else was changed here; or redo (by 1) to the one that was left in this way. */
bool reload_configuration_can(const App *app, int by);
bool reload_configuration(App *app, int by);
/* Adds a pattern of parameters that do not train. */
bool reload_freeze(App *app, Str pattern, Error *err);

#endif
