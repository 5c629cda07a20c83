/* tensor_training.h - what a training step keeps for a value: its gradient, where and how often
 * that is reduced, and a parameter's optimizer states. */
#ifndef TUI_VIEWS_STEP_TENSOR_TRAINING_H
#define TUI_VIEWS_STEP_TENSOR_TRAINING_H

#include "tui/state/ui.h"

enum { TRAINING_LINES_MAX = 5 };

typedef struct {
    const char *name; /* "gradient" */
    Text text;
} TrainingLine;

/* The lines for a value, or for the value whose gradient the tensor is. Returns how many; 0 without
 * a training step. Texts are in the frame's arena. */
int tensor_training(const Ui *ui, int32_t tensor, TrainingLine *out);

/* The most expensive reshard of the gradient of a value, or of what is made of it; -1: none. Goes
 * through all reshards. */
int32_t tensor_reduction(const Ui *ui, int32_t value);

/* The gradient of a value, the value of a gradient; -1 if there is none. */
int32_t tensor_counterpart(const Ui *ui, int32_t tensor);

#endif
