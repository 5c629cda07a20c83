/* label.h - draws texts with the names of mesh axes in their colours. */
#ifndef TUI_VIEWS_LABEL_H
#define TUI_VIEWS_LABEL_H

#include "core/summary/label.h"
#include "tui/state/format.h"

/* Draws a sharding, or any text with axis names, in exactly that many columns: names of mesh axes
 * in their colours; dim `dim` underlined (-1: none). columns < 0: as many as it takes. */
void draw_sharding(const Ui *ui, Pen *pen, Str text, int dim, int columns);

/* A heading: "LABEL  text". */
void draw_field(Pen *pen, const char *label, int columns);

#endif
