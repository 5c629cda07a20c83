/* act.h - the table of everything that keys and commands do.
 *
 * It drives the keys (keymap.h adds the user's bindings), `?` help, the `:` commands with
 * completion, and the bottom line.
 */
#ifndef TUI_STATE_ACT_H
#define TUI_STATE_ACT_H

#include "core/base/error.h"
#include "core/session/action.h"
#include "tui/screen/key.h"

/* The rows, in the order of help: id, name, keys, argument, help, group. */

#define EXPLORER_ACTIONS(ACT)                                                                      \
    ACT(DOWN, "down", "j Down", "", "next row", "move")                                            \
    ACT(UP, "up", "k Up", "", "previous row", "move")                                              \
    ACT(PAGE_DOWN, "page-down", "PgDn C-f", "", "one page down", "move")                           \
    ACT(PAGE_UP, "page-up", "PgUp", "", "one page up", "move")                                     \
    ACT(HALF_DOWN, "half-down", "C-d", "", "half a page down", "move")                             \
    ACT(HALF_UP, "half-up", "C-u", "", "half a page up", "move")                                   \
    ACT(TOP, "top", "gg Home", "", "first row", "move")                                            \
    ACT(BOTTOM, "bottom", "G End", "", "last row", "move")                                         \
    ACT(LEFT, "left", "h Left", "", "close the group, or go to its first row; previous rank",      \
        "move")                                                                                    \
    ACT(RIGHT, "right", "l Right", "", "open the group; next rank", "move")                        \
    ACT(OPEN, "open", "Enter", "", "open the row; on xN: list its members", "move")                \
    ACT(DIM_NEXT, "dim-next", ">", "",                                                             \
        "select the next dim of the tensor (p pins it); in Mesh: other axes", "move")              \
    ACT(DIM_PREVIOUS, "dim-previous", "<", "", "previous dim", "move")                             \
    ACT(GOTO, "row", "", "N", "go to row N; :120 is short for row 120", "move")                    \
    ACT(FOLD, "fold", "za", "",                                                                    \
        "open or close the group; in Policy: all lines, or only those that decide", "fold")        \
    ACT(FOLD_NONE, "unfold-all", "zR", "", "open every group", "fold")                             \
    ACT(FOLD_ALL, "fold-all", "zM", "", "close every group", "fold")                               \
    ACT(FOLD_DEPTH, "depth", "z1 z2 z3 z4 z5 z6 z7 z8 z9", "N", "open groups down to that depth",  \
        "fold")                                                                                    \
    ACT(CONSUMER, "consumer", "gd", "", "go to the op that reads this; choose when several do",    \
        "go")                                                                                      \
    ACT(PRODUCER, "producer", "gu", "",                                                            \
        "go to the op that produces this; choose among the inputs of an op", "go")                 \
    ACT(RESHARD, "reshard", "gr", "", "go to its reshard", "go")                                   \
    ACT(GRADIENT, "gradient", "gb", "",                                                            \
        "between an op and its backward ops, a value and its gradient, a parameter and its "       \
        "update",                                                                                  \
        "go")                                                                                      \
    ACT(NEXT_TENSOR, "next-tensor", "]t", "", "next tensor of the op", "go")                       \
    ACT(PREVIOUS_TENSOR, "previous-tensor", "[t", "", "previous tensor of the op", "go")           \
    ACT(PICK_TENSOR, "tensors", "t", "", "choose among the tensors of the op", "go")               \
    ACT(NEXT_RESHARD, "next-reshard", "]r", "", "next op whose value is resharded", "go")          \
    ACT(PREVIOUS_RESHARD, "previous-reshard", "[r", "", "previous op whose value is resharded",    \
        "go")                                                                                      \
    ACT(NEXT_CHANGE, "next-change", "]c", "", "next row changed by the last change of the plan",   \
        "go")                                                                                      \
    ACT(PREVIOUS_CHANGE, "previous-change", "[c", "",                                              \
        "previous row changed by the last change of the plan", "go")                               \
    ACT(NEXT_ERROR, "next-error", "]e", "", "the errors so far: the newest, then the next", "go")  \
    ACT(PREVIOUS_ERROR, "previous-error", "[e", "",                                                \
        "the errors so far: the newest, then the one before", "go")                                \
    ACT(OTHER_END, "other-end", "%", "",                                                           \
        "the other end of its reshard: from the op that produces it to its reader and back", "go") \
    ACT(SEARCH, "find", "/ F3", "REGEX",                                                           \
        "find an op by name, path or operator, or a tensor by name", "go")                         \
    ACT(SEARCH_NEXT, "find-next", "n", "", "next match", "go")                                     \
    ACT(SEARCH_PREVIOUS, "find-previous", "N", "", "previous match", "go")                         \
    ACT(BACK, "back", "Backspace H C-o", "", "back to where you came from", "go")                  \
    ACT(FORWARD, "forward", "L", "", "forward, after going back", "go")                            \
    ACT(JUMPS, "jumps", "", "", "places you came from: choose one", "go")                          \
    ACT(SET_MARK, "mark", "m", "LETTER", "then a letter: mark this place with that letter", "go")  \
    ACT(GO_MARK, "go-mark", "'", "LETTER",                                                         \
        "then a letter: go to the place with that mark; '' is where you were last", "go")          \
    ACT(FILTER, "filter", "f F4", "TERMS",                                                         \
        "list only some ops: MatMul partial:tp kind:AR|AG ms>1 !norm", "list")                     \
    ACT(FILTER_DROP, "filter-drop", "F", "", "drop the filter", "list")                            \
    ACT(SORT, "sort", "s F6", "[COLUMN]",                                                          \
        "sort the rows of each group by a column, or back to program order", "list")               \
    ACT(COLUMNS, "columns", "S", "[COLUMN]", "choose the columns that are shown", "list")          \
    ACT(TAG, "tag", "Space", "", "tag or untag the row's ops, and step down", "list")              \
    ACT(TAG_ALL, "tag-all", "T", "", "tag all ops that are listed, or none", "list")               \
    ACT(SHOW_GRAPH, "graph", "1", "", "the outline of the graph", "view")                          \
    ACT(SHOW_OP, "op", "2", "[OP]", "one op: index dims and how they are sharded, operands, cost", \
        "view")                                                                                    \
    ACT(SHOW_TENSOR, "tensor", "3", "[TENSOR]",                                                    \
        "one tensor: its sharding in six notations, its slices", "view")                           \
    ACT(SHOW_MESH, "devices", "4", "",                                                             \
        "the mesh: what each rank holds; again: groups that communicate", "view")                  \
    ACT(SHOW_COMM, "comm", "5", "", "all reshards, the most expensive first", "view")              \
    ACT(SHOW_MEM, "mem", "6", "", "memory of a device, and what is alive at its peak", "view")     \
    ACT(SHOW_DIFF, "diff", "7", "[PLAN]", "two plans side by side", "view")                        \
    ACT(SHOW_POLICY, "policy", "8", "[POLICY]",                                                    \
        "the policy line by line, and a console; another policy", "view")                          \
    ACT(SHOW_RUN, "timeline", "9", "", "the plan executed: timeline, check, measured times",       \
        "view")                                                                                    \
    ACT(SCHEDULE, "schedule", "0 gp", "", "the pipeline: stages and micro-batches along time",     \
        "view")                                                                                    \
    ACT(NEAR, "near", "Z", "", "boxes around this op", "view")                                     \
    ACT(KEPT, "kept", "gk", "", "what a training step keeps for its backward pass, by layer",      \
        "view")                                                                                    \
    ACT(LINKS, "links", "", "", "who sends to whom, and the load of links", "view")                \
    ACT(JOURNAL, "journal", "", "",                                                                \
        "decisions made here, line by line, and how far they are undone", "view")                  \
    ACT(ERRORS, "errors", "", "", "errors so far, with their places", "view")                      \
    ACT(WHY, "why", "w", "[TENSOR[.DIM]]",                                                         \
        "why it is sharded this way, step by step back to the policy", "view")                     \
    ACT(WHY_NOT, "why-not", "W", "[AXIS]", "why an axis does not shard this, and what stopped it", \
        "view")                                                                                    \
    ACT(FINDINGS, "findings", "gf", "", "all findings: notes, warnings, errors", "view")           \
    ACT(EVENTS, "events", "ge", "", "how propagation made the plan, event by event", "view")       \
    ACT(HELP, "help", "? F1", "[WORD|lua.NAME]",                                                   \
        "this page; a word of another system; what scripts can call", "view")                      \
    ACT(TOUR, "tour", "C-n", "", "in the tour: do the step for me", "view")                        \
    ACT(GROUPING, "grouping", "c", "",                                                             \
        "in Mem: change the grouping (class, layer, tensor); in Schedule: one row per device",     \
        "view")                                                                                    \
    ACT(EQUAL, "equal", "=", "",                                                                   \
        "in Diff: also show equal rows; in Schedule: steps of equal width", "view")                \
    ACT(COMPARE, "compare", "d", "[PLAN]",                                                         \
        "compare with another plan: policy, plan.json, mesh, propagator", "view")                  \
    ACT(NEXT_PANE, "next-pane", "Tab C-wl C-wj", "", "next pane", "view")                          \
    ACT(PREVIOUS_PANE, "previous-pane", "BTab C-wh C-wk", "", "previous pane", "view")             \
    ACT(ZOOM, "zoom", "zz", "", "show one pane on the whole screen, or all panes", "view")         \
    ACT(PIN, "pin", "p", "[AXIS|SHARDING]",                                                        \
        "pin the dim under the cursor: a menu of its axes; [S(0), R] pins the whole tensor",       \
        "plan")                                                                                    \
    ACT(UNPIN, "unpin", "P", "", "drop the pin of the dim under the cursor", "plan")               \
    ACT(ASSIGN, "assign", "", "DIM=AXES", "shard an index dim of this op over axes: k=tp", "plan") \
    ACT(DECIDE, "decide", "", "WHAT ARG",                                                          \
        "decide about the whole tensor: replicated tp, unreduced tp, barrier none, tie X", "plan") \
    ACT(UNDECIDE, "undecide", "", "", "drop the decisions about the whole tensor", "plan")         \
    ACT(WHAT_IF, "what-if", "x", "", "the menu of p, with what each choice would change", "plan")  \
    ACT(UNDO, "undo", "u", "", "undo the last change of the plan", "plan")                         \
    ACT(REDO, "redo", "C-r", "", "redo the change that was undone", "plan")                        \
    ACT(POLICY, "rerun", "r", "", "run the policy again", "plan")                                  \
    ACT(RELOAD, "reload", "R", "", "read model, policy, machine and settings again", "plan")       \
    ACT(MESH, "mesh", "", "dp=4,tp=2", "plan for another mesh", "plan")                            \
    ACT(TRAIN, "train", "", "[SPEC|none]", "plan this training step: adamw,clip=1.0", "plan")      \
    ACT(FREEZE, "freeze", "", "PATTERN", "do not train the parameters with that name", "plan")     \
    ACT(RANK, "rank", "", "N", "show what rank N holds", "plan")                                   \
    ACT(WRITE, "write", "", "[FILE]", "write your pins as lines of a Lua policy", "plan")          \
    ACT(SAVE, "save", "", "FILE", "save the plan: its decisions as plan.json", "plan")             \
    ACT(EDIT, "edit", "e", "", "open $EDITOR at the policy line shown here", "plan")               \
    ACT(LUA, "lua", "i", "[LINE]", "type Lua: query or change the plan, in the policy's state",    \
        "plan")                                                                                    \
    ACT(PLAN_SEARCH, "search", "gs", "[devices=512] [max-peak=75GiB] [frontier]",                  \
        "find the fastest plan that fits, with a proof; your pins hold", "plan")                   \
    ACT(RUN, "run", "", "[verify|fast] [repeat N]",                                                \
        "execute the plan on threads, check it and time it", "plan")                               \
    ACT(ACTUAL, "actual", "", "FILE [STEPS]",                                                      \
        "compare the plan with what a job ran: a trace, or a flight recorder's dump", "plan")      \
    ACT(TRACE, "trace", "", "FILE",                                                                \
        "write the predicted timeline, and the run if there is one, for Perfetto", "keep")         \
    ACT(TIME_IN, "time-in", "+", "", "in Run and Schedule: zoom in", "view")                       \
    ACT(TIME_OUT, "time-out", "-", "", "in Run and Schedule: zoom out", "view")                    \
    ACT(COPY, "copy", "y", "", "copy the name, sharding or line under the cursor", "keep")         \
    ACT(COPY_AS, "copy-as", "Y", "[FORM]", "copy it in another notation, from a menu", "keep")     \
    ACT(EXPORT, "export", "E", "[FILE [KIND]]",                                                    \
        "write the view to a file: svg html txt ansi csv json md", "keep")                         \
    ACT(SCREEN, "screen", "", "FILE", "write this screen as text", "keep")                         \
    ACT(COMMAND, "command", ":", "", "type the name of an action; Tab completes", "program")       \
    ACT(PALETTE, "palette", "C-p", "", "find an action by a few letters of its name or help",      \
        "program")                                                                                 \
    ACT(SHELL, "shell", "!", "COMMAND",                                                            \
        "run a shell command; %op %tensor %file stand for what is selected", "program")            \
    ACT(OPTIONS, "options", "o F2", "", "the settings: see and change them", "program")            \
    ACT(SET, "set", "", "[NAME[=VALUE]]", "show or change a setting", "program")                   \
    ACT(NUMBERS, "numbers", "#", "", "row numbers", "program")                                     \
    ACT(GLYPHS, "glyphs", "~", "", "line drawing or plain ASCII", "program")                       \
    ACT(REDRAW, "redraw", "C-l", "", "redraw the screen", "program")                               \
    ACT(SUSPEND, "suspend", "C-z", "", "back to the shell; fg returns", "program")                 \
    ACT(CANCEL, "cancel", "Esc C-c", "", "leave a prompt, menu or view; never quits", "program")   \
    ACT(CLOSE, "close", "q", "", "close this view; at the graph: quit", "program")                 \
    ACT(QUIT, "quit", "Q F10", "", "quit", "program")

typedef enum {
    ACT_NONE,
#define ACT(id, ...) ACT_##id,
    EXPLORER_ACTIONS(ACT)
#undef ACT
        ACT_COUNT
} ActId;

/* Ended by a row without a name. */
extern const Action explorer_actions[];

const Action *action_by_id(ActId id);

/* The action of that name, or the only one whose name starts with it. NULL with a hint in *err. */
const Action *action_by_name(Str name, const Action *const *tables, int n_tables, Error *err);

#endif
