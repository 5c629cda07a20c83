/* dot_layout.h - lays out DOT text with the program `dot`, run as a supervised child process. */
#ifndef VIZ_DOT_LAYOUT_H
#define VIZ_DOT_LAYOUT_H

#include "core/base/progress.h"

enum { LAYOUT_BOXES_MAX = 400, LAYOUT_SECONDS_MAX = 20, LAYOUT_BYTES_MAX = 256 << 20 };

/* format: dot's name for it, "svg", "pdf" or "png". Appends the drawing to *out, complete or not at
 * all. The child is killed after LAYOUT_SECONDS_MAX or LAYOUT_BYTES_MAX, when progress is cancelled
 * (ERROR_CANCELLED), and when this process ends. ERROR_USAGE: the program is not installed (sets
 * *absent unless NULL); ERROR_RUN: it failed, was killed, or wrote an incomplete drawing. */
bool layout_dot(Str dot, const char *format, Progress *progress, Buf *out, bool *absent,
                Error *err);

#endif
