/* peer.c - the peer torch_export: it reads programs of torch.export as models. */
#include "core/peers/peers.h"

#include "core/peers/torch_export/reader.h"

static const ModelReader readers[] = {
    {"torch.export", ".pt2 .graph.json", torch_export_is, torch_export_read},
    {0},
};

const Peer peer_torch_export = {.name = "torch_export", .readers = readers};
