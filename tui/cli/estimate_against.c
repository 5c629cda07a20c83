#include "tui/cli/estimate_against.h"

#include "core/base/nearest.h"
#include "core/base/table.h"
#include "core/base/units.h"

#include <math.h>

/* Parts that differ by less than this have no line of reasons. */
static const double differs_from = 0.02;

/* ---- which ---- */

static const Published *find(Str name, Error *err)
{
    int n;
    const Published *all = published_all(&n);
    Nearest nearest = nearest_to(name, 3);
    for (int i = 0; i < n; i++) {
        if (str_eq(name, str_from(all[i].name)))
            return &all[i];
        nearest_try(&nearest, all[i].name);
    }
    error_kind(err, ERROR_USAGE, "there are no published formulas named '%.*s'", STR_ARG(name));
    error_hint(err, "%s%s", nearest.name ? "did you mean " : "see dimscope help estimate",
               nearest.name ? nearest.name : "");
    return NULL;
}

bool against_read(Arena *arena, const char *names, const Session *session, const TrainingCost *cost,
                  Against *out, Error *err)
{
    int n;
    const Published *all = published_all(&n);
    *out = (Against){.n = 0};
    if (!names)
        return true;
    Vec(const Published *) list = {0};
    bool every = strcmp(names, "all") == 0;
    for (int i = 0; every && i < n; i++)
        vec_push(arena, &list, &all[i]);
    Str rest = str_from(names);
    do {
        const Published *one = every ? NULL : find(str_take(&rest, ','), err);
        if (!every && !one)
            return false;
        if (one)
            vec_push(arena, &list, one);
    } while (!every && rest.n > 0);
    out->n = list.n;
    out->with = list.at;
    out->ours = published_ours(cost);
    return published_sizes(arena, session, cost, &out->sizes, err);
}

/* ---- as text ---- */

static void put_cell(Table *table, Arena *scratch, double value, PublishedPart part)
{
    Buf text = buf_new(scratch);
    if (isnan(value))
        buf_putc(&text, '-');
    else if (part == PUBLISHED_TIME)
        units_format_us(value, &text);
    else
        units_format_bytes((int64_t)value, &text);
    table_cell(table, buf_str(&text));
}

static void put_row(Table *table, Arena *scratch, const char *name, const PublishedNumbers *said)
{
    table_cell(table, str_from(name));
    for (int part = 0; part < PUBLISHED_PARTS; part++)
        put_cell(table, scratch, said->part[part], (PublishedPart)part);
}

/* How many times the plan's number it is; NAN if one of them is not there. */
static double ratio_of(const Against *against, const PublishedNumbers *said, PublishedPart part)
{
    double ours = against->ours.part[part];
    return ours > 0 ? said->part[part] / ours : NAN;
}

static bool differs(double ratio)
{
    return !isnan(ratio) && fabs(ratio - 1) > differs_from;
}

static void put_reasons(Arena *scratch, const Against *against, const Published *with, Buf *out)
{
    PublishedNumbers said = published_say(with, &against->sizes);
    buf_printf(out, "\n%s: %s\n", with->name, with->source);
    for (int part = 0; part < PUBLISHED_PARTS; part++) {
        double ratio = ratio_of(against, &said, (PublishedPart)part);
        Buf why = buf_new(scratch);
        published_differs(with, (PublishedPart)part, &against->sizes, &why);
        if (differs(ratio) && (why.n > 0 || part < PUBLISHED_STATES))
            buf_printf(out, "  %s %.2f times dimscope's%s%s\n",
                       published_part_name((PublishedPart)part), ratio, why.n > 0 ? ": " : "",
                       why.n > 0 ? why.s : "");
    }
}

void against_text(Arena *scratch, const Against *against, Buf *out)
{
    static const TableColumn columns[] = {{"PUBLISHED FORMULAS, RANK 0", 0},
                                          {"PARAMETERS", -99},
                                          {"GRADIENTS", -99},
                                          {"OPTIMIZER", -99},
                                          {"STATES", -99},
                                          {"ACTIVATIONS", -99},
                                          {"TOTAL", -99},
                                          {"STEP", -99}};
    if (against->n == 0)
        return;
    Table *table = table_new(scratch, columns, sizeof columns / sizeof *columns);
    put_row(table, scratch, "this plan", &against->ours);
    for (int i = 0; i < against->n; i++) {
        PublishedNumbers said = published_say(against->with[i], &against->sizes);
        put_row(table, scratch, against->with[i]->name, &said);
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
    for (int i = 0; i < against->n; i++)
        put_reasons(scratch, against, against->with[i], out);
}

/* ---- as JSON ---- */

/* Bytes and microseconds; null where nothing is said. */
static Json *numbers_json(const PublishedNumbers *said)
{
    Json *out = json_object();
    for (int part = 0; part < PUBLISHED_PARTS; part++)
        json_set_real(out,
                      part == PUBLISHED_TIME ? "step_us" : published_part_name((PublishedPart)part),
                      said->part[part]);
    return out;
}

static Json *reasons_json(Arena *scratch, const Against *against, const Published *with,
                          const PublishedNumbers *said)
{
    Json *out = json_array();
    for (int part = 0; part < PUBLISHED_PARTS; part++) {
        double ratio = ratio_of(against, said, (PublishedPart)part);
        if (!differs(ratio))
            continue;
        Buf why = buf_new(scratch);
        Json *row = json_object();
        published_differs(with, (PublishedPart)part, &against->sizes, &why);
        json_set_str(row, "part", published_part_name((PublishedPart)part));
        json_set_real(row, "times_ours", ratio);
        json_set(row, "why", json_from_str(buf_str(&why)));
        json_add(out, row);
    }
    return out;
}

Json *against_json(Arena *scratch, const Against *against)
{
    Json *out = json_object(), *list = json_array();
    json_set(out, "ours", numbers_json(&against->ours));
    for (int i = 0; i < against->n; i++) {
        const Published *with = against->with[i];
        PublishedNumbers said = published_say(with, &against->sizes);
        Json *row = json_object();
        json_set_str(row, "name", with->name);
        json_set_str(row, "source", with->source);
        json_set(row, "says", numbers_json(&said));
        json_set(row, "differs", reasons_json(scratch, against, with, &said));
        json_add(list, row);
    }
    json_set(out, "formulas", list);
    return out;
}
