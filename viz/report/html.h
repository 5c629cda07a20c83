/* html.h - what the files that write the HTML report share. */
#ifndef VIZ_REPORT_HTML_H
#define VIZ_REPORT_HTML_H

#include "viz/report/page.h"

/* What a page looks like and what it does, as they stand in its head and at its end. The hash is
 * that of the script, in the form that Content-Security-Policy asks for: nothing else may run. */
extern const char *const html_style[]; /* pieces, ended by NULL; the next too */
extern const char *const html_script[];
extern const char html_script_hash[]; /* base64 of its SHA-256 */

typedef struct {
    const Page *page;
    Intern *ids; /* what links can lead to */
    Buf *out;
} Html;

/* A text of the page, escaped, its lines in one. */
void html_text(Html *html, const char *text);
bool html_has_id(const Html *html, const char *link); /* "#op-12" */

void html_table(Html *html, const ReportTable *table);

#endif
