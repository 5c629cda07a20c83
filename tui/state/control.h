/* control.h - branches and loops as the screens show them.
 *
 * The ops of a body are ops of the one flat graph, in a group under the name of their If or Loop. A
 * row that lies in a body which the group around it does not lie in shows how often it runs, ↻8, or
 * ↻? if known only at run time. Unlike a fold xN it does not stand for N rows. Costs count it.
 * The ops that enter and leave a body tie values together; which, control_ties() says.
 *
 * One is made of the groups of a plan, and lives in the arena given.
 */
#ifndef TUI_STATE_CONTROL_H
#define TUI_STATE_CONTROL_H

#include "core/session/session.h"
#include "tui/state/outline.h"

enum { TIES_MAX = 4 };

typedef struct {
    const Session *session;
    int32_t *of_op, *of_group; /* the innermost body that holds all of it, -1; NULL: no bodies */
    int32_t *around;           /* per body: the body it lies in, -1 */
} Control;

Control control_new(Arena *arena, const Session *session);

/* Appends " ↻8" to a row's name, nothing where it runs as often as the group it stands in. */
void control_format_times(const Control *control, const OutlineRow *row, Buf *out);
/* The same as a sentence, with what decides; nothing for rows outside of bodies. */
void control_format_note(const Control *control, const OutlineRow *row, Buf *out);

/* A value that an op ties to the others, and when it is the one. */
typedef struct {
    const char *when;
    int32_t tensor;
} ControlTie;

/* What the op ties, as a sentence and values; NULL: it is no op of a branch or a loop. */
const char *control_ties(const Session *session, int32_t op, ControlTie *tie, int *n);

#endif
