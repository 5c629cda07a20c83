/* format.h - shardings, bytes and times as text that the screen can draw.
 *
 * All texts live in the frame's arena. What does not depend on the screen is in
 * core/summary/label.h.
 */
#ifndef TUI_STATE_FORMAT_H
#define TUI_STATE_FORMAT_H

#include "tui/state/ui.h"

/* `8/dp,4096,4096/tp +tp`, marks as the screen can draw them. */
Str label_sharding(const Ui *ui, int32_t sharding);
/* The same of a tensor; where it has no sharding since sizes are not known, what is of its shape.
 */
Str label_value(const Ui *ui, int32_t tensor, int32_t sharding);
Str label_bytes(const Ui *ui, int64_t bytes);
Str label_us(const Ui *ui, double us);

#endif
