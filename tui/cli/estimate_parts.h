/* estimate_parts.h - tables of where the time of a step goes, and its warnings, for several pages.

 */
#ifndef TUI_CLI_ESTIMATE_PARTS_H
#define TUI_CLI_ESTIMATE_PARTS_H

#include "core/base/json.h"
#include "core/cost/step_parts.h"
#include "core/summary/estimate.h"

/* "memory   21.4 GiB of 74.5 GiB on the fullest device: 53.1 GiB free" */
void estimate_parts_fit(Arena *scratch, const Plan *plan, Buf *out);

/* A table of the parts with their shares. */
void estimate_parts_text(Arena *scratch, const Mesh *mesh, const StepParts *parts, Buf *out);
Json *estimate_parts_json(Arena *scratch, const Mesh *mesh, const StepParts *parts);

/* A table of collectives by axes and cause: number and size of buckets, their time, and how long
 * ops wait for them; nothing if there are none. */
void estimate_parts_exposed(Arena *scratch, const Plan *plan, const StepParts *parts, Buf *out);
Json *estimate_parts_exposed_json(Arena *scratch, const Mesh *mesh, const StepParts *parts);

/* A table of the bubble by cause, one row per lane; nothing without a schedule. */
void estimate_parts_bubble(Arena *scratch, const Plan *plan, Buf *out);

/* A table of the three changes that help most, compared with the plan, and the number of changes
 * tried. */
void estimate_parts_changes(Arena *scratch, const Plan *plan, const EstimateChanges *changes,
                            Buf *out);

/* Warnings and errors of the plan, and inputs that do not divide, followed by an empty line; other
 * notes are shown only by `plan`. */
void estimate_parts_findings(Arena *scratch, const Plan *plan, Buf *out);
Json *estimate_parts_findings_json(Arena *scratch, const Plan *plan); /* an array of them */

#endif
