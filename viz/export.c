#include "viz/export.h"

#include "core/base/file.h"
#include "core/code/values.h"
#include "core/run/trace/trace_json.h"
#include "viz/dot.h"
#include "viz/dot_label.h"
#include "viz/dot_layout.h"
#include "viz/paper.h"
#include "viz/placed.h"
#include "viz/report/report.h"
#include "viz/report/tables.h"
#include "viz/svg.h"

#include <math.h>

/* ---- drawings ---- */

static bool fits(const Diagram *diagram, Error *err)
{
    if (diagram->n_boxes <= LAYOUT_BOXES_MAX || diagram->placed)
        return true;
    error_kind(err, ERROR_UNSUPPORTED,
               "%d boxes are more than dot can lay out in time (at most %d)", diagram->n_boxes,
               LAYOUT_BOXES_MAX);
    error_hint(err, "%s is small enough; --dot writes this drawing at any size", diagram->fold);
    return false;
}

/* Removes the date of a PDF, so that equal plans give equal bytes. */
static void take_date(Buf *pdf)
{
    static const char date[] = "(D:19700101000000Z)";
    int64_t at = str_find(buf_str(pdf), STR("/CreationDate (D:"));

    if (at < 0)
        return;
    char *open = pdf->s + at + strlen("/CreationDate ");
    char *close = memchr(open, ')', pdf->n - (size_t)(open - pdf->s));
    if (close && close - open == (ptrdiff_t)sizeof date - 2)
        memcpy(open, date, sizeof date - 1);
}

/* Where dot puts what is drawn. Returns false if dot fails, with *absent as layout_dot() has it. */
static bool place(const ExportRequest *request, const Diagram *diagram, Arena *arena, Placed *out,
                  bool *absent, Error *err)
{
    Buf dot = buf_new(arena), json = buf_new(arena);

    return dot_write(diagram, request->drawing.session->mesh, &dot, err) &&
           layout_dot(buf_str(&dot), "json0", request->progress, &json, absent, err) &&
           placed_read(arena, buf_str(&json), diagram, out, err);
}

/* The boxes one below the other; no page if they are too wide even so. placed: where they are in
 * the way before, which gives their order. */
static PaperPages stack_boxes(const ExportRequest *request, const Diagram *diagram, Arena *arena,
                              const Placed *placed, double height, bool *absent, Error *err)
{
    double width = paper_column(request->paper);
    Diagram *plain = paper_diagram(arena, diagram, PAPER_WAYS - 1, width, NULL);
    const double *room = paper_room(arena, plain, placed, request->paper);
    Placed sizes;

    Diagram *made = paper_diagram(arena, diagram, PAPER_WAYS - 1, width, room);
    if (!place(request, made, arena, &sizes, absent, err))
        return (PaperPages){0};
    return paper_stack(arena, made, placed, &sizes, request->paper, height);
}

static PaperPages one_page(Diagram *diagram)
{
    return (PaperPages){1, diagram};
}

/* The first way to lay the drawing out that is not larger than the page, else the narrowest. */
static PaperPages fit_page(const ExportRequest *request, Diagram *diagram, Arena *arena,
                           double height, ExportNotes *notes, bool *absent, Error *err)
{
    Diagram *best = NULL;
    double least = INFINITY;
    Placed placed = {0};
    bool fits = false;

    for (int way = 0; way < PAPER_WAYS && !fits; way++) {
        PaperPages stacked = {0};
        if (way + 1 == PAPER_WAYS && !diagram->placed)
            stacked = stack_boxes(request, diagram, arena, &placed, height, absent, err);
        if (stacked.n > 0)
            return stacked;
        Diagram *made = paper_diagram(arena, diagram, way, request->paper, NULL);
        if (!place(request, made, arena, &placed, absent, err))
            return stacked;
        double width = placed.page.x1 - placed.page.x0;
        fits = width <= request->paper &&
               (diagram->placed || placed.page.y1 - placed.page.y0 <= PAPER_HEIGHT);
        if (width >= least && !fits)
            continue;
        least = width;
        best = made;
    }
    if (least > request->paper + 0.5)
        export_note(notes, "it is %.2f in wide in %g pt type: --width %.2fin fits it", least / 72,
                    PAPER_POINTS, ceil(least / 0.72) / 100);
    return one_page(best);
}

/* A diagram that is placed and takes more than half a page stands in columns, as wide as they are.
 */
static PaperPages cut_page(const ExportRequest *request, Diagram *diagram, Arena *arena,
                           double height, ExportNotes *notes, bool *absent, Error *err)
{
    bool beside = paper_beside(request->paper) > 1;
    double high = diagram_page(diagram).h;
    DiagramRequest wanted = request->drawing;

    if (high <= (beside ? 0.5 * PAPER_HEIGHT : height + PAPER_SLACK))
        return fit_page(request, diagram, arena, height, notes, absent, err);
    wanted.width = paper_column(request->paper);
    Diagram *narrow = diagram_make(arena, &wanted, err);
    if (!narrow)
        return (PaperPages){0};
    narrow = paper_diagram(arena, narrow, 0, wanted.width, NULL);
    if (diagram_page(narrow).w > wanted.width + 1)
        return fit_page(request, diagram, arena, height, notes, absent, err);
    return paper_cut(arena, narrow, request->paper, height);
}

/* A picture that is not written into a file is not divided into pages. */
static void note_height(const Diagram *fitted, double page, ExportNotes *notes)
{
    double height = fitted->placed ? diagram_page(fitted).h : 0;

    if (height > PAPER_HEIGHT + PAPER_SLACK)
        export_note(notes, "it is %.1f in high, more than a page of %d in%s", height / 72,
                    PAPER_HEIGHT / 72,
                    page < INFINITY ? ": a wider --width is shorter"
                                    : ": -o FILE writes it as pages, a wider --width is shorter");
}

/* The diagram of a request, for the pages or the screen that it is for. Returns no page on failure.
 * height: of a page; INFINITY: it is not divided. */
static PaperPages make_pages(const ExportRequest *request, Arena *arena, double height,
                             ExportNotes *notes, bool *absent, Error *err)
{
    DiagramRequest wanted = request->drawing;
    wanted.width = request->paper;
    Diagram *diagram = diagram_make(arena, &wanted, err);
    Placed placed;

    if (!diagram || !fits(diagram, err))
        return (PaperPages){0};
    PaperPages pages = one_page(diagram);
    if (request->paper > 0) {
        pages = (diagram->placed ? cut_page : fit_page)(request, diagram, arena, height, notes,
                                                        absent, err);
        if (pages.n == 0)
            return pages;
        export_note(notes, "caption: %s", paper_caption(arena, diagram));
        export_note(notes, "legend: %s",
                    paper_legend(arena, diagram, request->drawing.session->mesh));
        note_height(&pages.at[0], height, notes);
    }
    /* Where lines cross the titles of frames is known after a first layout. */
    if (pages.at->n_frames > 0 && !pages.at->placed &&
        place(request, pages.at, arena, &placed, absent, &(Error){0}))
        placed_choose_sides(&placed, pages.at);
    return pages;
}

/* Without the program dot, a drawing for paper is as narrow as it can be. */
static bool write_dot(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    DiagramRequest wanted = request->drawing;
    bool absent = false;

    if (request->paper > 0) {
        PaperPages pages = make_pages(request, out->arena, INFINITY, notes, &absent, err);
        if (!absent)
            return pages.n > 0 && dot_write(pages.at, wanted.session->mesh, out, err);
    }
    wanted.width = request->paper;
    const Diagram *diagram = diagram_make(out->arena, &wanted, err);
    if (diagram && request->paper > 0)
        diagram = paper_diagram(out->arena, diagram, PAPER_WAYS - 1, request->paper, NULL);
    return diagram && dot_write(diagram, wanted.session->mesh, out, err);
}

/* Gives a PDF a title in the place of the name of the library that wrote it, which keeps all
 * offsets in the file as they are. */
static void put_title(Buf *pdf, const char *title)
{
    int64_t at = str_find(buf_str(pdf), STR("/Producer (")), n = 0;
    static const char key[] = "/Title (";

    if (at < 0)
        return;
    while (pdf->s[at + n] && pdf->s[at + n] != '\n')
        n++;
    char *place = pdf->s + at;
    memset(place, ' ', (size_t)n);
    memcpy(place, key, sizeof key - 1);
    int64_t put = sizeof key - 1;
    for (; *title && put + 1 < n; title++)
        place[put++] = strchr("()\\", *title) || *title < ' ' || *title > '~' ? '-' : *title;
    place[put < n ? put : n - 1] = ')';
}

static bool write_page(const ExportRequest *request, const char *format, const Diagram *page,
                       Buf *out, bool *absent, Error *err)
{
    Buf dot = buf_new(out->arena), drawn = buf_new(out->arena);

    if (!dot_write(page, request->drawing.session->mesh, &dot, err) ||
        !layout_dot(buf_str(&dot), format, request->progress, &drawn, absent, err))
        return false;
    if (strcmp(format, "svg") == 0) {
        Buf whole = buf_new(out->arena);
        svg_finish(buf_str(&drawn), page, "", &whole);
        text_printable_lines(buf_str(&whole), out);
        return true;
    }
    take_date(&drawn);
    put_title(&drawn, page->title);
    buf_add(out, buf_str(&drawn));
    return true;
}

static bool write_laid_out(const ExportRequest *request, const char *format, Buf *out,
                           ExportNotes *notes, Error *err)
{
    PaperPages pages = make_pages(request, out->arena, INFINITY, notes, NULL, err);
    return pages.n > 0 && write_page(request, format, pages.at, out, NULL, err);
}

static bool write_svg(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    return write_laid_out(request, "svg", out, notes, err);
}

static bool write_pdf(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    return write_laid_out(request, "pdf", out, notes, err);
}

static bool write_png(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    return write_laid_out(request, "png", out, notes, err);
}

/* ---- formats made elsewhere ---- */

static bool write_trace(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes, (void)err;
    Timeline *timeline = timeline_new(request->drawing.session);
    trace_json_put(request->drawing.session, timeline, NULL, out);
    timeline_free(timeline);
    return true;
}

/* ORDER EXPORT_FORMAT */
static const ExportFormat formats[] = {
    {"dot", "a Graphviz drawing", EXPORT_DRAWING, false, "dot", NULL, write_dot, NULL},
    {"svg", "the drawing laid out by the program dot", EXPORT_DRAWING, false, "svg", NULL,
     write_svg, NULL},
    {"pdf", "the drawing as a PDF page", EXPORT_DRAWING, true, "pdf", NULL, write_pdf, NULL},
    {"png", "the drawing as a PNG image", EXPORT_DRAWING, true, "png", NULL, write_png, NULL},
    {"html", "a report in one file, for a browser", EXPORT_REPORT, false, "html", NULL, report_html,
     NULL},
    {"md", "a report to paste into a review", EXPORT_REPORT, false, "md", NULL, report_md, NULL},
    {"csv", "a table of the plan, or all of them", EXPORT_TABLES, false, "csv", NULL, tables_csv,
     NULL},
    {"json", "the tables as JSON", EXPORT_TABLES, false, "json", NULL, tables_json, NULL},
    {"trace", "a step along time, for Perfetto", EXPORT_DATA, false, "trace", NULL, write_trace,
     NULL},
    {"onnx", "the model with the plan as ONNX's own annotations", EXPORT_DATA, true, "onnx",
     code_onnx, NULL, NULL},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

const ExportFormat *export_format_at(int i)
{
    return i < N_FORMATS ? &formats[i] : code_format_at(i - N_FORMATS);
}

const ExportFormat *export_format_find(Str name, bool code)
{
    const ExportFormat *format;
    for (int i = 0; (format = export_format_at(i)); i++)
        if ((format->group == EXPORT_CODE) == code && str_eq(name, str_from(format->name)))
            return format;
    return NULL;
}

const char *export_format_names(Arena *arena, bool code, const char *before, const char *between)
{
    Buf names = buf_new(arena);
    const ExportFormat *format;
    for (int i = 0; (format = export_format_at(i)); i++)
        if ((format->group == EXPORT_CODE) == code)
            buf_printf(&names, "%s%s%s", names.n > 0 ? between : "", before, format->name);
    return names.s;
}

/* Other systems derive and run the training step themselves: they get the model, and what they can
 * be told of the step. */
static bool write_model(const ExportFormat *format, const Session *step, Buf *out,
                        ExportNotes *notes, Error *err)
{
    Session *model = session_of_model(step, err);
    Buf code = buf_new(out->arena), top = buf_new(out->arena);
    FileMap own = {0};
    if (model) { /* the model's file stays open in the session of the step */
        own = model->model_map;
        model->model_map = step->model_map;
    }
    bool ok = model && format->code(model, &code, notes, err);
    if (model)
        model->model_map = own;
    if (ok && format->step)
        format->step(model, step, &top, &code, notes);
    Str rest = buf_str(&code), title = top.n > 0 ? str_take(&rest, '\n') : (Str){0};
    if (top.n > 0)
        buf_printf(out, "%.*s\n", STR_ARG(title));
    buf_add(out, buf_str(&top));
    buf_add(out, rest);
    int n_left = ok ? step->journal.n_done - model->journal.n_done : 0;
    if (ok && !format->step)
        export_note(notes,
                    "the training step '%s': its loss, its backward pass and the optimizer's "
                    "numbers are the system's, or yours to give",
                    step->options.train);
    if (n_left > 0)
        export_note(notes, "%d decisions about gradients and ops of the step are left out", n_left);
    session_close(model);
    return ok;
}

static bool write_any(const ExportFormat *format, const ExportRequest *request, Buf *out,
                      ExportNotes *notes, Error *err)
{
    const Session *session = request->drawing.session;
    if (!format->code)
        return format->write(request, out, notes, err);
    if (session->bare.graph && format->code != code_lua)
        return write_model(format, session, out, notes, err);
    return format->code(session, out, notes, err);
}

/* Names of a model may hold anything, and no format may bring it to a terminal. */
static bool write_whole(const ExportFormat *format, const ExportRequest *request, Buf *out,
                        ExportNotes *notes, Error *err)
{
    if (format->binary)
        return write_any(format, request, out, notes, err);
    Buf text = buf_new(out->arena);
    if (!write_any(format, request, &text, notes, err))
        return false;
    text_printable_lines(buf_str(&text), out);
    return true;
}

bool export_write(const ExportFormat *format, const ExportRequest *request, Buf *out,
                  ExportNotes *notes, Error *err)
{
    const char *dims =
        format->code == code_onnx ? code_onnx_dims(out->arena, request->drawing.session) : NULL;
    if (!write_whole(format, request, out, notes, err))
        return false;
    const char *rings = format->group == EXPORT_CODE && format->code != code_lua
                            ? values_rings(out->arena, request->drawing.session->plan)
                            : NULL;
    if (rings)
        export_note(notes,
                    "parts go around a ring in %s: the file does not say so, and its system "
                    "gathers them",
                    rings);
    if (dims)
        export_note(notes, "the file has no sizes of free dims: open it with --dim %s", dims);
    return true;
}

/* ---- into files ---- */

/* An annotated model opens by itself: a file beside it has the sizes of its free dims. */
static bool write_dims(const ExportRequest *request, const char *path, ExportNotes *notes,
                       Arena *arena, Error *err)
{
    const char *dims = code_onnx_dims(arena, request->drawing.session);
    const char *base = path_base(path), *end = strrchr(base, '.');
    size_t stem = end && end > base ? (size_t)(end - path) : strlen(path);

    if (!dims)
        return true;
    const char *beside = arena_printf(arena, "%.*s.dims", (int)stem, path);
    if (!file_write(beside, str_from(arena_printf(arena, "%s\n", dims)), err))
        return false;
    export_note(notes, "sizes of free dims are beside it, in %s: %s", path_base(beside), dims);
    return true;
}

/* "step.svg", of the second page "step-2.svg". */
static const char *page_path(Arena *arena, const char *path, int page)
{
    const char *base = path_base(path), *end = strrchr(base, '.');
    size_t stem = end && end > base ? (size_t)(end - path) : strlen(path);

    return page == 0 ? path
                     : arena_printf(arena, "%.*s-%d%s", (int)stem, path, page + 1, path + stem);
}

/* Every page is drawn before the first is written. */
static bool write_pages(const ExportRequest *request, const ExportFormat *format, const char *path,
                        ExportNotes *notes, Arena *arena, bool *absent, Error *err)
{
    PaperPages pages = make_pages(request, arena, PAPER_HEIGHT, notes, absent, err);
    Buf *drawn = arena_array(arena, Buf, pages.n + 1);

    for (int i = 0; i < pages.n; i++) {
        drawn[i] = buf_new(arena);
        if (!write_page(request, format->name, &pages.at[i], &drawn[i], absent, err))
            return false;
    }
    for (int i = 0; i < pages.n; i++)
        if (!file_write(page_path(arena, path, i), buf_str(&drawn[i]), err))
            return false;
    if (pages.n > 1)
        export_note(notes, "it goes on in %s%s%s: %d pages of at most %d in",
                    path_base(page_path(arena, path, 1)), pages.n > 2 ? " to " : "",
                    pages.n > 2 ? path_base(page_path(arena, path, pages.n - 1)) : "", pages.n,
                    PAPER_HEIGHT / 72);
    return pages.n > 0;
}

static bool write_drawing(const ExportRequest *request, const ExportFormat *format,
                          const char *path, ExportNotes *notes, Buf *text, Error *err)
{
    bool absent = false;
    Error first = {0};

    if (write_pages(request, format, path, notes, text->arena, &absent, &first))
        return true;
    if (!absent) {
        *err = first;
        return false;
    }
    const char *beside = arena_printf(text->arena, "%s.gv", path);
    text->n = 0;
    if (!write_dot(request, text, notes, err) || !file_write(beside, buf_str(text), err))
        return false;
    export_note(notes, "%s: wrote %s instead, which `dot -T%s` lays out", first.text, beside,
                format->name);
    return true;
}

bool export_file(const ExportRequest *request, const ExportFormat *format, const char *path,
                 ExportNotes *notes, Error *err)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    bool ok = false;

    if (format->group == EXPORT_DRAWING && format->write != write_dot)
        ok = write_drawing(request, format, path, notes, &text, err);
    else if (format->write == tables_csv && !request->table)
        ok = tables_csv_folder(request, path, notes, err);
    else
        ok = write_whole(format, request, &text, notes, err) &&
             file_write(path, buf_str(&text), err) &&
             (format->code != code_onnx || write_dims(request, path, notes, scratch, err));
    arena_free(scratch);
    return ok;
}
