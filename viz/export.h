/* export.h - a plan as a file for somebody else: a row for every format.
 *
 *     dot svg pdf png    a drawing (diagram.h); all but the first laid out by dot (layout.h)
 *     html md            a report (report/report.h)
 *     csv json           one table, or all of them (report/tables.h)
 *     trace              a step along time, for Perfetto (core/run/trace/trace_json.h)
 *     onnx               the model with its plan in it
 *     dtensor jax shardy paddle nnscaler lua    the plan as code (code/code.h)
 *
 * Every export is made whole before anything is written; a file is written beside its place and
 * renamed. Equal plans give equal bytes.
 */
#ifndef VIZ_EXPORT_H
#define VIZ_EXPORT_H

#include "viz/diagram.h"

typedef struct {
    DiagramRequest drawing; /* with the session; `other` is B of a report, too */
    const char *table;      /* of csv and json; NULL: all */
    Progress *progress;     /* NULL: nobody watches */
} ExportRequest;

/* What is to be known beside the file: what it cannot say. */
typedef struct {
    Arena *arena;
    Vec(const char *) at;
} ExportNotes;

void export_note(ExportNotes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef enum {
    EXPORT_DRAWING, /* takes --kind */
    EXPORT_REPORT,  /* takes a second plan to compare with */
    EXPORT_TABLES,  /* takes --table */
    EXPORT_DATA,
    EXPORT_CODE /* asked for with --to */
} ExportGroup;

typedef struct {
    const char *name; /* "svg": the option --svg, or the SYSTEM of --to */
    const char *what; /* for help, a line */
    ExportGroup group;
    bool binary;        /* no text: not for a terminal */
    const char *ending; /* that files of it have */
    bool (*write)(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
} ExportFormat;

/* ORDER EXPORT_FORMAT, ended by one without a name */
extern const ExportFormat export_formats[];
const ExportFormat *export_format_find(Str name, bool code); /* NULL */

/* Into a file. Where `dot` is not there a drawing's DOT is written beside the asked for place, as
 * PATH.gv, with a note. */
bool export_file(const ExportRequest *request, const ExportFormat *format, const char *path,
                 ExportNotes *notes, Error *err);

#endif
