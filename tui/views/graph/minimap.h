/* minimap.h - the whole graph in one line: where its time goes, and where the cursor is.
 *
 * A column stands for as many ops as fit, in outline order. Its height is the time of them, compute
 * and reshards: the longest is full, and half the time is an eighth lower. It is marked where
 * reshards are most of it.
 */
#ifndef TUI_VIEWS_GRAPH_MINIMAP_H
#define TUI_VIEWS_GRAPH_MINIMAP_H

#include "tui/state/ui.h"

void minimap_draw(const Ui *ui, Pen *pen); /* the pen's line */

#endif
