/* progress_line.h - on a terminal, what long work is doing and how far it is: a line that is taken
 * away when the work ends.
 *
 * A thread of its own reads the progress (core/base/progress.h), so that the work need not look at
 * a clock. Work that ends before the line would appear shows nothing.
 */
#ifndef TUI_STATE_JOBS_PROGRESS_LINE_H
#define TUI_STATE_JOBS_PROGRESS_LINE_H

#include "core/base/arena.h"
#include "core/base/progress.h"

typedef struct ProgressLineShown ProgressLineShown;

/* Shows it on the file from after_ms on. In the arena; NULL if there can be no thread. */
ProgressLineShown *progress_line_begin(Arena *arena, const Progress *progress, int file,
                                       int after_ms);

/* Takes the line away. NULL: does nothing. */
void progress_line_end(ProgressLineShown *shown);

#endif
