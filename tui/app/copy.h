/* copy.h - copies the selection to the clipboard (`y` and `Y`), in the chosen notation.
 *
 * Texts are requested with Ui.copy_next and copied after the key is handled. They are exact: whole
 * names and shardings, never cut to a column.
 */
#ifndef TUI_APP_COPY_H
#define TUI_APP_COPY_H

#include "tui/state/ui.h"

/* In the Tensor view the sharding, in a page the line, for a reshard the moved tensor; if ops are
 * tagged, their names, one per line; elsewhere the name of the op or input. */
void copy_field(Ui *ui);

/* The form of that name, as in the menu; "": opens the menu. */
bool copy_as(Ui *ui, Str form, Error *err);

const char *copy_forms(const Ui *ui); /* names, blanks between; frame's */

#endif
