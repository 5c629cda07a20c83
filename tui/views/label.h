/* label.h - headings of fields, and texts that several views share. */
#ifndef TUI_VIEWS_LABEL_H
#define TUI_VIEWS_LABEL_H

#include "core/summary/label.h"
#include "core/summary/slices.h"
#include "tui/state/format.h"

/* A heading: "LABEL  text". */
void draw_field(Pen *pen, const char *label, int columns);

/* The colour of the first axis over which the slices are partial. */
Style partial_style(const Slices *slices);

#endif
