/* estimate_parts.h - where the time of a step goes, and its warnings, as pages on a step share
 * them.
 */
#ifndef TUI_CLI_ESTIMATE_PARTS_H
#define TUI_CLI_ESTIMATE_PARTS_H

#include "core/base/json.h"
#include "core/cost/step_parts.h"
#include "core/summary/estimate.h"

/* "memory   21.4 GiB of 74.5 GiB on the fullest device: 53.1 GiB free" */
void estimate_parts_fit(Arena *scratch, const Plan *plan, Buf *out);

/* A table of the parts, with the share of each. */
void estimate_parts_text(Arena *scratch, const Mesh *mesh, const StepParts *parts, Buf *out);
Json *estimate_parts_json(Arena *scratch, const Mesh *mesh, const StepParts *parts);

/* A table of collectives by axes and cause: how many buckets of which size, their time, and how
 * long ops wait for them; nothing if there are none. */
void estimate_parts_exposed(Arena *scratch, const Mesh *mesh, const StepParts *parts, Buf *out);
Json *estimate_parts_exposed_json(Arena *scratch, const Mesh *mesh, const StepParts *parts);

/* A table of the bubble by cause, each lane in a row; nothing without a schedule. */
void estimate_parts_bubble(Arena *scratch, const Plan *plan, Buf *out);

/* A table of the three changes that help most, beside the plan, and how many were tried. */
void estimate_parts_changes(Arena *scratch, const Plan *plan, const EstimateChanges *changes,
                            Buf *out);

/* Warnings and errors of the plan, and inputs that do not divide, with an empty line behind them;
 * other notes are left to `plan`. */
void estimate_parts_findings(Arena *scratch, const Plan *plan, Buf *out);

#endif
