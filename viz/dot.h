/* dot.h - a diagram as DOT text, made by cgraph; dot.c is the only code that sees it.
 *
 * cgraph is not safe in threads, not even for reads: one thread at a time may call this.
 */
#ifndef VIZ_DOT_H
#define VIZ_DOT_H

#include "viz/diagram.h"

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err);

#endif
