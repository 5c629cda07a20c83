/* pins.h - files of PyTorch's users that have shardings: a tp_plan, a checkpoint's metadata,
 * a plan in torch's styles. */
#ifndef CORE_PEERS_TORCH_PINS_H
#define CORE_PEERS_TORCH_PINS_H

#include "core/session/pins_read.h"

extern const PinsForm torch_pins[];

/* Plans in torch's own styles, as they are exported. */
bool torch_styles_are(Str text);
bool torch_styles_read(PinsText *text, Scan *scan);

/* Reads the dict that was made of the text, in its place: lines are those of its first. */
bool torch_read_made(PinsText *text, Scan *scan, const Buf *made);

#endif
