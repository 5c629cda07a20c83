/* policy_lines.h - a policy line by line: the decisions of each line, their consequences, and which
 * lines had no effect.
 *
 *     hits     decisions of the line that hold in the plan; a later decision, or one of the user,
 *              may have taken the place of others that it made
 *     idle     it ran and no decision of it holds: a finding names it (its pattern matched
 *              nothing), or others took the place of all that it made
 *     unused   it calls what decides, and made no decision: it was not reached, or what it says
 *              had been decided before it
 *     us       time of a step in reshards whose cause is a decision of the line (comm_cause: the
 *              pin that the chain of what the reshard undoes goes back to). Reshards that the Comm
 *              view folds into one row count to the line that the first of them goes back to.
 *
 * Times are computed only for plans of at most PRICED_OPS_MAX ops, since each chain costs a walk
 * over the plan. The text is that of the current file, which may be newer than the plan.
 */
#ifndef TUI_VIEWS_POLICY_LINES_H
#define TUI_VIEWS_POLICY_LINES_H

#include "tui/state/ui.h"

enum { PRICED_OPS_MAX = 50000 };

typedef struct {
    Str text;
    int hits, made;
    bool calls;             /* it calls a function that decides, judging by its text */
    const Finding *finding; /* the most severe one of the policy on that line; NULL */
    double us; /* of the reshards that it causes; for a training step, over all micro-batches */
    double pass_us[COMM_PASS_COUNT]; /* the same for one micro-batch, by pass */
} PolicyLine;

/* A change made in the explorer, not by the policy: one per line of its journal. Lines that differ
 * only in their tensor or op are folded: one edit with a pattern precedes them. */
typedef struct {
    const char *text;
    int hits, made; /* decisions, as for lines; one that removes a pin counts as in force */
    int line;       /* of the journal's step, as in Origin */
    int first;      /* its first decision in the journal */
    int n_members;  /* number of following edits that it stands for; 0: only itself */
    int head;       /* the edit that stands for it; -1: none does */
    bool open;      /* its members are listed */
} PolicyEdit;

typedef struct {
    Arena *arena;
    const char *file;  /* NULL: there is no policy */
    const char *error; /* why the file cannot be read; NULL */
    int n_lines, n_edits;
    PolicyLine *line; /* line[0] is line 1 */
    PolicyEdit *edit;
    int n_hits, n_deciding; /* decisions that hold; lines with at least one */
    int n_idle, n_unused;   /* lines */
    double most_us;
    bool priced;
    /* ---- what it was made for ---- */
    int n_policy_runs;
} PolicyLines;

/* The state of the policy's view. */
typedef struct {
    PolicyLines *lines; /* NULL: to be made */
    bool shows_all;     /* also lines that decide nothing */
    bool placed;        /* the cursor has been put on a line that decides */
} PolicyState;

/* For the session's plan; kept until the plan changes or the policy runs again. */
const PolicyLines *policy_lines(Ui *ui);
void policy_lines_forget(Ui *ui);

/* The decisions of a line that hold, in journal order; returns how many there are. */
int policy_line_decisions(Ui *ui, int line, const Decision ***out);

bool policy_line_is_idle(const PolicyLine *line);

/* Whether the edit is hidden, because the edit that stands for it is closed. */
static inline bool policy_edit_is_folded(const PolicyLines *lines, int edit)
{
    int head = lines->edit[edit].head;
    return head >= 0 && !lines->edit[head].open;
}

static inline bool policy_line_is_unused(const PolicyLine *line)
{
    return line->calls && line->made == 0 && !line->finding;
}

/* Where to open an editor: at the line that failed, else at the cursor's. Returns false if there is
 * no policy. */
bool policy_place(Ui *ui, Str *file, int *line);

#endif
