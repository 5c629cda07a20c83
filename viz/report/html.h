/* html.h - what the files that write the HTML report share; private to them. */
#ifndef VIZ_REPORT_HTML_H
#define VIZ_REPORT_HTML_H

#include "viz/report/page.h"

/* The style and the script of a page. html_script_hash is the hash of the script in the form that
 * Content-Security-Policy requires: no other script may run. */
extern const char *const html_style[]; /* pieces, ended by NULL; the next too */
extern const char *const html_script[];
extern const char html_folding[], html_moving[]; /* the pieces for pictures */
extern const char html_script_hash[];            /* base64 of its SHA-256 */

typedef struct {
    const Page *page;
    Intern *ids; /* ids that links can point to */
    Buf *out;
} Html;

/* An escaped text, its lines joined. */
void html_text(Html *html, const char *text);
bool html_has_id(const Html *html, const char *link); /* "#op-12" */

void html_table(Html *html, const ReportTable *table);

#endif
