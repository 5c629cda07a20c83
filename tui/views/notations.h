/* notations.h - a tensor's sharding in every notation there is, to show and to copy. */
#ifndef TUI_VIEWS_NOTATIONS_H
#define TUI_VIEWS_NOTATIONS_H

#include "tui/state/ui.h"

enum { TENSOR_NOTATIONS_MAX = 8 };

typedef struct {
    const char *name; /* "shape/axis", "dims_mapping" .. "gspmd" */
    Text text;        /* in the notation, or why it cannot express it */
    bool held;        /* false: text says why not */
    Str about;        /* what is to be known beside it: "on mesh [2,4]"; may be "" */
} TensorNotation;

/* As its maker leaves it; shape/axis comes first. Texts live in the frame. 0: tensor is -1, or its
 * sizes are not known. */
int tensor_notations(const Ui *ui, int32_t tensor, TensorNotation out[TENSOR_NOTATIONS_MAX]);

#endif
