/* propagators.h - the propagators of all other systems, for tests. */
#ifndef CORE_PEERS_PROPAGATORS_H
#define CORE_PEERS_PROPAGATORS_H

#include "core/peers/paddle/plan_spmd.h"
#include "core/peers/shardy/plan_shardy.h"
#include "core/peers/torch/plan_strategy.h"

#endif
