#include "core/summary/diff.h"

#include "core/plan/json_forms.h"
#include "core/session/planfile.h"
#include "core/session/schedule_json.h"

/* What `dimscope diff --json` answers:
 *     {"same":false, "same_result":false, "sides":["a.json","b.json"],
 *      "request":[{"what":"mesh", "values":["dp=2,tp=4","dp=8"]}],
 *      "fork":null or {"at":2, "decisions":[{"text", "origin":{"kind","file","line","text"}},
 * null]}, "totals":[{"step_us", .., "flops", "steps":{"all_reduce":24}}, ..], "first_op":null or
 * {"name":NAME, "why":[TEXT, ..]}, "ops":[{"n":12, "names":[..], "operator":"Gemm",
 * "sides":["n/tp","whole"]}], "tensors":[{"n", "names", "sides":[TEXT or null, ..]}], "reshards":
 * the same, "findings":[{"sides":[FINDING or null, ..]}]} A list of sides has one value each, in
 * their order; null: that side has none such. */

typedef struct {
    const PlanDiff *diff;
    Arena *scratch;
} DiffWriter;

static Json *write_request(const PlanDiff *diff)
{
    Json *out = json_array();
    for (int r = 0; r < diff->n_requests; r++) {
        Json *row = json_object(), *values = json_array();
        for (int s = 0; s < diff->n_sides; s++)
            json_add(values, json_from_str(str_from(diff->request[r].text[s])));
        json_set_str(row, "what", diff->request[r].what);
        json_set(row, "values", values);
        json_add(out, row);
    }
    return out;
}

static Json *write_decision(const DiffWriter *w, int side)
{
    const Decision *decision = diff_fork(w->diff, side);
    if (!decision)
        return json_null();
    Buf text = buf_new(w->scratch);
    decision_format(w->diff->side[side], decision, &text);
    const Origin *origin = &decision->origin;
    Json *out = json_object(), *from = json_object();
    json_set(out, "text", json_from_str(buf_str(&text)));
    json_set_str(from, "kind", origin_kind_name(origin->kind));
    json_set_str(from, "file", origin->file ? origin->file : "");
    json_set_int(from, "line", origin->line);
    json_set_str(from, "text", origin->text ? origin->text : "");
    json_set(out, "origin", from);
    return out;
}

static Json *write_fork(const DiffWriter *w)
{
    if (w->diff->fork < 0)
        return json_null();
    Json *out = json_object(), *decisions = json_array();
    for (int s = 0; s < w->diff->n_sides; s++)
        json_add(decisions, write_decision(w, s));
    json_set_int(out, "at", w->diff->fork);
    json_set(out, "decisions", decisions);
    return out;
}

static const char *name_of(const PlanDiff *diff, DiffListKind kind, const DiffEntry *entry)
{
    int s = diff_first_side(entry);
    const Session *session = diff->side[s];
    int32_t id = entry->id[s];
    return kind == DIFF_OPS
               ? op_name(session->graph, id)
               : tensor_name(session->graph, kind == DIFF_RESHARDS
                                                 ? session->plan->moved->reshards[id].tensor
                                                 : id);
}

static Json *write_first_op(const DiffWriter *w)
{
    const DiffEntry *entry = diff_first_op(w->diff);
    if (!entry)
        return json_null();
    Json *out = json_object(), *why = json_array();
    for (int s = 0; s < w->diff->n_sides; s++) {
        Buf text = buf_new(w->scratch);
        diff_format_why(w->diff, s, "", &text);
        json_add(why, json_from_str(buf_str(&text)));
    }
    json_set_str(out, "name", name_of(w->diff, DIFF_OPS, entry));
    json_set(out, "why", why);
    return out;
}

/* How often loops do it may not fit 64 bits. */
static Json *json_of_count(double count)
{
    return count < 0x1p53 ? json_from_int((int64_t)count) : json_from_real(count);
}

static Json *write_totals(const PlanDiff *diff)
{
    Json *out = json_array();
    for (int s = 0; s < diff->n_sides; s++) {
        Json *row = plan_totals_json(&diff->side[s]->plan->priced->totals), *steps = json_object();
        for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
            if (diff->n_steps[s][kind] > 0)
                json_set(steps, step_kind_name(kind), json_of_count(diff->n_steps[s][kind]));
        json_set(row, "steps", steps);
        if (diff->side[s]->plan->decided->stages)
            json_set(row, "schedule", schedule_json(diff->side[s]->plan, false));
        json_add(out, row);
    }
    return out;
}

static Json *write_thing(const DiffWriter *w, DiffListKind kind, int side, int32_t id)
{
    const Session *session = w->diff->side[side];
    Buf text = buf_new(w->scratch);
    if (id < 0)
        return json_null();
    if (kind == DIFF_FINDINGS)
        return json_of_finding(&session->plan->findings.at[id]);
    if (kind == DIFF_OPS)
        diff_format_op(session, id, &text);
    else if (kind == DIFF_TENSORS)
        diff_format_tensor(session, id, &text);
    else
        diff_format_reshard(session, id, &text);
    return json_from_str(buf_str(&text));
}

static void write_operator(const PlanDiff *diff, const DiffEntry *entry, Json *out)
{
    for (int s = 0; s < diff->n_sides; s++)
        if (entry->id[s] >= 0) {
            json_set_str(out, "operator", op_operator(diff->side[s]->graph, entry->id[s]));
            return;
        }
}

static Json *write_list(const DiffWriter *w, DiffListKind kind)
{
    const DiffList *list = &w->diff->list[kind];
    Json *out = json_array();
    for (int r = 0; r < list->n_rows; r++) {
        const DiffEntry *first = &list->entries[list->rows[r].first];
        Json *row = json_object(), *names = json_array(), *sides = json_array();
        for (int i = 0; i < list->rows[r].n && kind != DIFF_FINDINGS; i++)
            json_add(names, json_from_str(str_from(name_of(w->diff, kind, first + i))));
        for (int s = 0; s < w->diff->n_sides; s++)
            json_add(sides, write_thing(w, kind, s, first->id[s]));
        json_set_int(row, "n", list->rows[r].n);
        if (kind == DIFF_FINDINGS)
            json_free(names);
        else
            json_set(row, "names", names);
        if (kind == DIFF_OPS)
            write_operator(w->diff, first, row);
        json_set(row, "sides", sides);
        json_add(out, row);
    }
    return out;
}

Json *diff_json(const PlanDiff *diff, const char *const *names)
{
    /* ORDER DIFF_LIST */
    static const char *const lists[DIFF_LIST_COUNT] = {"ops", "tensors", "reshards", "findings"};
    DiffWriter w = {diff, arena_new()};
    Json *out = json_object(), *sides = json_array();
    for (int s = 0; s < diff->n_sides; s++)
        json_add(sides, json_from_str(str_from(names[s])));
    json_set_bool(out, "same", diff->same);
    json_set_bool(out, "same_result", diff->same_result);
    json_set(out, "sides", sides);
    json_set(out, "request", write_request(diff));
    json_set(out, "fork", write_fork(&w));
    json_set(out, "first_op", write_first_op(&w));
    json_set(out, "totals", write_totals(diff));
    for (DiffListKind kind = 0; kind < DIFF_LIST_COUNT; kind++)
        json_set(out, lists[kind], write_list(&w, kind));
    arena_free(w.scratch);
    return out;
}
