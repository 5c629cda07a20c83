/* svg.h - what dot draws as SVG, made to be read on a screen.
 *
 * Titles (which browsers show under the pointer) are the boxes' and lines' own texts instead of
 * n12; a box under the pointer has the lines into it in one colour and those out of it in another;
 * texts have fonts of one width on every system. No script.
 */
#ifndef VIZ_SVG_H
#define VIZ_SVG_H

#include "viz/diagram.h"

/* raw: of `dot -Tsvg` on dot_write() of the diagram. prefix: before every id, for a page with
 * several drawings; "". */
void svg_finish(Str raw, const Diagram *diagram, const char *prefix, Buf *out);

#endif
