/* export.h - drawings as files: DOT through cgraph, SVG by the `dot` program as a child. */
#ifndef VIZ_EXPORT_H
#define VIZ_EXPORT_H

#include "viz/diagram.h"

typedef enum { EXPORT_DOT, EXPORT_SVG } ExportFormat;

bool export_kind_from_name(Str name, DiagramKind *out); /* "overview", "block" */

/* The text of the drawing, appended. SVG: `dot -Tsvg` gets 20 seconds and is killed then; without
 * the program it is ERROR_USAGE, whose hint says to export DOT. */
bool export_drawing(const Session *session, DiagramKind kind, ExportFormat format, Buf *out,
                    Error *err);

/* The same into a file, written beside and renamed. */
bool export_file(const Session *session, DiagramKind kind, ExportFormat format, const char *path,
                 Error *err);

#endif
