/* watch.h - reads files again after they were written.
 *
 *     watch_add(watch, policy_file, app, rerun);       once
 *     watch_poll(watch);                               now and then
 *
 * The file's name is asked for at each poll, so it may be replaced or dropped. A file counts as
 * written if it is another file, or has another size or time than when it was last read, and if
 * that was at least SETTLED_MS ago: an editor may still be writing. A missing file is ignored until
 * it exists again.
 */
#ifndef TUI_APP_WATCH_H
#define TUI_APP_WATCH_H

#include "core/base/arena.h"

typedef struct Watch Watch;

Watch *watch_new(Arena *arena);

/* path() names the file (NULL: none now); changed() reads it again. */
void watch_add(Watch *watch, const char *(*path)(void *context), void (*changed)(void *context),
               void *context);

bool watch_poll(Watch *watch); /* true: something was read again */

#endif
