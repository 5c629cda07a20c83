/* resume.h - stores where a session on a model ended, so that the next one continues there.
 *
 *     dimscope state 1
 *     graph 5f0c9a..            the model's ops and tensors by name: for no other graph
 *     at Graph op /h.0/attn/Add      (places.h)
 *     rank 5
 *     columns 3               of the graph, by bit
 *     open 81f2.. 0102..        groups, and which of them are open: for these groups only
 *     mark a Tensor tensor h.0.mlp.c_fc.weight
 *     tag /h.0/attn/Add
 *     typed :rank 5             the prompt's history
 *
 * One file per model, in $XDG_STATE_HOME/dimscope, by default ~/.local/state/dimscope, named by the
 * hash of the model's path. A line that cannot be used is ignored, and so is a file of another
 * program: at most a note is shown. Filters are not restored: missing rows would surprise.
 *
 * Pins made in the explorer are in a plan file beside it (planfile.h), one for each combination of
 * mesh, policy and plan file. It is written after every change, so that pins survive if the session
 * is killed.
 */
#ifndef TUI_APP_RESUME_H
#define TUI_APP_RESUME_H

#include "tui/app/app.h"

const char *state_path(Arena *arena, const char *model); /* NULL if there is no home folder */

void state_format(App *app, Buf *out);
bool state_apply(App *app, const Source *source,
                 Error *err); /* false: it is of another graph, or empty */

/* The same with the model's own file. A failure is shown on the message line, or not at all. */
void state_load(App *app);
void state_save(App *app);
void pins_keep(App *app); /* only the pins; if there are none, or the user drops them, no file */

#endif
