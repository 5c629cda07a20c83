/* progress_line.h - a line on the terminal that shows what long work is doing and how far it is; it
 * is erased when the work ends.
 *
 * A thread of its own reads the progress (core/base/progress.h), so the work need not check a
 * clock. Work that ends before the line would appear shows nothing.
 */
#ifndef TUI_STATE_JOBS_PROGRESS_LINE_H
#define TUI_STATE_JOBS_PROGRESS_LINE_H

#include "core/base/arena.h"
#include "core/base/progress.h"

typedef struct ProgressLineShown ProgressLineShown;

/* Shows it on `file`, after after_ms. In the arena; NULL if no thread can be started. */
ProgressLineShown *progress_line_begin(Arena *arena, const Progress *progress, int file,
                                       int after_ms);

/* Erases the line. NULL: does nothing. */
void progress_line_end(ProgressLineShown *shown);

#endif
