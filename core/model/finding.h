/* finding.h - what is legal but bad, or makes a plan illegal: data, not messages.
 *
 * Findings are shown in the views, printed by `check` and compared by tests. A plan with a finding
 * of level error is illegal (exit code 1).
 */
#ifndef CORE_MODEL_FINDING_H
#define CORE_MODEL_FINDING_H

#include "core/base/error.h"
#include "core/base/vec.h"

typedef enum { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR } Level;

typedef struct {
    Level level;
    const char *code; /* a fixed word: "uneven", "no-rule", "conflict", "pattern-matched-nothing" */
    const char *text; /* one line, names the op or tensor and the numbers */
    const char *hint; /* what to do; "" if there is nothing to do */
    const char *file; /* of the script that it is about; or NULL */
    int line, column; /* from 1; 0 if not known */
    int32_t op, tensor; /* ids in the graph, or -1 */
} Finding;

typedef Vec(Finding) Findings;

const char *level_name(Level level); /* "note", "warning", "error" */

#endif
