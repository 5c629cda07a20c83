/* svg.h - finishes the SVG that dot writes, for reading on a screen.
 *
 * Titles, which browsers show as tooltips, are the texts of the boxes and lines instead of n12. A
 * hovered box has its incoming lines in one colour and its outgoing lines in another. Texts are
 * monospaced on every system. There is no script.
 */
#ifndef VIZ_SVG_H
#define VIZ_SVG_H

#include "viz/diagram.h"

/* raw: the output of `dot -Tsvg` for the DOT text of dot_write(diagram). prefix: put before every
 * id, for a page with several drawings; "" for none. */
void svg_finish(Str raw, const Diagram *diagram, const char *prefix, Buf *out);

#endif
