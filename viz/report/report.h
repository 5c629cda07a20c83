/* report.h - a plan in one file for people: HTML to be opened anywhere, Markdown for a review.
 *
 * Summary, findings, mesh, the folded graph, collectives, memory, a row a layer, decisions; where
 * the request has another plan, what differs. The HTML has all it needs inside: it reads without
 * scripts, on paper, on a phone and in the dark; scripts add sorting and search.
 */
#ifndef VIZ_REPORT_REPORT_H
#define VIZ_REPORT_REPORT_H

#include "viz/export.h"

bool report_html(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
bool report_md(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);

#endif
