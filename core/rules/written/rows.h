/* rows.h - the tables of operators that are written out as others; private to core/rules/written.
 */
#ifndef CORE_RULES_WRITTEN_ROWS_H
#define CORE_RULES_WRITTEN_ROWS_H

#include "core/rules/written/written.h"

typedef struct {
    const char *name, *text;
} WrittenRow;

/* Ended by a row without name. */
extern const WrittenRow rows_sequence[];

#endif
