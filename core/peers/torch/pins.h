/* pins.h - files of PyTorch's users that have shardings: a tp_plan, a checkpoint's metadata,
 * a plan in torch's styles. */
#ifndef CORE_PEERS_TORCH_PINS_H
#define CORE_PEERS_TORCH_PINS_H

#include "core/session/pins_read.h"

extern const PinsForm torch_pins[];

/* Plans in torch's own styles, as they are exported. */
bool torch_styles_are(Str text);
bool torch_styles_read(PinsText *text, Scan *scan);

#endif
