/* pins.h - shardings read from a module of MLIR. */
#ifndef CORE_PEERS_SHARDY_PINS_H
#define CORE_PEERS_SHARDY_PINS_H

#include "core/session/pins_read.h"

extern const PinsForm shardy_pins[];

#endif
