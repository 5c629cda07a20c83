/* op_lists.h - what an op works on: its index dims and its operands, as lists with a cursor. */
#ifndef TUI_VIEWS_OP_LISTS_H
#define TUI_VIEWS_OP_LISTS_H

#include "tui/state/ui.h"

/* Operand `i` of the op, inputs then outputs: its tensor and the sharding the op sees; -1: absent.
 */
typedef struct {
    bool input;
    int32_t tensor, sharding;
} OperandAt;

int op_n_operands(const Ui *ui, int32_t op);
OperandAt op_operand_at(const Ui *ui, int32_t op, int i);

/* What is at the other end of an operand: "◂ attn.core", "▸ attn.add +2". */
typedef struct {
    const char *arrow;
    Str name;  /* of the op, by what it adds to this one's name; or the kind of a given tensor */
    bool kind; /* it is a kind: no op makes the tensor while the plan runs */
    int more;  /* further readers */
} OtherEnd;

OtherEnd op_other_end(const Ui *ui, const OperandAt *operand);
void op_format_other_end(const OtherEnd *end, Buf *out);

/* The columns are chosen by the pen's width. *selected becomes the line of the cursor's item, which
 * are counted from 0 for index dims and from `first` for operands. */
void op_draw_indexes(const Ui *ui, int32_t op, Pen *pen, int *selected);
void op_draw_operands(const Ui *ui, int32_t op, int first, Pen *pen, int *selected);

/* What the selected rank touches of each operand and holds of it beyond that
 * (core/summary/ranges.h), and the rank that holds most in vain; nothing where no rule says what
 * the op reads. */
void op_draw_ranges(const Ui *ui, int32_t op, Pen *pen);

/* The same of operand `i` in a line; nothing if it is none. */
void op_draw_range(const Ui *ui, int32_t op, int i, Pen *pen);

#endif
