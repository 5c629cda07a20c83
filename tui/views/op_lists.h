/* op_lists.h - an op's index dims and operands, as lists with a cursor. */
#ifndef TUI_VIEWS_OP_LISTS_H
#define TUI_VIEWS_OP_LISTS_H

#include "tui/state/ui.h"

/* Operand `i` of the op, inputs then outputs: its tensor and its sharding in the op; -1: absent. */
typedef struct {
    bool input;
    int32_t tensor, sharding;
} OperandAt;

int op_n_operands(const Ui *ui, int32_t op);
OperandAt op_operand_at(const Ui *ui, int32_t op, int i);

/* The other end of an operand: "◂ attn.core", "▸ attn.add +2". */
typedef struct {
    const char *arrow;
    Str name;  /* of the op, relative to this op's name; or the kind of a given tensor */
    bool kind; /* the name is a kind: no op makes the tensor during a run */
    int more;  /* number of further readers */
} OtherEnd;

OtherEnd op_other_end(const Ui *ui, const OperandAt *operand);
void op_format_other_end(const OtherEnd *end, Buf *out);

/* The pen's width decides which columns are drawn. *selected becomes the line of the cursor's item;
 * items are counted from 0 for index dims and from `first` for operands. */
void op_draw_indexes(const Ui *ui, int32_t op, Pen *pen, int *selected);
void op_draw_operands(const Ui *ui, int32_t op, int first, Pen *pen, int *selected);

/* What the selected rank touches of each operand and holds beyond that (core/summary/ranges.h), and
 * the rank with the most waste; nothing if no rule says what the op reads. */
void op_draw_ranges(const Ui *ui, int32_t op, Pen *pen);

/* The same for operand `i`, in one line; nothing if there is no such operand. */
void op_draw_range(const Ui *ui, int32_t op, int i, Pen *pen);

#endif
