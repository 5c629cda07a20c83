/* peer.c - the peer StableHLO: models as MLIR text, checkpoints of JAX. */
#include "core/peers/peers.h"

#include "core/peers/stablehlo/eval.h"
#include "core/peers/stablehlo/orbax.h"
#include "core/peers/stablehlo/reader.h"

static const EvalVerb eval_verbs[] = {{"mlir.values", eval_mlir_values}, {0}};

const Peer peer_stablehlo = {
    .name = "stablehlo",
    .eval_verbs = eval_verbs,
    .pins = orbax_pins,
    .readers = stablehlo_readers,
};
