/* mesh_facts.h - what is said of a mesh beside its grid: links, groups, the tensor's next move. */
#ifndef TUI_VIEWS_MESH_FACTS_H
#define TUI_VIEWS_MESH_FACTS_H

#include "tui/state/ui.h"

/* The first step that communicates of the selected tensor's reshard, or NULL if there is none. */
const Step *mesh_next_step(const Ui *ui);

void mesh_draw_links(const Ui *ui, Pen *pen);
void mesh_draw_groups(const Ui *ui, Pen *pen);
void mesh_draw_next(const Ui *ui, Pen *pen);

#endif
