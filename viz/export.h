/* export.h - a plan as a file for other programs and people: one row for every format.
 *
 *     dot svg pdf png    a drawing (diagram.h); all but dot laid out by dot (dot_layout.h)
 *     html md            a report (report/report.h)
 *     csv json           one table, or all of them (report/tables.h)
 *     trace              a step along time, for Perfetto (core/run/trace/trace_json.h)
 *     onnx               the model with its plan in it
 *     jax lua dtensor ..        the plan as code (core/code/code.h)
 *
 * Every export is made completely before anything is written; a file is written under a temporary
 * name in the same folder and then renamed. Equal plans give equal bytes.
 */
#ifndef VIZ_EXPORT_H
#define VIZ_EXPORT_H

#include "core/code/code.h"
#include "viz/diagram.h"

struct ExportRequest {
    DiagramRequest drawing; /* contains the session; `other` is also the second plan of a report */
    double paper;           /* width in points of the page for a drawing; 0: a screen */
    const char *table;      /* for csv and json; NULL: all tables */
    Progress *progress;     /* or NULL */
};

const ExportFormat *export_format_at(int i); /* ORDER EXPORT_FORMAT; returns NULL past the last */
const ExportFormat *export_format_find(Str name, bool code); /* or NULL */

/* The names of all code formats, or of all others: each after `before`, separated by `between`. */
const char *export_format_names(Arena *arena, bool code, const char *before, const char *between);

bool export_write(const ExportFormat *format, const ExportRequest *request, Buf *out,
                  ExportNotes *notes, Error *err);

/* Writes a file. If the program `dot` is not installed, writes the DOT text of a drawing to PATH.gv
 * instead, with a note. */
bool export_file(const ExportRequest *request, const ExportFormat *format, const char *path,
                 ExportNotes *notes, Error *err);

#endif
