#include "tui/cli/rule.h"

#include "core/prove/rule_report.h"

RuleQuery cli_rule_query(Cli *cli, const RuleBook *rules)
{
    const CliOptions *o = &cli->options;
    return (RuleQuery){.arena = cli->arena,
                       .rules = rules,
                       .name = cli->n_operands > 0 ? cli->operand[0] : NULL,
                       .shapes = o->shapes,
                       .in = o->in,
                       .mesh = o->mesh,
                       .profile = o->profile,
                       .n_attrs = o->attrs.n,
                       .attrs = o->attrs.at,
                       .backward = o->backward,
                       .exact = o->exact,
                       .no_redistribute = o->no_redistribute,
                       .json = o->json,
                       .out = &cli->out,
                       .err = &cli->err};
}

/* Puts what the policy and its rules print before the answer. */
static void put_printed(Cli *cli, const RuleQuery *query)
{
    Buf answer = cli->out;
    Str printed = buf_str(query->rules->printed);
    if (printed.n == 0)
        return;
    if (query->json_root) {
        json_set(query->json_root, "printed", json_from_str(printed));
        return;
    }
    cli->out = buf_new(cli->arena);
    buf_add(&cli->out, printed);
    if (answer.n > 0)
        buf_putc(&cli->out, '\n');
    buf_add(&cli->out, buf_str(&answer));
}

/* cli_fail() of what was asked on the command line alone: 1 where a rule refuses how the operands
 * lie, 2 where it was asked wrongly. */
static int cli_rule_fail(Cli *cli)
{
    if (cli_exit_code(cli->err.kind) == CLI_UNREADABLE)
        cli->err.kind = ERROR_USAGE;
    return cli_fail(cli);
}

/* The first finding that is more than a note. */
static const Finding *first_fault(const Inferred *inferred)
{
    for (int i = 0; i < inferred->findings.n; i++)
        if (inferred->findings.at[i].level != LEVEL_NOTE)
            return &inferred->findings.at[i];
    return NULL;
}

static int answer_shapes(Cli *cli, RuleQuery *query, const Operator *rule)
{
    const Registry *registry = query->rules->registry;
    DimBindings dims = {0};
    const Graph *graph = cli_read_dims(cli, &dims) ? query_graph(query, rule) : NULL;
    const Inferred *inferred =
        graph ? infer(cli->arena, graph, registry, &dims, false, &cli->err) : NULL;
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    const Finding *fault = inferred ? first_fault(inferred) : NULL;
    if (space && !space->no_rule && !fault) {
        cli_rule_show(cli, registry, rule, space);
        put_printed(cli, query);
        return CLI_FINE;
    }
    if (fault) {
        error_set(&cli->err, "%s", fault->text);
        error_hint(&cli->err, "%s", fault->hint);
    }
    error_set(&cli->err, "%s is evaluated before the run, so it has no index space", rule->name);
    cli->err.kind = ERROR_USAGE;
    return cli_fail(cli);
}

/* What another system has for the operator. */
static int show_report(Cli *cli, RuleQuery *query)
{
    const RuleReport *report =
        rule_report_find(cli->options.trace ? "trace" : "profile", &cli->err);
    bool shown = report && report->show(query);
    put_printed(cli, query);
    if (!shown && cli->out.n > 0)
        cli_write(cli);
    if (!shown)
        return cli_rule_fail(cli);
    if (query->json_root)
        cli_write_json(cli, query->json_root);
    return CLI_FINE;
}

int cli_rule(Cli *cli)
{
    RuleBook rules = rule_book_new(cli->arena);
    Buf printed = buf_new(cli->arena);
    rules.allow_native = cli->options.allow_native;
    rules.printed = cli->options.check ? NULL : &printed;
    Registry *registry = rules.registry;
    const char *policy = cli->options.policy;
    void *context = cli->hooks->context;
    if (!cli->hooks->prepare(context, NULL, NULL, &rules, &cli->err) ||
        (policy && !cli->hooks->prepare(context, NULL, policy, &rules, &cli->err)))
        return cli_fail(cli);
    if (cli->options.check)
        return cli_rule_check(cli, &rules);
    if (cli->options.list == (cli->n_operands == 1)) {
        error_kind(&cli->err, ERROR_USAGE, "rule needs the name of an operator, or --list");
        return cli_fail(cli);
    }
    if (cli->options.list) {
        cli_rule_list(cli, registry);
        return CLI_FINE;
    }
    RuleQuery query = cli_rule_query(cli, &rules);
    if (cli->options.trace || cli->options.profile)
        return show_report(cli, &query);
    const Operator *rule = query_operator(&query);
    if (!rule)
        return cli_fail(cli);
    if (cli->options.gradient)
        return cli_rule_gradient(cli, &query, rule);
    if (cli->options.shapes)
        return answer_shapes(cli, &query, rule);
    cli_rule_show(cli, registry, rule, NULL);
    return CLI_FINE;
}
