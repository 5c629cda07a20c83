/* label.h - texts the views share, as the screen can draw them: shardings in colour, bytes, times.
 *
 * All texts live in the frame's arena. What does not ask the screen is in core/summary/label.h.
 */
#ifndef TUI_VIEWS_LABEL_H
#define TUI_VIEWS_LABEL_H

#include "core/summary/label.h"
#include "tui/app/ui.h"

/* `8/dp,4096,4096/tp +tp`, marks as the screen can draw them. */
Str label_sharding(const Ui *ui, int32_t sharding);
/* The same of a tensor; where it has no sharding since sizes are not known, what is of its shape.
 */
Str label_value(const Ui *ui, int32_t tensor, int32_t sharding);
Str label_bytes(const Ui *ui, int64_t bytes);
Str label_us(const Ui *ui, double us);

/* Draws a sharding, or any text with axis names, in exactly that many columns: names of mesh axes
 * in their colours; dim `dim` underlined (-1: none). columns < 0: as many as it takes. */
void draw_sharding(const Ui *ui, Pen *pen, Str text, int dim, int columns);

/* A heading: "LABEL  text". */
void draw_field(Pen *pen, const char *label, int columns);

#endif
