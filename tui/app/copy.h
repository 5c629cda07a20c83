/* copy.h - what `y` and `Y` put on the clipboard: what is selected, in the notation that is wanted.
 *
 * Texts are asked for with Ui.copy_next and copied once the key is done. They are exact: whole
 * names, whole shardings, nothing cut to a column.
 */
#ifndef TUI_APP_COPY_H
#define TUI_APP_COPY_H

#include "tui/state/ui.h"

/* The sharding in the Tensor view, the line of a page, the moved tensor of a reshard; the names of
 * tagged ops, one a line; elsewhere the name of the op or input. */
void copy_field(Ui *ui);

/* The form of that name, as the menu has them; "": the menu. */
bool copy_as(Ui *ui, Str form, Error *err);

const char *copy_forms(const Ui *ui); /* names, blanks between; frame's */

#endif
