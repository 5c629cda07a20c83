/* mesh_facts.h - what is said of a mesh beside its grid: links, groups, the tensor's next move. */
#ifndef TUI_VIEWS_MESH_FACTS_H
#define TUI_VIEWS_MESH_FACTS_H

#include "tui/state/ui.h"

/* The selected tensor's reshard: the one under the Comm cursor, else the first; and the first step
 * of it that communicates. NULL: none. */
const Reshard *mesh_next_reshard(const Ui *ui);
const Step *mesh_next_step(const Ui *ui);

void mesh_draw_links(const Ui *ui, Pen *pen);
void mesh_draw_groups(const Ui *ui, Pen *pen);
void mesh_draw_next(const Ui *ui, Pen *pen);

#endif
