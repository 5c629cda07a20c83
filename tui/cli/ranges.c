#include "tui/cli/cli.h"

#include "core/base/table.h"
#include "core/summary/ranges.h"

#include <inttypes.h>

/* An operand on the ranks that touch the same of it. */
typedef struct {
    OperandRange range;
    int n;
    int64_t *rank;
} RangeRow;

typedef Vec(RangeRow) RangeRows;

static bool same_range(const OperandRange *a, const OperandRange *b)
{
    bool same = a->n_dims == b->n_dims;
    for (int d = 0; same && d < a->n_dims; d++)
        same = a->dim[d].lo == b->dim[d].lo && a->dim[d].hi == b->dim[d].hi &&
               a->dim[d].touched == b->dim[d].touched && a->dim[d].held == b->dim[d].held;
    return same;
}

/* Ranks in order of position; those that touch the same are one row. */
static void add_rows(Cli *cli, const Plan *plan, int32_t op, int operand, RangeRows *rows)
{
    int64_t n = plan->mesh->n_devices;
    for (int64_t position = 0; position < n; position++) {
        OperandRange range;
        int row = 0;
        if (!operand_range(plan, op, operand, position, &range))
            return;
        while (row < rows->n && !same_range(&rows->at[row].range, &range))
            row++;
        if (row == rows->n) {
            RangeRow new = {.range = range, .rank = arena_array(cli->arena, int64_t, n)};
            vec_push(cli->arena, rows, new);
        }
        rows->at[row].rank[rows->at[row].n++] = position;
    }
}

/* "0 2 4-7" */
static void put_ranks(const RangeRow *row, Buf *out)
{
    for (int i = 0, end; i < row->n; i = end) {
        for (end = i + 1; end < row->n && row->rank[end] == row->rank[end - 1] + 1;)
            end++;
        buf_printf(out, "%s%" PRId64, i > 0 ? " " : "", row->rank[i]);
        if (end - i > 1)
            buf_printf(out, "-%" PRId64, row->rank[end - 1]);
    }
}

static const char *operand_text(Cli *cli, const OpSpace *space, int i)
{
    bool reads = i < space->n_inputs;
    return arena_printf(cli->arena, "%s %d", reads ? "input" : "output",
                        reads ? i : i - space->n_inputs);
}

static void print_ranges(Cli *cli, const Plan *plan, int32_t op)
{
    static const TableColumn columns[] = {{"OPERAND", 12},  {"RANKS", 24}, {"TOUCHES", 60},
                                          {"ELEMENTS", -0}, {"HOLDS", -0}, {"WASTE", -0}};
    const OpSpace *space = program_space(plan->inferred, op);
    Table *table = table_new(cli->arena, columns, (int)(sizeof columns / sizeof *columns));
    buf_printf(&cli->out, "%s %s\n\n", op_operator(plan->inferred->graph, op),
               op_path_or_name(plan->inferred->graph, op));
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        RangeRows rows = {.n = 0};
        add_rows(cli, plan, op, i, &rows);
        for (int r = 0; r < rows.n; r++) {
            const OperandRange *range = &rows.at[r].range;
            Buf ranks = buf_new(cli->arena), touches = buf_new(cli->arena);
            put_ranks(&rows.at[r], &ranks);
            operand_range_format(range, &touches);
            table_cell(table, str_from(r == 0 ? operand_text(cli, space, i) : ""));
            table_cell(table, buf_str(&ranks));
            table_cell(table, buf_str(&touches));
            table_printf(table, "%" PRId64, range->touched);
            table_printf(table, "%" PRId64, range->held);
            double waste = operand_range_waste(range);
            table_printf(table, waste > 0 ? "%.1f%%" : "-", 100 * waste);
        }
    }
    table_format(table, "", &cli->out);
}

static Json *range_json(const OperandRange *range, int operand, int64_t rank)
{
    Json *out = json_object(), *dims = json_array();
    for (int d = 0; d < range->n_dims; d++) {
        Json *dim = json_object();
        json_set_int(dim, "lo", range->dim[d].lo);
        json_set_int(dim, "hi", range->dim[d].hi);
        json_set_int(dim, "touched", range->dim[d].touched);
        json_set_int(dim, "held", range->dim[d].held);
        json_add(dims, dim);
    }
    json_set_int(out, "operand", operand);
    json_set_int(out, "rank", rank);
    json_set(out, "dims", dims);
    json_set_int(out, "touched", range->touched);
    json_set_int(out, "held", range->held);
    return out;
}

static Json *ranges_json(const Plan *plan, int32_t op)
{
    const OpSpace *space = program_space(plan->inferred, op);
    Json *out = json_object(), *rows = json_array();
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        for (int64_t position = 0; position < plan->mesh->n_devices; position++) {
            OperandRange range;
            if (operand_range(plan, op, i, position, &range))
                json_add(rows, range_json(&range, i, position));
        }
    json_set_str(out, "op", op_name(plan->inferred->graph, op));
    json_set_int(out, "inputs", space->n_inputs);
    json_set(out, "ranges", rows);
    return out;
}

/* The op that makes the tensor which operand 1 names; -1 with the error set. */
static int32_t asked_op(Cli *cli, const Session *session)
{
    const Inferred *inferred = session->plan->inferred;
    int32_t tensor = naming_find(session->naming, str_from(cli->operand[1]), &cli->err);
    int32_t op = tensor < 0 ? -1 : inferred->graph->tensors[tensor].maker;
    if (tensor >= 0 &&
        (op < 0 || inferred_is_host(inferred, op) || !inferred_space(inferred, op))) {
        error_set(&cli->err, "no op of the program makes '%s'", cli->operand[1]);
        op = -1;
    }
    cli->err.kind = op < 0 ? ERROR_USAGE : cli->err.kind;
    return op;
}

int cli_ranges(Cli *cli)
{
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    int32_t op = asked_op(cli, session);
    int code = CLI_FINE;
    if (op < 0)
        code = cli_fail(cli);
    else if (cli->options.json)
        cli_write_json(cli, ranges_json(session->plan, op));
    else
        print_ranges(cli, session->plan, op);
    session_close(session);
    return code;
}
