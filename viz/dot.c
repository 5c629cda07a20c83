#include "viz/dot.h"

#include "core/base/intern.h"
#include "core/base/memory.h"
#include "viz/dot_label.h"
#include "viz/escape.h"
#include "viz/legend.h"
#include "viz/style.h"

#include <graphviz/cgraph.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_PER_INCH = 72, LEGEND_GAP = 20, FACT_MAX = 400 };
static const double LEGEND_ROW = 1.5; /* in ems */

typedef struct {
    const Diagram *diagram;
    const Mesh *mesh;
    Agraph_t *graph;
    Agraph_t **frame; /* per frame: the subgraph of its boxes */
    Agnode_t **box;
    Arena *arena;
} Dot;

/* cgraph takes char * for strings that it only reads. */
static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } view = {s};
    return view.out;
}

static void set(void *object, const char *name, const char *value)
{
    agsafeset(object, text(name), text(value), text(""));
}

/* Sets a text of the model or the user. A backslash begins an escape in DOT, and cgraph does not
 * escape it. end: "\\n" centres each line, "\\l" aligns it left. */
static void set_lines(Dot *dot, void *object, const char *name, const char *value, int limit,
                      const char *end)
{
    Buf plain = buf_new(dot->arena), escaped = buf_new(dot->arena);
    Str rest = str_from(value);

    while (rest.n > 0) {
        escape_plain(str_take(&rest, '\n'), limit, &plain);
        if (rest.n > 0)
            buf_putc(&plain, '\n');
    }
    for (size_t i = 0; i < plain.n; i++) {
        if (plain.s[i] == '\\')
            buf_putc(&escaped, '\\');
        if (plain.s[i] == '\n')
            buf_puts(&escaped, end);
        else
            buf_putc(&escaped, plain.s[i]);
    }
    if (strchr(value, '\n'))
        buf_puts(&escaped, end[1] == 'l' ? end : "");
    set(object, name, escaped.s);
}

static void set_text(Dot *dot, void *object, const char *name, const char *value, int limit)
{
    set_lines(dot, object, name, value, limit, "\\n");
}

static void set_html(Dot *dot, void *object, const char *name, const char *value)
{
    char *html = agstrdup_html(dot->graph, text(value));
    agsafeset(object, text(name), html, text(""));
    agstrfree(dot->graph, html);
}

/* ---- facts ---- */

/* Attributes that Graphviz itself does not know, for gvpr and other readers of DOT. */
static void set_facts(Dot *dot, void *object, const DiagramFacts *facts)
{
    if (!facts)
        return;
    const struct {
        const char *name, *value;
    } texts[] = {
        {"op", facts->op},       {"path", facts->path},   {"layer", facts->layer},
        {"axes", facts->axes},   {"phase", facts->phase}, {"sharding", facts->sharding},
        {"cause", facts->cause},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value && *texts[i].value)
            set_text(dot, object, texts[i].name, texts[i].value, FACT_MAX);
    if (facts->bytes >= 0)
        set(object, "bytes", arena_printf(dot->arena, "%" PRId64, facts->bytes));
    if (facts->us >= 0)
        set(object, "us", arena_printf(dot->arena, "%.6g", facts->us));
}

/* ---- boxes ---- */

/* ORDER BOX_LOOK: shape and style; "" for the defaults. */
static const struct {
    const char *shape, *style;
} box_looks[] = {
    [BOX_OP] = {"", ""},
    [BOX_GROUP] = {"", ""},
    [BOX_OUTSIDE] = {"", "dashed"},
    [BOX_PARAMETER] = {"", "solid"},
    [BOX_DEVICE] = {"", "rounded,filled"},
    [BOX_CAUSE] = {"note", ""},
    [BOX_TABLE] = {"plain", "solid"},
    [BOX_POINT] = {"point", ""},
    [BOX_TEXT] = {"plaintext", "solid"},
    [BOX_FILL] = {"", ""},
    [BOX_AREA] = {"", ""},
    [BOX_CIRCLE] = {"ellipse", ""},
    [BOX_CORNER] = {"point", "invis"},
    [BOX_OUTLINE] = {"", "solid"},
    [BOX_DASHES] = {"", "dashed"},
    [BOX_DOUBLE] = {"", "solid"},
};

static void set_points(Dot *dot, void *object, const char *name, double points)
{
    set(object, name, arena_printf(dot->arena, "%.4g", points / POINTS_PER_INCH));
}

/* dot counts y upwards, and places the middle. */
static void place_box(Dot *dot, Agnode_t *node, const DiagramBox *box)
{
    DiagramPlace at = box->place;

    set(node, "pos", arena_printf(dot->arena, "%.2f,%.2f", at.x + at.w / 2, -(at.y + at.h / 2)));
    set(node, "fixedsize", "shape");
    set(node, "margin", "0");
    set_points(dot, node, "width", at.w);
    set_points(dot, node, "height", at.h);
    if (box->look != BOX_FILL && box->look != BOX_AREA)
        return;
    set(node, "penwidth", box->look == BOX_FILL ? "0.4" : "0");
    set(node, "fillcolor", box->ink >= 0 ? style_axis_colour(box->ink) : style_shade(box->shade));
}

static void add_box(Dot *dot, int i)
{
    const DiagramBox *box = &dot->diagram->boxes[i];
    Agraph_t *inside = box->frame >= 0 ? dot->frame[box->frame] : dot->graph;
    Agnode_t *node = agnode(inside, text(box->id), 1);

    dot->box[i] = node;
    set(node, "id", box->id);
    set_facts(dot, node, box->facts);
    const char *label = label_box(dot->arena, dot->diagram, box);
    if (*label)
        set_html(dot, node, "label", label);
    else
        set(node, "label", "");
    set_text(dot, node, "tooltip", box->why ? box->why : box->title, TOOLTIP_MAX);
    if (box->link && dot->diagram->linked)
        set(node, "URL", box->link);
    if (*box_looks[box->look].shape)
        set(node, "shape", box_looks[box->look].shape);
    if (box->side == 'A')
        set(node, "style", "dashed");
    else if (*box_looks[box->look].style)
        set(node, "style", box_looks[box->look].style);
    if (box->look == BOX_GROUP || box->look == BOX_DOUBLE)
        set(node, "peripheries", "2");
    if (box->look == BOX_POINT)
        set(node, "width", "0.06");
    if (dot->diagram->placed)
        place_box(dot, node, box);
    if (box->marked || box->side == 'B')
        set(node, "penwidth", dot->diagram->points > 0 ? "1.5" : "3");
    if (box->marked)
        set(node, "color", STYLE_TEXT);
}

/* Boxes of one level, which need not be neighbours in the list. */
static void add_levels(Dot *dot)
{
    const Diagram *diagram = dot->diagram;
    int most = -1;

    for (int i = 0; i < diagram->n_boxes; i++)
        most = diagram->boxes[i].level > most ? diagram->boxes[i].level : most;
    if (most < 0)
        return;
    Agraph_t **level = arena_array(dot->arena, Agraph_t *, most + 1);
    for (int i = 0; i < diagram->n_boxes; i++) {
        int l = diagram->boxes[i].level;
        if (l < 0)
            continue;
        if (!level[l]) {
            level[l] = agsubg(dot->graph, text(arena_printf(dot->arena, "level_%d", l)), 1);
            set(level[l], "rank", "same");
        }
        agsubnode(level[l], dot->box[i], 1);
    }
}

/* ---- frames ---- */

static Agraph_t *new_frame(Agraph_t *around, const char *name)
{
    Agraph_t *frame = agsubg(around, text(name), 1);
    set(frame, "label", ""); /* attributes are inherited from the frame around */
    set(frame, "style", "solid");
    set(frame, "penwidth", "1");
    set(frame, "color", STYLE_NEUTRAL);
    set(frame, "labeljust", "l");
    set(frame, "id", name + strlen("cluster_"));
    return frame;
}

static void add_frame(Dot *dot, int i)
{
    const DiagramFrame *frame = &dot->diagram->frames[i];
    Agraph_t *around = frame->parent >= 0 ? dot->frame[frame->parent] : dot->graph;
    Agraph_t *made = new_frame(around, arena_printf(dot->arena, "cluster_%s", frame->id));

    if (dot->diagram->bare) /* the page has no margin, which frames would inherit */
        set(made, "margin", frame->look == FRAME_STAGE ? "0" : "5");
    if (frame->look == FRAME_REPEATED) { /* double border: one frame close around another */
        set(made, "margin", "4");
        made = new_frame(made, arena_printf(dot->arena, "cluster_%s_inner", frame->id));
    }
    set_lines(dot, made, "label", frame->title, LABEL_MAX * 2, "\\l");
    set_text(dot, made, "tooltip", frame->why ? frame->why : frame->title, TOOLTIP_MAX);
    if (frame->side == 'r' || frame->side == 'c')
        set(made, "labeljust", frame->side == 'r' ? "r" : "c");
    if (frame->look == FRAME_STAGE) {
        set(made, "style", "rounded");
        set(made, "penwidth", "3");
    } else if (frame->look == FRAME_DEVICES) {
        set(made, "style", "dashed");
    }
    dot->frame[i] = made;
}

/* ---- lines ---- */

static void mark_moved(Dot *dot, Agedge_t *edge, StepKind kind, int axis, int64_t bytes)
{
    const StyleMove *move = style_move(kind);
    const char *colour = style_axis_colour(axis);
    double width = log2((double)bytes / (1 << 20));

    set(edge, "color",
        move->doubled ? arena_printf(dot->arena, "%s:white:%s", colour, colour) : colour);
    set(edge, "fontcolor", colour);
    set(edge, "arrowhead", move->head);
    set(edge, "dir", move->direction);
    set(edge, "style", move->style);
    double most = dot->diagram->points > 0 ? 2.5 : 6; /* thinner on paper, as all lines are */
    width = width < 1 ? 1 : width > most ? most : width;
    set(edge, "penwidth", arena_printf(dot->arena, "%.1f", width));
}

static void mark_dim(const Dot *dot, Agedge_t *edge, int axis)
{
    set(edge, "dir", "none");
    if (axis < 0)
        return;
    set(edge, "color", style_axis_colour(axis));
    set(edge, "fontcolor", style_axis_colour(axis));
    set(edge, "penwidth", dot->diagram->points > 0 ? "1.5" : "3");
}

static void mark_line(Dot *dot, Agedge_t *edge, const DiagramLine *line)
{
    if (line->look == LINE_MOVED)
        mark_moved(dot, edge, line->kind, line->axis, line->bytes);
    if (line->look == LINE_VALUE && line->partial)
        set(edge, "style", "dashed");
    if (line->look == LINE_CAUSE) {
        const char *colour = line->axis >= 0 ? style_axis_colour(line->axis) : STYLE_TEXT;
        set(edge, "arrowhead", "vee");
        set(edge, "color", colour);
        set(edge, "fontcolor", colour);
    }
    if (line->look == LINE_DIM)
        mark_dim(dot, edge, line->axis);
    if (line->look == LINE_A)
        set(edge, "style", "dashed");
    if (line->look == LINE_B) {
        set(edge, "penwidth", "3");
        set(edge, "color", STYLE_TEXT);
    }
    if (line->look == LINE_ORDER)
        set(edge, "style", "invis");
}

/* Indents each line of a label, since wide lines cover their labels. */
static const char *beside_line(const Dot *dot, Str rest)
{
    Buf out = buf_new(dot->arena);

    while (rest.n > 0) {
        buf_puts(&out, out.n ? "\n\xc2\xa0\xc2\xa0" : "\xc2\xa0\xc2\xa0");
        buf_add(&out, str_take(&rest, '\n'));
    }
    return out.s;
}

static void add_line(Dot *dot, int i)
{
    const DiagramLine *line = &dot->diagram->lines[i];
    Agedge_t *edge =
        agedge(dot->graph, dot->box[line->from], dot->box[line->to], text(line->id), 1);
    set(edge, "id", line->id);
    set(edge, "class",
        arena_printf(dot->arena, "from-%s to-%s", dot->diagram->boxes[line->from].id,
                     dot->diagram->boxes[line->to].id));
    set_facts(dot, edge, line->facts);
    mark_line(dot, edge, line);
    if (line->label.str.n > 0)
        set_text(dot, edge, "label", beside_line(dot, line->label.str), LABEL_MAX);
    else if (line->partial)
        set(edge, "label", "\xce\xa3");
    if (line->why)
        set_text(dot, edge, "tooltip", line->why, TOOLTIP_MAX);
    if (line->link && dot->diagram->linked)
        set(edge, "URL", line->link);
    if (line->from_port)
        set(edge, "tailport", line->from_port);
    if (line->to_port)
        set(edge, "headport", line->to_port);
    if (line->open)
        set(edge, "dir", "none");
    if (line->loose)
        set(edge, "constraint", "false");
    if (line->straight)
        set(edge, "weight", "20");
}

/* ---- the legend ---- */

static void add_legend(Dot *dot)
{
    Agraph_t *legend = agsubg(dot->graph, text("cluster_legend"), 1);

    set(legend, "label", "legend");
    set(legend, "style", "rounded");
    set(legend, "color", STYLE_NEUTRAL);
    set(legend, "tooltip", "legend");
    set(legend, "id", "legend");
    Agnode_t *box = agnode(legend, text("legend"), 1);
    set(box, "shape", "plain");
    set(box, "style", "");
    set(box, "tooltip", "legend");
    set_html(dot, box, "label", label_legend(dot->arena, dot->diagram, dot->mesh));
    if (!dot->diagram->placed)
        return;
    DiagramPlace at = diagram_page(dot->diagram);
    int rows = legend_of(dot->arena, dot->diagram, dot->mesh).rows.n;
    set(box, "pos",
        arena_printf(dot->arena, "%.2f,%.2f", at.w / 2,
                     -(at.h + LEGEND_GAP + LEGEND_ROW * dot->diagram->points * rows / 2)));
}

/* ---- the whole graph ---- */

static void set_defaults(Agraph_t *graph)
{
    static const struct {
        int kind;
        const char *name, *value;
    } defaults[] = {
        {AGRAPH, "rankdir", "TB"},
        {AGRAPH, "newrank", "true"},
        {AGRAPH, "compound", "true"},
        {AGRAPH, "outputorder",
         "nodesfirst"}, /* boxes first, so that CSS can style the lines of a hovered one: svg.h */
        {AGRAPH, "fontname", STYLE_FONT},
        {AGRAPH, "fontsize", "10"},
        {AGRAPH, "fontcolor", STYLE_TEXT},
        {AGRAPH, "labelloc", "t"},
        {AGRAPH, "label", "?"}, /* an explicit default makes cgraph write empty ones too */
        {AGRAPH, "nodesep", "0.3"},
        {AGRAPH, "ranksep", "0.35"},
        {AGNODE, "shape", "box"},
        {AGNODE, "fontname", STYLE_FONT},
        {AGNODE, "fontsize", "10"},
        {AGNODE, "fontcolor", STYLE_TEXT},
        {AGNODE, "style", "filled"},
        {AGNODE, "fillcolor", STYLE_GROUP},
        {AGNODE, "color", STYLE_NEUTRAL},
        {AGNODE, "label", "?"},
        {AGEDGE, "fontname", STYLE_FONT},
        {AGEDGE, "fontsize", "9"},
        {AGEDGE, "color", STYLE_LINE},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        agattr(graph, defaults[i].kind, text(defaults[i].name), text(defaults[i].value));
}

static void set_layout(Dot *dot)
{
    const Diagram *diagram = dot->diagram;

    if (diagram->sideways)
        set(dot->graph, "rankdir", "LR");
    if (diagram->points > 0) {
        const char *size = arena_printf(dot->arena, "%g", diagram->points);
        agattr(dot->graph, AGRAPH, text("fontsize"), text(size));
        agattr(dot->graph, AGNODE, text("fontsize"), text(size));
        agattr(dot->graph, AGEDGE, text("fontsize"), text(size));
        agattr(dot->graph, AGEDGE, text("arrowsize"), text("0.5"));
        agattr(dot->graph, AGNODE, text("penwidth"), text("0.6"));
        agattr(dot->graph, AGEDGE, text("penwidth"), text("0.6"));
    }
    if (diagram->bare) {
        set(dot->graph, "label", "");
        set(dot->graph, "pad", "0.01");
        set(dot->graph, "margin", "0");
    }
    if (diagram->placed) {
        set(dot->graph, "layout", "nop");
        set(dot->graph, "splines", "line");
    }
}

static void set_title(Dot *dot)
{
    set_html(dot, dot->graph, "label", label_title(dot->arena, dot->diagram));
}

/* ---- memory: cgraph goes on without what it asked for ---- */

/* What cgraph takes for one box, line or frame of any kind, with its attributes: less than half of
 * this. */
enum { ITEM_BYTES = 8 << 10 };

/* Its dictionaries (libcdt) and its writer ask the system themselves, check nothing and crash. So
 * what the whole drawing takes is asked for before, here, where a refusal ends the program with its
 * reason. */
static void ask_for_memory(const Diagram *diagram)
{
    size_t n = (size_t)diagram->n_boxes + (size_t)diagram->n_lines + (size_t)diagram->n_frames;
    free(memory_take((n + 1) * ITEM_BYTES));
}

static void *memory_open(Agdisc_t *discipline)
{
    (void)discipline;
    return NULL;
}

static void *memory_alloc(void *state, size_t n_bytes)
{
    (void)state;
    return memory_take_zeros(n_bytes);
}

static void *memory_grow(void *state, void *piece, size_t old_bytes, size_t n_bytes)
{
    (void)state;
    char *moved = memory_resize(piece, n_bytes);
    if (n_bytes > old_bytes)
        memset(moved + old_bytes, 0, n_bytes - old_bytes);
    return moved;
}

static void memory_free(void *state, void *piece)
{
    (void)state;
    free(piece);
}

/* ---- ids ---- */

/* cgraph writes frames in the order of their ids. Its own ids are addresses, which differ from run
 * to run; these number names in the order of first use; unnamed objects get odd ids. */
typedef struct {
    Agdisc_t discipline;
    Agmemdisc_t memory;
    Agiddisc_t calls;
    Agraph_t *graph;
    Arena *arena;
    Intern *names;
    Vec(char *) kept; /* per name, cgraph's own copy: cgraph compares pointers */
    IDTYPE n_without;
} Ids;

static void *ids_open(Agraph_t *graph, Agdisc_t *discipline)
{
    void *state = discipline; /* the first member of Ids */
    Ids *ids = state;

    ids->graph = graph;
    return ids;
}

static long ids_map(void *state, int kind, char *name, IDTYPE *id, int create)
{
    Ids *ids = state;

    (void)kind;
    if (!name) {
        *id = 2 * ids->n_without++ + 1;
        return 1;
    }
    int32_t at = create ? intern_put(ids->names, name, strlen(name))
                        : intern_find(ids->names, name, strlen(name));
    if (at == ids->kept.n)
        vec_push(ids->arena, &ids->kept, agstrdup(ids->graph, name));
    *id = 2 * ((IDTYPE)at + 1);
    return at >= 0;
}

static char *ids_print(void *state, int kind, IDTYPE id)
{
    const Ids *ids = state;

    (void)kind;
    return id % 2 ? NULL : ids->kept.at[id / 2 - 1];
}

static long ids_take(void *state, int kind, IDTYPE id)
{
    (void)state, (void)kind, (void)id;
    return 0; /* ids are never requested */
}

static void ids_free(void *state, int kind, IDTYPE id)
{
    (void)state, (void)kind, (void)id;
}

static void ids_close(void *state)
{
    (void)state;
}

static void ids_register(void *state, int kind, void *object)
{
    (void)state, (void)kind, (void)object;
}

static Agraph_t *open_graph(Arena *arena)
{
    Ids *ids = arena_make(arena, Ids);

    ids->arena = arena;
    ids->names = intern_new(arena);
    ids->calls =
        (Agiddisc_t){ids_open, ids_map, ids_take, ids_free, ids_print, ids_close, ids_register};
    /* With a function that closes, cgraph would leave all of the graph to it. */
    ids->memory = (Agmemdisc_t){memory_open, memory_alloc, memory_grow, memory_free, NULL};
    ids->discipline = (Agdisc_t){.mem = &ids->memory, .id = &ids->calls, .io = &AgIoDisc};
    return agopen(text("plan"), Agdirected, &ids->discipline);
}

bool dot_is_here(void)
{
    return true;
}

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err)
{
    Arena *scratch = arena_new();
    Dot dot = {.diagram = diagram, .mesh = mesh, .arena = scratch};
    char *bytes = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&bytes, &n);

    if (!memory) {
        arena_free(scratch);
        return error_set(err, "not enough memory for the drawing");
    }
    ask_for_memory(diagram);
    dot.graph = open_graph(scratch);
    dot.frame = arena_array(scratch, Agraph_t *, diagram->n_frames);
    dot.box = arena_array(scratch, Agnode_t *, diagram->n_boxes);
    set_defaults(dot.graph);
    set_layout(&dot);
    if (!diagram->bare)
        set_title(&dot);
    for (int i = 0; i < diagram->n_frames; i++)
        add_frame(&dot, i);
    for (int i = 0; i < diagram->n_boxes; i++)
        add_box(&dot, i);
    add_levels(&dot);
    for (int i = 0; i < diagram->n_lines; i++)
        add_line(&dot, i);
    if (!diagram->bare)
        add_legend(&dot);
    bool ok = agwrite(dot.graph, memory) == 0;
    agclose(dot.graph);
    ok = fclose(memory) == 0 && ok && bytes; /* without memory its bytes are gone, and no error */
    if (ok)
        buf_add(out, (Str){bytes, n});
    free(bytes);
    arena_free(scratch);
    return ok || error_set(err, "the drawing could not be written");
}
