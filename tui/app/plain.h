/* plain.h - the explorer line by line: for screen readers, and terminals that cannot place a
 * cursor.
 *
 * The view is printed as plain lines with its parts below it, without cursor addressing and colour.
 * A typed line means what it would mean on the screen: the name of an action with its argument, its
 * keys, `:` and a command, `/` and a pattern, a menu's letter; an empty line prints the view again.
 * A move within the view prints only the row that is then selected. It uses the same engine, tables
 * and scripts.
 */
#ifndef TUI_APP_PLAIN_H
#define TUI_APP_PLAIN_H

#include "tui/app/app.h"

#include <stdio.h>

/* Until `q` at the graph, `quit`, or the end of `in`. */
void plain_run(Session *session, const AppOptions *options, FILE *in, FILE *out);

#endif
