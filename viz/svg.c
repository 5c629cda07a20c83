#include "viz/svg.h"

#include "viz/escape.h"
#include "viz/ids.h"
#include "viz/style.h"

#include <stdlib.h>

/* An id as a rule of CSS names it. */
static const char *css_name(Arena *arena, const char *id)
{
    Buf name = buf_new(arena);

    for (; *id; id++) {
        buf_puts(&name, *id == '.' ? "\\" : "");
        buf_putc(&name, *id);
    }
    return name.s;
}

/* CSS rules apply to a whole page, so they name the boxes of their own drawing only. */
static void add_style(const Diagram *diagram, const char *prefix, Buf *out)
{
    buf_puts(out, "<style>text{font-family:" STYLE_FONTS
                  ";white-space:pre}.node:hover polygon,.node:hover path"
                  "{stroke-width:2.5}");
    bool *out_of = arena_array(out->arena, bool, diagram->n_boxes + 1);
    bool *into = arena_array(out->arena, bool, diagram->n_boxes + 1);
    for (int i = 0; i < diagram->n_lines; i++) {
        out_of[diagram->lines[i].from] = true;
        into[diagram->lines[i].to] = true;
    }
    for (int i = 0; i < diagram->n_boxes; i++) {
        const char *id = css_name(out->arena, diagram->boxes[i].id);
        if (into[i])
            buf_printf(out, "#%s%s:hover~.to-%s path{stroke:#C5221F;stroke-width:3}", prefix, id,
                       id);
        if (out_of[i])
            buf_printf(out, "#%s%s:hover~.from-%s path{stroke:#1A56DB;stroke-width:3}", prefix, id,
                       id);
    }
    buf_puts(out, "</style>\n");
}

static const char *tooltip_of(const Diagram *diagram, const Intern *ids, Str id)
{
    int at = id.n > 0 ? intern_find(ids, id.s, id.n) : -1;
    if (at < 0)
        return NULL;
    if (at < diagram->n_boxes) {
        const DiagramBox *box = &diagram->boxes[at];
        return box->why ? box->why : box->title;
    }
    at -= diagram->n_boxes;
    if (at < diagram->n_frames)
        return diagram->frames[at].why ? diagram->frames[at].why : diagram->frames[at].title;
    const DiagramLine *line = &diagram->lines[at - diagram->n_frames];
    return line->why ? line->why : line->label.str.s;
}

static bool take_through(Str *rest, Str end, Str *taken)
{
    int64_t at = str_find(*rest, end);
    if (at < 0)
        return false;
    *taken = (Str){rest->s, (size_t)at + end.n};
    *rest = (Str){rest->s + taken->n, rest->n - taken->n};
    return true;
}

/* The value of id="..." in a tag. */
static Str id_of(Str tag)
{
    int64_t at = str_find(tag, STR("id=\""));
    if (at < 0)
        return (Str){0};
    Str rest = {tag.s + at + 4, tag.n - (size_t)at - 4};
    return str_take(&rest, '"');
}

/* Copies up to and including the tag, and adds the prefix to its id. */
static void add_piece(Str piece, const char *prefix, Buf *out)
{
    int64_t at = *prefix ? str_find(piece, STR(" id=\"")) : -1;

    if (at < 0) {
        buf_add(out, piece);
        return;
    }
    size_t before = (size_t)at + sizeof " id=\"" - 1;
    buf_add(out, (Str){piece.s, before});
    buf_puts(out, prefix);
    buf_add(out, (Str){piece.s + before, piece.n - before});
}

/* A blank at an end of a text separates it from the coloured axis beside it, and viewers drop it
 * unless they are told to keep blanks. */
static void add_text_tag(Str piece, Buf *out)
{
    size_t before = (size_t)str_find(piece, STR("<text ")) + sizeof "<text" - 1;

    buf_add(out, (Str){piece.s, before});
    buf_puts(out, " xml:space=\"preserve\"");
    buf_add(out, (Str){piece.s + before, piece.n - before});
}

void svg_finish(Str raw, const Diagram *diagram, const char *prefix, Buf *out)
{
    const Intern *ids = diagram_ids(out->arena, diagram);
    Str rest = raw, piece, id = {0};
    bool styled = false;

    while (take_through(&rest, STR(">"), &piece)) {
        int64_t tag_at = str_find(piece, STR("<"));
        Str tag = tag_at < 0 ? piece : (Str){piece.s + tag_at, piece.n - (size_t)tag_at};
        if (str_starts(tag, STR("<text "))) {
            add_text_tag(piece, out);
            continue;
        }
        add_piece(piece, prefix, out);
        if (str_starts(tag, STR("<g ")) && !str_starts(id_of(tag), STR("a_")))
            id = id_of(tag);
        if (str_starts(tag, STR("<svg")) && !styled) {
            buf_putc(out, '\n');
            add_style(diagram, prefix, out);
            styled = true;
        }
        if (!str_eq(tag, STR("<title>")))
            continue;
        const char *own = tooltip_of(diagram, ids, id);
        Str old;
        if (!take_through(&rest, STR("</title>"), &old))
            break;
        if (own)
            escape_markup(str_from(own), TOOLTIP_MAX, out);
        buf_puts(out, "</title>");
    }
    buf_add(out, rest);
}
