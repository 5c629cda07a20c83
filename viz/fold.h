/* fold.h - texts of drawings folded into lines: at blanks, behind commas, before arrows. */
#ifndef VIZ_FOLD_H
#define VIZ_FOLD_H

#include "core/base/span.h"

/* Characters of the longest line. */
int fold_columns(Str text);

/* Lines of at most that many characters where words allow it, with their marks. What follows an
 * arrow begins a line where the whole does not fit. */
Text fold_text(Arena *arena, Text text, int columns);

#endif
