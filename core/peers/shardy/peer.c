/* peer.c - the peer Shardy: propagators, StableHLO operators, notation, eval verbs, import and
 * export. */

#include "core/peers/shardy/plan_shardy.h"
#include "core/peers/shardy/factor_rule.h"
#include "core/peers/shardy/tables.h"
#include "core/rules/notation.h"

static bool print_shardy(const OpSpace *space, Buf *out, Buf *lost)
{
    if (space->n_inputs == 0 || space->n_outputs == 0) { /* Shardy's parser refuses it */
        buf_puts(lost, "an op without operands or without results has no rule\n");
        return false;
    }
    factor_rule_format(factor_rule_of(out->arena, space), out);
    return notation_losses(
        space, TRAIT_RADIX | TRAIT_MINOR | TRAIT_FROZEN | TRAIT_SUM | TRAIT_INPUTS | TRAIT_BLOCKED,
        lost);
}

static const Notation notations[] = {{"shardy", 's', print_shardy}, {0}};

static const EvalVerb eval_verbs[] = {
    {"factor.rule", eval_factor_rule},       {"factor.propagate", eval_factor_propagate},
    {"factor.origins", eval_factor_origins}, {"reshard.insert", eval_insert},
    {"reshard.collectives", eval_reshard},   {0},
};

static const ExportFormat code[] = {
    {"shardy", "MLIR with sdy shardings", EXPORT_CODE, false, "mlir", shardy_code, NULL,
     shardy_step},
    {0},
};

static const Propagator *const propagators[] = {&propagator_shardy, &propagator_shardy_basic,
                                                &propagator_shardy_both, NULL};

const Peer peer_shardy = {
    .name = "shardy",
    .propagators = propagators,
    .operators = operators_stablehlo,
    .notations = notations,
    .eval_verbs = eval_verbs,
    .pins = shardy_pins,
    .code = code,
};
