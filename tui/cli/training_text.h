/* training_text.h - the cost of a training step as a few lines of text. */
#ifndef TUI_CLI_TRAINING_TEXT_H
#define TUI_CLI_TRAINING_TEXT_H

#include "core/cost/training_cost.h"
#include "core/session/session.h"

/* Appends nothing if the session plans no training step. */
void training_text_format(const Session *session, Buf *out);

/* The table of memory alone: by class, on the first, the last and the fullest rank. */
void training_text_memory(Arena *scratch, const TrainingCost *cost, Buf *out);

#endif
