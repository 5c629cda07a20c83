/* finding.h - a problem or a note about a plan: what is legal but bad, or what makes the plan
 * illegal.
 *
 * Findings are data: views show them, `check` prints them, tests compare them. A plan with a
 * finding of level error is illegal (exit code 1).
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
    const char *file; /* the script it is about; NULL if none */
    int line, column; /* from 1; 0 if not known */
    int32_t op, tensor; /* ids in the graph, or -1 */
} Finding;

typedef Vec(Finding) Findings;

const char *level_name(Level level); /* "note", "warning", "error" */

#endif
