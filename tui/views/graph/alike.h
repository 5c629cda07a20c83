/* alike.h - what makes layers of one structure differ: the classes of a stretch, and for a member
 * the first op that is sharded otherwise than in most others.
 */
#ifndef TUI_VIEWS_GRAPH_ALIKE_H
#define TUI_VIEWS_GRAPH_ALIKE_H

#include "tui/state/ui.h"

/* "(11+1)" of a mixed row: members of each class, the largest first. */
void alike_format_classes(const Ui *ui, const OutlineRow *row, Buf *out);

/* Whether the row is one of several classes, and not of the largest. */
bool alike_is_exception(const Ui *ui, const OutlineRow *row);

/* "unlike h[0..5]: mlp.c_fc/Gemm cuts n whole, there 3072/tp"; nothing where it is no exception. */
void alike_format_difference(const Ui *ui, const OutlineRow *row, Buf *out);

#endif
