#include "tui/state/act.h"

#include <ctype.h>

#define E ACTION_EXPLORER

const Action explorer_actions[] = {
    {"down", "j Down", "", "next row", "move", E, ACT_DOWN},
    {"up", "k Up", "", "previous row", "move", E, ACT_UP},
    {"page-down", "PgDn C-f", "", "one page down", "move", E, ACT_PAGE_DOWN},
    {"page-up", "PgUp", "", "one page up", "move", E, ACT_PAGE_UP},
    {"half-down", "C-d", "", "half a page down", "move", E, ACT_HALF_DOWN},
    {"half-up", "C-u", "", "half a page up", "move", E, ACT_HALF_UP},
    {"top", "gg Home", "", "first row", "move", E, ACT_TOP},
    {"bottom", "G End", "", "last row", "move", E, ACT_BOTTOM},
    {"left", "h Left", "", "close the group, or go to its first row; previous rank", "move", E,
     ACT_LEFT},
    {"right", "l Right", "", "open the group; next rank", "move", E, ACT_RIGHT},
    {"open", "Enter", "", "open the row; on xN: list its members", "move", E, ACT_OPEN},
    {"dim-next", ">", "", "next dim of the tensor, which p pins; in Mesh: other axes", "move", E,
     ACT_DIM_NEXT},
    {"dim-previous", "<", "", "previous dim", "move", E, ACT_DIM_PREVIOUS},
    {"row", "", "N", "go to row N; :120 is short for row 120", "move", E, ACT_GOTO},

    {"fold", "za", "", "open or close the group; all lines of the policy or those that decide",
     "fold", E, ACT_FOLD},
    {"unfold-all", "zR", "", "open every group", "fold", E, ACT_FOLD_NONE},
    {"fold-all", "zM", "", "close every group", "fold", E, ACT_FOLD_ALL},
    {"depth", "z1 z2 z3 z4 z5 z6 z7 z8 z9", "N", "open groups down to that depth", "fold", E,
     ACT_FOLD_DEPTH},

    {"consumer", "gd", "", "go to the op that reads this; choose when several do", "go", E,
     ACT_CONSUMER},
    {"producer", "gu", "", "go to the op that makes this; choose among the inputs of an op", "go",
     E, ACT_PRODUCER},
    {"reshard", "gr", "", "go to its reshard", "go", E, ACT_RESHARD},
    {"next-tensor", "]t", "", "next tensor of the op", "go", E, ACT_NEXT_TENSOR},
    {"previous-tensor", "[t", "", "previous tensor of the op", "go", E, ACT_PREVIOUS_TENSOR},
    {"tensors", "t", "", "choose among the tensors of the op", "go", E, ACT_PICK_TENSOR},
    {"next-reshard", "]r", "", "next op whose value is resharded", "go", E, ACT_NEXT_RESHARD},
    {"previous-reshard", "[r", "", "previous op whose value is resharded", "go", E,
     ACT_PREVIOUS_RESHARD},
    {"next-change", "]c", "", "next row that the last change of the plan changed", "go", E,
     ACT_NEXT_CHANGE},
    {"previous-change", "[c", "", "previous row that the last change of the plan changed", "go", E,
     ACT_PREVIOUS_CHANGE},
    {"next-error", "]e", "", "the errors so far: the newest, then the next", "go", E,
     ACT_NEXT_ERROR},
    {"previous-error", "[e", "", "the errors so far: the newest, then the one before", "go", E,
     ACT_PREVIOUS_ERROR},
    {"other-end", "%", "", "the other end of its reshard: from its maker to its reader and back",
     "go", E, ACT_OTHER_END},
    {"search", "/ F3", "REGEX", "find an op by name, path or operator, or a tensor by name", "go",
     E, ACT_SEARCH},
    {"search-next", "n", "", "next match", "go", E, ACT_SEARCH_NEXT},
    {"search-previous", "N", "", "previous match", "go", E, ACT_SEARCH_PREVIOUS},
    {"back", "Backspace H C-o", "", "back to where you came from", "go", E, ACT_BACK},
    {"forward", "L", "", "forward again", "go", E, ACT_FORWARD},
    {"jumps", "", "", "places you came from: choose one", "go", E, ACT_JUMPS},
    {"mark", "m", "LETTER", "then a letter: remember this place by it", "go", E, ACT_SET_MARK},
    {"go-mark", "'", "LETTER", "then a letter: go to that place; '' is where you were last", "go",
     E, ACT_GO_MARK},

    {"filter", "f F4", "TERMS", "list only some ops: MatMul partial:tp kind:AR|AG ms>1 !norm",
     "list", E, ACT_FILTER},
    {"filter-drop", "F", "", "drop the filter", "list", E, ACT_FILTER_DROP},
    {"sort", "s F6", "[COLUMN]",
     "sort the rows of each group by a column, or back to program order", "list", E, ACT_SORT},
    {"columns", "S", "[COLUMN]", "choose the columns that are shown", "list", E, ACT_COLUMNS},
    {"tag", "Space", "", "tag or untag the row's ops, and step down", "list", E, ACT_TAG},
    {"tag-all", "T", "", "tag all ops that are listed, or none", "list", E, ACT_TAG_ALL},

    {"graph", "1", "", "the outline of the graph", "view", E, ACT_SHOW_GRAPH},
    {"op", "2", "[OP]", "one op: index dims, cuts, operands, cost", "view", E, ACT_SHOW_OP},
    {"tensor", "3", "[TENSOR]", "one tensor: its sharding five ways, its slices", "view", E,
     ACT_SHOW_TENSOR},
    {"devices", "4", "", "the mesh: what each rank holds; again: groups that communicate", "view",
     E, ACT_SHOW_MESH},
    {"comm", "5", "", "all reshards, the most expensive first", "view", E, ACT_SHOW_COMM},
    {"mem", "6", "", "memory of a device, and what is alive at its peak", "view", E, ACT_SHOW_MEM},
    {"diff", "7", "[PLAN]", "two plans side by side", "view", E, ACT_SHOW_DIFF},
    {"policy", "8", "[POLICY]", "the policy line by line, and a console; another policy", "view", E,
     ACT_SHOW_POLICY},
    {"timeline", "9", "", "the plan executed: timeline, check, measured times", "view", E,
     ACT_SHOW_RUN},
    {"schedule", "gp", "", "the pipeline: stages and micro-batches along time", "view", E,
     ACT_SCHEDULE},
    {"near", "Z", "", "boxes around this op", "view", E, ACT_NEAR},
    {"links", "", "", "who sends to whom, and the load of links", "view", E, ACT_LINKS},
    {"journal", "", "", "decisions made here, line by line, and where undo is", "view", E,
     ACT_JOURNAL},
    {"errors", "", "", "errors so far, with their places", "view", E, ACT_ERRORS},
    {"why", "w", "[TENSOR[.DIM]]", "why it is sharded this way, step by step back to the policy",
     "view", E, ACT_WHY},
    {"why-not", "W", "[AXIS]", "why an axis does not shard this, and what stopped it", "view", E,
     ACT_WHY_NOT},
    {"findings", "gf", "", "all findings: notes, warnings, errors", "view", E, ACT_FINDINGS},
    {"events", "ge", "", "how propagation made the plan, event by event", "view", E, ACT_EVENTS},
    {"help", "? F1", "[lua.NAME]", "this page, or what scripts can call", "view", E, ACT_HELP},
    {"tour", "C-n", "", "in the tour: type what it says", "view", E, ACT_TOUR},
    {"grouping", "c", "",
     "in Mem: group by class, layer and tensor, or less; in Schedule: rows are devices", "view", E,
     ACT_GROUPING},
    {"equal", "=", "", "in Diff: show equal rows too; in Schedule: steps of equal width", "view", E,
     ACT_EQUAL},
    {"compare", "d", "[PLAN]", "compare with another plan: policy, plan.json, mesh, method", "view",
     E, ACT_COMPARE},
    {"next-pane", "Tab C-wl C-wj", "", "next pane", "view", E, ACT_NEXT_PANE},
    {"previous-pane", "BTab C-wh C-wk", "", "previous pane", "view", E, ACT_PREVIOUS_PANE},
    {"zoom", "zz", "", "one pane on the whole screen, or all again", "view", E, ACT_ZOOM},

    {"pin", "p", "[AXIS]", "pin the dim under the cursor: a menu of its axes", "plan", E, ACT_PIN},
    {"unpin", "P", "", "drop the pin of the dim under the cursor", "plan", E, ACT_UNPIN},
    {"assign", "", "DIM=AXES", "shard an index dim of this op over axes: k=tp", "plan", E,
     ACT_ASSIGN},
    {"decide", "", "WHAT ARG",
     "for the whole tensor: replicated tp, unreduced tp, barrier none, tie X", "plan", E,
     ACT_DECIDE},
    {"undecide", "", "", "drop the decisions about the whole tensor", "plan", E, ACT_UNDECIDE},
    {"what-if", "x", "", "the same menu with what each choice would change", "plan", E,
     ACT_WHAT_IF},
    {"undo", "u", "", "undo the last change of the plan", "plan", E, ACT_UNDO},
    {"redo", "C-r", "", "redo it", "plan", E, ACT_REDO},
    {"rerun", "r", "", "run the policy again", "plan", E, ACT_POLICY},
    {"reload", "R", "", "read model, policy, machine and settings again", "plan", E, ACT_RELOAD},
    {"mesh", "", "dp=4,tp=2", "plan for another mesh", "plan", E, ACT_MESH},
    {"rank", "", "N", "show what rank N holds", "plan", E, ACT_RANK},
    {"write", "", "[FILE]", "write your pins as lines of a Lua policy", "plan", E, ACT_WRITE},
    {"save", "", "FILE", "save the plan: its decisions as plan.json", "plan", E, ACT_SAVE},
    {"edit", "e", "", "open $EDITOR at the policy line shown here", "plan", E, ACT_EDIT},
    {"lua", "i", "[LINE]", "type Lua: query or change the plan, in the policy's state", "plan", E,
     ACT_LUA},
    {"run", "", "[verify|fast] [repeat N]", "execute the plan on threads, check it and time it",
     "plan", E, ACT_RUN},
    {"trace", "", "FILE", "write the predicted timeline, and the run, for Perfetto", "keep", E,
     ACT_TRACE},
    {"time-in", "+", "", "in Run and Schedule: zoom in", "view", E, ACT_TIME_IN},
    {"time-out", "-", "", "in Run and Schedule: zoom out", "view", E, ACT_TIME_OUT},

    {"copy", "y", "", "copy the name, sharding or line under the cursor", "keep", E, ACT_COPY},
    {"copy-as", "Y", "[FORM]", "copy it in another notation: a menu of them", "keep", E,
     ACT_COPY_AS},
    {"export", "E", "[FILE [KIND]]", "write the view to a file: svg html txt ansi csv json md",
     "keep", E, ACT_EXPORT},
    {"screen", "", "FILE", "write this screen as text", "keep", E, ACT_SCREEN},

    {"command", ":", "", "type the name of an action; Tab completes", "program", E, ACT_COMMAND},
    {"palette", "C-p", "", "find an action by a few letters of its name or help", "program", E,
     ACT_PALETTE},
    {"shell", "!", "COMMAND", "run a shell command; %op %tensor %file are what is selected",
     "program", E, ACT_SHELL},
    {"options", "o F2", "", "the settings: see and change them", "program", E, ACT_OPTIONS},
    {"set", "", "[NAME[=VALUE]]", "show or change a setting", "program", E, ACT_SET},
    {"numbers", "#", "", "row numbers", "program", E, ACT_NUMBERS},
    {"glyphs", "~", "", "line drawing or plain ASCII", "program", E, ACT_GLYPHS},
    {"redraw", "C-l", "", "draw everything anew", "program", E, ACT_REDRAW},
    {"suspend", "C-z", "", "back to the shell; fg returns", "program", E, ACT_SUSPEND},
    {"cancel", "Esc C-c", "", "leave a prompt, menu or view; never quits", "program", E,
     ACT_CANCEL},
    {"close", "q", "", "close this view; at the graph: quit", "program", E, ACT_CLOSE},
    {"quit", "Q F10", "", "quit", "program", E, ACT_QUIT},
    {0},
};

const Action *action_by_id(ActId id)
{
    for (const Action *row = explorer_actions; row->name; row++)
        if (row->id == (int)id)
            return row;
    return NULL;
}

const Action *action_by_name(Str name, const Action *const *tables, int n_tables, Error *err)
{
    const Action *found = NULL, *nearest = NULL;
    int n_found = 0, least = 4;

    for (int t = 0; t < n_tables; t++) {
        for (const Action *row = tables[t]; row->name; row++) {
            Str other = str_from(row->name);
            if (str_eq(other, name))
                return row;
            if (name.n > 0 && str_starts(other, name)) {
                found = row;
                n_found++;
            }
            int distance = str_distance(other, name);
            if (distance < least) {
                least = distance;
                nearest = row;
            }
        }
    }
    if (n_found == 1)
        return found;
    if (n_found)
        error_set(err, "':%.*s' is the start of %d commands", STR_ARG(name), n_found);
    else
        error_set(err, "no command ':%.*s'", STR_ARG(name));
    if (n_found)
        error_hint(err, "Tab completes");
    else if (nearest)
        error_hint(err, "did you mean ':%s'?", nearest->name);
    return NULL;
}
