/* peer.c - the peer Paddle: its propagator, dims_mapping rules, reports, eval verbs and export. */
#include "core/peers/peers.h"

#include "core/peers/paddle/plan_spmd.h"
#include "core/peers/paddle/code.h"
#include "core/peers/paddle/report.h"
#include "core/peers/paddle/eval_spmd.h"

static const EvalVerb eval_verbs[] = {{"spmd.", eval_spmd}, {0}};

static void *rules_new(Arena *arena)
{
    return spmd_rules_new(arena);
}

static int n_rules(const void *rules)
{
    return spmd_rules_n_users(rules);
}

SpmdRules *spmd_rules_of(const RuleBook *book)
{
    return rule_book_of(book, &peer_paddle);
}

static const ExportFormat code[] = {
    {"paddle", "Paddle: a ProcessMesh and shard_tensor", EXPORT_CODE, false, "py", paddle_code,
     NULL, paddle_step},
    {0},
};

static const Propagator *const propagators[] = {&propagator_spmd, NULL};

const Peer peer_paddle = {
    .name = "paddle",
    .propagators = propagators,
    .eval_verbs = eval_verbs,
    .reports = paddle_reports,
    .code = code,
    .rules_new = rules_new,
    .n_rules = n_rules,
};
