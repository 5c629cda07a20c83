#include "viz/legend.h"

#include "viz/style.h"

#include <ctype.h>

static void put(Legend *legend, const char *sign, const char *meaning)
{
    LegendRow row = {.sign = text_from(sign), .meaning = text_from(meaning)};
    vec_push(legend->arena, &legend->rows, row);
}

/* ---- every text of a drawing ---- */

typedef void (*SeeText)(void *context, Text text);

static void each_text(const Diagram *diagram, SeeText see, void *context)
{
    for (int i = 0; i < diagram->n_lines; i++)
        see(context, diagram->lines[i].label);
    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        see(context, box->flow);
        see(context, text_from(box->figures));
        for (int c = 0; c < box->n_cells; c++)
            see(context, box->cells[c].text);
    }
    see(context, diagram->caption);
}

typedef struct {
    int sharded, partial; /* the first axis that shards a dim, that a value is partial over; -1 */
    bool part, units;     /* "tp:(2)4", "12.0 MiB" occur */
} Marks;

/* A text that begins with a unit: "MiB, of", but not "msec". */
static bool is_unit(Str text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "s"};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i]);
        if (str_starts(text, str_from(units[i])) &&
            (text.n == n || (!isalnum((unsigned char)text.s[n]) && text.s[n] != '_')))
            return true;
    }
    return false;
}

/* "12.0 MiB", "51.2 us": a number, a blank that may be one at which no line breaks, and a unit. */
static bool has_unit(Str text)
{
    static const char kept[] = "\xc2\xa0";

    for (size_t i = 1; i < text.n; i++) {
        Str rest = {text.s + i, text.n - i};
        size_t blank = str_starts(rest, STR(" ")) ? 1 : str_starts(rest, str_from(kept)) ? 2 : 0;
        if (blank > 0 && isdigit((unsigned char)text.s[i - 1]) &&
            is_unit((Str){rest.s + blank, rest.n - blank}))
            return true;
    }
    return false;
}

/* A dim with an axis is "768/tp": the axis alone is named in sentences and steps. */
static void see_marks(void *context, Text text)
{
    Marks *marks = context;
    TextRun run;

    marks->part |= text_find(text, SPAN_PART) != NULL;
    for (bool sum = false; text_take_run(&text, &run); sum = run.sum) {
        marks->units |= run.axis < 0 && has_unit(run.str);
        if (run.sum && marks->partial < 0)
            marks->partial = run.axis;
        if (run.axis >= 0 && run.dim >= 0 && !run.sum && !sum && marks->sharded < 0)
            marks->sharded = run.axis;
    }
}

static void put_texts(Legend *legend, const Diagram *diagram, const Mesh *mesh)
{
    Marks marks = {.sharded = -1, .partial = -1};
    Arena *arena = legend->arena;

    each_text(diagram, see_marks, &marks);
    if (marks.sharded >= 0) {
        const char *axis = mesh->axes[marks.sharded].name;
        put(legend, arena_printf(arena, "768/%s", axis),
            arena_printf(arena, "768 elements, sharded by %s", axis));
    }
    if (marks.part)
        put(legend, "tp:(2)4", "part of tp: of size 4, below one of size 2");
    if (marks.partial >= 0) {
        const char *axis = mesh->axes[marks.partial].name;
        put(legend, arena_printf(arena, "\xce\xa3%s", axis),
            arena_printf(arena, "partial: to be summed over %s", axis));
    }
    if (marks.units)
        put(legend, "us, MiB", "of one device, estimated for the machine");
}

/* ---- lines and boxes ---- */

static void put_lines(Legend *legend, const Diagram *diagram)
{
    static const char *const looks[][2] = {
        [LINE_VALUE] = {"\xe2\x94\x80\xe2\x94\x80\xe2\x96\xb6", "value, not resharded"},
        [LINE_MOVED] = {NULL, NULL},
        [LINE_CAUSE] = {"\xe2\x94\x80\xe2\x94\x80>", "causes"},
        [LINE_A] = {"\xe2\x95\x8c\xe2\x95\x8c\xe2\x96\xb6", "only in A"},
        [LINE_B] = {"\xe2\x94\x81\xe2\x94\x81\xe2\x96\xb6", "only in B"},
        [LINE_ORDER] = {NULL, NULL},
        [LINE_DIM] = {"\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80",
                      "index dim to the tensor dim it indexes; bold: sharded"},
    };
    enum { N_LOOKS = sizeof looks / sizeof *looks };
    bool used[N_LOOKS] = {0}, moved[STEP_KIND_COUNT] = {0}, partial = false;

    for (int i = 0; i < diagram->n_lines; i++) {
        const DiagramLine *line = &diagram->lines[i];
        used[line->look] |= line->look != LINE_VALUE || !line->partial;
        moved[line->kind] |= line->look == LINE_MOVED;
        partial |= line->partial && line->look == LINE_VALUE;
    }
    for (int look = 0; look < N_LOOKS; look++)
        if (used[look] && looks[look][0] &&
            !(diagram->placed && (look == LINE_VALUE || look == LINE_DIM)))
            put(legend, looks[look][0], looks[look][1]);
    if (partial)
        put(legend, "\xe2\x95\x8c\xce\xa3\xe2\x95\x8c\xe2\x96\xb6", "partial: not summed yet");
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        if (moved[kind])
            put(legend, style_move((StepKind)kind)->sign,
                arena_printf(legend->arena, "%s %s", step_kind_mark((StepKind)kind),
                             style_move((StepKind)kind)->name));
}

static void put_boxes(Legend *legend, const Diagram *diagram)
{
    static const char *const looks[][2] = {
        [BOX_OP] = {NULL, NULL},
        [BOX_GROUP] = {"double", "border: equal layers, drawn once"},
        [BOX_OUTSIDE] = {"dashed", "border: outside the part that is drawn"},
        [BOX_PARAMETER] = {"white", "fill: parameter"},
        [BOX_DEVICE] = {NULL, NULL},
        [BOX_CAUSE] = {"corner", "folded: a decision"},
        [BOX_TABLE] = {NULL, NULL},
        [BOX_POINT] = {NULL, NULL},
    };
    bool used[BOX_LOOK_COUNT] = {0}, marked = false;

    for (int i = 0; i < diagram->n_boxes; i++) {
        used[diagram->boxes[i].look] = true;
        marked |= diagram->boxes[i].marked;
    }
    for (size_t look = 0; look < sizeof looks / sizeof *looks; look++)
        if (used[look] && looks[look][0])
            put(legend, looks[look][0], looks[look][1]);
    if (marked)
        put(legend, "thick", "border: the subject, or the largest");
}

/* ---- the plan ---- */

static void put_facts(Legend *legend, const Diagram *diagram, const Mesh *mesh)
{
    Str rest = str_from(diagram->facts);
    Buf axes = buf_marked(legend->arena);

    mesh_each_axis (axis, mesh) {
        buf_puts(&axes, axes.n > 0 ? "  " : "");
        size_t from = axes.n;
        buf_puts(&axes, axis->name);
        buf_mark(&axes, from, SPAN_AXIS, (int)(axis - mesh->axes));
        buf_printf(&axes, "=%lld", (long long)axis->size);
    }
    LegendRow row = {.sign = text_from("axes"), .meaning = buf_text(&axes), .fact = true};
    vec_push(legend->arena, &legend->rows, row);
    while (rest.n > 0) {
        Str value = str_take(&rest, '\n');
        row.sign = text_of(str_take(&value, ' '));
        row.meaning = text_of(str_trim(value));
        vec_push(legend->arena, &legend->rows, row);
    }
}

Legend legend_of(Arena *arena, const Diagram *diagram, const Mesh *mesh)
{
    Legend legend = {.arena = arena};

    put_facts(&legend, diagram, mesh);
    put_lines(&legend, diagram);
    put_boxes(&legend, diagram);
    put_texts(&legend, diagram, mesh);
    return legend;
}
