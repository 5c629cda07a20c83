#include "tui/cli/rule.h"

#include "core/rules/notation.h"
#include "core/base/table.h"

/* ---- which notations say an operator ---- */

/* A letter a notation that says all of the sample, '.' for the others. */
static void put_letters(Cli *cli, const OpSpace *space, Buf *out)
{
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++) {
        Buf text = buf_new(cli->arena), lost = buf_new(cli->arena);
        buf_putc(out, notation->print(space, &text, &lost) ? notation->letter : '.');
    }
}

static Json *said_json(Cli *cli, const OpSpace *space)
{
    Json *out = json_object();
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++) {
        Buf text = buf_new(cli->arena), lost = buf_new(cli->arena);
        bool all = notation->print(space, &text, &lost);
        json_set_str(out, notation->name, all ? "all" : text.n > 0 ? "part" : "none");
    }
    return out;
}

/* ---- the list ---- */

static const TableColumn columns[] = {{"OPERATOR", 0}, {"FAMILY", 0},  {"INPUTS", 0},
                                      {"KERNEL", 0},   {"SAID", 0},    {"NNSCALER", 24},
                                      {"TORCH", 36},   {"PADDLE", 24}, {"STABLEHLO", 24}};

static void add_names(Cli *cli, const char *op_type, Table *table)
{
    Aliases aliases = alias_names(cli->arena, op_type);
    for (int s = 0; s < SYSTEM_COUNT; s++) {
        Buf names = buf_new(cli->arena);
        for (int i = 0; i < aliases.n; i++)
            if (aliases.at[i].system == (SystemId)s)
                buf_printf(&names, "%s%s", names.n > 0 ? " " : "", aliases.at[i].name);
        table_cell(table, buf_str(&names));
    }
}

static void add_row(Cli *cli, const Operator *row, const OpSpace *space, Table *table)
{
    Buf arity = buf_new(cli->arena), letters = buf_new(cli->arena);
    cli_rule_format_arity(row, &arity);
    if (space)
        put_letters(cli, space, &letters);
    table_cell(table, str_from(row->name));
    table_cell(table, str_from(row->family));
    table_cell(table, buf_str(&arity));
    table_cell(table, cli_rule_has_kernel(space, row) ? STR("yes") : STR("-"));
    table_cell(table, space ? buf_str(&letters) : STR("by shapes"));
    add_names(cli, row->name, table);
}

void cli_rule_list(Cli *cli, const Registry *registry)
{
    Table *table = table_new(cli->arena, columns, sizeof columns / sizeof *columns);
    Json *list = json_array();
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        const OpSpace *space = cli_rule_sample(cli, registry, row).space;
        if (!cli->options.json) {
            add_row(cli, row, space, table);
            continue;
        }
        Json *one = cli_rule_row_json(cli->arena, row, space);
        json_set(one, "notations", space ? said_json(cli, space) : json_null());
        json_add(list, one);
    }
    if (cli->options.json) {
        cli_write_json(cli, list);
        return;
    }
    json_free(list);
    table_format(table, "", &cli->out);
    buf_puts(&cli->out, "\nSAID, for a small example:");
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++)
        buf_printf(&cli->out, " %c %s,", notation->letter, notation->name);
    buf_puts(&cli->out, " . only part of it\n");
}
