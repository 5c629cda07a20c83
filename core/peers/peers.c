/* peers.c - the systems that are built in, in the order in which listings have them. The Makefile
 * defines WITHOUT_NAME for each that PEERS leaves out. */
#include "core/peers/peers.h"

#include <stddef.h>

const Peer *const built_peers[] = {
#ifndef WITHOUT_shardy
    &peer_shardy,
#endif
#ifndef WITHOUT_paddle
    &peer_paddle,
#endif
#ifndef WITHOUT_torch
    &peer_torch,
#endif
#ifndef WITHOUT_nnscaler
    &peer_nnscaler,
#endif
#ifndef WITHOUT_tapestry
    &peer_tapestry,
#endif
#ifndef WITHOUT_alpa
    &peer_alpa,
#endif
#ifndef WITHOUT_stablehlo
    &peer_stablehlo,
#endif
#ifndef WITHOUT_torch_export
    &peer_torch_export,
#endif
    NULL,
};

const KnownPeer known_peers[] = {
    {"shardy", "factor:shardy factor:shardy-basic factor:shardy-basic-then-aggressive", NULL,
     "shardy"},
    {"paddle", "spmd:paddle", NULL, "paddle"},
    {"torch", "strategy:torch strategy:vescale", NULL, "dtensor dtensor-exact vescale spmd_types"},
    {"nnscaler", "", NULL, "nnscaler"},
    {"tapestry", "", NULL, ""},
    {"alpa", "", NULL, ""},
    {"stablehlo", "", ".mlir", ""},
    {"torch_export", "", ".pt2 .graph.json", ""},
    {0},
};
