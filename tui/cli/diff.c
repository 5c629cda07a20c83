/* diff.c - `dimscope diff`: plans side by side, as text or as JSON. */
#include "tui/cli/cli.h"

#include "core/propagate/propagators.h"
#include "core/base/units.h"
#include "core/cost/pipeline_idle.h"
#include "core/summary/diff.h"
#include "core/base/table.h"

/* ---- what is compared ---- */

typedef struct {
    int n;
    bool one_model;   /* under several propagators or settings; else files */
    const Texts *set; /* of one side each, or NULL */
    const char *name[DIFF_SIDES_MAX], *heading[DIFF_SIDES_MAX];
    Session *session[DIFF_SIDES_MAX];
} Sides;

static const char *letter(Arena *arena, int side)
{
    return arena_printf(arena, "%c", 'A' + side);
}

/* "factor:shardy": a propagator and, after a colon, its profile. */
static bool add_propagator(Cli *cli, Sides *sides, Str text)
{
    Str profile = text, propagator = str_trim(str_take(&profile, ':'));
    const Propagator *chosen;
    if (sides->n == DIFF_SIDES_MAX)
        return error_kind(&cli->err, ERROR_USAGE,
                          "at most %d propagators can be compared at a time", DIFF_SIDES_MAX);
    if (!propagator_find(propagator, str_trim(profile), &chosen, &cli->err))
        return false;
    sides->name[sides->n] = arena_str(cli->arena, str_trim(text));
    sides->heading[sides->n] = sides->name[sides->n];
    sides->n++;
    return true;
}

/* ---- settings ---- */

static Str name_of_setting(const char *text)
{
    Str rest = str_from(text);
    return str_trim(str_take(&rest, '='));
}

/* The place of setting `i` among those of its name, and how many these are. */
static int place_of_setting(const Texts *set, int i, int *n)
{
    int place = 0;
    *n = 0;
    for (int k = 0; k < set->n; k++) {
        if (!str_eq(name_of_setting(set->at[k]), name_of_setting(set->at[i])))
            continue;
        place += k < i;
        ++*n;
    }
    return place;
}

/* How many sides there are by a setting that is given n times; 0 with an error. */
static int sides_by_setting(Cli *cli, const Sides *sides, const char *setting, int n)
{
    Str name = name_of_setting(setting);
    if (n > DIFF_SIDES_MAX)
        error_kind(&cli->err, ERROR_USAGE, "at most %d settings can be compared at a time",
                   DIFF_SIDES_MAX);
    else if (n > 1 && sides->n > 0 && n != sides->n)
        error_kind(
            &cli->err, ERROR_USAGE,
            "'%.*s' is set %d times, another option %d times: give each option once for each side",
            STR_ARG(name), n, sides->n);
    else
        return n > 1 ? n : sides->n;
    return 0;
}

/* An option of the policy that is set several times has a value for each side, others are of all.
 * Without such an option there are no sides. */
static bool list_settings(Cli *cli, Sides *sides)
{
    const Texts *set = &cli->options.set;
    Texts *own = arena_array(cli->arena, Texts, DIFF_SIDES_MAX);
    for (int i = 0, n; i < set->n; i++) {
        int place = place_of_setting(set, i, &n);
        sides->n = sides_by_setting(cli, sides, set->at[i], n);
        if (cli->err.text[0])
            return false;
        for (int s = 0; s < DIFF_SIDES_MAX; s++)
            if (n == 1 || s == place)
                vec_push(cli->arena, &own[s], set->at[i]);
        const char **name = &sides->name[place];
        if (n > 1)
            *name = *name ? arena_printf(cli->arena, "%s %s", *name, set->at[i]) : set->at[i];
    }
    for (int s = 0; s < sides->n; s++)
        sides->heading[s] = sides->name[s];
    sides->one_model = sides->n > 0;
    sides->set = own;
    return sides->n > 0;
}

/* ---- propagators ---- */

static bool list_propagators(Cli *cli, Sides *sides)
{
    Str rest = str_from(cli->options.propagate);
    sides->one_model = true;
    while (rest.n > 0)
        if (!add_propagator(cli, sides, str_take(&rest, ',')))
            return false;
    if (sides->n >= 2 && cli->n_operands == 1)
        return true;
    error_kind(&cli->err, ERROR_USAGE,
               "diff --propagate needs two propagators or more, and one model");
    return error_hint(&cli->err, "dimscope diff --propagate factor,factor:shardy MODEL -m MESH");
}

static bool list_files(Cli *cli, Sides *sides)
{
    if (cli->n_operands != 2) {
        error_kind(&cli->err, ERROR_USAGE, "diff needs two plans");
        return error_hint(&cli->err,
                          "dimscope diff A.json B.json; or one MODEL with --propagate factor,spmd, "
                          "or with --set schedule=1f1b --set schedule=zb1p");
    }
    for (int s = 0; s < 2; s++) {
        sides->name[s] = cli->operand[s];
        sides->heading[s] = letter(cli->arena, s);
    }
    sides->n = 2;
    return true;
}

static bool list_sides(Cli *cli, Sides *sides)
{
    if (cli->options.propagate)
        return list_propagators(cli, sides);
    if (cli->n_operands == 1 && list_settings(cli, sides))
        return true;
    return !cli->err.text[0] && list_files(cli, sides);
}

/* A session of one side, under the options that hold for all. */
static Session *open_side(Cli *cli, const Sides *sides, int s)
{
    Cli one = *cli;
    const char *operand = sides->one_model ? cli->operand[0] : sides->name[s];
    one.operand = &operand;
    if (sides->set)
        one.options.set = sides->set[s];
    if (sides->one_model && !sides->set) {
        Str profile = str_from(sides->name[s]), propagator = str_trim(str_take(&profile, ':'));
        one.options.propagate = arena_str(cli->arena, propagator);
        one.options.profile = arena_str(cli->arena, str_trim(profile));
    }
    Session *session = cli_open(&one);
    cli->err = one.err;
    return session;
}

/* ---- as text ---- */

typedef struct {
    Cli *cli;
    Arena *arena;
    const Sides *sides;
    const PlanDiff *diff;
    Buf *out;
} DiffPage;

static Table *table_of_sides(const DiffPage *page, const char *first, int most)
{
    TableColumn columns[DIFF_SIDES_MAX + 1] = {{first, 0}};
    for (int s = 0; s < page->sides->n; s++)
        columns[s + 1] = (TableColumn){page->sides->heading[s], most};
    return table_new(page->arena, columns, page->sides->n + 1);
}

static void print_sides(const DiffPage *page)
{
    if (page->sides->one_model)
        return;
    for (int s = 0; s < page->sides->n; s++)
        buf_printf(page->out, "%s  %s\n", page->sides->heading[s], page->sides->name[s]);
    buf_putc(page->out, '\n');
}

static void print_request(const DiffPage *page)
{
    const PlanDiff *diff = page->diff;
    if (diff->n_requests == 0)
        return;
    Table *table = table_of_sides(page, "ASKED", 0);
    for (int r = 0; r < diff->n_requests; r++) {
        table_cell(table, str_from(diff->request[r].what));
        for (int s = 0; s < diff->n_sides; s++)
            table_cell(table, str_from(diff->request[r].text[s]));
    }
    table_format(table, "", page->out);
    buf_putc(page->out, '\n');
}

static void print_origin(const Origin *origin, Buf *out)
{
    if (origin->file && origin->file[0])
        buf_printf(out, "  %s:%d", path_base(origin->file), origin->line);
    else
        buf_puts(out, origin->kind == ORIGIN_USER ? "  by the user" : "  by search");
    if (origin->text && origin->text[0])
        buf_printf(out, "  %s", origin->text);
}

static void print_fork(const DiffPage *page)
{
    const PlanDiff *diff = page->diff;
    if (diff->fork < 0) {
        buf_printf(page->out, "decisions  equal, %d\n\n", diff->side[0]->journal.n_done);
        return;
    }
    buf_printf(page->out, "decisions  equal up to number %d\n", diff->fork + 1);
    for (int s = 0; s < diff->n_sides; s++) {
        const Decision *decision = diff_fork(diff, s);
        buf_printf(page->out, "  %s  ", page->sides->heading[s]);
        if (decision) {
            decision_format(diff->side[s], decision, page->out);
            print_origin(&decision->origin, page->out);
        } else {
            buf_printf(page->out, "none: it has %d", diff->side[s]->journal.n_done);
        }
        buf_putc(page->out, '\n');
    }
    buf_putc(page->out, '\n');
}

/* ---- totals ---- */

static void us_text(const Totals *totals, size_t at, Buf *out)
{
    double us;
    memcpy(&us, (const char *)totals + at, sizeof us);
    units_format_us(us, out);
}

static void bytes_text(const Totals *totals, size_t at, Buf *out)
{
    int64_t bytes;
    memcpy(&bytes, (const char *)totals + at, sizeof bytes);
    units_format_bytes(bytes, out);
}

static void flops_text(const Totals *totals, size_t at, Buf *out)
{
    double flops;
    memcpy(&flops, (const char *)totals + at, sizeof flops);
    units_format_flops(flops, out);
}

static const struct {
    const char *name;
    size_t at; /* in Totals */
    void (*format)(const Totals *totals, size_t at, Buf *out);
} total_rows[] = {
    {"step", offsetof(Totals, step_us), us_text},
    {"compute", offsetof(Totals, compute_us), us_text},
    {"collectives", offsetof(Totals, comm_us), us_text},
    {"overlap", offsetof(Totals, overlap_us), us_text},
    {"moved", offsetof(Totals, comm_bytes), bytes_text},
    {"peak", offsetof(Totals, peak_bytes), bytes_text},
    {"flops", offsetof(Totals, flops), flops_text},
};

/* Of plans with a schedule: the time of a step, its bubble, and its causes that are there. Returns
 * false if no plan has one. */
static bool add_steps(const DiffPage *page, Table *table)
{
    const PlanDiff *diff = page->diff;
    ScheduleIdle idle[DIFF_SIDES_MAX] = {0};
    double any[N_IDLE_CAUSES] = {0};
    const Plan *plan[DIFF_SIDES_MAX];
    bool has = false;
    for (int s = 0; s < diff->n_sides; s++) {
        plan[s] = diff->side[s]->plan;
        if (!plan_schedule(plan[s]))
            continue;
        has = true;
        idle[s] = pipeline_idle(page->arena, plan[s]);
        for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
            any[cause] += idle[s].share[cause];
    }
    if (!has)
        return false;
    table_cell(table, STR("step"));
    for (int s = 0; s < diff->n_sides; s++) {
        Buf text = buf_new(page->arena);
        units_format_us(plan_step_us(plan[s]), &text);
        table_cell(table, buf_str(&text));
    }
    table_cell(table, STR("bubble"));
    for (int s = 0; s < diff->n_sides; s++)
        table_printf(table, "%.1f%%",
                     plan_schedule(plan[s]) ? 100 * plan_schedule(plan[s])->idle : 0);
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++) {
        if (any[cause] < IDLE_SHOWN)
            continue;
        table_printf(table, "  %s", idle_cause_name((IdleCause)cause));
        for (int s = 0; s < diff->n_sides; s++)
            table_printf(table, "%.1f%%", 100 * idle[s].share[cause]);
    }
    return true;
}

static void print_totals(const DiffPage *page)
{
    const PlanDiff *diff = page->diff;
    Table *table = table_of_sides(page, "TOTALS", -24);
    bool scheduled = add_steps(page, table);
    for (size_t r = 0; r < sizeof total_rows / sizeof *total_rows; r++) {
        table_cell(table, str_from(r == 0 && scheduled ? "micro-batch" : total_rows[r].name));
        for (int s = 0; s < diff->n_sides; s++) {
            Buf text = buf_new(page->arena);
            total_rows[r].format(&diff->side[s]->plan->priced->totals, total_rows[r].at, &text);
            table_cell(table, buf_str(&text));
        }
    }
    for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++) {
        double any = 0;
        for (int s = 0; s < diff->n_sides; s++)
            any += diff->n_steps[s][kind];
        if (any == 0)
            continue;
        table_cell(table, str_from(step_kind_name(kind)));
        for (int s = 0; s < diff->n_sides; s++)
            table_printf(table, "%.10g", diff->n_steps[s][kind]);
    }
    table_format(table, "", page->out);
    buf_putc(page->out, '\n');
}

/* ---- lists ---- */

static void side_cell(const DiffPage *page, Table *table, DiffListKind kind, int s, int32_t id)
{
    Buf text = buf_new(page->arena);
    const Session *session = page->diff->side[s];
    if (id < 0)
        buf_puts(&text, "-");
    else if (kind == DIFF_OPS)
        diff_format_op(session, id, &text);
    else
        diff_format_tensor(session, id, &text);
    table_cell(table, buf_str(&text));
}

/* "Reshape_1" of /h.0/attn/Reshape_1, as several of an operator may share a path; else "Gemm". */
static const char *own_name(const Graph *graph, int32_t op)
{
    const char *name = path_base(op_name(graph, op));
    const char *kind = op_operator(graph, op);
    bool has_path = op_path(graph, op)[0] != '\0';
    return has_path && str_starts(str_from(name), str_from(kind)) ? name : kind;
}

/* "h[0..11].mlp.c_fc Gemm ×12" */
static Str row_label(const DiffPage *page, DiffListKind kind, int r)
{
    const DiffList *list = &page->diff->list[kind];
    Buf text = buf_new(page->arena);
    diff_format_row(page->diff, kind, r, &text);
    const DiffEntry *first = &list->entries[list->rows[r].first];
    for (int s = 0; kind == DIFF_OPS && s < page->diff->n_sides; s++)
        if (first->id[s] >= 0) {
            buf_printf(&text, " %s", own_name(page->diff->side[s]->graph, first->id[s]));
            break;
        }
    if (list->rows[r].n > 1)
        buf_printf(&text, " ×%d", list->rows[r].n);
    return buf_str(&text);
}

static void print_head(const DiffPage *page, DiffListKind kind, const char *what)
{
    const DiffList *list = &page->diff->list[kind];
    buf_printf(page->out, "%s  %d of %d differ%s\n", what, list->n_entries, list->n_compared,
               list->n_entries == 1 ? "s" : "");
}

static bool is_on_all(const DiffPage *page, const DiffEntry *entry)
{
    for (int s = 0; s < page->diff->n_sides; s++)
        if (entry->id[s] < 0)
            return false;
    return true;
}

/* Of what not all sides have only the first are shown: other models may have little in common. */
static void print_table(const DiffPage *page, DiffListKind kind, const char *what)
{
    enum { ONLY_SHOWN = 20 };
    const DiffList *list = &page->diff->list[kind];
    int n_only = 0;
    print_head(page, kind, what);
    if (list->n_rows == 0)
        return;
    Table *table = table_of_sides(page, kind == DIFF_OPS ? "OP" : "TENSOR", 48);
    for (int r = 0; r < list->n_rows; r++) {
        const DiffEntry *first = &list->entries[list->rows[r].first];
        n_only += !is_on_all(page, first);
        if (n_only > ONLY_SHOWN && !is_on_all(page, first))
            continue;
        table_cell(table, row_label(page, kind, r));
        for (int s = 0; s < page->diff->n_sides; s++)
            side_cell(page, table, kind, s, first->id[s]);
    }
    table_format(table, "  ", page->out);
    if (n_only > ONLY_SHOWN)
        buf_printf(page->out, "  .. and %d more rows that not all sides have\n",
                   n_only - ONLY_SHOWN);
    buf_putc(page->out, '\n');
}

/* The sides that have it: "A", "factor,spmd". */
static void put_sides(const DiffPage *page, const DiffEntry *entry, Buf *out)
{
    const char *comma = "";
    for (int s = 0; s < page->diff->n_sides; s++)
        if (entry->id[s] >= 0) {
            buf_printf(out, "%s%s", comma, page->sides->heading[s]);
            comma = ",";
        }
}

static void print_reshards(const DiffPage *page)
{
    const DiffList *list = &page->diff->list[DIFF_RESHARDS];
    buf_printf(page->out, "reshards  %d of %d are not on all sides\n", list->n_entries,
               list->n_compared);
    if (list->n_rows == 0)
        return;
    Table *table =
        table_new(page->arena, (const TableColumn[]){{"ON", 0}, {"TENSOR", 0}, {"", 0}}, 3);
    for (int r = 0; r < list->n_rows; r++) {
        const DiffEntry *first = &list->entries[list->rows[r].first];
        Buf on = buf_new(page->arena), text = buf_new(page->arena);
        int s = diff_first_side(first);
        put_sides(page, first, &on);
        diff_format_reshard(page->diff->side[s], first->id[s], &text);
        table_cell(table, buf_str(&on));
        table_cell(table, row_label(page, DIFF_RESHARDS, r));
        table_cell(table, buf_str(&text));
    }
    table_format(table, "  ", page->out);
    buf_putc(page->out, '\n');
}

static void print_findings(const DiffPage *page)
{
    const DiffList *list = &page->diff->list[DIFF_FINDINGS];
    buf_printf(page->out, "findings  %d of %d are not on all sides\n", list->n_entries,
               list->n_compared);
    for (int i = 0; i < list->n_entries; i++) {
        int s = diff_first_side(&list->entries[i]);
        const Finding *finding = &page->diff->side[s]->plan->findings.at[list->entries[i].id[s]];
        buf_puts(page->out, "  ");
        put_sides(page, &list->entries[i], page->out);
        buf_printf(page->out, "  %s: %s [%s]\n", level_name(finding->level), finding->text,
                   finding->code);
    }
}

static void print_first_op(const DiffPage *page)
{
    const DiffEntry *entry = diff_first_op(page->diff);
    if (!entry)
        return;
    buf_puts(page->out, "\nfirst op  ");
    buf_add(page->out, row_label(page, DIFF_OPS, 0));
    buf_putc(page->out, '\n');
    for (int s = 0; s < page->diff->n_sides; s++) {
        buf_printf(page->out, "  %s  ", page->sides->heading[s]);
        if (entry->id[s] < 0)
            buf_puts(page->out, "has no such op");
        else
            diff_format_op(page->diff->side[s], entry->id[s], page->out);
        buf_putc(page->out, '\n');
        diff_format_why(page->diff, s, "     ", page->out);
    }
}

static void print_diff(const DiffPage *page)
{
    print_sides(page);
    print_request(page);
    print_fork(page);
    print_totals(page);
    if (page->diff->same_result) {
        buf_puts(page->out, page->diff->same ? "the plans are the same\n"
                                             : "the resulting plans are the same\n");
        return;
    }
    print_table(page, DIFF_OPS, "ops");
    print_table(page, DIFF_TENSORS, "tensors");
    print_reshards(page);
    print_findings(page);
    print_first_op(page);
}

/* ---- the verb ---- */

static int answer(Cli *cli, const Sides *sides)
{
    const PlanDiff *diff =
        plan_diff_sides(cli->arena, (const Session *const *)sides->session, sides->n);
    DiffPage page = {cli, cli->arena, sides, diff, &cli->out};
    if (cli->options.json)
        cli_write_json(cli, diff_json(diff, sides->name));
    else
        print_diff(&page);
    bool same = sides->one_model ? diff->same_result : diff->same;
    return same ? CLI_FINE : CLI_ILLEGAL;
}

int cli_diff(Cli *cli)
{
    Sides sides = {0};
    if (cli->options.actual)
        return cli_diff_actual(cli);
    if (cli->options.joint)
        return cli_diff_joint(cli);
    if (!list_sides(cli, &sides))
        return cli_fail(cli);
    int n = 0;
    while (n < sides.n && (sides.session[n] = open_side(cli, &sides, n)))
        n++;
    int code = n == sides.n ? answer(cli, &sides) : cli_fail(cli);
    for (int s = 0; s < n; s++)
        session_close(sides.session[s]);
    return code;
}
