/* rule.h - what the forms of `dimscope rule` share: rule.c reads, rule_check.c proves,
 * rule_show.c and rule_list.c show op spaces and operators, rule_trace.c and
 * rule_strategy.c ask the other systems' rules. */
#ifndef TUI_CLI_RULE_H
#define TUI_CLI_RULE_H

#include "core/peers/paddle/spmd.h"
#include "core/rules/example.h"
#include "tui/cli/cli.h"

/* Operand 0; NULL with cli->err, which names near ones. */
const Operator *cli_find_operator(Cli *cli, const Registry *registry);

/* A graph of one op of it, from --shapes and --attr; NULL with cli->err. */
Graph *cli_graph_of_one(Cli *cli, const Registry *registry, const Operator *row);

/* The attributes of --attr, as those of an op of that name and without operands, for rules that are
 * no operators'. alias: the op has that name of another system, so ours are renamed; NULL: not. */
const Graph *cli_attrs_of_one(Cli *cli, const char *name, const Alias *alias);

/* cli_fail() of what was asked on the command line alone: 1 where a rule refuses how the operands
 * lie, 2 where it was asked wrongly. */
int cli_rule_fail(Cli *cli);

/* "softmax" */
const char *cli_lower_case(Arena *arena, Str name);

/* ---- showing ---- */

/* The first example of the operator that has an op space; without one, a guess. example NULL: made
 * of its annotation; space NULL: it goes by shapes. */
typedef struct {
    const char *example; /* as in example.h */
    const OpSpace *space;
} RuleSample;
RuleSample cli_rule_sample(Cli *cli, const Registry *registry, const Operator *row);

/* space NULL, where none is given: that of a sample. */
void cli_rule_show(Cli *cli, const Registry *registry, const Operator *row, const OpSpace *space);
void cli_rule_list(Cli *cli, const Registry *registry);

bool cli_rule_has_kernel(const OpSpace *space, const Operator *row);
void cli_rule_format_arity(const Operator *row, Buf *out); /* "2", "1 to 3" */
Json *cli_rule_row_json(Arena *arena, const Operator *row, const OpSpace *space);

/* ---- proving ---- */

/* `rule --check [OP|FILE.lua]`: op spaces, with --trace rules of dims_mappings, with --profile
 * strategies; without operand: every built-in one that has a kernel and an example. Of a file: all
 * that it registers. CLI_ILLEGAL where one is wrong. */
int cli_rule_check(Cli *cli, const RuleBook *rules);

/* ---- tracing ---- */

/* The rule of dims_mappings that operand 0 names: by a name of Paddle's, with or without
 * "paddle::", or by ours where Paddle has a name for it with the same operands. */
typedef struct {
    const SpmdRule *rule;
    const char *name;   /* Paddle's, or the user's */
    const Alias *alias; /* NULL: the name is the rule's own */
} SpmdAsked;
bool cli_find_spmd(Cli *cli, const RuleBook *rules, SpmdAsked *out);

/* `rule OP --trace`: what a dims_mapping rule answers of operands that lie as --in says, and how it
 * comes to that. */
int cli_rule_trace(Cli *cli, const RuleBook *rules);

/* ---- choosing ---- */

/* `rule OP --profile NAME`: the strategies that torch or veScale have for one op, and the one they
 * take. */
int cli_rule_strategy(Cli *cli, const RuleBook *rules);

#endif
