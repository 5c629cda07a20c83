/* export.h - a plan as a file for somebody else: a row for every format.
 *
 *     dot svg pdf png    a drawing (diagram.h); all but the first laid out by dot (layout.h)
 *     html md            a report (report/report.h)
 *     csv json           one table, or all of them (report/tables.h)
 *     trace              a step along time, for Perfetto (core/run/trace/trace_json.h)
 *     onnx               the model with its plan in it
 *     jax lua dtensor ..        the plan as code (core/code/code.h)
 *
 * Every export is made whole before anything is written; a file is written beside its place and
 * renamed. Equal plans give equal bytes.
 */
#ifndef VIZ_EXPORT_H
#define VIZ_EXPORT_H

#include "core/code/code.h"
#include "viz/diagram.h"

struct ExportRequest {
    DiagramRequest drawing; /* with the session; `other` is B of a report, too */
    const char *table;      /* of csv and json; NULL: all */
    Progress *progress;     /* NULL: nobody watches */
};

const ExportFormat *export_format_at(int i); /* ORDER EXPORT_FORMAT; NULL past the last */
const ExportFormat *export_format_find(Str name, bool code); /* NULL */

/* The names of all that are code, or of the others: `before` each, `between` them. */
const char *export_format_names(Arena *arena, bool code, const char *before, const char *between);

bool export_write(const ExportFormat *format, const ExportRequest *request, Buf *out,
                  ExportNotes *notes, Error *err);

/* Into a file. Where `dot` is not there a drawing's DOT is written beside the asked for place, as
 * PATH.gv, with a note. */
bool export_file(const ExportRequest *request, const ExportFormat *format, const char *path,
                 ExportNotes *notes, Error *err);

#endif
