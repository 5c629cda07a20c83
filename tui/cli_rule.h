/* cli_rule.h - what the forms of `dimscope rule` share: cli_rule.c shows, cli_rule_check.c proves,
 * cli_rule_trace.c and cli_rule_strategy.c ask the other systems' rules. */
#ifndef TUI_CLI_RULE_H
#define TUI_CLI_RULE_H

#include "tui/cli.h"

/* Operand 0; NULL with cli->err, which names near ones. */
const Operator *cli_find_operator(Cli *cli, const Registry *registry);

/* A graph of one op of it, from --shapes and --attr; NULL with cli->err. */
Graph *cli_graph_of_one(Cli *cli, const Operator *row);

/* `rule --check [OP|FILE.lua]`; without operand: every built-in rule that has a kernel and an
 * example. CLI_ILLEGAL where one is wrong. */
int cli_rule_check(Cli *cli, const RuleBook *rules);

#endif
