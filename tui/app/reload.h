/* reload.h - files read again: when they are written, and by R.
 *
 * The policy is run again under the plan; a machine prices it anew. Where the model is another one
 * the session is opened again beside the one that is shown, with the user's pins by name, and then
 * a new explorer takes the place of the old: app_reopened(). What was selected stays selected by
 * name. When anything fails, the previous plan stays, and the error is shown with its place.
 */
#ifndef TUI_APP_RELOAD_H
#define TUI_APP_RELOAD_H

#include "tui/app/app.h"
#include "tui/app/watch.h"

/* Watches model, sizes, plan file, pins, policy, machine and the user's settings. */
Watch *reload_watch(App *app);

void reload_all(App *app);

/* Opens the model again with another training step, as --train has it; "": with auto, or says which
 * one it is. */
bool reload_train(App *app, Str spec, Error *err);
/* Returns whether the last change is one of the training step, and undoes it (by -1); or does the
 * next one again (by 1). */
bool reload_train_step(App *app, int by);
/* Returns whether the explorer from which this configuration was opened is to be gone back to (by
 * -1), since nothing else was done here; or the one that was left so (by 1). */
bool reload_configuration_can(const App *app, int by);
bool reload_configuration(App *app, int by);
/* Adds a pattern of parameters that do not train. */
bool reload_freeze(App *app, Str pattern, Error *err);

#endif
