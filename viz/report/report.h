/* report.h - a plan in one file for readers: HTML for any browser, Markdown for a review.
 *
 * Summary, findings, mesh, the folded graph, collectives, memory, a row per layer, decisions; with
 * a second plan, the differences. The HTML is self-contained: it works without scripts, in print,
 * on a phone and in dark mode; scripts add sorting and search.
 */
#ifndef VIZ_REPORT_REPORT_H
#define VIZ_REPORT_REPORT_H

#include "viz/export.h"

bool report_html(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool report_md(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
