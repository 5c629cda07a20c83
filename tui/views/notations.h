/* notations.h - a tensor's sharding in every notation, to show and to copy. */
#ifndef TUI_VIEWS_NOTATIONS_H
#define TUI_VIEWS_NOTATIONS_H

#include "tui/state/ui.h"

enum { TENSOR_NOTATIONS_MAX = 8 };

typedef struct {
    const char *name; /* "shape/axis", "dims_mapping" .. "gspmd" */
    Text text;        /* the sharding, or why the notation cannot express it */
    bool held;        /* false: text is the reason */
    Str about;        /* a remark: "on mesh [2,4]"; may be "" */
} TensorNotation;

/* The sharding that its maker gives; shape/axis comes first. Texts are in the frame's arena.
 * Returns 0 if tensor is -1 or its sizes are unknown. */
int tensor_notations(const Ui *ui, int32_t tensor, TensorNotation out[TENSOR_NOTATIONS_MAX]);

#endif
