/* rule.h - shared by the files of `dimscope rule`: rule.c reads, rule_check.c checks rules,
 * rule_show.c, rule_gradient.c and rule_list.c show op spaces and operators. */
#ifndef TUI_CLI_RULE_H
#define TUI_CLI_RULE_H

#include "core/rules/example.h"
#include "core/rules/rule_query.h"
#include "tui/cli/cli.h"

/* The operator, shapes and attributes from operand 0 and the options. */
RuleQuery cli_rule_query(Cli *cli, const RuleBook *rules);

/* ---- showing ---- */

/* The first example of the operator that has an op space; without one, a guess. example NULL: made
 * from its annotation; space NULL: it depends on shapes. */
typedef struct {
    const char *example; /* as in example.h */
    const OpSpace *space;
} RuleSample;
RuleSample cli_rule_sample(Cli *cli, const Registry *registry, const Operator *row);

/* space NULL: shows that of a sample. */
void cli_rule_show(Cli *cli, const Registry *registry, const Operator *row, const OpSpace *space);
/* Only the op space: index dims, operands, notations. */
void cli_rule_show_space(Cli *cli, const OpSpace *space);
void cli_rule_space_json(Cli *cli, const OpSpace *space, Json *out);
/* The spaces of the gradient ops, for --shapes or an example. */
int cli_rule_gradient(Cli *cli, RuleQuery *query, const Operator *row);
void cli_rule_list(Cli *cli, const Registry *registry);

bool cli_rule_has_kernel(const OpSpace *space, const Operator *row);
void cli_rule_format_arity(const Operator *row, Buf *out); /* "2", "1 to 3" */
Json *cli_rule_row_json(Arena *arena, const Operator *row, const OpSpace *space);

/* ---- proving ---- */

/* `rule --check [OP|FILE.lua]`: checks op spaces, with --trace rules of dims_mappings, with
 * --profile strategies; without operand every built-in one that has a kernel, and lists the others.
 * For a file: everything that it registers. CLI_ILLEGAL if one is wrong, or could not be checked.
 */
int cli_rule_check(Cli *cli, const RuleBook *rules);

#endif
