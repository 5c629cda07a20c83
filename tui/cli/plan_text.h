/* plan_text.h - a plan as a page of text: the output of `dimscope plan`.
 *
 * It has the outline with every group open and equal layers folded, the parameters folded by
 * pattern, the collectives by kind, axis and size, the findings and the totals. It fits 100
 * columns; cli_write() wraps it on narrower terminals. Marks are UTF-8; cli_write() replaces them
 * by ASCII if they cannot be shown.
 */
#ifndef TUI_CLI_PLAN_TEXT_H
#define TUI_CLI_PLAN_TEXT_H

#include "core/session/session.h"

void plan_text_format(const Session *session, Buf *out);

/* The part that other verbs print, too. */
void plan_text_findings(const Findings *findings, Buf *out);

/* For verbs that do not answer with all findings: errors, and warnings about a line of the policy,
 * which says something without effect. In the arena. */
Findings plan_text_unheeded(Arena *arena, const Plan *plan);

/* Collectives of a plan: the number of steps of one kind over the same axes with the same bytes,
 * counting loop iterations. */
typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes;          /* of one */
    double count, us;       /* of all */
    const Machine *machine; /* that prices it */
    const char *algorithm;  /* of price.h */
} CollectiveRow;

/* In order of first use, without slices, which move nothing. Returns the number of rows. */
int plan_collectives(Arena *arena, const Plan *plan, CollectiveRow **out);

#endif
