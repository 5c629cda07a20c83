/* dot_layout.h - DOT text laid out by the program `dot`, a child that is watched. */
#ifndef VIZ_DOT_LAYOUT_H
#define VIZ_DOT_LAYOUT_H

#include "core/base/progress.h"

enum { LAYOUT_BOXES_MAX = 400, LAYOUT_SECONDS_MAX = 20, LAYOUT_BYTES_MAX = 256 << 20 };

/* What dot calls a format: "svg", "pdf", "png". Appended to *out, whole or not at all. The child is
 * killed after LAYOUT_SECONDS_MAX or LAYOUT_BYTES_MAX, when somebody asks progress to stop
 * (ERROR_CANCELLED), and with this process, however that ends.
 * ERROR_USAGE: there is no such program (*absent, where it is not NULL); ERROR_RUN: it failed, was
 * killed, or wrote no whole drawing. */
bool layout_dot(Str dot, const char *format, Progress *progress, Buf *out, bool *absent,
                Error *err);

#endif
