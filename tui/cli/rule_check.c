/* rule_check.c - `rule --check`: rules proven on simulated ranks: op spaces, and what other
 * systems' rules, or a file's, say of dims_mappings and placements. */
#include "tui/cli/rule.h"

#include "core/rules/written/written.h"
#include "core/prove/gradient_check.h"
#include "core/prove/rule_check.h"
#include "core/prove/rule_report.h"
#include "core/base/table.h"

enum { SEED = 1, LINE_COLUMNS = 78 };

/* What is proven: an op space; reports have kinds of their own. */
static const char kind_op[] = "op", kind_gradient[] = "gradient";

/* An operator whose rule is not checked. */
typedef struct {
    const char *name, *why;
} LeftOut;

typedef struct {
    Cli *cli;
    const RuleBook *rules;
    Table *table;
    Json *list;
    int n_wrong, n_proven, n_uncut, n_unproven;
    Vec(LeftOut) left_out;
} Proofs;

/* ---- rows ---- */

/* proof NULL: not proven, for the reason in the command's error. says: what was proven. */
static void add_row(Proofs *proofs, const char *op_type, const char *kind, const RuleProof *proof,
                    const char *says)
{
    Cli *cli = proofs->cli;
    const char *text = proof ? proof->text : arena_str(cli->arena, str_from(cli->err.text));
    Json *row = json_object();
    json_set_str(row, "operator", op_type);
    json_set_str(row, "kind", kind);
    json_set_str(row,
                 kind == kind_op         ? "anno"
                 : kind == kind_gradient ? "example"
                                         : "operands",
                 says);
    if (proof)
        json_set_int(row, "cuts", proof->n_cuts);
    json_set(row, "ok", proof ? json_from_bool(proof->ok) : json_null());
    json_set_str(row, "text", text);
    json_add(proofs->list, row);
    table_cell(proofs->table, str_from(op_type));
    table_cell(proofs->table, str_from(kind));
    if (proof)
        table_printf(proofs->table, "%d", proof->n_cuts);
    else
        table_cell(proofs->table, STR("-"));
    bool uncut = proof && proof->ok && proof->n_cuts == 0;
    table_cell(proofs->table, !proof      ? STR("not proven")
                              : uncut     ? STR("no cuts")
                              : proof->ok ? STR("proven")
                                          : STR("WRONG"));
    table_cell(proofs->table, str_from(proof && proof->ok ? says : text));
    proofs->n_proven += proof && proof->ok && !uncut;
    proofs->n_uncut += uncut;
    proofs->n_wrong += proof && !proof->ok;
    proofs->n_unproven += !proof;
    cli->err = (Error){0};
}

/* ---- op spaces ---- */

/* False with the error of the command line: no shapes fit, or no kernel. */
static bool prove(Proofs *proofs, const char *op_type, const Graph *graph)
{
    Cli *cli = proofs->cli;
    const Inferred *inferred =
        graph ? rule_check_infer(cli->arena, graph, proofs->rules->registry, SEED, &cli->err)
              : NULL;
    if (!inferred)
        return false;
    const OpSpace *space = inferred_space(inferred, 0);
    const Kernel *kernel = space ? kernel_find(space, op_type) : NULL;
    bool sizes_by_data = kernel && kernel->first_value == KERNEL_DECIDES;
    if (!space || (space->no_rule && !sizes_by_data)) {
        if (inferred->findings.n > 0) {
            error_kind(&cli->err, ERROR_USAGE, "%s", inferred->findings.at[0].text);
            error_hint(&cli->err, "%s", inferred->findings.at[0].hint);
        }
        return error_kind(&cli->err, ERROR_USAGE,
                          "%s is evaluated before the run, so no rule shards it", op_type);
    }
    RuleProof proof;
    Buf anno = buf_new(cli->arena);
    opspace_format(space, &anno);
    bool ran = rule_check(cli->arena, inferred, 0, space, SEED, &proof, &cli->err);
    if (!ran && cli->err.kind != ERROR_RUN) /* else a form of it that its kernel does not run */
        return false;
    add_row(proofs, op_type, kind_op, ran ? &proof : NULL, anno.s);
    return true;
}

/* ---- gradients ---- */

/* Gradients of all inputs, in f64. False without a row: there is nothing to differentiate. */
static bool prove_gradient(Proofs *proofs, const char *op_type, const Graph *graph,
                           const char *operands)
{
    Cli *cli = proofs->cli;
    GradientProof proof = {.nothing = false};
    bool ran = graph && gradient_check(cli->arena, graph, proofs->rules->registry, SEED, NULL,
                                       &proof, &cli->err);
    if (!proof.nothing)
        add_row(proofs, op_type, kind_gradient, ran ? &proof.proof : NULL, operands);
    return !proof.nothing;
}

static bool prove_gradient_of_user(Proofs *proofs, const Operator *row)
{
    Graph *graph = example_of_user(proofs->cli->arena, row, &proofs->cli->err);
    for (int i = 0; graph && i < graph->n_inputs; i++)
        if (graph->tensors[graph->inputs[i]].dtype == DT_F32)
            graph->tensors[graph->inputs[i]].dtype = DT_F64;
    return prove_gradient(proofs, row->name, graph, row->examples ? row->examples : "");
}

/* False with the error of the command line: no example has anything to differentiate. */
static bool prove_gradients(Proofs *proofs, const Operator *row)
{
    Cli *cli = proofs->cli;
    bool any = false;
    if (!row->rule)
        return prove_gradient_of_user(proofs, row);
    for (const char *e = example_next(row->name, NULL); e; e = example_next(row->name, e)) {
        Example example = example_read(cli->arena, e);
        cli->err = (Error){0};
        example.operands = example_operands(cli->arena, example.operands, "f64");
        any |= prove_gradient(proofs, row->name,
                              example_op(cli->arena, row->name, &example, &cli->err),
                              example.operands);
    }
    if (any)
        cli->err = (Error){0};
    return any || error_kind(&cli->err, ERROR_UNSUPPORTED,
                             "no example of %s has an f64 input to differentiate", row->name);
}

/* Each example of the operator: a user's own, else the table's. */
static bool prove_examples(Proofs *proofs, const Operator *row)
{
    Cli *cli = proofs->cli;
    const char *example = row->rule ? example_next(row->name, NULL) : NULL;
    if (!example)
        return prove(proofs, row->name, example_of_user(cli->arena, row, &cli->err));
    for (; example; example = example_next(row->name, example))
        if (!prove(proofs, row->name, example_graph(cli->arena, row->name, example, &cli->err)))
            return false;
    return true;
}

/* ---- other systems' rules ---- */

/* Calls of a name: of a user's operator, of the system's, of ours. */
static bool find_calls(Proofs *proofs, SystemId system, const char *name, SystemCalls *out)
{
    Cli *cli = proofs->cli;
    const Registry *registry = proofs->rules->registry;
    SystemId prefix;
    Str rest = str_from(name);
    for (int i = 0; i < registry_n_users(registry); i++)
        if (strcmp(registry_at(registry, i)->name, name) == 0)
            return system_calls_own(cli->arena, registry_at(registry, i), out, &cli->err);
    if (!alias_split(str_from(name), &prefix, &rest) || prefix != system)
        rest = str_from(name);
    if (!system_calls(cli->arena, registry, system, rest, out, &cli->err) || out->n > 0)
        return out->n > 0;
    const Operator *row = registry_find(registry, str_from(name));
    if (!row)
        return error_kind(&cli->err, ERROR_UNSUPPORTED, "no example call of %s is known", name);
    return system_calls_own(cli->arena, row, out, &cli->err);
}

static void prove_call(Proofs *proofs, const RuleReport *report, const NamedRules *rules,
                       const SystemCall *call)
{
    RuleProof proof;
    RuleQuery query = cli_rule_query(proofs->cli, proofs->rules);
    bool ran = report->prove(&query, rules, call, &proof);
    add_row(proofs, call->name, report->kind, ran ? &proof : NULL, call->operands);
}

/* Each name of the rules. Without a call of it that is all there is to say. */
static void prove_named(Proofs *proofs, const RuleReport *report, const NamedRules *rules)
{
    for (Str rest = str_from(rules->names); rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        SystemCalls calls = {0};
        if (word.n == 0)
            continue;
        const char *name = arena_str(proofs->cli->arena, word);
        if (!find_calls(proofs, report->system, name, &calls)) {
            add_row(proofs, name, report->kind, NULL, "");
            continue;
        }
        for (int i = 0; i < calls.n; i++)
            prove_call(proofs, report, rules, &calls.at[i]);
    }
}

static bool prove_report(Proofs *proofs, const RuleReport *report)
{
    RuleQuery query = cli_rule_query(proofs->cli, proofs->rules);
    NamedRules rules;
    if (query.name) {
        if (!report->find(&query, &rules))
            return false;
        prove_named(proofs, report, &rules);
        return true;
    }
    for (int i = 0; report->built_in(&query, i, &rules); i++)
        prove_named(proofs, report, &rules);
    return !error_is_set(query.err);
}

/* ---- the rules to check ---- */

/* All that a policy file registers, in a book of its own: a shipped file is proven as any other. */
static bool prove_file(Proofs *proofs, const char *path)
{
    Cli *cli = proofs->cli;
    RuleBook *rules = arena_make(cli->arena, RuleBook);
    *rules = rule_book_new(cli->arena);
    rules->allow_native = cli->options.allow_native;
    proofs->rules = rules;
    if (!cli->hooks->prepare(cli->hooks->context, NULL, path, rules, &cli->err))
        return false;
    for (int i = 0; i < registry_n_users(rules->registry); i++) {
        const Operator *row = registry_at(rules->registry, i);
        bool proven =
            cli->options.gradient ? prove_gradients(proofs, row) : prove_examples(proofs, row);
        if (proven)
            continue;
        if (cli->err.kind == ERROR_SCRIPT)
            return false;
        add_row(proofs, row->name, kind_op, NULL, "");
    }
    const RuleReport *report;
    RuleQuery query = cli_rule_query(cli, rules);
    NamedRules registered;
    for (int r = 0; (report = rule_report_at(r)); r++)
        for (int i = 0; report->registered(&query, i, &registered); i++)
            prove_named(proofs, report, &registered);
    return json_size(proofs->list) > 0 ||
           error_kind(&cli->err, ERROR_USAGE, "%s registers no operators and no rules", path);
}

/* Why an operator is not proven, or NULL if it can be. */
static const char *why_left_out(const Operator *row)
{
    const Kernel *kernel = kernel_find(NULL, row->name);
    if (!kernel)
        return written_text(row->name) ? "written out as others" : "no kernel";
    if (example_next(row->name, NULL) && rule_check_runs_alone(row->name))
        return NULL;
    return kernel->first_value == KERNEL_LISTS || !rule_check_runs_alone(row->name)
               ? "only run inside a model"
               : "evaluated before the run";
}

/* Proves the operator's gradient, or says why that cannot be done. */
static const char *why_no_gradient(Proofs *proofs, const Operator *row)
{
    if (row->rule && !row->gradient)
        return "no derivative";
    if (!gradient_check_runs_alone(row->name))
        return "differentiated together with others";
    if (prove_gradients(proofs, row))
        return NULL;
    proofs->cli->err = (Error){0};
    return "no f64 input to differentiate";
}

/* Every built-in operator; those that are left out are listed with the reason. */
static void prove_all(Proofs *proofs)
{
    const Registry *registry = proofs->rules->registry;
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        const char *why = why_left_out(row);
        if (proofs->cli->options.gradient && !why)
            why = why_no_gradient(proofs, row);
        if (!why && proofs->cli->options.gradient)
            continue;
        if (why)
            vec_push(proofs->cli->arena, &proofs->left_out, ((LeftOut){row->name, why}));
        else if (!prove_examples(proofs, row))
            add_row(proofs, row->name, kind_op, NULL, "");
    }
}

/* A line of names for each reason. */
static void list_left_out(Proofs *proofs)
{
    Buf *out = &proofs->cli->out;
    const LeftOut *left = proofs->left_out.at;
    for (int i = 0; i < proofs->left_out.n; i++) {
        int n = 0;
        size_t column = 0;
        for (int k = 0; k < proofs->left_out.n; k++)
            n += left[k].why == left[i].why ? k < i ? -proofs->left_out.n : 1 : 0;
        if (n <= 0) /* this reason was listed before */
            continue;
        buf_printf(out, "\n%d operators are left out, %s:", n, left[i].why);
        for (int k = i; k < proofs->left_out.n; k++) {
            if (left[k].why != left[i].why)
                continue;
            size_t width = strlen(left[k].name) + 1;
            bool wraps = column == 0 || column + width > LINE_COLUMNS;
            buf_printf(out, "%s%s", wraps ? "\n  " : " ", left[k].name);
            column = wraps ? width + 2 : column + width;
        }
        buf_putc(out, '\n');
    }
}

static void left_out_json(Proofs *proofs)
{
    for (int i = 0; i < proofs->left_out.n; i++) {
        Json *row = json_object();
        json_set_str(row, "operator", proofs->left_out.at[i].name);
        json_set_str(row, "kind", kind_op);
        json_set(row, "ok", json_null());
        json_set_str(row, "text", proofs->left_out.at[i].why);
        json_add(proofs->list, row);
    }
}

static bool prove_gradient_asked(Proofs *proofs, RuleQuery *query, const Operator *row)
{
    Cli *cli = proofs->cli;
    if (row->rule && !row->gradient)
        return error_kind(&cli->err, ERROR_UNSUPPORTED, "no derivative of %s is known", row->name);
    if (!query->shapes)
        return prove_gradients(proofs, row);
    query->shapes = example_operands(cli->arena, query->shapes, "f64");
    const Graph *graph = query_graph(query, row);
    return graph && prove_gradient(proofs, row->name, graph, query->shapes);
}

static bool prove_asked(Proofs *proofs)
{
    Cli *cli = proofs->cli;
    const char *operand = cli->n_operands > 0 ? cli->operand[0] : NULL;
    if (operand && file_is_script(str_from(operand)))
        return prove_file(proofs, operand);
    if (cli->options.shapes && (cli->options.trace || cli->options.profile))
        return error_kind(
            &cli->err, ERROR_USAGE,
            "--check of rules and strategies uses its own example calls: leave out --shapes");
    if (cli->options.trace || cli->options.profile) {
        const RuleReport *report =
            rule_report_find(cli->options.trace ? "trace" : "profile", &cli->err);
        return report && prove_report(proofs, report);
    }
    if (!operand) {
        prove_all(proofs);
        return true;
    }
    RuleQuery query = cli_rule_query(cli, proofs->rules);
    const Operator *row = query_operator(&query);
    if (row && cli->options.gradient)
        return prove_gradient_asked(proofs, &query, row);
    if (row && cli->options.shapes)
        return prove(proofs, row->name, query_graph(&query, row));
    return row && prove_examples(proofs, row);
}

int cli_rule_check(Cli *cli, const RuleBook *rules)
{
    static const TableColumn columns[] = {
        {"OPERATOR", 0}, {"KIND", 0}, {"CUTS", -6}, {"RULE", 0}, {"SAYS", 0}};
    Proofs proofs = {.cli = cli,
                     .rules = rules,
                     .table = table_new(cli->arena, columns, 5),
                     .list = json_array()};
    if (!prove_asked(&proofs)) {
        json_free(proofs.list);
        return cli_fail(cli);
    }
    if (cli->options.json) {
        left_out_json(&proofs);
        cli_write_json(cli, proofs.list);
    } else {
        table_format(proofs.table, "", &cli->out);
        list_left_out(&proofs);
        buf_printf(&cli->out, "\n%d proven, %d wrong, %d not proven", proofs.n_proven,
                   proofs.n_wrong, proofs.n_unproven);
        if (proofs.n_uncut > 0)
            buf_printf(&cli->out, ", %d that cannot be sharded at all", proofs.n_uncut);
        buf_putc(&cli->out, '\n');
        json_free(proofs.list);
    }
    return proofs.n_wrong + proofs.n_unproven > 0 ? CLI_ILLEGAL : CLI_FINE;
}
