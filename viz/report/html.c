#include "viz/report/html.h"

#include "core/base/version.h"
#include "viz/escape.h"
#include "viz/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 400, LINES_MOST = 400 };

/* ---- texts and links ---- */

void html_text(Html *html, const char *text)
{
    Str rest = str_from(text);

    while (rest.n > 0) {
        escape_markup(str_take(&rest, '\n'), TOOLTIP_MAX, html->out);
        if (rest.n > 0)
            buf_putc(html->out, ' ');
    }
}

bool html_has_id(const Html *html, const char *link)
{
    return link && link[0] == '#' && intern_find(html->ids, link + 1, strlen(link + 1)) >= 0;
}

static void add_id(Html *html, const char *id)
{
    if (id)
        intern_put(html->ids, id, strlen(id));
}

static void collect_ids(Html *html)
{
    for (int i = 0; i < html->page->blocks.n; i++) {
        const ReportBlock *block = html->page->blocks.at[i];
        add_id(html, block->id);
        if (!block->table)
            continue;
        add_id(html, block->table->id);
        for (int k = 0; k < block->table->ids.n; k++)
            add_id(html, block->table->ids.at[k]);
    }
}

/* ---- drawings ---- */

static bool copy_until(Str *rest, Str mark, Buf *out)
{
    int64_t at = str_find(*rest, mark);
    size_t n = at < 0 ? rest->n : (size_t)at;

    if (out)
        buf_add(out, (Str){rest->s, n});
    *rest = (Str){rest->s + n, rest->n - n};
    return at >= 0;
}

/* Removes comments. */
static Str without_comments(Arena *arena, Str svg)
{
    Buf out = buf_new(arena);

    while (copy_until(&svg, STR("<!--"), &out)) {
        if (!copy_until(&svg, STR("-->"), NULL))
            break;
        svg = (Str){svg.s + 3, svg.n - 3};
    }
    return buf_str(&out);
}

/* Removes links to rows that the page does not have. */
static void put_links(Html *html, Str svg)
{
    static const char link[] = "xlink:href=\"";

    while (copy_until(&svg, STR("xlink:href=\""), html->out)) {
        Str value = {svg.s + sizeof link - 1, svg.n - (sizeof link - 1)};
        Str target = str_take(&value, '"');
        if (html_has_id(html, arena_str(html->out->arena, target)))
            buf_printf(html->out, "%s%.*s\"", link, STR_ARG(target));
        svg = value;
    }
}

/* The number in width="734pt" of the first tag; 0 if absent. */
static double points_of(const char *svg, const char *name)
{
    const char *tag = strstr(svg, "<svg"), *at = tag ? strstr(tag, name) : NULL;

    return at ? strtod(at + strlen(name), NULL) : 0;
}

/* Printed in portrait format. */
static bool is_tall(const ReportBlock *block)
{
    return points_of(block->text, " height=\"") > 1.2 * points_of(block->text, " width=\"");
}

/* On a narrow screen it shrinks while it stays readable, then scrolls in its box. */
static void put_svg(Html *html, const ReportBlock *block)
{
    Str svg = without_comments(html->out->arena, str_from(block->text));

    if (!copy_until(&svg, STR("<svg"), NULL))
        return;
    svg = (Str){svg.s + 4, svg.n - 4};
    buf_puts(html->out, "<svg role=\"group\" aria-label=\"");
    html_text(html, block->title);
    buf_printf(html->out, "\" style=\"min-width:%.0fpt\"",
               0.6 * points_of(block->text, " width=\""));
    put_links(html, svg);
}

static void html_drawing(Html *html, const ReportBlock *block)
{
    Buf *out = html->out;

    buf_printf(out, "<figure id=\"%s\"%s><h3>", block->id, is_tall(block) ? " class=\"tall\"" : "");
    html_text(html, block->title);
    buf_puts(out, "</h3>\n<div class=\"drawing\" role=\"region\" tabindex=\"0\" aria-label=\"");
    html_text(html, block->title);
    buf_puts(out, "\">\n");
    put_svg(html, block);
    buf_puts(out, "</div>");
    if (block->caption) {
        buf_puts(out, "<figcaption>");
        html_text(html, block->caption);
        buf_puts(out, "</figcaption>");
    }
    buf_puts(out, "</figure>\n");
}

/* ---- facts, figures, lines ---- */

static void put_facts(Html *html, const ReportBlock *block, const char *class)
{
    Buf *out = html->out;

    buf_printf(out, "<dl class=\"%s\">\n", class);
    for (int i = 0; i < block->facts.n; i++) {
        const ReportFact *fact = &block->facts.at[i];
        buf_puts(out, "<div><dt>");
        html_text(html, fact->name);
        buf_puts(out, "</dt><dd>");
        html_text(html, fact->value);
        if (fact->caption) {
            buf_puts(out, " <small>");
            html_text(html, fact->caption);
            buf_puts(out, "</small>");
        }
        buf_puts(out, "</dd></div>\n");
    }
    buf_puts(out, "</dl>\n");
}

static void put_lines(Html *html, const ReportBlock *block)
{
    Buf *out = html->out;
    Str rest = str_from(block->text);

    buf_puts(out, "<details");
    if (block->id)
        buf_printf(out, " id=\"%s\"", block->id);
    buf_puts(out, block->open ? " open=\"\"><summary>" : "><summary>");
    html_text(html, block->title);
    buf_puts(out, "</summary><pre tabindex=\"0\">");
    for (int i = 0; rest.n > 0 && i < LINES_MOST; i++) {
        escape_markup(str_take(&rest, '\n'), LINE_MOST, out);
        buf_putc(out, '\n');
    }
    buf_puts(out, "</pre></details>\n");
}

static void put_sentence(Html *html, const ReportBlock *block, const char *class)
{
    buf_printf(html->out, "<p class=\"%s\">", class);
    html_text(html, block->text);
    buf_puts(html->out, "</p>\n");
}

/* ---- bars and curves ---- */

static double whole_of(const ReportBlock *block)
{
    double sum = 0;

    for (int i = 0; i < block->parts.n; i++)
        sum += block->parts.at[i].number;
    return sum;
}

static void put_bar(Html *html, const ReportBlock *block)
{
    Buf *out = html->out;
    double whole = whole_of(block);

    if (whole <= 0)
        return;
    buf_puts(out, "<h3>");
    html_text(html, block->title);
    buf_puts(out, "</h3>\n<div class=\"bar\" aria-hidden=\"true\">");
    for (int i = 0; i < block->parts.n; i++)
        buf_printf(out, "<span class=\"t%d\" style=\"width:%.2f%%\"></span>",
                   block->parts.at[i].tint, 100 * block->parts.at[i].number / whole);
    buf_puts(out, "</div>\n<ul class=\"parts\">\n");
    for (int i = 0; i < block->parts.n; i++) {
        const ReportPart *part = &block->parts.at[i];
        buf_printf(out, "<li><span class=\"key t%d\"></span>", part->tint);
        html_text(html, part->name);
        buf_puts(out, " <b>");
        html_text(html, part->text);
        buf_printf(out, "</b> %.1f%%</li>\n", 100 * part->number / whole);
    }
    buf_puts(out, "</ul>\n");
}

static void put_curve(Html *html, const ReportBlock *block)
{
    Buf *out = html->out;
    double most = 0;
    int n = block->numbers.n;

    for (int i = 0; i < n; i++)
        most = block->numbers.at[i] > most ? block->numbers.at[i] : most;
    if (most <= 0)
        return;
    buf_puts(out, "<h3>");
    html_text(html, block->title);
    buf_puts(out, "</h3>\n<figure><div class=\"curve\"><span>");
    html_text(html, block->text);
    buf_printf(out,
               "</span><svg viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-label=\"",
               n);
    html_text(html, block->caption);
    buf_puts(out, "\"><path d=\"M0 100");
    for (int i = 0; i < n; i++)
        buf_printf(out, "V%.1fH%d", 100 - 98 * block->numbers.at[i] / most, i + 1);
    buf_printf(out, "V100Z\"/><path class=\"mark\" d=\"M%d.5 0V100\"/></svg></div><figcaption>",
               block->mark);
    html_text(html, block->caption);
    buf_puts(out, "</figcaption></figure>\n");
}

/* ---- the page ---- */

static void put_pieces(const char *const *piece, Buf *out)
{
    for (; *piece; piece++)
        buf_puts(out, *piece);
}

static void put_head(Html *html)
{
    Buf *out = html->out;

    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; img-src data:; script-src 'sha256-");
    buf_puts(out, html_script_hash);
    buf_puts(out, "'; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta name=\"generator\" content=\"dimscope " DIMSCOPE_VERSION "\">\n"
                  "<link rel=\"icon\" href=\"data:,\">\n<title>");
    html_text(html, html->page->title);
    buf_puts(out, ": how it is sharded</title>\n<style>\n");
    put_pieces(html_style, out);
    buf_puts(out, "</style>\n</head>\n<body>\n");
}

static void put_nav(Html *html)
{
    Buf *out = html->out;

    buf_puts(out, "<nav aria-label=\"Contents\"><ul>\n");
    for (int i = 0; i < html->page->blocks.n; i++) {
        const ReportBlock *block = html->page->blocks.at[i];
        if (block->kind != BLOCK_SECTION)
            continue;
        buf_printf(out, "<li><a href=\"#%s\">", block->id);
        html_text(html, block->title);
        buf_puts(out, "</a></li>\n");
    }
    buf_puts(out, "</ul></nav>\n");
}

static void put_title(Html *html)
{
    Buf *out = html->out;
    Buf mesh = buf_new(out->arena);
    const Session *session = html->page->session;

    mesh_format(session->mesh, &mesh);
    buf_puts(out, "<header><h1>");
    escape_markup(str_from(html->page->title), LABEL_MAX * 2, out);
    buf_puts(out, "</h1><p>on <code>");
    html_text(html, mesh.s);
    buf_puts(out, "</code>, policy <code>");
    html_text(html, session->options.policy ? path_base(session->options.policy) : "none");
    buf_puts(out, "</code>, machine <code>");
    html_text(html, session->machine->name);
    buf_puts(out, "</code></p></header>\n");
}

static void put_block(Html *html, const ReportBlock *block, bool *inside)
{
    switch (block->kind) {
    case BLOCK_SECTION:
        buf_puts(html->out, *inside ? "</section>\n" : "");
        buf_printf(html->out, "<section id=\"%s\">\n<h2>", block->id);
        html_text(html, block->title);
        buf_puts(html->out, "</h2>\n");
        *inside = true;
        return;
    case BLOCK_FACTS:
        put_facts(html, block, "facts");
        return;
    case BLOCK_FIGURES:
        put_facts(html, block, "figures");
        return;
    case BLOCK_SENTENCE:
        put_sentence(html, block, "says");
        return;
    case BLOCK_ALARM:
        put_sentence(html, block, "alarm");
        return;
    case BLOCK_LINES:
        put_lines(html, block);
        return;
    case BLOCK_TABLE:
        html_table(html, block->table);
        return;
    case BLOCK_BAR:
        put_bar(html, block);
        return;
    case BLOCK_CURVE:
        put_curve(html, block);
        return;
    case BLOCK_DRAWING:
        html_drawing(html, block);
        return;
    case BLOCK_FLOWCHART:
        return;
    }
}

bool report_html(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    Page *page = page_make(out->arena, request, true, notes, err);
    Html html = {.page = page, .ids = intern_new(out->arena), .out = out};
    bool inside = false;

    if (!page)
        return false;
    collect_ids(&html);
    put_head(&html);
    put_nav(&html);
    buf_puts(out, "<main>\n");
    put_title(&html);
    for (int i = 0; i < page->blocks.n; i++)
        put_block(&html, page->blocks.at[i], &inside);
    buf_puts(out, inside ? "</section>\n" : "");
    buf_puts(out, "</main>\n<script>");
    put_pieces(html_script, out);
    buf_puts(out, "</script>\n</body>\n</html>\n");
    comm_free(page->comm);
    return true;
}
