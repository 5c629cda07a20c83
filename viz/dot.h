/* dot.h - a diagram as DOT text, made by cgraph; only dot.c uses cgraph. Where that library is not
 * installed dot_absent.c is built in its place.
 *
 * Boxes, lines and frames have the ids of ids.h, as in the SVG, and their DiagramFacts as
 * attributes. A legend of the marks that occur is always included. Equal diagrams give equal bytes.
 *
 * cgraph is not thread-safe, not even for reading: only one thread at a time may call this.
 */
#ifndef VIZ_DOT_H
#define VIZ_DOT_H

#include "viz/diagram.h"

/* Returns false if the program was built without cgraph; dot_write() then only reports that. */
bool dot_is_here(void);

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err);

#endif
