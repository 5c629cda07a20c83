/* dot.h - a diagram as DOT text, made by cgraph; dot.c is the only code that sees it.
 *
 * Boxes are called n0, n1 .., lines e0 .., frames f0 ..: the ids of the SVG too (svg.h). A legend
 * of the marks that are used stands beside it, always. Equal diagrams give equal bytes.
 *
 * cgraph is not safe in threads, not even for reads: one thread at a time may call this.
 */
#ifndef VIZ_DOT_H
#define VIZ_DOT_H

#include "viz/diagram.h"

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err);

#endif
