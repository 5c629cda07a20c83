/* part_parameters.c - the sharding of each parameter in four notations, and all decisions. */
#include "viz/report/page.h"

#include "core/summary/diff.h"
#include "core/explain/reason.h"
#include "core/summary/label.h"

/* ---- parameters ---- */

typedef struct {
    int32_t first;
    int n;
    const char *label;
} ParameterFold;

static int fold_parameters(Page *page, ParameterFold *rows)
{
    const Session *session = page->session;
    Intern *keys = intern_new(page->arena);

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        if (!tensor_is_parameter(session->inferred, t) || tensor_n_uses(session->graph, t) == 0)
            continue;
        Buf key = buf_new(page->arena);
        text_wildcard(str_from(naming_label(session->naming, t)), &key);
        size_t n = key.n;
        buf_printf(&key, " %d %d ", session->plan->moved->sharding[t], session->inferred->dtype[t]);
        inferred_put_shape(session->inferred, t, &key);
        int32_t id = intern_put(keys, key.s, key.n);
        if (rows[id].n++ == 0) {
            rows[id].first = t;
            rows[id].label = naming_label(session->naming, t);
        } else if (rows[id].n == 2) {
            rows[id].label = arena_str(page->arena, (Str){key.s, n});
        }
    }
    return intern_count(keys);
}

static void put_view(Page *page, ReportTable *table, int32_t sharding, ShardingView view)
{
    Buf text = buf_new(page->arena);

    if (sharding >= 0)
        sharding_format(shardings_at(page->session->plan->shardings, sharding), page->session->mesh,
                        view, &text, NULL);
    table_text(table, text.n || sharding < 0 ? text.s : "cannot express it");
}

/* The pins that its axes come from, each once. */
static void put_decided(Page *page, ReportTable *table, int32_t tensor)
{
    const Plan *plan = page->session->plan;
    const Shape *shape = inferred_shape(plan->inferred, tensor);
    Intern *listed = intern_new(page->arena);
    Buf text = buf_new(page->arena);

    for (int dim = 0; shape && dim < (int)shape->n_dims; dim++) {
        ReasonChain *chains;
        int n = why_tensor_dim(page->arena, plan, tensor, dim, &chains);
        for (int i = 0; i < n; i++) {
            const Decision *pin = chains[i].step[0].pin;
            Str by = pin ? label_pin(page->arena, pin) : STR("chosen by its op");
            int known = intern_count(listed);
            if (intern_put(listed, by.s, by.n) == known)
                buf_printf(&text, "%s%.*s", known > 0 ? "\n" : "", STR_ARG(by));
        }
    }
    table_text(table, text.s);
}

static void add_parameter(Page *page, ReportTable *table, const ParameterFold *row)
{
    const Session *session = page->session;
    int32_t t = row->first, stored = session->plan->moved->sharding[t];
    Buf shape = buf_new(page->arena);
    int64_t local = stored < 0 ? 0 : plan_local_bytes(session->plan, t, stored);

    if (!table_row(table, 0))
        return;
    inferred_put_shape(session->inferred, t, &shape);
    table_text(table, row->label);
    table_count(table, row->n);
    table_text(table, dtype_name((Dtype)session->inferred->dtype[t]));
    table_text(table, shape.s);
    table_sharding(table, session, t, stored);
    put_view(page, table, stored, VIEW_DIMS_MAPPING);
    put_view(page, table, stored, VIEW_PLACEMENTS);
    put_view(page, table, stored, VIEW_PARTITION_SPEC);
    table_bytes(table, local);
    table_bytes(table, row->n * local);
    put_decided(page, table, t);
}

void part_parameters(Page *page)
{
    ParameterFold *rows = arena_array(page->arena, ParameterFold, page->session->graph->n_tensors);
    int n = fold_parameters(page, rows);

    if (n == 0)
        return;
    page_section(page, "parameters", "Parameters");
    ReportTable *table = page_table(page, "parameters-table", "The sharding of each parameter",
                                    "Equal layers are one row.");
    table->md_rows = 40;
    table->high = true;
    table_column(table, "parameter", LOOK_NAME, NULL);
    table_column(table, "\xc3\x97", LOOK_NUMBER, "number of equal ones");
    table_page_column(table, "type", LOOK_TEXT, NULL);
    table_page_column(table, "shape", LOOK_NAME, NULL);
    table_column(table, "stored", LOOK_SHARDING, "size/axes that shard it");
    table_page_column(table, "dims_mapping", LOOK_NAME, "Paddle");
    table_column(table, "placements", LOOK_NAME, "DTensor");
    table_column(table, "PartitionSpec", LOOK_NAME, "JAX");
    table_page_column(table, "local", LOOK_NUMBER, "bytes of one on a device");
    table_column(table, "total", LOOK_NUMBER, "bytes of all of them on a device");
    table_column(table, "because of", LOOK_NAME, "the decisions that its axes come from");
    for (int i = 0; i < n; i++)
        add_parameter(page, table, &rows[i]);
}

/* ---- decisions ---- */

typedef struct {
    const Decision *first;
    Text label;
    int n;
} DecisionFold;

static Text decision_text(Page *page, const Decision *decision)
{
    Buf text = buf_marked(page->arena);

    decision_format(page->session, decision, &text);
    return buf_text(&text);
}

/* The same with wildcards for the numbers in the name of its place. */
static Text decision_alike(Page *page, const Decision *decision, Text whole)
{
    const TextSpan *name = text_find(whole, SPAN_NAME);
    Buf text = buf_marked(page->arena);

    if (!name || decision_is_on_ops(decision->kind))
        return whole;
    size_t end = name->at + name->n;
    buf_add_text(&text, text_part(whole, 0, name->at));
    text_wildcard(text_span(whole, name), &text);
    buf_add_text(&text, text_part(whole, end, whole.str.n - end));
    return buf_text(&text);
}

static int fold_decisions(Page *page, DecisionFold *rows)
{
    const Plan *plan = page->session->plan;
    Intern *keys = intern_new(page->arena);

    for (int i = 0; i < plan_n_held(plan); i++) {
        const Decision *decision = plan_held(plan, i);
        Text listed = decision_text(page, decision), alike = decision_alike(page, decision, listed);
        Buf key = buf_new(page->arena);
        buf_add(&key, alike.str);
        buf_putc(&key, ' ');
        label_origin(plan->mesh, &decision->origin, &key);
        int32_t id = intern_put(keys, key.s, key.n);
        if (rows[id].n++ == 0)
            rows[id] = (DecisionFold){.first = decision, .label = listed, .n = 1};
        else if (rows[id].n == 2)
            rows[id].label = alike;
    }
    return intern_count(keys);
}

void part_decisions(Page *page)
{
    int held = plan_n_held(page->session->plan);

    page_section(page, "decisions", "Decisions");
    if (held == 0) {
        page_sentence(page, "None: nothing is pinned.");
        return;
    }
    DecisionFold *rows = arena_array(page->arena, DecisionFold, held);
    int n = fold_decisions(page, rows);
    ReportTable *table =
        page_table(page, "decisions-table", "All decisions",
                   "Everything else is derived from these. Equal layers are one row.");
    table->md_rows = 40;
    table->high = true;
    table_column(table, "by", LOOK_NAME, "file and line of the policy, or the user");
    table_column(table, "decision", LOOK_SHARDING, NULL);
    table_column(table, "\xc3\x97", LOOK_NUMBER, "number of equal ones");
    table_page_column(table, "call", LOOK_NAME, "the call in the policy");
    for (int i = 0; i < n && table_row(table, 0); i++) {
        table_str(table, label_pin(page->arena, rows[i].first));
        table_marked(table, rows[i].label);
        table_count(table, rows[i].n);
        table_text(table, rows[i].first->origin.text);
    }
}
