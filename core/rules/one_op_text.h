/* one_op_text.h - prints an op of a model as the command that shows its rule.
 *
 *     Reshape --shapes '8x1024x768,=[-1,768]'        Gemm --shapes 8x4,4x6,6 --attr transB=0
 *
 * It is the inverse of one_op.h: the printed operands and attributes read back as an op with the
 * same index space. Attributes that are tensors, graphs or lists of texts have no form there and
 * are left out; so are known values other than short lists of whole numbers.
 */
#ifndef CORE_RULES_ONE_OP_TEXT_H
#define CORE_RULES_ONE_OP_TEXT_H

#include "core/rules/infer.h"

/* "8x1024x768,=[-1,768]"; if there are several outputs, an arrow and the outputs follow. Returns
 * false if values that a rule may read are left out. */
bool one_op_put_operands(const Inferred *inferred, int32_t op, Buf *out);

/* "axis=1", "perm=[0,2,1]". Returns false, and appends nothing, if the attribute has no text form.
 */
bool one_op_put_attr(const Graph *graph, const Attr *attr, Buf *out);

/* Whether the op has that form: all of its operands are tensors of known shapes. A sequence has no
 * form as an operand. */
bool one_op_is_written(const Inferred *inferred, int32_t op);

/* "Gemm --shapes 8x4,4x6 --attr transB=1", quoted for a shell where that is needed, of an op that
 * has that form. Returns as above. */
bool one_op_put_command(const Inferred *inferred, int32_t op, Buf *out);

#endif
