#include "viz/dot.h"

#include "viz/style.h"

#include <graphviz/cgraph.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* cgraph takes char * where it only reads. */
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

/* A text of the model or the user: in DOT a backslash begins an escape, and cgraph leaves it so. */
static void set_text(void *object, const char *name, const char *value, Arena *arena)
{
    Buf printable = buf_new(arena), escaped = buf_new(arena);
    text_printable(str_from(value), &printable);
    for (size_t i = 0; i < printable.n; i++) {
        if (printable.s[i] == '\\')
            buf_putc(&escaped, '\\');
        buf_putc(&escaped, printable.s[i]);
    }
    set(object, name, escaped.s);
}

static void set_html(Agraph_t *graph, void *object, const char *name, const char *value)
{
    char *html = agstrdup_html(graph, text(value));
    agsafeset(object, text(name), html, text(""));
    agstrfree(graph, html);
}

static void add_escaped(Buf *out, const char *s)
{
    Buf printable = buf_new(out->arena);
    text_printable(str_from(s), &printable);
    if (printable.n == 0)
        buf_puts(out, "&#160;"); /* Graphviz refuses an empty element */
    for (size_t i = 0; i < printable.n; i++)
        switch (printable.s[i]) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        default:
            buf_putc(out, printable.s[i]);
        }
}

static bool is_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A sharding's text with each axis name in its colour: "8/dp,1024,768/tp". */
static void add_coloured(Buf *out, const char *s, const Mesh *mesh)
{
    const char *rest = s[0] ? s : " ";
    while (*rest) {
        const char *end = rest;
        while (is_name_char(*end))
            end++;
        int axis = end > rest ? mesh_find_axis(mesh, (Str){rest, (size_t)(end - rest)}) : -1;
        const char *upto = end > rest ? end : rest + 1;
        const char *part = arena_str(out->arena, (Str){rest, (size_t)(upto - rest)});
        if (axis >= 0)
            buf_printf(out, "<FONT COLOR=\"%s\"><B>%s</B></FONT>", style_axis_colour(axis), part);
        else if ((unsigned char)*rest < 0x80)
            add_escaped(out, part);
        else
            buf_puts(out, part);
        rest = upto;
    }
}

static void add_row(Buf *out, const char *s, const char *open, const char *close)
{
    if (!s[0])
        return;
    buf_printf(out, "<TR><TD ALIGN=\"LEFT\">%s", open);
    add_escaped(out, s);
    buf_printf(out, "%s</TD></TR>", close);
}

static void add_node(Agraph_t *graph, const DiagramNode *node, int i, const Mesh *mesh,
                     Arena *arena)
{
    Agnode_t *box = agnode(graph, text(arena_printf(arena, "n%d", i)), 1);
    Buf label = buf_new(arena);
    buf_puts(&label, "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">"
                     "<TR><TD ALIGN=\"LEFT\"><B>");
    add_escaped(&label, node->title);
    buf_puts(&label, "</B>  ");
    add_escaped(&label, node->operator);
    buf_puts(&label, "</TD></TR><TR><TD ALIGN=\"LEFT\">");
    add_coloured(&label, node->flow, mesh);
    buf_puts(&label, "</TD></TR>");
    add_row(&label, node->figures, "<FONT COLOR=\"" STYLE_NEUTRAL "\">", "</FONT>");
    buf_puts(&label, "</TABLE>");
    set_html(graph, box, "label", label.s);
    set_text(box, "tooltip", node->why[0] ? node->why : node->title, arena);
    if (node->outside)
        set(box, "style", "filled,dashed");
    if (node->repeated)
        set(box, "peripheries", "2");
}

/* Marks that read in grey too: AR arrows both ways, AG crow's foot, RS inverted, A2A a double line,
 * PP dotted to a dot. */
static void mark_reshard(Agedge_t *line, const DiagramEdge *edge, Arena *arena)
{
    const char *colour = style_axis_colour(edge->axis);
    set(line, "color", colour);
    switch (edge->kind) {
    case STEP_ALL_REDUCE:
        set(line, "dir", "both");
        set(line, "style", "bold");
        break;
    case STEP_ALL_GATHER:
        set(line, "arrowhead", "crow");
        break;
    case STEP_REDUCE_SCATTER:
        set(line, "arrowhead", "inv");
        set(line, "style", "dashed");
        break;
    case STEP_ALL_TO_ALL:
        set(line, "color", arena_printf(arena, "%s:white:%s", colour, colour));
        break;
    case STEP_PERMUTE:
    case STEP_SEND:
    case STEP_BROADCAST:
        set(line, "arrowhead", "dot");
        set(line, "style", "dotted");
        break;
    case STEP_SLICE:
    case STEP_KIND_COUNT:
        break;
    }
    double width = log2((double)edge->bytes / (1 << 20));
    width = width < 1 ? 1 : width > 6 ? 6 : width;
    set(line, "penwidth", arena_printf(arena, "%.1f", width));
}

static void add_edge(Agraph_t *graph, const DiagramEdge *edge, int i, Arena *arena)
{
    Agnode_t *from = agnode(graph, text(arena_printf(arena, "n%d", edge->from)), 0);
    Agnode_t *to = agnode(graph, text(arena_printf(arena, "n%d", edge->to)), 0);
    Agedge_t *line = agedge(graph, from, to, text(arena_printf(arena, "e%d", i)), 1);
    if (edge->label[0])
        set(line, "label", edge->label);
    if (edge->axis >= 0)
        mark_reshard(line, edge, arena);
    else if (edge->partial)
        set(line, "style", "dashed");
}

static void add_legend(Agraph_t *graph, const Diagram *diagram, const Mesh *mesh, Arena *arena)
{
    Agraph_t *cluster = agsubg(graph, text("cluster_legend"), 1);
    set(cluster, "label", "legend");
    set(cluster, "style", "rounded");
    set(cluster, "color", STYLE_NEUTRAL);
    Agnode_t *box = agnode(cluster, text("legend"), 1);
    Buf label = buf_new(arena);
    buf_puts(&label,
             "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\"><TR><TD "
             "ALIGN=\"LEFT\">axes");
    mesh_each_axis (axis, mesh)
        buf_printf(&label, "  <FONT COLOR=\"%s\"><B>%s</B></FONT>=%lld",
                   style_axis_colour((int)(axis - mesh->axes)), axis->name, (long long)axis->size);
    buf_puts(&label, "</TD></TR>");
    const char *line = diagram->legend;
    while (*line) {
        size_t n = strcspn(line, "\n");
        add_row(&label, arena_str(arena, (Str){line, n}), "", "");
        line += n + (line[n] == '\n');
    }
    buf_puts(&label, "</TABLE>");
    set_html(graph, box, "label", label.s);
    set(box, "shape", "plain");
}

static void set_defaults(Agraph_t *graph)
{
    static const struct {
        int kind;
        const char *name, *value;
    } defaults[] = {
        {AGRAPH, "rankdir", "TB"},
        {AGRAPH, "newrank", "true"},
        {AGRAPH, "compound", "true"},
        {AGRAPH, "fontname", "DejaVu Sans"},
        {AGRAPH, "labelloc", "t"},
        {AGNODE, "shape", "box"},
        {AGNODE, "fontname", "DejaVu Sans"},
        {AGNODE, "fontsize", "10"},
        {AGNODE, "fontcolor", STYLE_TEXT},
        {AGNODE, "style", "filled"},
        {AGNODE, "fillcolor", STYLE_GROUP},
        {AGNODE, "color", STYLE_NEUTRAL},
        {AGNODE, "label", ""},
        {AGEDGE, "fontname", "DejaVu Sans"},
        {AGEDGE, "fontsize", "9"},
        {AGEDGE, "color", "#9AA0A6"},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        agattr(graph, defaults[i].kind, text(defaults[i].name), text(defaults[i].value));
}

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&bytes, &n);
    if (!memory)
        return error_set(err, "no memory for the drawing");
    Agraph_t *graph = agopen(text("plan"), Agdirected, NULL);
    set_defaults(graph);
    set_text(graph, "label", diagram->title, out->arena);
    for (int i = 0; i < diagram->n_nodes; i++)
        add_node(graph, &diagram->nodes[i], i, mesh, out->arena);
    for (int i = 0; i < diagram->n_edges; i++)
        add_edge(graph, &diagram->edges[i], i, out->arena);
    add_legend(graph, diagram, mesh, out->arena);
    bool ok = agwrite(graph, memory) == 0;
    agclose(graph);
    ok = fclose(memory) == 0 && ok;
    if (ok)
        buf_add(out, (Str){bytes, n});
    free(bytes);
    return ok || error_set(err, "the drawing could not be written");
}
