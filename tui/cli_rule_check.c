/* cli_rule_check.c - `rule --check`: rules proven on simulated ranks. */
#include "tui/cli_rule.h"

#include "core/rules/example.h"
#include "core/run/rule_check.h"
#include "tui/table.h"

typedef struct {
    Cli *cli;
    const Registry *registry;
    Table *table;
    Json *list;
    int n_wrong, n_proven, n_unproven;
} Proofs;

static void add_proof(Proofs *proofs, const char *operator, const OpSpace * space,
                      const RuleProof *proof)
{
    Buf anno = buf_new(proofs->cli->arena);
    opspace_format(space, &anno);
    proofs->n_proven++;
    proofs->n_wrong += !proof->ok;
    Json *row = json_object();
    json_set_str(row, "operator", operator);
    json_set_str(row, "anno", anno.s);
    json_set_int(row, "cuts", proof->n_cuts);
    json_set_bool(row, "ok", proof->ok);
    json_set_str(row, "text", proof->text);
    json_add(proofs->list, row);
    table_cell(proofs->table, str_from(operator));
    table_printf(proofs->table, "%d", proof->n_cuts);
    table_cell(proofs->table, proof->ok ? STR("proven") : STR("WRONG"));
    table_cell(proofs->table, str_from(proof->ok ? anno.s : proof->text));
}

/* An operator of a file that cannot be proven: the others still are. */
static void add_unproven(Proofs *proofs, const char *operator)
{
    Cli *cli = proofs->cli;
    Json *row = json_object();
    json_set_str(row, "operator", operator);
    json_set(row, "ok", json_null());
    json_set_str(row, "text", cli->err.text);
    json_add(proofs->list, row);
    table_cell(proofs->table, str_from(operator));
    table_cell(proofs->table, STR("-"));
    table_cell(proofs->table, STR("not proven"));
    table_cell(proofs->table, str_from(arena_str(cli->arena, str_from(cli->err.text))));
    cli->err = (Error){0};
    proofs->n_unproven++;
}

/* False with the error of the command line: no shapes fit, or no kernel. */
static bool prove(Proofs *proofs, const char *operator, const Graph * graph)
{
    Cli *cli = proofs->cli;
    const DimBindings none = {0};
    const Inferred *inferred =
        graph ? infer(cli->arena, graph, proofs->registry, &none, false, &cli->err) : NULL;
    if (!inferred)
        return false;
    const OpSpace *space = inferred_space(inferred, 0);
    if (!space || space->no_rule) {
        if (inferred->findings.n > 0) {
            error_kind(&cli->err, ERROR_USAGE, "%s", inferred->findings.at[0].text);
            error_hint(&cli->err, "%s", inferred->findings.at[0].hint);
        }
        return error_kind(&cli->err, ERROR_USAGE,
                          "%s is evaluated before the run: no rule cuts it", operator);
    }
    RuleProof proof;
    if (!rule_check(cli->arena, inferred, 0, space, 1, &proof, &cli->err)) {
        if (cli->err.kind != ERROR_RUN)
            return false;
        add_unproven(proofs, operator); /* a form of it that its kernel does not run */
        return true;
    }
    add_proof(proofs, operator, space, &proof);
    return true;
}

/* Each example of the operator: a user's own, else the table's. */
static bool prove_examples(Proofs *proofs, const Operator *row)
{
    Cli *cli = proofs->cli;
    bool users = row->example || row->template || (row->anno && row->anno->file);
    const Example *example = users ? NULL : example_next(row->name, NULL);
    if (!example)
        return prove(proofs, row->name, example_of_user(cli->arena, row, &cli->err));
    for (; example; example = example_next(row->name, example))
        if (!prove(proofs, row->name, example_graph(cli->arena, row->name, example, &cli->err)))
            return false;
    return true;
}

/* All that a policy file registers, in a book of its own: a shipped file is proven as any other. */
static bool prove_file(Proofs *proofs, const char *path)
{
    Cli *cli = proofs->cli;
    RuleBook rules = rule_book_new(cli->arena);
    if (!cli->hooks->prepare(cli->hooks->context, NULL, path, &rules, &cli->err))
        return false;
    int n = registry_n_users(rules.registry);
    proofs->registry = rules.registry;
    if (n == 0)
        return error_kind(&cli->err, ERROR_USAGE, "%s registers no operator", path);
    for (int i = 0; i < n; i++) {
        const Operator *row = registry_at(rules.registry, i);
        if (prove_examples(proofs, row))
            continue;
        if (cli->err.kind == ERROR_SCRIPT)
            return false;
        add_unproven(proofs, row->name);
    }
    return true;
}

/* Built-in operators with a kernel and an example. */
static bool prove_all(Proofs *proofs)
{
    for (int i = 0; i < registry_count(proofs->registry); i++) {
        const Operator *row = registry_at(proofs->registry, i);
        bool runs = kernel_find(NULL, row->name) || row->flags & OPERATOR_VIEW;
        if (runs && example_next(row->name, NULL) && !prove_examples(proofs, row))
            return false;
    }
    return true;
}

int cli_rule_check(Cli *cli, const RuleBook *rules)
{
    static const TableColumn columns[] = {{"OPERATOR", 0}, {"CUTS", -6}, {"RULE", 0}, {"SAYS", 0}};
    const char *operand = cli->n_operands > 0 ? cli->operand[0] : NULL;
    Proofs proofs = {cli, rules->registry, table_new(cli->arena, columns, 4), json_array(), 0, 0,
                     0};
    bool done;
    if (!operand) {
        done = prove_all(&proofs);
    } else if (str_ends(str_from(operand), STR(".lua"))) {
        done = prove_file(&proofs, operand);
    } else {
        const Operator *row = cli_find_operator(cli, rules->registry);
        done = row && (cli->options.shapes
                           ? prove(&proofs, row->name, cli_graph_of_one(cli, rules->registry, row))
                           : prove_examples(&proofs, row));
    }
    if (!done) {
        json_free(proofs.list);
        return cli_fail(cli);
    }
    if (cli->options.json) {
        cli_write_json(cli, proofs.list);
    } else {
        table_format(proofs.table, "", &cli->out);
        buf_printf(&cli->out, "\n%d proven, %d wrong, %d not proven\n",
                   proofs.n_proven - proofs.n_wrong, proofs.n_wrong, proofs.n_unproven);
        json_free(proofs.list);
    }
    return proofs.n_wrong > 0 ? CLI_ILLEGAL : CLI_FINE;
}
