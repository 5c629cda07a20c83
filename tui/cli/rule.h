/* rule.h - what the forms of `dimscope rule` share: rule.c reads, rule_check.c proves,
 * rule_show.c, rule_gradient.c and rule_list.c show op spaces and operators. */
#ifndef TUI_CLI_RULE_H
#define TUI_CLI_RULE_H

#include "core/rules/example.h"
#include "core/rules/rule_query.h"
#include "tui/cli/cli.h"

/* The operator, shapes and attributes that operand 0 and the options name. */
RuleQuery cli_rule_query(Cli *cli, const RuleBook *rules);

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
/* The op space alone: index dims, operands, notations. */
void cli_rule_show_space(Cli *cli, const OpSpace *space);
void cli_rule_space_json(Cli *cli, const OpSpace *space, Json *out);
/* The spaces of the gradient ops, for --shapes or an example. */
int cli_rule_gradient(Cli *cli, RuleQuery *query, const Operator *row);
void cli_rule_list(Cli *cli, const Registry *registry);

bool cli_rule_has_kernel(const OpSpace *space, const Operator *row);
void cli_rule_format_arity(const Operator *row, Buf *out); /* "2", "1 to 3" */
Json *cli_rule_row_json(Arena *arena, const Operator *row, const OpSpace *space);

/* ---- proving ---- */

/* `rule --check [OP|FILE.lua]`: op spaces, with --trace rules of dims_mappings, with --profile
 * strategies; without operand: every built-in one that has a kernel, and a list of the others. Of a
 * file: all that it registers. CLI_ILLEGAL if one is wrong, or not proven. */
int cli_rule_check(Cli *cli, const RuleBook *rules);

#endif
