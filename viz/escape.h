/* escape.h - escapes texts of models and users for markup.
 *
 * Control bytes and broken UTF-8 become \xNN; marks that change the direction of text, join or hide
 * characters become U+202E; characters with a meaning in XML or Graphviz become entities. A text
 * longer than `limit` characters is cut in the middle: "transformer.h..c_proj".
 */
#ifndef VIZ_ESCAPE_H
#define VIZ_ESCAPE_H

#include "core/base/str.h"

enum { LABEL_MAX = 64, TOOLTIP_MAX = 1000 };

/* For XML, HTML and the HTML-like labels of Graphviz, in text and between double quotes. */
void escape_markup(Str text, int limit, Buf *out);
/* The same without entities: plain text, which still has to be escaped. */
void escape_plain(Str text, int limit, Buf *out);

#endif
