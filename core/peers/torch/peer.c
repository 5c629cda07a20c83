/* peer.c - the peer torch (DTensor and veScale): propagators, strategies, redistribution planners,
 * reports and export.
 */
#include "core/peers/peers.h"

#include "core/peers/torch/tables.h"
#include "core/peers/torch/plan_strategy.h"

static const EvalVerb eval_verbs[] = {
    {"strategy", eval_strategy},
    {"redistribute", eval_redistribute},
    {0},
};

static void *rules_new(Arena *arena)
{
    return strategies_new(arena);
}

static int n_rules(const void *rules)
{
    return strategies_n_users(rules);
}

Strategies *strategies_of(const RuleBook *book)
{
    return rule_book_of(book, &peer_torch);
}

static const ExportFormat code[] = {
    {"dtensor", "PyTorch: parallelize_module, fully_shard, a schedule", EXPORT_CODE, false, "py",
     torch_code, NULL, NULL},
    {"dtensor-exact", "PyTorch: placements of all tensors, held by hooks", EXPORT_CODE, false, "py",
     torch_exact_code, NULL, NULL},
    {"vescale", "veScale: a device mesh and a sharding plan", EXPORT_CODE, false, "py",
     vescale_code, NULL, NULL},
    {"spmd_types", "PyTorch: types that check code with collectives of its own", EXPORT_CODE, false,
     "py", spmd_types_code, NULL, NULL},
    {0},
};

static const Propagator *const propagators[] = {&propagator_torch, &propagator_vescale, NULL};

const Peer peer_torch = {
    .name = "torch",
    .propagators = propagators,
    .eval_verbs = eval_verbs,
    .planners = torch_planners,
    .reports = torch_reports,
    .pins = torch_pins,
    .code = code,
    .rules_new = rules_new,
    .n_rules = n_rules,
};
