/* dot_label.h - the HTML-like labels of Graphviz: tables of texts, with axes in their colours. */
#ifndef VIZ_DOT_LABEL_H
#define VIZ_DOT_LABEL_H

#include "viz/diagram.h"

const char *label_box(Arena *arena, const Diagram *diagram, const DiagramBox *box); /* "": none */
const char *label_legend(Arena *arena, const Diagram *diagram, const Mesh *mesh);
const char *label_title(Arena *arena, const Diagram *diagram); /* with the caption */

/* The area that the boxes of a placed diagram cover, from the top left corner. */
DiagramPlace diagram_page(const Diagram *diagram);

#endif
