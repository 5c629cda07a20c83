/* control.h - branches and loops on screens.
 *
 * The ops of a body are ops of the one flat graph, in a group under the name of their If or Loop.
 * If a row is inside a body but the group around it is not, the row shows how often it runs: ↻8, or
 * ↻? if known only at run time. Unlike a fold xN, the row does not stand for N rows. Costs include
 * the iterations. The ops that enter and leave a body tie values together; control_ties() lists
 * them.
 *
 * A Control is made from the groups of a plan, in the given arena.
 */
#ifndef TUI_STATE_CONTROL_H
#define TUI_STATE_CONTROL_H

#include "core/session/session.h"
#include "tui/state/outline.h"

enum { TIES_MAX = 4 };

typedef struct {
    const Session *session;
    int32_t *of_op, *of_group; /* the innermost body that contains it completely, -1; NULL: no
                                  bodies */
    int32_t *around;           /* per body: the body around it, -1 */
} Control;

Control control_new(Arena *arena, const Session *session);

/* Appends " ↻8" to a row's name; nothing if the row runs as often as the group around it. */
void control_format_times(const Control *control, const OutlineRow *row, Buf *out);
/* The same as a sentence that names the condition or count; nothing for rows outside bodies. */
void control_format_note(const Control *control, const OutlineRow *row, Buf *out);

/* A value that an op ties to others, and when it is used. */
typedef struct {
    const char *when;
    int32_t tensor;
} ControlTie;

/* The values that the op ties together, with a sentence about them; NULL if the op belongs to no
 * branch or loop. */
const char *control_ties(const Session *session, int32_t op, ControlTie *tie, int *n);

#endif
