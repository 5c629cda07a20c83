#include "tui/cli_rule.h"

#include "core/rules/one_op.h"
#include "tui/table.h"

#include <inttypes.h>

/* ---- the op asked about, as a graph of one op ---- */

/* Takes the part of text before the separator. */
static Str take_part(Str *text, char separator)
{
    const char *at = text->n ? memchr(text->s, separator, text->n) : NULL;
    Str part = {text->s, at ? (size_t)(at - text->s) : text->n};
    size_t taken = part.n + (at ? 1 : 0);
    *text = (Str){text->s + taken, text->n - taken};
    return part;
}

/* How many outputs the attributes ask for: those of Split. */
static int n_outputs_of(Cli *cli, const Operator *rule)
{
    for (int i = 0; i < cli->options.attrs.n && rule->outputs_max > 1; i++) {
        Str value = str_from(cli->options.attrs.at[i]), name = take_part(&value, '=');
        int64_t n = 0;
        if (str_eq(name, STR("num_outputs")) && str_to_int(value, &n) && n > 0 &&
            n <= rule->outputs_max)
            return (int)n;
        if (!str_eq(name, STR("split")))
            continue;
        for (n = 1; value.n > 0; n++)
            take_part(&value, ',');
        return n > 1 && n - 1 <= rule->outputs_max ? (int)(n - 1) : 1;
    }
    return 1;
}

Graph *cli_graph_of_one(Cli *cli, const Operator *rule)
{
    OneOp op = {.operator= str_from(rule->name), .n_outputs = n_outputs_of(cli, rule)};
    if (!one_op_operands(cli->arena, str_from(cli->options.shapes), &op, &cli->err))
        return NULL;
    OneOpBuilder *builder = one_op_new(cli->arena, &op);
    for (int i = 0; i < cli->options.attrs.n; i++)
        if (!one_op_attr_text(builder, cli->options.attrs.at[i], &cli->err))
            return NULL;
    return one_op_graph(builder, &cli->err);
}

/* ---- answers ---- */

static const char *role_name(const IndexDim *index)
{
    return index->role == ROLE_MAP ? "map" : index->role == ROLE_FROZEN ? "frozen" : "reduce";
}

static Json *index_json(const OpSpace *space)
{
    Json *out = json_array();
    for (int i = 0; i < space->n_index; i++) {
        const IndexDim *index = &space->index[i];
        Json *row = json_object();
        json_set_str(row, "name", index->name);
        json_set_int(row, "size", index->size);
        json_set_str(row, "role", role_name(index));
        json_set(row, "reduce",
                 index->role == ROLE_REDUCE ? json_from_str(str_from(reduce_name(index->reduce)))
                                            : json_null());
        json_add(out, row);
    }
    return out;
}

static Json *shapes_json(const OpSpace *space, int first, int n)
{
    Json *out = json_array();
    for (int i = first; i < first + n; i++) {
        const Operand *operand = &space->operand[i];
        json_add(out, operand->absent ? json_null()
                                      : json_ints(operand->shape.dim, (int)operand->shape.n_dims));
    }
    return out;
}

static void answer_space(Cli *cli, const Operator *rule, const OpSpace *space)
{
    Buf anno = buf_new(cli->arena);
    opspace_format(space, &anno);
    if (cli->options.json) {
        Json *out = json_object();
        json_set_str(out, "operator", rule->name);
        json_set_str(out, "family", rule->family);
        json_set_str(out, "anno", anno.s);
        json_set(out, "index", index_json(space));
        json_set(out, "inputs", shapes_json(space, 0, space->n_inputs));
        json_set(out, "outputs", shapes_json(space, space->n_inputs, space->n_outputs));
        json_set_real(out, "flops", space->flops);
        cli_write_json(cli, out);
        return;
    }
    buf_printf(&cli->out, "%s  (%s)\n  %s\n", rule->name, rule->family, anno.s);
    if (space->n_index == 0)
        return;
    buf_putc(&cli->out, '\n');
    static const TableColumn columns[] = {{"INDEX DIM", 0}, {"SIZE", -20}, {"ROLE", 0}};
    Table *table = table_new(cli->arena, columns, 3);
    for (int i = 0; i < space->n_index; i++) {
        const IndexDim *index = &space->index[i];
        table_cell(table, str_from(index->name));
        table_printf(table, "%" PRId64, index->size);
        table_printf(table, "%s%s%s", role_name(index), index->role == ROLE_REDUCE ? ":" : "",
                     index->role == ROLE_REDUCE ? reduce_name(index->reduce) : "");
    }
    table_format(table, "  ", &cli->out);
}

/* What the table says of an operator without looking at shapes. */
static Json *row_json(const Operator *rule)
{
    Json *out = json_object(), *annos = json_array();
    json_set_str(out, "operator", rule->name);
    json_set_str(out, "family", rule->family);
    json_set_int(out, "inputs_min", rule->inputs_min);
    json_set(out, "inputs_max",
             rule->inputs_max == OPERATOR_ANY ? json_null() : json_from_int(rule->inputs_max));
    for (int i = 0; rule->anno && rule->anno->annos && rule->anno->annos[i]; i++)
        json_add(annos, json_from_str(str_from(rule->anno->annos[i])));
    json_set(out, "annos", annos);
    return out;
}

static void add_row(const Operator *rule, Table *table)
{
    table_cell(table, str_from(rule->name));
    table_cell(table, str_from(rule->family));
    if (rule->inputs_max == OPERATOR_ANY)
        table_printf(table, "%d or more", rule->inputs_min);
    else if (rule->inputs_min == rule->inputs_max)
        table_printf(table, "%d", rule->inputs_min);
    else
        table_printf(table, "%d to %d", rule->inputs_min, rule->inputs_max);
}

/* One operator, or (NULL) all of them. */
static void answer_rows(Cli *cli, const Registry *registry, const Operator *one)
{
    static const TableColumn columns[] = {{"OPERATOR", 0}, {"FAMILY", 0}, {"INPUTS", 0}};
    Table *table = table_new(cli->arena, columns, 3);
    Json *list = json_array();
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        if (one && row != one)
            continue;
        add_row(row, table);
        json_add(list, row_json(row));
    }
    if (cli->options.json) {
        cli_write_json(cli, one ? json_copy(json_at(list, 0)) : json_copy(list));
    } else {
        table_format(table, "", &cli->out);
        if (one)
            buf_puts(&cli->out, "give --shapes to see its index space\n");
    }
    json_free(list);
}

const Operator *cli_find_operator(Cli *cli, const Registry *registry)
{
    const char *name = cli->operand[0];
    const Operator *found = registry_find(registry, str_from(name));
    if (found)
        return found;
    error_kind(&cli->err, ERROR_UNKNOWN_OP, "there is no operator '%s'", name);
    const char *nearest = NULL;
    int least = 4;
    for (int i = 0; i < registry_count(registry); i++) {
        int distance = str_distance(str_from(name), str_from(registry_at(registry, i)->name));
        if (distance < least) {
            least = distance;
            nearest = registry_at(registry, i)->name;
        }
    }
    error_hint(&cli->err, "%s%s", nearest ? "did you mean " : "dimscope rule --list has them all",
               nearest ? nearest : "");
    return NULL;
}

static int answer_shapes(Cli *cli, const Registry *registry, const Operator *rule)
{
    const Graph *graph = cli_graph_of_one(cli, rule);
    const DimBindings none = {0};
    const Inferred *inferred =
        graph ? infer(cli->arena, graph, registry, &none, false, &cli->err) : NULL;
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    if (space && !space->no_rule) {
        answer_space(cli, rule, space);
        return CLI_FINE;
    }
    if (inferred && inferred->findings.n > 0) {
        error_set(&cli->err, "%s", inferred->findings.at[0].text);
        error_hint(&cli->err, "%s", inferred->findings.at[0].hint);
    }
    error_set(&cli->err, "%s is evaluated before the run and has no index space", rule->name);
    cli->err.kind = ERROR_USAGE;
    return cli_fail(cli);
}

int cli_rule(Cli *cli)
{
    RuleBook rules = rule_book_new(cli->arena);
    Registry *registry = rules.registry;
    if (cli->options.check)
        return cli_rule_check(cli, &rules);
    if (cli->options.list == (cli->n_operands == 1)) {
        error_kind(&cli->err, ERROR_USAGE, "rule needs the name of an operator, or --list");
        return cli_fail(cli);
    }
    if (cli->options.list) {
        answer_rows(cli, registry, NULL);
        return CLI_FINE;
    }
    const Operator *rule = cli_find_operator(cli, registry);
    if (!rule)
        return cli_fail(cli);
    if (cli->options.shapes)
        return answer_shapes(cli, registry, rule);
    answer_rows(cli, registry, rule);
    return CLI_FINE;
}
