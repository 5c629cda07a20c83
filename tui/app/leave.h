/* leave.h - quitting: asks first about pins that are in no file.
 *
 * With AppOptions.restore they are saved with the state of the session (resume.h), and the next one
 * starts with them.
 */
#ifndef TUI_APP_LEAVE_H
#define TUI_APP_LEAVE_H

#include "tui/app/app.h"

void leave(App *app);

#endif
