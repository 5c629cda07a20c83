/* propagators.h - the propagators of other systems, by name. */
#ifndef CORE_PEERS_PROPAGATORS_H
#define CORE_PEERS_PROPAGATORS_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_shardy, propagator_shardy_basic, propagator_shardy_both;
extern const Propagator propagator_spmd;
extern const Propagator propagator_torch, propagator_vescale;

#endif
