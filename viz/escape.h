/* escape.h - texts of models and users inside of markup.
 *
 * Control bytes and broken UTF-8 become \xNN; marks that turn the direction of text, join or hide
 * become U+202E; what XML or Graphviz gives a meaning becomes its entity. A text longer than
 * `limit` characters loses its middle: "transformer.h..c_proj".
 */
#ifndef VIZ_ESCAPE_H
#define VIZ_ESCAPE_H

#include "core/base/str.h"

enum { LABEL_MAX = 64, TOOLTIP_MAX = 1000 };

/* For XML, HTML and the HTML-like labels of Graphviz, in text and between double quotes. */
void escape_markup(Str text, int limit, Buf *out);
/* What a person may read, nothing escaped yet: the same but for entities. */
void escape_plain(Str text, int limit, Buf *out);

#endif
