/* pins.h - files of PyTorch's users that have shardings: a tp_plan, a checkpoint's metadata. */
#ifndef CORE_PEERS_TORCH_PINS_H
#define CORE_PEERS_TORCH_PINS_H

#include "core/session/pins_read.h"

extern const PinsForm torch_pins[];

#endif
