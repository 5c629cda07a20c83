/* peer.c - the peer Alpa: the problems of its solver, as an eval verb. */
#include "core/peers/peers.h"

#include "core/peers/alpa/eval_plan.h"

static const EvalVerb eval_verbs[] = {{"plan.solve", eval_plan_solve}, {0}};

const Peer peer_alpa = {.name = "alpa", .eval_verbs = eval_verbs};
