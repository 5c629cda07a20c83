/* part_comm.c - communication: reshards folded over layers, the reason for each, how each is
 * priced. */
#include "viz/report/page.h"

#include "core/explain/reason.h"
#include "core/summary/label.h"
#include "core/plan/plan_machine.h"

enum { WHY_MOST = 60 };

static const char *label_of(Page *page, const CommRow *row)
{
    int32_t tensor = page->session->plan->moved->reshards[row->first].tensor;

    return row->n > 1 ? row->label
                      : arena_str(page->arena, label_tensor(page->session, page->arena, tensor));
}

static Text steps_of(Page *page, const Reshard *reshard)
{
    Buf text = buf_marked(page->arena);

    comm_format_steps(page->session, reshard->path, &text);
    return buf_text(&text);
}

static const char *groups_of(Page *page, const Reshard *reshard)
{
    Buf text = buf_new(page->arena);

    for (int s = 0; s < reshard->path->n_steps; s++) {
        if (reshard->path->step[s].kind == STEP_SLICE)
            continue;
        if (text.n)
            buf_putc(&text, '\n');
        comm_format_step_groups(page->session->plan, reshard, s, &text);
    }
    return text.s;
}

static void put_cause(Page *page, ReportTable *table, const Reshard *reshard)
{
    const Plan *plan = page->session->plan;
    const Decision *pin = comm_cause(page->arena, page->session, reshard);

    if (pin)
        table_text(table, arena_printf(page->arena, "%.*s%s", STR_ARG(label_pin(page->arena, pin)),
                                       comm_is_asked(plan, reshard) ? ", asked for" : ""));
    else
        table_none(table);
}

static void put_reader(Page *page, ReportTable *table, const Reshard *reshard)
{
    const Graph *graph = page->session->graph;
    int32_t op = reshard->n_uses > 0 ? page->session->plan->moved->reshard_uses[reshard->use] : -1;

    if (op < 0)
        table_none(table);
    else
        table_link(table, label_operator(graph, op), arena_printf(page->arena, "#op-%d", op));
}

static void add_row(Page *page, ReportTable *table, int at)
{
    const Session *session = page->session;
    const CommRow *row = &page->comm->row[at];
    const Reshard *reshard = &session->plan->moved->reshards[row->first];

    if (!table_row(table, 0))
        return;
    for (int32_t r = row->first; r >= 0; r = page->comm->next_alike[r])
        row_id(table, arena_printf(page->arena, "reshard-%d", r));
    table_marked(table, steps_of(page, reshard));
    table_count(table, row->times);
    if (at < WHY_MOST && reshard->path->us > 0)
        table_link(table, label_of(page, row), arena_printf(page->arena, "#why-%d", row->first));
    else
        table_text(table, label_of(page, row));
    put_cause(page, table, reshard);
    table_us(table, row->us);
    table_share(table, row->us, session->plan->priced->totals.step_us);
    table_sharding(table, session, reshard->tensor, reshard->from);
    table_sharding(table, session, reshard->tensor, reshard->to);
    put_reader(page, table, reshard);
    table_bytes(table, comm_payload(reshard));
    table_bytes(table, reshard->path->wire_bytes);
    table_us(table, reshard->path->us);
    table_us(table, row->exposed_us);
    table_text(table, groups_of(page, reshard));
}

static ReportTable *new_table(Page *page)
{
    const char *pass = label_pass(page->session->plan);
    bool several = strcmp(pass, "step") != 0;
    const char *caption = arena_printf(
        page->arena,
        "%d value%s another sharding in a %s; equal ones of different layers are one row. A slice "
        "(SL) keeps part of what the device already has: no communication.%s",
        page->session->plan->moved->n_reshards,
        page->session->plan->moved->n_reshards == 1 ? " gets" : "s get", pass,
        several ? " The row with the most time over all micro-batches of a step comes first; times "
                  "are for one micro-batch."
                : "");
    ReportTable *table = page_table(page, "collectives-table", "Communication", caption);

    table->md_rows = 30;
    table->high = true;
    table_column(table, "steps", LOOK_SHARDING, "kind and axes: AR all-reduce, AG all-gather ..");
    table_column(table, "times", LOOK_NUMBER, "number of runs in total");
    table_column(table, "value", LOOK_NAME,
                 "the value that is resharded; the link leads to the reason");
    table_column(table, "because of", LOOK_NAME, "the decision behind it");
    table_column(table, "total", LOOK_NUMBER, "time of all runs");
    table_column(table, "share", LOOK_SHARE, "fraction of the time of a step");
    table_column(table, "from", LOOK_SHARDING, "sharding in which its op produces it");
    table_column(table, "to", LOOK_SHARDING, "sharding its reader needs");
    table_page_column(table, "for", LOOK_NAME, "the first op that reads the result");
    table_column(table, "payload", LOOK_NUMBER, "payload of one rank in the largest step");
    table_more(table);
    table_page_column(table, "sent", LOOK_NUMBER, "bytes that one rank sends, per run");
    table_page_column(table, "each", LOOK_NUMBER, "time of one run");
    table_page_column(table, "exposed", LOOK_NUMBER, "time that ops wait for it in the best case");
    table_page_column(table, "groups", LOOK_NAME, "the groups of devices");
    return table;
}

/* A line for each distinct price: the formula of the cheapest algorithm. */
static void add_prices(Page *page)
{
    const Session *session = page->session;
    ReportBlock *lines = page_block(page, BLOCK_LINES);
    Intern *known = intern_new(page->arena);
    Buf text = buf_new(page->arena);

    lines->title = "How the communication is priced";
    for (int i = 0; i < page->comm->n_rows; i++) {
        const Reshard *reshard = &session->plan->moved->reshards[page->comm->row[i].first];
        const Machine *machine = plan_reshard_machine(session->plan, reshard);
        const ReshardPath *path = reshard->path;
        for (int s = 0; s < path->n_steps; s++) {
            const Step *step = &path->step[s];
            if (step->kind == STEP_SLICE)
                continue;
            Buf line = buf_new(page->arena);
            buf_printf(&line, "%s ", step_kind_name(step->kind));
            mesh_format_set(session->mesh, step->atoms, ".", &line);
            buf_printf(
                &line, ", %s: ",
                price_step(machine, session->mesh, step->kind, step->atoms, step->bytes).algorithm);
            price_terms(machine, session->mesh, step->kind, step->atoms, step->bytes, &line);
            int n = intern_count(known);
            if (intern_put(known, line.s, line.n) == n)
                buf_printf(&text, "%s%s", text.n ? "\n" : "", line.s);
        }
    }
    lines->text = text.s;
}

/* The full reason: how the value got its sharding, what its reader needs, the next best path. */
static void add_reasons(Page *page)
{
    const Session *session = page->session;

    for (int i = 0; i < page->comm->n_rows && i < WHY_MOST; i++) {
        const CommRow *row = &page->comm->row[i];
        const Reshard *reshard = &session->plan->moved->reshards[row->first];
        if (reshard->path->us <= 0)
            continue; /* a slice */
        ReportBlock *lines = page_block(page, BLOCK_LINES);
        Buf text = buf_new(page->arena);
        why_format(session->plan, reshard->tensor, -2, &text);
        lines->id = arena_printf(page->arena, "why-%d", row->first);
        lines->title =
            arena_printf(page->arena, "Why %s of %s \xc3\x97%s", steps_of(page, reshard).str.s,
                         label_of(page, row), text_count(page->arena, row->times));
        lines->text = text.s;
        lines->page_only = true;
    }
}

void part_comm(Page *page)
{
    page_section(page, "collectives", "Collectives");
    if (page->comm->n_rows == 0) {
        page_sentence(page, "None: there is no communication between devices.");
        return;
    }
    ReportTable *table = new_table(page);
    for (int i = 0; i < page->comm->n_rows; i++)
        add_row(page, table, i);
    add_reasons(page);
    add_prices(page);
}
