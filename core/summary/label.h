/* label.h - the names of ops, tensors and decisions on screens, in drawings and in exports. */
#ifndef CORE_SUMMARY_LABEL_H
#define CORE_SUMMARY_LABEL_H

#include "core/session/session.h"

/* "transformer.h.0.mlp.c_fc", with "/Gemm" where other ops share the path. */
Str label_op(const Session *session, Arena *arena, int32_t op);
/* The operator without its domain. */
const char *label_operator(const Graph *graph, int32_t op);
/* A parameter or an input by its name, a computed value by its op: "h.0.mlp.c_fc.out" for the
 * output of a module, "h.0.mlp.act/Mul out" for a value inside it. */
Str label_tensor(const Session *session, Arena *arena, int32_t tensor);
/* What a tensor is: "parameter", "input", "activation". */
const char *label_tensor_kind(const Session *session, int32_t tensor);
/* The known part of a shape, briefly: "NonZero.1,64" for pick/NonZero.1; "?" if nothing is known.
 */
void label_put_shape(const Inferred *inferred, int32_t tensor, Buf *out);
/* "6 of ", "list of " before the shape or sharding of the elements of a sequence; nothing for a
 * tensor. */
void label_put_list(const Inferred *inferred, int32_t tensor, Buf *out);
/* Why an op without a rule of its own is replicated: "no rule". */
const char *label_no_rule(const Session *session, int32_t op);
/* What the plan's totals count: a "step", or a "micro-batch" if a step has several. */
const char *label_pass(const Plan *plan);

/* "megatron.lua:14", "by you". */
Str label_pin(Arena *arena, const Decision *pin);
/* "policy.lua:14  graph:shard(...)", "by you  ..."; for a screen line. */
void label_origin(const Mesh *mesh, const Origin *origin, Buf *out);

/* Replaces runs of digits by one '*', so that the names of all layers are equal. */
void text_wildcard(Str text, Buf *out);

#endif
