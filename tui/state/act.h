/* act.h - the one table of what keys and commands do.
 *
 * The table drives the keys (keymap.h, with what the user binds instead), `?` help, the `:`
 * commands with their completion, and the bottom line.
 */
#ifndef TUI_STATE_ACT_H
#define TUI_STATE_ACT_H

#include "core/base/error.h"
#include "core/session/action.h"
#include "tui/screen/key.h"

/* ORDER ACT: the ids of the table's rows. */
typedef enum {
    ACT_NONE,
    ACT_DOWN,
    ACT_UP,
    ACT_PAGE_DOWN,
    ACT_PAGE_UP,
    ACT_HALF_DOWN,
    ACT_HALF_UP,
    ACT_TOP,
    ACT_BOTTOM,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_OPEN,
    ACT_DIM_NEXT,
    ACT_DIM_PREVIOUS,
    ACT_GOTO,
    ACT_FOLD,
    ACT_FOLD_NONE,
    ACT_FOLD_ALL,
    ACT_FOLD_DEPTH,
    ACT_CONSUMER,
    ACT_PRODUCER,
    ACT_RESHARD,
    ACT_NEXT_TENSOR,
    ACT_PREVIOUS_TENSOR,
    ACT_PICK_TENSOR,
    ACT_NEXT_RESHARD,
    ACT_PREVIOUS_RESHARD,
    ACT_NEXT_CHANGE,
    ACT_PREVIOUS_CHANGE,
    ACT_NEXT_ERROR,
    ACT_PREVIOUS_ERROR,
    ACT_OTHER_END,
    ACT_SEARCH,
    ACT_SEARCH_NEXT,
    ACT_SEARCH_PREVIOUS,
    ACT_BACK,
    ACT_FORWARD,
    ACT_JUMPS,
    ACT_SET_MARK,
    ACT_GO_MARK,
    ACT_FILTER,
    ACT_FILTER_DROP,
    ACT_SORT,
    ACT_COLUMNS,
    ACT_TAG,
    ACT_TAG_ALL,
    ACT_SHOW_GRAPH,
    ACT_SHOW_OP,
    ACT_SHOW_TENSOR,
    ACT_SHOW_MESH,
    ACT_SHOW_COMM,
    ACT_SHOW_MEM,
    ACT_SHOW_DIFF,
    ACT_SHOW_POLICY,
    ACT_SHOW_RUN,
    ACT_SCHEDULE,
    ACT_NEAR,
    ACT_LINKS,
    ACT_JOURNAL,
    ACT_ERRORS,
    ACT_WHY,
    ACT_WHY_NOT,
    ACT_FINDINGS,
    ACT_EVENTS,
    ACT_HELP,
    ACT_TOUR,
    ACT_GROUPING,
    ACT_EQUAL,
    ACT_COMPARE,
    ACT_NEXT_PANE,
    ACT_PREVIOUS_PANE,
    ACT_ZOOM,
    ACT_PIN,
    ACT_UNPIN,
    ACT_ASSIGN,
    ACT_DECIDE,
    ACT_UNDECIDE,
    ACT_WHAT_IF,
    ACT_UNDO,
    ACT_REDO,
    ACT_POLICY,
    ACT_RELOAD,
    ACT_MESH,
    ACT_RANK,
    ACT_WRITE,
    ACT_SAVE,
    ACT_EDIT,
    ACT_LUA,
    ACT_RUN,
    ACT_TRACE,
    ACT_TIME_IN,
    ACT_TIME_OUT,
    ACT_COPY,
    ACT_COPY_AS,
    ACT_EXPORT,
    ACT_SCREEN,
    ACT_COMMAND,
    ACT_PALETTE,
    ACT_SHELL,
    ACT_OPTIONS,
    ACT_SET,
    ACT_NUMBERS,
    ACT_GLYPHS,
    ACT_REDRAW,
    ACT_SUSPEND,
    ACT_CANCEL,
    ACT_CLOSE,
    ACT_QUIT,
    ACT_COUNT
} ActId;

/* The rows, in the order help shows them; ended by a row without a name. */
extern const Action explorer_actions[];

const Action *action_by_id(ActId id);

/* The action of that name, or the only one that starts with it. NULL with a hint in *err. */
const Action *action_by_name(Str name, const Action *const *tables, int n_tables, Error *err);

#endif
