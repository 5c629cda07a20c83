#include "tui/cli/rule.h"

#include "core/rules/user_op.h"
#include "core/rules/anno_lint.h"
#include "core/rules/example.h"
#include "core/rules/notation.h"
#include "core/rules/written/written.h"
#include "core/space/factor_type.h"
#include "core/run/kernel.h"
#include "core/base/table.h"

#include <inttypes.h>

/* ---- the op shown ---- */

/* A case the operator's rule has; NULL: it refuses, or the op is evaluated before the run. */
static const OpSpace *case_space(Cli *cli, const Registry *registry, const Graph *graph)
{
    const DimBindings none = {0};
    const Inferred *inferred = infer(cli->arena, graph, registry, &none, false, NULL);
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    return space && !space->no_rule ? space : NULL;
}

static RuleSample sample_of(Cli *cli, const Registry *registry, const char *name,
                            const char *example)
{
    const Graph *graph = example_graph(cli->arena, name, example, NULL);
    return (RuleSample){example, graph ? case_space(cli, registry, graph) : NULL};
}

/* The first shape that the rule takes for all of its inputs. */
static RuleSample guessed_sample(Cli *cli, const Registry *registry, const Operator *row)
{
    static const char *const guesses[] = {"5x6",      "6x6",     "2x6x6x6", "5x6x6",
                                          "5x6:bool", "5x6:i64", "6"};
    for (size_t g = 0; (row->rule || row->data) && g < sizeof guesses / sizeof *guesses; g++) {
        Buf operands = buf_new(cli->arena);
        for (int i = 0; i < row->inputs_min; i++)
            buf_printf(&operands, "%s%s", i > 0 ? "," : "", guesses[g]);
        RuleSample sample = sample_of(cli, registry, row->name, operands.n > 0 ? operands.s : "()");
        if (sample.space)
            return sample;
    }
    return (RuleSample){0};
}

RuleSample cli_rule_sample(Cli *cli, const Registry *registry, const Operator *row)
{
    for (const char *at = NULL; (at = example_next(row->name, at));) {
        RuleSample sample = sample_of(cli, registry, row->name, at);
        if (sample.space)
            return sample;
    }
    const Graph *graph =
        row->anno || (row->data && row->examples) ? example_of_user(cli->arena, row, NULL) : NULL;
    if (graph)
        return (RuleSample){row->examples, case_space(cli, registry, graph)};
    return guessed_sample(cli, registry, row);
}

bool cli_rule_has_kernel(const OpSpace *space, const Operator *row)
{
    return kernel_find(space, row->name) != NULL || written_text(row->name) != NULL;
}

/* A line for each statement. */
static void put_written(Cli *cli, const Operator *row)
{
    Str rest = str_from(written_text(row->name));
    const char *first = "made of";
    str_take(&rest, ':');
    while ((rest = str_trim(rest)).n > 0) {
        Str statement = str_trim(str_take(&rest, ';'));
        buf_printf(&cli->out, "  %-10s  %.*s\n", first, STR_ARG(statement));
        first = "";
    }
    buf_putc(&cli->out, '\n');
}

/* ---- as text ---- */

static const char *operand_name(Cli *cli, const OpSpace *space, int i)
{
    bool output = i >= space->n_inputs;
    return arena_printf(cli->arena, "%s %d", output ? "output" : "input",
                        output ? i - space->n_inputs : i);
}

static void show_index(Cli *cli, const OpSpace *space)
{
    static const TableColumn columns[] = {
        {"INDEX DIM", 0}, {"SIZE", -20}, {"ROLE", 0}, {"WHEN CUT", 0}};
    static const char *const kinds[FACTOR_TYPE_COUNT] = {
        /* ORDER FACTOR_TYPE */
        "nothing to do", "the output is partial", "never: gathered first", "neighbours exchange"};
    Table *table = table_new(cli->arena, columns, 4);
    if (space->n_index == 0)
        return;
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *index = &space->index[j];
        table_cell(table, str_from(index->name));
        table_printf(table, "%" PRId64, index->size);
        table_printf(table, "%s%s%s", role_name(index->role), index->role == ROLE_REDUCE ? ":" : "",
                     index->role == ROLE_REDUCE ? reduce_name(index->reduce) : "");
        table_printf(table, "%s%s", kinds[factor_type_of(space, j)],
                     index->blocked ? ", does not propagate" : "");
    }
    buf_putc(&cli->out, '\n');
    table_format(table, "  ", &cli->out);
}

/* What the index dim that moves the row reads again, and what it leaves out. */
static void row_halo(const OpSpace *space, const Operand *operand, int d, int64_t *halo,
                     int64_t *waste)
{
    Row folded;
    int main = row_main_index(space, &operand->projection.row[d], &folded);
    *halo = main < 0 || operand->factors[d].exact ? 0 : row_overlap(&folded, main);
    *waste = main < 0 || operand->factors[d].exact ? 0 : row_waste(&folded, main);
}

static void add_operand(Cli *cli, const OpSpace *space, int i, Table *table)
{
    const Operand *operand = &space->operand[i];
    const char *name = operand_name(cli, space, i);
    int n = operand->ignored || operand->shape.n_dims == 0 ? 1 : operand->projection.n_dims;
    for (int d = 0; d < n; d++) {
        int64_t halo, waste;
        Buf row = buf_new(cli->arena);
        table_cell(table, str_from(d == 0 ? name : ""));
        if (operand->ignored || operand->shape.n_dims == 0) {
            for (int k = 0; k < 6; k++)
                table_cell(table, k == 2 ? str_from(operand->ignored ? "not examined" : "scalar")
                                         : STR(""));
            return;
        }
        row_halo(space, operand, d, &halo, &waste);
        opspace_format_dim(space, operand, d, &row);
        table_printf(table, "%d", d);
        table_printf(table, "%" PRId64, operand->shape.dim[d]);
        table_cell(table, buf_str(&row));
        table_printf(table, halo > 0 ? "%" PRId64 : "-", halo);
        table_printf(table, waste > 0 ? "%" PRId64 : "-", waste);
        RowEnds ends = (RowEnds)operand->projection.row[d].ends;
        bool clips = operand->projection.clip && !operand->factors[d].exact;
        table_cell(table, str_from(clips ? row_ends_name(ends) : ""));
    }
}

static void show_operands(Cli *cli, const OpSpace *space)
{
    static const TableColumn columns[] = {{"OPERAND", 0}, {"DIM", -3},    {"SIZE", -20}, {"ROW", 0},
                                          {"HALO", -20},  {"SKIPS", -20}, {"", 0}};
    Table *table = table_new(cli->arena, columns, 7);
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        if (!space->operand[i].absent)
            add_operand(cli, space, i, table);
    buf_putc(&cli->out, '\n');
    table_format(table, "  ", &cli->out);
}

/* Lines of text behind a label; the second and later ones below the first. */
static void show_lines(Cli *cli, const char *label, Str text)
{
    while (text.n > 0) {
        Str line = str_take(&text, '\n');
        if (line.n > 0)
            buf_printf(&cli->out, "  %-10s  %.*s\n", label, STR_ARG(line));
        label = "";
    }
}

static void show_lost(Cli *cli, Str lost)
{
    Buf lines = buf_new(cli->arena);
    for (const char *before = "not expressed: "; lost.n > 0; before = "               ") {
        Str line = str_take(&lost, '\n');
        buf_printf(&lines, "%s%.*s\n", before, STR_ARG(line));
    }
    show_lines(cli, "", buf_str(&lines));
}

static void show_notations(Cli *cli, const OpSpace *space)
{
    buf_putc(&cli->out, '\n');
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++) {
        Buf out = buf_new(cli->arena), lost = buf_new(cli->arena);
        notation->print(space, &out, &lost);
        show_lines(cli, notation->name, out.n > 0 ? buf_str(&out) : STR("none"));
        show_lost(cli, buf_str(&lost));
    }
}

void cli_rule_show_space(Cli *cli, const OpSpace *space)
{
    Buf anno = buf_new(cli->arena);
    opspace_format(space, &anno);
    buf_printf(&cli->out, "  %s\n", anno.s);
    show_index(cli, space);
    show_operands(cli, space);
    show_notations(cli, space);
}

static void put_value(const Attr *value, Buf *out)
{
    if (value->type == ATTR_INT)
        buf_printf(out, "%" PRId64, value->i);
    else if (value->type == ATTR_FLOAT)
        buf_printf(out, "%g", value->f);
    else if (value->type == ATTR_STRING)
        buf_add(out, value->s);
    for (int i = 0; value->type == ATTR_INTS && i < value->n; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", value->ints[i]);
}

static bool is_renamed(const Alias *alias, const char *ours)
{
    for (int i = 0; i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].ours, ours) == 0)
            return true;
    return false;
}

/* "dim = axis, operands 1 0, keepdims is 0": their words for our attributes, where our operands
 * stand among theirs, the values of what they do not say. */
static const char *alias_words(Arena *arena, const Alias *alias)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].theirs, alias->attr[i].ours) != 0)
            buf_printf(&out, "%s%s = %s", out.n > 0 ? ", " : "", alias->attr[i].theirs,
                       alias->attr[i].ours);
    for (int i = 0; i < alias->n_operands; i++) {
        buf_printf(&out, "%s", i > 0 ? " " : out.n > 0 ? ", operands " : "operands ");
        if (alias->operand[i] < 0)
            buf_putc(&out, '-');
        else
            buf_printf(&out, "%d", alias->operand[i]);
    }
    for (int i = 0; i < alias->n_constants; i++) {
        const char *ours = alias->constant[i].ours;
        buf_printf(&out, "%s%s %s ", out.n > 0 ? ", " : "", ours,
                   is_renamed(alias, ours) ? "by default" : "is");
        put_value(&alias->constant[i].value, &out);
    }
    return out.s;
}

static void end_names(Cli *cli, const char *words)
{
    buf_printf(&cli->out, "%s%s%s\n", *words ? "  (" : "", words, *words ? ")" : "");
}

/* A line for each system's names that have the same words. */
static void show_aliases(Cli *cli, const Operator *row)
{
    Aliases aliases = alias_names(cli->arena, row->name);
    for (int s = 0; s < SYSTEM_COUNT; s++) {
        const char *words = NULL, *label = system_name((SystemId)s);
        for (int i = 0; i < aliases.n; i++) {
            if (aliases.at[i].system != (SystemId)s)
                continue;
            const char *own = alias_words(cli->arena, &aliases.at[i]);
            if (words && strcmp(words, own) == 0) {
                buf_printf(&cli->out, " %s", aliases.at[i].name);
                continue;
            }
            if (words)
                end_names(cli, words);
            buf_printf(&cli->out, "  %-10s  %s", words ? "" : label, aliases.at[i].name);
            words = own;
        }
        if (words)
            end_names(cli, words);
    }
}

void cli_rule_format_arity(const Operator *row, Buf *out)
{
    if (!row->rule && row->inputs_max == 0)
        buf_puts(out, "as annotated");
    else if (row->inputs_max == OPERATOR_ANY)
        buf_printf(out, "%d or more", row->inputs_min);
    else if (row->inputs_min == row->inputs_max)
        buf_printf(out, "%d", row->inputs_min);
    else
        buf_printf(out, "%d to %d", row->inputs_min, row->inputs_max);
}

/* "cost, input_gen": the functions that a user's operator has. */
static const char *user_functions(Arena *arena, const UserOp *user)
{
    Buf text = buf_new(arena);
    buf_puts(&text, user->cost ? ", cost" : "");
    buf_puts(&text, user->comm ? ", comm" : "");
    buf_puts(&text, user->input_gen ? ", input_gen" : "");
    return text.n > 0 ? text.s + 2 : "";
}

/* What a user's operator declares besides the annotation. */
static void show_user(Cli *cli, const Operator *row)
{
    const UserOp *user = row->user;
    for (int i = 0; user && i < user->n_rules; i++) {
        Buf text = buf_new(cli->arena);
        cut_rule_format(&user->rules[i], &text);
        buf_printf(&cli->out, "  %-10s  %s%s\n", i == 0 ? "rules" : "", text.s,
                   user->rules[i].kwargs ? "   arguments by part" : "");
    }
    for (int i = 0; user && i < user->n_inplace; i++)
        buf_printf(&cli->out, "  %-10s  output %d is the new value of input %d\n",
                   i == 0 ? "in place" : "", user->inplace[i][0], user->inplace[i][1]);
    if (user && *user_functions(cli->arena, user))
        buf_printf(&cli->out, "  %-10s  %s\n", "functions", user_functions(cli->arena, user));
}

static void show_row(Cli *cli, const Operator *row, const OpSpace *space)
{
    Buf arity = buf_new(cli->arena);
    const char *attrs = row->attrs;
    cli_rule_format_arity(row, &arity);
    show_aliases(cli, row);
    for (int i = 0; row->anno && row->anno->annos && row->anno->annos[i]; i++)
        buf_printf(&cli->out, "  %-10s  %s\n", i == 0 ? "annotated" : "", row->anno->annos[i]);
    buf_printf(&cli->out, "  %-10s  %s\n", "inputs", arity.s);
    if (attrs && *attrs)
        buf_printf(&cli->out, "  %-10s  %s\n", "attributes", attrs);
    show_user(cli, row);
    if (row->user && row->user->kernel)
        buf_printf(&cli->out, "  %-10s  %s\n\n", "kernel", row->user->kernel);
    else if (!row->kernel && written_text(row->name))
        put_written(cli, row);
    else
        buf_printf(&cli->out, "  %-10s  %s\n\n", "kernel",
                   cli_rule_has_kernel(space, row) ? "yes: it can run"
                                                   : "none: it can be planned, not run");
}

/* ---- as JSON ---- */

/* What a user's operator declares besides the annotation: rules as texts, {output: input}, names of
 * functions. */
static Json *user_json(Arena *arena, const UserOp *user)
{
    Json *out = json_object(), *rules = json_array(), *inplace = json_array();
    for (int i = 0; i < user->n_rules; i++) {
        Buf text = buf_new(arena);
        cut_rule_format(&user->rules[i], &text);
        json_add(rules, json_from_str(buf_str(&text)));
    }
    for (int i = 0; i < user->n_inplace; i++) {
        Json *pair = json_object();
        json_set_int(pair, "output", user->inplace[i][0]);
        json_set_int(pair, "input", user->inplace[i][1]);
        json_add(inplace, pair);
    }
    json_set(out, "rules", rules);
    json_set(out, "inplace", inplace);
    json_set_str(out, "functions", user_functions(arena, user));
    json_set_str(out, "kernel", user->kernel ? user->kernel : "");
    return out;
}

static Json *index_json(const OpSpace *space)
{
    Json *out = json_array();
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *index = &space->index[j];
        Json *row = json_object();
        json_set_str(row, "name", index->name);
        json_set_int(row, "size", index->size);
        json_set_str(row, "role", role_name(index->role));
        json_set(row, "reduce",
                 index->role == ROLE_REDUCE ? json_from_str(str_from(reduce_name(index->reduce)))
                                            : json_null());
        json_set_str(row, "kind", factor_type_name(factor_type_of(space, j)));
        json_set_bool(row, "blocked", index->blocked);
        json_add(out, row);
    }
    return out;
}

static Json *row_json(Cli *cli, const OpSpace *space, const Operand *operand, int d)
{
    const Row *row = &operand->projection.row[d];
    Json *out = json_object(), *coef = json_object();
    Buf text = buf_new(cli->arena);
    int64_t halo, waste;
    opspace_format_dim(space, operand, d, &text);
    row_halo(space, operand, d, &halo, &waste);
    for (int j = 0; j < space->n_index; j++)
        if (row->coef[j] != 0)
            json_set_int(coef, space->index[j].name, row->coef[j]);
    json_set_str(out, "text", text.s);
    json_set(out, "coef", coef);
    json_set_int(out, "offset", row->offset);
    json_set_int(out, "window", row->window);
    if (row->divisor > 1)
        json_set_int(out, "divisor", row->divisor);
    json_set_int(out, "halo", halo);
    json_set_int(out, "waste", waste);
    return out;
}

static Json *operands_json(Cli *cli, const OpSpace *space)
{
    Json *out = json_array();
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        Json *one = json_object(), *rows = json_array();
        json_set_str(one, "operand", operand_name(cli, space, i));
        json_set_bool(one, "absent", operand->absent);
        json_set_bool(one, "ignored", operand->ignored);
        json_set_bool(one, "clip", operand->projection.clip);
        json_set_bool(one, "linear", operand->linear != LINEAR_NO);
        for (int d = 0; !operand->absent && !operand->ignored && d < operand->projection.n_dims;
             d++)
            json_add(rows, row_json(cli, space, operand, d));
        json_set(one, "rows", rows);
        json_add(out, one);
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

/* How much of the rule a notation expresses: "all", "part", "none". */
static const char *extent_word(bool all, const Buf *out)
{
    return all ? "all" : out->n > 0 ? "part" : "none";
}

static Json *lines_json(Str text)
{
    Json *out = json_array();
    while (text.n > 0) {
        Str line = str_take(&text, '\n');
        if (line.n > 0)
            json_add(out, json_from_str(line));
    }
    return out;
}

static Json *notations_json(Cli *cli, const OpSpace *space)
{
    Json *all = json_object();
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++) {
        Buf out = buf_new(cli->arena), lost = buf_new(cli->arena);
        bool whole = notation->print(space, &out, &lost);
        Json *one = json_object();
        json_set(one, "text", out.n > 0 || whole ? json_from_str(buf_str(&out)) : json_null());
        json_set_str(one, "says", extent_word(whole, &out));
        json_set(one, "not_said", lines_json(buf_str(&lost)));
        json_set(all, notation->name, one);
    }
    return all;
}

void cli_rule_space_json(Cli *cli, const OpSpace *space, Json *out)
{
    Buf anno = buf_new(cli->arena);
    opspace_format(space, &anno);
    json_set_str(out, "anno", anno.s);
    json_set(out, "index", index_json(space));
    json_set(out, "inputs", shapes_json(space, 0, space->n_inputs));
    json_set(out, "outputs", shapes_json(space, space->n_inputs, space->n_outputs));
    json_set(out, "operands", operands_json(cli, space));
    json_set(out, "notations", notations_json(cli, space));
    json_set_real(out, "flops", space->flops);
}

static Json *aliases_json(Arena *arena, const Operator *row)
{
    Aliases aliases = alias_names(arena, row->name);
    Json *out = json_object();
    for (int s = 0; s < SYSTEM_COUNT; s++) {
        Json *names = json_array();
        for (int i = 0; i < aliases.n; i++)
            if (aliases.at[i].system == (SystemId)s)
                json_add(names, json_from_str(str_from(aliases.at[i].name)));
        json_set(out, system_name((SystemId)s), names);
    }
    return out;
}

Json *cli_rule_row_json(Arena *arena, const Operator *row, const OpSpace *space)
{
    Json *out = json_object(), *annos = json_array();
    json_set_str(out, "operator", row->name);
    json_set_str(out, "family", row->family);
    json_set_int(out, "inputs_min", row->inputs_min);
    json_set(out, "inputs_max",
             row->inputs_max == OPERATOR_ANY ? json_null() : json_from_int(row->inputs_max));
    for (int i = 0; row->anno && row->anno->annos && row->anno->annos[i]; i++)
        json_add(annos, json_from_str(str_from(row->anno->annos[i])));
    json_set(out, "annos", annos);
    if (row->user)
        json_set(out, "user", user_json(arena, row->user));
    json_set(out, "aliases", aliases_json(arena, row));
    json_set_bool(out, "kernel", cli_rule_has_kernel(space, row));
    return out;
}

/* ---- the answers ---- */

static Json *sample_json(Cli *cli, const RuleSample *sample)
{
    Json *out = json_object();
    if (!sample->space || !sample->example) {
        json_free(out);
        return json_null();
    }
    Example example = example_read(cli->arena, sample->example);
    json_set_str(out, "shapes", example.operands);
    json_set_str(out, "attrs", example.attrs);
    return out;
}

/* A word of a command, in quotes where a shell would make something else of it. */
static void show_word(Cli *cli, Str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_=,.:+-/";
    bool quoted = word.n == 0;
    for (size_t i = 0; i < word.n; i++)
        quoted |= !strchr(plain, word.s[i]);
    buf_printf(&cli->out, quoted ? "'%.*s'" : "%.*s", STR_ARG(word));
}

/* The options that ask for the sample. */
static void show_sample(Cli *cli, const Operator *row, const char *text)
{
    Example example = example_read(cli->arena, text);
    Str attrs = str_from(example.attrs);
    buf_printf(&cli->out, "for example: dimscope rule %s --shapes ", row->name);
    show_word(cli, str_from(example.operands));
    while (attrs.n > 0) {
        buf_puts(&cli->out, " --attr ");
        show_word(cli, str_take(&attrs, ' '));
    }
    buf_putc(&cli->out, '\n');
}

static void show_lint(Cli *cli, const Finding *lint)
{
    buf_printf(&cli->out, "\n%s:%d:", lint->file, lint->line);
    if (lint->column > 0)
        buf_printf(&cli->out, "%d:", lint->column);
    buf_printf(&cli->out, " %s: %s\nhint: %s\n", level_name(lint->level), lint->text, lint->hint);
}

static void show_lints(Cli *cli, const Operator *row)
{
    Findings lints = {0};
    anno_lint_operator(cli->arena, row, &lints);
    for (int i = 0; i < lints.n; i++)
        show_lint(cli, &lints.at[i]);
}

void cli_rule_show(Cli *cli, const Registry *registry, const Operator *row, const OpSpace *space)
{
    const Alias *alias = registry_alias(registry, str_from(cli->operand[0]));
    RuleSample sample = {0};
    bool given = space != NULL;
    if (!given)
        sample = cli_rule_sample(cli, registry, row);
    space = given ? space : sample.space;
    if (cli->options.json) {
        Json *out = cli_rule_row_json(cli->arena, row, space);
        if (!given)
            json_set(out, "sample", sample_json(cli, &sample));
        if (space)
            cli_rule_space_json(cli, space, out);
        if (row->data)
            json_set(out, row->data->name, row->data->json(cli->arena, row->data->data, space));
        cli_write_json(cli, out);
        return;
    }
    buf_printf(&cli->out, "%s  (%s)", row->name, row->family);
    if (alias)
        buf_printf(&cli->out, "  asked for as %s::%s", system_name(alias->system), alias->name);
    buf_putc(&cli->out, '\n');
    if (!given)
        show_row(cli, row, space);
    if (sample.space && sample.example)
        show_sample(cli, row, sample.example);
    if (space)
        cli_rule_show_space(cli, space);
    else
        buf_puts(&cli->out, "give --shapes to see its index space\n");
    show_lints(cli, row);
}
