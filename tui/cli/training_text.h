/* training_text.h - the cost of a training step as a few lines of text. */
#ifndef TUI_CLI_TRAINING_TEXT_H
#define TUI_CLI_TRAINING_TEXT_H

#include "core/cost/training_cost.h"
#include "core/session/session.h"

/* Appends nothing if the session plans no training step. */
void training_text_format(const Session *session, Buf *out);

/* Only the table of memory: by class, on the first rank, the last one and the one that needs most.
 */
void training_text_memory(Arena *scratch, const TrainingCost *cost, Buf *out);

#endif
