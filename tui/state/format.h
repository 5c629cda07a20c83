/* format.h - shardings, bytes and times as text for the screen.
 *
 * All texts live in the frame's arena. Texts that do not depend on the screen are in
 * core/summary/label.h.
 */
#ifndef TUI_STATE_FORMAT_H
#define TUI_STATE_FORMAT_H

#include "core/base/span.h"
#include "tui/state/ui.h"

/* `8/dp,4096,4096/tp +tp`, with marks that the screen can draw. */
void label_put_sharding(const Ui *ui, int32_t sharding, Buf *out);
/* The same for a tensor; without a sharding (-1, since sizes are unknown) the known part of its
 * shape. */
void label_put_value(const Ui *ui, int32_t tensor, int32_t sharding, Buf *out);
Text label_sharding(const Ui *ui, int32_t sharding);
Text label_value(const Ui *ui, int32_t tensor, int32_t sharding);
Str label_bytes(const Ui *ui, int64_t bytes);
Str label_us(const Ui *ui, double us);

#endif
