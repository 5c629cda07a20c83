/* fold.h - wraps texts of drawings: at blanks, after commas, before arrows. */
#ifndef VIZ_FOLD_H
#define VIZ_FOLD_H

#include "core/base/span.h"

/* The length of the longest line in characters. */
int fold_columns(Str text);

/* Lines of at most that many characters, if the words allow it, with their marks. If the whole does
 * not fit, an arrow begins a new line. */
Text fold_text(Arena *arena, Text text, int columns);

#endif
