/* leave.h - quitting: pins that are in no file are asked about first.
 *
 * With AppOptions.restore they are kept beside the state of the session (resume.h), and the next
 * one begins with them.
 */
#ifndef TUI_APP_LEAVE_H
#define TUI_APP_LEAVE_H

#include "tui/app/app.h"

void leave(App *app);

#endif
