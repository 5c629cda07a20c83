/* peer.c - the peer nnScaler: eval verbs of annotations and RVD layouts, and export. */
#include "core/peers/peers.h"

#include "core/peers/nnscaler/code.h"
#include "core/peers/nnscaler/eval_anno.h"
#include "core/peers/nnscaler/eval_rvd.h"

static const EvalVerb eval_verbs[] = {
    {"anno.", eval_anno},
    {"rvd.reshard", eval_rvd},
    {0},
};

static const ExportFormat code[] = {
    {"nnscaler", "nnScaler: a PAS function", EXPORT_CODE, false, "py", nnscaler_code, NULL,
     nnscaler_step},
    {0},
};

const Peer peer_nnscaler = {.name = "nnscaler", .eval_verbs = eval_verbs, .code = code};
