#include "tui/cli/rule.h"

#include "core/rules/one_op.h"

/* ---- the op asked about, as a graph of one op ---- */

enum { OUTPUTS_TRIED = 32 };

/* "axis=1" under the name that the other system has for it. */
static const char *rename_attr(Cli *cli, const Alias *alias, const char *given)
{
    Str rest = str_from(given), name = str_take(&rest, '=');
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (str_eq(name, str_from(alias->attr[i].ours)))
            return arena_printf(cli->arena, "%s%s", alias->attr[i].theirs, given + name.n);
    return given;
}

static bool add_attrs(Cli *cli, OneOpBuilder *builder, const Alias *alias)
{
    for (int i = 0; i < cli->options.attrs.n; i++)
        if (!one_op_attr_text(builder, rename_attr(cli, alias, cli->options.attrs.at[i]),
                              &cli->err))
            return false;
    return true;
}

const Graph *cli_attrs_of_one(Cli *cli, const char *name, const Alias *alias)
{
    OneOpBuilder *builder = one_op_new(cli->arena, &(OneOp){.op_type = str_from(name)});
    return add_attrs(cli, builder, alias) ? one_op_graph(builder, &cli->err) : NULL;
}

static Graph *graph_of(Cli *cli, int n_outputs)
{
    OneOp op = {.op_type = str_from(cli->operand[0]), .n_outputs = n_outputs};
    if (!one_op_operands(cli->arena, str_from(cli->options.shapes), &op, &cli->err))
        return NULL;
    OneOpBuilder *builder = one_op_new(cli->arena, &op);
    return add_attrs(cli, builder, NULL) ? one_op_graph(builder, &cli->err) : NULL;
}

static bool is_refused(Cli *cli, const Registry *registry, const Graph *graph)
{
    const DimBindings none = {0};
    const Inferred *inferred = infer(cli->arena, graph, registry, &none, false, NULL);
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    return space && space->no_rule;
}

/* An operator of several outputs that refuses few, as a split does, is offered more. */
Graph *cli_graph_of_one(Cli *cli, const Registry *registry, const Operator *rule)
{
    int n = rule->data ? rule->data->n_outputs : 1, most = OUTPUTS_TRIED;
    if (rule->rule && rule->outputs_max < most)
        most = rule->outputs_max;
    Graph *first = graph_of(cli, n), *graph = first;
    while (graph && n < most && is_refused(cli, registry, graph))
        graph = graph_of(cli, ++n);
    return !graph || is_refused(cli, registry, graph) ? first : graph;
}

int cli_rule_fail(Cli *cli)
{
    if (cli_exit_code(cli->err.kind) == CLI_UNREADABLE)
        cli->err.kind = ERROR_USAGE;
    return cli_fail(cli);
}

/* ---- operators by name ---- */

const char *cli_lower_case(Arena *arena, Str name)
{
    char *out = arena_array(arena, char, name.n + 1);
    for (size_t i = 0; i < name.n; i++)
        out[i] = (char)(name.s[i] >= 'A' && name.s[i] <= 'Z' ? name.s[i] + ('a' - 'A') : name.s[i]);
    return out;
}

/* The nearest name to a wrong one, of any system's; whether letters are capital does not count. */
typedef struct {
    Arena *arena;
    Str given;
    const char *system, *name; /* system NULL: one of ours */
    int distance;
} Nearest;

static void offer(Nearest *nearest, const char *system, const char *name)
{
    const char *plain = cli_lower_case(nearest->arena, str_from(name));
    int distance = str_distance(nearest->given, str_from(plain));
    if (distance >= nearest->distance)
        return;
    nearest->system = system;
    nearest->name = name;
    nearest->distance = distance;
}

static Nearest nearest_name(Arena *arena, const Registry *registry, Str given)
{
    SystemId system = SYSTEM_COUNT;
    Str rest = given;
    bool of_system = alias_split(given, &system, &rest);
    Nearest nearest = {.arena = arena, .distance = rest.n > 9 ? 4 : 1 + (int)rest.n / 3};
    nearest.given = str_from(cli_lower_case(arena, rest));
    Aliases aliases = alias_names(arena, NULL);
    for (int i = 0; !of_system && i < registry_count(registry); i++)
        offer(&nearest, NULL, registry_at(registry, i)->name);
    for (int i = 0; i < aliases.n; i++)
        if (!of_system || aliases.at[i].system == system)
            offer(&nearest, system_name(aliases.at[i].system), aliases.at[i].name);
    return nearest;
}

const Operator *cli_find_operator(Cli *cli, const Registry *registry)
{
    Str name = str_from(cli->operand[0]);
    const Operator *found = registry_find(registry, name);
    if (found)
        return found;
    error_kind(&cli->err, ERROR_UNKNOWN_OP, "there is no operator '%.*s'", STR_ARG(name));
    Nearest nearest = nearest_name(cli->arena, registry, name);
    if (nearest.name)
        error_hint(&cli->err, "did you mean %s%s%s", nearest.system ? nearest.system : "",
                   nearest.system ? "::" : "", nearest.name);
    else
        error_hint(&cli->err, "dimscope rule --list has them all");
    return NULL;
}

/* The first finding that is more than a note. */
static const Finding *first_fault(const Inferred *inferred)
{
    for (int i = 0; i < inferred->findings.n; i++)
        if (inferred->findings.at[i].level != LEVEL_NOTE)
            return &inferred->findings.at[i];
    return NULL;
}

static int answer_shapes(Cli *cli, const Registry *registry, const Operator *rule)
{
    DimBindings dims = {0};
    const Graph *graph = cli_read_dims(cli, &dims) ? cli_graph_of_one(cli, registry, rule) : NULL;
    const Inferred *inferred =
        graph ? infer(cli->arena, graph, registry, &dims, false, &cli->err) : NULL;
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    const Finding *fault = inferred ? first_fault(inferred) : NULL;
    if (space && !space->no_rule && !fault) {
        cli_rule_show(cli, registry, rule, space);
        return CLI_FINE;
    }
    if (fault) {
        error_set(&cli->err, "%s", fault->text);
        error_hint(&cli->err, "%s", fault->hint);
    }
    error_set(&cli->err, "%s is evaluated before the run and has no index space", rule->name);
    cli->err.kind = ERROR_USAGE;
    return cli_fail(cli);
}

int cli_rule(Cli *cli)
{
    RuleBook rules = rule_book_new(cli->arena);
    rules.allow_native = cli->options.allow_native;
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
    if (cli->options.trace)
        return cli_rule_trace(cli, &rules);
    if (cli->options.profile)
        return cli_rule_strategy(cli, &rules);
    const Operator *rule = cli_find_operator(cli, registry);
    if (!rule)
        return cli_fail(cli);
    if (cli->options.shapes)
        return answer_shapes(cli, registry, rule);
    cli_rule_show(cli, registry, rule, NULL);
    return CLI_FINE;
}
