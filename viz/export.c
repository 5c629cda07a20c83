#include "viz/export.h"

#include "core/base/file.h"
#include "core/run/trace/trace_json.h"
#include "viz/code/code.h"
#include "viz/dot.h"
#include "viz/dot_layout.h"
#include "viz/report/report.h"
#include "viz/report/tables.h"
#include "viz/svg.h"

#include <stdarg.h>
#include <stdio.h>

void export_note(ExportNotes *notes, const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vec_push(notes->arena, &notes->at, arena_str(notes->arena, str_from(text)));
}

/* ---- drawings ---- */

static bool write_dot(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes;
    Diagram *diagram = diagram_make(out->arena, &request->drawing, err);
    return diagram && dot_write(diagram, request->drawing.session->mesh, out, err);
}

static bool fits(const Diagram *diagram, Error *err)
{
    if (diagram->n_boxes <= LAYOUT_BOXES_MAX)
        return true;
    error_kind(err, ERROR_UNSUPPORTED, "%d boxes are more than dot can lay out in time (%d)",
               diagram->n_boxes, LAYOUT_BOXES_MAX);
    error_hint(err, "%s fits; --dot writes this one whole", diagram->fold);
    return false;
}

/* A page says when it was made: equal plans would not give equal bytes. */
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

static bool write_laid_out(const ExportRequest *request, const char *format, Buf *out, bool *absent,
                           Error *err)
{
    Buf dot = buf_new(out->arena), drawn = buf_new(out->arena);
    Diagram *diagram = diagram_make(out->arena, &request->drawing, err);

    if (!diagram || !fits(diagram, err) ||
        !dot_write(diagram, request->drawing.session->mesh, &dot, err) ||
        !layout_dot(buf_str(&dot), format, request->progress, &drawn, absent, err))
        return false;
    if (strcmp(format, "svg") == 0) {
        svg_finish(buf_str(&drawn), diagram, "", out);
        return true;
    }
    take_date(&drawn);
    buf_add(out, buf_str(&drawn));
    return true;
}

static bool write_svg(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes;
    return write_laid_out(request, "svg", out, NULL, err);
}

static bool write_pdf(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes;
    return write_laid_out(request, "pdf", out, NULL, err);
}

static bool write_png(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes;
    return write_laid_out(request, "png", out, NULL, err);
}

/* ---- what others make ---- */

static bool write_trace(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    (void)notes, (void)err;
    Timeline *timeline = timeline_new(request->drawing.session);
    trace_json_put(request->drawing.session, timeline, NULL, out);
    timeline_free(timeline);
    return true;
}

/* ORDER EXPORT_FORMAT */
const ExportFormat export_formats[] = {
    {"dot", "a Graphviz drawing", EXPORT_DRAWING, false, "dot", write_dot},
    {"svg", "the same laid out by the program dot", EXPORT_DRAWING, false, "svg", write_svg},
    {"pdf", "the same on a page", EXPORT_DRAWING, true, "pdf", write_pdf},
    {"png", "the same as pixels", EXPORT_DRAWING, true, "png", write_png},
    {"html", "a report in one file, for a browser", EXPORT_REPORT, false, "html", report_html},
    {"md", "a report to paste into a review", EXPORT_REPORT, false, "md", report_md},
    {"csv", "a table of the plan, or all of them", EXPORT_TABLES, false, "csv", tables_csv},
    {"json", "the same as data", EXPORT_TABLES, false, "json", tables_json},
    {"trace", "a step along time, for Perfetto", EXPORT_DATA, false, "trace", write_trace},
    {"onnx", "the model with the plan as ONNX's own annotations", EXPORT_DATA, true, "onnx",
     code_onnx},
    {"dtensor", "PyTorch: a device mesh and placements", EXPORT_CODE, false, "py", code_dtensor},
    {"jax", "JAX: a Mesh and NamedShardings", EXPORT_CODE, false, "py", code_jax},
    {"shardy", "MLIR with sdy shardings", EXPORT_CODE, false, "mlir", code_shardy},
    {"paddle", "Paddle: a ProcessMesh and shard_tensor", EXPORT_CODE, false, "py", code_paddle},
    {"nnscaler", "nnScaler: a PAS function", EXPORT_CODE, false, "py", code_nnscaler},
    {"lua", "a policy of dimscope that pins it all", EXPORT_CODE, false, "lua", code_lua},
    {0},
};

const ExportFormat *export_format_find(Str name, bool code)
{
    for (const ExportFormat *format = export_formats; format->name; format++)
        if ((format->group == EXPORT_CODE) == code && str_eq(name, str_from(format->name)))
            return format;
    return NULL;
}

/* ---- into files ---- */

static bool write_drawing(const ExportRequest *request, const ExportFormat *format,
                          const char *path, ExportNotes *notes, Buf *text, Error *err)
{
    bool absent = false;
    Error first = {0};

    if (write_laid_out(request, format->name, text, &absent, &first))
        return file_write(path, buf_str(text), err);
    if (!absent) {
        *err = first;
        return false;
    }
    const char *beside = arena_printf(text->arena, "%s.gv", path);
    text->n = 0;
    if (!write_dot(request, text, notes, err) || !file_write(beside, buf_str(text), err))
        return false;
    export_note(notes, "%s: %s is written, which `dot -T%s` lays out", first.text, beside,
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
        ok = format->write(request, &text, notes, err) && file_write(path, buf_str(&text), err);
    arena_free(scratch);
    return ok;
}
