/* peers.h - every system that has a room here; peers.c lists those that are built in. */
#ifndef CORE_PEERS_PEERS_H
#define CORE_PEERS_PEERS_H

#include "core/base/peer.h"

extern const Peer peer_shardy, peer_paddle, peer_torch, peer_nnscaler, peer_tapestry, peer_alpa,
    peer_stablehlo, peer_torch_export;

#endif
