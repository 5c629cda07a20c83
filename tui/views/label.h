/* label.h - texts the views share: names of ops and tensors, shardings in colour, bytes and times.
 *
 * All texts live in the frame's arena.
 */
#ifndef TUI_VIEWS_LABEL_H
#define TUI_VIEWS_LABEL_H

#include "tui/app/ui.h"

/* "transformer.h.0.mlp.c_fc", with "/Gemm" where other ops share the path. */
Str label_op(const Session *session, Arena *arena, int32_t op);
/* The operator without its domain. */
const char *label_operator(const Graph *graph, int32_t op);
/* A parameter or input by its name, a made value by its op: "h.0.mlp.c_fc.out"
 * for what a module hands on, "h.0.mlp.act/Mul out" inside of it. */
Str label_tensor(const Session *session, Arena *arena, int32_t tensor);

/* `8/dp,4096,4096/tp +tp`, marks as the screen can draw them. */
Str label_sharding(const Ui *ui, int32_t sharding);
/* The same of a tensor; where it has no sharding since sizes are not known, what is of its shape.
 */
Str label_value(const Ui *ui, int32_t tensor, int32_t sharding);
/* What is known of a shape, briefly: "NonZero.1,64" for pick/NonZero.1; "?": nothing is. */
void label_put_shape(const Inferred *inferred, int32_t tensor, Buf *out);
/* Why an op without a rule of its own is replicated: "no rule". */
const char *label_no_rule(const Session *session, int32_t op);
Str label_bytes(const Ui *ui, int64_t bytes);
Str label_us(const Ui *ui, double us);
/* What the plan's totals are of: a "step", or a "micro-batch" of the several that a step has. */
const char *label_pass(const Plan *plan);

/* Draws a sharding, or any text with axis names, in exactly that many columns: names of mesh axes
 * in their colours; dim `dim` underlined (-1: none). columns < 0: as many as it takes. */
void draw_sharding(const Ui *ui, Pen *pen, Str text, int dim, int columns);

/* Runs of digits as one '*', so that what is alike in each layer reads the same. */
void text_wildcard(Str text, Buf *out);

/* A heading: "LABEL  text". */
void draw_field(Pen *pen, const char *label, int columns);

/* What a tensor is: "parameter", "input", "activation". */
const char *label_tensor_kind(const Ui *ui, int32_t tensor);

/* "megatron.lua:14", "by you". */
Str label_pin(const Ui *ui, const Decision *pin);

/* "policy.lua:14  graph:shard(...)", "by you  ..."; for a screen line. */
void label_origin(const Origin *origin, Buf *out);

#endif
