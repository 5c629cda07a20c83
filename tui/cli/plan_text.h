/* plan_text.h - a plan as a page of text: what `dimscope plan` prints.
 *
 * The outline with every group open and equal layers folded into one, the parameters folded by
 * pattern, the collectives by kind, axis and size, the findings and the totals; readable in 100
 * columns; cli_write() folds it on a terminal that has fewer. Marks are UTF-8: it turns them into
 * ASCII where they cannot be shown.
 */
#ifndef TUI_CLI_PLAN_TEXT_H
#define TUI_CLI_PLAN_TEXT_H

#include "core/session/session.h"

void plan_text_format(const Session *session, Buf *out);

/* The part that other verbs print too. */
void plan_text_findings(const Findings *findings, Buf *out);

/* Collectives of a plan: how many steps of one kind over the same axes move the same bytes, those
 * in a loop as often as it runs. */
typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes;         /* of one */
    double count, us;      /* of all */
    const char *algorithm; /* of price.h */
} CollectiveRow;

/* In order of first use; slices, which move nothing, are left out. Number of rows. */
int plan_collectives(Arena *arena, const Plan *plan, CollectiveRow **out);

#endif
